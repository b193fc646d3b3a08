//! The bisection width of a machine: the least bandwidth between two halves,
//! exactly where that can be had, otherwise between bounds.
//!
//! The upper bound is the best halving found; [`topology::bisection`](crate::topology::bisection)
//! tells how it is looked for. A branch and bound
//! ([`odonata_cut::least_cut`]) then tries to show that there is none with
//! less between the halves. Where it does not finish, the lower bound is the
//! largest of
//!
//! - **routes**: let every node send 1 byte to every other one over minimal routes,
//!   and let `t` be the longest that one direction of a link is occupied by that.
//!   Of two halves with `n₁` and `n₂` nodes the first sends the second `n₁·n₂`
//!   bytes, which take `t` at most; so `n₁·n₂ / t` bytes per second fit through
//!   the cut. (A multicommodity flow bounds a cut: Leighton and Rao, J. ACM 1999.)
//! - **spectrum**: with λ₂, the second least eigenvalue of the Laplacian of the
//!   routers weighted by bandwidth, a cut into halves of `r/2` of `r` routers has
//!   λ₂·r/4 at least (Fiedler, Czech. Math. J. 1973; Donath and Hoffman, IBM J.
//!   Res. Dev. 1973). Where all routers have equally many nodes.

use nalgebra::DMatrix;
use odonata_cut::Balance;
use odonata_units::{GroupId, PortId, RouterId};

use crate::routing::{expected_use, minimal_routing};
use crate::topology::{Bisection, LinkClassId, Peer, Topology};

/// Most routers for which the spectrum is computed; it takes their third power.
const SPECTRAL_ROUTERS: usize = 400;
/// Most routers between which routes are followed; it takes their square.
const ROUTED_ROUTERS: usize = 3_000;

/// The bisection width of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct BisectionWidth {
    /// The halving with the least bandwidth between the halves that was found, an
    /// upper bound of the width; `is_exact` if none has less.
    pub halves: Bisection,
    /// No halving has less than this, in bytes per second.
    pub lower_bound_bytes_per_s: u64,
    /// Links between the halves, by class. Shape: link classes.
    pub cut_links: Vec<u64>,
    /// Routers of each group in the second half, and all of its routers. Shape: groups.
    pub groups: Vec<(u32, u32)>,
    /// Partial assignments that the branch and bound looked at.
    pub steps: u64,
}

impl BisectionWidth {
    /// Looks for the width of `topology`, at `limit` partial assignments at most: a
    /// million take some seconds.
    pub fn of(topology: &Topology, limit: u64) -> Self {
        let graph = topology.router_weights();
        let attempt = Bisection::attempt(&graph, &topology.group_of_router);
        let (halves, steps) = if attempt.is_exact || limit == 0 {
            (attempt, 0)
        } else {
            attempt.searched(&graph, &topology.group_of_router, limit)
        };
        let lower_bound_bytes_per_s = if halves.is_exact {
            halves.bandwidth_bytes_per_s
        } else {
            let bound = routed_bound(topology).max(spectral_bound(topology));
            // Rounding must not lift a bound above what was found.
            bound.min(halves.bandwidth_bytes_per_s)
        };
        Self {
            lower_bound_bytes_per_s,
            cut_links: cut_links(topology, &halves.second_half),
            groups: groups(topology, &halves.second_half),
            halves,
            steps,
        }
    }

    /// Whether every group has as many routers in one half as in the other.
    pub fn is_balanced_in_groups(&self) -> bool {
        self.groups.iter().all(|&(second, all)| 2 * second == all)
    }
}

/// Links between the halves, by class.
fn cut_links(topology: &Topology, second_half: &[bool]) -> Vec<u64> {
    let owner = topology.router_of_every_port();
    let mut cut = vec![0; topology.link_classes.len()];
    // Each direction counts half: some links may lead one way.
    for (port, peer) in topology.peer.iter().enumerate() {
        if let Peer::Port(other) = peer
            && second_half[owner[port].index()] != second_half[owner[other.index()].index()]
        {
            let LinkClassId(class) = topology.class_of_port[port];
            cut[usize::from(class)] += 1;
        }
    }
    cut.iter().map(|directions| directions / 2).collect()
}

fn groups(topology: &Topology, second_half: &[bool]) -> Vec<(u32, u32)> {
    let mut groups = vec![(0, 0); topology.groups as usize];
    for (&GroupId(group), &second) in topology.group_of_router.iter().zip(second_half) {
        let group = &mut groups[group as usize];
        group.0 += u32::from(second);
        group.1 += 1;
    }
    groups
}

/// The bound by routes; 0 if the machine is too large or cannot be routed.
fn routed_bound(topology: &Topology) -> u64 {
    let graph = topology.router_weights();
    let nodes = graph.sizes();
    let with_nodes: Vec<usize> = (0..graph.vertices()).filter(|&r| nodes[r] > 0).collect();
    if with_nodes.len() > ROUTED_ROUTERS {
        return 0;
    }
    let Ok(routing) = minimal_routing(topology) else {
        return 0;
    };
    let mut occupied = vec![0f64; topology.ports()];
    // Source after source, so that the list of pairs stays short.
    for &from in &with_nodes {
        let pairs: Vec<(RouterId, RouterId)> = with_nodes
            .iter()
            .filter(|&&to| to != from)
            .map(|&to| (RouterId::from_index(from), RouterId::from_index(to)))
            .collect();
        expected_use(topology, &routing, &pairs, &mut |pair, port, share| {
            let to = pairs[pair].1.index();
            let bytes = f64::from(nodes[from]) * f64::from(nodes[to]);
            occupied[port.index()] += bytes * share;
        });
    }
    let longest = occupied
        .iter()
        .enumerate()
        .map(|(port, bytes)| {
            let class = topology.link_class(PortId::from_index(port));
            bytes / class.bandwidth.bytes_per_second() as f64
        })
        .fold(0.0, f64::max);
    if longest == 0.0 {
        return 0;
    }
    let total = graph.total_size();
    let most = u64::from(nodes.iter().copied().max().unwrap_or(0));
    // The halves may differ by the nodes of one router.
    let differ = if Balance::halves(&graph).tolerance() == 0 {
        0
    } else {
        most
    };
    let product = (total * total - differ * differ) as f64 / 4.0;
    (product / longest * (1.0 - 1e-9)) as u64
}

/// The bound by the spectrum; 0 where it does not apply.
fn spectral_bound(topology: &Topology) -> u64 {
    let graph = topology.router_weights();
    let routers = graph.vertices();
    let nodes = graph.sizes();
    let uniform = nodes.iter().all(|&n| n == nodes[0]) && nodes[0] > 0;
    if !uniform || !routers.is_multiple_of(2) || routers > SPECTRAL_ROUTERS {
        return 0;
    }
    let mut laplacian = DMatrix::zeros(routers, routers);
    for router in 0..routers {
        laplacian[(router, router)] = graph.degree(router) as f64;
        for (other, weight) in graph.edges(router) {
            laplacian[(router, other)] = -(weight as f64);
        }
    }
    let mut eigenvalues = laplacian.symmetric_eigenvalues();
    eigenvalues.as_mut_slice().sort_by(f64::total_cmp);
    let second = eigenvalues.get(1).copied().unwrap_or(0.0).max(0.0);
    (second * routers as f64 / 4.0 * (1.0 - 1e-9)) as u64
}

#[cfg(test)]
mod tests;
