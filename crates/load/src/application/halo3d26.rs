//! Halo3D-26: a 27-point stencil on a 3-D grid.

use serde::{Deserialize, Serialize};

use super::parameters::Parameters;
use super::stencil::{Stencil, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::phases::Phase;

/// Halo exchange with all 26 neighbours in a 3-D process grid: faces, edges and
/// corners of a box of cells, of different sizes.
///
/// Parameters and sizes are those of the Halo3D26 motif of SST's Ember
/// (sst-elements, `emberhalo3d26`); so are the defaults, but for `reduce`, which
/// Ember reads and does not use. An iteration computes, then exchanges with all
/// neighbours at once, then sums one number over all ranks if that is asked for.
/// Not modelled: copies into message buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Halo3d26 {
    /// Cells of each rank along each dimension.
    pub cells: [u32; 3],
    /// Numbers per cell.
    pub variables: u32,
    /// Size of a number.
    pub element_bytes: u32,
    /// Floating-point operations per number and iteration.
    pub flop_per_variable: f64,
    /// Whether each iteration ends with an all-reduce of one number.
    pub reduce: bool,
    /// Ranks along each dimension; as nearly cubic as can be if not given.
    pub grid: Option<Vec<u32>>,
    /// Whether the grid wraps around.
    pub periodic: bool,
}

impl Default for Halo3d26 {
    fn default() -> Self {
        Self {
            cells: [100; 3],
            variables: 1,
            element_bytes: 8,
            flop_per_variable: 26.0,
            reduce: false,
            grid: None,
            periodic: false,
        }
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
