//! Two parts with little between them.

use odonata_units::random::Stream;

use crate::graph::Graph;
use crate::multilevel::propose;
use crate::refine::{Balance, Refinement};

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Starts from what METIS proposes, each with another seed.
    pub proposals: u32,
    /// Starts from a random order of the vertices, besides.
    pub random: u32,
}

impl Effort {
    /// For the many small cuts of a recursion.
    pub const QUICK: Self = Self {
        proposals: 4,
        random: 4,
    };
}

/// Two parts of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    /// Whether each vertex is in the second. Shape: vertices.
    pub second: Vec<bool>,
    /// Weight between them.
    pub cut: u64,
    /// Size of the first.
    pub first_size: u64,
}

/// The best of several attempts at two parts of `graph` with the sizes of
/// `balance` and little weight between them. If all vertices have size 1, any
/// size up to the whole is met; otherwise, sizes may be impossible to meet, and
/// the parts come as near as moving single vertices brings them.
///
/// Ties go to the earlier attempt, so that the result depends on the arguments
/// and the state of `random` alone.
pub fn bisect(graph: &Graph, balance: Balance, effort: Effort, random: &mut Stream) -> Halves {
    let mut search = Refinement::new(graph, balance);
    let mut order: Vec<usize> = (0..graph.vertices()).collect();
    let mut best: Option<(bool, Halves)> = None;
    let attempts = effort.proposals + effort.random;
    for attempt in 0..attempts.max(1) {
        let proposed = match attempt < effort.proposals {
            true => propose(graph, balance, random.below(1 << 31)),
            false => None,
        };
        match proposed {
            Some(second) => {
                search.start_from(&second);
                search.rebalance();
            }
            None => {
                // The first attempt of all takes the vertices as they come.
                if attempt > 0 {
                    random.shuffle(&mut order);
                }
                search.start_in_order(&order);
                search.rebalance();
            }
        }
        if search.is_balanced() {
            search.refine();
        }
        let found = Halves {
            cut: graph.cut(search.second()),
            first_size: search.first_size(),
            second: search.second().to_vec(),
        };
        let balanced = search.is_balanced();
        let better = best
            .as_ref()
            .is_none_or(|(was_balanced, best)| (!balanced, found.cut) < (!was_balanced, best.cut));
        if better {
            best = Some((balanced, found));
        }
    }
    match best {
        Some((_, halves)) => halves,
        // There is at least one attempt.
        None => Halves {
            second: search.second().to_vec(),
            cut: 0,
            first_size: search.first_size(),
        },
    }
}

#[cfg(test)]
mod tests;
