//! Files of TraceR, which replays traces on networks of CODES: its configuration
//! ([`TracerConfig`]) and its maps of ranks to servers ([`job_map`], [`global_map`]).
//!
//! A *server* of CODES is a core; they are numbered router by router. The map of a job holds the
//! server of each of its ranks; the global map holds, for every server that is in use, the server,
//! the rank within its job, and the job. Both are 32-bit integers without a header, here also read
//! as text: a number, or three, a line, as `od -An -td4 -w4` (`-w12`) prints them.
//!
//! Facts: TraceR, `docs/userguide/job-placement-file.rst`, `tracer-config-file.rst` and
//! `utils/README`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use odonata_files::MOST_TEXT_BYTES;

use crate::error::{Position, TraceError};
use crate::lines::{shown, whole, words};
use crate::paths::named_in;

/// Servers of the ranks of a job, from its own map. Shape: ranks.
///
/// # Errors
/// If the file cannot be read, is no whole number of integers, is empty, or two ranks have one
/// server.
pub fn job_map(path: &Path) -> Result<Vec<u32>, TraceError> {
    let numbers = Numbers::read(path, 1)?;
    let mut ranks: HashMap<u32, usize> = HashMap::new();
    let mut servers = Vec::with_capacity(numbers.records.len());
    for (rank, record) in numbers.records.iter().enumerate() {
        let server = numbers.whole(rank, record[0], "server")?;
        if let Some(first) = ranks.insert(server, rank) {
            let reason = format!("rank {rank} has server {server}, as rank {first}; allowed: one");
            return Err(numbers.error(rank, reason));
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Servers of the ranks of job `job`, from the global map. Shape: ranks.
///
/// # Errors
/// If the file cannot be read, is no whole number of records, a server or a rank is there twice,
/// or the job has no rank or leaves one out.
pub fn global_map(path: &Path, job: u32) -> Result<Vec<u32>, TraceError> {
    let numbers = Numbers::read(path, 3)?;
    let mut servers: HashMap<u32, usize> = HashMap::new();
    let mut of_job: HashMap<u32, (u32, usize)> = HashMap::new();
    let mut jobs = 0;
    for (place, record) in numbers.records.iter().enumerate() {
        let server = numbers.whole(place, record[0], "server")?;
        let rank = numbers.whole(place, record[1], "rank")?;
        let of = numbers.whole(place, record[2], "job")?;
        jobs = jobs.max(u64::from(of) + 1);
        if let Some(first) = servers.insert(server, place) {
            let reason = format!(
                "server {server} is there already in {}; allowed: once",
                numbers.place(first)
            );
            return Err(numbers.error(place, reason));
        }
        if of == job
            && let Some((_, first)) = of_job.insert(rank, (server, place))
        {
            let reason = format!(
                "rank {rank} of job {job} is there already in {}; allowed: once",
                numbers.place(first)
            );
            return Err(numbers.error(place, reason));
        }
    }
    if of_job.is_empty() {
        let reason = format!(
            "no rank of job {job}; the file has the jobs 0 to {}",
            jobs - 1
        );
        return Err(numbers.error_of_file(reason));
    }
    let count = of_job.len() as u32;
    (0..count)
        .map(|rank| {
            of_job.get(&rank).map(|(server, _)| *server).ok_or_else(|| {
                let reason = format!(
                    "job {job} has {count} ranks, but not rank {rank}; allowed: 0 to {}",
                    count - 1
                );
                numbers.error_of_file(reason)
            })
        })
        .collect()
}

/// The records of a map.
struct Numbers {
    file: String,
    /// Whether they stand in lines rather than in bytes.
    text: bool,
    /// Records of one or three numbers, and of text the line of each.
    records: Vec<Vec<i64>>,
    lines: Vec<u64>,
}

impl Numbers {
    fn read(path: &Path, width: usize) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        let bytes = odonata_files::read(path, MOST_TEXT_BYTES)
            .map_err(|error| TraceError::io(&file, Position::Whole, &error))?;
        let plain = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        let mut numbers = Self {
            // Integers below 2^29 have a byte that is no character of a text.
            text: bytes.iter().all(plain),
            file,
            records: vec![],
            lines: vec![],
        };
        if numbers.text {
            numbers.of_text(&bytes, width)?;
        } else {
            numbers.of_bytes(&bytes, width)?;
        }
        if numbers.records.is_empty() {
            return Err(numbers.error_of_file("no rank; a map has a record for each"));
        }
        Ok(numbers)
    }

    fn of_bytes(&mut self, bytes: &[u8], width: usize) -> Result<(), TraceError> {
        let size = 4 * width;
        if !bytes.len().is_multiple_of(size) {
            let what = match width {
                1 => "a server each (the map of a job)",
                _ => "server, rank and job each (the global map)",
            };
            let reason = format!(
                "{} bytes; allowed: a whole number of records of {size} bytes, {what}",
                bytes.len()
            );
            return Err(self.error_of_file(reason));
        }
        for record in bytes.chunks_exact(size) {
            let numbers = record.chunks_exact(4).map(|four| {
                let four = four.first_chunk::<4>().copied().unwrap_or_default();
                i64::from(i32::from_le_bytes(four))
            });
            self.records.push(numbers.collect());
        }
        Ok(())
    }

    fn of_text(&mut self, bytes: &[u8], width: usize) -> Result<(), TraceError> {
        for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
            let record: Vec<&[u8]> = words(line).collect();
            if record.is_empty() {
                continue;
            }
            let read: Option<Vec<i64>> = (record.iter())
                .map(|word| i64::try_from(whole(word)?).ok())
                .collect();
            let Some(read) = read.filter(|read| read.len() == width) else {
                let reason = format!(
                    "found \"{}\"; allowed: {} a line",
                    shown(line.trim_ascii()),
                    match width {
                        1 => "a whole number, the server of a rank,",
                        _ => "three whole numbers, server, rank and job,",
                    }
                );
                return Err(TraceError::new(&self.file, Position::Line(number), reason));
            };
            self.records.push(read);
            self.lines.push(number);
        }
        Ok(())
    }

    fn whole(&self, place: usize, number: i64, what: &str) -> Result<u32, TraceError> {
        u32::try_from(number)
            .ok()
            .filter(|&number| number < 1 << 31)
            .ok_or_else(|| {
                let reason = format!("{what} {number}; allowed: 0 to {}", (1_u32 << 31) - 1);
                self.error(place, reason)
            })
    }

    /// Where a record stands, for messages.
    fn place(&self, record: usize) -> String {
        match self.lines.get(record) {
            Some(line) => format!("line {line}"),
            None => format!("record {record}"),
        }
    }

    fn error(&self, record: usize, reason: String) -> TraceError {
        let position = match self.lines.get(record) {
            Some(&line) => Position::Line(line),
            None => {
                let width = self.records.first().map_or(1, Vec::len);
                Position::Byte((record * width * 4) as u64)
            }
        };
        TraceError::new(&self.file, position, reason)
    }

    fn error_of_file(&self, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Whole, reason)
    }
}

/// A configuration of TraceR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerConfig {
    /// Global map; `None`: jobs follow each other, their ranks in order.
    pub global_map: Option<PathBuf>,
    /// Jobs in order.
    pub jobs: Vec<TracerJob>,
}

/// A job of a configuration of TraceR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerJob {
    /// Its trace.
    pub trace: PathBuf,
    /// Map of its ranks; `None`: as the global map says.
    pub map: Option<PathBuf>,
    /// Ranks.
    pub ranks: u32,
    /// How often the trace is replayed.
    pub iterations: u32,
}

impl TracerConfig {
    /// Reads a configuration: the global map (or `NA`), the number of jobs, and for each job its
    /// trace, its map (or `NA`), its ranks and how often it is replayed, separated by blanks or
    /// ends of lines.
    ///
    /// # Errors
    /// If a word is missing, too much, or no number where one must be.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        let text = odonata_files::read_to_string(path)
            .map_err(|error| TraceError::io(&file, Position::Whole, &error))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut found = (1..)
            .zip(text.lines())
            .flat_map(|(line, text)| text.split_whitespace().map(move |word| (line, word)));
        let mut word = |what: &str| {
            found.next().ok_or_else(|| {
                let reason = format!("ends before {what}; a configuration of TraceR has it");
                TraceError::new(&file, Position::Whole, reason)
            })
        };
        let number = |(line, word): (u64, &str), what: &str| {
            let number = word.parse::<u32>().ok().filter(|&number| number > 0);
            number.ok_or_else(|| {
                let found = shown(word.as_bytes());
                let reason = format!("{what} is \"{found}\"; allowed: a whole number from 1");
                TraceError::new(&file, Position::Line(line), reason)
            })
        };
        let map = |word: &str| (word != "NA").then(|| named_in(directory, Path::new(word)));
        let global_map = map(word("the global map file (or NA)")?.1);
        let count = number(word("the number of jobs")?, "the number of jobs")?;
        let mut jobs = Vec::new();
        for job in 0..count {
            jobs.push(TracerJob {
                trace: named_in(
                    directory,
                    Path::new(word(&format!("the trace of job {job}"))?.1),
                ),
                map: map(word(&format!("the map file of job {job} (or NA)"))?.1),
                ranks: number(
                    word(&format!("the number of ranks of job {job}"))?,
                    "the number of ranks",
                )?,
                iterations: number(
                    word(&format!("the iterations of job {job}"))?,
                    "the number of iterations",
                )?,
            });
        }
        if let Some((line, word)) = found.next() {
            let word = shown(word.as_bytes());
            let reason = format!("found \"{word}\"; allowed: nothing behind {count} jobs");
            return Err(TraceError::new(&file, Position::Line(line), reason));
        }
        Ok(Self { global_map, jobs })
    }
}
