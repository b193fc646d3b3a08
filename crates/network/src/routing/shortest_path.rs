//! Shortest paths on any connected network.

use odonata_units::RouterId;

use super::channels::channel_count;
use super::choice::{Choice, least_loaded};
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::next_hops::{MOST_ROUTERS, NextHops, neighbours};
use super::{Hop, PacketRoute, RouterView, Routing};
use crate::topology::Topology;

/// Shortest-path routing on any connected network, from a table of next hops
/// between all pairs of routers: 8 bytes per ordered pair, for up to 4,096
/// routers (128 MiB). Every router chooses anew among the ports that lie on a
/// shortest path, by [`Choice`].
///
/// Where all these paths together close no cycle of channel dependencies, as in
/// trees, one virtual channel is enough. Otherwise the virtual channel is the
/// number of hops made so far: a packet then only waits for a channel of a
/// higher number than those it holds, and there are as many channels as the
/// longest path has hops.
#[derive(Clone, Debug)]
pub struct ShortestPath {
    table: NextHops,
    choice: Choice,
    /// Channels used, at most one per hop of the longest path.
    channels: u8,
}

impl ShortestPath {
    /// The tables of `topology`; with `virtual_channels`, channel `i` is merged
    /// into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the network is not connected or too large, or its paths need more
    /// virtual channels than can be numbered.
    pub fn new(
        topology: &Topology,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let found = topology.routers() as u64;
        if found > MOST_ROUTERS {
            return Err(RoutingError::TooLarge {
                what: "routers",
                found,
                limit: MOST_ROUTERS,
                algorithm: "shortest-path",
                advice: "give the network groups that are connected inside and joined in pairs, \
                         and use `minimal`",
            });
        }
        let routers: Vec<u32> = (0..topology.routers() as u32).collect();
        let table = NextHops::shortest(&neighbours(topology, &routers)).map_err(|no_path| {
            RoutingError::Disconnected {
                from: RouterId(no_path.from),
                to: RouterId(no_path.to),
            }
        })?;
        let diameter = u32::from(table.diameter());
        let needed = u32::from(table.depth());
        let channels = channel_count("shortest-path", needed, diameter, virtual_channels)?;
        Ok(Self {
            table,
            choice,
            channels,
        })
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

impl Routing for ShortestPath {
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
        let port = match self.table.ways(at.0, route.destination_router) {
            [way] => way.port,
            ways => {
                let count = ways.len() as u32;
                let index = match self.choice {
                    Choice::Random => view.random_below(count),
                    Choice::ByLoad => least_loaded(view, count, |view, i| {
                        view.occupancy_bytes(ways[i as usize].port)
                    }),
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
        out.extend(
            self.table
                .ways(at.0, route.destination_router)
                .iter()
                .map(|way| (Hop { port: way.port, vc }, route)),
        );
    }
}

#[cfg(test)]
mod tests;
