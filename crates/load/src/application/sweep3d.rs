//! Sweep3D: wavefronts of discrete-ordinates particle transport.

use odonata_units::{Bytes, Picoseconds, RankId};

use super::parameters::Parameters;
use super::{Setting, Skeleton};
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::Phase;
use crate::program::{Action, Totals};
use crate::script::{Operation, SCRIPT_CONTEXT, Script};

odonata_declare::table! {
    /// Wavefronts of particle transport, from each corner of a 2-D grid of ranks.
    ///
    /// Eight octants (Koch, Baker, Alcouffe 1992); defaults of the Sweep3D motif of SST's Ember.
    ///
    /// # Model
    ///
    /// The Koch–Baker–Alcouffe wavefronts of Sweep3D (Koch, Baker, Alcouffe 1992;
    /// Hoisie, Lubeck, Wasserman: *Performance and Scalability Analysis of
    /// Teraflop-Scale Parallel Architectures Using Multidimensional Wavefront
    /// Applications*, Int. J. High Perf. Comp. Appl. 14, 2000) on a 2-D grid of ranks,
    /// each with a column of nx × ny × nz cells, as the Sweep3D motif of SST's Ember.
    ///
    /// An iteration sweeps over the grid from each of its four corners in turn, twice,
    /// for the two directions along z: eight octants. In each, a rank works on `kba`
    /// planes of its column at a time: it receives (blocking) what flows in from its x
    /// and from its y neighbour towards the corner, computes, and sends to the two on
    /// the other sides. So the ranks of a diagonal work at once, and an octant alone
    /// takes px + py − 2 + nz/kba such steps. The next octant starts wherever the one
    /// before has passed.
    ///
    /// Parameters, defaults, octants and sizes are Ember's, but that the faces across
    /// x have ny × kba cells and those across y nx × kba, where Ember has them the other
    /// way round. The last block is smaller if `kba` does not divide nz. Not modelled:
    /// blocks of angles; the convergence test.
    pub struct Sweep3d {
        /// Cells of each rank along each dimension.
        cells: [u32; 3] = [50; 3] => Notes::COUNT,
        /// Number of planes of cells that are computed at a time.
        kba: u32 = 1 => Notes::COUNT,
        /// Numbers per cell and octant.
        angles: u32 = 8 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// Operations per cell, angle and octant.
        flop_per_angle: f64 = 275.0 => Notes::AMOUNT,
        /// Ranks along x and y. Default: as nearly square as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
    }
}

/// Octants of an iteration.
const OCTANTS: u32 = 8;

/// Whether an octant's wavefront moves to higher ranks along x and along y. It
/// starts at the corners (0, 0), (px, 0), (px, py), (0, py) in turn.
fn ascends(octant: u32) -> [bool; 2] {
    match octant % 4 {
        0 => [true, true],
        1 => [false, true],
        2 => [false, false],
        _ => [true, false],
    }
}

impl Skeleton for Sweep3d {
    const NAME: &'static str = "sweep3d";
    const FLOP_PER_S: f64 = 1e9;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("cells", &self.cells)?;
        check.at_least("angles", self.angles, 1)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.number("flop_per_angle", self.flop_per_angle, 0.0)?;
        let [nx, ny, nz] = self.cells;
        if self.kba == 0 || self.kba > nz {
            let allowed = format!("1 to {nz}, the cells of a rank along z");
            return Err(check.error("kba", self.kba, allowed));
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 2, false)?;
        let blocks = nz.div_ceil(self.kba);
        if blocks > MOST_BLOCKS {
            let allowed = format!(
                "at least {}, for at most {MOST_BLOCKS} blocks",
                nz.div_ceil(MOST_BLOCKS)
            );
            return Err(check.error("kba", self.kba, allowed));
        }
        let cell = u64::from(self.angles) * u64::from(self.element_bytes);
        let plane = f64::from(nx) * f64::from(ny) * f64::from(self.angles) * self.flop_per_angle;
        let flop = f64::from(OCTANTS) * f64::from(nz) * plane;
        let computing = setting.computing::<Self>(flop)?;
        let last = nz - (blocks - 1) * self.kba;
        let block = |planes: u32| Block {
            faces: [ny, nx].map(|cells| Bytes(u64::from(cells) * u64::from(planes) * cell)),
            compute: computing.time(plane * f64::from(planes)),
        };
        Ok(vec![Phase::script(Sweep {
            grid,
            blocks,
            block: block(self.kba),
            last: block(last),
        })])
    }
}

/// As many as leave room for the octant in a tag.
const MOST_BLOCKS: u32 = 1 << 13;

/// The planes that are worked on at a time.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Sizes of what crosses faces across x and y.
    faces: [Bytes; 2],
    compute: Picoseconds,
}

/// One iteration. Its cursor counts octants as stages, and the five operations of
/// each block as positions.
#[derive(Clone, Debug)]
struct Sweep {
    grid: Grid,
    blocks: u32,
    block: Block,
    last: Block,
}

impl Script for Sweep {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        while cursor.stage < OCTANTS {
            let octant = cursor.stage;
            let (number, operation) = ((cursor.position / 5) as u32, cursor.position % 5);
            if number == self.blocks {
                cursor.stage += 1;
                cursor.position = 0;
                continue;
            }
            cursor.position += 1;
            let block = if number + 1 == self.blocks {
                self.last
            } else {
                self.block
            };
            let tag = octant * MOST_BLOCKS + number;
            let beside = |dimension: usize, onward: bool| {
                let up = ascends(octant)[dimension] == onward;
                self.grid.neighbour(rank, dimension, up)
            };
            let operation = match operation {
                0 | 1 => beside(operation as usize, false).map(|from| {
                    Operation::Do(Action::Receive {
                        from: Some(from),
                        context: SCRIPT_CONTEXT,
                        tag: Some(tag),
                    })
                }),
                2 => {
                    (block.compute > Picoseconds::ZERO).then_some(Operation::Compute(block.compute))
                }
                _ => {
                    let dimension = operation as usize - 3;
                    beside(dimension, true).map(|to| {
                        Operation::Do(Action::Send {
                            to,
                            bytes: block.faces[dimension],
                            context: SCRIPT_CONTEXT,
                            tag,
                        })
                    })
                }
            };
            if let Some(operation) = operation {
                return operation;
            }
        }
        Operation::Finish
    }

    fn totals(&self) -> Option<Totals> {
        let mut totals = Totals::default();
        for (block, count) in [(self.block, self.blocks - 1), (self.last, 1)] {
            for (dimension, face) in block.faces.into_iter().enumerate() {
                // Either direction of the faces is used in half of the octants.
                let messages = u64::from(OCTANTS / 2 * count) * self.grid.faces(dimension);
                totals.messages = totals.messages.checked_add(messages)?;
                let bytes = messages.checked_mul(face.0)?;
                totals.bytes = Bytes(totals.bytes.0.checked_add(bytes)?);
            }
        }
        Some(totals)
    }

    fn iterations(&self) -> u32 {
        // The phases around it count them.
        0
    }
}
