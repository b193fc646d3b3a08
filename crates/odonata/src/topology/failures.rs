//! From `[failures]` to a network in which something does not work.

use odonata_network::Topology;
use odonata_network::topology::failures::Entry;
use odonata_network::topology::{FailureError, Part};
use odonata_run::Losses;
use odonata_units::Picoseconds;

use crate::error::SpecError;
use crate::spec::{Failures, InFlight, LinkFailure, Scenario};

/// `whole` without what fails in a scenario for the whole run.
///
/// # Errors
/// If a part does not exist or fails twice, or nothing would be left; the path names the entry.
pub(super) fn damaged(whole: Topology, scenario: &Scenario) -> Result<Topology, SpecError> {
    let network = &scenario.network;
    let listed = network.failures.listed(scenario.simulation.duration_ps);
    if network.failures == Failures::default() {
        return Ok(whole);
    }
    if listed.is_empty() {
        let message = "nothing fails: give `links`, `routers`, `nodes`, `outages` or `draw`, or remove the table";
        return Err(SpecError::new("failures", message));
    }
    if super::has_circuits(&network.topology) {
        let message = "parts of a network whose circuits optical switches set cannot fail: remove the \
                       table, or take a network without `optical` or circuits";
        return Err(SpecError::new("failures", message));
    }
    check_times(scenario)?;
    let mut links = network.failures.links.iter().enumerate();
    let is_dark = |failed: &LinkFailure| failed.bandwidth == 0.0 && failed.error_rate.is_none();
    if let Some((index, _)) = links.find(|(_, failed)| failed.one_way && is_dark(failed)) {
        let key = format!("{}.one_way", key_of(Entry::Links(index)));
        let message = "only with `bandwidth` or `error_rate`: of a link that is dark in one direction \
                       both ends take their side down";
        return Err(SpecError::new(key, message));
    }
    let drawn = network.failures.draw.iter().enumerate();
    for (index, drawn) in drawn.filter(|(_, drawn)| drawn.part != Part::Links) {
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
    let (damaged, _) = listed.of(whole).map_err(|error| at_its_key(&error))?;
    Ok(damaged)
}

/// What is left of `whole` from the start of the run on and from each moment on.
pub(super) fn moments(
    whole: &Topology,
    scenario: &Scenario,
) -> Result<Vec<(Picoseconds, Topology)>, SpecError> {
    let failures = &scenario.network.failures;
    let listed = failures.listed(scenario.simulation.duration_ps);
    listed.moments(whole).map_err(|error| at_its_key(&error))
}

/// The links of `whole` that lose packets during the run, and what becomes of these.
pub(super) fn losses(whole: &Topology, scenario: &Scenario) -> Result<Losses, SpecError> {
    let failures = &scenario.network.failures;
    let listed = failures.listed(scenario.simulation.duration_ps);
    let dark = listed.dark(whole).map_err(|error| at_its_key(&error))?;
    let moments = moments(whole, scenario)?.into_iter();
    let (resend_after, retries) = failures.resending();
    Ok(Losses {
        dark,
        unreachable: moments
            .map(|(from, left)| (from, left.lost_nodes().collect()))
            .collect(),
        resend_after,
        retries,
    })
}

/// Whether everything that fails or comes back during the run does so in this order and before its
/// end.
fn check_times(scenario: &Scenario) -> Result<(), SpecError> {
    let failures = &scenario.network.failures;
    let over_time = failures
        .draw
        .iter()
        .position(|drawn| drawn.mtbf_ps.is_some());
    if let (Some(index), None) = (over_time, scenario.simulation.duration_ps) {
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
        Entry::Outages(index) => format!("failures.outages[{index}]"),
        Entry::Drawn(index) => format!("failures.draw[{index}]"),
        Entry::All => "failures".into(),
    }
}
