//! What a saved state refers to.
//!
//! The one list of it: every record of a state is taken apart here field by field, never
//! with `..`, so that a new field does not compile before it is said whether it refers to
//! something outside of itself, to what, and how that is checked. [`super::restore`] puts
//! nothing in place that has not been through here. What is checked besides are times and
//! sizes without which a sum could leave its type.
//!
//! Numbers that are taken as they are (`_`) name nothing: counters, amounts, flags, and what
//! belongs to the program of a rank, which [`Rank::restore`] hands to it.
//!
//! [`Rank::restore`]: odonata_mpi::Rank::restore

use odonata_mpi::matching::{Arrived, Envelope, Line, Matching, Posted, Unmatched, Wanted};
use odonata_mpi::{MessageKind, Outgoing, Processor, RankRecord, Sending, Stage, Task};
use odonata_network::{PacketRoute, Peer, Topology};
use odonata_run::{
    Activity, Arrival, JobAtLink, JobLoad, JobWait, MessageRecord, OccupancyCount, RankInterval,
    RankTimes, Timeline, Traffic,
};
use odonata_units::{Picoseconds, PortId, RankId, RouterId};

use super::{
    About, ChannelRecord, EventRecord, FifoRecord, NodeRecord, Parcel, RouterRecord, SourceRecord,
    Whole,
};
use crate::engine::calendar::{Kind, MAX_PAYLOAD};
use crate::engine::crossbar::{Side, WAKE_INPUT, WAKE_OUTPUT};
use crate::engine::endpoint::{Interface, NodeEvent, OutMessage, WAKE_INTERFACE};
use crate::engine::measure::JobCollector;
use crate::engine::message_routes::Decision;
use crate::engine::packets::{Contents, NIL, Packet, UNROUTED};
use crate::engine::partition::{FEEDBACK, NEVER, Port};
use crate::engine::probe::{Channel, LinkWatch};
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT, Shared};

/// What is wrong: the field that refers to nothing, or says what cannot be.
type Checked = Result<(), &'static str>;

fn ensure(holds: bool, field: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(field) }
}

/// No amount or time in a state is larger, so that two can be added.
const MOST: u64 = 1 << 62;
/// Latest time: the end of simulated time, and what takes place after it.
const LATEST: u64 = 1 << 63;
/// Most routers that a packet has visited: of more, its count could not go on.
const MOST_ROUTERS_VISITED: u16 = 1 << 15;
/// Processors of a rank are named by eight bits.
const MOST_PROCESSORS: usize = 1 << 8;

fn amounts<const N: usize>(amounts: [u64; N], field: &'static str) -> Checked {
    ensure(amounts.into_iter().all(|amount| amount <= MOST), field)
}

fn times<const N: usize>(times: [u64; N], field: &'static str) -> Checked {
    ensure(times.into_iter().all(|time| time <= LATEST), field)
}

/// A time that may be none.
fn time_or_never(time: u64, field: &'static str) -> Checked {
    ensure(time <= LATEST || time == NEVER, field)
}

/// Where a packet of a state is.
#[derive(Clone, Copy)]
enum Held {
    /// In the queue of an output and channel.
    Output(usize, usize),
    /// In the FIFO of an input and channel.
    Input(usize, usize),
    /// About to arrive at an input.
    OnItsWay(usize),
    /// At the node behind a port, having come through the network.
    AtNode(usize),
    /// At the node behind a port, having never left it.
    WithinNode(usize),
}

/// What concerns the run as a whole; `boundary`: the time between two boundaries.
pub(super) fn whole(shared: &Shared<'_>, boundary: u64, whole: &Whole) -> Checked {
    let Whole {
        at,
        warmup,
        measure: _,
        latest_boundary,
        stimuli,
        injected_bytes,
        delivered_bytes,
        leaving_bytes,
        loopback_bytes,
        control_bytes,
        packets_delivered,
        packet_hops,
        events,
        last_move,
        jobs,
        timeline,
        routers,
        messages,
        arrivals,
        // Checked where they are taken up.
        circuits: _,
    } = whole;
    let window = 1 << shared.window_shift();
    ensure(*at <= shared.stop && at.is_multiple_of(window), "its time")?;
    ensure(*warmup <= shared.stop, "the end of its warm-up")?;
    let latest = latest_boundary.is_none_or(|number| number <= at / boundary);
    ensure(latest, "its latest boundary")?;
    let signed = [*stimuli, *loopback_bytes, *control_bytes];
    let signed = signed.map(i64::unsigned_abs);
    amounts(signed, "a sum of the whole run")?;
    let sums = [
        *injected_bytes,
        *delivered_bytes,
        *leaving_bytes,
        *packets_delivered,
        *packet_hops,
        *events,
        *messages,
    ];
    amounts(sums, "a sum of the whole run")?;
    ensure(*last_move <= *at, "the last move of a packet")?;
    ensure(*routers == shared.topology.routers() as u64, "its routers")?;
    ensure(jobs.len() == shared.jobs.len(), "its jobs")?;
    for (collector, plan) in jobs.iter().zip(shared.jobs) {
        let iterations = match &plan.load {
            JobLoad::Open(_) => 0,
            JobLoad::Closed(program) => program.iterations() as usize,
        };
        collected(*at, iterations, collector)?;
    }
    bins(shared, timeline)?;
    for arrival in arrivals {
        let Arrival {
            begin,
            router,
            class,
            job,
            bytes,
            packets,
        } = arrival;
        times([begin.0], "the time of an arrival")?;
        let router = router.index() < shared.topology.routers();
        ensure(router, "the router of an arrival")?;
        let class = usize::from(*class) < shared.classes.len();
        ensure(class, "the link class of an arrival")?;
        ensure((*job as usize) < shared.jobs.len(), "the job of an arrival")?;
        amounts([*bytes, *packets], "the bytes of an arrival")?;
    }
    Ok(())
}

/// What was measured of a job by the time `at`.
fn collected(at: u64, iterations: usize, collector: &JobCollector) -> Checked {
    let JobCollector {
        messages_created,
        messages_delivered,
        bytes_created,
        bytes_delivered,
        bytes_delivered_measured,
        bytes_created_measured,
        message_latency,
        packet_latency,
        single_latency,
        routers_visited,
        iteration_end,
        message_bytes,
        last_finish,
        last_delivery,
        // These follow from the job, and what is not finished from its ranks.
        messages_to_come: _,
        has_end: _,
        unfinished,
    } = collector;
    let counts = [
        *messages_created,
        *messages_delivered,
        *bytes_created,
        *bytes_delivered,
        *bytes_delivered_measured,
        *bytes_created_measured,
    ];
    amounts(counts, "a count of a job")?;
    let distributions = [
        message_latency,
        packet_latency,
        single_latency,
        message_bytes,
    ];
    let sound = distributions.into_iter().all(|all| all.is_sound(MOST));
    ensure(sound, "a distribution of a job")?;
    let visited = routers_visited.len() <= usize::from(u16::MAX) + 1
        && routers_visited.iter().all(|&packets| packets <= MOST);
    ensure(visited, "the routers that packets of a job visited")?;
    let ends = iteration_end.len() == iterations && iteration_end.iter().all(|&end| end <= at);
    ensure(ends, "the iterations of a job")?;
    times([*last_finish, *last_delivery], "the end of a job")?;
    ensure(*unfinished == 0, "the unfinished ranks of a job")
}

fn bins(shared: &Shared<'_>, timeline: &Timeline) -> Checked {
    let Timeline { bin, activity } = timeline;
    let width = match shared.measurement.timeline_bin {
        Some(width) => *bin == width,
        None => (1..=LATEST).contains(&bin.0),
    };
    ensure(width, "the width of the timeline")?;
    let jobs = shared.jobs.len().max(1);
    ensure(
        activity.len().is_multiple_of(jobs),
        "the jobs of the timeline",
    )?;
    for of_bin in activity {
        let Activity {
            injected_bytes,
            delivered_bytes,
            messages,
            latency_ps,
        } = of_bin;
        let amount = [*injected_bytes, *delivered_bytes, *messages, *latency_ps];
        amounts(amount, "the timeline")?;
    }
    Ok(())
}

/// A recorded message.
pub(super) fn message(shared: &Shared<'_>, message: &MessageRecord) -> Checked {
    let MessageRecord {
        job,
        source_rank,
        destination_rank,
        source,
        destination,
        bytes: _,
        created,
        delivered,
    } = message;
    let ranks = ranks_of(shared, *job).ok_or("the job of a recorded message")?;
    let of_job = *source_rank < ranks && *destination_rank < ranks;
    ensure(of_job, "a rank of a recorded message")?;
    let nodes = shared.topology.nodes();
    let there = source.index() < nodes && destination.index() < nodes;
    ensure(there, "a node of a recorded message")?;
    let order = created <= delivered && delivered.0 <= LATEST;
    ensure(order, "a time of a recorded message")
}

/// Ranks of a job, if there is such a job.
fn ranks_of(shared: &Shared<'_>, job: u32) -> Option<u32> {
    let job = shared.jobs.get(job as usize)?;
    Some(job.node_of_rank.len() as u32)
}

/// A router of the network, in whose record everything is checked.
pub(super) struct AtRouter<'c, 'a> {
    pub shared: &'c Shared<'a>,
    /// The network with the circuits of the state.
    pub network: &'c Topology,
    /// Time of the state.
    pub at: u64,
    /// Global number, and its first port's.
    pub router: u32,
    pub first: usize,
    pub radix: usize,
    /// Whether the routing algorithm learns, and how many numbers it keeps here.
    pub learns: bool,
    pub q_table: usize,
    /// Entries of the snapshot for this router.
    pub occupancies: usize,
    pub credits_at_crossbar: bool,
    /// Size of an output buffer, if the crossbar is bounded.
    pub output_buffer: Option<u64>,
    pub per_message: bool,
    /// Bits of a credit's payload that are its size.
    pub credit_size_bits: u32,
    /// Whether links are watched.
    pub watched: bool,
    pub nodes: Vec<AtNode>,
}

/// A node of the router.
pub(super) struct AtNode {
    pub node: u32,
    pub terminal: usize,
    /// Its open-loop sources.
    pub sources: usize,
    /// Its ranks of closed-loop jobs: job and number.
    pub ranks: Vec<(u32, u32)>,
}

impl AtRouter<'_, '_> {
    fn peer(&self, port: usize) -> Peer {
        self.shared.topology.peer[self.first + port]
    }

    fn class(&self, port: usize) -> usize {
        self.shared.topology.class_of_port[self.first + port].index()
    }

    fn is_connected(&self, port: usize) -> bool {
        port < self.radix && self.peer(port) != Peer::Unconnected
    }

    /// The node behind a port.
    fn node_at(&self, port: usize) -> Option<u32> {
        match self.peer(port) {
            Peer::Node(node) => Some(node.0),
            _ => None,
        }
    }

    /// Everything in the record of the router.
    pub fn check(&self, record: &RouterRecord) -> Checked {
        let RouterRecord {
            ports,
            channels,
            sides,
            fifos,
            occupancy,
            q_table,
            message_routes,
            nodes,
            watches,
            events,
        } = record;
        let vcs = self.shared.vcs;
        let bounded = usize::from(self.output_buffer.is_some());
        ensure(ports.len() == self.radix, "its ports")?;
        ensure(channels.len() == self.radix * vcs, "its virtual channels")?;
        ensure(sides.len() == self.radix * bounded, "its crossbar ports")?;
        ensure(
            fifos.len() == self.radix * vcs * bounded.max(usize::from(self.shared.hands_over)),
            "its crossbar FIFOs",
        )?;
        ensure(occupancy.len() == self.occupancies, "its occupancies")?;
        ensure(q_table.len() == self.q_table, "its table of Q-learning")?;
        ensure(nodes.len() == self.nodes.len(), "its nodes")?;
        let links = if self.watched { self.radix } else { 0 };
        ensure(watches.len() == links, "its watched links")?;
        let finite = q_table.iter().all(|value| value.is_finite());
        ensure(finite, "a learnt value")?;
        for (place, channel) in channels.iter().enumerate() {
            self.channel(place / vcs, place % vcs, channel)?;
        }
        for (place, fifo) in fifos.iter().enumerate() {
            let FifoRecord { room: _, queue } = fifo;
            let held = match self.shared.hands_over {
                true => Held::Output(place / vcs, place % vcs),
                false => Held::Input(place / vcs, place % vcs),
            };
            for parcel in queue {
                self.parcel(held, parcel)?;
            }
        }
        for (port, saved) in ports.iter().enumerate() {
            self.port(port, saved, &channels[port * vcs..(port + 1) * vcs], fifos)?;
        }
        for (port, saved) in sides.iter().enumerate() {
            self.side(port, saved, channels, fifos)?;
        }
        ensure(
            self.per_message || message_routes.is_empty(),
            "a decision per message",
        )?;
        for (visited, message, decision) in message_routes {
            ensure(
                *visited <= MOST_ROUTERS_VISITED,
                "the routers of a decision",
            )?;
            let source = message >> 32;
            let there = source < self.shared.topology.nodes() as u64;
            ensure(there, "the message of a decision")?;
            self.decision(decision)?;
        }
        for watch in watches {
            self.watch(watch)?;
        }
        for (place, saved) in self.nodes.iter().zip(nodes) {
            self.node(place, saved)?;
        }
        for event in events {
            self.event(event)?;
        }
        Ok(())
    }

    /// What is common to the sending sides of links.
    fn link(&self, port: &Port) -> Checked {
        let Port {
            free_at,
            stalled_since,
            bytes,
            stall,
            packets: _,
            queued: _,
            downstream: _,
            // These are wired.
            peer_port: _,
            peer_router: _,
            class: _,
            waiting: _,
            served,
            wake: _,
            sending,
        } = port;
        times([*free_at], "when a link is free")?;
        time_or_never(*stalled_since, "since when a link is stalled")?;
        amounts([*bytes, *stall], "what a link sent")?;
        ensure(
            usize::from(*served) < self.shared.vcs,
            "the channel that a link served",
        )?;
        ensure(*sending <= self.shared.packet, "the packet on a link")
    }

    /// A port of the router with its channels.
    fn port(
        &self,
        port: usize,
        saved: &Port,
        channels: &[ChannelRecord],
        fifos: &[FifoRecord],
    ) -> Checked {
        self.link(saved)?;
        let shared = self.shared;
        let class = &shared.classes[self.class(port)];
        let room = |parcel: &Parcel| u64::from(shared.room(&parcel.packet));
        let (mut waiting, mut queued, mut sent) = (0, 0, 0);
        for (vc, ChannelRecord { credits, queue }) in channels.iter().enumerate() {
            waiting |= u16::from(!queue.is_empty()) << vc;
            let here: u64 = queue.iter().map(room).sum();
            queued += here;
            sent += u64::from(shared.credits(class) - credits);
            if self.credits_at_crossbar && (shared.hands_over || !class.terminal) {
                // Their credits were taken at the crossbar.
                sent = sent.checked_sub(here).ok_or("the credits of a channel")?;
            }
        }
        ensure(
            saved.waiting == waiting,
            "the channels of a port in which packets wait",
        )?;
        if shared.hands_over {
            let vcs = shared.vcs;
            let held = fifos[port * vcs..(port + 1) * vcs].iter();
            queued += held.flat_map(|fifo| &fifo.queue).map(room).sum::<u64>();
        }
        if shared.config.router.occupancy == OccupancyCount::Requests {
            let requests = fifos.iter().flat_map(|fifo| &fifo.queue);
            let requests = requests.filter(|parcel| usize::from(parcel.packet.out_port) == port);
            queued += requests
                .map(|parcel| u64::from(parcel.packet.size))
                .sum::<u64>();
        }
        ensure(
            u64::from(saved.queued) == queued,
            "the bytes that wait for a port",
        )?;
        ensure(
            u64::from(saved.downstream) == sent,
            "the bytes behind a port",
        )
    }

    /// A virtual channel of an output.
    fn channel(&self, port: usize, vc: usize, channel: &ChannelRecord) -> Checked {
        let ChannelRecord { credits, queue } = channel;
        let class = &self.shared.classes[self.class(port)];
        // Nodes take everything, so that the links to them need no credits, but for packets
        // to join output queues.
        let all = self.shared.credits(class);
        let lent = self.is_connected(port) && (self.shared.hands_over || !class.terminal);
        let fits = *credits == all || lent && *credits < all;
        ensure(fits, "the credits of a channel")?;
        for parcel in queue {
            self.parcel(Held::Output(port, vc), parcel)?;
        }
        Ok(())
    }

    /// A port of the crossbar.
    fn side(
        &self,
        port: usize,
        side: &Side,
        channels: &[ChannelRecord],
        fifos: &[FifoRecord],
    ) -> Checked {
        let Side {
            input_free,
            output_free,
            sending,
            sending_vc,
            input_wake: _,
            output_wake: _,
            granted,
            short,
        } = side;
        times([*input_free, *output_free], "when a crossbar port is free")?;
        let vcs = self.shared.vcs;
        ensure(
            usize::from(*sending_vc) < vcs,
            "the channel that a crossbar port sends",
        )?;
        ensure(
            (*granted as usize) < fifos.len(),
            "the request that was granted last",
        )?;
        let waits = fifos
            .get(*short as usize)
            .and_then(|fifo| fifo.queue.first());
        let waits = waits.is_some_and(|parcel| usize::from(parcel.packet.out_port) == port);
        ensure(
            *short == NIL || waits,
            "the request that an output waits for",
        )?;
        for vc in 0..vcs {
            let place = port * vcs + vc;
            let queue = channels[place].queue.iter();
            let here: u64 = queue.map(|parcel| u64::from(parcel.packet.size)).sum();
            let leaving = if usize::from(*sending_vc) == vc {
                *sending
            } else {
                0
            };
            let all = u64::from(fifos[place].room) + here + u64::from(leaving);
            let size = self.output_buffer.unwrap_or(0);
            ensure(all == size, "the room in an output buffer")?;
        }
        Ok(())
    }

    /// Returns the node that a packet is going to.
    fn route(&self, route: &PacketRoute) -> Result<u32, &'static str> {
        let PacketRoute {
            destination_router,
            // What these mean is the algorithm's, whose look-ups are all checked.
            waypoint: _,
            intermediate: _,
            destination_port,
            phase: _,
            vc,
        } = route;
        let topology = &self.shared.topology;
        ensure(
            usize::from(*vc) < self.shared.vcs,
            "the channel of a packet",
        )?;
        let router = (*destination_router as usize) < topology.routers();
        ensure(router, "the destination of a packet")?;
        let ports = topology.ports_of(RouterId(*destination_router));
        let port = ports.start + usize::from(*destination_port);
        ensure(ports.contains(&port), "the destination of a packet")?;
        match topology.peer[port] {
            Peer::Node(node) => Ok(node.0),
            _ => Err("the destination of a packet"),
        }
    }

    fn decision(&self, decision: &Decision) -> Checked {
        let Decision {
            route,
            out_port,
            out_vc,
            missing,
        } = decision;
        self.route(route)?;
        let output = self.is_connected(usize::from(*out_port));
        ensure(output, "the output of a decision")?;
        ensure(
            usize::from(*out_vc) < self.shared.vcs,
            "the channel of a decision",
        )?;
        ensure(
            (1..=MOST).contains(missing),
            "the bytes that a decision is for",
        )
    }

    /// A packet, and what it belongs to.
    fn parcel(&self, held: Held, parcel: &Parcel) -> Checked {
        let Parcel { packet, contents } = parcel;
        let Packet {
            route,
            created,
            tail,
            size,
            // Its neighbours in a queue follow from the queue.
            next: _,
            upstream_router,
            source,
            sequence: _,
            upstream_port,
            out_port,
            job,
            routers,
            upstream_class,
            out_vc,
            bare,
        } = packet;
        let shared = self.shared;
        let plan = shared.jobs.get(usize::from(*job));
        let plan = plan.ok_or("the job of a packet")?;
        let open = matches!(plan.load, JobLoad::Open(_));
        ensure(*created <= self.at, "when a packet's message was created")?;
        times([*tail], "when a packet's tail arrives")?;
        ensure(
            *routers <= MOST_ROUTERS_VISITED,
            "the routers that a packet visited",
        )?;
        let there = (*source as usize) < shared.topology.nodes();
        ensure(there, "the node that sent a packet")?;
        let vcs = shared.vcs;
        ensure(usize::from(*out_vc) < vcs, "the next channel of a packet")?;
        ensure(*bare == contents.is_none(), "the message of a packet")?;
        ensure(!bare || open, "a packet without a message")?;
        let destination = match (held, contents) {
            // It has no route.
            (Held::WithinNode(_), Some(contents)) => contents.destination,
            _ => self.route(route)?,
        };
        if let Some(contents) = contents {
            self.contents(contents, *source, destination)?;
            ensure(contents.job == *job, "the job of a packet's message")?;
            ensure(
                u64::from(*size) <= contents.message_bytes,
                "the size of a packet",
            )?;
        }
        let node = |port: usize| self.nodes.iter().find(|node| node.terminal == port);
        let output = match held {
            Held::AtNode(port) | Held::WithinNode(port) => {
                let node = node(port).ok_or("the node of a packet")?;
                ensure(node.node == destination, "the node of a packet")?;
                ensure(*size == 0 && contents.is_some(), "a packet at its node")?;
                let within = matches!(held, Held::WithinNode(_));
                ensure(within == (*source == destination), "a packet within a node")?;
                return ensure(within || !open, "a message that nobody waits for");
            }
            Held::OnItsWay(input) => {
                self.upstream(input, packet)?;
                return ensure(*out_port == UNROUTED, "the output of a packet on its way");
            }
            Held::Input(input, vc) => {
                self.upstream(input, packet)?;
                ensure(usize::from(route.vc) == vc, "the channel of a packet")?;
                usize::from(*out_port)
            }
            Held::Output(port, vc) => {
                // The input is where its credits say it came from.
                let upstream = (*upstream_router as usize) < shared.topology.routers() && {
                    let ports = shared.topology.ports_of(RouterId(*upstream_router));
                    let port = ports.start + usize::from(*upstream_port);
                    ports.contains(&port) && {
                        let input = match self.network.peer[port] {
                            Peer::Port(input) => Some(input.index()),
                            Peer::Node(_) => Some(port),
                            Peer::Unconnected => None,
                        };
                        let here = self.first..self.first + self.radix;
                        let input = input.filter(|input| here.contains(input));
                        input.is_some_and(|input| self.upstream(input - self.first, packet).is_ok())
                    }
                };
                ensure(upstream, "where a packet came from")?;
                ensure(usize::from(*out_vc) == vc, "the next channel of a packet")?;
                ensure(usize::from(*out_port) == port, "the output of a packet")?;
                port
            }
        };
        ensure(*size <= shared.packet, "the size of a packet")?;
        ensure(
            usize::from(*upstream_class) < shared.classes.len(),
            "the class of a link",
        )?;
        ensure(self.is_connected(output), "the output of a packet")?;
        let elsewhere = self.node_at(output).is_some_and(|node| node != destination);
        ensure(!elsewhere, "the node that a packet is leaving to")
    }

    /// Whether a packet that is, or will be, in the buffer of an input says so.
    fn upstream(&self, input: usize, packet: &Packet) -> Checked {
        let topology = self.network;
        let sender = topology.sender(PortId::from_index(self.first + input));
        let (port, router) = match sender {
            Peer::Node(node) => {
                ensure(node.0 == packet.source, "the node that sent a packet")?;
                (self.first + input, self.router)
            }
            Peer::Port(port) => (port.index(), topology.router_of_port(port).0),
            Peer::Unconnected => return Err("where a packet came from"),
        };
        let first = topology.first_port[router as usize] as usize;
        let matches = packet.upstream_router == router
            && usize::from(packet.upstream_port) == port - first
            && packet.upstream_class == topology.class_of_port[port].0;
        ensure(matches, "where a packet came from")?;
        ensure(packet.size <= self.shared.packet, "the size of a packet")
    }

    /// A message from one node to another, or to itself.
    fn contents(&self, contents: &Contents, source: u32, destination: u32) -> Checked {
        let Contents {
            message_bytes,
            message: _,
            job,
            source_rank,
            destination_rank,
            context: _,
            tag: _,
            sequence: _,
            destination: node,
            handle: _,
            kind,
        } = contents;
        amounts([*message_bytes], "the size of a message")?;
        let job = u32::from(*job);
        let ranks = ranks_of(self.shared, job).ok_or("the job of a message")?;
        ensure(*source_rank < ranks, "the sender of a message")?;
        ensure(*destination_rank < ranks, "the receiver of a message")?;
        let sender = self.shared.node_of(job, *source_rank).0;
        ensure(sender == source, "the node of a message's sender")?;
        let receiver = self.shared.node_of(job, *destination_rank).0;
        let meets = receiver == *node && *node == destination;
        ensure(meets, "the node of a message's receiver")?;
        let closed = matches!(self.shared.jobs[job as usize].load, JobLoad::Closed(_));
        ensure(
            closed || *kind == MessageKind::Eager,
            "the kind of a message",
        )
    }

    /// A node of the router.
    fn node(&self, place: &AtNode, record: &NodeRecord) -> Checked {
        let NodeRecord {
            interface,
            outgoing,
            link,
            credits,
            sources,
            ranks,
            incomplete,
            watch,
        } = record;
        let Interface {
            // These are wired.
            node: _,
            router: _,
            terminal: _,
            class: _,
            open_active: _,
            // The queue and the sources are put there anew.
            outgoing: _,
            sources: _,
            packets: _,
            messages: _,
            ready_at,
            loopback_free,
            wake_at,
        } = interface;
        times([*ready_at, *loopback_free], "when a node may send")?;
        time_or_never(*wake_at, "when a node wakes")?;
        self.link(link)?;
        let class = &self.shared.classes[self.class(place.terminal)];
        ensure(*credits <= class.buffer, "the credits of a node's link")?;
        let sent = class.buffer - credits;
        let empty = link.waiting == 0 && link.queued == 0;
        ensure(
            empty && link.downstream == sent,
            "the bytes behind a node's link",
        )?;
        for message in outgoing {
            let OutMessage {
                bytes_left,
                created,
                // Follows from the sender.
                local_rank: _,
                // The program of the sender's.
                request: _,
                contents,
            } = message;
            ensure(*created <= self.at, "when a waiting message was created")?;
            ensure(
                *bytes_left <= contents.message_bytes,
                "what is left of a message",
            )?;
            let job = u32::from(contents.job);
            let ranks = ranks_of(self.shared, job).ok_or("the job of a message")?;
            ensure(
                contents.destination_rank < ranks,
                "the receiver of a message",
            )?;
            let destination = self.shared.node_of(job, contents.destination_rank).0;
            ensure(
                destination != place.node,
                "a message that does not leave its node",
            )?;
            self.contents(contents, place.node, destination)?;
        }
        ensure(sources.len() == place.sources, "the sources of a node")?;
        for SourceRecord { message: _, time } in sources {
            time_or_never(*time, "when a source goes on")?;
        }
        ensure(ranks.len() == place.ranks.len(), "the ranks of a node")?;
        for (&(job, rank), (record, program)) in place.ranks.iter().zip(ranks) {
            let ranks = ranks_of(self.shared, job).ok_or("the job of a rank")?;
            let of = OfRank { job, rank, ranks };
            of.record(record, program.is_some())?;
        }
        for (key, missing) in incomplete {
            let there = key >> 32 < self.shared.topology.nodes() as u64;
            ensure(there, "the sender of an incomplete message")?;
            ensure(
                (1..=MOST).contains(missing),
                "the bytes that a message lacks",
            )?;
        }
        ensure(
            watch.is_some() == self.watched,
            "the watch of a node's link",
        )?;
        watch.iter().try_for_each(|watch| self.watch(watch))
    }

    /// Who waits for whom at a link.
    fn watch(&self, watch: &LinkWatch) -> Checked {
        let LinkWatch {
            since,
            busy_until,
            sender,
            waiting: _,
            channels,
            jobs,
            waits,
        } = watch;
        let there = |job: u32| (job as usize) < self.shared.jobs.len();
        times([*since, *busy_until], "the time of a watched link")?;
        ensure(there(u32::from(*sender)), "the sender at a watched link")?;
        for channel in channels {
            let Channel {
                vc,
                job,
                waiting: _,
                held: _,
            } = channel;
            let channel = usize::from(*vc) < self.shared.vcs && there(u32::from(*job));
            ensure(channel, "a channel of a watched link")?;
        }
        for of in jobs {
            let JobAtLink {
                job,
                bytes,
                packets,
                stall_ps,
                router_ps,
            } = of;
            ensure(there(*job), "a job at a watched link")?;
            amounts([*bytes, *packets, *stall_ps, *router_ps], "a watched link")?;
        }
        for wait in waits {
            let JobWait {
                job,
                by,
                sending_ps,
                blocking_ps,
            } = wait;
            ensure(there(*job) && there(*by), "a wait at a watched link")?;
            amounts([*sending_ps, *blocking_ps], "a watched link")?;
        }
        Ok(())
    }

    fn event(&self, event: &EventRecord) -> Checked {
        let EventRecord {
            delay,
            kind,
            port,
            about,
        } = event;
        let time = self.at.checked_add(*delay);
        ensure(time.is_some(), "the time of an event")?;
        let port = usize::from(*port);
        ensure(port < self.radix, "the port of an event")?;
        let node = self.nodes.iter().find(|node| node.terminal == port);
        match (kind, about) {
            (Kind::Wake, About::Number(payload)) => {
                let meant = match *payload {
                    0 => self.is_connected(port),
                    WAKE_INTERFACE => node.is_some(),
                    WAKE_INPUT | WAKE_OUTPUT => self.output_buffer.is_some(),
                    payload => self.learns && payload & FEEDBACK != 0 && payload <= MAX_PAYLOAD,
                };
                ensure(meant, "what a wake-up is for")
            }
            (Kind::Credit, About::Number(payload)) => {
                ensure(*payload <= MAX_PAYLOAD, "a credit")?;
                let vc = (payload >> CREDIT_VC_SHIFT) as usize;
                ensure(vc < self.shared.vcs, "the channel of a credit")?;
                let for_node = payload & CREDIT_FOR_INTERFACE != 0;
                let of_node = node.is_some() && self.shared.hands_over;
                ensure(
                    of_node || for_node == node.is_some(),
                    "whom a credit is for",
                )?;
                let size = payload & ((1 << self.credit_size_bits) - 1);
                ensure(size <= self.shared.packet, "the bytes of a credit")
            }
            (Kind::Arrive, About::Packet(0, parcel)) => self.parcel(Held::OnItsWay(port), parcel),
            (Kind::Node, About::Packet(code, parcel)) => match NodeEvent::of(*code) {
                Some(NodeEvent::Delivered) => self.parcel(Held::AtNode(port), parcel),
                Some(NodeEvent::DeliveredLocally) => self.parcel(Held::WithinNode(port), parcel),
                _ => Err("what happened to a packet"),
            },
            (Kind::Node, About::Rank(code, rank)) => {
                let event = NodeEvent::of(*code);
                let happens = matches!(event, Some(NodeEvent::Sent | NodeEvent::Timer));
                ensure(happens, "what happened to a rank")?;
                let there = node.is_some_and(|node| (*rank as usize) < node.ranks.len());
                ensure(there, "the rank of an event")
            }
            _ => Err("the kind of an event"),
        }
    }
}

/// A rank of a closed-loop job with so many ranks.
struct OfRank {
    job: u32,
    rank: u32,
    ranks: u32,
}

impl OfRank {
    fn other(&self, rank: u32, field: &'static str) -> Checked {
        ensure(rank < self.ranks, field)
    }

    /// All of a rank; `runs`: whether a state of its program is saved.
    fn record(&self, record: &RankRecord, runs: bool) -> Checked {
        let RankRecord {
            stage,
            processors,
            waiting: _,
            collective: _,
            iterations: _,
            activity: _,
            since,
            times: spent,
            cause,
            intervals,
            traffic,
            matching,
            granted,
            held,
            unfinished,
            next_handle: _,
            delayed,
            // The program's.
            leaving: _,
        } = record;
        ensure((*stage == Stage::Running) == runs, "the program of a rank")?;
        ensure(
            processors.len() <= MOST_PROCESSORS,
            "the processors of a rank",
        )?;
        for processor in processors {
            let Processor { task, until, queue } = processor;
            time_or_never(*until, "when a processor is done")?;
            for task in task.iter().chain(queue.iter().map(|(_, task)| task)) {
                self.task(task)?;
            }
        }
        times([*since], "since when a rank does something")?;
        let RankTimes {
            outside_ps,
            collective_ps,
        } = spent;
        amounts(*outside_ps, "the times of a rank")?;
        amounts(*collective_ps, "the times of a rank")?;
        if let Some((rank, _)) = cause {
            self.other(*rank, "the cause of a rank's wait")?;
        }
        for interval in intervals {
            self.interval(interval)?;
        }
        for (to, Traffic { messages, bytes }) in traffic {
            let there = u32::try_from(*to).is_ok_and(|to| to < self.ranks);
            ensure(there, "the receiver of counted messages")?;
            amounts([*messages, *bytes], "counted messages")?;
        }
        self.matching(matching)?;
        for (key, posted) in granted {
            self.other(*key as u32, "the sender of a granted message")?;
            posted_receive(posted);
        }
        for sending in held.values().chain(unfinished.values()) {
            self.sending(sending)?;
        }
        for (_, outgoing) in delayed {
            let Outgoing {
                kind: _,
                to,
                bytes,
                context: _,
                tag: _,
                sequence: _,
                handle: _,
                // The program's.
                request: _,
                created: _,
            } = outgoing;
            self.other(*to, "the receiver of a delayed message")?;
            amounts([*bytes], "the size of a delayed message")?;
        }
        Ok(())
    }

    fn interval(&self, interval: &RankInterval) -> Checked {
        let RankInterval {
            job,
            rank,
            begin: Picoseconds(begin),
            end: Picoseconds(end),
            activity: _,
            collective: _,
            cause,
        } = interval;
        let own = *job == self.job && *rank == RankId(self.rank);
        ensure(own, "the rank of an interval")?;
        ensure(begin <= end && *end <= LATEST, "the time of an interval")?;
        match cause {
            Some((rank, _)) => self.other(rank.0, "the cause of an interval"),
            None => Ok(()),
        }
    }

    fn task(&self, task: &Task) -> Checked {
        // Requests are the program's, handles the sender's.
        match task {
            Task::Compute(_) | Task::TakeIn(_) => Ok(()),
            Task::HandOver(sending) => self.sending(sending),
            Task::HandOverPut {
                to,
                bytes,
                request: _,
                created: _,
            } => {
                amounts([*bytes], "the size of a write")?;
                self.other(*to, "where a rank writes")
            }
            Task::HandOverGet {
                from,
                bytes,
                request: _,
            } => {
                amounts([*bytes], "the size of a read")?;
                self.other(*from, "where a rank reads")
            }
            Task::TakeInAndFinish {
                request: _,
                handle: _,
                to,
            } => self.other(*to, "the sender of a message that is taken in"),
            Task::Grant { handle: _, to } => self.other(*to, "whom a rank grants"),
        }
    }

    fn sending(&self, sending: &Sending) -> Checked {
        let Sending {
            to,
            bytes,
            envelope,
            request: _,
            created: _,
        } = sending;
        amounts([*bytes], "the size of a sent message")?;
        self.other(*to, "the receiver of a sent message")?;
        let Envelope {
            context: _,
            source,
            tag: _,
        } = envelope;
        ensure(*source == self.rank, "the sender of a sent message")
    }

    fn matching(&self, matching: &Matching) -> Checked {
        let Matching {
            lines,
            wildcards,
            next: _,
            sent,
            come,
            ahead,
        } = matching;
        for (envelope, unmatched) in lines {
            self.envelope(envelope)?;
            match unmatched {
                Unmatched::Posted(Line { first, others }) => {
                    let others = others.iter().flat_map(|others| others.iter());
                    for (_, posted) in others.chain(std::iter::once(first)) {
                        posted_receive(posted);
                    }
                }
                Unmatched::Arrived(Line { first, others }) => {
                    let others = others.iter().flat_map(|others| others.iter());
                    for (_, arrived) in others.chain(std::iter::once(first)) {
                        arrived_message(arrived)?;
                    }
                }
            }
        }
        for (_, wanted, posted) in wildcards {
            let Wanted {
                context: _,
                source,
                tag: _,
            } = wanted;
            if let Some(source) = source {
                self.other(*source, "the sender that a receive is for")?;
            }
            posted_receive(posted);
        }
        for (_, other) in sent.keys().chain(come.keys()) {
            self.other(*other, "the other side of ordered messages")?;
        }
        for ((_, source, _), (envelope, arrived)) in ahead {
            self.other(*source, "the sender of an early message")?;
            self.envelope(envelope)?;
            arrived_message(arrived)?;
        }
        Ok(())
    }

    fn envelope(&self, envelope: &Envelope) -> Checked {
        let Envelope {
            context: _,
            source,
            tag: _,
        } = envelope;
        self.other(*source, "the sender of a message")
    }
}

/// Names nothing but what is the program's, and one of 256 processors, which are made as
/// they are named.
fn posted_receive(posted: &Posted) {
    let Posted {
        request: _,
        processor: _,
    } = posted;
}

fn arrived_message(arrived: &Arrived) -> Checked {
    match arrived {
        Arrived::Message { bytes, created: _ } => amounts([*bytes], "the size of a message"),
        // The sender's.
        Arrived::Request { handle: _ } => Ok(()),
    }
}
