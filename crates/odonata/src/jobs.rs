//! From the scenario's jobs to what the packet engine runs: nodes, ranks, loads.

pub(crate) mod classes;
mod grap;
pub mod placed;
mod rank_map;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use odonata_load::{BesideServers, Idleness};
use odonata_network::{Peer, Topology};
use odonata_placement::{
    Machine, MachineState, MappingError, MappingPolicy, Policy, Refusal, Request, map_ranks,
    nodes_needed, place,
};
use odonata_run::{HostCosts, HostTimes, JobLoad, JobPlan, Noise, Protocol};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, Bytes, GroupId, NodeId, Picoseconds, RouterId};

use crate::additions::{Additions, Nothing};
use crate::collectives;
use crate::error::SpecError;
use crate::load::{self, JobContext};
use crate::mapping::{self, Fitted, KnownRoutes};
use crate::named_file::{in_file, read_file};
use crate::spec::{self, Job, Load, Mapping, Placement, Scenario};
use crate::storage::{self, PlacedStorage};
use crate::topology::why_lost;

/// A job with its nodes.
#[derive(Clone)]
pub struct PlannedJob {
    /// What the engine runs.
    pub plan: JobPlan,
    /// The job's nodes, in the order in which the placement took them.
    pub nodes: Vec<NodeId>,
    /// The groups of its nodes, ascending, if there are several and it sends from one to
    /// another: the groups that circuits have to join for it.
    pub spans: Vec<GroupId>,
}

/// The machine while jobs are placed on it.
struct Placing<'a> {
    state: MachineState,
    /// Groups of jobs that span several, see [`PlannedJob::spans`].
    spanned: BTreeSet<GroupId>,
    /// What is known of routes between jobs' routers.
    known: Option<&'a KnownRoutes>,
    /// The file system, if there is one.
    storage: Option<PlacedStorage>,
}

/// Places the jobs of a scenario one after another and prepares their loads.
///
/// # Errors
/// If a job does not fit into the nodes that those before it left free (the
/// error says how many there are), if ranks do not fit its nodes, or if its load
/// does not fit its ranks. The error's path starts with `job[N]`, N from 0.
pub fn plan_jobs(scenario: &Scenario, topology: &Topology) -> Result<Vec<PlannedJob>, SpecError> {
    plan_jobs_with(scenario, topology, &Nothing, None).map(|(jobs, _)| jobs)
}

/// The same with plug-ins and what is known of routes, and the machine as the jobs leave it.
pub(crate) fn plan_jobs_with(
    scenario: &Scenario,
    topology: &Topology,
    additions: &dyn Additions,
    known: Option<&KnownRoutes>,
) -> Result<(Vec<PlannedJob>, MachineState), SpecError> {
    let first = |mut errors: Vec<SpecError>| errors.swap_remove(0);
    let (planned, state) = plan_each(scenario, topology, additions, known).map_err(first)?;
    let planned = planned.into_iter().collect::<Result<Vec<_>, _>>()?;
    if topology.may_be_disconnected {
        check_joined(topology, &planned)?;
    }
    Ok((planned, state))
}

/// What is planned of each job or wrong with it, and the machine as they leave it.
///
/// # Errors
/// If jobs cannot be looked at one by one: at least one error.
#[expect(
    clippy::type_complexity,
    reason = "one caller takes the first error, one takes all"
)]
pub(crate) fn plan_each(
    scenario: &Scenario,
    topology: &Topology,
    additions: &dyn Additions,
    known: Option<&KnownRoutes>,
) -> Result<(Vec<Result<PlannedJob, SpecError>>, MachineState), Vec<SpecError>> {
    let (router_of_node, group_of_router) = routers_and_groups(topology);
    let machine = Machine::new(router_of_node, group_of_router)
        .map_err(|error| vec![SpecError::new("network", error.to_string())])?;
    let mut placing = Placing {
        state: MachineState::without(Arc::new(machine), lost_nodes(topology)),
        spanned: BTreeSet::new(),
        known,
        storage: None,
    };
    if let Some(storage) = &scenario.storage {
        let placed = PlacedStorage::place(storage, scenario, &mut placing.state);
        placing.storage = Some(placed.map_err(|error| vec![error])?);
    }
    let mapped = scenario.jobs.iter().enumerate().map(|(position, job)| {
        let path = |key: &str| format!("job[{position}].{key}");
        rank_map::resolve(job, topology, &path)
    });
    let mapped = mapped.collect::<Result<Vec<Option<Job>>, SpecError>>();
    let mapped = mapped.map_err(|error| vec![error])?;
    let with_maps;
    let scenario = match mapped.iter().any(Option::is_some) {
        false => scenario,
        true => {
            let jobs = mapped.into_iter().zip(&scenario.jobs);
            with_maps = Scenario {
                jobs: jobs
                    .map(|(mapped, job)| mapped.unwrap_or_else(|| job.clone()))
                    .collect(),
                ..scenario.clone()
            };
            &with_maps
        }
    };
    let jobs = scenario.jobs.iter().enumerate();
    let planned = jobs
        .map(|(position, job)| plan_job(scenario, topology, additions, &mut placing, position, job))
        .collect();
    Ok((planned, placing.state))
}

/// The nodes that jobs do not get, as they are out of service.
pub(crate) fn lost_nodes(topology: &Topology) -> Vec<NodeId> {
    let lost = topology.lost_nodes();
    match &topology.inside {
        None => lost.collect(),
        // With the node all of its ranks are.
        Some(inside) => lost
            .filter(|rank| rank.0 % inside.ranks == 0)
            .map(|rank| inside.node_of(rank))
            .collect(),
    }
}

/// The router of each node that jobs get, and the group of each router: of nodes with an inside, the
/// router of the first interface on the first plane.
pub(crate) fn routers_and_groups(topology: &Topology) -> (Vec<RouterId>, Vec<GroupId>) {
    let router_of_node = match &topology.inside {
        None => (0..topology.nodes())
            .map(|node| topology.router_of_node(NodeId::from_index(node)))
            .collect(),
        Some(inside) => (0..inside.nodes())
            .map(|node| inside.leaf_of(NodeId(node)))
            .collect(),
    };
    (router_of_node, topology.plane().group_of_router.clone())
}

/// The group that a rank's node is in, as placements see it.
fn group_of(topology: &Topology, node: NodeId) -> GroupId {
    match &topology.inside {
        None => topology.group_of_node(node),
        Some(inside) => {
            let leaf = inside.leaf_of(inside.node_of(node));
            inside.plane.group_of_router[leaf.index()]
        }
    }
}

fn protocol(mpi: &spec::Mpi, seed: u64) -> Result<Protocol, SpecError> {
    let copy_bandwidth = mpi
        .copy_bandwidth_bytes_per_s
        .map(Bandwidth::new)
        .transpose()
        .map_err(|error| SpecError::new("mpi.copy_bandwidth", error.to_string()))?;
    let costs = HostCosts {
        send_overhead: Picoseconds(mpi.send_overhead_ps),
        receive_overhead: Picoseconds(mpi.receive_overhead_ps),
        copy_bandwidth,
        times: host_times("mpi.host_times", &mpi.host_times)?,
    };
    let within_node = |within: &spec::WithinNode| {
        Ok::<_, SpecError>(HostCosts {
            send_overhead: Picoseconds(within.send_overhead_ps),
            receive_overhead: Picoseconds(within.receive_overhead_ps),
            copy_bandwidth: None,
            times: host_times("mpi.within_node.host_times", &within.host_times)?,
        })
    };
    Ok(Protocol {
        eager_limit: mpi.eager_limit_bytes.map(Bytes),
        completion: mpi.rendezvous_completion,
        control: Bytes(mpi.control_message_bytes),
        costs,
        within_node: mpi.within_node.as_ref().map(within_node).transpose()?,
        gap: Picoseconds(mpi.gap_ps),
        send_delay: Picoseconds(mpi.send_delay_ps),
        redirect_overhead: Picoseconds(mpi.redirect_overhead_ps),
        delay_times: host_times("mpi.delay_times", &mpi.delay_times)?,
        noise: mpi.noise.as_ref().map(|noise| Noise {
            interval: Picoseconds(noise.detour_interval_ps),
            time: Picoseconds(noise.detour_time_ps),
            entry_delay: Picoseconds(noise.entry_delay_ps),
            draws: StreamKey::new(seed, Purpose::Noise),
        }),
    })
}

/// Times by size of a message, of the key that gives their points.
fn host_times(key: &str, points: &[(u64, u64)]) -> Result<HostTimes, SpecError> {
    let points: Vec<_> = points
        .iter()
        .map(|&(bytes, ps)| (Bytes(bytes), Picoseconds(ps)))
        .collect();
    HostTimes::new(&points).ok_or_else(|| {
        let allowed = "up to 16 points, sizes growing from 1 byte on and times never falling";
        SpecError::value(key, format!("{} points", points.len()), allowed)
    })
}

fn plan_job(
    scenario: &Scenario,
    topology: &Topology,
    additions: &dyn Additions,
    placing: &mut Placing<'_>,
    position: usize,
    job: &Job,
) -> Result<PlannedJob, SpecError> {
    let path = |key: &str| format!("job[{position}].{key}");
    let recording = match &job.load {
        Load::Motif(motif) => {
            let algorithms = collectives::algorithms(
                &scenario.mpi.collectives,
                Some(collectives::links_of(topology)),
                &[],
                &[],
            )?;
            let how = (&algorithms, scenario.mpi.message_progress());
            load::read_recording(motif, job.ranks, how, &path("motif"))?
        }
        Load::Traffic(_) => None,
    };
    let per_node = job.ranks_per_node;
    if per_node == 0 {
        return Err(SpecError::value(path("ranks_per_node"), 0, "at least 1"));
    }
    if let Some(inside) = &topology.inside
        && per_node > inside.ranks
    {
        let allowed = format!("at most {}, the ranks of a node, node.ranks", inside.ranks);
        return Err(SpecError::value(path("ranks_per_node"), per_node, allowed));
    }
    let listed = match &job.placement {
        Placement::Explicit { nodes } => Some(nodes.len() as u32),
        _ => None,
    };
    let given_nodes = job.nodes.or(listed);
    let recorded = recording.as_ref();
    let recorded_ranks = recorded.map(load::Recording::ranks);
    let (nodes, ranks) = match (given_nodes, job.ranks.or(recorded_ranks)) {
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
        let (key, what) = match recorded {
            Some(recorded) if job.ranks.is_none() => ("motif.file", recorded.name()),
            _ => ("ranks", ""),
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
    let added = additions.nodes(
        position,
        nodes,
        &placing.state,
        &mut stream(Purpose::Placement),
    );
    let allocated = match (added, grap::mode(&job.placement, &path)?) {
        (Some(nodes), _) => nodes?,
        (None, Some(mode)) => grap::place(nodes, mode, placing)
            .map_err(|refusal| SpecError::new(path("placement"), refusal.to_string()))?,
        (None, None) => allocate(scenario, placing, position, nodes)?,
    };
    let state = &mut placing.state;
    let claimed = match job.placement {
        Placement::Isolated => state.claim_groups(&allocated),
        _ => state.claim(&allocated),
    };
    claimed.map_err(|error| {
        SpecError::new(path("placement"), error.to_string() + &why_lost(scenario))
    })?;
    // Ranks of nodes with an inside have nodes of the topology for themselves.
    let (allocated, places, ranks_per_place) = match &topology.inside {
        None => (allocated.clone(), allocated, per_node),
        Some(inside) => {
            let first_ranks = |&node| inside.ranks_of(node).take(per_node as usize);
            let places = allocated.iter().flat_map(first_ranks).collect();
            let all = allocated.iter().flat_map(|&node| inside.ranks_of(node));
            (all.collect(), places, 1)
        }
    };
    let spans = match &topology.inside {
        None => spans(job, &allocated, topology),
        Some(_) => Vec::new(),
    };
    placing.spanned.extend(&spans);
    let file_system = placing.storage.as_ref().map(|storage| storage.file_system);
    let build = |node_of_rank: &[NodeId], recording| {
        let group_of_rank: Vec<GroupId> = node_of_rank
            .iter()
            .map(|&node| group_of(topology, node))
            .collect();
        let whole_nodes: Vec<NodeId> = match &topology.inside {
            None => node_of_rank.to_vec(),
            Some(inside) => node_of_rank
                .iter()
                .map(|&rank| inside.node_of(rank))
                .collect(),
        };
        let context = JobContext {
            router: &scenario.network.router,
            seed: scenario.seed,
            position,
            ranks,
            ranks_per_node: per_node,
            group_of_rank: &group_of_rank,
            node_of_rank,
            topology,
            storage: file_system,
            progress: scenario.mpi.message_progress(),
            algorithms: collectives::algorithms(
                &scenario.mpi.collectives,
                Some(collectives::links_of(topology)),
                &group_of_rank,
                &whole_nodes,
            )?,
            additions,
        };
        load::build_load(&job.load, recording, &context)
    };
    let listed = |policy: &MappingPolicy, key: &str| {
        let stream = &mut stream(Purpose::Mapping);
        map_ranks(ranks, &places, ranks_per_place, policy, stream).map_err(|error| match error {
            MappingError::Nothing { .. } | MappingError::TooFewNodes { .. } => {
                SpecError::new(path("ranks"), error.to_string())
            }
            _ => SpecError::new(key, error.to_string()),
        })
    };
    let mapping = match fitted(&job.mapping) {
        None => {
            let (policy, key) = mapping_policy(&job.mapping, &places, &path)?;
            listed(&policy, &key)?
        }
        Some(how) => {
            // What it sends does not depend on where ranks sit, or it cannot be fitted to.
            let load = || {
                let linear = listed(&MappingPolicy::Linear, "")?;
                build(linear.nodes(), recording.clone())
            };
            let stream = &mut stream(Purpose::Mapping);
            {
                let known = placing.known;
                let job = &Job {
                    ranks_per_node: ranks_per_place,
                    ..job.clone()
                };
                mapping::fit(
                    how, job, ranks, &places, topology, load, known, &path, stream,
                )?
            }
        }
    };

    let node_of_rank = mapping.nodes().to_vec();
    // Made all the same, so that what is wrong with it is reported.
    let load = match (build(&node_of_rank, recording)?, job.idle) {
        (load, false) => load,
        (_, true) => JobLoad::Closed(Arc::new(Idleness::new(ranks))),
    };
    let mut plan = JobPlan {
        name: job.name.clone(),
        start: Picoseconds(job.start_ps),
        node_of_rank,
        load,
        protocol: protocol(&scenario.mpi, scenario.seed)?,
        classes: classes::classes_of(scenario, position)?,
        servers: None,
    };
    if !job.idle {
        classes::check_use(scenario, position, &plan)?;
    }
    if !job.idle
        && storage::is_used_by(job)
        && let (Some(storage), JobLoad::Closed(program)) = (&mut placing.storage, &plan.load)
    {
        let servers = BesideServers::new(program.clone(), storage.file_system.servers);
        plan.load = JobLoad::Closed(Arc::new(servers));
        storage.serve(position, &mut plan, topology);
    }
    Ok(PlannedJob {
        plan,
        nodes: allocated,
        spans,
    })
}

/// Refuses noise that changes nothing.
pub(crate) fn check_noise(scenario: &Scenario) -> Result<(), SpecError> {
    let Some(noise) = &scenario.mpi.noise else {
        return Ok(());
    };
    if noise.detour_time_ps == 0 && noise.entry_delay_ps == 0 {
        let found = "neither detours nor late entries";
        let allowed = "a `detour_time` or an `entry_delay` above zero";
        return Err(SpecError::value("mpi.noise", found, allowed));
    }
    let has_program = |job: &Job| matches!(job.load, Load::Motif(_)) && !job.idle;
    if scenario.jobs.iter().any(has_program) {
        return Ok(());
    }
    let allowed = "only with a job that has a motif; the ranks of traffic are never busy";
    let found = "no job with a motif";
    Err(SpecError::value("mpi.noise", found, allowed))
}

/// Nodes by a policy that asks for no more than the machine's state.
fn allocate(
    scenario: &Scenario,
    placing: &Placing<'_>,
    position: usize,
    nodes: u32,
) -> Result<Vec<NodeId>, SpecError> {
    let job = &scenario.jobs[position];
    let request = Request {
        nodes,
        policy: policy(&job.placement),
        groups: job
            .groups
            .as_ref()
            .map(|groups| groups.iter().copied().map(GroupId).collect()),
    };
    let key = if job.nodes.is_some() {
        "nodes"
    } else {
        "ranks"
    };
    let stream = &mut StreamKey::new(scenario.seed, Purpose::Placement).stream(position as u64);
    place(&request, &placing.state, stream).map_err(|refusal| {
        let mut error = refused(&refusal, scenario, position, key);
        error.message += &why_lost(scenario);
        error
    })
}

/// Refuses jobs with groups that nothing joins, where a network may have such.
fn check_joined(topology: &Topology, jobs: &[PlannedJob]) -> Result<(), SpecError> {
    let owner = topology.router_of_every_port();
    // Of each group, a group that it is joined with; of one in each part itself.
    let mut joined: Vec<usize> = (0..topology.groups as usize).collect();
    fn part_of(joined: &[usize], mut group: usize) -> usize {
        while joined[group] != group {
            group = joined[group];
        }
        group
    }
    for (port, peer) in topology.peer.iter().enumerate() {
        if let Peer::Port(peer) = peer {
            let [one, other] = [owner[port], owner[peer.index()]]
                .map(|router| topology.group_of_router[router.index()].index())
                .map(|group| part_of(&joined, group));
            joined[one.max(other)] = one.min(other);
        }
    }
    for (position, job) in jobs.iter().enumerate() {
        let part = |group: &GroupId| part_of(&joined, group.index());
        let apart = (job.spans.iter()).find(|group| part(group) != part(&job.spans[0]));
        if let Some(group) = apart {
            return Err(SpecError::new(
                format!("job[{position}].placement"),
                format!(
                    "the job has nodes in group {} and in group {group}, which no circuits join; \
                     use circuits = \"jobs\" or \"uniform\", or give circuits for it",
                    job.spans[0]
                ),
            ));
        }
    }
    Ok(())
}

/// See [`PlannedJob::spans`].
fn spans(job: &Job, nodes: &[NodeId], topology: &Topology) -> Vec<GroupId> {
    let groups = nodes.iter().map(|&node| topology.group_of_node(node));
    let groups: BTreeSet<GroupId> = groups.collect();
    let inside = matches!(
        &job.load,
        Load::Traffic(traffic) if traffic.pattern == spec::Pattern::WithinGroup
    );
    if groups.len() < 2 || inside {
        return Vec::new();
    }
    groups.into_iter().collect()
}

/// The policy of a placement that goes by a name, or of listed nodes.
pub(crate) fn policy(placement: &Placement) -> Policy {
    match placement {
        Placement::Contiguous => Policy::Contiguous,
        Placement::Spread => Policy::Spread,
        Placement::RandomNode => Policy::RandomNode,
        Placement::RandomRouter => Policy::RandomRouter,
        Placement::RandomGroup => Policy::RandomGroup,
        Placement::Even => Policy::Even,
        Placement::Isolated => Policy::Isolated,
        Placement::LevelSpread => Policy::LevelSpread,
        Placement::Hybrid => Policy::Hybrid,
        Placement::BestFit => Policy::BestFit,
        // Placed elsewhere, see `grap` and `rank_map`.
        Placement::Grap { .. } | Placement::RankMap { .. } => Policy::Contiguous,
        Placement::Explicit { nodes } => {
            Policy::Explicit(nodes.iter().copied().map(NodeId).collect())
        }
    }
}

/// Why a job gets no nodes, in terms of the scenario.
fn refused(refusal: &Refusal, scenario: &Scenario, position: usize, key: &str) -> SpecError {
    let path = |key: &str| format!("job[{position}].{key}");
    let servers = scenario.storage.iter().map(|_| "servers of [storage]");
    let before: Vec<&str> = servers
        .chain(
            scenario.jobs[..position]
                .iter()
                .map(|job| job.name.as_str()),
        )
        .collect();
    let others = match &before[..] {
        [] => String::new(),
        names => format!(" (jobs before it: {})", names.join(", ")),
    };
    match refusal {
        Refusal::NotEnoughInGroups {
            asked,
            groups,
            nodes,
            free,
        } => SpecError::value(
            path("placement.groups"),
            format!("{groups} groups for a job of {asked} nodes"),
            format!("groups with as many free nodes; these have {free} free of {nodes}{others}"),
        ),
        Refusal::UnknownGroup { group, known } => SpecError::value(
            path("placement.groups"),
            format!("group {group}"),
            format!("groups that have nodes: {known}"),
        ),
        Refusal::NotEnoughIdleGroups {
            asked,
            groups,
            idle,
            free,
        } => SpecError::value(
            path("placement"),
            format!("\"isolated\" for a job of {asked} nodes"),
            format!(
                "at most {free} nodes, those of the {idle} of {groups} groups in which no other \
                 job is{others}; lower the number of nodes, or list the job before others"
            ),
        ),
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
        } => SpecError::value(
            path(key),
            format!("a job of {asked} nodes"),
            format!(
                "at most {free}, the nodes that the jobs before it ({}) leave free of the \
                 machine's {machine}",
                before.join(", ")
            ),
        ),
        _ => SpecError::new(path("placement"), refusal.to_string()),
    }
}

/// How a mapping is to be fitted to what the job sends, if it is.
fn fitted(mapping: &Mapping) -> Option<Fitted<'_>> {
    match mapping {
        Mapping::Fitted {
            start,
            refine,
            matrix,
        } => Some(Fitted {
            start: *start,
            refine: *refine,
            matrix: matrix.as_deref(),
        }),
        _ => None,
    }
}

/// A mapping that is not fitted, with the key that it comes from.
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
        Mapping::Linear | Mapping::Fitted { .. } => Ok((MappingPolicy::Linear, path("mapping"))),
        Mapping::Random => Ok((MappingPolicy::Random, path("mapping"))),
        Mapping::RandomHalves => Ok((MappingPolicy::RandomHalves, path("mapping"))),
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
