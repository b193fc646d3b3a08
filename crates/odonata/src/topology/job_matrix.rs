//! What a job sends, for circuits that are to match it.

use odonata_load::matrix::CommunicationMatrix;

use crate::error::SpecError;
use crate::jobs::PlannedJob;
use crate::mapping::sent;

/// Who of a job sends how much to whom.
///
/// # Errors
/// If that cannot be found. `key` says that circuits are to match it; it may say `instead`.
pub(super) fn job_matrix(
    job: &PlannedJob,
    key: &str,
    instead: &str,
) -> Result<CommunicationMatrix, SpecError> {
    let ranks = job.plan.node_of_rank.len() as u32;
    let found = sent(&job.plan.load, ranks, &str::to_owned).map_err(|_| {
        let what = format!(
            "who sends how much to whom cannot be found from what job {} does, so that circuits \
             cannot match it; use {instead}",
            job.plan.name
        );
        SpecError::new(key, what)
    })?;
    Ok(found.matrix)
}
