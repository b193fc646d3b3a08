//! TAGO routing on dragonflies whose global links are circuits.

use odonata_units::RouterId;

use super::channels::channel_count;
use super::choice::{Choice, MinimalLinks, least_loaded};
use super::grouped::{GlobalLink, GroupedRoutes, LocalLinks, Place};
use super::legs::{eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, NONE, PacketRoute, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual,
};
use crate::topology::Topology;

/// Phase of a packet on its detour inside the group that it starts and ends in.
const BOUNCING: u8 = u8::MAX;

odonata_declare::table! {
    /// Keys of `tago`.
    pub struct TagoKeys {
        /// Which direct links between two groups are used: all of them, or those of a packet's own
        /// router and of its destination's.
        minimal_links: MinimalLinks = MinimalLinks::default(),
        /// How one of several links is chosen: at random, or by the shorter queue.
        choice: Choice = Choice::default(),
        /// Whether traffic inside a group may go by way of a random router of the group. Default:
        /// false, such traffic is always minimal.
        detours_in_group: Option<bool> = None,
    }
}

impl AlgorithmKeys for TagoKeys {
    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            links: self.minimal_links,
            choice: self.choice,
            ..RoutingSpec::new(Algorithm::Tago {
                detours_in_group: self.detours_in_group.unwrap_or(false),
            })
        })
    }
}

/// Topology-aware, globally-direct, oblivious routing (Teh et al., "TAGO: Rethinking
/// Routing Design in High Performance Reconfigurable Networks", SC 2020, as Feng et
/// al., ICS 2023, section 2.2 use it): traffic between two groups is spread over all
/// the direct links between them, and other groups are no detour, as the links match
/// the traffic. Only where no circuit joins two groups does a packet go by way of as
/// few others as possible, every circuit to the next of which is as likely.
///
/// Groups need not be joined in pairs, nor all be reachable: circuits of one job do not
/// lead to another's groups. Groups are all-to-all inside.
///
/// | choice | meaning |
/// |---|---|
/// | [`MinimalLinks::All`] | every direct link, wherever it starts |
/// | [`MinimalLinks::Shortest`] | of these, the links with the fewest hops: those of one's own router and of the destination's |
///
/// `detours_in_group`: traffic that stays in its group goes by way of a random router
/// of it where the queue of the direct port is more than twice as long ("for intra-group
/// routing, we adopt adaptive routing").
///
/// A packet that has crossed *n* global links uses channel *n* of both kinds of links
/// (local channels one higher where there are detours, which use channel 0): along
/// every route local 0 < global 0 < local 1 < …, so that no circle closes.
#[derive(Clone, Debug)]
pub struct Tago {
    routes: GroupedRoutes,
    links: MinimalLinks,
    choice: Choice,
    detours: bool,
    /// Global links on the shortest way between two groups, or `u8::MAX` if there is
    /// none. Shape: groups × groups.
    distance: Vec<u8>,
    /// Exits of each router to each group that circuits join it with directly, by
    /// router, then group; with [`MinimalLinks::Shortest`] only.
    near: Near,
    channels: u8,
}

/// Exits to a group that lie on a router, or whose other ends do.
#[derive(Clone, Debug, Default)]
struct Near {
    /// First entry of each (router, group) in `own`, and one past the last.
    own_first: Vec<u32>,
    /// A global link and the router, by its number in the other group, that it leads to.
    own: Vec<(GlobalLink, u32)>,
    /// The same by the router at the other end: (router, group left) → global links there.
    far_first: Vec<u32>,
    far: Vec<GlobalLink>,
}

impl Tago {
    /// TAGO on `topology`; with `virtual_channels`, channel `i` is merged into
    /// `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If groups are not all-to-all inside, or something is too large.
    pub fn new(
        topology: &Topology,
        links: MinimalLinks,
        choice: Choice,
        detours: bool,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let routes = GroupedRoutes::sparse(topology)?;
        check_all_to_all(&routes)?;
        let distance = group_distances(&routes);
        let farthest = distance.iter().filter(|&&hops| hops != u8::MAX).max();
        let farthest = u32::from(farthest.copied().unwrap_or(0));
        let needed = farthest + 1 + u32::from(detours);
        let near = match links {
            MinimalLinks::All => Near::default(),
            MinimalLinks::Shortest => Near::new(&routes, topology.routers() as u32),
        };
        Ok(Self {
            channels: channel_count("tago", needed, 1, virtual_channels)?,
            routes,
            links,
            choice,
            detours,
            distance,
            near,
        })
    }

    /// Whether circuits lead from one group to another, directly or not.
    pub fn joins(&self, from: u32, to: u32) -> bool {
        self.distance[(from * self.routes.groups() + to) as usize] != u8::MAX
    }

    fn global_vc(&self, phase: u8) -> u8 {
        phase.min(self.channels - 1)
    }

    fn local_vc(&self, phase: u8) -> u8 {
        match phase {
            BOUNCING => 0,
            _ => phase
                .saturating_add(u8::from(self.detours))
                .min(self.channels - 1),
        }
    }

    fn local_port(&self, here: Place, to: u32) -> u16 {
        match self.routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(port) => port,
            LocalLinks::AnyOf(links) => links.first().map_or(0, |link| link.port),
        }
    }

    /// Exits from the group of `here` that a packet for `there` may take; of those on
    /// a way by other groups, all that lead nearer. Calls `visit` with each.
    fn each_global_link(&self, here: Place, there: Place, mut visit: impl FnMut(GlobalLink)) {
        let direct = self.routes.global_links(here.group, there.group);
        if direct.is_empty() {
            let groups = self.routes.groups();
            let left = |group: u32| self.distance[(group * groups + there.group) as usize];
            let nearer = left(here.group).saturating_sub(1);
            for next in (0..groups).filter(|&next| left(next) == nearer) {
                self.routes
                    .global_links(here.group, next)
                    .iter()
                    .for_each(|&global_link| visit(global_link));
            }
            return;
        }
        if self.links == MinimalLinks::Shortest {
            let own = self.near.own(&self.routes, here, there.group);
            let mut any = false;
            for &(global_link, _) in own.iter().filter(|(_, far)| *far == there.local) {
                visit(global_link);
                any = true;
            }
            if any {
                return;
            }
            let far = self.near.far(&self.routes, here.group, there);
            if !own.is_empty() || !far.is_empty() {
                own.iter().for_each(|&(global_link, _)| visit(global_link));
                far.iter().for_each(|&global_link| visit(global_link));
                return;
            }
        }
        direct.iter().for_each(|&global_link| visit(global_link));
    }

    /// The global link that a packet at `here` leaves its group by.
    fn choose<V: RouterView>(&self, view: &mut V, here: Place, there: Place) -> GlobalLink {
        let direct = self.routes.global_links(here.group, there.group);
        if self.links == MinimalLinks::All
            && self.choice == Choice::Random
            && let count @ 1.. = direct.len() as u32
        {
            let index = if count > 1 {
                view.random_below(count)
            } else {
                0
            };
            return direct[index as usize];
        }
        let mut count = 0;
        self.each_global_link(here, there, |_| count += 1);
        assert!(
            count > 0,
            "no circuits lead from group {} to group {}; who places jobs has to see to that",
            here.group,
            there.group
        );
        let nth = |index: u32| {
            let (mut seen, mut found) = (0, None);
            self.each_global_link(here, there, |global_link| {
                if seen == index {
                    found = Some(global_link);
                }
                seen += 1;
            });
            found.unwrap_or(direct.first().copied().unwrap_or(GlobalLink::new(0, 0)))
        };
        let index = match self.choice {
            _ if count == 1 => 0,
            Choice::Random | Choice::ByDestination => view.random_below(count),
            Choice::ByLoad => least_loaded(view, count, |view, index| {
                let global_link = nth(index);
                let port = if global_link.owner() == here.local {
                    global_link.port() as u16
                } else {
                    self.local_port(here, global_link.owner())
                };
                view.occupancy_bytes(port)
            }),
        };
        nth(index)
    }

    /// The hop towards `global_link`, or over it.
    fn towards(&self, here: Place, global_link: GlobalLink, route: &mut PacketRoute) -> Hop {
        if global_link.owner() != here.local {
            return Hop {
                port: self.local_port(here, global_link.owner()),
                vc: self.local_vc(route.phase),
            };
        }
        let vc = self.global_vc(route.phase);
        route.waypoint = NONE;
        route.phase += 1;
        Hop {
            port: global_link.port() as u16,
            vc,
        }
    }

    fn waypoint(&self, group: u32, global_link: GlobalLink) -> u32 {
        let local = global_link.owner();
        self.routes
            .first_port(self.routes.router(Place { group, local }))
            + global_link.port()
    }

    /// Hop inside the group to the destination; `via`: by way of this router first.
    fn inside(&self, here: Place, there: Place, via: Option<u32>, route: &mut PacketRoute) -> Hop {
        if route.phase == BOUNCING {
            route.phase = 0;
        }
        let to = match via {
            Some(via) => {
                route.phase = BOUNCING;
                via
            }
            None => there.local,
        };
        Hop {
            port: self.local_port(here, to),
            vc: self.local_vc(route.phase),
        }
    }

    /// Whether a packet at `here` may take a detour inside its group.
    fn may_bounce(&self, injected: bool, here: Place) -> bool {
        self.detours && injected && self.routes.group_size(here.group) > 2
    }
}

impl Routing for Tago {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        self.detours || self.choice == Choice::ByLoad
    }

    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if at.0 == route.destination_router {
            return eject(route);
        }
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        if here.group == there.group {
            let mut via = None;
            if self.may_bounce(injected, here) {
                let (low, high) = (here.local.min(there.local), here.local.max(there.local));
                let mut other = view.random_below(self.routes.group_size(here.group) - 2);
                other += u32::from(other >= low);
                other += u32::from(other >= high);
                let direct = view.occupancy_bytes(self.local_port(here, there.local));
                let detour = view.occupancy_bytes(self.local_port(here, other));
                via = (direct > 2 * detour).then_some(other);
            }
            return self.inside(here, there, via, route);
        }
        let global_link = match route.waypoint {
            NONE => {
                let global_link = self.choose(view, here, there);
                route.waypoint = self.waypoint(here.group, global_link);
                global_link
            }
            waypoint => self.routes.global_link_at(waypoint),
        };
        self.towards(here, global_link, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if at.0 == route.destination_router {
            return out.push(possible_eject(route));
        }
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        let mut push = |mut route: PacketRoute, hop: Hop| {
            route.vc = hop.vc;
            out.push((hop, route));
        };
        if here.group == there.group {
            let others = (0..self.routes.group_size(here.group)).filter(|&other| {
                self.may_bounce(injected, here) && other != here.local && other != there.local
            });
            for via in others.map(Some).chain([None]) {
                let mut route = *route;
                let hop = self.inside(here, there, via, &mut route);
                push(route, hop);
            }
            return;
        }
        let mut leave = |global_link: GlobalLink| {
            let mut route = *route;
            route.waypoint = self.waypoint(here.group, global_link);
            let hop = self.towards(here, global_link, &mut route);
            push(route, hop);
        };
        match route.waypoint {
            NONE => self.each_global_link(here, there, leave),
            waypoint => leave(self.routes.global_link_at(waypoint)),
        }
    }

    fn connects(&self, from: RouterId, to: RouterId) -> bool {
        self.joins(
            self.routes.place(from.0).group,
            self.routes.place(to.0).group,
        )
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        if !injected && route.waypoint != NONE {
            return RelevantDestination::Nothing;
        }
        let there = self.routes.place(route.destination_router).group;
        if self.links == MinimalLinks::All && there != self.routes.place(at.0).group {
            RelevantDestination::Group
        } else {
            RelevantDestination::Router
        }
    }
}

impl Near {
    fn new(routes: &GroupedRoutes, routers: u32) -> Self {
        let mut near = Self::default();
        let groups = routes.groups();
        for index in 0..routers {
            let place = routes.place(index);
            for group in 0..groups {
                near.own_first.push(near.own.len() as u32);
                near.far_first.push(near.far.len() as u32);
                if group == place.group {
                    continue;
                }
                let global_links = routes.global_links(place.group, group);
                let entries = routes.global_links(group, place.group);
                for (&here, &there) in global_links.iter().zip(entries) {
                    if here.owner() == place.local {
                        near.own.push((here, there.owner()));
                        // Seen from the other group, this is the way to here.
                        near.far.push(there);
                    }
                }
            }
        }
        near.own_first.push(near.own.len() as u32);
        near.far_first.push(near.far.len() as u32);
        near
    }

    fn range(
        first: &[u32],
        routes: &GroupedRoutes,
        router: Place,
        group: u32,
    ) -> std::ops::Range<usize> {
        let index = (routes.router(router) * routes.groups() + group) as usize;
        first[index] as usize..first[index + 1] as usize
    }

    /// Exits of router `here` to `group`, with the router there.
    fn own(&self, routes: &GroupedRoutes, here: Place, group: u32) -> &[(GlobalLink, u32)] {
        &self.own[Self::range(&self.own_first, routes, here, group)]
    }

    /// Exits of `group` that lead to router `there`.
    fn far(&self, routes: &GroupedRoutes, group: u32, there: Place) -> &[GlobalLink] {
        &self.far[Self::range(&self.far_first, routes, there, group)]
    }
}

fn check_all_to_all(routes: &GroupedRoutes) -> Result<(), RoutingError> {
    for group in 0..routes.groups() {
        let size = routes.group_size(group);
        for from in 0..size {
            let far = (0..size).find(|&to| routes.local_distance(group, from, to) > 1);
            if let Some(to) = far {
                let router = |local| RouterId(routes.router(Place { group, local }));
                return Err(RoutingError::NotAllToAll {
                    algorithm: "tago",
                    from: router(from),
                    to: router(to),
                });
            }
        }
    }
    Ok(())
}

/// Fewest global links between every two groups; see [`Tago::distance`].
fn group_distances(routes: &GroupedRoutes) -> Vec<u8> {
    let groups = routes.groups();
    let mut distance = vec![u8::MAX; (groups * groups) as usize];
    let neighbours: Vec<Vec<u32>> = (0..groups)
        .map(|from| {
            let joined = |&to: &u32| to != from && !routes.global_links(from, to).is_empty();
            (0..groups).filter(joined).collect()
        })
        .collect();
    for from in 0..groups {
        let row = &mut distance[(from * groups) as usize..((from + 1) * groups) as usize];
        row[from as usize] = 0;
        let mut front = vec![from];
        let mut hops = 0u8;
        while !front.is_empty() && hops < u8::MAX - 1 {
            hops += 1;
            let mut next = Vec::new();
            for &to in front.iter().flat_map(|&group| &neighbours[group as usize]) {
                if row[to as usize] == u8::MAX {
                    row[to as usize] = hops;
                    next.push(to);
                }
            }
            front = next;
        }
    }
    distance
}

#[cfg(test)]
mod tests;
