//! A machine of which links, routers and nodes fail and work again during a schedule.

use std::collections::{BTreeMap, BTreeSet};

use odonata_network::Topology;
use odonata_network::topology::Timeline;
use odonata_scheduler::Seconds;
use odonata_scheduler::log::JobLog;
use odonata_scheduler::outages::Outage;
use odonata_units::{NodeId, Picoseconds};

use crate::error::SpecError;
use crate::spec::{Network, Scenario};
use crate::topology::{timeline, whole_of};

const SECOND_PS: u64 = 1_000_000_000_000;

/// What works of a network as a schedule goes on. A schedule counts in seconds: what is drawn to
/// change within one changes at its end.
pub(crate) struct NetworkChanges {
    whole: Topology,
    timeline: Timeline,
    /// Seconds after the first submission at which something changes, ascending.
    times: Vec<u64>,
    /// How many of these have been taken in.
    taken: usize,
    first: Seconds,
}

impl NetworkChanges {
    /// What the failures of a network change; `None` if it stays as it is.
    ///
    /// # Errors
    /// If something fails that there is not, or at a time of no whole seconds.
    pub fn new(network: &Network, log: &JobLog) -> Result<Option<Self>, SpecError> {
        if !network.failures.change_network() {
            return Ok(None);
        }
        network.failures.check_schedule()?;
        let mut scenario = Scenario::new(network.clone());
        if network.failures.draws_over_time() {
            let listed = network.failures.latest_time().saturating_add(1);
            let until = (longest(log) as u64).saturating_mul(SECOND_PS);
            let many = network.failures.time_of_many(&whole_of(&scenario)?);
            scenario.simulation.duration_ps = Some(until.max(listed).max(many));
        }
        let Some((whole, timeline)) = timeline(&scenario)? else {
            return Ok(None);
        };
        let times = timeline
            .times()
            .into_iter()
            .map(|time| time.0.div_ceil(SECOND_PS));
        let times: BTreeSet<u64> = times.filter(|&time| time > 0).collect();
        let first = log.jobs.iter().map(|job| job.submit).min();
        let changes = Self {
            whole,
            timeline,
            times: times.into_iter().collect(),
            taken: 0,
            first: first.unwrap_or(Seconds::ZERO),
        };
        Ok(Some(changes))
    }

    /// What works this many seconds after the first submission.
    fn after(&self, seconds: u64) -> Result<Topology, SpecError> {
        let time = Picoseconds(seconds.saturating_mul(SECOND_PS));
        let left = self.timeline.left(&self.whole, time);
        left.map_err(|error| {
            SpecError::new(
                "failures",
                format!("from {seconds} s on: {}", error.message),
            )
        })
    }

    /// What works at the start.
    ///
    /// # Errors
    /// If that is nothing.
    pub fn start(&self) -> Result<Topology, SpecError> {
        self.after(0)
    }

    /// When something changes next.
    pub fn next(&self) -> Option<Seconds> {
        let next = self.times.get(self.taken)?;
        Some(Seconds(self.first.0.saturating_add(*next as i64)))
    }

    /// What works at `now`, after all that changes until then; `None` if no node does, so that no job
    /// runs.
    ///
    /// # Errors
    /// If links of too many bandwidths are left.
    pub fn take(&mut self, now: Seconds) -> Result<Option<Topology>, SpecError> {
        let passed = (now - self.first).0.max(0) as u64;
        self.taken = self.times.partition_point(|&time| time <= passed);
        match self.is_over(passed) {
            true => Ok(None),
            false => self.after(passed).map(Some),
        }
    }

    fn is_over(&self, seconds: u64) -> bool {
        let time = Picoseconds(seconds.saturating_mul(SECOND_PS));
        self.timeline.is_over(&self.whole, time)
    }

    /// The nodes that are out of service for a part of the schedule, by themselves, with their router,
    /// or without a way to the others.
    ///
    /// # Errors
    /// If nothing works at the start.
    pub fn outages(&self) -> Result<Vec<Outage>, SpecError> {
        let always: BTreeSet<NodeId> = self.start()?.lost_nodes().collect();
        let mut out_since: BTreeMap<NodeId, u64> = BTreeMap::new();
        // Nodes that are out together, by when.
        let mut found: BTreeMap<(u64, Option<u64>), Vec<NodeId>> = BTreeMap::new();
        for &time in &self.times {
            let lost: BTreeSet<NodeId> = match self.is_over(time) {
                true => (0..self.whole.nodes()).map(NodeId::from_index).collect(),
                false => self.after(time)?.lost_nodes().collect(),
            };
            out_since.retain(|&node, &mut since| {
                let is_back = !lost.contains(&node);
                if is_back {
                    found.entry((since, Some(time))).or_default().push(node);
                }
                !is_back
            });
            for &node in lost.difference(&always) {
                out_since.entry(node).or_insert(time);
            }
        }
        for (node, since) in out_since {
            found.entry((since, None)).or_default().push(node);
        }
        let at = |seconds: u64| Seconds(self.first.0.saturating_add(seconds as i64));
        let outage = |((since, until), nodes): ((u64, Option<u64>), _)| Outage {
            nodes,
            at: at(since),
            until: until.map(at),
        };
        Ok(found.into_iter().map(outage).collect())
    }
}

/// Seconds from the first submission in which the jobs of a log are over if they run one after the
/// other as they did. What is drawn over time is drawn for as long, or until much has failed.
fn longest(log: &JobLog) -> i64 {
    let submits = log.jobs.iter().map(|job| job.submit.0);
    let (first, last) = (
        submits.clone().min().unwrap_or(0),
        submits.max().unwrap_or(0),
    );
    let runs = log.jobs.iter().map(|job| job.run.0.max(1));
    runs.fold(last.saturating_sub(first), i64::saturating_add)
}
