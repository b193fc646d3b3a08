//! What ranks of MPI do, whichever engine carries their messages: how messages find their
//! receives, how programs keep processors busy, and which times and further messages follow
//! from an action or an arrival. An engine is a [`Transport`].
//!
//! The times follow LogGPS (Ino, Fujimoto, Hagihara 2001): overheads `o` and `O`
//! keep a processor busy, `g` keeps messages of an interface apart, messages up
//! to `S` bytes are sent at once (eager), longer ones ask first (rendezvous).
//! Latency, bandwidth and contention are the network's.

pub mod actions;
mod kind;
pub mod matching;
mod message;
mod noise;
mod programs;
mod protocol;
mod rank;
mod server;
mod transport;

pub use actions::{Begun, Sending, Task};
pub use kind::MessageKind;
pub use matching::{Arrived, Envelope, Matching, Posted, Wanted};
pub use message::{Incoming, NO_REQUEST, Outgoing};
pub use noise::NoiseRecord;
pub use programs::{advance, timer};
pub use protocol::{receive, receive_within_node, sent};
pub use rank::{Processor, Rank, RankRecord, Shares, Stage, unmatched};
pub use server::{Reply, ServerRecord};
pub use transport::{Failure, Matched, Transport};
