//! Chakra execution traces as graphs: one file per rank, `NAME.RANK.et` or `NAME.RANK.json`,
//! or an archive of such files.
//!
//! - **Computing** takes the recorded time on the rank's GPU or, where `is_cpu_op` says so,
//!   on its CPU. Messages and collectives have a processor of their own, so that they go on
//!   beside it; what a CPU does for one is computing.
//! - **Messages** go between ranks of the job (`comm_src`, `comm_dst`) and match by sender
//!   and `comm_tag`.
//! - **Collectives** are those of the process group `pg_name`, all ranks without one. The
//!   sizes (`comm_size`) are what a rank puts in. The members' collectives of a group match in
//!   the order in which their files have them.
//! - **Members** of a group are those that the trace lists (`process_group:init`), those of
//!   `comm_group.json` beside it, or the ranks that take part.

mod files;
mod graph;
mod groups;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use odonata_traces::chakra::{self, Form, Kind as NodeKind, Node, Value};
use odonata_traces::{Position, TraceError};
use odonata_units::{Bytes, Picoseconds, RankId};

use files::Files;
use graph::RankGraph;
use groups::Groups;

use super::facts::TraceFacts;
use super::format::{Counter, Start, TraceFormat};
use super::schedule::{self, Scheduled};
use super::{Kind, Options};

/// Processors of a rank: its GPU, its CPU, and what carries messages.
const GPU: u8 = 0;
const CPU: u8 = 1;
const NETWORK: u8 = 2;
const PROCESSORS: u8 = 3;

/// Unit of durations.
const MICROSECOND: Picoseconds = Picoseconds(1_000_000);

/// Attributes that a replay looks at.
const KNOWN: [&str; 9] = [
    "is_cpu_op",
    "comm_type",
    "comm_size",
    "comm_src",
    "comm_dst",
    "comm_tag",
    "pg_name",
    "root_rank",
    "schema",
];

/// The traces of all ranks of a job.
pub(super) struct Chakra;

impl TraceFormat for Chakra {
    fn recognises(start: &Start<'_>) -> bool {
        chakra::is_archive(start.bytes) || Form::of_start(start.bytes).is_some()
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let files = Files::of(path)?;
        counter.summary.ranks = files.traces().len() as u64;
        let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
        let (mut edges, mut missing, mut skipped) = (0, 0, 0);
        for (index, file) in files.traces().iter().enumerate() {
            let content = files.content(file)?;
            let mut ids = Vec::new();
            let mut wanted = Vec::new();
            let header = chakra::read(&content, &file.name, &mut |node| {
                let bytes = match node.kind {
                    NodeKind::Send => unsigned(&node, "comm_size")?.unwrap_or(0),
                    _ => 0,
                };
                counter.add(&kind_name(&node), bytes, || {
                    format!(
                        "rank {index}: node {} {:?}: {}, after {:?}",
                        node.id,
                        node.name,
                        kind_name(&node),
                        graph::dependencies(&node)
                    )
                });
                ids.push(node.id);
                skipped += node.skipped;
                edges += (node.ctrl_deps.len() + node.data_deps.len()) as u64;
                wanted.extend(graph::dependencies(&node));
                for attribute in node.attributes {
                    if !KNOWN.contains(&attribute.name.as_str()) {
                        *unknown.entry(attribute.name).or_default() += 1;
                    }
                }
                Ok(())
            })?;
            ids.sort_unstable();
            if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
                let reason = format!("two nodes have the number {}", pair[0]);
                return Err(TraceError::new(&file.name, Position::Whole, reason));
            }
            let lacks = wanted.iter().filter(|id| ids.binary_search(id).is_err());
            missing += lacks.count();
            if index == 0 {
                counter.fact("form", header.form.name());
                counter.fact("version", header.version);
            }
        }
        counter.fact("dependencies", edges);
        if missing > 0 {
            counter.fact("dependencies on nodes that are missing", missing);
        }
        if skipped > 0 {
            counter.fact("fields that are not read", skipped);
        }
        if !unknown.is_empty() {
            let list = unknown.iter();
            let list = list.map(|(name, count)| format!("{name} {count}"));
            let list = list.collect::<Vec<_>>().join(", ");
            counter.fact("attributes that a replay does not use", list);
        }
        if !files.others().is_empty() {
            counter.fact("other files of the archive", files.others().join(", "));
        }
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        open(path, options).map(Kind::scheduled)
    }

    fn other_files(path: &Path) -> Vec<PathBuf> {
        Files::of(path).map_or_else(|_| Vec::new(), |files| files.other_paths(path))
    }
}

/// What a node counts as.
fn kind_name(node: &Node) -> String {
    let collective = node.attribute("comm_type").and_then(Value::unsigned);
    match (
        node.kind,
        collective.and_then(chakra::Collective::of_number),
    ) {
        (NodeKind::Collective, Some(collective)) => {
            groups::shape(collective, 0, 1, 0).name().to_owned()
        }
        (NodeKind::Unknown(number), _) => format!("node of type {number}"),
        (kind, _) => kind.name().to_owned(),
    }
}

/// An attribute that is a whole number, if the node has it.
fn unsigned(node: &Node, name: &str) -> Result<Option<u64>, String> {
    match node.attribute(name) {
        None => Ok(None),
        Some(value) => match value.unsigned() {
            Some(number) => Ok(Some(number)),
            None => Err(format!(
                "node {}: {name} is {value:?}; allowed: a whole number from 0 on",
                node.id
            )),
        },
    }
}

/// Reads all ranks.
fn open(path: &Path, options: Options) -> Result<Scheduled, TraceError> {
    let files = Files::of(path)?;
    files.check_one_job(path)?;
    let ranks = files.traces().len() as u32;
    let mut facts = TraceFacts {
        ranks,
        ..TraceFacts::default()
    };
    let mut groups = Groups::new(files.groups()?);
    let mut graphs = Vec::with_capacity(ranks as usize);
    let mut messages: BTreeMap<(u32, u32, u32), i64> = BTreeMap::new();
    for (rank, file) in (0..).map(RankId).zip(files.traces()) {
        let content = files.content(file)?;
        let fail = |reason: String| TraceError::new(&file.name, Position::Whole, reason);
        if Form::of_start(&content) == Some(Form::PyTorch) {
            return Err(fail(
                "is PyTorch's trace of the host, without durations and kernels; what is replayed \
                 is the trace that chakra_trace_link and chakra_converter make of it"
                    .to_owned(),
            ));
        }
        let mut builder = graph::Builder::new(rank, ranks);
        chakra::read(&content, &file.name, &mut |node| {
            builder.add(&node, &mut facts, &mut groups)
        })?;
        for (message, count) in builder.messages() {
            *messages.entry(message).or_default() += count;
        }
        graphs.push(builder.finish(&mut facts).map_err(fail)?);
    }
    let fail =
        |reason: String| TraceError::new(&path.display().to_string(), Position::Whole, reason);
    if let Some(((from, to, tag), count)) = messages.iter().find(|(_, count)| **count != 0) {
        let which = match count {
            1.. => "sent and not received",
            _ => "received and not sent",
        };
        return Err(fail(format!(
            "{} messages from rank {from} to rank {to} with tag {tag} are {which}; such a trace \
             would not come to an end",
            count.unsigned_abs()
        )));
    }
    groups
        .resolve(&mut graphs, &options.algorithms, &mut facts)
        .map_err(fail)?;
    Ok(Scheduled::new(
        Box::new(Job(graphs)),
        facts,
        PROCESSORS,
        options.compute,
    ))
}

/// The graphs of all ranks. Memory: some 60 bytes a node and 4 a dependency.
struct Job(Vec<RankGraph>);

impl schedule::Schedule for Job {
    fn graph(&self, rank: RankId) -> Result<Box<dyn schedule::Graph + '_>, TraceError> {
        Ok(Box::new(&self.0[rank.index()]))
    }
}

/// Bytes of a message; an empty one is a message too.
fn message_bytes(bytes: u64) -> Bytes {
    Bytes(bytes.max(1))
}
