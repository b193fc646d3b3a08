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
    /// iteration, so many partners at a time.
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
mod tests {
    use super::*;
    use crate::cursor::Cursor;
    use crate::motif::Receives;
    use crate::program::Action;
    use crate::script::{Operation, SCRIPT_CONTEXT, Script};
    use std::collections::BTreeSet;

    #[test]
    fn every_rank_meets_every_rank_of_the_other_half_once() {
        let orders = [BisectionOrder::Rotating, BisectionOrder::Ascending];
        for (ranks, order) in [2u32, 3, 8, 9]
            .into_iter()
            .flat_map(|n| orders.map(|o| (n, o)))
        {
            let program = Bisection::new(ranks, Bytes(10), order, 1, Repeat::ONCE).unwrap();
            let steps = program.steps();
            let mut met = BTreeSet::new();
            for step in 0..steps.steps() {
                for rank in (0..ranks).map(RankId) {
                    if let Some(partner) = steps.destination(rank, 0, step) {
                        assert_eq!(steps.source(rank, 0, step), Some(partner));
                        if order == BisectionOrder::Rotating {
                            assert_eq!(steps.destination(partner, 0, step), Some(rank));
                        }
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

    /// As Ember's Unstructured motif with the graph of a bisection: for each partner in
    /// ascending order a receive and a blocking send, then all receives.
    #[test]
    fn embers_order_and_blocking() {
        let outstanding = Outstanding {
            window: u32::MAX,
            blocking: true,
            receives: Receives::InTurn,
        };
        let order = BisectionOrder::Ascending;
        let program = Bisection::new(5, Bytes(10), order, outstanding, Repeat::ONCE).unwrap();
        let operations = |rank| {
            let mut cursor = Cursor::default();
            let all = std::iter::repeat_with(|| program.next(RankId(rank), &mut cursor));
            all.take_while(|operation| *operation != Operation::Finish)
                .collect::<Vec<_>>()
        };
        let swap = |rank| {
            [
                Operation::Receive {
                    from: RankId(rank),
                    tag: 0,
                },
                Operation::Do(Action::Send {
                    to: RankId(rank),
                    bytes: Bytes(10),
                    context: SCRIPT_CONTEXT,
                    tag: 0,
                }),
            ]
        };
        let ends = [Operation::WaitAll, Operation::EndIteration];
        let first: Vec<_> = [2, 3, 4]
            .into_iter()
            .flat_map(swap)
            .chain(ends.clone())
            .collect();
        assert_eq!(operations(0), first);
        assert_eq!(operations(1), first);
        let second: Vec<_> = [0, 1].into_iter().flat_map(swap).chain(ends).collect();
        assert_eq!(operations(4), second);
    }
}
