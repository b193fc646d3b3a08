//! Nodes that send what an end-to-end protocol permits, and what is collected for it on the way.

use super::Partition;
use crate::engine::interface::OutMessage;
use crate::engine::model::Model;
use crate::engine::packets::NIL;
use crate::engine::port::NEVER;
use crate::engine::protocol::{Link, Notice, Protocol, Waiting};

/// Messages of open-loop sources that a node looks past at most when they are held back: what
/// comes after them waits as at a source.
const MOST_HELD: usize = 64;

impl<M: Model> Partition<'_, M> {
    /// Makes the first message of an interface that may send a packet now the one that is being
    /// sent. `false`: there is none; the interface looks again when there can be.
    pub(super) fn take_permitted(&mut self, index: usize, now: u64) -> bool {
        if self.ports.all[self.ports.of_routers + index].stalled_since != NEVER {
            // It was permitted and lacked room at the router.
            let queue = &mut self.interfaces.all[index].outgoing;
            if let Some(message) = self.interfaces.waiting.pop_front(queue) {
                self.interfaces.outgoing = message;
                return true;
            }
        }
        let mut fresh = false;
        if self.interfaces.all[index].open_active == 0 {
            fresh = self.pull_open_message(index, now, u16::MAX);
            self.interfaces.all[index].open_active = u16::from(fresh);
        }
        let mut next = NEVER;
        let (protocol, packet) = (&mut self.protocol, u64::from(self.packet));
        let mut permitted = |message: &OutMessage| {
            let bytes = message.bytes_left.min(packet) as u32;
            let at = protocol.permitted(index, message.contents.destination, bytes, now);
            next = next.min(at);
            at <= now
        };
        let queue = &mut self.interfaces.all[index].outgoing;
        if queue.is_empty() {
            if !fresh {
                self.arm_interface(index, now + 1);
                return false;
            }
            // A message that finds nothing before it need not queue.
            if permitted(&self.interfaces.outgoing) {
                return true;
            }
            let message = self.interfaces.outgoing;
            self.interfaces.waiting.push_back(queue, message);
        } else {
            if fresh {
                let message = self.interfaces.outgoing;
                self.interfaces.waiting.push_back(queue, message);
            }
            if let Some(message) = self.interfaces.waiting.take_first(queue, permitted) {
                self.interfaces.outgoing = message;
                return true;
            }
        }
        if self.pull_past_held(index, now, u16::MAX, &mut next) {
            return true;
        }
        if next < self.shared.stop {
            self.arm(index, next);
        }
        false
    }

    /// Makes the next open-loop message of some classes that may leave now the one that is being
    /// sent, when none that is queued may. `false`: there is none; `next` is then when one of those that are held
    /// back since may leave.
    pub(super) fn pull_past_held(
        &mut self,
        index: usize,
        now: u64,
        classes: u16,
        next: &mut u64,
    ) -> bool {
        let interface = &self.interfaces.all[index];
        if interface.sources.is_empty() {
            return false;
        }
        let queued = self.interfaces.waiting.iter(&interface.outgoing);
        let held = queued.filter(|message| {
            let class = self.class_bit(&message.contents);
            message.local_rank == NIL && class & classes != 0
        });
        let held = held.count();
        for _ in held..MOST_HELD {
            if !self.pull_open_message(index, now, classes) {
                self.arm_interface(index, now + 1);
                return false;
            }
            let message = self.interfaces.outgoing;
            self.interfaces.all[index].open_active |= self.class_bit(&message.contents);
            let bytes = message.bytes_left.min(u64::from(self.packet)) as u32;
            let to = message.contents.destination;
            let at = self.protocol.permitted(index, to, bytes, now);
            if at <= now {
                return true;
            }
            *next = at.min(*next);
            let queue = &mut self.interfaces.all[index].outgoing;
            self.interfaces.waiting.push_back(queue, message);
        }
        false
    }

    /// A packet joins those that wait for the link of a port.
    pub(super) fn found_waiting(&mut self, port: usize, slot: u32) {
        let state = &self.ports.all[port];
        let class = &self.classes[state.class as usize];
        let packet = &self.packets.hot[slot as usize];
        let waiting = Waiting {
            port,
            interface: class.terminal.then_some(state.peer_router as usize),
            bytes: state.queued - packet.size.max(self.least_room),
            buffer: class.buffer,
            stalled: state.stalled_since != NEVER,
        };
        let source = packet.source;
        if let Some(notice) = self.protocol.queued(slot, packet, waiting, self.now) {
            self.notify(source, notice, self.now);
        }
    }

    /// A packet goes on over a link and through a router that take so long without waiting.
    #[inline(always)]
    pub(super) fn passes(&mut self, port: usize, slot: u32, ps: u64, now: u64) {
        let state = &self.ports.all[port];
        let link = Link {
            port,
            line: self.classes[state.class as usize]
                .rate
                .bandwidth
                .bytes_per_second(),
            waiting: state.queued,
            bytes: self.packets.hot[slot as usize].size,
        };
        self.protocol.passed(slot, ps, link, now);
    }

    /// The tail of a packet will reach its node at a time.
    pub(super) fn report_delivery(&mut self, router: u32, terminal: u32, slot: u32, time: u64) {
        let port = self.first_port(router) + terminal as usize;
        let interface = self.ports.all[port].peer_router as usize;
        let packet = &self.packets.hot[slot as usize];
        let source = packet.source;
        if let Some(notice) = self.protocol.delivered(slot, packet, interface, time) {
            self.notify(source, notice, time);
        }
    }

    /// Lets a node hear of something that happens at a time, but not before partitions can know.
    fn notify(&mut self, node: u32, notice: Notice, time: u64) {
        // Without links between routers a node only hears of its own router.
        let ahead = match self.shared.lookahead {
            u64::MAX => 1,
            lookahead => lookahead,
        };
        let at = notice.at.max(time.saturating_add(ahead));
        self.send_notice(node, Notice { at, ..notice });
    }

    /// A node is to hear of something at its time.
    pub(super) fn listen(&mut self, router: u32, terminal: u32, notice: Notice) {
        let port = self.first_port(router) + terminal as usize;
        let interface = self.ports.all[port].peer_router as usize;
        self.protocol.listen(interface, notice);
    }
}
