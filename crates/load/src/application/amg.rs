//! AMG: an algebraic multigrid solver.

use super::parameters::Parameters;
use super::stencil::{Stencil, diagonality};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::{Grid, Offset};
use crate::phases::Phase;

odonata_declare::table! {
    /// Conjugate gradients with a V-cycle of algebraic multigrid.
    ///
    /// Exchanges on every level, with more neighbours on coarser ones (Gahvari et al. 2011).
    ///
    /// # Model
    ///
    /// An iteration of conjugate gradients with one V-cycle of algebraic multigrid as
    /// its preconditioner, in the manner of AMG2013 and hypre's BoomerAMG, with the
    /// exchanges that Gahvari et al. count (*Modeling the Performance of an Algebraic
    /// Multigrid Cycle on HPC Platforms*, ICS 2011): on every level but the coarsest
    /// `sweeps` of relaxation, a residual and a restriction on the way down, an
    /// interpolation and `sweeps` of relaxation on the way up, each a product of a
    /// sparse matrix and a vector that first fetches the vector's elements from the
    /// neighbours. The coarsest system is gathered by all ranks and solved by each.
    /// An iteration has one more such product and three inner products (all-reduces of
    /// one number).
    ///
    /// Each level has half the points of the one above along every dimension, 1 at
    /// least. Coarser operators reach further: the finest couples each point with the
    /// 6 next to it, all others with those up to `reach` points away along any
    /// dimension. So a rank has 6 neighbours on the finest level, 26 on the next ones,
    /// and more (124 for a reach of 2) where it has fewer points than the reach.
    ///
    /// Default: 25 points along each dimension (the size per rank of AMG2013's example
    /// run), levels down to a point per rank, a reach of 2. Operations: 2 per coefficient of
    /// the matrix. Not modelled: the set-up; coarsening that adapts to the matrix;
    /// ranks that drop out on coarse levels.
    pub struct Amg {
        /// Points of each rank along each dimension, on the finest level.
        points: [u32; 3] = [25; 3] => Notes::COUNT,
        /// Levels, the coarsest included. Default: down to one point per rank.
        #[serde(skip_serializing_if = "Option::is_none")]
        levels: Option<u32> = None => Notes::COUNT,
        /// Relaxations of a level on the way down and on the way up.
        sweeps: u32 = 1 => Notes::COUNT,
        /// Reach of the operators of all levels but the finest, in points.
        reach: u32 = 2 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
    }
}

impl Amg {
    /// Points of a rank along each dimension on `level`, 0 being the finest.
    fn points(&self, level: u32) -> [u64; 3] {
        let halved = |points: u32| u64::from(points).checked_shr(level).unwrap_or(0).max(1);
        self.points.map(halved)
    }

    fn levels(&self) -> u32 {
        let largest = self.points.into_iter().max().unwrap_or(1);
        self.levels.unwrap_or(largest.max(1).ilog2() + 1)
    }

    /// How far an operator reaches, in points.
    fn reach(&self, level: u32) -> u64 {
        if level == 0 { 1 } else { u64::from(self.reach) }
    }

    /// Operations of a rank for a product with the matrix of `level`.
    fn flop(&self, level: u32) -> f64 {
        let coefficients = match level {
            0 => 7.0,
            _ => (2.0 * self.reach(level) as f64 + 1.0).powi(3),
        };
        2.0 * coefficients * self.points(level).iter().product::<u64>() as f64
    }
}

impl Amg {
    /// The exchange of a product with the matrix of `level`: a rank sends to the one at some
    /// offset those of its elements that are within reach of that one's box.
    fn exchange(&self, grid: Grid, level: u32) -> Stencil {
        let points = self.points(level);
        let reach = self.reach(level);
        let size = |offset: Offset| {
            if level == 0 && diagonality(offset) > 1 {
                return 0;
            }
            let within = |dimension: usize| {
                let points = points[dimension];
                match u64::from(offset[dimension].unsigned_abs()) {
                    0 => points,
                    distance => reach.saturating_sub((distance - 1) * points).min(points),
                }
            };
            u64::from(self.element_bytes) * (0..3).map(within).product::<u64>()
        };
        let least = points.into_iter().min().unwrap_or(1);
        Stencil::new(grid, reach.div_ceil(least) as u32, size)
    }
}

impl Skeleton for Amg {
    const NAME: &'static str = "amg";
    const FLOP_PER_S: f64 = 1e9;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("points", &self.points)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.at_least("sweeps", self.sweeps, 1)?;
        if !(1..=4).contains(&self.reach) {
            return Err(check.error("reach", self.reach, "1 to 4"));
        }
        let levels = self.levels();
        if !(1..=32).contains(&levels) {
            return Err(check.error("levels", levels, "1 to 32"));
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 3, false)?;
        let number = u64::from(self.element_bytes);
        let all = setting.all();
        let coarsest = levels - 1;
        let products = f64::from(2 * self.sweeps + 3);
        let cycle: f64 = (0..coarsest).map(|level| products * self.flop(level)).sum();
        let computing = setting.computing::<Self>(cycle + self.flop(0))?;

        let exchange = |level: u32| self.exchange(grid, level).phase();
        let product = |level: u32| -> Result<Phase, LoadError> {
            let parts = vec![exchange(level)?, computing.phase(self.flop(level))];
            Ok(Phase::Repeat(1, parts))
        };
        let relax = |level: u32| -> Result<Phase, LoadError> {
            Ok(Phase::Repeat(self.sweeps, vec![product(level)?]))
        };
        let sum = || setting.allreduce(all, number);

        let mut phases = vec![product(0)?, sum()];
        for level in 0..coarsest {
            // Relaxation, residual, restriction.
            phases.extend([relax(level)?, product(level)?, product(level)?]);
        }
        let coarse = self.points(coarsest).iter().product::<u64>();
        phases.push(setting.allgather(all, number * coarse));
        for level in (0..coarsest).rev() {
            // Interpolation, relaxation.
            phases.extend([product(level)?, relax(level)?]);
        }
        phases.extend([sum(), sum()]);
        Ok(phases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motif::Steps;
    use odonata_units::{Bytes, RankId};

    #[test]
    fn coarser_levels_have_more_neighbours() {
        let amg = Amg {
            points: [8; 3],
            ..Amg::default()
        };
        assert_eq!(amg.levels(), 4);
        // In a grid of 5×5×5 the middle rank has all neighbours within 2.
        let grid = Grid::new(&[5, 5, 5], false).unwrap();
        let neighbours = |level: u32| {
            let exchange = amg.exchange(grid, level);
            let to =
                (0..exchange.steps()).filter_map(|step| exchange.destination(RankId(62), 0, step));
            to.count()
        };
        // Boxes of 8³, 4³, 2³ points and of a single one, which the reach of 2 passes.
        assert_eq!([0, 1, 2, 3].map(neighbours), [6, 26, 26, 124]);
        // Corners of 2³ points on the second level, all but a face's depth at a time.
        let corner = amg.exchange(grid, 1);
        assert_eq!(corner.bytes(0), Bytes(2 * 2 * 2 * 8));
    }
}
