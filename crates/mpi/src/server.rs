//! What changes of a rank that is a server of a file system.

use std::collections::VecDeque;

use odonata_run::{MediumState, ServerCounts};
use serde::{Deserialize, Serialize};

/// What changes of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its medium, if this rank keeps the state of that for all jobs.
    pub medium: MediumState,
    /// What it answers when, in that order.
    pub replies: VecDeque<(u64, Reply)>,
    /// What it has done for its job.
    pub counts: ServerCounts,
}

/// What a server does when its medium is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The rank that wrote or reads.
    pub to: u32,
    /// Its request.
    pub handle: u32,
    /// Number of the class of traffic of what it wrote or reads.
    pub class: u8,
    /// Bytes that it reads; 0 if it wrote.
    pub read_bytes: u64,
}
