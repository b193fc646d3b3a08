//! Exchanges with the ranks around each rank of a process grid.

use odonata_units::{Bytes, RankId};

use crate::error::LoadError;
use crate::grid::{Grid, Offset};
use crate::motif::{Repeat, Stepped, Steps};
use crate::phases::Phase;

/// Every rank sends one message in each of several directions, all at once, and
/// waits for them and for those that it receives. Nothing crosses open
/// boundaries.
#[derive(Clone, Debug)]
pub struct Stencil {
    grid: Grid,
    directions: Vec<Direction>,
}

#[derive(Clone, Copy, Debug)]
struct Direction {
    offset: Offset,
    bytes: Bytes,
}

impl Stencil {
    /// Messages to all ranks up to `reach` points away in any dimension of
    /// `grid`, of as many bytes as `size` says; none where it says 0.
    ///
    /// In a wrapped dimension of e points ranks more than e/2 points away are
    /// left out, as they are nearer the other way round.
    pub fn new(grid: Grid, reach: u32, size: impl Fn(Offset) -> u64) -> Self {
        let mut directions = Vec::new();
        let reaches: Vec<i32> = (0..grid.dimensions())
            .map(|dimension| {
                let extent = grid.extents()[dimension];
                let most = match grid.is_periodic(dimension) {
                    true => (extent / 2).max(1),
                    false => extent - 1,
                };
                reach.min(most) as i32
            })
            .collect();
        let mut offset: Offset = [0; Grid::MOST_DIMENSIONS];
        for (step, &reach) in offset.iter_mut().zip(&reaches) {
            *step = -reach;
        }
        loop {
            let bytes = Bytes(if offset == Offset::default() {
                0
            } else {
                size(offset)
            });
            if bytes > Bytes::ZERO {
                directions.push(Direction { offset, bytes });
            }
            // The next one, dimension 0 fastest.
            let turned = offset
                .iter()
                .zip(&reaches)
                .position(|(step, reach)| step < reach);
            let Some(dimension) = turned else { break };
            offset[dimension] += 1;
            for (step, &reach) in offset.iter_mut().zip(&reaches).take(dimension) {
                *step = -reach;
            }
        }
        Self { grid, directions }
    }

    /// The messages of both at once, on the same grid.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        debug_assert_eq!(self.grid, other.grid);
        self.directions.extend(other.directions);
        self
    }

    /// As a phase.
    ///
    /// # Errors
    /// If totals exceed 64 bits.
    pub fn phase(self) -> Result<Phase, LoadError> {
        let exchange = Stepped::with_window(self, u32::MAX, Repeat::ONCE)?;
        Ok(Phase::script(exchange))
    }
}

/// Points in the part of a box's surface that faces `offset`, `depth` points
/// deep: for a neighbour across a face, an edge or a corner, whichever it is.
pub fn surface(extents: &[u64], offset: Offset, depth: u64) -> u64 {
    let along = |(&extent, step): (&u64, i32)| if step == 0 { extent } else { depth };
    extents.iter().zip(offset).map(along).product()
}

/// How many dimensions `offset` goes along: 1 for faces, 2 for edges, 3 for corners.
pub fn diagonality(offset: Offset) -> usize {
    offset.iter().filter(|&&step| step != 0).count()
}

impl Steps for Stencil {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn steps(&self) -> u32 {
        self.directions.len() as u32
    }

    fn destination(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        let offset = self.directions[step as usize].offset;
        self.grid.shifted(rank, offset)
    }

    fn source(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        let offset = self.directions[step as usize].offset;
        self.grid.shifted(rank, offset.map(|step| -step))
    }

    fn bytes(&self, step: u32) -> Bytes {
        self.directions[step as usize].bytes
    }

    fn messages(&self, step: u32) -> u64 {
        self.grid.pairs(self.directions[step as usize].offset)
    }

    fn tag(&self, step: u32) -> u32 {
        step
    }
}
