//! Whether iterations and links have means that are known well enough.

use odonata_run::{LinkOutcome, Outcome};

use super::Series;
use super::extrapolation::bytes_of_jobs;
use crate::statistics::{Observation, interval, student_t95};

/// Fewest batches of which means are looked at.
const FEWEST: usize = 8;
/// Most batches that are kept: each holds a snapshot of all that is counted.
pub(super) const MOST_BATCHES: usize = 2 * FEWEST;

/// Snapshots at the borders of batches.
pub(super) struct Batches {
    /// Iterations of the slowest job in a batch.
    pub iterations: u64,
    borders: Vec<(u64, Box<Outcome>)>,
}

/// The mean of a job's iterations.
pub(super) struct Mean {
    pub iterations: u32,
    /// What all of them take, in ps.
    pub time: u64,
}

/// What is precise enough.
pub(super) struct Found {
    /// The batch from which on it is.
    pub from: usize,
    /// The mean of each series.
    pub means: Vec<Mean>,
    /// Largest half-width of the jobs' intervals, as a share of the mean.
    pub time_error: f64,
    /// Largest half-width of the links' intervals, as a share of the largest mean of links of a
    /// class.
    pub link_error: f64,
}

impl Batches {
    pub fn new(iterations: u64, at: u64, outcome: Outcome) -> Self {
        Self {
            iterations,
            borders: vec![(at, Box::new(outcome))],
        }
    }

    pub fn len(&self) -> usize {
        self.borders.len() - 1
    }

    pub fn add(&mut self, at: u64, outcome: Outcome) {
        self.borders.push((at, Box::new(outcome)));
    }

    /// Makes pairs of batches one each.
    pub fn merge(&mut self) {
        let mut number = 0;
        self.borders.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.iterations *= 2;
    }

    /// The first and the last snapshot from batch `from` on.
    pub fn into_ends(mut self, from: usize) -> (Box<Outcome>, Box<Outcome>) {
        let last = self.borders.pop().expect("a border").1;
        (self.borders.swap_remove(from).1, last)
    }

    /// From which batch on all is known to `error`, if from any; what comes before is the rest of
    /// the warm-up.
    pub fn precise(&self, series: &[Series], error: f64) -> Option<Found> {
        let last = self.len().checked_sub(FEWEST)?;
        (0..=last).find_map(|from| self.precise_from(from, series, error))
    }

    fn precise_from(&self, from: usize, series: &[Series], error: f64) -> Option<Found> {
        let begin = self.borders[from].0;
        let mut means = Vec::with_capacity(series.len());
        let mut time_error = 0.0f64;
        for series in series {
            let first = series.ends.partition_point(|&end| end < begin);
            let ends = &series.ends[first..];
            let durations: Vec<f64> = ends
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as f64)
                .collect();
            time_error = time_error.max(steady(&durations).filter(|&width| width <= error)?);
            means.push(Mean {
                iterations: durations.len() as u32,
                time: ends[ends.len() - 1] - ends[0],
            });
        }
        let link_error = self.error_of_links(from);
        (link_error <= error).then_some(Found {
            from,
            means,
            time_error,
            link_error,
        })
    }

    /// Largest half-width of the loads of links for each byte that jobs send, as a share of the load
    /// of the busiest: by this they are extrapolated, not by time, in which they vary more.
    fn error_of_links(&self, from: usize) -> f64 {
        let borders = &self.borders[from..];
        let links = |of: fn(&Outcome) -> &[LinkOutcome]| {
            let count = of(&borders[0].1).len();
            let rates = move |link: usize| {
                borders.windows(2).map(move |pair| {
                    let (before, after) = (&pair[0].1, &pair[1].1);
                    let bytes = of(after)[link].bytes - of(before)[link].bytes;
                    bytes as f64 / sent(before, after)
                })
            };
            let all = (0..count).map(|link| half_width(rates(link)));
            all.fold((0.0f64, 0.0f64), |(busiest, widest), (mean, width)| {
                (busiest.max(mean), widest.max(width))
            })
        };
        let all = [
            links(|outcome| &outcome.ports),
            links(|outcome| &outcome.injection),
        ];
        let shares = all.into_iter().filter(|(busiest, _)| *busiest > 0.0);
        shares
            .map(|(busiest, widest)| widest / busiest)
            .fold(0.0, f64::max)
    }
}

/// Bytes that all jobs sent between two snapshots; a time where they sent none.
fn sent(before: &Outcome, after: &Outcome) -> f64 {
    match bytes_of_jobs(after) - bytes_of_jobs(before) {
        0 => (after.end.0 - before.end.0) as f64,
        bytes => bytes as f64,
    }
}

/// Mean of values, and half the width of its 95 % confidence interval.
fn half_width(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count();
    let mean = values.clone().sum::<f64>() / count as f64;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    let variance = squares / (count - 1) as f64 / count as f64;
    (mean, student_t95(count - 1) * variance.sqrt())
}

/// Half the width of the interval of a series' mean as a share of the mean, if that can be trusted
/// and the series does not drift: its halves differ no more than two means of half as many values do.
fn steady(values: &[f64]) -> Option<f64> {
    let weighed = |values: &[f64]| -> Vec<Observation> {
        let one = |&sum: &f64| Observation { weight: 1.0, sum };
        values.iter().map(one).collect()
    };
    let whole = interval(&weighed(values)).filter(|found| found.uncorrelated)?;
    let (early, late) = values.split_at(values.len() / 2);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let drift = (mean(early) - mean(late)).abs();
    (drift <= 2.0 * whole.half_width).then(|| whole.relative())
}
