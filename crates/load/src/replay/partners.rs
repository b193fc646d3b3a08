//! Who the partners of a rank are whose trace stands for all.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

/// Whom a rank talks to where one rank's trace stands for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Partners {
    /// The rank as far from it as the recorded peer is from the recorded rank.
    ///
    /// Around the ring of ranks, as the recorded peer is
    /// from the recorded rank. A message to a rank `d` further is received only if
    /// the trace receives from a rank `d` before as well.
    #[default]
    Offset,
    /// The rank that differs from it in the same bits.
    ///
    /// Whose number differs from its own in the bits in which the recorded
    /// peer's differs from the recorded rank's. Needs a power of two of ranks. What
    /// is sent to a peer is received if the trace receives as much from it.
    Xor,
}

impl Partners {
    /// Who `peer` is to the one with number `own` of `size`, where it was `peer` to the recorded
    /// one.
    pub(super) fn seen(self, own: u32, recorded: u32, peer: u32, size: u32) -> u32 {
        let (own, peer) = (u64::from(own), u64::from(peer));
        let (recorded, size) = (u64::from(recorded), u64::from(size.max(1)));
        (match self {
            // The recorded rank may lie beyond the ranks that replay it.
            Self::Offset => (own + peer + size - recorded % size) % size,
            Self::Xor => own ^ recorded ^ peer,
        }) as u32
    }
}
