//! Allocation policies: which free nodes a job gets.

use odonata_units::random::Stream;
use odonata_units::{GroupId, NodeId, RouterId};
use thiserror::Error;

use crate::machine::Machine;
use crate::state::{ClaimError, MachineState};

/// How nodes are chosen.
///
/// A policy is an order in which the nodes of the groups that a job may use are
/// taken as far as they are free, so that it succeeds whenever enough of them are
/// free at all; all but [`Policy::Isolated`], which wants groups without other jobs.
/// An order may follow from who is where ([`Policy::LevelSpread`], [`Policy::BestFit`]).
/// A further policy is one more variant and one more such order, or, where it weighs
/// the machine's state, a function of its own beside [`place`]'s `match`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Fills one group after the other, in each one router after the other
    /// (*cluster* of Kaplan et al. 2017, II.C.1).
    Contiguous,
    /// All nodes of the first router of the first group, then of the first
    /// router of the second group, and so on; then the second routers (Kaplan et
    /// al. 2017, II.C.2). Routers without nodes do not count.
    Spread,
    /// Nodes drawn one by one (*random* of Kaplan et al. 2017, II.C.3).
    RandomNode,
    /// Routers drawn one by one, all free nodes of each: first among the routers
    /// that are entirely free, then among the others.
    RandomRouter,
    /// Groups drawn one by one, the free nodes of each in order: first among the
    /// groups that are entirely free, then among the others.
    RandomGroup,
    /// One free node of every router in turn, routers in order of their groups: as
    /// many from each as from any other, where they have as many.
    Even,
    /// Whole groups in which no other job is, filled one after the other, and kept free
    /// of later jobs by [`MachineState::claim_groups`] (*contiguous placement without
    /// group overlapping* of Kang et al. 2019, 3.4.2). Nodes of the last group may stay
    /// empty.
    Isolated,
    /// Within the smallest part of the machine that holds the job, and there spread: the
    /// router with the most free nodes; else of the group with the most, a node of each
    /// router in turn; else a node of each group in turn (*Level-Spread* of Zhang et al.
    /// 2018, as the authors' allocator of SST does it: the first one of equals).
    LevelSpread,
    /// [`Policy::Contiguous`] within the first group that holds the job now, and
    /// [`Policy::Spread`] over all of them where none does. An assumption: publications
    /// use the word for several mixtures of both.
    Hybrid,
    /// The tightest place: the router with the fewest free nodes that holds the job; else
    /// the group with the fewest that does; else groups with the fewest first. Of several
    /// routers those with the fewest free nodes come first, as in SST's model of Slurm's
    /// placement on dragonflies, which knows no groups; the first one of equals.
    BestFit,
    /// These nodes, in this order.
    Explicit(Vec<NodeId>),
}

/// A job's wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of nodes, at least 1.
    pub nodes: u32,
    /// How they are chosen.
    pub policy: Policy,
    /// Groups whose nodes it may get, with every policy but [`Policy::Explicit`];
    /// `None`: any.
    pub groups: Option<Vec<GroupId>>,
}

/// Why a job gets no nodes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The job asks for nothing.
    #[error("the job asks for 0 nodes; it needs at least 1")]
    NoNodes,
    /// Even an idle machine could not hold the job.
    #[error("the job asks for {asked} nodes, but the machine has {machine}")]
    LargerThanMachine {
        /// Nodes asked for.
        asked: u32,
        /// Nodes of the machine.
        machine: u32,
    },
    /// Too few nodes are free now.
    #[error("the job asks for {asked} nodes; of the machine's {machine} only {free} are free")]
    NotEnoughFree {
        /// Nodes asked for.
        asked: u32,
        /// Nodes of the machine.
        machine: u32,
        /// Free ones.
        free: u32,
    },
    /// Too few nodes are free in the groups that the job may use.
    #[error(
        "the job asks for {asked} nodes of {groups} groups, which have {nodes}, of them {free} free"
    )]
    NotEnoughInGroups {
        /// Nodes asked for.
        asked: u32,
        /// Groups that it may use.
        groups: usize,
        /// Their nodes.
        nodes: u32,
        /// Free ones.
        free: u32,
    },
    /// A group that has no nodes, or does not exist.
    #[error("there are no nodes in group {group}; groups with nodes: {known}")]
    UnknownGroup {
        /// Group asked for.
        group: GroupId,
        /// Groups that have nodes, for people.
        known: String,
    },
    /// Too few groups are without other jobs.
    #[error(
        "the job asks for {asked} nodes in groups that it shares with no other job; {idle} of \
         {groups} groups are free of jobs, with {free} nodes"
    )]
    NotEnoughIdleGroups {
        /// Nodes asked for.
        asked: u32,
        /// Groups that it may use.
        groups: usize,
        /// Groups without jobs.
        idle: usize,
        /// Their nodes.
        free: u32,
    },
    /// An explicit list of another length than the job.
    #[error("the job asks for {asked} nodes, but lists {listed}")]
    ListLength {
        /// Nodes asked for.
        asked: u32,
        /// Nodes listed.
        listed: usize,
    },
    /// An explicit list that cannot be claimed.
    #[error("the job's list of nodes cannot be used: {0}")]
    List(#[from] ClaimError),
}

/// Chooses free nodes for `request`. The same request, state and stream give the
/// same nodes, in the same order: the order in which the policy takes them, in
/// which a linear mapping then fills them. The state does not change:
/// [`MachineState::claim`] takes the nodes.
///
/// # Errors
/// A [`Refusal`] that says why there are no such nodes.
pub fn place(
    request: &Request,
    state: &MachineState,
    stream: &mut Stream,
) -> Result<Vec<NodeId>, Refusal> {
    let asked = request.nodes;
    if asked == 0 {
        return Err(Refusal::NoNodes);
    }
    if asked > state.in_service() {
        return Err(Refusal::LargerThanMachine {
            asked,
            machine: state.in_service(),
        });
    }
    if let Policy::Explicit(listed) = &request.policy {
        if listed.len() != asked as usize {
            return Err(Refusal::ListLength {
                asked,
                listed: listed.len(),
            });
        }
        state.check_claim(listed)?;
        return Ok(listed.clone());
    }
    let place = Place::new(state, request.groups.as_deref())?;
    let free = place.free();
    if request.policy == Policy::Isolated {
        return place.idle_groups(asked);
    }
    if asked > free {
        return Err(match &request.groups {
            Some(_) => Refusal::NotEnoughInGroups {
                asked,
                groups: place.groups.len(),
                nodes: place.nodes().count() as u32,
                free,
            },
            None => Refusal::NotEnoughFree {
                asked,
                machine: state.in_service(),
                free,
            },
        });
    }
    let routers = match request.policy {
        Policy::Contiguous => place.by_group(),
        Policy::Spread => place.round_robin(),
        Policy::RandomRouter => place.random_routers(stream),
        Policy::RandomGroup => place.random_groups(stream),
        Policy::Hybrid => place.first_group_or_all(asked),
        Policy::BestFit => place.tightest(asked),
        Policy::RandomNode => return Ok(place.random_nodes(asked, stream)),
        Policy::Even => return Ok(place.one_of_each_in_turn(asked, place.by_group().chunks(1))),
        Policy::LevelSpread => return Ok(place.spread_in_smallest(asked)),
        Policy::Isolated | Policy::Explicit(_) => unreachable!("handled above"),
    };
    Ok(routers
        .into_iter()
        .flat_map(|router| state.machine().nodes_of(router))
        .copied()
        .filter(|&node| state.is_free(node))
        .take(asked as usize)
        .collect())
}

/// The part of the machine in which a job may be.
struct Place<'a> {
    state: &'a MachineState,
    machine: &'a Machine,
    /// Groups that have nodes, each with those of its routers that have.
    groups: Vec<(GroupId, &'a [RouterId])>,
}

impl<'a> Place<'a> {
    fn new(state: &'a MachineState, only: Option<&[GroupId]>) -> Result<Self, Refusal> {
        let machine = state.machine();
        let mut groups: Vec<_> = machine.groups().collect();
        if let Some(only) = only {
            let unknown = |group: &&GroupId| groups.iter().all(|(known, _)| known != *group);
            if let Some(&group) = only.iter().find(unknown) {
                let numbers = groups.iter().map(|(known, _)| known.0);
                let known = ranges(numbers);
                return Err(Refusal::UnknownGroup { group, known });
            }
            groups.retain(|(group, _)| only.contains(group));
        }
        Ok(Self {
            state,
            machine,
            groups,
        })
    }

    /// All nodes, in order of group, router and number.
    fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let routers = self.groups.iter().flat_map(|(_, routers)| *routers);
        routers.flat_map(|&router| self.machine.nodes_of(router).iter().copied())
    }

    /// Number of free nodes.
    fn free(&self) -> u32 {
        self.nodes()
            .filter(|&node| self.state.is_free(node))
            .count() as u32
    }

    /// Routers in order of group, then number.
    fn by_group(&self) -> Vec<RouterId> {
        self.groups
            .iter()
            .flat_map(|(_, routers)| *routers)
            .copied()
            .collect()
    }

    /// The first router of every group, then the second of every group, …
    fn round_robin(&self) -> Vec<RouterId> {
        let most = self.groups.iter().map(|(_, routers)| routers.len()).max();
        (0..most.unwrap_or(0))
            .flat_map(|index| {
                self.groups
                    .iter()
                    .filter_map(move |(_, routers)| routers.get(index))
            })
            .copied()
            .collect()
    }

    /// The first free node of every part, a part being some routers, then the second of
    /// every part, …
    fn one_of_each_in_turn<'r>(
        &self,
        asked: u32,
        parts: impl Iterator<Item = &'r [RouterId]>,
    ) -> Vec<NodeId> {
        let of_part: Vec<Vec<NodeId>> = parts.map(|part| self.free_of(part).collect()).collect();
        let most = of_part.iter().map(Vec::len).max().unwrap_or(0);
        (0..most)
            .flat_map(|turn| of_part.iter().filter_map(move |nodes| nodes.get(turn)))
            .copied()
            .take(asked as usize)
            .collect()
    }

    /// Free nodes of some routers, in their order.
    fn free_of(&self, routers: &[RouterId]) -> impl Iterator<Item = NodeId> {
        let nodes = routers
            .iter()
            .flat_map(|&router| self.state.machine().nodes_of(router));
        nodes.copied().filter(|&node| self.state.is_free(node))
    }

    /// See [`Policy::LevelSpread`].
    fn spread_in_smallest(&self, asked: u32) -> Vec<NodeId> {
        // The first one of those with the most free nodes, if they suffice.
        let roomiest = |free: usize, best: &mut usize| {
            let better = free >= asked as usize && free > *best;
            if better {
                *best = free;
            }
            better
        };
        let (mut best, mut found) = (0, None);
        for router in self.by_group() {
            if roomiest(self.free_of(&[router]).count(), &mut best) {
                found = Some(router);
            }
        }
        if let Some(router) = found {
            return self.free_of(&[router]).take(asked as usize).collect();
        }
        let mut of_group = None;
        for (_, routers) in &self.groups {
            if roomiest(self.free_of(routers).count(), &mut best) {
                of_group = Some(*routers);
            }
        }
        match of_group {
            Some(routers) => self.one_of_each_in_turn(asked, routers.chunks(1)),
            None => self.one_of_each_in_turn(asked, self.groups.iter().map(|(_, of)| *of)),
        }
    }

    /// See [`Policy::Hybrid`].
    fn first_group_or_all(&self, asked: u32) -> Vec<RouterId> {
        let mut groups = self.groups.iter().map(|(_, routers)| *routers);
        let holds = |routers: &&[RouterId]| self.free_of(routers).count() >= asked as usize;
        match groups.find(holds) {
            Some(routers) => routers.to_vec(),
            None => self.round_robin(),
        }
    }

    /// See [`Policy::BestFit`].
    fn tightest(&self, asked: u32) -> Vec<RouterId> {
        let asked = asked as usize;
        let free = |routers: &[RouterId]| self.free_of(routers).count();
        let fit = |router: &RouterId| free(&[*router]) >= asked;
        // Of equals `min_by_key` takes the first.
        let routers = self.by_group();
        let fitting = routers.iter().copied().filter(fit);
        if let Some(router) = fitting.min_by_key(|&router| free(&[router])) {
            return vec![router];
        }
        let mut groups: Vec<&[RouterId]> = self.groups.iter().map(|(_, of)| *of).collect();
        groups.sort_by_cached_key(|routers| free(routers));
        if let Some(&first) = groups.iter().find(|routers| free(routers) >= asked) {
            groups = vec![first];
        }
        let tightest_first = |routers: &[RouterId]| {
            let mut routers = routers.to_vec();
            routers.sort_by_cached_key(|&router| free(&[router]));
            routers
        };
        groups.into_iter().flat_map(tightest_first).collect()
    }

    /// `asked` of the free nodes in random order: the start of a Fisher–Yates shuffle.
    fn random_nodes(&self, asked: u32, stream: &mut Stream) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self
            .nodes()
            .filter(|&node| self.state.is_free(node))
            .collect();
        // In order of number, however nodes are attached to routers.
        nodes.sort_unstable();
        for taken in 0..asked {
            let left = nodes.len() as u32 - taken;
            let drawn = taken + stream.below(left);
            nodes.swap(taken as usize, drawn as usize);
        }
        nodes.truncate(asked as usize);
        nodes
    }

    fn is_idle(&self, router: RouterId) -> bool {
        let mut nodes = self.machine.nodes_of(router).iter();
        nodes.all(|&node| self.state.is_free(node))
    }

    /// Idle routers in random order, then the others in random order.
    fn random_routers(&self, stream: &mut Stream) -> Vec<RouterId> {
        let mut routers = self.by_group();
        stream.shuffle(&mut routers);
        // A stable sort: false (idle) comes first.
        routers.sort_by_key(|&router| !self.is_idle(router));
        routers
    }

    /// The routers of idle groups in random order of groups, then those of the others.
    fn random_groups(&self, stream: &mut Stream) -> Vec<RouterId> {
        let mut groups: Vec<&[RouterId]> = self.groups.iter().map(|(_, r)| *r).collect();
        stream.shuffle(&mut groups);
        groups.sort_by_key(|routers| !routers.iter().all(|&router| self.is_idle(router)));
        groups.into_iter().flatten().copied().collect()
    }

    /// The first `asked` nodes of groups without jobs.
    fn idle_groups(&self, asked: u32) -> Result<Vec<NodeId>, Refusal> {
        let idle: Vec<&[RouterId]> = self
            .groups
            .iter()
            .map(|(_, routers)| *routers)
            .filter(|routers| routers.iter().all(|&router| self.is_idle(router)))
            .collect();
        let routers = idle.iter().copied().flatten();
        let mut nodes: Vec<NodeId> = routers
            .flat_map(|&router| self.state.machine().nodes_of(router))
            .copied()
            .collect();
        if nodes.len() < asked as usize {
            return Err(Refusal::NotEnoughIdleGroups {
                asked,
                groups: self.groups.len(),
                idle: idle.len(),
                free: nodes.len() as u32,
            });
        }
        nodes.truncate(asked as usize);
        Ok(nodes)
    }
}

/// Ascending numbers for people: `0-3, 5`.
pub fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let numbers: Vec<u32> = numbers.collect();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<String> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
