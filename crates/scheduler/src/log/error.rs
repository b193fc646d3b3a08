//! Why a file is no job log.

use std::fmt;

/// A log that cannot be read, or, where the reader is strict, its first fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError {
    /// The file as it was given.
    pub file: String,
    /// Line, counted from 1, if one is to blame.
    pub line: Option<u64>,
    /// What was found, what is allowed, what to do.
    pub message: String,
}

impl LogError {
    /// An error of a file as a whole, or of one of its lines.
    pub fn new(file: &str, line: Option<u64>, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for LogError {}
