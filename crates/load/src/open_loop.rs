//! Open-loop sources: traffic offered at a given rate, whatever the network does.

use odonata_declare::Named;
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::error::LoadError;
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
    /// Fixed gaps, the first at the start: all sources at once.
    Aligned {
        /// Gap, in picoseconds.
        gap_ps: f64,
    },
    /// Fixed gaps, each longer by an exponential time: sources that begin together come
    /// out of step.
    Drifting {
        /// Gap without that time, in picoseconds.
        gap_ps: f64,
        /// Mean of that time, in picoseconds.
        drift_ps: f64,
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

/// The kind of an arrival process, before its rate is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(kinds = ProcessName)]
pub enum Process {
    /// Exponential gaps.
    #[default]
    Poisson,
    /// Fixed gaps after a random fraction of one.
    Periodic,
    /// Fixed gaps, with all ranks at once.
    Aligned,
    /// Fixed gaps, each longer by an exponential time.
    Drifting {
        /// Mean of that time; the first message comes after one.
        drift: Picoseconds,
    },
    /// With a fixed probability in every slot.
    Bernoulli {
        /// Length of a slot: usually the time of one flit or packet.
        slot: Picoseconds,
    },
}

/// Longest mean gap: 10¹⁶ ps are 2.8 hours, and the longest gap that can be
/// drawn (37 mean gaps) still fits 64 bits.
const LONGEST_GAP_PS: f64 = 1e16;

impl Arrivals {
    /// The arrivals that offer `bytes_per_second` per source in messages of
    /// `message` bytes (drifting ones less by what their gaps are longer). A Bernoulli source
    /// whose slot is the gap rounded up to
    /// whole picoseconds sends in every slot.
    ///
    /// # Errors
    /// If the rate is not positive, the message empty, the gap out of range, or
    /// if a Bernoulli source would need more than one message per slot.
    pub fn from_rate(
        message: Bytes,
        bytes_per_second: f64,
        process: Process,
    ) -> Result<Self, LoadError> {
        if !(bytes_per_second > 0.0 && bytes_per_second.is_finite()) {
            return Err(LoadError::Rate {
                found: bytes_per_second,
            });
        }
        if message == Bytes::ZERO {
            return Err(LoadError::EmptyMessage);
        }
        let gap_ps = message.0 as f64 * Picoseconds::SECOND.0 as f64 / bytes_per_second;
        let arrivals = match process {
            Process::Poisson => Self::Poisson {
                mean_gap_ps: gap_ps,
            },
            Process::Periodic => Self::Periodic { gap_ps },
            Process::Aligned => Self::Aligned { gap_ps },
            Process::Drifting { drift } => Self::Drifting {
                gap_ps,
                drift_ps: drift.0 as f64,
            },
            Process::Bernoulli { slot } => Self::Bernoulli {
                slot,
                probability: match slot.0 as f64 / gap_ps {
                    more if more > 1.0 && (slot.0 as f64) < gap_ps + 1.0 => 1.0,
                    probability => probability,
                },
            },
        };
        arrivals.check()?;
        Ok(arrivals)
    }

    /// Mean time between two messages of a source, in picoseconds.
    pub fn mean_gap_ps(&self) -> f64 {
        match *self {
            Self::Poisson { mean_gap_ps } => mean_gap_ps,
            Self::Periodic { gap_ps } | Self::Aligned { gap_ps } => gap_ps,
            Self::Drifting { gap_ps, drift_ps } => gap_ps + drift_ps,
            Self::Bernoulli { slot, probability } => slot.0 as f64 / probability,
        }
    }

    /// The same process, this many times as often.
    fn times_as_often(self, factor: f64) -> Self {
        match self {
            Self::Poisson { mean_gap_ps } => Self::Poisson {
                mean_gap_ps: mean_gap_ps / factor,
            },
            Self::Periodic { gap_ps } => Self::Periodic {
                gap_ps: gap_ps / factor,
            },
            Self::Aligned { gap_ps } => Self::Aligned {
                gap_ps: gap_ps / factor,
            },
            Self::Drifting { gap_ps, drift_ps } => Self::Drifting {
                gap_ps: gap_ps / factor,
                drift_ps,
            },
            Self::Bernoulli { slot, probability } => Self::Bernoulli {
                slot,
                probability: probability * factor,
            },
        }
    }

    /// Whether the numbers describe a process.
    ///
    /// # Errors
    /// If the mean gap is below 1 ps or beyond 10¹⁶ ps, a slot is empty, or a
    /// probability lies outside (0, 1].
    pub fn check(&self) -> Result<(), LoadError> {
        if let Self::Bernoulli { slot, probability } = *self {
            if slot == Picoseconds::ZERO {
                return Err(LoadError::NoSlot);
            }
            if !(probability > 0.0 && probability <= 1.0) {
                return Err(LoadError::Probability { found: probability });
            }
        }
        let gap_ps = self.mean_gap_ps();
        if !(1.0..=LONGEST_GAP_PS).contains(&gap_ps) {
            return Err(LoadError::Gap {
                found_ps: gap_ps,
                most_ps: LONGEST_GAP_PS,
            });
        }
        Ok(())
    }
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
    /// How often each rank sends, if that has an end.
    messages: Option<u32>,
    /// Whether messages are other than one at a time without end.
    uneven: bool,
}

impl OpenLoop {
    /// A source without end on each of `ranks` ranks.
    ///
    /// # Errors
    /// If the message is empty, the arrivals are no process, or the pattern does
    /// not fit the number of ranks.
    pub fn new(
        pattern: Pattern,
        arrivals: Arrivals,
        message: Bytes,
        ranks: u32,
    ) -> Result<Self, LoadError> {
        pattern.check(ranks)?;
        arrivals.check()?;
        let (most, least) = pattern.rate_extremes();
        arrivals.times_as_often(most).check()?;
        arrivals.times_as_often(least).check()?;
        if message == Bytes::ZERO {
            return Err(LoadError::EmptyMessage);
        }
        Ok(Self {
            arrivals,
            message,
            ranks,
            messages: None,
            uneven: matches!(pattern, Pattern::Partners(_) | Pattern::Matrix(_)),
            pattern,
        })
    }

    /// The same source, which ends when every rank has sent `messages` times.
    ///
    /// # Errors
    /// If that is 0, or makes more messages of a rank than 32 bits count.
    pub fn ending_after(mut self, messages: u32) -> Result<Self, LoadError> {
        let at_once = self.pattern.most_at_once();
        if messages == 0 {
            return Err(LoadError::NoMessages);
        }
        if messages.checked_mul(at_once.max(1)).is_none() {
            return Err(LoadError::TooManyTimes { messages, at_once });
        }
        self.messages = Some(messages);
        self.uneven = true;
        Ok(self)
    }

    /// How often each rank sends; `None`: without end.
    pub fn times(&self) -> Option<u32> {
        self.messages
    }

    /// Messages that a rank sends in all; `None`: without end.
    pub fn messages_of(&self, rank: RankId) -> Option<u64> {
        let sends = |rank| {
            let key = StreamKey::new(0, Purpose::Destination);
            self.destination(key, 0, 0, rank).is_some()
        };
        let times = u64::from(self.messages?);
        Some(match &self.pattern {
            Pattern::Partners(partners) => times * u64::from(partners.at_once(rank)),
            _ => times * u64::from(sends(rank)),
        })
    }

    /// Messages that all ranks send together; `None`: without end.
    pub fn total_messages(&self) -> Option<u64> {
        (0..self.ranks)
            .map(|rank| self.messages_of(RankId(rank)))
            .sum()
    }

    /// Offered rate of the source that sends most, in bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        let at_once = f64::from(self.pattern.most_at_once());
        let (most, _) = self.pattern.rate_extremes();
        at_once * most * self.message.0 as f64 * Picoseconds::SECOND.0 as f64
            / self.arrivals.mean_gap_ps()
    }

    /// When `source` starts its message number `n` (from 0), given when it started
    /// the one before (`start` of the job for n = 0). Never before `previous`; the end of
    /// time if there is no such message, or if it would be later.
    ///
    /// Gaps are rounded to whole picoseconds each, so that the mean of
    /// exponential gaps is off by less than (1 ps / mean gap)² / 24 of itself;
    /// periodic sources do not accumulate rounding.
    #[inline]
    pub fn arrival(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        source: RankId,
        start: Picoseconds,
        previous: Picoseconds,
    ) -> Picoseconds {
        let (n, arrivals) = match self.uneven {
            false => (n, self.arrivals),
            true => match self.time_of(n, source) {
                Time::Again => return previous,
                Time::Number(n) => (n, self.arrivals_of(source)),
                Time::Never => return Picoseconds(u64::MAX),
            },
        };
        match arrivals {
            Arrivals::Poisson { mean_gap_ps } => {
                let gap = -libm::log(key.unit(entity, n)) * mean_gap_ps;
                previous.saturating_add(Picoseconds(gap.round() as u64))
            }
            Arrivals::Periodic { gap_ps } => {
                let phase = key.unit(entity, 0);
                let since = Picoseconds(((phase + f64::from(n)) * gap_ps).round() as u64);
                start.saturating_add(since)
            }
            Arrivals::Aligned { gap_ps } => {
                start.saturating_add(Picoseconds((f64::from(n) * gap_ps).round() as u64))
            }
            Arrivals::Drifting { gap_ps, drift_ps } => {
                let gap = if n == 0 { 0.0 } else { gap_ps };
                let drift = -libm::log(key.unit(entity, n)) * drift_ps;
                previous.saturating_add(Picoseconds((gap + drift).round() as u64))
            }
            Arrivals::Bernoulli { slot, probability } => {
                // The number of slots without a message before the next one is
                // geometric. ln(1 - p) by log1p keeps tiny probabilities exact;
                // p = 1 divides by minus infinity, which gives 0.
                let empty = (libm::log(key.unit(entity, n)) / libm::log1p(-probability)).floor();
                let first = u64::from(n != 0);
                let slots = (empty as u64).saturating_add(first);
                previous.saturating_add(Picoseconds(slots.saturating_mul(slot.0)))
            }
        }
    }

    /// The process of one rank.
    fn arrivals_of(&self, source: RankId) -> Arrivals {
        match &self.pattern {
            // Ranks that do not send are found out when they are asked for the first.
            Pattern::Matrix(rates) if rates.relative(source) > 0.0 => {
                self.arrivals.times_as_often(rates.relative(source))
            }
            _ => self.arrivals,
        }
    }

    /// At which of the times at which `source` sends it starts message `n`.
    #[inline(never)]
    fn time_of(&self, n: u32, source: RankId) -> Time {
        // Ranks without partners are found out when they are asked for the first.
        let at_once = self.pattern.at_once(source).max(1);
        if !n.is_multiple_of(at_once) {
            return Time::Again;
        }
        match self.messages {
            Some(messages) if n / at_once >= messages => Time::Never,
            _ => Time::Number(n / at_once),
        }
    }

    /// Rank to which message number `n` of `source` goes; `None` if this rank
    /// sends nothing under the pattern.
    #[inline]
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

/// When a message of a source starts that sends several at a time, or comes to an end.
enum Time {
    /// At the same time as the one before.
    Again,
    /// At the time of this number.
    Number(u32),
    /// There is no such message.
    Never,
}

#[cfg(test)]
mod tests;
