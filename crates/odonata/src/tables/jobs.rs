//! Tables of jobs: times, distributions, and the estimates of steady states.

use odonata_run::{Histogram, JobOutcome};

use super::{Filled, Filling, id};
use crate::finished::{Run, mean_index};
use crate::jobs::PlannedJob;
use crate::statistics::Interval;
use crate::steady::JobStatistics;

pub(super) fn jobs(run: &Run) -> Filled {
    // Over the job's own time: what it did not use says nothing of its rate.
    let rate = |job: &JobOutcome, bytes: u64| {
        let from = job.start.max(run.outcome.warmup);
        let to = job.end.unwrap_or(run.outcome.end);
        match to.0.checked_sub(from.0) {
            None | Some(0) => f64::NAN,
            Some(ps) => bytes as f64 / (ps as f64 * 1e-12),
        }
    };
    let rows: Vec<_> = run.jobs.iter().zip(&run.outcome.jobs).collect();
    let mut table = Filling::new(
        &rows,
        "jobs",
        "One row per job, in the order of the scenario. Latencies and bandwidths count what was \
             created after the warm-up. Quantiles are exact to 0.4 %; minimum, maximum and mean are \
             exact.",
    );
    table.numbers("job", "row number, from 0");
    table.text("name", "name in the scenario", |(job, _)| {
        job.plan.name.clone()
    });
    table.i32("nodes", "nodes that the job occupies", |(job, _)| {
        job.nodes.len() as i32
    });
    table.i32("ranks", "ranks", |(job, _)| {
        job.plan.node_of_rank.len() as i32
    });
    table.i64(
        "start_ps",
        "simulated time at which the job starts",
        |(_, job)| job.start.0,
    );
    table.i64_or_none(
        "end_ps",
        "simulated time at which the job's last rank finished or, for traffic with a number of \
             messages, at which the last byte arrived; empty for traffic without end and for jobs \
             that were unfinished at the end of the run",
        |(_, job)| job.end.map(|end| end.0),
    );
    table.i64(
        "messages_created",
        "messages handed to a network interface",
        |(_, job)| job.messages_created,
    );
    table.i64(
        "messages_delivered",
        "messages that arrived completely",
        |(_, job)| job.messages_delivered,
    );
    table.i64(
        "bytes_created",
        "bytes of the created messages",
        |(_, job)| job.bytes_created,
    );
    table.i64("bytes_delivered", "bytes that arrived", |(_, job)| {
        job.bytes_delivered
    });
    table
        .f64(
            "offered_bytes_per_s",
            "bytes created after the warm-up, over all nodes of the job, per second of its own \
             time: from its start, or the end of the warm-up if that is later, to its end or that \
             of the run; empty where that is no time",
            |(_, job)| rate(job, job.bytes_created_measured),
        )
        .or_none();
    table
        .f64(
            "accepted_bytes_per_s",
            "bytes delivered after the warm-up, over all nodes of the job, per second of its own \
             time; empty where that is no time",
            |(_, job)| rate(job, job.bytes_delivered_measured),
        )
        .or_none();
    latencies(
        &mut table,
        (
            "message_latency",
            "time from a message's creation to the arrival of its last byte",
        ),
        |job| &job.message_latency_ps,
    );
    latencies(
        &mut table,
        (
            "packet_latency",
            "time from the creation of a packet's message to the arrival of the packet's \
             tail",
        ),
        |job| &job.packet_latency_ps,
    );
    table
        .f64(
            "mean_routers_visited",
            "mean number of routers that a packet passed, source and destination router included",
            |(_, job)| mean_index(&job.routers_visited),
        )
        .or_none();
    table.f64(
        "compute_ps",
        "time for which the job's ranks computed, summed over ranks",
        |(_, job)| job.compute_ps as f64,
    );
    table.f64(
        "wait_ps",
        "time for which the job's ranks waited for messages, summed over ranks",
        |(_, job)| job.wait_ps as f64,
    );
    table.i64(
        "unreceived_messages",
        "messages that arrived, or whose rendezvous request arrived, and that no rank received",
        |(_, job)| job.unreceived_messages,
    );
    table.filled
}

fn latencies(
    table: &mut Filling<'_, (&PlannedJob, &JobOutcome)>,
    (quantity, text): (&str, &str),
    of: impl Fn(&JobOutcome) -> &Histogram,
) {
    type Figure = fn(&Histogram) -> Option<u64>;
    let figures: [(&str, &str, Figure); 6] = [
        ("min", "smallest", |h| h.min()),
        ("p25", "lower quartile of the", |h| h.quantile(0.25)),
        ("median", "median", |h| h.quantile(0.5)),
        ("p75", "upper quartile of the", |h| h.quantile(0.75)),
        ("p99", "99th percentile of the", |h| h.quantile(0.99)),
        ("max", "largest", |h| h.max()),
    ];
    for (name, words, figure) in figures {
        let name = format!("{quantity}_{name}_ps");
        table.i64_or_none(&name, &format!("{words} {text}"), |(_, job)| {
            figure(of(job))
        });
    }
    let mean = |(_, job): &(_, &JobOutcome)| of(job).mean().unwrap_or(f64::NAN);
    let name = format!("{quantity}_mean_ps");
    table.f64(&name, &format!("mean {text}"), mean).or_none();
}

/// What the `statistics` table says of a quantity of a job.
struct Row<'r> {
    job: &'r JobStatistics,
    quantity: u8,
    /// The interval, and what its unit is in that of the table.
    interval: Option<&'r Interval>,
    unit: f64,
}

pub(super) fn statistics(run: &Run) -> Filled {
    let rows: Vec<Row<'_>> = run
        .statistics
        .iter()
        .flat_map(|job| {
            let row = |quantity, interval, unit| Row {
                job,
                quantity,
                interval,
                unit,
            };
            [
                row(0, job.latency_ps.as_ref(), 1.0),
                row(1, job.accepted.as_ref(), 1e12),
            ]
        })
        .collect();
    let number = |row: &Row<'_>, of: fn(&Interval) -> f64| row.interval.map_or(f64::NAN, of);
    let mut table = Filling::new(
        &rows,
        "statistics",
        "How certain the means of open-loop traffic are: one row per job with traffic, and per \
             quantity. The 95 % confidence intervals come from batch means over what arrived after \
             the warm-up (see [statistics](statistics.md)).",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.job.job as i32);
    table
        .i8(
            "quantity",
            "`message_latency` (mean in ps) or `accepted` (bytes delivered per second)",
            |row| row.quantity,
        )
        .names(&["message_latency", "accepted"]);
    table
        .f64("mean", "mean, in the quantity's unit", |row| {
            number(row, |i| i.mean) * row.unit
        })
        .or_none();
    table
        .f64(
            "ci95",
            "half the width of the interval; empty for the rate of a job that has ended",
            |row| number(row, |i| i.half_width) * row.unit,
        )
        .or_none();
    table.i32(
        "batches",
        "number of batches from which the interval was computed",
        |row| row.interval.map_or(0, |i| i.batches as i32),
    );
    table.i64("batch_ps", "simulated time of a batch", |row| {
        row.interval.map_or(0, |i| i.batch as u64 * row.job.slice.0)
    });
    table
        .f64(
            "autocorrelation",
            "correlation of successive batches",
            |row| number(row, |i| i.correlation),
        )
        .or_none();
    table.i8(
        "uncorrelated",
        "1 if the batches pass as uncorrelated; 0 if the interval may be too narrow",
        |row| u8::from(row.interval.is_some_and(|i| i.uncorrelated)),
    );
    table.i64(
        "from_ps",
        "simulated time from which messages count",
        |row| row.job.from.0,
    );
    table.i64_or_none(
        "warmup_end_ps",
        "simulated time at which the job's warm-up ends, by MSER-5 over the whole run; empty if \
             the run shows no steady state",
        |row| row.job.warmup_end.map(|end| end.0),
    );
    table.filled
}

pub(super) fn histograms(run: &Run) -> Filled {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        let quantities = [&outcome.message_latency_ps, &outcome.packet_latency_ps];
        for (quantity, histogram) in (0u8..).zip(quantities) {
            for (low, high, count) in histogram.buckets() {
                rows.push((job as i32, quantity, low, high, count));
            }
        }
    }
    let mut table = Filling::new(
        &rows,
        "histograms",
        "Latency distributions: one row per job, quantity and non-empty bucket. The width of a \
             bucket is at most 1/128 of its values.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.0);
    table
        .i8(
            "quantity",
            "`message_latency` or `packet_latency`, as in `jobs`",
            |row| row.1,
        )
        .names(&["message_latency", "packet_latency"]);
    table.i64("low_ps", "smallest value of the bucket", |row| row.2);
    table.i64("high_ps", "largest value of the bucket", |row| row.3);
    table.i64(
        "count",
        "number of messages or packets in the bucket",
        |row| row.4,
    );
    table.filled
}

pub(super) fn routers_visited(run: &Run) -> Filled {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (routers, &packets) in outcome.routers_visited.iter().enumerate() {
            if packets > 0 {
                rows.push((job as i32, routers as i32, packets));
            }
        }
    }
    let mut table = Filling::new(
        &rows,
        "routers_visited",
        "How far packets travelled: one row per job and number of routers.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.0);
    table.i32(
        "routers",
        "number of routers passed, source and destination router included",
        |row| row.1,
    );
    table.i64(
        "packets",
        "packets that passed this number of routers",
        |row| row.2,
    );
    table.filled
}

pub(super) fn iterations(run: &Run) -> Filled {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (iteration, end) in outcome.iteration_end.iter().enumerate() {
            rows.push((job as i32, iteration as i32, end.map(|end| end.0)));
        }
    }
    let mut table = Filling::new(
        &rows,
        "iterations",
        "Progress of closed-loop jobs: one row per job and iteration.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.0);
    table.i32("iteration", "number of the iteration, from 0", |row| row.1);
    table.i64_or_none(
        "end_ps",
        "simulated time at which the job's slowest rank ended the iteration; empty if the run ended \
             before",
        |row| row.2,
    );
    table.filled
}

pub(super) fn placement(run: &Run) -> Filled {
    let topology = &run.topology;
    let mut rows = Vec::new();
    for (job, planned) in run.jobs.iter().enumerate() {
        for (rank, &node) in planned.plan.node_of_rank.iter().enumerate() {
            let router = topology.router_of_node(node);
            let group = topology.group_of_router[router.index()];
            rows.push([
                job as i32,
                rank as i32,
                id(node.0),
                id(router.0),
                id(group.0),
            ]);
        }
    }
    let mut table = Filling::new(
        &rows,
        "placement",
        "Where each rank ran: one row per job and rank.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row[0]);
    table.i32("rank", "rank within the job", |row| row[1]);
    table.i32("node", "node of the rank", |row| row[2]);
    table.i32("router", "the node's router", |row| row[3]);
    table.i32("group", "the router's group", |row| row[4]);
    table.filled
}
