//! Walks all routes to a batch of destinations, hop by hop.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use odonata_units::{PortId, RouterId};

use super::dependency::Dependencies;
use super::{Channel, VerifyError, relative};
use crate::routing::{Hop, PacketRoute, Routing};
use crate::topology::{Peer, Topology};

/// Where a packet is and what it carries, its destination apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    /// Channel it arrived by, or [`Walk::channels`] plus its router if it has
    /// just been injected.
    arrived: u32,
    waypoint: u32,
    intermediate: u32,
    phase: u8,
}

/// States after the same number of hops, each with one bit per destination of
/// the batch.
type Level = HashMap<State, u64, BuildHasherDefault<WordHasher>>;

/// Multiply-and-rotate over the few words of a [`State`].
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u32(u32::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        let mixed = (self.0 ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed.rotate_left(29);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Marks a port that is not wired to another router.
const NO_CHANNEL: u32 = u32::MAX;

pub(super) struct Walk<'a, R> {
    topology: &'a Topology,
    routing: &'a R,
    virtual_channels: u8,
    /// First channel of each port, or [`NO_CHANNEL`]. Shape: ports.
    channel_of_port: Vec<u32>,
    graph: Dependencies,
    /// Routers that have nodes.
    endpoints: Vec<u32>,
    /// First port of each router that has a node, relative. Shape: routers.
    node_port: Vec<u16>,
    hops: u64,
    states: u64,
    longest_route: u32,
    possible: Vec<(Hop, PacketRoute)>,
    spare: Vec<(Hop, PacketRoute)>,
}

impl<'a, R: Routing> Walk<'a, R> {
    /// Destinations per batch.
    pub(super) const BATCH: usize = 64;

    pub(super) fn new(topology: &'a Topology, routing: &'a R) -> Self {
        let virtual_channels = routing.virtual_channels();
        let routers = topology.routers();
        let mut channel_of_port = vec![NO_CHANNEL; topology.ports()];
        let mut leaving = vec![0; routers];
        let mut head = Vec::new();
        let mut node_port = vec![u16::MAX; routers];
        let router_of_port = topology.router_of_every_port();
        for router in 0..routers {
            let id = RouterId::from_index(router);
            for port in topology.ports_of(id) {
                match topology.peer[port] {
                    Peer::Port(peer) => {
                        channel_of_port[port] = head.len() as u32;
                        leaving[router] += u32::from(virtual_channels);
                        let to = router_of_port[peer.index()].0;
                        head.resize(head.len() + usize::from(virtual_channels), to);
                    }
                    Peer::Node(_) => {
                        let port = relative(topology, id, PortId::from_index(port));
                        node_port[router] = node_port[router].min(port);
                    }
                    Peer::Unconnected => {}
                }
            }
        }
        let has_node = |&r: &u32| node_port[r as usize] != u16::MAX;
        Self {
            topology,
            routing,
            virtual_channels,
            channel_of_port,
            graph: Dependencies::new(&leaving, head),
            endpoints: (0..routers as u32).filter(has_node).collect(),
            node_port,
            hops: 0,
            states: 0,
            longest_route: 0,
            possible: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(super) fn endpoints(&self) -> &[u32] {
        &self.endpoints
    }

    pub(super) fn channels(&self) -> u64 {
        self.graph.channels() as u64
    }

    pub(super) fn dependencies(&self) -> u64 {
        self.graph.len()
    }

    pub(super) fn hops(&self) -> u64 {
        self.hops
    }

    pub(super) fn states(&self) -> u64 {
        self.states
    }

    pub(super) fn longest_route(&self) -> u32 {
        self.longest_route
    }

    /// A short cycle of dependencies found so far.
    pub(super) fn cycle(&self) -> Option<Vec<Channel>> {
        let cycle = self.graph.cycle()?;
        Some(cycle.into_iter().map(|c| self.channel(c)).collect())
    }

    fn channel(&self, channel: u32) -> Channel {
        let from = RouterId(self.graph.tail(channel));
        let count = u32::from(self.virtual_channels);
        let offset = channel - self.graph.first_leaving(from.index());
        let slot = (offset / count) as usize;
        let port = self
            .topology
            .ports_of(from)
            .filter(|&port| self.channel_of_port[port] != NO_CHANNEL)
            .nth(slot)
            .unwrap_or_default();
        Channel {
            from,
            to: RouterId(self.graph.head(channel)),
            port: relative(self.topology, from, PortId::from_index(port)),
            vc: (offset % count) as u8,
        }
    }

    /// Walks all routes to at most [`Walk::BATCH`] `destinations`. `false` if
    /// that would take more than `limit` hops in all batches together, or if
    /// there are routes without end.
    pub(super) fn batch(&mut self, destinations: &[u32], limit: u64) -> Result<bool, VerifyError> {
        let all = u64::MAX >> (Self::BATCH - destinations.len());
        let mut level = Level::default();
        for &source in &self.endpoints {
            let state = State {
                arrived: self.graph.channels() as u32 + source,
                waypoint: crate::routing::NONE,
                intermediate: crate::routing::NONE,
                phase: 0,
            };
            level.insert(state, all);
        }
        let mut next = Level::default();
        let mut hops_made = 0u32;
        while !level.is_empty() {
            for (&state, &mask) in &level {
                self.states += u64::from(mask.count_ones());
                self.visit(state, mask, destinations, &mut next)?;
                if self.hops > limit {
                    return Ok(false);
                }
            }
            level.clear();
            std::mem::swap(&mut level, &mut next);
            hops_made += 1;
            // Without a cycle of dependencies no route visits a channel twice,
            // so a walk that does not end shows in the graph.
            if hops_made.is_power_of_two() && hops_made >= 64 && self.graph.has_cycle() {
                return Ok(false);
            }
        }
        // The last level was that of packets that were all delivered.
        self.longest_route = self.longest_route.max(hops_made - 1);
        Ok(true)
    }

    /// Follows the packets in `state` for the destinations of `mask`.
    fn visit(
        &mut self,
        state: State,
        mask: u64,
        destinations: &[u32],
        next: &mut Level,
    ) -> Result<(), VerifyError> {
        let injected = state.arrived >= self.graph.channels() as u32;
        let (at, vc) = if injected {
            (state.arrived - self.graph.channels() as u32, 0)
        } else {
            // Channels are numbered in port order, those of a port together.
            let vc = state.arrived % u32::from(self.virtual_channels);
            (self.graph.head(state.arrived), vc as u8)
        };
        let at = RouterId(at);
        let arrived = (!injected).then_some(state.arrived);
        let packet = |destination: u32, node_port: &[u16]| PacketRoute {
            destination_router: destination,
            waypoint: state.waypoint,
            intermediate: state.intermediate,
            destination_port: node_port[destination as usize],
            phase: state.phase,
            vc,
        };
        let mut possible = std::mem::take(&mut self.possible);
        let first = packet(
            destinations[mask.trailing_zeros() as usize],
            &self.node_port,
        );
        let mut one_for_all =
            !injected && mask.count_ones() > 1 && !self.routing.depends_on_destination(at, &first);
        if one_for_all {
            // The claim is checked on the destinations that are farthest apart.
            let last = destinations[63 - mask.leading_zeros() as usize];
            let last = packet(last, &self.node_port);
            possible.clear();
            self.routing.possible_hops(at, false, &first, &mut possible);
            self.spare.clear();
            self.routing
                .possible_hops(at, false, &last, &mut self.spare);
            one_for_all = same_but_for_destination(&possible, &self.spare);
        }
        let result = if one_for_all {
            self.take(arrived, at, &first, &possible, mask, next)
        } else {
            let mut rest = mask;
            let mut result = Ok(());
            while rest != 0 && result.is_ok() {
                let bit = rest & rest.wrapping_neg();
                rest ^= bit;
                let destination = destinations[bit.trailing_zeros() as usize];
                let packet = packet(destination, &self.node_port);
                possible.clear();
                self.routing
                    .possible_hops(at, injected, &packet, &mut possible);
                result = self.take(arrived, at, &packet, &possible, bit, next);
            }
            result
        };
        self.possible = possible;
        result
    }

    /// Follows every possible hop of a packet.
    fn take(
        &mut self,
        arrived: Option<u32>,
        at: RouterId,
        packet: &PacketRoute,
        possible: &[(Hop, PacketRoute)],
        mask: u64,
        next: &mut Level,
    ) -> Result<(), VerifyError> {
        let destination = RouterId(packet.destination_router);
        if possible.is_empty() {
            return Err(VerifyError::Stuck { at, destination });
        }
        self.hops += possible.len() as u64;
        for (hop, route) in possible {
            let ports = self.topology.ports_of(at);
            let port = ports.start + usize::from(hop.port);
            let peer = if ports.contains(&port) {
                self.topology.peer[port]
            } else {
                Peer::Unconnected
            };
            match peer {
                Peer::Unconnected => {
                    return Err(VerifyError::Nowhere {
                        at,
                        port: hop.port,
                        destination,
                    });
                }
                Peer::Node(_) => {
                    if at != destination || hop.port != packet.destination_port {
                        return Err(VerifyError::WrongNode {
                            at,
                            port: hop.port,
                            destination,
                        });
                    }
                }
                Peer::Port(_) => {
                    if hop.vc >= self.virtual_channels {
                        return Err(VerifyError::NoSuchChannel {
                            at,
                            vc: hop.vc,
                            channels: self.virtual_channels,
                            destination,
                        });
                    }
                    let channel = self.channel_of_port[port] + u32::from(hop.vc);
                    if let Some(arrived) = arrived {
                        self.graph.insert(arrived, channel);
                    }
                    let after = State {
                        arrived: channel,
                        waypoint: route.waypoint,
                        intermediate: route.intermediate,
                        phase: route.phase,
                    };
                    *next.entry(after).or_insert(0) |= mask;
                }
            }
        }
        Ok(())
    }
}

fn same_but_for_destination(a: &[(Hop, PacketRoute)], b: &[(Hop, PacketRoute)]) -> bool {
    let blank = |&(hop, route): &(Hop, PacketRoute)| {
        let route = PacketRoute {
            destination_router: 0,
            destination_port: 0,
            ..route
        };
        (hop, route)
    };
    a.len() == b.len() && a.iter().map(blank).eq(b.iter().map(blank))
}
