//! Many parts, by cutting in two again and again.

use odonata_units::random::Stream;

use crate::bisect::{Effort, bisect};
use crate::graph::Graph;
use crate::refine::Balance;

/// Splits a graph whose vertices all have size 1 into parts of exactly these
/// sizes, with little weight between them: into the first half of the parts and
/// the rest, then each of those again (recursive bisection). Parts of size 0 stay
/// empty.
///
/// Returns the part of each vertex. Shape: vertices.
///
/// # Panics
/// If the sizes do not sum to the number of vertices, or a vertex has another size.
pub fn partition(graph: &Graph, sizes: &[u32], effort: Effort, random: &mut Stream) -> Vec<u32> {
    let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    assert_eq!(total, graph.vertices() as u64, "parts for every vertex");
    assert!(
        graph.sizes().iter().all(|&size| size == 1),
        "vertices of size 1"
    );
    let mut part_of = vec![0u32; graph.vertices()];
    // Vertices still to be split, and the parts (first, one past the last) that they fill.
    let everything: Vec<u32> = (0..graph.vertices() as u32).collect();
    let mut open: Vec<(Vec<u32>, usize, usize)> = vec![(everything, 0, sizes.len())];
    while let Some((vertices, first, end)) = open.pop() {
        if vertices.is_empty() {
            continue;
        }
        if end - first == 1 {
            for &vertex in &vertices {
                part_of[vertex as usize] = first as u32;
            }
            continue;
        }
        let middle = first + (end - first) / 2;
        let wanted: u64 = sizes[first..middle]
            .iter()
            .map(|&size| u64::from(size))
            .sum();
        let inner = graph.induced(&vertices);
        let halves = bisect(&inner, Balance::exactly(wanted), effort, random);
        let side = |second: bool| -> Vec<u32> {
            let sides = vertices.iter().zip(&halves.second);
            sides
                .filter(|side| *side.1 == second)
                .map(|side| *side.0)
                .collect()
        };
        open.push((side(true), middle, end));
        open.push((side(false), first, middle));
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::random::{Purpose, StreamKey};

    #[test]
    fn cliques_stay_whole() {
        // Five cliques of 4 and one of 2, each joined to the next by a thin
        // edge, the vertices dealt out so that numbers do not help.
        let sizes = [4u32, 4, 4, 4, 4, 2];
        let place = |vertex: u32| vertex * 7 % 22;
        let mut edges = vec![];
        for clique in 0..6u32 {
            let members: Vec<u32> = (4 * clique..(4 * clique + 4).min(22)).collect();
            for &a in &members {
                edges.extend(
                    members
                        .iter()
                        .filter(|&&b| a < b)
                        .map(|&b| (place(a), place(b), 50)),
                );
            }
            if clique > 0 {
                edges.push((place(4 * clique - 1), place(4 * clique), 1));
            }
        }
        let graph = Graph::new(vec![1; 22], edges);
        let mut random = StreamKey::new(3, Purpose::Mapping).stream(0);
        let part_of = partition(&graph, &sizes, Effort::QUICK, &mut random);
        for (part, &size) in sizes.iter().enumerate() {
            let count = part_of.iter().filter(|&&p| p as usize == part).count();
            assert_eq!(count as u32, size);
        }
        for clique in 0..6u32 {
            let members = 4 * clique..(4 * clique + 4).min(22);
            let parts: std::collections::BTreeSet<u32> = members
                .map(|vertex| part_of[place(vertex) as usize])
                .collect();
            assert_eq!(parts.len(), 1, "clique {clique} lies in {parts:?}");
        }
    }
}
