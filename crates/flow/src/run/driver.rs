//! The event loop: messages set out, are through, and arrive.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use odonata_load::OpenLoop;
use odonata_mpi::{Failure, Matched, Rank, receive, receive_within_node, sent, timer, unmatched};
use odonata_network::Topology;
use odonata_run::{
    CongestionControl, Histogram, InjectionOrder, JobLoad, JobOutcome, JobPlan, Measurement,
    MessageRecord, MessageRecords, Observer, Progress, SimError, TimelineCollector, Wish, shortage,
};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, NodeId, Picoseconds, RankId};

use super::config::FlowConfig;
use super::transport::Message;
use crate::routes::{LinkNumbers, Routes};
use crate::share::{LinkId, UPSTREAM_OF_ALL, Use};
use crate::transfers::Transfers;

/// Events between two looks at the observer.
const EVENTS_PER_LOOK: u64 = 4096;

/// How often the run looks how much memory is left.
const MEMORY_INTERVAL: Duration = Duration::from_millis(200);

/// Something that happens at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A rank begins its program, a processor of it is done with its task, or its interface
    /// gets a message that it has handed over.
    Rank { rank: u32 },
    /// An open-loop source creates a message.
    Create { source: u32 },
    /// A message has arrived.
    Arrive { message: u32 },
}

/// An open-loop source: a rank of a job without program.
#[derive(Clone, Copy, Debug)]
struct Source {
    job: u32,
    rank: u32,
    /// Counted over all jobs.
    entity: u32,
    next_message: u32,
}

/// The interface of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    /// Messages that wait for those before them: of open-loop sources, and all
    /// where interfaces send message after message.
    queue: VecDeque<u32>,
    /// Whether one of the queue is on its way.
    busy: bool,
    /// When the last message within the node will have been copied.
    loopback_free: u64,
}

/// What a job has done so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub messages_created: u64,
    pub messages_delivered: u64,
    pub bytes_created: u64,
    pub bytes_delivered: u64,
    pub bytes_created_measured: u64,
    pub bytes_delivered_measured: u64,
    pub latency: Histogram,
    pub routers: Vec<u64>,
    pub iteration_end: Vec<u64>,
    pub message_bytes: Histogram,
    pub last_finish: u64,
    pub last_delivery: u64,
    /// Ranks of a closed-loop job that have not finished; messages that an
    /// open-loop job with an end has yet to deliver.
    pub to_do: u64,
    pub has_end: bool,
}

pub(super) struct Driver<'a> {
    pub topology: &'a Topology,
    pub jobs: &'a [JobPlan],
    pub measurement: &'a Measurement,
    config: &'a FlowConfig,
    routes: Routes<'a>,
    pub transfers: Transfers,
    /// Number of the link over which the first rank sends. The links of the network come before
    /// it; each rank has two, one to send and one to receive over. `None`: a rank has all of its
    /// node's link.
    rank_links: Option<u32>,
    /// Whether nobody holds senders back, so that incasts fill the links before them.
    uncontrolled: bool,
    /// A path through the network, with what its ranks send and receive over.
    path: Vec<Use>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Orders events of one time.
    scheduled: u64,
    pub now: u64,
    pub messages: Vec<Message>,
    free_messages: Vec<u32>,
    /// Message of each transfer.
    owner: Vec<u32>,
    pub interfaces: Vec<Interface>,
    sources: Vec<Source>,
    pub ranks: Vec<Rank<'a>>,
    /// Number of each job's first rank among `ranks`.
    pub first_rank: Vec<u32>,
    pub counts: Vec<Counts>,
    pub timeline: TimelineCollector,
    pub records: Vec<MessageRecord>,
    /// Messages that each node has sent, for those that are recorded.
    sent: Vec<u32>,
    /// Jobs with an end that are not done.
    pub unfinished: u64,
    /// What links had carried at the end of the warm-up. Shape: links, or empty.
    pub before: Vec<f64>,
    pub packet_hops: f64,
    pub bytes_delivered: u64,
    pub events_done: u64,
    arrival_key: StreamKey,
    destination_key: StreamKey,
    pub failure: Option<Failure>,
    /// Messages that have just met their receives; empty between events.
    pub matched: Vec<Matched>,
}

impl<'a> Driver<'a> {
    pub fn new(
        topology: &'a Topology,
        routes: Routes<'a>,
        config: &'a FlowConfig,
        jobs: &'a [JobPlan],
        measurement: &'a Measurement,
    ) -> Self {
        let ranks: usize = jobs.iter().map(|plan| plan.node_of_rank.len()).sum();
        let links = topology.ports() + topology.nodes();
        // Each rank has two links of its own, one for each direction.
        let of_ranks = config.rank_bandwidth.map(|rate| {
            let rate = rate.bytes_per_second() as f64 * 1e-12;
            std::iter::repeat_n(rate, 2 * ranks)
        });
        // HPCC keeps every link below what it could carry.
        let used = match &config.nic.congestion_control {
            CongestionControl::Hpcc(keys) => keys.target_load,
            _ => 1.0,
        };
        let capacities = LinkNumbers::capacities(topology).map(|capacity| capacity * used);
        let capacities = capacities.chain(of_ranks.into_iter().flatten());
        let mut driver = Self {
            topology,
            jobs,
            measurement,
            config,
            routes,
            transfers: Transfers::settling_every(config.settle, capacities),
            rank_links: config.rank_bandwidth.map(|_| links as u32),
            uncontrolled: config.nic.congestion_control == CongestionControl::None,
            path: Vec::new(),
            events: BinaryHeap::new(),
            scheduled: 0,
            now: 0,
            messages: Vec::new(),
            free_messages: Vec::new(),
            owner: Vec::new(),
            interfaces: vec![Interface::default(); topology.nodes()],
            sources: Vec::new(),
            ranks: Vec::new(),
            first_rank: Vec::with_capacity(jobs.len()),
            counts: Vec::with_capacity(jobs.len()),
            timeline: TimelineCollector::new(jobs.len().max(1), measurement.timeline_bin),
            records: Vec::new(),
            sent: vec![0; topology.nodes()],
            unfinished: 0,
            before: Vec::new(),
            packet_hops: 0.0,
            bytes_delivered: 0,
            events_done: 0,
            arrival_key: StreamKey::new(config.seed, Purpose::Arrival),
            destination_key: StreamKey::new(config.seed, Purpose::Destination),
            failure: None,
            matched: Vec::new(),
        };
        let mut entity = 0;
        for (number, plan) in (0..).zip(jobs) {
            driver.first_rank.push(driver.ranks.len() as u32);
            let mut counts = Counts::default();
            let ranks = plan.node_of_rank.len() as u32;
            match &plan.load {
                JobLoad::Closed(program) => {
                    counts.iteration_end = vec![0; program.iterations() as usize];
                    counts.has_end = true;
                    counts.to_do = u64::from(ranks);
                    for rank in 0..ranks {
                        let begin = Event::Rank {
                            rank: driver.ranks.len() as u32,
                        };
                        driver.schedule(plan.start.0, begin);
                        let node = plan.node_of_rank[rank as usize];
                        driver.ranks.push(Rank::new(number, rank, node.0));
                    }
                }
                JobLoad::Open(load) => {
                    counts.has_end = load.times().is_some();
                    counts.to_do = load.total_messages().unwrap_or(0);
                    for rank in 0..ranks {
                        driver.add_source(number, rank, entity + rank, plan, load);
                    }
                }
            }
            driver.unfinished += u64::from(counts.has_end && counts.to_do > 0);
            driver.counts.push(counts);
            entity += ranks;
        }
        driver
    }

    fn add_source(&mut self, job: u32, rank: u32, entity: u32, plan: &JobPlan, load: &OpenLoop) {
        let key = self.destination_key;
        let (id, entity_id) = (RankId(rank), u64::from(entity));
        if load.destination(key, entity_id, 0, id).is_none() {
            return;
        }
        let first = load.arrival(self.arrival_key, entity_id, 0, id, plan.start, plan.start);
        if first.0 == u64::MAX {
            return;
        }
        let source = Event::Create {
            source: self.sources.len() as u32,
        };
        self.schedule(first.0, source);
        self.sources.push(Source {
            job,
            rank,
            entity,
            next_message: 0,
        });
    }

    /// Bytes of a packet.
    pub fn packet(&self) -> f64 {
        self.config.packet.0 as f64
    }

    pub fn schedule(&mut self, time: u64, event: Event) {
        self.events.push(Reverse((time, self.scheduled, event)));
        self.scheduled += 1;
    }

    /// Runs to the end.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(), SimError> {
        let asked = self.measurement.duration;
        let duration = asked.unwrap_or(Picoseconds::LARGEST).0;
        let warmup = self.measurement.warmup.0;
        let ends = self.counts.iter().any(|job| job.has_end);
        let mut looked = 0;
        let mut weighed = Instant::now();
        loop {
            if ends && self.unfinished == 0 && self.measurement.duration.is_none() {
                break;
            }
            let event = self.events.peek().map(|Reverse((time, ..))| *time);
            let end = self.transfers.next_end().map(|end| end.0);
            let next = [event, end].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next < duration) else {
                match (asked, next) {
                    (Some(_), _) => self.now = duration,
                    // Nothing is left to happen.
                    (None, None) => {}
                    (None, Some(_)) => self.in_time()?,
                }
                break;
            };
            if self.before.is_empty() && warmup > 0 && next >= warmup {
                self.transfers
                    .count_under_way(Picoseconds(warmup.max(self.now)));
                let links = 0..self.transfers.share().links() as u32;
                self.before = links
                    .map(|link| self.transfers.bytes(LinkId(link)))
                    .collect();
            }
            self.now = next;
            while let Some(id) = self.transfers.end_next(Picoseconds(next)) {
                self.through(self.owner[id.index()]);
            }
            while let Some(&Reverse((time, _, event))) = self.events.peek()
                && time == next
            {
                self.events.pop();
                self.events_done += 1;
                self.happen(event);
            }
            if let Some((at, job, rank, reason)) = self.failure.take() {
                return Err(SimError::Program {
                    job: self.jobs[job as usize].name.clone(),
                    rank,
                    at: Picoseconds(at),
                    reason,
                });
            }
            self.transfers.settle(Picoseconds(next));
            if self.events_done >= looked {
                looked = self.events_done + EVENTS_PER_LOOK;
                let progress = self.progress(duration);
                if observer.progress(&progress) == Wish::Interrupt {
                    let at = Picoseconds(self.now);
                    return Err(SimError::Interrupted { at });
                }
                if weighed.elapsed() >= MEMORY_INTERVAL {
                    weighed = Instant::now();
                    self.in_memory()?;
                }
            }
        }
        match asked {
            Some(_) => Ok(()),
            None => unmatched(self.jobs, self.ranks.iter()),
        }
    }

    /// An error if a job with an end would go on after the largest simulated time.
    fn in_time(&self) -> Result<(), SimError> {
        let mut jobs = self.jobs.iter().zip(&self.counts);
        match jobs.find(|(_, counts)| counts.has_end && counts.to_do > 0) {
            None => Ok(()),
            Some((plan, _)) => Err(SimError::TooLong {
                job: plan.name.clone(),
            }),
        }
    }

    /// An error if so little memory is left that the run had better end.
    fn in_memory(&self) -> Result<(), SimError> {
        shortage().map_or(Ok(()), |left| {
            let messages = self.messages.len() - self.free_messages.len();
            Err(SimError::Memory {
                what: "the messages under way",
                reason: format!("there are {messages}, and {left} are left"),
            })
        })
    }

    fn progress(&self, duration: u64) -> Progress {
        let created: u64 = self.counts.iter().map(|job| job.bytes_created).sum();
        let fraction = if self.measurement.duration.is_some() {
            self.now as f64 / duration as f64
        } else {
            // Of what is to be sent, where that is known.
            let total = |plan: &JobPlan| match &plan.load {
                JobLoad::Closed(program) => program.totals().map_or(0, |totals| totals.bytes.0),
                JobLoad::Open(load) => load.total_messages().unwrap_or(0) * load.message.0,
            };
            let total: u64 = self.jobs.iter().map(total).sum();
            self.bytes_delivered as f64 / total.max(created).max(1) as f64
        };
        Progress {
            now: Picoseconds(self.now),
            packets_delivered: self.bytes_delivered / self.config.packet.0,
            bytes_delivered: self.bytes_delivered,
            packet_hops: self.packet_hops as u64,
            fraction: fraction.clamp(0.0, 1.0),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Rank { rank } => timer(self, rank, self.now),
            Event::Create { source } => self.create(source),
            Event::Arrive { message } => self.arrive(message),
        }
    }

    /// An open-loop source creates its next message.
    fn create(&mut self, number: u32) {
        let source = self.sources[number as usize];
        let plan = &self.jobs[source.job as usize];
        let JobLoad::Open(load) = &plan.load else {
            return;
        };
        let (n, entity, rank) = (
            source.next_message,
            u64::from(source.entity),
            RankId(source.rank),
        );
        let now = Picoseconds(self.now);
        let next = load.arrival(self.arrival_key, entity, n + 1, rank, plan.start, now);
        self.sources[number as usize].next_message = n + 1;
        if next.0 != u64::MAX {
            self.schedule(next.0, Event::Create { source: number });
        }
        let to = load.destination(self.destination_key, entity, n, rank);
        let Some(to) = to else {
            return;
        };
        self.count_created(source.job, load.message, self.now);
        let message = Message::open(source.job, source.rank, to.0, load.message, self.now);
        self.send(message);
    }

    pub fn node_of(&self, job: u32, rank: u32) -> NodeId {
        self.jobs[job as usize].node_of_rank[rank as usize]
    }

    pub fn count_created(&mut self, job: u32, bytes: Bytes, created: u64) {
        let counts = &mut self.counts[job as usize];
        counts.messages_created += 1;
        counts.bytes_created += bytes.0;
        if created >= self.measurement.warmup.0 {
            counts.bytes_created_measured += bytes.0;
        }
    }

    /// The interface of its sender's node has a message to send.
    pub fn send(&mut self, message: Message) {
        let number = match self.free_messages.pop() {
            Some(number) => {
                self.messages[number as usize] = message;
                number
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        };
        let source = self.node_of(message.job, message.source_rank);
        let destination = self.node_of(message.job, message.destination_rank);
        let bytes = message.bytes;
        let arrive = Event::Arrive { message: number };
        if source == destination {
            let nic = &self.config.nic;
            let interface = &mut self.interfaces[source.index()];
            let begin = self.now.max(interface.loopback_free);
            let end = begin.saturating_add(nic.loopback_bandwidth.duration_of(bytes).0.max(1));
            interface.loopback_free = end;
            self.messages[number as usize].local = true;
            let time = end.saturating_add(nic.loopback_latency.0).max(self.now + 1);
            self.schedule(time, arrive);
            return;
        }
        if message.is_control() {
            // Too small to share links: its time in an empty network.
            self.routes.route(
                source,
                destination,
                bytes,
                self.config.packet.0,
                self.transfers.share(),
            );
            let share = self.transfers.share();
            let alone = |step: &crate::share::Use| bytes as f64 / share.capacity(step.link);
            let longest = self.routes.paths().flat_map(|path| path.path).map(alone);
            let longest = longest.fold(0.0, f64::max).ceil() as u64;
            self.schedule(self.now + self.routes.latency().0 + longest, arrive);
            return;
        }
        let serial = message.kind.is_none() || self.config.nic.injection == InjectionOrder::Fifo;
        let interface = &mut self.interfaces[source.index()];
        if serial {
            self.messages[number as usize].serial = true;
            if interface.busy {
                interface.queue.push_back(number);
                return;
            }
            interface.busy = true;
        }
        self.set_out(number);
    }

    /// A message sets out.
    fn set_out(&mut self, number: u32) {
        let message = self.messages[number as usize];
        let source = self.node_of(message.job, message.source_rank);
        let destination = self.node_of(message.job, message.destination_rank);
        let packet = self.config.packet.0;
        self.routes.route(
            source,
            destination,
            message.bytes,
            packet,
            self.transfers.share(),
        );
        let now = Picoseconds(self.now);
        let id = self.transfers.begin(now, message.bytes as f64);
        // Open-loop sources are no ranks with a program: their node's link is theirs.
        let own = self.rank_links.filter(|_| message.kind.is_some());
        let first_rank = self.first_rank[message.job as usize];
        for path in self.routes.paths() {
            let long = self.uncontrolled
                && message.bytes as f64 * path.weight > self.routes.room(path.path) as f64;
            let Some(links) = own else {
                self.transfers
                    .add_part(now, id, path.path, path.weight, long);
                continue;
            };
            let sends = links + 2 * (first_rank + message.source_rank);
            let receives = links + 2 * (first_rank + message.destination_rank) + 1;
            self.path.clear();
            self.path.extend_from_slice(path.path);
            self.path.extend(
                [(sends, UPSTREAM_OF_ALL), (receives, 0)].map(|(link, ahead)| Use {
                    link: LinkId(link),
                    share: 1.0,
                    ahead,
                }),
            );
            self.transfers
                .add_part(now, id, &self.path, path.weight, long);
        }
        if self.owner.len() <= id.index() {
            self.owner.resize(id.index() + 1, 0);
        }
        self.owner[id.index()] = number;
        let own = &mut self.messages[number as usize];
        own.latency = self.routes.latency().0;
        own.routers = self.routes.routers().round() as u32;
        self.timeline.inject(self.now, message.job, message.bytes);
    }

    /// The last byte of a message has left its node.
    fn through(&mut self, number: u32) {
        let message = self.messages[number as usize];
        let arrive = Event::Arrive { message: number };
        self.schedule(self.now.saturating_add(message.latency), arrive);
        if message.serial {
            let source = self.node_of(message.job, message.source_rank);
            let interface = &mut self.interfaces[source.index()];
            match interface.queue.pop_front() {
                Some(next) => self.set_out(next),
                None => interface.busy = false,
            }
        }
        if let Some(request) = message.request {
            let rank = self.first_rank[message.job as usize] + message.source_rank;
            sent(self, rank, request, self.now);
        }
    }

    /// A message is complete at its receiver.
    fn arrive(&mut self, number: u32) {
        let message = self.messages[number as usize];
        self.free_messages.push(number);
        self.messages[number as usize].is_there = false;
        if !message.is_control() {
            self.count_delivered(&message);
        }
        let Some(kind) = message.kind else {
            return;
        };
        let first = self.first_rank[message.job as usize];
        let receiver = first + message.destination_rank;
        let incoming = message.incoming(kind);
        if message.local {
            let sender = first + message.source_rank;
            receive_within_node(self, sender, receiver, &incoming, self.now);
        } else {
            receive(self, receiver, &incoming, self.now);
        }
    }

    fn count_delivered(&mut self, message: &Message) {
        let now = self.now;
        let warmup = self.measurement.warmup.0;
        let counts = &mut self.counts[message.job as usize];
        counts.messages_delivered += 1;
        counts.bytes_delivered += message.bytes;
        counts.last_delivery = now;
        self.bytes_delivered += message.bytes;
        if now >= warmup {
            counts.bytes_delivered_measured += message.bytes;
        }
        let latency = now - message.created;
        let packets = message.bytes.div_ceil(self.config.packet.0);
        self.packet_hops += packets as f64 * f64::from(message.routers);
        if message.created >= warmup {
            counts.latency.record(latency);
            if !message.local {
                let routers = message.routers as usize;
                if counts.routers.len() <= routers {
                    counts.routers.resize(routers + 1, 0);
                }
                counts.routers[routers] += packets;
            }
        }
        if message.kind.is_none() && counts.has_end {
            counts.to_do -= 1;
            self.unfinished -= u64::from(counts.to_do == 0);
        }
        if message.local {
            self.timeline.inject(now, message.job, message.bytes);
        }
        self.timeline.deliver(now, message.job, message.bytes);
        self.timeline.complete(now, message.job, latency);
        let source = self.node_of(message.job, message.source_rank);
        let sent = &mut self.sent[source.index()];
        let number = *sent;
        *sent += 1;
        let recorded = match self.measurement.messages {
            MessageRecords::None => false,
            MessageRecords::EveryNth(every) => number.is_multiple_of(every.max(1)),
        };
        if recorded {
            self.records.push(MessageRecord {
                job: message.job,
                source_rank: message.source_rank,
                destination_rank: message.destination_rank,
                source,
                destination: self.node_of(message.job, message.destination_rank),
                bytes: Bytes(message.bytes),
                created: Picoseconds(message.created),
                delivered: Picoseconds(now),
            });
        }
    }

    /// Messages that wait at nodes, in bytes.
    pub fn backlog(&self) -> u64 {
        let queues = self
            .interfaces
            .iter()
            .flat_map(|interface| &interface.queue);
        queues
            .map(|&number| self.messages[number as usize].bytes)
            .sum()
    }

    /// An outcome of a job without anything that ranks know, but for how many `iterations` all of
    /// them have ended.
    pub fn outcome_of(&mut self, job: usize, iterations: u32) -> JobOutcome {
        let counts = std::mem::take(&mut self.counts[job]);
        let closed = matches!(self.jobs[job].load, JobLoad::Closed(_));
        let end = if closed {
            counts.last_finish
        } else {
            counts.last_delivery
        };
        JobOutcome {
            aborted: None,
            packets_lost: 0,
            bytes_lost: 0,
            start: self.jobs[job].start,
            end: (counts.has_end && counts.to_do == 0).then_some(Picoseconds(end)),
            messages_created: counts.messages_created,
            messages_delivered: counts.messages_delivered,
            bytes_created: counts.bytes_created,
            bytes_delivered: counts.bytes_delivered,
            bytes_delivered_measured: counts.bytes_delivered_measured,
            bytes_created_measured: counts.bytes_created_measured,
            classes: Vec::new(),
            message_latency_ps: counts.latency,
            packet_latency_ps: Histogram::default(),
            routers_visited: counts.routers,
            iteration_end: JobOutcome::iteration_ends(counts.iteration_end, iterations),
            compute_ps: 0,
            wait_ps: 0,
            message_bytes: counts.message_bytes,
            unreceived_messages: 0,
            ranks: Vec::new(),
        }
    }
}
