//! What is asked of a replay.

use super::clock::Compute;
use super::partners::Partners;
use super::region::Region;
use crate::collective::Algorithms;
use crate::interpreter::MessageProgress;

/// How a trace is replayed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What becomes of the time between calls.
    pub compute: Compute,
    /// How collectives are carried out.
    pub algorithms: Algorithms,
    /// When the messages of a trace of MPI go on; schedules and graphs of tasks say that themselves.
    pub progress: MessageProgress,
    /// One rank's DUMPI trace stands for all.
    pub repeat_rank: Option<Partners>,
    /// Number of ranks: with `repeat_rank` that of the job; otherwise the trace must
    /// have as many.
    pub ranks: Option<u32>,
    /// The part of a trace of MPI that is replayed.
    pub region: Region,
}
