//! Reading of text files, line by line, in bounded memory.

use std::io::{BufReader, Read};

pub(crate) use odonata_files::shown;
use odonata_files::{Line, read_line};

use crate::bytes::BUFFER_BYTES;
use crate::error::{Position, TraceError};

/// Longest line that is read unless a reader says otherwise, bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// A text file with a line at hand.
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    file: String,
    number: u64,
    line: Vec<u8>,
    longest: usize,
}

impl<R: Read> LineReader<R> {
    /// Starts before the first line; `file` is the name in messages.
    pub fn new(source: R, file: String) -> Self {
        Self::with_buffer(source, file, BUFFER_BYTES)
    }

    /// The same with a buffer of `bytes`, where many files are read side by side.
    pub fn with_buffer(source: R, file: String, bytes: usize) -> Self {
        Self {
            source: BufReader::with_capacity(bytes, source),
            file,
            number: 0,
            line: Vec::new(),
            longest: MAX_LINE_BYTES,
        }
    }

    /// Allows lines of up to `bytes`.
    pub fn with_longest(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Number of the line at hand, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error at the line at hand.
    pub fn error(&self, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Line(self.number.max(1)), reason)
    }

    /// An error of the file as a whole.
    pub fn error_of_file(&self, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Whole, reason)
    }

    /// Moves to the next line; `None` at the end of the file. The line comes
    /// without its end.
    pub fn advance(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.number += 1;
        let at = Position::Line(self.number);
        let read = read_line(&mut self.source, self.longest, &mut self.line)
            .map_err(|error| TraceError::io(&self.file, at, &error))?;
        match read {
            Line::End => Ok(None),
            Line::Whole => Ok(Some(&self.line)),
            Line::Overlong => {
                let longest = self.longest;
                Err(self.error(format!(
                    "a line of more than {longest} bytes, the most allowed"
                )))
            }
        }
    }
}

/// The words of a line, which spaces and tabs separate.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
}

/// A whole number in digits; `None` if the word is none or exceeds 64 bits.
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
