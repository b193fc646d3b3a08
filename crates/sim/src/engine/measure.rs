//! What a partition collects about each job.

use odonata_run::memory::filled;
use odonata_run::{
    ClassBytes, Histogram, JobLoad, JobOutcome, JobPlan, MessageRecord, RankTimes,
    TimelineCollector, TrafficClass,
};
use serde::{Deserialize, Serialize};

use odonata_units::Picoseconds;

use super::shared::Shared;

/// One partition's share of a [`JobOutcome`]. Alone in its cache lines, as it is
/// written for every message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[repr(align(128))]
pub(super) struct JobCollector {
    pub messages_created: u64,
    pub messages_delivered: u64,
    pub bytes_created: u64,
    pub bytes_delivered: u64,
    pub bytes_delivered_measured: u64,
    pub bytes_created_measured: u64,
    /// See [`JobOutcome::classes`].
    pub classes: Vec<ClassBytes>,
    /// Latencies of messages and of packets, apart from those that are both.
    pub message_latency: Histogram,
    pub packet_latency: Histogram,
    /// Latencies of messages that are one packet.
    pub single_latency: Histogram,
    pub routers_visited: Vec<u64>,
    pub iteration_end: Vec<u64>,
    /// Sizes of messages of closed-loop jobs.
    pub message_bytes: Histogram,
    /// When the last of this partition's ranks finished.
    pub last_finish: u64,
    /// When a byte last arrived.
    pub last_delivery: u64,
    /// Messages that this partition's ranks of an open-loop job with an end send in all.
    #[serde(skip)]
    pub messages_to_come: u64,
    /// Whether it is an open-loop job with an end.
    #[serde(skip)]
    pub has_end: bool,
    /// Ranks of this partition that have not finished.
    pub unfinished: u64,
    /// What will still move ranks of a closed-loop job: timers, and messages sent here less those
    /// received here. Only the sum over all partitions has a meaning, and none once the job is
    /// aborted, as messages are lost with it.
    pub stimuli: i64,
    /// Packets that links have lost, counted where they were lost.
    pub packets_lost: u64,
    /// Bytes that were given up with the job.
    pub bytes_lost: u64,
    /// Whether a node of this partition has given up a packet.
    pub gave_up: bool,
    /// When it was aborted, the same in all partitions.
    pub aborted: Option<u64>,
}

/// What a partition has counted and recorded.
pub(super) struct Accounts {
    pub jobs: Vec<JobCollector>,
    pub timeline: TimelineCollector,
    pub messages: Vec<MessageRecord>,
    pub injected_bytes: u64,
    pub delivered_bytes: u64,
    /// Bytes of packets that have left their last router but arrive after the end.
    pub leaving_bytes: u64,
    /// Bytes of requests and grants created here less those delivered here. Only
    /// the sum over all partitions has a meaning.
    pub control_bytes: i64,
    /// Bytes of messages within a node that are under way. Only the sum over all
    /// partitions has a meaning.
    pub loopback_bytes: i64,
    pub packets_delivered: u64,
    pub packet_hops: u64,
    /// Bytes that links between routers have sent again.
    pub resent_bytes: u64,
    pub events: u64,
}

impl Accounts {
    pub fn new(shared: &Shared<'_>) -> Self {
        Self {
            jobs: shared.jobs.iter().map(JobCollector::new).collect(),
            timeline: TimelineCollector::new(
                shared.jobs.len().max(1),
                shared.measurement.timeline_bin,
            ),
            messages: Vec::new(),
            injected_bytes: 0,
            delivered_bytes: 0,
            leaving_bytes: 0,
            control_bytes: 0,
            loopback_bytes: 0,
            packets_delivered: 0,
            packet_hops: 0,
            resent_bytes: 0,
            events: 0,
        }
    }
}

impl JobCollector {
    pub fn new(plan: &JobPlan) -> Self {
        let iterations = match &plan.load {
            JobLoad::Open(_) => 0,
            JobLoad::Closed(program) => program.iterations() as usize,
        };
        Self {
            has_end: matches!(&plan.load, JobLoad::Open(source) if source.times().is_some()),
            iteration_end: filled(0, iterations, "the times of iterations"),
            classes: match plan.classes.are_one() {
                true => Vec::new(),
                false => vec![ClassBytes::default(); TrafficClass::MOST],
            },
            // Allocated here, so that they lie in this thread's part of the heap
            // (see `driver`).
            message_latency: Histogram::allocated(),
            packet_latency: Histogram::allocated(),
            single_latency: Histogram::allocated(),
            routers_visited: Vec::with_capacity(32),
            ..Self::default()
        }
    }

    /// Forgets what was measured; what counts the whole run stays.
    pub fn begin_measuring(&mut self) {
        self.bytes_delivered_measured = 0;
        self.bytes_created_measured = 0;
        for class in &mut self.classes {
            (class.created_measured, class.delivered_measured) = (0, 0);
        }
        self.message_latency = Histogram::default();
        self.packet_latency = Histogram::default();
        self.single_latency = Histogram::default();
        self.routers_visited.clear();
    }

    #[inline(always)]
    pub fn visit(&mut self, routers: u16) {
        let index = usize::from(routers);
        if index >= self.routers_visited.len() {
            self.routers_visited.resize(index + 1, 0);
        }
        self.routers_visited[index] += 1;
    }

    /// The sum of several partitions' shares.
    pub fn sum<'c>(plan: &JobPlan, shares: impl Iterator<Item = &'c Self>) -> Self {
        let mut all = Self::new(plan);
        shares.for_each(|share| all.merge(share));
        all
    }

    fn merge(&mut self, other: &Self) {
        self.messages_created += other.messages_created;
        self.messages_delivered += other.messages_delivered;
        self.bytes_created += other.bytes_created;
        self.bytes_delivered += other.bytes_delivered;
        self.bytes_delivered_measured += other.bytes_delivered_measured;
        self.bytes_created_measured += other.bytes_created_measured;
        for (sum, part) in self.classes.iter_mut().zip(&other.classes) {
            *sum += *part;
        }
        self.message_latency.merge(&other.message_latency);
        self.message_latency.merge(&other.single_latency);
        self.packet_latency.merge(&other.packet_latency);
        self.packet_latency.merge(&other.single_latency);
        if other.routers_visited.len() > self.routers_visited.len() {
            self.routers_visited.resize(other.routers_visited.len(), 0);
        }
        for (sum, part) in self.routers_visited.iter_mut().zip(&other.routers_visited) {
            *sum += part;
        }
        for (latest, part) in self.iteration_end.iter_mut().zip(&other.iteration_end) {
            *latest = (*latest).max(*part);
        }
        self.message_bytes.merge(&other.message_bytes);
        self.last_finish = self.last_finish.max(other.last_finish);
        self.last_delivery = self.last_delivery.max(other.last_delivery);
        self.messages_to_come += other.messages_to_come;
        self.unfinished += other.unfinished;
        self.stimuli += other.stimuli;
        self.packets_lost += other.packets_lost;
        self.bytes_lost += other.bytes_lost;
        self.gave_up |= other.gave_up;
        self.aborted = self.aborted.max(other.aborted);
    }

    /// Whether the job has to end, as a packet of it has been given up.
    pub fn is_to_be_aborted(&self) -> bool {
        self.gave_up && self.aborted.is_none()
    }

    /// When the whole job was done, if it was by `now`; of the sum of all shares.
    fn end(&self, plan: &JobPlan, now: u64) -> Option<u64> {
        if self.aborted.is_some() {
            return self.aborted;
        }
        let (done, at) = match plan.load {
            JobLoad::Closed(_) => (self.unfinished == 0, self.last_finish),
            JobLoad::Open(_) => (
                // The last may have left its last router, but not arrived.
                self.has_end
                    && self.messages_delivered == self.messages_to_come
                    && self.last_delivery <= now,
                self.last_delivery,
            ),
        };
        done.then_some(at)
    }

    /// The job's outcome from all partitions' shares, and what its ranks did, who all have ended
    /// so many `iterations`.
    pub fn outcome<'c>(
        plan: &JobPlan,
        shares: impl Iterator<Item = &'c Self>,
        ranks: Vec<RankTimes>,
        iterations: u32,
        unreceived_messages: u64,
        now: u64,
    ) -> JobOutcome {
        let all = Self::sum(plan, shares);
        JobOutcome {
            start: plan.start,
            end: all.end(plan, now).map(Picoseconds),
            aborted: all.aborted.map(Picoseconds),
            packets_lost: all.packets_lost,
            bytes_lost: all.bytes_lost,
            messages_created: all.messages_created,
            messages_delivered: all.messages_delivered,
            bytes_created: all.bytes_created,
            bytes_delivered: all.bytes_delivered,
            bytes_delivered_measured: all.bytes_delivered_measured,
            bytes_created_measured: all.bytes_created_measured,
            classes: all.classes,
            message_latency_ps: all.message_latency,
            packet_latency_ps: all.packet_latency,
            routers_visited: all.routers_visited,
            iteration_end: JobOutcome::iteration_ends(all.iteration_end, iterations),
            compute_ps: ranks.iter().map(|rank| u128::from(rank.computing())).sum(),
            wait_ps: ranks.iter().map(|rank| u128::from(rank.waiting())).sum(),
            message_bytes: all.message_bytes,
            unreceived_messages,
            ranks,
        }
    }
}
