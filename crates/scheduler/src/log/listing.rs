//! Jobs as `scontrol show jobs` lists them, and the JSON of `squeue`, `scontrol` and
//! `sacct`. Listings know of jobs that have ended as long as the controller keeps them
//! (`MinJobAge`); their times are local to the cluster and read as if they were UTC,
//! unless they are Unix seconds (JSON, `SLURM_TIME_FORMAT=%s`).

use std::collections::HashMap;
use std::io::BufRead;

use serde_json::Value;

use super::error::LogError;
use super::job::{Job, JobLog, Status};
use super::lines::Lines;
use super::request::{Memory, Request, mebibytes};
use super::rules::{Found, Rule, Sink};
use super::sacct::status_of;
use super::slurm_time::{duration, limit, limit_in_minutes, time};
use super::{Label, hostlist, shortened};
use crate::Seconds;

/// Longest record of a job, bytes.
const MAX_RECORD_BYTES: usize = 16 << 20;

/// Whether a line begins a job of `scontrol show jobs`.
pub(super) fn is_scontrol(line: &str) -> bool {
    line.starts_with("JobId=") && line.split_ascii_whitespace().count() > 1
}

/// Reads the text of `scontrol show jobs`, with or without `--oneliner`.
pub(super) fn read_scontrol(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    log: &mut JobLog,
) -> Result<(), LogError> {
    let mut pairs = HashMap::new();
    let (mut at, mut bytes) = (0, 0);
    while lines.advance(sink)? {
        let text = lines.text();
        if text.trim().is_empty() {
            sink.report.blank += 1;
            continue;
        }
        if text.starts_with("JobId=") {
            let whole = std::mem::take(&mut pairs);
            record(&whole, at, sink, log)?;
            (at, bytes) = (lines.number(), 0);
        } else if pairs.is_empty() {
            // Before the first job.
            sink.report.comments += 1;
            continue;
        } else {
            sink.report.continued += 1;
        }
        bytes += text.len();
        if bytes > MAX_RECORD_BYTES {
            let message = "a job of more than 16 MiB; allowed: lines that begin with JobId=";
            return Err(LogError::new(&sink.report.file, Some(at), message));
        }
        add_pairs(text, &mut pairs);
    }
    record(&pairs, at, sink, log)?;
    log.epoch = Some(0);
    Ok(())
}

/// The `Key=Value` pairs of a line; words without a key belong to the value before.
fn add_pairs(line: &str, pairs: &mut HashMap<String, String>) {
    let is_key = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_/:".contains(&byte))
    };
    let mut last: Option<String> = None;
    for word in line.split_ascii_whitespace() {
        match word.split_once('=') {
            Some((key, value)) if is_key(key) => {
                let key = key.to_ascii_lowercase();
                // The first one counts: `Nodes=` comes again for each node.
                pairs.entry(key.clone()).or_insert_with(|| value.to_owned());
                last = Some(key);
            }
            _ => {
                if let Some(value) = last.as_ref().and_then(|key| pairs.get_mut(key)) {
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
    }
}

/// Reads the JSON of `squeue`, `scontrol show jobs` or `sacct`.
pub(super) fn read_json(
    lines: &mut Lines<impl BufRead>,
    sink: &mut Sink,
    log: &mut JobLog,
) -> Result<(), LogError> {
    let text = lines.rest(sink)?;
    let fail = |message: String| LogError::new(&sink.report.file, None, message);
    let whole: Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("is no JSON: {error}")))?;
    let jobs = whole.get("jobs").and_then(Value::as_array).ok_or_else(|| {
        fail(
            "has no list \"jobs\"; allowed: the JSON of squeue, scontrol show jobs or sacct".into(),
        )
    })?;
    for (index, job) in jobs.iter().enumerate() {
        record(&pairs_of(job), index as u64 + 1, sink, log)?;
    }
    log.epoch = Some(0);
    Ok(())
}

/// A job of any of the three in the keys of `scontrol`.
fn pairs_of(job: &Value) -> HashMap<String, String> {
    const KEYS: [(&str, &[&[&str]]); 33] = [
        ("jobid", &[&["job_id"]]),
        ("jobname", &[&["name"]]),
        (
            "userid",
            &[&["user_name"], &["user"], &["association", "user"]],
        ),
        ("groupid", &[&["group_name"], &["group"]]),
        ("account", &[&["account"]]),
        ("qos", &[&["qos"]]),
        ("partition", &[&["partition"]]),
        ("jobstate", &[&["job_state"], &["state", "current"]]),
        ("priority", &[&["priority"]]),
        ("nice", &[&["nice"]]),
        ("submittime", &[&["submit_time"], &["time", "submission"]]),
        ("eligibletime", &[&["eligible_time"], &["time", "eligible"]]),
        ("starttime", &[&["start_time"], &["time", "start"]]),
        ("endtime", &[&["end_time"], &["time", "end"]]),
        ("runseconds", &[&["time", "elapsed"]]),
        ("limitminutes", &[&["time_limit"], &["time", "limit"]]),
        ("nodelist", &[&["nodes"]]),
        ("numnodes", &[&["allocation_nodes"], &["node_count"]]),
        ("maxnodes", &[&["max_nodes"]]),
        ("numcpus", &[&["cpus"], &["required", "CPUs"]]),
        ("numtasks", &[&["tasks"]]),
        ("cpus/task", &[&["cpus_per_task"]]),
        ("taskspernode", &[&["tasks_per_node"]]),
        ("mincpusnode", &[&["minimum_cpus_per_node"]]),
        (
            "memorypernode",
            &[&["memory_per_node"], &["required", "memory_per_node"]],
        ),
        (
            "memorypercpu",
            &[&["memory_per_cpu"], &["required", "memory_per_cpu"]],
        ),
        ("features", &[&["features"], &["constraints"]]),
        ("reqnodelist", &[&["required_nodes"]]),
        ("excnodelist", &[&["excluded_nodes"]]),
        ("trespernode", &[&["tres_per_node"]]),
        ("oversubscribe", &[&["shared"]]),
        ("reqtres", &[&["tres_req_str"]]),
        ("batchflag", &[&["batch_flag"]]),
    ];
    let mut pairs = HashMap::new();
    for (key, paths) in KEYS {
        let found = paths.iter().find_map(|path| {
            let value = path.iter().try_fold(job, |value, step| value.get(step))?;
            plain(value)
        });
        if let Some(text) = found {
            pairs.insert(key.to_owned(), text);
        }
    }
    // sacct lists resources one by one.
    let requested = job.get("tres").and_then(|tres| tres.get("requested"));
    if let Some(list) = requested.and_then(Value::as_array) {
        let entry = |one: &Value| {
            let kind = one.get("type")?.as_str()?;
            let count = one.get("count")?.as_u64()?;
            let name = one
                .get("name")
                .and_then(Value::as_str)
                .filter(|name| !name.is_empty());
            Some(match name {
                Some(name) => format!("{kind}/{name}={count}"),
                None => format!("{kind}={count}"),
            })
        };
        let entries: Vec<String> = list.iter().filter_map(entry).collect();
        pairs.insert("reqtres".to_owned(), entries.join(","));
    }
    pairs
}

/// A value as text; numbers may be written as `{set, infinite, number}`, states as lists.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => all.first().and_then(plain),
        Value::Object(fields) => {
            let flag = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
            match (flag("infinite"), flag("set")) {
                (true, _) => Some("UNLIMITED".to_owned()),
                (_, true) => fields.get("number").and_then(plain),
                _ => None,
            }
        }
    }
}

fn record(
    pairs: &HashMap<String, String>,
    line: u64,
    sink: &mut Sink,
    log: &mut JobLog,
) -> Result<(), LogError> {
    if pairs.is_empty() {
        return Ok(());
    }
    sink.report.records += 1;
    let fields = Fields(pairs);
    let field = |key: &str| fields.text(key);
    let Some(id) = field("jobid") else {
        return sink.note(Rule::BadValue, line, || "no JobId".to_owned());
    };
    // 7_3: the third of an array.
    let array = field("arrayjobid").zip(field("arraytaskid"));
    let id = array.map_or(id.to_owned(), |(job, task)| format!("{job}_{task}"));
    let Some(status) = field("jobstate").map_or(Some(Status::Unknown), status_of) else {
        return sink.note(Rule::Unfinished, line, || format!("job {}", shortened(&id)));
    };
    let mut job = Job::new(id.as_str(), Seconds::ZERO, Seconds::ZERO, 0);
    let (submit, start, end, elapsed) = match fill(&mut job, &fields, status) {
        Ok(times) => times,
        Err(what) => {
            let bad = || format!("job {}: {}", shortened(&id), shortened(&what));
            return sink.note(Rule::BadValue, line, bad);
        }
    };
    // `daemon(1)`: name and number.
    let name = |text: &str| text.split('(').next().unwrap_or(text).to_owned();
    let mut label = |key: &str| field(key).map_or(Label::NONE, |text| log.names.label(&name(text)));
    job.user = label("userid");
    job.group = label("groupid");
    job.account = label("account");
    job.application = label("jobname");
    job.queue = label("qos");
    job.partition = label("partition");
    job.status = status;
    let listed = job.node_list.as_deref().and_then(hostlist::count);
    let listed = listed.and_then(|count| i64::try_from(count).ok());
    let counted = field("numnodes").and_then(|text| text.split('-').next()?.parse().ok());
    let requested = job.requested.map(|limit| limit.0);
    let never_started = status == Status::Cancelled && job.node_list.is_none();
    sink.job(Found {
        line,
        submit,
        run: elapsed.or_else(|| Some(end? - start?)),
        start,
        requested,
        nodes: listed.or(counted).filter(|&count: &i64| count > 0),
        never_started,
        job,
    })
}

/// The fields of a job by `scontrol`'s keys, in lower case.
struct Fields<'a>(&'a HashMap<String, String>);

impl<'a> Fields<'a> {
    /// The text of a field that has a value.
    fn text(&self, key: &str) -> Option<&'a str> {
        let text = self.0.get(key)?.trim();
        let empty = ["", "(null)", "N/A", "Unknown", "None", "*"];
        (!empty.contains(&text)).then_some(text)
    }

    /// Its value, if it has one that the reader takes; else which field is damaged.
    fn read<T>(&self, key: &str, reader: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        reader(text)
            .map(Some)
            .ok_or_else(|| format!("{key} is \"{text}\""))
    }

    /// A time; none where it is 0: not yet, or never.
    fn time(&self, key: &str) -> Result<Option<i64>, String> {
        let read = |text: &str| match text {
            "0" => Some(0),
            text => time(text),
        };
        Ok(self.read(key, read)?.filter(|&time| time > 0))
    }

    /// A whole number above 0.
    fn positive(&self, key: &str) -> Result<Option<u32>, String> {
        let number = self.read(key, |text| text.parse().ok())?;
        Ok(number.filter(|&number: &u32| number > 0))
    }
}

/// The least of a range such as `4-8`, or one number.
fn least(text: &str) -> Option<u32> {
    text.split('-').next()?.parse().ok()
}

/// Submission, start, end and run time.
type Times = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Fills the job in; its times, or the field that is damaged.
fn fill(job: &mut Job, fields: &Fields<'_>, status: Status) -> Result<Times, String> {
    job.eligible = fields.time("eligibletime")?.map(Seconds);
    let requested = fields.read("timelimit", limit)?;
    let requested = requested.or(fields.read("limitminutes", limit_in_minutes)?);
    job.requested = requested.filter(|&limit| limit > 0).map(Seconds);
    job.node_list = fields.text("nodelist").map(Into::into);
    let request = request(fields)?;
    job.processors = fields.read("numcpus", least)?;
    job.requested_processors = (request.cpus > 0).then_some(request.cpus);
    job.request = Some(Box::new(request));
    let elapsed = fields.read("runtime", duration)?;
    let elapsed = elapsed.or(fields.read("runseconds", |text| text.parse().ok())?);
    let (start, end) = (fields.time("starttime")?, fields.time("endtime")?);
    let cancelled = status == Status::Cancelled && job.node_list.is_none();
    let start = start.filter(|_| !cancelled);
    job.start = start.map(Seconds);
    Ok((fields.time("submittime")?, start, end, elapsed))
}

/// What the job asked for, or the field that is damaged.
fn request(fields: &Fields<'_>) -> Result<Request, String> {
    let mut request = Request::default();
    // Resources say memory even of jobs that named none: then it is that of their nodes.
    let named = memory(fields)?;
    let resources = fields.text("reqtres").or_else(|| fields.text("tres"));
    request.take_tres(resources.unwrap_or(""))?;
    request.memory = named;
    if let Some(list) = fields.text("trespernode") {
        request.take_gres_per_node(list)?;
    }
    if request.min_nodes == 0 {
        request.min_nodes = fields.read("numnodes", least)?.unwrap_or(0);
    }
    if request.cpus == 0 {
        request.cpus = fields.read("numcpus", least)?.unwrap_or(0);
    }
    request.max_nodes = fields.positive("maxnodes")?;
    request.tasks = fields.positive("numtasks")?;
    request.cpus_per_task = fields.positive("cpus/task")?;
    // Text tells the CPUs that a job got, which are more where it has whole nodes.
    if let (None, Some(tasks), Some(each)) =
        (fields.text("reqtres"), request.tasks, request.cpus_per_task)
    {
        request.cpus = tasks.saturating_mul(each);
    }
    let of_node = (fields.text("ntaskspern:b:s:c"))
        .and_then(|text| text.split(':').next())
        .or_else(|| fields.text("taskspernode"))
        .and_then(|text| text.parse().ok());
    request.tasks_per_node = of_node.filter(|&tasks: &u32| tasks > 0);
    request.min_cpus_per_node = fields.positive("mincpusnode")?;
    request.features = fields.text("features").map(Into::into);
    request.required_nodes = fields.text("reqnodelist").map(Into::into);
    request.excluded_nodes = fields.text("excnodelist").map(Into::into);
    request.priority = (fields.text("priority")).and_then(|text| text.parse().ok());
    let nice = fields.text("nice").and_then(|text| text.parse().ok());
    request.nice = nice.unwrap_or(0);
    request.interactive =
        (fields.text("batchflag")).is_some_and(|text| matches!(text, "0" | "false"));
    request.exclusive = (fields.text("oversubscribe"))
        .is_some_and(|text| matches!(text, "NO" | "EXCLUSIVE" | "none" | "0"));
    Ok(request)
}

/// The memory that the job named, by JSON or, if it does, by text.
fn memory(fields: &Fields<'_>) -> Result<Option<Memory>, String> {
    let per_node = fields.read("memorypernode", |text| text.parse().ok())?;
    let per_cpu = fields.read("memorypercpu", |text| text.parse().ok())?;
    let amount = |text: &str| mebibytes(text, 'M');
    let some = |amount: Option<u64>| amount.filter(|&amount| amount > 0);
    if let Some(amount) = some(fields.read("minmemorycpu", amount)?) {
        return Ok(Some(Memory::PerCpu(amount)));
    }
    if let Some(amount) = some(fields.read("minmemorynode", amount)?) {
        return Ok(Some(Memory::PerNode(amount)));
    }
    Ok(some(per_cpu)
        .map(Memory::PerCpu)
        .or(some(per_node).map(Memory::PerNode)))
}
