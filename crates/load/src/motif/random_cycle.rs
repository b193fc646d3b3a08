//! A random permutation of ranks for every iteration, without a table.

use odonata_units::random::StreamKey;
use odonata_units::{JobId, RankId};

/// Gives every iteration a random cyclic permutation of the ranks: r sends to
/// σ⁻¹(σ(r) + 1 mod n) for a random permutation σ. A cycle has no fixed point,
/// every other rank is equally likely to be the destination, and both the
/// destination and the sender of a rank are computed in constant memory.
///
/// σ is a Feistel network over the smallest even number of bits, 6 at least,
/// that holds n values, applied again while its value is n or more (cycle walking: Black and
/// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
#[derive(Clone, Copy, Debug)]
pub struct RandomCycle {
    ranks: u32,
    /// Half of the bits of the Feistel network.
    half: u32,
    key: StreamKey,
    job: JobId,
}

/// Four rounds make a Feistel network with random round functions a strong
/// pseudorandom permutation (Luby and Rackoff 1988); on the few bits of a small
/// job more are needed to look uniform.
const ROUNDS: u32 = 8;

/// Halves of two bits visibly favour some permutations; three do not.
const LEAST_HALF: u32 = 3;

impl RandomCycle {
    /// The permutations of a job of at least 2 ranks. Jobs under one key draw
    /// independently.
    pub fn new(ranks: u32, key: StreamKey, job: JobId) -> Self {
        let bits = u32::BITS - ranks.saturating_sub(1).leading_zeros();
        Self {
            ranks,
            half: bits.div_ceil(2).max(LEAST_HALF),
            key,
            job,
        }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Whom `rank` sends to in `iteration`.
    pub fn destination(&self, rank: RankId, iteration: u32) -> RankId {
        let place = self.forward(rank.0, iteration);
        let next = if place + 1 == self.ranks {
            0
        } else {
            place + 1
        };
        RankId(self.backward(next, iteration))
    }

    /// Whom `rank` receives from in `iteration`.
    pub fn source(&self, rank: RankId, iteration: u32) -> RankId {
        let place = self.forward(rank.0, iteration);
        let previous = if place == 0 {
            self.ranks - 1
        } else {
            place - 1
        };
        RankId(self.backward(previous, iteration))
    }

    /// Round function: a draw keyed by job, iteration and round. The top bit
    /// keeps these entities apart from those of open-loop sources.
    fn round(&self, iteration: u32, round: u32, half: u32) -> u32 {
        let job = u64::from(self.job.0) << 40;
        let entity = 1 << 63 | job | u64::from(iteration) << 8 | u64::from(round);
        self.key.bits32(entity, half) >> (u32::BITS - self.half)
    }

    fn forward(&self, value: u32, iteration: u32) -> u32 {
        let mask = (1u64 << self.half) - 1;
        let mut value = u64::from(value);
        loop {
            let (mut left, mut right) = ((value >> self.half) as u32, (value & mask) as u32);
            for round in 0..ROUNDS {
                (left, right) = (right, left ^ self.round(iteration, round, right));
            }
            value = u64::from(left) << self.half | u64::from(right);
            if value < u64::from(self.ranks) {
                return value as u32;
            }
        }
    }

    fn backward(&self, value: u32, iteration: u32) -> u32 {
        let mask = (1u64 << self.half) - 1;
        let mut value = u64::from(value);
        loop {
            let (mut left, mut right) = ((value >> self.half) as u32, (value & mask) as u32);
            for round in (0..ROUNDS).rev() {
                (left, right) = (right ^ self.round(iteration, round, left), left);
            }
            value = u64::from(left) << self.half | u64::from(right);
            if value < u64::from(self.ranks) {
                return value as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::random::Purpose;

    fn cycle(ranks: u32, job: u32) -> RandomCycle {
        RandomCycle::new(ranks, StreamKey::new(8, Purpose::Destination), JobId(job))
    }

    #[test]
    fn every_iteration_is_a_cycle_through_all_ranks() {
        for ranks in [2, 3, 4, 5, 16, 17, 100, 1_000] {
            let cycle = cycle(ranks, 0);
            for iteration in 0..20 {
                let (mut at, mut length) = (RankId(0), 0);
                loop {
                    let next = cycle.destination(at, iteration);
                    assert_eq!(cycle.source(next, iteration), at);
                    (at, length) = (next, length + 1);
                    if at == RankId(0) {
                        break;
                    }
                }
                assert_eq!(length, ranks);
            }
        }
    }

    #[test]
    fn every_other_rank_is_equally_likely() {
        // Chi-square with 5 degrees of freedom: 99.99 % of samples lie below 25.7.
        for rank in [0, 3, 6] {
            let cycle = cycle(7, 0);
            let iterations = 60_000;
            let mut seen = [0u32; 7];
            for iteration in 0..iterations {
                seen[cycle.destination(RankId(rank), iteration).index()] += 1;
            }
            assert_eq!(seen[rank as usize], 0);
            let expected = f64::from(iterations) / 6.0;
            let chi2: f64 = (0..7)
                .filter(|&other| other != rank as usize)
                .map(|other| (f64::from(seen[other]) - expected).powi(2) / expected)
                .sum();
            assert!(chi2 < 25.7, "rank {rank}: chi-square {chi2}: {seen:?}");
        }
    }

    #[test]
    fn all_cycles_of_a_few_ranks_appear_equally_often() {
        // 5 ranks have 4! = 24 cycles. Chi-square with 23 degrees of freedom:
        // 99.99 % of samples lie below 56.
        let cycle = cycle(5, 0);
        let iterations = 48_000;
        let mut seen = std::collections::BTreeMap::new();
        for iteration in 0..iterations {
            let image: Vec<_> = (0..5)
                .map(|r| cycle.destination(RankId(r), iteration))
                .collect();
            *seen.entry(image).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        let expected = f64::from(iterations) / 24.0;
        let chi2: f64 = seen
            .values()
            .map(|&s| (f64::from(s) - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 56.0, "chi-square {chi2}");
    }

    #[test]
    fn jobs_draw_independently() {
        let image = |job| {
            (0..64)
                .map(|r| cycle(64, job).destination(RankId(r), 3).0)
                .collect::<Vec<_>>()
        };
        assert_ne!(image(0), image(1));
        assert_eq!(image(1), image(1));
    }
}
