//! Packets that follow what was decided for their message.

use odonata_run::memory::make_room_in;

use super::Partition;
use crate::engine::message_routes::{Decision, Visit};
use crate::engine::model::Model;

impl<M: Model> Partition<'_, M> {
    /// The message of a packet that comes to a router, if others of it come, too.
    /// Requests, grants and their like have no number, and are short.
    fn divided(&self, router: u32, slot: u32) -> Option<Visit> {
        let packet = &self.packets.hot[slot as usize];
        if packet.bare {
            return None;
        }
        let contents = &self.packets.contents[slot as usize];
        if contents.kind.is_control() || contents.message_bytes == u64::from(packet.size) {
            return None;
        }
        let message = (u64::from(packet.source) << 32) | u64::from(contents.message);
        Some((router, packet.routers, message))
    }

    /// Lets a packet that has come to a router go where an earlier one of its
    /// message went. `false` if it is the first.
    #[inline(never)]
    pub fn take_message_route(&mut self, router: u32, slot: u32) -> bool {
        let Some(visit) = self.divided(router, slot) else {
            return false;
        };
        let Some(message_routes) = &mut self.routing.message_routes else {
            return false;
        };
        let Some(decision) = message_routes.get_mut(&visit) else {
            return false;
        };
        // All packets of the message have come the same way, so that what they
        // carry was equal before the decision, too.
        let packet = &mut self.packets.hot[slot as usize];
        packet.route = decision.route;
        (packet.out_port, packet.out_vc) = (decision.out_port, decision.out_vc);
        packet.routers += 1;
        decision.missing -= u64::from(packet.size);
        if decision.missing == 0 {
            message_routes.remove(&visit);
        }
        true
    }

    /// Keeps what has just been decided for a packet, for the rest of its message.
    #[inline(never)]
    pub fn keep_message_route(&mut self, router: u32, slot: u32) {
        let Some((router, visited, message)) = self.divided(router, slot) else {
            return;
        };
        // The decision counts this router already.
        let visit = (router, visited - 1, message);
        let packet = &self.packets.hot[slot as usize];
        let bytes = self.packets.contents[slot as usize].message_bytes;
        let decision = Decision {
            route: packet.route,
            out_port: packet.out_port,
            out_vc: packet.out_vc,
            missing: bytes - u64::from(packet.size),
        };
        if let Some(message_routes) = &mut self.routing.message_routes {
            make_room_in(&mut **message_routes, "decisions that messages follow");
            message_routes.insert(visit, decision);
        }
    }
}
