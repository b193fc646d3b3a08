//! Mappings of applications that are known, on networks small enough to reason about.

use super::super::*;
use odonata_units::random::{Purpose, StreamKey};
use proptest::prelude::*;

const STARTS: [Start; 5] = [
    Start::Linear,
    Start::Random,
    Start::Greedy,
    Start::GraphBisection,
    Start::RandomClusters,
];

fn stream(seed: u64) -> Stream {
    StreamKey::new(seed, Purpose::Mapping).stream(0)
}

/// `routers` routers in a line with `nodes` nodes each; a byte takes 1 ns on
/// every link. Links between routers are the first of the routes' links, those
/// up the line before those down.
fn line(routers: u32, nodes: u32) -> JobNetwork {
    let router_of_node: Vec<u32> = (0..routers * nodes).map(|node| node / nodes).collect();
    let places = Places::new(routers as usize, &router_of_node);
    let distance = |a: u32, b: u32| a.abs_diff(b) as f32;
    let between = (0..routers * routers)
        .map(|pair| distance(pair / routers, pair % routers))
        .collect();
    let links = 2 * (routers - 1);
    // Neighbouring links are parts, so that ways have pieces in common.
    let parts = (0..links).map(|link| link / 2).collect();
    let mut routes = RoutesBuilder::new(places.clone(), parts, vec![1.0; links as usize]);
    for a in 0..routers {
        for b in 0..routers {
            let links = if a < b {
                (a..b).collect::<Vec<_>>()
            } else {
                (b..a).map(|link| routers - 1 + link).collect()
            };
            for link in links {
                routes.add(a as usize, b as usize, link, 1.0);
            }
        }
    }
    let bandwidths = (1..routers).map(|router| (router - 1, router, 1_000_000_000));
    JobNetwork::new(routers as usize, bandwidths, router_of_node)
        .with_distances(Distances::new(places, between, 2.0))
        .with_routes(routes.finish())
}

/// Who talks to whom on a ring of `ranks` ranks, 10 bytes each, after the ranks
/// were renumbered by a step that has no factor in common with their number.
fn ring(ranks: u32, step: u32) -> Graph {
    let at = |place: u32| place % ranks * step % ranks;
    Graph::new(
        vec![1; ranks as usize],
        (0..ranks).map(|place| (at(place), at(place + 1), 10)),
    )
}

fn hop_bytes(application: &Graph, network: &JobNetwork, nodes: &[NodeId]) -> f64 {
    let distances = network.distances().unwrap();
    let mut sum = 0.0;
    for rank in 0..application.vertices() {
        for (other, weight) in application.edges(rank).filter(|edge| edge.0 > rank) {
            let (a, b) = (nodes[rank].index(), nodes[other].index());
            if a != b {
                let place = |node: usize| distances.places().of(network.router_of_node()[node]);
                let far = distances.between(place(a), place(b)) + distances.terminals();
                sum += weight as f64 * far;
            }
        }
    }
    sum
}

fn busiest(application: &Graph, network: &JobNetwork, nodes: &[NodeId]) -> f64 {
    let routes = network.routes().unwrap();
    let mut load = vec![0.0; routes.byte_ns().len()];
    for rank in 0..application.vertices() {
        for (other, weight) in application.edges(rank) {
            let place = |rank: usize| {
                let router = network.router_of_node()[nodes[rank].index()];
                routes.places().of(router)
            };
            for (link, share) in routes.between(place(rank), place(other)) {
                load[link as usize] += weight as f64 / 2.0 * f64::from(share);
            }
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

fn mapped(
    application: &Graph,
    network: &JobNetwork,
    per_node: u32,
    start: Start,
    refine: Option<Objective>,
) -> Mapping {
    let nodes: Vec<NodeId> = (0..network.router_of_node().len())
        .map(NodeId::from_index)
        .collect();
    let how = Optimisation { start, refine };
    optimise_mapping(application, network, &nodes, per_node, how, &mut stream(1)).unwrap()
}

#[test]
fn a_ring_is_folded_onto_a_line() {
    // 8 routers of 2 nodes, 2 ranks each: 32 ranks of a scrambled ring. Folded,
    // the ring passes each of the 7 gaps between routers twice, there and back.
    // It leaves a node for another 16 times at least, for each of which two links
    // of nodes count: (7 · 2 + 16 · 2) · 10 bytes, less if a turn stays in a node.
    let network = line(8, 2);
    let application = ring(32, 7);
    let folded = f64::from((7 * 2 + 16 * 2) * 10);
    let linear = mapped(&application, &network, 2, Start::Linear, None);
    assert!(hop_bytes(&application, &network, linear.nodes()) > 3.0 * folded);
    let bisected = mapped(&application, &network, 2, Start::GraphBisection, None);
    let found = hop_bytes(&application, &network, bisected.nodes());
    assert!(found <= 1.6 * folded, "{found} for {folded}");
    let refined = mapped(
        &application,
        &network,
        2,
        Start::GraphBisection,
        Some(Objective::HopBytes),
    );
    let better = hop_bytes(&application, &network, refined.nodes());
    assert!(
        better <= found && better <= 1.4 * folded,
        "{better} for {folded}"
    );
}

#[test]
fn friends_share_a_node() {
    // Pairs that talk to nobody else: none of what they say should leave a node.
    let network = line(4, 2);
    let application = Graph::new(vec![1; 16], (0..8).map(|pair| (pair, pair + 8, 100)));
    for start in [Start::Greedy, Start::GraphBisection] {
        let mapping = mapped(&application, &network, 2, start, None);
        assert_eq!(
            hop_bytes(&application, &network, mapping.nodes()),
            0.0,
            "{start:?}"
        );
    }
}

#[test]
fn greedy_starts_with_the_heaviest() {
    // A star around rank 5; on a line of three routers with two nodes each the
    // first rank gets the first node, its heaviest partner the node beside it,
    // the next two the next router, and so on.
    let network = line(3, 2);
    let weights = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)];
    let star = Graph::new(vec![1; 6], weights.map(|(rank, weight)| (5, rank, weight)));
    let mapping = mapped(&star, &network, 1, Start::Greedy, None);
    let nodes: Vec<u32> = mapping.nodes().iter().map(|node| node.0).collect();
    assert_eq!(nodes, [5, 4, 3, 2, 1, 0]);
}

#[test]
fn swaps_lower_what_they_are_to_lower() {
    let network = line(6, 2);
    for step in [1, 5, 7] {
        let application = ring(12, step);
        let random = mapped(&application, &network, 1, Start::Random, None);
        let near = mapped(
            &application,
            &network,
            1,
            Start::Random,
            Some(Objective::HopBytes),
        );
        // One rank to a node: all of the 12 edges pass the links of two nodes
        // whatever the mapping, 240; what is left can become less.
        let between =
            |mapping: &Mapping| hop_bytes(&application, &network, mapping.nodes()) - 240.0;
        let (before, after) = (between(&random), between(&near));
        assert!(after < 0.7 * before, "{before} to {after}");
        let even = mapped(
            &application,
            &network,
            1,
            Start::Random,
            Some(Objective::LinkLoad),
        );
        // At best the ring passes every link of the line once each way: 10 bytes
        // of each of the two edges that lie across it, half of them each way.
        let (before, after) = (
            busiest(&application, &network, random.nodes()),
            busiest(&application, &network, even.nodes()),
        );
        assert!(after < before && after <= 20.0, "{before} to {after}");
    }
}

#[test]
fn no_swap_lowers_link_load_by_more_than_its_bound() {
    use swap::Measure;
    let network = line(7, 2);
    let application = ring(14, 5);
    let mut random = stream(3);
    let mut node_of_rank: Vec<u32> = (0..14).collect();
    random.shuffle(&mut node_of_rank);
    let routes = network.routes().unwrap();
    let load = |places: &[u32]| swap::LinkLoad::new(&application, &network, routes, 1.0, places);
    let mut measure = load(&node_of_rank);
    let mut near = 0;
    for round in 0..40 {
        let (mut best, mut pairs) = ((0.0, 0, 1), 0);
        measure.look_anew();
        for a in 0..14 {
            for b in 0..a {
                let bound = measure.bound(&application, &node_of_rank, a, b);
                let change = measure.change(&application, &node_of_rank, a, b);
                assert!(bound <= change, "round {round}: {bound} above {change}");
                near += u32::from(bound > change - 0.5);
                pairs += 1;
                if change < best.0 {
                    best = (change, a, b);
                }
            }
        }
        assert_eq!(pairs, 91);
        // The best swap, or any, so that loads and prices go on changing.
        let (_, a, b) = if round % 2 == 0 {
            best
        } else {
            (0.0, round % 14, (round + 5) % 14)
        };
        measure.accept(&application, &node_of_rank, a, b);
        node_of_rank.swap(a, b);
    }
    // A bound that is never near is none.
    assert!(near > 500, "{near}");
}

proptest! {
    /// Whatever the parts, the pieces of a pair together are what was said of it, and pieces
    /// that are alike are one.
    #[test]
    fn pieces_are_the_ways(
        said in prop::collection::vec((0usize..4, 0usize..4, 0u32..9, 1u32..8), 0..80),
        parts in prop::collection::vec(0u32..3, 9),
    ) {
        let places = Places::new(4, &[0, 1, 2, 3]);
        let mut said = said;
        said.sort_by_key(|&(from, to, ..)| (from, to));
        let mut builder = RoutesBuilder::new(places, parts.clone(), vec![1.0; 9]);
        let mut shares = [[[0.0f64; 9]; 4]; 4];
        for (from, to, link, eighths) in said {
            let share = f64::from(eighths) / 8.0;
            builder.add(from, to, link, share);
            shares[from][to][link as usize] += share;
        }
        let routes = builder.finish();
        for (from, row) in shares.iter().enumerate() {
            for (to, wanted) in row.iter().enumerate() {
                let mut found = [0.0; 9];
                for (link, share) in routes.between(from, to) {
                    prop_assert_eq!(found[link as usize], 0.0);
                    found[link as usize] = f64::from(share);
                }
                prop_assert_eq!(&found, wanted);
                for &piece in routes.pieces(from, to) {
                    let links = routes.piece(piece);
                    prop_assert!(links.iter().all(|one| parts[one.0 as usize] == parts[links[0].0 as usize]));
                }
            }
        }
        for a in 0..routes.different() as u32 {
            for b in 0..a {
                prop_assert_ne!(routes.piece(a), routes.piece(b));
            }
        }
    }
}

#[test]
fn random_clusters_are_kept_together_and_go_anywhere() {
    // 32 ranks of a scrambled ring, two to a node: every node has neighbours of the ring
    // if clusters are right. Nodes are as far from each other as random ones on a line of
    // 8 routers, not as in a folded ring.
    let network = line(8, 2);
    let application = ring(32, 7);
    let mut between = 0;
    let mut apart = 0.0;
    let draws = 200;
    for seed in 0..draws {
        let nodes: Vec<NodeId> = (0..16).map(NodeId::from_index).collect();
        let how = Optimisation {
            start: Start::RandomClusters,
            refine: None,
        };
        let mapping =
            optimise_mapping(&application, &network, &nodes, 2, how, &mut stream(seed)).unwrap();
        for rank in 0..32 {
            for (other, _) in application.edges(rank).filter(|edge| edge.0 > rank) {
                let [a, b] = [rank, other].map(|rank| mapping.nodes()[rank].0);
                if a != b {
                    between += 1;
                    apart += f64::from((a / 2).abs_diff(b / 2));
                }
            }
        }
    }
    // Pairs of neighbours leave half of the ring's 32 edges between nodes.
    assert_eq!(between, draws * 16);
    // Two different ones of 16 nodes share a router in 1 of 15 cases; else they are
    // (8 + 1) / 3 hops apart on average.
    let expected = 14.0 / 15.0 * 3.0;
    let mean = apart / between as f64;
    assert!((mean - expected).abs() < 0.1, "{mean} for {expected}");
}

#[test]
fn what_is_not_known_is_asked_for() {
    let network = JobNetwork::new(2, [(0, 1, 5)], vec![0, 1]);
    let application = ring(2, 1);
    let nodes = [NodeId(0), NodeId(1)];
    let found = |start, refine| {
        let how = Optimisation { start, refine };
        optimise_mapping(&application, &network, &nodes, 1, how, &mut stream(1))
    };
    assert!(found(Start::GraphBisection, None).is_ok());
    assert_eq!(found(Start::Greedy, None), Err(MappingError::NoDistances));
    assert_eq!(
        found(Start::Linear, Some(Objective::HopBytes)),
        Err(MappingError::NoDistances)
    );
    assert!(matches!(
        optimise_mapping(
            &ring(5, 1),
            &network,
            &nodes,
            2,
            Optimisation {
                start: Start::Linear,
                refine: None
            },
            &mut stream(1)
        ),
        Err(MappingError::TooFewNodes { needed: 3, .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nodes_are_as_full_as_in_a_linear_mapping_and_seeds_decide(
        ranks in 2u32..40,
        per_node in 1u32..5,
        spare in 0u32..4,
        edges in prop::collection::vec((0u32..40, 0u32..40, 1u64..1000), 0..80),
        start in 0..STARTS.len(),
        refine in prop_oneof![
            Just(None), Just(Some(Objective::HopBytes)), Just(Some(Objective::LinkLoad))
        ],
        seed: u64,
    ) {
        let routers = nodes_needed(ranks, per_node) + spare;
        let network = line(routers.max(2), 1);
        let nodes: Vec<NodeId> =
            (0..network.router_of_node().len()).map(|n| NodeId(100 + n as u32)).collect();
        let edges = edges.into_iter().map(|(a, b, w)| (a % ranks, b % ranks, w));
        let application = Graph::new(vec![1; ranks as usize], edges);
        let how = Optimisation { start: STARTS[start], refine };
        let map = || {
            optimise_mapping(&application, &network, &nodes, per_node, how, &mut stream(seed))
                .unwrap()
        };
        let mapping = map();
        prop_assert_eq!(&mapping, &map());
        let linear =
            map_ranks(ranks, &nodes, per_node, &MappingPolicy::Linear, &mut stream(seed)).unwrap();
        // Clusters may put the node that is not full elsewhere.
        let counts = |mapping: &Mapping| {
            let mut counts = std::collections::BTreeMap::new();
            for &node in mapping.nodes() {
                *counts.entry(node).or_insert(0) += 1;
            }
            counts
        };
        let (found, expected) = (counts(&mapping), counts(&linear));
        prop_assert!(found.keys().eq(expected.keys()));
        if [Start::GraphBisection, Start::RandomClusters].contains(&how.start) {
            let sorted = |counts: std::collections::BTreeMap<NodeId, u32>| {
                let mut counts: Vec<u32> = counts.into_values().collect();
                counts.sort_unstable();
                counts
            };
            prop_assert_eq!(sorted(found), sorted(expected));
        } else {
            prop_assert_eq!(found, expected);
        }
    }
}
