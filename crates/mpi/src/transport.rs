//! What ranks need of the engine that carries their messages.

use odonata_load::ProgramError;
use odonata_run::{JobPlan, Measurement};
use odonata_units::Bytes;

use crate::matching::{Arrived, Envelope, Posted};
use crate::message::Outgoing;
use crate::rank::Rank;

/// A message, or the request of one, that has met its receive.
pub type Matched = (Envelope, Arrived, Posted);

/// The first rank whose program could not go on: when (ps), which job, which of its ranks,
/// and why.
pub type Failure = (u64, u32, u32, String);

/// An engine that carries the messages of ranks and keeps the time.
///
/// Ranks are called by their number in the engine, unless it says "rank of a job". Times
/// are picoseconds. Everything here is called from the functions of this crate, which are
/// compiled for each engine.
pub trait Transport<'a> {
    /// A rank.
    fn rank(&mut self, rank: u32) -> &mut Rank<'a>;

    /// The plan of a job.
    fn plan(&self, job: u32) -> &'a JobPlan;

    /// What is recorded.
    fn measurement(&self) -> &Measurement;

    /// Number in the engine of the rank of a job; asked for ranks of one node only.
    fn number(&self, job: u32, rank_of_job: u32) -> u32;

    /// Whether a rank sits on the same node as a rank of its job.
    fn on_one_node(&self, rank: u32, rank_of_job: u32) -> bool;

    /// A list that is empty between events, so that none is allocated in them.
    fn matched(&mut self) -> &mut Vec<Matched>;

    /// Calls [`timer`](crate::timer) for a rank at a time, which is later than now.
    fn wake(&mut self, rank: u32, at: u64);

    /// The interface of a rank has a message to send. When it is complete at its receiver,
    /// the engine calls [`receive`](crate::receive) or, within a node,
    /// [`receive_within_node`](crate::receive_within_node); and when its tail has left its
    /// node before that, [`sent`](crate::sent).
    fn carry(&mut self, rank: u32, message: Outgoing, now: u64);

    /// Counts a message of a job, of the program's, with its class of traffic, that its rank wanted
    /// to send at `created`.
    fn count(&mut self, job: u32, message: (Bytes, u8), created: u64);

    /// A rank of a job has ended its iteration of this number.
    fn iteration_ended(&mut self, job: u32, iteration: u32, now: u64);

    /// A rank of a job has ended its program.
    fn finished(&mut self, job: u32, now: u64);

    /// Where the first failure is kept, which ends the run.
    fn failure(&mut self) -> &mut Option<Failure>;

    /// Keeps the earliest failure; of those at one time that of the first rank.
    fn fail(&mut self, rank: u32, error: ProgramError, now: u64) {
        let own = self.rank(rank);
        own.drop_program();
        let failure = (now, own.job, own.rank, error.0);
        let first = self.failure();
        if first.as_ref().is_none_or(|first| failure < *first) {
            *first = Some(failure);
        }
    }
}
