//! Refinement of a mapping by swapping the places of two ranks.

use odonata_partition::Graph;
use odonata_units::random::Stream;

use super::network::{Distances, JobNetwork, Routes};

/// Looks at partners' edges that all trials together may take: a few seconds.
const WORK: u64 = 300_000_000;
/// Partners of a rank near which it is tried.
const PARTNERS: usize = 8;
/// Random ranks with which a rank is tried besides.
const DRAWN: u32 = 16;

/// What swaps are to lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Σ bytes · distance: the time for which links are occupied, all together.
    #[default]
    HopBytes,
    /// The load of the busiest links: Σ over links of the fourth power of the
    /// time for which each is occupied.
    LinkLoad,
}

/// Swaps pairs of ranks for as long as that lowers the objective, or until a
/// fixed amount of work is done: rank after rank, those first that cost most,
/// each with the ranks on the nodes and routers of its heaviest partners and with
/// some random ones.
pub(super) fn swap(
    application: &Graph,
    network: &JobNetwork,
    measure: &mut dyn Measure,
    node_of_rank: &mut [u32],
    random: &mut Stream,
) {
    let ranks = application.vertices();
    let mut ranks_on: Vec<Vec<u32>> = vec![vec![]; network.router_of_node().len()];
    for (rank, &node) in node_of_rank.iter().enumerate() {
        ranks_on[node as usize].push(rank as u32);
    }
    let mut nodes_on: Vec<Vec<u32>> = vec![vec![]; network.routers().vertices()];
    for (node, &router) in network.router_of_node().iter().enumerate() {
        nodes_on[router as usize].push(node as u32);
    }
    let mut work = 0u64;
    let mut order: Vec<u32> = (0..ranks as u32).collect();
    loop {
        let mut improved = false;
        let costs: Vec<f64> = (0..ranks)
            .map(|rank| measure.cost(application, node_of_rank, rank))
            .collect();
        order.sort_by(|&a, &b| {
            costs[b as usize]
                .total_cmp(&costs[a as usize])
                .then(a.cmp(&b))
        });
        for &rank in &order {
            let rank = rank as usize;
            let mut partners: Vec<(u64, usize)> = application
                .edges(rank)
                .map(|(other, w)| (w, other))
                .collect();
            if partners.len() > PARTNERS {
                partners.select_nth_unstable_by(PARTNERS, |a, b| b.cmp(a));
                partners.truncate(PARTNERS);
            }
            partners.sort_unstable_by(|a, b| b.cmp(a));
            let mut tried: Vec<u32> = vec![];
            for &(_, partner) in &partners {
                let router = network.router_of_node()[node_of_rank[partner] as usize];
                for &node in &nodes_on[router as usize] {
                    tried.extend(&ranks_on[node as usize]);
                }
            }
            tried.extend((0..DRAWN).map(|_| random.below(ranks as u32)));
            tried.sort_unstable();
            tried.dedup();
            let mut best: Option<(f64, usize)> = None;
            for &other in &tried {
                let other = other as usize;
                if other == rank || node_of_rank[other] == node_of_rank[rank] {
                    continue;
                }
                work += (application.neighbours(rank).len() + application.neighbours(other).len())
                    as u64;
                let change = measure.change(application, node_of_rank, rank, other);
                if best.is_none_or(|best| change < best.0) {
                    best = Some((change, other));
                }
            }
            if let Some((change, other)) = best
                && measure.is_gain(change)
            {
                measure.accept(application, node_of_rank, rank, other);
                let (here, there) = (node_of_rank[rank], node_of_rank[other]);
                for (node, out, come) in [(here, rank, other), (there, other, rank)] {
                    let list = &mut ranks_on[node as usize];
                    if let Some(place) = list.iter().position(|&r| r as usize == out) {
                        list[place] = come as u32;
                    }
                }
                node_of_rank.swap(rank, other);
                improved = true;
            }
            if work > WORK {
                return;
            }
        }
        if !improved {
            return;
        }
    }
}

/// What is lowered by swaps.
pub(super) trait Measure {
    /// What a rank contributes.
    fn cost(&self, application: &Graph, node_of_rank: &[u32], rank: usize) -> f64;
    /// How the objective changes if two ranks on different nodes swap places.
    fn change(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) -> f64;
    /// Whether a change is more than rounding.
    fn is_gain(&self, change: f64) -> bool;
    /// The two swap places; called before `node_of_rank` changes.
    fn accept(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize);
}

/// Σ bytes · distance.
pub(super) struct HopBytes<'a> {
    distances: &'a Distances,
    place_of_node: Vec<usize>,
    /// A change below this is rounding.
    least: f64,
}

impl<'a> HopBytes<'a> {
    pub fn new(application: &Graph, network: &JobNetwork, distances: &'a Distances) -> Self {
        let places = distances.places();
        let bytes: f64 = (0..application.vertices())
            .map(|rank| application.degree(rank) as f64)
            .sum();
        Self {
            distances,
            place_of_node: network
                .router_of_node()
                .iter()
                .map(|&router| places.of(router))
                .collect(),
            least: bytes * distances.terminals() * 1e-9,
        }
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        if a == b {
            return 0.0;
        }
        let (a, b) = (
            self.place_of_node[a as usize],
            self.place_of_node[b as usize],
        );
        self.distances.between(a, b) + self.distances.terminals()
    }
}

impl Measure for HopBytes<'_> {
    fn cost(&self, application: &Graph, node_of_rank: &[u32], rank: usize) -> f64 {
        let here = node_of_rank[rank];
        application
            .edges(rank)
            .map(|(other, weight)| weight as f64 * self.distance(here, node_of_rank[other]))
            .sum()
    }

    fn change(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) -> f64 {
        let moved = |rank: usize, partner: usize, to: u32| -> f64 {
            let from = node_of_rank[rank];
            application
                .edges(rank)
                // What the two exchange stays as far as it was.
                .filter(|&(other, _)| other != partner)
                .map(|(other, weight)| {
                    let there = node_of_rank[other];
                    weight as f64 * (self.distance(to, there) - self.distance(from, there))
                })
                .sum()
        };
        moved(a, b, node_of_rank[b]) + moved(b, a, node_of_rank[a])
    }

    fn is_gain(&self, change: f64) -> bool {
        change < -self.least
    }

    fn accept(&mut self, _: &Graph, _: &[u32], _: usize, _: usize) {}
}

/// Σ over links of the fourth power of the time for which each is occupied. Of
/// what two ranks exchange, half is taken to go each way.
pub(super) struct LinkLoad<'a> {
    routes: &'a Routes,
    place_of_node: Vec<usize>,
    /// Nanoseconds for which each link is occupied, those of the job's nodes last.
    load: Vec<f64>,
    /// Nanoseconds for which a byte occupies a node's link.
    terminal_ns: f64,
    /// Change of each link's load in the trial under way, and the links that have one.
    change: Vec<f64>,
    changed: Vec<u32>,
    /// Loads are counted in this many nanoseconds, so that powers stay in range.
    unit: f64,
}

impl<'a> LinkLoad<'a> {
    pub fn new(
        application: &Graph,
        network: &JobNetwork,
        routes: &'a Routes,
        terminal_ns: f64,
        node_of_rank: &[u32],
    ) -> Self {
        let links = routes.byte_ns().len() + network.router_of_node().len();
        let places = routes.places();
        let mut measure = Self {
            routes,
            place_of_node: network
                .router_of_node()
                .iter()
                .map(|&router| places.of(router))
                .collect(),
            load: vec![0.0; links],
            terminal_ns,
            change: vec![0.0; links],
            changed: vec![],
            unit: 1.0,
        };
        for rank in 0..application.vertices() {
            for (other, weight) in application.edges(rank).filter(|edge| edge.0 > rank) {
                measure.add(node_of_rank[rank], node_of_rank[other], weight as f64);
            }
        }
        measure.settle();
        let most = measure.load.iter().copied().fold(0.0, f64::max);
        measure.unit = if most > 0.0 { most } else { 1.0 };
        for load in &mut measure.load {
            *load /= measure.unit;
        }
        measure
    }

    /// Adds what two nodes exchange to the trial.
    fn add(&mut self, a: u32, b: u32, bytes: f64) {
        if a == b {
            return;
        }
        let half = bytes / 2.0 / self.unit;
        let (place_a, place_b) = (
            self.place_of_node[a as usize],
            self.place_of_node[b as usize],
        );
        let routes = self.routes;
        for (from, to) in [(place_a, place_b), (place_b, place_a)] {
            for &(link, share) in routes.between(from, to) {
                let byte_ns = f64::from(routes.byte_ns()[link as usize]);
                self.note(link as usize, half * f64::from(share) * byte_ns);
            }
        }
        let terminals = routes.byte_ns().len();
        for node in [a, b] {
            self.note(terminals + node as usize, half * self.terminal_ns);
        }
    }

    fn note(&mut self, link: usize, more: f64) {
        if self.change[link] == 0.0 {
            self.changed.push(link as u32);
        }
        self.change[link] += more;
    }

    /// Ends the trial without a trace; by how much it changes the objective.
    fn drop_trial(&mut self) -> f64 {
        let mut sum = 0.0;
        for link in self.changed.drain(..) {
            let link = link as usize;
            // A link whose changes cancelled out is listed twice, the second time with 0.
            let (old, change) = (self.load[link], self.change[link]);
            sum += (old + change).powi(4) - old.powi(4);
            self.change[link] = 0.0;
        }
        sum
    }

    /// Takes the trial over.
    fn settle(&mut self) {
        for link in self.changed.drain(..) {
            self.load[link as usize] += self.change[link as usize];
            self.change[link as usize] = 0.0;
        }
    }

    fn try_swap(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) {
        for (rank, partner) in [(a, b), (b, a)] {
            let (from, to) = (node_of_rank[rank], node_of_rank[partner]);
            for (other, weight) in application.edges(rank) {
                if other != partner {
                    let there = node_of_rank[other];
                    self.add(from, there, -(weight as f64));
                    self.add(to, there, weight as f64);
                }
            }
        }
    }
}

impl Measure for LinkLoad<'_> {
    fn cost(&self, application: &Graph, node_of_rank: &[u32], rank: usize) -> f64 {
        // The load of the busiest link that the rank's messages pass.
        let here = self.place_of_node[node_of_rank[rank] as usize];
        application
            .edges(rank)
            .flat_map(|(other, _)| {
                let there = self.place_of_node[node_of_rank[other] as usize];
                self.routes.between(here, there)
            })
            .map(|&(link, _)| self.load[link as usize])
            .fold(0.0, f64::max)
    }

    fn change(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) -> f64 {
        self.try_swap(application, node_of_rank, a, b);
        self.drop_trial()
    }

    fn is_gain(&self, change: f64) -> bool {
        // Loads are at most about 1.
        change < -1e-9
    }

    fn accept(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) {
        self.try_swap(application, node_of_rank, a, b);
        self.settle();
    }
}
