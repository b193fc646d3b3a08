//! Output queues behind an ideal crossbar: packets take room at the other end of their link
//! before they join the queue of the output, and leave their input buffer with that.

use std::ops::Range;

use odonata_run::memory::filled;

use super::{EMPTY, Entering, Held, Started, Switch};
use crate::engine::calendar::{Event, Kind};
use crate::engine::model::Model;
use crate::engine::packets::NIL;
use crate::engine::partition::Partition;
use crate::engine::port::{Grid, NEVER, PORTS};
use crate::engine::probe::Probe;
use crate::engine::shared::{CREDIT_VC_SHIFT, Shared};

/// The packets of a partition that have been routed and lack room.
pub(in crate::engine) struct OutputQueues {
    /// First and last packet for each channel of each router port, in the order in which they
    /// came. Shape as of `Ports::channels`.
    held: Vec<(u32, u32)>,
}

impl Switch for OutputQueues {
    const NODES_GIVE_ROOM: bool = true;

    fn new(_: &Shared<'_>, _: Range<u32>, channels: usize) -> Self {
        Self {
            held: filled(EMPTY, channels, PORTS),
        }
    }

    #[inline(always)]
    fn takes_credits(&self) -> bool {
        true
    }

    fn enter<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Entering) {
        partition.ask_for_room(packet);
    }

    fn credited<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        channel: usize,
        now: u64,
    ) {
        partition.hand_over(channel, port, now);
    }

    /// That is a stall if its link is free and packets wait.
    #[cold]
    fn nothing_queued<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        now: u64,
    ) {
        let state = &partition.ports.all[port];
        if state.free_at <= now
            && state.stalled_since == NEVER
            && partition.switch.holds_packets(partition.ports.grid, port)
        {
            partition.ports.all[port].stalled_since = now;
        }
    }

    #[inline(always)]
    fn started<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Started) {
        if packet.terminal {
            partition.await_node(packet);
        }
    }

    #[cold]
    fn holds_packets(&self, grid: Grid, port: usize) -> bool {
        let channels = grid.channel(port, 0)..grid.channel(port + 1, 0);
        self.held[channels].iter().any(|&(first, _)| first != NIL)
    }

    fn held(&self, grid: Grid, port: usize, vc: usize) -> Option<Held> {
        let first = self.held[grid.channel(port, vc)].0;
        Some(Held { first, room: 0 })
    }

    fn restore<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        _: usize,
        (port, vc): (usize, usize),
        slots: &[u32],
        _: u32,
    ) {
        if let (Some(&first), Some(&last)) = (slots.first(), slots.last()) {
            let channel = partition.ports.grid.channel(port, vc);
            partition.switch.held[channel] = (first, last);
        }
    }
}

impl<M: Model<Switch = OutputQueues>> Partition<'_, M> {
    /// A routed packet asks for room behind its output, and waits if there is none or
    /// others wait.
    fn ask_for_room(&mut self, packet: Entering) {
        let Entering {
            router,
            first_port,
            output: port,
            slot,
            now,
            alone,
            ..
        } = packet;
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let room = packet.size.max(self.least_room);
        let channel = self.ports.grid.channel(port, usize::from(packet.out_vc));
        let mut held = self.switch.held[channel];
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
            self.switch.held[channel] = held;
            self.ports.all[port].queued += room;
        }
        self.look_at_link(router, first_port, port, now, alone);
    }

    /// Room has come back on a channel: packets that waited for it join the output queue.
    #[inline(never)]
    fn hand_over(&mut self, channel: usize, port: usize, now: u64) {
        loop {
            let slot = self.switch.held[channel].0;
            if slot == NIL {
                return;
            }
            let packet = &self.packets.hot[slot as usize];
            let room = packet.size.max(self.least_room);
            if self.ports.channels[channel].credits < room {
                return;
            }
            self.switch.held[channel].0 = packet.next;
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

    /// A packet starts to its node, where its tail arrives at a time: the node gives its room
    /// back then.
    #[inline(always)]
    fn await_node(&mut self, packet: Started) {
        let Started {
            router,
            first_port,
            output: port,
            slot,
            arrival,
            ..
        } = packet;
        let packet = &self.packets.hot[slot as usize];
        let room = packet.size.max(self.least_room);
        let credit = M::Probe::credit(room, packet.job);
        let payload = u32::from(packet.out_vc) << CREDIT_VC_SHIFT | credit;
        let state = &mut self.ports.all[port];
        state.downstream += room;
        let latency = self.classes[state.class as usize].latency;
        let back = arrival + latency + self.shared.credit_delay;
        let number = (port - first_port) as u32;
        self.schedule(Event::new(back, router, Kind::Credit, number, payload));
    }
}
