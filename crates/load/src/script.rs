//! Scripts: what each rank of a closed-loop job does, one operation after another.

use std::sync::Arc;

use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::collective::CollectiveCall;
use crate::communicator::Communicator;
use crate::cursor::Cursor;
use crate::parallelism::Parallelism;
use crate::phases::Phases;
use crate::program::{Action, Context, ProgramError, Repetition, Totals};

/// Where the messages of [`Operation::Send`] and [`Operation::Receive`] match.
pub const SCRIPT_CONTEXT: Context = Context::unordered(0);

/// The script's name of something that it has begun and will wait for. May be
/// used again after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Handle(pub u64);

/// How many of several handles a wait needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Need {
    /// All of them (`MPI_Waitall`).
    All,
    /// One of them (`MPI_Waitany`): the first in the list that is complete then
    /// is done with, the others stay.
    Any,
    /// One at least (`MPI_Waitsome`): those that are complete then are done
    /// with, the others stay.
    Some,
}

/// One step of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Computes for a while.
    Compute(Picoseconds),
    /// Starts to send a message, which is outstanding until a
    /// [`Operation::WaitAll`]. Complete when its last byte has left the node.
    Send {
        /// Receiving rank.
        to: RankId,
        /// Size, at least 1 byte.
        bytes: Bytes,
        /// Matched against the receiver's.
        tag: u32,
    },
    /// Posts a receive, which is outstanding until a [`Operation::WaitAll`].
    /// Complete when the message has arrived whole. Messages of one sender and
    /// tag match receives in the order in which they arrive.
    Receive {
        /// Sending rank.
        from: RankId,
        /// Matched against the sender's.
        tag: u32,
    },
    /// Blocks until every outstanding send and receive of this rank is complete;
    /// not those that have a handle.
    WaitAll,
    /// Begins something and goes on (`MPI_Isend`, `MPI_Irecv`, `MPI_Start`, …).
    Begin {
        /// What.
        action: Action,
        /// Its name; none of the rank's handles at that time.
        handle: Handle,
    },
    /// Begins something and blocks until it is complete (`MPI_Send`, `MPI_Recv`, …).
    Do(Action),
    /// Blocks until these are complete. Handles of nothing, or of what is done
    /// with, are passed over; if there are no others, nothing is waited for.
    Wait {
        /// Which.
        handles: Box<[Handle]>,
        /// How many of them.
        need: Need,
    },
    /// Is done with those of these that are complete, and goes on (`MPI_Test…`).
    Test(Box<[Handle]>),
    /// Takes part in a collective. All members call the collectives of a
    /// communicator in the same order.
    Collective {
        /// Its members.
        communicator: Arc<Communicator>,
        /// What.
        call: Arc<CollectiveCall>,
        /// `None`: blocks until its own part is done. Otherwise goes on, as
        /// `MPI_Iallreduce` and the like do.
        handle: Option<Handle>,
    },
    /// Marks the end of an iteration, for the time-per-iteration statistics. Takes no time.
    EndIteration,
    /// The rank is done once nothing is outstanding; no operation follows.
    Finish,
}

impl Cursor {
    /// Goes on to the next iteration, which begins at its first stage.
    pub fn end_iteration(&mut self) -> Operation {
        *self = Self {
            iteration: self.iteration + 1,
            ..Self::default()
        };
        Operation::EndIteration
    }
}

/// A script for every rank of a job, whose operations can be computed from the
/// place in it.
pub trait Script: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// The operation of `rank` at `cursor`, which moves on. After
    /// [`Operation::Finish`] it keeps answering `Finish`.
    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation;

    /// All that the job will send; `None` if that is not known beforehand.
    fn totals(&self) -> Option<Totals>;

    /// Iterations that every rank runs.
    fn iterations(&self) -> u32;

    /// How its iterations resemble each other.
    fn repetition(&self) -> Repetition {
        Repetition::Same
    }

    /// Moves a place so many iterations on.
    fn skip(&self, cursor: &mut Cursor, iterations: u32) {
        cursor.iteration += iterations;
    }

    /// The script as phases, if that is what it is made of: then it can be part
    /// of others.
    fn as_phases(&self) -> Option<&Phases> {
        None
    }

    /// Whether it tells messages apart by [`Self::parallelism`].
    fn has_parallelism(&self) -> bool {
        false
    }

    /// The kind of parallelism of a communicator's collectives, or of the messages that a rank sends
    /// and receives by itself around this place.
    fn parallelism(&self, _cursor: &Cursor, _communicator: Option<u32>) -> Option<Parallelism> {
        None
    }
}

/// Ranks that do nothing: they are done as soon as they start.
#[derive(Clone, Copy, Debug)]
pub struct Idleness {
    ranks: u32,
}

impl Idleness {
    /// A script of this many ranks.
    pub const fn new(ranks: u32) -> Self {
        Self { ranks }
    }
}

impl Script for Idleness {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, _: RankId, _: &mut Cursor) -> Operation {
        Operation::Finish
    }

    fn totals(&self) -> Option<Totals> {
        Some(Totals {
            bytes: Bytes::ZERO,
            messages: 0,
        })
    }

    fn iterations(&self) -> u32 {
        0
    }
}

impl Script for Arc<dyn Script> {
    fn ranks(&self) -> u32 {
        (**self).ranks()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        (**self).next(rank, cursor)
    }

    fn totals(&self) -> Option<Totals> {
        (**self).totals()
    }

    fn iterations(&self) -> u32 {
        (**self).iterations()
    }

    fn repetition(&self) -> Repetition {
        (**self).repetition()
    }

    fn skip(&self, cursor: &mut Cursor, iterations: u32) {
        (**self).skip(cursor, iterations);
    }

    fn as_phases(&self) -> Option<&Phases> {
        (**self).as_phases()
    }

    fn has_parallelism(&self) -> bool {
        (**self).has_parallelism()
    }

    fn parallelism(&self, cursor: &Cursor, communicator: Option<u32>) -> Option<Parallelism> {
        (**self).parallelism(cursor, communicator)
    }
}

/// The operations of one rank, one after the other.
pub trait Operations: Send {
    /// The next one.
    ///
    /// # Errors
    /// If what is behind it turns out to be damaged.
    fn next(&mut self) -> Result<Operation, ProgramError>;

    /// See [`Script::parallelism`].
    fn parallelism(&self, _communicator: Option<u32>) -> Option<Parallelism> {
        None
    }

    /// See [`Origin::class`](crate::Origin::class), of the operation before.
    fn class(&self) -> Option<u8> {
        None
    }

    /// See [`RankProgram::skip`](crate::RankProgram::skip).
    fn skip(&mut self, _iterations: u32) -> bool {
        false
    }

    /// The place in it, for a checkpoint.
    fn save(&self) -> Vec<u8>;

    /// Goes on from a saved place of the same rank.
    ///
    /// # Errors
    /// If that is none.
    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError>;
}
