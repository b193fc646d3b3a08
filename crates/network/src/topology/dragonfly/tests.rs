use super::*;
use crate::topology::LinkKind;
use crate::topology::testing::{class, dragonfly_links};
use odonata_units::RouterId;
use proptest::prelude::*;

fn spec(p: u32, a: u32, h: u32, g: u32) -> DragonflySpec {
    DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::AllToAll,
        links: dragonfly_links(),
    }
}

/// Cray XC groups: `rows` of `columns`.
fn grid(rows: u32, columns: u32, row_links: u32, column_links: u32) -> GroupWiring {
    GroupWiring::Grid {
        rows,
        columns,
        row_links,
        column_links,
    }
}

/// Router and port within it at the other end of `port` of `router`.
fn end_of(topology: &Topology, router: u32, port: usize) -> (u32, u32) {
    let index = topology.ports_of(RouterId(router)).start + port;
    let Peer::Port(end) = topology.peer[index] else {
        panic!(
            "port {port} of router {router} leads to {:?}",
            topology.peer[index]
        )
    };
    let other = topology.router_of_port(end);
    (other.0, end.0 - topology.first_port[other.index()])
}

#[test]
fn counts_follow_from_p_a_h_g() {
    // Nodes p·a·g, routers a·g, radix p + (a − 1) + h, and every global port
    // used when g = a·h + 1 (Kim et al. 2008, section 3.1).
    let topology = spec(4, 8, 4, 33).build().unwrap();
    assert_eq!(topology.nodes(), 1056);
    assert_eq!(topology.routers(), 264);
    assert_eq!(topology.groups, 33);
    assert_eq!(topology.ports(), 264 * 15);
    let global = |class: &LinkClassId| class.index() == 2;
    let ends = topology.class_of_port.iter().filter(|c| global(c)).count();
    assert_eq!(ends, 264 * 4);
    assert!(!topology.peer.contains(&Peer::Unconnected));
    assert_eq!(topology.title, "dragonfly p=4 a=8 h=4 g=33 (absolute)");
}

#[test]
fn ports_are_terminal_then_local_then_global() {
    let topology = spec(2, 4, 2, 9).build().unwrap();
    // Router 1 of group 0: nodes 2 and 3; routers 0, 2, 3; ports 2 and 3 of the
    // group, which lead to groups 3 and 4 (absolute, i ≥ 0 → i + 1).
    let first = topology.ports_of(RouterId(1)).start;
    assert_eq!(topology.peer[first], Peer::Node(NodeId(2)));
    assert_eq!(topology.peer[first + 1], Peer::Node(NodeId(3)));
    assert_eq!(end_of(&topology, 1, 2), (0, 2));
    assert_eq!(end_of(&topology, 1, 3), (2, 3));
    assert_eq!(end_of(&topology, 1, 4), (3, 3));
    // Port 0 of groups 3 and 4 leads to group 0, on their router 0.
    assert_eq!(end_of(&topology, 1, 5), (3 * 4, 5));
    assert_eq!(end_of(&topology, 1, 6), (4 * 4, 5));
}

#[test]
fn every_pair_of_groups_is_linked_once_in_every_arrangement() {
    for arrangement in ["absolute", "relative", "circulant"] {
        let topology = DragonflySpec {
            arrangement: arrangement.parse().unwrap(),
            ..spec(2, 4, 2, 9)
        }
        .build()
        .unwrap();
        let mut links = [[0; 9]; 9];
        for router in 0..36 {
            for port in 5..7 {
                links[router as usize / 4][end_of(&topology, router, port).0 as usize / 4] += 1;
            }
        }
        for (a, row) in links.iter().enumerate() {
            for (b, &links) in row.iter().enumerate() {
                assert_eq!(links, i32::from(a != b), "{arrangement}: groups {a}, {b}");
            }
        }
    }
}

#[test]
fn the_cray_group_has_a_green_link_in_the_row_and_three_black_in_the_column() {
    let topology = DragonflySpec {
        group: grid(6, 16, 1, 3),
        links: DragonflyLinks {
            terminal: class("terminal", LinkKind::Terminal),
            local: class("green", LinkKind::Local),
            column: Some(class("black", LinkKind::Local)),
            global: class("blue", LinkKind::Global),
        },
        ..spec(4, 96, 4, 9)
    }
    .build()
    .unwrap();
    // 4 nodes, 15 green, 5·3 black, 4 blue.
    assert_eq!(topology.ports_of(RouterId(0)).len(), 4 + 15 + 15 + 4);
    // Router 2·16 + 5 = 37 of group 1, i.e. router 133.
    let router = 96 + 37;
    assert_eq!(topology.position_in_group[router as usize], (2, 5));
    let mut seen = std::collections::BTreeMap::new();
    for port in 4..34 {
        let (other, _) = end_of(&topology, router, port);
        let index = topology.ports_of(RouterId(router)).start + port;
        let class = &topology.link_class(PortId(index as u32)).name;
        *seen.entry((class.as_str(), other - 96)).or_insert(0) += 1;
    }
    let row = (0..16).filter(|&c| c != 5).map(|c| (("green", 32 + c), 1));
    let column = (0..6)
        .filter(|&r| r != 2)
        .map(|r| (("black", r * 16 + 5), 3));
    assert_eq!(seen, row.chain(column).collect());
    // 96·4 = 384 = 8·48 global ports: 48 links to each other group, as in Theta.
    let to_group_0 = (96..192)
        .flat_map(|router| (34..38).map(move |port| (router, port)))
        .filter(|&(router, port)| end_of(&topology, router, port).0 < 96);
    assert_eq!(to_group_0.count(), 48);
}

#[test]
fn one_group_leaves_its_global_ports_unconnected() {
    let topology = spec(1, 3, 2, 1).build().unwrap();
    let unconnected = topology.peer.iter().filter(|&&p| p == Peer::Unconnected);
    assert_eq!(unconnected.count(), 6);
    let topology = spec(3, 1, 0, 1).build().unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (1, 3));
}

#[test]
fn parameters_that_do_not_close_are_refused_with_what_is_allowed() {
    let message = spec(2, 4, 2, 10).build().unwrap_err().to_string();
    assert!(message.contains("p=2 a=4 h=2 g=10"), "{message}");
    assert!(message.contains("use g from 1 to 9"), "{message}");
    assert!(message.contains("a·h at least 9"), "{message}");
    assert_eq!(
        spec(0, 4, 2, 9).build(),
        Err(DragonflyError::Zero { name: "p" })
    );
    assert!(matches!(
        spec(4000, 96, 2, 9).build(),
        Err(DragonflyError::TooManyPorts { ports: 4097 })
    ));
    assert!(matches!(
        spec(1000, 2000, 1000, 2_000_001).build(),
        Err(DragonflyError::TooLarge { .. })
    ));
    assert!(matches!(
        spec(u32::MAX, u32::MAX, u32::MAX, u32::MAX).build(),
        Err(DragonflyError::TooManyPorts { .. })
    ));
    let group = grid(3, 5, 1, 1);
    let message = DragonflySpec {
        group,
        ..spec(1, 16, 1, 2)
    }
    .build()
    .unwrap_err();
    assert!(
        message
            .to_string()
            .contains("3 rows of 5 columns, which hold 15")
    );
    let group = grid(4, 4, 1, 0);
    assert_eq!(
        DragonflySpec {
            group,
            ..spec(1, 16, 1, 2)
        }
        .build(),
        Err(DragonflyError::Zero {
            name: "column_links"
        })
    );
    let mut links = dragonfly_links();
    links.column = Some(class("black", LinkKind::Local));
    assert!(matches!(
        DragonflySpec {
            links,
            ..spec(1, 4, 1, 2)
        }
        .build(),
        Err(DragonflyError::ColumnWithoutGrid { .. })
    ));
    let mut links = dragonfly_links();
    links.global.kind = LinkKind::Local;
    assert!(matches!(
        DragonflySpec {
            links,
            ..spec(1, 4, 1, 2)
        }
        .build(),
        Err(DragonflyError::Topology(TopologyError::WrongKind { .. }))
    ));
}

#[test]
fn a_quarter_million_nodes_are_built() {
    let topology = spec(16, 32, 16, 513).build().unwrap();
    assert_eq!(topology.nodes(), 262_656);
    assert_eq!(topology.ports(), 16_416 * 63);
}

proptest! {
    // `build` ends in `Topology::new`, which checks symmetry, kinds, nodes and
    // connectedness; so building is the test.
    #[test]
    fn any_dragonfly_that_closes_is_sound(
        p in 1u32..4,
        rows in 1u32..4,
        columns in 1u32..5,
        h in 0u32..6,
        fewer in 0u32..40,
        row_links in 1u32..4,
        column_links in 1u32..4,
        as_grid: bool,
        which in 0usize..3,
    ) {
        let a = rows * columns;
        let g = (a * h + 1).saturating_sub(fewer).max(1);
        let group = if as_grid {
            grid(rows, columns, row_links, column_links)
        } else {
            GroupWiring::AllToAll
        };
        let arrangement = ["absolute", "relative", "circulant"][which].parse().unwrap();
        let topology = DragonflySpec { arrangement, group, ..spec(p, a, h, g) }.build().unwrap();
        prop_assert_eq!(topology.nodes(), (p * a * g) as usize);
        prop_assert_eq!(topology.groups, g);
        let local = topology.class_of_port.iter().filter(|c| c.index() == 1).count() as u32;
        let degree = if as_grid {
            (columns - 1) * row_links + (rows - 1) * column_links
        } else {
            a - 1
        };
        prop_assert_eq!(local, a * g * degree);
    }
}

#[test]
fn a_custom_list_of_the_relative_formula_gives_the_relative_dragonfly() {
    // Port i of group j leads to group j + i + 1 (mod 9), whose port 7 − i leads
    // back; listed once, from the end whose offset i + 1 is at most 4.
    let mut list = String::from("# group router port, twice\n");
    for j in 0..9 {
        for i in 0..4 {
            let (to, back) = ((j + i + 1) % 9, 7 - i);
            list.push_str(&format!(
                "{j} {} {} {to} {} {}\n",
                i / 2,
                i % 2,
                back / 2,
                back % 2
            ));
        }
    }
    let links = crate::topology::arrangement::parse_global_links(&list).unwrap();
    let build = |arrangement| {
        let spec = DragonflySpec {
            arrangement,
            ..spec(2, 4, 2, 9)
        };
        spec.build().map(|topology| topology.peer)
    };
    let relative = build(Arrangement::Relative);
    assert_eq!(build(Arrangement::Custom(links.clone())), relative);
    // Without its last line, groups 8 and 3 are not linked.
    let cut = links[..links.len() - 1].to_vec();
    let error = build(Arrangement::Custom(cut)).unwrap_err().to_string();
    assert!(
        error.contains("no line links group 3 with group 8"),
        "{error}"
    );
}
