//! From `[network.optical]` of a fat tree to circuits: the switches, the jobs, what their pods
//! send to each other.

use std::path::Path;

use odonata_network::Topology;
use odonata_network::topology::{FatTreeShape, OpticalLayer, OpticalLayerError, UplinkPorts};
use odonata_steering::{PodTraffic, UplinkSwitch, steer_uplinks};
use odonata_units::GroupId;

use crate::error::SpecError;
use crate::jobs::plan_jobs;
use crate::mapping::sent;
use crate::spec::{self, Scenario, UplinkCircuits};
use crate::topology::read_file;

/// The optical switches of `tree`.
///
/// # Errors
/// If they do not fit it.
pub(super) fn layer(
    layer: &spec::OpticalLayer,
    shape: &FatTreeShape,
    tree: &Topology,
) -> Result<OpticalLayer, SpecError> {
    let (ports, links) = (layer.switch_ports, layer.links_per_switch);
    OpticalLayer::new(shape, tree, ports, links).map_err(|error| layer_error(&error))
}

/// `tree` with the circuits of its optical switches.
///
/// # Errors
/// If the switches do not fit the tree, the jobs cannot be placed, what they send cannot be
/// found, or the list of circuits makes no sense; the path names the key.
pub(super) fn steered(
    layer: &spec::OpticalLayer,
    shape: &FatTreeShape,
    tree: Topology,
    scenario: &Scenario,
) -> Result<Topology, SpecError> {
    let switches = self::layer(layer, shape, &tree)?;
    let settings = match (layer.circuits, layer.circuits_file.as_deref()) {
        (UplinkCircuits::Unsteered, _) => return Ok(tree),
        (UplinkCircuits::Jobs, _) if scenario.jobs.is_empty() => return Ok(tree),
        (UplinkCircuits::Jobs, _) => for_jobs(&switches, shape, &tree, scenario)?,
        (UplinkCircuits::File, Some(file)) => listed(&switches, file)?,
        (UplinkCircuits::File, None) => {
            return Err(SpecError::value(
                "network.optical.circuits_file",
                "nothing",
                "a file, as circuits = \"file\"",
            ));
        }
    };
    let set = switches.set(tree, &settings);
    set.map_err(|error| layer_error(&error))
}

/// Settings for what the jobs of a scenario send from pod to pod, by algorithm 1 of
/// Michelogiannakis et al. 2019. Placement does not look at uplinks; where a mapping is fitted to
/// the network, it is to the one without circuits.
fn for_jobs(
    layer: &OpticalLayer,
    shape: &FatTreeShape,
    tree: &Topology,
    scenario: &Scenario,
) -> Result<Vec<Vec<u32>>, SpecError> {
    let pods = layer.pods as usize;
    let mut amounts = vec![0.0; pods * pods];
    for (position, job) in plan_jobs(scenario, tree)?.iter().enumerate() {
        let path = |key: &str| format!("job[{position}].{key}");
        let ranks = job.plan.node_of_rank.len() as u32;
        let matrix = sent(&job.plan.load, ranks, &path).map_err(|_| {
            SpecError::new(
                "network.optical.circuits",
                format!(
                    "who sends how much to whom cannot be found from what job {} does, so that \
                     circuits cannot match it; use \"unsteered\" or \"file\"",
                    job.plan.name
                ),
            )
        })?;
        // Nodes are numbered along the leaves, and leaves along the pods.
        let leaf = |rank: usize| job.plan.node_of_rank[rank].0 / shape.down[0];
        for (from, entry) in matrix.matrix.entries() {
            let (from, to) = (leaf(from.index()), leaf(entry.to.index()));
            if from != to {
                let pod = |leaf: u32| (leaf / shape.down[1]) as usize;
                amounts[pod(from) * pods + pod(to)] += entry.bytes as f64;
            }
        }
    }
    let side = |ports: &[(_, u32)]| ports.iter().map(|port| GroupId(port.1)).collect();
    let switch = |ports: &UplinkPorts| UplinkSwitch {
        ingress: side(&ports.ingress),
        egress: side(&ports.egress),
    };
    let switches: Vec<UplinkSwitch> = layer.switches.iter().map(switch).collect();
    let in_layer = |error: &dyn std::fmt::Display| {
        SpecError::new("network.optical.circuits", error.to_string())
    };
    let traffic = PodTraffic::new(pods, amounts).map_err(|error| in_layer(&error))?;
    steer_uplinks(&traffic, &switches).map_err(|error| in_layer(&error))
}

/// Settings by a list: `switch ingress egress` in every line; ports that no line names keep the
/// circuit that they have unsteered.
fn listed(layer: &OpticalLayer, file: &Path) -> Result<Vec<Vec<u32>>, SpecError> {
    let key = "network.optical.circuits_file";
    let text = read_file(file, key)?;
    let straight = |ports: &UplinkPorts| (0..ports.ingress.len() as u32).collect();
    let mut settings: Vec<Vec<u32>> = layer.switches.iter().map(straight).collect();
    for (line, words) in (1..).zip(text.lines()) {
        let in_line = |what: String| {
            let name = file.display();
            SpecError::new(key, format!("{name}, line {line}: {what}"))
        };
        let words = words.split('#').next().unwrap_or("");
        if words.trim().is_empty() {
            continue;
        }
        let numbers: Result<Vec<u32>, _> = words.split_whitespace().map(str::parse).collect();
        let Ok(&[switch, ingress, egress]) = numbers.as_deref() else {
            return Err(in_line(format!(
                "found \"{}\"; allowed: three numbers, `switch ingress egress`",
                words.trim()
            )));
        };
        let Some(setting) = settings.get_mut(switch as usize) else {
            let all = layer.switches.len();
            return Err(in_line(format!(
                "switch {switch} of {all}, numbered from 0"
            )));
        };
        let ports = setting.len();
        if ingress.max(egress) as usize >= ports {
            return Err(in_line(format!(
                "circuit {ingress} {egress} on switch {switch}, which has {ports} connected ports \
                 on either side, numbered from 0"
            )));
        }
        setting[ingress as usize] = egress;
    }
    Ok(settings)
}

fn layer_error(error: &OpticalLayerError) -> SpecError {
    let key = match error {
        OpticalLayerError::Levels { .. } => {
            return SpecError::new("network.optical", error.to_string());
        }
        OpticalLayerError::LinksPerSwitch { .. } => "links_per_switch",
        OpticalLayerError::TooFewPorts { .. } => "switch_ports",
        OpticalLayerError::NoMatching { .. } => "circuits_file",
        OpticalLayerError::Switches { .. } | OpticalLayerError::Topology(_) => "circuits",
    };
    SpecError::new(format!("network.optical.{key}"), error.to_string())
}

#[cfg(test)]
mod tests;
