//! Greedy mapping: the heaviest communicators first, each where it is nearest to
//! those that it talks to (after Hoefler and Snir, ICS 2011, section 5.1).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use odonata_cut::Graph;

use super::network::{Distances, JobNetwork};

/// Node of each rank, as an index among the job's nodes; `room[n]` ranks at most
/// go to node `n`.
///
/// Begins with the rank that sends and receives most. Then always the rank that
/// has most to do with those that have a place gets the free place with the least
/// `Σ bytes · distance` to them; where ranks or places are level, the lowest
/// number.
pub(super) fn greedy(
    application: &Graph,
    network: &JobNetwork,
    distances: &Distances,
    room: &[u32],
) -> Vec<u32> {
    let ranks = application.vertices();
    let places = distances.places();
    let place_of_node: Vec<usize> = network
        .router_of_node()
        .iter()
        .map(|&router| places.of(router))
        .collect();
    let mut nodes_of_place: Vec<Vec<u32>> = vec![vec![]; places.count()];
    for (node, &place) in place_of_node.iter().enumerate() {
        nodes_of_place[place].push(node as u32);
    }
    let mut free = room.to_vec();
    let mut node_of_rank = vec![u32::MAX; ranks];
    // What each rank exchanges with those that have a place.
    let mut bound = vec![0u64; ranks];
    let mut heaviest: Vec<usize> = (0..ranks).collect();
    heaviest.sort_by_key(|&rank| (Reverse(application.degree(rank)), rank));
    let mut next_heaviest = heaviest.into_iter();
    let mut waiting: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
    let mut cost = vec![0f64; places.count()];
    let mut weight_on_node = vec![0u64; room.len()];
    loop {
        let rank = loop {
            match waiting.pop() {
                // Outdated, or placed already.
                Some((weight, Reverse(rank)))
                    if node_of_rank[rank] != u32::MAX || bound[rank] != weight => {}
                Some((_, Reverse(rank))) => break Some(rank),
                None => break next_heaviest.find(|&rank| node_of_rank[rank] == u32::MAX),
            }
        };
        let Some(rank) = rank else {
            return node_of_rank;
        };
        // Σ bytes · distance for every place, and the bytes that a node would keep.
        cost.fill(0.0);
        let mut partners = vec![];
        for (other, weight) in application.edges(rank) {
            let node = node_of_rank[other];
            if node == u32::MAX {
                continue;
            }
            let there = place_of_node[node as usize];
            for (place, cost) in cost.iter_mut().enumerate() {
                *cost += weight as f64 * (distances.between(there, place) + distances.terminals());
            }
            weight_on_node[node as usize] += weight;
            partners.push(node);
        }
        let mut best: Option<(f64, u32)> = None;
        for (place, nodes) in nodes_of_place.iter().enumerate() {
            // Of a router's nodes only those with partners differ from the first free one.
            for &node in nodes.iter().filter(|&&node| free[node as usize] > 0) {
                let kept = weight_on_node[node as usize] as f64 * distances.terminals();
                let cost = cost[place] - kept;
                if best.is_none_or(|best| cost < best.0) {
                    best = Some((cost, node));
                }
            }
        }
        for node in partners {
            weight_on_node[node as usize] = 0;
        }
        // There is room for every rank.
        let Some((_, node)) = best else {
            return node_of_rank;
        };
        free[node as usize] -= 1;
        node_of_rank[rank] = node;
        for (other, weight) in application.edges(rank) {
            if node_of_rank[other] == u32::MAX {
                bound[other] += weight;
                waiting.push((bound[other], Reverse(other)));
            }
        }
    }
}
