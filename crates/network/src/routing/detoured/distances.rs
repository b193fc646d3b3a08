//! Hops between routers along the tables of an algorithm.

use super::super::tabled::{Index, Tabled};
use crate::topology::{Peer, Row, Topology};

/// Hops from every router to every router with nodes; a table routes all packets of a pair
/// over equally many.
#[derive(Clone, Debug)]
pub(super) enum Distances {
    /// Shape: routers × columns.
    ByColumn { hops: Vec<u16>, largest: u32 },
    /// Distances in a lattice, dimension by dimension. Shape: dimensions, each size × size.
    ByDimension {
        hops: Vec<Vec<u16>>,
        sizes: Vec<usize>,
    },
}

impl Distances {
    /// The distances in the tables of `base`, which routes on `topology`.
    pub fn new(topology: &Topology, base: &Tabled) -> Self {
        match &base.index {
            Index::ByColumn(columns) => Self::by_column(topology, base, *columns as usize),
            Index::ByDimension { .. } => {
                let dimensions = topology.lattice().map(|l| l.dimensions).unwrap_or_default();
                let along = |size: u32, row: Row| {
                    let hops = move |from: u32, to: u32| match row {
                        Row::Complete => u32::from(from != to),
                        Row::Line => from.abs_diff(to),
                        Row::Ring => from.abs_diff(to).min(size - from.abs_diff(to)),
                    };
                    (0..size)
                        .flat_map(|from| (0..size).map(move |to| hops(from, to) as u16))
                        .collect()
                };
                Self::ByDimension {
                    sizes: dimensions.iter().map(|d| d.size as usize).collect(),
                    hops: dimensions.iter().map(|d| along(d.size, d.row)).collect(),
                }
            }
        }
    }

    fn by_column(topology: &Topology, base: &Tabled, columns: usize) -> Self {
        const UNKNOWN: u16 = u16::MAX;
        let owner = topology.router_of_every_port();
        let mut hops = vec![UNKNOWN; topology.routers() * columns];
        let mut path = vec![];
        for (column, to) in base.destinations.routers().into_iter().enumerate() {
            hops[to as usize * columns + column] = 0;
            for router in 0..topology.routers() {
                let mut at = router;
                // Routers that no packet comes to may have no hop.
                while hops[at * columns + column] == UNKNOWN {
                    let (first, count) = base.entries[at * columns + column];
                    if count == 0 {
                        break;
                    }
                    path.push(at);
                    let port = base.hops[first as usize].port;
                    let port = topology.first_port[at] as usize + usize::from(port);
                    let Peer::Port(peer) = topology.peer[port] else {
                        break;
                    };
                    at = owner[peer.index()].0 as usize;
                }
                let mut distance = hops[at * columns + column];
                for before in path.drain(..).rev() {
                    distance = distance.saturating_add(1);
                    hops[before * columns + column] = distance;
                }
            }
        }
        let sources = base.destinations.routers().into_iter();
        let of_sources = sources.flat_map(|from| &hops[from as usize * columns..][..columns]);
        let largest = of_sources.max().copied().map_or(0, u32::from);
        Self::ByColumn { hops, largest }
    }

    /// Hops from router `from` to `to`, which has nodes.
    #[inline]
    pub fn of(&self, base: &Tabled, from: u32, to: u32) -> u32 {
        match (self, &base.index) {
            (Self::ByColumn { hops, .. }, Index::ByColumn(columns)) => {
                let column = base.destinations.column_of(to);
                u32::from(hops[from as usize * *columns as usize + column as usize])
            }
            (Self::ByDimension { hops, sizes }, Index::ByDimension { places, .. }) => {
                let dimensions = sizes.len();
                let of = |router: u32| &places[router as usize * dimensions..][..dimensions];
                let ends = of(from).iter().zip(of(to));
                let along = hops.iter().zip(sizes).zip(ends);
                along
                    .map(|((hops, size), (&here, &there))| {
                        u32::from(hops[usize::from(here) * size + usize::from(there)])
                    })
                    .sum()
            }
            _ => unreachable!("distances of other tables"),
        }
    }

    /// The largest of them between routers with nodes, or more.
    pub fn largest(&self) -> u32 {
        match self {
            Self::ByColumn { largest, .. } => *largest,
            Self::ByDimension { hops, .. } => {
                let most = |hops: &Vec<u16>| hops.iter().copied().max().map_or(0, u32::from);
                hops.iter().map(most).sum()
            }
        }
    }
}
