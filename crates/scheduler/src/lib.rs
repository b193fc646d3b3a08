//! The scheduler room: [job logs](log) and the batch simulation that decides when
//! their jobs start. Knows nothing of packets; of a machine only how many nodes it
//! has, or what the placement room says of it.

pub mod log;
mod seconds;

pub use seconds::Seconds;
