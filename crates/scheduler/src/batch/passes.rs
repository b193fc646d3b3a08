//! What a pass of the scheduler starts, policy by policy.

use std::collections::HashMap;

use super::machine::Machine;
use super::network::Allocation;
use super::pass::{Waiting, around_reservations, first_that_fit, first_within_windows};
use super::queue::Place;
use super::schedule::Started;
use super::simulate::{Simulation, Start};
use super::timeline::Moment;
use crate::Seconds;

impl<M: Machine> Simulation<'_, M> {
    /// Starts jobs of a reservation's users on its nodes.
    pub(super) fn start_in_reservations(&mut self, now: Seconds) {
        for (index, window) in self.options.windows.iter().enumerate() {
            let active = window.start <= now && now < window.end;
            if !active || self.users[index].is_empty() {
                continue;
            }
            let mut place = Place::default();
            while let Some(task) = self.queue.after(&mut place) {
                let job = self.tasks[task as usize];
                if !self.users[index].contains(&job.user) || now + job.waiting > window.end {
                    continue;
                }
                let within = self.state.within(&window.nodes, self.used[index]);
                if let Ok(held) = within.place(&self.ask(task)) {
                    let (how, inside) = (Started::InReservation, Some(index));
                    self.start(
                        Start {
                            task,
                            held,
                            how,
                            inside,
                        },
                        now,
                    );
                }
            }
        }
    }

    /// Whether no window withholds anything now or later.
    pub(super) fn no_windows(&self, now: Seconds) -> bool {
        self.options.windows.iter().all(|window| window.end <= now)
    }

    /// Starts of the queue's first jobs as long as they fit.
    pub(super) fn in_order(&self, now: Seconds) -> Vec<Start<M::Held>> {
        let queue = self.queue.iter().map(|task| self.waiting(task));
        if self.no_windows(now) {
            return first_that_fit(&self.state, queue);
        }
        first_within_windows(&mut self.timeline(now), queue, now)
    }

    /// A waiting job as plans see it.
    fn waiting(&self, task: u32) -> Waiting {
        Waiting {
            ask: self.ask(task),
            estimate: self.tasks[task as usize].waiting,
        }
    }

    /// Backfill around reservations of the first `depth` jobs that cannot start.
    pub(super) fn backfill(&mut self, now: Seconds, depth: u32) -> Vec<Start<M::Held>> {
        if self.no_windows(now) {
            let starts = self.in_order(now);
            self.carry_out(starts, now);
            // Most passes end here: the head waits, and nothing behind it is small
            // enough for what is free.
            let free = self.state.free();
            let fits = |task: u32| self.tasks[task as usize].nodes <= free;
            let promised = self
                .queue
                .first()
                .is_some_and(|head| depth > 1 || self.rows[head as usize].promised.is_some());
            if promised && !self.queue.iter().skip(1).any(fits) {
                return Vec::new();
            }
        }
        let queue = self.queue.iter().map(|task| self.waiting(task));
        let planned = around_reservations(&mut self.timeline(now), queue, now, depth);
        for (task, at) in planned.promised {
            self.rows[task as usize].promised.get_or_insert(at);
        }
        planned.starts
    }

    /// Conservative backfill with kept reservations.
    pub(super) fn conservative(&mut self, now: Seconds) -> Vec<Start<M::Held>> {
        let mut kept = std::mem::take(&mut self.promises);
        let mut held_at: HashMap<u32, (Moment, M::Held)> = HashMap::new();
        let mut broken = 0;
        let mut timeline = self.timeline(now);
        // Earlier promises first, so that those who hold the nearest keep it if
        // jobs have outlived their estimates.
        let mut promised: Vec<(Seconds, u32)> =
            kept.iter().map(|(&task, &at)| (at, task)).collect();
        promised.sort_unstable();
        for (at, task) in promised {
            let (ask, duration) = (self.ask(task), self.tasks[task as usize].waiting);
            // A pass at an interval may come after the promised time. Who was promised this
            // very second may have to wait for jobs that are due in it.
            let begin = Moment::of(at.max(now));
            let late = (at <= now).then_some(Moment::late_in(now));
            let place = [begin].into_iter().chain(late).find_map(|at| {
                let held = timeline.place_at(at, &ask, duration)?;
                Some((at, held))
            });
            match place {
                Some((at, held)) => {
                    timeline.hold(at, duration, &held);
                    held_at.insert(task, (at, held));
                }
                None => {
                    kept.remove(&task);
                    broken += 1;
                }
            }
        }
        let mut starts = Vec::new();
        let mut waiting = false;
        for task in self.queue.iter() {
            let (ask, duration) = (self.ask(task), self.tasks[task as usize].waiting);
            let mut found = held_at.remove(&task);
            let moves = found.is_none() || self.unexpected_end;
            if moves && let Some((at, held)) = found.take() {
                if at == Moment::of(now) {
                    found = Some((at, held));
                } else {
                    timeline.extend_to(at.end_of(duration));
                    timeline.let_go(at, duration, &held);
                }
            }
            if found.is_none() {
                found = timeline.earliest(&ask, duration);
                if let Some((at, held)) = &found {
                    timeline.hold(*at, duration, held);
                }
            }
            let Some((at, held)) = found else {
                continue;
            };
            if at == Moment::of(now) {
                let how = if waiting {
                    Started::Backfilled
                } else {
                    Started::InOrder
                };
                starts.push(Start {
                    task,
                    held,
                    how,
                    inside: None,
                });
                kept.remove(&task);
            } else {
                waiting = true;
                kept.insert(task, at.second());
            }
        }
        drop(timeline);
        for (&task, &at) in &kept {
            self.rows[task as usize].promised.get_or_insert(at);
        }
        // Who waits for jobs that are due now is looked at again in a second: they may go on.
        let soonest = kept.values().min();
        self.wake = soonest.map(|&at| at.max(now + Seconds(1)));
        self.promises = kept;
        self.broken_promises += broken;
        starts
    }

    /// Takes the job of a start out of the queue until the pass ends, if it is to be held.
    ///
    /// A job is held no longer than the option allows from when it first could have started, also if
    /// it comes again after a failure; and never where nothing runs.
    pub(super) fn holds(&mut self, start: &Start<M::Held>, now: Seconds) -> bool {
        let Some(hold) = self.options.hold else {
            return false;
        };
        let task = start.task;
        let since = self.held.since(task).unwrap_or(now);
        if now >= since + hold.at_most || self.running.is_empty() {
            return false;
        }
        let allocation = Allocation {
            nodes: self.tasks[task as usize].nodes,
            groups: M::groups(&start.held),
            placed: M::nodes(&start.held),
        };
        if self.network.loss(task, &allocation) <= hold.above {
            return false;
        }
        self.held.hold(task, since, since + hold.at_most);
        self.queue.remove(task);
        true
    }

    /// Puts those that this pass has held back into the queue.
    pub(super) fn put_held_back(&mut self) {
        for task in std::mem::take(&mut self.held.now) {
            self.queue.insert_again(task);
        }
    }
}
