//! Slurm's files and listings as records of keys and values.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What a record describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A setting of the whole cluster.
    #[default]
    Config,
    Node,
    NodeSet,
    Partition,
    Switch,
    Qos,
    Association,
}

/// Keys in lower case and their values.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub kind: Kind,
    /// Its first line, from 1, where known.
    pub line: Option<u64>,
    pub values: BTreeMap<String, String>,
    /// The keys that were asked for, of settings of the whole cluster.
    pub asked: RefCell<BTreeSet<String>>,
}

impl Record {
    /// A key's value, if it has one.
    pub fn text(&self, key: &str) -> Option<&str> {
        if self.kind == Kind::Config {
            self.asked.borrow_mut().insert(key.to_owned());
        }
        let value = self.values.get(key)?.trim();
        (!matches!(value, "" | "(null)" | "N/A")).then_some(value)
    }
}

/// The records of a file.
pub(super) struct Listing {
    pub records: Vec<Record>,
}

/// Reads any of them.
///
/// # Errors
/// The line, where known, and what is wrong.
pub(super) fn read_listing(text: &str) -> Result<Listing, (Option<u64>, String)> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("");
    let records = if text.trim_start().starts_with('{') {
        json(text).map_err(|message| (None, message))?
    } else if first.contains('|') {
        columns(text)?
    } else {
        pairs(text)
    };
    if records.is_empty() {
        let start: String = first
            .chars()
            .take(60)
            .flat_map(char::escape_debug)
            .collect();
        return Err((
            None,
            format!(
                "is no configuration or listing of Slurm; allowed: slurm.conf, the output of \
                 scontrol show config, topology, nodes or partitions (the latter two also \
                 --json), or of sacctmgr show qos or assoc with --parsable2. It begins with \"{start}\""
            ),
        ));
    }
    Ok(Listing { records })
}

/// `Key=Value` in lines, as in slurm.conf and scontrol's text.
fn pairs(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut carried = String::new();
    let mut carried_at = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index as u64 + 1;
        let line = match line.find('#') {
            // A comment, unless the text before is scontrol's (OS=Linux … #1 SMP).
            Some(at) if !line[..at].contains("OS=") => &line[..at],
            _ => line,
        };
        if carried.is_empty() {
            carried_at = number;
        }
        if let Some(begun) = line.trim_end().strip_suffix('\\') {
            carried.push_str(begun);
            continue;
        }
        let whole = std::mem::take(&mut carried) + line;
        let found = tokens(&whole);
        let Some((key, _)) = found.first() else {
            continue;
        };
        let kind = match key.as_str() {
            "nodename" => Some(Kind::Node),
            "nodeset" => Some(Kind::NodeSet),
            "partitionname" => Some(Kind::Partition),
            "switchname" => Some(Kind::Switch),
            _ => None,
        };
        let indented = whole.starts_with([' ', '\t']);
        match kind {
            // A further line of a record of scontrol.
            None if indented && records.last().is_some_and(|last| last.kind != Kind::Config) => {
                if let Some(last) = records.last_mut() {
                    last.values.extend(found);
                }
            }
            kind => records.push(Record {
                kind: kind.unwrap_or_default(),
                line: Some(carried_at),
                values: found.into_iter().collect(),
                ..Record::default()
            }),
        }
    }
    records
}

/// The pairs of a line. What follows a value and is no pair belongs to the value.
fn tokens(line: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    // `Key    = Value`, as scontrol show config writes it.
    if let Some((key, value)) = line.split_once(" = ")
        && is_key(key.trim())
    {
        return vec![(key.trim().to_ascii_lowercase(), value.trim().to_owned())];
    }
    // `Key    =`: set to nothing.
    if line.trim_end().ends_with(" =") {
        return Vec::new();
    }
    for word in line.split_ascii_whitespace() {
        match word.split_once('=') {
            Some((key, value)) if is_key(key) => {
                found.push((key.to_ascii_lowercase(), value.trim_matches('"').to_owned()));
            }
            _ => match found.last_mut() {
                Some((_, value)) => {
                    value.push(' ');
                    value.push_str(word.trim_matches('"'));
                }
                None if word.eq_ignore_ascii_case("include") => {
                    found.push(("include".to_owned(), String::new()));
                }
                None => {}
            },
        }
    }
    found
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_/:".contains(&byte))
}

/// A table with a header, as `--parsable2` writes it.
fn columns(text: &str) -> Result<Vec<Record>, (Option<u64>, String)> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Ok(Vec::new());
    };
    let names: Vec<String> = header
        .split('|')
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    let kind = if has("account") && has("user") {
        Kind::Association
    } else if has("name") && has("priority") {
        Kind::Qos
    } else {
        return Err((
            Some(1),
            format!(
                "a table with the columns {}; allowed: those of sacctmgr show qos (Name, Priority, \
                 …), of sacctmgr show assoc or sshare (Account, User, Share, …)",
                names.join(", ")
            ),
        ));
    };
    let mut records = Vec::new();
    // sshare indents accounts below those that they belong to.
    let mut above: Vec<(usize, String)> = Vec::new();
    for (index, line) in lines {
        let number = Some(index as u64 + 1);
        let fields: Vec<&str> = line.split('|').collect();
        if fields.len() < names.len() || fields.len() > names.len() + 1 {
            let message = format!("{} columns instead of {}", fields.len(), names.len());
            return Err((number, message));
        }
        let pairs = names
            .iter()
            .cloned()
            .zip(fields.iter().map(|text| (*text).to_owned()));
        let mut values: BTreeMap<String, String> = pairs.collect();
        if kind == Kind::Association && !has("par name") && !has("parentname") {
            let account = values.get("account").cloned().unwrap_or_default();
            let depth = account.len() - account.trim_start().len();
            let user = values
                .get("user")
                .is_some_and(|user| !user.trim().is_empty());
            if !user {
                above.retain(|(other, _)| *other < depth);
                if let Some((_, parent)) = above.last() {
                    values.insert("parentname".to_owned(), parent.clone());
                }
                above.push((depth, account.trim().to_owned()));
            }
        }
        records.push(Record {
            kind,
            line: number,
            values,
            ..Record::default()
        });
    }
    Ok(records)
}

/// A value of Slurm's JSON as text: `{set, infinite, number}` as a number or UNLIMITED,
/// lists with commas.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(if *flag { "YES" } else { "NO" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let texts: Vec<String> = all.iter().filter_map(plain).collect();
            Some(texts.join(","))
        }
        Value::Object(fields) => {
            let flag = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
            if flag("infinite") {
                return Some("UNLIMITED".to_owned());
            }
            if !flag("set") {
                return None;
            }
            fields.get("number").and_then(plain)
        }
    }
}

/// `scontrol show nodes --json` and `show partitions --json`.
fn json(text: &str) -> Result<Vec<Record>, String> {
    let whole: Value = serde_json::from_str(text).map_err(|error| format!("JSON: {error}"))?;
    let list = |key: &str| {
        whole
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let mut records = Vec::new();
    for node in list("nodes") {
        let keys = [
            ("nodename", &["name"][..]),
            ("cpuefctv", &["effective_cpus"]),
            ("cpus", &["cpus"]),
            ("sockets", &["sockets"]),
            ("corespersocket", &["cores"]),
            ("threadspercore", &["threads"]),
            ("realmemory", &["real_memory"]),
            ("memspeclimit", &["specialized_memory"]),
            ("features", &["features"]),
            ("gres", &["gres"]),
            ("weight", &["weight"]),
        ];
        records.push(mapped(Kind::Node, &node, &keys));
    }
    for partition in list("partitions") {
        let keys = [
            ("partitionname", &["name"][..]),
            ("nodes", &["nodes", "configured"]),
            ("maxtime", &["maximums", "time"]),
            ("defaulttime", &["defaults", "time"]),
            ("maxnodes", &["maximums", "nodes"]),
            ("minnodes", &["minimums", "nodes"]),
            ("maxcpuspernode", &["maximums", "cpus_per_node"]),
            ("prioritytier", &["priority", "tier"]),
            ("priorityjobfactor", &["priority", "job_factor"]),
            ("qos", &["qos", "assigned"]),
            ("state", &["partition", "state"]),
            ("defmempercpu", &["defaults", "partition_memory_per_cpu"]),
        ];
        records.push(mapped(Kind::Partition, &partition, &keys));
    }
    Ok(records)
}

fn mapped(kind: Kind, value: &Value, keys: &[(&str, &[&str])]) -> Record {
    let mut values = BTreeMap::new();
    for (key, path) in keys {
        let found = path.iter().try_fold(value, |value, step| value.get(step));
        if let Some(text) = found.and_then(plain) {
            values.insert((*key).to_owned(), text);
        }
    }
    Record {
        kind,
        line: None,
        values,
        ..Record::default()
    }
}
