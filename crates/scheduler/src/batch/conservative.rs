//! Conservative backfill with kept reservations on machines whose nodes need not be
//! distinguished.

use std::collections::HashSet;

use super::machine::Machine;
use super::promises::{ANYWHERE, Promises};
use super::queue::Place;
use super::schedule::Started;
use super::simulate::Simulation;
use super::timeline::Moment;
use crate::Seconds;

impl<M: Machine> Simulation<'_, M> {
    /// What is promised before anything was counted.
    pub(super) fn promised(&self, now: Seconds) -> Promises {
        let (size, ranks) = (i64::from(self.state.size()), self.queue.by_rank().len());
        let mut promises = Promises::new(Moment::of(now), size, ranks);
        for &(end, task) in self.by_estimate.keys() {
            let number = promises.number(self.queue.rank(task));
            let nodes = self.tasks[task as usize].nodes;
            (promises.profile).insert_running(number, nodes, Moment::of(end));
        }
        for task in self.queue.iter() {
            promises.number(self.queue.rank(task));
            match self.promises.get(&task) {
                Some(&at) => promises.unplaced.push((at, task)),
                None => promises.without.push(task),
            }
        }
        promises
    }

    /// A pass.
    pub(super) fn conservative_counted(&mut self, now: Seconds) {
        let Some(mut counted) = self.counted.take() else {
            return;
        };
        let here = Moment::of(now);
        let Some(promises) = &mut counted.promises else {
            unreachable!("promises are kept under this policy");
        };
        self.keep_promises(promises, now);
        let mut starting: Vec<u32> = Vec::new();
        let due = promises.profile.before(Moment(here.0 + 1));
        starting.extend(due.map(|(_, job)| self.numbered(promises, job)));
        // Who has no promise gets one; if jobs ended early, others may move forward.
        if self.unexpected_end {
            self.move_promises(promises, now, &mut starting);
        } else {
            let mut without = std::mem::take(&mut promises.without);
            if self.queue.is_fixed() || without.len() < 2 {
                without.sort_unstable_by_key(|&task| self.queue.rank(task));
            } else {
                self.sort(now);
                let wanted: HashSet<u32> = without.iter().copied().collect();
                without.clear();
                without.extend(self.queue.iter().filter(|task| wanted.contains(task)));
            }
            for &task in &without {
                let number = promises.numbers.of(self.queue.rank(task));
                self.look_at(number, promises, here, &mut starting);
            }
        }
        // Who waits for jobs that are due now is looked at again in a second: they may go on.
        let mut promised = promises.profile.before(Moment::NEVER);
        let soonest = promised.find(|&(at, _)| at > here);
        self.wake = soonest.map(|(at, _)| at.second().max(now + Seconds(1)));
        drop(promised);
        self.counted = Some(counted);
        self.start_promised(starting, now);
    }

    /// Gives promises to those who have none, and moves those forward who can, in order of
    /// the queue.
    fn move_promises(&mut self, promises: &mut Promises, now: Seconds, starting: &mut Vec<u32>) {
        let here = Moment::of(now);
        promises.mark_freed();
        for task in std::mem::take(&mut promises.without) {
            let number = promises.numbers.of(self.queue.rank(task));
            promises.may_move.set(number);
        }
        if std::mem::take(&mut promises.all_may) {
            for task in self.queue.iter() {
                let number = promises.numbers.of(self.queue.rank(task));
                promises.may_move.set(number);
                promises.gaps[number as usize] = vec![ANYWHERE];
            }
        }
        if self.queue.is_fixed() {
            let mut next = 0;
            while let Some(number) = promises.may_move.next(next) {
                next = number + 1;
                self.look_at(number, promises, here, starting);
            }
        } else {
            self.sort(now);
            let mut place = Place::default();
            while let Some(task) = self.queue.after(&mut place) {
                let number = promises.numbers.of(self.queue.rank(task));
                if promises.may_move.contains(number) {
                    self.look_at(number, promises, here, starting);
                }
            }
        }
    }

    /// The job of a number.
    fn numbered(&self, promises: &Promises, number: u32) -> u32 {
        self.queue.by_rank()[promises.numbers.rank(number) as usize]
    }

    /// Moves a waiting job to its earliest place, if that is sooner than its own.
    fn look_at(
        &mut self,
        number: u32,
        promises: &mut Promises,
        here: Moment,
        starting: &mut Vec<u32>,
    ) {
        if promises.profile.end(number).is_some() {
            if promises.move_forward(number, here) == Some(here) {
                starting.push(self.numbered(promises, number));
            }
            return;
        }
        let task = self.numbered(promises, number);
        let job = &self.tasks[task as usize];
        promises.may_move.unset(number);
        let (nodes, never) = (i64::from(job.nodes), Moment::NEVER);
        let found = promises
            .profile
            .earliest(here, nodes, never, never, job.waiting);
        let Some(at) = found else {
            // Nothing says when it can have a place.
            promises.may_move.set(number);
            return;
        };
        let end = at.end_of(job.waiting);
        promises.profile.insert(number, job.nodes, at, end);
        if at == here {
            starting.push(task);
        } else {
            self.rows[task as usize].promised.get_or_insert(at.second());
        }
    }

    /// Starts jobs that hold their places in the plan, in order of the queue.
    fn start_promised(&mut self, mut starting: Vec<u32>, now: Seconds) {
        if starting.is_empty() {
            return;
        }
        self.sort(now);
        let chosen: HashSet<u32> = starting.iter().copied().collect();
        if self.queue.is_fixed() {
            starting.sort_unstable_by_key(|&task| self.queue.rank(task));
        } else {
            starting = self
                .queue
                .iter()
                .filter(|task| chosen.contains(task))
                .collect();
        }
        // Nobody before the first that goes on waiting overtakes.
        let mut in_order = 0;
        for task in self.queue.iter() {
            if !chosen.contains(&task) {
                break;
            }
            in_order += 1;
        }
        for (number, task) in starting.into_iter().enumerate() {
            let how = if number < in_order {
                Started::InOrder
            } else {
                Started::Backfilled
            };
            self.start_counted(task, how, now);
        }
    }

    /// Brings what is promised up to date: jobs that have outlived their estimates stay
    /// longer, and promises of the past begin now.
    fn keep_promises(&mut self, promises: &mut Promises, now: Seconds) {
        let overdue = self.overdue(now);
        let here = Moment::of(now);
        let profile = &mut promises.profile;
        let mut changed = !overdue.is_empty() | std::mem::take(&mut promises.crowded);
        for (end, _, task) in overdue {
            profile.set_end(promises.numbers.of(self.queue.rank(task)), end);
        }
        let past: Vec<(Moment, u32)> = profile.before(here).collect();
        for &(_, number) in &past {
            changed = true;
            let rank = promises.numbers.rank(number);
            let task = self.queue.by_rank()[rank as usize];
            profile.shift(number, here, here.end_of(self.tasks[task as usize].waiting));
        }
        profile.advance(here);
        // Whether who was promised a time late in this second can have its beginning now
        // depends on what others are promised.
        let mut due = profile.before(Moment::of(now + Seconds(1)));
        let late = due.any(|(at, _)| at == Moment::late_in(now));
        drop(due);
        if !promises.unplaced.is_empty() || late || (changed && profile.is_overtaken()) {
            self.place_anew(promises, past, now);
        }
    }

    /// Places all promises anew, those for sooner times first; jobs that find their
    /// places taken by who has outlived an estimate lose theirs. `past` are promises of
    /// the past, which begin now.
    fn place_anew(&mut self, promises: &mut Promises, past: Vec<(Moment, u32)>, now: Seconds) {
        let here = Moment::of(now);
        // Whose places have gone leave gaps, and nobody has looked for them.
        promises.all_may = true;
        promises.freed.clear();
        promises.freed_nodes = 0;
        let numbers = &promises.numbers;
        let task = |number: u32| self.queue.by_rank()[numbers.rank(number) as usize];
        let profile = &mut promises.profile;
        let mut kept = std::mem::take(&mut promises.unplaced);
        kept.extend(past.iter().map(|&(at, number)| (at.second(), task(number))));
        let past: HashSet<u32> = past.into_iter().map(|(_, number)| number).collect();
        let others = (profile.before(Moment::NEVER)).filter(|(_, number)| !past.contains(number));
        kept.extend(others.map(|(at, number)| (at.second(), task(number))));
        kept.sort_unstable();
        profile.clear(here, i64::from(self.state.size()));
        for &(end, task) in self.by_estimate.keys() {
            let until = if end <= now {
                Moment::expected(end, now)
            } else {
                Moment::of(end)
            };
            let nodes = self.tasks[task as usize].nodes;
            profile.insert_running(numbers.of(self.queue.rank(task)), nodes, until);
        }
        for (at, task) in kept {
            let job = &self.tasks[task as usize];
            let number = numbers.of(self.queue.rank(task));
            let begin = Moment::of(at.max(now));
            let late = (at <= now).then_some(Moment::late_in(now));
            let mut begins = [begin].into_iter().chain(late);
            let nodes = i64::from(job.nodes);
            match begins.find(|&at| profile.has(at, nodes, job.waiting)) {
                Some(at) => profile.insert(number, job.nodes, at, at.end_of(job.waiting)),
                None => {
                    promises.without.push(task);
                    self.broken_promises += 1;
                }
            }
        }
    }
}
