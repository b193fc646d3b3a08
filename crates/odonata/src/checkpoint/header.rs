//! When a run writes checkpoints, and what a checkpoint says about itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use odonata_units::Picoseconds;
use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::fingerprint;
use crate::cost::Cost;
use crate::spec::Scenario;
use crate::steady::Findings;

/// When to write a checkpoint: whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    /// Time on the clock from the end of one checkpoint to the next.
    pub wall: Option<Duration>,
    /// Simulated time: at its multiples.
    pub simulated: Option<Picoseconds>,
}

/// Where and when a run writes checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file. A new checkpoint takes the place of the old one when it is whole.
    pub file: PathBuf,
    /// When; `None` with `resume`: as before.
    pub every: Option<Every>,
    /// Whether to go on from the checkpoint in the file.
    pub resume: bool,
    /// What is simulated.
    pub identity: Identity,
}

/// What is simulated, as far as it decides about the result. A reader that knows which
/// keys of a scenario name files says so, and puts their contents in place of
/// their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Equal for runs with equal results: the normalised scenario without its
    /// title and number of threads, and with the contents of files.
    pub result: serde_json::Value,
    /// The scenario in the words of people, for messages about what differs.
    #[serde(default)]
    pub keys: serde_json::Value,
}

impl Identity {
    /// The fingerprints of a scenario which names no files: those count by their names here.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            result: fingerprint::of(scenario),
            keys: serde_json::Value::Null,
        }
    }
}

/// What became of a checkpoint.
#[derive(Debug)]
pub enum Event {
    /// The run goes on from one.
    Resumed {
        /// Simulated time that it had reached.
        at: Picoseconds,
    },
    /// One was written.
    Written {
        /// Simulated time that it holds.
        at: Picoseconds,
        /// Size of the file.
        bytes: u64,
        /// Time on the clock that it took.
        seconds: f64,
    },
    /// One could not be written; the one before it is still there, if there was any.
    Failed {
        /// Simulated time that it should have held.
        at: Picoseconds,
        /// Why.
        error: CheckpointError,
    },
}

/// What a checkpoint says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of Odonata that wrote it.
    pub version: String,
    /// Names its sources.
    pub sources: String,
    /// Simulated time that it holds.
    pub at: Picoseconds,
    /// When the run writes checkpoints.
    pub every: Every,
    /// What the run cost so far.
    pub cost: Cost,
    /// What was found about its steady state.
    pub findings: Findings,
    /// All that decides about the result.
    pub scenario: serde_json::Value,
    /// The same in the words of people.
    #[serde(default)]
    pub keys: serde_json::Value,
}

impl Header {
    /// Whether the run of `scenario` may go on from this checkpoint.
    pub(super) fn check(
        &self,
        file: &Path,
        scenario: &serde_json::Value,
    ) -> Result<(), CheckpointError> {
        if self.version != crate::VERSION || self.sources != crate::SOURCES {
            return Err(CheckpointError::OtherVersion {
                file: file.to_owned(),
                found: self.version.clone(),
                own: crate::VERSION.to_owned(),
            });
        }
        match fingerprint::first_difference(&self.scenario, scenario) {
            None => Ok(()),
            Some((key, found, own)) => Err(CheckpointError::OtherScenario {
                file: file.to_owned(),
                key,
                found,
                own,
            }),
        }
    }
}
