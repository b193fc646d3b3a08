//! GTC: gyrokinetic particles in a torus.

use super::parameters::Parameters;
use super::stencil::Stencil;
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::{Grid, Offset};
use crate::phases::{Division, Phase};

odonata_declare::table! {
    /// Particles in a torus: shifts around the torus, all-reduces within its domains.
    ///
    /// The time step of GTC (Ethier, Tang, Lin 2005), in size A of GTC-P.
    ///
    /// # Model
    ///
    /// A time step of the gyrokinetic toroidal code GTC (Ethier, Tang, Lin:
    /// *Gyrokinetic particle-in-cell simulations of plasma microturbulence on advanced
    /// computing platforms*, J. Phys. Conf. Ser. 16, 2005). The torus is cut into
    /// `toroidal` domains, and the ranks of a domain share its particles; they are
    /// numbered consecutively, as GTC does it.
    ///
    /// 1. Ranks deposit the charge of their particles; the ranks of a domain add the
    ///    charges on its poloidal plane by an all-reduce, and each passes the plane
    ///    between two domains to the next one.
    /// 2. All ranks of a domain solve for the potential and pass it to both
    ///    neighbours, `smoothings` times, then the field.
    /// 3. Ranks move their particles, agree how many leave their domains (an
    ///    all-reduce of one number), and pass those to both neighbours.
    ///
    /// Defaults: 32,449 points per plane and 100 particles per point, size A of GTC-P
    /// (Wang et al.: *Kinetic turbulence simulations at extreme scale on
    /// leadership-class systems*, SC 2013); 12 numbers per particle (position and
    /// weights, now and half a step before), as GTC's arrays have. A tenth of the
    /// particles leaves in a step, and a particle takes 1,000 operations: both are
    /// ours. Not modelled: further rounds for particles that cross several domains;
    /// diagnostics.
    pub struct Gtc {
        /// Domains around the torus, a divisor of the number of ranks. Default: the largest divisor
        /// up to 64.
        #[serde(skip_serializing_if = "Option::is_none")]
        toroidal: Option<u32> = None => Notes::COUNT,
        /// Grid points of a poloidal plane.
        plane_points: u32 = 32_449 => Notes::COUNT,
        /// Particles per grid point.
        particles_per_point: f64 = 100.0 => Notes::AMOUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Numbers of a particle.
        particle_numbers: u32 = 12 => Notes::COUNT,
        /// Fraction of the particles that leaves its domain in a step, half of them in each
        /// direction.
        leaving: f64 = 0.1 => Notes::FRACTION,
        /// Exchanges of the potential.
        smoothings: u32 = 2 => Notes::COUNT,
        /// Operations per particle and step.
        flop_per_particle: f64 = 1_000.0 => Notes::AMOUNT,
    }
}

impl Skeleton for Gtc {
    const NAME: &'static str = "gtc";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        let ranks = setting.ranks;
        check.at_least("plane_points", self.plane_points, 1)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.at_least("particle_numbers", self.particle_numbers, 1)?;
        check.at_least("smoothings", self.smoothings, 1)?;
        check.number("particles_per_point", self.particles_per_point, 0.0)?;
        check.number("flop_per_particle", self.flop_per_particle, 0.0)?;
        if !(0.0..=1.0).contains(&self.leaving) {
            return Err(check.error("leaving", self.leaving, "a number from 0 to 1"));
        }
        let divides = |domains: &u32| *domains > 0 && ranks.is_multiple_of(*domains);
        let toroidal = match self.toroidal {
            Some(domains) if divides(&domains) => domains,
            Some(domains) => {
                let allowed = format!("a divisor of {ranks}, the number of ranks");
                return Err(check.error("toroidal", domains, allowed));
            }
            None => (1..=64).rev().find(divides).unwrap_or(1),
        };
        let sharing = ranks / toroidal;
        let grid = Grid::new(&[sharing, toroidal], true)?;
        let number = u64::from(self.element_bytes);
        let plane = u64::from(self.plane_points) * number;
        let particles =
            f64::from(self.plane_points) * self.particles_per_point / f64::from(sharing);
        let leaving = (particles * self.leaving / 2.0).round() as u64;
        let flop = particles * self.flop_per_particle;
        let computing = setting.computing::<Self>(flop)?;

        let along_torus = |offset: Offset| offset[0] == 0;
        let both = |bytes: u64| {
            let size = move |offset| if along_torus(offset) { bytes } else { 0 };
            Stencil::new(grid, 1, size).phase()
        };
        let forward = |offset: Offset| {
            if along_torus(offset) && offset[1] > 0 {
                plane
            } else {
                0
            }
        };
        Ok(vec![
            computing.phase(0.4 * flop),
            setting.allreduce(Division::along(&grid, 0), plane),
            Stencil::new(grid, 1, forward).phase()?,
            Phase::Repeat(self.smoothings, vec![both(plane)?]),
            both(plane)?,
            computing.phase(0.6 * flop),
            setting.allreduce(setting.all(), number),
            both(leaving * u64::from(self.particle_numbers) * number)?,
        ])
    }
}
