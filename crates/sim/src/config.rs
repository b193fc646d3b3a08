//! What the packet engine is told: the model's parameters, the jobs, and what to measure.

use std::sync::Arc;

use odonata_load::{OpenLoop, Program};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds};

/// How a packet passes through a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// Virtual cut-through: a packet may leave as soon as its first `flit` bytes
    /// have arrived (all of it if it is smaller), provided that the next buffer
    /// has room for the whole packet.
    CutThrough {
        /// Bytes that must have arrived before the packet is routed.
        flit: Bytes,
    },
    /// A packet is routed once all of it has arrived.
    StoreAndForward,
}

/// The switch inside a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossbar {
    /// Never a bottleneck: input buffers are organised as virtual output queues
    /// and an input may feed several outputs at once.
    Ideal,
    /// Each input and each output of the crossbar passes one packet at a time.
    /// Input buffers are one FIFO per virtual channel (head-of-line blocking),
    /// outputs have a buffer.
    Bounded {
        /// Rate of a crossbar port as a multiple of the fastest link of the
        /// router, at least 1.
        speedup: f64,
        /// Output buffer per virtual channel; must hold a packet.
        output_buffer: Bytes,
    },
}

/// Which of several waiting packets an output takes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// Virtual channels (and, with a bounded crossbar, inputs) take turns.
    RoundRobin,
    /// The packet whose message was created first; of equally old ones that with
    /// the lowest number among the packets of its node, so that long messages
    /// created together share a link.
    OldestFirst,
}

/// When a packet takes room in the buffer at the other end of its next link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditUse {
    /// When it starts over the link.
    Link,
    /// When it starts through the bounded crossbar, so that output buffers only
    /// hold packets that can leave.
    Crossbar,
}

/// The router model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RouterModel {
    /// From the head's arrival at an input to its earliest departure.
    pub delay: Picoseconds,
    /// Extra delay of a credit, besides the latency of the link it returns on.
    pub credit_delay: Picoseconds,
    /// When packets take credits.
    pub credit_use: CreditUse,
    /// How packets pass through.
    pub switching: Switching,
    /// The switch inside.
    pub crossbar: Crossbar,
    /// Who goes first.
    pub arbitration: Arbitration,
}

/// In which order a node's network interface sends the messages that its ranks
/// have handed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectionOrder {
    /// One packet of each message in turn.
    RoundRobin,
    /// Message after message.
    Fifo,
}

/// The network interface of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NicModel {
    /// Order of sending.
    pub injection: InjectionOrder,
    /// Latency of a message between two ranks of the same node.
    pub loopback_latency: Picoseconds,
    /// Bandwidth between two ranks of the same node.
    pub loopback_bandwidth: Bandwidth,
}

/// Parameters of the packet engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// Largest packet; messages are cut into packets of this size and a rest.
    pub packet: Bytes,
    /// Routers.
    pub router: RouterModel,
    /// Network interfaces.
    pub nic: NicModel,
    /// Seed of every random stream.
    pub seed: u64,
    /// Threads that simulate; results do not depend on it.
    pub threads: usize,
}

/// What the ranks of a job do.
#[derive(Clone)]
pub enum JobLoad {
    /// Offer traffic at a rate until the simulation ends (or for `messages` each).
    Open(OpenLoop),
    /// Run a program to its end.
    Closed(Arc<dyn Program>),
}

/// One job: a load on nodes.
#[derive(Clone)]
pub struct JobPlan {
    /// Name in tables and messages.
    pub name: String,
    /// When its ranks start.
    pub start: Picoseconds,
    /// Node of each rank. Shape: ranks.
    pub node_of_rank: Vec<NodeId>,
    /// What they do.
    pub load: JobLoad,
}

/// Which messages get a row in the `messages` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRecords {
    /// None; distributions are kept all the same.
    None,
    /// Every `n`-th message of each source node; 1 records all.
    EveryNth(u32),
}

/// What to measure and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Statistics count what is created (latencies) or happens (throughput,
    /// link load) from here on.
    pub warmup: Picoseconds,
    /// Simulated time at which the run stops; `None` runs until every
    /// closed-loop job has finished (an error if there is none).
    pub duration: Option<Picoseconds>,
    /// Width of a timeline bin; `None` chooses: the bins double in width
    /// whenever there are more than 1,024.
    pub timeline_bin: Option<Picoseconds>,
    /// Rows of the `messages` table.
    pub messages: MessageRecords,
}
