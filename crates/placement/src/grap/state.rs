//! A machine under GRAP: which nodes are idle, which large job owns which group.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_units::{GroupId, JobId, NodeId};
use thiserror::Error;

use super::{GrapRefusal, GrapRequest, GroupState, choose_groups, nodes_of_choice};
use crate::machine::Machine;
use crate::state::{ClaimError, MachineState, ReleaseError};

/// What a job gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its nodes, group by group.
    pub nodes: Vec<NodeId>,
    /// The groups whose reconfigurable links it owns: all that its nodes are in if it
    /// is large, none if it is small.
    pub links_of: Vec<GroupId>,
}

/// An allocation that would break a rule of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GrapClaimError {
    /// A node cannot be had.
    #[error(transparent)]
    Node(#[from] ClaimError),
    /// A group's links belong to another large job.
    #[error("the reconfigurable links of group {group} belong to job {owner}")]
    Owned {
        /// The group.
        group: GroupId,
        /// Who has them.
        owner: JobId,
    },
    /// A job without links has nodes in several groups, or one with links has them of
    /// groups that its nodes are not in.
    #[error("the job owns the links of {owned} groups and has nodes in {used}")]
    Links {
        /// Groups whose links it would own.
        owned: usize,
        /// Groups that its nodes are in.
        used: usize,
    },
    /// The job holds something already.
    #[error("job {job} holds nodes already")]
    Running {
        /// The job.
        job: JobId,
    },
}

/// A machine's nodes and groups with the jobs on them. Whatever is claimed keeps the
/// rules: a node has one job; a group has at most one large job; that job owns all of
/// the group's reconfigurable links; a small job sits in one group and owns none.
#[derive(Clone, Debug)]
pub struct GrapState {
    state: MachineState,
    /// Groups with nodes, ascending.
    groups: Vec<GroupId>,
    views: Vec<GroupState>,
    owners: BTreeMap<GroupId, JobId>,
    jobs: BTreeMap<JobId, Allocation>,
}

impl GrapState {
    /// An idle machine.
    pub fn new(machine: Arc<Machine>) -> Self {
        let groups: Vec<GroupId> = machine.groups().map(|(group, _)| group).collect();
        let size = |routers: &[odonata_units::RouterId]| {
            let nodes = routers
                .iter()
                .map(|&router| machine.nodes_of(router).len() as u32);
            nodes.sum::<u32>()
        };
        let view = |(_, routers): (GroupId, &[odonata_units::RouterId])| GroupState {
            nodes: size(routers),
            idle: size(routers),
            large: false,
        };
        let views = machine.groups().map(view).collect();
        Self {
            state: MachineState::new(machine),
            groups,
            views,
            owners: BTreeMap::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// The state of the groups with nodes, in order of their ids.
    pub fn groups(&self) -> &[GroupState] {
        &self.views
    }

    /// The large job that owns a group's reconfigurable links.
    pub fn owner(&self, group: GroupId) -> Option<JobId> {
        self.owners.get(&group).copied()
    }

    /// What a job holds.
    pub fn allocation(&self, job: JobId) -> Option<&Allocation> {
        self.jobs.get(&job)
    }

    /// Finds nodes for a job; within a group those with the lowest routers and
    /// numbers. The state does not change.
    ///
    /// # Errors
    /// Why the job has to wait, or can never be placed.
    pub fn place(&self, request: &GrapRequest) -> Result<Allocation, GrapRefusal> {
        let choice = choose_groups(request, &self.views)?;
        let machine = self.state.machine();
        let nodes = nodes_of_choice(&choice, machine, |node| self.state.is_free(node));
        let mut links_of: Vec<GroupId> = Vec::new();
        if choice.large {
            links_of.extend(
                choice
                    .groups
                    .iter()
                    .map(|&(index, _)| self.groups[index as usize]),
            );
            links_of.sort_unstable();
        }
        Ok(Allocation { nodes, links_of })
    }

    /// Gives an allocation to a job.
    ///
    /// # Errors
    /// If it breaks a rule; then nothing changes.
    pub fn claim(&mut self, job: JobId, allocation: &Allocation) -> Result<(), GrapClaimError> {
        if self.jobs.contains_key(&job) {
            return Err(GrapClaimError::Running { job });
        }
        self.state.check_claim(&allocation.nodes)?;
        let mut used: Vec<GroupId> = allocation
            .nodes
            .iter()
            .map(|&node| self.group_of(node))
            .collect();
        used.sort_unstable();
        used.dedup();
        let small = allocation.links_of.is_empty() && used.len() <= 1;
        if !small && allocation.links_of != used {
            return Err(GrapClaimError::Links {
                owned: allocation.links_of.len(),
                used: used.len(),
            });
        }
        for &group in &allocation.links_of {
            if let Some(owner) = self.owner(group) {
                return Err(GrapClaimError::Owned { group, owner });
            }
        }
        self.state.claim(&allocation.nodes)?;
        for &group in &allocation.links_of {
            self.owners.insert(group, job);
            let view = self.view(group);
            self.views[view].large = true;
        }
        for &node in &allocation.nodes {
            let view = self.view(self.group_of(node));
            self.views[view].idle -= 1;
        }
        self.jobs.insert(job, allocation.clone());
        Ok(())
    }

    /// Takes everything back from a job; `None` if it holds nothing.
    ///
    /// # Errors
    /// Never for what was claimed here.
    pub fn release(&mut self, job: JobId) -> Result<Option<Allocation>, ReleaseError> {
        let Some(allocation) = self.jobs.remove(&job) else {
            return Ok(None);
        };
        self.state.release(&allocation.nodes)?;
        for &group in &allocation.links_of {
            self.owners.remove(&group);
            let view = self.view(group);
            self.views[view].large = false;
        }
        for &node in &allocation.nodes {
            let view = self.view(self.group_of(node));
            self.views[view].idle += 1;
        }
        Ok(Some(allocation))
    }

    fn group_of(&self, node: NodeId) -> GroupId {
        let machine = self.state.machine();
        machine.group_of(machine.router_of(node))
    }

    /// Index of a group with nodes.
    fn view(&self, group: GroupId) -> usize {
        self.groups.partition_point(|&known| known < group)
    }
}
