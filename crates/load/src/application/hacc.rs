//! HACC: cosmological N-body simulation.

use super::fft::Transform;
use super::parameters::Parameters;
use super::stencil::{Stencil, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::Phase;

odonata_declare::table! {
    /// Cosmological particles: Fourier transforms and exchanges with 26 neighbours.
    ///
    /// Long-range forces by pencils, short-range ones with copies (Habib et al. 2016).
    ///
    /// # Model
    ///
    /// A long time step of HACC (Habib et al.: *HACC: Simulating sky surveys on
    /// state-of-the-art supercomputing architectures*, New Astronomy 42, 2016) on a
    /// periodic 3-D grid of ranks.
    ///
    /// Long-range force: ranks swap the densities at the faces, edges and corners of
    /// their boxes with all 26 neighbours, then the Poisson equation is solved by one
    /// forward and three inverse Fourier transforms (one per component of the force)
    /// by pencils on a 2-D grid of all ranks, and the forces are swapped in the same
    /// way. Short-range force: `subcycles` steps without communication, on particles
    /// that each rank has copies of up to `overload` cells beyond its box; these are
    /// refreshed once, again with all 26 neighbours. An all-reduce of one number
    /// stands for the statistics of a step.
    ///
    /// Defaults: a particle has 38 bytes (7 single-precision numbers, a 64-bit
    /// identity, a 16-bit mask) and cells as many as particles, as in HACC; the box of
    /// 64³ cells, an overload of 4 cells and 3,000 operations per particle and
    /// subcycle are ours. Not modelled: the redistribution between boxes and pencils;
    /// particles that move to other ranks for good; imbalance as structures form.
    pub struct Hacc {
        /// Cells of each rank along each dimension.
        cells: [u32; 3] = [64; 3] => Notes::COUNT,
        /// Particles per cell.
        particles_per_cell: f64 = 1.0 => Notes::AMOUNT,
        /// Size of a particle.
        particle_bytes: u32 = 38 => Notes::POSITIVE,
        /// Depth, in cells, of the zone around its box of which a rank keeps copies.
        overload: u32 = 4 => Notes::COUNT,
        /// Short-range steps in a time step.
        subcycles: u32 = 5 => Notes::COUNT,
        /// Operations per particle and short-range step.
        flop_per_particle: f64 = 3_000.0 => Notes::AMOUNT,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
    }
}

/// Sizes of a real and of a complex number.
const REAL: u64 = 8;
const COMPLEX: u64 = 16;

impl Skeleton for Hacc {
    const NAME: &'static str = "hacc";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        let ranks = setting.ranks;
        check.extents("cells", &self.cells)?;
        check.at_least("particle", self.particle_bytes, 1)?;
        check.at_least("subcycles", self.subcycles, 1)?;
        check.number("particles_per_cell", self.particles_per_cell, 0.0)?;
        check.number("flop_per_particle", self.flop_per_particle, 0.0)?;
        let least = self.cells.into_iter().min().unwrap_or(0);
        if self.overload == 0 || self.overload > least {
            let allowed =
                format!("1 to {least}, the cells of a rank, so that copies are of next neighbours");
            return Err(check.error("overload", self.overload, allowed));
        }
        let grid = check.grid(ranks, self.grid.as_deref(), 3, true)?;
        let cells = self.cells.map(u64::from);
        let mut points = cells;
        for (points, &ranks) in points.iter_mut().zip(grid.extents()) {
            *points *= u64::from(ranks);
        }
        let pencils = Grid::near_cubic(ranks, 2, false)?;
        let transform = Transform::new(check, pencils, points, COMPLEX)?;
        let particles = cells.iter().product::<u64>() as f64 * self.particles_per_cell;
        let short = particles * self.flop_per_particle;
        let flop = 4.0 * transform.flop() + f64::from(self.subcycles) * short;
        let computing = setting.computing::<Self>(flop)?;

        let ghosts = |numbers: u64| {
            Stencil::new(grid, 1, |offset| {
                numbers * REAL * surface(&cells, offset, 1)
            })
            .phase()
        };
        let copies = |offset| {
            let zone = surface(&cells, offset, u64::from(self.overload));
            let particles = (zone as f64 * self.particles_per_cell).round() as u64;
            particles * u64::from(self.particle_bytes)
        };
        let mut phases = vec![ghosts(1)?];
        phases.extend(transform.forward(setting, &computing));
        phases.push(Phase::Repeat(3, transform.inverse(setting, &computing)));
        phases.push(ghosts(3)?);
        phases.push(Phase::Repeat(self.subcycles, vec![computing.phase(short)]));
        phases.push(Stencil::new(grid, 1, copies).phase()?);
        phases.push(setting.allreduce(setting.all(), REAL));
        Ok(phases)
    }
}
