use super::*;
use crate::cursor::Cursor;
use crate::script::{Operation, Script};

fn operations(program: &AllToAll, rank: u32) -> Vec<Operation> {
    let mut cursor = Cursor::default();
    let all = std::iter::repeat_with(|| program.next(RankId(rank), &mut cursor));
    all.take_while(|operation| *operation != Operation::Finish)
        .collect()
}

fn receive(from: u32) -> Operation {
    Operation::Receive {
        from: RankId(from),
        tag: 0,
    }
}

fn send(to: u32) -> Operation {
    Operation::Send {
        to: RankId(to),
        bytes: Bytes(100),
        tag: 0,
    }
}

#[test]
fn a_window_of_one_waits_for_every_step() {
    let program = AllToAll::new(4, Bytes(100), 1, Repeat::ONCE).unwrap();
    use Operation::{EndIteration, WaitAll};
    assert_eq!(
        operations(&program, 1),
        [
            receive(0),
            send(2),
            WaitAll,
            receive(3),
            send(3),
            WaitAll,
            receive(2),
            send(0),
            WaitAll,
            EndIteration,
        ]
    );
    assert_eq!(program.totals().unwrap().messages, 12);
    assert_eq!(program.totals().unwrap().bytes, Bytes(1_200));
}

#[test]
fn a_window_of_two_posts_two_steps_at_once() {
    let program = AllToAll::new(4, Bytes(100), 2, Repeat::ONCE).unwrap();
    use Operation::{EndIteration, WaitAll};
    assert_eq!(
        operations(&program, 0),
        [
            receive(3),
            receive(2),
            send(1),
            send(2),
            WaitAll,
            receive(1),
            send(3),
            WaitAll,
            EndIteration,
        ]
    );
}

#[test]
fn what_cannot_run_is_refused() {
    let new = |ranks, bytes, window, iterations| {
        AllToAll::new(ranks, Bytes(bytes), window, Repeat::times(iterations)).unwrap_err()
    };
    assert!(matches!(new(1, 1, 1, 1), LoadError::TooFewRanks { .. }));
    assert_eq!(new(2, 0, 1, 1), LoadError::EmptyMessage);
    assert_eq!(new(2, 1, 0, 1), LoadError::NoWindow);
    assert_eq!(new(2, 1, 1, 0), LoadError::NoIterations);
    assert!(matches!(
        new(1 << 20, 1 << 50, 1, 1),
        LoadError::TooMuch { .. }
    ));
}
