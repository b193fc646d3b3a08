//! A collective of all ranks, again and again.

use std::sync::Arc;

use odonata_units::{Picoseconds, RankId};

use super::steps::Repeat;
use crate::collective::{CollectiveCall, Move};
use crate::communicator::{Communicator, Member};
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::program::Totals;
use crate::script::{Operation, Script};

/// All ranks of a job take part in a collective in each iteration. A rank is done
/// with the iteration when its own part is done, as in MPI.
#[derive(Clone, Debug)]
pub struct Collective {
    communicator: Arc<Communicator>,
    call: Arc<CollectiveCall>,
    repeat: Repeat,
    totals: Option<Totals>,
}

/// Values of [`Cursor::stage`].
mod stage {
    pub const COMPUTE: u32 = 0;
    pub const COLLECTIVE: u32 = 1;
}

/// Moves that are looked at to know the totals beforehand: a fraction of a second.
const MOST_MOVES: u64 = 10_000_000;

impl Collective {
    /// `call`, made for `ranks` ranks, in each iteration.
    ///
    /// # Errors
    /// If there are no ranks, no iterations, or the totals exceed 64 bits.
    pub fn new(ranks: u32, call: CollectiveCall, repeat: Repeat) -> Result<Self, LoadError> {
        if ranks == 0 {
            return Err(LoadError::TooFewRanks {
                load: "a collective",
                ranks,
                least: 1,
            });
        }
        let totals = match sent(&call, ranks) {
            Some((bytes, messages)) => Some(repeat.totals(bytes, messages)?),
            None => repeat.totals(0, 0).map(|_| None)?,
        };
        Ok(Self {
            communicator: Arc::new(Communicator::world(ranks)),
            call: Arc::new(call),
            repeat,
            totals,
        })
    }
}

/// Bytes and messages of a call; `None` if it takes too long to count them.
fn sent(call: &CollectiveCall, ranks: u32) -> Option<(u128, u128)> {
    let (mut bytes, mut messages, mut moves) = (0, 0, 0);
    for rank in 0..ranks {
        for mut cursor in call.lanes() {
            loop {
                match call.next(Member(rank), ranks, &mut cursor) {
                    Move::Send { bytes: size, .. } => {
                        bytes += u128::from(size.0);
                        messages += 1;
                    }
                    Move::Done => break,
                    _ => {}
                }
                moves += 1;
                if moves > MOST_MOVES {
                    return None;
                }
            }
        }
    }
    Some((bytes, messages))
}

impl Script for Collective {
    fn ranks(&self) -> u32 {
        self.communicator.size()
    }

    fn next(&self, _rank: RankId, cursor: &mut Cursor) -> Operation {
        if cursor.iteration >= self.repeat.iterations {
            return Operation::Finish;
        }
        if cursor.stage == stage::COMPUTE {
            cursor.stage = stage::COLLECTIVE;
            if self.repeat.compute > Picoseconds::ZERO {
                return Operation::Compute(self.repeat.compute);
            }
        }
        if cursor.stage == stage::COLLECTIVE {
            cursor.stage += 1;
            return Operation::Collective {
                communicator: self.communicator.clone(),
                call: self.call.clone(),
                handle: None,
            };
        }
        cursor.end_iteration()
    }

    fn totals(&self) -> Option<Totals> {
        self.totals
    }

    fn iterations(&self) -> u32 {
        self.repeat.iterations
    }
}

#[cfg(test)]
mod tests {
    use odonata_units::Bytes;

    use super::*;
    use crate::collective::Algorithms;

    #[test]
    fn an_iteration_computes_takes_part_and_ends() {
        let call = Algorithms::default().barrier(3);
        let repeat = Repeat {
            iterations: 2,
            compute: Picoseconds(5),
        };
        let motif = Collective::new(3, call, repeat).unwrap();
        let mut cursor = Cursor::default();
        for _ in 0..2 {
            let mut next = || motif.next(RankId(1), &mut cursor);
            assert_eq!(next(), Operation::Compute(Picoseconds(5)));
            assert!(matches!(next(), Operation::Collective { .. }));
            assert_eq!(next(), Operation::EndIteration);
        }
        assert_eq!(motif.next(RankId(1), &mut cursor), Operation::Finish);
        assert_eq!(motif.next(RankId(1), &mut cursor), Operation::Finish);
    }

    #[test]
    fn totals_are_what_all_send() {
        let mut algorithms = Algorithms::default();
        algorithms.set("allreduce", "ring").unwrap();
        let call = algorithms.allreduce(Bytes(600), 6);
        let motif = Collective::new(6, call, Repeat::times(3)).unwrap();
        // Each of 6 ranks sends 2 · 5 blocks of 100 bytes, three times.
        let expected = Totals {
            bytes: Bytes(3 * 6 * 10 * 100),
            messages: 3 * 6 * 10,
        };
        assert_eq!(motif.totals(), Some(expected));
        // Twice two of the five rounds; of five others two, as far apart as all are.
        let call = algorithms.allreduce(Bytes(600), 6).shortened(2);
        assert_eq!(call.sent(Member(1), 6).messages, 4);
        algorithms.set("alltoall", "linear").unwrap();
        let call = algorithms.alltoall(Bytes(8), 6).shortened(2);
        let mut cursor = Cursor::default();
        let mut to = Vec::new();
        loop {
            match call.next(Member(0), 6, &mut cursor) {
                Move::Send { to: other, .. } => to.push(other.0),
                Move::Done => break,
                _ => {}
            }
        }
        assert_eq!(to, [1, 3]);
        // More messages than are counted beforehand.
        algorithms.set("alltoall", "linear").unwrap();
        let call = algorithms.alltoall(Bytes(8), 4000);
        let motif = Collective::new(4000, call, Repeat::ONCE).unwrap();
        assert_eq!(motif.totals(), None);
    }
}
