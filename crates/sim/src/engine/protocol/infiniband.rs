//! Congestion control of annex A10 of the InfiniBand architecture specification: marks (FECN) of
//! switches, notifications (BECN) of receivers, and delays that an index into a table (CCT) gives.

use odonata_run::InfinibandKeys;
use serde::{Deserialize, Serialize};

/// What a sender keeps of a receiver.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct Sender {
    /// CCTI, at a time.
    pub index: u32,
    pub since: u64,
    /// When the next packet may start.
    pub next: u64,
}

impl Sender {
    /// The timer of the interface runs until `now`.
    fn advance(&mut self, keys: &InfinibandKeys, now: u64) {
        let ticks = now / keys.index_timer_ps - self.since / keys.index_timer_ps;
        self.index = self
            .index
            .saturating_sub(ticks.min(u64::from(u32::MAX)) as u32);
        self.since = now;
    }

    /// A packet leaves from `now` to `end`.
    pub fn sent(&mut self, keys: &InfinibandKeys, now: u64, end: u64) {
        self.advance(keys, now);
        self.next = end + (end - now) * u64::from(self.index);
    }

    /// A notification has come.
    pub fn notified(&mut self, keys: &InfinibandKeys, now: u64) {
        self.advance(keys, now);
        self.index = self
            .index
            .saturating_add(keys.index_increase)
            .min(keys.index_limit);
    }
}

/// Bytes that must wait for a port before it counts as congested, if its link has such a buffer at
/// the other end; `None`: it never does.
pub(super) fn threshold(keys: &InfinibandKeys, buffer: u32) -> Option<u64> {
    let parts = 16 - u64::from(keys.threshold.min(15));
    (keys.threshold > 0).then(|| u64::from(buffer) * parts / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Annex A10: each notification raises the index, each tick of the timer lowers it; a packet is
    /// followed by the delay that the index gives.
    #[test]
    fn the_index_rises_by_notifications_and_falls_by_time() {
        let keys = InfinibandKeys::default();
        let mut sender = Sender::default();
        for _ in 0..3 {
            sender.notified(&keys, 1_000);
        }
        sender.sent(&keys, 2_000, 3_000);
        assert_eq!((sender.index, sender.next), (3, 6_000));
        sender.sent(&keys, keys.index_timer_ps, keys.index_timer_ps + 1_000);
        assert_eq!(
            (sender.index, sender.next),
            (2, keys.index_timer_ps + 3_000)
        );
        sender.sent(
            &keys,
            9 * keys.index_timer_ps,
            9 * keys.index_timer_ps + 1_000,
        );
        assert_eq!(sender.next, 9 * keys.index_timer_ps + 1_000);
        for _ in 0..200 {
            sender.notified(&keys, 9 * keys.index_timer_ps);
        }
        assert_eq!(sender.index, keys.index_limit);
    }

    #[test]
    fn thresholds_are_shares_of_a_buffer() {
        let with = |threshold| InfinibandKeys {
            threshold,
            ..InfinibandKeys::default()
        };
        assert_eq!(threshold(&with(15), 32_768), Some(2_048));
        assert_eq!(threshold(&with(1), 32_768), Some(30_720));
        assert_eq!(threshold(&with(0), 32_768), None);
    }
}
