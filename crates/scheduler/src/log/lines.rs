//! Lines of a file of any content, in bounded memory.

use std::io::BufRead;

use odonata_files::{Line, read_line, read_up_to, skip_rest};

use super::error::LogError;
use super::rules::{Rule, Sink};

/// Longest line that is read, bytes; what is longer is skipped and counted.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Longest text that is read as a whole.
const MAX_WHOLE_BYTES: u64 = 1 << 30;

/// Reads a file line by line as text, whatever its bytes.
pub(super) struct Lines<R> {
    source: R,
    number: u64,
    bytes: Vec<u8>,
    text: String,
}

impl<R: BufRead> Lines<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            number: 0,
            bytes: Vec::new(),
            text: String::new(),
        }
    }

    /// Number of the line at hand, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line at hand.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Moves to the next line that is not overlong; `false` at the end of the file.
    pub fn advance(&mut self, sink: &mut Sink) -> Result<bool, LogError> {
        loop {
            let (at, file) = (Some(self.number + 1), &sink.report.file);
            let fail = |error| LogError::new(file, at, format!("cannot be read: {error}"));
            let read =
                read_line(&mut self.source, MAX_LINE_BYTES, &mut self.bytes).map_err(fail)?;
            if read == Line::Overlong {
                skip_rest(&mut self.source, &self.bytes).map_err(fail)?;
            }
            if read == Line::End {
                return Ok(false);
            }
            self.number += 1;
            sink.report.lines += 1;
            if read == Line::Overlong {
                sink.report.records += 1;
                sink.note(Rule::OverlongLine, self.number, || {
                    format!("{} bytes and more", MAX_LINE_BYTES)
                })?;
                continue;
            }
            self.text.clear();
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => self.text.push_str(text),
                Err(error) => {
                    let column = error.valid_up_to() + 1;
                    sink.note(Rule::InvalidUtf8, self.number, || format!("byte {column}"))?;
                    self.text.push_str(&String::from_utf8_lossy(&self.bytes));
                }
            }
            return Ok(true);
        }
    }

    /// Everything that is left as one text.
    pub fn rest(&mut self, sink: &mut Sink) -> Result<String, LogError> {
        let fail = |what: String| LogError::new(&sink.report.file, None, what);
        let mut bytes = Vec::new();
        read_up_to(&mut self.source, MAX_WHOLE_BYTES, &mut bytes)
            .map_err(|error| fail(format!("cannot be read: {error}")))?;
        sink.report.lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let column = error.utf8_error().valid_up_to() + 1;
                sink.note(Rule::InvalidUtf8, 1, || format!("byte {column}"))?;
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        })
    }
}
