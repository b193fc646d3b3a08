//! Counter-based random streams: the n-th draw of an entity is a function of
//! (seed, purpose, entity, n) and of nothing else, so results do not depend on
//! the order in which entities are simulated nor on the number of threads.
//!
//! The generator is *Squares* (Widynski, "Squares: A Fast Counter-Based RNG",
//! arXiv:2004.06278): four or five rounds of middle-square with a Weyl sequence.

use std::convert::Infallible;

use rand_core::TryRng;

/// What a stream is used for; different purposes of one entity never correlate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Routing decisions of a packet.
    Routing = 1,
    /// When an open-loop source sends.
    Arrival = 2,
    /// Whom a source or motif sends to.
    Destination = 3,
    /// Which nodes a job gets.
    Placement = 4,
    /// Which rank sits on which node.
    Mapping = 5,
    /// Random wirings and other network construction.
    Wiring = 6,
    /// Which packets routers mark.
    Marking = 7,
    /// Which parts of a network fail.
    Failures = 8,
    /// Which packets a link has to send again.
    LinkErrors = 9,
    /// Which path a flow takes.
    Flows = 10,
    /// What keeps ranks from their programs.
    Noise = 11,
    /// Jobs of a synthetic log.
    Workload = 20,
}

/// Bits scrambled by the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
const fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Key of all streams of one seed and purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey(u64);

impl StreamKey {
    /// The key of `purpose` under `seed`.
    pub const fn new(seed: u64, purpose: Purpose) -> Self {
        let mixed = scramble(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(scramble(purpose as u64)),
        );
        // Squares wants an odd key with irregular digits in both halves.
        Self(mixed | 1)
    }

    /// Draw `counter` of `entity`: 32 uniform bits. `counter` must stay below 2³².
    #[inline(always)]
    pub const fn bits32(self, entity: u64, counter: u32) -> u32 {
        (self.bits64(entity, counter) >> 32) as u32
    }

    /// Draw `counter` of `entity`: 64 uniform bits.
    #[inline(always)]
    pub const fn bits64(self, entity: u64, counter: u32) -> u64 {
        let key = self.0 ^ (scramble(entity) << 1);
        let mut x = (counter as u64).wrapping_add(1).wrapping_mul(key);
        let y = x;
        let z = y.wrapping_add(key);
        x = x.wrapping_mul(x).wrapping_add(y).rotate_right(32);
        x = x.wrapping_mul(x).wrapping_add(z).rotate_right(32);
        x = x.wrapping_mul(x).wrapping_add(y).rotate_right(32);
        x = x.wrapping_mul(x).wrapping_add(z).rotate_right(32);
        let t = x;
        t ^ (x.wrapping_mul(x).wrapping_add(y) >> 32)
    }

    /// Draw `counter` of `entity`, uniform in `0..bound` (Lemire's multiply-shift;
    /// the bias is below `bound`/2³²). `bound` must not be zero.
    #[inline(always)]
    pub const fn below(self, entity: u64, counter: u32, bound: u32) -> u32 {
        ((self.bits32(entity, counter) as u64 * bound as u64) >> 32) as u32
    }

    /// Draw `counter` of `entity`, uniform in the open interval (0, 1).
    #[inline]
    pub fn unit(self, entity: u64, counter: u32) -> f64 {
        ((self.bits64(entity, counter) >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    /// The draws of `entity` one after another.
    pub const fn stream(self, entity: u64) -> Stream {
        Stream {
            key: self,
            entity,
            counter: 0,
        }
    }
}

/// The draws of one entity one after another, for code off the hot path.
#[derive(Clone, Debug)]
pub struct Stream {
    key: StreamKey,
    entity: u64,
    counter: u32,
}

impl Stream {
    /// The next draw, uniform in `0..bound`; `bound` must not be zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        let counter = self.counter;
        self.counter += 1;
        self.key.below(self.entity, counter, bound)
    }

    /// The next draw, uniform in (0, 1).
    pub fn unit(&mut self) -> f64 {
        let counter = self.counter;
        self.counter += 1;
        self.key.unit(self.entity, counter)
    }

    /// A uniformly random order of `items` (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            items.swap(last, other);
        }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    /// The next draw: 32 uniform bits.
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|bits| (bits >> 32) as u32)
    }

    /// The next draw: 64 uniform bits.
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let counter = self.counter;
        self.counter += 1;
        Ok(self.key.bits64(self.entity, counter))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        rand_core::utils::fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_across_counters_and_across_entities() {
        // Chi-square with 15 degrees of freedom: 99.99 % of samples lie below 44.3.
        let key = StreamKey::new(7, Purpose::Routing);
        let by_counter = |n: u32| key.below(12_345, n, 16);
        let by_entity = |n: u32| key.below(u64::from(n), 3, 16);
        let by_low_bits = |n: u32| (key.bits64(u64::from(n) << 32, 0) & 15) as u32;
        for draw in [&by_counter as &dyn Fn(u32) -> u32, &by_entity, &by_low_bits] {
            let mut seen = [0u32; 16];
            let draws = 160_000;
            for n in 0..draws {
                seen[draw(n) as usize] += 1;
            }
            let expected = f64::from(draws) / 16.0;
            let chi2: f64 = seen
                .iter()
                .map(|&s| (f64::from(s) - expected).powi(2) / expected)
                .sum();
            assert!(chi2 < 44.3, "chi-square {chi2}: {seen:?}");
        }
    }

    #[test]
    fn neighbouring_entities_do_not_correlate() {
        let key = StreamKey::new(1, Purpose::Arrival);
        let n = 100_000;
        let product: f64 = (0..n)
            .map(|e| (key.unit(e, 0) - 0.5) * (key.unit(e + 1, 0) - 0.5))
            .sum::<f64>()
            / n as f64;
        // Standard error of the mean product is (1/12)/sqrt(n) = 2.6e-4.
        assert!(product.abs() < 1.3e-3, "correlation {product}");
    }

    #[test]
    fn seeds_and_purposes_give_different_streams() {
        let a = StreamKey::new(1, Purpose::Arrival);
        let b = StreamKey::new(2, Purpose::Arrival);
        let c = StreamKey::new(1, Purpose::Routing);
        let draws = |k: StreamKey| (0..8).map(|n| k.bits32(9, n)).collect::<Vec<_>>();
        assert_ne!(draws(a), draws(b));
        assert_ne!(draws(a), draws(c));
        assert_eq!(draws(a), draws(a));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        StreamKey::new(3, Purpose::Mapping)
            .stream(0)
            .shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
