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
    /// A node of it failed, and it did not run again: why.
    NodeFail(String),
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

/// A run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it started.
    pub start: Seconds,
    /// When it ended.
    pub end: Seconds,
    /// Nodes (or processors) that it had.
    pub nodes: u32,
}

/// A run of a job that ended with one of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRun {
    /// When.
    pub run: Run,
    /// Its nodes.
    pub placed: Vec<NodeId>,
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
    /// How long after it first could have started it did, if it was held as the network was busy.
    pub held: Option<Seconds>,
    /// Runs after which it was put back into the queue.
    pub lost: Vec<LostRun>,
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
    /// A job that has come, or is refused.
    pub(crate) fn new(job: u32, arrival: Seconds, nodes: u32, fate: Fate) -> Self {
        Self {
            job,
            arrival,
            nodes,
            start: None,
            end: None,
            fate,
            started: None,
            promised: None,
            placed: None,
            groups: None,
            spread: None,
            held: None,
            lost: Vec::new(),
        }
    }

    /// How long it waited, in all.
    pub fn wait(&self) -> Option<Seconds> {
        Some(self.start? - self.arrival - self.lost_time())
    }

    /// How long it ran in vain before it was put back into the queue.
    pub fn lost_time(&self) -> Seconds {
        let runs = self.lost.iter().map(|lost| lost.run.end - lost.run.start);
        runs.fold(Seconds::ZERO, |sum, run| sum + run)
    }

    /// All its runs, the last one of which it may have ended with.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let last = self.start.zip(self.end).map(|(start, end)| Run {
            start,
            end,
            nodes: self.nodes,
        });
        self.lost.iter().map(|lost| lost.run).chain(last)
    }

    /// From when to when it waited before each of its runs.
    pub fn waits(&self) -> impl Iterator<Item = (Seconds, Seconds)> + '_ {
        let mut since = self.arrival;
        self.runs()
            .map(move |run| (std::mem::replace(&mut since, run.end), run.start))
    }

    /// Node-seconds of runs that came to nothing.
    pub fn lost_node_seconds(&self) -> f64 {
        let all = self.runs().count();
        let in_vain = match self.fate {
            Fate::NodeFail(_) => all,
            _ => self.lost.len(),
        };
        let of = |run: Run| f64::from(run.nodes) * (run.end - run.start).0 as f64;
        self.runs().take(in_vain).map(of).sum()
    }

    /// A node of it fails while it runs.
    pub(crate) fn lose(&mut self, now: Seconds) {
        if let Some(start) = self.start.take() {
            let run = Run {
                start,
                end: now,
                nodes: self.nodes,
            };
            let placed = self.placed.take().unwrap_or_default();
            self.lost.push(LostRun { run, placed });
        }
        (self.end, self.started) = (None, None);
        (self.groups, self.spread) = (None, None);
    }

    /// It does not run any more, if it ever did: why.
    pub(crate) fn give_up(&mut self, reason: String) {
        match self.lost.pop() {
            Some(last) => {
                let LostRun { run, placed } = last;
                (self.start, self.end, self.nodes) = (Some(run.start), Some(run.end), run.nodes);
                self.placed = Some(placed);
                self.fate = Fate::NodeFail(reason);
            }
            None => self.fate = Fate::Refused(reason),
        }
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
    /// Reservations that could not be kept because jobs outlived their estimates or nodes failed.
    pub broken_promises: u64,
    /// Where nodes can fail: how many (or how many processors) are out of service, from when on.
    pub out: Option<Vec<(Seconds, u32)>>,
}

impl Schedule {
    /// The schedule that a log recorded on a machine of `machine` nodes, or processors
    /// where they are shared: what jobs really did, to be compared with a simulated one.
    pub fn recorded(log: &JobLog, machine: u32, share: Share) -> Self {
        let row = |(index, job): (usize, &crate::log::Job)| {
            let unknown = || Fate::Refused("the log does not say when it started".to_owned());
            let fate = job.start.map_or_else(unknown, |_| match job.status {
                Status::Timeout => Fate::Killed,
                _ => Fate::Finished,
            });
            Row {
                start: job.start,
                end: job.start.map(|start| start + job.run),
                ..Row::new(index as u32, job.submit, share.asked(job), fate)
            }
        };
        Self {
            rows: log.jobs.iter().enumerate().map(row).collect(),
            machine,
            passes: 0,
            broken_promises: 0,
            out: None,
        }
    }
}
