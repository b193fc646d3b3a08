//! Text files that keys of a scenario name.

use std::path::Path;

use crate::error::SpecError;

/// Reads a file that a key names.
pub(crate) fn read_file(file: &Path, key: &str) -> Result<String, SpecError> {
    odonata_files::read_to_string(file).map_err(|error| {
        let found = format!("\"{}\", which cannot be read ({error})", file.display());
        let allowed = "a readable text file; relative paths start where the scenario lies";
        SpecError::value(key, found, allowed)
    })
}

/// An error in a file that a key names.
pub(crate) fn in_file(file: &Path, key: &str, error: &dyn std::fmt::Display) -> SpecError {
    SpecError::new(key, format!("{}: {error}", file.display()))
}
