//! Replay of a communication matrix as a closed-loop motif.

use odonata_units::{Bytes, Picoseconds, RankId};

use super::steps::{Receives, Repeat, send};
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::matrix::CommunicationMatrix;
use crate::program::Totals;
use crate::script::{Operation, Script};

/// Into how many messages an entry of the matrix is cut. The messages of an
/// entry differ by one byte at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSize {
    /// Each entry is one message.
    Whole,
    /// As few messages as possible of at most this many bytes.
    AtMost(Bytes),
    /// As many messages as the application sent (as many as there are bytes, if
    /// those are fewer).
    Recorded,
}

/// How a rank goes about the messages of its row and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixOrder {
    /// Whether it takes the other ranks from the lowest to the highest; otherwise it starts
    /// with the one after itself and wraps around, so that not everybody sends to rank 0
    /// first.
    pub ascending: bool,
    /// Whether a send is complete before the rank does anything else.
    pub blocking: bool,
    /// When receives are posted: all at first, or those from each rank just before the sends
    /// to it, in ascending order.
    pub receives: Receives,
}

/// In every iteration each rank posts the receives of all messages of its
/// column, sends those of its row and waits for all of them, in a [`MatrixOrder`]; the
/// messages of one entry follow each other.
///
/// Partners in ascending order, a receive and a blocking send for each, and then all
/// receives: so the Unstructured motif of SST's Ember replays its graphs.
#[derive(Clone, Debug)]
pub struct MatrixReplay {
    rows: Lists,
    columns: Lists,
    /// With receives in turn: the ranks that a rank exchanges anything with. Shape: ranks,
    /// or empty.
    turns: Vec<Vec<Turn>>,
    blocking: bool,
    repeat: Repeat,
    totals: Totals,
}

/// What a rank exchanges with another.
#[derive(Clone, Copy, Debug)]
struct Turn {
    rank: RankId,
    /// Messages that it receives.
    received: u32,
    /// What it sends.
    sent: Option<Peer>,
}

/// A list of peers per rank, each in the order in which the rank takes them.
#[derive(Clone, Debug)]
struct Lists {
    starts: Vec<usize>,
    peers: Vec<Peer>,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    rank: RankId,
    messages: u32,
    /// All bytes of the entry.
    bytes: u64,
}

impl Lists {
    fn of(&self, rank: RankId) -> &[Peer] {
        &self.peers[self.starts[rank.index()]..self.starts[rank.index() + 1]]
    }

    /// The list of each rank.
    fn all(&self) -> impl Iterator<Item = &[Peer]> {
        (0..self.starts.len() - 1).map(|rank| self.of(RankId::from_index(rank)))
    }

    /// Turns each rank's list, sorted by peer, so that it starts after the own rank.
    fn turn(&mut self) {
        for rank in 0..self.starts.len() - 1 {
            let list = &mut self.peers[self.starts[rank]..self.starts[rank + 1]];
            let after = list.partition_point(|peer| peer.rank.index() < rank);
            list.rotate_left(after);
        }
    }
}

impl Peer {
    /// Bytes of message `index`: the first ones are a byte longer where the
    /// bytes do not divide.
    fn message(&self, index: u32) -> Bytes {
        let messages = u64::from(self.messages);
        let longer = u64::from(u64::from(index) < self.bytes % messages);
        Bytes(self.bytes / messages + longer)
    }
}

/// Values of [`Cursor::stage`].
mod stage {
    pub const COMPUTE: u32 = 0;
    pub const RECEIVE: u32 = 1;
    pub const SEND: u32 = 2;
    pub const END: u32 = 3;
}

impl MatrixReplay {
    /// Replays `matrix` once per iteration, with every entry's bytes multiplied
    /// by `scale` and rounded. Entries without bytes send nothing.
    ///
    /// # Errors
    /// If receives are to be posted in turn in another order than the ascending one (all ranks
    /// might wait for each other), the scale is not positive, the largest message is empty, counts are
    /// wanted but missing, an entry makes 2³² messages or more, there are no
    /// iterations, or totals exceed 64 bits.
    pub fn new(
        matrix: &CommunicationMatrix,
        scale: f64,
        size: MessageSize,
        order: MatrixOrder,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        if order.receives == Receives::InTurn && !order.ascending {
            return Err(LoadError::ReceivesInTurn);
        }
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(LoadError::Scale { found: scale });
        }
        match size {
            MessageSize::AtMost(Bytes::ZERO) => return Err(LoadError::EmptyMessage),
            MessageSize::Recorded if !matrix.has_message_counts() => {
                return Err(LoadError::NoMessageCounts);
            }
            _ => {}
        }
        let ranks = matrix.ranks() as usize;
        let mut rows = Lists {
            starts: vec![0; ranks + 1],
            peers: Vec::new(),
        };
        let mut received = vec![0usize; ranks + 1];
        let (mut bytes, mut messages) = (0u128, 0u128);
        for (from, entry) in matrix.entries() {
            let scaled = match scale {
                1.0 => entry.bytes,
                _ => (entry.bytes as f64 * scale).round() as u64,
            };
            if scaled == 0 {
                continue;
            }
            let count = match size {
                MessageSize::Whole => 1,
                MessageSize::AtMost(most) => scaled.div_ceil(most.0),
                MessageSize::Recorded => entry.messages.clamp(1, scaled),
            };
            let peer = Peer {
                rank: entry.to,
                bytes: scaled,
                messages: u32::try_from(count).map_err(|_| LoadError::TooManyMessages {
                    source_rank: from.0,
                    destination: entry.to.0,
                    bytes: scaled,
                    messages: count,
                })?,
            };
            bytes += u128::from(scaled);
            messages += u128::from(count);
            rows.peers.push(peer);
            rows.starts[from.index() + 1] = rows.peers.len();
            received[entry.to.index() + 1] += 1;
        }
        for rank in 0..ranks {
            rows.starts[rank + 1] = rows.starts[rank + 1].max(rows.starts[rank]);
            received[rank + 1] += received[rank];
        }
        let mut columns = transpose(&rows, received);
        let turns = match order.receives {
            Receives::Ahead => Vec::new(),
            Receives::InTurn => rows.all().zip(columns.all()).map(merged).collect(),
        };
        if !order.ascending {
            rows.turn();
            columns.turn();
        }
        Ok(Self {
            rows,
            columns,
            turns,
            blocking: order.blocking,
            repeat,
            totals: repeat.totals(bytes, messages)?,
        })
    }
}

/// The lists of senders of each receiver; `starts` of each receiver's list.
fn transpose(rows: &Lists, starts: Vec<usize>) -> Lists {
    let nobody = Peer {
        rank: RankId(0),
        messages: 0,
        bytes: 0,
    };
    let mut peers = vec![nobody; rows.peers.len()];
    let mut filled = starts.clone();
    for from in (0..starts.len() - 1).map(RankId::from_index) {
        for peer in rows.of(from) {
            let slot = &mut filled[peer.rank.index()];
            peers[*slot] = Peer {
                rank: from,
                ..*peer
            };
            *slot += 1;
        }
    }
    Lists { starts, peers }
}

/// A rank's row and column, both sorted, as one list.
fn merged((row, column): (&[Peer], &[Peer])) -> Vec<Turn> {
    let (mut row, mut column) = (row.iter().peekable(), column.iter().peekable());
    let mut turns = Vec::new();
    loop {
        let next = [row.peek(), column.peek()];
        let Some(rank) = next.into_iter().flatten().map(|peer| peer.rank).min() else {
            return turns;
        };
        let received = column.next_if(|peer| peer.rank == rank);
        turns.push(Turn {
            rank,
            received: received.map_or(0, |peer| peer.messages),
            sent: row.next_if(|peer| peer.rank == rank).copied(),
        });
    }
}

/// The next message of `list` at a cursor position, which holds the peer in its
/// upper and the message in its lower half.
fn advance(list: &[Peer], position: &mut u64) -> Option<(Peer, u32)> {
    let (at, message) = (*position >> 32, *position as u32);
    let peer = *list.get(at as usize)?;
    *position = if message + 1 < peer.messages {
        *position + 1
    } else {
        (at + 1) << 32
    };
    Some((peer, message))
}

impl MatrixReplay {
    /// The next receive or send of a rank that takes its partners in turn; `None`: all have
    /// been taken. The cursor's position holds the turn in its upper and the message in its
    /// lower half.
    fn next_in_turn(&self, rank: RankId, cursor: &mut Cursor) -> Option<Operation> {
        let turns = &self.turns[rank.index()];
        loop {
            let (at, message) = (cursor.position >> 32, cursor.position as u32);
            let turn = turns.get(at as usize)?;
            if cursor.stage == stage::RECEIVE {
                if message < turn.received {
                    cursor.position += 1;
                    let from = turn.rank;
                    return Some(Operation::Receive { from, tag: 0 });
                }
                cursor.stage = stage::SEND;
                cursor.position = at << 32;
                continue;
            }
            if let Some(peer) = turn.sent.filter(|peer| message < peer.messages) {
                cursor.position += 1;
                return Some(send(peer.rank, peer.message(message), 0, self.blocking));
            }
            cursor.stage = stage::RECEIVE;
            cursor.position = (at + 1) << 32;
        }
    }
}

impl Script for MatrixReplay {
    fn ranks(&self) -> u32 {
        self.rows.starts.len() as u32 - 1
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        if cursor.iteration >= self.repeat.iterations {
            return Operation::Finish;
        }
        loop {
            match cursor.stage {
                stage::RECEIVE | stage::SEND if !self.turns.is_empty() => {
                    if let Some(operation) = self.next_in_turn(rank, cursor) {
                        return operation;
                    }
                    cursor.stage = stage::END;
                    return Operation::WaitAll;
                }
                stage::COMPUTE => {
                    cursor.stage = stage::RECEIVE;
                    if self.repeat.compute > Picoseconds::ZERO {
                        return Operation::Compute(self.repeat.compute);
                    }
                }
                stage::RECEIVE => {
                    if let Some((peer, _)) = advance(self.columns.of(rank), &mut cursor.position) {
                        let from = peer.rank;
                        return Operation::Receive { from, tag: 0 };
                    }
                    cursor.stage = stage::SEND;
                    cursor.position = 0;
                }
                stage::SEND => {
                    if let Some((peer, index)) = advance(self.rows.of(rank), &mut cursor.position) {
                        return send(peer.rank, peer.message(index), 0, self.blocking);
                    }
                    cursor.stage = stage::END;
                    return Operation::WaitAll;
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
mod tests;
