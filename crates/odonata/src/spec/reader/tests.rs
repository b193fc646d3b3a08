//! Tests of reading scenario files.

use odonata_load::application::{Application, ComputeRate};

use super::*;
use crate::spec::{
    Keys, Link, Load, Mapping, MappingObjective, MappingStart, Motif, MotifKind, Offered, Pattern,
    Phase, Placement, RepeatPhase, Shift, Weights,
};

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
fn a_crossbar_is_ideal_or_has_a_bandwidth_or_a_speed_up() {
    let router = |crossbar: &str| {
        let text = GOOD.replace("crossbar = 1.5", &format!("crossbar = {crossbar}"));
        let router = read(&text).unwrap().network.router;
        (
            router.crossbar_bandwidth_bytes_per_s,
            router.crossbar_speedup,
        )
    };
    assert_eq!(router("\"ideal\""), (None, None));
    assert_eq!(router("\"17 GB/s\""), (Some(17_000_000_000), None));
    assert_eq!(router("2"), (None, Some(2.0)));
    let refused = |crossbar: &str| {
        let found = mistakes(&[("crossbar = 1.5", &format!("crossbar = {crossbar}"))]);
        assert_eq!(found[0].1, "network.router.crossbar");
        found[0].2.clone()
    };
    assert_eq!(refused("0.5"), "found 0.5; allowed: at least 1");
    assert_eq!(
        refused("\"idael\""),
        "found \"idael\"; allowed: \"ideal\" or a bandwidth or a speed-up"
    );
    assert_eq!(
        refused("true"),
        "found true (true or false); allowed: \"ideal\" or a bandwidth or a speed-up"
    );
    assert!(refused("\"17 GB\"").contains("B/s"));
}

#[test]
fn what_people_write_is_what_the_engine_takes() {
    let scenario = read(GOOD).unwrap();
    let network = &scenario.network;
    assert_eq!((scenario.title.as_str(), scenario.seed), ("Small", 1));
    let Keys::Par(par) = &network.routing.keys else {
        panic!("{:?}", network.routing);
    };
    assert_eq!(par.adaptive.threshold_bytes, Some(2048));
    assert_eq!(par.adaptive.weights, Weights::Fixed([1, 2]));
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
fn all_mistakes_are_reported_at_once_with_their_lines() {
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

const JOBS: &str = r#"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2

[[job]]
nodes = 8
placement = { policy = "even", groups = "0-2" }
mapping = { policy = "greedy", refine = "swap" }
motif = { kind = "sweep3d", cells = [8, 8, 8], iterations = 2 }

[[job]]
name = "noise"
placement = "1, 0"
start = "2 us"
traffic = { pattern = "shift", offset = 1, load = "25 %", interval = "1 us", messages = 3 }
"#;

#[test]
fn jobs_are_what_the_engine_takes() {
    let scenario = Scenario::from_file_text(JOBS, Path::new("/there")).unwrap();
    let [work, noise] = scenario.jobs.as_slice() else {
        panic!("{:?}", scenario.jobs);
    };
    assert_eq!(
        (work.name.as_str(), work.placement.clone()),
        ("job1", Placement::Even)
    );
    assert_eq!(work.groups, Some(vec![0, 1, 2]));
    let fitted = Mapping::Fitted {
        start: MappingStart::Greedy,
        refine: Some(MappingObjective::HopBytes),
        matrix: None,
    };
    assert_eq!(work.mapping, fitted);
    let Load::Motif(motif) = &work.load else {
        panic!("{:?}", work.load);
    };
    assert_eq!((motif.iterations, motif.compute_ps), (2, 0));
    let MotifKind::Application {
        application,
        compute_rate,
    } = &motif.kind
    else {
        panic!("{:?}", motif.kind);
    };
    let Application::Sweep3d(sweep) = application else {
        panic!("{application:?}");
    };
    assert_eq!((sweep.cells, sweep.angles), ([8; 3], 8));
    // As Ember has it by default: 1 GFLOP/s.
    assert_eq!(*compute_rate, Some(ComputeRate::FlopPerS(1e9)));
    assert_eq!(noise.placement, Placement::Explicit { nodes: vec![1, 0] });
    assert_eq!(noise.start_ps, 2_000_000);
    let Load::Traffic(traffic) = &noise.load else {
        panic!("{:?}", noise.load);
    };
    assert_eq!(traffic.pattern, Pattern::Shift(Shift { offset: 1 }));
    assert_eq!(
        (traffic.message_bytes, traffic.interval_ps),
        (None, Some(1_000_000))
    );
    assert_eq!(
        (traffic.offered, traffic.messages),
        (Offered::Load(0.25), Some(3))
    );
}

#[test]
fn phases_of_a_file_are_read_with_it() {
    let directory = std::env::temp_dir().join(format!("odonata-phases-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let write = |text: &str| std::fs::write(directory.join("app.toml"), text).unwrap();
    let text = JOBS.replace(
        r#"kind = "sweep3d", cells = [8, 8, 8], iterations = 2"#,
        r#"kind = "phases", file = "app.toml""#,
    );
    let read = || Scenario::from_file_text(&text, &directory);
    write(
        "phases = [{ compute = \"3 us\" }, { repeat = 2, phases = [{ kind = \"halo2d\", message = \"1 kB\" }] }]",
    );
    let scenario = read().unwrap();
    let Load::Motif(Motif {
        kind: MotifKind::Phases { phases },
        ..
    }) = &scenario.jobs[0].load
    else {
        panic!("{:?}", scenario.jobs);
    };
    assert_eq!(phases[0], Phase::ComputePs(3_000_000));
    assert!(
        matches!(&phases[1], Phase::Repeat(RepeatPhase { times: 2, phases }) if phases.len() == 1)
    );
    write("phases = [{ compute = 3 }]");
    let mistakes = read().unwrap_err().0;
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].path, "job[0].motif.file");
    assert!(
        mistakes[0]
            .message
            .contains("line 1: phases[0].compute: found 3 without a unit"),
        "{mistakes:?}"
    );
    // A file that names itself is no endless loop.
    write("phases = [{ kind = \"phases\", file = \"app.toml\" }]");
    let mistakes = read().unwrap_err().0;
    assert!(
        mistakes[0].message.contains("16 times at most"),
        "{mistakes:?}"
    );
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn all_mistakes_of_jobs_are_said_at_once() {
    let text = JOBS
        .replace("nodes = 8", "nodes = 0")
        .replace("offset = 1", "offset = 0, ofset = 1")
        .replace("\"even\"", "\"evn\"");
    let mistakes = Scenario::from_file_text(&text, Path::new("/there"))
        .unwrap_err()
        .0;
    let found: Vec<_> = mistakes
        .iter()
        .map(|one| (one.line, one.path.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (Some(9), "job[0].nodes"),
            (Some(10), "job[0].placement.policy"),
            (Some(18), "job[1].traffic.offset"),
            (Some(18), "job[1].traffic.ofset"),
        ]
    );
    let twice = JOBS.replace("nodes = 8", "nodes = 8\nname = \"noise\"");
    let mistakes = Scenario::from_file_text(&twice, Path::new("/there"))
        .unwrap_err()
        .0;
    assert_eq!(mistakes[0].path, "job[1].name");
    assert_eq!(mistakes[0].line, Some(16));
}

const NETWORK: &str = "[network]\nfamily = \"dragonfly\"\np = 2\na = 4\nh = 2\n";

/// Path and message of every mistake of a scenario file.
fn all_mistakes(text: &str) -> Vec<(String, String)> {
    let document = toml_value(text).unwrap();
    let (_, found) = checked(&document, Path::new("/there"), &PlugInNames::new());
    found
        .into_iter()
        .map(|one| (one.path, one.message))
        .collect()
}

#[test]
fn words_of_other_programs_and_places_are_answered_with_what_to_write() {
    let job = |inner: &str| format!("{NETWORK}[[job]]\nnodes = 8\n{inner}\n");
    let routing = |name: &str| format!("{NETWORK}routing = \"{name}\"\n");
    for (text, path, words) in [
        (
            job("motif = { kind = \"allreduce\", message = \"1 kB\" }"),
            "job[0].motif.kind",
            "write kind = \"collective\", operation = \"allreduce\"",
        ),
        (
            job("motif = { kind = \"reduce_scatter\", message = \"1 kB\" }"),
            "job[0].motif.kind",
            "write kind = \"collective\", operation = \"reduce-scatter\"",
        ),
        (
            job("motif = { kind = \"adversarial\", message = \"1 kB\" }"),
            "job[0].motif.kind",
            "write traffic = { pattern = \"adversarial\", … }",
        ),
        (
            job("motif = { kind = \"collective\", message = \"1 kB\" }"),
            "job[0].motif.operation",
            "\"barrier\", \"broadcast\"",
        ),
        (
            job("traffic = { kind = \"tornado\", message = \"1 kB\", load = 0.1 }"),
            "job[0].traffic.kind",
            "write `pattern = \"tornado\"`",
        ),
        (
            job("traffic = { pattern = \"halo3d\", message = \"1 kB\", load = 0.1 }"),
            "job[0].traffic.pattern",
            "write motif = { kind = \"halo3d\", … }",
        ),
        (routing("adaptive"), "network.routing", "\"ugal-l\""),
        (routing("flow-hash"), "network.routing", "\"ecmp\""),
        (
            routing("min"),
            "network.routing",
            "did you mean \"minimal\"?",
        ),
        (
            routing("UGAL-L"),
            "network.routing",
            "did you mean \"ugal-l\"?",
        ),
        (
            job("placement = \"packed\""),
            "job[0].placement",
            "\"contiguous\": the first free nodes",
        ),
        (
            format!("routing = \"par\"\n{NETWORK}"),
            "routing",
            "did you mean `network.routing`?",
        ),
        (
            format!("{NETWORK}packet = \"1 kB\"\n"),
            "network.packet",
            "did you mean `simulation.packet`?",
        ),
        (
            format!("{NETWORK}[simulation]\ndur = \"1 us\"\n"),
            "simulation.dur",
            "did you mean `duration`?",
        ),
        (
            format!("{NETWORK}[job]\nnodes = 8\n"),
            "job",
            "[[job]], with two brackets",
        ),
    ] {
        let found = all_mistakes(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, path, "{found:?}");
        assert!(found[0].1.contains(words), "{}", found[0].1);
    }
}

#[test]
fn both_spellings_of_all_to_all_are_right_in_both_places() {
    let text = format!(
        "{NETWORK}[[job]]\nnodes = 8\nmotif = {{ kind = \"alltoall\", message = \"1 kB\" }}\n\
         [[job]]\nnodes = 8\nmotif = {{ kind = \"collective\", operation = \"all-to-all\", \
         message = \"1 kB\" }}\n"
    );
    let scenario = Scenario::from_file_text(&text, Path::new("/")).unwrap();
    let kinds: Vec<_> = (scenario.jobs.iter())
        .map(|job| match &job.load {
            Load::Motif(motif) => motif.kind.clone(),
            Load::Traffic(_) => panic!("a motif"),
        })
        .collect();
    assert!(matches!(kinds[0], MotifKind::AllToAll(_)));
    let MotifKind::Collective(collective) = &kinds[1] else {
        panic!("a collective");
    };
    assert_eq!(collective.operation, odonata_load::CollectiveKind::Alltoall);
    assert!(all_mistakes(&text).is_empty());
}

#[test]
fn mistakes_of_building_stand_beside_those_of_reading() {
    let job =
        |motif: &str| format!("[[job]]\nnodes = 8\nmotif = {{ message = \"1 kB\", {motif} }}\n");
    // A dragonfly of p = 2, a = 4, h = 2 has up to 9 groups; 3 × 5 ranks are not 8.
    let text = format!(
        "sede = 3\n{NETWORK}g = 50\n{}{}{}",
        job("kind = \"halo\""),
        job("kind = \"halo2d\", grid = [3, 5]"),
        job("kind = \"broadcast\", root = 8"),
    );
    let paths: Vec<String> = all_mistakes(&text).into_iter().map(|one| one.0).collect();
    assert_eq!(
        paths,
        [
            "sede",
            "job[0].motif.kind",
            "network.g",
            "job[1].motif.grid",
            "job[2].motif.root"
        ]
    );
    // What is wrong with a network does not hide what is wrong with jobs, nor the other way.
    let built = text
        .replace("sede", "seed")
        .replace("\"halo\"", "\"halo2d\"");
    let scenario = Scenario::from_file_text(&built, Path::new("/")).unwrap();
    let paths: Vec<String> = crate::faults(&scenario)
        .into_iter()
        .map(|one| one.path)
        .collect();
    assert_eq!(
        paths,
        ["network.g", "job[1].motif.grid", "job[2].motif.root"]
    );
    let ours = built.replace("g = 50", "g = 9");
    let scenario = Scenario::from_file_text(&ours, Path::new("/")).unwrap();
    assert_eq!(crate::faults(&scenario).len(), 2);
}
