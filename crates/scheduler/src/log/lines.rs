//! Lines of a file of any content, in bounded memory.

use std::io::{BufRead, Read};

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
            let read = self.read_line().map_err(|error| {
                let at = Some(self.number + 1);
                LogError::new(&sink.report.file, at, format!("cannot be read: {error}"))
            })?;
            let Some(overlong) = read else {
                return Ok(false);
            };
            self.number += 1;
            sink.report.lines += 1;
            if overlong {
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
        let mut source = (&mut self.source).take(MAX_WHOLE_BYTES + 1);
        let read = source.read_to_end(&mut bytes);
        read.map_err(|error| fail(format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_WHOLE_BYTES {
            return Err(fail(
                "is longer than 1 GiB; take a part of it at a time".to_owned(),
            ));
        }
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

    /// Reads a line without its end into `bytes`: `None` at the end of the file,
    /// else whether the line is overlong and `bytes` only its start.
    fn read_line(&mut self) -> std::io::Result<Option<bool>> {
        self.bytes.clear();
        let mut overlong = false;
        let mut any = false;
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let used = end.unwrap_or(chunk.len());
            if self.bytes.len() + used > MAX_LINE_BYTES {
                overlong = true;
            } else {
                self.bytes.extend_from_slice(&chunk[..used]);
            }
            self.source.consume(end.map_or(used, |end| end + 1));
            if end.is_some() {
                break;
            }
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        Ok(any.then_some(overlong))
    }
}
