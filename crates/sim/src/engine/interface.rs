//! Nodes' interfaces to the network, and what waits at them.

use std::ops::Range;

use odonata_load::Context;
use odonata_mpi::MessageKind;
use odonata_run::KeyMap;
use odonata_run::encoding::or_absent;
use odonata_units::{Bytes, RankId};
use serde::{Deserialize, Serialize};

use super::flows::Flows;
use super::packets::Contents;
use super::port::NEVER;
use super::queues::{Queue, Queues};
use super::table::Table;

/// A message that its node has not sent completely.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct OutMessage {
    pub bytes_left: u64,
    pub created: u64,
    /// Index of the sending rank in the partition; `NIL` of an open-loop source.
    #[serde(skip)]
    pub local_rank: u32,
    /// See [`Draft::request`].
    #[serde(with = "or_absent")]
    pub request: u32,
    pub contents: Contents,
}

/// A message to be created.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    pub job: u32,
    /// Sender; and its index in the partition, `NIL` of an open-loop source.
    pub rank: u32,
    pub local_rank: u32,
    pub to: RankId,
    pub bytes: Bytes,
    pub context: Context,
    pub tag: u32,
    pub sequence: u32,
    /// When the sender wanted to send it.
    pub created: u64,
    pub kind: MessageKind,
    /// See [`Contents::class`].
    pub class: u8,
    pub handle: u32,
    /// Request of the sender that is complete when the tail has left the node;
    /// or [`NIL`].
    pub request: u32,
}

/// The network interface of a node. Its link to the router is the port of the
/// same number after all router ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) struct Interface {
    #[serde(skip)]
    pub node: u32,
    /// Its router (global number) and the port there, relative to the router.
    #[serde(skip)]
    pub router: u32,
    #[serde(skip)]
    pub terminal: u32,
    /// Class of its link.
    #[serde(skip)]
    pub class: u8,
    /// The classes of which a message of an open-loop source is in `outgoing`, a bit each; without
    /// classes all are of one.
    pub open_active: u16,
    /// Messages to send.
    #[serde(skip)]
    pub outgoing: Queue,
    /// Its open-loop sources in [`Interfaces::sources`].
    #[serde(skip)]
    pub sources: Range<u32>,
    /// Packets and messages sent so far.
    pub packets: u32,
    pub messages: u32,
    /// When the next packet may start: once the last one has left and, after the last of a
    /// message, the gap has passed.
    pub ready_at: u64,
    /// When the last message within the node is through.
    pub loopback_free: u64,
    /// Earliest pending wake-up.
    #[serde(with = "or_absent")]
    pub wake_at: u64,
}

impl Interface {
    pub fn new(node: u32, router: u32, terminal: u32, class: u8) -> Self {
        Self {
            node,
            router,
            terminal,
            class,
            open_active: 0,
            outgoing: Queue::default(),
            sources: 0..0,
            packets: 0,
            messages: 0,
            ready_at: 0,
            loopback_free: 0,
            wake_at: NEVER,
        }
    }

    /// Takes over a saved state; what is wired and who sits here stays, and no
    /// message waits.
    pub fn restore(&mut self, saved: Self) {
        *self = Self {
            node: self.node,
            router: self.router,
            terminal: self.terminal,
            class: self.class,
            outgoing: Queue::default(),
            sources: self.sources.clone(),
            ..saved
        };
    }
}

const _: () = assert!(size_of::<Interface>() == 64);

/// An open-loop source: a rank that sends at its own rate. Messages that wait
/// for their node are not stored: when they were created can be computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenSource {
    pub interface: u32,
    pub job: u32,
    pub rank: u32,
    /// Number of the next message and when it is created.
    pub next_message: u32,
    pub next_time: u64,
}

/// A message of which only some packets have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incomplete {
    /// Bytes that it still lacks.
    pub missing: u64,
    /// Node that it goes to.
    pub destination: u32,
}

/// The interfaces of a partition, and what waits at them and arrives.
pub(super) struct Interfaces {
    pub all: Table<Interface>,
    /// Messages that wait at interfaces.
    pub waiting: Queues<OutMessage>,
    pub sources: Table<OpenSource>,
    /// Messages of more than one packet that are under way, by (source node, message).
    pub incomplete: KeyMap<Incomplete>,
    /// The message of which a node is sending a packet. Kept here because copies
    /// of what has just been written stall the processor.
    pub outgoing: OutMessage,
    /// The classes whose ranks sit at each interface, a bit each. Shape: interfaces, or empty
    /// without classes.
    pub classes: Vec<u16>,
    /// Whose packets have labels, if the routing algorithm tells flows of two nodes apart.
    pub flows: Option<Box<Flows>>,
}
