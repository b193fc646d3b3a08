//! Packets that links lose: they come back to their nodes, which send them again, or give up.

use odonata_network::Routing;
use odonata_units::RouterId;

use super::Partition;
use crate::engine::calendar::{Event, Kind};
use crate::engine::interface::OutMessage;
use crate::engine::losses::Loss;
use crate::engine::model::Model;
use crate::engine::packets::{Contents, NIL};
use crate::engine::payload::LOST;
use crate::engine::port::NEVER;
use crate::engine::probe::Probe;
use crate::engine::protocol::Protocol;
use crate::engine::queues::Queue;
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT};
use crate::engine::switch::Switch;

/// A packet that a link of a router loses.
pub(super) struct LostOnLink {
    pub router: u32,
    pub first_port: usize,
    pub port: usize,
    pub channel: usize,
    pub slot: u32,
    pub terminal: bool,
    /// When the link is free again.
    pub end: u64,
    pub loss: Loss,
}

impl<M: Model> Partition<'_, M> {
    /// Whether no route leads on from a router (local number) at which a packet is that `routers` have
    /// routed: its nodes are apart as it enters the network, or the router has no hop for it.
    #[cold]
    pub(in crate::engine) fn is_cut_off<R: Routing>(
        &self,
        routing: &R,
        router: u32,
        slot: u32,
        routers: u16,
        now: u64,
    ) -> bool {
        let (Some(outages), packet) = (&self.routing.outages, &self.packets.hot[slot as usize])
        else {
            return false;
        };
        let destination = || self.packets.contents[slot as usize].destination;
        let enters = packet.routers == routers;
        let at = RouterId(self.base_router + router);
        enters && outages.are_apart(packet.source, destination(), now)
            || routing.lacks_hop(at, enters, &packet.route, now)
    }

    /// Drops a packet that has just arrived at a router.
    pub(in crate::engine) fn drop_at_router(&mut self, slot: u32, now: u64) {
        let left = now.max(self.packets.hot[slot as usize].tail);
        self.release_input(slot, left);
        self.lose(slot, now);
    }

    /// Drops a packet that has begun, or would have, over a link of a router. The room behind the
    /// link is there again once it is free.
    #[cold]
    pub(super) fn drop_on_link(&mut self, lost: LostOnLink, now: u64) {
        let packet = &self.packets.hot[lost.slot as usize];
        let (size, vc, job) = (packet.size, packet.out_vc, packet.job);
        let room = size.max(self.least_room);
        if lost.loss == Loss::Dark {
            self.accounts.packet_hops -= 1;
        }
        if !lost.terminal {
            if !self.switch.takes_credits() {
                self.ports.channels[lost.channel].credits -= size;
                self.keep_promise(lost.channel, size);
            }
            self.ports.all[lost.port].downstream += room;
            let payload = u32::from(vc) << CREDIT_VC_SHIFT | M::Probe::credit(room, job);
            let number = (lost.port - lost.first_port) as u32;
            self.schedule(Event::new(
                lost.end,
                lost.router,
                Kind::Credit,
                number,
                payload,
            ));
        }
        self.lose(lost.slot, now);
    }

    /// The same of a packet that an interface sends.
    #[cold]
    pub(super) fn drop_at_node(&mut self, index: usize, slot: u32, end: u64, now: u64) {
        let packet = &self.packets.hot[slot as usize];
        let credit = M::Probe::credit(packet.size.max(self.least_room), packet.job);
        let payload = u32::from(packet.lane) << CREDIT_VC_SHIFT | CREDIT_FOR_INTERFACE | credit;
        let interface = &self.interfaces.all[index];
        let (router, terminal) = (interface.router - self.base_router, interface.terminal);
        self.schedule(Event::new(end, router, Kind::Credit, terminal, payload));
        self.lose(slot, now);
    }

    /// Lets the node that sent a packet notice after a while that it is lost.
    fn lose(&mut self, slot: u32, now: u64) {
        let Some(outages) = &self.shared.outages else {
            unreachable!("a packet is lost where none can be");
        };
        let at = now.saturating_add(outages.resend_after);
        let packet = &self.packets.hot[slot as usize];
        let (router, terminal) = self.shared.attachment(packet.source);
        self.accounts.jobs[usize::from(packet.job)].packets_lost += 1;
        let terminal = u32::from(terminal);
        if self.has_router(router) {
            let router = router - self.base_router;
            self.schedule(Event::new(at, router, Kind::Node, terminal, LOST | slot));
        } else {
            let notice = Event::new(at, 0, Kind::Node, terminal, LOST);
            self.post_packet(router, notice, slot);
        }
    }

    /// A node notices that a packet of it is lost: it sends it again, before everything else that
    /// waits, or gives it up.
    pub(super) fn notice_loss(&mut self, index: usize, slot: u32, now: u64) {
        let Some(outages) = &self.shared.outages else {
            return;
        };
        let packet = self.packets.hot[slot as usize];
        let contents = self.packets.contents[slot as usize];
        self.packets.remove(slot);
        self.protocol.lost(index, contents.destination, packet.size);
        let collector = &mut self.accounts.jobs[usize::from(packet.job)];
        let is_aborted = collector.aborted.is_some();
        if is_aborted || contents.losses >= outages.retries {
            collector.gave_up |= !is_aborted;
            self.forget(&contents, u64::from(packet.size));
            return;
        }
        let rank = self
            .shared
            .rank(u32::from(packet.job), contents.source_rank);
        let message = OutMessage {
            bytes_left: u64::from(packet.size),
            created: packet.created,
            local_rank: self.ranks.local[rank as usize],
            request: NIL,
            contents: Contents {
                losses: contents.losses + 1,
                ..contents
            },
        };
        // Those that are lost at the same time come in any order, and leave in this one.
        let order = |message: &OutMessage| {
            let contents = &message.contents;
            let which = (contents.job, contents.message, contents.kind as u8);
            let to = (contents.source_rank, contents.destination_rank);
            let part = (contents.tag, contents.sequence, contents.handle);
            (
                message.created,
                which,
                to,
                part,
                message.bytes_left,
                contents.losses,
            )
        };
        let own = order(&message);
        let queue = &mut self.interfaces.all[index].outgoing;
        let later = |other: &OutMessage| other.contents.losses == 0 || order(other) > own;
        self.interfaces.waiting.insert_before(queue, message, later);
        self.wait_for_room_no_more(self.ports.of_routers + index, now);
    }

    /// A part of a message is lost with its job.
    fn forget(&mut self, contents: &Contents, bytes: u64) {
        if contents.kind.is_control() {
            self.accounts.control_bytes -= bytes as i64;
        } else {
            self.accounts.jobs[usize::from(contents.job)].bytes_lost += bytes;
        }
    }

    /// Ends a job where it is, at a time up to which everything has happened: its ranks and sources
    /// do nothing more, and what they still had to send is lost. What is on its way arrives, and
    /// interfaces go on from the start of `window`, which no partition has begun.
    pub(in crate::engine) fn abort(&mut self, job: u32, at: u64, window: u64) {
        let next_window = window << self.shared.window_shift();
        let collector = &mut self.accounts.jobs[job as usize];
        collector.aborted = Some(at);
        collector.has_end = false;
        collector.last_finish = collector.last_finish.max(at);
        let recorded = self.shared.measurement.rank_intervals;
        for rank in self.ranks.all.iter_mut().filter(|rank| rank.job == job) {
            if !rank.is_finished() {
                self.ranks.unfinished -= 1;
            }
            self.accounts.jobs[job as usize].bytes_lost += rank.abort(at, recorded);
        }
        for index in 0..self.interfaces.sources.len() {
            let source = &mut self.interfaces.sources[index];
            if source.job == job {
                source.next_time = NEVER;
            }
        }
        for index in 0..self.interfaces.all.len() {
            self.clear_queue(index, job, at);
            self.arm_for_next(index, next_window);
        }
    }

    /// Takes the messages of a job out of what waits at an interface.
    fn clear_queue(&mut self, index: usize, job: u32, at: u64) {
        let mut others = Queue::default();
        while let Some(message) = self
            .interfaces
            .waiting
            .pop_front(&mut self.interfaces.all[index].outgoing)
        {
            let contents = &message.contents;
            if u32::from(contents.job) != job {
                self.interfaces.waiting.push_back(&mut others, message);
                continue;
            }
            if message.local_rank == NIL && contents.losses == 0 {
                let class = self.class_bit(contents);
                self.interfaces.all[index].open_active &= !class;
            }
            self.forget(&message.contents, message.bytes_left);
        }
        self.interfaces.all[index].outgoing = others;
        self.wait_for_room_no_more(self.ports.of_routers + index, at);
    }

    /// Ends the stall of an interface, if there is one: another packet than the one that lacked room
    /// is the next now, which is looked at anew.
    pub(super) fn wait_for_room_no_more(&mut self, port: usize, now: u64) {
        if self.ports.all[port].stalled_since == NEVER {
            return;
        }
        if M::Probe::ON {
            let link = self.link(port);
            self.probe.wait_no_more(link, now);
        }
        self.ports.all[port].end_stall(now, self.warmup);
    }
}
