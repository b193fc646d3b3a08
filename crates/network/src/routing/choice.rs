//! How an algorithm chooses among links that serve it equally well.

use super::RouterView;

/// Which of the global links that join two groups a route may leave through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MinimalLinks {
    /// Every one of them: each crosses one global link, but the number of
    /// local hops before and after it differs. In groups of leaves and spines it is
    /// the same from every leaf; a spine uses links of its own if it has any.
    #[default]
    All,
    /// Only those that give the fewest router-router hops from the router that
    /// chooses to the router that the route is for.
    Shortest,
}

/// How one of several links is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Uniformly at random.
    #[default]
    Random,
    /// The one whose output port at the deciding router has the least
    /// occupancy; ties uniformly at random.
    ByLoad,
    /// The one that belongs to the destination node, so that every pair of nodes has one
    /// path. Only for routing by tables ([`Tabled`](super::Tabled)): node `j` takes link
    /// number `⌊j / d⌋` modulo their number, where `d` is 1, or in up-down routing as
    /// described there.
    ByDestination,
}

/// The index in `0..count` with the least load; ties are broken uniformly with
/// a single random draw. `count` must not be zero.
pub(super) fn least_loaded<V: RouterView>(
    view: &mut V,
    count: u32,
    mut load: impl FnMut(&mut V, u32) -> u64,
) -> u32 {
    let (mut least, mut ties, mut first) = (u64::MAX, 0, 0);
    for index in 0..count {
        let load = load(view, index);
        if load < least {
            (least, ties, first) = (load, 1, index);
        } else if load == least {
            ties += 1;
        }
    }
    if ties <= 1 {
        return first;
    }
    let mut skip = view.random_below(ties);
    for index in first..count {
        if load(view, index) == least {
            if skip == 0 {
                return index;
            }
            skip -= 1;
        }
    }
    first
}
