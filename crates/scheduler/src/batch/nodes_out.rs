//! Who is on which node of a machine that counts, and which nodes are out of service.

use std::collections::BTreeSet;

use odonata_units::NodeId;

use super::machine::Machine;
use super::network::Network;
use crate::Seconds;
use crate::outages::{Calendar, OutageError, Outages};

/// Nobody has a node.
pub(super) const NOBODY: u32 = u32::MAX;
/// It is out of service.
pub(super) const OUT: u32 = u32::MAX - 1;

/// Nodes by name, which a machine that counts does not know, and when they fail.
pub(super) struct NodesOut<M> {
    pub(super) calendar: Calendar,
    /// Nodes that jobs may have, ascending.
    nodes: Vec<NodeId>,
    /// By number: the task that has it, [`NOBODY`] or [`OUT`].
    pub(super) of_node: Vec<u32>,
    /// By number: which group it is in, where the machine knows groups.
    group: Vec<u32>,
    /// The idle machine without the nodes that will never work again, and these.
    pub(super) at_most: M,
    pub(super) lost: BTreeSet<NodeId>,
    /// How many nodes are out of service, from when on.
    steps: Vec<(Seconds, u32)>,
    pub(super) out: u32,
    /// Changes since a job ran or came.
    pub(super) idle_changes: u32,
}

impl<M: Machine> NodesOut<M> {
    /// `None` where nothing fails.
    ///
    /// # Errors
    /// If a node does not exist, or outages make no sense.
    pub(super) fn new(
        outages: &Outages,
        idle: &M,
        network: &dyn Network,
        from: Seconds,
    ) -> Result<Option<Self>, OutageError> {
        if outages.is_empty() {
            return Ok(None);
        }
        let nodes = network.nodes();
        let nodes = nodes.unwrap_or_else(|| (0..idle.size()).map(NodeId).collect());
        outages.check(&nodes)?;
        let sizes = idle.group_sizes().into_iter().enumerate();
        let group =
            sizes.flat_map(|(group, size)| std::iter::repeat_n(group as u32, size as usize));
        Ok(Some(Self {
            calendar: Calendar::new(outages, &nodes, from.0, 1),
            of_node: vec![NOBODY; nodes.last().map_or(0, |last| last.index() + 1)],
            nodes,
            group: group.collect(),
            at_most: idle.clone(),
            lost: BTreeSet::new(),
            steps: Vec::new(),
            out: 0,
            idle_changes: 0,
        }))
    }

    pub(super) fn next(&self) -> Option<Seconds> {
        self.calendar.next().map(Seconds)
    }

    pub(super) fn into_steps(self) -> Vec<(Seconds, u32)> {
        self.steps
    }

    /// The nodes of a job that starts: those that machine or network name, or else the first free
    /// ones, of its groups if it has any.
    pub(super) fn start(
        &mut self,
        task: u32,
        nodes: u32,
        named: &[NodeId],
        groups: Option<&[(u32, u32)]>,
    ) -> Vec<NodeId> {
        let free = |node: &NodeId| self.of_node[node.index()] == NOBODY;
        let placed: Vec<NodeId> = match groups {
            _ if !named.is_empty() => named.to_vec(),
            None => {
                let free = self.nodes.iter().copied().filter(free);
                free.take(nodes as usize).collect()
            }
            Some(groups) => {
                let in_group = |&(group, count): &(u32, u32)| {
                    let first = self.group.partition_point(|&of| of < group);
                    let last = self.group.partition_point(|&of| of <= group);
                    let of_group = (first as u32..last as u32).map(NodeId);
                    of_group.filter(free).take(count as usize)
                };
                groups.iter().flat_map(in_group).collect()
            }
        };
        debug_assert_eq!(placed.len(), nodes as usize, "job {task}");
        for node in &placed {
            let before = std::mem::replace(&mut self.of_node[node.index()], task);
            debug_assert_eq!(before, NOBODY, "node {node} of job {task}");
        }
        placed
    }

    /// A job leaves its nodes.
    pub(super) fn end(&mut self, placed: &[NodeId]) {
        for node in placed {
            self.of_node[node.index()] = NOBODY;
        }
    }

    /// How many nodes are out of service from now on.
    pub(super) fn step(&mut self, now: Seconds, out: u32) {
        self.out = out;
        match self.steps.last_mut() {
            Some(last) if last.0 == now => last.1 = out,
            _ => self.steps.push((now, out)),
        }
    }
}
