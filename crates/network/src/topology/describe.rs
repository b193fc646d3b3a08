//! What there is to say about a topology in numbers.

use super::bisection::Bisection;
use super::distances::Distances;
use super::router_graph::RouterGraph;
use super::{LeafSpine, LinkKind, Peer, Topology};
use odonata_units::{Bandwidth, Bytes, Picoseconds, RouterId};

/// The links of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassDescription {
    /// Name of the class.
    pub name: String,
    /// Its role.
    pub kind: LinkKind,
    /// Links of the class; each of several parallel links counts.
    pub links: u64,
    /// Ports of the class that lead nowhere.
    pub unconnected_ports: u64,
    /// Rate of each direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each direction.
    pub latency: Picoseconds,
    /// Input buffer per virtual channel.
    pub buffer: Bytes,
}

/// A topology in numbers, made by [`Topology::describe`].
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Title of the topology.
    pub title: String,
    /// Compute nodes.
    pub nodes: u64,
    /// Routers.
    pub routers: u64,
    /// Nodes out of service.
    pub lost_nodes: u64,
    /// Routers out of service.
    pub lost_routers: u64,
    /// Groups.
    pub groups: u64,
    /// Leaves and spines per group, where groups consist of those.
    pub leaf_spine: Option<LeafSpine>,
    /// Links per class, in the order of the topology's classes.
    pub classes: Vec<ClassDescription>,
    /// Fewest ports of a router, unconnected ones included.
    pub radix_min: u32,
    /// Most ports of a router.
    pub radix_max: u32,
    /// Fewest nodes on a router.
    pub nodes_per_router_min: u32,
    /// Most nodes on a router.
    pub nodes_per_router_max: u32,
    /// Largest distance of two routers, in router-to-router links.
    pub diameter: u32,
    /// Mean distance over all pairs of different routers, in router-to-router
    /// links; 0 with a single router.
    pub average_distance_routers: f64,
    /// Mean distance over all pairs of different nodes, in router-to-router links
    /// (nodes of one router: 0); 0 with a single node.
    pub average_distance_nodes: f64,
    /// Routers from which distances were measured. Equal to `routers`: the
    /// distances are exact. Less (beyond 32,768 routers): the averages are
    /// estimates and the diameter a lower bound, from evenly spaced routers.
    pub distance_sources: u64,
    /// Fewest links between two groups, 0 if some are not linked; `None` with a
    /// single group.
    pub group_pair_links_min: Option<u64>,
    /// Most links between two groups.
    pub group_pair_links_max: Option<u64>,
    /// What all nodes together can inject, in bytes per second; of nodes with an inside, what their
    /// interfaces can.
    pub injection_bandwidth_bytes_per_s: u64,
    /// Least bandwidth found between two halves of the machine, one direction, in
    /// bytes per second: an upper bound of the bisection bandwidth, see
    /// [`bisection`](super::bisection). A single router is taken to be
    /// non-blocking: half of the injection bandwidth.
    pub bisection_bandwidth_bytes_per_s: u64,
    /// By how many nodes those halves differ.
    pub bisection_imbalance_nodes: u64,
    /// Whether the bisection is the exact minimum and not only an upper bound:
    /// in machines of up to 20 routers.
    pub bisection_is_exact: bool,
    /// `bisection_bandwidth_bytes_per_s` divided by full bisection, which is half
    /// of the injection bandwidth: at 1, all nodes of one half can send to the
    /// other half at full rate.
    pub bisection_ratio: f64,
}

impl Topology {
    /// Measures the topology. Distances take time in proportion to routers ×
    /// links / 512, the bisection to links × starts.
    pub fn describe(&self) -> Description {
        let graph = RouterGraph::new(self);
        let distances = Distances::of(&graph);
        let ports = || (0..self.routers()).map(|r| self.ports_of(RouterId::from_index(r)).len());
        let injection = self.injection_bandwidth();
        let found = Bisection::of(&self.router_weights(), &self.group_of_router);
        let bisection = match self.routers() {
            1 => injection / 2,
            _ => found.bandwidth_bytes_per_s,
        };
        let (group_pair_links_min, group_pair_links_max) = self.group_pair_links().unzip();
        let smallest = |of: &mut dyn Iterator<Item = u32>| of.min().unwrap_or(0);
        Description {
            title: self.title.clone(),
            nodes: self.nodes() as u64,
            routers: self.routers() as u64,
            lost_nodes: self.lost_nodes().count() as u64,
            lost_routers: (0..self.routers())
                .filter(|&router| self.is_lost_router(RouterId::from_index(router)))
                .count() as u64,
            groups: u64::from(self.groups),
            leaf_spine: self.leaf_spine().ok(),
            classes: self.describe_classes(),
            radix_min: smallest(&mut ports().map(|n| n as u32)),
            radix_max: ports().max().unwrap_or(0) as u32,
            nodes_per_router_min: smallest(&mut graph.nodes.iter().copied()),
            nodes_per_router_max: graph.nodes.iter().copied().max().unwrap_or(0),
            diameter: distances.diameter,
            average_distance_routers: distances.between_routers,
            average_distance_nodes: distances.between_nodes,
            distance_sources: distances.sources as u64,
            group_pair_links_min,
            group_pair_links_max,
            injection_bandwidth_bytes_per_s: injection,
            bisection_bandwidth_bytes_per_s: bisection,
            bisection_imbalance_nodes: found.imbalance_nodes,
            bisection_is_exact: found.is_exact,
            bisection_ratio: bisection as f64 / (injection as f64 / 2.0),
        }
    }

    fn injection_bandwidth(&self) -> u64 {
        if let Some(inside) = &self.inside {
            return inside.plane.injection_bandwidth() * u64::from(inside.planes);
        }
        let rate = |&port| self.link_class(port).bandwidth.bytes_per_second();
        let works =
            |port: &&odonata_units::PortId| matches!(self.peer[port.index()], Peer::Node(_));
        self.port_of_node.iter().filter(works).map(rate).sum()
    }

    fn describe_classes(&self) -> Vec<ClassDescription> {
        let mut ends = vec![0u64; self.link_classes.len()];
        let mut unconnected_ports = ends.clone();
        for (peer, class) in self.peer.iter().zip(&self.class_of_port) {
            match peer {
                // Both ends of a link are router ports, but one of a node's link.
                Peer::Port(_) => ends[class.index()] += 1,
                Peer::Node(_) => ends[class.index()] += 2,
                Peer::Unconnected => unconnected_ports[class.index()] += 1,
            }
        }
        let counts = ends.into_iter().zip(unconnected_ports);
        let describe = |(class, (ends, unconnected_ports)): (&super::LinkClass, (u64, u64))| {
            ClassDescription {
                name: class.name.clone(),
                kind: class.kind,
                links: ends / 2,
                unconnected_ports,
                bandwidth: class.bandwidth,
                latency: class.latency,
                buffer: class.buffer,
            }
        };
        self.link_classes.iter().zip(counts).map(describe).collect()
    }

    /// Fewest and most links between two groups.
    fn group_pair_links(&self) -> Option<(u64, u64)> {
        let groups = u64::from(self.groups);
        if groups < 2 {
            return None;
        }
        let owner = self.router_of_every_port();
        let mut pairs: Vec<u64> = vec![];
        for (port, peer) in self.peer.iter().enumerate() {
            let Peer::Port(peer) = peer else { continue };
            let group = |port: usize| u64::from(self.group_of_router[owner[port].index()].0);
            let (here, there) = (group(port), group(peer.index()));
            if here < there {
                pairs.push(here * groups + there);
            }
        }
        pairs.sort_unstable();
        let counts = || {
            pairs
                .chunk_by(|a, b| a == b)
                .map(|links| links.len() as u64)
        };
        let all_linked = counts().count() as u64 == groups * (groups - 1) / 2;
        let fewest = if all_linked { counts().min() } else { None };
        Some((fewest.unwrap_or(0), counts().max().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests;
