//! Birkhoff–von Neumann: a doubly stochastic matrix is a weighted sum of permutations.

use crate::demand::Demand;
use crate::matching::assignment;
use crate::table::Class;

/// Rounds of scaling rows and columns in turn; each brings the sums closer to 1.
const SCALINGS: usize = 200;
/// Share of the demand that pairs without any are taken to have, so that a doubly
/// stochastic matrix of this form exists.
const FLOOR: f64 = 1e-4;
/// What is left of the matrix when the decomposition ends.
const REST: f64 = 1e-3;

/// `count` permutations: those of the decomposition, as often as their weights say, and
/// each spread evenly.
pub(crate) fn classes(demand: &Demand, count: u32) -> Vec<Class> {
    let places = demand.groups();
    let mut terms = decomposition(doubly_stochastic(demand), places, count as usize);
    let whole: f64 = terms.iter().map(|(weight, _)| weight).sum();
    for (weight, _) in &mut terms {
        *weight /= whole;
    }
    // At every step the term that is furthest behind its share; heavier ones first.
    let mut given = vec![0u32; terms.len()];
    (1..=count)
        .map_while(|step| {
            let behind = |term: usize| terms[term].0 * f64::from(step) - f64::from(given[term]);
            let next = (0..terms.len()).reduce(|best, term| {
                if behind(term) > behind(best) {
                    term
                } else {
                    best
                }
            })?;
            given[next] += 1;
            Some(terms[next].1.clone())
        })
        .collect()
}

/// The demand, scaled by Sinkhorn and Knopp's method so that rows and columns sum to 1.
/// Shape: groups × groups.
fn doubly_stochastic(demand: &Demand) -> Vec<f64> {
    let places = demand.groups();
    let most = demand.most().max(1) as f64;
    let entry = |pair: usize| {
        let (one, other) = (pair / places, pair % places);
        let share = demand.of(one, other) as f64 / most;
        if one == other { 0.0 } else { share.max(FLOOR) }
    };
    let mut matrix: Vec<f64> = (0..places * places).map(entry).collect();
    for _ in 0..SCALINGS {
        for row in matrix.chunks_mut(places) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|entry| *entry /= sum);
        }
        for column in 0..places {
            let sum: f64 = matrix.iter().skip(column).step_by(places).sum();
            matrix
                .iter_mut()
                .skip(column)
                .step_by(places)
                .for_each(|entry| *entry /= sum);
        }
    }
    matrix
}

/// Permutations with their weights, at most `most` and one: each time the one with the
/// greatest sum of entries, as often as its least entry allows.
fn decomposition(mut matrix: Vec<f64>, places: usize, most: usize) -> Vec<(f64, Class)> {
    let mut terms = Vec::new();
    let mut left = 1.0;
    while left > REST && terms.len() <= most {
        let entry = |from: usize, to: usize| matrix[from * places + to];
        let Some(class) = assignment(places, |from, to| {
            let entry = entry(from, to);
            (entry > 1e-12).then_some(entry)
        }) else {
            break;
        };
        let arcs = || {
            class
                .iter()
                .enumerate()
                .filter_map(|(from, to)| Some((from, (*to)?)))
        };
        let weight = arcs().map(|(from, to)| entry(from, to)).fold(1.0, f64::min);
        for (from, to) in arcs() {
            matrix[from * places + to] -= weight;
        }
        left -= weight;
        terms.push((weight, class));
    }
    terms
}
