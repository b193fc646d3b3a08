//! Process groups as communicators, and their collectives.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_traces::chakra::{Collective, ProcessGroup};
use odonata_units::RankId;

use super::graph::RankGraph;
use crate::collective::{Algorithms, CollectiveCall};
use crate::communicator::{Communicator, Members};
use crate::replay::call::Shape;
use crate::replay::collective::call_of;
use crate::replay::facts::TraceFacts;
use crate::replay::schedule::{self, Task};

/// A collective as a rank recorded it.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// Number of the node.
    pub id: u64,
    /// Its process group; empty: all ranks.
    pub group: String,
    pub kind: Collective,
    pub bytes: u64,
    pub root: Option<u64>,
}

/// The process groups of a job.
pub(super) struct Groups {
    /// Members that are given outright.
    given: BTreeMap<String, Vec<u32>>,
    /// The collectives of each rank in their order, by group; with the node's index.
    recorded: BTreeMap<String, BTreeMap<u32, Vec<(u32, Recorded)>>>,
}

/// What the members of a group of `size` do; `bytes` are what one puts in.
pub(super) fn shape(kind: Collective, bytes: u64, size: u32, root: u32) -> Shape {
    let part = bytes.div_ceil(size.max(1).into());
    match kind {
        Collective::AllReduce => Shape::Allreduce { bytes },
        Collective::Reduce => Shape::Reduce { root, bytes },
        Collective::AllGather => Shape::Allgather { bytes },
        Collective::Gather => Shape::Gather { root, bytes },
        Collective::Scatter => Shape::Scatter { root, bytes: part },
        Collective::Broadcast => Shape::Broadcast { root, bytes },
        Collective::AllToAll => Shape::Alltoall { bytes: part },
        Collective::ReduceScatter => Shape::ReduceScatter {
            all: vec![part; size as usize].into(),
        },
        Collective::Barrier => Shape::Barrier,
    }
}

impl Groups {
    pub fn new(given: BTreeMap<String, Vec<u32>>) -> Self {
        Self {
            given,
            recorded: BTreeMap::new(),
        }
    }

    /// Takes in groups that a trace of `ranks` ranks defines; without members they are all
    /// ranks.
    pub fn define(&mut self, groups: Vec<ProcessGroup>, ranks: u32) -> Result<(), String> {
        for ProcessGroup {
            name,
            ranks: members,
            group_size,
        } in groups
        {
            let members = match (members.is_empty(), group_size) {
                (false, _) => members,
                (true, Some(size)) if size == ranks => (0..ranks).collect(),
                (true, None) => continue,
                (true, Some(size)) => {
                    return Err(format!(
                        "process group {name:?} has {size} members that are not listed, but the \
                         trace has {ranks} ranks; comm_group.json beside it may list them"
                    ));
                }
            };
            match self.given.get(&name) {
                Some(before) if *before != members => {
                    return Err(format!(
                        "process group {name:?} has the members {members:?} here and {before:?} \
                         elsewhere"
                    ));
                }
                _ => {
                    self.given.insert(name, members);
                }
            }
        }
        Ok(())
    }

    pub fn add(&mut self, rank: RankId, node: u32, collective: Recorded) {
        let group = self.recorded.entry(collective.group.clone()).or_default();
        group.entry(rank.0).or_default().push((node, collective));
    }

    /// Puts the collectives into the graphs.
    pub fn resolve(
        self,
        graphs: &mut [RankGraph],
        algorithms: &Algorithms,
        facts: &mut TraceFacts,
    ) -> Result<(), String> {
        let ranks = graphs.len() as u32;
        for (name, by_rank) in self.recorded {
            let called = if name.is_empty() {
                "all ranks".to_owned()
            } else {
                format!("process group {name:?}")
            };
            let given = self.given.get(&name).cloned();
            let (number, members): (u32, Vec<u32>) = match given {
                None if name.is_empty() => (0, (0..ranks).collect()),
                given => {
                    facts.communicators += 1;
                    let number = u32::try_from(facts.communicators);
                    let number = number.map_err(|_| "too many process groups".to_owned())?;
                    (
                        number,
                        given.unwrap_or_else(|| by_rank.keys().copied().collect()),
                    )
                }
            };
            if let Some(stranger) = members.iter().find(|&&member| member >= ranks) {
                return Err(format!(
                    "{called} has the member {stranger}, but the trace has {ranks} ranks, from 0 on"
                ));
            }
            let listed: Vec<RankId> = members.iter().copied().map(RankId).collect();
            let listed = Members::listed(listed)
                .map_err(|twice| format!("{called} has the member {twice} twice"))?;
            let communicator = Arc::new(match number {
                0 => Communicator::world(ranks),
                number => Communicator::new(number, listed),
            });
            if let Some(stranger) = by_rank
                .keys()
                .find(|&&rank| communicator.member(RankId(rank)).is_none())
            {
                return Err(format!(
                    "rank {stranger} takes part in a collective of {called}, whose members are \
                     {members:?}"
                ));
            }
            let of = |member: &u32| by_rank.get(member).map_or(&[][..], Vec::as_slice);
            let Some((first, others)) = members.split_first() else {
                return Err(format!("{called} has no member"));
            };
            let wanted = of(first);
            for member in others {
                check_equal(&called, (*first, wanted), (*member, of(member)))?;
            }
            let size = communicator.size();
            let mut calls: BTreeMap<(Collective, u64, u32), Arc<CollectiveCall>> = BTreeMap::new();
            let mut which = Vec::with_capacity(wanted.len());
            for (number, (_, recorded)) in (0..).zip(wanted) {
                let root = match recorded.root {
                    None => 0,
                    Some(root) => {
                        u32::try_from(root)
                            .ok()
                            .and_then(|root| communicator.member(RankId(root)))
                            .ok_or_else(|| {
                                format!(
                                    "node {}: root_rank {root} is no member of {called}",
                                    recorded.id
                                )
                            })?
                            .0
                    }
                };
                let shape = shape(recorded.kind, recorded.bytes, size, root);
                if recorded.root.is_none() && shape.root().is_some() {
                    let name = "root of collectives that do not tell it: the first member";
                    *facts.not_replayed.entry(name).or_default() += u64::from(size);
                }
                *facts.collectives.entry(shape.name()).or_default() += u64::from(size);
                let call = calls
                    .entry((recorded.kind, recorded.bytes, root))
                    .or_insert_with(|| Arc::new(call_of(shape, size, algorithms)));
                which.push(Arc::new(schedule::Collective {
                    communicator: communicator.clone(),
                    call: call.clone(),
                    which: number,
                }));
            }
            for (rank, list) in &by_rank {
                for ((node, _), collective) in list.iter().zip(&which) {
                    graphs[*rank as usize].tasks[*node as usize] =
                        Task::Collective(collective.clone());
                }
            }
        }
        Ok(())
    }
}

/// Checks that two members of a group record the same collectives.
fn check_equal(
    called: &str,
    (first, wanted): (u32, &[(u32, Recorded)]),
    (member, found): (u32, &[(u32, Recorded)]),
) -> Result<(), String> {
    if wanted.len() != found.len() {
        return Err(format!(
            "of {called} rank {first} has {} collectives and rank {member} has {}; such a trace \
             would not come to an end",
            wanted.len(),
            found.len()
        ));
    }
    let same = |one: &Recorded, other: &Recorded| {
        (one.kind, one.bytes, one.root) == (other.kind, other.bytes, other.root)
    };
    match wanted
        .iter()
        .zip(found)
        .find(|(one, other)| !same(&one.1, &other.1))
    {
        None => Ok(()),
        Some(((_, one), (_, other))) => Err(format!(
            "of {called} rank {first} has {:?} of {} B at node {} where rank {member} has {:?} of \
             {} B at node {}",
            one.kind, one.bytes, one.id, other.kind, other.bytes, other.id
        )),
    }
}
