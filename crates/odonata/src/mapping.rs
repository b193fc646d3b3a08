//! Mappings that are fitted to what a job sends, and what any mapping costs.

pub mod costs;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use odonata_cut::Graph;
use odonata_load::matrix::{CommunicationMatrix, ReadOptions, read_matrix};
use odonata_load::{communication, offered_communication};
use odonata_network::routing::{RoutingError, expected_use, minimal_routing};
use odonata_network::{Peer, Topology};
use odonata_placement::{
    Distances, JobNetwork, Mapping, MappingError, Objective, Optimisation, Places, Routes,
    RoutesBuilder, Start, optimise_mapping,
};
use odonata_run::JobLoad;
use odonata_units::random::Stream;
use odonata_units::{NodeId, PortId, RouterId};

use crate::error::SpecError;
use crate::load::matrix_error;
use crate::spec::{
    self, Between, Load, MappingObjective, MappingStart, Motif, MotifKind, Pattern, Phase,
};

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
    if !is_between_groups_or_routers(load) {
        return Ok(());
    }
    Err(SpecError::new(
        path("mapping"),
        "a mapping cannot be fitted to a pattern between groups or routers, where who sends to whom \
                 follows from the mapping; use linear or random, or give a communication matrix: \
                 mapping = { policy = …, matrix = … }",
    ))
}

/// Whether who sends to whom follows from where ranks sit.
pub(crate) fn is_between_groups_or_routers(load: &Load) -> bool {
    match load {
        Load::Motif(motif) => motif_is_between_groups(motif),
        Load::Traffic(traffic) => is_between_groups(&traffic.pattern),
    }
}

fn is_between_groups(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::Adversarial(crate::spec::GroupShift { .. })
            | Pattern::GroupShift(crate::spec::GroupShift { .. })
            | Pattern::GroupTornado
            | Pattern::WithinGroup
            | Pattern::LongestMatching
            | Pattern::TwoHop
            | Pattern::Matrix(crate::spec::MatrixTraffic {
                between: Between::Nodes | Between::Routers | Between::Groups,
                ..
            })
    )
}

fn motif_is_between_groups(motif: &Motif) -> bool {
    fn any(phases: &[Phase]) -> bool {
        phases.iter().any(|phase| match phase {
            Phase::Motif(motif) => motif_is_between_groups(motif),
            Phase::ComputePs(_) => false,
            Phase::Repeat(crate::spec::RepeatPhase { phases, .. }) => any(phases),
        })
    }
    match &motif.kind {
        MotifKind::Exchange(crate::spec::Exchange { pattern, .. }) => is_between_groups(pattern),
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

#[cfg(test)]
mod tests;
