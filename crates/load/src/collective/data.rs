//! What the messages of a collective carry: blocks of its data. Their bytes are
//! computed from them, here and nowhere else.

use std::sync::Arc;

use odonata_units::Bytes;
use serde::{Deserialize, Serialize};

use super::exchange::before;

/// How the data of a phase is cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Data {
    /// One block of no bytes.
    Nothing,
    /// Blocks of the same size.
    Equal { block: Bytes, parts: u32 },
    /// Blocks that differ by a byte at most.
    Split { total: Bytes, parts: u32 },
    /// Blocks of these sizes.
    Listed(Arc<[Bytes]>),
    /// What one member sends to each and receives from each; only it knows.
    Own {
        sends: Arc<[Bytes]>,
        receives: Arc<[Bytes]>,
    },
}

/// Blocks that travel in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    /// All.
    All,
    /// `count` blocks from `first` on; after the last comes the first.
    Range { first: u32, count: u32 },
    /// `count` blocks, the first and each `step` before the last; before the first comes the last.
    Every { first: u32, step: u32, count: u32 },
    /// The blocks of an all-to-all among `size` whose way has `distance` in its binary
    /// representation.
    Ways { distance: u32, size: u32 },
    /// The blocks of an all-to-all between partners of Bine trees among `size` that go to the
    /// partner's half.
    Half { round: u32, size: u32 },
    /// The block of an all-to-all that one place has for another.
    Pair { from: u32, to: u32 },
}

impl Blocks {
    /// One block.
    pub(super) fn one(block: u32) -> Self {
        Self::Range {
            first: block,
            count: 1,
        }
    }
}

impl Data {
    /// Number of blocks.
    pub(super) fn parts(&self) -> u32 {
        match self {
            Self::Nothing => 1,
            Self::Equal { parts, .. } | Self::Split { parts, .. } => *parts,
            Self::Listed(sizes) => sizes.len() as u32,
            Self::Own { sends, .. } => sends.len() as u32,
        }
    }

    /// Bytes of some blocks.
    pub(super) fn bytes(&self, blocks: Blocks) -> Bytes {
        match (self, blocks) {
            (Self::Nothing, _) => Bytes::ZERO,
            (Self::Own { sends, .. }, Blocks::Pair { to, .. }) => size_in(sends, to),
            (Self::Own { sends, .. }, _) => sends.iter().copied().sum(),
            (Self::Equal { block, .. }, Blocks::Pair { .. }) => *block,
            (Self::Equal { block, .. }, Blocks::Ways { distance, size }) => {
                let ways = ways_with(distance, size);
                Bytes(block.0.saturating_mul(u64::from(ways)))
            }
            (Self::Equal { block, .. }, Blocks::Half { size, .. }) => {
                Bytes(block.0.saturating_mul(u64::from(size / 2)))
            }
            (Self::Equal { block, parts }, Blocks::All) => {
                Bytes(block.0.saturating_mul(u64::from(*parts)))
            }
            (
                Self::Equal { block, .. },
                Blocks::Range { count, .. } | Blocks::Every { count, .. },
            ) => Bytes(block.0.saturating_mul(u64::from(count))),
            (Self::Split { total, .. }, Blocks::All) => *total,
            (Self::Split { total, parts }, Blocks::Range { first, count }) => {
                let (total, parts) = (u128::from(total.0), u128::from(*parts));
                let before = |block: u64| (total * u128::from(block) / parts) as u64;
                let (first, end) = (u64::from(first), u64::from(first) + u64::from(count));
                let last = parts as u64;
                if end <= last {
                    Bytes(before(end) - before(first))
                } else {
                    Bytes(before(last) - before(first) + before(end - last))
                }
            }
            (Self::Listed(sizes), Blocks::All) => sizes.iter().copied().sum(),
            (Self::Listed(sizes), Blocks::Range { first, count }) => {
                let block = |at: u32| (first as usize + at as usize) % sizes.len();
                (0..count).map(|at| sizes[block(at)]).sum()
            }
            (Self::Split { .. } | Self::Listed(_), Blocks::Every { first, step, count }) => (0
                ..count)
                .map(|at| self.bytes(Blocks::one(before(first, at * step, self.parts()))))
                .sum(),
            (
                Self::Split { .. } | Self::Listed(_),
                Blocks::Ways { .. } | Blocks::Half { .. } | Blocks::Pair { .. },
            ) => {
                unreachable!("only equal blocks and a member's own go from each to each")
            }
        }
    }
}

/// The size at a place of a list; nothing beyond its end.
pub(super) fn size_in(sizes: &[Bytes], place: u32) -> Bytes {
    sizes.get(place as usize).copied().unwrap_or(Bytes::ZERO)
}

/// How many numbers below `size` have the bit `distance`.
fn ways_with(distance: u32, size: u32) -> u32 {
    let (distance, size) = (u64::from(distance), u64::from(size));
    let whole = size / (2 * distance) * distance;
    (whole + (size % (2 * distance)).saturating_sub(distance)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_blocks_add_up_and_differ_by_a_byte_at_most() {
        for (total, parts) in [(100, 7), (3, 5), (0, 4), (u64::MAX, 3), (64, 64)] {
            let data = Data::Split {
                total: Bytes(total),
                parts,
            };
            let sizes: Vec<u64> = (0..parts).map(|b| data.bytes(Blocks::one(b)).0).collect();
            assert_eq!(sizes.iter().sum::<u64>(), total);
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            for first in 0..parts {
                for count in 0..=parts {
                    let range = data.bytes(Blocks::Range { first, count });
                    let cycle = sizes.iter().cycle().skip(first as usize);
                    assert_eq!(range.0, cycle.take(count as usize).sum::<u64>());
                }
            }
        }
    }

    #[test]
    fn ways_are_counted() {
        for size in 1..70 {
            for bit in 0..7 {
                let counted = (0..size).filter(|way| way >> bit & 1 == 1).count();
                assert_eq!(ways_with(1 << bit, size), counted as u32);
            }
        }
    }
}
