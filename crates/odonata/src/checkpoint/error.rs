//! Why a checkpoint cannot be used.

use std::io;
use std::path::PathBuf;

/// A file that holds no checkpoint of the run, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The system says no.
    #[error("{}: {}: {error}", .file.display(), .what)]
    File {
        /// Which file.
        file: PathBuf,
        /// What could not be done with it.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// It does not begin like a checkpoint.
    #[error("{}: this is no checkpoint of Odonata", .file.display())]
    Foreign {
        /// Which file.
        file: PathBuf,
    },
    /// Its format is one that this version does not know.
    #[error(
        "{}: a checkpoint in format {found}; this version of Odonata reads format {own}. \
         Finish the run with the version that began it, or start it afresh", .file.display()
    )]
    Format {
        /// Which file.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// The one that can be read.
        own: u32,
    },
    /// A part of it is missing.
    #[error(
        "{}: {found} bytes where the checkpoint has {expected}: the file was cut off or added to. \
         Use a whole copy, or start the run afresh", .file.display()
    )]
    Length {
        /// Which file.
        file: PathBuf,
        /// Bytes in the file.
        found: u64,
        /// Bytes that it should have.
        expected: u64,
    },
    /// Its bytes are not those that were written.
    #[error(
        "{}: the checkpoint is damaged, its contents do not match its checksum. \
         Use a whole copy, or start the run afresh", .file.display()
    )]
    Damaged {
        /// Which file.
        file: PathBuf,
    },
    /// The program that wrote it may simulate otherwise.
    #[error(
        "{}: written by {}; its results may differ. \
         Finish the run with the version that began it, or start it afresh",
        .file.display(), other(.found, .own)
    )]
    OtherVersion {
        /// Which file.
        file: PathBuf,
        /// Version that wrote it.
        found: String,
        /// This version.
        own: String,
    },
    /// It belongs to another run.
    #[error(
        "{}: a checkpoint of another scenario: {key} was {found} there and is {own} here. \
         Resume with the scenario that it was begun with, or start afresh in another directory",
        .file.display()
    )]
    OtherScenario {
        /// Which file.
        file: PathBuf,
        /// The first key that differs, as in scenario files.
        key: String,
        /// Its value in the checkpoint's scenario.
        found: String,
        /// Its value in the scenario that was to go on.
        own: String,
    },
}

fn other(found: &str, own: &str) -> String {
    if found == own {
        format!("another build of Odonata {found}")
    } else {
        format!("Odonata {found}, not {own}")
    }
}
