//! Traffic patterns: who sends to whom.

mod blocks;
mod partners;
mod permutation;
mod rates;

use std::sync::Arc;

use odonata_units::RankId;
use odonata_units::random::{Stream, StreamKey};

pub use blocks::Blocks;
pub use partners::{Partners, Turn};
pub use permutation::Permutation;
pub use rates::Rates;

use crate::error::LoadError;
use crate::grid::Grid;

/// A rule that gives each message of a rank its destination.
///
/// The draw of a message depends on its key, its entity and its number alone,
/// never on the order in which messages are asked for. Variants that hold data
/// share it, so that a clone is cheap. [`Pattern::check`] tells beforehand
/// whether a pattern fits a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// Any rank but itself, each with the same probability.
    UniformRandom,
    /// Any rank, itself included, each with the same probability, as BookSim's
    /// `uniform` draws. A message to oneself stays within the node here, where
    /// BookSim's passes the router.
    UniformOrSelf,
    /// Always the rank that a fixed permutation gives; its fixed points send
    /// nothing. [`Pattern::random_permutation`] makes a random one.
    Permutation(Arc<Permutation>),
    /// Rank r sends to r + ⌈n/2⌉ − 1 (mod n): almost half-way round a ring
    /// (Dally and Towles, "Principles and Practices of Interconnection
    /// Networks", 2004, table 3.1).
    Tornado,
    /// Rank r sends to r + `offset` (mod n).
    Shift {
        /// Distance on the ring of ranks, below the number of ranks and not 0.
        offset: u32,
    },
    /// The ranks fill a square matrix row by row; rank (i, j) sends to (j, i)
    /// and the diagonal sends nothing. For n = 4ᵏ ranks this is the bit
    /// transpose of Dally and Towles (upper and lower half of the rank's bits
    /// swapped). [`Pattern::transpose`] finds the side.
    Transpose {
        /// Rows of the matrix: the square root of the number of ranks.
        side: u32,
    },
    /// A random rank of the other half: ranks below ⌊n/2⌋ send to ranks from
    /// ⌊n/2⌋ and the other way round (Kaplan et al. 2017, III.C).
    Bisection,
    /// The partner in the other half: ranks r and r + ⌊n/2⌋ send to each other.
    /// The last rank of an odd number sends nothing.
    BisectionPairs,
    /// Either neighbour on the ring of ranks, r − 1 or r + 1 (mod n), with the
    /// same probability.
    Neighbour,
    /// Any of the neighbours across the faces of a process grid, each with the
    /// same probability.
    Stencil(Grid),
    /// ADV+k: a random rank of the block `shift` blocks further (cyclically).
    /// With a block per Dragonfly group and a shift of 1 this is the worst case
    /// of minimal routing and BookSim's `bad_dragon` (Kim et al. 2008, section
    /// 5). [`Pattern::adversarial`] reduces any k.
    Adversarial {
        /// Block of each rank.
        blocks: Arc<Blocks>,
        /// k modulo the number of blocks, not 0.
        shift: u32,
    },
    /// The rank at the same position of the block `shift` blocks further
    /// (position modulo its size, if that block is smaller). Tornado traffic
    /// between groups is a shift of ⌈B/2⌉ − 1 among B blocks:
    /// [`Pattern::block_tornado`].
    BlockShift {
        /// Block of each rank.
        blocks: Arc<Blocks>,
        /// Distance modulo the number of blocks, not 0.
        shift: u32,
    },
    /// Any other rank of the same block, each with the same probability; a rank that
    /// is alone in its block sends nothing.
    WithinBlock {
        /// Block of each rank.
        blocks: Arc<Blocks>,
    },
    /// A share of the messages goes to a few hot ranks, the rest to any rank
    /// but the sender.
    HotSpot(Arc<HotSpot>),
    /// Every rank has several fixed partners.
    Partners(Arc<Partners>),
    /// By a matrix of rates.
    Matrix(Arc<Rates>),
}

/// A few ranks that draw more traffic than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct HotSpot {
    ranks: Vec<u32>,
    fraction: f64,
    /// The fraction as a bound on 32 uniform bits.
    threshold: u64,
}

impl HotSpot {
    /// A share of `fraction` of all messages goes to one of `ranks`, each with
    /// the same probability. A hot rank that draws itself sends to any other
    /// rank of the job instead, as do the other messages.
    ///
    /// # Errors
    /// If the list is empty or names a rank twice, or if the fraction lies
    /// outside [0, 1].
    pub fn new(ranks: &[RankId], fraction: f64) -> Result<Self, LoadError> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(LoadError::Fraction { found: fraction });
        }
        if ranks.is_empty() {
            return Err(LoadError::NoHotRanks);
        }
        let mut ranks: Vec<u32> = ranks.iter().map(|rank| rank.0).collect();
        ranks.sort_unstable();
        if let Some(pair) = ranks.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(LoadError::RepeatedRank {
                list: "the hot spot",
                rank: pair[0],
            });
        }
        Ok(Self {
            ranks,
            fraction,
            threshold: (fraction * (1u64 << 32) as f64).round() as u64,
        })
    }

    /// Share of the messages that goes to the hot ranks.
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// The hot ranks, ascending.
    pub fn ranks(&self) -> impl Iterator<Item = RankId> {
        self.ranks.iter().copied().map(RankId)
    }
}

/// 32 uniform bits as a uniform number below `bound` (Lemire's multiply-shift).
#[inline(always)]
fn below(bits: u32, bound: u32) -> u32 {
    ((u64::from(bits) * u64::from(bound)) >> 32) as u32
}

/// A uniform number below `ranks` - 1 as a rank other than `source`.
#[inline(always)]
fn skip(source: RankId, draw: u32) -> RankId {
    RankId(if draw >= source.0 { draw + 1 } else { draw })
}

impl Pattern {
    /// A permutation without fixed points, each with the same probability.
    ///
    /// # Errors
    /// With fewer than two ranks.
    pub fn random_permutation(ranks: u32, stream: &mut Stream) -> Result<Self, LoadError> {
        Permutation::random_derangement(ranks, stream).map(|p| Self::Permutation(Arc::new(p)))
    }

    /// The transpose of a square number of ranks.
    ///
    /// # Errors
    /// If the number is no square, or below 4.
    pub fn transpose(ranks: u32) -> Result<Self, LoadError> {
        let pattern = Self::Transpose {
            side: ranks.isqrt(),
        };
        pattern.check(ranks)?;
        Ok(pattern)
    }

    /// ADV+k over `blocks`; k may be negative or beyond the number of blocks.
    ///
    /// # Errors
    /// If traffic would stay in its block.
    pub fn adversarial(blocks: Arc<Blocks>, k: i64) -> Result<Self, LoadError> {
        let shift = blocks.reduce("adversarial", k)?;
        Ok(Self::Adversarial { blocks, shift })
    }

    /// To the same position of the block `k` blocks further.
    ///
    /// # Errors
    /// If traffic would stay in its block.
    pub fn block_shift(blocks: Arc<Blocks>, k: i64) -> Result<Self, LoadError> {
        let shift = blocks.reduce("block shift", k)?;
        Ok(Self::BlockShift { blocks, shift })
    }

    /// Tornado among blocks: to the same position of the block ⌈B/2⌉ − 1 further.
    ///
    /// # Errors
    /// With fewer than three blocks, among which that block is the own one.
    pub fn block_tornado(blocks: Arc<Blocks>) -> Result<Self, LoadError> {
        let distance = i64::from(blocks.count().div_ceil(2)) - 1;
        let shift = blocks.reduce("tornado", distance)?;
        Ok(Self::BlockShift { blocks, shift })
    }

    /// A share of `fraction` of the messages to one of `hot`, the rest uniform.
    ///
    /// # Errors
    /// As [`HotSpot::new`].
    pub fn hot_spot(hot: &[RankId], fraction: f64) -> Result<Self, LoadError> {
        HotSpot::new(hot, fraction).map(|spot| Self::HotSpot(Arc::new(spot)))
    }

    /// The pattern's name in scenarios and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UniformRandom => "uniform random",
            Self::UniformOrSelf => "uniform random with self",
            Self::Permutation(_) => "permutation",
            Self::Tornado => "tornado",
            Self::Shift { .. } => "shift",
            Self::Transpose { .. } => "transpose",
            Self::Bisection => "bisection",
            Self::BisectionPairs => "bisection pairs",
            Self::Neighbour => "neighbour",
            Self::Stencil(_) => "stencil",
            Self::Adversarial { .. } => "adversarial",
            Self::BlockShift { .. } => "block shift",
            Self::WithinBlock { .. } => "within group",
            Self::HotSpot(_) => "hot-spot",
            Self::Partners(partners) => partners.name(),
            Self::Matrix(rates) => rates.name(),
        }
    }

    /// Whether the pattern fits a job of `ranks` ranks. [`Pattern::destination`]
    /// may panic or answer a rank that does not exist where it does not.
    ///
    /// # Errors
    /// If there are too few ranks for anybody to send, or the pattern was made
    /// for another number of ranks.
    pub fn check(&self, ranks: u32) -> Result<(), LoadError> {
        let least = match self {
            Self::Tornado => 3,
            Self::Transpose { .. } => 4,
            _ => 2,
        };
        if ranks < least {
            return Err(LoadError::TooFewRanks {
                load: self.name(),
                ranks,
                least,
            });
        }
        match self {
            Self::Permutation(permutation) if permutation.ranks() != ranks => {
                Err(LoadError::ListLength {
                    list: "the permutation",
                    entries: permutation.ranks() as usize,
                    ranks,
                })
            }
            Self::Shift { offset } if *offset == 0 || *offset >= ranks => {
                Err(LoadError::BlockShift {
                    load: "shift",
                    shift: i64::from(*offset),
                    blocks: ranks,
                })
            }
            Self::Transpose { side } if u64::from(*side).pow(2) != u64::from(ranks) => {
                let root = u64::from(ranks.isqrt());
                Err(LoadError::NotSquare {
                    ranks,
                    below: root * root,
                    above: (root + 1) * (root + 1),
                })
            }
            Self::Stencil(grid) => grid.check(ranks),
            Self::Adversarial { blocks, shift } | Self::BlockShift { blocks, shift } => {
                if blocks.ranks() != ranks {
                    return Err(LoadError::ListLength {
                        list: "the list of blocks",
                        entries: blocks.ranks() as usize,
                        ranks,
                    });
                }
                blocks.reduce(self.name(), i64::from(*shift)).map(|_| ())
            }
            Self::WithinBlock { blocks } if blocks.ranks() != ranks => Err(LoadError::ListLength {
                list: "the list of blocks",
                entries: blocks.ranks() as usize,
                ranks,
            }),
            Self::Partners(partners) if partners.ranks() != ranks => Err(LoadError::ListLength {
                list: "the list of partners",
                entries: partners.ranks() as usize,
                ranks,
            }),
            Self::Matrix(rates) if rates.ranks() != ranks => Err(LoadError::ListLength {
                list: "the matrix of rates",
                entries: rates.ranks() as usize,
                ranks,
            }),
            Self::HotSpot(spot) => match spot.ranks.last() {
                Some(&rank) if rank >= ranks => Err(LoadError::UnknownRank {
                    list: "the hot spot",
                    rank,
                    last: ranks - 1,
                }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether all messages of a rank go to the same destination.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Permutation(_)
            | Self::Tornado
            | Self::Shift { .. }
            | Self::Transpose { .. }
            | Self::BisectionPairs
            | Self::BlockShift { .. } => true,
            Self::UniformRandom
            | Self::UniformOrSelf
            | Self::Bisection
            | Self::Neighbour
            | Self::Stencil(_)
            | Self::Adversarial { .. }
            | Self::WithinBlock { .. }
            | Self::HotSpot(_)
            | Self::Partners(_)
            | Self::Matrix(_) => false,
        }
    }

    /// How often `source` sends by the mean of all ranks.
    #[inline]
    pub fn relative_rate(&self, source: RankId) -> f64 {
        match self {
            Self::Matrix(rates) => rates.relative(source),
            _ => 1.0,
        }
    }

    /// The most and the least often that a rank sends by the mean of all ranks, those
    /// apart that do not send.
    pub fn rate_extremes(&self) -> (f64, f64) {
        match self {
            Self::Matrix(rates) => rates.extremes(),
            _ => (1.0, 1.0),
        }
    }

    /// Messages that `source` sends at a time.
    #[inline]
    pub fn at_once(&self, source: RankId) -> u32 {
        match self {
            Self::Partners(partners) => partners.at_once(source),
            _ => 1,
        }
    }

    /// The most messages that any rank sends at a time.
    pub fn most_at_once(&self) -> u32 {
        match self {
            Self::Partners(partners) => partners.most_at_once(),
            _ => 1,
        }
    }

    /// Destination of message `n` of `source` among `ranks` ranks; `None` if
    /// this rank sends nothing. `entity` identifies the sender in the random
    /// stream of `key`.
    #[inline]
    pub fn destination(
        &self,
        key: StreamKey,
        entity: u64,
        n: u32,
        source: RankId,
        ranks: u32,
    ) -> Option<RankId> {
        match self {
            Self::UniformRandom => {
                (ranks >= 2).then(|| skip(source, key.below(entity, n, ranks - 1)))
            }
            Self::UniformOrSelf => Some(RankId(key.below(entity, n, ranks))),
            Self::Permutation(permutation) => permutation.destination(source),
            Self::Tornado => ring(source, ranks.div_ceil(2).saturating_sub(1), ranks),
            Self::Shift { offset } => ring(source, *offset, ranks),
            Self::Transpose { side } => {
                let (row, column) = (source.0 / side, source.0 % side);
                (row != column).then(|| RankId(column * side + row))
            }
            Self::Bisection => {
                let half = ranks / 2;
                Some(RankId(if source.0 < half {
                    half + key.below(entity, n, ranks - half)
                } else if half > 0 {
                    key.below(entity, n, half)
                } else {
                    return None;
                }))
            }
            Self::BisectionPairs => {
                let half = ranks / 2;
                if source.0 < half {
                    Some(RankId(source.0 + half))
                } else if source.0 < 2 * half {
                    Some(RankId(source.0 - half))
                } else {
                    None
                }
            }
            Self::Neighbour => {
                // Arithmetic, as no branch predictor guesses a fair coin.
                let up = u64::from(key.bits32(entity, n) >> 31);
                let down = u64::from(ranks) - 1;
                let to = u64::from(source.0) + down - up * (down - 1);
                let wrapped = u64::from(to >= u64::from(ranks)) * u64::from(ranks);
                (ranks >= 2).then_some(RankId((to - wrapped) as u32))
            }
            Self::Stencil(grid) => stencil(grid, key.bits64(entity, n), source),
            Self::Adversarial { blocks, shift } => {
                let members = blocks.members(blocks.shifted(blocks.of(source), *shift));
                let draw = key.below(entity, n, members.len() as u32);
                Some(RankId(members[draw as usize]))
            }
            Self::WithinBlock { blocks } => {
                let members = blocks.members(blocks.of(source));
                let others = (members.len() as u32)
                    .checked_sub(1)
                    .filter(|&others| others > 0)?;
                let draw = key.below(entity, n, others);
                let own = blocks.position(source);
                Some(RankId(members[(draw + u32::from(draw >= own)) as usize]))
            }
            Self::BlockShift { blocks, shift } => {
                let members = blocks.members(blocks.shifted(blocks.of(source), *shift));
                let position = blocks.position(source) as usize;
                Some(RankId(if position < members.len() {
                    members[position]
                } else {
                    members[position % members.len()]
                }))
            }
            Self::HotSpot(spot) => {
                let bits = key.bits64(entity, n);
                let (coin, draw) = ((bits >> 32), bits as u32);
                if coin < spot.threshold {
                    let hot = spot.ranks[below(draw, spot.ranks.len() as u32) as usize];
                    if hot != source.0 {
                        return Some(RankId(hot));
                    }
                    // The draw that chose the sender itself is spent; the coin,
                    // given that it fell, is uniform below the threshold.
                    let fresh = (coin << 32) / spot.threshold;
                    return (ranks >= 2).then(|| skip(source, below(fresh as u32, ranks - 1)));
                }
                (ranks >= 2).then(|| skip(source, below(draw, ranks - 1)))
            }
            Self::Partners(partners) => partners.destination(key, entity, n, source),
            Self::Matrix(rates) => rates.destination(key, entity, n, source),
        }
    }
}

/// `distance` further than `source` on the ring of ranks; `distance` < `ranks`.
#[inline(always)]
fn ring(source: RankId, distance: u32, ranks: u32) -> Option<RankId> {
    let to = u64::from(source.0) + u64::from(distance);
    let to = if to >= u64::from(ranks) {
        to - u64::from(ranks)
    } else {
        to
    };
    (distance != 0).then_some(RankId(to as u32))
}

/// A neighbour of `source` on `grid`, each with the same probability: directions
/// are drawn until one leads to a neighbour.
#[inline]
fn stencil(grid: &Grid, mut bits: u64, source: RankId) -> Option<RankId> {
    if grid.points() < 2 {
        return None;
    }
    let directions = 2 * grid.dimensions() as u32;
    loop {
        let direction = below((bits >> 32) as u32, directions);
        let neighbour = grid.neighbour(source, direction as usize / 2, direction.is_multiple_of(2));
        if neighbour.is_some() {
            return neighbour;
        }
        // Knuth's MMIX generator: a full period, so that every direction comes up.
        bits = bits
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
}

#[cfg(test)]
mod tests;
