//! What plug-ins add to a scenario's jobs.

use std::sync::Arc;

use odonata_load::{Rates, Script};
use odonata_placement::MachineState;
use odonata_units::NodeId;
use odonata_units::random::Stream;

use crate::error::SpecError;
use crate::load::JobContext;

/// What plug-ins say of jobs in the place of the scenario; `None`: nothing.
pub(crate) trait Additions {
    /// The nodes of a job.
    fn nodes(
        &self,
        position: usize,
        nodes: u32,
        state: &MachineState,
        stream: &mut Stream,
    ) -> Option<Result<Vec<NodeId>, SpecError>>;

    /// What its ranks do.
    fn program(&self, context: &JobContext<'_>) -> Option<Result<Arc<dyn Script>, SpecError>>;

    /// How much its ranks send to each other.
    fn rates(&self, context: &JobContext<'_>) -> Option<Result<Rates, SpecError>>;
}

/// No plug-ins.
pub(crate) struct Nothing;

impl Additions for Nothing {
    fn nodes(
        &self,
        _: usize,
        _: u32,
        _: &MachineState,
        _: &mut Stream,
    ) -> Option<Result<Vec<NodeId>, SpecError>> {
        None
    }

    fn program(&self, _: &JobContext<'_>) -> Option<Result<Arc<dyn Script>, SpecError>> {
        None
    }

    fn rates(&self, _: &JobContext<'_>) -> Option<Result<Rates, SpecError>> {
        None
    }
}
