//! The labels that interfaces write on packets, where a routing algorithm tells flows apart.

use odonata_network::routing::FlowLabels;
use odonata_run::EntityMap;
use odonata_run::memory::make_room_in;
use serde::{Deserialize, Serialize};

/// A flow of an interface: the interface (counted in its partition), the destination node, and the
/// number of the flow among those of the two nodes.
pub(super) type Flow = (u32, u32, u32);

/// What an interface knows of a flow whose pauses count.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Flowlet {
    /// When its latest packet left.
    pub left: u64,
    /// Pauses that it has made.
    pub pauses: u32,
}

/// The flows of a partition's interfaces.
pub(super) struct Flows {
    labels: FlowLabels,
    /// What is known of the flows that have sent, if their pauses count.
    pub flowlets: EntityMap<Flow, Flowlet>,
}

impl Flows {
    /// Flows with these labels that have not sent.
    pub fn new(labels: FlowLabels) -> Self {
        Self {
            labels,
            flowlets: EntityMap::default(),
        }
    }

    /// The label of a packet of a message that leaves an interface for a node, from `now` to `end`.
    pub fn label(
        &mut self,
        interface: u32,
        destination: u32,
        message: u32,
        (now, end): (u64, u64),
    ) -> u32 {
        let flow = self.labels.flow_of(message);
        let Some(gap) = self.labels.gap_ps else {
            return self.labels.label(flow, 0);
        };
        make_room_in(&mut self.flowlets, "flows whose pauses count");
        let fresh = Flowlet {
            left: end,
            pauses: 0,
        };
        let flowlet = self
            .flowlets
            .entry((interface, destination, flow))
            .or_insert(fresh);
        if now.saturating_sub(flowlet.left) >= gap {
            flowlet.pauses = flowlet.pauses.wrapping_add(1);
        }
        flowlet.left = end;
        self.labels.label(flow, flowlet.pauses)
    }
}
