//! From `[network.optical]` of a fat tree to circuits: the switches, the jobs, what their pods
//! send to each other.

mod changing;

use std::path::Path;

use odonata_network::Topology;
use odonata_network::topology::{FatTreeShape, NO_CIRCUIT, OpticalLayer, Unusable, UplinkPorts};
use odonata_steering::{PodTraffic, UplinkError, UplinkSteering, UplinkSwitch, steer_uplinks_by};
use odonata_units::{GroupId, NodeId, Picoseconds};

use super::families::fat_tree::specification;
use super::job_matrix::job_matrix;
use super::optics::{laid_out, layer as layer_of, layer_error};
use super::{classes_of, failures, moments};
use crate::error::SpecError;
use crate::jobs::{PlannedJob, plan_jobs};
use crate::named_file::read_file;
use crate::spec::{self, Family, FatTree, Scenario, UplinkCircuits};

pub(crate) use changing::ChangingCircuits;

/// What sets the circuits of a fat tree anew during a run, if they change: with what is sent or runs, or
/// as what leads to them fails and works again.
///
/// # Errors
/// If the switches do not fit the tree, or what jobs send cannot be found.
pub(super) fn changing_circuits<'s>(
    tree: &'s FatTree,
    scenario: &'s Scenario,
) -> Result<Option<ChangingCircuits<'s>>, SpecError> {
    let Some(options) = tree
        .optical
        .as_ref()
        .filter(|layer| layer.circuits.are_decided())
    else {
        return Ok(None);
    };
    let Some((layer, shape, built)) = laid_out(tree, scenario)? else {
        return Ok(None);
    };
    let working = WorkingLayer::at_moments(&layer, scenario)?;
    if working.len() == 1 && !options.circuits.change() {
        check_no_changes(options)?;
        return Ok(None);
    }
    ChangingCircuits::new(scenario, options, (layer, working), shape, built).map(Some)
}

/// What works of the optical switches of a tree.
#[derive(PartialEq)]
pub(super) struct WorkingLayer {
    pub layer: OpticalLayer,
    /// Ingress and egress ports whose circuit has failed. Shape: switches × such circuits.
    failed: Vec<Vec<(u32, u32)>>,
    /// Whether each port of the whole layer does not work; nothing if all do. Shape: switches × ports.
    dark: Vec<Vec<bool>>,
}

impl WorkingLayer {
    /// What works from the start of the run on.
    ///
    /// # Errors
    /// If something fails that there is not.
    fn new(layer: &OpticalLayer, scenario: &Scenario) -> Result<Self, SpecError> {
        let unusable = failures::unusable(scenario, Picoseconds::ZERO)?;
        Ok(Self::without(layer, unusable.as_ref()))
    }

    /// What works from the start of the run on, and from each moment on at which something else does and
    /// is known to.
    ///
    /// # Errors
    /// As [`WorkingLayer::new`].
    fn at_moments(
        layer: &OpticalLayer,
        scenario: &Scenario,
    ) -> Result<Vec<(Picoseconds, Self)>, SpecError> {
        let moments = moments(scenario)?;
        if moments.is_empty() {
            return Ok(vec![(Picoseconds::ZERO, Self::new(layer, scenario)?)]);
        }
        let times: Vec<_> = (moments.iter())
            .map(|&(known, _)| failures::happened(scenario, known))
            .collect();
        let unusable = failures::unusable_at(scenario, &times)?.unwrap_or_default();
        let known = moments.into_iter().map(|(known, _)| known);
        let all = known.zip(unusable.iter().map(|one| Self::without(layer, Some(one))));
        let mut all: Vec<_> = all.collect();
        all.dedup_by(|next, before| next.1 == before.1);
        Ok(all)
    }

    fn without(layer: &OpticalLayer, unusable: Option<&Unusable>) -> Self {
        let mut failed = vec![Vec::new(); layer.switches.len()];
        let Some(unusable) = unusable else {
            return Self {
                layer: layer.clone(),
                failed,
                dark: Vec::new(),
            };
        };
        for circuit in &unusable.circuits {
            let dark = &unusable.ports[circuit.switch as usize];
            let ends = [circuit.from as usize, circuit.to as usize];
            if ends.iter().all(|&end| !dark[end]) {
                // Its ports among those that work.
                let [from, to] = ends.map(|end| dark[..end].iter().filter(|dark| !**dark).count());
                failed[circuit.switch as usize].push((from as u32, to as u32));
            }
        }
        Self {
            layer: layer.with_ports(|switch, port| !unusable.ports[switch][port]),
            failed,
            dark: unusable.ports.clone(),
        }
    }

    fn is_dark(&self, switch: usize, port: usize) -> bool {
        self.dark.get(switch).is_some_and(|ports| ports[port])
    }

    fn has_failed_circuits(&self) -> bool {
        self.failed.iter().any(|failed| !failed.is_empty())
    }

    /// The first switch whose settings use a circuit that has failed, as there is no other.
    pub fn failed_of(&self, settings: &[Vec<u32>]) -> Option<String> {
        let switches = self.failed.iter().zip(settings).enumerate();
        let mut used = switches.filter_map(|(switch, (failed, setting))| {
            let used = |&&(from, to): &&(u32, u32)| setting[from as usize] == to;
            let used = failed.iter().find(used);
            used.map(|_| format!("optical switch {switch}"))
        });
        used.next()
    }

    /// Settings of what works as those of the whole layer. What is dark leads nowhere, or where packets
    /// may be lost, straight on: there they are.
    pub fn of_all(
        &self,
        whole: &OpticalLayer,
        settings: &[Vec<u32>],
        may_lose: bool,
    ) -> Vec<Vec<u32>> {
        let of_switch = |(switch, ports): (usize, &UplinkPorts)| {
            let ports = 0..ports.ingress.len();
            let works = |&port: &usize| !self.is_dark(switch, port);
            let working: Vec<usize> = ports.clone().filter(works).collect();
            let nowhere = |port: usize| if may_lose { port as u32 } else { NO_CIRCUIT };
            let mut all: Vec<u32> = ports.map(nowhere).collect();
            for ((from, &port), &to) in (0..).zip(&working).zip(&settings[switch]) {
                let is_set = may_lose || !self.failed[switch].contains(&(from, to));
                all[port] = if is_set {
                    working[to as usize] as u32
                } else {
                    NO_CIRCUIT
                };
            }
            all
        };
        whole.switches.iter().enumerate().map(of_switch).collect()
    }
}

/// A network with the circuits of its optical switches above the leaves, if it has any.
///
/// # Errors
/// As for [`steered`].
pub(super) fn joined(built: Topology, scenario: &Scenario) -> Result<Topology, SpecError> {
    let Family::FatTree(tree) = &scenario.network.topology else {
        return Ok(built);
    };
    let Some(layer) = &tree.optical else {
        return Ok(built);
    };
    let shape = specification(tree, &classes_of(scenario))?.shape;
    steered(layer, &shape, built, scenario)
}

/// `tree` with the circuits of its optical switches.
///
/// # Errors
/// If the switches do not fit the tree, the jobs cannot be placed, what they send cannot be
/// found, or the list of circuits makes no sense; the path names the key.
fn steered(
    layer: &spec::OpticalLayer,
    shape: &FatTreeShape,
    tree: Topology,
    scenario: &Scenario,
) -> Result<Topology, SpecError> {
    let all = layer_of(layer, shape, &tree)?;
    check_keys(layer)?;
    let switches = WorkingLayer::new(&all, scenario)?;
    let amounts = match (layer.circuits, layer.circuits_file.as_deref()) {
        (UplinkCircuits::Unsteered, _) => return Ok(tree),
        (UplinkCircuits::Traffic, _) if !switches.has_failed_circuits() => return Ok(tree),
        (UplinkCircuits::Jobs | UplinkCircuits::RunningJobs, _) if scenario.jobs.is_empty() => {
            return Ok(tree);
        }
        (UplinkCircuits::RunningJobs, _) => {
            let of_jobs = sent_by_jobs(all.pods, shape, &tree, scenario)?;
            sum(&of_jobs, |job: usize| scenario.jobs[job].start_ps == 0)
        }
        // What has failed of them stays dark.
        (UplinkCircuits::File, Some(file)) => {
            let set = all.set(tree, &listed(&all, file)?);
            return set.map_err(|error| layer_error(&error));
        }
        (UplinkCircuits::File, None) => {
            return Err(SpecError::value(
                "network.optical.circuits_file",
                "nothing",
                "a file, as circuits = \"file\"",
            ));
        }
        _ => sent_at_all(layer, shape, (&all, &tree), scenario)?,
    };
    let settings = for_traffic(layer.steering, &switches, amounts)?;
    let set = switches.layer.set(tree, &settings);
    set.map_err(|error| layer_error(&error))
}

/// Refuses the time that changes take where there are none.
fn check_no_changes(layer: &spec::OpticalLayer) -> Result<(), SpecError> {
    let Some(time) = layer.reconfiguration_ps else {
        return Ok(());
    };
    let (time, circuits) = (Picoseconds(time), layer.circuits.name());
    let found = format!("{time}, and circuits = \"{circuits}\"");
    let allowed = "only with circuits that change, \"running-jobs\" or \"traffic\", or with \"jobs\" or \
                   \"matrix\" where uplinks, optical switches or circuits fail or work again during the run";
    let key = "network.optical.reconfiguration";
    Err(SpecError::value(key, found, allowed))
}

/// Keys that mean something with other circuits only.
fn check_keys(layer: &spec::OpticalLayer) -> Result<(), SpecError> {
    let key = |name: &str| format!("network.optical.{name}");
    let circuits = layer.circuits;
    let named = circuits.name();
    if layer.matrix_file.is_some() && circuits != UplinkCircuits::Matrix {
        let found = format!("a file, and circuits = \"{named}\"");
        return Err(SpecError::value(
            key("matrix_file"),
            found,
            "circuits = \"matrix\"",
        ));
    }
    let changing = "only with circuits that change, \"running-jobs\" or \"traffic\"";
    if let Some(time) = layer.period_ps.filter(|_| !circuits.change()) {
        let found = format!("{}, and circuits = \"{named}\"", Picoseconds(time));
        return Err(SpecError::value(key("period"), found, changing));
    }
    if !circuits.are_decided() {
        check_no_changes(layer)?;
    }
    if layer.period_ps == Some(0) {
        return Err(SpecError::value(key("period"), "0 s", "at least 1 ps"));
    }
    if circuits == UplinkCircuits::Traffic && layer.period_ps.is_none() {
        let allowed =
            "a time, as circuits = \"traffic\" are set by what was sent since the last time";
        return Err(SpecError::value(key("period"), "nothing", allowed));
    }
    Ok(())
}

/// What pods send to each other where circuits are set for all of a run; nothing where they change.
///
/// # Errors
/// If it cannot be found.
fn sent_at_all(
    options: &spec::OpticalLayer,
    shape: &FatTreeShape,
    (layer, tree): (&OpticalLayer, &Topology),
    scenario: &Scenario,
) -> Result<Vec<f64>, SpecError> {
    let pods = layer.pods as usize;
    match options.circuits {
        UplinkCircuits::Jobs => {
            let of_jobs = sent_by_jobs(layer.pods, shape, tree, scenario)?;
            Ok(sum(&of_jobs, |_| true))
        }
        UplinkCircuits::Matrix => {
            let file = options.matrix_file.as_deref().ok_or_else(|| {
                let key = "network.optical.matrix_file";
                SpecError::value(key, "nothing", "a file, as circuits = \"matrix\"")
            })?;
            read_matrix(file, pods)
        }
        _ => Ok(vec![0.0; pods * pods]),
    }
}

/// What each job of a scenario sends from pod to pod, in bytes. Placement does not look at uplinks;
/// where a mapping is fitted to the network, it is to the one without circuits. Shape: jobs × pods ·
/// pods.
fn sent_by_jobs(
    pods: u32,
    shape: &FatTreeShape,
    tree: &Topology,
    scenario: &Scenario,
) -> Result<Vec<Vec<f64>>, SpecError> {
    let pods = pods as usize;
    let jobs = plan_jobs(scenario, &failures::damaged(tree.clone(), scenario)?)?;
    let of_job = |job: &PlannedJob| {
        let instead = "\"unsteered\", \"file\", \"matrix\" or \"traffic\"";
        let matrix = job_matrix(job, "network.optical.circuits", instead)?;
        let mut amounts = vec![0.0; pods * pods];
        for (from, entry) in matrix.entries() {
            let node = |rank: usize| job.plan.node_of_rank[rank];
            let (from, to) = (node(from.index()), node(entry.to.index()));
            if let Some(pair) = pair(shape, pods, from, to) {
                amounts[pair] += entry.bytes as f64;
            }
        }
        Ok(amounts)
    };
    jobs.iter().map(of_job).collect()
}

/// The pair of pods, as a place in their matrix, between which what one node sends to another is
/// counted; `None` if both are on one leaf.
fn pair(shape: &FatTreeShape, pods: usize, from: NodeId, to: NodeId) -> Option<usize> {
    // Nodes are numbered along the leaves, and leaves along the pods.
    let (from, to) = (from.0 / shape.down[0], to.0 / shape.down[0]);
    let pod = |leaf: u32| (leaf / shape.down[1]) as usize;
    (from != to).then(|| pod(from) * pods + pod(to))
}

/// What some jobs send together.
fn sum(of_jobs: &[Vec<f64>], counts: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut amounts = vec![0.0; of_jobs.first().map_or(0, Vec::len)];
    for (_, of_job) in of_jobs.iter().enumerate().filter(|&(job, _)| counts(job)) {
        for (amount, more) in amounts.iter_mut().zip(of_job) {
            *amount += more;
        }
    }
    amounts
}

/// Settings for what pods send to each other, row by row.
fn for_traffic(
    steering: UplinkSteering,
    layer: &WorkingLayer,
    amounts: Vec<f64>,
) -> Result<Vec<Vec<u32>>, SpecError> {
    let side = |ports: &[(_, u32)]| ports.iter().map(|port| GroupId(port.1)).collect();
    let switch = |(ports, failed): (&UplinkPorts, &Vec<(u32, u32)>)| UplinkSwitch {
        ingress: side(&ports.ingress),
        egress: side(&ports.egress),
        failed: failed.clone(),
    };
    let has_ports = |of: &(&UplinkPorts, &Vec<(u32, u32)>)| !of.0.ingress.is_empty();
    let all = layer.layer.switches.iter().zip(&layer.failed);
    let switches: Vec<UplinkSwitch> = all.filter(has_ports).map(switch).collect();
    let steered = PodTraffic::new(layer.layer.pods as usize, amounts)
        .and_then(|traffic| steer_uplinks_by(steering, &traffic, &switches));
    let steered = steered.map_err(|error: UplinkError| {
        SpecError::new("network.optical.circuits", error.to_string())
    })?;
    // Switches of which nothing works have no settings.
    let mut steered = steered.into_iter();
    let of_switch = |ports: &UplinkPorts| match ports.ingress.is_empty() {
        true => Vec::new(),
        false => steered.next().unwrap_or_default(),
    };
    Ok(layer.layer.switches.iter().map(of_switch).collect())
}

/// What `pods` pods send to each other: as many numbers in as many lines, by sender.
fn read_matrix(file: &Path, pods: usize) -> Result<Vec<f64>, SpecError> {
    let key = "network.optical.matrix_file";
    let text = read_file(file, key)?;
    let name = file.display();
    let mut amounts = Vec::with_capacity(pods * pods);
    let mut rows = 0;
    for (line, words) in (1..).zip(text.lines()) {
        let words = words.split('#').next().unwrap_or("").trim();
        if words.is_empty() {
            continue;
        }
        let before = amounts.len();
        for word in words.split(|c: char| c == ',' || c.is_whitespace()) {
            if word.is_empty() {
                continue;
            }
            let amount = word.parse::<f64>().ok();
            let amount = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
            amounts.push(amount.ok_or_else(|| {
                let what = format!(
                    "{name}, line {line}: found \"{word}\"; allowed: numbers of at least 0"
                );
                SpecError::new(key, what)
            })?);
        }
        let found = amounts.len() - before;
        rows += 1;
        if found != pods || rows > pods {
            let what = match found == pods {
                true => format!("row {rows}"),
                false => format!("{found} numbers"),
            };
            return Err(SpecError::new(
                key,
                format!(
                    "{name}, line {line}: found {what}; allowed: {pods} rows of {pods} numbers, as the tree has {pods} pods"
                ),
            ));
        }
    }
    if rows != pods {
        return Err(SpecError::new(
            key,
            format!(
                "{name}: found {rows} rows; allowed: {pods} rows of {pods} numbers, as the tree has {pods} pods"
            ),
        ));
    }
    Ok(amounts)
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

#[cfg(test)]
mod tests;
