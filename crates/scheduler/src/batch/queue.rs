//! The waiting jobs in their order.

use super::order::Order;
use super::task::Task;
use crate::Seconds;

/// A set of numbers below a fixed bound, with the least of them from anywhere on at
/// hand: bits, and above every 64 words a bit that says which of them are not 0.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    levels: Vec<Vec<u64>>,
    count: usize,
}

impl Bits {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels, count: 0 };
            }
            words = words.div_ceil(64);
        }
    }

    /// Larger than all numbers that it can hold.
    pub fn bound(&self) -> usize {
        64 * self.levels[0].len()
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn contains(&self, number: u32) -> bool {
        self.levels[0][number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Adds a number that is not in the set.
    pub fn insert(&mut self, number: u32) {
        debug_assert!(!self.contains(number));
        self.count += 1;
        let mut at = number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let others = *word != 0;
            *word |= 1 << (at % 64);
            if others {
                return;
            }
            at /= 64;
        }
    }

    /// Removes a number of the set.
    pub fn remove(&mut self, number: u32) {
        debug_assert!(self.contains(number));
        self.count -= 1;
        let mut at = number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Makes a number one of the set, whether or not it is.
    pub fn set(&mut self, number: u32) {
        if !self.contains(number) {
            self.insert(number);
        }
    }

    /// Makes a number none of the set, and says whether it was.
    pub fn unset(&mut self, number: u32) -> bool {
        let was = self.contains(number);
        if was {
            self.remove(number);
        }
        was
    }

    /// The least number from `from` on.
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let rest = level.get(at / 64).map_or(0, |word| word >> (at % 64));
            if rest != 0 {
                at += rest.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    at = at * 64 + below[at].trailing_zeros() as usize;
                }
                return Some(at as u32);
            }
            at = at / 64 + 1;
        }
        None
    }
}

/// The waiting jobs. Where their order never changes, every job of the log has a
/// *rank* in it, and the queue is a set of ranks; otherwise the rank is that of
/// submission, and the order is found in every pass that needs it.
pub(super) struct Queue {
    by_rank: Vec<u32>,
    rank: Vec<u32>,
    waiting: Bits,
    /// The order of this pass, if it changes from pass to pass; may hold jobs that
    /// wait no more.
    sorted: Option<Vec<u32>>,
}

impl Queue {
    /// No job waits. `arrivals` are all that will come, in order of submission.
    pub fn new(order: &Order, tasks: &[Task], arrivals: &[u32]) -> Self {
        let mut by_rank = arrivals.to_vec();
        let task = |task: &u32| &tasks[*task as usize];
        // Sorts are stable: what is equal stays in order of submission.
        match order {
            Order::Fcfs | Order::Wfp | Order::Multifactor(_) => {}
            Order::ShortestFirst => by_rank.sort_by_key(|one| task(one).waiting),
            Order::LongestFirst => by_rank.sort_by_key(|one| -task(one).waiting.0),
            Order::SmallestFirst => by_rank.sort_by_key(|one| task(one).nodes),
            Order::LargestFirst => by_rank.sort_by_key(|one| u32::MAX - task(one).nodes),
            Order::Listed(priorities) => {
                by_rank.sort_by(|&one, &two| {
                    priorities[two as usize].total_cmp(&priorities[one as usize])
                });
            }
        }
        let mut rank = vec![u32::MAX; tasks.len()];
        for (at, &task) in by_rank.iter().enumerate() {
            rank[task as usize] = at as u32;
        }
        Self {
            waiting: Bits::new(by_rank.len()),
            by_rank,
            rank,
            sorted: order.changes().then(Vec::new),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }

    /// A job comes.
    pub fn insert(&mut self, task: u32) {
        self.waiting.insert(self.rank[task as usize]);
        if let Some(sorted) = &mut self.sorted {
            sorted.push(task);
        }
    }

    /// A job that started comes again. Its place among those that are sorted may still be there.
    pub fn insert_again(&mut self, task: u32) {
        self.sorting();
        self.insert(task);
    }

    /// A job starts.
    pub fn remove(&mut self, task: u32) {
        self.waiting.remove(self.rank[task as usize]);
    }

    /// Whether a job waits.
    pub fn contains(&self, task: u32) -> bool {
        self.waiting.contains(self.rank[task as usize])
    }

    /// All jobs by rank: in order of the queue, if that never changes.
    pub fn by_rank(&self) -> &[u32] {
        &self.by_rank
    }

    /// The rank of a job.
    pub fn rank(&self, task: u32) -> u32 {
        self.rank[task as usize]
    }

    /// Whether the order is the same in every pass.
    pub fn is_fixed(&self) -> bool {
        self.sorted.is_none()
    }

    /// The order of this pass, to be put right by the caller, without jobs that wait
    /// no more; `None` if it never changes.
    pub fn sorting(&mut self) -> Option<&mut Vec<u32>> {
        let (waiting, rank) = (&self.waiting, &self.rank);
        let sorted = self.sorted.as_mut()?;
        if sorted.len() != waiting.len() {
            sorted.retain(|&task| waiting.contains(rank[task as usize]));
        }
        Some(sorted)
    }

    /// The waiting jobs in order. A pass that starts some of them while it goes
    /// through uses [`Self::after`].
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut place = Place::default();
        std::iter::from_fn(move || self.after(&mut place))
    }

    /// The first waiting job.
    pub fn first(&self) -> Option<u32> {
        self.after(&mut Place::default())
    }

    /// The first waiting job behind a place, which moves to it.
    pub fn after(&self, place: &mut Place) -> Option<u32> {
        match &self.sorted {
            None => {
                let rank = self.waiting.next(place.0)?;
                place.0 = rank + 1;
                Some(self.by_rank[rank as usize])
            }
            Some(sorted) => {
                let rest = sorted.get(place.0 as usize..)?;
                let next = rest.iter().position(|&task| self.contains(task))?;
                place.0 += next as u32 + 1;
                Some(rest[next])
            }
        }
    }
}

/// How far a pass has come in the queue; at first before all of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place(u32);

/// No job: longer than any that can be stored.
const NOBODY: u32 = u32::MAX;

/// Which waiting job is the first that is small enough and short enough.
///
/// A binary indexed tree over the sizes that occur; each of its nodes has the jobs of
/// its sizes by rank, with the shortest estimate of every half, quarter and so on of
/// them. A question and a change take time in proportion to log(sizes) · log(jobs).
pub(super) struct SizeIndex {
    /// Sizes that occur, ascending.
    sizes: Vec<u32>,
    nodes: Vec<SizeNode>,
}

#[derive(Clone, Default)]
struct SizeNode {
    /// Ranks of all its jobs, ascending.
    ranks: Vec<u32>,
    /// Least estimate of a pair of entries each, from 1 on; the leaves are those of the
    /// jobs in seconds, [`NOBODY`] for who does not wait.
    least: Vec<u32>,
}

/// A duration as it is stored where most are short.
pub(super) fn stored(duration: Seconds) -> u32 {
    u32::try_from(duration.0)
        .unwrap_or(NOBODY - 1)
        .min(NOBODY - 1)
}

impl SizeIndex {
    /// Nobody waits. `by_rank` are all jobs that will come.
    pub fn new(tasks: &[Task], by_rank: &[u32]) -> Self {
        let mut sizes: Vec<u32> =
            (by_rank.iter().map(|&task| tasks[task as usize].nodes)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut nodes = vec![SizeNode::default(); sizes.len() + 1];
        for (rank, &task) in by_rank.iter().enumerate() {
            let size = tasks[task as usize].nodes;
            let mut at = sizes.partition_point(|&other| other < size) + 1;
            while at < nodes.len() {
                nodes[at].ranks.push(rank as u32);
                at += at & at.wrapping_neg();
            }
        }
        for node in &mut nodes {
            node.least = vec![NOBODY; 2 * node.ranks.len().next_power_of_two()];
        }
        Self { sizes, nodes }
    }

    /// A job comes (`Some` of its estimate) or starts.
    pub fn set(&mut self, rank: u32, size: u32, estimate: Option<Seconds>) {
        let value = estimate.map_or(NOBODY, stored);
        let mut at = self.sizes.partition_point(|&other| other < size) + 1;
        while at < self.nodes.len() {
            let SizeNode { ranks, least } = &mut self.nodes[at];
            let mut entry = ranks.partition_point(|&other| other < rank) + least.len() / 2;
            least[entry] = value;
            while entry > 1 {
                let pair = least[entry].min(least[entry ^ 1]);
                entry /= 2;
                if least[entry] == pair {
                    break;
                }
                least[entry] = pair;
            }
            at += at & at.wrapping_neg();
        }
    }

    /// The least rank of a waiting job of at most `size` nodes and an estimate of at
    /// most `duration`. Estimates beyond 136 years count as that long.
    pub fn first(&self, size: u32, duration: Seconds) -> Option<u32> {
        let most = stored(duration);
        let mut best = None;
        let mut at = self.sizes.partition_point(|&other| other <= size);
        while at > 0 {
            let SizeNode { ranks, least } = &self.nodes[at];
            if least[1] <= most {
                let mut entry = 1;
                while entry < least.len() / 2 {
                    entry = 2 * entry + usize::from(least[2 * entry] > most);
                }
                let rank = ranks[entry - least.len() / 2];
                best = Some(best.map_or(rank, |best: u32| best.min(rank)));
            }
            at &= at - 1;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The set is a set.
        #[test]
        fn bits_are_a_set(changes in prop::collection::vec(0u32..9000, 1..200), bound in prop::sample::select(vec![9000usize, 70_000, 400_000])) {
            let factor = bound as u32 / 9000;
            let (mut bits, mut set) = (Bits::new(bound), BTreeSet::new());
            for number in changes {
                let number = number * factor;
                if set.insert(number) {
                    bits.insert(number);
                } else {
                    set.remove(&number);
                    bits.remove(number);
                }
                prop_assert_eq!(bits.len(), set.len());
                for from in [0, number, number + 1, number / 2] {
                    prop_assert_eq!(bits.next(from), set.range(from..).next().copied());
                }
            }
        }

        /// The index finds who a search through all jobs finds.
        #[test]
        fn index_finds_the_first(
            jobs in prop::collection::vec((1u32..12, 1i64..9), 1..40),
            steps in prop::collection::vec((0usize..40, 0u32..13, 0i64..10), 1..80),
        ) {
            let tasks: Vec<Task> = jobs.iter().map(|&(nodes, waiting)| Task {
                arrival: Seconds(0), work: Seconds(1), limit: None, waiting: Seconds(waiting),
                running: Seconds(waiting), nodes, user: crate::log::Label::NONE,
            }).collect();
            let by_rank: Vec<u32> = (0..tasks.len() as u32).collect();
            let mut index = SizeIndex::new(&tasks, &by_rank);
            let mut waits = vec![false; tasks.len()];
            for (which, size, duration) in steps {
                let which = which % tasks.len();
                waits[which] = !waits[which];
                index.set(which as u32, tasks[which].nodes, waits[which].then_some(tasks[which].waiting));
                let found = (0..tasks.len()).find(|&job| {
                    waits[job] && tasks[job].nodes <= size && tasks[job].waiting.0 <= duration
                });
                prop_assert_eq!(index.first(size, Seconds(duration)), found.map(|job| job as u32));
            }
        }
    }
}
