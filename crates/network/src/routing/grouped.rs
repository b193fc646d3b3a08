//! Lookup tables for networks of groups: every group is connected inside
//! itself, and every two groups are joined by at least one global link
//! (dragonflies of every arrangement, Cray XC machines, single groups).
//!
//! The packet engine asks for a next hop at every router a packet crosses, so
//! the tables are small and a lookup is one to three dependent loads, without
//! hashing or division. Where the wiring is regular (groups of equal size in
//! router order, equal numbers of ports, all-to-all groups with ports in router
//! order, as the dragonfly family makes them), group, position and local port
//! are computed and only the table of global links is read: four bytes per
//! ordered pair of groups.

mod build;
#[cfg(test)]
mod tests;

use odonata_units::RouterId;

use super::next_hops::{LocalLink, NextHops};
use super::reciprocal::Reciprocal;
use super::{PacketRoute, RelevantDestination};

/// Where a router is: its group, and its number among the group's routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The group.
    pub group: u32,
    /// Number within the group, in router order.
    pub local: u32,
}

/// A global link seen from the group that it leaves: the router that it is attached
/// to, by its number within the group, and the port there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct GlobalLink(u32);

impl GlobalLink {
    const PORT_BITS: u32 = 15;
    /// Largest number of routers in a group and of ports on a router.
    const LIMITS: (u64, u64) = (1 << 16, 1 << Self::PORT_BITS);

    pub(super) fn new(owner: u32, port: u32) -> Self {
        Self(owner << Self::PORT_BITS | port)
    }

    /// The router to which the link is attached, numbered within its group.
    #[inline(always)]
    pub fn owner(self) -> u32 {
        self.0 >> Self::PORT_BITS
    }

    /// The port, relative to the router's first.
    #[inline(always)]
    pub fn port(self) -> u32 {
        self.0 & ((1 << Self::PORT_BITS) - 1)
    }
}

/// Marks an entry of [`GroupedRoutes::pairs`] that refers to a list.
const LIST: u32 = 1 << 31;

#[derive(Clone, Debug)]
enum Places {
    /// Router = group × size + number within the group.
    Regular(Reciprocal),
    /// Anything else.
    Table {
        /// Shape: routers.
        places: Vec<Place>,
        /// First entry of each group in `members`, and one entry past the last.
        first_member: Vec<u32>,
        /// Routers, by group.
        members: Vec<u32>,
    },
}

#[derive(Clone, Debug)]
enum Ports {
    /// Every router has the same number of ports.
    Regular(Reciprocal),
    /// Anything else.
    Table {
        /// Shape: routers + 1.
        first: Vec<u32>,
        /// Shape: ports.
        router: Vec<u32>,
    },
}

#[derive(Clone, Debug)]
enum Local {
    /// All-to-all with single links; the port to router `j` of the group is
    /// `base + j`, one less for the routers after one's own.
    Direct { base: u32 },
    /// Anything else: a table per distinct shape of group.
    Tables {
        /// Shape: groups.
        shape: Vec<u16>,
        tables: Vec<NextHops>,
    },
}

/// What a wiring that is regular in every respect is computed from, in one
/// place for the packet engine's loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regular {
    group_size: Reciprocal,
    /// First port of [`Local::Direct`].
    local_base: u32,
}

impl Regular {
    #[inline(always)]
    pub(super) fn place(&self, router: u32) -> Place {
        let group = self.group_size.quotient(router);
        Place {
            group,
            local: router - group * self.group_size.divisor(),
        }
    }

    /// The port from a router of a group to router number `to` of the same
    /// group, which must be another one for the port to mean anything.
    #[inline(always)]
    pub(super) fn local_port(&self, from: u32, to: u32) -> u32 {
        self.local_base + to - u32::from(to > from)
    }
}

/// The lookup tables. See the [module](self).
#[derive(Clone, Debug)]
pub struct GroupedRoutes {
    groups: u32,
    routers: u32,
    places: Places,
    ports: Ports,
    local: Local,
    /// Shape: groups × groups. The only [`GlobalLink`] from one group to the other,
    /// or [`LIST`] plus an index into `lists`.
    pairs: Vec<GlobalLink>,
    /// Lists of global links, the length of each before its first item.
    lists: Vec<GlobalLink>,
    /// Routers that have nodes.
    endpoints: Vec<u32>,
    /// Router of each node, or empty where every router has as many nodes.
    router_of_node: Vec<u32>,
    local_depth: u16,
    /// Leaves per group, where the groups consist of leaves and spines.
    leaves: Option<u32>,
    regular: Option<Regular>,
    /// Whether two groups are not joined.
    has_gaps: bool,
}

impl GroupedRoutes {
    /// The wiring in short, if it is regular in every respect.
    #[inline(always)]
    pub(super) fn regular(&self) -> Option<&Regular> {
        self.regular.as_ref()
    }

    /// The only global link from one group to another, or `None` if there are
    /// several. For a group and itself, an arbitrary link.
    #[inline(always)]
    pub(super) fn only_global_link(&self, from: u32, to: u32) -> Option<GlobalLink> {
        let entry = self.pairs[(from * self.groups + to) as usize];
        (entry.0 & LIST == 0).then_some(entry)
    }

    /// The global link behind `port`, seen from its group.
    #[inline]
    pub(super) fn global_link_at(&self, port: u32) -> GlobalLink {
        let owner = self.router_of_port(port);
        GlobalLink::new(self.place(owner).local, port - self.first_port(owner))
    }

    /// Whether links lead from one group to another.
    #[inline]
    pub(super) fn are_joined(&self, from: u32, to: u32) -> bool {
        !self.global_links(from, to).is_empty()
    }

    /// Whether two groups are not joined, of which one may have lost all routers.
    #[inline(always)]
    pub(super) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Whether `via` is a third group that is joined to two others.
    pub(super) fn is_between(&self, from: u32, via: u32, to: u32) -> bool {
        via != from && via != to && self.are_joined(from, via) && self.are_joined(via, to)
    }

    /// Number of groups.
    #[inline]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Number of routers that are not out of service.
    #[inline]
    pub fn routers(&self) -> u32 {
        self.routers
    }

    /// Number of routers in `group`.
    #[inline]
    pub fn group_size(&self, group: u32) -> u32 {
        match &self.places {
            Places::Regular(size) => size.divisor(),
            Places::Table { first_member, .. } => {
                first_member[group as usize + 1] - first_member[group as usize]
            }
        }
    }

    /// What of a packet's destination decides its next hops at `at`, where every router of another
    /// group is reached alike.
    pub(super) fn relevant_destination(
        &self,
        at: RouterId,
        route: &PacketRoute,
    ) -> RelevantDestination {
        if self.place(route.destination_router).group == self.place(at.0).group {
            RelevantDestination::Router
        } else {
            RelevantDestination::Group
        }
    }

    /// Where `router` is.
    #[inline(always)]
    pub fn place(&self, router: u32) -> Place {
        match &self.places {
            Places::Regular(size) => {
                let group = size.quotient(router);
                Place {
                    group,
                    local: router - group * size.divisor(),
                }
            }
            Places::Table { places, .. } => places[router as usize],
        }
    }

    /// The router at `place`.
    #[inline(always)]
    pub fn router(&self, place: Place) -> u32 {
        match &self.places {
            Places::Regular(size) => place.group * size.divisor() + place.local,
            Places::Table {
                first_member,
                members,
                ..
            } => members[(first_member[place.group as usize] + place.local) as usize],
        }
    }

    /// Router number `index` when they are counted group by group.
    #[inline]
    pub(super) fn router_by_group(&self, index: u32) -> u32 {
        match &self.places {
            Places::Regular(_) => index,
            Places::Table { members, .. } => members[index as usize],
        }
    }

    /// Number of routers in the groups before `group`.
    #[inline]
    pub(super) fn routers_before(&self, group: u32) -> u32 {
        match &self.places {
            Places::Regular(size) => group * size.divisor(),
            Places::Table { first_member, .. } => first_member[group as usize],
        }
    }

    /// First port of `router`.
    #[inline(always)]
    pub fn first_port(&self, router: u32) -> u32 {
        match &self.ports {
            Ports::Regular(count) => router * count.divisor(),
            Ports::Table { first, .. } => first[router as usize],
        }
    }

    /// The router that `port` belongs to.
    #[inline]
    pub fn router_of_port(&self, port: u32) -> u32 {
        match &self.ports {
            Ports::Regular(count) => count.quotient(port),
            Ports::Table { router, .. } => router[port as usize],
        }
    }

    /// The global links from one group to another, at least one but in
    /// [sparse](Self::sparse) networks. The same
    /// links seen from the other side, `global_links(to, from)`, are in the same
    /// order.
    #[inline(always)]
    pub fn global_links(&self, from: u32, to: u32) -> &[GlobalLink] {
        let index = (from * self.groups + to) as usize;
        let entry = self.pairs[index];
        if entry.0 & LIST == 0 {
            std::slice::from_ref(&self.pairs[index])
        } else {
            self.list(entry)
        }
    }

    fn list(&self, entry: GlobalLink) -> &[GlobalLink] {
        let start = (entry.0 & !LIST) as usize;
        let length = self.lists[start].0 as usize;
        &self.lists[start + 1..start + 1 + length]
    }

    /// Hops inside `group` from its router number `from` to number `to`.
    #[inline]
    pub fn local_distance(&self, group: u32, from: u32, to: u32) -> u32 {
        match &self.local {
            Local::Direct { .. } => u32::from(from != to),
            Local::Tables { shape, tables } => {
                tables[usize::from(shape[group as usize])].distance(from, to)
            }
        }
    }

    /// The ports that lead from router number `from` of `group` towards number
    /// `to` of the same group; the two must differ.
    #[inline(always)]
    pub(super) fn local_links(&self, group: u32, from: u32, to: u32) -> LocalLinks<'_> {
        match &self.local {
            Local::Direct { base } => LocalLinks::Only((base + to - u32::from(to > from)) as u16),
            Local::Tables { shape, tables } => {
                LocalLinks::AnyOf(tables[usize::from(shape[group as usize])].links(from, to))
            }
        }
    }

    /// Virtual channels that one traversal of any group needs for local links:
    /// one in all-to-all groups and in 2-D groups under dimension order.
    pub(super) fn local_depth(&self) -> u16 {
        self.local_depth
    }

    /// Most hops by which a packet leaves its group: the greatest distance inside a
    /// group, or one hop up where groups consist of leaves and spines.
    pub fn hops_to_global_link(&self) -> u32 {
        match &self.local {
            _ if self.leaves.is_some() => 1,
            Local::Direct { .. } => 1,
            Local::Tables { tables, .. } => {
                let across = tables.iter().map(|table| u32::from(table.diameter()));
                across.max().unwrap_or(0)
            }
        }
    }

    /// Leaves of every group, if the groups consist of leaves and spines: the
    /// routers that are numbered below this in their group. The others are spines.
    #[inline(always)]
    pub(super) fn leaves(&self) -> Option<u32> {
        self.leaves
    }

    /// Whether `place` is a spine.
    #[inline]
    pub(super) fn is_spine(&self, place: Place) -> bool {
        self.leaves.is_some_and(|leaves| place.local >= leaves)
    }

    /// Routers of `group` that a route may go by way of, the first ones: all of
    /// them, or the leaves.
    #[inline]
    pub(super) fn stopovers(&self, group: u32) -> u32 {
        self.leaves.unwrap_or_else(|| self.group_size(group))
    }

    /// Whether `here` can be left for another group over a link of its own.
    pub(super) fn has_global_link(&self, here: Place, group: u32) -> bool {
        let mut global_links = self.global_links(here.group, group).iter();
        global_links.any(|global_link| global_link.owner() == here.local)
    }

    /// Routers that have nodes, in order.
    pub(super) fn endpoints(&self) -> &[u32] {
        &self.endpoints
    }

    /// Router of each node, or empty where every router that has nodes has as
    /// many as the next, so that a random one of [`GroupedRoutes::endpoints`]
    /// is that of a random node.
    #[inline]
    pub(super) fn router_of_node(&self) -> &[u32] {
        &self.router_of_node
    }
}

/// Ports that lead from one router of a group towards another.
pub(super) enum LocalLinks<'a> {
    /// One port, directly.
    Only(u16),
    /// One or more ports.
    AnyOf(&'a [LocalLink]),
}
