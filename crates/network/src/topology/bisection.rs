//! An estimate of the bisection bandwidth: the least bandwidth between two
//! halves of the machine, over the halves that were tried. Finding the least of
//! all is NP-hard, so the estimate is an upper bound of the true minimum. Up to
//! 20 routers, all halves are tried and the minimum is exact.
//!
//! # Method
//! Every router goes with its nodes to one of two halves with the same number of
//! nodes (see [`Bisection::imbalance_nodes`] where that is impossible); a router
//! without nodes may go to either. What counts is the sum of the bandwidths, one
//! direction, of the links between the halves.
//!
//! Starting from several halvings, the cut is improved by passes after Fiduccia
//! and Mattheyses (DAC 1982): routers move one by one, the best first and each
//! once, always away from the larger half; then the pass is wound back to the
//! best balanced cut on the way; passes repeat until one brings nothing. The
//! starts are
//!
//! 1. whole groups: the first half of the machine against the second;
//! 2. half of every group: the first routers of each against the last, and
//! 3. every other router of each;
//! 4. then, as often as the size of the machine allows, by turns: whole groups in random order,
//!    a random half of every group, and a random half of all routers.
//!
//! Random choices have a fixed seed, so equal topologies get equal estimates.

use super::Topology;
use super::router_graph::RouterGraph;
use odonata_units::GroupId;
use odonata_units::random::{Purpose, Stream, StreamKey};
use std::collections::BinaryHeap;

/// Most routers of a machine whose halves are all tried: half a million of them.
const EXACT_ROUTERS: usize = 20;
/// Entries of the router graph that all starts together may hold: a machine of
/// 36 routers gets the [`MOST_STARTS`], one of 10,000 only the fixed ones.
const WORK: usize = 4_000_000;
/// Starts of a small machine.
const MOST_STARTS: usize = 300;
/// Starts of any machine.
const FIXED_STARTS: usize = 3;

/// The best halving found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// Bytes per second from one half to the other, one direction.
    pub bandwidth_bytes_per_s: u64,
    /// By how many nodes the halves differ: 0 if all routers have the same number
    /// of nodes and an even number of routers have some; at most the largest
    /// number of nodes on one router.
    pub imbalance_nodes: u64,
    /// Whether each router is in the second half. Shape: routers.
    pub second_half: Vec<bool>,
    /// Whether all halves were tried, so that no cut is smaller.
    pub is_exact: bool,
}

impl Bisection {
    /// Estimates the bisection of a topology with at least two routers; with
    /// one, nothing is cut and the bandwidth is 0.
    pub fn estimate(topology: &Topology) -> Self {
        Self::of(&RouterGraph::new(topology), &topology.group_of_router)
    }

    pub(super) fn of(graph: &RouterGraph, group_of_router: &[GroupId]) -> Self {
        if graph.routers() <= EXACT_ROUTERS {
            Search::new(graph).exhaust()
        } else {
            Self::by_improvement(graph, group_of_router)
        }
    }

    fn by_improvement(graph: &RouterGraph, group_of_router: &[GroupId]) -> Self {
        let mut search = Search::new(graph);
        let starts = (WORK / graph.entries().max(1)).clamp(FIXED_STARTS, MOST_STARTS);
        let key = StreamKey::new(0, Purpose::Wiring);
        (0..starts)
            .map(|start| {
                let order = order_of_start(start, group_of_router, key.stream(start as u64));
                search.halve(&order);
                search.refine();
                search.result()
            })
            .min_by_key(|found| (found.bandwidth_bytes_per_s, found.imbalance_nodes))
            .expect("there are at least the fixed starts")
    }
}

/// How a start orders the routers; the first of them, by nodes, make up the
/// first half.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    /// Group by group.
    WholeGroups,
    /// The first router of every group, the second of every group, …
    AcrossGroups,
    /// The same, but the first, third, … of a group before the second, fourth, …
    AcrossGroupsAlternating,
    /// Without regard to groups.
    Any,
}

impl Start {
    /// Start `number`, and whether routers and groups are shuffled before.
    const fn of(number: usize) -> (Self, bool) {
        let is_random = number >= FIXED_STARTS;
        let start = match (number % FIXED_STARTS, is_random) {
            (0, _) => Self::WholeGroups,
            (1, _) => Self::AcrossGroups,
            (_, false) => Self::AcrossGroupsAlternating,
            (_, true) => Self::Any,
        };
        (start, is_random)
    }
}

/// Routers in the order of start `number`.
fn order_of_start(number: usize, group_of_router: &[GroupId], mut random: Stream) -> Vec<usize> {
    let routers = group_of_router.len();
    let groups = 1 + group_of_router.iter().map(|g| g.index()).max().unwrap_or(0);
    let group = |router: usize| group_of_router[router].index();
    let mut order: Vec<usize> = (0..routers).collect();
    let mut rank_of_group: Vec<usize> = (0..groups).collect();
    let (start, is_random) = Start::of(number);
    if is_random {
        random.shuffle(&mut order);
        random.shuffle(&mut rank_of_group);
    }
    match start {
        Start::Any => return order,
        Start::WholeGroups => {
            order.sort_by_key(|&router| rank_of_group[group(router)]);
            return order;
        }
        Start::AcrossGroups | Start::AcrossGroupsAlternating => {}
    }
    let mut size = vec![0usize; groups];
    for router in 0..routers {
        size[group(router)] += 1;
    }
    let mut next = vec![0usize; groups];
    // Middle of each router's share of its group, in millionths of the group:
    // groups of different sizes are halved at the same 500,000. Then the group.
    let mut place = vec![(0usize, 0usize); routers];
    for &router in &order {
        let group = group(router);
        let mut within = next[group];
        next[group] += 1;
        if start == Start::AcrossGroupsAlternating {
            let odd = within % 2;
            within = within / 2 + odd * size[group].div_ceil(2);
        }
        let share = (2 * within + 1) * 1_000_000 / (2 * size[group]);
        place[router] = (share, rank_of_group[group]);
    }
    order.sort_by_key(|&router| place[router]);
    order
}

/// A halving under improvement.
struct Search<'a> {
    graph: &'a RouterGraph,
    /// Whether each router is in the second half.
    second: Vec<bool>,
    /// Nodes of the first half less those of the second.
    surplus: i64,
    /// How far the halves may differ in the end.
    tolerance: i64,
    /// Bandwidth that the cut loses if the router changes sides.
    gain: Vec<i64>,
    moved: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a RouterGraph) -> Self {
        let with_nodes = || graph.nodes.iter().copied().filter(|&n| n > 0);
        let most = with_nodes().max().unwrap_or(0);
        let uniform = with_nodes().all(|n| n == most);
        let halves_exactly = uniform && with_nodes().count() % 2 == 0;
        Self {
            graph,
            second: vec![false; graph.routers()],
            surplus: 0,
            tolerance: if halves_exactly { 0 } else { i64::from(most) },
            gain: vec![0; graph.routers()],
            moved: vec![false; graph.routers()],
        }
    }

    fn weight(&self, router: usize) -> i64 {
        i64::from(self.graph.nodes[router])
    }

    /// Puts the first routers of `order` into the first half, as many as balance
    /// it: one that would tip the scale is left to the second half.
    fn halve(&mut self, order: &[usize]) {
        self.surplus = -order.iter().map(|&router| self.weight(router)).sum::<i64>();
        self.second.fill(true);
        let half = order.len().div_ceil(2);
        for (place, &router) in order.iter().enumerate() {
            // Routers without nodes are shared out by their number.
            let weight = self.weight(router);
            let takes = match weight {
                0 => place < half,
                _ => self.surplus + 2 * weight <= self.tolerance,
            };
            if takes {
                self.second[router] = false;
                self.surplus += 2 * weight;
            }
        }
    }

    fn compute_gains(&mut self) {
        for router in 0..self.graph.routers() {
            let side = self.second[router];
            self.gain[router] = self
                .graph
                .links(router)
                .map(|(other, bandwidth)| {
                    if self.second[other] == side {
                        -(bandwidth as i64)
                    } else {
                        bandwidth as i64
                    }
                })
                .sum();
        }
    }

    fn move_over(&mut self, router: usize) {
        let weight = self.weight(router);
        self.surplus += if self.second[router] {
            2 * weight
        } else {
            -2 * weight
        };
        self.second[router] = !self.second[router];
    }

    /// Tries all halves.
    fn exhaust(mut self) -> Bisection {
        let routers = self.graph.routers();
        self.halve(&(0..routers).collect::<Vec<_>>());
        self.compute_gains();
        let mut cut = self.result().bandwidth_bytes_per_s as i64;
        let mut best = (cut, self.surplus.abs());
        let mut best_halves = self.second.clone();
        // Gray code: each step moves one router, and no halving comes twice. The
        // last router stays, as swapping the halves changes nothing.
        for step in 1u32..1 << (routers - 1) {
            let router = step.trailing_zeros() as usize;
            cut -= self.gain[router];
            self.move_over(router);
            self.update_gains(router);
            let found = (cut, self.surplus.abs());
            if found.1 <= self.tolerance && found < best {
                best = found;
                best_halves.clone_from(&self.second);
            }
        }
        self.second = best_halves;
        self.surplus = best.1;
        Bisection {
            is_exact: true,
            ..self.result()
        }
    }

    /// Brings the gains up to date after `router` has moved.
    fn update_gains(&mut self, router: usize) {
        let side = self.second[router];
        self.gain[router] = -self.gain[router];
        for (other, bandwidth) in self.graph.links(router) {
            let change = 2 * bandwidth as i64;
            self.gain[other] += if self.second[other] == side {
                -change
            } else {
                change
            };
        }
    }

    /// Improves the halving until a pass brings nothing.
    fn refine(&mut self) {
        while self.pass() {}
    }

    /// One pass over a balanced halving; whether it improved the cut.
    fn pass(&mut self) -> bool {
        self.compute_gains();
        self.moved.fill(false);
        // Candidates of each half; entries whose gain is outdated are skipped.
        let mut waiting: [BinaryHeap<(i64, usize)>; 2] = Default::default();
        for router in 0..self.graph.routers() {
            waiting[usize::from(self.second[router])].push((self.gain[router], router));
        }
        let (mut total, mut best, mut kept) = (0i64, 0i64, 0usize);
        let mut moves: Vec<usize> = vec![];
        // A pass that has long been losing will not win.
        let patience = 64 + self.graph.routers() / 4;
        while moves.len() - kept < patience {
            let Some(router) = self.next_candidate(&mut waiting) else {
                break;
            };
            total += self.gain[router];
            self.moved[router] = true;
            self.move_over(router);
            moves.push(router);
            self.update_gains(router);
            for (other, _) in self.graph.links(router) {
                if !self.moved[other] {
                    waiting[usize::from(self.second[other])].push((self.gain[other], other));
                }
            }
            if self.surplus.abs() <= self.tolerance && total > best {
                best = total;
                kept = moves.len();
            }
        }
        for &router in &moves[kept..] {
            self.move_over(router);
        }
        best > 0
    }

    /// The best router that may change sides: of the larger half, or of both if
    /// they are level; a router may leave the smaller half, too, if that keeps
    /// the balance.
    fn next_candidate(&self, waiting: &mut [BinaryHeap<(i64, usize)>; 2]) -> Option<usize> {
        for (side, heap) in waiting.iter_mut().enumerate() {
            while let Some(&(gain, router)) = heap.peek() {
                let outdated = self.moved[router]
                    || usize::from(self.second[router]) != side
                    || self.gain[router] != gain;
                if !outdated {
                    break;
                }
                heap.pop();
            }
        }
        let [first, second] = [0, 1].map(|side: usize| waiting[side].peek().copied());
        let (larger, smaller) = match self.surplus {
            0.. => (first, second),
            _ => (second, first),
        };
        let may_leave = |&(_, router): &(i64, usize)| {
            let weight = self.weight(router);
            self.surplus == 0 || weight == 0 || self.surplus.abs() + 2 * weight <= self.tolerance
        };
        larger
            .max(smaller.filter(may_leave))
            .or(smaller)
            .map(|(_, router)| router)
    }

    fn result(&self) -> Bisection {
        let cut = |router: usize| {
            let side = self.second[router];
            let across = self
                .graph
                .links(router)
                .filter(move |&(other, _)| self.second[other] != side);
            across.map(|(_, bandwidth)| bandwidth).sum::<u64>()
        };
        let first_half = (0..self.graph.routers()).filter(|&router| !self.second[router]);
        Bisection {
            bandwidth_bytes_per_s: first_half.map(cut).sum(),
            imbalance_nodes: self.surplus.unsigned_abs(),
            second_half: self.second.clone(),
            is_exact: false,
        }
    }
}

#[cfg(test)]
mod tests;
