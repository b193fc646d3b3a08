//! Sets of nodes of a cluster.

/// A set of nodes by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// No node of `nodes`.
    pub fn none(nodes: usize) -> Self {
        Self {
            words: vec![0; nodes.div_ceil(64)],
        }
    }

    /// All of `nodes`.
    pub fn all(nodes: usize) -> Self {
        let mut set = Self::none(nodes);
        for node in 0..nodes {
            set.insert(node);
        }
        set
    }

    /// These of `all` nodes.
    pub fn of(all: usize, nodes: impl Iterator<Item = usize>) -> Self {
        let mut set = Self::none(all);
        nodes.for_each(|node| set.insert(node));
        set
    }

    pub fn insert(&mut self, node: usize) {
        self.words[node / 64] |= 1 << (node % 64);
    }

    pub fn contains(&self, node: usize) -> bool {
        self.words[node / 64] >> (node % 64) & 1 == 1
    }

    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    pub fn keep(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub fn drop_all(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    pub fn meets(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(word, other)| word & other != 0)
    }

    pub fn covers(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.all(|(word, other)| other & !word == 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sets() {
        let mut odd = NodeSet::none(130);
        (0..130)
            .filter(|node| node % 2 == 1)
            .for_each(|node| odd.insert(node));
        let mut set = NodeSet::all(130);
        assert_eq!((set.len(), odd.len()), (130, 65));
        assert!(set.covers(&odd) && !odd.covers(&set));
        set.drop_all(&odd);
        assert!(!set.meets(&odd));
        assert_eq!(set.iter().last(), Some(128));
        set.add(&odd);
        set.keep(&odd);
        assert_eq!(set, odd);
        assert!(!set.contains(128) && set.contains(127));
    }
}
