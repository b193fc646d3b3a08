//! The kinds of motifs and of traffic that users know, from the tables that the engine reads.

use odonata_declare::Named;
use odonata_declare::table::Declared;
use odonata_load::CollectiveKind;
use odonata_load::application::Application;
use odonata_load::collective;
use odonata_load::replay::Format as TraceFormat;
use serde::Serialize;
use serde_json::{Value, json};

use super::job::{Job, Load, MappingTable, MessageClass, PlacementTable, RankMapPlacement};
use super::motif::{
    AllToAll, Bisection, Broadcast, CheckpointBurst, Collective, ComputePhase, Exchange, Halo,
    Iterations, MarkerBorder, Matrix, PhaseFile, RegionBorder, RepeatPhase, TimeBorder, Trace,
};
use super::pattern::{
    BroadcastTraffic, GroupPeers, GroupShift, HotSpot, MatrixTraffic, Offered, OfferedKeys,
    Pattern, Shift, Stencil, Traffic,
};
use super::schedule::{FlowNetwork, PacketNetwork, ScheduleNetwork, SpeedUpNetwork};
use super::table::{KeyDeclaration, Kind, Rule, TableDeclaration, Test};

/// Tables of which one key says the kind: `motif`, `traffic`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kinds {
    /// Name of the kind of tables.
    pub name: &'static str,
    /// The key that says which it is.
    pub key: &'static str,
    /// The kinds.
    pub kinds: Vec<KindDeclaration>,
    /// What a plug-in is, where one may be named.
    pub plug_in: Option<PlugInDeclaration>,
}

/// A table of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindDeclaration {
    /// The values of the key that choose it.
    pub names: Vec<&'static str>,
    /// What is said of that key.
    pub key_text: String,
    /// Whether the name may be left out where the table is made in code.
    pub implied: bool,
    /// The other keys.
    pub table: TableDeclaration,
    /// What the engine's form of all of the kind has besides its keys; the text `NAME` is
    /// the name that was chosen.
    #[serde(skip)]
    pub(super) form: Value,
}

/// The tables of a kind that a plug-in gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlugInDeclaration {
    /// Kind of plug-ins.
    pub kind: &'static str,
    /// The other keys, besides `parameters`.
    pub table: TableDeclaration,
}

/// All tables of which a key says the kind.
pub(super) fn kinds() -> Vec<Kinds> {
    vec![
        Kinds {
            name: "Motif",
            key: "kind",
            kinds: motifs(),
            plug_in: Some(PlugInDeclaration {
                kind: "application",
                table: TableDeclaration {
                    name: "PlugInMotif",
                    text: "An application of a [plug-in](plug-ins.md).".into(),
                    keys: Vec::new(),
                    rules: Vec::new(),
                    always: Vec::new(),
                },
            }),
        },
        Kinds {
            name: "Traffic",
            key: "pattern",
            kinds: traffic(),
            plug_in: Some(PlugInDeclaration {
                kind: "pattern",
                table: TableDeclaration {
                    name: "PlugInTraffic",
                    text: "Traffic with the pattern of a [plug-in](plug-ins.md).".into(),
                    ..open_loop()
                },
            }),
        },
    ]
}

/// The tables that are parts of jobs, and jobs, in the order in which they name each other.
pub(super) fn job_tables() -> Vec<TableDeclaration> {
    vec![
        TimeBorder::declaration(),
        RegionBorder::declaration(),
        MarkerBorder::declaration(),
        ComputePhase::declaration(),
        RepeatPhase::declaration(),
        PhaseFile::declaration(),
        MappingTable::declaration(),
        PlacementTable::declaration(),
        RankMapPlacement::declaration(),
        MessageClass::declaration(),
        Job::declaration(),
    ]
}

/// Patterns without parameters by which every rank has one partner, of motifs.
const EXCHANGES: [&str; 7] = [
    "uniform-random",
    "permutation",
    "transpose",
    "tornado",
    "bisection-pairs",
    "neighbour",
    "group-tornado",
];

/// What is said of them.
const EXCHANGES_TEXT: &str = "To whom rank r of n sends: to a new random partner in every iteration (`uniform-random`), to\n\
     its partner in one random permutation (`permutation`), to the mirror position in a square\n\
     matrix (`transpose`), to rank r + ⌈n/2⌉ − 1 (`tornado`), to its partner in the other half of\n\
     the job (`bisection-pairs`), to both neighbours on a ring (`neighbour`), or to the rank at the\n\
     same position in the group half-way round (`group-tornado`).";

/// What is said of the key of a kind with one name.
const THE_MOTIF: &str = "The motif.";
const THE_PATTERN: &str = "The pattern.";

/// Keys inside a table of the engine's form.
fn within(keys: Vec<KeyDeclaration>, table: &'static str) -> impl Iterator<Item = KeyDeclaration> {
    keys.into_iter().map(move |key| key.within(table))
}

/// A motif that the engine has as `engine`.
fn motif(
    names: &[&'static str],
    engine: Value,
    class: &'static str,
    table: TableDeclaration,
) -> KindDeclaration {
    let mut keys = Iterations::keys();
    keys.extend(within(table.keys, "kind"));
    KindDeclaration {
        names: names.to_vec(),
        key_text: THE_MOTIF.into(),
        implied: names.len() == 1,
        table: TableDeclaration {
            name: class,
            keys,
            ..table
        },
        form: json!({ "kind": engine }),
    }
}

/// An exchange under patterns that have these keys.
fn exchange(
    names: &[&'static str],
    class: &'static str,
    text: &str,
    keys: Vec<KeyDeclaration>,
) -> KindDeclaration {
    let mut table = Exchange::declaration();
    text.clone_into(&mut table.text);
    table.keys.extend(within(keys, "pattern"));
    let engine = json!({"name": "exchange", "pattern": {"name": "NAME"}});
    let kind = motif(names, engine, class, table);
    match kind.implied {
        true => kind,
        false => KindDeclaration {
            key_text: EXCHANGES_TEXT.into(),
            ..kind
        },
    }
}

/// A halo exchange on a grid of so many dimensions.
fn halo(
    dimensions: usize,
    name: &'static str,
    class: &'static str,
    shape: &str,
) -> KindDeclaration {
    let mut table = Halo::declaration();
    table.text = format!(
        "Halo exchange on a {dimensions}-D grid.\n\nThe Halo3D motif of SST's Ember: `order = \
         \"dimensions\"`, `blocking = true`, `periodic = false`\n([motifs](applications.md#motifs-and-\
         their-sources))."
    );
    for key in table.keys.iter_mut().filter(|key| key.key == "grid") {
        (key.fewest_entries, key.most_entries) = (Some(dimensions), Some(dimensions));
        key.text = key.text.replace("nearly equal", &format!("nearly {shape}"));
    }
    motif(
        &[name],
        json!({"name": "halo", "dimensions": dimensions}),
        class,
        table,
    )
}

/// The skeleton of an application.
fn skeleton((name, flop_per_s, table): (&'static str, f64, TableDeclaration)) -> KindDeclaration {
    let compute = KeyDeclaration {
        engine_key: "compute_ps",
        optional: true,
        later: true,
        instead_of: Some("flop_rate"),
        ..KeyDeclaration::new(
            "compute",
            " Time for which a rank computes in an iteration, divided among the parts of the iteration in\n \
             proportion to their work. Default: this time follows from `flop_rate`.",
            Kind::Quantity("duration"),
        )
    };
    let flop_rate = KeyDeclaration {
        engine_key: "flop_per_s",
        least: Some(1.into()),
        default: flop_per_s.into(),
        ..KeyDeclaration::new(
            "flop_rate",
            " How fast a rank computes.",
            Kind::Quantity("floprate"),
        )
    };
    let mut iterations = Iterations::keys();
    iterations.retain(|key| key.key != "compute");
    iterations[0].text = "How often each rank runs through the application's main loop.".into();
    let rate = within(within(vec![compute, flop_rate], "pace").collect(), "kind");
    let own = within(within(table.keys, "application").collect(), "kind");
    KindDeclaration {
        names: vec![name],
        key_text: THE_MOTIF.into(),
        implied: true,
        table: TableDeclaration {
            keys: iterations.into_iter().chain(rate).chain(own).collect(),
            ..table
        },
        form: json!({"kind": {"name": "application", "application": {"name": "NAME"}}}),
    }
}

/// Phases one after another.
fn phases() -> KindDeclaration {
    let mut iterations = Iterations::keys();
    iterations.retain(|key| key.key != "compute");
    iterations[0].text = "How often each rank runs through all phases.".into();
    let list = KeyDeclaration {
        engine_key: "phases",
        fewest_entries: Some(1),
        optional: true,
        later: true,
        ..KeyDeclaration::new(
            "phases",
            " Motifs, computing and repeats, one after another.",
            Kind::List(Box::new(Kind::Forms("Phase"))),
        )
    };
    let file = KeyDeclaration {
        engine_key: "phases_file",
        optional: true,
        later: true,
        ..KeyDeclaration::new(
            "file",
            " Instead of `phases`: file that contains them, relative to the scenario.",
            Kind::File("phases"),
        )
    };
    let refuse = |found: &str, test: &[(&'static str, Test)]| Rule {
        when: test.to_vec(),
        key: "phases",
        found: Some(found.into()),
        allowed: "either `phases` or `file`".into(),
    };
    let keys = iterations
        .into_iter()
        .chain(within(vec![list, file], "kind"));
    KindDeclaration {
        names: vec!["phases"],
        key_text: THE_MOTIF.into(),
        implied: true,
        table: TableDeclaration {
            name: "Phases",
            text: "An application of several phases: motifs one after another, with repeats.\n\n\
                   Each phase is a motif, `{ compute = … }`, or `{ repeat = …, phases = [ … ] }`. \
                   Ranks go from\nphase to phase without waiting for others."
                .into(),
            keys: keys.collect(),
            rules: vec![
                refuse(
                    "neither",
                    &[("phases", Test::Absent), ("file", Test::Absent)],
                ),
                refuse("both", &[("phases", Test::Given), ("file", Test::Given)]),
            ],
            always: Vec::new(),
        },
        form: json!({"kind": {"name": "phases"}}),
    }
}

/// A collective, of which the operation says what the other keys may be.
fn collective_of_mpi() -> TableDeclaration {
    let mut table = Collective::declaration();
    let rooted = CollectiveKind::with_option("root");
    table.rules.push(Rule {
        allowed: format!("only with {}", rooted.join(", ")),
        when: vec![("root", Test::Given), ("operation", Test::NotIn(rooted))],
        key: "root",
        found: None,
    });
    for operation in CollectiveKind::NAMES {
        // An exclusive scan has the algorithms of a scan.
        let own = operation.trim_start_matches("exclusive-");
        let lists = collective::lists().filter(|list| list.operation == own);
        let algorithms = lists.flat_map(|list| list.entries);
        let names: Vec<_> = std::iter::once("auto")
            .chain(algorithms.map(|entry| entry.name))
            .collect();
        table.rules.push(Rule {
            allowed: names.join(", "),
            when: vec![
                ("operation", Test::Is(operation)),
                ("algorithm", Test::NotIn(names)),
            ],
            key: "algorithm",
            found: None,
        });
    }
    table
}

/// The kinds of motifs.
fn motifs() -> Vec<KindDeclaration> {
    let plain =
        |name: &'static str, class, table| motif(&[name], json!({"name": name}), class, table);
    let mut trace = Trace::declaration();
    trace.keys = within(trace.keys, "kind").collect();
    for key in trace.keys.iter_mut().filter(|key| key.key == "file") {
        let formats: Vec<&str> = TraceFormat::TEXTS.to_vec();
        key.text = format!("{} {}", key.text, formats.join(" ").replace(". ", "; "));
    }
    let mut kinds = vec![
        plain("all-to-all", "AllToAll", AllToAll::declaration()),
        plain("bisection", "Bisection", Bisection::declaration()),
        halo(2, "halo2d", "Halo2d", "square"),
        halo(3, "halo3d", "Halo3d", "cubic"),
        halo(4, "halo4d", "Halo4d", "equal"),
        exchange(
            &EXCHANGES,
            "Exchange",
            "In every iteration each rank sends one message to its partner under a pattern.",
            Vec::new(),
        ),
        exchange(
            &["shift"],
            "ShiftExchange",
            "In every iteration each rank sends one message to the rank at a fixed offset.",
            Shift::keys(),
        ),
        exchange(
            &["group-shift"],
            "GroupShiftExchange",
            "In every iteration each rank sends one message to its counterpart in another group.",
            GroupShift::keys(),
        ),
        plain("broadcast", "Broadcast", Broadcast::declaration()),
        plain(
            "checkpoint",
            "CheckpointBurst",
            CheckpointBurst::declaration(),
        ),
        plain("collective", "Collective", collective_of_mpi()),
        plain("matrix", "Matrix", Matrix::declaration()),
        KindDeclaration {
            names: vec!["trace"],
            key_text: THE_MOTIF.into(),
            implied: true,
            table: trace,
            form: json!({"kind": {"name": "trace"}, "iterations": 1, "compute_ps": 0}),
        },
    ];
    kinds.extend(Application::declarations().into_iter().map(skeleton));
    kinds.push(phases());
    kinds
}

/// The levels of a schedule's network.
pub(super) fn levels() -> Kinds {
    let kind = |name: &'static str, text: &str, tables: &[TableDeclaration]| {
        let last = &tables[tables.len() - 1];
        KindDeclaration {
            names: vec![name],
            key_text: text.into(),
            implied: true,
            table: TableDeclaration {
                keys: tables.iter().flat_map(|table| table.keys.clone()).collect(),
                ..last.clone()
            },
            form: json!({"level": "NAME"}),
        }
    };
    let all = ScheduleNetwork::declaration();
    let flow = FlowNetwork::declaration();
    Kinds {
        name: "ScheduleNetwork",
        key: "level",
        kinds: vec![
            kind(
                "table",
                "A table of speed-ups.",
                &[all.clone(), SpeedUpNetwork::declaration()],
            ),
            kind(
                "flow",
                "Links shared as flows.",
                &[all.clone(), flow.clone()],
            ),
            kind(
                "packet",
                "Packet by packet.",
                &[all, flow, PacketNetwork::declaration()],
            ),
        ],
        plug_in: None,
    }
}

/// What all traffic has, with the rules of how much it offers: one of three keys, or an
/// interval with one of the others, from which the size of messages follows.
fn open_loop() -> TableDeclaration {
    let mut table = Traffic::declaration();
    const KEYS: [&str; 3] = ["load", "rate", "interval"];
    let mut rules = Vec::new();
    for given in 0..1 << KEYS.len() {
        let is_given = |place: usize| given >> place & 1 == 1;
        let names: Vec<_> = (0..KEYS.len()).filter(|place| is_given(*place)).collect();
        let found = match names.as_slice() {
            [] => "none of them".to_owned(),
            names => {
                let quoted: Vec<_> = names.iter().map(|n| format!("`{}`", KEYS[*n])).collect();
                quoted.join(" and ")
            }
        };
        let mut rule = |has_size: bool, key, found: String, allowed: String| {
            let size = if has_size { Test::Given } else { Test::Absent };
            let tests = KEYS
                .iter()
                .enumerate()
                .map(|(place, key)| match is_given(place) {
                    true => (*key, Test::Given),
                    false => (*key, Test::Absent),
                });
            rules.push(Rule {
                when: std::iter::once(("message", size)).chain(tests).collect(),
                key,
                found: Some(found),
                allowed,
            });
        };
        let says_size = names.len() == 2 && is_given(2);
        if !says_size {
            let allowed = "a size, or `interval` together with `load` or `rate`";
            rule(
                false,
                "message",
                format!("nothing with {found}"),
                allowed.into(),
            );
        }
        match names.as_slice() {
            [_] => {}
            _ if says_size => {
                let allowed = format!("only without `message`, which then follows from {found}");
                rule(true, "interval", format!("{found} and `message`"), allowed);
            }
            names => {
                let key = names.last().map_or(KEYS[0], |last| KEYS[*last]);
                rule(true, key, found, "one of load, rate and interval".into());
            }
        }
    }
    rules.append(&mut table.rules);
    table.rules = rules;
    table
}

/// Traffic with patterns that have the keys of a table.
fn with_pattern(
    names: &[&'static str],
    class: &'static str,
    key_text: &str,
    table: TableDeclaration,
) -> KindDeclaration {
    let shared = open_loop();
    let keys = shared.keys.into_iter().chain(within(table.keys, "pattern"));
    KindDeclaration {
        names: names.to_vec(),
        table: TableDeclaration {
            name: class,
            keys: keys.collect(),
            rules: shared.rules.into_iter().chain(table.rules).collect(),
            always: shared.always,
            ..table
        },
        key_text: key_text.into(),
        implied: names.len() == 1,
        form: json!({"pattern": {"name": "NAME"}}),
    }
}

/// The kinds of traffic.
fn traffic() -> Vec<KindDeclaration> {
    let plain = TableDeclaration {
        text: "Traffic by a pattern that needs no parameter.".into(),
        keys: Vec::new(),
        rules: Vec::new(),
        ..Traffic::declaration()
    };
    let others = vec![
        with_pattern(
            &["adversarial", "group-shift"],
            "GroupShift",
            "To a random rank (`adversarial`), or to the rank at the same position (`group-shift`), in the\n\
             group k groups further on.",
            GroupShift::declaration(),
        ),
        with_pattern(&["shift"], "Shift", THE_PATTERN, Shift::declaration()),
        with_pattern(&["stencil"], "Stencil", THE_PATTERN, Stencil::declaration()),
        with_pattern(
            &["group-peers"],
            "GroupPeers",
            THE_PATTERN,
            GroupPeers::declaration(),
        ),
        with_pattern(
            &["broadcast"],
            "BroadcastTraffic",
            THE_PATTERN,
            BroadcastTraffic::declaration(),
        ),
        with_pattern(
            &["hot-spot"],
            "HotSpot",
            THE_PATTERN,
            HotSpot::declaration(),
        ),
        with_pattern(
            &["matrix"],
            "MatrixTraffic",
            THE_PATTERN,
            MatrixTraffic::declaration(),
        ),
    ];
    let has_keys = |name: &&str| others.iter().any(|kind| kind.names.contains(name));
    let names: Vec<_> = Pattern::NAMES
        .iter()
        .copied()
        .filter(|name| !has_keys(name))
        .collect();
    let mut kinds = vec![with_pattern(
        &names,
        "Traffic",
        "To whom rank r of n sends: to any other rank (`uniform-random`), to any rank including itself\n\
             (`uniform-or-self`), to its partner in a random permutation (`permutation`), to rank r + ⌈n/2⌉\n\
             − 1 (`tornado`), to the mirror position in a square matrix (`transpose`), to a random rank of\n\
             the other half of the job (`bisection`) or to its partner there (`bisection-pairs`), to either\n\
             neighbour (`neighbour`), to the rank at the same position in the group half-way round\n\
             (`group-tornado`), to any other rank of the same group (`within-group`), or to the rank at the\n\
             same position on another router: the routers are paired so that their paths are longest in\n\
             total (`longest-matching`), or each sends to the router two links further along closed chains\n\
             of links (`two-hop`).",
        plain,
    )];
    kinds.extend(others);
    kinds
}

impl Declared for Offered {
    fn kind() -> Kind {
        Kind::Table("OfferedKeys")
    }

    fn keys() -> Vec<KeyDeclaration> {
        OfferedKeys::keys()
    }
}

impl Declared for Load {
    fn kind() -> Kind {
        Kind::Table("Load")
    }

    /// What its ranks do, as a motif or as traffic.
    fn keys() -> Vec<KeyDeclaration> {
        let one = |key, engine_key, text, kinds| KeyDeclaration {
            engine_key,
            optional: true,
            later: true,
            ..KeyDeclaration::new(key, text, Kind::Kinds(kinds))
        };
        vec![
            one(
                "motif",
                "motif",
                " What the job's ranks do, waiting for the messages that they receive (closed \
                     loop).",
                "Motif",
            ),
            one(
                "traffic",
                "traffic",
                " What the job's ranks send, regardless of what the network delivers (open loop).",
                "Traffic",
            ),
        ]
    }
}
