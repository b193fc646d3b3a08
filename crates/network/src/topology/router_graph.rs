//! The routers of a topology as a weighted graph, parallel links merged.

use super::{Peer, Topology};
use odonata_cut::Graph;
use odonata_units::RouterId;

/// Routers and the bandwidth between them, as compressed sparse rows.
#[derive(Clone, Debug)]
pub(super) struct RouterGraph {
    /// First entry of each router, and one past the last. Shape: routers + 1.
    first: Vec<usize>,
    /// Other routers, ascending and without repetition. Shape: entries.
    neighbour: Vec<u32>,
    /// Bytes per second, one direction, all parallel links. Shape: entries.
    bandwidth: Vec<u64>,
    /// Nodes on each router. Shape: routers.
    pub nodes: Vec<u32>,
}

impl RouterGraph {
    pub fn new(topology: &Topology) -> Self {
        let owner = topology.router_of_every_port();
        let mut graph = Self {
            first: vec![0],
            neighbour: vec![],
            bandwidth: vec![],
            nodes: vec![0; topology.routers()],
        };
        let mut row: Vec<(u32, u64)> = vec![];
        for router in 0..topology.routers() {
            row.clear();
            for port in topology.ports_of(RouterId::from_index(router)) {
                let class = topology.class_of_port[port];
                let bandwidth = topology.link_classes[class.index()].bandwidth;
                match topology.peer[port] {
                    Peer::Port(peer) => {
                        row.push((owner[peer.index()].0, bandwidth.bytes_per_second()));
                    }
                    Peer::Node(_) => graph.nodes[router] += 1,
                    Peer::Unconnected => {}
                }
            }
            row.sort_unstable_by_key(|&(neighbour, _)| neighbour);
            for links in row.chunk_by(|a, b| a.0 == b.0) {
                graph.neighbour.push(links[0].0);
                graph.bandwidth.push(links.iter().map(|l| l.1).sum());
            }
            graph.first.push(graph.neighbour.len());
        }
        graph
    }

    /// Between every two routers half of what leads either way, where that is not the same.
    fn mean_of_directions(&self) -> Vec<(u32, u32, u64)> {
        let mut links: Vec<(u32, u32, u64)> = (0..self.routers())
            .flat_map(|router| self.links(router).map(move |link| (router, link)))
            .map(|(router, (other, bandwidth))| {
                (
                    router.min(other) as u32,
                    router.max(other) as u32,
                    bandwidth,
                )
            })
            .collect();
        links.sort_unstable();
        let both = links.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        both.map(|links| {
            (
                links[0].0,
                links[0].1,
                links.iter().map(|l| l.2).sum::<u64>() / 2,
            )
        })
        .collect()
    }

    pub fn routers(&self) -> usize {
        self.nodes.len()
    }

    /// Routers linked to `router`.
    pub fn neighbours(&self, router: usize) -> &[u32] {
        &self.neighbour[self.first[router]..self.first[router + 1]]
    }

    /// Routers linked to `router`, with the bandwidth in bytes per second.
    pub fn links(&self, router: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let row = self.first[router]..self.first[router + 1];
        let bandwidth = self.bandwidth[row.clone()].iter();
        self.neighbour[row]
            .iter()
            .zip(bandwidth)
            .map(|(&neighbour, &bandwidth)| (neighbour as usize, bandwidth))
    }
}

impl Topology {
    /// Routers as a graph: sizes are their nodes, weights of edges the bandwidth
    /// between them, one direction, all parallel links.
    pub(crate) fn router_weights(&self) -> Graph {
        let graph = RouterGraph::new(self);
        if self.has_one_way_links() {
            return Graph::new(graph.nodes.clone(), graph.mean_of_directions());
        }
        let links: Vec<(u32, u32, u64)> = (0..graph.routers())
            .flat_map(|router| {
                let later = graph.links(router).filter(move |link| link.0 > router);
                later.map(move |(other, bandwidth)| (router as u32, other as u32, bandwidth))
            })
            .collect();
        Graph::new(graph.nodes, links)
    }
}
