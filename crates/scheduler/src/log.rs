//! Job logs: what they hold, readers for the formats in use, rules for what is
//! wrong in them, a generator and scaling.
//!
//! Readers are total: whatever the bytes of a file, they end with jobs and a
//! [`Report`] that accounts for every line, or with an error that names the file
//! and what to do. Nothing is left out silently.

mod error;
mod generate;
pub mod hostlist;
mod job;
mod lines;
mod listing;
mod number;
mod request;
mod rules;
mod sacct;
mod scale;
mod slurm_time;
mod swf;
mod table;
mod unit;

use std::io::{BufRead, BufReader};
use std::path::Path;

use odonata_declare::Named;

pub use error::LogError;
pub use generate::{Kind, LublinFeitelson, ModelError};
pub use job::{Job, JobLog, Label, Names, Status, Unit};
use lines::Lines;
pub use lines::MAX_LINE_BYTES;
pub use request::{Gres, Memory, Request};
pub(crate) use request::{gres_list, mebibytes};
use rules::Sink;
pub use rules::{Action, Cases, EXAMPLES, Example, Report, Rule};
pub use scale::{Scaling, ScalingError, scale};
pub use slurm_time::date;
pub use swf::write_swf;

/// A format of job logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Format {
    /// Standard Workload Format.
    Swf,
    /// Slurm's `sacct --parsable2`.
    Sacct,
    /// A table with a line of column names.
    Table,
    /// Results of CQSim.
    Cqsim,
    /// Slurm's `scontrol show jobs`.
    Scontrol,
    /// The JSON of Slurm's `squeue`, `scontrol show jobs` and `sacct`.
    SlurmJson,
}

/// How to read a log.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format, if it is not to be found out.
    pub format: Option<Format>,
    /// End at the first fault instead of counting it.
    pub strict: bool,
    /// What the log counts sizes in, if it is not to be found out.
    pub unit: Option<Unit>,
    /// Processors of a node, for logs that count processors; by default what the
    /// header says, or 1.
    pub processors_per_node: Option<u32>,
    /// Nodes of the machine, to count jobs that are larger; by default what the
    /// header says.
    pub machine_nodes: Option<u32>,
    /// Names of the columns of a `sacct` dump without header.
    pub columns: Option<Vec<String>>,
    /// What stands between its columns; by default what stands in its header.
    pub separator: Option<String>,
}

/// Bytes at the start of a file that decide on its format.
const PEEKED_BYTES: usize = 64 * 1024;

/// Reads a job log, compressed (gzip, xz, zstd) or not.
///
/// # Errors
/// If the file cannot be read, is of no known format or lacks a column that is
/// needed, or no job is left; with [`ReadOptions::strict`] also at the first fault.
pub fn read_log(path: &Path, options: &ReadOptions) -> Result<(JobLog, Report), LogError> {
    let name = path.display().to_string();
    let file = odonata_files::open(path)
        .map_err(|error| LogError::new(&name, None, format!("cannot be opened: {error}")))?;
    let source = BufReader::with_capacity(PEEKED_BYTES, file);
    let (log, report) = read_log_from(source, &name, options)?;
    if log.jobs.is_empty() {
        return Err(LogError::new(&name, None, nothing_left(&report)));
    }
    Ok((log, report))
}

/// Why a log has no jobs.
fn nothing_left(report: &Report) -> String {
    let dropped = (report.cases.iter()).filter(|(rule, _)| rule.action() == Action::Dropped);
    let reasons: Vec<String> = dropped
        .map(|(rule, cases)| {
            let example = cases.examples.first();
            let first = example.map_or(String::new(), |example| {
                format!(", first in line {}: {}", example.line, example.found)
            });
            let (count, name, what) = (cases.count, rule.name(), rule.explanation());
            format!("{count} as {name} ({what}{first})")
        })
        .collect();
    match report.records {
        0 => format!("has no jobs, only {} lines of comments", report.comments),
        records => format!(
            "no job is left of {records} records of the format {}: dropped {}",
            report.format,
            reasons.join("; ")
        ),
    }
}

/// Reads a job log from anywhere; `name` stands for the file in messages.
///
/// # Errors
/// As [`read_log`].
pub fn read_log_from(
    mut source: impl BufRead,
    name: &str,
    options: &ReadOptions,
) -> Result<(JobLog, Report), LogError> {
    let start = source
        .fill_buf()
        .map_err(|error| LogError::new(name, None, format!("cannot be read: {error}")))?;
    let format = match options.format {
        Some(format) => format,
        None if options.columns.is_some() => Format::Sacct,
        None => detect(start).map_err(|message| LogError::new(name, None, message))?,
    };
    if options.processors_per_node == Some(0) {
        let message = "0 processors per node; a node has at least 1";
        return Err(LogError::new(name, None, message));
    }
    let mut sink = Sink::new(name, format.name(), options.strict, options.machine_nodes);
    let mut log = JobLog::default();
    let mut lines = Lines::new(source);
    let (lines, to, log_to) = (&mut lines, &mut sink, &mut log);
    match format {
        Format::Swf => swf::read(lines, to, log_to, options)?,
        Format::Sacct => sacct::read(lines, to, log_to, options)?,
        Format::Table => table::read(lines, to, log_to, options)?,
        Format::Cqsim => table::read_cqsim(lines, to, log_to, options)?,
        Format::Scontrol => listing::read_scontrol(lines, to, log_to)?,
        Format::SlurmJson => listing::read_json(lines, to, log_to)?,
    }
    let (mut jobs, report) = sink.finish();
    if format == Format::Cqsim {
        // Written as they end, and numbered as they are submitted.
        jobs.sort_by_key(|job| (job.submit, number::whole(&job.id).map(|(number, _)| number)));
    }
    log.jobs = jobs;
    if log.epoch.is_none() {
        let first = log.jobs.first().map_or(i64::MAX, |job| job.submit.0);
        log.epoch = unix_if_late(first);
    }
    if options.machine_nodes.is_some() {
        log.machine_nodes = options.machine_nodes;
    }
    if format != Format::Swf {
        log.unit = options.unit.unwrap_or(Unit::Nodes);
        log.processors_per_node = options.processors_per_node;
        log.unit_because = match options.unit {
            Some(_) => "as it was asked for".to_owned(),
            None => format!("as logs of the format {} do", format.name()),
        };
    }
    Ok((log, report))
}

/// The format that the first lines of a file speak for.
fn detect(start: &[u8]) -> Result<Format, String> {
    if start.starts_with(b"PAR1") {
        return Err("is a Parquet file, which the Python package reads".to_owned());
    }
    if start.is_empty() {
        return Err("is empty; a job log has at least a header or one job".to_owned());
    }
    let text = String::from_utf8_lossy(start);
    for line in text.lines() {
        let line = line.trim_matches(['\u{feff}', ' ', '\t']);
        let columns = line.split_ascii_whitespace();
        if line.starts_with(';')
            || columns
                .filter(|field| number::whole(field).is_some())
                .count()
                >= 18
        {
            return Ok(Format::Swf);
        }
        if line.starts_with('{') {
            return Ok(Format::SlurmJson);
        }
        if listing::is_scontrol(line) {
            return Ok(Format::Scontrol);
        }
        if sacct::is_header(line) {
            return Ok(Format::Sacct);
        }
        if table::is_header(line) {
            return Ok(Format::Table);
        }
        if table::is_cqsim(line) {
            return Ok(Format::Cqsim);
        }
    }
    Err(format!(
        "is no job log of a known format; known: swf (lines of 18 numbers), sacct (a header with \
         JobID and Submit; without header name its columns), table (a line of names with Submit, \
         Runtime, Nodes), cqsim (9 numbers between semicolons), scontrol (lines of JobId=…), \
         slurm-json. It begins with \"{}\"",
        shortened(
            text.lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("")
        )
    ))
}

/// 0 as the Unix time of second 0 if times from `earliest` on can only be Unix
/// times: later than 1990.
fn unix_if_late(earliest: i64) -> Option<i64> {
    (631_152_000..i64::MAX).contains(&earliest).then_some(0)
}

/// Nodes that hold `processors`.
fn nodes_of_processors(processors: i64, per_node: Option<u32>) -> i64 {
    let per_node = i64::from(per_node.unwrap_or(1).max(1));
    if processors <= 0 {
        processors
    } else {
        (processors - 1) / per_node + 1
    }
}

/// A text from a file in a message.
fn shortened(text: &str) -> String {
    odonata_files::shown(text.as_bytes())
}

#[cfg(test)]
mod tests;
