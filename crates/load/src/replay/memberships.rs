//! All communicators of a job, and which of them a rank means.

use std::sync::Arc;

use odonata_units::RankId;

use super::call::Slot;
use super::communicators::{Which, as_members};
use crate::communicator::{Communicator, Members};

/// All communicators of a job. Memory: 8 bytes for every member of every
/// communicator, and 8 more where members do not follow each other evenly.
#[derive(Debug)]
pub(super) struct Communicators {
    /// The world first.
    pub all: Vec<Arc<Communicator>>,
    pub(super) slots: Slots,
}

/// Which communicator each slot is.
#[derive(Debug)]
pub(super) enum Slots {
    /// By rank and slot.
    OfRanks(Vec<Box<[Which]>>),
    /// By slot, the same for all ranks.
    Same(Box<[Which]>),
}

impl Communicators {
    /// The communicators that a trace defines outright; slots are the same for all ranks.
    ///
    /// # Errors
    /// If a rank is twice in a communicator.
    pub fn defined(ranks: u32, members: Vec<Option<Box<[u32]>>>) -> Result<Self, String> {
        let mut all = vec![Arc::new(Communicator::world(ranks))];
        let mut slots = vec![Which::Index(0), Which::Myself];
        for (index, members) in members.into_iter().enumerate() {
            slots.push(match members {
                None => Which::Myself,
                Some(members) => {
                    let members = as_members(members.into())
                        .map_err(|rank| format!("communicator {index} has rank {rank} twice"))?;
                    all.push(Arc::new(Communicator::new(index as u32 + 2, members)));
                    Which::Index(all.len() as u32 - 1)
                }
            });
        }
        Ok(Self {
            all,
            slots: Slots::Same(slots.into()),
        })
    }

    /// Which communicator a slot of a rank is.
    pub fn which(&self, slot: Slot, rank: u32) -> Option<Which> {
        let slots = match &self.slots {
            Slots::OfRanks(slots) => slots.get(rank as usize)?,
            Slots::Same(slots) => slots,
        };
        slots.get(slot.0 as usize).copied()
    }

    /// A communicator as a rank knows it.
    pub fn get(&self, slot: Slot, rank: u32) -> Option<Arc<Communicator>> {
        Some(match self.which(slot, rank)? {
            Which::Index(index) => self.all[index as usize].clone(),
            Which::Myself => {
                let members = Members::Strided {
                    first: RankId(rank),
                    stride: 1,
                    count: 1,
                };
                Arc::new(Communicator::new(1, members))
            }
        })
    }

    /// Communicators that a rank shares with others: slot, and index among all.
    pub fn shared(&self, rank: u32) -> impl Iterator<Item = (Slot, u32)> {
        let slots: &[Which] = match &self.slots {
            Slots::OfRanks(slots) => &slots[rank as usize],
            Slots::Same(slots) => slots,
        };
        let slots = slots.iter().enumerate();
        slots.filter_map(move |(slot, which)| match which {
            Which::Index(index) if self.all[*index as usize].member(RankId(rank)).is_some() => {
                Some((Slot(slot as u32), *index))
            }
            _ => None,
        })
    }
}
