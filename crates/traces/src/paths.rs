//! Paths in files of programs that were started somewhere.

use std::path::{Path, PathBuf};

/// The file that `given` names in a file in `directory`. Such paths are relative to where the
/// program was started, which nobody knows here: it is tried from the directory, and if there is
/// nothing, the file of that name in it is taken.
pub(crate) fn named_in(directory: &Path, given: &Path) -> PathBuf {
    let as_given = directory.join(given);
    match given.file_name() {
        Some(last) if !as_given.exists() => directory.join(last),
        _ => as_given,
    }
}
