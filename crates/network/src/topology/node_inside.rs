//! Nodes with an inside: several ranks (GPUs) joined by a network of the node, and several
//! interfaces, on one network or on several copies of it (planes).
//!
//! # Shape
//! Every rank is a node of the [`Topology`] with a router of its own, which stands for the GPU: it
//! has the rank, the interfaces that sit at it, and its links inside the node. Inside, ranks are
//! joined by a switch (NVSwitch), a router more, by a link for each pair of them, by a tree of
//! switches, or by links between some of them, over which others are reached ([`InsideGraph`]).
//!
//! Interface `i` of a node is on plane `i mod planes`, where it is number `⌊i / planes⌋` of the
//! node's interfaces. It sits at rank `⌊i · ranks / interfaces⌋`; in a tree of switches at the switch of
//! that rank, whose one link all crosses that the rank sends or receives.
//!
//! # Numbering
//! Routers: those of the planes, plane by plane, each as the family numbers them, then node by node
//! those of its ranks, followed by its switches. Ports of the planes are those of the family; what was
//! wired to a node is wired to an interface. Ports of a router inside: its rank, its interfaces, the
//! links inside. Groups: those of the planes, then one for each node.

use std::sync::Arc;

use odonata_declare::Named;
use odonata_units::{Bandwidth, GroupId, NodeId, Picoseconds, PortId, RouterId};
use serde::{Deserialize, Serialize};

use super::cabling::check_size;
use super::{LinkClass, LinkClassId, LinkKind, Peer, Topology, TopologyError, Wiring};

/// Most interfaces of a node, which a packet's route has room to number.
pub const MOST_INTERFACES: u32 = 16;
/// Most ranks of a node.
pub const MOST_RANKS: u32 = 1024;

/// The largest bandwidth, in bytes per second.
const FASTEST: u64 = 1_000_000_000_000_000;

/// What joins the ranks of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum InsideNetwork {
    /// A switch to which every rank has one link.
    ///
    /// NVSwitch: a rank sends to any others at its full bandwidth.
    #[default]
    Switch,
    /// A link between every two ranks.
    ///
    /// NVLink lanes divided among the pairs, as between four A100.
    Mesh,
    /// Links between pairs of ranks, `links`, more than one between some; without them one for every pair.
    ///
    /// AMD's Infinity Fabric (xGMI): ranks without a link send by way of others, over as few links as
    /// possible. A link has 50 GB/s between dies of MI250X, 64 GB/s between MI300A and MI300X.
    #[named(options("links"))]
    Xgmi,
    /// A tree of switches: `ranks_per_switch` ranks at each, the switches at the processor.
    ///
    /// PCI Express: all that a rank sends, to the others and to interfaces, crosses its link. One of 16
    /// lanes has 15.75 GB/s in generation 3, 31.5 in 4 and 63 in 5.
    #[named(options("ranks_per_switch"))]
    Pcie,
}

/// Which interfaces a message leaves and reaches nodes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceChoice {
    /// The sender's own, and inside the receiver's node from the same one to the receiver.
    ///
    /// The message stays on the rail of its sender.
    #[default]
    Rail,
    /// Inside the sender's node to the rank on the receiver's rail, and by that rail to the receiver.
    ///
    /// NCCL's PXN ("PCI × NVLink").
    Pxn,
    /// Each packet over one of all at random, the same at both ends.
    Striped,
    /// The one nearest to the sender, and the one nearest to the receiver.
    ///
    /// NCCL without PXN: messages between ranks of different numbers go from rail to rail, over the
    /// spines.
    Nearest,
}

/// Which routers of a plane the interfaces of a node are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceWiring {
    /// The ones of a node on successive ports, of one router if it has as many.
    #[default]
    Together,
    /// Interface i of every node of a unit on router i of the unit.
    ///
    /// Successive routers with nodes, as many as a node has interfaces, are a unit, which holds as
    /// many nodes as each of them has ports for nodes.
    RailOptimised,
}

/// The inside of every node of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInsideSpec {
    /// Ranks per node.
    pub ranks: u32,
    /// Interfaces per node.
    pub interfaces: u32,
    /// Copies of the network; interface `i` is on copy `i mod planes`.
    pub planes: u32,
    /// Which routers of a plane the interfaces of a node are on.
    pub wiring: InterfaceWiring,
    /// Which interfaces a message takes.
    pub choice: InterfaceChoice,
    /// What joins ranks, and class of its links; needed if there are several ranks.
    pub network: Option<(InsideNetwork, LinkClass)>,
    /// With [`InsideNetwork::Xgmi`]: pairs of ranks that are joined, and how many links each has; empty:
    /// all of them by one.
    pub links: Vec<(u32, u32, u32)>,
    /// With [`InsideNetwork::Pcie`]: ranks at a switch.
    pub ranks_per_switch: Option<u32>,
}

/// Why a network cannot have nodes with this inside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeInsideError {
    /// A number out of range.
    #[error("found {found}; allowed: 1 to {most}")]
    Count {
        /// `ranks`, `interfaces` or `planes`.
        key: &'static str,
        /// The number.
        found: u32,
        /// The largest possible.
        most: u32,
    },
    /// Interfaces that cannot be shared out among ranks.
    #[error(
        "found {interfaces} for {ranks} ranks; allowed: a number that divides the ranks, or that they \
         divide, so that all ranks have as many near them"
    )]
    Uneven {
        /// Interfaces of a node.
        interfaces: u32,
        /// Ranks of a node.
        ranks: u32,
    },
    /// An interface without a plane, or a plane with fewer interfaces than others.
    #[error(
        "found {planes} for {interfaces} interfaces a node; allowed: a number that divides the \
         interfaces, as interface i is on plane i mod planes"
    )]
    Planes {
        /// Planes.
        planes: u32,
        /// Interfaces of a node.
        interfaces: u32,
    },
    /// Interfaces that no way joins.
    #[error(
        "found \"nearest\" with {planes} planes, between which there are no links: a message cannot \
         leave on the sender's plane and arrive on the receiver's; allowed: \"rail\", \"pxn\" or \
         \"striped\""
    )]
    NoWay {
        /// Planes.
        planes: u32,
    },
    /// Several ranks that nothing joins.
    #[error(
        "found nothing, but {ranks} ranks have to be joined; give the kind, bandwidth and latency of \
         what joins them"
    )]
    NoNetwork {
        /// Ranks of a node.
        ranks: u32,
    },
    /// A network inside that joins nothing.
    #[error("a node of one rank has nothing to join inside; remove it, or raise `ranks`")]
    OneRank,
    /// Ports for nodes that are not a multiple of the interfaces.
    #[error(
        "the network has {ports} ports for nodes, which cannot be shared out among nodes that have \
         {each} interfaces on it: with [node], its `nodes` are interfaces; give it a multiple of {each}"
    )]
    Ports {
        /// Ports for nodes of a plane.
        ports: usize,
        /// Interfaces that a node has on a plane.
        each: u32,
    },
    /// Rails where a node has only one interface on the network.
    #[error(
        "found \"rail-optimised\", but a node has one interface on each plane, which is its rail \
         already; allowed: \"together\""
    )]
    OneRail,
    /// Links inside nodes that make no sense.
    #[error("found {found}; allowed: {allowed}")]
    Links {
        /// What.
        found: String,
        /// What is possible.
        allowed: String,
    },
    /// Routers that are no rails.
    #[error(
        "found \"rail-optimised\" on a network with {leaves} routers that have nodes: they cannot be \
         divided into units of {each}, one router for each interface of a node; allowed: a multiple"
    )]
    Leaves {
        /// Routers with nodes.
        leaves: usize,
        /// Interfaces that a node has on a plane.
        each: u32,
    },
    /// Routers with different numbers of nodes.
    #[error(
        "found \"rail-optimised\", but router {router} has ports for {found} nodes and the first of \
         its unit for {expected}; allowed: only where they have as many"
    )]
    UnevenLeaves {
        /// The router.
        router: RouterId,
        /// Its nodes.
        found: usize,
        /// Nodes of the first of its unit.
        expected: usize,
    },
    /// A network that jobs or time change.
    #[error(
        "[node] needs a network whose links lead both ways and join all of it, not one of circuits: \
         take another family, or remove [node]"
    )]
    Circuits,
    /// Something else about the wiring.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl NodeInsideError {
    /// The key of `[node]` that is to blame, if it is one of them.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Count { key, .. } => Some(key),
            Self::Uneven { .. } => Some("interfaces"),
            Self::Planes { .. } => Some("planes"),
            Self::NoWay { .. } => Some("interface"),
            Self::NoNetwork { .. } | Self::OneRank => Some("network"),
            Self::Links { .. } => Some("network"),
            Self::OneRail | Self::Leaves { .. } | Self::UnevenLeaves { .. } => Some("wiring"),
            Self::Ports { .. } | Self::Circuits | Self::Topology(_) => None,
        }
    }
}

/// The inside of the nodes of a [`Topology`], and the network that joins them.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInside {
    /// Ranks per node.
    pub ranks: u32,
    /// Interfaces per node.
    pub interfaces: u32,
    /// Copies of the network.
    pub planes: u32,
    /// Which interfaces a message takes.
    pub choice: InterfaceChoice,
    /// What joins the ranks of a node; `None`: there is one.
    pub network: Option<InsideNetwork>,
    /// How it does.
    pub graph: InsideGraph,
    /// Bandwidth at which a rank sends to the others of its node, over all links that it has there, in
    /// bytes per second; 0 if it is alone.
    pub rank_bandwidth: u64,
    /// One copy of the network; its nodes are interfaces.
    pub plane: Arc<Topology>,
    /// Node of a plane that each interface of a plane is: node by node of the machine. Shape:
    /// nodes of a plane.
    pub port_of_interface: Vec<NodeId>,
}

/// A part of a network of nodes with an inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A router of a plane.
    Plane {
        /// The plane.
        plane: u32,
        /// The router's number in it.
        router: RouterId,
    },
    /// The router of a rank.
    Rank {
        /// The node.
        node: u32,
        /// The rank's number in it.
        rank: u32,
    },
    /// A switch of a node.
    Switch {
        /// The node.
        node: u32,
        /// Its number among those of the node.
        switch: u32,
    },
}

/// Routers of a node and the links between them. A rank's router, of the rank's number, comes before
/// those of switches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InsideGraph {
    /// Ranks at a switch, where interfaces sit at those; `None`: they sit at ranks.
    ranks_per_switch: Option<u32>,
    /// By router: the routers that its links lead to, in the order of its ports, and how many links
    /// there are side by side.
    peers: Vec<Vec<(u32, u32)>>,
    /// Link by which a router sends to another. Shape: routers × routers.
    next: Vec<u16>,
    /// Links from there. Shape: routers × routers.
    distance: Vec<u8>,
    /// Channels that messages inside a node need.
    channels: u8,
}

impl InsideGraph {
    /// The graph of `network`.
    fn new(spec: &NodeInsideSpec) -> Result<Self, NodeInsideError> {
        let ranks = spec.ranks;
        let wrong = |found: String, allowed: String| Err(NodeInsideError::Links { found, allowed });
        let mut pairs: Vec<(u32, u32, u32)> = Vec::new();
        let mut routers = ranks;
        let mut ranks_per_switch = None;
        let all = || (0..ranks).flat_map(|one| (one + 1..ranks).map(move |other| (one, other, 1)));
        match spec.network.as_ref().map(|network| network.0) {
            None => {}
            Some(InsideNetwork::Switch) => {
                pairs.extend((0..ranks).map(|rank| (rank, ranks, 1)));
                routers += 1;
            }
            Some(InsideNetwork::Mesh) => pairs.extend(all()),
            Some(InsideNetwork::Xgmi) if spec.links.is_empty() => pairs.extend(all()),
            Some(InsideNetwork::Xgmi) => {
                for &(one, other, count) in &spec.links {
                    if one == other || one.max(other) >= ranks || !(1..=16).contains(&count) {
                        let found = format!("[{one}, {other}, {count}] among the links");
                        let last = ranks - 1;
                        let allowed =
                            format!("two different ranks, 0 to {last}, and 1 to 16 links");
                        return wrong(found, allowed);
                    }
                    let pair = (one.min(other), one.max(other));
                    if pairs.iter().any(|known| (known.0, known.1) == pair) {
                        let found = format!("ranks {one} and {other} among the links twice");
                        return wrong(found, "each pair once, with the number of its links".into());
                    }
                    pairs.push((pair.0, pair.1, count));
                }
                pairs.sort_unstable();
            }
            Some(InsideNetwork::Pcie) => {
                let each = spec.ranks_per_switch.unwrap_or(ranks);
                if each == 0 || !ranks.is_multiple_of(each) {
                    let found = format!("{each} ranks at a switch");
                    return wrong(found, format!("a divisor of the {ranks} ranks"));
                }
                ranks_per_switch = Some(each);
                let switches = ranks / each;
                pairs.extend((0..ranks).map(|rank| (rank, ranks + rank / each, 1)));
                routers += switches;
                if switches > 1 {
                    pairs.extend((0..switches).map(|switch| (ranks + switch, routers, 1)));
                    routers += 1;
                }
            }
        }
        let mut peers = vec![Vec::new(); routers as usize];
        for &(one, other, count) in &pairs {
            peers[one as usize].push((other, count));
            peers[other as usize].push((one, count));
        }
        peers.iter_mut().for_each(|of| of.sort_unstable());
        let mut graph = Self {
            ranks_per_switch,
            next: vec![0; routers as usize * routers as usize],
            distance: vec![u8::MAX; routers as usize * routers as usize],
            peers,
            channels: 1,
        };
        let mut farthest = 0;
        for to in 0..routers {
            farthest = farthest.max(graph.lead_to(to));
        }
        if farthest == u8::MAX {
            return wrong(
                "ranks that no link joins".into(),
                "links by which every rank reaches every other".into(),
            );
        }
        if spec.network.as_ref().map(|network| network.0) == Some(InsideNetwork::Xgmi) {
            graph.channels = farthest.max(1);
        }
        Ok(graph)
    }

    /// Finds the ways to a router; the length of the longest, or [`u8::MAX`] if there is not one from
    /// everywhere. Of ways that are as short that by the router of the lowest number is taken.
    fn lead_to(&mut self, to: u32) -> u8 {
        let each = self.routers();
        let place = |router: u32| (router * each + to) as usize;
        self.distance[place(to)] = 0;
        let mut reached = std::collections::VecDeque::from([to]);
        while let Some(router) = reached.pop_front() {
            let far = self.distance[place(router)].saturating_add(1);
            for &(peer, _) in &self.peers[router as usize] {
                if self.distance[place(peer)] == u8::MAX {
                    self.distance[place(peer)] = far;
                    let links = &self.peers[peer as usize];
                    let link = links.iter().position(|&(other, _)| other == router);
                    self.next[place(peer)] = link.unwrap_or(0) as u16;
                    reached.push_back(peer);
                }
            }
        }
        (0..self.peers.len() as u32)
            .map(|router| self.distance[place(router)])
            .max()
            .unwrap_or(0)
    }

    /// Routers of a node.
    #[inline]
    fn routers(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Links of a router.
    fn links(&self, router: u32) -> u32 {
        self.peers[router as usize].len() as u32
    }

    /// Links of all routers.
    fn all_links(&self) -> u32 {
        (0..self.routers()).map(|router| self.links(router)).sum()
    }

    /// Channels that messages between ranks of a node need: one, or where ranks pass messages on one
    /// for each link of a way, so that ways along a circle do not wait for each other.
    pub fn channels(&self) -> u8 {
        self.channels
    }

    /// The link, by place among those of a router, towards another, and the channel
    /// there.
    #[inline]
    pub fn towards(&self, router: u32, to: u32) -> (u16, u8) {
        let place = (router * self.routers() + to) as usize;
        let channel = self.channels.saturating_sub(self.distance[place]);
        (self.next[place], channel)
    }
}

/// What works of a network of nodes with an inside.
#[derive(Clone, Debug)]
pub struct LeftInPlanes {
    /// A bit for each interface of a node that works. Shape: nodes.
    pub working: Vec<u16>,
    /// What is left of each plane.
    pub planes: Vec<Topology>,
}

impl InterfaceChoice {
    /// Whether a message may take other interfaces than its own.
    pub fn takes_others(self) -> bool {
        matches!(self, Self::Nearest | Self::Striped)
    }
}

impl NodeInside {
    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.port_of_interface.len() as u32 / self.interfaces_per_plane()
    }

    /// Interfaces that a node has on each plane.
    #[inline]
    pub fn interfaces_per_plane(&self) -> u32 {
        self.interfaces / self.planes
    }

    /// Routers of all planes, which come first.
    #[inline]
    pub fn fabric_routers(&self) -> u32 {
        self.plane.routers() as u32 * self.planes
    }

    /// Routers of a node.
    #[inline]
    fn routers_per_node(&self) -> u32 {
        self.graph.routers()
    }

    /// What a router is.
    #[inline]
    pub fn place(&self, router: RouterId) -> Place {
        let in_plane = self.plane.routers() as u32;
        match router.0.checked_sub(self.fabric_routers()) {
            None => Place::Plane {
                plane: router.0 / in_plane,
                router: RouterId(router.0 % in_plane),
            },
            Some(inside) => {
                let each = self.routers_per_node();
                let (node, rank) = (inside / each, inside % each);
                match rank < self.ranks {
                    true => Place::Rank { node, rank },
                    false => Place::Switch {
                        node,
                        switch: rank - self.ranks,
                    },
                }
            }
        }
    }

    /// The node of the machine that a rank, a node of the topology, is in.
    #[inline]
    pub fn node_of(&self, rank: NodeId) -> NodeId {
        NodeId(rank.0 / self.ranks)
    }

    /// The ranks of a node of the machine, nodes of the topology.
    pub fn ranks_of(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let first = node.0 * self.ranks;
        (first..first + self.ranks).map(NodeId)
    }

    /// The routers of a node of the machine: those of its ranks, and its switch.
    pub fn routers_of(&self, node: NodeId) -> std::ops::Range<u32> {
        let each = self.routers_per_node();
        let first = self.fabric_routers() + node.0 * each;
        first..first + each
    }

    /// The node of the machine that a router inside one belongs to.
    pub(super) fn node_of_router(&self, router: RouterId) -> NodeId {
        NodeId((router.0 - self.fabric_routers()) / self.routers_per_node())
    }

    /// The node of the machine and the number of the interface whose link is at this port of a router
    /// inside it.
    pub(super) fn interface_at(&self, topology: &Topology, port: PortId) -> (NodeId, u32) {
        let router = topology.router_of_port(port);
        let place = (router.0 - self.fabric_routers()) % self.routers_per_node();
        let (first, _) = self.interfaces_at(place);
        let before = u32::from(place < self.ranks);
        let number = port.0 - topology.first_port[router.index()] - before;
        (self.node_of_router(router), first + number)
    }

    /// The port of a plane's router, in the whole network, to which an interface of a node is wired.
    pub fn port_of_plane(&self, node: NodeId, interface: u32) -> PortId {
        let port = self.plane.port_of_node[self.port_of(node.0, interface).index()];
        PortId(port.0 + interface % self.planes * self.plane.ports() as u32)
    }

    /// A bit for each interface.
    pub fn all_interfaces(&self) -> u16 {
        u16::MAX >> (MOST_INTERFACES - self.interfaces)
    }

    /// A bit for each interface on a plane.
    #[inline]
    pub fn on_plane(&self, plane: u32) -> u16 {
        let numbers = (plane..self.interfaces).step_by(self.planes as usize);
        numbers.fold(0, |all, interface| all | 1 << interface)
    }

    /// The planes on which a node has an interface that works.
    fn planes_of(&self, working: u16) -> u16 {
        (0..self.planes)
            .filter(|&plane| working & self.on_plane(plane) != 0)
            .fold(0, |all, plane| all | 1 << plane)
    }

    /// Which nodes have no way to others, by the interfaces of each that work. Where messages keep to one
    /// interface, a node needs all. Where they may take any, it needs one, and two nodes one on the same
    /// plane: of those that have none in common, the fewer are left out. Shape: nodes.
    pub(super) fn without_way(&self, working: &[u16]) -> Vec<bool> {
        if !self.choice.takes_others() {
            let all = self.all_interfaces();
            return working.iter().map(|&own| own != all).collect();
        }
        let mut counts = std::collections::BTreeMap::new();
        for &own in working.iter().filter(|own| **own != 0) {
            *counts.entry(self.planes_of(own)).or_insert(0u32) += 1;
        }
        loop {
            let apart = |a: &u16| counts.keys().any(|b| a & b == 0);
            let fewest = counts.iter().filter(|(planes, _)| apart(planes));
            let Some((&planes, _)) = fewest.min_by_key(|(_, count)| **count) else {
                let left = |own: u16| counts.contains_key(&self.planes_of(own));
                return working.iter().map(|&own| own == 0 || !left(own)).collect();
            };
            counts.remove(&planes);
        }
    }

    /// Why nodes are out of service of which an interface each has no way to others, and what to do.
    pub fn why_lost(&self, without_rail: &[(NodeId, u32)]) -> Option<String> {
        let &(node, interface) = without_rail.first()?;
        let others = match without_rail.len() {
            1 => String::new(),
            count => format!(" and {} more nodes lack one", count - 1),
        };
        let allowed = match self.planes {
            1 => "\"nearest\" or \"striped\", which take",
            _ => "\"striped\", which takes",
        };
        Some(format!(
            "interface {interface} of node {node} has no way to others{others}, and with \
             node.interface = \"{}\" a node that lacks one is out of service; take {allowed} the \
             interfaces that work, or repair it",
            self.choice.name()
        ))
    }

    /// What of the planes and interfaces works in `topology`, a network of such nodes of which a part has
    /// failed; `None` if all does.
    pub fn left_in(&self, topology: &Topology) -> Option<LeftInPlanes> {
        let ports = self.plane.ports();
        let lacks = |plane: usize, port: usize| {
            topology.peer[plane * ports + port] == Peer::Unconnected
                && self.plane.peer[port] != Peer::Unconnected
        };
        let planes = 0..self.planes as usize;
        if !(planes.clone()).any(|plane| (0..ports).any(|port| lacks(plane, port))) {
            return None;
        }
        let planes: Vec<Topology> = planes
            .map(|plane| {
                let mut left = (*self.plane).clone();
                for port in (0..ports).filter(|&port| lacks(plane, port)) {
                    left.peer[port] = Peer::Unconnected;
                }
                left
            })
            .collect();
        let of_node = |node: u32| {
            let works = |&interface: &u32| {
                !planes[(interface % self.planes) as usize].is_lost(self.port_of(node, interface))
            };
            let numbers = (0..self.interfaces).filter(works);
            numbers.fold(0, |all, interface| all | 1 << interface)
        };
        Some(LeftInPlanes {
            working: (0..self.nodes()).map(of_node).collect(),
            planes,
        })
    }

    /// The router of a node at which an interface sits.
    #[inline]
    pub fn router_at(&self, interface: u32) -> u32 {
        let rank = interface * self.ranks / self.interfaces;
        match self.graph.ranks_per_switch {
            None => rank,
            Some(each) => self.ranks + rank / each,
        }
    }

    /// The interfaces nearest to a rank: the first of them, and how many.
    #[inline]
    pub fn nearest(&self, rank: u32) -> (u32, u32) {
        match self.interfaces / self.ranks {
            0 => (rank * self.interfaces / self.ranks, 1),
            each => (rank * each, each),
        }
    }

    /// Interfaces that sit at the routers of a node before `router`.
    fn interfaces_before(&self, router: u32) -> u32 {
        let ranks = match self.graph.ranks_per_switch {
            None => router,
            Some(each) => router.saturating_sub(self.ranks) * each,
        };
        (ranks.min(self.ranks) * self.interfaces).div_ceil(self.ranks)
    }

    /// Interfaces that sit at a router of a node: the first of them, and how many.
    fn interfaces_at(&self, router: u32) -> (u32, u32) {
        let first = self.interfaces_before(router);
        (first, self.interfaces_before(router + 1) - first)
    }

    /// The node of a plane that an interface of a node is.
    #[inline]
    pub fn port_of(&self, node: u32, interface: u32) -> NodeId {
        let place = node * self.interfaces_per_plane() + interface / self.planes;
        self.port_of_interface[place as usize]
    }

    /// Port of the router at which an interface sits, relative to its first.
    #[inline]
    pub fn port_to_interface(&self, interface: u32) -> u16 {
        let router = self.router_at(interface);
        (u32::from(router < self.ranks) + interface - self.interfaces_before(router)) as u16
    }

    /// Port of a router of a node, relative to its first, that leads towards another of its node, and
    /// the channel inside.
    #[inline]
    pub fn port_inside(&self, router: u32, to: u32) -> (u16, u8) {
        let (link, channel) = self.graph.towards(router, to);
        (self.first_link(router) + link, channel)
    }

    /// Port of a router of a node, relative to its first, at which its links inside begin.
    #[inline]
    fn first_link(&self, router: u32) -> u16 {
        (u32::from(router < self.ranks) + self.interfaces_at(router).1) as u16
    }

    /// Router of a plane on which the first interface of a node is.
    pub fn leaf_of(&self, node: NodeId) -> RouterId {
        self.plane.router_of_node(self.port_of(node.0, 0))
    }

    /// Bandwidth of all interfaces of a node, in bytes per second.
    pub fn interface_bandwidth(&self, node: NodeId) -> u64 {
        let ports = (0..self.interfaces).map(|interface| self.port_of(node.0, interface));
        let rate = |port: NodeId| {
            let port = self.plane.port_of_node[port.index()];
            self.plane.link_class(port).bandwidth.bytes_per_second()
        };
        ports.map(rate).sum()
    }
}

impl NodeInsideSpec {
    fn check(&self, plane: &Topology) -> Result<(), NodeInsideError> {
        let counts = [
            ("ranks", self.ranks, MOST_RANKS),
            ("interfaces", self.interfaces, MOST_INTERFACES),
            ("planes", self.planes, MOST_INTERFACES),
        ];
        for (key, found, most) in counts {
            if found == 0 || found > most {
                return Err(NodeInsideError::Count { key, found, most });
            }
        }
        let (ranks, interfaces, planes) = (self.ranks, self.interfaces, self.planes);
        if !ranks.is_multiple_of(interfaces) && !interfaces.is_multiple_of(ranks) {
            return Err(NodeInsideError::Uneven { interfaces, ranks });
        }
        if !interfaces.is_multiple_of(planes) {
            return Err(NodeInsideError::Planes { planes, interfaces });
        }
        if self.choice == InterfaceChoice::Nearest && planes > 1 {
            return Err(NodeInsideError::NoWay { planes });
        }
        match self.network {
            None if ranks > 1 => return Err(NodeInsideError::NoNetwork { ranks }),
            Some(_) if ranks == 1 => return Err(NodeInsideError::OneRank),
            _ => {}
        }
        if plane.may_be_disconnected || plane.has_one_way_links() {
            return Err(NodeInsideError::Circuits);
        }
        let each = interfaces / planes;
        let ports = plane.nodes();
        if !ports.is_multiple_of(each as usize) {
            return Err(NodeInsideError::Ports { ports, each });
        }
        Ok(())
    }

    /// Which node of a plane each interface is, node by node of the machine.
    fn ports(&self, plane: &Topology) -> Result<Vec<NodeId>, NodeInsideError> {
        let each = (self.interfaces / self.planes) as usize;
        if self.wiring == InterfaceWiring::Together {
            return Ok((0..plane.nodes()).map(NodeId::from_index).collect());
        }
        if each == 1 {
            return Err(NodeInsideError::OneRail);
        }
        let mut leaves: Vec<(RouterId, Vec<NodeId>)> = Vec::new();
        for router in (0..plane.routers()).map(RouterId::from_index) {
            let peers = plane.peer[plane.ports_of(router)].iter();
            let nodes: Vec<NodeId> = peers
                .filter_map(|peer| match peer {
                    Peer::Node(node) => Some(*node),
                    _ => None,
                })
                .collect();
            if !nodes.is_empty() {
                leaves.push((router, nodes));
            }
        }
        if !leaves.len().is_multiple_of(each) {
            let leaves = leaves.len();
            let each = each as u32;
            return Err(NodeInsideError::Leaves { leaves, each });
        }
        let mut ports = Vec::with_capacity(plane.nodes());
        for unit in leaves.chunks(each) {
            let expected = unit[0].1.len();
            let uneven = unit.iter().find(|(_, nodes)| nodes.len() != expected);
            if let Some((router, nodes)) = uneven {
                return Err(NodeInsideError::UnevenLeaves {
                    router: *router,
                    found: nodes.len(),
                    expected,
                });
            }
            for node in 0..expected {
                ports.extend(unit.iter().map(|(_, nodes)| nodes[node]));
            }
        }
        Ok(ports)
    }

    /// The network of `planes` copies of `plane`, whose nodes become interfaces of nodes with this
    /// inside.
    ///
    /// # Errors
    /// If the numbers do not fit together or the network.
    pub fn build(&self, plane: Topology) -> Result<Topology, NodeInsideError> {
        self.check(&plane)?;
        let port_of_interface = self.ports(&plane)?;
        let graph = InsideGraph::new(self)?;
        let inside = NodeInside {
            ranks: self.ranks,
            interfaces: self.interfaces,
            planes: self.planes,
            choice: self.choice,
            network: self.network.as_ref().map(|network| network.0),
            rank_bandwidth: self.rank_bandwidth(&graph),
            graph,
            plane: Arc::new(plane),
            port_of_interface,
        };
        let (plane, nodes) = (&*inside.plane, inside.nodes());
        // Ports before memory is taken for them.
        let links = u128::from(inside.graph.all_links());
        let of_node = u128::from(self.ranks + self.interfaces) + links;
        let all = plane.ports() as u128 * u128::from(self.planes) + of_node * u128::from(nodes);
        check_size(u64::from(self.ranks + self.interfaces), all)?;
        let (classes, rank_class, of_links) = self.classes(&inside);
        let mut wiring = Wiring {
            title: self.title(plane),
            link_classes: classes,
            first_port: vec![0],
            ..Wiring::default()
        };
        wiring.lay_planes(&inside);
        wiring.lay_nodes(&inside, rank_class, &of_links);
        let mut topology = Topology::new(wiring)?;
        topology.inside = Some(Arc::new(inside));
        Ok(topology)
    }

    /// See [`NodeInside::rank_bandwidth`].
    fn rank_bandwidth(&self, graph: &InsideGraph) -> u64 {
        let links = |rank: usize| {
            graph.peers[rank]
                .iter()
                .map(|link| u64::from(link.1))
                .sum::<u64>()
        };
        let most = (0..self.ranks as usize).map(links).max().unwrap_or(0);
        self.network.as_ref().map_or(0, |(_, class)| {
            class.bandwidth.bytes_per_second().saturating_mul(most)
        })
    }

    fn title(&self, plane: &Topology) -> String {
        let planes = match self.planes {
            1 => String::new(),
            planes => format!("{planes} planes of "),
        };
        let inside = match &self.network {
            None => String::new(),
            Some((InsideNetwork::Xgmi, _)) => " with xgmi links".to_owned(),
            Some((InsideNetwork::Pcie, _)) => " on a pcie tree".to_owned(),
            Some((network, _)) => format!(" on a {}", network.name()),
        };
        let rails = match self.wiring {
            InterfaceWiring::Together => "",
            InterfaceWiring::RailOptimised => ", rail-optimised",
        };
        format!(
            "{planes}{}; nodes of {} ranks{inside}, {} interfaces{rails}",
            plane.title, self.ranks, self.interfaces
        )
    }

    /// The link classes: those of the plane, of which those of nodes become those of interfaces,
    /// the one of ranks, the one inside nodes.
    fn classes(&self, inside: &NodeInside) -> (Vec<LinkClass>, LinkClassId, Vec<LinkClassId>) {
        let mut classes = inside.plane.link_classes.clone();
        for class in &mut classes {
            if class.kind == LinkKind::Terminal {
                class.kind = LinkKind::Global;
                if class.name == LinkKind::Terminal.name() {
                    class.name = "interface".into();
                }
            }
        }
        // A rank sends over all that it has at once.
        let fastest = |ports: &mut dyn Iterator<Item = NodeId>| {
            let rate = |port: NodeId| {
                let port = inside.plane.port_of_node[port.index()];
                let class = inside.plane.link_class(port);
                class.bandwidth.bytes_per_second()
            };
            ports.map(rate).max().unwrap_or(1)
        };
        let interface = fastest(&mut inside.port_of_interface.iter().copied());
        let at_rank = u64::from(self.interfaces.div_ceil(self.ranks));
        let buffer = match &self.network {
            None => inside.plane.link_class(inside.plane.port_of_node[0]).buffer,
            Some((_, class)) => class.buffer,
        };
        let bandwidth = match inside.graph.ranks_per_switch {
            None => interface
                .saturating_mul(at_rank)
                .saturating_add(inside.rank_bandwidth),
            // Its one link is the way to all.
            Some(_) => inside.rank_bandwidth,
        };
        classes.push(LinkClass {
            name: LinkKind::Terminal.name().into(),
            kind: LinkKind::Terminal,
            bandwidth: Bandwidth::new(bandwidth.min(FASTEST)).unwrap_or(
                inside
                    .plane
                    .link_class(inside.plane.port_of_node[0])
                    .bandwidth,
            ),
            latency: Picoseconds(1),
            buffer,
            impairments: Vec::new(),
        });
        let rank_class = LinkClassId((classes.len() - 1) as u8);
        let Some((_, class)) = &self.network else {
            return (classes, rank_class, Vec::new());
        };
        let counts = inside.graph.peers.iter().flatten().map(|link| link.1);
        let most = counts.clone().max().unwrap_or(1);
        let mut of_count = Vec::new();
        for count in 1..=most {
            let is_used = count == 1 || counts.clone().any(|one| one == count);
            if is_used {
                let rate = class
                    .bandwidth
                    .bytes_per_second()
                    .saturating_mul(count.into());
                let name = match count {
                    1 => class.name.clone(),
                    _ => format!("{}-{count}", class.name),
                };
                classes.push(LinkClass {
                    name,
                    kind: LinkKind::Local,
                    bandwidth: Bandwidth::new(rate.min(FASTEST)).unwrap_or(class.bandwidth),
                    ..class.clone()
                });
            }
            of_count.push(LinkClassId((classes.len() - 1) as u8));
        }
        (classes, rank_class, of_count)
    }
}

impl Wiring {
    /// The planes, with what was wired to nodes wired to interfaces.
    fn lay_planes(&mut self, inside: &NodeInside) {
        let plane = &*inside.plane;
        let (ports, groups) = (plane.ports() as u32, plane.groups);
        // Number of the interface on its plane, by node of the plane.
        let mut interface_of = vec![0u32; plane.nodes()];
        for (interface, port) in (0..).zip(&inside.port_of_interface) {
            interface_of[port.index()] = interface;
        }
        let first_of_nodes = ports * inside.planes;
        for number in 0..inside.planes {
            let of_plane = |group: &GroupId| GroupId(group.0 + number * groups);
            let routers = plane.group_of_router.iter().map(of_plane);
            self.group_of_router.extend(routers);
            let first = plane.first_port[1..].iter();
            self.first_port
                .extend(first.map(|&port| port + number * ports));
            self.class_of_port.extend(&plane.class_of_port);
            self.peer.extend(plane.peer.iter().map(|&peer| match peer {
                Peer::Port(port) => Peer::Port(PortId(port.0 + number * ports)),
                Peer::Unconnected => Peer::Unconnected,
                Peer::Node(node) => {
                    let each = inside.interfaces_per_plane();
                    let place = interface_of[node.index()];
                    let (node, interface) = (place / each, place % each * inside.planes + number);
                    let first =
                        first_of_nodes + inside.first_port_of(node, inside.router_at(interface));
                    let port = u32::from(inside.port_to_interface(interface));
                    Peer::Port(PortId(first + port))
                }
            }));
        }
    }

    /// The routers of nodes. `links`: class of one link inside, of two side by side, and so on.
    fn lay_nodes(&mut self, inside: &NodeInside, rank_class: LinkClassId, links: &[LinkClassId]) {
        let plane = &*inside.plane;
        let (ports, groups) = (plane.ports() as u32, plane.groups * inside.planes);
        let first_of_nodes = ports * inside.planes;
        let add = |wiring: &mut Self, peer, class| {
            wiring.peer.push(peer);
            wiring.class_of_port.push(class);
        };
        for node in 0..inside.nodes() {
            for router in 0..inside.graph.routers() {
                self.group_of_router.push(GroupId(groups + node));
                if router < inside.ranks {
                    add(
                        self,
                        Peer::Node(NodeId(node * inside.ranks + router)),
                        rank_class,
                    );
                }
                let (first, count) = inside.interfaces_at(router);
                for interface in first..first + count {
                    let at = plane.port_of_node[inside.port_of(node, interface).index()];
                    let number = interface % inside.planes;
                    let peer = Peer::Port(PortId(at.0 + number * ports));
                    add(self, peer, plane.class_of_port[at.index()]);
                }
                for &(peer, count) in &inside.graph.peers[router as usize] {
                    let back = inside.graph.peers[peer as usize].iter();
                    let link = back.take_while(|one| one.0 != router).count() as u32;
                    let first = first_of_nodes + inside.first_port_of(node, peer);
                    let port = first + u32::from(inside.first_link(peer)) + link;
                    add(self, Peer::Port(PortId(port)), links[count as usize - 1]);
                }
                self.first_port.push(self.peer.len() as u32);
            }
        }
    }
}

impl NodeInside {
    /// First port of a router of a node, from the first port of all nodes on.
    fn first_port_of(&self, node: u32, router: u32) -> u32 {
        let of_node = self.ranks + self.interfaces + self.graph.all_links();
        let before = (0..router).map(|one| self.graph.links(one)).sum::<u32>();
        let ranks = router.min(self.ranks);
        node * of_node + ranks + before + self.interfaces_before(router)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing::{dragonfly, fat_tree};
    use crate::topology::FatTreeShape;
    use crate::topology::testing::class;

    fn spec(ranks: u32, interfaces: u32) -> NodeInsideSpec {
        NodeInsideSpec {
            ranks,
            interfaces,
            planes: 1,
            wiring: InterfaceWiring::Together,
            choice: InterfaceChoice::Rail,
            network: Some((InsideNetwork::Switch, class("inside", LinkKind::Local))),
            links: Vec::new(),
            ranks_per_switch: None,
        }
    }

    fn tree(nodes: u32) -> Topology {
        fat_tree(&FatTreeShape {
            down: vec![4, 8],
            up: vec![4],
            parallel: vec![1],
            nodes,
        })
    }

    /// Leaf of an interface, by what its port leads to.
    fn leaf(topology: &Topology, node: u32, interface: u32) -> u32 {
        let inside = topology.inside.as_ref().unwrap();
        let router = inside.routers_of(NodeId(node)).start + inside.router_at(interface);
        let first = topology.first_port[router as usize];
        let port = first + u32::from(inside.port_to_interface(interface));
        let Peer::Port(peer) = topology.peer[port as usize] else {
            panic!("an interface is wired to a router");
        };
        topology.router_of_port(peer).0
    }

    #[test]
    fn counts_follow_from_the_numbers() {
        // 8 nodes of 4 ranks: 12 switches of the tree, a router for each rank, a switch for each node.
        let topology = spec(4, 4).build(tree(32)).unwrap();
        assert_eq!((topology.nodes(), topology.routers()), (32, 12 + 32 + 8));
        // The tree's 8 leaves with 4 links up, 32 interfaces, 32 links to switches.
        assert_eq!(topology.links().count(), 8 * 4 + 32 + 32);
        // Two planes of 6 nodes... as many ranks as before, with half as many nodes on each tree.
        let planes = NodeInsideSpec {
            planes: 2,
            ..spec(4, 2)
        };
        let topology = planes.build(tree(8)).unwrap();
        let inside = topology.inside.as_ref().unwrap();
        assert_eq!((inside.nodes(), topology.nodes()), (8, 32));
        // A mesh has a link for each of 4 · 3 / 2 pairs.
        let mesh = NodeInsideSpec {
            network: Some((InsideNetwork::Mesh, class("inside", LinkKind::Local))),
            ..spec(4, 4)
        };
        assert_eq!(
            mesh.build(tree(32)).unwrap().links().count(),
            32 + 32 + 8 * 6
        );
    }

    #[test]
    fn rails_and_planes_join_what_they_say() {
        // Leaf i of a unit of four has interface i of its four nodes.
        let rails = NodeInsideSpec {
            wiring: InterfaceWiring::RailOptimised,
            ..spec(4, 4)
        };
        let topology = rails.build(tree(32)).unwrap();
        for (node, interface) in (0..8).flat_map(|node| (0..4).map(move |i| (node, i))) {
            assert_eq!(leaf(&topology, node, interface), node / 4 * 4 + interface);
        }
        let topology = spec(4, 4).build(tree(32)).unwrap();
        assert_eq!(leaf(&topology, 3, 2), 3);
        // Interface i on plane i mod 2, whose leaves come after those of plane 0.
        let planes = NodeInsideSpec {
            planes: 2,
            ..spec(4, 4)
        };
        let plane = tree(32);
        let routers = plane.routers() as u32;
        let topology = planes.build(plane).unwrap();
        // Node 3 has ports 6 and 7 of each plane.
        assert_eq!(leaf(&topology, 3, 0), 6 / 4);
        assert_eq!(leaf(&topology, 3, 1), routers + 6 / 4);
        topology.validate().unwrap();
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |spec: NodeInsideSpec, plane| spec.build(plane).unwrap_err();
        let base = || spec(4, 4);
        for (spec, key, words) in [
            (spec(0, 1), "ranks", "1 to 1024"),
            (spec(4, 17), "interfaces", "1 to 16"),
            (spec(8, 3), "interfaces", "divides"),
            (
                NodeInsideSpec {
                    planes: 3,
                    ..base()
                },
                "planes",
                "i mod planes",
            ),
            (
                NodeInsideSpec {
                    network: None,
                    ..base()
                },
                "network",
                "4 ranks",
            ),
            (NodeInsideSpec { ranks: 1, ..base() }, "network", "one rank"),
            (
                NodeInsideSpec {
                    planes: 2,
                    choice: InterfaceChoice::Nearest,
                    ..base()
                },
                "interface",
                "2 planes",
            ),
            (
                NodeInsideSpec {
                    planes: 4,
                    wiring: InterfaceWiring::RailOptimised,
                    ..base()
                },
                "wiring",
                "one interface on each plane",
            ),
        ] {
            let error = refused(spec, tree(32));
            assert_eq!(error.key(), Some(key), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        let error = refused(spec(4, 4), tree(30));
        assert!(error.to_string().contains("30 ports"), "{error}");
        let rails = NodeInsideSpec {
            wiring: InterfaceWiring::RailOptimised,
            ..spec(3, 3)
        };
        // 36 routers with 2 nodes each: 12 units of 3.
        let topology = rails.build(dragonfly(2, 4, 2, 9)).unwrap();
        assert_eq!(topology.inside.as_ref().unwrap().nodes(), 24);
        // 6 leaves for units of 4; then 8 leaves of which the last has 2 nodes and not 4.
        let rails = |each| NodeInsideSpec {
            wiring: InterfaceWiring::RailOptimised,
            ..spec(each, each)
        };
        let error = refused(rails(4), tree(24));
        assert!(matches!(
            error,
            NodeInsideError::Leaves { leaves: 6, each: 4 }
        ));
        let error = refused(rails(2), tree(30));
        assert!(matches!(
            error,
            NodeInsideError::UnevenLeaves {
                found: 2,
                expected: 4,
                ..
            }
        ));
    }

    /// A ring of four ranks with doubled links inside pairs, and eight ranks at two switches below the
    /// processor: each rank reaches every other over as few links as there are.
    #[test]
    fn ways_inside_are_the_shortest() {
        let mut ring = spec(4, 4);
        ring.network = Some((InsideNetwork::Xgmi, class("inside", LinkKind::Local)));
        ring.links = vec![(0, 1, 2), (1, 2, 1), (3, 2, 2), (0, 3, 1)];
        let mut tree_inside = spec(8, 4);
        tree_inside.network = Some((InsideNetwork::Pcie, class("inside", LinkKind::Local)));
        tree_inside.ranks_per_switch = Some(4);
        for (spec, routers, channels) in [(ring, 4, 2), (tree_inside, 8 + 2 + 1, 1)] {
            let is_ring = spec.ranks == 4;
            let topology = spec.build(tree(32)).unwrap();
            let inside = topology.inside.as_ref().unwrap();
            assert_eq!(inside.graph.routers(), routers);
            assert_eq!(inside.graph.channels(), channels);
            let first = inside.routers_of(NodeId(1)).start;
            for from in 0..spec.ranks {
                for to in (0..spec.ranks).filter(|&to| to != from) {
                    let mut passed = 0;
                    let mut at = from;
                    let mut before = None;
                    while at != to {
                        let (port, channel) = inside.port_inside(at, to);
                        assert!(channels == 1 || before.is_none_or(|before| before < channel));
                        before = Some(channel);
                        let router = (first + at) as usize;
                        let port = topology.first_port[router] + u32::from(port);
                        let Peer::Port(peer) = topology.peer[port as usize] else {
                            panic!("a link inside");
                        };
                        let next = topology.router_of_port(peer).0 - first;
                        let doubled =
                            is_ring && at.min(next).is_multiple_of(2) && at.abs_diff(next) == 1;
                        let class = topology.link_class(PortId(port));
                        assert_eq!(&*class.name == "inside-2", doubled, "{at} to {next}");
                        at = next;
                        passed += 1;
                    }
                    let expected = match is_ring {
                        true => from.abs_diff(to).min(4 - from.abs_diff(to)),
                        false if from / 4 == to / 4 => 2,
                        false => 4,
                    };
                    assert_eq!(passed, expected, "{from} to {to}");
                }
            }
        }
        for (links, found) in [
            (vec![(0, 4, 1)], "[0, 4, 1]"),
            (vec![(0, 1, 1), (1, 0, 1)], "twice"),
            (vec![(0, 1, 1), (2, 3, 1)], "no link joins"),
        ] {
            let mut wrong = spec(4, 4);
            wrong.network = Some((InsideNetwork::Xgmi, class("inside", LinkKind::Local)));
            wrong.links = links;
            let error = wrong.build(tree(32)).unwrap_err();
            assert_eq!(error.key(), Some("network"));
            assert!(error.to_string().contains(found), "{error}");
        }
    }
}
