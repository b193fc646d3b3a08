//! What a routing algorithm decides and what it may see: the contract between algorithms, the packet
//! engine and `verify`.

use odonata_units::{NodeId, PortId, RouterId};

use super::ecmp::FlowLabels;

/// No waypoint or intermediate chosen.
pub const NONE: u32 = u32::MAX;

/// The routing state that a packet carries. Everything that an algorithm wants
/// to remember from one router to the next is in here.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[repr(C)]
pub struct PacketRoute {
    /// Router of the destination node.
    pub destination_router: u32,
    /// Where the packet is heading now; its meaning is the algorithm's (on
    /// grouped networks: the global number of the global-link port to leave
    /// the group through), or [`NONE`].
    pub waypoint: u32,
    /// Intermediate router or group of a non-minimal route; or label of the flow, see
    /// [`Routing::flow_labels`]; or [`NONE`].
    pub intermediate: u32,
    /// Port of the destination router, relative to its first port, to which
    /// the destination node is attached.
    pub destination_port: u16,
    /// Stage of the route; its meaning is the algorithm's. Zero at injection.
    pub phase: u8,
    /// Virtual channel on which the packet arrived here. Zero at injection.
    pub vc: u8,
}

impl PacketRoute {
    /// The state of a packet that has just been injected for the node on port
    /// `destination_port` (relative) of `destination_router`.
    pub const fn injected(destination_router: RouterId, destination_port: u16) -> Self {
        Self {
            destination_router: destination_router.0,
            waypoint: NONE,
            intermediate: NONE,
            destination_port,
            phase: 0,
            vc: 0,
        }
    }

    /// The same of a packet whose flow has a label.
    pub const fn labelled(self, label: u32) -> Self {
        Self {
            intermediate: label,
            ..self
        }
    }
}

/// A routing decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hop {
    /// Output port, relative to the router's first port.
    pub port: u16,
    /// Virtual channel of the next input buffer (0 towards a node).
    pub vc: u8,
}

/// What a routing algorithm may see where it runs.
pub trait RouterView {
    /// Bytes that wait in this router for output `port` (relative number), plus
    /// bytes sent through it that the next router has not yet credited: the
    /// queue occupancy that UGAL-L compares.
    fn occupancy_bytes(&mut self, port: u16) -> u64;

    /// What of that occupancy is on one virtual channel: bytes that wait for `hop`, plus bytes
    /// sent by it that the next router has not yet credited. Only for algorithms that say
    /// [`Routing::reads_channels`]; where there are no channels, that of the port.
    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        self.occupancy_bytes(hop.port)
    }

    /// The same as of the port for any port of the network, as of the last refresh of the
    /// global snapshot. Only for algorithms that say [`Routing::NEEDS_SNAPSHOT`].
    fn remote_occupancy_bytes(&self, port: PortId) -> u64;

    /// Whether the buffer behind `hop` has room for the packet, beside those that have been
    /// promised room there before. If the algorithm then decides for this hop, it is promised to
    /// the packet. Only for algorithms that say [`Routing::RESERVES`]; true where there are no
    /// buffers.
    fn has_room(&mut self, hop: Hop) -> bool {
        let _ = hop;
        true
    }

    /// A random number in `0..bound`, from the packet's own stream; at most 64
    /// of them per decision.
    fn random_below(&mut self, bound: u32) -> u32;

    /// The time of the decision, in ps.
    fn now_ps(&self) -> u64 {
        0
    }

    /// The node that sent the packet.
    fn source_node(&self) -> NodeId {
        NodeId(0)
    }

    /// What the algorithm keeps for this router. Only for algorithms that say
    /// [`Routing::LEARNS`].
    fn q_table(&self) -> &[f32] {
        &[]
    }

    /// Sends a number back to the router from which the packet has come here,
    /// which it reaches one latency of the link later, see [`Routing::learn`]; to
    /// nobody if the packet has just been injected. The lowest 29 bits count, and
    /// of several numbers the last. Only for algorithms that say
    /// [`Routing::LEARNS`].
    fn send_feedback(&mut self, feedback: u32) {
        let _ = feedback;
    }
}

/// A routing algorithm together with its assignment of virtual channels.
pub trait Routing: Send + Sync {
    /// Whether [`RouterView::remote_occupancy_bytes`] is used.
    const NEEDS_SNAPSHOT: bool = false;

    /// Whether every router keeps something for the algorithm that changes with
    /// what its neighbours tell it. Others pay nothing for that.
    const LEARNS: bool = false;

    /// Whether [`RouterView::has_room`] is used. Room in buffers is then promised to packets as they
    /// decide, each of which has to decide by itself. Others pay nothing for that.
    const RESERVES: bool = false;

    /// Whether a packet that has decided for this hop to another router may have to wait until
    /// there is room for it. Not, if it decides so only where [`RouterView::has_room`] says that
    /// there is: then it waits for its turn on the link, which always comes.
    #[inline(always)]
    fn waits_for_room(&self, hop: Hop) -> bool {
        let _ = hop;
        true
    }

    /// Whether packets of a flow take one path: a function of source, destination and flow picks what
    /// others draw.
    fn is_by_flow(&self) -> bool {
        false
    }

    /// The labels by which it tells the flows of two nodes apart; `None` where two nodes have one flow.
    /// The source writes the label of a packet into [`PacketRoute::intermediate`].
    fn flow_labels(&self) -> Option<FlowLabels> {
        None
    }

    /// What is kept for router `at` when a run begins.
    fn initial_q_table(&self, at: RouterId) -> Vec<f32> {
        let _ = at;
        Vec::new()
    }

    /// Takes in what the router at the other end of `port` (relative number) of
    /// router `at` has sent by [`RouterView::send_feedback`]. Feedback that comes at the
    /// same time is taken in the order of ports, then of their numbers.
    fn learn(&self, at: RouterId, q_table: &mut [f32], port: u16, feedback: u32) {
        let _ = (at, q_table, port, feedback);
    }

    /// Virtual channels per link that the algorithm needs for freedom from deadlock.
    fn virtual_channels(&self) -> u8;

    /// Whether [`RouterView::occupancy_bytes`] may be used. An engine need not
    /// keep the occupancy of ports true to the moment otherwise.
    fn reads_occupancy(&self) -> bool {
        true
    }

    /// Whether it, or [`RouterView::now_ps`], may be used for the next hop of a packet in the state
    /// `route`. If not, an engine may ask for the hop before the packet arrives.
    #[inline(always)]
    fn next_hop_reads_occupancy(&self, _injected: bool, _route: &PacketRoute) -> bool {
        self.reads_occupancy()
    }

    /// Whether [`RouterView::channel_occupancy_bytes`] is used. Others pay nothing for that.
    #[inline(always)]
    fn reads_channels(&self) -> bool {
        false
    }

    /// Chooses the next hop of a packet at router `at`, and updates the state
    /// it carries, `route.vc` excepted: the engine sets that on arrival.
    /// `injected` is true at the packet's first router.
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop;

    /// Every decision that [`Routing::next_hop`] could take for this packet in
    /// any state of the network, with the state the packet then carries
    /// (`vc` already that of the hop). Appends to `out`.
    ///
    /// Adaptive algorithms list every candidate they may draw, also where a
    /// comparison of the same queue with itself would always turn it down; a
    /// proof of freedom from deadlock then holds all the more.
    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    );

    /// Whether there are routes from one router to the other. Where not, packets must
    /// not be sent; `verify` looks at the others only.
    fn connects(&self, from: RouterId, to: RouterId) -> bool {
        let _ = (from, to);
        true
    }

    /// Whether there is no next hop for this packet, which enters the router at a time (ps). Only tables
    /// that are made anew during a run, as circuits change that have failed, lack some: a packet that
    /// came by an older one is lost there. Where it is true, [`Routing::next_hop`] must not be called.
    fn lacks_hop(&self, at: RouterId, injected: bool, route: &PacketRoute, now_ps: u64) -> bool {
        let _ = (at, injected, route, now_ps);
        false
    }

    /// [`Routing::possible_hops`] in two parts, for `verify`, which follows what many
    /// packets at a router have in common once for all of them: appends to `own`
    /// the hops of this packet, and to `as_if` packets at this router, not just
    /// injected, all of whose possible hops are this packet's too. The two together
    /// are what `possible_hops` lists. The destination stays that of `route`.
    fn possible_hops_in_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        let _ = as_if;
        self.possible_hops(at, injected, route, own);
    }

    /// What [`Routing::possible_hops`] of a packet depends on of its destination.
    /// `verify` treats packets together that differ in nothing relevant; it checks
    /// the claim on samples.
    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        let _ = (at, injected, route);
        RelevantDestination::Router
    }
}

/// [`Routing::possible_hops`] of an algorithm that lists them by
/// [`Routing::possible_hops_in_parts`].
pub(super) fn hops_of_all_parts<R: Routing>(
    routing: &R,
    at: RouterId,
    injected: bool,
    route: &PacketRoute,
    out: &mut Vec<(Hop, PacketRoute)>,
) {
    let mut as_if = Vec::new();
    routing.possible_hops_in_parts(at, injected, route, out, &mut as_if);
    for packet in &as_if {
        routing.possible_hops(at, false, packet, out);
    }
}

/// What of a packet's destination its next hop can depend on: the less first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RelevantDestination {
    /// Nothing: packets for all destinations have the same possible hops.
    Nothing,
    /// The group: packets for all routers of the same group have the same.
    Group,
    /// The router.
    Router,
}
