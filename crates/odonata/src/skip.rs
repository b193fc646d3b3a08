//! Accompanies a run whose jobs do the same again and again, and passes over iterations as soon
//! as it knows what they would bring.
//!
//! The engine goes on as if the iterations had taken place: every rank of a job has so many fewer
//! before it, and what is under way stays under way. Its clock does not see them; what it counts
//! and when it ends something is put right afterwards ([`Skipped`]).

mod extrapolation;
mod precision;

use std::ops::ControlFlow;

use odonata_load::Repetition;
use odonata_run::{
    JobLoad, JobOutcome, JobPlan, Jump, Observer, Outcome, PausedRun, Progress, SimError, Standing,
    Wish,
};
use odonata_units::Picoseconds;

use crate::error::SpecError;
use crate::spec::Scenario;
pub(crate) use extrapolation::add;
pub use extrapolation::{Skipped, SkippedIterations};
use precision::{Batches, MOST_BATCHES};

/// Iterations that are left to simulate before a job ends.
const LAST: u32 = 2;
/// Iterations of every job that have to be over before means are looked at.
const FEWEST: usize = 16;
/// Longest cycle of iterations that is recognised.
const LONGEST_CYCLE: usize = 8;
/// Most cycles of the slowest job that are tried as a period of all jobs.
const MOST_CYCLES: u64 = 16;
/// How often whole periods are compared in vain before means are looked at.
const MOST_COMPARISONS: u32 = 4;
/// When the first look at a stretch is, after its beginning.
const FIRST_LOOK: u64 = 1_000_000;

/// Rules of a scenario whose iterations may be passed over.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SpecError> {
    let simulation = &scenario.simulation;
    let Some(skip) = &simulation.skip else {
        return Ok(());
    };
    if !(skip.error > 0.0 && skip.error < 1.0) {
        let allowed = "above 0 and below 1 (100 %)";
        return Err(SpecError::value(
            "simulation.skip.error",
            skip.error,
            allowed,
        ));
    }
    let record = &scenario.record;
    let single = "nothing with `simulation.skip`, as what is passed over has no single events";
    let refused = [
        (
            "simulation.duration",
            simulation.duration_ps.is_some(),
            "nothing with `simulation.skip`, as jobs run to their ends; `precision` ends steady traffic",
        ),
        (
            "simulation.timeline_bin",
            simulation.timeline_bin_ps.is_some(),
            single,
        ),
        ("record.messages", record.messages_every > 0, single),
        ("record.rank_activity", record.rank_activity, single),
        ("record.arrivals", record.arrivals.is_some(), single),
        (
            "record.attribution",
            record.attribution,
            "false with `simulation.skip`, which does not extrapolate who waits for whom",
        ),
        (
            "failures",
            scenario.network.failures.has_moments(),
            "only what fails for the whole run with `simulation.skip`: leave out `at`, `until`, \
             `mtbf` and `outages`",
        ),
    ];
    match refused.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((key, _, allowed)) => Err(SpecError::value(key, "a value", allowed)),
    }
}

/// The same of what is known when the run is planned. `kept`: whether it writes checkpoints;
/// `changes`: whether circuits change as it goes on.
pub(crate) fn check_run(plans: &[JobPlan], kept: bool, changes: bool) -> Result<(), SpecError> {
    let refuse =
        |found: &str, allowed: &str| Err(SpecError::value("simulation.skip", found, allowed));
    if kept {
        return refuse("a table", "nothing in a run that writes checkpoints");
    }
    if changes {
        return refuse("a table", "nothing where circuits change during the run");
    }
    for (job, plan) in plans.iter().enumerate() {
        if let JobLoad::Open(source) = &plan.load
            && source.total_messages().is_some()
        {
            let found = format!("job[{job}] with a number of `messages`");
            return refuse(
                &found,
                "jobs with motifs, and traffic without end beside them",
            );
        }
    }
    let repeats = |plan: &JobPlan| match &plan.load {
        JobLoad::Closed(program) => {
            program.repetition().is_some() && program.iterations() > LAST + 1
        }
        JobLoad::Open(_) => false,
    };
    if plans.iter().any(repeats) {
        return Ok(());
    }
    refuse(
        "no job that repeats itself",
        "a job with a motif of several `iterations`; those of traces and of jobs that write to \
         servers of a file system are not passed over",
    )
}

/// What a job does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Runs,
    /// Some ranks are done.
    Ends,
    Over,
}

/// The iterations of a job that follow each other in a stretch, and when they ended.
#[derive(Clone, Debug)]
struct Series {
    job: usize,
    /// Iterations that all ranks have ended.
    ended: u32,
    /// Iterations that are left to the foremost rank.
    left: u32,
    /// When the slowest rank ended each, in ps of the engine's clock.
    ends: Vec<u64>,
}

/// How a job repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cycle {
    job: usize,
    iterations: u32,
    time: u64,
}

/// What is being done about the stretch.
enum State {
    /// Watching until iterations repeat, or are enough for means.
    Looking,
    /// Comparing whole periods of all jobs.
    Comparing {
        cycles: Vec<Cycle>,
        period: u64,
        due: u64,
        /// State of all that is counted at the beginning of the period before, and of this one.
        before: Option<Box<Outcome>>,
        now: Box<Outcome>,
        standing: Vec<Option<Standing>>,
        /// The digest of what is under way.
        digest: u64,
    },
    /// Measuring means.
    Measuring(Batches),
}

/// Skips what repeats itself. Its decisions follow from simulated times alone, so that they are
/// the same for any number of threads. Everything else it leaves to another observer.
pub(crate) struct Skipper<'o> {
    plans: &'o [JobPlan],
    /// Half-widths of intervals that suffice, as a share of means; `None`: all is simulated.
    error: Option<f64>,
    warmup: u64,
    /// Begin of the stretch, during which no job starts or ends, on the engine's clock.
    from: u64,
    stages: Vec<Stage>,
    /// Iterations of each job that ended before the stretch.
    first: Vec<u32>,
    look: u64,
    state: State,
    /// Comparisons in vain.
    failed: u32,
    /// What has been passed over so far.
    pub skipped: Vec<Skipped>,
    others_wish: bool,
    others: &'o mut dyn Observer,
}

impl<'o> Skipper<'o> {
    pub fn new(
        plans: &'o [JobPlan],
        error: Option<f64>,
        warmup: Picoseconds,
        others: &'o mut dyn Observer,
    ) -> Self {
        Self {
            plans,
            error,
            warmup: warmup.0,
            from: 0,
            stages: Vec::new(),
            first: vec![0; plans.len()],
            look: FIRST_LOOK,
            state: State::Looking,
            failed: 0,
            skipped: Vec::new(),
            others_wish: false,
            others,
        }
    }

    /// Time passed over so far.
    fn offset(&self) -> u64 {
        self.skipped.iter().map(|skipped| skipped.time.0).sum()
    }

    fn program_of(&self, job: usize) -> Option<&dyn odonata_load::Program> {
        match &self.plans[job].load {
            JobLoad::Closed(program) => Some(&**program),
            JobLoad::Open(_) => None,
        }
    }

    fn stage(&self, job: usize, standing: Option<Standing>, at: u64) -> Stage {
        let Some(standing) = standing else {
            return match self.plans[job].start.0 < at + self.offset() {
                true => Stage::Runs,
                false => Stage::Waits,
            };
        };
        let all = self
            .program_of(job)
            .map_or(0, |program| program.iterations());
        match standing {
            Standing { begun: false, .. } => Stage::Waits,
            Standing { ending: false, .. } => Stage::Runs,
            Standing { fewest, .. } if fewest >= all => Stage::Over,
            Standing { .. } => Stage::Ends,
        }
    }

    /// The series of the running jobs; `None` while none runs, or one has begun to end.
    fn series(&self, standing: &[Option<Standing>], jobs: &[JobOutcome]) -> Option<Vec<Series>> {
        // Traffic that is to begin cannot begin earlier.
        let open = |job: usize| matches!(self.plans[job].load, JobLoad::Open(_));
        let bars = |(job, stage): (usize, &Stage)| match stage {
            Stage::Ends => true,
            Stage::Waits => open(job),
            Stage::Runs | Stage::Over => false,
        };
        if self.stages.iter().enumerate().any(bars) {
            return None;
        }
        let mut all = Vec::new();
        for (job, standing) in standing.iter().enumerate() {
            let (Some(program), Some(standing)) = (self.program_of(job), standing) else {
                continue;
            };
            if self.stages[job] != Stage::Runs {
                continue;
            }
            program.repetition()?;
            let left = program.iterations().saturating_sub(standing.most);
            if left <= LAST {
                return None;
            }
            let first = self.first[job].min(standing.fewest) as usize;
            let ends = &jobs[job].iteration_end[first..standing.fewest as usize];
            all.push(Series {
                job,
                ended: standing.fewest,
                left,
                ends: ends.iter().flatten().map(|end| end.0).collect(),
            });
        }
        (!all.is_empty()).then_some(all)
    }

    /// Begins a stretch at `at`.
    fn restart(&mut self, at: u64, stages: Vec<Stage>, standing: &[Option<Standing>]) {
        self.from = at;
        self.stages = stages;
        for (first, standing) in self.first.iter_mut().zip(standing) {
            *first = standing.map_or(0, |standing| standing.most);
        }
        self.state = State::Looking;
        self.failed = 0;
        self.look = at + FIRST_LOOK;
    }

    /// Longest time that may be passed over at `at`: until the next job starts.
    fn longest(&self, at: u64) -> u64 {
        let now = at + self.offset();
        let waiting = self.stages.iter().zip(self.plans);
        let waiting = waiting.filter(|(stage, _)| **stage == Stage::Waits);
        let starts = waiting.map(|(_, plan)| plan.start.0.saturating_sub(now + 1));
        starts.min().unwrap_or(u64::MAX)
    }

    fn decide(&mut self, run: &PausedRun<'_>) -> Result<(), SimError> {
        let at = run.at.0;
        let standing = run.standing();
        let stages: Vec<Stage> = (0..self.plans.len())
            .map(|job| self.stage(job, standing[job], at))
            .collect();
        if stages != self.stages {
            self.restart(at, stages, &standing);
            return Ok(());
        }
        let jobs = run.jobs();
        let Some(series) = self.series(&standing, &jobs).filter(|_| at >= self.warmup) else {
            self.state = State::Looking;
            self.look = at + ((at - self.from) / 4).max(FIRST_LOOK);
            return Ok(());
        };
        match std::mem::replace(&mut self.state, State::Looking) {
            State::Looking => {
                self.state = self.begin(run, &series, standing)?;
                self.look = match &self.state {
                    State::Measuring(batches) => border(&series, batches.iterations, at),
                    _ => at + ((at - self.from) / 4).max(FIRST_LOOK),
                };
            }
            State::Comparing {
                cycles,
                period,
                due,
                before,
                now,
                standing: earlier,
                digest,
            } => {
                debug_assert_eq!(at, due, "a pause elsewhere");
                let next = Box::new(run.outcome()?);
                let advanced = cycles.iter().all(|cycle| {
                    let of =
                        |all: &[Option<Standing>]| all[cycle.job].map(|one| (one.fewest, one.most));
                    let (then, since) = (of(&earlier), of(&standing));
                    then.map(|(fewest, most)| (fewest + cycle.iterations, most + cycle.iterations))
                        == since
                });
                let same = run.digest() == digest
                    && before.as_ref().is_none_or(|before| {
                        extrapolation::grew_alike(before, &now, &next, self.plans)
                    });
                match before {
                    _ if !(advanced && same) => {
                        self.failed += 1;
                        self.look = at + ((at - self.from) / 4).max(period);
                    }
                    Some(_) => self.repeat(run, &series, &cycles, period, now, next),
                    None => {
                        self.state = State::Comparing {
                            cycles,
                            period,
                            due: at + period,
                            before: Some(now),
                            now: next,
                            standing,
                            digest,
                        };
                    }
                }
            }
            State::Measuring(mut batches) => {
                batches.add(at, run.outcome()?);
                match batches.precise(&series, self.error.unwrap_or(0.0)) {
                    Some(found) => self.jump(run, &series, batches, found),
                    None => {
                        if batches.len() >= MOST_BATCHES {
                            batches.merge();
                        }
                        self.look = border(&series, batches.iterations, at);
                        self.state = State::Measuring(batches);
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks whether something repeats, or is long enough for means.
    fn begin(
        &self,
        run: &PausedRun<'_>,
        series: &[Series],
        standing: Vec<Option<Standing>>,
    ) -> Result<State, SimError> {
        let at = run.at.0;
        let open =
            self.plans.iter().zip(&self.stages).any(|(plan, stage)| {
                matches!(plan.load, JobLoad::Open(_)) && *stage == Stage::Runs
            });
        let same = series.iter().all(|series| {
            let program = self.program_of(series.job);
            program.is_some_and(|program| program.repetition() == Some(Repetition::Same))
        });
        if same
            && !open
            && self.failed < MOST_COMPARISONS
            && let Some((cycles, period)) = common_period(series)
            // What is compared takes no longer than what there was before.
            && 2 * period <= at - self.from
            && self.worthwhile(&cycles, series)
        {
            return Ok(State::Comparing {
                cycles,
                period,
                due: at + period,
                before: None,
                now: Box::new(run.outcome()?),
                standing,
                digest: run.digest(),
            });
        }
        if series.iter().all(|series| series.ends.len() >= FEWEST) {
            let longest = series.iter().map(|series| series.ends.len()).min();
            let iterations = (longest.unwrap_or(0) as u64 / 8).max(2);
            return Ok(State::Measuring(Batches::new(
                iterations,
                at,
                run.outcome()?,
            )));
        }
        Ok(State::Looking)
    }

    /// Whether more than what is to be compared could be passed over.
    fn worthwhile(&self, cycles: &[Cycle], series: &[Series]) -> bool {
        cycles.iter().zip(series).all(|(cycle, series)| {
            u64::from(series.left) > 4 * u64::from(cycle.iterations) + u64::from(LAST)
        })
    }

    /// Passes over whole periods.
    fn repeat(
        &mut self,
        run: &PausedRun<'_>,
        series: &[Series],
        cycles: &[Cycle],
        period: u64,
        before: Box<Outcome>,
        after: Box<Outcome>,
    ) {
        let at = run.at.0;
        let possible = cycles.iter().zip(series);
        let possible = possible.map(|(cycle, series)| (series.left - LAST) / cycle.iterations);
        let times = u64::from(possible.min().unwrap_or(0)).min(self.longest(at) / period);
        let jobs = cycles
            .iter()
            .zip(series)
            .map(|(cycle, series)| SkippedIterations {
                job: cycle.job,
                first: series.ended,
                iterations: cycle.iterations * times as u32,
                cycle: cycle.iterations,
                cycle_time: period,
            });
        let skipped = Skipped {
            at: run.at,
            from: Picoseconds(at + self.offset()),
            time: Picoseconds(period * times),
            exact: true,
            time_error: 0.0,
            link_error: 0.0,
            jobs: jobs.collect(),
            before,
            after,
        };
        self.pass_over(run, skipped);
    }

    /// Passes over what means say.
    fn jump(
        &mut self,
        run: &PausedRun<'_>,
        series: &[Series],
        batches: Batches,
        found: precision::Found,
    ) {
        let at = run.at.0;
        let longest = self.longest(at);
        // What is left to the job that ends first.
        let mean = |job: &precision::Mean| (u128::from(job.time), u128::from(job.iterations));
        let all = series.iter().zip(&found.means);
        let time = all.clone().map(|(series, job)| {
            let (time, iterations) = mean(job);
            let left = u128::from(series.left - LAST);
            let most = u128::from(longest) * iterations / time.max(1);
            (left.min(most) * time / iterations) as u64
        });
        let time = time.min().unwrap_or(0);
        let jobs = all.map(|(series, job)| {
            let (of, iterations) = mean(job);
            // To the nearest: a job's own border may lie just behind.
            let count = (2 * u128::from(time) * iterations + of) / (2 * of.max(1));
            SkippedIterations {
                job: series.job,
                first: series.ended,
                iterations: (count as u32).min(series.left - LAST),
                cycle: job.iterations,
                cycle_time: job.time,
            }
        });
        let (before, after) = batches.into_ends(found.from);
        let skipped = Skipped {
            at: run.at,
            from: Picoseconds(at + self.offset()),
            time: Picoseconds(time),
            exact: false,
            time_error: found.time_error,
            link_error: found.link_error,
            jobs: jobs.collect(),
            before,
            after,
        };
        self.pass_over(run, skipped);
    }

    fn pass_over(&mut self, run: &PausedRun<'_>, skipped: Skipped) {
        let mut iterations = vec![0; self.plans.len()];
        for job in &skipped.jobs {
            iterations[job.job] = job.iterations;
        }
        let mut standing = run.standing();
        for (standing, more) in standing.iter_mut().zip(&iterations) {
            if let Some(standing) = standing {
                standing.most += more;
            }
        }
        if skipped.time > Picoseconds::ZERO {
            run.skip(Jump {
                iterations,
                time: skipped.time,
            });
            self.skipped.push(skipped);
        }
        let stages = self.stages.clone();
        self.restart(run.at.0, stages, &standing);
    }
}

/// Where the next batch ends: so many iterations of the slowest job later, in the middle of one, so
/// that the parts of iterations at both ends of a batch are alike.
fn border(series: &[Series], iterations: u64, at: u64) -> u64 {
    let mean = |series: &Series| {
        let ends = &series.ends[series.ends.len() / 2..];
        let last = ends.last().copied().unwrap_or(at);
        let first = ends.first().copied().unwrap_or(at);
        ((last - first) / (ends.len() as u64 - 1).max(1), last)
    };
    let (mean, last) = series.iter().map(mean).max().unwrap_or((0, at));
    (last + iterations * mean + mean / 2).max(at + mean.max(1))
}

/// How a series repeats at its end, if it has often enough.
fn cycle(series: &Series) -> Option<Cycle> {
    let ends = &series.ends;
    (1..=LONGEST_CYCLE).find_map(|length| {
        let seen = (2 * length).max(3);
        let last = ends.len().checked_sub(1)?;
        let time = last
            .checked_sub(length)
            .map(|then| ends[last] - ends[then])?;
        let from = ends.len().checked_sub(seen)?.checked_sub(length)?;
        let same = (from..ends.len() - length).all(|then| ends[then + length] - ends[then] == time);
        (same && time > 0).then_some(Cycle {
            job: series.job,
            iterations: length as u32,
            time,
        })
    })
}

/// The cycles of all jobs within the shortest time that is a multiple of each.
fn common_period(series: &[Series]) -> Option<(Vec<Cycle>, u64)> {
    let cycles: Vec<Cycle> = series.iter().map(cycle).collect::<Option<_>>()?;
    let longest = cycles.iter().map(|cycle| cycle.time).max()?;
    let period = (1..=MOST_CYCLES)
        .map(|times| longest * times)
        .find(|period| cycles.iter().all(|cycle| period % cycle.time == 0))?;
    let within = |cycle: &Cycle| Cycle {
        iterations: cycle.iterations * (period / cycle.time) as u32,
        time: period,
        ..*cycle
    };
    Some((cycles.iter().map(within).collect(), period))
}

impl Observer for Skipper<'_> {
    fn progress(&mut self, progress: &Progress) -> Wish {
        let now = progress.now + Picoseconds(self.offset());
        let wish = self.others.progress(&Progress { now, ..*progress });
        self.others_wish |= wish == Wish::Pause;
        wish
    }

    fn next_pause(&mut self) -> Option<Picoseconds> {
        let own = match &self.state {
            State::Looking => self.error.map(|_| Picoseconds(self.look)),
            State::Comparing { .. } | State::Measuring(_) => None,
        };
        own.into_iter().chain(self.others.next_pause()).min()
    }

    fn exact_pause(&mut self) -> Option<Picoseconds> {
        let own = match &self.state {
            State::Looking => None,
            State::Comparing { due, .. } => Some(Picoseconds(*due)),
            State::Measuring(_) => Some(Picoseconds(self.look)),
        };
        own.into_iter().chain(self.others.exact_pause()).min()
    }

    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        let due = match &self.state {
            State::Comparing { due, .. } => *due,
            _ => self.look,
        };
        if self.error.is_some() && due <= run.at.0 {
            self.decide(run)?;
        }
        let named = self.others.next_pause();
        if std::mem::take(&mut self.others_wish) || named.is_some_and(|other| other <= run.at) {
            return self.others.paused(run);
        }
        Ok(ControlFlow::Continue(()))
    }
}
