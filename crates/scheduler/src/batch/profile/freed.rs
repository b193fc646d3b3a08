//! Who may be able to use nodes that have become free.

use std::ops::Range;

use super::{END, Edge, NOW, Profile, Side, begin_of, job_of};
use crate::batch::shortest::{CLASSES, Lengths, class_of};
use crate::batch::timeline::Moment;

/// Most steps of a gap that are counted; longer ones count as endless.
const FAR: u32 = 48;

/// A time in which nodes have become free.
pub(in crate::batch) struct Freed {
    /// The last edge at its beginning or before, and the first step at its end or later.
    first: Edge,
    next: Option<Edge>,
    to: Moment,
    /// The most nodes that are free in it, and the fewest that cannot have been free before in
    /// all of it.
    most: i64,
    least: i64,
}

/// Gaps that become wider, with no more than [`FAR`] steps around the first.
#[derive(Clone, Copy)]
struct Gap {
    first: Edge,
    next: Option<Edge>,
    steps: u32,
}

impl Profile {
    /// The last edge at the time of one: what is free then is free for some time.
    fn step(&self, mut edge: Edge) -> Edge {
        loop {
            let side = self.side(edge);
            if side.after == END || self.at(side.after) > side.at {
                return edge;
            }
            edge = side.after;
        }
    }

    /// The last edge before the time of one.
    fn step_before(&self, edge: Edge) -> Option<Edge> {
        let at = self.at(edge);
        let mut before = edge;
        while before != NOW {
            before = self.side(before).before;
            if self.at(before) < at {
                return Some(before);
            }
        }
        None
    }

    /// The last edge at the time after that of a step; `None` if nothing comes.
    fn step_after(&self, step: Edge) -> Option<Edge> {
        let after = self.side(step).after;
        (after != END).then(|| self.step(after))
    }

    /// The time from `from` to before `to`, in which at most `nodes` more are free than were;
    /// `None` if no job fits there.
    pub fn freed(&self, from: Moment, to: Moment, nodes: i64) -> Option<Freed> {
        let from = from.max(self.at(NOW));
        if from >= to {
            return None;
        }
        self.freed_from(self.find(from), to, nodes)
    }

    /// The same behind the end of a job's place.
    pub fn freed_behind(&self, job: u32, to: Moment, nodes: i64) -> Option<Freed> {
        let end = begin_of(job) + 1;
        if self.at(end) >= to {
            return None;
        }
        self.freed_from(self.step(end), to, nodes)
    }

    fn freed_from(&self, from: Edge, to: Moment, nodes: i64) -> Option<Freed> {
        let free = |step: Edge| self.side(step).free;
        let (mut least, mut most) = (free(from), free(from));
        let mut next = self.step_after(from);
        while let Some(step) = next
            && self.at(step) < to
        {
            (least, most) = (least.min(free(step)), most.max(free(step)));
            next = self.step_after(step);
        }
        let least = (least - nodes).max(0) + 1;
        if most < least {
            return None;
        }
        Some(Freed {
            first: from,
            next,
            to,
            most,
            least,
        })
    }

    /// Makes a gap as wide as it is for this many nodes.
    fn spread(&self, gap: &mut Gap, nodes: i64) {
        while gap.steps < FAR
            && let Some(before) = self.step_before(gap.first)
            && self.side(before).free >= nodes
        {
            (gap.first, gap.steps) = (before, gap.steps + 1);
        }
        while gap.steps < FAR
            && let Some(step) = gap.next
            && self.side(step).free >= nodes
        {
            (gap.next, gap.steps) = (self.step_after(step), gap.steps + 1);
        }
    }

    /// Jobs of lengths below this fit into a gap, perhaps.
    fn bound(&self, gap: &Gap) -> u32 {
        match gap.next {
            Some(step) if gap.steps < FAR => {
                // A job that begins late in a second ends early in another.
                let length = (self.at(step).0 - self.at(gap.first).0 + 1) / 2;
                u32::try_from(length + 1).unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        }
    }

    /// For the sizes that a time which has become free is for: jobs of lengths below these fit
    /// into the gaps around it, perhaps; and the block in which the gaps begin. `None` if there
    /// are no such jobs.
    fn bounds(&self, freed: &Freed) -> Option<(Lengths, u32)> {
        let class = |nodes: i64| class_of(u32::try_from(nodes).unwrap_or(u32::MAX));
        let classes = class(freed.least)..=class(freed.most);
        let mut gap = Gap {
            first: freed.first,
            next: freed.next,
            steps: 0,
        };
        let narrow = gap;
        self.spread(&mut gap, freed.least);
        let widest = self.bound(&gap);
        let begin = if gap.steps < FAR { gap.first } else { NOW };
        let block = self.side(begin).block;
        let shortest = self.shortest.from(self.rank_of(block));
        if classes.clone().all(|class| shortest[class] >= widest) {
            return None;
        }
        let (mut bounds, mut gap) = ([0; CLASSES], narrow);
        // The gap for fewer nodes is wider.
        for class in classes.rev() {
            if shortest[class] >= widest {
                continue;
            }
            self.spread(&mut gap, freed.least.max(1 << class));
            bounds[class] = self.bound(&gap);
        }
        Some((bounds, block))
    }

    /// Tells of the jobs whose places begin in or right behind a time that has become free, and
    /// that are small enough for it.
    pub fn behind(&self, freed: &Freed, tell: &mut impl FnMut(u32)) {
        let mut edge = self.side(freed.first).after;
        while edge != END && self.at(edge) <= freed.to {
            if Self::begins(edge) && i64::from(self.side(edge + 1).nodes) <= freed.most {
                tell(job_of(edge));
            }
            edge = self.side(edge).after;
        }
    }

    /// Tells of the jobs whose places begin later and that may fit as a whole into a gap around
    /// a time that has become free, and when this gap begins and ends.
    pub fn fitting(&mut self, freed: &Freed, tell: &mut impl FnMut(u32, (Moment, Moment))) {
        let Some((bounds, block)) = self.bounds(freed) else {
            return;
        };
        // The gaps of all sizes that were asked for so far, and where those of each are.
        let mut gaps: Vec<(Moment, Moment)> = Vec::new();
        let mut sizes: Vec<(i64, Range<usize>)> = Vec::new();
        let mut rank = self.rank_of(block);
        while let Some(next) = self.shortest.next(rank, &bounds) {
            rank = next + 1;
            let block = self.order[next];
            let mut found = false;
            for edge in self.edges(block).filter(|&edge| Self::begins(edge)) {
                let (class, length) = self.shape(edge);
                if length >= bounds[class] {
                    continue;
                }
                found = true;
                let nodes = i64::from(self.side(edge + 1).nodes);
                // Who could jump into less than has become free has been able to all the time.
                if !(freed.least..=freed.most).contains(&nodes) {
                    continue;
                }
                let known = sizes.iter().find(|size| size.0 == nodes).cloned();
                let (_, own) = known.unwrap_or_else(|| {
                    let first = gaps.len();
                    self.gaps(freed, nodes, &mut gaps);
                    sizes.push((nodes, first..gaps.len()));
                    (nodes, first..gaps.len())
                });
                let (duration, begin) = (self.duration(edge), self.at(edge));
                for &(from, to) in &gaps[own] {
                    let end = from.end_of(duration);
                    if end <= to && Moment(end.0 - 1) <= begin {
                        tell(job_of(edge), (from, to));
                    }
                }
            }
            if !found {
                // What was the shortest has gone.
                self.shortest.set(next, self.shortest_in(block));
            }
        }
    }

    /// Lists all gaps for this many nodes around a time that has become free: when each begins and
    /// ends.
    fn gaps(&self, freed: &Freed, nodes: i64, gaps: &mut Vec<(Moment, Moment)>) {
        let (mut first, mut steps) = (freed.first, 0);
        if self.side(first).free >= nodes {
            while let Some(before) = self.step_before(first)
                && self.side(before).free >= nodes
            {
                (first, steps) = (before, steps + 1);
                if steps == FAR {
                    gaps.push((self.at(NOW), Moment::NEVER));
                    return;
                }
            }
        }
        let (mut next, mut begin) = (Some(first), None);
        while let Some(step) = next {
            let Side { at, free, .. } = *self.side(step);
            steps += 1;
            if free >= nodes {
                begin.get_or_insert(at);
            } else {
                gaps.extend(begin.take().map(|begin| (begin, at)));
                if at >= freed.to {
                    return;
                }
            }
            if steps >= FAR {
                gaps.push((begin.unwrap_or(at), Moment::NEVER));
                return;
            }
            next = self.step_after(step);
        }
        gaps.extend(begin.map(|begin| (begin, Moment::NEVER)));
    }
}
