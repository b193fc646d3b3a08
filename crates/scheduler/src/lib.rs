//! The scheduler room: [job logs](log) and the [batch simulation](batch) that
//! decides when their jobs start, on a machine that counts nodes or [as Slurm does](slurm). Knows nothing of packets; of a machine only how
//! many nodes it has, or where the placement room finds a place on it.

pub mod batch;
pub mod log;
pub mod outages;
mod seconds;
pub mod slurm;

pub use seconds::Seconds;
