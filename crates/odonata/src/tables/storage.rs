//! The table of what servers of a file system did.

use odonata_run::ServerUse;

use super::{Filled, Filling, id};
use crate::finished::Run;

/// One row per job and server that did something for it.
pub(super) fn storage(run: &Run) -> Filled {
    let plan = |server: &ServerUse| &run.jobs[server.job as usize].plan;
    let mut table = Filling::new(
        &run.outcome.storage,
        "storage",
        "What servers of the file system did: one row per job and server that had a request of it, over \
             the whole run. See [storage](storage.md).",
    );
    table.i32("job", "the job's row in `jobs`", |server| server.job as i32);
    table.i32("server", "number of the server, from 0", |server| {
        let first = plan(server).servers.as_ref().map_or(0, |all| all.first);
        id(server.rank.0 - first)
    });
    table.i32("node", "node of the server", |server| {
        id(plan(server).node_of_rank[server.rank.index()].0)
    });
    table.i64("writes", "requests to write", |one| one.counts.writes);
    table.i64("reads", "requests to read", |one| one.counts.reads);
    table.i64("written_bytes", "bytes written", |one| {
        one.counts.written_bytes
    });
    table.i64("read_bytes", "bytes read", |one| one.counts.read_bytes);
    table.i64(
        "busy_ps",
        "time that the server's medium spent on them, or its burst buffer, full or not",
        |one| one.counts.busy_ps,
    );
    table.i64(
        "queued_ps",
        "time that they waited for it, summed over requests",
        |one| one.counts.queued_ps,
    );
    table.i64(
        "first_ps",
        "simulated time at which the first request had come",
        |one| one.counts.first_ps,
    );
    table.i64(
        "last_ps",
        "simulated time at which the last one was done",
        |one| one.counts.last_ps,
    );
    table.filled
}
