//! The switches of a machine, and which job owns the links of which groups.

use std::collections::BTreeMap;

use odonata_network::topology::{CircuitError, Circuits, OpticalSwitches, SwitchPort};
use odonata_units::{GroupId, JobId};
use thiserror::Error;

use crate::change::Change;
use crate::demand::Demand;
use crate::strategy::{SteeringError, Strategy, circuits_for};

/// A rule that a configuration breaks, or an order that would break one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A job's groups are not connected by circuits between them.
    #[error("group {group} cannot be reached from group {from} by circuits of the job's own")]
    Disconnected {
        /// A group that is reached.
        from: GroupId,
        /// The first that is not.
        group: GroupId,
    },
    /// A circuit of a group that was not to be touched has changed.
    #[error("{port} has changed, though its group belongs to another job or to none")]
    Touched {
        /// The port.
        port: SwitchPort,
    },
    /// A circuit leads out of a job's groups.
    #[error("a circuit joins {port} of job {job} to {peer}, which is not the job's")]
    Foreign {
        /// The job.
        job: JobId,
        /// Its port.
        port: SwitchPort,
        /// The other end.
        peer: SwitchPort,
    },
    /// A group is to belong to two jobs.
    #[error("the links of group {group} belong to job {owner}")]
    Owned {
        /// The group.
        group: GroupId,
        /// Who has them.
        owner: JobId,
    },
    /// A job is to get links twice.
    #[error("job {job} owns links already; release them first")]
    Running {
        /// The job.
        job: JobId,
    },
    /// There are no circuits for the job.
    #[error(transparent)]
    Steering(#[from] SteeringError),
    /// A circuit cannot be set.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
}

fn ports_of(switches: OpticalSwitches, group: GroupId) -> impl Iterator<Item = SwitchPort> {
    (0..switches.links()).map(move |link| SwitchPort { group, link })
}

/// Checks that circuits between `groups` connect them all, so that a job on them needs
/// nobody else's links (principle 2).
///
/// # Errors
/// The first group that is not reached from the first one.
pub fn check_connected(circuits: &Circuits, groups: &[GroupId]) -> Result<(), Violation> {
    let Some(&from) = groups.first() else {
        return Ok(());
    };
    let mut reached: BTreeMap<GroupId, bool> = groups.iter().map(|&group| (group, false)).collect();
    reached.insert(from, true);
    let mut waiting = vec![from];
    while let Some(group) = waiting.pop() {
        for port in ports_of(circuits.switches(), group) {
            let Some(peer) = circuits.peer(port) else {
                continue;
            };
            if let Some(reached) = reached.get_mut(&peer.group)
                && !std::mem::replace(reached, true)
            {
                waiting.push(peer.group);
            }
        }
    }
    match reached.into_iter().find(|&(_, reached)| !reached) {
        Some((group, _)) => Err(Violation::Disconnected { from, group }),
        None => Ok(()),
    }
}

/// Checks that the circuits of groups that `may_change` does not name are as before
/// (principle 1).
///
/// # Errors
/// The first port that leads elsewhere.
pub fn check_untouched(
    before: &Circuits,
    after: &Circuits,
    may_change: impl Fn(GroupId) -> bool,
) -> Result<(), Violation> {
    let switches = after.switches();
    let groups = (0..switches.groups()).map(GroupId);
    let ports = groups
        .filter(|&group| !may_change(group))
        .flat_map(|group| ports_of(switches, group));
    for port in ports {
        if before.peer(port) != after.peer(port) {
            return Err(Violation::Touched { port });
        }
    }
    Ok(())
}

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
    /// All switches dark.
    pub fn new(switches: OpticalSwitches) -> Self {
        Self {
            circuits: Circuits::dark(switches),
            owners: vec![None; switches.groups() as usize],
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
        let wanted = circuits_for(switches, groups, strategy, demand)?;
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
