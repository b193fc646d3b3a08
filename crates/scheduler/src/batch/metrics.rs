//! Figures of a schedule: waits, slowdowns, utilisation, queue.

use super::schedule::{Fate, Row, Run, Schedule};
use crate::Seconds;

/// A distribution in figures; all NaN if there are no values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile: the least value that 90 % of all do not exceed.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values
                .get(rank.saturating_sub(1))
                .copied()
                .unwrap_or(f64::NAN)
        };
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 || values.is_empty() {
            at(0.5)
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        };
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median,
            p90: at(0.9),
            p99: at(0.99),
            max: values.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// Jobs of a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Fewest nodes.
    pub from: u32,
    /// Most nodes.
    pub to: u32,
    /// Jobs that ran.
    pub jobs: u64,
    /// Waits, seconds.
    pub wait_s: Spread,
    /// Bounded slowdowns.
    pub bounded_slowdown: Spread,
    /// Node-seconds they used.
    pub node_seconds: f64,
    /// Mean over jobs of groups they sat in over groups they need at least; NaN where
    /// the machine does not know groups.
    pub fragmentation: f64,
}

/// A schedule in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Jobs of the log.
    pub jobs: u64,
    /// Jobs that were refused.
    pub refused: u64,
    /// Jobs that were killed at their limit.
    pub killed: u64,
    /// Jobs that ended as a node failed.
    pub node_fails: u64,
    /// Jobs that were put back into the queue as a node failed.
    pub requeued: u64,
    /// How often that was.
    pub requeues: u64,
    /// Node-seconds of runs that came to nothing.
    pub lost_node_seconds: f64,
    /// Node-seconds for which nodes were out of service over the makespan.
    pub out_node_seconds: f64,
    /// Jobs that overtook others.
    pub backfilled: u64,
    /// First submission.
    pub first_submit: Seconds,
    /// Last end.
    pub last_end: Seconds,
    /// Time from the first submission to the last end.
    pub makespan: Seconds,
    /// Nodes used over nodes there, over the makespan.
    pub utilisation: f64,
    /// The same from the first submission to the last one, without the tail in
    /// which the machine runs empty.
    pub utilisation_until_last_submit: f64,
    /// Waits, seconds.
    pub wait_s: Spread,
    /// (wait + run) / run of jobs that ran longer than 0 s.
    pub slowdown: Spread,
    /// max(1, (wait + run) / max(run, τ)) (Feitelson et al. 1997).
    pub bounded_slowdown: Spread,
    /// Mean wait weighted by node-seconds, seconds.
    pub weighted_wait_s: f64,
    /// Mean number of waiting jobs over the makespan.
    pub mean_queue: f64,
    /// Most waiting jobs at a time.
    pub max_queue: u64,
    /// Mean over jobs of groups they sat in over groups they need at least; NaN where
    /// the machine does not know groups.
    pub fragmentation: f64,
    /// By size, smallest first.
    pub classes: Vec<Class>,
}

/// Size classes of a machine by powers of two: 1, 2–3, 4–7, …; first and last node
/// count of each.
pub fn size_classes(machine: u32) -> Vec<(u32, u32)> {
    let top = machine.max(1).ilog2();
    (0..=top)
        .map(|power| {
            (
                1 << power,
                ((1u64 << (power + 1)) - 1).min(u64::from(u32::MAX)) as u32,
            )
        })
        .collect()
}

fn times(row: &Row) -> Option<(Seconds, Seconds, Seconds)> {
    Some((row.wait()?, row.start?, row.end?))
}

fn slowdown(wait: f64, run: f64, tau: f64) -> f64 {
    ((wait + run) / run.max(tau)).max(1.0)
}

/// Sums a schedule up. `tau` is the run time below which the bounded slowdown does
/// not grow; `classes` are first and last node count of each class.
pub fn summarise(schedule: &Schedule, tau: Seconds, classes: &[(u32, u32)]) -> Summary {
    let tau = tau.0.max(1) as f64;
    let rows = &schedule.rows;
    let ran: Vec<(&Row, Seconds, Seconds, Seconds)> = rows
        .iter()
        .filter_map(|row| times(row).map(|(wait, start, end)| (row, wait, start, end)))
        .collect();
    let count =
        |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count() as u64;
    let first_submit = rows
        .iter()
        .map(|row| row.arrival)
        .min()
        .unwrap_or(Seconds::ZERO);
    let last_submit = rows
        .iter()
        .map(|row| row.arrival)
        .max()
        .unwrap_or(Seconds::ZERO);
    let last_end = ran
        .iter()
        .map(|&(.., end)| end)
        .max()
        .unwrap_or(first_submit);
    let makespan = last_end - first_submit;
    let capacity = |duration: Seconds| f64::from(schedule.machine) * duration.0 as f64;
    let work = |until: Seconds| -> f64 {
        let part = |run: Run| {
            let within = run.end.min(until) - run.start;
            f64::from(run.nodes) * within.0.max(0) as f64
        };
        ran.iter().flat_map(|(row, ..)| row.runs()).map(part).sum()
    };
    let share = |used: f64, of: f64| if of > 0.0 { used / of } else { 0.0 };
    let waits = || ran.iter().map(|&(_, wait, ..)| wait.0 as f64);
    let total_wait: f64 = waits().sum();
    let weights = || {
        ran.iter()
            .map(|&(row, _, start, end)| f64::from(row.nodes) * (end - start).0 as f64)
    };
    let weighted: f64 = waits()
        .zip(weights())
        .map(|(wait, weight)| wait * weight)
        .sum();
    // What a run that came to nothing took counts as time until the last one.
    let before =
        |&(row, _, start, _): &(&Row, Seconds, Seconds, Seconds)| (start - row.arrival).0 as f64;
    let bounded = |one: &(&Row, Seconds, Seconds, Seconds)| {
        slowdown(before(one), (one.3 - one.2).0 as f64, tau)
    };
    let plain = ran.iter().filter(|&&(_, _, start, end)| end > start);
    let plain = plain.map(|one| 1.0 + before(one) / (one.3 - one.2).0 as f64);
    let class = |&(from, to): &(u32, u32)| {
        let of: Vec<_> = ran
            .iter()
            .filter(|(row, ..)| (from..=to).contains(&row.nodes))
            .collect();
        Class {
            from,
            to,
            jobs: of.len() as u64,
            wait_s: Spread::of(of.iter().map(|(_, wait, ..)| wait.0 as f64).collect()),
            bounded_slowdown: Spread::of(of.iter().map(|row| bounded(row)).collect()),
            node_seconds: of
                .iter()
                .map(|(row, _, start, end)| f64::from(row.nodes) * (*end - *start).0 as f64)
                .sum(),
            fragmentation: fragmentation(of.iter().map(|&&(row, ..)| row)),
        }
    };
    Summary {
        jobs: rows.len() as u64,
        refused: count(&|row| matches!(row.fate, Fate::Refused(_))),
        killed: count(&|row| row.fate == Fate::Killed),
        node_fails: count(&|row| matches!(row.fate, Fate::NodeFail(_))),
        requeued: count(&|row| !row.lost.is_empty()),
        requeues: rows.iter().map(|row| row.lost.len() as u64).sum(),
        lost_node_seconds: rows.iter().map(Row::lost_node_seconds).sum(),
        out_node_seconds: out_node_seconds(schedule, first_submit, last_end),
        backfilled: count(&|row| row.started == Some(super::Started::Backfilled)),
        first_submit,
        last_end,
        makespan,
        utilisation: share(work(last_end), capacity(makespan)),
        utilisation_until_last_submit: share(
            work(last_submit),
            capacity(last_submit - first_submit),
        ),
        wait_s: Spread::of(waits().collect()),
        slowdown: Spread::of(plain.collect()),
        bounded_slowdown: Spread::of(ran.iter().map(bounded).collect()),
        weighted_wait_s: share(weighted, weights().sum()),
        mean_queue: share(total_wait, makespan.0 as f64),
        max_queue: longest_queue(&ran),
        fragmentation: fragmentation(ran.iter().map(|&(row, ..)| row)),
        classes: classes.iter().map(class).collect(),
    }
}

/// Node-seconds for which nodes are out of service between two times.
fn out_node_seconds(schedule: &Schedule, from: Seconds, to: Seconds) -> f64 {
    let steps = out_steps(schedule, to);
    let within = |(at, next, nodes): (Seconds, Seconds, u32)| {
        f64::from(nodes) * (next.min(to) - at.max(from)).0.max(0) as f64
    };
    steps.map(within).sum()
}

/// From when to when how many nodes are out of service, the last of them up to `end`.
fn out_steps(
    schedule: &Schedule,
    end: Seconds,
) -> impl Iterator<Item = (Seconds, Seconds, u32)> + '_ {
    let steps = schedule.out.as_deref().unwrap_or_default();
    let ends = steps.iter().skip(1).map(|step| step.0).chain([end]);
    steps
        .iter()
        .zip(ends)
        .map(|(&(at, nodes), next)| (at, next, nodes))
}

/// Mean over these jobs; NaN without any whose groups are known.
fn fragmentation<'r>(rows: impl Iterator<Item = &'r Row>) -> f64 {
    let known = rows.filter_map(|row| row.spread);
    let (sum, jobs) = known.fold((0.0, 0.0), |(sum, jobs), spread| {
        (sum + spread.fragmentation(), jobs + 1.0)
    });
    sum / jobs
}

/// Most jobs that wait at the same time; who starts in a second waits no more in it.
fn longest_queue(ran: &[(&Row, Seconds, Seconds, Seconds)]) -> u64 {
    let mut changes: Vec<(Seconds, i64)> = Vec::with_capacity(2 * ran.len());
    for (row, ..) in ran {
        for (since, start) in row.waits().filter(|(since, start)| start > since) {
            changes.extend([(since, 1), (start, -1)]);
        }
    }
    changes.sort_unstable();
    let (mut waiting, mut most) = (0i64, 0i64);
    for (_, change) in changes {
        waiting += change;
        most = most.max(waiting);
    }
    most as u64
}

/// How full machine and queue were over time: means over equal intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Start of the first interval: the first submission.
    pub first: Seconds,
    /// Length of an interval.
    pub interval: Seconds,
    /// Nodes in use.
    pub busy_nodes: Vec<f64>,
    /// Jobs that wait.
    pub waiting_jobs: Vec<f64>,
    /// Nodes that waiting jobs ask for.
    pub waiting_nodes: Vec<f64>,
    /// Nodes that are out of service, where nodes can fail.
    pub out_nodes: Option<Vec<f64>>,
}

/// Intervals that [`occupancy`] returns at most; it lengthens them if need be.
pub const MAX_INTERVALS: i64 = 4_000_000;

/// Occupancy of machine and queue per `interval`, from the first submission to the
/// last end. The interval is lengthened to a multiple of itself if there were more
/// than `MAX_INTERVALS`.
pub fn occupancy(schedule: &Schedule, interval: Seconds) -> Occupancy {
    let arrivals = schedule.rows.iter().map(|row| row.arrival);
    let ends = schedule.rows.iter().filter_map(|row| row.end);
    let (Some(first), Some(last)) = (arrivals.min(), ends.max()) else {
        return Occupancy {
            interval,
            ..Occupancy::default()
        };
    };
    let span = (last - first).0.max(1);
    let mut interval = interval.0.max(1);
    interval *= (span / interval / MAX_INTERVALS) + 1;
    let count = ((span - 1) / interval + 1) as usize;
    // Per quantity: change of its rate at interval starts, and corrections within
    // the intervals in which it changes.
    let mut lanes: [Vec<(f64, f64)>; 4] = std::array::from_fn(|_| vec![(0.0, 0.0); count + 1]);
    let mut add = |lane: usize, from: Seconds, to: Seconds, amount: f64| {
        for (at, amount) in [(from, amount), (to, -amount)] {
            let offset = (at - first).0;
            let index = ((offset / interval) as usize).min(count);
            let into = (offset - index as i64 * interval) as f64;
            lanes[lane][index].1 += amount * (interval as f64 - into);
            if index < count {
                lanes[lane][index + 1].0 += amount;
            }
        }
    };
    for row in &schedule.rows {
        let nodes = f64::from(row.nodes);
        for run in row.runs() {
            add(0, run.start, run.end, f64::from(run.nodes));
        }
        for (since, start) in row.waits() {
            add(1, since, start, 1.0);
            add(2, since, start, nodes);
        }
    }
    for (at, next, nodes) in out_steps(schedule, last) {
        let (at, next) = (at.max(first).min(last), next.max(first).min(last));
        add(3, at, next, f64::from(nodes));
    }
    let [busy_nodes, waiting_jobs, waiting_nodes, out_nodes] = lanes.map(|lane| {
        let mut rate = 0.0;
        let means = lane[..count].iter().map(|&(change, within)| {
            rate += change;
            // Sums of integers below 2⁵³, so that equal amounts cancel exactly.
            rate + within / interval as f64
        });
        means.collect()
    });
    Occupancy {
        first,
        interval: Seconds(interval),
        busy_nodes,
        waiting_jobs,
        waiting_nodes,
        out_nodes: schedule.out.is_some().then_some(out_nodes),
    }
}
