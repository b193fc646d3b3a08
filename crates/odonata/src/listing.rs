//! What the ranks of a scenario's job do, written down for others to carry out.

use odonata_load::{Listing, MessageProgress, WalkError, listing};
use odonata_run::JobLoad;
use serde_json::{Value, json};

use crate::error::SpecError;
use crate::jobs::plan_jobs;
use crate::spec::Scenario;
use crate::topology::build_topology;

/// Steps of all ranks together that a listing may have.
const MOST_STEPS: u64 = 20_000_000;

/// The first `iterations` iterations of what job `job` of a scenario does.
///
/// # Errors
/// If the scenario cannot be built or has no such job, if the job offers traffic rather than
/// doing something, or if what it does is not listed ([`odonata_load::listing`]).
pub fn list_program(
    scenario: &Scenario,
    job: usize,
    iterations: u32,
) -> Result<Listing, SpecError> {
    // What ranks do one after another; whoever carries it out has a progress of its own.
    let mut scenario = scenario.clone();
    scenario.mpi.progress = Some(MessageProgress::Calls);
    let topology = build_topology(&scenario)?;
    let planned = plan_jobs(&scenario, &topology)?;
    let path = format!("job[{job}]");
    let Some(planned) = planned.get(job) else {
        let found = scenario.jobs.len();
        return Err(SpecError::new(
            path,
            format!("the scenario has {found} jobs"),
        ));
    };
    match &planned.plan.load {
        JobLoad::Closed(program) => {
            listing(program.as_ref(), iterations, MOST_STEPS).map_err(|error| {
                let message = match error {
                    WalkError::NotListed(_) => error.to_string(),
                    _ => format!("what it does cannot be listed: {error}; list fewer iterations"),
                };
                SpecError::new(path + ".motif", message)
            })
        }
        JobLoad::Open(_) => Err(SpecError::new(
            path + ".traffic",
            "traffic is offered, there is nothing that ranks do one after another; use a motif",
        )),
    }
}

/// As named values: `channels`, `largest` (bytes) and `ranks`, the steps of each, as
/// [`odonata_load::ListedStep`] has them.
pub fn listing_to_json(listing: &Listing) -> Value {
    json!({
        "channels": listing.channels,
        "largest": listing.largest.0,
        "ranks": listing.ranks,
    })
}
