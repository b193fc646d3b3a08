//! The file system of a scenario: its servers on the network, and which jobs use it.

use odonata_load::FileSystem;
use odonata_network::Topology;
use odonata_placement::{MachineState, Refusal, Request, place};
use odonata_run::{BurstBuffer, JobPlan, Medium, Servers};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, BandwidthError, Bytes, GroupId, NodeId, Picoseconds};

use crate::error::SpecError;
use crate::jobs::policy;
use crate::spec::{Job, Load, Motif, MotifKind, Phase, Placement, Scenario, Storage};

/// A file system whose servers have their nodes.
pub(crate) struct PlacedStorage {
    /// How files lie on it.
    pub file_system: FileSystem,
    /// What its servers store bytes on.
    medium: Medium,
    /// Nodes of the servers.
    pub nodes: Vec<NodeId>,
    /// The first job that uses it, and how many ranks that has besides the servers.
    keeper: Option<(u32, u32)>,
}

impl PlacedStorage {
    /// Takes the nodes of the servers.
    ///
    /// # Errors
    /// If there are none, or a value is not allowed; the path begins with `storage`.
    pub fn place(
        storage: &Storage,
        scenario: &Scenario,
        state: &mut MachineState,
    ) -> Result<Self, SpecError> {
        let nodes = nodes(storage, scenario, state)?;
        let servers = nodes.len() as u32;
        if !(1..=servers).contains(&storage.stripe_count) {
            let allowed = format!("1 to {servers}, the number of servers");
            let path = "storage.stripe_count";
            return Err(SpecError::value(path, storage.stripe_count, allowed));
        }
        Ok(Self {
            file_system: FileSystem {
                servers,
                stripe: Bytes(storage.stripe_size_bytes),
                stripe_count: storage.stripe_count,
                request: Bytes(storage.request_bytes),
                in_flight: storage.in_flight,
            },
            medium: medium(storage)?,
            nodes,
            keeper: None,
        })
    }

    /// Adds the servers to the ranks of the job at a position.
    pub fn serve(&mut self, position: usize, plan: &mut JobPlan, topology: &Topology) {
        let first = plan.node_of_rank.len() as u32;
        let place = |&node: &NodeId| match &topology.inside {
            None => node,
            Some(inside) => inside.ranks_of(node).next().unwrap_or(node),
        };
        plan.node_of_rank.extend(self.nodes.iter().map(place));
        plan.servers = Some(Servers {
            first,
            keeper: *self.keeper.get_or_insert((position as u32, first)),
            medium: self.medium,
        });
    }
}

fn medium(storage: &Storage) -> Result<Medium, SpecError> {
    let rate = |key: &str, rate: u64| {
        let named = |error: BandwidthError| SpecError::new(key, error.to_string());
        Bandwidth::new(rate).map_err(named)
    };
    let write = rate(
        "storage.write_bandwidth",
        storage.write_bandwidth_bytes_per_s,
    )?;
    let burst_buffer = match &storage.burst_buffer {
        None => None,
        Some(buffer) => {
            let key = "storage.burst_buffer.bandwidth";
            let bandwidth = rate(key, buffer.bandwidth_bytes_per_s)?;
            if bandwidth.bytes_per_second() <= write.bytes_per_second() {
                let allowed =
                    format!("more than {write}, storage.write_bandwidth, or no burst buffer");
                return Err(SpecError::value(key, bandwidth, allowed));
            }
            Some(BurstBuffer {
                bandwidth,
                capacity: Bytes(buffer.capacity_bytes),
            })
        }
    };
    Ok(Medium {
        write,
        read: match storage.read_bandwidth_bytes_per_s {
            Some(read) => rate("storage.read_bandwidth", read)?,
            None => write,
        },
        latency: Picoseconds(storage.latency_ps),
        burst_buffer,
    })
}

fn nodes(
    storage: &Storage,
    scenario: &Scenario,
    state: &mut MachineState,
) -> Result<Vec<NodeId>, SpecError> {
    let listed = match &storage.placement {
        Placement::Explicit { nodes } => Some(nodes.len() as u32),
        Placement::Isolated | Placement::Grap { .. } | Placement::RankMap { .. } => {
            let allowed = "a list of nodes, or a policy that looks at single nodes, such as \"spread\", \
                           \"even\", \"contiguous\" or \"random-node\"";
            return Err(SpecError::value(
                "storage.placement",
                "one for jobs",
                allowed,
            ));
        }
        _ => None,
    };
    let Some(servers) = storage.servers.or(listed) else {
        let allowed = "a number of servers, as `placement` lists none";
        return Err(SpecError::value("storage.servers", "nothing", allowed));
    };
    let groups = storage.groups.as_ref();
    let request = Request {
        nodes: servers,
        policy: policy(&storage.placement),
        groups: groups.map(|groups| groups.iter().copied().map(GroupId).collect()),
    };
    // Jobs draw from the streams of their positions, which count from below.
    let stream = &mut StreamKey::new(scenario.seed, Purpose::Placement).stream(u64::MAX);
    let nodes = place(&request, state, stream).map_err(|refusal| refused(&refusal))?;
    let claimed = state.claim(&nodes);
    claimed.map_err(|error| SpecError::new("storage.placement", error.to_string()))?;
    Ok(nodes)
}

/// Why there are no such servers.
fn refused(refusal: &Refusal) -> SpecError {
    match refusal {
        Refusal::NoNodes => SpecError::value("storage.servers", 0, "at least 1"),
        Refusal::LargerThanMachine { asked, machine } => {
            let allowed = format!("at most {machine}, all nodes of the machine");
            SpecError::value("storage.servers", asked, allowed)
        }
        Refusal::ListLength { asked, listed } => {
            let allowed = format!("{listed}, as many as `placement` lists, or nothing");
            SpecError::value("storage.servers", asked, allowed)
        }
        Refusal::List(error) => SpecError::new("storage.placement", format!("servers: {error}")),
        Refusal::UnknownGroup { group, known } => {
            let allowed = format!("groups that have nodes: {known}");
            SpecError::value(
                "storage.placement.groups",
                format!("group {group}"),
                allowed,
            )
        }
        Refusal::NotEnoughInGroups { asked, nodes, .. } => {
            let allowed = format!("at most {nodes}, the nodes of these groups");
            SpecError::value("storage.servers", asked, allowed)
        }
        other => SpecError::new("storage", other.to_string()),
    }
}

/// Whether a job writes to the file system or reads from it.
pub(crate) fn is_used_by(job: &Job) -> bool {
    match &job.load {
        Load::Motif(motif) => uses(motif),
        Load::Traffic(_) => false,
    }
}

fn uses(motif: &Motif) -> bool {
    match &motif.kind {
        MotifKind::CheckpointBurst(_) => true,
        MotifKind::Phases { phases } => any_uses(phases),
        _ => false,
    }
}

fn any_uses(phases: &[Phase]) -> bool {
    phases.iter().any(|phase| match phase {
        Phase::Motif(motif) => uses(motif),
        Phase::ComputePs(_) => false,
        Phase::Repeat(repeat) => any_uses(&repeat.phases),
    })
}

/// Refuses a file system that nobody uses, or where circuits would not lead to it.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SpecError> {
    if scenario.storage.is_none() {
        return Ok(());
    }
    if !scenario.jobs.iter().any(is_used_by) {
        let allowed = "only with a job that uses it, by the motif \"checkpoint\"";
        return Err(SpecError::value("storage", "a file system", allowed));
    }
    if crate::topology::has_circuits(&scenario.network.topology) {
        let allowed = "another network: circuits of optical switches do not lead to servers";
        return Err(SpecError::value("storage", "a file system", allowed));
    }
    Ok(())
}
