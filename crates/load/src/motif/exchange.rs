//! Exchanges: a traffic pattern as a closed-loop motif.

use std::sync::Arc;

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, JobId, RankId};

use super::all_to_all::around;
use super::random_cycle::RandomCycle;
use super::steps::{Repeat, Stepped, Steps};
use crate::error::LoadError;
use crate::pattern::{Pattern, Permutation};
use crate::program::Repetition;

/// In every iteration each rank sends to its partner (or partners) under a
/// pattern and waits until it has received from the rank whose partner it is.
#[derive(Clone, Debug)]
pub struct ExchangeSteps {
    partners: Partners,
    ranks: u32,
    message: Bytes,
    messages: u64,
}

/// Whom a rank sends to.
#[derive(Clone, Debug)]
enum Partners {
    /// The same rank in every iteration.
    Fixed(Arc<Permutation>),
    /// Another random rank in every iteration.
    Random(RandomCycle),
    /// Both neighbours on the ring of ranks.
    Ring,
}

/// The exchange program.
pub type Exchange = Stepped<ExchangeSteps>;

impl Exchange {
    /// The closed-loop form of `pattern` with messages of `message` bytes:
    ///
    /// - patterns with a fixed destination that no two ranks share (permutation,
    ///   tornado, shift, transpose, bisection pairs, block shift among blocks of
    ///   one size) send there and receive from the inverse;
    /// - uniform random draws a cyclic permutation per iteration, so that
    ///   receivers know their senders ([`RandomCycle`], under `seed` and `job`);
    /// - neighbour sends to and receives from both neighbours on the ring.
    ///
    /// # Errors
    /// If the pattern does not fit the ranks or has no closed-loop form, the
    /// message is empty, there are no iterations, or totals exceed 64 bits.
    pub fn new(
        pattern: &Pattern,
        ranks: u32,
        message: Bytes,
        seed: u64,
        job: JobId,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        pattern.check(ranks)?;
        let key = StreamKey::new(seed, Purpose::Destination);
        let instead = match pattern {
            Pattern::Bisection => Some("use the bisection motif or the bisection-pairs pattern"),
            Pattern::Stencil(_) => Some("use the halo motif"),
            Pattern::UniformOrSelf => Some("use uniform random, which never sends to itself"),
            Pattern::Adversarial { .. } | Pattern::WithinBlock { .. } | Pattern::HotSpot(_) => {
                Some(
                    "receivers cannot know their senders: use an open-loop source, a block shift or a \
                 communication matrix",
                )
            }
            _ => None,
        };
        if let Some(instead) = instead {
            return Err(LoadError::NoExchange {
                pattern: pattern.name(),
                instead,
            });
        }
        let (partners, messages) = match pattern {
            Pattern::UniformRandom => (
                Partners::Random(RandomCycle::new(ranks, key, job)),
                u64::from(ranks),
            ),
            Pattern::Neighbour => (Partners::Ring, u64::from(ranks)),
            Pattern::Permutation(permutation) => (
                Partners::Fixed(permutation.clone()),
                u64::from(permutation.senders()),
            ),
            _ => {
                let image = |rank| {
                    let to = pattern.destination(key, 0, 0, RankId(rank), ranks);
                    to.map_or(rank, |to| to.0)
                };
                let permutation = Permutation::new((0..ranks).map(image).collect())?;
                let senders = u64::from(permutation.senders());
                (Partners::Fixed(Arc::new(permutation)), senders)
            }
        };
        let steps = ExchangeSteps {
            partners,
            ranks,
            message,
            messages,
        };
        Self::with_window(steps, 2, repeat)
    }
}

impl Steps for ExchangeSteps {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn steps(&self) -> u32 {
        match self.partners {
            Partners::Fixed(_) | Partners::Random(_) => 1,
            Partners::Ring => 2,
        }
    }

    fn destination(&self, rank: RankId, iteration: u32, step: u32) -> Option<RankId> {
        match &self.partners {
            Partners::Fixed(permutation) => permutation.destination(rank),
            Partners::Random(cycle) => Some(cycle.destination(rank, iteration)),
            Partners::Ring => {
                let up = if step == 0 { 1 } else { self.ranks - 1 };
                Some(around(rank, u64::from(up), self.ranks))
            }
        }
    }

    fn source(&self, rank: RankId, iteration: u32, step: u32) -> Option<RankId> {
        match &self.partners {
            Partners::Fixed(permutation) => permutation.source(rank),
            Partners::Random(cycle) => Some(cycle.source(rank, iteration)),
            Partners::Ring => {
                let down = if step == 0 { self.ranks - 1 } else { 1 };
                Some(around(rank, u64::from(down), self.ranks))
            }
        }
    }

    fn bytes(&self, _: u32) -> Bytes {
        self.message
    }

    fn messages(&self, _: u32) -> u64 {
        self.messages
    }

    fn repetition(&self) -> Repetition {
        match self.partners {
            Partners::Fixed(_) | Partners::Ring => Repetition::Same,
            Partners::Random(_) => Repetition::Varied,
        }
    }

    fn tag(&self, step: u32) -> u32 {
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Blocks;
    use crate::script::Script;

    fn exchange(pattern: &Pattern, ranks: u32) -> Result<Exchange, LoadError> {
        Exchange::new(pattern, ranks, Bytes(10), 1, JobId(0), Repeat::times(3))
    }

    #[test]
    fn silent_ranks_are_not_counted() {
        // The diagonal of a 3x3 transpose sends nothing: 6 messages an iteration.
        let transpose = Pattern::transpose(9).unwrap();
        let program = exchange(&transpose, 9).unwrap();
        assert_eq!(program.totals().unwrap().messages, 18);
        assert_eq!(program.totals().unwrap().bytes, Bytes(180));
        assert_eq!(
            exchange(&Pattern::Neighbour, 9)
                .unwrap()
                .totals()
                .unwrap()
                .messages,
            54
        );
        assert_eq!(
            exchange(&Pattern::UniformRandom, 9)
                .unwrap()
                .totals()
                .unwrap()
                .messages,
            27
        );
    }

    #[test]
    fn patterns_without_known_senders_are_refused() {
        let blocks = Arc::new(Blocks::consecutive(9, 2));
        let adversarial = Pattern::adversarial(blocks.clone(), 1).unwrap();
        let hot = Pattern::hot_spot(&[RankId(0)], 0.5).unwrap();
        for pattern in [adversarial, hot, Pattern::Bisection, Pattern::UniformOrSelf] {
            let error = exchange(&pattern, 9).unwrap_err();
            assert!(matches!(error, LoadError::NoExchange { .. }), "{error}");
        }
        // Both ranks of the fourth block send to the only rank of the fifth.
        let uneven = Pattern::block_shift(blocks, 1).unwrap();
        let error = exchange(&uneven, 9).unwrap_err();
        assert!(matches!(error, LoadError::NotPermutation { .. }), "{error}");
    }
}
