//! The inside of nodes: ranks, interfaces, what joins them, and which interface a message takes.

pub use odonata_network::topology::{InsideNetwork, InterfaceChoice, InterfaceWiring};

use super::table::table;

table! {
    /// What joins the ranks of a node.
    pub struct NodeNetwork {
        /// How ranks are joined: each to a switch (`switch`, as NVSwitch), every two of them by a link of
        /// their own (`mesh`, as the NVLink lanes between four A100), by links between pairs (`xgmi`),
        /// or by a tree of switches (`pcie`).
        kind: InsideNetwork = InsideNetwork::Switch,
        /// With `xgmi`: pairs of ranks that links join, with how many, such as `"0-1:4"`; ranks without
        /// one send by way of others. Default: one for every pair.
        #[serde(skip_serializing_if = "Option::is_none")]
        links: Option<Vec<String>> = None,
        /// With `pcie`: ranks at each switch, a divisor of `ranks`. Default: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        ranks_per_switch: Option<u32> = None => Notes::COUNT,
        /// Rate of each link, each direction: between a rank and the switch, or between two ranks.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// Latency of each link; the switch and the rank's own router add `network.router.delay` each.
        latency_ps: u64 = 0 => Notes { needed: true, least: Some(1.0), ..Notes::DELAY },
    }
}

table! {
    /// The inside of every node: ranks, each a GPU or another processor with its own access to the
    /// node's network, and interfaces.
    ///
    /// The network's own `nodes` are then interfaces.
    pub struct Node {
        /// Ranks (GPUs) per node; `ranks_per_node` of a job is at most this.
        ranks: u32 = 1 => Notes { needed: true, ..Notes::COUNT },
        /// Interfaces per node, of which each rank has as many near it as any other. Interface i sits
        /// at rank ⌊i · ranks / interfaces⌋; other ranks reach it over the node's network.
        interfaces: u32 = 1 => Notes { needed: true, ..Notes::COUNT },
        /// Which interfaces a message takes: that nearest to the sender, at both ends (`rail`), that
        /// nearest to the receiver, at both ends, reached inside the sender's node (`pxn`, as NCCL's
        /// PXN), for each packet one at random (`striped`), or that nearest to the sender and that
        /// nearest to the receiver (`nearest`, as NCCL without PXN).
        interface: InterfaceChoice = InterfaceChoice::Rail,
        /// Which routers the interfaces of a node are on: the next ports in order (`together`), or
        /// each on another router, interface i of every node on router i of its unit
        /// (`rail-optimised`).
        wiring: InterfaceWiring = InterfaceWiring::Together,
        /// Copies of the network; interface i of every node is on copy i mod `planes`.
        planes: u32 = 1 => Notes::COUNT,
        /// What joins the ranks inside the node: kind, bandwidth and latency. Needed if there are
        /// several.
        network: Option<NodeNetwork> = None,
    }
}
