use super::*;
use crate::routing::testing::{LoadedRouter, MockRouter, dragonfly, dragonfly_plus, random_walks};
use crate::topology::LinkKind;
use crate::verify::{Verdict, verify};

const FREE: u64 = 0;
/// The queue of a port is 2 channels of 4,096 bytes (the tests' links).
const LENGTH: u64 = 8192;

/// 2 leaves, 2 spines, 2 nodes per leaf, 4 global links per spine, 3 groups: two
/// links from every spine to every other group. Ports of a leaf: 2 nodes, 2
/// spines; of a spine: 2 leaves, then the global ports, which lead to the next
/// group, the one after, the next, the one after.
fn machine() -> Topology {
    dragonfly_plus(2, 2, 2, 4, 3)
}

fn route(destination_router: u32, phase: u8) -> PacketRoute {
    PacketRoute {
        phase,
        ..PacketRoute::injected(RouterId(destination_router), 0)
    }
}

/// The hop of a packet at router `at` whose ports have the queues `own`.
fn hop(fpar: &Fpar, at: u32, mut route: PacketRoute, own: &dyn Fn(u16) -> u64) -> (Hop, u8) {
    let mut view = LoadedRouter {
        own,
        remote: &|_| 0,
        random: MockRouter::new(3),
    };
    let injected = false;
    let hop = fpar.next_hop(&mut view, RouterId(at), injected, &mut route);
    (hop, route.phase)
}

#[test]
fn a_longer_path_is_taken_only_if_all_shorter_ones_are_above_the_threshold() {
    let fpar = Fpar::new(&machine(), 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    // Router 2 is spine 0 of group 0; router 4 is leaf 0 of group 1. Global
    // ports 2 and 4 lead to group 1 (minimal), 3 and 5 to group 2 (by way of a
    // spine there, since every spine has links to every group).
    let half = LENGTH / 2;
    let decide = |two: u64, three: u64, four: u64, five: u64| {
        let own = move |port: u16| [FREE, FREE, two, three, four, five][usize::from(port)];
        hop(&fpar, 2, route(4, OUT), &own)
    };
    let minimal = |port| (Hop { port, vc: 0 }, OUT);
    let detour = |port| (Hop { port, vc: 0 }, BETWEEN);
    // At the threshold a minimal path still counts as free, whatever is empty.
    assert_eq!(decide(half, 0, half + 1, 0), minimal(2));
    // Both minimal ports above: the longer path of least score, if below T.
    assert_eq!(decide(half + 1, half - 1, half + 1, half), detour(3));
    // A longer path at the threshold is not below it.
    assert_eq!(decide(half + 2, half, half + 1, half), minimal(4));
    // All above: the least score of the shorter, though a longer one has less.
    assert_eq!(decide(LENGTH, half + 1, LENGTH - 1, half + 1), minimal(4));
}

#[test]
fn a_random_choice_is_among_the_ports_that_the_threshold_counts_as_free() {
    let fpar = Fpar::new(&machine(), 0.5, Choice::Random, FparRules::Paper, None).unwrap();
    let half = LENGTH / 2;
    // As above: minimal ports 2 and 4, by way of a spine 3 and 5. One seed per draw.
    let ports = |queues: [u64; 4]| {
        let mut taken: Vec<u16> = (0..64)
            .map(|seed| {
                let own = move |port: u16| {
                    if port < 2 {
                        FREE
                    } else {
                        queues[usize::from(port) - 2]
                    }
                };
                let mut view = LoadedRouter {
                    own: &own,
                    remote: &|_| 0,
                    random: MockRouter::new(seed),
                };
                let (at, mut route) = (RouterId(2), route(4, OUT));
                fpar.next_hop(&mut view, at, false, &mut route).port
            })
            .collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    };
    // Both minimal ports are free, at and below the threshold: either, whatever their scores.
    assert_eq!(ports([half, 0, 0, 0]), [2, 4]);
    // One of them is above.
    assert_eq!(ports([half + 1, 0, half, 0]), [4]);
    // Both above: either of the longer ones below, none that is at the threshold.
    assert_eq!(ports([half + 1, 0, half + 1, half - 1]), [3, 5]);
    assert_eq!(ports([half + 1, half, half + 1, half - 1]), [5]);
    // Nothing is free: least score of the shorter.
    assert_eq!(ports([half + 1, half, LENGTH, half]), [2]);
}

#[test]
fn an_intermediate_spine_goes_on_or_down_and_turns_to_channel_1_when_it_goes_on() {
    let fpar = Fpar::new(&machine(), 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    // Router 10 is spine 0 of group 2; ports 2 and 4 lead to group 0, 3 and 5 to
    // group 1, where router 4 is. Ports 0 and 1 lead to the leaves.
    let decide = |global: u64, leaves: u64| {
        let own = move |port: u16| if port < 2 { leaves } else { global };
        hop(&fpar, 10, route(4, BETWEEN), &own)
    };
    let (hop_on, phase) = decide(FREE, FREE);
    assert!([3, 5].contains(&hop_on.port));
    assert_eq!((hop_on.vc, phase), (1, HOME));
    let (down, phase) = decide(LENGTH, FREE);
    assert!([0, 1].contains(&down.port));
    assert_eq!((down.vc, phase), (0, BETWEEN));
    assert_eq!(decide(LENGTH, LENGTH).1, HOME);
    // On channel 1, nothing but minimal is considered.
    let busy_links = |port: u16| if port < 2 { FREE } else { LENGTH };
    let (on, phase) = hop(&fpar, 10, route(4, HOME), &busy_links);
    assert!([3, 5].contains(&on.port));
    assert_eq!((on.vc, phase), (1, HOME));
}

#[test]
fn leaves_go_up_on_channel_0_from_the_source_and_on_channel_1_from_between() {
    let fpar = Fpar::new(&machine(), 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    // Leaf 1 of group 0; ports 2 and 3 lead to its spines.
    let own = |port: u16| if port == 2 { 100 } else { 99 };
    assert_eq!(
        hop(&fpar, 1, route(4, OUT), &own),
        (Hop { port: 3, vc: 0 }, OUT)
    );
    assert_eq!(
        hop(&fpar, 1, route(4, BETWEEN), &own),
        (Hop { port: 3, vc: 1 }, HOME)
    );
    // To the other leaf of the same group.
    assert_eq!(
        hop(&fpar, 1, route(0, OUT), &own),
        (Hop { port: 3, vc: 0 }, OUT)
    );
}

#[test]
fn ties_are_broken_over_all_ports_of_the_kind() {
    let fpar = Fpar::new(&machine(), 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    let mut view = MockRouter::new(1);
    view.busiest = 1;
    let mut taken = [0u32; 6];
    for _ in 0..2000 {
        let mut route = route(4, OUT);
        taken[usize::from(
            fpar.next_hop(&mut view, RouterId(2), false, &mut route)
                .port,
        )] += 1;
    }
    // Half each, within 5 standard deviations of 22.
    assert_eq!(taken[2] + taken[4], 2000);
    assert!(taken[2].abs_diff(1000) < 112, "{taken:?}");
}

#[test]
fn spines_without_a_link_to_the_destination_group_start_longer_paths() {
    // 2 links per pair of groups: spines 0 and 2 of group 0 reach groups 1 and
    // 2, spines 1 and 3 the groups 3 and 4.
    let topology = dragonfly_plus(2, 4, 1, 2, 5);
    let fpar = Fpar::new(&topology, 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    // Router 6 is leaf 0 of group 1; ports 1 to 4 of leaf 0 of group 0 lead to
    // its spines.
    for (busy, possible) in [(FREE, [1, 3]), (LENGTH, [2, 4])] {
        let own = move |port: u16| if [1, 3].contains(&port) { busy } else { FREE };
        let (hop, _) = hop(&fpar, 0, route(6, OUT), &own);
        assert!(possible.contains(&hop.port), "{hop:?}");
    }
    let Verdict::DeadlockFree { longest_route, .. } = verify(&topology, &fpar).unwrap() else {
        panic!("no proof");
    };
    assert_eq!(longest_route, 6);
}

#[test]
fn routes_take_two_channels_and_at_most_six_hops() {
    let topology = machine();
    let fpar = Fpar::new(&topology, 0.5, Choice::ByLoad, FparRules::Paper, None).unwrap();
    assert_eq!(fpar.virtual_channels(), 2);
    for steps in random_walks(&topology, &fpar, 5, 2000) {
        let across = steps.iter().filter(|s| s.kind == LinkKind::Global).count();
        assert!(steps.len() <= 6 && across <= 2, "{steps:?}");
    }
}

#[test]
fn one_channel_can_deadlock() {
    let topology = machine();
    let fpar = Fpar::new(&topology, 0.5, Choice::ByLoad, FparRules::Paper, Some(1)).unwrap();
    let verdict = verify(&topology, &fpar).unwrap();
    assert!(matches!(verdict, Verdict::Cycle(_)), "{verdict}");
}

#[test]
fn wrong_thresholds_and_networks_are_refused() {
    for threshold in [-0.1, 1.1, f64::NAN] {
        let error = Fpar::new(
            &machine(),
            threshold,
            Choice::ByLoad,
            FparRules::Paper,
            None,
        )
        .unwrap_err();
        assert!(error.to_string().contains("from 0 to 1"), "{error}");
    }
    let error = Fpar::new(
        &dragonfly(2, 4, 2, 9),
        0.5,
        Choice::ByLoad,
        FparRules::Paper,
        None,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "fpar routing needs groups of leaf and spine routers, as a dragonfly+ has them: all routers \
         of group 0 have nodes, so that it has no spines. Use `par` or another algorithm for this \
         network"
    );
}

#[test]
fn the_program_chooses_among_so_many_ports_and_no_more() {
    // A spine has its 100 leaves and 30 global links to choose among.
    let new = |leaves, rules| {
        let topology = dragonfly_plus(leaves, 2, 1, 30, 3);
        Fpar::new(&topology, 0.5, Choice::ByLoad, rules, None)
    };
    assert!(new(98, FparRules::Codes).is_ok());
    let error = new(100, FparRules::CodesMended).unwrap_err();
    assert_eq!(
        error.to_string(),
        "130 ports of one router to choose among are too many for fpar routing, which handles up to \
         128: use rules = \"paper\", which has no such limit"
    );
    assert!(new(100, FparRules::Paper).is_ok());
}

/// How often each port is taken out of 4,000 times.
fn shares(fpar: &Fpar, at: u32, route: PacketRoute, own: &dyn Fn(u16) -> u64) -> Vec<(u16, f64)> {
    let mut counts = std::collections::BTreeMap::new();
    let mut view = LoadedRouter {
        own,
        remote: &|_| 0,
        random: MockRouter::new(7),
    };
    for _ in 0..4_000 {
        let mut route = route;
        let hop = fpar.next_hop(&mut view, RouterId(at), false, &mut route);
        *counts.entry(hop.port).or_insert(0u32) += 1;
    }
    counts
        .into_iter()
        .map(|(port, count)| (port, f64::from(count) / 4_000.0))
        .collect()
}

fn assert_shares(found: &[(u16, f64)], expected: &[(u16, f64)]) {
    let ports = |all: &[(u16, f64)]| all.iter().map(|&(port, _)| port).collect::<Vec<_>>();
    assert_eq!(ports(found), ports(expected), "{found:?}");
    for (&(_, found), &(_, expected)) in found.iter().zip(expected) {
        // Five standard deviations of a share of a half.
        assert!((found - expected).abs() < 0.04, "{found} {expected}");
    }
}

#[test]
fn the_program_draws_the_best_port_among_running_minima() {
    // Four spines: a leaf whose ports to them have 3, 4, 1 and 2 packets of 1 KiB. The running
    // minima are the first (3) and the third (1); the fourth has more than the best by then.
    let topology = dragonfly_plus(2, 4, 2, 4, 3);
    let own = |port: u16| [FREE, FREE, 3, 4, 1, 2][usize::from(port)] * 1_024;
    // Leaf 0 of the next group.
    let remote = 6;
    for destination in [1, remote] {
        // From leaf 0, also to the other leaf of the group.
        let to = route(destination, OUT);
        let slip = Fpar::new(&topology, 0.5, Choice::Random, FparRules::Codes, None).unwrap();
        assert_shares(&shares(&slip, 0, to, &own), &[(2, 0.5), (4, 0.5)]);
        let mended =
            Fpar::new(&topology, 0.5, Choice::Random, FparRules::CodesMended, None).unwrap();
        assert_shares(&shares(&mended, 0, to, &own), &[(4, 1.0)]);
    }
    // All equal: any.
    let level = |_: u16| 2_048;
    for rules in [FparRules::Codes, FparRules::CodesMended] {
        let fpar = Fpar::new(&topology, 0.5, Choice::ByLoad, rules, None).unwrap();
        let all = [(2, 0.25), (3, 0.25), (4, 0.25), (5, 0.25)];
        assert_shares(&shares(&fpar, 0, route(remote, OUT), &level), &all);
    }
}

#[test]
fn the_program_knows_two_sorts_of_paths_at_spines() {
    // Ports 2 and 4 of spine 2 lead to group 1, 3 and 5 to group 2.
    let fpar = Fpar::new(&machine(), 0.5, Choice::ByLoad, FparRules::Codes, None).unwrap();
    let found = |own: [u64; 4], phase| {
        let own = move |port: u16| match port {
            0 | 1 => 3 * LENGTH / 4,
            port => own[usize::from(port) - 2],
        };
        shares(&fpar, 2, route(4, phase), &own)
    };
    let half = LENGTH / 2;
    // At the threshold is free, whatever is less full; so is less than a whole per cent above.
    assert_shares(&found([half, 0, half, 0], OUT), &[(2, 0.5), (4, 0.5)]);
    assert_shares(
        &found([half + LENGTH / 101, 0, LENGTH, 0], OUT),
        &[(2, 1.0)],
    );
    // Longer paths at the threshold as well.
    assert_shares(
        &found([LENGTH, half, LENGTH, half], OUT),
        &[(3, 0.5), (5, 0.5)],
    );
    // None free: the best of the first sort, by running minima.
    let (much, more) = (LENGTH - 1_024, LENGTH);
    assert_shares(&found([more, more, much, more], OUT), &[(2, 0.5), (4, 0.5)]);
    assert_shares(&found([much, more, more, more], OUT), &[(2, 1.0)]);
    // In an intermediate group (for group 2 from group 0 by group 1 it would be spine 6; here
    // spine 2 stands for it): on if free, else down; on if nothing is free, on channel 1.
    assert_shares(&found([half, 0, more, 0], BETWEEN), &[(2, 1.0)]);
    assert_shares(&found([more, 0, much, 0], BETWEEN), &[(2, 0.5), (4, 0.5)]);
    let (hop, phase) = hop(&fpar, 2, route(4, BETWEEN), &|_| FREE);
    assert_eq!((hop.vc, phase), (1, HOME));
}

#[test]
fn the_programs_rules_take_no_path_that_could_deadlock() {
    for rules in [FparRules::Codes, FparRules::CodesMended] {
        let topology = machine();
        let fpar = Fpar::new(&topology, 0.5, Choice::Random, rules, None).unwrap();
        let verdict = verify(&topology, &fpar).unwrap();
        let free = matches!(verdict, Verdict::DeadlockFree { .. });
        assert!(free, "{verdict}");
        for steps in random_walks(&topology, &fpar, 5, 500) {
            assert!(steps.len() <= 6, "{steps:?}");
        }
    }
}
