//! Passes on machines whose nodes need not be distinguished: the same starts as those of
//! [`super::passes`], found without laying the machine's future out in every pass.

use std::collections::HashMap;
use std::ops::Bound;

use super::calendar::{Calendar, Promise};
use super::machine::Machine;
use super::options::Policy;
use super::queue::{Bits, Place, Queue, SizeIndex, stored};
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
    /// Nodes that are free by the estimates of running jobs, and, where promises are
    /// kept, beside what is promised.
    skyline: Skyline,
    /// The waiting jobs by size and estimate.
    index: Option<SizeIndex>,
    promises: Option<Promises>,
    /// Steps of a plan; kept for their memory.
    stairs: Vec<(Moment, i64)>,
}

/// What waiting jobs are promised under conservative backfill. All of it is in the
/// skyline.
///
/// A job that was looked at has the earliest place that there is. It can have a sooner one
/// only where nodes have become free since: right before its own place, so that it can *slide*
/// into the gap, or in a gap that is long enough for all of it, into which it can *jump*. A job that
/// may be able to is marked as time becomes free, and nobody else is looked at.
struct Promises {
    /// When each begins.
    calendar: Calendar,
    /// When that of each job begins; never, if it has none.
    of: Vec<Moment>,
    /// Waiting jobs without promise.
    without: Vec<u32>,
    /// Jobs that have outlived their estimate, and until when they have their nodes in
    /// the skyline.
    overdue: HashMap<u32, Moment>,
    /// Whether the skyline lacks them.
    unplaced: bool,
    /// Whether a job that started is believed to run for longer than it was when it waited.
    crowded: bool,
    /// Ranks of jobs that may be able to move.
    may_move: Bits,
    /// Between when and when the gaps lie into which each job may be able to jump;
    /// [`NOWHERE`] if there are none.
    jumps: Vec<(Moment, Moment)>,
    /// Whether all may move, anywhere.
    all_may: bool,
    /// Times in which nodes have become free since the last pass, and how many in all.
    freed: Vec<(Moment, Moment)>,
    freed_nodes: i64,
}

/// No gap to jump into, and any.
const NOWHERE: (Moment, Moment) = (Moment::NEVER, Moment(i64::MIN));
const ANYWHERE: (Moment, Moment) = (Moment(i64::MIN), Moment::NEVER);

impl Promises {
    /// Makes nodes free, or takes them if negative; who may move then is found out later.
    fn add(&mut self, skyline: &mut Skyline, from: Moment, to: Moment, nodes: i64) {
        skyline.add(from, to, nodes);
        if nodes > 0 && from < to {
            self.freed.push((from, to));
            self.freed_nodes += nodes;
        }
    }

    /// Gives a promise to a job.
    fn promise(&mut self, task: u32, job: &Task, at: Moment) {
        let promise = Promise {
            at,
            task,
            nodes: job.nodes,
            waiting: stored(job.waiting),
        };
        match std::mem::replace(&mut self.of[task as usize], at) {
            Moment::NEVER => self.calendar.insert(promise),
            old => self.calendar.shift(old, promise),
        }
    }

    /// Marks who may move because of all that has become free since the last pass.
    fn mark_freed(&mut self, skyline: &Skyline, queue: &Queue) {
        let mut freed = std::mem::take(&mut self.freed);
        for (from, to) in freed.drain(..) {
            self.mark(skyline, queue, from, to, self.freed_nodes);
        }
        self.freed = freed;
        self.freed_nodes = 0;
    }

    /// Marks who may move because at most `nodes` have become free in a time.
    fn mark(&mut self, skyline: &Skyline, queue: &Queue, from: Moment, to: Moment, nodes: i64) {
        let Some(gaps) = skyline.gaps(from, to, nodes) else {
            return;
        };
        let Self {
            calendar,
            may_move,
            jumps,
            ..
        } = self;
        for promise in calendar.from(Moment(from.0 + 1)) {
            if promise.at > to {
                break;
            }
            if i64::from(promise.nodes) <= gaps.most {
                may_move.set(queue.rank(promise.task));
            }
        }
        calendar.below(gaps.begin, &gaps.bounds, &mut |promise| {
            let ends = gaps.begin.end_of(Seconds(i64::from(promise.waiting)));
            // Who could jump into less than has become free has been able to all the time.
            let due = (gaps.least..=gaps.most).contains(&i64::from(promise.nodes));
            if due && Moment(ends.0 - 1) <= promise.at {
                may_move.set(queue.rank(promise.task));
                let (from, to) = &mut jumps[promise.task as usize];
                (*from, *to) = ((*from).min(gaps.begin), (*to).max(gaps.end));
            }
        });
    }
}

impl Counted {
    /// A job comes.
    pub fn arrives(&mut self, task: u32, job: &Task, queue: &Queue) {
        if let Some(index) = &mut self.index {
            index.set(queue.rank(task), job.nodes, Some(job.waiting));
        }
        if let Some(promises) = &mut self.promises {
            promises.without.push(task);
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
        let (nodes, end) = (i64::from(job.nodes), Moment::of(estimated));
        match &mut self.promises {
            None => self.skyline.add(Moment::of(now), end, -nodes),
            Some(promises) => {
                let held = Moment::of(now + job.waiting);
                promises.crowded |= held < end;
                promises.may_move.unset(queue.rank(task));
                self.skyline.add(held, end, -nodes);
                promises.add(&mut self.skyline, end, held, nodes);
            }
        }
    }

    /// A job ends that was estimated to do so at `estimated`.
    pub fn ends(&mut self, task: u32, nodes: u32, estimated: Seconds, now: Seconds) {
        let (now, end, nodes) = (Moment::of(now), Moment::of(estimated), i64::from(nodes));
        match &mut self.promises {
            None => self.skyline.add(now, end, nodes),
            Some(promises) => {
                let end = promises.overdue.remove(&task).unwrap_or(end);
                promises.add(&mut self.skyline, now, end, nodes);
            }
        }
    }
}

impl<M: Machine> Simulation<'_, M> {
    /// A pass, if the future can be found by counting; `false` if nothing was done.
    pub(super) fn pass_counted(&mut self, now: Seconds) -> bool {
        if !self.no_windows(now) {
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
            promises: keeps.then(|| Promises {
                calendar: Calendar::default(),
                of: vec![Moment::NEVER; self.tasks.len()],
                without: Vec::new(),
                overdue: HashMap::new(),
                unplaced: !self.promises.is_empty(),
                crowded: false,
                may_move: Bits::new(self.tasks.len()),
                jumps: vec![NOWHERE; self.tasks.len()],
                all_may: true,
                freed: Vec::new(),
                freed_nodes: 0,
            }),
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
        if let Some(promises) = &mut counted.promises {
            for task in self.queue.iter() {
                match self.promises.get(&task) {
                    Some(&at) => promises.promise(task, &self.tasks[task as usize], Moment::of(at)),
                    None => promises.without.push(task),
                }
            }
        }
        counted
    }

    fn start_counted(&mut self, task: u32, how: Started, now: Seconds) {
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
    fn overdue(&self, now: Seconds) -> Vec<(Moment, i64, u32)> {
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

    /// The first waiting job behind `place` that meets one of the limits: so many nodes at
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
            let Some(at) = plan.earliest(here, nodes, Moment::NEVER, Moment::NEVER, |at| {
                at.end_of(duration)
            }) else {
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

/// Conservative backfill with kept reservations.
impl<M: Machine> Simulation<'_, M> {
    fn conservative_counted(&mut self, now: Seconds) {
        let Some(mut counted) = self.counted.take() else {
            return;
        };
        let here = Moment::of(now);
        self.keep_promises(&mut counted, now);
        let Counted {
            skyline,
            promises: Some(promises),
            ..
        } = &mut counted
        else {
            unreachable!("promises are kept under this policy");
        };
        let mut starting: Vec<u32> = Vec::new();
        let due = promises.calendar.from(here);
        starting.extend(
            due.take_while(|promise| promise.at == here)
                .map(|promise| promise.task),
        );
        // Who has no promise gets one; if jobs ended early, others may move forward.
        let mut without = std::mem::take(&mut promises.without);
        if self.unexpected_end {
            promises.mark_freed(skyline, &self.queue);
            if std::mem::take(&mut promises.all_may) {
                without.clear();
                without.extend(self.queue.iter());
                for &task in &without {
                    promises.jumps[task as usize] = ANYWHERE;
                }
            }
            for &task in &without {
                promises.may_move.set(self.queue.rank(task));
            }
            if self.queue.is_fixed() {
                let mut next = 0;
                while let Some(rank) = promises.may_move.next(next) {
                    next = rank + 1;
                    let task = self.queue.by_rank()[rank as usize];
                    self.look_at(task, promises, skyline, here, &mut starting);
                }
            } else {
                self.sort(now);
                let mut place = Place::default();
                while let Some(task) = self.queue.after(&mut place) {
                    if promises.may_move.contains(self.queue.rank(task)) {
                        self.look_at(task, promises, skyline, here, &mut starting);
                    }
                }
            }
        } else {
            if self.queue.is_fixed() || without.len() < 2 {
                without.sort_unstable_by_key(|&task| self.queue.rank(task));
            } else {
                self.sort(now);
                let wanted: std::collections::HashSet<u32> = without.iter().copied().collect();
                without.clear();
                without.extend(self.queue.iter().filter(|task| wanted.contains(task)));
            }
            for &task in &without {
                self.look_at(task, promises, skyline, here, &mut starting);
            }
        }
        for &task in &starting {
            promises.calendar.remove(here, task);
            promises.of[task as usize] = Moment::NEVER;
        }
        // Who waits for jobs that are due now is looked at again in a second: they may go on.
        let soonest = promises.calendar.from(here).next();
        self.wake = soonest.map(|promise| promise.at.second().max(now + Seconds(1)));
        self.counted = Some(counted);
        self.start_promised(starting, now);
    }

    /// Moves a waiting job to its earliest place, if that is sooner than its own.
    fn look_at(
        &mut self,
        task: u32,
        promises: &mut Promises,
        skyline: &mut Skyline,
        here: Moment,
        starting: &mut Vec<u32>,
    ) {
        let job = &self.tasks[task as usize];
        let (rank, nodes) = (self.queue.rank(task), i64::from(job.nodes));
        let old = promises.of[task as usize];
        promises.may_move.unset(rank);
        let (from, to) = std::mem::replace(&mut promises.jumps[task as usize], NOWHERE);
        if old == here {
            return;
        }
        let end_of = |at: Moment| at.end_of(job.waiting);
        let at = if old == Moment::NEVER {
            skyline.earliest(here, nodes, old, old, end_of)
        } else {
            let slide = skyline.gap_before(old, nodes);
            let before = slide.unwrap_or(old).min(to);
            let jump = skyline.earliest(from.max(here), nodes, before, old, end_of);
            jump.or(slide)
        };
        let Some(at) = at else {
            if old == Moment::NEVER {
                // Nothing says when it can have a place.
                promises.may_move.set(rank);
            }
            return;
        };
        let end = at.end_of(job.waiting);
        if old == Moment::NEVER {
            skyline.add(at, end, -nodes);
        } else {
            let old_end = old.end_of(job.waiting);
            // Of a place that it slides along, part stays its own.
            skyline.add(at, end.min(old), -nodes);
            let freed = end.max(old);
            skyline.add(freed, old_end, nodes);
            promises.mark(skyline, &self.queue, freed, old_end, nodes);
        }
        promises.promise(task, job, at);
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
        let chosen: std::collections::HashSet<u32> = starting.iter().copied().collect();
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
    /// longer, and promises of the past are for now.
    fn keep_promises(&mut self, counted: &mut Counted, now: Seconds) {
        let overdue = self.overdue(now);
        let Counted {
            skyline,
            promises: Some(promises),
            ..
        } = counted
        else {
            return;
        };
        let here = Moment::of(now);
        let mut changed = !overdue.is_empty() | std::mem::take(&mut promises.crowded);
        for (end, nodes, task) in overdue {
            let held = promises.overdue.insert(task, end);
            skyline.add(held.unwrap_or(here).max(here), end, -nodes);
        }
        let past = promises.calendar.from(Moment(i64::MIN));
        let past = past.take_while(|promise| promise.at < here);
        let past: Vec<(Moment, u32)> = past.map(|promise| (promise.at, promise.task)).collect();
        for &(at, task) in &past {
            changed = true;
            let job = &self.tasks[task as usize];
            skyline.add(
                at.end_of(job.waiting),
                here.end_of(job.waiting),
                -i64::from(job.nodes),
            );
            promises.promise(task, job, here);
        }
        // Whether who was promised a time late in this second can have its beginning now
        // depends on what others are promised.
        let late = promises.calendar.from(Moment::late_in(now)).next();
        let late = late.is_some_and(|promise| promise.at < Moment::of(now + Seconds(1)));
        if promises.unplaced || late || (changed && skyline.least() < 0) {
            self.place_anew(counted, past, now);
        }
    }

    /// Places all promises anew, those for sooner times first; jobs that find their
    /// places taken by who has outlived an estimate lose theirs. `past` are promises of
    /// the past, which are for now.
    fn place_anew(&mut self, counted: &mut Counted, past: Vec<(Moment, u32)>, now: Seconds) {
        let here = Moment::of(now);
        let mut skyline = Skyline::new(here, i64::from(self.state.size()));
        let Some(promises) = &mut counted.promises else {
            return;
        };
        promises.unplaced = false;
        // Whose places have gone leave gaps, and nobody has looked for them.
        promises.all_may = true;
        promises.freed.clear();
        promises.freed_nodes = 0;
        for &(end, task) in self.by_estimate.keys() {
            let until = if end <= now {
                Moment::expected(end, now)
            } else {
                Moment::of(end)
            };
            skyline.add(here, until, -i64::from(self.tasks[task as usize].nodes));
        }
        let mut kept: Vec<(Seconds, u32)> = Vec::new();
        kept.extend(past.iter().map(|&(at, task)| (at.second(), task)));
        let past: std::collections::HashSet<u32> = past.into_iter().map(|(_, task)| task).collect();
        let all = promises.calendar.from(Moment(i64::MIN));
        let others = all.filter(|promise| !past.contains(&promise.task));
        kept.extend(others.map(|promise| (promise.at.second(), promise.task)));
        kept.sort_unstable();
        promises.calendar.clear();
        for (at, task) in kept {
            promises.of[task as usize] = Moment::NEVER;
            let job = &self.tasks[task as usize];
            let nodes = i64::from(job.nodes);
            let begin = Moment::of(at.max(now));
            let late = (at <= now).then_some(Moment::late_in(now));
            let fits = |at: &Moment| skyline.has(*at, at.end_of(job.waiting), nodes);
            let place = [begin].into_iter().chain(late).find(fits);
            match place {
                Some(at) => {
                    skyline.add(at, at.end_of(job.waiting), -nodes);
                    promises.promise(task, job, at);
                }
                None => {
                    promises.without.push(task);
                    self.broken_promises += 1;
                }
            }
        }
        counted.skyline = skyline;
    }
}
