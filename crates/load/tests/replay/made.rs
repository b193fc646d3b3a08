//! What functions of MPI mean, on traces made for it.

use odonata_load::replay::Summary;
use odonata_load::{Action, Idle, ProcessorId, Program, Step};
use odonata_traces::dumpi::{Status, Value};
use odonata_units::{Bytes, RankId};

use crate::executor::{run, run_in_pieces};
use crate::job::{INTEGER, Job, WORLD, call, statuses};

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
const ANY: i32 = -1;

fn sends(actions: &[Action]) -> Vec<(u32, u64, u32)> {
    let sends = actions.iter().filter_map(|action| match action {
        Action::Send { to, bytes, tag, .. } => Some((to.0, bytes.0, *tag)),
        _ => None,
    });
    sends.collect()
}

/// Senders and tags of receives.
fn receives(actions: &[Action]) -> Vec<(Option<u32>, Option<u32>)> {
    let receives = actions.iter().filter_map(|action| match action {
        Action::Receive { from, tag, .. } => Some((from.map(|from| from.0), *tag)),
        _ => None,
    });
    receives.collect()
}

#[test]
fn blocking_messages_are_sent_and_received() {
    let job = Job::new(vec![
        vec![
            call!(Send, 10, INTEGER, 1, 7, WORLD),
            call!(Ssend, 0, INTEGER, 1, 8, WORLD),
            call!(Bsend, 1, INTEGER, 1, 9, WORLD),
            // To nobody, as different libraries of MPI call it.
            call!(Send, 1, INTEGER, -2, 9, WORLD),
            call!(Send, 1, INTEGER, -1, 9, WORLD),
        ],
        vec![
            call!(Recv, 10, INTEGER, 0, 7, WORLD, Value::Statuses(Vec::new())),
            call!(Recv, 10, INTEGER, ANY, ANY, WORLD, statuses([(0, 8)])),
            call!(
                Recv,
                10,
                INTEGER,
                ANY,
                ANY,
                WORLD,
                Value::Statuses(Vec::new())
            ),
            // From nobody: the status says so where the number may mean any.
            call!(Recv, 10, INTEGER, -1, ANY, WORLD, statuses([(-1, -1)])),
            call!(Recv, 10, INTEGER, -2, 1, WORLD, Value::Statuses(Vec::new())),
        ],
    ]);
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    // An empty message is one of a byte.
    assert_eq!(sends(&done.actions[0]), [(1, 40, 7), (1, 1, 8), (1, 4, 9)]);
    let expected = [(Some(0), Some(7)), (Some(0), Some(8)), (None, None)];
    assert_eq!(receives(&done.actions[1]), expected);
    assert_eq!(trace.facts().open_receives, 1);
    // 2 us before each of 5 calls and the last one.
    assert_eq!(done.compute[0].0, 6 * 2_000_000);
}

#[test]
fn both_halves_of_an_exchange_are_under_way_at_once() {
    // A ring; with any order of blocking halves it would only work with buffers.
    let job = Job::of_ranks(3, |rank| {
        vec![
            call!(
                Sendrecv,
                5,
                INTEGER,
                (rank + 1) % 3,
                1,
                5,
                INTEGER,
                (rank + 2) % 3,
                1,
                WORLD,
                Value::Statuses(Vec::new())
            ),
            call!(
                Sendrecv_replace,
                2,
                INTEGER,
                (rank + 2) % 3,
                4,
                (rank + 1) % 3,
                4,
                WORLD,
                Value::Statuses(Vec::new())
            ),
        ]
    });
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    assert_eq!(sends(&done.actions[0]), [(1, 20, 1), (2, 8, 4)]);
    // The receive is posted before the message is sent.
    assert!(matches!(done.actions[0][0], Action::Receive { .. }));
}

#[test]
fn recorded_outcomes_of_waits_and_tests_are_followed() {
    let none = || Value::Statuses(Vec::new());
    let job = Job::new(vec![
        (10..16)
            .map(|tag| call!(Send, 1, INTEGER, 1, tag, WORLD))
            .collect(),
        {
            let mut calls: Vec<_> = (0..6)
                .map(|k| call!(Irecv, 1, INTEGER, 0, 10 + k, WORLD, 2 + k))
                .collect();
            calls.extend([
                call!(Test, 2, 0, none()),
                call!(Waitany, 6, [2, 3, 4, 5, 6, 7], 3, none()),
                call!(Testany, 3, [2, 3, 4], 1, 1, none()),
                call!(Testany, 2, [2, 4], -32766, 0, none()),
                call!(Waitsome, 4, [2, 1, 4, 6], 2, [0, 3], none()),
                call!(Testall, 2, [4, 7], 0, none()),
                call!(Testsome, 2, [4, 7], 1, [1], none()),
                // Numbers may be used again.
                call!(Isend, 1, INTEGER, 0, 3, WORLD, 5),
                call!(Wait, 4, none()),
                call!(Waitall, 3, [5, 1, 0], none()),
            ]);
            calls
        },
    ]);
    // Rank 0 does not receive the last message.
    let refused = job.refused();
    assert!(refused.contains("job-0001.bin: byte"), "{refused}");
    assert!(
        refused.contains("from rank 1 to rank 0 with tag 3"),
        "{refused}"
    );
}

#[test]
fn waits_name_what_was_begun() {
    let none = || Value::Statuses(Vec::new());
    let irecv = |tag, request| call!(Irecv, 1, INTEGER, 0, tag, WORLD, request);
    let sends = |tags: &[i32]| -> Vec<_> {
        tags.iter()
            .map(|&tag| call!(Send, 1, INTEGER, 1, tag, WORLD))
            .collect()
    };
    // Sent in the order 2, 1: waiting for request 5 (tag 2) needs the first only, so
    // that what follows is received between.
    let job = Job::new(vec![
        vec![
            call!(Send, 1, INTEGER, 1, 2, WORLD),
            call!(Recv, 1, INTEGER, 1, 9, WORLD, none()),
            call!(Send, 1, INTEGER, 1, 1, WORLD),
        ],
        vec![
            irecv(1, 4),
            irecv(2, 5),
            call!(Waitany, 2, [4, 5], 1, none()),
            call!(Send, 1, INTEGER, 0, 9, WORLD),
            call!(Wait, 4, none()),
        ],
    ]);
    run(&job.open().unwrap()).unwrap();
    let unknown = Job::new(vec![vec![], vec![call!(Wait, 4, none())]]);
    assert!(
        unknown
            .refused()
            .contains("request 4, which no call before has made")
    );
    let twice = Job::new(vec![sends(&[1, 1]), vec![irecv(1, 4), irecv(1, 4)]]);
    assert!(twice.refused().contains("request 4 begins anew"));
    let beyond = Job::new(vec![
        sends(&[1]),
        vec![irecv(1, 4), call!(Waitany, 1, [4], 3, none())],
    ]);
    assert!(beyond.refused().contains("request 3 of 1"));
}

#[test]
fn persistent_requests_start_anew() {
    let none = || Value::Statuses(Vec::new());
    let job = Job::new(vec![
        vec![
            call!(Send_init, 3, INTEGER, 1, 5, WORLD, 2),
            call!(Start, 2),
            call!(Wait, 2, none()),
            call!(Startall, 1, [2]),
            call!(Waitall, 1, [2], none()),
            // Not under way: nothing to wait for.
            call!(Wait, 2, none()),
            call!(Start, 2),
            // Goes on without anybody waiting for it.
            call!(Request_free, 2),
        ],
        vec![
            call!(Recv_init, 3, INTEGER, ANY, 5, WORLD, 2),
            call!(Start, 2),
            call!(Wait, 2, statuses([(0, 5)])),
            call!(Start, 2),
            call!(Wait, 2, none()),
            call!(Start, 2),
            call!(Test, 2, 0, none()),
            call!(Test, 2, 1, statuses([(0, 5)])),
            call!(Request_free, 2),
        ],
    ]);
    let done = run(&job.open().unwrap()).unwrap();
    assert_eq!(sends(&done.actions[0]), [(1, 12, 5); 3]);
    // What came is known where a status tells.
    let named = (Some(0), Some(5));
    assert_eq!(receives(&done.actions[1]), [named, (None, Some(5)), named]);
    let again = Job::new(vec![vec![
        call!(Recv_init, 3, INTEGER, 0, 5, WORLD, 2),
        call!(Start, 2),
        call!(Start, 2),
    ]]);
    assert!(again.refused().contains("under way already"));
}

#[test]
fn receives_from_any_take_what_came() {
    let irecv = |request| call!(Irecv, 1, INTEGER, ANY, ANY, WORLD, request);
    let job = Job::new(vec![
        vec![
            call!(Send, 1, INTEGER, 2, 10, WORLD),
            call!(Send, 1, INTEGER, 2, 11, WORLD),
        ],
        vec![call!(Send, 1, INTEGER, 2, 20, WORLD)],
        vec![
            irecv(2),
            irecv(3),
            irecv(4),
            call!(Waitall, 3, [3, 2, 4], statuses([(0, 10), (1, 20), (0, 11)])),
        ],
    ]);
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    // Request 2 took the message of rank 1, whatever arrives first now.
    let expected = [
        (Some(1), Some(20)),
        (Some(0), Some(10)),
        (Some(0), Some(11)),
    ];
    assert_eq!(receives(&done.actions[2]), expected);
    assert_eq!(trace.facts().open_receives, 0);
}

#[test]
fn what_is_cancelled_does_not_begin() {
    let cancelled = || {
        Value::Statuses(vec![Status {
            cancelled: 1,
            ..Status::default()
        }])
    };
    let irecv = |tag, request| call!(Irecv, 1, INTEGER, 0, tag, WORLD, request);
    let job = Job::new(vec![
        vec![call!(Send, 1, INTEGER, 1, 1, WORLD)],
        vec![
            irecv(1, 2),
            irecv(2, 3),
            irecv(3, 4),
            // Came too late: the message is there.
            call!(Cancel, 2),
            call!(Wait, 2, statuses([(0, 1)])),
            call!(Cancel, 3),
            call!(Wait, 3, cancelled()),
            // Nothing tells: taken for cancelled.
            call!(Cancel, 4),
            call!(Request_free, 4),
        ],
    ]);
    let done = run(&job.open().unwrap()).unwrap();
    assert_eq!(receives(&done.actions[1]), [(Some(0), Some(1))]);
}

/// Communicators are known by who made them together.
#[test]
fn split_communicators_are_ordered_by_key() {
    // Even and odd ranks of 6, in reverse order: member 0 of the even ones is rank 4.
    let handle = Value::Handle(7);
    let job = Job::of_ranks(6, |rank| {
        let mut calls = vec![
            call!(Comm_split, WORLD, rank % 2, -rank, handle.clone()),
            call!(Comm_rank, handle.clone(), (5 - rank) / 2),
            call!(Comm_size, handle.clone(), 3),
        ];
        match (5 - rank) / 2 {
            0 => calls.push(call!(Send, 1, INTEGER, 2, 5, handle.clone())),
            2 => calls.push(call!(
                Recv,
                1,
                INTEGER,
                0,
                5,
                handle.clone(),
                Value::Statuses(Vec::new())
            )),
            _ => {}
        }
        calls.push(call!(Barrier, handle.clone()));
        calls
    });
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    let first = |rank: usize| sends(&done.actions[rank])[0];
    assert_eq!((first(4), first(5)), ((0, 4, 5), (1, 4, 5)));
    assert_eq!(receives(&done.actions[0])[0], (Some(4), Some(5)));
    assert_eq!(trace.facts().communicators, 2);
}

#[test]
fn contradictions_about_communicators_are_refused() {
    let handle = || Value::Handle(7);
    let split = |claim: i32| {
        Job::of_ranks(4, |rank| {
            vec![
                call!(Comm_split, WORLD, rank % 2, rank, handle()),
                call!(
                    Comm_rank,
                    handle(),
                    if rank == 3 { claim } else { rank / 2 }
                ),
            ]
        })
    };
    assert!(split(1).open().is_ok());
    assert!(split(0).refused().contains("says that it is member 0"));
    let alone = Job::of_ranks(2, |rank| match rank {
        0 => vec![call!(Comm_dup, WORLD, handle())],
        _ => vec![],
    });
    assert!(alone.refused().contains("not by rank 1"));
    let mixed = Job::of_ranks(2, |rank| match rank {
        0 => vec![call!(Comm_dup, WORLD, handle())],
        _ => vec![call!(Comm_split, WORLD, 0, 0, handle())],
    });
    assert!(mixed.refused().contains("MPI_Comm_split where rank 0"));
    let unknown = Job::of_ranks(2, |_| vec![call!(Barrier, handle())]);
    assert!(unknown.refused().contains("communicator 7"));
}

#[test]
fn groups_and_grids_make_communicators() {
    let (all, some, of_some, grid, row) = (4, 5, 6, 7, 8);
    let handle = |number: u16| Value::Handle(number);
    // Ranks 4, 2 and 0 of 6 as a group; a grid of 2 × 3 and its rows.
    let job = Job::of_ranks(6, |rank| {
        let member = rank % 2 == 0;
        let new = if member { of_some } else { 1 };
        let mut calls = vec![
            call!(Comm_group, WORLD, handle(all)),
            call!(Group_incl, handle(all), 3, [4, 2, 0], handle(some)),
            call!(Comm_create, WORLD, handle(some), handle(new)),
            call!(Group_free, handle(some)),
            call!(Cart_create, WORLD, 2, [2, 3], [0, 0], 0, handle(grid)),
            call!(Cart_sub, 2, handle(grid), [0, 1], handle(row)),
            call!(Comm_rank, handle(row), rank % 3),
            call!(Allreduce, 1, INTEGER, Value::Code(3), handle(row)),
        ];
        if member {
            calls.push(call!(Bcast, 1, INTEGER, 0, handle(of_some)));
            calls.push(call!(Comm_free, handle(of_some)));
        }
        calls
    });
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    // The group, the grid and two rows.
    assert_eq!(trace.facts().communicators, 4);
    // The broadcast starts at rank 4; a row's ranks talk to each other only.
    assert!(
        sends(&done.actions[4])
            .iter()
            .any(|(to, ..)| *to == 2 || *to == 0)
    );
    for (rank, actions) in done.actions.iter().enumerate() {
        let others = sends(actions).into_iter().map(|(to, ..)| to as usize);
        let expected =
            |to: usize| to / 3 == rank / 3 || (to.is_multiple_of(2) && rank.is_multiple_of(2));
        assert!(others.into_iter().all(expected), "rank {rank}");
    }
}

#[test]
fn collectives_must_fit_together() {
    let bcast = |count: i32, root: i32| call!(Bcast, count, INTEGER, root, WORLD);
    let job = |of: fn(i32) -> i32| {
        Job::of_ranks(3, |rank| vec![call!(Barrier, WORLD), bcast(of(rank), 0)])
    };
    assert!(job(|_| 5).open().is_ok());
    let refused = job(|rank| 5 + rank / 2).refused();
    assert!(refused.contains("job-0002.bin: byte"), "{refused}");
    assert!(refused.contains("collective 2"), "{refused}");
    let missing = Job::of_ranks(3, |rank| match rank {
        1 => vec![call!(Barrier, WORLD)],
        _ => vec![call!(Barrier, WORLD), call!(Barrier, WORLD)],
    });
    assert!(missing.refused().contains("none at rank 1"));
    let beyond = Job::of_ranks(3, |_| vec![bcast(1, 3)]);
    assert!(beyond.refused().contains("root 3") || beyond.refused().contains("rank 3"));
}

/// What rank i sends to j is what j receives from i.
#[test]
fn varying_sizes_must_fit_together() {
    let ranks = 3;
    let job = |wrong: bool| {
        Job::of_ranks(ranks, |rank| {
            let zeros = [0; 3];
            let sent = [0, 1, 2].map(|to| 10 * rank + to);
            let mut received = [0, 1, 2].map(|from| 10 * from + rank);
            if wrong && rank == 1 {
                received[2] += 1;
            }
            vec![
                call!(
                    Alltoallv, ranks, sent, zeros, INTEGER, received, zeros, INTEGER, WORLD
                ),
                call!(
                    Allgatherv,
                    ranks,
                    rank,
                    INTEGER,
                    [0, 1, 2],
                    zeros,
                    INTEGER,
                    WORLD
                ),
            ]
        })
    };
    let fits = job(false);
    let done = run(&fits.open().unwrap()).unwrap();
    // Of the all-to-all, without what a rank has for itself: 4 B of each integer.
    let all_to_all: i32 = (0..3)
        .flat_map(|i| (0..3).map(move |j| (i, j)))
        .filter(|(i, j)| i != j)
        .map(|(i, j)| 4 * (10 * i + j))
        .sum();
    assert!(done.bytes >= all_to_all as u64);
    assert!(job(true).refused().contains("alltoallv"));
}

#[test]
fn one_sided_transfers_end_at_fences() {
    let window = || Value::Handle(1);
    let job = Job::of_ranks(2, |rank| {
        let mut calls = vec![
            call!(Win_create, 4096, 1, Value::Handle(0), WORLD, window()),
            call!(Win_fence, Value::Code(0), window()),
        ];
        if rank == 0 {
            calls.extend([
                call!(Put, 100, INTEGER, 1, 0, 100, INTEGER, window()),
                call!(Get, 50, INTEGER, 1, 0, 50, INTEGER, window()),
                call!(
                    Accumulate,
                    25,
                    INTEGER,
                    1,
                    0,
                    25,
                    INTEGER,
                    Value::Code(3),
                    window()
                ),
                // Nothing, and nobody.
                call!(Put, 0, INTEGER, 1, 0, 0, INTEGER, window()),
                call!(Put, 9, INTEGER, -2, 0, 9, INTEGER, window()),
            ]);
        }
        calls.extend([
            call!(Win_fence, Value::Code(0), window()),
            call!(Win_free, window()),
        ]);
        calls
    });
    let trace = job.open().unwrap();
    let done = run(&trace).unwrap();
    let one_sided: Vec<Action> = done.actions[0]
        .iter()
        .copied()
        .filter(|action| matches!(action, Action::Put { .. } | Action::Get { .. }))
        .collect();
    let other = RankId(1);
    assert_eq!(
        one_sided,
        [
            Action::Put {
                to: other,
                bytes: Bytes(400)
            },
            Action::Get {
                from: other,
                bytes: Bytes(200)
            },
            Action::Put {
                to: other,
                bytes: Bytes(100)
            },
        ]
    );
    assert_eq!(trace.facts().transfer_bytes, Bytes(700));
    // Making, two fences and freeing: each rank waits for the other.
    assert_eq!(trace.facts().collectives["barrier"], 8);
}

#[test]
fn sizes_of_derived_types_are_those_of_their_parts() {
    let vector = || Value::Handle(40);
    let sender = |size: Vec<_>| {
        let mut calls = size;
        calls.push(call!(Send, 2, vector(), 1, 0, WORLD));
        calls
    };
    let receiver = vec![call!(
        Recv,
        99,
        INTEGER,
        0,
        0,
        WORLD,
        Value::Statuses(Vec::new())
    )];
    let made = vec![call!(Type_vector, 3, 5, 100, INTEGER, vector())];
    let job = Job::new(vec![sender(made), receiver.clone()]);
    let done = run(&job.open().unwrap()).unwrap();
    assert_eq!(sends(&done.actions[0]), [(1, 2 * 3 * 5 * 4, 0)]);
    // What is shown of a trace counts the same bytes as its replay.
    let shown = |job: &Job| Summary::read(&job.meta, 0).unwrap();
    assert_eq!(shown(&job).kinds["MPI_Send"].bytes_sent, 120);
    assert_eq!(job.open().unwrap().facts().bytes, Bytes(120));
    let unknown = Job::new(vec![sender(vec![]), receiver]);
    let facts = shown(&unknown).facts;
    let said = "bytes of 1 calls whose datatype has no known size";
    assert!(
        facts.contains(&("not counted", said.to_owned())),
        "{facts:?}"
    );
    assert!(
        unknown
            .refused()
            .contains("datatype 40, whose size is not known")
    );
}

#[test]
fn messages_and_receives_must_match() {
    let none = || Value::Statuses(Vec::new());
    let recv = |source: i32, tag: i32| call!(Recv, 1, INTEGER, source, tag, WORLD, none());
    let send = |dest: i32, tag: i32| call!(Send, 1, INTEGER, dest, tag, WORLD);
    let missing = Job::new(vec![vec![send(1, 5)], vec![recv(0, 5), recv(0, 5)]]);
    let refused = missing.refused();
    assert!(refused.contains("job-0001.bin: byte"), "{refused}");
    assert!(refused.contains("that nobody sends"), "{refused}");
    let other_tag = Job::new(vec![vec![send(1, 5)], vec![recv(0, 6)]]);
    assert!(
        other_tag
            .refused()
            .contains("with tag 5 that nobody receives")
    );
    let other_rank = Job::new(vec![vec![send(1, 5)], vec![recv(2, 5)], vec![]]);
    assert!(other_rank.refused().contains("job-0000.bin: byte"));
    let open = Job::new(vec![vec![send(1, 5), send(1, 6)], vec![recv(ANY, 5)]]);
    assert!(open.refused().contains("nobody receives"));
    // Equal sums do not stand for equal messages.
    let swapped = Job::new(vec![
        vec![send(2, 1), send(2, 4)],
        vec![send(2, 2), send(2, 3)],
        vec![recv(0, 2), recv(0, 3), recv(1, 1), recv(1, 4)],
    ]);
    assert!(swapped.refused().contains("nobody receives"));
}

/// Ranks that are stopped and made anew, again and again, do the same.
#[test]
fn a_replay_goes_on_from_any_place() {
    let none = || Value::Statuses(Vec::new());
    let job = Job::of_ranks(3, |rank| {
        let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
        let mut calls = vec![call!(Comm_dup, WORLD, Value::Handle(9))];
        for round in 0..5 {
            calls.extend([
                call!(Irecv, 1, INTEGER, ANY, ANY, Value::Handle(9), 2),
                call!(Isend, 100, INTEGER, next, round, Value::Handle(9), 3),
                call!(Allreduce, 8, INTEGER, Value::Code(3), WORLD),
                call!(Waitall, 2, [3, 2], statuses([(0, 0), (before, round)])),
                call!(Bsend, 1, INTEGER, next, 77, WORLD),
                call!(Recv, 1, INTEGER, before, 77, WORLD, none()),
            ]);
        }
        calls
    });
    let trace = job.open().unwrap();
    let whole = run(&trace).unwrap();
    for steps in [1, 2, 3, 7] {
        assert_eq!(run_in_pieces(&trace, steps).unwrap(), whole);
    }
    // What is no state of it is refused.
    let mut rank = trace.start(RankId(0)).unwrap();
    assert!(rank.restore(&[1, 2, 3]).is_err());
    // A place behind the end.
    let mut ended = trace.start(RankId(0)).unwrap();
    let step = ended.next(Idle::NONE.and(ProcessorId(0))).unwrap();
    assert_ne!(step, Step::Finish);
}
