//! Networks whose groups consist of leaves and spines, recognised by their
//! wiring, however they came about.

use std::fmt;

use super::{LinkKind, Peer, Topology};
use odonata_units::{PortId, RouterId};

/// The shape that all groups of a network of leaves and spines have: in the order
/// of its routers, first `leaves` routers with nodes, each linked to every spine,
/// then `spines` routers without nodes. Global links are attached to spines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Leaves per group.
    pub leaves: u32,
    /// Spines per group.
    pub spines: u32,
}

/// Why the groups of a network do not consist of leaves and spines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLeafSpine {
    /// A group has no router without nodes.
    NoSpines {
        /// The group.
        group: u32,
    },
    /// A router with nodes comes after one without nodes in its group.
    Order {
        /// The router.
        router: RouterId,
    },
    /// Two groups differ in their leaves or spines.
    Uneven {
        /// The first group that differs from group 0.
        group: u32,
        /// Its shape.
        found: LeafSpine,
        /// The numbers of leaves and spines of group 0.
        expected: LeafSpine,
    },
    /// A router with nodes that has a global link.
    GlobalLeaf {
        /// The router.
        router: RouterId,
    },
    /// Two leaves or two spines of one group that are linked.
    Alike {
        /// One end.
        router: RouterId,
        /// The other.
        peer: RouterId,
    },
    /// A leaf that is not linked to every spine of its group.
    Incomplete {
        /// The leaf.
        router: RouterId,
        /// Spines that it is linked to.
        linked: u32,
        /// Spines of its group.
        spines: u32,
    },
}

impl fmt::Display for NotLeafSpine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpines { group } => {
                write!(
                    f,
                    "all routers of group {group} have nodes, so that it has no spines"
                )
            }
            Self::Order { router } => write!(
                f,
                "router {router} has nodes but comes after routers without; leaves come first in a \
                 group"
            ),
            Self::Uneven {
                group,
                found,
                expected,
            } => write!(
                f,
                "group {group} has {} leaves and {} spines, group 0 has {} and {}",
                found.leaves, found.spines, expected.leaves, expected.spines
            ),
            Self::GlobalLeaf { router } => {
                write!(
                    f,
                    "router {router} has nodes and a global link; only spines have those"
                )
            }
            Self::Alike { router, peer } => write!(
                f,
                "routers {router} and {peer} of one group are linked, but both have nodes or neither"
            ),
            Self::Incomplete {
                router,
                linked,
                spines,
            } => write!(
                f,
                "leaf {router} is linked to {linked} of the {spines} spines of its group"
            ),
        }
    }
}

impl Topology {
    /// The shape of the groups, if they consist of leaves and spines, as those of
    /// a [dragonfly+](super::dragonfly_plus) do. Time and memory are linear in the
    /// number of ports.
    ///
    /// # Errors
    /// What contradicts that, first of all what is found first.
    pub fn leaf_spine(&self) -> Result<LeafSpine, NotLeafSpine> {
        let routers = || (0..self.routers()).map(RouterId::from_index);
        let leaf: Vec<bool> = routers()
            .map(|router| {
                let mut peers = self.peer[self.ports_of(router)].iter();
                peers.any(|peer| matches!(peer, Peer::Node(_)))
            })
            .collect();
        let shape = self.group_shape(&leaf)?;
        let owner = self.router_of_every_port();
        // Last leaf that was seen to be linked to a router; ids start above 0.
        let mut seen = vec![0; self.routers()];
        for router in routers() {
            let mut linked = 0;
            for port in self.ports_of(router) {
                let Peer::Port(peer) = self.peer[port] else {
                    continue;
                };
                let peer = owner[peer.index()];
                if self.link_class(PortId::from_index(port)).kind == LinkKind::Global {
                    if leaf[router.index()] {
                        return Err(NotLeafSpine::GlobalLeaf { router });
                    }
                } else if leaf[router.index()] == leaf[peer.index()] {
                    return Err(NotLeafSpine::Alike { router, peer });
                } else if seen[peer.index()] != router.index() + 1 {
                    seen[peer.index()] = router.index() + 1;
                    linked += 1;
                }
            }
            if leaf[router.index()] && linked < shape.spines {
                return Err(NotLeafSpine::Incomplete {
                    router,
                    linked,
                    spines: shape.spines,
                });
            }
        }
        Ok(shape)
    }

    /// The number of leaves and spines that all groups have, leaves first.
    fn group_shape(&self, leaf: &[bool]) -> Result<LeafSpine, NotLeafSpine> {
        let none = LeafSpine {
            leaves: 0,
            spines: 0,
        };
        let mut shapes = vec![none; self.groups as usize];
        for (router, (&leaf, group)) in leaf.iter().zip(&self.group_of_router).enumerate() {
            let shape = &mut shapes[group.index()];
            if !leaf {
                shape.spines += 1;
            } else if shape.spines > 0 {
                let router = RouterId::from_index(router);
                return Err(NotLeafSpine::Order { router });
            } else {
                shape.leaves += 1;
            }
        }
        let expected = shapes[0];
        for (group, &found) in (0..).zip(&shapes) {
            if found.spines == 0 {
                return Err(NotLeafSpine::NoSpines { group });
            }
            if found != expected {
                return Err(NotLeafSpine::Uneven {
                    group,
                    found,
                    expected,
                });
            }
        }
        Ok(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing::{dragonfly, dragonfly_plus};

    #[test]
    fn a_dragonfly_plus_is_recognised() {
        let shape = dragonfly_plus(3, 4, 2, 2, 5).leaf_spine();
        let expected = LeafSpine {
            leaves: 3,
            spines: 4,
        };
        assert_eq!(shape, Ok(expected));
    }

    #[test]
    fn other_groups_are_told_what_they_lack() {
        let reason = |topology: &Topology| topology.leaf_spine().unwrap_err().to_string();
        assert!(reason(&dragonfly(2, 4, 2, 9)).contains("no spines"));
        // One local link of leaf 1 taken out.
        let mut topology = dragonfly_plus(3, 4, 2, 2, 5);
        let port = topology.ports_of(RouterId(1)).end - 1;
        let Peer::Port(peer) = topology.peer[port] else {
            panic!("a link to a spine");
        };
        topology.peer[port] = Peer::Unconnected;
        topology.peer[peer.index()] = Peer::Unconnected;
        assert_eq!(
            reason(&topology),
            "leaf 1 is linked to 3 of the 4 spines of its group"
        );
        // The nodes of leaf 2 taken away.
        let mut topology = dragonfly_plus(3, 4, 2, 2, 5);
        let first = topology.ports_of(RouterId(2)).start;
        topology.peer[first..first + 2].fill(Peer::Unconnected);
        assert!(
            reason(&topology).contains("group 1 has 3 leaves and 4 spines, group 0 has 2 and 5")
        );
    }
}
