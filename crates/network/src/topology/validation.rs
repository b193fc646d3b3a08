//! Checked construction of a [`Topology`]: every invariant that the rest of
//! Odonata relies on, each with an error that names the place.

use super::{LinkClass, LinkClassId, LinkKind, Peer, Topology};
use odonata_units::{GroupId, NodeId, Picoseconds, PortId, RouterId};

/// Most ports that one router may have. Packets carry port numbers in 16 bits;
/// the limit leaves room, and no real router comes near it.
pub const MAX_PORTS_PER_ROUTER: usize = 4096;

/// Everything that [`Topology::new`] needs; the rest of [`Topology`] follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wiring {
    /// See [`Topology::title`].
    pub title: String,
    /// See [`Topology::link_classes`].
    pub link_classes: Vec<LinkClass>,
    /// Group of each router. Shape: routers.
    pub group_of_router: Vec<GroupId>,
    /// Row and column of each router in its group. Shape: routers, or empty.
    pub position_in_group: Vec<(u16, u16)>,
    /// First port of each router, and one entry past the last. Shape: routers + 1.
    pub first_port: Vec<u32>,
    /// What each port is wired to. Shape: ports.
    pub peer: Vec<Peer>,
    /// Link class of each port. Shape: ports.
    pub class_of_port: Vec<LinkClassId>,
    /// See [`Topology::may_be_disconnected`].
    pub may_be_disconnected: bool,
    /// Whether links may lead one way, as circuits of optical switches do. Every port still
    /// sends to at most one other and hears at most one other.
    pub one_way: bool,
}

/// Why a wiring is no topology. Ports are named by router and by their number
/// within that router, as in every file format of this room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is no router.
    #[error("the network has no routers; give it at least one")]
    NoRouters,
    /// There is no node.
    #[error("the network has no nodes; attach at least one node to a router")]
    NoNodes,
    /// A title that would not survive a text file.
    #[error(
        "the title {title:?} holds control characters or surrounding spaces; use one plain line of text"
    )]
    Title {
        /// The title.
        title: String,
    },
    /// An array has the wrong length.
    #[error("`{array}` has {found} entries where {expected} are needed")]
    Shape {
        /// Name of the array.
        array: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// The ports of a router do not follow those of the router before it.
    #[error(
        "`first_port` must start at 0, never decrease and end at the number of ports; it does not at router {router}"
    )]
    PortRange {
        /// The first router whose range is wrong.
        router: RouterId,
    },
    /// A router beyond [`MAX_PORTS_PER_ROUTER`].
    #[error("router {router} has {ports} ports; at most {MAX_PORTS_PER_ROUTER} are allowed")]
    TooManyPorts {
        /// The router.
        router: RouterId,
        /// Its ports.
        ports: usize,
    },
    /// More ports, nodes or classes than ids.
    #[error("the network has {found} {what}; at most {limit} are allowed")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A link class whose name cannot be written to a file.
    #[error(
        "`{name}` is no name for a link class; use letters, digits, `_`, `-`, `.`, `+`, at least one"
    )]
    ClassName {
        /// The name.
        name: String,
    },
    /// Two link classes of one name.
    #[error("two link classes are named `{name}`; give each its own name")]
    DuplicateClass {
        /// The name.
        name: String,
    },
    /// A link class with a latency of zero.
    #[error("link class `{name}` has latency 0; at least 1 ps is needed")]
    ZeroLatency {
        /// Name of the class.
        name: String,
    },
    /// A link class with a latency that no link has.
    #[error(
        "link class `{name}` has a latency of {latency}; at most {} (1 h) is allowed",
        Picoseconds::LONGEST_DELAY
    )]
    LongLatency {
        /// Name of the class.
        name: String,
        /// Its latency.
        latency: Picoseconds,
    },
    /// A link class with a buffer of zero.
    #[error("link class `{name}` has a buffer of 0 bytes; it must hold at least one packet")]
    ZeroBuffer {
        /// Name of the class.
        name: String,
    },
    /// A port refers to a class that does not exist.
    #[error(
        "port {port} of router {router} is of link class {class}, but there are only {classes}"
    )]
    UnknownClass {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// The class it refers to.
        class: u8,
        /// Number of classes.
        classes: usize,
    },
    /// A group number without routers.
    #[error(
        "group {group} has no router, though groups up to {last} are used; number groups without gaps from 0"
    )]
    EmptyGroup {
        /// The first group without routers.
        group: u32,
        /// The highest group number used.
        last: u32,
    },
    /// A port is wired to a port that does not exist.
    #[error(
        "port {port} of router {router} is wired to port {peer} of the network, which does not exist"
    )]
    UnknownPeer {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// The missing port.
        peer: PortId,
    },
    /// A router is wired to itself.
    #[error("port {port} of router {router} is wired to router {router} itself; remove that link")]
    SelfLink {
        /// The router.
        router: RouterId,
        /// Port within the router.
        port: u32,
    },
    /// A link that exists only in one direction.
    #[error(
        "port {port} of router {router} leads to port {peer_port} of router {peer_router}, which does not lead back; wire both ends to each other"
    )]
    Asymmetric {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// Router at the other end.
        peer_router: RouterId,
        /// Port within the router at the other end.
        peer_port: u32,
    },
    /// Two ports send to one.
    #[error(
        "port {port} of router {router} is sent to by port {second_port} of router \
         {second_router} and by another: lead at most one link to a port"
    )]
    HeardTwice {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// Router of the second port that sends to it.
        second_router: RouterId,
        /// That port within its router.
        second_port: u32,
    },
    /// The ends of a link disagree on its class.
    #[error(
        "the link between port {port} of router {router} and port {peer_port} of router {peer_router} is `{class}` at one end and `{peer_class}` at the other"
    )]
    ClassMismatch {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// Class at this end.
        class: String,
        /// Router at the other end.
        peer_router: RouterId,
        /// Port within the router at the other end.
        peer_port: u32,
        /// Class at the other end.
        peer_class: String,
    },
    /// A link of a kind that does not fit what it connects.
    #[error(
        "port {port} of router {router} has a {expected} link, but its class `{class}` is {kind}; use a class of kind {expected}",
        kind = kind.name(),
        expected = expected.name()
    )]
    WrongKind {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// Class of the link.
        class: String,
        /// Kind of that class.
        kind: LinkKind,
        /// Kind that the link is by what it connects.
        expected: LinkKind,
    },
    /// A node number that leaves a gap.
    #[error(
        "node {node} is attached to port {port} of router {router}, but there are only {nodes} nodes; number nodes without gaps from 0"
    )]
    UnknownNode {
        /// Router of the port.
        router: RouterId,
        /// Port within the router.
        port: u32,
        /// The node.
        node: NodeId,
        /// Number of nodes.
        nodes: usize,
    },
    /// A node on two ports.
    #[error(
        "node {node} is attached to port {port} of router {router} and on an earlier port; a node has exactly one"
    )]
    NodeTwice {
        /// Router of the second port.
        router: RouterId,
        /// Second port within the router.
        port: u32,
        /// The node.
        node: NodeId,
    },
    /// `port_of_node` or `groups` of a hand-made topology contradicts the rest.
    #[error("`{field}` contradicts the wiring; make topologies by Topology::new, which derives it")]
    Derived {
        /// The field.
        field: &'static str,
    },
    /// A router that cannot be reached.
    #[error(
        "router {router} cannot be reached from router 0: only {reached} of {routers} routers are connected with it; add the missing links"
    )]
    Disconnected {
        /// The first router that cannot be reached.
        router: RouterId,
        /// Routers that can be reached from router 0, itself included.
        reached: usize,
        /// All routers.
        routers: usize,
    },
}

impl Topology {
    /// Makes a topology of `wiring`, after checking every invariant.
    ///
    /// # Errors
    /// The first invariant that does not hold, naming the router and port.
    pub fn new(wiring: Wiring) -> Result<Self, TopologyError> {
        let groups = wiring.group_of_router.iter().map(|g| g.0).max();
        let nodes = wiring.peer.iter().filter(|p| matches!(p, Peer::Node(_)));
        let mut port_of_node = vec![PortId(u32::MAX); nodes.count()];
        for (port, peer) in wiring.peer.iter().enumerate() {
            if let Peer::Node(node) = peer
                && let Some(slot) = port_of_node.get_mut(node.index())
                && slot.0 == u32::MAX
            {
                *slot = PortId(port as u32);
            }
        }
        let senders = match wiring.one_way {
            true => senders(&wiring.peer),
            false => vec![],
        };
        let topology = Self {
            title: wiring.title,
            link_classes: wiring.link_classes,
            group_of_router: wiring.group_of_router,
            groups: groups.map_or(0, |last| last.saturating_add(1)),
            first_port: wiring.first_port,
            peer: wiring.peer,
            class_of_port: wiring.class_of_port,
            port_of_node,
            position_in_group: wiring.position_in_group,
            may_be_disconnected: wiring.may_be_disconnected,
            senders,
            inside: None,
        };
        topology.validate()?;
        Ok(topology)
    }

    /// Checks every invariant of the topology; time and memory are linear in
    /// the number of ports.
    ///
    /// # Errors
    /// The first invariant that does not hold, naming the router and port.
    pub fn validate(&self) -> Result<(), TopologyError> {
        self.check_title()?;
        self.check_classes()?;
        self.check_shapes()?;
        self.check_groups()?;
        let owner = self.router_of_every_port();
        self.check_links(&owner)?;
        self.check_nodes(&owner)?;
        if self.may_be_disconnected {
            return Ok(());
        }
        self.check_connected(&owner)
    }

    /// Router of each port. Shape: ports.
    pub fn router_of_every_port(&self) -> Vec<RouterId> {
        let mut owner = Vec::with_capacity(self.ports());
        for router in 0..self.routers() {
            let router = RouterId::from_index(router);
            owner.resize(self.ports_of(router).end, router);
        }
        owner
    }

    /// Number of `port` within `router`, its owner.
    fn within(&self, router: RouterId, port: PortId) -> u32 {
        port.0 - self.first_port[router.index()]
    }

    fn check_title(&self) -> Result<(), TopologyError> {
        let plain = self.title.trim() == self.title && !self.title.contains(char::is_control);
        if plain {
            Ok(())
        } else {
            Err(TopologyError::Title {
                title: self.title.clone(),
            })
        }
    }

    fn check_classes(&self) -> Result<(), TopologyError> {
        if self.link_classes.len() > 256 {
            return Err(TopologyError::TooMany {
                what: "link classes",
                found: self.link_classes.len() as u64,
                limit: 256,
            });
        }
        for (index, class) in self.link_classes.iter().enumerate() {
            let name = || class.name.clone();
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
            if class.name.is_empty() || !class.name.chars().all(allowed) {
                return Err(TopologyError::ClassName { name: name() });
            }
            if self.link_classes[..index]
                .iter()
                .any(|c| c.name == class.name)
            {
                return Err(TopologyError::DuplicateClass { name: name() });
            }
            if class.latency.0 == 0 {
                return Err(TopologyError::ZeroLatency { name: name() });
            }
            if class.latency > Picoseconds::LONGEST_DELAY {
                let latency = class.latency;
                return Err(TopologyError::LongLatency {
                    name: name(),
                    latency,
                });
            }
            if class.buffer.0 == 0 {
                return Err(TopologyError::ZeroBuffer { name: name() });
            }
        }
        Ok(())
    }

    fn check_shapes(&self) -> Result<(), TopologyError> {
        let routers = self.routers();
        if routers == 0 {
            return Err(TopologyError::NoRouters);
        }
        let shape = |array, found, expected| {
            if found == expected {
                Ok(())
            } else {
                Err(TopologyError::Shape {
                    array,
                    found,
                    expected,
                })
            }
        };
        shape("first_port", self.first_port.len(), routers + 1)?;
        shape("class_of_port", self.class_of_port.len(), self.ports())?;
        if self.has_one_way_links() {
            shape("senders", self.senders.len(), self.ports())?;
        }
        if !self.position_in_group.is_empty() {
            shape("position_in_group", self.position_in_group.len(), routers)?;
        }
        if self.ports() >= u32::MAX as usize {
            return Err(TopologyError::TooMany {
                what: "ports",
                found: self.ports() as u64,
                limit: u64::from(u32::MAX) - 1,
            });
        }
        let starts_at_zero = self.first_port[0] == 0;
        for (router, bounds) in self.first_port.windows(2).enumerate() {
            let router = RouterId::from_index(router);
            let past_the_end = bounds[1] as usize > self.ports();
            if !starts_at_zero || bounds[0] > bounds[1] || past_the_end {
                return Err(TopologyError::PortRange { router });
            }
            let ports = (bounds[1] - bounds[0]) as usize;
            if ports > MAX_PORTS_PER_ROUTER {
                return Err(TopologyError::TooManyPorts { router, ports });
            }
        }
        if self.first_port[routers] as usize != self.ports() {
            return Err(TopologyError::PortRange {
                router: RouterId::from_index(routers - 1),
            });
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), TopologyError> {
        let last = self.group_of_router.iter().map(|g| g.0).max().unwrap_or(0);
        // With more groups than routers, one of the first `routers + 1` is empty.
        let mut used = vec![false; (last as usize).min(self.routers()) + 1];
        for group in &self.group_of_router {
            if let Some(used) = used.get_mut(group.index()) {
                *used = true;
            }
        }
        if let Some(group) = used.iter().position(|used| !used) {
            let group = group as u32;
            return Err(TopologyError::EmptyGroup { group, last });
        }
        if self.groups != last + 1 {
            return Err(TopologyError::Derived { field: "groups" });
        }
        Ok(())
    }

    fn check_links(&self, owner: &[RouterId]) -> Result<(), TopologyError> {
        for (index, &router) in owner.iter().enumerate() {
            let here = PortId(index as u32);
            let port = self.within(router, here);
            let class = self.class_of_port[index];
            let Some(link_class) = self.link_classes.get(class.index()) else {
                return Err(TopologyError::UnknownClass {
                    router,
                    port,
                    class: class.0,
                    classes: self.link_classes.len(),
                });
            };
            let mut one_way = false;
            let expected = match self.peer[index] {
                Peer::Unconnected => continue,
                Peer::Node(_) => LinkKind::Terminal,
                Peer::Port(peer) => {
                    let Some(&peer_router) = owner.get(peer.index()) else {
                        return Err(TopologyError::UnknownPeer { router, port, peer });
                    };
                    if peer_router == router {
                        return Err(TopologyError::SelfLink { router, port });
                    }
                    let peer_port = self.within(peer_router, peer);
                    let both_ways = self.peer[peer.index()] == Peer::Port(here);
                    one_way = !both_ways;
                    if self.has_one_way_links() {
                        if self.senders[peer.index()] != Peer::Port(here) {
                            return Err(TopologyError::HeardTwice {
                                router: peer_router,
                                port: peer_port,
                                second_router: router,
                                second_port: port,
                            });
                        }
                    } else if one_way {
                        return Err(TopologyError::Asymmetric {
                            router,
                            port,
                            peer_router,
                            peer_port,
                        });
                    }
                    let peer_class = self.class_of_port[peer.index()];
                    if peer_class != class {
                        let name = |id: LinkClassId| {
                            let class = self.link_classes.get(id.index());
                            class.map_or_else(|| id.0.to_string(), |c| c.name.clone())
                        };
                        return Err(TopologyError::ClassMismatch {
                            router,
                            port,
                            class: name(class),
                            peer_router,
                            peer_port,
                            peer_class: name(peer_class),
                        });
                    }
                    let group = self.group_of_router[router.index()];
                    if group == self.group_of_router[peer_router.index()] {
                        LinkKind::Local
                    } else {
                        LinkKind::Global
                    }
                }
            };
            // A circuit stays in the level of the hierarchy whose links it takes the place of.
            if link_class.kind != expected && !one_way {
                return Err(TopologyError::WrongKind {
                    router,
                    port,
                    class: link_class.name.clone(),
                    kind: link_class.kind,
                    expected,
                });
            }
        }
        Ok(())
    }

    fn check_nodes(&self, owner: &[RouterId]) -> Result<(), TopologyError> {
        let mut seen = vec![false; self.nodes()];
        for (index, peer) in self.peer.iter().enumerate() {
            let &Peer::Node(node) = peer else { continue };
            let router = owner[index];
            let port = self.within(router, PortId(index as u32));
            match seen.get_mut(node.index()) {
                None => {
                    return Err(TopologyError::UnknownNode {
                        router,
                        port,
                        node,
                        nodes: self.nodes(),
                    });
                }
                Some(true) => return Err(TopologyError::NodeTwice { router, port, node }),
                Some(seen) => *seen = true,
            }
            if self.port_of_node[node.index()].index() != index {
                return Err(TopologyError::Derived {
                    field: "port_of_node",
                });
            }
        }
        if self.nodes() == 0 {
            return Err(TopologyError::NoNodes);
        }
        if seen.contains(&false) {
            return Err(TopologyError::Derived {
                field: "port_of_node",
            });
        }
        Ok(())
    }

    fn check_connected(&self, owner: &[RouterId]) -> Result<(), TopologyError> {
        self.check_reached(owner, |port| self.peer[port])?;
        // Where links lead one way, every router must also reach the first.
        match self.has_one_way_links() {
            true => self.check_reached(owner, |port| self.senders[port]),
            false => Ok(()),
        }
    }

    fn check_reached(
        &self,
        owner: &[RouterId],
        next: impl Fn(usize) -> Peer,
    ) -> Result<(), TopologyError> {
        let mut reached = vec![false; self.routers()];
        reached[0] = true;
        let mut waiting = vec![RouterId(0)];
        let mut count = 1;
        while let Some(router) = waiting.pop() {
            for port in self.ports_of(router) {
                let Peer::Port(peer) = next(port) else {
                    continue;
                };
                let found = owner[peer.index()];
                if !std::mem::replace(&mut reached[found.index()], true) {
                    count += 1;
                    waiting.push(found);
                }
            }
        }
        match reached.iter().position(|&reached| !reached) {
            None => Ok(()),
            Some(router) => Err(TopologyError::Disconnected {
                router: RouterId::from_index(router),
                reached: count,
                routers: self.routers(),
            }),
        }
    }
}

/// What sends to each port. Shape: ports.
pub(super) fn senders(peers: &[Peer]) -> Vec<Peer> {
    let terminal = |&peer: &Peer| match peer {
        Peer::Node(_) => peer,
        Peer::Port(_) | Peer::Unconnected => Peer::Unconnected,
    };
    let mut senders: Vec<Peer> = peers.iter().map(terminal).collect();
    for (port, peer) in (0..).map(PortId).zip(peers) {
        // Later checks find ports that do not exist, or are sent to twice.
        if let Peer::Port(to) = peer
            && let Some(sender) = senders.get_mut(to.index())
            && *sender == Peer::Unconnected
        {
            *sender = Peer::Port(port);
        }
    }
    senders
}

#[cfg(test)]
mod tests;
