//! Valiant routing on networks of groups.

use odonata_units::RouterId;

use super::channels::{DETOUR, FINAL, HOMEWARD, OUTWARD};
use super::choice::{Choice, GroupLinkKeys, MinimalLinks};
use super::grouped::{GroupedRoutes, Place};
use super::legs::{Legs, eject, possible_eject};
use super::nonminimal::{Via, ViaKeys};
use super::{
    Algorithm, AlgorithmKeys, Hop, PacketRoute, PathKeys, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual,
};

odonata_declare::table! {
    /// Keys of `valiant`.
    pub struct ValiantKeys {
        /// Links between groups.
        links: GroupLinkKeys = GroupLinkKeys::default() => Notes::FLAT,
        /// What routes go over.
        paths: PathKeys = PathKeys::default() => Notes::FLAT,
        /// The intermediate.
        via: ViaKeys = ViaKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for ValiantKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        let paths = self.paths.or(usual);
        let via = self.via.over(paths);
        self.links.on(RoutingSpec {
            paths,
            ..RoutingSpec::new(Algorithm::Valiant { via })
        })
    }
}

/// Valiant routing (Valiant and Brebner, "Universal schemes for parallel
/// communication", STOC 1981; on dragonflies Kim et al. 2008): every packet
/// goes minimally to a random intermediate and from there minimally to its
/// destination, whatever the load.
///
/// Traffic between groups goes through what [`Via`] says; with only two groups
/// there is no other, and the route is minimal. Traffic inside a group goes
/// through a random router of the group, other than the source's; where that
/// is the destination's, directly (Kaplan et al. 2017, section II.B.2).
///
/// | leg | `Via::Group`: local, global | `Via::Router`, `Via::Node`: local, global |
/// |---|---|---|
/// | to the intermediate group | 0, 0 | 0, 0 |
/// | to the intermediate router, inside its group | 1 (traffic inside a group) | 1 |
/// | to the destination group | 1, 1 | 2, 1 |
/// | inside the destination group | 2 | 3 |
///
/// Three virtual channels via a group and four via a router, in all-to-all and
/// 2-D groups; two in groups of leaves and spines, where intermediate routers are
/// leaves. Local and global channels alternate in one total order (via a
/// router: local 0, global 0, local 1, local 2, global 1, local 3), in which
/// every route ascends, so the channel dependency graph has no cycle.
#[derive(Clone, Debug)]
pub struct Valiant {
    legs: Legs,
    via: Via,
}

impl Valiant {
    /// Valiant routing over `routes`; with `virtual_channels`, channel `i` is
    /// merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the routes need more virtual channels than can be numbered.
    pub fn new(
        routes: GroupedRoutes,
        via: Via,
        links: MinimalLinks,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let channels = via.channels("valiant", &routes, false, virtual_channels)?;
        Ok(Self {
            legs: Legs {
                routes,
                links,
                choice,
                channels,
                via_router: via.to_router(),
            },
            via,
        })
    }

    fn depart<V: RouterView>(&self, view: &mut V, here: Place, route: &mut PacketRoute) {
        let routes = &self.legs.routes;
        let there = routes.place(route.destination_router);
        if here.group != there.group {
            (route.phase, route.intermediate) = match self.via.draw(routes, view, here, there) {
                Some(intermediate) => (OUTWARD, intermediate),
                None => (HOMEWARD, super::NONE),
            };
            return;
        }
        route.phase = FINAL;
        if self.via != Via::Node {
            let choices = routes.stopovers(here.group) - 1;
            let other = view.random_below(choices);
            let local = other + u32::from(other >= here.local);
            if local != there.local {
                route.phase = DETOUR;
                route.intermediate = routes.router(Place { local, ..here });
            }
        }
    }
}

impl Routing for Valiant {
    fn virtual_channels(&self) -> u8 {
        self.legs.channels.count()
    }

    fn reads_occupancy(&self) -> bool {
        self.legs.choice == Choice::ByLoad
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        self.legs.arrive(at, route);
        if at.0 == route.destination_router && route.phase != DETOUR {
            return eject(route);
        }
        if injected {
            self.depart(view, self.legs.routes.place(at.0), route);
        }
        self.legs.step::<true, V>(view, at, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let mut as_if = Vec::new();
        self.possible_hops_in_parts(at, injected, route, out, &mut as_if);
        for diverted in &as_if {
            self.legs.possible_steps(at, diverted, out);
        }
    }

    fn possible_hops_in_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        let mut route = *route;
        self.legs.arrive(at, &mut route);
        if at.0 == route.destination_router && route.phase != DETOUR {
            return own.push(possible_eject(&route));
        }
        if !injected {
            return self.legs.possible_steps(at, &route, own);
        }
        let routes = &self.legs.routes;
        let here = routes.place(at.0);
        let there = routes.place(route.destination_router);
        let mut set_out = |phase, intermediate| {
            let route = PacketRoute {
                phase,
                intermediate,
                ..route
            };
            self.legs.possible_steps(at, &route, own);
        };
        if here.group != there.group {
            let (intermediates, minimal) = self.via.possible(routes, here, there);
            as_if.extend(intermediates.into_iter().map(|intermediate| PacketRoute {
                phase: OUTWARD,
                intermediate,
                ..route
            }));
            if minimal {
                set_out(HOMEWARD, super::NONE);
            }
            return;
        }
        set_out(FINAL, super::NONE);
        if self.via != Via::Node {
            for local in (0..routes.stopovers(here.group))
                .filter(|local| ![here.local, there.local].contains(local))
            {
                set_out(DETOUR, routes.router(Place { local, ..here }));
            }
        }
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        self.legs.relevant_destination(at, injected, route)
    }
}

#[cfg(test)]
mod tests;
