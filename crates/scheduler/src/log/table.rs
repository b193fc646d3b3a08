//! Small formats: a table with a header line (`Job_name Submit Runtime Nodes …`,
//! the extracts of ALCF logs in Mangat's thesis), and the results of CQSim
//! (`id;requested;used;requested time;run;wait;submit;start;end`).

use std::io::BufRead;

use super::ReadOptions;
use super::error::LogError;
use super::job::{Job, JobLog};
use super::lines::Lines;
use super::number::{real, whole};
use super::rules::{Found, Rule, Sink};
use crate::Seconds;

/// Names that a column of a table may have, lower case.
const SUBMIT: &[&str] = &["submit", "submit_time", "submit_s", "arrival"];
const RUN: &[&str] = &["runtime", "run_time", "run", "run_s", "elapsed"];
const NODES: &[&str] = &["nodes", "requested_nodes", "size"];
const ID: &[&str] = &["job_name", "job_id", "jobid", "job", "id"];
const REQUESTED: &[&str] = &[
    "requested",
    "requested_time",
    "requested_s",
    "walltime",
    "req_time",
];
const WAIT: &[&str] = &["wait", "wait_time", "wait_s"];
const USER: &[&str] = &["user", "user_id"];
/// Percentage of the run time spent in communication.
const COMMUNICATION: &[&str] = &["perc"];

/// Whether a line is the header of such a table.
pub(super) fn is_header(text: &str) -> bool {
    let columns: Vec<String> = text
        .split_ascii_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |names: &[&str]| {
        columns
            .iter()
            .any(|column| names.contains(&column.as_str()))
    };
    has(SUBMIT) && has(RUN) && has(NODES)
}

/// Whether a line is a result of CQSim.
pub(super) fn is_cqsim(text: &str) -> bool {
    let fields: Vec<&str> = text.trim().split(';').collect();
    fields.len() == 9 && fields.iter().all(|field| real(field).is_some())
}

pub(super) fn read(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    log: &mut JobLog,
    _: &ReadOptions,
) -> Result<(), LogError> {
    let mut header: Option<Vec<String>> = None;
    let mut earliest = i64::MAX;
    while lines.advance(sink)? {
        let line = lines.number();
        let text = lines.text().trim_matches(['\u{feff}', ' ', '\t']);
        if text.is_empty() {
            sink.report.blank += 1;
            continue;
        }
        if text.starts_with('#') {
            sink.report.comments += 1;
            continue;
        }
        let Some(columns) = &header else {
            if !is_header(text) {
                return Err(LogError::new(
                    &sink.report.file,
                    Some(line),
                    "a table of jobs begins with a line of column names, among them Submit, \
                     Runtime and Nodes",
                ));
            }
            header = Some(
                text.split_ascii_whitespace()
                    .map(str::to_ascii_lowercase)
                    .collect(),
            );
            sink.report.comments += 1;
            continue;
        };
        sink.report.records += 1;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.len() != columns.len() {
            let (found, wanted) = (fields.len(), columns.len());
            sink.note(Rule::ColumnCount, line, || {
                format!("{found} columns instead of {wanted}")
            })?;
            continue;
        }
        let field = |names: &[&str]| {
            let column = columns
                .iter()
                .position(|column| names.contains(&column.as_str()));
            column.map(|column| fields[column])
        };
        let mut damaged = None;
        let mut rounded = false;
        let mut number = |names: &[&str]| {
            let text = field(names)?;
            match whole(text) {
                Some((value, inexact)) => {
                    rounded |= inexact;
                    (value != -1).then_some(value)
                }
                None => {
                    damaged.get_or_insert(text);
                    None
                }
            }
        };
        let (submit, run, nodes) = (number(SUBMIT), number(RUN), number(NODES));
        let (requested, wait) = (number(REQUESTED), number(WAIT));
        if let Some(text) = damaged {
            sink.note(Rule::BadValue, line, || {
                format!("\"{}\"", super::shortened(text))
            })?;
            continue;
        }
        if rounded {
            sink.note(Rule::Fraction, line, String::new)?;
        }
        let number_of_line = line.to_string();
        let id = field(ID).unwrap_or(&number_of_line);
        let mut job = Job::new(id, Seconds::ZERO, Seconds::ZERO, 0);
        job.user = field(USER).map_or(super::Label::NONE, |user| log.names.label(user));
        let share = field(COMMUNICATION).and_then(real);
        job.communication_share = share
            .filter(|p| (0.0..=100.0).contains(p))
            .map(|p| p / 100.0);
        earliest = earliest.min(submit.unwrap_or(i64::MAX));
        sink.job(Found {
            job,
            line,
            submit,
            run,
            start: submit.zip(wait).map(|(submit, wait)| submit + wait),
            requested: requested.filter(|&time| time > 0),
            nodes,
            never_started: false,
        })?;
    }
    log.epoch = super::unix_if_late(earliest);
    Ok(())
}

pub(super) fn read_cqsim(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    _: &mut JobLog,
    _: &ReadOptions,
) -> Result<(), LogError> {
    while lines.advance(sink)? {
        let line = lines.number();
        let text = lines.text().trim();
        if text.is_empty() {
            sink.report.blank += 1;
            continue;
        }
        sink.report.records += 1;
        let fields: Vec<&str> = text.split(';').collect();
        if fields.len() != 9 {
            let found = fields.len();
            sink.note(Rule::ColumnCount, line, || {
                format!("{found} columns instead of 9")
            })?;
            continue;
        }
        let mut numbers = [0i64; 9];
        let mut rounded = false;
        let mut damaged = None;
        for (number, field) in numbers.iter_mut().zip(&fields) {
            match whole(field) {
                Some((value, inexact)) => {
                    *number = value;
                    rounded |= inexact;
                }
                None => damaged = Some(*field),
            }
        }
        if let Some(text) = damaged {
            sink.note(Rule::BadValue, line, || {
                format!("\"{}\"", super::shortened(text))
            })?;
            continue;
        }
        if rounded {
            sink.note(Rule::Fraction, line, String::new)?;
        }
        let [
            _,
            requested_nodes,
            used,
            requested,
            run,
            _,
            submit,
            start,
            _,
        ] = numbers;
        let mut job = Job::new(fields[0], Seconds::ZERO, Seconds::ZERO, 0);
        job.processors = u32::try_from(used).ok();
        sink.job(Found {
            job,
            line,
            submit: Some(submit),
            run: Some(run),
            start: Some(start),
            requested: Some(requested).filter(|&time| time > 0),
            nodes: Some(requested_nodes),
            never_started: false,
        })?;
    }
    Ok(())
}
