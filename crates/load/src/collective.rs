//! Collectives: how the members of a communicator carry out a broadcast, an
//! all-reduce, an all-to-all, … by messages.
//!
//! [`Algorithms`] says by which algorithm each operation is done and makes
//! [`CollectiveCall`]s; a call says what each member does for it, move by move.
//! Algorithms, sources and the time that they take: `docs/collectives.md`.
//!
//! A call is a sequence of phases, patterns that several algorithms share. Where
//! a member's part of a phase has rounds it receives, sends, waits for both and
//! combines what it got, round by round, as the sendrecv of MPI does: nothing
//! relies on a network that holds messages.

mod algorithms;
mod all_to_all;
mod bine;
mod calls;
mod choice;
mod data;
mod exchange;
mod folded;
mod groups;
mod nccl;
mod part;
mod phase;
mod prefix;
mod ring;
mod tree;

use odonata_units::{Bandwidth, Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

pub use algorithms::{
    AlgorithmList, Algorithms, AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm,
    AlltoallvAlgorithm, BarrierAlgorithm, BroadcastAlgorithm, Family, GatherAlgorithm, OPERATIONS,
    ReduceAlgorithm, ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm, lists,
};
pub use calls::NcclWay;
pub use groups::Groups;
pub use nccl::{Cpu, Gpu, Nccl, NcclAlgorithm, NcclVersion, NodeLinks, Nodes, Protocol, Search};
#[cfg(test)]
pub(crate) use part::COLLECTIVE_TAGS;
pub(crate) use part::{Part, Progress};

use crate::communicator::Member;
use crate::cursor::Cursor;
use crate::program::{CollectiveKind, Totals};
use data::Blocks;
use exchange::{AtOnce, Taking};
use phase::{Activity, Phase};

/// What one member does next in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Starts to send to a member.
    Send {
        /// Receiver.
        to: Member,
        /// Size, at least 1 byte.
        bytes: Bytes,
        /// Tells apart messages of the same two members in the same collective.
        tag: u32,
    },
    /// Posts a receive.
    Receive {
        /// Sender.
        from: Member,
        /// The sender's.
        tag: u32,
    },
    /// Blocks until all that it sends and receives is complete.
    WaitAll,
    /// Blocks until all that it sends and receives is complete, but for the receive that it
    /// posted last.
    WaitAllButLast,
    /// Combines received data with its own.
    Compute(Picoseconds),
    /// Its part is done when all that it sends and receives is complete.
    Done,
}

/// What is asked of the members of a communicator and by which algorithm, the
/// same for all of them but for sizes that are each member's own. Made by
/// [`Algorithms`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveCall {
    kind: CollectiveKind,
    /// How fast a member combines data; `None`: in no time.
    combine: Option<Bandwidth>,
    /// Parts of the data that go their own ways side by side, each through as many of the phases.
    lanes: u32,
    /// How NCCL puts data on the wire.
    protocol: Protocol,
    phases: Box<[Phase]>,
}

/// Tags of a phase: what a tag holds beside the number of the phase. Of messages
/// of two members whose tags are that far apart it does not matter which is which:
/// they are segments of the same size but for a byte.
const PHASE_TAGS: u32 = 1 << 11;

/// A [`Move`], and what it means for the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Send {
        to: Member,
        tag: u32,
        blocks: Blocks,
    },
    Receive {
        from: Member,
        tag: u32,
        // Bytes follow from the sender's blocks; tests compare the two.
        blocks: Blocks,
        taking: Taking,
    },
    WaitAll,
    WaitAllButLast,
    /// Combines blocks of received data, that many times.
    Combine {
        blocks: Blocks,
        operations: u8,
    },
    Done,
}

impl CollectiveCall {
    /// Which operation of MPI it is.
    pub fn kind(&self) -> CollectiveKind {
        self.kind
    }

    /// Where a member starts: in each of its lanes, which it goes along side by side.
    pub fn lanes(&self) -> impl Iterator<Item = Cursor> {
        let each = self.phases_of_lane();
        (0..self.lanes).map(move |lane| Cursor {
            stage: lane * each,
            ..Cursor::default()
        })
    }

    /// Each lane as a call of its own, those that meet together.
    #[cfg(test)]
    fn split(&self) -> Vec<Self> {
        let meet = matches!(self.phases.first(), Some(phase) if phase.tags_later(0) > 0);
        let lanes = if meet { 2 } else { 1 };
        let together = (lanes * self.phases_of_lane()).max(1) as usize;
        let alone = |phases: &[Phase]| Self {
            lanes,
            phases: phases.into(),
            ..self.clone()
        };
        self.phases.chunks(together).map(alone).collect()
    }

    fn phases_of_lane(&self) -> u32 {
        self.phases.len() as u32 / self.lanes
    }

    /// What member `me` of `size` does at `cursor`, which moves on. A member
    /// starts from each of [`lanes`](Self::lanes); after [`Move::Done`] it keeps answering
    /// `Done`. `size` is the number of members that the call was made for.
    ///
    /// A message without data has 1 byte.
    pub fn next(&self, me: Member, size: u32, cursor: &mut Cursor) -> Move {
        loop {
            return match self.act(me, size, cursor) {
                Act::Send { to, tag, blocks } => {
                    let bytes = self.phases[phase_of(tag)].data.bytes(blocks);
                    Move::Send {
                        to,
                        bytes: self.protocol.on_wire(bytes).max(Bytes(1)),
                        tag,
                    }
                }
                Act::Receive { from, tag, .. } => Move::Receive { from, tag },
                Act::WaitAll => Move::WaitAll,
                Act::WaitAllButLast => Move::WaitAllButLast,
                Act::Combine { blocks, operations } => {
                    let Some(rate) = self.combine else { continue };
                    // The cursor is still in the phase whose round has ended.
                    let bytes = self.phases[cursor.stage as usize].data.bytes(blocks);
                    let all = bytes.0.saturating_mul(u64::from(operations));
                    Move::Compute(rate.duration_of(all))
                }
                Act::Done => Move::Done,
            };
        }
    }

    /// The first part of it: of what is done many times in the same way, one after the other,
    /// only this many times; of rounds whose partners differ as many of all. Those are rounds
    /// around rings and between pairs, segments along trees, and messages of single blocks.
    pub fn shortened(mut self, repeats: u32) -> Self {
        for phase in &mut self.phases {
            phase.repeats = Some(repeats.max(1));
        }
        self
    }

    /// All that member `me` of `size` sends.
    pub fn sent(&self, me: Member, size: u32) -> Totals {
        let mut totals = Totals::default();
        for mut cursor in self.lanes() {
            loop {
                match self.next(me, size, &mut cursor) {
                    Move::Send { bytes, .. } => {
                        totals.bytes += bytes;
                        totals.messages += 1;
                    }
                    Move::Done => break,
                    _ => {}
                }
            }
        }
        totals
    }

    /// The next thing that a member does. The cursor holds phase (`stage`), round
    /// or, where all goes at once, message (`position`), and what of the round
    /// comes next (`iteration`).
    fn act(&self, me: Member, size: u32, cursor: &mut Cursor) -> Act {
        loop {
            let number = cursor.stage;
            let Some(phase) = self.phases.get(number as usize) else {
                return Act::Done;
            };
            let place = phase.place(me, size);
            let member = |place| phase.member(place, size);
            let tag = |tag| number * PHASE_TAGS + tag % PHASE_TAGS;
            let blocks = |blocks| phase.blocks_of(blocks, size);
            match phase.doing(place, size, cursor.position) {
                Activity::End => {
                    let ends = (number + 1).is_multiple_of(self.phases_of_lane());
                    *cursor = Cursor {
                        stage: if ends { u32::MAX } else { number + 1 },
                        ..Cursor::default()
                    };
                    if phase.is_at_once() {
                        return Act::WaitAll;
                    }
                }
                Activity::AtOnce(next) => {
                    cursor.position += 1;
                    match next {
                        AtOnce::Nothing => {}
                        AtOnce::Wait => return Act::WaitAll,
                        AtOnce::WaitButLast => return Act::WaitAllButLast,
                        AtOnce::Receive(transfer) => {
                            return Act::Receive {
                                from: member(transfer.peer),
                                tag: tag(transfer.tag),
                                blocks: transfer.blocks,
                                taking: Taking::Keep,
                            };
                        }
                        AtOnce::Collect(transfer) => {
                            return Act::Receive {
                                from: member(transfer.peer),
                                tag: tag(transfer.tag),
                                blocks: transfer.blocks,
                                taking: Taking::Combine,
                            };
                        }
                        AtOnce::Combine(blocks) => {
                            return Act::Combine {
                                blocks,
                                operations: 1,
                            };
                        }
                        AtOnce::Send(transfer) => {
                            return Act::Send {
                                to: member(transfer.peer),
                                tag: tag(transfer.tag),
                                blocks: transfer.blocks,
                            };
                        }
                    }
                }
                Activity::Round(exchange) => {
                    cursor.iteration += 1;
                    match cursor.iteration {
                        1 => {
                            if let Some((transfer, taking)) = exchange.receive {
                                return Act::Receive {
                                    from: member(transfer.peer),
                                    tag: tag(transfer.tag),
                                    blocks: blocks(transfer.blocks),
                                    taking,
                                };
                            }
                        }
                        2 => {
                            if let Some(transfer) = exchange.send {
                                let later = phase.tags_later(place) * PHASE_TAGS;
                                return Act::Send {
                                    to: member(transfer.peer),
                                    tag: tag(transfer.tag) + later,
                                    blocks: blocks(transfer.blocks),
                                };
                            }
                        }
                        3 => {
                            if exchange.receive.is_some() || exchange.send.is_some() {
                                return Act::WaitAll;
                            }
                        }
                        _ => {
                            cursor.iteration = 0;
                            cursor.position += 1;
                            if let Some((transfer, taking)) = exchange.receive
                                && let operations @ 1.. = taking.operations()
                            {
                                return Act::Combine {
                                    blocks: blocks(transfer.blocks),
                                    operations,
                                };
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The phase of a tag.
fn phase_of(tag: u32) -> usize {
    (tag / PHASE_TAGS) as usize
}

#[cfg(test)]
mod tests;
