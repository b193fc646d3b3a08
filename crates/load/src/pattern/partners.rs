//! Ranks with several fixed partners: neighbours in a grid, counterparts in other
//! groups, all others.

use odonata_declare::Named;
use odonata_units::RankId;
use odonata_units::random::StreamKey;

use serde::{Deserialize, Serialize};

use super::Blocks;
use crate::error::LoadError;
use crate::grid::Grid;

/// Which of its partners a rank sends to when its time has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// One of them, each with the same probability.
    #[default]
    Random,
    /// One after the other, each message to the next.
    Next,
    /// All of them, a message each.
    All,
}

/// The partners of every rank, and which of them get a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partners {
    name: &'static str,
    turn: Turn,
    /// Where each rank's partners start in `partners`; one more entry at the end.
    starts: Vec<u32>,
    partners: Vec<u32>,
    /// Most partners of a rank.
    most: u32,
}

impl Partners {
    fn of_lists(
        name: &'static str,
        turn: Turn,
        lists: impl Iterator<Item = Vec<u32>>,
    ) -> Result<Self, LoadError> {
        let mut made = Self {
            name,
            turn,
            starts: vec![0],
            partners: Vec::new(),
            most: 0,
        };
        for list in lists {
            made.most = made.most.max(list.len() as u32);
            made.partners.extend(list);
            let end = u32::try_from(made.partners.len()).map_err(|_| LoadError::TooManyPartners)?;
            made.starts.push(end);
        }
        Ok(made)
    }

    /// The neighbours across the faces of a process grid: along the first dimension
    /// up and down, along the second, and so on. In a dimension of two points that
    /// wraps around, the one neighbour counts twice; at a border that does not wrap
    /// around there is none.
    ///
    /// # Errors
    /// If there are 2³² or more in all.
    pub fn neighbours(grid: &Grid, turn: Turn) -> Result<Self, LoadError> {
        let of = |rank: u32| {
            let along = |dimension| {
                [true, false].map(move |up| grid.neighbour(RankId(rank), dimension, up))
            };
            let all = (0..grid.dimensions()).flat_map(along).flatten();
            all.filter(|to| to.0 != rank).map(|to| to.0).collect()
        };
        Self::of_lists("stencil", turn, (0..grid.points()).map(of))
    }

    /// The ranks so far away on the ring of all, one for each of `distances`; one that is
    /// given twice counts twice, and distances of whole rounds, to oneself, are left out.
    ///
    /// # Errors
    /// If there are 2³² or more in all.
    pub fn at_distances(ranks: u32, distances: &[u32], turn: Turn) -> Result<Self, LoadError> {
        let of = |rank: u32| {
            let ring = u64::from(ranks);
            let to = move |&away: &u32| ((u64::from(rank) + u64::from(away)) % ring) as u32;
            distances.iter().map(to).filter(|&to| to != rank).collect()
        };
        Self::of_lists("distances", turn, (0..ranks).map(of))
    }

    /// All other ranks for `root`, in order of their number; none for the others: what
    /// one rank has goes to all.
    ///
    /// # Errors
    /// If there is no such rank.
    pub fn all_of_one(ranks: u32, root: RankId) -> Result<Self, LoadError> {
        if root.0 >= ranks {
            return Err(LoadError::UnknownRank {
                list: "the root",
                rank: root.0,
                last: ranks.saturating_sub(1),
            });
        }
        let of = |rank: u32| match rank == root.0 {
            true => (0..ranks).filter(|&to| to != rank).collect(),
            false => Vec::new(),
        };
        Self::of_lists("broadcast", Turn::All, (0..ranks).map(of))
    }

    /// The ranks at the same position of all other blocks (position modulo its size, if
    /// a block is smaller), the next block first: with a block per group, ranks of the
    /// same local number (*same local node ID* of Kang et al. 2019, section 3.3).
    ///
    /// # Errors
    /// With fewer than two blocks.
    pub fn counterparts(blocks: &Blocks, turn: Turn) -> Result<Self, LoadError> {
        let count = blocks.count();
        if count < 2 {
            return Err(LoadError::OneBlock {
                load: "group-peers",
            });
        }
        let of = |rank: u32| {
            let (block, position) = (blocks.of(RankId(rank)), blocks.position(RankId(rank)));
            let others = (1..count).map(|shift| blocks.members((block + shift) % count));
            others
                .map(|members| members[position as usize % members.len()])
                .collect()
        };
        Self::of_lists("group-peers", turn, (0..blocks.ranks()).map(of))
    }

    /// Name of the pattern.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The partners of a rank.
    #[inline]
    pub fn of(&self, rank: RankId) -> &[u32] {
        let rank = rank.index();
        &self.partners[self.starts[rank] as usize..self.starts[rank + 1] as usize]
    }

    /// Messages that a rank sends at a time.
    #[inline]
    pub fn at_once(&self, rank: RankId) -> u32 {
        match self.turn {
            Turn::All => self.of(rank).len() as u32,
            Turn::Random | Turn::Next => u32::from(!self.of(rank).is_empty()),
        }
    }

    /// The most messages that any rank sends at a time.
    pub fn most_at_once(&self) -> u32 {
        match self.turn {
            Turn::All => self.most,
            Turn::Random | Turn::Next => self.most.min(1),
        }
    }

    /// Which of its partners a rank sends to.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// The partner that gets message `n`.
    #[inline]
    pub(super) fn destination(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        source: RankId,
    ) -> Option<RankId> {
        let partners = self.of(source);
        let count = partners.len() as u32;
        if count == 0 {
            return None;
        }
        let index = match self.turn {
            Turn::Random => key.below(entity, n, count),
            Turn::Next | Turn::All => n % count,
        };
        Some(RankId(partners[index as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::random::Purpose;

    fn destinations(partners: &Partners, source: u32, messages: u32) -> Vec<u32> {
        let key = StreamKey::new(5, Purpose::Destination);
        let of = |n| {
            partners
                .destination(key, 0, n, RankId(source))
                .map(|to| to.0)
        };
        (0..messages).filter_map(of).collect()
    }

    #[test]
    fn inner_points_of_a_cube_have_six_neighbours() {
        let open = Grid::new(&[3, 3, 3], false).unwrap();
        let all = Partners::neighbours(&open, Turn::All).unwrap();
        // Rank = x + 3y + 9z; the middle is (1, 1, 1).
        assert_eq!(all.of(RankId(13)), [14, 12, 16, 10, 22, 4]);
        assert_eq!(all.of(RankId(0)), [1, 3, 9]);
        assert_eq!((all.at_once(RankId(0)), all.most_at_once()), (3, 6));
        assert_eq!(destinations(&all, 0, 7), [1, 3, 9, 1, 3, 9, 1]);
        let around = Grid::new(&[3, 3, 3], true).unwrap();
        let around = Partners::neighbours(&around, Turn::Random).unwrap();
        assert_eq!(around.of(RankId(0)), [1, 2, 3, 6, 9, 18]);
        assert_eq!(around.most_at_once(), 1);
        // Each of six with probability 1/6: 1,000 ± 144 of 6,000 (five deviations).
        let drawn = destinations(&around, 0, 6_000);
        for to in [1, 2, 3, 6, 9, 18] {
            let count = drawn.iter().filter(|&&drawn| drawn == to).count();
            assert!(count.abs_diff(1_000) < 144, "{to}: {count}");
        }
    }

    #[test]
    fn flat_dimensions_have_no_neighbours_and_pairs_have_one_twice() {
        let grid = Grid::new(&[2, 1, 3], true).unwrap();
        let partners = Partners::neighbours(&grid, Turn::Next).unwrap();
        assert_eq!(partners.of(RankId(0)), [1, 1, 2, 4]);
    }

    #[test]
    fn partners_at_distances_lie_on_a_ring() {
        let partners = Partners::at_distances(5, &[1, 4, 5, 7], Turn::Next).unwrap();
        assert_eq!(partners.of(RankId(0)), [1, 4, 2]);
        assert_eq!(partners.of(RankId(4)), [0, 3, 1]);
    }

    #[test]
    fn one_rank_sends_to_all_others() {
        let partners = Partners::all_of_one(4, RankId(2)).unwrap();
        assert_eq!(destinations(&partners, 2, 4), [0, 1, 3, 0]);
        assert!(destinations(&partners, 0, 4).is_empty());
        assert_eq!(
            (partners.at_once(RankId(0)), partners.most_at_once()),
            (0, 3)
        );
        assert!(Partners::all_of_one(4, RankId(4)).is_err());
    }

    #[test]
    fn counterparts_have_the_same_place_in_every_other_block() {
        // Blocks 0: ranks 0, 1, 2; 1: ranks 3, 4; 2: ranks 5, 6, 7.
        let blocks = Blocks::new(&[0, 0, 0, 1, 1, 2, 2, 2]);
        let partners = Partners::counterparts(&blocks, Turn::Next).unwrap();
        assert_eq!(partners.of(RankId(1)), [4, 6]);
        assert_eq!(partners.of(RankId(3)), [5, 0]);
        // Place 2 of the block of two is its place 0.
        assert_eq!(partners.of(RankId(7)), [2, 3]);
        assert_eq!(destinations(&partners, 1, 3), [4, 6, 4]);
        assert!(Partners::counterparts(&Blocks::new(&[4, 4]), Turn::Next).is_err());
    }
}
