//! The batch simulation: jobs come, wait, run and end; event by event.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use odonata_units::NodeId;
use thiserror::Error;

use super::counted::Counted;
use super::hold::Held;
use super::machine::{Ask, Machine};
use super::network::{Allocation, AsLogged, Network};
use super::nodes_out::NodesOut;
use super::options::{OptionError, Options, Passes, Policy, Window};
use super::order::{Candidate, Multifactor, Order, Usage, priority};
use super::queue::Queue;
use super::schedule::{Fate, Groups, Row, Schedule, Started};
use super::task::Task;
use super::timeline::Timeline;
use crate::Seconds;
use crate::log::{JobLog, Label};

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulationError {
    /// The options are wrong.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Nobody knows how fast jobs run.
    #[error("{0}")]
    Network(String),
    /// The cluster makes no sense.
    #[error("{0}")]
    Cluster(String),
    /// The caller wanted it to end.
    #[error("interrupted after {done} of {of} jobs")]
    Interrupted {
        /// Jobs that had ended.
        done: u64,
        /// Jobs of the log.
        of: u64,
    },
}

/// Progress is reported at least this often, as far as passes are short.
const SILENCE: Duration = Duration::from_millis(200);

/// The end of a job before it is known.
const NO_END: Seconds = Seconds(i64::MIN);

/// The place of a task that does not run.
const NOT_RUNNING: u32 = u32::MAX;

/// Where a running job is.
#[derive(Clone, Debug)]
pub(super) struct Running<H> {
    task: u32,
    held: H,
    /// Seconds that it still stands still at `since`.
    still: f64,
    /// Seconds of work that are left at `since`, and how many it does per second.
    left: f64,
    speed: f64,
    since: Seconds,
    started: Seconds,
    /// Its key in `ends`.
    pub(super) ends: (Seconds, u64),
    /// Key of its estimated end in `by_estimate`.
    estimated: Seconds,
    /// The reservation in which it runs.
    inside: Option<usize>,
    /// Its nodes, where nodes can fail.
    placed: Vec<NodeId>,
}

/// Simulates a log on a machine.
///
/// `progress` is called with the jobs that have ended and all jobs, some hundred times;
/// what it returns can end the simulation. Equal inputs give equal schedules.
///
/// # Errors
/// If the options are wrong, or `progress` breaks off.
pub fn simulate<M: Machine>(
    log: &JobLog,
    machine: &M,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Schedule, SimulationError> {
    simulate_with(log, machine, options, &mut AsLogged, progress)
}

/// The same where `network` says how fast jobs run beside each other. Ends are
/// rounded up to whole seconds.
///
/// # Errors
/// If the options are wrong, the network does not know, or `progress` breaks off.
pub fn simulate_with<M: Machine>(
    log: &JobLog,
    machine: &M,
    options: &Options,
    network: &mut dyn Network,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Schedule, SimulationError> {
    options.check(machine.size())?;
    Simulation::new(log, machine, options, network)?.run(progress)
}

pub(super) struct Simulation<'a, M: Machine> {
    pub(super) options: &'a Options,
    pub(super) network: &'a mut dyn Network,
    /// How few groups of the machine hold a job.
    groups: Groups,
    /// Jobs with new speeds, and waiting ones by priority; kept for their memory.
    changed: Vec<(u32, f64)>,
    keyed: Vec<(f64, u32)>,
    pub(super) tasks: Vec<Task>,
    pub(super) rows: Vec<Row>,
    /// Tasks by arrival.
    pub(super) arrivals: Vec<u32>,
    pub(super) arrived: usize,
    /// Waiting tasks.
    pub(super) queue: Queue,
    /// The machine with its jobs, without windows.
    pub(super) state: M,
    /// Running tasks, and the place of each of them among these; [`NOT_RUNNING`] of others.
    pub(super) running: Vec<Running<M::Held>>,
    pub(super) places: Vec<u32>,
    /// What is known of the future of a machine that only counts.
    pub(super) counted: Option<Counted>,
    pub(super) by_estimate: BTreeMap<(Seconds, u32), M::Held>,
    /// Ends to come: time, number of the start, task.
    pub(super) ends: BTreeMap<(Seconds, u64), u32>,
    pub(super) starts: u64,
    /// Times at which a window starts or ends, ascending, and how many are over.
    pub(super) edges: Vec<Seconds>,
    pub(super) edges_over: usize,
    /// Nodes that jobs hold inside each window, and labels of its users.
    pub(super) used: Vec<u32>,
    pub(super) users: Vec<Vec<Label>>,
    pub(super) usage: Usage,
    /// Conservative backfill: what each waiting task is promised.
    pub(super) promises: HashMap<u32, Seconds>,
    /// The earliest of these promises, at which there may be no other event.
    pub(super) wake: Option<Seconds>,
    /// Whether a job ended earlier or later than expected, or a window's edge passed.
    pub(super) unexpected_end: bool,
    pub(super) passes: u64,
    pub(super) broken_promises: u64,
    /// Where nodes can fail.
    pub(super) nodes_out: Option<NodesOut<M>>,
    /// Jobs that are held as the network is busy.
    pub(super) held: Held,
}

/// A start that a pass decided on.
pub(super) struct Start<H> {
    pub(super) task: u32,
    pub(super) held: H,
    pub(super) how: Started,
    pub(super) inside: Option<usize>,
}

/// What happened at a time.
#[derive(Default)]
struct Events {
    any: bool,
    /// Jobs that ended.
    ended: u64,
}

impl<'a, M: Machine> Simulation<'a, M> {
    fn new(
        log: &JobLog,
        machine: &M,
        options: &'a Options,
        network: &'a mut dyn Network,
    ) -> Result<Self, OptionError> {
        let idle = machine.idle();
        let size = machine.size();
        let mut tasks = Vec::with_capacity(log.jobs.len());
        let mut rows = Vec::with_capacity(log.jobs.len());
        for (index, job) in log.jobs.iter().enumerate() {
            let task = Task::new(job, options, size);
            let ask = Ask {
                job: index as u32,
                nodes: task.nodes,
            };
            let refusal = idle.place(&ask).err().map(|refusal| refusal.to_string());
            let fate = refusal.map_or(Fate::Finished, Fate::Refused);
            rows.push(Row::new(index as u32, task.arrival, task.nodes, fate));
            tasks.push(task);
        }
        let refused = |row: &Row| matches!(row.fate, Fate::Refused(_));
        let mut arrivals: Vec<u32> = (0..tasks.len() as u32)
            .filter(|&task| !refused(&rows[task as usize]))
            .collect();
        arrivals.sort_by_key(|&task| tasks[task as usize].arrival);
        let edges = |window: &Window| [window.start, window.end];
        let mut edges: Vec<Seconds> = options.windows.iter().flat_map(edges).collect();
        edges.sort_unstable();
        edges.dedup();
        let labels = |window: &Window| -> Vec<Label> {
            window
                .users
                .iter()
                .filter_map(|user| log.names.find(user))
                .collect()
        };
        let mut users: Vec<Label> = log.jobs.iter().map(|job| job.user).collect();
        users.sort_unstable();
        users.dedup();
        let queue = Queue::new(&options.order, &tasks, &arrivals);
        let first = arrivals.first();
        let first = first.map_or(Seconds::ZERO, |&task| tasks[task as usize].arrival);
        let nodes_out = NodesOut::new(&options.outages, &idle, network, first)?;
        Ok(Self {
            options,
            network,
            groups: Groups::new(idle.group_sizes()),
            changed: Vec::new(),
            keyed: Vec::new(),
            places: vec![NOT_RUNNING; tasks.len()],
            tasks,
            rows,
            arrivals,
            arrived: 0,
            queue,
            state: idle,
            running: Vec::new(),
            counted: None,
            by_estimate: BTreeMap::new(),
            ends: BTreeMap::new(),
            starts: 0,
            edges,
            edges_over: 0,
            used: vec![0; options.windows.len()],
            users: options.windows.iter().map(labels).collect(),
            usage: Usage::new(log.names.texts().len(), users.len()),
            promises: HashMap::new(),
            wake: None,
            unexpected_end: false,
            passes: 0,
            broken_promises: 0,
            nodes_out,
            held: Held::default(),
        })
    }

    /// When something happens next: an event, or a pass that is due.
    fn next_event(&self, due: Option<Seconds>) -> Option<Seconds> {
        let next_end = self.ends.first_key_value().map(|(key, _)| key.0);
        let next_arrival = self.arrivals.get(self.arrived);
        let next_arrival = next_arrival.map(|&task| self.tasks[task as usize].arrival);
        let next_edge = self.edges.get(self.edges_over).copied();
        let matters = !self.queue.is_empty() || next_end.is_some() || next_arrival.is_some();
        let next_edge = next_edge.filter(|_| matters);
        let next_outage = self.next_outage().filter(|_| matters);
        // It matters to those who run.
        let next_change = self.network.next_change().filter(|_| next_end.is_some());
        let next = [
            next_end,
            next_arrival,
            next_edge,
            next_outage,
            next_change,
            due,
            self.wake,
            self.held.next(),
        ];
        next.into_iter().flatten().min()
    }

    /// Takes the events until `now`: of those, where there is a pass for each event, one end or
    /// arrival.
    fn take_events(&mut self, now: Seconds) -> Events {
        let single = self.options.passes == Passes::PerEvent;
        let mut events = Events::default();
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
            events.any = true;
        }
        events.any |= self.held.pass(now);
        // Ends come before submissions of the same second.
        while let Some((&(at, number), &task)) = self.ends.first_key_value()
            && at <= now
            && !(single && events.any)
        {
            self.ends.remove(&(at, number));
            self.end(task, now);
            events.ended += 1;
            events.any = true;
        }
        // Who ends in this second has run to its end, whatever fails in it.
        if !(single && events.any) {
            events.any |= self.take_outages(now);
            if self.network.next_change().is_some_and(|at| at <= now) {
                self.network.change(now);
                events.any = true;
            }
        }
        while (self.edges.get(self.edges_over)).is_some_and(|&edge| edge <= now) {
            self.edges_over += 1;
            self.unexpected_end = true;
            events.any = true;
        }
        while let Some(&task) = self.arrivals.get(self.arrived)
            && self.tasks[task as usize].arrival <= now
            && !(single && events.any)
        {
            self.arrived += 1;
            self.queue.insert(task);
            self.refuse_if_never(task);
            if let Some(counted) = &mut self.counted {
                counted.arrives(task, &self.tasks[task as usize], &self.queue);
            }
            events.any = true;
        }
        events
    }

    fn run(
        mut self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Schedule, SimulationError> {
        let of = self.rows.len() as u64;
        let first = self
            .arrivals
            .first()
            .map(|&task| self.tasks[task as usize].arrival);
        let first = first.unwrap_or(Seconds::ZERO);
        // Windows that are over before anything comes are no events.
        self.edges_over = self.edges.partition_point(|&edge| edge <= first);
        let mut due: Option<Seconds> = None;
        let mut answer = 0;
        let mut ended = 0u64;
        let mut reported = Instant::now();
        while let Some(now) = self.next_event(due)
            && !self.waits_in_vain()
        {
            let events = self.take_events(now);
            ended += events.ended;
            if let Passes::Every(interval) = self.options.passes {
                if events.any && due.is_none() {
                    let late = (now - first).0.rem_euclid(interval.0);
                    due = Some(if late == 0 {
                        now
                    } else {
                        now + Seconds(interval.0 - late)
                    });
                }
                if due.is_none_or(|due| due > now) {
                    self.adapt(now)?;
                    continue;
                }
                due = None;
            }
            self.pass(now);
            self.adapt(now)?;
            // Passes may take long where a network is asked how fast jobs run.
            let due = self.passes.is_multiple_of(256) && ended >= answer;
            if due || (self.passes.is_multiple_of(8) && reported.elapsed() > SILENCE) {
                answer = ended + of / 500;
                reported = Instant::now();
                if progress(ended, of).is_break() {
                    return Err(SimulationError::Interrupted { done: ended, of });
                }
            }
        }
        for task in self.queue.iter() {
            let reason = match self.nodes_out {
                None => "it never found a place on the machine",
                Some(_) => "it never found a place on the nodes that worked at the same time",
            };
            self.rows[task as usize].give_up(reason.to_owned());
        }
        Ok(Schedule {
            rows: self.rows,
            machine: self.state.size(),
            passes: self.passes,
            broken_promises: self.broken_promises,
            out: self.nodes_out.map(NodesOut::into_steps),
        })
    }

    /// A job ends.
    pub(super) fn end(&mut self, task: u32, now: Seconds) {
        let place = std::mem::replace(&mut self.places[task as usize], NOT_RUNNING);
        if place == NOT_RUNNING {
            return;
        }
        let job = self.running.swap_remove(place as usize);
        if let Some(moved) = self.running.get(place as usize) {
            self.places[moved.task as usize] = place;
        }
        self.by_estimate.remove(&(job.estimated, task));
        if let Some(counted) = &mut self.counted {
            let nodes = self.tasks[task as usize].nodes;
            counted.ends(self.queue.rank(task), nodes, job.estimated, now);
        }
        self.network.end(task, now);
        self.state.give_back(&job.held);
        if let Some(out) = &mut self.nodes_out {
            out.end(&job.placed);
        }
        self.unexpected_end |= now != job.estimated;
        if let Some(window) = job.inside {
            self.used[window] -= self.tasks[task as usize].nodes;
        }
        if let Order::Multifactor(Multifactor { half_life, .. }) = self.options.order {
            let Task { user, nodes, .. } = self.tasks[task as usize];
            self.usage.change(now, user, -f64::from(nodes), half_life);
        }
    }

    /// Carries a start out.
    pub(super) fn start(&mut self, start: Start<M::Held>, now: Seconds) {
        let Start {
            task,
            held,
            how,
            inside,
        } = start;
        let job = self.tasks[task as usize];
        self.state.take(&held);
        let mut estimated = now + job.running;
        if let Some(window) = inside {
            self.used[window] += job.nodes;
            // What it holds stays with the reservation until that ends.
            estimated = estimated.max(self.options.windows[window].end);
        }
        let row = &mut self.rows[task as usize];
        let allocation = Allocation {
            nodes: job.nodes,
            groups: M::groups(&held),
            placed: M::nodes(&held),
        };
        let still = self.network.begin(task, &allocation, job.work, now);
        debug_assert!(still >= 0.0 && still.is_finite(), "job {task}: {still} s");
        row.start = Some(now);
        if let Some(hold) = self.options.hold {
            row.held = self.held.starts(task, hold, now);
        }
        row.started = Some(how);
        row.placed = M::nodes(&held).map(<[_]>::to_vec);
        let mut placed = Vec::new();
        if let Some(out) = &mut self.nodes_out {
            let named = M::nodes(&held).unwrap_or_else(|| self.network.nodes_of(task));
            placed = out.start(task, job.nodes, named, M::groups(&held));
            row.placed = Some(placed.clone());
        }
        row.groups = M::groups(&held).map(<[_]>::to_vec);
        row.spread = self.groups.spread(job.nodes, self.state.groups_of(&held));
        self.by_estimate.insert((estimated, task), held.clone());
        let number = self.starts;
        self.starts += 1;
        self.queue.remove(task);
        if let Some(counted) = &mut self.counted {
            counted.starts(task, &job, estimated, now, &self.queue);
        }
        self.places[task as usize] = self.running.len() as u32;
        self.running.push(Running {
            task,
            held,
            still,
            left: job.work.0 as f64,
            speed: 1.0,
            since: now,
            started: now,
            ends: (NO_END, number),
            estimated,
            inside,
            placed,
        });
        self.set_end(task);
        if !self.promises.is_empty() {
            self.promises.remove(&task);
        }
        if let Order::Multifactor(Multifactor { half_life, .. }) = self.options.order {
            self.usage
                .change(now, job.user, f64::from(job.nodes), half_life);
        }
    }

    /// Takes in the new speeds after what began and ended at `now`.
    fn adapt(&mut self, now: Seconds) -> Result<(), SimulationError> {
        let mut changed = std::mem::take(&mut self.changed);
        let settled = self.network.settle(now, &mut changed);
        settled.map_err(SimulationError::Network)?;
        for (task, speed) in changed.drain(..) {
            debug_assert!(
                speed > 0.0 && speed.is_finite(),
                "job {task} at speed {speed}"
            );
            let place = self.places[task as usize] as usize;
            if let Some(job) = self.running.get_mut(place) {
                let passed = (now - job.since).0 as f64;
                let worked = (passed - job.still).max(0.0);
                job.still = (job.still - passed).max(0.0);
                job.left = (job.left - job.speed * worked).max(0.0);
                (job.since, job.speed) = (now, speed);
                self.set_end(task);
            }
        }
        self.changed = changed;
        Ok(())
    }

    /// Works out when a running job will end if its speed stays, and puts it among
    /// the ends at its old place within a second.
    fn set_end(&mut self, task: u32) {
        let place = self.places[task as usize] as usize;
        let Some(job) = self.running.get_mut(place) else {
            return;
        };
        // What rounding has left over is no work.
        let duration = (job.still + job.left / job.speed - 1e-6).ceil().max(0.0) as i64;
        let mut end = job.since + Seconds(duration.min(Seconds::LIMIT.0));
        let limit = self.tasks[task as usize].limit;
        let killed_at = limit.map(|limit| (job.started + limit).max(job.since));
        let killed = killed_at.is_some_and(|at| end > at);
        if let Some(at) = killed_at {
            end = end.min(at);
        }
        if job.ends.0 != end {
            if job.ends.0 != NO_END {
                self.ends.remove(&job.ends);
            }
            job.ends.0 = end;
            self.ends.insert(job.ends, task);
        }
        let row = &mut self.rows[task as usize];
        row.end = Some(end);
        row.fate = if killed { Fate::Killed } else { Fate::Finished };
    }

    pub(super) fn ask(&self, task: u32) -> Ask {
        Ask {
            job: task,
            nodes: self.tasks[task as usize].nodes,
        }
    }

    /// The machine's future as it is believed now.
    pub(super) fn timeline(
        &self,
        now: Seconds,
    ) -> Timeline<'_, M, impl Iterator<Item = (Seconds, M::Held)>> {
        let running = self.by_estimate.iter();
        let running = running.map(|(&(end, _), held)| (end, held.clone()));
        Timeline::new(now, &self.state, running, &self.options.windows, &self.used)
    }

    /// Looks at the queue and starts what can start.
    fn pass(&mut self, now: Seconds) {
        self.passes += 1;
        if let Order::Multifactor(weights) = &self.options.order
            && !self.queue.is_empty()
        {
            self.usage.advance(now, weights.half_life);
        }
        if self.queue.is_empty() || (M::COUNTS && self.pass_counted(now)) {
            self.unexpected_end = false;
            return;
        }
        self.sort(now);
        self.start_in_reservations(now);
        loop {
            let held = self.held.now.len();
            let starts = match self.options.policy {
                Policy::InOrder => self.in_order(now),
                Policy::Backfill { depth } => self.backfill(now, depth),
                Policy::Conservative => self.conservative(now),
            };
            self.carry_out(starts, now);
            // What was planned for those that are held is there for others.
            if self.held.now.len() == held {
                break;
            }
        }
        self.unexpected_end = false;
        self.put_held_back();
    }

    pub(super) fn carry_out(&mut self, starts: Vec<Start<M::Held>>, now: Seconds) {
        for start in starts {
            if !self.holds(&start, now) {
                self.start(start, now);
            }
        }
    }

    /// Priority of a waiting job; higher comes first, then who arrived sooner.
    pub(super) fn priority(&self, task: u32, now: Seconds) -> f64 {
        let job = &self.tasks[task as usize];
        let candidate = Candidate {
            job: task,
            submit: job.arrival,
            estimate: job.waiting,
            nodes: job.nodes,
            user: job.user,
        };
        let size = self.state.size();
        priority(&self.options.order, &candidate, now, size, &self.usage)
    }

    /// Puts the queue into its order, if that changes from pass to pass.
    pub(super) fn sort(&mut self, now: Seconds) {
        let Some(sorted) = self.queue.sorting() else {
            return;
        };
        let mut tasks = std::mem::take(sorted);
        let mut keyed = std::mem::take(&mut self.keyed);
        keyed.extend(tasks.iter().map(|&task| (self.priority(task, now), task)));
        // Ranks are those of arrival here. The order of the last pass is almost this one's,
        // which a stable sort makes use of.
        keyed.sort_by(|a, b| {
            let ranks = || self.queue.rank(a.1).cmp(&self.queue.rank(b.1));
            b.0.total_cmp(&a.0).then_with(ranks)
        });
        tasks.clear();
        tasks.extend(keyed.drain(..).map(|(_, task)| task));
        self.keyed = keyed;
        if let Some(sorted) = self.queue.sorting() {
            *sorted = tasks;
        }
    }
}
