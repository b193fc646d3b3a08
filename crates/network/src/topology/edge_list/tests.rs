use super::*;
use crate::topology::AttachedNodes;
use crate::topology::testing::{any_topology, class, dragonfly_links};
use crate::topology::{Arrangement, DragonflySpec, GroupWiring};
use odonata_units::{NodeId, Picoseconds};
use proptest::prelude::*;

/// The example of the module's description.
const EXAMPLE: &str = "\
title two pairs
class terminal terminal 1000000000 10000 4096
class local local 1000000000 10000 4096
class global global 4000000000 100000 16384
router 0 group 0
router 1 group 0
routers 2 3 group 1
node 0 0:0 terminal
node 1 1:0 terminal
nodes 1 2 terminal
nodes 1 3 terminal
link 0:1 1:1 local
link 2 3 local
links 2 1 3 global
unconnected 0:2 global
";

fn refused(find: &str, replace: &str) -> String {
    assert!(EXAMPLE.contains(find));
    let text = EXAMPLE.replacen(find, replace, 1);
    import(&text, &[])
        .expect_err("this list is wrong")
        .to_string()
}

#[test]
fn the_example_is_what_it_says() {
    let topology = import(EXAMPLE, &[]).unwrap();
    assert_eq!(topology.title, "two pairs");
    assert_eq!((topology.routers(), topology.nodes()), (4, 4));
    assert_eq!(
        topology
            .group_of_router
            .iter()
            .map(|g| g.0)
            .collect::<Vec<_>>(),
        [0, 0, 1, 1]
    );
    // Router 3: node 3 (line 11), the local link (13), two global links (14).
    let first = topology.ports_of(RouterId(3)).start;
    assert_eq!(topology.peer[first], Peer::Node(NodeId(3)));
    assert_eq!(topology.first_port, [0, 3, 7, 9, 13]);
    assert_eq!(topology.peer[2], Peer::Unconnected);
}

#[test]
fn order_of_lines_and_comments_do_not_matter() {
    let mut lines: Vec<String> = EXAMPLE.lines().map(str::to_owned).collect();
    // Nodes and links without port numbers depend on their own order; the
    // declarations can move to the end.
    lines[4..].rotate_left(3);
    for line in &mut lines[1..] {
        line.insert(0, '\t');
        line.push_str("  # as built");
    }
    lines.insert(2, "# comment".into());
    lines.insert(2, String::new());
    assert_eq!(import(&lines.join("\r\n"), &[]), import(EXAMPLE, &[]));
}

#[test]
fn routers_may_have_names() {
    let named = EXAMPLE.replace(
        "router 0 group 0",
        "router 0 group 0 name leaf-1 # the first",
    );
    assert_eq!(router_names(&named), [("leaf-1".to_owned(), 0)]);
    assert_eq!(router_names(EXAMPLE), []);
    let read = |text: &str| export(&import(text, &[]).expect("a list"));
    assert_eq!(read(&named), read(EXAMPLE));
    let wrong = refused("router 1 group 0", "router 1 group 0 name two words");
    assert!(wrong.contains("`name NAME`"), "{wrong}");
}

#[test]
fn classes_may_be_left_out_where_they_are_clear() {
    let short = EXAMPLE
        .replace("4096\n", "4096 # x\n")
        .replace(" local\nlink", "\nlink")
        .replace("0:0 terminal", "0:0")
        .replace("3 global\nu", "3\nu");
    assert_eq!(import(&short, &[]), import(EXAMPLE, &[]));
    let two = EXAMPLE.replace("3 global\nu", "3\nu") + "class blue global 1000 1 1\n";
    let message = import(&two, &[]).unwrap_err().to_string();
    assert!(
        message.starts_with("line 14: this global link names no class, and there are 2"),
        "{message}"
    );
}

/// What a scenario supplies to a list that says nothing but who is linked to whom.
fn supplies(classes: &[LinkClass], nodes: AttachedNodes) -> WiringDefaults<'_> {
    WiringDefaults {
        defaults: classes,
        nodes,
        ..WiringDefaults::default()
    }
}

#[test]
fn plain_pairs_are_a_network_with_what_is_supplied() {
    let links = dragonfly_links();
    let defaults = [links.terminal, links.local, links.global];
    let two_each = supplies(&defaults, AttachedNodes::Otherwise(2));
    let plain = "# source target\n0 1\n1\t2 {'weight': 3}\n2 0 {}\n";
    let topology = import_with(plain, &two_each).unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (3, 6));
    assert_eq!(
        topology.group_of_router,
        [0, 0, 0].map(odonata_units::GroupId)
    );
    // What nothing uses is left out: there are no links between groups.
    assert_eq!(topology.link_classes, defaults[..2]);
    assert_eq!(
        topology.peer[topology.port_of_node[5].index()],
        Peer::Node(NodeId(5))
    );
    // The same, said in full.
    let full = "routers 0 2 group 0\nlink 0 1 local\nlink 1 2 local\nlink 2 0 local\n\
                nodes 2 0 terminal\nnodes 2 1 terminal\nnodes 2 2 terminal\n";
    assert_eq!(import_with(full, &two_each), Ok(topology.clone()));
    // Ports and classes can be named, and groups distinguished.
    let grouped = "router 0 group 0\nrouter 1 group 1\n0:0 1:0 global\n";
    let topology = import_with(grouped, &two_each).unwrap();
    assert_eq!(topology.link_classes[1], defaults[2]);
    // A default does not stand beside a class of its kind.
    let own = format!("class fibre local 1000000 5 4096\n{plain}");
    let topology = import_with(&own, &two_each).unwrap();
    assert_eq!(topology.link_classes[0].name, "fibre");
    assert_eq!(topology.link_classes.len(), 2);
}

#[test]
fn nodes_are_attached_once() {
    let links = dragonfly_links();
    let defaults = [links.terminal, links.local, links.global];
    let attached = "nodes 3 0\n0 1\n";
    let otherwise = supplies(&defaults, AttachedNodes::Otherwise(2));
    assert_eq!(import_with(attached, &otherwise).unwrap().nodes(), 3);
    let each = supplies(&defaults, AttachedNodes::Each(2));
    assert_eq!(import_with("0 1\n", &each).unwrap().nodes(), 4);
    assert_eq!(
        import_with(attached, &each),
        Err(WiringFileError::NodesInFile { line: 1 })
    );
    let many = supplies(&defaults, AttachedNodes::Each(u32::MAX));
    let message = import_with("0 1\n", &many).unwrap_err().to_string();
    assert!(message.contains("number of nodes"), "{message}");
}

#[test]
fn wrong_pairs_are_named() {
    let links = dragonfly_links();
    let defaults = [links.terminal, links.local, links.global];
    let supplied = supplies(&defaults, AttachedNodes::Otherwise(1));
    for (list, words) in [
        (
            "0 1\n1 2 3\n",
            "line 2: there is no link class `3`; the classes are: terminal",
        ),
        (
            "0 1\n1,2\n",
            "line 2: cannot read `1,2`; expected two routers and the class",
        ),
        ("0 1\n7\n", "line 2: cannot read `7`; expected two routers"),
        ("0 1\n1 2 local fast\n", "line 2: cannot read"),
        ("0 1\na b\n", "or two router numbers"),
        ("0 1\n1 1\n", "line 2"),
        ("0 1\n1 4\n", "router 4 is declared, but router 2 is not"),
        ("0 1\n2 3\n", "router"),
        ("0 99999999\n", "router number"),
    ] {
        let message = import_with(list, &supplied).unwrap_err().to_string();
        assert!(message.contains(words), "{list:?}: {message}");
    }
}

#[test]
fn what_could_be_named_is_never_an_empty_list() {
    let bare = "routers 0 1 group 0\nnodes 1 0\nnodes 1 1\nlink 0 1\n";
    let message = import(bare, &[]).unwrap_err().to_string();
    assert!(
        message.contains(
            "line 2: this terminal link names no class, and there is none of that kind; declare one"
        ),
        "{message}"
    );
    // Of several, only those that would do are listed.
    let two = EXAMPLE.replace("3 global\nu", "3\nu") + "class blue global 1000 1 1\n";
    let message = import(&two, &[]).unwrap_err().to_string();
    assert!(message.ends_with("name one of: global, blue"), "{message}");
}

#[test]
fn given_classes_supply_and_override_parameters() {
    let slow = LinkClass {
        latency: Picoseconds(1),
        ..class("global", LinkKind::Global)
    };
    let unused = class("green", LinkKind::Local);
    let topology = import(EXAMPLE, &[unused, slow.clone()]).unwrap();
    assert_eq!(topology.link_classes.len(), 3);
    assert_eq!(topology.link_classes[2], slow);
    // Without class lines all classes come from the caller.
    let bare: String = EXAMPLE
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("class"))
        .collect();
    let links = dragonfly_links();
    let given = [links.terminal, links.local, links.global];
    assert_eq!(import(&bare, &given).unwrap().link_classes, given);
    let message = import(&bare, &given[..2]).unwrap_err().to_string();
    assert!(
        message.contains("no link class `global`; the classes are: terminal, local"),
        "{message}"
    );
}

#[test]
fn every_mistake_names_its_line() {
    for (find, replace, message) in [
        (
            "link 2 3",
            "lnik 2 3",
            "line 13: cannot read `lnik 2 3 local`; expected a line",
        ),
        ("link 2 3", "link 2:x 3", "line 13: cannot read"),
        (
            "link 2 3 local",
            "link 2 3 local too",
            "line 13: cannot read",
        ),
        ("link 2 3", "link 2 9", "line 13: router 9 is not declared"),
        (
            "link 2 3",
            "link 2 2",
            "line 13: router 2 is linked to itself",
        ),
        (
            "link 2 3",
            "link 2:4096 3",
            "line 13: port number 4096 is too large",
        ),
        (
            "link 2 3",
            "link 2:4 3",
            "line 13: port 4 of router 2 is used, but its port 1 is not",
        ),
        (
            "link 2 3 local",
            "link 2 3 global",
            "line 13: this is a local link",
        ),
        (
            "link 2 3 local",
            "link 2 3 red",
            "line 13: there is no link class `red`",
        ),
        (
            "link 0:1 1:1",
            "link 0:0 1:1",
            "line 12: port 0 of router 0 is declared already in line 8",
        ),
        ("local 1000000000", "local 0", "line 3: cannot read"),
        (
            "class local local 1000000000 10000 4096",
            "class local local",
            "line 3: link class `local` has no bandwidth",
        ),
        (
            "class local local",
            "class terminal local",
            "line 3: link class `terminal` is declared already in line 2",
        ),
        (
            "class local local",
            "class local blue",
            "line 3: cannot read",
        ),
        ("routers 2 3", "routers 3 2", "line 7: cannot read"),
        (
            "routers 2 3",
            "routers 3 4",
            "line 7: router 4 is declared, but router 2 is not",
        ),
        (
            "routers 2 3",
            "routers 1 3",
            "line 7: router 1 is declared already in line 6",
        ),
        (
            "routers 2 3",
            "routers 2 4000000000",
            "line 7: router number 4000000000 is too large",
        ),
        (
            "router 1 group 0",
            "router 1 group 0 at 0 0",
            "line 5: router 0 has no row and column",
        ),
        (
            "router 1 group 0",
            "router 1 group 0 at 0",
            "line 6: cannot read",
        ),
        (
            "node 1 1:0",
            "node 7 1:0",
            "line 9: node 7 is declared, but node 1 is not",
        ),
        (
            "node 1 1:0",
            "node 0 1:0",
            "line 9: the link of node 0 is declared already in line 8",
        ),
        ("nodes 1 2", "nodes 0 2", "line 10: cannot read"),
        ("links 2 1 3", "links 5000 1 3", "line 14: cannot read"),
        ("links 2 1 3", "links 1:0 1 3", "line 14: cannot read"),
        ("unconnected 0:2", "unconnected 0", "line 15: cannot read"),
        (
            "links 2 1 3 global\n",
            "",
            "line 7: router 2, declared here, cannot be reached from router 0: only 2 of 4",
        ),
        (
            "class local",
            "title again\nclass local",
            "line 3: the title is declared already in line 1",
        ),
    ] {
        let found = refused(find, replace);
        assert!(found.starts_with(message), "{replace}: {found}");
    }
    assert!(import("", &[]).is_err());
    let mut global = class("global", LinkKind::Local);
    let error = import(EXAMPLE, std::slice::from_ref(&global)).unwrap_err();
    assert!(matches!(error, WiringFileError::ClassKind { line: 4, .. }));
    // An error without line is still one: the given class is unsound.
    global.kind = LinkKind::Global;
    global.latency = Picoseconds(0);
    let error = import(EXAMPLE, &[global]).unwrap_err();
    assert!(matches!(error, WiringFileError::Topology(_)));
}

#[test]
fn a_dragonfly_survives_the_round_trip() {
    let topology = DragonflySpec {
        p: 2,
        a: 6,
        h: 2,
        g: 9,
        arrangement: Arrangement::Circulant,
        group: GroupWiring::Grid {
            rows: 2,
            columns: 3,
            row_links: 1,
            column_links: 3,
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

    #[test]
    fn no_line_makes_the_importer_panic(lines in "([a-z]{1,12}|[0-9: ]{0,9}|router |link |nodes |\n){0,30}") {
        let _ = import(&lines, &[]);
    }
}
