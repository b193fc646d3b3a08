//! Ports and their virtual channels.

use odonata_run::encoding::or_absent;
use serde::{Deserialize, Serialize};

use super::shared::Class;
use super::table::Table;

/// Who asks for memory.
pub(super) const PORTS: &str = "ports and virtual channels of the network";

/// "Not stalled", "no wake-up pending".
pub(super) const NEVER: u64 = u64::MAX;

/// The sending side of a link: of a router port, or of a node's interface.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When the link has sent the tail of its last packet.
    pub free_at: u64,
    /// Since when packets wait although the link is free; or [`NEVER`].
    #[serde(with = "or_absent")]
    pub stalled_since: u64,
    /// Bytes sent since warm-up: of a packet that was being sent when it ended, the rest.
    pub bytes: u64,
    /// Time stalled since warm-up.
    pub stall: u64,
    /// Packets begun since warm-up.
    pub packets: u32,
    /// Bytes that wait for this port; with a bounded crossbar those in its output
    /// buffer, and on request those in the FIFOs that request it.
    pub queued: u32,
    /// Bytes sent and not yet credited.
    pub downstream: u32,
    /// Port at the other end, relative to its router; of a terminal port, the node.
    #[serde(skip)]
    pub peer_port: u32,
    /// Router at the other end; of a terminal port, the interface's number in
    /// this partition.
    #[serde(skip)]
    pub peer_router: u32,
    /// Virtual channels in which packets wait, one bit each.
    pub waiting: u16,
    /// Link class.
    #[serde(skip)]
    pub class: u8,
    /// Virtual channel that was served last.
    pub served: u8,
    /// Whether a wake-up at `free_at` is pending.
    pub wake: bool,
    /// Bytes of the last packet.
    pub sending: u32,
}

const _: () = assert!(size_of::<Port>() == 64);

/// One virtual channel of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualChannel {
    /// Free bytes in the buffer at the other end.
    pub credits: u32,
    /// Packets that wait, first to last, linked by `Packet::next`.
    pub head: u32,
    pub tail: u32,
}

/// The ports of a partition, and what waits and is promised there.
pub(super) struct Ports {
    /// Routers' ports, then one per interface.
    pub all: Table<Port>,
    /// Number of router ports: where interfaces begin in `all`.
    pub of_routers: usize,
    /// Shape: ports × virtual channels.
    pub channels: Table<VirtualChannel>,
    pub grid: Grid,
    /// Bytes behind each channel that are promised to packets which have decided for it and have
    /// not taken credits yet. Shape as of `channels`, or empty if the algorithm asks neither for
    /// room nor for what is queued on a channel, and packets have no lanes to choose among.
    pub promised: Vec<u32>,
    /// Ports that send nothing, as their circuits change, and when their links had sent the
    /// tails of their last packets.
    pub silent: Vec<(u32, u64)>,
    /// When the tails of the last packets reach the other ends of links. Shape: ports of routers, or
    /// empty where no link sends packets again.
    pub last_arrivals: Vec<u64>,
}

impl Ports {
    pub fn last_arrivals(&self, ports: std::ops::Range<usize>) -> &[u64] {
        self.last_arrivals.get(ports).unwrap_or(&[])
    }
}

/// Where a port's virtual channels lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// log2 of the distance of a port's first virtual channel from the next port's.
    pub shift: u32,
}

impl Grid {
    /// Index of a virtual channel of a port in [`Ports::channels`].
    #[inline(always)]
    pub fn channel(self, port: usize, vc: usize) -> usize {
        (port << self.shift) + vc
    }
}

impl Port {
    /// Takes over a saved state; what is wired stays.
    pub fn restore(&mut self, saved: Self) {
        *self = Self {
            peer_port: self.peer_port,
            peer_router: self.peer_router,
            class: self.class,
            ..saved
        };
    }

    pub fn new(class: u8, peer_port: u32, peer_router: u32) -> Self {
        Self {
            free_at: 0,
            stalled_since: NEVER,
            bytes: 0,
            stall: 0,
            packets: 0,
            queued: 0,
            downstream: 0,
            peer_port,
            peer_router,
            waiting: 0,
            class,
            served: 0,
            wake: false,
            sending: 0,
        }
    }

    /// A packet starts whose tail leaves at `end`. Returns how much of it is sent after
    /// the warm-up.
    #[inline(always)]
    pub fn start(&mut self, class: &Class, size: u32, now: u64, end: u64, warmup: u64) -> u64 {
        self.free_at = end;
        self.sending = size;
        let measured = if now >= warmup {
            self.packets += 1;
            u64::from(size)
        } else if end > warmup {
            class.unsent(size, end, warmup)
        } else {
            0
        };
        self.bytes += measured;
        measured
    }

    /// A packet is dropped for which the link, which is dark, has as little time for others as if it
    /// sent it.
    pub fn discard(&mut self, end: u64) -> u64 {
        (self.free_at, self.sending) = (end, 0);
        0
    }

    /// Bytes of the last packet that the link has not sent at `now`.
    pub fn unsent(&self, classes: &[Class], now: u64) -> u64 {
        classes[usize::from(self.class)].unsent(self.sending, self.free_at, now)
    }

    /// Accounts a stall that ends now.
    pub fn end_stall(&mut self, now: u64, warmup: u64) {
        self.stall += now.saturating_sub(self.stalled_since.max(warmup));
        self.stalled_since = NEVER;
    }
}
