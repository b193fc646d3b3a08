//! Packet traces, connection matrices of htsim, and the files of CODES.

#[path = "shared/damage.rs"]
mod damage;
mod shared;

use std::io::Cursor;

use damage::{attack, rounds, start};
use odonata_traces::codes::{
    IntraLayout, Link, LinkReader, read_allocation, read_jobs, read_workloads,
};
use odonata_traces::htsim::{ConnectionReader, Failure, Firing, Start, Statement, Tier, Trigger};
use odonata_traces::packets::{Packet, PacketReader};
use odonata_traces::{Position, TraceError};
use odonata_units::{Bytes, NodeId, Picoseconds};
use shared::{data, files};

fn packets(text: &[u8]) -> Result<Vec<Packet>, TraceError> {
    PacketReader::new(text, "p.txt".to_owned()).collect()
}

fn matrix(text: &[u8]) -> Result<Vec<Statement>, TraceError> {
    ConnectionReader::new(text, "m.cm".to_owned())?.collect()
}

fn links(bytes: &[u8], layout: IntraLayout, routers: u32) -> Result<Vec<Link>, TraceError> {
    LinkReader::new(Cursor::new(bytes), "links".to_owned(), layout, routers)?.collect()
}

fn place<T: std::fmt::Debug>(result: Result<T, TraceError>) -> (Position, String) {
    let error = result.unwrap_err();
    (error.position, error.reason)
}

#[test]
fn published_packet_trace() {
    let Some(path) = data("facebook-trace/facebook_2699.txt") else {
        return;
    };
    let packets: Vec<Packet> = PacketReader::open(&path)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    // Counted and summed with awk: 19,827 lines of 15,444,903 bytes among the end
    // points 1 to 2,699, over 85,635 s.
    assert_eq!(packets.len(), 19_827);
    assert_eq!(
        packets.iter().map(|packet| packet.size.0).sum::<u64>(),
        15_444_903
    );
    let ends = packets
        .iter()
        .flat_map(|packet| [packet.source, packet.destination]);
    assert_eq!((ends.clone().min(), ends.max()), (Some(1), Some(2_699)));
    let first = Packet {
        mark: 0,
        seconds: 1_475_306_029,
        source: 739,
        destination: 140,
        size: Bytes(72),
    };
    assert_eq!(packets[0], first);
    assert_eq!(packets[19_826].seconds - first.seconds, 85_635);
}

#[test]
fn packet_errors_name_the_line() {
    let cases = [
        ("0 1 2 3 4\n0 1 2 3\n", 2, "4 columns"),
        ("0 1 2 3 4 5\n", 1, "6 columns"),
        ("0 1 2 x 4\n", 1, "\"x\" is no whole number"),
        (
            "0 5 2 3 4\n\n0 4 2 3 4\n",
            3,
            "a packet of second 4 behind one of second 5",
        ),
        ("0 5 4294967296 3 4\n", 1, "exceeds 32 bits"),
        ("0 5 1 3 99999999999999999999\n", 1, "is no whole number"),
    ];
    for (text, line, why) in cases {
        let (position, reason) = place(packets(text.as_bytes()));
        assert_eq!(position, Position::Line(line));
        assert!(reason.contains(why), "{reason}");
    }
    let long = vec![b'1'; 100_000];
    assert!(place(packets(&long)).1.contains("more than 65536 bytes"));
}

#[test]
fn published_connection_matrices() {
    let Some(folder) = data("goal-examples") else {
        return;
    };
    let mut found = Vec::new();
    for path in files(&folder, ".cm") {
        let mut reader = ConnectionReader::open(&path).unwrap();
        let announced = reader.announced();
        let mut bytes = 0;
        let mut count = 0;
        while let Some(statement) = reader.next_statement().unwrap() {
            let Statement::Connection(connection) = statement else {
                panic!("{}: {statement:?}", path.display());
            };
            assert_eq!(connection.start, Start::At(Picoseconds(0)));
            bytes += connection.size.0;
            count += 1;
        }
        assert_eq!(count, announced.connections);
        found.push((announced.nodes, announced.connections, bytes / 1_000_000));
    }
    // Every connection of these has 2,000,000 bytes, as `grep -c 'size 2000000'`
    // finds.
    let expected = [
        (128, 127, 254),
        (32, 18, 36),
        (128, 21, 42),
        (1_024, 1_024, 2_048),
        (16, 16, 32),
        (32, 32, 64),
    ];
    assert_eq!(found, expected);
}

const MATRIX: &str = "\
Nodes 8
Connections 3
Triggers 2
Failures 1
0->1 id 1 start 1500.0 size 4096 send_done_trigger 1 prio 3
2->3 id 2 trigger 1 size 0 recv_done_trigger 7
4->5 start 0 size 10
trigger id 1 oneshot
trigger id 7 barrier count 2
failure switch_type AGG switch_id 4 link_id 0
";

#[test]
fn everything_of_a_matrix_is_read() {
    let statements = matrix(MATRIX.as_bytes()).unwrap();
    let Statement::Connection(first) = statements[0] else {
        panic!("{statements:?}");
    };
    assert_eq!((first.from, first.to), (NodeId(0), NodeId(1)));
    assert_eq!(first.start, Start::At(Picoseconds(1_500)));
    assert_eq!((first.id, first.priority), (Some(1), Some(3)));
    assert_eq!((first.send_done, first.receive_done), (Some(1), None));
    let Statement::Connection(second) = statements[1] else {
        panic!("{statements:?}");
    };
    assert_eq!(second.start, Start::Trigger(1));
    assert_eq!(second.receive_done, Some(7));
    assert_eq!(
        statements[3..],
        [
            Statement::Trigger(Trigger {
                id: 1,
                firing: Firing::Once
            }),
            Statement::Trigger(Trigger {
                id: 7,
                firing: Firing::Barrier(2)
            }),
            Statement::Failure(Failure {
                tier: Tier::Aggregation,
                switch: 4,
                link: 0
            }),
        ]
    );
}

/// As htsim, which reads over lines that start with `#` in front of the first connection.
#[test]
fn comments_may_stand_in_the_heading() {
    let statements = matrix(format!("# of a test\n{MATRIX}").as_bytes()).unwrap();
    assert_eq!(statements, matrix(MATRIX.as_bytes()).unwrap());
}

/// `#a2a.cm#` of github.com/spcl/HTSIM: an editor's own copy of `a2a.cm`, with two letters
/// in front of the first word, 3600 connections and 3360 triggers in its heading, and
/// 15 connections from each of 16 nodes below.
#[test]
fn an_editors_copy_of_a_matrix_is_told_what_it_lacks() {
    let mut text = String::from("OANodes 16\nConnections 3600\nTriggers 3360\n");
    for from in 0..16 {
        for to in (0..16).filter(|to| *to != from) {
            text.push_str(&format!("{from}->{to} start 0 size 2000000\n"));
        }
    }
    let (position, reason) = place(matrix(text.as_bytes()));
    assert_eq!(position, Position::Line(1));
    assert!(
        reason.ends_with("the file announces 3600 connections and holds 240"),
        "{reason}"
    );
    let (position, reason) = place(matrix(&text.as_bytes()[2..]));
    assert_eq!(position, Position::Whole);
    let expected = "the file ends after 240 of 3600 connections, 0 of 3360 triggers: it is cut \
                    off, or announces too many";
    assert_eq!(reason, expected);
}

#[test]
fn matrix_errors_name_the_line() {
    let cases = [
        ("", None, "no connection matrix"),
        ("Nodes 2\nNodes 2\nConnections 0\n", Some(2), "come once"),
        ("Nodes x\nConnections 0\n", Some(1), "whole number"),
        (
            "Nodes 2\nConnections 1\n0->2 start 0 size 1\n",
            Some(3),
            "node 2, but 2 nodes",
        ),
        (
            "Nodes 2\nConnections 1\n0-1 start 0 size 1\n",
            Some(3),
            "starts no line",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 size 1\n",
            Some(3),
            "needs start or trigger",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0\n",
            Some(3),
            "and size",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0 start 1 size 1\n",
            Some(3),
            "says again",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0.5 size 1\n",
            Some(3),
            "picoseconds",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0 size 1 id 0\n",
            Some(3),
            "numbers start at 1",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0 size 1 colour 2\n",
            Some(3),
            "no property",
        ),
        (
            "Nodes 2\nConnections 2\n0->1 start 0 size 1\n",
            None,
            "the file ends after 1 of 2 connections: it is cut off, or announces too many",
        ),
        (
            "Nodes 2\nConnections 2\nTriggers 3\n0->1 start 0 size 1\n",
            None,
            "the file ends after 1 of 2 connections, 0 of 3 triggers: it is",
        ),
        (
            "XNodes 2\nConnections 2\n0->1 start 0 size 1\n",
            Some(1),
            "\"XNodes\", where a connection matrix has \"Nodes N\" and \"Connections N\"; the file \
             announces 2 connections and holds 1",
        ),
        (
            "# two\nNodes 2\n0->1 start 0 size 1\n1->0 start 0 size 1\n",
            Some(3),
            "\"0->1\", where a connection matrix has \"Nodes N\" and \"Connections N\"; the file \
             announces no connections and holds 2",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0 size 1\n# end\n",
            Some(4),
            "starts no line",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 start 0 size 1\n0->1 start 0 size 1\n",
            Some(4),
            "one more than the 1",
        ),
        (
            "Nodes 2\nConnections 1\n0->1 trigger 4 size 1\n",
            None,
            "line 3 names trigger 4, which no line defines",
        ),
        (
            "Nodes 2\nConnections 0\nTriggers 1\ntrigger id 1 barrier\n",
            Some(4),
            "barrier with count",
        ),
        (
            "Nodes 2\nConnections 0\nTriggers 2\ntrigger id 1 oneshot\ntrigger id 1 oneshot\n",
            Some(5),
            "defined already in line 4",
        ),
    ];
    for (text, line, why) in cases {
        let (position, reason) = place(matrix(text.as_bytes()));
        assert_eq!(
            position,
            line.map_or(Position::Whole, Position::Line),
            "{text}"
        );
        assert!(reason.contains(why), "{text}: {reason}");
    }
}

/// Routers, links within a group, links between groups, from the descriptions
/// beside the files: a dally group of a routers is a full mesh of a·(a − 1)
/// directed links, a plus group of s spines and l leaves has 2·s·l, though the
/// 8k file of the latter lists 16 of each.
#[test]
fn published_lists_of_links() {
    let Some(folder) = data("codes-confs") else {
        return;
    };
    let typed = IntraLayout::of_model("dragonfly_dally").unwrap();
    let pairs = IntraLayout::of_model("dragonfly_plus").unwrap();
    let cases = [
        ("dragonfly-dally/dfdally-72-intra", typed, 4, 4 * 3),
        ("dragonfly-dally/dfdally-3k-intra", typed, 18, 18 * 17),
        ("dragonfly-dally/dfdally_8k_intra", typed, 16, 16 * 15),
        ("dragonfly-plus/dfp-test-intra", pairs, 8, 2 * 4 * 4),
        ("dragonfly-plus/dfp-3k-intra", pairs, 36, 2 * 18 * 18),
        ("dragonfly-plus/dfp_8k_intra", pairs, 32, 2 * 16 * 16),
        // 36 routers with 2 global links, 342 with 9, 1,040 with 8.
        ("dragonfly-dally/dfdally-72-inter", pairs, 36, 36 * 2),
        ("dragonfly-dally/dfdally-3k-inter", pairs, 342, 342 * 9),
        ("dragonfly-dally/dfdally_8k_inter", pairs, 1_040, 1_040 * 8),
        // 5 groups of 4 spines with 4, 180 spines with 18, 33 groups of 16 with 16.
        ("dragonfly-plus/dfp-test-inter", pairs, 40, 5 * 4 * 4),
        ("dragonfly-plus/dfp-3k-inter", pairs, 360, 180 * 18),
        ("dragonfly-plus/dfp_8k_inter", pairs, 1_056, 33 * 16 * 16),
    ];
    for (name, layout, routers, count) in cases {
        let path = folder.join(name);
        let read: Vec<Link> = LinkReader::open_intra(&path, layout, routers)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(read.len(), count, "{name}");
        // Every link has one back.
        let mut forth: Vec<_> = read.iter().map(|link| (link.from, link.to)).collect();
        let mut back: Vec<_> = read.iter().map(|link| (link.to, link.from)).collect();
        forth.sort_unstable();
        back.sort_unstable();
        assert_eq!(forth, back, "{name}");
        // One router fewer, and the list names one that does not exist.
        let fewer = LinkReader::open_intra(&path, layout, routers - 1).unwrap();
        assert!(fewer.collect::<Result<Vec<_>, _>>().is_err(), "{name}");
    }
}

#[test]
fn link_errors_name_the_byte() {
    let word = |number: u32| number.to_le_bytes();
    let list = [word(0), word(1), word(1), word(0)].concat();
    assert_eq!(links(&list, IntraLayout::Pairs, 2).unwrap().len(), 2);
    let (position, reason) = place(links(&list[..15], IntraLayout::Pairs, 2));
    assert_eq!(position, Position::Byte(8));
    assert!(
        reason.contains("15 bytes are no whole number of links"),
        "{reason}"
    );
    let (position, reason) = place(links(&list, IntraLayout::Pairs, 1));
    assert_eq!(
        (position, reason.contains("routers 0 to 0")),
        (Position::Byte(0), true)
    );
    let own = [word(0), word(1), word(1), word(1)].concat();
    let (position, reason) = place(links(&own, IntraLayout::Pairs, 2));
    assert_eq!(position, Position::Byte(8));
    assert_eq!(reason, "a link from router 1 to itself");
    let kind = [word(0), word(1), word(2)].concat();
    assert!(
        place(links(&kind, IntraLayout::Typed, 2))
            .1
            .contains("type 2")
    );
    assert_eq!(IntraLayout::of_model("torus"), None);
}

#[test]
fn jobs_of_codes() {
    let text = b"27 traces/df_AMG_n27-\n\n3 synthetic1 0 1000.5\n";
    let jobs = read_workloads(&text[..], "w").unwrap();
    assert_eq!(
        (jobs[0].ranks, jobs[0].class, jobs[0].is_synthetic()),
        (27, None, false)
    );
    assert_eq!(jobs[0].name, "traces/df_AMG_n27-");
    assert_eq!(
        (jobs[1].class, jobs[1].mean_interval_ns),
        (Some(0), Some(1000.5))
    );
    assert!(jobs[1].is_synthetic());
    let nodes = read_allocation(&b"0 1\t2 \r\n\n7 5\n"[..], "a").unwrap();
    assert_eq!(
        nodes,
        [
            vec![NodeId(0), NodeId(1), NodeId(2)],
            vec![NodeId(7), NodeId(5)]
        ]
    );

    for (text, line, why) in [
        ("27\n", Some(1), "two columns"),
        ("0 x\n", Some(1), "at least 1"),
        ("1 x 2 3 4\n", Some(1), "5 columns"),
        ("1 x y\n", Some(1), "class is \"y\""),
        ("1 x 1 NaN\n", Some(1), "interval is \"NaN\""),
        ("\n", None, "no job"),
    ] {
        let (position, reason) = place(read_workloads(text.as_bytes(), "w"));
        assert_eq!(position, line.map_or(Position::Whole, Position::Line));
        assert!(reason.contains(why), "{reason}");
    }
    for (text, line, why) in [
        ("0 1\n2 1\n", Some(2), "node 1 is taken already in line 1"),
        ("0 -1\n", Some(1), "\"-1\" is no node"),
        ("", None, "no job"),
    ] {
        let (position, reason) = place(read_allocation(text.as_bytes(), "a"));
        assert_eq!(position, line.map_or(Position::Whole, Position::Line));
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn workload_and_allocation_must_fit() {
    let folder = std::env::temp_dir().join(format!("odonata-codes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (workloads, allocation) = (folder.join("w.conf"), folder.join("a.alloc"));
    std::fs::write(&workloads, "2 a\n1 b\n").unwrap();
    let mut reasons = Vec::new();
    for text in ["0 1\n2\n", "0 1\n", "0\n1 2\n"] {
        std::fs::write(&allocation, text).unwrap();
        reasons.push(read_jobs(&workloads, &allocation).map(|jobs| jobs.len()));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(reasons[0], Ok(2));
    let reason = |index: usize| reasons[index].clone().unwrap_err().reason;
    assert!(
        reason(1).contains("an allocation of 1 jobs"),
        "{}",
        reason(1)
    );
    assert!(
        reason(2).contains("job 1 (a) has 2 ranks, but 1 nodes"),
        "{}",
        reason(2)
    );
}

#[test]
fn damaged_lists_are_refused_or_read() {
    let trace: String = (0..40)
        .map(|time| {
            format!(
                "0 {} {} {} {}\n",
                1_475_306_000 + time,
                time + 1,
                40 - time,
                60 * time
            )
        })
        .collect();
    let seeds = [
        trace.into_bytes(),
        MATRIX.as_bytes().to_vec(),
        b"27 traces/df_AMG_n27-\n3 synthetic1 0 1000.5\n".to_vec(),
        (0..60u32)
            .map(|node| format!("{node} "))
            .collect::<String>()
            .into_bytes(),
        (0..60u32)
            .flat_map(|node| [node, (node + 1) % 60])
            .flat_map(u32::to_le_bytes)
            .collect(),
    ];
    let readers: [fn(&[u8]) -> bool; 5] = [
        |bytes| packets(bytes).is_ok(),
        |bytes| matrix(bytes).is_ok(),
        |bytes| read_workloads(bytes, "w").is_ok(),
        |bytes| read_allocation(bytes, "a").is_ok(),
        |bytes| {
            let typed = links(bytes, IntraLayout::Typed, 60).is_ok();
            links(bytes, IntraLayout::Pairs, 60).is_ok() | typed
        },
    ];
    for (seed, read) in seeds.iter().zip(readers) {
        assert!(read(seed));
        let pair = [seed.clone(), seed.clone()];
        let (refused, all) = attack(&pair, rounds(2_000), start(), read);
        assert!(refused * 4 > all, "{refused} of {all}");
    }
}
