//! What waiting jobs are promised under conservative backfill, and which of them may move.

use super::profile::{Freed, Profile};
use super::queue::Bits;
use super::task::Task;
use super::timeline::Moment;
use crate::Seconds;

/// Small numbers of the jobs that wait or run, in the order of their ranks in the queue: a pass
/// that looks at waiting jobs in that order goes through memory in order, past few others.
pub(super) struct Numbers {
    /// The number of the job with each rank, if it has one.
    of: Vec<u32>,
    /// The rank of the job with each number, ascending; of numbers that are free again, a rank
    /// between those of the others.
    ranks: Vec<u32>,
    taken: Bits,
}

const NONE: u32 = u32::MAX;

/// Fewest numbers that there are.
const FEWEST: usize = 64;

impl Numbers {
    /// No job of these ranks has a number.
    fn new(ranks: usize) -> Self {
        Self {
            of: vec![NONE; ranks],
            ranks: Vec::new(),
            taken: Bits::new(FEWEST),
        }
    }

    /// The number of the job with a rank. It has one, and keeps it until another job comes.
    #[inline]
    pub fn of(&self, rank: u32) -> u32 {
        self.of[rank as usize]
    }

    /// The rank of the job with a number.
    #[inline]
    pub fn rank(&self, number: u32) -> u32 {
        self.ranks[number as usize]
    }

    /// How many numbers there are.
    fn bound(&self) -> usize {
        self.taken.bound()
    }

    /// Gives a job a number, if there is one in its place.
    fn give(&mut self, rank: u32) -> Option<u32> {
        let next = self.ranks.partition_point(|&other| other < rank) as u32;
        let free = |number: &u32| !self.taken.contains(*number);
        let before = next.checked_sub(1).filter(free);
        let number = before.or_else(|| {
            let there = (next as usize) < self.bound();
            Some(next).filter(|next| there && free(next))
        })?;
        match self.ranks.get_mut(number as usize) {
            Some(other) => *other = rank,
            None => self.ranks.push(rank),
        }
        self.taken.insert(number);
        self.of[rank as usize] = number;
        Some(number)
    }

    fn take_back(&mut self, rank: u32) -> u32 {
        let number = std::mem::replace(&mut self.of[rank as usize], NONE);
        self.taken.remove(number);
        number
    }

    /// Numbers all jobs anew, so that there is one for a job of this rank: the new numbers of
    /// the old ones.
    fn renew(&mut self, rank: u32) -> Vec<u32> {
        // Who comes behind all others needs no room among them.
        let behind = self.ranks.last().is_none_or(|&last| last < rank);
        let stride = if behind { 1 } else { 2 };
        let mut numbers = vec![NONE; self.ranks.len()];
        let mut ranks = Vec::new();
        let mut next = 0;
        while let Some(old) = self.taken.next(next) {
            next = old + 1;
            let rank = self.rank(old);
            ranks.extend(std::iter::repeat_n(rank, stride));
            let new = ranks.len() as u32 - 1;
            numbers[old as usize] = new;
            self.of[rank as usize] = new;
        }
        let taken = self.taken.len();
        self.taken = Bits::new(FEWEST.max(2 * taken + 2));
        for number in (0..ranks.len() as u32).skip(stride - 1).step_by(stride) {
            self.taken.insert(number);
        }
        self.ranks = ranks;
        numbers
    }
}

/// What waiting jobs are promised. Jobs go by their [numbers](Numbers).
///
/// A job that was looked at has the earliest place that there is. It can have a sooner one
/// only where nodes have become free since: right before its own place, so that it can *slide*
/// into the gap, or in a gap that is long enough for all of it, into which it can *jump*. A job that
/// may be able to is marked as time becomes free, and nobody else is looked at.
pub(super) struct Promises {
    pub(super) numbers: Numbers,
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
    /// Nothing is promised, on a machine with `free` nodes and jobs of these ranks.
    pub fn new(now: Moment, free: i64, ranks: usize) -> Self {
        Self {
            numbers: Numbers::new(ranks),
            profile: Profile::new(now, free, FEWEST),
            without: Vec::new(),
            unplaced: Vec::new(),
            crowded: false,
            may_move: Bits::new(FEWEST),
            gaps: vec![Vec::new(); FEWEST],
            all_may: true,
            freed: Vec::new(),
            freed_nodes: 0,
        }
    }

    /// Gives the job of a rank a number.
    pub fn number(&mut self, rank: u32) -> u32 {
        if let Some(number) = self.numbers.give(rank) {
            return number;
        }
        let new = self.numbers.renew(rank);
        let bound = self.numbers.bound();
        self.profile.renumber(&new, bound);
        let old = std::mem::replace(&mut self.may_move, Bits::new(bound));
        let mut gaps = vec![Vec::new(); bound];
        for (old_gaps, &new) in self.gaps.iter_mut().zip(&new) {
            if new != NONE {
                gaps[new as usize] = std::mem::take(old_gaps);
            }
        }
        self.gaps = gaps;
        let mut next = 0;
        while let Some(number) = old.next(next) {
            next = number + 1;
            self.may_move.insert(new[number as usize]);
        }
        let given = self.numbers.give(rank);
        given.unwrap_or_else(|| unreachable!("there is room among new numbers"))
    }

    /// A job comes.
    pub fn arrives(&mut self, task: u32, rank: u32) {
        self.number(rank);
        self.without.push(task);
    }

    /// A job starts in the place that it was promised.
    pub fn starts(&mut self, rank: u32, job: &Task, estimated: Seconds, now: Seconds) {
        let (held, end) = (Moment::of(now + job.waiting), Moment::of(estimated));
        let number = self.numbers.of(rank);
        self.crowded |= held < end;
        self.may_move.unset(number);
        self.gaps[number as usize] = Vec::new();
        self.profile.start(number, end);
        self.frees(end, held, job.nodes);
    }

    /// A job ends.
    pub fn ends(&mut self, rank: u32, nodes: u32, now: Seconds) {
        let number = self.numbers.take_back(rank);
        if let Some(end) = self.profile.end(number) {
            self.profile.remove(number);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Jobs that come and go in any order have numbers in the order of their ranks, and
        /// new numbers are those of the same jobs.
        #[test]
        fn numbers_are_in_the_order_of_ranks(
            ranks in prop::collection::vec(0u32..400, 1..400),
            in_order in any::<bool>(),
        ) {
            let mut numbers = Numbers::new(ranks.len().max(400));
            let mut known = std::collections::BTreeMap::new();
            for (next, &rank) in (0..).zip(&ranks) {
                let rank = if in_order { next } else { rank };
                if known.remove(&rank).is_some() {
                    numbers.take_back(rank);
                    continue;
                }
                let number = numbers.give(rank).unwrap_or_else(|| {
                    let new = numbers.renew(rank);
                    for (rank, number) in &mut known {
                        *number = new[*number as usize];
                        assert_eq!(numbers.of(*rank), *number);
                    }
                    numbers.give(rank).expect("room")
                });
                known.insert(rank, number);
                // Some of those who came long ago go.
                if next % 3 == 0 {
                    let (&first, _) = known.first_key_value().expect("one at least");
                    known.remove(&first);
                    numbers.take_back(first);
                }
                prop_assert!(known.values().is_sorted_by(|one, next| one < next));
                for (&rank, &number) in &known {
                    prop_assert_eq!(numbers.rank(number), rank);
                    prop_assert!((number as usize) < numbers.bound());
                }
            }
        }
    }
}
