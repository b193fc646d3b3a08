//! The simulation room: the packet engine and what it measures. Knows nothing
//! of where a scenario comes from.

mod circuits;
mod engine;

pub use circuits::{CircuitControl, DARK, NewCircuits, RunSoFar};
pub use engine::{resume, run, run_any, run_with_circuits};
