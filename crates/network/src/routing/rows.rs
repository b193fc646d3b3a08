//! What routing algorithms of a HyperX share, whose rows are all-to-all.

use super::error::RoutingError;
use crate::topology::{Row, Topology};

odonata_declare::table! {
    /// Keys of the algorithms that choose between direct hops and hops aside.
    pub struct AsideKeys {
        /// Advantage of direct hops: a packet goes by way of another router of the row if the
        /// weighted queue of its direct hop is longer by more than this. Default: the largest buffer
        /// of the links between routers.
        threshold_bytes: Option<u64> = None => Notes { called: Some("a size"), ..Notes::NONE },
    }
}

/// The routers along each dimension of a lattice all of whose rows are all-to-all.
///
/// # Errors
/// If the routers form none; the message names `algorithm`.
pub(super) fn complete_rows(
    topology: &Topology,
    algorithm: &'static str,
) -> Result<Vec<u32>, RoutingError> {
    let lattice = topology
        .lattice()
        .map_err(|reason| RoutingError::NotLattice { reason })?;
    let mut dimensions = lattice.dimensions.iter().zip(1..);
    // A row of two is complete whatever it is called.
    match dimensions.find(|(d, _)| d.row != Row::Complete && d.size > 2) {
        Some((row, dimension)) => Err(RoutingError::RowsNotComplete {
            algorithm,
            dimension,
            size: row.size,
        }),
        None => Ok(lattice.dimensions.iter().map(|d| d.size).collect()),
    }
}

/// Whether a packet that is not yet at the right place in `hops` dimensions goes aside: if
/// `direct · hops > aside · (hops + 1) + threshold_bytes`, by the occupancies of the best
/// ports of either kind in bytes.
#[inline]
pub(super) fn goes_aside(direct: u64, aside: u64, hops: u64, threshold_bytes: i64) -> bool {
    let weighted = |occupancy: u64, hops: u64| i128::from(occupancy) * i128::from(hops);
    weighted(direct, hops) > weighted(aside, hops + 1) + i128::from(threshold_bytes)
}
