//! The machine's future as the scheduler expects it: running jobs end when they are
//! estimated to, windows withhold nodes, reservations hold places.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::machine::{Ask, Machine};
use super::options::Window;
use crate::Seconds;

/// A point in time as plans know it: every second has two. At its beginning the
/// machine is as it is when a pass looks at it; *late* in it, jobs that are due in that
/// very second and have not ended yet are over. Who is planned for then waits, but
/// nobody may take that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) i64);

impl Moment {
    /// Later than everything.
    pub const NEVER: Self = Self(i64::MAX);

    /// The beginning of a second.
    pub fn of(second: Seconds) -> Self {
        Self(second.0.saturating_mul(2))
    }

    /// Late in a second.
    pub fn late_in(second: Seconds) -> Self {
        Self(second.0.saturating_mul(2).saturating_add(1))
    }

    /// When a job that was to end at `end` and still runs is expected to end: now, if
    /// it is due just now, else after as long as it has outlived its estimate.
    pub fn expected(end: Seconds, now: Seconds) -> Self {
        if end == now {
            Self::late_in(now)
        } else {
            Self::of(now + (now - end))
        }
    }

    /// The second in which it lies.
    pub fn second(self) -> Seconds {
        Seconds(self.0.div_euclid(2))
    }

    /// When a job ends that begins now and runs for so long.
    pub fn end_of(self, duration: Seconds) -> Self {
        Self::of(self.second() + duration)
    }
}

/// From a moment on, until the next step's.
#[derive(Clone, Debug)]
struct Step<M> {
    at: Moment,
    state: M,
}

/// What happens beyond the last step that was laid out.
#[derive(Clone, Debug)]
struct Release<H> {
    at: Moment,
    number: u64,
    held: Option<H>,
}

impl<H> PartialEq for Release<H> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl<H> Eq for Release<H> {}
impl<H> PartialOrd for Release<H> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<H> Ord for Release<H> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// States of the machine from now on, laid out only as far as somebody asked.
///
/// Every step but those with windows or reservations has more free than the one
/// before; a place for a job over a duration is a place in all steps of it
/// together ([`Machine::overlay`]).
pub(super) struct Timeline<'a, M: Machine, R: Iterator<Item = (Seconds, M::Held)>> {
    steps: Vec<Step<M>>,
    /// Jobs and reservations at the last step, without windows.
    base: M,
    /// Running jobs that end after the last step, soonest first.
    running: std::iter::Peekable<R>,
    /// Ends of reservations after the last step, and edges of windows.
    later: BinaryHeap<Reverse<Release<M::Held>>>,
    windows: &'a [Window],
    /// Nodes that jobs inside each window hold.
    used: &'a [u32],
    number: u64,
    /// Whether free nodes only become more: no windows ahead, no reservations.
    grows: bool,
}

impl<'a, M, R> Timeline<'a, M, R>
where
    M: Machine,
    R: Iterator<Item = (Seconds, M::Held)>,
{
    /// The future of `jobs`, the machine with its running jobs, from `now` on.
    /// `running` are their places by estimated end, soonest first. A job that has
    /// outlived its estimate is expected to go on for as long as it has done so.
    pub fn new(now: Seconds, jobs: &M, running: R, windows: &'a [Window], used: &'a [u32]) -> Self {
        let mut later = BinaryHeap::new();
        let mut number = 0;
        let mut grows = true;
        for window in windows {
            for at in [window.start, window.end] {
                if at > now {
                    later.push(Reverse(Release {
                        at: Moment::of(at),
                        number,
                        held: None,
                    }));
                    number += 1;
                    grows &= at != window.start;
                }
            }
        }
        let mut running = running.peekable();
        while let Some((end, held)) = running.next_if(|(end, _)| *end <= now) {
            let at = Moment::expected(end, now);
            let held = Some(held);
            later.push(Reverse(Release { at, number, held }));
            number += 1;
        }
        let mut timeline = Self {
            steps: Vec::with_capacity(32),
            base: jobs.clone(),
            running,
            later,
            windows,
            used,
            number,
            grows,
        };
        timeline.lay(Moment::of(now));
        timeline
    }

    /// The state now, with windows and reservations.
    pub fn now(&self) -> &M {
        &self.steps[0].state
    }

    /// Adds the step at `at` from the base.
    fn lay(&mut self, at: Moment) {
        let mut state = self.base.clone();
        let second = at.second();
        for (window, &used) in self.windows.iter().zip(self.used) {
            if window.start <= second && second < window.end {
                state.withhold(&window.nodes, used);
            }
        }
        self.steps.push(Step { at, state });
    }

    /// Lays out one more step; `false` if nothing happens after the last one.
    fn extend(&mut self) -> bool {
        let of_jobs = self.running.peek().map(|(end, _)| Moment::of(*end));
        let of_others = self.later.peek().map(|Reverse(release)| release.at);
        let Some(at) = of_jobs.into_iter().chain(of_others).min() else {
            return false;
        };
        while (self.running.peek()).is_some_and(|(end, _)| Moment::of(*end) <= at) {
            if let Some((_, held)) = self.running.next() {
                self.base.give_back(&held);
            }
        }
        while self
            .later
            .peek()
            .is_some_and(|Reverse(release)| release.at <= at)
        {
            if let Some(Reverse(Release {
                held: Some(held), ..
            })) = self.later.pop()
            {
                self.base.give_back(&held);
            }
        }
        self.lay(at);
        true
    }

    /// Lays out everything up to `until`.
    pub fn extend_to(&mut self, until: Moment) {
        while self.steps[self.steps.len() - 1].at < until && self.extend() {}
    }

    /// Whether there is a step `index`, laid out if need be.
    fn reach(&mut self, index: usize) -> bool {
        while index >= self.steps.len() {
            if !self.extend() {
                return false;
            }
        }
        true
    }

    /// A place for the job from step `from` on for `duration`, or the next step
    /// from which to try.
    fn place_from(&mut self, from: usize, ask: &Ask, duration: Seconds) -> Result<M::Held, usize> {
        let state = &self.steps[from].state;
        if state.free() < ask.nodes {
            return Err(from + 1);
        }
        if self.grows {
            return state.place(ask).map_err(|_| from + 1);
        }
        // A job that finds no place in the first step finds none in all of them together.
        if state.place(ask).is_err() {
            return Err(from + 1);
        }
        let end = self.steps[from].at.end_of(duration);
        let mut all = state.clone();
        let mut next = from + 1;
        while self.reach(next) && self.steps[next].at < end {
            let state = &self.steps[next].state;
            if state.free() < ask.nodes {
                return Err(next + 1);
            }
            all.overlay(state);
            if all.free() < ask.nodes {
                return Err(from + 1);
            }
            next += 1;
        }
        all.place(ask).map_err(|_| from + 1)
    }

    /// A place for the job if it starts now.
    pub fn place_now(&mut self, ask: &Ask, duration: Seconds) -> Option<M::Held> {
        self.place_from(0, ask, duration).ok()
    }

    /// The earliest start and a place for the job; `None` if it never fits.
    pub fn earliest(&mut self, ask: &Ask, duration: Seconds) -> Option<(Moment, M::Held)> {
        let mut from = 0;
        while self.reach(from) {
            match self.place_from(from, ask, duration) {
                Ok(held) => return Some((self.steps[from].at, held)),
                Err(next) => from = next,
            }
        }
        None
    }

    /// A place for the job at a time that was promised to it.
    pub fn place_at(&mut self, at: Moment, ask: &Ask, duration: Seconds) -> Option<M::Held> {
        self.extend_to(at);
        if self.steps[self.steps.len() - 1].at < at {
            // Nothing happens any more; the last state lasts.
            self.lay(at);
        }
        self.split(at);
        let from = self.steps.partition_point(|step| step.at < at);
        self.place_from(from, ask, duration).ok()
    }

    /// Makes `at` the beginning of a step, unless it lies beyond the last one.
    fn split(&mut self, at: Moment) {
        let next = self.steps.partition_point(|step| step.at < at);
        let exists = self.steps.get(next).is_some_and(|step| step.at == at);
        let beyond = next == self.steps.len();
        if !exists && !beyond && next > 0 {
            let state = self.steps[next - 1].state.clone();
            self.steps.insert(next, Step { at, state });
        }
    }

    /// Holds a place that was found from `start`, which begins a step, for
    /// `duration`.
    pub fn hold(&mut self, start: Moment, duration: Seconds, held: &M::Held) {
        let end = start.end_of(duration);
        self.split(end);
        let first = self.steps.partition_point(|step| step.at < start);
        let mut open = true;
        for step in &mut self.steps[first..] {
            if step.at >= end {
                open = false;
                break;
            }
            step.state.take(held);
        }
        if open {
            self.base.take(held);
            self.number += 1;
            let (number, held) = (self.number, Some(held.clone()));
            self.later.push(Reverse(Release {
                at: end,
                number,
                held,
            }));
        }
        self.grows = false;
    }

    /// Gives up a place held before. Its end must have been laid out.
    pub fn let_go(&mut self, start: Moment, duration: Seconds, held: &M::Held) {
        let end = start.end_of(duration);
        debug_assert!(self.steps[self.steps.len() - 1].at >= end);
        for step in &mut self.steps {
            if step.at >= start && step.at < end {
                step.state.give_back(held);
            }
        }
    }
}
