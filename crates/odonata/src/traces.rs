//! A look at a trace file before it is simulated.

use std::path::Path;

use odonata_traces::Summary;
use serde_json::{Value, json};

use crate::error::{Error, SpecError};

/// Reads a whole trace and tells what it holds: `format`, `ranks`, `records`,
/// `facts` by name, `kinds` (list of `kind`, `records`, `bytes_sent`, most
/// frequent first) and the first `samples` records as texts.
///
/// # Errors
/// If the file is of no known format or damaged.
pub fn trace_summary(path: &Path, samples: usize) -> Result<Value, Error> {
    let summary = Summary::read(path, samples)
        .map_err(|error| Error::Spec(SpecError::new("", error.to_string())))?;
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
