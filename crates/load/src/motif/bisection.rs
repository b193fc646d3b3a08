//! Bisection: both halves of a job exchange all they can.

use odonata_declare::Named;
use odonata_units::{Bytes, RankId};
use serde::{Deserialize, Serialize};

use super::steps::{Outstanding, Repeat, Stepped, Steps};
use crate::error::LoadError;

/// Every rank of the first half exchanges a message with every rank of the
/// second half and with none of its own (Kaplan et al. 2017, III.C). The first
/// half is the ranks below ⌊n/2⌋. In which order is a [`BisectionOrder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BisectionSteps {
    ranks: u32,
    message: Bytes,
    order: BisectionOrder,
}

/// In which order a rank takes the ranks of the other half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum BisectionOrder {
    /// Another rank of the other half for each in every step.
    ///
    /// Rank i of the first half and rank (i + c) mod m of the m ranks of the second half
    /// are partners in step c, so that no rank has two partners in a step; with an odd
    /// number of ranks one rank of the second half pauses in each step.
    #[default]
    Rotating,
    /// The lowest first for all.
    ///
    /// All ranks of a half begin with the same rank of the other. So does
    /// the Unstructured motif of SST's Ember with any graph.
    Ascending,
}

/// The bisection program.
pub type Bisection = Stepped<BisectionSteps>;

impl Bisection {
    /// Every rank sends `message` bytes to every rank of the other half in each
    /// iteration, this many partners at a time.
    ///
    /// # Errors
    /// With fewer than two ranks, an empty message or window, no iterations, or
    /// totals beyond 64 bits.
    pub fn new(
        ranks: u32,
        message: Bytes,
        order: BisectionOrder,
        outstanding: impl Into<Outstanding>,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        if ranks < 2 {
            return Err(LoadError::TooFewRanks {
                load: "bisection",
                ranks,
                least: 2,
            });
        }
        let steps = BisectionSteps {
            ranks,
            message,
            order,
        };
        Self::with_window(steps, outstanding, repeat)
    }
}

impl BisectionSteps {
    fn partner(&self, rank: RankId, step: u32) -> Option<RankId> {
        let first = self.ranks / 2;
        let second = self.ranks - first;
        if self.order == BisectionOrder::Ascending {
            return match rank.0 < first {
                true => (step < second).then_some(RankId(first + step)),
                false => (step < first).then_some(RankId(step)),
            };
        }
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

    fn messages(&self, step: u32) -> u64 {
        let first = self.ranks / 2;
        match self.order {
            BisectionOrder::Rotating => 2 * u64::from(first),
            BisectionOrder::Ascending if step < first => u64::from(self.ranks),
            BisectionOrder::Ascending => u64::from(first),
        }
    }
}

#[cfg(test)]
mod tests;
