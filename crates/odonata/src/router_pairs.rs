//! Patterns between routers that follow from how these are linked.

use std::collections::BTreeMap;

use odonata_load::{LoadError, Permutation};
use odonata_network::{Peer, Topology};
use odonata_units::{NodeId, RouterId};

/// No router, or a pair that must not be chosen.
const NONE: u32 = u32::MAX;
const FORBIDDEN: i64 = 1 << 40;
/// What a pair costs more each time it turned out badly.
const PENALTY: i64 = 1 << 8;
/// Solutions of [`two_hops_on`] that are tried.
const TRIES: usize = 100;

/// The routers on which a job has ranks, and how they are linked.
pub(crate) struct JobRouters<'a> {
    topology: &'a Topology,
    /// The routers, ascending.
    routers: Vec<RouterId>,
    /// Ranks of each, ascending. Shape: routers.
    ranks: Vec<Vec<u32>>,
}

impl<'a> JobRouters<'a> {
    /// The pairs of a job with a rank on each of `node_of_rank`.
    ///
    /// # Errors
    /// If not all routers have as many ranks.
    pub fn new(topology: &'a Topology, node_of_rank: &[NodeId]) -> Result<Self, LoadError> {
        let mut by_router: BTreeMap<RouterId, Vec<u32>> = BTreeMap::new();
        for (&node, rank) in node_of_rank.iter().zip(0..) {
            let router = topology.router_of_node(node);
            by_router.entry(router).or_default().push(rank);
        }
        let (routers, ranks): (Vec<_>, Vec<Vec<u32>>) = by_router.into_iter().unzip();
        if let Some(at) = ranks.iter().position(|here| here.len() != ranks[0].len()) {
            return Err(refused(format!(
                "a job with {} ranks on router {} and {} on router {}",
                ranks[0].len(),
                routers[0],
                ranks[at].len(),
                routers[at]
            )));
        }
        Ok(Self {
            topology,
            routers,
            ranks,
        })
    }

    /// Every rank sends to that at the same place of the router which is matched to its own.
    fn permutation(&self, matched: &[u32]) -> Result<Permutation, LoadError> {
        let mut to = vec![0; self.ranks.iter().map(Vec::len).sum()];
        for (here, &there) in self.ranks.iter().zip(matched) {
            for (&from, &partner) in here.iter().zip(&self.ranks[there as usize]) {
                to[from as usize] = partner;
            }
        }
        Permutation::new(to)
    }

    /// Links from each of the routers to the others, any path. Shape: routers × routers.
    fn distances(&self) -> Result<Vec<Vec<u32>>, LoadError> {
        let owner = self.topology.router_of_every_port();
        let mut neighbours = vec![Vec::new(); self.topology.routers()];
        for (router, list) in neighbours.iter_mut().enumerate() {
            for port in self.topology.ports_of(RouterId::from_index(router)) {
                if let Peer::Port(peer) = self.topology.peer[port] {
                    list.push(owner[peer.index()].index());
                }
            }
        }
        let from = |source: RouterId| {
            let mut distance = vec![NONE; neighbours.len()];
            distance[source.index()] = 0;
            let mut queue = std::collections::VecDeque::from([source.index()]);
            while let Some(at) = queue.pop_front() {
                for &peer in &neighbours[at] {
                    if distance[peer] == NONE {
                        distance[peer] = distance[at] + 1;
                        queue.push_back(peer);
                    }
                }
            }
            self.routers.iter().map(|to| distance[to.index()]).collect()
        };
        let distances: Vec<Vec<u32>> = self.routers.iter().map(|&source| from(source)).collect();
        match distances.iter().flatten().any(|&links| links == NONE) {
            true => Err(refused("routers without a path between them".into())),
            false => Ok(distances),
        }
    }

    /// The permutation of the routers with the longest paths in all: the assignment of most
    /// worth, a pair being worth its distance (the longest-matching traffic of Jyothi, Singla,
    /// Godfrey and Kolla, "Measuring and understanding throughput of network topologies", SC 2016,
    /// section 3). Time O(routers³).
    pub fn longest_matching(&self) -> Result<Permutation, LoadError> {
        let distances = self.distances()?;
        let cost = |from: usize, to: usize| -i64::from(distances[from][to]);
        let matched = assignment(self.routers.len(), cost);
        self.permutation(&matched)
    }

    /// To the router two links on along closed chains of links that take in every router once, of
    /// which none has a link to it. Every link of the chains is then on shortest paths of the
    /// ranks of both routers before its end: as many as can be where no two routers are more than
    /// two links apart, as what crosses a link begins or ends at it. Such is the worst case of
    /// minimal routing on a Slim Fly (Besta and Hoefler, SC 2014, section 5).
    pub fn two_hops_on(&self) -> Result<Permutation, LoadError> {
        let distances = self.distances()?;
        let routers = self.routers.len();
        let mut penalty = BTreeMap::<(usize, usize), i64>::new();
        for _ in 0..TRIES {
            let cost = |from: usize, to: usize| match distances[from][to] {
                // Any order of the others will do, but not the same for all.
                1 => {
                    let mixed = (from * 7_919 + to * 104_729) % 61;
                    mixed as i64 + penalty.get(&(from, to)).copied().unwrap_or(0)
                }
                _ => FORBIDDEN,
            };
            let next = assignment(routers, cost);
            if (0..routers).any(|from| distances[from][next[from] as usize] != 1) {
                break;
            }
            let on = |from: usize| next[next[from] as usize] as usize;
            let bad: Vec<usize> = (0..routers)
                .filter(|&from| distances[from][on(from)] != 2)
                .collect();
            if bad.is_empty() {
                let matched: Vec<u32> = (0..routers).map(|from| on(from) as u32).collect();
                return self.permutation(&matched);
            }
            for from in bad {
                // Of a chain of two routers one of its links.
                let middle = next[from] as usize;
                if on(from) != from || from < middle {
                    *penalty.entry((middle, on(from))).or_default() += PENALTY;
                }
            }
        }
        Err(refused(
            "routers that no closed chains of links take in whose every other two are not linked"
                .into(),
        ))
    }
}

fn refused(found: String) -> LoadError {
    LoadError::BetweenRouters { found }
}

/// A permutation of `count` of least cost (shortest augmenting paths over reduced costs: Kuhn
/// 1955, Munkres 1957). Ties fall to the lowest numbers.
fn assignment(count: usize, cost: impl Fn(usize, usize) -> i64) -> Vec<u32> {
    // Numbers from 1; column 0 is where the row to be added starts.
    let (mut of_row, mut of_column) = (vec![0i64; count + 1], vec![0i64; count + 1]);
    let mut row_at = vec![0usize; count + 1];
    for row in 1..=count {
        row_at[0] = row;
        let mut column = 0;
        let mut least = vec![i64::MAX; count + 1];
        let mut came_from = vec![0usize; count + 1];
        let mut used = vec![false; count + 1];
        while row_at[column] != 0 {
            used[column] = true;
            let at = row_at[column];
            let (mut step, mut next) = (i64::MAX, 0);
            for to in (1..=count).filter(|&to| !used[to]) {
                let reduced = cost(at - 1, to - 1) - of_row[at] - of_column[to];
                if reduced < least[to] {
                    (least[to], came_from[to]) = (reduced, column);
                }
                if least[to] < step {
                    (step, next) = (least[to], to);
                }
            }
            for to in 0..=count {
                if used[to] {
                    of_row[row_at[to]] += step;
                    of_column[to] -= step;
                } else if to > 0 {
                    least[to] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_at[column] = row_at[came_from[column]];
            column = came_from[column];
        }
    }
    let mut chosen = vec![0; count];
    for column in 1..=count {
        chosen[row_at[column] - 1] = column as u32 - 1;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sum of the costs of the cheapest permutation, by trying all.
    fn cheapest(costs: &[Vec<i64>], row: usize, taken: u32) -> i64 {
        if row == costs.len() {
            return 0;
        }
        let free = (0..costs.len()).filter(|to| taken >> to & 1 == 0);
        free.map(|to| costs[row][to] + cheapest(costs, row + 1, taken | 1 << to))
            .min()
            .unwrap_or(0)
    }

    proptest! {
        #[test]
        fn the_assignment_is_the_cheapest_permutation(
            costs in (1usize..7).prop_flat_map(|count| {
                prop::collection::vec(prop::collection::vec(-9i64..9, count), count)
            }),
        ) {
            let chosen = assignment(costs.len(), |from, to| costs[from][to]);
            let mut sorted = chosen.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.iter().zip(0..).all(|(&to, row)| to == row));
            let found: i64 = chosen.iter().zip(&costs).map(|(&to, row)| row[to as usize]).sum();
            prop_assert_eq!(found, cheapest(&costs, 0, 0));
        }
    }
}
