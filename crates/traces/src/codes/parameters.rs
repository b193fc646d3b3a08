//! Configuration files.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Position, TraceError};
use crate::lines::{LineReader, shown};
use crate::paths::named_in;

/// Longest list in brackets, bytes.
const MAX_LIST: usize = 64 * 1024;

/// What a configuration file assigns to names, such as `num_groups="5";`. Of several
/// assignments to one name the last counts.
#[derive(Clone, Debug)]
pub struct Parameters {
    file: String,
    assignments: Vec<Assignment>,
}

/// An assignment of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: String,
    /// The value, or those of a list in brackets; at least one.
    pub values: Vec<String>,
    /// Line in which it begins, from 1.
    pub line: u64,
    /// Outermost block in which it stands, such as `PARAMS`; empty outside of all.
    pub section: String,
    /// Which block within a section it stands in, counted over the file from 1; 0 if in none.
    pub group: u32,
}

/// The blocks that are open at a place of a file.
#[derive(Default)]
struct Blocks {
    open: Vec<String>,
    /// The last word that is no assignment: the name of a block that opens next.
    word: String,
    groups: u32,
}

impl Blocks {
    fn enter(&mut self) {
        self.open.push(std::mem::take(&mut self.word));
        self.groups += u32::from(self.open.len() == 2);
    }

    fn section(&self) -> String {
        self.open.first().cloned().unwrap_or_default()
    }

    fn group(&self) -> u32 {
        if self.open.len() > 1 { self.groups } else { 0 }
    }
}

impl Parameters {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or an assignment has no value in double quotes.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let source = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::read(source, path.display().to_string())
    }

    /// Reads a file from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`Parameters::open`].
    pub fn read(source: impl Read, file: String) -> Result<Self, TraceError> {
        let mut lines = LineReader::new(source, file.clone());
        let mut assignments = Vec::new();
        let mut blocks = Blocks::default();
        // A list whose bracket is still open, and the line in which it began.
        let mut begun: Option<(String, u64)> = None;
        while let Some(line) = lines.advance()? {
            let line = line.to_vec();
            let Ok(text) = std::str::from_utf8(&line) else {
                return Err(lines.error("no text; a configuration of CODES is expected"));
            };
            for piece in pieces(text) {
                let text = match piece {
                    Piece::Open => {
                        blocks.enter();
                        continue;
                    }
                    Piece::Close => {
                        blocks.open.pop();
                        continue;
                    }
                    Piece::Text(text) => text,
                };
                let (part, line) = match begun.take() {
                    Some((begin, line)) => (begin + text, line),
                    None => (text.to_owned(), lines.number()),
                };
                let Some((name, value)) = part.split_once('=') else {
                    if !part.trim().is_empty() {
                        blocks.word = part.trim().to_owned();
                    }
                    continue;
                };
                if value.trim_start().starts_with('(') && !value.contains(')') {
                    if part.len() > MAX_LIST {
                        let reason =
                            format!("a list of more than {MAX_LIST} bytes, or never closed");
                        return Err(TraceError::new(&file, Position::Line(line), reason));
                    }
                    begun = Some((part, line));
                    continue;
                }
                let values: Vec<String> = (value.split('"').skip(1).step_by(2))
                    .map(str::to_owned)
                    .collect();
                if values.is_empty() || value.matches('"').count() % 2 == 1 {
                    let reason = format!(
                        "`{}` has no value in double quotes, such as num_groups=\"5\";",
                        shown(part.trim().as_bytes())
                    );
                    return Err(TraceError::new(&file, Position::Line(line), reason));
                }
                assignments.push(Assignment {
                    name: name.trim().to_owned(),
                    values,
                    line,
                    section: blocks.section(),
                    group: blocks.group(),
                });
            }
        }
        if let Some((_, line)) = begun {
            let reason = "the bracket that opens here is never closed";
            return Err(TraceError::new(&file, Position::Line(line), reason));
        }
        Ok(Self { file, assignments })
    }

    /// The file's name in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// All assignments in their order.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// The last assignment to a name.
    fn find(&self, name: &str) -> Option<&Assignment> {
        (self.assignments.iter().rev()).find(|assignment| assignment.name == name)
    }

    /// Whether anything is assigned to a name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The value of a name that must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn text(&self, name: &str) -> Result<&str, TraceError> {
        self.entry(name).map(|(value, _)| value)
    }

    /// The values of a name that must be there: of a list in brackets all of them.
    ///
    /// # Errors
    /// If it is not.
    pub fn texts(&self, name: &str) -> Result<&[String], TraceError> {
        self.assignment(name)
            .map(|assignment| assignment.values.as_slice())
    }

    fn assignment(&self, name: &str) -> Result<&Assignment, TraceError> {
        self.find(name).ok_or_else(|| {
            let reason = format!("`{name}` is not given, which this network needs");
            TraceError::new(&self.file, Position::Whole, reason)
        })
    }

    /// The first value of a name and its line.
    fn entry(&self, name: &str) -> Result<(&str, u64), TraceError> {
        let assignment = self.assignment(name)?;
        let value = assignment.values.first().map_or("", String::as_str);
        Ok((value, assignment.line))
    }

    /// The whole numbers of a name that must be there, in a list in brackets or separated
    /// by commas.
    ///
    /// # Errors
    /// If it is not, or one of them is no whole number below 2^32.
    pub fn counts(&self, name: &str) -> Result<Vec<u32>, TraceError> {
        let assignment = self.assignment(name)?;
        let words = assignment.values.iter().flat_map(|value| value.split(','));
        words
            .map(|word| {
                word.trim().parse().map_err(|_| {
                    let found = shown(word.as_bytes());
                    let reason = format!("`{name}` has \"{found}\"; whole numbers are needed");
                    TraceError::new(&self.file, Position::Line(assignment.line), reason)
                })
            })
            .collect()
    }

    /// The whole number of a name that must be there.
    ///
    /// # Errors
    /// If it is not, or no whole number below 2^32.
    pub fn count(&self, name: &str) -> Result<u32, TraceError> {
        let (value, line) = self.entry(name)?;
        value.parse().map_err(|_| {
            let reason = format!(
                "`{name}` is \"{}\"; a whole number is needed",
                shown(value.as_bytes())
            );
            TraceError::new(&self.file, Position::Line(line), reason)
        })
    }

    /// The positive number of a name that must be there.
    ///
    /// # Errors
    /// If it is not, or no finite number above 0.
    pub fn positive(&self, name: &str) -> Result<f64, TraceError> {
        let (value, line) = self.entry(name)?;
        let number = value
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| {
            let reason = format!(
                "`{name}` is \"{}\"; a number above 0 is needed",
                shown(value.as_bytes())
            );
            TraceError::new(&self.file, Position::Line(line), reason)
        })
    }

    /// The number of a name, at least 0; `None` if the name is not there.
    ///
    /// # Errors
    /// If it is no finite number of at least 0.
    pub fn at_least_zero(&self, name: &str) -> Result<Option<f64>, TraceError> {
        if !self.has(name) {
            return Ok(None);
        }
        let (value, line) = self.entry(name)?;
        let number = value
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite() && *n >= 0.0);
        number.map(Some).ok_or_else(|| {
            let reason = format!(
                "`{name}` is \"{}\"; a number of at least 0 is needed",
                shown(value.as_bytes())
            );
            TraceError::new(&self.file, Position::Line(line), reason)
        })
    }

    /// An error at the assignment to `name`, or of the file as a whole if there is none.
    pub fn refuse(&self, name: &str, reason: impl Into<String>) -> TraceError {
        let line = self.find(name).map(|found| Position::Line(found.line));
        TraceError::new(&self.file, line.unwrap_or(Position::Whole), reason)
    }

    /// An error at an assignment.
    pub fn refuse_at(&self, assignment: &Assignment, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Line(assignment.line), reason)
    }

    /// The file that a name refers to: from the configuration's directory, or beside it.
    ///
    /// # Errors
    /// If the name is not there.
    pub fn file(&self, name: &str) -> Result<PathBuf, TraceError> {
        let directory = Path::new(&self.file).parent().unwrap_or(Path::new(""));
        Ok(named_in(directory, Path::new(self.text(name)?)))
    }
}

/// A piece of a line.
enum Piece<'a> {
    /// What stands between semicolons and braces.
    Text(&'a str),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// The pieces of a line, without its comment. Neither semicolons nor braces nor `#` count
/// within double quotes.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut start, mut quoted) = (vec![], 0, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => {
                pieces.push(Piece::Text(&line[start..at]));
                return pieces;
            }
            ';' | '{' | '}' if !quoted => {
                pieces.push(Piece::Text(&line[start..at]));
                match c {
                    '{' => pieces.push(Piece::Open),
                    '}' => pieces.push(Piece::Close),
                    _ => {}
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(Piece::Text(&line[start..]));
    pieces
}

#[cfg(test)]
mod tests;
