//! Distances between routers, in router-to-router links: breadth-first searches
//! from 512 routers at a time, one bit per search (Then et al., "The More the
//! Merrier: Efficient Multi-Source Graph Traversal", PVLDB 2014).

use super::router_graph::RouterGraph;

/// 64-bit words of one batch of searches.
const WORDS: usize = 8;
/// Searches of one batch.
const BATCH: usize = 64 * WORDS;
/// Networks of up to this many routers are measured from every router.
const EXACT_ROUTERS: usize = 32_768;
/// Larger ones from this many, evenly spaced.
const SAMPLED_ROUTERS: usize = 4_096;

/// One bit per search.
type Bits = [u64; WORDS];

/// Distances of a network; where parts of it have no links between them, of the pairs
/// that a path joins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Distances {
    /// Largest distance found.
    pub diameter: u32,
    /// Mean over all pairs of different routers; 0 if there is only one router.
    pub between_routers: f64,
    /// Mean over all pairs of different nodes, those of one router being 0
    /// apart; 0 if there is only one node.
    pub between_nodes: f64,
    /// Routers searched from: all of them, or a sample in huge networks.
    pub sources: usize,
}

impl Distances {
    pub fn of(graph: &RouterGraph) -> Self {
        Self::from_sources(graph, &choose_sources(graph.routers()))
    }

    fn from_sources(graph: &RouterGraph, sources: &[usize]) -> Self {
        let mut sums = Sums::default();
        for batch in sources.chunks(BATCH) {
            sums.search(graph, batch);
        }
        let same_router = sources.iter().map(|&s| u128::from(graph.nodes[s]));
        let same_router: u128 = same_router
            .map(|nodes| nodes * nodes.saturating_sub(1))
            .sum();
        let mean = |sum: u128, pairs: u128| {
            if pairs == 0 {
                0.0
            } else {
                sum as f64 / pairs as f64
            }
        };
        Self {
            diameter: sums.diameter,
            between_routers: mean(sums.routers, sums.router_pairs),
            between_nodes: mean(sums.nodes, sums.node_pairs + same_router),
            sources: sources.len(),
        }
    }
}

fn choose_sources(routers: usize) -> Vec<usize> {
    if routers <= EXACT_ROUTERS {
        (0..routers).collect()
    } else {
        (0..SAMPLED_ROUTERS)
            .map(|n| n * routers / SAMPLED_ROUTERS)
            .collect()
    }
}

/// Sums of distances from the sources to everything.
#[derive(Default)]
struct Sums {
    diameter: u32,
    /// Over (source router, router).
    routers: u128,
    /// Over (node on a source router, node).
    nodes: u128,
    /// Pairs of routers that a path joins.
    router_pairs: u128,
    /// Pairs of nodes on different routers that a path joins.
    node_pairs: u128,
}

impl Sums {
    fn search(&mut self, graph: &RouterGraph, sources: &[usize]) {
        let mut seen: Vec<Bits> = vec![[0; WORDS]; graph.routers()];
        let mut reached_now = seen.clone();
        let mut reached_next = seen.clone();
        let mut front: Vec<u32> = vec![];
        let mut next_front: Vec<u32> = vec![];
        // Searches by the number of nodes at their source: few different ones.
        let mut by_nodes: Vec<(u32, Bits)> = vec![];
        for (search, &source) in sources.iter().enumerate() {
            let bit = |bits: &mut Bits| bits[search / 64] |= 1 << (search % 64);
            bit(&mut seen[source]);
            bit(&mut reached_now[source]);
            front.push(source as u32);
            let nodes = graph.nodes[source];
            match by_nodes.iter_mut().find(|(n, _)| *n == nodes) {
                Some((_, bits)) => bit(bits),
                None => {
                    let mut bits = [0; WORDS];
                    bit(&mut bits);
                    by_nodes.push((nodes, bits));
                }
            }
        }
        let mut distance = 0u32;
        while !front.is_empty() {
            distance += 1;
            for &router in &front {
                let bits = std::mem::replace(&mut reached_now[router as usize], [0; WORDS]);
                for &neighbour in graph.neighbours(router as usize) {
                    let neighbour = neighbour as usize;
                    let (next, seen) = (&mut reached_next[neighbour], &seen[neighbour]);
                    let was_empty = *next == [0; WORDS];
                    let mut any = 0;
                    for word in 0..WORDS {
                        next[word] |= bits[word] & !seen[word];
                        any |= next[word];
                    }
                    if was_empty && any != 0 {
                        next_front.push(neighbour as u32);
                    }
                }
            }
            for &router in &next_front {
                let router = router as usize;
                let new = &reached_next[router];
                let mut count = 0;
                for word in 0..WORDS {
                    seen[router][word] |= new[word];
                    count += new[word].count_ones();
                }
                self.routers += u128::from(count) * u128::from(distance);
                self.router_pairs += u128::from(count);
                for (nodes, bits) in &by_nodes {
                    let here: u32 = (0..WORDS).map(|w| (new[w] & bits[w]).count_ones()).sum();
                    let pairs = u128::from(here) * u128::from(*nodes);
                    let pairs = pairs * u128::from(graph.nodes[router]);
                    self.nodes += pairs * u128::from(distance);
                    self.node_pairs += pairs;
                }
            }
            if !next_front.is_empty() {
                self.diameter = self.diameter.max(distance);
            }
            front.clear();
            std::mem::swap(&mut front, &mut next_front);
            std::mem::swap(&mut reached_now, &mut reached_next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::any_topology;
    use crate::topology::{Topology, edge_list};
    use proptest::prelude::*;

    /// Distances from `source`, by a plain breadth-first search.
    fn plain(graph: &RouterGraph, source: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; graph.routers()];
        distance[source] = 0;
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(router) = queue.pop_front() {
            for &next in graph.neighbours(router) {
                if distance[next as usize] == u32::MAX {
                    distance[next as usize] = distance[router] + 1;
                    queue.push_back(next as usize);
                }
            }
        }
        distance
    }

    fn check(topology: &Topology) {
        let graph = RouterGraph::new(topology);
        let (mut diameter, mut routers, mut nodes) = (0, 0u64, 0u64);
        for source in 0..graph.routers() {
            for (router, distance) in plain(&graph, source).into_iter().enumerate() {
                diameter = diameter.max(distance);
                routers += u64::from(distance);
                let pairs = u64::from(graph.nodes[source]) * u64::from(graph.nodes[router]);
                nodes += pairs * u64::from(distance);
            }
        }
        let mean = |sum: u64, of: usize| {
            if of < 2 {
                0.0
            } else {
                sum as f64 / (of * (of - 1)) as f64
            }
        };
        let expected = Distances {
            diameter,
            between_routers: mean(routers, topology.routers()),
            between_nodes: mean(nodes, topology.nodes()),
            sources: topology.routers(),
        };
        assert_eq!(Distances::of(&graph), expected);
    }

    proptest! {
        #[test]
        fn equal_those_of_plain_searches(topology in any_topology()) {
            check(&topology);
        }
    }

    #[test]
    fn a_ring_needs_several_batches_and_many_steps() {
        // 1,025 routers on a ring: three batches, diameter 512, and every
        // distance 1 … 512 occurs twice, so the mean is 256.5.
        let mut list = String::from("class t terminal 1000 1 1\nclass l local 1000 1 1\n");
        list.push_str("routers 0 1024 group 0\n");
        for router in 0..1025 {
            list.push_str(&format!(
                "nodes 1 {router}\nlink {router} {}\n",
                (router + 1) % 1025
            ));
        }
        let topology = edge_list::import(&list, &[]).unwrap();
        check(&topology);
        let distances = Distances::of(&RouterGraph::new(&topology));
        assert_eq!(
            (distances.diameter, distances.between_routers),
            (512, 256.5)
        );
    }

    #[test]
    fn a_sample_is_spread_over_huge_networks() {
        let sources = choose_sources(100_000);
        assert_eq!(sources.len(), SAMPLED_ROUTERS);
        assert!(sources.is_sorted() && sources[SAMPLED_ROUTERS - 1] > 99_000);
        assert_eq!(choose_sources(EXACT_ROUTERS).len(), EXACT_ROUTERS);
    }
}
