use std::collections::BTreeSet;

use super::*;
use crate::routing::testing::{
    MockRouter, Step, dragonfly, fat_tree, grid_dragonfly, lattice, random_walks,
};
use crate::routing::{AnyRouting, Paths, RoutingTask};
use crate::topology::{FatTreeShape, Peer, Topology};
use crate::verify::{Verdict, verify};

fn routing(topology: &Topology, paths: Paths, options: EcmpOptions) -> Ecmp {
    let spec = RoutingSpec {
        paths,
        ..RoutingSpec::new(Algorithm::Ecmp(options))
    };
    match AnyRouting::new(topology, &spec).unwrap() {
        AnyRouting::Ecmp(routing) => routing,
        other => panic!("{other:?}"),
    }
}

/// The ports between routers that a packet with a label takes, by a router whose draws go by `seed`.
fn path(
    topology: &Topology,
    routing: &Ecmp,
    (from, to): (u32, u32),
    label: u32,
    seed: u64,
) -> Vec<u32> {
    let end = topology.port_of_node[to as usize];
    let router = topology.router_of_port(end);
    let first = topology.first_port[router.index()];
    let mut route = PacketRoute::injected(router, (end.0 - first) as u16).labelled(label);
    let mut view = MockRouter::new(seed);
    view.source = NodeId(from);
    let mut at = topology.router_of_node(NodeId(from));
    let mut ports = Vec::new();
    loop {
        let hop = routing.next_hop(&mut view, at, ports.is_empty(), &mut route);
        let port = topology.first_port[at.index()] + u32::from(hop.port);
        route.vc = hop.vc;
        match topology.peer[port as usize] {
            Peer::Node(node) => {
                assert_eq!(node.0, to);
                return ports;
            }
            Peer::Port(peer) => at = topology.router_of_port(peer),
            Peer::Unconnected => panic!("a hop to nowhere"),
        }
        ports.push(port);
    }
}

/// Leaves of `down` nodes and `up` links up.
fn tree(down: &[u32], up: &[u32]) -> Topology {
    fat_tree(&FatTreeShape {
        down: down.to_vec(),
        up: up.to_vec(),
        parallel: vec![1; up.len()],
        nodes: down.iter().product(),
    })
}

#[test]
fn packets_of_a_flow_take_one_path_and_those_of_another_label_another() {
    let networks = [
        (tree(&[4, 4, 4], &[4, 4]), Paths::UpDown),
        (dragonfly(2, 4, 4, 5), Paths::Groups),
        (grid_dragonfly(1, (2, 3), 2, 4), Paths::Groups),
        (lattice(&[4, 4], true, true), Paths::DimensionOrder),
        (lattice(&[4, 4], true, false), Paths::ShortestPath),
    ];
    for (topology, paths) in networks {
        let routing = routing(&topology, paths, EcmpOptions::default());
        let last = topology.nodes() as u32 - 1;
        let of = |pair, label, seed| path(&topology, &routing, pair, label, seed);
        let mut others = BTreeSet::new();
        for from in [0, last / 3, last / 2] {
            let alone = of((from, last), NONE, 1);
            for seed in 2..20 {
                assert_eq!(of((from, last), NONE, seed), alone);
                // No label is the first.
                assert_eq!(of((from, last), 0, seed), alone);
            }
            others.extend((0..40).map(|label| of((from, last), label, 1)));
        }
        assert!(others.len() > 3, "{paths:?}: {others:?}");
    }
}

/// The expected largest number of `balls` in one of `bins`, into which they are thrown at random.
fn expected_largest(balls: usize, bins: usize) -> f64 {
    // The probability that no bin has more than `t`: m!/kᵐ times the coefficient of xᵐ in the k-th
    // power of the sum of xⁿ/n! up to n = t.
    let none_above = |t: usize| {
        let factorial = |n: usize| (1..=n).map(|n| n as f64).product::<f64>();
        let mut power = vec![0.0; balls + 1];
        power[0] = 1.0;
        for _ in 0..bins {
            let coefficient = |all: usize| {
                (0..=t.min(all))
                    .map(|last| power[all - last] / factorial(last))
                    .sum()
            };
            power = (0..=balls).map(coefficient).collect();
        }
        power[balls] * factorial(balls) / (bins as f64).powi(balls as i32)
    };
    (0..balls).map(|t| 1.0 - none_above(t)).sum()
}

#[test]
fn the_largest_load_of_equal_links_is_that_of_balls_in_bins() {
    // Two balls in two bins share one in half of the cases: 1.5. Three in three: 1 with 6/27, 3 with 3/27.
    assert!((expected_largest(2, 2) - 1.5).abs() < 1e-12);
    assert!((expected_largest(3, 3) - (6.0 + 3.0 * 3.0 + 2.0 * 18.0) / 27.0).abs() < 1e-12);
    // Every node of the first leaf sends to its counterpart on the second, over 16 spines.
    let topology = tree(&[16, 2], &[16]);
    let (mut sum, mut squares, trials) = (0.0, 0.0, 600);
    for hash_seed in 0..trials {
        let options = EcmpOptions {
            hash_seed,
            ..EcmpOptions::default()
        };
        let routing = routing(&topology, Paths::UpDown, options);
        let mut load = vec![0u32; topology.ports()];
        for from in 0..16 {
            let ports = path(&topology, &routing, (from, 16 + from), NONE, 1);
            load[ports[0] as usize] += 1;
        }
        let largest = f64::from(load.into_iter().max().unwrap());
        sum += largest;
        squares += largest * largest;
    }
    let mean = sum / trials as f64;
    let error = ((squares / trials as f64 - mean * mean) / trials as f64).sqrt();
    let expected = expected_largest(16, 16);
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} ± {error}, expected {expected}"
    );
}

#[test]
fn routers_that_hash_alike_polarise() {
    // Four pods of four leaves of four nodes: every leaf has four links up, and so has every router above.
    let topology = tree(&[4, 4, 4], &[4, 4]);
    let used = |same_hash: bool| {
        let options = EcmpOptions {
            same_hash,
            ..EcmpOptions::default()
        };
        let routing = routing(&topology, Paths::UpDown, options);
        let mut used = [BTreeSet::new(), BTreeSet::new()];
        for from in 0..16 {
            for to in 16..64 {
                let ports = path(&topology, &routing, (from, to), NONE, 1);
                used[0].insert(ports[0]);
                used[1].insert(ports[1]);
            }
        }
        used.map(|ports| ports.len())
    };
    // 768 flows of the first pod: four leaves and four routers above them, of four links up each.
    assert_eq!(used(false), [16, 16]);
    // What came up by link i goes on by link i: of four links of every router one is used.
    assert_eq!(used(true), [16, 4]);
}

#[test]
fn flows_of_a_pair_are_as_many_as_it_has() {
    let options = EcmpOptions {
        flows: 4,
        ..EcmpOptions::default()
    };
    let topology = tree(&[4, 2], &[16]);
    let labels = routing(&topology, Paths::UpDown, options)
        .flow_labels()
        .unwrap();
    let mut of_flow = [0; 4];
    for message in 0..4000 {
        of_flow[labels.flow_of(message) as usize] += 1;
    }
    // Five standard deviations of a binomial distribution.
    assert!(
        of_flow.iter().all(|count| (863..1137).contains(count)),
        "{of_flow:?}"
    );
    let mut all: Vec<u32> = (0..4)
        .flat_map(|flow| (0..9).map(move |n| labels.label(flow, n)))
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..36).collect::<Vec<u32>>());
    // Labels begin again and never are what means none, in the bits that there are.
    assert!(labels.label(3, u32::MAX) < (1 << LABEL_BITS) - 1);
    let one = routing(&topology, Paths::UpDown, EcmpOptions::default());
    assert_eq!(one.flow_labels(), None);
}

#[test]
fn its_walks_are_minimal_ones_and_cannot_deadlock() {
    let topology = dragonfly(2, 4, 2, 9);
    let spec = RoutingSpec::new(Algorithm::Minimal);
    let minimal = AnyRouting::new(&topology, &spec).unwrap();
    let ecmp = routing(&topology, Paths::Groups, EcmpOptions::default());
    struct Proof<'a>(&'a Topology);
    impl RoutingTask for Proof<'_> {
        type Output = (Verdict, Vec<Vec<Step>>);
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            (
                verify(self.0, routing).unwrap(),
                random_walks(self.0, routing, 3, 500),
            )
        }
    }
    let (verdict, walks) = minimal.dispatch(Proof(&topology));
    let (own, own_walks) = AnyRouting::Ecmp(ecmp).dispatch(Proof(&topology));
    assert_eq!(own, verdict);
    let longest = |walks: &[Vec<Step>]| walks.iter().map(Vec::len).max();
    assert_eq!(longest(&own_walks), longest(&walks));
}
