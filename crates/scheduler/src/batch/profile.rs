//! How many nodes are free from now on, as a list of the edges of all jobs' places.
//!
//! Conservative backfill moves jobs far more often than it looks for places: millions of
//! times by a little, past nobody else's edge. Such a move changes two times in this list and
//! nothing else. Edges that follow each other are in one block, of which it is known what is
//! free at most and how short its jobs are, so that searches pass over most of them.

mod freed;
#[cfg(test)]
mod tests;

pub(super) use freed::Freed;

use super::queue::stored;
use super::shortest::{Lengths, NOBODY, Shortest, class_of};
use super::timeline::Moment;
use crate::Seconds;

/// Most edges of a block.
const BLOCK: u32 = 32;

/// Number of an edge: even for the beginning of a place, and the next for its end.
type Edge = u32;

/// The beginning and the end of time.
const NOW: Edge = 0;
const END: Edge = 1;

/// No edge.
const NONE: u32 = u32::MAX;

/// The beginning of a job's place.
#[inline]
fn begin_of(job: u32) -> Edge {
    2 * job + 2
}

/// The job to whose place an edge belongs.
#[inline]
fn job_of(edge: Edge) -> u32 {
    edge / 2 - 1
}

/// The beginning or the end of a job's place. The place of a running job has no beginning any
/// more: none comes after it. A job has no place if that holds for its end.
#[derive(Clone, Copy)]
struct Side {
    at: Moment,
    /// Free nodes from then until the next edge; of no meaning if that is at the same time.
    free: i64,
    /// The edges before and after.
    before: Edge,
    after: Edge,
    /// The block in which it is.
    block: u32,
    /// At an end, the job's nodes.
    nodes: u32,
}

/// No edge of the list.
const NOWHERE: Side = Side {
    at: Moment::NEVER,
    free: 0,
    before: NONE,
    after: NONE,
    block: NONE,
    nodes: 0,
};

/// Beginning and end of a job's place: one line of the processor's cache.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Sides([Side; 2]);

/// Edges that follow each other.
#[derive(Clone, Copy)]
struct Block {
    first: Edge,
    edges: u32,
    /// Its place in the order of blocks.
    rank: u32,
    /// At least what is free at most.
    most: i64,
}

/// Free nodes as a function of time, with the places of running and waiting jobs. A job is a
/// number below a bound; who looks at jobs in order of their numbers finds them in memory in that
/// order.
pub(super) struct Profile {
    /// All edges: those of time, and then those of each job.
    sides: Vec<Sides>,
    blocks: Vec<Block>,
    blocks_unused: Vec<u32>,
    /// Blocks in order of time.
    order: Vec<u32>,
    shortest: Shortest,
    /// Whether more may have been taken than is free.
    overtaken: bool,
}

impl Profile {
    /// `free` nodes from `now` on, and no place of the jobs below `jobs`.
    pub fn new(now: Moment, free: i64, jobs: usize) -> Self {
        let side = |at, block| Side {
            at,
            free,
            before: NOW,
            after: END,
            block,
            ..NOWHERE
        };
        let mut sides = vec![Sides([NOWHERE; 2]); jobs + 1];
        sides[0] = Sides([side(now, 0), side(Moment::NEVER, NONE)]);
        Self {
            sides,
            blocks: vec![Block {
                first: NOW,
                edges: 1,
                rank: 0,
                most: free,
            }],
            blocks_unused: Vec::new(),
            order: vec![0],
            shortest: Shortest::new(),
            overtaken: false,
        }
    }

    /// Forgets all places: `free` nodes from `now` on.
    pub fn clear(&mut self, now: Moment, free: i64) {
        *self = Self::new(now, free, self.sides.len() - 1);
    }

    /// Gives each job with a place another number, below a new bound: `numbers` has that of
    /// every old one.
    pub fn renumber(&mut self, numbers: &[u32], jobs: usize) {
        let edge = |edge: Edge| match edge {
            NOW | END | NONE => edge,
            _ => begin_of(numbers[job_of(edge) as usize]) + edge % 2,
        };
        let mut sides = vec![Sides([NOWHERE; 2]); jobs + 1];
        for (old, place) in (NOW..).step_by(2).zip(&self.sides) {
            if old != NOW && place.0[1].after == NONE {
                continue;
            }
            let links = |side: Side| Side {
                before: edge(side.before),
                after: edge(side.after),
                ..side
            };
            sides[edge(old) as usize / 2] = Sides(place.0.map(links));
        }
        self.sides = sides;
        for &block in &self.order {
            let first = &mut self.blocks[block as usize].first;
            *first = edge(*first);
        }
    }

    #[inline]
    fn side(&self, edge: Edge) -> &Side {
        &self.sides[edge as usize / 2].0[edge as usize % 2]
    }

    #[inline]
    fn side_mut(&mut self, edge: Edge) -> &mut Side {
        &mut self.sides[edge as usize / 2].0[edge as usize % 2]
    }

    #[inline]
    fn at(&self, edge: Edge) -> Moment {
        self.side(edge).at
    }

    fn rank_of(&self, block: u32) -> usize {
        self.blocks[block as usize].rank as usize
    }

    /// Whether an edge is the beginning of a job's place.
    fn begins(edge: Edge) -> bool {
        edge.is_multiple_of(2) && edge != NOW
    }

    /// Beginning and end of the place of a job, if it has one.
    #[inline]
    fn place(&self, job: u32) -> Option<(&Side, &Side)> {
        let Sides([begin, end]) = &self.sides[job as usize + 1];
        (end.after != NONE).then_some((begin, end))
    }

    /// When the place of a waiting job begins and ends, and its nodes, if it has one.
    pub fn span(&self, job: u32) -> Option<(Moment, Moment, u32)> {
        self.place(job)
            .map(|(begin, end)| (begin.at, end.at, end.nodes))
    }

    /// When the place of a job ends, if it has one.
    pub fn end(&self, job: u32) -> Option<Moment> {
        self.place(job).map(|(_, end)| end.at)
    }

    /// When the places of waiting jobs begin, and their jobs, in order of time, before a moment.
    pub fn before(&self, until: Moment) -> impl Iterator<Item = (Moment, u32)> {
        let next = |&edge: &Edge| Some(self.side(edge).after);
        std::iter::successors(Some(self.side(NOW).after), next)
            .map(|edge| (edge, self.side(edge)))
            .take_while(move |(edge, side)| *edge != END && side.at < until)
            .filter(|(edge, _)| Self::begins(*edge))
            .map(|(edge, side)| (side.at, job_of(edge)))
    }

    /// From now on, `now` is the beginning of time. There is no edge before.
    pub fn advance(&mut self, now: Moment) {
        debug_assert!(now <= self.at(self.side(NOW).after));
        self.side_mut(NOW).at = now;
    }

    /// Whether more is taken than there is, at any time.
    pub fn is_overtaken(&mut self) -> bool {
        if std::mem::take(&mut self.overtaken) {
            let mut edge = NOW;
            while edge != END {
                let side = *self.side(edge);
                self.overtaken |= side.free < 0 && side.at < self.at(side.after);
                edge = side.after;
            }
        }
        self.overtaken
    }

    /// The last edge at `at` or before.
    fn find(&self, at: Moment) -> Edge {
        let starts = |&block: &u32| self.at(self.blocks[block as usize].first) <= at;
        let rank = self.order.partition_point(starts).max(1) - 1;
        let mut edge = self.blocks[self.order[rank] as usize].first;
        loop {
            let next = self.side(edge).after;
            if next == END || self.at(next) > at {
                return edge;
            }
            edge = next;
        }
    }
}

/// Changes.
impl Profile {
    /// A waiting job gets a place.
    pub fn insert(&mut self, job: u32, nodes: u32, begin: Moment, end: Moment) {
        let behind = self.find(begin);
        let edge = self.new_place(job, nodes, end);
        let free = self.side(behind).free;
        self.link(edge, behind, begin, free - i64::from(nodes));
        self.link(edge + 1, edge, begin, free);
        self.carry(edge + 1, end);
    }

    /// A job runs that had no place.
    pub fn insert_running(&mut self, job: u32, nodes: u32, end: Moment) {
        let edge = self.new_place(job, nodes, end) + 1;
        let Side { at, free, .. } = *self.side(NOW);
        self.link(edge, NOW, at, free);
        self.side_mut(NOW).free -= i64::from(nodes);
        self.overtaken |= free < i64::from(nodes);
        self.carry(edge, end.max(at));
    }

    /// A waiting job whose place begins now starts and will end at `end`.
    pub fn start(&mut self, job: u32, end: Moment) {
        let begin = begin_of(job);
        let nodes = i64::from(self.side(begin + 1).nodes);
        debug_assert_eq!(self.at(begin), self.at(NOW));
        let mut edge = NOW;
        while edge != begin {
            let side = self.side_mut(edge);
            side.free -= nodes;
            edge = side.after;
        }
        self.unlink(begin);
        self.carry(begin + 1, end);
    }

    /// Takes the place of a job away.
    pub fn remove(&mut self, job: u32) {
        let begin = begin_of(job);
        let nodes = i64::from(self.side(begin + 1).nodes);
        let mut edge = match self.side(begin).after {
            NONE => NOW,
            after => {
                self.unlink(begin);
                after
            }
        };
        while edge != begin + 1 {
            let side = self.side_mut(edge);
            side.free += nodes;
            let (free, after) = (side.free, side.after);
            self.widen(edge, free);
            edge = after;
        }
        self.unlink(edge);
    }

    /// Moves the place of a waiting job.
    pub fn shift(&mut self, job: u32, begin: Moment, end: Moment) {
        let edge = begin_of(job);
        // In between it is shorter than it is, so that no block's shortest is too long.
        if end < self.at(edge + 1) {
            self.carry(edge + 1, end);
            self.carry(edge, begin);
        } else {
            self.carry(edge, begin);
            self.carry(edge + 1, end);
        }
    }

    /// Moves the end of a job's place.
    pub fn set_end(&mut self, job: u32, end: Moment) {
        self.carry(begin_of(job) + 1, end);
    }

    fn new_place(&mut self, job: u32, nodes: u32, end: Moment) -> Edge {
        let edge = begin_of(job);
        debug_assert_eq!(self.side(edge + 1).after, NONE);
        let side = Side { at: end, ..NOWHERE };
        *self.side_mut(edge) = side;
        *self.side_mut(edge + 1) = Side { nodes, ..side };
        edge
    }

    /// Moves an edge to another time, past those in between.
    fn carry(&mut self, edge: Edge, to: Moment) {
        let Side {
            at, before, after, ..
        } = *self.side(edge);
        let nodes = i64::from(self.side(edge | 1).nodes);
        // What becomes free at it.
        let change = if Self::begins(edge) { -nodes } else { nodes };
        let mut behind = before;
        if to < at {
            while behind != NOW && self.at(behind) > to {
                let side = self.side_mut(behind);
                side.free += change;
                let (free, before) = (side.free, side.before);
                self.widen(behind, free);
                behind = before;
            }
        } else {
            let mut next = after;
            while next != END && self.at(next) <= to {
                let side = self.side_mut(next);
                side.free -= change;
                let (free, after) = (side.free, side.after);
                self.widen(next, free);
                (behind, next) = (next, after);
            }
        }
        let free = self.side(behind).free + change;
        if behind == before {
            self.side_mut(edge).at = to;
            self.widen(edge, free);
        } else {
            self.unlink(edge);
            self.link(edge, behind, to, free);
        }
        // What was free at the same time only may be free for longer now.
        let free = self.side(behind).free;
        self.widen(behind, free);
    }

    /// Sets how many nodes are free at an edge, perhaps more than were.
    fn widen(&mut self, edge: Edge, free: i64) {
        self.overtaken |= free < 0;
        let block = self.side(edge).block as usize;
        let most = &mut self.blocks[block].most;
        *most = (*most).max(free);
    }

    /// Puts an edge behind another one.
    fn link(&mut self, edge: Edge, behind: Edge, at: Moment, free: i64) {
        let after = std::mem::replace(&mut self.side_mut(behind).after, edge);
        self.side_mut(after).before = edge;
        let number = self.side(behind).block;
        let side = self.side_mut(edge);
        (side.at, side.free, side.before, side.after) = (at, free, behind, after);
        side.block = number;
        self.blocks[number as usize].edges += 1;
        self.widen(edge, free);
        if Self::begins(edge) {
            let (class, length) = self.shape(edge);
            self.shortest.lower(self.rank_of(number), class, length);
        }
        if self.blocks[number as usize].edges > BLOCK {
            self.divide(number);
        }
    }

    /// Takes an edge out of the list.
    fn unlink(&mut self, edge: Edge) {
        let side = self.side_mut(edge);
        let before = std::mem::replace(&mut side.before, NONE);
        let after = std::mem::replace(&mut side.after, NONE);
        self.side_mut(before).after = after;
        self.side_mut(after).before = before;
        let free = self.side(before).free;
        self.widen(before, free);
        let number = self.side(edge).block;
        let block = &mut self.blocks[number as usize];
        block.edges -= 1;
        if block.first != edge {
            return;
        }
        block.first = after;
        if block.edges == 0 {
            let rank = block.rank as usize;
            self.blocks_unused.push(number);
            self.order.remove(rank);
            self.shortest.remove(rank);
            self.rank_blocks(rank);
        }
    }

    /// Divides a block into two.
    fn divide(&mut self, number: u32) {
        let Block {
            mut first,
            edges,
            rank,
            most,
        } = self.blocks[number as usize];
        let kept = edges / 2;
        for _ in 0..kept {
            first = self.side(first).after;
        }
        self.blocks[number as usize].edges = kept;
        let later = Block {
            first,
            edges: edges - kept,
            rank: rank + 1,
            most,
        };
        let new = match self.blocks_unused.pop() {
            Some(new) => {
                self.blocks[new as usize] = later;
                new
            }
            None => {
                self.blocks.push(later);
                self.blocks.len() as u32 - 1
            }
        };
        let mut edge = first;
        for _ in kept..edges {
            let side = self.side_mut(edge);
            side.block = new;
            edge = side.after;
        }
        self.order.insert(rank as usize + 1, new);
        self.rank_blocks(rank as usize + 2);
        self.shortest.set(rank as usize, self.shortest_in(number));
        self.shortest
            .insert(rank as usize + 1, self.shortest_in(new));
    }

    fn rank_blocks(&mut self, from: usize) {
        for (rank, &block) in self.order.iter().enumerate().skip(from) {
            self.blocks[block as usize].rank = rank as u32;
        }
    }

    /// The edges of a block.
    fn edges(&self, block: u32) -> impl Iterator<Item = Edge> {
        let Block { first, edges, .. } = self.blocks[block as usize];
        let next = |&edge: &Edge| Some(self.side(edge).after);
        std::iter::successors(Some(first), next).take(edges as usize)
    }

    fn shortest_in(&self, block: u32) -> Lengths {
        let mut least = NOBODY;
        for edge in self.edges(block).filter(|&edge| Self::begins(edge)) {
            let (class, length) = self.shape(edge);
            least[class] = least[class].min(length);
        }
        least
    }
}

/// Searches.
impl Profile {
    /// Class of size and length of the place that begins at an edge.
    fn shape(&self, begin: Edge) -> (usize, u32) {
        (
            class_of(self.side(begin + 1).nodes),
            stored(self.duration(begin)),
        )
    }

    /// How long that place is; nothing while it moves past its end.
    fn duration(&self, begin: Edge) -> Seconds {
        let duration = self.at(begin + 1).second() - self.at(begin).second();
        duration.max(Seconds::ZERO)
    }

    /// The first moment from which on the nodes of a waiting job are free up to the beginning of
    /// its place, if there is one before.
    pub fn gap_before(&self, job: u32) -> Option<Moment> {
        let mut edge = begin_of(job);
        let (mut at, nodes) = (self.at(edge), i64::from(self.side(edge + 1).nodes));
        let mut begin = None;
        while edge != NOW {
            edge = self.side(edge).before;
            let side = self.side(edge);
            if side.at < at {
                if side.free < nodes {
                    break;
                }
                (at, begin) = (side.at, Some(side.at));
            }
        }
        begin
    }

    /// The first moment from `from` on, before `before`, from which on this many nodes are free for
    /// a job that lasts for `duration`, or until `own`, if that is sooner: who holds a place from
    /// there on may give that up.
    pub fn earliest(
        &mut self,
        from: Moment,
        nodes: i64,
        before: Moment,
        own: Moment,
        duration: Seconds,
    ) -> Option<Moment> {
        let mut edge = self.find(from);
        let mut begin: Option<Moment> = None;
        // What is free at most in this block, if it was looked at from its first edge on.
        let mut most: Option<i64> = None;
        loop {
            let Side {
                at, free, after, ..
            } = *self.side(edge);
            let until = self.at(after);
            if until > at.max(from) {
                most = most.map(|most| most.max(free));
                if free >= nodes {
                    let begin = *begin.get_or_insert(at.max(from));
                    if begin >= before {
                        return None;
                    }
                    if until >= begin.end_of(duration).min(own) {
                        return Some(begin);
                    }
                } else if at >= before {
                    return None;
                } else {
                    begin = None;
                }
            }
            if after == END {
                return None;
            }
            edge = after;
            let block = self.side(edge).block;
            let last = self.side(self.side(edge).before).block;
            if block != last {
                if let Some(most) = most {
                    self.blocks[last as usize].most = most;
                }
                most = Some(0);
                if begin.is_none() {
                    edge = self.first_with(block, nodes)?;
                }
            }
        }
    }

    /// Whether this many nodes are free from `from` on for `duration`.
    pub fn has(&mut self, from: Moment, nodes: i64, duration: Seconds) -> bool {
        let before = Moment(from.0 + 1);
        self.earliest(from, nodes, before, Moment::NEVER, duration)
            .is_some()
    }

    /// The first edge of the first block from one on in which this many nodes may be free.
    fn first_with(&self, block: u32, nodes: i64) -> Option<Edge> {
        let rest = &self.order[self.rank_of(block)..];
        let mut blocks = rest.iter().map(|&block| &self.blocks[block as usize]);
        blocks
            .find(|block| block.most >= nodes)
            .map(|block| block.first)
    }
}
