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
mod tests;
