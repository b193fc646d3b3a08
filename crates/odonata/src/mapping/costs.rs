//! What mappings cost.

use std::collections::BTreeMap;

use odonata_network::routing::{expected_use, minimal_routing};
use odonata_network::{LinkKind, Peer, Topology};
use odonata_units::{NodeId, PortId, RouterId};
use serde_json::{Value, json};

use super::{KnownRoutes, Sent, byte_ns, sent};
use crate::additions::Nothing;
use crate::error::SpecError;
use crate::jobs::{PlannedJob, plan_jobs_with};
use crate::spec::Scenario;
use crate::topology::build_topology;

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
    /// Bytes between ranks of one node.
    pub bytes_in_node: f64,
    /// Bytes between nodes of one router.
    pub bytes_in_router: f64,
    /// Bytes between routers of one group.
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
