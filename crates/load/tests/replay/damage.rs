//! Damaged traces give errors: no panic, no hang, no more memory than the files
//! justify. `REPLAY_DAMAGE_ROUNDS` and `REPLAY_DAMAGE_SEED` try more and others.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use odonata_load::replay::{Options, Partners, Trace};
use odonata_traces::dumpi::Value;

use crate::executor::run;
use crate::job::{Folder, INTEGER, Job, WORLD, call, statuses};
use crate::real::data;

#[path = "../../../traces/tests/shared/damage.rs"]
#[expect(dead_code, reason = "shared with the tests of the readers")]
mod damaging;

use damaging::{Numbers, damaged, peak_memory};

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}

/// Damages one of `files` in a copy of their folder, opens `main` and runs it; how
/// many of the rounds were accepted and ran to their end.
fn attack(folder: &Path, main: &str, files: &[&str], options: &Options) -> (u64, u64) {
    let rounds = setting("REPLAY_DAMAGE_ROUNDS", 150);
    let mut numbers = Numbers(setting("REPLAY_DAMAGE_SEED", 1));
    let copy = Folder::new();
    copy_all(folder, &copy.0);
    let good: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(folder.join(file)).unwrap())
        .collect();
    let before = peak_memory();
    let mut finished = 0;
    for round in 0..rounds {
        let which = numbers.below(files.len());
        let other = numbers.below(files.len());
        let bad = damaged(&good[which], &good[other], &mut numbers);
        let target = copy.0.join(files[which]);
        std::fs::write(&target, &bad).unwrap();
        let start = Instant::now();
        if let Ok(trace) = Trace::open(&copy.0.join(main), options.clone()) {
            finished += u64::from(run(&trace).is_ok());
        }
        let took = start.elapsed();
        assert!(
            took < Duration::from_secs(20),
            "{main}, round {round}: {took:?}"
        );
        std::fs::write(&target, &good[which]).unwrap();
    }
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(
            after - before < 1 << 30,
            "{main}: {} more bytes",
            after - before
        );
    }
    // Nothing of the damage is left.
    let trace = Trace::open(&copy.0.join(main), options.clone()).unwrap();
    run(&trace).unwrap();
    (finished, rounds)
}

fn copy_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_all(&path, &target);
        } else {
            std::fs::write(&target, std::fs::read(&path).unwrap()).unwrap();
        }
    }
}

/// A job with as many different functions as fit into a few calls. In communicator 6
/// the ranks count backwards, so that a message to the next one comes from there.
fn job() -> Job {
    let none = || Value::Statuses(Vec::new());
    let handle = |number: u16| Value::Handle(number);
    Job::of_ranks(4, |rank| {
        let (next, before) = ((rank + 1) % 4, (rank + 3) % 4);
        let zeros = [0; 4];
        vec![
            call!(Comm_rank, WORLD, rank),
            call!(Comm_size, WORLD, 4),
            call!(Comm_group, WORLD, handle(4)),
            call!(Group_incl, handle(4), 4, [3, 2, 1, 0], handle(5)),
            call!(Comm_create, WORLD, handle(5), handle(6)),
            call!(Comm_split, handle(6), rank % 2, rank, handle(7)),
            call!(Cart_create, WORLD, 2, [2, 2], [0, 0], 0, handle(8)),
            call!(Cart_sub, 2, handle(8), [1, 0], handle(9)),
            call!(Type_vector, 3, 5, 100, INTEGER, handle(40)),
            call!(Irecv, 100, INTEGER, -1, -1, handle(6), 2),
            call!(Isend, 2, handle(40), next, 5, handle(6), 3),
            call!(Waitall, 2, [2, 3], statuses([(next, 5), (0, 0)])),
            call!(Bcast, 9, INTEGER, 1, handle(7)),
            call!(
                Alltoallv,
                4,
                [1, 2, 3, 4],
                zeros,
                INTEGER,
                [rank + 1; 4],
                zeros,
                INTEGER,
                WORLD
            ),
            call!(
                Reduce_scatter,
                4,
                [4, 3, 2, 1],
                INTEGER,
                Value::Code(3),
                WORLD
            ),
            call!(Recv_init, 1, INTEGER, before, 6, WORLD, 2),
            call!(Send_init, 1, INTEGER, next, 6, WORLD, 3),
            call!(Startall, 2, [2, 3]),
            call!(Waitany, 2, [2, 3], 1, none()),
            call!(Waitsome, 2, [2, 3], 1, [0], none()),
            call!(Win_create, 99, 1, handle(0), handle(8), handle(1)),
            call!(Put, 9, INTEGER, next, 0, 9, INTEGER, handle(1)),
            call!(Win_fence, Value::Code(0), handle(1)),
        ]
    })
}

#[test]
fn damaged_dumpi_jobs_are_refused_or_run() {
    let job = job();
    let files = [
        "job.meta",
        "job-0000.bin",
        "job-0001.bin",
        "job-0002.bin",
        "job-0003.bin",
    ];
    let (finished, rounds) = attack(&job.folder.0, "job.meta", &files, &Options::default());
    // Some bytes mean nothing, such as those of time stamps and strides.
    assert!(finished < rounds / 2, "{finished} of {rounds}");
}

#[test]
fn damaged_real_jobs_are_refused_or_run() {
    let Some(folder) = data("dumpi-complete/testtrace") else {
        return;
    };
    let files: Vec<String> = (0..4)
        .map(|rank| format!("testtrace-{rank:04}.bin"))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (finished, rounds) = attack(&folder, "testtrace.meta", &files, &Options::default());
    assert!(finished < rounds);
    let Some(folder) = data("otf2-10ranks") else {
        return;
    };
    let files = [
        "traces.otf2",
        "traces.def",
        "traces/0.evt",
        "traces/3.evt",
        "traces/9.def",
    ];
    let (finished, rounds) = attack(&folder, "traces.otf2", &files, &Options::default());
    assert!(finished < rounds);
}

#[test]
fn damaged_schedules_and_flows_are_refused_or_run() {
    let folder = Folder::new();
    let goal = "num_ranks 3\n\nrank 0 {\nl1: calc 500\nl2: send 9b to 1 tag 4\nl2 requires l1\n\
                l3: send 7b to 2 tag 5 cpu 1\nl3 irequires l2\n}\n\nrank 1 {\n\
                l1: recv 9b from 0 tag 4\nl2: send 1b to 2 tag 6\nl2 requires l1\n}\n\nrank 2 {\n\
                l1: recv 7b from -1 tag -1\nl2: recv 1b from 1 tag 6\n}\n";
    let flows = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 5 size 3000 \
                 recv_done_trigger 1\n1->2 id 2 trigger 1 size 3000\n3->0 id 3 trigger 1 size 77\n\
                 trigger id 1 oneshot\n";
    let packets = "0 100 1 2 60\n0 100 2 3 70\n0 105 1 3 80\n0 109 3 1 90\n";
    let file = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    file("a.goal", goal);
    file("a.cm", flows);
    file("a.txt", packets);
    for name in ["a.goal", "a.cm", "a.txt"] {
        let (finished, rounds) = attack(&folder.0, name, &[name], &Options::default());
        assert!(finished < rounds, "{name}");
    }
}

#[test]
fn damaged_texts_of_liballprof_are_refused_or_run() {
    let job = crate::liballprof::ring();
    let files = ["trace-0.txt", "trace-1.txt", "trace-2.txt", "trace-3.txt"];
    let folder = job.folder();
    let (finished, rounds) = attack(folder, files[0], &files, &Options::default());
    // Times and addresses of buffers may be any.
    assert!(finished < rounds, "{finished} of {rounds}");
}

#[test]
fn damaged_repeated_traces_are_refused_or_run() {
    let job = Job::of_ranks(1, |_| {
        vec![
            call!(Irecv, 9, INTEGER, 3, 5, WORLD, 2),
            call!(Send, 9, INTEGER, 1, 5, WORLD),
            call!(Wait, 2, Value::Statuses(Vec::new())),
            call!(Allreduce, 5, INTEGER, Value::Code(3), WORLD),
            call!(Cart_create, WORLD, 2, [2, 2], [0, 0], 0, Value::Handle(8)),
            call!(Cart_sub, 2, Value::Handle(8), [1, 0], Value::Handle(9)),
            call!(Comm_group, WORLD, Value::Handle(4)),
            call!(Group_incl, Value::Handle(4), 2, [0, 2], Value::Handle(5)),
            call!(Comm_create, WORLD, Value::Handle(5), Value::Handle(6)),
            call!(Allreduce, 5, INTEGER, Value::Code(3), Value::Handle(6)),
            call!(Bcast, 5, INTEGER, 1, Value::Handle(9)),
        ]
    });
    let options = Options {
        repeat_rank: Some(Partners::Offset),
        ranks: Some(4),
        ..Options::default()
    };
    let name = "job-0000.bin";
    let (finished, rounds) = attack(&job.folder.0, name, &[name], &options);
    assert!(finished < rounds);
}

/// The files of ranks that change places tell so.
#[test]
fn traces_of_other_ranks_are_refused() {
    let job = job();
    let path = |rank: u32| -> PathBuf { job.folder.0.join(format!("job-{rank:04}.bin")) };
    let spare = job.folder.0.join("spare");
    std::fs::rename(path(1), &spare).unwrap();
    assert!(job.refused().contains("missing"));
    std::fs::rename(path(2), path(1)).unwrap();
    std::fs::rename(&spare, path(2)).unwrap();
    assert!(job.refused().contains("this is the trace of rank 2"));
    // A rank's trace that ends early.
    let bytes = std::fs::read(path(3)).unwrap();
    std::fs::write(path(3), &bytes[..bytes.len() / 2]).unwrap();
    let refused = job.refused();
    assert!(
        refused.contains("trace of rank") || refused.contains("truncated"),
        "{refused}"
    );
}
