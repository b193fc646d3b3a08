//! Dimension order on tori, meshes and HyperX.

use super::channels::channel_count;
use super::choice::{Choice, TabledKeys};
use super::error::RoutingError;
use super::tabled::{Destinations, Index, Tabled};
use super::{Algorithm, AlgorithmKeys, Hop, RoutingSpec, Usual};
use crate::topology::{Dimension, Row, Topology};

/// Most entries of the table of all routers, of 8 bytes each.
const MOST_ENTRIES: u64 = 1 << 24;

odonata_declare::table! {
    /// Keys of `dimension-order`.
    pub struct DimensionOrderKeys {
        /// The link.
        links: TabledKeys = TabledKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for DimensionOrderKeys {
    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            choice: self.links.choice,
            ..RoutingSpec::new(Algorithm::DimensionOrder)
        })
    }
}

impl Tabled {
    /// Dimension-order routing on a lattice: packets go along the first dimension to the right
    /// place, then along the second, and so on, each by the fewest hops. On a ring of even size
    /// the opposite router is as far both ways; [`Choice`] tells which is taken, and which of
    /// parallel links.
    ///
    /// Rows that are lines or complete need one virtual channel. Rings need two (Dally and
    /// Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
    /// ToC 36(5), 1987): channel 0 while the link that closes the ring is still ahead, channel 1
    /// otherwise. No packet is on channel 1 of that link, so that no channel waits for itself
    /// around the ring; and no dimension waits for an earlier one.
    ///
    /// # Errors
    /// If the routers form no lattice, or too large a one.
    pub fn dimension_order(
        topology: &Topology,
        choice: Choice,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let lattice = topology
            .lattice()
            .map_err(|reason| RoutingError::NotLattice { reason })?;
        let dimensions = &lattice.dimensions;
        let mut first = vec![0];
        for dimension in dimensions {
            first.push(first[first.len() - 1] + dimension.size);
        }
        let routers = topology.routers() as u32;
        let per_router = first[dimensions.len()];
        let found = u64::from(routers) * u64::from(per_router);
        if found > MOST_ENTRIES {
            return Err(RoutingError::TooLarge {
                what: "places in the rows of all routers",
                found,
                limit: MOST_ENTRIES,
                algorithm: "dimension-order",
                advice: "use smaller dimensions",
            });
        }
        let rings = dimensions
            .iter()
            .any(|dimension| dimension.row == Row::Ring);
        let channels = channel_count("dimension-order", 1 + u32::from(rings), 1, virtual_channels)?;
        let owner = topology.router_of_every_port();
        let (mut places, mut entries, mut hops) = (vec![], vec![], vec![]);
        for router in 0..routers {
            for dimension in dimensions {
                let here = router / dimension.stride % dimension.size;
                places.push(here as u16);
                for there in 0..dimension.size {
                    let start = hops.len() as u32;
                    for step in steps(dimension, here, there) {
                        let row = router - here * dimension.stride;
                        let peer = row + step.to * dimension.stride;
                        let vc = step.channel.min(channels - 1);
                        let ports = topology.ports_towards(router, peer, &owner);
                        hops.extend(ports.map(|port| Hop { port, vc }));
                    }
                    entries.push((start, hops.len() as u32 - start));
                }
            }
        }
        Ok(Self {
            index: Index::ByDimension { places, first },
            entries,
            hops,
            destinations: Destinations::new(topology),
            choice,
            channels,
            ascending: false,
            without_order: None,
        })
    }
}

/// A hop within a row: to which place, and on which channel.
struct Step {
    to: u32,
    channel: u8,
}

/// The first hops of the shortest ways from one place of a row to another.
fn steps(dimension: &Dimension, here: u32, there: u32) -> Vec<Step> {
    let Dimension { size, row, .. } = *dimension;
    let only = |to| vec![Step { to, channel: 0 }];
    if here == there {
        return vec![];
    }
    match row {
        Row::Complete => only(there),
        Row::Line => only(if there > here { here + 1 } else { here - 1 }),
        Row::Ring => {
            let ahead = (there + size - here) % size;
            let upwards = Step {
                to: (here + 1) % size,
                channel: u8::from(there > here),
            };
            let downwards = Step {
                to: (here + size - 1) % size,
                channel: u8::from(there < here),
            };
            match (2 * ahead).cmp(&size) {
                std::cmp::Ordering::Less => vec![upwards],
                std::cmp::Ordering::Greater => vec![downwards],
                std::cmp::Ordering::Equal => vec![upwards, downwards],
            }
        }
    }
}

#[cfg(test)]
mod tests;
