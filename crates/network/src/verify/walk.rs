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

/// What a packet may do next.
type PossibleHops = Vec<(Hop, PacketRoute)>;

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

/// Most states of one level: it then takes about 1 GB.
const MOST_STATES: usize = 1 << 24;

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
    scratch: [PossibleHops; 3],
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
            scratch: Default::default(),
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
    /// that takes more than `limit` hops together with earlier batches, or if
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
            let connects = |(bit, &to): (usize, &u32)| {
                let connects = self.routing.connects(RouterId(source), RouterId(to));
                u64::from(connects) << bit
            };
            let mask = destinations.iter().enumerate().map(connects).sum::<u64>() & all;
            if mask != 0 {
                level.insert(state, mask);
            }
        }
        let header = |&router: &u32| {
            PacketRoute::injected(RouterId(router), self.node_port[router as usize])
        };
        let headers: Vec<PacketRoute> = destinations.iter().map(header).collect();
        let mut next = Level::default();
        let mut hops_made = 0u32;
        while !level.is_empty() {
            for (&state, &mask) in &level {
                self.states += u64::from(mask.count_ones());
                self.visit(state, mask, &headers, &mut next)?;
                if self.hops > limit {
                    return Ok(false);
                }
                if next.len() > MOST_STATES {
                    return Err(VerifyError::TooManyStates {
                        limit: MOST_STATES as u64,
                    });
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

    /// Follows the packets in `state` for the destinations of `mask`; `headers`
    /// has a freshly injected packet for every destination of the batch.
    fn visit(
        &mut self,
        state: State,
        mask: u64,
        headers: &[PacketRoute],
        next: &mut Level,
    ) -> Result<(), VerifyError> {
        let channels = self.graph.channels() as u32;
        let (at, arrived, vc) = match state.arrived.checked_sub(channels) {
            Some(source) => (source, None, 0),
            None => {
                // Channels are numbered in port order, those of a port together.
                let vc = state.arrived % u32::from(self.virtual_channels);
                let at = self.graph.head(state.arrived);
                (at, Some(state.arrived), vc as u8)
            }
        };
        let at = RouterId(at);
        let packet = |bit: u32| PacketRoute {
            waypoint: state.waypoint,
            intermediate: state.intermediate,
            phase: state.phase,
            vc,
            ..headers[bit as usize]
        };
        let injected = arrived.is_none();
        let routing = self.routing;
        let key = |bit: u32| routing.relevant_destination(at, injected, &packet(bit));
        let mut listed = 0;
        let mut possible = |bit: u32, out: &mut PossibleHops| {
            out.clear();
            routing.possible_hops(at, injected, &packet(bit), out);
            listed += out.len() as u64;
        };
        let [mut hops, mut others, mut last] = std::mem::take(&mut self.scratch);
        // Destinations in a row that have the same possible hops, `hops`.
        let mut alike = 0u64;
        let mut rest = mask;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let mut run = 1u64 << bit;
            let mut after = rest & !run;
            let relevant = key(bit);
            while after != 0 && key(after.trailing_zeros()) == relevant {
                run |= after & after.wrapping_neg();
                after &= after - 1;
            }
            possible(bit, &mut others);
            if !run.is_power_of_two() {
                // The claim is checked on the two that are farthest apart.
                possible(63 - run.leading_zeros(), &mut last);
                if !same_but_for_destination(&others, &last) {
                    run = 1 << bit;
                }
            }
            rest &= !run;
            if alike != 0 && same_but_for_destination(&hops, &others) {
                alike |= run;
                continue;
            }
            if alike != 0 {
                let packet = packet(alike.trailing_zeros());
                self.take(arrived, at, &packet, &hops, alike, next)?;
            }
            std::mem::swap(&mut hops, &mut others);
            alike = run;
        }
        self.hops += listed;
        let packet = packet(alike.trailing_zeros());
        self.take(arrived, at, &packet, &hops, alike, next)?;
        self.scratch = [hops, others, last];
        Ok(())
    }

    /// Follows every possible hop of the packets for the destinations of
    /// `mask`, of which `packet` is one.
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
                    // A packet for another destination must not be handed over.
                    let alone = mask.is_power_of_two();
                    if at != destination || hop.port != packet.destination_port || !alone {
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
