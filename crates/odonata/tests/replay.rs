//! Traces of real applications on several networks.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use odonata::spec::{
    AlgorithmName, Crossbar, Dragonfly, Family, FileNetwork, Job, Link, Load, Motif, MotifKind,
    Network, RepeatRank,
};
use odonata::{Error, Progress, Run, Scenario, run};
use odonata_load::replay::{Options, Trace};

use odonata_testdata::data;

/// A folder for files of a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("odonata-replay-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// 12 GB/s and 20 ns everywhere.
fn linked(family: Family, classes: &[&str]) -> Scenario {
    let mut scenario = Scenario::new(Network::new(family));
    for class in classes {
        let link = Link {
            bandwidth_bytes_per_s: 12_000_000_000,
            latency_ps: 20_000,
            buffer_bytes: None,
            kind: None,
        };
        scenario.network.links.insert((*class).to_owned(), link);
    }
    scenario
}

fn dragonfly() -> Scenario {
    let family = Family::Dragonfly(Dragonfly::new(2, 4, 2, 9));
    linked(family, &["terminal", "local", "global"])
}

/// One router for all nodes.
fn crossbar(nodes: u32) -> Scenario {
    linked(Family::Crossbar(Crossbar { nodes }), &["terminal"])
}

/// A torus of routers with a node each, as a list of links.
fn torus(folder: &Folder, rows: u32, columns: u32) -> Scenario {
    let last = rows * columns - 1;
    let mut text =
        format!("class terminal terminal\nclass local local\nrouters 0 {last} group 0\n");
    for router in 0..rows * columns {
        let (row, column) = (router / columns, router % columns);
        let right = row * columns + (column + 1) % columns;
        let below = (row + 1) % rows * columns + column;
        writeln!(text, "nodes 1 {router} terminal").unwrap();
        writeln!(text, "link {router} {right} local").unwrap();
        writeln!(text, "link {router} {below} local").unwrap();
    }
    let file = folder.0.join("torus.txt");
    std::fs::write(&file, text).unwrap();
    let mut scenario = linked(
        Family::EdgeList(FileNetwork {
            file,
            nodes_per_router: None,
        }),
        &["terminal", "local"],
    );
    scenario.network.routing = AlgorithmName::ShortestPath.into();
    scenario
}

fn trace(file: &Path, scale: f64) -> MotifKind {
    MotifKind::Trace(odonata::spec::Trace {
        file: file.to_owned(),
        compute_scale: Some(scale),
        gap_ps: None,
        repeat_rank: None,
        start: None,
        end: None,
    })
}

fn with_trace(mut scenario: Scenario, kind: MotifKind, ranks: Option<u32>) -> Scenario {
    let motif = Motif {
        kind,
        iterations: 1,
        compute_ps: 0,
        traffic_class: None,
    };
    let mut job = Job::new("trace", 1, Load::Motif(motif));
    job.nodes = None;
    job.ranks = ranks;
    scenario.jobs.push(job);
    scenario
}

fn simulate(scenario: &Scenario) -> Result<Run, Error> {
    run(scenario, &mut |_: &Progress| ControlFlow::Continue(()))
}

/// Every job of several ranks at hand, on a dragonfly, fully connected by one router,
/// and on a torus: everything that is sent arrives and is received, and ten times the
/// time between calls is ten times the computing.
#[test]
fn jobs_finish_on_three_networks() {
    let jobs = [
        "dumpi-complete/testbgp/testbgp.meta",
        "dumpi-complete/testtrace/testtrace.meta",
        "dumpi-complete/naive_all_to_all/run_0/dumpi-2019.05.22.11.54.43.meta",
        "otf2-10ranks/traces.otf2",
    ];
    let folder = Folder::new("networks");
    for job in jobs {
        let Some(file) = data(job) else { return };
        let facts = Trace::open(&file, Options::default())
            .unwrap()
            .facts()
            .clone();
        for network in [dragonfly(), crossbar(16), torus(&folder, 4, 4)] {
            let outcome = |scale| {
                let scenario = with_trace(network.clone(), trace(&file, scale), None);
                simulate(&scenario).unwrap().outcome
            };
            let mut created = Vec::new();
            for scale in [0u32, 1, 10] {
                let outcome = outcome(scale.into());
                let job = &outcome.jobs[0];
                assert!(job.end.is_some());
                assert_eq!(job.messages_delivered, job.messages_created);
                assert_eq!(job.bytes_delivered, job.bytes_created);
                assert_eq!(job.unreceived_messages, 0);
                // The collectives' messages come on top.
                assert!(job.messages_created >= facts.messages);
                assert!(job.bytes_created >= facts.bytes.0);
                let expected = u128::from(facts.compute.0) * u128::from(scale);
                assert_eq!(job.compute_ps, expected);
                // Nobody finishes before having computed.
                let longest = facts.longest_compute.0 * u64::from(scale);
                assert!(job.end.unwrap().0 > longest);
                created.push((job.messages_created, job.bytes_created));
            }
            assert!(created.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }
}

/// In LogGP (Alexandrov et al. 1995) a message takes o + L + o. A binomial tree of
/// 2^k ranks is as deep as k messages that follow each other, and no other path is
/// longer, since a rank that has sent i messages before is i·o late, but i levels
/// higher. The dissemination barrier has k rounds of one message.
#[test]
fn schedules_take_as_long_as_loggp_says() {
    let folder = Folder::new("loggp");
    let overhead = |mut scenario: Scenario| {
        scenario.mpi.send_overhead_ps = 1_500_000;
        scenario.mpi.receive_overhead_ps = 700_000;
        scenario
    };
    let time = |file: &Path, ranks| {
        let scenario = with_trace(overhead(crossbar(ranks)), trace(file, 1.0), None);
        simulate(&scenario).unwrap().outcome.jobs[0].end.unwrap().0
    };
    let file = folder.0.join("one.goal");
    let text =
        "num_ranks 2\nrank 0 {\nl1: send 1b to 1 tag 0\n}\nrank 1 {\nl1: recv 1b from 0 tag 0\n}\n";
    std::fs::write(&file, text).unwrap();
    let one = time(&file, 2);
    // Both overheads, two wires of 20 ns, and a router.
    assert!((2_240_000..2_400_000).contains(&one), "{one}");
    for (name, ranks, levels) in [
        ("binary_tree_16", 16, 4),
        ("binary_tree_32", 32, 5),
        ("dissemination_16", 16, 4),
        ("dissemination_32", 32, 5),
    ] {
        let Some(file) = data(&format!("goal-examples/{name}.goal")) else {
            return;
        };
        assert_eq!(time(&file, ranks), levels * one, "{name}");
    }
}

/// A calculation of a schedule keeps its processor busy, not the others.
#[test]
fn processors_of_a_schedule_work_side_by_side() {
    let folder = Folder::new("processors");
    let file = folder.0.join("two.goal");
    let text = "num_ranks 1\nrank 0 {\n\
                l1: calc 4000 cpu 0\nl2: calc 5000 cpu 1\nl3: calc 2000 cpu 0\n\
                l4: calc 1000 cpu 1\nl4 requires l3\n}\n";
    std::fs::write(&file, text).unwrap();
    let scenario = with_trace(crossbar(2), trace(&file, 1.0), None);
    let end = simulate(&scenario).unwrap().outcome.jobs[0].end.unwrap();
    // Processor 0 ends at 4 + 2 us; what follows takes 1 us on processor 1, which has
    // been idle since 5 us.
    assert_eq!(end.0, 7_000_000);
}

/// Flows start at their times and one after the other by triggers.
#[test]
fn flows_follow_their_times_and_triggers() {
    let folder = Folder::new("flows");
    let file = folder.0.join("chain.cm");
    let time = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let scenario = with_trace(crossbar(4), trace(&file, 1.0), None);
        simulate(&scenario).unwrap().outcome.jobs[0].end.unwrap().0
    };
    let one = time("Nodes 4\nConnections 1\n0->1 start 0 size 3000\n");
    let late = time("Nodes 4\nConnections 1\n0->1 start 5000000 size 3000\n");
    assert_eq!(late, one + 5_000_000);
    let byte = time("Nodes 4\nConnections 1\n0->1 start 0 size 1\n");
    // The second flow starts where the first ends, at the node that received it: the
    // trigger's message stays within the node, which takes 500 ns and its byte.
    let chained = time(
        "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 3000 recv_done_trigger 1\n\
         1->2 id 2 trigger 1 size 3000\ntrigger id 1 oneshot\n",
    );
    let loopback = chained - 2 * one;
    assert!((500_000..500_100).contains(&loopback), "{loopback}");
    // Two flows must end before the third starts, elsewhere: a message tells.
    let barrier = time(
        "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 3000 recv_done_trigger 1\n\
         2->1 id 2 start 0 size 3000 recv_done_trigger 1\n3->0 id 3 trigger 1 size 3000\n\
         trigger id 1 barrier count 2\n",
    );
    // Both share the wire to node 1: 3000 B at 12 GB/s more; then 1 B and a flow.
    // The trigger is at home at node 3, from where the third flow starts.
    let expected = one + 250_000 + byte + one;
    assert!(
        barrier.abs_diff(expected) < 1_000,
        "{barrier}, not {expected}"
    );
}

/// One rank's trace for all, where its structure permits.
#[test]
fn one_rank_stands_for_all() {
    let Some(file) = data("dumpi-rank0/MultiGrid.bin") else {
        return;
    };
    let kind = MotifKind::Trace(odonata::spec::Trace {
        file,
        compute_scale: Some(0.0),
        gap_ps: None,
        repeat_rank: Some(RepeatRank::Xor),
        start: None,
        end: None,
    });
    let outcome = |ranks| simulate(&with_trace(crossbar(128), kind.clone(), ranks));
    let run = outcome(Some(128)).unwrap();
    let job = &run.outcome.jobs[0];
    assert_eq!(job.messages_delivered, job.messages_created);
    // 1,144 messages of each rank besides those of collectives.
    assert!(job.messages_created > 128 * 1_144);
    let Err(Error::Spec(error)) = outcome(Some(100)) else {
        panic!("100 ranks are no power of two");
    };
    assert_eq!(error.path, "job[0].motif.file");
}

/// Two threads change nothing.
#[test]
fn threads_change_nothing() {
    let Some(file) = data("dumpi-complete/testbgp/testbgp.meta") else {
        return;
    };
    let outcome = |threads| {
        let mut scenario = with_trace(dragonfly(), trace(&file, 0.5), None);
        scenario.simulation.threads = threads;
        let run = simulate(&scenario).unwrap();
        (run.outcome.jobs, run.outcome.end)
    };
    assert_eq!(outcome(1), outcome(2));
}
