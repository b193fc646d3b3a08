//! Jobs with applications that share a network: a job does what a `[[job]]` of a scenario says.
//!
//! An application is a loop of iterations. Its *pace* is the time of one of them: at first alone
//! on an idle machine, on the nodes that the placement takes there; then, whenever jobs have begun
//! or ended, beside all others on the nodes that each of them has. For that an engine, of packets
//! or of flows, simulates a window in which every running job goes through as many iterations as
//! take about as long as one of the slowest job. The speed of a job is the ratio of the two paces.
//! Equal windows are simulated once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;

use odonata_network::Topology;
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec, minimal_routing};
use odonata_run::Progress;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::Allocation;
use odonata_scheduler::log::JobLog;
use odonata_units::NodeId;
use serde_json::{Value, json};

use super::circuits::JobCircuits;
use super::fallible::FallibleNetwork;
use super::footprint::Footprints;
use super::machine::{NodesOfJobs, SharedMachine};
use super::spec::{ApplicationsSpec, wrong};
use crate::additions::Nothing;
use crate::error::Error;
use crate::run::{Engine, run_with};
use crate::spec::{self, CircuitSource, Job, Load, MotifKind, Placement, Scenario};
use crate::topology::circuits::with_circuits;

/// Most iterations of a job in a window.
const MOST_ITERATIONS: u64 = 1 << 20;

/// Longest line of a file of windows: the ends of more jobs than a machine has nodes.
const LONGEST_WINDOW_BYTES: u64 = 16 << 20;

/// What identifies a window: a hash of everything that it depends on.
type Key = [u8; 32];

/// A job in a window: its application, its nodes, its iterations.
struct Part<'a> {
    application: usize,
    nodes: &'a [NodeId],
    iterations: u32,
}

/// A running job.
#[derive(Clone, Copy, Debug)]
struct Running {
    application: usize,
    /// Picoseconds of an iteration alone on an idle machine.
    alone: f64,
    /// Its speed as of the last settling.
    speed: f64,
}

/// Jobs on the nodes of a machine, each with its application.
pub(super) struct ApplicationNetwork {
    machine: Machine,
    /// The application of every job of the log.
    of_job: Vec<Option<u32>>,
    /// Seconds of work of a job in the schedule, divided by its seconds alone.
    scale: Vec<f64>,
    /// Picoseconds of an iteration alone, by application and nodes.
    alone: BTreeMap<(usize, u32), f64>,
    allotment: NodesOfJobs,
    circuits: Option<(JobCircuits, Footprints)>,
    running: BTreeMap<u32, Running>,
    touched: bool,
}

/// The engine with everything that it needs for a window.
struct Machine {
    scenario: Scenario,
    routing: RoutingSpec,
    topology: Topology,
    algorithm: AnyRouting,
    applications: Vec<Job>,
    /// Picoseconds that a window takes at least.
    window: f64,
    known: BTreeMap<Key, Vec<u64>>,
    kept: Option<File>,
    simulated: u64,
    reused: u64,
}

impl ApplicationNetwork {
    /// `of_job` is the application of every job of `log`, by place in `spec.jobs`. Where the jobs
    /// of the scenario are the log (`spec.queue`), their run times become what they take alone.
    pub(super) fn new(
        shared: SharedMachine,
        log: &mut JobLog,
        of_job: Vec<Option<u32>>,
        engine: spec::Engine,
        window_ps: u64,
        spec: &ApplicationsSpec,
    ) -> Result<Self, Error> {
        let SharedMachine {
            mut scenario,
            topology,
            routing,
            reconfigurable,
            allotment,
        } = shared;
        // A window lasts until its jobs are done, whatever a run of the scenario would do.
        scenario.simulation = spec::Simulation {
            engine,
            duration_ps: None,
            warmup_ps: 0,
            detect_warmup: false,
            precision: None,
            threads: match engine {
                spec::Engine::Packet => spec.simulation.threads,
                spec::Engine::Flow => 1,
            },
            ..spec.simulation.clone()
        };
        scenario.mpi = spec.mpi.clone();
        scenario.seed = spec.seed;
        let algorithm = AnyRouting::new(&topology, &routing).map_err(|error| {
            let allowed = "a routing that fits the network";
            wrong("machine.routing", error, allowed)
        })?;
        let joined = reconfigurable.filter(|on| on.circuits == CircuitSource::Jobs);
        if joined.is_some() && !matches!(routing.algorithm, Algorithm::Tago { .. }) {
            let allowed = "tago where circuits are set for jobs, which join no others' groups";
            let found = routing.algorithm.name();
            return Err(wrong("machine.routing.algorithm", found, allowed));
        }
        let circuits = joined.map(|on| {
            let inside = minimal_routing(&topology);
            let inside = inside.map_err(|error| wrong("machine", error, "groups"))?;
            let footprints = Footprints::new(&topology, &inside);
            Ok::<_, Error>((on.job_circuits(&topology), footprints))
        });
        let mut machine = Machine {
            scenario,
            routing,
            topology,
            algorithm,
            applications: spec.jobs.clone(),
            window: window_ps as f64,
            known: BTreeMap::new(),
            kept: None,
            simulated: 0,
            reused: 0,
        };
        if let Some(path) = &spec.keep {
            machine.keep(path)?;
        }
        let mut network = Self {
            machine,
            of_job,
            scale: vec![1.0; log.jobs.len()],
            alone: BTreeMap::new(),
            allotment,
            circuits: circuits.transpose()?,
            running: BTreeMap::new(),
            touched: false,
        };
        network.measure_alone(log, spec.queue)?;
        Ok(network)
    }

    /// Measures the pace of every application alone, on as many nodes as jobs have.
    fn measure_alone(&mut self, log: &mut JobLog, queue: bool) -> Result<(), Error> {
        for (index, job) in log.jobs.iter_mut().enumerate() {
            let Some(application) = self.of_job[index] else {
                let found = format!("no application for job {} of {} nodes", job.id, job.nodes);
                return Err(wrong(
                    "mix",
                    found,
                    "an application for every job of the log",
                ));
            };
            let application = application as usize;
            let name = self.machine.applications[application].name.clone();
            let Some(nodes) = self.allotment.idle_nodes(job.nodes) else {
                if queue {
                    let most = self.allotment.most();
                    let allowed = format!("at most {most}, the nodes of the machine");
                    let key = format!("job \"{name}\".nodes");
                    return Err(Error::Spec(crate::SpecError::value(
                        key, job.nodes, allowed,
                    )));
                }
                // The scheduler refuses it.
                continue;
            };
            let pace = match self.alone.get(&(application, job.nodes)) {
                Some(&pace) => pace,
                None => {
                    let told = |error: String| {
                        crate::error::refused(format!(
                            "application \"{name}\" on {} nodes: {error}",
                            job.nodes
                        ))
                    };
                    let one = self.machine.pace_alone(application, &nodes);
                    let pace = one.map_err(told)?;
                    self.alone.insert((application, job.nodes), pace);
                    pace
                }
            };
            if queue {
                let iterations = f64::from(iterations_of(&self.machine.applications[application]));
                let seconds = iterations * pace * 1e-12;
                job.run = Seconds(seconds.ceil().max(1.0) as i64);
                self.scale[index] = job.run.0 as f64 / seconds;
            }
        }
        Ok(())
    }
}

/// Iterations that a job runs.
fn iterations_of(job: &Job) -> u32 {
    match &job.load {
        Load::Motif(motif) => motif.iterations.max(1),
        Load::Traffic(_) => 1,
    }
}

impl Machine {
    /// Takes windows over that an earlier run kept in a file, and keeps those to come in it. What
    /// a run that was killed wrote in part goes; a file of anything else stays as it is.
    fn keep(&mut self, path: &Path) -> Result<(), Error> {
        let refused = |reason: &dyn std::fmt::Display| {
            crate::error::refused(format!("{}: {reason}", path.display()))
        };
        let unusable = |error: std::io::Error| refused(&format!("cannot be used: {error}"));
        let head = format!("windows {}\n", hex(&self.identity()));
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
                let (key, ends) = window.ok_or_else(|| refused(&no_window))?;
                self.known.insert(key, ends);
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

    /// A hash of the machine and its applications.
    fn identity(&self) -> Key {
        let mut hash = blake3::Hasher::new();
        let parts = (
            &self.scenario,
            &self.applications,
            env!("CARGO_PKG_VERSION"),
        );
        // Results do not depend on the number of threads.
        let mut form = serde_json::to_value(parts).unwrap_or_default();
        if let Some(threads) = form.pointer_mut("/0/simulation/threads") {
            *threads = Value::Null;
        }
        hash.update(form.to_string().as_bytes());
        *hash.finalize().as_bytes()
    }

    /// Picoseconds of an iteration of an application that is alone on these nodes.
    fn pace_alone(&mut self, application: usize, nodes: &[NodeId]) -> Result<f64, String> {
        let once = |iterations| Part {
            application,
            nodes,
            iterations,
        };
        let first = self.look(&[once(1)], None)?[0] as f64;
        let iterations = self.iterations(application, first, self.window);
        if iterations == 1 {
            return Ok(first);
        }
        let end = self.look(&[once(iterations)], None)?[0];
        Ok(end as f64 / f64::from(iterations))
    }

    /// Iterations that take about a time, at a pace.
    fn iterations(&self, application: usize, pace: f64, time: f64) -> u32 {
        let job = &self.applications[application];
        let most = match &job.load {
            Load::Motif(motif) if matches!(motif.kind, MotifKind::Trace(_)) => 1,
            _ => u64::from(iterations_of(job)).min(MOST_ITERATIONS),
        };
        ((time / pace.max(1.0)).ceil().max(1.0) as u64).min(most) as u32
    }

    /// When each of these jobs ends, in picoseconds, if all begin at once: from an engine, or from
    /// memory.
    fn look(
        &mut self,
        parts: &[Part<'_>],
        circuits: Option<&JobCircuits>,
    ) -> Result<Vec<u64>, String> {
        let key = key_of(parts, circuits);
        if let Some(ends) = self.known.get(&key) {
            self.reused += 1;
            return Ok(ends.clone());
        }
        let ends = self.simulate(parts)?;
        if let Some(file) = &mut self.kept {
            let listed: Vec<String> = ends.iter().map(u64::to_string).collect();
            let line = format!("{} {}\n", hex(&key), listed.join(" "));
            let written = file.write_all(line.as_bytes());
            written.map_err(|error| format!("the windows' file cannot be written: {error}"))?;
        }
        self.known.insert(key, ends.clone());
        Ok(ends)
    }

    fn simulate(&mut self, parts: &[Part<'_>]) -> Result<Vec<u64>, String> {
        let job = |(place, part): (usize, &Part<'_>)| {
            let template = &self.applications[part.application];
            let mut job = Job {
                name: format!("job{place}"),
                nodes: None,
                start_ps: 0,
                placement: Placement::Explicit {
                    nodes: part.nodes.iter().map(|node| node.0).collect(),
                },
                groups: None,
                submit_s: None,
                requested_s: None,
                ..template.clone()
            };
            if let Load::Motif(motif) = &mut job.load {
                motif.iterations = part.iterations;
            }
            job
        };
        let scenario = Scenario {
            jobs: parts.iter().enumerate().map(job).collect(),
            ..self.scenario.clone()
        };
        let mut go_on = |_: &Progress| ControlFlow::Continue(());
        let engine = Engine::BuiltIn(&self.algorithm);
        let topology = self.topology.clone();
        let run = run_with(&scenario, topology, engine, &Nothing, None, &mut go_on);
        let run = run.map_err(|error| error.to_string())?;
        self.simulated += 1;
        let ends = run.outcome.jobs.iter().enumerate().map(|(place, job)| {
            let end = job.end.map(|end| end.0.max(1));
            end.ok_or_else(|| format!("job {place} of a window does not end"))
        });
        ends.collect()
    }

    /// Takes the circuits over.
    fn rewire(&mut self, circuits: &JobCircuits) -> Result<(), String> {
        let topology = with_circuits(&self.scenario, circuits.current().clone());
        self.topology = topology.map_err(|error| error.to_string())?;
        let algorithm = AnyRouting::new(&self.topology, &self.routing);
        self.algorithm = algorithm.map_err(|error| error.to_string())?;
        Ok(())
    }
}

/// See [`Key`]; the machine's part of it is in the head of the file that keeps windows.
fn key_of(parts: &[Part<'_>], circuits: Option<&JobCircuits>) -> Key {
    let mut hash = blake3::Hasher::new();
    let mut add = |number: u64| {
        hash.update(&number.to_le_bytes());
    };
    for part in parts {
        add(part.application as u64);
        add(u64::from(part.iterations));
        add(part.nodes.len() as u64);
        part.nodes.iter().for_each(|node| add(u64::from(node.0)));
    }
    if let Some(circuits) = circuits {
        for end in circuits.ends() {
            add(end);
        }
    }
    *hash.finalize().as_bytes()
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

impl FallibleNetwork for ApplicationNetwork {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String> {
        let nodes = self.allotment.allocate(job, allocation)?;
        let count = nodes.len() as u32;
        let mut delay = 0.0;
        if let Some((circuits, footprints)) = &mut self.circuits {
            let groups = footprints.groups_of(nodes);
            if groups.len() > 1 {
                (_, delay) = circuits.set(job, &groups, None)?;
                self.machine.rewire(circuits)?;
            }
        }
        let application = self.of_job[job as usize].map(|application| application as usize);
        let alone = application.and_then(|a| self.alone.get(&(a, count)).map(|&pace| (a, pace)));
        let Some((application, alone)) = alone else {
            return Err(format!(
                "job {job}: its application was not measured on {count} nodes"
            ));
        };
        let running = Running {
            application,
            alone,
            speed: 0.0,
        };
        self.running.insert(job, running);
        self.touched = true;
        Ok(delay)
    }

    fn end(&mut self, job: u32) -> Result<(), String> {
        if let Some((circuits, _)) = &mut self.circuits {
            circuits.release(job);
        }
        self.touched |= self.running.remove(&job).is_some();
        self.allotment.leave(job)
    }

    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        if !std::mem::take(&mut self.touched) || self.running.is_empty() {
            return Ok(());
        }
        let slowest = self.running.values().map(|job| job.alone);
        let window = slowest.fold(self.machine.window, f64::max);
        let parts: Vec<Part<'_>> = (self.running.iter())
            .map(|(&job, running)| Part {
                application: running.application,
                nodes: self.allotment.of(job),
                iterations: self
                    .machine
                    .iterations(running.application, running.alone, window),
            })
            .collect();
        let circuits = self.circuits.as_ref().map(|(circuits, _)| circuits);
        let ends = self.machine.look(&parts, circuits)?;
        let iterations: Vec<u32> = parts.iter().map(|part| part.iterations).collect();
        for (((&job, running), end), iterations) in
            self.running.iter_mut().zip(ends).zip(iterations)
        {
            let pace = end as f64 / f64::from(iterations);
            let speed = self.scale[job as usize] * running.alone / pace;
            if (speed - running.speed).abs() > 1e-12 {
                running.speed = speed;
                changed.push((job, speed));
            }
        }
        Ok(())
    }

    fn report(&self) -> Value {
        let machine = &self.machine;
        let mut reported = json!({
            "windows": {"simulated": machine.simulated, "reused": machine.reused},
        });
        if let Some((circuits, _)) = &self.circuits {
            reported["circuits"] = circuits.report();
        }
        reported
    }
}
