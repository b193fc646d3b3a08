//! Nodes that fail while jobs run on them, and what becomes of these jobs.

use std::collections::BTreeSet;

use odonata_units::NodeId;

use super::machine::Machine;
use super::nodes_out::{NOBODY, OUT};
use super::simulate::Simulation;
use crate::Seconds;
use crate::outages::{MOST_IDLE_CHANGES, MOST_REQUEUES, in_words};

impl<M: Machine> Simulation<'_, M> {
    /// When something fails or works again next that anybody can notice: who runs, waits or comes.
    pub(super) fn next_outage(&self) -> Option<Seconds> {
        self.nodes_out.as_ref()?.next()
    }

    /// Takes in what has failed and works again up to `now`; `false` if that is nothing.
    pub(super) fn take_outages(&mut self, now: Seconds) -> bool {
        let Some(mut out) = self.nodes_out.take() else {
            return false;
        };
        if out.next().is_none_or(|at| at > now) {
            self.nodes_out = Some(out);
            return false;
        }
        let changes = out.calendar.take(now.0);
        let is_idle = self.ends.is_empty() && self.arrived == self.arrivals.len();
        out.idle_changes = if is_idle { out.idle_changes + 1 } else { 0 };
        for &node in &changes.back {
            out.of_node[node.index()] = NOBODY;
            self.state.give_back(&self.state.out_of_service(node));
        }
        if !changes.back.is_empty() {
            self.network.back(&changes.back);
        }
        let on = changes
            .out
            .iter()
            .map(|node| (out.of_node[node.index()], *node));
        let on: Vec<(u32, NodeId)> = on.filter(|&(task, _)| task < OUT).collect();
        for &node in &changes.for_ever {
            out.lost.insert(node);
            out.at_most.take(&out.at_most.out_of_service(node));
        }
        let failed = out.out + changes.out.len() as u32 - changes.back.len() as u32;
        out.step(now, failed);
        self.nodes_out = Some(out);
        let mut lost = BTreeSet::new();
        for (task, node) in on {
            if lost.insert(task) {
                self.lose(task, node, now);
            }
        }
        if let Some(out) = &mut self.nodes_out {
            for &node in &changes.out {
                out.of_node[node.index()] = OUT;
                self.state.take(&self.state.out_of_service(node));
            }
        }
        if !changes.out.is_empty() {
            self.network.out(&changes.out);
        }
        if !changes.for_ever.is_empty() {
            let waiting: Vec<u32> = self.queue.iter().collect();
            for task in waiting {
                self.refuse_if_never(task);
            }
        }
        self.unexpected_end = true;
        true
    }

    /// A node of a running job fails.
    fn lose(&mut self, task: u32, node: NodeId, now: Seconds) {
        if let Some(job) = self.running.get(self.places[task as usize] as usize) {
            self.ends.remove(&job.ends);
        }
        self.end(task, now);
        let row = &mut self.rows[task as usize];
        row.lose(now);
        let reason = if !self.options.outages.requeue {
            format!("node {node} failed at {now}, and jobs are not put back into the queue")
        } else if row.lost.len() >= MOST_REQUEUES {
            format!(
                "a node of it failed in each of {MOST_REQUEUES} runs: on {} nodes it hardly ever gets \
                 through",
                row.nodes
            )
        } else {
            // What counts its wait begins anew, as with Slurm, which gives it a new time of
            // submission; its place in a queue in order of arrival it keeps.
            self.tasks[task as usize].arrival = now;
            self.queue.insert_again(task);
            self.refuse_if_never(task);
            return;
        };
        row.give_up(reason);
    }

    /// Takes a job out of the queue that not even all nodes will hold that ever work.
    pub(super) fn refuse_if_never(&mut self, task: u32) {
        let Some(out) = &self.nodes_out else {
            return;
        };
        if out.lost.is_empty() {
            return;
        }
        if let Err(refusal) = out.at_most.place(&self.ask(task)) {
            let lost: Vec<NodeId> = out.lost.iter().copied().collect();
            let reason = format!("{refusal}; nodes {} never work again", in_words(&lost));
            self.rows[task as usize].give_up(reason);
            self.queue.remove(task);
            self.promises.remove(&task);
        }
    }

    /// Whether it is no use to wait for nodes to work at the same time.
    pub(super) fn waits_in_vain(&self) -> bool {
        let out = self.nodes_out.as_ref();
        out.is_some_and(|out| out.idle_changes > MOST_IDLE_CHANGES)
    }
}
