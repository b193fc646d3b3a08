//! Text traces of liballprof, the input of Schedgen: a file per rank, a line per call of MPI.
//!
//! `MPI_Send:1298365588610860:140735000539176:1:1,4,4:1:0:6575616,0,4:1298365588610888` is a
//! call with its arguments in order between the times of its entry and its return, microseconds.
//! Integers are written as they are, a datatype as `NUMBER,SIZE,EXTENT`, a communicator as
//! `HANDLE,RANK,SIZE`, a list of counts as the address and then `COUNT,COUNT,…`, everything else
//! (buffers, requests, statuses, new communicators, other lists) as an address. `-` stands for
//! the times that cannot be known, before `MPI_Init` and behind `MPI_Finalize`. Lines that begin
//! with `#` are remarks, the first ones tell version, date and host.
//!
//! Facts: LogGOPSim, `src/liballprof/template.c`, `gencode.py` and `mpi.h_mpich`;
//! `src/Schedgen/process_trace.cpp`.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bytes::shared_buffer;
use crate::error::{Position, TraceError};
use crate::lines::{LineReader, shown, whole};
use crate::reopened::ReopenedFile;

/// Longest line, bytes: lists of counts of a million ranks.
const MAX_LINE: usize = 32 << 20;
/// Most ranks of a job.
const MAX_RANKS: u32 = 1 << 24;
/// What a trace begins with.
pub const MARK: &str = "# htor's PMPI Tracer";

/// A job: the traces of all its ranks.
#[derive(Clone, Debug)]
pub struct LiballprofJob {
    /// By rank.
    files: Vec<PathBuf>,
}

impl LiballprofJob {
    /// Finds the traces of a job of which `file` is that of rank 0: files of the same name but
    /// for the rank, which is the last number in it before `.txt`, with or without leading
    /// zeros; compressed ones keep their ending.
    ///
    /// # Errors
    /// If the file's name has no rank, or another one than 0.
    pub fn open(file: &Path) -> Result<Self, TraceError> {
        let shown = file.display().to_string();
        let fail = |reason: String| TraceError::new(&shown, Position::Whole, reason);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let end = name.find(".txt").unwrap_or(name.len());
        let digits = name[..end]
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .count();
        let (start, rank, ending) = (
            &name[..end - digits],
            &name[end - digits..end],
            &name[end..],
        );
        if rank.is_empty() || rank.bytes().any(|digit| digit != b'0') {
            return Err(fail(format!(
                "is named as the trace of rank \"{rank}\"; allowed: that of rank 0, such as \
                 pmpi-trace-rank-0.txt, beside those of all others"
            )));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut files = vec![file.to_owned()];
        while files.len() < MAX_RANKS as usize {
            let number = files.len();
            let padded = format!("{start}{number:0digits$}{ending}");
            let plain = format!("{start}{number}{ending}");
            let Some(next) = [padded, plain]
                .iter()
                .map(|name| folder.join(name))
                .find(|path| fs::exists(path).unwrap_or(false))
            else {
                break;
            };
            files.push(next);
        }
        Ok(Self { files })
    }

    /// Number of ranks of which there are traces.
    pub fn ranks(&self) -> u32 {
        self.files.len() as u32
    }

    /// Trace of a rank.
    pub fn path(&self, rank: u32) -> &Path {
        &self.files[rank as usize]
    }

    /// Opens the trace of a rank. All ranks may be read side by side: their files are open only
    /// while they are read, and their buffers have 64 MiB together.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn rank(&self, rank: u32) -> Result<LiballprofReader<ReopenedFile>, TraceError> {
        let path = self.path(rank);
        let file = ReopenedFile::new(path).map_err(|error| TraceError::open(path, &error))?;
        let buffer = shared_buffer(u64::from(self.ranks()));
        let name = path.display().to_string();
        let lines = LineReader::with_buffer(file, name.clone(), buffer);
        Ok(LiballprofReader::on(lines, name))
    }
}

/// Reads the trace of a rank call by call. Memory: a buffer and a line.
pub struct LiballprofReader<R> {
    lines: LineReader<R>,
    file: String,
    text: String,
    fields: Vec<Range<usize>>,
    /// The first remarks.
    remarks: Vec<String>,
}

/// A moment of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Whole microseconds on the rank's clock.
    pub microseconds: u64,
    /// Picoseconds beyond these, below a million.
    pub picoseconds: u32,
}

/// A communicator as an argument: its handle, the calling rank's number in it, its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm {
    /// The handle, of the library that was traced.
    pub handle: u64,
    /// Which member the rank is.
    pub rank: u32,
    /// Members.
    pub size: u32,
}

/// A call of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Line, from 1.
    pub line: u64,
    /// Entry; `None` of `MPI_Init`.
    pub entered: Option<Moment>,
    /// Return; `None` of `MPI_Finalize`.
    pub left: Option<Moment>,
    text: &'a str,
    fields: &'a [Range<usize>],
}

impl<R: Read> LiballprofReader<R> {
    /// Reads a trace from `source`; `file` is its name in messages.
    pub fn new(source: R, file: String) -> Self {
        Self::on(LineReader::new(source, file.clone()), file)
    }

    fn on(lines: LineReader<R>, file: String) -> Self {
        Self {
            lines: lines.with_longest(MAX_LINE),
            file,
            text: String::new(),
            fields: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The remarks that have been read so far, at most the first eight, without `#`.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Name of the file, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// An error at a line.
    pub fn error_at(&self, line: u64, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Line(line), reason)
    }

    /// The next call; `None` behind the last one.
    ///
    /// # Errors
    /// If a line is no call.
    pub fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
        loop {
            let Some(line) = self.lines.advance()? else {
                return Ok(None);
            };
            let Ok(line) = std::str::from_utf8(line) else {
                return Err(self.lines.error("no text; a call of MPI is expected"));
            };
            let line = line.trim_ascii();
            if let Some(remark) = line.strip_prefix('#') {
                if self.remarks.len() < 8 {
                    self.remarks.push(remark.trim().to_owned());
                }
                continue;
            }
            if !line.is_empty() {
                self.text.clear();
                self.text.push_str(line);
                break;
            }
        }
        self.fields.clear();
        let mut start = 0;
        for (at, _) in self.text.match_indices(':') {
            self.fields.push(start..at);
            start = at + 1;
        }
        self.fields.push(start..self.text.len());
        let line = self.lines.number();
        let text = self.text.as_str();
        if self.fields.len() < 3 || !text.starts_with("MPI_") {
            let found = shown(text.as_bytes());
            let reason = format!("found \"{found}\"; allowed: MPI_NAME:START:ARGUMENT:…:END");
            return Err(self.lines.error(reason));
        }
        let name = &text[self.fields[0].clone()];
        let time = |field: &Range<usize>, unknown: &[&str], what: &str| {
            let word = text[field.clone()].trim();
            match moment(word) {
                Some(moment) => Ok(Some(moment)),
                None if word == "-" && unknown.contains(&name) => Ok(None),
                None => {
                    let found = shown(word.as_bytes());
                    let reason = format!("{name}: {what} is \"{found}\"; allowed: microseconds");
                    Err(TraceError::new(&self.file, Position::Line(line), reason))
                }
            }
        };
        let last = self.fields.len() - 1;
        let entered = time(
            &self.fields[1],
            &["MPI_Init", "MPI_Init_thread"],
            "the start",
        )?;
        let left = time(&self.fields[last], &["MPI_Finalize"], "the end")?;
        Ok(Some(Call {
            line,
            entered,
            left,
            text,
            fields: &self.fields,
        }))
    }
}

/// A time such as `1298365588610860` or `1237666053021692.000000`, microseconds.
fn moment(word: &str) -> Option<Moment> {
    let (whole_part, fraction) = word.split_once('.').unwrap_or((word, ""));
    let microseconds = whole(whole_part.as_bytes())?;
    let mut picoseconds = 0;
    for place in 0..6 {
        let digit = fraction.as_bytes().get(place).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        picoseconds = picoseconds * 10 + u32::from(digit - b'0');
    }
    Some(Moment {
        microseconds,
        picoseconds,
    })
}

impl<'a> Call<'a> {
    /// Name of the function.
    pub fn function(&self) -> &'a str {
        &self.text[self.fields[0].clone()]
    }

    /// The line as it is.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Number of arguments.
    pub fn arguments(&self) -> usize {
        self.fields.len() - 3
    }

    fn argument(&self, number: usize) -> Result<&'a str, String> {
        if number >= self.arguments() {
            return Err(format!(
                "{} has {} arguments, but number {} is needed",
                self.function(),
                self.arguments(),
                number + 1
            ));
        }
        Ok(self.text[self.fields[number + 2].clone()].trim())
    }

    fn wrong(&self, number: usize, found: &str, allowed: &str) -> String {
        format!(
            "{}: argument {} is \"{}\"; allowed: {allowed}",
            self.function(),
            number + 1,
            shown(found.as_bytes())
        )
    }

    /// An integer; arguments count from 0.
    ///
    /// # Errors
    /// If the argument is missing or none.
    pub fn int(&self, number: usize) -> Result<i32, String> {
        let word = self.argument(number)?;
        (word.parse()).map_err(|_| self.wrong(number, word, "a whole number of 32 bits"))
    }

    /// An integer that cannot be negative.
    ///
    /// # Errors
    /// As [`Call::int`].
    pub fn whole(&self, number: usize) -> Result<u32, String> {
        let value = self.int(number)?;
        u32::try_from(value)
            .map_err(|_| self.wrong(number, &value.to_string(), "a whole number from 0"))
    }

    /// An address or a handle.
    ///
    /// # Errors
    /// As [`Call::int`].
    pub fn address(&self, number: usize) -> Result<u64, String> {
        let word = self.argument(number)?;
        (word.parse::<u64>().ok())
            // Handles of Fortran are signed.
            .or_else(|| word.parse::<i64>().ok().map(|value| value as u64))
            .ok_or_else(|| self.wrong(number, word, "an address"))
    }

    /// The numbers of an argument that has several.
    fn parts(
        &self,
        number: usize,
    ) -> Result<(&'a str, impl Iterator<Item = &'a str> + use<'a>), String> {
        let word = self.argument(number)?;
        Ok((word, word.split(',').map(str::trim)))
    }

    /// Size of an element of a datatype, bytes.
    ///
    /// # Errors
    /// If the argument is missing or no datatype.
    pub fn element(&self, number: usize) -> Result<u64, String> {
        let (word, mut parts) = self.parts(number)?;
        let size = parts.nth(1).and_then(|size| size.parse::<u32>().ok());
        let allowed = "a datatype, NUMBER,SIZE,EXTENT";
        size.map(u64::from)
            .ok_or_else(|| self.wrong(number, word, allowed))
    }

    /// Bytes of `count` elements of a datatype; both are numbers of arguments.
    ///
    /// # Errors
    /// If one is missing or none.
    pub fn bytes(&self, count: usize, datatype: usize) -> Result<u64, String> {
        Ok(u64::from(self.whole(count)?) * self.element(datatype)?)
    }

    /// A communicator.
    ///
    /// # Errors
    /// If the argument is missing or none.
    pub fn comm(&self, number: usize) -> Result<Comm, String> {
        let (word, mut parts) = self.parts(number)?;
        let mut read = || {
            let handle = parts.next()?;
            let handle = handle
                .parse()
                .ok()
                .or(handle.parse::<i64>().ok().map(|value| value as u64))?;
            let rank = parts.next()?.parse().ok()?;
            let size = parts.next()?.parse().ok()?;
            (parts.next().is_none() && rank < size).then_some(Comm { handle, rank, size })
        };
        read().ok_or_else(|| {
            self.wrong(
                number,
                word,
                "a communicator, HANDLE,RANK,SIZE with a rank below the size",
            )
        })
    }

    /// Bytes of as many elements of a datatype as each of a list of counts says. Shape: members.
    ///
    /// # Errors
    /// If an argument is missing or none.
    pub fn list(&self, counts: usize, datatype: usize) -> Result<Box<[u64]>, String> {
        let size = self.element(datatype)?;
        let (word, parts) = self.parts(counts)?;
        parts
            .map(|count| {
                let count = count.parse::<u32>().ok();
                count
                    .map(|count| u64::from(count) * size)
                    .ok_or_else(|| self.wrong(counts, word, "counts, separated by commas"))
            })
            .collect()
    }

    /// Bytes that the call sends as a message, 0 if it sends none; for those who look at a trace.
    pub fn sent(&self) -> u64 {
        match self.function() {
            "MPI_Send"
            | "MPI_Ssend"
            | "MPI_Rsend"
            | "MPI_Bsend"
            | "MPI_Isend"
            | "MPI_Issend"
            | "MPI_Irsend"
            | "MPI_Ibsend"
            | "MPI_Sendrecv"
            | "MPI_Sendrecv_replace"
                if self.int(3).is_ok_and(|to| to >= 0) =>
            {
                self.bytes(1, 2).unwrap_or(0)
            }
            _ => 0,
        }
    }
}
