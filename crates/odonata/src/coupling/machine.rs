//! The machine whose network the jobs of a schedule share: its wiring, its routing,
//! and which of its nodes each running job has.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_network::Topology;
use odonata_network::routing::RoutingSpec;
use odonata_network::topology::Circuits;
use odonata_placement::{Machine as Wiring, MachineState, Policy, Request, place};
use odonata_scheduler::batch::Allocation;
use odonata_scheduler::log::JobLog;
use odonata_steering::{Strategy, SwitchTiming};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{GroupId, NodeId, Picoseconds};

use super::changes::NetworkChanges;
use super::circuits::JobCircuits;
use super::spec::{MachineSpec, wrong};
use crate::error::{Error, refused};
use crate::jobs::{lost_nodes, policy, routers_and_groups};
use crate::routing::{routing_spec, usual_of_flows};
use crate::spec::{CircuitSource, Failures, Family, Placement, Scenario};
use crate::topology::build_topology;
use crate::topology::circuits::usable;
use crate::topology::families::reconfigurable;

/// How the groups of a machine are joined, where that can change.
pub(super) struct Reconfigurable {
    pub circuits: CircuitSource,
    /// Its switches without circuits.
    usable: Circuits,
    /// Global links of each router of a group.
    ports_of_router: Vec<u32>,
    strategy: Strategy,
    timing: SwitchTiming,
}

impl Reconfigurable {
    /// Its switches without circuits.
    pub(super) fn job_circuits(&self, topology: &Topology) -> JobCircuits {
        JobCircuits::new(
            topology,
            self.usable.clone(),
            &self.ports_of_router,
            self.strategy,
            self.timing,
        )
    }
}

/// A machine that jobs share.
pub(super) struct SharedMachine {
    /// What is wired and how; where circuits are set for jobs, with a dragonfly's.
    pub scenario: Scenario,
    /// Where circuits are set for jobs, with a dragonfly's.
    pub topology: Topology,
    pub routing: RoutingSpec,
    pub reconfigurable: Option<Reconfigurable>,
    pub allotment: NodesOfJobs,
    /// What of it fails and works again during the schedule.
    pub changes: Option<NetworkChanges>,
}

impl SharedMachine {
    /// `nodes` are those of the schedule, by default all, `grap` the number of groups that
    /// it places on by GRAP, `log` what it runs, which says when parts of the network fail.
    pub(super) fn new(
        nodes: Option<u32>,
        grap: Option<u32>,
        seed: u64,
        spec: &MachineSpec,
        log: Option<&JobLog>,
    ) -> Result<Self, Error> {
        let mut network = spec.machine.clone();
        let mut joined = None;
        if let Family::ReconfigurableDragonfly(dragonfly) = &mut network.topology {
            let structure = reconfigurable::structure(dragonfly)?;
            joined = Some(Reconfigurable {
                circuits: dragonfly.circuits,
                usable: usable(structure.switches, &Scenario::new(spec.machine.clone()))?,
                ports_of_router: structure.ports_of_router,
                strategy: dragonfly.steering,
                timing: SwitchTiming {
                    settle: Picoseconds(spec.switch_delay_ps),
                    ..SwitchTiming::MIRRORS
                },
            });
            if dragonfly.circuits == CircuitSource::Jobs {
                if grap.is_none() {
                    let allowed = "\"uniform\" or \"file\" where any free nodes will do; a job \
                                   can have circuits of its own only if it has groups of its \
                                   own: place by GRAP";
                    return Err(wrong("machine.circuits", "\"jobs\"", allowed));
                }
                dragonfly.circuits = CircuitSource::Uniform;
            }
        }
        let changes = match log {
            Some(log) => NetworkChanges::new(&network, log)?,
            None => None,
        };
        if changes.is_none() && network.failures.change_during_run() {
            let allowed = "parts that are out of service now";
            return Err(wrong(
                "machine.failures",
                "parts that fail during the run",
                allowed,
            ));
        }
        if !network.router.traffic_classes.is_empty() {
            let allowed = "none with [schedule], whose jobs name no class";
            return Err(wrong("machine.router.traffic_class", "classes", allowed));
        }
        let joined_for_jobs = joined
            .as_ref()
            .is_some_and(|on: &Reconfigurable| on.circuits == CircuitSource::Jobs);
        if changes.is_some() && joined_for_jobs {
            let allowed =
                "\"uniform\" or \"file\" where parts of the network fail during the schedule";
            return Err(wrong("machine.circuits", "\"jobs\"", allowed));
        }
        let (scenario, topology) = match &changes {
            None => {
                let scenario = Scenario::new(network);
                let topology = build_topology(&scenario)?;
                (scenario, topology)
            }
            Some(changes) => {
                // What fails is a matter of the schedule.
                network.failures = Failures::default();
                (Scenario::new(network), changes.start()?)
            }
        };
        let network = &scenario.network;
        let usual = usual_of_flows(network, &topology);
        let routing = routing_spec(&network.routing, &usual)?;
        let lost = lost_nodes(&topology).len() as u32;
        let found = nodes_of(&topology) - lost;
        let nodes = nodes.unwrap_or(found);
        if found < nodes {
            let allowed = format!("a network with the {nodes} nodes of the schedule");
            let found = match lost {
                0 => format!("{found} nodes"),
                _ => format!("{found} nodes that work"),
            };
            return Err(wrong("machine", found, allowed));
        }
        let of_network = topology.plane().groups;
        if let Some(groups) = grap.filter(|&groups| groups != of_network) {
            let allowed = format!("{of_network}, the groups of the network");
            let found = format!("{groups} groups");
            return Err(Error::Spec(crate::SpecError::value(
                "grap.groups",
                found,
                allowed,
            )));
        }
        let even = grap.is_some() || joined.is_some();
        if even && lost > 0 {
            let allowed =
                "no failed nodes or routers where GRAP places, which takes groups of equal size";
            return Err(wrong(
                "machine.failures",
                format!("{lost} nodes out of service"),
                allowed,
            ));
        }
        Ok(Self {
            allotment: NodesOfJobs::new(&topology, nodes, even, seed, &spec.placement)?,
            scenario,
            topology,
            routing,
            reconfigurable: joined,
            changes,
        })
    }
}

/// Nodes that jobs get: with an inside whole ones.
fn nodes_of(topology: &Topology) -> u32 {
    match &topology.inside {
        None => topology.nodes() as u32,
        Some(inside) => inside.nodes(),
    }
}

/// Refuses nodes with an inside, whose ranks a `kind` of traffic does not tell apart.
pub(super) fn refuse_inside(topology: &Topology) -> Result<(), Error> {
    match topology.inside {
        None => Ok(()),
        Some(_) => {
            let allowed = "a machine without [node] where jobs have a named traffic; with it a mix of \
                           applications, [[job]], which say what the ranks of a node do";
            Err(wrong("machine.node", "nodes with an inside", allowed))
        }
    }
}

/// Bytes per second of the slowest link of a node.
pub(super) fn node_rate(topology: &Topology) -> f64 {
    let links = topology.port_of_node.iter();
    let rates = links.map(|&port| topology.link_class(port).bandwidth.bytes_per_second());
    rates.min().unwrap_or(1) as f64
}

/// Which nodes of a machine each running job has.
pub(super) struct NodesOfJobs {
    state: MachineState,
    policy: Policy,
    /// By job: a policy of its own. Jobs beyond its end have none.
    own_policies: Vec<Option<Policy>>,
    key: StreamKey,
    /// Nodes of each group.
    nodes_of: Vec<Vec<NodeId>>,
    /// Nodes of the largest group that jobs may have.
    group: usize,
    /// Nodes that jobs may have, ascending.
    nodes: Vec<NodeId>,
    running: BTreeMap<u32, Vec<NodeId>>,
}

impl NodesOfJobs {
    /// `nodes` of the machine's nodes are free: the first ones of every group, as many
    /// of each, if `even`, or else its first ones.
    fn new(
        topology: &Topology,
        nodes: u32,
        even: bool,
        seed: u64,
        placement: &Placement,
    ) -> Result<Self, Error> {
        let policy = any_free(placement).map_err(|allowed| {
            let found = placement.name();
            wrong("placement", found, allowed)
        })?;
        let all = nodes_of(topology);
        let (routers, group_of_router) = routers_and_groups(topology);
        let lost = lost_nodes(topology);
        let groups = topology.plane().groups;
        let mut nodes_of = vec![vec![]; groups as usize];
        for (node, router) in (0..all).map(NodeId).zip(&routers) {
            if !lost.contains(&node) {
                nodes_of[group_of_router[router.index()].index()].push(node);
            }
        }
        let wiring = Wiring::new(routers, group_of_router).map_err(refused)?;
        let used: Vec<usize> = if even {
            // As `GrapMachine::equal_groups` counts them.
            let size = |group| (nodes / groups + u32::from(group < nodes % groups)) as usize;
            (0..groups).map(size).collect()
        } else {
            let mut left = nodes as usize;
            let take = |of: &Vec<NodeId>| {
                let taken = of.len().min(left);
                left -= taken;
                taken
            };
            nodes_of.iter().map(take).collect()
        };
        for (group, (&used, of)) in used.iter().zip(&nodes_of).enumerate() {
            if used > of.len() {
                let found = format!("{} nodes in group {group}", of.len());
                let allowed = format!("groups of {used} nodes, the schedule's in equal parts");
                return Err(wrong("machine", found, allowed));
            }
        }
        let mut state = MachineState::without(Arc::new(wiring), lost);
        let others: Vec<NodeId> = (nodes_of.iter().zip(&used))
            .flat_map(|(of, &used)| of[used..].iter().copied())
            .collect();
        state.claim(&others).map_err(refused)?;
        let nodes = (0..all).map(NodeId).filter(|&node| state.is_free(node));
        Ok(Self {
            nodes: nodes.collect(),
            group: used.iter().copied().max().unwrap_or(0),
            state,
            policy,
            own_policies: Vec::new(),
            key: StreamKey::new(seed, Purpose::Placement),
            nodes_of,
            running: BTreeMap::new(),
        })
    }

    /// Nodes of the largest group that jobs may have.
    pub(super) fn group(&self) -> usize {
        self.group
    }

    /// Nodes that jobs may have, ascending.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.nodes.clone()
    }

    /// Takes nodes that no job has out of service.
    ///
    /// # Errors
    /// If a job has one of them, in words.
    pub(super) fn take_out(&mut self, nodes: &[NodeId]) -> Result<(), String> {
        self.state.claim(nodes).map_err(|error| error.to_string())
    }

    /// Gives nodes back that were out of service.
    ///
    /// # Errors
    /// If one of them was not, in words.
    pub(super) fn put_back(&mut self, nodes: &[NodeId]) -> Result<(), String> {
        self.state.release(nodes).map_err(|error| error.to_string())
    }

    /// Places jobs by policies of their own from now on, where they have one.
    pub(super) fn place_by(&mut self, own_policies: Vec<Option<Policy>>) {
        self.own_policies = own_policies;
    }

    fn request(&self, job: u32, nodes: u32) -> Request {
        let own = self.own_policies.get(job as usize).cloned().flatten();
        Request {
            groups: None,
            nodes,
            policy: own.unwrap_or_else(|| self.policy.clone()),
        }
    }

    /// The nodes that a job of a size would get while nothing runs, if there are as many.
    pub(super) fn idle_nodes(&self, job: u32, nodes: u32) -> Option<Vec<NodeId>> {
        let mut stream = self.key.stream(u64::MAX);
        place(&self.request(job, nodes), &self.state, &mut stream).ok()
    }

    /// Nodes that jobs may have in all, while nothing runs.
    pub(super) fn most(&self) -> u32 {
        self.state.free()
    }

    /// The nodes of a running job.
    pub(super) fn of(&self, job: u32) -> &[NodeId] {
        self.running.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Gives nodes to a job that begins: those that the scheduler named, free ones of
    /// the groups that it named, or any free ones.
    ///
    /// # Errors
    /// If there are not enough, in words.
    pub(super) fn allocate(
        &mut self,
        job: u32,
        allocation: &Allocation<'_>,
    ) -> Result<&[NodeId], String> {
        let nodes = self.choose(job, allocation)?;
        let claimed = self.state.claim(&nodes);
        claimed.map_err(|error| format!("job {job}: {error}"))?;
        self.running.remove(&job);
        Ok(self.running.entry(job).or_insert(nodes))
    }

    fn choose(&self, job: u32, allocation: &Allocation<'_>) -> Result<Vec<NodeId>, String> {
        if let Some(nodes) = allocation.placed {
            return Ok(nodes.to_vec());
        }
        let Some(groups) = allocation.groups else {
            let request = self.request(job, allocation.nodes);
            let mut stream = self.key.stream(u64::from(job));
            let found = place(&request, &self.state, &mut stream);
            return found.map_err(|refusal| refusal.to_string());
        };
        // The scheduler has counted them: any free ones of the group.
        let mut taken = Vec::with_capacity(allocation.nodes as usize);
        for &(group, count) in groups {
            let all = self.nodes_of.get(GroupId(group).index());
            let all = all.into_iter().flatten().copied();
            let before = taken.len();
            taken.extend(
                all.filter(|&node| self.state.is_free(node))
                    .take(count as usize),
            );
            if taken.len() - before < count as usize {
                return Err(format!(
                    "job {job}: GRAP gave it {count} nodes of group {group}, of which the \
                     network has {} free; give it the network's groups",
                    taken.len() - before
                ));
            }
        }
        Ok(taken)
    }

    /// Takes the nodes back from a job that ends.
    ///
    /// # Errors
    /// If it does not have them, in words.
    pub(super) fn leave(&mut self, job: u32) -> Result<(), String> {
        let Some(nodes) = self.running.remove(&job) else {
            return Ok(());
        };
        let released = self.state.release(&nodes);
        released.map_err(|error| format!("job {job}: {error}"))
    }
}

/// The policy of a placement that takes any free nodes, as a scheduler needs it that counts nodes.
///
/// # Errors
/// What is allowed in its place.
pub(super) fn any_free(placement: &Placement) -> Result<Policy, &'static str> {
    match placement {
        Placement::Isolated | Placement::Grap { .. } => Err(
            "a placement that takes any free nodes, as the scheduler counts nodes and not groups; \
             for whole groups schedule with GRAP",
        ),
        Placement::Explicit { .. } | Placement::RankMap { .. } => {
            Err("a placement that goes by a name")
        }
        by_name => Ok(policy(by_name)),
    }
}

/// Part of its link's rate that a node sends at, if it is one.
pub(super) fn checked_injection(injection: f64) -> Result<f64, Error> {
    if injection > 0.0 && injection <= 1.0 {
        return Ok(injection);
    }
    let allowed = "above 0 and at most 1 (100 %) of what a node's link carries";
    Err(wrong("injection", injection, allowed))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use odonata_scheduler::Seconds;
    use odonata_scheduler::batch::{Network, Options, Policy, Pool, simulate_with};
    use odonata_scheduler::log::{Job, JobLog};
    use odonata_scheduler::outages::{Breakdowns, Outage, Outages};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::spec::Dragonfly;

    const NODES: u32 = 72;

    fn nodes_of_jobs(seed: u64, placement: Placement) -> NodesOfJobs {
        let network = crate::spec::Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)));
        let spec = MachineSpec {
            machine: network,
            injection: 1.0,
            placement,
            switch_delay_ps: 0,
        };
        SharedMachine::new(Some(NODES), None, seed, &spec, None)
            .unwrap()
            .allotment
    }

    /// Nobody has a node: it is out of service.
    const OUT: u32 = u32::MAX;

    /// Who has each node, and how fast jobs run.
    struct Owners {
        nodes: NodesOfJobs,
        of_node: Vec<Option<u32>>,
        speeds: Vec<f64>,
        begun: Vec<u32>,
    }

    impl Network for Owners {
        fn begin(&mut self, job: u32, with: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
            let nodes = self.nodes.allocate(job, with).unwrap();
            assert_eq!(nodes.len() as u32, with.nodes);
            for node in nodes {
                let before = self.of_node[node.index()].replace(job);
                assert_eq!(before, None, "{node} of job {job}");
            }
            self.begun.push(job);
            0.0
        }

        fn end(&mut self, job: u32, _: Seconds) {
            for owner in self.of_node.iter_mut().filter(|owner| **owner == Some(job)) {
                *owner = None;
            }
            self.nodes.leave(job).unwrap();
        }

        fn nodes(&self) -> Option<Vec<NodeId>> {
            Some(self.nodes.nodes())
        }

        fn nodes_of(&self, job: u32) -> &[NodeId] {
            self.nodes.of(job)
        }

        fn out(&mut self, nodes: &[NodeId]) {
            self.nodes.take_out(nodes).unwrap();
            for node in nodes {
                assert_eq!(self.of_node[node.index()].replace(OUT), None);
            }
        }

        fn back(&mut self, nodes: &[NodeId]) {
            self.nodes.put_back(nodes).unwrap();
            for node in nodes {
                assert_eq!(self.of_node[node.index()].take(), Some(OUT));
            }
        }

        fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
            for job in self.begun.drain(..) {
                if self.of_node.contains(&Some(job)) {
                    changed.push((job, self.speeds[job as usize % self.speeds.len()]));
                }
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Whoever begins and ends, whatever its speed and whichever nodes fail, no node has two
        /// jobs, none that is out of service has one, every job has as many nodes as it asked for,
        /// and at the end all are free.
        #[test]
        fn no_node_has_two_jobs(
            jobs in proptest::collection::vec((0i64..60, 1u32..=NODES, 1i64..40), 1..25),
            speeds in proptest::collection::vec(0.1f64..2.0, 1..5),
            policy in select(vec![
                Policy::InOrder, Policy::EASY, Policy::Conservative, Policy::REPLANNED,
            ]),
            placement in select(vec![
                Placement::Contiguous, Placement::Spread, Placement::RandomNode,
                Placement::RandomRouter, Placement::RandomGroup, Placement::Even,
                Placement::LevelSpread, Placement::Hybrid, Placement::BestFit,
            ]),
            seed in any::<u64>(),
            failing in proptest::collection::btree_map(0..NODES, (0i64..80, 1i64..40), 0..8),
            is_drawn in any::<bool>(),
        ) {
            let mut log = JobLog::default();
            for &(at, nodes, run) in &jobs {
                log.jobs.push(Job::new("job", Seconds(at), Seconds(run), nodes));
            }
            log.jobs.sort_by_key(|job| job.submit);
            let mut owners = Owners {
                nodes: nodes_of_jobs(seed, placement),
                of_node: vec![None; NODES as usize],
                speeds,
                begun: vec![],
            };
            let outage = |(&node, &(at, lasts)): (&u32, &(i64, i64))| Outage {
                nodes: vec![NodeId(node)],
                at: Seconds(at),
                until: Some(Seconds(at + lasts)),
            };
            let outages = Outages {
                listed: failing.iter().map(outage).collect(),
                drawn: is_drawn.then_some(Breakdowns {
                    mtbf_s: 5000.0,
                    repair_s: Some(20.0),
                    together: 2,
                    seed,
                }),
                requeue: true,
            };
            let options = Options { policy, outages, ..Options::default() };
            let go_on = &mut |_, _| ControlFlow::Continue(());
            let pool = Pool::new(NODES);
            let schedule = simulate_with(&log, &pool, &options, &mut owners, go_on).unwrap();
            prop_assert!(schedule.rows.iter().all(|row| row.start.is_some()));
            let out = owners.of_node.iter().filter(|owner| **owner == Some(OUT)).count();
            prop_assert!(owners.of_node.iter().flatten().all(|&owner| owner == OUT));
            prop_assert_eq!(owners.nodes.most(), NODES - out as u32);
        }
    }
}
