//! The real traces, where they are at hand.

use std::path::Path;

use odonata_load::CollectiveKind;
use odonata_load::replay::{Compute, Options, Partners, Trace};
use odonata_traces::dumpi::{DumpiJob, Function};
use odonata_units::{Picoseconds, RankId};

use crate::executor::{Done, run};

/// The complete DUMPI jobs: with ranks, and messages and bytes that all ranks send,
/// counted in the text that sst-dumpi prints of the files.
pub const DUMPI_JOBS: [(&str, u32, u64, u64); 4] = [
    // 84 messages of 89 doubles each.
    ("testbgp/testbgp.meta", 7, 7 * 84, 7 * 84 * 712),
    // An integer to the next rank.
    ("testtrace/testtrace.meta", 4, 4, 16),
    // 12 integers each.
    (
        "naive_all_to_all/run_0/dumpi-2019.05.22.11.54.43.meta",
        4,
        48,
        192,
    ),
    (
        "naive_all_to_all/run_1/dumpi-2019.05.22.22.06.19.meta",
        4,
        48,
        192,
    ),
];

pub use odonata_testdata::data;

pub fn options(scale: f64) -> Options {
    Options {
        compute: Compute::Scaled(scale),
        ..Options::default()
    }
}

/// Runs a trace to its end: everything that is sent is received.
fn replayed(path: &Path, options: Options) -> (Trace, Done) {
    let trace = Trace::open(path, options).unwrap();
    let done = run(&trace).unwrap();
    (trace, done)
}

/// Time between calls of a rank of a DUMPI job, found without the replay: calls that
/// only ask are part of the time between the others.
fn time_between(path: &Path, rank: u32) -> u64 {
    use Function as F;
    let asks = [
        F::Comm_rank,
        F::Comm_size,
        F::Comm_group,
        F::Group_incl,
        F::Get_processor_name,
    ];
    let mut reader = DumpiJob::open(path).unwrap().rank(RankId(rank)).unwrap();
    let (mut left, mut sum) = (None, 0);
    while let Some(call) = reader.next_call().unwrap() {
        if asks.contains(&call.function) {
            continue;
        }
        let wall = call.wall.unwrap();
        if let Some(left) = left {
            sum += wall.start.total_nanoseconds() - left;
        }
        left = Some(wall.stop.total_nanoseconds());
    }
    sum as u64 * 1_000
}

#[test]
fn dumpi_jobs_finish_with_every_message_received() {
    for (name, ranks, messages, bytes) in DUMPI_JOBS {
        let Some(path) = data(&format!("dumpi-complete/{name}")) else {
            return;
        };
        let (trace, done) = replayed(&path, options(1.0));
        let facts = trace.facts();
        assert_eq!(
            (facts.ranks, facts.messages, facts.bytes.0),
            (ranks, messages, bytes)
        );
        // Messages of collectives come on top of those of the trace.
        assert!(done.messages >= messages && done.bytes >= bytes, "{name}");
        assert_eq!(
            facts.negative_gaps + facts.untimed + facts.unknown_requests,
            0
        );
        for rank in 0..ranks {
            let expected = Picoseconds(time_between(&path, rank));
            assert_eq!(done.compute[rank as usize], expected, "{name}, rank {rank}");
        }
        let ten = replayed(&path, options(10.0)).1;
        let none = replayed(&path, options(0.0)).1;
        for rank in 0..ranks as usize {
            assert_eq!(ten.compute[rank].0, 10 * done.compute[rank].0);
            assert_eq!(none.compute[rank].0, 0);
        }
        assert_eq!(ten.messages, done.messages);
        assert_eq!(none.bytes, done.bytes);
        // The description and a file of each rank.
        let files = odonata_load::replay::files(&path);
        assert_eq!(files.len() as u32, 1 + ranks);
        assert!(files.iter().all(|file| file.exists()));
    }
}

#[test]
fn collectives_are_those_of_the_traces() {
    let Some(path) = data("dumpi-complete/testbgp/testbgp.meta") else {
        return;
    };
    let (trace, done) = replayed(&path, options(0.0));
    // Per rank 7 all-to-alls and 3 barriers, on a communicator made of a group.
    let expected = [
        (CollectiveKind::Barrier, 21),
        (CollectiveKind::Alltoall, 49),
    ];
    assert_eq!(done.collectives, expected.into());
    assert_eq!(trace.facts().communicators, 1);
}

#[test]
fn the_otf2_job_finishes_with_every_message_received() {
    let Some(path) = data("otf2-10ranks/traces.otf2") else {
        return;
    };
    let (trace, done) = replayed(&path, options(1.0));
    let facts = trace.facts();
    // As SST/macro prints of the same archive: 1,440 MPI_Isend, 360 calls of each of
    // the three, 30 of the others.
    assert_eq!((facts.ranks, facts.messages), (10, 1_440));
    let collectives: Vec<(&str, u64)> = facts.collectives.clone().into_iter().collect();
    let expected = [
        ("allgather", 360),
        ("allreduce", 360),
        ("alltoall", 360),
        ("broadcast", 30),
        ("gather", 30),
        ("reduce", 30),
        ("scatter", 30),
    ];
    assert_eq!(collectives, expected);
    // Score-P 2 leaves no trace of non-blocking collectives but their names.
    let names: Vec<_> = facts.not_replayed.keys().copied().collect();
    assert_eq!(names, ["MPI_Iallgather", "MPI_Iallreduce", "MPI_Ialltoall"]);
    assert_eq!(facts.open_receives, 0);
    let ten = replayed(&path, options(10.0)).1;
    for rank in 0..10 {
        assert!(done.compute[rank] > Picoseconds::ZERO);
        assert_eq!(ten.compute[rank].0, 10 * done.compute[rank].0);
    }
}

#[test]
fn goal_examples_finish() {
    // A broadcast sends one message less than there are ranks; the dissemination
    // barrier one of each rank in each of log2 rounds.
    let examples = [
        ("binary_tree_16", 16, 15),
        ("binary_tree_32", 32, 31),
        ("dissemination_16", 16, 16 * 4),
        ("dissemination_32", 32, 32 * 5),
    ];
    for (name, ranks, messages) in examples {
        let Some(path) = data(&format!("goal-examples/{name}.goal")) else {
            return;
        };
        let (trace, done) = replayed(&path, options(1.0));
        assert_eq!(
            (trace.facts().ranks, done.messages),
            (ranks, messages),
            "{name}"
        );
    }
}

#[test]
fn flows_and_packets_finish() {
    let files = [
        (
            "goal-examples/htsim-perm_1024n_1024c_0u_2000000b.cm",
            1_024,
            1_024,
            2_048_000_000,
        ),
        ("goal-examples/htsim-outcast_incast.cm", 128, 21, 42_000_000),
        ("goal-examples/htsim-incast_20.cm", 32, 18, 36_000_000),
        ("goal-examples/htsim-perm_32.cm", 32, 32, 64_000_000),
        // Bytes as awk sums them up.
        (
            "facebook-trace/facebook_2699.txt",
            2_699,
            19_827,
            15_444_903,
        ),
    ];
    for (name, ranks, messages, bytes) in files {
        let Some(path) = data(name) else { return };
        let (trace, done) = replayed(&path, options(1.0));
        let found = (trace.facts().ranks, done.messages, done.bytes);
        assert_eq!(found, (ranks, messages, bytes), "{name}");
    }
}

/// Ranks of one application whose other traces are lost.
#[test]
fn one_rank_stands_for_all_where_its_structure_permits() {
    let open = |name: &str, ranks, partners| {
        let path = data(&format!("dumpi-rank0/{name}.bin"))?;
        let options = Options {
            repeat_rank: Some(partners),
            ranks,
            ..Options::default()
        };
        Some(Trace::open(&path, options).map_err(|error| error.to_string()))
    };
    // Rank 0 exchanges with the same peers in both directions, so that partners that
    // differ in the same bits have what they wait for.
    for (name, ranks, each) in [("CrystalRouter", 16, 16_000), ("MultiGrid", 128, 1_144)] {
        let Some(trace) = open(name, Some(ranks), Partners::Xor) else {
            return;
        };
        let trace = trace.unwrap();
        assert_eq!(trace.facts().messages, u64::from(ranks) * each);
        run(&trace).unwrap();
        // To the rank d further it sends, but from the one d before it receives
        // nothing: rank 0 sits at a corner.
        let offset = open(name, Some(ranks), Partners::Offset).unwrap();
        assert!(offset.is_err_and(|error| error.contains("cannot stand for all ranks")));
        let odd = open(name, Some(ranks - 1), Partners::Xor).unwrap();
        assert!(odd.is_err_and(|error| error.contains("power of two")));
    }
    // AMG's rank 0 receives from ranks to which it sends only later, on the coarse
    // levels of its grids.
    let amg = open("AMG", Some(32), Partners::Xor).unwrap();
    assert!(amg.is_err_and(|error| error.contains("cannot stand for all ranks")));
    // CrystalRouter's trace does not say how many ranks there were.
    let unsaid = open("CrystalRouter", None, Partners::Xor).unwrap();
    assert!(unsaid.is_err_and(|error| error.contains("tell the number of ranks")));
}
