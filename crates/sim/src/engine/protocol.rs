//! End-to-end protocols: when a node may send to another, by what it hears of what it has sent.
//!
//! What nodes hear takes no bandwidth: it comes after the latencies and router delays of the way
//! that the packet took which it is about, backwards.

mod account;
mod ecn;
mod hpcc;
mod infiniband;
mod paced;
mod slingshot;
mod window;

use std::ops::Range;

use odonata_run::HeldPair;
use serde::{Deserialize, Serialize};

use super::interface::Interface;
use super::packets::Packet;
use super::shared::Shared;

pub(super) use account::{Account, Control, Pair};
pub(super) use ecn::Sender as EcnSender;
pub(super) use hpcc::{Meter, Sender as HpccSender};
pub(super) use infiniband::Sender as InfinibandSender;
pub(super) use paced::{NodeState, Paced, PortState};
pub(super) use slingshot::Member;
pub(super) use slingshot::Sender as SlingshotSender;
pub(super) use window::Sender as WindowSender;

/// What a packet collects on its way for those who hear of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// Latencies and router delays so far: up to where it is next.
    pub way: u64,
    /// Whether a router has seen congestion.
    pub marked: bool,
    /// Load of the busiest link, in millionths, where routers measure it.
    pub load: u32,
}

/// What a node hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Notice {
    /// When.
    pub at: u64,
    /// The node that its packets went to.
    pub from: u32,
    /// Bytes that have arrived there; 0: it is about congestion alone.
    pub bytes: u32,
    /// Bytes that may be under way to there from now on; [`NEVER`](super::port::NEVER): any.
    #[serde(with = "odonata_run::encoding::or_absent")]
    pub window: u64,
    /// Load of the busiest link, in millionths, where routers measure it.
    pub load: u32,
}

/// A packet that a node sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub bytes: u32,
    /// When it begins and ends.
    pub now: u64,
    pub end: u64,
    /// End of the warm-up.
    pub warmup: u64,
}

/// What waits for the link of a port when a packet joins it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub port: usize,
    /// The interface behind the port, if a node is.
    pub interface: Option<usize>,
    /// Bytes, without the packet.
    pub bytes: u32,
    /// Size of the buffer at the other end.
    pub buffer: u32,
    /// Whether what waits lacks room at the other end.
    pub stalled: bool,
}

/// The link of a port that a packet takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub port: usize,
    /// Bytes per second.
    pub line: u64,
    /// Bytes that wait for it, without the packet, and the packet's.
    pub waiting: u32,
    pub bytes: u32,
}

/// The protocol of a partition's nodes. What it does not say is as without: nodes send as soon
/// as their links are free and routers have room.
pub(super) trait Protocol: Sized + Send {
    /// Whether there is one.
    const ON: bool = false;

    /// The protocol of these interfaces and of so many router ports.
    fn new(shared: &Shared<'_>, ports: usize, interfaces: &[Interface]) -> Self;

    /// When an interface may start a packet of so many bytes to a node at the earliest, as far as
    /// is known; [`NEVER`](super::port::NEVER): once it has heard of something.
    fn permitted(&mut self, _interface: usize, _to: u32, _bytes: u32, now: u64) -> u64 {
        now
    }

    /// An interface sends a packet to a node.
    fn sent(&mut self, _interface: usize, _to: u32, _: Sent) {}

    /// A packet that an interface sent to a node is lost, and no longer under way.
    fn lost(&mut self, _interface: usize, _to: u32, _bytes: u32) {}

    /// What the packet of a slot has collected.
    fn note(&self, _slot: u32) -> Note {
        Note::default()
    }

    fn set_note(&mut self, _slot: u32, _note: Note) {}

    /// A packet goes on over a link and through a router that take so long without waiting.
    fn passed(&mut self, _slot: u32, _ps: u64, _: Link, _now: u64) {}

    /// A packet joins those that wait for the link of a port. What its sender hears of that.
    fn queued(&mut self, _slot: u32, _: &Packet, _: Waiting, _now: u64) -> Option<Notice> {
        None
    }

    /// The tail of a packet will reach its node at a time. What its sender hears of it.
    fn delivered(
        &mut self,
        _slot: u32,
        _: &Packet,
        _interface: usize,
        _time: u64,
    ) -> Option<Notice> {
        None
    }

    /// An interface is to hear of something at its time.
    fn listen(&mut self, _interface: usize, _notice: Notice) {}

    /// An interface hears what is due.
    fn heard(&mut self, _interface: usize, _now: u64, _warmup: u64) {}

    /// Forgets what was measured.
    fn begin_measuring(&mut self) {}

    /// The pairs that were held back or notified from the end of the warm-up to that of the run.
    fn held_pairs(&self, _warmup: u64, _end: u64) -> Vec<HeldPair> {
        Vec::new()
    }

    /// The state of a node; none without a protocol.
    fn save(&self, _interface: usize) -> Option<NodeState> {
        None
    }

    fn restore(&mut self, _interface: usize, _saved: NodeState) {}

    /// What ports keep. Shape: `ports`, or empty.
    fn ports(&self, _ports: Range<usize>) -> &[PortState] {
        &[]
    }

    fn restore_ports(&mut self, _first: usize, _saved: &[PortState]) {}
}

/// None.
pub(super) struct NoProtocol;

impl Protocol for NoProtocol {
    fn new(_: &Shared<'_>, _: usize, _: &[Interface]) -> Self {
        Self
    }
}
