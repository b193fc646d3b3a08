//! Packets take the interfaces that the rule says, and no network of such nodes can deadlock.

use odonata_units::Picoseconds;

use super::*;
use crate::routing::testing::{MockRouter, dragonfly, fat_tree};
use crate::routing::{AdaptiveOptions, Algorithm, RoutingSpec};
use crate::topology::failures::{During, Ends, FailedLinks, Failures, Impairment};
use crate::topology::node_inside::{InsideNetwork, InterfaceWiring, NodeInsideSpec};
use crate::topology::testing::class;
use crate::topology::{FatTreeShape, LinkKind, Peer};
use crate::verify::{Verdict, verify};

fn spec(ranks: u32, interfaces: u32, choice: InterfaceChoice) -> NodeInsideSpec {
    let network = (ranks > 1).then(|| {
        let class = class("inside", LinkKind::Local);
        (InsideNetwork::Switch, class)
    });
    NodeInsideSpec {
        ranks,
        interfaces,
        planes: 1,
        wiring: InterfaceWiring::Together,
        choice,
        network,
        links: Vec::new(),
        ranks_per_switch: None,
    }
}

/// A tree of 8 leaves with 4 ports for nodes each.
fn tree() -> Topology {
    fat_tree(&FatTreeShape {
        down: vec![4, 8],
        up: vec![4],
        parallel: vec![1],
        nodes: 32,
    })
}

fn proof(topology: &Topology, routing: &AnyRouting) -> Verdict {
    struct Proof<'a>(&'a Topology);
    impl RoutingTask for Proof<'_> {
        type Output = Verdict;
        fn run<R: Routing>(self, routing: &R) -> Verdict {
            verify(self.0, routing).unwrap()
        }
    }
    routing.dispatch(Proof(topology))
}

fn up_down() -> RoutingSpec {
    RoutingSpec::new(Algorithm::UpDown)
}

/// The routers that a packet passes from one rank to another.
fn passed(topology: &Topology, routing: &AnyRouting, from: u32, to: u32) -> Vec<Place> {
    struct Walk<'a>(&'a Topology, u32, u32);
    impl RoutingTask for Walk<'_> {
        type Output = Vec<RouterId>;
        fn run<R: Routing>(self, routing: &R) -> Vec<RouterId> {
            let Walk(topology, from, to) = self;
            let port = topology.port_of_node[to as usize];
            let end = topology.router_of_port(port);
            let first = topology.first_port[end.index()];
            let mut route = PacketRoute::injected(end, (port.0 - first) as u16);
            let mut view = MockRouter::new(7);
            let mut at = topology.router_of_node(NodeId(from));
            let mut passed = vec![at];
            loop {
                let hop = routing.next_hop(&mut view, at, passed.len() == 1, &mut route);
                let port = topology.first_port[at.index()] + u32::from(hop.port);
                match topology.peer[port as usize] {
                    Peer::Node(node) => {
                        assert_eq!(node.0, to);
                        return passed;
                    }
                    Peer::Port(peer) => at = topology.router_of_port(peer),
                    Peer::Unconnected => panic!("a hop to nowhere"),
                }
                route.vc = hop.vc;
                passed.push(at);
            }
        }
    }
    let inside = topology.inside.as_ref().unwrap();
    let routers = routing.dispatch(Walk(topology, from, to));
    routers
        .into_iter()
        .map(|router| inside.place(router))
        .collect()
}

/// Ranks that a packet passes, and leaves: of the tree those are routers 0 to 7.
fn ranks_and_leaves(places: &[Place]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let ranks = places.iter().filter_map(|place| match place {
        Place::Rank { node, rank } => Some((*node, *rank)),
        _ => None,
    });
    let leaves = places.iter().filter_map(|place| match place {
        Place::Plane { router, .. } => Some(router.0),
        _ => None,
    });
    (ranks.collect(), leaves.collect())
}

/// Eight nodes of four ranks and four interfaces; rail-optimised units of four leaves, whose leaf i
/// has interface i of four nodes. From rank 1 of node 0 to rank 3 of node 2, of the same unit.
#[test]
fn each_rule_takes_its_rail() {
    for (choice, ranks, leaves) in [
        // On leaf 1 all the way, then inside from rank 1 to rank 3.
        (InterfaceChoice::Rail, vec![(0, 1), (2, 1), (2, 3)], vec![1]),
        // First inside to rank 3, then on its leaf.
        (InterfaceChoice::Pxn, vec![(0, 1), (0, 3), (2, 3)], vec![3]),
    ] {
        let mut spec = spec(4, 4, choice);
        spec.wiring = InterfaceWiring::RailOptimised;
        let topology = spec.build(tree()).unwrap();
        let routing = AnyRouting::new(&topology, &up_down()).unwrap();
        let passed = passed(&topology, &routing, 1, 2 * 4 + 3);
        assert_eq!(ranks_and_leaves(&passed), (ranks, leaves), "{choice:?}");
    }
    // From leaf 1 by a spine to leaf 3, straight from rank to rank.
    let mut nearest = spec(4, 4, InterfaceChoice::Nearest);
    nearest.wiring = InterfaceWiring::RailOptimised;
    let topology = nearest.build(tree()).unwrap();
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    let passed = passed(&topology, &routing, 1, 2 * 4 + 3);
    let (ranks, leaves) = ranks_and_leaves(&passed);
    assert_eq!(ranks, [(0, 1), (2, 3)]);
    assert_eq!((leaves.len(), leaves[0], leaves[2]), (3, 1, 3));
}

#[test]
fn ranks_of_one_node_stay_inside() {
    for network in [InsideNetwork::Switch, InsideNetwork::Mesh] {
        for &choice in InterfaceChoice::ALL {
            let mut spec = spec(4, 2, choice);
            spec.network = Some((network, class("inside", LinkKind::Local)));
            let topology = spec.build(tree()).unwrap();
            let routing = AnyRouting::new(&topology, &up_down()).unwrap();
            let passed = passed(&topology, &routing, 4, 7);
            let ends = [
                Place::Rank { node: 1, rank: 0 },
                Place::Rank { node: 1, rank: 3 },
            ];
            let expected = match network {
                InsideNetwork::Switch => {
                    vec![ends[0], Place::Switch { node: 1, switch: 0 }, ends[1]]
                }
                _ => ends.to_vec(),
            };
            assert_eq!(passed, expected);
        }
    }
}

/// Every packet over one of all interfaces: all of them appear among many draws, each as often.
#[test]
fn striped_packets_take_all_interfaces_alike() {
    let topology = spec(4, 4, InterfaceChoice::Striped).build(tree()).unwrap();
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    let AnyRouting::Interfaced(routing) = routing else {
        panic!("nodes with an inside");
    };
    let mut view = MockRouter::new(3);
    let mut taken = [0; 4];
    for _ in 0..4_000 {
        let to = topology.router_of_node(NodeId(20));
        let mut route = PacketRoute::injected(to, 0);
        let at = topology.router_of_node(NodeId(0));
        routing.next_hop(&mut view, at, true, &mut route);
        taken[(route.intermediate >> INTERFACE) as usize] += 1;
    }
    // 1,000 each, with a standard deviation of 27.
    assert!(
        taken.iter().all(|&one| (one - 1_000i32).abs() < 140),
        "{taken:?}"
    );
}

#[test]
fn no_network_of_such_nodes_can_deadlock() {
    let ugal = Algorithm::UgalLocal(AdaptiveOptions::default());
    for (plane, algorithms) in [
        (
            tree(),
            vec![
                Algorithm::UpDown,
                Algorithm::ShortestPath,
                Algorithm::Dfsssp,
            ],
        ),
        (
            dragonfly(2, 4, 2, 9),
            vec![
                Algorithm::Minimal,
                ugal,
                Algorithm::Par(AdaptiveOptions::default()),
            ],
        ),
    ] {
        for algorithm in algorithms {
            for (ranks, interfaces, planes) in
                [(4, 4, 1), (4, 2, 2), (1, 2, 1), (2, 4, 2), (4, 1, 1)]
            {
                for &choice in InterfaceChoice::ALL {
                    if choice == InterfaceChoice::Nearest && planes > 1 {
                        continue;
                    }
                    for &network in InsideNetwork::ALL {
                        let mut spec = spec(ranks, interfaces, choice);
                        spec.planes = planes;
                        match network {
                            // Around a ring, over two links at most.
                            InsideNetwork::Xgmi if ranks == 4 => {
                                spec.links = vec![(0, 1, 4), (1, 2, 1), (2, 3, 4), (0, 3, 2)];
                            }
                            InsideNetwork::Pcie => spec.ranks_per_switch = Some(ranks.div_ceil(2)),
                            _ => {}
                        }
                        spec.network = spec.network.map(|(_, class)| (network, class));
                        let topology = spec.build(plane.clone()).unwrap();
                        let routing =
                            AnyRouting::new(&topology, &RoutingSpec::new(algorithm)).unwrap();
                        let verdict = proof(&topology, &routing);
                        assert!(
                            matches!(verdict, Verdict::DeadlockFree { .. }),
                            "{} {choice:?} {algorithm:?}",
                            topology.title
                        );
                    }
                }
            }
        }
    }
}

/// One channel for both ways inside nodes closes a circle: to the interface, over the network, from
/// an interface, where packets wait for those that go to theirs.
#[test]
fn one_channel_inside_nodes_can_deadlock() {
    let mut spec = spec(4, 4, InterfaceChoice::Striped);
    spec.network = Some((InsideNetwork::Mesh, class("inside", LinkKind::Local)));
    let topology = spec.build(tree()).unwrap();
    let merged = RoutingSpec {
        virtual_channels: Some(1),
        ..up_down()
    };
    let free = |routing: &RoutingSpec| {
        let routing = AnyRouting::new(&topology, routing).unwrap();
        matches!(proof(&topology, &routing), Verdict::DeadlockFree { .. })
    };
    assert!(free(&up_down()));
    assert!(!free(&merged));
}

#[test]
fn algorithms_that_look_further_are_refused() {
    let topology = spec(4, 4, InterfaceChoice::Rail)
        .build(dragonfly(2, 4, 2, 9))
        .unwrap();
    let algorithm = Algorithm::UgalGlobal(AdaptiveOptions::default());
    let error = AnyRouting::new(&topology, &RoutingSpec::new(algorithm)).unwrap_err();
    assert_eq!(error, RoutingError::NotInterfaced);
}

/// The network with failures, and what is lost of it.
fn damaged(
    topology: &Topology,
    change: impl Fn(&mut Failures),
) -> (Topology, crate::topology::failures::Losses) {
    let mut failures = Failures::default();
    change(&mut failures);
    failures.of(topology.clone()).unwrap()
}

/// The link of an interface, dark.
fn dark(node: u32, interface: u32) -> FailedLinks {
    FailedLinks {
        ends: Ends::Interface(NodeId(node), interface),
        count: None,
        one_way: false,
        impairment: Impairment::dark(During::WHOLE_RUN),
    }
}

/// Walks from every rank of a node to every other, on what works: `passed` stops at a dark link.
fn walk_all(topology: &Topology, routing: &AnyRouting) {
    let works: Vec<u32> = (0..topology.nodes() as u32)
        .filter(|&rank| !topology.is_lost(NodeId(rank)))
        .collect();
    for &from in &works {
        for &to in works.iter().filter(|&&to| to != from) {
            passed(topology, routing, from, to);
        }
    }
    assert!(matches!(
        proof(topology, routing),
        Verdict::DeadlockFree { .. }
    ));
}

#[test]
fn an_interface_that_is_dark_is_replaced_or_its_node_out_of_service() {
    for &choice in InterfaceChoice::ALL {
        for wiring in [InterfaceWiring::RailOptimised, InterfaceWiring::Together] {
            let mut spec = spec(4, 4, choice);
            spec.wiring = wiring;
            let whole = spec.build(tree()).unwrap();
            let (topology, losses) = damaged(&whole, |failures| failures.links = vec![dark(2, 1)]);
            let routing = AnyRouting::new(&topology, &up_down()).unwrap();
            walk_all(&topology, &routing);
            let out = u32::from(!choice.takes_others());
            assert_eq!((losses.links, losses.nodes), (1, out));
            assert_eq!(losses.cut_off_nodes, out);
            let lost: Vec<u32> = topology.lost_nodes().map(|rank| rank.0).collect();
            let expected = if out > 0 { (8..12).collect() } else { vec![] };
            assert_eq!(lost, expected, "{choice:?}");
            if out == 0 {
                // Rank 1 of node 2 leaves by interface 2, which sits at rank 2.
                let passed = passed(&topology, &routing, 2 * 4 + 1, 1);
                let (ranks, _) = ranks_and_leaves(&passed);
                assert!(ranks[1] != (2, 1), "{ranks:?}");
            }
        }
    }
}

#[test]
fn a_leaf_of_a_rail_takes_its_interfaces_along() {
    let mut nearest = spec(4, 4, InterfaceChoice::Nearest);
    nearest.wiring = InterfaceWiring::RailOptimised;
    let whole = nearest.build(tree()).unwrap();
    // Leaf 1 has interface 1 of the four nodes of its unit.
    let (topology, losses) = damaged(&whole, |failures| failures.routers = vec![RouterId(1)]);
    assert_eq!((losses.routers, losses.nodes), (1, 0));
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    walk_all(&topology, &routing);
    let mut rail = spec(4, 4, InterfaceChoice::Rail);
    rail.wiring = InterfaceWiring::RailOptimised;
    let whole = rail.build(tree()).unwrap();
    let (_, losses) = damaged(&whole, |failures| failures.routers = vec![RouterId(1)]);
    assert_eq!((losses.routers, losses.nodes), (1, 4));
    assert_eq!(losses.cut_off_nodes, 4);
}

#[test]
fn nodes_on_different_planes_have_no_way_to_each_other() {
    let mut striped = spec(2, 2, InterfaceChoice::Striped);
    striped.planes = 2;
    let whole = striped.build(tree()).unwrap();
    // Node 3 is left with plane 1 alone, nodes 5 and 6 with plane 0.
    let (topology, losses) = damaged(&whole, |failures| {
        failures.links = vec![dark(3, 0), dark(5, 1), dark(6, 1)];
    });
    assert_eq!(
        (losses.links, losses.nodes, losses.cut_off_nodes),
        (3, 1, 1)
    );
    let lost: Vec<u32> = topology.lost_nodes().map(|rank| rank.0).collect();
    assert_eq!(lost, [6, 7]);
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    walk_all(&topology, &routing);
    // A plane that is dark altogether leaves the other.
    let (topology, losses) = damaged(&whole, |failures| {
        failures.links = (0..32).map(|node| dark(node, 0)).collect();
    });
    assert_eq!((losses.links, losses.nodes), (32, 0));
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    passed(&topology, &routing, 0, 63);
}

#[test]
fn a_node_with_a_broken_inside_is_out_of_service() {
    let whole = spec(4, 4, InterfaceChoice::Nearest).build(tree()).unwrap();
    let inside = whole.inside.clone().unwrap();
    // A node, the router of a rank, and the switch of a node; each with all that is in the node.
    let routers = [1, 2].map(|node| RouterId(inside.routers_of(NodeId(node)).start));
    let (topology, losses) = damaged(&whole, |failures| {
        failures.nodes = vec![NodeId(0)];
        failures.routers = vec![routers[0], RouterId(routers[1].0 + 4)];
    });
    assert_eq!((losses.nodes, losses.routers, losses.links), (3, 0, 0));
    assert_eq!(losses.cut_off_nodes, 0);
    assert_eq!(topology.lost_nodes().count(), 12);
    let routing = AnyRouting::new(&topology, &up_down()).unwrap();
    walk_all(&topology, &routing);
    // There are eight nodes, not as many as ranks.
    let none = Failures {
        nodes: vec![NodeId(8)],
        ..Failures::default()
    };
    let error = none.of(whole.clone()).unwrap_err();
    assert!(error.message.contains("0 to 7"), "{error}");
    let none = Failures {
        links: vec![dark(0, 4)],
        ..Failures::default()
    };
    let error = none.of(whole).unwrap_err();
    assert!(
        error.message.contains("its interfaces are 0 to 3"),
        "{error}"
    );
}

/// Where a node would lack its rail during a run, the interface is named, and what to do.
#[test]
fn an_interface_that_fails_while_packets_are_drained_is_named() {
    let whole = spec(4, 4, InterfaceChoice::Rail).build(tree()).unwrap();
    let mut late = dark(2, 1);
    late.impairment.during.from = Picoseconds(30_000_000);
    let failures = Failures {
        links: vec![late],
        ..Failures::default()
    };
    let error = failures.moments(&whole).unwrap_err();
    let named = "on interface 1 of node 2 has no way to others";
    assert!(error.message.contains(named), "{error}");
    assert!(error.message.contains("\"striped\""), "{error}");
    // Nodes are counted, not their ranks, where one loses all interfaces.
    let whole = spec(4, 4, InterfaceChoice::Nearest).build(tree()).unwrap();
    let links = (0..4).map(|interface| {
        let mut link = dark(2, interface);
        link.impairment.during.from = Picoseconds(30_000_000);
        link
    });
    let failures = Failures {
        links: links.collect(),
        ..Failures::default()
    };
    let error = failures.moments(&whole).unwrap_err();
    assert!(error.message.contains("on 1 more node would"), "{error}");
}
