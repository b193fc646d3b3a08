//! Logs made larger, smaller, denser.

use thiserror::Error;

use super::job::{JobLog, Unit};
use crate::Seconds;

/// How to change a log. The defaults change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Factor of every job's nodes, rounded up.
    pub nodes: f64,
    /// Nodes of the machine that the log is made for: jobs that become larger are
    /// cut down to it.
    pub machine_nodes: Option<u32>,
    /// Factor of the times between submissions: below 1 raises the load.
    pub arrivals: f64,
    /// Factor of run times and requested times.
    pub run_times: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            nodes: 1.0,
            machine_nodes: None,
            arrivals: 1.0,
            run_times: 1.0,
        }
    }
}

/// A factor that is none.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{what} is {found}; allowed: numbers above 0, up to 10⁶")]
pub struct ScalingError {
    /// Which one.
    pub what: &'static str,
    /// What was given.
    pub found: f64,
}

/// Applies `scaling` to a log.
///
/// Feng et al. (2023, 5.1.4) enlarge Mira's log for a machine of 82,944 nodes with
/// `nodes = 2` and `machine_nodes = 82,944`: every job's nodes doubled, and those
/// beyond the machine reduced to it.
///
/// What a log says of its past does not scale: recorded starts are kept only if
/// arrivals and run times are, lists of nodes only if nodes are.
///
/// # Errors
/// If a factor is not above 0.
pub fn scale(log: &mut JobLog, scaling: &Scaling) -> Result<(), ScalingError> {
    for (what, found) in [
        ("the factor of nodes", scaling.nodes),
        ("the factor of times between submissions", scaling.arrivals),
        ("the factor of run times", scaling.run_times),
    ] {
        if !(found > 0.0 && found <= 1e6) {
            return Err(ScalingError { what, found });
        }
    }
    let most = scaling.machine_nodes.unwrap_or(u32::MAX).max(1);
    let first = log.jobs.first().map_or(Seconds::ZERO, |job| job.submit);
    let nodes = |count: u32| ((f64::from(count) * scaling.nodes).ceil() as u32).clamp(1, most);
    // A log of processors is scaled by them, and its nodes follow.
    let per_node = log.processors_per_node.unwrap_or(1).max(1);
    let by_processors = log.unit == Unit::Processors;
    let most_processors = most.saturating_mul(per_node);
    let processors =
        |count: u32| ((f64::from(count) * scaling.nodes).ceil() as u32).clamp(1, most_processors);
    let moved = |time: Seconds| {
        let since = (time - first).0 as f64 * scaling.arrivals;
        first + Seconds(since.round() as i64)
    };
    let stretched = |time: Seconds| Seconds((time.0 as f64 * scaling.run_times).round() as i64);
    let (same_time, same_nodes) = (
        scaling.arrivals == 1.0 && scaling.run_times == 1.0,
        scaling.nodes == 1.0 && scaling.machine_nodes.is_none(),
    );
    for index in 0..log.jobs.len() {
        let asked = log.processors_of(&log.jobs[index]);
        let job = &mut log.jobs[index];
        if !same_nodes && by_processors {
            let larger = processors(asked);
            if larger != asked {
                job.processors = job.processors.map(processors);
                job.node_list = None;
            }
            job.requested_processors = Some(larger);
            job.nodes = larger.div_ceil(per_node);
        } else if !same_nodes {
            let larger = nodes(job.nodes);
            if larger != job.nodes {
                // The processors of the nodes it has now are unknown.
                job.processors = None;
                job.requested_processors = None;
                job.node_list = None;
            }
            job.nodes = larger;
        }
        if !same_time {
            job.submit = moved(job.submit);
            job.eligible = job.eligible.map(moved);
            job.start = None;
            job.run = stretched(job.run);
            job.requested = job.requested.map(stretched);
        }
    }
    if let Some(machine) = scaling.machine_nodes {
        log.machine_nodes = Some(machine);
        log.machine_processors = by_processors.then_some(most_processors);
    } else if !same_nodes {
        log.machine_nodes = log.machine_nodes.map(nodes);
        let scaled = |count: u32| (f64::from(count) * scaling.nodes).ceil() as u32;
        log.machine_processors = log.machine_processors.filter(|_| by_processors).map(scaled);
    }
    Ok(())
}
