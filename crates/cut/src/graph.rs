//! Undirected graphs with weighted edges and sized vertices.

/// An undirected graph in compressed rows: vertices have a size, edges a weight.
/// No loops, no parallel edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// First entry of each vertex, and one past the last. Shape: vertices + 1.
    first: Vec<usize>,
    /// Other ends, ascending within each row. Shape: entries.
    neighbour: Vec<u32>,
    /// Weight of the edge, at least 1. Shape: entries.
    weight: Vec<u64>,
    /// Size of each vertex. Shape: vertices.
    size: Vec<u32>,
}

impl Graph {
    /// The graph of `sizes.len()` vertices with these `(vertex, vertex, weight)`
    /// edges. Edges between the same two vertices, whichever comes first, are
    /// merged and their weights added; loops and edges of weight 0 are left out.
    ///
    /// # Panics
    /// If an edge names a vertex that does not exist.
    pub fn new(sizes: Vec<u32>, edges: impl IntoIterator<Item = (u32, u32, u64)>) -> Self {
        let vertices = sizes.len();
        let edges: Vec<(u32, u32, u64)> = edges
            .into_iter()
            .filter(|&(a, b, weight)| a != b && weight > 0)
            .collect();
        let mut starts = vec![0usize; vertices + 1];
        for &(a, b, _) in &edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut ends = vec![(0u32, 0u64); 2 * edges.len()];
        for &(a, b, weight) in &edges {
            for (from, to) in [(a, b), (b, a)] {
                ends[next[from as usize]] = (to, weight);
                next[from as usize] += 1;
            }
        }
        let mut graph = Self {
            first: Vec::with_capacity(vertices + 1),
            neighbour: Vec::new(),
            weight: Vec::new(),
            size: sizes,
        };
        graph.first.push(0);
        for vertex in 0..vertices {
            let row = &mut ends[starts[vertex]..starts[vertex + 1]];
            row.sort_unstable_by_key(|&(neighbour, _)| neighbour);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                graph.neighbour.push(same[0].0);
                graph.weight.push(same.iter().map(|edge| edge.1).sum());
            }
            graph.first.push(graph.neighbour.len());
        }
        graph
    }

    /// The same graph with other sizes. Shape: vertices.
    ///
    /// # Panics
    /// If the shape differs.
    #[must_use]
    pub fn with_sizes(mut self, sizes: Vec<u32>) -> Self {
        assert_eq!(sizes.len(), self.size.len(), "a size for every vertex");
        self.size = sizes;
        self
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.size.len()
    }

    /// Twice the number of edges.
    pub fn entries(&self) -> usize {
        self.neighbour.len()
    }

    /// Size of each vertex. Shape: vertices.
    pub fn sizes(&self) -> &[u32] {
        &self.size
    }

    /// Sizes of all vertices together.
    pub fn total_size(&self) -> u64 {
        self.size.iter().map(|&size| u64::from(size)).sum()
    }

    /// Vertices that share an edge with `vertex`, ascending.
    pub fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.neighbour[self.first[vertex]..self.first[vertex + 1]]
    }

    /// The edges of `vertex`: other end and weight, ascending by the other end.
    pub fn edges(&self, vertex: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let row = self.first[vertex]..self.first[vertex + 1];
        let weights = self.weight[row.clone()].iter();
        self.neighbour[row]
            .iter()
            .zip(weights)
            .map(|(&neighbour, &weight)| (neighbour as usize, weight))
    }

    /// Weight of all edges of `vertex`.
    pub fn degree(&self, vertex: usize) -> u64 {
        self.weight[self.first[vertex]..self.first[vertex + 1]]
            .iter()
            .sum()
    }

    /// Weight of the edges between two parts. Shape of `second`: vertices.
    pub fn cut(&self, second: &[bool]) -> u64 {
        (0..self.vertices())
            .filter(|&vertex| !second[vertex])
            .flat_map(|vertex| self.edges(vertex))
            .filter(|&(other, _)| second[other])
            .map(|(_, weight)| weight)
            .sum()
    }

    /// The graph of some of the vertices and the edges between them; vertex `i`
    /// of it is `vertices[i]`.
    ///
    /// # Panics
    /// If a vertex does not exist.
    pub fn induced(&self, vertices: &[u32]) -> Self {
        let mut place = vec![u32::MAX; self.vertices()];
        for (new, &old) in vertices.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let mut graph = Self {
            first: vec![0],
            neighbour: Vec::new(),
            weight: Vec::new(),
            size: vertices
                .iter()
                .map(|&old| self.size[old as usize])
                .collect(),
        };
        let mut row: Vec<(u32, u64)> = Vec::new();
        for &old in vertices {
            row.clear();
            row.extend(
                self.edges(old as usize)
                    .map(|(other, weight)| (place[other], weight))
                    .filter(|&(other, _)| other != u32::MAX),
            );
            row.sort_unstable_by_key(|&(other, _)| other);
            graph.neighbour.extend(row.iter().map(|edge| edge.0));
            graph.weight.extend(row.iter().map(|edge| edge.1));
            graph.first.push(graph.neighbour.len());
        }
        graph
    }

    /// The graph whose vertices are the `parts` parts of this one, each of size
    /// 1, and whose edges have the weight that lies between two parts. Shape of
    /// `part_of`: vertices.
    ///
    /// # Panics
    /// If a part's number is not below `parts`.
    pub fn quotient(&self, part_of: &[u32], parts: usize) -> Self {
        let edges = (0..self.vertices()).flat_map(|vertex| {
            self.edges(vertex)
                .filter(move |&(other, _)| other > vertex)
                .map(move |(other, weight)| (part_of[vertex], part_of[other], weight))
        });
        Self::new(vec![1; parts], edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_merged_and_symmetric() {
        let graph = Graph::new(
            vec![1, 2, 3],
            [(0, 1, 5), (1, 0, 2), (2, 2, 9), (1, 2, 0), (2, 0, 1)],
        );
        assert_eq!(graph.edges(0).collect::<Vec<_>>(), [(1, 7), (2, 1)]);
        assert_eq!(graph.edges(1).collect::<Vec<_>>(), [(0, 7)]);
        assert_eq!(
            (graph.degree(0), graph.entries(), graph.total_size()),
            (8, 4, 6)
        );
        assert_eq!(graph.cut(&[false, true, true]), 8);
    }

    #[test]
    fn induced_and_quotient_graphs_keep_the_weight_between_what_they_keep() {
        // A path 0 - 1 - 2 - 3 with weights 1, 2, 4, and 0 - 3 with 8.
        let graph = Graph::new(vec![1; 4], [(0, 1, 1), (1, 2, 2), (2, 3, 4), (3, 0, 8)]);
        let some = graph.induced(&[3, 1, 0]);
        assert_eq!(some.edges(0).collect::<Vec<_>>(), [(2, 8)]);
        assert_eq!(some.edges(2).collect::<Vec<_>>(), [(0, 8), (1, 1)]);
        let two = graph.quotient(&[0, 1, 1, 0], 2);
        assert_eq!(two.edges(0).collect::<Vec<_>>(), [(1, 5)]);
    }
}
