use super::*;
use crate::topology::LinkKind;
use crate::topology::testing::class;

fn plus(leaves: u32, spines: u32, groups: u32, p: u32) -> CodesSpec {
    CodesSpec {
        group: CodesGroup::LeavesAndSpines { leaves, spines },
        groups,
        p,
        terminal: class("terminal", LinkKind::Terminal),
        local: class("local", LinkKind::Local),
        black: None,
        global: class("global", LinkKind::Global),
    }
}

/// Both directions of every link.
fn both(links: &[CodesLink]) -> Vec<CodesLink> {
    links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
}

#[test]
fn a_small_network_is_wired_in_the_order_of_the_lists() {
    // Two groups of 2 leaves and 1 spine, two parallel links between the groups.
    let intra = both(&[(0, 2), (1, 2)]);
    let inter = both(&[(2, 5), (2, 5)]);
    let topology = plus(2, 1, 2, 3).wire(&intra, &inter).unwrap();
    assert_eq!(
        (topology.nodes(), topology.routers(), topology.groups),
        (12, 6, 2)
    );
    let shape = topology.leaf_spine().unwrap();
    assert_eq!((shape.leaves, shape.spines), (2, 1));
    // Ports: 4 and 4 of the leaves, 2 local and 2 global ones of the spine.
    assert_eq!(topology.first_port, [0, 4, 8, 12, 16, 20, 24]);
    assert_eq!(topology.peer[3], Peer::Port(PortId(8)));
    assert_eq!(topology.peer[10], Peer::Port(PortId(22)));
    assert_eq!(topology.peer[23], Peer::Port(PortId(11)));
    assert_eq!(topology.peer[12], Peer::Node(NodeId(6)));
}

#[test]
fn wrong_records_are_named() {
    let spec = plus(2, 1, 2, 1);
    let intra = both(&[(0, 2), (1, 2)]);
    let inter = both(&[(2, 5)]);
    let error = |intra: &[CodesLink], inter: &[CodesLink]| spec.wire(intra, inter).unwrap_err();
    let wrong = error(&both(&[(0, 2), (1, 3)]), &inter);
    assert_eq!(wrong.list(), Some(CodesList::Intra));
    assert_eq!(
        wrong.to_string(),
        "record 2: a link from router 1 to router 3, but there are the routers 0 to 2"
    );
    assert!(
        error(&both(&[(0, 1)]), &inter)
            .to_string()
            .contains("a leaf and a spine")
    );
    for (link, words) in [
        ((2, 2), "itself"),
        ((0, 5), "is a leaf"),
        ((2, 0), "one group"),
    ] {
        let wrong = error(&intra, &both(&[(2, 5), link]));
        assert_eq!(wrong.list(), Some(CodesList::Inter));
        let message = wrong.to_string();
        assert!(
            message.starts_with("record 2: ") && message.contains(words),
            "{message}"
        );
    }
    let wrong = error(&intra, &[(2, 5)]).to_string();
    assert!(wrong.contains("1 records lead there and 0 back"), "{wrong}");
    // A leaf without a link.
    let wrong = error(&both(&[(0, 2)]), &inter).to_string();
    assert!(wrong.contains("router 1 cannot be reached"), "{wrong}");
    assert!(plus(0, 1, 2, 1).wire(&[], &[]).is_err());
    assert!(plus(u32::MAX, u32::MAX, 2, 1).wire(&[], &[]).is_err());
}

#[test]
fn links_of_columns_are_a_class_of_their_own() {
    // Two groups of two rows of two routers, rows linked once and columns twice.
    let spec = CodesSpec {
        group: CodesGroup::Rows {
            rows: 2,
            columns: 2,
        },
        local: class("green", LinkKind::Local),
        black: Some(class("black", LinkKind::Local)),
        ..plus(1, 1, 2, 1)
    };
    let intra = both(&[(0, 1), (2, 3), (0, 2), (0, 2), (1, 3), (1, 3)]);
    let topology = spec.wire(&intra, &both(&[(0, 4)])).unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (8, 8));
    assert_eq!(topology.position_in_group[6], (1, 0));
    let mut of_class = [0; 4];
    for class in &topology.class_of_port {
        of_class[class.index()] += 1;
    }
    // Terminal, green, blue, black: both ends of each link.
    assert_eq!(of_class, [8, 2 * 2 * 2, 2, 2 * 2 * 4]);
    let across = spec.wire(&both(&[(0, 3)]), &[]).unwrap_err().to_string();
    assert!(across.contains("of a row or of a column"), "{across}");
}
