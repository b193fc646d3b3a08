//! Programs: what each rank of a closed-loop job does, one operation at a time.

use odonata_units::{Bytes, Picoseconds, RankId};

/// One step of a rank. Sends and receives are non-blocking: they are
/// outstanding until a [`Operation::WaitAll`] completes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Computes for a while.
    Compute(Picoseconds),
    /// Starts to send a message. Complete when its last byte has left the node.
    Send {
        /// Receiving rank.
        to: RankId,
        /// Size, at least 1 byte.
        bytes: Bytes,
        /// Matched against the receiver's.
        tag: u32,
    },
    /// Posts a receive. Complete when the message has arrived whole. Messages of
    /// one sender and tag match receives in the order in which they were sent.
    Receive {
        /// Sending rank.
        from: RankId,
        /// Matched against the sender's.
        tag: u32,
    },
    /// Blocks until every outstanding send and receive of this rank is complete.
    WaitAll,
    /// Marks the end of an iteration, for the time-per-iteration statistics. Takes no time.
    EndIteration,
    /// The rank is done; no operation follows.
    Finish,
}

/// Where a rank is in its program: small, copyable, saved in checkpoints. A new
/// rank starts from `Cursor::default()`. The fields mean what the program wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Completed iterations.
    pub iteration: u32,
    /// Stage within the iteration.
    pub stage: u32,
    /// Position within the stage.
    pub position: u64,
}

/// What every rank of a job does. Operations are generated on demand, so that a
/// large all-to-all needs no memory.
pub trait Program: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// The operation of `rank` at `cursor`, which moves on. After
    /// [`Operation::Finish`] it keeps answering `Finish`.
    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation;

    /// All bytes that the job will send, for progress and conservation checks.
    fn total_bytes(&self) -> Bytes;

    /// All messages that the job will send.
    fn total_messages(&self) -> u64;

    /// Iterations that every rank runs.
    fn iterations(&self) -> u32;
}
