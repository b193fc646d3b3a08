//! Universal globally-adaptive load-balanced routing on networks of groups.

use odonata_units::RouterId;

use super::adaptive::{Adaptive, AdaptiveOptions};
use super::channels::{DETOUR, HOMEWARD};
use super::choice::{Choice, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::legs::{eject, possible_eject};
use super::{
    Hop, PacketRoute, RelevantDestination, RouterView, Routing, RoutingError, hops_of_all_parts,
};

/// UGAL (Singh 2005; on dragonflies Kim et al. 2008, section 4.1): the source
/// router decides for every packet between a minimal and a Valiant route by
/// the queues on them; the decision is final.
///
/// - `Ugal<false>`, UGAL-L: knows the source router's own queues. `q` is the
///   occupancy of a candidate's first output port, or of its channel of that, see [`Queue`](super::Queue).
/// - `Ugal<true>`, UGAL-G: an ideal that knows all queues. `q` is the sum of the
///   occupancies along a candidate's path, global links included; since every
///   hop's queue is in it, weighting by hops counts each once.
///
/// [`AdaptiveOptions`] tells how they are compared. BookSim's dragonfly is
/// `via: Via::Node` with `Weighting::Fixed { minimal: 1, non_minimal: 2 }`.
///
/// | leg | `Via::Group`: local, global | `Via::Router`, `Via::Node`: local, global |
/// |---|---|---|
/// | to the intermediate group | 0, 0 | 0, 0 |
/// | to the intermediate router, inside its group | 1 (traffic inside a group) | 1 |
/// | to the destination group | 1, 1 | 2, 1 |
/// | inside the destination group | 2 | 3 |
///
/// In groups of leaves and spines two virtual channels, the second from where a
/// route turns to its destination group.
///
/// A minimal route consists of the last two, so it uses other channels than
/// the first leg of non-minimal ones (Kim et al. 2008, figure 7). Every route
/// ascends in one total order of the channels, as for
/// [`Valiant`](super::Valiant), so there is no cycle of dependencies.
#[derive(Clone, Debug)]
pub struct Ugal<const GLOBAL: bool> {
    adaptive: Adaptive<GLOBAL>,
}

impl<const GLOBAL: bool> Ugal<GLOBAL> {
    /// UGAL over `routes`; with `virtual_channels`, channel `i` is merged into
    /// `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If an option makes no sense, or the routes need more virtual channels
    /// than can be numbered.
    pub fn new(
        routes: GroupedRoutes,
        links: MinimalLinks,
        choice: Choice,
        options: AdaptiveOptions,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let name = if GLOBAL { "ugal-g" } else { "ugal-l" };
        let policy = (links, choice);
        let adaptive = Adaptive::new(name, routes, policy, options, false, virtual_channels)?;
        Ok(Self { adaptive })
    }
}

impl<const GLOBAL: bool> Routing for Ugal<GLOBAL> {
    const NEEDS_SNAPSHOT: bool = GLOBAL;

    fn virtual_channels(&self) -> u8 {
        self.adaptive.legs.channels.count()
    }

    #[inline(always)]
    fn next_hop_reads_occupancy(&self, injected: bool, _route: &PacketRoute) -> bool {
        injected || self.adaptive.legs.choice == Choice::ByLoad
    }

    #[inline(always)]
    fn reads_channels(&self) -> bool {
        !GLOBAL && self.adaptive.reads_channels()
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let legs = &self.adaptive.legs;
        legs.arrive(at, route);
        if at.0 == route.destination_router && route.phase != DETOUR {
            return eject(route);
        }
        if injected {
            let here = legs.routes.place(at.0);
            return self.adaptive.depart(view, here, HOMEWARD, route);
        }
        legs.step::<true, V>(view, at, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        hops_of_all_parts(self, at, injected, route, out);
    }

    fn possible_hops_in_parts(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        let legs = &self.adaptive.legs;
        let mut route = *route;
        legs.arrive(at, &mut route);
        if at.0 == route.destination_router && route.phase != DETOUR {
            return own.push(possible_eject(&route));
        }
        if injected {
            let here = legs.routes.place(at.0);
            return self
                .adaptive
                .possible_departures(here, HOMEWARD, &route, own, as_if);
        }
        legs.possible_steps(at, &route, own);
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        self.adaptive.legs.relevant_destination(at, injected, route)
    }
}
