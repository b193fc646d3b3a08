//! The table of what links lost.

use odonata_run::JobOutcome;

use super::{Filled, Filling};
use crate::finished::Run;

/// One row per job.
pub(super) fn losses(run: &Run) -> Filled {
    let outcomes: &[JobOutcome] = match run.scenario.network.failures.loses_packets() {
        true => &run.outcome.jobs,
        false => &[],
    };
    let mut table = Filling::new(
        outcomes,
        "losses",
        "What links that failed during the run lost: one row per job, in the order of the scenario \
             (none without `failures.in_flight = \"lost\"`). See \
             [failures](failures.md#packets-that-are-lost).",
    );
    table.numbers("job", "the job's row in `jobs`");
    table.i64(
        "packets_lost",
        "how often a packet of the job was lost, since the start of the run",
        |job| job.packets_lost,
    );
    table.i64(
        "bytes_lost",
        "bytes of its messages that were given up as it was aborted",
        |job| job.bytes_lost,
    );
    table.i64_or_none(
        "aborted_ps",
        "when it was aborted, as a packet of it was lost too often; empty if it was not",
        |job| job.aborted.map(|time| time.0),
    );
    table.filled
}
