//! Open-loop sources: traffic offered at a given rate, whatever the network does.

use odonata_units::random::StreamKey;
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::pattern::Pattern;

/// When a source starts its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps with the given mean.
    Poisson {
        /// Mean gap, in picoseconds (fractions matter at high rates).
        mean_gap_ps: f64,
    },
    /// Fixed gaps, the first after a random fraction of one gap.
    Periodic {
        /// Gap, in picoseconds.
        gap_ps: f64,
    },
    /// In every slot a message with the given probability, as cycle-based
    /// simulators (BookSim) inject.
    Bernoulli {
        /// Length of a slot.
        slot: Picoseconds,
        /// Probability of a message per slot, in (0, 1].
        probability: f64,
    },
}

/// Every rank of a job sends messages of one size to destinations that a
/// pattern chooses.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// When.
    pub arrivals: Arrivals,
    /// Size of each message, at least 1 byte.
    pub message: Bytes,
    /// Number of sending ranks.
    pub ranks: u32,
}

impl OpenLoop {
    /// When `rank` starts its message number `n` (from 0), given when it started
    /// the one before (`start` of the job for n = 0). Never before `previous`.
    pub fn arrival(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        start: Picoseconds,
        previous: Picoseconds,
    ) -> Picoseconds {
        match self.arrivals {
            Arrivals::Poisson { mean_gap_ps } => {
                let gap = -key.unit(entity, n).ln() * mean_gap_ps;
                previous + Picoseconds(gap.round() as u64)
            }
            Arrivals::Periodic { gap_ps } => {
                let phase = key.unit(entity, 0);
                start + Picoseconds(((phase + f64::from(n)) * gap_ps).round() as u64)
            }
            Arrivals::Bernoulli { slot, probability } => {
                let failures = if probability >= 1.0 {
                    0.0
                } else {
                    (key.unit(entity, n).ln() / (1.0 - probability).ln()).floor()
                };
                let first = if n == 0 { 0 } else { 1 };
                previous + Picoseconds((failures as u64 + first) * slot.0)
            }
        }
    }

    /// Rank to which message number `n` of `source` goes; `None` if this rank
    /// sends nothing under the pattern.
    pub fn destination(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        source: RankId,
    ) -> Option<RankId> {
        self.pattern.destination(key, entity, n, source, self.ranks)
    }
}
