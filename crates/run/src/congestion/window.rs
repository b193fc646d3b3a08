//! A limit on the bytes under way between two nodes.

use odonata_declare::table;

table! {
    /// The keys of the scheme `window`.
    pub struct WindowKeys {
        /// Bytes that a node has under way to another at most: sent and not yet acknowledged. A
        /// packet always leaves when nothing is under way. What one pair sends at its full rate is
        /// this much per round trip.
        window_bytes: u64 = 65_536 => Notes::POSITIVE,
    }
}
