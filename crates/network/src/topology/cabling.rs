//! Cables laid between routers one after the other, and the [`Wiring`] that they make.

use odonata_units::{GroupId, NodeId, PortId};

use super::{LinkClass, LinkClassId, MAX_PORTS_PER_ROUTER, Peer, Topology, TopologyError, Wiring};

/// Where a cable ends: at a node, or at a port of a router, both by number.
#[derive(Clone, Copy, Debug)]
enum End {
    Node(u32),
    /// Router, and its port relative to the first.
    Port(u32, u32),
}

/// Routers with what has been plugged into them so far. A router's ports are numbered in
/// the order in which cables were laid to it.
#[derive(Clone, Debug)]
pub(super) struct Cabling {
    ports: Vec<Vec<(End, LinkClassId)>>,
    nodes: u32,
}

impl Cabling {
    /// `routers` routers without ports.
    pub fn new(routers: u32) -> Self {
        Self {
            ports: vec![vec![]; routers as usize],
            nodes: 0,
        }
    }

    /// Attaches the next `count` nodes to `router`, by links of class `class`.
    pub fn attach(&mut self, router: u32, count: u32, class: LinkClassId) {
        let ports = &mut self.ports[router as usize];
        ports.extend((self.nodes..self.nodes + count).map(|node| (End::Node(node), class)));
        self.nodes += count;
    }

    /// Links two different routers.
    pub fn link(&mut self, a: u32, b: u32, class: LinkClassId) {
        let next = |ports: &Vec<_>| ports.len() as u32;
        let (at_a, at_b) = (next(&self.ports[a as usize]), next(&self.ports[b as usize]));
        self.ports[a as usize].push((End::Port(b, at_b), class));
        self.ports[b as usize].push((End::Port(a, at_a), class));
    }

    /// The topology of these cables.
    ///
    /// # Errors
    /// What [`Topology::new`] finds.
    pub fn into_topology(
        self,
        title: String,
        link_classes: Vec<LinkClass>,
        group_of_router: Vec<GroupId>,
    ) -> Result<Topology, TopologyError> {
        let mut first_port = vec![0];
        for ports in &self.ports {
            first_port.push(first_port[first_port.len() - 1] + ports.len() as u32);
        }
        let peer = |end| match end {
            End::Node(node) => Peer::Node(NodeId(node)),
            End::Port(router, port) => Peer::Port(PortId(first_port[router as usize] + port)),
        };
        let (peer, class_of_port) = (self.ports.iter().flatten())
            .map(|&(end, class)| (peer(end), class))
            .unzip();
        Topology::new(Wiring {
            title,
            link_classes,
            group_of_router,
            position_in_group: vec![],
            first_port,
            peer,
            class_of_port,
            may_be_disconnected: false,
            one_way: false,
        })
    }
}

/// Refuses sizes before memory is taken for them.
///
/// # Errors
/// If a router has more ports than one may have, or the network more ports than ids.
pub(super) fn check_size(ports_per_router: u64, ports: u128) -> Result<(), TopologyError> {
    if ports_per_router > MAX_PORTS_PER_ROUTER as u64 {
        return Err(TopologyError::TooMany {
            what: "ports on a router",
            found: ports_per_router,
            limit: MAX_PORTS_PER_ROUTER as u64,
        });
    }
    if ports >= u128::from(u32::MAX) {
        return Err(TopologyError::TooMany {
            what: "ports",
            found: u64::try_from(ports).unwrap_or(u64::MAX),
            limit: u64::from(u32::MAX) - 1,
        });
    }
    Ok(())
}
