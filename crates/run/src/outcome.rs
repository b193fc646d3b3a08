//! What a simulation measured.

use std::ops::AddAssign;

use odonata_declare::Named;
use odonata_load::{CollectiveKind, Parallelism};
use odonata_units::{Bytes, GroupId, NodeId, Picoseconds, PortId, RankId, RouterId, Sender};
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::storage::ServerUse;

/// How far a run is; given to the caller's progress function a few times a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Picoseconds,
    /// Packets delivered so far.
    pub packets_delivered: u64,
    /// Bytes delivered so far.
    pub bytes_delivered: u64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Fraction of the run that is done: of its duration or of the bytes that
    /// its closed-loop jobs will send; in 0..=1.
    pub fraction: f64,
}

/// What one job felt.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOutcome {
    /// Start time.
    pub start: Picoseconds,
    /// When the last rank of a closed-loop job finished, or the last byte of an open-loop
    /// job with an end arrived; `None` for jobs without end and for those cut off by the
    /// end of the run.
    pub end: Option<Picoseconds>,
    /// When it ended because a packet of it was lost too often; `end` is then the same.
    pub aborted: Option<Picoseconds>,
    /// How often links lost a packet of it, which its node sent again or gave up.
    pub packets_lost: u64,
    /// Bytes of it that were given up when it was aborted.
    pub bytes_lost: u64,
    /// Messages that were created, and delivered whole.
    pub messages_created: u64,
    /// Messages delivered whole.
    pub messages_delivered: u64,
    /// Bytes of created messages.
    pub bytes_created: u64,
    /// Bytes delivered.
    pub bytes_delivered: u64,
    /// Bytes delivered from `warmup` on: the accepted load.
    pub bytes_delivered_measured: u64,
    /// Bytes created from `warmup` on: the offered load.
    pub bytes_created_measured: u64,
    /// The same by class of traffic. Shape: [`TrafficClass::MOST`](crate::TrafficClass::MOST), or empty
    /// of a job whose messages are all of one.
    pub classes: Vec<ClassBytes>,
    /// Message latency in ps: from creation to arrival of the last byte.
    /// Messages created after warm-up, delivered through the network or locally.
    pub message_latency_ps: Histogram,
    /// Packet latency in ps: from creation of its message (open loop; source
    /// queue included) to the tail's arrival. Packets of messages created after warm-up.
    pub packet_latency_ps: Histogram,
    /// Routers visited per packet. Index: routers, from 0.
    pub routers_visited: Vec<u64>,
    /// Time at which the slowest rank ended each iteration; `None` where a rank has not.
    /// Shape: iterations.
    pub iteration_end: Vec<Option<Picoseconds>>,
    /// Total time of the ranks computing, in ps summed over ranks.
    pub compute_ps: u128,
    /// Total time of the ranks with nothing to do but wait for messages, in ps
    /// summed over ranks.
    pub wait_ps: u128,
    /// Sizes in bytes of the messages that the ranks of a closed-loop job sent.
    pub message_bytes: Histogram,
    /// Messages that came, or asked to come, and that no rank received.
    pub unreceived_messages: u64,
    /// How each rank of a closed-loop job spent its time. Shape: ranks, or empty.
    pub ranks: Vec<RankTimes>,
}

/// What a job has sent in a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassBytes {
    /// Bytes of created messages.
    pub created: u64,
    /// Bytes delivered.
    pub delivered: u64,
    /// Bytes created from the end of the warm-up on.
    pub created_measured: u64,
    /// Bytes delivered from then on.
    pub delivered_measured: u64,
}

impl ClassBytes {
    /// What a job has sent whose messages are all of one class.
    pub fn of_job(job: &JobOutcome) -> Self {
        Self {
            created: job.bytes_created,
            delivered: job.bytes_delivered,
            created_measured: job.bytes_created_measured,
            delivered_measured: job.bytes_delivered_measured,
        }
    }
}

impl AddAssign for ClassBytes {
    fn add_assign(&mut self, other: Self) {
        self.created += other.created;
        self.delivered += other.delivered;
        self.created_measured += other.created_measured;
        self.delivered_measured += other.delivered_measured;
    }
}

impl JobOutcome {
    /// Its [`iteration_end`](Self::iteration_end).
    ///
    /// `latest`: when the last of the ranks that ended an iteration did so, in ps. Shape:
    /// iterations. `ended`: iterations that all ranks have ended.
    pub fn iteration_ends(latest: Vec<u64>, ended: u32) -> Vec<Option<Picoseconds>> {
        (0..)
            .zip(latest)
            .map(|(iteration, end)| (iteration < ended).then_some(Picoseconds(end)))
            .collect()
    }
}

/// What a rank of a closed-loop job may be doing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RankActivity {
    /// Its processor computes.
    Compute,
    /// Its processor hands over messages (send overhead).
    Send,
    /// Its processor takes in messages (receive overhead).
    Receive,
    /// It waits only until messages of its own have been sent.
    WaitToSend,
    /// It waits for messages of others.
    WaitToReceive,
}

impl RankActivity {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Compute,
        Self::Send,
        Self::Receive,
        Self::WaitToSend,
        Self::WaitToReceive,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::WaitToSend => "wait-to-send",
            Self::WaitToReceive => "wait-to-receive",
        }
    }
}

/// How a rank spent its time, from its start to its end (or the run's), in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankTimes {
    /// Outside of collectives. Index: [`RankActivity`].
    pub outside_ps: [u64; 5],
    /// Within blocking collectives. Index: [`RankActivity`].
    pub collective_ps: [u64; 5],
}

impl RankTimes {
    /// Adds a while in which a rank did one thing.
    pub fn add(
        &mut self,
        activity: RankActivity,
        collective: Option<CollectiveKind>,
        duration_ps: u64,
    ) {
        let times = match collective {
            None => &mut self.outside_ps,
            Some(_) => &mut self.collective_ps,
        };
        times[activity as usize] += duration_ps;
    }

    fn of(&self, activity: RankActivity) -> u64 {
        self.outside_ps[activity as usize] + self.collective_ps[activity as usize]
    }

    /// Time computing, in collectives or not, in ps.
    pub fn computing(&self) -> u64 {
        self.of(RankActivity::Compute)
    }

    /// Time with nothing to do but wait for messages, in collectives or not, in ps.
    pub fn waiting(&self) -> u64 {
        self.of(RankActivity::WaitToSend) + self.of(RankActivity::WaitToReceive)
    }

    /// All of it, in ps.
    pub fn total(&self) -> u64 {
        RankActivity::ALL
            .iter()
            .map(|&activity| self.of(activity))
            .sum()
    }
}

/// What a rank did for one kind of parallelism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Share {
    /// Messages that it sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time in which it computed nothing of its own and waited for these communications, or was busy
    /// with them, in ps.
    pub exposed_ps: u64,
}

/// What a rank of a job did for one kind of parallelism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankShare {
    /// Job.
    pub job: u32,
    /// Rank.
    pub rank: RankId,
    /// For what.
    pub parallelism: Parallelism,
    /// What.
    pub share: Share,
}

/// A while in which a rank did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankInterval {
    /// Job.
    pub job: u32,
    /// Rank.
    pub rank: RankId,
    /// From.
    pub begin: Picoseconds,
    /// Until.
    pub end: Picoseconds,
    /// What it did.
    pub activity: RankActivity,
    /// The collective that it was in.
    pub collective: Option<CollectiveKind>,
    /// The parallelism that it communicated for, unless it computed.
    pub parallelism: Option<Parallelism>,
    /// What ended a wait: the sender of the message, and when that rank
    /// wanted to send it.
    pub cause: Option<(RankId, Picoseconds)>,
}

/// What one rank sent to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What one rank of a closed-loop job sent to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairTraffic {
    /// Job.
    pub job: u32,
    /// Sending rank.
    pub source: RankId,
    /// Receiving rank.
    pub destination: RankId,
    /// What.
    pub traffic: Traffic,
}

/// What one direction of a link carried, counted from warm-up on. There is one
/// entry per router port (router → its peer) and one per node (node → router).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOutcome {
    /// Bytes sent: of packets that were being sent as measuring began or ended, the part
    /// within the measured time.
    pub bytes: u64,
    /// Packets that it began to send.
    pub packets: u64,
    /// Time during which it was sending, at most the measured time.
    pub busy_ps: u64,
    /// Time during which it was free and packets waited for it, but none had credits.
    pub stall_ps: u64,
}

/// What one job did at a link, counted from warm-up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobAtLink {
    /// Job.
    pub job: u32,
    /// Bytes of its packets that started over the link.
    pub bytes: u64,
    /// Number of these packets.
    pub packets: u64,
    /// Time during which the link was free and packets of this job waited for it, but no
    /// packet that waited had credits: its part of [`LinkOutcome::stall_ps`]. The parts of
    /// several jobs may overlap.
    pub stall_ps: u64,
    /// Time that its packets waited, summed over packets, while the link neither sent nor
    /// lacked room at the other end: for the crossbar of the router, or behind a packet in
    /// front of it.
    pub router_ps: u64,
}

impl JobAtLink {
    /// The record of a job that has done nothing there.
    pub const fn new(job: u32) -> Self {
        Self {
            job,
            bytes: 0,
            packets: 0,
            stall_ps: 0,
            router_ps: 0,
        }
    }
}

/// For how long packets of one job waited at a link because of another one (or the same),
/// summed over packets, counted from warm-up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobWait {
    /// Job that waited.
    pub job: u32,
    /// Job that it waited for.
    pub by: u32,
    /// While a packet of `by` was being sent.
    pub sending_ps: u64,
    /// While the link was free and packets of `by` held the buffer at the other end, of
    /// the channel that the waiting packet needed: in proportion to the bytes held.
    pub blocking_ps: u64,
}

impl JobWait {
    /// The record of a job that has not waited for `by`.
    pub const fn new(job: u32, by: u32) -> Self {
        Self {
            job,
            by,
            sending_ps: 0,
            blocking_ps: 0,
        }
    }
}

/// What the jobs did to each other at one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkAttribution {
    /// The link.
    pub link: Sender,
    /// Jobs that sent or waited there, ascending.
    pub jobs: Vec<JobAtLink>,
    /// Pairs of jobs, ascending.
    pub waits: Vec<JobWait>,
}

/// Where packets at a router come from and where they are bound for, seen from its group.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    Named,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From a node of the group to a node of the group.
    Internal,
    /// From a node of the group to a node of another group.
    Outbound,
    /// From a node of another group to a node of the group.
    Inbound,
    /// From a node of another group to a node of another group.
    Transit,
}

impl Direction {
    /// The direction of packets at a router of the group `here`, between nodes of two groups.
    #[inline]
    pub fn seen_from(here: GroupId, source: GroupId, destination: GroupId) -> Self {
        match (source == here, destination == here) {
            (true, true) => Self::Internal,
            (true, false) => Self::Outbound,
            (false, true) => Self::Inbound,
            (false, false) => Self::Transit,
        }
    }
}

/// What arrived at a router over links of one class in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Arrival {
    /// Begin of the interval.
    pub begin: Picoseconds,
    /// Router.
    pub router: RouterId,
    /// Link class, an index in the topology's list.
    pub class: u8,
    /// Job.
    pub job: u32,
    /// Where the packets come from and where they are bound for.
    pub direction: Direction,
    /// Bytes of packets whose tail arrived.
    pub bytes: u64,
    /// Number of these packets.
    pub packets: u64,
}

impl Arrival {
    /// Arrivals are listed in ascending order of this.
    pub fn order(&self) -> (Picoseconds, RouterId, u8, u32, Direction) {
        let Self { begin, router, .. } = *self;
        (begin, router, self.class, self.job, self.direction)
    }

    /// The sum of several lists, each in order.
    pub fn sum(lists: impl Iterator<Item = Vec<Self>>) -> Vec<Self> {
        let mut all: Vec<Self> = lists.flatten().collect();
        all.sort_by_key(Self::order);
        all.dedup_by(|later, first| {
            let same = later.order() == first.order();
            if same {
                first.bytes += later.bytes;
                first.packets += later.packets;
            }
            same
        });
        all
    }
}

/// One delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageRecord {
    /// Job.
    pub job: u32,
    /// Sending rank.
    pub source_rank: u32,
    /// Receiving rank.
    pub destination_rank: u32,
    /// Sending node.
    pub source: NodeId,
    /// Receiving node.
    pub destination: NodeId,
    /// Size.
    pub bytes: Bytes,
    /// When the sender handed it over.
    pub created: Picoseconds,
    /// When its last byte arrived.
    pub delivered: Picoseconds,
}

/// What one job did in one slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// Bytes that its nodes sent into the network.
    pub injected_bytes: u64,
    /// Bytes that its nodes received.
    pub delivered_bytes: u64,
    /// Messages that arrived whole.
    pub messages: u64,
    /// Sum of these messages' latencies, from creation to the arrival of the
    /// last byte.
    pub latency_ps: u64,
}

impl Activity {
    /// Adds what was done in another slice.
    pub fn add(&mut self, other: &Self) {
        self.injected_bytes += other.injected_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.messages += other.messages;
        self.latency_ps += other.latency_ps;
    }
}

impl MessageRecord {
    /// Messages are listed in ascending order of this.
    pub fn order(&self) -> (Picoseconds, NodeId, NodeId, u32, u32, Picoseconds) {
        (
            self.delivered,
            self.destination,
            self.source,
            self.source_rank,
            self.destination_rank,
            self.created,
        )
    }
}

/// Activity per slice of time, over the whole run (warm-up included).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Timeline {
    /// Width of a bin; bin `i` starts at `i · bin`.
    pub bin: Picoseconds,
    /// Shape: bins × jobs, row-major.
    pub activity: Vec<Activity>,
}

/// Where the bytes are at the end of a run: `created = delivered + backlog + in_flight + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Bytes of all created messages.
    pub created: u64,
    /// Bytes delivered.
    pub delivered: u64,
    /// Bytes created but not yet sent by their node.
    pub backlog: u64,
    /// Bytes in the network, or lost and to be sent again.
    pub in_flight: u64,
    /// Bytes that were given up with their jobs.
    pub lost: u64,
}

/// A change of circuits that has taken place, or begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reconfiguration {
    /// When it was decided, and its ports fell silent.
    pub decided: Picoseconds,
    /// When what they had sent was through, if it was.
    pub drained: Option<Picoseconds>,
    /// When they sent again, if they did.
    pub done: Option<Picoseconds>,
    /// Circuits that changed.
    pub circuits: u32,
}

/// What congestion control did to what one node sends another, after warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPair {
    /// Node that sends.
    pub source: NodeId,
    /// Node that it sends to.
    pub destination: NodeId,
    /// Notices of congestion that the sender got.
    pub notifications: u64,
    /// Time for which the first message to the destination waited for permission to go on.
    pub held_ps: u64,
    /// Bytes of the packets that waited so.
    pub held_bytes: u64,
}

/// Everything a run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Simulated time at the end.
    pub end: Picoseconds,
    /// Since when it was measured: the warm-up that was asked for, or the last
    /// pause at which an observer [began to measure](crate::PausedRun::begin_measuring).
    pub warmup: Picoseconds,
    /// Per job, in scenario order.
    pub jobs: Vec<JobOutcome>,
    /// Per router port: what it sent. Shape: ports of the topology.
    pub ports: Vec<LinkOutcome>,
    /// Per node: what it sent into its router. Shape: nodes.
    pub injection: Vec<LinkOutcome>,
    /// Changes of circuits, in order; see `odonata_sim::run_with_circuits`.
    pub reconfigurations: Vec<Reconfiguration>,
    /// Recorded messages, ordered by (delivery time, destination, source).
    pub messages: Vec<MessageRecord>,
    /// What ranks did when, by job, rank and time, if recorded.
    pub rank_intervals: Vec<RankInterval>,
    /// Who sent how much to whom, by job, source and destination, if recorded.
    pub traffic: Vec<PairTraffic>,
    /// What jobs did at each link and to each other there, in order of links, if recorded;
    /// links over which nobody sent are left out.
    pub attribution: Vec<LinkAttribution>,
    /// What servers of a file system did for jobs, by job and rank; those that did nothing are
    /// left out.
    pub storage: Vec<ServerUse>,
    /// What ranks did for each kind of parallelism of a training step, by job, rank and kind; those
    /// for which they did nothing are left out.
    pub parallelism: Vec<RankShare>,
    /// What congestion control held back or notified, by source and destination.
    pub held_pairs: Vec<HeldPair>,
    /// What arrived at routers over time, if recorded: by time, router, class and job.
    pub arrivals: Vec<Arrival>,
    /// Activity over time.
    pub timeline: Timeline,
    /// Where every byte is.
    pub conservation: Conservation,
    /// Packets that left a router port: the unit of work of the engine.
    pub packet_hops: u64,
    /// Bytes that links between routers sent again, as they had arrived damaged.
    pub resent_bytes: u64,
    /// Events processed; depends on the number of threads.
    pub events: u64,
    /// Most packets that were buffered or on a wire at once (sum of each
    /// partition's maximum).
    pub peak_packets: u64,
    /// Bytes of memory per buffered packet and per router port in the engine's arrays.
    pub bytes_per_packet: u64,
    /// See `bytes_per_packet`.
    pub bytes_per_port: u64,
}

impl Outcome {
    /// The link that sends from router port `port`.
    pub fn port(&self, port: PortId) -> &LinkOutcome {
        &self.ports[port.index()]
    }
}
