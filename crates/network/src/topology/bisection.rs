//! An estimate of the bisection bandwidth: the least bandwidth between two
//! halves of the machine, over the halves that were tried. Finding the least of
//! all is NP-hard, so the estimate is an upper bound of the true minimum. Up to
//! 20 routers, all halves are tried and the minimum is exact; up to 64, a branch and
//! bound ([`odonata_cut::least_cut`]) shows within a second, where it can, that
//! there is no smaller one. [`BisectionWidth`](crate::width::BisectionWidth) searches
//! for longer and bounds the minimum from below where that is in vain.
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
//!    a random half of every group, and a random half of all routers;
//! 5. what METIS proposes, with up to 20 seeds.
//!
//! Random choices have a fixed seed, so equal topologies get equal estimates.

use super::Topology;
use odonata_cut::{Balance, Effort, Graph, Halves, Refinement, bisect, least_cut};
use odonata_units::GroupId;
use odonata_units::random::{Purpose, Stream, StreamKey};

/// Most routers of a machine whose halves are all tried: half a million of them.
const EXACT_ROUTERS: usize = 20;
/// Most routers of a machine for which a branch and bound looks for the exact minimum,
const SEARCHED_ROUTERS: usize = 64;
/// and the partial assignments at which it gives up: about a second.
const SEARCH_STEPS: u64 = 200_000;
/// Starts that METIS proposes.
const METIS_STARTS: u32 = 20;
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
        Self::of(&topology.router_weights(), &topology.group_of_router)
    }

    pub(super) fn of(graph: &Graph, group_of_router: &[GroupId]) -> Self {
        let attempt = Self::attempt(graph, group_of_router);
        if attempt.is_exact || graph.vertices() > SEARCHED_ROUTERS {
            return attempt;
        }
        attempt.searched(graph, group_of_router, SEARCH_STEPS).0
    }

    /// Without a search for the minimum, except where all halves can be tried.
    pub(crate) fn attempt(graph: &Graph, group_of_router: &[GroupId]) -> Self {
        if graph.vertices() <= EXACT_ROUTERS {
            exhaust(graph, Balance::halves(graph))
        } else {
            Self::by_improvement(graph, group_of_router)
        }
    }

    /// The best halves that a branch and bound finds which looks at `limit` partial
    /// assignments at most, and at how many it looked.
    pub(crate) fn searched(
        self,
        graph: &Graph,
        group_of_router: &[GroupId],
        limit: u64,
    ) -> (Self, u64) {
        let first = (0..graph.vertices()).filter(|&router| !self.second_half[router]);
        let known = Halves {
            cut: self.bandwidth_bytes_per_s,
            first_size: first.map(|router| u64::from(graph.sizes()[router])).sum(),
            second: self.second_half,
        };
        let blocks: Vec<u32> = group_of_router.iter().map(|group| group.0).collect();
        let searched = least_cut(graph, &blocks, Balance::halves(graph), known, limit);
        let found = Self {
            is_exact: searched.is_proven,
            ..Self::from_halves(graph, searched.halves.second)
        };
        (found, searched.steps)
    }

    /// The halves by themselves, not known to be the best.
    pub(crate) fn from_halves(graph: &Graph, second_half: Vec<bool>) -> Self {
        let first = (0..graph.vertices()).filter(|&router| !second_half[router]);
        let size = first.map(|router| u64::from(graph.sizes()[router])).sum();
        Self {
            bandwidth_bytes_per_s: graph.cut(&second_half),
            imbalance_nodes: imbalance(graph, size),
            second_half,
            is_exact: false,
        }
    }

    fn by_improvement(graph: &Graph, group_of_router: &[GroupId]) -> Self {
        let balance = Balance::halves(graph);
        let mut search = Refinement::new(graph, balance);
        let starts = (WORK / graph.entries().max(1)).clamp(FIXED_STARTS, MOST_STARTS);
        let key = StreamKey::new(0, Purpose::Wiring);
        let mut found: Vec<Self> = (0..starts)
            .map(|start| {
                let order = order_of_start(start, group_of_router, key.stream(start as u64));
                search.start_in_order(&order);
                search.refine();
                Self::from_halves(graph, search.second().to_vec())
            })
            .collect();
        let proposals = Effort {
            proposals: (starts as u32).min(METIS_STARTS),
            random: 0,
        };
        let proposed = bisect(graph, balance, proposals, &mut key.stream(u64::MAX));
        if balance.allows(proposed.first_size) {
            found.push(Self::from_halves(graph, proposed.second));
        }
        found
            .into_iter()
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

/// Tries all halves.
fn exhaust(graph: &Graph, balance: Balance) -> Bisection {
    let routers = graph.vertices();
    let mut second = vec![false; routers];
    // Bandwidth that the cut loses if the router changes sides.
    let mut gain: Vec<i64> = (0..routers).map(|r| -(graph.degree(r) as i64)).collect();
    let mut first = graph.total_size();
    let mut cut = 0i64;
    let mut best: Option<(i64, u64)> = None;
    let mut best_halves = second.clone();
    // Gray code: each step moves one router, and no halving comes twice. The
    // last router stays, as swapping the halves changes nothing.
    for step in 0u32..1 << (routers - 1) {
        if step > 0 {
            let router = step.trailing_zeros() as usize;
            let size = u64::from(graph.sizes()[router]);
            cut -= gain[router];
            first = if second[router] {
                first + size
            } else {
                first - size
            };
            second[router] = !second[router];
            gain[router] = -gain[router];
            for (other, bandwidth) in graph.edges(router) {
                let change = 2 * bandwidth as i64;
                gain[other] += match second[other] == second[router] {
                    true => -change,
                    false => change,
                };
            }
        }
        let found = (cut, imbalance(graph, first));
        if balance.allows(first) && best.is_none_or(|best| found < best) {
            best = Some(found);
            best_halves.clone_from(&second);
        }
    }
    Bisection {
        is_exact: true,
        ..Bisection::from_halves(graph, best_halves)
    }
}

/// By how much the halves differ if the first has this size.
fn imbalance(graph: &Graph, first: u64) -> u64 {
    graph.total_size().abs_diff(2 * first)
}

#[cfg(test)]
mod tests;
