//! Tests of [`Phases`](super::Phases).

use super::*;
use crate::collective::Algorithms;
use crate::motif::{Halo, Repeat};

fn compute(time: u64) -> Phase {
    Phase::Compute(Picoseconds(time))
}

fn ring(ranks: u32, bytes: u64, iterations: u32) -> Phase {
    let grid = Grid::new(&[ranks], true).unwrap();
    Phase::script(Halo::new(grid, Bytes(bytes), Repeat::times(iterations)).unwrap())
}

fn allreduce(division: Division) -> Phase {
    let call = Algorithms::default().allreduce(Bytes(8), division.size());
    Phase::Collective(division, Calls::Same(Arc::new(call)))
}

fn operations(phases: &Phases, rank: u32) -> Vec<Operation> {
    let mut cursor = Cursor::default();
    let all = std::iter::repeat_with(|| phases.next(RankId(rank), &mut cursor));
    all.take_while(|operation| *operation != Operation::Finish)
        .collect()
}

fn computed(phases: &Phases) -> Vec<u64> {
    let operations = operations(phases, 0);
    let computed = operations.iter().map(|operation| match operation {
        Operation::Compute(time) => time.0,
        Operation::EndIteration => 0,
        other => panic!("{other:?}"),
    });
    computed.collect()
}

#[test]
fn repeats_can_be_nested_and_empty() {
    let inner = Phase::Repeat(2, vec![compute(2), Phase::Repeat(2, vec![compute(3)])]);
    let phases = vec![
        compute(1),
        Phase::Repeat(5, vec![]),
        inner,
        compute(0),
        compute(4),
    ];
    let phases = Phases::new(1, phases, 2).unwrap();
    // 0 is the end of an iteration; a phase that computes for no time is none.
    let once = [1, 2, 3, 3, 2, 3, 3, 4, 0];
    assert_eq!(computed(&phases), [once, once].concat());
}

#[test]
fn phases_become_parts_of_others() {
    let inner = Phases::new(1, vec![compute(1), compute(2)], 2).unwrap();
    let inner: Arc<dyn Script> = Arc::new(inner);
    let outer = Phases::new(1, vec![Phase::Script(inner), compute(3)], 2).unwrap();
    let once = [1, 2, 1, 2, 3, 0];
    assert_eq!(computed(&outer), [once, once].concat());
}

#[test]
fn messages_of_phases_have_their_own_tags() {
    // The same ring twice, and in a loop.
    let phases = vec![ring(3, 10, 2), Phase::Repeat(2, vec![ring(3, 20, 1)])];
    let phases = Phases::new(3, phases, 1).unwrap();
    let sends = operations(&phases, 0);
    let sends = sends.iter().filter_map(|operation| match operation {
        Operation::Send { bytes, tag, .. } => Some((bytes.0, tag / TAGS)),
        _ => None,
    });
    let expected = [
        (10, 0),
        (10, 0),
        (10, 0),
        (10, 0),
        (20, 1),
        (20, 1),
        (20, 1),
        (20, 1),
    ];
    assert_eq!(sends.collect::<Vec<_>>(), expected);
    let totals = phases.totals().unwrap();
    assert_eq!((totals.bytes, totals.messages), (Bytes(3 * 120), 3 * 8));
}

#[test]
fn divisions_have_their_own_communicators() {
    let grid = Grid::new(&[2, 3], false).unwrap();
    let [rows, columns] = [0, 1].map(|dimension| Division::along(&grid, dimension));
    let all = Division::all(6);
    let phases = [rows, columns, all, rows].map(allreduce).to_vec();
    let phases = Phases::new(6, phases, 1).unwrap();
    let communicators = |rank| {
        let operations = operations(&phases, rank);
        let communicators = operations
            .into_iter()
            .filter_map(|operation| match operation {
                Operation::Collective { communicator, .. } => Some(communicator),
                _ => None,
            });
        communicators.collect::<Vec<_>>()
    };
    // Rank 3 is at (1, 1): its row is 2 and 3, its column 1, 3 and 5.
    let of = communicators(3);
    let ranks = |communicator: &Communicator| {
        let members = (0..communicator.size()).map(Member);
        members
            .map(|member| communicator.rank(member).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(ranks(&of[0]), [2, 3]);
    assert_eq!(ranks(&of[1]), [1, 3, 5]);
    assert_eq!(ranks(&of[2]), [0, 1, 2, 3, 4, 5]);
    // The same division is the same communicator, for all; others differ.
    assert_eq!(of[0], of[3]);
    assert_eq!(of[2].number(), 0);
    assert!(of[0].number() != of[1].number() && of[1].number() != 0);
    for (mine, other) in of.iter().zip(communicators(0)) {
        assert_eq!(mine.number(), other.number());
    }
}

/// A script with a communicator and a handle.
struct Own;

impl Script for Own {
    fn ranks(&self) -> u32 {
        2
    }
    fn next(&self, _: RankId, cursor: &mut Cursor) -> Operation {
        cursor.stage += 1;
        match cursor.stage {
            1 => Operation::Collective {
                communicator: Arc::new(Communicator::world(2).renumbered(5)),
                call: Arc::new(Algorithms::default().allreduce(Bytes(8), 2)),
                handle: Some(Handle(7)),
            },
            2 => Operation::Wait {
                handles: [Handle(7)].into(),
                need: crate::script::Need::All,
            },
            _ => Operation::Finish,
        }
    }
    fn totals(&self) -> Option<Totals> {
        None
    }
    fn iterations(&self) -> u32 {
        0
    }
}

#[test]
fn handles_and_communicators_of_scripts_do_not_collide() {
    let phases = Phases::new(2, vec![Phase::script(Own), Phase::script(Own)], 1).unwrap();
    let mut named = Vec::new();
    for operation in operations(&phases, 0) {
        match operation {
            Operation::Collective {
                communicator,
                handle,
                ..
            } => named.push((communicator.number(), handle.unwrap())),
            Operation::Wait { handles, .. } => {
                assert_eq!(handles[0], named.last().unwrap().1);
            }
            _ => {}
        }
    }
    assert_eq!(named.len(), 2);
    assert!(
        named[0].0 != named[1].0 && named[0].1 != named[1].1,
        "{named:?}"
    );
    // Not known for the whole if not for a part.
    assert_eq!(phases.totals(), None);
}

#[test]
fn what_cannot_run_is_refused() {
    let error = |phases, iterations| Phases::new(2, phases, iterations).map(|_| ()).unwrap_err();
    assert_eq!(error(vec![], 1), LoadError::NoPhases);
    assert_eq!(
        error(vec![Phase::Repeat(3, vec![])], 1),
        LoadError::NoPhases
    );
    assert_eq!(error(vec![compute(1)], 0), LoadError::NoIterations);
    assert_eq!(
        error(vec![Phase::Repeat(0, vec![compute(1)])], 1),
        LoadError::NoIterations
    );
    let found = error(vec![ring(3, 1, 1)], 1);
    assert_eq!(found, LoadError::PhaseRanks { found: 3, ranks: 2 });
    let mut deep = compute(1);
    for _ in 0..3 {
        deep = Phase::Repeat(u32::MAX, vec![deep]);
    }
    assert_eq!(error(vec![deep], 1), LoadError::TooManyPhases);
    let many = (0..=TAGS).map(|_| compute(1)).collect();
    assert_eq!(error(many, 1), LoadError::TooManyPhases);
    let large = ring(2, 1 << 61, 1);
    assert!(matches!(error(vec![large], 3), LoadError::TooMuch { .. }));
}
