//! Nekbone: conjugate gradients with spectral elements.

use super::parameters::Parameters;
use super::stencil::{Stencil, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::phases::Phase;

odonata_declare::table! {
    /// Conjugate gradients with spectral elements: gather-scatter and all-reduces.
    ///
    /// Exchanges with 26 neighbours, three sums in each iteration (Fischer, Heisey 2013).
    ///
    /// # Model
    ///
    /// An iteration of Nekbone's conjugate-gradient solver (Fischer, Heisey:
    /// *NEKBONE: Thermal Hydraulics mini-application*, Argonne 2013), on a 3-D grid of
    /// ranks each of which has a box of spectral elements: the residual's inner
    /// product, the operator on every element, the gather–scatter that sums the
    /// points that neighbours share (faces, edges and corners, pairwise with all 26
    /// neighbours), and two more inner products; each of the three is an all-reduce
    /// of one number.
    ///
    /// Operations per element with n points per dimension: 12 n⁴ + 19 n³ for the
    /// operator and 15 n³ for the vectors, as Nekbone's `cg.f` counts them. Default:
    /// order 9 (n = 10), 8×8×8 elements, within the range of its example input. Not
    /// modelled: the preconditioner; the crystal-router and all-reduce forms that the
    /// gather–scatter library may choose instead.
    pub struct Nekbone {
        /// Spectral elements of each rank along each dimension.
        elements: [u32; 3] = [8; 3] => Notes::COUNT,
        /// Polynomial order; an element has one point more than this per dimension.
        order: u32 = 9 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
        /// Whether the grid wraps around.
        periodic: bool = false,
    }
}

impl Skeleton for Nekbone {
    const NAME: &'static str = "nekbone";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("elements", &self.elements)?;
        check.at_least("element", self.element_bytes, 1)?;
        if !(1..=64).contains(&self.order) {
            return Err(check.error("order", self.order, "a whole number from 1 to 64"));
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 3, self.periodic)?;
        let number = u64::from(self.element_bytes);
        // Neighbouring elements share the points between them.
        let points = self
            .elements
            .map(|elements| u64::from(elements) * u64::from(self.order) + 1);
        let n = f64::from(self.order + 1);
        let elements: f64 = self.elements.map(f64::from).iter().product();
        let operator = elements * (12.0 * n.powi(4) + 19.0 * n.powi(3));
        // 15 operations per point: 3 for each inner product and 2 for each of
        // the three updates of vectors.
        let vector = elements * n.powi(3);
        let computing = setting.computing::<Self>(operator + 15.0 * vector)?;
        let sum = || setting.allreduce(setting.all(), number);
        Ok(vec![
            computing.phase(3.0 * vector),
            sum(),
            computing.phase(2.0 * vector + operator),
            Stencil::new(grid, 1, |offset| number * surface(&points, offset, 1)).phase()?,
            computing.phase(3.0 * vector),
            sum(),
            computing.phase(7.0 * vector),
            sum(),
        ])
    }
}
