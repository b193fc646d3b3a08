//! What messages are for, by the protocol that ranks follow.

use serde::{Deserialize, Serialize};

/// What a message is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum MessageKind {
    /// Sent without asking.
    #[default]
    Eager,
    /// Asks the receiver of a long message for its permission.
    Request,
    /// The permission.
    Grant,
    /// The long message.
    Granted,
    /// That it has been taken in, if its sender waits for that.
    Finished,
    /// Writes into the memory of the receiver, which has no part in it.
    Put,
    /// That this has happened.
    Acknowledge,
    /// Asks for a part of the receiver's memory.
    Ask,
    /// That part.
    Answer,
}

impl MessageKind {
    /// Whether it belongs to the protocol and carries nothing of the job's.
    #[inline(always)]
    pub fn is_control(self) -> bool {
        matches!(
            self,
            Self::Request | Self::Grant | Self::Finished | Self::Acknowledge | Self::Ask
        )
    }
}
