//! What a batch simulation found: when every job started and ended.

use odonata_units::NodeId;

use super::options::Share;
use crate::Seconds;
use crate::log::{JobLog, Status};

/// What became of a job in the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ran to its end.
    Finished,
    /// It was killed when its requested time was over.
    Killed,
    /// It never ran: why.
    Refused(String),
}

/// How a job came to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// As the first of the queue.
    InOrder,
    /// While a job before it in the queue waited.
    Backfilled,
    /// On nodes reserved for its user.
    InReservation,
}

/// One job of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which job of the log.
    pub job: u32,
    /// When it came to the queue.
    pub arrival: Seconds,
    /// Nodes (or processors, where the machine is shared by them) it was scheduled
    /// with.
    pub nodes: u32,
    /// When it started; `None` if it was refused.
    pub start: Option<Seconds>,
    /// When it ended.
    pub end: Option<Seconds>,
    /// What became of it.
    pub fate: Fate,
    /// How it started.
    pub started: Option<Started>,
    /// The start that the first reservation it got promised, where it got one.
    pub promised: Option<Seconds>,
    /// Its nodes, where the machine tells them apart.
    pub placed: Option<Vec<NodeId>>,
    /// Its groups and the nodes in each, where the machine tells groups apart.
    pub groups: Option<Vec<(u32, u32)>>,
    /// How it was spread over groups, where the machine knows them.
    pub spread: Option<GroupSpread>,
}

/// How a job is spread over the groups of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSpread {
    /// Groups in which it has nodes.
    pub groups: u32,
    /// Groups that it would need at least, on an idle machine.
    pub least: u32,
}

impl GroupSpread {
    /// Fragmentation: groups it has over groups it needs, 1 at best.
    pub fn fragmentation(self) -> f64 {
        f64::from(self.groups) / f64::from(self.least)
    }
}

/// How few groups of a machine hold how many nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// Nodes of the largest group, of the two largest, and so on.
    largest: Vec<u32>,
}

impl Groups {
    pub(super) fn new(mut sizes: Vec<u32>) -> Self {
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |sum: &mut u32, size| {
            *sum = sum.saturating_add(size);
            Some(*sum)
        };
        Self {
            largest: sizes.into_iter().scan(0, sum).collect(),
        }
    }

    /// How a job with this many nodes is spread that has `groups` groups.
    pub(super) fn spread(&self, nodes: u32, groups: u32) -> Option<GroupSpread> {
        let least = self.largest.partition_point(|&held| held < nodes) as u32 + 1;
        let known = !self.largest.is_empty() && groups > 0;
        known.then_some(GroupSpread { groups, least })
    }
}

impl Row {
    /// How long it waited.
    pub fn wait(&self) -> Option<Seconds> {
        self.start.map(|start| start - self.arrival)
    }

    /// How long it ran.
    pub fn run(&self) -> Option<Seconds> {
        Some(self.end? - self.start?)
    }
}

/// A simulated schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// One row per job of the log, in its order.
    pub rows: Vec<Row>,
    /// Nodes (or processors) of the machine.
    pub machine: u32,
    /// Times that the scheduler looked at the queue.
    pub passes: u64,
    /// Reservations that could not be kept because jobs outlived their estimates.
    pub broken_promises: u64,
}

impl Schedule {
    /// The schedule that a log recorded on a machine of `machine` nodes, or processors
    /// where they are shared: what jobs really did, to be compared with a simulated one.
    pub fn recorded(log: &JobLog, machine: u32, share: Share) -> Self {
        let row = |(index, job): (usize, &crate::log::Job)| {
            let unknown = || Fate::Refused("the log does not say when it started".to_owned());
            Row {
                job: index as u32,
                arrival: job.submit,
                nodes: share.asked(job),
                start: job.start,
                end: job.start.map(|start| start + job.run),
                fate: job.start.map_or_else(unknown, |_| match job.status {
                    Status::Timeout => Fate::Killed,
                    _ => Fate::Finished,
                }),
                started: None,
                promised: None,
                placed: None,
                groups: None,
                spread: None,
            }
        };
        Self {
            rows: log.jobs.iter().enumerate().map(row).collect(),
            machine,
            passes: 0,
            broken_promises: 0,
        }
    }
}
