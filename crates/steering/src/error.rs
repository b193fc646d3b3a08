//! What can be wrong with steering.

use odonata_units::GroupId;
use thiserror::Error;

/// Why there are no circuits for a job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SteeringError {
    /// A group is listed twice or does not exist.
    #[error("group {group} is {flaw}; list groups 0 to {last} once each")]
    Group {
        /// The group.
        group: GroupId,
        /// What is wrong with it.
        flaw: &'static str,
        /// The machine's last group.
        last: u32,
    },
    /// More groups than few links can connect.
    #[error(
        "{links} global links per group cannot connect {groups} groups by circuits of their own; \
         {}", match .failed {
            false => "a machine needs at least 2 per group",
            true => "uplinks, optical switches or circuits that have failed are not used",
        }
    )]
    TooFewLinks {
        /// Links of a group.
        links: u32,
        /// Groups of the job.
        groups: usize,
        /// Whether some of the links have failed.
        failed: bool,
    },
    /// A demand of another number of groups.
    #[error("the demand is of {found} groups, the job has {expected}")]
    Demand {
        /// Groups of the demand.
        found: usize,
        /// Groups of the job.
        expected: usize,
    },
}
