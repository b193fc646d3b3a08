//! States that were changed and contradict themselves.
//!
//! What a state refers to is checked before anything is put in place. That its parts agree
//! with each other is not, as far as it is known to them alone: the place of a rank in its
//! program, the stage of a route, which message answers which. A run that goes on from such
//! a state comes to a point where it cannot: there it ends with an error of the state, not
//! with a crash.

use odonata_run::SimError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Goes on from a state; what would be a defect of the engine in a run from its beginning
/// is an error of the state.
pub(in crate::engine) fn without_contradiction<T>(
    run: impl FnOnce() -> Result<T, SimError>,
) -> Result<T, SimError> {
    // What a panic leaves half done is dropped with the run.
    let what = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Err(error @ (SimError::NotConserved(_) | SimError::Overfull { .. }))) => {
            error.to_string()
        }
        Ok(result) => return result,
        Err(panic) => said(panic.as_ref()),
    };
    Err(SimError::State(format!(
        "it contradicts itself, which showed as the run went on ({what}); if nobody has \
         changed it, this is an error in Odonata, please report it"
    )))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
