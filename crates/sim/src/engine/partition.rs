//! A partition: consecutive routers with their nodes, simulated by one thread.

mod classes;
mod congestion;
mod endpoint;
mod forward;
mod lanes;
mod losses;
mod mail;
mod message_routes;
pub(super) mod view;
mod window;

use std::ops::Range;

use odonata_mpi::Rank;
use odonata_network::{Peer, Topology};
use odonata_run::memory::{filled, vec_in_huge_pages};
use odonata_run::{Arbitration, Decisions, JobLoad, KeyMap, LinkAttribution, MessageRecord};
use odonata_units::{NodeId, PortId, RankId, RouterId, Sender};

use super::calendar::{Calendar, Event, Kind};
use super::flows::Flows;
use super::interface::{Interface, Interfaces, OpenSource, OutMessage};
use super::measure::{Accounts, JobCollector};
use super::model::Model;
use super::packets::{NIL, PACKETS, Packets};
use super::payload::timer_payload;
use super::port::{Grid, NEVER, PORTS, Port, Ports, VirtualChannel};
use super::probe::{ACCOUNTS, LinkState, Probe};
use super::protocol::Protocol;
use super::queues::{Queues, WAITING};
use super::ranks::Ranks;
use super::routed::{Routed, RoutingState, Snapshot, Tables};
use super::scheduler::Scheduler;
use super::shared::{Class, Shared};
use super::switch::Switch;
use super::table::Table;
use view::sent_mask;
use window::Window;

pub(super) use mail::{Mail, Neighbours};

/// The state of a partition. Alone in its cache lines, and in the pairs of lines
/// that a processor fetches together.
#[repr(align(128))]
pub(super) struct Partition<'a, M: Model> {
    pub shared: &'a Shared<'a>,
    /// Copies of what the hot path needs of `shared`.
    pub classes: Box<[Class; 256]>,
    pub delay: u64,
    pub stop: u64,
    pub warmup: u64,
    pub packet: u32,
    pub flit: Option<u32>,
    /// See [`Shared::least_room`].
    pub least_room: u32,
    /// Whether ports and interfaces are too many for a processor's second-level
    /// cache, so that it pays to load them ahead of time.
    exceeds_cache: bool,
    /// Whether packets of a router's own nodes wait behind those from other routers.
    transit_first: bool,
    /// First router and port, global numbers; and one past the last router.
    pub base_router: u32,
    pub end_router: u32,
    pub base_port: u32,
    pub ports: Ports,
    pub switch: M::Switch,
    pub scheduler: M::Scheduler,
    pub protocol: M::Protocol,
    pub routing: RoutingState<'a, M>,
    pub packets: Packets,
    pub calendar: Calendar,
    pub interfaces: Interfaces,
    pub ranks: Ranks<'a>,
    pub accounts: Accounts,
    /// Keeps account of who waits for whom, on request.
    pub probe: M::Probe,
    pub neighbours: Neighbours,
    pub window: Window,
    /// Time of the event that was last seen; in a window, router follows router.
    pub now: u64,
    /// Where packets can be lost: time of the latest event of all routers, credits included: the
    /// same, over all partitions, whatever their number. Checkpoints do without: a run that goes on
    /// has events to come, which are later.
    pub latest_event: u64,
    /// When a packet last left a port.
    pub last_move: u64,
    /// Number of the boundary before the last step, the same in all partitions.
    pub latest_boundary: Option<u64>,
}

/// Who asks for memory.
const RECORDED: &str = "recorded messages";

/// What a second-level cache holds beside the packets that pass.
const CACHE_BYTES: usize = 1 << 20;

/// Ports of these routers, then one per interface of their nodes; and the interfaces.
fn wired(topology: &Topology, routers: Range<u32>) -> (Vec<Port>, Vec<Interface>) {
    let (first, last) = (routers.start as usize, routers.end as usize);
    let peers =
        &topology.peer[topology.first_port[first] as usize..topology.first_port[last] as usize];
    let is_node = |peer: &&Peer| matches!(peer, Peer::Node(_));
    let nodes = peers.iter().filter(is_node).count();
    let mut ports = vec_in_huge_pages(peers.len() + nodes, PORTS);
    let mut interfaces = vec_in_huge_pages(nodes, PORTS);
    for router in routers {
        for port in topology.ports_of(RouterId(router)) {
            let class = topology.class_of_port[port].0;
            let (peer_port, peer_router) = match topology.peer[port] {
                Peer::Node(node) => {
                    let terminal = port as u32 - topology.first_port[router as usize];
                    interfaces.push(Interface::new(node.0, router, terminal, class));
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
    let behind = |at: &Interface| Port::new(at.class, at.terminal, at.router);
    ports.extend(interfaces.iter().map(behind));
    (ports, interfaces)
}

/// The virtual channels of ports, `1 << shift` each, with all credits and nothing that waits.
fn empty_channels(
    shared: &Shared<'_>,
    ports: &[Port],
    router_ports: usize,
    shift: u32,
) -> Vec<VirtualChannel> {
    let mut channels = vec_in_huge_pages(ports.len() << shift, PORTS);
    for (index, port) in ports.iter().enumerate() {
        let class = &shared.classes[port.class as usize];
        let channel = VirtualChannel {
            credits: match index < router_ports {
                true => shared.credits(class),
                false => class.buffer,
            },
            head: NIL,
            tail: NIL,
        };
        channels.extend(std::iter::repeat_n(channel, 1 << shift));
    }
    channels
}

impl<'a, M: Model> Partition<'a, M> {
    pub fn new(
        shared: &'a Shared<'a>,
        routing: &'a dyn Routed<M>,
        snapshot: &'a Snapshot,
        bounds: &[u32],
        index: usize,
    ) -> Self {
        let topology = shared.topology;
        let (base_router, end_router) = (bounds[index], bounds[index + 1]);
        let base_port = topology.first_port[base_router as usize];
        let end_port = topology.first_port[end_router as usize];
        let router_ports = (end_port - base_port) as usize;
        let (ports, interfaces) = wired(topology, base_router..end_router);
        let channel_shift = shared.vcs.next_power_of_two().ilog2();
        let channels = empty_channels(shared, &ports, router_ports, channel_shift);
        let routers = (end_router - base_router) as usize;
        let mut classes = Box::new([shared.classes[0]; 256]);
        classes[..shared.classes.len()].copy_from_slice(&shared.classes);
        let promises = routing.reserves() || routing.reads_channels() || shared.lanes.are_several();
        let exceeds_cache = ports.len()
            * (size_of::<Port>() + (size_of::<VirtualChannel>() << channel_shift))
            + interfaces.len() * (size_of::<Interface>() + size_of::<OpenSource>())
            > CACHE_BYTES;
        let mut partition = Self {
            shared,
            classes,
            delay: shared.delay,
            stop: shared.stop,
            warmup: shared.warmup,
            packet: shared.packet,
            flit: shared.flit,
            least_room: shared.least_room,
            exceeds_cache,
            transit_first: shared.config.router.arbitration == Arbitration::TransitFirst,
            base_router,
            end_router,
            base_port,
            probe: M::Probe::new(shared, ports.len()),
            scheduler: M::Scheduler::new(shared, ports.len()),
            protocol: M::Protocol::new(shared, router_ports, &interfaces),
            switch: M::Switch::new(
                shared,
                base_router..end_router,
                router_ports << channel_shift,
            ),
            ports: Ports {
                all: ports.into(),
                of_routers: router_ports,
                grid: Grid {
                    shift: channel_shift,
                },
                promised: match promises {
                    true => filled(0, channels.len(), PORTS),
                    false => Vec::new(),
                },
                channels: channels.into(),
                silent: Vec::new(),
                last_arrivals: match shared.classes.iter().any(|class| class.impaired) {
                    true => filled(0, router_ports, PORTS),
                    false => Vec::new(),
                },
            },
            routing: RoutingState {
                tables: Tables::Given(routing),
                reads_occupancy: routing.reads_occupancy(),
                closes_routers: routing.reads_occupancy() || shared.outages.is_some(),
                keeps_decisions: promises
                    || M::Scheduler::CLASSES
                    || shared.outages.is_some()
                    || shared.config.decisions == Decisions::PerMessage,
                outages: shared.outages.clone(),
                snapshot,
                q_tables: match routing.learns() {
                    true => (base_router..end_router)
                        .map(|router| routing.initial_q_table(RouterId(router)).into_boxed_slice())
                        .collect(),
                    false => Vec::new(),
                },
                message_routes: match shared.config.decisions {
                    Decisions::PerPacket => None,
                    Decisions::PerMessage => Some(Box::default()),
                },
            },
            packets: Packets::default(),
            calendar: Calendar::new(shared.window_shift(), routers),
            interfaces: Interfaces {
                all: interfaces.into(),
                waiting: Queues::default(),
                sources: Table::default(),
                incomplete: KeyMap::default(),
                outgoing: OutMessage::default(),
                classes: Vec::new(),
                flows: routing
                    .flow_labels()
                    .map(|labels| Box::new(Flows::new(labels))),
            },
            ranks: Ranks::default(),
            accounts: Accounts::new(shared),
            neighbours: Neighbours::new(bounds),
            window: Window::default(),
            now: 0,
            latest_event: 0,
            last_move: 0,
            latest_boundary: None,
        };
        partition.place_ranks();
        partition
    }

    /// Puts every rank of every job that has its node here on it.
    fn place_ranks(&mut self) {
        let shared = self.shared;
        let mut interface_of_node: KeyMap<u32> = KeyMap::default();
        for (index, interface) in self.interfaces.all.iter().enumerate() {
            interface_of_node.insert(u64::from(interface.node), index as u32);
        }
        if M::Scheduler::CLASSES {
            self.interfaces.classes = vec![0; self.interfaces.all.len()];
        }
        self.ranks.local =
            vec![NIL; *shared.first_rank.last().expect("one entry past the last") as usize];
        for (job, plan) in shared.jobs.iter().enumerate() {
            for (rank, node) in plan.node_of_rank.iter().enumerate() {
                let Some(&interface) = interface_of_node.get(&u64::from(node.0)) else {
                    continue;
                };
                let (job, rank) = (job as u32, rank as u32);
                if M::Scheduler::CLASSES {
                    self.interfaces.classes[interface as usize] |= plan.classes.bits();
                }
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
                        self.accounts.jobs[job as usize].messages_to_come += messages;
                        let source = OpenSource {
                            interface,
                            job,
                            rank,
                            next_message: 0,
                            next_time: first,
                        };
                        self.interfaces.sources.push(source, "sources of traffic");
                    }
                    JobLoad::Closed(_) => {
                        let local = self.ranks.all.len() as u32;
                        self.ranks.local[shared.rank(job, rank) as usize] = local;
                        self.ranks.all.push(Rank::new(job, rank, interface));
                        self.ranks.unfinished += 1;
                        self.accounts.jobs[job as usize].stimuli += 1;
                        let at = &self.interfaces.all[interface as usize];
                        let event = Event::new(
                            plan.start.0,
                            at.router - self.base_router,
                            Kind::Node,
                            at.terminal,
                            timer_payload(local),
                        );
                        self.calendar.push(event);
                    }
                }
            }
        }
        // Sources of one interface lie together, so that it finds its own.
        self.interfaces
            .sources
            .sort_by_key(|source| (source.interface, source.job, source.rank));
        for index in 0..self.interfaces.sources.len() {
            let source = self.interfaces.sources[index];
            let interface = &mut self.interfaces.all[source.interface as usize];
            if interface.sources.is_empty() {
                interface.sources = index as u32..index as u32 + 1;
            } else {
                interface.sources.end = index as u32 + 1;
            }
        }
        for index in 0..self.interfaces.all.len() {
            self.arm_interface(index, 0);
        }
    }

    /// What holds memory that grows with a run: for what, and about how many bytes.
    pub fn holders(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let records = self.accounts.messages.capacity() * size_of::<MessageRecord>();
        let own = [
            (PACKETS, self.packets.bytes()),
            (WAITING, self.interfaces.waiting.bytes()),
            (RECORDED, records),
        ];
        let own = own.into_iter().chain([(ACCOUNTS, self.probe.bytes())]);
        own.chain(self.ranks.all.iter().flat_map(Rank::holders))
    }

    /// Ranks of closed-loop jobs that have not finished, and messages of open-loop jobs
    /// with an end that have not arrived. Only the (wrapping) sum over all partitions has
    /// a meaning, as messages are to come where they are sent from and arrive elsewhere.
    pub fn pending(&self) -> u64 {
        let jobs = self.accounts.jobs.iter().filter(|job| job.has_end);
        jobs.fold(self.ranks.unfinished, |sum, job| {
            sum.wrapping_add(job.messages_to_come)
                .wrapping_sub(job.messages_delivered)
        })
    }

    /// What will still move ranks. Only the (wrapping) sum over all partitions has a meaning.
    pub fn stimuli(&self) -> u64 {
        let jobs = self.accounts.jobs.iter();
        let go_on = jobs.filter(|job| job.aborted.is_none());
        go_on.map(|job| job.stimuli).sum::<i64>() as u64
    }

    /// Whether something is left to happen that is not simulated, as it would be after
    /// the end.
    pub fn goes_on(&self) -> bool {
        let later = |source: &OpenSource| (self.stop..NEVER).contains(&source.next_time);
        self.next_window().is_some()
            || self.accounts.leaving_bytes > 0
            || self.accounts.loopback_bytes > 0
            || self.interfaces.sources.iter().any(later)
    }

    /// When the last byte arrives of what open-loop jobs with an end have sent so far
    /// through their last routers.
    pub fn last_delivery(&self) -> u64 {
        let jobs = self.accounts.jobs.iter().filter(|job| job.has_end);
        jobs.map(|job| job.last_delivery).max().unwrap_or(0)
    }

    /// The earliest window that has events, if any.
    pub fn next_window(&self) -> Option<u64> {
        self.calendar.next_window()
    }

    /// Publishes the occupancy of this partition's ports.
    pub fn publish_occupancy(&self) {
        let sent = sent_mask(self.switch.counts_sent()) as u32;
        for (port, state) in self.ports.all[0..self.ports.of_routers].iter().enumerate() {
            let occupancy = state.queued.saturating_add(state.downstream & sent);
            self.routing.snapshot[self.base_port as usize + port]
                .store(occupancy, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Ends the warm-up at `now`, when everything before has happened.
    pub fn begin_measuring(&mut self, now: u64) {
        self.warmup = now;
        self.accounts
            .jobs
            .iter_mut()
            .for_each(JobCollector::begin_measuring);
        self.probe.begin_measuring();
        self.protocol.begin_measuring();
        for index in 0..self.ports.all.len() {
            let unsent = self.unsent(index, now);
            let port = &mut self.ports.all[index];
            (port.bytes, port.packets, port.stall) = (unsent, 0, 0);
            self.probe.carry(index, unsent);
        }
    }

    /// Whether packets of a router's own nodes wait behind those from other routers.
    #[inline(always)]
    pub(super) fn transit_first(&self) -> bool {
        self.transit_first
    }

    /// The link of a port as its probe sees it.
    #[inline(always)]
    pub(super) fn link(&self, port: usize) -> LinkState {
        LinkState {
            port,
            stalled_since: self.ports.all[port].stalled_since,
            warmup: self.warmup,
        }
    }

    /// What jobs did at this partition's links up to the `end` of the run.
    pub fn attribution(&mut self, end: u64) -> Vec<LinkAttribution> {
        if !M::Probe::ON {
            return Vec::new();
        }
        for port in 0..self.ports.all.len() {
            let (link, unsent) = (self.link(port), self.unsent(port, end));
            self.probe.settle(link, end);
            self.probe.leave(port, unsent);
        }
        let watches = self.probe.links(0..self.ports.all.len()).iter().enumerate();
        let used = watches.filter(|(_, watch)| !(watch.jobs.is_empty() && watch.waits.is_empty()));
        used.map(|(port, watch)| {
            let link = match port.checked_sub(self.ports.of_routers) {
                None => Sender::Router(PortId::from_index(self.base_port as usize + port)),
                Some(index) => Sender::Node(NodeId(self.interfaces.all[index].node)),
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
        size_of::<Port>() + (size_of::<VirtualChannel>() << self.ports.grid.shift)
    }
}
