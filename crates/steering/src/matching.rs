//! Assignments of greatest weight, one for every two links of a group.

use pathfinding::kuhn_munkres::kuhn_munkres;
use pathfinding::matrix::Matrix;

use crate::demand::Demand;
use crate::table::Class;

/// Weights are scaled to this, so that sums of them are far from any limit.
const SCALE: f64 = (1u64 << 40) as f64;
/// Weight of what must not be chosen while there is anything else.
const NEVER: i64 = -(1 << 52);

/// The assignment of every place to another one with the greatest sum of weights, by
/// the Kuhn–Munkres algorithm; `weight` says what an arc is worth, at most 1, or `None`
/// if it must not be chosen. `None` if no assignment does without such arcs.
pub(crate) fn assignment(
    places: usize,
    weight: impl Fn(usize, usize) -> Option<f64>,
) -> Option<Class> {
    let value = |(from, to): (usize, usize)| match weight(from, to) {
        Some(weight) if from != to => (weight * SCALE) as i64,
        _ => NEVER,
    };
    let weights = Matrix::from_fn(places, places, value);
    let (_, to) = kuhn_munkres(&weights);
    let allowed = |(from, &to): (usize, &usize)| from != to && weight(from, to).is_some();
    to.iter()
        .enumerate()
        .all(allowed)
        .then(|| to.into_iter().map(Some).collect())
}

/// `count` assignments. A circuit between two groups that have `c` of them is worth
/// what it would carry if the demand were spread over `c + 1`.
pub(crate) fn classes(demand: &Demand, count: u32) -> Vec<Class> {
    let places = demand.groups();
    let most = demand.most().max(1) as f64;
    let mut circuits = vec![0u32; places * places];
    (0..count)
        .map_while(|_| {
            let class = assignment(places, |from, to| {
                let number = f64::from(circuits[from * places + to]) + 1.0;
                // Pairs without demand share what is left, the ones with fewest first.
                Some(demand.of(from, to) as f64 / most / number + 1e-6 / number)
            })?;
            for (from, to) in class.iter().enumerate() {
                if let Some(to) = *to {
                    circuits[from * places + to] += 1;
                    circuits[to * places + from] += 1;
                }
            }
            Some(class)
        })
        .collect()
}
