use std::collections::BTreeMap;

use super::*;
use crate::routing::testing::{LoadedRouter, MockRouter, lattice, random_walks};
use crate::verify::{Verdict, verify};

/// 4 × 3 routers, one node each; router 5 is at (1, 1).
fn grid() -> Topology {
    lattice(&[4, 3], false, true)
}

#[test]
fn a_channel_for_each_hop_is_free_of_deadlock_and_fewer_are_not() {
    let topology = grid();
    let routing = Dal::new(&topology, 0, None).unwrap();
    assert_eq!(routing.virtual_channels(), 4);
    let verdict = verify(&topology, &routing).unwrap();
    // Aside and to the right place, in both dimensions.
    assert!(
        matches!(
            verdict,
            Verdict::DeadlockFree {
                longest_route: 4,
                ..
            }
        ),
        "{verdict}"
    );
    let merged = Dal::new(&topology, 0, Some(1)).unwrap();
    assert!(matches!(
        verify(&topology, &merged).unwrap(),
        Verdict::Cycle(_)
    ));
    // Rows of two have nowhere else to go.
    let cube = Dal::new(&lattice(&[2, 2, 2], false, true), 0, None).unwrap();
    assert_eq!(cube.virtual_channels(), 3);
}

#[test]
fn packets_go_aside_once_in_each_dimension_and_channels_ascend() {
    let topology = grid();
    let routing = Dal::new(&topology, -1_000, None).unwrap();
    let mut longest = 0;
    for steps in random_walks(&topology, &routing, 9, 3_000) {
        longest = longest.max(steps.len());
        for (number, step) in (0..).zip(&steps) {
            assert_eq!(step.hop.vc, number);
        }
    }
    assert_eq!(longest, 4);
}

/// How often each first hop of packets from router 0 for router 11, which is at (3, 2), is taken,
/// by where it leads, with these occupancies by that.
fn first_hops(threshold: i64, load: &dyn Fn(u32) -> u64) -> BTreeMap<u32, u32> {
    let topology = grid();
    let routing = Dal::new(&topology, threshold, None).unwrap();
    let leads_to = |port: u16| {
        let port = topology.first_port[0] + u32::from(port);
        match topology.peer[port as usize] {
            crate::topology::Peer::Port(peer) => topology.router_of_port(peer).0,
            _ => unreachable!("no node is on the way"),
        }
    };
    let own = |port| load(leads_to(port));
    let mut view = LoadedRouter {
        own: &own,
        remote: &|_| 0,
        random: MockRouter::new(1),
    };
    let mut taken = BTreeMap::new();
    for _ in 0..3_000 {
        let mut route = PacketRoute::injected(RouterId(11), 0);
        let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
        *taken.entry(leads_to(hop.port)).or_insert(0) += 1;
    }
    taken
}

#[test]
fn every_dimension_is_open_and_queues_count_as_often_as_hops_are_left() {
    // Right places: router 3 along the first dimension, 8 along the second. Aside: 1, 2 and 4.
    let idle = first_hops(0, &|_| 0);
    assert_eq!(idle.keys().copied().collect::<Vec<_>>(), [3, 8]);
    // Five standard deviations of a binomial distribution.
    assert!(
        idle.values().all(|&count| count.abs_diff(1_500) < 140),
        "{idle:?}"
    );
    let one_is_busy = first_hops(0, &|to| u64::from(to == 3) * 100);
    assert_eq!(one_is_busy.into_keys().collect::<Vec<_>>(), [8]);
    // Two hops ahead against three aside.
    let ahead = |to: u32| [3, 8].contains(&to);
    let even = first_hops(0, &|to| if ahead(to) { 1_500 } else { 1_000 });
    assert_eq!(even.into_keys().collect::<Vec<_>>(), [3, 8]);
    let full = first_hops(0, &|to| if ahead(to) { 1_501 } else { 1_000 });
    assert_eq!(full.keys().copied().collect::<Vec<_>>(), [1, 2, 4]);
    assert!(
        full.values().all(|&count| count.abs_diff(1_000) < 130),
        "{full:?}"
    );
    let preferred = first_hops(3_000, &|to| u64::from(ahead(to)) * 1_500);
    assert_eq!(preferred.into_keys().collect::<Vec<_>>(), [3, 8]);
}

#[test]
fn rows_that_are_not_all_to_all_are_refused() {
    let error = Dal::new(&lattice(&[3, 4], true, false), 0, None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("the 4 routers along dimension 2"), "{error}");
}
