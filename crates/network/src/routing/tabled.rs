//! Routing by tables: what a router does with a packet depends on its destination alone.

use odonata_units::RouterId;

use super::choice::{Choice, least_loaded};
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::next_hops::{MOST_ENTRIES, MOST_NUMBERED, NextHops, NoPath, Way};
use super::{Hop, PacketRoute, RouterView, Routing};
use crate::topology::{Peer, Topology};

/// Routing by a table of next hops for every router and destination. Every router chooses
/// among the ports that its table lists, by [`Choice`]. Which table, and how many virtual
/// channels it needs, is the algorithm's: [`Tabled::shortest_path`], [`Tabled::up_down`].
#[derive(Clone, Debug)]
pub struct Tabled {
    pub(super) table: NextHops,
    pub(super) destinations: Destinations,
    pub(super) choice: Choice,
    /// Channels used. If more than one, the channel is the number of hops made so far.
    pub(super) channels: u8,
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

    fn new(topology: &Topology) -> Self {
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
    #[inline]
    fn ways(&self, at: RouterId, route: &PacketRoute) -> &[Way] {
        let column = self.destinations.column[route.destination_router as usize];
        self.table.ways(at.0, column)
    }

    /// Which of `count` ways is that of the packet's destination.
    #[inline]
    fn by_destination(&self, at: RouterId, route: &PacketRoute, count: u32) -> u32 {
        let to = &self.destinations;
        let column = to.column[route.destination_router as usize];
        let node = to.nodes_before[column as usize] + u32::from(route.destination_port);
        node / to.divisor[at.index()] % count
    }

    /// The channel of the next hop; counts the hop in `route.phase`.
    #[inline]
    fn count_hop(&self, route: &mut PacketRoute) -> u8 {
        if self.channels == 1 {
            return 0;
        }
        let vc = route.phase.min(self.channels - 1);
        route.phase = route.phase.saturating_add(1);
        vc
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
        let port = match self.ways(at, route) {
            [way] => way.port,
            ways => {
                let count = ways.len() as u32;
                let index = match self.choice {
                    Choice::Random => view.random_below(count),
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        view.occupancy_bytes(ways[i as usize].port)
                    }),
                    Choice::ByDestination => self.by_destination(at, route, count),
                };
                ways[index as usize].port
            }
        };
        let vc = self.count_hop(route);
        Hop { port, vc }
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
        route.vc = self.count_hop(&mut route);
        let vc = route.vc;
        let ways = self.ways(at, &route).iter();
        out.extend(ways.map(|way| (Hop { port: way.port, vc }, route)));
    }
}
