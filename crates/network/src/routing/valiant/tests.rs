use std::collections::BTreeMap;

use odonata_units::{NodeId, RouterId};

use super::*;
use crate::routing::testing::{
    MockRouter, dragonfly, globals, grid_dragonfly, random_walks, sampled_first_hops, walk,
};
use crate::topology::Topology;

fn valiant(topology: &Topology, via: Via) -> Valiant {
    let routes = GroupedRoutes::new(topology).unwrap();
    Valiant::new(routes, via, MinimalLinks::All, Choice::Random, None).unwrap()
}

fn group(topology: &Topology, router: RouterId) -> u32 {
    topology.group_of_router[router.index()].0
}

#[test]
fn routes_are_as_long_as_their_legs_allow() {
    // Via a group: local, global, local, global, local. Via a router: one more
    // local hop in the intermediate group.
    let topology = dragonfly(2, 4, 2, 9);
    for (via, channels, most) in [(Via::Group, 3, 5), (Via::Router, 4, 6), (Via::Node, 4, 6)] {
        let routing = valiant(&topology, via);
        assert_eq!(routing.virtual_channels(), channels);
        let walks = random_walks(&topology, &routing, 1, 5000);
        assert_eq!(walks.iter().map(Vec::len).max(), Some(most), "{via:?}");
        assert_eq!(walks.iter().map(|w| globals(w)).max(), Some(2));
    }
}

#[test]
fn grid_groups_need_no_more_channels() {
    let topology = grid_dragonfly(1, (2, 3), 2, 5);
    let routing = valiant(&topology, Via::Router);
    assert_eq!(routing.virtual_channels(), 4);
    // Four traversals of two hops and two global links.
    let walks = random_walks(&topology, &routing, 1, 5000);
    assert_eq!(walks.iter().map(Vec::len).max(), Some(10));
}

#[test]
fn intermediate_groups_are_uniform_and_neither_source_nor_destination() {
    let topology = dragonfly(2, 4, 2, 9);
    for via in [Via::Group, Via::Router] {
        let routing = valiant(&topology, via);
        let mut view = MockRouter::new(3);
        let mut seen = BTreeMap::new();
        let count = 14_000;
        for _ in 0..count {
            // Node 0 in group 0 to node 20 in group 2.
            let steps = walk(&topology, &routing, &mut view, NodeId(0), NodeId(20));
            assert_eq!(globals(&steps), 2);
            let first = steps.iter().find(|s| s.kind == crate::LinkKind::Global);
            *seen.entry(group(&topology, first.unwrap().to)).or_insert(0) += 1;
        }
        // 2,000 each of 7 groups; five standard deviations are 207.
        assert_eq!(seen.len(), 7);
        assert!(
            seen.iter()
                .all(|(&g, &n)| { g != 0 && g != 2 && i32::abs(n - count / 7) < 207 })
        );
    }
}

#[test]
fn a_route_via_a_router_passes_through_it() {
    let topology = dragonfly(2, 4, 2, 9);
    let routing = valiant(&topology, Via::Router);
    let mut view = MockRouter::new(4);
    for _ in 0..500 {
        let mut route = PacketRoute::injected(RouterId(8), 0);
        let mut at = RouterId(0);
        let mut injected = true;
        let mut passed = vec![at.0];
        let mut intermediate = None;
        while at != RouterId(8) || route.phase != FINAL {
            let hop = routing.next_hop(&mut view, at, injected, &mut route);
            injected = false;
            let drawn = *intermediate.get_or_insert(route.intermediate);
            assert!(drawn >= 4, "in the source group");
            let port = topology.first_port[at.index()] + u32::from(hop.port);
            let crate::Peer::Port(peer) = topology.peer[port as usize] else {
                break;
            };
            at = topology.router_of_port(peer);
            passed.push(at.0);
        }
        assert!(passed.contains(&intermediate.unwrap()), "{passed:?}");
    }
}

#[test]
fn traffic_inside_a_group_goes_through_its_other_routers() {
    let topology = dragonfly(1, 5, 1, 6);
    let routing = valiant(&topology, Via::Group);
    let mut view = MockRouter::new(5);
    let mut through = BTreeMap::new();
    for _ in 0..4000 {
        let steps = walk(&topology, &routing, &mut view, NodeId(0), NodeId(1));
        assert_eq!(globals(&steps), 0);
        assert!(steps.len() <= 2);
        *through.entry(steps[0].to.0).or_insert(0) += 1;
    }
    // One in four routes goes to the destination at once.
    assert_eq!(through.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(through.values().all(|n| (850..1150).contains(n)));
    // Via a random node of the machine, it stays minimal.
    let routing = valiant(&topology, Via::Node);
    for _ in 0..100 {
        let steps = walk(&topology, &routing, &mut view, NodeId(0), NodeId(1));
        assert_eq!(steps.len(), 1);
    }
}

#[test]
fn two_groups_leave_no_detour() {
    let topology = dragonfly(1, 3, 2, 2);
    for via in [Via::Group, Via::Router] {
        for steps in random_walks(&topology, &valiant(&topology, via), 6, 500) {
            assert!(globals(&steps) <= 1);
        }
    }
}

#[test]
fn possible_hops_are_what_happens() {
    for topology in [dragonfly(2, 3, 1, 4), grid_dragonfly(1, (2, 2), 2, 3)] {
        for via in [Via::Group, Via::Router, Via::Node] {
            let routing = valiant(&topology, via);
            for destination in 1..topology.routers() as u32 {
                let route = PacketRoute::injected(RouterId(destination), 0);
                let mut possible = Vec::new();
                routing.possible_hops(RouterId(0), true, &route, &mut possible);
                possible.sort();
                possible.dedup();
                let seen = sampled_first_hops(&routing, RouterId(0), route, 2000);
                assert_eq!(seen, possible, "{via:?} to {destination}");
            }
        }
    }
}

#[test]
fn nodes_are_drawn_evenly_where_routers_have_different_numbers_of_them() {
    // Router 4 loses its nodes: half as likely as the others would be wrong,
    // it must never be drawn. Router 5 keeps one: 2, 2, 2, 2, 0, 1.
    let mut topology = dragonfly(2, 2, 1, 3);
    for node in [8, 9, 11] {
        let port = topology.port_of_node[node];
        topology.peer[port.index()] = crate::Peer::Unconnected;
    }
    let routing = valiant(&topology, Via::Node);
    let mut drawn = [0; 6];
    let routes = &routing.legs.routes;
    let mut view = MockRouter::new(1);
    let places = (routes.place(0), routes.place(5));
    for _ in 0..9000 {
        if let Some(router) = Via::Node.draw(routes, &mut view, places.0, places.1) {
            drawn[router as usize] += 1;
        }
    }
    // 9 nodes, 1,000 draws each; routers 0 and 1 are the source group.
    assert_eq!(drawn[..2], [0, 0]);
    assert_eq!(drawn[4], 0);
    for (router, expected) in [(2, 2000), (3, 2000), (5, 1000)] {
        assert!(i32::abs(drawn[router] - expected) < 200, "{drawn:?}");
    }
}
