//! Routes of a network whose links fail and work again during a run.

use odonata_units::{GroupId, NodeId, Picoseconds, PortId, RouterId};

use super::nested::{NextHop, NextHopReads, PossibleHops};
use super::{
    AnyRouting, FlowLabels, Hop, PacketRoute, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingTask,
};

/// Most virtual channels of a link.
const MOST_CHANNELS: u32 = 16;

/// One algorithm for each part of a run between two moments at which links fail or work again, made
/// for what works in that part. A packet keeps to the algorithm of the part in which it enters its
/// first router, so that a link that fails is drained: what is on its way still takes it.
///
/// Every part has virtual channels of its own, as in the Double Scheme (Pinkston, Pang and Duato,
/// IEEE TPDS 14(8), 2003), so that packets of two parts never wait for each other, and none wait in a
/// circle if those of no part by themselves do.
#[derive(Clone, Debug)]
pub struct Layered {
    /// In the order of time; never empty.
    parts: Vec<Layer>,
    /// Routers of groups that lose a router in some part: whether a packet enters a part for one of
    /// them depends on more than the group. Shape: routers.
    beside_lost: Vec<bool>,
    channels: u8,
    reads_channels: bool,
    labels: Option<FlowLabels>,
}

#[derive(Clone, Debug)]
struct Layer {
    /// When the part of the run begins, in ps.
    from: u64,
    routing: Box<AnyRouting>,
    /// Its first virtual channel.
    first: u8,
    /// Routers that have no routes in it. Shape: routers.
    lost: Vec<bool>,
}

/// What decides whether an algorithm can be one of several, how many channels it has, and what it reads.
struct Needs;

impl RoutingTask for Needs {
    type Output = Result<(u8, bool, Option<FlowLabels>), RoutingError>;

    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        match R::NEEDS_SNAPSHOT || R::LEARNS || R::RESERVES {
            true => Err(RoutingError::NotLayered),
            false => Ok((
                routing.virtual_channels(),
                routing.reads_channels(),
                routing.flow_labels(),
            )),
        }
    }
}

impl Layered {
    /// The routes of a run: from when on which algorithm, in the order of time from the start of the
    /// run, and the routers from and to which it has no routes (shape: routers), for which nobody asks;
    /// `group_of_router` as in the network.
    ///
    /// # Errors
    /// If an algorithm keeps or asks what routes of two parts would have in common, or if the parts
    /// need too many virtual channels together.
    pub fn new(
        parts: Vec<(Picoseconds, AnyRouting, Vec<bool>)>,
        group_of_router: &[GroupId],
    ) -> Result<Self, RoutingError> {
        let mut layers = Vec::with_capacity(parts.len());
        let mut lose_some = vec![
            false;
            group_of_router
                .iter()
                .map(|g| g.index() + 1)
                .max()
                .unwrap_or(0)
        ];
        for (router, &group) in group_of_router.iter().enumerate() {
            lose_some[group.index()] |= parts.iter().any(|(_, _, lost)| lost[router]);
        }
        let (mut channels, mut reads_channels, mut labels) = (0u32, false, None);
        for (from, routing, lost) in parts {
            let (own, reads, of_part) = routing.dispatch(Needs)?;
            layers.push(Layer {
                from: from.0,
                routing: Box::new(routing),
                first: channels.min(MOST_CHANNELS) as u8,
                lost,
            });
            channels += u32::from(own);
            reads_channels |= reads;
            labels = of_part;
        }
        if layers.is_empty() || channels > MOST_CHANNELS {
            return Err(RoutingError::TooManyLayers {
                parts: layers.len(),
                needed: channels,
                limit: MOST_CHANNELS,
            });
        }
        Ok(Self {
            parts: layers,
            beside_lost: group_of_router
                .iter()
                .map(|group| lose_some[group.index()])
                .collect(),
            channels: channels as u8,
            reads_channels,
            labels,
        })
    }

    /// The part whose channel a packet has come by.
    fn of_channel(&self, vc: u8) -> &Layer {
        &self.parts[self.parts.partition_point(|part| part.first <= vc) - 1]
    }

    /// The part of a packet that enters a router at a time (ps).
    fn of_packet(&self, injected: bool, route: &PacketRoute, now_ps: u64) -> &Layer {
        match injected {
            true => &self.parts[self.parts.partition_point(|part| part.from <= now_ps) - 1],
            false => self.of_channel(route.vc),
        }
    }

    fn any_part(&self, has: fn(&AnyRouting) -> bool) -> bool {
        self.parts.iter().any(|part| has(&part.routing))
    }

    /// The parts whose routes a packet may take, each with the packet as its algorithm sees it.
    fn possible_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> impl Iterator<Item = (&Layer, PacketRoute)> {
        let parts = match injected {
            true => &self.parts[..],
            false => std::slice::from_ref(self.of_channel(route.vc)),
        };
        let route = *route;
        let to = RouterId(route.destination_router);
        parts
            .iter()
            .filter(move |part| !injected || part.has_routes(at, to))
            .map(move |part| (part, part.inward(injected, route)))
    }
}

impl Layer {
    /// Whether both routers have routes.
    fn has_routes(&self, from: RouterId, to: RouterId) -> bool {
        !self.lost[from.index()] && !self.lost[to.index()]
    }

    /// A packet as the algorithm sees it.
    fn inward(&self, injected: bool, route: PacketRoute) -> PacketRoute {
        match injected {
            true => route,
            false => PacketRoute {
                vc: route.vc - self.first,
                ..route
            },
        }
    }

    /// A hop of the algorithm on the channel of its part; towards a node there is one for all.
    fn outward(&self, at: RouterId, hop: Hop, route: &PacketRoute) -> Hop {
        let to_node = at.0 == route.destination_router && hop.port == route.destination_port;
        match to_node {
            true => hop,
            false => Hop {
                vc: hop.vc + self.first,
                ..hop
            },
        }
    }
}

/// What a router sees, with the virtual channels of one part. Not generic, so that all algorithms are
/// compiled for it once.
struct LayerView<'a> {
    view: &'a mut dyn RouterView,
    first: u8,
}

impl LayerView<'_> {
    fn outward(&self, hop: Hop) -> Hop {
        Hop {
            vc: hop.vc + self.first,
            ..hop
        }
    }
}

impl RouterView for LayerView<'_> {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        self.view.occupancy_bytes(port)
    }

    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        let hop = self.outward(hop);
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
        self.view.source_node()
    }
}

impl Layered {
    fn list(
        &self,
        (at, injected): (RouterId, bool),
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
        mut as_if: Option<&mut Vec<PacketRoute>>,
    ) {
        for (part, route) in self.possible_parts(at, injected, route) {
            let (first_hop, first_packet) = (out.len(), as_if.as_ref().map_or(0, |all| all.len()));
            part.routing.dispatch(PossibleHops {
                at,
                injected,
                route,
                own: out,
                as_if: as_if.as_deref_mut(),
            });
            for (hop, route) in &mut out[first_hop..] {
                *hop = part.outward(at, *hop, route);
                route.vc = hop.vc;
            }
            for packet in as_if.iter_mut().flat_map(|all| &mut all[first_packet..]) {
                packet.vc += part.first;
            }
        }
    }
}

impl Routing for Layered {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        self.any_part(AnyRouting::reads_occupancy)
    }

    fn next_hop_reads_occupancy(&self, injected: bool, route: &PacketRoute) -> bool {
        // Which part it is of, the time tells.
        injected || {
            let part = self.of_channel(route.vc);
            part.routing.dispatch(NextHopReads {
                injected: false,
                route: part.inward(false, *route),
            })
        }
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
        let part = self.of_packet(injected, route, view.now_ps());
        *route = part.inward(injected, *route);
        let hop = part.routing.dispatch(NextHop {
            view: LayerView {
                view,
                first: part.first,
            },
            at,
            injected,
            route,
        });
        part.outward(at, hop, route)
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

    fn connects(&self, from: RouterId, to: RouterId) -> bool {
        struct Connects(RouterId, RouterId);
        impl RoutingTask for Connects {
            type Output = bool;
            fn run<R: Routing>(self, routing: &R) -> bool {
                routing.connects(self.0, self.1)
            }
        }
        let mut parts = self.parts.iter().filter(|part| part.has_routes(from, to));
        parts.all(|part| part.routing.dispatch(Connects(from, to)))
    }

    fn lacks_hop(&self, at: RouterId, injected: bool, route: &PacketRoute, now_ps: u64) -> bool {
        struct Lacks(RouterId, bool, PacketRoute, u64);
        impl RoutingTask for Lacks {
            type Output = bool;
            fn run<R: Routing>(self, routing: &R) -> bool {
                routing.lacks_hop(self.0, self.1, &self.2, self.3)
            }
        }
        let part = self.of_packet(injected, route, now_ps);
        let route = part.inward(injected, *route);
        (part.routing).dispatch(Lacks(at, injected, route, now_ps))
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

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        struct Relevant(RouterId, bool, PacketRoute);
        impl RoutingTask for Relevant {
            type Output = RelevantDestination;
            fn run<R: Routing>(self, routing: &R) -> RelevantDestination {
                routing.relevant_destination(self.0, self.1, &self.2)
            }
        }
        if injected && self.beside_lost[route.destination_router as usize] {
            return RelevantDestination::Router;
        }
        let parts = self.possible_parts(at, injected, route);
        let relevant =
            parts.map(|(part, route)| part.routing.dispatch(Relevant(at, injected, route)));
        relevant.max().unwrap_or(RelevantDestination::Router)
    }
}

#[cfg(test)]
mod tests;
