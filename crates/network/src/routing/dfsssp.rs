//! Deadlock-free shortest paths of one port per destination on any network.

use std::collections::HashMap;

use odonata_units::{NodeId, RouterId};

use super::channels::channel_count;
use super::error::RoutingError;
use super::forwarding::ForwardingTables;
use super::{Algorithm, AlgorithmKeys, RoutingSpec, Usual};
use crate::topology::{Peer, Topology};

/// Most layers: virtual channels are numbered with eight bits.
const MOST_LAYERS: u8 = 254;

odonata_declare::table! {
    /// Keys of `dfsssp`.
    pub struct DfssspKeys {}
}

impl AlgorithmKeys for DfssspKeys {
    const BY_SOURCE_AND_DESTINATION: bool = true;

    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec::new(Algorithm::Dfsssp))
    }
}

/// Forwarding tables of shortest paths whose load is balanced, on as many virtual channels as close
/// no cycle: DFSSSP (Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for Arbitrary
/// Topologies", IPDPS 2011).
///
/// *Paths* (section III; Hoefler, Schneider, Lumsdaine 2009): destination after destination, every
/// router takes, of its ports on a shortest path, the one from which the rest of the way carries
/// the fewest paths so far.
///
/// *Layers* (section IV, algorithm 2): all paths are in the first layer. As long as its channel
/// dependencies close a cycle, the dependency of the cycle that the fewest paths have is taken out
/// by moving these paths to the next layer; then the same there. A layer is a virtual channel, which
/// a packet keeps on its whole way. Paths from all nodes of a router to the same node share theirs.
///
/// # Errors
/// If the network is not connected, too large, or needs more layers than can be numbered.
pub(super) fn dfsssp(topology: &Topology) -> Result<ForwardingTables, RoutingError> {
    let mut tables = ForwardingTables::new(topology)?;
    let network = Network::new(topology);
    network.balanced_paths(topology, &mut tables)?;
    let layers = network.layers(&tables)?;
    let nodes = topology.nodes();
    tables.set_channels(
        (network.router_of_node.iter())
            .map(|&router| layers[router as usize * nodes..][..nodes].to_vec()),
    );
    Ok(tables)
}

/// What is needed of a topology, as flat arrays.
struct Network {
    first_port: Vec<u32>,
    /// Router that each port leads to, or `u32::MAX`. Shape: ports.
    next: Vec<u32>,
    router_of_node: Vec<u32>,
    /// Nodes on each router. Shape: routers.
    nodes_on: Vec<u32>,
}

impl Network {
    fn new(topology: &Topology) -> Self {
        let router_of_port = topology.router_of_every_port();
        let next = |peer: &Peer| match peer {
            Peer::Port(peer) => router_of_port[peer.index()].0,
            _ => u32::MAX,
        };
        let router = |port: &odonata_units::PortId| router_of_port[port.index()].0;
        let router_of_node: Vec<u32> = topology.port_of_node.iter().map(router).collect();
        let mut nodes_on = vec![0; topology.routers()];
        for (node, &router) in (0..).map(NodeId).zip(&router_of_node) {
            nodes_on[router as usize] += u32::from(!topology.is_lost(node));
        }
        Self {
            first_port: topology.first_port.clone(),
            next: topology.peer.iter().map(next).collect(),
            router_of_node,
            nodes_on,
        }
    }

    fn routers(&self) -> usize {
        self.nodes_on.len()
    }

    fn ports(&self, router: u32) -> std::ops::Range<u32> {
        self.first_port[router as usize]..self.first_port[router as usize + 1]
    }

    /// Sets the ports of all destinations.
    fn balanced_paths(
        &self,
        topology: &Topology,
        tables: &mut ForwardingTables,
    ) -> Result<(), RoutingError> {
        // Paths over each port so far.
        let mut carried = vec![0u64; self.next.len()];
        let mut distance = vec![u32::MAX; self.routers()];
        let mut order = Vec::with_capacity(self.routers());
        let mut rest = vec![0u64; self.routers()];
        let mut through = vec![0u64; self.routers()];
        let mut chosen = vec![0u32; self.routers()];
        for (node, &to) in (0..).map(NodeId).zip(&self.router_of_node) {
            if topology.is_lost(node) {
                continue;
            }
            distance.fill(u32::MAX);
            distance[to as usize] = 0;
            order.clear();
            order.push(to);
            let mut done = 0;
            while let Some(&at) = order.get(done) {
                done += 1;
                for port in self.ports(at) {
                    let peer = self.next[port as usize];
                    if peer != u32::MAX && distance[peer as usize] == u32::MAX {
                        distance[peer as usize] = distance[at as usize] + 1;
                        order.push(peer);
                    }
                }
            }
            if let Some(from) = (0..topology.routers()).find(|&r| {
                distance[r] == u32::MAX && !topology.is_lost_router(RouterId::from_index(r))
            }) {
                let (from, to) = (RouterId::from_index(from), RouterId(to));
                return Err(RoutingError::Disconnected { from, to });
            }
            rest[to as usize] = 0;
            for &at in &order[1..] {
                let shorter = |&port: &u32| {
                    let peer = self.next[port as usize];
                    peer != u32::MAX && distance[peer as usize] < distance[at as usize]
                };
                let load =
                    |port: u32| carried[port as usize] + rest[self.next[port as usize] as usize];
                let best = self
                    .ports(at)
                    .filter(shorter)
                    .map(|port| (load(port), port))
                    .min();
                // Of every router but the last one is nearer.
                let (load, port) = best.unwrap_or((0, self.first_port[at as usize]));
                rest[at as usize] = load;
                chosen[at as usize] = port;
                tables.set_port(
                    RouterId(at),
                    node,
                    (port - self.first_port[at as usize]) as u16,
                );
            }
            for (through, &nodes) in through.iter_mut().zip(&self.nodes_on) {
                *through = u64::from(nodes);
            }
            for &at in order[1..].iter().rev() {
                let (port, paths) = (chosen[at as usize] as usize, through[at as usize]);
                carried[port] += paths;
                through[self.next[port] as usize] += paths;
            }
        }
        Ok(())
    }

    /// The ports of the path from a router to a node.
    fn path<'a>(
        &'a self,
        tables: &'a ForwardingTables,
        from: u32,
        node: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let mut at = from;
        std::iter::from_fn(move || {
            if at == self.router_of_node[node as usize] {
                return None;
            }
            let port = tables.port(RouterId(at), NodeId(node))?;
            let port = self.first_port[at as usize] + u32::from(port);
            at = self.next[port as usize];
            Some(port)
        })
    }

    /// The layer of every path. Shape: routers × nodes, row = where it begins.
    fn layers(&self, tables: &ForwardingTables) -> Result<Vec<u8>, RoutingError> {
        let nodes = self.router_of_node.len();
        let mut layers = vec![0u8; self.routers() * nodes];
        let sources = (0..self.routers() as u32).filter(|&r| self.nodes_on[r as usize] > 0);
        let mut members: Vec<(u32, u32)> = sources
            .flat_map(|from| (0..nodes as u32).map(move |node| (from, node)))
            .collect();
        for layer in 0.. {
            let mut graph = Layer::new(self, tables, &members);
            graph.break_cycles();
            members = graph.moved();
            if members.is_empty() {
                break;
            }
            if layer == MOST_LAYERS {
                channel_count("dfsssp", 1 + u32::MAX / 2, 1, None)?;
            }
            for &(from, node) in &members {
                layers[from as usize * nodes + node as usize] = layer + 1;
            }
        }
        Ok(layers)
    }
}

/// The channel dependencies of the paths of one layer.
struct Layer<'a> {
    network: &'a Network,
    tables: &'a ForwardingTables,
    members: &'a [(u32, u32)],
    /// Whether a path has been moved on. Shape: members.
    is_moved: Vec<bool>,
    /// Number of each dependency of one port on another.
    numbers: HashMap<(u32, u32), u32>,
    /// Dependencies of each port: the other, and the dependency's number. Shape: ports.
    wanted: Vec<Vec<(u32, u32)>>,
    /// Paths that have a dependency, by their places among the members. Shape: dependencies.
    paths: Vec<Vec<u32>>,
    /// How many of them are still here. Shape: dependencies.
    live: Vec<u32>,
}

/// What a search has seen of a port.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Not,
    /// On the search's path.
    Now,
    /// No cycle goes through it.
    Safe,
}

/// A port on the search's path.
struct Frame {
    port: u32,
    /// The dependency by which it was reached.
    by: Option<u32>,
    /// The next of its dependencies to look at.
    next: usize,
}

impl<'a> Layer<'a> {
    fn new(network: &'a Network, tables: &'a ForwardingTables, members: &'a [(u32, u32)]) -> Self {
        let mut layer = Self {
            network,
            tables,
            members,
            is_moved: vec![false; members.len()],
            numbers: HashMap::new(),
            wanted: vec![vec![]; network.next.len()],
            paths: Vec::new(),
            live: Vec::new(),
        };
        for (place, &(from, node)) in (0..).zip(members) {
            let mut held = None;
            for port in network.path(tables, from, node) {
                if let Some(held) = held.replace(port) {
                    let next = layer.paths.len() as u32;
                    let number = *layer.numbers.entry((held, port)).or_insert(next);
                    if number == next {
                        layer.wanted[held as usize].push((port, number));
                        layer.paths.push(vec![]);
                        layer.live.push(0);
                    }
                    layer.paths[number as usize].push(place);
                    layer.live[number as usize] += 1;
                }
            }
        }
        layer
    }

    /// Moves paths on until no cycle is left.
    fn break_cycles(&mut self) {
        let mut seen = vec![Seen::Not; self.wanted.len()];
        let mut stack: Vec<Frame> = Vec::new();
        for start in 0..self.wanted.len() as u32 {
            if seen[start as usize] != Seen::Not || self.wanted[start as usize].is_empty() {
                continue;
            }
            seen[start as usize] = Seen::Now;
            stack.push(Frame {
                port: start,
                by: None,
                next: 0,
            });
            while let Some(top) = stack.last_mut() {
                let Some(&(port, number)) = self.wanted[top.port as usize].get(top.next) else {
                    seen[top.port as usize] = Seen::Safe;
                    stack.pop();
                    continue;
                };
                top.next += 1;
                if self.live[number as usize] == 0 {
                    continue;
                }
                match seen[port as usize] {
                    Seen::Safe => {}
                    Seen::Not => {
                        seen[port as usize] = Seen::Now;
                        stack.push(Frame {
                            port,
                            by: Some(number),
                            next: 0,
                        });
                    }
                    Seen::Now => {
                        let round = stack.iter().rev().take_while(|frame| frame.port != port);
                        let round = round.filter_map(|frame| frame.by).chain([number]);
                        let fewest = round.min_by_key(|&n| (self.live[n as usize], n));
                        self.move_paths(fewest.unwrap_or(number));
                        // What was reached by a dependency that is gone is to be looked at anew.
                        let gone = stack.iter().position(|frame| {
                            frame
                                .by
                                .is_some_and(|number| self.live[number as usize] == 0)
                        });
                        for frame in stack.drain(gone.unwrap_or(stack.len())..) {
                            seen[frame.port as usize] = Seen::Not;
                        }
                    }
                }
            }
        }
    }

    /// Moves on all paths that have a dependency.
    fn move_paths(&mut self, number: u32) {
        for place in std::mem::take(&mut self.paths[number as usize]) {
            if std::mem::replace(&mut self.is_moved[place as usize], true) {
                continue;
            }
            let (from, node) = self.members[place as usize];
            let mut held = None;
            for port in self.network.path(self.tables, from, node) {
                if let Some(held) = held.replace(port) {
                    let number = self.numbers[&(held, port)];
                    self.live[number as usize] -= 1;
                }
            }
        }
    }

    /// The paths that have been moved on.
    fn moved(&self) -> Vec<(u32, u32)> {
        let with = self.members.iter().zip(&self.is_moved);
        with.filter(|(_, moved)| **moved)
            .map(|(path, _)| *path)
            .collect()
    }
}

#[cfg(test)]
mod tests;
