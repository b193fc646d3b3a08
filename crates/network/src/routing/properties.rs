//! Properties that hold for every algorithm on every network it accepts, over
//! random networks: every hop taken is one of the possible ones and every
//! packet arrives (the walk checks both), no route is longer than the
//! algorithm's bound, and the channel dependency graph has no cycle.

use odonata_units::{GroupId, NodeId, PortId};
use proptest::prelude::*;
use proptest::sample::select;

use super::testing::{
    arranged, dragonfly, dragonfly_plus, grid_dragonfly, lattice, random_walks, ring_dragonfly,
};
use super::{
    AdaptiveOptions, Algorithm, AlgorithmName, AnyRouting, Choice, FparRules, Keys, MinimalLinks,
    Paths, Queue, Routing, RoutingError, RoutingSpec, RoutingTask, Usual, Via, Weighting,
};
use crate::topology::{Arrangement, LinkClassId, Peer, Topology, Wiring};
use crate::verify::{Verdict, verify};

/// Groups of 1 to 4 routers with any connected wiring inside, and 1 to 3 links
/// per pair of groups between any of their routers; 0 to 2 nodes per router.
fn irregular() -> impl Strategy<Value = Topology> {
    (
        proptest::collection::vec(1u32..=4, 1..5),
        proptest::collection::vec(any::<u32>(), 200),
    )
        .prop_map(|(sizes, draws)| {
            let mut draws = draws.into_iter().cycle();
            let mut below = move |bound: u32| draws.next().unwrap_or(0) % bound;
            let mut links: Vec<(u32, u32)> = Vec::new();
            let mut first = vec![0];
            for &size in &sizes {
                let start = first[first.len() - 1];
                // A random tree, and then some.
                links.extend((1..size).map(|r| (start + below(r), start + r)));
                for _ in 0..below(3) {
                    let (a, b) = (start + below(size), start + below(size));
                    links.extend((a != b).then_some((a, b)));
                }
                first.push(start + size);
            }
            for a in 0..sizes.len() {
                for b in a + 1..sizes.len() {
                    for _ in 0..=below(3) {
                        links.push((first[a] + below(sizes[a]), first[b] + below(sizes[b])));
                    }
                }
            }
            let routers = first[sizes.len()];
            let nodes: Vec<u32> = (0..routers)
                .map(|r| below(3).max(u32::from(r == 0)))
                .collect();
            wire(&sizes, &nodes, &links)
        })
}

/// A network of groups of `sizes` routers: router by router first the nodes,
/// then the links in their order.
fn wire(sizes: &[u32], nodes: &[u32], links: &[(u32, u32)]) -> Topology {
    let classes = arranged(1, 2, 1, 2, Arrangement::Absolute).link_classes;
    let group_of_router: Vec<GroupId> = (0..)
        .zip(sizes)
        .flat_map(|(group, &size)| vec![GroupId(group); size as usize])
        .collect();
    let mut ports: Vec<Vec<(Peer, u8)>> = Vec::new();
    let mut node = 0;
    for &count in nodes {
        ports.push(
            (node..node + count)
                .map(|n| (Peer::Node(NodeId(n)), 0))
                .collect(),
        );
        node += count;
    }
    // Peers first as (router, number of the port there), then as global numbers.
    let mut ends = Vec::new();
    for &(a, b) in links {
        let global = group_of_router[a as usize] != group_of_router[b as usize];
        let end = |ports: &mut Vec<Vec<(Peer, u8)>>, router: u32| {
            let list = &mut ports[router as usize];
            list.push((Peer::Unconnected, 1 + u8::from(global)));
            (router as usize, list.len() - 1)
        };
        ends.push((end(&mut ports, a), end(&mut ports, b)));
    }
    let mut first_port = vec![0];
    for list in &ports {
        first_port.push(first_port[first_port.len() - 1] + list.len() as u32);
    }
    let number = |(router, slot): (usize, usize)| PortId(first_port[router] + slot as u32);
    for (a, b) in ends {
        ports[a.0][a.1].0 = Peer::Port(number(b));
        ports[b.0][b.1].0 = Peer::Port(number(a));
    }
    let (peer, class_of_port) = ports
        .into_iter()
        .flatten()
        .map(|(peer, class)| (peer, LinkClassId(class)))
        .unzip();
    Topology::new(Wiring {
        title: "random".into(),
        link_classes: classes,
        group_of_router,
        position_in_group: vec![],
        first_port,
        peer,
        class_of_port,
        may_be_disconnected: false,
        one_way: false,
    })
    .expect("sound wiring")
}

pub(crate) fn network() -> impl Strategy<Value = Topology> {
    let arrangement = prop_oneof![
        Just(Arrangement::Absolute),
        Just(Arrangement::Relative),
        Just(Arrangement::Circulant),
    ];
    prop_oneof![
        (1u32..3, 1u32..6, 1u32..4, 0u32..100, arrangement).prop_map(
            |(p, a, h, g, arrangement)| {
                arranged(p, a, h, 1 + g % (a * h + 1).min(9), arrangement)
            }
        ),
        (1u32..4, 2u32..4, 1u32..3, 0u32..100).prop_map(|(rows, columns, h, g)| {
            let groups = 2 + g % (rows * columns * h).min(4);
            grid_dragonfly(1, (rows, columns), h, groups)
        }),
        (3u32..7, 1u32..3, 0u32..100).prop_map(|(a, h, g)| ring_dragonfly(
            1,
            a,
            h,
            2 + g % (a * h).min(4)
        )),
        (1u32..5, 1u32..5, 1u32..3, 1u32..5, 0usize..100).prop_map(|(leaves, spines, p, h, g)| {
            let closing: Vec<u32> = (1..=spines * h)
                .filter(|others| (spines * h).is_multiple_of(*others) && *others < 7)
                .map(|others| others + 1)
                .collect();
            dragonfly_plus(leaves, spines, p, h, closing[g % closing.len()])
        }),
        irregular(),
        (
            proptest::collection::vec(1u32..5, 1..3),
            any::<bool>(),
            any::<bool>()
        )
            .prop_map(|(size, wrap, hyperx)| lattice(&size, wrap, hyperx)),
    ]
}

pub(crate) fn spec() -> impl Strategy<Value = RoutingSpec> {
    let via = select(Via::ALL);
    let weighting = prop_oneof![
        Just(Weighting::Hops),
        Just(Weighting::Fixed {
            minimal: 1,
            non_minimal: 2
        }),
    ];
    let queue = select(Queue::ALL);
    let options = (
        via,
        1u32..4,
        -2000i64..2000,
        weighting,
        any::<bool>(),
        queue,
    )
        .prop_map(
            |(via, candidates, threshold_bytes, weighting, detours_in_group, queue)| {
                AdaptiveOptions {
                    via,
                    candidates,
                    threshold_bytes,
                    weighting,
                    detours_in_group,
                    queue,
                }
            },
        );
    let algorithm = (select(AlgorithmName::ALL), options, 0u32..=10);
    let algorithm = algorithm.prop_map(|(name, adaptive, tenths)| drawn(name, adaptive, tenths));
    let links = select(MinimalLinks::ALL);
    // By destination only some choose, which have tests of their own.
    let choice = prop_oneof![Just(Choice::Random), Just(Choice::ByLoad)];
    let paths = prop_oneof![
        2 => Just(Paths::Groups),
        1 => Just(Paths::ShortestPath),
        1 => Just(Paths::UpDown),
        1 => Just(Paths::DimensionOrder),
    ];
    (algorithm, links, choice, paths).prop_map(|(algorithm, links, choice, paths)| {
        let mut spec = RoutingSpec {
            links,
            choice,
            ..RoutingSpec::new(algorithm)
        };
        match &mut spec.algorithm {
            Algorithm::Minimal | Algorithm::Ecmp(_) => spec.paths = paths,
            Algorithm::Steered { threshold_bytes } => {
                // A queue of less than nothing there is not.
                *threshold_bytes = threshold_bytes.abs();
                spec.choice = Choice::Random;
            }
            Algorithm::Valiant { via }
            | Algorithm::UgalLocal(AdaptiveOptions { via, .. })
            | Algorithm::UgalGlobal(AdaptiveOptions { via, .. })
                if paths == Paths::Groups || *via != Via::Group =>
            {
                spec.paths = paths;
            }
            _ => {}
        }
        spec
    })
}

/// The algorithm of a name with drawn parameters, a tenth of it being the one of them that is a share.
fn drawn(name: AlgorithmName, adaptive: AdaptiveOptions, tenths: u32) -> Algorithm {
    let network = dragonfly(1, 2, 1, 2);
    let spec = Keys::from(name).spec(&Usual::new(&network));
    let mut algorithm = spec.expect("keys as by default").algorithm;
    match &mut algorithm {
        Algorithm::Valiant { via } => *via = adaptive.via,
        Algorithm::UgalLocal(options)
        | Algorithm::UgalGlobal(options)
        | Algorithm::Par(options) => {
            *options = adaptive;
        }
        Algorithm::Fpar { threshold, rules } => {
            *threshold = f64::from(tenths) / 10.0;
            *rules = FparRules::ALL[tenths as usize % 3];
        }
        Algorithm::QAdaptive(options) => options.exploration = f64::from(tenths) / 20.0,
        Algorithm::Steered { threshold_bytes }
        | Algorithm::DimWar { threshold_bytes }
        | Algorithm::Dal { threshold_bytes } => *threshold_bytes = adaptive.threshold_bytes,
        Algorithm::Tago { detours_in_group } => *detours_in_group = adaptive.detours_in_group,
        Algorithm::Ecmp(options) => options.same_hash = adaptive.detours_in_group,
        _ => {}
    }
    algorithm
}

/// Most router-router hops of a route, from the algorithm's definition: a
/// traversal of a group has at most as many as the group has across.
fn bound(topology: &Topology, spec: &RoutingSpec) -> u32 {
    let algorithm = &spec.algorithm;
    // No router twice on the way up, nor on the way down.
    let up_down = 2 * (topology.routers() as u32 - 1);
    let path = match spec.paths {
        Paths::Groups => return bound_over_groups(topology, algorithm, up_down),
        Paths::UpDown => up_down,
        Paths::ShortestPath | Paths::DimensionOrder => topology.describe().diameter,
    };
    match algorithm {
        Algorithm::Minimal | Algorithm::Ecmp(_) => path,
        _ => 2 * path,
    }
}

fn bound_over_groups(topology: &Topology, algorithm: &Algorithm, up_down: u32) -> u32 {
    let routes = super::grouped::GroupedRoutes::new(topology).expect("a grouped network");
    let across = (0..routes.groups())
        .flat_map(|group| {
            let size = routes.group_size(group);
            (0..size * size).map(move |pair| (group, pair / size, pair % size))
        })
        .map(|(group, from, to)| routes.local_distance(group, from, to))
        .max()
        .unwrap_or(0);
    let non_minimal = |via: Via| match via {
        Via::Group => 3 * across + 2,
        Via::Router | Via::Node => 4 * across + 2,
    };
    match algorithm {
        // Groups are all-to-all for TAGO; a detour inside one has two hops.
        Algorithm::Minimal
        | Algorithm::ShortestPath
        | Algorithm::Ecmp(_)
        | Algorithm::Tago { .. } => 2 * across + 1,
        Algorithm::Valiant { via } => non_minimal(*via),
        Algorithm::UgalLocal(options) | Algorithm::UgalGlobal(options) => non_minimal(options.via),
        Algorithm::Par(options) => across + non_minimal(options.via),
        Algorithm::DimensionOrder | Algorithm::MinimalAdaptive | Algorithm::Dfsssp => {
            topology.describe().diameter
        }
        // Twice in every dimension.
        Algorithm::DimWar { .. } | Algorithm::Dal { .. } => 2 * topology.describe().diameter,
        Algorithm::Fpar { .. } => 6,
        Algorithm::QAdaptive(_) => 5,
        // `up-down`, `steered`, and any that has no closer bound here.
        _ => up_down,
    }
}

struct Check<'a>(&'a Topology, u32, u64);

impl RoutingTask for Check<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let Self(topology, bound, seed) = self;
        let verdict = verify(topology, routing).expect("sound routes");
        let Verdict::DeadlockFree { longest_route, .. } = verdict else {
            panic!("{verdict}");
        };
        assert!(longest_route <= bound, "{longest_route} hops of {bound}");
        for steps in random_walks(topology, routing, seed, 200) {
            assert!(steps.len() as u32 <= longest_route);
        }
    }
}

#[test]
fn groups_of_different_depth_share_the_channels() {
    // Group 0 is a line of four routers, three hops across, which needs one
    // channel; group 1 is a ring of four, two hops across, which needs two.
    // So there are two classes of two channels, and the first two hops along
    // the line share the first of a class.
    let line = [(0, 1), (1, 2), (2, 3)];
    let ring = [(4, 5), (5, 6), (6, 7), (7, 4)];
    let links: Vec<_> = line.into_iter().chain(ring).chain([(0, 4)]).collect();
    let topology = wire(&[4, 4], &[1; 8], &links);
    let spec = RoutingSpec::new(Algorithm::Minimal);
    let routing = AnyRouting::new(&topology, &spec).expect("groups that are joined");
    assert_eq!(routing.virtual_channels(), 4);
    // Along the line, over the global link, half around the ring.
    routing.dispatch(Check(&topology, 3 + 1 + 2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_arrives_within_the_bound_and_nothing_can_deadlock(
        topology in network(),
        spec in spec(),
        seed in any::<u64>(),
    ) {
        let routing = match AnyRouting::new(&topology, &spec) {
            Err(RoutingError::NotLeafSpine { .. }) if topology.leaf_spine().is_err() => return Ok(()),
            Err(RoutingError::NotAllToAll { .. } | RoutingError::NoWayOn { .. }) => return Ok(()),
            Err(RoutingError::RowsNotComplete { .. } | RoutingError::NoTables) => return Ok(()),
            Err(RoutingError::NotLattice { .. }) if topology.lattice().is_err() => return Ok(()),
            routing => routing.expect("an algorithm that fits"),
        };
        let bound = bound(&topology, &spec);
        routing.dispatch(Check(&topology, bound, seed));
    }
}
