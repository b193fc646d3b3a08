//! Endpoint congestion as De Sensi et al. describe it: "An In-Depth Analysis of the Slingshot
//! Interconnect", SC 2020, section II-D.

use odonata_declare::table;

table! {
    /// The keys of the scheme `slingshot`. The paper gives no parameters: all are assumed.
    pub struct SlingshotKeys {
        /// Bytes that wait for a node's link at its router from which on the senders of what waits
        /// there are held back.
        hold_from_bytes: u64 = 16_384 => Notes::POSITIVE,
        /// Bytes that all senders that are held back for a node may have waiting for its link
        /// together: what is under way besides is what the link carries in a round trip. Each has an
        /// equal share of both, but one packet at least.
        shared_queue_bytes: u64 = 16_384 => Notes::POSITIVE,
        /// A sender that is held back no longer counts when its last packet came this long ago.
        forget_after_ps: u64 = 20_000_000 => Notes::POSITIVE,
    }
}
