use odonata_units::NodeId;

use super::*;
use crate::routing::testing::{MockRouter, dragonfly, fat_tree, random_walks, walk};
use crate::topology::FatTreeShape;
use crate::topology::Peer;
use crate::verify::{Verdict, verify};

/// 4 · 4 · 4 nodes, full bandwidth: 4-ary 3-tree.
fn tree() -> Topology {
    fat_tree(&FatTreeShape {
        down: vec![4, 4, 4],
        up: vec![4, 4],
        parallel: vec![1, 1],
        nodes: 64,
    })
}

#[test]
fn a_fat_tree_is_crossed_by_its_nearest_common_ancestors_on_one_channel() {
    let topology = tree();
    for choice in [Choice::Random, Choice::ByLoad, Choice::ByDestination] {
        let routing = Tabled::up_down(&topology, choice, None).unwrap();
        let verdict = verify(&topology, &routing).unwrap();
        let Verdict::DeadlockFree { longest_route, .. } = verdict else {
            panic!("{verdict}");
        };
        assert_eq!(longest_route, 4);
        let mut view = MockRouter::new(3);
        for (from, to, hops) in [(0, 3, 0), (0, 4, 2), (0, 15, 2), (0, 16, 4), (63, 1, 4)] {
            let steps = walk(&topology, &routing, &mut view, NodeId(from), NodeId(to));
            assert_eq!(steps.len(), hops, "{from} to {to}");
            assert!(steps.iter().all(|step| step.hop.vc == 0));
        }
    }
}

#[test]
fn by_destination_no_two_flows_of_a_shift_share_a_link() {
    // Zahavi 2010, theorem 2: with D-mod-K every shift permutation is free of contention in
    // a tree of constant bandwidth.
    let shapes = [
        (vec![4, 4, 4], vec![4, 4], vec![1, 1]),
        // Eight leaves of four nodes; two links to each of two spines.
        (vec![4, 8], vec![2], vec![2]),
        // Half of the bandwidth of level 2 by parallel links.
        (vec![3, 3, 6], vec![3, 1], vec![1, 3]),
    ];
    for (down, up, parallel) in shapes {
        let nodes: u32 = down.iter().product();
        let topology = fat_tree(&FatTreeShape {
            down,
            up,
            parallel,
            nodes,
        });
        let routing = Tabled::up_down(&topology, Choice::ByDestination, None).unwrap();
        let mut view = MockRouter::new(1);
        for shift in 1..nodes {
            let mut flows = vec![0; topology.ports()];
            for from in 0..nodes {
                let to = NodeId((from + shift) % nodes);
                for step in walk(&topology, &routing, &mut view, NodeId(from), to) {
                    let first = topology.ports_of(step.from).start;
                    flows[first + usize::from(step.hop.port)] += 1;
                }
            }
            assert_eq!(flows.into_iter().max(), Some(1), "shift by {shift}");
        }
    }
}

#[test]
fn a_tree_with_cut_links_is_still_crossed() {
    let mut topology = tree();
    // Leaf 0 keeps its last parent only, whose first link upwards is cut.
    let cut = |topology: &mut Topology, port: usize| {
        let Peer::Port(peer) = topology.peer[port] else {
            panic!("a link");
        };
        topology.peer[port] = Peer::Unconnected;
        topology.peer[peer.index()] = Peer::Unconnected;
        topology.router_of_port(peer)
    };
    let leaf = topology.first_port[0] as usize;
    for port in leaf + 4..leaf + 7 {
        cut(&mut topology, port);
    }
    let parent = 7;
    let up = topology.first_port[parent] as usize + 4;
    let top = cut(&mut topology, up);
    let routing = Tabled::up_down(&topology, Choice::Random, None).unwrap();
    let Verdict::DeadlockFree { longest_route, .. } = verify(&topology, &routing).unwrap() else {
        panic!("a cycle");
    };
    assert_eq!(longest_route, 4);
    let walks = random_walks(&topology, &routing, 1, 3000);
    // Nobody comes to leaf 0 by the top switch that has no link to its parent any more.
    for steps in walks {
        let last = steps.last().map(|step| step.from.index());
        if last == Some(parent) {
            assert!(steps.iter().all(|step| step.from != top));
        }
    }
}

#[test]
fn any_network_is_crossed_on_one_channel() {
    let topology = dragonfly(2, 4, 2, 9);
    let routing = Tabled::up_down(&topology, Choice::Random, None).unwrap();
    let verdict = verify(&topology, &routing).unwrap();
    assert!(matches!(verdict, Verdict::DeadlockFree { .. }), "{verdict}");
    // All routers have nodes: up to the hub, at most three hops away, and down.
    let walks = random_walks(&topology, &routing, 1, 2000);
    assert!(walks.iter().all(|steps| steps.len() <= 6));
}
