//! Halo exchange: every rank of a process grid swaps faces with its neighbours.

use odonata_declare::Named;
use odonata_units::{Bytes, RankId};
use serde::{Deserialize, Serialize};

use super::steps::{Outstanding, Receives, Repeat, Stepped, Steps};
use crate::error::LoadError;
use crate::grid::Grid;

/// Face exchange on a process grid of 1 to 4 dimensions. In step 2·d every
/// rank sends up in dimension d and receives from below, in step 2·d + 1 the
/// other way round; where dimensions are taken one after the other, down comes
/// first. Nothing crosses open boundaries, and nothing is sent in a
/// dimension of one point; in a wrapped dimension of two points both messages go
/// to the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaloSteps {
    grid: Grid,
    faces: [Bytes; Grid::MOST_DIMENSIONS],
    order: HaloOrder,
}

/// In which order the faces are exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum HaloOrder {
    /// All at once.
    #[default]
    Together,
    /// The exchanges of one dimension before the next.
    ///
    /// The two faces of one have been exchanged before the next.
    /// So the Halo3D motif of SST's Ember, with blocking sends, on an open grid; so codes
    /// that get their edges and corners that way.
    Dimensions,
}

/// The halo-exchange program.
pub type Halo = Stepped<HaloSteps>;

impl Halo {
    /// A halo exchange on `grid` with messages of `face` bytes in all dimensions.
    /// All messages of an iteration are outstanding at once.
    ///
    /// # Errors
    /// If the message is empty, there are no iterations, or totals exceed 64 bits.
    pub fn new(grid: Grid, face: Bytes, repeat: Repeat) -> Result<Self, LoadError> {
        let faces = vec![face; grid.dimensions()];
        Self::with_faces(grid, &faces, HaloOrder::Together, false, repeat)
    }

    /// The same with a size per dimension: `faces[d]` bytes travel along
    /// dimension d. In an order; and with sends that are complete before the
    /// rank goes on, if they are `blocking`.
    ///
    /// # Errors
    /// As [`Halo::new`], and if the sizes are not one per dimension.
    pub fn with_faces(
        grid: Grid,
        faces: &[Bytes],
        order: HaloOrder,
        blocking: bool,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        if faces.len() != grid.dimensions() {
            return Err(LoadError::PerDimension {
                list: "the list of face sizes",
                entries: faces.len(),
                dimensions: grid.dimensions(),
            });
        }
        let mut sizes = [Bytes::ZERO; Grid::MOST_DIMENSIONS];
        sizes[..faces.len()].copy_from_slice(faces);
        let steps = HaloSteps {
            grid,
            faces: sizes,
            order,
        };
        let outstanding = Outstanding {
            window: match order {
                HaloOrder::Together => u32::MAX,
                HaloOrder::Dimensions => 2,
            },
            blocking,
            receives: Receives::Ahead,
        };
        Self::with_window(steps, outstanding, repeat)
    }
}

impl HaloSteps {
    /// The process grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Whether the messages of a step go up.
    fn goes_up(&self, step: u32) -> bool {
        step.is_multiple_of(2) == (self.order == HaloOrder::Together)
    }
}

impl Steps for HaloSteps {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn steps(&self) -> u32 {
        2 * self.grid.dimensions() as u32
    }

    fn destination(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        self.grid
            .neighbour(rank, step as usize / 2, self.goes_up(step))
    }

    fn source(&self, rank: RankId, _: u32, step: u32) -> Option<RankId> {
        self.grid
            .neighbour(rank, step as usize / 2, !self.goes_up(step))
    }

    fn bytes(&self, step: u32) -> Bytes {
        self.faces[step as usize / 2]
    }

    fn messages(&self, step: u32) -> u64 {
        self.grid.faces(step as usize / 2) / 2
    }

    fn tag(&self, step: u32) -> u32 {
        step
    }
}

#[cfg(test)]
mod tests;
