//! Numbers of circuits such that the busiest circuit has least to carry.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::demand::Demand;

/// A pair of places that would like one more circuit.
struct PairDemand {
    bytes: u64,
    circuits: u32,
    pair: (usize, usize),
}

impl PairDemand {
    /// By bytes per circuit, most first; one without circuits before all others.
    fn key(&self, other: &Self) -> Ordering {
        let mine = u128::from(self.bytes) * u128::from(other.circuits);
        let theirs = u128::from(other.bytes) * u128::from(self.circuits);
        let none = (self.circuits == 0).cmp(&(other.circuits == 0));
        none.then(match (self.circuits, other.circuits) {
            (0, 0) => self.bytes.cmp(&other.bytes),
            _ => mine.cmp(&theirs),
        })
        .then(other.pair.cmp(&self.pair))
    }
}

impl PartialEq for PairDemand {
    fn eq(&self, other: &Self) -> bool {
        self.key(other).is_eq()
    }
}
impl Eq for PairDemand {}
impl PartialOrd for PairDemand {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for PairDemand {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key(other)
    }
}

/// Circuits between every two places, at most `links` of each place. Shape: groups ×
/// groups, symmetric. The pair with most to carry per circuit gets the next one, as
/// long as both have links left, which minimises the maximum: whatever is less would
/// need more circuits of a group that has none left.
pub(crate) fn counts(demand: &Demand, links: u32) -> Vec<u32> {
    let places = demand.groups();
    let mut counts = vec![0u32; places * places];
    let mut left = vec![links; places];
    let pairs = (0..places).flat_map(|one| (one + 1..places).map(move |two| (one, two)));
    let mut wishes: BinaryHeap<PairDemand> = pairs
        .map(|(one, two)| PairDemand {
            bytes: demand.of(one, two),
            circuits: 0,
            pair: (one, two),
        })
        .filter(|wish| wish.bytes > 0)
        .collect();
    while let Some(mut wish) = wishes.pop() {
        let (one, two) = wish.pair;
        if left[one] == 0 || left[two] == 0 {
            continue;
        }
        left[one] -= 1;
        left[two] -= 1;
        wish.circuits += 1;
        counts[one * places + two] = wish.circuits;
        counts[two * places + one] = wish.circuits;
        wishes.push(wish);
    }
    counts
}
