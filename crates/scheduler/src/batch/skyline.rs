//! How many nodes are free from now on, where nodes need not be distinguished.

use super::timeline::Moment;

/// Most steps of a block.
const BLOCK: usize = 64;

/// Part of a skyline: steps one after the other.
#[derive(Clone)]
struct Block {
    /// When each step begins.
    at: Vec<Moment>,
    /// Free nodes from then on, less what `more` says.
    free: Vec<i64>,
    /// To be added to all of `free`.
    more: i64,
    /// Least and most free nodes, with `more`.
    least: i64,
    most: i64,
}

impl Block {
    fn new(at: Vec<Moment>, free: Vec<i64>) -> Self {
        let mut block = Self {
            at,
            free,
            more: 0,
            least: 0,
            most: 0,
        };
        block.measure();
        block
    }

    /// Adds to some of the steps.
    fn add(&mut self, begin: usize, end: usize, nodes: i64) {
        if begin == 0 && end == self.free.len() {
            self.more += nodes;
            self.least += nodes;
            self.most += nodes;
            return;
        }
        // What was the least or the most may be so no longer.
        let (least, most) = (self.least - self.more, self.most - self.more);
        let (mut lower, mut upper, mut gone) = (least, most, false);
        for value in &mut self.free[begin..end] {
            gone |= *value == if nodes > 0 { least } else { most };
            *value += nodes;
            lower = lower.min(*value);
            upper = upper.max(*value);
        }
        if gone {
            self.measure();
        } else {
            (self.least, self.most) = (lower + self.more, upper + self.more);
        }
    }

    fn measure(&mut self) {
        let least = self.free.iter().copied().min().unwrap_or(0);
        let most = self.free.iter().copied().max().unwrap_or(0);
        (self.least, self.most) = (least + self.more, most + self.more);
    }
}

/// Free nodes as a function of time: steps in blocks, each with its least and its
/// most, so that changes of long times and searches touch few of them.
#[derive(Clone)]
pub(super) struct Skyline {
    blocks: Vec<Block>,
    /// When each block begins.
    starts: Vec<Moment>,
}

impl Skyline {
    /// The skyline of `free` nodes from `from` on.
    pub fn new(from: Moment, free: i64) -> Self {
        Self {
            blocks: vec![Block::new(vec![from], vec![free])],
            starts: vec![from],
        }
    }

    /// Block and step in which a moment lies; the first, if it lies before all. It does not lie
    /// before the block `near`, and perhaps in it.
    fn find(&self, at: Moment, near: Option<usize>) -> (usize, usize) {
        let within = |&block: &usize| self.starts.get(block + 1).is_none_or(|&next| at < next);
        let block = near
            .filter(within)
            .unwrap_or_else(|| self.starts.partition_point(|&start| start <= at).max(1) - 1);
        let steps = &self.blocks[block].at;
        (
            block,
            steps.partition_point(|&start| start <= at).max(1) - 1,
        )
    }

    /// The step after one.
    fn after(&self, (block, step): (usize, usize)) -> Option<(usize, usize)> {
        if step + 1 < self.blocks[block].at.len() {
            Some((block, step + 1))
        } else {
            (block + 1 < self.blocks.len()).then_some((block + 1, 0))
        }
    }

    fn start(&self, (block, step): (usize, usize)) -> Moment {
        self.blocks[block].at[step]
    }

    fn value(&self, (block, step): (usize, usize)) -> i64 {
        self.blocks[block].free[step] + self.blocks[block].more
    }

    /// Forgets everything before `now`.
    pub fn advance(&mut self, now: Moment) {
        let (block, step) = self.find(now, None);
        if block > 0 {
            self.blocks.drain(..block);
            self.starts.drain(..block);
        }
        let first = &mut self.blocks[0];
        if step > 0 {
            first.at.drain(..step);
            first.free.drain(..step);
            first.measure();
        }
        if first.at[0] < now {
            first.at[0] = now;
        }
        self.starts[0] = self.blocks[0].at[0];
    }

    /// Free nodes at a moment.
    pub fn at(&self, at: Moment) -> i64 {
        self.value(self.find(at, None))
    }

    /// Makes `at` the beginning of a step; `near` as in [`Self::find`].
    fn split(&mut self, at: Moment, near: Option<usize>) -> (usize, usize) {
        let (block, step) = self.find(at, near);
        if self.start((block, step)) >= at {
            return (block, step);
        }
        let this = &mut self.blocks[block];
        let value = this.free[step];
        this.at.insert(step + 1, at);
        this.free.insert(step + 1, value);
        if this.at.len() <= BLOCK {
            return (block, step + 1);
        }
        let half = this.at.len() / 2;
        let (mut later, mut values) = (this.at.split_off(half), this.free.split_off(half));
        values.iter_mut().for_each(|value| *value += this.more);
        this.measure();
        later.reserve_exact(BLOCK + 1 - later.len());
        values.reserve_exact(BLOCK + 1 - values.len());
        self.starts.insert(block + 1, later[0]);
        self.blocks.insert(block + 1, Block::new(later, values));
        if step + 1 < half {
            (block, step + 1)
        } else {
            (block + 1, step + 1 - half)
        }
    }

    /// Joins a step with the one before it if they are equal.
    fn join(&mut self, (block, step): (usize, usize)) {
        let Some(before) = self.before((block, step)) else {
            return;
        };
        if self.value(before) != self.value((block, step)) {
            return;
        }
        let this = &mut self.blocks[block];
        this.at.remove(step);
        this.free.remove(step);
        if this.at.is_empty() {
            self.blocks.remove(block);
            self.starts.remove(block);
        } else if step == 0 {
            this.measure();
            self.starts[block] = this.at[0];
        }
    }

    /// Adds free nodes (or takes them, if negative) from `from` to before `to`; what
    /// lies before the beginning is left out.
    pub fn add(&mut self, from: Moment, to: Moment, nodes: i64) {
        let from = from.max(self.starts[0]);
        if from >= to || nodes == 0 {
            return;
        }
        let mut first = self.split(from, None);
        let blocks = self.blocks.len();
        let end = self.split(to, Some(first.0));
        if self.blocks.len() > blocks {
            first = self.find(from, None);
        }
        for block in first.0..=end.0.min(self.blocks.len() - 1) {
            let this = &mut self.blocks[block];
            let begin = if block == first.0 { first.1 } else { 0 };
            let end = if block == end.0 { end.1 } else { this.at.len() };
            this.add(begin, end, nodes);
        }
        self.join(end);
        self.join(first);
    }

    /// The first moment from `from` on with at least this many free nodes.
    pub fn first_with(&self, from: Moment, nodes: i64) -> Option<Moment> {
        let (mut block, step) = self.find(from, None);
        let mut begin = step;
        while block < self.blocks.len() {
            let this = &self.blocks[block];
            if this.most >= nodes {
                let wanted = nodes - this.more;
                let rest = &this.free[begin..];
                if let Some(found) = rest.iter().position(|&free| free >= wanted) {
                    return Some(this.at[begin + found].max(from));
                }
            }
            begin = 0;
            block += 1;
        }
        None
    }

    /// The end of the last step between `from` and `to` that has fewer free nodes.
    fn last_without(&self, from: Moment, to: Moment, nodes: i64) -> Option<Moment> {
        let (first, begin) = self.find(from, None);
        let mut block = self.starts.partition_point(|&start| start < to).max(1) - 1;
        loop {
            let this = &self.blocks[block];
            if this.least < nodes {
                let begin = if block == first { begin } else { 0 };
                let end = this.at.partition_point(|&start| start < to).max(begin);
                let wanted = nodes - this.more;
                let part = &this.free[begin..end];
                if let Some(found) = part.iter().rposition(|&free| free < wanted) {
                    // The last step of all lasts for ever.
                    let next = self.after((block, begin + found));
                    return Some(next.map_or(Moment::NEVER, |next| self.start(next)));
                }
            }
            if block == first {
                return None;
            }
            block -= 1;
        }
    }

    /// The step before one.
    fn before(&self, (block, step): (usize, usize)) -> Option<(usize, usize)> {
        if step > 0 {
            Some((block, step - 1))
        } else {
            let block = block.checked_sub(1)?;
            Some((block, self.blocks[block].at.len() - 1))
        }
    }

    /// The first moment from `from` on from which on this many nodes are free for a job whose
    /// place ends at `end_of` its start.
    pub fn earliest(
        &self,
        from: Moment,
        nodes: i64,
        end_of: impl Fn(Moment) -> Moment,
    ) -> Option<Moment> {
        let mut at = from;
        loop {
            at = self.first_with(at, nodes)?;
            match self.last_without(at, end_of(at), nodes) {
                None => return Some(at),
                Some(next) => at = next,
            }
        }
    }

    /// The fewest free nodes from the beginning to before each moment at which that
    /// number falls: the moment, and what is free until then. The last is for ever.
    pub fn stairs(&self, stairs: &mut Vec<(Moment, i64)>) {
        stairs.clear();
        let mut least = i64::MAX;
        for (block, &start) in self.blocks.iter().zip(&self.starts) {
            if block.least >= least {
                continue;
            }
            for (step, &value) in block.free.iter().enumerate() {
                let value = value + block.more;
                if value < least {
                    if least < i64::MAX {
                        stairs.push((block.at[step], least));
                    }
                    least = value;
                }
            }
            debug_assert!(start <= block.at[0]);
        }
        stairs.push((Moment::NEVER, least));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HORIZON: i64 = 120;

    proptest! {
        /// The skyline is the list of free nodes of every moment.
        #[test]
        fn skyline_is_a_list_of_moments(
            changes in prop::collection::vec((0..HORIZON, 1..HORIZON, -3i64..4), 1..60),
            searches in prop::collection::vec((0..HORIZON, -3i64..9, 1i64..30), 1..20),
            now in 0..HORIZON / 2,
        ) {
            let mut skyline = Skyline::new(Moment(0), 5);
            let mut list = vec![5i64; 3 * HORIZON as usize];
            for (from, length, nodes) in changes {
                skyline.add(Moment(from), Moment(from + length), nodes);
                for value in &mut list[from as usize..(from + length) as usize] {
                    *value += nodes;
                }
            }
            skyline.advance(Moment(now));
            for at in now..list.len() as i64 {
                prop_assert_eq!(skyline.at(Moment(at)), list[at as usize]);
            }
            let rest = &list[now as usize..];
            for (from, nodes, length) in searches {
                let from = from.max(now);
                let fits = |at: &i64| list[*at as usize..][..length as usize].iter().all(|&free| free >= nodes);
                // Beyond the end of the list everything stays as it is there.
                let found = (from..list.len() as i64 - length).find(fits);
                prop_assert_eq!(
                    skyline.earliest(Moment(from), nodes, |at| Moment(at.0 + length)),
                    found.map(Moment)
                );
            }
            let mut stairs = Vec::new();
            skyline.stairs(&mut stairs);
            for length in 1..rest.len() {
                let least = *rest[..length].iter().min().unwrap();
                let end = Moment(now + length as i64);
                prop_assert_eq!(stairs.iter().find(|(until, _)| end <= *until).unwrap().1, least);
            }
        }
    }
}
