//! Typed ids, physical units and random streams shared by every room of Odonata.
//!
//! Ids are thin wrappers over `u32`, so that a node can never be passed where a
//! router is meant. Time is integer picoseconds, data is integer bytes, and a
//! bandwidth knows how long a number of bytes takes, exactly.

mod ids;
mod quantities;
pub mod random;

pub use ids::{GroupId, JobId, NodeId, OcsId, PortId, RankId, RouterId, Sender};
pub use quantities::{Bandwidth, BandwidthError, Bytes, Picoseconds};
