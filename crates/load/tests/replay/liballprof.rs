//! Text traces of liballprof, made for these tests.

use std::path::PathBuf;

use odonata_load::replay::{Border, Options, Region, Trace};
use odonata_load::{Action, Context};
use odonata_traces::TraceError;
use odonata_traces::dumpi::Value;
use odonata_units::RankId;

use crate::executor::{Done, run, run_in_pieces};
use crate::job::{Folder, INTEGER, Job, WORLD, call};

/// A job of as many ranks as there are lists of calls, `FUNCTION:ARGUMENTS`. `W` is the world and
/// `I` an integer of 4 bytes. Each call takes 1 us and begins 2 us after the one before, as those of
/// DUMPI jobs do.
pub struct Text {
    folder: Folder,
    first: PathBuf,
}

/// The world of Open MPI, an address.
const OPEN_MPI: &str = "6575616";
const MPICH: &str = "1140850688";

impl Text {
    fn new(ranks: &[Vec<String>]) -> Self {
        Self::of(OPEN_MPI, ranks)
    }

    fn of(world: &str, ranks: &[Vec<String>]) -> Self {
        let folder = Folder::new();
        for (rank, calls) in ranks.iter().enumerate() {
            let mut text = "# htor's PMPI Tracer 1.0 Output File\n\n".to_owned();
            // Twelve days into a machine's life, with the digits that some versions write.
            let at = |number: usize| 1_000_000_000_000 + 3 * number;
            text += &format!("MPI_Init:-:140735000539132:140735000539120:{}\n", at(0) + 1);
            for (number, call) in (1..).zip(calls) {
                let (function, arguments) = call.split_once(':').unwrap_or((call, ""));
                let world = format!("{world},{rank},{}", ranks.len());
                let arguments: Vec<&str> = (arguments.split(':'))
                    .map(|argument| match argument {
                        "W" => world.as_str(),
                        "I" => "1,4,4",
                        other => other,
                    })
                    .filter(|argument| !argument.is_empty())
                    .collect();
                let end = at(number) + 1;
                text += &[function, &format!("{}.000000", at(number))].join(":");
                for argument in arguments {
                    text += &format!(":{argument}");
                }
                text += &format!(":{end}\n");
            }
            text += &format!(
                "# Finalize clockdiff: 0.0\nMPI_Finalize:{}:-\n",
                at(calls.len() + 1)
            );
            std::fs::write(folder.0.join(format!("trace-{rank}.txt")), text).unwrap();
        }
        let first = folder.0.join("trace-0.txt");
        Self { folder, first }
    }

    /// Where its files are.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder.0
    }

    fn open(&self) -> Result<Trace, TraceError> {
        Trace::open(&self.first, Options::default())
    }

    fn run(&self) -> Done {
        run(&self.open().unwrap()).unwrap()
    }

    fn refused(&self) -> String {
        match self.open() {
            Ok(_) => panic!("accepted"),
            Err(error) => error.to_string(),
        }
    }
}

fn lines(calls: &[&str]) -> Vec<String> {
    calls.iter().map(|&call| call.to_owned()).collect()
}

fn none() -> Value {
    Value::Statuses(Vec::new())
}

const RANKS: i32 = 4;

/// A ring without and with requests, an exchange, persistent requests, collectives of the world and
/// of halves of it.
fn ring_calls() -> Vec<Vec<String>> {
    let calls = |rank: i32| {
        let (next, before, other) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS, rank ^ 1);
        // By falling ranks: 2 before 0, 3 before 1. Handles differ from rank to rank.
        let half = format!("{},{},2", 7_000_000 + rank, 1 - rank / 2);
        vec![
            "MPI_Comm_rank:W:500".to_owned(),
            format!("MPI_Isend:1000:100:I:{next}:7:W:900"),
            format!("MPI_Irecv:2000:100:I:{before}:7:W:908"),
            "MPI_Waitall:2:900:0".to_owned(),
            format!("MPI_Sendrecv:1000:5:I:{next}:1:2000:5:I:{before}:1:W:0"),
            "MPI_Allreduce:1000:2000:3:I:3:W".to_owned(),
            format!("MPI_Comm_split:W:{}:{}:600", rank % 2, -rank),
            format!("MPI_Bcast:1000:10:I:1:{half}"),
            format!("MPI_Send_init:1000:2:I:{other}:9:W:900"),
            format!("MPI_Recv_init:2000:2:I:{other}:9:W:908"),
            "MPI_Startall:2:900".to_owned(),
            "MPI_Wait:900:0".to_owned(),
            "MPI_Wait:908:0".to_owned(),
            format!("MPI_Barrier:{half}"),
        ]
    };
    (0..RANKS).map(calls).collect()
}

/// That as a job.
pub fn ring() -> Text {
    Text::new(&ring_calls())
}

/// The same program as both formats record it.
#[test]
fn a_job_is_replayed_as_its_dumpi_trace_is() {
    let dumpi = Job::of_ranks(RANKS, |rank| {
        let (next, before) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
        let half = || Value::Handle(5);
        vec![
            call!(Comm_rank, WORLD, rank),
            call!(Isend, 100, INTEGER, next, 7, WORLD, 2),
            call!(Irecv, 100, INTEGER, before, 7, WORLD, 3),
            call!(Waitall, 2, [2, 3], none()),
            call!(
                Sendrecv,
                5,
                INTEGER,
                next,
                1,
                5,
                INTEGER,
                before,
                1,
                WORLD,
                none()
            ),
            call!(Allreduce, 3, INTEGER, Value::Code(4), WORLD),
            call!(Comm_split, WORLD, rank % 2, -rank, half()),
            call!(Bcast, 10, INTEGER, 1, half()),
            call!(Send_init, 2, INTEGER, rank ^ 1, 9, WORLD, 4),
            call!(Recv_init, 2, INTEGER, rank ^ 1, 9, WORLD, 5),
            call!(Startall, 2, [4, 5]),
            call!(Wait, 4, none()),
            call!(Wait, 5, none()),
            call!(Barrier, half()),
        ]
    });
    let ranks = ring_calls();
    let text = Text::new(&ranks);
    let (trace, other) = (text.open().unwrap(), dumpi.open().unwrap());
    let done = run(&trace).unwrap();
    assert_eq!(done, run(&other).unwrap());
    assert_eq!(done, run_in_pieces(&trace, 3).unwrap());
    assert_eq!(trace.facts().messages, other.facts().messages);
    // The world's communicator aside, the two halves.
    assert_eq!(trace.facts().communicators, 2);
    assert_eq!(trace.format().name(), "liballprof job");
    // Fortran and MPICH have requests of 4 bytes.
    let small: Vec<Vec<String>> = (ranks.iter())
        .map(|calls| {
            let of = calls.iter().map(|call| call.replace(":908", ":904"));
            of.collect()
        })
        .collect();
    for world in [MPICH, "0"] {
        assert_eq!(Text::of(world, &small).run(), done, "{world}");
    }
}

/// Tags of what a rank sends and from whom it receives, in order.
fn order(done: &Done, rank: usize) -> Vec<i64> {
    let tag = |action: &Action| match action {
        Action::Send { tag, .. } => i64::from(*tag),
        Action::Receive { tag, .. } => -tag.map_or(0, i64::from),
        _ => 0,
    };
    done.actions[rank].iter().map(tag).collect()
}

#[test]
fn requests_are_followed_by_their_addresses() {
    // Three receives; one is waited for by itself, then any, then those that complete; the slot of
    // the second is used again in between, so that a test must have found it complete.
    let receiver = lines(&[
        "MPI_Irecv:1:1:I:0:11:W:800",
        "MPI_Irecv:1:1:I:0:12:W:808",
        "MPI_Irecv:1:1:I:0:13:W:816",
        "MPI_Wait:800:0",
        "MPI_Test:808:500:0",
        "MPI_Test:808:500:0",
        "MPI_Irecv:1:1:I:0:14:W:808",
        "MPI_Waitany:3:800:500:0",
        "MPI_Waitsome:3:800:500:510:0",
        // All are complete: nothing to wait for.
        "MPI_Waitall:3:800:0",
        "MPI_Wait:800:0",
        "MPI_Send:1:1:I:0:20:W",
    ]);
    let sender = lines(&[
        "MPI_Send:1:1:I:1:11:W",
        "MPI_Send:1:1:I:1:12:W",
        "MPI_Send:1:1:I:1:13:W",
        "MPI_Send:1:1:I:1:14:W",
        "MPI_Recv:1:1:I:1:20:W:0",
    ]);
    let done = Text::new(&[sender.clone(), receiver.clone()]).run();
    assert_eq!(order(&done, 1), [-11, -12, -13, -14, 20]);
    // Waits are for real: without the message of the second receive the rank never ends.
    let mut late = sender;
    late.swap(1, 4);
    late.swap(3, 4);
    let late = Text::new(&[late, receiver]);
    assert!(run(&late.open().unwrap()).is_err());
}

#[test]
fn what_was_tested_is_complete_at_the_end() {
    // Buffered and freed sends make nobody wait, nor do tests: both ranks send first.
    let calls = |other: usize| {
        lines(&[
            &format!("MPI_Isend:1:1:I:{other}:5:W:800"),
            "MPI_Request_free:800",
            &format!("MPI_Bsend:1:0:I:{other}:6:W"),
            &format!("MPI_Irecv:1:1:I:{other}:5:W:800"),
            &format!("MPI_Irecv:1:1:I:{other}:6:W:808"),
            "MPI_Testall:2:800:500:0",
        ])
    };
    let done = Text::new(&[calls(1), calls(0)]).run();
    assert_eq!(order(&done, 0), [5, 6, -5, -6]);
    assert_eq!(done.messages, 4);
    // Nobody, and any rank, as the two libraries write them.
    for (world, any, nobody) in [(OPEN_MPI, -1, -2), (MPICH, -2, -1)] {
        let text = Text::of(
            world,
            &[
                lines(&[
                    &format!("MPI_Send:1:1:I:{nobody}:5:W"),
                    "MPI_Send:1:1:I:1:5:W",
                    &format!("MPI_Recv:1:1:I:{nobody}:-1:W:0"),
                ]),
                lines(&[&format!("MPI_Recv:1:1:I:{any}:-1:W:0")]),
            ],
        );
        assert_eq!(text.open().unwrap().facts().open_receives, 1);
        assert_eq!(text.run().messages, 1);
    }
}

/// Contexts of what a rank sends.
fn contexts(done: &Done, rank: usize) -> Vec<Context> {
    let of = |action: &Action| match action {
        Action::Send { context, .. } => Some(*context),
        _ => None,
    };
    done.actions[rank].iter().filter_map(of).collect()
}

#[test]
fn handles_are_matched_with_what_was_made() {
    // A grid of 2 × 2 with rows and columns, of which the columns are used first; rank r is
    // (r / 2, r % 2). Then the rows are freed, and the library gives their handle to a duplicate.
    let calls = |rank: usize| {
        let (row, column) = (rank / 2, rank % 2);
        let of_row = format!("70000{rank},{column},2");
        let of_column = format!("80000{rank},{row},2");
        let duplicate = format!("70000{rank},{rank},4");
        lines(&[
            &format!("MPI_Comm_split:W:{row}:{rank}:600"),
            &format!("MPI_Comm_split:W:{column}:{rank}:608"),
            &format!(
                "MPI_Sendrecv:1:1:I:{}:1:1:1:I:{}:1:{of_column}:0",
                1 - row,
                1 - row
            ),
            &format!(
                "MPI_Sendrecv:1:1:I:{}:2:1:1:I:{}:2:{of_row}:0",
                1 - column,
                1 - column
            ),
            "MPI_Comm_free:600",
            "MPI_Comm_dup:W:600",
            &format!(
                "MPI_Sendrecv:1:1:I:{}:3:1:1:I:{}:3:{duplicate}:0",
                3 - rank,
                3 - rank
            ),
            // Whom a rank has for itself.
            "MPI_Barrier:123456,0,1",
        ])
    };
    let text = Text::new(&[calls(0), calls(1), calls(2), calls(3)]);
    let done = text.run();
    let to = |rank: usize| -> Vec<u32> {
        let of = |action: &Action| match action {
            Action::Send { to: RankId(to), .. } => Some(*to),
            _ => None,
        };
        done.actions[rank].iter().filter_map(of).collect()
    };
    // The other of its column, of its row, and the one across.
    assert_eq!(
        [to(0), to(1), to(2), to(3)],
        [[2, 1, 3], [3, 0, 2], [0, 3, 1], [1, 2, 0]]
    );
    let of = contexts(&done, 0);
    assert_eq!(of, contexts(&done, 3));
    assert!(of[0] != of[1] && of[1] != of[2]);
}

#[test]
fn collectives_have_the_sizes_of_their_arguments() {
    // Rank 0 is the root; the others' receiving side is garbage, as where it means nothing.
    let calls = |rank: usize| {
        let counts = if rank == 0 { "1,2" } else { "-7,900000" };
        lines(&[
            "MPI_Barrier:W",
            &format!(
                "MPI_Gather:1:3:I:2:{}:9,77,1:0:W",
                if rank == 0 { 3 } else { -1 }
            ),
            &format!("MPI_Gatherv:1:{}:I:2:50:{counts}:60:0,0:I:0:W", rank + 1),
            &format!("MPI_Scatterv:1:50:{counts}:60:0,0:I:2:{}:I:0:W", rank + 1),
            "MPI_Allgatherv:1:5:I:2:50:5,5:60:0,5:I:W",
            "MPI_Alltoall:1:2:I:2:2:I:W",
            "MPI_Alltoallv:1:50:0,4:60:0,0:I:2:70:0,4:80:0,0:I:W",
            "MPI_Reduce:1:2:7:I:3:1:W",
            "MPI_Scan:1:2:7:I:3:W",
            "MPI_Reduce_scatter_block:1:2:8:I:3:W",
            "MPI_Iallreduce:1:2:7:I:3:W:800",
            "MPI_Wait:800:0",
            "MPI_Bcast:1:9:I:1:W",
        ])
    };
    let calls = |rank: usize| {
        let mut calls = calls(rank);
        if rank == 1 {
            // Rank 1 sends 4 elements to rank 0 and gets none from itself.
            calls[6] = "MPI_Alltoallv:1:50:4,0:60:0,0:I:2:70:4,0:80:0,0:I:W".to_owned();
        }
        calls[1] = calls[1].replace("9,77,1", if rank == 0 { "1,4,4" } else { "9,77,1" });
        calls
    };
    let text = Text::new(&[calls(0), calls(1)]);
    let trace = text.open().unwrap();
    let of = |name: &str| trace.facts().collectives.get(name).copied().unwrap_or(0);
    for name in [
        "barrier",
        "gather",
        "gatherv",
        "scatterv",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "reduce",
        "scan",
        "reduce-scatter",
        "allreduce",
        "broadcast",
    ] {
        assert_eq!(of(name), 2, "{name}");
    }
    run(&trace).unwrap();
}

#[test]
fn what_the_trace_does_not_tell_is_refused() {
    let one = |call: &str| Text::new(&[lines(&[call]), lines(&[call])]).refused();
    for (message, words) in [
        (
            one("MPI_Reduce_scatter:1:2:50:I:3:W"),
            "trace-0.txt: line 4: MPI_Reduce_scatter: the trace does not tell the counts",
        ),
        (
            one("MPI_Alltoallw:1:2:3:4:5:6:7:8:W"),
            "does not tell the counts",
        ),
        (
            one("MPI_Put:1:1:I:0:0:1:I:77"),
            "one-sided transfers are not replayed",
        ),
        (one("MPI_Cancel:800"), "MPI_Cancel; the trace does not tell"),
        (
            one("MPI_Start:800"),
            "address 800 is started, but no call has prepared it",
        ),
        (
            one("MPI_Barrier:77,0"),
            "argument 1 is \"77,0\"; allowed: a communicator",
        ),
        (
            one("MPI_Send:1:-1:I:1:5:W"),
            "argument 2 is \"-1\"; allowed: a whole number from 0",
        ),
        (
            one("MPI_Send:1:1"),
            "has 2 arguments, but number 6 is needed",
        ),
    ] {
        assert!(message.contains(words), "{message}\n{words}");
    }
    // A grid of all ranks is followed, one of some is not.
    let grid = |size: usize| {
        let calls = |rank: usize| {
            lines(&[
                "MPI_Cart_create:W:2:50:60:0:600",
                &format!("MPI_Barrier:77,{rank},{size}"),
            ])
        };
        Text::new(&[
            calls(0),
            calls(1),
            lines(&["MPI_Cart_create:W:2:50:60:0:600"]),
        ])
    };
    let message = grid(2).refused();
    assert!(
        message.contains("of 2 ranks, which MPI_Cart_create made; the trace does not"),
        "{message}"
    );
    let all = |rank: usize| {
        lines(&[
            "MPI_Cart_create:W:2:50:60:0:600",
            &format!("MPI_Barrier:77,{rank},2"),
        ])
    };
    Text::new(&[all(0), all(1)]).run();
    // A communicator that nothing made.
    let stray = |rank: usize| lines(&["MPI_Barrier:W", &format!("MPI_Barrier:77,{rank},2")]);
    let message = Text::new(&[stray(0), stray(1)]).refused();
    assert!(
        message.contains("no call before made such a one"),
        "{message}"
    );
    // A split of a split that claims other members than the colours give.
    let nested = |rank: usize, size: usize| {
        lines(&[
            "MPI_Comm_dup:W:600",
            &format!("MPI_Comm_split:77,{rank},2:{rank}:0:608"),
            &format!("MPI_Barrier:88,0,{size}"),
        ])
    };
    Text::new(&[nested(0, 1), nested(1, 1)]).run();
    let message = Text::new(&[nested(0, 2), nested(1, 2)]).refused();
    assert!(
        message.contains("says that there are 2 members"),
        "{message}"
    );
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let barrier = || lines(&["MPI_Barrier:W"]);
    let text = Text::new(&[barrier(), barrier(), barrier()]);
    let other = text.folder.0.join("trace-1.txt");
    let message = |path: &PathBuf| {
        Trace::open(path, Options::default())
            .err()
            .unwrap()
            .to_string()
    };
    assert!(
        message(&other).contains("allowed: that of rank 0"),
        "{}",
        message(&other)
    );
    std::fs::remove_file(text.folder.0.join("trace-2.txt")).unwrap();
    let found = message(&text.first);
    assert!(
        found.contains("the world has 3 ranks, but there are the traces of 2"),
        "{found}"
    );
    let text = Text::new(&[barrier(), barrier()]);
    let (first, second) = (text.first.clone(), text.folder.0.join("trace-1.txt"));
    std::fs::copy(&first, &second).unwrap();
    let found = message(&first);
    assert!(
        found.contains("trace-1.txt: line 4: is the trace of rank 0"),
        "{found}"
    );
    for (line, words) in [
        (
            "MPI_Send 4",
            "line 8: found \"MPI_Send 4\"; allowed: MPI_NAME:START",
        ),
        (
            "MPI_Send:later:1:2",
            "line 8: MPI_Send: the start is \"later\"",
        ),
        ("MPI_Barrier:1:W:-", "line 8: MPI_Barrier: the end is \"-\""),
        (
            "MPI_Barrier:9999999999999999999:6575616,0,2:9",
            "line 8: a time more than",
        ),
    ] {
        let text = Text::new(&[barrier(), barrier()]);
        let before = std::fs::read_to_string(&text.first).unwrap();
        std::fs::write(&text.first, before + "\n" + line + "\n").unwrap();
        let found = text.refused();
        assert!(found.contains(words), "{found}\n{words}");
    }
}

#[test]
fn times_between_calls_are_computing() {
    // Two calls, each 2 us after the one before, and MPI_Finalize.
    let calls = || lines(&["MPI_Barrier:W", "MPI_Wtime", "MPI_Barrier:W"]);
    let text = Text::new(&[calls(), calls()]);
    let done = text.run();
    // MPI_Wtime is part of the time around it: 2 + 5 + 2 us.
    assert_eq!(done.compute[0].0, 9_000_000);
    // From the second barrier on.
    let region = Region {
        start: Some(Border::Function {
            name: "MPI_Barrier".to_owned(),
            number: Some(2),
        }),
        end: None,
    };
    let options = Options {
        region,
        ..Options::default()
    };
    let trace = Trace::open(&text.first, options).unwrap();
    assert_eq!(trace.facts().collectives["barrier"], 2);
}
