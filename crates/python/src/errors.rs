//! Exceptions of the module, and which error of the engine becomes which.

use odonata::{Error, SimError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

create_exception!(
    odonata._engine,
    SpecError,
    PyException,
    "A scenario that cannot be simulated as written; args are the key path, the message, what \
     was found and what is allowed (empty where unknown)."
);
create_exception!(
    odonata._engine,
    SimulationError,
    PyException,
    "A simulation that could not go on, or a proof without verdict."
);
create_exception!(
    odonata._engine,
    CheckpointError,
    PyException,
    "A checkpoint that is missing, damaged, or of another run, version or build."
);
create_exception!(
    odonata._engine,
    InternalError,
    PyException,
    "A defect of the engine; please report it."
);

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    match error {
        Error::Spec(error) => SpecError::new_err((
            error.path,
            error.message,
            error.found.unwrap_or_default(),
            error.allowed.unwrap_or_default(),
        )),
        Error::Simulation(error @ (SimError::NotConserved(_) | SimError::Overfull { .. })) => {
            InternalError::new_err(error.to_string())
        }
        Error::Checkpoint(error) => CheckpointError::new_err(error.to_string()),
        Error::Simulation(error @ SimError::State(_)) => {
            CheckpointError::new_err(error.to_string())
        }
        Error::Simulation(SimError::Interrupted { at }) => {
            // Without an exception of the callback's own, which would be raised instead.
            PyKeyboardInterrupt::new_err(format!("at {at} of simulated time"))
        }
        error => SimulationError::new_err(error.to_string()),
    }
}
