//! One rank's trace for all ranks, with communicators of some of them.

use std::path::Path;

use odonata_load::replay::{Options, Partners, Trace};
use odonata_load::{Action, Program};
use odonata_traces::TraceError;
use odonata_traces::dumpi::{Call, Value};

use crate::executor::{Done, run};
use crate::job::{Folder, INTEGER, WORLD, call, statuses, write_rank};

fn handle(number: u16) -> Value {
    Value::Handle(number)
}

fn none() -> Value {
    Value::Statuses(Vec::new())
}

fn open(folder: &Path, ranks: u32, partners: Partners) -> Result<Trace, TraceError> {
    let options = Options {
        repeat_rank: Some(partners),
        ranks: Some(ranks),
        ..Options::default()
    };
    Trace::open(&folder.join("job-0000.bin"), options)
}

/// What all ranks do if one did these calls.
fn repeated(calls: Vec<Call>, ranks: u32, partners: Partners) -> Result<Done, String> {
    let folder = Folder::new();
    write_rank(&folder.0, 0, calls);
    let trace = open(&folder.0, ranks, partners).map_err(|error| error.to_string())?;
    assert_eq!(trace.ranks(), ranks);
    Ok(run(&trace).unwrap())
}

/// Whom every rank sends to, but for collectives.
fn sends(done: &Done, tag: u32) -> Vec<u32> {
    let of = |actions: &Vec<Action>| {
        let mut sends = actions.iter().filter_map(|action| match action {
            Action::Send { to, tag: of, .. } if *of == tag => Some(to.0),
            _ => None,
        });
        sends.next().unwrap_or(u32::MAX)
    };
    done.actions.iter().map(of).collect()
}

/// A message to `to` and one from `from` of a communicator, with tag 77.
fn exchange(to: i32, from: i32, comm: Value) -> Call {
    call!(
        Sendrecv,
        5,
        INTEGER,
        to,
        77,
        5,
        INTEGER,
        from,
        77,
        comm,
        none()
    )
}

#[test]
fn rows_and_columns_of_a_grid_are_those_of_every_rank() {
    // 4 rows of 3, a message to the next one along the row and one along the column.
    let shift = |to: i32, from: i32, kept: [i32; 2]| {
        vec![
            call!(Comm_rank, WORLD, 0),
            call!(Comm_size, WORLD, 12),
            call!(Cart_create, WORLD, 2, [4, 3], [1, 1], 0, handle(8)),
            call!(Cart_sub, 2, handle(8), kept, handle(9)),
            call!(Comm_dup, handle(9), handle(10)),
            exchange(to, from, handle(10)),
            call!(Allreduce, 1, INTEGER, Value::Code(4), handle(9)),
        ]
    };
    let rows = repeated(shift(1, 2, [0, 1]), 12, Partners::Offset).unwrap();
    let next_in_row: Vec<u32> = (0..12).map(|rank| rank / 3 * 3 + (rank + 1) % 3).collect();
    assert_eq!(sends(&rows, 77), next_in_row);
    let columns = repeated(shift(1, 3, [1, 0]), 12, Partners::Offset).unwrap();
    let next_in_column: Vec<u32> = (0..12).map(|rank| (rank + 3) % 12).collect();
    assert_eq!(sends(&columns, 77), next_in_column);
    // A grid that is not that of these ranks is not known.
    let error = repeated(shift(1, 2, [0, 1]), 16, Partners::Offset).unwrap_err();
    assert!(error.contains("MPI_Cart_create made (byte "), "{error}");
    assert!(
        error.contains(
            "its 12 places are not those of 16 ranks; the trace of one rank does not tell"
        ),
        "{error}"
    );
    // Rows of 2 × 4, with partners that differ in a bit.
    let mut grid = shift(1, 1, [0, 1]);
    grid[2] = call!(Cart_create, WORLD, 2, [2, 4], [1, 1], 0, handle(8));
    let rows = repeated(grid, 8, Partners::Xor).unwrap();
    assert_eq!(sends(&rows, 77), [1, 0, 3, 2, 5, 4, 7, 6]);
}

/// A communicator of listed ranks, and an exchange in it.
fn listed(ranks: &[i32], to: i32, from: i32) -> Vec<Call> {
    vec![
        call!(Comm_rank, WORLD, 0),
        call!(Comm_group, WORLD, handle(4)),
        call!(
            Group_incl,
            handle(4),
            ranks.len() as i32,
            Value::Ints(ranks.to_vec()),
            handle(5)
        ),
        call!(Comm_create, WORLD, handle(5), handle(6)),
        exchange(to, from, handle(6)),
        call!(Bcast, 3, INTEGER, 1, handle(6)),
    ]
}

#[test]
fn listed_ranks_are_one_of_several_sets_alike() {
    // Every fourth rank, around the ring.
    let done = repeated(listed(&[0, 4, 8], 1, 2), 12, Partners::Offset).unwrap();
    let fourth: Vec<u32> = (0..12).map(|rank| (rank + 4) % 12).collect();
    assert_eq!(sends(&done, 77), fourth);
    // Blocks of four are no sets alike around the ring, but differ in two bits from one another.
    let error = repeated(listed(&[0, 1, 2, 3], 1, 3), 8, Partners::Offset).unwrap_err();
    assert!(error.contains("MPI_Comm_create made (byte "), "{error}");
    assert!(
        error.contains(
            "of the ranks 0, 1, 2, 3, and the other ranks do not fall into sets like it by offset"
        ),
        "{error}"
    );
    let done = repeated(listed(&[0, 1, 2, 3], 2, 2), 8, Partners::Xor).unwrap();
    assert_eq!(sends(&done, 77), [2, 3, 0, 1, 6, 7, 4, 5]);
    let error = repeated(listed(&[0, 3, 1], 1, 1), 8, Partners::Xor).unwrap_err();
    assert!(error.contains("in no ascending order"), "{error}");
    // All of them is a copy of the world.
    let done = repeated(listed(&[0, 1, 2], 1, 2), 3, Partners::Offset).unwrap();
    assert_eq!(sends(&done, 77), [1, 2, 0]);
}

#[test]
fn splits_are_known_where_the_trace_says_their_size() {
    let split = |size: i32, used: bool| {
        let mut calls = vec![
            call!(Comm_rank, WORLD, 0),
            call!(Comm_split, WORLD, 3, 7, handle(5)),
            call!(Comm_size, handle(5), size),
        ];
        if used {
            calls.push(call!(Allreduce, 1, INTEGER, Value::Code(4), handle(5)));
        }
        calls
    };
    let collectives = |size: i32| {
        let done = repeated(split(size, true), 4, Partners::Offset)?;
        Ok::<_, String>(done.messages)
    };
    // As of the world, and of every rank by itself.
    let world = vec![call!(Allreduce, 1, INTEGER, Value::Code(4), WORLD)];
    let world = repeated(world, 4, Partners::Offset).unwrap();
    assert_eq!(collectives(4).unwrap(), world.messages);
    assert_eq!(collectives(1).unwrap(), 0);
    let error = collectives(2).unwrap_err();
    assert!(
        error.contains("MPI_Comm_split made (byte ")
            && error.contains("its colour is 3 and its key 7, 2 of 4 ranks; the trace of one rank"),
        "{error}"
    );
    // One that nobody uses is no harm, nor one that the rank is not in.
    repeated(split(2, false), 4, Partners::Offset).unwrap();
    let outside = vec![
        call!(Comm_split, WORLD, -1, 7, handle(1)),
        call!(Barrier, WORLD),
    ];
    repeated(outside, 4, Partners::Offset).unwrap();
}

#[test]
fn statuses_of_receives_are_those_of_their_communicator() {
    // Any source of a column: recorded is number 3 of it, which for rank 5 of 4 × 2 (row 2) is
    // row 1.
    let calls = vec![
        call!(Cart_create, WORLD, 2, [4, 2], [1, 1], 0, handle(8)),
        call!(Cart_sub, 2, handle(8), [1, 0], handle(9)),
        call!(Irecv, 5, INTEGER, -1, -1, handle(9), 2),
        call!(Send, 5, INTEGER, 1, 77, handle(9)),
        call!(Wait, 2, statuses([(3, 77)])),
    ];
    let done = repeated(calls, 8, Partners::Offset).unwrap();
    let from = done.actions[5].iter().find_map(|action| match action {
        Action::Receive { from, .. } => *from,
        _ => None,
    });
    assert_eq!(from.map(|from| from.0), Some(3));
}
