//! A packet at a router: it arrives, is routed, waits, and leaves over a link.

use std::marker::PhantomData;

use odonata_network::Routing;
use odonata_network::topology::Impairment;
use odonata_units::{Picoseconds, RouterId};

use super::Partition;
use super::losses::LostOnLink;
use super::view::{Rooms, View, no_such_output, sent_mask};
use crate::engine::calendar::{Event, Kind, PackedEvent};
use crate::engine::losses::Loss;
use crate::engine::model::Model;
use crate::engine::packets::{NIL, Packet, UNROUTED};
use crate::engine::payload::{FEEDBACK, WAKE_CLASS};
use crate::engine::port::NEVER;
use crate::engine::probe::{Approach, Departure, Probe};
use crate::engine::protocol::Protocol;
use crate::engine::scheduler::Scheduler;
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT, Shared};
use crate::engine::switch::{Entering, Started, Switch};

/// Bytes that a credit event returns.
#[inline(always)]
pub(super) fn credit_size<P: Probe>(payload: u32) -> u32 {
    payload & ((1 << P::CREDIT_SIZE_BITS) - 1)
}

/// How an impaired link deals with a packet.
struct Impaired {
    /// How long it is busy with it beyond what it is otherwise.
    busy: u64,
    /// How often it sends it again.
    resent: u32,
}

/// A packet that arrives damaged is sent again until it is whole: each time independently, so that it
/// is sent 1/(1 - e) times on average.
#[cold]
#[inline(never)]
fn impaired(shared: &Shared<'_>, class: u8, packet: &Packet, now: u64) -> Impaired {
    let impairments = &shared.topology.link_classes[usize::from(class)].impairments;
    let is_now = |one: &&Impairment| one.during.contains(Picoseconds(now));
    let Some(impairment) = impairments.iter().find(is_now) else {
        return Impaired { busy: 0, resent: 0 };
    };
    let once = (shared.classes[usize::from(class)].rate).duration(packet.size, shared.packet);
    let resent = match impairment.error_rate {
        0.0 => 0,
        rate => {
            let entity = u64::from(packet.source) << 32 | u64::from(packet.sequence);
            let draw = shared.error_key.unit(entity, u32::from(packet.routers));
            // Of a geometric distribution: at least k times with the k-th power of the rate.
            ((1.0 - draw).ln() / rate.ln()) as u32
        }
    };
    let all = once as f64 / impairment.left * f64::from(1 + resent);
    Impaired {
        busy: (all as u64).saturating_sub(once),
        resent,
    }
}

impl<M: Model> Partition<'_, M> {
    /// Takes a credit at its time.
    #[inline(always)]
    pub(super) fn credit(&mut self, first_port: usize, event: PackedEvent) {
        let port = self.creditor(first_port, event);
        let payload = event.payload();
        let vc = (payload >> CREDIT_VC_SHIFT) as usize;
        if M::Probe::ON {
            let now = self.window.start + event.offset();
            self.probe.credited(self.link(port), vc as u8, payload, now);
        }
        self.ports.channels[self.ports.grid.channel(port, vc)].credits +=
            credit_size::<M::Probe>(payload);
        self.ports.all[port].downstream -= credit_size::<M::Probe>(payload);
        if self.ports.all[port].stalled_since != NEVER {
            self.touch(port);
        }
        if port < self.ports.of_routers {
            let now = self.window.start + event.offset();
            M::Switch::credited(self, port, self.ports.grid.channel(port, vc), now);
        }
    }

    /// A packet requests its output. `alone`: no other event of this router
    /// happens at the same time, so that it may leave at once.
    #[inline(always)]
    pub(super) fn arrive<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        first_port: usize,
        event: PackedEvent,
        early: &[PackedEvent],
        alone: bool,
    ) {
        let slot = event.payload();
        let now = self.window.start + event.offset();
        let keeps_decisions = self.routing.keeps_decisions;
        if keeps_decisions && self.is_cut_off(routing, router, slot, 0, now) {
            self.drop_at_router(slot, now);
            return;
        }
        let decided = self.packets.hot[slot as usize].out_port != UNROUTED;
        let follows = !decided && keeps_decisions && self.take_message_route(router, slot);
        if !(decided || follows) {
            self.route(routing, router, first_port, event, early);
        }
        if keeps_decisions {
            self.keep_decision(routing, router, first_port, event, early, follows);
        }
        let packet = &self.packets.hot[slot as usize];
        let (out_port, vc) = (packet.out_port, packet.out_vc);
        if first_port + usize::from(out_port) >= self.window.end_port
            || usize::from(vc) >= self.shared.vcs
            || self.ports.all[first_port + usize::from(out_port)].peer_router == NIL
        {
            no_such_output(self.base_router + router, out_port, vc);
        }
        if M::Probe::ON {
            let (job, port) = (packet.job, first_port + usize::from(out_port));
            self.probe.wait(self.link(port), vc, job, now);
        }
        let packet = Entering {
            router,
            first_port,
            input: first_port + event.port() as usize,
            output: first_port + usize::from(out_port),
            slot,
            now,
            alone,
        };
        M::Switch::enter(self, packet);
    }

    /// Sends what waits for a link, or looks at it again when it is free. `alone`: no other
    /// event of its router happens now.
    #[inline(always)]
    pub(in crate::engine) fn look_at_link(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        now: u64,
        alone: bool,
    ) {
        if self.ports.all[port].free_at > now {
            self.wake_link(router, first_port, port);
        } else if alone {
            self.try_send(router, first_port, port, now);
        } else {
            self.touch(port);
        }
    }

    /// Chooses a packet's output.
    #[inline(always)]
    fn route<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        first_port: usize,
        event: PackedEvent,
        early: &[PackedEvent],
    ) {
        let slot = event.payload();
        let now = self.window.start + event.offset();
        let lanes = self.lanes_of(slot);
        let packet = &mut self.packets.hot[slot as usize];
        let first_channel = first_port << self.ports.grid.shift;
        let asked;
        let rooms = match R::RESERVES || routing.reads_channels() {
            true => {
                asked = Rooms {
                    classes: &self.classes[..],
                    channels: &self.ports.channels[first_channel..self.ports.promised.len()],
                    promised: &self.ports.promised[first_channel..],
                    lanes,
                    waiting: self.switch.waiting(first_port),
                    channel_shift: self.ports.grid.shift,
                    packet: packet.size.max(self.least_room),
                };
                &asked
            }
            false => &Rooms::UNASKED,
        };
        let view = View {
            ports: &self.ports.all[first_port..self.ports.of_routers],
            rooms,
            early,
            offset: event.offset(),
            sent: sent_mask(self.switch.counts_sent()),
            snapshot: self.routing.snapshot,
            key: self.shared.routing_key,
            entity: 0,
            counter: 0,
            now,
            q_table: match R::LEARNS {
                true => &self.routing.q_tables[router as usize],
                false => &[],
            },
            source: 0,
            feedback: None,
            probe: PhantomData::<M::Probe>,
        };
        let feedback = view.route(routing, self.base_router + router, packet);
        if R::LEARNS
            && let Some(feedback) = feedback
        {
            self.send_feedback_upstream(slot, feedback, now);
        }
    }

    /// Routes a packet once more that waits at a router behind an ideal crossbar.
    pub(in crate::engine) fn decide_again<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        slot: u32,
        now: u64,
    ) {
        let first_port = self.shared.topology.first_port[(self.base_router + router) as usize];
        let first_port = (first_port - self.base_port) as usize;
        let view = View {
            ports: &self.ports.all[first_port..self.ports.of_routers],
            // Algorithms whose tables change ask for no room.
            rooms: &Rooms::UNASKED,
            early: &[],
            offset: 0,
            sent: sent_mask(self.switch.counts_sent()),
            snapshot: self.routing.snapshot,
            key: self.shared.routing_key,
            entity: 0,
            counter: 0,
            now,
            q_table: &[],
            source: 0,
            feedback: None,
            probe: PhantomData::<M::Probe>,
        };
        let packet = &mut self.packets.hot[slot as usize];
        view.route_again(routing, self.base_router + router, packet);
        if self.routing.keeps_decisions {
            self.choose_lane(router, first_port, slot, &[], 0);
            self.promise(first_port, slot);
        }
    }

    /// Sends feedback back over the link by which a packet has come, if that leads
    /// to a router.
    fn send_feedback_upstream(&mut self, slot: u32, feedback: u32, now: u64) {
        let packet = &self.packets.hot[slot as usize];
        let class = &self.classes[packet.upstream_class as usize];
        if class.terminal {
            return;
        }
        let (time, payload) = (now + class.latency, FEEDBACK | feedback);
        let (router, port) = (packet.upstream_router, u32::from(packet.upstream_port));
        self.send_back(Kind::Wake, router, port, time, payload);
    }

    /// Changes what the routing algorithm keeps for a router of this partition.
    pub(super) fn learn<R: Routing>(&mut self, routing: &R, router: u32, port: u16, feedback: u32) {
        let at = RouterId(self.base_router + router);
        let q_table = &mut self.routing.q_tables[router as usize];
        routing.learn(at, q_table, port, feedback);
    }

    /// A packet has taken credits that were promised to it, on a link between routers.
    #[inline(always)]
    pub(in crate::engine) fn keep_promise(&mut self, channel: usize, room: u32) {
        if let Some(promised) = self.ports.promised.get_mut(channel) {
            *promised -= room;
        }
    }

    /// Whether a packet has come from another router, not from a node.
    #[inline]
    pub(in crate::engine) fn is_transit(&self, packet: &Packet) -> bool {
        !self.classes[packet.upstream_class as usize].terminal
    }

    /// Puts a packet into a queue, its first and last packet, behind all that have come from
    /// other routers and, unless it has come from one itself, behind all others.
    pub(in crate::engine) fn join_by_origin(
        &mut self,
        (head, tail): (u32, u32),
        slot: u32,
    ) -> (u32, u32) {
        let transit = |slot: u32| self.is_transit(&self.packets.hot[slot as usize]);
        // Of an empty queue the tail is whatever was last in it.
        let (mut before, mut after) = (if head == NIL { NIL } else { tail }, NIL);
        if head != NIL && transit(slot) && !transit(tail) {
            (before, after) = (NIL, head);
            while transit(after) {
                (before, after) = (after, self.packets.hot[after as usize].next);
            }
        }
        self.packets.hot[slot as usize].next = after;
        if before != NIL {
            self.packets.hot[before as usize].next = slot;
        }
        (
            if before == NIL { slot } else { head },
            if after == NIL { slot } else { tail },
        )
    }

    /// A packet joins those that wait for the link of a port.
    #[inline(always)]
    pub(in crate::engine) fn enter_output_queue(&mut self, port: usize, slot: u32) {
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let vc = usize::from(packet.out_vc);
        let state = &mut self.ports.all[port];
        state.queued += packet.size.max(self.least_room);
        state.waiting |= 1 << vc;
        if M::Protocol::ON {
            self.found_waiting(port, slot);
        }
        if self.transit_first() {
            let channel = self.ports.grid.channel(port, vc);
            let ends = (
                self.ports.channels[channel].head,
                self.ports.channels[channel].tail,
            );
            (
                self.ports.channels[channel].head,
                self.ports.channels[channel].tail,
            ) = self.join_by_origin(ends, slot);
            return;
        }
        let channel = &mut self.ports.channels[self.ports.grid.channel(port, vc)];
        if channel.head == NIL {
            channel.head = slot;
        } else {
            self.packets.hot[channel.tail as usize].next = slot;
        }
        channel.tail = slot;
    }

    /// Sends the next packet that waits for `port`, if the link is free and one
    /// has credits.
    pub(in crate::engine) fn try_send(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        now: u64,
    ) {
        let state = &mut self.ports.all[port];
        if state.waiting == 0 {
            M::Switch::nothing_queued(self, port, now);
            return;
        }
        if state.free_at > now {
            self.wake_link(router, first_port, port);
            return;
        }
        M::Switch::link_free(self, port);
        let Some(vc) = M::Scheduler::choose(self, port, now) else {
            if M::Scheduler::CLASSES {
                self.wait_for_share(router, first_port, port, now);
                if !M::Scheduler::lacks_room(self, port, now) {
                    return;
                }
            }
            let state = &mut self.ports.all[port];
            if state.stalled_since == NEVER {
                state.stalled_since = now;
            }
            return;
        };
        if self.ports.all[port].stalled_since != NEVER {
            if M::Probe::ON {
                let link = self.link(port);
                self.probe.settle(link, now);
            }
            self.ports.all[port].end_stall(now, self.warmup);
        }
        let state = &mut self.ports.all[port];
        state.served = vc as u8;
        let at = self.ports.grid.channel(port, vc);
        let channel = &mut self.ports.channels[at];
        let slot = channel.head;
        let packet = &self.packets.hot[slot as usize];
        state.queued -= packet.size.max(self.least_room);
        channel.head = packet.next;
        if channel.head == NIL {
            state.waiting &= !(1 << vc);
        }
        self.transmit(router, first_port, port, at, slot, now);
        if self.ports.all[port].waiting != 0 || self.switch.holds_packets(self.ports.grid, port) {
            self.wake_link(router, first_port, port);
        }
    }

    /// Looks at a port again when a class may send over its link that may not now, if there is one.
    fn wait_for_share(&mut self, router: u32, first_port: usize, port: usize, now: u64) {
        if let Some(at) = M::Scheduler::pause(self, port, now) {
            let number = (port - first_port) as u32;
            self.schedule(Event::new(at, router, Kind::Wake, number, WAKE_CLASS));
        }
    }

    /// Looks at a port again when its link is free, unless that is to happen anyway.
    #[inline(always)]
    pub(in crate::engine) fn wake_link(&mut self, router: u32, first_port: usize, port: usize) {
        let state = &mut self.ports.all[port];
        if !state.wake {
            state.wake = true;
            let number = (port - first_port) as u32;
            let event = Event::new(state.free_at, router, Kind::Wake, number, 0);
            self.schedule(event);
        }
    }

    /// Sends a packet through a router port that is free and has credits.
    #[inline(always)]
    pub(in crate::engine) fn transmit(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        channel: usize,
        slot: u32,
        now: u64,
    ) {
        // Links that lose packets or send them again are rare: all others pay for one branch.
        if self.classes[self.ports.all[port].class as usize].impaired {
            self.transmit_impaired(router, first_port, port, channel, slot, now);
        } else {
            self.transmit_over::<false>(router, first_port, port, channel, slot, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn transmit_impaired(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        channel: usize,
        slot: u32,
        now: u64,
    ) {
        self.transmit_over::<true>(router, first_port, port, channel, slot, now);
    }

    /// The same over a link that is `IMPAIRED` or not.
    #[inline(always)]
    fn transmit_over<const IMPAIRED: bool>(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        channel: usize,
        slot: u32,
        now: u64,
    ) {
        let state = &mut self.ports.all[port];
        let class = &self.classes[state.class as usize];
        let (way, terminal) = (class.latency, class.terminal);
        let mut latency = way;
        let packet = &mut self.packets.hot[slot as usize];
        let size = packet.size;
        let mut end = now + class.rate.duration(size, self.packet);
        let mut head = end;
        let mut loss = Loss::None;
        if let Some(flit) = self.flit {
            let flit = class.rate.first_flit_duration(size, flit);
            head = now + flit;
            // A link that is faster than the one before waits for the tail.
            end = end.max(packet.tail + self.delay + flit);
        }
        if IMPAIRED {
            let Impaired { busy, resent } = impaired(self.shared, state.class, packet, now);
            let first = head - now;
            (head, end) = (head + busy, end + busy);
            // The link goes on with others while it is asked to send this one again, which the
            // receiver passes on in order.
            let last = &mut self.ports.last_arrivals[port];
            latency = (way + u64::from(resent) * 2 * way).max((*last + first).saturating_sub(head));
            *last = end + latency;
            self.accounts.resent_bytes += u64::from(resent) * u64::from(size);
            if let Some(outages) = &self.routing.outages {
                let number = self.base_port as usize + port;
                loss = outages.on_port(number, now, end + latency);
            }
        }
        let measured = match loss {
            Loss::Dark => state.discard(end),
            _ => state.start(class, size, now, end, self.warmup),
        };
        self.accounts.packet_hops += 1;
        self.last_move = now;
        let out_vc = packet.out_vc;
        if M::Probe::ON {
            let departure = Departure {
                job: packet.job,
                vc: out_vc,
                measured,
                now,
                end,
                held: match !terminal || M::Switch::NODES_GIVE_ROOM {
                    true => size.max(self.least_room),
                    false => 0,
                },
            };
            if !terminal && loss == Loss::None {
                self.probe.arrive(Approach {
                    router: state.peer_router,
                    class: state.class,
                    job: departure.job,
                    size,
                    source: packet.source,
                    destination_router: packet.route.destination_router,
                    time: end + latency,
                });
            }
            self.probe.send(self.link(port), departure);
        }
        let started = Started {
            router,
            first_port,
            output: port,
            slot,
            size,
            vc: out_vc,
            terminal,
            end,
            arrival: end + latency,
        };
        M::Switch::started(self, started);
        if M::Protocol::ON {
            let ps = way + if terminal { 0 } else { self.delay };
            self.passes(port, slot, ps, now);
        }
        if loss != Loss::None {
            let lost = LostOnLink {
                router,
                first_port,
                port,
                channel,
                slot,
                terminal,
                end,
                loss,
            };
            self.drop_on_link(lost, now);
            return;
        }
        if terminal {
            self.deliver(router, (port - first_port) as u32, slot, end + latency);
            return;
        }
        if !self.switch.takes_credits() {
            self.ports.channels[channel].credits -= size;
            self.keep_promise(channel, size);
        }
        let state = &mut self.ports.all[port];
        state.downstream += size.max(self.least_room);
        let (peer_router, peer_port, class) = (state.peer_router, state.peer_port, state.class);
        let arrival = head + latency + self.delay;
        let here = self.base_router + router;
        let packet = if self.has_router(peer_router) {
            let peer = peer_router - self.base_router;
            self.schedule(Event::new(arrival, peer, Kind::Arrive, peer_port, slot));
            &mut self.packets.hot[slot as usize]
        } else {
            let event = Event::new(arrival, 0, Kind::Arrive, peer_port, 0);
            self.post_packet(peer_router, event, slot)
        };
        packet.lane = out_vc;
        packet.out_port = UNROUTED;
        packet.tail = end + latency;
        packet.upstream_port = (port - first_port) as u16;
        packet.upstream_router = here;
        packet.upstream_class = class;
    }

    /// The tail of a packet leaves its input buffer at `end`: tells who sent it.
    #[inline(always)]
    pub(in crate::engine) fn release_input(&mut self, slot: u32, end: u64) {
        let packet = &self.packets.hot[slot as usize];
        let class = &self.classes[packet.upstream_class as usize];
        let time = end + class.latency + self.shared.credit_delay;
        let whose = if class.terminal {
            CREDIT_FOR_INTERFACE
        } else {
            0
        };
        let credit = M::Probe::credit(packet.size.max(self.least_room), packet.job);
        let payload = (u32::from(packet.lane) << CREDIT_VC_SHIFT) | whose | credit;
        let (router, port) = (packet.upstream_router, u32::from(packet.upstream_port));
        self.send_back(Kind::Credit, router, port, time, payload);
    }
}
