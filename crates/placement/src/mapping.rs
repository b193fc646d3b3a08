//! Task mapping: which rank of a job sits on which of its nodes.

mod graph_bisection;
mod greedy;
mod network;
mod swap;

use std::collections::HashMap;

use odonata_cut::Graph;
use odonata_declare::Named;

use odonata_units::random::Stream;
use odonata_units::{NodeId, RankId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use graph_bisection::{graph_bisection, random_clusters};
use greedy::greedy;
pub use network::{Distances, JobNetwork, Places, Routes, RoutesBuilder};
pub use swap::Objective;
use swap::{HopBytes, LinkLoad, swap};

/// How ranks are laid out over the job's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingPolicy {
    /// Rank r on the job's node r / c (c ranks per node), in the order in which
    /// the placement chose the nodes.
    Linear,
    /// The slots that a linear mapping fills, in random order: every node has as
    /// many ranks as there, but which ones is left to chance.
    Random,
    /// As `Random`, but each half of the job by itself: the first ⌊n/2⌋ ranks
    /// share the slots that a linear mapping gives them, the others theirs.
    RandomHalves,
    /// The node of each rank.
    Explicit(Vec<NodeId>),
}

/// Where every rank of a job sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    node_of_rank: Vec<NodeId>,
}

impl Mapping {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.node_of_rank.len() as u32
    }

    /// Node of `rank`.
    pub fn node_of(&self, rank: RankId) -> NodeId {
        self.node_of_rank[rank.index()]
    }

    /// The node of each rank.
    pub fn nodes(&self) -> &[NodeId] {
        &self.node_of_rank
    }
}

/// Why ranks cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MappingError {
    /// A job without ranks, or nodes without room.
    #[error("the job has {ranks} ranks with {per_node} per node; both must be at least 1")]
    Nothing {
        /// Ranks of the job.
        ranks: u32,
        /// Ranks per node.
        per_node: u32,
    },
    /// The nodes do not hold the ranks.
    #[error(
        "{ranks} ranks do not fit {nodes} nodes with {per_node} per node; they need {needed} nodes"
    )]
    TooFewNodes {
        /// Ranks of the job.
        ranks: u32,
        /// Ranks per node.
        per_node: u32,
        /// Nodes of the job.
        nodes: usize,
        /// Nodes needed.
        needed: u32,
    },
    /// What is wanted needs distances between routers.
    #[error("this mapping needs distances between the job's routers")]
    NoDistances,
    /// What is wanted needs routes between routers.
    #[error("spreading load over links needs routes between the job's routers")]
    NoRoutes,
    /// An explicit list of another length.
    #[error(
        "the mapping lists {listed} nodes, but the job has {ranks} ranks; list one node per rank"
    )]
    ListLength {
        /// Nodes listed.
        listed: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// An explicit list names a node of somebody else.
    #[error("the mapping puts rank {rank} on node {node}, which the job does not have")]
    ForeignNode {
        /// Rank.
        rank: RankId,
        /// Node.
        node: NodeId,
    },
    /// An explicit list overfills a node.
    #[error(
        "the mapping puts more than {per_node} ranks on node {node}; rank {rank} is one too many"
    )]
    Overfull {
        /// First rank that does not fit.
        rank: RankId,
        /// Node.
        node: NodeId,
        /// Ranks per node.
        per_node: u32,
    },
}

/// Where an optimised mapping starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Node after node.
    ///
    /// As [`MappingPolicy::Linear`].
    Linear,
    /// At random.
    ///
    /// As [`MappingPolicy::Random`].
    Random,
    /// Ranks that send each other most share a node; which node is left to chance.
    RandomClusters,
    /// The heaviest communicators first, each where it is nearest to those that
    /// it talks to.
    ///
    /// Wants distances.
    Greedy,
    /// Recursive bisection of application and network together.
    GraphBisection,
}

/// How to find a mapping for an application that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimisation {
    /// Where it starts from.
    pub start: Start,
    /// What is then lowered by swapping ranks, if anything.
    pub refine: Option<Objective>,
}

/// Nodes that `ranks` ranks need with `per_node` on each; `per_node` > 0.
pub fn nodes_needed(ranks: u32, per_node: u32) -> u32 {
    ranks.div_ceil(per_node)
}

/// Lays `ranks` ranks out over `nodes`, `per_node` on each at most. The same
/// input and stream give the same mapping.
///
/// # Errors
/// If the nodes do not hold the ranks, or an explicit list does not fit.
pub fn map_ranks(
    ranks: u32,
    nodes: &[NodeId],
    per_node: u32,
    policy: &MappingPolicy,
    stream: &mut Stream,
) -> Result<Mapping, MappingError> {
    check_room(ranks, nodes, per_node)?;
    let linear = || (0..ranks).map(|rank| nodes[(rank / per_node) as usize]);
    let node_of_rank = match policy {
        MappingPolicy::Linear => linear().collect(),
        MappingPolicy::Random => {
            let mut slots: Vec<NodeId> = linear().collect();
            stream.shuffle(&mut slots);
            slots
        }
        MappingPolicy::RandomHalves => {
            let mut slots: Vec<NodeId> = linear().collect();
            let (first, second) = slots.split_at_mut(ranks as usize / 2);
            stream.shuffle(first);
            stream.shuffle(second);
            slots
        }
        MappingPolicy::Explicit(listed) => {
            check_list(ranks, nodes, per_node, listed)?;
            listed.clone()
        }
    };
    Ok(Mapping { node_of_rank })
}

/// Lays the ranks of an application out over `nodes`, `per_node` on each at most.
/// The vertices of `application` are its ranks, the weights of its edges the bytes
/// that two ranks exchange; node `i` of `network` is `nodes[i]`. The nodes that a linear
/// mapping uses are used, and all but one are full. The same input and stream give
/// the same mapping.
///
/// # Errors
/// If the nodes do not hold the ranks, or `network` lacks the distances or routes
/// that `how` wants.
///
/// # Panics
/// If `network` has another number of nodes than `nodes`.
pub fn optimise_mapping(
    application: &Graph,
    network: &JobNetwork,
    nodes: &[NodeId],
    per_node: u32,
    how: Optimisation,
    stream: &mut Stream,
) -> Result<Mapping, MappingError> {
    let ranks = application.vertices() as u32;
    assert_eq!(
        network.router_of_node().len(),
        nodes.len(),
        "a router for every node"
    );
    check_room(ranks, nodes, per_node)?;
    let slots = || (0..ranks).map(|rank| rank / per_node);
    let mut room = vec![0u32; nodes.len()];
    for node in slots() {
        room[node as usize] += 1;
    }
    let distances = || network.distances().ok_or(MappingError::NoDistances);
    let mut place: Vec<u32> = match how.start {
        Start::Linear => slots().collect(),
        Start::Random => {
            let mut slots: Vec<u32> = slots().collect();
            stream.shuffle(&mut slots);
            slots
        }
        Start::RandomClusters => random_clusters(application, &room, stream),
        Start::Greedy => greedy(application, network, distances()?, &room),
        Start::GraphBisection => graph_bisection(application, network, &room, stream),
    };
    match how.refine {
        None => {}
        Some(Objective::HopBytes) => {
            let mut measure = HopBytes::new(application, network, distances()?);
            swap(application, network, &mut measure, &mut place, stream);
        }
        Some(Objective::LinkLoad) => {
            let terminal_ns = distances()?.terminals() / 2.0;
            let routes = network.routes().ok_or(MappingError::NoRoutes)?;
            let mut measure = LinkLoad::new(application, network, routes, terminal_ns, &place);
            swap(application, network, &mut measure, &mut place, stream);
        }
    }
    let node_of_rank = place.iter().map(|&node| nodes[node as usize]).collect();
    Ok(Mapping { node_of_rank })
}

/// Whether the nodes hold the ranks.
fn check_room(ranks: u32, nodes: &[NodeId], per_node: u32) -> Result<(), MappingError> {
    if ranks == 0 || per_node == 0 {
        return Err(MappingError::Nothing { ranks, per_node });
    }
    let needed = nodes_needed(ranks, per_node);
    if needed as usize > nodes.len() {
        return Err(MappingError::TooFewNodes {
            ranks,
            per_node,
            nodes: nodes.len(),
            needed,
        });
    }
    Ok(())
}

fn check_list(
    ranks: u32,
    nodes: &[NodeId],
    per_node: u32,
    listed: &[NodeId],
) -> Result<(), MappingError> {
    if listed.len() != ranks as usize {
        return Err(MappingError::ListLength {
            listed: listed.len(),
            ranks,
        });
    }
    let mut room: HashMap<NodeId, u32> = nodes.iter().map(|&node| (node, per_node)).collect();
    for (rank, &node) in listed.iter().enumerate() {
        let rank = RankId::from_index(rank);
        match room.get_mut(&node) {
            None => return Err(MappingError::ForeignNode { rank, node }),
            Some(0) => {
                return Err(MappingError::Overfull {
                    rank,
                    node,
                    per_node,
                });
            }
            Some(left) => *left -= 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
