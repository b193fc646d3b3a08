//! One look at a queue: who starts now, in order or around reservations. The simulation's
//! passes and those of a cluster in use are this.

use super::machine::{Ask, Machine};
use super::options::{Policy, Window};
use super::schedule::Started;
use super::simulate::Start;
use super::timeline::{Moment, Timeline};
use crate::Seconds;

/// A waiting job as a pass sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What it asks for; its number is the caller's.
    pub ask: Ask,
    /// How long it is believed to run, at least 1.
    pub estimate: Seconds,
}

/// A job that starts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin<H> {
    /// Number of the job.
    pub job: u32,
    /// What it holds from now on.
    pub held: H,
    /// How it came to start.
    pub started: Started,
}

/// What a pass decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided<H> {
    /// Jobs that start now, in the order in which they were found.
    pub starts: Vec<Begin<H>>,
    /// Jobs that have a reservation, and when it begins.
    pub promised: Vec<(u32, Seconds)>,
}

/// Looks once at a queue, as [`super::simulate`] does in every pass.
///
/// `machine` is taken as idle; `running` are its jobs with their expected ends, `queue` the
/// waiting ones in order. Windows withhold nodes from all. Times are in any unit, the same for
/// all. [`Policy::Conservative`] would need its promises of earlier passes: its reservations are
/// planned anew.
pub fn pass<M: Machine>(
    now: Seconds,
    machine: &M,
    running: &[(Seconds, M::Held)],
    queue: &[Waiting],
    windows: &[Window],
    policy: Policy,
) -> Decided<M::Held> {
    let mut state = machine.idle();
    let mut running: Vec<(Seconds, M::Held)> = running.to_vec();
    for (_, held) in &running {
        state.take(held);
    }
    running.sort_by_key(|&(end, _)| end);
    let over = windows.iter().all(|window| window.end <= now);
    let used = vec![0; windows.len()];
    let mut starts: Vec<Start<M::Held>> = Vec::new();
    let mut promised = Vec::new();
    if over {
        starts = first_that_fit(&state, queue.iter().copied());
    } else if policy == Policy::InOrder {
        let running = running.iter().cloned();
        let mut timeline = Timeline::new(now, &state, running, windows, &used);
        starts = first_within_windows(&mut timeline, queue.iter().copied(), now);
    }
    if policy != Policy::InOrder {
        for (start, waiting) in starts.iter().zip(queue) {
            state.take(&start.held);
            running.push((now + waiting.estimate, start.held.clone()));
        }
        running.sort_by_key(|&(end, _)| end);
        let depth = match policy {
            Policy::Backfill { depth } => depth,
            _ => u32::MAX,
        };
        let rest = queue[starts.len()..].iter().copied();
        let mut timeline = Timeline::new(now, &state, running.into_iter(), windows, &used);
        let planned = around_reservations(&mut timeline, rest, now, depth);
        starts.extend(planned.starts);
        promised = planned.promised;
    }
    let begin = |start: Start<M::Held>| Begin {
        job: start.task,
        held: start.held,
        started: start.how,
    };
    Decided {
        starts: starts.into_iter().map(begin).collect(),
        promised,
    }
}

/// The queue's first jobs as long as they fit, without windows.
pub(super) fn first_that_fit<M: Machine>(
    state: &M,
    queue: impl Iterator<Item = Waiting>,
) -> Vec<Start<M::Held>> {
    let mut state = state.clone();
    let mut starts = Vec::new();
    for Waiting { ask, .. } in queue {
        let Ok(held) = state.place(&ask) else {
            break;
        };
        state.take(&held);
        starts.push(start(&ask, held, Started::InOrder));
    }
    starts
}

/// The same where windows are ahead.
pub(super) fn first_within_windows<M, R>(
    timeline: &mut Timeline<'_, M, R>,
    queue: impl Iterator<Item = Waiting>,
    now: Seconds,
) -> Vec<Start<M::Held>>
where
    M: Machine,
    R: Iterator<Item = (Seconds, M::Held)>,
{
    let mut starts = Vec::new();
    for Waiting { ask, estimate } in queue {
        let Some(held) = timeline.place_now(&ask, estimate) else {
            break;
        };
        timeline.hold(Moment::of(now), estimate, &held);
        starts.push(start(&ask, held, Started::InOrder));
    }
    starts
}

/// Starts, and jobs with reservations and when these begin.
pub(super) struct Planned<H> {
    pub(super) starts: Vec<Start<H>>,
    pub(super) promised: Vec<(u32, Seconds)>,
}

/// Jobs that start now without delaying any of the first `depth` jobs that cannot; and
/// when these are expected to.
pub(super) fn around_reservations<M, R>(
    timeline: &mut Timeline<'_, M, R>,
    queue: impl Iterator<Item = Waiting>,
    now: Seconds,
    depth: u32,
) -> Planned<M::Held>
where
    M: Machine,
    R: Iterator<Item = (Seconds, M::Held)>,
{
    let mut starts = Vec::new();
    let mut promised: Vec<(u32, Seconds)> = Vec::new();
    for Waiting { ask, estimate } in queue {
        let free = timeline.now().free();
        if free == 0 && !promised.is_empty() {
            break;
        }
        let how = if promised.is_empty() {
            Started::InOrder
        } else {
            Started::Backfilled
        };
        if (promised.len() as u64) < u64::from(depth) {
            let Some((at, held)) = timeline.earliest(&ask, estimate) else {
                continue;
            };
            timeline.hold(at, estimate, &held);
            if at == Moment::of(now) {
                starts.push(start(&ask, held, how));
            } else {
                promised.push((ask.job, at.second()));
            }
        } else if ask.nodes <= free
            && let Some(held) = timeline.place_now(&ask, estimate)
        {
            timeline.hold(Moment::of(now), estimate, &held);
            starts.push(start(&ask, held, how));
        }
    }
    Planned { starts, promised }
}

fn start<H>(ask: &Ask, held: H, how: Started) -> Start<H> {
    Start {
        task: ask.job,
        held,
        how,
        inside: None,
    }
}
