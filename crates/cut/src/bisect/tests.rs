use super::*;
use odonata_units::random::{Purpose, StreamKey};
use proptest::prelude::*;

fn stream(seed: u64) -> Stream {
    StreamKey::new(seed, Purpose::Mapping).stream(0)
}

/// Cut and sum of squared places of the second part, of three seeds.
const GOLDEN: [(u64, u64); 3] = [(2312, 1_477_548), (2164, 1_129_893), (2396, 1_272_627)];

/// A grid of `width` × `height` vertices, edges of weight 1.
fn grid(width: u32, height: u32) -> Graph {
    let at = |x: u32, y: u32| y * width + x;
    let across = (0..height).flat_map(|y| (1..width).map(move |x| (at(x - 1, y), at(x, y), 1)));
    let down = (1..height).flat_map(|y| (0..width).map(move |x| (at(x, y - 1), at(x, y), 1)));
    Graph::new(vec![1; (width * height) as usize], across.chain(down))
}

#[test]
fn a_grid_is_cut_across_its_short_side() {
    // 20 × 8: the halves of 80 vertices with least between them are 10 × 8
    // each, with 8 edges between.
    let graph = grid(20, 8);
    let found = bisect(
        &graph,
        Balance::halves(&graph),
        Effort::QUICK,
        &mut stream(1),
    );
    assert_eq!((found.cut, found.first_size), (8, 80));
    // A fifth of it: 4 × 8 at one end, again 8 edges.
    let found = bisect(&graph, Balance::exactly(32), Effort::QUICK, &mut stream(1));
    assert_eq!((found.cut, found.first_size), (8, 32));
}

#[test]
fn metis_takes_large_weights() {
    // Two triangles of weight 2^40 joined by an edge of weight 2^30.
    let heavy = 1u64 << 40;
    let inside = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)];
    let edges = inside.map(|(a, b)| (a, b, heavy));
    let graph = Graph::new(vec![1; 6], edges.into_iter().chain([(0, 5, 1 << 30)]));
    let proposed = propose(&graph, Balance::exactly(3), 1).expect("a proposal");
    assert_eq!(graph.cut(&proposed), 1 << 30);
}

#[test]
fn proposals_are_the_same_everywhere() {
    // METIS with its own random numbers and unfused sums, as
    // `.cargo/config.toml` asks for; built otherwise, it proposes other parts.
    let edges = (0..200u32).flat_map(|a| {
        (1..6).map(move |step| (a, (a * step + 7 * step) % 200, u64::from(a % 13 + step)))
    });
    let graph = Graph::new(vec![1; 200], edges);
    let sums: Vec<(u64, u64)> = (0..3)
        .map(|seed| {
            let second = propose(&graph, Balance::halves(&graph), seed).expect("a proposal");
            let places = second.iter().zip(1u64..).filter(|place| *place.0);
            (
                graph.cut(&second),
                places.map(|place| place.1 * place.1).sum(),
            )
        })
        .collect();
    assert_eq!(sums, GOLDEN);
}

#[test]
fn threads_do_not_disturb_each_other() {
    let graph = grid(30, 30);
    let once = |seed| {
        bisect(
            &graph,
            Balance::halves(&graph),
            Effort::QUICK,
            &mut stream(seed),
        )
    };
    let alone: Vec<Halves> = (0..4).map(once).collect();
    let together: Vec<Halves> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || once(seed))).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    });
    assert_eq!(alone, together);
}

proptest! {
    #[test]
    fn sizes_are_met_and_the_cut_is_that_of_the_parts(
        edges in prop::collection::vec((0u32..24, 0u32..24, 1u64..1000), 0..80),
        first in 0u64..=24,
        seed: u64,
    ) {
        let graph = Graph::new(vec![1; 24], edges);
        let found = bisect(&graph, Balance::exactly(first), Effort::QUICK, &mut stream(seed));
        let size = found.second.iter().filter(|&&second| !second).count() as u64;
        prop_assert_eq!(size, first);
        prop_assert_eq!(found.first_size, first);
        let mut cut = 0;
        for vertex in 0..24 {
            for (other, weight) in graph.edges(vertex) {
                if vertex < other && found.second[vertex] != found.second[other] {
                    cut += weight;
                }
            }
        }
        prop_assert_eq!(found.cut, cut);
    }
}
