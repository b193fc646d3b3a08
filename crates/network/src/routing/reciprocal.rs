//! Division by a number that is known when a table is built, without a divide
//! instruction in the packet engine's loop.

/// Divides by a fixed number with one multiplication and one shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    divisor: u32,
    magic: u64,
}

const SHIFT: u32 = 40;

impl Reciprocal {
    /// For dividing numbers below `bound` by `divisor`, or `None` where the
    /// method would not be exact.
    ///
    /// With `magic = floor(2^40 / d) + 1`, the quotient `(x * magic) >> 40` is
    /// exact as long as `x * d < 2^40` (the error of `magic * d` against 2^40
    /// is at most `d`), and the product fits 64 bits as long as `x < 2^23`.
    pub(super) fn new(divisor: u32, bound: u64) -> Option<Self> {
        let exact = divisor > 0 && bound <= 1 << 23 && bound * u64::from(divisor) <= 1 << SHIFT;
        exact.then(|| Self {
            divisor,
            magic: (1 << SHIFT) / u64::from(divisor) + 1,
        })
    }

    #[inline(always)]
    pub(super) fn divisor(self) -> u32 {
        self.divisor
    }

    #[inline(always)]
    pub(super) fn quotient(self, x: u32) -> u32 {
        ((u64::from(x) * self.magic) >> SHIFT) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact_over_the_whole_range() {
        // The divisor's multiples and their neighbours are where a rounded
        // reciprocal would go wrong first.
        for divisor in [1, 2, 3, 7, 24, 47, 63, 64, 96, 1000, 4095, 65_536] {
            let bound = 1u64 << 23;
            let r = Reciprocal::new(divisor, bound).unwrap();
            for multiple in 0..(bound as u32 / divisor) {
                let x = multiple * divisor;
                assert_eq!(r.quotient(x), multiple);
                assert_eq!(r.quotient(x + divisor - 1), multiple);
            }
        }
        assert!(Reciprocal::new(0, 10).is_none());
        assert!(Reciprocal::new(3, (1 << 23) + 1).is_none());
        assert!(Reciprocal::new(1 << 20, 1 << 21).is_none());
    }
}
