use super::*;
use crate::topology::testing::class;
use crate::topology::{AttachedNodes, LinkClass};
use odonata_units::RouterId;
use proptest::prelude::*;

/// The example of BookSim's own documentation: nine nodes on three routers.
const EXAMPLE: &str = "\
router 0 node 0 node 1 node 2 router 1
router 1 node 3 node 4 node 5
router 2 node 6 node 7 node 8 router 1 router 0
";

fn import(text: &str) -> Result<Topology, WiringFileError> {
    let defaults = [
        class("terminal", LinkKind::Terminal),
        class("local", LinkKind::Local),
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
        nodes: AttachedNodes::Otherwise(1),
    })
}

#[test]
fn a_link_named_on_one_side_or_on_both_is_one_link() {
    let once = import(EXAMPLE).unwrap();
    assert_eq!((once.routers(), once.nodes()), (3, 9));
    // A ring of three: 0 - 1, 1 - 2, 2 - 0.
    assert_eq!(once.links().count(), 3);
    for node in 0..9u32 {
        let router = once.router_of_node(odonata_units::NodeId(node));
        assert_eq!(router, RouterId(node / 3));
    }
    let both = "\
Router 0  node 0 node 1 node 2  Router 1 router 2 # a comment
router 1 router 0 node 3 node 4 node 5 router 2

node 3 router 1
router 2 node 6 node 7 node 8 router 1 router 0 router 0
";
    let both = import(both).unwrap();
    assert_eq!((both.nodes(), both.links().count()), (9, 3));
}

#[test]
fn latencies_make_classes_and_hold_in_both_directions() {
    let text = "router 0 node 0 router 1 10 router 2\nrouter 1 node 1 5 router 2 10 router 0\n";
    let classes = read(text).unwrap().classes();
    let found: Vec<(&str, LinkKind, u32)> = classes
        .iter()
        .map(|class| (class.name.as_str(), class.kind, class.times_latency))
        .collect();
    assert_eq!(
        found,
        [
            ("terminal", LinkKind::Terminal, 1),
            ("local-10", LinkKind::Local, 10),
            ("local", LinkKind::Local, 1),
            ("terminal-5", LinkKind::Terminal, 5),
        ]
    );
    let topology = import(&format!("{text}router 2 node 2\n")).unwrap();
    let of_links: Vec<&str> = topology
        .links()
        .map(|(port, _)| topology.link_class(port).name.as_str())
        .collect();
    assert_eq!(of_links, ["local-10", "local", "local-10"]);
    // One cycle everywhere needs no classes.
    assert_eq!(read("router 0 router 1 1 node 0").unwrap().classes(), []);
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let error = |text: &str| import(text).unwrap_err().to_string();
    for (text, expected) in [
        ("", "line 1: cannot read `no link`"),
        (
            "router 0 link 1",
            "line 1: cannot read `router 0 link 1`; expected `router R`",
        ),
        (
            "router x router 1",
            "line 1: cannot read `router x router 1`",
        ),
        ("router 0 router", "line 1: cannot read `router 0 router`"),
        (
            "router 0 router 1 0",
            "line 1: cannot read `router 0 router 1 0`",
        ),
        ("router 0 router 0", "line 1: router 0 is linked to itself"),
        (
            "node 0 node 1",
            "line 1: a link between two nodes cannot be used",
        ),
        (
            "router 0 node 0 router 1\nrouter 1 node 1\nnode 0 router 1",
            "line 3: the router of node 0 is declared already in line 1",
        ),
        (
            "router 0 node 0 router 1 10\n\nrouter 1 node 1 router 0 5",
            "line 3: a latency (5, not 10) of this link is declared already in line 1",
        ),
        (
            "router 0 node 0 router 2",
            "router 2 is declared, but router 1 is not",
        ),
        (
            "router 0 node 0\nrouter 1 node 1",
            "cannot be reached from router 0",
        ),
    ] {
        let found = error(text);
        assert!(found.contains(expected), "{text:?}: {found}");
    }
}

#[test]
fn names_of_routers_and_nodes_have_their_numbers() {
    let graph = read("router 1 node 7 router 0").unwrap().named_graph();
    let names: Vec<(&str, Option<bool>)> = graph
        .vertices
        .iter()
        .map(|vertex| (vertex.name.as_str(), vertex.is_node))
        .collect();
    assert_eq!(
        names,
        [
            ("router1", Some(false)),
            ("node7", Some(true)),
            ("router0", Some(false))
        ]
    );
    assert_eq!(graph.edges, [(0, 1), (2, 0)]);
}

proptest! {
    #[test]
    fn no_line_makes_the_importer_panic(lines in "(router |node |[0-9]{1,10} |[a-z]{1,3} |\n){0,40}") {
        let _ = import(&lines);
    }

    #[test]
    fn sides_and_order_of_links_do_not_matter(
        links in prop::collection::vec((0u32..6, 0u32..6, any::<bool>(), any::<bool>()), 0..20),
    ) {
        // A path through all routers, so that they are connected, and whatever else.
        let path = (0..5).map(|router| (router, router + 1, false, false));
        let links: Vec<_> = path.chain(links.into_iter().filter(|link| link.0 != link.1)).collect();
        let nodes: String = (0..6).map(|n| format!("node {n} router {n}\n")).collect();
        let (mut once, mut twice) = (nodes.clone(), nodes);
        let mut distinct = std::collections::BTreeSet::new();
        for &(a, b, turned, both) in &links {
            distinct.insert((a.min(b), a.max(b)));
            once += &format!("router {a} router {b}\n");
            let (a, b) = if turned { (b, a) } else { (a, b) };
            twice += &format!("router {a} router {b}\n");
            if both {
                twice += &format!("router {b} router {a}\n");
            }
        }
        let (once, twice) = (import(&once).unwrap(), import(&twice).unwrap());
        prop_assert_eq!(once.links().count(), distinct.len());
        prop_assert_eq!(once.peer, twice.peer);
    }
}
