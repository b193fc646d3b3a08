//! Whether two scenarios give the same result.

use serde_json::Value;

use crate::spec::Scenario;

/// All of a scenario that decides about its result.
pub(super) fn of(scenario: &Scenario) -> Value {
    let mut value = serde_json::to_value(scenario).unwrap_or_default();
    if let Value::Object(keys) = &mut value {
        keys.remove("title");
        if let Some(Value::Object(simulation)) = keys.get_mut("simulation") {
            simulation.remove("threads");
        }
    }
    value
}

/// The first key that differs, and its value in either.
pub(super) fn first_difference(one: &Value, other: &Value) -> Option<(String, String, String)> {
    difference(one, other, "").map(|(path, one, other)| (key_in_files(&path), one, other))
}

fn difference(one: &Value, other: &Value, path: &str) -> Option<(String, String, String)> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().collect();
            keys.extend(b.keys().filter(|&key| !a.contains_key(key)));
            keys.into_iter().find_map(|key| {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                difference(&a[key.as_str()], &b[key.as_str()], &path)
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let none = Value::Null;
            (0..a.len().max(b.len())).find_map(|index| {
                let (a, b) = (a.get(index), b.get(index));
                let path = format!("{path}[{index}]");
                difference(a.unwrap_or(&none), b.unwrap_or(&none), &path)
            })
        }
        _ if one == other => None,
        _ => Some((path.to_owned(), shown(one), shown(other))),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => {
            let text = value.to_string();
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{} …", &text[..end]),
                None => text,
            }
        }
    }
}

/// What people call a key of the normalised scenario.
fn key_in_files(path: &str) -> String {
    let path = path
        .replacen("network.topology.", "network.", 1)
        .replacen("jobs[", "job[", 1)
        .replacen("record.messages_every", "record.messages", 1);
    match path.as_str() {
        "network.routing.algorithm" => "network.routing".to_owned(),
        _ => ["_bytes_per_s", "_bytes", "_ps"]
            .iter()
            .find_map(|unit| path.strip_suffix(unit))
            .unwrap_or(&path)
            .to_owned(),
    }
}
