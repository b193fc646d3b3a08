//! Mappings that are fitted to what a job sends, and what any mapping costs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use odonata_load::matrix::{CommunicationMatrix, ReadOptions, read_matrix};
use odonata_load::{communication, offered_communication};
use odonata_network::routing::{RoutingError, expected_use, minimal_routing};
use odonata_network::{LinkKind, Peer, Topology};
use odonata_partition::Graph;
use odonata_placement::{
    Distances, JobNetwork, Mapping, MappingError, Objective, Optimisation, Places, Routes,
    RoutesBuilder, Start, optimise_mapping,
};
use odonata_run::JobLoad;
use odonata_units::random::Stream;
use odonata_units::{NodeId, PortId, RouterId};
use serde_json::{Value, json};

use crate::error::SpecError;
use crate::jobs::{Nothing, PlannedJob, plan_jobs_with};
use crate::load::matrix_error;
use crate::spec::{
    self, Between, Load, MappingObjective, MappingStart, Motif, MotifKind, Pattern, Phase, Scenario,
};
use crate::topology::build_topology;

/// Steps of all ranks together that the search for who sends to whom may take.
const MOST_STEPS: u64 = 100_000_000;
/// Routers of a job between which distances are found: 64 MiB.
const MOST_PLACES: usize = 4_096;
/// Routers of a job between which routes are kept.
const MOST_ROUTED_PLACES: usize = 1_024;

/// How a scenario asks for a fitted mapping.
#[derive(Clone, Copy)]
pub(crate) struct Fitted<'a> {
    pub start: MappingStart,
    pub refine: Option<MappingObjective>,
    pub matrix: Option<&'a Path>,
}

/// Lays the ranks of a job out over its nodes. `load` builds what the job does if
/// its ranks sit as in a linear mapping. `path` gives the path of a key of the job.
#[expect(clippy::too_many_arguments, reason = "a job in all its parts")]
pub(crate) fn fit(
    how: Fitted<'_>,
    job: &spec::Job,
    ranks: u32,
    nodes: &[NodeId],
    topology: &Topology,
    load: impl FnOnce() -> Result<JobLoad, SpecError>,
    known: Option<&KnownRoutes>,
    path: &dyn Fn(&str) -> String,
    stream: &mut Stream,
) -> Result<Mapping, SpecError> {
    let matrix = match how.matrix {
        Some(file) => {
            let options = ReadOptions {
                ranks: Some(ranks),
                ..ReadOptions::default()
            };
            read_matrix(file, options)
                .map_err(|error| SpecError {
                    path: path("mapping.matrix"),
                    ..matrix_error(&error, file, "")
                })?
                .0
        }
        None => {
            refuse_group_patterns(&job.load, path)?;
            sent(&load()?, ranks, path)?.matrix
        }
    };
    let edges = matrix
        .entries()
        .map(|(from, entry)| (from.0, entry.to.0, entry.bytes));
    let application = Graph::new(vec![1; ranks as usize], edges);
    let optimisation = Optimisation {
        start: how.start,
        refine: how.refine,
    };
    let network = job_network(topology, nodes, optimisation, known, path)?;
    optimise_mapping(
        &application,
        &network,
        nodes,
        job.ranks_per_node,
        optimisation,
        stream,
    )
    .map_err(|error| match error {
        MappingError::Nothing { .. } | MappingError::TooFewNodes { .. } => {
            SpecError::new(path("ranks"), error.to_string())
        }
        _ => SpecError::new(path("mapping"), error.to_string()),
    })
}

/// Patterns between groups say who sends to whom by where ranks sit.
fn refuse_group_patterns(load: &Load, path: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let found = match load {
        Load::Motif(motif) => motif_is_between_groups(motif),
        Load::Traffic(traffic) => is_between_groups(&traffic.pattern),
    };
    if !found {
        return Ok(());
    }
    Err(SpecError::new(
        path("mapping"),
        "a mapping cannot be fitted to a pattern between groups or routers, where who sends to whom \
                 follows from the mapping; use linear or random, or give a communication matrix: \
                 mapping = { policy = …, matrix = … }",
    ))
}

fn is_between_groups(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::Adversarial { .. }
            | Pattern::GroupShift { .. }
            | Pattern::GroupTornado
            | Pattern::WithinGroup
            | Pattern::LongestMatching
            | Pattern::TwoHop
            | Pattern::Matrix {
                between: Between::Nodes | Between::Routers | Between::Groups,
                ..
            }
    )
}

fn motif_is_between_groups(motif: &Motif) -> bool {
    fn any(phases: &[Phase]) -> bool {
        phases.iter().any(|phase| match phase {
            Phase::Motif(motif) => motif_is_between_groups(motif),
            Phase::ComputePs(_) => false,
            Phase::Repeat { phases, .. } => any(phases),
        })
    }
    match &motif.kind {
        MotifKind::Exchange { pattern, .. } => is_between_groups(pattern),
        MotifKind::Phases { phases } => any(phases),
        _ => false,
    }
}

/// What a job sends.
pub(crate) struct Sent {
    pub matrix: CommunicationMatrix,
    /// Over how many iterations, if its program has iterations.
    iterations: Option<u32>,
}

pub(crate) fn sent(
    load: &JobLoad,
    ranks: u32,
    path: &dyn Fn(&str) -> String,
) -> Result<Sent, SpecError> {
    match load {
        JobLoad::Closed(program) => communication(program.as_ref(), MOST_STEPS)
            .map(|walked| Sent {
                matrix: walked.matrix,
                iterations: walked.iterations,
            })
            .map_err(|error| {
                let what = "who sends how much to whom cannot be found from what the job does";
                SpecError::new(
                    path("mapping"),
                    format!(
                        "{what}: {error}; give a communication matrix: mapping = {{ policy = …, \
                         matrix = … }}, or use linear or random"
                    ),
                )
            }),
        JobLoad::Open(source) => Ok(Sent {
            matrix: offered_communication(source, ranks, 0),
            iterations: None,
        }),
    }
}

/// Nanoseconds for which a byte occupies the link at `port`.
fn byte_ns(topology: &Topology, port: PortId) -> f64 {
    1e9 / topology.link_class(port).bandwidth.bytes_per_second() as f64
}

/// The network as seen from a job's nodes, with what `how` needs of it.
fn job_network(
    topology: &Topology,
    nodes: &[NodeId],
    how: Optimisation,
    known: Option<&KnownRoutes>,
    path: &dyn Fn(&str) -> String,
) -> Result<JobNetwork, SpecError> {
    let owner = topology.router_of_every_port();
    let links = topology.links().map(|(port, other)| {
        let class = topology.link_class(port);
        let both_ways = topology.peer[other.index()] == Peer::Port(port);
        let bandwidth = class.bandwidth.bytes_per_second() / if both_ways { 1 } else { 2 };
        (owner[port.index()].0, owner[other.index()].0, bandwidth)
    });
    let router_of_node: Vec<u32> = nodes
        .iter()
        .map(|&node| owner[topology.port_of_node[node.index()].index()].0)
        .collect();
    let places = Places::new(topology.routers(), &router_of_node);
    let network = JobNetwork::new(topology.routers(), links, router_of_node);
    let routed = how.refine == Some(Objective::LinkLoad);
    if how.start != Start::Greedy && how.refine.is_none() {
        return Ok(network);
    }
    let (most, wanted) = if routed {
        (
            MOST_ROUTED_PLACES,
            "routes between all of the job's routers",
        )
    } else {
        (MOST_PLACES, "distances between all of the job's routers")
    };
    if places.count() > most {
        return Err(SpecError::new(
            path("mapping"),
            format!(
                "this needs {wanted}, {} of them; allowed: {most}; graph-bisection without \
                 `refine` needs none",
                places.count()
            ),
        ));
    }
    let between = |routed: bool| {
        find_between(topology, nodes, places.clone(), routed)
            .map_err(|error| SpecError::new(path("mapping"), error.to_string()))
    };
    let found = match known {
        // Others may want the routes, which cost little more.
        Some(known) if places.count() <= MOST_ROUTED_PLACES => {
            known.find(topology, nodes, || between(true))?
        }
        _ => between(routed)?,
    };
    let network = network.with_distances(found.distances);
    Ok(match found.routes {
        Some(routes) if routed => network.with_routes(routes),
        _ => network,
    })
}

/// What lies between the routers of a job.
#[derive(Clone)]
struct FoundRoutes {
    distances: Arc<Distances>,
    routes: Option<Arc<Routes>>,
}

/// What lies between the routers of jobs, found once for all mappings of the same nodes of a
/// network: of mappings that are compared.
#[derive(Default)]
pub struct KnownRoutes {
    known: Mutex<Vec<Known>>,
}

struct Known {
    topology: Topology,
    nodes: Vec<NodeId>,
    /// Filled by who comes first; others wait.
    between: Arc<Mutex<Option<FoundRoutes>>>,
}

impl KnownRoutes {
    /// What is known of these nodes; else what `find` finds.
    fn find(
        &self,
        topology: &Topology,
        nodes: &[NodeId],
        find: impl FnOnce() -> Result<FoundRoutes, SpecError>,
    ) -> Result<FoundRoutes, SpecError> {
        let slot = {
            let mut known = lock(&self.known);
            let same = |one: &Known| one.nodes == nodes && one.topology == *topology;
            let place = known.iter().position(same).unwrap_or_else(|| {
                known.push(Known {
                    topology: topology.clone(),
                    nodes: nodes.to_vec(),
                    between: Arc::default(),
                });
                known.len() - 1
            });
            Arc::clone(&known[place].between)
        };
        let mut between = lock(&slot);
        if let Some(between) = &*between {
            return Ok(between.clone());
        }
        Ok(between.insert(find()?).clone())
    }
}

/// What a panic elsewhere left is whole: it is only ever set as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Distances between the routers of a job, and routes if `routed`.
fn find_between(
    topology: &Topology,
    nodes: &[NodeId],
    places: Places,
    routed: bool,
) -> Result<FoundRoutes, RoutingError> {
    let routing = minimal_routing(topology)?;
    let owner = topology.router_of_every_port();
    let count = places.count();
    let routers = places.routers();
    let pairs: Vec<(RouterId, RouterId)> = (0..count * count)
        .map(|pair| {
            (
                RouterId(routers[pair / count]),
                RouterId(routers[pair % count]),
            )
        })
        .collect();
    let byte_ns_of_port: Vec<f64> = (0..topology.ports())
        .map(|port| byte_ns(topology, PortId::from_index(port)))
        .collect();
    let mut routes = routed.then(|| {
        // What leads out of a group does so for all of another group's routers alike.
        let group = |router: &RouterId| topology.group_of_router[router.index()].0;
        let groups = owner.iter().map(group).collect();
        let byte_ns = byte_ns_of_port.iter().map(|&ns| ns as f32).collect();
        RoutesBuilder::new(places.clone(), groups, byte_ns)
    });
    let mut between = vec![0f64; pairs.len()];
    expected_use(topology, &routing, &pairs, &mut |pair, port, share| {
        between[pair] += share * byte_ns_of_port[port.index()];
        if let Some(routes) = &mut routes {
            routes.add(pair / count, pair % count, port.0, share);
        }
    });
    let of_nodes: f64 = nodes
        .iter()
        .map(|&node| byte_ns(topology, topology.port_of_node[node.index()]))
        .sum();
    let terminals = 2.0 * of_nodes / nodes.len().max(1) as f64;
    let between = between.into_iter().map(|ns| ns as f32).collect();
    let distances = Distances::new(places, between, terminals as f32);
    Ok(FoundRoutes {
        distances: Arc::new(distances),
        routes: routes.map(|routes| Arc::new(routes.finish())),
    })
}

/// What the mappings of a scenario's jobs cost. `known` is what is known of routes from other
/// mappings of the same jobs, and gets to know more.
///
/// # Errors
/// If the network or the jobs cannot be built, or it cannot be found out what a
/// job sends.
pub fn mapping_costs(
    scenario: &Scenario,
    known: Option<&KnownRoutes>,
) -> Result<MappingCosts, SpecError> {
    let topology = build_topology(scenario)?;
    let (planned, _) = plan_jobs_with(scenario, &topology, &Nothing, known)?;
    let routing =
        minimal_routing(&topology).map_err(|error| SpecError::new("network", error.to_string()))?;
    let mut jobs = vec![];
    for (position, job) in planned.into_iter().enumerate() {
        let path = |key: &str| format!("job[{position}].{key}");
        let ranks = job.plan.node_of_rank.len() as u32;
        let sent = sent(&job.plan.load, ranks, &path)?;
        jobs.push(cost_of(&topology, &routing, job, &sent));
    }
    Ok(MappingCosts {
        network: topology.title,
        jobs,
    })
}

/// What the mappings of a scenario's jobs cost.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingCosts {
    /// The network.
    pub network: String,
    /// Jobs in the order of the scenario.
    pub jobs: Vec<MappingCost>,
}

/// What a job's mapping costs in one iteration, or all of what it does where it
/// has no iterations, under minimal routing that takes every decision with the
/// same probability.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingCost {
    /// Name of the job.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Nodes on which they sit.
    pub nodes: u32,
    /// Whether the figures are of one iteration.
    pub per_iteration: bool,
    /// Bytes that ranks send to each other.
    pub bytes: f64,
    /// Of these, between ranks of one node.
    pub bytes_in_node: f64,
    /// Of these, between nodes of one router.
    pub bytes_in_router: f64,
    /// Of these, between routers of one group.
    pub bytes_in_group: f64,
    /// Σ bytes · links between routers.
    pub hop_bytes: f64,
    /// Σ over bytes of the time for which each occupies links between routers, in ns.
    pub link_time_ns: f64,
    /// For each kind of link, the longest that one direction of one is occupied,
    /// in nanoseconds, and its port. Terminal links count towards and from nodes.
    pub busiest: BTreeMap<LinkKind, (f64, PortId, String)>,
    /// Index of each rank's node among the job's nodes. Shape: ranks.
    pub node_of_rank: Vec<u32>,
}

fn cost_of(
    topology: &Topology,
    routing: &odonata_network::routing::AnyRouting,
    job: PlannedJob,
    sent: &Sent,
) -> MappingCost {
    let node_of_rank = &job.plan.node_of_rank;
    let per = f64::from(sent.iterations.unwrap_or(1).max(1));
    let mut cost = MappingCost {
        job: job.plan.name.clone(),
        ranks: node_of_rank.len() as u32,
        nodes: 0,
        per_iteration: sent.iterations.is_some(),
        bytes: 0.0,
        bytes_in_node: 0.0,
        bytes_in_router: 0.0,
        bytes_in_group: 0.0,
        hop_bytes: 0.0,
        link_time_ns: 0.0,
        busiest: BTreeMap::new(),
        node_of_rank: vec![],
    };
    let mut place: BTreeMap<NodeId, u32> = BTreeMap::new();
    for (index, &node) in job.nodes.iter().enumerate() {
        place.insert(node, index as u32);
    }
    cost.node_of_rank = node_of_rank.iter().map(|node| place[node]).collect();
    let mut used = node_of_rank.clone();
    used.sort_unstable();
    used.dedup();
    cost.nodes = used.len() as u32;

    let mut between: BTreeMap<(RouterId, RouterId), f64> = BTreeMap::new();
    // Load of every port of a router that sends, and of every node that sends.
    let mut load = vec![0f64; topology.ports()];
    let mut from_node: BTreeMap<NodeId, f64> = BTreeMap::new();
    for (from, entry) in sent.matrix.entries() {
        let bytes = entry.bytes as f64 / per;
        let (a, b) = (node_of_rank[from.index()], node_of_rank[entry.to.index()]);
        cost.bytes += bytes;
        if a == b {
            cost.bytes_in_node += bytes;
            continue;
        }
        load[topology.port_of_node[b.index()].index()] += bytes;
        *from_node.entry(a).or_default() += bytes;
        let (from, to) = (topology.router_of_node(a), topology.router_of_node(b));
        if from == to {
            cost.bytes_in_router += bytes;
        } else {
            if topology.group_of_router[from.index()] == topology.group_of_router[to.index()] {
                cost.bytes_in_group += bytes;
            }
            *between.entry((from, to)).or_default() += bytes;
        }
    }
    let (pairs, bytes): (Vec<_>, Vec<f64>) = between.into_iter().unzip();
    expected_use(topology, routing, &pairs, &mut |pair, port, share| {
        let passed = bytes[pair] * share;
        load[port.index()] += passed;
        cost.hop_bytes += passed;
        cost.link_time_ns += passed * byte_ns(topology, port);
    });
    for (node, sent) in from_node {
        let port = topology.port_of_node[node.index()];
        let passed = &mut load[port.index()];
        *passed = passed.max(sent);
    }
    for (port, &bytes) in load.iter().enumerate() {
        let id = PortId::from_index(port);
        let occupied = bytes * byte_ns(topology, id);
        let kind = topology.link_class(id).kind;
        if bytes > 0.0 && cost.busiest.get(&kind).is_none_or(|most| most.0 < occupied) {
            cost.busiest
                .insert(kind, (occupied, id, name_of(topology, id)));
        }
    }
    cost
}

/// A link, for people.
fn name_of(topology: &Topology, port: PortId) -> String {
    let router = topology.router_of_port(port);
    match topology.peer[port.index()] {
        Peer::Node(node) => format!("node {node} and router {router}"),
        Peer::Port(other) => format!("router {router} to {}", topology.router_of_port(other)),
        Peer::Unconnected => format!("router {router}"),
    }
}

impl MappingCosts {
    /// As named values.
    pub fn to_json(&self) -> Value {
        let jobs: Vec<Value> = self.jobs.iter().map(MappingCost::to_json).collect();
        json!({ "network": self.network, "jobs": jobs })
    }
}

impl MappingCost {
    /// Mean number of links between routers that a byte passes which leaves its node.
    pub fn mean_hops(&self) -> Option<f64> {
        let leaving = self.bytes - self.bytes_in_node;
        (leaving > 0.0).then(|| self.hop_bytes / leaving)
    }

    fn to_json(&self) -> Value {
        let busiest = |kind: LinkKind| self.busiest.get(&kind);
        let ns = |kind: LinkKind| busiest(kind).map(|most| most.0);
        let link = |kind: LinkKind| busiest(kind).map(|most| most.2.clone());
        let share = |bytes: f64| (self.bytes > 0.0).then(|| bytes / self.bytes);
        json!({
            "job": self.job,
            "ranks": self.ranks,
            "nodes": self.nodes,
            "per_iteration": self.per_iteration,
            "bytes": self.bytes,
            "share_in_node": share(self.bytes_in_node),
            "share_in_router": share(self.bytes_in_router),
            "share_in_group": share(self.bytes_in_group),
            "hop_bytes": self.hop_bytes,
            "mean_hops": self.mean_hops(),
            "link_time_ns": self.link_time_ns,
            "busiest_terminal_ns": ns(LinkKind::Terminal),
            "busiest_local_ns": ns(LinkKind::Local),
            "busiest_global_ns": ns(LinkKind::Global),
            "busiest_terminal": link(LinkKind::Terminal),
            "busiest_local": link(LinkKind::Local),
            "busiest_global": link(LinkKind::Global),
            "node_of_rank": self.node_of_rank,
        })
    }
}

#[cfg(test)]
mod tests;
