//! What building finds wrong with the parts of a scenario that are read without a mistake.

use serde_json::{Value, json};

use super::Object;
use crate::error::SpecError;
use crate::faults::{Checked, job_and_rest};
use crate::spec::Scenario;
use crate::spec::forms::PLUG_IN;

/// Mistakes of building what no mistake of reading is in.
pub(super) fn built(mut form: Object, read: &[SpecError]) -> Vec<SpecError> {
    let is_wrong = |path: &str| {
        read.iter().any(|error| {
            let rest = error.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    for table in ["simulation", "mpi", "record", "storage"] {
        if is_wrong(table) {
            form.remove(table);
        }
    }
    let has_network = form.contains_key("network") && !is_wrong("network");
    if !has_network {
        let network = json!({"topology": {"family": "crossbar", "nodes": 1}});
        form.insert("network".into(), network);
    }
    if is_wrong("failures")
        && let Some(Value::Object(network)) = form.get_mut("network")
    {
        network.remove("failures");
    }
    if is_wrong("node")
        && let Some(Value::Object(network)) = form.get_mut("network")
    {
        network.remove("node");
    }
    let Some(Value::Array(jobs)) = form.get_mut("jobs") else {
        return Vec::new();
    };
    // Without its file system a checkpoint would be wrong, too.
    let no_storage = is_wrong("storage");
    let is_right = |(place, job): &(usize, Value)| {
        let needs_storage = no_storage && has_checkpoint(job);
        !(is_wrong(&format!("job[{place}]")) || has_plug_in(job) || needs_storage)
    };
    let (places, right): (Vec<_>, Vec<_>) = (std::mem::take(jobs).into_iter().enumerate())
        .filter(is_right)
        .unzip();
    *jobs = right;
    // What cannot be read so is a mistake that is known.
    let Ok(scenario) = Scenario::from_value(Value::Object(form)) else {
        return Vec::new();
    };
    let mut found = crate::faults::of_building(&scenario, Checked { has_network });
    for error in &mut found {
        let place =
            job_and_rest(&error.path).and_then(|(job, rest)| Some((*places.get(job)?, rest)));
        if let Some((place, rest)) = place {
            error.path = format!("job[{place}]{rest}");
        }
    }
    found
}

/// Whether a job writes to the file system.
fn has_checkpoint(job: &Value) -> bool {
    match job {
        Value::Object(table) => {
            table.get("name").is_some_and(|name| name == "checkpoint")
                && !table.contains_key("load")
                || table.values().any(has_checkpoint)
        }
        Value::Array(values) => values.iter().any(has_checkpoint),
        _ => false,
    }
}

/// Whether a plug-in gives something of a job, which only Python can ask.
fn has_plug_in(job: &Value) -> bool {
    match job {
        Value::Object(table) => table.contains_key(PLUG_IN) || table.values().any(has_plug_in),
        Value::Array(values) => values.iter().any(has_plug_in),
        _ => false,
    }
}
