//! What waiting jobs are promised, in order of time.

use super::timeline::Moment;

/// Most entries of a block.
const BLOCK: usize = 64;

/// Sizes by powers of two: class c has those from 2^c on; the last one all that are larger.
pub(super) const CLASSES: usize = 16;

/// The class of a size of at least 1.
pub(super) fn class_of(nodes: u32) -> usize {
    (nodes.max(1).ilog2() as usize).min(CLASSES - 1)
}

/// A duration in seconds as a number that never falls as it grows, with eight steps for every
/// doubling; at most [`LONGEST`].
pub(super) fn length_of(seconds: u32) -> u8 {
    let seconds = seconds.max(1);
    let power = seconds.ilog2();
    let eighth = (u64::from(seconds) << 3 >> power) & 7;
    ((power << 3) as u8 | eighth as u8).min(LONGEST)
}

/// The length of the longest durations.
pub(super) const LONGEST: u8 = 254;

/// For each class of sizes a bound: lengths below it are meant; 0 for none.
pub(super) type Bounds = [u8; CLASSES];

/// The shortest length of each class in an empty block.
const NOBODY: Bounds = [u8::MAX; CLASSES];

/// A waiting job and its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub at: Moment,
    pub task: u32,
    pub nodes: u32,
    /// For how long it is believed to run, in seconds.
    pub waiting: u32,
}

impl Promise {
    fn key(&self) -> (Moment, u32) {
        (self.at, self.task)
    }
}

/// Promises in order of time, then of tasks, in blocks; of each block, what is needed to pass
/// over it when only small and short jobs are looked for.
#[derive(Default)]
pub(super) struct Calendar {
    blocks: Vec<Vec<Promise>>,
    /// The first entry of each block.
    firsts: Vec<(Moment, u32)>,
    /// At most the shortest length of each class of sizes in each block.
    shortest: Vec<Bounds>,
}

fn shortest(block: &[Promise]) -> Bounds {
    let mut least = NOBODY;
    for promise in block {
        let slot = &mut least[class_of(promise.nodes)];
        *slot = (*slot).min(length_of(promise.waiting));
    }
    least
}

impl Calendar {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.firsts.clear();
        self.shortest.clear();
    }

    /// The block in which an entry lies or would lie.
    fn block(&self, key: (Moment, u32)) -> usize {
        self.firsts.partition_point(|&first| first <= key).max(1) - 1
    }

    /// Adds a promise to a job that has none.
    pub fn insert(&mut self, promise: Promise) {
        let key = promise.key();
        if self.blocks.is_empty() {
            self.blocks.push(Vec::with_capacity(BLOCK + 1));
            self.firsts.push(key);
            self.shortest.push(NOBODY);
        }
        let block = self.block(key);
        let entries = &mut self.blocks[block];
        let place = entries.partition_point(|other| other.key() < key);
        entries.insert(place, promise);
        if place == 0 {
            self.firsts[block] = key;
        }
        if entries.len() > BLOCK {
            let mut later = Vec::with_capacity(BLOCK + 1);
            later.extend(entries.drain(BLOCK / 2..));
            self.shortest[block] = shortest(entries);
            self.firsts.insert(block + 1, later[0].key());
            self.shortest.insert(block + 1, shortest(&later));
            self.blocks.insert(block + 1, later);
        } else {
            let slot = &mut self.shortest[block][class_of(promise.nodes)];
            *slot = (*slot).min(length_of(promise.waiting));
        }
    }

    /// Moves the promise of a job to another time.
    pub fn shift(&mut self, old: Moment, promise: Promise) {
        let block = self.block((old, promise.task));
        let entries = self
            .blocks
            .get_mut(block)
            .map_or(&mut [][..], |block| &mut block[..]);
        let place = entries.partition_point(|other| other.key() < (old, promise.task));
        let stays = place > 0
            && entries[place - 1].key() < promise.key()
            && entries
                .get(place + 1)
                .is_some_and(|next| promise.key() < next.key());
        if stays {
            entries[place] = promise;
        } else {
            self.remove(old, promise.task);
            self.insert(promise);
        }
    }

    /// Removes the promise of a job.
    pub fn remove(&mut self, at: Moment, task: u32) {
        if self.blocks.is_empty() {
            return;
        }
        let block = self.block((at, task));
        let entries = &mut self.blocks[block];
        let place = entries.partition_point(|other| other.key() < (at, task));
        debug_assert!(
            entries
                .get(place)
                .is_some_and(|found| found.key() == (at, task))
        );
        entries.remove(place);
        match entries.first() {
            Some(first) => self.firsts[block] = first.key(),
            None => {
                self.blocks.remove(block);
                self.firsts.remove(block);
                self.shortest.remove(block);
            }
        }
    }

    /// All promises in order, from `from` on.
    pub fn from(&self, from: Moment) -> impl Iterator<Item = &Promise> {
        let block = self.block((from, 0));
        let rest = self.blocks.get(block..).unwrap_or_default();
        rest.iter()
            .flatten()
            .skip_while(move |promise| promise.at < from)
    }

    /// Tells of every promise from `from` on whose length is below the bound of its class, and
    /// perhaps of others in the block of `from`.
    pub fn below(&mut self, from: Moment, bounds: &Bounds, tell: &mut impl FnMut(&Promise)) {
        for block in self.block((from, 0))..self.blocks.len() {
            let least = &self.shortest[block];
            let any = least
                .iter()
                .zip(bounds)
                .fold(false, |any, (least, bound)| any | (least < bound));
            if !any {
                continue;
            }
            let mut found = false;
            for promise in &self.blocks[block] {
                if length_of(promise.waiting) < bounds[class_of(promise.nodes)] {
                    found = true;
                    tell(promise);
                }
            }
            if !found {
                // What was the shortest has gone.
                self.shortest[block] = shortest(&self.blocks[block]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The calendar is a sorted map, and tells of everybody who is meant.
        #[test]
        fn calendar_is_a_sorted_map(
            changes in prop::collection::vec((0u32..300, 0i64..50, 1u32..200_000, 1u32..u32::MAX), 1..400),
            questions in prop::collection::vec((0i64..50, 0usize..CLASSES, 1u32..u32::MAX), 1..20),
        ) {
            let (mut calendar, mut map) = (Calendar::default(), BTreeMap::new());
            let mut of = BTreeMap::new();
            for (task, at, nodes, waiting) in changes {
                let promise = Promise { at: Moment(at), task, nodes, waiting };
                if let Some(old) = of.remove(&task) {
                    let Promise { nodes, waiting, .. } = map.remove(&(old, task)).unwrap();
                    if nodes % 2 == 0 {
                        let promise = Promise { nodes, waiting, ..promise };
                        calendar.shift(old, promise);
                        of.insert(task, promise.at);
                        map.insert(promise.key(), promise);
                    } else {
                        calendar.remove(old, task);
                    }
                } else {
                    of.insert(task, promise.at);
                    calendar.insert(promise);
                    map.insert(promise.key(), promise);
                }
            }
            for (from, class, seconds) in questions {
                let from = Moment(from);
                let all: Vec<Promise> = calendar.from(from).copied().collect();
                prop_assert_eq!(&all, &map.range((from, 0)..).map(|(_, &promise)| promise).collect::<Vec<_>>());
                let mut bounds = [0; CLASSES];
                bounds[class] = length_of(seconds) + 1;
                let mut reported = Vec::new();
                calendar.below(from, &bounds, &mut |promise| reported.push(promise.task));
                for promise in all {
                    if class_of(promise.nodes) == class && promise.waiting <= seconds {
                        prop_assert!(reported.contains(&promise.task));
                    }
                }
            }
        }
    }
}
