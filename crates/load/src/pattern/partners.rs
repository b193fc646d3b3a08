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
mod tests;
