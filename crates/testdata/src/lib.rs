//! Data that tests need and a checkout does not hold: real traces, logs, wirings and
//! results of other programs, in a folder `shared` beside the checkout or above it.
//!
//! A test that lacks its data ends early and passes, as Rust's test harness knows no
//! other way. So that nobody takes that for a test that was run, its name and what it
//! lacks are said on standard error and, where the environment names a file in
//! [`LIST`], written down there; `make test` prints that list at its end.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The environment variable that names the file with the tests that lacked their data.
pub const LIST: &str = "ODONATA_SKIPPED_TESTS";

/// The file or folder `shared/NAME` beside the checkout or above it; `None`, and the
/// test that asks is listed as skipped, where there is none.
pub fn shared(name: &str) -> Option<PathBuf> {
    let found = find(name);
    if found.is_none() {
        skip(&format!("needs ../shared/{name}"));
    }
    found
}

fn find(name: &str) -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared").join(name))
        .find(|path| path.exists())
}

/// As [`shared`], of `shared/data/NAME`.
pub fn data(name: &str) -> Option<PathBuf> {
    shared(&format!("data/{name}"))
}

/// Says that the test of this thread is skipped, and why.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    // The harness names the thread of a test after it.
    let line = format!("{}: {reason}", thread.name().unwrap_or("a test"));
    eprintln!("skipped: {line}");
    if let Some(list) = std::env::var_os(LIST) {
        let opened = OpenOptions::new().create(true).append(true).open(&list);
        let written = opened.and_then(|mut file| writeln!(file, "{line}"));
        written.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&list).display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_not_found() {
        assert_eq!(find("no such file beside any checkout"), None);
    }
}
