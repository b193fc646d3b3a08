//! Where a warm-up ends.

/// Values that are averaged before the rule is applied.
const GROUP: usize = 5;
/// Fewest averages that the rule is applied to.
const FEWEST: usize = 10;

/// How many of the first values belong to the warm-up, by MSER-5; `None` if
/// the series is too short to tell.
///
/// The rule (White 1997; with groups of five White, Cobb and Spratt 2000) averages
/// groups of five values and leaves out as many averages as minimise the marginal
/// standard error of those that remain,
///
/// `Σ (y_i - mean)² / (n - d)²` over the averages `i > d`,
///
/// where leaving out transients lowers the numerator and leaving out good data
/// the denominator. A minimum in the second half means that there is no steady
/// state yet, or too little of it; for the same reason the last few averages,
/// where a sum of few squares is small by chance, are not considered.
#[must_use]
pub fn mser5(values: &[f64]) -> Option<usize> {
    let groups: Vec<f64> = values
        .chunks_exact(GROUP)
        .map(|group| group.iter().sum::<f64>() / GROUP as f64)
        .collect();
    if groups.len() < FEWEST {
        return None;
    }
    let mut best = (f64::INFINITY, 0);
    // From the end, by Welford's recurrence for mean and sum of squares.
    let (mut mean, mut squares) = (0.0, 0.0);
    for (index, &value) in groups.iter().enumerate().rev() {
        let count = (groups.len() - index) as f64;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        let marginal = squares / (count * count);
        // Of equal ones the first, which keeps most.
        if count >= FEWEST as f64 / 2.0 && marginal <= best.0 {
            best = (marginal, index);
        }
    }
    (best.1 <= groups.len() / 2).then_some(best.1 * GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::batches::tests::{normal, stream};

    /// Noise of deviation 1 around what a transient leaves of 10.
    fn series(length: usize, transient: impl Fn(usize) -> f64, seed: u64) -> Vec<f64> {
        let mut stream = stream(seed);
        (0..length)
            .map(|i| 10.0 + transient(i) + normal(&mut stream))
            .collect()
    }

    /// Nothing of a step of 8 deviations is kept, and mostly little more is cut:
    /// in some cases the first good values look bad by chance.
    #[test]
    fn a_step_is_cut_where_it_ends() {
        for step in [50, 200, 300] {
            let high = |i| if i < step { 8.0 } else { 0.0 };
            let mut cuts: Vec<usize> = (0..51)
                .map(|seed| mser5(&series(800, high, seed)).unwrap())
                .collect();
            cuts.sort_unstable();
            assert!(cuts[0] >= step, "{cuts:?}");
            assert!(cuts[25] <= step + 40, "{cuts:?}");
        }
    }

    /// An exponential transient of height 20 has fallen below the noise of the
    /// averages (1/√5) after ln(20 √5) = 3.8 time constants; what is left there
    /// biases the mean by less than 2 % of the noise of one value.
    #[test]
    fn an_exponential_transient_is_cut_when_it_is_lost_in_the_noise() {
        for seed in 0..50 {
            let values = series(1_000, |i| 20.0 * (-(i as f64) / 40.0).exp(), seed);
            let cut = mser5(&values).unwrap();
            assert!((80..=300).contains(&cut), "{seed}: {cut}");
            let rest = &values[cut..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            assert!((mean - 10.0).abs() < 0.25, "{seed}: {mean}");
        }
    }

    /// A steady series loses little: the median cut is a few per cent.
    #[test]
    fn a_steady_series_is_kept() {
        let mut cuts: Vec<usize> = (0..101)
            .map(|seed| mser5(&series(1_000, |_| 0.0, seed)).unwrap_or(1_000))
            .collect();
        cuts.sort_unstable();
        assert!(cuts[50] <= 50, "{cuts:?}");
        assert!(cuts[80] <= 400, "{cuts:?}");
    }

    /// What keeps growing has no steady state.
    #[test]
    fn growth_has_no_end_of_warm_up() {
        for seed in 0..50 {
            assert_eq!(mser5(&series(800, |i| i as f64 / 10.0, seed)), None);
        }
        assert_eq!(mser5(&[1.0; 49]), None, "too short");
        assert_eq!(mser5(&[1.0; 50]), Some(0));
    }
}
