//! What waiting jobs are promised under conservative backfill, and which of them may move.

use super::profile::{Freed, Profile};
use super::queue::Bits;
use super::task::Task;
use super::timeline::Moment;
use crate::Seconds;

/// What waiting jobs are promised. Jobs go by their ranks.
///
/// A job that was looked at has the earliest place that there is. It can have a sooner one
/// only where nodes have become free since: right before its own place, so that it can *slide*
/// into the gap, or in a gap that is long enough for all of it, into which it can *jump*. A job that
/// may be able to is marked as time becomes free, and nobody else is looked at.
pub(super) struct Promises {
    /// The places of running jobs and those promised to waiting ones.
    pub(super) profile: Profile,
    /// Waiting jobs without promise, by their tasks.
    pub(super) without: Vec<u32>,
    /// What tasks were promised before anything was counted.
    pub(super) unplaced: Vec<(Seconds, u32)>,
    /// Whether a job that started is believed to run for longer than it was when it waited.
    pub(super) crowded: bool,
    /// Jobs that may be able to move.
    pub(super) may_move: Bits,
    /// The gaps into which each may be able to jump: between when and when, in order of time.
    pub(super) gaps: Vec<Vec<(Moment, Moment)>>,
    /// Whether all may move, anywhere.
    pub(super) all_may: bool,
    /// Times in which nodes have become free since the last pass, and how many in all.
    pub(super) freed: Vec<(Moment, Moment)>,
    pub(super) freed_nodes: i64,
}

/// Any gap.
pub(super) const ANYWHERE: (Moment, Moment) = (Moment(i64::MIN), Moment::NEVER);

impl Promises {
    /// A job comes.
    pub fn arrives(&mut self, task: u32) {
        self.without.push(task);
    }

    /// A job starts in the place that it was promised.
    pub fn starts(&mut self, rank: u32, job: &Task, estimated: Seconds, now: Seconds) {
        let (held, end) = (Moment::of(now + job.waiting), Moment::of(estimated));
        self.crowded |= held < end;
        self.may_move.unset(rank);
        self.gaps[rank as usize] = Vec::new();
        self.profile.start(rank, end);
        self.frees(end, held, job.nodes);
    }

    /// A job ends.
    pub fn ends(&mut self, rank: u32, nodes: u32, now: Seconds) {
        if let Some(end) = self.profile.end(rank) {
            self.profile.remove(rank);
            self.frees(Moment::of(now), end, nodes);
        }
    }

    /// Nodes have become free; who may move then is found out later.
    fn frees(&mut self, from: Moment, to: Moment, nodes: u32) {
        if from < to {
            self.freed.push((from, to));
            self.freed_nodes += i64::from(nodes);
        }
    }

    /// Marks who may move because of all that has become free since the last pass.
    pub(super) fn mark_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        for (from, to) in freed.drain(..) {
            let freed = self.profile.freed(from, to, self.freed_nodes);
            self.mark(freed);
        }
        self.freed = freed;
        self.freed_nodes = 0;
    }

    /// Marks who may move because of a time that has become free.
    fn mark(&mut self, freed: Option<Freed>) {
        let Some(freed) = freed else {
            return;
        };
        let Self {
            profile,
            may_move,
            gaps,
            ..
        } = self;
        profile.behind(&freed, &mut |job| may_move.set(job));
        profile.fitting(&freed, &mut |job, gap| {
            may_move.set(job);
            add_gap(&mut gaps[job as usize], gap);
        });
    }

    /// Moves a job that has a promise to its earliest place, if that is sooner than its own:
    /// when it begins then.
    pub(super) fn move_forward(&mut self, job: u32, here: Moment) -> Option<Moment> {
        let (old, old_end, nodes) = self.profile.span(job)?;
        self.may_move.unset(job);
        let gaps = &mut self.gaps[job as usize];
        if old == here {
            gaps.clear();
            return None;
        }
        let duration = old_end.second() - old.second();
        let slide = self.profile.gap_before(job);
        let sooner = slide.unwrap_or(old);
        let jump = gaps.drain(..).find_map(|(from, to)| {
            let (from, before) = (from.max(here), sooner.min(to));
            let nodes = i64::from(nodes);
            (from < before).then(|| self.profile.earliest(from, nodes, before, old, duration))?
        });
        let at = jump.or(slide)?;
        let end = at.end_of(duration);
        let freed = if end > old {
            // Of a place that it slides along, part stays its own.
            self.profile.shift(job, at, end);
            self.profile.freed_behind(job, old_end, i64::from(nodes))
        } else {
            self.profile.remove(job);
            self.profile.insert(job, nodes, at, end);
            self.profile.freed(old, old_end, i64::from(nodes))
        };
        self.mark(freed);
        Some(at)
    }
}

/// Adds a gap to a list in order of time; such as overlap become one.
fn add_gap(gaps: &mut Vec<(Moment, Moment)>, (from, to): (Moment, Moment)) {
    let first = gaps.partition_point(|gap| gap.1 < from);
    match gaps.get_mut(first) {
        Some(gap) if gap.0 <= to => {
            *gap = (gap.0.min(from), gap.1.max(to));
            let end = gap.1;
            while let Some(next) = gaps.get(first + 1)
                && next.0 <= end
            {
                gaps[first].1 = end.max(next.1);
                gaps.remove(first + 1);
            }
        }
        _ => gaps.insert(first, (from, to)),
    }
}
