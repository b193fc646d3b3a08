//! CPU time of policies on long queues: a synthetic log of a year for a machine that
//! cannot carry its load, or a log of yours.
//!
//! ```sh
//! cargo run -p odonata-scheduler --release --example long_queues -- [JOBS [LOAD [NODES]]]
//! cargo run -p odonata-scheduler --release --example long_queues -- LOG NODES
//! ```
//!
//! By default 447,786 jobs of 365 days on 1,024 nodes, which offer 1.3 times what the
//! machine can do. Users request about twice what jobs run. The last column identifies
//! the starts: equal numbers, equal schedules.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{
    Multifactor, Options, Order, Policy, Pool, simulate, size_classes, summarise,
};
use odonata_scheduler::log::{JobLog, Kind, LublinFeitelson, ReadOptions, read_log};

const YEAR: f64 = 365.0 * 86_400.0;

/// A log of `jobs` jobs in a year that offer `load` times what `nodes` nodes can do.
fn year(jobs: u32, load: f64, nodes: u32) -> JobLog {
    let model = LublinFeitelson {
        kind: Kind::All,
        nodes,
        jobs,
        arrivals: 1.0,
        request: Some(2.0),
        seed: 1,
    };
    let (mut log, _) = model.generate().expect("the parameters are in range");
    let arrivals = YEAR / log.span().0 as f64;
    let runs = load * f64::from(nodes) * YEAR / log.work();
    for job in &mut log.jobs {
        job.submit = Seconds((job.submit.0 as f64 * arrivals) as i64);
        job.run = Seconds((job.run.0 as f64 * runs) as i64);
        // Users ask for whole minutes.
        let asked =
            |time: Seconds| Seconds(((time.0 as f64 * runs / 60.0).ceil() as i64).max(1) * 60);
        job.requested = job.requested.map(asked);
    }
    log
}

/// FNV-1a of all starts.
fn identity(starts: impl Iterator<Item = i64>) -> u64 {
    starts
        .flat_map(i64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| -> f64 {
        let text = arguments.get(index);
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let read = arguments
        .first()
        .filter(|text| text.parse::<f64>().is_err());
    let (log, nodes) = match read {
        Some(path) => {
            let log = read_log(Path::new(path), &ReadOptions::default());
            let (log, _) = log.unwrap_or_else(|error| panic!("{error}"));
            let nodes = log.machine_nodes.map_or(1024.0, f64::from);
            (log, number(1, nodes) as u32)
        }
        None => {
            let nodes = number(2, 1024.0) as u32;
            (
                year(number(0, 447_786.0) as u32, number(1, 1.3), nodes),
                nodes,
            )
        }
    };
    let only = std::env::var("POLICIES").unwrap_or_default();
    println!("{} jobs, {nodes} nodes", log.jobs.len());
    println!("policy                   CPU s   passes  most waiting  mean wait h  starts");
    for (name, policy, order) in [
        ("fcfs", Policy::InOrder, Order::Fcfs),
        ("easy", Policy::EASY, Order::Fcfs),
        ("easy/sjf", Policy::EASY, Order::ShortestFirst),
        ("depth:8", Policy::Backfill { depth: 8 }, Order::Fcfs),
        ("easy/wfp", Policy::EASY, Order::Wfp),
        (
            "easy/multifactor",
            Policy::EASY,
            Order::Multifactor(Multifactor::default()),
        ),
        ("conservative", Policy::Conservative, Order::Fcfs),
        ("conservative-replanned", Policy::REPLANNED, Order::Fcfs),
    ] {
        if !only.is_empty() && !only.split(',').any(|one| one == name) {
            continue;
        }
        let options = Options {
            policy,
            order,
            ..Options::default()
        };
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        let schedule = simulate(&log, &Pool::new(nodes), &options, &mut |done, of| {
            if std::env::var_os("PROGRESS").is_some() {
                eprintln!(
                    "{name}: {done} of {of}, {:.1} s",
                    begun.elapsed().as_secs_f64()
                );
            }
            ControlFlow::Continue(())
        });
        let schedule = schedule.unwrap_or_else(|error| panic!("{error}"));
        let took = cpu_seconds() - cpu;
        let summary = summarise(&schedule, Seconds(10), &size_classes(nodes));
        let starts = schedule
            .rows
            .iter()
            .map(|row| row.start.map_or(-1, |start| start.0));
        println!(
            "{name:<22} {took:>7.3} {:>8} {:>13} {:>12.2}  {:016x}",
            schedule.passes,
            summary.max_queue,
            summary.wait_s.mean / 3600.0,
            identity(starts)
        );
    }
}

/// CPU time of this process so far, where the system tells it (Linux); otherwise the
/// time of the clock since the first call.
fn cpu_seconds() -> f64 {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let begun = *BEGUN.get_or_init(Instant::now);
    // Nanoseconds on a CPU come first (proc(5), /proc/PID/schedstat).
    let known = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = known.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(begun.elapsed().as_secs_f64(), |nanoseconds| {
        nanoseconds / 1e9
    })
}
