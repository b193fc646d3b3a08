//! The decision between a minimal and a non-minimal route that UGAL and PAR
//! take: candidates, what is known of their paths, and the comparison.

mod path;

use odonata_declare::Named;
use odonata_declare::table::{Declared, Kind};
use serde::{Deserialize, Serialize};

use super::channels::{DETOUR, FINAL, OUTWARD};
use super::choice::{Choice, MinimalLinks};
use super::grouped::{GlobalLink, GroupedRoutes, LocalLinks, Place};
use super::legs::{Legs, Target};
use super::nonminimal::{Via, ViaKeys};
use super::{Hop, NONE, PacketRoute, Paths, RouterView, RoutingError};
use path::Path;

/// How the occupancies of a minimal and a non-minimal candidate are weighted
/// before they are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weighting {
    /// Each by its number of router-router hops (Kim et al. 2008; Singh,
    /// "Load-Balanced Routing in Interconnection Networks", Stanford 2005).
    #[default]
    Hops,
    /// By constants; BookSim's dragonfly uses 1 and 2.
    Fixed {
        /// Weight of minimal candidates.
        minimal: u32,
        /// Weight of non-minimal candidates.
        non_minimal: u32,
    },
}

/// Which queue stands for a route where UGAL-L compares two (Kim, Dally, Scott and Abts,
/// "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008, section 4.3). Minimal
/// routes and detours begin on channels of their own, so that the channel's queue tells both
/// apart on a port that they share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// The queue of its first output port, all virtual channels together.
    ///
    /// UGAL-L there.
    #[default]
    Port,
    /// The queue of its virtual channel of the port.
    ///
    /// UGAL-L with VC there.
    Channel,
    /// The queue of its virtual channel where the detour begins with a port with which minimal
    /// routes may begin too, else that of the port.
    ///
    /// UGAL-L with VC hybrid there, where one link joins two groups and the port is the same.
    Hybrid,
}

/// Most candidates of a sort: a candidate takes up to six random draws together
/// with its counterpart, of the 64 that a decision may make.
pub(super) const MOST_CANDIDATES: u32 = 8;

/// Parameters of the adaptive algorithms.
///
/// A packet is routed minimally if
/// `q_m · w_m <= q_n · w_n + threshold_bytes`, where `q_m` and `q_n` are what
/// the algorithm knows of the queues on its best minimal and best non-minimal
/// candidate and `w_m` and `w_n` come from the [`Weighting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveOptions {
    /// What non-minimal routes go through.
    pub via: Via,
    /// Candidates of each sort that are drawn per decision, 1 to 8; the one of least
    /// weighted occupancy stands for its sort.
    pub candidates: u32,
    /// Advantage of minimal routes, in bytes of weighted occupancy; a negative
    /// value favours non-minimal routes.
    pub threshold_bytes: i64,
    /// Weights of the two sorts.
    pub weighting: Weighting,
    /// Whether traffic inside a group may also go through a random router of
    /// the group. Otherwise it is always minimal, as in Kim et al. 2008.
    pub detours_in_group: bool,
    /// Which queue stands for a route under UGAL-L; the other algorithms compare those of ports.
    pub queue: Queue,
}

impl Default for AdaptiveOptions {
    /// One candidate of each sort via a random group, weighted by hops,
    /// without threshold.
    fn default() -> Self {
        Self {
            via: Via::Group,
            candidates: 1,
            threshold_bytes: 0,
            weighting: Weighting::Hops,
            detours_in_group: false,
            queue: Queue::Port,
        }
    }
}

impl AdaptiveOptions {
    /// # Errors
    /// If this many candidates cannot be drawn.
    pub(super) fn check(&self) -> Result<(), RoutingError> {
        if (1..=MOST_CANDIDATES).contains(&self.candidates) {
            return Ok(());
        }
        Err(RoutingError::BadOption {
            option: "candidates",
            found: self.candidates.to_string(),
            allowed: "1 to 8 candidates of each sort can be drawn",
        })
    }

    /// Whether the minimal route is taken, given the weighted occupancies in bytes.
    pub(super) fn prefers(&self, minimal: u64, other: u64) -> bool {
        i128::from(minimal) <= i128::from(other) + i128::from(self.threshold_bytes)
    }
}

odonata_declare::table! {
    /// Keys of the algorithms that choose between minimal and non-minimal routes.
    pub struct AdaptiveKeys {
        /// The intermediate of a non-minimal route.
        via: ViaKeys = ViaKeys::default() => Notes::FLAT,
        /// Number of minimal and of non-minimal routes that are drawn and compared. Default: 1 of
        /// each.
        candidates: Option<u32> = None => Notes::COUNT,
        /// Advantage of minimal routes: the minimal route is taken unless its weighted queue is
        /// longer than that of the non-minimal route by more than this. By default it follows from
        /// the links' buffers ([adaptive routing by default](adaptive-routing.md)); with
        /// `engine = "flow"` and for the jobs of a schedule it is 0 B.
        threshold_bytes: Option<u64> = None => Notes { called: Some("a size"), ..Notes::NONE },
        /// How queues are weighted: each by the length of its route (`hops`), or by given weights of
        /// minimal and of non-minimal routes, such as `[1, 2]`.
        weights: Weights = Weights::default() => Notes { words: &[("hops", Word::Itself)], called: Some("a list of two weights"), fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
        /// Whether traffic inside a group may go by way of a random router of the group. Default:
        /// false, such traffic is always minimal.
        detours_in_group: Option<bool> = None,
    }
}

impl AdaptiveKeys {
    /// What they are over these paths; `usual` is the threshold, and the queue that is compared
    /// with it, where none is given.
    pub(super) fn options(
        &self,
        paths: Paths,
        queue: Option<Queue>,
        usual: (u64, Queue),
    ) -> Result<AdaptiveOptions, RoutingError> {
        Ok(AdaptiveOptions {
            via: self.via.over(paths),
            candidates: self.candidates.unwrap_or(1),
            threshold_bytes: threshold(self.threshold_bytes, usual.0)?,
            weighting: match self.weights {
                Weights::Hops(_) => Weighting::Hops,
                Weights::Fixed([minimal, non_minimal]) => Weighting::Fixed {
                    minimal,
                    non_minimal,
                },
            },
            detours_in_group: self.detours_in_group.unwrap_or(false),
            // A threshold is given for what was compared when it was chosen.
            queue: queue.unwrap_or(match self.threshold_bytes {
                None => usual.1,
                Some(_) => Queue::Port,
            }),
        })
    }
}

/// The threshold that is given, or the usual one.
pub(super) fn threshold(given: Option<u64>, usual: u64) -> Result<i64, RoutingError> {
    let threshold = given.unwrap_or(usual);
    i64::try_from(threshold).map_err(|_| RoutingError::BadOption {
        option: "threshold",
        found: format!("{threshold} B"),
        allowed: "less than 2^63 B",
    })
}

/// How queues on minimal and non-minimal routes count when they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Weights {
    /// Each by the number of hops of its route: `"hops"`.
    Hops(HopsWord),
    /// By the weights of minimal and of non-minimal routes: `[1, 2]`.
    Fixed([u32; 2]),
}

impl Default for Weights {
    fn default() -> Self {
        Self::Hops(HopsWord::Hops)
    }
}

impl Declared for Weights {
    fn kind() -> Kind {
        Kind::List(Box::new(Kind::Integer))
    }
}

/// The word `"hops"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopsWord {
    /// `"hops"`.
    Hops,
}

/// A route that a packet could take from where it is.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Intermediate of a non-minimal route.
    intermediate: u32,
    /// Where it leaves the group, if it does.
    global_link: Option<GlobalLink>,
    /// The waypoint until then.
    waypoint: u32,
    /// First output port.
    port: u16,
    /// What occupancies are multiplied by.
    weight: u32,
    /// Router of this group, by its number there, to which its first local hops lead.
    first_stop: u32,
    /// Weighted occupancy.
    cost: u64,
}

/// Decides between minimal and non-minimal routes. `GLOBAL`: whether the queues
/// of every hop of a candidate count, or only that of its first.
#[derive(Clone, Debug)]
pub(super) struct Adaptive<const GLOBAL: bool> {
    pub legs: Legs,
    options: AdaptiveOptions,
}

impl<const GLOBAL: bool> Adaptive<GLOBAL> {
    pub(super) fn new(
        algorithm: &'static str,
        routes: GroupedRoutes,
        (links, choice): (MinimalLinks, Choice),
        options: AdaptiveOptions,
        progressive: bool,
        merged: Option<u8>,
    ) -> Result<Self, RoutingError> {
        options.check()?;
        let channels = options
            .via
            .channels(algorithm, &routes, progressive, merged)?;
        Ok(Self {
            legs: Legs {
                routes,
                links,
                choice,
                channels,
                via_router: options.via.to_router(),
            },
            options,
        })
    }

    /// Whether the occupancy of virtual channels counts.
    #[inline(always)]
    pub(super) fn reads_channels(&self) -> bool {
        self.options.queue != Queue::Port
    }

    /// The first hop of a packet; a minimal route to another group starts in
    /// `minimal_phase`.
    #[inline]
    pub(super) fn depart<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        minimal_phase: u8,
        route: &mut PacketRoute,
    ) -> Hop {
        let there = self.legs.routes.place(route.destination_router);
        if here.group == there.group {
            return self.depart_inside(view, here, there, route);
        }
        if self.legs.routes.has_gaps() && !self.legs.routes.are_joined(here.group, there.group) {
            return self.depart_by_third_group(view, here, there, route);
        }
        let mut minimal = self.minimal_candidate(view, here, there, minimal_phase);
        if self
            .legs
            .routes
            .only_global_link(here.group, there.group)
            .is_none()
        {
            for _ in 1..self.options.candidates {
                let drawn = self.minimal_candidate(view, here, there, minimal_phase);
                if drawn.cost < minimal.cost {
                    minimal = drawn;
                }
            }
        }
        self.decide(view, here, there, minimal, minimal_phase, route)
    }

    /// The first hop of a packet to a group to which no link of this group leads, so that all its
    /// routes are non-minimal: the best of those drawn.
    #[cold]
    #[inline(never)]
    fn depart_by_third_group<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        route: &mut PacketRoute,
    ) -> Hop {
        let drawn = self.best_of(view, |this, view| {
            this.non_minimal_candidate(view, here, there)
        });
        let Some(chosen) = drawn else {
            unreachable!("a third group is joined to both, and a packet begins at a leaf");
        };
        route.phase = OUTWARD;
        route.intermediate = chosen.intermediate;
        self.take(here, &chosen, route)
    }

    /// The next hop of a packet that is on a minimal route and still in the
    /// source group.
    #[inline]
    pub(super) fn reconsider<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        route: &mut PacketRoute,
    ) -> Hop {
        let routes = &self.legs.routes;
        let there = routes.place(route.destination_router);
        let index = match route.waypoint {
            NONE => 0,
            waypoint => {
                let global_link = routes.global_link_at(waypoint);
                let global_links = routes.global_links(here.group, there.group);
                global_links
                    .iter()
                    .position(|&e| e == global_link)
                    .unwrap_or(0)
            }
        };
        let minimal = self.minimal_through(view, here, there, index, route.phase);
        self.decide(view, here, there, minimal, route.phase, route)
    }

    fn decide<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        minimal: Candidate,
        minimal_phase: u8,
        route: &mut PacketRoute,
    ) -> Hop {
        let other = self.best_of(view, |this, view| {
            this.non_minimal_candidate(view, here, there)
        });
        let chosen = match other {
            Some(other)
                if !self.takes_minimal(
                    view,
                    (here, there),
                    (minimal, minimal_phase),
                    (other, OUTWARD),
                ) =>
            {
                other
            }
            _ => minimal,
        };
        let non_minimal = chosen.intermediate != NONE;
        route.phase = if non_minimal { OUTWARD } else { minimal_phase };
        route.intermediate = chosen.intermediate;
        self.take(here, &chosen, route)
    }

    /// Whether the minimal one of two candidates to `there` is taken, each with the phase in
    /// which it begins.
    #[inline(always)]
    fn takes_minimal<V: RouterView>(
        &self,
        view: &mut V,
        (here, there): (Place, Place),
        minimal: (Candidate, u8),
        other: (Candidate, u8),
    ) -> bool {
        if !GLOBAL && self.options.queue == Queue::Hybrid {
            return self.takes_minimal_of_hybrid(view, (here, there), minimal, other);
        }
        self.options.prefers(minimal.0.cost, other.0.cost)
    }

    /// The same with [`Queue::Hybrid`].
    #[inline(never)]
    fn takes_minimal_of_hybrid<V: RouterView>(
        &self,
        view: &mut V,
        (here, there): (Place, Place),
        (minimal, minimal_phase): (Candidate, u8),
        (other, other_phase): (Candidate, u8),
    ) -> bool {
        if minimal.port != other.port && !self.may_begin(here, there, other.port) {
            return self.options.prefers(minimal.cost, other.cost);
        }
        let cost = self.channel_cost(view, here, minimal, minimal_phase);
        let other = self.channel_cost(view, here, other, other_phase);
        self.options.prefers(cost, other)
    }

    /// Whether a minimal route to `there` may begin with a port.
    #[inline(never)]
    fn may_begin(&self, here: Place, there: Place, port: u16) -> bool {
        let routes = &self.legs.routes;
        let leads = |to: u32| match routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(only) => only == port,
            LocalLinks::AnyOf(links) => links.iter().any(|link| link.port == port),
        };
        if here.group == there.group {
            return leads(there.local);
        }
        let mut links = self.legs.possible_global_links(here, to_router(there));
        links.any(|link| match link.owner() == here.local {
            true => link.port() as u16 == port,
            false => leads(link.owner()),
        })
    }

    /// Weighted occupancy of the virtual channel of a candidate's first hop.
    #[inline(never)]
    fn channel_cost<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        candidate: Candidate,
        phase: u8,
    ) -> u64 {
        let vc = match candidate.global_link {
            Some(link) if link.owner() == here.local => self.legs.channels.global(phase),
            _ => self.legs.local_vc(here, candidate.first_stop, phase),
        };
        let hop = Hop {
            port: candidate.port,
            vc,
        };
        let queued = view.channel_occupancy_bytes(hop);
        queued.saturating_mul(u64::from(candidate.weight))
    }

    /// Puts the channel's queue in place of the port's where that is what is compared.
    #[inline(always)]
    fn look_at_channel<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        candidate: &mut Candidate,
        phase: u8,
    ) {
        if !GLOBAL && self.options.queue == Queue::Channel {
            candidate.cost = self.channel_cost(view, here, *candidate, phase);
        }
    }

    /// The candidate of least cost among those drawn.
    #[inline]
    fn best_of<V: RouterView>(
        &self,
        view: &mut V,
        candidate: impl Fn(&Self, &mut V) -> Option<Candidate>,
    ) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        for _ in 0..self.options.candidates {
            if let Some(drawn) = candidate(self, view)
                && best.is_none_or(|b| drawn.cost < b.cost)
            {
                best = Some(drawn);
            }
        }
        best
    }

    fn take(&self, here: Place, chosen: &Candidate, route: &mut PacketRoute) -> Hop {
        let global_link = match chosen.global_link {
            Some(global_link) if global_link.owner() == here.local => {
                return self.legs.cross(chosen.port, route);
            }
            Some(global_link) => {
                route.waypoint = chosen.waypoint;
                global_link.owner()
            }
            None => {
                let inside = if route.phase == DETOUR {
                    route.intermediate
                } else {
                    route.destination_router
                };
                self.legs.routes.place(inside).local
            }
        };
        Hop {
            port: chosen.port,
            vc: self.legs.local_vc(here, global_link, route.phase),
        }
    }

    fn minimal_candidate<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        phase: u8,
    ) -> Candidate {
        let index = self.legs.choose_exit_index(view, here, to_router(there));
        self.minimal_through(view, here, there, index, phase)
    }

    /// The minimal route over link number `index` of those to `there`'s group, which begins
    /// in `phase`.
    fn minimal_through<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        index: usize,
        phase: u8,
    ) -> Candidate {
        let mut path = Path::start(here);
        path.leave(self, view, there.group, index);
        path.go_inside(self, view, there.local);
        let mut candidate = path.candidate(self, NONE, true);
        self.look_at_channel(view, here, &mut candidate, phase);
        candidate
    }

    fn non_minimal_candidate<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
    ) -> Option<Candidate> {
        let via = self.options.via;
        let intermediate = via.draw(&self.legs.routes, view, here, there)?;
        let target = self.legs.intermediate_target(intermediate);
        if !self.can_divert(here, target.group) {
            return None;
        }
        let mut path = Path::start(here);
        let index = self.legs.choose_exit_index(view, here, target);
        path.leave(self, view, target.group, index);
        if let Some(router) = target.router {
            path.go_inside(self, view, router);
        }
        if target.group != there.group {
            // Which link the packet will take there is decided there; one of
            // those it may take stands for them.
            let index = self.legs.any_exit_index(view, path.at, to_router(there));
            path.leave(self, view, there.group, index);
        }
        path.go_inside(self, view, there.local);
        let mut candidate = path.candidate(self, intermediate, false);
        self.look_at_channel(view, here, &mut candidate, OUTWARD);
        Some(candidate)
    }

    /// Whether a packet at `here` may take a non-minimal route over a link to
    /// `group`: a spine diverts packets over its own links only.
    fn can_divert(&self, here: Place, group: u32) -> bool {
        let routes = &self.legs.routes;
        !routes.is_spine(here) || routes.has_global_link(here, group)
    }

    /// The first hop of a packet to a router of the same group.
    fn depart_inside<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        route: &mut PacketRoute,
    ) -> Hop {
        route.phase = FINAL;
        let others = self.legs.routes.stopovers(here.group) - 2;
        if !self.options.detours_in_group || others == 0 {
            return self.legs.local_hop(view, here, there.local, FINAL);
        }
        let mut minimal = Path::start(here);
        minimal.go_inside(self, view, there.local);
        let mut minimal = minimal.candidate(self, NONE, true);
        self.look_at_channel(view, here, &mut minimal, FINAL);
        let (low, high) = (here.local.min(there.local), here.local.max(there.local));
        let detour = self.best_of(view, |this, view| {
            let mut local = view.random_below(others);
            local += u32::from(local >= low);
            local += u32::from(local >= high);
            let mut path = Path::start(here);
            path.go_inside(this, view, local);
            path.go_inside(this, view, there.local);
            let router = this.legs.routes.router(Place { local, ..here });
            let mut candidate = path.candidate(this, router, false);
            this.look_at_channel(view, here, &mut candidate, DETOUR);
            Some(candidate)
        });
        match detour {
            Some(detour)
                if !self.takes_minimal(view, (here, there), (minimal, FINAL), (detour, DETOUR)) =>
            {
                route.phase = DETOUR;
                route.intermediate = detour.intermediate;
                self.take(here, &detour, route)
            }
            _ => self.take(here, &minimal, route),
        }
    }

    /// Every hop that [`Adaptive::depart`] could take, in parts: appends those of
    /// the packet itself to `own`, and the packets that it may become to `as_if`.
    pub(super) fn possible_departures(
        &self,
        here: Place,
        minimal_phase: u8,
        route: &PacketRoute,
        own: &mut Vec<(Hop, PacketRoute)>,
        as_if: &mut Vec<PacketRoute>,
    ) {
        let routes = &self.legs.routes;
        let at = odonata_units::RouterId(routes.router(here));
        let there = routes.place(route.destination_router);
        if here.group != there.group {
            if !routes.has_gaps() || routes.are_joined(here.group, there.group) {
                let minimal = PacketRoute {
                    phase: minimal_phase,
                    ..*route
                };
                self.legs.possible_steps(at, &minimal, own);
            }
            return self.possible_diversions(here, route, as_if);
        }
        let direct = PacketRoute {
            phase: FINAL,
            ..*route
        };
        self.legs.possible_steps(at, &direct, own);
        if self.options.detours_in_group {
            for local in (0..routes.stopovers(here.group))
                .filter(|local| ![here.local, there.local].contains(local))
            {
                let detour = PacketRoute {
                    phase: DETOUR,
                    intermediate: routes.router(Place { local, ..here }),
                    ..*route
                };
                self.legs.possible_steps(at, &detour, own);
            }
        }
    }

    /// Every non-minimal route to another group that starts at `here`, as the
    /// packet that takes it; appends to `diverted`.
    pub(super) fn possible_diversions(
        &self,
        here: Place,
        route: &PacketRoute,
        diverted: &mut Vec<PacketRoute>,
    ) {
        let routes = &self.legs.routes;
        let there = routes.place(route.destination_router);
        let possible = self.options.via.possible(routes, here, there).0;
        let packets = possible.into_iter().filter_map(|intermediate| {
            let target = self.legs.intermediate_target(intermediate);
            self.can_divert(here, target.group).then_some(PacketRoute {
                phase: OUTWARD,
                intermediate,
                waypoint: NONE,
                ..*route
            })
        });
        diverted.extend(packets);
    }
}

fn to_router(place: Place) -> Target {
    Target {
        group: place.group,
        router: Some(place.local),
    }
}

#[cfg(test)]
mod tests;
