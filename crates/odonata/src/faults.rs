//! Everything that building a scenario finds wrong with it, not only the first.

use odonata_network::Topology;

use crate::additions::Nothing;
use crate::error::SpecError;
use crate::jobs::plan_each;
use crate::mapping::is_between_groups_or_routers;
use crate::routing::build_routing;
use crate::run;
use crate::spec::{Crossbar, Family, Mapping, Network, Placement, Scenario, Storage};
use crate::topology::build_topology;

/// What of a scenario is to be checked.
#[derive(Clone, Copy)]
pub(crate) struct Checked {
    /// Its network; without it, only what does not depend on one.
    pub has_network: bool,
}

/// Most nodes of the network in place of one that cannot be built.
const MOST_NODES: u32 = 1 << 20;

/// Everything that keeps a scenario from being simulated, as far as each can be found beside
/// the others: rules of several keys, the network, its routing, and every job.
pub fn faults(scenario: &Scenario) -> Vec<SpecError> {
    // Not every question about a network needs jobs.
    let mut found = match scenario.jobs.is_empty() {
        true => Vec::new(),
        false => run::broken_rules(scenario),
    };
    found.extend(of_building(scenario, Checked { has_network: true }));
    let mut known: Vec<SpecError> = Vec::new();
    for fault in found {
        if !known.iter().any(|one| one.path == fault.path) {
            known.push(fault);
        }
    }
    known
}

/// The same without the rules of several keys.
pub(crate) fn of_building(scenario: &Scenario, checked: Checked) -> Vec<SpecError> {
    if !checked.has_network {
        return without_network(scenario);
    }
    let topology = match build_topology(scenario) {
        Ok(topology) => topology,
        Err(error) => {
            let mut found = vec![error];
            found.extend(without_network(scenario));
            return found;
        }
    };
    let mut found: Vec<SpecError> = build_routing(scenario, &topology)
        .err()
        .into_iter()
        .collect();
    found.extend(of_jobs(scenario, &topology));
    found
}

fn of_jobs(scenario: &Scenario, topology: &Topology) -> Vec<SpecError> {
    match plan_each(scenario, topology, &Nothing, None) {
        Ok((planned, _)) => planned.into_iter().filter_map(Result::err).collect(),
        Err(errors) => errors,
    }
}

/// What is wrong with jobs whatever network they run on: each by itself on a switch that has as
/// many nodes as it asks for.
fn without_network(scenario: &Scenario) -> Vec<SpecError> {
    let mut found = Vec::new();
    for (place, job) in scenario.jobs.iter().enumerate() {
        let listed = match &job.placement {
            Placement::Explicit { nodes } => u32::try_from(nodes.len()).ok(),
            _ => None,
        };
        let Some(nodes) = job.nodes.or(listed).or(job.ranks) else {
            continue;
        };
        if nodes == 0 || nodes > MOST_NODES || is_between_groups_or_routers(&job.load) {
            continue;
        }
        let storage = scenario.storage.as_ref().map(|storage| {
            let listed = match &storage.placement {
                Placement::Explicit { nodes } => nodes.len() as u32,
                _ => 1,
            };
            Storage {
                servers: Some(storage.servers.unwrap_or(listed).clamp(1, MOST_NODES)),
                placement: Placement::Contiguous,
                groups: None,
                ..storage.clone()
            }
        });
        let servers = storage.as_ref().and_then(|storage| storage.servers);
        let nodes = nodes + servers.unwrap_or(0);
        let network = Network::new(Family::Crossbar(Crossbar { nodes }));
        let mut job = job.clone();
        (job.placement, job.mapping, job.groups) = (Placement::Contiguous, Mapping::Linear, None);
        let alone = Scenario {
            network,
            storage,
            jobs: vec![job],
            ..scenario.clone()
        };
        let Ok(topology) = build_topology(&alone) else {
            continue;
        };
        for mut error in of_jobs(&alone, &topology) {
            // A load by global links depends on there being some.
            let rest = job_and_rest(&error.path).map(|(_, rest)| rest.to_owned());
            if let Some(rest) = rest.filter(|rest| rest != ".traffic.load") {
                error.path = format!("job[{place}]{rest}");
                found.push(error);
            }
        }
    }
    found
}

/// The number of the job that a path is of, and what follows it.
pub(crate) fn job_and_rest(path: &str) -> Option<(usize, &str)> {
    let (number, rest) = path.strip_prefix("job[")?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}
