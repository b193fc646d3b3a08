//! Checks of parameters that many applications have.

use crate::error::LoadError;
use crate::grid::Grid;

/// The application whose parameters are checked.
#[derive(Clone, Copy)]
pub(super) struct Parameters(pub &'static str);

impl Parameters {
    /// An error of `parameter`.
    pub fn error(
        self,
        parameter: &'static str,
        found: impl ToString,
        allowed: impl ToString,
    ) -> LoadError {
        LoadError::Parameter {
            application: self.0,
            parameter,
            found: found.to_string(),
            allowed: allowed.to_string(),
        }
    }

    /// Fails unless `value` is from `least` to 10⁹, so that products of three
    /// parameters and of two of them with a job's ranks stay exact.
    pub fn at_least(
        self,
        parameter: &'static str,
        value: impl Into<u64>,
        least: u64,
    ) -> Result<(), LoadError> {
        let value = value.into();
        if !(least..=1_000_000_000).contains(&value) {
            let allowed = format!("a whole number from {least} to 1000000000");
            return Err(self.error(parameter, value, allowed));
        }
        Ok(())
    }

    /// Fails unless all `values` are at least 1 and their product is below 2⁴⁸.
    pub fn extents(self, parameter: &'static str, values: &[u32]) -> Result<(), LoadError> {
        let points = values
            .iter()
            .map(|&value| u128::from(value))
            .product::<u128>();
        if points == 0 || points >= 1 << 48 {
            let allowed = "numbers from 1 with a product below 2^48";
            return Err(self.error(parameter, format!("{values:?}"), allowed));
        }
        Ok(())
    }

    /// Fails unless `value` is a finite number of at least `least`.
    pub fn number(self, parameter: &'static str, value: f64, least: f64) -> Result<(), LoadError> {
        if !(value >= least && value.is_finite()) {
            let allowed = format!("a number of at least {least}");
            return Err(self.error(parameter, value, allowed));
        }
        Ok(())
    }

    /// The process grid `given`, or as nearly cubic as can be.
    pub fn grid(
        self,
        ranks: u32,
        given: Option<&[u32]>,
        dimensions: usize,
        periodic: bool,
    ) -> Result<Grid, LoadError> {
        let Some(extents) = given else {
            return Grid::near_cubic(ranks, dimensions, periodic);
        };
        if extents.len() != dimensions {
            let found = format!("{extents:?}");
            return Err(self.error("grid", found, format!("{dimensions} numbers of ranks")));
        }
        let grid = Grid::new(extents, periodic)?;
        grid.check(ranks)?;
        Ok(grid)
    }
}
