//! Fixed permutations of ranks.

use odonata_units::RankId;
use odonata_units::random::Stream;

use crate::error::LoadError;

/// Who sends to whom where every rank receives from one rank at most. A rank
/// that is its own image sends and receives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    to: Vec<u32>,
    from: Vec<u32>,
}

impl Permutation {
    /// The permutation that sends rank `r` to `to[r]`.
    ///
    /// # Errors
    /// If an image is no rank or appears twice.
    pub fn new(to: Vec<u32>) -> Result<Self, LoadError> {
        let ranks = to.len() as u32;
        let mut from = vec![u32::MAX; to.len()];
        for (source, &destination) in to.iter().enumerate() {
            if destination >= ranks {
                return Err(LoadError::UnknownRank {
                    list: "the permutation",
                    rank: destination,
                    last: ranks - 1,
                });
            }
            let slot = &mut from[destination as usize];
            if *slot != u32::MAX {
                return Err(LoadError::NotPermutation {
                    destination,
                    first: *slot,
                    second: source as u32,
                });
            }
            *slot = source as u32;
        }
        Ok(Self { to, from })
    }

    /// A permutation without fixed points, each with the same probability: the
    /// first of a sequence of uniform shuffles that has none. A shuffle has none
    /// with probability 1/e, so that about three are needed.
    ///
    /// # Errors
    /// If there is one rank only, which has no such permutation (or none at all).
    pub fn random_derangement(ranks: u32, stream: &mut Stream) -> Result<Self, LoadError> {
        if ranks < 2 {
            return Err(LoadError::TooFewRanks {
                load: "a random permutation",
                ranks,
                least: 2,
            });
        }
        let mut to: Vec<u32> = (0..ranks).collect();
        loop {
            stream.shuffle(&mut to);
            if to
                .iter()
                .enumerate()
                .all(|(rank, &image)| rank as u32 != image)
            {
                return Self::new(to);
            }
        }
    }

    /// Number of ranks.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.to.len() as u32
    }

    /// Whom `rank` sends to; `None` if it is silent.
    #[inline(always)]
    pub fn destination(&self, rank: RankId) -> Option<RankId> {
        let to = self.to[rank.index()];
        (to != rank.0).then_some(RankId(to))
    }

    /// Whom `rank` receives from; `None` if it is silent.
    #[inline(always)]
    pub fn source(&self, rank: RankId) -> Option<RankId> {
        let from = self.from[rank.index()];
        (from != rank.0).then_some(RankId(from))
    }

    /// Number of ranks that send.
    pub fn senders(&self) -> u32 {
        let sends = |&(rank, &to): &(usize, &u32)| rank as u32 != to;
        self.to.iter().enumerate().filter(sends).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::random::{Purpose, StreamKey};

    #[test]
    fn random_derangements_are_uniform() {
        // 4 ranks have 9 derangements. Chi-square with 8 degrees of freedom:
        // 99.99 % of samples lie below 31.8.
        let key = StreamKey::new(5, Purpose::Destination);
        let mut seen = std::collections::BTreeMap::new();
        let draws = 18_000;
        for entity in 0..draws {
            let p = Permutation::random_derangement(4, &mut key.stream(entity)).unwrap();
            *seen.entry(p.to).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 9);
        let expected = draws as f64 / 9.0;
        let chi2: f64 = seen
            .values()
            .map(|&s| (f64::from(s) - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 31.8, "chi-square {chi2}: {seen:?}");
    }

    #[test]
    fn sources_invert_destinations() {
        let key = StreamKey::new(5, Purpose::Destination);
        let p = Permutation::random_derangement(101, &mut key.stream(0)).unwrap();
        for rank in (0..101).map(RankId) {
            let to = p.destination(rank).unwrap();
            assert_ne!(to, rank);
            assert_eq!(p.source(to), Some(rank));
        }
        assert_eq!(p.senders(), 101);
    }

    #[test]
    fn what_is_no_permutation_is_refused() {
        let error = Permutation::new(vec![1, 1, 0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ranks 0 and 1 both send to rank 1; in a permutation every rank receives from one rank at most"
        );
        assert!(Permutation::new(vec![3, 0, 1]).is_err());
        let key = StreamKey::new(5, Purpose::Destination);
        assert!(Permutation::random_derangement(1, &mut key.stream(0)).is_err());
        let with_fixed_point = Permutation::new(vec![0, 2, 1]).unwrap();
        assert_eq!(with_fixed_point.destination(RankId(0)), None);
        assert_eq!(with_fixed_point.senders(), 2);
    }
}
