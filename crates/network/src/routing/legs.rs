//! What all routing algorithms on networks of groups have in common: a route
//! is a sequence of legs, and a leg is one traversal of a group by local links
//! that ends at a global link (which it then crosses) or at a router.
//!
//! | phase | leg | waypoint | intermediate |
//! |---|---|---|---|
//! | [`PROGRESSIVE`] | to the destination group, may still be diverted | its global link | none |
//! | [`OUTWARD`] | to the intermediate group | its global link | group or router |
//! | [`DETOUR`] | to the intermediate router, inside its group | none | router |
//! | [`HOMEWARD`] | to the destination group | its global link | none |
//! | [`FINAL`] | to the destination router, inside its group | none | none |
//!
//! The phases of one route only ever grow, in the order of the table.
//!
//! # Virtual channels
//!
//! Local and global links number their virtual channels separately. Every
//! phase has a class of local channels and, if it crosses a global link, a
//! class of global channels; an algorithm numbers the phases that it uses in
//! the order of the table, so that along every route the classes appear in
//! one fixed total order, for instance
//!
//! `local(OUTWARD) < global(OUTWARD) < local(DETOUR) < local(HOMEWARD) < global(HOMEWARD) < local(FINAL)`,
//!
//! and a packet that holds a channel only ever waits for a channel of a later
//! class or, inside one traversal of a group, for one of the same class. The
//! latter closes no cycle either: in all-to-all groups a traversal is a single
//! hop; in 2-D groups under dimension order a channel along a row is never
//! waited for from a column; in other groups [`GroupedRoutes`] checks whether
//! the paths inside the group close a cycle, and if they do, a class gets as
//! many channels as the longest path has hops and the channel's number grows
//! with every hop. So the channel dependency graph has no cycle, and the
//! network cannot deadlock (Dally and Seitz 1987). `verify` checks the same
//! for a given network without relying on this argument.

use odonata_units::RouterId;

use super::choice::{Choice, MinimalLinks, least_loaded};
use super::grouped::{Exit, GroupedRoutes, LocalWays, Place};
use super::{Hop, NONE, PacketRoute, RouterView, RoutingError};

/// Minimal so far, and not yet out of the source group.
pub(super) const PROGRESSIVE: u8 = 0;
/// To the intermediate group.
pub(super) const OUTWARD: u8 = 1;
/// To the intermediate router, inside its group.
pub(super) const DETOUR: u8 = 2;
/// To the destination group.
pub(super) const HOMEWARD: u8 = 3;
/// To the destination router, inside its group.
pub(super) const FINAL: u8 = 4;

const PHASES: usize = 5;
/// Largest number of virtual channels.
const MOST_CHANNELS: u32 = 255;

/// The virtual channels of each phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// First channel on local links, by phase; with `depth` 1 the only one.
    local: [u8; PHASES],
    /// Channel on global links, by phase.
    global: [u8; PHASES],
    /// Channels per class of local channels.
    depth: u8,
    /// Channels in total, at least one.
    count: u8,
}

impl Channels {
    /// Numbers the channels of an algorithm that uses `local` phases on local
    /// and `global` phases on global links; the phases of each are grouped into
    /// classes, in the order in which routes use them. With `merged`, channel
    /// `i` becomes `min(i, merged - 1)`.
    pub(super) fn new(
        algorithm: &'static str,
        routes: &GroupedRoutes,
        local: &[&[u8]],
        global: &[&[u8]],
        merged: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let depth = u32::from(routes.local_depth());
        let needed = (local.len() as u32 * depth).max(global.len() as u32).max(1);
        let count = channel_count(algorithm, needed, depth, merged)?;
        let number = |classes: &[&[u8]], depth: u32| {
            let mut channels = [0; PHASES];
            for (class, phases) in classes.iter().enumerate() {
                for &phase in *phases {
                    let channel = class as u32 * depth;
                    channels[usize::from(phase)] = channel.min(MOST_CHANNELS) as u8;
                }
            }
            channels
        };
        let clamp = |channels: [u8; PHASES]| channels.map(|c| c.min(count - 1));
        Ok(Self {
            local: clamp(number(local, depth)),
            global: clamp(number(global, 1)),
            depth: depth.min(MOST_CHANNELS) as u8,
            count,
        })
    }

    pub(super) fn count(&self) -> u8 {
        self.count
    }
}

/// The number of virtual channels an algorithm uses: all that it needs, or
/// fewer where the user wants them merged.
pub(super) fn channel_count(
    algorithm: &'static str,
    needed: u32,
    diameter: u32,
    merged: Option<u8>,
) -> Result<u8, RoutingError> {
    match merged {
        Some(0) => Err(RoutingError::BadOption {
            option: "virtual_channels",
            found: "0".into(),
            allowed: "it must be at least 1",
        }),
        Some(merged) => Ok(needed.min(u32::from(merged)) as u8),
        None if needed > MOST_CHANNELS => Err(RoutingError::TooManyVirtualChannels {
            algorithm,
            needed,
            limit: MOST_CHANNELS,
            diameter,
        }),
        None => Ok(needed as u8),
    }
}

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
    #[inline]
    pub(super) fn step<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        route: &mut PacketRoute,
    ) -> Hop {
        let here = self.routes.place(at.0);
        match route.phase {
            FINAL => {
                let there = self.routes.place(route.destination_router);
                self.local_hop(view, here, there.local, FINAL)
            }
            DETOUR => {
                let there = self.routes.place(route.intermediate);
                self.local_hop(view, here, there.local, DETOUR)
            }
            phase => {
                if route.waypoint == NONE {
                    let target = self.target(route);
                    let exit = self.choose_exit(view, here, target);
                    return self.set_out(view, here, exit, route);
                }
                match self.routes.own_port(at.0, route.waypoint) {
                    Some(port) => self.cross(port, route),
                    None => {
                        let owner = self.routes.router_of_port(route.waypoint);
                        let owner = self.routes.place(owner).local;
                        self.local_hop(view, here, owner, phase)
                    }
                }
            }
        }
    }

    /// The first hop of a leg that leaves the group through `exit`.
    #[inline(always)]
    pub(super) fn set_out<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        exit: Exit,
        route: &mut PacketRoute,
    ) -> Hop {
        if exit.owner() == here.local {
            return self.cross(exit.port() as u16, route);
        }
        route.waypoint = self.waypoint(here.group, exit);
        self.local_hop(view, here, exit.owner(), route.phase)
    }

    /// Global number of the port behind `exit` of `group`.
    #[inline(always)]
    pub(super) fn waypoint(&self, group: u32, exit: Exit) -> u32 {
        let owner = self.routes.router(Place {
            group,
            local: exit.owner(),
        });
        self.routes.first_port(owner) + exit.port()
    }

    /// The hop over a global link, and the phase of the leg behind it.
    #[inline(always)]
    pub(super) fn cross(&self, port: u16, route: &mut PacketRoute) -> Hop {
        let vc = self.channels.global[usize::from(route.phase)];
        route.waypoint = NONE;
        route.phase = match route.phase {
            OUTWARD if self.via_router => DETOUR,
            OUTWARD => {
                route.intermediate = NONE;
                HOMEWARD
            }
            _ => FINAL,
        };
        Hop { port, vc }
    }

    #[inline(always)]
    pub(super) fn local_vc(&self, here: Place, to: u32, phase: u8) -> u8 {
        let first = self.channels.local[usize::from(phase)];
        if self.channels.depth == 1 {
            first
        } else {
            self.deep_local_vc(here, to, first)
        }
    }

    #[inline(never)]
    fn deep_local_vc(&self, here: Place, to: u32, first: u8) -> u8 {
        let remaining = self.routes.local_distance(here.group, here.local, to);
        let channel = u32::from(first) + u32::from(self.channels.depth) - remaining;
        channel.min(u32::from(self.channels.count) - 1) as u8
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
        match self.routes.local_ways(here.group, here.local, to) {
            LocalWays::Only(port) => port,
            LocalWays::AnyOf([way]) => way.port,
            LocalWays::AnyOf(ways) => {
                let count = ways.len() as u32;
                let index = match self.choice {
                    Choice::Random => view.random_below(count),
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        view.occupancy_bytes(ways[i as usize].port)
                    }),
                };
                ways[index as usize].port
            }
        }
    }

    /// Chooses the global link of a leg that starts at `here`.
    #[inline(always)]
    pub(super) fn choose_exit<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        target: Target,
    ) -> Exit {
        match self.routes.exits(here.group, target.group) {
            [only] => *only,
            exits => exits[self.choose_among(view, here, target, exits) as usize],
        }
    }

    /// The same as an index into the links between the two groups.
    #[inline]
    pub(super) fn choose_exit_index<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        target: Target,
    ) -> usize {
        match self.routes.exits(here.group, target.group) {
            [_] => 0,
            exits => self.choose_among(view, here, target, exits) as usize,
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
        match self.routes.exits(here.group, target.group) {
            [_] => 0,
            exits => match self.links {
                MinimalLinks::All => view.random_below(exits.len() as u32) as usize,
                MinimalLinks::Shortest => {
                    let entries = self.routes.exits(target.group, here.group);
                    let hops = |&i: &usize| self.hops_through(here, exits[i], entries[i], target);
                    (0..exits.len()).min_by_key(hops).unwrap_or(0)
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
        exits: &[Exit],
    ) -> u32 {
        let count = exits.len() as u32;
        match (self.links, self.choice) {
            (MinimalLinks::All, Choice::Random) => view.random_below(count),
            (MinimalLinks::All, Choice::ByLoad) => least_loaded(view, count, |view, i| {
                self.exit_load(view, here, exits[i as usize])
            }),
            (MinimalLinks::Shortest, choice) => {
                let entries = self.routes.exits(target.group, here.group);
                let hops = |i: u32| {
                    let (exit, entry) = (exits[i as usize], entries[i as usize]);
                    self.hops_through(here, exit, entry, target)
                };
                let fewest = (0..count).map(hops).min().unwrap_or(0);
                match choice {
                    Choice::Random => {
                        let ties = (0..count).filter(|&i| hops(i) == fewest).count() as u32;
                        let pick = if ties > 1 { view.random_below(ties) } else { 0 };
                        (0..count)
                            .filter(|&i| hops(i) == fewest)
                            .nth(pick as usize)
                            .unwrap_or(0)
                    }
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        if hops(i) == fewest {
                            self.exit_load(view, here, exits[i as usize])
                        } else {
                            u64::MAX
                        }
                    }),
                }
            }
        }
    }

    /// Occupancy of the output port at `here` that leads to `exit`; with
    /// parallel ports towards it, the least.
    #[inline]
    pub(super) fn exit_load<V: RouterView>(&self, view: &mut V, here: Place, exit: Exit) -> u64 {
        if exit.owner() == here.local {
            return view.occupancy_bytes(exit.port() as u16);
        }
        match self.routes.local_ways(here.group, here.local, exit.owner()) {
            LocalWays::Only(port) => view.occupancy_bytes(port),
            LocalWays::AnyOf(ways) => ways
                .iter()
                .map(|way| view.occupancy_bytes(way.port))
                .min()
                .unwrap_or(0),
        }
    }

    /// Router-router hops from `here` over the global link `exit`, whose other
    /// end is `entry`, to `target`.
    #[inline]
    pub(super) fn hops_through(&self, here: Place, exit: Exit, entry: Exit, target: Target) -> u32 {
        let before = self
            .routes
            .local_distance(here.group, here.local, exit.owner());
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
            _ if route.waypoint == NONE => {
                for exit in self.possible_exits(here, self.target(route)) {
                    self.possible_departures(here, exit, route, out);
                }
            }
            _ => match self.routes.own_port(at.0, route.waypoint) {
                Some(port) => self.possible_crossing(port, route, out),
                None => {
                    let owner = self.routes.router_of_port(route.waypoint);
                    self.possible_local(here, owner, route, out);
                }
            },
        }
    }

    /// Whether what a packet in `route` may do at `at` depends on its
    /// destination: not while it is under way to a global link or an
    /// intermediate router that has been chosen.
    pub(super) fn depends_on_destination(&self, at: RouterId, route: &PacketRoute) -> bool {
        match route.phase {
            OUTWARD | HOMEWARD => route.waypoint == NONE,
            DETOUR => at.0 == route.intermediate,
            _ => true,
        }
    }

    /// The exits that [`Legs::choose_exit`] could choose.
    pub(super) fn possible_exits(&self, here: Place, target: Target) -> impl Iterator<Item = Exit> {
        let exits = self.routes.exits(here.group, target.group);
        let entries = self.routes.exits(target.group, here.group);
        let hops = move |i: usize| self.hops_through(here, exits[i], entries[i], target);
        let limit = match self.links {
            MinimalLinks::All => u32::MAX,
            MinimalLinks::Shortest => (0..exits.len()).map(hops).min().unwrap_or(0),
        };
        (0..exits.len())
            .filter(move |&i| hops(i) <= limit)
            .map(move |i| exits[i])
    }

    /// Every hop that [`Legs::set_out`] could take; appends to `out`.
    pub(super) fn possible_departures(
        &self,
        here: Place,
        exit: Exit,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if exit.owner() == here.local {
            return self.possible_crossing(exit.port() as u16, route, out);
        }
        let mut route = *route;
        route.waypoint = self.waypoint(here.group, exit);
        let owner = self.routes.router(Place {
            group: here.group,
            local: exit.owner(),
        });
        self.possible_local(here, owner, &route, out);
    }

    fn possible_crossing(&self, port: u16, route: &PacketRoute, out: &mut Vec<(Hop, PacketRoute)>) {
        let mut route = *route;
        let hop = self.cross(port, &mut route);
        route.vc = hop.vc;
        out.push((hop, route));
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
        match self.routes.local_ways(here.group, here.local, to) {
            LocalWays::Only(port) => out.push((Hop { port, vc }, route)),
            LocalWays::AnyOf(ways) => out.extend(ways.iter().map(|way| {
                let hop = Hop { port: way.port, vc };
                (hop, route)
            })),
        }
    }
}
