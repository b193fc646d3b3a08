//! Chakra execution traces: per rank a graph of computations, messages and collectives,
//! in protobuf (`.et`) or JSON.
//!
//! Format: mlcommons/chakra, `schema/protobuf/et_def.proto`, versions 0.0.4 on: messages
//! with their lengths in front, a `GlobalMetadata` and then a `Node` each. JSON comes in
//! three forms: the same messages as protobuf prints them, one after the other; the
//! `workload_graph` of ASTRA-sim; and the trace of the host that PyTorch writes, of which
//! Chakra's converter makes the others.

mod archive;
mod json;
mod wire;

use std::collections::BTreeMap;

pub use archive::{Member, is_archive, members};

use crate::error::{Position, TraceError};
use wire::Fault;

/// How a trace is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Protobuf messages with their lengths in front.
    Protobuf,
    /// The same messages as JSON, one after the other.
    Json,
    /// One JSON object with a `workload_graph`.
    WorkloadGraph,
    /// The JSON of PyTorch's execution trace observer: what the host did, without kernels.
    PyTorch,
}

impl Form {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protobuf => "protobuf",
            Self::Json => "JSON messages",
            Self::WorkloadGraph => "JSON workload graph",
            Self::PyTorch => "PyTorch execution trace of the host",
        }
    }

    /// What a file is that begins so; `None`: no Chakra trace.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        if wire::begins_trace(start) {
            return Some(Self::Protobuf);
        }
        json::form_of_start(start)
    }
}

/// What a node of a trace is (`NodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `INVALID_NODE`, and the operators of the host.
    Invalid,
    /// Facts about the trace.
    Metadata,
    /// Loads from memory.
    MemoryLoad,
    /// Stores to memory.
    MemoryStore,
    /// Computes.
    Compute,
    /// Sends a message.
    Send,
    /// Receives a message.
    Receive,
    /// Takes part in a collective.
    Collective,
    /// An access to storage.
    Storage,
    /// `BATCH_NODE`.
    Batch,
    /// `CHECKPOINT_NODE`.
    Checkpoint,
    /// A number that the schema has no name for.
    Unknown(u64),
}

impl Kind {
    const NAMED: [(Self, &'static str, &'static str); 11] = [
        (Self::Invalid, "INVALID_NODE", "invalid node"),
        (Self::Metadata, "METADATA_NODE", "metadata"),
        (Self::MemoryLoad, "MEM_LOAD_NODE", "memory load"),
        (Self::MemoryStore, "MEM_STORE_NODE", "memory store"),
        (Self::Compute, "COMP_NODE", "compute"),
        (Self::Send, "COMM_SEND_NODE", "send"),
        (Self::Receive, "COMM_RECV_NODE", "receive"),
        (Self::Collective, "COMM_COLL_NODE", "collective"),
        (Self::Storage, "STORAGE_NODE", "storage access"),
        (Self::Batch, "BATCH_NODE", "batch"),
        (Self::Checkpoint, "CHECKPOINT_NODE", "checkpoint"),
    ];

    fn of_number(number: u64) -> Self {
        let named = usize::try_from(number)
            .ok()
            .and_then(|n| Self::NAMED.get(n));
        named.map_or(Self::Unknown(number), |named| named.0)
    }

    fn of_schema_name(name: &str) -> Option<Self> {
        let mut named = Self::NAMED.iter();
        named.find(|named| named.1 == name).map(|named| named.0)
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        let mut named = Self::NAMED.iter();
        let found = named.find(|named| named.0 == self);
        found.map_or("node of an unknown type", |named| named.2)
    }
}

/// An operation of a process group (`CollectiveCommType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// `ALL_REDUCE`.
    AllReduce,
    /// `REDUCE`.
    Reduce,
    /// `ALL_GATHER`.
    AllGather,
    /// `GATHER`.
    Gather,
    /// `SCATTER`.
    Scatter,
    /// `BROADCAST`.
    Broadcast,
    /// `ALL_TO_ALL`.
    AllToAll,
    /// `REDUCE_SCATTER`, `REDUCE_SCATTER_BLOCK`.
    ReduceScatter,
    /// `BARRIER`.
    Barrier,
}

impl Collective {
    /// The operation of a `comm_type`.
    pub fn of_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::AllReduce,
            1 => Self::Reduce,
            2 => Self::AllGather,
            3 => Self::Gather,
            4 => Self::Scatter,
            5 => Self::Broadcast,
            6 => Self::AllToAll,
            7 | 8 => Self::ReduceScatter,
            9 => Self::Barrier,
            _ => return None,
        })
    }
}

/// The value of an attribute; the widths of numbers are not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Whether something is so.
    Bool(bool),
    /// A whole number of a type with a sign.
    Signed(i64),
    /// A whole number of a type without a sign.
    Unsigned(u64),
    /// A number with a fraction.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Values of one type.
    List(Vec<Value>),
    /// None is given.
    Missing,
}

impl Value {
    /// As a whole number that is not negative.
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Signed(number) => u64::try_from(*number).ok(),
            Self::Unsigned(number) => Some(*number),
            _ => None,
        }
    }
}

/// An attribute of a node or of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// What goes into an operator or comes out of it, as texts (`IOInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensors {
    /// Values.
    pub values: String,
    /// Shapes.
    pub shapes: String,
    /// Types.
    pub types: String,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number, by which others depend on it.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Nodes that must have ended because the program orders them so; of the host's
    /// operators the one that called it.
    pub ctrl_deps: Vec<u64>,
    /// Nodes that must have ended because it takes their data.
    pub data_deps: Vec<u64>,
    /// When it started, µs.
    pub start_micros: u64,
    /// How long it took, µs.
    pub duration_micros: u64,
    /// What went in.
    pub inputs: Tensors,
    /// What came out.
    pub outputs: Tensors,
    /// The rest.
    pub attributes: Vec<Attribute>,
    /// Fields that the schema does not have, or that are not read (`storage`).
    pub skipped: u64,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            id: 0,
            name: String::new(),
            kind: Kind::Invalid,
            ctrl_deps: Vec::new(),
            data_deps: Vec::new(),
            start_micros: 0,
            duration_micros: 0,
            inputs: Tensors::default(),
            outputs: Tensors::default(),
            attributes: Vec::new(),
            skipped: 0,
        }
    }
}

impl Node {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|attribute| attribute.name == name);
        found.map(|attribute| &attribute.value)
    }
}

/// What a trace says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// How it is written down.
    pub form: Form,
    /// Version of the schema; empty if it is not given.
    pub version: String,
    /// The rest, but for the version.
    pub attributes: Vec<Attribute>,
}

/// Reads the trace of a rank and hands over its nodes in their order; `file` is its name in
/// messages. Memory: the node, and of JSON the whole file.
///
/// # Errors
/// If the file is of no form that is known, damaged or truncated; what `each` answers.
pub fn read(
    bytes: &[u8],
    file: &str,
    each: &mut dyn FnMut(Node) -> Result<(), String>,
) -> Result<Header, TraceError> {
    match Form::of_start(bytes) {
        Some(Form::Protobuf) => wire::read(bytes, each)
            .map_err(|Fault { at, reason }| TraceError::new(file, Position::Byte(at), reason)),
        Some(form) => json::read(bytes, form, file, each),
        None => Err(TraceError::new(
            file,
            Position::Whole,
            "is no Chakra trace: neither protobuf messages that begin with their metadata, nor \
             JSON with a workload_graph or nodes with dependencies",
        )),
    }
}

/// The version among a trace's attributes, as PyTorch's are named, if there is one.
fn version_of(attributes: &mut Vec<Attribute>) -> String {
    let place = attributes.iter().position(|one| one.name == "schema");
    match place.map(|place| attributes.remove(place).value) {
        Some(Value::Text(version)) => version,
        _ => String::new(),
    }
}

/// A process group as a trace defines it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ProcessGroup {
    /// Its name.
    #[serde(rename = "pg_name")]
    pub name: String,
    /// Its members; none where they are not listed.
    #[serde(default)]
    pub ranks: Vec<u32>,
    /// How many there are.
    #[serde(default)]
    pub group_size: Option<u32>,
}

/// The process groups that a node defines (`## process_group:init ##` of PyTorch); `None` if
/// it is no such node.
///
/// # Errors
/// If it is one and says nothing that can be read.
pub fn process_groups(node: &Node) -> Option<Result<Vec<ProcessGroup>, String>> {
    if !node.name.contains("process_group:init") {
        return None;
    }
    // A list in JSON, within a list with one text, of JSON or as Python prints it.
    let values = &node.inputs.values;
    let list = match (values.find("[{"), values.rfind("}]")) {
        (Some(start), Some(end)) if start < end => values[start..end + 2].replace("\\\"", "\""),
        _ => "[]".to_owned(),
    };
    let groups = serde_json::from_str(&list);
    Some(groups.map_err(|error| format!("process groups that cannot be read: {error}")))
}

/// Reads the members of process groups as ASTRA-sim has them: `{"1": [0, 1, 2, 3]}`.
///
/// # Errors
/// If it is not that.
pub fn read_groups(text: &[u8], file: &str) -> Result<BTreeMap<String, Vec<u32>>, TraceError> {
    serde_json::from_slice(text).map_err(|error| {
        let line = Position::Line(error.line() as u64);
        let reason = format!("is no list of ranks by process group: {error}");
        TraceError::new(file, line, reason)
    })
}

#[cfg(test)]
mod tests;
