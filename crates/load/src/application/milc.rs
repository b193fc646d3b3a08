//! MILC: lattice quantum chromodynamics with staggered quarks.

use super::parameters::Parameters;
use super::stencil::{Stencil, diagonality, surface};
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::Offset;
use crate::phases::Phase;

odonata_declare::table! {
    /// Lattice quantum chromodynamics: gathers in 4-D, with third neighbours.
    ///
    /// Conjugate gradients with small all-reduces (Bauer et al. 2012).
    ///
    /// # Model
    ///
    /// An iteration of the multi-mass conjugate-gradient solver of MILC's `su3_rmd`
    /// (Bauer, Gottlieb, Hoefler: *Performance Modeling and Comparative Analysis of
    /// the MILC Lattice QCD Application su3_rmd*, CCGrid 2012; as the LQCD motif of
    /// SST's Ember does it) on a 4-D grid of ranks.
    ///
    /// For the even and then for the odd sites a rank fetches what the improved
    /// Dslash operator needs from its neighbours in all 8 directions: the planes next
    /// to it and, in a second message, those that the third neighbours of the Naik
    /// term lie in beyond them. Then it computes. The vectors and two inner products
    /// follow, each an all-reduce of one number.
    ///
    /// 1,146 floating-point operations per site for the operator, 59 and 15 per mass
    /// for the vectors: 1205 + 15 masses in all, as MILC counts. Default: 8⁴ sites
    /// per rank (Ember's documented default), numbers of 8 bytes. Not modelled:
    /// overlap of the gathers of one sign with computing with the other; the force
    /// and gauge parts of a trajectory.
    pub struct Milc {
        /// Sites of each rank along x, y, z and t.
        sites: [u32; 4] = [8; 4] => Notes::COUNT,
        /// Size of a real number; a quark vector has 6.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Planes in the message for third neighbours: 3 if the nearest plane is sent again, 0 for
        /// the operator without third neighbours.
        naik_planes: u32 = 2 => Notes { least: Some(0.0), most: Some(3.0), ..Notes::NONE },
        /// Number of masses that are solved for at once.
        masses: u32 = 11 => Notes::COUNT,
        /// Ranks along each dimension. Default: as nearly equal as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(4), most_entries: Some(4), ..Notes::COUNT },
        /// Whether the lattice wraps around.
        periodic: bool = true,
    }
}

impl Skeleton for Milc {
    const NAME: &'static str = "milc";
    const FLOP_PER_S: f64 = 2e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("sites", &self.sites)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.at_least("masses", self.masses, 1)?;
        if self.naik_planes > 3 {
            return Err(check.error("naik_planes", self.naik_planes, "0 to 3"));
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 4, self.periodic)?;
        for (dimension, &sites) in self.sites.iter().enumerate() {
            let split = grid.extents()[dimension] > 1;
            let least = if self.naik_planes > 0 { 3 } else { 1 };
            if split && sites < least {
                let found = format!("{:?}", self.sites);
                let allowed = format!(
                    "at least {least} along each dimension with several ranks, so that third \
                     neighbours are in the next rank"
                );
                return Err(check.error("sites", found, allowed));
            }
        }
        let sites = self.sites.map(u64::from);
        let vector = 6 * u64::from(self.element_bytes);
        let planes = |planes: u64| {
            move |offset: Offset| match diagonality(offset) {
                // Half of the sites are even. A plane of an odd number of sites
                // has half a site more of one of both.
                1 => vector * (planes * surface(&sites, offset, 1)).div_ceil(2),
                _ => 0,
            }
        };
        let volume = sites.iter().product::<u64>() as f64;
        let vectors = volume * (59.0 + 15.0 * f64::from(self.masses));
        let computing = setting.computing::<Self>(volume * 1146.0 + vectors)?;
        let gather = || {
            let nearest = Stencil::new(grid, 1, planes(1));
            let third = Stencil::new(grid, 1, planes(u64::from(self.naik_planes)));
            nearest.and(third).phase()
        };
        let sum = || setting.allreduce(setting.all(), u64::from(self.element_bytes));
        Ok(vec![
            gather()?,
            computing.phase(volume * 573.0),
            gather()?,
            computing.phase(volume * 573.0),
            sum(),
            computing.phase(vectors),
            sum(),
        ])
    }
}
