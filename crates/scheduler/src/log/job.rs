//! Jobs as logs record them.

use std::collections::HashMap;

use odonata_declare::Named;

use super::request::Request;
use crate::Seconds;

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// The log does not say.
    Unknown,
    /// It ran to its end.
    Completed,
    /// It ended with an error of its own.
    Failed,
    /// A person ended it, or took it from the queue.
    Cancelled,
    /// It was killed at its time limit.
    Timeout,
    /// It was killed for its memory.
    OutOfMemory,
    /// A node under it failed.
    NodeFail,
    /// It was stopped in favour of another job.
    Preempted,
    /// This run of it was broken off and it was put into the queue again.
    Requeued,
}

impl Status {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Timeout,
        Self::OutOfMemory,
        Self::NodeFail,
        Self::Preempted,
        Self::Requeued,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::OutOfMemory => "out-of-memory",
            Self::NodeFail => "node-fail",
            Self::Preempted => "preempted",
            Self::Requeued => "requeued",
        }
    }
}

/// A text of a log that many jobs share, such as the name of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

impl Label {
    /// The log does not say.
    pub const NONE: Self = Self(u32::MAX);

    /// Its number in [`Names::texts`], `None` for [`Label::NONE`].
    pub fn index(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

/// The texts behind [`Label`]s, each once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    /// The label of `text`; an empty one is [`Label::NONE`].
    pub fn label(&mut self, text: &str) -> Label {
        if text.is_empty() {
            return Label::NONE;
        }
        if let Some(&number) = self.numbers.get(text) {
            return Label(number);
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        Label(number)
    }

    /// The text of a label.
    pub fn text(&self, label: Label) -> Option<&str> {
        label.index().map(|index| &*self.texts[index])
    }

    /// The label of a text that occurs in the log.
    pub fn find(&self, text: &str) -> Option<Label> {
        self.numbers.get(text).map(|&number| Label(number))
    }

    /// All texts; label number `i` is entry `i`.
    pub fn texts(&self) -> &[Box<str>] {
        &self.texts
    }
}

/// One job of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its id in the log.
    pub id: Box<str>,
    /// When it was submitted.
    pub submit: Seconds,
    /// From when on it could have started, where the log says so (Slurm: after
    /// its dependencies).
    pub eligible: Option<Seconds>,
    /// When it was started, where the log says so.
    pub start: Option<Seconds>,
    /// How long it ran.
    pub run: Seconds,
    /// The run time its user asked for.
    pub requested: Option<Seconds>,
    /// Nodes it is scheduled with: those requested, or where that is unknown those
    /// it had; from processors by [`super::ReadOptions::processors_per_node`].
    pub nodes: u32,
    /// Processors (cores) it had.
    pub processors: Option<u32>,
    /// Processors it asked for.
    pub requested_processors: Option<u32>,
    /// Mean CPU time per processor, seconds.
    pub cpu_seconds: Option<f64>,
    /// Memory per processor it used, kB.
    pub memory_kb: Option<f64>,
    /// Memory per processor it asked for, kB.
    pub requested_memory_kb: Option<f64>,
    /// What became of it.
    pub status: Status,
    /// Who submitted it.
    pub user: Label,
    /// Unix group of the user.
    pub group: Label,
    /// Account (project) that paid.
    pub account: Label,
    /// Executable, or name of the job.
    pub application: Label,
    /// Queue (Slurm: quality of service).
    pub queue: Label,
    /// Partition.
    pub partition: Label,
    /// Id of the job that had to end first.
    pub preceding: Option<Box<str>>,
    /// Time between that job's end and this one's submission.
    pub think: Option<Seconds>,
    /// The nodes it had, as the log writes them.
    pub node_list: Option<Box<str>>,
    /// Share of the run time spent in communication.
    pub communication_share: Option<f64>,
    /// What it asked Slurm for, where the log says so.
    pub request: Option<Box<Request>>,
}

impl Job {
    /// GPUs of each of its nodes that it asked for (Slurm's `--gres=gpu:4`, `--gpus`), if the log says so.
    pub fn gpus_per_node(&self) -> Option<u64> {
        let asked = self.request.as_ref()?.gres.iter();
        let gpus = asked.filter(|one| *one.name == *"gpu");
        Some(gpus.map(|one| one.count).sum()).filter(|&count| count > 0)
    }

    /// A job of which nothing is known but when it came, how long it ran and on
    /// how many nodes.
    pub fn new(id: impl Into<Box<str>>, submit: Seconds, run: Seconds, nodes: u32) -> Self {
        Self {
            id: id.into(),
            submit,
            eligible: None,
            start: None,
            run,
            requested: None,
            nodes,
            processors: None,
            requested_processors: None,
            cpu_seconds: None,
            memory_kb: None,
            requested_memory_kb: None,
            status: Status::Unknown,
            user: Label::NONE,
            group: Label::NONE,
            account: Label::NONE,
            application: Label::NONE,
            queue: Label::NONE,
            partition: Label::NONE,
            preceding: None,
            think: None,
            node_list: None,
            communication_share: None,
            request: None,
        }
    }
}

/// What a log counts the sizes of jobs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum Unit {
    /// Whole nodes.
    #[default]
    Nodes,
    /// Processors (cores).
    Processors,
}

/// A job log: jobs in order of submission, and what the log says of itself.
#[derive(Clone, Debug, Default)]
pub struct JobLog {
    /// Jobs by time of submission; those of one second in the order of the file.
    pub jobs: Vec<Job>,
    /// Texts of the jobs' labels.
    pub names: Names,
    /// Unix time of second 0, where known; 0 if the log's times are Unix times.
    pub epoch: Option<i64>,
    /// Nodes of the machine, where the log says so.
    pub machine_nodes: Option<u32>,
    /// Processors of the machine, where the log says so.
    pub machine_processors: Option<u32>,
    /// What it counts sizes in.
    pub unit: Unit,
    /// How that is known, in words.
    pub unit_because: String,
    /// Processors of a node, where it counts processors and that is known.
    pub processors_per_node: Option<u32>,
    /// What the log's header says, in its order.
    pub header: Vec<(String, String)>,
}

impl JobLog {
    /// Processors that a job asked for, or where that is unknown had, or those of its nodes.
    pub fn processors_of(&self, job: &Job) -> u32 {
        let counted = job
            .requested_processors
            .or(job.processors)
            .filter(|&count| count > 0);
        let per_node = self.processors_per_node.unwrap_or(1);
        counted.unwrap_or_else(|| job.nodes.saturating_mul(per_node))
    }

    /// Time between the first submission and the last.
    pub fn span(&self) -> Seconds {
        match (self.jobs.first(), self.jobs.last()) {
            (Some(first), Some(last)) => last.submit - first.submit,
            _ => Seconds::ZERO,
        }
    }

    /// Nodes times run time of all jobs, node-seconds.
    pub fn work(&self) -> f64 {
        let work = |job: &Job| f64::from(job.nodes) * job.run.0 as f64;
        self.jobs.iter().map(work).sum()
    }

    /// The first value of a header key.
    pub fn header_value(&self, key: &str) -> Option<&str> {
        let found = self.header.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }
}
