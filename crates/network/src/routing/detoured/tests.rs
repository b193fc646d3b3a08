use odonata_units::NodeId;

use super::*;
use crate::routing::testing::{
    LoadedRouter, MockRouter, dragonfly, fat_tree, lattice, random_walks, walk,
};
use crate::routing::{Algorithm, AnyRouting, FparRules, Paths, RoutingSpec};
use crate::topology::FatTreeShape;
use crate::verify::{Verdict, verify};

fn options() -> AdaptiveOptions {
    AdaptiveOptions {
        via: Via::Router,
        ..AdaptiveOptions::default()
    }
}

fn over(topology: &Topology, paths: Paths, algorithm: Algorithm) -> AnyRouting {
    let spec = RoutingSpec {
        paths,
        ..RoutingSpec::new(algorithm)
    };
    AnyRouting::new(topology, &spec).unwrap()
}

const VALIANT: Algorithm = Algorithm::Valiant { via: Via::Router };

/// Routers 0 … size − 1, all joined to each other, one node each.
fn complete(size: u32) -> Topology {
    lattice(&[size], false, true)
}

#[test]
fn detours_take_as_many_channels_again_as_their_paths() {
    let tree = fat_tree(&FatTreeShape {
        down: vec![2, 2, 2],
        up: vec![2, 2],
        parallel: vec![1, 1],
        nodes: 8,
    });
    // A ring of 8 routers: 4 hops across, as many channels for shortest paths.
    let cases = [
        (lattice(&[4, 4], false, true), Paths::DimensionOrder, 2),
        (lattice(&[4, 4], true, false), Paths::DimensionOrder, 4),
        (lattice(&[4, 4], false, false), Paths::DimensionOrder, 2),
        (tree, Paths::UpDown, 2),
        (lattice(&[8], true, false), Paths::ShortestPath, 8),
        (lattice(&[8], true, false), Paths::UpDown, 2),
    ];
    for (topology, paths, channels) in cases {
        for algorithm in [VALIANT, Algorithm::UgalGlobal(options())] {
            let routing = over(&topology, paths, algorithm);
            assert_eq!(routing.virtual_channels(), channels, "{paths:?}");
        }
    }
}

#[test]
fn merged_channels_can_deadlock_and_verify_finds_out() {
    let topology = lattice(&[5], true, false);
    let base = Tabled::shortest_path(&topology, Choice::Random, None).unwrap();
    let routing = Detoured::valiant(&topology, base, Via::Router, Some(1)).unwrap();
    assert_eq!(routing.virtual_channels(), 1);
    let verdict = verify(&topology, &routing).unwrap();
    assert!(matches!(verdict, Verdict::Cycle { .. }), "{verdict}");
}

#[test]
fn valiant_goes_by_every_other_router_equally_often() {
    let topology = complete(6);
    let routing = over(&topology, Paths::DimensionOrder, VALIANT);
    let AnyRouting::Detoured(routing) = routing else {
        panic!("{routing:?}");
    };
    let mut view = MockRouter::new(5);
    let mut visits = [0; 6];
    for _ in 0..4_000 {
        let steps = walk(&topology, &routing, &mut view, NodeId(1), NodeId(4));
        // One hop to the intermediate and one from there, on a channel of its own.
        assert_eq!(steps.iter().map(|s| s.hop.vc).collect::<Vec<_>>(), [0, 1]);
        visits[steps[0].to.index()] += 1;
    }
    assert_eq!([visits[1], visits[4]], [0, 0]);
    // Binomial: 1,000 ± 27.
    for router in [0, 2, 3, 5] {
        assert!((900..1_100).contains(&visits[router]), "{visits:?}");
    }
}

#[test]
fn two_routers_leave_no_room_for_a_detour() {
    let topology = complete(2);
    for algorithm in [VALIANT, Algorithm::UgalLocal(options())] {
        let AnyRouting::Detoured(routing) = over(&topology, Paths::ShortestPath, algorithm) else {
            panic!("tables");
        };
        for steps in random_walks(&topology, &routing, 3, 50) {
            assert!(steps.len() <= 1);
        }
    }
}

/// First hop of a packet from router 0 to router 3 of six that are all joined, as UGAL decides
/// it where the port to router 3 holds `direct` bytes and all others `others`.
fn detours<const GLOBAL: bool>(options: AdaptiveOptions, direct: u64, others: u64) -> bool {
    let topology = complete(6);
    let base = Tabled::dimension_order(&topology, Choice::Random, None).unwrap();
    let owner = topology.router_of_every_port();
    let to_end = |port: PortId| match topology.peer[port.index()] {
        Peer::Port(peer) => owner[peer.index()] == RouterId(3),
        _ => false,
    };
    let towards_end = base.listed(RouterId(0), 3)[0].port;
    let routing = Detoured::<GLOBAL>::ugal(&topology, base, options, None).unwrap();
    let own = |port| if port == towards_end { direct } else { others };
    // Queues elsewhere: on all links to router 3 as long as on the one from here.
    let remote = |port| if to_end(PortId(port)) { direct } else { 0 };
    let mut view = LoadedRouter {
        own: &own,
        remote: &remote,
        random: MockRouter::new(1),
    };
    let mut route = PacketRoute::injected(RouterId(3), 0);
    let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
    assert_eq!(hop.port != towards_end, route.intermediate != NONE);
    route.intermediate != NONE
}

#[test]
fn ugal_weighs_a_detour_of_two_hops_twice() {
    // A minimal route of one hop: q · 1 against q · 2.
    for (direct, others, expected) in [
        (0, 0, false),
        (1_000, 500, false),
        (1_001, 500, true),
        (1_000, 0, true),
    ] {
        assert_eq!(
            detours::<false>(options(), direct, others),
            expected,
            "{direct} against {others}"
        );
    }
    let ahead = AdaptiveOptions {
        threshold_bytes: 1_000,
        ..options()
    };
    assert!(!detours::<false>(ahead, 1_000, 0));
    assert!(detours::<false>(ahead, 1_001, 0));
    let fixed = AdaptiveOptions {
        weighting: Weighting::Fixed {
            minimal: 1,
            non_minimal: 3,
        },
        ..options()
    };
    assert!(!detours::<false>(fixed, 1_500, 500));
    assert!(detours::<false>(fixed, 1_501, 500));
}

#[test]
fn ugal_with_global_information_sees_the_queue_behind_the_detour() {
    // The local algorithm sees an empty port; every detour ends in a queue as long.
    assert!(detours::<false>(options(), 1_000, 0));
    assert!(!detours::<true>(options(), 1_000, 0));
}

#[test]
fn distances_are_those_of_the_paths() {
    // Dimension order has the hops of shortest paths; up-down may have more.
    for topology in [
        lattice(&[5, 3], true, false),
        lattice(&[4, 3], false, false),
        lattice(&[3, 4], false, true),
    ] {
        let ordered = Tabled::dimension_order(&topology, Choice::Random, None).unwrap();
        let shortest = Tabled::shortest_path(&topology, Choice::Random, None).unwrap();
        let up_down = Tabled::up_down(&topology, Choice::Random, None).unwrap();
        let of = |base: &Tabled| Distances::new(&topology, base);
        let tables = [of(&ordered), of(&shortest), of(&up_down)];
        let routers = topology.routers() as u32;
        for (from, to) in (0..routers).flat_map(|from| (0..routers).map(move |to| (from, to))) {
            let least = tables[1].of(&shortest, from, to);
            assert_eq!(tables[0].of(&ordered, from, to), least);
            let walked = {
                let mut view = MockRouter::new(1);
                let (from, to) = (NodeId(from), NodeId(to));
                walk(&topology, &up_down, &mut view, from, to).len() as u32
            };
            assert_eq!(tables[2].of(&up_down, from, to), walked);
            assert!(walked >= least);
        }
        assert_eq!(tables[0].largest(), tables[1].largest());
    }
}

#[test]
fn what_makes_no_sense_says_so() {
    let topology = complete(4);
    let refused = |paths, choice, algorithm| {
        let spec = RoutingSpec {
            paths,
            choice,
            ..RoutingSpec::new(algorithm)
        };
        AnyRouting::new(&topology, &spec).unwrap_err().to_string()
    };
    let group = refused(
        Paths::ShortestPath,
        Choice::Random,
        Algorithm::Valiant { via: Via::Group },
    );
    assert!(group.contains("`via` is \"group\""), "{group}");
    let choice = refused(Paths::UpDown, Choice::ByDestination, VALIANT);
    assert!(
        choice.contains("`choice` is \"by-destination\""),
        "{choice}"
    );
    let many = AdaptiveOptions {
        candidates: 9,
        ..options()
    };
    let many = refused(Paths::UpDown, Choice::Random, Algorithm::UgalLocal(many));
    assert!(many.contains("1 to 8 candidates"), "{many}");
    let own = refused(
        Paths::UpDown,
        Choice::Random,
        Algorithm::Fpar {
            threshold: 0.5,
            rules: FparRules::Paper,
        },
    );
    assert!(own.contains("`paths` is \"up-down\""), "{own}");
    let lattice = RoutingSpec {
        paths: Paths::DimensionOrder,
        ..RoutingSpec::new(VALIANT)
    };
    let error = AnyRouting::new(&dragonfly(1, 4, 2, 9), &lattice).unwrap_err();
    assert!(matches!(error, RoutingError::NotLattice { .. }), "{error}");
}
