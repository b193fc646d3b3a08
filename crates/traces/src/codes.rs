//! Files of the CODES network simulator: which jobs run ([`Workload`]), where
//! they sit ([`read_allocation`]), and the wiring of dragonflies
//! ([`Parameters`], [`LinkReader`]).
//!
//! Facts: CODES, `src/network-workloads/model-net-mpi-replay.c` (workloads),
//! `src/util/jobmap-impl/jobmap-list.c` (allocations), the dragonfly models under
//! `src/networks/model-net` and the scripts that write their files (links).

mod jobs;
mod links;
mod parameters;

pub use jobs::{Workload, read_allocation, read_jobs, read_workloads};
pub use links::{IntraLayout, Link, LinkReader};
pub use parameters::{Assignment, Parameters};
