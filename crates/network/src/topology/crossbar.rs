//! The smallest family: all nodes on one router, an ideal switch to compare
//! real networks with.

use super::{LinkClass, LinkClassId, Peer, Topology, TopologyError, Wiring};
use odonata_units::{GroupId, NodeId};

/// A single router with all nodes on it.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossbarSpec {
    /// Number of nodes, `1..=`[`MAX_PORTS_PER_ROUTER`](super::MAX_PORTS_PER_ROUTER);
    /// node `n` is attached to port `n`.
    pub nodes: u32,
    /// Class of the links between nodes and the router.
    pub terminal: LinkClass,
}

impl CrossbarSpec {
    /// Builds the topology.
    ///
    /// # Errors
    /// If the number of nodes is out of range or the link class is unsound.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let ports = self.nodes as usize;
        if ports > super::MAX_PORTS_PER_ROUTER {
            return Err(TopologyError::TooManyPorts {
                router: odonata_units::RouterId(0),
                ports,
            });
        }
        Topology::new(Wiring {
            title: format!("crossbar nodes={}", self.nodes),
            link_classes: vec![self.terminal.clone()],
            group_of_router: vec![GroupId(0)],
            position_in_group: vec![],
            first_port: vec![0, self.nodes],
            peer: (0..self.nodes).map(|n| Peer::Node(NodeId(n))).collect(),
            class_of_port: vec![LinkClassId(0); ports],
            may_be_disconnected: false,
            one_way: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LinkKind;
    use crate::topology::testing::class;

    fn crossbar(nodes: u32) -> Result<Topology, TopologyError> {
        CrossbarSpec {
            nodes,
            terminal: class("terminal", LinkKind::Terminal),
        }
        .build()
    }

    #[test]
    fn holds_between_one_node_and_the_port_limit() {
        assert_eq!(crossbar(0), Err(TopologyError::NoNodes));
        assert_eq!(crossbar(1).unwrap().nodes(), 1);
        assert_eq!(crossbar(4096).unwrap().ports(), 4096);
        assert!(matches!(
            crossbar(4097),
            Err(TopologyError::TooManyPorts { ports: 4097, .. })
        ));
    }
}
