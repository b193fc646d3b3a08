//! Why a simulation could not be set up or did not end.

use odonata_units::{Bytes, NodeId, Picoseconds};

use crate::outcome::Conservation;
use crate::parameter::Parameter;

/// One packet of a standstill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckPacket {
    /// Human-readable position: router, input port and virtual channel that hold it.
    pub holds: String,
    /// Human-readable output port and virtual channel that it waits for.
    pub waits_for: String,
    /// Source and destination node.
    pub source: NodeId,
    /// Destination node.
    pub destination: NodeId,
}

/// Errors of the packet engine.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A parameter that makes no sense.
    #[error("{parameter}: found {found}; {allowed}")]
    Parameter {
        /// Which one.
        parameter: Parameter,
        /// Its value.
        found: String,
        /// What would be accepted.
        allowed: String,
    },
    /// A buffer that cannot hold one packet can never send.
    #[error(
        "the {class} links' buffer of {buffer} cannot hold a packet of {packet}: \
         enlarge it or take smaller packets"
    )]
    BufferTooSmall {
        /// Link class.
        class: String,
        /// Its buffer per virtual channel.
        buffer: Bytes,
        /// Packet size.
        packet: Bytes,
    },
    /// Packets hold buffers and wait for each other in a circle.
    #[error("deadlock at {at}: {packets} packets cannot move. {}", describe(.cycle))]
    Deadlock {
        /// Simulated time.
        at: Picoseconds,
        /// Packets in the network.
        packets: u64,
        /// Packets that wait for each other in a circle.
        cycle: Vec<StuckPacket>,
    },
    /// Ranks wait for messages that nobody sends.
    #[error(
        "job `{job}` cannot finish: {blocked} of its ranks wait for messages that are never sent \
         (first: rank {rank} waits for {waits_for})"
    )]
    Unmatched {
        /// Job name.
        job: String,
        /// Number of blocked ranks.
        blocked: u64,
        /// One of them.
        rank: u32,
        /// What it waits for.
        waits_for: String,
    },
    /// A run without a duration that does not come to an end in simulated time.
    #[error(
        "job `{job}` is not done after 50 days of simulated time, the most that is simulated: \
         give the run a duration to see its beginning, or let it do less"
    )]
    TooLong {
        /// Job name.
        job: String,
    },
    /// The run asks for memory that is not there, or for more of something than the engine
    /// can name.
    #[error("not enough memory for {what}: {reason}")]
    Memory {
        /// What asked.
        what: &'static str,
        /// How much, and what is the limit.
        reason: String,
    },
    /// What is behind a job turned out to be damaged.
    #[error("job `{job}`, rank {rank}, at {at} of simulated time: {reason}")]
    Program {
        /// Job name.
        job: String,
        /// Rank whose program could not go on.
        rank: u32,
        /// Simulated time.
        at: Picoseconds,
        /// What is wrong.
        reason: String,
    },
    /// Bytes were lost or came from nowhere: an error in the engine.
    #[error(
        "{} bytes were created, but {} delivered, {} not sent and {} in the network: \
         this is an error in Odonata, please report it with the scenario",
        .0.created, .0.delivered, .0.backlog, .0.in_flight
    )]
    NotConserved(Conservation),
    /// A link carried more than it can: an error in the engine.
    #[error(
        "a {class} link sent {bytes} B in {measured}, more than its bandwidth allows: \
         this is an error in Odonata, please report it with the scenario"
    )]
    Overfull {
        /// Class of the link.
        class: String,
        /// Bytes sent in the measured time.
        bytes: u64,
        /// The measured time.
        measured: Picoseconds,
    },
    /// A saved state that is not one of this run.
    #[error("the saved state cannot be taken up: {0}")]
    State(String),
    /// The caller's progress function asked to stop.
    #[error("interrupted at {at} of simulated time")]
    Interrupted {
        /// Simulated time.
        at: Picoseconds,
    },
}

fn describe(cycle: &[StuckPacket]) -> String {
    let mut text = String::from("They wait for each other:");
    for packet in cycle.iter().take(16) {
        text.push_str(&format!(
            "\n  a packet from node {} to node {} holds {} and waits for {}",
            packet.source, packet.destination, packet.holds, packet.waits_for
        ));
    }
    if cycle.len() > 16 {
        text.push_str(&format!("\n  … and {} more", cycle.len() - 16));
    }
    text.push_str("\nUse a routing with more virtual channels; `odonata verify` shows the cycle before a run.");
    text
}
