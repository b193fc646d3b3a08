//! Reads communication matrices from files.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use odonata_files::{Line, read_line, shown};
use odonata_units::{Bytes, RankId};
use thiserror::Error;

use super::format::{Columns, Format, Section, Separator, header_names, separator};
use super::{CommunicationMatrix, MatrixBuilder};

/// What the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Number of ranks; `None`: one more than the highest rank in the file.
    pub ranks: Option<u32>,
    /// Bytes of the whole matrix; needed for files that hold shares. Others are
    /// scaled. The bytes of the entries sum to exactly this.
    pub total_bytes: Option<Bytes>,
}

/// What was read and what was left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadReport {
    /// Layout of the file.
    pub format: Format,
    /// Entries in the file: lines of an edge list, numbers of a dense matrix.
    pub entries: u64,
    /// Entries of a rank to itself, left out.
    pub self_entries: u64,
    /// Their bytes, as in the file.
    pub self_bytes: Bytes,
    /// Entries added to another one of the same pair.
    pub merged: u64,
    /// Entries of 0 bytes. Those with messages stay in the matrix, though they
    /// send nothing; those without are left out.
    pub empty: u64,
    /// Entries with a fraction of a byte: rounded to the nearest whole one, or, with a
    /// number of bytes for the whole matrix, given their part of it.
    pub fractions: u64,
}

/// Why a file is no communication matrix.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The file cannot be read.
    #[error("cannot read the communication matrix {file}: {reason}")]
    Io {
        /// File.
        file: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A line is no line of text, or more than is read.
    #[error("{file}, line {line} {flaw}")]
    Line {
        /// File.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        flaw: String,
    },
    /// The file is empty.
    #[error("{file}: the communication matrix is empty; expected {EXPECTED}")]
    Empty {
        /// File.
        file: PathBuf,
    },
    /// The first line is neither a known header nor numbers.
    #[error("{file}, line 1: found the header \"{found}\"; expected {EXPECTED}")]
    Header {
        /// File.
        file: PathBuf,
        /// The line.
        found: String,
    },
    /// A line has another number of fields than it should.
    #[error("{file}, line {line}: found {found} fields; expected {expected}{hint}")]
    Fields {
        /// File.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
        /// What to do.
        hint: &'static str,
    },
    /// A field is not what its column holds.
    #[error("{file}, line {line}, column {column}: found \"{found}\"; allowed is {allowed}")]
    Field {
        /// File.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: usize,
        /// Text of the field.
        found: String,
        /// What the column may hold.
        allowed: String,
    },
    /// A dense matrix has fewer lines than columns.
    #[error(
        "{file}: found {found} lines of {expected} numbers; a matrix without a header must be \
         square (is the file cut off, or an edge list that lacks its header line?)"
    )]
    NotSquare {
        /// File.
        file: PathBuf,
        /// Lines.
        found: u32,
        /// Columns.
        expected: u32,
    },
    /// A report without a matrix, or with a part of one.
    #[error("{file}: {name} {flaw}")]
    Report {
        /// File.
        file: PathBuf,
        /// What the file is.
        name: &'static str,
        /// What is wrong with it.
        flaw: String,
    },
    /// Shares of the bytes, but not of how many.
    #[error(
        "{file} holds shares of the bytes, not bytes; give the number of bytes of the whole matrix \
         (total_bytes)"
    )]
    NoTotal {
        /// File.
        file: PathBuf,
    },
    /// A total for a file without bytes.
    #[error("{file} holds no bytes between different ranks; they cannot be scaled to {total} B")]
    NothingToScale {
        /// File.
        file: PathBuf,
        /// Total given.
        total: u64,
    },
    /// Shares that do not sum to 1.
    #[error("{file}: the shares sum to {sum}; expected 1 within 1 % (is the file cut off?)")]
    Shares {
        /// File.
        file: PathBuf,
        /// Their sum.
        sum: f64,
    },
    /// Sums beyond 64 bits.
    #[error("{file}: the bytes or messages of all entries together exceed 2^64")]
    TooMuch {
        /// File.
        file: PathBuf,
    },
}

/// The formats, for messages.
const EXPECTED: &str = "a header `src,dst,bytes[,messages]` (directed), `a,b,bytes` (undirected) or \
                        `src,dst,pdf_num_bytes` (shares), a square matrix of numbers without header, a report \
                        of mpiP with a communication matrix, or graphStats.txt of one";

/// Most ranks that a file by itself may have: more than any machine has cores, and few
/// enough that a mistyped rank does not take a gigabyte, as a row is kept for every one.
const MOST_RANKS: u32 = 1 << 24;

/// Most entries that are kept, those of 0 bytes aside: of a matrix without others, 8,192 ranks.
const MOST_ENTRIES: usize = 1 << 26;

/// Longest line that is read, bytes.
const MOST_LINE_BYTES: usize = 16 << 20;

/// Reads the communication matrix in `path`. The [`Format`] is distinguished from the
/// first line; fields are separated by commas or semicolons if it has any, otherwise
/// by blanks and tabs; empty lines and lines that start with `#` (the header aside)
/// are skipped. Fractions of bytes are rounded. The file is read as a stream;
/// its lines may have 16 MiB.
///
/// # Errors
/// A [`MatrixError`] that names the file, the line and the column.
pub fn read_matrix(
    path: &Path,
    options: ReadOptions,
) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
    read_matrix_from(opened(path)?, path, options)
}

/// Weights of [`read_rates`] in all: more than their shares are exact to.
const RATES: Bytes = Bytes(1 << 53);

/// Reads how much goes from where to where as shares of the whole, whatever the file
/// counts: the "bytes" of the entries sum to 2^53. Rows and columns may be ranks or
/// racks of them, so that the diagonal is kept. `size`: number of rows; `None`: one
/// more than the highest in the file.
///
/// # Errors
/// As [`read_matrix`].
pub fn read_rates(path: &Path, size: Option<u32>) -> Result<CommunicationMatrix, MatrixError> {
    let options = ReadOptions {
        ranks: size,
        total_bytes: Some(RATES),
    };
    let builder = MatrixBuilder::with_diagonal();
    read_into(builder, opened(path)?, path, options, MOST_ENTRIES).map(|(matrix, _)| matrix)
}

fn opened(path: &Path) -> Result<impl Read, MatrixError> {
    odonata_files::open(path).map_err(|reason| MatrixError::Io {
        file: path.to_owned(),
        reason,
    })
}

/// Reads a communication matrix from `input`; `name` stands for it in errors.
///
/// # Errors
/// As [`read_matrix`].
pub fn read_matrix_from(
    input: impl Read,
    name: &Path,
    options: ReadOptions,
) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
    read_into(MatrixBuilder::new(), input, name, options, MOST_ENTRIES)
}

fn read_into(
    builder: MatrixBuilder,
    input: impl Read,
    name: &Path,
    options: ReadOptions,
    most_entries: usize,
) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
    let mut lines = Lines {
        input: BufReader::new(input),
        file: name,
        separator: Separator::Blanks,
        text: String::new(),
        fields: Vec::new(),
        number: 0,
    };
    let parser = Parser {
        file: name,
        options,
        most_entries,
        builder,
        entries: 0,
        empty: 0,
        fractions: 0,
        largest: 0.0,
        // Whatever is scaled keeps its fractions.
        weights: options.total_bytes.map(|_| Vec::new()),
    };
    // Remarks may come before the first line that says something.
    while lines.read()? {
        let first = lines.text.trim();
        lines.separator = separator(first);
        let names = header_names(first, lines.separator);
        if first.is_empty() {
            if lines.number == 1 {
                break;
            }
        } else if let Some(columns) = Columns::of_header(&names) {
            return parser.edges(lines, columns);
        } else if let Some(section) = Section::of_first_line(first) {
            return parser.report(lines, section);
        } else if !first.starts_with('#') {
            if names.iter().all(|name| name.parse::<f64>().is_ok()) {
                lines.split();
                return parser.dense(lines);
            }
            return Err(MatrixError::Header {
                file: name.to_owned(),
                found: shown(first.as_bytes()),
            });
        }
    }
    Err(MatrixError::Empty {
        file: name.to_owned(),
    })
}

/// The lines of a file, split into fields.
struct Lines<'a, R> {
    input: R,
    file: &'a Path,
    separator: Separator,
    /// The current line.
    text: String,
    /// Its fields, without blanks and quotes around them.
    fields: Vec<Range<usize>>,
    /// Its number, from 1.
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    /// Goes to the next line; false at the end.
    fn read(&mut self) -> Result<bool, MatrixError> {
        self.number += 1;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let read = read_line(&mut self.input, MOST_LINE_BYTES, &mut bytes);
        let read = read.map_err(|reason| MatrixError::Io {
            file: self.file.to_owned(),
            reason,
        })?;
        if read == Line::Overlong {
            return Err(self.error("is longer than 16 MiB, the most that is read"));
        }
        self.text = String::from_utf8(bytes).map_err(|_| self.error("is not UTF-8"))?;
        Ok(read == Line::Whole)
    }

    /// An error of the current line.
    fn error(&self, flaw: impl Into<String>) -> MatrixError {
        MatrixError::Line {
            file: self.file.to_owned(),
            line: self.number,
            flaw: flaw.into(),
        }
    }

    /// Goes to the next line that is neither empty nor a comment; false at the end.
    fn advance(&mut self) -> Result<bool, MatrixError> {
        while self.read()? {
            let text = self.text.trim_ascii_start();
            if !text.is_empty() && !text.starts_with('#') {
                self.split();
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn split(&mut self) {
        self.fields.clear();
        let mut start = 0;
        let line = self.text.trim_end_matches(['\n', '\r']);
        let separator = match self.separator {
            Separator::Character(character) => character,
            Separator::Blanks => {
                for field in line.split_ascii_whitespace() {
                    // A piece of the line, which knows where it lies.
                    let from = field.as_ptr().addr() - line.as_ptr().addr();
                    self.fields.push(from..from + field.len());
                }
                return;
            }
        };
        for field in line.split(separator) {
            let trimmed = field.trim_start_matches([' ', '"']);
            let from = start + field.len() - trimmed.len();
            let to = from + trimmed.trim_end_matches([' ', '"']).len();
            self.fields.push(from..to);
            start += field.len() + separator.len_utf8();
        }
    }

    fn field(&self, column: usize) -> &str {
        &self.text[self.fields[column].clone()]
    }
}

struct Parser<'a> {
    file: &'a Path,
    options: ReadOptions,
    most_entries: usize,
    builder: MatrixBuilder,
    entries: u64,
    empty: u64,
    /// Entries with a fraction of a byte.
    fractions: u64,
    /// The largest entry.
    largest: f64,
    /// All entries as they are in the file, where they are to be scaled.
    weights: Option<Vec<Weight>>,
}

/// An entry as it is in the file: from, to, its weight, and its messages where they are known.
type Weight = (RankId, RankId, f64, Option<u64>);

/// Bytes of an entry.
#[derive(Clone, Copy)]
struct Amount {
    /// To the nearest byte.
    bytes: u64,
    exact: f64,
}

impl Amount {
    /// What goes back of an amount of both directions, half of it, and what forth: the
    /// odd byte with it.
    fn halved(self) -> (Self, Self) {
        let half = |bytes| Self {
            bytes,
            exact: self.exact / 2.0,
        };
        (half(self.bytes / 2), half(self.bytes - self.bytes / 2))
    }
}

impl Parser<'_> {
    fn field_error(&self, line: u64, column: usize, found: &str, allowed: String) -> MatrixError {
        MatrixError::Field {
            file: self.file.to_owned(),
            line,
            column: column + 1,
            found: shown(found.as_bytes()),
            allowed,
        }
    }

    fn rank(&self, lines: &Lines<impl BufRead>, column: usize) -> Result<RankId, MatrixError> {
        let text = lines.field(column);
        let ranks = self.options.ranks.unwrap_or(MOST_RANKS);
        match text.parse::<u32>() {
            Ok(rank) if rank < ranks => Ok(RankId(rank)),
            _ => {
                let last = ranks.saturating_sub(1);
                Err(self.field_error(
                    lines.number,
                    column,
                    text,
                    format!("a rank from 0 to {last}"),
                ))
            }
        }
    }

    /// A whole number, also written as `12.0` or `1e6`.
    fn count(
        &self,
        lines: &Lines<impl BufRead>,
        column: usize,
        what: &str,
    ) -> Result<u64, MatrixError> {
        let text = lines.field(column);
        if let Ok(count) = text.parse::<u64>() {
            return Ok(count);
        }
        match text.parse::<f64>() {
            Ok(count) if count >= 0.0 && count < (1u64 << 53) as f64 && count.fract() == 0.0 => {
                Ok(count as u64)
            }
            _ => {
                let allowed = format!("a whole number of {what}, 0 or more");
                Err(self.field_error(lines.number, column, text, allowed))
            }
        }
    }

    fn check_count(&self, entries: usize, lines: &Lines<impl BufRead>) -> Result<(), MatrixError> {
        if entries <= self.most_entries {
            return Ok(());
        }
        let most = self.most_entries;
        Err(lines.error(format!(
            "is beyond {most} entries other than 0, the most that are read"
        )))
    }

    /// Bytes, of which there may be a fraction.
    fn amount(
        &mut self,
        lines: &Lines<impl BufRead>,
        column: usize,
    ) -> Result<Amount, MatrixError> {
        let text = lines.field(column);
        let amount = match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(bytes), _) => Amount {
                bytes,
                exact: bytes as f64,
            },
            (_, Ok(exact)) if exact >= 0.0 && exact < (1u64 << 53) as f64 => {
                self.fractions += u64::from(exact.fract() != 0.0);
                Amount {
                    bytes: exact.round() as u64,
                    exact,
                }
            }
            _ => {
                let allowed = "a number of bytes, 0 or more".to_owned();
                return Err(self.field_error(lines.number, column, text, allowed));
            }
        };
        self.largest = self.largest.max(amount.exact);
        let weights = self.weights.as_ref().map_or(0, Vec::len);
        self.check_count(self.builder.entries().max(weights), lines)?;
        Ok(amount)
    }

    fn edges(
        mut self,
        mut lines: Lines<impl BufRead>,
        columns: Columns,
    ) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
        let shares_wanted = columns.format == Format::Probabilities;
        if shares_wanted && self.options.total_bytes.is_none() {
            return Err(MatrixError::NoTotal {
                file: self.file.to_owned(),
            });
        }
        let mut shares = Vec::new();
        while lines.advance()? {
            if lines.fields.len() != columns.count {
                return Err(MatrixError::Fields {
                    file: self.file.to_owned(),
                    line: lines.number,
                    found: lines.fields.len(),
                    expected: columns.count,
                    hint: " as in the header (is the file cut off?)",
                });
            }
            self.entries += 1;
            let from = self.rank(&lines, columns.from)?;
            let to = self.rank(&lines, columns.to)?;
            if shares_wanted {
                shares.push((from, to, self.share(&lines, columns.amount)?));
                self.check_count(shares.len(), &lines)?;
                continue;
            }
            let amount = self.amount(&lines, columns.amount)?;
            let messages = match columns.messages {
                Some(column) => Some(self.count(&lines, column, "messages")?),
                None => None,
            };
            match columns.format {
                Format::Undirected => self.both_ways(from, to, amount, messages),
                _ => self.entry(from, to, amount, messages),
            }
        }
        if let (true, Some(total)) = (shares_wanted, self.options.total_bytes) {
            let sum: f64 = shares.iter().map(|&(_, _, share)| share).sum();
            if !(0.99..=1.01).contains(&sum) {
                return Err(MatrixError::Shares {
                    file: self.file.to_owned(),
                    sum,
                });
            }
            let shares = shares
                .into_iter()
                .map(|(from, to, share)| (from, to, share, None));
            self.apportion(shares.collect(), total);
        }
        self.finish(columns.format, None)
    }

    fn entry(&mut self, from: RankId, to: RankId, amount: Amount, messages: Option<u64>) {
        self.empty += u64::from(amount.exact == 0.0);
        if let Some(weights) = &mut self.weights {
            weights.push((from, to, amount.exact, messages));
        }
        self.add_unless_nothing(from, to, amount.bytes, messages);
    }

    /// An entry for both directions together.
    fn both_ways(&mut self, from: RankId, to: RankId, amount: Amount, messages: Option<u64>) {
        if from == to {
            return self.entry(from, to, amount, messages);
        }
        self.empty += u64::from(amount.exact == 0.0);
        let (back, forth) = amount.halved();
        let messages_back = messages.map(|messages| messages / 2);
        let messages_forth = messages.map(|messages| messages - messages_back.unwrap_or(0));
        for (from, to, amount, messages) in [
            (from, to, forth, messages_forth),
            (to, from, back, messages_back),
        ] {
            if let Some(weights) = &mut self.weights {
                weights.push((from, to, amount.exact, messages));
            }
            self.add_unless_nothing(from, to, amount.bytes, messages);
        }
    }

    /// Adds an entry unless it has neither bytes nor counted messages. Bytes
    /// that move in no message are one message.
    fn add_unless_nothing(&mut self, from: RankId, to: RankId, bytes: u64, messages: Option<u64>) {
        if bytes > 0 || messages.is_some_and(|messages| messages > 0) {
            let messages = messages.map(|messages| messages.max(1));
            self.builder.add(from, to, Bytes(bytes), messages);
        }
    }

    /// The matrix that stands somewhere in a report.
    fn report(
        mut self,
        mut lines: Lines<impl BufRead>,
        section: Section,
    ) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
        let flaw = |file: &Path, flaw: String| MatrixError::Report {
            file: file.to_owned(),
            name: section.name,
            flaw,
        };
        while !lines.text.contains(section.begins) {
            if !lines.read()? {
                return Err(flaw(
                    self.file,
                    format!(
                        "without a communication matrix (a line \"{}\"): it does not tell who \
                         sends to whom",
                        section.begins
                    ),
                ));
            }
        }
        lines.separator = Separator::Blanks;
        let mut ranks = 0;
        loop {
            if !lines.advance()? {
                return Err(flaw(
                    self.file,
                    format!(
                        "that ends before its line \"{}\"; is it cut off?",
                        section.ends
                    ),
                ));
            }
            if lines.text.contains(section.ends) {
                break;
            }
            let is_edge = lines
                .text
                .trim_start()
                .starts_with(|first: char| first.is_ascii_digit());
            let (from, to, expected) = match section.format {
                // Titles of the ranks' parts.
                Format::MpiP if !is_edge => continue,
                Format::MpiP => (0, 1, 4),
                // a , b = bytes
                _ => (0, 2, 5),
            };
            if lines.fields.len() != expected {
                return Err(MatrixError::Fields {
                    file: self.file.to_owned(),
                    line: lines.number,
                    found: lines.fields.len(),
                    expected,
                    hint: match section.format {
                        Format::MpiP => " (source, target, bytes, messages)",
                        _ => " (a , b = bytes)",
                    },
                });
            }
            self.entries += 1;
            let (from, to) = (self.rank(&lines, from)?, self.rank(&lines, to)?);
            ranks = ranks.max(from.0 + 1).max(to.0 + 1);
            match section.format {
                Format::MpiP => {
                    let amount = self.amount(&lines, 2)?;
                    let messages = self.count(&lines, 3, "messages")?;
                    // On the diagonal stands the sum of the row.
                    if from != to {
                        self.entry(from, to, amount, Some(messages));
                    }
                }
                _ => {
                    let amount = self.amount(&lines, 4)?;
                    self.both_ways(from, to, amount, None);
                }
            }
        }
        self.finish(section.format, Some(ranks))
    }

    fn share(&self, lines: &Lines<impl BufRead>, column: usize) -> Result<f64, MatrixError> {
        let text = lines.field(column);
        match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => {
                Err(self.field_error(lines.number, column, text, "a share from 0 to 1".to_owned()))
            }
        }
    }

    /// Turns weights into whole bytes that sum to exactly `total`: each entry
    /// gets the difference of the rounded running sums before and after it, in
    /// the order of the ranks, so that no entry is off by more than a byte.
    fn apportion(&mut self, mut weights: Vec<Weight>, total: Bytes) {
        weights.sort_by_key(|&(from, to, ..)| (from, to));
        let sum: f64 = weights.iter().map(|&(_, _, weight, _)| weight).sum();
        let (mut running, mut given) = (0.0, 0u64);
        let last = weights.len().saturating_sub(1);
        for (index, (from, to, weight, messages)) in weights.into_iter().enumerate() {
            running += weight;
            let upto = match index {
                index if index == last => total.0,
                _ => ((running / sum * total.0 as f64).round() as u64).clamp(given, total.0),
            };
            self.empty += u64::from(upto == given);
            self.add_unless_nothing(from, to, upto - given, messages);
            given = upto;
        }
    }

    fn dense(
        mut self,
        mut lines: Lines<impl BufRead>,
    ) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
        let columns = lines.fields.len();
        let ranks = u32::try_from(columns).unwrap_or(u32::MAX);
        let allowed = self.options.ranks.unwrap_or(MOST_RANKS);
        let mut row = 0u32;
        loop {
            if lines.fields.len() != columns || row == ranks {
                let found = lines.fields.len();
                return Err(MatrixError::Fields {
                    file: self.file.to_owned(),
                    line: lines.number,
                    found,
                    expected: if row == ranks { 0 } else { columns },
                    hint: if row == ranks {
                        " after the last line of a square matrix (an edge list needs a header line)"
                    } else {
                        " as in the first line"
                    },
                });
            }
            if row >= allowed || ranks > allowed {
                return Err(self.field_error(
                    lines.number,
                    columns - 1,
                    &format!("{columns} columns"),
                    format!("a matrix of at most {allowed} ranks"),
                ));
            }
            for column in 0..columns {
                let amount = self.amount(&lines, column)?;
                self.entries += 1;
                self.entry(RankId(row), RankId(column as u32), amount, None);
            }
            row += 1;
            if !lines.advance()? {
                break;
            }
        }
        if row != ranks {
            return Err(MatrixError::NotSquare {
                file: self.file.to_owned(),
                found: row,
                expected: ranks,
            });
        }
        self.finish(Format::Dense, Some(ranks))
    }

    fn finish(
        mut self,
        format: Format,
        ranks: Option<u32>,
    ) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
        let seen = self.builder.highest().map_or(0, |rank| rank.0 + 1);
        let ranks = self.options.ranks.or(ranks).unwrap_or(seen);
        if self.entries == 0 {
            return Err(MatrixError::Empty {
                file: self.file.to_owned(),
            });
        }
        if self.fractions > 0 {
            match (self.options.total_bytes, self.weights.take()) {
                (Some(total), Some(mut weights)) => {
                    // What a rank keeps has no part in the total.
                    let keeps = self.builder.keeps_diagonal();
                    weights.retain(|of| of.2 > 0.0 && (keeps || of.0 != of.1));
                    if weights.is_empty() {
                        return Err(MatrixError::NothingToScale {
                            file: self.file.to_owned(),
                            total: total.0,
                        });
                    }
                    self.builder.clear();
                    self.apportion(weights, total);
                }
                // Of what is so small nothing would be left.
                (None, _) if self.largest <= 1.0 => {
                    return Err(MatrixError::NoTotal {
                        file: self.file.to_owned(),
                    });
                }
                _ => {}
            }
        }
        let (self_entries, self_bytes) = self.builder.to_self();
        let (matrix, merged) = self
            .builder
            .build(ranks)
            .ok_or_else(|| MatrixError::TooMuch {
                file: self.file.to_owned(),
            })?;
        let matrix = match self.options.total_bytes {
            Some(total) if format != Format::Probabilities && self.fractions == 0 => matrix
                .scaled_to(total)
                .ok_or_else(|| MatrixError::NothingToScale {
                    file: self.file.to_owned(),
                    total: total.0,
                })?,
            _ => matrix,
        };
        let report = ReadReport {
            format,
            entries: self.entries,
            self_entries,
            self_bytes,
            merged,
            empty: self.empty,
            fractions: self.fractions,
        };
        Ok((matrix, report))
    }
}

#[cfg(test)]
mod tests;
