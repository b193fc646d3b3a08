//! What can be wrong with a record, what is then done, and how often it was.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::error::LogError;
use super::job::Job;
use crate::Seconds;

/// Something about a line or a job of a log that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Bytes that are no UTF-8.
    InvalidUtf8,
    /// A line longer than [`super::MAX_LINE_BYTES`].
    OverlongLine,
    /// A record with too few or too many columns.
    ColumnCount,
    /// A field that should be a number or a time and is none.
    BadValue,
    /// A record split over lines by line breaks inside a field.
    LineBreak,
    /// A submission or run time below 0.
    NegativeTime,
    /// No time of submission.
    NoSubmit,
    /// No run time although the job ran.
    NoRunTime,
    /// No nodes.
    ZeroNodes,
    /// More nodes than the machine has.
    LargerThanMachine,
    /// A job submitted before the one above it.
    Unsorted,
    /// The record of a job that is already there.
    DuplicateId,
    /// Started before it was submitted.
    StartBeforeSubmit,
    /// A list of nodes of another length than the number of nodes.
    NodeListMismatch,
    /// A fraction of a second.
    Fraction,
    /// Ran longer than requested.
    OverRequest,
    /// Ran for 0 seconds.
    ZeroRunTime,
    /// No requested time.
    NoRequest,
    /// Cancelled before it started.
    NeverStarted,
    /// Waiting or running when the log was taken.
    Unfinished,
    /// A run that was broken off and requeued.
    Requeued,
    /// A part of a job that has a record of its own.
    JobStep,
    /// Columns beyond those of the format, of which nothing is read.
    ExtraColumns,
}

/// What is done with a record under a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is left out.
    Dropped,
    /// It is kept, changed.
    Repaired,
    /// It is kept as it is.
    Kept,
}

impl Action {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Repaired => "repaired",
            Self::Kept => "kept",
        }
    }
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::InvalidUtf8,
        Self::OverlongLine,
        Self::ColumnCount,
        Self::BadValue,
        Self::LineBreak,
        Self::NegativeTime,
        Self::NoSubmit,
        Self::NoRunTime,
        Self::ZeroNodes,
        Self::LargerThanMachine,
        Self::Unsorted,
        Self::DuplicateId,
        Self::StartBeforeSubmit,
        Self::NodeListMismatch,
        Self::Fraction,
        Self::OverRequest,
        Self::ZeroRunTime,
        Self::NoRequest,
        Self::NeverStarted,
        Self::Unfinished,
        Self::Requeued,
        Self::JobStep,
        Self::ExtraColumns,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid-utf8",
            Self::OverlongLine => "overlong-line",
            Self::ColumnCount => "column-count",
            Self::BadValue => "bad-value",
            Self::LineBreak => "line-break",
            Self::NegativeTime => "negative-time",
            Self::NoSubmit => "no-submit",
            Self::NoRunTime => "no-run-time",
            Self::ZeroNodes => "zero-nodes",
            Self::LargerThanMachine => "larger-than-machine",
            Self::Unsorted => "unsorted",
            Self::DuplicateId => "duplicate-id",
            Self::StartBeforeSubmit => "start-before-submit",
            Self::NodeListMismatch => "node-list-mismatch",
            Self::Fraction => "fraction",
            Self::OverRequest => "over-request",
            Self::ZeroRunTime => "zero-run-time",
            Self::NoRequest => "no-request",
            Self::NeverStarted => "never-started",
            Self::Unfinished => "unfinished",
            Self::Requeued => "requeued",
            Self::JobStep => "job-step",
            Self::ExtraColumns => "extra-columns",
        }
    }

    /// What is done with the record.
    pub fn action(self) -> Action {
        match self {
            Self::OverlongLine
            | Self::ColumnCount
            | Self::BadValue
            | Self::NegativeTime
            | Self::NoSubmit
            | Self::NoRunTime
            | Self::ZeroNodes
            | Self::DuplicateId
            | Self::NeverStarted
            | Self::Unfinished
            | Self::JobStep => Action::Dropped,
            Self::InvalidUtf8
            | Self::LineBreak
            | Self::Unsorted
            | Self::StartBeforeSubmit
            | Self::Fraction
            | Self::Requeued => Action::Repaired,
            Self::LargerThanMachine
            | Self::NodeListMismatch
            | Self::OverRequest
            | Self::ZeroRunTime
            | Self::NoRequest
            | Self::ExtraColumns => Action::Kept,
        }
    }

    /// Whether it is a fault of the log, which ends strict reading, or something
    /// that sound logs have too.
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Fraction
                | Self::OverRequest
                | Self::ZeroRunTime
                | Self::NoRequest
                | Self::NeverStarted
                | Self::Unfinished
                | Self::Requeued
                | Self::JobStep
                | Self::ExtraColumns
        )
    }

    /// What it means and what was done, for people.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "bytes that are no UTF-8, replaced by U+FFFD",
            Self::OverlongLine => "line longer than 1 MiB",
            Self::ColumnCount => "too few or too many columns",
            Self::BadValue => "a number or time that is none",
            Self::LineBreak => "record split over lines by a field with line breaks; joined",
            Self::NegativeTime => "submitted or ran at a negative time",
            Self::NoSubmit => "no time of submission",
            Self::NoRunTime => "no run time",
            Self::ZeroNodes => "no nodes",
            Self::LargerThanMachine => "larger than the machine; a schedule refuses it",
            Self::Unsorted => "submitted before the record above; sorted",
            Self::DuplicateId => "a job that is already there; the first record counts",
            Self::StartBeforeSubmit => "started before it was submitted; the start is ignored",
            Self::NodeListMismatch => "list of nodes of another length than the number of nodes",
            Self::Fraction => "fraction of a second, rounded",
            Self::OverRequest => "ran longer than requested",
            Self::ZeroRunTime => "ran for 0 seconds",
            Self::NoRequest => "no requested time; a schedule estimates it by the run time",
            Self::NeverStarted => "cancelled before it started",
            Self::Unfinished => "waiting or running when the log was taken",
            Self::Requeued => "a run that was broken off and requeued; a job of its own",
            Self::JobStep => "step or part of a job",
            Self::ExtraColumns => "columns beyond those of the format; not read",
        }
    }
}

/// One case of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Line, counted from 1.
    pub line: u64,
    /// What was found there.
    pub found: String,
}

/// How often a rule applied, with its first cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cases {
    /// How often.
    pub count: u64,
    /// The first of them, at most [`EXAMPLES`].
    pub examples: Vec<Example>,
}

/// Cases of a rule that a report keeps.
pub const EXAMPLES: usize = 3;

/// Most jobs of a log.
const MAX_JOBS: usize = 1 << 24;

/// What a reader made of a file. Every line is exactly one of: comment, blank,
/// part of a record; and every record is kept as a job or dropped under one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The file as it was given.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// Lines of the file.
    pub lines: u64,
    /// Lines of the header and comments.
    pub comments: u64,
    /// Lines without anything.
    pub blank: u64,
    /// Lines that continue the record above.
    pub continued: u64,
    /// Records.
    pub records: u64,
    /// Records that became jobs.
    pub jobs: u64,
    /// The rules that applied.
    pub cases: BTreeMap<Rule, Cases>,
}

impl Report {
    /// Records dropped under any rule.
    pub fn dropped(&self) -> u64 {
        let dropped = self.cases.iter();
        let dropped = dropped.filter(|(rule, _)| rule.action() == Action::Dropped);
        dropped.map(|(_, cases)| cases.count).sum()
    }

    /// How often a rule applied.
    pub fn count(&self, rule: Rule) -> u64 {
        self.cases.get(&rule).map_or(0, |cases| cases.count)
    }
}

/// A job as a reader found it, before the rules.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The job; times and nodes below are to replace its own.
    pub job: Job,
    /// Line of the record.
    pub line: u64,
    /// Time of submission as written.
    pub submit: Option<i64>,
    /// Run time as written.
    pub run: Option<i64>,
    /// Start as written.
    pub start: Option<i64>,
    /// Requested time as written.
    pub requested: Option<i64>,
    /// Nodes as written.
    pub nodes: Option<i64>,
    /// Whether it is known that the job was cancelled while it waited.
    pub never_started: bool,
}

/// Takes what readers find, applies the rules and counts.
pub(super) struct Sink {
    pub report: Report,
    strict: bool,
    machine_nodes: Option<u32>,
    jobs: Vec<Job>,
    /// Line of each of them.
    lines: Vec<u64>,
    /// By id: start of each run, and how many runs the id has.
    known: HashMap<Box<str>, Vec<(Seconds, Option<Seconds>)>>,
}

impl Sink {
    pub fn new(file: &str, format: &'static str, strict: bool, machine_nodes: Option<u32>) -> Self {
        Self {
            report: Report {
                file: file.to_owned(),
                format,
                ..Report::default()
            },
            strict,
            machine_nodes,
            jobs: Vec::new(),
            lines: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Leaves it to [`Self::settle_sizes`] to say which jobs are larger than the machine.
    pub fn sizes_unknown(&mut self) {
        self.machine_nodes = None;
    }

    /// The jobs so far.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Gives every job its nodes, and notes those of which `larger` says by how much
    /// they exceed the machine.
    pub fn settle_sizes(
        &mut self,
        nodes: impl Fn(&Job) -> u32,
        larger: impl Fn(&Job) -> Option<String>,
    ) -> Result<(), LogError> {
        for index in 0..self.jobs.len() {
            let job = &mut self.jobs[index];
            job.nodes = nodes(job);
            if let Some(found) = larger(&self.jobs[index]) {
                let (id, line) = (self.jobs[index].id.clone(), self.lines[index]);
                self.note(Rule::LargerThanMachine, line, || {
                    format!("job {id}: {found}")
                })?;
            }
        }
        Ok(())
    }

    /// Counts a case of `rule`. An error if the reader is strict and it is a fault.
    pub fn note(
        &mut self,
        rule: Rule,
        line: u64,
        found: impl FnOnce() -> String,
    ) -> Result<(), LogError> {
        let cases = self.report.cases.entry(rule).or_default();
        cases.count += 1;
        if self.strict && rule.is_fault() {
            let message = format!(
                "{}: {} ({}); leave out --strict to count such records instead",
                rule.name(),
                rule.explanation(),
                found()
            );
            return Err(LogError::new(&self.report.file, Some(line), message));
        }
        if cases.examples.len() < EXAMPLES {
            cases.examples.push(Example {
                line,
                found: found(),
            });
        }
        Ok(())
    }

    /// Takes a record that could be read.
    pub fn job(&mut self, found: Found) -> Result<(), LogError> {
        let line = found.line;
        let Found { mut job, .. } = found;
        if found.never_started {
            return self.note(Rule::NeverStarted, line, || format!("job {}", job.id));
        }
        let Some(submit) = found.submit else {
            return self.note(Rule::NoSubmit, line, || format!("job {}", job.id));
        };
        let Some(run) = found.run else {
            return self.note(Rule::NoRunTime, line, || format!("job {}", job.id));
        };
        if submit < 0 || run < 0 {
            return self.note(Rule::NegativeTime, line, || {
                format!("job {}: submitted at {submit} s, ran {run} s", job.id)
            });
        }
        let nodes = found.nodes.and_then(|nodes| u32::try_from(nodes).ok());
        let Some(nodes) = nodes.filter(|&nodes| nodes > 0) else {
            return self.note(Rule::ZeroNodes, line, || match found.nodes {
                Some(nodes) => format!("job {}: {nodes} nodes", job.id),
                None => format!("job {}", job.id),
            });
        };
        job.submit = Seconds(submit);
        job.run = Seconds(run);
        job.nodes = nodes;
        job.start = found.start.map(Seconds);
        job.requested = found.requested.map(Seconds);
        let runs = self.known.entry(job.id.clone()).or_default();
        if runs.contains(&(job.submit, job.start)) || (!runs.is_empty() && job.start.is_none()) {
            return self.note(Rule::DuplicateId, line, || format!("job {}", job.id));
        }
        runs.push((job.submit, job.start));
        let run_number = runs.len();
        if run_number > 1 {
            // The same id with another start: a run after a requeue.
            let id = job.id.clone();
            job.id = format!("{id}#{run_number}").into();
            self.note(Rule::Requeued, line, || format!("job {id}"))?;
        }
        if job.start.is_some_and(|start| start < job.submit) {
            self.note(Rule::StartBeforeSubmit, line, || {
                format!(
                    "job {}: waited {} s",
                    job.id,
                    found.start.unwrap_or(0) - submit
                )
            })?;
            job.start = None;
        }
        if self.machine_nodes.is_some_and(|machine| nodes > machine) {
            self.note(Rule::LargerThanMachine, line, || {
                format!("job {}: {nodes} nodes", job.id)
            })?;
        }
        match job.requested {
            None => self.note(Rule::NoRequest, line, || format!("job {}", job.id))?,
            Some(requested) if job.run > requested => {
                self.note(Rule::OverRequest, line, || {
                    format!("job {}: ran {run} s, requested {} s", job.id, requested.0)
                })?;
            }
            Some(_) => {}
        }
        if run == 0 {
            self.note(Rule::ZeroRunTime, line, || format!("job {}", job.id))?;
        }
        if self
            .jobs
            .last()
            .is_some_and(|last| last.submit > job.submit)
        {
            self.note(Rule::Unsorted, line, || {
                format!("job {}: submitted at {submit} s", job.id)
            })?;
        }
        if self.jobs.len() == MAX_JOBS {
            let message = format!("more than {MAX_JOBS} jobs; take a part of the log at a time");
            return Err(LogError::new(&self.report.file, Some(line), message));
        }
        self.jobs.push(job);
        self.lines.push(line);
        self.report.jobs += 1;
        Ok(())
    }

    /// The jobs in order of submission, and the report.
    pub fn finish(self) -> (Vec<Job>, Report) {
        let mut jobs = self.jobs;
        jobs.sort_by_key(|job| job.submit);
        (jobs, self.report)
    }
}
