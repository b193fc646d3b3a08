//! Uplinks from pod to pod decided all at once, as numbers, and put onto switches afterwards.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use pathfinding::kuhn_munkres::kuhn_munkres;
use pathfinding::matrix::Matrix;

use crate::uplinks::{PodTraffic, UplinkSwitch};

/// Weights of matchings are scaled to this.
const SCALE: f64 = (1u64 << 40) as f64;
/// Rounds of scaling rows and columns in turn.
const SCALINGS: usize = 200;
/// Share of the traffic that pairs without any are taken to have, so that a doubly stochastic
/// matrix of this form exists.
const FLOOR: f64 = 1e-4;
/// What is left of the matrix when its decomposition ends.
const REST: f64 = 1e-3;

/// How many uplinks can lead from pod to pod.
struct Room {
    pods: usize,
    /// Uplinks that each pod has left, as a sender and as a receiver.
    out: Vec<u32>,
    into: Vec<u32>,
    /// Uplinks left from pod to pod, by the switches that both are on. Shape: pods × pods.
    between: Vec<u32>,
}

impl Room {
    fn new(pods: usize, switches: &[UplinkSwitch]) -> Self {
        let mut room = Self {
            pods,
            out: vec![0; pods],
            into: vec![0; pods],
            between: vec![0; pods * pods],
        };
        for switch in switches {
            let (ingress, egress) = (tally(&switch.ingress), tally(&switch.egress));
            for &(from, out) in &ingress {
                room.out[from] += out;
                for &(to, into) in &egress {
                    room.between[from * pods + to] += out.min(into);
                }
            }
            for &(to, into) in &egress {
                room.into[to] += into;
            }
        }
        room
    }

    /// Takes up to `wanted` uplinks of a pair: how many there were.
    fn take(&mut self, pair: usize, wanted: u32) -> u32 {
        let (from, to) = (pair / self.pods, pair % self.pods);
        let taken = wanted
            .min(self.out[from])
            .min(self.into[to])
            .min(self.between[pair]);
        self.out[from] -= taken;
        self.into[to] -= taken;
        self.between[pair] -= taken;
        taken
    }

    /// Gives what is left to links within pods first, and then to any pair.
    fn fill(&mut self, counts: &mut [u32]) {
        let pods = self.pods;
        let within = (0..pods).map(|pod| pod * pods + pod);
        for pair in within.chain(0..pods * pods) {
            counts[pair] += self.take(pair, u32::MAX);
        }
    }
}

/// Ports by pod, ascending.
fn tally(pods: &[odonata_units::GroupId]) -> Vec<(usize, u32)> {
    let mut sorted: Vec<usize> = pods.iter().map(|pod| pod.index()).collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|one, other| one == other);
    runs.map(|run| (run[0], run.len() as u32)).collect()
}

/// A pair of pods that would like one more uplink.
struct PairDemand {
    amount: f64,
    links: u32,
    pair: usize,
}

impl PairDemand {
    fn key(&self) -> (bool, f64) {
        let per_link = self.amount / f64::from(self.links.max(1));
        (self.links == 0, per_link)
    }
}

impl PartialEq for PairDemand {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for PairDemand {}
impl PartialOrd for PairDemand {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for PairDemand {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((none, mine), (other_none, theirs)) = (self.key(), other.key());
        none.cmp(&other_none)
            .then(mine.total_cmp(&theirs))
            .then(other.pair.cmp(&self.pair))
    }
}

/// Uplinks such that the busiest has least to carry, as Flexfly's circuits (Wen et al., SC 2016):
/// the pair with most to carry per uplink gets the next one, as long as both pods have some left.
/// Pairs that have none yet come first. Shape: pods × pods.
pub(crate) fn min_max(traffic: &PodTraffic, switches: &[UplinkSwitch]) -> Vec<u32> {
    let mut room = Room::new(traffic.pods(), switches);
    let mut counts = vec![0; traffic.amounts().len()];
    let wishes = traffic.amounts().iter().enumerate();
    let mut wishes: BinaryHeap<PairDemand> = wishes
        .filter(|(_, amount)| **amount > 0.0)
        .map(|(pair, &amount)| PairDemand {
            amount,
            links: 0,
            pair,
        })
        .collect();
    while let Some(mut wish) = wishes.pop() {
        if room.take(wish.pair, 1) == 0 {
            continue;
        }
        counts[wish.pair] += 1;
        wish.links += 1;
        wishes.push(wish);
    }
    room.fill(&mut counts);
    counts
}

/// Uplinks by a Birkhoff–von Neumann decomposition: traffic scaled to be doubly stochastic (Sinkhorn
/// and Knopp), taken apart into permutations, each as often as its weight says. Shape: pods × pods.
pub(crate) fn birkhoff(traffic: &PodTraffic, switches: &[UplinkSwitch]) -> Vec<u32> {
    let pods = traffic.pods();
    let mut room = Room::new(pods, switches);
    let count = room.out.iter().chain(&room.into).copied().max();
    let count = count.unwrap_or(0);
    let mut counts = vec![0; pods * pods];
    let mut terms = decomposition(scaled(traffic, &room), pods, count as usize);
    let whole: f64 = terms.iter().map(|(weight, _)| weight).sum();
    for (weight, _) in &mut terms {
        *weight /= whole;
    }
    // At every step the term that is furthest behind its share; heavier ones first.
    let mut given = vec![0u32; terms.len()];
    for step in 1..=count {
        let behind = |term: usize| terms[term].0 * f64::from(step) - f64::from(given[term]);
        let later = |best: usize, term: usize| match behind(term) > behind(best) {
            true => term,
            false => best,
        };
        let Some(next) = (0..terms.len()).reduce(later) else {
            break;
        };
        given[next] += 1;
        for (from, &to) in terms[next].1.iter().enumerate() {
            counts[from * pods + to] += room.take(from * pods + to, 1);
        }
    }
    room.fill(&mut counts);
    counts
}

/// Traffic between pods that share a switch, scaled so that rows and columns sum to 1.
fn scaled(traffic: &PodTraffic, room: &Room) -> Vec<f64> {
    let pods = room.pods;
    let amounts = traffic.amounts();
    let most = amounts.iter().copied().fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    let entry = |(&amount, &between): (&f64, &u32)| match between {
        0 => 0.0,
        _ => (amount / most).max(FLOOR),
    };
    let mut matrix: Vec<f64> = amounts.iter().zip(&room.between).map(entry).collect();
    for _ in 0..SCALINGS {
        for row in matrix.chunks_mut(pods) {
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|entry| *entry /= sum);
            }
        }
        for column in 0..pods {
            let sum: f64 = matrix.iter().skip(column).step_by(pods).sum();
            if sum > 0.0 {
                let entries = matrix.iter_mut().skip(column).step_by(pods);
                entries.for_each(|entry| *entry /= sum);
            }
        }
    }
    matrix
}

/// Permutations with their weights, at most `most` and one: each time the one with the greatest
/// sum of entries, as often as its least entry allows.
fn decomposition(mut matrix: Vec<f64>, pods: usize, most: usize) -> Vec<(f64, Vec<usize>)> {
    let mut terms = Vec::new();
    let mut left = 1.0;
    while left > REST && terms.len() <= most {
        let value = |(from, to): (usize, usize)| match matrix[from * pods + to] {
            entry if entry > 1e-12 => (entry * SCALE) as i64,
            _ => -(1 << 52),
        };
        let (_, permutation) = kuhn_munkres(&Matrix::from_fn(pods, pods, value));
        let entries = permutation.iter().enumerate();
        let least = entries.map(|(from, to)| matrix[from * pods + to]);
        let weight = least.fold(1.0, f64::min);
        if weight <= 1e-12 {
            break;
        }
        for (from, to) in permutation.iter().enumerate() {
            matrix[from * pods + to] -= weight;
        }
        left -= weight;
        terms.push((weight, permutation));
    }
    terms
}

/// Settings of switches with these numbers of uplinks from pod to pod, switch after switch: the
/// matchings that realise most of what is left. If all pods have as many ports on every switch, all
/// is realised, as a regular bipartite graph is a sum of perfect matchings (Kőnig). Shape: switches ×
/// ports.
pub(crate) fn realised(
    pods: usize,
    mut counts: Vec<u32>,
    switches: &[UplinkSwitch],
) -> Vec<Vec<u32>> {
    let settle = |switch: &UplinkSwitch| {
        let mut setting = vec![0; switch.ingress.len()];
        for (ingress, egress) in rounds(switch) {
            let pair = |(a, b): (usize, usize)| {
                switch.ingress[ingress[a]].index() * pods + switch.egress[egress[b]].index()
            };
            let value = |ports: (usize, usize)| {
                if switch.has_failed(ingress[ports.0], egress[ports.1]) {
                    return switch.failed_weight();
                }
                let within = switch.ingress[ingress[ports.0]] == switch.egress[egress[ports.1]];
                2 * i64::from(counts[pair(ports)] > 0) + i64::from(within)
            };
            // What is asked for counts for more than all links within pods together.
            let size = ingress.len();
            let whole = 2 * size as i64;
            let weigh = |ports| match value(ports) {
                value if value >= 2 => whole + value,
                value => value,
            };
            let (_, matching) = kuhn_munkres(&Matrix::from_fn(size, size, weigh));
            for (a, b) in matching.into_iter().enumerate() {
                let pair = pair((a, b));
                counts[pair] = counts[pair].saturating_sub(1);
                setting[ingress[a]] = egress[b] as u32;
            }
        }
        setting
    };
    switches.iter().map(settle).collect()
}

/// The ports of a switch in rounds of one of each pod; all at once where pods have not as many
/// ports on both sides, or circuits have failed.
fn rounds(switch: &UplinkSwitch) -> Vec<(Vec<usize>, Vec<usize>)> {
    let all = || (0..switch.ingress.len()).collect::<Vec<usize>>();
    if !switch.failed.is_empty() || tally(&switch.ingress) != tally(&switch.egress) {
        return vec![(all(), all())];
    }
    let of_round = |side: &[odonata_units::GroupId]| {
        let mut rounds: Vec<Vec<usize>> = Vec::new();
        for (port, pod) in side.iter().enumerate() {
            let before = side[..port].iter().filter(|other| *other == pod).count();
            if before == rounds.len() {
                rounds.push(Vec::new());
            }
            rounds[before].push(port);
        }
        rounds
    };
    let (ingress, egress) = (of_round(&switch.ingress), of_round(&switch.egress));
    ingress.into_iter().zip(egress).collect()
}
