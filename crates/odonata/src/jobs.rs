//! From the scenario's jobs to what the packet engine runs: nodes, ranks, loads.

use std::sync::Arc;

use odonata_network::Topology;
use odonata_placement::{
    Machine, MachineState, MappingError, MappingPolicy, Policy, Refusal, Request, map_ranks,
    nodes_needed, place,
};
use odonata_sim::JobPlan;
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{GroupId, NodeId, Picoseconds, RouterId};

use crate::error::SpecError;
use crate::load::{self, JobContext};
use crate::spec::{Job, Load, Mapping, Placement, Scenario};
use crate::topology::{in_file, read_file};

/// A job with its nodes.
#[derive(Clone)]
pub struct PlannedJob {
    /// What the engine runs.
    pub plan: JobPlan,
    /// The job's nodes, in the order in which the placement took them.
    pub nodes: Vec<NodeId>,
}

/// Places the jobs of a scenario one after another and prepares their loads.
///
/// # Errors
/// If a job does not fit into the nodes that those before it left free (the
/// error says how many there are), if ranks do not fit its nodes, or if its load
/// does not fit its ranks. The error's path starts with `job[N]`, N from 0.
pub fn plan_jobs(scenario: &Scenario, topology: &Topology) -> Result<Vec<PlannedJob>, SpecError> {
    let router_of_node: Vec<RouterId> = (0..topology.nodes())
        .map(|node| topology.router_of_node(NodeId::from_index(node)))
        .collect();
    let machine = Machine::new(router_of_node, topology.group_of_router.clone())
        .map_err(|error| SpecError::new("network", error.to_string()))?;
    let mut state = MachineState::new(Arc::new(machine));
    let jobs = scenario.jobs.iter().enumerate();
    jobs.map(|(position, job)| plan_job(scenario, topology, &mut state, position, job))
        .collect()
}

fn plan_job(
    scenario: &Scenario,
    topology: &Topology,
    state: &mut MachineState,
    position: usize,
    job: &Job,
) -> Result<PlannedJob, SpecError> {
    let path = |key: &str| format!("job[{position}].{key}");
    let matrix = match &job.load {
        Load::Motif(motif) => load::read_job_matrix(motif, job.ranks, &path("motif"))?,
        Load::Traffic(_) => None,
    };
    let per_node = job.ranks_per_node;
    if per_node == 0 {
        return Err(SpecError::value(path("ranks_per_node"), 0, "at least 1"));
    }
    let listed = match &job.placement {
        Placement::Explicit { nodes } => Some(nodes.len() as u32),
        _ => None,
    };
    let given_nodes = job.nodes.or(listed);
    let matrix_ranks = matrix.as_ref().map(|matrix| matrix.ranks());
    let (nodes, ranks) = match (given_nodes, job.ranks.or(matrix_ranks)) {
        (Some(nodes), Some(ranks)) => (nodes, ranks),
        (None, Some(ranks)) => (nodes_needed(ranks, per_node), ranks),
        (Some(nodes), None) => {
            let ranks = nodes.checked_mul(per_node).ok_or_else(|| {
                let allowed = "fewer than 2^32 ranks in all";
                SpecError::value(path("ranks_per_node"), per_node, allowed)
            })?;
            (nodes, ranks)
        }
        (None, None) => {
            let allowed = "a number of nodes, as `ranks` is not given either";
            return Err(SpecError::value(path("nodes"), "nothing", allowed));
        }
    };
    if u64::from(ranks) > u64::from(nodes) * u64::from(per_node) {
        let room = u64::from(nodes) * u64::from(per_node);
        let (key, what) = if matrix_ranks.is_some() && job.ranks.is_none() {
            ("motif.file", "a matrix of")
        } else {
            ("ranks", "")
        };
        return Err(SpecError::value(
            path(key),
            format!("{what} {ranks} ranks").trim_start(),
            format!(
                "at most {room}, which is {nodes} nodes × {per_node} ranks per node; raise nodes \
                 to {} or ranks_per_node to {}",
                nodes_needed(ranks, per_node),
                ranks.div_ceil(nodes.max(1))
            ),
        ));
    }

    let stream = |purpose| StreamKey::new(scenario.seed, purpose).stream(position as u64);
    let request = Request {
        nodes,
        policy: policy(&job.placement),
    };
    let key = if job.nodes.is_some() {
        "nodes"
    } else {
        "ranks"
    };
    let allocated = place(&request, state, &mut stream(Purpose::Placement))
        .map_err(|refusal| refused(&refusal, scenario, position, key))?;
    state
        .claim(&allocated)
        .map_err(|error| SpecError::new(path("placement"), error.to_string()))?;

    let (mapping, mapping_key) = mapping_policy(&job.mapping, &allocated, &path)?;
    let mapping = map_ranks(
        ranks,
        &allocated,
        per_node,
        &mapping,
        &mut stream(Purpose::Mapping),
    )
    .map_err(|error| match error {
        MappingError::Nothing { .. } | MappingError::TooFewNodes { .. } => {
            SpecError::new(path("ranks"), error.to_string())
        }
        _ => SpecError::new(&mapping_key, error.to_string()),
    })?;

    let node_of_rank = mapping.nodes().to_vec();
    let group_of_rank: Vec<GroupId> = node_of_rank
        .iter()
        .map(|&node| topology.group_of_node(node))
        .collect();
    let context = JobContext {
        seed: scenario.seed,
        position,
        ranks,
        ranks_per_node: per_node,
        group_of_rank: &group_of_rank,
        node_of_rank: &node_of_rank,
        topology,
    };
    let load = load::build_load(&job.load, matrix, &context)?;
    Ok(PlannedJob {
        plan: JobPlan {
            name: job.name.clone(),
            start: Picoseconds(job.start_ps),
            node_of_rank,
            load,
        },
        nodes: allocated,
    })
}

fn policy(placement: &Placement) -> Policy {
    match placement {
        Placement::Contiguous => Policy::Contiguous,
        Placement::Spread => Policy::Spread,
        Placement::RandomNode => Policy::RandomNode,
        Placement::RandomRouter => Policy::RandomRouter,
        Placement::RandomGroup => Policy::RandomGroup,
        Placement::Explicit { nodes } => {
            Policy::Explicit(nodes.iter().copied().map(NodeId).collect())
        }
    }
}

/// Why a job gets no nodes, in terms of the scenario.
fn refused(refusal: &Refusal, scenario: &Scenario, position: usize, key: &str) -> SpecError {
    let path = |key: &str| format!("job[{position}].{key}");
    match refusal {
        Refusal::NoNodes => SpecError::value(path(key), 0, "at least 1"),
        Refusal::LargerThanMachine { asked, machine } => SpecError::value(
            path(key),
            format!("a job of {asked} nodes"),
            format!("at most {machine}, all nodes of the machine"),
        ),
        Refusal::NotEnoughFree {
            asked,
            machine,
            free,
        } => {
            let before: Vec<&str> = scenario.jobs[..position]
                .iter()
                .map(|job| job.name.as_str())
                .collect();
            SpecError::value(
                path(key),
                format!("a job of {asked} nodes"),
                format!(
                    "at most {free}, the nodes that the jobs before it ({}) leave free of the \
                     machine's {machine}",
                    before.join(", ")
                ),
            )
        }
        _ => SpecError::new(path("placement"), refusal.to_string()),
    }
}

/// The mapping with the key that it comes from.
fn mapping_policy(
    mapping: &Mapping,
    nodes: &[NodeId],
    path: &dyn Fn(&str) -> String,
) -> Result<(MappingPolicy, String), SpecError> {
    let of_indices = |indices: &[u32], key: &str| {
        let listed: Result<Vec<NodeId>, SpecError> = indices
            .iter()
            .enumerate()
            .map(|(rank, &index)| {
                nodes.get(index as usize).copied().ok_or_else(|| {
                    let allowed = format!(
                        "an index among the job's nodes, 0 to {}",
                        nodes.len().saturating_sub(1)
                    );
                    SpecError::value(path(key), format!("{index} for rank {rank}"), allowed)
                })
            })
            .collect();
        listed.map(|nodes| (MappingPolicy::Explicit(nodes), path(key)))
    };
    match mapping {
        Mapping::Linear => Ok((MappingPolicy::Linear, path("mapping"))),
        Mapping::Random => Ok((MappingPolicy::Random, path("mapping"))),
        Mapping::Explicit { node_of_rank } => of_indices(node_of_rank, "mapping"),
        Mapping::File { file } => {
            let key = path("mapping.file");
            let text = read_file(file, &key)?;
            let mut indices = Vec::new();
            for (number, line) in text.lines().enumerate() {
                let content = line.split('#').next().unwrap_or("").trim();
                if content.is_empty() {
                    continue;
                }
                indices.push(content.parse().map_err(|_| {
                    let line = number + 1;
                    let problem = format!(
                        "line {line}: found `{content}`; allowed: the index of a rank's node \
                         among the job's nodes, a whole number from 0"
                    );
                    in_file(file, &key, &problem)
                })?);
            }
            of_indices(&indices, "mapping.file")
        }
    }
}
