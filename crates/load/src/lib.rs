//! The load room: who sends what to whom, and when. Knows nothing of topology.
//!
//! A job's load is either an [`OpenLoop`] source per rank (offers traffic
//! whatever the network does) or a [`Program`] per rank (waits for what it
//! receives).

mod open_loop;
mod pattern;
mod program;

pub use open_loop::{Arrivals, OpenLoop};
pub use pattern::Pattern;
pub use program::{Cursor, Operation, Program};
