//! What jobs and the rest of a scenario must have in common, for all readers.

use std::collections::HashMap;

use super::job::{Job, Load};
use crate::error::SpecError;

/// What of a job other tables depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it does something and comes to an end by itself.
    pub ends: bool,
}

impl<'a> JobEnd<'a> {
    /// The end of a job.
    pub fn of(job: &'a Job) -> Self {
        let ends = match &job.load {
            Load::Motif(_) => true,
            Load::Traffic(traffic) => traffic.messages.is_some(),
        };
        Self {
            name: &job.name,
            ends: ends && !job.idle,
        }
    }
}

/// Checks that a run of the jobs ends, and that they can be distinguished.
///
/// # Errors
/// If none ends by itself and there is no duration, or two have one name.
pub fn check_jobs(jobs: &[JobEnd<'_>], has_duration: bool) -> Result<(), SpecError> {
    if !has_duration && !jobs.iter().any(|job| job.ends) {
        let allowed = "a duration, as traffic without a number of `messages` has no end";
        return Err(SpecError::value("simulation.duration", "nothing", allowed));
    }
    let mut first = HashMap::new();
    for (place, job) in jobs.iter().enumerate() {
        let before = *first.entry(job.name).or_insert(place);
        if before != place {
            let allowed = format!("a name that differs from that of job[{before}]");
            let found = format!("\"{}\"", job.name);
            return Err(SpecError::value(
                format!("job[{place}].name"),
                found,
                allowed,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_and_jobs_differ() {
        let job = |name, ends| JobEnd { name, ends };
        assert_eq!(
            check_jobs(&[job("a", true), job("b", false)], false),
            Ok(())
        );
        assert_eq!(check_jobs(&[job("a", false)], true), Ok(()));
        let endless = check_jobs(&[job("a", false), job("b", false)], false).unwrap_err();
        assert_eq!(endless.path, "simulation.duration");
        let twice = [job("a", true), job("b", true), job("a", true)];
        let twice = check_jobs(&twice, false).unwrap_err();
        assert_eq!(twice.path, "job[2].name");
        assert!(
            twice
                .message
                .ends_with("a name that differs from that of job[0]")
        );
    }
}
