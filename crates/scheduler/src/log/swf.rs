//! The Standard Workload Format, version 2.2: comment lines `; Key: value`, then
//! one line of 18 numbers per job, −1 where there is no value (Feitelson,
//! "The Standard Workload Format", Parallel Workloads Archive).

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use super::error::LogError;
use super::job::{Job, JobLog, Label, Names, Status, Unit};
use super::lines::Lines;
use super::number::{real, whole};
use super::rules::{Found, Rule, Sink};
use super::{ReadOptions, unit};

/// Columns of a job.
const COLUMNS: usize = 18;

/// Most lines `Key: value` of a header.
const MAX_HEADER_LINES: usize = 10_000;

pub(super) fn read(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    log: &mut JobLog,
    options: &ReadOptions,
) -> Result<(), LogError> {
    // Sizes mean something only when the unit is known, in the end.
    sink.sizes_unknown();
    while lines.advance(sink)? {
        let line = lines.number();
        let text = lines.text().trim_matches(['\u{feff}', ' ', '\t']);
        if text.is_empty() {
            sink.report.blank += 1;
        } else if let Some(comment) = text.strip_prefix(';') {
            sink.report.comments += 1;
            header(comment, log);
            if log.header.len() > MAX_HEADER_LINES {
                let message = format!("more than {MAX_HEADER_LINES} lines `; Key: value`");
                return Err(LogError::new(&sink.report.file, Some(line), message));
            }
        } else {
            sink.report.records += 1;
            record(text, line, sink, log)?;
        }
    }
    unit::settle(sink, log, options)?;
    let first = log
        .header_value("UnixStartTime")
        .and_then(|text| text.parse::<i64>().ok());
    log.epoch = first.filter(|&unix| unix > 0);
    Ok(())
}

/// Keeps `Key: value`, and what is known of the machine.
fn header(comment: &str, log: &mut JobLog) {
    let Some((key, value)) = comment.split_once(':') else {
        return;
    };
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || key.contains(char::is_whitespace) {
        return;
    }
    let number = || {
        let digits = value.split(|c: char| !c.is_ascii_digit()).next();
        let number = digits.and_then(|digits| digits.parse::<u32>().ok());
        number.filter(|&number| number > 0)
    };
    match key {
        "MaxNodes" => {
            if let Some(nodes) = number() {
                log.machine_nodes.get_or_insert(nodes);
            }
        }
        "MaxProcs" => {
            if let Some(processors) = number() {
                log.machine_processors.get_or_insert(processors);
            }
        }
        _ => {}
    }
    log.header.push((key.to_owned(), value.to_owned()));
}

fn record(text: &str, line: u64, sink: &mut Sink, log: &mut JobLog) -> Result<(), LogError> {
    let mut fields = [""; COLUMNS];
    let mut count = 0;
    let mut rest = text;
    while count < COLUMNS {
        let (field, behind) = match rest.split_once([' ', '\t']) {
            Some((field, behind)) => (field, behind.trim_start_matches([' ', '\t'])),
            None => (rest, ""),
        };
        if field.is_empty() {
            break;
        }
        fields[count] = field;
        count += 1;
        rest = behind;
    }
    if count != COLUMNS {
        return sink.note(Rule::ColumnCount, line, || {
            format!("{count} columns instead of {COLUMNS}")
        });
    }
    let (node_list, ignored) = extras(rest);
    if ignored > 0 {
        sink.note(Rule::ExtraColumns, line, || {
            format!("{ignored} behind the {COLUMNS} of the format")
        })?;
    }
    let mut numbers = [None; COLUMNS];
    let mut rounded = false;
    for (column, field) in fields.iter().enumerate() {
        // CPU time and memory are real numbers by the format's definition.
        if matches!(column, 5 | 6 | 9) {
            if real(field).is_none() {
                return bad(sink, line, column, field);
            }
            continue;
        }
        let Some((value, inexact)) = whole(field) else {
            return bad(sink, line, column, field);
        };
        rounded |= inexact;
        numbers[column] = (value != -1).then_some(value);
    }
    if rounded {
        sink.note(Rule::Fraction, line, || format!("job {}", fields[0]))?;
    }
    let quantity = |column: usize| real(fields[column]).filter(|&value| value >= 0.0);
    let positive = |value: Option<i64>| value.filter(|&value| value > 0);
    let small = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());

    let status = match numbers[10] {
        Some(0) => Status::Failed,
        Some(1) => Status::Completed,
        Some(5) => Status::Cancelled,
        // Bursts between checkpoints of a job that has a summary line above them.
        Some(2..=4) => {
            return sink.note(Rule::JobStep, line, || format!("job {}", fields[0]));
        }
        _ => Status::Unknown,
    };
    let processors = positive(numbers[7]).or(numbers[4]).or(numbers[7]);
    let names = &mut log.names;
    let mut label = |column: usize| match numbers[column] {
        Some(_) => names.label(fields[column]),
        None => Label::NONE,
    };
    let mut job = Job::new(fields[0], crate::Seconds::ZERO, crate::Seconds::ZERO, 0);
    job.status = status;
    job.processors = small(numbers[4]);
    job.requested_processors = small(numbers[7]);
    job.cpu_seconds = quantity(5);
    job.memory_kb = quantity(6);
    job.requested_memory_kb = quantity(9);
    job.user = label(11);
    job.group = label(12);
    job.application = label(13);
    job.queue = label(14);
    job.partition = label(15);
    job.node_list = node_list.map(Into::into);
    job.preceding = positive(numbers[16]).map(|_| fields[16].into());
    job.think = numbers[17].filter(|&value| value >= 0).map(crate::Seconds);
    let start = match (numbers[1], numbers[2]) {
        (Some(submit), Some(wait)) => Some(submit + wait),
        _ => None,
    };
    // Cancelled jobs without run time or without processors never started.
    let never_started = status == Status::Cancelled
        && (numbers[3].is_none_or(|run| run == 0) || processors.is_none_or(|count| count <= 0));
    sink.job(Found {
        job,
        line,
        submit: numbers[1],
        run: numbers[3],
        start,
        requested: positive(numbers[8]),
        nodes: processors,
        never_started,
    })
}

/// What stands behind the columns of the format: a list of nodes, in braces or as Slurm
/// writes them, and how many columns are none.
fn extras(mut rest: &str) -> (Option<&str>, usize) {
    let (mut list, mut ignored) = (None, 0);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return (list, ignored);
        }
        let braces = rest
            .strip_prefix('{')
            .and_then(|inside| inside.split_once('}'));
        let (found, behind) = match braces {
            Some((inside, behind)) => (Some(inside.trim()), behind),
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(end);
                // Names of nodes begin with a letter; other words of archives have no digits.
                let named = word.starts_with(|c: char| c.is_ascii_alphabetic())
                    && word.contains(|c: char| c.is_ascii_digit());
                (named.then_some(word), behind)
            }
        };
        match found {
            // Empty braces: the archive does not know.
            Some("") => {}
            Some(nodes) if list.is_none() => list = Some(nodes),
            _ => ignored += 1,
        }
        rest = behind;
    }
}

fn bad(sink: &mut Sink, line: u64, column: usize, field: &str) -> Result<(), LogError> {
    sink.note(Rule::BadValue, line, || {
        format!("column {} is \"{}\"", column + 1, super::shortened(field))
    })
}

/// Processors per node of the machine, if its header says so.
pub(super) fn processors_per_node(log: &JobLog) -> Option<u32> {
    let (nodes, processors) = (log.machine_nodes?, log.machine_processors?);
    (processors % nodes == 0).then_some(processors / nodes)
}

/// Writes a log in the Standard Workload Format. What the format cannot hold is
/// left out: texts become numbers in order of first appearance (its own numbers
/// stay), ids that are no numbers are counted from 1.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_swf(log: &JobLog, out: &mut impl Write) -> std::io::Result<()> {
    let mut header = log.header.clone();
    let mut set = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            header.retain(|(known, _)| known != key);
            header.push((key.to_owned(), value));
        }
    };
    if log.header_value("Version").is_none() {
        set("Version", Some("2.2".to_owned()));
    }
    set("MaxJobs", Some(log.jobs.len().to_string()));
    set("MaxRecords", Some(log.jobs.len().to_string()));
    set("MaxNodes", log.machine_nodes.map(|nodes| nodes.to_string()));
    // Where sizes are nodes, the format's processors are nodes too, and equal limits say so.
    let processors = match log.unit {
        Unit::Nodes => log.machine_nodes,
        Unit::Processors => log.machine_processors.or(log.machine_nodes),
    };
    set("MaxProcs", processors.map(|count| count.to_string()));
    set("UnixStartTime", log.epoch.map(|unix| unix.to_string()));
    for (key, value) in &header {
        writeln!(out, "; {key}: {value}")?;
    }
    let all_numbers = log.jobs.iter().all(|job| is_id(&job.id));
    let mut line = String::new();
    for (index, job) in log.jobs.iter().enumerate() {
        line.clear();
        let id = if all_numbers {
            job.id.to_string()
        } else {
            (index + 1).to_string()
        };
        let status = match job.status {
            Status::Unknown => -1,
            Status::Completed => 1,
            Status::Cancelled => 5,
            _ => 0,
        };
        let wait = job.start.map_or(-1, |start| (start - job.submit).0);
        let (had, asked) = match log.unit {
            Unit::Processors => (job.processors, log.processors_of(job)),
            Unit::Nodes => {
                // Logs of nodes may know processors beside them.
                let alike = job.requested_processors.or(job.processors) == Some(job.nodes);
                (job.processors.filter(|_| alike), job.nodes)
            }
        };
        let real = |value: Option<f64>| value.unwrap_or(-1.0);
        let whole = |value: Option<i64>| value.unwrap_or(-1);
        let _ = write!(
            line,
            "{id} {} {wait} {} {} {} {} {asked} {} {} {status} {} {} {} {} {} {} {}",
            job.submit.0,
            job.run.0,
            had.map_or(-1, i64::from),
            real(job.cpu_seconds),
            real(job.memory_kb),
            whole(job.requested.map(|time| time.0)),
            real(job.requested_memory_kb),
            number(&log.names, job.user),
            number(&log.names, job.group),
            number(&log.names, job.application),
            number(&log.names, job.queue),
            number(&log.names, job.partition),
            job.preceding
                .as_deref()
                .filter(|id| is_id(id))
                .unwrap_or("-1"),
            whole(job.think.map(|time| time.0)),
        );
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn is_id(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|number| number > 0)
}

/// The number of a label: its own if its text is one, else that of its text.
fn number(names: &Names, label: Label) -> i64 {
    match (names.text(label), label.index()) {
        (Some(text), Some(index)) => text.parse().unwrap_or(index as i64 + 1),
        _ => -1,
    }
}
