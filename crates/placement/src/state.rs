//! Which nodes are free.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_units::{GroupId, NodeId};
use thiserror::Error;

use crate::machine::Machine;

/// A machine and which of its nodes are free. Claims and releases are all or
/// nothing, and a node is never given twice.
#[derive(Clone, Debug)]
pub struct MachineState {
    machine: Arc<Machine>,
    busy: Vec<bool>,
    free: u32,
    /// Groups that a job has for itself, with the number of its nodes there.
    kept: BTreeMap<GroupId, u32>,
    /// Nodes that are out of service, ascending; busy for ever.
    lost: Vec<NodeId>,
}

/// Why nodes cannot be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// A node does not exist.
    #[error("there is no node {node}; the machine's nodes are 0 to {last}")]
    UnknownNode {
        /// Node asked for.
        node: NodeId,
        /// Highest node.
        last: u32,
    },
    /// A node is in use.
    #[error("node {node} is not free")]
    Busy {
        /// Node asked for.
        node: NodeId,
    },
    /// A node does not work.
    #[error("node {node} is out of service")]
    OutOfService {
        /// Node asked for.
        node: NodeId,
    },
    /// A node lies in a group that a job has for itself.
    #[error("node {node} lies in group {group}, which another job has for itself")]
    Kept {
        /// Node asked for.
        node: NodeId,
        /// Its group.
        group: GroupId,
    },
    /// A node is listed twice.
    #[error("node {node} is listed twice")]
    Repeated {
        /// Node asked for.
        node: NodeId,
    },
}

/// Why nodes cannot be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// A node is not in use, or listed twice, or does not exist.
    #[error("node {node} cannot be released: it is not in use")]
    NotInUse {
        /// Node.
        node: NodeId,
    },
}

impl MachineState {
    /// `machine` with all nodes free.
    pub fn new(machine: Arc<Machine>) -> Self {
        let free = machine.nodes();
        Self {
            busy: vec![false; free as usize],
            machine,
            free,
            kept: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    /// `machine` with all nodes free but some that are out of service.
    pub fn without(machine: Arc<Machine>, mut lost: Vec<NodeId>) -> Self {
        let mut state = Self::new(machine);
        lost.sort_unstable();
        lost.dedup();
        for node in &lost {
            state.busy[node.index()] = true;
        }
        state.free -= lost.len() as u32;
        state.lost = lost;
        state
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Whether `node` is free. A node that does not exist is not, nor is one in a group
    /// that a job has for itself.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.busy.get(node.index()).is_some_and(|busy| !busy)
            && (self.kept.is_empty() || !self.kept.contains_key(&self.group_of(node)))
    }

    fn group_of(&self, node: NodeId) -> GroupId {
        self.machine.group_of(self.machine.router_of(node))
    }

    /// Nodes of `group` that no job is on.
    fn unused(&self, group: GroupId) -> u32 {
        let routers = self.machine.groups().find(|(of, _)| *of == group);
        let routers = routers.map_or(&[][..], |(_, routers)| routers);
        let nodes = routers
            .iter()
            .flat_map(|&router| self.machine.nodes_of(router));
        nodes.filter(|node| !self.busy[node.index()]).count() as u32
    }

    /// Number of nodes that are not out of service.
    pub fn in_service(&self) -> u32 {
        self.machine.nodes() - self.lost.len() as u32
    }

    /// Number of free nodes.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether `nodes` exist, are free and all different.
    ///
    /// # Errors
    /// If not; the first offending node is named.
    pub fn check_claim(&self, nodes: &[NodeId]) -> Result<(), ClaimError> {
        let mut listed = std::collections::HashSet::with_capacity(nodes.len());
        for &node in nodes {
            if node.0 >= self.machine.nodes() {
                return Err(ClaimError::UnknownNode {
                    node,
                    last: self.machine.nodes() - 1,
                });
            }
            if !listed.insert(node) {
                return Err(ClaimError::Repeated { node });
            }
            if self.lost.binary_search(&node).is_ok() {
                return Err(ClaimError::OutOfService { node });
            }
            if self.busy[node.index()] {
                return Err(ClaimError::Busy { node });
            }
            if !self.is_free(node) {
                let group = self.group_of(node);
                return Err(ClaimError::Kept { node, group });
            }
        }
        Ok(())
    }

    /// Takes `nodes`, all of them or none.
    ///
    /// # Errors
    /// If one of them does not exist, is in use, or is listed twice.
    pub fn claim(&mut self, nodes: &[NodeId]) -> Result<(), ClaimError> {
        // Marks as it goes and undoes that on failure, rather than collect a set.
        for (claimed, &node) in nodes.iter().enumerate() {
            if !self.is_free(node) {
                for earlier in &nodes[..claimed] {
                    self.busy[earlier.index()] = false;
                }
                // Says which of the three reasons it was.
                return self.check_claim(&nodes[..=claimed]);
            }
            self.busy[node.index()] = true;
        }
        self.free -= nodes.len() as u32;
        Ok(())
    }

    /// Takes `nodes`, and with them the groups that they lie in: no other node there is
    /// free until all of these are given back.
    ///
    /// # Errors
    /// As [`MachineState::claim`], and if another job is in one of the groups.
    pub fn claim_groups(&mut self, nodes: &[NodeId]) -> Result<(), ClaimError> {
        self.check_claim(nodes)?;
        let mut of_group: BTreeMap<GroupId, u32> = BTreeMap::new();
        for &node in nodes {
            *of_group.entry(self.group_of(node)).or_default() += 1;
        }
        for &group in of_group.keys() {
            let routers = self.machine.groups().find(|(of, _)| *of == group);
            let routers = routers.map_or(&[][..], |(_, routers)| routers);
            let mut all = routers
                .iter()
                .flat_map(|&router| self.machine.nodes_of(router));
            if let Some(&node) = all.find(|node| self.busy[node.index()]) {
                return Err(ClaimError::Busy { node });
            }
        }
        self.claim(nodes)?;
        for (group, nodes) in of_group {
            self.free -= self.unused(group);
            self.kept.insert(group, nodes);
        }
        Ok(())
    }

    /// Gives `nodes` back, all of them or none.
    ///
    /// # Errors
    /// If one of them is not in use or is listed twice.
    pub fn release(&mut self, nodes: &[NodeId]) -> Result<(), ReleaseError> {
        let in_use = |state: &Self, node: NodeId| state.busy.get(node.index()) == Some(&true);
        for (released, &node) in nodes.iter().enumerate() {
            if !in_use(self, node) {
                for earlier in &nodes[..released] {
                    self.busy[earlier.index()] = true;
                }
                return Err(ReleaseError::NotInUse { node });
            }
            self.busy[node.index()] = false;
        }
        self.free += nodes.len() as u32;
        for &node in nodes {
            let group = self.group_of(node);
            let Some(left) = self.kept.get_mut(&group) else {
                continue;
            };
            // Of a group that is still kept nothing becomes free.
            *left -= 1;
            self.free -= 1;
            if *left == 0 {
                self.kept.remove(&group);
                self.free += self.unused(group);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_releases_are_all_or_nothing() {
        let mut state = MachineState::new(Arc::new(Machine::uniform(2, 2, 1).unwrap()));
        let [a, b, c] = [0, 1, 2].map(NodeId);
        state.claim(&[a, b]).unwrap();
        assert_eq!(state.claim(&[c, b]), Err(ClaimError::Busy { node: b }));
        assert!(state.is_free(c));
        assert_eq!(state.claim(&[c, c]), Err(ClaimError::Repeated { node: c }));
        let node = NodeId(4);
        assert_eq!(
            state.claim(&[node]),
            Err(ClaimError::UnknownNode { node, last: 3 })
        );
        assert!(!state.is_free(node));
        assert_eq!(
            state.release(&[a, c]),
            Err(ReleaseError::NotInUse { node: c })
        );
        assert_eq!(
            state.release(&[a, a]),
            Err(ReleaseError::NotInUse { node: a })
        );
        assert!(!state.is_free(a));
        assert_eq!(state.free(), 2);
        state.release(&[b, a]).unwrap();
        assert_eq!(state.free(), 4);
    }

    #[test]
    fn kept_groups_are_free_again_with_the_last_of_their_nodes() {
        // Groups of 3 nodes: 0 to 2, 3 to 5, 6 to 8.
        let mut state = MachineState::new(Arc::new(Machine::uniform(3, 1, 3).unwrap()));
        let [a, b, c, d, e] = [0, 3, 4, 5, 6].map(NodeId);
        state.claim(&[a]).unwrap();
        let shared = state.claim_groups(&[b, NodeId(1)]);
        assert_eq!(shared, Err(ClaimError::Busy { node: a }));
        assert_eq!(state.free(), 8);
        state.claim_groups(&[b, c, e]).unwrap();
        // Nodes 1 and 2 are left.
        assert_eq!(state.free(), 2);
        assert!(!state.is_free(d));
        let group = GroupId(1);
        assert_eq!(state.claim(&[d]), Err(ClaimError::Kept { node: d, group }));
        state.release(&[b, e]).unwrap();
        assert_eq!(state.free(), 5);
        assert!(!state.is_free(b) && state.is_free(e));
        state.release(&[c]).unwrap();
        assert_eq!(state.free(), 8);
        state.claim(&[d, b, c]).unwrap();
    }
}
