//! How long ranks compute between their calls.

use odonata_units::Picoseconds;

use super::call::Record;

/// What becomes of the time between two calls of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compute {
    /// It is multiplied by this.
    Scaled(f64),
    /// It is replaced by this.
    Fixed(Picoseconds),
}

impl Default for Compute {
    fn default() -> Self {
        Self::Scaled(1.0)
    }
}

impl Compute {
    /// What a recorded time becomes.
    pub(super) fn of(self, recorded: Picoseconds) -> Picoseconds {
        match self {
            Self::Fixed(duration) => duration,
            Self::Scaled(scale) => Picoseconds((recorded.0 as f64 * scale).round() as u64),
        }
    }
}

/// Times between the return of one call and the entry of the next. Calls that only
/// concern the rank itself are part of the time between those that do not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gaps {
    left: Option<i64>,
    negative: u64,
    untimed: u64,
}

impl Gaps {
    /// For a region in which a rank's own time counts from a moment on, `None`: from
    /// its first record on.
    pub fn from(opens: Option<i64>) -> Self {
        Self {
            left: opens,
            ..Self::default()
        }
    }

    /// Time behind the last record, up to the end of a region; 0 without one.
    pub fn rest(&self, closes: Option<i64>) -> Picoseconds {
        match (self.left, closes) {
            (Some(left), Some(closes)) => {
                Picoseconds(u64::try_from(closes.saturating_sub(left)).unwrap_or(0))
            }
            _ => Picoseconds::ZERO,
        }
    }

    /// Time before a record; 0 before the first one.
    pub fn before(&mut self, record: &Record) -> Picoseconds {
        let Some(span) = record.span else {
            self.untimed += 1;
            return Picoseconds::ZERO;
        };
        let Some(left) = self.left else {
            self.left = Some(match record.local {
                true => span.entered,
                false => span.left,
            });
            return Picoseconds::ZERO;
        };
        if record.local {
            return Picoseconds::ZERO;
        }
        // Threads that call at the same time may return out of order.
        self.left = Some(span.left.max(left));
        match u64::try_from(span.entered.saturating_sub(left)) {
            Ok(gap) => Picoseconds(gap),
            Err(_) => {
                self.negative += 1;
                Picoseconds::ZERO
            }
        }
    }

    /// Times that would have been negative.
    pub fn negative(&self) -> u64 {
        self.negative
    }

    /// Records without a time.
    pub fn untimed(&self) -> u64 {
        self.untimed
    }
}

#[cfg(test)]
mod tests;
