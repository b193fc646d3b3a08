//! Routing by forwarding tables, as the switches of InfiniBand have them: the output port of a
//! packet follows from the switch and the destination node alone, and its virtual channel, which
//! it keeps on its whole way, from source and destination.

mod error;
mod reading;

pub use error::{ForwardingError, TableFileError};
pub use reading::{read_channels, read_tables, write_channels, write_opensm_tables, write_tables};

use std::path::PathBuf;

use odonata_units::{NodeId, RouterId};

use super::channels::channel_count;
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::{Algorithm, AlgorithmKeys, Hop, PacketRoute, RouterView, Routing, RoutingSpec, Usual};
use crate::topology::{Peer, Topology};

/// No port for a destination.
const NO_PORT: u16 = u16::MAX;
/// Most entries of a table: half a gigabyte.
const MOST_ENTRIES: u64 = 1 << 28;

odonata_declare::table! {
    /// Keys of `forwarding-tables`.
    pub struct ForwardingKeys {
        /// The file of the tables, relative to the scenario, in Odonata's format or one of OpenSM's;
        /// or a directory in which the tables have [one of the expected
        /// names](forwarding-tables.md#files).
        #[serde(skip_serializing_if = "Option::is_none")]
        tables: Option<PathBuf> = None => Notes { parts: "tables", ..Notes::NONE },
        /// Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, which says to which ports
        /// GUIDs and LIDs belong. Default: the one in the directory of `tables`; with
        /// `family = "ibnetdiscover"` the network's own file.
        #[serde(skip_serializing_if = "Option::is_none")]
        subnet: Option<PathBuf> = None,
        /// A file of the virtual channel for each source and destination, in Odonata's format or the
        /// output of `saquery PR`. Default: the one in the directory of `tables`; if there is none,
        /// all virtual channels are 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        service_levels: Option<PathBuf> = None,
    }
}

impl AlgorithmKeys for ForwardingKeys {
    const BY_SOURCE_AND_DESTINATION: bool = true;

    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec::new(Algorithm::ForwardingTables))
    }
}

/// What the routers of a network do with packets: not yet checked against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingTables {
    nodes: usize,
    /// Output port, relative to the router's first, or [`NO_PORT`]. Shape: routers × nodes.
    ports: Vec<u16>,
    channels: ChannelTable,
    /// Routers that are out of service, which need no table. Shape: routers.
    lost_routers: Vec<bool>,
}

/// The virtual channel of every source and destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ChannelTable {
    /// Row of each source node. Shape: nodes, or empty where all channels are 0.
    row: Vec<u32>,
    /// Shape: rows × nodes.
    channels: Vec<u8>,
}

impl ChannelTable {
    /// Sources that have the same channels share a row.
    fn of_rows(nodes: usize, rows: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut known = std::collections::HashMap::new();
        let (mut row, mut channels) = (Vec::with_capacity(nodes), Vec::new());
        for content in rows {
            let next = known.len() as u32;
            row.push(*known.entry(content).or_insert_with_key(|content| {
                channels.extend_from_slice(content);
                next
            }));
        }
        Self { row, channels }
    }
}

impl ForwardingTables {
    /// Tables without an entry, all on virtual channel 0.
    ///
    /// # Errors
    /// If they would take more than half a gigabyte.
    pub fn new(topology: &Topology) -> Result<Self, RoutingError> {
        let nodes = topology.nodes();
        let entries = nodes as u64 * (topology.routers() as u64).max(nodes as u64);
        if entries > MOST_ENTRIES {
            return Err(RoutingError::TooLarge {
                what: "pairs of a router, or a node, and a node",
                found: entries,
                limit: MOST_ENTRIES,
                algorithm: "forwarding-tables",
                advice: "take a smaller network of the same family",
            });
        }
        Ok(Self {
            nodes,
            ports: vec![NO_PORT; topology.routers() * nodes],
            channels: ChannelTable::default(),
            lost_routers: topology.lost_routers(),
        })
    }

    /// Sets the output port at `router`, relative to its first, of packets for `node`. Returns
    /// what was set before.
    ///
    /// # Panics
    /// If there is no such router or node in the network.
    pub fn set_port(&mut self, router: RouterId, node: NodeId, port: u16) -> Option<u16> {
        assert!(node.index() < self.nodes, "node {node} of {}", self.nodes);
        let entry = &mut self.ports[router.index() * self.nodes + node.index()];
        let before = std::mem::replace(entry, port);
        (before != NO_PORT).then_some(before)
    }

    /// The output port at `router` of packets for `node`, if it has one.
    pub fn port(&self, router: RouterId, node: NodeId) -> Option<u16> {
        let port = self.ports[router.index() * self.nodes + node.index()];
        (port != NO_PORT).then_some(port)
    }

    /// Sets the virtual channels of packets from each source: a list by destination for each.
    ///
    /// # Panics
    /// If there are not as many sources, and destinations of each, as nodes.
    pub fn set_channels(&mut self, rows: impl Iterator<Item = Vec<u8>>) {
        let nodes = self.nodes;
        let rows = rows.inspect(|row| assert_eq!(row.len(), nodes, "a channel for each node"));
        self.channels = ChannelTable::of_rows(nodes, rows);
        assert_eq!(self.channels.row.len(), nodes, "channels of each node");
    }

    /// The virtual channel of packets from one node to another.
    #[inline]
    pub fn channel(&self, source: NodeId, destination: u32) -> u8 {
        match self.channels.row.get(source.index()) {
            Some(&row) => self.channels.channels[row as usize * self.nodes + destination as usize],
            None => 0,
        }
    }

    /// Virtual channels that are used.
    pub fn virtual_channels(&self) -> u32 {
        1 + u32::from(self.channels.channels.iter().copied().max().unwrap_or(0))
    }

    /// Nodes of the network.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Routers of the network.
    pub fn routers(&self) -> usize {
        self.ports.len() / self.nodes.max(1)
    }
}

/// Routing by forwarding tables that lead every packet to its node.
#[derive(Clone, Debug)]
pub struct Forwarded {
    tables: ForwardingTables,
    /// First port of each router. Shape: routers.
    first_port: Vec<u32>,
    /// Node on each port. Shape: ports.
    node_of_port: Vec<u32>,
    /// Channels used.
    channels: u8,
}

impl Forwarded {
    /// By `tables`; with `virtual_channels`, channel `i` is merged into
    /// `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If packets of a node for another would not get there, see [`ForwardingError`].
    pub fn new(
        topology: &Topology,
        mut tables: ForwardingTables,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        check(topology, &tables)?;
        let needed = tables.virtual_channels();
        let channels = channel_count("forwarding-tables", needed, 1, virtual_channels)?;
        for channel in &mut tables.channels.channels {
            *channel = (*channel).min(channels - 1);
        }
        let node = |peer: &Peer| match peer {
            Peer::Node(node) => node.0,
            _ => u32::MAX,
        };
        Ok(Self {
            tables,
            first_port: topology.first_port.clone(),
            node_of_port: topology.peer.iter().map(node).collect(),
            channels,
        })
    }

    /// The node that a packet is for.
    #[inline]
    fn destination(&self, route: &PacketRoute) -> u32 {
        let first = self.first_port[route.destination_router as usize];
        self.node_of_port[(first + u32::from(route.destination_port)) as usize]
    }

    /// The hop at `at` towards `node`; not at its router.
    #[inline]
    fn hop(&self, at: RouterId, node: u32, vc: u8) -> Hop {
        let port = self.tables.ports[at.index() * self.tables.nodes + node as usize];
        Hop { port, vc }
    }

    /// The nodes of a router.
    fn nodes_of(&self, router: u32) -> impl Iterator<Item = u32> + '_ {
        let ports = self.first_port[router as usize]..self.first_port[router as usize + 1];
        let nodes = ports.map(|port| self.node_of_port[port as usize]);
        nodes.filter(|&node| node != u32::MAX)
    }
}

/// A packet carries its node in `waypoint` and its virtual channel in `phase`, both from its first
/// router on. `verify` follows one packet for each router: at its first router it becomes one
/// for each node of that, on each channel of the nodes here.
impl Routing for Forwarded {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        false
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if at.0 == route.destination_router {
            return eject(route);
        }
        if injected {
            route.waypoint = self.destination(route);
            route.phase = self.tables.channel(view.source_node(), route.waypoint);
        }
        self.hop(at, route.waypoint, route.phase)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if at.0 == route.destination_router {
            return out.push(possible_eject(route));
        }
        let mut push = |waypoint: u32, phase: u8| {
            let hop = self.hop(at, waypoint, phase);
            let (vc, route) = (hop.vc, *route);
            out.push((
                hop,
                PacketRoute {
                    waypoint,
                    phase,
                    vc,
                    ..route
                },
            ));
        };
        if !injected {
            return push(route.waypoint, route.phase);
        }
        for node in self.nodes_of(route.destination_router) {
            let sources = self.nodes_of(at.0);
            let channels = sources.map(|source| self.tables.channel(NodeId(source), node));
            let mut channels: Vec<u8> = channels.collect();
            channels.sort_unstable();
            channels.dedup();
            for channel in channels {
                push(node, channel);
            }
        }
    }
}

/// How far a walk along a table has got at a router.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Not,
    /// On the walk that is under way.
    Now,
    /// From here packets arrive.
    Arrives,
}

/// Whether all packets between nodes arrive.
fn check(topology: &Topology, tables: &ForwardingTables) -> Result<(), RoutingError> {
    let router_of_port = topology.router_of_every_port();
    let nodes = || {
        let all = (0..).map(NodeId).zip(&topology.port_of_node);
        all.filter(|&(node, _)| !topology.is_lost(node))
    };
    let mut sources: Vec<RouterId> = nodes()
        .map(|(_, port)| router_of_port[port.index()])
        .collect();
    sources.dedup();
    let mut seen = vec![Seen::Not; topology.routers()];
    let mut walked = Vec::new();
    for (node, port) in nodes() {
        let to = router_of_port[port.index()];
        seen.fill(Seen::Not);
        seen[to.index()] = Seen::Arrives;
        // The last router hands a packet over by its own port, whatever the table says; one that
        // says otherwise is of another network.
        let first = topology.first_port[to.index()];
        if let Some(found) = tables.port(to, node)
            && u32::from(found) != port.0 - first
        {
            let expected = (port.0 - first) as u16;
            let (router, port) = (to, found);
            let error = ForwardingError::WrongLastPort {
                router,
                node,
                port,
                expected,
            };
            return Err(error.into());
        }
        for &source in &sources {
            let mut at = source;
            walked.clear();
            while seen[at.index()] == Seen::Not {
                seen[at.index()] = Seen::Now;
                walked.push(at);
                at = follow(topology, tables, &router_of_port, at, node)?;
            }
            if seen[at.index()] == Seen::Now {
                let begin = walked.iter().position(|&router| router == at).unwrap_or(0);
                let routers = walked[begin..].to_vec();
                return Err(ForwardingError::Loop { node, routers }.into());
            }
            for &router in &walked {
                seen[router.index()] = Seen::Arrives;
            }
        }
    }
    Ok(())
}

/// Where `router` sends packets for `node`, which is not on it.
fn follow(
    topology: &Topology,
    tables: &ForwardingTables,
    router_of_port: &[RouterId],
    router: RouterId,
    node: NodeId,
) -> Result<RouterId, ForwardingError> {
    let Some(port) = tables.port(router, node) else {
        return Err(ForwardingError::Missing { router, node });
    };
    let ports = topology.ports_of(router);
    let Some(&peer) = topology.peer[ports.clone()].get(usize::from(port)) else {
        let ports = ports.len();
        return Err(ForwardingError::NoSuchPort {
            router,
            node,
            port,
            ports,
        });
    };
    match peer {
        Peer::Port(peer) => Ok(router_of_port[peer.index()]),
        Peer::Unconnected => Err(ForwardingError::Unconnected { router, node, port }),
        Peer::Node(found) => Err(ForwardingError::OtherNode {
            router,
            node,
            port,
            found,
        }),
    }
}

#[cfg(test)]
mod tests;
