//! The least cut of all, by branch and bound.
//!
//! Vertices are assigned block by block (a block is a set of a few vertices that
//! have much to do with each other, such as the routers of a group). Below a
//! partial assignment no cut is smaller than
//!
//! 1. what is cut among the vertices that are assigned, plus
//! 2. what the others cut at least among themselves and towards those: for each
//!    block on its own the least over its patterns, counting the edges within the
//!    block and those to assigned vertices, the patterns of all blocks chosen
//!    together so that their sizes add up to a balanced first part (a dynamic
//!    programme over sizes); or
//! 3. 1., the same programme without the edges within blocks, and the least cut
//!    that the blocks not yet assigned have among themselves when the first part
//!    gets what of them is missing (Verfaillie, Lemaître and Schiex, "Russian doll
//!    search", AAAI 1996: the problems of the last blocks are solved first).

use crate::bisect::Halves;
use crate::graph::Graph;
use crate::refine::Balance;

/// Most vertices of a block: its patterns are listed.
const MOST_IN_BLOCK: usize = 6;
/// Stands for no way at all.
const NEVER: u64 = u64::MAX / 4;

/// How a search for the least cut ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The best parts found or given.
    pub halves: Halves,
    /// Whether no cut is smaller: the search was not cut short.
    pub is_proven: bool,
    /// Partial assignments looked at.
    pub steps: u64,
}

/// Searches for parts with less between them than `known`, which is balanced,
/// until none can exist or `limit` partial assignments were looked at. Vertices
/// with the same number in `block_of` are assigned together, as far as blocks
/// have a place for them. Shape of `block_of`: vertices.
///
/// # Panics
/// If `block_of` has another shape.
pub fn least_cut(
    graph: &Graph,
    block_of: &[u32],
    balance: Balance,
    known: Halves,
    limit: u64,
) -> Exact {
    assert_eq!(block_of.len(), graph.vertices(), "a block for every vertex");
    let mut search = Search::new(graph, block_of, balance, known, limit);
    search.run();
    Exact {
        is_proven: search.steps <= limit,
        steps: search.steps,
        halves: search.best,
    }
}

/// A few vertices.
struct Block {
    vertices: Vec<u32>,
    /// What each pattern cuts within the block; bit `i` of a pattern tells whether
    /// vertex `i` is in the second part. Shape: patterns.
    inside: Vec<u64>,
    /// Size of the first part under each pattern. Shape: patterns.
    first: Vec<u32>,
    /// Size of all its vertices.
    size: u32,
}

struct Search<'a> {
    graph: &'a Graph,
    balance: Balance,
    blocks: Vec<Block>,
    /// Size of all blocks from each on. Shape: blocks + 1.
    rest: Vec<u32>,
    /// For each block, the least cut among it and those after it if the first part
    /// gets so much of them; a lower bound where the search was cut short.
    /// Shape: blocks + 1, sizes up to `rest` + 1.
    tail: Vec<Vec<u64>>,
    /// Weight of each vertex's edges to assigned vertices of the first part, and of
    /// the second.
    towards: [Vec<u64>; 2],
    second: Vec<bool>,
    best: Halves,
    limit: u64,
    steps: u64,
}

/// A problem: the blocks from `from` on, first parts of a size in `sizes`.
#[derive(Clone, Copy)]
struct Problem<'s> {
    from: usize,
    /// Which sizes of the first part of all these blocks will do.
    allowed: &'s [bool],
}

impl<'a> Search<'a> {
    fn new(
        graph: &'a Graph,
        block_of: &[u32],
        balance: Balance,
        known: Halves,
        limit: u64,
    ) -> Self {
        let mut order: Vec<u32> = (0..graph.vertices() as u32).collect();
        order.sort_by_key(|&vertex| block_of[vertex as usize]);
        let groups = order.chunk_by(|&a, &b| block_of[a as usize] == block_of[b as usize]);
        let blocks: Vec<Block> = groups
            .flat_map(|group| group.chunks(MOST_IN_BLOCK))
            .map(|vertices| Block::new(graph, vertices))
            .collect();
        let mut rest = vec![0u32; blocks.len() + 1];
        for (place, block) in blocks.iter().enumerate().rev() {
            rest[place] = rest[place + 1] + block.size;
        }
        Self {
            tail: rest
                .iter()
                .map(|&size| vec![0; size as usize + 1])
                .collect(),
            towards: [vec![0; graph.vertices()], vec![0; graph.vertices()]],
            second: vec![false; graph.vertices()],
            graph,
            balance,
            blocks,
            rest,
            best: known,
            limit,
            steps: 0,
        }
    }

    fn run(&mut self) {
        let blocks = self.blocks.len();
        // The last blocks alone, for every size of the first part.
        for from in (1..blocks).rev() {
            let sizes = self.rest[from] as usize + 1;
            for first in 0..sizes {
                // Parts can change names.
                let mirrored = sizes - 1 - first;
                if mirrored < first {
                    self.tail[from][first] = self.tail[from][mirrored];
                    continue;
                }
                let mut allowed = vec![false; sizes];
                allowed[first] = true;
                let problem = Problem {
                    from,
                    allowed: &allowed,
                };
                let mut least = NEVER;
                self.descend(problem, from, 0, 0, &mut least, &mut |_| {});
                self.tail[from][first] = least;
                if self.steps > self.limit {
                    return;
                }
            }
        }
        let allowed: Vec<bool> = (0..=self.rest[0])
            .map(|first| self.balance.allows(u64::from(first)))
            .collect();
        let problem = Problem {
            from: 0,
            allowed: &allowed,
        };
        let mut least = self.best.cut;
        let mut found = None;
        self.descend(problem, 0, 0, 0, &mut least, &mut |second| {
            found = Some(second.to_vec());
        });
        if let Some(second) = found {
            let first = (0..second.len()).filter(|&vertex| !second[vertex]);
            let sizes = self.graph.sizes();
            self.best = Halves {
                cut: self.graph.cut(&second),
                first_size: first.map(|vertex| u64::from(sizes[vertex])).sum(),
                second,
            };
        }
    }

    /// Assigns the blocks from `place` on, given that those before it cut `cut` and
    /// have `first` in the first part, wherever less than `least` can come of it.
    fn descend(
        &mut self,
        problem: Problem<'_>,
        place: usize,
        cut: u64,
        first: u32,
        least: &mut u64,
        found: &mut dyn FnMut(&[bool]),
    ) {
        if place == self.blocks.len() {
            if problem.allowed[first as usize] && cut < *least {
                *least = cut;
                found(&self.second);
            }
            return;
        }
        self.steps += 1;
        if self.steps > self.limit {
            return;
        }
        // What remains of each size of the first part once this block is assigned
        // costs at least this much.
        let after = self.bound_after(problem, place, first);
        let block = &self.blocks[place];
        let mut choices: Vec<(u64, u32, u64)> = Vec::with_capacity(block.inside.len());
        // The very first vertex may stay where it is: parts can change names where
        // both sizes will do.
        let symmetric = place == problem.from
            && (0..problem.allowed.len()).all(|size| {
                problem.allowed[size] == problem.allowed[problem.allowed.len() - 1 - size]
            });
        for pattern in 0..block.inside.len() as u32 {
            if symmetric && pattern & 1 == 1 {
                continue;
            }
            let own = block.inside[pattern as usize] + self.outside(block, pattern);
            let got = first + block.first[pattern as usize];
            let bound = cut + own + after[(got - first) as usize];
            if bound < *least {
                choices.push((bound, pattern, cut + own));
            }
        }
        choices.sort_unstable();
        for (bound, pattern, cut) in choices {
            if bound >= *least {
                return;
            }
            let gained = self.blocks[place].first[pattern as usize];
            self.assign(place, pattern, true);
            self.descend(problem, place + 1, cut, first + gained, least, found);
            self.assign(place, pattern, false);
            if self.steps > self.limit {
                return;
            }
        }
    }

    /// Weight between a block under a pattern and what is assigned.
    fn outside(&self, block: &Block, pattern: u32) -> u64 {
        block
            .vertices
            .iter()
            .enumerate()
            .map(|(bit, &vertex)| {
                let other = usize::from(pattern >> bit & 1 == 0);
                self.towards[other][vertex as usize]
            })
            .sum()
    }

    /// Least cut of the blocks after `place`, among themselves and towards what is
    /// assigned, by what block `place` adds to the first part. The edges between
    /// `place` and later blocks are not counted. Shape: size of the block + 1.
    fn bound_after(&self, problem: Problem<'_>, place: usize, first: u32) -> Vec<u64> {
        let later = place + 1;
        let rest = self.rest[later] as usize;
        // Least of all patterns with each size of the first part, over the blocks so far.
        let mut with_inside = vec![NEVER; rest + 1];
        let mut without = vec![NEVER; rest + 1];
        with_inside[0] = 0;
        without[0] = 0;
        let mut reached = 0usize;
        for block in &self.blocks[later..] {
            let size = block.size as usize;
            let mut least_with = vec![NEVER; size + 1];
            let mut least_without = vec![NEVER; size + 1];
            for pattern in 0..block.inside.len() as u32 {
                let outside = self.outside(block, pattern);
                let size = block.first[pattern as usize] as usize;
                least_without[size] = least_without[size].min(outside);
                let all = outside + block.inside[pattern as usize];
                least_with[size] = least_with[size].min(all);
            }
            add_block(&mut with_inside, reached, &least_with);
            add_block(&mut without, reached, &least_without);
            reached += size;
        }
        let tail = &self.tail[later];
        let own = self.blocks[place].size as usize;
        (0..=own)
            .map(|gained| {
                (0..=rest)
                    .filter(|&more| {
                        problem
                            .allowed
                            .get(first as usize + gained + more)
                            .copied()
                            .unwrap_or(false)
                    })
                    .map(|more| with_inside[more].max(without[more] + tail[more]))
                    .min()
                    .unwrap_or(NEVER)
            })
            .collect()
    }

    /// Assigns a block, or takes that back.
    fn assign(&mut self, place: usize, pattern: u32, now: bool) {
        for (bit, &vertex) in self.blocks[place].vertices.iter().enumerate() {
            let side = pattern >> bit & 1 == 1;
            self.second[vertex as usize] = side && now;
            let towards = &mut self.towards[usize::from(side)];
            for (other, weight) in self.graph.edges(vertex as usize) {
                if now {
                    towards[other] += weight;
                } else {
                    towards[other] -= weight;
                }
            }
        }
    }
}

/// Adds a block to a programme over sizes: `least[s]` becomes the least of
/// `least[s − t] + of_block[t]`. Sizes up to `reached` were possible before.
fn add_block(least: &mut [u64], reached: usize, of_block: &[u64]) {
    for size in (0..reached + of_block.len()).rev() {
        let from = size.saturating_sub(reached);
        let upto = size.min(of_block.len() - 1);
        least[size] = (from..=upto)
            .map(|taken| least[size - taken] + of_block[taken])
            .min()
            .unwrap_or(NEVER)
            .min(NEVER);
    }
}

impl Block {
    fn new(graph: &Graph, vertices: &[u32]) -> Self {
        let sizes: Vec<u32> = vertices
            .iter()
            .map(|&vertex| graph.sizes()[vertex as usize])
            .collect();
        let mut inside = vec![];
        let mut first = vec![];
        for pattern in 0..1u32 << vertices.len() {
            let side = |place: usize| pattern >> place & 1 == 1;
            let mut cut = 0;
            for (a, &vertex) in vertices.iter().enumerate() {
                for (other, weight) in graph.edges(vertex as usize) {
                    let place = vertices.iter().position(|&v| v as usize == other);
                    if place.is_some_and(|b| a < b && side(a) != side(b)) {
                        cut += weight;
                    }
                }
            }
            inside.push(cut);
            first.push(
                (0..vertices.len())
                    .filter(|&p| !side(p))
                    .map(|p| sizes[p])
                    .sum(),
            );
        }
        Self {
            vertices: vertices.to_vec(),
            inside,
            first,
            size: sizes.iter().sum(),
        }
    }
}

#[cfg(test)]
mod tests;
