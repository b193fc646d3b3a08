//! Time, data and bandwidth.

use std::fmt;

use derive_more::{Add, AddAssign, Sub, SubAssign, Sum};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Add,
            AddAssign,
            Sub,
            SubAssign,
            Sum,
            serde::Serialize,
            serde::Deserialize,
        )]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
        }
    };
}

quantity!(
    /// A point in simulated time or a duration, in picoseconds.
    Picoseconds
);
quantity!(
    /// An amount of data.
    Bytes
);

impl Picoseconds {
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000_000);

    /// The largest simulated time, 50 days: nothing happens at or after it, and no
    /// duration is longer. Times are 64-bit numbers that wrap after 213 days; this is
    /// less than a quarter of that, so that the sum of a time that is simulated and a
    /// few durations never wraps.
    pub const LARGEST: Self = Self(50 * 24 * 3_600 * Self::SECOND.0);

    /// The longest latency, delay or overhead, one hour: of what is added up for
    /// every packet or message.
    pub const LONGEST_DELAY: Self = Self(3_600 * Self::SECOND.0);

    /// The sum, or the end of time if that is beyond it.
    #[inline(always)]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The same duration in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The same duration in nanoseconds.
    pub fn as_nanoseconds(self) -> f64 {
        self.0 as f64 * 1e-3
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0;
        for (unit, name) in [
            (1_000_000_000_000, "s"),
            (1_000_000_000, "ms"),
            (1_000_000, "us"),
            (1_000, "ns"),
        ] {
            if ps >= unit {
                return write!(f, "{} {name}", ps as f64 / unit as f64);
            }
        }
        write!(f, "{ps} ps")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// Why a number is no bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthError {
    /// What was given, in bytes per second.
    pub bytes_per_second: u64,
}

impl fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a bandwidth must lie between 1 kB/s and 1 PB/s, not {} B/s",
            self.bytes_per_second
        )
    }
}

impl std::error::Error for BandwidthError {}

/// A data rate that converts bytes to time without division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Bandwidth {
    bytes_per_second: u64,
    /// Picoseconds per byte, as a fixed-point number with `FRACTION` bits.
    inverse: u64,
}

/// From bytes per second.
impl TryFrom<u64> for Bandwidth {
    type Error = BandwidthError;

    fn try_from(bytes_per_second: u64) -> Result<Self, BandwidthError> {
        Self::new(bytes_per_second)
    }
}

impl fmt::Display for Bandwidth {
    /// As people write it: `12.5 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.bytes_per_second {
            1_000_000_000.. => (1e9, "GB/s"),
            1_000_000.. => (1e6, "MB/s"),
            _ => (1e3, "kB/s"),
        };
        write!(f, "{} {name}", self.bytes_per_second as f64 / unit)
    }
}

impl From<Bandwidth> for u64 {
    fn from(bandwidth: Bandwidth) -> Self {
        bandwidth.bytes_per_second
    }
}

/// Fractional bits of [`Bandwidth::inverse`].
const FRACTION: u32 = 32;

impl Bandwidth {
    /// A bandwidth of `bytes_per_second`.
    ///
    /// # Errors
    /// If it is below 1 kB/s or above 1 PB/s.
    pub fn new(bytes_per_second: u64) -> Result<Self, BandwidthError> {
        if !(1_000..=1_000_000_000_000_000).contains(&bytes_per_second) {
            return Err(BandwidthError { bytes_per_second });
        }
        let numerator = u128::from(Picoseconds::SECOND.0) << FRACTION;
        let rate = u128::from(bytes_per_second);
        Ok(Self {
            bytes_per_second,
            inverse: ((numerator + rate / 2) / rate) as u64,
        })
    }

    /// The rate in bytes per second.
    pub fn bytes_per_second(self) -> u64 {
        self.bytes_per_second
    }

    /// How long `bytes` take: `bytes · 10¹² / rate`, rounded to the nearest
    /// picosecond (exact for every amount below 16 MiB whose exact duration is
    /// not within 2⁻⁹ ps of a half); the end of time if they take longer.
    #[inline(always)]
    pub fn duration_of(self, bytes: u64) -> Picoseconds {
        let exact = u128::from(bytes) * u128::from(self.inverse);
        let rounded = (exact + (1 << (FRACTION - 1))) >> FRACTION;
        Picoseconds(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
