//! Valiant routing and UGAL on networks of any form, over routing by tables.

mod distances;

use odonata_units::{NodeId, PortId, RouterId};

use super::adaptive::{AdaptiveOptions, MOST_CANDIDATES, Queue, Weighting};
use super::channels::channel_count;
use super::choice::Choice;
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::nonminimal::Via;
use super::tabled::Tabled;
use super::{Hop, NONE, PacketRoute, RelevantDestination, RouterView, Routing, hops_of_all_parts};
use crate::topology::{Peer, Topology};
use distances::Distances;

/// Draws of a candidate for a detour: where it goes by, its first hop, and the rest.
const DRAWS: u32 = 3;
/// Largest random number from which the hops of a candidate's path are derived.
const SALTS: u32 = 1 << 16;

/// When a packet makes a detour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Always: Valiant routing.
    Always,
    /// Where the queues on it are shorter: UGAL.
    ByQueues(AdaptiveOptions),
}

/// Routes over the tables of a [`Tabled`] algorithm, and detours over them by way of a random
/// router with nodes, other than the source's and the destination's: Valiant routing (Valiant
/// and Brebner, "Universal schemes for parallel communication", STOC 1981) and UGAL (Singh,
/// "Load-Balanced Routing in Interconnection Networks", Stanford 2005), as on HyperX (Ahn et
/// al. 2009), Slim Fly (Besta and Hoefler 2014, section IV) and any other network. With only two
/// routers that have nodes there are no detours.
///
/// The source router decides, and the decision is final. It compares what [`AdaptiveOptions`]
/// say: with `GLOBAL` false (UGAL-L) `q` is the occupancy of a candidate's first output port,
/// with `GLOBAL` true (UGAL-G) the sum along its path. Hops of a minimal route are drawn by
/// [`Choice`].
///
/// Where the tables' channel is their own, detours and what follows have channels of their own,
/// as many again: a minimal route, and the second part of a detour, use the upper ones, so that
/// along every route the two sets come in one order and neither closes a cycle. Where the channel
/// counts hops it goes on counting.
#[derive(Clone, Debug)]
pub struct Detoured<const GLOBAL: bool> {
    base: Tabled,
    via: Via,
    decision: Decision,
    /// Routers that detours go by, in ascending order.
    stopovers: Vec<u32>,
    /// Router of each node, for [`Via::Node`]; else empty.
    router_of_node: Vec<u32>,
    distances: Distances,
    /// Channels used.
    channels: u8,
    /// With `GLOBAL`: first port of each router, and the router behind each port or [`NONE`].
    first_port: Vec<u32>,
    peer_router: Vec<u32>,
}

/// A route that a packet could take from its source.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Router that it goes by, or [`NONE`].
    intermediate: u32,
    hop: Hop,
    /// What occupancies are multiplied by.
    weight: u32,
    /// Weighted occupancy, in bytes.
    cost: u64,
}

impl<const GLOBAL: bool> Detoured<GLOBAL> {
    fn new(
        algorithm: &'static str,
        topology: &Topology,
        base: Tabled,
        via: Via,
        decision: Decision,
        merged: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let bad = |option, found: &str, allowed| RoutingError::BadOption {
            option,
            found: found.into(),
            allowed,
        };
        if via == Via::Group {
            return Err(bad(
                "via",
                "\"group\"",
                "only routes over groups go by way of one; use \"router\" or \"node\"",
            ));
        }
        if base.choice == Choice::ByDestination {
            return Err(bad(
                "choice",
                "\"by-destination\"",
                "detours are drawn per packet; use \"random\" or \"by-load\"",
            ));
        }
        let distances = Distances::new(topology, &base);
        let needed = match base.ascending {
            true => 2 * distances.largest(),
            false => 2 * u32::from(base.channels),
        };
        let channels = channel_count(algorithm, needed, distances.largest(), merged)?;
        let stopovers = base.destinations.routers();
        let router_of_node = match via {
            Via::Node => (0..topology.nodes() as u32)
                .map(NodeId)
                .filter(|&node| !topology.is_lost(node))
                .map(|node| topology.router_of_node(node).0)
                .collect(),
            _ => vec![],
        };
        let (first_port, peer_router) = match GLOBAL {
            true => {
                let owner = topology.router_of_every_port();
                let behind = |peer: &Peer| match *peer {
                    Peer::Port(port) => owner[port.index()].0,
                    _ => NONE,
                };
                let behind = topology.peer.iter().map(behind).collect();
                (topology.first_port.clone(), behind)
            }
            false => (vec![], vec![]),
        };
        Ok(Self {
            base,
            via,
            decision,
            stopovers,
            router_of_node,
            distances,
            channels,
            first_port,
            peer_router,
        })
    }

    /// UGAL over the tables of `base`, which must have all channels that it needs; with
    /// `virtual_channels`, channel `i` is merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If an option makes no sense here, or the routes need more virtual channels than can be
    /// numbered.
    pub fn ugal(
        topology: &Topology,
        base: Tabled,
        options: AdaptiveOptions,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        options.check()?;
        let name = if GLOBAL { "ugal-g" } else { "ugal-l" };
        let decision = Decision::ByQueues(options);
        Self::new(
            name,
            topology,
            base,
            options.via,
            decision,
            virtual_channels,
        )
    }

    /// A random router for a detour from `at`.
    fn draw<V: RouterView>(&self, view: &mut V, at: u32, route: &PacketRoute) -> Option<u32> {
        let ends = [at, route.destination_router];
        if self.via == Via::Node {
            let count = self.router_of_node.len() as u32;
            let router = self.router_of_node[view.random_below(count) as usize];
            return (!ends.contains(&router)).then_some(router);
        }
        let mut places = ends.map(|end| self.stopovers.binary_search(&end));
        places.sort_unstable();
        let others =
            self.stopovers.len() as u32 - places.iter().filter(|p| p.is_ok()).count() as u32;
        if others == 0 {
            return None;
        }
        let mut index = view.random_below(others);
        for place in places.into_iter().flatten() {
            index += u32::from(index >= place as u32);
        }
        Some(self.stopovers[index as usize])
    }

    /// The first hop of a packet that has just been injected at `at`, not for a node there.
    fn depart<V: RouterView>(&self, view: &mut V, at: RouterId, route: &mut PacketRoute) -> Hop {
        match self.decision {
            Decision::Always => {
                if let Some(intermediate) = self.draw(view, at.0, route) {
                    route.intermediate = intermediate;
                } else {
                    self.turn(route);
                }
                self.step(view, at, route)
            }
            Decision::ByQueues(options) => {
                let minimal = self.best_of(view, options.candidates, |this, view| {
                    Some(this.candidate(view, at.0, NONE, route, &options))
                });
                let detour = self.best_of(view, options.candidates, |this, view| {
                    let by = this.draw(view, at.0, route)?;
                    Some(this.candidate(view, at.0, by, route, &options))
                });
                let chosen = match (minimal, detour) {
                    (Some(minimal), Some(detour))
                        if !self.takes_minimal(view, at, route, &options, (&minimal, &detour)) =>
                    {
                        detour
                    }
                    (Some(minimal), _) => minimal,
                    (None, _) => return self.step(view, at, route),
                };
                route.intermediate = chosen.intermediate;
                if chosen.intermediate == NONE {
                    self.turn(route);
                }
                self.on_channel(chosen.hop, route)
            }
        }
    }

    /// The candidate of least cost among those drawn.
    fn best_of<V: RouterView>(
        &self,
        view: &mut V,
        count: u32,
        draw: impl Fn(&Self, &mut V) -> Option<Candidate>,
    ) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        for _ in 0..count {
            if let Some(drawn) = draw(self, view)
                && best.is_none_or(|best| drawn.cost < best.cost)
            {
                best = Some(drawn);
            }
        }
        best
    }

    /// The route by way of `intermediate`, or the minimal one.
    fn candidate<V: RouterView>(
        &self,
        view: &mut V,
        at: u32,
        intermediate: u32,
        route: &PacketRoute,
        options: &AdaptiveOptions,
    ) -> Candidate {
        let to = route.destination_router;
        let (first, is_minimal) = match intermediate {
            NONE => (to, true),
            by => (by, false),
        };
        let hop = self.base.choose(view, RouterId(at), first, route);
        let mut occupancy = view.occupancy_bytes(hop.port);
        if GLOBAL {
            let salt = view.random_below(SALTS);
            let mut walk = Walk {
                at: self.behind(at, hop.port),
                step: 0,
                salt,
            };
            occupancy += self.queues_to(view, &mut walk, first);
            occupancy += self.queues_to(view, &mut walk, to);
        }
        let weight = match options.weighting {
            Weighting::Fixed { minimal, .. } if is_minimal => minimal,
            Weighting::Fixed { non_minimal, .. } => non_minimal,
            // Every queue on the path is in the sum.
            Weighting::Hops if GLOBAL => 1,
            Weighting::Hops if is_minimal => self.distances.of(&self.base, at, to),
            Weighting::Hops => {
                self.distances.of(&self.base, at, first) + self.distances.of(&self.base, first, to)
            }
        };
        let drawn = Candidate {
            intermediate,
            hop,
            weight,
            cost: occupancy.saturating_mul(u64::from(weight)),
        };
        if GLOBAL || options.queue != Queue::Channel {
            return drawn;
        }
        let cost = self.channel_cost(view, route, &drawn);
        Candidate { cost, ..drawn }
    }

    /// Whether the minimal one of two candidates is taken.
    fn takes_minimal<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        route: &PacketRoute,
        options: &AdaptiveOptions,
        (minimal, detour): (&Candidate, &Candidate),
    ) -> bool {
        let (mut cost, mut other_cost) = (minimal.cost, detour.cost);
        let may_begin = |port: u16| {
            let minimal = self.base.listed(at, route.destination_router);
            minimal.iter().any(|hop| hop.port == port)
        };
        if !GLOBAL && options.queue == Queue::Hybrid && may_begin(detour.hop.port) {
            cost = self.channel_cost(view, route, minimal);
            other_cost = self.channel_cost(view, route, detour);
        }
        options.prefers(cost, other_cost)
    }

    /// Weighted occupancy of the virtual channel of a candidate's first hop.
    fn channel_cost<V: RouterView>(
        &self,
        view: &mut V,
        route: &PacketRoute,
        candidate: &Candidate,
    ) -> u64 {
        let mut route = PacketRoute {
            intermediate: candidate.intermediate,
            ..*route
        };
        if candidate.intermediate == NONE {
            self.turn(&mut route);
        }
        let hop = self.on_channel(candidate.hop, &mut route);
        let queued = view.channel_occupancy_bytes(hop);
        queued.saturating_mul(u64::from(candidate.weight))
    }

    /// The router behind a port of router `at`.
    fn behind(&self, at: u32, port: u16) -> u32 {
        self.peer_router[self.first_port[at as usize] as usize + usize::from(port)]
    }

    /// The queues on a path that stands for those a packet may take to router `to`, and goes
    /// there.
    fn queues_to<V: RouterView>(&self, view: &V, walk: &mut Walk, to: u32) -> u64 {
        let mut sum = 0;
        while walk.at != to {
            let hops = self.base.listed(RouterId(walk.at), to);
            let hop = hops[walk.index(hops.len())];
            let port = self.first_port[walk.at as usize] + u32::from(hop.port);
            sum += view.remote_occupancy_bytes(PortId(port));
            walk.at = self.behind(walk.at, hop.port);
        }
        sum
    }

    /// Heads for the destination from now on.
    fn turn(&self, route: &mut PacketRoute) {
        route.intermediate = NONE;
        if !self.base.ascending {
            route.phase = 1;
        }
    }

    /// Where the packet is heading.
    fn target(route: &PacketRoute) -> u32 {
        match route.intermediate {
            NONE => route.destination_router,
            by => by,
        }
    }

    /// The hop with its channel of those used here; counts it where that is the channel.
    #[inline]
    fn on_channel(&self, hop: Hop, route: &mut PacketRoute) -> Hop {
        let vc = match self.base.ascending {
            true => {
                let hops = route.phase;
                route.phase = hops.saturating_add(1);
                hops
            }
            false => hop.vc + route.phase * self.base.channels,
        };
        Hop {
            vc: vc.min(self.channels - 1),
            ..hop
        }
    }

    #[inline]
    fn step<V: RouterView>(&self, view: &mut V, at: RouterId, route: &mut PacketRoute) -> Hop {
        let hop = self.base.choose(view, at, Self::target(route), route);
        self.on_channel(hop, route)
    }

    fn possible_steps(&self, at: RouterId, route: &PacketRoute, out: &mut Vec<(Hop, PacketRoute)>) {
        for &hop in self.base.listed(at, Self::target(route)) {
            let mut route = *route;
            let hop = self.on_channel(hop, &mut route);
            route.vc = hop.vc;
            out.push((hop, route));
        }
    }
}

impl Detoured<false> {
    /// Valiant routing over the tables of `base`, which must have all channels that it needs;
    /// with `virtual_channels`, channel `i` is merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If an option makes no sense here, or the routes need more virtual channels than can be
    /// numbered.
    pub fn valiant(
        topology: &Topology,
        base: Tabled,
        via: Via,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let decision = Decision::Always;
        Self::new("valiant", topology, base, via, decision, virtual_channels)
    }
}

/// A path that is followed through the tables; which of several hops it takes is derived from
/// one random number, as a decision has few of them.
struct Walk {
    at: u32,
    step: u32,
    salt: u32,
}

impl Walk {
    fn index(&mut self, count: usize) -> usize {
        self.step += 1;
        let mixed = (self.salt.wrapping_add(self.step << 16)).wrapping_mul(0x9E37_79B1);
        ((u64::from(mixed) * count as u64) >> 32) as usize
    }
}

const _: () = assert!(2 * DRAWS * MOST_CANDIDATES <= 64);

impl<const GLOBAL: bool> Routing for Detoured<GLOBAL> {
    const NEEDS_SNAPSHOT: bool = GLOBAL;

    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        self.decision != Decision::Always || self.base.choice == Choice::ByLoad
    }

    #[inline(always)]
    fn next_hop_reads_occupancy(&self, injected: bool, _route: &PacketRoute) -> bool {
        injected && self.decision != Decision::Always || self.base.choice == Choice::ByLoad
    }

    #[inline(always)]
    fn reads_channels(&self) -> bool {
        matches!(self.decision, Decision::ByQueues(options) if !GLOBAL && options.queue != Queue::Port)
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if route.intermediate == at.0 {
            self.turn(route);
        }
        if at.0 == route.destination_router && route.intermediate == NONE {
            return eject(route);
        }
        if injected {
            return self.depart(view, at, route);
        }
        self.step(view, at, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        hops_of_all_parts(self, at, injected, route, out);
    }

    fn possible_hops_in_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        let mut route = *route;
        if route.intermediate == at.0 {
            self.turn(&mut route);
        }
        if at.0 == route.destination_router && route.intermediate == NONE {
            return own.push(possible_eject(&route));
        }
        if !injected {
            return self.possible_steps(at, &route, own);
        }
        let ends = [at.0, route.destination_router];
        let others = self
            .stopovers
            .iter()
            .filter(|router| !ends.contains(router));
        let before = as_if.len();
        as_if.extend(others.map(|&intermediate| PacketRoute {
            intermediate,
            ..route
        }));
        let may_be_direct = self.decision != Decision::Always || self.via == Via::Node;
        if may_be_direct || as_if.len() == before {
            self.turn(&mut route);
            self.possible_steps(at, &route, own);
        }
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        match route.intermediate {
            NONE => RelevantDestination::Router,
            by if injected || by == at.0 => RelevantDestination::Router,
            _ => RelevantDestination::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
