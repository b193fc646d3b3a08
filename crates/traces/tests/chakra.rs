//! Chakra traces: damaged ones.

#[path = "shared/damage.rs"]
mod damage;

use damage::{attack, rounds, start};
use odonata_traces::chakra::{members, process_groups, read, read_groups};

const PROTOBUF: &[u8] = b"\x07\x0a\x050.0.4\
    \x1d\x08\x01\x12\x01n\x18\x07\x22\x02\x02\x03\x28\x04\x38\x96\x01\
    \x52\x0b\x0a\x01l\x52\x06\x0a\x04\x01\x80\x80\x40\
    \x0a\x08\x02\x18\x04\x52\x04\x0a\x02id";
const MESSAGES: &[u8] = br###"{"version": "0.0.4"}
    {"id": "1", "name": "## process_group:init ##", "type": "METADATA_NODE", "inputs":
     {"values": "['[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]']"}}
    {"id": "2", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "durationMicros": "5", "attr":
     [{"name": "comm_size", "int64Val": "7"}, {"name": "l", "int32List": {"values": [1]}}]}"###;
const GRAPH: &[u8] = br#"{"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 3},
    {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_size": 5}], "ngpus": 8}"#;

#[test]
fn damaged_traces_are_refused_or_read() {
    let take = |bytes: &[u8]| {
        let _ = read_groups(bytes, "t");
        if let Ok(members) = members(bytes) {
            for member in members {
                let _ = read(member.bytes, &member.name, &mut |_| Ok(()));
            }
        }
        let all = read(bytes, "t", &mut |node| {
            process_groups(&node)
                .unwrap_or_else(|| Ok(Vec::new()))
                .map(|_| ())
        });
        all.is_ok()
    };
    let mut archive = vec![0; 512];
    archive[..6].copy_from_slice(b"t.0.et");
    archive[124..135].copy_from_slice(format!("{:011o}", PROTOBUF.len()).as_bytes());
    archive[156] = b'0';
    archive[257..265].copy_from_slice(b"ustar\x0000");
    archive.extend(PROTOBUF);
    archive.resize(2048, 0);
    assert_eq!(members(&archive).unwrap()[0].bytes, PROTOBUF);
    let whole = [PROTOBUF, MESSAGES, GRAPH];
    assert!(whole.iter().all(|bytes| take(bytes)));
    let mut seeds = whole.map(<[u8]>::to_vec).to_vec();
    seeds.push(archive);
    let (refused, all) = attack(&seeds, rounds(2_000), start(), take);
    assert!(refused * 4 > all, "{refused} of {all}");
}
