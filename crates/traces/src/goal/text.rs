//! GOAL as text.
//!
//! Canonical form, which the writer writes and the reader reads back to the same
//! bytes: `num_ranks N`; per rank, in order, an empty line, `rank R {`, the
//! operations labelled `l1`, `l2`, … each followed by its dependencies on
//! operations above it in their order, then the dependencies on operations below,
//! and `}`. Tags are always written, `cpu` and `nic` where they are not 0, single
//! spaces, no comments, a line feed at the end of every line.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;

use odonata_files::Source;
use odonata_units::{Bytes, RankId};

use super::{Action, Condition, Dependency, MAX_RANKS, Operation, RankSchedule, Tag};
use crate::error::TraceError;
use crate::lines::{LineReader, shown};

/// Reads a schedule rank by rank.
///
/// Ranks must come in order, each once, after `num_ranks`; labels must be unique
/// within a rank and be there before a dependency names them.
///
/// Memory: a buffer, and the graph and labels of the rank at hand.
pub struct GoalTextReader<R> {
    lines: LineReader<R>,
    ranks: Option<u32>,
    next: u32,
    in_comment: bool,
    done: bool,
}

impl GoalTextReader<Source> {
    /// Opens a schedule.
    ///
    /// # Errors
    /// If the file cannot be read, or does not start with the number of ranks.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file, path.display().to_string())
    }
}

impl<R: Read> GoalTextReader<R> {
    /// Reads a schedule from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`GoalTextReader::open`].
    pub fn new(source: R, file: String) -> Result<Self, TraceError> {
        let mut reader = Self {
            lines: LineReader::new(source, file),
            ranks: None,
            next: 0,
            in_comment: false,
            done: false,
        };
        while reader.ranks.is_none() {
            let Some(mut line) = reader.next_line()? else {
                return Err(reader
                    .lines
                    .error_of_file("no line \"num_ranks N\"; this is no GOAL schedule"));
            };
            if line.is_empty() {
                continue;
            }
            if !line.word("num_ranks") {
                return Err(reader.expected("\"num_ranks\"", &line));
            }
            let ranks = reader.number(&mut line, u64::from(MAX_RANKS))?;
            if ranks == 0 {
                return Err(reader.lines.error("num_ranks is 0; a schedule has ranks"));
            }
            reader.end_of_line(&line)?;
            reader.ranks = Some(ranks as u32);
        }
        Ok(reader)
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(0)
    }

    /// The next rank's graph; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// If the schedule is damaged: a statement that is none, a peer that does not
    /// exist, a label that is missing or there twice, dependencies in a circle,
    /// ranks out of order or missing.
    pub fn next_rank(&mut self) -> Result<Option<(RankId, RankSchedule)>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.read_rank();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn read_rank(&mut self) -> Result<Option<(RankId, RankSchedule)>, TraceError> {
        loop {
            let Some(mut line) = self.next_line()? else {
                if self.next < self.ranks() {
                    return Err(self.lines.error_of_file(format!(
                        "the file ends after {} of {} ranks; it is truncated",
                        self.next,
                        self.ranks()
                    )));
                }
                return Ok(None);
            };
            if line.is_empty() {
                continue;
            }
            if !line.word("rank") {
                return Err(self.expected("\"rank\"", &line));
            }
            let rank = self.number(&mut line, u64::from(u32::MAX))? as u32;
            if rank != self.next || rank >= self.ranks() {
                let expected = match self.next < self.ranks() {
                    true => format!("rank {} is next", self.next),
                    false => format!("all {} ranks are there", self.ranks()),
                };
                return Err(self.lines.error(format!("rank {rank}, but {expected}")));
            }
            if !line.symbol(b'{') {
                return Err(self.expected("\"{\"", &line));
            }
            self.next += 1;
            return self.body(line).map(|body| Some((RankId(rank), body)));
        }
    }

    /// Reads up to the closing bracket.
    fn body(&mut self, rest: Line) -> Result<RankSchedule, TraceError> {
        let mut operations = Vec::new();
        let mut edges: Vec<(u32, Dependency)> = Vec::new();
        let mut edge_lines = Vec::new();
        let mut labels: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut line = rest;
        loop {
            if line.is_empty() {
                line = match self.next_line()? {
                    Some(line) => line,
                    None => {
                        let reason = format!(
                            "the file ends within rank {}; it is truncated",
                            self.next - 1
                        );
                        return Err(self.lines.error_of_file(reason));
                    }
                };
                continue;
            }
            if line.symbol(b'}') {
                self.end_of_line(&line)?;
                break;
            }
            let Some(word) = line.name() else {
                return Err(self.expected("an operation, a label or \"}\"", &line));
            };
            if matches!(word.as_slice(), b"send" | b"recv" | b"calc") {
                operations.push(self.operation(&word, &mut line)?);
            } else if line.symbol(b':') {
                let Some(action) = line.name() else {
                    return Err(self.expected("\"send\", \"recv\" or \"calc\"", &line));
                };
                let operation = self.operation(&action, &mut line)?;
                let index = operations.len() as u32;
                if labels.insert(word.clone(), index).is_some() {
                    let reason = format!("label {} is there twice", shown(&word));
                    return Err(self.lines.error(reason));
                }
                operations.push(operation);
            } else {
                let condition = if line.word("requires") {
                    Condition::Finished
                } else if line.word("irequires") {
                    Condition::Started
                } else {
                    return Err(self.expected("\":\", \"requires\" or \"irequires\"", &line));
                };
                let Some(other) = line.name() else {
                    return Err(self.expected("a label", &line));
                };
                let find = |label: &[u8]| {
                    labels.get(label).copied().ok_or_else(|| {
                        let reason = format!("no operation above is labelled {}", shown(label));
                        self.lines.error(reason)
                    })
                };
                let dependency = Dependency {
                    on: find(&other)?,
                    condition,
                };
                edges.push((find(&word)?, dependency));
                edge_lines.push(self.lines.number());
            }
            self.end_of_line(&line)?;
            line = Line::default();
        }
        RankSchedule::new(operations, &edges).map_err(|index| TraceError {
            position: crate::Position::Line(edge_lines[index]),
            ..self
                .lines
                .error("operations wait for each other in a circle, so that none can start")
        })
    }

    /// Reads what follows `send`, `recv` or `calc`.
    fn operation(&self, action: &[u8], line: &mut Line) -> Result<Operation, TraceError> {
        let calculates = match action {
            b"calc" => true,
            b"send" | b"recv" => false,
            _ => {
                let reason = format!(
                    "\"{}\" is no operation; there are \"send\", \"recv\" and \"calc\"",
                    shown(action)
                );
                return Err(self.lines.error(reason));
            }
        };
        let size = self.number(line, u64::MAX)?;
        if calculates {
            let cpu = self.option(line, "cpu")?;
            return Ok(Operation {
                action: Action::Calculate { duration: size },
                cpu,
                nic: 0,
            });
        }
        if !line.symbol(b'b') {
            return Err(self.expected("\"b\" behind the size", line));
        }
        let sends = action == b"send";
        let preposition = if sends { "to" } else { "from" };
        if !line.word(preposition) {
            return Err(self.expected(&format!("\"{preposition}\""), line));
        }
        let peer = match !sends && line.minus_one() {
            true => None,
            false => Some(self.number(line, u64::from(u32::MAX))? as u32),
        };
        if let Some(peer) = peer
            && peer >= self.ranks()
        {
            let reason = format!(
                "rank {peer}, but there are the ranks 0 to {}",
                self.ranks() - 1
            );
            return Err(self.lines.error(reason));
        }
        let mut tag = Tag(0);
        if line.word("tag") {
            tag = match line.minus_one() {
                true => Tag::ANY,
                // The largest number stands for any tag.
                false => Tag(self.number(line, u64::from(u32::MAX) - 1)? as u32),
            };
        }
        let cpu = self.option(line, "cpu")?;
        let nic = self.option(line, "nic")?;
        let size = Bytes(size);
        let action = match (sends, peer) {
            (true, peer) => Action::Send {
                size,
                to: RankId(peer.unwrap_or(0)),
                tag,
            },
            (false, peer) => Action::Receive {
                size,
                from: peer.map(RankId),
                tag,
            },
        };
        Ok(Operation { action, cpu, nic })
    }

    /// Reads `name NUMBER` if it is there.
    fn option(&self, line: &mut Line, name: &str) -> Result<u8, TraceError> {
        match line.word(name) {
            true => self
                .number(line, u64::from(u8::MAX))
                .map(|number| number as u8),
            false => Ok(0),
        }
    }

    fn number(&self, line: &mut Line, most: u64) -> Result<u64, TraceError> {
        match line.number() {
            None => Err(self.expected("a whole number", line)),
            Some(Some(number)) if number <= most => Ok(number),
            _ => Err(self
                .lines
                .error(format!("a number above {most}, the largest allowed"))),
        }
    }

    fn end_of_line(&self, line: &Line) -> Result<(), TraceError> {
        match line.is_empty() {
            true => Ok(()),
            false => Err(self.expected("the end of the line", line)),
        }
    }

    fn expected(&self, what: &str, line: &Line) -> TraceError {
        let found = match line.rest() {
            b"" => "the line ends".to_owned(),
            rest => format!("found \"{}\"", shown(rest)),
        };
        self.lines.error(format!("expected {what}, but {found}"))
    }

    /// The next line without comments; `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Line>, TraceError> {
        let Some(raw) = self.lines.advance()? else {
            return match self.in_comment {
                true => Err(self.lines.error_of_file("the file ends within a comment")),
                false => Ok(None),
            };
        };
        let mut bytes = Vec::with_capacity(raw.len());
        let mut at = 0;
        while at < raw.len() {
            let pair = &raw[at..raw.len().min(at + 2)];
            if self.in_comment {
                self.in_comment = pair != b"*/";
                at += if self.in_comment { 1 } else { 2 };
            } else if pair == b"/*" {
                self.in_comment = true;
                bytes.push(b' ');
                at += 2;
            } else if pair == b"//" {
                break;
            } else {
                bytes.push(raw[at]);
                at += 1;
            }
        }
        Ok(Some(Line { bytes, at: 0 }))
    }
}

impl<R: Read> Iterator for GoalTextReader<R> {
    type Item = Result<(RankId, RankSchedule), TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_rank().transpose()
    }
}

/// A line that is taken apart from left to right.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    at: usize,
}

impl Line {
    /// What is left, without leading spaces.
    fn rest(&self) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let spaces = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        &rest[spaces..]
    }

    fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    fn skip(&mut self, count: usize) {
        self.at = self.bytes.len() - self.rest().len() + count;
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let piece = self.rest()[..count].to_vec();
        self.skip(count);
        piece
    }

    /// Takes the word `word` if it is next.
    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let found = rest.starts_with(word.as_bytes())
            && !rest.get(word.len()).is_some_and(|&byte| is_name(byte));
        if found {
            self.skip(word.len());
        }
        found
    }

    /// Takes one character, whatever follows.
    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.rest().first() == Some(&symbol);
        if found {
            self.skip(1);
        }
        found
    }

    fn minus_one(&mut self) -> bool {
        let found =
            self.rest().starts_with(b"-1") && !self.rest().get(2).is_some_and(u8::is_ascii_digit);
        if found {
            self.skip(2);
        }
        found
    }

    /// Takes a name: a letter, then letters, digits and underscores.
    fn name(&mut self) -> Option<Vec<u8>> {
        let rest = self.rest();
        rest.first().filter(|byte| byte.is_ascii_alphabetic())?;
        let length = rest.iter().take_while(|&&byte| is_name(byte)).count();
        Some(self.take(length))
    }

    /// Takes a number: `None` if there is none, `Some(None)` if it exceeds 64 bits.
    fn number(&mut self) -> Option<Option<u64>> {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        let number = rest[..length].iter().try_fold(0u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        self.skip(length);
        Some(number)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Writes a schedule in canonical form, rank by rank.
pub struct GoalTextWriter<W> {
    out: W,
    ranks: u32,
    next: u32,
}

impl<W: Write> GoalTextWriter<W> {
    /// Starts a schedule of `ranks` ranks.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(mut out: W, ranks: u32) -> io::Result<Self> {
        writeln!(out, "num_ranks {ranks}")?;
        Ok(Self {
            out,
            ranks,
            next: 0,
        })
    }

    /// Writes the next rank.
    ///
    /// # Errors
    /// If all ranks are written, or `out` fails.
    pub fn push(&mut self, schedule: &RankSchedule) -> io::Result<()> {
        if self.next == self.ranks {
            return Err(too_many(self.ranks));
        }
        let out = &mut self.out;
        writeln!(out, "\nrank {} {{", self.next)?;
        for (index, operation) in schedule.operations().iter().enumerate() {
            write!(out, "l{}: ", index + 1)?;
            match operation.action {
                Action::Send { size, to, tag } => {
                    write!(out, "send {}b to {to}", size.0)?;
                    write_tag(out, tag)?;
                }
                Action::Receive { size, from, tag } => {
                    write!(out, "recv {}b from ", size.0)?;
                    match from {
                        Some(from) => write!(out, "{from}")?,
                        None => write!(out, "-1")?,
                    }
                    write_tag(out, tag)?;
                }
                Action::Calculate { duration } => write!(out, "calc {duration}")?,
            }
            if operation.cpu != 0 {
                write!(out, " cpu {}", operation.cpu)?;
            }
            if operation.nic != 0 {
                write!(out, " nic {}", operation.nic)?;
            }
            writeln!(out)?;
            // The format wants both labels above a dependency, so those on later
            // operations follow at the end.
            for dependency in schedule.dependencies(index as u32) {
                if dependency.on as usize <= index {
                    write_dependency(out, index, *dependency)?;
                }
            }
        }
        for index in 0..schedule.operations().len() {
            for dependency in schedule.dependencies(index as u32) {
                if dependency.on as usize > index {
                    write_dependency(out, index, *dependency)?;
                }
            }
        }
        writeln!(out, "}}")?;
        self.next += 1;
        Ok(())
    }

    /// Ends the schedule.
    ///
    /// # Errors
    /// If ranks are missing or `out` fails.
    pub fn finish(mut self) -> io::Result<W> {
        if self.next != self.ranks {
            return Err(too_few(self.next, self.ranks));
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

fn write_tag(out: &mut impl Write, tag: Tag) -> io::Result<()> {
    match tag {
        Tag::ANY => write!(out, " tag -1"),
        Tag(tag) => write!(out, " tag {tag}"),
    }
}

fn write_dependency(out: &mut impl Write, index: usize, dependency: Dependency) -> io::Result<()> {
    let verb = match dependency.condition {
        Condition::Finished => "requires",
        Condition::Started => "irequires",
    };
    writeln!(out, "l{} {verb} l{}", index + 1, dependency.on + 1)
}

pub(super) fn too_many(ranks: u32) -> io::Error {
    let reason = format!("one rank more than the {ranks} of the schedule");
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

pub(super) fn too_few(written: u32, ranks: u32) -> io::Error {
    let reason = format!("{written} of {ranks} ranks are written");
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
