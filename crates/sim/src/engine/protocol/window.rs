//! A limit on the bytes under way between two nodes.

use serde::{Deserialize, Serialize};

use crate::engine::port::NEVER;

/// What a sender keeps of a receiver.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct Sender {
    /// Bytes sent and not acknowledged.
    pub under_way: u64,
}

impl Sender {
    /// When a packet may leave: now, or after an acknowledgement.
    pub fn permitted(&self, window: u64, bytes: u32, now: u64) -> u64 {
        if self.under_way == 0 || self.under_way + u64::from(bytes) <= window {
            now
        } else {
            NEVER
        }
    }

    pub fn acknowledged(&mut self, bytes: u32) {
        self.under_way = self.under_way.saturating_sub(u64::from(bytes));
    }
}
