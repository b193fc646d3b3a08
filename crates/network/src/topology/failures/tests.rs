//! What fails is gone, what is left works, under every algorithm that says that it does.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::routing::properties::{network, spec};
use crate::routing::testing::{dragonfly, fat_tree, lattice, random_walks};
use crate::routing::{
    Algorithm, AnyRouting, Choice, Layered, PacketRoute, Routing, RoutingError, RoutingSpec,
    RoutingTask, Tabled,
};
use crate::topology::FatTreeShape;
use crate::verify::{Verdict, verify};

fn links(ends: Ends, count: Option<u32>, left: f64) -> Failures {
    let impairment = Impairment {
        left,
        ..Impairment::dark(During::WHOLE_RUN)
    };
    Failures {
        links: vec![FailedLinks {
            ends,
            count,
            one_way: false,
            impairment,
        }],
        ..Failures::default()
    }
}

fn drawn(part: Part, class: Option<&str>, amount: Amount, seed: u64) -> Failures {
    let class = class.map(str::to_owned);
    let drawn = vec![DrawnFailures {
        part,
        class,
        amount,
        impairment: Impairment::dark(During::WHOLE_RUN),
    }];
    Failures {
        drawn,
        seed,
        ..Failures::default()
    }
}

const PAIR: Ends = Ends::Groups(GroupId(2), GroupId(3));

#[test]
fn what_fails_has_no_links_and_all_else_its_number() {
    // p=2 a=4 h=2 g=9: 8 global ports a group, one link to each other group, 6 local links.
    let whole = dragonfly(2, 4, 2, 9);
    let failures = Failures {
        routers: vec![RouterId(5)],
        nodes: vec![NodeId(0)],
        ..links(PAIR, None, 0.0)
    };
    let (damaged, losses) = failures.of(whole.clone()).unwrap();
    // The router: 3 local and 2 global links, and its nodes.
    let expected = Losses {
        links: 1 + 5,
        routers: 1,
        nodes: 1 + 2,
        ..Losses::default()
    };
    assert_eq!(losses, expected);
    let title = format!("{} without 6 links, 1 router, 3 nodes", whole.title);
    assert_eq!(damaged.title, title);
    let lost: Vec<u32> = damaged.lost_nodes().map(|node| node.0).collect();
    assert_eq!(lost, [0, 10, 11]);
    assert!(damaged.is_lost_router(RouterId(5)) && !damaged.is_lost_router(RouterId(0)));
    assert_eq!(damaged.links().count() + 6, whole.links().count());
    assert_eq!(damaged.port_of_node, whole.port_of_node);
    for (port, peer) in damaged.peer.iter().enumerate() {
        assert!(*peer == Peer::Unconnected || *peer == whole.peer[port]);
    }
}

#[test]
fn slower_links_are_a_class_of_their_own() {
    let whole = dragonfly(2, 4, 2, 9);
    let (slow, losses) = links(PAIR, Some(1), 0.25).of(whole.clone()).unwrap();
    assert_eq!((losses.links, losses.slower_links), (0, 1));
    let class = slow.link_classes.last().unwrap();
    let global = whole
        .link_classes
        .iter()
        .find(|class| class.name == "global")
        .unwrap();
    assert_eq!(class.name, "global at 25 %");
    let (rate, full) = (
        class.bandwidth.bytes_per_second(),
        global.bandwidth.bytes_per_second(),
    );
    assert_eq!(rate, full / 4);
    let of_class = |port: &usize| slow.link_class(PortId::from_index(*port)).name == class.name;
    assert_eq!((0..slow.ports()).filter(of_class).count(), 2);
}

#[test]
fn draws_of_one_seed_contain_each_other() {
    let whole = dragonfly(2, 4, 2, 9);
    let left = |count| {
        let failures = drawn(Part::Links, Some("global"), Amount::Count(count), 7);
        failures.of(whole.clone()).unwrap().0.peer
    };
    let (few, many) = (left(3), left(9));
    assert!(
        few.iter()
            .zip(&many)
            .all(|(few, many)| few == many || *many == Peer::Unconnected)
    );
    let other = drawn(Part::Links, Some("global"), Amount::Count(3), 8);
    assert_ne!(other.of(whole.clone()).unwrap().0.peer, few);
    // 5 % of 36 global links.
    let share = drawn(Part::Links, Some("global"), Amount::Share(0.05), 7);
    assert_eq!(share.of(whole).unwrap().1.links, 2);
}

#[test]
fn the_largest_part_is_left_of_a_network_that_falls_apart() {
    // A ring of six routers cut twice: 0 and 1 on one side, the others on the other.
    let ring = lattice(&[6], true, false);
    let cut = |a: u32, b: u32| FailedLinks {
        ends: Ends::Routers(RouterId(a), RouterId(b)),
        count: None,
        one_way: false,
        impairment: Impairment::dark(During::WHOLE_RUN),
    };
    let failures = Failures {
        links: vec![cut(1, 2), cut(5, 0)],
        ..Failures::default()
    };
    let nodes = ring.nodes() as u32 / 6;
    let (left, losses) = failures.of(ring).unwrap();
    assert_eq!((losses.routers, losses.cut_off_nodes), (2, 2 * nodes));
    // Cut twice, and the link between the two that are cut off.
    assert_eq!(losses.links, 3);
    assert!(
        left.lost_nodes()
            .all(|node| left.router_of_node(node).0 < 2)
    );
}

#[test]
fn minimal_routing_names_the_groups_and_adaptive_routing_goes_by_a_third() {
    let (damaged, _) = links(PAIR, None, 0.0).of(dragonfly(2, 4, 2, 9)).unwrap();
    let minimal = AnyRouting::new(&damaged, &RoutingSpec::new(Algorithm::Minimal));
    let expected = RoutingError::GroupsNotJoined {
        from: GroupId(2),
        to: GroupId(3),
    };
    assert_eq!(minimal.unwrap_err(), expected);
    // Four groups of which one pair is joined to no third.
    let two = links(Ends::Groups(GroupId(0), GroupId(1)), None, 0.0);
    let (apart, losses) = two.of(dragonfly(2, 4, 1, 2)).unwrap();
    assert_eq!(
        losses.routers, 4,
        "one of two groups is cut off: {}",
        apart.title
    );
}

#[test]
fn a_fat_tree_without_a_spine_is_routed_over_the_others() {
    let shape = FatTreeShape {
        down: vec![2, 4],
        up: vec![4],
        parallel: vec![1],
        nodes: 8,
    };
    let whole = fat_tree(&shape);
    let spine = RouterId(whole.routers() as u32 - 1);
    let failures = Failures {
        routers: vec![spine],
        ..Failures::default()
    };
    let (damaged, losses) = failures.of(whole.clone()).unwrap();
    assert_eq!((losses.nodes, losses.links), (0, 4));
    let ways = |topology: &Topology| {
        let table = Tabled::up_down(topology, Choice::Random, None).unwrap();
        let route = PacketRoute::injected(RouterId(3), 0);
        let mut hops = Vec::new();
        table.possible_hops(RouterId(0), true, &route, &mut hops);
        hops.len()
    };
    assert_eq!((ways(&whole), ways(&damaged)), (4, 3));
}

/// Two pods of leaves 0 and 1, 4 and 5 below switches 2 and 3, 6 and 7, of which the first and the second
/// meet at other tops. Leaf 0 without its link to switch 2 is reached by switch 3 alone; if leaf 4 keeps
/// its link to switch 6 alone as well, the two reach each other by a third leaf alone.
#[test]
fn tables_say_where_no_way_goes_up_and_then_down() {
    let whole = fat_tree(&FatTreeShape {
        down: vec![2, 2, 2],
        up: vec![2, 2],
        parallel: vec![1, 1],
        nodes: 8,
    });
    let cut = |topology: Topology, a, b| {
        let ends = Ends::Routers(RouterId(a), RouterId(b));
        links(ends, None, 0.0).of(topology).unwrap().0
    };
    let tables = |topology: &Topology| Tabled::up_down(topology, Choice::Random, None).unwrap();
    let lacking = |tables: &Tabled, to| -> Vec<u32> {
        let route = PacketRoute::injected(RouterId(to), 0);
        let lacks = |&at: &u32| tables.lacks_hop(RouterId(at), false, &route, 0);
        (0..whole.routers() as u32)
            .filter(lacks)
            .collect::<Vec<_>>()
    };
    let order = |topology: &Topology| AnyRouting::Tabled(tables(topology)).without_order();
    assert!(lacking(&tables(&whole), 0).is_empty());
    let without_one = cut(whole.clone(), 0, 2);
    // The tops of switch 2, 8 and 10, lead to switch 6 besides.
    assert_eq!(lacking(&tables(&without_one), 0), [2, 6, 8, 10]);
    assert!(lacking(&tables(&without_one), 1).is_empty());
    assert_eq!(order(&without_one), None);
    let without_two = cut(without_one, 4, 7);
    assert!(matches!(
        order(&without_two),
        Some((RouterId(0), RouterId(4)) | (RouterId(4), RouterId(0)))
    ));
    assert!(lacking(&tables(&without_two), 0).is_empty());
}

#[test]
fn what_cannot_fail_is_refused() {
    let whole = dragonfly(2, 4, 2, 9);
    let refused = |failures: Failures, entry: Entry, words: &str| {
        let error = failures.of(whole.clone()).unwrap_err();
        assert_eq!(error.entry, entry, "{error}");
        assert!(error.message.contains(words), "{error}");
    };
    let routers = |a, b| Ends::Routers(RouterId(a), RouterId(b));
    let first = Entry::Links(0);
    refused(
        links(routers(0, 36), None, 0.0),
        first,
        "there is no router 36: the network's routers are 0 to 35",
    );
    refused(
        links(routers(0, 35), None, 0.0),
        first,
        "there is no link between routers 0 and 35",
    );
    refused(
        links(routers(0, 1), Some(2), 0.0),
        first,
        "2 links between routers 0 and 1, where there are 1",
    );
    let mut twice = links(routers(0, 1), None, 0.0);
    twice.links.push(twice.links[0]);
    refused(twice, Entry::Links(1), "have failed already");
    let failed = |routers: &[u32], nodes: &[u32]| Failures {
        routers: routers.iter().map(|&router| RouterId(router)).collect(),
        nodes: nodes.iter().map(|&node| NodeId(node)).collect(),
        ..Failures::default()
    };
    refused(failed(&[3, 3], &[]), Entry::Routers(1), "listed twice");
    refused(failed(&[36], &[]), Entry::Routers(0), "routers are 0 to 35");
    refused(failed(&[], &[4, 4]), Entry::Nodes(1), "listed twice");
    refused(
        failed(&[2], &[4]),
        Entry::Nodes(0),
        "lost with its router 2",
    );
    let all: Vec<u32> = (0..36).collect();
    refused(failed(&all, &[]), Entry::All, "no node is left");
    let draw = |class, amount| drawn(Part::Links, class, amount, 1);
    refused(
        draw(Some("blue"), Amount::Count(1)),
        Entry::Drawn(0),
        "terminal, local, global",
    );
    refused(
        draw(None, Amount::Count(1_000)),
        Entry::Drawn(0),
        "of which only 90 still work",
    );
    refused(
        draw(None, Amount::Share(0.001)),
        Entry::Drawn(0),
        "none of them",
    );
}

fn span(from: u64, until: u64) -> During {
    During {
        from: Picoseconds(from),
        until: Picoseconds(until),
    }
}

/// A link has a class for each direction: that of who sends.
#[test]
fn a_link_may_be_worse_in_one_direction() {
    let shape = FatTreeShape {
        down: vec![2, 2],
        up: vec![1],
        parallel: vec![1],
        nodes: 4,
    };
    let whole = fat_tree(&shape);
    let (one, other) = whole.links().next().unwrap();
    let [leaf, spine] = [one, other].map(|port| whole.router_of_every_port()[port.index()]);
    let worse = |ends, left| FailedLinks {
        ends,
        count: None,
        one_way: true,
        impairment: Impairment {
            left,
            ..Impairment::dark(During::WHOLE_RUN)
        },
    };
    let of = |links| {
        let failures = Failures {
            links,
            ..Failures::default()
        };
        let (left, _) = failures.of(whole.clone())?;
        let rate = |port: PortId| {
            let class = &left.link_classes[left.class_of_port[port.index()].index()];
            class.bandwidth.bytes_per_second()
        };
        Ok::<_, FailureError>([rate(one), rate(other)])
    };
    let [full, _] = of(vec![worse(Ends::Routers(spine, leaf), 0.5)]).unwrap();
    let up = worse(Ends::Routers(leaf, spine), 0.25);
    assert_eq!(of(vec![up]).unwrap(), [full / 4, full]);
    let port = other.index() - whole.ports_of(spine).start;
    let down = worse(Ends::Port(spine, port as u32), 0.5);
    assert_eq!(of(vec![down]).unwrap(), [full, full / 2]);
    // Each direction for itself, and once.
    assert_eq!(of(vec![up, down]).unwrap(), [full / 4, full / 2]);
    assert!(of(vec![up, up]).is_err() && of(vec![down, down]).is_err());
    let to_a_node = worse(Ends::Port(leaf, 0), 0.5);
    assert!(of(vec![to_a_node]).is_err() && of(vec![worse(Ends::Port(leaf, 99), 0.5)]).is_err());
}

#[test]
fn links_fail_and_come_back_at_their_moments() {
    // Leaf 0 has four links to the spine, 2.
    let shape = FatTreeShape {
        down: vec![2, 2],
        up: vec![1],
        parallel: vec![4],
        nodes: 4,
    };
    let whole = fat_tree(&shape);
    let at = |count, during| FailedLinks {
        ends: Ends::Routers(RouterId(0), RouterId(2)),
        count: Some(count),
        one_way: false,
        impairment: Impairment::dark(during),
    };
    let failures = |links| Failures {
        links,
        ..Failures::default()
    };
    // The second takes another link than the first, which is back when the third is to fail.
    let plan = failures(vec![
        at(1, span(10, 30)),
        at(1, span(20, 50)),
        at(2, span(30, 40)),
    ]);
    let all: Vec<_> = whole.links().map(|(port, _)| port).collect();
    let moments = plan.moments(&whole).unwrap();
    let dark = |topology: &Topology| -> Vec<usize> {
        let is_dark = |&index: &usize| topology.peer[all[index].index()] == Peer::Unconnected;
        (0..all.len()).filter(is_dark).collect()
    };
    let found: Vec<_> = (moments.iter())
        .map(|(time, left)| (time.0, dark(left).len()))
        .collect();
    assert_eq!(found, [(0, 0), (10, 1), (20, 2), (30, 3), (40, 1), (50, 0)]);
}

/// Over a long time a link is dark for repair / (mtbf + repair) of it, and fails once in that sum.
#[test]
fn links_fail_and_are_repaired_by_their_mean_times() {
    let stream = StreamKey::new(3, Purpose::Failures);
    let (mtbf, repair, end) = (9_000u64, 1_000u64, 200_000_000u64);
    let times: Vec<_> = alternating(
        stream,
        7,
        Picoseconds(mtbf),
        Some(Picoseconds(repair)),
        Picoseconds(end),
    )
    .collect();
    assert!(times.is_sorted_by(|one, next| one.until <= next.from));
    let dark: u64 = (times.iter())
        .map(|during| during.until.0.min(end) - during.from.0)
        .sum();
    // 20,000 failures: four deviations of an exponential's mean are 3 %.
    assert!((times.len() as f64 / 20_000.0 - 1.0).abs() < 0.03);
    assert!((dark as f64 / end as f64 / 0.1 - 1.0).abs() < 0.04);
    // Without repair it fails once.
    let once = alternating(stream, 7, Picoseconds(mtbf), None, Picoseconds(end));
    assert_eq!(
        once.map(|during| during.until.0).collect::<Vec<_>>(),
        [u64::MAX]
    );
}

#[test]
fn what_cannot_fail_at_a_moment_is_refused() {
    let whole = dragonfly(2, 4, 2, 9);
    let with = |during: [During; 2]| Failures {
        links: during
            .map(|during| FailedLinks {
                impairment: Impairment::dark(during),
                ..links(PAIR, None, 0.0).links[0]
            })
            .into(),
        ..Failures::default()
    };
    let error = with([span(5, 10), span(9, 20)])
        .moments(&whole)
        .unwrap_err();
    assert_eq!(error.entry, Entry::Links(1));
    assert!(error.message.contains("have failed already"), "{error}");
    assert_eq!(
        with([span(5, 10), span(10, 20)])
            .moments(&whole)
            .unwrap()
            .len(),
        4
    );
    // A line of three routers of which the last is cut off for a while.
    let line = lattice(&[3], false, false);
    let mut cut = links(Ends::Routers(RouterId(1), RouterId(2)), None, 0.0);
    cut.links[0].impairment.during = span(5, 10);
    let error = cut.moments(&line).unwrap_err();
    assert!(error.message.contains("no way to the others"), "{error}");
    // Without its middle link a line of six has two equal parts, of which the first is left: then cut
    // as well, it is smaller than the other.
    let line = lattice(&[6], false, false);
    let mut cuts = links(Ends::Routers(RouterId(2), RouterId(3)), None, 0.0);
    let mut cut = cuts.links[0];
    (cut.ends, cut.impairment.during) = (Ends::Routers(RouterId(0), RouterId(1)), span(5, 10));
    cuts.links.push(cut);
    let error = cuts.moments(&line).unwrap_err();
    assert!(error.message.contains("no way to the others"), "{error}");
}

/// Draws of each sort, of few or many.
fn failures(during: impl Strategy<Value = During>) -> impl Strategy<Value = Failures> {
    let one = (
        select(Part::ALL),
        prop_oneof![1u32..4, 1u32..20],
        any::<bool>(),
        during,
    )
        .prop_map(|(part, count, is_slow, during)| DrawnFailures {
            part,
            class: None,
            amount: Amount::Count(count),
            impairment: Impairment {
                left: match part {
                    Part::Links if is_slow => 0.5,
                    _ => 0.0,
                },
                ..Impairment::dark(match part {
                    Part::Links => during,
                    _ => During::WHOLE_RUN,
                })
            },
        });
    (proptest::collection::vec(one, 1..4), any::<u64>()).prop_map(|(drawn, seed)| Failures {
        drawn,
        seed,
        ..Failures::default()
    })
}

struct Arrives<'a>(&'a Topology, u64);

impl RoutingTask for Arrives<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let Self(topology, seed) = self;
        // `verify` fails where a packet is sent to a port without a link or has no way on.
        let verdict = verify(topology, routing).expect("sound routes");
        assert!(matches!(verdict, Verdict::DeadlockFree { .. }), "{verdict}");
        random_walks(topology, routing, seed, 50);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn all_that_is_left_is_reached_and_nothing_can_deadlock(
        topology in network(),
        failures in failures(Just(During::WHOLE_RUN)),
        spec in spec(),
        seed in any::<u64>(),
    ) {
        let whole = topology.clone();
        let Ok((damaged, losses)) = failures.of(topology) else {
            // More of a sort than there are.
            return Ok(());
        };
        prop_assert_eq!(damaged.lost_nodes().count(), losses.nodes as usize);
        prop_assert_eq!(damaged.links().count() + losses.links as usize, whole.links().count());
        prop_assert!(losses.nodes < whole.nodes() as u32);
        for general in [Algorithm::ShortestPath, Algorithm::UpDown, Algorithm::Dfsssp] {
            let routing = AnyRouting::new(&damaged, &RoutingSpec::new(general));
            routing.expect("it takes any network").dispatch(Arrives(&damaged, seed));
        }
        if let Ok(routing) = AnyRouting::new(&damaged, &spec) {
            routing.dispatch(Arrives(&damaged, seed));
        }
    }
}

/// Beginnings and ends within the time of random walks.
fn during() -> impl Strategy<Value = During> {
    (0u64..40, 1u64..40).prop_map(|(from, time)| During {
        from: Picoseconds(from),
        until: match from + time {
            late if late > 40 => During::WHOLE_RUN.until,
            until => Picoseconds(until),
        },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Whatever fails and comes back, packets of before and after it cannot wait for each other.
    #[test]
    fn routes_of_before_and_after_a_moment_cannot_deadlock_together(
        topology in network(),
        failures in failures(during()),
        spec in spec(),
        seed in any::<u64>(),
    ) {
        let moments = failures.moments(&topology);
        let (Ok(moments), Ok((left, _))) = (moments, failures.of(topology)) else {
            return Ok(());
        };
        for spec in [RoutingSpec::new(Algorithm::UpDown), spec] {
            let parts = moments.iter().map(|(from, left)| {
                Some((*from, AnyRouting::new(left, &spec).ok()?, left.lost_routers()))
            });
            let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
                continue;
            };
            if let Ok(routing) = Layered::new(parts, &left.group_of_router) {
                AnyRouting::Layered(routing).dispatch(Arrives(&left, seed));
            }
        }
    }
}

#[test]
fn routers_and_nodes_are_drawn_for_a_part_of_the_run() {
    let whole = dragonfly(2, 4, 2, 9);
    let during = During {
        from: Picoseconds(1_000),
        until: Picoseconds(5_000),
    };
    let at_a_moment = |part, count| {
        let mut failures = drawn(part, None, Amount::Count(count), 7);
        failures.drawn[0].impairment = Impairment::dark(during);
        failures.on_the_way = OnTheWay::Lost {
            reconvergence: Picoseconds(100),
        };
        failures
    };
    // Those that fail at a moment are those that fail for the whole run under the same seed.
    for (part, count) in [(Part::Routers, 3), (Part::Nodes, 5)] {
        let (lost, _) = drawn(part, None, Amount::Count(count), 7)
            .of(whole.clone())
            .unwrap();
        let moments = at_a_moment(part, count).moments(&whole).unwrap();
        let times: Vec<_> = moments.iter().map(|(from, _)| from.0).collect();
        assert_eq!(times, [0, 1_100, 5_100]);
        let peers: Vec<_> = moments.iter().map(|(_, left)| &left.peer).collect();
        assert_eq!(peers, [&whole.peer, &lost.peer, &whole.peer]);
    }
    // A link of a node has two senders, and a router here 2 nodes, 3 local and 2 global links.
    let dark = |failures: &Failures| failures.dark(&whole).unwrap().len();
    assert_eq!(dark(&at_a_moment(Part::Nodes, 5)), 10);
    assert_eq!(dark(&at_a_moment(Part::Routers, 1)), 14);
    // All nodes fail again and again: the first time after `mtbf` on average.
    let (mtbf, end) = (Picoseconds(1_000_000), Picoseconds(1 << 40));
    let mut over_time = drawn(
        Part::Nodes,
        None,
        Amount::OverTime {
            mtbf,
            repair: None,
            end,
        },
        7,
    );
    over_time.on_the_way = at_a_moment(Part::Nodes, 1).on_the_way;
    let dark = over_time.dark(&whole).unwrap();
    assert_eq!(dark.len(), 2 * 72);
    let mean = dark.iter().map(|(_, from, _)| from.0 as f64).sum::<f64>() / dark.len() as f64;
    // 72 exponential times: their mean is known to 1/sqrt(72), 12 %.
    assert!((mean / 1e6 - 1.0).abs() < 0.36, "{mean}");
}
