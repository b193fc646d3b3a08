//! miniAMR: a stencil on a mesh that refines itself.

use std::sync::Arc;

use odonata_units::{Bytes, Picoseconds, RankId};

use super::parameters::Parameters;
use super::{Setting, Skeleton};
use crate::collective::CollectiveCall;
use crate::communicator::Communicator;
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::Phase;
use crate::program::{Repetition, Totals};
use crate::script::{Operation, Script};

odonata_declare::table! {
    /// A stencil on a mesh that is refined around a moving sphere.
    ///
    /// Messages grow with the level of refinement (Vaughan, Barrett 2015). `compute` is the time of a
    /// rank that is refined as far as can be.
    ///
    /// # Model
    ///
    /// Time steps of miniAMR (Vaughan, Barrett: *Enabling Tractable Exploration of the
    /// Performance of Adaptive Mesh Refinement*, IEEE Cluster 2015) on a 3-D grid of
    /// ranks, each with one block of the unrefined mesh.
    ///
    /// A sphere moves along the diagonal of the mesh, a rank's width in each
    /// refinement, and what is near its surface is refined: a rank whose block's centre
    /// is d block widths from the surface divides its block `levels` − ⌊d⌋ times (8
    /// blocks for each, never less than none), so that neighbours differ by one level
    /// at most, as in miniAMR. Two ranks exchange the ghost cells of all block faces
    /// between them in one message: at levels a and b, as many as 4^min(a, b) faces of
    /// a block have, as the finer side sends averages of four cells and the coarser
    /// side quarters of faces.
    ///
    /// An iteration is a time step of `stages` stages. A stage swaps ghosts along x,
    /// then y, then z, and computes; every `checksum_every` stages the variables are
    /// summed over all ranks. Every `refine_every` steps the mesh is refined first:
    /// the ranks agree on the numbers of blocks per level (an all-reduce), tell their
    /// neighbours the levels of the faces between them, and those that were refined
    /// pass a part of their new blocks on, to all neighbours alike.
    ///
    /// Defaults are miniAMR's own (blocks of 10³ cells, 40 variables, 20 stages, refined
    /// every 5 steps, checksum every 5 stages), but for 2 levels, where miniAMR has 5
    /// in a mesh that is not refined as a whole; the sphere's radius of a quarter of the
    /// mesh and the tenth of new blocks that moves are ours, as miniAMR has no object by
    /// default. Not modelled: load balancing beyond that; ranks with several blocks of the
    /// unrefined mesh.
    pub struct MiniAmr {
        /// Cells of a block along each dimension.
        cells: [u32; 3] = [10; 3] => Notes::COUNT,
        /// Numbers per cell.
        variables: u32 = 40 => Notes::COUNT,
        /// Size of one number.
        element_bytes: u32 = 8 => Notes::POSITIVE,
        /// How often a block can be divided.
        levels: u32 = 2 => Notes { least: Some(0.0), most: Some(6.0), ..Notes::NONE },
        /// Stages of a time step.
        stages: u32 = 20 => Notes::COUNT,
        /// Stages between two checksums; 0 for none.
        checksum_every: u32 = 5 => Notes::INDEX,
        /// Time steps between two refinements; 0 for a mesh that stays as it is.
        refine_every: u32 = 5 => Notes::INDEX,
        /// Fraction of a rank's new blocks that moves to its neighbours.
        moving: f64 = 0.1 => Notes::FRACTION,
        /// Operations per number and stage.
        flop_per_variable: f64 = 7.0 => Notes::AMOUNT,
        /// Ranks along each dimension. Default: as nearly cubic as can be.
        #[serde(skip_serializing_if = "Option::is_none")]
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(3), most_entries: Some(3), ..Notes::COUNT },
    }
}

impl MiniAmr {
    fn mesh(&self, setting: &Setting, iterations: u32) -> Result<Mesh, LoadError> {
        let check = Parameters(Self::NAME);
        check.extents("cells", &self.cells)?;
        check.at_least("variables", self.variables, 1)?;
        check.at_least("element", self.element_bytes, 1)?;
        check.number("flop_per_variable", self.flop_per_variable, 0.0)?;
        if self.levels > 6 {
            return Err(check.error("levels", self.levels, "0 to 6"));
        }
        if !(1..=10_000).contains(&self.stages) {
            return Err(check.error("stages", self.stages, "1 to 10000"));
        }
        if !(0.0..=1.0).contains(&self.moving) {
            return Err(check.error("moving", self.moving, "a number from 0 to 1"));
        }
        if iterations == 0 {
            return Err(LoadError::NoIterations);
        }
        let grid = check.grid(setting.ranks, self.grid.as_deref(), 3, false)?;
        let cell = u64::from(self.variables) * u64::from(self.element_bytes);
        let [x, y, z] = self.cells.map(u64::from);
        // Of a rank that is refined as far as can be.
        let cells = (x * y * z) as f64 * 8f64.powi(self.levels as i32);
        let flop = cells * f64::from(self.variables) * self.flop_per_variable;
        let stages = f64::from(self.stages);
        let computing = setting.computing::<Self>(flop * stages)?;
        let all = setting.ranks;
        let sums = |bytes: u64| Arc::new(setting.algorithms.allreduce(Bytes(bytes), all));
        Ok(Mesh {
            grid,
            iterations,
            faces: [y * z * cell, x * z * cell, x * y * cell],
            block: x * y * z * cell,
            compute: computing.time(flop),
            world: Arc::new(Communicator::world(all)),
            checksum: sums(cell),
            counts: sums(8 * (u64::from(self.levels) + 1)),
            parameters: self.clone(),
        })
    }
}

impl Skeleton for MiniAmr {
    const NAME: &'static str = "mini-amr";
    const FLOP_PER_S: f64 = 1e10;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        // What a step sends depends on its number.
        Ok(vec![Phase::script(self.mesh(setting, 1)?)])
    }

    fn script(&self, setting: &Setting, iterations: u32) -> Result<Arc<dyn Script>, LoadError> {
        Ok(Arc::new(self.mesh(setting, iterations)?))
    }
}

#[derive(Clone, Debug)]
struct Mesh {
    parameters: MiniAmr,
    grid: Grid,
    iterations: u32,
    /// Bytes of the faces of a block across each dimension.
    faces: [u64; 3],
    /// Bytes of a block.
    block: u64,
    /// Time that a stage computes, at the highest level.
    compute: Picoseconds,
    world: Arc<Communicator>,
    checksum: Arc<CollectiveCall>,
    counts: Arc<CollectiveCall>,
}

/// A part of a time step.
#[derive(Clone, Copy)]
enum Part {
    Counts,
    /// Levels of block faces, with all neighbours.
    Levels,
    /// New blocks, to all neighbours.
    Blocks,
    /// Ghost cells, along a dimension.
    Ghosts(usize),
    Compute,
    Checksum {
        due: bool,
    },
}

/// Parts of a refinement and of a stage.
const REFINEMENT: [Part; 3] = [Part::Counts, Part::Levels, Part::Blocks];
const STAGE: [Part; 5] = [
    Part::Ghosts(0),
    Part::Ghosts(1),
    Part::Ghosts(2),
    Part::Compute,
    Part::Checksum { due: false },
];

impl Mesh {
    /// Part number `index` of time step `step`; `None`: the step is over.
    fn part(&self, step: u32, index: u32) -> Option<Part> {
        let every = self.parameters.refine_every;
        let refines = every > 0 && step.is_multiple_of(every);
        let refinement = if refines { REFINEMENT.len() as u32 } else { 0 };
        let Some(index) = index.checked_sub(refinement) else {
            return Some(REFINEMENT[index as usize]);
        };
        let (stage, part) = (index / STAGE.len() as u32, index as usize % STAGE.len());
        if stage >= self.parameters.stages {
            return None;
        }
        let every = self.parameters.checksum_every;
        Some(match STAGE[part] {
            Part::Checksum { .. } => Part::Checksum {
                due: every > 0 && (stage + 1).is_multiple_of(every),
            },
            part => part,
        })
    }

    /// Number of the last refinement before the stages of time step `step`.
    fn refinement(&self, step: u32) -> u32 {
        step.checked_div(self.parameters.refine_every).unwrap_or(0)
    }

    /// How often the block of `rank` is divided after a refinement.
    fn level(&self, rank: RankId, refinement: u32) -> u32 {
        let extents = self.grid.extents();
        let shortest = f64::from(extents.iter().copied().min().unwrap_or(1));
        let moved = f64::from(refinement);
        let mut square = 0.0;
        for (dimension, &extent) in extents.iter().enumerate() {
            // It comes back at the other end of the mesh.
            let centre = moved % f64::from(extent);
            let distance = f64::from(self.grid.coordinate(rank, dimension)) + 0.5 - centre;
            square += distance * distance;
        }
        let distance = (square.sqrt() - shortest / 4.0).abs();
        self.parameters.levels.saturating_sub(distance as u32)
    }

    /// Bytes that `from` sends to its neighbour `to` across `dimension`.
    fn bytes(&self, part: Part, step: u32, from: RankId, to: RankId, dimension: usize) -> Bytes {
        let refinement = self.refinement(step);
        let level = |rank| self.level(rank, refinement);
        let faces = 4u64.pow(level(from).min(level(to)));
        Bytes(match part {
            Part::Levels => 4 * faces,
            Part::Blocks => {
                let earlier = match refinement {
                    0 => 0,
                    _ => self.level(from, refinement - 1),
                };
                let new = 8u64.pow(level(from)).saturating_sub(8u64.pow(earlier));
                let sides = self.neighbours(from).count() as f64;
                let moving = new as f64 * self.parameters.moving / sides;
                moving.round() as u64 * self.block
            }
            _ => faces * self.faces[dimension],
        })
    }

    /// Neighbours of a rank across all dimensions, with the dimension and direction.
    fn neighbours(&self, rank: RankId) -> impl Iterator<Item = (RankId, usize, bool)> {
        let sides = (0..3).flat_map(|dimension| [(dimension, false), (dimension, true)]);
        sides.filter_map(move |(dimension, up)| {
            let beside = self.grid.neighbour(rank, dimension, up)?;
            Some((beside, dimension, up))
        })
    }

    /// Operation number `number` of an exchange: receives, then sends, then a
    /// wait; `None` after that.
    fn exchange(&self, part: Part, step: u32, rank: RankId, number: u64) -> Option<Operation> {
        let kind = match part {
            Part::Levels => 1,
            Part::Blocks => 2,
            _ => 0,
        };
        let tag = |dimension: usize, up: bool| kind * 8 + dimension as u32 * 2 + u32::from(up);
        let sides = || {
            self.neighbours(rank)
                .filter(move |(_, dimension, _)| match part {
                    Part::Ghosts(only) => *dimension == only,
                    _ => true,
                })
        };
        let receives = sides().filter_map(|(from, dimension, up)| {
            let bytes = self.bytes(part, step, from, rank, dimension);
            (bytes > Bytes::ZERO).then_some(Operation::Receive {
                from,
                // It sends the other way.
                tag: tag(dimension, !up),
            })
        });
        let sends = sides().filter_map(|(to, dimension, up)| {
            let bytes = self.bytes(part, step, rank, to, dimension);
            (bytes > Bytes::ZERO).then_some(Operation::Send {
                to,
                bytes,
                tag: tag(dimension, up),
            })
        });
        let wait = std::iter::once(Operation::WaitAll);
        receives.chain(sends).chain(wait).nth(number as usize)
    }

    /// The collective of all ranks.
    fn all(&self, call: &Arc<CollectiveCall>) -> Option<Operation> {
        (self.grid.points() > 1).then(|| Operation::Collective {
            communicator: self.world.clone(),
            call: call.clone(),
            handle: None,
        })
    }
}

impl Script for Mesh {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        while cursor.iteration < self.iterations {
            let (step, index, number) = (cursor.iteration, cursor.stage, cursor.position);
            cursor.position += 1;
            let Some(part) = self.part(step, index) else {
                return cursor.end_iteration();
            };
            let operation = match part {
                Part::Counts if number == 0 => self.all(&self.counts),
                Part::Checksum { due: true } if number == 0 => self.all(&self.checksum),
                Part::Compute if number == 0 => {
                    let coarser = self.parameters.levels - self.level(rank, self.refinement(step));
                    let time = Picoseconds(self.compute.0 >> (3 * coarser));
                    (time > Picoseconds::ZERO).then_some(Operation::Compute(time))
                }
                Part::Counts | Part::Checksum { .. } | Part::Compute => None,
                exchange => self.exchange(exchange, step, rank, number),
            };
            match operation {
                Some(operation) => return operation,
                None => {
                    cursor.stage += 1;
                    cursor.position = 0;
                }
            }
        }
        Operation::Finish
    }

    fn totals(&self) -> Option<Totals> {
        // It would take as long to count as to run.
        None
    }

    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn repetition(&self) -> Repetition {
        // The sphere moves.
        Repetition::Varied
    }
}
