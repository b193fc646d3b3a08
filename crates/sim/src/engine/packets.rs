//! Packets in the network: what every hop touches in one cache line, and what
//! only the ends of a route need beside it.

use odonata_load::Context;
use odonata_mpi::MessageKind;
use odonata_network::PacketRoute;
use odonata_run::encoding::or_absent;
use odonata_run::memory::{beyond, make_room, prefetch, reserve};
use odonata_units::RouterId;
use serde::{Deserialize, Serialize};

use super::payload::SUBJECT_BITS;
use super::table::Table;

/// Most packets of a partition: the events of nodes name their slots.
const MOST_PACKETS: usize = 1 << SUBJECT_BITS;

/// No packet.
pub(super) const NIL: u32 = u32::MAX;

/// Output of a packet that is on its way to the router that will decide.
pub(super) const UNROUTED: u16 = u16::MAX;

/// The part of a packet that every hop reads and writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Packet {
    pub route: PacketRoute,
    /// When its message was created.
    pub created: u64,
    /// When its tail arrives at the router that holds it, in ps.
    pub tail: u64,
    /// Size in bytes.
    pub size: u32,
    /// Next packet of the queue that it is in.
    #[serde(skip)]
    pub next: u32,
    /// Router of `upstream_port` (for an interface: the router that it is attached to).
    #[serde(with = "or_absent")]
    pub upstream_router: u32,
    /// Node that sent it.
    pub source: u32,
    /// Its number among the packets of that node: names its random stream.
    pub sequence: u32,
    /// Port whose credits it holds: the one that sent it here, relative to its router.
    pub upstream_port: u16,
    /// Output that it was routed to, relative to the router's first port; or
    /// [`UNROUTED`].
    pub out_port: u16,
    pub job: u16,
    /// Routers visited: at most 4,096 in each of the few groups that a route crosses, the
    /// most that routing has tables for.
    pub routers: u16,
    /// Link class of `upstream_port`.
    pub upstream_class: u8,
    /// Virtual channel of the buffer that holds it.
    pub lane: u8,
    /// Virtual channel of its next buffer.
    pub out_vc: u8,
    /// Whether it is a whole message of which nobody asks for more than what is
    /// said here: it has no [`Contents`].
    pub bare: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// What a slot holds that was never used.
    pub const VACANT: Self = Self {
        route: PacketRoute::injected(RouterId(0), 0),
        created: 0,
        tail: 0,
        size: 0,
        next: NIL,
        upstream_router: NIL,
        source: 0,
        sequence: 0,
        upstream_port: 0,
        out_port: UNROUTED,
        job: 0,
        routers: 0,
        upstream_class: 0,
        lane: 0,
        out_vc: 0,
        bare: true,
    };
}

/// What only the ends of a route need.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Contents {
    /// Size of the message.
    pub message_bytes: u64,
    /// Number of the message among those of its source node.
    pub message: u32,
    pub job: u16,
    pub source_rank: u32,
    pub destination_rank: u32,
    pub context: Context,
    pub tag: u32,
    /// Its place among the messages of this sender, receiver and context, if
    /// the context is ordered.
    pub sequence: u32,
    /// Destination node.
    pub destination: u32,
    /// The number at the sender of messages that wait for a grant and of all that concerns them;
    /// the request of the rank that began it for others.
    pub handle: u32,
    pub kind: MessageKind,
    /// See [`Outgoing::class`](odonata_mpi::Outgoing::class).
    pub class: u8,
    /// How often links have lost this part of the message; it is sent again if they have.
    pub losses: u8,
}

/// Who asks for memory.
pub(super) const PACKETS: &str = "the packets under way";

/// All packets of a partition, by slot.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub hot: Table<Packet>,
    pub contents: Vec<Contents>,
    free: Vec<u32>,
}

impl Packets {
    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        self.contents.capacity() * (size_of::<Packet>() + size_of::<Contents>())
    }

    #[inline]
    pub fn insert(&mut self, packet: Packet, contents: Contents) -> u32 {
        let slot = self.insert_bare(packet);
        self.contents[slot as usize] = contents;
        slot
    }

    /// Inserts a packet that is `bare`.
    #[inline(always)]
    pub fn insert_bare(&mut self, packet: Packet) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.add());
        // Built where it stays: copying what has just been written stalls the processor.
        self.hot[slot as usize] = packet;
        slot
    }

    /// Starts to load the slot that the insertion after `ahead` others will use.
    #[inline(always)]
    pub fn prefetch_free(&self, ahead: usize) {
        if let Some(&slot) = self.free.get(self.free.len().wrapping_sub(ahead + 1)) {
            prefetch(&self.hot, slot as usize);
        }
    }

    /// One more slot.
    #[inline(never)]
    fn add(&mut self) -> u32 {
        let slots = self.hot.len();
        if slots == MOST_PACKETS {
            let reason = format!(
                "a thread has at most {MOST_PACKETS} of them at once; use more threads or offer less"
            );
            beyond(PACKETS, reason);
        }
        make_room(&mut self.contents, PACKETS);
        self.hot.push(Packet::VACANT, PACKETS);
        self.contents.push(Contents::default());
        // All slots may become free, which is no time to ask for memory.
        if self.free.capacity() <= slots {
            let present = self.free.len();
            reserve(&mut self.free, slots + 1 - present, PACKETS);
        }
        slots as u32
    }

    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.hot[slot as usize].size = 0;
        self.free.push(slot);
    }

    /// Packets that exist now.
    pub fn len(&self) -> usize {
        self.hot.len() - self.free.len()
    }

    /// Most packets that existed at once.
    pub fn peak(&self) -> usize {
        self.hot.len()
    }

    fn is_control(&self, slot: usize) -> bool {
        !self.hot[slot].bare && self.contents[slot].kind.is_control()
    }

    fn bytes_where(&self, wanted: impl Fn(usize) -> bool) -> u64 {
        (0..self.hot.len())
            .filter(|&slot| wanted(slot))
            .map(|slot| u64::from(self.hot[slot].size))
            .sum()
    }

    /// Bytes of all packets that exist now and carry something of a job's.
    pub fn live_bytes(&self) -> u64 {
        self.bytes_where(|slot| !self.is_control(slot))
    }

    /// Bytes of all others that exist now.
    pub fn live_control_bytes(&self) -> u64 {
        self.bytes_where(|slot| self.is_control(slot))
    }

    /// Bytes held per packet slot.
    pub const fn bytes_per_packet() -> usize {
        size_of::<Packet>() + size_of::<Contents>() + size_of::<u32>()
    }
}
