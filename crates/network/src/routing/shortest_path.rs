//! Shortest paths on any connected network.

use super::channels::channel_count;
use super::choice::{Choice, TabledKeys};
use super::error::RoutingError;
use super::next_hops::{NextHops, neighbours};
use super::tabled::{Destinations, Index, Tabled};
use super::{Algorithm, AlgorithmKeys, RoutingSpec, Usual};
use crate::topology::Topology;

odonata_declare::table! {
    /// Keys of `shortest-path`.
    pub struct ShortestPathKeys {
        /// The link.
        links: TabledKeys = TabledKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for ShortestPathKeys {
    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            choice: self.links.choice,
            ..RoutingSpec::new(Algorithm::ShortestPath)
        })
    }
}

impl Tabled {
    /// Shortest-path routing on any connected network, from a table of next hops of
    /// every router for every router with nodes. Every router chooses anew among the ports that lie on a
    /// shortest path, by [`Choice`]. With `virtual_channels`, channel `i` is merged
    /// into `min(i, virtual_channels - 1)`.
    ///
    /// Where all these paths together close no cycle of channel dependencies, as in
    /// trees, one virtual channel is enough. Otherwise the virtual channel is the
    /// number of hops made so far: a packet then only waits for a channel of a
    /// higher number than those it holds, and there are as many channels as the
    /// longest path has hops.
    ///
    /// # Errors
    /// If the network is not connected or too large, or its paths need more
    /// virtual channels than can be numbered.
    pub fn shortest_path(
        topology: &Topology,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let destinations = Destinations::within_limits(topology, "shortest-path")?;
        let routers: Vec<u32> = (0..topology.routers() as u32).collect();
        let table = NextHops::shortest_to(destinations.routers(), &neighbours(topology, &routers))
            .map_err(RoutingError::from)?;
        let diameter = u32::from(table.diameter());
        let needed = u32::from(table.depth());
        let channels = channel_count("shortest-path", needed, diameter, virtual_channels)?;
        let (columns, entries, hops) = table.into_hops();
        Ok(Self {
            index: Index::ByColumn(columns),
            entries,
            hops,
            destinations,
            choice,
            channels,
            ascending: channels > 1,
            without_order: None,
        })
    }
}

#[cfg(test)]
mod tests;
