//! Up and then down: fat trees, and any other connected network.

use std::collections::VecDeque;

use odonata_units::RouterId;

use super::channels::channel_count;
use super::choice::{Choice, TabledKeys};
use super::error::RoutingError;
use super::next_hops::{LocalLink, NextHops, NoPath, neighbours};
use super::tabled::{Destinations, Index, Tabled};
use super::{Algorithm, AlgorithmKeys, Hop, RoutingSpec, Usual};
use crate::topology::Topology;

odonata_declare::table! {
    /// Keys of `up-down`.
    pub struct UpDownKeys {
        /// The link.
        links: TabledKeys = TabledKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for UpDownKeys {
    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            choice: self.links.choice,
            ..RoutingSpec::new(Algorithm::UpDown)
        })
    }
}

impl Tabled {
    /// Up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) on any connected
    /// network, with one virtual channel. Every link has an upper end; packets go up, by
    /// links from which the rest of the way is shortest, until a way down leads to their
    /// destination, and then down. In a fat tree these are all shortest paths.
    ///
    /// A router's height is its distance from the routers that have nodes, as that of a switch
    /// of a fat tree from the leaves; of two routers of one height that of the higher number
    /// is above. Where all routers have nodes, or two of those have no path that goes up and
    /// then down, heights fall instead with the distance from the router with most links (of
    /// several, the first).
    ///
    /// With [`Choice::ByDestination`] node `j` goes up by link `⌊j / d⌋` modulo their number,
    /// where `d` is 1 at the lowest routers and at others `d` of a router below times that
    /// router's parents, and down by that of parallel links: D-mod-K (Zahavi, "D-Mod-K
    /// routing providing non-blocking traffic for shift permutations on real life fat trees",
    /// 2010), where nodes are numbered along the leaves.
    ///
    /// # Errors
    /// If the network is not connected or too large.
    pub fn up_down(
        topology: &Topology,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        Ok(Self::up_down_with_ways_up(topology, choice, virtual_channels)?.0)
    }

    /// [`Tabled::up_down`] with all links up of each router. Shape: routers × links up.
    pub(super) fn up_down_with_ways_up(
        topology: &Topology,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<(Self, Vec<Vec<Hop>>), RoutingError> {
        let destinations = Destinations::within_limits(topology, "up-down")?;
        let routers: Vec<u32> = (0..topology.routers() as u32).collect();
        let neighbours = neighbours(topology, &routers);
        let to = destinations.routers();
        let from_leaves = match to.len() {
            all if all == working(&neighbours) => None,
            // By the ways down, which no circuit changes: so that all circuits of a tree have one
            // order, and packets of several of them close no cycle.
            _ if topology.has_one_way_links() => Some(distances(&reversed(&neighbours), &to)),
            _ => Some(distances(&neighbours, &to)),
        };
        let along = |height: &[i64]| {
            let rank = ranks(height);
            let table = NextHops::up_down(to.clone(), &neighbours, &rank)?;
            Ok::<_, NoPath>((table, rank))
        };
        let (without_order, from_leaves) = match from_leaves.map(|height| along(&height)) {
            Some(Err(NoPath { from, to })) => (Some((RouterId(from), RouterId(to))), None),
            found => (None, found.and_then(Result::ok)),
        };
        let (table, rank) = match from_leaves {
            Some(found) => found,
            None => along(&heights_below_hub(&neighbours))?,
        };
        let divisors = divisors(&neighbours, &rank);
        let channels = channel_count("up-down", 1, 1, virtual_channels)?;
        let (columns, entries, hops) = table.into_hops();
        let tabled = Self {
            index: Index::ByColumn(columns),
            entries,
            hops,
            destinations: destinations.with_divisors(divisors),
            choice,
            channels,
            ascending: false,
            without_order,
        };
        let upward = |(router, links): (usize, &Vec<LocalLink>)| {
            let up = links
                .iter()
                .filter(|link| rank[usize::from(link.to)] > rank[router]);
            up.map(|link| Hop {
                port: link.port,
                vc: 0,
            })
            .collect()
        };
        Ok((tabled, neighbours.iter().enumerate().map(upward).collect()))
    }
}

/// The routers from which heights fall in [`Tabled::up_down`]: those farthest from the routers that
/// have nodes, or, where all have, the one with most links.
pub fn roots(topology: &Topology) -> Vec<RouterId> {
    let routers: Vec<u32> = (0..topology.routers() as u32).collect();
    let neighbours = neighbours(topology, &routers);
    let leaves = Destinations::new(topology).routers();
    let height = match leaves.len() {
        all if all == working(&neighbours) => heights_below_hub(&neighbours),
        _ => distances(&neighbours, &leaves),
    };
    let numbered = (0..).map(RouterId).zip(&height);
    let reached =
        numbered.filter(|(router, _)| routers.len() == 1 || !neighbours[router.index()].is_empty());
    let top = reached.clone().map(|(_, height)| *height).max();
    reached
        .filter(|(_, height)| Some(**height) == top)
        .map(|(router, _)| router)
        .collect()
}

/// Number of routers that have links, or of all in a network of one.
fn working(neighbours: &[Vec<LocalLink>]) -> usize {
    let linked = neighbours.iter().filter(|links| !links.is_empty());
    linked.count().max(1)
}

/// The place of each router in an order in which every link's upper end comes later.
/// Shape: routers.
fn ranks(height: &[i64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..height.len()).collect();
    order.sort_by_key(|&router| height[router]);
    let mut rank = vec![0; order.len()];
    for (place, router) in (0..).zip(order) {
        rank[router] = place;
    }
    rank
}

/// Heights that fall with the distance from the router with most links. Shape: routers.
fn heights_below_hub(neighbours: &[Vec<LocalLink>]) -> Vec<i64> {
    let links = |&router: &u32| (neighbours[router as usize].len(), std::cmp::Reverse(router));
    let hub = (0..neighbours.len() as u32).max_by_key(links).unwrap_or(0);
    let below = distances(neighbours, &[hub]).into_iter();
    below.map(|distance| -distance).collect()
}

/// The ways against the direction of each.
fn reversed(neighbours: &[Vec<LocalLink>]) -> Vec<Vec<LocalLink>> {
    let mut against = vec![Vec::new(); neighbours.len()];
    for (from, links) in neighbours.iter().enumerate() {
        for link in links {
            against[usize::from(link.to)].push(LocalLink {
                to: from as u16,
                ..*link
            });
        }
    }
    against
}

/// Hops from the nearest of `sources` to each router. Shape: routers.
fn distances(neighbours: &[Vec<LocalLink>], sources: &[u32]) -> Vec<i64> {
    let mut distance = vec![i64::MAX; neighbours.len()];
    let mut queue: VecDeque<usize> = sources.iter().map(|&source| source as usize).collect();
    for &source in &queue {
        distance[source] = 0;
    }
    while let Some(at) = queue.pop_front() {
        for link in &neighbours[at] {
            let peer = usize::from(link.to);
            if distance[peer] == i64::MAX {
                distance[peer] = distance[at] + 1;
                queue.push_back(peer);
            }
        }
    }
    distance
}

/// What [`Choice::ByDestination`] divides by at each router. Shape: routers.
fn divisors(neighbours: &[Vec<LocalLink>], rank: &[u32]) -> Vec<u32> {
    let mut ascending: Vec<usize> = (0..neighbours.len()).collect();
    ascending.sort_unstable_by_key(|&router| rank[router]);
    let mut divisor = vec![1u32; neighbours.len()];
    for router in ascending {
        let links = neighbours[router].iter().map(|link| usize::from(link.to));
        let mut parents: Vec<usize> = links.filter(|&peer| rank[peer] > rank[router]).collect();
        parents.sort_unstable();
        parents.dedup();
        let above = divisor[router].saturating_mul(parents.len() as u32);
        for parent in parents {
            divisor[parent] = divisor[parent].max(above);
        }
    }
    divisor
}

#[cfg(test)]
mod tests;
