//! Passes on machines whose nodes need not be distinguished: the same starts as those of
//! [`super::passes`], found without laying the machine's future out in every pass.

use std::ops::Bound;

use super::machine::Machine;
use super::options::Policy;
use super::promises::Promises;
use super::queue::{Place, Queue, SizeIndex};
use super::schedule::Started;
use super::simulate::{Simulation, Start};
use super::skyline::Skyline;
use super::task::Task;
use super::timeline::Moment;
use crate::Seconds;

/// Longer than any job runs.
const FOREVER: Seconds = Seconds(i64::MAX);

/// What is known of the future, kept from pass to pass.
pub(super) struct Counted {
    /// Nodes that are free by the estimates of running jobs, where no promises are kept.
    skyline: Skyline,
    /// The waiting jobs by size and estimate.
    index: Option<SizeIndex>,
    pub(super) promises: Option<Promises>,
    /// Steps of a plan; kept for their memory.
    stairs: Vec<(Moment, i64)>,
}

impl Counted {
    /// A job comes.
    pub fn arrives(&mut self, task: u32, job: &Task, queue: &Queue) {
        if let Some(index) = &mut self.index {
            index.set(queue.rank(task), job.nodes, Some(job.waiting));
        }
        if let Some(promises) = &mut self.promises {
            promises.arrives(task, queue.rank(task));
        }
    }

    /// A job starts, on what it was promised for now if promises are kept.
    pub fn starts(
        &mut self,
        task: u32,
        job: &Task,
        estimated: Seconds,
        now: Seconds,
        queue: &Queue,
    ) {
        if let Some(index) = &mut self.index {
            index.set(queue.rank(task), job.nodes, None);
        }
        let rank = queue.rank(task);
        match &mut self.promises {
            None => {
                let end = Moment::of(estimated);
                self.skyline
                    .add(Moment::of(now), end, -i64::from(job.nodes));
            }
            Some(promises) => promises.starts(rank, job, estimated, now),
        }
    }

    /// A job ends that was estimated to do so at `estimated`.
    pub fn ends(&mut self, rank: u32, nodes: u32, estimated: Seconds, now: Seconds) {
        match &mut self.promises {
            None => {
                let (now, end) = (Moment::of(now), Moment::of(estimated));
                self.skyline.add(now, end, i64::from(nodes));
            }
            Some(promises) => promises.ends(rank, nodes, now),
        }
    }
}

impl<M: Machine> Simulation<'_, M> {
    /// A pass, if the future can be found by counting; `false` if nothing was done.
    pub(super) fn pass_counted(&mut self, now: Seconds) -> bool {
        // A job may ask for more nodes than work just now, which plans by counting do not know.
        if !self.no_windows(now) || self.nodes_out.is_some() || self.options.hold.is_some() {
            return false;
        }
        let mut counted = match self.counted.take() {
            Some(counted) => counted,
            None => self.count(now),
        };
        counted.skyline.advance(Moment::of(now));
        self.counted = Some(counted);
        match self.options.policy {
            Policy::InOrder => self.in_order_counted(now),
            Policy::Backfill { depth } => self.backfill_counted(now, depth),
            Policy::Conservative => self.conservative_counted(now),
        }
        true
    }

    /// Finds out what is known now.
    fn count(&self, now: Seconds) -> Counted {
        let keeps = self.options.policy == Policy::Conservative;
        let indexed = match self.options.policy {
            Policy::InOrder => !self.queue.is_fixed(),
            Policy::Backfill { .. } => true,
            Policy::Conservative => false,
        };
        let mut counted = Counted {
            skyline: Skyline::new(Moment::of(now), i64::from(self.state.size())),
            index: indexed.then(|| SizeIndex::new(&self.tasks, self.queue.by_rank())),
            promises: keeps.then(|| self.promised(now)),
            stairs: Vec::new(),
        };
        for &(end, task) in self.by_estimate.keys() {
            let nodes = i64::from(self.tasks[task as usize].nodes);
            counted
                .skyline
                .add(Moment::of(now), Moment::of(end), -nodes);
        }
        if let Some(index) = &mut counted.index {
            for task in self.queue.iter() {
                let job = &self.tasks[task as usize];
                index.set(self.queue.rank(task), job.nodes, Some(job.waiting));
            }
        }
        counted
    }

    pub(super) fn start_counted(&mut self, task: u32, how: Started, now: Seconds) {
        let Ok(held) = self.state.place(&self.ask(task)) else {
            unreachable!("the plan has found that enough nodes are free for job {task}");
        };
        let start = Start {
            task,
            held,
            how,
            inside: None,
        };
        self.start(start, now);
    }

    fn nodes(&self, task: u32) -> u32 {
        self.tasks[task as usize].nodes
    }

    /// Whether a waiting job asks for no more than is free.
    fn anyone_fits(&self) -> bool {
        let free = self.state.free();
        match self
            .counted
            .as_ref()
            .and_then(|counted| counted.index.as_ref())
        {
            Some(index) => index.first(free, FOREVER).is_some(),
            None => self.queue.iter().any(|task| self.nodes(task) <= free),
        }
    }

    /// Starts the queue's first jobs as long as they fit.
    fn in_order_counted(&mut self, now: Seconds) {
        if !self.queue.is_fixed() && !self.anyone_fits() {
            return;
        }
        self.sort(now);
        while let Some(head) = self.queue.first()
            && self.nodes(head) <= self.state.free()
        {
            self.start_counted(head, Started::InOrder, now);
        }
    }

    /// The queue's first job, whether or not the queue is in its order.
    fn head(&self, now: Seconds) -> Option<u32> {
        if self.queue.is_fixed() {
            return self.queue.first();
        }
        let keyed = self
            .queue
            .iter()
            .map(|task| (self.priority(task, now), task));
        let first = keyed.max_by(|a, b| {
            let ranks = || self.queue.rank(b.1).cmp(&self.queue.rank(a.1));
            a.0.total_cmp(&b.0).then_with(ranks)
        });
        first.map(|(_, task)| task)
    }

    /// Jobs that have outlived their estimates: when they are expected to end, and how
    /// many nodes they have; soonest first.
    pub(super) fn overdue(&self, now: Seconds) -> Vec<(Moment, i64, u32)> {
        let until = (Bound::Unbounded, Bound::Included((now, u32::MAX)));
        let late = self.by_estimate.range(until).map(|(&(end, task), _)| {
            let nodes = i64::from(self.nodes(task));
            (Moment::expected(end, now), nodes, task)
        });
        let mut late: Vec<_> = late.collect();
        late.sort_unstable();
        late
    }

    /// Backfill around reservations of the first `depth` jobs that cannot start.
    fn backfill_counted(&mut self, now: Seconds, depth: u32) {
        let fits = self.anyone_fits();
        if fits {
            self.in_order_counted(now);
        }
        let Some(head) = self.head(now) else {
            return;
        };
        // Most passes end here: the head waits, and nothing behind it is small enough for
        // what is free.
        let promised = depth > 1 || self.rows[head as usize].promised.is_some();
        let fits = fits && self.anyone_fits();
        if promised && !fits {
            return;
        }
        if depth > 1 {
            self.backfill_deep(now, depth);
            return;
        }
        let (shadow, extra) = self.shadow(head, now);
        let row = &mut self.rows[head as usize];
        row.promised.get_or_insert(shadow.second());
        if !fits {
            return;
        }
        let mut extra = extra;
        // Who ends in time for the head may have all that is free, others only what is
        // left beside it.
        let in_time = shadow.second() - now;
        let mut place = Place::default();
        loop {
            let free = self.state.free();
            let beside = u32::try_from(extra).unwrap_or(u32::MAX).min(free);
            let Some(task) = self.fitting(&mut place, &[(free, in_time), (beside, FOREVER)]) else {
                return;
            };
            if self.tasks[task as usize].waiting > in_time {
                extra -= i64::from(self.nodes(task));
            }
            self.start_counted(task, Started::Backfilled, now);
        }
    }

    /// When the head can start by the estimates, and what is left beside it then.
    fn shadow(&self, head: u32, now: Seconds) -> (Moment, i64) {
        let Some(counted) = &self.counted else {
            unreachable!("is made before every pass");
        };
        let wanted = i64::from(self.nodes(head));
        let late = self.overdue(now);
        let mut missing: i64 = late.iter().map(|&(_, nodes, _)| nodes).sum();
        let mut from = Moment::of(now);
        for &(end, nodes, _) in &late {
            if let Some(at) = counted.skyline.first_with(from, wanted + missing)
                && at < end
            {
                return (at, counted.skyline.at(at) - missing - wanted);
            }
            missing -= nodes;
            from = end;
        }
        let Some(at) = counted.skyline.first_with(from, wanted) else {
            unreachable!("a job that is not refused fits on the idle machine");
        };
        (at, counted.skyline.at(at) - wanted)
    }

    /// The first waiting job behind `place` that meets one of the limits: this many nodes at
    /// most, for so long at most. Limits that only become tighter from call to call, and
    /// a job that is found is started, so that nobody before `place` meets them.
    fn fitting(&self, place: &mut Place, limits: &[(u32, Seconds)]) -> Option<u32> {
        let index = self
            .counted
            .as_ref()
            .and_then(|counted| counted.index.as_ref());
        if let (true, Some(index)) = (self.queue.is_fixed(), index) {
            let ranks = limits
                .iter()
                .filter_map(|&(nodes, duration)| index.first(nodes, duration));
            return ranks.min().map(|rank| self.queue.by_rank()[rank as usize]);
        }
        loop {
            let task = self.queue.after(place)?;
            let job = &self.tasks[task as usize];
            let within =
                |&(nodes, duration): &(u32, Seconds)| job.nodes <= nodes && job.waiting <= duration;
            if limits.iter().any(within) {
                return Some(task);
            }
        }
    }

    /// Backfill with more than one reservation.
    fn backfill_deep(&mut self, now: Seconds, depth: u32) {
        let Some(counted) = &mut self.counted else {
            return;
        };
        let mut stairs = std::mem::take(&mut counted.stairs);
        let mut plan = counted.skyline.clone();
        for (end, nodes, _) in self.overdue(now) {
            plan.add(Moment::of(now), end, -nodes);
        }
        let here = Moment::of(now);
        let mut reserved = 0;
        let mut promised = Vec::new();
        let mut place = Place::default();
        while reserved < depth {
            let free = plan.at(here);
            if free == 0 && reserved > 0 {
                break;
            }
            let Some(task) = self.queue.after(&mut place) else {
                break;
            };
            let (nodes, duration) = (
                i64::from(self.nodes(task)),
                self.tasks[task as usize].waiting,
            );
            let Some(at) = plan.earliest(here, nodes, |at| at.end_of(duration)) else {
                continue;
            };
            plan.add(at, at.end_of(duration), -nodes);
            if at == here {
                let how = if reserved == 0 {
                    Started::InOrder
                } else {
                    Started::Backfilled
                };
                self.start_counted(task, how, now);
            } else {
                reserved += 1;
                promised.push((task, at.second()));
            }
        }
        let mut limits = Vec::new();
        while reserved == depth && plan.at(here) > 0 {
            plan.stairs(&mut stairs);
            limits.clear();
            limits.extend(stairs.iter().filter_map(|&(until, free)| {
                let duration = match until {
                    Moment::NEVER => FOREVER,
                    until => until.second() - now,
                };
                Some((u32::try_from(free).ok().filter(|&free| free > 0)?, duration))
            }));
            let Some(task) = self.fitting(&mut place, &limits) else {
                break;
            };
            let duration = self.tasks[task as usize].waiting;
            plan.add(here, here.end_of(duration), -i64::from(self.nodes(task)));
            self.start_counted(task, Started::Backfilled, now);
        }
        for (task, at) in promised {
            self.rows[task as usize].promised.get_or_insert(at);
        }
        if let Some(counted) = &mut self.counted {
            counted.stairs = stairs;
        }
    }
}
