//! Broadcast: one rank's message reaches all.

use odonata_declare::Named;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::steps::Repeat;
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::program::Totals;
use crate::script::{Operation, Script};

/// Who passes a broadcast on to whom. Ranks are counted from the root:
/// v = (rank − root) mod n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Tree {
    /// A binomial tree.
    ///
    /// v receives from v without its lowest set bit and sends to v + 2ᵏ for
    /// every 2ᵏ below that bit, the farthest first, as MPICH's short-message
    /// broadcast does (Thakur et al. 2005).
    #[default]
    Binomial,
    /// The root sends to all others itself.
    ///
    /// v = 1, 2, … in turn.
    Linear,
}

/// The broadcast program. A rank that has received starts all its sends at once
/// and is done with the iteration when they have left; the root does not wait
/// for the others before the next iteration.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast {
    ranks: u32,
    root: RankId,
    tree: Tree,
    message: Bytes,
    repeat: Repeat,
    totals: Totals,
}

/// Values of [`Cursor::stage`].
mod stage {
    pub const COMPUTE: u32 = 0;
    pub const RECEIVE: u32 = 1;
    pub const WAIT_RECEIVED: u32 = 2;
    pub const SEND: u32 = 3;
    pub const END: u32 = 4;
}

impl Broadcast {
    /// `root` broadcasts `message` bytes to the other ranks in each iteration.
    ///
    /// # Errors
    /// If there are fewer than two ranks, the root is none of them, the message
    /// is empty, there are no iterations, or totals exceed 64 bits.
    pub fn new(
        ranks: u32,
        root: RankId,
        tree: Tree,
        message: Bytes,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        if ranks < 2 {
            return Err(LoadError::TooFewRanks {
                load: "broadcast",
                ranks,
                least: 2,
            });
        }
        if root.0 >= ranks {
            return Err(LoadError::UnknownRank {
                list: "the root of the broadcast",
                rank: root.0,
                last: ranks - 1,
            });
        }
        if message == Bytes::ZERO {
            return Err(LoadError::EmptyMessage);
        }
        let messages = u128::from(ranks - 1);
        Ok(Self {
            ranks,
            root,
            tree,
            message,
            repeat,
            totals: repeat.totals(messages * u128::from(message.0), messages)?,
        })
    }

    /// `rank` counted from the root.
    fn relative(&self, rank: RankId) -> u32 {
        if rank.0 >= self.root.0 {
            rank.0 - self.root.0
        } else {
            rank.0 + (self.ranks - self.root.0)
        }
    }

    /// The rank that is `relative` counted from the root.
    fn absolute(&self, relative: u64) -> RankId {
        let rank = relative + u64::from(self.root.0);
        let ranks = u64::from(self.ranks);
        RankId(if rank >= ranks { rank - ranks } else { rank } as u32)
    }

    /// Whom `relative` > 0 receives from.
    fn parent(&self, relative: u32) -> RankId {
        self.absolute(match self.tree {
            Tree::Binomial => u64::from(relative & (relative - 1)),
            Tree::Linear => 0,
        })
    }

    /// The child of `relative` at `position` or after it, and the position after
    /// the child's.
    fn child(&self, relative: u32, position: u64) -> Option<(RankId, u64)> {
        let ranks = u64::from(self.ranks);
        match self.tree {
            Tree::Binomial => {
                let subtree = match relative {
                    0 => ranks.next_power_of_two(),
                    _ => u64::from(relative & relative.wrapping_neg()),
                };
                (position..)
                    .map(|position| (subtree >> (position + 1), position + 1))
                    .take_while(|&(distance, _)| distance > 0)
                    .map(|(distance, next)| (u64::from(relative) + distance, next))
                    .find(|&(child, _)| child < ranks)
                    .map(|(child, next)| (self.absolute(child), next))
            }
            Tree::Linear => (relative == 0 && position + 1 < ranks)
                .then(|| (self.absolute(position + 1), position + 1)),
        }
    }
}

impl Script for Broadcast {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        if cursor.iteration >= self.repeat.iterations {
            return Operation::Finish;
        }
        let relative = self.relative(rank);
        loop {
            match cursor.stage {
                stage::COMPUTE => {
                    cursor.stage = if relative == 0 {
                        stage::SEND
                    } else {
                        stage::RECEIVE
                    };
                    if self.repeat.compute > Picoseconds::ZERO {
                        return Operation::Compute(self.repeat.compute);
                    }
                }
                stage::RECEIVE => {
                    cursor.stage = stage::WAIT_RECEIVED;
                    let from = self.parent(relative);
                    return Operation::Receive { from, tag: 0 };
                }
                stage::WAIT_RECEIVED => {
                    cursor.stage = stage::SEND;
                    return Operation::WaitAll;
                }
                stage::SEND => {
                    if let Some((to, next)) = self.child(relative, cursor.position) {
                        cursor.position = next;
                        let bytes = self.message;
                        return Operation::Send { to, bytes, tag: 0 };
                    }
                    cursor.stage = stage::END;
                    if cursor.position > 0 {
                        return Operation::WaitAll;
                    }
                }
                _ => {
                    return cursor.end_iteration();
                }
            }
        }
    }

    fn totals(&self) -> Option<Totals> {
        Some(self.totals)
    }

    fn iterations(&self) -> u32 {
        self.repeat.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(broadcast: &Broadcast, relative: u32) -> Vec<u32> {
        let mut position = 0;
        std::iter::from_fn(|| {
            let (child, next) = broadcast.child(relative, position)?;
            position = next;
            Some(child.0)
        })
        .collect()
    }

    #[test]
    fn the_binomial_tree_of_eleven_ranks() {
        let broadcast =
            Broadcast::new(11, RankId(0), Tree::Binomial, Bytes(1), Repeat::ONCE).unwrap();
        assert_eq!(children(&broadcast, 0), [8, 4, 2, 1]);
        assert_eq!(children(&broadcast, 8), [10, 9]);
        assert_eq!(children(&broadcast, 4), [6, 5]);
        assert!(children(&broadcast, 10).is_empty());
        assert_eq!(broadcast.parent(10), RankId(8));
        assert_eq!(broadcast.parent(7), RankId(6));
    }

    #[test]
    fn trees_turn_with_their_root() {
        let broadcast = Broadcast::new(5, RankId(3), Tree::Linear, Bytes(1), Repeat::ONCE).unwrap();
        assert_eq!(children(&broadcast, 0), [4, 0, 1, 2]);
        assert_eq!(broadcast.relative(RankId(2)), 4);
        assert_eq!(broadcast.parent(4), RankId(3));
        assert!(Broadcast::new(5, RankId(5), Tree::Linear, Bytes(1), Repeat::ONCE).is_err());
    }
}
