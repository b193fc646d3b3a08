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
use super::slurm_time::{duration, time};
use super::{Label, hostlist, shortened};
use crate::Seconds;

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
    let mut at = 0;
    while lines.advance(sink)? {
        let text = lines.text();
        if text.trim().is_empty() {
            sink.report.blank += 1;
            continue;
        }
        if text.starts_with("JobId=") {
            let whole = std::mem::take(&mut pairs);
            record(&whole, at, sink, log)?;
            at = lines.number();
        } else if pairs.is_empty() {
            // Before the first job.
            sink.report.comments += 1;
            continue;
        } else {
            sink.report.continued += 1;
        }
        add_pairs(lines.text(), &mut pairs);
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
    let field = |key: &str| {
        let text = pairs.get(key)?.trim();
        let empty = ["", "(null)", "N/A", "Unknown", "None", "*"];
        (!empty.contains(&text)).then_some(text)
    };
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
    let found = read(&field, status, &mut job);
    let (submit, start, end, elapsed) = match found {
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

/// Submission, start, end and run time.
type Times = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Fills the job in; its times, or the field that is damaged.
fn read<'a>(
    field: &impl Fn(&str) -> Option<&'a str>,
    status: Status,
    job: &mut Job,
) -> Result<Times, String> {
    fn with<'a, T>(
        field: &impl Fn(&str) -> Option<&'a str>,
        key: &str,
        reader: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match field(key) {
            None => Ok(None),
            Some(text) => match reader(text) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("{key} is \"{text}\"")),
            },
        }
    }
    let moment = |text: &str| match text {
        // Not yet, or never.
        "0" => Some(0),
        text => time(text),
    };
    let at = |key: &str| with(field, key, moment).map(|time| time.filter(|&time| time > 0));
    let number = |text: &str| text.parse::<u32>().ok();
    let small = |key: &str| with(field, key, number);
    let unlimited = |text: &str| matches!(text, "UNLIMITED" | "Partition_Limit");
    job.eligible = at("eligibletime")?.map(Seconds);
    let limit = with(field, "timelimit", |text| {
        if unlimited(text) {
            Some(-1)
        } else {
            duration(text)
        }
    })?;
    let minutes = with(field, "limitminutes", |text| {
        if unlimited(text) {
            Some(-1)
        } else {
            text.parse::<i64>().ok()?.checked_mul(60)
        }
    })?;
    job.requested = limit.or(minutes).filter(|&limit| limit > 0).map(Seconds);
    job.node_list = field("nodelist").map(Into::into);
    let mut request = Request::default();
    let per_node = with(field, "memorypernode", |text| text.parse().ok())?;
    let per_cpu = with(field, "memorypercpu", |text| text.parse().ok())?;
    request.memory = match (per_node, per_cpu) {
        (_, Some(amount)) if amount > 0 => Some(Memory::PerCpu(amount)),
        (Some(amount), _) if amount > 0 => Some(Memory::PerNode(amount)),
        _ => None,
    };
    let amount = |text: &str| mebibytes(text, 'M');
    if let Some(amount) = with(field, "minmemorycpu", amount)?.filter(|&amount| amount > 0) {
        request.memory = Some(Memory::PerCpu(amount));
    } else if let Some(amount) = with(field, "minmemorynode", amount)?.filter(|&amount| amount > 0)
    {
        request.memory = Some(Memory::PerNode(amount));
    }
    // Resources say memory even of jobs that named none: then it is that of their nodes.
    let named = request.memory;
    let listed = field("reqtres").or_else(|| field("tres")).unwrap_or("");
    request.take_tres(listed)?;
    request.memory = named;
    if let Some(list) = field("trespernode") {
        request.take_gres_per_node(list)?;
    }
    let range = |text: &str| text.split('-').next()?.parse::<u32>().ok();
    if request.min_nodes == 0 {
        request.min_nodes = with(field, "numnodes", range)?.unwrap_or(0);
    }
    if request.cpus == 0 {
        request.cpus = with(field, "numcpus", range)?.unwrap_or(0);
    }
    request.max_nodes = small("maxnodes")?.filter(|&most| most > 0);
    request.tasks = small("numtasks")?.filter(|&tasks| tasks > 0);
    request.cpus_per_task = small("cpus/task")?.filter(|&cpus| cpus > 0);
    // Text tells the CPUs that a job got, which are more where it has whole nodes.
    if let (None, Some(tasks), Some(each)) =
        (field("reqtres"), request.tasks, request.cpus_per_task)
    {
        request.cpus = tasks.saturating_mul(each);
    }
    let of_node = field("ntaskspern:b:s:c").and_then(|text| text.split(':').next());
    let of_node = of_node
        .or_else(|| field("taskspernode"))
        .and_then(|text| text.parse().ok());
    request.tasks_per_node = of_node.filter(|&tasks: &u32| tasks > 0);
    request.min_cpus_per_node = small("mincpusnode")?.filter(|&cpus| cpus > 0);
    request.features = field("features").map(Into::into);
    request.required_nodes = field("reqnodelist").map(Into::into);
    request.excluded_nodes = field("excnodelist").map(Into::into);
    request.priority = field("priority").and_then(|text| text.parse().ok());
    request.nice = field("nice")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    request.interactive = field("batchflag").is_some_and(|text| matches!(text, "0" | "false"));
    request.exclusive = field("oversubscribe")
        .is_some_and(|text| matches!(text, "NO" | "EXCLUSIVE" | "none" | "0"));
    job.processors = with(field, "numcpus", range)?;
    job.requested_processors = (request.cpus > 0).then_some(request.cpus);
    job.request = Some(Box::new(request));
    let elapsed = with(field, "runtime", duration)?;
    let elapsed = elapsed.or(with(field, "runseconds", |text| text.parse().ok())?);
    let (start, end) = (at("starttime")?, at("endtime")?);
    let cancelled = status == Status::Cancelled && job.node_list.is_none();
    let start = start.filter(|_| !cancelled);
    job.start = start.map(Seconds);
    Ok((at("submittime")?, start, end, elapsed))
}
