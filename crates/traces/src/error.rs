//! What can be wrong with a trace, and where.

use std::fmt;
use std::path::Path;

use thiserror::Error;

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Bytes from the start of the file.
    Byte(u64),
    /// Line, counted from 1.
    Line(u64),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Byte(offset) => write!(f, "byte {offset}: "),
            Position::Line(line) => write!(f, "line {line}: "),
            Position::Whole => Ok(()),
        }
    }
}

/// A trace that cannot be read: which file, where, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {position}{reason}")]
pub struct TraceError {
    /// Path as it was given.
    pub file: String,
    /// Where in the file.
    pub position: Position,
    /// What was found, and what is allowed there.
    pub reason: String,
}

impl TraceError {
    /// An error at `position` of `file`.
    pub fn new(file: &str, position: Position, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            position,
            reason: reason.into(),
        }
    }

    /// A file that cannot be read on from there.
    pub fn io(file: &str, position: Position, error: &std::io::Error) -> Self {
        Self::new(file, position, format!("cannot be read: {error}"))
    }

    /// A file that cannot be opened.
    pub fn open(path: &Path, error: &std::io::Error) -> Self {
        let reason = format!("cannot be opened: {error}");
        Self::new(&path.display().to_string(), Position::Whole, reason)
    }
}
