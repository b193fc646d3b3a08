//! Communicators: ranks of a job that communicate as a group of their own.

use odonata_units::RankId;
use serde::{Deserialize, Serialize};

use crate::program::Context;

/// Index of a rank in a communicator (its MPI rank there).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Member(pub u32);

/// Who is in a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Members {
    /// Ranks `first`, `first + stride`, …
    Strided {
        /// The first.
        first: RankId,
        /// Distance, at least 1.
        stride: u32,
        /// Number of members.
        count: u32,
    },
    /// Any ranks in any order.
    Listed(Listed),
}

impl Members {
    /// These ranks, in order.
    ///
    /// # Errors
    /// The first rank that is listed twice.
    pub fn listed(ranks: impl Into<Box<[RankId]>>) -> Result<Self, RankId> {
        let ranks = ranks.into();
        let mut by_rank: Box<[u32]> = (0..ranks.len() as u32).collect();
        by_rank.sort_unstable_by_key(|&member| ranks[member as usize]);
        match by_rank
            .windows(2)
            .find(|pair| ranks[pair[0] as usize] == ranks[pair[1] as usize])
        {
            Some(pair) => Err(ranks[pair[0] as usize]),
            None => Ok(Self::Listed(Listed { ranks, by_rank })),
        }
    }
}

/// Ranks in any order, none twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    ranks: Box<[RankId]>,
    /// Members in the order of their ranks.
    by_rank: Box<[u32]>,
}

/// Ranks of a job with a context of their own (`MPI_Comm`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    number: u32,
    members: Members,
}

impl Communicator {
    /// `number` tells it from all others that have a member in common with it.
    /// All members use the same.
    ///
    /// # Panics
    /// If `number` is not below [`Context::LARGEST`].
    pub fn new(number: u32, members: Members) -> Self {
        assert!(
            number < Context::LARGEST,
            "a communicator beyond the largest"
        );
        Self { number, members }
    }

    /// All `ranks` ranks of a job, by number 0 (`MPI_COMM_WORLD`).
    pub fn world(ranks: u32) -> Self {
        let members = Members::Strided {
            first: RankId(0),
            stride: 1,
            count: ranks,
        };
        Self::new(0, members)
    }

    /// The same ranks by another number (`MPI_Comm_dup`).
    #[must_use]
    pub fn renumbered(&self, number: u32) -> Self {
        Self::new(number, self.members.clone())
    }

    /// What tells it from others.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where messages between two members match: in the order of sending.
    pub fn messages(&self) -> Context {
        Context::ordered(self.number)
    }

    /// Where messages of its collectives match.
    pub fn collectives(&self) -> Context {
        // Number 0 is that of scripts' own messages.
        Context::unordered(self.number + 1)
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Strided { count, .. } => *count,
            Members::Listed(listed) => listed.ranks.len() as u32,
        }
    }

    /// The rank of a member.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn rank(&self, member: Member) -> RankId {
        assert!(member.0 < self.size(), "a member beyond the last");
        match &self.members {
            Members::Strided { first, stride, .. } => RankId(first.0 + member.0 * stride),
            Members::Listed(listed) => listed.ranks[member.0 as usize],
        }
    }

    /// Which member a rank is; `None` if it is none.
    pub fn member(&self, rank: RankId) -> Option<Member> {
        match &self.members {
            Members::Strided {
                first,
                stride,
                count,
            } => {
                let offset = rank.0.checked_sub(first.0)?;
                let index = offset / stride;
                (offset % stride == 0 && index < *count).then_some(Member(index))
            }
            Members::Listed(listed) => {
                let rank_of = |&member: &u32| listed.ranks[member as usize];
                let place = listed.by_rank.binary_search_by_key(&rank, rank_of).ok()?;
                Some(Member(listed.by_rank[place]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_ranks_are_inverse() {
        let strided = Members::Strided {
            first: RankId(3),
            stride: 4,
            count: 5,
        };
        let listed = Members::listed([RankId(9), RankId(2), RankId(5)]).unwrap();
        for (members, size) in [(strided, 5), (listed, 3)] {
            let communicator = Communicator::new(7, members);
            assert_eq!(communicator.size(), size);
            let mut found = 0;
            for rank in 0..40 {
                if let Some(member) = communicator.member(RankId(rank)) {
                    assert_eq!(communicator.rank(member), RankId(rank));
                    found += 1;
                }
            }
            assert_eq!(found, size);
        }
    }

    #[test]
    fn a_rank_is_listed_once() {
        let twice = Members::listed([RankId(4), RankId(1), RankId(4)]);
        assert_eq!(twice, Err(RankId(4)));
    }

    #[test]
    fn contexts_of_messages_and_collectives_are_apart() {
        let world = Communicator::world(4);
        let other = Communicator::new(1, Members::listed([RankId(1)]).unwrap());
        let mut contexts = [
            world.messages(),
            world.collectives(),
            other.messages(),
            other.collectives(),
            crate::SCRIPT_CONTEXT,
        ];
        contexts.sort_unstable();
        assert!(contexts.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(world.messages().is_ordered() && !world.collectives().is_ordered());
    }
}
