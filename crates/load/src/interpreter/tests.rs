use odonata_units::Bytes;

use super::*;
use crate::collective::Algorithms;
use crate::program::{CollectiveKind, Context};

/// Operations from a list.
struct List {
    all: Vec<Operation>,
    next: usize,
}

impl Operations for List {
    fn next(&mut self) -> Result<Operation, ProgramError> {
        let operation = self.all.get(self.next).cloned();
        self.next += 1;
        Ok(operation.unwrap_or(Operation::Finish))
    }
    fn save(&self) -> Vec<u8> {
        self.next.to_le_bytes().to_vec()
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let bytes = saved.try_into();
        self.next = usize::from_le_bytes(bytes.map_err(|_| ProgramError("length".into()))?);
        Ok(())
    }
}

fn interpreter(all: Vec<Operation>) -> Interpreter<List> {
    Interpreter::new(RankId(0), List { all, next: 0 }, MessageProgress::Calls)
}

const IDLE: Idle = Idle::NONE.and(PROCESSOR);

fn next(rank: &mut Interpreter<List>) -> Step {
    rank.next(IDLE).unwrap()
}

/// The next step begins something: its request.
fn begins(rank: &mut Interpreter<List>, expected: Action) -> RequestId {
    match next(rank) {
        Step::Begin {
            action, request, ..
        } if action == expected => request,
        step => panic!("{step:?} instead of {expected:?}"),
    }
}

fn send(to: u32) -> Action {
    Action::Send {
        to: RankId(to),
        bytes: Bytes(8),
        context: Context::ordered(0),
        tag: 5,
    }
}

const ANYTHING: Action = Action::Receive {
    from: None,
    context: Context::ordered(0),
    tag: None,
};

fn wait(handles: &[u64], need: Need) -> Operation {
    Operation::Wait {
        handles: handles.iter().map(|&handle| Handle(handle)).collect(),
        need,
    }
}

fn begin(action: Action, handle: u64) -> Operation {
    Operation::Begin {
        action,
        handle: Handle(handle),
    }
}

const COMPUTE: Operation = Operation::Compute(Picoseconds(7));

#[test]
fn blocking_operations_block() {
    let mut rank = interpreter(vec![Operation::Do(ANYTHING), COMPUTE]);
    let request = begins(&mut rank, ANYTHING);
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Receive));
    rank.complete(request);
    let request = begins(&mut rank, Action::Compute(Picoseconds(7)));
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Processor));
    rank.complete(request);
    assert_eq!(next(&mut rank), Step::Finish);
    assert_eq!(next(&mut rank), Step::Finish);
}

#[test]
fn wait_all_waits_for_all_of_its_handles_only() {
    let operations = vec![
        begin(send(1), 10),
        begin(ANYTHING, 11),
        begin(send(2), 12),
        wait(&[10, 11], Need::All),
        COMPUTE,
    ];
    let mut rank = interpreter(operations);
    let first = begins(&mut rank, send(1));
    let second = begins(&mut rank, ANYTHING);
    let third = begins(&mut rank, send(2));
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Receive));
    rank.complete(second);
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Send));
    rank.complete(first);
    let computing = begins(&mut rank, Action::Compute(Picoseconds(7)));
    rank.complete(computing);
    // It does not finish before everything is complete.
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Send));
    rank.complete(third);
    assert_eq!(next(&mut rank), Step::Finish);
}

#[test]
fn any_is_done_with_one_and_some_with_all_that_are_complete() {
    for (need, third_is_left) in [(Need::Any, true), (Need::Some, false)] {
        let operations = vec![
            begin(send(1), 1),
            begin(send(2), 2),
            begin(send(3), 3),
            wait(&[1, 2, 3], need),
            wait(&[1, 3], Need::Any),
            COMPUTE,
        ];
        let mut rank = interpreter(operations);
        let requests = [1, 2, 3].map(|to| begins(&mut rank, send(to)));
        assert_eq!(next(&mut rank), Step::Wait(Waiting::Send));
        rank.complete(requests[1]);
        rank.complete(requests[2]);
        if !third_is_left {
            assert_eq!(next(&mut rank), Step::Wait(Waiting::Send));
            rank.complete(requests[0]);
        }
        begins(&mut rank, Action::Compute(Picoseconds(7)));
    }
}

#[test]
fn handles_of_nothing_are_passed_over() {
    let operations = vec![
        wait(&[4], Need::All),
        wait(&[4], Need::Any),
        wait(&[], Need::Any),
        Operation::Test(Box::new([Handle(4)])),
        COMPUTE,
    ];
    begins(
        &mut interpreter(operations),
        Action::Compute(Picoseconds(7)),
    );
}

#[test]
fn a_test_is_done_with_what_is_complete() {
    let test = || Operation::Test(Box::new([Handle(1)]));
    let operations = vec![
        begin(send(1), 1),
        test(),
        COMPUTE,
        test(),
        begin(send(2), 1),
    ];
    let mut rank = interpreter(operations);
    let sending = begins(&mut rank, send(1));
    let computing = begins(&mut rank, Action::Compute(Picoseconds(7)));
    rank.complete(sending);
    rank.complete(computing);
    begins(&mut rank, send(2));
}

#[test]
fn a_handle_in_use_is_refused() {
    let mut rank = interpreter(vec![begin(send(1), 1), begin(send(2), 1)]);
    begins(&mut rank, send(1));
    let error = rank.next(IDLE).unwrap_err();
    let said = "rank 0 begins something by handle 1, which it has not waited for";
    assert_eq!(error.to_string(), said);
}

fn barrier(handle: Option<u64>) -> Operation {
    Operation::Collective {
        communicator: Arc::new(Communicator::world(2)),
        call: Arc::new(Algorithms::default().barrier(2)),
        handle: handle.map(Handle),
    }
}

/// The two actions of a barrier of two.
fn barrier_begins(rank: &mut Interpreter<List>, collective: u32) -> [RequestId; 2] {
    let context = Communicator::world(2).collectives();
    let tag = collective * crate::collective::COLLECTIVE_TAGS;
    let receive = Action::Receive {
        from: Some(RankId(1)),
        context,
        tag: Some(tag),
    };
    let send = Action::Send {
        to: RankId(1),
        bytes: Bytes(1),
        context,
        tag,
    };
    [begins(rank, receive), begins(rank, send)]
}

#[test]
fn a_blocking_collective_is_entered_and_left() {
    let mut rank = interpreter(vec![barrier(None), COMPUTE, barrier(None)]);
    assert_eq!(next(&mut rank), Step::Enter(CollectiveKind::Barrier));
    let requests = barrier_begins(&mut rank, 0);
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Receive));
    rank.complete(requests[0]);
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Send));
    rank.complete(requests[1]);
    assert_eq!(next(&mut rank), Step::Leave);
    let computing = begins(&mut rank, Action::Compute(Picoseconds(7)));
    rank.complete(computing);
    assert_eq!(next(&mut rank), Step::Enter(CollectiveKind::Barrier));
    barrier_begins(&mut rank, 1);
}

#[test]
fn a_collective_with_a_handle_goes_on_beside_the_script() {
    let mut rank = interpreter(vec![barrier(Some(3)), COMPUTE, wait(&[3], Need::All)]);
    let requests = barrier_begins(&mut rank, 0);
    let computing = begins(&mut rank, Action::Compute(Picoseconds(7)));
    rank.complete(requests[0]);
    rank.complete(computing);
    assert_eq!(next(&mut rank), Step::Wait(Waiting::Receive));
    rank.complete(requests[1]);
    assert_eq!(next(&mut rank), Step::Finish);
}

#[test]
fn a_busy_processor_begins_nothing() {
    let mut rank = interpreter(vec![COMPUTE]);
    assert_eq!(
        rank.next(Idle::NONE).unwrap(),
        Step::Wait(Waiting::Processor)
    );
    begins(&mut rank, Action::Compute(Picoseconds(7)));
}

#[test]
fn a_saved_rank_goes_on_like_the_other() {
    let operations = || {
        vec![
            begin(ANYTHING, 9),
            barrier(None),
            wait(&[9], Need::All),
            COMPUTE,
        ]
    };
    let mut rank = interpreter(operations());
    let receive = begins(&mut rank, ANYTHING);
    next(&mut rank);
    let requests = barrier_begins(&mut rank, 0);
    rank.complete(requests[0]);
    let mut other = interpreter(operations());
    other.restore(&rank.save()).unwrap();
    for rank in [&mut rank, &mut other] {
        assert_eq!(next(rank), Step::Wait(Waiting::Send));
        rank.complete(requests[1]);
        assert_eq!(next(rank), Step::Leave);
        assert_eq!(next(rank), Step::Wait(Waiting::Receive));
        rank.complete(receive);
        begins(rank, Action::Compute(Picoseconds(7)));
    }
    assert!(interpreter(operations()).restore(&[1, 2]).is_err());
}
