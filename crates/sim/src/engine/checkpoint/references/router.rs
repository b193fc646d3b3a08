//! What the record of a router and of its nodes refers to.

use odonata_mpi::MessageKind;
use odonata_network::{PacketRoute, Peer, Topology};
use odonata_run::{JobLoad, OccupancyCount};
use odonata_units::{Picoseconds, PortId, RouterId};

use super::super::sound::{Checked, Here, Sound, ensure};
use super::super::{
    About, ChannelRecord, EventRecord, FifoRecord, NodeRecord, Parcel, RouterRecord,
};
use crate::engine::calendar::{Kind, MAX_PAYLOAD};
use crate::engine::packets::{Contents, NIL, Packet, UNROUTED};
use crate::engine::payload::{
    FEEDBACK, HEARD, NodeEvent, WAKE_CLASS, WAKE_INPUT, WAKE_INTERFACE, WAKE_OUTPUT,
};
use crate::engine::port::Port;
use crate::engine::scheduler::{LinkShares, Turn};
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT, Shared};
use crate::engine::switch::Side;

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
    /// Lost, where the node behind a port is to notice.
    Lost(usize),
}

/// A router of the network, in whose record everything is checked.
pub(in crate::engine::checkpoint) struct AtRouter<'c, 'a> {
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
    /// Whether there is a protocol: senders hear of their packets.
    pub hears: bool,
    /// Ports that keep something for congestion control.
    pub paced: usize,
    /// Ports whose last arrivals are kept.
    pub last_arrivals: usize,
    /// Classes among which links are shared out.
    pub classes: usize,
    pub per_message: bool,
    /// Whether interfaces keep account of flows.
    pub by_flow: bool,
    /// Bits of a credit's payload that are its size.
    pub credit_size_bits: u32,
    /// Whether links are watched.
    pub watched: bool,
    pub nodes: Vec<AtNode>,
}

/// A node of the router.
pub(in crate::engine::checkpoint) struct AtNode {
    pub node: u32,
    pub terminal: usize,
    /// Its open-loop sources.
    pub sources: usize,
    /// Its ranks of closed-loop jobs: job and number.
    pub ranks: Vec<(u32, u32)>,
}

impl AtRouter<'_, '_> {
    fn here(&self) -> Here<'_, '_> {
        Here::new(self.shared, self.at)
    }

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
            paced,
            last_arrivals,
            shares,
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
        ensure(paced.len() == self.paced, "its congested ports")?;
        paced.check(&self.here())?;
        ensure(
            last_arrivals.len() == self.last_arrivals,
            "its last arrivals",
        )?;
        let possible = |&time: &u64| time <= Picoseconds::LARGEST.0;
        ensure(last_arrivals.iter().all(possible), "its last arrivals")?;
        let shared_out = if self.classes > 0 { self.radix } else { 0 };
        ensure(shares.len() == shared_out, "the shares of its links")?;
        for shares in shares {
            self.shares(shares)?;
        }
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
        let here = self.here();
        for (visited, message, decision) in message_routes {
            ensure(here.visited(visited), "the routers of a decision")?;
            ensure(here.node(&(message >> 32)), "the message of a decision")?;
            decision.check(&here)?;
            self.destination(&decision.route)?;
            let output = self.is_connected(usize::from(decision.out_port));
            ensure(output, "the output of a decision")?;
        }
        watches.check(&here)?;
        for (place, saved) in self.nodes.iter().zip(nodes) {
            self.node(place, saved)?;
        }
        for event in events {
            self.event(event)?;
        }
        Ok(())
    }

    /// A port of the router with its channels.
    fn port(
        &self,
        port: usize,
        saved: &Port,
        channels: &[ChannelRecord],
        fifos: &[FifoRecord],
    ) -> Checked {
        saved.check(&self.here())?;
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

    /// What the classes have had of a link.
    fn shares(&self, saved: &LinkShares) -> Checked {
        ensure(saved.turns.len() == self.classes, "the classes of a link")?;
        let known = |turn: &Turn| usize::from(turn.round_of) < self.classes;
        ensure(saved.turns.iter().all(known), "the round of a class")?;
        saved.check(&self.here())
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
        side.check(&self.here())?;
        let Side {
            sending,
            sending_vc,
            granted,
            short,
            ..
        } = side;
        let vcs = self.shared.vcs;
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

    /// The node that a packet is going to, whose router there is.
    fn destination(&self, route: &PacketRoute) -> Result<u32, &'static str> {
        let topology = &self.shared.topology;
        let ports = topology.ports_of(RouterId(route.destination_router));
        let port = ports.start + usize::from(route.destination_port);
        match ports.contains(&port).then(|| topology.peer[port]) {
            Some(Peer::Node(node)) => Ok(node.0),
            _ => Err("the destination of a packet"),
        }
    }

    /// A packet, and what it belongs to.
    fn parcel(&self, held: Held, parcel: &Parcel) -> Checked {
        let Parcel {
            packet,
            contents,
            note,
        } = parcel;
        packet.check(&self.here())?;
        ensure(note.is_some() == self.hears, "the note of a packet")?;
        note.check(&self.here())?;
        let shared = self.shared;
        let plan = &shared.jobs[usize::from(packet.job)];
        let open = matches!(plan.load, JobLoad::Open(_));
        ensure(packet.bare == contents.is_none(), "the message of a packet")?;
        ensure(!packet.bare || open, "a packet without a message")?;
        let destination = match (held, contents) {
            // It has no route.
            (Held::WithinNode(_), Some(contents)) => contents.destination,
            _ => self.destination(&packet.route)?,
        };
        if let Some(contents) = contents {
            self.contents(contents, packet.source, destination)?;
            ensure(contents.job == packet.job, "the job of a packet's message")?;
            ensure(
                u64::from(packet.size) <= contents.message_bytes,
                "the size of a packet",
            )?;
        }
        let node = |port: usize| self.nodes.iter().find(|node| node.terminal == port);
        let output = match held {
            Held::AtNode(port) | Held::WithinNode(port) => {
                let node = node(port).ok_or("the node of a packet")?;
                ensure(node.node == destination, "the node of a packet")?;
                ensure(
                    packet.size == 0 && contents.is_some(),
                    "a packet at its node",
                )?;
                let within = matches!(held, Held::WithinNode(_));
                ensure(
                    within == (packet.source == destination),
                    "a packet within a node",
                )?;
                return ensure(within || !open, "a message that nobody waits for");
            }
            Held::Lost(port) => {
                let node = node(port).ok_or("the node of a packet")?;
                ensure(node.node == packet.source, "the node of a lost packet")?;
                ensure(shared.outages.is_some(), "a lost packet")?;
                return ensure(contents.is_some(), "the message of a lost packet");
            }
            Held::OnItsWay(input) => {
                self.upstream(input, packet)?;
                return ensure(
                    packet.out_port == UNROUTED,
                    "the output of a packet on its way",
                );
            }
            Held::Input(input, vc) => {
                self.upstream(input, packet)?;
                ensure(usize::from(packet.lane) == vc, "the channel of a packet")?;
                usize::from(packet.out_port)
            }
            Held::Output(port, vc) => {
                // The input is where its credits say it came from.
                let upstream = (packet.upstream_router as usize) < shared.topology.routers() && {
                    let ports = shared.topology.ports_of(RouterId(packet.upstream_router));
                    let port = ports.start + usize::from(packet.upstream_port);
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
                ensure(
                    usize::from(packet.out_vc) == vc,
                    "the next channel of a packet",
                )?;
                ensure(
                    usize::from(packet.out_port) == port,
                    "the output of a packet",
                )?;
                port
            }
        };
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
        ensure(matches, "where a packet came from")
    }

    /// A message from one node to another, or to itself.
    fn contents(&self, contents: &Contents, source: u32, destination: u32) -> Checked {
        let job = u32::from(contents.job);
        contents.check(&self.here().of_job(job))?;
        let sender = self.shared.node_of(job, contents.source_rank).0;
        ensure(sender == source, "the node of a message's sender")?;
        let receiver = self.shared.node_of(job, contents.destination_rank).0;
        let meets = receiver == contents.destination && contents.destination == destination;
        ensure(meets, "the node of a message's receiver")?;
        let closed = matches!(self.shared.jobs[job as usize].load, JobLoad::Closed(_));
        ensure(
            closed || contents.kind == MessageKind::Eager,
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
            pairs,
            shares,
            flowlets,
        } = record;
        let here = self.here();
        interface.check(&here)?;
        link.check(&here)?;
        let class = &self.shared.classes[self.class(place.terminal)];
        ensure(
            credits.len() == self.shared.vcs,
            "the channels of a node's link",
        )?;
        let fits = credits.iter().all(|credits| *credits <= class.buffer);
        ensure(fits, "the credits of a node's link")?;
        let sent: u64 = credits
            .iter()
            .map(|credits| u64::from(class.buffer - credits))
            .sum();
        let empty = link.waiting == 0 && link.queued == 0;
        ensure(
            empty && u64::from(link.downstream) == sent,
            "the bytes behind a node's link",
        )?;
        for message in outgoing {
            message.check(&here)?;
            let contents = &message.contents;
            let left = message.bytes_left <= contents.message_bytes;
            ensure(left, "what is left of a message")?;
            let job = u32::from(contents.job);
            contents.check(&here.of_job(job))?;
            let destination = self.shared.node_of(job, contents.destination_rank).0;
            let leaves = destination != place.node;
            ensure(leaves, "a message that does not leave its node")?;
            self.contents(contents, place.node, destination)?;
        }
        ensure(sources.len() == place.sources, "the sources of a node")?;
        sources.check(&here)?;
        ensure(ranks.len() == place.ranks.len(), "the ranks of a node")?;
        for (&(job, rank), (record, program)) in place.ranks.iter().zip(ranks) {
            let of_rank = Here {
                own: (job, rank),
                ..here.of_job(job)
            };
            super::rank(&of_rank, record, program.is_some())?;
        }
        for (key, missing) in incomplete {
            let sender = here.node(&(key >> 32));
            ensure(sender, "the sender of an incomplete message")?;
            ensure(here.some(missing), "the bytes that a message lacks")?;
        }
        ensure(
            watch.is_some() == self.watched,
            "the watch of a node's link",
        )?;
        watch.check(&here)?;
        ensure(pairs.is_some() == self.hears, "what a node keeps of others")?;
        ensure(
            shares.is_some() == (self.classes > 0),
            "the shares of a node's link",
        )?;
        if let Some(shares) = shares {
            self.shares(shares)?;
        }
        ensure(self.by_flow || flowlets.is_empty(), "the flows of a node")?;
        for (to, _, flowlet) in flowlets {
            ensure(here.node(to), "the destination of a flow")?;
            flowlet.check(&here)?;
        }
        pairs.check(&here)
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
                    WAKE_CLASS => self.is_connected(port) && self.classes > 0,
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
                Some(NodeEvent::Lost) => self.parcel(Held::Lost(port), parcel),
                _ => Err("what happened to a packet"),
            },
            (Kind::Node, About::Number(payload)) => {
                let meant = self.hears && node.is_some() && *payload == HEARD;
                ensure(meant, "what a sender hears")
            }
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
