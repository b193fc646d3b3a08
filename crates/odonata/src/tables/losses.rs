//! The table of what links lost.

use odonata_run::JobOutcome;

use super::Filling;
use crate::finished::Run;

/// One row per job.
pub(super) fn losses(run: &Run) -> Filling {
    let outcomes: &[JobOutcome] = match run.scenario.network.failures.loses_packets() {
        true => &run.outcome.jobs,
        false => &[],
    };
    let mut table = Filling::new(
        "losses",
        "What links that failed during the run lost: one row per job, in the order of the scenario \
             (none without `failures.in_flight = \"lost\"`). See \
             [failures](failures.md#packets-that-are-lost).",
    );
    table.i32("job", "the job's row in `jobs`", 0..outcomes.len() as i32);
    table.i64(
        "packets_lost",
        "how often a packet of the job was lost, since the start of the run",
        outcomes.iter().map(|job| job.packets_lost),
    );
    table.i64(
        "bytes_lost",
        "bytes of its messages that were given up as it was aborted",
        outcomes.iter().map(|job| job.bytes_lost),
    );
    table.i64_or_none(
        "aborted_ps",
        "when it was aborted, as a packet of it was lost too often; empty if it was not",
        outcomes.iter().map(|job| job.aborted.map(|time| time.0)),
    );
    table
}
