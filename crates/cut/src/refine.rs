//! Improvement of two parts by moving single vertices, after Fiduccia and
//! Mattheyses (DAC 1982): vertices move one by one, the best first and each once,
//! always away from the part that is too large; then the pass is wound back to
//! the best balanced cut on the way; passes repeat until one brings nothing.

use std::collections::BinaryHeap;

use crate::graph::Graph;

/// How large the first of two parts is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Twice the size of the first part.
    twice_first: i64,
    /// How far twice its size may be from that.
    tolerance: i64,
}

impl Balance {
    /// Two halves that differ by no more than they must: by nothing if all
    /// vertices that have a size have the same and their number is even, else by
    /// the size of the largest vertex at most.
    pub fn halves(graph: &Graph) -> Self {
        let sized = || graph.sizes().iter().copied().filter(|&size| size > 0);
        let most = sized().max().unwrap_or(0);
        let halves_exactly = sized().all(|size| size == most) && sized().count() % 2 == 0;
        Self {
            twice_first: graph.total_size() as i64,
            tolerance: if halves_exactly { 0 } else { i64::from(most) },
        }
    }

    /// A first part of exactly this size.
    pub const fn exactly(first: u64) -> Self {
        Self {
            twice_first: 2 * first as i64,
            tolerance: 0,
        }
    }

    /// Size that the first part would best have, as a share of `graph`.
    pub(crate) fn share_of_first(self, graph: &Graph) -> f32 {
        let total = graph.total_size().max(1);
        (self.twice_first as f64 / (2 * total) as f64) as f32
    }

    /// Whether a first part of size `first` will do.
    pub const fn allows(self, first: u64) -> bool {
        (2 * first as i64 - self.twice_first).abs() <= self.tolerance
    }

    /// How far the two parts' sizes may differ from what is best, together.
    pub const fn tolerance(self) -> u64 {
        self.tolerance as u64
    }
}

/// Two parts under improvement.
pub struct Refinement<'a> {
    graph: &'a Graph,
    balance: Balance,
    /// Whether each vertex is in the second part.
    second: Vec<bool>,
    /// Twice the size of the first part, less what it is to be.
    surplus: i64,
    /// Weight that the cut loses if the vertex changes sides.
    gain: Vec<i64>,
    moved: Vec<bool>,
}

impl<'a> Refinement<'a> {
    /// Starts with everything in the second part.
    pub fn new(graph: &'a Graph, balance: Balance) -> Self {
        Self {
            graph,
            balance,
            second: vec![true; graph.vertices()],
            surplus: -balance.twice_first,
            gain: vec![0; graph.vertices()],
            moved: vec![false; graph.vertices()],
        }
    }

    /// Starts from these parts, balanced or not. Shape: vertices.
    pub fn start_from(&mut self, second: &[bool]) {
        self.second.copy_from_slice(second);
        let first: i64 = (0..self.graph.vertices())
            .filter(|&vertex| !second[vertex])
            .map(|vertex| self.size(vertex))
            .sum();
        self.surplus = 2 * first - self.balance.twice_first;
    }

    /// Puts the first vertices of `order` into the first part, as many as balance
    /// it: one that would tip the scale is left to the second part.
    pub fn start_in_order(&mut self, order: &[usize]) {
        self.surplus = -self.balance.twice_first;
        self.second.fill(true);
        let half = order.len().div_ceil(2);
        for (place, &vertex) in order.iter().enumerate() {
            // Vertices without size are shared out by their number.
            let size = self.size(vertex);
            let takes = match size {
                0 => place < half,
                _ => self.surplus + 2 * size <= self.balance.tolerance,
            };
            if takes {
                self.second[vertex] = false;
                self.surplus += 2 * size;
            }
        }
    }

    /// Whether each vertex is in the second part. Shape: vertices.
    pub fn second(&self) -> &[bool] {
        &self.second
    }

    /// Size of the first part.
    pub fn first_size(&self) -> u64 {
        ((self.surplus + self.balance.twice_first) / 2) as u64
    }

    /// Whether the sizes are as they are to be.
    pub fn is_balanced(&self) -> bool {
        self.surplus.abs() <= self.balance.tolerance
    }

    fn size(&self, vertex: usize) -> i64 {
        i64::from(self.graph.sizes()[vertex])
    }

    fn compute_gains(&mut self) {
        for vertex in 0..self.graph.vertices() {
            let side = self.second[vertex];
            self.gain[vertex] = self
                .graph
                .edges(vertex)
                .map(|(other, weight)| match self.second[other] == side {
                    true => -(weight as i64),
                    false => weight as i64,
                })
                .sum();
        }
    }

    fn move_over(&mut self, vertex: usize) {
        let size = self.size(vertex);
        self.surplus += if self.second[vertex] {
            2 * size
        } else {
            -2 * size
        };
        self.second[vertex] = !self.second[vertex];
    }

    /// Brings the gains up to date after `vertex` has moved.
    fn update_gains(&mut self, vertex: usize) {
        let side = self.second[vertex];
        self.gain[vertex] = -self.gain[vertex];
        for (other, weight) in self.graph.edges(vertex) {
            let change = 2 * weight as i64;
            self.gain[other] += match self.second[other] == side {
                true => -change,
                false => change,
            };
        }
    }

    /// Moves vertices out of the part that is too large, those first that cost
    /// least, until the sizes are as they are to be or nothing brings them nearer.
    pub fn rebalance(&mut self) {
        if self.is_balanced() {
            return;
        }
        self.compute_gains();
        while !self.is_balanced() {
            let from_first = self.surplus > 0;
            let best = (0..self.graph.vertices())
                .filter(|&vertex| self.second[vertex] != from_first)
                .filter(|&vertex| {
                    let size = self.size(vertex);
                    size > 0 && size < self.surplus.abs()
                })
                .max_by_key(|&vertex| (self.gain[vertex], std::cmp::Reverse(vertex)));
            let Some(vertex) = best else {
                return;
            };
            self.move_over(vertex);
            self.update_gains(vertex);
        }
    }

    /// Improves balanced parts until a pass brings nothing.
    pub fn refine(&mut self) {
        while self.pass() {}
    }

    /// One pass over balanced parts; whether it improved the cut.
    fn pass(&mut self) -> bool {
        self.compute_gains();
        self.moved.fill(false);
        // Candidates of each part; entries whose gain is outdated are skipped.
        let mut waiting: [BinaryHeap<(i64, usize)>; 2] = Default::default();
        for vertex in 0..self.graph.vertices() {
            waiting[usize::from(self.second[vertex])].push((self.gain[vertex], vertex));
        }
        let (mut total, mut best, mut kept) = (0i64, 0i64, 0usize);
        let mut moves: Vec<usize> = vec![];
        // A pass that has long been losing will not win.
        let patience = 64 + self.graph.vertices() / 4;
        while moves.len() - kept < patience {
            let Some(vertex) = self.next_candidate(&mut waiting) else {
                break;
            };
            total += self.gain[vertex];
            self.moved[vertex] = true;
            self.move_over(vertex);
            moves.push(vertex);
            self.update_gains(vertex);
            for (other, _) in self.graph.edges(vertex) {
                if !self.moved[other] {
                    waiting[usize::from(self.second[other])].push((self.gain[other], other));
                }
            }
            if self.is_balanced() && total > best {
                best = total;
                kept = moves.len();
            }
        }
        for &vertex in &moves[kept..] {
            self.move_over(vertex);
        }
        best > 0
    }

    /// The best vertex that may change sides: of the part that is too large, or
    /// of both if they are level; a vertex may leave the smaller part, too, if
    /// that keeps the balance.
    fn next_candidate(&self, waiting: &mut [BinaryHeap<(i64, usize)>; 2]) -> Option<usize> {
        for (side, heap) in waiting.iter_mut().enumerate() {
            while let Some(&(gain, vertex)) = heap.peek() {
                let outdated = self.moved[vertex]
                    || usize::from(self.second[vertex]) != side
                    || self.gain[vertex] != gain;
                if !outdated {
                    break;
                }
                heap.pop();
            }
        }
        let [first, second] = [0, 1].map(|side: usize| waiting[side].peek().copied());
        let (larger, smaller) = match self.surplus {
            0.. => (first, second),
            _ => (second, first),
        };
        let may_leave = |&(_, vertex): &(i64, usize)| {
            let size = self.size(vertex);
            self.surplus == 0
                || size == 0
                || self.surplus.abs() + 2 * size <= self.balance.tolerance
        };
        larger
            .max(smaller.filter(may_leave))
            .or(smaller)
            .map(|(_, vertex)| vertex)
    }
}
