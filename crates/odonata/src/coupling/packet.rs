//! Jobs that share a network packet by packet: whenever jobs have begun or ended, a
//! window of the traffic of all that run is simulated with the packet engine, and what
//! of each job's messages arrives in it tells how fast the job goes on.
//!
//! Everything else is as with [flows](super::flow): a job communicates for a share *c*
//! of its time, its nodes sending at a given rate meanwhile. The part of that rate that
//! arrives when the job is alone and sends all of it at once is what its own traffic
//! lets through, *own*; beside others, each job sends *c · own* of it at random times,
//! its average, and φ = *own* · arrived / sent.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_load::{Arrivals, OpenLoop, Partners, Pattern, Process, Turn};
use odonata_network::Topology;
use odonata_run::{
    EngineConfig, JobClasses, JobLoad, JobPlan, Measurement, MessageRecords, Progress, Protocol,
};
use odonata_scheduler::batch::Allocation;
use odonata_sim::run_any;
use odonata_units::{Bytes, NodeId, Picoseconds};
use serde_json::Value;

use super::fallible::FallibleNetwork;
use super::jobs::Communication;
use super::machine::{NodesOfJobs, SharedMachine, node_rate, refuse_inside};
use super::spec::{PacketSpec, Stretch, wrong};
use super::traffic::Traffic;
use super::wired::WiredMachine;
use crate::error::Error;
use crate::run::engine_config;

/// Arrivals are random: parts this close to all count as all.
const NOISE: f64 = 0.02;

/// A job that communicates.
#[derive(Clone, Copy, Debug)]
struct CommunicatingJob {
    traffic: Traffic,
    share: f64,
    /// Part of its rate that its own traffic lets through.
    own: f64,
    /// Mean latency of a message at the average rate, alone.
    latency_ps: f64,
    /// Part of its rate as of the last settling.
    part: f64,
}

/// What came of a job's messages in a window.
#[derive(Clone, Copy, Debug)]
struct WindowResult {
    /// Part of the bytes sent that arrived.
    arrived: f64,
    latency_ps: f64,
}

/// A job's messages: who, where, bytes per second of each node.
type Sender<'a> = (Traffic, &'a [NodeId], f64);

/// Jobs on the nodes of a network.
pub(super) struct PacketNetwork {
    jobs: Vec<Communication>,
    traffics: Vec<Traffic>,
    engine: Engine,
    stretch: Stretch,
    /// Bytes per second that a node sends while it communicates.
    rate: f64,
    talkers: BTreeMap<u32, CommunicatingJob>,
    touched: bool,
    /// What has been seen of the same jobs before.
    known: BTreeMap<Vec<u64>, Vec<WindowResult>>,
}

/// The packet engine with everything that it needs for a window.
struct Engine {
    machine: WiredMachine,
    config: EngineConfig,
    warmup: Picoseconds,
    end: Picoseconds,
    message: Bytes,
    windows: u64,
    reused: u64,
}

impl PacketNetwork {
    pub(super) fn new(
        mut machine: SharedMachine,
        jobs: &[Communication],
        traffics: Vec<Traffic>,
        injection: f64,
        spec: &PacketSpec,
    ) -> Result<Self, Error> {
        for (key, value) in [("window", spec.window_ps), ("message", spec.message_bytes)] {
            if value == 0 {
                return Err(wrong(key, 0, "above 0"));
            }
        }
        refuse_inside(&machine.topology)?;
        machine.scenario.simulation.packet_bytes = spec.packet_bytes;
        let machine = WiredMachine::new(machine)?;
        Ok(Self {
            jobs: jobs.to_vec(),
            traffics,
            stretch: spec.stretch,
            rate: node_rate(&machine.topology) * injection,
            engine: Engine {
                config: engine_config(&machine.scenario)?,
                warmup: Picoseconds(spec.warmup_ps),
                end: Picoseconds(spec.warmup_ps.saturating_add(spec.window_ps)),
                message: Bytes(spec.message_bytes),
                machine,
                windows: 0,
                reused: 0,
            },
            talkers: BTreeMap::new(),
            touched: false,
            known: BTreeMap::new(),
        })
    }

    /// A job that communicates, with what its own traffic lets through on the network as it is.
    fn measured_alone(
        &mut self,
        job: u32,
        talker: CommunicatingJob,
    ) -> Result<CommunicatingJob, String> {
        let CommunicatingJob { traffic, share, .. } = talker;
        let nodes = self.engine.machine.nodes_of(job).to_vec();
        let own = self.look(&[(traffic, &nodes, self.rate)])?[0].arrived;
        let latency_ps = match self.stretch {
            Stretch::Throughput => 0.0,
            Stretch::Latency => {
                let average = self.rate * share * own;
                self.look(&[(traffic, &nodes, average)])?[0].latency_ps
            }
        };
        Ok(CommunicatingJob {
            own,
            latency_ps,
            ..talker
        })
    }

    /// What comes of these jobs' messages, from a window or from memory.
    fn look(&mut self, senders: &[Sender<'_>]) -> Result<Vec<WindowResult>, String> {
        let mut key: Vec<u64> = Vec::new();
        for (traffic, nodes, rate) in senders {
            key.extend([*traffic as u64, rate.to_bits(), nodes.len() as u64]);
            key.extend(nodes.iter().map(|node| u64::from(node.0)));
        }
        key.extend(self.engine.machine.circuit_ends());
        // Whatever the order of these, a network that has changed has others.
        if let Some(state) = self.engine.machine.state() {
            let words = state
                .chunks_exact(8)
                .map(|word| word.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
            key.extend(words);
        }
        if let Some(seen) = self.known.get(&key) {
            self.engine.reused += 1;
            return Ok(seen.clone());
        }
        let seen = self.engine.window(senders)?;
        self.known.insert(key, seen.clone());
        Ok(seen)
    }
}

/// A part, or 1 if it is that but for noise.
fn nearly_all(part: f64) -> f64 {
    if part.is_nan() || part > 1.0 - NOISE {
        1.0
    } else {
        part
    }
}

impl Engine {
    fn plan(&self, sender: &Sender<'_>) -> Result<JobPlan, String> {
        let &(traffic, nodes, rate) = sender;
        let ranks = nodes.len() as u32;
        let distances = traffic.distances(nodes.len(), self.machine.allotment.group());
        let (pattern, rate) = if distances.is_empty() {
            (Pattern::UniformRandom, rate)
        } else {
            // What is sent to oneself takes its share of the rate and no link.
            let away = distances.iter().filter(|&&away| away > 0).count();
            let rate = rate * away as f64 / distances.len() as f64;
            let distances: Vec<u32> = distances.into_iter().map(|away| away as u32).collect();
            let partners = Partners::at_distances(ranks, &distances, Turn::Random);
            let partners = partners.map_err(|error| error.to_string())?;
            (Pattern::Partners(Arc::new(partners)), rate)
        };
        let arrivals = Arrivals::from_rate(self.message, rate, Process::Poisson);
        let arrivals = arrivals.map_err(|error| error.to_string())?;
        let load = OpenLoop::new(pattern, arrivals, self.message, ranks);
        Ok(JobPlan {
            name: "job".to_owned(),
            start: Picoseconds::ZERO,
            node_of_rank: nodes.to_vec(),
            load: JobLoad::Open(load.map_err(|error| error.to_string())?),
            protocol: Protocol::default(),
            classes: JobClasses::default(),
            servers: None,
        })
    }

    /// Simulates a window of these jobs' traffic.
    fn window(&mut self, senders: &[Sender<'_>]) -> Result<Vec<WindowResult>, String> {
        let plans = senders.iter().map(|sender| self.plan(sender));
        let plans: Vec<JobPlan> = plans.collect::<Result<_, _>>()?;
        let measurement = Measurement {
            warmup: self.warmup,
            duration: Some(self.end),
            timeline_bin: None,
            messages: MessageRecords::None,
            rank_intervals: false,
            traffic: false,
            attribution: false,
            arrivals: None,
        };
        let mut go_on = |_: &Progress| ControlFlow::Continue(());
        let outcome = run_any(
            &self.machine.topology,
            &self.machine.algorithm,
            &self.config,
            &plans,
            &measurement,
            None,
            &mut go_on,
        );
        let outcome = outcome.map_err(|error| error.to_string())?;
        self.windows += 1;
        let seen = outcome.jobs.iter().map(|job| {
            let (sent, arrived) = (job.bytes_created_measured, job.bytes_delivered_measured);
            let part = arrived as f64 / sent as f64;
            WindowResult {
                // Nothing at all would be a job that never ends.
                arrived: nearly_all(part).max(1e-3),
                latency_ps: job.message_latency_ps.mean().unwrap_or(f64::NAN),
            }
        });
        Ok(seen.collect())
    }
}

impl FallibleNetwork for PacketNetwork {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String> {
        let communication = self.jobs[job as usize];
        let traffic = communication
            .traffic_on(allocation.nodes as usize)
            .map(|traffic| self.traffics[traffic]);
        let delay = self.engine.machine.begin(job, allocation, traffic)?;
        if let Some(traffic) = traffic {
            let talker = CommunicatingJob {
                traffic,
                share: communication.share,
                own: 1.0,
                latency_ps: 0.0,
                part: 1.0,
            };
            let talker = self.measured_alone(job, talker)?;
            self.talkers.insert(job, talker);
            self.touched = true;
        }
        Ok(delay)
    }

    fn rewire(&mut self, network: Topology) -> Result<(), String> {
        self.engine.machine.rewire(network)?;
        let talkers: Vec<_> = self
            .talkers
            .iter()
            .map(|(&job, &talker)| (job, talker))
            .collect();
        for (job, talker) in talkers {
            let mut talker = self.measured_alone(job, talker)?;
            // What a job's messages take on the whole network is what they are to take.
            if let Some(before) = self.talkers.get(&job) {
                talker.latency_ps = before.latency_ps;
            }
            self.talkers.insert(job, talker);
        }
        self.touched = true;
        Ok(())
    }

    fn allotment(&self) -> &NodesOfJobs {
        &self.engine.machine.allotment
    }

    fn allotment_mut(&mut self) -> &mut NodesOfJobs {
        &mut self.engine.machine.allotment
    }

    fn end(&mut self, job: u32) -> Result<(), String> {
        self.touched |= self.talkers.remove(&job).is_some();
        self.engine.machine.end(job)
    }

    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        if !std::mem::take(&mut self.touched) || self.talkers.is_empty() {
            return Ok(());
        }
        let talking: Vec<(u32, CommunicatingJob, Vec<NodeId>)> = (self.talkers.iter())
            .map(|(&job, &talker)| (job, talker, self.engine.machine.nodes_of(job).to_vec()))
            .collect();
        let senders: Vec<Sender<'_>> = (talking.iter())
            .map(|(_, talker, nodes)| {
                let average = self.rate * talker.share * talker.own;
                (talker.traffic, nodes.as_slice(), average)
            })
            .collect();
        let seen = self.look(&senders)?;
        for ((job, talker, _), seen) in talking.iter().zip(seen) {
            let slower = match self.stretch {
                Stretch::Throughput => 1.0,
                Stretch::Latency => nearly_all(talker.latency_ps / seen.latency_ps),
            };
            let part = talker.own * seen.arrived.min(slower);
            if let Some(kept) = self.talkers.get_mut(job)
                && (part - kept.part).abs() > 1e-12
            {
                kept.part = part;
                changed.push((*job, self.jobs[*job as usize].speed(part)));
            }
        }
        Ok(())
    }
    fn speed_alone(&self, job: u32) -> f64 {
        let talker = self.talkers.get(&job);
        talker.map_or(1.0, |talker| self.jobs[job as usize].speed(talker.own))
    }

    fn report(&self) -> Value {
        let engine = &self.engine;
        engine.machine.report(engine.windows, engine.reused)
    }
}
