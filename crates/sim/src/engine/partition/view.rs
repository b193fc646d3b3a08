//! What a routing algorithm sees of the router where it runs.

use std::marker::PhantomData;

use odonata_network::Routing;
use odonata_network::routing::{Hop, Lanes};
use odonata_units::random::StreamKey;
use odonata_units::{NodeId, PortId, RouterId};

use super::forward::credit_size;
use crate::engine::calendar::PackedEvent;
use crate::engine::packets::Packet;
use crate::engine::payload::MAX_FEEDBACK;
use crate::engine::port::{Port, VirtualChannel};
use crate::engine::probe::Probe;
use crate::engine::routed::Snapshot;
use crate::engine::shared::{CREDIT_VC_SHIFT, Class};
use crate::engine::switch::Bounded;

/// Random draws that a packet may make at one router.
const DRAWS_PER_ROUTER: u32 = 64;

/// Room behind the channels of a router's ports, and what is on its way there.
pub(super) struct Rooms<'v> {
    pub classes: &'v [Class],
    pub channels: &'v [VirtualChannel],
    /// Bytes promised behind each.
    pub promised: &'v [u32],
    pub lanes: Lanes,
    /// What of a channel's occupancy has not taken credits.
    pub waiting: Waiting<'v>,
    /// As in `Partition`.
    pub channel_shift: u32,
    /// Bytes that the packet takes in a buffer.
    pub packet: u32,
}

/// What waits for a channel of a link without having taken credits of it.
pub(in crate::engine) enum Waiting<'v> {
    /// All that has decided for it.
    Promised,
    /// The part of it that has passed the bounded crossbar; and the router's first port.
    Buffered(&'v Bounded, usize),
    /// The same where the crossbar takes the credits.
    Nothing,
}

/// [`View::sent`] where that counts, or not.
#[inline(always)]
pub(in crate::engine) fn sent_mask(counts: bool) -> u64 {
    u64::from(counts).wrapping_neg()
}

impl<P: Probe> View<'_, P> {
    /// Credits of a lane of a port to another router, by now.
    #[inline(always)]
    fn credits(&self, port: u16, lane: u8) -> u32 {
        let rooms = self.rooms;
        let channel = (usize::from(port) << rooms.channel_shift) + usize::from(lane);
        rooms.channels[channel].credits
            - to_come::<P>(self.early, self.offset, u32::from(port), lane)
    }

    /// Bytes that packets which have decided for a lane will take of its credits and have not yet.
    #[inline(always)]
    fn promised(&self, port: u16, lane: u8) -> u32 {
        let rooms = self.rooms;
        rooms.promised[(usize::from(port) << rooms.channel_shift) + usize::from(lane)]
    }
}

/// Bytes of credits that were taken early and are not there yet at a time in the window, for a
/// virtual channel of a port to another router.
#[inline(always)]
pub(super) fn to_come<P: Probe>(early: &[PackedEvent], offset: u64, port: u32, vc: u8) -> u32 {
    let later = early.iter().filter(|credit| {
        credit.port() == port
            && credit.payload() >> CREDIT_VC_SHIFT == u32::from(vc)
            && credit.offset() >= offset
    });
    later.map(|credit| credit_size::<P>(credit.payload())).sum()
}

impl Rooms<'static> {
    /// The room of an algorithm that does not ask.
    pub const UNASKED: Self = Self {
        classes: &[],
        channels: &[],
        promised: &[],
        lanes: Lanes::ONE,
        waiting: Waiting::Promised,
        channel_shift: 0,
        packet: 0,
    };
}

/// What a routing algorithm sees of the router where it runs.
pub(super) struct View<'v, P> {
    pub ports: &'v [Port],
    /// What an algorithm that asks for room needs to know; one word for all others, as every
    /// decision has its view in memory.
    pub rooms: &'v Rooms<'v>,
    /// Credits that came early, and the time (in the window) of the decision:
    /// those before it count.
    pub early: &'v [PackedEvent],
    pub offset: u64,
    /// Mask of what has been sent and not yet credited: nothing where that does not count.
    pub sent: u64,
    pub snapshot: &'v Snapshot,
    pub key: StreamKey,
    pub entity: u64,
    pub counter: u32,
    pub now: u64,
    pub q_table: &'v [f32],
    pub source: u32,
    pub feedback: Option<u32>,
    pub probe: PhantomData<P>,
}

impl<P: Probe> odonata_network::RouterView for View<'_, P> {
    #[inline(always)]
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        let state = &self.ports[port as usize];
        let credited: u64 = self
            .early
            .iter()
            .filter(|credit| credit.port() == u32::from(port) && credit.offset() < self.offset)
            .map(|credit| u64::from(credit_size::<P>(credit.payload())))
            .sum();
        u64::from(state.queued) + ((u64::from(state.downstream) - credited) & self.sent)
    }
    #[inline(always)]
    fn has_room(&mut self, hop: Hop) -> bool {
        self.rooms.lanes.of(hop.vc).any(|lane| {
            let credits = self.credits(hop.port, lane);
            credits.saturating_sub(self.promised(hop.port, lane)) >= self.rooms.packet
        })
    }
    #[inline(always)]
    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        let class = self.ports[usize::from(hop.port)].class;
        let buffer = self.rooms.classes[usize::from(class)].buffer;
        let occupancy = |lane| {
            let waiting = match self.rooms.waiting {
                Waiting::Promised => self.promised(hop.port, lane),
                Waiting::Buffered(crossbar, first_port) => {
                    crossbar.queued(first_port + usize::from(hop.port), lane)
                }
                Waiting::Nothing => 0,
            };
            let taken = buffer - self.credits(hop.port, lane);
            (u64::from(taken) & self.sent) + u64::from(waiting)
        };
        self.rooms.lanes.of(hop.vc).map(occupancy).sum()
    }
    #[inline(always)]
    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        u64::from(self.snapshot[port.index()].load(std::sync::atomic::Ordering::Relaxed))
    }
    #[inline(always)]
    fn random_below(&mut self, bound: u32) -> u32 {
        self.counter += 1;
        self.key.below(self.entity, self.counter, bound)
    }
    #[inline(always)]
    fn now_ps(&self) -> u64 {
        self.now
    }
    #[inline(always)]
    fn source_node(&self) -> NodeId {
        NodeId(self.source)
    }
    #[inline(always)]
    fn q_table(&self) -> &[f32] {
        self.q_table
    }
    #[inline(always)]
    fn send_feedback(&mut self, feedback: u32) {
        self.feedback = Some(feedback & MAX_FEEDBACK);
    }
}

impl<P: Probe> View<'_, P> {
    /// Decides on the next hop of a packet at router `at`, which sees this. Returns
    /// the feedback to the router that sent the packet here.
    #[inline(always)]
    pub fn route<R: Routing>(mut self, routing: &R, at: u32, packet: &mut Packet) -> Option<u32> {
        self.counter = u32::from(packet.routers) * DRAWS_PER_ROUTER;
        packet.routers += 1;
        self.decide(routing, at, packet);
        self.feedback
    }

    /// Decides once more for a packet that waits at `at`, by draws of its own.
    pub fn route_again<R: Routing>(mut self, routing: &R, at: u32, packet: &mut Packet) {
        let before = u32::from(packet.routers) - 1;
        self.counter = before * DRAWS_PER_ROUTER + DRAWS_PER_ROUTER / 2;
        self.decide(routing, at, packet);
    }

    #[inline(always)]
    fn decide<R: Routing>(&mut self, routing: &R, at: u32, packet: &mut Packet) {
        self.entity = (u64::from(packet.source) << 32) | u64::from(packet.sequence);
        self.source = packet.source;
        let injected = packet.routers == 1;
        let hop = routing.next_hop(self, RouterId(at), injected, &mut packet.route);
        packet.route.vc = hop.vc;
        packet.out_vc = hop.vc;
        packet.out_port = hop.port;
    }
}

/// Ends the run: a routing algorithm is in error.
#[cold]
pub(super) fn no_such_output(router: u32, port: u16, vc: u8) -> ! {
    panic!("routing sends a packet to port {port}, channel {vc} of router {router}, which has none")
}
