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
mod tests {
    use super::super::call::Span;
    use super::*;

    #[test]
    fn time_between_calls_is_computing() {
        let record = |entered, left, local| Record {
            at: 0,
            span: Some(Span { entered, left }),
            local,
        };
        let mut gaps = Gaps::default();
        let records = [
            // A gap starts where the first call returns.
            (record(100, 110, false), 0),
            (record(115, 120, false), 5),
            // A local call is part of the gap around it: 120 to 140.
            (record(125, 130, true), 0),
            (record(140, 150, false), 20),
            // Entered before the one before returned.
            (record(145, 147, false), 0),
            (record(160, 161, false), 10),
        ];
        for (record, expected) in records {
            assert_eq!(gaps.before(&record), Picoseconds(expected));
        }
        let untimed = Record {
            at: 0,
            span: None,
            local: false,
        };
        assert_eq!(gaps.before(&untimed), Picoseconds::ZERO);
        assert_eq!((gaps.negative(), gaps.untimed()), (1, 1));
    }

    #[test]
    fn time_in_a_region_reaches_from_its_start_to_its_end() {
        let record = |entered, left| Record {
            at: 0,
            span: Some(Span { entered, left }),
            local: false,
        };
        let mut gaps = Gaps::from(Some(90));
        assert_eq!(gaps.before(&record(100, 110)), Picoseconds(10));
        assert_eq!(gaps.rest(Some(125)), Picoseconds(15));
        assert_eq!(gaps.rest(Some(105)), Picoseconds::ZERO);
        assert_eq!(gaps.rest(None), Picoseconds::ZERO);
    }

    #[test]
    fn ten_times_is_ten_times() {
        let recorded = Picoseconds(123_456_789_000);
        assert_eq!(
            Compute::Scaled(10.0).of(recorded),
            Picoseconds(1_234_567_890_000)
        );
        assert_eq!(Compute::Scaled(0.0).of(recorded), Picoseconds::ZERO);
        assert_eq!(Compute::Fixed(Picoseconds(7)).of(recorded), Picoseconds(7));
    }
}
