//! Ranks partitioned into blocks, for patterns that care where traffic goes as a whole.

use odonata_units::RankId;

use crate::error::LoadError;

/// A partition of a job's ranks. Adversarial patterns send from one block to
/// another; the caller makes a block of the ranks of each group (or router) of
/// the machine, which this room knows nothing of.
///
/// Blocks without ranks do not count: the others keep their order and close the
/// gaps, so that "the next block" always exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Block of each rank, dense from zero.
    block_of: Vec<u32>,
    /// Position of each rank among the ranks of its block.
    position: Vec<u32>,
    /// Where the members of each block start in `members`; one more entry at the end.
    starts: Vec<u32>,
    /// Ranks sorted by block, then rank.
    members: Vec<u32>,
}

impl Blocks {
    /// The partition that puts rank `r` into block `block_of_rank[r]`. Numbers
    /// may have gaps, only their order counts.
    pub fn new(block_of_rank: &[u32]) -> Self {
        let mut present = block_of_rank.to_vec();
        present.sort_unstable();
        present.dedup();
        let block_of: Vec<u32> = block_of_rank
            .iter()
            .map(|block| present.binary_search(block).map_or(0, |dense| dense as u32))
            .collect();
        let mut starts = vec![0u32; present.len() + 1];
        for &block in &block_of {
            starts[block as usize + 1] += 1;
        }
        for block in 0..present.len() {
            starts[block + 1] += starts[block];
        }
        let mut filled = starts.clone();
        let mut members = vec![0; block_of.len()];
        let mut position = Vec::with_capacity(block_of.len());
        for (rank, &block) in block_of.iter().enumerate() {
            let slot = &mut filled[block as usize];
            members[*slot as usize] = rank as u32;
            position.push(*slot - starts[block as usize]);
            *slot += 1;
        }
        Self {
            block_of,
            position,
            starts,
            members,
        }
    }

    /// `ranks` ranks in consecutive blocks of `size` (the last may be smaller).
    ///
    /// # Panics
    /// If `size` is zero.
    pub fn consecutive(ranks: u32, size: u32) -> Self {
        Self::new(&(0..ranks).map(|rank| rank / size).collect::<Vec<_>>())
    }

    /// Number of ranks.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.block_of.len() as u32
    }

    /// Number of blocks, all of which hold ranks.
    #[inline]
    pub fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Block of `rank`.
    #[inline]
    pub fn of(&self, rank: RankId) -> u32 {
        self.block_of[rank.index()]
    }

    /// Position of `rank` among the ranks of its block.
    #[inline]
    pub fn position(&self, rank: RankId) -> u32 {
        self.position[rank.index()]
    }

    /// Ranks of `block`, ascending.
    #[inline]
    pub fn members(&self, block: u32) -> &[u32] {
        let block = block as usize;
        &self.members[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    /// `shift` reduced to 1..count, or why it leads nowhere.
    pub(crate) fn reduce(&self, load: &'static str, shift: i64) -> Result<u32, LoadError> {
        let blocks = self.count();
        let reduced = match blocks {
            0 | 1 => 0,
            _ => shift.rem_euclid(i64::from(blocks)) as u32,
        };
        if reduced == 0 {
            return Err(LoadError::BlockShift {
                load,
                shift,
                blocks,
            });
        }
        Ok(reduced)
    }

    /// The block `shift` blocks after `block`, cyclically; `shift` < count.
    #[inline(always)]
    pub(crate) fn shifted(&self, block: u32, shift: u32) -> u32 {
        let target = block + shift;
        if target >= self.count() {
            target - self.count()
        } else {
            target
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_block_numbers_close() {
        // Groups 2, 5 and 9 of a machine hold ranks; they become blocks 0, 1, 2.
        let blocks = Blocks::new(&[5, 2, 9, 5, 2]);
        assert_eq!(blocks.count(), 3);
        assert_eq!(blocks.members(0), [1, 4]);
        assert_eq!(blocks.members(1), [0, 3]);
        assert_eq!(blocks.members(2), [2]);
        assert_eq!(blocks.of(RankId(3)), 1);
        assert_eq!(blocks.position(RankId(3)), 1);
    }

    #[test]
    fn shifts_are_cyclic_and_never_zero() {
        let blocks = Blocks::consecutive(10, 2);
        assert_eq!(blocks.reduce("test", 7), Ok(2));
        assert_eq!(blocks.reduce("test", -1), Ok(4));
        assert!(blocks.reduce("test", 5).is_err());
        assert!(Blocks::consecutive(4, 4).reduce("test", 1).is_err());
        assert!(Blocks::new(&[]).reduce("test", 1).is_err());
        assert_eq!(blocks.shifted(4, 2), 1);
    }
}
