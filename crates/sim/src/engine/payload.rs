//! What the payloads of events say.

/// Payloads of wake-up events: the link of a port is free (0), a node's
/// interface (1), an input (2) or output (3) of the crossbar.
pub(super) const WAKE_INPUT: u32 = 2;
pub(super) const WAKE_OUTPUT: u32 = 3;
/// A class may send over the link of a port that it could not use before.
pub(super) const WAKE_CLASS: u32 = 4;

/// Marks a wake-up of a port as feedback for its router, see [`Routing::learn`].
pub(super) const FEEDBACK: u32 = 1 << 29;
/// Largest feedback.
pub(super) const MAX_FEEDBACK: u32 = FEEDBACK - 1;

/// Bits of a node's event that say which packet or rank it is about.
pub(super) const SUBJECT_BITS: u32 = 27;
pub(super) const DELIVERED: u32 = 0 << SUBJECT_BITS;
pub(super) const DELIVERED_LOCALLY: u32 = 1 << SUBJECT_BITS;
pub(super) const SENT: u32 = 2 << SUBJECT_BITS;
pub(super) const TIMER: u32 = 3 << SUBJECT_BITS;
/// A node notices that a packet of it is lost.
pub(super) const LOST: u32 = 5 << SUBJECT_BITS;
/// A node hears what is due, see [`Protocol::heard`](super::protocol::Protocol::heard).
pub(super) const HEARD: u32 = 4 << SUBJECT_BITS;

/// What the payload of a node's event is about, beside a code that says what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Slot of a packet.
    Packet(u32),
    /// Index of a rank in the partition.
    Rank(u32),
    /// A protocol's.
    Number(u32),
}

/// Code and subject of the payload of a [`Kind::Node`] event; the payload is
/// their sum.
pub(super) fn node_subject(payload: u32) -> (u32, Subject) {
    let subject = payload & ((1 << SUBJECT_BITS) - 1);
    match payload - subject {
        code @ (DELIVERED | DELIVERED_LOCALLY | LOST) => (code, Subject::Packet(subject)),
        HEARD => (HEARD, Subject::Number(subject)),
        code => (code, Subject::Rank(subject)),
    }
}

/// What such a code says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeEvent {
    Delivered,
    DeliveredLocally,
    Sent,
    Timer,
    Lost,
}

impl NodeEvent {
    /// `None` if a code says nothing.
    pub fn of(code: u32) -> Option<Self> {
        match code {
            DELIVERED => Some(Self::Delivered),
            DELIVERED_LOCALLY => Some(Self::DeliveredLocally),
            SENT => Some(Self::Sent),
            TIMER => Some(Self::Timer),
            LOST => Some(Self::Lost),
            _ => None,
        }
    }
}

/// Payload of the event that an interface is to be looked at.
pub(super) const WAKE_INTERFACE: u32 = 1;

/// Payload of the event that a rank starts, or a processor of it is done.
pub(super) fn timer_payload(local_rank: u32) -> u32 {
    TIMER | local_rank
}
