//! The load room: who sends what to whom, and when. Knows nothing of topology.
//!
//! A job's load is either an [`OpenLoop`] source per rank (offers traffic
//! whatever the network does) or a [`Program`] per rank (waits for what it
//! receives). A [`Pattern`] says who sends to whom; the motifs in [`motif`] are
//! programs that many applications share; a [`matrix::CommunicationMatrix`] holds what a
//! real application sent and is replayed as a program.

mod error;
mod grid;
pub mod matrix;
pub mod motif;
mod open_loop;
mod pattern;
mod program;

pub use error::LoadError;
pub use grid::Grid;
pub use open_loop::{Arrivals, OpenLoop, Process};
pub use pattern::{Blocks, HotSpot, Pattern, Permutation};
pub use program::{Cursor, Operation, Program};
