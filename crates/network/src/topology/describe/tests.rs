use crate::topology::testing::{class, dragonfly_links, shared_data};
use crate::topology::{
    Arrangement, CrayXcLinks, CrayXcSpec, CrossbarSpec, Description, DragonflySpec, GroupWiring,
    LinkKind,
};

fn dragonfly(p: u32, a: u32, h: u32, g: u32, arrangement: Arrangement) -> Description {
    DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement,
        group: GroupWiring::AllToAll,
        links: dragonfly_links(),
    }
    .build()
    .unwrap()
    .describe()
}

fn links(description: &Description) -> Vec<u64> {
    description.classes.iter().map(|c| c.links).collect()
}

#[test]
fn counts_of_the_machine_of_kaplan_2017_figure_2() {
    for arrangement in [
        Arrangement::Absolute,
        Arrangement::Relative,
        Arrangement::Circulant,
    ] {
        let found = dragonfly(2, 4, 2, 9, arrangement);
        assert_eq!((found.nodes, found.routers, found.groups), (72, 36, 9));
        // 2 per router; 6 per group of 4; one per pair of 9 groups.
        assert_eq!(links(&found), [72, 54, 36]);
        assert_eq!((found.radix_min, found.radix_max), (7, 7));
        // Local, global, local at most, and nothing shorter for some pair.
        assert_eq!(found.diameter, 3);
        assert_eq!(found.distance_sources, 36);
        assert_eq!(
            (found.group_pair_links_min, found.group_pair_links_max),
            (Some(1), Some(1))
        );
        assert_eq!(found.injection_bandwidth_bytes_per_s, 72_000_000_000);
        // Four groups of nine and half of the fifth against the rest, whole
        // groups being cut from each other by 4·4 + … links: at least the global
        // links between 4 and 4 groups, at most all links.
        assert!(found.bisection_bandwidth_bytes_per_s >= 16_000_000_000);
    }
}

#[test]
fn distances_of_a_dragonfly_with_one_global_port_are_closed_form() {
    // p = 3, a = 4, h = 1, g = 5. From a router: 3 + 1 neighbours; at distance 2
    // the 3 other routers of the group linked directly and the 3 routers at which
    // the links of the group's other routers arrive; the other 9 at distance 3.
    let found = dragonfly(3, 4, 1, 5, Arrangement::Absolute);
    let sum = 4.0 + 2.0 * 6.0 + 3.0 * 9.0;
    assert_eq!(found.average_distance_routers, sum / 19.0);
    // From a node: 2 nodes at 0, 3 at each other router.
    assert_eq!(found.average_distance_nodes, 3.0 * sum / 59.0);
    assert_eq!(found.diameter, 3);
}

#[test]
fn unconnected_ports_and_unequal_pairs_are_counted() {
    // a·h = 3·3 = 9 = 2·(g − 1) + 1 with g = 5: pairs have 2 or 3 links, and
    // since 1·5 is odd one port stays unconnected: (45 − 1)/2 links.
    let found = dragonfly(1, 3, 3, 5, Arrangement::Relative);
    assert_eq!(links(&found), [15, 15, 22]);
    assert_eq!(found.classes[2].unconnected_ports, 1);
    assert_eq!(
        (found.group_pair_links_min, found.group_pair_links_max),
        (Some(2), Some(3))
    );
    // One group has no pairs.
    let found = dragonfly(1, 3, 1, 1, Arrangement::Absolute);
    assert_eq!(
        (found.group_pair_links_min, found.group_pair_links_max),
        (None, None)
    );
    assert_eq!(found.diameter, 1);
}

#[test]
fn a_crossbar_has_full_bisection() {
    let terminal = class("terminal", LinkKind::Terminal);
    let found = CrossbarSpec {
        nodes: 16,
        terminal,
    }
    .build()
    .unwrap()
    .describe();
    assert_eq!(found.bisection_ratio, 1.0);
    assert_eq!(found.bisection_bandwidth_bytes_per_s, 8_000_000_000);
    assert_eq!((found.diameter, found.average_distance_routers), (0, 0.0));
    assert_eq!(found.average_distance_nodes, 0.0);
    assert_eq!(links(&found), [16]);
}

#[test]
fn theta_has_the_links_of_its_list() {
    let Some(path) = shared_data("theta-topology/theta.interconnect") else {
        return;
    };
    let spec = CrayXcSpec {
        nodes_per_router: 4,
        links: CrayXcLinks {
            terminal: class("terminal", LinkKind::Terminal),
            green: class("green", LinkKind::Local),
            black: class("black", LinkKind::Local),
            blue: class("blue", LinkKind::Global),
        },
    };
    let list = std::fs::read_to_string(path).unwrap();
    let found = spec.import(&list).unwrap().describe();
    // 864 routers with 15 green, 15 black and 4 blue ends; 48·36 blue links.
    assert_eq!(links(&found), [3456, 6480, 6480, 1728]);
    assert_eq!(
        (found.group_pair_links_min, found.group_pair_links_max),
        (Some(48), Some(48))
    );
    assert_eq!((found.radix_min, found.radix_max), (38, 38));
    // From breadth-first searches over the same list by another program: the sum
    // of the distances of all ordered pairs is 2,384,640.
    assert_eq!(found.diameter, 4);
    assert_eq!(
        found.average_distance_routers,
        2_384_640.0 / (864.0 * 863.0)
    );
    // Four whole groups and the half of a fifth whose blue links lead to them:
    // 16·48 blue links, and 8·8 green ones in each of 6 rows.
    assert_eq!(
        found.bisection_bandwidth_bytes_per_s,
        (768 + 384) * 1_000_000_000
    );
}
