//! Whether what is sent is received, in memory that does not grow with the number of
//! messages.

/// Mixes a number into a hash (the finaliser of SplitMix64; Steele, Lea and Flood
/// 2014).
pub(super) fn mix(state: u64, number: u64) -> u64 {
    let mut z =
        state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(super) fn hash(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |state, &number| mix(state, number))
}

/// The messages for one rank: counts, and sums of hashes, which are equal exactly
/// if the same messages are sent as received (but for one case in 2^64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Balance {
    pub sent: u64,
    pub received: u64,
    /// Messages sent less received, by communicator, sender and tag.
    exact: u64,
    /// Messages sent less received, by communicator.
    communicators: u64,
    /// Receives of any sender or any tag.
    pub open: u64,
}

impl Balance {
    pub fn send(&mut self, comm: u64, from: u32, tag: u32) {
        self.sent += 1;
        self.exact = self
            .exact
            .wrapping_add(hash(&[comm, from.into(), tag.into()]));
        self.communicators = self.communicators.wrapping_add(hash(&[comm]));
    }

    pub fn receive(&mut self, comm: u64, from: Option<u32>, tag: Option<u32>) {
        self.received += 1;
        self.communicators = self.communicators.wrapping_sub(hash(&[comm]));
        match (from, tag) {
            (Some(from), Some(tag)) => {
                self.exact = self
                    .exact
                    .wrapping_sub(hash(&[comm, from.into(), tag.into()]));
            }
            _ => self.open += 1,
        }
    }

    pub fn is_even(&self) -> bool {
        self.sent == self.received && self.communicators == 0 && (self.open > 0 || self.exact == 0)
    }
}
