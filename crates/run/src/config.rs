//! Input of the packet engine: the model's parameters, the jobs, and what to measure.

use std::sync::Arc;

use odonata_declare::Named;
use odonata_load::{OpenLoop, Program};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds, RouterId, Sender};
use serde::{Deserialize, Serialize};

use crate::classes::{JobClasses, TrafficClass};
use crate::congestion::CongestionControl;
use crate::noise::Noise;
use crate::storage::Servers;

/// How a packet passes through a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(kinds = SwitchingName)]
pub enum Switching {
    /// A packet may leave before all of it has arrived.
    ///
    /// Virtual cut-through: as soon as its first `flit` bytes
    /// have arrived (all of it if it is smaller), provided that the next buffer
    /// has room for the whole packet.
    #[default]
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
    /// and an input may feed several outputs at once. With [`CreditUse::Crossbar`] a
    /// packet passes to its output, in no time, as soon as the next buffer has room
    /// for it, and so leaves its input buffer: output queues as long as the buffers
    /// at the other ends of the links.
    Ideal,
    /// Each input and each output of the crossbar passes one packet at a time.
    /// Input buffers are one FIFO per virtual channel (head-of-line blocking),
    /// outputs have a buffer.
    Bounded {
        /// Rate of each of the crossbar's ports.
        rate: CrossbarRate,
        /// Output buffer per virtual channel; must hold a packet.
        output_buffer: Bytes,
    },
}

/// How fast the ports of a router's crossbar are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CrossbarRate {
    /// A multiple of the fastest link of the router, at least 1.
    Speedup(f64),
    /// At least that of the fastest link of the router.
    Fixed(Bandwidth),
}

/// Which of several waiting packets an output takes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Virtual channels take turns.
    ///
    /// With a bounded crossbar, inputs as well.
    #[default]
    RoundRobin,
    /// The packet that was created first.
    ///
    /// The one whose message was created first; of equally old ones that with
    /// the lowest number among the packets of its node, so that long messages
    /// created together share a link.
    OldestFirst,
    /// One of the lowest virtual channel.
    ///
    /// That has a packet which can leave; the inputs of a bounded crossbar take turns.
    LowestChannel,
    /// One that has come from another router before those of the router's own nodes.
    ///
    /// Among equals the channels take turns, and with a bounded crossbar the inputs. What is in the
    /// network then gets out before more comes in.
    TransitFirst,
}

/// How much room a packet takes in a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// Its own size.
    #[default]
    Bytes,
    /// The room of a whole packet.
    ///
    /// Whatever its own size: buffers have slots.
    Packets,
}

/// When a packet takes room in the buffer at the other end of its next link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum CreditUse {
    /// When it starts over the link.
    #[default]
    Link,
    /// When it starts through the crossbar.
    ///
    /// Output buffers then only hold packets that can leave.
    Crossbar,
}

/// Which bytes count as occupancy of an output of a router with a bounded crossbar, as routing
/// algorithms see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum OccupancyCount {
    /// The bytes in the output's buffer, and those sent and not yet credited.
    ///
    /// What waits in input queues is not seen, so
    /// that all of a burst may choose an output before any of it has got there.
    #[default]
    Buffered,
    /// The bytes in input queues that have chosen the output as well.
    Requests,
    /// The bytes in the output's buffer alone.
    ///
    /// What waits at the other end is not seen until that has no more room: the routers of SST's
    /// merlin, whose `oql_track_remote` is false by default.
    Unsent,
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
    /// With a bounded crossbar, what counts as occupancy of an output; with an
    /// ideal one all that waits does.
    pub occupancy: OccupancyCount,
    /// Who goes first.
    pub arbitration: Arbitration,
    /// How much room packets take; [`Room::Packets`] with an ideal crossbar that takes
    /// the credits only.
    pub room: Room,
    /// With an ideal crossbar that takes the credits: what an output to a node holds per
    /// virtual channel, from when a packet passes to it until the node has it and has
    /// said so. `None`: the buffer of the link class, which is that of the link's other
    /// direction as well.
    pub node_room: Option<Bytes>,
}

impl RouterModel {
    /// Whether packets pass to output queues, see [`Crossbar::Ideal`].
    pub fn hands_over(&self) -> bool {
        self.credit_use == CreditUse::Crossbar && self.crossbar == Crossbar::Ideal
    }
}

/// How often a router decides how a message goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Decisions {
    /// For every packet.
    ///
    /// The packets of a message may take different paths, and overtake each other.
    #[default]
    #[serde(rename = "packet")]
    PerPacket,
    /// For the first packet of a message, which the others follow.
    ///
    /// So
    /// that a message has one path and its packets keep their order. Such is
    /// adaptive routing that keeps flows in order, as on InfiniBand. What the
    /// first packet of a long message found empty is taken by all of it.
    #[serde(rename = "message")]
    PerMessage,
}

/// In which order a node's network interface sends the messages that its ranks
/// have handed to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionOrder {
    /// One packet of each message in turn.
    #[default]
    RoundRobin,
    /// Message after message.
    Fifo,
}

/// The network interface of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NicModel {
    /// Order of sending.
    pub injection: InjectionOrder,
    /// Latency of a message between two ranks of the same node.
    pub loopback_latency: Picoseconds,
    /// Bandwidth between two ranks of the same node.
    pub loopback_bandwidth: Bandwidth,
    /// What keeps nodes from sending more than the network takes, besides credits.
    pub congestion_control: CongestionControl,
}

/// Links that lose packets for a part of a run, and what becomes of these packets: the interface that
/// sent one sends it again, and its job ends if it is lost too often.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Who sends over links that are dark, from when until when. A packet is lost of which a part
    /// would be on such a link at such a time.
    pub dark: Vec<(Sender, Picoseconds, Picoseconds)>,
    /// The nodes to and from which no route leads from a moment on until the next, in order of time.
    /// What enters the network for them is lost at its first router.
    pub unreachable: Vec<(Picoseconds, Vec<NodeId>)>,
    /// When a packet that was lost is sent again, counted from then. No shorter than the longest
    /// latency between two routers.
    pub resend_after: Picoseconds,
    /// How often a packet is sent again before its job ends.
    pub retries: u8,
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
    /// What routers decide on; not per message with an algorithm that learns
    /// (`LEARNS` of `odonata_network::Routing`), which wants to hear
    /// of every packet.
    pub decisions: Decisions,
    /// Virtual channels of a link, if there are more than the routing algorithm needs: packets are
    /// then spread over them (`Lanes` of `odonata_network::routing`).
    pub virtual_channels: Option<u8>,
    /// Classes of traffic, each of which has that many virtual channels; empty: all traffic is alike.
    pub classes: Vec<TrafficClass>,
    /// Links that lose packets, if any do.
    pub losses: Option<Losses>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Threads that simulate; results do not depend on it.
    pub threads: usize,
}

/// What the ranks of a job do.
#[derive(Clone)]
pub enum JobLoad {
    /// Offer traffic at a rate until the simulation ends, or a number of messages.
    Open(OpenLoop),
    /// Run a program to its end.
    Closed(Arc<dyn Program>),
}

/// When a message that asked first is complete at its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// When its last byte has left the node.
    #[default]
    Sent,
    /// When its receiver has taken it in and said so by a message of its own (FIN).
    ///
    /// So it is where the receiver fetches the data from
    /// the sender's memory, which must not change before.
    Acknowledged,
}

/// How the messages of a job's ranks are sent and received: the parameters of
/// LogGPS (Ino, Fujimoto, Hagihara 2001) that are not the network's.
///
/// Open-loop jobs have none of it: their messages are sent at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protocol {
    /// Longer messages between nodes ask first (rendezvous): the sender sends a
    /// request, the receiver grants it when it has a receive for it, then the
    /// message is sent. `S` of LogGPS; `None`: no message asks.
    pub eager_limit: Option<Bytes>,
    /// When such a message is complete at its sender.
    pub completion: Completion,
    /// Size of a request, grant or FIN: at least 1 byte, at most a packet.
    pub control: Bytes,
    /// What messages keep ranks busy.
    pub costs: HostCosts,
    /// The same of messages between two ranks of one node, which go through its memory and
    /// not by the interface: without `send_delay`. `None`: as all others.
    pub within_node: Option<HostCosts>,
    /// Time for which an interface sends nothing after a message of this job;
    /// what `g` of LogGP is beyond the time that a byte takes.
    pub gap: Picoseconds,
    /// Time between a rank's handing a message over, be it of the program or of the
    /// protocol, and its interface's having it. Keeps nobody busy: the rank goes on,
    /// and messages that are delayed do not wait for each other.
    pub send_delay: Picoseconds,
    /// What a message to another node keeps its sender busy besides, if the rank's last one
    /// to another node went to another rank.
    pub redirect_overhead: Picoseconds,
    /// The same by the size of the message, besides; empty: nothing.
    pub delay_times: HostTimes,
    /// What else keeps ranks busy; `None`: nothing.
    pub noise: Option<Noise>,
}

/// How long a message keeps its sender and its receiver busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostCosts {
    /// Time that a rank is busy with a message that it sends; `o` of LogGPS.
    pub send_overhead: Picoseconds,
    /// The same with a message, or a request, that it receives. Starts when the
    /// message has come, its receive is posted, and nothing else keeps the rank
    /// busy.
    pub receive_overhead: Picoseconds,
    /// Rate at which ranks copy messages, besides; 1/`O` of LogGPS. `None`:
    /// copying takes no time.
    pub copy_bandwidth: Option<Bandwidth>,
    /// What a message costs either rank by its size, besides all of that; empty: nothing.
    pub times: HostTimes,
}

/// Time by size of a message: straight lines from (0 bytes, no time) through some points,
/// and on beyond the last one as before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTimes {
    points: [(Bytes, Picoseconds); Self::MOST],
    count: usize,
}

impl HostTimes {
    /// Points that there can be.
    pub const MOST: usize = 16;

    /// Through these points, by size. `None` if there are more than [`Self::MOST`], or sizes
    /// do not grow or times fall from one to the next.
    pub fn new(points: &[(Bytes, Picoseconds)]) -> Option<Self> {
        let mut all = Self::default();
        let mut last = (Bytes(0), Picoseconds::ZERO);
        for &point in points {
            if all.count == Self::MOST || point.0 <= last.0 || point.1 < last.1 {
                return None;
            }
            all.points[all.count] = point;
            all.count += 1;
            last = point;
        }
        Some(all)
    }

    /// The time of the last point.
    pub fn longest(&self) -> Picoseconds {
        self.points[..self.count]
            .last()
            .map_or(Picoseconds::ZERO, |point| point.1)
    }

    /// The time of a message.
    pub fn of(&self, message: Bytes) -> Picoseconds {
        let points = &self.points[..self.count];
        let Some(last) = points.len().checked_sub(1) else {
            return Picoseconds::ZERO;
        };
        let end = points.partition_point(|point| point.0 < message).min(last);
        let from = match end {
            0 => (Bytes(0), Picoseconds::ZERO),
            _ => points[end - 1],
        };
        let to = points[end];
        // In 128 bits nothing overflows; what does not fit into 64 is far beyond any run.
        let rise = u128::from(to.1.0 - from.1.0) * u128::from(message.0 - from.0.0)
            / u128::from(to.0.0 - from.0.0);
        let rise = u64::try_from(rise).unwrap_or(u64::MAX);
        from.1.saturating_add(Picoseconds(rise))
    }
}

impl Default for Protocol {
    /// Nothing takes time, no message asks.
    fn default() -> Self {
        Self {
            eager_limit: None,
            completion: Completion::Sent,
            control: Bytes(64),
            costs: HostCosts::default(),
            within_node: None,
            gap: Picoseconds::ZERO,
            send_delay: Picoseconds::ZERO,
            redirect_overhead: Picoseconds::ZERO,
            delay_times: HostTimes::default(),
            noise: None,
        }
    }
}

impl Protocol {
    /// Time between a rank's handing over a message of this many bytes and its interface's
    /// having it.
    pub fn delay_of(&self, message: Bytes) -> Picoseconds {
        self.send_delay.saturating_add(self.delay_times.of(message))
    }

    /// What messages cost between two ranks, by whether those are on one node.
    #[inline]
    pub fn costs(&self, one_node: bool) -> &HostCosts {
        match &self.within_node {
            Some(within) if one_node => within,
            _ => &self.costs,
        }
    }

    /// Whether a message of `message` bytes between nodes asks first.
    #[inline]
    pub fn asks_for(&self, message: Bytes) -> bool {
        self.eager_limit.is_some_and(|limit| message > limit)
    }

    /// Whether the receiver of a message that asked first says when it has taken it in.
    #[inline]
    pub fn acknowledges(&self) -> bool {
        self.completion == Completion::Acknowledged
    }
}

impl HostCosts {
    fn copying(&self, message: Bytes) -> Picoseconds {
        self.copy_bandwidth
            .map_or(Picoseconds::ZERO, |rate| rate.duration_of(message.0))
            .saturating_add(self.times.of(message))
    }

    /// How long a rank is busy with sending `message` bytes.
    pub fn send_overhead_of(&self, message: Bytes) -> Picoseconds {
        self.send_overhead.saturating_add(self.copying(message))
    }

    /// How long a rank is busy with receiving `message` bytes.
    pub fn receive_overhead_of(&self, message: Bytes) -> Picoseconds {
        self.receive_overhead.saturating_add(self.copying(message))
    }
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
    /// How their messages are sent and received.
    pub protocol: Protocol,
    /// The classes that their messages are of, if there are classes.
    pub classes: JobClasses,
    /// The last of its ranks that are servers of a file system, if it uses one.
    pub servers: Option<Servers>,
}

impl JobPlan {
    /// Whether two of its ranks are on one node.
    #[inline]
    pub fn on_one_node(&self, rank: u32, other: u32) -> bool {
        self.node_of_rank[rank as usize] == self.node_of_rank[other as usize]
    }

    /// What messages between two of its ranks cost them. Where those are matters, and is
    /// looked up, only if messages within a node have costs of their own.
    #[inline]
    pub fn costs(&self, rank: u32, other: u32) -> &HostCosts {
        let one_node = self.protocol.within_node.is_some() && self.on_one_node(rank, other);
        self.protocol.costs(one_node)
    }
}

/// Which messages get a row in the `messages` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRecords {
    /// None; distributions are kept all the same.
    None,
    /// Every `n`-th message of each source node; 1 records all.
    EveryNth(u32),
}

/// Where and how finely to record what arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRecords {
    /// At these routers.
    pub routers: Vec<RouterId>,
    /// In intervals of this length, at least 1 ps.
    pub interval: Picoseconds,
}

/// What to measure and when to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Statistics count what is created (latencies) or happens (throughput,
    /// link load) from here on.
    pub warmup: Picoseconds,
    /// Simulated time at which the run stops; `None` runs until every job with an end
    /// has finished (an error if there is none).
    pub duration: Option<Picoseconds>,
    /// Width of a timeline bin; `None` chooses: the bins double in width
    /// whenever there are more than 1,024.
    pub timeline_bin: Option<Picoseconds>,
    /// Rows of the `messages` table.
    pub messages: MessageRecords,
    /// Whether to record what every rank does when. Takes 64 bytes for each
    /// change.
    pub rank_intervals: bool,
    /// Whether to record how much every rank sends to every other. Takes 40
    /// bytes for every two ranks that talk to each other.
    pub traffic: bool,
    /// Whether to record what jobs do at each link and to each other there; with
    /// `odonata_sim::run_any` only. Takes about 150 bytes for every link, and 24 for
    /// every two jobs that meet there.
    pub attribution: bool,
    /// Whether to record what arrives at some routers over time; with
    /// `odonata_sim::run_any` only.
    pub arrivals: Option<ArrivalRecords>,
}

impl Measurement {
    /// Whether it takes a run that keeps account.
    pub fn is_recorded(&self) -> bool {
        self.attribution || self.arrivals.is_some()
    }
}
