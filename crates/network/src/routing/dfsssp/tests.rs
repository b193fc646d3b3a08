use proptest::prelude::*;

use super::*;
use crate::routing::Forwarded;
use crate::routing::properties::network;
use crate::routing::testing::{dragonfly, fat_tree, lattice};
use crate::topology::FatTreeShape;
use crate::verify::{Verdict, verify};

/// Virtual channels and the longest route, proven free of deadlock.
fn proven(topology: &Topology) -> (u8, u32) {
    let routing = Forwarded::new(topology, dfsssp(topology).unwrap(), None).unwrap();
    match verify(topology, &routing).unwrap() {
        Verdict::DeadlockFree { longest_route, .. } => (
            crate::routing::Routing::virtual_channels(&routing),
            longest_route,
        ),
        verdict => panic!("{verdict}"),
    }
}

#[test]
fn trees_need_one_layer_and_rings_two() {
    let shape = FatTreeShape {
        down: vec![2, 2, 3],
        up: vec![2, 2],
        parallel: vec![1, 1],
        nodes: 12,
    };
    assert_eq!(proven(&fat_tree(&shape)), (1, 4));
    // No path around a ring of three goes over two links; of four, paths of two links in one
    // direction need not close a cycle; of five they do.
    assert_eq!(proven(&lattice(&[3], true, false)), (1, 1));
    assert_eq!(proven(&lattice(&[5], true, false)), (2, 2));
    assert_eq!(proven(&lattice(&[9], true, false)), (2, 4));
    // No more than Slim Fly's and dragonfly's papers ask for: one more for each two hops.
    let (layers, longest) = proven(&dragonfly(2, 4, 2, 9));
    assert!(layers <= 3 && longest == 3, "{layers} layers");
}

#[test]
fn parallel_links_and_equal_paths_share_the_load() {
    // Two leaves with six nodes each, three roots: two paths from each leaf over each link up.
    let shape = FatTreeShape {
        down: vec![6, 2],
        up: vec![3],
        parallel: vec![1],
        nodes: 12,
    };
    let topology = fat_tree(&shape);
    let tables = dfsssp(&topology).unwrap();
    for (leaf, others) in [(0, 6..12), (1, 0..6)] {
        let mut taken = std::collections::BTreeMap::new();
        for node in others {
            *taken
                .entry(tables.port(RouterId(leaf), NodeId(node)))
                .or_insert(0) += 1;
        }
        assert_eq!(taken.into_values().collect::<Vec<_>>(), [2, 2, 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_network_gets_shortest_paths_that_cannot_deadlock(topology in network()) {
        let (_, longest) = proven(&topology);
        prop_assert!(longest <= topology.describe().diameter);
    }
}
