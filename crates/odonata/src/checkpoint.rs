//! Checkpoints: the state of an unfinished run in a file, written now and then,
//! from which a run goes on as if it had never stopped.

pub(crate) mod error;
mod file;
mod fingerprint;
mod header;
mod keeper;
pub(crate) mod session;

use std::path::Path;

use odonata_run::Observer;

use crate::error::Error;
use crate::finished::Run;
use crate::run::run_session;
use crate::spec::Scenario;

pub use error::CheckpointError;
pub use file::FORMAT;
pub use header::{Checkpoints, Event, Every, Header, Identity};
use session::Session;

/// What the checkpoint in a file says about itself. All of the file is checked.
///
/// # Errors
/// If there is no such file or it is no whole checkpoint.
pub fn inspect(file: &Path) -> Result<Header, CheckpointError> {
    file::open(file).map(|(header, _)| header)
}

/// Simulates a scenario and writes checkpoints. An interruption by `observer`
/// writes a last one first. The file stays when the run ends: the caller that has put
/// the results in a safe place removes it. `tell` hears of every checkpoint,
/// while nothing is simulated.
///
/// # Errors
/// As [`crate::run`]; [`Error::Checkpoint`] if the run is to go on from a file
/// that is missing, damaged, or of another scenario or version.
pub fn run_with_checkpoints(
    scenario: &Scenario,
    checkpoints: &Checkpoints,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(&Event),
) -> Result<Run, Error> {
    let session = Session::new(checkpoints, tell)?;
    run_session(scenario, Some(session), observer)
}

#[cfg(test)]
mod tests;
