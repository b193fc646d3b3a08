use std::collections::BTreeSet;

use odonata_units::{NodeId, RouterId};

use super::*;
use crate::routing::testing::{
    MockRouter, arranged, dragonfly, globals, grid_dragonfly, random_walks, ring_dragonfly, walk,
};
use crate::topology::{Arrangement, LinkKind, Topology};

fn minimal(topology: &Topology, links: MinimalLinks, choice: Choice) -> Minimal {
    let routes = GroupedRoutes::new(topology).unwrap();
    Minimal::new(routes, links, choice, None).unwrap()
}

#[test]
fn a_canonical_dragonfly_is_crossed_in_at_most_local_global_local() {
    for arrangement in [
        Arrangement::Absolute,
        Arrangement::Relative,
        Arrangement::Circulant,
    ] {
        let topology = arranged(2, 4, 2, 9, arrangement);
        let routing = minimal(&topology, MinimalLinks::All, Choice::Random);
        assert_eq!(routing.virtual_channels(), 2);
        let mut view = MockRouter::new(1);
        let mut longest = 0;
        for source in 0..topology.nodes() as u32 {
            for destination in 0..topology.nodes() as u32 {
                let (source, destination) = (NodeId(source), NodeId(destination));
                let steps = walk(&topology, &routing, &mut view, source, destination);
                let away = topology.group_of_node(source) != topology.group_of_node(destination);
                assert_eq!(globals(&steps), usize::from(away));
                longest = longest.max(steps.len());
                // Channel 0 up to the global link, 1 in the destination's group.
                for step in &steps {
                    let here = topology.group_of_router[step.from.index()];
                    let home = here == topology.group_of_node(destination);
                    assert_eq!(step.hop.vc, u8::from(home), "{steps:?}");
                }
            }
        }
        assert_eq!(longest, 3);
    }
}

/// The global links that packets between two groups take, over many walks.
fn used_links(routing: &Minimal, topology: &Topology, nodes: (u32, u32)) -> BTreeSet<(u32, u16)> {
    let mut view = MockRouter::new(5);
    (0..2000)
        .flat_map(|_| {
            walk(
                topology,
                routing,
                &mut view,
                NodeId(nodes.0),
                NodeId(nodes.1),
            )
        })
        .filter(|s| s.kind == LinkKind::Global)
        .map(|s| (s.from.0, s.hop.port))
        .collect()
}

#[test]
fn all_links_of_a_pair_are_used_or_only_the_shortest() {
    // 8 global ports per group to 2 other groups: 4 links per pair.
    let topology = dragonfly(1, 4, 2, 3);
    for choice in [Choice::Random, Choice::ByLoad] {
        let all = minimal(&topology, MinimalLinks::All, choice);
        assert_eq!(used_links(&all, &topology, (0, 4)).len(), 4);
        let shortest = minimal(&topology, MinimalLinks::Shortest, choice);
        for source in 0..4 {
            for destination in 4..8 {
                let hops = |routing: &Minimal, seed| {
                    let mut view = MockRouter::new(seed);
                    let ends = (NodeId(source), NodeId(destination));
                    walk(&topology, routing, &mut view, ends.0, ends.1).len()
                };
                let fewest = (0..200).map(|seed| hops(&all, seed)).min();
                assert!((0..50).all(|seed| Some(hops(&shortest, seed)) == fewest));
            }
        }
    }
}

#[test]
fn a_choice_by_load_takes_the_idle_port() {
    struct OneIdle(u16);
    impl RouterView for OneIdle {
        fn occupancy_bytes(&mut self, port: u16) -> u64 {
            u64::from(port != self.0)
        }
        fn remote_occupancy_bytes(&self, _: odonata_units::PortId) -> u64 {
            0
        }
        fn random_below(&mut self, _: u32) -> u32 {
            0
        }
    }
    let topology = dragonfly(1, 4, 2, 3);
    let routing = minimal(&topology, MinimalLinks::All, Choice::ByLoad);
    let mut possible = Vec::new();
    let injected = PacketRoute::injected(RouterId(5), 0);
    routing.possible_hops(RouterId(0), true, &injected, &mut possible);
    assert_eq!(possible.len(), 4);
    for (hop, _) in possible {
        let mut route = injected;
        let chosen = routing.next_hop(&mut OneIdle(hop.port), RouterId(0), true, &mut route);
        assert_eq!(chosen.port, hop.port);
    }
}

#[test]
fn grid_groups_are_crossed_along_the_row_then_the_column() {
    let topology = grid_dragonfly(1, (3, 4), 1, 13);
    let routing = minimal(&topology, MinimalLinks::All, Choice::Random);
    assert_eq!(routing.virtual_channels(), 2);
    let walks = random_walks(&topology, &routing, 3, 4000);
    // Two local hops, a global one, two local hops.
    assert_eq!(walks.iter().map(Vec::len).max(), Some(5));
    for steps in walks {
        for pair in steps.windows(2) {
            let local = pair.iter().all(|s| s.kind == LinkKind::Local);
            if local && pair[0].hop.vc == pair[1].hop.vc {
                let row = |r: RouterId| r.0 % 12 / 4;
                assert_eq!(row(pair[0].from), row(pair[0].to));
                assert_ne!(row(pair[1].from), row(pair[1].to));
            }
        }
    }
}

#[test]
fn both_parallel_links_of_a_column_are_used() {
    let topology = grid_dragonfly(1, (2, 2), 1, 5);
    for choice in [Choice::Random, Choice::ByLoad] {
        let routing = minimal(&topology, MinimalLinks::All, choice);
        let mut view = MockRouter::new(9);
        // Router 0 to router 2: the same column.
        let ports: BTreeSet<u16> = (0..100)
            .flat_map(|_| walk(&topology, &routing, &mut view, NodeId(0), NodeId(2)))
            .map(|step| step.hop.port)
            .collect();
        assert_eq!(ports.len(), 2);
    }
}

#[test]
fn groups_with_cycles_get_a_channel_per_hop() {
    // Rings of 5: two hops across, and two classes of local channels.
    let topology = ring_dragonfly(1, 5, 1, 6);
    let routing = minimal(&topology, MinimalLinks::All, Choice::Random);
    assert_eq!(routing.virtual_channels(), 4);
    for steps in random_walks(&topology, &routing, 8, 2000) {
        assert!(steps.len() <= 5);
        for pair in steps.windows(2) {
            if pair.iter().all(|s| s.kind == LinkKind::Local) {
                assert!(pair[0].hop.vc < pair[1].hop.vc);
            }
        }
    }
}

#[test]
fn virtual_channels_can_be_merged() {
    let topology = dragonfly(1, 4, 1, 5);
    let with = |count| {
        let routes = GroupedRoutes::new(&topology).unwrap();
        Minimal::new(routes, MinimalLinks::All, Choice::Random, Some(count))
    };
    let single = with(1).unwrap();
    assert_eq!(single.virtual_channels(), 1);
    random_walks(&topology, &single, 2, 500);
    // More than are needed change nothing.
    assert_eq!(with(8).unwrap().virtual_channels(), 2);
    assert!(matches!(
        with(0),
        Err(RoutingError::BadOption {
            option: "virtual_channels",
            ..
        })
    ));
}
