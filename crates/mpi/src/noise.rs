//! The noise of a rank: how much longer its processors take for what they do, and how late it enters
//! collectives. Every draw follows from the job's number, the rank's and its count, so that noise does
//! not depend on what else happens.

use odonata_run::Noise;
use serde::{Deserialize, Serialize};

/// Draws of a rank's late entries, apart from those of its processors.
const ENTRIES: u64 = 0xFF;
/// Mean interruptions that are skipped at once where a processor had nothing to do: more than it takes
/// until it does not matter any more when the last one was.
const FORGOTTEN: u64 = 64;

/// The next interruption of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Detour {
    /// When it begins, in ps.
    begin: u64,
    /// When it ends.
    end: u64,
    /// How many numbers were drawn.
    drawn: u32,
}

/// What of a rank's noise changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseRecord {
    /// Shape: processors that were busy.
    detours: Vec<Detour>,
    /// Entries that were drawn.
    entries: u32,
}

/// A draw from the exponential distribution of mean 1.
fn exponential(noise: &Noise, entity: u64, number: u32) -> f64 {
    -libm::log(noise.draws.unit(entity, number))
}

/// Draws of a processor of a rank of a job, or of the rank's entries.
fn entity(job: u32, rank: u32, of: u64) -> u64 {
    u64::from(job) << 40 ^ u64::from(rank) << 8 ^ of
}

impl Detour {
    /// The one after it, which begins after `end`.
    fn follow(&mut self, noise: &Noise, entity: u64, end: u64) {
        let mut draw = || {
            let drawn = exponential(noise, entity, self.drawn);
            self.drawn = self.drawn.wrapping_add(1);
            drawn
        };
        let gap = draw() * noise.interval.0 as f64;
        let sum: f64 = (0..Noise::SHAPE).map(|_| draw()).sum();
        let time = sum / f64::from(Noise::SHAPE) * noise.time.0 as f64;
        // At least a picosecond lies between two, so that every loop over them ends.
        self.begin = end.saturating_add(gap as u64).saturating_add(1);
        self.end = self.begin.saturating_add(time as u64);
    }
}

impl NoiseRecord {
    /// When a processor ends what it begins at `now` and what takes `duration` ps without noise.
    pub fn until(
        &mut self,
        noise: &Noise,
        (job, rank): (u32, u32),
        processor: usize,
        now: u64,
        duration: u64,
    ) -> u64 {
        if noise.time.0 == 0 {
            return now.saturating_add(duration);
        }
        let entity = entity(job, rank, processor as u64);
        while self.detours.len() <= processor {
            let mut first = Detour::default();
            first.follow(noise, entity, 0);
            self.detours.push(first);
        }
        let next = &mut self.detours[processor];
        let forgotten = (noise.interval.0.saturating_add(noise.time.0)).saturating_mul(FORGOTTEN);
        if now - now.min(next.end) > forgotten {
            next.follow(noise, entity, now - forgotten);
        }
        while next.end <= now {
            next.follow(noise, entity, next.end);
        }
        let (mut at, mut left) = (now, duration);
        loop {
            let works = next.begin.saturating_sub(at);
            if next.begin > at && works >= left {
                return at.saturating_add(left);
            }
            left -= works.min(left);
            at = next.end.max(at);
            next.follow(noise, entity, next.end);
        }
    }

    /// By how many ps a rank enters its next collective late.
    pub fn entry(&mut self, noise: &Noise, (job, rank): (u32, u32)) -> u64 {
        let drawn = exponential(noise, entity(job, rank, ENTRIES), self.entries);
        self.entries = self.entries.wrapping_add(1);
        (drawn * noise.entry_delay.0 as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use odonata_units::Picoseconds;
    use odonata_units::random::{Purpose, StreamKey};

    use super::*;

    fn noise(interval: u64, time: u64) -> Noise {
        Noise {
            interval: Picoseconds(interval),
            time: Picoseconds(time),
            entry_delay: Picoseconds(1_000_000),
            draws: StreamKey::new(1, Purpose::Noise),
        }
    }

    /// Work of d takes d (1 + time / interval) in the mean, however it is cut into pieces. Pieces after
    /// pauses also wait for interruptions that have begun in these: in the share time / (interval +
    /// time) of all cases for half of time (1 + 1 / shape).
    #[test]
    fn work_takes_longer_by_the_share_of_interruptions() {
        let noise = noise(1_000_000, 200_000);
        let after_pause = 1.0 / 6.0 * 0.1 * (1.0 + 1.0 / 6.0);
        for (pieces, pause, expected) in [
            (1, 0, 0.2),
            (20_000, 0, 0.2),
            (20_000, 5_000_003, 0.2 + after_pause),
        ] {
            let mut record = NoiseRecord::default();
            let (mut at, mut busy) = (0, 0);
            for _ in 0..pieces {
                let until = record.until(&noise, (0, 3), 0, at, 20_000_000_000 / pieces);
                busy += until - at;
                at = until + pause;
            }
            // 20,000 interruptions: the mean of one scatters by sqrt(1 / 6) / sqrt(20,000), their
            // number by 1 / sqrt(20,000), so that 4 standard errors are 3.1 % of what is added.
            let added = busy as f64 / 20e9 - 1.0;
            let error = added / expected - 1.0;
            assert!(
                error.abs() < 0.031,
                "{pieces} {pause}: {added} for {expected}"
            );
        }
    }

    /// What begins during an interruption waits for its end: the mean rest of a gamma-distributed time
    /// of shape k is (1 + 1 / k) / 2 of its mean, in time / (interval + time) of all cases.
    #[test]
    fn what_begins_during_an_interruption_waits_for_its_end() {
        let noise = noise(1_000_000, 1_000_000);
        let mut record = NoiseRecord::default();
        let draws = 100_000;
        // Pauses longer than what is skipped at once, and others.
        for pause in [3_141_593, 1_000_000_007] {
            let mut at = 0;
            let waited: u64 = (0..draws)
                .map(|_| {
                    at += pause;
                    let until = record.until(&noise, (2, 9), 0, at, 0);
                    let waited = until - at;
                    at = until;
                    waited
                })
                .sum();
            let mean = waited as f64 / draws as f64;
            let expected = 0.5 * (1.0 + 1.0 / 6.0) / 2.0 * 1e6;
            assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
        }
    }

    #[test]
    fn processors_ranks_and_jobs_have_courses_of_their_own_that_repeat() {
        let noise = noise(1_000_000, 200_000);
        let until =
            |of, processor| NoiseRecord::default().until(&noise, of, processor, 0, 100_000_000);
        assert_eq!(until((0, 1), 0), until((0, 1), 0));
        let others = [until((0, 2), 0), until((1, 1), 0), until((0, 1), 1)];
        assert!(!others.contains(&until((0, 1), 0)), "{others:?}");
    }

    /// 100,000 exponential draws: their mean scatters by 0.3 %.
    #[test]
    fn late_entries_have_their_mean() {
        let noise = noise(1_000_000, 0);
        let mut record = NoiseRecord::default();
        let sum: u64 = (0..100_000).map(|_| record.entry(&noise, (0, 0))).sum();
        assert!((sum as f64 / 1e11 - 1.0).abs() < 0.012, "{sum}");
    }
}
