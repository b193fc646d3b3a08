//! Which nodes are down, and when maintenance ends.

use std::collections::BTreeSet;

use odonata_units::NodeId;

use super::cluster::{Cluster, Maintenance};
use crate::Seconds;
use crate::outages::{Calendar, MOST_IDLE_CHANGES, OutageError, in_words};

/// When maintenance ends, ms, soonest first.
pub(super) fn ends_of(maintenance: &[Maintenance]) -> Vec<i64> {
    let ends = maintenance.iter().map(|one| one.end.0.saturating_mul(1000));
    let mut ends: Vec<i64> = ends.collect();
    ends.sort_unstable();
    ends
}

/// Which nodes are down, and when that changes.
pub(super) struct NodesOut {
    pub calendar: Calendar,
    pub for_ever: BTreeSet<NodeId>,
    /// CPUs of nodes that are down, from when on.
    pub steps: Vec<(Seconds, u32)>,
    pub cpus: u32,
    /// Changes since a job ran or came.
    pub idle_changes: u32,
}

impl NodesOut {
    /// `None` where nothing fails. `from` is when the first job comes, ms.
    ///
    /// # Errors
    /// If outages make no sense.
    pub fn new(cluster: &Cluster, from: i64) -> Result<Option<Self>, OutageError> {
        if cluster.outages.is_empty() {
            return Ok(None);
        }
        let nodes: Vec<NodeId> = (0..cluster.nodes.len() as u32).map(NodeId).collect();
        cluster.outages.check(&nodes)?;
        Ok(Some(Self {
            calendar: Calendar::new(&cluster.outages, &nodes, from, 1000),
            for_ever: BTreeSet::new(),
            steps: Vec::new(),
            cpus: 0,
            idle_changes: 0,
        }))
    }

    pub fn next(&self) -> Option<i64> {
        self.calendar.next()
    }

    /// Whether it is no use to wait for nodes to be up at the same time.
    pub fn in_vain(&self) -> bool {
        self.idle_changes > MOST_IDLE_CHANGES
    }

    pub fn into_steps(self) -> Vec<(Seconds, u32)> {
        self.steps
    }

    /// What to say of jobs that never started.
    pub fn reason(&self) -> String {
        let for_ever: Vec<NodeId> = self.for_ever.iter().copied().collect();
        match for_ever.is_empty() {
            true => "it never found a place on the nodes that were up at the same time".to_owned(),
            false => format!(
                "it found no place on the nodes that were up; nodes {} (numbers in Slurm's order) \
                 never come back",
                in_words(&for_ever)
            ),
        }
    }
}
