//! The scheduler room: [job logs](log) and the [batch simulation](batch) that
//! decides when their jobs start. Knows nothing of packets; of a machine only how
//! many nodes it has, or where the placement room finds a place on it.

pub mod batch;
pub mod log;
mod seconds;

pub use seconds::Seconds;
