//! The table of traffic classes.

use odonata_run::{JobOutcome, JobPlan};

use super::Filling;
use crate::finished::Run;

/// One row per class.
pub(super) fn traffic_classes(run: &Run) -> Filling {
    let classes = &run.scenario.network.router.traffic_classes;
    let outcome = &run.outcome;
    let jobs = |class: usize| {
        let of_class = move |plan: &JobPlan| usize::from(plan.class) == class;
        let all = run.jobs.iter().zip(&outcome.jobs);
        all.filter(move |(job, _)| of_class(&job.plan))
            .map(|(_, outcome)| outcome)
    };
    let sum = |of: fn(&JobOutcome) -> u64| (0..classes.len()).map(move |c| jobs(c).map(of).sum());
    let seconds = outcome.end.0.saturating_sub(outcome.warmup.0) as f64 * 1e-12;
    let rate = |bytes: u64| match seconds > 0.0 {
        true => bytes as f64 / seconds,
        false => f64::NAN,
    };
    let mut table = Filling::new(
        "traffic_classes",
        "What classes of traffic sent: one row per class, in the order of the scenario (none without \
             `network.router.traffic_class`). See \
             [traffic classes](congestion-control.md#traffic-classes).",
    );
    table.i32(
        "traffic_class",
        "row number, from 0",
        0..classes.len() as i32,
    );
    table.text(
        "name",
        "name in the scenario",
        classes.iter().map(|class| class.name.clone()),
    );
    table.i32(
        "jobs",
        "jobs of the class",
        (0..classes.len()).map(|class| jobs(class).count() as i32),
    );
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
            sum(|job| job.bytes_created_measured).map(rate),
        )
        .or_none();
    table
        .f64(
            "accepted_bytes_per_s",
            "bytes delivered after the warm-up, per second from then to the end of the run",
            sum(|job| job.bytes_delivered_measured).map(rate),
        )
        .or_none();
    table
}
