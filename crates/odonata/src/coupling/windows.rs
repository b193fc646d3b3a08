//! Windows of applications that run side by side: what an engine, of packets or of flows, is
//! asked, and what it answered before.
//!
//! A window lasts as long as an iteration of the slowest job, and every other job goes through as
//! many iterations as take that long alone. Where that is too many of the fastest job, the
//! window is cut: it lasts as long as the most iterations of that job. Jobs whose iterations fit
//! into it four times begin with it, and their pace is that of the iterations that they finish. Every other job has
//! begun before, without those that begin later, so that it is at a random place of its iteration;
//! its delay is how much later than alone it delivered as many bytes, and the window shows by
//! how much the delay grows. Places are drawn anew in every window, so a job of many windows is
//! seen in many places.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use odonata_network::Topology;
use odonata_network::routing::AnyRouting;
use odonata_run::{JobLoad, JobOutcome, JobPlan, Outcome, Progress};
use odonata_units::{NodeId, Picoseconds};
use serde_json::Value;

use super::spec::ApplicationsSpec;
use super::wired::WiredMachine;
use crate::additions::Nothing;
use crate::error::Error;
use crate::jobs::plan_jobs_with;
use crate::run::{Engine, check, simulate_plans};
use crate::spec::{Job, Load, MotifKind, Placement, Scenario};

/// Most iterations of a job in a window.
const MOST_ITERATIONS: u64 = 1 << 20;

/// Times that an iteration fits into a window that is cut, if the job begins with it.
const FITS: f64 = 4.0;

/// Bins of a window that is cut.
const BINS: u64 = 16;

/// Most bins of what a job delivers alone.
const MOST_BINS: u64 = 1 << 16;

/// Least speed that a window that is cut shows: nothing at all would be a job that never ends.
const LEAST_SPEED: f64 = 1e-3;

/// Longest line of a file of windows: the ends of more jobs than a machine has nodes.
const LONGEST_WINDOW_BYTES: u64 = 16 << 20;

/// What identifies a window: a hash of everything that it depends on.
type Key = [u8; 32];

/// A program on nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// Place among [`Windows::programs`].
    pub program: usize,
    /// Most iterations.
    pub most: u32,
    pub nodes: &'a [NodeId],
}

/// A program on nodes beside others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub part: Part<'a>,
    /// Picoseconds of an iteration alone on an idle machine.
    pub alone: f64,
    /// The nodes on which it was alone.
    pub nodes_alone: &'a [NodeId],
}

/// What a program does alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    /// Picoseconds of an iteration.
    pub pace: f64,
    /// Whether any bytes are delivered; otherwise nobody is slowed down by it, nor it by anybody.
    pub sends: bool,
}

/// How finely windows look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Picoseconds that a window takes at least.
    pub shortest: f64,
    /// Iterations that a job goes through at most, if it lasts longer than that.
    pub iterations: f64,
}

/// Programs, and what is known of them side by side.
pub(super) struct Windows {
    programs: Vec<Job>,
    span: Span,
    known: BTreeMap<Key, Vec<u64>>,
    kept: Option<File>,
    /// What jobs of the last window do.
    plans: BTreeMap<Key, Arc<JobPlan>>,
    pub simulated: u64,
    pub reused: u64,
}

impl Windows {
    /// What runs the programs of `spec`, and the place of each job's program among these: jobs that
    /// do the same have one program.
    pub(super) fn new(
        machine: &WiredMachine,
        spec: &ApplicationsSpec,
        span: Span,
    ) -> Result<(Self, Vec<usize>), Error> {
        let mut programs: Vec<Job> = Vec::new();
        let mut place_of = BTreeMap::new();
        let mut program_of = |job: &Job| {
            let mut program = Job {
                name: "job".into(),
                nodes: None,
                start_ps: 0,
                placement: Placement::default(),
                groups: None,
                submit_s: None,
                requested_s: None,
                ..job.clone()
            };
            set_iterations(&mut program, 1);
            let form = serde_json::to_string(&program).unwrap_or_default();
            *place_of.entry(form).or_insert_with(|| {
                programs.push(program);
                programs.len() - 1
            })
        };
        let places = spec.jobs.iter().map(&mut program_of).collect();
        let mut windows = Self {
            programs,
            span,
            known: BTreeMap::new(),
            kept: None,
            plans: BTreeMap::new(),
            simulated: 0,
            reused: 0,
        };
        if let Some(path) = &spec.keep {
            windows.keep(&machine.scenario, path)?;
        }
        Ok((windows, places))
    }

    /// Takes windows over that an earlier run kept in a file, and keeps those to come in it. What
    /// a run that was killed wrote in part goes; a file of anything else stays as it is.
    fn keep(&mut self, scenario: &Scenario, path: &Path) -> Result<(), Error> {
        let refused = |reason: &dyn std::fmt::Display| {
            crate::error::refused(format!("{}: {reason}", path.display()))
        };
        let unusable = |error: std::io::Error| refused(&format!("cannot be used: {error}"));
        let head = format!("windows {}\n", hex(&self.identity(scenario)));
        let mut file = odonata_files::open_to_continue(path).map_err(unusable)?;
        let mut reader = BufReader::new(&file);
        let mut whole = 0;
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut bounded = reader.by_ref().take(LONGEST_WINDOW_BYTES);
            bounded.read_until(b'\n', &mut line).map_err(unusable)?;
            let is_head = number == 1;
            if is_head && !line.is_empty() && line != head.as_bytes() {
                return Err(refused(
                    &"keeps windows of another machine or of other applications, or is no file of \
                      windows; allowed: the file of the same schedule, or the name of a new one",
                ));
            }
            let at_end = (line.len() as u64) < LONGEST_WINDOW_BYTES;
            if !line.ends_with(b"\n") && at_end {
                break;
            }
            if !is_head {
                let window = str::from_utf8(&line).ok().and_then(read_window);
                let no_window = format!("line {number} is no window; allowed: a hash and times");
                let (key, found) = window.ok_or_else(|| refused(&no_window))?;
                self.known.insert(key, found);
            }
            whole += line.len() as u64;
        }
        file.set_len(whole).map_err(unusable)?;
        file.seek(SeekFrom::Start(whole)).map_err(unusable)?;
        if whole == 0 {
            file.write_all(head.as_bytes()).map_err(unusable)?;
        }
        self.kept = Some(file);
        Ok(())
    }

    /// A hash of the machine and its programs.
    fn identity(&self, scenario: &Scenario) -> Key {
        let parts = (scenario, &self.programs, env!("CARGO_PKG_VERSION"));
        // Results do not depend on the number of threads.
        let mut form = serde_json::to_value(parts).unwrap_or_default();
        if let Some(threads) = form.pointer_mut("/0/simulation/threads") {
            *threads = Value::Null;
        }
        *blake3::hash(form.to_string().as_bytes()).as_bytes()
    }

    /// What a program does alone.
    pub(super) fn pace_alone(
        &mut self,
        machine: &WiredMachine,
        part: &Part<'_>,
    ) -> Result<Alone, String> {
        let once = self.once(machine, part, None)?;
        let iterations = self.iterations(part, once.end as f64, self.span.shortest);
        let end = match iterations {
            1 => once.end,
            _ => self.whole(machine, &[(*part, iterations)])?[0],
        };
        Ok(Alone {
            pace: end as f64 / f64::from(iterations),
            sends: once.curve.until.last().is_some_and(|&bytes| bytes > 0),
        })
    }

    /// An iteration alone, with bins of this width, or about a thousand.
    fn once(
        &mut self,
        machine: &WiredMachine,
        part: &Part<'_>,
        bin: Option<u64>,
    ) -> Result<Once, String> {
        let mut hash = blake3::Hasher::new();
        hash.update(b"once");
        hash.update(&bin.unwrap_or(0).to_le_bytes());
        add_part(&mut hash, part, 1);
        let key = *hash.finalize().as_bytes();
        let found = self.recall(key, |windows| {
            let plans = windows.plans(machine, &[(*part, 1)])?;
            let mut simulation = machine.scenario.simulation.clone();
            simulation.timeline_bin_ps = bin;
            let (topology, algorithm) = machine.at_first();
            let outcome = simulate(machine, topology, algorithm, simulation, &plans)?;
            let delivered = outcome.timeline.activity.iter();
            let delivered = delivered.map(|one| one.delivered_bytes);
            let head = [end_of(0, &outcome.jobs[0])?, outcome.timeline.bin.0];
            Ok(head.into_iter().chain(delivered).collect())
        })?;
        let [end, bin, delivered @ ..] = &found[..] else {
            return Err("an iteration alone is kept without its end".to_owned());
        };
        Ok(Once {
            end: *end,
            curve: Curve::new((*bin).max(1), delivered.iter().copied()),
        })
    }

    /// Picoseconds of an iteration of each of these side by side.
    pub(super) fn paces(
        &mut self,
        machine: &WiredMachine,
        members: &[Member<'_>],
    ) -> Result<Vec<f64>, String> {
        let alone = members.iter().map(|member| member.alone);
        let window = alone.clone().fold(self.span.shortest, f64::max);
        let fastest = alone.fold(f64::INFINITY, f64::min);
        let longest = self.span.shortest.max(fastest * self.span.iterations);
        if window > longest {
            return self.cut(machine, members, longest);
        }
        let parts: Vec<(Part<'_>, u32)> = members
            .iter()
            .map(|one| (one.part, self.iterations(&one.part, one.alone, window)))
            .collect();
        let ends = self.whole(machine, &parts)?;
        let paces = ends.iter().zip(&parts);
        Ok(paces
            .map(|(&end, &(_, iterations))| end as f64 / f64::from(iterations))
            .collect())
    }

    /// Iterations that take about a time, at a pace.
    fn iterations(&self, part: &Part<'_>, pace: f64, time: f64) -> u32 {
        let most = match &self.programs[part.program].load {
            Load::Motif(motif) if matches!(motif.kind, MotifKind::Trace(_)) => 1,
            _ => u64::from(part.most).min(MOST_ITERATIONS),
        };
        ((time / pace.max(1.0)).ceil().max(1.0) as u64).min(most) as u32
    }

    /// When each of these jobs ends, in picoseconds, if all begin at once.
    fn whole(
        &mut self,
        machine: &WiredMachine,
        parts: &[(Part<'_>, u32)],
    ) -> Result<Vec<u64>, String> {
        let mut hash = blake3::Hasher::new();
        for (part, iterations) in parts {
            add_part(&mut hash, part, *iterations);
        }
        add_circuits(&mut hash, machine);
        let key = *hash.finalize().as_bytes();
        self.recall(key, |windows| {
            let plans = windows.plans(machine, parts)?;
            let (topology, algorithm) = (&machine.topology, &machine.algorithm);
            let simulation = machine.scenario.simulation.clone();
            let outcome = simulate(machine, topology, algorithm, simulation, &plans)?;
            let jobs = outcome.jobs.iter().enumerate();
            jobs.map(|(place, job)| end_of(place, job)).collect()
        })
    }

    /// A part of a window, of this length: picoseconds of an iteration of each job.
    fn cut(
        &mut self,
        machine: &WiredMachine,
        members: &[Member<'_>],
        window: f64,
    ) -> Result<Vec<f64>, String> {
        let fits = |member: &Member<'_>| member.alone * FITS <= window;
        let mut parts = Vec::with_capacity(members.len());
        let mut hash = blake3::Hasher::new();
        hash.update(&window.to_le_bytes());
        for member in members {
            let iterations = self.iterations(&member.part, member.alone, window);
            // One more for the part of an iteration with which it begins, one for its end.
            let iterations = (iterations.saturating_add(2)).min(member.part.most.max(1));
            add_part(&mut hash, &member.part, iterations);
            hash.update(&member.alone.to_le_bytes());
            parts.push((member.part, iterations));
        }
        add_circuits(&mut hash, machine);
        let key = *hash.finalize().as_bytes();
        let mut curves = Vec::with_capacity(members.len());
        for member in members {
            curves.push(match fits(member) || self.known.contains_key(&key) {
                true => None,
                false => Some(self.curve(machine, member, window)?),
            });
        }
        let paces = self.recall(key, |windows| {
            // Where the window begins, and how long before it each job does.
            let lead = |place: usize, member: &Member<'_>| match fits(member) {
                true => 0,
                false => (drawn(&key, place) * member.alone) as u64,
            };
            let leads: Vec<u64> = (members.iter().enumerate())
                .map(|(place, member)| lead(place, member))
                .collect();
            let bin = (window as u64 / BINS).max(1);
            let begin = leads
                .iter()
                .max()
                .map_or(0, |most| most.div_ceil(bin) * bin);
            let end = begin + window as u64 / bin * bin;
            let mut plans = windows.plans(machine, &parts)?;
            for (plan, lead) in plans.iter_mut().zip(&leads) {
                plan.start = Picoseconds(begin - lead);
            }
            let mut simulation = machine.scenario.simulation.clone();
            simulation.duration_ps = Some(end);
            simulation.timeline_bin_ps = Some(bin);
            let (topology, algorithm) = (&machine.topology, &machine.algorithm);
            let outcome = simulate(machine, topology, algorithm, simulation, &plans)?;
            let all = outcome.jobs.iter().zip(members).zip(&curves).enumerate();
            let paces = all.map(|(place, ((job, member), curve))| {
                let bins = outcome.timeline.activity.iter().skip(place);
                let delivered = bins.step_by(members.len()).map(|one| one.delivered_bytes);
                let seen = Curve::new(bin, delivered);
                let pace = match curve {
                    None => pace_of_iterations(job, &plans[place], &seen, begin, end),
                    Some(alone) => {
                        let start = begin - leads[place];
                        let late = |at| alone.delay(member.alone, &seen, start, at);
                        let lost = late(end) - late(begin);
                        member.alone / (1.0 - lost / (end - begin) as f64).max(LEAST_SPEED)
                    }
                };
                pace.round().max(1.0) as u64
            });
            Ok(paces.collect())
        })?;
        Ok(paces.into_iter().map(|pace| pace as f64).collect())
    }

    /// What a job delivers alone in an iteration, as finely as a window of this length needs it.
    fn curve(
        &mut self,
        machine: &WiredMachine,
        member: &Member<'_>,
        window: f64,
    ) -> Result<Curve, String> {
        let part = Part {
            nodes: member.nodes_alone,
            ..member.part
        };
        let curve = self.once(machine, &part, None)?.curve;
        let bin = (window as u64 / BINS).max(member.alone as u64 / MOST_BINS + 1);
        if curve.bin <= bin {
            return Ok(curve);
        }
        Ok(self.once(machine, &part, Some(bin))?.curve)
    }

    /// What a window came to, from memory or by asking.
    fn recall(
        &mut self,
        key: Key,
        ask: impl FnOnce(&mut Self) -> Result<Vec<u64>, String>,
    ) -> Result<Vec<u64>, String> {
        if let Some(found) = self.known.get(&key) {
            self.reused += 1;
            return Ok(found.clone());
        }
        let found = ask(self)?;
        self.simulated += 1;
        if let Some(file) = &mut self.kept {
            let listed: Vec<String> = found.iter().map(u64::to_string).collect();
            let line = format!("{} {}\n", hex(&key), listed.join(" "));
            let written = file.write_all(line.as_bytes());
            written.map_err(|error| format!("the windows' file cannot be written: {error}"))?;
        }
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// What these jobs do; what they did in the window before is kept.
    fn plans(
        &mut self,
        machine: &WiredMachine,
        parts: &[(Part<'_>, u32)],
    ) -> Result<Vec<JobPlan>, String> {
        let mut before = std::mem::take(&mut self.plans);
        let mut plans = Vec::with_capacity(parts.len());
        for (part, iterations) in parts {
            let mut hash = blake3::Hasher::new();
            add_part(&mut hash, part, *iterations);
            let key = *hash.finalize().as_bytes();
            let plan = match before.remove(&key) {
                Some(plan) => plan,
                None => Arc::new(self.plan(machine, part, *iterations)?),
            };
            plans.push((*plan).clone());
            self.plans.insert(key, plan);
        }
        Ok(plans)
    }

    fn plan(
        &self,
        machine: &WiredMachine,
        part: &Part<'_>,
        iterations: u32,
    ) -> Result<JobPlan, String> {
        let mut job = self.programs[part.program].clone();
        job.placement = Placement::Explicit {
            nodes: part.nodes.iter().map(|node| node.0).collect(),
        };
        set_iterations(&mut job, iterations);
        let scenario = Scenario {
            jobs: vec![job],
            ..machine.scenario.clone()
        };
        check(&scenario).map_err(|error| error.to_string())?;
        let planned = plan_jobs_with(&scenario, machine.at_first().0, &Nothing, None);
        let (mut jobs, _) = planned.map_err(|error| error.to_string())?;
        Ok(jobs.swap_remove(0).plan)
    }
}

fn set_iterations(job: &mut Job, iterations: u32) {
    if let Load::Motif(motif) = &mut job.load {
        motif.iterations = iterations;
    }
}

fn simulate(
    machine: &WiredMachine,
    topology: &Topology,
    algorithm: &AnyRouting,
    simulation: crate::spec::Simulation,
    plans: &[JobPlan],
) -> Result<Outcome, String> {
    let scenario = Scenario {
        simulation,
        ..machine.scenario.clone()
    };
    let mut go_on = |_: &Progress| ControlFlow::Continue(());
    let engine = Engine::BuiltIn(algorithm);
    let outcome = simulate_plans(&scenario, topology, &engine, plans, &mut go_on);
    outcome.map_err(|error| error.to_string())
}

/// When a job of a window ends, in picoseconds.
fn end_of(place: usize, job: &JobOutcome) -> Result<u64, String> {
    let end = job.end.map(|end| end.0.max(1));
    end.ok_or_else(|| format!("job {place} of a window does not end"))
}

/// Picoseconds of an iteration of a job that began at `begin`, by the iterations that it has
/// finished; if by the end it has finished none, by the bytes of one that it has delivered.
fn pace_of_iterations(job: &JobOutcome, plan: &JobPlan, seen: &Curve, begin: u64, end: u64) -> f64 {
    let ends = job.iteration_end.iter().flatten();
    let finished = ends.filter(|at| at.0 <= end);
    let (count, last) = finished.fold((0u32, 0), |(count, _), at| (count + 1, at.0));
    if count > 0 {
        return (last - begin) as f64 / f64::from(count);
    }
    let window = (end - begin) as f64;
    let bytes = match &plan.load {
        JobLoad::Closed(program) => program.totals().map(|totals| totals.bytes.0),
        JobLoad::Open(_) => None,
    };
    let of_iteration = bytes.unwrap_or(0) as f64 / job.iteration_end.len().max(1) as f64;
    let part = seen.delivered(end) / of_iteration;
    match part.is_finite() {
        true => window / part.max(LEAST_SPEED),
        false => window / LEAST_SPEED,
    }
}

/// An iteration of a job alone.
struct Once {
    end: u64,
    curve: Curve,
}

/// Bytes delivered until the end of each bin of time.
struct Curve {
    bin: u64,
    until: Vec<u64>,
}

impl Curve {
    fn new(bin: u64, delivered: impl Iterator<Item = u64>) -> Self {
        let until = delivered.scan(0, |sum, bytes| {
            *sum += bytes;
            Some(*sum)
        });
        Self {
            bin,
            until: until.collect(),
        }
    }

    /// Bytes delivered until a time that ends a bin.
    fn delivered(&self, at: u64) -> f64 {
        let bins = (at / self.bin) as usize;
        let last = self.until[..bins.min(self.until.len())].last();
        last.copied().unwrap_or(0) as f64
    }

    /// When this many bytes were delivered; within a bin they come evenly.
    fn reached(&self, bytes: f64) -> f64 {
        let bin = (self.until).partition_point(|&until| (until as f64) < bytes);
        let Some(&until) = self.until.get(bin) else {
            return (self.until.len() as u64 * self.bin) as f64;
        };
        let before = bin.checked_sub(1).map_or(0, |bin| self.until[bin]) as f64;
        let part = match until as f64 > before {
            true => (bytes - before) / (until as f64 - before),
            false => 0.0,
        };
        (bin as f64 + part) * self.bin as f64
    }

    /// How much later than here, where an iteration takes `pace`, a job has delivered what it has
    /// by the time `at`, in picoseconds. It began at `start`.
    fn delay(&self, pace: f64, seen: &Self, start: u64, at: u64) -> f64 {
        let bytes = seen.delivered(at);
        let of_iteration = self.until.last().copied().unwrap_or(0) as f64;
        if bytes == 0.0 || of_iteration == 0.0 {
            return 0.0;
        }
        let iterations = ((bytes / of_iteration).ceil() - 1.0).max(0.0);
        let alone = iterations * pace + self.reached(bytes - iterations * of_iteration);
        seen.reached(bytes) - start as f64 - alone
    }
}

/// A number from 0 to 1 for a place of a window.
fn drawn(key: &Key, place: usize) -> f64 {
    let mut hash = blake3::Hasher::new();
    hash.update(key);
    hash.update(&(place as u64).to_le_bytes());
    let bytes = hash.finalize();
    let [a, b, c, d, ..] = *bytes.as_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / 4_294_967_296.0
}

/// The machine's part of a [`Key`] is in the head of the file that keeps windows.
fn add_part(hash: &mut blake3::Hasher, part: &Part<'_>, iterations: u32) {
    let mut add = |number: u64| {
        hash.update(&number.to_le_bytes());
    };
    add(part.program as u64);
    add(u64::from(iterations));
    add(part.nodes.len() as u64);
    part.nodes.iter().for_each(|node| add(u64::from(node.0)));
}

fn add_circuits(hash: &mut blake3::Hasher, machine: &WiredMachine) {
    if let Some(state) = machine.state() {
        hash.update(state);
    }
    for end in machine.circuit_ends() {
        hash.update(&end.to_le_bytes());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A window of a line of the file that keeps them.
fn read_window(line: &str) -> Option<(Key, Vec<u64>)> {
    let mut words = line.split_whitespace();
    let key = blake3::Hash::from_hex(words.next()?).ok()?;
    let ends = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some((*key.as_bytes(), ends))
}
