//! The simulation: jobs come and end, and Slurm's two schedulers look at the queue, each
//! when its own time comes.
//!
//! Logs know whole seconds, Slurm's schedulers do not keep to them: a job that a pass of
//! backfill starts ends a little after a later pass, which does not see its nodes free.
//! So times are milliseconds here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;

use odonata_units::NodeId;

use super::backfill::Cycle;
use super::cluster::{Cluster, Parameters, Priority};
use super::jobs::{Task, Tasks};
use super::limits::Tally;
use super::nodes::NodeSet;
use super::nodes_out::{NodesOut, ends_of};
use super::onset::Onset;
use super::priority::{Factors, Shares, multifactor};
use super::select::{Held, State};
use crate::Seconds;
use crate::batch::{Fate, Row, Schedule, SimulationError, Started};
use crate::log::JobLog;

/// How often Slurm's threads look for something to do, ms.
pub(super) const POLL: i64 = 1000;

/// A job that runs.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub held: Held,
    /// When its limit ends it; what backfill believes.
    pub believed: i64,
    /// Its key among the ends.
    pub ends: (i64, u64),
}

/// Simulates a log on a cluster as Slurm schedules it. Rows count CPUs.
///
/// # Errors
/// If the cluster makes no sense, or `progress` (jobs that ended, of all) breaks off.
pub fn simulate(
    log: &JobLog,
    cluster: &Cluster,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Schedule, SimulationError> {
    simulate_from(log, cluster, None, progress)
}

/// [`simulate`], from an idle cluster or from one in use.
///
/// # Errors
/// As there.
pub fn simulate_from(
    log: &JobLog,
    cluster: &Cluster,
    onset: Option<&Onset>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Schedule, SimulationError> {
    let refused = SimulationError::Cluster;
    super::check(cluster).map_err(refused)?;
    Simulation::new(log, cluster, onset)
        .map_err(refused)?
        .run(progress)
}

pub(super) struct Simulation<'a> {
    pub cluster: &'a Cluster,
    /// The cluster's, in milliseconds.
    pub parameters: Rc<Parameters>,
    pub tasks: Vec<Task>,
    pub rows: Vec<Row>,
    /// Nodes of each partition.
    pub part_nodes: Vec<NodeSet>,
    arrivals: Vec<u32>,
    arrived: usize,
    /// Waiting jobs.
    pub queue: BTreeSet<u32>,
    pub state: State,
    pub running: BTreeMap<u32, Running>,
    /// When nodes become free, number of the start.
    pub ends: BTreeMap<(i64, u64), u32>,
    starts: u64,
    pub priorities: Vec<u64>,
    shares: Shares,
    shares_at: i64,
    pub tallies: Vec<Tally>,
    /// Grows with everything that happens to jobs.
    pub changes: u64,
    /// Times that priorities were computed anew.
    recomputed: u64,
    passes: u64,
    /// When each job began that runs at the beginning of the simulation.
    pub begun: Vec<Option<i64>>,
    /// The second of the last pass of backfill before the simulation.
    backfilled: Option<i64>,
    /// Nodes that no job gets from the beginning on.
    pub never: NodeSet,
    /// Where nodes can fail.
    pub nodes_out: Option<NodesOut>,
    /// When maintenance ends, ms, soonest first.
    pub maintenance_ends: Vec<i64>,
}

/// The second that a time lies in, as Slurm's clocks read.
pub(super) fn whole_second(time: i64) -> i64 {
    time.div_euclid(1000) * 1000
}

/// A job that waits for a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub task: u32,
    /// Which of the job's partitions.
    pub option: usize,
}

/// When each of Slurm's threads looks next.
struct Timetable {
    parameters: Rc<Parameters>,
    /// When the first job came; and how far into a second the controller's main thread looks.
    first: i64,
    within: i64,
    clock: i64,
    /// A quick pass that submissions and ends asked for.
    quick: Option<i64>,
    last_pass: i64,
    /// The next pass over all jobs, and changes as of the last one.
    full: i64,
    idle_full: Option<u64>,
    /// When backfill may look again; what had happened as of its last pass, after which another
    /// one waits for news; and the pass that pauses, with the end of its pause.
    backfill: i64,
    backfilled_at: Option<(u64, u64)>,
    cycle: Option<(i64, Cycle)>,
    /// The next look at priorities, and from one to the next.
    calc: Option<(i64, i64)>,
}

impl Timetable {
    fn new(of: &Simulation<'_>, first: i64) -> Self {
        let parameters = Rc::clone(&of.parameters);
        let calc = match &of.cluster.priority {
            Priority::Multifactor(weights) if weights.calc_period_s > 0 => {
                let period = weights.calc_period_s.saturating_mul(1000);
                Some((first + period, period))
            }
            _ => None,
        };
        let backfill = of.backfilled.map_or(whole_second(first) + POLL, |last| {
            let due = last * 1000 + POLL / 2 + parameters.bf_interval;
            due + (first - due + POLL - 1).max(0).div_euclid(POLL) * POLL
        });
        let mut due = Self {
            first,
            // The controller's main thread looks once a second for what to do, in the middle of
            // it; the backfill thread has the seconds between. Where backfill's last second is
            // known, its middle is the best guess of when, and the main thread has the seconds
            // between.
            within: if of.backfilled.is_some() { 0 } else { POLL / 2 },
            clock: first,
            quick: None,
            last_pass: i64::MIN / 2,
            full: 0,
            idle_full: None,
            backfill,
            backfilled_at: None,
            cycle: None,
            calc,
            parameters,
        };
        due.full = due.tick(first + due.parameters.sched_interval);
        due
    }

    /// When the main thread looks next, from `at` on.
    fn tick(&self, at: i64) -> i64 {
        let origin = whole_second(self.first) + self.within;
        origin - (origin - at).div_euclid(POLL) * POLL
    }

    /// Asks for a quick pass.
    fn ask(&mut self, now: i64) {
        let at = (now + 1).max(self.last_pass + self.parameters.batch_sched_delay);
        let at = self.tick(at);
        self.quick.get_or_insert(at);
    }

    /// The next pass of backfill from `at` on. While jobs wait there is one every interval, of
    /// which those without news change nothing and are left out; over an empty queue the thread
    /// looks for news in steps.
    fn poll(&self, at: i64, of: &Simulation<'_>) -> i64 {
        let step = match of.queue.is_empty() {
            true => POLL,
            false => self.parameters.bf_interval.max(POLL),
        };
        let late = (at - self.backfill).max(0);
        self.backfill + (late + step - 1).div_euclid(step) * step
    }

    /// When the next thing happens; `None` if nothing will.
    fn next(&mut self, of: &Simulation<'_>) -> Option<i64> {
        let parameters = &self.parameters;
        let next_end = of.ends.keys().next().map(|key| key.0);
        let next_arrival = of.arrivals.get(of.arrived);
        let next_arrival = next_arrival.map(|&task| of.tasks[task as usize].arrival);
        let waiting = !of.queue.is_empty();
        let next_outage = of.nodes_out.as_ref().filter(|out| !out.in_vain());
        let next_outage = next_outage.and_then(NodesOut::next);
        let next_outage =
            next_outage.filter(|_| waiting || next_end.is_some() || next_arrival.is_some());
        let next_over = of.maintenance_ends.first().copied().filter(|_| waiting);
        let stuck = next_end.is_none()
            && next_arrival.is_none()
            && self.cycle.is_none()
            && self.quick.is_none()
            && (self.idle_full == Some(of.changes) || parameters.sched_interval < 0)
            && (!parameters.backfill
                || (self.backfilled_at).is_some_and(|(changes, _)| changes == of.changes));
        if stuck {
            // Until nodes fail or come back.
            let next = next_outage.into_iter().chain(next_over).min()?;
            self.clock = next.max(self.clock);
            return Some(self.clock);
        }
        if parameters.sched_interval > 0 && self.full < self.clock {
            // Passes over an empty queue.
            let passes = (self.clock - self.full - 1) / parameters.sched_interval + 1;
            self.full += passes * parameters.sched_interval;
            self.last_pass = self.last_pass.max(self.full - parameters.sched_interval);
        }
        let news =
            parameters.backfill && self.cycle.is_none() && self.backfilled_at != Some(of.news());
        let next = [
            next_end,
            next_arrival,
            self.quick,
            next_outage,
            next_over,
            (parameters.sched_interval > 0 && waiting).then_some(self.full),
            self.cycle.as_ref().map(|(at, _)| *at),
            news.then(|| self.poll(self.clock, of)),
            self.calc.map(|(at, _)| at).filter(|_| waiting),
        ];
        let now = next.into_iter().flatten().min()?;
        self.clock = now.max(self.clock);
        Some(self.clock)
    }

    fn recompute_priorities(&mut self, of: &mut Simulation<'_>, now: i64) {
        if let Some((at, period)) = self.calc
            && at <= now
        {
            of.compute_priorities(now);
            self.calc = Some((now + period, period));
        }
    }

    /// Ends the jobs whose time has come, and says how many.
    fn take_ends(&mut self, of: &mut Simulation<'_>, now: i64) -> u64 {
        let mut ended = 0;
        while let Some((&(at, number), &task)) = of.ends.first_key_value()
            && at <= now
        {
            of.ends.remove(&(at, number));
            of.end(task, now);
            ended += 1;
            // Nodes that have run an epilogue say so, and Slurm looks at the queue at once;
            // otherwise the end waits for the main thread.
            if self.parameters.epilog && !self.parameters.defer {
                of.main_pass(now, Some(self.parameters.default_queue_depth));
            } else {
                self.ask(now);
            }
        }
        ended
    }

    /// Nodes that fail and come back: the next quick pass looks for what that changes.
    fn take_outages(&mut self, of: &mut Simulation<'_>, now: i64) {
        let over = of.end_maintenance(now);
        if of.take_outages(now) || over {
            self.ask(now);
        }
    }

    fn take_arrivals(&mut self, of: &mut Simulation<'_>, now: i64) {
        while let Some(&task) = of.arrivals.get(of.arrived)
            && of.tasks[task as usize].arrival <= now
        {
            of.arrived += 1;
            of.arrive(task, now);
            if of.queue.contains(&task) {
                self.ask(now);
            }
        }
    }

    /// Passes of the main scheduler that are due.
    fn main_thread(&mut self, of: &mut Simulation<'_>, now: i64) {
        let interval = self.parameters.sched_interval;
        let all = interval > 0 && self.full == now;
        if interval > 0 && self.full <= now {
            self.full += ((now - self.full) / interval + 1) * interval;
        }
        if all {
            of.main_pass(now, None);
            self.idle_full = Some(of.changes);
        } else if self.quick.is_some_and(|at| at <= now) {
            of.main_pass(now, Some(self.parameters.default_queue_depth));
        } else {
            return;
        }
        self.quick = None;
        self.last_pass = now;
    }

    /// A pass of backfill that is due, or the rest of one that paused.
    fn backfill_thread(&mut self, of: &mut Simulation<'_>, now: i64) {
        let mut running = match self.cycle.take() {
            Some((at, paused)) if at <= now => paused,
            Some(paused) => {
                self.cycle = Some(paused);
                return;
            }
            None => {
                let due = self.parameters.backfill
                    && self.poll(now, of) <= now
                    && self.backfilled_at != Some(of.news());
                if !due {
                    return;
                }
                self.backfilled_at = Some(of.news());
                of.passes += 1;
                Cycle::new(of, now)
            }
        };
        match running.go_on(of, now) {
            Some(at) => self.cycle = Some((at, running)),
            None => self.backfill = now + self.parameters.bf_interval,
        }
    }
}

impl<'a> Simulation<'a> {
    fn new(log: &JobLog, cluster: &'a Cluster, onset: Option<&Onset>) -> Result<Self, String> {
        let mut all = Tasks::new(log, cluster)?;
        let begun = onset.map(|onset| onset.apply(&mut all, log.jobs.iter().map(|job| &*job.id)));
        let Tasks {
            tasks,
            rows,
            shares,
        } = all;
        let mut arrivals: Vec<u32> = (0..tasks.len() as u32)
            .filter(|&task| !matches!(rows[task as usize].fate, Fate::Refused(_)))
            .collect();
        arrivals.sort_by_key(|&task| tasks[task as usize].arrival);
        let is_out =
            |node: usize| onset.is_some_and(|onset| onset.out.contains(&cluster.nodes[node].name));
        let nodes_of = |part: &super::cluster::Partition| {
            let nodes = part.nodes.iter().map(|&node| node as usize);
            NodeSet::of(cluster.nodes.len(), nodes.filter(|&node| !is_out(node)))
        };
        let first = arrivals.first();
        let first = first.map_or(0, |&task| tasks[task as usize].arrival);
        let nodes_out = NodesOut::new(cluster, first).map_err(|error| error.to_string())?;
        Ok(Self {
            never: NodeSet::of(
                cluster.nodes.len(),
                (0..cluster.nodes.len()).filter(|&node| is_out(node)),
            ),
            nodes_out,
            maintenance_ends: ends_of(&cluster.maintenance),
            cluster,
            parameters: Rc::new(cluster.parameters.in_milliseconds()),
            priorities: vec![0; tasks.len()],
            tasks,
            rows,
            part_nodes: cluster.partitions.iter().map(nodes_of).collect(),
            arrivals,
            arrived: 0,
            queue: BTreeSet::new(),
            state: State::idle(cluster),
            running: BTreeMap::new(),
            ends: BTreeMap::new(),
            starts: 0,
            shares,
            shares_at: 0,
            tallies: vec![Tally::default(); cluster.qos.len()],
            changes: 0,
            recomputed: 0,
            passes: 0,
            begun: begun.unwrap_or_default(),
            backfilled: onset.and_then(|onset| onset.backfilled),
        })
    }

    fn run(
        mut self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Schedule, SimulationError> {
        let of = self.rows.len() as u64;
        let first = self.arrivals.first();
        let first = first.map_or(0, |&task| self.tasks[task as usize].arrival);
        self.shares_at = first;
        let mut due = Timetable::new(&self, first);
        let (mut ended, mut reported) = (0u64, 0);
        while let Some(now) = due.next(&self) {
            due.recompute_priorities(&mut self, now);
            ended += due.take_ends(&mut self, now);
            due.take_outages(&mut self, now);
            due.take_arrivals(&mut self, now);
            due.main_thread(&mut self, now);
            due.backfill_thread(&mut self, now);
            if ended >= reported {
                reported = ended + (of / 500).max(1);
                if progress(ended, of).is_break() {
                    return Err(SimulationError::Interrupted { done: ended, of });
                }
            }
        }
        for &task in &self.queue {
            let reason = match &self.nodes_out {
                None => "it never found a place on the cluster".to_owned(),
                Some(out) => out.reason(),
            };
            self.rows[task as usize].give_up(reason);
        }
        Ok(Schedule {
            rows: self.rows,
            machine: u32::try_from(self.cluster.cpus()).unwrap_or(u32::MAX),
            passes: self.passes,
            broken_promises: 0,
            out: self.nodes_out.map(NodesOut::into_steps),
        })
    }

    /// What has happened to jobs and priorities.
    fn news(&self) -> (u64, u64) {
        (self.changes, self.recomputed)
    }

    /// Whether jobs are yet to come.
    pub fn has_arrivals(&self) -> bool {
        self.arrived < self.arrivals.len()
    }

    /// A job that has come before comes again at a time to come.
    pub fn comes_again(&mut self, task: u32, at: i64) {
        let to_come = &self.arrivals[self.arrived..];
        let sooner = to_come.partition_point(|&other| self.tasks[other as usize].arrival <= at);
        self.arrivals.insert(self.arrived + sooner, task);
    }

    /// A job comes. Slurm tries to start an interactive one at once if none goes before it;
    /// batch jobs wait for the next pass.
    fn arrive(&mut self, task: u32, now: i64) {
        self.queue.insert(task);
        self.changes += 1;
        self.priorities[task as usize] = self.priority(task, now);
        if let Some(since) = self.begun.get(task as usize).copied().flatten() {
            let candidate = Candidate { task, option: 0 };
            let allowed = NodeSet::all(self.cluster.nodes.len());
            // Where its nodes are not to be had (others share them), it waits for them.
            self.try_start(candidate, &allowed, since, Started::InOrder);
            return;
        }
        if self.parameters.defer || !self.tasks[task as usize].interactive {
            return;
        }
        for option in 0..self.tasks[task as usize].options.len() {
            let candidate = Candidate { task, option };
            if self.goes_first(candidate) && self.may_start(candidate) {
                let part = self.tasks[task as usize].options[option].partition;
                let mut allowed = self.part_nodes[part].clone();
                let limit = self.tasks[task as usize].options[option].limit;
                if let Some(kept) = self.kept_out(now, now + limit) {
                    allowed.drop_all(&kept);
                }
                if self.try_start(candidate, &allowed, now, Started::InOrder) {
                    return;
                }
            }
        }
    }

    /// Whether no waiting job of a partition that shares nodes goes before this one.
    fn goes_first(&self, candidate: Candidate) -> bool {
        let key = self.key(candidate);
        let part = self.tasks[candidate.task as usize].options[candidate.option].partition;
        self.queue.iter().all(|&other| {
            let task = &self.tasks[other as usize];
            other == candidate.task
                || (0..task.options.len()).all(|option| {
                    let one = Candidate {
                        task: other,
                        option,
                    };
                    let of = task.options[option].partition;
                    let apart = of != part && !self.part_nodes[of].meets(&self.part_nodes[part]);
                    apart || self.key(one) > key || !self.may_start(one)
                })
        })
    }

    /// What the queue is sorted by: tier, priority, submission, number.
    fn key(&self, candidate: Candidate) -> (std::cmp::Reverse<(u32, u64)>, i64, u32) {
        let task = &self.tasks[candidate.task as usize];
        let tier = self.cluster.partitions[task.options[candidate.option].partition].priority_tier;
        let priority = self.priorities[candidate.task as usize];
        (
            std::cmp::Reverse((tier, priority)),
            task.arrival,
            candidate.task,
        )
    }

    /// Waiting jobs with each of their partitions, in Slurm's order.
    pub fn candidates(&self) -> Vec<Candidate> {
        let of = |&task: &u32| {
            let options = self.tasks[task as usize].options.len();
            (0..options).map(move |option| Candidate { task, option })
        };
        let mut all: Vec<Candidate> = self.queue.iter().flat_map(of).collect();
        all.sort_by_cached_key(|&candidate| self.key(candidate));
        all
    }

    /// Whether the job's QOS and its partition's let it start beside those that run.
    pub fn may_start(&self, candidate: Candidate) -> bool {
        let task = &self.tasks[candidate.task as usize];
        let option = &task.options[candidate.option];
        let qos = task.qos.iter().chain(&option.qos);
        self.cluster.partitions[option.partition].up
            && qos.into_iter().all(|&number| {
                self.tallies[number].allows(&self.cluster.qos[number], &task.counted)
            })
    }

    /// A pass of the main scheduler over this many jobs: in order, until a job does not fit;
    /// then no other job of its partition, nor any on the partition's nodes.
    fn main_pass(&mut self, now: i64, depth: Option<u32>) {
        if self.queue.is_empty() {
            return;
        }
        self.passes += 1;
        let parameters = Rc::clone(&self.parameters);
        let mut available = NodeSet::all(self.cluster.nodes.len());
        let mut failed = vec![false; self.cluster.partitions.len()];
        let mut looked_at = vec![0u32; self.cluster.partitions.len()];
        let (mut tested, mut started) = (0, 0);
        for candidate in self.candidates() {
            if !self.queue.contains(&candidate.task) {
                continue;
            }
            let task = &self.tasks[candidate.task as usize];
            let option = &task.options[candidate.option];
            let part = option.partition;
            if parameters.sched_max_job_start > 0 && started >= parameters.sched_max_job_start {
                break;
            }
            if parameters.partition_job_depth > 0 {
                looked_at[part] += 1;
                if looked_at[part] > parameters.partition_job_depth {
                    continue;
                }
            }
            if depth.is_some_and(|depth| tested > depth) {
                break;
            }
            tested += 1;
            if failed[part] || !self.cluster.partitions[part].up {
                continue;
            }
            if !self.may_start(candidate) {
                if parameters.assoc_limit_stop {
                    failed[part] = true;
                    available.drop_all(&self.part_nodes[part]);
                }
                continue;
            }
            let mut allowed = self.part_nodes[part].clone();
            allowed.keep(&available);
            if let Some(kept) = self.kept_out(now, now + option.limit) {
                allowed.drop_all(&kept);
            }
            if allowed.len() < option.ask.min_nodes as usize {
                continue;
            }
            if self.try_start(candidate, &allowed, now, Started::InOrder) {
                started += 1;
                continue;
            }
            let task = &self.tasks[candidate.task as usize];
            let ask = &task.options[candidate.option].ask;
            if let Some(required) = &ask.required
                && required.len() >= ask.min_nodes as usize
            {
                available.drop_all(required);
                continue;
            }
            let young =
                whole_second(now) - whole_second(task.arrival) < parameters.bf_min_age_reserve;
            let low = self.priorities[candidate.task as usize] < parameters.bf_min_prio_reserve;
            if !young && !low {
                failed[part] = true;
                available.drop_all(&self.part_nodes[part]);
            }
        }
    }

    /// Starts the job if it finds a place on these nodes.
    pub fn try_start(
        &mut self,
        candidate: Candidate,
        allowed: &NodeSet,
        now: i64,
        how: Started,
    ) -> bool {
        let option = &self.tasks[candidate.task as usize].options[candidate.option];
        match self.state.place(self.cluster, &option.ask, allowed) {
            Some(held) => {
                self.start(candidate, held, now, how);
                true
            }
            None => false,
        }
    }

    fn start(&mut self, candidate: Candidate, held: Held, now: i64, how: Started) {
        let Candidate { task: number, .. } = candidate;
        let task = &self.tasks[number as usize];
        self.queue.remove(&number);
        self.changes += 1;
        self.state.take(&held);
        for &qos in task.qos.iter().chain(&task.options[candidate.option].qos) {
            self.tallies[qos].start(&task.counted);
        }
        self.change_usage(number, now, 1.0);
        let task = &self.tasks[number as usize];
        let limit = task.options[candidate.option].limit;
        let end = now + task.run + self.parameters.completing as i64;
        let row = &mut self.rows[number as usize];
        row.nodes = u32::try_from(held.cpus()).unwrap_or(u32::MAX);
        let start = now.div_euclid(1000);
        row.start = Some(Seconds(start));
        row.end = Some(Seconds(start + task.run_s));
        row.fate = if task.killed {
            Fate::Killed
        } else {
            Fate::Finished
        };
        row.started = Some(how);
        row.placed = Some(held.parts.iter().map(|part| NodeId(part.node)).collect());
        let ends = (end, self.starts);
        self.ends.insert(ends, number);
        self.starts += 1;
        let believed = whole_second(now) + limit;
        self.tasks[number as usize].chosen = candidate.option;
        let running = Running {
            held,
            believed,
            ends,
        };
        self.running.insert(number, running);
    }

    pub fn end(&mut self, number: u32, now: i64) {
        let Some(running) = self.running.remove(&number) else {
            return;
        };
        self.changes += 1;
        self.state.give_back(&running.held);
        let task = &self.tasks[number as usize];
        for &qos in task.qos.iter().chain(&task.options[task.chosen].qos) {
            self.tallies[qos].end(&task.counted);
        }
        self.change_usage(number, now, -1.0);
    }

    /// The rate at which a job uses its account's shares begins or ends.
    fn change_usage(&mut self, number: u32, now: i64, sign: f64) {
        let Priority::Multifactor(weights) = &self.cluster.priority else {
            return;
        };
        self.shares.advance(
            (now - self.shares_at) as f64 / 1e3,
            weights.half_life_s as f64,
        );
        self.shares_at = now;
        let task = &self.tasks[number as usize];
        if let Some(leaf) = task.leaf {
            self.shares.change(leaf, sign * task.usage_rate);
        }
    }

    /// Priorities of all waiting jobs anew.
    fn compute_priorities(&mut self, now: i64) {
        let Priority::Multifactor(weights) = &self.cluster.priority else {
            return;
        };
        self.shares.advance(
            (now - self.shares_at) as f64 / 1e3,
            weights.half_life_s as f64,
        );
        self.shares_at = now;
        self.shares.rank(weights);
        let waiting: Vec<u32> = self.queue.iter().copied().collect();
        for task in waiting {
            self.priorities[task as usize] = self.priority(task, now);
        }
        self.recomputed += 1;
    }

    fn priority(&self, number: u32, now: i64) -> u64 {
        let task = &self.tasks[number as usize];
        match &self.cluster.priority {
            // Slurm counts down from a large number.
            Priority::Basic => 4_294_901_759 - u64::from(number),
            Priority::Recorded => task.recorded_priority,
            Priority::Multifactor(weights) => multifactor(
                weights,
                &Factors {
                    wait: (now - task.arrival) / 1000,
                    fair_share: self.shares.factor(task.leaf),
                    ..task.factors
                },
            ),
        }
    }
}

#[cfg(test)]
mod tests;
