use odonata_units::{NodeId, PortId, RouterId};
use proptest::prelude::*;

use super::*;
use crate::topology::Peer;
use crate::topology::testing::class;

fn build(shape: FatTreeShape) -> Result<Topology, FatTreeError> {
    let levels = shape.levels();
    let above =
        (1..levels).map(|level| class(&format!("level{level}"), FatTreeSpec::role(level, levels)));
    FatTreeSpec {
        above: above.collect(),
        terminal: class("terminal", LinkKind::Terminal),
        shape,
    }
    .build()
}

fn shape(down: &[u32], up: &[u32], parallel: &[u32]) -> FatTreeShape {
    FatTreeShape {
        down: down.to_vec(),
        up: up.to_vec(),
        parallel: parallel.to_vec(),
        nodes: down.iter().product(),
    }
}

/// Routers to which each port of `router` leads; nodes are left out.
fn linked(topology: &Topology, router: u32) -> Vec<u32> {
    let peers = topology.peer[topology.ports_of(RouterId(router))].iter();
    peers
        .filter_map(|peer| match peer {
            Peer::Port(port) => Some(topology.router_of_port(*port).0),
            _ => None,
        })
        .collect()
}

fn ends_of_class(topology: &Topology, class: usize) -> usize {
    let of_class = |id: &&LinkClassId| id.index() == class;
    topology.class_of_port.iter().filter(of_class).count()
}

#[test]
fn a_two_level_tree_joins_every_leaf_to_every_spine() {
    let topology = build(shape(&[2, 3], &[2], &[2])).unwrap();
    assert_eq!(
        (topology.nodes(), topology.routers(), topology.groups),
        (6, 5, 4)
    );
    // Leaves 0 to 2, spines 3 and 4; first one link to each, then the second.
    assert_eq!(linked(&topology, 1), [3, 4, 3, 4]);
    assert_eq!(linked(&topology, 4), [0, 1, 2, 0, 1, 2]);
    let groups: Vec<u32> = topology.group_of_router.iter().map(|g| g.0).collect();
    assert_eq!(groups, [0, 1, 2, 3, 3]);
}

#[test]
fn a_three_level_tree_is_numbered_pod_by_pod() {
    // 2 nodes a leaf, 2 leaves a subtree, 3 pods; a leaf has 2 parents, those have 3.
    let topology = build(shape(&[2, 2, 3], &[2, 3], &[1, 1])).unwrap();
    assert_eq!(
        (topology.nodes(), topology.routers()),
        (12, 3 * (2 + 2) + 6)
    );
    // Second leaf of pod 1: the switches of level 2 of that pod.
    assert_eq!(linked(&topology, 5), [6, 7]);
    // The first of them: its leaves, then tops 0, 2 and 4 of 12 … 17; the second: the others.
    assert_eq!(linked(&topology, 6), [4, 5, 12, 14, 16]);
    assert_eq!(linked(&topology, 7), [4, 5, 13, 15, 17]);
    assert_eq!(linked(&topology, 15), [3, 7, 11]);
    assert_eq!(topology.router_of_node(NodeId(11)), RouterId(9));
    let class = |port: usize| topology.link_class(PortId::from_index(port)).name.clone();
    let ports = topology.ports_of(RouterId(6));
    let names: Vec<String> = ports.map(class).collect();
    assert_eq!(names, ["level1", "level1", "level2", "level2", "level2"]);
}

#[test]
fn a_k_ary_n_tree_has_its_published_size() {
    // Petrini and Vanneschi 1997: k^n nodes, n·k^(n−1) switches, n·k^n links, of which
    // k^n are those of nodes.
    for (k, n) in [(2u32, 4u32), (3, 3), (4, 2)] {
        let list = vec![k; n as usize];
        let topology = build(shape(&list, &list[1..], &vec![1; n as usize - 1])).unwrap();
        assert_eq!(topology.nodes() as u32, k.pow(n));
        assert_eq!(topology.routers() as u32, n * k.pow(n - 1));
        // Both ends of a link are ports, but one of a node's link.
        assert_eq!((topology.ports() as u32 + k.pow(n)) / 2, n * k.pow(n));
    }
}

#[test]
fn switches_of_one_size_are_laid_out() {
    // The classic three-level tree of k-port switches has k³/4 nodes, 5·k²/4 switches.
    let full = FatTreeShape::of_switches(8, None, None).unwrap();
    let topology = build(full.clone()).unwrap();
    assert_eq!((topology.nodes(), topology.routers()), (128, 80));
    // 1,024 nodes on 64-port switches: 32 leaves, 16 spines with two links to each.
    let two = FatTreeShape::of_switches(64, Some(1024), None).unwrap();
    assert_eq!(
        (&two.down[..], &two.up[..], &two.parallel[..]),
        (&[32, 32][..], &[16][..], &[2][..])
    );
    // All ports of all switches are in use.
    let topology = build(two).unwrap();
    assert_eq!((topology.routers(), topology.ports()), (48, 48 * 64));
    // 300 nodes on 36-port switches: 17 leaves, the last with 12 nodes.
    let part = FatTreeShape::of_switches(36, Some(300), None).unwrap();
    let topology = build(part).unwrap();
    assert_eq!(topology.nodes(), 300);
    assert_eq!(topology.ports_of(RouterId(16)).len(), 12 + 18);
    // Tapered by 2 and 16 above level 2 of radix 16 (Michelogiannakis et al. 2019, figure 10).
    let full = FatTreeShape::of_switches(16, None, None).unwrap();
    let switches = |factor| {
        build(full.clone().tapered(&[1, factor]).unwrap())
            .unwrap()
            .routers()
    };
    assert_eq!((switches(1), switches(2), switches(8)), (320, 288, 264));
}

#[test]
fn parallel_links_go_before_parents() {
    let tapered = shape(&[4, 4], &[4], &[2]).tapered(&[4]).unwrap();
    assert_eq!((tapered.up, tapered.parallel), (vec![2], vec![1]));
    let tapered = shape(&[4, 4], &[3], &[4]).tapered(&[6]).unwrap();
    assert_eq!((tapered.up, tapered.parallel), (vec![1], vec![2]));
}

#[test]
fn empty_switches_are_left_out() {
    let mut part = shape(&[2, 2, 2, 2], &[2, 2, 2], &[1, 1, 1]);
    part.nodes = 5;
    // Three leaves in two subtrees of one pod: 3 leaves, 2·2 above them, 4, and 8 tops.
    let topology = build(part).unwrap();
    assert_eq!((topology.nodes(), topology.routers()), (5, 3 + 4 + 4 + 8));
    assert_eq!(linked(&topology, topology.routers() as u32 - 1).len(), 1);
}

#[test]
fn numbers_that_do_not_fit_are_told() {
    let message = |shape: FatTreeShape| build(shape).unwrap_err().to_string();
    let with_nodes = |nodes| FatTreeShape {
        nodes,
        ..shape(&[2, 2], &[2], &[1])
    };
    for (message, words) in [
        (message(shape(&[1; 5], &[1; 4], &[1; 4])), "5 levels"),
        (message(shape(&[2, 2], &[], &[])), "1 are needed"),
        (message(shape(&[2, 0], &[2], &[1])), "number 2 is 0"),
        (message(shape(&[2, 2], &[2], &[0])), "number 1 is 0"),
        (message(with_nodes(5)), "room for 4"),
        (message(with_nodes(0)), "no nodes"),
        (
            message(shape(&[2, 5000], &[1], &[1])),
            "5000 ports on a router",
        ),
        (
            FatTreeShape::of_switches(5, None, None)
                .unwrap_err()
                .to_string(),
            "even number",
        ),
        (
            FatTreeShape::of_switches(4, Some(100), Some(3))
                .unwrap_err()
                .to_string(),
            "at most 16",
        ),
        (
            shape(&[4, 4], &[4], &[1])
                .tapered(&[3])
                .unwrap_err()
                .to_string(),
            "possible: 1, 2, 4",
        ),
    ] {
        assert!(message.contains(words), "{message}");
    }
    let huge = [4000; 4];
    assert!(
        message(FatTreeShape {
            nodes: 9,
            ..shape_of(&huge)
        })
        .contains("ports")
    );
}

fn shape_of(down: &[u32]) -> FatTreeShape {
    FatTreeShape {
        down: down.to_vec(),
        up: vec![4000; down.len() - 1],
        parallel: vec![1; down.len() - 1],
        nodes: 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_switch_has_the_children_and_parents_that_the_numbers_say(
        down in prop::collection::vec(1u32..4, 1..5),
        up in prop::collection::vec(1u32..4, 3),
        parallel in prop::collection::vec(1u32..3, 3),
        left_out in 0.0..0.9f64,
    ) {
        let levels = down.len();
        let mut shape = shape(&down, &up[..levels - 1], &parallel[..levels - 1]);
        shape.nodes -= (f64::from(shape.nodes - 1) * left_out) as u32;
        let topology = build(shape.clone()).unwrap();
        prop_assert_eq!(topology.nodes() as u32, shape.nodes);
        // Up links per switch are exact; every link is counted from below.
        let below_top = topology.routers() as u32 - shape.equals(levels - 1);
        let per_level: Vec<u32> = (0..levels)
            .map(|level| shape.subtrees(level) * shape.equals(level))
            .collect();
        prop_assert_eq!(per_level.iter().sum::<u32>(), topology.routers() as u32);
        prop_assert_eq!(per_level[..levels - 1].iter().sum::<u32>(), below_top);
        for level in 1..levels {
            let expected = per_level[level - 1] * shape.up[level - 1] * shape.parallel[level - 1];
            prop_assert_eq!(ends_of_class(&topology, level), 2 * expected as usize);
        }
    }
}
