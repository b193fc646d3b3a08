//! Refinement of a mapping by swapping the places of two ranks.

use odonata_cut::Graph;
use odonata_declare::Named;
use odonata_units::random::Stream;
use serde::{Deserialize, Serialize};

use super::network::{Distances, JobNetwork, Routes};

/// Looks at partners' edges that all trials together may take: a few seconds.
const WORK: u64 = 300_000_000;
/// Partners of a rank near which it is tried.
const PARTNERS: usize = 8;
/// Random ranks with which a rank is tried besides.
const DRAWN: u32 = 16;
/// Swaps for link load end with a pass over all ranks that lowers it by less than this share,
/// once they have taken [`FREE_WORK`].
const LEAST_GAIN: f64 = 2e-3;
/// Looks at partners' edges up to which every rank looks everywhere in every pass, by bounds
/// of that moment, for any gain: a second at most.
const FREE_WORK: u64 = 1_000_000;
/// Ranks for each swap for which bounds stay as they are.
const RANKS_PER_SWAP: usize = 32;

/// What swaps are to lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Bytes times the time for which each occupies links on its way.
    ///
    /// Σ bytes · distance.
    #[default]
    HopBytes,
    /// The load of the busiest links.
    ///
    /// Σ over links of the fourth power of the
    /// time for which each is occupied.
    LinkLoad,
}

/// Swaps pairs of ranks for as long as that lowers the objective by enough, or until a
/// fixed amount of work is done: rank after rank, those first that cost most, each with the
/// ranks on the nodes and routers of its heaviest partners and with some random ones.
///
/// After [`FREE_WORK`], a rank that found nothing near its partners looks there again when
/// one of them, or itself, has moved, or in a last pass over all (don't-look bits: Bentley,
/// "Fast algorithms for geometric traveling salesman problems", ORSA J. Computing 4(4),
/// 1992).
pub(super) fn swap(
    application: &Graph,
    network: &JobNetwork,
    measure: &mut dyn Measure,
    node_of_rank: &mut [u32],
    random: &mut Stream,
) {
    let mut objective = measure.objective(application, node_of_rank);
    let mut search = Search::new(application, network, measure, node_of_rank);
    loop {
        let over_all = !search.settled.contains(&true);
        if over_all {
            search.measure.look_anew();
        }
        let gained = search.pass(random);
        if search.work > WORK {
            return;
        }
        let enough = if search.work > FREE_WORK {
            objective * search.measure.least_gain()
        } else {
            0.0
        };
        let little = gained <= enough;
        // A difference may come out below 0 where nothing is left.
        objective = (objective - gained).max(0.0);
        if little {
            if over_all {
                return;
            }
            search.settled.fill(false);
        }
    }
}

/// A search for swaps under way.
struct Search<'a> {
    application: &'a Graph,
    network: &'a JobNetwork,
    measure: &'a mut dyn Measure,
    node_of_rank: &'a mut [u32],
    ranks_on: Vec<Vec<u32>>,
    nodes_on: Vec<Vec<u32>>,
    /// Looks at partners' edges so far.
    work: u64,
    /// Ranks that found nothing near their partners, where nobody has moved since.
    settled: Vec<bool>,
    /// Bounds of what swaps change, and the ranks to swap with; kept for their memory.
    candidates: Vec<(f64, usize)>,
}

impl<'a> Search<'a> {
    fn new(
        application: &'a Graph,
        network: &'a JobNetwork,
        measure: &'a mut dyn Measure,
        node_of_rank: &'a mut [u32],
    ) -> Self {
        let mut ranks_on: Vec<Vec<u32>> = vec![vec![]; network.router_of_node().len()];
        for (rank, &node) in node_of_rank.iter().enumerate() {
            ranks_on[node as usize].push(rank as u32);
        }
        let mut nodes_on: Vec<Vec<u32>> = vec![vec![]; network.routers().vertices()];
        for (node, &router) in network.router_of_node().iter().enumerate() {
            nodes_on[router as usize].push(node as u32);
        }
        Self {
            application,
            network,
            measure,
            node_of_rank,
            ranks_on,
            nodes_on,
            work: 0,
            settled: vec![false; application.vertices()],
            candidates: vec![],
        }
    }

    /// Lets each rank swap once, until all work is done; how much the objective fell.
    fn pass(&mut self, random: &mut Stream) -> f64 {
        let mut gained = 0.0;
        for rank in self.costliest_first() {
            let tried = self.partners_to_try(rank, random);
            match self.best_swap(rank, &tried) {
                Some((change, other)) => {
                    self.accept(rank, other);
                    gained -= change;
                }
                None => self.settled[rank] = self.work > FREE_WORK,
            }
            if self.work > WORK {
                break;
            }
        }
        gained
    }

    fn costliest_first(&self) -> Vec<usize> {
        let ranks = self.application.vertices();
        let cost = |rank| (self.measure).cost(self.application, self.node_of_rank, rank);
        let costs: Vec<f64> = (0..ranks).map(cost).collect();
        let mut order: Vec<usize> = (0..ranks).collect();
        order.sort_by(|&a, &b| costs[b].total_cmp(&costs[a]).then(a.cmp(&b)));
        order
    }

    /// Ranks near the partners of one that is not settled, and some random ones.
    fn partners_to_try(&self, rank: usize, random: &mut Stream) -> Vec<u32> {
        let mut tried: Vec<u32> = vec![];
        if !self.settled[rank] {
            for partner in heaviest_partners(self.application, rank) {
                let node = self.node_of_rank[partner];
                let router = self.network.router_of_node()[node as usize];
                for &node in &self.nodes_on[router as usize] {
                    tried.extend(&self.ranks_on[node as usize]);
                }
            }
        }
        let ranks = self.application.vertices() as u32;
        tried.extend((0..DRAWN).map(|_| random.below(ranks)));
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// The swap that lowers the objective most, if any of these does: by how much, and with whom.
    fn best_swap(&mut self, rank: usize, tried: &[u32]) -> Option<(f64, usize)> {
        let (application, node_of_rank) = (self.application, &*self.node_of_rank);
        // The most promising first: whatever cannot be better need not be tried.
        self.candidates.clear();
        for &other in tried {
            let other = other as usize;
            if other == rank || node_of_rank[other] == node_of_rank[rank] {
                continue;
            }
            let edges = application.neighbours(rank).len() + application.neighbours(other).len();
            self.work += edges as u64;
            let bound = (self.measure).bound(application, node_of_rank, rank, other);
            self.candidates.push((bound, other));
        }
        (self.candidates).sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut best: Option<(f64, usize)> = None;
        for &(bound, other) in &self.candidates {
            if !self.measure.is_gain(bound) || best.is_some_and(|best| bound >= best.0) {
                break;
            }
            let change = (self.measure).change(application, node_of_rank, rank, other);
            if best.is_none_or(|best| change < best.0) {
                best = Some((change, other));
            }
        }
        best.filter(|&(change, _)| self.measure.is_gain(change))
    }

    /// Swaps the places of two ranks; they and their partners are settled no more.
    fn accept(&mut self, rank: usize, other: usize) {
        (self.measure).accept(self.application, self.node_of_rank, rank, other);
        let (here, there) = (self.node_of_rank[rank], self.node_of_rank[other]);
        for (node, out, come) in [(here, rank, other), (there, other, rank)] {
            let list = &mut self.ranks_on[node as usize];
            if let Some(place) = list.iter().position(|&r| r as usize == out) {
                list[place] = come as u32;
            }
        }
        self.node_of_rank.swap(rank, other);
        for moved in [rank, other] {
            self.settled[moved] = false;
            for (partner, _) in self.application.edges(moved) {
                self.settled[partner] = false;
            }
        }
        if self.work <= FREE_WORK {
            self.measure.look_anew();
        }
    }
}

/// With whom a rank exchanges most, at most [`PARTNERS`] ranks.
fn heaviest_partners(application: &Graph, rank: usize) -> impl Iterator<Item = usize> {
    let edges = application.edges(rank);
    let mut partners: Vec<(u64, usize)> = edges.map(|(other, bytes)| (bytes, other)).collect();
    if partners.len() > PARTNERS {
        partners.select_nth_unstable_by(PARTNERS, |a, b| b.cmp(a));
        partners.truncate(PARTNERS);
    }
    partners.into_iter().map(|(_, other)| other)
}

/// What is lowered by swaps.
pub(super) trait Measure {
    /// What is lowered.
    fn objective(&self, application: &Graph, node_of_rank: &[u32]) -> f64;
    /// What a rank contributes.
    fn cost(&self, application: &Graph, node_of_rank: &[u32], rank: usize) -> f64;
    /// Share of the objective by which a pass over all ranks is to lower it for another.
    fn least_gain(&self) -> f64 {
        0.0
    }
    /// Bounds are to follow from how things are now.
    fn look_anew(&mut self) {}
    /// A change of the objective below which that of a swap is not, where that is found at
    /// less cost. It follows from how things were a few swaps ago.
    fn bound(&mut self, _: &Graph, _: &[u32], _: usize, _: usize) -> f64 {
        f64::NEG_INFINITY
    }
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
    fn objective(&self, application: &Graph, node_of_rank: &[u32]) -> f64 {
        let costs =
            (0..application.vertices()).map(|rank| self.cost(application, node_of_rank, rank));
        costs.sum::<f64>() / 2.0
    }

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

/// Links that what two places exchange uses, half of it each way.
struct Exchanges {
    /// First piece of each pair, and one past the last. Pairs of places count as in
    /// [`pair`].
    first_piece: Vec<usize>,
    pieces: Vec<u32>,
    /// First use of each piece, and one past the last.
    first_use: Vec<usize>,
    /// Link, and nanoseconds for which a byte of the exchange occupies it.
    uses: Vec<(u32, f32)>,
}

/// Number of a pair of different places.
#[inline]
fn pair(a: usize, b: usize) -> usize {
    let (low, high) = (a.min(b), a.max(b));
    high * high.saturating_sub(1) / 2 + low
}

impl Exchanges {
    fn new(routes: &Routes) -> Self {
        let places = routes.places().count();
        let (mut first_piece, mut pieces) = (vec![0], vec![]);
        for b in 0..places {
            for a in 0..b {
                pieces.extend(routes.pieces(a, b));
                pieces.extend(routes.pieces(b, a));
                first_piece.push(pieces.len());
            }
        }
        let (mut first_use, mut uses) = (vec![0], vec![]);
        for piece in 0..routes.different() {
            let links = routes.piece(piece as u32).iter();
            uses.extend(
                links.map(|&(link, share)| (link, share * routes.byte_ns()[link as usize] / 2.0)),
            );
            first_use.push(uses.len());
        }
        Self {
            first_piece,
            pieces,
            first_use,
            uses,
        }
    }

    /// Pieces of a pair.
    #[inline]
    fn pieces(&self, pair: usize) -> &[u32] {
        &self.pieces[self.first_piece[pair]..self.first_piece[pair + 1]]
    }

    /// Uses of a piece.
    #[inline]
    fn piece(&self, piece: u32) -> &[(u32, f32)] {
        &self.uses[self.first_use[piece as usize]..self.first_use[piece as usize + 1]]
    }
}

/// What another byte between two places would change: a first-order estimate of the
/// objective, which is convex, so that no change is below it. Worked out where it is asked
/// for, and kept for a swap per [`RANKS_PER_SWAP`]: one changes the loads of a part of the
/// links by little, but the prices of most pairs.
struct Prices {
    /// What another nanosecond on each link between routers costs.
    of_link: Vec<f64>,
    /// By pair of places, in units of [`LinkLoad::unit`] a byte, and as of which state of
    /// the loads.
    of_pair: Vec<(f64, u32)>,
    /// The same by piece.
    of_piece: Vec<(f64, u32)>,
    /// The state of the loads.
    state: u32,
}

impl Prices {
    /// As if nothing had a load.
    fn new(exchanges: &Exchanges, links: usize) -> Self {
        Self {
            of_link: vec![0.0; links],
            of_pair: vec![(0.0, 0); exchanges.first_piece.len() - 1],
            of_piece: vec![(0.0, 0); exchanges.first_use.len() - 1],
            state: 0,
        }
    }

    /// Forgets all prices: those of links are about to change.
    fn forget(&mut self) {
        self.state = self.state.checked_add(1).unwrap_or_else(|| {
            self.of_pair.fill((0.0, 0));
            self.of_piece.fill((0.0, 0));
            1
        });
    }

    fn between(&mut self, exchanges: &Exchanges, a: usize, b: usize) -> f64 {
        if a == b {
            return 0.0;
        }
        let pair = pair(a, b);
        let (price, state) = self.of_pair[pair];
        if state == self.state {
            return price;
        }
        let pieces = exchanges.pieces(pair).iter();
        let price = pieces.map(|&piece| self.of(exchanges, piece)).sum();
        self.of_pair[pair] = (price, self.state);
        price
    }

    fn of(&mut self, exchanges: &Exchanges, piece: u32) -> f64 {
        let (price, state) = self.of_piece[piece as usize];
        if state == self.state {
            return price;
        }
        let uses = exchanges.piece(piece);
        let cost = |&(link, ns): &(u32, f32)| self.of_link[link as usize] * f64::from(ns);
        // Four sums side by side: one alone would wait for each addition.
        let mut sums = [0.0; 4];
        let four = uses.chunks_exact(4);
        let rest: f64 = four.remainder().iter().map(cost).sum();
        for uses in four {
            for (sum, one) in sums.iter_mut().zip(uses) {
                *sum += cost(one);
            }
        }
        let price = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
        self.of_piece[piece as usize] = (price, self.state);
        price
    }
}

/// What another nanosecond on a link costs.
fn price(load: f64) -> f64 {
    4.0 * load.powi(3)
}

/// Σ over links of the fourth power of the time for which each is occupied. Of
/// what two ranks exchange, half is taken to go each way.
pub(super) struct LinkLoad {
    exchanges: Exchanges,
    prices: Prices,
    place_of_node: Vec<usize>,
    /// Nanoseconds for which each link is occupied, those of the job's nodes last.
    load: Vec<f64>,
    /// Links between routers.
    links: usize,
    /// Nanoseconds for which a byte occupies a node's link.
    terminal_ns: f64,
    /// Change of each link's load in the trial under way, and the links that have one.
    change: Vec<f64>,
    changed: Vec<u32>,
    /// The same of the bytes that use each piece, not yet in that of the links.
    piece_change: Vec<f64>,
    pieces_changed: Vec<u32>,
    /// Loads are counted in this many nanoseconds, so that powers stay in range.
    unit: f64,
    /// Swaps since prices were found, and how many there may be.
    swaps: u32,
    most_swaps: u32,
}

impl LinkLoad {
    pub fn new(
        application: &Graph,
        network: &JobNetwork,
        routes: &Routes,
        terminal_ns: f64,
        node_of_rank: &[u32],
    ) -> Self {
        let links = routes.byte_ns().len();
        let all = links + network.router_of_node().len();
        let places = routes.places();
        let exchanges = Exchanges::new(routes);
        let mut measure = Self {
            place_of_node: network
                .router_of_node()
                .iter()
                .map(|&router| places.of(router))
                .collect(),
            load: vec![0.0; all],
            links,
            terminal_ns,
            change: vec![0.0; all],
            changed: vec![],
            piece_change: vec![0.0; routes.different()],
            pieces_changed: vec![],
            unit: 1.0,
            swaps: 0,
            most_swaps: (application.vertices() / RANKS_PER_SWAP).max(1) as u32,
            prices: Prices::new(&exchanges, links),
            exchanges,
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
        measure.look_anew();
        measure
    }

    /// Adds what two nodes exchange to the trial.
    fn add(&mut self, a: u32, b: u32, bytes: f64) {
        if a == b {
            return;
        }
        let bytes = bytes / self.unit;
        let places = [a, b].map(|node| self.place_of_node[node as usize]);
        if places[0] != places[1] {
            for &piece in self.exchanges.pieces(pair(places[0], places[1])) {
                let change = &mut self.piece_change[piece as usize];
                if *change == 0.0 {
                    self.pieces_changed.push(piece);
                }
                *change += bytes;
            }
        }
        for node in [a, b] {
            self.note(self.links + node as usize, bytes / 2.0 * self.terminal_ns);
        }
    }

    /// What another byte between two nodes would change, in [`Self::unit`]s.
    fn price_between(&mut self, a: u32, b: u32) -> f64 {
        if a == b {
            return 0.0;
        }
        let terminals = [a, b].map(|node| price(self.load[self.links + node as usize]));
        let places = [a, b].map(|node| self.place_of_node[node as usize]);
        self.prices.between(&self.exchanges, places[0], places[1])
            + (terminals[0] + terminals[1]) * self.terminal_ns / 2.0
    }

    fn note(&mut self, link: usize, more: f64) {
        if self.change[link] == 0.0 {
            self.changed.push(link as u32);
        }
        self.change[link] += more;
    }

    /// Puts what changes of pieces to their links.
    fn spread(&mut self) {
        let Self {
            exchanges,
            change,
            changed,
            piece_change,
            pieces_changed,
            ..
        } = self;
        for piece in pieces_changed.drain(..) {
            // What cancelled out, or is listed twice, is 0.
            let bytes = std::mem::take(&mut piece_change[piece as usize]);
            if bytes == 0.0 {
                continue;
            }
            for &(link, ns) in exchanges.piece(piece) {
                let link_change = &mut change[link as usize];
                if *link_change == 0.0 {
                    changed.push(link);
                }
                *link_change += bytes * f64::from(ns);
            }
        }
    }

    /// Ends the trial without a trace; by how much it changes the objective.
    fn drop_trial(&mut self) -> f64 {
        self.spread();
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
        self.spread();
        for link in self.changed.drain(..) {
            let link = link as usize;
            self.load[link] += self.change[link];
            self.change[link] = 0.0;
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

impl Measure for LinkLoad {
    fn objective(&self, _: &Graph, _: &[u32]) -> f64 {
        self.load.iter().map(|load| load.powi(4)).sum()
    }

    fn least_gain(&self) -> f64 {
        LEAST_GAIN
    }

    fn look_anew(&mut self) {
        self.prices.forget();
        self.swaps = 0;
        for (of_link, &load) in self.prices.of_link.iter_mut().zip(&self.load) {
            *of_link = price(load);
        }
    }

    fn cost(&self, application: &Graph, node_of_rank: &[u32], rank: usize) -> f64 {
        // The load of the busiest link that the rank's messages pass.
        let here = self.place_of_node[node_of_rank[rank] as usize];
        application
            .edges(rank)
            .map(|(other, _)| self.place_of_node[node_of_rank[other] as usize])
            .filter(|&there| there != here)
            .flat_map(|there| self.exchanges.pieces(pair(here, there)))
            .flat_map(|&piece| self.exchanges.piece(piece))
            .map(|&(link, _)| self.load[link as usize])
            .fold(0.0, f64::max)
    }

    fn bound(&mut self, application: &Graph, node_of_rank: &[u32], a: usize, b: usize) -> f64 {
        let mut sum = 0.0;
        for (rank, partner) in [(a, b), (b, a)] {
            let (from, to) = (node_of_rank[rank], node_of_rank[partner]);
            for (other, weight) in application.edges(rank) {
                if other != partner {
                    let there = node_of_rank[other];
                    let change = self.price_between(to, there) - self.price_between(from, there);
                    sum += weight as f64 * change;
                }
            }
        }
        // Sums of many small changes are off by rounding.
        sum / self.unit - 1e-10
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
        self.swaps += 1;
        if self.swaps == self.most_swaps {
            self.look_anew();
        }
    }
}
