//! What a saved state refers to.
//!
//! The one list of it: every record of a state is taken apart here field by field, never
//! with `..`, so that a new field does not compile before it is said whether it refers to
//! something outside of itself, to what, and how that is checked. [`super::restore`] puts
//! nothing in place that has not been through here. What is checked besides are times and
//! sizes without which a sum could leave its type.
//!
//! Numbers that are taken as they are (`_`) name nothing: counters, amounts, flags, and what
//! belongs to the program of a rank, which [`Rank::restore`] hands to it.
//!
//! [`Rank::restore`]: odonata_mpi::Rank::restore

mod rank;
mod router;

use odonata_run::{Activity, Arrival, JobLoad, MessageRecord, Timeline};

use super::Whole;
use crate::engine::measure::JobCollector;
use crate::engine::port::NEVER;
use crate::engine::shared::Shared;

pub(super) use router::{AtNode, AtRouter};

/// What is wrong: the field that refers to nothing, or says what cannot be.
type Checked = Result<(), &'static str>;

fn ensure(holds: bool, field: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(field) }
}

/// No amount or time in a state is larger, so that two can be added.
const MOST: u64 = 1 << 62;
/// Latest time: the end of simulated time, and what takes place after it.
const LATEST: u64 = 1 << 63;

fn amounts<const N: usize>(amounts: [u64; N], field: &'static str) -> Checked {
    ensure(amounts.into_iter().all(|amount| amount <= MOST), field)
}

fn times<const N: usize>(times: [u64; N], field: &'static str) -> Checked {
    ensure(times.into_iter().all(|time| time <= LATEST), field)
}

/// A time that may be none.
fn time_or_never(time: u64, field: &'static str) -> Checked {
    ensure(time <= LATEST || time == NEVER, field)
}

/// What concerns the run as a whole; `boundary`: the time between two boundaries.
pub(super) fn whole(shared: &Shared<'_>, boundary: u64, whole: &Whole) -> Checked {
    let Whole {
        at,
        warmup,
        measure: _,
        latest_boundary,
        stimuli,
        injected_bytes,
        delivered_bytes,
        leaving_bytes,
        loopback_bytes,
        control_bytes,
        packets_delivered,
        packet_hops,
        events,
        last_move,
        jobs,
        timeline,
        routers,
        messages,
        arrivals,
        // Checked where they are taken up.
        circuits: _,
    } = whole;
    let window = 1 << shared.window_shift();
    ensure(*at <= shared.stop && at.is_multiple_of(window), "its time")?;
    ensure(*warmup <= shared.stop, "the end of its warm-up")?;
    let latest = latest_boundary.is_none_or(|number| number <= at / boundary);
    ensure(latest, "its latest boundary")?;
    let signed = [*stimuli, *loopback_bytes, *control_bytes];
    let signed = signed.map(i64::unsigned_abs);
    amounts(signed, "a sum of the whole run")?;
    let sums = [
        *injected_bytes,
        *delivered_bytes,
        *leaving_bytes,
        *packets_delivered,
        *packet_hops,
        *events,
        *messages,
    ];
    amounts(sums, "a sum of the whole run")?;
    ensure(*last_move <= *at, "the last move of a packet")?;
    ensure(*routers == shared.topology.routers() as u64, "its routers")?;
    ensure(jobs.len() == shared.jobs.len(), "its jobs")?;
    for (collector, plan) in jobs.iter().zip(shared.jobs) {
        let iterations = match &plan.load {
            JobLoad::Open(_) => 0,
            JobLoad::Closed(program) => program.iterations() as usize,
        };
        collected(*at, iterations, collector)?;
    }
    bins(shared, timeline)?;
    for arrival in arrivals {
        let Arrival {
            begin,
            router,
            class,
            job,
            direction: _,
            bytes,
            packets,
        } = arrival;
        times([begin.0], "the time of an arrival")?;
        let router = router.index() < shared.topology.routers();
        ensure(router, "the router of an arrival")?;
        let class = usize::from(*class) < shared.classes.len();
        ensure(class, "the link class of an arrival")?;
        ensure((*job as usize) < shared.jobs.len(), "the job of an arrival")?;
        amounts([*bytes, *packets], "the bytes of an arrival")?;
    }
    Ok(())
}

/// What was measured of a job by the time `at`.
fn collected(at: u64, iterations: usize, collector: &JobCollector) -> Checked {
    let JobCollector {
        messages_created,
        messages_delivered,
        bytes_created,
        bytes_delivered,
        bytes_delivered_measured,
        bytes_created_measured,
        message_latency,
        packet_latency,
        single_latency,
        routers_visited,
        iteration_end,
        message_bytes,
        last_finish,
        last_delivery,
        // These follow from the job, and what is not finished from its ranks.
        messages_to_come: _,
        has_end: _,
        unfinished,
    } = collector;
    let counts = [
        *messages_created,
        *messages_delivered,
        *bytes_created,
        *bytes_delivered,
        *bytes_delivered_measured,
        *bytes_created_measured,
    ];
    amounts(counts, "a count of a job")?;
    let distributions = [
        message_latency,
        packet_latency,
        single_latency,
        message_bytes,
    ];
    let sound = distributions.into_iter().all(|all| all.is_sound(MOST));
    ensure(sound, "a distribution of a job")?;
    let visited = routers_visited.len() <= usize::from(u16::MAX) + 1
        && routers_visited.iter().all(|&packets| packets <= MOST);
    ensure(visited, "the routers that packets of a job visited")?;
    let ends = iteration_end.len() == iterations && iteration_end.iter().all(|&end| end <= at);
    ensure(ends, "the iterations of a job")?;
    times([*last_finish, *last_delivery], "the end of a job")?;
    ensure(*unfinished == 0, "the unfinished ranks of a job")
}

fn bins(shared: &Shared<'_>, timeline: &Timeline) -> Checked {
    let Timeline { bin, activity } = timeline;
    let width = match shared.measurement.timeline_bin {
        Some(width) => *bin == width,
        None => (1..=LATEST).contains(&bin.0),
    };
    ensure(width, "the width of the timeline")?;
    let jobs = shared.jobs.len().max(1);
    ensure(
        activity.len().is_multiple_of(jobs),
        "the jobs of the timeline",
    )?;
    for of_bin in activity {
        let Activity {
            injected_bytes,
            delivered_bytes,
            messages,
            latency_ps,
        } = of_bin;
        let amount = [*injected_bytes, *delivered_bytes, *messages, *latency_ps];
        amounts(amount, "the timeline")?;
    }
    Ok(())
}

/// A recorded message.
pub(super) fn message(shared: &Shared<'_>, message: &MessageRecord) -> Checked {
    let MessageRecord {
        job,
        source_rank,
        destination_rank,
        source,
        destination,
        bytes: _,
        created,
        delivered,
    } = message;
    let ranks = ranks_of(shared, *job).ok_or("the job of a recorded message")?;
    let of_job = *source_rank < ranks && *destination_rank < ranks;
    ensure(of_job, "a rank of a recorded message")?;
    let nodes = shared.topology.nodes();
    let there = source.index() < nodes && destination.index() < nodes;
    ensure(there, "a node of a recorded message")?;
    let order = created <= delivered && delivered.0 <= LATEST;
    ensure(order, "a time of a recorded message")
}

/// Ranks of a job, if there is such a job.
fn ranks_of(shared: &Shared<'_>, job: u32) -> Option<u32> {
    let job = shared.jobs.get(job as usize)?;
    Some(job.node_of_rank.len() as u32)
}
