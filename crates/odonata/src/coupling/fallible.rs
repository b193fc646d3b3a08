//! A network of which anything may fail, behind the scheduler's trait, which asks only
//! when jobs settle.

use std::collections::BTreeMap;

use odonata_network::Topology;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Allocation, Network};
use odonata_units::NodeId;
use serde_json::Value;

use super::changes::NetworkChanges;
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
    /// The network is this one from now on: nodes of running jobs are in it.
    fn rewire(&mut self, network: Topology) -> Result<(), String>;
    /// Whose speed has changed since the last time, and to what.
    fn settle(&mut self, changed: &mut Vec<(u32, f64)>) -> Result<(), String>;
    /// The speed of a running job if no other ran.
    fn speed_alone(&self, job: u32) -> f64;
    /// As [`Level::report`].
    fn report(&self) -> Value;
}

/// Keeps the first failure since the last settling, and tells it there.
pub(super) struct FirstFailure<N> {
    network: N,
    /// What becomes of the network itself.
    changes: Option<NetworkChanges>,
    failure: Option<String>,
    /// Speeds of running jobs that are not 1.
    speeds: BTreeMap<u32, f64>,
    /// New speeds of which the scheduler does not know yet.
    pending: BTreeMap<u32, f64>,
    /// Kept for its memory.
    changed: Vec<(u32, f64)>,
}

impl<N> FirstFailure<N> {
    pub(super) fn of(network: N, changes: Option<NetworkChanges>) -> Self {
        Self {
            network,
            changes,
            failure: None,
            speeds: BTreeMap::new(),
            pending: BTreeMap::new(),
            changed: Vec::new(),
        }
    }

    fn speed(&self, job: u32) -> f64 {
        self.speeds.get(&job).copied().unwrap_or(1.0)
    }

    fn keep<T: Default>(&mut self, result: Result<T, String>) -> T {
        result.unwrap_or_else(|reason| {
            self.failure.get_or_insert(reason);
            T::default()
        })
    }
}

impl<N: FallibleNetwork> FirstFailure<N> {
    /// Brings speeds up to date.
    fn bring_up_to_date(&mut self) -> Result<(), String> {
        self.network.settle(&mut self.changed)?;
        for (job, speed) in self.changed.drain(..) {
            self.speeds.insert(job, speed);
            self.pending.insert(job, speed);
        }
        Ok(())
    }

    /// As [`Network::loss`]: the job begins, and is taken away again.
    fn tried(&mut self, job: u32, allocation: &Allocation<'_>) -> Result<f64, String> {
        self.bring_up_to_date()?;
        self.network.begin(job, allocation)?;
        self.network.settle(&mut self.changed)?;
        let nodes = |network: &N, job| network.allotment().of(job).len() as f64;
        let own = nodes(&self.network, job);
        let alone = self.network.speed_alone(job);
        let (mut speed, mut lost) = (1.0, 0.0);
        for (other, then) in std::mem::take(&mut self.changed) {
            match other == job {
                true => speed = then,
                false => lost += nodes(&self.network, other) * (self.speed(other) - then),
            }
        }
        lost += own * (alone - speed);
        self.network.end(job)?;
        self.bring_up_to_date()?;
        Ok(lost / (own * alone))
    }
}

impl<N: FallibleNetwork> Network for FirstFailure<N> {
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        let delay = self.network.begin(job, allocation);
        self.keep(delay)
    }

    fn loss(&mut self, job: u32, allocation: &Allocation<'_>) -> f64 {
        let lost = self.tried(job, allocation);
        self.keep(lost)
    }

    fn end(&mut self, job: u32, _: Seconds) {
        self.speeds.remove(&job);
        self.pending.remove(&job);
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

    fn next_change(&self) -> Option<Seconds> {
        self.changes.as_ref()?.next()
    }

    fn change(&mut self, now: Seconds) {
        let Some(changes) = &mut self.changes else {
            return;
        };
        let left = changes.take(now).map_err(|error| error.to_string());
        let rewired = left.and_then(|left| left.map_or(Ok(()), |left| self.network.rewire(left)));
        self.keep(
            rewired.map_err(|reason| format!("as parts of the network fail at {now}: {reason}")),
        );
    }

    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => {
                self.bring_up_to_date()?;
                changed.extend(std::mem::take(&mut self.pending));
                Ok(())
            }
        }
    }
}

impl<N: FallibleNetwork> Level for FirstFailure<N> {
    fn report(&self) -> Value {
        self.network.report()
    }
}
