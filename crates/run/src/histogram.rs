//! Distributions with bounded relative error in little memory (HDR-style:
//! G. Tene's HdrHistogram keeps the same kind of buckets).

use crate::ratio::Ratio;

/// Counts of `u64` values in buckets whose width is at most 1/128 of their value,
/// so every quantile is exact to 0.4 % (half a bucket). Minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Histogram {
    /// Counts per bucket; grows as values need it.
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Values below `2^LINEAR_BITS` have a bucket each; above, every power of two
/// is cut into `2^(LINEAR_BITS - 1)` buckets.
const LINEAR_BITS: u32 = 8;

impl Histogram {
    /// An empty one that has allocated memory, so that it stays in the calling
    /// thread's part of the heap as it grows.
    pub fn allocated() -> Self {
        Self {
            counts: Vec::with_capacity(64),
            ..Self::default()
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            total: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    let bits = 64 - value.leading_zeros();
    let shift = bits.saturating_sub(LINEAR_BITS);
    ((shift as usize) << (LINEAR_BITS - 1)) + (value >> shift) as usize
}

/// Smallest and largest value of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let half = 1usize << (LINEAR_BITS - 1);
    if bucket < 2 * half {
        return (bucket as u64, bucket as u64);
    }
    let shift = (bucket >> (LINEAR_BITS - 1)) - 1;
    let mantissa = (bucket - (shift << (LINEAR_BITS - 1))) as u64;
    let low = mantissa << shift;
    (low, low + ((1u64 << shift) - 1))
}

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let index = bucket(value);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.total += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Adds the values that came between two states of a histogram, so often.
    pub fn repeat(&mut self, before: &Self, after: &Self, times: Ratio) {
        if after.total == before.total {
            return;
        }
        if after.counts.len() > self.counts.len() {
            self.counts.resize(after.counts.len(), 0);
        }
        let earlier = before.counts.iter().copied().chain(std::iter::repeat(0));
        let counts = after.counts.iter().zip(earlier);
        for (mine, (later, earlier)) in self.counts.iter_mut().zip(counts) {
            let more = times.of(later - earlier);
            *mine += more;
            self.total += more;
        }
        self.sum += times.of_wide(after.sum - before.sum);
    }

    /// Whether it is one that values have made, `most` at most, and not a state from
    /// outside that contradicts itself.
    pub fn is_sound(&self, most: u64) -> bool {
        let Self {
            counts,
            total,
            sum,
            min,
            max,
        } = self;
        let counted: u128 = counts.iter().map(|&count| u128::from(count)).sum();
        let within = *total == 0 || min <= max;
        counts.len() <= bucket(u64::MAX) + 1
            && *total <= most
            && counted == u128::from(*total)
            && *sum <= counted * u128::from(*max)
            && within
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Exact mean; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// Exact minimum; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// Exact maximum; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// Smallest value that at least `fraction` of all values do not exceed, to
    /// within half a bucket; `None` when empty.
    pub fn quantile(&self, fraction: f64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = ((fraction * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let (low, high) = bounds(index);
                return Some((low + (high - low) / 2).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Non-empty buckets as (smallest value, largest value, count), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(index, &count)| {
                let (low, high) = bounds(index);
                (low, high, count)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_lies_within_the_bounds_of_its_bucket() {
        for value in (0..5_000).chain([u64::MAX, u64::MAX / 3, 1 << 40, (1 << 40) - 1]) {
            let (low, high) = bounds(bucket(value));
            assert!(
                (low..=high).contains(&value),
                "{value} not in {low}..={high}"
            );
            assert!((high - low) as f64 <= value as f64 / 128.0 + 0.5);
        }
    }

    #[test]
    fn buckets_are_contiguous() {
        for index in 1..4_000 {
            assert_eq!(bounds(index).0, bounds(index - 1).1 + 1);
        }
    }

    proptest! {
        #[test]
        fn quantiles_match_sorting(mut values in prop::collection::vec(0u64..10_000_000, 1..300), q in 0.0f64..1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let estimate = histogram.quantile(q).unwrap() as f64;
            prop_assert!((estimate - exact).abs() <= exact / 256.0 + 1.0, "{estimate} for {exact}");
        }

        #[test]
        fn merging_equals_recording_together(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let of = |v: &[u64]| { let mut h = Histogram::default(); v.iter().for_each(|&x| h.record(x)); h };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged, of(&both));
        }
    }
}
