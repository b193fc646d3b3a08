//! Only where the jobs of a scenario are.

use odonata_units::NodeId;

use super::plan_jobs_with;
use crate::additions::Nothing;
use crate::error::SpecError;
use crate::spec::Scenario;
use crate::topology::build_topology;

/// The nodes of the jobs of a scenario, and what they leave.
pub struct PlacedJobs {
    /// The nodes of each job, in the order of its placement.
    pub nodes: Vec<Vec<NodeId>>,
    /// Nodes that a further job could get, ascending.
    pub free: Vec<NodeId>,
}

/// Places the jobs of a scenario one after another.
///
/// # Errors
/// As for [`plan_jobs`](crate::plan_jobs).
pub fn place_jobs(scenario: &Scenario) -> Result<PlacedJobs, SpecError> {
    let topology = build_topology(scenario)?;
    let (jobs, state) = plan_jobs_with(scenario, &topology, &Nothing, None)?;
    let nodes = (0..topology.nodes()).map(NodeId::from_index);
    Ok(PlacedJobs {
        nodes: jobs.into_iter().map(|job| job.nodes).collect(),
        free: nodes.filter(|&node| state.is_free(node)).collect(),
    })
}
