//! What METIS proposes.
//!
//! METIS keeps the state of its random numbers in one place of the process, so
//! that only one thread at a time asks it; each question begins with a seed.

use std::sync::{Mutex, PoisonError};

use metis::Idx;
use metis::option::Seed;

use crate::graph::Graph;
use crate::refine::Balance;

/// Held by the thread that asks METIS.
static METIS: Mutex<()> = Mutex::new(());

/// Most weight of all edges together that METIS is given: it adds weights of
/// edges up in 32 bits, each edge from both its ends.
const MOST_WEIGHT: u128 = 1 << 29;

/// Two parts of about the sizes asked for, whether each vertex is in the second.
/// `None` if METIS has no answer: the graph is too large for it, or too small to
/// be cut.
pub(crate) fn propose(graph: &Graph, balance: Balance, seed: u32) -> Option<Vec<bool>> {
    let vertices = graph.vertices();
    // METIS counts vertices and entries in 32 bits, and adds sizes up there.
    let fits = graph.entries() < Idx::MAX as usize && graph.total_size() < Idx::MAX as u64;
    if vertices < 2 || !fits {
        return None;
    }
    let share = balance.share_of_first(graph);
    if share <= 0.0 || share >= 1.0 {
        return None;
    }
    let weights = (0..vertices).flat_map(|vertex| graph.edges(vertex));
    let total: u128 = weights.map(|(_, weight)| u128::from(weight)).sum();
    let scale = total.div_ceil(MOST_WEIGHT).max(1);
    let mut first: Vec<Idx> = vec![0];
    let mut neighbour: Vec<Idx> = Vec::with_capacity(graph.entries());
    let mut weight: Vec<Idx> = Vec::with_capacity(graph.entries());
    for vertex in 0..vertices {
        for (other, found) in graph.edges(vertex) {
            neighbour.push(other as Idx);
            weight.push((u128::from(found) / scale).max(1) as Idx);
        }
        first.push(neighbour.len() as Idx);
    }
    let size: Vec<Idx> = graph.sizes().iter().map(|&size| size as Idx).collect();
    let shares = [share, 1.0 - share];
    let mut part: Vec<Idx> = vec![0; vertices];
    let held = METIS.lock().unwrap_or_else(PoisonError::into_inner);
    metis::Graph::new(1, 2, &first, &neighbour)
        .ok()?
        .set_vwgt(&size)
        .set_adjwgt(&weight)
        .set_tpwgts(&shares)
        .set_option(Seed((seed & 0x7FFF_FFFF) as Idx))
        .part_recursive(&mut part)
        .ok()?;
    drop(held);
    Some(part.into_iter().map(|part| part == 1).collect())
}
