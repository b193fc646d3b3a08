//! Chakra traces that are made for tests, and shared ones.

use std::collections::BTreeMap;

use odonata_load::replay::{Options, Summary, Trace};
use odonata_load::{Action, Program};

use crate::executor::{Done, run, run_in_pieces};
use crate::job::Folder;

/// Traces of ranks as JSON messages, one node a line.
fn folder(ranks: &[&str]) -> Folder {
    let folder = Folder::new();
    for (rank, nodes) in ranks.iter().enumerate() {
        let text = format!("{{\"version\": \"0.0.4\"}}\n{nodes}");
        std::fs::write(folder.0.join(format!("t.{rank}.json")), text).unwrap();
    }
    folder
}

fn open(ranks: &[&str]) -> Result<Trace, String> {
    let folder = folder(ranks);
    Trace::open(&folder.0.join("t.0.json"), Options::default()).map_err(|error| error.to_string())
}

fn refused(ranks: &[&str]) -> String {
    open(ranks).err().expect("a trace that is refused")
}

fn node(id: u64, kind: &str, deps: &[u64], more: &str) -> String {
    format!("{{\"id\": {id}, \"type\": \"{kind}_NODE\", \"dataDeps\": {deps:?}{more}}}\n")
}

fn compute(id: u64, deps: &[u64], micros: u64) -> String {
    node(id, "COMP", deps, &format!(", \"durationMicros\": {micros}"))
}

fn message(id: u64, deps: &[u64], kind: &str, from: u32, to: u32, bytes: u64) -> String {
    let more = format!(
        ", \"attr\": [{{\"name\": \"comm_src\", \"int32Val\": {from}}}, {{\"name\": \"comm_dst\", \
         \"int32Val\": {to}}}, {{\"name\": \"comm_size\", \"uint64Val\": \"{bytes}\"}}, \
         {{\"name\": \"comm_tag\", \"int32Val\": 3}}]"
    );
    node(id, &format!("COMM_{kind}"), deps, &more)
}

fn collective(id: u64, deps: &[u64], kind: u32, bytes: u64, group: &str) -> String {
    let more = format!(
        ", \"attr\": [{{\"name\": \"comm_type\", \"int64Val\": {kind}}}, {{\"name\": \
         \"comm_size\", \"int64Val\": {bytes}}}, {{\"name\": \"pg_name\", \"stringVal\": \
         \"{group}\"}}]"
    );
    node(id, "COMM_COLL", deps, &more)
}

fn sent(done: &Done, rank: usize) -> Vec<u64> {
    let sends = done.actions[rank].iter().filter_map(|action| match action {
        Action::Send { bytes, .. } => Some(bytes.0),
        _ => None,
    });
    sends.collect()
}

#[test]
fn nodes_begin_when_what_they_depend_on_has_ended() {
    // Files need not have nodes in an order in which they can run.
    let first = [
        message(7, &[5], "SEND", 0, 1, 64),
        compute(5, &[], 20),
        message(8, &[7, 9], "RECV", 1, 0, 32),
        node(9, "MEM_LOAD", &[5], ""),
    ];
    let second = [
        message(1, &[], "RECV", 0, 1, 64),
        compute(2, &[1], 30),
        message(3, &[2], "SEND", 1, 0, 32),
    ];
    let trace = open(&[&first.concat(), &second.concat()]).unwrap();
    let done = run(&trace).unwrap();
    assert_eq!((sent(&done, 0), sent(&done, 1)), (vec![64], vec![32]));
    let computed: Vec<u64> = done.compute.iter().map(|time| time.0).collect();
    assert_eq!(computed, [20_000_000, 30_000_000]);
    let facts = trace.facts();
    assert_eq!((facts.records, facts.messages, facts.bytes.0), (7, 2, 96));
    assert_eq!(facts.not_replayed.get("memory load"), Some(&1));
    for steps in [1, 2, 5] {
        assert_eq!(run_in_pieces(&trace, steps).unwrap(), done);
    }
}

#[test]
fn collectives_send_what_their_group_needs() {
    // Two groups of two ranks at once, and then all four.
    let of = |group: &str| {
        [
            collective(1, &[], 0, 4000, group),
            collective(2, &[], 2, 500, group),
            collective(3, &[1, 2], 7, 8000, ""),
        ]
        .concat()
    };
    let (low, high) = (of("low"), of("high"));
    let trace = open(&[&low, &low, &high, &high]).unwrap();
    let done = run(&trace).unwrap();
    let facts = trace.facts();
    assert_eq!(facts.communicators, 2);
    let calls: Vec<_> = facts
        .collectives
        .iter()
        .map(|(name, count)| (*name, *count))
        .collect();
    assert_eq!(
        calls,
        [("allgather", 4), ("allreduce", 4), ("reduce-scatter", 4)]
    );
    for rank in 0..4 {
        // A rank of two sends at least all its data for an all-reduce, its block for an
        // all-gather; of four, three quarters of its data for a reduce-scatter.
        let bytes: u64 = sent(&done, rank).iter().sum();
        assert!(bytes >= 4000 + 500 + 6000, "{bytes}");
        let to = |action: &Action| match action {
            Action::Send { to, .. } => Some(to.0),
            _ => None,
        };
        let first = done.actions[rank].iter().find_map(to);
        assert_eq!(first, Some(rank as u32 ^ 1));
    }
    for steps in [1, 3] {
        assert_eq!(run_in_pieces(&trace, steps).unwrap(), done);
    }
}

#[test]
fn what_a_cpu_does_for_a_collective_is_computing() {
    let host = node(
        4,
        "COMM_COLL",
        &[],
        ", \"durationMicros\": 6, \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": true}]",
    );
    let trace = open(&[&host]).unwrap();
    assert_eq!(run(&trace).unwrap().compute[0].0, 6_000_000);
    assert!(trace.facts().collectives.is_empty());
}

#[test]
fn traces_that_do_not_fit_together_are_refused() {
    let all_reduce = |bytes| collective(1, &[], 0, bytes, "a");
    let send = message(1, &[], "SEND", 0, 1, 8);
    let defined = format!(
        "{}{}",
        r###"{"id": 9, "name": "## process_group:init ##", "type": "METADATA_NODE", "inputs":
            {"values": "['[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]']"}}
        "###,
        all_reduce(8)
    );
    let stranger = defined.replace("[0, 1]", "[0, 7]");
    let cases: [(&[&str], &str); 11] = [
        (
            &[&[compute(1, &[2], 1), compute(2, &[1], 1)].concat()],
            "circle",
        ),
        (&[&compute(1, &[1], 1)], "circle"),
        (
            &[&compute(1, &[4], 1)],
            "node 1 waits for node 4, which is missing",
        ),
        (
            &[&[compute(3, &[], 1), compute(3, &[], 1)].concat()],
            "two nodes have the number 3",
        ),
        (&[&send, &compute(1, &[], 1)], "sent and not received"),
        (&[&send], "comm_dst is rank 1, but the trace has 1 ranks"),
        (
            &[&compute(1, &[], 1), &send],
            "of a send of rank 1 is rank 0",
        ),
        (
            &[&all_reduce(8), &all_reduce(9)],
            "AllReduce of 8 B at node 1 where rank 1 has",
        ),
        (
            &[&defined, &defined, &all_reduce(8)],
            "rank 2 takes part in a collective of process group \"a\"",
        ),
        (
            &[&stranger, &stranger],
            "has the member 7, but the trace has 2 ranks",
        ),
        (
            &[&defined, &compute(1, &[], 1)],
            "rank 0 has 1 collectives and rank 1 has 0",
        ),
    ];
    for (ranks, reason) in cases {
        let found = refused(ranks);
        assert!(found.contains(reason), "{found}");
    }
    let folder = folder(&["", "", ""]);
    std::fs::remove_file(folder.0.join("t.1.json")).unwrap();
    let error = Trace::open(&folder.0.join("t.0.json"), Options::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("rank 1 is missing"), "{error}");
}

#[test]
fn old_traces_without_sizes_of_collectives_are_refused_by_name() {
    let old = r#"{"workload_graph": [{"Id": 5, "Name": "ncclKernel_AllReduce", "NodeType": 7,
        "data_deps": [], "runtime": 28, "is_cpu_op": false}]}"#;
    let folder = Folder::new();
    let path = folder.0.join("old.json");
    std::fs::write(&path, old).unwrap();
    let error = Trace::open(&path, Options::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("node 5 (ncclKernel_AllReduce): a collective without comm_type"),
        "{error}"
    );
}

#[test]
fn shared_microbenchmarks_are_replayed() {
    let Some(folder) = odonata_testdata::data("chakra/astra-sim-microbenchmarks") else {
        return;
    };
    // What a rank sends at least, as parts of its megabyte: 2(n-1)/n, n-1, (n-1)/n, (n-1)/n.
    for ranks in [4_u64, 8, 16] {
        let part = (1 << 20) / ranks * (ranks - 1);
        let least = [
            ("all_reduce", 2 * part),
            ("all_gather", (1 << 20) * (ranks - 1)),
            ("all_to_all", part),
            ("reduce_scatter", part),
        ];
        for (name, least) in least {
            let path = folder.join(format!("{name}/{ranks}npus_1MB/{name}.0.et"));
            let summary = Summary::read(&path, 0).unwrap();
            assert_eq!((summary.ranks, summary.records), (ranks, ranks));
            let trace = Trace::open(&path, Options::default()).unwrap();
            assert_eq!(u64::from(trace.ranks()), ranks);
            let done = run(&trace).unwrap();
            assert!(
                done.bytes >= least * ranks,
                "{name} {ranks}: {}",
                done.bytes
            );
        }
    }
}

#[test]
fn shared_archives_are_shown_and_refused_by_name() {
    let Some(folder) = odonata_testdata::data("chakra") else {
        return;
    };
    let host = folder.join("1.0.2-chakra.0.0.4.tgz");
    let summary = Summary::read(&host, 1).unwrap();
    let kinds = BTreeMap::from([("invalid node", 263)]);
    let found: BTreeMap<&str, u64> = summary
        .kinds
        .iter()
        .map(|(name, kind)| (name.as_str(), kind.records))
        .collect();
    assert_eq!((summary.records, found), (263, kinds));
    let fact = |name: &str| {
        summary
            .facts
            .iter()
            .find(|fact| fact.0 == name)
            .map(|fact| &*fact.1)
    };
    assert_eq!(fact("version"), Some("1.0.2-chakra.0.0.4"));
    assert_eq!(fact("form"), Some("PyTorch execution trace of the host"));
    let error = Trace::open(&host, Options::default())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("chakra_converter"), "{error}");

    let graphs = folder.join("json_trace.tar.gz");
    let summary = Summary::read(&graphs, 0).unwrap();
    assert_eq!(summary.records, 3664 + 7);
    assert_eq!(summary.kinds["collective"].records, 21 + 3);
    let error = Trace::open(&graphs, Options::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("several traces: jsonData/chakra.RANK.json"),
        "{error}"
    );
}
