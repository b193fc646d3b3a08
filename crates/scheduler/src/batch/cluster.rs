//! A cluster in use, as a pass of the scheduler sees it: which of its nodes work, what the jobs
//! on it hold, and which nodes each waiting job may have.

use std::sync::Arc;

use odonata_placement::grap::{
    GrapMode, GrapRefusal, GrapRequest, GroupState, choose_groups, nodes_of_choice,
};
use odonata_placement::{Machine as Wiring, MachineState, Policy, Refusal, Request, place};
use odonata_units::NodeId;
use odonata_units::random::{Purpose, StreamKey};
use thiserror::Error;

use super::machine::{Ask, Machine, Withheld};

/// How nodes are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By GRAP (Feng et al. 2023).
    Grap,
    /// By a policy of the placement room.
    Policy(Policy),
}

/// What a waiting job may have, beside its number of nodes.
#[derive(Clone, Debug, Default)]
pub struct JobConstraints {
    /// How its nodes are spread over groups, by GRAP and if it is large.
    pub mode: GrapMode,
    /// By node: whether it may have it; `None`: any that works.
    pub allowed: Option<Arc<[bool]>>,
    /// Which stream a policy that draws draws from.
    pub stream: u64,
}

/// What a job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAllocation {
    /// Its nodes.
    pub nodes: Arc<[NodeId]>,
    /// Groups, by their index, that it has for itself: by GRAP from other large jobs, as an
    /// isolated job from all others.
    pub owned: Arc<[u32]>,
}

/// Why a job gets no nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterRefusal {
    /// By GRAP.
    #[error(transparent)]
    Grap(#[from] GrapRefusal),
    /// By another policy.
    #[error(transparent)]
    Policy(#[from] Refusal),
}

/// A cluster. Unlike in a simulation, others place jobs there, too: a node may be held by
/// several jobs, and a group be owned by several.
#[derive(Clone, Debug)]
pub struct ClusterMachine {
    wiring: Arc<Wiring>,
    rule: Rule,
    key: StreamKey,
    works: Arc<[bool]>,
    size: u32,
    wants: Arc<[JobConstraints]>,
    /// By node and by group: by how many jobs they are held, and owned.
    held: Vec<u32>,
    owners: Vec<u32>,
    /// Nodes that work and nobody holds.
    free: u32,
    /// By node: the index of its group.
    group: Arc<[u32]>,
}

impl ClusterMachine {
    /// An idle cluster. `works` tells of each node whether it can be given away at all,
    /// `wants` of each job that is asked for; jobs beyond its end want nothing. `seed` decides
    /// what a policy draws.
    ///
    /// # Panics
    /// If `works`, or what a job is allowed, is not as long as there are nodes.
    pub fn new(
        wiring: Arc<Wiring>,
        rule: Rule,
        seed: u64,
        works: Arc<[bool]>,
        wants: Vec<JobConstraints>,
    ) -> Self {
        let nodes = wiring.nodes() as usize;
        assert_eq!(works.len(), nodes);
        let short =
            |wants: &JobConstraints| (wants.allowed.as_ref()).is_some_and(|of| of.len() != nodes);
        assert!(!wants.iter().any(short));
        let mut group = vec![0; nodes];
        for (index, (_, routers)) in (0u32..).zip(wiring.groups()) {
            for node in routers.iter().flat_map(|&router| wiring.nodes_of(router)) {
                group[node.index()] = index;
            }
        }
        let size = works.iter().filter(|&&works| works).count() as u32;
        let owners = vec![0; wiring.groups().len()];
        Self {
            wiring,
            rule,
            key: StreamKey::new(seed, Purpose::Placement),
            works,
            size,
            wants: wants.into(),
            held: vec![0; nodes],
            owners,
            free: size,
            group: group.into(),
        }
    }

    /// What a running job holds: by GRAP its groups, too, if they are several, for then it is
    /// large, by any policy.
    pub fn allocation_of(&self, nodes: &[NodeId]) -> ClusterAllocation {
        let mut groups: Vec<u32> = nodes.iter().map(|node| self.group[node.index()]).collect();
        groups.sort_unstable();
        groups.dedup();
        let owns = match self.rule {
            Rule::Grap => groups.len() > 1,
            Rule::Policy(Policy::Isolated) => true,
            Rule::Policy(_) => false,
        };
        ClusterAllocation {
            nodes: nodes.into(),
            owned: if owns { groups.into() } else { [].into() },
        }
    }

    /// Whether a job may have a node at all, once nobody holds it.
    pub fn may_have(&self, job: u32, node: NodeId) -> bool {
        let wants = self.wants.get(job as usize);
        let allowed = wants.and_then(|wants| wants.allowed.as_ref());
        self.works[node.index()] && allowed.is_none_or(|allowed| allowed[node.index()])
    }

    /// The mode of a job, should it be large.
    pub fn mode(&self, job: u32) -> GrapMode {
        let wants = self.wants.get(job as usize);
        wants.map_or_else(GrapMode::default, |wants| wants.mode.clone())
    }

    /// Whether a node works and nobody holds it.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.works[node.index()] && self.held[node.index()] == 0
    }

    fn hold(&mut self, node: NodeId) {
        self.free -= u32::from(self.is_free(node));
        self.held[node.index()] += 1;
    }

    /// Takes the nodes that are free and `wanted`.
    fn take_free(&mut self, wanted: impl Fn(NodeId) -> bool) {
        for node in (0..self.wiring.nodes()).map(NodeId) {
            if self.is_free(node) && wanted(node) {
                self.hold(node);
            }
        }
    }

    fn by_grap(&self, ask: &Ask) -> Result<Vec<NodeId>, GrapRefusal> {
        let may = |node: NodeId| self.may_have(ask.job, node);
        let group = |owners: &u32| GroupState {
            nodes: 0,
            idle: 0,
            large: *owners > 0,
        };
        let mut groups: Vec<GroupState> = self.owners.iter().map(group).collect();
        for node in (0..self.wiring.nodes()).map(NodeId) {
            if may(node) {
                let group = &mut groups[self.group[node.index()] as usize];
                group.nodes += 1;
                group.idle += u32::from(self.held[node.index()] == 0);
            }
        }
        let request = GrapRequest {
            nodes: ask.nodes,
            mode: self.mode(ask.job),
        };
        let choice = choose_groups(&request, &groups)?;
        let idle = |node| may(node) && self.is_free(node);
        Ok(nodes_of_choice(&choice, &self.wiring, idle))
    }

    fn by_policy(&self, policy: &Policy, ask: &Ask) -> Result<Vec<NodeId>, Refusal> {
        let mut state = MachineState::new(Arc::clone(&self.wiring));
        let may = |node: NodeId| {
            let owned = self.owners[self.group[node.index()] as usize] > 0;
            self.may_have(ask.job, node) && !owned && self.is_free(node)
        };
        let nodes = (0..self.wiring.nodes()).map(NodeId);
        let others: Vec<NodeId> = nodes.filter(|&node| !may(node)).collect();
        let claimed = state.claim(&others);
        debug_assert!(claimed.is_ok(), "all nodes of a new state are free");
        let request = Request {
            nodes: ask.nodes,
            policy: policy.clone(),
            groups: None,
        };
        let stream = (self.wants.get(ask.job as usize)).map_or(0, |wants| wants.stream);
        place(&request, &state, &mut self.key.stream(stream))
    }
}

impl Machine for ClusterMachine {
    type Held = ClusterAllocation;
    type Refusal = ClusterRefusal;

    fn size(&self) -> u32 {
        self.size
    }

    fn free(&self) -> u32 {
        self.free
    }

    fn place(&self, ask: &Ask) -> Result<ClusterAllocation, ClusterRefusal> {
        let nodes = match &self.rule {
            Rule::Grap => self.by_grap(ask)?,
            Rule::Policy(policy) => self.by_policy(policy, ask)?,
        };
        Ok(self.allocation_of(&nodes))
    }

    fn take(&mut self, held: &ClusterAllocation) {
        for &node in &*held.nodes {
            self.hold(node);
        }
        for &group in &*held.owned {
            self.owners[group as usize] += 1;
        }
    }

    fn give_back(&mut self, held: &ClusterAllocation) {
        for &node in &*held.nodes {
            debug_assert!(self.held[node.index()] > 0, "node {node} is held");
            self.held[node.index()] -= 1;
            self.free += u32::from(self.is_free(node));
        }
        for &group in &*held.owned {
            self.owners[group as usize] -= 1;
        }
    }

    fn overlay(&mut self, other: &Self) {
        for (own, other) in self.held.iter_mut().zip(&other.held) {
            *own = (*own).max(*other);
        }
        for (own, other) in self.owners.iter_mut().zip(&other.owners) {
            *own = (*own).max(*other);
        }
        let nodes = (0..self.wiring.nodes()).map(NodeId);
        self.free = nodes.filter(|&node| self.is_free(node)).count() as u32;
    }

    fn out_of_service(&self, node: NodeId) -> ClusterAllocation {
        ClusterAllocation {
            nodes: [node].into(),
            owned: [].into(),
        }
    }

    fn withhold(&mut self, nodes: &Withheld, _: u32) {
        match nodes {
            Withheld::All => self.take_free(|_| true),
            Withheld::Count(count) => {
                let first = self.wiring.nodes().saturating_sub(*count);
                self.take_free(|node| node.0 >= first);
            }
            Withheld::Nodes(nodes) => {
                for &node in nodes {
                    if self.is_free(node) {
                        self.hold(node);
                    }
                }
            }
        }
    }

    fn within(&self, nodes: &Withheld, _: u32) -> Self {
        let mut confined = self.clone();
        let last = self.wiring.nodes();
        confined.take_free(|node| match nodes {
            Withheld::All => false,
            Withheld::Count(count) => node.0 < last.saturating_sub(*count),
            Withheld::Nodes(nodes) => !nodes.contains(&node),
        });
        confined
    }

    fn idle(&self) -> Self {
        let mut idle = self.clone();
        idle.held.fill(0);
        idle.owners.fill(0);
        idle.free = self.size;
        idle
    }

    fn nodes(held: &ClusterAllocation) -> Option<&[NodeId]> {
        Some(&held.nodes)
    }
}
