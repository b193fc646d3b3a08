//! A network of which anything may fail, behind the scheduler's trait, which asks only
//! when jobs settle.

use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Allocation, Network};
use odonata_units::NodeId;
use serde_json::Value;

use super::level::Level;
use super::machine::NodesOfJobs;

/// A [`Network`] whose jobs may fail to begin and to end; errors say why.
pub(super) trait FallibleNetwork {
    /// Gives a job its nodes; seconds until it can run.
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String>;
    /// Which nodes jobs have.
    fn allotment(&self) -> &NodesOfJobs;
    /// The same, to be changed.
    fn allotment_mut(&mut self) -> &mut NodesOfJobs;
    /// A job has left.
    fn end(&mut self, job: u32) -> Result<(), String>;
    /// Whose speed has changed since the last time, and to what.
    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String>;
    /// As [`Level::report`].
    fn report(&self) -> Value;
}

/// Keeps the first failure since the last settling, and tells it there.
pub(super) struct FirstFailure<N> {
    network: N,
    failure: Option<String>,
}

impl<N> FirstFailure<N> {
    pub(super) fn of(network: N) -> Self {
        Self {
            network,
            failure: None,
        }
    }

    fn keep<T: Default>(&mut self, result: Result<T, String>) -> T {
        result.unwrap_or_else(|reason| {
            self.failure.get_or_insert(reason);
            T::default()
        })
    }
}

impl<N: FallibleNetwork> Network for FirstFailure<N> {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        let delay = self.network.begin(job, allocation);
        self.keep(delay)
    }

    fn end(&mut self, job: u32, _: Seconds) {
        let left = self.network.end(job);
        self.keep(left);
    }

    fn nodes(&self) -> Option<Vec<NodeId>> {
        Some(self.network.allotment().nodes())
    }

    fn nodes_of(&self, job: u32) -> &[NodeId] {
        self.network.allotment().of(job)
    }

    fn out(&mut self, nodes: &[NodeId]) {
        let taken = self.network.allotment_mut().take_out(nodes);
        self.keep(taken);
    }

    fn back(&mut self, nodes: &[NodeId]) {
        let given = self.network.allotment_mut().put_back(nodes);
        self.keep(given);
    }

    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.network.settle(changed),
        }
    }
}

impl<N: FallibleNetwork> Level for FirstFailure<N> {
    fn report(&self) -> Value {
        self.network.report()
    }
}
