//! Bisection: both halves of a job exchange all they can.

use odonata_units::{Bytes, RankId};

use super::steps::{Repeat, Stepped, Steps};
use crate::error::LoadError;

/// Every rank of the first half exchanges a message with every rank of the
/// second half and with none of its own (Kaplan et al. 2017, III.C). The first
/// half is the ranks below ⌊n/2⌋. Rank i of the first half and rank
/// (i + c) mod m of the m ranks of the second half are partners in step c, so
/// that no rank has two partners in a step; with an odd number of ranks one rank
/// of the second half pauses in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BisectionSteps {
    ranks: u32,
    message: Bytes,
}

/// The bisection program.
pub type Bisection = Stepped<BisectionSteps>;

impl Bisection {
    /// Every rank sends `message` bytes to every rank of the other half in each
    /// iteration, `window` partners at a time.
    ///
    /// # Errors
    /// With fewer than two ranks, an empty message or window, no iterations, or
    /// totals beyond 64 bits.
    pub fn new(ranks: u32, message: Bytes, window: u32, repeat: Repeat) -> Result<Self, LoadError> {
        if ranks < 2 {
            return Err(LoadError::TooFewRanks {
                load: "bisection",
                ranks,
                least: 2,
            });
        }
        Self::with_window(BisectionSteps { ranks, message }, window, repeat)
    }
}

impl BisectionSteps {
    fn partner(&self, rank: RankId, step: u32) -> Option<RankId> {
        let first = self.ranks / 2;
        let second = self.ranks - first;
        if rank.0 < first {
            let at = (u64::from(rank.0) + u64::from(step)) % u64::from(second);
            Some(RankId(first + at as u32))
        } else {
            let at = u64::from(rank.0 - first) + u64::from(second) - u64::from(step);
            let at = (at % u64::from(second)) as u32;
            (at < first).then_some(RankId(at))
        }
    }
}

impl Steps for BisectionSteps {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn steps(&self) -> u32 {
        self.ranks.div_ceil(2)
    }

    fn destination(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        self.partner(rank, step)
    }

    fn source(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        self.partner(rank, step)
    }

    fn bytes(&self, _: u32) -> Bytes {
        self.message
    }

    fn messages(&self, _: u32) -> u64 {
        2 * u64::from(self.ranks / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;
    use std::collections::BTreeSet;

    #[test]
    fn every_rank_meets_every_rank_of_the_other_half_once() {
        for ranks in [2u32, 3, 8, 9] {
            let program = Bisection::new(ranks, Bytes(10), 1, Repeat::ONCE).unwrap();
            let steps = program.steps();
            let mut met = BTreeSet::new();
            for step in 0..steps.steps() {
                for rank in (0..ranks).map(RankId) {
                    if let Some(partner) = steps.destination(rank, 0, step) {
                        assert_eq!(steps.destination(partner, 0, step), Some(rank));
                        assert_ne!(rank.0 < ranks / 2, partner.0 < ranks / 2);
                        assert!(met.insert((rank, partner)));
                    }
                }
            }
            let half = u64::from(ranks / 2);
            let pairs = 2 * half * (u64::from(ranks) - half);
            assert_eq!(met.len() as u64, pairs);
            assert_eq!(program.totals().unwrap().messages, pairs);
        }
    }
}
