//! Placement on clusters in use, for Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use odonata::batch;
use pyo3::prelude::*;

use crate::guard::{computing, computing_apart};

/// A cluster's wiring and how jobs are placed on it.
#[pyclass(frozen, module = "odonata._engine")]
pub struct ClusterPlacement(batch::ClusterPlacement);

/// What starts: job, nodes, groups of its own, whether it overtakes.
type Given = (u32, Vec<u32>, Vec<u32>, bool);
/// What waits: job, promised start, whether it can never start, why.
type Kept = (u32, Option<i64>, bool, String);

#[pymethods]
impl ClusterPlacement {
    #[new]
    #[pyo3(signature = (router_of_node, group_of_router, policy="grap", mode="adaptive", seed=1))]
    fn new(
        py: Python<'_>,
        router_of_node: Vec<u32>,
        group_of_router: Vec<u32>,
        policy: &str,
        mode: &str,
        seed: u64,
    ) -> PyResult<Self> {
        computing(py, |_| {
            batch::ClusterPlacement::new(router_of_node, group_of_router, policy, mode, seed)
        })
        .map(Self)
    }

    /// Looks at a queue once.
    #[pyo3(signature = (*, now, out, holders, queue, sets, withheld, depth))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn decide(
        &self,
        py: Python<'_>,
        now: i64,
        out: Vec<u32>,
        holders: Vec<(i64, Vec<u32>)>,
        queue: Vec<(u32, i64, Option<usize>, u64)>,
        sets: Vec<Vec<u32>>,
        withheld: Vec<(i64, i64, Vec<u32>)>,
        depth: u32,
    ) -> PyResult<(Vec<Given>, Vec<Kept>)> {
        let holder = |(end, nodes)| batch::Holder { end, nodes };
        let waiter = |(nodes, estimate, allowed, stream)| batch::WaitingJob {
            nodes,
            estimate,
            allowed,
            stream,
        };
        let window = |(start, end, nodes)| batch::Withholding { start, end, nodes };
        let state = batch::ClusterState {
            now,
            out,
            holders: holders.into_iter().map(holder).collect(),
            queue: queue.into_iter().map(waiter).collect(),
            sets,
            withheld: withheld.into_iter().map(window).collect(),
            depth,
        };
        let cluster = self.0.clone();
        let (given, kept) = computing_apart(py, move || cluster.decide(&state))?;
        let given = given
            .into_iter()
            .map(|job| (job.job, job.nodes, job.owned, job.backfilled));
        let kept = kept
            .into_iter()
            .map(|job| (job.job, job.promised, job.never, job.reason));
        Ok((given.collect(), kept.collect()))
    }
}

/// Jobs on named nodes of a machine whose links they share as flows.
#[pyclass(frozen, module = "odonata._engine")]
pub struct JobsOnNetwork(Mutex<batch::JobsOnNetwork>);

impl JobsOnNetwork {
    /// A call that broke off leaves a network that refuses what it cannot do.
    fn network(&self) -> MutexGuard<'_, batch::JobsOnNetwork> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl JobsOnNetwork {
    #[new]
    #[pyo3(signature = (spec_json, sizes, *, owned))]
    fn new(py: Python<'_>, spec_json: &str, sizes: Vec<u32>, owned: bool) -> PyResult<Self> {
        computing(py, |_| {
            let spec = batch::NetworkSpec::from_json(spec_json)?;
            batch::JobsOnNetwork::new(&spec, &sizes, owned)
        })
        .map(|network| Self(Mutex::new(network)))
    }

    /// Nodes of every group of the machine.
    fn nodes_of_group(&self) -> Vec<Vec<u32>> {
        self.network().nodes_of_group().to_vec()
    }

    /// A job begins.
    #[pyo3(signature = (job, nodes, *, shares))]
    fn begin(&self, py: Python<'_>, job: u32, nodes: Vec<u32>, shares: bool) -> PyResult<f64> {
        computing(py, |_| self.network().begin(job, &nodes, shares))
    }

    /// A job ends.
    fn end(&self, py: Python<'_>, job: u32) -> PyResult<()> {
        computing(py, |_| self.network().end(job))
    }

    /// Jobs with new speeds.
    fn settle(&self, py: Python<'_>) -> PyResult<Vec<(u32, f64)>> {
        computing(py, |_| self.network().settle())
    }
}

/// Names of the policies by which [`ClusterPlacement`] places, with a line on each.
pub fn policies() -> Vec<(String, String)> {
    let entries = odonata::entries::<batch::ClusterPolicy>();
    entries
        .into_iter()
        .map(|entry| (entry.name.to_string(), entry.text.to_string()))
        .collect()
}
