//! Traffic by a matrix of rates: who offers how much to whom.

use std::sync::Arc;

use odonata_units::RankId;
use odonata_units::random::StreamKey;

use super::Blocks;
use crate::error::LoadError;
use crate::matrix::CommunicationMatrix;

/// Name in messages.
const NAME: &str = "matrix";

/// How much each rank offers beside the others, and how that is shared out among its
/// destinations. Rows and columns of the matrix are ranks, or blocks of them (racks,
/// groups) whose ranks share what a row says evenly and receive evenly. What a block
/// sends to itself goes to any other of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// `None`: rows are ranks.
    blocks: Option<Arc<Blocks>>,
    ranks: u32,
    /// Where each row's columns start; one more entry at the end.
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// For each entry of a row but the last, the share of it and those before it of the
    /// row, as a bound on 64 uniform bits; of the last, 2^64 - 1.
    bounds: Vec<u64>,
    /// What a rank of the row offers by the mean of all ranks of the job.
    relative: Vec<f64>,
    most: f64,
    least: f64,
}

impl Rates {
    /// A row and a column for every rank; a matrix of fewer ranks than the job leaves
    /// the others silent.
    ///
    /// # Errors
    /// If it has more rows than the job ranks, or holds nothing between two ranks.
    pub fn between_ranks(matrix: &CommunicationMatrix, ranks: u32) -> Result<Self, LoadError> {
        if matrix.ranks() > ranks {
            return Err(LoadError::ListLength {
                list: "the matrix of rates",
                entries: matrix.ranks() as usize,
                ranks,
            });
        }
        Self::new(matrix, None, ranks)
    }

    /// A row and a column for every block, in their order.
    ///
    /// # Errors
    /// If there are not as many blocks as rows, or the matrix holds nothing that can be
    /// sent.
    pub fn between_blocks(
        matrix: &CommunicationMatrix,
        blocks: Arc<Blocks>,
    ) -> Result<Self, LoadError> {
        if matrix.ranks() != blocks.count() {
            return Err(LoadError::Rows {
                rows: matrix.ranks(),
                blocks: blocks.count(),
            });
        }
        let ranks = blocks.ranks();
        Self::new(matrix, Some(blocks), ranks)
    }

    fn new(
        matrix: &CommunicationMatrix,
        blocks: Option<Arc<Blocks>>,
        ranks: u32,
    ) -> Result<Self, LoadError> {
        let rows = blocks.as_ref().map_or(ranks, |blocks| blocks.count());
        let size = |row: u32| {
            blocks
                .as_ref()
                .map_or(1, |blocks| blocks.members(row).len() as u32)
        };
        let mut rates = Self {
            starts: vec![0],
            columns: Vec::new(),
            bounds: Vec::new(),
            relative: Vec::with_capacity(rows as usize),
            ranks,
            most: 0.0,
            least: f64::INFINITY,
            blocks: blocks.clone(),
        };
        let mut total = 0.0;
        for row in 0..rows {
            let entries = match row < matrix.ranks() {
                true => matrix.row(RankId(row)),
                false => &[],
            };
            // Nobody sends to itself.
            let sent = entries
                .iter()
                .filter(|entry| entry.to.0 != row || size(row) > 1);
            let sent: Vec<(u32, u64)> = sent
                .map(|entry| (entry.to.0, entry.bytes))
                .filter(|&(_, bytes)| bytes > 0)
                .collect();
            let sum: u128 = sent.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
            let mut running = 0u128;
            for &(column, bytes) in &sent {
                running += u128::from(bytes);
                rates.columns.push(column);
                // Sums of up to 2^64 times 2^64 fit.
                let bound = ((running << 64) / sum).min(u128::from(u64::MAX));
                rates.bounds.push(bound as u64);
            }
            let end = u32::try_from(rates.columns.len()).map_err(|_| LoadError::TooManyPartners)?;
            rates.starts.push(end);
            rates.relative.push(sum as f64 / f64::from(size(row)));
            total += sum as f64;
        }
        if total <= 0.0 {
            return Err(LoadError::NoRates);
        }
        let mean = total / f64::from(ranks);
        for relative in &mut rates.relative {
            *relative /= mean;
            if *relative > 0.0 {
                rates.most = rates.most.max(*relative);
                rates.least = rates.least.min(*relative);
            }
        }
        Ok(rates)
    }

    /// Name of the pattern.
    pub(super) fn name(&self) -> &'static str {
        NAME
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    #[inline]
    fn row(&self, rank: RankId) -> u32 {
        match &self.blocks {
            None => rank.0,
            Some(blocks) => blocks.of(rank),
        }
    }

    /// What a rank offers by the mean of all ranks of the job; 0: nothing.
    #[inline]
    pub fn relative(&self, rank: RankId) -> f64 {
        self.relative[self.row(rank) as usize]
    }

    /// The most and the least that a rank offers by the mean, those apart that offer
    /// nothing.
    pub fn extremes(&self) -> (f64, f64) {
        (self.most, self.least)
    }

    /// Destination of message `n` of `source`; `None` if it sends nothing.
    #[inline]
    pub(super) fn destination(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        source: RankId,
    ) -> Option<RankId> {
        let row = self.row(source) as usize;
        let (start, end) = (self.starts[row] as usize, self.starts[row + 1] as usize);
        let bounds = &self.bounds[start..end];
        let last = bounds.len().checked_sub(1)?;
        let bits = key.bits64(entity, n);
        let place = bounds.partition_point(|&bound| bound <= bits).min(last);
        let column = self.columns[start + place];
        let Some(blocks) = &self.blocks else {
            return Some(RankId(column));
        };
        // Where the draw lies within its entry's part is uniform again.
        let from = place.checked_sub(1).map_or(0, |before| bounds[before]);
        let width = u128::from(bounds[place] - from) + 1;
        let members = blocks.members(column);
        let own = (column as usize == row).then(|| blocks.position(source));
        let others = members.len() as u64 - u64::from(own.is_some());
        let draw = (u128::from(bits - from) * u128::from(others) / width) as u32;
        let skipped = own.is_some_and(|own| draw >= own);
        members
            .get((draw + u32::from(skipped)) as usize)
            .copied()
            .map(RankId)
    }
}

#[cfg(test)]
mod tests;
