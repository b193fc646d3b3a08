//! The principles of steering: whose circuits may be what, and what breaks that.

use std::collections::BTreeMap;

use odonata_network::topology::{CircuitError, Circuits, OpticalSwitches, SwitchPort};
use odonata_units::{GroupId, JobId};
use thiserror::Error;

use crate::error::SteeringError;

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

/// The ports of a group.
pub(crate) fn ports_of(
    switches: OpticalSwitches,
    group: GroupId,
) -> impl Iterator<Item = SwitchPort> {
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
