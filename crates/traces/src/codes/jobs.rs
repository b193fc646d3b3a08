//! Workload and allocation files.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use odonata_units::NodeId;

use crate::error::TraceError;
use crate::lines::{LineReader, shown, whole, words};

/// Longest line of an allocation, bytes: a job on four million nodes.
const MAX_ALLOCATION_LINE: usize = 32 << 20;

/// A job: a line of a workload file.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Number of ranks.
    pub ranks: u32,
    /// Start of the names of its trace files, or the name of a synthetic pattern
    /// (`synthetic…`).
    pub name: String,
    /// Quality-of-service class, if given.
    pub class: Option<u32>,
    /// Mean time between messages of a synthetic pattern, nanoseconds, if given.
    pub mean_interval_ns: Option<f64>,
}

impl Workload {
    /// Whether the job is a synthetic pattern rather than a trace.
    pub fn is_synthetic(&self) -> bool {
        self.name.starts_with("synthetic")
    }
}

fn open(path: &Path) -> Result<(odonata_files::Source, String), TraceError> {
    let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
    Ok((file, path.display().to_string()))
}

/// Reads a workload file: a job per line, `RANKS NAME [CLASS [INTERVAL]]`.
///
/// # Errors
/// If a line is none of these or the file has no line.
pub fn read_workloads(source: impl Read, file: &str) -> Result<Vec<Workload>, TraceError> {
    let mut lines = LineReader::new(source, file.to_owned());
    let mut jobs = Vec::new();
    while let Some(line) = lines.advance()? {
        let line = line.to_vec();
        let columns: Vec<&[u8]> = words(&line).collect();
        if columns.is_empty() {
            continue;
        }
        let [ranks, name, rest @ ..] = columns.as_slice() else {
            return Err(lines.error("a job has at least two columns: ranks and name"));
        };
        if rest.len() > 2 {
            return Err(lines.error(format!(
                "{} columns; a job has ranks, name, class and interval",
                columns.len()
            )));
        }
        let number = |word: &[u8], least: u64, what: &str| {
            whole(word)
                .filter(|&number| number >= least)
                .and_then(|number| u32::try_from(number).ok())
                .ok_or_else(|| {
                    let found = shown(word);
                    lines.error(format!(
                        "{what} is \"{found}\", but must be a whole number of at least {least}"
                    ))
                })
        };
        let interval = |word: &&[u8]| {
            std::str::from_utf8(word)
                .ok()
                .and_then(|word| word.parse::<f64>().ok())
                .filter(|interval| interval.is_finite() && *interval >= 0.0)
                .ok_or_else(|| {
                    let found = shown(word);
                    lines.error(format!("interval is \"{found}\", but must be a number"))
                })
        };
        let name = std::str::from_utf8(name)
            .map_err(|_| lines.error("the name is not text (UTF-8)"))?
            .to_owned();
        jobs.push(Workload {
            ranks: number(ranks, 1, "number of ranks")?,
            name,
            class: rest
                .first()
                .map(|word| number(word, 0, "class"))
                .transpose()?,
            mean_interval_ns: rest.get(1).map(interval).transpose()?,
        });
    }
    match jobs.is_empty() {
        true => Err(lines.error_of_file("no job; a workload file has a line per job")),
        false => Ok(jobs),
    }
}

/// Reads an allocation: a line per job with the node of every rank. Empty lines
/// are passed over.
///
/// # Errors
/// If a word is no node, a node is there twice, or the file has no job.
pub fn read_allocation(source: impl Read, file: &str) -> Result<Vec<Vec<NodeId>>, TraceError> {
    let mut lines = LineReader::new(source, file.to_owned()).with_longest(MAX_ALLOCATION_LINE);
    let mut jobs = Vec::new();
    let mut taken: HashMap<u32, u64> = HashMap::new();
    while let Some(line) = lines.advance()? {
        let mut nodes = Vec::new();
        let mut wrong = None;
        for word in words(line) {
            match whole(word).and_then(|node| u32::try_from(node).ok()) {
                Some(node) => nodes.push(NodeId(node)),
                None => {
                    wrong = Some(shown(word));
                    break;
                }
            }
        }
        if let Some(word) = wrong {
            let reason = format!("\"{word}\" is no node; nodes are whole numbers below 2^32");
            return Err(lines.error(reason));
        }
        for node in &nodes {
            if let Some(first) = taken.insert(node.0, lines.number()) {
                let reason =
                    format!("node {node} is taken already in line {first}; a node has one rank");
                return Err(lines.error(reason));
            }
        }
        if !nodes.is_empty() {
            jobs.push(nodes);
        }
    }
    match jobs.is_empty() {
        true => Err(lines.error_of_file("no job; an allocation has a line per job")),
        false => Ok(jobs),
    }
}

/// Reads a workload file and its allocation, and checks that they fit.
///
/// # Errors
/// If one of them is damaged, they have different numbers of jobs, or a job has
/// another number of ranks than of nodes.
pub fn read_jobs(
    workloads: &Path,
    allocation: &Path,
) -> Result<Vec<(Workload, Vec<NodeId>)>, TraceError> {
    let (source, file) = open(workloads)?;
    let jobs = read_workloads(source, &file)?;
    let (source, file) = open(allocation)?;
    let nodes = read_allocation(source, &file)?;
    let fail = |reason: String| Err(TraceError::new(&file, crate::Position::Whole, reason));
    if jobs.len() != nodes.len() {
        return fail(format!(
            "an allocation of {} jobs, but {} has {}",
            nodes.len(),
            workloads.display(),
            jobs.len()
        ));
    }
    for (index, (job, nodes)) in jobs.iter().zip(&nodes).enumerate() {
        if job.ranks as usize != nodes.len() {
            return fail(format!(
                "job {} ({}) has {} ranks, but {} nodes",
                index + 1,
                job.name,
                job.ranks,
                nodes.len()
            ));
        }
    }
    Ok(jobs.into_iter().zip(nodes).collect())
}
