//! Nodes: their network interfaces and open-loop sources.

use odonata_load::Context;
use odonata_mpi::MessageKind;
use odonata_network::PacketRoute;
use odonata_run::memory::{make_room, make_room_in};
use odonata_run::{InjectionOrder, JobLoad, MessageRecord, MessageRecords};
use odonata_units::{Bytes, NodeId, Picoseconds, RankId, RouterId};

use super::{Partition, RECORDED};
use crate::engine::calendar::{Event, Kind};
use crate::engine::interface::{Draft, Incomplete, OutMessage};
use crate::engine::losses::Loss;
use crate::engine::model::Model;
use crate::engine::packets::{Contents, NIL, Packet, UNROUTED};
use crate::engine::payload::{
    DELIVERED, DELIVERED_LOCALLY, HEARD, LOST, SENT, SUBJECT_BITS, TIMER, WAKE_INTERFACE,
};
use crate::engine::port::NEVER;
use crate::engine::probe::{Approach, Departure, Probe};
use crate::engine::protocol::{Note, Protocol, Sent};
use crate::engine::scheduler::Scheduler;

impl<M: Model> Partition<'_, M> {
    /// Makes sure that the interface is looked at, at `time` or before.
    pub(super) fn arm(&mut self, index: usize, time: u64) {
        let interface = &mut self.interfaces.all[index];
        if time < interface.wake_at {
            interface.wake_at = time;
            let event = Event::new(
                time,
                interface.router - self.base_router,
                Kind::Wake,
                interface.terminal,
                WAKE_INTERFACE,
            );
            self.schedule(event);
        }
    }

    /// The open-loop source of an interface, of some classes, that sends next.
    #[inline(always)]
    pub(super) fn next_source(&self, index: usize, classes: u16) -> Option<usize> {
        let range = self.interfaces.all[index].sources.clone();
        let class = |s: usize| self.class_of_source(self.interfaces.sources[s].job);
        range
            .map(|s| s as usize)
            .filter(|&s| !M::Scheduler::CLASSES || 1 << class(s) & classes != 0)
            .min_by_key(|&s| self.interfaces.sources[s].next_time)
    }

    /// Makes sure that the interface is looked at when its next open-loop
    /// message is created, and not before `earliest`.
    pub fn arm_interface(&mut self, index: usize, earliest: u64) {
        let idle = !self.interfaces.all[index].open_active;
        if let Some(source) = self.next_source(index, idle) {
            let time = self.interfaces.sources[source].next_time.max(earliest);
            if time < self.shared.stop {
                self.arm(index, time);
            }
        }
    }

    pub fn wake_interface(&mut self, index: u32, now: u64) {
        let interface = &mut self.interfaces.all[index as usize];
        if interface.wake_at == now {
            interface.wake_at = NEVER;
        }
        self.touch(self.ports.of_routers + index as usize);
    }

    /// Lets the interface send its next packet, if its link is free and the
    /// router has room.
    pub fn try_inject(&mut self, index: usize, now: u64) {
        let port = self.ports.of_routers + index;
        let ready_at = self.interfaces.all[index].ready_at;
        if ready_at > now {
            self.arm_for_next(index, ready_at);
            return;
        }
        let mut lane = 0;
        if M::Scheduler::CLASSES {
            match self.take_by_class(index, now) {
                Some(of_class) => lane = of_class,
                None => return,
            }
        } else if M::Protocol::ON {
            if !self.take_permitted(index, now) {
                return;
            }
        } else if !self.take_message(index, now) {
            self.arm_interface(index, now + 1);
            return;
        }
        let size = self
            .interfaces
            .outgoing
            .bytes_left
            .min(u64::from(self.packet)) as u32;
        if !M::Scheduler::CLASSES && self.shared.lanes.are_several() {
            lane = self.lane_of_interface(port, size.max(self.least_room));
        }
        let channel = self.ports.grid.channel(port, lane);
        let state = &mut self.ports.all[port];
        if self.ports.channels[channel].credits < size.max(self.least_room) {
            if state.stalled_since == NEVER {
                state.stalled_since = now;
                if M::Probe::ON {
                    let (link, job) = (self.link(port), self.interfaces.outgoing.contents.job);
                    self.probe.wait(link, lane as u8, job, now);
                }
            }
            let queue = &mut self.interfaces.all[index].outgoing;
            self.interfaces
                .waiting
                .push_front(queue, self.interfaces.outgoing);
            return;
        }
        if M::Probe::ON {
            // A packet at a node waits from when its turn has come.
            let (link, job) = (self.link(port), self.interfaces.outgoing.contents.job);
            match link.stalled_since {
                NEVER => self.probe.wait(link, lane as u8, job, now),
                // Another packet may leave than the one that lacked room.
                _ if M::Scheduler::CLASSES => {
                    self.probe.wait_instead(link, lane as u8, job, now);
                }
                _ => self.probe.settle(link, now),
            }
        }
        let state = &mut self.ports.all[port];
        if state.stalled_since != NEVER {
            state.end_stall(now, self.warmup);
        }
        // Runs in which packets are lost are rare: all others pay for one branch.
        match self.shared.outages.is_some() {
            false => self.send::<false>(index, lane as u8, size, now),
            true => self.send_with_outages(index, lane as u8, size, now),
        }
    }

    #[cold]
    #[inline(never)]
    fn send_with_outages(&mut self, index: usize, lane: u8, size: u32, now: u64) {
        self.send::<true>(index, lane, size, now);
    }

    /// Sends one packet of the message that is being sent, and sees to what is next. With
    /// `OUTAGES`, links to nodes may lose it.
    #[inline(always)]
    fn send<const OUTAGES: bool>(&mut self, index: usize, lane: u8, size: u32, now: u64) {
        let end = self.inject::<OUTAGES>(index, lane, size, now);
        if M::Protocol::ON {
            let to = self.interfaces.outgoing.contents.destination;
            let packet = Sent {
                bytes: size,
                now,
                end,
                warmup: self.warmup,
            };
            self.protocol.sent(index, to, packet);
        }
        let left = self.interfaces.outgoing.bytes_left - u64::from(size);
        let ready_at = if left == 0 {
            self.end_message::<OUTAGES>(index, end)
        } else {
            self.put_back(index, left);
            end
        };
        self.interfaces.all[index].ready_at = ready_at;
        self.arm_for_next(index, ready_at);
    }

    /// Lets the interface go on at a time, with its queue or with what its sources create.
    #[inline(always)]
    pub(super) fn arm_for_next(&mut self, index: usize, at: u64) {
        if self.interfaces.all[index].outgoing.is_empty() {
            self.arm_interface(index, at);
        } else {
            self.arm(index, at);
        }
    }

    /// Makes the interface's next message the one that is being sent; `false`: there is none.
    #[inline(always)]
    fn take_message(&mut self, index: usize, now: u64) -> bool {
        let mut fresh = false;
        if self.interfaces.all[index].open_active == 0 {
            fresh = self.pull_open_message(index, now, u16::MAX);
            self.interfaces.all[index].open_active = u16::from(fresh);
        }
        let queue = &mut self.interfaces.all[index].outgoing;
        // A message that finds nothing before it need not queue.
        if fresh && queue.is_empty() {
            return true;
        }
        if fresh {
            self.interfaces
                .waiting
                .push_back(queue, self.interfaces.outgoing);
        }
        let Some(message) = self.interfaces.waiting.pop_front(queue) else {
            return false;
        };
        self.interfaces.outgoing = message;
        true
    }

    /// The last packet of a message leaves the interface at `end`; when the next may begin.
    #[inline(always)]
    fn end_message<const OUTAGES: bool>(&mut self, index: usize, end: u64) -> u64 {
        let OutMessage {
            local_rank,
            request,
            contents,
            ..
        } = self.interfaces.outgoing;
        if OUTAGES && contents.losses > 0 {
            return end;
        }
        let class = self.class_bit(&contents);
        let interface = &mut self.interfaces.all[index];
        if local_rank == NIL {
            interface.open_active &= !class;
            return end;
        }
        if request != NIL {
            let router = interface.router - self.base_router;
            let payload = SENT | local_rank;
            let event = Event::new(end, router, Kind::Node, interface.terminal, payload);
            self.schedule(event);
            self.message_leaves(local_rank, request);
        }
        if self.interfaces.outgoing.contents.kind.is_control() {
            return end;
        }
        let job = self.interfaces.outgoing.contents.job;
        end + self.shared.jobs[usize::from(job)].protocol.gap.0
    }

    /// Queues what is left of the message that is being sent.
    #[inline(always)]
    fn put_back(&mut self, index: usize, left: u64) {
        let queue = &mut self.interfaces.all[index].outgoing;
        let rest = OutMessage {
            bytes_left: left,
            ..self.interfaces.outgoing
        };
        match self.shared.config.nic.injection {
            InjectionOrder::RoundRobin => self.interfaces.waiting.push_back(queue, rest),
            InjectionOrder::Fifo => self.interfaces.waiting.push_front(queue, rest),
        }
    }

    /// Puts one packet of the message that is being sent on the link; returns when its tail
    /// has left the node.
    #[inline(always)]
    fn inject<const OUTAGES: bool>(&mut self, index: usize, lane: u8, size: u32, now: u64) -> u64 {
        let shared = self.shared;
        let message = &self.interfaces.outgoing;
        let port = self.ports.of_routers + index;
        let interface = &mut self.interfaces.all[index];
        let sequence = interface.packets;
        interface.packets = sequence.wrapping_add(1);
        let state = &mut self.ports.all[port];
        let class = &shared.classes[state.class as usize];
        let end = now + class.rate.duration(size, self.packet);
        let head = match self.flit {
            Some(flit) => now + class.rate.first_flit_duration(size, flit),
            None => end,
        };
        let mut loss = Loss::None;
        if OUTAGES && let Some(outages) = &shared.outages {
            loss = outages.on_node(interface.node, now, end + class.latency);
        }
        let measured = match loss {
            Loss::Dark => state.discard(end),
            _ => state.start(class, size, now, end, self.warmup),
        };
        let room = size.max(self.least_room);
        state.downstream += room;
        self.ports.channels[self.ports.grid.channel(port, usize::from(lane))].credits -= room;
        if M::Probe::ON {
            let departure = Departure {
                job: message.contents.job,
                vc: lane,
                measured,
                now,
                end,
                held: room,
            };
            let class = state.class;
            if loss == Loss::None {
                self.probe.arrive(Approach {
                    router: interface.router,
                    class,
                    job: departure.job,
                    size,
                    source: interface.node,
                    destination_router: shared.attachment(message.contents.destination).0,
                    time: end + shared.classes[usize::from(class)].latency,
                });
            }
            self.probe.send(self.link(port), departure);
        }
        let (interface, state) = (&self.interfaces.all[index], &self.ports.all[port]);
        self.last_move = now;
        // What is sent again counted when it was sent first.
        let is_first = !OUTAGES || message.contents.losses == 0;
        self.accounts.injected_bytes += u64::from(size) * u64::from(is_first);
        if is_first && !message.contents.kind.is_control() {
            self.accounts
                .timeline
                .inject(now, u32::from(message.contents.job), u64::from(size));
        }
        let (router, terminal) = shared.attachment(message.contents.destination);
        // Nobody will ask who sent it to whom, nor for other packets of the message.
        let bare = message.local_rank == NIL
            && message.contents.message_bytes == u64::from(size)
            && shared.measurement.messages == MessageRecords::None
            && !OUTAGES;
        let mut route = PacketRoute::injected(RouterId(router), terminal);
        if let Some(flows) = &mut self.interfaces.flows {
            let Contents {
                destination,
                message,
                ..
            } = message.contents;
            let label = flows.label(index as u32, destination, message, (now, end));
            route = route.labelled(label);
        }
        let packet = Packet {
            route,
            created: message.created,
            tail: end + class.latency,
            size,
            next: NIL,
            upstream_router: interface.router,
            source: interface.node,
            sequence,
            upstream_port: interface.terminal as u16,
            out_port: UNROUTED,
            job: message.contents.job,
            upstream_class: state.class,
            lane,
            out_vc: 0,
            routers: 0,
            bare,
        };
        let (router, port) = (interface.router, interface.terminal);
        let slot = if bare {
            self.packets.insert_bare(packet)
        } else {
            self.packets.insert(packet, message.contents)
        };
        let arrival = head + class.latency + shared.delay;
        if M::Protocol::ON {
            let note = Note {
                way: class.latency + shared.delay,
                ..Note::default()
            };
            self.protocol.set_note(slot, note);
        }
        if loss != Loss::None {
            self.drop_at_node(index, slot, end, now);
            return end;
        }
        let router = router - self.base_router;
        self.schedule(Event::new(arrival, router, Kind::Arrive, port, slot));
        end
    }

    /// The next message of the interface's open-loop sources that goes to
    /// another node, of some classes, if it has been created by now, as the one
    /// that is being sent; sends those before it that stay on this node.
    pub(super) fn pull_open_message(&mut self, index: usize, now: u64, classes: u16) -> bool {
        let shared = self.shared;
        while let Some(at) = self.next_source(index, classes) {
            let source = self.interfaces.sources[at];
            if source.next_time > now || source.next_time >= self.stop {
                return false;
            }
            let plan = &shared.jobs[source.job as usize];
            let JobLoad::Open(load) = &plan.load else {
                unreachable!("a source of a closed-loop job");
            };
            let entity = u64::from(shared.rank(source.job, source.rank));
            let n = source.next_message;
            let created = Picoseconds(source.next_time);
            let Some(to) = load.destination(shared.destination_key, entity, n, RankId(source.rank))
            else {
                self.interfaces.sources[at].next_time = NEVER;
                continue;
            };
            let next = &mut self.interfaces.sources[at];
            next.next_message = n + 1;
            next.next_time = load
                .arrival(
                    shared.arrival_key,
                    entity,
                    n + 1,
                    RankId(source.rank),
                    plan.start,
                    created,
                )
                .0;
            let class = plan.classes.usual;
            self.count_created(source.job, (load.message, class), created.0);
            let draft = Draft {
                job: source.job,
                rank: source.rank,
                local_rank: NIL,
                to,
                bytes: load.message,
                context: Context::default(),
                tag: 0,
                sequence: 0,
                created: created.0,
                kind: MessageKind::Eager,
                class,
                handle: 0,
                request: NIL,
            };
            let leaves = self.create(index, draft, now);
            if leaves {
                return true;
            }
        }
        false
    }

    /// Counts a message of a job that begins now, or began at `created`.
    pub fn count_created(&mut self, job: u32, (bytes, class): (Bytes, u8), created: u64) {
        let collector = &mut self.accounts.jobs[job as usize];
        if M::Scheduler::CLASSES
            && let Some(of_class) = collector.classes.get_mut(usize::from(class))
        {
            of_class.created += bytes.0;
            of_class.created_measured += bytes.0 * u64::from(created >= self.warmup);
        }
        collector.messages_created += 1;
        collector.bytes_created += bytes.0;
        if created >= self.warmup {
            collector.bytes_created_measured += bytes.0;
        }
    }

    /// Creates a message that goes through the network as the one that is being
    /// sent; delivers it otherwise, when its receiver is on the same node.
    /// Returns whether it goes through the network.
    #[inline(always)]
    pub fn create(&mut self, index: usize, draft: Draft, now: u64) -> bool {
        let shared = self.shared;
        let Draft {
            job,
            to,
            bytes,
            created,
            kind,
            ..
        } = draft;
        let destination = shared.node_of(job, to.0).0;
        let interface = &mut self.interfaces.all[index];
        let mut message = 0;
        if kind.is_control() {
            self.accounts.control_bytes += bytes.0 as i64;
        } else {
            message = interface.messages;
            interface.messages = message.wrapping_add(1);
        }
        let contents = Contents {
            message_bytes: bytes.0,
            message,
            job: job as u16,
            source_rank: draft.rank,
            destination_rank: to.0,
            context: draft.context,
            tag: draft.tag,
            sequence: draft.sequence,
            destination,
            handle: draft.handle,
            kind,
            class: draft.class,
            losses: 0,
        };
        if destination != interface.node {
            self.interfaces.outgoing = OutMessage {
                bytes_left: bytes.0,
                created,
                local_rank: draft.local_rank,
                request: draft.request,
                contents,
            };
            return true;
        }
        let nic = &shared.config.nic;
        let begin = now.max(interface.loopback_free);
        let duration = nic.loopback_bandwidth.duration_of(bytes.0).0.max(1);
        // As many and as long messages as a node likes wait for each other.
        let end = begin.saturating_add(duration);
        interface.loopback_free = end;
        let time = end.saturating_add(nic.loopback_latency.0).max(now + 1);
        let interface = &self.interfaces.all[index];
        let (router, terminal) = (interface.router - self.base_router, interface.terminal);
        self.accounts.injected_bytes += bytes.0;
        self.accounts
            .timeline
            .inject(begin.min(shared.stop.saturating_sub(1)), job, bytes.0);
        let packet = Packet {
            created,
            tail: time,
            source: interface.node,
            job: job as u16,
            bare: false,
            ..Packet::VACANT
        };
        let slot = self.packets.insert(packet, contents);
        if M::Protocol::ON {
            self.protocol.set_note(slot, Note::default());
        }
        self.accounts.loopback_bytes += bytes.0 as i64;
        if time < shared.stop {
            self.schedule(Event::new(
                time,
                router,
                Kind::Node,
                terminal,
                DELIVERED_LOCALLY | slot,
            ));
        } else {
            self.packets.remove(slot);
        }
        false
    }

    /// The last router has started to send a packet to its node, where the
    /// tail arrives at `time`.
    #[inline(never)]
    pub fn deliver(&mut self, router: u32, terminal: u32, slot: u32, time: u64) {
        let shared = self.shared;
        let packet = self.packets.hot[slot as usize];
        let size = u64::from(packet.size);
        let control = !packet.bare && self.packets.contents[slot as usize].kind.is_control();
        if time >= shared.stop {
            if control {
                self.accounts.control_bytes -= size as i64;
            } else {
                self.accounts.leaving_bytes += size;
            }
            self.packets.remove(slot);
            return;
        }
        self.accounts.packets_delivered += 1;
        debug_assert!(
            !M::Scheduler::CLASSES
                || packet.bare
                || packet.lane / shared.lanes.count()
                    == self.class_of(&self.packets.contents[slot as usize]),
            "a packet has left the channels of its class"
        );
        if M::Protocol::ON {
            self.report_delivery(router, terminal, slot, time);
        }
        if control {
            self.accounts.control_bytes -= size as i64;
            self.packets.hot[slot as usize].size = 0;
            self.schedule(Event::new(
                time,
                router,
                Kind::Node,
                terminal,
                DELIVERED | slot,
            ));
            return;
        }
        let job = u32::from(packet.job);
        let class = match M::Scheduler::CLASSES && !packet.bare {
            true => self.packets.contents[slot as usize].class,
            false => 0,
        };
        self.count_delivered((job, class), time, size);
        let collector = &mut self.accounts.jobs[job as usize];
        let measured = packet.created >= self.warmup;
        if measured {
            collector.visit(packet.routers);
        }
        if packet.bare {
            collector.messages_delivered += 1;
            if measured {
                collector.single_latency.record(time - packet.created);
            }
            self.accounts
                .timeline
                .complete(time, job, time - packet.created);
            self.packets.remove(slot);
            return;
        }
        if measured {
            collector.packet_latency.record(time - packet.created);
        }
        let contents = self.packets.contents[slot as usize];
        if contents.message_bytes > size {
            let key = (u64::from(packet.source) << 32) | u64::from(contents.message);
            make_room_in(
                &mut self.interfaces.incomplete,
                "messages that have arrived in part",
            );
            let message = self.interfaces.incomplete.entry(key).or_insert(Incomplete {
                missing: contents.message_bytes,
                destination: contents.destination,
            });
            message.missing -= size;
            if message.missing > 0 {
                self.packets.remove(slot);
                return;
            }
            self.interfaces.incomplete.remove(&key);
        }
        self.complete_message(&packet, &contents, time);
        if matches!(shared.jobs[job as usize].load, JobLoad::Closed(_)) {
            self.packets.hot[slot as usize].size = 0;
            self.schedule(Event::new(
                time,
                router,
                Kind::Node,
                terminal,
                DELIVERED | slot,
            ));
        } else {
            self.packets.remove(slot);
        }
    }

    fn count_delivered(&mut self, (job, class): (u32, u8), time: u64, bytes: u64) {
        let collector = &mut self.accounts.jobs[job as usize];
        if M::Scheduler::CLASSES
            && let Some(of_class) = collector.classes.get_mut(usize::from(class))
        {
            of_class.delivered += bytes;
            of_class.delivered_measured += bytes * u64::from(time >= self.warmup);
        }
        collector.bytes_delivered += bytes;
        collector.last_delivery = collector.last_delivery.max(time);
        if time >= self.warmup {
            collector.bytes_delivered_measured += bytes;
        }
        self.accounts.delivered_bytes += bytes;
        self.accounts.timeline.deliver(time, job, bytes);
    }

    fn complete_message(&mut self, packet: &Packet, contents: &Contents, time: u64) {
        let collector = &mut self.accounts.jobs[contents.job as usize];
        collector.messages_delivered += 1;
        if packet.created >= self.warmup {
            collector.message_latency.record(time - packet.created);
        }
        self.accounts
            .timeline
            .complete(time, u32::from(contents.job), time - packet.created);
        if let MessageRecords::EveryNth(n) = self.shared.measurement.messages
            && contents.message.is_multiple_of(n.max(1))
        {
            make_room(&mut self.accounts.messages, RECORDED);
            self.accounts.messages.push(MessageRecord {
                job: u32::from(contents.job),
                source_rank: contents.source_rank,
                destination_rank: contents.destination_rank,
                source: NodeId(packet.source),
                destination: NodeId(contents.destination),
                bytes: Bytes(contents.message_bytes),
                created: Picoseconds(packet.created),
                delivered: Picoseconds(time),
            });
        }
    }

    pub fn node_event(&mut self, interface: u32, payload: u32, now: u64) {
        let subject = payload & ((1 << SUBJECT_BITS) - 1);
        match payload & !((1 << SUBJECT_BITS) - 1) {
            TIMER => self.rank_timer(subject, now),
            SENT => self.message_sent(subject, now),
            LOST => self.notice_loss(interface as usize, subject, now),
            HEARD => self.protocol.heard(interface as usize, now, self.warmup),
            DELIVERED => {
                let created = self.packets.hot[subject as usize].created;
                let contents = self.packets.contents[subject as usize];
                self.packets.remove(subject);
                self.receive_message(&contents, created, now);
            }
            _ => {
                let packet = self.packets.hot[subject as usize];
                let contents = self.packets.contents[subject as usize];
                self.packets.remove(subject);
                self.accounts.loopback_bytes -= contents.message_bytes as i64;
                let of = (u32::from(contents.job), contents.class);
                self.count_delivered(of, now, contents.message_bytes);
                self.complete_message(&packet, &contents, now);
                self.receive_local_message(&contents, packet.created, now);
            }
        }
        if !self.interfaces.all[interface as usize].outgoing.is_empty() {
            self.touch(self.ports.of_routers + interface as usize);
        }
    }

    /// Bytes of requests and grants that are under way.
    pub fn pending_control_bytes(&self) -> u64 {
        let waiting: u64 = self
            .interfaces
            .all
            .iter()
            .flat_map(|interface| self.interfaces.waiting.iter(&interface.outgoing))
            .filter(|message| message.contents.kind.is_control())
            .map(|message| message.bytes_left)
            .sum();
        waiting + self.packets.live_control_bytes()
    }

    /// Closes the books at the `end` of the run: messages that waited at
    /// open-loop sources count as created. Returns the bytes that no packet
    /// carries yet.
    pub fn settle(&mut self, end: u64) -> u64 {
        let shared = self.shared;
        let mut backlog: u64 = self
            .interfaces
            .all
            .iter()
            .flat_map(|interface| self.interfaces.waiting.iter(&interface.outgoing))
            .filter(|message| !message.contents.kind.is_control())
            .map(|message| message.bytes_left)
            .sum();
        for source in self.interfaces.sources.iter() {
            let plan = &shared.jobs[source.job as usize];
            let JobLoad::Open(load) = &plan.load else {
                continue;
            };
            let entity = u64::from(shared.rank(source.job, source.rank));
            let (mut n, mut time) = (source.next_message, source.next_time);
            let collector = &mut self.accounts.jobs[source.job as usize];
            while time < end {
                if load
                    .destination(shared.destination_key, entity, n, RankId(source.rank))
                    .is_none()
                {
                    break;
                }
                collector.messages_created += 1;
                collector.bytes_created += load.message.0;
                backlog += load.message.0;
                if time >= self.warmup {
                    collector.bytes_created_measured += load.message.0;
                }
                n += 1;
                time = load
                    .arrival(
                        shared.arrival_key,
                        entity,
                        n,
                        RankId(source.rank),
                        plan.start,
                        Picoseconds(time),
                    )
                    .0;
            }
        }
        for rank in &self.ranks.all {
            if !rank.is_finished() {
                self.accounts.jobs[rank.job as usize].unfinished += 1;
            }
            backlog += rank.held_bytes();
        }
        backlog
    }
}
