//! Slurm's own scheduling: what jobs ask for as constraints, cores as `select/cons_tres`
//! packs them, and the main and the backfill scheduler each in its own time.
//!
//! Written after Slurm's documentation and the behaviour of its version 22.05. What is not
//! here: preemption, reservations for users, licences, topologies but trees, heterogeneous jobs.
//! What Slurm does not have: nodes chosen by GRAP.

mod backfill;
mod cluster;
mod conf;
mod failures;
mod features;
mod grap;
mod jobs;
mod limits;
mod listing;
mod nodes;
mod nodes_out;
mod onset;
mod priority;
mod select;
mod simulate;

pub use cluster::{
    Association, Cluster, Filling, GrapGroups, Maintenance, Node, Parameters, Partition, Priority,
    Qos, Switch, Tres, Unit, Weights,
};
pub use conf::{ConfError, read_cluster};
pub use onset::Onset;
pub use simulate::{simulate, simulate_from};

/// Whether a cluster makes sense.
fn check(cluster: &Cluster) -> Result<(), String> {
    if cluster.nodes.is_empty() {
        return Err("the cluster has no nodes".to_owned());
    }
    for node in &cluster.nodes {
        if node.cpus == 0 || node.threads == 0 || node.sockets == 0 {
            let name = &node.name;
            return Err(format!(
                "node {name} needs CPUs, threads and sockets, at least 1 each"
            ));
        }
    }
    if cluster.partitions.is_empty() {
        return Err("the cluster has no partitions".to_owned());
    }
    for partition in &cluster.partitions {
        let count = cluster.nodes.len();
        if partition.nodes.iter().any(|&node| node as usize >= count) {
            let name = &partition.name;
            return Err(format!("partition {name} has nodes that there are not"));
        }
    }
    for switch in &cluster.switches {
        if (switch.nodes.iter()).any(|&node| node as usize >= cluster.nodes.len()) {
            return Err("a switch has nodes that there are not".to_owned());
        }
    }
    for one in &cluster.maintenance {
        let Maintenance { nodes, start, end } = one;
        if end <= start {
            return Err(format!(
                "maintenance lasts from {start} to {end}; its end must lie after its start"
            ));
        }
        if let Some(node) = nodes
            .iter()
            .find(|node| node.index() >= cluster.nodes.len())
        {
            return Err(format!("maintenance: there is no node {node}"));
        }
    }
    let parameters = &cluster.parameters;
    let positive = [
        ("bf_interval", parameters.bf_interval),
        ("bf_window", parameters.bf_window),
        ("bf_resolution", parameters.bf_resolution),
        ("bf_max_time", parameters.bf_max_time),
    ];
    for (name, value) in positive {
        if !(1..=crate::Seconds::LIMIT.0).contains(&value) {
            return Err(format!("{name} is {value} s; allowed: 1 s and more"));
        }
    }
    let work = [
        ("the working time of a test", parameters.seconds_per_test),
        ("the time beyond a job's run time", parameters.completing),
        ("bf_yield_interval", parameters.bf_yield_interval),
        ("bf_yield_sleep", parameters.bf_yield_sleep),
    ];
    for (name, value) in work {
        if !(0.0..=1e6).contains(&value) {
            return Err(format!("{name} is {value} s; allowed: 0 to 10⁶ s"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
