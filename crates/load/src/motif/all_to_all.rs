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
mod tests {
    use super::*;
    use crate::cursor::Cursor;
    use crate::script::{Operation, Script};

    fn operations(program: &AllToAll, rank: u32) -> Vec<Operation> {
        let mut cursor = Cursor::default();
        let all = std::iter::repeat_with(|| program.next(RankId(rank), &mut cursor));
        all.take_while(|operation| *operation != Operation::Finish)
            .collect()
    }

    fn receive(from: u32) -> Operation {
        Operation::Receive {
            from: RankId(from),
            tag: 0,
        }
    }

    fn send(to: u32) -> Operation {
        Operation::Send {
            to: RankId(to),
            bytes: Bytes(100),
            tag: 0,
        }
    }

    #[test]
    fn a_window_of_one_waits_for_every_step() {
        let program = AllToAll::new(4, Bytes(100), 1, Repeat::ONCE).unwrap();
        use Operation::{EndIteration, WaitAll};
        assert_eq!(
            operations(&program, 1),
            [
                receive(0),
                send(2),
                WaitAll,
                receive(3),
                send(3),
                WaitAll,
                receive(2),
                send(0),
                WaitAll,
                EndIteration,
            ]
        );
        assert_eq!(program.totals().unwrap().messages, 12);
        assert_eq!(program.totals().unwrap().bytes, Bytes(1_200));
    }

    #[test]
    fn a_window_of_two_posts_two_steps_at_once() {
        let program = AllToAll::new(4, Bytes(100), 2, Repeat::ONCE).unwrap();
        use Operation::{EndIteration, WaitAll};
        assert_eq!(
            operations(&program, 0),
            [
                receive(3),
                receive(2),
                send(1),
                send(2),
                WaitAll,
                receive(1),
                send(3),
                WaitAll,
                EndIteration,
            ]
        );
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let new = |ranks, bytes, window, iterations| {
            AllToAll::new(ranks, Bytes(bytes), window, Repeat::times(iterations)).unwrap_err()
        };
        assert!(matches!(new(1, 1, 1, 1), LoadError::TooFewRanks { .. }));
        assert_eq!(new(2, 0, 1, 1), LoadError::EmptyMessage);
        assert_eq!(new(2, 1, 0, 1), LoadError::NoWindow);
        assert_eq!(new(2, 1, 1, 0), LoadError::NoIterations);
        assert!(matches!(
            new(1 << 20, 1 << 50, 1, 1),
            LoadError::TooMuch { .. }
        ));
    }
}
