//! What can go wrong between a scenario and its results.

use odonata_network::verify::VerifyError;
use odonata_run::SimError;

use crate::checkpoint::error::CheckpointError;

/// A scenario that cannot be simulated as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.line, .path))]
pub struct SpecError {
    /// Key path in the scenario file, such as `network.g` or `job[1].motif.grid`;
    /// empty if no key is to blame.
    pub path: String,
    /// Line of the scenario file on which the key stands, from 1, or of the table that lacks
    /// it; nothing where it is not known.
    pub line: Option<usize>,
    /// What is wrong: what was found, what is allowed, what to do.
    pub message: String,
    /// What the scenario holds there, where known.
    pub found: Option<String>,
    /// What would be accepted there, where known.
    pub allowed: Option<String>,
}

fn prefix(line: &Option<usize>, path: &str) -> String {
    let line = line.map(|line| format!("line {line}: "));
    let path = (!path.is_empty()).then(|| format!("{path}: "));
    line.into_iter().chain(path).collect()
}

/// Everything that is wrong with a scenario file, in the order in which it is read: at least
/// one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Mistakes(pub Vec<SpecError>);

impl From<SpecError> for Mistakes {
    fn from(error: SpecError) -> Self {
        Self(vec![error])
    }
}

impl SpecError {
    /// An error at a key.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
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
            line: None,
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

/// That something cannot be as it is, where no key is to blame.
pub(crate) fn refused(error: impl std::fmt::Display) -> Error {
    Error::Spec(SpecError::new("", error.to_string()))
}
