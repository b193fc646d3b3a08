use super::*;
use crate::topology::testing::{any_topology, class, dragonfly_links};
use crate::topology::{Arrangement, DragonflySpec, GroupWiring};
use proptest::prelude::*;

/// Two routers of two groups, written by another tool: no port numbers, one
/// node of its own and two counted, group by default value.
const FOREIGN: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="group" attr.type="int"><default>1</default></key>
  <key id="d1" for="node" attr.name="kind" attr.type="string" />
  <key id="d2" for="node" attr.name="nodes" attr.type="int" />
  <key id="d3" for="node" attr.name="colour" attr.type="string" />
  <key id="d4" for="graph" attr.name="title" attr.type="string" />
  <graph edgedefault="undirected">
    <data key="d4">A &amp; B<![CDATA[ < C]]></data>
    <node id="left"><data key="d0">0</data><data key="d2">2</data></node>
    <node id="right"><data key="d3">red</data></node>
    <node id="host"><data key="d1">node</data></node>
    <!-- two parallel links -->
    <edge source="left" target="right"/>
    <edge source="right" target="left"/>
    <edge source="host" target="right"/>
  </graph>
</graphml>
"#;

fn given() -> [LinkClass; 3] {
    let links = dragonfly_links();
    [links.terminal, links.local, links.global]
}

fn refused(find: &str, replace: &str) -> String {
    assert!(FOREIGN.contains(find));
    let text = FOREIGN.replacen(find, replace, 1);
    import(&text, &given())
        .expect_err("this file is wrong")
        .to_string()
}

#[test]
fn a_foreign_file_is_read() {
    let topology = import(FOREIGN, &given()).unwrap();
    assert_eq!(topology.title, "A & B < C");
    assert_eq!(
        (topology.routers(), topology.nodes(), topology.groups),
        (2, 3, 2)
    );
    // Nodes 0 and 1 on router 0, then the two global links; the links take
    // ports 0 and 1 of router 1, as their edges come before that of the host.
    assert_eq!(topology.first_port, [0, 4, 7]);
    assert_eq!(topology.port_of_node, [0, 1, 6].map(PortId));
    assert_eq!(topology.peer[2], Peer::Port(PortId(4)));
    // The local class is not used.
    assert_eq!(topology.link_classes.len(), 2);
}

#[test]
fn every_mistake_names_its_line() {
    for (find, replace, message) in [
        (
            "</graphml>",
            "",
            "line 19: this is no well-formed XML: the file ends within an element",
        ),
        (
            "</graph>\n</graphml>",
            "</graph",
            "line 17: this is no well-formed XML",
        ),
        (
            "</node>\n    <node id=\"right",
            "</nod>\n    <node id=\"right",
            "line 10: this is no well-formed XML",
        ),
        ("undirected", "directed", "line 8: a directed graph"),
        (
            "<!-- two parallel links -->",
            "<hyperedge/>",
            "line 13: a hyperedge",
        ),
        (
            "<!-- two parallel links -->",
            "<graph/>",
            "line 13: a second or nested graph",
        ),
        (
            "<!-- two parallel links -->",
            "<node/>",
            "line 13: cannot read `<node>`; expected an attribute `id`",
        ),
        (
            "source=\"host\"",
            "source=\"hots\"",
            "line 16: cannot read `hots`; expected the id of a node of the graph as source",
        ),
        (
            "source=\"host\"",
            "",
            "line 16: cannot read `<edge>`; expected an attribute `source`",
        ),
        (
            "<edge source=\"host\" target=\"right\"/>",
            "",
            "line 12: node 2 is attached to no router",
        ),
        (
            "<node id=\"right\">",
            "<node id=\"left\">",
            "line 11: node id `left` is declared already in line 10",
        ),
        (
            "<data key=\"d2\">2<",
            "<data key=\"d2\">two<",
            "line 10: cannot read `two`; expected a number as `nodes`",
        ),
        (
            "<data key=\"d2\">2<",
            "<data key=\"d2\">5000<",
            "line 10: number of nodes on one router 5000",
        ),
        (
            "<data key=\"d1\">node<",
            "<data key=\"d1\">switch<",
            "line 12: cannot read `switch`; expected the kind",
        ),
        (
            "<data key=\"d3\">",
            "<data key=\"d9\">",
            "line 11: cannot read `d9`; expected data under a key",
        ),
        ("&amp;", "&unknown;", "line 9: this is no well-formed XML"),
        (
            "<edge source=\"left\" target=\"right\"/>\n    <edge source=\"right\" target=\"left\"/>",
            "",
            "line 11: router 1, declared here, cannot be reached",
        ),
    ] {
        let found = refused(find, replace);
        assert!(found.starts_with(message), "{replace}: {found}");
    }
    // The host is node 2, after the two counted ones; as another's end it is
    // refused.
    let message = refused(
        "source=\"left\" target=\"right\"",
        "source=\"host\" target=\"host\"",
    );
    assert!(
        message.starts_with("line 14: an edge between two compute nodes"),
        "{message}"
    );
    assert!(import("", &given()).is_err());
    let message = import(FOREIGN, &[class("global", LinkKind::Global)]).unwrap_err();
    assert!(
        message
            .to_string()
            .starts_with("line 10: this terminal link names no class")
    );
}

#[test]
fn a_graph_without_data_is_a_network_with_what_is_supplied() {
    // As networkx writes a ring.
    let ring = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <graph edgedefault="undirected">
    <node id="0" /><node id="1" /><node id="2" />
    <edge source="0" target="1" /><edge source="1" target="2" /><edge source="0" target="2" />
  </graph>
</graphml>
"#;
    let defaults = given();
    let supplies = WiringDefaults {
        defaults: &defaults,
        nodes: crate::topology::AttachedNodes::Otherwise(4),
        ..WiringDefaults::default()
    };
    let topology = import_with(ring, &supplies).unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (3, 12));
    assert_eq!(topology.link_classes, defaults[..2]);
}

#[test]
fn every_truncation_is_an_error() {
    for cut in (0..FOREIGN.trim_end().len()).filter(|&cut| FOREIGN.is_char_boundary(cut)) {
        import(&FOREIGN[..cut], &given()).expect_err("truncated");
    }
}

#[test]
fn a_dragonfly_survives_the_round_trip() {
    let topology = DragonflySpec {
        p: 2,
        a: 6,
        h: 2,
        g: 5,
        arrangement: Arrangement::Relative,
        group: GroupWiring::Grid {
            rows: 2,
            columns: 3,
            row_links: 2,
            column_links: 1,
        },
        links: dragonfly_links(),
    }
    .build()
    .unwrap();
    assert_eq!(import(&export(&topology), &[]), Ok(topology));
}

proptest! {
    #[test]
    fn any_topology_survives_the_round_trip(topology in any_topology()) {
        prop_assert_eq!(import(&export(&topology), &[]), Ok(topology));
    }
}
