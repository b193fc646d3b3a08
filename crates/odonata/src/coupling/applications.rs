//! Jobs with applications that share a network: a job does what a `[[job]]` of a scenario says.
//!
//! An application is a loop of iterations. Its *pace* is the time of one of them: at first alone
//! on an idle machine, on the nodes that the placement takes there; then, whenever jobs have begun
//! or ended, beside all others on the nodes that each of them has, in a [window](super::windows).
//! The speed of a job is the ratio of the two paces.

use std::collections::BTreeMap;

use odonata_network::Topology;
use odonata_placement::Policy;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::Allocation;
use odonata_scheduler::log::JobLog;
use odonata_units::NodeId;
use serde_json::Value;

use super::fallible::FallibleNetwork;
use super::machine::{NodesOfJobs, SharedMachine, any_free};
use super::spec::{ApplicationsSpec, wrong};
use super::windows::{Alone, Member, Part, Span, Windows};
use super::wired::WiredMachine;
use crate::error::Error;
use crate::spec::{self, Job, Load};

/// How often rates of flows are brought up to date, where nothing is said.
const SETTLE_PS: u64 = 200_000;

/// What a job of the log does.
struct Behaviour {
    /// Its program, by place among those of the windows.
    program: usize,
    iterations: u32,
    /// On an idle machine, and its nodes there.
    alone: Alone,
    nodes_alone: Vec<NodeId>,
    /// Seconds of work in the schedule, divided by the seconds that it takes alone.
    scale: f64,
}

/// Jobs on the nodes of a machine, each with its application.
pub(super) struct ApplicationNetwork {
    machine: WiredMachine,
    windows: Windows,
    /// By job of the log; `None`: it is larger than the machine.
    behaviours: Vec<Option<Behaviour>>,
    /// Running jobs, each with its speed as of the last settling.
    running: BTreeMap<u32, f64>,
    touched: bool,
}

impl ApplicationNetwork {
    /// `of_job` is the application of every job of `log`, by place in `spec.jobs`. Where the jobs
    /// of the scenario are the log (`spec.queue`), their run times become what they take alone.
    pub(super) fn new(
        mut shared: SharedMachine,
        log: &mut JobLog,
        of_job: &[Option<u32>],
        engine: spec::Engine,
        span: Span,
        spec: &ApplicationsSpec,
    ) -> Result<Self, Error> {
        // A window lasts until its jobs are done, whatever a run of the scenario would do.
        shared.scenario.simulation = spec::Simulation {
            engine,
            duration_ps: None,
            warmup_ps: 0,
            detect_warmup: false,
            precision: None,
            skip: None,
            threads: match engine {
                spec::Engine::Packet => spec.simulation.threads,
                spec::Engine::Flow => 1,
            },
            settle_ps: match engine {
                spec::Engine::Packet => spec.simulation.settle_ps,
                spec::Engine::Flow => spec.simulation.settle_ps.or(Some(SETTLE_PS)),
            },
            ..spec.simulation.clone()
        };
        shared.scenario.mpi = spec.mpi.clone();
        shared.scenario.seed = spec.seed;
        let (of_job, spec) = &with_gpus(log, of_job, spec, &shared.topology)?;
        let own = own_policies(of_job, spec)?;
        shared.allotment.place_by(own);
        let machine = WiredMachine::new(shared)?;
        let (windows, program_of) = Windows::new(&machine, spec, span)?;
        let mut network = Self {
            machine,
            windows,
            behaviours: Vec::with_capacity(log.jobs.len()),
            running: BTreeMap::new(),
            touched: false,
        };
        network.measure_alone(log, of_job, &program_of, spec)?;
        Ok(network)
    }

    /// Measures the pace of every application alone, on as many nodes as jobs have.
    fn measure_alone(
        &mut self,
        log: &mut JobLog,
        of_job: &[Option<u32>],
        program_of: &[usize],
        spec: &ApplicationsSpec,
    ) -> Result<(), Error> {
        for (number, (job, application)) in (0u32..).zip(log.jobs.iter_mut().zip(of_job)) {
            let Some(application) = application.map(|place| place as usize) else {
                let found = format!("no application for job {} of {} nodes", job.id, job.nodes);
                let allowed = "an application for every job of the log";
                return Err(wrong("mix", found, allowed));
            };
            let Job { name, load, .. } = &spec.jobs[application];
            let Some(nodes) = self.machine.allotment.idle_nodes(number, job.nodes) else {
                if spec.queue {
                    let most = self.machine.allotment.most();
                    let allowed = format!("at most {most}, the nodes of the machine");
                    let key = format!("job \"{name}\".nodes");
                    return Err(Error::Spec(crate::SpecError::value(
                        key, job.nodes, allowed,
                    )));
                }
                // The scheduler refuses it.
                self.behaviours.push(None);
                continue;
            };
            let part = Part {
                program: program_of[application],
                most: iterations_of(load),
                nodes: &nodes,
            };
            let alone = self.windows.pace_alone(&self.machine, &part);
            let alone = alone.map_err(|error| {
                let nodes = job.nodes;
                crate::error::refused(format!("application \"{name}\" on {nodes} nodes: {error}"))
            })?;
            let mut scale = 1.0;
            if spec.queue {
                let seconds = f64::from(part.most) * alone.pace * 1e-12;
                job.run = Seconds(seconds.ceil().max(1.0) as i64);
                scale = job.run.0 as f64 / seconds;
            }
            self.behaviours.push(Some(Behaviour {
                program: part.program,
                iterations: part.most,
                alone,
                nodes_alone: nodes,
                scale,
            }));
        }
        Ok(())
    }
}

/// What jobs do that ask for some GPUs of each of their nodes, where nodes have several ranks: the same
/// with as many ranks on a node. By job of the log, by place among the applications that are returned.
fn with_gpus(
    log: &JobLog,
    of_job: &[Option<u32>],
    spec: &ApplicationsSpec,
    topology: &Topology,
) -> Result<(Vec<Option<u32>>, ApplicationsSpec), Error> {
    let (mut of_job, mut spec) = (of_job.to_vec(), spec.clone());
    let Some(inside) = topology.inside.as_ref().filter(|_| !spec.queue) else {
        return Ok((of_job, spec));
    };
    spec.placed.resize(spec.jobs.len(), false);
    let mut known = BTreeMap::new();
    for (job, application) in log.jobs.iter().zip(&mut of_job) {
        let (Some(application), Some(gpus)) = (application, job.gpus_per_node()) else {
            continue;
        };
        if gpus > u64::from(inside.ranks) {
            let found = format!("job {} with {gpus} GPUs on each node", job.id);
            let allowed = format!("at most {}, node.ranks", inside.ranks);
            return Err(wrong("machine.node.ranks", found, allowed));
        }
        let place = known.entry((*application, gpus)).or_insert_with(|| {
            let place = *application as usize;
            spec.jobs.push(Job {
                ranks_per_node: gpus as u32,
                ..spec.jobs[place].clone()
            });
            spec.placed.push(spec.placed[place]);
            spec.jobs.len() as u32 - 1
        });
        *application = *place;
    }
    Ok((of_job, spec))
}

/// By job of the log: the policy of its own by which it is placed, if it has one.
fn own_policies(
    of_job: &[Option<u32>],
    spec: &ApplicationsSpec,
) -> Result<Vec<Option<Policy>>, Error> {
    let mut of_application = Vec::with_capacity(spec.placed.len());
    for (job, &is_placed) in spec.jobs.iter().zip(&spec.placed) {
        let refused = |allowed: String| {
            let key = format!("job \"{}\".placement", job.name);
            Error::Spec(crate::SpecError::value(key, job.placement.name(), allowed))
        };
        if is_placed && job.groups.is_some() {
            let allowed = "a placement without groups, as the scheduler counts nodes of all";
            return Err(refused(allowed.to_owned()));
        }
        let policy = is_placed.then(|| any_free(&job.placement));
        of_application.push(
            policy
                .transpose()
                .map_err(|allowed| refused(allowed.into()))?,
        );
    }
    let of = |place: &Option<u32>| of_application.get((*place)? as usize).cloned().flatten();
    Ok(of_job.iter().map(of).collect())
}

/// Iterations that a job runs.
fn iterations_of(load: &Load) -> u32 {
    match load {
        Load::Motif(motif) => motif.iterations.max(1),
        Load::Traffic(_) => 1,
    }
}

impl FallibleNetwork for ApplicationNetwork {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String> {
        let delay = self.machine.begin(job, allocation, None)?;
        self.running.insert(job, 0.0);
        self.touched = true;
        Ok(delay)
    }

    fn allotment(&self) -> &NodesOfJobs {
        &self.machine.allotment
    }

    fn allotment_mut(&mut self) -> &mut NodesOfJobs {
        &mut self.machine.allotment
    }

    fn end(&mut self, job: u32) -> Result<(), String> {
        self.touched |= self.running.remove(&job).is_some();
        self.machine.end(job)
    }

    fn rewire(&mut self, network: Topology) -> Result<(), String> {
        self.touched = true;
        self.machine.rewire(network)
    }

    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        if !std::mem::take(&mut self.touched) || self.running.is_empty() {
            return Ok(());
        }
        let mut jobs: Vec<(u32, &Behaviour)> = Vec::with_capacity(self.running.len());
        for (&job, known) in &mut self.running {
            let behaviour = self.behaviours[job as usize].as_ref();
            let behaviour = behaviour.ok_or("a job is larger than the machine")?;
            if behaviour.alone.sends {
                jobs.push((job, behaviour));
            } else if *known != behaviour.scale {
                *known = behaviour.scale;
                changed.push((job, *known));
            }
        }
        if jobs.is_empty() {
            return Ok(());
        }
        // Equal states are equal windows, whatever the numbers of their jobs.
        jobs.sort_by_key(|&(job, _)| self.machine.nodes_of(job).first());
        let members: Vec<Member<'_>> = (jobs.iter())
            .map(|&(job, behaviour)| Member {
                part: Part {
                    program: behaviour.program,
                    most: behaviour.iterations,
                    nodes: self.machine.nodes_of(job),
                },
                alone: behaviour.alone.pace,
                nodes_alone: &behaviour.nodes_alone,
            })
            .collect();
        let paces = self.windows.paces(&self.machine, &members)?;
        for ((job, behaviour), pace) in jobs.into_iter().zip(paces) {
            let speed = behaviour.scale * behaviour.alone.pace / pace;
            if let Some(known) = self.running.get_mut(&job)
                && (speed - *known).abs() > 1e-12
            {
                *known = speed;
                changed.push((job, speed));
            }
        }
        changed.sort_unstable_by_key(|&(job, _)| job);
        Ok(())
    }

    fn speed_alone(&self, job: u32) -> f64 {
        let behaviour = self.behaviours[job as usize].as_ref();
        behaviour.map_or(1.0, |behaviour| behaviour.scale)
    }

    fn report(&self) -> Value {
        self.machine
            .report(self.windows.simulated, self.windows.reused)
    }
}
