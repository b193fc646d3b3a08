//! Topology as plain data: routers, groups, ports, what each port is wired to,
//! and the physical class of every link.
//!
//! Families ([`dragonfly`], [`dragonfly_plus`], [`fat_tree`],
//! [`torus`], [`hyperx`], [`slim_fly`], [`jellyfish`], [`crossbar`]) and imports ([`codes`], [`cray_xc`],
//! [`edge_list`], [`graphml`], [`gml`], [`anynet`], [`infiniband`]) all end in
//! [`Topology::new`], which checks every invariant, so the holder of a
//! [`Topology`] need not check anything again.

pub mod anynet;
pub mod arrangement;
pub mod bisection;
mod cabling;
pub mod codes;
pub mod cray_xc;
pub mod crossbar;
pub mod describe;
mod distances;
pub mod dragonfly;
pub mod dragonfly_plus;
pub mod edge_list;
pub mod failures;
pub mod fat_tree;
pub mod gml;
pub mod graphml;
pub mod hyperx;
pub mod infiniband;
pub mod jellyfish;
pub mod lattice;
pub mod leaf_spine;
mod named_graph;
pub mod node_inside;
pub mod optical;
pub mod reconfigurable;
mod router_graph;
pub mod slim_fly;
#[cfg(test)]
pub(crate) mod testing;
pub mod torus;
mod validation;
mod wiring_file;

pub use arrangement::{Arrangement, ArrangementError, ArrangementName, GlobalLink, GlobalPort};
pub use bisection::Bisection;
pub use codes::{
    CodesError, CodesFatTree, CodesFatTreeError, CodesGroup, CodesLink, CodesList, CodesSlimFly,
    CodesSlimFlyError, CodesSpec, CodesTops,
};
pub use cray_xc::{CrayXcError, CrayXcLinks, CrayXcSpec};
pub use crossbar::CrossbarSpec;
pub use describe::{ClassDescription, Description};
pub use dragonfly::{DragonflyError, DragonflyLinks, DragonflySpec, GroupWiring, GroupWiringName};
pub use dragonfly_plus::{
    DragonflyPlusError, DragonflyPlusLinks, DragonflyPlusSpec, SpineArrangement, largest_dragonfly,
    largest_dragonfly_plus,
};
pub use failures::{
    Amount, DrawnFailures, During, Ends, FailedLinks, FailureError, Failures, Impairment, Losses,
    OnTheWay, OpticalCircuit, Optics, OutOfService, Outage, Part, Timeline, Unusable,
};
pub use fat_tree::optical::{
    NO_CIRCUIT, OpticalLayer, OpticalLayerError, UplinkPorts, without_circuits,
};
pub use fat_tree::{FatTreeError, FatTreeShape, FatTreeSpec};
pub use hyperx::HyperXSpec;
pub use infiniband::{Subnet, SubnetError, read_ibnetdiscover};
pub use jellyfish::{JellyfishError, JellyfishSpec};
pub use lattice::{Dimension, Lattice, NotLattice, Row};
pub use leaf_spine::{LeafSpine, NotLeafSpine};
pub use named_graph::{NamedGraph, NamedVertex};
pub use node_inside::{
    InsideNetwork, InterfaceChoice, InterfaceWiring, NodeInside, NodeInsideError, NodeInsideSpec,
};
pub use optical::{Circuit, CircuitError, Circuits, OpticalSwitches, SwitchPort};
pub use reconfigurable::{ReconfigurableError, ReconfigurableSpec};
pub use slim_fly::{SlimFlyError, SlimFlySpec};
pub use torus::{LatticeError, TorusSpec};
pub use validation::{MAX_PORTS_PER_ROUTER, TopologyError, Wiring};
pub use wiring_file::{AttachedNodes, ClassOfFile, WiringDefaults, WiringFileError};

use std::sync::Arc;

use odonata_declare::Named;
use odonata_units::{Bandwidth, Bytes, GroupId, NodeId, Picoseconds, PortId, RouterId};
use serde::{Deserialize, Serialize};

/// The role of a link in the hierarchy of the network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Named,
)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Between a node and its router.
    Terminal,
    /// Between two routers of one group.
    Local,
    /// Between two groups.
    Global,
}

/// Index of a [`LinkClass`] in [`Topology::link_classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkClassId(pub u8);

impl LinkClassId {
    /// The id as an index into [`Topology::link_classes`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What all links of one kind of cable have in common. Both directions of a
/// link have the full bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkClass {
    /// Name in files and tables, such as `global` or `green`.
    pub name: String,
    /// Role in the hierarchy.
    pub kind: LinkKind,
    /// Rate of each direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each direction, at least 1 ps.
    pub latency: Picoseconds,
    /// Input buffer at the receiving router, per virtual channel.
    pub buffer: Bytes,
    /// What makes links slower at times, or send packets again; in order of time, usually nothing.
    pub impairments: Vec<Impairment>,
}

impl LinkClass {
    /// Bytes per second that arrive whole where what is impaired is so for the whole run.
    pub fn goodput(&self) -> f64 {
        let kept = |one: &Impairment| one.left * (1.0 - one.error_rate);
        let kept: f64 = self.impairments.iter().map(kept).product();
        self.bandwidth.bytes_per_second() as f64 * kept
    }
}

/// What a router port is wired to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A compute node.
    Node(NodeId),
    /// A port of another router.
    Port(PortId),
    /// Nothing.
    Unconnected,
}

/// A network as flat arrays. Made by the families in this module or by an
/// import; immutable afterwards.
///
/// Invariants (checked by [`Topology::new`]): links are symmetric, every node
/// is attached to exactly one port, no router is wired to itself, a link within a
/// group is local and one between groups is global, both ends of a link agree
/// on its class. Furthermore every group has a router, every router can be
/// reached from every other (unless [`Topology::may_be_disconnected`] allows it), and no
/// router has more than
/// [`MAX_PORTS_PER_ROUTER`] ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// How it came about, for people: `dragonfly p=4 a=8 h=4 g=33 (absolute)`.
    pub title: String,
    /// Link classes; every port refers to one.
    pub link_classes: Vec<LinkClass>,
    /// Group of each router. Shape: routers.
    pub group_of_router: Vec<GroupId>,
    /// Number of groups.
    pub groups: u32,
    /// First port of each router, and one entry past the last. Shape: routers + 1.
    pub first_port: Vec<u32>,
    /// What each port is wired to. Shape: ports.
    pub peer: Vec<Peer>,
    /// Link class of each port. Shape: ports.
    pub class_of_port: Vec<LinkClassId>,
    /// Router port to which each node is attached. Shape: nodes.
    pub port_of_node: Vec<PortId>,
    /// Row and column of each router in its group, where groups are 2-D
    /// (Cray XC: row = chassis, column = slot). Shape: routers, or empty.
    pub position_in_group: Vec<(u16, u16)>,
    /// Whether parts of the network may be without links between them, as where
    /// optical switches have set circuits for some groups only.
    pub may_be_disconnected: bool,
    /// What sends to each port, where circuits of optical switches lead one way, so that it is
    /// not always what the port sends to. Shape: ports; empty where every link leads both ways.
    /// See [`Topology::sender`].
    pub senders: Vec<Peer>,
    /// The inside of nodes, if they have one: the nodes of the topology are then their ranks.
    pub inside: Option<Arc<NodeInside>>,
}

impl Topology {
    /// Number of routers.
    #[inline]
    pub fn routers(&self) -> usize {
        self.group_of_router.len()
    }

    /// Number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.port_of_node.len()
    }

    /// Number of router ports, connected or not.
    #[inline]
    pub fn ports(&self) -> usize {
        self.peer.len()
    }

    /// Global numbers of the ports of `router`.
    #[inline]
    pub fn ports_of(&self, router: RouterId) -> std::ops::Range<usize> {
        self.first_port[router.index()] as usize..self.first_port[router.index() + 1] as usize
    }

    /// Router that port `port` belongs to; logarithmic in the number of routers.
    pub fn router_of_port(&self, port: PortId) -> RouterId {
        RouterId((self.first_port.partition_point(|&first| first <= port.0) - 1) as u32)
    }

    /// Router to which `node` is attached.
    pub fn router_of_node(&self, node: NodeId) -> RouterId {
        self.router_of_port(self.port_of_node[node.index()])
    }

    /// What the routing algorithm of a scenario is for: one plane, where nodes have an inside.
    pub fn plane(&self) -> &Self {
        self.inside.as_ref().map_or(self, |inside| &inside.plane)
    }

    /// Group in which `node` lies.
    pub fn group_of_node(&self, node: NodeId) -> GroupId {
        self.group_of_router[self.router_of_node(node).index()]
    }

    /// What sends to `port`; where no link leads one way, what it is wired to.
    #[inline]
    pub fn sender(&self, port: PortId) -> Peer {
        match self.senders.get(port.index()) {
            Some(&sender) => sender,
            None => self.peer[port.index()],
        }
    }

    /// Whether there are links that lead one way.
    #[inline]
    pub fn has_one_way_links(&self) -> bool {
        !self.senders.is_empty()
    }

    /// The links between routers: of those that lead both ways the two ports, that of the lower
    /// number first; of those that lead one way the port that sends and the port that receives.
    pub fn links(&self) -> impl Iterator<Item = (PortId, PortId)> + '_ {
        (0..)
            .map(PortId)
            .zip(&self.peer)
            .filter_map(|(port, peer)| {
                let &Peer::Port(other) = peer else {
                    return None;
                };
                let both_ways = self.peer[other.index()] == Peer::Port(port);
                (!both_ways || port < other).then_some((port, other))
            })
    }

    /// Class of the link at `port`.
    #[inline]
    pub fn link_class(&self, port: PortId) -> &LinkClass {
        &self.link_classes[self.class_of_port[port.index()].index()]
    }
}
