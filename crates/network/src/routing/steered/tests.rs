use odonata_units::{NodeId, RouterId};

use super::*;
use crate::routing::testing::{LoadedRouter, MockRouter, fat_tree, random_walks, walk};
use crate::topology::{FatTreeShape, OpticalLayer};
use crate::verify::{Verdict, verify};

/// Four pods of two leaves with two nodes and two uplinks each: leaf `l` of pod `p` is router
/// `4·p + l`, above it `4·p + 2` and `4·p + 3`.
fn shape() -> FatTreeShape {
    FatTreeShape {
        down: vec![2, 2, 4],
        up: vec![2, 2],
        parallel: vec![1, 1],
        nodes: 16,
    }
}

/// The first uplink of leaf 0 of pod 0 and of pod 1 exchanged.
fn steered() -> Topology {
    let tree = fat_tree(&shape());
    let layer = OpticalLayer::new(&shape(), &tree, 4, 1).unwrap();
    let mut settings = vec![vec![0, 1, 2, 3]; 4];
    settings[0] = vec![1, 0, 2, 3];
    layer.set(tree, &settings).unwrap()
}

#[test]
fn a_steered_path_is_two_hops_and_nothing_deadlocks() {
    let topology = steered();
    for routing in [Choice::Random, Choice::ByDestination] {
        let always = Tabled::up_down(&topology, routing, None).unwrap();
        let if_idle = Steered::new(&topology, routing, 0, None).unwrap();
        let mut view = MockRouter::new(1);
        // Leaf 0 to pod 1: past the core; the other leaf not. Within the pod by the other uplink.
        for (from, to, hops) in [
            (0, 4, 2),
            (0, 6, 2),
            (2, 4, 4),
            (0, 2, 2),
            (4, 0, 2),
            (0, 8, 4),
        ] {
            for _ in 0..20 {
                let steps = walk(&topology, &always, &mut view, NodeId(from), NodeId(to));
                assert_eq!(steps.len(), hops, "{from} to {to}");
                let steps = walk(&topology, &if_idle, &mut view, NodeId(from), NodeId(to));
                assert!(steps.len() == hops || steps.len() == 4);
            }
        }
        for verdict in [verify(&topology, &always), verify(&topology, &if_idle)] {
            let verdict = verdict.unwrap();
            let Verdict::DeadlockFree { longest_route, .. } = verdict else {
                panic!("{verdict}");
            };
            assert_eq!(longest_route, 4);
        }
        for steps in random_walks(&topology, &if_idle, 5, 500) {
            assert!(steps.len() <= 4);
        }
    }
}

#[test]
fn an_idle_circuit_is_always_taken_and_a_busy_one_as_often_as_others() {
    let topology = steered();
    let routing = Steered::new(&topology, Choice::Random, 100, None).unwrap();
    let port_of = |node: u32| {
        let router = topology.router_of_node(NodeId(node));
        (topology.port_of_node[node as usize].index() - topology.ports_of(router).start) as u16
    };
    let taken = |queued: u64| {
        let own = move |port: u16| if port == 2 { queued } else { 5_000 };
        let mut view = LoadedRouter {
            own: &own,
            remote: &|_| 0,
            random: MockRouter::new(9),
        };
        let mut taken = [0; 4];
        for _ in 0..2_000 {
            let mut route = PacketRoute::injected(topology.router_of_node(NodeId(4)), port_of(4));
            let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
            taken[usize::from(hop.port)] += 1;
        }
        taken
    };
    assert_eq!(taken(100), [0, 0, 2_000, 0]);
    let [_, _, circuit, other] = taken(101);
    // Five standard deviations of a binomial distribution.
    assert!(
        circuit + other == 2_000 && (circuit - 1_000i32).abs() < 112,
        "{circuit} {other}"
    );
}

#[test]
fn without_circuits_links_up_are_drawn_alike_whatever_their_queues() {
    let topology = fat_tree(&shape());
    let routing = Steered::new(&topology, Choice::Random, 0, None).unwrap();
    let own = |port: u16| if port == 2 { 0 } else { 5_000 };
    let mut view = LoadedRouter {
        own: &own,
        remote: &|_| 0,
        random: MockRouter::new(2),
    };
    let mut first = 0i32;
    for _ in 0..2_000 {
        let mut route = PacketRoute::injected(topology.router_of_node(NodeId(12)), 0);
        let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
        first += i32::from(hop.port == 2);
    }
    assert!((first - 1_000).abs() < 112, "{first}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let topology = steered();
    let error = Steered::new(&topology, Choice::ByLoad, 0, None).unwrap_err();
    assert!(
        error.to_string().contains("goes by queues already"),
        "{error}"
    );
    let error = Steered::new(&topology, Choice::Random, -1, None).unwrap_err();
    assert!(error.to_string().contains("at least 0"), "{error}");
    let spec = |algorithm| crate::routing::RoutingSpec::new(algorithm);
    for algorithm in [
        crate::routing::Algorithm::ShortestPath,
        crate::routing::Algorithm::DimensionOrder,
        crate::routing::Algorithm::Minimal,
    ] {
        let error = crate::routing::AnyRouting::new(&topology, &spec(algorithm)).unwrap_err();
        assert!(matches!(error, RoutingError::OneWay { .. }), "{error}");
    }
}
