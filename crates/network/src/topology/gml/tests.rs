use super::*;
use crate::topology::testing::class;
use crate::topology::{AttachedNodes, LinkClass};
use proptest::prelude::*;

/// In the form of the Internet Topology Zoo: ids with gaps, labels with entities, parallel edges,
/// lists within nodes, speeds of some of the links.
const ZOO: &str = r#"# made up
Creator "by hand"
graph [
  directed 0
  Network "Four places"
  label "four"
  node [
    id 0
    label "S&#227;o Paulo"
    Longitude -46.63611
    Internal 1
    graphics [ x 1.5 y 2 ]
  ]
  node [ id 2 label "Lisboa" Internal 1 ]
  node [ id 3 label "Porto [PT]" ]
  node [ id 10 label "Funchal" hyperedge 1 ]
  edge [ source 0 target 2 LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
  edge [ source 2 target 0 LinkSpeedRaw 155000000 ]
  edge [ source 2 target 3 LinkLabel "dark fibre" ]
  edge [ source 3 target 10 key 1 ]
]
"#;

fn import(text: &str) -> Result<Topology, WiringFileError> {
    let defaults = [
        class("terminal", LinkKind::Terminal),
        class("local", LinkKind::Local),
        class("global", LinkKind::Global),
    ];
    let read = read(text)?;
    let given: Vec<LinkClass> = read
        .classes()
        .iter()
        .map(|one| class(&one.name, one.kind))
        .collect();
    read.into_topology(&WiringDefaults {
        classes: &given,
        unsaid_kinds: &[],
        defaults: &defaults,
        nodes: AttachedNodes::Otherwise(2),
    })
}

#[test]
fn a_graph_of_the_topology_zoo_is_a_network() {
    let read = read(ZOO).unwrap();
    let speeds: Vec<(&str, Option<u64>)> = read
        .classes()
        .iter()
        .map(|class| {
            let bandwidth = class.bandwidth.map(Bandwidth::bytes_per_second);
            (class.name.as_str(), bandwidth)
        })
        .collect();
    // Bytes per second are an eighth of the bits.
    assert_eq!(
        speeds,
        [
            ("local-10Gbps", Some(1_250_000_000)),
            ("local-155Mbps", Some(19_375_000)),
            ("local", None)
        ]
    );
    let graph = read.named_graph().unwrap();
    let names: Vec<&str> = graph.vertices.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["São Paulo", "Lisboa", "Porto [PT]", "Funchal"]);
    assert_eq!(graph.edges, [(0, 1), (1, 0), (1, 2), (2, 3)]);

    let topology = import(ZOO).unwrap();
    assert_eq!(topology.title, "Four places");
    assert_eq!((topology.routers(), topology.nodes()), (4, 8));
    let classes: Vec<&str> = topology
        .links()
        .map(|(port, _)| topology.link_class(port).name.as_str())
        .collect();
    assert_eq!(classes, ["local-10Gbps", "local-155Mbps", "local", "local"]);
}

#[test]
fn keys_of_graphml_mean_the_same() {
    let text = r#"graph [
        title "pair"
        node [ id "a" kind "router" group 0 nodes 2 ]
        node [ id "b" group 1 ]
        node [ id "h" kind "node" number 2 label "n2" ]
        edge [ source "a" target "b" LinkSpeedRaw 1e10 class "global" ]
        edge [ source "b" target "h" ]
    ]"#;
    assert_eq!(read(text).unwrap().classes(), []);
    let topology = import(text).unwrap();
    assert_eq!(
        (topology.routers(), topology.nodes(), topology.groups),
        (2, 3, 2)
    );
    let graph = read(text).unwrap().named_graph().unwrap();
    let kinds: Vec<Option<bool>> = graph.vertices.iter().map(|v| v.is_node).collect();
    assert_eq!(kinds, [Some(false), Some(false), Some(true)]);
    assert_eq!(graph.vertices[1].group.as_deref(), Some("1"));
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let error = |text: &str| import(text).unwrap_err().to_string();
    for (text, expected) in [
        (
            "",
            "line 1: cannot read `the end of the file`; expected a list `graph",
        ),
        (
            "graph [\n node [ id 0 ]",
            "line 2: cannot read `the end of the file`; expected `]` for",
        ),
        ("graph [\n node [ id \"0 ]\n]", "line 2: cannot read `\"0 ]"),
        ("graph [ ] ]", "line 1: cannot read `]`; expected a key"),
        (
            "graph [ node ]",
            "line 1: cannot read `node`; expected a number, a text or a list",
        ),
        ("graph [ 3 4 ]", "line 1: cannot read `3`; expected a key"),
        (
            "graph [\n directed 1\n]",
            "line 2: a directed graph cannot be used",
        ),
        ("graph [ ]\ngraph [ ]", "line 2: a second or nested graph"),
        (
            "graph [\n node [ label \"x\" ]\n]",
            "line 2: cannot read `<node>`; expected an attribute `id`",
        ),
        (
            "graph [\n node [ id 0 ]\n node [ id 0 ]\n]",
            "line 3: node id `0` is declared already in line 2",
        ),
        (
            "graph [\n node [ id 0 ]\n edge [ source 0 target 7 ]\n]",
            "line 3: cannot read `7`; expected the id of a node of the graph as target",
        ),
        (
            "graph [\n node [ id 0 ]\n node [ id 1 ]\n]",
            "line 3: router 1, declared here, cannot be reached from router 0",
        ),
    ] {
        let found = error(text);
        assert!(found.contains(expected), "{text:?}: {found}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_importer_panic(
        text in "(graph \\[|node \\[|edge \\[|\\] |id |source |target |[0-9]{1,9} |\"[a-z&;#]{0,5}\" |LinkSpeedRaw 1e10|\n){0,40}",
    ) {
        let _ = import(&text);
        let _ = import(&format!("graph [ {text} ]"));
    }
}
