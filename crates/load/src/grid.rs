//! Process grids: ranks as points of a Cartesian grid.

use odonata_units::RankId;

use crate::error::LoadError;

/// A distance in a process grid: points along each dimension, 0 in dimensions
/// that the grid does not have.
pub type Offset = [i32; Grid::MOST_DIMENSIONS];

/// A Cartesian grid of ranks with 1 to 4 dimensions. Dimension 0 varies
/// fastest: rank = x₀ + e₀·(x₁ + e₁·(x₂ + e₂·x₃)), as in the Halo3D motif of
/// SST's Ember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    dimensions: usize,
    extents: [u32; Grid::MOST_DIMENSIONS],
    strides: [u32; Grid::MOST_DIMENSIONS],
    periodic: [bool; Grid::MOST_DIMENSIONS],
}

impl Grid {
    /// Most dimensions that a grid may have.
    pub const MOST_DIMENSIONS: usize = 4;

    /// A grid with `extents` points per dimension, wrapped around in every
    /// dimension if `periodic`.
    ///
    /// # Errors
    /// If there are no or more than four dimensions, one without points, or 2³²
    /// points or more.
    pub fn new(extents: &[u32], periodic: bool) -> Result<Self, LoadError> {
        let points = extents
            .iter()
            .try_fold(1u32, |product, &extent| product.checked_mul(extent));
        if extents.is_empty()
            || extents.len() > Self::MOST_DIMENSIONS
            || points.is_none_or(|points| points == 0)
        {
            return Err(LoadError::GridShape {
                grid: text(extents),
                most: Self::MOST_DIMENSIONS,
            });
        }
        let mut grid = Self {
            dimensions: extents.len(),
            extents: [1; Self::MOST_DIMENSIONS],
            strides: [1; Self::MOST_DIMENSIONS],
            periodic: [periodic; Self::MOST_DIMENSIONS],
        };
        grid.extents[..extents.len()].copy_from_slice(extents);
        for d in 1..Self::MOST_DIMENSIONS {
            grid.strides[d] = grid.strides[d - 1] * grid.extents[d - 1];
        }
        Ok(grid)
    }

    /// The same grid with each dimension wrapped around or open.
    ///
    /// # Errors
    /// If `periodic` has another number of entries than the grid dimensions.
    pub fn with_periodic(mut self, periodic: &[bool]) -> Result<Self, LoadError> {
        if periodic.len() != self.dimensions {
            return Err(LoadError::PerDimension {
                list: "the list of periodic dimensions",
                entries: periodic.len(),
                dimensions: self.dimensions,
            });
        }
        self.periodic[..self.dimensions].copy_from_slice(periodic);
        Ok(self)
    }

    /// The grid of exactly `ranks` points that is nearest to a cube: of all
    /// factorisations with falling extents, the one with the smallest largest
    /// extent, among those the smallest second largest, and so on; what
    /// `MPI_Dims_create` aims at. 1,000 ranks make 10x10x10, 48 ranks 4x4x3, a
    /// prime number a line.
    ///
    /// # Errors
    /// If there are no ranks, or no or more than four dimensions.
    pub fn near_cubic(ranks: u32, dimensions: usize, periodic: bool) -> Result<Self, LoadError> {
        if ranks == 0 || dimensions == 0 || dimensions > Self::MOST_DIMENSIONS {
            return Err(LoadError::GridShape {
                grid: format!("{dimensions} dimensions for {ranks} ranks"),
                most: Self::MOST_DIMENSIONS,
            });
        }
        let mut divisors: Vec<u32> = (1..=ranks.isqrt())
            .filter(|small| ranks.is_multiple_of(*small))
            .flat_map(|small| [small, ranks / small])
            .collect();
        divisors.sort_unstable();
        let extents = most_even_factors(ranks, dimensions, u32::MAX, &divisors)
            .unwrap_or_else(|| vec![ranks]);
        Self::new(&extents, periodic)
    }

    /// Fails unless the grid has one point per rank.
    pub(crate) fn check(&self, ranks: u32) -> Result<(), LoadError> {
        if self.points() != ranks {
            return Err(LoadError::GridSize {
                grid: text(self.extents()),
                points: u64::from(self.points()),
                ranks,
            });
        }
        Ok(())
    }

    /// Number of points.
    #[inline]
    pub fn points(&self) -> u32 {
        self.extents.iter().product()
    }

    /// Number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Points per dimension.
    pub fn extents(&self) -> &[u32] {
        &self.extents[..self.dimensions]
    }

    /// Whether `dimension` is wrapped around.
    #[inline]
    pub fn is_periodic(&self, dimension: usize) -> bool {
        self.periodic[dimension]
    }

    /// Coordinate of `rank` in `dimension`.
    #[inline]
    pub fn coordinate(&self, rank: RankId, dimension: usize) -> u32 {
        rank.0 / self.strides[dimension] % self.extents[dimension]
    }

    /// The rank one point up or down from `rank` in `dimension`. `None` at an
    /// open boundary, and in a dimension of a single point.
    #[inline]
    pub fn neighbour(&self, rank: RankId, dimension: usize, up: bool) -> Option<RankId> {
        let extent = self.extents[dimension];
        let stride = self.strides[dimension];
        let at = self.coordinate(rank, dimension);
        let (inside, step, wrap) = if up {
            (at + 1 < extent, stride, (extent - 1) * stride)
        } else {
            (
                at > 0,
                stride.wrapping_neg(),
                ((extent - 1) * stride).wrapping_neg(),
            )
        };
        if inside {
            Some(RankId(rank.0.wrapping_add(step)))
        } else if self.periodic[dimension] && extent > 1 {
            Some(RankId(rank.0.wrapping_sub(wrap)))
        } else {
            None
        }
    }

    /// Distance in ranks between neighbours in `dimension`.
    #[inline]
    pub fn stride(&self, dimension: usize) -> u32 {
        self.strides[dimension]
    }

    /// The rank that lies `offset` from `rank`, counted per dimension. `None`
    /// beyond an open boundary, and if that is `rank` itself.
    pub fn shifted(&self, rank: RankId, offset: Offset) -> Option<RankId> {
        let mut to = 0;
        for (dimension, &step) in offset.iter().enumerate() {
            let extent = i64::from(self.extents[dimension]);
            let mut at = i64::from(self.coordinate(rank, dimension)) + i64::from(step);
            if self.periodic[dimension] {
                at = at.rem_euclid(extent);
            }
            if !(0..extent).contains(&at) {
                return None;
            }
            to += at as u32 * self.strides[dimension];
        }
        (to != rank.0).then_some(RankId(to))
    }

    /// Number of ranks for which [`Self::shifted`] by `offset` is a rank.
    pub fn pairs(&self, offset: Offset) -> u64 {
        let mut pairs = 1;
        let mut moves = false;
        for (dimension, &step) in offset.iter().enumerate() {
            let extent = u64::from(self.extents[dimension]);
            let distance = u64::from(step.unsigned_abs());
            moves |= !distance.is_multiple_of(extent);
            pairs *= match self.periodic[dimension] {
                true => extent,
                false => extent.saturating_sub(distance),
            };
        }
        if moves { pairs } else { 0 }
    }

    /// Number of ordered pairs (rank, neighbour in `dimension`), over both directions.
    pub fn faces(&self, dimension: usize) -> u64 {
        let points = u64::from(self.points());
        let extent = u64::from(self.extents[dimension]);
        match (extent, self.periodic[dimension]) {
            (1, _) => 0,
            (_, true) => 2 * points,
            (_, false) => 2 * (points - points / extent),
        }
    }
}

/// Extents as text: `4x4x2`.
fn text(extents: &[u32]) -> String {
    match extents {
        [] => "none".to_owned(),
        _ => extents
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join("x"),
    }
}

/// The lexicographically smallest falling sequence of `count` factors of
/// `product`, none above `most`; `divisors` of the whole product, ascending.
fn most_even_factors(product: u32, count: usize, most: u32, divisors: &[u32]) -> Option<Vec<u32>> {
    if count == 1 {
        return (product <= most).then(|| vec![product]);
    }
    divisors
        .iter()
        .take_while(|&&factor| factor <= most)
        // The largest factor is at least the count-th root of the product.
        .filter(|&&factor| {
            product.is_multiple_of(factor)
                && u128::from(factor).pow(count as u32) >= u128::from(product)
        })
        .find_map(|&factor| {
            let mut rest = most_even_factors(product / factor, count - 1, factor, divisors)?;
            rest.insert(0, factor);
            Some(rest)
        })
}

#[cfg(test)]
mod tests;
