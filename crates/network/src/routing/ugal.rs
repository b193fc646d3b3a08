//! Universal globally-adaptive load-balanced routing on networks of groups.

use odonata_units::RouterId;

use super::adaptive::{Adaptive, AdaptiveKeys, AdaptiveOptions, Queue};
use super::channels::{DETOUR, HOMEWARD};
use super::choice::{Choice, GroupLinkKeys, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::legs::{eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, PacketRoute, PathKeys, Paths, RelevantDestination, RouterView,
    Routing, RoutingError, RoutingSpec, Usual, hops_of_all_parts,
};

odonata_declare::table! {
    /// Keys of `ugal-l`.
    pub struct UgalLocalKeys {
        /// Links between groups.
        links: GroupLinkKeys = GroupLinkKeys::default() => Notes::FLAT,
        /// What routes go over.
        paths: PathKeys = PathKeys::default() => Notes::FLAT,
        /// The decision.
        adaptive: AdaptiveKeys = AdaptiveKeys::default() => Notes::FLAT,
        /// Which queue stands for a route: that of its first port (`port`), that of its virtual
        /// channel at this port (`channel`), or that of the channel if the detour begins with a port
        /// with which minimal routes may begin too, else that of the port (`hybrid`). Default:
        /// `hybrid` over `groups` whose routers are one hop from each global link, if no threshold
        /// is given; else `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<Queue> = None,
    }
}

impl AlgorithmKeys for UgalLocalKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        let paths = self.paths.or(usual);
        let options = (self.adaptive).options(paths, self.queue, self.usual(paths, usual))?;
        self.links.on(RoutingSpec {
            paths,
            ..RoutingSpec::new(Algorithm::UgalLocal(options))
        })
    }
}

impl UgalLocalKeys {
    /// The threshold where none is given, and the queue that is compared with it: the largest buffer
    /// between routers; or, where queues of channels are compared, which is where each router is one
    /// hop from all global links of its group, or where a scenario says so, what a channel of the
    /// buffers may hold, weighted as [`par`](super::par::ParKeys) has it. On a channel that leads to
    /// congestion lies more than the buffer at its other end holds.
    fn usual(&self, paths: Paths, usual: &Usual<'_>) -> (u64, Queue) {
        let weighted = match paths {
            Paths::Groups => usual.weighted_buffer(),
            _ => None,
        };
        let queue = match (self.queue, weighted) {
            (Some(queue), _) => queue,
            (None, Some((_, 0 | 1))) => Queue::Hybrid,
            (None, _) => Queue::Port,
        };
        match (queue, weighted) {
            (Queue::Channel | Queue::Hybrid, Some((weighted, _))) => (weighted, queue),
            _ => (usual.buffer(), queue),
        }
    }
}

odonata_declare::table! {
    /// Keys of `ugal-g`.
    pub struct UgalGlobalKeys {
        /// Links between groups.
        links: GroupLinkKeys = GroupLinkKeys::default() => Notes::FLAT,
        /// What routes go over.
        paths: PathKeys = PathKeys::default() => Notes::FLAT,
        /// The decision.
        adaptive: AdaptiveKeys = AdaptiveKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for UgalGlobalKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        let paths = self.paths.or(usual);
        let options = (self.adaptive).options(paths, None, (usual.buffer(), Queue::Port))?;
        self.links.on(RoutingSpec {
            paths,
            ..RoutingSpec::new(Algorithm::UgalGlobal(options))
        })
    }
}

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
