//! Routes of a network whose nodes have an inside: which interface a packet takes, and its way to it
//! and from it.

use std::sync::Arc;

use odonata_units::{NodeId, PortId, RouterId};

use super::ecmp::label_of_ranks;
use super::nested::{NextHop, NextHopReads, PossibleHops};
use super::{
    AnyRouting, FlowLabels, Hop, NONE, PacketRoute, RouterView, Routing, RoutingError, RoutingTask,
};
use crate::Topology;
use crate::topology::node_inside::{InterfaceChoice, LeftInPlanes, NodeInside, Place};

/// Bits of [`PacketRoute::intermediate`] that the algorithm of the planes has for its own, or that are
/// the label of the packet's flow.
const OWN_BITS: u32 = 26;
const OWN: u32 = (1 << OWN_BITS) - 1;
/// Set from the first router of a plane on.
const IN_PLANE: u32 = 1 << OWN_BITS;
/// Position of the number of the interface that the packet leaves its node by.
const INTERFACE: u32 = OWN_BITS + 1;

/// An algorithm of one plane, with the ways to interfaces and from them. The node in which a packet
/// begins chooses its interface, [`InterfaceChoice`]; packets between ranks of one node stay inside.
///
/// A packet goes inside the node in which it begins on virtual channel 0, and inside the one where it
/// ends on channel 1; where ranks pass messages on there are several of each, one for each link of a
/// way. Nodes between are never passed through. Along every route come first those of the node in which
/// it begins, then the plane's, then those where it ends, so that no circle closes that the plane's
/// algorithm has not.
///
/// Where interfaces do not work, [`InterfaceChoice::Nearest`] and [`InterfaceChoice::Striped`] take the
/// next ones by number that do; under the others nodes that lack one are out of service.
#[derive(Clone, Debug)]
pub struct Interfaced {
    inside: Arc<NodeInside>,
    /// The algorithms on different planes.
    routings: Vec<AnyRouting>,
    /// Which of them is that of each plane; empty where all planes have the first.
    of_plane: Vec<u8>,
    /// A bit for each interface of a node that works. Shape: nodes, or empty where all do.
    working: Vec<u16>,
    /// Router and port, relative to its first, of each node of a plane.
    place_of_port: Vec<(RouterId, u16)>,
    channels: u8,
    /// First channel inside the node where a packet ends.
    arriving: u8,
    /// Last channel inside nodes.
    last: u8,
    reads_occupancy: bool,
    reads_channels: bool,
    /// Whether each pair of ranks has flows of its own, each with a path.
    by_flow: bool,
    labels: Option<FlowLabels>,
}

/// What an algorithm of the planes has and reads.
struct Read {
    channels: u8,
    occupancy: bool,
    of_channels: bool,
    flow: bool,
    labels: Option<FlowLabels>,
}

/// What decides whether an algorithm can be that of the planes.
struct Needs;

impl RoutingTask for Needs {
    type Output = Option<Read>;

    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        let alone = R::NEEDS_SNAPSHOT || R::LEARNS || R::RESERVES;
        (!alone).then(|| Read {
            channels: routing.virtual_channels(),
            occupancy: routing.reads_occupancy(),
            of_channels: routing.reads_channels(),
            flow: routing.is_by_flow(),
            labels: routing.flow_labels(),
        })
    }
}

impl Interfaced {
    /// The routes on a network all of which works, whose planes have the routes of `routing`; with
    /// `virtual_channels`, channel `i` inside nodes is merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the algorithm looks beyond the router where it decides.
    pub fn new(
        inside: Arc<NodeInside>,
        routing: AnyRouting,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        Self::over(inside, vec![routing], virtual_channels)
    }

    /// The same where a part of the network has failed, with routes by `build` on what is left of each
    /// plane.
    ///
    /// # Errors
    /// As [`Interfaced::new`], and those of `build`.
    pub fn damaged(
        inside: &Arc<NodeInside>,
        left: LeftInPlanes,
        build: impl Fn(&Topology) -> Result<AnyRouting, RoutingError>,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let LeftInPlanes { working, planes } = left;
        let mut built: Vec<usize> = Vec::new();
        let mut routings = Vec::new();
        let mut of_plane = Vec::new();
        for (number, plane) in planes.iter().enumerate() {
            let is_dark = (0..plane.nodes()).all(|node| plane.is_lost(NodeId::from_index(node)));
            let known = built.iter().position(|&other| planes[other] == *plane);
            // Nobody asks for routes on a plane without interfaces.
            of_plane.push(match known {
                Some(known) => known as u8,
                None if is_dark => 0,
                None => {
                    built.push(number);
                    routings.push(build(plane)?);
                    routings.len() as u8 - 1
                }
            });
        }
        let routing = Self::over(Arc::clone(inside), routings, virtual_channels)?;
        Ok(Self {
            of_plane,
            working,
            ..routing
        })
    }

    fn over(
        inside: Arc<NodeInside>,
        routings: Vec<AnyRouting>,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let mut all = Vec::with_capacity(routings.len());
        for routing in &routings {
            all.push(routing.dispatch(Needs).ok_or(RoutingError::NotInterfaced)?);
        }
        let plane = &inside.plane;
        if plane.routers() as u64 >= u64::from(OWN) {
            return Err(RoutingError::TooLarge {
                what: "routers of a plane",
                found: plane.routers() as u64,
                limit: u64::from(OWN) - 1,
                algorithm: "any",
                advice: "give nodes no inside",
            });
        }
        let place = |&port: &PortId| {
            let router = plane.router_of_port(port);
            let first = plane.first_port[router.index()];
            (router, (port.0 - first) as u16)
        };
        let each = inside.graph.channels();
        let most = virtual_channels.unwrap_or(2 * each).clamp(1, 2 * each);
        let (arriving, last) = match inside.network {
            Some(_) => (each.min(most - 1), most - 1),
            None => (0, 0),
        };
        Ok(Self {
            place_of_port: plane.port_of_node.iter().map(place).collect(),
            channels: all.iter().map(|one| one.channels).fold(last + 1, u8::max),
            arriving,
            last,
            reads_occupancy: all.iter().any(|one| one.occupancy),
            reads_channels: all.iter().any(|one| one.of_channels),
            by_flow: all.iter().any(|one| one.flow),
            labels: all.first().and_then(|one| one.labels),
            routings,
            of_plane: Vec::new(),
            working: Vec::new(),
            inside,
        })
    }

    /// The interface by which a packet leaves its node.
    #[inline]
    fn departure(&self, route: &PacketRoute) -> u32 {
        (route.intermediate >> INTERFACE).min(self.inside.interfaces - 1)
    }

    /// Node and rank of the router that a packet is for.
    #[inline]
    fn destination(&self, route: &PacketRoute) -> (u32, u32) {
        match self.inside.place(RouterId(route.destination_router)) {
            Place::Rank { node, rank } => (node, rank),
            // Packets are for routers with nodes.
            Place::Switch { node, .. } => (node, 0),
            Place::Plane { .. } => (NONE, 0),
        }
    }

    /// The algorithm of a plane.
    #[inline]
    fn routing(&self, plane: u32) -> &AnyRouting {
        match self.of_plane.get(plane as usize) {
            None => &self.routings[0],
            Some(&number) => &self.routings[usize::from(number)],
        }
    }

    /// The interface by which a packet arrives at a rank of a node that has left by interface `sent`.
    #[inline]
    fn arrival(&self, sent: u32, node: u32, rank: u32) -> u32 {
        let chosen = match self.inside.choice {
            InterfaceChoice::Nearest => {
                let (first, count) = self.inside.nearest(rank);
                first + sent % count
            }
            _ => sent,
        };
        match self.working.get(node as usize) {
            None => chosen,
            Some(working) => {
                let plane = self.inside.on_plane(sent % self.inside.planes);
                next_from(working & plane, chosen)
            }
        }
    }

    /// The interfaces by which a packet of a rank of `node` may leave for rank `to` of `to_node`: a bit
    /// for each.
    #[inline]
    fn departures(&self, (node, rank): (u32, u32), (to_node, to): (u32, u32)) -> u16 {
        let (first, count) = match self.inside.choice {
            InterfaceChoice::Rail | InterfaceChoice::Nearest => self.inside.nearest(rank),
            InterfaceChoice::Pxn => self.inside.nearest(to),
            InterfaceChoice::Striped => (0, self.inside.interfaces),
        };
        let chosen = u16::MAX >> (16 - count) << first;
        if self.working.is_empty() {
            return chosen;
        }
        let (own, theirs) = (self.working[node as usize], self.working[to_node as usize]);
        let joined = |&interface: &u32| {
            let plane = self.inside.on_plane(interface % self.inside.planes);
            own & 1 << interface != 0 && theirs & plane != 0
        };
        let usable = (0..self.inside.interfaces).filter(joined);
        let usable = usable.fold(0u16, |all, interface| all | 1 << interface);
        let same = match self.inside.choice {
            // Rather the same interface at both ends than another one there.
            InterfaceChoice::Striped => chosen & usable & theirs,
            _ => chosen & usable,
        };
        match same {
            0 => 1 << next_from(usable, first),
            same => same,
        }
    }

    /// The hop inside a node at one of its routers towards another, `to`, on the channels from `first` on.
    #[inline]
    fn hop_inside(&self, router: u32, to: u32, first: u8) -> Hop {
        let (port, channel) = self.inside.port_inside(router, to);
        let vc = (first + channel).min(self.last);
        Hop { port, vc }
    }

    /// The hop at a router of a node, with the interface that the packet has chosen in `route`.
    #[inline]
    fn hop_in_node(&self, node: u32, router: u32, route: &PacketRoute) -> Hop {
        let (to_node, to) = self.destination(route);
        if node == to_node {
            return match router == to {
                true => Hop {
                    port: route.destination_port,
                    vc: 0,
                },
                false => self.hop_inside(router, to, self.arriving),
            };
        }
        let interface = self.departure(route);
        let at = self.inside.router_at(interface);
        match router == at {
            true => Hop {
                port: self.inside.port_to_interface(interface),
                vc: 0,
            },
            false => self.hop_inside(router, at, 0),
        }
    }

    /// A packet as the algorithm of the plane sees it.
    #[inline]
    fn inward(&self, route: &PacketRoute) -> PacketRoute {
        let (node, rank) = self.destination(route);
        let interface = self.arrival(self.departure(route), node, rank);
        let port = self.inside.port_of(node, interface);
        let (router, port) = self.place_of_port[port.index()];
        let own = route.intermediate & OWN;
        PacketRoute {
            destination_router: router.0,
            destination_port: port,
            intermediate: if own == OWN { NONE } else { own },
            ..*route
        }
    }

    /// What a packet carries on from a router of a plane, where `inner` is what the algorithm sees.
    #[inline]
    fn outward(&self, before: &PacketRoute, inner: &PacketRoute) -> PacketRoute {
        let interface = self.departure(before);
        // The label stays that of the ranks' flow.
        let own = match self.by_flow {
            true => before.intermediate,
            false => inner.intermediate,
        };
        PacketRoute {
            destination_router: before.destination_router,
            destination_port: before.destination_port,
            intermediate: interface << INTERFACE | IN_PLANE | own & OWN,
            ..*inner
        }
    }
}

/// What a router of a plane sees. Not generic, so that all algorithms are compiled for it once.
struct PlaneView<'a> {
    view: &'a mut dyn RouterView,
    /// The node of the plane that the packet comes from.
    source: NodeId,
}

impl RouterView for PlaneView<'_> {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        self.view.occupancy_bytes(port)
    }

    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        self.view.channel_occupancy_bytes(hop)
    }

    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        self.view.remote_occupancy_bytes(port)
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        self.view.random_below(bound)
    }

    fn now_ps(&self) -> u64 {
        self.view.now_ps()
    }

    fn source_node(&self) -> NodeId {
        self.source
    }
}

impl Interfaced {
    fn list(
        &self,
        (at, injected): (RouterId, bool),
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
        mut as_if: Option<&mut Vec<PacketRoute>>,
    ) {
        let (node, rank) = match self.inside.place(at) {
            Place::Rank { node, rank } => (node, rank),
            Place::Switch { node, switch } => (node, self.inside.ranks + switch),
            Place::Plane { plane, router } => {
                let (first_hop, first_packet) =
                    (out.len(), as_if.as_ref().map_or(0, |all| all.len()));
                self.routing(plane).dispatch(PossibleHops {
                    at: router,
                    injected: route.intermediate & IN_PLANE == 0,
                    route: self.inward(route),
                    own: out,
                    as_if: as_if.as_deref_mut(),
                });
                for (_, inner) in &mut out[first_hop..] {
                    *inner = self.outward(route, inner);
                }
                for packet in as_if.iter_mut().flat_map(|all| &mut all[first_packet..]) {
                    *packet = self.outward(route, packet);
                }
                return;
            }
        };
        let mut push = |route: PacketRoute| {
            let hop = self.hop_in_node(node, rank, &route);
            out.push((
                hop,
                PacketRoute {
                    vc: hop.vc,
                    ..route
                },
            ));
        };
        let (to_node, to) = self.destination(route);
        match injected && node != to_node {
            true => {
                let departures = self.departures((node, rank), (to_node, to));
                for interface in bits(departures) {
                    push(leaving_by(interface, route));
                }
            }
            false => push(*route),
        }
    }
}

/// The numbers of the bits that are set.
fn bits(all: u16) -> impl Iterator<Item = u32> {
    (0..u16::BITS).filter(move |bit| all & 1 << bit != 0)
}

/// The number of the first bit that is set from `first` on, or else of the first of all.
#[inline]
fn next_from(all: u16, first: u32) -> u32 {
    match all >> first << first {
        0 => all.trailing_zeros(),
        from_first => from_first.trailing_zeros(),
    }
}

/// A packet that has just been injected, for an interface.
fn leaving_by(interface: u32, route: &PacketRoute) -> PacketRoute {
    PacketRoute {
        intermediate: interface << INTERFACE | route.intermediate & OWN,
        ..*route
    }
}

impl Routing for Interfaced {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        self.reads_occupancy
    }

    fn next_hop_reads_occupancy(&self, injected: bool, route: &PacketRoute) -> bool {
        // A packet's first router is that of its rank. Packets inside their last node are taken for
        // ones in the plane; those for another rank of their own node have chosen no interface.
        if !self.reads_occupancy || injected || route.intermediate == NONE {
            return false;
        }
        let plane = self.departure(route) % self.inside.planes;
        self.routing(plane).dispatch(NextHopReads {
            injected: route.intermediate & IN_PLANE == 0,
            route: self.inward(route),
        })
    }

    fn reads_channels(&self) -> bool {
        self.reads_channels
    }

    fn flow_labels(&self) -> Option<FlowLabels> {
        self.labels
    }

    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let (node, rank) = match self.inside.place(at) {
            Place::Rank { node, rank } => (node, rank),
            Place::Switch { node, switch } => (node, self.inside.ranks + switch),
            Place::Plane { plane, router } => {
                let mut inner = self.inward(route);
                let sender = view.source_node().0;
                let (from, rank) = (sender / self.inside.ranks, sender % self.inside.ranks);
                if self.by_flow {
                    let (_, to) = self.destination(route);
                    let label = inner.intermediate;
                    inner.intermediate = label_of_ranks(label, self.inside.ranks, rank, to);
                }
                let source = self.inside.port_of(from, self.departure(route));
                let hop = self.routing(plane).dispatch(NextHop {
                    view: PlaneView { view, source },
                    at: router,
                    injected: route.intermediate & IN_PLANE == 0,
                    route: &mut inner,
                });
                *route = self.outward(route, &inner);
                return hop;
            }
        };
        if injected {
            let (to_node, to) = self.destination(route);
            if node != to_node {
                let departures = self.departures((node, rank), (to_node, to));
                let count = departures.count_ones();
                let number = match count {
                    0 | 1 => 0,
                    count => view.random_below(count),
                };
                // Of the bits that are set, those before it go.
                let left = (0..number).fold(departures, |left, _| left & (left - 1));
                *route = leaving_by(left.trailing_zeros(), route);
            }
        }
        self.hop_in_node(node, rank, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        self.list((at, injected), route, out, None);
    }

    fn possible_hops_in_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        self.list((at, injected), route, own, Some(as_if));
    }
}

impl AnyRouting {
    /// An algorithm of the planes as that of the whole network, if its nodes have an inside; else
    /// the algorithm itself.
    ///
    /// # Errors
    /// As for [`Interfaced::new`], and if a part of the network has failed, which the algorithm does not
    /// know.
    pub fn between_interfaces(
        self,
        topology: &Topology,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        match &topology.inside {
            None => Ok(self),
            Some(inside) if inside.left_in(topology).is_some() => Err(RoutingError::WholePlanes),
            Some(inside) => {
                Interfaced::new(Arc::clone(inside), self, virtual_channels).map(Self::Interfaced)
            }
        }
    }
}

#[cfg(test)]
mod tests;
