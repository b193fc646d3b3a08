//! Time as job logs know it: whole seconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time or a duration in whole seconds. Points count from the start of
/// their log, or from 1970 where the log says so ([`crate::log::JobLog::epoch`]);
/// differences may be negative.
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
    serde::Serialize,
    serde::Deserialize,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Seconds(pub i64);

impl Seconds {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest time that readers accept and simulations work with: 2⁵³, so
    /// that sums stay far below the limits of the type.
    pub const LIMIT: Self = Self(1 << 53);

    /// The same in hours.
    pub fn as_hours(self) -> f64 {
        self.0 as f64 / 3600.0
    }
}

impl Add for Seconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Seconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}
