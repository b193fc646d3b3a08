//! LULESH: shock hydrodynamics on a structured mesh treated as unstructured.

use super::parameters::Parameters;
use super::stencil::{Stencil, diagonality, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::Offset;
use crate::phases::Phase;

odonata_declare::table! {
    /// Shock hydrodynamics: an all-reduce and exchanges with 26, 13 and 6 neighbours.
    ///
    /// The time step of LULESH 2.0 (Karlin et al. 2013).
    ///
    /// # Model
    ///
    /// The time step of LULESH 2.0 (Karlin, Keasler, Neely: *LULESH 2.0 Updates and
    /// Changes*, LLNL-TR-641973, 2013; exchanges as in its `lulesh-comm.cc`) on a
    /// cube of ranks, each with a cube of `size`³ elements:
    ///
    /// 1. the least time step of all ranks, an all-reduce of one number;
    /// 2. forces: 3 numbers per node of each face, edge and corner, with all 26
    ///    neighbours;
    /// 3. positions and velocities: 6 numbers per node, to those 13 neighbours only
    ///    that lie before the rank in the order of ranks;
    /// 4. gradients of the artificial viscosity: 3 numbers per element of each face,
    ///    with the 6 neighbours across faces.
    ///
    /// Between them ranks compute, for which `flop_per_element` is divided as
    /// `shares` says. Default size: LULESH's own (30). LULESH publishes no count of
    /// operations; 4,000 per element and step is ours, of the order that profiles of
    /// it show. Not modelled: imbalance between regions; copies into buffers.
    pub struct Lulesh {
        /// Mesh elements of each rank along each dimension.
        size: u32 = 30 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Operations per mesh element and time step.
        flop_per_element: f64 = 4_000.0 => Notes::AMOUNT,
        /// Shares of the computing time before the exchanges of forces, of positions and of
        /// gradients, and after these.
        shares: [f64; 4] = [0.5, 0.05, 0.15, 0.3] => Notes::AMOUNT,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
    }
}

/// Whether the neighbour at `offset` has a lower rank.
fn before(offset: Offset) -> bool {
    let step = offset.iter().rev().find(|&&step| step != 0);
    step.is_some_and(|&step| step < 0)
}

impl Skeleton for Lulesh {
    const NAME: &'static str = "lulesh";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("size", &[self.size; 3])?;
        check.at_least("element", self.element_bytes, 1)?;
        check.number("flop_per_element", self.flop_per_element, 0.0)?;
        for share in self.shares {
            check.number("shares", share, 0.0)?;
        }
        let whole: f64 = self.shares.iter().sum();
        if whole <= 0.0 {
            let found = format!("{:?}", self.shares);
            return Err(check.error("shares", found, "numbers of which one is above 0"));
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 3, false)?;
        let elements = [u64::from(self.size); 3];
        let nodes = elements.map(|elements| elements + 1);
        let number = u64::from(self.element_bytes);
        let flop = (elements.iter().product::<u64>() as f64) * self.flop_per_element;
        let computing = setting.computing::<Self>(flop)?;
        let compute = |part: usize| computing.phase(flop * self.shares[part] / whole);

        let forces = |offset| 3 * number * surface(&nodes, offset, 1);
        let positions = |offset| match before(offset) {
            true => 6 * number * surface(&nodes, offset, 1),
            false => 0,
        };
        let gradients = |offset| match diagonality(offset) {
            1 => 3 * number * surface(&elements, offset, 1),
            _ => 0,
        };
        Ok(vec![
            setting.allreduce(setting.all(), number),
            compute(0),
            Stencil::new(grid, 1, forces).phase()?,
            compute(1),
            Stencil::new(grid, 1, positions).phase()?,
            compute(2),
            Stencil::new(grid, 1, gradients).phase()?,
            compute(3),
        ])
    }
}
