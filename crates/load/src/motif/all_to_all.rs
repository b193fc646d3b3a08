//! All-to-all: every rank sends one message to every other rank.

use odonata_units::{Bytes, RankId};

use super::steps::{Outstanding, Repeat, Stepped, Steps};
use crate::error::LoadError;

/// All-to-all in n − 1 steps: in step c = 1, 2, … rank r sends to r + c and
/// receives from r − c (mod n), as the all-to-all of SST's Ember/Firefly does.
/// In no step do two ranks send to the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllToAllSteps {
    ranks: u32,
    message: Bytes,
}

/// The all-to-all program.
pub type AllToAll = Stepped<AllToAllSteps>;

impl AllToAll {
    /// Every one of `ranks` ranks sends `message` bytes to every other one in
    /// each iteration. A window of 1 waits for each step before the next one
    /// begins, as Ember/Firefly; a window of w waits for w steps together.
    ///
    /// # Errors
    /// With fewer than two ranks, an empty message or window, no iterations, or
    /// totals beyond 64 bits.
    pub fn new(
        ranks: u32,
        message: Bytes,
        outstanding: impl Into<Outstanding>,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        if ranks < 2 {
            return Err(LoadError::TooFewRanks {
                load: "all-to-all",
                ranks,
                least: 2,
            });
        }
        Self::with_window(AllToAllSteps { ranks, message }, outstanding, repeat)
    }
}

impl Steps for AllToAllSteps {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn destination(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        Some(around(rank, u64::from(step) + 1, self.ranks))
    }

    fn source(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        let back = u64::from(self.ranks) - u64::from(step) - 1;
        Some(around(rank, back, self.ranks))
    }

    fn bytes(&self, _: u32) -> Bytes {
        self.message
    }

    fn messages(&self, _: u32) -> u64 {
        u64::from(self.ranks)
    }
}

/// `distance` after `rank` on the ring of ranks; `distance` ≤ `ranks`.
pub(super) fn around(rank: RankId, distance: u64, ranks: u32) -> RankId {
    let to = u64::from(rank.0) + distance;
    let ranks = u64::from(ranks);
    RankId(if to >= ranks { to - ranks } else { to } as u32)
}

#[cfg(test)]
mod tests;
