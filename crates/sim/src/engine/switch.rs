//! Switches: what is between the routing of a packet and its link.
//!
//! A router routes a packet and lets it wait for its link, whatever its switch is (see
//! [`forward`](super::partition)); what has to happen between the two, and what a packet that
//! leaves frees, is the switch's. Each is a type, so that a run has code for its own alone.

mod bounded;
mod ideal;
mod output_queues;

use std::ops::Range;

pub(super) use bounded::{Bounded, Side};
pub(super) use ideal::Ideal;
pub(super) use output_queues::OutputQueues;

use super::model::Model;
use super::packets::NIL;
use super::partition::Partition;
use super::partition::view::Waiting;
use super::port::Grid;
use super::shared::Shared;

/// A packet that has been routed and enters the switch.
#[derive(Clone, Copy)]
pub(super) struct Entering {
    /// The router, counted in its partition, and its first port.
    pub router: u32,
    pub first_port: usize,
    /// Where it came in and is to go out.
    pub input: usize,
    pub output: usize,
    pub slot: u32,
    pub now: u64,
    /// Whether no other event of this router happens at the same time, so that it may leave
    /// at once.
    pub alone: bool,
}

/// A packet that has started over a link.
#[derive(Clone, Copy)]
pub(super) struct Started {
    pub router: u32,
    pub first_port: usize,
    pub output: usize,
    pub slot: u32,
    pub size: u32,
    pub vc: u8,
    /// Whether the link leads to a node.
    pub terminal: bool,
    /// When the link has sent the tail, and when that arrives.
    pub end: u64,
    pub arrival: u64,
}

/// A packet that is held between its input and its output queue, the first of those of one
/// port and channel; or [`NIL`]. With the room in the output buffer of that number, if any.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub first: u32,
    pub room: u32,
}

/// The switches of a partition's routers.
pub(super) trait Switch: Sized + Send {
    /// Whether a packet keeps its place in an input FIFO until it passes, so that only the
    /// first of a FIFO can.
    const HAS_FIFOS: bool = false;
    /// Whether a packet to a node takes room there until the node gives it back.
    const NODES_GIVE_ROOM: bool = false;

    /// The switches of these routers; `channels`: virtual channels at all their ports.
    fn new(shared: &Shared<'_>, routers: Range<u32>, channels: usize) -> Self;

    /// Whether packets take credits before they enter output queues, where they so lack none.
    fn takes_credits(&self) -> bool;

    /// A packet has been routed: it leaves, or waits.
    fn enter<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Entering);

    /// Credits have come back to a channel of a router's port.
    fn credited<M: Model<Switch = Self>>(
        _: &mut Partition<'_, M>,
        _port: usize,
        _channel: usize,
        _now: u64,
    ) {
    }

    /// The link of a port is about to be free.
    fn link_woken<M: Model<Switch = Self>>(_: &mut Partition<'_, M>, _port: usize) {}

    /// A wake-up of its own, by its payload.
    fn woken<M: Model<Switch = Self>>(
        _: &mut Partition<'_, M>,
        _first_port: usize,
        _port: usize,
        _payload: u32,
    ) {
    }

    /// All events of this moment have been seen.
    fn settle<M: Model<Switch = Self>>(
        _: &mut Partition<'_, M>,
        _router: u32,
        _first_port: usize,
        _now: u64,
    ) {
    }

    /// A link that is free chooses a packet.
    fn link_free<M: Model<Switch = Self>>(_: &mut Partition<'_, M>, _port: usize) {}

    /// Nothing is in the output queue of a port.
    fn nothing_queued<M: Model<Switch = Self>>(_: &mut Partition<'_, M>, _port: usize, _now: u64) {}

    /// A packet has started over a link.
    fn started<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Started);

    /// Whether packets that are not in the output queue of a port wait for its link.
    fn holds_packets(&self, _: Grid, _port: usize) -> bool {
        false
    }

    /// Whether what has been sent and not yet credited counts as occupancy of an output.
    #[inline(always)]
    fn counts_sent(&self) -> bool {
        true
    }

    /// What of a channel's occupancy has not taken credits, for the router with this first port; or,
    /// where credits do not count, all of it.
    fn waiting(&self, _first_port: usize) -> Waiting<'_> {
        Waiting::Promised
    }

    /// What is held of each port and channel of routers, if the switch holds any.
    fn held(&self, _: Grid, _port: usize, _vc: usize) -> Option<Held> {
        None
    }

    /// Puts a queue of packets, which have been routed, in place of an empty one.
    fn restore<M: Model<Switch = Self>>(
        _: &mut Partition<'_, M>,
        _first_port: usize,
        (_port, _vc): (usize, usize),
        _slots: &[u32],
        _room: u32,
    ) {
    }

    /// Its ports, for checkpoints; empty if they have nothing to remember.
    fn sides(&self, _ports: Range<usize>) -> &[Side] {
        &[]
    }

    /// Takes them over.
    fn restore_sides(&mut self, _ports: Range<usize>, _saved: &[Side]) {}

    /// Size of an output buffer, if they are bounded.
    fn output_buffer(&self) -> Option<u64> {
        None
    }
}

/// First and last packet of an empty queue.
const EMPTY: (u32, u32) = (NIL, NIL);
