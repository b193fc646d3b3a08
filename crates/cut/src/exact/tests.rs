use super::*;
use crate::bisect::{Effort, bisect};
use odonata_units::random::{Purpose, StreamKey};
use proptest::prelude::*;

const LIMIT: u64 = 1_000_000;

/// Any balanced halves, to begin with.
fn known(graph: &Graph, balance: Balance) -> Halves {
    let nothing = Effort {
        proposals: 0,
        random: 20,
    };
    let mut random = StreamKey::new(1, Purpose::Mapping).stream(0);
    bisect(graph, balance, nothing, &mut random)
}

/// The least cut of all balanced parts, by trying them all.
fn least(graph: &Graph, balance: Balance) -> Option<u64> {
    (0u32..1 << graph.vertices())
        .filter_map(|parts| {
            let second: Vec<bool> = (0..graph.vertices()).map(|v| parts >> v & 1 == 1).collect();
            let sizes = graph.sizes().iter().zip(&second);
            let first = sizes
                .filter(|size| !size.1)
                .map(|size| u64::from(*size.0))
                .sum();
            balance.allows(first).then(|| graph.cut(&second))
        })
        .min()
}

#[test]
fn a_ring_of_cliques_is_cut_between_them() {
    // Six complete graphs of four, each joined to the next by one edge: two
    // edges of the ring are cut, and no clique.
    let mut edges = vec![];
    for clique in 0..6u32 {
        for a in 0..4 {
            edges.extend((0..a).map(|b| (4 * clique + a, 4 * clique + b, 3)));
        }
        edges.push((4 * clique, (4 * clique + 5) % 24, 1));
    }
    let graph = Graph::new(vec![1; 24], edges);
    // Blocks that have nothing to do with the cliques.
    for blocks in [
        (0..24).map(|v| v / 4).collect::<Vec<u32>>(),
        (0..24).map(|v| v % 5).collect(),
        vec![0; 24],
    ] {
        let balance = Balance::halves(&graph);
        // Every other vertex: balanced, and far from the best.
        let second: Vec<bool> = (0..24).map(|vertex| vertex % 2 == 1).collect();
        let start = Halves {
            cut: graph.cut(&second),
            first_size: 12,
            second,
        };
        let found = least_cut(&graph, &blocks, balance, start, LIMIT);
        assert!(found.is_proven);
        assert_eq!((found.halves.cut, found.halves.first_size), (2, 12));
    }
}

#[test]
fn a_search_that_is_cut_short_proves_nothing() {
    let edges = (0..30u32).flat_map(|a| (0..a).map(move |b| (a, b, u64::from(a * b % 7 + 1))));
    let graph = Graph::new(vec![1; 30], edges);
    let balance = Balance::halves(&graph);
    let start = known(&graph, balance);
    let blocks: Vec<u32> = (0..30).map(|v| v / 5).collect();
    let found = least_cut(&graph, &blocks, balance, start.clone(), 50);
    assert!(!found.is_proven);
    assert!(found.halves.cut <= start.cut);
    assert_eq!(found.halves.cut, graph.cut(&found.halves.second));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn nothing_is_less_than_what_is_proven(
        sizes in prop::collection::vec(0u32..4, 2..11),
        edges in prop::collection::vec((0u32..11, 0u32..11, 1u64..50), 0..40),
        blocks in prop::collection::vec(0u32..4, 11),
    ) {
        let vertices = sizes.len() as u32;
        let edges = edges.into_iter().map(|(a, b, w)| (a % vertices, b % vertices, w));
        let graph = Graph::new(sizes, edges);
        let balance = Balance::halves(&graph);
        let start = known(&graph, balance);
        prop_assume!(balance.allows(start.first_size));
        let blocks = &blocks[..vertices as usize];
        let found = least_cut(&graph, blocks, balance, start, LIMIT);
        prop_assert!(found.is_proven);
        prop_assert_eq!(Some(found.halves.cut), least(&graph, balance));
        prop_assert_eq!(graph.cut(&found.halves.second), found.halves.cut);
        prop_assert!(balance.allows(found.halves.first_size));
    }
}
