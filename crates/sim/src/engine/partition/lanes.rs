//! What follows from a decision beside where a packet waits; and which of several virtual channels
//! a packet takes where a link has more than its routing algorithm tells apart.

use odonata_network::Routing;
use odonata_network::routing::{Hop, Lanes};
use odonata_run::Decisions;
use odonata_units::RouterId;

use super::Partition;
use super::view::{no_such_output, to_come};
use crate::engine::calendar::PackedEvent;
use crate::engine::model::Model;
use crate::engine::port::NEVER;
use crate::engine::scheduler::Scheduler;

impl<M: Model> Partition<'_, M> {
    /// A packet has been routed, or `follows` others of its message: chooses its lane, keeps the
    /// decision for the rest of its message, and promises it room.
    pub(super) fn keep_decision<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        first_port: usize,
        event: PackedEvent,
        early: &[PackedEvent],
        follows: bool,
    ) {
        let slot = event.payload();
        if !follows {
            self.choose_lane(router, first_port, slot, early, event.offset());
            if self.routing.message_routes.is_some() {
                self.keep_message_route(router, slot);
            }
        }
        self.promise(first_port, slot);
        if R::RESERVES {
            let packet = &self.packets.hot[slot as usize];
            let hop = Hop {
                port: packet.out_port,
                vc: packet.route.vc,
            };
            let port = first_port + usize::from(hop.port);
            let channel = self.ports.grid.channel(port, usize::from(packet.out_vc));
            debug_assert!(
                routing.waits_for_room(hop)
                    || self.classes[self.ports.all[port].class as usize].terminal
                    || self.ports.promised[channel] <= self.ports.channels[channel].credits,
                "room is promised that there is not"
            );
        }
    }

    /// The lanes that a packet in the network may take: those of its class.
    #[inline(always)]
    pub(super) fn lanes_of(&self, slot: u32) -> Lanes {
        let lanes = self.shared.lanes;
        match M::Scheduler::CLASSES {
            true => lanes.of_class(self.packets.hot[slot as usize].lane / lanes.count()),
            false => lanes,
        }
    }

    /// Chooses a lane of the channel for which a packet has been routed: of those with room for it
    /// beside what was promised before, that with the fewest promised bytes; if none has room, that
    /// which lacks least; of equals the lowest.
    pub(super) fn choose_lane(
        &mut self,
        router: u32,
        first_port: usize,
        slot: u32,
        early: &[PackedEvent],
        offset: u64,
    ) {
        let lanes = self.lanes_of(slot);
        let packet = &mut self.packets.hot[slot as usize];
        let (number, channel) = (packet.out_port, packet.route.vc);
        let here = self.base_router + router;
        let radix = self.shared.topology.ports_of(RouterId(here)).len();
        if usize::from(number) >= radix || channel >= lanes.channels() {
            no_such_output(here, number, channel);
        }
        let port = first_port + usize::from(number);
        packet.out_vc = lanes.of(channel).start;
        if !lanes.are_several() || self.classes[self.ports.all[port].class as usize].terminal {
            return;
        }
        let room = packet.size.max(self.least_room);
        let lacking = |lane: &u8| {
            let at = self.ports.grid.channel(port, usize::from(*lane));
            let credits = self.ports.channels[at].credits
                - to_come::<M::Probe>(early, offset, u32::from(number), *lane);
            let promised = self.ports.promised[at];
            ((promised + room).saturating_sub(credits), promised)
        };
        let lane = lanes.of(channel).min_by_key(lacking);
        packet.out_vc = lane.expect("a channel has lanes");
    }

    /// A packet has decided for room behind the link to another router.
    pub(in crate::engine) fn promise(&mut self, first_port: usize, slot: u32) {
        let packet = &self.packets.hot[slot as usize];
        let port = first_port + usize::from(packet.out_port);
        let channel = self.ports.grid.channel(port, usize::from(packet.out_vc));
        let terminal = self.classes[self.ports.all[port].class as usize].terminal;
        if let Some(promised) = self.ports.promised.get_mut(channel)
            && !terminal
        {
            *promised += packet.size.max(self.least_room);
        }
    }

    /// The lane of an interface's link on which its next packet leaves: the next in turn that has
    /// room, or, if none has, the next in turn, for whose room it waits. Packets of a message that
    /// are to keep their order have one lane.
    #[inline(never)]
    pub(super) fn lane_of_interface(&mut self, port: usize, size: u32) -> usize {
        let count = usize::from(self.shared.lanes.count());
        let state = &mut self.ports.all[port];
        if self.shared.config.decisions == Decisions::PerMessage {
            return self.interfaces.outgoing.contents.message as usize % count;
        }
        if state.stalled_since == NEVER {
            let first = port << self.ports.grid.shift;
            let served = usize::from(state.served);
            let mut in_turn = (1..=count).map(|next| (served + next) % count);
            let roomy = |&lane: &usize| self.ports.channels[first + lane].credits >= size;
            let lane = in_turn.find(roomy).unwrap_or((served + 1) % count);
            state.served = lane as u8;
        }
        usize::from(state.served)
    }
}
