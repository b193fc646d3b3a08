//! A job while it waits and runs.

use crate::Seconds;
use crate::log::Label;

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
