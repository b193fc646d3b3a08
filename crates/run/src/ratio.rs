//! Exact fractions of counts.

/// A number of times, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// `numerator / denominator`; nothing of nothing.
    pub fn new(numerator: u128, denominator: u128) -> Self {
        Self {
            numerator,
            denominator: denominator.max(1),
        }
    }

    /// So much of a count, to the nearest whole number.
    pub fn of(self, count: u64) -> u64 {
        self.of_wide(u128::from(count)) as u64
    }

    /// The same of a sum.
    pub fn of_wide(self, count: u128) -> u128 {
        let (whole, rest) = (count / self.denominator, count % self.denominator);
        let of_rest = match rest.checked_mul(self.numerator) {
            Some(product) => (product + self.denominator / 2) / self.denominator,
            // Both are large: nobody misses the last digits.
            None => (rest as f64 * (self.numerator as f64 / self.denominator as f64)) as u128,
        };
        whole * self.numerator + of_rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_exact_where_it_divides_and_rounds_where_it_does_not() {
        assert_eq!(Ratio::new(3, 2).of(4), 6);
        assert_eq!(Ratio::new(3, 2).of(5), 8);
        assert_eq!(Ratio::new(7, 3).of(u64::MAX / 7), 6_148_914_691_236_517_205);
        assert_eq!(Ratio::new(0, 0).of(9), 0);
        // 2^100 thirds of 3 · 2^20, beyond 64 bits.
        assert_eq!(Ratio::new(1 << 100, 3).of_wide(3 << 20), 1 << 120);
    }
}
