//! Three-dimensional Fourier transforms by pencils.

use std::sync::Arc;

use odonata_units::Bytes;

use super::computing::Computing;
use super::parameters::Parameters;
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::{Calls, Division, Phase};

odonata_declare::table! {
    /// A 3-D Fourier transform and its inverse, with a pencil decomposition.
    ///
    /// All-to-alls in the rows and columns of a 2-D grid of ranks (Pekurovsky 2012: P3DFFT).
    ///
    /// # Model
    ///
    /// A 3-D fast Fourier transform of complex numbers and its inverse on a 2-D grid
    /// of ranks (Pekurovsky: *P3DFFT: A Framework for Parallel Computations of
    /// Fourier Transforms in Three Dimensions*, SIAM J. Sci. Comput. 34, 2012; the
    /// FFT3D motif of SST's Ember).
    ///
    /// Each rank has pencils along x. It transforms them, exchanges with the ranks of
    /// its row so that it has pencils along y, transforms those, exchanges with its
    /// column so that it has pencils along z, and transforms those; the inverse goes
    /// the same way back. Every exchange is an all-to-all of the row or column; where
    /// points do not divide by ranks, blocks differ and it is an `MPI_Alltoallv`.
    ///
    /// 5 n log₂ n floating-point operations for n points (the convention of FFTW's
    /// benchmark). Default: 100³ points, as Ember.
    pub struct Fft {
        /// Points of the whole grid along each dimension.
        points: [u32; 3] = [100; 3] => Notes::COUNT,
        /// Size of a complex number.
        element_bytes: u32 = 16 => Notes::POSITIVE,
        /// Whether the inverse follows.
        inverse: bool = true,
        /// Ranks of a row and of a column. Default: as nearly square as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
    }
}

/// A transform of a grid of points on a grid of rows and columns of ranks.
pub(super) struct Transform {
    grid: Grid,
    points: [u64; 3],
    element: u64,
}

impl Transform {
    /// Fails if there are more ranks than pencils.
    pub fn new(
        check: Parameters,
        grid: Grid,
        points: [u64; 3],
        element: u64,
    ) -> Result<Self, LoadError> {
        let [row, column] = [grid.extents()[0], grid.extents()[1]].map(u64::from);
        let [x, y, z] = points;
        if x < row || y < row.max(column) || z < column {
            let allowed = format!(
                "at least {row}, {} and {column} for rows of {row} and columns of {column} ranks, \
                 so that every rank has a pencil",
                row.max(column)
            );
            return Err(check.error("points", format!("{points:?}"), allowed));
        }
        Ok(Self {
            grid,
            points,
            element,
        })
    }

    /// Operations of one transform, of one rank.
    pub fn flop(&self) -> f64 {
        (0..3).map(|dimension| self.pass(dimension)).sum()
    }

    /// Operations of one rank for the pencils along `dimension`.
    fn pass(&self, dimension: usize) -> f64 {
        let points = self.points.iter().product::<u64>() as f64;
        let length = self.points[dimension] as f64;
        5.0 * points * length.log2() / f64::from(self.grid.points())
    }

    /// The exchange within rows (dimension 0) or columns, on the way forward or back.
    fn transpose(&self, setting: &Setting, dimension: usize, back: bool) -> Phase {
        let division = Division::along(&self.grid, dimension);
        let [row, column] = [0, 1].map(|dimension| Division::along(&self.grid, dimension));
        let (points, element) = (self.points, self.element);
        // Elements that the rank at `from` in its row or column has of the pencils
        // of the one at `to`, in row or column `other` of the other dimension.
        let block = move |from: u32, to: u32, other: u32| {
            let [x, y, z] = points;
            let elements = match dimension {
                0 => {
                    let [x, y] = [(x, to), (y, from)].map(|(n, place)| share(n, row, place));
                    x * y * share(z, column, other)
                }
                _ => {
                    let [y, z] = [(y, to), (z, from)].map(|(n, place)| share(n, column, place));
                    share(x, row, other) * y * z
                }
            };
            Bytes(elements * element)
        };
        let even = [row, column].iter().all(|division| {
            let ranks = u64::from(division.size());
            points.iter().all(|points| points.is_multiple_of(ranks))
        });
        if even {
            return setting.alltoall(division, block(0, 0, 0).0);
        }
        let algorithms = setting.algorithms.clone();
        let calls = move |rank| {
            let me = division.place(rank);
            let other = if dimension == 0 { column } else { row }.place(rank);
            let to = (0..division.size()).map(|member| block(me, member, other));
            let from = (0..division.size()).map(|member| block(member, me, other));
            let (to, from): (Arc<[Bytes]>, Arc<[Bytes]>) = (to.collect(), from.collect());
            match back {
                false => algorithms.alltoallv(to, from),
                true => algorithms.alltoallv(from, to),
            }
        };
        Phase::Collective(division, Calls::Each(Arc::new(calls)))
    }

    fn phases(&self, setting: &Setting, computing: &Computing, back: bool) -> Vec<Phase> {
        vec![
            computing.phase(self.pass(0)),
            self.transpose(setting, 0, back),
            computing.phase(self.pass(1)),
            self.transpose(setting, 1, back),
            computing.phase(self.pass(2)),
        ]
    }

    /// From pencils along x to pencils along z.
    pub fn forward(&self, setting: &Setting, computing: &Computing) -> Vec<Phase> {
        self.phases(setting, computing, false)
    }

    /// The way back.
    pub fn inverse(&self, setting: &Setting, computing: &Computing) -> Vec<Phase> {
        let mut phases = self.phases(setting, computing, true);
        phases.reverse();
        phases
    }
}

/// Points of `points` that the rank at `place` of its row or column has: the
/// first ranks have one more where they do not divide.
fn share(points: u64, division: Division, place: u32) -> u64 {
    let ranks = u64::from(division.size());
    points / ranks + u64::from(u64::from(place) < points % ranks)
}

impl Skeleton for Fft {
    const NAME: &'static str = "fft";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("points", &self.points)?;
        check.at_least("element", self.element_bytes, 1)?;
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 2, false)?;
        let points = self.points.map(u64::from);
        let transform = Transform::new(check, grid, points, u64::from(self.element_bytes))?;
        let transforms = if self.inverse { 2.0 } else { 1.0 };
        let computing = setting.computing::<Self>(transforms * transform.flop())?;
        let mut phases = transform.forward(setting, &computing);
        if self.inverse {
            phases.extend(transform.inverse(setting, &computing));
        }
        Ok(phases)
    }
}
