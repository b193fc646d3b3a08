//! Confidence intervals by batch means.

use super::student::student_t95;

/// Most batches that an interval is computed from. More would gain little: with
/// 31 degrees of freedom Student's t is within 4 % of the normal distribution's.
const MOST: usize = 32;
/// Fewest batches.
const FEWEST: usize = 8;
/// Batches pass as uncorrelated if their correlation is below this many of the
/// standard deviations, `1/√batches`, that it has for independent ones: the
/// one-sided 90 % point of the normal distribution.
const INSIGNIFICANT: f64 = 1.281_551_565_544_6;
/// The correction for what correlation is left assumes no more than this.
const LARGEST_CORRELATION: f64 = 0.8;

/// A part of what is averaged, such as the messages of one slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// How much it counts, such as the number of messages.
    pub weight: f64,
    /// Sum of the values, such as the messages' latencies.
    pub sum: f64,
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean over all observations.
    pub mean: f64,
    /// Half the width of the interval; NaN for fewer than two batches.
    pub half_width: f64,
    /// Batches that it was computed from.
    pub batches: usize,
    /// Observations per batch.
    pub batch: usize,
    /// Correlation of successive batches.
    pub correlation: f64,
    /// Whether the batches pass as uncorrelated. If not, the series is too short
    /// for its correlation, and the interval may be too narrow.
    pub uncorrelated: bool,
}

impl Interval {
    /// Half the width as a share of the mean; NaN where there is none.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.half_width / self.mean.abs()
    }
}

/// Mean of a steady series, `Σ sum / Σ weight`, and its 95 % confidence interval
/// by batch means; `None` without weight.
///
/// Successive observations are merged into batches, and batches into twice as
/// large ones, until successive batches pass as uncorrelated (lag-1
/// autocorrelation, one-sided test at 10 %) and are at most 32; fewer than 8 are
/// not tried. As batches weigh differently, the variance is that of a ratio of
/// sums (Cochran 1977, 6.3): of the batches' residuals `sum - mean · weight`.
/// What correlation r of successive batches is left widens the variance by
/// `(1 + r) / (1 - r)`, as in the batch-means procedure Skart (Tafazzoli and
/// Wilson 2011); r is corrected for its bias of `-1/batches`.
#[must_use]
pub fn interval(observations: &[Observation]) -> Option<Interval> {
    let weight: f64 = observations.iter().map(|o| o.weight).sum();
    if weight <= 0.0 {
        return None;
    }
    let mean = observations.iter().map(|o| o.sum).sum::<f64>() / weight;
    let mut batch = 1;
    loop {
        let found = batched(observations, batch, mean);
        let enough = found.uncorrelated && found.batches <= MOST;
        if enough || observations.len() / (2 * batch) < FEWEST {
            return Some(found);
        }
        batch *= 2;
    }
}

/// The interval from batches of `batch` observations. If they do not divide the
/// series, its first observations, the most likely to hold a rest of the warm-up,
/// are in none.
fn batched(observations: &[Observation], batch: usize, mean: f64) -> Interval {
    let batches = observations.len() / batch;
    let first = observations.len() - batches * batch;
    let mut residuals = Vec::with_capacity(batches);
    let mut weight = 0.0;
    for group in observations[first..].chunks_exact(batch) {
        let group_weight: f64 = group.iter().map(|o| o.weight).sum();
        let sum: f64 = group.iter().map(|o| o.sum).sum();
        residuals.push(sum - mean * group_weight);
        weight += group_weight;
    }
    let count = batches as f64;
    let centre = residuals.iter().sum::<f64>() / count;
    let squares: f64 = residuals.iter().map(|r| (r - centre) * (r - centre)).sum();
    let products: f64 = residuals
        .windows(2)
        .map(|pair| (pair[0] - centre) * (pair[1] - centre))
        .sum();
    let correlation = if squares > 0.0 {
        products / squares
    } else {
        0.0
    };
    let left = (correlation + 1.0 / count).clamp(0.0, LARGEST_CORRELATION);
    let variance = squares * count / (count - 1.0) * (1.0 + left) / (1.0 - left);
    Interval {
        mean,
        half_width: if batches < 2 {
            f64::NAN
        } else {
            student_t95(batches - 1) * variance.sqrt() / weight
        },
        batches,
        batch,
        correlation,
        uncorrelated: batches >= FEWEST && correlation <= INSIGNIFICANT / count.sqrt(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use odonata_units::random::{Purpose, Stream, StreamKey};

    /// A stream of random numbers of its own for every seed.
    pub fn stream(seed: u64) -> Stream {
        StreamKey::new(1, Purpose::Arrival).stream(seed)
    }

    /// Standard normal, by the sum of twelve uniforms.
    pub fn normal(stream: &mut Stream) -> f64 {
        (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0
    }

    fn exponential(stream: &mut Stream) -> f64 {
        -stream.unit().ln()
    }

    /// AR(1) around 10: `x' = φ x + e`, begun in its steady state.
    fn autoregressive(phi: f64, length: usize, seed: u64) -> Vec<Observation> {
        let mut stream = stream(seed);
        let mut x = normal(&mut stream) / (1.0 - phi * phi).sqrt();
        (0..length)
            .map(|_| {
                x = phi * x + normal(&mut stream);
                Observation {
                    weight: 1.0,
                    sum: 10.0 + x,
                }
            })
            .collect()
    }

    /// M/M/1 with mean service time 1: per slice of time the departures and their
    /// times in the system, whose mean is `1 / (1 - ρ)`. Begun in its steady state:
    /// the first customer's wait is 0 with probability 1 - ρ, else exponential.
    fn single_server(load: f64, slices: usize, per_slice: f64, seed: u64) -> Vec<Observation> {
        let mut stream = stream(seed);
        let mut observations = vec![Observation::default(); slices];
        let slice = per_slice / load;
        let mut wait = if stream.unit() < load {
            exponential(&mut stream) / (1.0 - load)
        } else {
            0.0
        };
        let mut arrival = 0.0;
        while arrival < slices as f64 * slice {
            let in_system = wait + exponential(&mut stream);
            let at = ((arrival + in_system) / slice) as usize;
            if let Some(observation) = observations.get_mut(at) {
                observation.weight += 1.0;
                observation.sum += in_system;
            }
            let gap = exponential(&mut stream) / load;
            arrival += gap;
            wait = (in_system - gap).max(0.0);
        }
        observations
    }

    /// How many of 400 intervals hold the exact mean.
    fn covered(exact: f64, series: impl Fn(u64) -> Vec<Observation>) -> usize {
        let holds = |seed: &u64| {
            let found = interval(&series(*seed)).unwrap();
            (found.mean - exact).abs() <= found.half_width
        };
        (0..400).filter(holds).count()
    }

    /// 380 ± 4.4 of 400 intervals hold the mean if each does with probability
    /// 95 %: by the binomial law 366 to 393 in 99.8 % of all cases.
    #[test]
    fn intervals_hold_the_mean_in_95_per_cent_of_all_cases() {
        for phi in [0.0, 0.5, 0.9] {
            let found = covered(10.0, |seed| autoregressive(phi, 800, seed));
            assert!((366..=393).contains(&found), "AR(1), {phi}: {found}");
        }
        // With few, skewed data a little less is reached, which all batch-means
        // procedures show (Law and Carson 1979); not less than 90 % (346 to 374).
        for (load, per_slice, low, high) in [
            (0.5, 20.0, 366, 393),
            (0.8, 100.0, 366, 393),
            (0.8, 20.0, 354, 386),
            (0.9, 20.0, 342, 386),
        ] {
            let found = covered(1.0 / (1.0 - load), |seed| {
                single_server(load, 800, per_slice, seed)
            });
            assert!(
                (low..=high).contains(&found),
                "M/M/1, load {load}, {per_slice} per slice: {found}"
            );
        }
    }

    /// A series that is shorter than its correlation says so: AR(1) with φ = 0.99
    /// remembers (1 + φ) / (1 - φ) = 199 values, so that 400 are as good as two.
    #[test]
    fn a_series_that_is_too_short_does_not_pass_as_uncorrelated() {
        let passes = |seed: &u64| {
            let found = interval(&autoregressive(0.99, 400, *seed)).unwrap();
            found.uncorrelated && found.relative() < 0.05
        };
        // Its deviation is 1 / √(1 - φ²) = 7.1, so a mean of two is no better than
        // ± 5: an interval of ± 0.5 would be a lucky accident.
        assert!((0..400).filter(passes).count() < 8);
    }

    #[test]
    fn a_constant_is_certain_and_nothing_has_no_mean() {
        let same = [Observation {
            weight: 2.0,
            sum: 6.0,
        }; 100];
        let found = interval(&same).unwrap();
        assert_eq!((found.mean, found.half_width), (3.0, 0.0));
        assert!(found.uncorrelated);
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[Observation::default(); 50]), None);
        let short = interval(&same[..3]).unwrap();
        assert!(!short.uncorrelated, "three values are no basis");
        assert!(interval(&same[..1]).unwrap().half_width.is_nan());
    }
}
