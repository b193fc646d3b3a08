//! The table of traffic classes.

use odonata_run::JobOutcome;

use super::{Filled, Filling};
use crate::finished::Run;

/// A class and what its jobs did.
type Row<'r> = (&'r str, Vec<&'r JobOutcome>);

/// One row per class.
pub(super) fn traffic_classes(run: &Run) -> Filled {
    let classes = &run.scenario.network.router.traffic_classes;
    let outcome = &run.outcome;
    let rows: Vec<Row<'_>> = (classes.iter().enumerate())
        .map(|(class, declared)| {
            let all = run.jobs.iter().zip(&outcome.jobs);
            let of_class = all.filter(|(job, _)| usize::from(job.plan.class) == class);
            let outcomes = of_class.map(|(_, outcome)| outcome).collect();
            (declared.name.as_str(), outcomes)
        })
        .collect();
    let sum = |of: fn(&JobOutcome) -> u64| {
        move |(_, jobs): &Row<'_>| jobs.iter().map(|&job| of(job)).sum::<u64>()
    };
    let seconds = outcome.end.0.saturating_sub(outcome.warmup.0) as f64 * 1e-12;
    let rate = |of: fn(&JobOutcome) -> u64| {
        move |row: &Row<'_>| match seconds > 0.0 {
            true => sum(of)(row) as f64 / seconds,
            false => f64::NAN,
        }
    };
    let mut table = Filling::new(
        &rows,
        "traffic_classes",
        "What classes of traffic sent: one row per class, in the order of the scenario (none without \
             `network.router.traffic_class`). See \
             [traffic classes](congestion-control.md#traffic-classes).",
    );
    table.numbers("traffic_class", "row number, from 0");
    table.text("name", "name in the scenario", |row| row.0.to_owned());
    table.i32("jobs", "jobs of the class", |row| row.1.len() as i32);
    table.i64(
        "bytes_created",
        "bytes of the messages that its jobs created",
        sum(|job| job.bytes_created),
    );
    table.i64(
        "bytes_delivered",
        "bytes of them that arrived",
        sum(|job| job.bytes_delivered),
    );
    table
        .f64(
            "offered_bytes_per_s",
            "bytes created after the warm-up, per second from then to the end of the run",
            rate(|job| job.bytes_created_measured),
        )
        .or_none();
    table
        .f64(
            "accepted_bytes_per_s",
            "bytes delivered after the warm-up, per second from then to the end of the run",
            rate(|job| job.bytes_delivered_measured),
        )
        .or_none();
    table.filled
}
