//! How short the shortest jobs of every size are, place by place in a row of blocks.

/// Sizes by powers of two: class c has those from 2^c on; the last one all that are larger.
pub(super) const CLASSES: usize = 16;

/// The class of a size of at least 1.
pub(super) fn class_of(nodes: u32) -> usize {
    (nodes.max(1).ilog2() as usize).min(CLASSES - 1)
}

/// For each class of sizes a length in seconds.
pub(super) type Lengths = [u32; CLASSES];

/// The shortest length of each class where there is no job: longer than any.
pub(super) const NOBODY: Lengths = [u32::MAX; CLASSES];

/// Whether there is a class in which the shortest length is below the bound.
fn any_below(shortest: &Lengths, bounds: &Lengths) -> bool {
    let pairs = shortest.iter().zip(bounds);
    pairs.fold(false, |any, (length, bound)| any | (length < bound))
}

fn lower(shortest: &mut Lengths, by: &Lengths) {
    for (length, other) in shortest.iter_mut().zip(by) {
        *length = (*length).min(*other);
    }
}

/// Blocks of a group.
const GROUP: usize = 32;

/// At most the shortest length of each class in every block of a row, so that blocks without
/// jobs that are short enough are passed over.
#[derive(Default)]
pub(super) struct Shortest {
    blocks: Vec<Lengths>,
    /// The same of groups of blocks, and of all groups from each on.
    groups: Vec<Lengths>,
    rest: Vec<Lengths>,
}

impl Shortest {
    /// A row of one block.
    pub fn new() -> Self {
        let mut row = Self::default();
        row.insert(0, NOBODY);
        row
    }

    /// Puts a block into the row.
    pub fn insert(&mut self, at: usize, lengths: Lengths) {
        self.blocks.insert(at, lengths);
        self.regroup(at / GROUP, None);
    }

    /// Takes a block out of the row.
    pub fn remove(&mut self, at: usize) {
        self.blocks.remove(at);
        self.regroup(at / GROUP, None);
    }

    /// A job comes into a block.
    pub fn lower(&mut self, at: usize, class: usize, length: u32) {
        if length >= self.blocks[at][class] {
            return;
        }
        self.blocks[at][class] = length;
        let group = at / GROUP;
        let slot = &mut self.groups[group][class];
        if length >= *slot {
            return;
        }
        *slot = length;
        for rest in self.rest[..=group].iter_mut().rev() {
            if length >= rest[class] {
                return;
            }
            rest[class] = length;
        }
    }

    /// Tells the shortest lengths of a block.
    pub fn set(&mut self, at: usize, lengths: Lengths) {
        self.blocks[at] = lengths;
        self.regroup(at / GROUP, Some(at / GROUP + 1));
    }

    /// Sums groups up, from `from` to before `to`, and all that depends on them.
    fn regroup(&mut self, from: usize, to: Option<usize>) {
        let groups = self.blocks.len().div_ceil(GROUP);
        self.groups.resize(groups, NOBODY);
        self.rest.resize(groups, NOBODY);
        for group in from..to.unwrap_or(groups).min(groups) {
            let end = self.blocks.len().min((group + 1) * GROUP);
            let mut least = NOBODY;
            for lengths in &self.blocks[group * GROUP..end] {
                lower(&mut least, lengths);
            }
            self.groups[group] = least;
        }
        let mut rest = NOBODY;
        if let Some(to) = to
            && let Some(known) = self.rest.get(to)
        {
            rest = *known;
        }
        for group in (0..to.unwrap_or(groups).min(groups)).rev() {
            lower(&mut rest, &self.groups[group]);
            if group < from && self.rest[group] == rest {
                return;
            }
            self.rest[group] = rest;
        }
    }

    /// At most the shortest lengths in a block and all behind it.
    pub fn from(&self, block: usize) -> &Lengths {
        &self.rest[block / GROUP]
    }

    /// The first block from `from` on that perhaps has a job with a length below the bound of
    /// its class.
    pub fn next(&self, from: usize, bounds: &Lengths) -> Option<usize> {
        let mut group = from / GROUP;
        let mut begin = from;
        while group < self.groups.len() && any_below(&self.rest[group], bounds) {
            if any_below(&self.groups[group], bounds) {
                let end = self.blocks.len().min((group + 1) * GROUP);
                let below = |lengths| any_below(lengths, bounds);
                if let Some(found) = self.blocks[begin..end].iter().position(below) {
                    return Some(begin + found);
                }
            }
            group += 1;
            begin = group * GROUP;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The first block that can have a short job is the one that a look at all finds.
        #[test]
        fn next_is_the_first_of_all(
            changes in prop::collection::vec((0u8..4, 0usize..1000, 0..CLASSES, 0u32..20), 1..400),
            questions in prop::collection::vec((0usize..1000, 0..CLASSES, 0u32..21), 1..20),
        ) {
            let (mut row, mut all) = (Shortest::new(), vec![NOBODY]);
            for (what, at, class, length) in changes {
                let mut lengths = NOBODY;
                lengths[class] = length;
                match what {
                    0 if all.len() > 1 => {
                        let at = at % all.len();
                        row.remove(at);
                        all.remove(at);
                    }
                    1 => {
                        let at = at % all.len();
                        row.lower(at, class, length);
                        all[at][class] = all[at][class].min(length);
                    }
                    2 => {
                        let at = at % all.len();
                        row.set(at, lengths);
                        all[at] = lengths;
                    }
                    _ => {
                        let at = at % (all.len() + 1);
                        row.insert(at, lengths);
                        all.insert(at, lengths);
                    }
                }
            }
            for (from, class, bound) in questions {
                let from = from % all.len();
                let mut bounds = [0; CLASSES];
                bounds[class] = bound;
                let found = (from..all.len()).find(|&at| all[at][class] < bound);
                prop_assert_eq!(row.next(from, &bounds), found);
            }
        }
    }
}
