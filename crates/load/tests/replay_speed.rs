//! A replay reads large traces fast enough and in memory that does not grow with
//! them.
//!
//! `cargo test --release -p odonata-load --test replay_speed -- --nocapture` prints
//! what was measured.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use odonata_load::Program;
use odonata_load::replay::{Options, Trace};
use odonata_traces::dumpi::Value;

#[path = "replay/executor.rs"]
#[expect(dead_code, reason = "shared with the other tests")]
mod executor;
#[path = "replay/job.rs"]
#[expect(dead_code, reason = "shared with the other tests")]
mod job;

use job::{Folder, INTEGER, Job, WORLD, call};

/// Records that a replay must be able to read per second: 10 million a minute.
const LEAST_PER_SECOND: f64 = 10e6 / 60.0;
/// Memory that the whole process may take beyond what it had at the start, bytes.
const MOST_MEMORY: u64 = 32 << 20;

/// Highest resident memory of this process so far, bytes; `None` where the system
/// does not tell.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Time that this thread has had of a processor: that of the clock depends on who else runs. That of
/// the clock where the system does not tell.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH);
    nanoseconds.map_or_else(
        || clock().map_or(0.0, |since| since.as_secs_f64()),
        |time| time as f64 * 1e-9,
    )
}

/// Opens a trace and carries it out, all ranks in turn.
fn measure(name: &str, path: &std::path::Path) {
    let before = peak_memory();
    let start = processor_seconds();
    let trace = Trace::open(path, Options::default()).unwrap();
    let done = executor::execute(&trace, u64::MAX, false).unwrap().messages;
    let seconds = processor_seconds() - start;
    let records = trace.facts().records as f64;
    let rate = records / seconds;
    let more = peak_memory()
        .zip(before)
        .map(|(after, before)| after - before);
    println!(
        "{name}: {records} records of {} ranks, {done} messages, {:.1} million a minute, {more:?} B",
        trace.ranks(),
        rate * 60e-6
    );
    assert!(rate > LEAST_PER_SECOND, "{name}: {rate} records a second");
    assert!(
        more.is_none_or(|more| more < MOST_MEMORY),
        "{name}: {more:?} B"
    );
}

/// One after the other: what was measured is of the whole process.
#[test]
fn replays_are_fast_and_small() {
    // 8 ranks in a ring, 60,000 records each: 25 MB in all.
    let rounds = 20_000;
    let mut folder = None;
    let before = peak_memory();
    for rank in 0..8 {
        let calls = (0..rounds).flat_map(|round| {
            [
                call!(Irecv, 100, INTEGER, (rank + 7) % 8, round % 1_000, WORLD, 2),
                call!(Isend, 100, INTEGER, (rank + 1) % 8, round % 1_000, WORLD, 3),
                call!(Waitall, 2, [2, 3], Value::Statuses(Vec::new())),
            ]
        });
        let folder = folder.get_or_insert_with(Folder::new);
        job::write_rank(&folder.0, rank as usize, calls);
    }
    let folder = folder.unwrap();
    let meta = job::write_meta(&folder.0, 8);
    let job = Job { folder, meta };
    let written = peak_memory()
        .zip(before)
        .map(|(after, before)| after - before);
    assert!(written.is_none_or(|more| more < MOST_MEMORY), "{written:?}");
    measure("DUMPI", &job.meta);

    let folder = Folder::new();
    let path = folder.0.join("large.goal");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let (ranks, rounds) = (400, 400);
    writeln!(file, "num_ranks {ranks}").unwrap();
    for rank in 0..ranks {
        writeln!(file, "rank {rank} {{").unwrap();
        for round in 0..rounds {
            let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            let first = 3 * round;
            writeln!(file, "l{}: calc 100", first + 1).unwrap();
            if round > 0 {
                writeln!(file, "l{} requires l{first}", first + 1).unwrap();
            }
            writeln!(file, "l{}: send 10b to {to} tag {round}", first + 2).unwrap();
            writeln!(file, "l{} requires l{}", first + 2, first + 1).unwrap();
            writeln!(file, "l{}: recv 10b from {from} tag {round}", first + 3).unwrap();
            writeln!(file, "l{} requires l{}", first + 3, first + 2).unwrap();
        }
        writeln!(file, "}}").unwrap();
    }
    file.flush().unwrap();
    drop(file);
    measure("GOAL text", &path);
}
