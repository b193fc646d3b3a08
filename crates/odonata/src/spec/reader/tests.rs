//! Tests of reading scenario files.

use super::*;
use crate::spec::{AlgorithmName, Link, Weights};

const GOOD: &str = r#"
title = "Small"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = { algorithm = "par", threshold = "2 KiB", weights = [1, 2] }

[network.links]
terminal = { bandwidth = "1 GB/s", latency = "10 ns" }

[network.router]
crossbar = 1.5
credit_use = "crossbar"

[simulation]
duration = "1.5 us"
warmup = "auto"
precision = "2.5 %"

[record]
messages = "all"
arrivals = { interval = "1 us", routers = "0, 2-4" }

[[job]]
nodes = 36
"#;

fn read(text: &str) -> Result<Scenario, Mistakes> {
    Scenario::machine_from_toml(text, Path::new("/there"))
}

/// Line, path and message of every mistake of the text with one part in place of another.
fn mistakes(changes: &[(&str, &str)]) -> Vec<(usize, String, String)> {
    let mut text = GOOD.to_owned();
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    let found = read(&text).unwrap_err().0.into_iter();
    found
        .map(|one| (one.line.unwrap_or(0), one.path, one.message))
        .collect()
}

#[test]
fn what_people_write_is_what_the_engine_takes() {
    let scenario = read(GOOD).unwrap();
    let network = &scenario.network;
    assert_eq!((scenario.title.as_str(), scenario.seed), ("Small", 1));
    assert_eq!(network.routing.algorithm, AlgorithmName::Par);
    assert_eq!(network.routing.threshold_bytes, Some(2048));
    assert_eq!(network.routing.weights, Weights::Fixed([1, 2]));
    assert_eq!(
        network.links["terminal"].bandwidth_bytes_per_s,
        1_000_000_000
    );
    assert_eq!(network.links["global"], Link::default_for("global"));
    // Groups that are all-to-all have no rows.
    assert!(!network.links.contains_key("green"));
    assert_eq!(network.router.crossbar_speedup, Some(1.5));
    let simulation = &scenario.simulation;
    assert_eq!(simulation.duration_ps, Some(1_500_000));
    assert!(simulation.detect_warmup && simulation.warmup_ps == 0);
    assert_eq!(simulation.precision, Some(0.025));
    assert_eq!(scenario.record.messages_every, 1);
    let arrivals = scenario.record.arrivals.unwrap();
    assert_eq!(arrivals.routers, Some(vec![0, 2, 3, 4]));
    assert!(crate::build_topology(&read(GOOD).unwrap()).is_ok());
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let found = mistakes(&[
        ("p = 2", "p = 0"),
        ("h = 2", "hh = 2"),
        ("\"10 ns\"", "\"10\""),
        ("\"1.5 us\"", "15"),
        ("messages = \"all\"", "messages = \"some\""),
        ("\"par\"", "\"parr\""),
    ]);
    let places: Vec<(usize, &str)> = (found.iter())
        .map(|(line, path, _)| (*line, path.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (18, "simulation.duration"),
            (23, "record.messages"),
            (5, "network.p"),
            // At the table that lacks it.
            (3, "network.h"),
            (7, "network.hh"),
            (8, "network.routing.algorithm"),
            (11, "network.links.terminal.latency"),
        ]
    );
    for (place, words) in [
        (
            0,
            "found 15 without a unit; allowed: a duration with a unit",
        ),
        (
            1,
            "found \"some\"; allowed: \"none\", \"all\" or a whole number",
        ),
        (2, "found 0; allowed: at least 1"),
        (3, "missing; this key must be given"),
        (4, "unknown key; allowed here: family, router"),
        (5, "(did you mean \"par\"?)"),
        (6, "found \"10\" without a unit"),
    ] {
        assert!(found[place].2.contains(words), "{:?}", found[place]);
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    for (change, path, words) in [
        (
            ("h = 2", "h = 2\nrows = 2"),
            "network.rows",
            "only with group",
        ),
        (
            ("h = 2", "h = 2\ngroup = \"cray-xc\"\ncolumns = 2"),
            "network.rows",
            "found nothing; allowed: a value, as group",
        ),
        (
            ("terminal =", "green ="),
            "network.links.green",
            "terminal, local, global",
        ),
        (
            ("\"auto\"", "\"1500 ns\""),
            "simulation.warmup",
            "less than the duration, 1.5 us",
        ),
        (
            ("duration = \"1.5 us\"", ""),
            "simulation.duration",
            "as the longest with",
        ),
        (
            ("routers =", "groups = [0], routers ="),
            "record.arrivals.groups",
            "either `routers` or `groups`",
        ),
        (
            ("credit_use", "room = \"packets\"\ncredit_use = \"link\"\n#"),
            "network.router.room",
            "ideal crossbar",
        ),
    ] {
        let found = mistakes(&[change]);
        assert!(
            found
                .iter()
                .any(|one| one.1 == path && one.2.contains(words)),
            "{found:?}"
        );
    }
    assert!(
        mistakes(&[("family = \"dragonfly\"", "family = \"draggonfly\"")])[0]
            .2
            .contains("did you mean \"dragonfly\"")
    );
    assert!(read("x = ").unwrap_err().to_string().contains("line 1"));
    assert_eq!(read("title = 1").unwrap_err().0.len(), 2);
}
