//! The JSON forms.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{Attribute, Form, Header, Kind, Node, Tensors, Value, version_of};
use crate::error::{Position, TraceError};

type Object = Map<String, Json>;

/// A file that is one object with all nodes; whatever else it says is not read.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    schema: String,
    #[serde(alias = "workload_graph")]
    nodes: Vec<Object>,
}

/// Names of the words by which a trace is recognised, and what form it is.
const WORDS: [(&str, Form); 6] = [
    ("\"workload_graph\"", Form::WorkloadGraph),
    ("\"nodes\"", Form::PyTorch),
    ("\"ctrlDeps\"", Form::Json),
    ("\"dataDeps\"", Form::Json),
    ("_NODE\"", Form::Json),
    ("\"version\"", Form::Json),
];

pub(super) fn form_of_start(start: &[u8]) -> Option<Form> {
    let start = &start[..start.len().min(4096)];
    let text = String::from_utf8_lossy(start);
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let form = WORDS.iter().find(|(word, _)| text.contains(word))?.1;
    // Other JSON files have nodes too: PyTorch's trace says what it is.
    (form != Form::PyTorch || text.contains("\"schema\"")).then_some(form)
}

pub(super) fn read(
    bytes: &[u8],
    form: Form,
    file: &str,
    each: &mut dyn FnMut(Node) -> Result<(), String>,
) -> Result<Header, TraceError> {
    let damaged = |error: serde_json::Error| {
        let line = Position::Line(error.line() as u64);
        TraceError::new(file, line, format!("is no such JSON: {error}"))
    };
    let mut header = Header {
        form,
        version: String::new(),
        attributes: Vec::new(),
    };
    let mut hand_over = |number: usize, object: Object| {
        let node = node(object).and_then(&mut *each);
        node.map_err(|reason| {
            let reason = format!("node {} of the file: {reason}", number + 1);
            TraceError::new(file, Position::Whole, reason)
        })
    };
    if form != Form::Json {
        let document: Document = serde_json::from_slice(bytes).map_err(damaged)?;
        header.version = document.schema;
        for (number, object) in document.nodes.into_iter().enumerate() {
            hand_over(number, object)?;
        }
        return Ok(header);
    }
    let mut nodes = 0;
    for object in serde_json::Deserializer::from_slice(bytes).into_iter::<Object>() {
        let object = object.map_err(damaged)?;
        // The metadata has no number; a node with number 0 has a type.
        if nodes == 0
            && !["id", "name", "type"]
                .iter()
                .any(|key| object.contains_key(*key))
        {
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("version", Json::String(version)) => header.version = version,
                    ("attr", Json::Array(list)) => {
                        header
                            .attributes
                            .extend(list.into_iter().filter_map(attribute));
                    }
                    _ => {}
                }
            }
            if header.version.is_empty() {
                header.version = version_of(&mut header.attributes);
            }
            continue;
        }
        hand_over(nodes, object)?;
        nodes += 1;
    }
    Ok(header)
}

/// A whole number, which protobuf writes as text if it may have 64 bits.
fn unsigned(value: &Json) -> Option<u64> {
    match value {
        Json::String(digits) => digits.parse().ok(),
        value => value.as_u64(),
    }
}

/// A node from its fields by any of their names; others become attributes.
fn node(object: Object) -> Result<Node, String> {
    let mut node = Node::default();
    for (key, value) in object {
        let wrong = || {
            let value = odonata_files::shown(value.to_string().as_bytes());
            format!("{key:?} is {value}, which is none")
        };
        let number = || unsigned(&value).ok_or_else(wrong);
        match key.as_str() {
            "id" | "Id" => node.id = number()?,
            "name" | "Name" => {
                node.name = value.as_str().ok_or_else(wrong)?.to_owned();
            }
            "type" | "NodeType" => {
                node.kind = match &value {
                    Json::String(name) => Kind::of_schema_name(name).ok_or_else(wrong)?,
                    _ => Kind::of_number(number()?),
                };
            }
            "ctrl_deps" | "ctrlDeps" => node.ctrl_deps = numbers(&value).ok_or_else(wrong)?,
            "data_deps" | "dataDeps" => node.data_deps = numbers(&value).ok_or_else(wrong)?,
            "start_time_micros" | "startTimeMicros" => node.start_micros = number()?,
            "duration_micros" | "durationMicros" | "runtime" => node.duration_micros = number()?,
            "inputs" => node.inputs = tensors(&value),
            "outputs" => node.outputs = tensors(&value),
            "attr" | "attrs" => match value {
                Json::Array(list) => {
                    node.attributes
                        .extend(list.into_iter().filter_map(attribute));
                }
                _ => return Err(wrong()),
            },
            _ => node.attributes.push(Attribute {
                name: key,
                value: value_of("", value),
            }),
        }
    }
    Ok(node)
}

/// Numbers of nodes: a list, or one.
fn numbers(value: &Json) -> Option<Vec<u64>> {
    match value {
        Json::Array(list) => list.iter().map(unsigned).collect(),
        value => unsigned(value).map(|one| vec![one]),
    }
}

fn tensors(value: &Json) -> Tensors {
    let text = |key| match value.get(key) {
        None => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Tensors {
        values: text("values"),
        shapes: text("shapes"),
        types: text("types"),
    }
}

/// An attribute: `{"name", "type", "value"}` of PyTorch, or `{"name", "int64Val"}` of
/// protobuf.
fn attribute(value: Json) -> Option<Attribute> {
    let Json::Object(mut object) = value else {
        return None;
    };
    let name = match object.remove("name") {
        Some(Json::String(name)) => name,
        _ => String::new(),
    };
    let kind = match object.remove("type") {
        Some(Json::String(kind)) => kind,
        _ => String::new(),
    };
    let other = |key: &String| !["doc_string", "docString"].contains(&key.as_str());
    let value = match object.remove("value") {
        Some(value) => value_of(&kind, value),
        None => match object.into_iter().find(|(key, _)| other(key)) {
            Some((key, value)) => value_of(&key, value),
            None => Value::Missing,
        },
    };
    Some(Attribute { name, value })
}

/// A value of a type by its name in either form; without a name as JSON has it.
fn value_of(kind: &str, value: Json) -> Value {
    match value {
        Json::Null => Value::Missing,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => {
            let real = kind.starts_with("double") || kind.starts_with("float");
            match (number.as_u64(), number.as_i64()) {
                (Some(value), None) if !real => Value::Unsigned(value),
                (Some(value), _) if !real && kind.starts_with(['u', 'f']) => Value::Unsigned(value),
                (_, Some(value)) if !real => Value::Signed(value),
                _ => Value::Real(number.as_f64().unwrap_or(f64::NAN)),
            }
        }
        Json::String(text) => {
            let whole = kind.contains("int") || kind.contains("fixed");
            match (text.parse::<i64>(), text.parse::<u64>()) {
                (_, Ok(value)) if whole && kind.starts_with(['u', 'f']) => Value::Unsigned(value),
                (Ok(value), _) if whole => Value::Signed(value),
                _ => Value::Text(text),
            }
        }
        Json::Array(list) => Value::List(
            list.into_iter()
                .map(|value| value_of(kind, value))
                .collect(),
        ),
        Json::Object(mut object) => match object.remove("values") {
            Some(values) => value_of(kind, values),
            None => Value::Text(Json::Object(object).to_string()),
        },
    }
}
