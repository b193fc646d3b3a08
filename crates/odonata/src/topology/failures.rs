//! From `[failures]` to a network in which something does not work.

use std::collections::BTreeSet;
use std::sync::Arc;

use odonata_network::Topology;
use odonata_network::topology::failures::Entry;
use odonata_network::topology::{
    FailureError, Failures as ListedFailures, Part, Timeline, Unusable,
};
use odonata_run::Losses;
use odonata_units::{NodeId, Picoseconds, Sender};

use super::optics::optics;
use crate::error::SpecError;
use crate::spec::{Failures, InFlight, LinkFailure, Scenario, circuit};

/// `whole` without what fails in a scenario for the whole run.
///
/// # Errors
/// If a part does not exist or fails twice, or nothing would be left; the path names the entry.
pub(super) fn damaged(whole: Topology, scenario: &Scenario) -> Result<Topology, SpecError> {
    let Some(listed) = listed(scenario)? else {
        return Ok(whole);
    };
    let (damaged, _) = listed.of(whole).map_err(|error| at_its_key(&error))?;
    Ok(damaged)
}

/// What circuits of a scenario's optical switches must not use at each of these times; `None` if nothing
/// fails.
///
/// # Errors
/// As [`damaged`].
pub(super) fn unusable_at(
    scenario: &Scenario,
    times: &[Picoseconds],
) -> Result<Option<Vec<Unusable>>, SpecError> {
    let listed = listed(scenario)?;
    let unusable = listed.map(|listed| listed.unusable(times));
    unusable.transpose().map_err(|error| at_its_key(&error))
}

/// The latest time of which it is known at another what works then: routes are made anew so much later.
pub(super) fn happened(scenario: &Scenario, known: Picoseconds) -> Picoseconds {
    let later = scenario.network.failures.reconvergence_ps.unwrap_or(0);
    Picoseconds(known.0.saturating_sub(later))
}

/// What circuits must not use at a time.
///
/// # Errors
/// As [`damaged`].
pub(super) fn unusable(
    scenario: &Scenario,
    time: Picoseconds,
) -> Result<Option<Unusable>, SpecError> {
    let then = unusable_at(scenario, &[time])?;
    Ok(then.and_then(|mut all| all.pop()))
}

/// What is left of `whole` at a time.
///
/// # Errors
/// If that is nothing.
pub(super) fn left(
    timeline: &Timeline,
    whole: &Topology,
    time: Picoseconds,
) -> Result<Topology, SpecError> {
    let left = timeline.left(whole, time);
    left.map_err(|error| at_its_key(&error))
}

/// [`Timeline::ways`].
///
/// # Errors
/// As that.
pub(super) fn ways(
    timeline: &Timeline,
    whole: &Topology,
    time: Option<Picoseconds>,
    lost_nodes: &BTreeSet<NodeId>,
    with_circuits: bool,
) -> Result<Topology, SpecError> {
    let ways = timeline.ways(whole, time, lost_nodes, with_circuits);
    ways.map_err(|error| at_its_key(&error))
}

/// What fails in a scenario, in the network room's form; `None` if nothing does.
fn listed(scenario: &Scenario) -> Result<Option<ListedFailures>, SpecError> {
    let network = &scenario.network;
    if network.failures == Failures::default() {
        return Ok(None);
    }
    check_circuits(&network.failures)?;
    let mut listed = network.failures.listed(scenario.simulation.duration_ps);
    if listed.is_empty() {
        let message = "nothing fails: give `links`, `routers`, `nodes`, `outages` or `draw`, or remove the table";
        return Err(SpecError::new("failures", message));
    }
    check_times(scenario)?;
    network.failures.check_outages()?;
    let mut links = network.failures.links.iter().enumerate();
    let is_dark = |failed: &LinkFailure| failed.bandwidth == 0.0 && failed.error_rate.is_none();
    if let Some((index, _)) = links.find(|(_, failed)| failed.one_way && is_dark(failed)) {
        let key = format!("{}.one_way", key_of(Entry::Links(index)));
        let message = "only with `bandwidth` or `error_rate`: of a link that is dark in one direction \
                       both ends take their side down";
        return Err(SpecError::new(key, message));
    }
    let drawn = network.failures.draw.iter().enumerate();
    let as_wholes = |part: Part| matches!(part, Part::Routers | Part::Nodes);
    for (index, drawn) in drawn.filter(|(_, drawn)| as_wholes(drawn.part)) {
        let key = match (drawn.at_ps, drawn.mtbf_ps) {
            (Some(_), _) => "at",
            (None, Some(_)) => "mtbf",
            (None, None) => continue,
        };
        if network.failures.in_flight == InFlight::Drained {
            let key = format!("{}.{key}", key_of(Entry::Drawn(index)));
            let message = "only with in_flight = \"lost\": what is in a router or node that fails \
                           cannot be drained";
            return Err(SpecError::new(key, message));
        }
    }
    if network.failures.in_flight == InFlight::Lost && !network.failures.loses_packets() {
        let allowed = "\"drained\": nothing goes out of service during the run (`at`, `mtbf`, \
                       `outages`), so that nothing is lost";
        return Err(SpecError::value("failures.in_flight", "\"lost\"", allowed));
    }
    listed.optics = optics(scenario)?.map(Arc::new);
    Ok(Some(listed))
}

/// Whether circuits are written as such.
fn check_circuits(failures: &Failures) -> Result<(), SpecError> {
    let of_outages = failures.outages.iter().enumerate();
    let of_outages = of_outages.map(|(index, one)| {
        let key = format!("{}.circuits", key_of(Entry::Outages(index)));
        (key, &one.circuits)
    });
    let all = std::iter::once(("failures.circuits".to_owned(), &failures.circuits));
    for (key, circuits) in all.chain(of_outages) {
        if let Some(text) = circuits
            .iter()
            .flatten()
            .find(|text| circuit(text).is_none())
        {
            let allowed =
                "an optical switch, a slash and the two ports that it joins, such as \"2/5-9\"";
            return Err(SpecError::value(key, format!("\"{text}\""), allowed));
        }
    }
    Ok(())
}

/// What works of `whole`, and when; `None` if nothing fails.
///
/// # Errors
/// As [`damaged`].
pub(super) fn timeline(
    whole: &Topology,
    scenario: &Scenario,
) -> Result<Option<Timeline>, SpecError> {
    let timeline = listed(scenario)?.map(|listed| listed.timeline(whole));
    timeline.transpose().map_err(|error| at_its_key(&error))
}

/// What is left of `whole` from the start of the run on and from each moment on.
pub(super) fn moments(
    whole: &Topology,
    scenario: &Scenario,
) -> Result<Vec<(Picoseconds, Topology)>, SpecError> {
    let moments = listed(scenario)?.map(|listed| listed.moments(whole));
    moments
        .unwrap_or(Ok(Vec::new()))
        .map_err(|error| at_its_key(&error))
}

/// The links of `whole` that lose packets during the run, and what becomes of these.
pub(super) fn losses(whole: &Topology, scenario: &Scenario) -> Result<Losses, SpecError> {
    let moments = moments(whole, scenario)?.into_iter();
    let (resend_after, retries) = scenario.network.failures.resending();
    Ok(Losses {
        dark: dark(whole, scenario)?,
        unreachable: moments
            .map(|(from, left)| (from, left.lost_nodes().collect()))
            .collect(),
        resend_after,
        retries,
    })
}

/// Who sends over links of `whole` that lose packets during the run, and from when until when.
pub(super) fn dark(
    whole: &Topology,
    scenario: &Scenario,
) -> Result<Vec<(Sender, Picoseconds, Picoseconds)>, SpecError> {
    let dark = listed(scenario)?.map(|listed| listed.dark(whole));
    let dark = dark.unwrap_or(Ok(Vec::new()));
    dark.map_err(|error| at_its_key(&error))
}

/// Whether everything that fails or comes back during the run does so in this order and before its
/// end.
fn check_times(scenario: &Scenario) -> Result<(), SpecError> {
    let failures = &scenario.network.failures;
    let over_time = failures
        .draw
        .iter()
        .position(|drawn| drawn.mtbf_ps.is_some());
    // A network without jobs is only looked at; a schedule lasts as long as its jobs.
    if let (Some(index), None, false) = (
        over_time,
        scenario.simulation.duration_ps,
        scenario.jobs.is_empty(),
    ) {
        let key = format!("{}.mtbf", key_of(Entry::Drawn(index)));
        let message = "give `simulation.duration`, the time in which links fail";
        return Err(SpecError::new(key, message));
    }
    let listed = failures.links.iter().enumerate();
    let listed = listed.map(|(index, failed)| (Entry::Links(index), failed.at_ps, failed.until_ps));
    let drawn = failures.draw.iter().enumerate();
    let drawn = drawn.map(|(index, drawn)| (Entry::Drawn(index), drawn.at_ps, drawn.until_ps));
    let outages = failures.outages.iter().enumerate();
    let outages = outages.map(|(index, one)| (Entry::Outages(index), one.at_ps, one.until_ps));
    for (entry, at, until) in listed.chain(drawn).chain(outages) {
        let wrong = |key: &str, time: u64, allowed: String| {
            let key = format!("{}.{key}", key_of(entry));
            Err(SpecError::value(key, Picoseconds(time), allowed))
        };
        if let (Some(at), Some(until)) = (at, until)
            && until <= at
        {
            let allowed = format!(
                "later than `at`, {}: what works is not repaired",
                Picoseconds(at)
            );
            return wrong("until", until, allowed);
        }
        let Some(end) = scenario.simulation.duration_ps else {
            continue;
        };
        for (key, time) in [("at", at), ("until", until)] {
            if let Some(time) = time.filter(|&time| time >= end) {
                let allowed = format!("before the end of the run, {}", Picoseconds(end));
                return wrong(key, time, allowed);
            }
        }
    }
    Ok(())
}

fn at_its_key(error: &FailureError) -> SpecError {
    SpecError::new(key_of(error.entry), error.message.clone())
}

fn key_of(entry: Entry) -> String {
    match entry {
        Entry::Links(index) => format!("failures.links[{index}]"),
        Entry::Routers(_) => "failures.routers".into(),
        Entry::Nodes(_) => "failures.nodes".into(),
        Entry::OpticalSwitches(_) => "failures.optical_switches".into(),
        Entry::Circuits(_) => "failures.circuits".into(),
        Entry::Outages(index) => format!("failures.outages[{index}]"),
        Entry::Drawn(index) => format!("failures.draw[{index}]"),
        Entry::All => "failures".into(),
    }
}
