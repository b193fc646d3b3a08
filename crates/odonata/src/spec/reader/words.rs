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
/// has to change, or it is the only one that begins so.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let word = &folded(word);
    let distances = known.iter().map(|one| (edits(word, &folded(one)), *one));
    let (edits, found) = distances.min_by_key(|(edits, _)| *edits)?;
    if 3 * edits <= word.chars().count().max(found.chars().count()) {
        return Some(found);
    }
    // Of several that begin so the shortest, of which the others are variants.
    let begun = known.iter().filter(|one| one.starts_with(word));
    let mut longer = known
        .iter()
        .filter(|one| one.len() > 2 && word.starts_with(**one));
    let shortest = begun
        .min_by_key(|one| one.len())
        .filter(|_| !word.is_empty());
    shortest.or_else(|| longer.next()).copied()
}

/// Letters to insert, remove, exchange or swap with the next between two words (Damerau 1964,
/// without changes between letters that were swapped).
fn edits(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let width = other.len() + 1;
    let mut table = vec![0; (one.len() + 1) * width];
    for i in 0..=one.len() {
        for j in 0..width {
            let at = |i: usize, j: usize| table[i * width + j];
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let exchanged = at(i - 1, j - 1) + usize::from(one[i - 1] != other[j - 1]);
                let changed = exchanged.min(at(i - 1, j) + 1).min(at(i, j - 1) + 1);
                let are_swapped =
                    i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                match are_swapped {
                    true => changed.min(at(i - 2, j - 2) + 1),
                    false => changed,
                }
            };
        }
    }
    table[one.len() * width + other.len()]
}
