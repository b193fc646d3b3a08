//! Minimal routing on networks of groups.

use odonata_units::RouterId;

use super::channels::{Channels, FINAL, HOMEWARD};
use super::choice::{Choice, GroupLinkKeys, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::legs::{Legs, eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, PacketRoute, PathKeys, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual,
};

odonata_declare::table! {
    /// Keys of `minimal`.
    pub struct MinimalKeys {
        /// Links between groups.
        links: GroupLinkKeys = GroupLinkKeys::default() => Notes::FLAT,
        /// What routes go over.
        paths: PathKeys = PathKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for MinimalKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        self.links.on(RoutingSpec {
            paths: self.paths.or(usual),
            ..RoutingSpec::new(Algorithm::Minimal)
        })
    }
}

/// Minimal routing: over one global link directly to the destination group,
/// or by local links inside one's own (Kim, Dally, Scott, Abts, "Technology-
/// Driven, Highly-Scalable Dragonfly Topology", ISCA 2008, section 4.1).
///
/// Which of the global links that join the two groups is chosen at the source
/// router, by [`MinimalLinks`] and [`Choice`].
///
/// | leg | local channel | global channel |
/// |---|---|---|
/// | to the destination group | 0 | 0 |
/// | inside the destination group | 1 | |
///
/// One virtual channel in groups of leaves and spines, where routes go up, across
/// and down; two in all-to-all and 2-D groups, where traffic inside one group
/// uses channel 1 and does not wait behind packets that leave the group.
#[derive(Clone, Debug)]
pub struct Minimal {
    legs: Legs,
}

impl Minimal {
    /// Minimal routing over `routes`; with `virtual_channels`, channel `i` is
    /// merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the routes need more virtual channels than can be numbered.
    pub fn new(
        routes: GroupedRoutes,
        links: MinimalLinks,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let channels = Channels::new(
            "minimal",
            &routes,
            &[&[HOMEWARD], &[FINAL]],
            &[&[HOMEWARD]],
            virtual_channels,
        )?;
        Ok(Self {
            legs: Legs {
                routes,
                links,
                choice,
                channels,
                via_router: false,
            },
        })
    }
}

impl Routing for Minimal {
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
        _injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if at.0 == route.destination_router {
            return eject(route);
        }
        self.legs.step::<false, V>(view, at, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if at.0 == route.destination_router {
            return out.push(possible_eject(route));
        }
        let mut route = *route;
        self.legs
            .head_home(self.legs.routes.place(at.0), &mut route);
        self.legs.possible_steps(at, &route, out);
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
