//! Communicators of a rank whose trace stands for all: which of the ranks are together in each.
//!
//! All ranks do what the recorded one did, each as seen from its own place. So a communicator of
//! some ranks is one of several alike that together hold all of the ranks, if it is one at all: that
//! of another rank must be the same from the places of all its members. Of grids that follows from
//! their extents. Of listed ranks it holds if the set of distances (by [`Partners`], differences
//! around the ring or differing bits) from the recorded rank to the members is closed under the
//! operation. What other ranks pass to `MPI_Comm_split` is not in the trace: such a communicator is
//! only known if the trace says that it has all members of its parent or one.

use std::collections::HashMap;
use std::sync::Arc;

use odonata_traces::TraceError;

use super::super::call::{Call, Calls, Origin, Slot};
use super::super::groups::{GroupId, Groups};
use crate::replay::partners::Partners;

/// Where ranks are in a communicator, as comm-local numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    /// Number of the rank that replays.
    pub own: u32,
    /// Number of the recorded rank in its own.
    pub recorded: u32,
    /// Members.
    pub size: u32,
}

/// What a making of a communicator becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The parent's members in its order.
    Copy,
    /// A grid of all of the parent's members.
    Grid(Box<[u32]>),
    /// Parts of the grid that the parent is, with its extents.
    SubGrid {
        extents: Box<[u32]>,
        kept: Box<[bool]>,
    },
    /// Every rank by itself.
    Alone,
    /// Sets of ranks like these, of which the recorded rank is one, ascending.
    Parts(Arc<[u32]>),
    /// Nobody is a member.
    Nobody,
    /// The trace does not tell, and why.
    Unknown(Arc<str>),
}

/// A communicator that the recorded rank made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub parent: Slot,
    pub plan: Plan,
    /// Whether the recorded rank got a communicator.
    pub member: bool,
}

/// All communicators of a repeated trace, in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans(pub Vec<Made>);

/// A communicator as the recorded rank knows it.
struct Known {
    /// World ranks in order; `None`: not known.
    members: Option<Arc<[u32]>>,
    /// Extents, if it is a grid.
    grid: Option<Box<[u32]>>,
    /// Why its members are not known.
    why: Option<Arc<str>>,
}

impl Plans {
    /// Reads the recorded rank's trace for what it makes.
    ///
    /// # Errors
    /// If the trace is damaged.
    pub fn read(
        mut calls: impl Calls,
        recorded: u32,
        ranks: u32,
        partners: Partners,
    ) -> Result<Self, TraceError> {
        // What is said of the communicators that splits make comes behind them.
        let mut said: HashMap<Slot, CommunicatorFacts> = HashMap::new();
        let (mut makings, mut found) = (Vec::new(), Vec::new());
        while let Some(record) = calls.next(&mut found)? {
            for call in found.drain(..) {
                match call {
                    Call::Group(_) | Call::Create { .. } => makings.push((call, record.at)),
                    Call::Claim { comm, rank, size } => {
                        let said = said.entry(comm).or_default();
                        said.rank = said.rank.or(rank);
                        said.size = said.size.or(size);
                    }
                    _ => {}
                }
            }
        }
        let known = |members: Arc<[u32]>| Known {
            members: Some(members),
            grid: None,
            why: None,
        };
        let mut reading = Reading {
            recorded,
            ranks,
            partners,
            slots: vec![known((0..ranks).collect()), known([recorded].into())],
            groups: Groups::new(),
            numbers: vec![],
            made: vec![],
            said,
        };
        for (call, at) in makings {
            (reading.note(call, at)).map_err(|reason| calls.error_at(at, reason))?;
        }
        Ok(Self(reading.made))
    }

    /// Where `rank` is in each of its communicators, by slot; `None`: nobody knows.
    pub fn standings(
        &self,
        rank: u32,
        recorded: u32,
        ranks: u32,
        partners: Partners,
    ) -> Vec<Option<Membership>> {
        let mut slots = vec![
            Some(Membership {
                own: rank,
                recorded,
                size: ranks,
            }),
            Some(Membership {
                own: 0,
                recorded: 0,
                size: 1,
            }),
        ];
        for made in &self.0 {
            if !made.member {
                continue;
            }
            let parent = slots.get(made.parent.0 as usize).copied().flatten();
            let standing = match &made.plan {
                Plan::Copy | Plan::Grid(_) => parent,
                Plan::SubGrid { extents, kept } => parent.map(|parent| {
                    let (own, size) = within(extents, kept, parent.own);
                    Membership {
                        own,
                        recorded: within(extents, kept, parent.recorded).0,
                        size,
                    }
                }),
                Plan::Alone => Some(Membership {
                    own: 0,
                    recorded: 0,
                    size: 1,
                }),
                Plan::Parts(members) => {
                    let own = part(members, rank, recorded, ranks, partners);
                    Some(Membership {
                        own: own.binary_search(&rank).unwrap_or_default() as u32,
                        recorded: members.binary_search(&recorded).unwrap_or_default() as u32,
                        size: members.len() as u32,
                    })
                }
                Plan::Nobody | Plan::Unknown(_) => None,
            };
            slots.push(standing);
        }
        slots
    }
}

/// The part of the ranks that `rank` is in if the recorded rank's is `members`; ascending.
pub(super) fn part(
    members: &[u32],
    rank: u32,
    recorded: u32,
    ranks: u32,
    partners: Partners,
) -> Vec<u32> {
    let mut part: Vec<u32> = (members.iter())
        .map(|&member| partners.seen(rank, recorded, member, ranks))
        .collect();
    part.sort_unstable();
    part
}

/// A member's number among those that differ from it in the kept dimensions only, and how many
/// they are. The last dimension runs fastest.
fn within(extents: &[u32], kept: &[bool], member: u32) -> (u32, u32) {
    let (mut left, mut number, mut stride) = (member, 0, 1);
    for (&extent, &kept) in extents.iter().zip(kept).rev() {
        if kept {
            number += left % extent * stride;
            stride *= extent;
        }
        left /= extent;
    }
    (number, stride)
}

/// What the trace says of a communicator.
#[derive(Clone, Copy, Debug, Default)]
struct CommunicatorFacts {
    rank: Option<u32>,
    size: Option<u32>,
}

struct Reading {
    recorded: u32,
    ranks: u32,
    partners: Partners,
    slots: Vec<Known>,
    groups: Groups<Slot>,
    numbers: Vec<GroupId>,
    made: Vec<Made>,
    said: HashMap<Slot, CommunicatorFacts>,
}

/// The members of the recorded rank's communicator, its extents if it is a grid, and what all ranks
/// make.
type Decision = (Arc<[u32]>, Option<Box<[u32]>>, Plan);
/// That, or why it is not known.
type Decided = Result<Decision, String>;

impl Reading {
    fn note(&mut self, call: Call, at: u64) -> Result<(), String> {
        match call {
            Call::Group(made) => {
                let id = self.groups.add(made, &self.numbers, Some)?;
                self.numbers.push(id);
            }
            Call::Create { parent, new, how } => {
                let decided = match new {
                    Some(slot) => self.decide(parent, slot, &how, at)?,
                    None => Err("".into()),
                };
                let (known, plan) = match decided {
                    Ok((members, grid, plan)) => {
                        let known = Known {
                            members: Some(members),
                            grid,
                            why: None,
                        };
                        (known, plan)
                    }
                    Err(why) => {
                        let known = Known {
                            members: None,
                            grid: None,
                            why: Some(why.clone()),
                        };
                        (known, Plan::Unknown(why))
                    }
                };
                let member = new.is_some();
                let plan = if member { plan } else { Plan::Nobody };
                if member {
                    self.slots.push(known);
                }
                self.made.push(Made {
                    parent,
                    plan,
                    member,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// What a making becomes, or why that is not known.
    fn decide(
        &self,
        parent: Slot,
        slot: Slot,
        how: &Origin,
        at: u64,
    ) -> Result<Result<Decision, Arc<str>>, String> {
        let maker = match how {
            Origin::Duplicate => "MPI_Comm_dup",
            Origin::Split { .. } => "MPI_Comm_split",
            Origin::OfGroup(_) => "MPI_Comm_create",
            Origin::Grid { .. } => "MPI_Cart_create",
            Origin::SubGrid { .. } => "MPI_Cart_sub",
            Origin::Graph { .. } => "MPI_Graph_create",
        };
        let known = (self.slots.get(parent.0 as usize))
            .ok_or_else(|| "a communicator made of one that is not known".to_owned())?;
        let Some(members) = known.members.clone() else {
            return Ok(Err(known.why.clone().unwrap_or_else(|| "".into())));
        };
        let size = members.len();
        let decided = match how {
            Origin::Duplicate => Ok((members, known.grid.clone(), Plan::Copy)),
            Origin::Grid { extents } => {
                let places = (extents.iter()).fold(1_u64, |all, &n| all.saturating_mul(n.into()));
                match places == size as u64 {
                    true => Ok((members, Some(extents.clone()), Plan::Grid(extents.clone()))),
                    false => Err(format!("its {places} places are not those of {size} ranks")),
                }
            }
            Origin::SubGrid { kept } => self.sub_grid(known, &members, kept),
            Origin::Graph { nodes } => match *nodes as usize == size {
                true => Ok((members, None, Plan::Copy)),
                false => Err(format!("its {nodes} nodes are not those of {size} ranks")),
            },
            Origin::OfGroup(group) => {
                let id = self.numbers.get(group.0 as usize).copied();
                let id = id.ok_or_else(|| format!("group {}, which no call has made", group.0))?;
                let list = self.groups.members(id, |slot| {
                    let of = self.slots.get(slot.0 as usize);
                    let members = of.and_then(|of| of.members.as_ref());
                    members
                        .map(|members| members.to_vec())
                        .ok_or_else(|| "its group is of one that is not known".to_owned())
                });
                list.and_then(|list| self.of_list(&list, &members))
            }
            Origin::Split { color, key } => {
                let said = self.said.get(&slot).copied().unwrap_or_default();
                let own = members.iter().position(|&rank| rank == self.recorded);
                let own = own.map(|own| own as u32);
                match said.size {
                    Some(1) => Ok(([self.recorded].into(), None, Plan::Alone)),
                    Some(all)
                        if all as usize == size && (said.rank.is_none() || said.rank == own) =>
                    {
                        Ok((members, None, Plan::Copy))
                    }
                    _ => {
                        let of = match said.size {
                            Some(of) => format!(", {of} of {size} ranks"),
                            None => String::new(),
                        };
                        let color = color.unwrap_or(-1);
                        Err(format!("its colour is {color} and its key {key}{of}"))
                    }
                }
            }
        };
        Ok(decided.map_err(|why| {
            let reason = format!(
                "a communicator that {maker} made (byte {at}): {why}; the trace of one rank does \
                 not tell which others are in it"
            );
            reason.into()
        }))
    }

    fn sub_grid(&self, parent: &Known, members: &Arc<[u32]>, kept: &[bool]) -> Decided {
        let extents = match &parent.grid {
            Some(extents) if extents.len() == kept.len() => extents,
            _ => return Err("its parent is no grid of as many dimensions".to_owned()),
        };
        let own = members.iter().position(|&rank| rank == self.recorded);
        let own = own.unwrap_or_default() as u32;
        // Members whose place in the dimensions that are dropped is the recorded rank's.
        let dropped: Vec<bool> = kept.iter().map(|kept| !kept).collect();
        let place = |member| within(extents, &dropped, member).0;
        let part: Arc<[u32]> = (0..members.len() as u32)
            .filter(|&member| place(member) == place(own))
            .map(|member| members[member as usize])
            .collect();
        if self.partners == Partners::Xor && !part.len().is_power_of_two() {
            return Err(format!(
                "it has {} ranks, and partners by xor need a power of two of them",
                part.len()
            ));
        }
        let sizes = extents.iter().zip(kept).filter(|(_, kept)| **kept);
        let sizes: Box<[u32]> = sizes.map(|(&extent, _)| extent).collect();
        let plan = Plan::SubGrid {
            extents: extents.clone(),
            kept: kept.into(),
        };
        Ok((part, Some(sizes), plan))
    }

    /// The communicator of listed ranks.
    fn of_list(&self, list: &[u32], parent: &[u32]) -> Decided {
        if list == parent {
            return Ok((list.into(), None, Plan::Copy));
        }
        if list == [self.recorded] {
            return Ok((list.into(), None, Plan::Alone));
        }
        let shown: Vec<String> = list.iter().take(8).map(u32::to_string).collect();
        let more = if list.len() > 8 { ", …" } else { "" };
        let shown = format!("of the ranks {}{more}", shown.join(", "));
        if !list.is_sorted() || !list.contains(&self.recorded) {
            return Err(format!("it is {shown}, in no ascending order"));
        }
        if let Some(&beyond) = list.iter().find(|&&rank| rank >= self.ranks) {
            return Err(format!("it has rank {beyond} of {} ranks", self.ranks));
        }
        // From the place of each of its members it must be the same.
        let same =
            |&member: &u32| part(list, member, self.recorded, self.ranks, self.partners) == list;
        match list.iter().all(same) {
            true => Ok((list.into(), None, Plan::Parts(list.into()))),
            false => Err(format!(
                "it is {shown}, and the other ranks do not fall into sets like it by {}",
                self.partners.name()
            )),
        }
    }
}
