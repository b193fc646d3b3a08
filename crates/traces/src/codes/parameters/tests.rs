use super::*;

const TEXT: &str = "LPGROUPS\n{\n   GRP { repetitions=\"5\"; }\n}\nPARAMS\n{\n# packet_size=\"1\"\n\
    \x20  modelnet_order=( \"dragonfly_plus\",\"dragonfly_plus_router\" );\n\
    \x20  num_groups=\"5\"; local_bandwidth=\"5.25\"; #1/16 of \"32768\"\n\
    \x20  intra=\"../a/b#c;d\";\n}\n";

fn read(text: &str) -> Result<Parameters, TraceError> {
    Parameters::read(text.as_bytes(), "conf/some.conf".to_owned())
}

#[test]
fn names_have_their_values() {
    let found = read(TEXT).unwrap();
    assert_eq!(found.text("modelnet_order").unwrap(), "dragonfly_plus");
    assert_eq!(found.count("num_groups").unwrap(), 5);
    assert_eq!(found.positive("local_bandwidth").unwrap(), 5.25);
    assert_eq!(found.file("intra").unwrap(), Path::new("conf/b#c;d"));
}

#[test]
fn lists_may_span_lines_and_blocks_are_known() {
    let text = "LPGROUPS { A { n=\"1\"; } B {\n n=\"2\"; } }\nPARAMS {\n x=(\"1\",\n \"4\");\n\
                y=\"2, 3\"; }\nz=\"0\";";
    let found = read(text).unwrap();
    assert_eq!(found.counts("x").unwrap(), [1, 4]);
    assert_eq!(found.counts("y").unwrap(), [2, 3]);
    let places: Vec<(&str, &str, u32, u64)> = (found.assignments().iter())
        .map(|a| (a.name.as_str(), a.section.as_str(), a.group, a.line))
        .collect();
    let expected = [
        ("n", "LPGROUPS", 1, 1),
        ("n", "LPGROUPS", 2, 2),
        ("x", "PARAMS", 0, 4),
        ("y", "PARAMS", 0, 6),
        ("z", "", 0, 7),
    ];
    assert_eq!(places, expected);
    assert_eq!(found.at_least_zero("z").unwrap(), Some(0.0));
    assert_eq!(found.at_least_zero("w").unwrap(), None);
    let open = read("a=\"1\";\nx=(\"1\",\n").unwrap_err().to_string();
    assert!(open.contains("line 2: the bracket"), "{open}");
    // Nor does a file that is all one list take time that grows with its square.
    let endless = format!("x=(\n{}", "\"1\",\n".repeat(1_000_000));
    let message = read(&endless).unwrap_err().to_string();
    assert!(
        message.contains("line 1: a list of more than 65536 bytes"),
        "{message}"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let found = read(TEXT).unwrap();
    let message = |error: TraceError| error.to_string();
    assert_eq!(
        message(found.count("packet_size").unwrap_err()),
        "conf/some.conf: `packet_size` is not given, which this network needs"
    );
    assert_eq!(
        message(found.count("local_bandwidth").unwrap_err()),
        "conf/some.conf: line 9: `local_bandwidth` is \"5.25\"; a whole number is needed"
    );
    assert!(message(found.positive("intra").unwrap_err()).contains("line 10"));
    let torn = read("num_groups=5;\n").unwrap_err();
    assert!(message(torn).contains("line 1: `num_groups=5` has no value"));
}
