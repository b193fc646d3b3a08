//! Replay of a communication matrix as a closed-loop motif.

use odonata_units::{Bytes, Picoseconds, RankId};

use super::steps::Repeat;
use crate::error::LoadError;
use crate::matrix::CommunicationMatrix;
use crate::program::Totals;
use crate::script::{Cursor, Operation, Script};

/// Into how many messages an entry of the matrix is cut. The messages of an
/// entry differ by one byte at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSize {
    /// Each entry is one message.
    Whole,
    /// As few messages as possible of at most so many bytes.
    AtMost(Bytes),
    /// As many messages as the application sent (as many as there are bytes, if
    /// those are fewer).
    Recorded,
}

/// In every iteration each rank posts the receives of all messages of its
/// column, sends those of its row and waits for all of them. Rows and columns
/// start at the entry after the own rank and wrap around, so that not everybody
/// sends to rank 0 first; the messages of one entry follow each other.
#[derive(Clone, Debug)]
pub struct MatrixReplay {
    rows: Lists,
    columns: Lists,
    repeat: Repeat,
    totals: Totals,
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
    /// If the scale is not positive, the largest message is empty, counts are
    /// wanted but missing, an entry makes 2³² messages or more, there are no
    /// iterations, or totals exceed 64 bits.
    pub fn new(
        matrix: &CommunicationMatrix,
        scale: f64,
        size: MessageSize,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
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
        rows.turn();
        columns.turn();
        Ok(Self {
            rows,
            columns,
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
                        return Operation::Send {
                            to: peer.rank,
                            bytes: peer.message(index),
                            tag: 0,
                        };
                    }
                    cursor.stage = stage::END;
                    return Operation::WaitAll;
                }
                _ => {
                    *cursor = Cursor {
                        iteration: cursor.iteration + 1,
                        ..Cursor::default()
                    };
                    return Operation::EndIteration;
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
    use crate::matrix::MatrixBuilder;

    fn matrix(counted: bool) -> CommunicationMatrix {
        let mut builder = MatrixBuilder::new();
        for (from, to, bytes, messages) in [
            (0, 1, 10, 3),
            (1, 0, 5, 1),
            (1, 2, 7, 9),
            (1, 3, 0, 2),
            (3, 1, 4, 1),
        ] {
            let messages = counted.then_some(messages);
            builder.add(RankId(from), RankId(to), Bytes(bytes), messages);
        }
        builder.build(4).unwrap().0
    }

    fn operations(replay: &MatrixReplay, rank: u32) -> Vec<Operation> {
        let mut cursor = Cursor::default();
        let all = std::iter::repeat_with(|| replay.next(RankId(rank), &mut cursor));
        all.take_while(|operation| *operation != Operation::Finish)
            .collect()
    }

    fn send(to: u32, bytes: u64) -> Operation {
        Operation::Send {
            to: RankId(to),
            bytes: Bytes(bytes),
            tag: 0,
        }
    }

    fn receive(from: u32) -> Operation {
        Operation::Receive {
            from: RankId(from),
            tag: 0,
        }
    }

    #[test]
    fn a_rank_starts_after_itself_and_cuts_evenly() {
        let size = MessageSize::AtMost(Bytes(3));
        let replay = MatrixReplay::new(&matrix(false), 1.0, size, Repeat::ONCE).unwrap();
        use Operation::{EndIteration, WaitAll};
        // Rank 1: its column holds 10 B from 0 (4 messages) and 4 B from 3 (2),
        // its row 5 B to 0 (2) and 7 B to 2 (3); it begins at 2.
        assert_eq!(
            operations(&replay, 1),
            [
                receive(3),
                receive(3),
                receive(0),
                receive(0),
                receive(0),
                receive(0),
                send(2, 3),
                send(2, 2),
                send(2, 2),
                send(0, 3),
                send(0, 2),
                WaitAll,
                EndIteration,
            ]
        );
        assert_eq!(
            operations(&replay, 2),
            [receive(1), receive(1), receive(1), WaitAll, EndIteration]
        );
        assert_eq!(replay.totals().unwrap().messages, 4 + 2 + 3 + 2);
        assert_eq!(replay.totals().unwrap().bytes, Bytes(26));
    }

    #[test]
    fn counts_are_replayed_as_recorded() {
        let replay = |matrix, scale| {
            MatrixReplay::new(&matrix, scale, MessageSize::Recorded, Repeat::times(2))
        };
        // 9 messages of 7 bytes become 7 messages of 1 byte.
        assert_eq!(
            replay(matrix(true), 1.0)
                .unwrap()
                .totals()
                .unwrap()
                .messages,
            2 * (3 + 1 + 7 + 1)
        );
        // Scaled by 10, all 9 can be sent; bytes 260 an iteration.
        let larger = replay(matrix(true), 10.0).unwrap();
        assert_eq!(larger.totals().unwrap().messages, 2 * (3 + 1 + 9 + 1));
        assert_eq!(larger.totals().unwrap().bytes, Bytes(520));
        assert_eq!(
            replay(matrix(false), 1.0).unwrap_err(),
            LoadError::NoMessageCounts
        );
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let new =
            |scale, size| MatrixReplay::new(&matrix(false), scale, size, Repeat::ONCE).unwrap_err();
        assert_eq!(
            new(0.0, MessageSize::Whole),
            LoadError::Scale { found: 0.0 }
        );
        assert_eq!(
            new(1.0, MessageSize::AtMost(Bytes(0))),
            LoadError::EmptyMessage
        );
        assert!(matches!(
            new(1e12, MessageSize::AtMost(Bytes(1))),
            LoadError::TooManyMessages { .. }
        ));
    }
}
