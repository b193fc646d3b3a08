//! Nodes that go down while jobs run on them, and maintenance that is planned.

use std::collections::BTreeSet;

use odonata_units::NodeId;

use super::cluster::Cluster;
use super::nodes::NodeSet;
use super::simulate::Simulation;
use crate::Seconds;
use crate::outages::{Calendar, MOST_IDLE_CHANGES, MOST_REQUEUES, OutageError, in_words};

/// Nodes that are kept for maintenance: no job gets one whose time limit reaches into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// Which.
    pub nodes: Vec<NodeId>,
    /// First second.
    pub start: Seconds,
    /// The second after the last.
    pub end: Seconds,
}

/// When maintenance ends, ms, soonest first.
pub(super) fn ends_of(maintenance: &[Maintenance]) -> Vec<i64> {
    let ends = maintenance.iter().map(|one| one.end.0.saturating_mul(1000));
    let mut ends: Vec<i64> = ends.collect();
    ends.sort_unstable();
    ends
}

/// Which nodes are down, and when that changes.
pub(super) struct NodesOut {
    calendar: Calendar,
    down: NodeSet,
    for_ever: BTreeSet<NodeId>,
    /// CPUs of nodes that are down, from when on.
    steps: Vec<(Seconds, u32)>,
    cpus: u32,
    /// Changes since a job ran or came.
    idle_changes: u32,
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
            down: NodeSet::none(nodes.len()),
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

impl Simulation<'_> {
    /// Takes in what has failed and is up again up to `now`; `false` if that is nothing.
    pub(super) fn take_outages(&mut self, now: i64) -> bool {
        let Some(mut out) = self.nodes_out.take() else {
            return false;
        };
        if out.next().is_none_or(|at| at > now) {
            self.nodes_out = Some(out);
            return false;
        }
        let changes = out.calendar.take(now);
        let is_idle = self.running.is_empty() && !self.has_arrivals();
        out.idle_changes = if is_idle { out.idle_changes + 1 } else { 0 };
        out.for_ever.extend(changes.for_ever);
        let all = self.cluster.nodes.len();
        let set = |nodes: &[NodeId]| NodeSet::of(all, nodes.iter().map(|node| node.index()));
        let cpus = |nodes: &[NodeId]| -> u32 {
            let of = |node: &NodeId| self.cluster.nodes[node.index()].cpus;
            nodes.iter().map(of).sum()
        };
        out.cpus = out.cpus + cpus(&changes.out) - cpus(&changes.back);
        out.steps.push((Seconds(now.div_euclid(1000)), out.cpus));
        let failed = set(&changes.out);
        out.down.add(&failed);
        out.down.drop_all(&set(&changes.back));
        for (part, nodes) in self.cluster.partitions.iter().zip(&mut self.part_nodes) {
            for node in &changes.back {
                if part.nodes.contains(&node.0) && !self.never.contains(node.index()) {
                    nodes.insert(node.index());
                }
            }
            nodes.drop_all(&failed);
        }
        self.nodes_out = Some(out);
        let on = |running: &super::simulate::Running| {
            let mut parts = running.held.parts.iter();
            parts
                .find(|part| failed.contains(part.node as usize))
                .map(|part| part.node)
        };
        let lost = self.running.iter();
        let lost: Vec<(u32, u32)> = lost
            .filter_map(|(&task, running)| Some((task, on(running)?)))
            .collect();
        for (task, node) in lost {
            self.lose(task, node, now);
        }
        self.changes += 1;
        true
    }

    /// A node of a running job fails: Slurm ends the job as `NODE_FAIL`, and requeues it with a new
    /// time of submission, from which its age counts, unless `JobRequeue` is 0; it is eligible again
    /// after `cred_expire` (slurm.conf(5), `AuthInfo`).
    fn lose(&mut self, task: u32, node: u32, now: i64) {
        if let Some(running) = self.running.get(&task) {
            self.ends.remove(&running.ends);
        }
        self.end(task, now);
        let row = &mut self.rows[task as usize];
        row.lose(Seconds(now.div_euclid(1000)));
        let name = &self.cluster.nodes[node as usize].name;
        if !self.cluster.outages.requeue {
            row.give_up(format!("node {name} failed, and jobs are not requeued"));
        } else if row.lost.len() >= MOST_REQUEUES {
            row.give_up(format!(
                "a node of it failed in each of {MOST_REQUEUES} runs"
            ));
        } else {
            if let Some(begun) = self.begun.get_mut(task as usize) {
                *begun = None;
            }
            let again = now + self.parameters.requeue_delay;
            self.tasks[task as usize].arrival = again;
            self.comes_again(task, again);
        }
    }

    /// Takes in what maintenance has ended up to `now`; `false` if none has.
    pub(super) fn end_maintenance(&mut self, now: i64) -> bool {
        let over = self
            .maintenance_ends
            .iter()
            .take_while(|&&end| end <= now)
            .count();
        self.maintenance_ends.drain(..over);
        self.changes += u64::from(over > 0);
        over > 0
    }

    /// The nodes that maintenance keeps from a job that would run from one time to another, ms.
    pub(super) fn kept_out(&self, from: i64, to: i64) -> Option<NodeSet> {
        let mut kept: Option<NodeSet> = None;
        let all = self.cluster.nodes.len();
        for one in &self.cluster.maintenance {
            if one.start.0.saturating_mul(1000) < to && from < one.end.0.saturating_mul(1000) {
                let nodes = NodeSet::of(all, one.nodes.iter().map(|node| node.index()));
                kept.get_or_insert_with(|| NodeSet::none(all)).add(&nodes);
            }
        }
        kept
    }
}
