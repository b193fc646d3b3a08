//! Recursive bisection of application and network together (Hoefler and Snir,
//! "Generic topology mapping strategies for large-scale parallel architectures",
//! ICS 2011, section 5.2; Pellegrini and Roman, "Scotch", HPCN 1996, call it dual
//! recursive bipartitioning).
//!
//! 1. Ranks are gathered into as many clusters as there are nodes, by recursive
//!    bisection of who sends how much to whom: what is between clusters is little.
//! 2. The job's routers are cut into two halves with as little bandwidth between
//!    them as can be found, the clusters into two sets of the sizes of those
//!    halves with as little traffic between them as can be found, and so on for
//!    each half until one router is left, whose nodes are all alike.

use odonata_cut::{Balance, Effort, Graph, bisect, partition};
use odonata_units::random::Stream;

use super::network::JobNetwork;

/// Node of each rank, as an index among the job's nodes. `room[n]` ranks go to
/// node `n`; the rooms sum to the number of ranks, and all rooms that are not 0
/// are as large as the largest but the last.
pub(super) fn graph_bisection(
    application: &Graph,
    network: &JobNetwork,
    room: &[u32],
    random: &mut Stream,
) -> Vec<u32> {
    let (cluster_of, used) = clusters(application, room, random);
    let quotient = application.quotient(&cluster_of, used.len());
    let node_of_cluster = place_clusters(&quotient, network, &used, random);
    cluster_of
        .iter()
        .map(|&cluster| node_of_cluster[cluster as usize])
        .collect()
}

/// Node of each rank, as [`graph_bisection`] but for the second step: which cluster
/// goes to which node is left to chance.
///
/// This is what the published program of Kaplan et al. (sst-elements, scheduler,
/// `TopoMapper`) makes of recursive bisection on a dragonfly: its graph of the network
/// joins nodes at a distance of one link, of which a dragonfly has none, and METIS
/// halves a graph without edges at random.
pub(super) fn random_clusters(application: &Graph, room: &[u32], random: &mut Stream) -> Vec<u32> {
    let (cluster_of, mut nodes) = clusters(application, room, random);
    random.shuffle(&mut nodes);
    cluster_of
        .iter()
        .map(|&cluster| nodes[cluster as usize])
        .collect()
}

/// The cluster of each rank, and the nodes that are to have one each: those with room.
fn clusters(application: &Graph, room: &[u32], random: &mut Stream) -> (Vec<u32>, Vec<u32>) {
    let used: Vec<u32> = (0..room.len() as u32)
        .filter(|&node| room[node as usize] > 0)
        .collect();
    let sizes: Vec<u32> = used.iter().map(|&node| room[node as usize]).collect();
    (partition(application, &sizes, Effort::QUICK, random), used)
}

/// Clusters and the routers that they are to fill.
struct Domain {
    clusters: Vec<u32>,
    /// Routers, those without a node of the job among them.
    routers: Vec<u32>,
}

/// Node of each cluster: one cluster on each of the nodes in `used`.
fn place_clusters(
    clusters: &Graph,
    network: &JobNetwork,
    used: &[u32],
    random: &mut Stream,
) -> Vec<u32> {
    let mut nodes_of_router: Vec<Vec<u32>> = vec![vec![]; network.routers().vertices()];
    for &node in used {
        nodes_of_router[network.router_of_node()[node as usize] as usize].push(node);
    }
    let mut node_of_cluster = vec![0u32; clusters.vertices()];
    let mut open = vec![Domain {
        clusters: (0..clusters.vertices() as u32).collect(),
        routers: (0..network.routers().vertices() as u32).collect(),
    }];
    while let Some(domain) = open.pop() {
        let mut with_nodes = domain
            .routers
            .iter()
            .filter(|&&router| !nodes_of_router[router as usize].is_empty());
        let (Some(&first), second) = (with_nodes.next(), with_nodes.next()) else {
            continue;
        };
        if second.is_none() {
            let nodes = &nodes_of_router[first as usize];
            for (&cluster, &node) in domain.clusters.iter().zip(nodes) {
                node_of_cluster[cluster as usize] = node;
            }
            continue;
        }
        let nodes = |router: &u32| nodes_of_router[*router as usize].len() as u32;
        let machine = network
            .routers()
            .induced(&domain.routers)
            .with_sizes(domain.routers.iter().map(nodes).collect());
        let halves = bisect(&machine, Balance::halves(&machine), Effort::QUICK, random);
        let inner = clusters.induced(&domain.clusters);
        let parts = bisect(
            &inner,
            Balance::exactly(halves.first_size),
            Effort::QUICK,
            random,
        );
        let side = |list: &[u32], sides: &[bool], second: bool| -> Vec<u32> {
            let both = list.iter().zip(sides);
            both.filter(|both| *both.1 == second)
                .map(|both| *both.0)
                .collect()
        };
        for second in [true, false] {
            open.push(Domain {
                clusters: side(&domain.clusters, &parts.second, second),
                routers: side(&domain.routers, &halves.second, second),
            });
        }
    }
    node_of_cluster
}
