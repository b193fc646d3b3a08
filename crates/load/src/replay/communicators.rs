//! The communicators of a job, found from what all ranks did to make them.
//!
//! Ranks make the communicators of a parent in the same order (MPI 4.1, section
//! 6.4): a rank's n-th call that makes one of a parent belongs to the n-th call of
//! every other member. Colours, keys and groups of all of them together say who
//! the members are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use odonata_units::RankId;

use super::call::{Origin, Slot};
use super::groups::{GroupId, Groups};
use super::memberships::{Communicators, Slots};
use crate::communicator::{Communicator, Members};

/// A making of communicators: the n-th of a parent, by all ranks that did it.
/// Several if ranks of different communicators made theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct MakingId(u32);

impl MakingId {
    pub const WORLD: Self = Self(0);
    pub const MYSELF: Self = Self(1);
}

/// How a rank took part in a making.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Duplicate,
    Split { color: Option<i32>, key: i32 },
    OfGroup(GroupId),
    Grid(Box<[u32]>),
    SubGrid(Box<[bool]>),
    Graph(u32),
}

impl Part {
    /// Name of the function.
    fn name(&self) -> &'static str {
        match self {
            Part::Duplicate => "MPI_Comm_dup",
            Part::Split { .. } => "MPI_Comm_split",
            Part::OfGroup(_) => "MPI_Comm_create",
            Part::Grid(_) => "MPI_Cart_create",
            Part::SubGrid(_) => "MPI_Cart_sub",
            Part::Graph(_) => "MPI_Graph_create",
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    rank: u32,
    part: Part,
    /// Whether the rank got a communicator.
    member: bool,
    /// What the trace says of the rank's number there and of the size.
    claimed_rank: Option<u32>,
    claimed_size: Option<u32>,
}

#[derive(Debug)]
struct Making {
    parent: MakingId,
    entries: Vec<Entry>,
}

/// Collects what the ranks do, rank by rank. Memory: some 80 bytes for every
/// member of every communicator.
pub(super) struct Collector {
    ranks: u32,
    makings: Vec<Making>,
    known: HashMap<(MakingId, u32), MakingId>,
    groups: Groups<MakingId>,
    /// The rank at hand.
    rank: u32,
    slots: Vec<MakingId>,
    made: HashMap<MakingId, u32>,
    rank_groups: Vec<GroupId>,
    /// What all ranks before made.
    done: Vec<Box<[MakingId]>>,
}

impl Collector {
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            makings: Vec::new(),
            known: HashMap::new(),
            groups: Groups::new(),
            rank: 0,
            slots: vec![MakingId::WORLD, MakingId::MYSELF],
            made: HashMap::new(),
            rank_groups: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The making of one of the rank's communicators.
    pub fn making(&self, slot: Slot) -> Option<MakingId> {
        self.slots.get(slot.0 as usize).copied()
    }

    pub fn group(&mut self, made: super::call::GroupMade) -> Result<(), String> {
        let slots = &self.slots;
        let of = |slot: Slot| slots.get(slot.0 as usize).copied();
        let id = self.groups.add(made, &self.rank_groups, of)?;
        self.rank_groups.push(id);
        Ok(())
    }

    pub fn create(&mut self, parent: Slot, new: Option<Slot>, how: Origin) -> Result<(), String> {
        let parent = self
            .making(parent)
            .ok_or_else(|| "a communicator made of one that is not known".to_owned())?;
        let part = match how {
            Origin::Duplicate => Part::Duplicate,
            Origin::Split { color, key } => Part::Split { color, key },
            Origin::OfGroup(group) => Part::OfGroup(
                *self
                    .rank_groups
                    .get(group.0 as usize)
                    .ok_or_else(|| format!("group {}, which no call has made", group.0))?,
            ),
            Origin::Grid { extents } => Part::Grid(extents),
            Origin::SubGrid { kept } => Part::SubGrid(kept),
            Origin::Graph { nodes } => Part::Graph(nodes),
        };
        let number = self.made.entry(parent).or_default();
        let key = (parent, *number);
        *number += 1;
        let id = match self.known.get(&key) {
            Some(&id) => id,
            None => {
                let id = MakingId(self.makings.len() as u32 + 2);
                self.known.insert(key, id);
                self.makings.push(Making {
                    parent,
                    entries: Vec::new(),
                });
                id
            }
        };
        self.makings[id.0 as usize - 2].entries.push(Entry {
            rank: self.rank,
            part,
            member: new.is_some(),
            claimed_rank: None,
            claimed_size: None,
        });
        if new.is_some() {
            self.slots.push(id);
        }
        Ok(())
    }

    /// The trace says which member the rank is, or how many there are.
    pub fn claim(
        &mut self,
        slot: Slot,
        rank: Option<u32>,
        size: Option<u32>,
    ) -> Result<(), String> {
        let differs = |what: &str, claimed: Option<u32>, is: u32| match claimed {
            Some(claimed) if claimed != is => Err(format!(
                "{what} is said to be {claimed} where it must be {is}"
            )),
            _ => Ok(()),
        };
        match self.making(slot) {
            None => Ok(()),
            Some(MakingId::WORLD) => {
                differs("the rank", rank, self.rank)?;
                differs("the size of the world", size, self.ranks)
            }
            Some(MakingId::MYSELF) => {
                differs("the rank in MPI_COMM_SELF", rank, 0)?;
                differs("the size of MPI_COMM_SELF", size, 1)
            }
            Some(making) => {
                let entries = &mut self.makings[making.0 as usize - 2].entries;
                let own = entries
                    .iter_mut()
                    .rev()
                    .find(|entry| entry.rank == self.rank);
                if let Some(entry) = own {
                    if let Some(before) = entry.claimed_rank {
                        differs("the rank", rank, before)?;
                    }
                    if let Some(before) = entry.claimed_size {
                        differs("the size of the communicator", size, before)?;
                    }
                    entry.claimed_rank = entry.claimed_rank.or(rank);
                    entry.claimed_size = entry.claimed_size.or(size);
                }
                Ok(())
            }
        }
    }

    /// The rank at hand is read; the next one follows.
    pub fn next_rank(&mut self) {
        let next = vec![MakingId::WORLD, MakingId::MYSELF];
        let slots = std::mem::replace(&mut self.slots, next);
        self.done.push(slots.into());
        self.made.clear();
        self.rank_groups.clear();
        self.rank += 1;
    }

    /// Who the members of all communicators are.
    ///
    /// # Errors
    /// If the ranks contradict each other.
    pub fn resolve(self) -> Result<Communicators, String> {
        let mut resolver = Resolver {
            groups: self.groups,
            found: vec![Found {
                communicator: Arc::new(Communicator::world(self.ranks)),
                grid: None,
            }],
            of: Vec::new(),
        };
        for (index, making) in self.makings.into_iter().enumerate() {
            resolver.making(MakingId(index as u32 + 2), making)?;
        }
        let of_rank = self.done.into_iter().enumerate().map(|(rank, slots)| {
            let of = |&making| resolver.communicator(making, rank as u32);
            slots.iter().map(of).collect()
        });
        let slots = Slots::OfRanks(of_rank.collect());
        let all = resolver.found.into_iter().map(|found| found.communicator);
        Ok(Communicators {
            all: all.collect(),
            slots,
        })
    }
}

/// Ranks of a communicator in order, and the extents of its grid, if it is one.
type Made = (Vec<u32>, Option<Box<[u32]>>);

/// A communicator that is resolved.
struct Found {
    communicator: Arc<Communicator>,
    grid: Option<Box<[u32]>>,
}

/// Which communicator a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Which {
    /// The rank alone.
    Myself,
    /// One of all.
    Index(u32),
}

struct Resolver {
    groups: Groups<MakingId>,
    found: Vec<Found>,
    /// By making, from the first that is neither world nor self: the communicator
    /// of each rank that got one.
    of: Vec<HashMap<u32, u32>>,
}

impl Resolver {
    fn communicator(&self, making: MakingId, rank: u32) -> Which {
        match making {
            MakingId::WORLD => Which::Index(0),
            MakingId::MYSELF => Which::Myself,
            MakingId(number) => {
                let index = self.of[number as usize - 2].get(&rank);
                // A rank with a slot is a member; checked when it was made.
                index.map_or(Which::Myself, |&index| Which::Index(index))
            }
        }
    }

    fn members(&self, of: Which, rank: u32) -> Vec<u32> {
        match of {
            Which::Myself => vec![rank],
            Which::Index(index) => {
                let communicator = &self.found[index as usize].communicator;
                let members = (0..communicator.size()).map(crate::communicator::Member);
                members.map(|member| communicator.rank(member).0).collect()
            }
        }
    }

    fn making(&mut self, id: MakingId, making: Making) -> Result<(), String> {
        let mut by_parent: BTreeMap<(Which, u32), Vec<Entry>> = BTreeMap::new();
        for entry in making.entries {
            let parent = self.communicator(making.parent, entry.rank);
            // Every rank's MPI_COMM_SELF is one of its own.
            let own = match parent {
                Which::Myself => entry.rank,
                Which::Index(_) => 0,
            };
            by_parent.entry((parent, own)).or_default().push(entry);
        }
        self.of.push(HashMap::new());
        for ((parent, _), entries) in by_parent {
            let members = self.members(parent, entries[0].rank);
            if members.len() != entries.len() {
                let there: std::collections::HashSet<u32> =
                    entries.iter().map(|entry| entry.rank).collect();
                let missing = members.iter().find(|rank| !there.contains(rank));
                return Err(format!(
                    "{} is called by {} of the {} ranks of its communicator, not by rank {}",
                    entries[0].part.name(),
                    entries.len(),
                    members.len(),
                    missing.copied().unwrap_or_default()
                ));
            }
            let other = entries
                .iter()
                .find(|entry| entry.part.name() != entries[0].part.name());
            if let Some(other) = other {
                return Err(format!(
                    "rank {} calls {} where rank {} of the same communicator calls {}",
                    other.rank,
                    other.part.name(),
                    entries[0].rank,
                    entries[0].part.name()
                ));
            }
            let alike = matches!(entries[0].part, Part::Grid(_) | Part::Graph(_));
            if let Some(other) = entries.iter().find(|entry| entry.part != entries[0].part)
                && alike
            {
                return Err(format!(
                    "{}: rank {} has other arguments than rank {}",
                    other.part.name(),
                    other.rank,
                    entries[0].rank
                ));
            }
            self.bucket(id, making.parent, parent, &members, &entries)?;
        }
        Ok(())
    }

    /// Resolves what the members of one parent made together.
    fn bucket(
        &mut self,
        id: MakingId,
        parent_making: MakingId,
        parent: Which,
        members: &[u32],
        entries: &[Entry],
    ) -> Result<(), String> {
        let mut place = HashMap::with_capacity(members.len());
        for (index, &rank) in members.iter().enumerate() {
            place.insert(rank, index as u32);
        }
        let mut made: Vec<Made> = Vec::new();
        match &entries[0].part {
            Part::Duplicate => {
                let grid = match parent {
                    Which::Index(index) => self.found[index as usize].grid.clone(),
                    Which::Myself => None,
                };
                made.push((members.to_vec(), grid));
            }
            Part::Split { .. } => {
                let mut colors: BTreeMap<i32, Vec<(i32, u32, u32)>> = BTreeMap::new();
                for entry in entries {
                    if let Part::Split {
                        color: Some(color),
                        key,
                    } = entry.part
                    {
                        let of = colors.entry(color).or_default();
                        of.push((key, place[&entry.rank], entry.rank));
                    }
                }
                for mut list in colors.into_values() {
                    list.sort_unstable();
                    made.push((list.into_iter().map(|(_, _, rank)| rank).collect(), None));
                }
            }
            Part::OfGroup(_) => {
                let mut lists: BTreeMap<Vec<u32>, ()> = BTreeMap::new();
                let mut seen = std::collections::HashSet::new();
                for entry in entries {
                    let Part::OfGroup(group) = entry.part else {
                        continue;
                    };
                    let of = self.groups.communicators(group);
                    let of = of.iter().map(|&making| match making {
                        // Another one for every rank.
                        MakingId::MYSELF => (Which::Myself, entry.rank),
                        making => (self.communicator(making, entry.rank), 0),
                    });
                    if seen.insert((group, of.collect::<Vec<_>>())) {
                        let list = self.groups.members(group, |making| {
                            Ok(self.members(self.communicator(making, entry.rank), entry.rank))
                        })?;
                        if !list.is_empty() {
                            lists.insert(list, ());
                        }
                    }
                }
                made.extend(lists.into_keys().map(|list| (list, None)));
            }
            Part::Grid(extents) => {
                let size = extents
                    .iter()
                    .try_fold(1u32, |size, &n| size.checked_mul(n));
                let size = size.filter(|&size| size as usize <= members.len());
                let Some(size) = size else {
                    return Err(format!(
                        "MPI_Cart_create of {extents:?} among {} ranks",
                        members.len()
                    ));
                };
                made.push((members[..size as usize].to_vec(), Some(extents.clone())));
            }
            Part::SubGrid(_) => {
                let grid = match parent {
                    Which::Index(index) => self.found[index as usize].grid.clone(),
                    Which::Myself => None,
                };
                let Some(grid) = grid else {
                    return Err(format!(
                        "MPI_Cart_sub of a communicator that is no grid (made by call {})",
                        parent_making.0
                    ));
                };
                made.extend(sub_grids(&grid, members, entries)?);
            }
            Part::Graph(nodes) => {
                let Some(first) = members.get(..*nodes as usize) else {
                    return Err(format!(
                        "MPI_Graph_create of {nodes} ranks among {}",
                        members.len()
                    ));
                };
                made.push((first.to_vec(), None));
            }
        }
        self.take(id, made, entries)
    }

    fn take(&mut self, id: MakingId, made: Vec<Made>, entries: &[Entry]) -> Result<(), String> {
        let name = entries[0].part.name();
        for (ranks, grid) in made {
            if ranks.is_empty() {
                continue;
            }
            let index = self.found.len() as u32;
            let of = self.of.last_mut().ok_or("no making")?;
            for &rank in &ranks {
                if of.insert(rank, index).is_some() {
                    return Err(format!("rank {rank} is in two communicators of one {name}"));
                }
            }
            let members =
                as_members(ranks).map_err(|rank| format!("{name} has rank {rank} twice"))?;
            self.found.push(Found {
                communicator: Arc::new(Communicator::new(id.0, members)),
                grid,
            });
        }
        let of = self.of.last().ok_or("no making")?;
        for entry in entries {
            let index = of.get(&entry.rank);
            let (is, got) = (index.is_some(), entry.member);
            if is != got {
                return Err(format!(
                    "{name}: rank {} {} a communicator, but the arguments of all ranks together \
                     say that it {} a member",
                    entry.rank,
                    if got { "got" } else { "did not get" },
                    if is { "is" } else { "is not" },
                ));
            }
            let Some(&index) = index else { continue };
            let communicator = &self.found[index as usize].communicator;
            let member = communicator
                .member(RankId(entry.rank))
                .map(|member| member.0);
            if let Some(claimed) = entry.claimed_rank
                && member != Some(claimed)
            {
                return Err(format!(
                    "{name}: rank {} says that it is member {claimed}, but the arguments of all \
                     ranks together make it {}",
                    entry.rank,
                    member.unwrap_or_default()
                ));
            }
            if let Some(claimed) = entry.claimed_size
                && claimed != communicator.size()
            {
                return Err(format!(
                    "{name}: rank {} says that there are {claimed} members, but the arguments of \
                     all ranks together make it {}",
                    entry.rank,
                    communicator.size()
                ));
            }
        }
        Ok(())
    }
}

/// Ranks by the dimensions of the grid that are kept: members whose other places
/// agree, in the order of the grid.
fn sub_grids(grid: &[u32], members: &[u32], entries: &[Entry]) -> Result<Vec<Made>, String> {
    let Part::SubGrid(kept) = &entries[0].part else {
        return Ok(Vec::new());
    };
    if kept.len() != grid.len() || entries.iter().any(|entry| entry.part != entries[0].part) {
        return Err(format!(
            "MPI_Cart_sub of {} dimensions of a grid of {}, or not the same of all ranks",
            kept.len(),
            grid.len()
        ));
    }
    let mut parts: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (member, &rank) in members.iter().enumerate() {
        // The last dimension runs fastest.
        let mut left = member as u32;
        let mut fixed = Vec::new();
        for (&extent, &kept) in grid.iter().zip(kept.iter()).rev() {
            if !kept {
                fixed.push(left % extent);
            }
            left /= extent;
        }
        parts.entry(fixed).or_default().push(rank);
    }
    let extents = grid.iter().zip(kept.iter()).filter(|(_, kept)| **kept);
    let extents: Box<[u32]> = extents.map(|(&extent, _)| extent).collect();
    let parts = parts.into_values();
    Ok(parts.map(|ranks| (ranks, Some(extents.clone()))).collect())
}

/// Members in the most compact form.
pub(super) fn as_members(ranks: Vec<u32>) -> Result<Members, RankId> {
    let stride = match ranks.as_slice() {
        [first, second, ..] => second.checked_sub(*first).filter(|&stride| stride > 0),
        _ => Some(1),
    };
    if let Some(stride) = stride
        && ranks
            .windows(2)
            .all(|pair| pair[1].checked_sub(pair[0]) == Some(stride))
        && let Some(&first) = ranks.first()
    {
        return Ok(Members::Strided {
            first: RankId(first),
            stride,
            count: ranks.len() as u32,
        });
    }
    Members::listed(ranks.into_iter().map(RankId).collect::<Vec<_>>())
}
