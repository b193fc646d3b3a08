//! How an algorithm chooses among links that serve it equally well.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

use super::{Paths, RouterView, RoutingError, RoutingSpec};

/// Which of the global links that join two groups a route may leave through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum MinimalLinks {
    /// Every one of them.
    ///
    /// Each crosses one global link, but the number of
    /// local hops before and after it differs. In groups of leaves and spines it is
    /// the same from every leaf; a spine uses links of its own if it has any.
    #[default]
    All,
    /// Only those that give the fewest router-router hops from the router that
    /// chooses to the router that the route is for.
    Shortest,
}

/// How one of several links is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Uniformly at random.
    #[default]
    Random,
    /// The one with the shortest queue at the deciding router.
    ///
    /// The least occupancy of the output port; ties uniformly at random.
    ByLoad,
    /// The one that belongs to the destination node, so that every pair of nodes has one
    /// path.
    ///
    /// Only for routing by tables ([`Tabled`](super::Tabled)): node `j` takes link
    /// number `⌊j / d⌋` modulo their number, where `d` is 1, or in up-down routing as
    /// described there.
    ByDestination,
}

odonata_declare::table! {
    /// Keys of the algorithms whose minimal routes go over any of the links between two groups.
    pub struct MinimalLinkKeys {
        /// Which global links to the destination's group minimal routes use: all of them, or those
        /// on a shortest path. Only over `groups`.
        minimal_links: MinimalLinks = MinimalLinks::default(),
    }
}

impl MinimalLinkKeys {
    /// `spec` with these links.
    ///
    /// # Errors
    /// If its paths are none over groups, which alone have a choice of global links.
    pub(super) fn on(&self, spec: RoutingSpec) -> Result<RoutingSpec, RoutingError> {
        if spec.paths != Paths::Groups && self.minimal_links != MinimalLinks::All {
            return Err(RoutingError::BadOption {
                option: "minimal_links",
                found: format!("\"{}\"", self.minimal_links.name()),
                allowed: "only routes over `paths` = \"groups\" choose among global links: remove it",
            });
        }
        Ok(RoutingSpec {
            links: self.minimal_links,
            ..spec
        })
    }
}

odonata_declare::table! {
    /// Keys of the algorithms whose minimal routes go over the links between two groups, one of which
    /// they choose.
    pub struct GroupLinkKeys {
        /// Links between groups.
        links: MinimalLinkKeys = MinimalLinkKeys::default() => Notes::FLAT,
        /// How one of several minimal links is chosen: at random, or by the shorter queue. `minimal`
        /// over other `paths` than `groups` also takes `by-destination`, as `shortest-path` does.
        choice: Choice = Choice::default(),
    }
}

impl GroupLinkKeys {
    /// `spec` with these links.
    ///
    /// # Errors
    /// If its paths are none over groups, which alone have a choice of global links.
    pub(super) fn on(&self, spec: RoutingSpec) -> Result<RoutingSpec, RoutingError> {
        self.links.on(RoutingSpec {
            choice: self.choice,
            ..spec
        })
    }
}

odonata_declare::table! {
    /// Keys of the algorithms that go by tables.
    pub struct TabledKeys {
        /// How one of several minimal links is chosen: at random, by the shorter queue, or
        /// `by-destination`: the link that belongs to the destination node; in fat trees this is
        /// D-mod-K (Zahavi 2010).
        choice: Choice = Choice::default(),
    }
}

/// The index in `0..count` with the least load; ties are broken uniformly with
/// a single random draw. `count` must not be zero.
pub(super) fn least_loaded<V: RouterView>(
    view: &mut V,
    count: u32,
    mut load: impl FnMut(&mut V, u32) -> u64,
) -> u32 {
    if count > u64::BITS {
        return least_loaded_of_many(view, count, load);
    }
    // Each load is asked once: in an engine it is a sum over credits on their way.
    let (mut least, mut first, mut ties) = (u64::MAX, 0, 0u64);
    for index in 0..count {
        let load = load(view, index);
        if load < least {
            (least, first, ties) = (load, index, 0);
        }
        ties |= u64::from(load == least) << index;
    }
    if ties.is_power_of_two() {
        return first;
    }
    for _ in 0..view.random_below(ties.count_ones()) {
        ties &= ties - 1;
    }
    ties.trailing_zeros()
}

/// The same of more than a word has bits.
#[cold]
fn least_loaded_of_many<V: RouterView>(
    view: &mut V,
    count: u32,
    mut load: impl FnMut(&mut V, u32) -> u64,
) -> u32 {
    let loads: Vec<u64> = (0..count).map(|index| load(view, index)).collect();
    let least = loads.iter().copied().min();
    let mut ties = (0..count).filter(|&index| Some(loads[index as usize]) == least);
    match ties.clone().count() as u32 {
        0 | 1 => ties.next().unwrap_or(0),
        several => ties.nth(view.random_below(several) as usize).unwrap_or(0),
    }
}

/// The emptiest of the ports offered so far, with what goes with it: for candidates that are
/// found one after the other.
pub(super) struct Emptiest<T> {
    occupancy: u64,
    /// Ports that are as empty.
    equal: u32,
    found: Option<T>,
}

impl<T: Copy> Emptiest<T> {
    pub fn new() -> Self {
        Self {
            occupancy: u64::MAX,
            equal: 0,
            found: None,
        }
    }

    /// Its occupancy in bytes; `u64::MAX` if none has been offered.
    pub fn occupancy(&self) -> u64 {
        self.occupancy
    }

    /// The one taken.
    pub fn found(&self) -> Option<T> {
        self.found
    }

    /// Takes a port that is emptier, or, of `n` equally empty ones, the last with probability
    /// 1/n; `draw` is uniform below 2³² − 1, and what a choice leaves of it is again for the next.
    #[inline]
    pub fn offer(&mut self, occupancy: u64, candidate: T, draw: &mut u32) {
        if occupancy > self.occupancy {
            return;
        }
        if occupancy < self.occupancy {
            self.equal = 0;
        }
        self.equal += 1;
        // Mixed, so that successive choices do not depend on each other.
        *draw = draw
            .wrapping_mul(0x9E37_79B1)
            .rotate_left(15)
            .wrapping_add(0x7F4A_7C15);
        let chosen = (u64::from(*draw) * u64::from(self.equal)) >> 32 == 0;
        if chosen {
            (self.occupancy, self.found) = (occupancy, Some(candidate));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing::MockRouter;

    #[test]
    fn of_equal_loads_each_is_taken_as_often() {
        let mut view = MockRouter::new(8);
        for count in [1, 2, 64, 65, 200] {
            // The first, the last, and what lies in the middle are equally little loaded.
            let ends = [0, count / 2, count - 1];
            let mut taken = vec![0; count as usize];
            for _ in 0..3_000 {
                let load = |_: &mut MockRouter, index| u64::from(!ends.contains(&index)) + 7;
                taken[least_loaded(&mut view, count, load) as usize] += 1;
            }
            let mut ends = ends.to_vec();
            ends.dedup();
            let expected = 3_000 / ends.len() as i32;
            for &end in &ends {
                // Five standard deviations of a binomial distribution.
                assert!(
                    (taken[end as usize] - expected).abs() < 140,
                    "{count}: {taken:?}"
                );
            }
            assert_eq!(
                ends.iter().map(|&end| taken[end as usize]).sum::<i32>(),
                3_000
            );
        }
    }
}
