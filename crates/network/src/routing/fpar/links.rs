//! The global links of spines, by the group that they lead to, and the links inside groups.

use odonata_units::{PortId, RouterId};

use super::Kind;
use crate::routing::RoutingError;
use crate::routing::grouped::{GroupedRoutes, LocalLinks, Place};
use crate::routing::next_hops::LocalLink;
use crate::topology::{LeafSpine, LinkKind, Peer, Topology};

/// Most pairs of a spine and a group: the tables then take about 1.3 GB.
const MOST_PAIRS: u64 = 1 << 28;

/// A global link of a spine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Output port, relative to the spine's first.
    pub port: u16,
    /// Group at the other end.
    pub group: u32,
    /// Spine at the other end, numbered over all groups.
    pub spine: u32,
}

/// The global links of all spines.
#[derive(Clone, Debug)]
pub(super) struct SpineLinks {
    groups: usize,
    per_group: usize,
    /// Links by spine, those of a spine by group.
    links: Vec<Link>,
    /// First link of every spine to every group, and one entry past the last.
    /// Shape: spines × groups + 1.
    first: Vec<u32>,
    /// The shortest kind of path that a packet from a leaf of a group to another group
    /// can take through each spine. Shape: groups × groups × spines of a group.
    kinds: Vec<Option<Kind>>,
}

/// The ports of every router to the routers of the other layer of its group.
#[derive(Clone, Debug)]
pub(super) struct LayerLinks {
    routers_per_group: usize,
    /// The links of each router, by the number that the router at the other end has in its layer.
    links: Vec<LocalLink>,
    /// First link of every router, and one entry past the last.
    first: Vec<u32>,
}

impl LayerLinks {
    pub(super) fn new(routes: &GroupedRoutes, groups: u32, shape: LeafSpine) -> Self {
        let routers = shape.leaves + shape.spines;
        let (mut links, mut first) = (Vec::new(), vec![0]);
        for (group, local) in (0..groups).flat_map(|g| (0..routers).map(move |local| (g, local))) {
            let others = match local < shape.leaves {
                true => shape.leaves..routers,
                false => 0..shape.leaves,
            };
            for other in others.clone() {
                let to = (other - others.start) as u16;
                match routes.local_links(group, local, other) {
                    LocalLinks::Only(port) => links.push(LocalLink { port, to }),
                    LocalLinks::AnyOf(ports) => {
                        links.extend(ports.iter().map(|link| LocalLink { to, ..*link }));
                    }
                }
            }
            first.push(links.len() as u32);
        }
        Self {
            routers_per_group: routers as usize,
            links,
            first,
        }
    }

    /// Most links of a router.
    pub(super) fn most(&self) -> usize {
        longest(&self.first)
    }

    /// The links of a router.
    #[inline]
    pub(super) fn of(&self, here: Place) -> &[LocalLink] {
        let router = here.group as usize * self.routers_per_group + here.local as usize;
        &self.links[self.first[router] as usize..self.first[router + 1] as usize]
    }
}

impl SpineLinks {
    pub(super) fn new(
        topology: &Topology,
        routes: &GroupedRoutes,
        shape: LeafSpine,
    ) -> Result<Self, RoutingError> {
        let (groups, per_group) = (topology.groups as usize, shape.spines as usize);
        let found = (groups * groups * per_group) as u64;
        if found > MOST_PAIRS {
            return Err(RoutingError::TooLarge {
                what: "pairs of a spine and a group",
                found,
                limit: MOST_PAIRS,
                algorithm: "fpar",
                advice: "model a part of the machine",
            });
        }
        let mut links: Vec<Link> = Vec::new();
        let mut first = vec![0];
        for group in 0..topology.groups {
            for spine in 0..shape.spines {
                let local = shape.leaves + spine;
                let router = RouterId(routes.router(Place { group, local }));
                let start = links.len();
                links.extend(own_links(topology, routes, shape, router));
                links[start..].sort_by_key(|link| link.group);
                for to in 0..topology.groups {
                    let before = links[start..].partition_point(|link| link.group <= to);
                    first.push((start + before) as u32);
                }
            }
        }
        let mut spines = Self {
            groups,
            per_group,
            links,
            first,
            kinds: vec![],
        };
        spines.kinds = (0..groups * groups)
            .map(|pair| (pair / groups, (pair % groups) as u32))
            .flat_map(|(from, to)| (0..per_group).map(move |spine| (from * per_group + spine, to)))
            .map(|(spine, to)| spines.shortest_kind(spine, to))
            .collect();
        Ok(spines)
    }

    fn shortest_kind(&self, spine: usize, group: u32) -> Option<Kind> {
        let kind = |link: &Link| {
            if link.group == group {
                Kind::Minimal
            } else if self.has(link.spine as usize, group) {
                Kind::Spine
            } else {
                Kind::Leaf
            }
        };
        self.all(spine).iter().map(kind).min()
    }

    /// Number of spine number `spine` of `group`, counted over all groups.
    #[inline]
    pub(super) fn number(&self, group: u32, spine: u32) -> usize {
        group as usize * self.per_group + spine as usize
    }

    /// Most links of a spine.
    pub(super) fn most(&self) -> usize {
        let by_spine: Vec<u32> = self.first.iter().copied().step_by(self.groups).collect();
        longest(&by_spine)
    }

    /// All links of a spine.
    #[inline]
    pub(super) fn all(&self, spine: usize) -> &[Link] {
        let first = &self.first[spine * self.groups..=(spine + 1) * self.groups];
        &self.links[first[0] as usize..first[self.groups] as usize]
    }

    /// The links of a spine to `group`.
    #[inline]
    pub(super) fn to(&self, spine: usize, group: u32) -> &[Link] {
        let pair = spine * self.groups + group as usize;
        &self.links[self.first[pair] as usize..self.first[pair + 1] as usize]
    }

    /// Whether a spine has a link to `group`.
    #[inline]
    pub(super) fn has(&self, spine: usize, group: u32) -> bool {
        !self.to(spine, group).is_empty()
    }

    /// The shortest kind of path from group `from` to another that starts with each spine of
    /// the first, if there is one.
    #[inline]
    pub(super) fn kinds(&self, from: u32, to: u32) -> &[Option<Kind>] {
        let pair = from as usize * self.groups + to as usize;
        &self.kinds[pair * self.per_group..][..self.per_group]
    }
}

/// The longest of several lists that follow each other, of which these are the ends.
fn longest(ends: &[u32]) -> usize {
    let lengths = ends.windows(2).map(|pair| pair[1] - pair[0]);
    lengths.max().unwrap_or(0) as usize
}

/// The global links of the spine `router`, in the order of its ports.
fn own_links(
    topology: &Topology,
    routes: &GroupedRoutes,
    shape: LeafSpine,
    router: RouterId,
) -> Vec<Link> {
    let ports = topology.ports_of(router);
    let first = ports.start;
    ports
        .filter_map(|port| {
            let Peer::Port(peer) = topology.peer[port] else {
                return None;
            };
            let is_global = topology.link_class(PortId::from_index(port)).kind == LinkKind::Global;
            let end = routes.place(routes.router_of_port(peer.0));
            is_global.then(|| Link {
                port: (port - first) as u16,
                group: end.group,
                spine: end.group * shape.spines + end.local - shape.leaves,
            })
        })
        .collect()
}
