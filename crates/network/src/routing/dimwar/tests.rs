use odonata_units::NodeId;

use super::*;
use crate::routing::testing::{LoadedRouter, MockRouter, lattice, random_walks};
use crate::verify::{Verdict, verify};

/// 4 × 3 routers, one node each; router 5 is at (1, 1).
fn grid() -> Topology {
    lattice(&[4, 3], false, true)
}

fn dimwar(topology: &Topology) -> DimWar {
    DimWar::new(topology, Choice::Random, 0, None).unwrap()
}

#[test]
fn two_channels_are_free_of_deadlock_and_one_is_not() {
    let topology = grid();
    let verdict = verify(&topology, &dimwar(&topology)).unwrap();
    let Verdict::DeadlockFree { longest_route, .. } = verdict else {
        panic!("{verdict}");
    };
    // Aside and to the right place, in both dimensions.
    assert_eq!(longest_route, 4);
    let merged = DimWar::new(&topology, Choice::Random, 0, Some(1)).unwrap();
    let verdict = verify(&topology, &merged).unwrap();
    assert!(matches!(verdict, Verdict::Cycle(_)), "{verdict}");
}

#[test]
fn an_empty_network_is_crossed_in_dimension_order() {
    let topology = grid();
    let routing = dimwar(&topology);
    let mut view = MockRouter::new(4);
    view.busiest = 0;
    for (from, to, hops) in [(0, 3, 1), (0, 8, 1), (0, 11, 2), (5, 5, 0)] {
        let (from, to) = (NodeId(from), NodeId(to));
        let steps = crate::routing::testing::walk(&topology, &routing, &mut view, from, to);
        assert_eq!(steps.len(), hops);
        assert!(steps.iter().all(|step| step.hop.vc == ALIGNING));
    }
    // Under load, once aside in every dimension at most, on the other channel.
    for steps in random_walks(&topology, &routing, 9, 3_000) {
        let channels: Vec<u8> = steps.iter().map(|step| step.hop.vc).collect();
        let sound = channels
            .windows(2)
            .all(|pair| pair != [ROW_DETOUR, ROW_DETOUR]);
        assert!(
            sound && channels.last() != Some(&ROW_DETOUR),
            "{channels:?}"
        );
    }
}

/// Whether a packet from router 0 for `to` goes aside where the direct port holds `ahead`
/// bytes and the others `others`.
fn goes_aside(routing: &DimWar, to: u32, ahead: u64, others: u64) -> bool {
    let direct = routing.base.listed(RouterId(0), to)[0].port;
    let own = |port| if port == direct { ahead } else { others };
    let mut view = LoadedRouter {
        own: &own,
        remote: &|_| 0,
        random: MockRouter::new(1),
    };
    let mut route = PacketRoute::injected(RouterId(to), 0);
    let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
    assert_eq!(hop.port != direct, hop.vc == ROW_DETOUR);
    assert_eq!(hop.port != direct, route.phase == 1);
    hop.port != direct
}

#[test]
fn queues_count_as_often_as_hops_are_left() {
    let topology = grid();
    let routing = dimwar(&topology);
    // One dimension to go: 1 hop ahead against 2 aside. Two: 2 against 3.
    for (to, ahead, others, expected) in [
        (3, 1_000, 500, false),
        (3, 1_001, 500, true),
        (11, 1_500, 1_000, false),
        (11, 1_501, 1_000, true),
    ] {
        assert_eq!(
            goes_aside(&routing, to, ahead, others),
            expected,
            "{to} {ahead}"
        );
    }
    let biased = DimWar::new(&topology, Choice::Random, 1_000, None).unwrap();
    assert!(!goes_aside(&biased, 3, 1_000, 0));
    assert!(goes_aside(&biased, 3, 1_001, 0));
}

#[test]
fn rows_that_are_not_all_to_all_are_refused() {
    let torus = lattice(&[3, 4], true, false);
    let error = DimWar::new(&torus, Choice::Random, 0, None).unwrap_err();
    // Three in a ring are all joined.
    assert!(
        error
            .to_string()
            .contains("the 4 routers along dimension 2"),
        "{error}"
    );
}
