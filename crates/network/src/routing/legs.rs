//! What all routing algorithms on networks of groups have in common: a route
//! is a sequence of legs, and a leg is one traversal of a group by local links
//! that ends at a global link (which it then crosses) or at a router.
//!
//! | phase | leg | intermediate |
//! |---|---|---|
//! | [`PROGRESSIVE`](super::channels::PROGRESSIVE) | to the destination group, may still be diverted | none |
//! | [`OUTWARD`] | to the intermediate group | group or router |
//! | [`DETOUR`] | to the intermediate router, inside its group | router |
//! | [`HOMEWARD`] | to the destination group | none |
//! | [`FINAL`] | to the destination router, inside its group | none |
//!
//! The phases of one route only ever grow, in the order of the table. Where
//! several global links lead to the group that a leg is going to, one is chosen
//! when the leg starts and is the packet's waypoint until it has crossed it.
//!
//! [`channels`](super::channels) tells why the virtual channels of the phases
//! make every algorithm free of deadlock.

use std::hint::select_unpredictable;

use odonata_units::RouterId;

use super::channels::{Channels, DETOUR, FINAL, HOMEWARD, OUTWARD};
use super::choice::{Choice, MinimalLinks, least_loaded};
use super::grouped::{GlobalLink, GroupedRoutes, LocalLinks, Place, Regular};
use super::{Hop, NONE, PacketRoute, RelevantDestination, RouterView};

/// Where a leg is going: a group, through one of the global links to it, with
/// the router there (or none, if any will do) that decides which links are the
/// shortest way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub group: u32,
    pub router: Option<u32>,
}

/// The tables and choices that the algorithms share, and the steps of a route.
#[derive(Clone, Debug)]
pub(super) struct Legs {
    pub routes: GroupedRoutes,
    pub links: MinimalLinks,
    pub choice: Choice,
    pub channels: Channels,
    /// Whether routes go all the way to an intermediate router.
    pub via_router: bool,
}

/// The hop onto the destination's terminal link.
#[inline(always)]
pub(super) fn eject(route: &PacketRoute) -> Hop {
    Hop {
        port: route.destination_port,
        vc: 0,
    }
}

/// The same as a possible hop with the state behind it.
pub(super) fn possible_eject(route: &PacketRoute) -> (Hop, PacketRoute) {
    (eject(route), PacketRoute { vc: 0, ..*route })
}

impl Legs {
    /// Turns towards the destination when the intermediate router has been
    /// reached.
    #[inline(always)]
    pub(super) fn arrive(&self, at: RouterId, route: &mut PacketRoute) {
        if route.phase == DETOUR && route.intermediate == at.0 {
            route.intermediate = NONE;
            self.head_home(self.routes.place(at.0), route);
        }
    }

    /// Sets the phase of a minimal route from `here` on.
    #[inline(always)]
    pub(super) fn head_home(&self, here: Place, route: &mut PacketRoute) {
        let there = self.routes.place(route.destination_router);
        route.phase = if there.group == here.group {
            FINAL
        } else {
            HOMEWARD
        };
    }

    /// The group that a packet in `route` is heading for.
    #[inline(always)]
    pub(super) fn target(&self, route: &PacketRoute) -> Target {
        if route.phase == OUTWARD {
            self.intermediate_target(route.intermediate)
        } else {
            self.router_target(route.destination_router)
        }
    }

    #[inline(always)]
    pub(super) fn router_target(&self, router: u32) -> Target {
        let place = self.routes.place(router);
        Target {
            group: place.group,
            router: Some(place.local),
        }
    }

    /// What `intermediate` stands for.
    #[inline(always)]
    pub(super) fn intermediate_target(&self, intermediate: u32) -> Target {
        if self.via_router {
            self.router_target(intermediate)
        } else {
            Target {
                group: intermediate,
                router: None,
            }
        }
    }

    /// The next hop of a packet that is not at the end of its leg's phase.
    /// `DETOURS`: whether the algorithm has intermediates at all; if not, the
    /// phase follows from where the packet is, whatever `route` says.
    #[inline(always)]
    pub(super) fn step<const DETOURS: bool, V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        route: &mut PacketRoute,
    ) -> Hop {
        match self.routes.regular() {
            Some(regular) => self.step_regular::<DETOURS, V>(regular, view, at, route),
            None => {
                if !DETOURS {
                    self.head_home(self.routes.place(at.0), route);
                }
                self.step_any(view, at, route)
            }
        }
    }

    /// [`Legs::step`] in a regular wiring, where all is computed. Whether a
    /// packet turns, crosses or goes on is unpredictable, so nothing of it is a
    /// branch: a mispredicted one costs more than all of this.
    #[inline(always)]
    fn step_regular<const DETOURS: bool, V: RouterView>(
        &self,
        regular: &Regular,
        view: &mut V,
        at: RouterId,
        route: &mut PacketRoute,
    ) -> Hop {
        let here = regular.place(at.0);
        let mut phase = route.phase;
        let away = DETOURS && (phase == OUTWARD || phase == DETOUR);
        let toward = select_unpredictable(away, route.intermediate, route.destination_router);
        let mut there = regular.place(toward);
        if DETOURS && !self.via_router {
            there.group = select_unpredictable(phase == OUTWARD, toward, there.group);
        }
        let inside = here.group == there.group;
        if !DETOURS {
            phase = select_unpredictable(inside, FINAL, HOMEWARD);
        }
        let global_link = match self.routes.only_global_link(here.group, there.group) {
            Some(global_link) => global_link,
            None => self.global_link_of_several(view, here, route),
        };
        let crossing = !inside & (global_link.owner() == here.local);
        let to = select_unpredictable(inside, there.local, global_link.owner());
        let local = regular.local_port(here.local, to);
        let hop = Hop {
            port: select_unpredictable(crossing, global_link.port(), local) as u16,
            vc: select_unpredictable(
                crossing,
                self.channels.global(phase),
                self.channels.local(phase),
            ),
        };
        if DETOURS {
            let arrived = crossing & (phase == OUTWARD) & !self.via_router;
            route.intermediate = select_unpredictable(arrived, NONE, route.intermediate);
        }
        route.waypoint = select_unpredictable(crossing, NONE, route.waypoint);
        let beyond = self.phase_beyond(phase);
        route.phase = select_unpredictable(crossing, beyond, phase);
        hop
    }

    /// [`Legs::step`] in any wiring.
    #[inline(never)]
    fn step_any<V: RouterView>(&self, view: &mut V, at: RouterId, route: &mut PacketRoute) -> Hop {
        let here = self.routes.place(at.0);
        let inside = match route.phase {
            FINAL => route.destination_router,
            DETOUR => route.intermediate,
            phase => {
                let global_link = match self
                    .routes
                    .only_global_link(here.group, self.target(route).group)
                {
                    Some(global_link) => global_link,
                    None => self.global_link_of_several(view, here, route),
                };
                return if global_link.owner() == here.local {
                    self.cross(global_link.port() as u16, route)
                } else {
                    self.local_hop(view, here, global_link.owner(), phase)
                };
            }
        };
        let inside = self.routes.place(inside).local;
        self.local_hop(view, here, inside, route.phase)
    }

    /// The global link of a leg to a group that several lead to: the packet's
    /// waypoint, or where the leg starts a new choice, which becomes it.
    #[inline(never)]
    fn global_link_of_several<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        route: &mut PacketRoute,
    ) -> GlobalLink {
        if route.waypoint != NONE {
            return self.routes.global_link_at(route.waypoint);
        }
        let target = self.target(route);
        let global_links = self.routes.global_links(here.group, target.group);
        let global_link =
            global_links[self.choose_among(view, here, target, global_links) as usize];
        route.waypoint = self.waypoint(here.group, global_link);
        global_link
    }

    /// Global number of the port behind `global_link` of `group`.
    #[inline(always)]
    pub(super) fn waypoint(&self, group: u32, global_link: GlobalLink) -> u32 {
        let owner = self.routes.router(Place {
            group,
            local: global_link.owner(),
        });
        self.routes.first_port(owner) + global_link.port()
    }

    /// The hop over a global link, and the phase of the leg behind it.
    #[inline(always)]
    pub(super) fn cross(&self, port: u16, route: &mut PacketRoute) -> Hop {
        let vc = self.channels.global(route.phase);
        if route.phase == OUTWARD && !self.via_router {
            route.intermediate = NONE;
        }
        route.waypoint = NONE;
        route.phase = self.phase_beyond(route.phase);
        Hop { port, vc }
    }

    /// The phase of a packet that has crossed the global link of `phase`.
    #[inline(always)]
    fn phase_beyond(&self, phase: u8) -> u8 {
        let outward = if self.via_router { DETOUR } else { HOMEWARD };
        select_unpredictable(phase == OUTWARD, outward, FINAL)
    }

    #[inline(always)]
    pub(super) fn local_vc(&self, here: Place, to: u32, phase: u8) -> u8 {
        if self.channels.is_deep() {
            let remaining = self.routes.local_distance(here.group, here.local, to);
            self.channels.deep(phase, remaining)
        } else if self.routes.is_spine(here) {
            self.channels.down(phase)
        } else {
            self.channels.local(phase)
        }
    }

    /// A hop inside the group towards its router number `to`.
    #[inline(always)]
    pub(super) fn local_hop<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        to: u32,
        phase: u8,
    ) -> Hop {
        Hop {
            port: self.local_port(view, here, to),
            vc: self.local_vc(here, to, phase),
        }
    }

    #[inline(always)]
    pub(super) fn local_port<V: RouterView>(&self, view: &mut V, here: Place, to: u32) -> u16 {
        match self.routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(port) => port,
            LocalLinks::AnyOf([link]) => link.port,
            LocalLinks::AnyOf(links) => {
                let count = links.len() as u32;
                let index = match self.choice {
                    Choice::Random | Choice::ByDestination => view.random_below(count),
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        view.occupancy_bytes(links[i as usize].port)
                    }),
                };
                links[index as usize].port
            }
        }
    }

    /// Which global links a leg from `here` may leave its group through. Where
    /// groups consist of leaves and spines, all are as near from a leaf, and a
    /// spine with links of its own to the group never goes to another's.
    #[inline]
    fn links_from(&self, here: Place) -> MinimalLinks {
        match self.routes.leaves() {
            None => self.links,
            Some(leaves) if here.local < leaves => MinimalLinks::All,
            Some(_) => MinimalLinks::Shortest,
        }
    }

    /// Chooses the global link of a leg that starts at `here`, as an index into
    /// the links between the two groups.
    #[inline]
    pub(super) fn choose_exit_index<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        target: Target,
    ) -> usize {
        match self.routes.global_links(here.group, target.group) {
            [_] => 0,
            global_links => self.choose_among(view, here, target, global_links) as usize,
        }
    }

    /// One of the links that a leg from `here` could take, for estimates of
    /// what lies beyond the deciding router.
    pub(super) fn any_exit_index<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        target: Target,
    ) -> usize {
        match self.routes.global_links(here.group, target.group) {
            [_] => 0,
            global_links => match self.links_from(here) {
                MinimalLinks::All => view.random_below(global_links.len() as u32) as usize,
                MinimalLinks::Shortest => {
                    let entries = self.routes.global_links(target.group, here.group);
                    let hops =
                        |&i: &usize| self.hops_through(here, global_links[i], entries[i], target);
                    (0..global_links.len()).min_by_key(hops).unwrap_or(0)
                }
            },
        }
    }

    #[inline(never)]
    fn choose_among<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        target: Target,
        global_links: &[GlobalLink],
    ) -> u32 {
        let count = global_links.len() as u32;
        match (self.links_from(here), self.choice) {
            (MinimalLinks::All, Choice::Random | Choice::ByDestination) => view.random_below(count),
            (MinimalLinks::All, Choice::ByLoad) => least_loaded(view, count, |view, i| {
                self.global_link_load(view, here, global_links[i as usize])
            }),
            (MinimalLinks::Shortest, choice) => {
                let entries = self.routes.global_links(target.group, here.group);
                let hops = |i: u32| {
                    let (global_link, entry) = (global_links[i as usize], entries[i as usize]);
                    self.hops_through(here, global_link, entry, target)
                };
                let fewest = (0..count).map(hops).min().unwrap_or(0);
                match choice {
                    Choice::Random | Choice::ByDestination => {
                        let ties = (0..count).filter(|&i| hops(i) == fewest).count() as u32;
                        let pick = if ties > 1 { view.random_below(ties) } else { 0 };
                        (0..count)
                            .filter(|&i| hops(i) == fewest)
                            .nth(pick as usize)
                            .unwrap_or(0)
                    }
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        if hops(i) == fewest {
                            self.global_link_load(view, here, global_links[i as usize])
                        } else {
                            u64::MAX
                        }
                    }),
                }
            }
        }
    }

    /// Occupancy of the output port at `here` that leads to `global_link`; with
    /// parallel ports towards it, the least.
    #[inline]
    pub(super) fn global_link_load<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        global_link: GlobalLink,
    ) -> u64 {
        if global_link.owner() == here.local {
            return view.occupancy_bytes(global_link.port() as u16);
        }
        match self
            .routes
            .local_links(here.group, here.local, global_link.owner())
        {
            LocalLinks::Only(port) => view.occupancy_bytes(port),
            LocalLinks::AnyOf(links) => links
                .iter()
                .map(|link| view.occupancy_bytes(link.port))
                .min()
                .unwrap_or(0),
        }
    }

    /// Router-router hops from `here` over the global link `global_link`, whose other
    /// end is `entry`, to `target`.
    #[inline]
    pub(super) fn hops_through(
        &self,
        here: Place,
        global_link: GlobalLink,
        entry: GlobalLink,
        target: Target,
    ) -> u32 {
        let before = self
            .routes
            .local_distance(here.group, here.local, global_link.owner());
        let after = target.router.map_or(0, |router| {
            self.routes
                .local_distance(target.group, entry.owner(), router)
        });
        before + 1 + after
    }

    /// Every hop that [`Legs::step`] could take; appends to `out`.
    pub(super) fn possible_steps(
        &self,
        at: RouterId,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let here = self.routes.place(at.0);
        match route.phase {
            FINAL => self.possible_local(here, route.destination_router, route, out),
            DETOUR => self.possible_local(here, route.intermediate, route, out),
            _ if route.waypoint != NONE => {
                let global_link = self.routes.global_link_at(route.waypoint);
                self.possible_towards(here, global_link, route, out);
            }
            _ => {
                let target = self.target(route);
                let several = self
                    .routes
                    .only_global_link(here.group, target.group)
                    .is_none();
                for global_link in self.possible_global_links(here, target) {
                    let mut route = *route;
                    if several {
                        route.waypoint = self.waypoint(here.group, global_link);
                    }
                    self.possible_towards(here, global_link, &route, out);
                }
            }
        }
    }

    /// What the possible hops of a packet depend on of its destination: nothing while it is under way to a global link or an intermediate router
    /// that has been chosen, only the group where a leg to another group starts.
    pub(super) fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        let nothing = match route.phase {
            _ if injected => false,
            OUTWARD => true,
            DETOUR => at.0 != route.intermediate,
            HOMEWARD => route.waypoint != NONE,
            _ => false,
        };
        if nothing {
            return RelevantDestination::Nothing;
        }
        let there = self.routes.place(route.destination_router).group;
        let to_any_router = self.links == MinimalLinks::All || self.routes.leaves().is_some();
        if to_any_router && there != self.routes.place(at.0).group {
            RelevantDestination::Group
        } else {
            RelevantDestination::Router
        }
    }

    /// The global links that a leg from `here` could choose.
    pub(super) fn possible_global_links(
        &self,
        here: Place,
        target: Target,
    ) -> impl Iterator<Item = GlobalLink> {
        let global_links = self.routes.global_links(here.group, target.group);
        let entries = self.routes.global_links(target.group, here.group);
        let hops = move |i: usize| self.hops_through(here, global_links[i], entries[i], target);
        let fewest = match self.links_from(here) {
            MinimalLinks::All => None,
            MinimalLinks::Shortest => (0..global_links.len()).map(hops).min(),
        };
        (0..global_links.len())
            .filter(move |&i| fewest.is_none_or(|fewest| hops(i) == fewest))
            .map(move |i| global_links[i])
    }

    /// The hops of a leg that leaves the group of `here` through `global_link`.
    fn possible_towards(
        &self,
        here: Place,
        global_link: GlobalLink,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if global_link.owner() == here.local {
            let mut route = *route;
            let hop = self.cross(global_link.port() as u16, &mut route);
            route.vc = hop.vc;
            return out.push((hop, route));
        }
        let owner = self.routes.router(Place {
            group: here.group,
            local: global_link.owner(),
        });
        self.possible_local(here, owner, route, out);
    }

    fn possible_local(
        &self,
        here: Place,
        to: u32,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let to = self.routes.place(to).local;
        let vc = self.local_vc(here, to, route.phase);
        let route = PacketRoute { vc, ..*route };
        match self.routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(port) => out.push((Hop { port, vc }, route)),
            LocalLinks::AnyOf(links) => out.extend(links.iter().map(|link| {
                let hop = Hop {
                    port: link.port,
                    vc,
                };
                (hop, route)
            })),
        }
    }
}
