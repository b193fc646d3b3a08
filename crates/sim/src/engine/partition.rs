//! A partition: consecutive routers with their nodes, simulated by one thread.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::select_unpredictable;
use std::marker::PhantomData;

use odonata_network::{Peer, Routing};
use odonata_units::random::StreamKey;
use odonata_units::{NodeId, PortId, RankId, RouterId};

use serde::{Deserialize, Serialize};

use super::calendar::{Calendar, Event, GroupedEvents, Kind, PackedEvent};
use super::checkpoint::or_absent;
use super::crossbar::{BoundedCrossbar, WAKE_INPUT, WAKE_OUTPUT};
use super::endpoint::{Interface, OpenSource, OutMessage};
use super::followed::Followed;
use super::matching::{Arrived, Envelope, Posted};
use super::measure::JobCollector;
use super::memory::{prefetch, prefetch_to_write, vec_in_huge_pages};
use super::packets::{Contents, NIL, Packet, Packets, UNROUTED};
use super::probe::{Departure, LinkState, Probe};
use super::queues::Queues;
use super::ranks::RankState;
use super::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT, Class, Shared};
use super::table::Table;
use super::timeline::TimelineCollector;
use crate::config::{Arbitration, CreditUse, Decisions, JobLoad};
use crate::outcome::{LinkAttribution, MessageRecord, Sender};

/// "Not stalled", "no wake-up pending".
pub(super) const NEVER: u64 = u64::MAX;

/// The sending side of a link: of a router port, or of a node's interface.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When the link has sent the tail of its last packet.
    pub free_at: u64,
    /// Since when packets wait although the link is free; or [`NEVER`].
    #[serde(with = "or_absent")]
    pub stalled_since: u64,
    /// Bytes sent since warm-up.
    pub bytes: u64,
    /// Time stalled since warm-up.
    pub stall: u64,
    /// Packets sent since warm-up.
    pub packets: u32,
    /// Bytes that wait for this port; with a bounded crossbar those in its output
    /// buffer, and on request those in the FIFOs that request it.
    pub queued: u32,
    /// Bytes sent and not yet credited.
    pub downstream: u32,
    /// Port at the other end, relative to its router; of a terminal port, the node.
    #[serde(skip)]
    pub peer_port: u32,
    /// Router at the other end; of a terminal port, the interface's number in
    /// this partition.
    #[serde(skip)]
    pub peer_router: u32,
    /// Virtual channels in which packets wait, one bit each.
    pub waiting: u16,
    /// Link class.
    #[serde(skip)]
    pub class: u8,
    /// Virtual channel that was served last.
    pub served: u8,
    /// Whether a wake-up at `free_at` is pending.
    pub wake: bool,
}

const _: () = assert!(size_of::<Port>() == 64);

/// One virtual channel of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Free bytes in the buffer at the other end.
    pub credits: u32,
    /// Packets that wait, first to last, linked by `Packet::next`.
    pub head: u32,
    pub tail: u32,
}

/// Events for the routers of another partition, which count in that partition.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// And lessons.
    credits: Vec<Event>,
    /// Without payload: the slot is found where the packet arrives.
    arrivals: Vec<Event>,
    /// Shape: arrivals.
    packets: Vec<Packet>,
    /// Of the packets that are not bare, in the same order.
    contents: Vec<Contents>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.credits.is_empty() && self.arrivals.is_empty()
    }
}

/// Occupancy of every port of the network at one moment, for algorithms that
/// are allowed to see it. Shape: ports.
pub(super) type Snapshot = [std::sync::atomic::AtomicU32];

/// Hasher for keys that are already well mixed by multiplication (FxHash's idea).
#[derive(Clone, Copy, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u32(&mut self, key: u32) {
        self.write_u64(u64::from(key));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0.rotate_left(5) ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

pub(super) type EntityMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

pub(super) type KeyMap<V> = EntityMap<u64, V>;

/// A message of which only some packets have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incomplete {
    /// Bytes that it still lacks.
    pub missing: u64,
    /// Node that it goes to.
    pub destination: u32,
}

/// The state of a partition. Alone in its cache lines, and in the pairs of lines
/// that a processor fetches together.
#[repr(align(128))]
pub(super) struct Partition<'a, R: Routing, P: Probe> {
    pub shared: &'a Shared<'a>,
    /// Copies of what the hot path needs of `shared`.
    pub classes: Box<[Class; 256]>,
    pub delay: u64,
    pub stop: u64,
    pub warmup: u64,
    pub packet: u32,
    pub flit: Option<u32>,
    /// log2 of the distance of a port's first virtual channel from the next port's in `lanes`.
    pub lane_shift: u32,
    /// Whether the occupancy of ports has to be true at any moment.
    reads_occupancy: bool,
    /// Whether ports and interfaces are too many for a processor's second-level
    /// cache, so that it pays to load them ahead of time.
    exceeds_cache: bool,
    pub routing: &'a R,
    pub snapshot: &'a Snapshot,
    /// First router and port, global numbers; and one past the last router.
    pub base_router: u32,
    pub end_router: u32,
    pub base_port: u32,
    /// Routers' ports, then one per interface.
    pub ports: Table<Port>,
    /// Number of router ports: where interfaces begin in `ports`.
    pub router_ports: usize,
    /// Shape: ports × virtual channels.
    pub lanes: Table<Lane>,
    /// Whether packets take credits before they enter output queues, where they
    /// so lack none.
    pub credits_at_crossbar: bool,
    /// `None` if the crossbars are ideal.
    pub crossbar: Option<BoundedCrossbar>,
    /// What the routing algorithm keeps for every router, if it learns. Shape:
    /// routers, or empty.
    pub memories: Vec<Box<[f32]>>,
    pub packets: Packets,
    pub calendar: Calendar,
    pub interfaces: Table<Interface>,
    /// Messages that wait at interfaces.
    pub waiting: Queues<OutMessage>,
    pub sources: Table<OpenSource>,
    pub ranks: Vec<RankState<'a>>,
    /// Index in `ranks` by rank number over all jobs; `NIL` if elsewhere or open-loop.
    pub local_rank: Vec<u32>,
    /// Messages of more than one packet that are under way, by (source node, message).
    pub incomplete: KeyMap<Incomplete>,
    /// What routers have decided for the messages that pass them, if they decide
    /// per message.
    pub followed: Option<Box<Followed>>,
    pub jobs: Vec<JobCollector>,
    pub timeline: TimelineCollector,
    pub messages: Vec<MessageRecord>,
    /// Keeps account of who waits for whom, on request.
    pub probe: P,
    /// Events for other partitions. Shape: partitions.
    pub outbox: Vec<Mail>,
    /// First router of each partition, and one past the last.
    pub bounds: Vec<u32>,
    /// Partition of every router of the network.
    partition_of: Vec<u16>,
    /// Ranks that have not finished.
    pub unfinished: u64,
    /// The first rank whose program could not go on: time, job, rank and reason.
    pub failure: Option<(u64, u32, u32, String)>,
    /// Messages that have just met their receives; empty between events.
    pub matched: Vec<(Envelope, Arrived, Posted)>,
    /// What will still move ranks: timers, and messages of closed-loop jobs
    /// sent here less those received here. Only the sum over all partitions
    /// has a meaning.
    pub stimuli: i64,
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
    pub events: u64,
    /// Time of the last event.
    pub now: u64,
    /// When a packet last left a port.
    pub last_move: u64,
    /// Number of the boundary before the last step, the same in all partitions.
    pub latest_boundary: Option<u64>,
    /// The message of which a node is sending a packet. Kept here because copies
    /// of what has just been written stall the processor.
    pub outgoing: OutMessage,
    /// End of the window being simulated.
    window_end: u64,
    window_start: u64,
    /// The router being simulated, and one past its last port in `ports`.
    current: u32,
    end_port: usize,
    /// Its events that came up in this window and are still to be handled, the
    /// soonest last.
    upcoming: Vec<PackedEvent>,
    /// The soonest of them, or [`PackedEvent::LAST`].
    soonest: PackedEvent,
    /// Ports to be looked at when all events of this moment have been seen.
    touched: Vec<u32>,
    /// Outputs of the bounded crossbar to be looked at.
    touched_crossbar: Vec<u32>,
}

/// What a routing algorithm sees of the router where it runs.
struct View<'v, P> {
    ports: &'v [Port],
    /// Credits that came early, and the time (in the window) of the decision:
    /// those before it count.
    early: &'v [PackedEvent],
    offset: u64,
    snapshot: &'v Snapshot,
    key: StreamKey,
    entity: u64,
    counter: u32,
    now: u64,
    memory: &'v [f32],
    source: u32,
    lesson: Option<u32>,
    probe: PhantomData<P>,
}

impl<P: Probe> odonata_network::RouterView for View<'_, P> {
    #[inline(always)]
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        let state = &self.ports[port as usize];
        let credited: u64 = self
            .early
            .iter()
            .filter(|credit| credit.port() == u32::from(port) && credit.offset() < self.offset)
            .map(|credit| u64::from(credit_size::<P>(credit.payload())))
            .sum();
        u64::from(state.queued) + u64::from(state.downstream) - credited
    }
    #[inline(always)]
    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        u64::from(self.snapshot[port.index()].load(std::sync::atomic::Ordering::Relaxed))
    }
    #[inline(always)]
    fn random_below(&mut self, bound: u32) -> u32 {
        self.counter += 1;
        self.key.below(self.entity, self.counter, bound)
    }
    #[inline(always)]
    fn now_ps(&self) -> u64 {
        self.now
    }
    #[inline(always)]
    fn source_node(&self) -> NodeId {
        NodeId(self.source)
    }
    #[inline(always)]
    fn memory(&self) -> &[f32] {
        self.memory
    }
    #[inline(always)]
    fn teach(&mut self, lesson: u32) {
        self.lesson = Some(lesson & MAX_LESSON);
    }
}

impl<P: Probe> View<'_, P> {
    /// Decides on the next hop of a packet at router `at`, which sees this. Returns
    /// what the router that sent the packet here is taught.
    #[inline(always)]
    fn route<R: Routing>(mut self, routing: &R, at: u32, packet: &mut Packet) -> Option<u32> {
        self.entity = (u64::from(packet.source) << 32) | u64::from(packet.sequence);
        self.counter = u32::from(packet.routers) * DRAWS_PER_ROUTER;
        self.source = packet.source;
        let injected = packet.routers == 0;
        packet.routers += 1;
        let hop = routing.next_hop(&mut self, RouterId(at), injected, &mut packet.route);
        packet.out_vc = hop.vc;
        packet.out_port = hop.port;
        self.lesson
    }
}

/// Ends the run: a routing algorithm is in error.
#[cold]
fn no_such_output(router: u32, port: u16, vc: u8) -> ! {
    panic!("routing sends a packet to port {port}, channel {vc} of router {router}, which has none")
}

/// Marks a wake-up of a port as a lesson for its router, see [`Routing::learn`].
pub(super) const LESSON: u32 = 1 << 29;
/// Largest lesson.
const MAX_LESSON: u32 = LESSON - 1;

/// Bytes that a credit event returns.
#[inline(always)]
fn credit_size<P: Probe>(payload: u32) -> u32 {
    payload & ((1 << P::CREDIT_SIZE_BITS) - 1)
}

/// What a second-level cache holds beside the packets that pass.
const CACHE_BYTES: usize = 1 << 20;

/// Most events that are put in order by counting.
const FEW: usize = 16;

/// Events in ascending order, in `few` if they are few. Few are put where the
/// number of smaller ones says: more comparisons than an insertion sort needs,
/// but no branch that depends on one, nor on how many there are but for blocks of
/// four.
#[inline(always)]
fn in_order<'e>(
    events: &'e mut [PackedEvent],
    few: &'e mut [PackedEvent; FEW],
) -> &'e [PackedEvent] {
    let count = events.len();
    if count > FEW {
        events.sort_unstable();
        return events;
    }
    let mut padded = [PackedEvent::LAST; FEW];
    padded[..count].copy_from_slice(events);
    let blocks = &padded.as_chunks::<4>().0[..count.div_ceil(4)];
    let mut places = 0;
    for &event in events.iter() {
        let smaller: usize = blocks
            .iter()
            .map(|block| -> usize { block.map(|other| usize::from(other < event)).iter().sum() })
            .sum();
        places += smaller;
        few[smaller % FEW] = event;
    }
    // Equal ones have one place.
    if places != count * count.saturating_sub(1) / 2 {
        events.sort_unstable();
        return events;
    }
    &few[..count]
}

/// How many routers ahead of the simulated one what their events name is loaded,
/// and what that leads to.
const NAMED_AHEAD: usize = 5;
const LOOK_AHEAD: usize = 2;

/// Random draws that a packet may make at one router.
const DRAWS_PER_ROUTER: u32 = 64;

impl<'a, R: Routing, P: Probe> Partition<'a, R, P> {
    pub fn new(
        shared: &'a Shared<'a>,
        routing: &'a R,
        snapshot: &'a Snapshot,
        bounds: &[u32],
        index: usize,
    ) -> Self {
        let topology = shared.topology;
        let (base_router, end_router) = (bounds[index], bounds[index + 1]);
        let base_port = topology.first_port[base_router as usize];
        let end_port = topology.first_port[end_router as usize];
        let router_ports = (end_port - base_port) as usize;
        let nodes = topology.peer[base_port as usize..end_port as usize]
            .iter()
            .filter(|peer| matches!(peer, Peer::Node(_)))
            .count();
        let mut ports = vec_in_huge_pages(router_ports + nodes);
        let mut interfaces = vec_in_huge_pages(nodes);
        for router in base_router..end_router {
            for port in topology.ports_of(RouterId(router)) {
                let class = topology.class_of_port[port].0;
                let (peer_port, peer_router) = match topology.peer[port] {
                    Peer::Node(node) => {
                        interfaces.push(Interface::new(
                            node.0,
                            router,
                            port as u32 - topology.first_port[router as usize],
                            class,
                        ));
                        (node.0, interfaces.len() as u32 - 1)
                    }
                    Peer::Port(peer) => {
                        let router = topology.router_of_port(peer);
                        (peer.0 - topology.first_port[router.index()], router.0)
                    }
                    Peer::Unconnected => (NIL, NIL),
                };
                ports.push(Port::new(class, peer_port, peer_router));
            }
        }
        for interface in &interfaces {
            ports.push(Port::new(
                interface.class,
                interface.terminal,
                interface.router,
            ));
        }
        let lane_shift = shared.vcs.next_power_of_two().ilog2();
        let mut lanes = vec_in_huge_pages(ports.len() << lane_shift);
        lanes.extend(ports.iter().flat_map(|port: &Port| {
            let credits = shared.classes[port.class as usize].buffer;
            std::iter::repeat_n(
                Lane {
                    credits,
                    head: NIL,
                    tail: NIL,
                },
                1 << lane_shift,
            )
        }));
        let routers = (end_router - base_router) as usize;
        let ports_in_all = ports.len();
        let mut classes = Box::new([shared.classes[0]; 256]);
        classes[..shared.classes.len()].copy_from_slice(&shared.classes);
        let mut partition = Self {
            shared,
            classes,
            delay: shared.delay,
            stop: shared.stop,
            warmup: shared.warmup,
            packet: shared.packet,
            flit: shared.flit,
            lane_shift,
            exceeds_cache: ports.len() * (size_of::<Port>() + (size_of::<Lane>() << lane_shift))
                + interfaces.len() * (size_of::<Interface>() + size_of::<OpenSource>())
                > CACHE_BYTES,
            reads_occupancy: routing.reads_occupancy() || R::NEEDS_SNAPSHOT,
            routing,
            snapshot,
            base_router,
            end_router,
            base_port,
            ports: ports.into(),
            router_ports,
            lanes: lanes.into(),
            credits_at_crossbar: shared.config.router.credit_use == CreditUse::Crossbar,
            crossbar: BoundedCrossbar::new(shared, base_router, end_router),
            memories: match R::LEARNS {
                true => (base_router..end_router)
                    .map(|router| routing.initial_memory(RouterId(router)).into_boxed_slice())
                    .collect(),
                false => Vec::new(),
            },
            probe: P::new(shared, ports_in_all),
            packets: Packets::default(),
            calendar: Calendar::new(shared.window_shift(), routers),
            interfaces: interfaces.into(),
            waiting: Queues::default(),
            sources: Table::default(),
            ranks: Vec::new(),
            failure: None,
            matched: Vec::new(),
            local_rank: Vec::new(),
            incomplete: KeyMap::default(),
            followed: match shared.config.decisions {
                Decisions::PerPacket => None,
                Decisions::PerMessage => Some(Box::default()),
            },
            jobs: shared.jobs.iter().map(JobCollector::new).collect(),
            timeline: TimelineCollector::new(
                shared.jobs.len().max(1),
                shared.measurement.timeline_bin,
            ),
            messages: Vec::new(),
            outbox: (1..bounds.len()).map(|_| Mail::default()).collect(),
            bounds: bounds.to_vec(),
            partition_of: bounds
                .windows(2)
                .zip(0u16..)
                .flat_map(|(pair, partition)| (pair[0]..pair[1]).map(move |_| partition))
                .collect(),
            unfinished: 0,
            stimuli: 0,
            injected_bytes: 0,
            delivered_bytes: 0,
            leaving_bytes: 0,
            control_bytes: 0,
            loopback_bytes: 0,
            packets_delivered: 0,
            packet_hops: 0,
            events: 0,
            now: 0,
            last_move: 0,
            latest_boundary: None,
            outgoing: OutMessage::default(),
            window_end: 0,
            window_start: 0,
            current: 0,
            end_port: 0,
            // With room from the start, so that they lie in this thread's part
            // of the heap (see `driver`).
            upcoming: Vec::with_capacity(256),
            soonest: PackedEvent::LAST,
            touched: Vec::with_capacity(256),
            touched_crossbar: Vec::with_capacity(256),
        };
        partition.place_ranks();
        partition
    }

    /// Puts every rank of every job that has its node here on it.
    fn place_ranks(&mut self) {
        let shared = self.shared;
        let mut interface_of_node: KeyMap<u32> = KeyMap::default();
        for (index, interface) in self.interfaces.iter().enumerate() {
            interface_of_node.insert(u64::from(interface.node), index as u32);
        }
        self.local_rank =
            vec![NIL; *shared.first_rank.last().expect("one entry past the last") as usize];
        for (job, plan) in shared.jobs.iter().enumerate() {
            for (rank, node) in plan.node_of_rank.iter().enumerate() {
                let Some(&interface) = interface_of_node.get(&u64::from(node.0)) else {
                    continue;
                };
                let (job, rank) = (job as u32, rank as u32);
                match &plan.load {
                    JobLoad::Open(load) => {
                        let entity = u64::from(shared.rank(job, rank));
                        let first = load
                            .arrival(
                                shared.arrival_key,
                                entity,
                                0,
                                RankId(rank),
                                plan.start,
                                plan.start,
                            )
                            .0;
                        let messages = load.messages_of(RankId(rank)).unwrap_or(0);
                        self.jobs[job as usize].messages_to_come += messages;
                        let source = OpenSource {
                            interface,
                            job,
                            rank,
                            next_message: 0,
                            next_time: first,
                        };
                        self.sources.push(source);
                    }
                    JobLoad::Closed(_) => {
                        let local = self.ranks.len() as u32;
                        self.local_rank[shared.rank(job, rank) as usize] = local;
                        self.ranks.push(RankState::new(job, rank, interface));
                        self.unfinished += 1;
                        self.stimuli += 1;
                        let at = &self.interfaces[interface as usize];
                        let event = Event::new(
                            plan.start.0,
                            at.router - self.base_router,
                            Kind::Node,
                            at.terminal,
                            super::endpoint::timer_payload(local),
                        );
                        self.calendar.push(event);
                    }
                }
            }
        }
        // Sources of one interface lie together, so that it finds its own.
        self.sources
            .sort_by_key(|source| (source.interface, source.job, source.rank));
        for index in 0..self.sources.len() {
            let source = self.sources[index];
            let interface = &mut self.interfaces[source.interface as usize];
            if interface.sources.is_empty() {
                interface.sources = index as u32..index as u32 + 1;
            } else {
                interface.sources.end = index as u32 + 1;
            }
        }
        for index in 0..self.interfaces.len() {
            self.arm_interface(index, 0);
        }
    }

    /// Ranks of closed-loop jobs that have not finished, and messages of open-loop jobs
    /// with an end that have not arrived. Only the (wrapping) sum over all partitions has
    /// a meaning, as messages are to come where they are sent from and arrive elsewhere.
    pub fn pending(&self) -> u64 {
        let jobs = self.jobs.iter().filter(|job| job.has_end);
        jobs.fold(self.unfinished, |sum, job| {
            sum.wrapping_add(job.messages_to_come)
                .wrapping_sub(job.messages_delivered)
        })
    }

    /// When the last byte arrives of what open-loop jobs with an end have sent so far
    /// through their last routers.
    pub fn last_delivery(&self) -> u64 {
        let jobs = self.jobs.iter().filter(|job| job.has_end);
        jobs.map(|job| job.last_delivery).max().unwrap_or(0)
    }

    /// The earliest window that has events, if any.
    pub fn next_window(&self) -> Option<u64> {
        self.calendar.next_window()
    }

    /// Simulates one window: every router by itself, in ascending order.
    pub fn simulate(&mut self, window: u64, grouped: &mut GroupedEvents) {
        self.calendar.take(window, grouped);
        self.window_end = self.calendar.end_of(window);
        self.window_start = self.calendar.end_of(window) - self.calendar.window();
        for index in 0..NAMED_AHEAD {
            self.prefetch_named(grouped, index);
        }
        if self.exceeds_cache {
            for index in 0..LOOK_AHEAD {
                self.look_ahead(grouped, index);
            }
        }
        for index in 0..grouped.groups.len() - 1 {
            let group = grouped.groups[index];
            let end = grouped.groups[index + 1].first;
            self.prefetch_named(grouped, index + NAMED_AHEAD);
            if self.exceeds_cache {
                self.look_ahead(grouped, index + LOOK_AHEAD);
            }
            let (events, credits) = grouped.events[group.first as usize..end as usize]
                .split_at_mut((group.credits - group.first) as usize);
            let mut few = [PackedEvent::LAST; FEW];
            let events = in_order(events, &mut few);
            self.current = group.router;
            let first_port = self.first_port(group.router);
            self.end_port = self.first_port(group.router + 1);
            let early = self.take_credits_early(first_port, credits);
            self.simulate_router(group.router, first_port, events, early);
            if self.reads_occupancy {
                for &credit in early {
                    let port = self.creditor(first_port, credit);
                    self.ports[port].downstream -= credit_size::<P>(credit.payload());
                }
            }
        }
        self.window_end = 0;
    }

    /// First port of a router of this partition, in `ports`.
    #[inline(always)]
    fn first_port(&self, router: u32) -> usize {
        (self.shared.topology.first_port[(self.base_router + router) as usize] - self.base_port)
            as usize
    }

    /// Adds this window's credits to their channels before their time where
    /// nobody can notice: where the channel would not run short of credits in
    /// this window without them. Returns those; the occupancy that routing sees
    /// still has to account for their time. The others become events.
    fn take_credits_early<'c>(
        &mut self,
        first_port: usize,
        credits: &'c mut [PackedEvent],
    ) -> &'c [PackedEvent] {
        let mut early = 0;
        for index in 0..credits.len() {
            let credit = credits[index];
            let port = self.creditor(first_port, credit);
            let state = &mut self.ports[port];
            let vc = (credit.payload() >> CREDIT_VC_SHIFT) as usize;
            let lane = &mut self.lanes[(port << self.lane_shift) + vc];
            if state.stalled_since == NEVER
                && !self.credits_at_crossbar
                && lane.credits >= self.classes[state.class as usize].margin
            {
                lane.credits += credit_size::<P>(credit.payload());
                if !self.reads_occupancy {
                    state.downstream -= credit_size::<P>(credit.payload());
                }
                if P::ON {
                    let (link, payload) = (self.link(port), credit.payload());
                    self.probe
                        .credited(link, vc as u8, payload, self.window_start);
                }
                credits[early] = credit;
                early += 1;
            } else {
                self.upcoming.push(credit);
            }
        }
        if self.upcoming.len() > 1 {
            self.upcoming.sort_unstable_by(|a, b| b.cmp(a));
        }
        if let Some(&soonest) = self.upcoming.last() {
            self.soonest = soonest;
        }
        self.events += early as u64;
        &credits[..early]
    }

    /// Port (index in `ports`) that a credit event is for: that of the event, or
    /// that of the interface behind it.
    #[inline(always)]
    fn creditor(&self, first_port: usize, credit: PackedEvent) -> usize {
        let port = first_port + credit.port() as usize;
        // Which of them it is is unpredictable.
        select_unpredictable(
            credit.payload() & CREDIT_FOR_INTERFACE == 0,
            port,
            self.router_ports + self.ports[port].peer_router as usize,
        )
    }

    /// Starts to load what the events of a group name: ports, and packets that arrive.
    #[inline(always)]
    fn prefetch_named(&self, grouped: &GroupedEvents, index: usize) {
        let Some(&[group, next]) = grouped.groups.get(index..index + 2) else {
            return;
        };
        let others = group.others as usize;
        for event in &grouped.events[group.first as usize..others] {
            prefetch(&self.packets.hot, event.payload() as usize);
        }
        if self.exceeds_cache {
            let first_port = self.first_port(group.router);
            for event in &grouped.events[others..next.first as usize] {
                self.prefetch_port(first_port + event.port() as usize);
            }
        }
    }

    #[inline(always)]
    fn prefetch_port(&self, port: usize) {
        prefetch(&self.ports, port);
        prefetch(&self.lanes, port << self.lane_shift);
    }

    /// Routes the packets of a group ahead of their arrival, as far as their
    /// hops depend on nothing else; and starts to load what the packets and
    /// ports that the group names lead to: the ports that packets leave
    /// through, the first packets of queues, and nodes' interfaces.
    #[inline(always)]
    fn look_ahead(&mut self, grouped: &GroupedEvents, index: usize) {
        let Some(&[group, next]) = grouped.groups.get(index..index + 2) else {
            return;
        };
        let first_port = self.first_port(group.router);
        for event in &grouped.events[group.first as usize..next.first as usize] {
            let port = first_port + event.port() as usize;
            match event.kind() {
                Kind::Arrive => {
                    let packet = &mut self.packets.hot[event.payload() as usize];
                    let injected = packet.routers == 0;
                    // What is decided per message, its first packet decides.
                    if self.followed.is_none()
                        && !self
                            .routing
                            .next_hop_reads_occupancy(injected, &packet.route)
                    {
                        let view = View {
                            ports: &[],
                            early: &[],
                            offset: 0,
                            snapshot: self.snapshot,
                            key: self.shared.routing_key,
                            entity: 0,
                            counter: 0,
                            now: 0,
                            memory: &[],
                            source: 0,
                            lesson: None,
                            probe: PhantomData::<P>,
                        };
                        view.route(self.routing, self.base_router + group.router, packet);
                        let out_port = usize::from(packet.out_port);
                        self.prefetch_port(first_port + out_port);
                    }
                }
                Kind::Wake if event.payload() == 0 => {
                    let waiting = self.ports[port].waiting;
                    let vc = waiting.trailing_zeros() as usize & ((1 << self.lane_shift) - 1);
                    let lane = &self.lanes[(port << self.lane_shift) + vc];
                    prefetch(&self.packets.hot, lane.head as usize);
                }
                Kind::Wake if R::LEARNS && event.payload() & LESSON != 0 => {}
                Kind::Wake => {
                    let interface = self.ports[port].peer_router as usize;
                    prefetch(&self.interfaces, interface);
                    prefetch(&self.sources, interface);
                    self.prefetch_port(self.router_ports + interface);
                }
                Kind::Credit if event.payload() & CREDIT_FOR_INTERFACE != 0 => {
                    let interface = self.ports[port].peer_router as usize;
                    self.prefetch_port(self.router_ports + interface);
                }
                Kind::Credit | Kind::Node => {}
            }
        }
    }

    /// Simulates the current window of one router, given its events in order
    /// and the credits that have been taken early.
    fn simulate_router(
        &mut self,
        router: u32,
        first_port: usize,
        events: &[PackedEvent],
        early: &[PackedEvent],
    ) {
        let mut events = events.iter().copied();
        // The next event from before this window, and of those that came up in it.
        let mut given = events.next().unwrap_or(PackedEvent::LAST);
        let mut count = 0;
        loop {
            let first = given.min(self.soonest);
            if first == PackedEvent::LAST {
                break;
            }
            let offset = first.offset();
            let now = self.window_start + offset;
            if now >= self.stop {
                break;
            }
            self.now = now;
            // Simultaneous requests are all seen before any output decides.
            let mut event = first;
            let mut first_at_this_time = true;
            loop {
                count += 1;
                if event == given {
                    given = events.next().unwrap_or(PackedEvent::LAST);
                } else {
                    self.upcoming.pop();
                    self.soonest = self.upcoming.last().copied().unwrap_or(PackedEvent::LAST);
                }
                let next = given.min(self.soonest);
                let last_at_this_time = next.offset() != offset || next == PackedEvent::LAST;
                let alone = first_at_this_time && last_at_this_time;
                let port = first_port + event.port() as usize;
                match event.kind() {
                    Kind::Arrive => self.arrive(router, first_port, port, event, early, alone),
                    Kind::Credit => self.credit(first_port, event),
                    Kind::Wake => match event.payload() {
                        payload if R::LEARNS && payload & LESSON != 0 => {
                            self.learn(router, event.port() as u16, payload & MAX_LESSON);
                        }
                        0 => {
                            self.ports[port].wake = false;
                            if self.crossbar.is_some() {
                                self.touch_crossbar(port);
                            }
                            if alone {
                                self.try_send(router, first_port, port, now);
                            } else {
                                self.touch(port);
                            }
                        }
                        WAKE_INPUT => self.wake_input(first_port, port),
                        WAKE_OUTPUT => self.wake_output(port),
                        _ => {
                            let interface = self.ports[port].peer_router;
                            self.wake_interface(interface, now);
                        }
                    },
                    Kind::Node => {
                        self.node_event(self.ports[port].peer_router, event.payload(), now)
                    }
                }
                if last_at_this_time {
                    break;
                }
                first_at_this_time = false;
                event = next;
            }
            if !self.touched.is_empty() {
                self.settle_touched(router, first_port, now);
            }
            if !self.touched_crossbar.is_empty() {
                self.settle_touched_crossbar(router, first_port, now);
            }
        }
        self.upcoming.clear();
        self.soonest = PackedEvent::LAST;
        self.events += count;
    }

    fn settle_touched(&mut self, router: u32, first_port: usize, now: u64) {
        let mut index = 0;
        while index < self.touched.len() {
            let port = self.touched[index] as usize;
            if port < self.router_ports {
                self.try_send(router, first_port, port, now);
            } else {
                self.try_inject(port - self.router_ports, now);
            }
            index += 1;
        }
        self.touched.clear();
    }

    fn settle_touched_crossbar(&mut self, router: u32, first_port: usize, now: u64) {
        let mut index = 0;
        while index < self.touched_crossbar.len() {
            let output = self.touched_crossbar[index] as usize;
            self.try_grant(router, first_port, output, now);
            index += 1;
        }
        self.touched_crossbar.clear();
    }

    /// Puts an event of the current router, or of any router after this
    /// window, where it belongs.
    #[inline(always)]
    pub(super) fn schedule(&mut self, event: Event) {
        if event.time < self.window_end {
            debug_assert_eq!(
                event.router(),
                self.current,
                "an effect on another router within a window"
            );
            debug_assert!(event.time > self.now, "an effect without delay");
            let event = event.pack(self.window_start);
            // Soonest last.
            let mut at = self.upcoming.len();
            while at > 0 && self.upcoming[at - 1] < event {
                at -= 1;
            }
            self.upcoming.insert(at, event);
            self.soonest = self.soonest.min(event);
        } else {
            self.calendar.push(event);
        }
    }

    /// Marks a port (index in `ports`) to be looked at when all events of this
    /// moment have been seen.
    #[inline(always)]
    pub(super) fn touch(&mut self, port: usize) {
        self.touched.push(port as u32);
    }

    /// The same for an output of the bounded crossbar.
    pub(super) fn touch_crossbar(&mut self, output: usize) {
        self.touched_crossbar.push(output as u32);
    }

    /// Takes a credit at its time.
    fn credit(&mut self, first_port: usize, event: PackedEvent) {
        let port = self.creditor(first_port, event);
        let payload = event.payload();
        let vc = (payload >> CREDIT_VC_SHIFT) as usize;
        if P::ON {
            let now = self.window_start + event.offset();
            self.probe.credited(self.link(port), vc as u8, payload, now);
        }
        self.lanes[(port << self.lane_shift) + vc].credits += credit_size::<P>(payload);
        self.ports[port].downstream -= credit_size::<P>(payload);
        if self.ports[port].stalled_since != NEVER {
            self.touch(port);
        }
        if self.credits_at_crossbar && port < self.router_ports {
            self.touch_crossbar(port);
        }
    }

    /// A packet requests its output. `alone`: no other event of this router
    /// happens at the same time, so that it may leave at once.
    #[inline(always)]
    fn arrive(
        &mut self,
        router: u32,
        first_port: usize,
        input: usize,
        event: PackedEvent,
        early: &[PackedEvent],
        alone: bool,
    ) {
        let slot = event.payload();
        let now = self.window_start + event.offset();
        let packet = &mut self.packets.hot[slot as usize];
        if packet.out_port == UNROUTED && !(self.followed.is_some() && self.follow(router, slot)) {
            let packet = &mut self.packets.hot[slot as usize];
            let view = View {
                ports: &self.ports[first_port..self.router_ports],
                early,
                offset: event.offset(),
                snapshot: self.snapshot,
                key: self.shared.routing_key,
                entity: 0,
                counter: 0,
                now,
                memory: match R::LEARNS {
                    true => &self.memories[router as usize],
                    false => &[],
                },
                source: 0,
                lesson: None,
                probe: PhantomData::<P>,
            };
            let lesson = view.route(self.routing, self.base_router + router, packet);
            if R::LEARNS
                && let Some(lesson) = lesson
            {
                self.teach_upstream(slot, lesson, now);
            }
            if self.followed.is_some() {
                self.lead(router, slot);
            }
        }
        let packet = &self.packets.hot[slot as usize];
        let (size, out_port, vc) = (packet.size, packet.out_port, packet.out_vc);
        if first_port + usize::from(out_port) >= self.end_port
            || usize::from(vc) >> self.lane_shift != 0
        {
            no_such_output(self.base_router + router, out_port, vc);
        }
        if P::ON {
            let (job, port) = (packet.job, first_port + usize::from(out_port));
            self.probe.wait(self.link(port), vc, job, now);
        }
        if self.crossbar.is_some() {
            self.enter_fifo(first_port, input, slot);
            return;
        }
        let port = first_port + usize::from(out_port);
        let lane = (port << self.lane_shift) + usize::from(vc);
        let state = &mut self.ports[port];
        // One branch for all, as each by itself is unpredictable.
        let at_once = alone
            & (state.waiting == 0)
            & (state.free_at <= now)
            & (self.lanes[lane].credits >= size);
        if at_once {
            state.served = vc;
            self.transmit(router, first_port, port, lane, slot, now);
            return;
        }
        self.enter_output_queue(port, slot);
        let state = &mut self.ports[port];
        if state.free_at > now {
            if !state.wake {
                state.wake = true;
                let event = Event::new(state.free_at, router, Kind::Wake, u32::from(out_port), 0);
                self.schedule(event);
            }
        } else if alone {
            self.try_send(router, first_port, port, now);
        } else {
            self.touch(port);
        }
    }

    /// Sends a lesson back over the link by which a packet has come, if that leads
    /// to a router.
    fn teach_upstream(&mut self, slot: u32, lesson: u32, now: u64) {
        let packet = &self.packets.hot[slot as usize];
        let class = &self.classes[packet.upstream_class as usize];
        if class.terminal {
            return;
        }
        let (time, payload) = (now + class.latency, LESSON | lesson);
        let (router, port) = (packet.upstream_router, u32::from(packet.upstream_port));
        self.send_back(Kind::Wake, router, port, time, payload);
    }

    /// Changes what the routing algorithm keeps for a router of this partition.
    fn learn(&mut self, router: u32, port: u16, lesson: u32) {
        let at = RouterId(self.base_router + router);
        let memory = &mut self.memories[router as usize];
        self.routing.learn(at, memory, port, lesson);
    }

    /// A packet joins those that wait for the link of a port.
    #[inline(always)]
    pub(super) fn enter_output_queue(&mut self, port: usize, slot: u32) {
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let vc = usize::from(packet.out_vc);
        let state = &mut self.ports[port];
        state.queued += packet.size;
        state.waiting |= 1 << vc;
        let lane = &mut self.lanes[(port << self.lane_shift) + vc];
        if lane.head == NIL {
            lane.head = slot;
        } else {
            self.packets.hot[lane.tail as usize].next = slot;
        }
        lane.tail = slot;
    }

    /// Sends the next packet that waits for `port`, if the link is free and one
    /// has credits.
    pub(super) fn try_send(&mut self, router: u32, first_port: usize, port: usize, now: u64) {
        let state = &mut self.ports[port];
        if state.waiting == 0 {
            return;
        }
        if state.free_at > now {
            if !state.wake {
                state.wake = true;
                let event = Event::new(
                    state.free_at,
                    router,
                    Kind::Wake,
                    (port - first_port) as u32,
                    0,
                );
                self.schedule(event);
            }
            return;
        }
        if self.crossbar.is_some() {
            self.release_output(port);
        }
        let state = &mut self.ports[port];
        let lanes = port << self.lane_shift;
        let mut waiting = state.waiting;
        let chosen = match self.shared.config.router.arbitration {
            Arbitration::RoundRobin => loop {
                if waiting == 0 {
                    break None;
                }
                // The first waiting channel after the one served last.
                let later = waiting & (u16::MAX << state.served << 1);
                let vc = if later != 0 { later } else { waiting }.trailing_zeros() as usize;
                let lane = &self.lanes[lanes + vc];
                if self.credits_at_crossbar
                    || self.packets.hot[lane.head as usize].size <= lane.credits
                {
                    break Some(vc);
                }
                waiting &= !(1 << vc);
            },
            Arbitration::OldestFirst => {
                let mut best = None;
                while waiting != 0 {
                    let vc = waiting.trailing_zeros() as usize;
                    waiting &= waiting - 1;
                    let lane = &self.lanes[lanes + vc];
                    let packet = &self.packets.hot[lane.head as usize];
                    let age = (packet.created, packet.sequence, packet.source);
                    let may_leave = self.credits_at_crossbar || packet.size <= lane.credits;
                    if may_leave && best.is_none_or(|(oldest, _)| age < oldest) {
                        best = Some((age, vc));
                    }
                }
                best.map(|(_, vc)| vc)
            }
        };
        let Some(vc) = chosen else {
            if state.stalled_since == NEVER {
                state.stalled_since = now;
            }
            return;
        };
        if state.stalled_since != NEVER {
            if P::ON {
                let link = self.link(port);
                self.probe.settle(link, now);
            }
            self.ports[port].end_stall(now, self.warmup);
        }
        let state = &mut self.ports[port];
        state.served = vc as u8;
        let lane = &mut self.lanes[lanes + vc];
        let slot = lane.head;
        let packet = &self.packets.hot[slot as usize];
        state.queued -= packet.size;
        lane.head = packet.next;
        if lane.head == NIL {
            state.waiting &= !(1 << vc);
        }
        self.transmit(router, first_port, port, lanes + vc, slot, now);
        let state = &mut self.ports[port];
        if state.waiting != 0 && !state.wake {
            state.wake = true;
            let event = Event::new(
                state.free_at,
                router,
                Kind::Wake,
                (port - first_port) as u32,
                0,
            );
            self.schedule(event);
        }
    }

    /// Sends a packet through a router port that is free and has credits.
    #[inline(always)]
    fn transmit(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        lane: usize,
        slot: u32,
        now: u64,
    ) {
        let state = &mut self.ports[port];
        let class = &self.classes[state.class as usize];
        let (latency, terminal) = (class.latency, class.terminal);
        let packet = &mut self.packets.hot[slot as usize];
        let size = packet.size;
        let mut end = now + class.rate.duration(size, self.packet);
        let mut head = end;
        if let Some(flit) = self.flit {
            let flit = class.rate.first_flit_duration(size, flit);
            head = now + flit;
            // A link that is faster than the one before waits for the tail.
            end = end.max(packet.tail + self.delay + flit);
        }
        state.free_at = end;
        if now >= self.warmup {
            state.bytes += u64::from(size);
            state.packets += 1;
        }
        self.packet_hops += 1;
        self.last_move = now;
        let out_vc = packet.out_vc;
        if P::ON {
            let departure = Departure {
                job: packet.job,
                vc: out_vc,
                size,
                now,
                end,
                buffered: !terminal,
            };
            let (router, class) = (state.peer_router, state.class);
            if !terminal {
                self.probe
                    .arrive(router, class, departure.job, size, end + latency);
            }
            self.probe.send(self.link(port), departure);
        }
        if self.crossbar.is_some() {
            self.occupy_output(router, first_port, port, size, out_vc);
        } else {
            self.release_input(slot, end);
        }
        let state = &mut self.ports[port];
        if terminal {
            self.deliver(router, (port - first_port) as u32, slot, end + latency);
            return;
        }
        if !self.credits_at_crossbar {
            self.lanes[lane].credits -= size;
        }
        state.downstream += size;
        let (peer_router, peer_port, class) = (state.peer_router, state.peer_port, state.class);
        let arrival = head + latency + self.delay;
        let here = self.base_router + router;
        let packet = if self.has_router(peer_router) {
            let peer = peer_router - self.base_router;
            self.schedule(Event::new(arrival, peer, Kind::Arrive, peer_port, slot));
            &mut self.packets.hot[slot as usize]
        } else {
            self.post_packet(peer_router, peer_port, arrival, slot)
        };
        packet.route.vc = out_vc;
        packet.out_port = UNROUTED;
        packet.tail = end + latency;
        packet.upstream_port = (port - first_port) as u16;
        packet.upstream_router = here;
        packet.upstream_class = class;
    }

    /// The tail of a packet leaves its input buffer at `end`: tells who sent it.
    #[inline(always)]
    pub(super) fn release_input(&mut self, slot: u32, end: u64) {
        let packet = &self.packets.hot[slot as usize];
        let class = &self.classes[packet.upstream_class as usize];
        let time = end + class.latency + self.shared.credit_delay;
        let whose = if class.terminal {
            CREDIT_FOR_INTERFACE
        } else {
            0
        };
        let credit = P::credit(packet.size, packet.job);
        let payload = (u32::from(packet.route.vc) << CREDIT_VC_SHIFT) | whose | credit;
        let (router, port) = (packet.upstream_router, u32::from(packet.upstream_port));
        self.send_back(Kind::Credit, router, port, time, payload);
    }

    /// Sends an event to the port of a router of the network that a packet came from.
    #[inline(always)]
    fn send_back(&mut self, kind: Kind, router: u32, port: u32, time: u64, payload: u32) {
        if self.has_router(router) {
            let event = Event::new(time, router - self.base_router, kind, port, payload);
            self.schedule(event);
        } else {
            let (partition, router) = self.elsewhere(router);
            let event = Event::new(time, router, kind, port, payload);
            let credits = &mut self.outbox[partition].credits;
            prefetch_to_write(credits, credits.len() + 16);
            credits.push(event);
        }
    }

    /// Whether a router of the network is in this partition.
    #[inline(always)]
    fn has_router(&self, router: u32) -> bool {
        router.wrapping_sub(self.base_router) < self.end_router - self.base_router
    }

    /// Lets a packet arrive at a router of another partition. Returns the copy
    /// of it that goes there, for what changes on the way: written only then,
    /// as copying what has just been written stalls the processor.
    fn post_packet(&mut self, router: u32, port: u32, time: u64, slot: u32) -> &mut Packet {
        let (partition, router) = self.elsewhere(router);
        let mail = &mut self.outbox[partition];
        mail.arrivals
            .push(Event::new(time, router, Kind::Arrive, port, 0));
        let packet = &self.packets.hot[slot as usize];
        if !packet.bare {
            mail.contents.push(self.packets.contents[slot as usize]);
        }
        let copy = mail.packets.len();
        prefetch_to_write(&mail.packets, copy + 8);
        prefetch_to_write(&mail.arrivals, copy + 16);
        mail.packets.push(*packet);
        self.packets.remove(slot);
        &mut mail.packets[copy]
    }

    /// Partition of a router of the network, and the router's number there.
    #[inline(always)]
    fn elsewhere(&self, router: u32) -> (usize, u32) {
        let partition = usize::from(self.partition_of[router as usize]);
        (partition, router - self.bounds[partition])
    }

    /// Takes in what another partition sent, and leaves it empty.
    pub fn receive(&mut self, mail: &mut Mail) {
        for event in mail.credits.drain(..) {
            self.calendar.push(event);
        }
        let mut contents = mail.contents.drain(..);
        for index in 0..mail.arrivals.len() {
            // The lines still lie in the cache of the processor that wrote them.
            prefetch(&mail.packets, index + 8);
            self.packets.prefetch_free(8);
            let (event, packet) = (mail.arrivals[index], mail.packets[index]);
            let slot = if packet.bare {
                self.packets.insert_bare(packet)
            } else {
                let contents = contents.next().expect("one per packet that is not bare");
                self.packets.insert(packet, contents)
            };
            self.calendar.push(event.with_payload(slot));
        }
        drop(contents);
        mail.arrivals.clear();
        mail.packets.clear();
    }

    /// Publishes the occupancy of this partition's ports.
    pub fn publish_occupancy(&self) {
        for (port, state) in self.ports[0..self.router_ports].iter().enumerate() {
            let occupancy = state.queued.saturating_add(state.downstream);
            self.snapshot[self.base_port as usize + port]
                .store(occupancy, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Ends the warm-up at `now`, when everything before has happened.
    pub fn begin_measuring(&mut self, now: u64) {
        self.warmup = now;
        for port in self.ports.iter_mut() {
            (port.bytes, port.packets, port.stall) = (0, 0, 0);
        }
        self.jobs.iter_mut().for_each(JobCollector::begin_measuring);
        self.probe.begin_measuring();
    }

    /// The link of a port as its probe sees it.
    #[inline(always)]
    pub(super) fn link(&self, port: usize) -> LinkState {
        LinkState {
            port,
            stalled_since: self.ports[port].stalled_since,
            warmup: self.warmup,
        }
    }

    /// What jobs did at this partition's links up to the `end` of the run.
    pub fn attribution(&mut self, end: u64) -> Vec<LinkAttribution> {
        if !P::ON {
            return Vec::new();
        }
        for port in 0..self.ports.len() {
            let link = self.link(port);
            self.probe.settle(link, end);
        }
        let watches = self.probe.links(0..self.ports.len()).iter().enumerate();
        let used = watches.filter(|(_, watch)| !(watch.jobs.is_empty() && watch.waits.is_empty()));
        used.map(|(port, watch)| {
            let link = match port.checked_sub(self.router_ports) {
                None => Sender::Router(PortId::from_index(self.base_port as usize + port)),
                Some(index) => Sender::Node(NodeId(self.interfaces[index].node)),
            };
            let (mut jobs, mut waits) = (watch.jobs.clone(), watch.waits.clone());
            jobs.sort_unstable_by_key(|job| job.job);
            waits.sort_unstable_by_key(|wait| (wait.job, wait.by));
            LinkAttribution { link, jobs, waits }
        })
        .collect()
    }

    /// Bytes of memory per router port, virtual channels included.
    pub fn bytes_per_port(&self) -> usize {
        size_of::<Port>() + (size_of::<Lane>() << self.lane_shift)
    }
}

impl Port {
    /// Takes over a saved state; what is wired stays.
    pub fn restore(&mut self, saved: Self) {
        *self = Self {
            peer_port: self.peer_port,
            peer_router: self.peer_router,
            class: self.class,
            ..saved
        };
    }

    fn new(class: u8, peer_port: u32, peer_router: u32) -> Self {
        Self {
            free_at: 0,
            stalled_since: NEVER,
            bytes: 0,
            stall: 0,
            packets: 0,
            queued: 0,
            downstream: 0,
            peer_port,
            peer_router,
            waiting: 0,
            class,
            served: 0,
            wake: false,
        }
    }

    /// Accounts a stall that ends now.
    pub fn end_stall(&mut self, now: u64, warmup: u64) {
        self.stall += now.saturating_sub(self.stalled_since.max(warmup));
        self.stalled_since = NEVER;
    }
}
