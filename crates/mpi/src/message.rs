//! Messages between ranks, as those hand them to an engine and get them from it.

use odonata_load::Context;
use odonata_run::encoding::or_absent;
use odonata_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::actions::Sending;
use crate::kind::MessageKind;
use crate::matching::Envelope;

/// Instead of a request: nobody waits for a message's having left its node.
pub const NO_REQUEST: u32 = u32::MAX;

/// Key of a message that has been granted: its handle and its sender.
pub(crate) fn granted_key(handle: u32, sender: u32) -> u64 {
    u64::from(handle) << 32 | u64::from(sender)
}

/// What a rank hands to its interface.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Outgoing {
    /// What it is for.
    pub kind: MessageKind,
    /// Number of the class of traffic of the program's message that it is, or is for.
    pub class: u8,
    /// Receiving rank.
    pub to: u32,
    /// Size.
    pub bytes: u64,
    /// Where it matches.
    pub context: Context,
    /// Its tag; of a question, with `sequence`, how many bytes are asked for.
    pub tag: u32,
    /// Its place among the messages of this sender, receiver and context, if the context is
    /// ordered.
    pub sequence: u32,
    /// The number at the sender of messages that wait for a grant and of all that concerns them;
    /// the request of the rank that began it for others.
    pub handle: u32,
    /// Completed when the tail has left the node; or [`NO_REQUEST`].
    #[serde(with = "or_absent")]
    pub request: u32,
    /// When the rank wanted to send it, in ps.
    pub created: u64,
}

impl Outgoing {
    /// A message of the program's, or its request.
    #[inline]
    pub(crate) fn of(sending: &Sending, kind: MessageKind, handle: u32) -> Self {
        Self {
            kind,
            class: sending.class,
            to: sending.to,
            bytes: sending.bytes,
            context: sending.envelope.context,
            tag: sending.envelope.tag,
            sequence: 0,
            handle,
            request: sending.request.0,
            created: sending.created,
        }
    }

    /// A message of `bytes` that matches nothing and that nobody waits to have sent.
    #[inline]
    pub(crate) fn unmatched(
        (kind, class): (MessageKind, u8),
        to: u32,
        bytes: Bytes,
        handle: u32,
        created: u64,
    ) -> Self {
        Self {
            kind,
            class,
            to,
            bytes: bytes.0,
            context: Context::default(),
            tag: 0,
            sequence: 0,
            handle,
            request: NO_REQUEST,
            created,
        }
    }

    /// The question for `asked` bytes of another rank's memory.
    #[inline]
    pub(crate) fn question(
        (from, class): (u32, u8),
        asked: u64,
        control: Bytes,
        handle: u32,
        created: u64,
    ) -> Self {
        Self {
            tag: asked as u32,
            sequence: (asked >> 32) as u32,
            ..Self::unmatched((MessageKind::Ask, class), from, control, handle, created)
        }
    }
}

/// A message that is complete at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// What it is for.
    pub kind: MessageKind,
    /// See [`Outgoing::class`].
    pub class: u8,
    /// Where it matches, who sent it, and its tag; see [`Outgoing::tag`].
    pub envelope: Envelope,
    /// Size.
    pub bytes: u64,
    /// See [`Outgoing::sequence`].
    pub sequence: u32,
    /// See [`Outgoing::handle`].
    pub handle: u32,
    /// When its sender wanted to send it, in ps.
    pub created: u64,
}

impl Incoming {
    /// The size of the part of the receiver's memory that a get asks for.
    #[inline]
    pub(crate) fn asked_bytes(&self) -> u64 {
        u64::from(self.sequence) << 32 | u64::from(self.envelope.tag)
    }
}
