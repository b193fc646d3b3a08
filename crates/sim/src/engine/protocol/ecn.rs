//! DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
//!
//! Timers have no events: what they would have done is made up for when a pair is looked at.

use odonata_run::EcnKeys;
use serde::{Deserialize, Serialize};

const PS_PER_SECOND: f64 = 1e12;
/// An estimate of congestion that changes no rate.
const NO_CONGESTION: f64 = 1e-12;

/// The reaction point: what a sender keeps of a receiver. Rates are in bytes per second.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Sender {
    /// R_C.
    pub rate: f64,
    /// R_T: where increases lead to.
    pub target: f64,
    /// Estimate of congestion, from 0 to 1.
    pub alpha: f64,
    /// When the next packet may start.
    pub next: u64,
    /// When the estimate last decayed, and the rate last grew by time.
    pub decayed_at: u64,
    pub raised_at: u64,
    /// Bytes sent since the rate last grew by bytes.
    pub bytes: u64,
    /// Increases since the last cut, by time and by bytes.
    pub by_time: u32,
    pub by_bytes: u32,
}

impl Sender {
    /// One that sends at the rate of its link.
    pub fn new(line: f64, now: u64) -> Self {
        Self {
            rate: line,
            target: line,
            alpha: 1.0,
            next: 0,
            decayed_at: now,
            raised_at: now,
            bytes: 0,
            by_time: 0,
            by_bytes: 0,
        }
    }

    /// Its timers run until `now`.
    pub fn advance(&mut self, keys: &EcnKeys, line: f64, now: u64) {
        while self.decayed_at + keys.decay_interval_ps <= now {
            if self.alpha < NO_CONGESTION {
                self.decayed_at = now;
                break;
            }
            self.alpha *= 1.0 - keys.gain;
            self.decayed_at += keys.decay_interval_ps;
        }
        while self.raised_at + keys.increase_interval_ps <= now {
            if self.rate >= line {
                self.raised_at = now;
                break;
            }
            self.raised_at += keys.increase_interval_ps;
            self.by_time = self.by_time.saturating_add(1);
            self.raise(keys, line);
        }
    }

    /// Fast recovery, additive or hyper increase.
    fn raise(&mut self, keys: &EcnKeys, line: f64) {
        let (most, least) = (
            self.by_time.max(self.by_bytes),
            self.by_time.min(self.by_bytes),
        );
        if least > keys.fast_recoveries {
            self.target += keys.hyper_increase_bytes_per_s as f64;
        } else if most > keys.fast_recoveries {
            self.target += keys.additive_increase_bytes_per_s as f64;
        }
        self.target = self.target.min(line);
        self.rate = (self.rate + self.target) / 2.0;
        // So that it gets there.
        if line - self.rate < 1.0 {
            self.rate = line;
        }
    }

    /// A notification packet (CNP) has come.
    pub fn notified(&mut self, keys: &EcnKeys, line: f64, now: u64) {
        self.advance(keys, line, now);
        self.target = self.rate;
        let least = (keys.least_rate_bytes_per_s as f64).min(line);
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(least);
        self.alpha = (1.0 - keys.gain) * self.alpha + keys.gain;
        (self.decayed_at, self.raised_at) = (now, now);
        (self.bytes, self.by_time, self.by_bytes) = (0, 0, 0);
    }

    /// A packet starts.
    pub fn sent(&mut self, keys: &EcnKeys, bytes: u32, line: f64, now: u64) {
        self.advance(keys, line, now);
        if self.rate < line {
            self.bytes += u64::from(bytes);
            while self.bytes >= keys.increase_bytes {
                self.bytes -= keys.increase_bytes;
                self.by_bytes = self.by_bytes.saturating_add(1);
                self.raise(keys, line);
            }
        }
        self.next = now + (f64::from(bytes) * PS_PER_SECOND / self.rate) as u64;
    }
}

/// The probability with which a router marks a packet that finds so many bytes waiting.
pub(super) fn mark_probability(keys: &EcnKeys, waiting: u64) -> f64 {
    let (from, all) = (keys.mark_from_bytes, keys.mark_all_bytes);
    if waiting <= from {
        0.0
    } else if waiting >= all {
        1.0
    } else {
        keys.mark_probability * (waiting - from) as f64 / (all - from) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: f64 = 5e9;

    /// The equations of the paper, section 5.1: with alpha = 1 the first cut halves the rate; each
    /// of the five fast recoveries halves the distance to the rate before, additive increases then
    /// raise it beyond.
    #[test]
    fn a_cut_halves_and_recovers_as_published() {
        let keys = EcnKeys::default();
        let mut sender = Sender::new(LINE, 0);
        sender.notified(&keys, LINE, 0);
        assert_eq!(
            (sender.rate, sender.target, sender.alpha),
            (LINE / 2.0, LINE, 1.0)
        );
        for recovery in 1..=5 {
            sender.advance(&keys, LINE, recovery * keys.increase_interval_ps);
            let left = LINE / 2.0 / f64::from(1u32 << recovery);
            assert_eq!(sender.rate, LINE - left);
        }
        // Each interval of K without notification: (1 - g) times the estimate.
        assert!((sender.alpha - (1.0 - keys.gain).powi(5)).abs() < 1e-12);
        // The second cut starts from the decayed estimate.
        let (rate, alpha) = (sender.rate, sender.alpha);
        sender.notified(&keys, LINE, 5 * keys.increase_interval_ps);
        assert_eq!(sender.rate, rate * (1.0 - alpha / 2.0));
        assert_eq!(sender.target, rate);
        let sixth = 11 * keys.increase_interval_ps;
        sender.advance(&keys, LINE, sixth);
        // After five halvings one additive increase: the target is beyond the rate before the cut.
        assert_eq!(sender.target, rate + 5e6);
    }

    /// The byte counter alone raises the rate as the timer does; both together hyper-increase.
    #[test]
    fn bytes_raise_the_rate_as_time_does() {
        let keys = EcnKeys::default();
        let mut sender = Sender::new(LINE, 0);
        sender.notified(&keys, LINE, 0);
        sender.sent(&keys, 10_000_000, LINE, 1);
        assert_eq!(sender.rate, LINE * 0.75);
        // 10 MB at three quarters of 5 GB/s.
        assert_eq!(sender.next, 1 + 2_666_666_666);
        let mut slow = Sender::new(LINE, 0);
        slow.notified(&keys, LINE, 0);
        slow.notified(&keys, LINE, 0);
        (slow.by_time, slow.by_bytes) = (6, 5);
        slow.target = 1e9;
        slow.sent(&keys, 10_000_000, LINE, 1);
        assert_eq!(slow.target, 1e9 + 50e6);
    }

    /// A long idle pair is at its link's rate, in few steps.
    #[test]
    fn an_idle_pair_recovers_fully() {
        let keys = EcnKeys::default();
        let mut sender = Sender::new(LINE, 0);
        for _ in 0..20 {
            sender.notified(&keys, LINE, 0);
        }
        assert_eq!(sender.rate, keys.least_rate_bytes_per_s as f64);
        sender.advance(&keys, LINE, 3_000_000_000_000);
        assert_eq!((sender.rate, sender.raised_at), (LINE, 3_000_000_000_000));
    }

    #[test]
    fn marks_grow_between_the_thresholds() {
        let keys = EcnKeys::default();
        assert_eq!(mark_probability(&keys, 5_000), 0.0);
        assert_eq!(mark_probability(&keys, 102_500), 0.005);
        assert_eq!(mark_probability(&keys, 200_000), 1.0);
    }
}
