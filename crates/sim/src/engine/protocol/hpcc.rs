//! HPCC (Li et al., SIGCOMM 2019): windows for the load of the busiest link on the way, which
//! routers write into packets.
//!
//! From the paper: the load of a link (equation 2), the window and when it is set (algorithm 1), the
//! pace of one window in a round trip. There a sender takes a link's rate from two of its packets that
//! passed the same port; here the port does, over the last round trip, as packets of a pair may take
//! different ways.

use odonata_run::HpccKeys;
use serde::{Deserialize, Serialize};

use crate::engine::port::NEVER;

/// Loads are in millionths.
pub(super) const FULL: u32 = 1_000_000;

/// What a port measures of its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Meter {
    /// When the interval began.
    pub since: u64,
    /// Bytes sent since then.
    pub sent: u64,
    /// Use of the link in the interval before, in millionths.
    pub used: u32,
}

impl Meter {
    /// A packet of so many bytes leaves `waiting` others for a link of `line` bytes per second: the
    /// load of the link, `waiting / (line · T) + rate / line`, in millionths.
    pub fn leaves(
        &mut self,
        keys: &HpccKeys,
        line: u64,
        waiting: u64,
        bytes: u32,
        now: u64,
    ) -> u32 {
        let trip = keys.base_round_trip_ps;
        // Bytes of a whole round trip, in which all loads are counted.
        let whole = (line as f64 * trip as f64 / 1e12).max(1.0);
        let elapsed = now - self.since;
        let sent = self.sent as f64;
        let used = if elapsed >= trip {
            let share = trip as f64 / elapsed as f64;
            let used = (sent / whole * share).min(1.0);
            *self = Self {
                since: now,
                sent: 0,
                used: (used * f64::from(FULL)) as u32,
            };
            used
        } else {
            let before = f64::from(self.used) / f64::from(FULL);
            let rest = 1.0 - elapsed as f64 / trip as f64;
            (before * rest + sent / whole).min(1.0)
        };
        self.sent += u64::from(bytes);
        let load = used + waiting as f64 / whole;
        (load * f64::from(FULL)).min(f64::from(u32::MAX)) as u32
    }
}

/// What a sender keeps of a receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Sender {
    /// Bytes sent that have not arrived as far as is known; of all so far, and as of the last time
    /// that the reference was set.
    pub under_way: u64,
    pub sent: u64,
    pub sent_then: u64,
    /// Bytes that may be under way (W), and the reference that it is set from (W^c).
    pub window: f64,
    pub reference: f64,
    /// Estimate of the load of the busiest link (U), 1 where it is full.
    pub load: f64,
    /// Increases since the window was last set for the target (incStage).
    pub increases: u32,
    /// When the last acknowledgement came.
    pub heard_at: u64,
    /// When the next packet may start.
    pub next: u64,
}

impl Sender {
    /// The sender's link carries `line` bytes per second.
    pub fn new(keys: &HpccKeys, line: f64, now: u64) -> Self {
        let window = largest(keys, line);
        Self {
            under_way: 0,
            sent: 0,
            sent_then: 0,
            window,
            reference: window,
            load: 0.0,
            increases: 0,
            heard_at: now,
            next: 0,
        }
    }

    pub fn permitted(&self, bytes: u32, now: u64) -> u64 {
        let fits = (self.under_way + u64::from(bytes)) as f64 <= self.window;
        if self.under_way == 0 || fits {
            now.max(self.next)
        } else {
            NEVER
        }
    }

    /// A packet leaves now.
    pub fn sent(&mut self, keys: &HpccKeys, bytes: u32, now: u64) {
        self.under_way += u64::from(bytes);
        self.sent += u64::from(bytes);
        // One window in a round trip.
        let pace = f64::from(bytes) / self.window * keys.base_round_trip_ps as f64;
        self.next = now + pace as u64;
    }

    /// A packet of so many bytes has arrived, which met a load in millionths.
    pub fn acknowledged(&mut self, keys: &HpccKeys, line: f64, bytes: u32, load: u32, now: u64) {
        let trip = keys.base_round_trip_ps;
        let weight = (now - self.heard_at).min(trip) as f64 / trip as f64;
        let load = f64::from(load) / f64::from(FULL);
        self.load = (1.0 - weight) * self.load + weight * load;
        self.heard_at = now;
        self.under_way = self.under_way.saturating_sub(u64::from(bytes));
        let arrived = self.sent - self.under_way;
        let most = largest(keys, line);
        let increase = keys.window_increase_bytes as f64;
        let sets = self.load >= keys.target_load || self.increases >= keys.slow_increases;
        let base = match sets {
            true => self.reference / (self.load / keys.target_load).max(1e-6),
            false => self.reference,
        };
        self.window = (base + increase).clamp(increase, most);
        // Once in a round trip: what has arrived was sent after the reference was set.
        if arrived > self.sent_then {
            self.increases = if sets { 0 } else { self.increases + 1 };
            self.reference = self.window;
            self.sent_then = self.sent;
        }
    }

    /// Whether it may send as one that is new.
    pub fn is_free(&self, keys: &HpccKeys, line: f64) -> bool {
        self.under_way == 0 && self.window >= largest(keys, line)
    }
}

/// What the link of a sender carries in a round trip (W_init).
fn largest(keys: &HpccKeys, line: f64) -> f64 {
    (line * keys.base_round_trip_ps as f64 / 1e12).max(keys.window_increase_bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 kB in a round trip of 1 us.
    const LINE: u64 = 10_000_000_000;
    const TRIP: u64 = 1_000_000;

    fn keys() -> HpccKeys {
        HpccKeys {
            base_round_trip_ps: TRIP,
            ..HpccKeys::default()
        }
    }

    /// Equation 2: an idle link has no load, one that always sends and where a quarter of a round trip
    /// waits 1.25, one with a packet of 100 B in every 20 ns half.
    #[test]
    fn a_link_is_measured_over_a_round_trip() {
        let mut meter = Meter::default();
        assert_eq!(meter.leaves(&keys(), LINE, 0, 100, 5 * TRIP), 0);
        let mut load = 0;
        for packet in 1..=1_000 {
            load = meter.leaves(&keys(), LINE, 2_500, 100, 5 * TRIP + packet * 10_000);
        }
        assert!((1_240_000..=1_250_000).contains(&load), "{load}");
        for packet in 0..1_000 {
            load = meter.leaves(&keys(), LINE, 0, 100, 20 * TRIP + packet * 20_000);
        }
        assert!((490_000..=510_000).contains(&load), "{load}");
    }

    /// Algorithm 1: with a load of twice the target the window is halved once per round trip, however
    /// many acknowledgements tell of it.
    #[test]
    fn a_window_is_divided_by_the_load_once_in_a_round_trip() {
        let keys = keys();
        let line = LINE as f64;
        let mut sender = Sender::new(&keys, line, 0);
        assert_eq!(sender.window, 10_000.0);
        for _ in 0..100 {
            sender.sent(&keys, 100, 0);
        }
        assert_eq!(sender.permitted(100, 0), NEVER);
        // The first comes after a round trip, so that its load counts in full.
        let twice = (2.0 * keys.target_load * 1e6) as u32;
        sender.acknowledged(&keys, line, 100, twice, TRIP);
        assert!((sender.window - 5_080.0).abs() < 1.0, "{}", sender.window);
        assert_eq!(sender.reference, sender.window);
        // The others were sent before: they set the window from the new reference, which stays.
        let reference = sender.reference;
        for _ in 0..99 {
            sender.acknowledged(&keys, line, 100, twice, TRIP);
        }
        assert_eq!(sender.reference, reference);
        assert_eq!(sender.under_way, 0);
    }

    /// Below the target the window grows by steps, and after the last of them to the target at once.
    #[test]
    fn a_window_grows_slowly_and_then_at_once() {
        let keys = keys();
        let line = LINE as f64;
        let mut sender = Sender::new(&keys, line, 0);
        (sender.window, sender.reference) = (1_000.0, 1_000.0);
        let half = (0.5 * keys.target_load * 1e6) as u32;
        let mut windows = Vec::new();
        for trip in 1..=6 {
            sender.sent(&keys, 100, trip * TRIP);
            sender.acknowledged(&keys, line, 100, half, trip * TRIP + TRIP - 1);
            windows.push(sender.window.round());
        }
        assert_eq!(windows[..5], [1_080.0, 1_160.0, 1_240.0, 1_320.0, 1_400.0]);
        // 1,400 / 0.5 + 80, as the estimate of the load has come close to half of the target.
        assert!((windows[5] - 2_880.0).abs() < 30.0, "{windows:?}");
    }

    /// A window is paced over a round trip; a full one leaves the link no gap.
    #[test]
    fn packets_are_paced() {
        let keys = keys();
        let mut sender = Sender::new(&keys, LINE as f64, 0);
        sender.sent(&keys, 100, 0);
        assert_eq!(sender.permitted(100, 0), 10_000);
        sender.window = 2_500.0;
        sender.sent(&keys, 100, 10_000);
        assert_eq!(sender.permitted(100, 10_000), 50_000);
    }
}
