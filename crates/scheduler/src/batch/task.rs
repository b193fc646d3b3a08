//! A job while it waits and runs.

use super::options::{Arrival, Estimate, Larger, Options};
use crate::Seconds;
use crate::log::{Job, Label};

/// A job as the simulation sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) arrival: Seconds,
    /// How long it runs if it is let.
    pub(super) work: Seconds,
    /// When it is killed, after its start.
    pub(super) limit: Option<Seconds>,
    /// Believed run time while it waits, and while it runs; at least 1 s.
    pub(super) waiting: Seconds,
    pub(super) running: Seconds,
    pub(super) nodes: u32,
    pub(super) user: Label,
}

impl Task {
    /// The job of a log on a machine of `size` nodes.
    pub(super) fn new(job: &Job, options: &Options, size: u32) -> Self {
        let asked = options.share.asked(job);
        let limit = job.requested.filter(|_| options.enforce_limits);
        let run = limit.map_or(job.run, |limit| job.run.min(limit));
        let estimate = |estimate: Estimate| {
            let believed = match estimate {
                Estimate::Requested => job.requested.unwrap_or(run),
                Estimate::Perfect => run,
                Estimate::Factor(factor) => Seconds((run.0 as f64 * factor).ceil() as i64),
            };
            believed.max(Seconds(1))
        };
        Self {
            arrival: match options.arrival {
                Arrival::Submit => job.submit,
                Arrival::Eligible => job.eligible.unwrap_or(job.submit).max(job.submit),
            },
            work: job.run,
            limit,
            waiting: estimate(options.waiting_estimate),
            running: estimate(options.running_estimate),
            nodes: match options.larger {
                Larger::Cut => asked.min(size),
                Larger::Refuse => asked,
            },
            user: job.user,
        }
    }
}
