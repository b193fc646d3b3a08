//! Feedback to the router that sent a packet, in the 29 bits that travel.

/// Bits of the row of the Q-table.
const ROW_BITS: u32 = 12;
/// Significant bits of the time.
const DIGIT_BITS: u32 = 12;
const EXPONENT_BITS: u32 = 5;

/// Rows that a Q-table may have.
pub(super) const MOST_ROWS: u64 = 1 << ROW_BITS;

/// A time to the destination's group, for a row of the Q-table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Feedback {
    pub row: u32,
    /// In ps; travels with 12 significant bits, rounded down, and up to 8.7 s.
    pub ps: u64,
}

impl Feedback {
    pub(super) fn pack(self) -> u32 {
        let bits = u64::BITS - self.ps.leading_zeros();
        let exponent = bits.saturating_sub(DIGIT_BITS);
        let most = (1 << EXPONENT_BITS) - 1;
        let (exponent, digits) = match exponent > most {
            true => (most, (1 << DIGIT_BITS) - 1),
            false => (exponent, (self.ps >> exponent) as u32),
        };
        (self.row << EXPONENT_BITS | exponent) << DIGIT_BITS | digits
    }

    pub(super) fn unpack(feedback: u32) -> Self {
        let digits = feedback & ((1 << DIGIT_BITS) - 1);
        let exponent = (feedback >> DIGIT_BITS) & ((1 << EXPONENT_BITS) - 1);
        Self {
            row: feedback >> (DIGIT_BITS + EXPONENT_BITS),
            ps: u64::from(digits) << exponent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_travels_is_true_to_a_part_in_two_thousand(
            row in 0u32..4096,
            ps in 0u64..8_000_000_000_000,
        ) {
            let packed = Feedback { row, ps }.pack();
            prop_assert!(packed < 1 << 29);
            let found = Feedback::unpack(packed);
            prop_assert_eq!(found.row, row);
            prop_assert!(found.ps <= ps && ps - found.ps <= ps >> 11);
        }
    }
}
