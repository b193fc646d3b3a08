//! Accompanies a run whose warm-up is to be found, or that is to end as soon as
//! its means are known precisely enough.

use std::ops::ControlFlow;

use odonata_run::{JobLoad, JobPlan, Observer, PausedRun, Progress, SimError, Timeline, Wish};
use odonata_units::Picoseconds;

use crate::statistics::{Interval, JobSeries, interval, job_series};

/// What is known of the steady state of one open-loop job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatistics {
    /// Number of the job.
    pub job: usize,
    /// Simulated time from which the intervals count.
    pub from: Picoseconds,
    /// Width of a slice of time, of which batches are made.
    pub slice: Picoseconds,
    /// Mean latency in ps of the messages that arrived in this time; `None` if
    /// none did.
    pub latency_ps: Option<Interval>,
    /// Bytes that arrived per ps; `None` for a job that has ended: over the whole run its rate
    /// falls to zero, which is no spread.
    pub accepted: Option<Interval>,
    /// When the warm-up ends as far as the whole series shows; `None` if it shows
    /// no steady state.
    pub warmup_end: Option<Picoseconds>,
}

impl JobStatistics {
    /// The statistics of every open-loop job, from `from` (or the job's start) to `to` (or the job's
    /// end, which is that of its number in `ends`, if it has one there).
    pub(crate) fn all(
        timeline: &Timeline,
        plans: &[JobPlan],
        ends: &[Option<Picoseconds>],
        from: Picoseconds,
        to: Picoseconds,
    ) -> Vec<Self> {
        open_jobs(plans)
            .map(|(job, start)| {
                let ended = ends.get(job).copied().flatten();
                let to = ended.unwrap_or(to);
                let whole = job_series(timeline, plans.len(), job, start, to.0);
                let from = from.0.max(start);
                let series = job_series(timeline, plans.len(), job, from, to.0);
                Self {
                    job,
                    from: Picoseconds(series.begin_ps),
                    slice: Picoseconds(series.slice_ps),
                    latency_ps: interval(&series.latency),
                    accepted: interval(&series.accepted).filter(|_| ended.is_none()),
                    warmup_end: whole.warmup_end_ps().map(Picoseconds),
                }
            })
            .collect()
    }

    /// Whether both intervals can be trusted and are, on either side, at most
    /// this share of their means wide.
    #[must_use]
    pub fn is_precise(&self, share: f64) -> bool {
        [&self.latency_ps, &self.accepted]
            .into_iter()
            .all(|interval| {
                interval
                    .as_ref()
                    .is_some_and(|found| found.uncorrelated && found.relative() <= share)
            })
    }
}

/// Number and start (in ps) of each open-loop job.
fn open_jobs(plans: &[JobPlan]) -> impl Iterator<Item = (usize, u64)> + '_ {
    let open = |plan: &JobPlan| matches!(plan.load, JobLoad::Open(_));
    let jobs = plans.iter().enumerate();
    jobs.filter(move |(_, plan)| open(plan))
        .map(|(job, plan)| (job, plan.start.0))
}

/// `2^(i/8)` in units of `2^-16`.
const EIGHTHS: [u64; 8] = [
    65_536, 71_468, 77_936, 84_990, 92_682, 101_070, 110_218, 120_194,
];
/// Looks at a run: from 1/64 of its duration to its end, eight per doubling.
const LOOKS: u32 = 48;
/// The look at half of the duration.
const HALF: u32 = 40;

/// Time of a look; the same on every machine.
fn look_at(duration: Picoseconds, look: u32) -> Picoseconds {
    let scaled = (u128::from(duration.0) * u128::from(EIGHTHS[look as usize % 8])) << (look / 8);
    Picoseconds((scaled >> (16 + 6)) as u64)
}

/// What has to be remembered of a [`SteadyState`] when a run is interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Findings {
    look: u32,
    measured_from: Option<Picoseconds>,
    warmup_found: Option<bool>,
}

/// Looks at a run at fixed simulated times, which are the same for any number of
/// threads, and so are its decisions. Everything else it leaves to another observer.
pub(crate) struct SteadyState<'o> {
    plans: &'o [JobPlan],
    duration: Picoseconds,
    /// Since when statistics count; `None` while the warm-up is being looked for.
    measured_from: Option<Picoseconds>,
    /// Precision at which the run ends.
    precision: Option<f64>,
    look: u32,
    /// Whether the others wish to pause, besides at the times that they named.
    others_wish: bool,
    /// Whether the warm-up's end was found, if it was looked for.
    pub warmup_found: Option<bool>,
    /// Whether the run ended because it was precise enough.
    pub precise: bool,
    others: &'o mut dyn Observer,
}

impl<'o> SteadyState<'o> {
    /// `warmup`: `None` looks for it, in the first half of the duration.
    /// `precision`: share of the means that the intervals' half widths may be.
    pub fn new(
        plans: &'o [JobPlan],
        duration: Picoseconds,
        warmup: Option<Picoseconds>,
        precision: Option<f64>,
        others: &'o mut dyn Observer,
    ) -> Self {
        Self {
            plans,
            duration,
            measured_from: warmup,
            precision,
            look: 0,
            others_wish: false,
            warmup_found: None,
            precise: false,
            others,
        }
    }

    /// For [`SteadyState::recall`].
    pub fn findings(&self) -> Findings {
        Findings {
            look: self.look,
            measured_from: self.measured_from,
            warmup_found: self.warmup_found,
        }
    }

    /// Goes on from what was found before the run was interrupted.
    pub fn recall(&mut self, findings: Findings) {
        self.look = findings.look;
        self.measured_from = findings.measured_from;
        self.warmup_found = findings.warmup_found;
    }

    /// Time of the next look, if one is still of use.
    fn next_look(&self) -> Option<Picoseconds> {
        let of_use = self.measured_from.is_none() || self.precision.is_some();
        (of_use && self.look < LOOKS).then(|| look_at(self.duration, self.look))
    }

    /// Whether every job's series up to now has a steady state.
    fn is_steady(&self, timeline: &Timeline, at: Picoseconds) -> bool {
        open_jobs(self.plans).all(|(job, start)| {
            let series: JobSeries = job_series(timeline, self.plans.len(), job, start, at.0);
            series.warmup_end_ps().is_some()
        })
    }

    /// Whether the run may end.
    fn decide(&mut self, run: &PausedRun<'_>) -> bool {
        let timeline = run.timeline();
        let Some(from) = self.measured_from else {
            let found = self.is_steady(&timeline, run.at);
            if found || self.look > HALF {
                self.measured_from = Some(run.at);
                self.warmup_found = Some(found);
                run.begin_measuring();
            }
            return false;
        };
        let Some(precision) = self.precision else {
            return false;
        };
        let statistics = JobStatistics::all(&timeline, self.plans, &[], from, run.at);
        // What has no steady state since the measurement began is no mean of anything.
        let steady = |job: &JobStatistics| {
            let series = job_series(&timeline, self.plans.len(), job.job, from.0, run.at.0);
            series.warmup_end_ps().is_some()
        };
        self.precise = statistics
            .iter()
            .all(|job| job.is_precise(precision) && steady(job));
        self.precise
    }
}

impl Observer for SteadyState<'_> {
    fn progress(&mut self, progress: &Progress) -> Wish {
        let wish = self.others.progress(progress);
        self.others_wish |= wish == Wish::Pause;
        wish
    }

    fn next_pause(&mut self) -> Option<Picoseconds> {
        let (look, other) = (self.next_look(), self.others.next_pause());
        look.into_iter().chain(other).min()
    }

    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        if self.next_look().is_some_and(|look| look <= run.at) {
            while self.next_look().is_some_and(|look| look <= run.at) {
                self.look += 1;
            }
            if self.decide(run) {
                return Ok(ControlFlow::Break(()));
            }
        }
        let named = self.others.next_pause();
        if std::mem::take(&mut self.others_wish) || named.is_some_and(|other| other <= run.at) {
            return self.others.paused(run);
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_every_eighth_time_and_end_with_the_duration() {
        let duration = Picoseconds(64_000_000);
        assert_eq!(look_at(duration, 0), Picoseconds(1_000_000));
        assert_eq!(look_at(duration, 8), Picoseconds(2_000_000));
        assert_eq!(look_at(duration, HALF), Picoseconds(32_000_000));
        assert_eq!(look_at(duration, LOOKS), duration);
        let times: Vec<u64> = (0..=LOOKS).map(|look| look_at(duration, look).0).collect();
        for pair in times.windows(2) {
            let growth = pair[1] as f64 / pair[0] as f64;
            assert!((growth / 2f64.powf(0.125) - 1.0).abs() < 1e-4, "{growth}");
        }
        // No overflow at any length.
        assert!(look_at(Picoseconds(u64::MAX / 2), LOOKS).0 > u64::MAX / 4);
    }
}
