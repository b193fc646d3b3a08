//! A look at a trace file before it is simulated.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use odonata_load::Program;
use odonata_load::replay::{Options, Summary, Trace};
use odonata_traces::TraceError;
use odonata_traces::codes::read_jobs;
use odonata_traces::otf2::{
    ArchiveWriter, CommRef, Event, EventKind, NewComm, NewDefinitions, NewRegion, RegionRef,
    Transfer,
};
use odonata_traces::tracer::TracerConfig;
use odonata_units::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, SpecError};
use crate::load::region;
use crate::spec::ReplayOptions;

/// All files that a trace consists of, itself first; only itself if it cannot be read.
#[must_use]
pub fn parts_of_trace(path: &Path) -> Vec<PathBuf> {
    odonata_load::replay::files(path)
}

/// A configuration of CODES and the lists of links that it names; only itself if
/// it cannot be read.
#[must_use]
pub fn parts_of_codes(path: &Path) -> Vec<PathBuf> {
    crate::topology::families::codes::files(path)
}

/// What a configuration of CODES says besides the network: `model`, `routing` (its algorithm by
/// default) and `router_delay_ps` (either null where it is the scenario's), and `notices`.
///
/// # Errors
/// If it cannot be read, or has keys that its model does not.
pub fn codes_facts(path: &Path) -> Result<Value, Error> {
    let facts = crate::topology::families::codes::facts(path).map_err(|error| refused(&error))?;
    Ok(json!({
        "model": facts.model,
        "routing": facts.routing,
        "router_delay_ps": facts.router_delay_ps,
        "notices": facts.notices,
    }))
}

fn refused(error: &TraceError) -> Error {
    Error::Spec(SpecError::new("", error.to_string()))
}

/// Checks that a trace can be replayed and tells what a replay does: `file`,
/// `format`, `ranks`, and `facts`, a list of names and values for people.
///
/// # Errors
/// If the file is of no known format, damaged, or its ranks contradict each other.
pub fn replay_facts(path: &Path, options: ReplayOptions) -> Result<Value, Error> {
    let options = Options {
        ranks: options.ranks,
        repeat_rank: options.repeat_rank,
        region: region(options.start, options.end),
        ..Options::default()
    };
    let trace = Trace::open(path, options).map_err(|error| refused(&error))?;
    Ok(json!({
        "file": path.display().to_string(),
        "format": trace.format().name(),
        "ranks": trace.ranks(),
        "facts": trace.facts().lines(),
    }))
}

/// Jobs of a workload file of CODES with the nodes of an allocation file: a list of
/// `name`, `ranks`, `nodes`, and `synthetic`.
///
/// # Errors
/// If one of the files is damaged or they do not fit each other.
pub fn codes_jobs(workload: &Path, allocation: &Path) -> Result<Value, Error> {
    let jobs = read_jobs(workload, allocation).map_err(|error| refused(&error))?;
    let jobs = jobs.into_iter().map(|(job, nodes)| {
        json!({
            "name": job.name,
            "ranks": job.ranks,
            "nodes": nodes.iter().map(|node| node.0).collect::<Vec<_>>(),
            "synthetic": job.is_synthetic(),
        })
    });
    Ok(jobs.collect())
}

/// A configuration of TraceR: `global_map` and a list of `jobs`, each with `trace`, `map`, `ranks`
/// and `iterations`; maps that it does not name are null.
///
/// # Errors
/// If the file is none.
pub fn tracer_config(path: &Path) -> Result<Value, Error> {
    let config = TracerConfig::open(path).map_err(|error| refused(&error))?;
    let name = |path: &PathBuf| path.display().to_string();
    let jobs = config.jobs.iter().map(|job| {
        json!({
            "trace": name(&job.trace),
            "map": job.map.as_ref().map(name),
            "ranks": job.ranks,
            "iterations": job.iterations,
        })
    });
    Ok(json!({
        "global_map": config.global_map.as_ref().map(name),
        "jobs": jobs.collect::<Vec<Value>>(),
    }))
}

/// Reads a whole trace and tells what it holds: `format`, `ranks`, `records`,
/// `facts` by name, `kinds` (list of `kind`, `records`, `bytes_sent`, most
/// frequent first) and the first `samples` records as texts.
///
/// # Errors
/// If the file is of no known format or damaged.
pub fn trace_summary(path: &Path, samples: usize) -> Result<Value, Error> {
    let summary = Summary::read(path, samples).map_err(|error| refused(&error))?;
    let mut kinds: Vec<_> = summary.kinds.into_iter().collect();
    // Equally frequent ones stay in the order of their names.
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(count.records));
    let kinds: Vec<Value> = kinds
        .into_iter()
        .map(|(kind, count)| {
            json!({
                "kind": kind,
                "records": count.records,
                "bytes_sent": count.bytes_sent,
            })
        })
        .collect();
    let facts: serde_json::Map<String, Value> = summary
        .facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    Ok(json!({
        "file": path.display().to_string(),
        "format": summary.format.name(),
        "ranks": summary.ranks,
        "records": summary.records,
        "facts": facts,
        "kinds": kinds,
        "samples": summary.samples,
    }))
}

/// What the numbers in events of an OTF2 archive stand for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Otf2Names {
    creator: String,
    ticks_per_second: u64,
    /// Name of the process of each location.
    processes: Vec<String>,
    /// Name, role and programming model, as OTF2 numbers them.
    regions: Vec<(String, u8, u8)>,
    /// Name, and locations in the order of their ranks.
    comms: Vec<(String, Vec<u32>)>,
}

/// Columns of an event in [`write_otf2`]: time in ticks; kind, as the files number them (12 and 13
/// regions entered and left, 14 and 18 messages sent and received, 15 and 19 without blocking, 16
/// and 17 requests completed and posted); region or peer; communicator; tag; bytes; request.
pub const OTF2_COLUMNS: usize = 7;

/// Writes an OTF2 archive of ranks, whose anchor file is `path`.
///
/// # Arguments
/// - `names`: JSON: `creator`, `ticks_per_second`, `processes` (names, one for each location),
///   `regions` (name, role, programming model), `comms` (name, locations).
/// - `counts`: number of events of each location.
/// - `events`: their columns, row by row, `OTF2_COLUMNS` of each, location by location.
/// - `written`: is called before each location with how many there are already, of how many; the archive
///   is left as it is, without its anchor file, when it says so.
///
/// # Errors
/// If a file cannot be written, or something is not as described; `Interrupted` where `written`
/// ended it.
pub fn write_otf2(
    path: &Path,
    names: &str,
    counts: &[u64],
    events: &[u64],
    written: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> io::Result<()> {
    let refused = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
    let names: Otf2Names =
        serde_json::from_str(names).map_err(|error| refused(error.to_string()))?;
    let total = counts
        .iter()
        .try_fold(0u64, |sum, &count| sum.checked_add(count));
    let rows = (events.len() / OTF2_COLUMNS) as u64;
    if counts.len() != names.processes.len()
        || total != Some(rows)
        || !events.len().is_multiple_of(OTF2_COLUMNS)
    {
        return Err(refused(format!(
            "{} numbers of events, {} values; there are {} locations and {OTF2_COLUMNS} values an event",
            counts.len(),
            events.len(),
            names.processes.len()
        )));
    }
    let regions = names.regions.into_iter();
    let comms = names.comms.into_iter();
    let definitions = NewDefinitions {
        creator: names.creator,
        ticks_per_second: names.ticks_per_second,
        processes: names.processes,
        regions: regions
            .map(|(name, role, paradigm)| NewRegion {
                name,
                role,
                paradigm,
            })
            .collect(),
        comms: comms
            .map(|(name, members)| NewComm { name, members })
            .collect(),
    };
    let mut archive = ArchiveWriter::create(path, definitions)?;
    let mut rest = events;
    for (location, &count) in counts.iter().enumerate() {
        if written(location as u64, counts.len() as u64).is_break() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (own, others) = rest.split_at(count as usize * OTF2_COLUMNS);
        rest = others;
        let own = own
            .chunks_exact(OTF2_COLUMNS)
            .map(event)
            .collect::<Result<Vec<Event>, String>>()
            .map_err(refused)?;
        archive.location(location as u32, own)?;
    }
    archive.finish()
}

/// An event of its columns.
fn event(row: &[u64]) -> Result<Event, String> {
    let small = |place: usize| {
        u32::try_from(row[place]).map_err(|_| format!("{} in column {place}", row[place]))
    };
    let message = || {
        Ok::<_, String>(Transfer {
            peer: small(2)?,
            comm: CommRef(small(3)?),
            tag: small(4)?,
            size: Bytes(row[5]),
        })
    };
    let kind = match row[1] {
        12 => EventKind::Enter(RegionRef(small(2)?)),
        13 => EventKind::Leave(RegionRef(small(2)?)),
        14 => EventKind::Send(message()?),
        15 => EventKind::Isend(message()?, row[6]),
        16 => EventKind::IsendComplete(row[6]),
        17 => EventKind::IrecvRequest(row[6]),
        18 => EventKind::Recv(message()?),
        19 => EventKind::Irecv(message()?, row[6]),
        other => return Err(format!("an event of kind {other}; allowed: 12 to 19")),
    };
    Ok(Event { time: row[0], kind })
}
