//! Collectives: how the members of a communicator carry out a broadcast, an
//! all-reduce, an all-to-all, … by messages.
//!
//! A [`CollectiveCall`] says what is asked and by which algorithm, and what each
//! member does for it, move by move.

use odonata_units::{Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

use crate::communicator::Member;
use crate::program::CollectiveKind;
use crate::script::Cursor;

/// What one member does next in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Starts to send to a member.
    Send {
        /// Receiver.
        to: Member,
        /// Size, at least 1 byte.
        bytes: Bytes,
        /// Tells apart messages of the same two members in the same collective.
        tag: u32,
    },
    /// Posts a receive.
    Receive {
        /// Sender.
        from: Member,
        /// The sender's.
        tag: u32,
    },
    /// Blocks until all that it sends and receives is complete.
    WaitAll,
    /// Blocks until all that it receives is complete.
    WaitReceives,
    /// Combines received data with its own.
    Compute(Picoseconds),
    /// Its part is done when all that it sends and receives is complete.
    Done,
}

/// What is asked of the members of a communicator, the same of all of them but
/// for sizes that are each member's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectiveCall {
    /// Nobody leaves before all have entered.
    Barrier,
}

impl CollectiveCall {
    /// Which operation of MPI it is.
    pub fn kind(&self) -> CollectiveKind {
        match self {
            Self::Barrier => CollectiveKind::Barrier,
        }
    }

    /// What member `me` of `size` does at `cursor`, which moves on. A member
    /// starts from `Cursor::default()`; after [`Move::Done`] it keeps answering
    /// `Done`.
    pub fn next(&self, me: Member, size: u32, cursor: &mut Cursor) -> Move {
        match self {
            Self::Barrier => barrier(me, size, cursor),
        }
    }
}

/// Dissemination (Hensgen, Finkel, Manber 1988): in round k every member sends
/// to the one 2^k further and receives from the one 2^k before.
fn barrier(me: Member, size: u32, cursor: &mut Cursor) -> Move {
    let round = cursor.iteration;
    let distance = 1u64 << round;
    if distance >= u64::from(size) {
        return Move::Done;
    }
    let around = |offset: u64| Member(((u64::from(me.0) + offset) % u64::from(size)) as u32);
    cursor.stage += 1;
    match cursor.stage {
        1 => Move::Receive {
            from: around(u64::from(size) - distance),
            tag: round,
        },
        2 => Move::Send {
            to: around(distance),
            bytes: Bytes(1),
            tag: round,
        },
        _ => {
            *cursor = Cursor {
                iteration: round + 1,
                ..Cursor::default()
            };
            Move::WaitAll
        }
    }
}
