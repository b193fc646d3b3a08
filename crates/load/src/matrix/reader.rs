//! Reads communication matrices from files.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use odonata_units::{Bytes, RankId};
use thiserror::Error;

use super::format::{Columns, Format, delimiter, header_names};
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
    /// The file is empty.
    #[error("{file}: the communication matrix is empty; expected {EXPECTED}")]
    Empty {
        /// File.
        file: PathBuf,
    },
    /// The first line is neither a known header nor numbers.
    #[error("{file}, line 1: found the header {found:?}; expected {EXPECTED}")]
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
    #[error("{file}, line {line}, column {column}: found {found:?}; allowed is {allowed}")]
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
                        `src,dst,pdf_num_bytes` (shares), or a square matrix of numbers without header";

/// Most ranks that a file by itself may have: more than any machine has cores, and few
/// enough that a mistyped rank does not take a gigabyte, as a row is kept for every one.
const MOST_RANKS: u32 = 1 << 24;

/// Reads the communication matrix in `path`. The [`Format`] is told from the
/// first line; fields are separated by commas, semicolons or tabs; empty lines
/// and lines that start with `#` (the header aside) are skipped. The file is
/// read as a stream.
///
/// # Errors
/// A [`MatrixError`] that names the file, the line and the column.
pub fn read_matrix(
    path: &Path,
    options: ReadOptions,
) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
    let file = odonata_files::open(path).map_err(|reason| MatrixError::Io {
        file: path.to_owned(),
        reason,
    })?;
    read_matrix_from(file, path, options)
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
    let file = || name.to_owned();
    let mut input = BufReader::new(input);
    let mut first_line = String::new();
    input
        .read_line(&mut first_line)
        .map_err(|reason| MatrixError::Io {
            file: file(),
            reason,
        })?;
    if first_line.trim().is_empty() {
        return Err(MatrixError::Empty { file: file() });
    }
    let separator = delimiter(&first_line);
    let names = header_names(&first_line, separator);
    let numeric = names.iter().all(|name| name.parse::<f64>().is_ok());
    let parser = Parser {
        file: name,
        options,
        builder: MatrixBuilder::new(),
        entries: 0,
        empty: 0,
    };
    let mut lines = Lines {
        input,
        file: name,
        separator,
        text: first_line,
        fields: Vec::new(),
        number: 1,
    };
    if let Some(columns) = Columns::of_header(&names) {
        parser.edges(lines, columns)
    } else if numeric {
        lines.split();
        parser.dense(lines)
    } else {
        Err(MatrixError::Header {
            file: file(),
            found: lines.text.trim().to_owned(),
        })
    }
}

/// The lines of a file, split into fields.
struct Lines<'a, R> {
    input: R,
    file: &'a Path,
    separator: u8,
    /// The current line.
    text: String,
    /// Its fields, without blanks and quotes around them.
    fields: Vec<Range<usize>>,
    /// Its number, from 1.
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    /// Goes to the next line that is neither empty nor a comment; false at the end.
    fn advance(&mut self) -> Result<bool, MatrixError> {
        loop {
            self.text.clear();
            self.number += 1;
            let read = self.input.read_line(&mut self.text);
            let read = read.map_err(|reason| MatrixError::Io {
                file: self.file.to_owned(),
                reason,
            })?;
            if read == 0 {
                return Ok(false);
            }
            let text = self.text.trim_ascii_start();
            if !text.is_empty() && !text.starts_with('#') {
                self.split();
                return Ok(true);
            }
        }
    }

    fn split(&mut self) {
        self.fields.clear();
        let mut start = 0;
        let line = self.text.trim_end_matches(['\n', '\r']);
        for field in line.split(char::from(self.separator)) {
            let trimmed = field.trim_start_matches([' ', '"']);
            let from = start + field.len() - trimmed.len();
            let to = from + trimmed.trim_end_matches([' ', '"']).len();
            self.fields.push(from..to);
            start += field.len() + 1;
        }
    }

    fn field(&self, column: usize) -> &str {
        &self.text[self.fields[column].clone()]
    }
}

struct Parser<'a> {
    file: &'a Path,
    options: ReadOptions,
    builder: MatrixBuilder,
    entries: u64,
    empty: u64,
}

impl Parser<'_> {
    fn field_error(&self, line: u64, column: usize, found: &str, allowed: String) -> MatrixError {
        MatrixError::Field {
            file: self.file.to_owned(),
            line,
            column: column + 1,
            found: found.to_owned(),
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

    fn add(&mut self, from: RankId, to: RankId, bytes: u64, messages: Option<u64>) {
        self.builder.add(from, to, Bytes(bytes), messages);
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
                continue;
            }
            let bytes = self.count(&lines, columns.amount, "bytes")?;
            let messages = match columns.messages {
                Some(column) => Some(self.count(&lines, column, "messages")?),
                None => None,
            };
            self.empty += u64::from(bytes == 0);
            match columns.format {
                Format::Undirected if from != to => {
                    let back = bytes / 2;
                    let messages_back = messages.map(|messages| messages / 2);
                    let messages_forth =
                        messages.map(|messages| messages - messages_back.unwrap_or(0));
                    self.add_unless_nothing(from, to, bytes - back, messages_forth);
                    self.add_unless_nothing(to, from, back, messages_back);
                }
                _ => self.add_unless_nothing(from, to, bytes, messages),
            }
        }
        if let (true, Some(total)) = (shares_wanted, self.options.total_bytes) {
            self.apportion(shares, total)?;
        }
        self.finish(columns.format, None)
    }

    /// Adds an entry unless it has neither bytes nor counted messages. Bytes
    /// that move in no message are one message.
    fn add_unless_nothing(&mut self, from: RankId, to: RankId, bytes: u64, messages: Option<u64>) {
        if bytes > 0 || messages.is_some_and(|messages| messages > 0) {
            let messages = messages.map(|messages| messages.max(1));
            self.add(from, to, bytes, messages);
        }
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

    /// Turns shares into whole bytes that sum to exactly `total`: each entry
    /// gets the difference of the rounded running sums before and after it, in
    /// the order of the ranks, so that no entry is off by more than a byte.
    fn apportion(
        &mut self,
        mut shares: Vec<(RankId, RankId, f64)>,
        total: Bytes,
    ) -> Result<(), MatrixError> {
        shares.sort_by_key(|&(from, to, _)| (from, to));
        let sum: f64 = shares.iter().map(|&(_, _, share)| share).sum();
        if !(0.99..=1.01).contains(&sum) {
            return Err(MatrixError::Shares {
                file: self.file.to_owned(),
                sum,
            });
        }
        let (mut running, mut given) = (0.0, 0u64);
        let last = shares.len() - 1;
        for (index, (from, to, share)) in shares.into_iter().enumerate() {
            running += share;
            let upto = match index {
                index if index == last => total.0,
                _ => ((running / sum * total.0 as f64).round() as u64).clamp(given, total.0),
            };
            self.empty += u64::from(upto == given);
            self.add_unless_nothing(from, to, upto - given, None);
            given = upto;
        }
        Ok(())
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
                let bytes = self.count(&lines, column, "bytes")?;
                self.entries += 1;
                self.empty += u64::from(bytes == 0);
                self.add_unless_nothing(RankId(row), RankId(column as u32), bytes, None);
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
        self,
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
        let (self_entries, self_bytes) = self.builder.to_self();
        let (matrix, merged) = self
            .builder
            .build(ranks)
            .ok_or_else(|| MatrixError::TooMuch {
                file: self.file.to_owned(),
            })?;
        let matrix =
            match self.options.total_bytes {
                Some(total) if format != Format::Probabilities => matrix
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
        };
        Ok((matrix, report))
    }
}

#[cfg(test)]
mod tests;
