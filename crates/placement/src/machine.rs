//! The shape of a machine, as far as placement cares.

use odonata_units::{GroupId, NodeId, RouterId};
use thiserror::Error;

/// Which router each node is attached to and which group each router belongs to.
///
/// Groups need not be numbered without gaps, nor nodes in the order of their
/// routers; routers without nodes are fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    router_of_node: Vec<RouterId>,
    group_of_router: Vec<GroupId>,
    /// Nodes sorted by router, then number.
    nodes_by_router: Vec<NodeId>,
    /// Where each router's nodes start in `nodes_by_router`; one more at the end.
    starts: Vec<u32>,
    /// Routers that have nodes, per group that has such routers; groups and
    /// routers ascending.
    groups: Vec<(GroupId, Vec<RouterId>)>,
}

/// Why lists of nodes and routers are no machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MachineError {
    /// There is nothing to place on.
    #[error("the machine has no nodes")]
    NoNodes,
    /// A node is attached to a router that does not exist.
    #[error("node {node} is attached to router {router}, but the machine has {routers} routers")]
    UnknownRouter {
        /// Node.
        node: NodeId,
        /// Its router.
        router: RouterId,
        /// Number of routers.
        routers: usize,
    },
}

impl Machine {
    /// The machine whose node `n` is attached to router `router_of_node[n]` and whose
    /// router `r` belongs to group `group_of_router[r]`. A topology without
    /// groups gives every router group 0.
    ///
    /// # Errors
    /// If there are no nodes, or a node's router is missing.
    pub fn new(
        router_of_node: Vec<RouterId>,
        group_of_router: Vec<GroupId>,
    ) -> Result<Self, MachineError> {
        if router_of_node.is_empty() {
            return Err(MachineError::NoNodes);
        }
        let routers = group_of_router.len();
        let mut starts = vec![0u32; routers + 1];
        for (node, &router) in router_of_node.iter().enumerate() {
            let Some(count) = starts.get_mut(router.index() + 1) else {
                return Err(MachineError::UnknownRouter {
                    node: NodeId::from_index(node),
                    router,
                    routers,
                });
            };
            *count += 1;
        }
        for router in 0..routers {
            starts[router + 1] += starts[router];
        }
        let mut nodes_by_router: Vec<NodeId> =
            (0..router_of_node.len()).map(NodeId::from_index).collect();
        nodes_by_router.sort_by_key(|node| router_of_node[node.index()]);
        let mut by_group: Vec<RouterId> = (0..routers)
            .filter(|&router| starts[router] < starts[router + 1])
            .map(RouterId::from_index)
            .collect();
        by_group.sort_by_key(|router| group_of_router[router.index()]);
        let groups = by_group
            .chunk_by(|a, b| group_of_router[a.index()] == group_of_router[b.index()])
            .map(|routers| (group_of_router[routers[0].index()], routers.to_vec()))
            .collect();
        Ok(Self {
            router_of_node,
            group_of_router,
            nodes_by_router,
            starts,
            groups,
        })
    }

    /// `groups` groups of `routers` routers with `nodes` nodes each, numbered in
    /// order: a dragonfly's g, a and p.
    ///
    /// # Errors
    /// If any of them is zero.
    pub fn uniform(groups: u32, routers: u32, nodes: u32) -> Result<Self, MachineError> {
        let all_routers = groups * routers;
        Self::new(
            (0..all_routers * nodes)
                .map(|n| RouterId(n / nodes))
                .collect(),
            (0..all_routers).map(|r| GroupId(r / routers)).collect(),
        )
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.router_of_node.len() as u32
    }

    /// Router of `node`.
    pub fn router_of(&self, node: NodeId) -> RouterId {
        self.router_of_node[node.index()]
    }

    /// Group of `router`.
    pub fn group_of(&self, router: RouterId) -> GroupId {
        self.group_of_router[router.index()]
    }

    /// Nodes of `router`, ascending.
    pub fn nodes_of(&self, router: RouterId) -> &[NodeId] {
        let (start, end) = (self.starts[router.index()], self.starts[router.index() + 1]);
        &self.nodes_by_router[start as usize..end as usize]
    }

    /// Groups that have nodes, ascending, each with those of its routers that
    /// have nodes, ascending.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = (GroupId, &[RouterId])> {
        self.groups
            .iter()
            .map(|(group, routers)| (*group, routers.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_groups_may_come_in_any_order() {
        let router_of_node = [2, 0, 2, 3].map(RouterId).to_vec();
        let group_of_router = [7, 7, 1, 7].map(GroupId).to_vec();
        let machine = Machine::new(router_of_node, group_of_router).unwrap();
        assert_eq!(machine.nodes_of(RouterId(2)), [NodeId(0), NodeId(2)]);
        assert_eq!(machine.nodes_of(RouterId(1)), []);
        let groups: Vec<_> = machine.groups().collect();
        // Router 1 has no nodes and therefore does not appear.
        assert_eq!(groups[0], (GroupId(1), &[RouterId(2)][..]));
        assert_eq!(groups[1], (GroupId(7), &[RouterId(0), RouterId(3)][..]));
    }

    #[test]
    fn machines_that_cannot_be_are_refused() {
        assert_eq!(Machine::new(vec![], vec![]), Err(MachineError::NoNodes));
        let error = Machine::new(vec![RouterId(0), RouterId(4)], vec![GroupId(0)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "node 1 is attached to router 4, but the machine has 1 routers"
        );
    }
}
