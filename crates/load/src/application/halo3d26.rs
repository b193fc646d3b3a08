//! Halo3D-26: a 27-point stencil on a 3-D grid.

use super::parameters::Parameters;
use super::stencil::{Stencil, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::phases::Phase;

odonata_declare::table! {
    /// Halo exchange with faces, edges and corners: all 26 neighbours in 3-D.
    ///
    /// Defaults of the Halo3D26 motif of SST's Ember.
    ///
    /// # Model
    ///
    /// Halo exchange with all 26 neighbours in a 3-D process grid: faces, edges and
    /// corners of a box of cells, of different sizes.
    ///
    /// Parameters and sizes are those of the Halo3D26 motif of SST's Ember
    /// (sst-elements, `emberhalo3d26`); so are the defaults, but for `reduce`, which
    /// Ember reads and does not use. An iteration computes, then exchanges with all
    /// neighbours at once, then sums one number over all ranks if that is asked for.
    /// Not modelled: copies into message buffers.
    pub struct Halo3d26 {
        /// Cells of each rank along each dimension.
        cells: [u32; 3] = [100; 3] => Notes::COUNT,
        /// Numbers per cell.
        variables: u32 = 1 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Operations per number and iteration.
        flop_per_variable: f64 = 26.0 => Notes::AMOUNT,
        /// Whether each iteration ends with an all-reduce of one number.
        reduce: bool = false,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
        /// Whether the grid wraps around.
        periodic: bool = false,
    }
}

impl Skeleton for Halo3d26 {
    const NAME: &'static str = "halo3d-26";
    const FLOP_PER_S: f64 = 1e9;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("cells", &self.cells)?;
        check.at_least("variables", self.variables, 1)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.number("flop_per_variable", self.flop_per_variable, 0.0)?;
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 3, self.periodic)?;
        let cells = self.cells.map(u64::from);
        let cell = u64::from(self.variables) * u64::from(self.element_bytes);
        let numbers = cells.iter().product::<u64>() as f64 * f64::from(self.variables);
        let flop = numbers * self.flop_per_variable;
        let mut phases = vec![
            setting.computing::<Self>(flop)?.phase(flop),
            Stencil::new(grid, 1, |offset| cell * surface(&cells, offset, 1)).phase()?,
        ];
        if self.reduce {
            phases.push(setting.allreduce(setting.all(), u64::from(self.element_bytes)));
        }
        Ok(phases)
    }
}
