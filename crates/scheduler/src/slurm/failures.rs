//! Nodes that go down while jobs run on them, and what maintenance keeps from jobs.

use odonata_units::NodeId;

use super::nodes::NodeSet;
use super::simulate::{Running, Simulation};
use crate::Seconds;
use crate::outages::MOST_REQUEUES;

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
        for (part, nodes) in self.cluster.partitions.iter().zip(&mut self.part_nodes) {
            for node in &changes.back {
                if part.nodes.contains(&node.0) && !self.never.contains(node.index()) {
                    nodes.insert(node.index());
                }
            }
            nodes.drop_all(&failed);
        }
        self.nodes_out = Some(out);
        let on = |running: &Running| {
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
