//! Pauses of recording, and regions of interest.

use std::path::{Path, PathBuf};

use odonata_load::replay::{Border, Options, Region, Trace, TraceFacts};
use odonata_traces::dumpi::{Call, Value};
use odonata_units::{Bytes, Picoseconds};

use crate::bytewise::Bytewise;
use crate::executor::{run, run_in_pieces};
use crate::job::{Folder, INTEGER, Job, WORLD, call};

const MAIN: u64 = 0;
const STEP: u64 = 1;
const SEND: u64 = 2;
const RECV: u64 = 3;

/// An event at a time, nanoseconds.
type At = (u64, Event);

#[derive(Clone, Copy)]
enum Event {
    Enter(u64),
    Leave(u64),
    /// To and from the other rank of two.
    Sent(u64),
    Received(u64),
    Off,
    On,
    /// Until then.
    Flush(u64),
}

use Event::*;

/// A function of MPI that sends or receives 64 B, 100 ns long.
fn message(at: u64, sends: bool, peer: u64) -> Vec<At> {
    let (region, event) = match sends {
        true => (SEND, Sent(peer)),
        false => (RECV, Received(peer)),
    };
    vec![(at, Enter(region)), (at, event), (at + 100, Leave(region))]
}

/// An archive of two ranks, with markers of a text and time.
fn archive(ranks: [Vec<At>; 2], markers: &[(&str, u64)]) -> (Folder, PathBuf) {
    const CHUNK: u64 = 256 * 1024;
    let folder = Folder::new();
    let path = folder.0.join("traces.otf2");
    let start = |first, last| {
        let mut out = Bytewise::default();
        out.header();
        out.full(first);
        out.full(last);
        out
    };
    let mut out = start(1, 0);
    let mut count = 0;
    let mut define = |kind: u8, fill: &dyn Fn(&mut Bytewise)| {
        out.record(kind, fill);
        count += 1;
    };
    define(5, &|out| {
        out.short(1_000_000_000);
        out.short(0);
        out.short(1_000_000);
        out.short(0);
    });
    for (id, text) in ["", "main", "step", "MPI_Send", "MPI_Recv"]
        .into_iter()
        .enumerate()
    {
        define(10, &|out| {
            out.short(id as u64);
            out.text(text);
        });
    }
    for (rank, events) in ranks.iter().enumerate() {
        define(13, &|out| {
            out.short(rank as u64);
            out.short(0);
            out.bytes.push(1);
            out.none();
        });
        define(14, &|out| {
            out.short(rank as u64);
            out.short(0);
            out.bytes.push(1);
            out.short(events.len() as u64);
            out.short(rank as u64);
        });
    }
    for region in [MAIN, STEP, SEND, RECV] {
        define(15, &|out| {
            out.short(region);
            out.short(region + 1);
            out.none();
            out.bytes.push(0);
            out.none();
            out.short(0);
            out.short(0);
            out.short(region + 1);
            // Role; paradigm: of the user, or MPI.
            out.bytes.extend([1, if region >= SEND { 4 } else { 1 }]);
            out.short(0);
        });
    }
    for (id, kind) in [(0, 4), (1, 5)] {
        define(18, &|out| {
            out.short(id);
            out.short(0);
            out.bytes.push(0);
            out.short(2);
            out.short(0);
            out.short(1);
            out.bytes.extend([kind, 4]);
            out.short(0);
        });
    }
    define(22, &|out| {
        out.short(0);
        out.short(0);
        out.short(1);
        out.none();
    });
    out.bytes.push(2);
    std::fs::write(folder.0.join("traces.def"), &out.bytes).unwrap();

    let mut anchor = Bytewise::default();
    anchor.header();
    anchor.text("OTF2");
    anchor.bytes.extend([3, 0, 0, 2, 0]);
    anchor.full(CHUNK);
    anchor.full(CHUNK);
    anchor.bytes.extend([1, 1]);
    anchor.full(2);
    anchor.full(count);
    for text in ["machine", "test", ""] {
        anchor.text(text);
    }
    anchor.full32(0);
    anchor.full(1);
    anchor.full32(0);
    anchor.full32(0);
    anchor.bytes.push(2);
    std::fs::write(&path, &anchor.bytes).unwrap();

    std::fs::create_dir(folder.0.join("traces")).unwrap();
    for (rank, events) in ranks.into_iter().enumerate() {
        let mut out = start(1, events.len() as u64);
        for (time, event) in events {
            out.bytes.push(5);
            out.full(time);
            let transfer = |out: &mut Bytewise, peer| {
                for value in [peer, 0, 7, 64] {
                    out.short(value);
                }
            };
            match event {
                Enter(region) | Leave(region) => {
                    out.bytes
                        .push(if matches!(event, Enter(_)) { 12 } else { 13 });
                    out.short(region);
                }
                Sent(peer) => out.record(14, |out| transfer(out, peer)),
                Received(peer) => out.record(18, |out| transfer(out, peer)),
                Off => out.record(11, |out| out.bytes.push(2)),
                On => out.record(11, |out| out.bytes.push(1)),
                Flush(until) => out.record(10, |out| out.full(until)),
            }
        }
        out.bytes.push(2);
        std::fs::write(folder.0.join(format!("traces/{rank}.evt")), &out.bytes).unwrap();
    }
    if !markers.is_empty() {
        let mut out = start(1, 0);
        out.record(5, |out| {
            out.short(0);
            out.text("test");
            out.text("phase");
            out.bytes.push(0);
        });
        for &(text, time) in markers {
            out.record(6, |out| {
                out.short(time);
                out.short(0);
                out.short(0);
                out.bytes.push(0);
                out.short(0);
                out.text(text);
            });
        }
        out.bytes.push(2);
        std::fs::write(folder.0.join("traces.marker"), &out.bytes).unwrap();
    }
    (folder, path)
}

fn nanoseconds(count: u64) -> Picoseconds {
    Picoseconds(1_000 * count)
}

#[test]
fn time_in_which_nothing_is_recorded_is_not_computing() {
    let sender = [
        message(2_000, true, 1),
        // From 2,100 on computing; then recording is off for 52 us.
        vec![(3_000, Off), (55_000, On)],
        message(56_000, true, 1),
        vec![(57_000, Flush(58_000))],
        message(60_000, true, 1),
    ];
    let receiver = [2_000, 2_200, 2_400].map(|at| message(at, false, 0));
    let (_folder, path) = archive([sender.concat(), receiver.concat()], &[]);
    let trace = Trace::open(&path, Options::default()).unwrap();
    assert_eq!(trace.facts().unrecorded, nanoseconds(52_000 + 1_000));
    let done = run(&trace).unwrap();
    assert_eq!(done.compute[0], nanoseconds(900 + 1_000 + 900 + 2_000));
    assert_eq!(done.compute[1], nanoseconds(200));
    assert_eq!((done.messages, done.bytes), (3, 192));
    // A buffer that is written within a function of MPI is no time of the rank's own.
    let within = [
        message(2_000, true, 1),
        vec![
            (4_000, Enter(RECV)),
            (4_000, Flush(4_700)),
            (4_800, Leave(RECV)),
        ],
        message(5_000, true, 1),
    ];
    let receiver = [2_000, 2_200].map(|at| message(at, false, 0));
    let (_folder, path) = archive([within.concat(), receiver.concat()], &[]);
    let done = run(&Trace::open(&path, Options::default()).unwrap()).unwrap();
    assert_eq!(done.compute[0], nanoseconds(1_900 + 200));
}

/// Three steps of 10 us from 10 us on, in each of which rank 0 sends a message. Rank 1
/// receives the first two in its second step.
fn steps() -> (Folder, PathBuf) {
    let step = |at: u64, inside: Vec<At>| {
        [
            vec![(at, Enter(STEP))],
            inside,
            vec![(at + 10_000, Leave(STEP))],
        ]
        .concat()
    };
    let sender = [10_000, 20_000, 30_000].map(|at| step(at, message(at + 2_000, true, 1)));
    let both = [message(22_000, false, 0), message(25_000, false, 0)].concat();
    let receiver = [
        step(10_000, Vec::new()),
        step(20_000, both),
        step(30_000, message(33_000, false, 0)),
    ];
    let all = |steps: [Vec<At>; 3]| {
        [
            vec![(1_000, Enter(MAIN))],
            steps.concat(),
            vec![(50_000, Leave(MAIN))],
        ]
        .concat()
    };
    archive(
        [all(sender), all(receiver)],
        &[("second", 20_500), ("third", 30_500)],
    )
}

fn function(name: &str, number: Option<u64>) -> Option<Border> {
    Some(Border::Function {
        name: name.to_owned(),
        number,
    })
}

fn marker(name: &str) -> Option<Border> {
    Some(Border::Marker {
        name: name.to_owned(),
        number: None,
    })
}

fn time(nanoseconds: u64) -> Option<Border> {
    Some(Border::Time(Picoseconds(1_000 * nanoseconds)))
}

fn opened(path: &Path, start: Option<Border>, end: Option<Border>) -> Result<Trace, String> {
    let options = Options {
        region: Region { start, end },
        ..Options::default()
    };
    Trace::open(path, options).map_err(|error| error.to_string())
}

#[test]
fn a_region_keeps_what_both_ends_have_within_it() {
    let (_folder, path) = steps();
    // What is sent and received, what is left out at the border, and what each rank
    // computes, ns.
    let region = |start, end| {
        let trace = opened(&path, start, end).unwrap();
        let done = run(&trace).unwrap();
        assert_eq!(run_in_pieces(&trace, 1).unwrap(), done);
        let TraceFacts {
            messages,
            messages_left_out,
            ..
        } = *trace.facts();
        assert_eq!(done.messages, messages);
        let compute = done.compute.iter().map(|compute| compute.0 / 1_000);
        (messages, messages_left_out, compute.collect::<Vec<_>>())
    };
    assert_eq!(region(None, None), (3, 0, vec![19_800, 10_800]));
    // The second step: rank 0 computes 2 us before and 7.9 us behind its message; of
    // rank 1's two messages the first comes from the first step.
    let second = region(function("step", Some(2)), function("step", Some(2)));
    assert_eq!(second, (1, 1, vec![2_000 + 7_900, 2_000 + 2_900 + 4_900]));
    // All steps, and from the last on.
    let all = region(function("step", None), function("step", None));
    assert_eq!(all.0, 3);
    assert_eq!(
        region(function("step", Some(3)), None),
        (1, 0, vec![2_000, 3_000])
    );
    // In time: the first two messages are sent before 25 us, but the second is received
    // at 25 us.
    assert_eq!(
        region(None, time(25_000)),
        (1, 1, vec![9_900 + 2_900, 2_900])
    );
    assert_eq!(region(time(30_000), None), (1, 0, vec![2_000, 3_000]));
    // A call across the start belongs to what lies before it.
    assert_eq!(
        region(time(22_050), None),
        (1, 1, vec![9_900, 2_900 + 7_900])
    );
    let marked = region(marker("second"), marker("third"));
    assert_eq!(marked, (1, 1, vec![1_500 + 8_400, 1_500 + 2_900 + 5_400]));
}

#[test]
fn borders_that_are_not_there_are_refused() {
    let (_folder, path) = steps();
    let cases: [(Option<Border>, Option<Border>, &str); 8] = [
        (
            function("stepp", None),
            None,
            "no rank calls a function \"stepp\"; those of the trace: main, step",
        ),
        (
            function("step", Some(4)),
            None,
            "in function \"step\" 3 times; there is no time 4",
        ),
        (
            None,
            function("MPI_Barrier", None),
            "no rank calls a function \"MPI_Barrier\"",
        ),
        (
            marker("fourth"),
            None,
            "no marker \"fourth\"; there are: phase, second, third",
        ),
        (
            Some(Border::Marker {
                name: "phase".to_owned(),
                number: Some(3),
            }),
            None,
            "2 markers \"phase\"; there is none of number 3",
        ),
        (
            time(30_000),
            time(20_000),
            "ends (20 us) before it starts (30 us)",
        ),
        (
            function("step", Some(3)),
            function("step", Some(1)),
            "before it starts",
        ),
        (time(60_000), None, "no rank calls anything in the region"),
    ];
    for (start, end, expected) in cases {
        let error = opened(&path, start, end).err().unwrap_or_default();
        assert!(error.contains(expected), "{error}");
    }
}

fn iteration(rank: i32) -> Vec<Call> {
    let none = || Value::Statuses(Vec::new());
    let message = match rank {
        0 => call!(Send, 3, INTEGER, 1, 0, WORLD),
        _ => call!(Recv, 3, INTEGER, 0, 0, WORLD, none()),
    };
    let sum = Value::Code(4);
    vec![message, call!(Allreduce, 1, INTEGER, sum, WORLD)]
}

#[test]
fn iterations_of_dumpi_jobs_are_told_by_a_call() {
    let calls = |rank: i32| (0..6).flat_map(|_| iteration(rank)).collect::<Vec<_>>();
    let job = Job::of_ranks(2, calls);
    let name = "MPI_Allreduce";
    let trace = opened(&job.meta, function(name, Some(2)), function(name, Some(4))).unwrap();
    // Three of the sums, and the two messages between them.
    assert_eq!(trace.facts().collectives["allreduce"], 2 * 3);
    assert_eq!(
        (trace.facts().messages, trace.facts().bytes),
        (2, Bytes(24))
    );
    let done = run(&trace).unwrap();
    // Calls begin 2 us after the one before: four times between five.
    assert_eq!(done.compute[0], Picoseconds(4 * 2_000_000));
    // Times count from the first call: 3 us for each; the 4th to the 9th.
    let trace = opened(&job.meta, time(9_000), time(27_000)).unwrap();
    assert_eq!(trace.facts().collectives["allreduce"], 2 * 3);
    assert_eq!(trace.facts().messages, 3);
}

#[test]
fn collectives_across_the_border_are_left_out() {
    // Rank 1 asks who it is twice first, and so is 6 us late.
    let calls = |rank: i32| {
        let late = (0..2 * rank).map(|_| call!(Comm_rank, WORLD, rank));
        let sums = (0..4).map(|_| call!(Allreduce, 1, INTEGER, Value::Code(4), WORLD));
        late.chain(sums).collect::<Vec<_>>()
    };
    let job = Job::of_ranks(2, calls);
    // From 3 us: all four sums of rank 0; to 9 us: its first three, one of rank 1's.
    let trace = opened(&job.meta, time(3_000), time(12_000)).unwrap();
    assert_eq!(trace.facts().collectives["allreduce"], 2);
    assert_eq!(trace.facts().collectives_left_out, 2);
    run(&trace).unwrap();
}

#[test]
fn schedules_have_no_regions() {
    let folder = Folder::new();
    let path = folder.0.join("two.goal");
    std::fs::write(&path, "num_ranks 1\n\nrank 0 {\nl1: calc 5\n}\n").unwrap();
    let error = opened(&path, time(1), None).err().unwrap_or_default();
    let (mpi, others) = ("OTF2 archive, liballprof job, DUMPI job", "packet");
    assert!(
        error.contains("traces of MPI (") && error.contains(mpi),
        "{error}"
    );
    assert!(!error.contains(others), "{error}");
}
