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

    /// The same process, so many times as often.
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
mod tests {
    use super::*;
    use crate::Grid;
    use crate::pattern::{Partners, Turn};
    use std::sync::Arc;

    const START: Picoseconds = Picoseconds(5_000_000);

    fn source(arrivals: Arrivals) -> OpenLoop {
        OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(64), 4).unwrap()
    }

    /// Arrivals of the first `count` messages of one entity.
    fn times(source: &OpenLoop, entity: u64, count: u32) -> Vec<Picoseconds> {
        let key = StreamKey::new(3, Purpose::Arrival);
        let mut previous = START;
        (0..count)
            .map(|n| {
                let at = source.arrival(key, entity, n, RankId(0), START, previous);
                assert!(at >= previous);
                previous = at;
                at
            })
            .collect()
    }

    #[test]
    fn rates_are_as_asked() {
        // The mean of 4 million gaps is off by 1/2000 of itself (exponential,
        // geometric: one standard deviation); 0.1 % are two of them, and the
        // seed is fixed.
        let slot = Picoseconds(1_000);
        for process in [
            Process::Poisson,
            Process::Periodic,
            Process::Bernoulli { slot },
        ] {
            for rate in [1.0e9, 6.4e9] {
                let arrivals = Arrivals::from_rate(Bytes(64), rate, process).unwrap();
                let source = source(arrivals);
                assert!((source.bytes_per_second() / rate - 1.0).abs() < 1e-12);
                let (entities, count) = (40, 100_000);
                let mean = (0..entities)
                    .map(|entity| {
                        let times = times(&source, entity, count);
                        let span = times[count as usize - 1] - times[0];
                        span.0 as f64 / f64::from(count - 1)
                    })
                    .sum::<f64>()
                    / entities as f64;
                let expected = 64e12 / rate;
                assert!(
                    (mean / expected - 1.0).abs() < 1e-3,
                    "{process:?} at {rate}: mean gap {mean}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn drifting_sources_come_out_of_step_as_a_random_walk() {
        let drift = Picoseconds(1_000);
        let process = Process::Drifting { drift };
        // A gap of 1 µs, and 1 ns more in the mean.
        let arrivals = Arrivals::from_rate(Bytes(64), 64e6, process).unwrap();
        let source = source(arrivals);
        assert!((arrivals.mean_gap_ps() - 1_001_000.0).abs() < 1e-6);
        let (entities, count) = (4_000, 26);
        let nth = |n: usize| -> Vec<f64> {
            (0..entities)
                .map(|entity| times(&source, entity, count)[n].0 as f64)
                .collect()
        };
        for n in [0, 9, 25] {
            let (at, draws) = (nth(n), (n + 1) as f64);
            let mean = at.iter().sum::<f64>() / f64::from(entities as u32);
            let square = at.iter().map(|t| (t - mean).powi(2)).sum::<f64>();
            let deviation = (square / f64::from(entities as u32)).sqrt();
            // n gaps of 1 µs, n + 1 exponential times of 1 ns: 4 standard errors.
            let expected = 5e6 + n as f64 * 1e6 + draws * 1e3;
            assert!(
                (mean - expected).abs() < 4.0 * (draws * 1e6 / 4e3).sqrt(),
                "{n}: {mean}"
            );
            assert!(
                (deviation / (draws * 1e6).sqrt() - 1.0).abs() < 0.08,
                "{n}: {deviation}"
            );
        }
    }

    #[test]
    fn ranks_of_a_matrix_send_as_often_as_it_says() {
        let mut builder = crate::matrix::MatrixBuilder::new();
        builder.add(RankId(0), RankId(1), Bytes(10), None);
        builder.add(RankId(1), RankId(2), Bytes(50), None);
        let (matrix, _) = builder.build(3).unwrap();
        let rates = Arc::new(crate::pattern::Rates::between_ranks(&matrix, 3).unwrap());
        let slot = Picoseconds(1_000);
        let pattern = || Pattern::Matrix(rates.clone());
        for process in [
            Process::Poisson,
            Process::Periodic,
            Process::Aligned,
            Process::Bernoulli { slot },
        ] {
            // 64 ns between messages of the average rank.
            let arrivals = Arrivals::from_rate(Bytes(64), 1e9, process).unwrap();
            let source = OpenLoop::new(pattern(), arrivals, Bytes(64), 3).unwrap();
            // 10 of 60, by 20 on average; the busiest sends 50.
            assert!((source.bytes_per_second() / 2.5e9 - 1.0).abs() < 1e-12);
            for (rank, relative) in [(RankId(0), 0.5), (RankId(1), 2.5)] {
                let key = StreamKey::new(3, Purpose::Arrival);
                let (mut at, count) = (START, 100_000);
                for n in 0..count {
                    at = source.arrival(key, u64::from(rank.0), n, rank, START, at);
                }
                let mean = (at - START).0 as f64 / f64::from(count);
                // Three standard deviations of exponential gaps are 1 %.
                assert!(
                    (mean * relative / 64_000.0 - 1.0).abs() < 1e-2,
                    "{process:?}: {mean}"
                );
            }
            let key = StreamKey::new(3, Purpose::Destination);
            assert_eq!(source.destination(key, 2, 0, RankId(2)), None);
        }
        // The busiest rank would need more than a message a slot.
        let arrivals = Arrivals::Bernoulli {
            slot,
            probability: 0.5,
        };
        assert!(OpenLoop::new(pattern(), arrivals, Bytes(64), 3).is_err());
    }

    #[test]
    fn the_first_slot_is_as_likely_as_any_other() {
        let slot = Picoseconds(500);
        let probability = 0.3;
        let source = source(Arrivals::Bernoulli { slot, probability });
        let entities = 100_000;
        let mut filled = [0u32; 3];
        for entity in 0..entities {
            for at in times(&source, entity, 4) {
                let since = at - START;
                assert_eq!(since.0 % slot.0, 0);
                if let Some(count) = filled.get_mut((since.0 / slot.0) as usize) {
                    *count += 1;
                }
            }
        }
        for (slot, count) in filled.into_iter().enumerate() {
            // Five standard deviations of a share of 0.3 of 100,000.
            let share = f64::from(count) / entities as f64;
            assert!((share - probability).abs() < 0.0073, "slot {slot}: {share}");
        }
    }

    #[test]
    fn a_full_bernoulli_source_sends_in_every_slot() {
        let slot = Picoseconds(64_000);
        let source = source(Arrivals::Bernoulli {
            slot,
            probability: 1.0,
        });
        for (n, at) in times(&source, 9, 50).into_iter().enumerate() {
            assert_eq!(at.0, START.0 + n as u64 * slot.0);
        }
    }

    #[test]
    fn periodic_sources_keep_time_and_spread_their_phases() {
        // A gap of 10⁵/3 ps: after 3,000 messages exactly 10⁸ ps have passed.
        let source = source(Arrivals::Periodic {
            gap_ps: 100_000.0 / 3.0,
        });
        let mut phases = 0.0;
        for entity in 0..2_000 {
            let times = times(&source, entity, 3_001);
            let span = times[3_000] - times[0];
            assert!(span.0.abs_diff(100_000_000) <= 1, "{span}");
            phases += (times[0] - START).0 as f64;
        }
        // Uniform phases have mean 1/2 gap, with a standard error of 0.29/sqrt(2000) gaps.
        let mean = phases / 2_000.0 / (100_000.0 / 3.0);
        assert!((mean - 0.5).abs() < 0.033, "mean phase {mean}");
    }

    #[test]
    fn poisson_counts_have_the_variance_of_poisson_counts() {
        // Counts per window of ten mean gaps: mean and variance are both 10.
        let source = source(Arrivals::Poisson { mean_gap_ps: 1e6 });
        let mut counts = vec![0u32; 20_000];
        for at in times(&source, 1, 220_000) {
            if let Some(count) = counts.get_mut(((at - START).0 / 10_000_000) as usize) {
                *count += 1;
            }
        }
        let n = counts.len() as f64;
        let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / n;
        let variance = counts
            .iter()
            .map(|&c| (f64::from(c) - mean).powi(2))
            .sum::<f64>()
            / n;
        assert!((mean - 10.0).abs() < 0.12, "mean {mean}");
        assert!((variance - 10.0).abs() < 0.6, "variance {variance}");
    }

    #[test]
    fn messages_to_all_partners_start_together() {
        let grid = Grid::new(&[4], false).unwrap();
        let partners = Partners::neighbours(&grid, Turn::All).unwrap();
        let pattern = Pattern::Partners(Arc::new(partners));
        let arrivals = Arrivals::Aligned { gap_ps: 1_000.0 };
        let source = OpenLoop::new(pattern, arrivals, Bytes(64), 4).unwrap();
        let source = source.ending_after(2).unwrap();
        let key = StreamKey::new(3, Purpose::Arrival);
        let times = |rank| {
            let mut previous = START;
            (0..5u32)
                .map(|n| {
                    previous = source.arrival(key, 0, n, RankId(rank), START, previous);
                    previous.0.wrapping_sub(START.0)
                })
                .collect::<Vec<_>>()
        };
        let never = u64::MAX - START.0;
        // Rank 1 has two neighbours, rank 0 one.
        assert_eq!(times(1), [0, 0, 1_000, 1_000, never]);
        assert_eq!(times(0)[..3], [0, 1_000, never]);
        assert_eq!(source.messages_of(RankId(1)), Some(4));
        assert_eq!(source.total_messages(), Some(2 * (1 + 2 + 2 + 1)));
        // Two messages of 64 B in 1 ns.
        assert!((source.bytes_per_second() - 128e9).abs() < 1.0);
        assert_eq!(
            source.clone().ending_after(0).unwrap_err(),
            LoadError::NoMessages
        );
        let many = LoadError::TooManyTimes {
            messages: 1 << 31,
            at_once: 2,
        };
        assert_eq!(source.ending_after(1 << 31).unwrap_err(), many);
    }

    #[test]
    fn ranks_that_a_pattern_leaves_out_send_nothing() {
        let arrivals = Arrivals::Periodic { gap_ps: 1e3 };
        let transpose = Pattern::transpose(9).unwrap();
        let source = OpenLoop::new(transpose, arrivals, Bytes(1), 9).unwrap();
        assert_eq!(source.total_messages(), None);
        // The three of the diagonal.
        let total = source.ending_after(10).unwrap().total_messages();
        assert_eq!(total, Some(60));
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        let from = |rate, process| Arrivals::from_rate(Bytes(64), rate, process);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(from(rate, Process::Poisson).is_err(), "{rate}");
        }
        assert!(from(1e-5, Process::Poisson).is_err());
        let slot = Picoseconds(64_000);
        assert!(from(1e9, Process::Bernoulli { slot }).is_ok());
        assert_eq!(
            from(2e9, Process::Bernoulli { slot }),
            Err(LoadError::Probability { found: 2.0 })
        );
        // 64 B at 3 GB/s take 21,333.3 ps.
        let full = from(
            3e9,
            Process::Bernoulli {
                slot: Picoseconds(21_334),
            },
        );
        assert!(matches!(
            full,
            Ok(Arrivals::Bernoulli {
                probability: 1.0,
                ..
            })
        ));
        let slot = Picoseconds::ZERO;
        assert_eq!(
            from(1e9, Process::Bernoulli { slot }),
            Err(LoadError::NoSlot)
        );
        assert_eq!(
            Arrivals::from_rate(Bytes::ZERO, 1e9, Process::Poisson),
            Err(LoadError::EmptyMessage)
        );
        let arrivals = from(1e9, Process::Poisson).unwrap();
        assert!(OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(64), 1).is_err());
        assert!(OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes::ZERO, 2).is_err());
    }
}
