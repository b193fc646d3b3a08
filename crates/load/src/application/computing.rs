//! How long the ranks of an application compute.

use odonata_units::Picoseconds;
use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::phases::Phase;

/// How fast a rank computes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputeRate {
    /// Time of every iteration, whatever there is to compute, in picoseconds.
    ComputePs(u64),
    /// Floating-point operations per second.
    FlopPerS(f64),
}

/// The computing of an iteration, of which phases take shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computing {
    time: f64,
    flop: f64,
}

impl Computing {
    /// The computing of `flop` floating-point operations of a rank in an iteration.
    pub fn new(
        compute_rate: ComputeRate,
        application: &'static str,
        flop: f64,
    ) -> Result<Self, LoadError> {
        let time = match compute_rate {
            ComputeRate::ComputePs(time) => time as f64,
            ComputeRate::FlopPerS(rate) if rate > 0.0 && rate.is_finite() => flop / rate * 1e12,
            ComputeRate::FlopPerS(rate) => {
                return Err(LoadError::Parameter {
                    application,
                    parameter: "flop_rate",
                    found: format!("{rate} FLOP/s"),
                    allowed: "a number above 0".to_owned(),
                });
            }
        };
        // A day, in picoseconds.
        if time >= 8.64e16 {
            return Err(LoadError::Parameter {
                application,
                parameter: "flop_rate",
                found: format!(
                    "so low that a rank computes for {:.3e} s in an iteration",
                    time / 1e12
                ),
                allowed: "less than a day; raise the rate or lower the problem size".to_owned(),
            });
        }
        Ok(Self { time, flop })
    }

    /// Time for `flop` of the operations.
    pub fn time(&self, flop: f64) -> Picoseconds {
        let share = if self.flop > 0.0 {
            flop / self.flop
        } else {
            0.0
        };
        Picoseconds((self.time * share).round() as u64)
    }

    /// A phase that does `flop` of the operations.
    pub fn phase(&self, flop: f64) -> Phase {
        Phase::Compute(self.time(flop))
    }
}
