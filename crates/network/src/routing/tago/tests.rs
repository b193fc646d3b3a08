use odonata_units::{GroupId, RouterId};
use proptest::prelude::*;

use super::*;
use crate::routing::testing::random_walks;
use crate::topology::testing::dragonfly_links;
use crate::topology::{Circuits, GroupWiring, OpticalSwitches, ReconfigurableSpec, SwitchPort};
use crate::verify::{Verdict, verify};

fn network(p: u32, a: u32, h: u32, circuits: Circuits) -> Topology {
    let links = dragonfly_links();
    ReconfigurableSpec {
        p,
        held: vec![h; a as usize],
        group: GroupWiring::AllToAll,
        circuits,
        links,
    }
    .build()
    .unwrap()
}

/// Circuits on every link from each group to the next, as long as there are some.
fn chain(groups: u32, links: u32) -> Circuits {
    let mut circuits = Circuits::dark(OpticalSwitches::new(groups, links, 1, None).unwrap());
    for link in 0..links {
        for group in (link % 2..groups - 1).step_by(2) {
            let end = |group| SwitchPort {
                group: GroupId(group),
                link,
            };
            circuits.connect(end(group), end(group + 1)).unwrap();
        }
    }
    circuits
}

fn all_variants() -> impl Iterator<Item = (MinimalLinks, Choice, bool)> {
    [MinimalLinks::All, MinimalLinks::Shortest]
        .into_iter()
        .flat_map(|links| {
            [Choice::Random, Choice::ByLoad]
                .into_iter()
                .flat_map(move |choice| [false, true].map(|detours| (links, choice, detours)))
        })
}

#[test]
fn it_goes_by_way_of_other_groups_only_where_it_must() {
    // Four groups in a row: three global links from end to end, and at most one local hop in
    // each of the four groups.
    let topology = network(1, 4, 1, chain(4, 4));
    for (links, choice, detours) in all_variants() {
        let tago = Tago::new(&topology, links, choice, detours, None).unwrap();
        assert_eq!(tago.virtual_channels(), 4 + u8::from(detours));
        let verdict = verify(&topology, &tago).unwrap();
        let Verdict::DeadlockFree { longest_route, .. } = verdict else {
            panic!("{verdict}");
        };
        assert_eq!(longest_route, 3 + 4);
        random_walks(&topology, &tago, 1, 200);
    }
}

#[test]
fn shortest_links_save_a_hop() {
    // Every router of two groups is joined to the one at its place: three hops become two.
    let circuits = chain(2, 4);
    let mut all = Circuits::dark(circuits.switches());
    for link in 0..4 {
        let end = |group| SwitchPort {
            group: GroupId(group),
            link,
        };
        all.connect(end(0), end(1)).unwrap();
    }
    let topology = network(1, 4, 1, all);
    for (links, expected) in [(MinimalLinks::All, 3), (MinimalLinks::Shortest, 2)] {
        let tago = Tago::new(&topology, links, Choice::Random, false, None).unwrap();
        let Verdict::DeadlockFree { longest_route, .. } = verify(&topology, &tago).unwrap() else {
            panic!("a cycle");
        };
        assert_eq!(longest_route, expected);
    }
}

#[test]
fn groups_without_circuits_are_islands() {
    let mut circuits = Circuits::dark(OpticalSwitches::new(3, 4, 1, None).unwrap());
    let end = |group| SwitchPort {
        group: GroupId(group),
        link: 0,
    };
    circuits.connect(end(0), end(1)).unwrap();
    let topology = network(2, 4, 1, circuits);
    let links = MinimalLinks::All;
    let tago = Tago::new(&topology, links, Choice::Random, false, None).unwrap();
    assert!(tago.connects(RouterId(0), RouterId(7)));
    assert!(!tago.connects(RouterId(0), RouterId(8)));
    assert!(tago.connects(RouterId(8), RouterId(11)));
    assert!(verify(&topology, &tago).unwrap().is_deadlock_free());
    // Distances are those of pairs that are joined.
    assert_eq!(topology.describe().diameter, 3);
    let walks = |from: u32, to: u32| tago.joins(from, to);
    assert!(walks(0, 1) && walks(2, 2) && !walks(1, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random circuits: whatever is joined is reached, without deadlock.
    #[test]
    fn any_circuits_can_be_routed(
        groups in 2u32..7, a in 1u32..5, h in 1u32..3,
        draws in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>()), 0..40),
        variant in 0usize..8,
    ) {
        let switches = OpticalSwitches::new(groups, a * h, 1, None).unwrap();
        let mut circuits = Circuits::dark(switches);
        for (from, to, link) in draws {
            let end = |group| SwitchPort { group: GroupId(group % groups), link: link % (a * h) };
            // What is taken already, or stays in its group, is no circuit.
            let _ = circuits.connect(end(from), end(to));
        }
        let topology = network(1, a, h, circuits);
        let (links, choice, detours) = all_variants().nth(variant).unwrap();
        let tago = Tago::new(&topology, links, choice, detours, None).unwrap();
        let verdict = verify(&topology, &tago).unwrap();
        prop_assert!(verdict.is_deadlock_free(), "{}", verdict);
    }
}
