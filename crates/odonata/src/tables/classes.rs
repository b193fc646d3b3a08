//! The table of traffic classes.

use odonata_run::ClassBytes;

use super::{Filled, Filling};
use crate::finished::Run;

/// A class: its name, how many jobs may send in it, and what they sent.
type Row<'r> = (&'r str, i32, ClassBytes);

/// One row per class.
pub(super) fn traffic_classes(run: &Run) -> Filled {
    let classes = &run.scenario.network.router.traffic_classes;
    let outcome = &run.outcome;
    let rows: Vec<Row<'_>> = (classes.iter().enumerate())
        .map(|(class, declared)| {
            let (mut jobs, mut sum) = (0, ClassBytes::default());
            for (job, outcome) in run.jobs.iter().zip(&outcome.jobs) {
                let of_job = &job.plan.classes;
                jobs += i32::from(of_job.bits() >> class & 1 == 1);
                match outcome.classes.get(class) {
                    Some(of_class) => sum += *of_class,
                    None if usize::from(of_job.usual) == class => {
                        sum += ClassBytes::of_job(outcome)
                    }
                    None => {}
                }
            }
            (declared.name.as_str(), jobs, sum)
        })
        .collect();
    let seconds = outcome.end.0.saturating_sub(outcome.warmup.0) as f64 * 1e-12;
    let rate = |of: fn(&ClassBytes) -> u64| {
        move |row: &Row<'_>| match seconds > 0.0 {
            true => of(&row.2) as f64 / seconds,
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
    let jobs = "jobs with messages that may be of the class";
    table.i32("jobs", jobs, |row| row.1);
    table.i64(
        "bytes_created",
        "bytes of its messages that jobs created; what the protocol sends for messages does not count",
        |row| row.2.created,
    );
    table.i64("bytes_delivered", "bytes of them that arrived", |row| {
        row.2.delivered
    });
    table
        .f64(
            "offered_bytes_per_s",
            "bytes created after the warm-up, per second from then to the end of the run",
            rate(|class| class.created_measured),
        )
        .or_none();
    table
        .f64(
            "accepted_bytes_per_s",
            "bytes delivered after the warm-up, per second from then to the end of the run",
            rate(|class| class.delivered_measured),
        )
        .or_none();
    table.filled
}
