//! Tables of ranks and of their messages.

use odonata_declare::Named;
use odonata_load::{CollectiveKind, Parallelism};
use odonata_run::{RankActivity, RankTimes};

use super::{Filled, Filling, id};
use crate::finished::Run;

/// A job, a rank of it, and its times.
type Row<'r> = (usize, usize, &'r RankTimes);

/// How the ranks of closed-loop jobs spent their time.
pub(super) fn ranks(run: &Run) -> Filled {
    let jobs = run.outcome.jobs.iter().enumerate();
    let rows: Vec<Row<'_>> = jobs
        .flat_map(|(job, outcome)| {
            let ranks = outcome.ranks.iter().enumerate();
            ranks.map(move |(rank, times)| (job, rank, times))
        })
        .collect();
    let mut table = Filling::new(
        &rows,
        "ranks",
        "How the ranks of closed-loop jobs spent their time, from the job's start until \
             the rank finished: one row per job and rank. The columns up to `collective_ps` \
             add up to `total_ps`.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.0 as i32);
    table.i32("rank", "rank within the job", |row| row.1 as i32);
    let outside = |activity: RankActivity| move |row: &Row<'_>| row.2.outside_ps[activity as usize];
    table.i64(
        "compute_ps",
        "time computing, outside of collectives",
        outside(RankActivity::Compute),
    );
    table.i64(
        "send_overhead_ps",
        "time busy with handing over messages",
        outside(RankActivity::Send),
    );
    table.i64(
        "receive_overhead_ps",
        "time busy with taking in messages",
        outside(RankActivity::Receive),
    );
    table.i64(
        "send_wait_ps",
        "idle time until the rank's own messages had been sent",
        outside(RankActivity::WaitToSend),
    );
    table.i64(
        "receive_wait_ps",
        "idle time until messages of other ranks arrived",
        outside(RankActivity::WaitToReceive),
    );
    table.i64(
        "collective_ps",
        "time in blocking collectives, whatever the rank did in them",
        |row| row.2.collective_ps.iter().sum(),
    );
    table.i64(
        "collective_compute_ps",
        "part of `collective_ps`: time combining data",
        |row| row.2.collective_ps[RankActivity::Compute as usize],
    );
    table.i64("total_ps", "total time", |row| row.2.total());
    table.filled
}

/// What ranks of training steps did for each kind of parallelism.
pub(super) fn parallelism(run: &Run) -> Filled {
    let mut table = Filling::new(
        &run.outcome.parallelism,
        "parallelism",
        "What ranks did for each kind of parallelism of a training step (motif `training`): one row \
             per job, rank and kind, from the job's start until the rank finished.",
    );
    table.i32("job", "the job's row in `jobs`", |s| id(s.job));
    table.i32("rank", "rank within the job", |s| id(s.rank.0));
    table
        .i8(
            "parallelism",
            "`sequence`: tensor parallelism with `sequence_parallel`; `pipeline`: with the gradients of \
                 the embedding at both its ends; `data`: gradients; `zero`: gradients and weights \
                 with `zero`",
            |s| s.parallelism as u8,
        )
        .names(Parallelism::NAMES);
    table.i64("messages", "messages that the rank sent", |s| {
        s.share.messages
    });
    table.i64("bytes", "their bytes", |s| s.share.bytes);
    table.i64(
        "exposed_ps",
        "exposed communication: time in which the rank computed nothing of its own, waiting for \
             these messages or busy with them",
        |s| s.share.exposed_ps,
    );
    table.filled
}

/// What ranks did when, if recorded.
pub(super) fn rank_activity(run: &Run) -> Filled {
    let mut table = Filling::new(
        &run.outcome.rank_intervals,
        "rank_activity",
        "What every rank did at each time: one row per job, rank and interval, in this order \
             (`[record] rank_activity = true` in the scenario; none by default).",
    );
    table.i32("job", "the job's row in `jobs`", |i| id(i.job));
    table.i32("rank", "rank within the job", |i| id(i.rank.0));
    table.i64(
        "begin_ps",
        "simulated time at which the interval began",
        |i| i.begin.0,
    );
    table.i64(
        "end_ps",
        "simulated time at which the interval ended",
        |i| i.end.0,
    );
    table
        .i8(
            "activity",
            "`compute`; `send` or `receive`: busy with handing over or taking in messages; \
                 `wait-to-send` or `wait-to-receive`: idle until messages have been sent or have \
                 arrived",
            |i| i.activity as u8,
        )
        .names(&RankActivity::ALL.map(RankActivity::name));
    table
        .i8(
            "collective",
            "the blocking collective that the rank was in",
            |i| i.collective.map_or(u8::MAX, |kind| kind as u8),
        )
        .or_none()
        .names(CollectiveKind::NAMES);
    table
        .i8(
            "parallelism",
            "the parallelism that a rank of a training step communicated for",
            |i| i.parallelism.map_or(u8::MAX, |kind| kind as u8),
        )
        .or_none()
        .names(Parallelism::NAMES);
    table
        .i32(
            "cause_rank",
            "for a wait: the sender of the message that ended the wait",
            |i| i.cause.map_or(-1, |(rank, _)| id(rank.0)),
        )
        .or_none();
    table.i64_or_none(
        "cause_ps",
        "simulated time at which `cause_rank` wanted to send that message",
        |i| i.cause.map(|(_, time)| time.0),
    );
    table.filled
}

/// Sizes of the messages of closed-loop jobs.
pub(super) fn message_sizes(run: &Run) -> Filled {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (low, high, count) in outcome.message_bytes.buckets() {
            rows.push((job as i32, low, high, count));
        }
    }
    let mut table = Filling::new(
        &rows,
        "message_sizes",
        "Sizes of the messages of closed-loop jobs: one row per job and non-empty bucket. The \
             width of a bucket is at most 1/128 of its values.",
    );
    table.i32("job", "the job's row in `jobs`", |row| row.0);
    table.i64("low_bytes", "smallest size in the bucket", |row| row.1);
    table.i64("high_bytes", "largest size in the bucket", |row| row.2);
    table.i64("count", "messages", |row| row.3);
    table.filled
}

/// Who sent how much to whom, if recorded.
pub(super) fn communication(run: &Run) -> Filled {
    let mut table = Filling::new(
        &run.outcome.traffic,
        "communication",
        "Which rank sent how much to which: one row per job, sender and receiver, in this order \
             (`[record] communication = true` in the scenario; none by default).",
    );
    table.i32("job", "the job's row in `jobs`", |pair| id(pair.job));
    table.i32("source_rank", "sending rank", |pair| id(pair.source.0));
    table.i32("destination_rank", "receiving rank", |pair| {
        id(pair.destination.0)
    });
    table.i64("messages", "number of messages", |pair| {
        pair.traffic.messages
    });
    table.i64("bytes", "bytes of these messages", |pair| {
        pair.traffic.bytes
    });
    table.filled
}

pub(super) fn messages(run: &Run) -> Filled {
    let mut table = Filling::new(
        &run.outcome.messages,
        "messages",
        "One row per recorded message (`[record] messages` in the scenario; none by \
             default), in order of delivery.",
    );
    table.i32("job", "the job's row in `jobs`", |m| id(m.job));
    table.i32("source_rank", "sending rank", |m| id(m.source_rank));
    table.i32("destination_rank", "receiving rank", |m| {
        id(m.destination_rank)
    });
    table.i32("source_node", "node of the sending rank", |m| {
        id(m.source.0)
    });
    table.i32("destination_node", "node of the receiving rank", |m| {
        id(m.destination.0)
    });
    table.i64("bytes", "size of the message", |m| m.bytes.0);
    table.i64(
        "created_ps",
        "simulated time at which the sender handed the message over",
        |m| m.created.0,
    );
    table.i64(
        "delivered_ps",
        "simulated time at which the message's last byte arrived",
        |m| m.delivered.0,
    );
    table.filled
}
