//! Jobs that share a network as flows: each gets its max-min fair share of the rate
//! at which it wants to communicate.
//!
//! A job communicates for a share *c* of its time in the log, its nodes sending at a
//! given rate meanwhile. What limits it then is its own traffic, all of it at once,
//! and what the others leave: they communicate at other times, so each of them
//! counts with *c* of its own traffic, on average. If it gets the part φ of the rate
//! that it wants, its communication takes 1/φ as long.

use std::collections::BTreeMap;

use odonata_flow::LinkNumbers;
use odonata_flow::demands::{Demands, UserId};
use odonata_flow::share::{LinkId, Use};
use odonata_network::Topology;
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec, minimal_routing};
use odonata_scheduler::batch::Allocation;
use serde_json::{Value, json};

use super::circuits::JobCircuits;
use super::fallible::FallibleNetwork;
use super::footprint::{Footprints, Loads, Sent};
use super::global_links::GlobalLinks;
use super::jobs::Communication;
use super::machine::{NodesOfJobs, SharedMachine, node_rate, refuse_inside};
use super::spec::wrong;
use super::traffic::{Traffic, named_traffics};
use crate::error::Error;
use crate::spec::CircuitSource;

/// Parts of the traffic between groups that adaptive routing sends minimally: it
/// takes the one with which a job gets on best when it begins.
const SPLITS: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// How traffic between groups goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ways {
    Minimal,
    Detours,
    Either,
}

/// Jobs on the nodes of a network.
pub(super) struct FlowNetwork {
    jobs: Vec<Communication>,
    traffics: Vec<Traffic>,
    footprints: Footprints,
    demands: Demands,
    capacity: Vec<f64>,
    ways: Ways,
    routing: RoutingSpec,
    /// Bytes per picosecond that a node sends while it communicates.
    rate: f64,
    allotment: NodesOfJobs,
    /// Where circuits are set for jobs.
    circuits: Option<JobCircuits>,
    users: BTreeMap<u32, UserId>,
    job_of: BTreeMap<UserId, u32>,
    changed: Vec<UserId>,
}

/// Whether an algorithm goes by tables, so that its flows do.
fn is_by_tables(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::UpDown | Algorithm::ShortestPath | Algorithm::DimensionOrder | Algorithm::Dfsssp
    )
}

/// By which links of a network nodes send to each other.
fn footprints(network: Topology, ways: Ways, routing: &RoutingSpec) -> Result<Footprints, Error> {
    let algorithm = routing.algorithm;
    if is_by_tables(algorithm) {
        let tables = AnyRouting::new(&network, routing);
        let tables = tables.map_err(|error| {
            let allowed = format!("a network for {} routing", algorithm.name());
            wrong("machine", error, allowed)
        })?;
        return Ok(Footprints::of_tables(network, tables));
    }
    let inside = AnyRouting::new(&network, &RoutingSpec::new(Algorithm::Minimal));
    let inside = match inside {
        Err(_) if network.may_be_disconnected => minimal_routing(&network),
        inside => inside,
    };
    let inside = inside.map_err(|error| {
        let allowed = "a network of groups each two of which are joined by a link";
        wrong("machine", error, allowed)
    })?;
    let footprints = Footprints::new(&network, &inside);
    if ways != Ways::Minimal && !footprints.fixed().joins_all() {
        let allowed = "tago or minimal, as detours need a link between every two groups";
        return Err(wrong(
            "machine.routing.algorithm",
            algorithm.name(),
            allowed,
        ));
    }
    Ok(footprints)
}

/// A link, and what a job puts on it by minimal routes and by detours.
struct Load {
    link: LinkId,
    minimal: f64,
    detours: f64,
}

impl FlowNetwork {
    pub(super) fn new(
        machine: SharedMachine,
        jobs: &[Communication],
        traffics: &[String],
        injection: f64,
    ) -> Result<Self, Error> {
        let SharedMachine {
            topology,
            routing,
            reconfigurable,
            allotment,
            ..
        } = machine;
        refuse_inside(&topology)?;
        let circuits = reconfigurable.filter(|on| on.circuits == CircuitSource::Jobs);
        let ways = match routing.algorithm {
            Algorithm::Minimal | Algorithm::Tago { .. } => Ways::Minimal,
            other if circuits.is_none() && is_by_tables(other) => Ways::Minimal,
            other if circuits.is_some() => {
                let allowed = "tago or minimal where circuits are set for jobs: other groups \
                               are no detour, their links belong to other jobs";
                return Err(wrong("machine.routing.algorithm", other.name(), allowed));
            }
            Algorithm::Valiant { .. } => Ways::Detours,
            Algorithm::UgalLocal(_) | Algorithm::UgalGlobal(_) | Algorithm::Par(_) => Ways::Either,
            other => {
                let allowed = "minimal, tago, valiant, ugal-l, ugal-g, par, up-down, \
                               shortest-path, dimension-order or dfsssp for jobs as flows";
                return Err(wrong("machine.routing.algorithm", other.name(), allowed));
            }
        };
        let capacity: Vec<f64> = LinkNumbers::capacities(&topology).collect();
        let rate = node_rate(&topology) * 1e-12 * injection;
        let circuits = circuits.map(|on| on.job_circuits(&topology));
        let footprints = footprints(topology, ways, &routing)?;
        Ok(Self {
            jobs: jobs.to_vec(),
            traffics: named_traffics(traffics)?,
            footprints,
            demands: Demands::new(capacity.iter().copied()),
            capacity,
            ways,
            routing,
            rate,
            allotment,
            circuits,
            users: BTreeMap::new(),
            job_of: BTreeMap::new(),
            changed: Vec::new(),
        })
    }

    /// Adds what a running job wants of the network, by these links between groups if it owns some.
    fn add(
        &mut self,
        job: u32,
        sent: &Sent,
        global_links: Option<&GlobalLinks>,
    ) -> Result<(), String> {
        let average = self.jobs[job as usize].share * self.rate;
        let (uses, own) = self.wants(average, sent, global_links)?;
        let user = self.demands.add(uses, own);
        self.users.insert(job, user);
        self.job_of.insert(user, job);
        Ok(())
    }

    /// What a job's nodes send to each other, if they communicate.
    fn sent_by(&mut self, job: u32) -> Option<Sent> {
        let nodes = self.allotment.of(job);
        let traffic = self.jobs[job as usize].traffic_on(nodes.len())?;
        let traffic = self.traffics[traffic];
        Some(self.footprints.sent(traffic, nodes, self.allotment.group()))
    }

    /// What a job wants of the network: bytes per picosecond on each link on
    /// average at full speed, and the part of that speed that its own traffic lets
    /// through.
    fn wants(
        &mut self,
        average: f64,
        sent: &Sent,
        global_links: Option<&GlobalLinks>,
    ) -> Result<(Vec<Use>, f64), String> {
        let detours = match self.ways {
            Ways::Minimal => None,
            Ways::Detours | Ways::Either => self.footprints.detours(sent),
        };
        if let (Ways::Detours, Some(detours)) = (self.ways, &detours) {
            return Ok((uses(detours, average), self.alone(detours.iter().copied())));
        }
        let minimal = self
            .footprints
            .minimal(sent, global_links)
            .map_err(|(from, to)| {
                format!(
                    "no circuits lead from group {from} to group {to}; use circuits = \"uniform\""
                )
            })?;
        let Some(detours) = detours else {
            return Ok((uses(&minimal, average), self.alone(minimal.iter().copied())));
        };
        let loads = merged(&minimal, &detours);
        let mut best: Option<(f64, f64, f64)> = None;
        for split in SPLITS {
            let mixed = loads.iter().map(|one| (one.link, mix(one, split)));
            let mixed = mixed.filter(|&(_, load)| load > 0.0);
            let own = self.alone(mixed.clone().map(|(link, load)| (link.0, load)));
            let beside = mixed.map(|(link, load)| {
                let pull = load * average;
                self.demands.room(link, pull) / pull
            });
            let speed = beside.fold(own, f64::min);
            // Ties stay with the more minimal one, which comes first.
            if best
                .as_ref()
                .is_none_or(|best| speed > best.0 * (1.0 + 1e-9))
            {
                best = Some((speed, split, own));
            }
        }
        let (_, split, own) = best.unwrap_or((1.0, 1.0, 1.0));
        let mixed = loads.iter().map(|one| (one.link.0, mix(one, split)));
        let mixed: Loads = mixed.filter(|&(_, load)| load > 0.0).collect();
        Ok((uses(&mixed, average), own))
    }

    /// The part of its rate that a job's own traffic lets through.
    fn alone(&self, loads: impl Iterator<Item = (u32, f64)>) -> f64 {
        let rooms = loads.map(|(link, load)| self.capacity[link as usize] / (load * self.rate));
        rooms.fold(1.0, f64::min)
    }
}

fn mix(load: &Load, split: f64) -> f64 {
    split * load.minimal + (1.0 - split) * load.detours
}

fn uses(loads: &Loads, average: f64) -> Vec<Use> {
    let used = loads.iter().map(|&(link, load)| Use {
        link: LinkId(link),
        share: load * average,
        ahead: 0,
    });
    used.collect()
}

/// Two lists of loads as one.
fn merged(minimal: &Loads, detours: &Loads) -> Vec<Load> {
    let mut all = Vec::with_capacity(minimal.len().max(detours.len()));
    let (mut one, mut other) = (minimal.iter().peekable(), detours.iter().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (None, None) => return all,
            (Some(a), None) => a.0,
            (None, Some(b)) => b.0,
            (Some(a), Some(b)) => a.0.min(b.0),
        };
        let minimal = one.next_if(|load| load.0 == next);
        let detours = other.next_if(|load| load.0 == next);
        all.push(Load {
            link: LinkId(next),
            minimal: minimal.map_or(0.0, |load| load.1),
            detours: detours.map_or(0.0, |load| load.1),
        });
    }
}

impl FlowNetwork {
    /// Gives a job its nodes, sets its circuits if it owns its groups, adds what it wants; seconds
    /// that it waits for circuits.
    pub(super) fn begin_with(
        &mut self,
        job: u32,
        allocation: &Allocation<'_>,
        owns: bool,
    ) -> Result<f64, String> {
        self.allotment.allocate(job, allocation)?;
        let sent = self.sent_by(job);
        let nodes = self.allotment.of(job);
        let (mut global_links, mut delay) = (None, 0.0);
        if let Some(circuits) = self.circuits.as_mut().filter(|_| owns) {
            let groups = self.footprints.groups_of(nodes);
            if groups.len() > 1 {
                let (links, until) = circuits.set(job, &groups, sent.as_ref())?;
                (global_links, delay) = (Some(links), until);
                debug_assert_eq!(circuits.check(), Ok(()));
            }
        }
        if let Some(sent) = sent {
            self.add(job, &sent, global_links.as_ref())?;
        }
        Ok(delay)
    }
}

impl FallibleNetwork for FlowNetwork {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String> {
        self.begin_with(job, allocation, true)
    }

    fn allotment(&self) -> &NodesOfJobs {
        &self.allotment
    }

    fn allotment_mut(&mut self) -> &mut NodesOfJobs {
        &mut self.allotment
    }

    fn end(&mut self, job: u32) -> Result<(), String> {
        if let Some(circuits) = &mut self.circuits {
            circuits.release(job);
        }
        if let Some(user) = self.users.remove(&job) {
            self.job_of.remove(&user);
            self.demands.remove(user);
        }
        self.allotment.leave(job)
    }

    fn rewire(&mut self, network: Topology) -> Result<(), String> {
        self.capacity = LinkNumbers::capacities(&network).collect();
        let footprints = footprints(network, self.ways, &self.routing);
        self.footprints = footprints.map_err(|error| error.to_string())?;
        self.demands = Demands::new(self.capacity.iter().copied());
        self.job_of.clear();
        let running: Vec<u32> = std::mem::take(&mut self.users).into_keys().collect();
        for job in running {
            if let Some(sent) = self.sent_by(job) {
                self.add(job, &sent, None)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        self.demands.settle(&mut self.changed);
        for user in self.changed.drain(..) {
            if let Some(&job) = self.job_of.get(&user) {
                let part = self.demands.rate(user);
                changed.push((job, self.jobs[job as usize].speed(part)));
            }
        }
        Ok(())
    }

    fn speed_alone(&self, job: u32) -> f64 {
        let wanted = self.users.get(&job).map(|&user| self.demands.wanted(user));
        wanted.map_or(1.0, |own| self.jobs[job as usize].speed(own))
    }

    fn report(&self) -> Value {
        match &self.circuits {
            None => Value::Null,
            Some(circuits) => json!({"circuits": circuits.report()}),
        }
    }
}
