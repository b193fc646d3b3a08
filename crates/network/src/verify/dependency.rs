//! Channel dependency graphs (Dally and Seitz, "Deadlock-Free Message Routing
//! in Multiprocessor Interconnection Networks", IEEE Trans. Computers 1987): a
//! network cannot deadlock if the graph "a packet that holds this channel may
//! wait for that one" has no cycle.

/// A channel dependency graph. Channels are numbered by the vertex (router)
/// that they leave, so that everything a channel can depend on, the channels
/// that leave its head, is one contiguous range: a row of bits per channel.
#[derive(Clone, Debug)]
pub(crate) struct Dependencies {
    /// First channel that leaves each vertex, and one entry past the last.
    first: Vec<u32>,
    /// Vertex that each channel leads to.
    head: Vec<u32>,
    /// First word of each channel's row, and one entry past the last.
    row: Vec<usize>,
    bits: Vec<u64>,
}

impl Dependencies {
    /// A graph without dependencies. `leaving[v]` channels leave vertex `v`;
    /// `head` names the vertex that each leads to.
    pub(crate) fn new(leaving: &[u32], head: Vec<u32>) -> Self {
        let mut first = Vec::with_capacity(leaving.len() + 1);
        first.push(0);
        let mut total = 0;
        for count in leaving {
            total += count;
            first.push(total);
        }
        let mut row = Vec::with_capacity(head.len() + 1);
        row.push(0);
        let mut words = 0;
        for &vertex in &head {
            words += leaving[vertex as usize].div_ceil(64) as usize;
            row.push(words);
        }
        Self {
            first,
            head,
            row,
            bits: vec![0; words],
        }
    }

    /// First channel that leaves `vertex`.
    #[inline]
    pub(crate) fn first_leaving(&self, vertex: usize) -> u32 {
        self.first[vertex]
    }

    /// Number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.head.len()
    }

    /// Number of dependencies.
    pub(crate) fn len(&self) -> u64 {
        self.bits.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// Vertex that channel `channel` leads to.
    #[inline]
    pub(crate) fn head(&self, channel: u32) -> u32 {
        self.head[channel as usize]
    }

    /// Vertex that channel `channel` leaves.
    pub(crate) fn tail(&self, channel: u32) -> u32 {
        (self.first.partition_point(|&f| f <= channel) - 1) as u32
    }

    /// Notes that a packet that holds `held` may wait for `wanted`, which must
    /// leave the head of `held`.
    #[inline]
    pub(crate) fn insert(&mut self, held: u32, wanted: u32) {
        let slot = (wanted - self.first[self.head[held as usize] as usize]) as usize;
        self.bits[self.row[held as usize] + slot / 64] |= 1 << (slot % 64);
    }

    /// Words of a row of the channels that lead to `vertex`.
    #[inline]
    pub(crate) fn words_at(&self, vertex: usize) -> usize {
        (self.first[vertex + 1] - self.first[vertex]).div_ceil(64) as usize
    }

    /// [`Dependencies::insert`] for all channels whose bits are set in `wanted`,
    /// counted from the first that leaves the head of `held`.
    #[inline]
    pub(crate) fn insert_all(&mut self, held: u32, wanted: &[u64]) {
        let row = self.row[held as usize]..self.row[held as usize + 1];
        for (word, more) in self.bits[row].iter_mut().zip(wanted) {
            *word |= more;
        }
    }

    /// What `held` may wait for.
    pub(crate) fn wanted_by(&self, held: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.first[self.head[held as usize] as usize];
        let words = &self.bits[self.row[held as usize]..self.row[held as usize + 1]];
        words.iter().enumerate().flat_map(move |(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    first + index as u32 * 64 + bit
                })
            })
        })
    }

    /// The channels that remain when those that nothing left waits for are
    /// taken away again and again (Kahn 1962): every one of them lies on a
    /// cycle or downstream of one. Empty if there is no cycle.
    fn undissolved(&self) -> Vec<u32> {
        let mut waiting = vec![0u32; self.channels()];
        for held in 0..self.channels() as u32 {
            for wanted in self.wanted_by(held) {
                waiting[wanted as usize] += 1;
            }
        }
        let mut free: Vec<u32> = (0..self.channels() as u32)
            .filter(|&c| waiting[c as usize] == 0)
            .collect();
        let mut next = 0;
        while let Some(&channel) = free.get(next) {
            next += 1;
            for wanted in self.wanted_by(channel) {
                waiting[wanted as usize] -= 1;
                if waiting[wanted as usize] == 0 {
                    free.push(wanted);
                }
            }
        }
        (0..self.channels() as u32)
            .filter(|&c| waiting[c as usize] > 0)
            .collect()
    }

    /// Whether there is a cycle.
    pub(crate) fn has_cycle(&self) -> bool {
        !self.undissolved().is_empty()
    }

    /// A short cycle, as channels each of which may wait for the next and the
    /// last for the first, or `None`: the shortest among those through the
    /// first few hundred channels that lie on any.
    pub(crate) fn cycle(&self) -> Option<Vec<u32>> {
        /// Channels from which a shortest cycle is looked for.
        const STARTS: usize = 256;
        let starts = self.on_cycles();
        let mut came_from = vec![u32::MAX; self.channels()];
        let mut best: Option<Vec<u32>> = None;
        for start in starts.into_iter().take(STARTS) {
            came_from.fill(u32::MAX);
            let found = self.shortest_cycle_through(start, &mut came_from);
            if best
                .as_ref()
                .is_none_or(|b| found.as_ref().is_some_and(|f| f.len() < b.len()))
            {
                best = found;
            }
        }
        best
    }

    /// Breadth first from `start` until it is met again. `came_from` is scratch
    /// space of one entry per channel, all `u32::MAX`.
    fn shortest_cycle_through(&self, start: u32, came_from: &mut [u32]) -> Option<Vec<u32>> {
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for wanted in self.wanted_by(at) {
                if wanted == start {
                    let mut cycle = vec![at];
                    let mut channel = at;
                    while channel != start {
                        channel = came_from[channel as usize];
                        cycle.push(channel);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if came_from[wanted as usize] == u32::MAX {
                    came_from[wanted as usize] = at;
                    queue.push(wanted);
                }
            }
        }
        None
    }

    /// The channels that lie on cycles: members of strongly connected
    /// components of more than one channel, or that wait for themselves
    /// (Tarjan 1972, without recursion).
    fn on_cycles(&self) -> Vec<u32> {
        const NEW: u32 = u32::MAX;
        let rest = self.undissolved();
        let mut order = vec![NEW; self.channels()];
        let mut low = vec![0; self.channels()];
        let mut open = vec![false; self.channels()];
        let (mut stack, mut found) = (Vec::new(), Vec::new());
        let mut visited = 0;
        for root in rest {
            if order[root as usize] != NEW {
                continue;
            }
            // A frame: a channel and those it waits for that are not yet seen to.
            let mut frames: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut enter = Some(root);
            loop {
                if let Some(channel) = enter.take() {
                    order[channel as usize] = visited;
                    low[channel as usize] = visited;
                    visited += 1;
                    open[channel as usize] = true;
                    stack.push(channel);
                    frames.push((channel, self.wanted_by(channel).collect()));
                }
                let Some((channel, wanted)) = frames.last_mut() else {
                    break;
                };
                let channel = *channel as usize;
                if let Some(next) = wanted.pop() {
                    if order[next as usize] == NEW {
                        enter = Some(next);
                    } else if open[next as usize] {
                        low[channel] = low[channel].min(order[next as usize]);
                    }
                    continue;
                }
                frames.pop();
                if let Some((parent, _)) = frames.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[channel]);
                }
                if low[channel] == order[channel] {
                    let from = stack.iter().rposition(|&c| c as usize == channel);
                    let component = stack.split_off(from.unwrap_or(0));
                    for &member in &component {
                        open[member as usize] = false;
                    }
                    let only = component[0];
                    if component.len() > 1 || self.wanted_by(only).any(|w| w == only) {
                        found.extend(component);
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vertices 0..4 in a ring, one channel each way; channel `2v` goes to
    /// `v + 1`, channel `2v + 1` to `v - 1`.
    fn ring() -> Dependencies {
        let head = (0..4u32).flat_map(|v| [(v + 1) % 4, (v + 3) % 4]).collect();
        Dependencies::new(&[2; 4], head)
    }

    #[test]
    fn a_ring_of_dependencies_is_found_and_an_open_chain_is_not() {
        let mut graph = ring();
        for v in 0..3 {
            graph.insert(2 * v, 2 * (v + 1));
        }
        assert!(!graph.has_cycle());
        assert_eq!(graph.cycle(), None);
        graph.insert(6, 0);
        assert!(graph.has_cycle());
        assert_eq!(graph.cycle(), Some(vec![0, 2, 4, 6]));
        assert_eq!(graph.len(), 4);
    }

    #[test]
    fn the_shorter_cycle_is_reported_and_what_only_follows_it_is_not() {
        let mut graph = ring();
        for v in 0..4 {
            graph.insert(2 * v, 2 * ((v + 1) % 4));
        }
        // 0→1 and back: channel 2 (1→2) waits for 5 (2→1), 5 for 2.
        graph.insert(2, 5);
        graph.insert(5, 2);
        graph.insert(5, 3);
        assert_eq!(graph.cycle().map(|c| c.len()), Some(2));
        assert_eq!(graph.tail(5), 2);
        assert_eq!(graph.head(5), 1);
        assert_eq!(graph.wanted_by(2).collect::<Vec<_>>(), vec![4, 5]);
    }
}
