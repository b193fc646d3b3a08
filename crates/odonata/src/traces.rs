//! A look at a trace file before it is simulated.

use std::path::{Path, PathBuf};

use odonata_load::Program;
use odonata_load::replay::{Options, Trace};
use odonata_traces::codes::read_jobs;
use odonata_traces::tracer::TracerConfig;
use odonata_traces::{Summary, TraceError};
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
    crate::topology::codes::files(path)
}

/// What a configuration of CODES says besides the network: `model`, `routing` (its algorithm by
/// default) and `router_delay_ps` (either null where it is the scenario's), and `notices`.
///
/// # Errors
/// If it cannot be read, or has keys that its model does not.
pub fn codes_facts(path: &Path) -> Result<Value, Error> {
    let facts = crate::topology::codes::facts(path).map_err(|error| refused(&error))?;
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
