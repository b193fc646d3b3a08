use super::*;

/// Metadata of version 0.0.4, and a node of number 1 whose dependencies are packed and one
/// by one, with a duration, attributes of five types and a field that the schema lacks.
const TRACE: &[u8] = b"\x07\x0a\x050.0.4\
    \x5c\x08\x01\x12\x01n\x18\x05\x22\x02\x02\x03\x20\xac\x02\x28\x04\x38\x96\x01\
    \x52\x08\x0a\x03cpu\xd8\x01\x01\
    \x52\x08\x0a\x03i32\x38\x85\x02\
    \x52\x07\x0a\x03s32\x78\x05\
    \x52\x0f\x0a\x06pg_nam\xea\x01\x04five\
    \x52\x0c\x0a\x01l\x52\x07\x0a\x05\x01\x02\x80\x80\x40\
    \x52\x0c\x0a\x01d\x19\0\0\0\0\0\0\x04\x40\
    \xf8\x01\x07";

fn nodes(bytes: &[u8]) -> Result<(Header, Vec<Node>), TraceError> {
    let mut nodes = Vec::new();
    let header = read(bytes, "t.et", &mut |node| {
        nodes.push(node);
        Ok(())
    })?;
    Ok((header, nodes))
}

#[test]
fn a_node_has_the_values_of_its_bytes() {
    let mut bytes = TRACE.to_vec();
    // Everything behind its length is the node.
    bytes[8] = (bytes.len() - 9) as u8;
    let (header, nodes) = nodes(&bytes).unwrap();
    assert_eq!(
        (header.form, header.version.as_str()),
        (Form::Protobuf, "0.0.4")
    );
    let attribute = |name: &str, value| Attribute {
        name: name.to_owned(),
        value,
    };
    let expected = Node {
        id: 1,
        name: "n".to_owned(),
        kind: Kind::Send,
        ctrl_deps: vec![2, 3, 300],
        data_deps: vec![4],
        duration_micros: 150,
        attributes: vec![
            attribute("cpu", Value::Bool(true)),
            attribute("i32", Value::Signed(261)),
            // Zigzag: 5 stands for -3.
            attribute("s32", Value::Signed(-3)),
            attribute("pg_nam", Value::Text("five".to_owned())),
            attribute(
                "l",
                Value::List(vec![
                    Value::Signed(1),
                    Value::Signed(2),
                    Value::Signed(1 << 20),
                ]),
            ),
            attribute("d", Value::Real(2.5)),
        ],
        skipped: 1,
        ..Node::default()
    };
    assert_eq!(nodes, [expected]);
}

#[test]
fn a_trace_that_is_cut_off_anywhere_but_between_nodes_is_refused() {
    let mut bytes = TRACE.to_vec();
    bytes[8] = (bytes.len() - 9) as u8;
    for end in 0..bytes.len() {
        // Behind the metadata nothing need follow.
        assert_eq!(nodes(&bytes[..end]).is_ok(), end == 8, "{end}");
    }
    let error = nodes(&bytes[..20]).unwrap_err();
    assert_eq!(error.position, Position::Byte(9));
    assert!(error.reason.contains("truncated"), "{error}");
}

#[test]
fn damaged_numbers_and_types_are_refused() {
    let wrong: [(&[u8], &str); 4] = [
        (
            b"\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "64 bits",
        ),
        (b"\x02\x0b\x01", "wire type 3"),
        (b"\x02\x02\x00", "number 0"),
        (b"\x02\x0a\x00", "wrong wire type"),
    ];
    for (node, reason) in wrong {
        let error = nodes(&[b"\x07\x0a\x050.0.4", node].concat()).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
    }
}

#[test]
fn json_messages_say_what_protobuf_says() {
    let text = r#"{"version": "0.0.4"}
        {"id": "1", "name": "n", "type": "COMM_SEND_NODE", "ctrlDeps": ["2"], "dataDeps": ["4"],
         "durationMicros": "150", "attr": [{"name": "is_cpu_op", "boolVal": false},
         {"name": "comm_size", "int64Val": "1048576"}, {"name": "pg_name", "stringVal": "12"},
         {"name": "l", "int32List": {"values": [1, 2]}}]}"#;
    let (header, nodes) = nodes(text.as_bytes()).unwrap();
    assert_eq!(
        (header.form, header.version.as_str()),
        (Form::Json, "0.0.4")
    );
    let [node] = &nodes[..] else {
        panic!("one node")
    };
    assert_eq!(
        (node.id, node.kind, node.duration_micros),
        (1, Kind::Send, 150)
    );
    assert_eq!(
        (&node.ctrl_deps[..], &node.data_deps[..]),
        (&[2][..], &[4][..])
    );
    assert_eq!(node.attribute("is_cpu_op"), Some(&Value::Bool(false)));
    assert_eq!(node.attribute("comm_size"), Some(&Value::Signed(1 << 20)));
    assert_eq!(
        node.attribute("pg_name"),
        Some(&Value::Text("12".to_owned()))
    );
    let list = Value::List(vec![Value::Signed(1), Value::Signed(2)]);
    assert_eq!(node.attribute("l"), Some(&list));
}

#[test]
fn process_groups_are_read_from_json_and_from_what_python_prints() {
    let printed = r#"['[{"pg_name": "0", "ranks": [0, 2], "group_size": 2}]']"#;
    let json = r#"["[{\"pg_name\": \"0\", \"ranks\": [0, 2], \"group_size\": 2}]"]"#;
    for values in [printed, json] {
        let mut node = Node {
            name: "## process_group:init ##".to_owned(),
            ..Node::default()
        };
        node.inputs.values = values.to_owned();
        let groups = process_groups(&node).unwrap().unwrap();
        let [group] = &groups[..] else {
            panic!("one group")
        };
        assert_eq!((group.name.as_str(), &group.ranks[..]), ("0", &[0, 2][..]));
    }
}

/// A header of an archive, and a file of these bytes.
fn member(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    block.extend(bytes);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

#[test]
fn an_archive_has_its_files_but_for_those_of_macos() {
    let archive = [
        member("a/._t.0.et", b"attributes"),
        member("a/t.0.et", TRACE),
        vec![0; 1024],
    ]
    .concat();
    let found = members(&archive).unwrap();
    let expected = Member {
        name: "a/t.0.et".to_owned(),
        bytes: TRACE,
    };
    assert_eq!(found, [expected]);
    assert!(is_archive(&archive));
    let (at, reason) = members(&archive[..1600]).unwrap_err();
    assert_eq!(at, 1024);
    assert!(reason.contains("cut off"), "{reason}");
}

/// Nodes, dependencies and the nodes of each kind in a shared file.
fn counts(bytes: &[u8]) -> (Form, usize, usize, Vec<(Kind, usize)>) {
    let (header, nodes) = nodes(bytes).unwrap();
    let mut kinds = BTreeMap::new();
    for node in &nodes {
        *kinds.entry(node.kind).or_insert(0) += 1;
    }
    let edges = nodes
        .iter()
        .map(|node| node.ctrl_deps.len() + node.data_deps.len());
    (
        header.form,
        nodes.len(),
        edges.sum(),
        kinds.into_iter().collect(),
    )
}

#[test]
fn shared_archives_hold_as_many_nodes_as_python_finds_in_them() {
    let Some(folder) = odonata_testdata::data("chakra") else {
        return;
    };
    let open = |name: &str| odonata_files::read(&folder.join(name), 1 << 30).unwrap();
    let archive = open("1.0.2-chakra.0.0.4.tgz");
    let files = members(&archive).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["1.0.2-chakra.0.0.4.json"]);
    let host = counts(files[0].bytes);
    assert_eq!(host, (Form::PyTorch, 263, 263, vec![(Kind::Invalid, 263)]));

    let archive = open("json_trace.tar.gz");
    let files = members(&archive).unwrap();
    let expected = [
        ("jsonData/chakra.0.json", 3664, 181_878, 3643, 21),
        ("jsonData/small_chakra.0.json", 7, 13, 4, 3),
    ];
    assert_eq!(files.len(), 2);
    for (file, (name, nodes, edges, compute, collective)) in files.iter().zip(expected) {
        let kinds = vec![(Kind::Compute, compute), (Kind::Collective, collective)];
        assert_eq!(file.name, name);
        assert_eq!(
            counts(file.bytes),
            (Form::WorkloadGraph, nodes, edges, kinds)
        );
    }
}

#[test]
fn shared_microbenchmarks_are_one_collective_of_a_mebibyte_each() {
    let Some(folder) = odonata_testdata::data("chakra/astra-sim-microbenchmarks") else {
        return;
    };
    let kinds = [
        ("all_reduce", 0),
        ("all_gather", 2),
        ("all_to_all", 6),
        ("reduce_scatter", 7),
    ];
    for (name, number) in kinds {
        for ranks in [4, 8, 16] {
            for rank in 0..ranks {
                let file = format!("{name}/{ranks}npus_1MB/{name}.{rank}.et");
                let bytes = odonata_files::read(&folder.join(&file), 1 << 20).unwrap();
                let (header, nodes) = nodes(&bytes).unwrap();
                assert_eq!(header.version, "0.0.4");
                let [node] = &nodes[..] else {
                    panic!("{file} has {} nodes", nodes.len());
                };
                assert_eq!((node.id, node.kind), (rank, Kind::Collective), "{file}");
                assert_eq!(node.name, format!("{name}_{ranks}npus_1MB"));
                let value = |name| node.attribute(name).and_then(Value::unsigned);
                assert_eq!(value("comm_type"), Some(number), "{file}");
                assert_eq!(value("comm_size"), Some(1 << 20), "{file}");
                assert_eq!(node.attribute("is_cpu_op"), Some(&Value::Bool(false)));
            }
        }
    }
}
