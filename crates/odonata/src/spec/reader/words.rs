//! Words of messages.

use serde_json::Value;

pub(super) fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

pub(super) fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

/// A value as messages show it.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(answer) => format!("{answer} (true or false)"),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() > 60 => {
            let start: String = text.chars().take(57).collect();
            format!("\"{start}…\"")
        }
        Value::String(text) => format!("\"{text}\""),
        Value::Array(values) => format!("a list of {}", values.len()),
        Value::Object(_) => "a table".into(),
    }
}

/// The word of a list that another one was probably meant to be: at most a third of it
/// has to change.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distances = known.iter().map(|one| (edits(word, one), *one));
    let (edits, found) = distances.min_by_key(|(edits, _)| *edits)?;
    (3 * edits <= word.chars().count().max(found.chars().count())).then_some(found)
}

/// Letters to insert, remove or exchange between two words (Levenshtein 1966).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, known) in other.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != *known);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[other.len()]
}
