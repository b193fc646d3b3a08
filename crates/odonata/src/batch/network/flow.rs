//! Jobs that share a network as flows: each gets its max-min fair share of the rate
//! at which it wants to communicate.
//!
//! A job communicates for a share *c* of its time in the log, its nodes sending at a
//! given rate meanwhile. What limits it then is its own traffic, all of it at once,
//! and what the others leave: they communicate at other times, so each of them
//! counts with *c* of its own traffic, on average. If it gets the part φ of the rate
//! that it wants, its communication takes 1/φ as long.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_flow::LinkNumbers;
use odonata_flow::demands::{Demands, UserId};
use odonata_flow::share::{LinkId, Use};
use odonata_network::Topology;
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec};
use odonata_placement::{Machine as Wiring, MachineState, Policy, Request, place};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Network, Seat};
use odonata_units::NodeId;
use odonata_units::random::{Purpose, StreamKey};

use super::footprint::{Footprints, Traffic, uses};
use super::jobs::Communication;
use super::{FlowSpec, wrong};
use crate::error::Error;
use crate::routing::routing_spec;
use crate::spec::{Placement, Scenario};
use crate::topology::build_topology;

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

/// A job that runs.
struct Running {
    nodes: Vec<NodeId>,
    user: Option<UserId>,
}

/// Jobs on the nodes of a network.
pub(super) struct FlowNetwork {
    jobs: Vec<Communication>,
    traffics: Vec<Traffic>,
    footprints: Footprints,
    demands: Demands,
    capacity: Vec<f64>,
    ways: Ways,
    /// Bytes per picosecond that a node sends while it communicates.
    rate: f64,
    state: MachineState,
    policy: Policy,
    key: StreamKey,
    running: BTreeMap<u32, Running>,
    job_of: BTreeMap<UserId, u32>,
    changed: Vec<UserId>,
    /// What could not be done since the last settling.
    failure: Option<String>,
}

impl FlowNetwork {
    pub(super) fn new(
        machine_nodes: u32,
        jobs: &[Communication],
        traffics: &[String],
        seed: u64,
        spec: &FlowSpec,
    ) -> Result<Self, Error> {
        let scenario = Scenario::new(spec.machine.clone());
        let topology = build_topology(&scenario)?;
        let routing = routing_spec(&spec.machine.routing, spec.machine.router.delay_ps)?;
        let ways = match routing.algorithm {
            Algorithm::Minimal => Ways::Minimal,
            Algorithm::Valiant { .. } => Ways::Detours,
            Algorithm::UgalLocal(_) | Algorithm::UgalGlobal(_) | Algorithm::Par(_) => Ways::Either,
            other => {
                let allowed = "minimal, valiant, ugal-l, ugal-g or par for jobs as flows";
                return Err(wrong("machine.routing.algorithm", other.name(), allowed));
            }
        };
        let minimal = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::Minimal));
        let minimal = minimal.map_err(|error| {
            let allowed = "a network of groups each two of which are joined by a link";
            wrong("machine", error, allowed)
        })?;
        let nodes = topology.nodes() as u32;
        if nodes < machine_nodes {
            let allowed = format!("a network with the {machine_nodes} nodes of the schedule");
            return Err(wrong("machine", format!("{nodes} nodes"), allowed));
        }
        if !(spec.injection > 0.0 && spec.injection <= 1.0) {
            let allowed = "above 0 and at most 1 (100 %) of what a node's link carries";
            return Err(wrong("injection", spec.injection, allowed));
        }
        let named = |name: &String| {
            Traffic::named(name).ok_or_else(|| {
                let known = Traffic::ALL.map(|(name, _)| name).join(", ");
                wrong("mix", name, known)
            })
        };
        let policy = match &spec.placement {
            Placement::Contiguous => Policy::Contiguous,
            Placement::Spread => Policy::Spread,
            Placement::RandomNode => Policy::RandomNode,
            Placement::RandomRouter => Policy::RandomRouter,
            Placement::RandomGroup => Policy::RandomGroup,
            other => {
                let allowed = "contiguous, spread, random-node, random-router or random-group";
                return Err(wrong("placement", format!("{other:?}"), allowed));
            }
        };
        let capacity: Vec<f64> = LinkNumbers::capacities(&topology).collect();
        let slowest = topology.port_of_node.iter();
        let slowest = slowest.map(|&port| topology.link_class(port).bandwidth.bytes_per_second());
        let rate = slowest.min().unwrap_or(1) as f64 * 1e-12 * spec.injection;
        Ok(Self {
            jobs: jobs.to_vec(),
            traffics: traffics.iter().map(named).collect::<Result<_, _>>()?,
            footprints: Footprints::new(&topology, &minimal),
            demands: Demands::new(capacity.iter().copied()),
            capacity,
            ways,
            rate,
            state: idle(&topology, machine_nodes)?,
            policy,
            key: StreamKey::new(seed, Purpose::Placement),
            running: BTreeMap::new(),
            job_of: BTreeMap::new(),
            changed: Vec::new(),
            failure: None,
        })
    }

    /// Nodes of a job that begins.
    fn seat(&self, job: u32, seat: &Seat<'_>) -> Result<Vec<NodeId>, String> {
        if let Some(nodes) = seat.placed {
            return Ok(nodes.to_vec());
        }
        if let Some(groups) = seat.groups {
            // The scheduler has counted them: any free ones of the group.
            let mut taken = Vec::with_capacity(seat.nodes as usize);
            for &(group, count) in groups {
                let all = (0..self.state.machine().nodes()).map(NodeId);
                let free = all.filter(|&node| {
                    self.footprints.group_of(node).0 == group && self.state.is_free(node)
                });
                let before = taken.len();
                taken.extend(free.take(count as usize));
                if taken.len() - before < count as usize {
                    return Err(format!(
                        "job {job}: GRAP gave it {count} nodes of group {group}, of which the \
                         network has {} free; give it the network's groups",
                        taken.len() - before
                    ));
                }
            }
            return Ok(taken);
        }
        let request = Request {
            groups: None,
            nodes: seat.nodes,
            policy: self.policy.clone(),
        };
        let mut stream = self.key.stream(u64::from(job));
        place(&request, &self.state, &mut stream).map_err(|refusal| refusal.to_string())
    }

    /// What a job wants of the network: bytes per picosecond on each link on
    /// average at full speed, and the part of that speed that its own traffic lets
    /// through.
    fn wants(&mut self, communication: Communication, nodes: &[NodeId]) -> (Vec<Use>, f64) {
        let Some(traffic) = communication.traffic else {
            return (vec![], 1.0);
        };
        let traffic = self.traffics[traffic as usize];
        let footprint = self
            .footprints
            .of(traffic, nodes, self.ways != Ways::Minimal);
        let average = communication.share * self.rate;
        let (minimal, detours) = match (self.ways, footprint.detours) {
            (Ways::Detours, Some(detours)) => (detours, None),
            (_, detours) => (footprint.minimal, detours),
        };
        let alone = |load: &[f64]| {
            let links = load.iter().zip(&self.capacity);
            let used = links.filter(|&(&load, _)| load > 0.0);
            let rooms = used.map(|(&load, &capacity)| capacity / (load * self.rate));
            rooms.fold(1.0, f64::min)
        };
        let Some(detours) = detours else {
            let own = alone(&minimal);
            return (uses(minimal.into_iter().map(|load| load * average)), own);
        };
        let mut best: Option<(f64, Vec<f64>, f64)> = None;
        for split in SPLITS {
            let both = minimal.iter().zip(&detours);
            let load = both.map(|(minimal, detour)| split * minimal + (1.0 - split) * detour);
            let load: Vec<f64> = load.collect();
            let own = alone(&load);
            let beside = (0..).zip(&load).filter(|&(_, &load)| load > 0.0);
            let beside = beside.map(|(link, &load)| {
                let pull = load * average;
                self.demands.room(LinkId(link), pull) / pull
            });
            let speed = beside.fold(own, f64::min);
            // Ties stay with the more minimal one, which comes first.
            if best
                .as_ref()
                .is_none_or(|best| speed > best.0 * (1.0 + 1e-9))
            {
                best = Some((speed, load, own));
            }
        }
        let (_, load, own) = best.unwrap_or((1.0, vec![], 1.0));
        (uses(load.into_iter().map(|load| load * average)), own)
    }
}

/// The machine whose first `nodes` nodes are free.
fn idle(topology: &Topology, nodes: u32) -> Result<MachineState, Error> {
    let routers =
        (0..topology.nodes()).map(|node| topology.router_of_node(NodeId::from_index(node)));
    let wiring = Wiring::new(routers.collect(), topology.group_of_router.clone());
    let wiring = wiring.map_err(super::super::refused)?;
    let others: Vec<NodeId> = (nodes..wiring.nodes()).map(NodeId).collect();
    let mut state = MachineState::new(Arc::new(wiring));
    state.claim(&others).map_err(super::super::refused)?;
    Ok(state)
}

impl Network for FlowNetwork {
    fn begin(&mut self, job: u32, seat: &Seat<'_>, _: Seconds, _: Seconds) {
        let nodes = match self.seat(job, seat) {
            Ok(nodes) => nodes,
            Err(reason) => {
                self.failure.get_or_insert(reason);
                return;
            }
        };
        if let Err(error) = self.state.claim(&nodes) {
            self.failure.get_or_insert(format!("job {job}: {error}"));
            return;
        }
        let communication = self.jobs[job as usize];
        let user = (communication.share > 0.0
            && communication.traffic.is_some()
            && nodes.len() > 1)
            .then(|| {
                let (uses, own) = self.wants(communication, &nodes);
                self.demands.add(uses, own)
            });
        if let Some(user) = user {
            self.job_of.insert(user, job);
        }
        self.running.insert(job, Running { nodes, user });
    }

    fn end(&mut self, job: u32, _: Seconds) {
        let Some(running) = self.running.remove(&job) else {
            return;
        };
        if let Err(error) = self.state.release(&running.nodes) {
            self.failure.get_or_insert(format!("job {job}: {error}"));
        }
        if let Some(user) = running.user {
            self.job_of.remove(&user);
            self.demands.remove(user);
        }
    }

    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.demands.settle(&mut self.changed);
        for user in self.changed.drain(..) {
            if let Some(&job) = self.job_of.get(&user) {
                let share = self.jobs[job as usize].share;
                let part = self.demands.rate(user);
                changed.push((job, 1.0 / (1.0 - share + share / part)));
            }
        }
        Ok(())
    }
}
