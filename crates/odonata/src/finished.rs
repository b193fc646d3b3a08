//! A finished run.

use odonata_network::Topology;
use odonata_run::Outcome;

use crate::cost::Cost;
use crate::jobs::PlannedJob;
use crate::skip::Skipped;
use crate::spec::Scenario;
use crate::steady::JobStatistics;

/// A finished run: what was simulated, what was measured, what it cost.
pub struct Run {
    /// The scenario.
    pub scenario: Scenario,
    /// Its network.
    pub topology: Topology,
    /// Virtual channels per link that its routing uses.
    pub virtual_channels: u8,
    /// Its jobs with their nodes.
    pub jobs: Vec<PlannedJob>,
    /// What was measured.
    pub outcome: Outcome,
    /// How sure the means of jobs with traffic are.
    pub statistics: Vec<JobStatistics>,
    /// Whether the end of the warm-up was found, where it was looked for. If not,
    /// half of the duration is the warm-up.
    pub warmup_found: Option<bool>,
    /// Whether the run ended because its means were precise enough, where that was
    /// asked for. If not, it went on for all of its duration.
    pub precise: Option<bool>,
    /// Times that were passed over, where that was asked for, in order; what was measured includes
    /// what they would have brought.
    pub skipped: Vec<Skipped>,
    /// What the simulation cost, without its preparation.
    pub cost: Cost,
}

impl Run {
    /// Simulated time after warm-up, in picoseconds.
    pub fn measured_ps(&self) -> u64 {
        self.outcome.end.0.saturating_sub(self.outcome.warmup.0)
    }

    /// Delivered load after warm-up as a fraction of what the terminal links of
    /// the jobs' nodes could carry.
    pub fn accepted_load(&self) -> f64 {
        let seconds = self.measured_ps() as f64 * 1e-12;
        let capacity: f64 = self
            .jobs
            .iter()
            .flat_map(|job| &job.nodes)
            .map(|node| self.topology.port_of_node[node.index()])
            .map(|port| self.topology.link_class(port).bandwidth.bytes_per_second() as f64)
            .sum();
        let delivered: u64 = self
            .outcome
            .jobs
            .iter()
            .map(|job| job.bytes_delivered_measured)
            .sum();
        if capacity * seconds > 0.0 {
            delivered as f64 / (capacity * seconds)
        } else {
            0.0
        }
    }

    /// Routers visited by the packets of all jobs, on average; NaN without packets.
    pub fn mean_routers_visited(&self) -> f64 {
        let longest = self
            .outcome
            .jobs
            .iter()
            .map(|job| job.routers_visited.len());
        let mut counts = vec![0; longest.max().unwrap_or(0)];
        for job in &self.outcome.jobs {
            for (count, more) in counts.iter_mut().zip(&job.routers_visited) {
                *count += more;
            }
        }
        mean_index(&counts)
    }
}

/// Mean of the indices, weighted by the counts; NaN without counts.
pub(crate) fn mean_index(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let weighted: u128 = (0u128..)
        .zip(counts)
        .map(|(index, &count)| index * u128::from(count))
        .sum();
    if total == 0 {
        f64::NAN
    } else {
        weighted as f64 / total as f64
    }
}
