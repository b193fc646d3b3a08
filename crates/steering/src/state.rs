//! The switches of a machine, and which job owns the links of which groups.

use std::collections::BTreeMap;

use odonata_network::topology::Circuits;
use odonata_units::{GroupId, JobId};

use crate::change::Change;
use crate::demand::Demand;
use crate::principles::{Violation, check_connected, check_untouched, ports_of};
use crate::strategy::{Strategy, circuits_for};

/// The configuration of a machine's switches. Whatever is set keeps both principles:
/// an order that would break one is refused, and nothing changes.
///
/// Circuits of a job that has ended stay as they are until their ends are needed:
/// taking them down would be work for nothing.
#[derive(Clone, Debug)]
pub struct Steering {
    circuits: Circuits,
    /// Shape: groups.
    owners: Vec<Option<JobId>>,
    jobs: BTreeMap<JobId, Vec<GroupId>>,
}

impl Steering {
    /// On switches without circuits, of which what has failed is not used.
    pub fn new(usable: Circuits) -> Self {
        Self {
            owners: vec![None; usable.switches().groups() as usize],
            circuits: usable,
            jobs: BTreeMap::new(),
        }
    }

    /// The circuits that are set.
    pub fn circuits(&self) -> &Circuits {
        &self.circuits
    }

    /// The job that owns a group's links.
    pub fn owner(&self, group: GroupId) -> Option<JobId> {
        self.owners.get(group.index()).copied().flatten()
    }

    /// Gives all links of `groups` to a job and sets circuits between them; a small job
    /// has no groups and changes nothing. Tells what changes.
    ///
    /// # Errors
    /// If a group's links are another job's, or there are no circuits for the job.
    pub fn allocate(
        &mut self,
        job: JobId,
        groups: &[GroupId],
        strategy: Strategy,
        demand: Option<&Demand>,
    ) -> Result<Change, Violation> {
        if self.jobs.contains_key(&job) {
            return Err(Violation::Running { job });
        }
        for &group in groups {
            if let Some(owner) = self.owner(group) {
                return Err(Violation::Owned { group, owner });
            }
        }
        let switches = self.circuits.switches();
        let wanted = circuits_for(&self.circuits, groups, strategy, demand)?;
        let mut after = self.circuits.clone();
        for &group in groups {
            for port in ports_of(switches, group) {
                after.disconnect(port)?;
            }
        }
        for circuit in wanted {
            after.connect(circuit.from, circuit.to)?;
        }
        // The far ends of circuits that earlier jobs left may go dark, if nobody runs there.
        check_untouched(&self.circuits, &after, |group| self.owner(group).is_none())?;
        check_connected(&after, groups)?;
        let change = Change::between(&self.circuits, &after);
        self.circuits = after;
        for &group in groups {
            self.owners[group.index()] = Some(job);
        }
        self.jobs.insert(job, groups.to_vec());
        Ok(change)
    }

    /// Takes the links back from a job; its groups, or `None` if it has none.
    pub fn release(&mut self, job: JobId) -> Option<Vec<GroupId>> {
        let groups = self.jobs.remove(&job)?;
        for &group in &groups {
            self.owners[group.index()] = None;
        }
        Some(groups)
    }

    /// Checks the whole configuration: every job's groups are connected by circuits of
    /// their own, and none of their circuits leads to anyone else's.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        for (&job, groups) in &self.jobs {
            check_connected(&self.circuits, groups)?;
            let ports = groups
                .iter()
                .flat_map(|&group| ports_of(self.circuits.switches(), group));
            for port in ports {
                if let Some(peer) = self.circuits.peer(port)
                    && self.owner(peer.group) != Some(job)
                {
                    return Err(Violation::Foreign { job, port, peer });
                }
            }
        }
        Ok(())
    }
}
