//! Routing by tables: what a router does with a packet depends on its destination alone,
//! but for the number of a virtual channel that counts hops.

use odonata_units::RouterId;

use super::choice::{Choice, least_loaded};
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::next_hops::{MOST_ENTRIES, MOST_NUMBERED, NoPath};
use super::{Hop, PacketRoute, RouterView, Routing};
use crate::topology::{Peer, Topology};

/// Routing by tables. Every router chooses among the hops that its table lists for the
/// packet's destination, by [`Choice`]. Which tables, and how many virtual channels they need,
/// is the algorithm's: [`Tabled::shortest_path`], [`Tabled::up_down`],
/// [`Tabled::dimension_order`].
#[derive(Clone, Debug)]
pub struct Tabled {
    pub(super) index: Index,
    /// The part of `hops` for each place of the index: where it starts, and how long it is.
    pub(super) entries: Vec<(u32, u32)>,
    pub(super) hops: Vec<Hop>,
    pub(super) destinations: Destinations,
    pub(super) choice: Choice,
    /// Channels used.
    pub(super) channels: u8,
    /// Whether the channel is the number of hops made so far rather than that of the table.
    pub(super) ascending: bool,
    /// See [`AnyRouting::without_order`](super::AnyRouting::without_order).
    pub(super) without_order: Option<(RouterId, RouterId)>,
}

/// Where the entry of a router and a destination is.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// Router by router, for every column of the destinations.
    ByColumn(u32),
    /// Router by router, dimension by dimension of a lattice, for every place in the row of the
    /// first dimension in which router and destination differ.
    ByDimension {
        /// Places of each router. Shape: routers × dimensions.
        places: Vec<u16>,
        /// First entry of each dimension within those of a router, and one past the last.
        /// Shape: dimensions + 1.
        first: Vec<u32>,
    },
}

impl Index {
    /// The place of the entry; the two routers are not the same.
    #[inline]
    fn entry(&self, at: u32, to: u32, destinations: &Destinations) -> usize {
        match self {
            Self::ByColumn(columns) => {
                let column = destinations.column_of(to);
                at as usize * *columns as usize + column as usize
            }
            Self::ByDimension { places, first } => {
                let dimensions = first.len() - 1;
                let of = |router: u32| &places[router as usize * dimensions..][..dimensions];
                let (here, there) = (of(at), of(to));
                let differs = (here.iter().zip(there)).position(|(here, there)| here != there);
                let dimension = differs.unwrap_or(0);
                let of_router = at as usize * first[dimensions] as usize;
                of_router + first[dimension] as usize + usize::from(there[dimension])
            }
        }
    }
}

/// The routers that packets are for, as columns of a table.
#[derive(Clone, Debug)]
pub(super) struct Destinations {
    /// Column of each router; those without nodes have none. Shape: routers.
    column: Vec<u32>,
    /// Nodes on routers of lower columns. Shape: columns.
    nodes_before: Vec<u32>,
    /// What a node's number is divided by at each router, for [`Choice::ByDestination`].
    /// Shape: routers.
    divisor: Vec<u32>,
}

impl From<NoPath> for RoutingError {
    /// For a set that holds all routers of a network.
    fn from(NoPath { from, to }: NoPath) -> Self {
        Self::Disconnected {
            from: RouterId(from),
            to: RouterId(to),
        }
    }
}

impl Destinations {
    /// The routers of `topology` that have nodes, in their order.
    ///
    /// # Errors
    /// If a table of all routers and these takes more than 128 MiB, or a router's number
    /// more than 16 bits.
    pub fn within_limits(
        topology: &Topology,
        algorithm: &'static str,
    ) -> Result<Self, RoutingError> {
        let destinations = Self::new(topology);
        let routers = topology.routers() as u64;
        let entries = routers * destinations.nodes_before.len() as u64;
        let too_large = |what, found, limit| RoutingError::TooLarge {
            what,
            found,
            limit,
            algorithm,
            advice: "give the network groups that are connected inside and joined in pairs, and \
                     use `minimal`",
        };
        if routers > MOST_NUMBERED {
            return Err(too_large("routers", routers, MOST_NUMBERED));
        }
        if entries > MOST_ENTRIES {
            let what = "pairs of a router and one with nodes";
            return Err(too_large(what, entries, MOST_ENTRIES));
        }
        Ok(destinations)
    }

    /// The same of a network of any size.
    pub fn new(topology: &Topology) -> Self {
        let mut column = vec![u32::MAX; topology.routers()];
        let mut nodes_before = vec![];
        let mut nodes = 0;
        for (router, column) in column.iter_mut().enumerate() {
            let peers = topology.peer[topology.ports_of(RouterId::from_index(router))].iter();
            let here = peers.filter(|peer| matches!(peer, Peer::Node(_))).count() as u32;
            if here > 0 {
                *column = nodes_before.len() as u32;
                nodes_before.push(nodes);
                nodes += here;
            }
        }
        Self {
            divisor: vec![1; column.len()],
            column,
            nodes_before,
        }
    }

    /// The same with the numbers that a node's number is divided by at each router.
    pub fn with_divisors(self, divisor: Vec<u32>) -> Self {
        Self { divisor, ..self }
    }

    /// The column of a router with nodes.
    #[inline]
    pub fn column_of(&self, router: u32) -> u32 {
        self.column[router as usize]
    }

    /// The routers, by column.
    pub fn routers(&self) -> Vec<u32> {
        let numbered = (0..).zip(&self.column);
        numbered
            .filter(|(_, column)| **column != u32::MAX)
            .map(|(router, _)| router)
            .collect()
    }
}

impl Tabled {
    /// Where a router is along every dimension of the lattice; nothing with other tables.
    #[inline]
    pub(super) fn places_of(&self, router: u32) -> &[u16] {
        match &self.index {
            Index::ByDimension { places, first } => {
                let dimensions = first.len() - 1;
                &places[router as usize * dimensions..][..dimensions]
            }
            Index::ByColumn(_) => &[],
        }
    }

    /// The dimensions of the lattice in which a packet at `at` is not yet at the place of router
    /// `to`: number, place here, place there.
    #[inline]
    pub(super) fn unaligned(
        &self,
        at: RouterId,
        to: u32,
    ) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        let (here, there) = (self.places_of(at.0), self.places_of(to));
        let places = here.iter().zip(there).enumerate();
        let differing = places.filter(|(_, (here, there))| here != there);
        differing.map(|(dimension, (&here, &there))| (dimension, u32::from(here), u32::from(there)))
    }

    /// The hops at `at` towards `place` along a dimension of the lattice; none with other tables.
    #[inline]
    pub(super) fn along(&self, at: RouterId, dimension: usize, place: u32) -> &[Hop] {
        let Index::ByDimension { first, .. } = &self.index else {
            return &[];
        };
        let of_router = at.index() * first[first.len() - 1] as usize;
        let (start, count) = self.entries[of_router + (first[dimension] + place) as usize];
        &self.hops[start as usize..][..count as usize]
    }

    /// Two routers, the second with nodes, between which the table has no way.
    pub(super) fn without_way(&self) -> Option<(RouterId, RouterId)> {
        let destinations = self.destinations.routers();
        (0..self.destinations.column.len() as u32).find_map(|at| {
            let lacks = |&&to: &&u32| at != to && self.listed(RouterId(at), to).is_empty();
            let to = destinations.iter().find(lacks)?;
            Some((RouterId(at), RouterId(*to)))
        })
    }

    /// The same table with another's hops where it lists none; of the same routers with nodes.
    #[must_use]
    pub fn completed_by(mut self, other: &Self) -> Self {
        for (own, &(first, count)) in self.entries.iter_mut().zip(&other.entries) {
            if own.1 == 0 && count > 0 {
                *own = (self.hops.len() as u32, count);
                let hops = &other.hops[first as usize..][..count as usize];
                self.hops.extend_from_slice(hops);
            }
        }
        self
    }

    /// The hops at `at` towards router `to`, another one with nodes.
    #[inline]
    pub(super) fn listed(&self, at: RouterId, to: u32) -> &[Hop] {
        let (first, count) = self.entries[self.index.entry(at.0, to, &self.destinations)];
        &self.hops[first as usize..][..count as usize]
    }

    /// One of the hops listed towards router `to` for a packet on `route`.
    #[inline]
    pub(super) fn choose<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        to: u32,
        route: &PacketRoute,
    ) -> Hop {
        self.choose_of(view, at, self.listed(at, to), route)
    }

    /// One of `hops` for a packet on `route`.
    #[inline]
    pub(super) fn choose_of<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        hops: &[Hop],
        route: &PacketRoute,
    ) -> Hop {
        match hops {
            &[hop] => hop,
            hops => {
                let count = hops.len() as u32;
                let index = match self.choice {
                    Choice::Random => view.random_below(count),
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        view.occupancy_bytes(hops[i as usize].port)
                    }),
                    Choice::ByDestination => self.by_destination(at, route, count),
                };
                hops[index as usize]
            }
        }
    }

    /// Which of `count` hops is that of the packet's destination.
    #[inline]
    fn by_destination(&self, at: RouterId, route: &PacketRoute, count: u32) -> u32 {
        let to = &self.destinations;
        let column = to.column_of(route.destination_router);
        let node = to.nodes_before[column as usize] + u32::from(route.destination_port);
        node / to.divisor[at.index()] % count
    }

    /// The hop with its channel; counts it in `route.phase` where that is the channel.
    #[inline]
    fn count_hop(&self, hop: Hop, route: &mut PacketRoute) -> Hop {
        if !self.ascending {
            return hop;
        }
        let vc = route.phase.min(self.channels - 1);
        route.phase = route.phase.saturating_add(1);
        Hop { vc, ..hop }
    }
}

impl Routing for Tabled {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn reads_occupancy(&self) -> bool {
        self.choice == Choice::ByLoad
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
        let hop = self.choose(view, at, route.destination_router, route);
        self.count_hop(hop, route)
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
        for &hop in self.listed(at, route.destination_router) {
            let mut route = *route;
            let hop = self.count_hop(hop, &mut route);
            route.vc = hop.vc;
            out.push((hop, route));
        }
    }

    fn lacks_hop(&self, at: RouterId, _injected: bool, route: &PacketRoute, _now_ps: u64) -> bool {
        at.0 != route.destination_router && self.listed(at, route.destination_router).is_empty()
    }
}
