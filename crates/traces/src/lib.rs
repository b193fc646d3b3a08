//! Readers of what real applications left behind: MPI traces, schedules, packet
//! traces, connection lists. Knows nothing of networks or simulation.
//!
//! Every reader names file, place and reason when something is wrong, takes no
//! more memory than the file justifies, and reports a damaged file rather than
//! reading it wrongly, as far as the format lets it tell. `docs/traces.md` says
//! for each format what is read and where its description is from.

mod bytes;
pub mod chakra;
pub mod codes;
pub mod dumpi;
mod error;
pub mod goal;
pub mod htsim;
pub mod liballprof;
mod lines;
pub mod otf2;
pub mod packets;
mod paths;
mod reopened;
pub mod tracer;

pub use error::{Position, TraceError};
pub use reopened::ReopenedFile;
