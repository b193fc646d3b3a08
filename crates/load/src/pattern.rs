//! Traffic patterns: who sends to whom.

use odonata_units::RankId;
use odonata_units::random::StreamKey;

/// A rule that gives each message of a rank its destination.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Any rank but itself, each with the same probability.
    UniformRandom,
}

impl Pattern {
    /// Destination of message `n` of `source` among `ranks` ranks; `None` if
    /// this rank sends nothing.
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
                if ranks < 2 {
                    return None;
                }
                let other = key.below(entity, n, ranks - 1);
                Some(RankId(if other >= source.0 { other + 1 } else { other }))
            }
        }
    }
}
