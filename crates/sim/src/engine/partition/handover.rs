//! Packets that wait for room behind an output, see [`Handover`](crate::engine::handover::Handover).

use super::Partition;
use crate::engine::calendar::{Event, Kind};
use crate::engine::packets::NIL;
use crate::engine::port::NEVER;
use crate::engine::probe::Probe;
use crate::engine::shared::CREDIT_VC_SHIFT;

impl<P: Probe> Partition<'_, P> {
    /// A routed packet asks for room behind its output `port`, and waits if there is none or
    /// others wait.
    pub fn ask_for_room(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        slot: u32,
        now: u64,
        alone: bool,
    ) {
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let room = packet.size.max(self.least_room);
        let channel = self.ports.grid.channel(port, usize::from(packet.out_vc));
        let handover = self.handover.as_mut().expect("packets are handed over");
        let mut held = handover.held[channel];
        if held.0 == NIL && self.ports.channels[channel].credits >= room {
            self.take_room(port, channel, slot, room, now);
        } else {
            if self.transit_first() {
                held = self.join_by_origin(held, slot);
            } else {
                if held.0 == NIL {
                    held.0 = slot;
                } else {
                    self.packets.hot[held.1 as usize].next = slot;
                }
                held.1 = slot;
            }
            let handover = self.handover.as_mut().expect("packets are handed over");
            handover.held[channel] = held;
            self.ports.all[port].queued += room;
        }
        if self.ports.all[port].free_at > now {
            self.wake_link(router, first_port, port);
        } else if alone {
            self.try_send(router, first_port, port, now);
        } else {
            self.touch(port);
        }
    }

    /// Room has come back on a channel: packets that waited for it join the output queue.
    pub fn hand_over(&mut self, channel: usize, port: usize, now: u64) {
        loop {
            let handover = self.handover.as_mut().expect("packets are handed over");
            let slot = handover.held[channel].0;
            if slot == NIL {
                return;
            }
            let packet = &self.packets.hot[slot as usize];
            let room = packet.size.max(self.least_room);
            if self.ports.channels[channel].credits < room {
                return;
            }
            handover.held[channel].0 = packet.next;
            // It counts again as it joins the queue.
            self.ports.all[port].queued -= room;
            self.take_room(port, channel, slot, room, now);
            self.touch(port);
        }
    }

    fn take_room(&mut self, port: usize, channel: usize, slot: u32, room: u32, now: u64) {
        self.ports.channels[channel].credits -= room;
        if !self.classes[self.ports.all[port].class as usize].terminal {
            self.keep_promise(channel, room);
        }
        // Under cut-through the tail may be still to come.
        let left = now.max(self.packets.hot[slot as usize].tail);
        self.release_input(slot, left);
        self.enter_output_queue(port, slot);
    }

    /// Whether packets wait for room behind a port.
    #[cold]
    pub fn holds_packets(&self, port: usize) -> bool {
        let channels = port << self.ports.grid.shift..(port + 1) << self.ports.grid.shift;
        let held = self.handover.as_ref();
        held.is_some_and(|all| all.held[channels].iter().any(|&(first, _)| first != NIL))
    }

    /// Nothing can leave through a port: that is a stall if its link is free and packets wait.
    #[cold]
    pub fn note_stall(&mut self, port: usize, now: u64) {
        let state = &self.ports.all[port];
        if state.free_at <= now && state.stalled_since == NEVER && self.holds_packets(port) {
            self.ports.all[port].stalled_since = now;
        }
    }

    /// A packet starts to its node, where its tail arrives at `time`: the node gives its room
    /// back then.
    pub fn await_node(
        &mut self,
        router: u32,
        first_port: usize,
        port: usize,
        slot: u32,
        time: u64,
    ) {
        let packet = &self.packets.hot[slot as usize];
        let room = packet.size.max(self.least_room);
        let credit = P::credit(room, packet.job);
        let payload = u32::from(packet.out_vc) << CREDIT_VC_SHIFT | credit;
        let state = &mut self.ports.all[port];
        state.downstream += room;
        let latency = self.classes[state.class as usize].latency;
        let back = time + latency + self.shared.credit_delay;
        let number = (port - first_port) as u32;
        self.schedule(Event::new(back, router, Kind::Credit, number, payload));
    }
}
