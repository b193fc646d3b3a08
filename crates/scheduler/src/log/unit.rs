//! Whether a log in the Standard Workload Format counts nodes or processors.
//!
//! The format says processors, and many logs count nodes all the same. What tells is the
//! header, and how much of the machine the recorded jobs had at most at a time.

use super::error::LogError;
use super::job::{Job, JobLog, Unit};
use super::rules::Sink;
use super::swf::processors_per_node;
use super::{ReadOptions, nodes_of_processors};

/// Share of the nodes that jobs must have had at a time for sizes that never exceed the
/// nodes to be nodes.
const WELL_USED: f64 = 0.5;

/// Finds the unit, and gives all jobs their nodes; jobs have their sizes as nodes so far.
pub(super) fn settle(
    sink: &mut Sink,
    log: &mut JobLog,
    options: &ReadOptions,
) -> Result<(), LogError> {
    let nodes = options.machine_nodes.or(log.machine_nodes);
    let per_node = options
        .processors_per_node
        .or_else(|| processors_per_node(log));
    (log.unit, log.unit_because) = match (options.unit, options.processors_per_node) {
        (Some(unit), _) => (unit, "as it was asked for".to_owned()),
        (None, Some(per_node)) => (
            Unit::Processors,
            format!("as {per_node} to a node were given"),
        ),
        (None, None) => found(sink.jobs(), log),
    };
    if log.unit == Unit::Nodes {
        let larger = |job: &Job| {
            nodes
                .filter(|&nodes| job.nodes > nodes)
                .map(|_| format!("{} nodes", job.nodes))
        };
        return sink.settle_sizes(|job| job.nodes, larger);
    }
    log.processors_per_node = per_node;
    let (header_nodes, header_processors) = (log.machine_nodes, log.machine_processors);
    // Nodes that differ have what they have on average.
    let of_nodes = |nodes: u32| match (per_node, header_nodes.zip(header_processors)) {
        (Some(per_node), _) => Some(nodes.saturating_mul(per_node)),
        (None, Some((of, processors))) => {
            let scaled = u64::from(nodes) * u64::from(processors) / u64::from(of);
            u32::try_from(scaled).ok()
        }
        (None, None) => None,
    };
    let processors = match (options.machine_nodes, header_processors) {
        (Some(nodes), _) => of_nodes(nodes),
        (None, Some(processors)) => Some(processors),
        (None, None) => header_nodes.and_then(of_nodes),
    };
    log.machine_processors = processors;
    let share = move |size: u32| -> u32 {
        let whole = nodes_of_processors(i64::from(size), per_node);
        let known = per_node
            .is_none()
            .then_some(header_nodes.zip(header_processors))
            .flatten();
        // Nodes that differ: as many as have this many processors on average.
        let count = known.map_or(whole, |(nodes, processors)| {
            (i64::from(size) * i64::from(nodes) + i64::from(processors) - 1) / i64::from(processors)
        });
        count.clamp(1, i64::from(u32::MAX)) as u32
    };
    let larger = |job: &Job| {
        let size = job.requested_processors.or(job.processors)?;
        let larger = processors.is_some_and(|processors| size > processors);
        larger.then(|| format!("{size} processors"))
    };
    sink.settle_sizes(|job| share(job.nodes), larger)
}

/// The unit that a log speaks for, and why.
fn found(jobs: &[Job], log: &JobLog) -> (Unit, String) {
    let (nodes, processors) = match (log.machine_nodes, log.machine_processors) {
        (Some(nodes), Some(processors)) if nodes != processors => (nodes, processors),
        (Some(nodes), Some(_)) => {
            return (
                Unit::Nodes,
                format!("MaxNodes and MaxProcs are both {nodes}"),
            );
        }
        (Some(nodes), None) => {
            return (
                Unit::Nodes,
                format!("MaxNodes is {nodes}, and there is no MaxProcs"),
            );
        }
        (None, Some(processors)) => {
            let because = format!("MaxProcs is {processors}, and there is no MaxNodes");
            return (Unit::Processors, because);
        }
        (None, None) => {
            return (
                Unit::Nodes,
                "assumed; the header has neither MaxNodes nor MaxProcs".to_owned(),
            );
        }
    };
    // What exceeds the processors too is larger than the machine, whatever it counts.
    let sizes = jobs.iter().map(|job| job.nodes);
    let largest = sizes.filter(|&size| size <= processors).max().unwrap_or(0);
    if largest > nodes {
        let because = format!("a job has {largest}, and MaxNodes is {nodes}");
        return (Unit::Processors, because);
    }
    let most = most_at_a_time(jobs);
    if most > u64::from(nodes) {
        let because = format!("jobs had {most} at a time, and MaxNodes is {nodes}");
        return (Unit::Processors, because);
    }
    if most as f64 >= WELL_USED * f64::from(nodes) && processors > nodes {
        let because = format!("jobs had {most} at a time at most, and MaxNodes is {nodes}");
        return (Unit::Nodes, because);
    }
    (
        Unit::Processors,
        "as the format says; jobs are too few or too small to tell".to_owned(),
    )
}

/// Most of the machine that recorded jobs had at a time.
fn most_at_a_time(jobs: &[Job]) -> u64 {
    let mut changes: Vec<(i64, i64)> = Vec::with_capacity(2 * jobs.len());
    for job in jobs {
        if let Some(start) = job.start {
            changes.push((start.0, i64::from(job.nodes)));
            changes.push(((start + job.run).0, -i64::from(job.nodes)));
        }
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0i64, 0i64);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most.unsigned_abs()
}
