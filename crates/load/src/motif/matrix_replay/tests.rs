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
    let order = MatrixOrder::default();
    let replay = MatrixReplay::new(&matrix(false), 1.0, size, order, Repeat::ONCE).unwrap();
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

/// As Ember's Unstructured motif: for each partner in ascending order its receives and
/// blocking sends, then all receives.
#[test]
fn embers_order_and_blocking() {
    let size = MessageSize::AtMost(Bytes(5));
    let order = MatrixOrder {
        ascending: true,
        blocking: true,
        receives: Receives::InTurn,
    };
    let replay = MatrixReplay::new(&matrix(false), 1.0, size, order, Repeat::ONCE).unwrap();
    use Operation::{EndIteration, WaitAll};
    let blocking = |to, bytes| super::send(RankId(to), Bytes(bytes), 0, true);
    // Rank 1: 10 B from 0 and 5 B to it, 7 B to 2, 4 B from 3.
    assert_eq!(
        operations(&replay, 1),
        [
            receive(0),
            receive(0),
            blocking(0, 5),
            blocking(2, 4),
            blocking(2, 3),
            receive(3),
            WaitAll,
            EndIteration,
        ]
    );
    assert_eq!(
        operations(&replay, 3),
        [blocking(1, 4), WaitAll, EndIteration]
    );
    // The same order alone.
    let order = MatrixOrder {
        ascending: true,
        ..MatrixOrder::default()
    };
    let replay = MatrixReplay::new(&matrix(false), 1.0, size, order, Repeat::ONCE).unwrap();
    assert_eq!(
        operations(&replay, 1)[3..],
        [send(0, 5), send(2, 4), send(2, 3), WaitAll, EndIteration]
    );
}

#[test]
fn counts_are_replayed_as_recorded() {
    let replay = |matrix, scale| {
        let order = MatrixOrder::default();
        MatrixReplay::new(
            &matrix,
            scale,
            MessageSize::Recorded,
            order,
            Repeat::times(2),
        )
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
    let in_turn = MatrixOrder {
        receives: Receives::InTurn,
        ..MatrixOrder::default()
    };
    let replay = |scale, size, order| {
        MatrixReplay::new(&matrix(false), scale, size, order, Repeat::ONCE).unwrap_err()
    };
    assert_eq!(
        replay(1.0, MessageSize::Whole, in_turn),
        LoadError::ReceivesInTurn
    );
    let new = |scale, size| replay(scale, size, MatrixOrder::default());
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
