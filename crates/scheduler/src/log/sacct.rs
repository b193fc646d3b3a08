//! Dumps of Slurm's accounting, `sacct --parsable2` (`--parsable` works as well):
//! a header line, then one line per job and per step, columns in any order.
//! Columns that are not listed below are ignored.

use std::cmp::Ordering;
use std::io::BufRead;

use super::error::LogError;
use super::job::{Job, JobLog, Status};
use super::lines::{Lines, MAX_LINE_BYTES};
use super::request::{Memory, Request, mebibytes};
use super::rules::{Found, Rule, Sink};
use super::slurm_time::{duration, limit, limit_in_minutes, time};
use super::{ReadOptions, hostlist, nodes_of_processors, shortened};
use crate::Seconds;

/// Which column of a file holds what.
#[derive(Debug, Default)]
struct Columns {
    count: usize,
    names: Vec<String>,
}

impl Columns {
    fn new(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<String> = names.map(|name| name.trim().to_ascii_lowercase()).collect();
        Self {
            count: names.len(),
            names,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// What a reader cannot do without, if it is missing.
    fn missing(&self) -> Option<&'static str> {
        let run = ["elapsedraw", "elapsed"].iter().any(|name| self.has(name))
            || (self.has("start") && self.has("end"));
        let nodes = [
            "allocnodes",
            "nnodes",
            "reqnodes",
            "nodelist",
            "alloctres",
            "reqtres",
        ]
        .iter()
        .any(|name| self.has(name));
        match () {
            () if !self.has("jobid") => Some("JobID"),
            () if !self.has("submit") => Some("Submit"),
            () if !run => Some("ElapsedRaw (or Elapsed, or Start and End)"),
            () if !nodes => Some("NNodes (or AllocNodes, ReqNodes, NodeList)"),
            () => None,
        }
    }
}

/// One record: its fields by column name.
struct Record<'a> {
    columns: &'a Columns,
    fields: Vec<&'a str>,
}

impl<'a> Record<'a> {
    /// The field of the first of these columns that has a value.
    fn field(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| {
            let column = self.columns.names.iter().position(|known| known == name)?;
            let text = self.fields[column].trim();
            let empty = ["", "Unknown", "None", "None assigned", "N/A", "INVALID"];
            (!empty.contains(&text)).then_some(text)
        })
    }

    /// The amount of a trackable resource, such as `node` in `cpu=4,node=2`.
    fn resource(&self, names: &[&str], resource: &str) -> Option<i64> {
        let list = self.field(names)?;
        let found = list.split(',').find_map(|item| {
            let (name, amount) = item.split_once('=')?;
            (name == resource).then_some(amount)
        });
        found?.parse().ok()
    }
}

/// The characters between the first two names of a header.
fn separator_of(header: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let start = header.find(|c| !is_name(c))?;
    let length = header[start..]
        .find(is_name)
        .unwrap_or(header.len() - start);
    Some(&header[start..start + length])
}

/// Whether a line is the header of such a dump.
pub(super) fn is_header(text: &str) -> bool {
    let Some(separator) = separator_of(text) else {
        return false;
    };
    let names: Vec<&str> = text.split(separator).collect();
    let is = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    is("JobID") && (is("State") || is("Submit") || is("Start"))
}

/// How the lines of a dump are made up.
struct Layout {
    columns: Columns,
    separator: String,
    /// The line that says so; empty where the options do.
    header: String,
}

impl Layout {
    /// As the options say, if they do.
    fn given(options: &ReadOptions, file: &str) -> Result<Option<Self>, LogError> {
        let Some(names) = &options.columns else {
            return Ok(None);
        };
        let columns = Columns::new(names.iter().cloned());
        check_columns(&columns, file, None)?;
        let separator = options.separator.clone();
        Ok(Some(Self {
            columns,
            separator: separator.unwrap_or_else(|| "|".to_owned()),
            header: String::new(),
        }))
    }

    /// As a header says, which is line `line` of the dump.
    fn of_header(
        text: &str,
        line: u64,
        options: &ReadOptions,
        file: &str,
    ) -> Result<Self, LogError> {
        let separator = (options.separator.as_deref())
            .or_else(|| separator_of(text))
            .unwrap_or("|");
        let columns = Columns::new(text.split(separator).map(str::to_owned));
        check_columns(&columns, file, Some(line))?;
        Ok(Self {
            columns,
            separator: separator.to_owned(),
            header: text.to_owned(),
        })
    }

    fn fields(&self, text: &str) -> usize {
        text.split(&self.separator).count()
    }

    /// A record of as many fields as there are columns.
    fn record<'a>(&'a self, text: &'a str) -> Record<'a> {
        Record {
            columns: &self.columns,
            fields: text.split(&self.separator).collect(),
        }
    }
}

/// A record whose end has not come yet.
#[derive(Default)]
struct Pending {
    text: String,
    fields: usize,
    /// Its first line, and how many there are.
    line: u64,
    lines: u64,
}

impl Pending {
    fn begin(&mut self, text: &str, fields: usize, line: u64) {
        text.clone_into(&mut self.text);
        (self.fields, self.line, self.lines) = (fields, line, 1);
    }

    fn append(&mut self, text: &str, fields: usize) {
        self.text.push('\n');
        self.text.push_str(text);
        self.fields = fields;
        self.lines += 1;
    }

    /// Counts it, if there is one, as a record that never became whole.
    fn drop(&mut self, layout: &Layout, sink: &mut Sink) -> Result<(), LogError> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.text.clear();
        wrong_count(sink, self.line, self.fields, layout.columns.count)
    }
}

pub(super) fn read(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    log: &mut JobLog,
    options: &ReadOptions,
) -> Result<(), LogError> {
    let mut layout = Layout::given(options, &sink.report.file)?;
    let mut pending = Pending::default();
    while lines.advance(sink)? {
        let line = lines.number();
        let text = lines.text();
        let Some(layout) = &layout else {
            let text = text.trim_start_matches('\u{feff}');
            if text.trim().is_empty() {
                sink.report.blank += 1;
                continue;
            }
            layout = Some(Layout::of_header(text, line, options, &sink.report.file)?);
            sink.report.comments += 1;
            continue;
        };
        if pending.text.is_empty() && text.trim().is_empty() {
            sink.report.blank += 1;
            continue;
        }
        if text == layout.header {
            sink.report.comments += 1;
            continue;
        }
        let (fields, wanted) = (layout.fields(text), layout.columns.count);
        if fields >= wanted || pending.text.is_empty() {
            pending.drop(layout, sink)?;
            sink.report.records += 1;
            match fields.cmp(&wanted) {
                Ordering::Greater => wrong_count(sink, line, fields, wanted)?,
                Ordering::Equal => record(&layout.record(text), line, sink, log, options)?,
                Ordering::Less => pending.begin(text, fields, line),
            }
            continue;
        }
        let joined = pending.fields + fields - 1;
        if joined > wanted || pending.text.len() + text.len() > MAX_LINE_BYTES {
            // The piece above belongs to no record; this one may begin another.
            pending.drop(layout, sink)?;
            sink.report.records += 1;
            pending.begin(text, fields, line);
            continue;
        }
        pending.append(text, joined);
        sink.report.continued += 1;
        if joined == wanted {
            let whole = std::mem::take(&mut pending);
            sink.note(Rule::LineBreak, whole.line, || {
                format!("{} lines", whole.lines)
            })?;
            record(&layout.record(&whole.text), whole.line, sink, log, options)?;
        }
    }
    if let Some(layout) = &layout {
        pending.drop(layout, sink)?;
    }
    log.epoch = Some(0);
    Ok(())
}

fn check_columns(columns: &Columns, file: &str, line: Option<u64>) -> Result<(), LogError> {
    let Some(missing) = columns.missing() else {
        return Ok(());
    };
    let found = columns.names.join(", ");
    Err(LogError::new(
        file,
        line,
        format!(
            "no column {missing}; found: {}. Dump with `sacct --allusers --parsable2 \
             --format=JobID,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,\
             TimelimitRaw,NNodes,NCPUS,NodeList`, or name the columns of a dump without header",
            shortened(&found)
        ),
    ))
}

fn wrong_count(sink: &mut Sink, line: u64, found: usize, wanted: usize) -> Result<(), LogError> {
    sink.note(Rule::ColumnCount, line, || {
        format!("{found} columns instead of {wanted}")
    })
}

/// What Slurm calls the end of a job; `None` if it has not ended.
pub(super) fn status_of(state: &str) -> Option<Status> {
    let word = state.split_ascii_whitespace().next().unwrap_or("");
    Some(
        match word.trim_end_matches('+').to_ascii_uppercase().as_str() {
            "COMPLETED" | "CD" => Status::Completed,
            "FAILED" | "F" | "BOOT_FAIL" | "BF" | "LAUNCH_FAILED" => Status::Failed,
            "CANCELLED" | "CA" | "REVOKED" => Status::Cancelled,
            "TIMEOUT" | "TO" | "DEADLINE" | "DL" => Status::Timeout,
            "OUT_OF_MEMORY" | "OUT_OF_ME" | "OOM" => Status::OutOfMemory,
            "NODE_FAIL" | "NF" => Status::NodeFail,
            "PREEMPTED" | "PR" => Status::Preempted,
            "REQUEUED" | "RQ" => Status::Requeued,
            "PENDING" | "PD" | "RUNNING" | "R" | "SUSPENDED" | "S" | "CONFIGURING" | "CF"
            | "COMPLETING" | "CG" | "RESIZING" | "RS" | "REQUEUE_HOLD" | "REQUEUE_FED"
            | "SPECIAL_EXIT" | "STAGE_OUT" | "STOPPED" | "SIGNALING" => return None,
            _ => Status::Unknown,
        },
    )
}

/// The times and counts of a record.
struct Figures {
    submit: Option<i64>,
    eligible: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
    elapsed: Option<i64>,
    time_limit: Option<i64>,
    processors: Option<i64>,
    requested_processors: Option<i64>,
    nodes: Option<i64>,
    requested_nodes: Option<i64>,
}

impl Figures {
    /// The times of `record`; else the first field whose value is no time.
    fn read(record: &Record<'_>) -> Result<Self, String> {
        let mut damaged: Option<String> = None;
        let mut read = |names: &[&str], reader: &dyn Fn(&str) -> Option<i64>| {
            let text = record.field(names)?;
            let value = reader(text);
            if value.is_none() {
                damaged.get_or_insert_with(|| format!("{} is \"{}\"", names[0], shortened(text)));
            }
            value
        };
        let count = |text: &str| text.parse::<i64>().ok();
        let figures = Self {
            submit: read(&["submit"], &time),
            eligible: read(&["eligible"], &time),
            start: read(&["start"], &time),
            end: read(&["end"], &time),
            elapsed: read(&["elapsedraw"], &count).or_else(|| read(&["elapsed"], &duration)),
            time_limit: read(&["timelimitraw"], &limit_in_minutes)
                .or_else(|| read(&["timelimit"], &limit)),
            processors: read(&["alloccpus"], &count).or_else(|| read(&["ncpus"], &count)),
            requested_processors: read(&["reqcpus"], &count),
            nodes: positive(read(&["allocnodes"], &count))
                .or_else(|| positive(read(&["nnodes"], &count)))
                .or_else(|| positive(record.resource(&["alloctres"], "node"))),
            requested_nodes: positive(read(&["reqnodes"], &nodes_requested))
                .or_else(|| positive(record.resource(&["reqtres"], "node"))),
        };
        damaged.map_or(Ok(figures), Err)
    }
}

fn positive(value: Option<i64>) -> Option<i64> {
    value.filter(|&value| value > 0)
}

fn record(
    record: &Record<'_>,
    line: u64,
    sink: &mut Sink,
    log: &mut JobLog,
    options: &ReadOptions,
) -> Result<(), LogError> {
    let Some(id) = record.field(&["jobid"]) else {
        return sink.note(Rule::BadValue, line, || "no JobID".to_owned());
    };
    // 123.batch, 123.extern, 123.0: steps of the job 123.
    if id.contains('.') {
        return sink.note(Rule::JobStep, line, || shortened(id));
    }
    let state = record.field(&["state"]);
    let Some(status) = state.map_or(Some(Status::Unknown), status_of) else {
        return sink.note(Rule::Unfinished, line, || format!("job {}", shortened(id)));
    };
    let figures = match Figures::read(record) {
        Ok(figures) => figures,
        Err(found) => {
            return sink.note(Rule::BadValue, line, || {
                format!("job {}: {found}", shortened(id))
            });
        }
    };
    let list = record.field(&["nodelist"]);
    let listed = list.and_then(hostlist::count);
    let per_node = options.processors_per_node;
    let nodes = (figures.nodes)
        .or(listed.and_then(|count| i64::try_from(count).ok()))
        .or(figures.requested_nodes)
        .or_else(|| {
            (figures.processors)
                .filter(|_| per_node.is_some())
                .map(|count| nodes_of_processors(count, per_node))
        });
    let did_not_run = list.is_none() && figures.elapsed.is_none_or(|time| time == 0);
    let never_started = status == Status::Cancelled && (figures.start.is_none() || did_not_run);

    let mut job = Job::new(id, Seconds::ZERO, Seconds::ZERO, 0);
    job.status = status;
    job.eligible = figures.eligible.map(Seconds);
    let small = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
    job.processors = small(figures.processors);
    job.requested_processors = small(figures.requested_processors);
    job.node_list = list.map(Into::into);
    label(&mut job, record, log);
    match request(record) {
        Ok(request) => job.request = Some(Box::new(request)),
        Err(found) => {
            return sink.note(Rule::BadValue, line, || {
                format!("job {}: {}", shortened(id), shortened(&found))
            });
        }
    }
    if let (Some(listed), Some(nodes)) = (listed, nodes)
        && !never_started
        && i64::try_from(listed) != Ok(nodes)
    {
        sink.note(Rule::NodeListMismatch, line, || {
            format!("job {}: {nodes} nodes, {listed} listed", shortened(id))
        })?;
    }
    let between = || Some(figures.end? - figures.start?);
    sink.job(Found {
        job,
        line,
        submit: figures.submit,
        run: figures.elapsed.or_else(between),
        start: figures.start,
        requested: positive(figures.time_limit),
        nodes,
        never_started,
    })
}

/// Whose job it is, what it is called and where it waited.
fn label(job: &mut Job, record: &Record<'_>, log: &mut JobLog) {
    let mut label = |names: &[&str]| {
        record
            .field(names)
            .map_or(super::Label::NONE, |text| log.names.label(text))
    };
    job.user = label(&["user", "uid"]);
    job.group = label(&["group", "gid"]);
    job.account = label(&["account"]);
    job.application = label(&["jobname"]);
    job.queue = label(&["qos"]);
    job.partition = label(&["partition"]);
}

/// What the job asked for.
fn request(record: &Record<'_>) -> Result<Request, String> {
    let mut request = Request::default();
    if let Some(text) = record.field(&["reqmem"]) {
        // `4000Mc`, `64Gn`: of each CPU or node, as written up to Slurm 21.08; since then
        // the total stands here as well as among the resources.
        let amount = |text| mebibytes(text, 'M').ok_or_else(|| format!("ReqMem is \"{text}\""));
        match (text.strip_suffix('c'), text.strip_suffix('n')) {
            (Some(text), _) => request.memory = Some(Memory::PerCpu(amount(text)?)),
            (_, Some(text)) => request.memory = Some(Memory::PerNode(amount(text)?)),
            _ => {}
        }
    }
    if let Some(list) = record.field(&["reqtres"]) {
        request.take_tres(list)?;
    }
    let whole = |names: &[&str]| {
        record
            .field(names)
            .and_then(|text| text.parse::<u32>().ok())
    };
    if request.cpus == 0 {
        request.cpus = whole(&["reqcpus"]).unwrap_or(0);
    }
    if request.min_nodes == 0
        && let Some(text) = record.field(&["reqnodes"])
    {
        let least = nodes_requested(text).and_then(|least| u32::try_from(least).ok());
        request.min_nodes = least.unwrap_or(0);
    }
    if request.gres.is_empty()
        && let Some(list) = record.field(&["reqgres"]).filter(|list| *list != "0")
    {
        request.take_gres_per_node(list)?;
    }
    request.features = record.field(&["constraints"]).map(Into::into);
    request.priority = record
        .field(&["priority"])
        .and_then(|text| text.parse().ok());
    Ok(request)
}

/// The least of a range of nodes such as `4-8`, or one number.
fn nodes_requested(text: &str) -> Option<i64> {
    text.split('-').next()?.parse().ok()
}
