//! The way of a packet through an idle network.

use odonata_network::routing::{Hop, PacketRoute, RouterView};
use odonata_network::{Peer, Routing, Topology};
use odonata_units::random::StreamKey;
use odonata_units::{NodeId, PortId, RouterId};

use crate::error::SpecError;

/// The way of a packet through an idle network.
pub(crate) struct Way {
    /// Its routers, and how it leaves them.
    pub hops: Vec<(RouterId, Hop)>,
    /// Whether the algorithm drew any of them at random.
    pub is_drawn: bool,
}

/// The way from one node to another.
///
/// # Errors
/// If there is none.
pub(crate) fn way<R: Routing>(
    topology: &Topology,
    routing: &R,
    key: StreamKey,
    from: NodeId,
    to: NodeId,
) -> Result<Way, SpecError> {
    let end = topology.router_of_node(to);
    let port = topology.port_of_node[to.index()].0 - topology.first_port[end.index()];
    let mut route = PacketRoute::injected(end, port as u16);
    let mut at = topology.router_of_node(from);
    let none = |why: &str| {
        let message = format!("no way from node {from} to node {to}: {why}");
        Err(SpecError::new("network.routing", message))
    };
    if !routing.connects(at, end) {
        return none("no links or circuits join them");
    }
    let mut view = Idle {
        key,
        entity: (u64::from(from.0) << 32) | u64::from(to.0),
        draws: 0,
        source: from,
        q_table: Vec::new(),
    };
    let mut hops = Vec::new();
    let mut injected = true;
    // No algorithm visits a router more often than twice.
    while hops.len() <= 2 * topology.routers() {
        if R::LEARNS {
            view.q_table = routing.initial_q_table(at);
        }
        let hop = routing.next_hop(&mut view, at, injected, &mut route);
        route.vc = hop.vc;
        injected = false;
        hops.push((at, hop));
        let port = topology.first_port[at.index()] + u32::from(hop.port);
        match topology.peer[port as usize] {
            Peer::Node(_) => {
                let is_drawn = view.draws > 0;
                return Ok(Way { hops, is_drawn });
            }
            Peer::Port(peer) => at = topology.router_of_port(peer),
            Peer::Unconnected => return none("the algorithm leads to a dark port"),
        }
    }
    none("the algorithm leads in a circle")
}

/// A router of an idle network.
struct Idle {
    key: StreamKey,
    entity: u64,
    draws: u32,
    source: NodeId,
    q_table: Vec<f32>,
}

impl RouterView for Idle {
    fn occupancy_bytes(&mut self, _port: u16) -> u64 {
        0
    }

    fn remote_occupancy_bytes(&self, _port: PortId) -> u64 {
        0
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        self.draws += 1;
        self.key.below(self.entity, self.draws, bound)
    }

    fn source_node(&self) -> NodeId {
        self.source
    }

    fn q_table(&self) -> &[f32] {
        &self.q_table
    }
}
