//! What the scheduler knows of a machine: whether a job finds a place on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use odonata_placement::{Machine as Wiring, MachineState, Policy, Refusal, Request, place};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{NodeId, RouterId};

/// What a job asks a machine for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Number of the job in its log, which seeds random choices.
    pub job: u32,
    /// Nodes, or processors where the machine is shared by processors; at least 1.
    pub nodes: u32,
}

/// Nodes that a window withholds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The whole machine.
    All,
    /// This many; where nodes have names, those with the highest numbers.
    Count(u32),
    /// These.
    Nodes(Vec<NodeId>),
}

/// The state of a machine: what is free, and where a job finds a place.
///
/// [`Machine::place`] is a pure function of job and state, so that the simulator
/// asks it about states of the future, and a live cluster about the present one.
/// Placement policies plug in here: a state that counts nodes ([`Pool`]), one
/// that knows them ([`PlacedMachine`]), or one that keeps further rules.
pub trait Machine: Clone {
    /// What a job holds while it runs.
    type Held: Clone + std::fmt::Debug;
    /// Why a job finds no place.
    type Refusal: std::fmt::Display;

    /// Whether the number of free nodes is all that matters: a job finds a place exactly
    /// where it asks for no more than are free, and any such place is as good as another.
    /// Plans for such machines are much faster.
    const COUNTS: bool = false;

    /// Nodes of the machine.
    fn size(&self) -> u32;

    /// Nodes that nobody holds.
    fn free(&self) -> u32;

    /// Where the job would sit now.
    ///
    /// # Errors
    /// Why it has to wait.
    fn place(&self, ask: &Ask) -> Result<Self::Held, Self::Refusal>;

    /// Gives a place that [`Machine::place`] found in this state to the job.
    fn take(&mut self, held: &Self::Held);

    /// Takes a job's place back.
    fn give_back(&mut self, held: &Self::Held);

    /// Makes everything that is taken in `other` taken here too: a job that finds a
    /// place in the result finds it in both states.
    fn overlay(&mut self, other: &Self);

    /// What a node that is out of service holds in the place of a job.
    fn out_of_service(&self, node: NodeId) -> Self::Held;

    /// Takes those of the nodes that are free; of a number, `used` less.
    fn withhold(&mut self, nodes: &Withheld, used: u32);

    /// This state with nothing free but what is free among `nodes`; of a number,
    /// `used` less.
    fn within(&self, nodes: &Withheld, used: u32) -> Self;

    /// The machine without any job.
    fn idle(&self) -> Self;

    /// The nodes of a place, where the machine knows them.
    fn nodes(held: &Self::Held) -> Option<&[NodeId]> {
        let _ = held;
        None
    }

    /// Nodes of each of the machine's groups; none where it does not know them.
    fn group_sizes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Number of groups that a place lies in; 0 where the machine does not know them.
    fn groups_of(&self, held: &Self::Held) -> u32 {
        Self::groups(held).map_or(0, |groups| groups.len() as u32)
    }

    /// Groups of a place, where the machine knows them: index, and nodes in it.
    fn groups(held: &Self::Held) -> Option<&[(u32, u32)]> {
        let _ = held;
        None
    }
}

/// A machine whose nodes are all alike and need not be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    size: u32,
    free: u32,
}

impl Pool {
    /// An idle machine of `size` nodes.
    pub fn new(size: u32) -> Self {
        Self { size, free: size }
    }

    fn count(&self, nodes: &Withheld) -> u32 {
        match nodes {
            Withheld::All => self.size,
            Withheld::Count(count) => (*count).min(self.size),
            Withheld::Nodes(nodes) => (nodes.len() as u32).min(self.size),
        }
    }
}

impl Machine for Pool {
    type Held = u32;
    type Refusal = Refusal;

    const COUNTS: bool = true;

    fn size(&self) -> u32 {
        self.size
    }

    #[inline]
    fn free(&self) -> u32 {
        self.free
    }

    #[inline]
    fn place(&self, ask: &Ask) -> Result<u32, Refusal> {
        if ask.nodes > self.size {
            return Err(Refusal::LargerThanMachine {
                asked: ask.nodes,
                machine: self.size,
            });
        }
        if ask.nodes > self.free {
            return Err(Refusal::NotEnoughFree {
                asked: ask.nodes,
                machine: self.size,
                free: self.free,
            });
        }
        Ok(ask.nodes)
    }

    #[inline]
    fn take(&mut self, held: &u32) {
        debug_assert!(*held <= self.free, "{held} of {} free nodes", self.free);
        self.free -= held;
    }

    #[inline]
    fn give_back(&mut self, held: &u32) {
        self.free += held;
        debug_assert!(self.free <= self.size);
    }

    #[inline]
    fn overlay(&mut self, other: &Self) {
        self.free = self.free.min(other.free);
    }

    fn out_of_service(&self, _: NodeId) -> u32 {
        1
    }

    fn withhold(&mut self, nodes: &Withheld, used: u32) {
        self.free -= self.count(nodes).saturating_sub(used).min(self.free);
    }

    fn within(&self, nodes: &Withheld, used: u32) -> Self {
        Self {
            size: self.size,
            free: self.count(nodes).saturating_sub(used).min(self.free),
        }
    }

    fn idle(&self) -> Self {
        Self::new(self.size)
    }
}

/// A machine whose nodes are chosen by a policy of the placement room.
#[derive(Clone, Debug)]
pub struct PlacedMachine {
    state: MachineState,
    wiring: Arc<Wiring>,
    policy: Policy,
    key: StreamKey,
}

impl PlacedMachine {
    /// An idle machine; `seed` decides what the policy draws.
    pub fn new(wiring: Arc<Wiring>, policy: Policy, seed: u64) -> Self {
        Self {
            state: MachineState::new(Arc::clone(&wiring)),
            wiring,
            policy,
            key: StreamKey::new(seed, Purpose::Placement),
        }
    }

    /// Takes the nodes that are free and `wanted`.
    fn claim_free(&mut self, wanted: impl Fn(NodeId) -> bool) {
        let all = (0..self.wiring.nodes()).map(NodeId);
        let nodes: Vec<NodeId> = all
            .filter(|&node| self.state.is_free(node) && wanted(node))
            .collect();
        let claimed = self.state.claim(&nodes);
        debug_assert!(claimed.is_ok(), "free nodes can be claimed");
    }

    fn belongs(&self, nodes: &Withheld, node: NodeId) -> bool {
        match nodes {
            Withheld::All => true,
            Withheld::Count(count) => node.0 >= self.wiring.nodes().saturating_sub(*count),
            Withheld::Nodes(nodes) => nodes.contains(&node),
        }
    }
}

impl Machine for PlacedMachine {
    type Held = Arc<[NodeId]>;
    type Refusal = Refusal;

    fn size(&self) -> u32 {
        self.wiring.nodes()
    }

    fn free(&self) -> u32 {
        self.state.free()
    }

    fn place(&self, ask: &Ask) -> Result<Arc<[NodeId]>, Refusal> {
        let request = Request {
            groups: None,
            nodes: ask.nodes,
            policy: self.policy.clone(),
        };
        let mut stream = self.key.stream(u64::from(ask.job));
        place(&request, &self.state, &mut stream).map(Into::into)
    }

    fn take(&mut self, held: &Arc<[NodeId]>) {
        let claimed = self.state.claim(held);
        debug_assert!(claimed.is_ok(), "{claimed:?}");
    }

    fn give_back(&mut self, held: &Arc<[NodeId]>) {
        let released = self.state.release(held);
        debug_assert!(released.is_ok(), "{released:?}");
    }

    fn overlay(&mut self, other: &Self) {
        self.claim_free(|node| !other.state.is_free(node));
    }

    fn out_of_service(&self, node: NodeId) -> Arc<[NodeId]> {
        [node].into()
    }

    fn withhold(&mut self, nodes: &Withheld, _: u32) {
        let own = self.clone();
        self.claim_free(|node| own.belongs(nodes, node));
    }

    fn within(&self, nodes: &Withheld, _: u32) -> Self {
        let mut confined = self.clone();
        confined.claim_free(|node| !self.belongs(nodes, node));
        confined
    }

    fn idle(&self) -> Self {
        Self {
            state: MachineState::new(Arc::clone(&self.wiring)),
            ..self.clone()
        }
    }

    fn nodes(held: &Arc<[NodeId]>) -> Option<&[NodeId]> {
        Some(held)
    }

    fn group_sizes(&self) -> Vec<u32> {
        let nodes = |routers: &[RouterId]| {
            routers
                .iter()
                .map(|&router| self.wiring.nodes_of(router).len() as u32)
                .sum()
        };
        self.wiring
            .groups()
            .map(|(_, routers)| nodes(routers))
            .collect()
    }

    fn groups_of(&self, held: &Arc<[NodeId]>) -> u32 {
        let group = |&node: &NodeId| self.wiring.group_of(self.wiring.router_of(node));
        held.iter().map(group).collect::<BTreeSet<_>>().len() as u32
    }
}
