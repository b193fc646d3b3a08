//! Progressive adaptive routing on networks of groups.

use odonata_units::RouterId;

use super::adaptive::{Adaptive, AdaptiveKeys, AdaptiveOptions, Queue};
use super::channels::{DETOUR, PROGRESSIVE};
use super::choice::{Choice, GroupLinkKeys, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::legs::{eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, PacketRoute, Paths, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual, hops_of_all_parts,
};

odonata_declare::table! {
    /// Keys of `par`.
    pub struct ParKeys {
        /// Links between groups.
        links: GroupLinkKeys = GroupLinkKeys::default() => Notes::FLAT,
        /// The decision.
        adaptive: AdaptiveKeys = AdaptiveKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for ParKeys {
    /// The threshold is by default `ℓ · max((2·ℓ + 1) · B_local, (ℓ + 1) · B_global)`, where `ℓ` is
    /// the most hops by which a packet leaves its group and `B` what the buffers of those links hold.
    /// A queue counts as often as the minimal route has hops from there, up to `2·ℓ + 1` before a
    /// local link and `ℓ + 1` before a global one; and the packet is compared with newly drawn
    /// detours at each of the `ℓ` routers after its first.
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        // A network without groups is refused where the algorithm is built.
        let threshold = match usual.weighted_buffer() {
            None => usual.buffer(),
            Some((weighted, hops)) => weighted.saturating_mul(hops.max(1)),
        };
        let options = (self.adaptive).options(Paths::Groups, None, (threshold, Queue::Port))?;
        self.links.on(RoutingSpec::new(Algorithm::Par(options)))
    }
}

/// Progressive adaptive routing, PAR (Jiang, Kim, Dally, "Indirect Adaptive
/// Routing on Large Scale Interconnection Networks", ISCA 2009): like UGAL with
/// local information, but a packet whose route is minimal so far reconsiders
/// at every further router of the source group, with that router's queues and
/// newly drawn non-minimal candidates. Once non-minimal, or out of the source
/// group, it stays as it is.
///
/// | leg | `Via::Group`: local, global | `Via::Router`, `Via::Node`: local, global |
/// |---|---|---|
/// | minimal, may still be diverted | 0, 1 | 0, 1 |
/// | to the intermediate group | 1, 0 | 1, 0 |
/// | to the intermediate router, inside its group | 2 (traffic inside a group) | 2 |
/// | from there to the destination group | 2, 1 | 3, 1 |
/// | inside the destination group | 3 | 4 |
///
/// In groups of leaves and spines, the spine that a packet comes to reconsiders,
/// over the global links of its own; two virtual channels are enough, as the
/// diverted packet is on its way up still.
///
/// Four virtual channels via a group and five via a router, in all-to-all and
/// 2-D groups: a diverted packet starts a new local leg, which needs a class of
/// its own. Every route ascends in one total order (via a group: local 0,
/// local 1, global 0, local 2, global 1, local 3), so there is no cycle of
/// dependencies.
#[derive(Clone, Debug)]
pub struct Par {
    pub(super) adaptive: Adaptive<false>,
}

impl Par {
    /// PAR over `routes`; with `virtual_channels`, channel `i` is merged into
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
        let policy = (links, choice);
        let options = AdaptiveOptions {
            queue: Queue::Port,
            ..options
        };
        let adaptive = Adaptive::new("par", routes, policy, options, true, virtual_channels)?;
        Ok(Self { adaptive })
    }
}

impl Routing for Par {
    fn virtual_channels(&self) -> u8 {
        self.adaptive.legs.channels.count()
    }

    #[inline(always)]
    fn next_hop_reads_occupancy(&self, injected: bool, route: &PacketRoute) -> bool {
        injected || route.phase == PROGRESSIVE || self.adaptive.legs.choice == Choice::ByLoad
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
            return self.adaptive.depart(view, here, PROGRESSIVE, route);
        }
        if route.phase == PROGRESSIVE {
            let here = legs.routes.place(at.0);
            return self.adaptive.reconsider(view, here, route);
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
        let here = legs.routes.place(at.0);
        if injected {
            return self
                .adaptive
                .possible_departures(here, PROGRESSIVE, &route, own, as_if);
        }
        legs.possible_steps(at, &route, own);
        if route.phase == PROGRESSIVE {
            self.adaptive.possible_diversions(here, &route, as_if);
        }
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
