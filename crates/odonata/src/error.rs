//! What can go wrong between a scenario and its results.

use odonata_network::verify::VerifyError;
use odonata_sim::SimError;

use crate::checkpoint::CheckpointError;

/// A scenario that cannot be simulated as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.path))]
pub struct SpecError {
    /// Key path in the scenario file, such as `network.g` or `job[1].motif.grid`;
    /// empty if no key is to blame.
    pub path: String,
    /// What is wrong: what was found, what is allowed, what to do.
    pub message: String,
    /// What the scenario holds there, where known.
    pub found: Option<String>,
    /// What would be accepted there, where known.
    pub allowed: Option<String>,
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

impl SpecError {
    /// An error at a key.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            found: None,
            allowed: None,
        }
    }

    /// `found X; allowed: Y` at a key.
    pub fn value(
        path: impl Into<String>,
        found: impl std::fmt::Display,
        allowed: impl std::fmt::Display,
    ) -> Self {
        let (found, allowed) = (found.to_string(), allowed.to_string());
        Self {
            path: path.into(),
            message: format!("found {found}; allowed: {allowed}"),
            found: Some(found),
            allowed: Some(allowed),
        }
    }
}

/// Why a run gave no outcome, or a proof no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The simulation could not go on, or was interrupted.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// There is no checkpoint to go on from, or it belongs to another run.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The proof of deadlock freedom gave no verdict.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}
