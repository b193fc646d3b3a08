use std::collections::{BTreeMap, BTreeSet};

use odonata_units::NodeId;
use proptest::prelude::*;

use super::*;
use crate::routing::grouped::GroupedRoutes;
use crate::routing::properties::{network as small_network, spec as any_spec};
use crate::routing::testing::{dragonfly, grid_dragonfly, lattice, ring_dragonfly};
use crate::routing::{
    AdaptiveOptions, Algorithm, AnyRouting, Hop, Lanes, PacketRoute, RouterView, RoutingSpec,
    RoutingTask, Via,
};
use crate::topology::testing::{class, shared_data};
use crate::topology::{CrayXcLinks, CrayXcSpec, LinkKind, Peer};

/// Every algorithm with every intermediate.
fn algorithms() -> Vec<Algorithm> {
    let mut algorithms = vec![Algorithm::Minimal, Algorithm::ShortestPath];
    for via in [Via::Group, Via::Router, Via::Node] {
        let options = AdaptiveOptions {
            via,
            detours_in_group: true,
            ..AdaptiveOptions::default()
        };
        algorithms.extend([
            Algorithm::Valiant { via },
            Algorithm::UgalLocal(options),
            Algorithm::UgalGlobal(options),
            Algorithm::Par(options),
        ]);
    }
    algorithms
}

struct Verify<'a>(&'a Topology);

impl RoutingTask for Verify<'_> {
    type Output = Verdict;
    fn run<R: Routing>(self, routing: &R) -> Verdict {
        verify(self.0, routing).unwrap()
    }
}

fn verdict(topology: &Topology, algorithm: Algorithm, virtual_channels: Option<u8>) -> Verdict {
    let spec = RoutingSpec {
        virtual_channels,
        ..RoutingSpec::new(algorithm)
    };
    AnyRouting::new(topology, &spec)
        .unwrap()
        .dispatch(Verify(topology))
}

/// A channel as global port and virtual channel.
type Key = (u32, u8);
/// Where a packet is, the channel that it holds, and what it carries.
type Plain = (RouterId, Option<Key>, PacketRoute);

/// All dependencies, the plain way: every packet by itself, no sharing.
fn plain_dependencies<R: Routing>(
    topology: &Topology,
    routing: &R,
) -> (BTreeMap<Key, BTreeSet<Key>>, usize) {
    let mut dependencies: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
    let mut longest = 0;
    let mut out = Vec::new();
    for destination in 0..topology.nodes() as u32 {
        let port = topology.port_of_node[destination as usize];
        let end = topology.router_of_port(port);
        let packet = PacketRoute::injected(end, relative(topology, end, port));
        let mut level: BTreeSet<Plain> = (0..topology.nodes())
            .map(|n| (topology.router_of_node(NodeId(n as u32)), None, packet))
            .collect();
        for hops in 0.. {
            let mut next = BTreeSet::new();
            for (at, held, route) in level {
                out.clear();
                routing.possible_hops(at, held.is_none(), &route, &mut out);
                for (hop, route) in &out {
                    let port = topology.first_port[at.index()] + u32::from(hop.port);
                    let Peer::Port(peer) = topology.peer[port as usize] else {
                        longest = longest.max(hops);
                        continue;
                    };
                    let wanted = (port, hop.vc);
                    if let Some(held) = held
                        && routing.waits_for_room(*hop)
                    {
                        dependencies.entry(held).or_default().insert(wanted);
                    }
                    next.insert((topology.router_of_port(peer), Some(wanted), *route));
                }
            }
            if next.is_empty() {
                break;
            }
            level = next;
        }
    }
    (dependencies, longest)
}

struct Compare<'a>(&'a Topology);

impl RoutingTask for Compare<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let (plain, longest) = plain_dependencies(self.0, routing);
        let found = verify(self.0, routing).unwrap();
        let Verdict::DeadlockFree {
            dependencies,
            longest_route,
            ..
        } = found
        else {
            panic!("{found}");
        };
        let expected: usize = plain.values().map(BTreeSet::len).sum();
        assert_eq!(dependencies, expected as u64);
        assert_eq!(longest_route as usize, longest);
    }
}

#[test]
fn the_dependencies_are_those_of_walking_every_packet_by_itself() {
    for topology in [
        dragonfly(2, 3, 1, 4),
        dragonfly(1, 2, 3, 3),
        grid_dragonfly(1, (2, 2), 1, 3),
        ring_dragonfly(1, 4, 1, 3),
    ] {
        for algorithm in algorithms() {
            AnyRouting::new(&topology, &RoutingSpec::new(algorithm))
                .unwrap()
                .dispatch(Compare(&topology));
        }
    }
}

/// An algorithm whose packets take any lane of its channels, told hop by hop.
struct Spread<'a, R>(&'a R, Lanes);

impl<R: Routing> Routing for Spread<'_, R> {
    fn virtual_channels(&self) -> u8 {
        self.1.count()
    }
    fn waits_for_room(&self, hop: Hop) -> bool {
        let vc = self.1.channel_of(hop.vc);
        self.0.waits_for_room(Hop { vc, ..hop })
    }
    fn next_hop<V: RouterView>(&self, _: &mut V, _: RouterId, _: bool, _: &mut PacketRoute) -> Hop {
        unreachable!("only its possible hops are asked for")
    }
    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let Self(inner, lanes) = self;
        let vc = if injected {
            0
        } else {
            lanes.channel_of(route.vc)
        };
        let mut hops = Vec::new();
        inner.possible_hops(at, injected, &PacketRoute { vc, ..*route }, &mut hops);
        for (hop, route) in hops {
            let lanes = lanes.of(hop.vc);
            out.extend(lanes.map(|vc| (Hop { vc, ..hop }, PacketRoute { vc, ..route })));
        }
    }
}

/// Compares what is found with this many virtual channels per link.
struct CompareLanes<'a>(&'a Topology, u8);

impl RoutingTask for CompareLanes<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let Self(topology, count) = self;
        let lanes = Lanes::new(routing.virtual_channels(), Some(count));
        let options = Options {
            virtual_channels: Some(count),
            ..Options::default()
        };
        let walk = |options| {
            verify_with(
                topology,
                routing,
                &options,
                |_, _| ControlFlow::Continue(()),
            )
        };
        let (plain, longest) = plain_dependencies(topology, &Spread(routing, lanes));
        let links = topology.peer.iter();
        let links = links.filter(|peer| matches!(peer, Peer::Port(_))).count() as u64;
        match (walk(options).unwrap(), walk(Options::default()).unwrap()) {
            (
                Verdict::DeadlockFree {
                    channels,
                    dependencies,
                    longest_route,
                    ..
                },
                few,
            ) => {
                assert!(few.is_deadlock_free(), "{few}");
                assert_eq!(channels, links * u64::from(lanes.count()));
                let expected: usize = plain.values().map(BTreeSet::len).sum();
                assert_eq!(dependencies, expected as u64);
                assert_eq!(longest_route as usize, longest);
            }
            (Verdict::Cycle(cycle), few) => {
                assert!(matches!(few, Verdict::Cycle(_)), "{few}");
                for (index, held) in cycle.iter().enumerate() {
                    let wanted = &cycle[(index + 1) % cycle.len()];
                    let key = |c: &Channel| {
                        (
                            topology.first_port[c.from.index()] + u32::from(c.port),
                            c.vc,
                        )
                    };
                    assert!(plain[&key(held)].contains(&key(wanted)), "{held} {wanted}");
                }
            }
            (other, _) => panic!("{other}"),
        }
    }
}

/// More lanes neither close a cycle nor open one.
#[test]
fn lanes_are_walked_one_by_one() {
    let torus = lattice(&[4, 3], true, false);
    let dragonfly = dragonfly(1, 3, 2, 7);
    let cases = [
        (&torus, Algorithm::DimensionOrder, None),
        (&torus, Algorithm::DimensionOrder, Some(1)),
        (&torus, Algorithm::MinimalAdaptive, None),
        (&torus, Algorithm::UpDown, None),
        (&dragonfly, Algorithm::Minimal, None),
        (&dragonfly, Algorithm::Minimal, Some(1)),
        (&dragonfly, Algorithm::Par(AdaptiveOptions::default()), None),
    ];
    for (topology, algorithm, virtual_channels) in cases {
        let spec = RoutingSpec {
            virtual_channels,
            ..RoutingSpec::new(algorithm)
        };
        let routing = AnyRouting::new(topology, &spec).unwrap();
        for more in [1, 4] {
            let lanes = routing.virtual_channels() + more;
            routing.dispatch(CompareLanes(topology, lanes));
        }
    }
}

#[test]
fn every_algorithm_is_deadlock_free_with_its_own_channels() {
    for topology in [
        dragonfly(1, 4, 2, 9),
        dragonfly(1, 4, 2, 5),
        grid_dragonfly(1, (2, 3), 1, 7),
        ring_dragonfly(1, 5, 1, 6),
        dragonfly(1, 5, 0, 1),
        dragonfly(1, 1, 4, 5),
    ] {
        for algorithm in algorithms() {
            let verdict = verdict(&topology, algorithm, None);
            assert!(verdict.is_deadlock_free(), "{algorithm:?}: {verdict}");
        }
    }
}

#[test]
fn one_channel_less_than_needed_can_deadlock() {
    // Merging the last two channels of each algorithm closes a cycle, so none
    // asks for more channels than it needs.
    let topology = dragonfly(1, 4, 2, 9);
    for algorithm in algorithms() {
        let routing = AnyRouting::new(&topology, &RoutingSpec::new(algorithm)).unwrap();
        let fewer = routing.virtual_channels() - 1;
        let found = verdict(&topology, algorithm, Some(fewer));
        assert!(!found.is_deadlock_free(), "{algorithm:?} on {fewer}");
    }
}

struct CheckCycle<'a>(&'a Topology);

impl RoutingTask for CheckCycle<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let topology = self.0;
        let found = verify(topology, routing).unwrap();
        let Verdict::Cycle(cycle) = &found else {
            panic!("{found}");
        };
        let (plain, _) = plain_dependencies(topology, routing);
        let key = |c: &Channel| {
            (
                topology.first_port[c.from.index()] + u32::from(c.port),
                c.vc,
            )
        };
        for (index, held) in cycle.iter().enumerate() {
            let wanted = &cycle[(index + 1) % cycle.len()];
            assert_eq!(held.to, wanted.from);
            assert!(plain[&key(held)].contains(&key(wanted)), "{held} {wanted}");
            let (port, _) = key(held);
            let Peer::Port(peer) = topology.peer[port as usize] else {
                panic!("{held} is not a link");
            };
            assert_eq!(topology.router_of_port(peer), held.to);
        }
        assert!(found.to_string().contains("(port "), "{found}");
    }
}

#[test]
fn a_single_channel_is_caught_with_a_cycle_of_real_dependencies() {
    for topology in [dragonfly(1, 3, 2, 7), grid_dragonfly(1, (2, 2), 1, 5)] {
        for algorithm in algorithms() {
            let spec = RoutingSpec {
                virtual_channels: Some(1),
                ..RoutingSpec::new(algorithm)
            };
            AnyRouting::new(&topology, &spec)
                .unwrap()
                .dispatch(CheckCycle(&topology));
        }
    }
}

#[test]
fn the_1056_node_machine_is_proven_under_every_algorithm() {
    let topology = dragonfly(4, 8, 4, 33);
    let longest = |algorithm| match verdict(&topology, algorithm, None) {
        Verdict::DeadlockFree { longest_route, .. } => longest_route,
        other => panic!("{algorithm:?}: {other}"),
    };
    let options = AdaptiveOptions::default();
    assert_eq!(longest(Algorithm::Minimal), 3);
    assert_eq!(longest(Algorithm::Valiant { via: Via::Group }), 5);
    assert_eq!(longest(Algorithm::Valiant { via: Via::Router }), 6);
    assert_eq!(longest(Algorithm::UgalLocal(options)), 5);
    assert_eq!(longest(Algorithm::UgalGlobal(options)), 5);
    assert_eq!(longest(Algorithm::Par(options)), 6);
}

/// A faulty algorithm: sends every packet to one port and channel.
struct Faulty(Option<Hop>);

impl Routing for Faulty {
    fn virtual_channels(&self) -> u8 {
        1
    }
    fn next_hop<V: RouterView>(&self, _: &mut V, _: RouterId, _: bool, _: &mut PacketRoute) -> Hop {
        self.0.unwrap_or(Hop { port: 0, vc: 0 })
    }
    fn possible_hops(
        &self,
        _: RouterId,
        _: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        out.extend(self.0.map(|hop| (hop, *route)));
    }
}

#[test]
fn faulty_algorithms_are_named() {
    // Ports of a router: 0 the node, 1 and 2 local, 3 global.
    let topology = dragonfly(1, 3, 1, 4);
    let error = |port, vc| verify(&topology, &Faulty(Some(Hop { port, vc }))).unwrap_err();
    assert!(matches!(
        verify(&topology, &Faulty(None)),
        Err(VerifyError::Stuck { .. })
    ));
    assert!(matches!(error(4, 0), VerifyError::Nowhere { port: 4, .. }));
    assert!(matches!(
        error(0, 0),
        VerifyError::WrongNode { port: 0, .. }
    ));
    assert!(matches!(
        error(1, 1),
        VerifyError::NoSuchChannel {
            vc: 1,
            channels: 1,
            ..
        }
    ));
    // Over port 1 for ever: 0 → 1 → 0, a route without end is a cycle.
    let forever = verify(&topology, &Faulty(Some(Hop { port: 1, vc: 0 }))).unwrap();
    assert!(matches!(forever, Verdict::Cycle(cycle) if cycle.len() == 2));
}

struct With<'a>(&'a Topology, Options);

impl RoutingTask for With<'_> {
    type Output = Result<Verdict, VerifyError>;
    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        verify_with(self.0, routing, &self.1, |_, _| ControlFlow::Continue(()))
    }
}

#[test]
fn what_is_too_large_is_refused_and_a_sample_is_no_proof() {
    let topology = dragonfly(1, 8, 4, 33);
    let routing = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::Minimal)).unwrap();
    let with = |limit, sample| {
        let options = Options {
            limit,
            sample,
            ..Options::default()
        };
        routing.dispatch(With(&topology, options))
    };
    let sample = |destinations| {
        let seed = 1;
        Some(Sample { destinations, seed })
    };
    let error = with(5_000, None).unwrap_err();
    assert!(matches!(
        error,
        VerifyError::TooLarge {
            destinations: 264,
            limit: 5_000,
            ..
        }
    ));
    assert!(error.to_string().contains("sample"), "{error}");
    let found = with(20_000, sample(10)).unwrap();
    assert!(!found.is_deadlock_free());
    assert!(found.to_string().starts_with("not proven"), "{found}");
    assert!(matches!(
        found,
        Verdict::NotProven {
            because: Unproven::Sample,
            destinations: 10,
            of: 264,
            longest_route: 3,
            ..
        }
    ));
    assert_eq!(with(10_000, sample(0)), Err(VerifyError::EmptySample));
}

/// All groups but the first are walked to together, which takes tens of times as long as between
/// two questions whether to go on. What is reported grows meanwhile, up to the last of them.
#[test]
fn progress_moves_while_many_groups_are_walked_to_together() {
    struct Telling<'a>(&'a Topology);
    impl RoutingTask for Telling<'_> {
        type Output = Vec<u64>;
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            let mut reported = Vec::new();
            let options = Options::default();
            let ended = verify_with(self.0, routing, &options, |done, _| {
                reported.push(done);
                ControlFlow::Continue(())
            });
            assert!(matches!(ended, Ok(Verdict::DeadlockFree { .. })));
            reported
        }
    }
    let topology = dragonfly(1, 8, 4, 33);
    let options = AdaptiveOptions {
        via: Via::Router,
        ..AdaptiveOptions::default()
    };
    let spec = RoutingSpec::new(Algorithm::Par(options));
    let routing = AnyRouting::new(&topology, &spec).unwrap();
    let reported = routing.dispatch(Telling(&topology));
    assert!(reported.is_sorted(), "{reported:?}");
    assert_eq!(reported.last(), Some(&264));
    let within = reported.iter().filter(|&&done| done % 8 != 0 && done < 263);
    assert!(within.count() >= 2, "{reported:?}");
}

/// 100 hops for each of 8 destinations, then a batch of 16: what took 250 hops of it stands for
/// two, and however many it takes, the last is left until the batch is done.
#[test]
fn what_is_under_way_is_told_by_the_hops_of_the_first_group() {
    let way = Way {
        per_destination: Some(100),
        begun_at: 800,
        before: 8,
        with_batch: 24,
    };
    assert_eq!(
        [800, 1_050, 2_399, 1 << 40].map(|hops| way.done(hops)),
        [8, 10, 23, 23]
    );
    assert_eq!(Way::default().done(1 << 40), 0);
}

#[test]
fn progress_is_told_and_a_walk_that_is_stopped_tells_what_it_found() {
    struct Stopping<'a>(&'a Topology, u64);
    impl RoutingTask for Stopping<'_> {
        type Output = (Vec<(u64, u64)>, Verdict);
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            let mut reported = Vec::new();
            let options = Options::default();
            let ended = verify_with(self.0, routing, &options, |done, of| {
                reported.push((done, of));
                if done < self.1 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            (reported, ended.unwrap())
        }
    }
    let topology = dragonfly(1, 8, 4, 33);
    let stopped = |virtual_channels, done| {
        let spec = RoutingSpec {
            virtual_channels,
            ..RoutingSpec::new(Algorithm::Minimal)
        };
        AnyRouting::new(&topology, &spec)
            .unwrap()
            .dispatch(Stopping(&topology, done))
    };
    // Group by group, of 8 routers each.
    let (reported, found) = stopped(None, 16);
    assert_eq!(reported, [(8, 264), (16, 264)]);
    let Verdict::NotProven {
        because: Unproven::Stopped,
        destinations: 16,
        of: 264,
        dependencies,
        ..
    } = found
    else {
        panic!("{found}");
    };
    assert!(dependencies > 0);
    assert!(found.to_string().starts_with("stopped"), "{found}");
    // A cycle is one however little has been walked.
    let (reported, found) = stopped(Some(1), 256);
    assert_eq!(reported.last(), Some(&(256, 264)));
    assert!(matches!(found, Verdict::Cycle(_)), "{found}");
}

#[test]
fn a_walk_that_takes_too_long_tells_what_it_found() {
    let topology = dragonfly(1, 8, 4, 33);
    let routing = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::Minimal)).unwrap();
    let options = Options {
        time: Some(Duration::ZERO),
        ..Options::default()
    };
    let found = routing.dispatch(With(&topology, options)).unwrap();
    assert!(!found.is_deadlock_free());
    assert!(matches!(
        found,
        Verdict::NotProven {
            because: Unproven::Time,
            destinations: 8,
            of: 264,
            ..
        }
    ));
}

struct Plainly<'a>(&'a Topology);

impl RoutingTask for Plainly<'_> {
    type Output = (usize, bool);
    /// The number of dependencies found by walking every packet by itself, and
    /// whether they close a cycle.
    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        let (mut waits, _) = plain_dependencies(self.0, routing);
        let count = waits.values().map(BTreeSet::len).sum();
        // Who waits for nobody that is left does not lie on a cycle.
        loop {
            let left: BTreeSet<Key> = waits.keys().copied().collect();
            let before = left.len();
            waits.retain(|_, wanted| wanted.iter().any(|key| left.contains(key)));
            if waits.len() == before {
                return (count, before > 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Following packets together is following each by itself: the same dependencies,
    /// and so the same answer, with too few virtual channels as well.
    #[test]
    fn free_of_deadlock_is_what_has_no_cycle_when_every_packet_is_followed_by_itself(
        topology in small_network(),
        spec in any_spec(),
        channels in prop::option::of(1u8..4),
    ) {
        let spec = RoutingSpec { virtual_channels: channels, ..spec };
        let Ok(routing) = AnyRouting::new(&topology, &spec) else { return Ok(()) };
        let found = routing.dispatch(With(&topology, Options::default())).unwrap();
        let (dependencies, cycle) = routing.dispatch(Plainly(&topology));
        prop_assert_eq!(found.is_deadlock_free(), !cycle, "{:?}: {}", spec, &found);
        if let Verdict::DeadlockFree { dependencies: found, .. } = found {
            prop_assert_eq!(found, dependencies as u64);
        }
    }
}

#[test]
fn the_real_theta_is_crossed_in_dimension_order_on_few_channels() {
    let Some(path) = shared_data("theta-topology/theta.interconnect") else {
        return;
    };
    let topology = CrayXcSpec {
        nodes_per_router: 4,
        links: CrayXcLinks {
            terminal: class("terminal", LinkKind::Terminal),
            green: class("green", LinkKind::Local),
            black: class("black", LinkKind::Local),
            blue: class("blue", LinkKind::Global),
        },
    }
    .import(&std::fs::read_to_string(path).unwrap())
    .unwrap();
    let routes = GroupedRoutes::new(&topology).unwrap();
    for (from, to) in [(0, 1), (3, 8), (7, 2)] {
        // 48 blue tiles per ordered pair of groups.
        assert_eq!(routes.global_links(from, to).len(), 48);
    }
    let routing = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::Minimal)).unwrap();
    // Dimension order needs one channel per traversal of a group.
    assert_eq!(routing.virtual_channels(), 2);
    let verdict = routing.dispatch(Verify(&topology));
    // Row, column, global, row, column.
    let Verdict::DeadlockFree { longest_route, .. } = verdict else {
        panic!("{verdict}");
    };
    assert_eq!(longest_route, 5);
}
