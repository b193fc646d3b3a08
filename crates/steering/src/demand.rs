//! What the groups of a job send to each other.

/// Bytes between the groups of a job, by their places in its list of groups. A
/// circuit carries as much in each direction, so what counts of a pair is the
/// direction that sends more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    groups: usize,
    /// Shape: groups × groups.
    bytes: Vec<u64>,
}

impl Demand {
    /// The demand of `groups` groups, from sums of `(from, to, bytes)`; what a group sends to
    /// itself is left out.
    ///
    /// # Panics
    /// If a place is not below `groups`.
    pub fn new(groups: usize, sent: impl IntoIterator<Item = (usize, usize, u64)>) -> Self {
        let mut bytes = vec![0u64; groups * groups];
        for (from, to, sent) in sent {
            assert!(
                from < groups && to < groups,
                "a place beyond the job's groups"
            );
            if from != to {
                let entry = &mut bytes[from * groups + to];
                *entry = entry.saturating_add(sent);
            }
        }
        Self { groups, bytes }
    }

    /// The same between every two groups.
    pub fn uniform(groups: usize) -> Self {
        let pairs = (0..groups * groups).map(|pair| (pair / groups, pair % groups, 1));
        Self::new(groups, pairs)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// What the busier direction between two groups carries.
    pub fn of(&self, one: usize, other: usize) -> u64 {
        let bytes = |from, to| self.bytes[from * self.groups + to];
        bytes(one, other).max(bytes(other, one))
    }

    /// The greatest of any pair.
    pub fn most(&self) -> u64 {
        self.bytes.iter().copied().max().unwrap_or(0)
    }
}
