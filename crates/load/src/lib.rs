//! The load room: who sends what to whom, and when. Knows nothing of topology.
//!
//! A job's load is either an [`OpenLoop`] source per rank (offers traffic
//! whatever the network does) or a [`Program`] per rank (waits for what it
//! receives). A [`Pattern`] says who sends to whom; the motifs in [`motif`] are
//! [`Script`]s that many applications share; a [`matrix::CommunicationMatrix`] holds what a
//! real application sent and is replayed as one. Scripts may contain MPI's
//! [`collective`]s. The skeletons in [`application`] do what real applications do;
//! they are put together from scripts and collectives as [`Phases`].

pub mod application;
pub mod collective;
mod communication;
mod communicator;
mod cursor;
mod error;
mod grid;
mod interpreter;
mod listing;
pub mod matrix;
pub mod motif;
mod open_loop;
mod parallelism;
mod pattern;
mod phases;
mod program;
pub mod replay;
mod script;
mod storage;

pub use communication::{
    Sent, WalkError, Walked, communication, messages_of, offered_communication,
};
pub use communicator::{Communicator, Member, Members};
pub use cursor::Cursor;
pub use error::LoadError;
pub use grid::{Grid, Offset};
pub use interpreter::{Asynchronously, Interpreter, MessageProgress};
pub use listing::{ListedStep, Listing, listing};
pub use open_loop::{Arrivals, OpenLoop, Process, ProcessName};
pub use parallelism::Parallelism;
pub use pattern::{Blocks, HotSpot, Partners, Pattern, Permutation, Rates, Turn};
pub use phases::{Calls, Division, Phase, Phases};
pub use program::{
    Action, CollectiveKind, Context, Idle, MOST_PROCESSORS, Origin, ProcessorId, Program,
    ProgramError, RankProgram, Repetition, RequestId, Step, Totals, Waiting,
};
pub use script::{Handle, Idleness, Need, Operation, Operations, SCRIPT_CONTEXT, Script};
pub use storage::{BesideServers, FileSystem};
