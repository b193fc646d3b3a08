//! TOML texts: their values, where their keys stand, and what is wrong with them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Document, Item, TableLike, TomlError, Value};

use crate::error::SpecError;

/// The values of a TOML text.
///
/// # Errors
/// If it is no TOML, or has a date or a number that is not finite, which no key takes; the
/// message says line and column, and what was probably meant.
pub fn toml_value(text: &str) -> Result<Json, SpecError> {
    let document = parsed(text)?;
    json_of_table(text, document.as_table())
}

fn parsed(text: &str) -> Result<Document<&str>, SpecError> {
    Document::parse(text).map_err(|error| no_toml(text, &error))
}

fn json_of_table(text: &str, table: &dyn TableLike) -> Result<Json, SpecError> {
    let entries = table
        .iter()
        .map(|(key, item)| Ok((key.to_owned(), json_of_item(text, item)?)));
    Ok(Json::Object(entries.collect::<Result<_, SpecError>>()?))
}

fn json_of_item(text: &str, item: &Item) -> Result<Json, SpecError> {
    match item {
        Item::None => Ok(Json::Null),
        Item::Value(value) => json_of_value(text, value),
        Item::Table(table) => json_of_table(text, table),
        Item::ArrayOfTables(tables) => (tables.iter())
            .map(|table| json_of_table(text, table))
            .collect(),
    }
}

fn json_of_value(text: &str, value: &Value) -> Result<Json, SpecError> {
    let at = value.span().map_or(0, |span| span.start);
    Ok(match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) if number.value().is_finite() => (*number.value()).into(),
        Value::Float(number) => {
            let found = format!("found {}; allowed: a finite number", number.value());
            return Err(at_place(text, at, &found));
        }
        Value::Boolean(answer) => (*answer.value()).into(),
        Value::Datetime(date) => {
            let found = format!("found {}; no key takes a date", date.value());
            return Err(at_place(text, at, &found));
        }
        Value::Array(values) => (values.iter())
            .map(|value| json_of_value(text, value))
            .collect::<Result<_, SpecError>>()?,
        Value::InlineTable(table) => json_of_table(text, table)?,
    })
}

/// What is wrong with a text that is no TOML.
fn no_toml(text: &str, error: &TomlError) -> SpecError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let said = match error.message() {
        // What the library says of its own stack.
        said if said.contains("recurse") => "is nested too deeply".to_owned(),
        said => said.replace('\n', ", "),
    };
    at_place(text, at, &said)
}

/// A mistake at a place of a text, with its line and what was probably meant there.
fn at_place(text: &str, at: usize, message: &str) -> SpecError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let source = text.lines().nth(line - 1).unwrap_or_default().trim();
    let hint = without_quotes(source).map_or_else(String::new, |(what, value)| {
        format!(" ({what} in quotes: \"{value}\")")
    });
    let shown: String = source.chars().take(100).collect();
    let message = format!("line {line}, column {column}: {message}: {shown}{hint}");
    let mut error = SpecError::new("", message);
    (error.found, error.allowed) = (Some(shown), Some("valid TOML".to_owned()));
    error
}

/// The value of a line of TOML that lacks its quotes, and what it is.
fn without_quotes(line: &str) -> Option<(&'static str, &str)> {
    let values = line.split('=').skip(1).map(|rest| {
        let end = rest.find([',', '}', ']', '#']).unwrap_or(rest.len());
        rest[..end].trim()
    });
    let is_bare = |value: &&str| {
        let is_plain = |c: char| c.is_alphanumeric() || " ._+-/%".contains(c);
        let is_value = ["true", "false"].contains(value);
        !is_value && value.contains(char::is_alphabetic) && value.chars().all(is_plain)
    };
    let value = values.into_iter().find(is_bare)?;
    Some(match value.starts_with(|c: char| c.is_ascii_digit()) {
        true => ("quantities are texts", value),
        false => ("texts are", value),
    })
}

/// Line, from 1, of every key and of every table and value of a list, by its path, such as
/// `job[1].motif.message`.
///
/// # Errors
/// If the text is no TOML.
pub fn key_lines(text: &str) -> Result<BTreeMap<String, usize>, SpecError> {
    let document = parsed(text)?;
    let mut lines = Lines {
        ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        found: BTreeMap::new(),
    };
    lines.table("", document.as_table());
    Ok(lines.found)
}

/// Lines that have been found.
struct Lines {
    /// Where lines end.
    ends: Vec<usize>,
    found: BTreeMap<String, usize>,
}

impl Lines {
    fn add(&mut self, path: &str, span: Option<Range<usize>>) {
        if let Some(span) = span {
            let line = self.ends.partition_point(|end| *end < span.start) + 1;
            self.found.insert(path.to_owned(), line);
        }
    }

    fn table(&mut self, path: &str, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let inner = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            let span = table.get_key_value(name).and_then(|(key, _)| key.span());
            // Of a table that is written in several places, its header.
            let header = item.as_table().filter(|inner| !inner.is_implicit());
            self.add(&inner, header.and_then(toml_edit::Table::span).or(span));
            self.item(&inner, item);
        }
    }

    fn item(&mut self, path: &str, item: &Item) {
        match item {
            Item::None => {}
            Item::Value(value) => self.value(path, value),
            Item::Table(table) => self.table(path, table),
            Item::ArrayOfTables(tables) => {
                for (position, table) in tables.iter().enumerate() {
                    let inner = format!("{path}[{position}]");
                    self.add(&inner, table.span());
                    self.table(&inner, table);
                }
            }
        }
    }

    fn value(&mut self, path: &str, value: &Value) {
        match value {
            Value::Array(values) => {
                for (position, value) in values.iter().enumerate() {
                    let inner = format!("{path}[{position}]");
                    self.add(&inner, value.span());
                    self.value(&inner, value);
                }
            }
            Value::InlineTable(table) => self.table(path, table),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_the_line_on_which_it_stands() {
        let text = "title = \"x\"\n\n[network.links]\nlocal = { latency = \"1 ns\" }\n\
                    \n[network]\np = 2\nrouter.delay = \"1 ns\"\nsize = [\n 4,\n 5\n]\n\
                    [[job]]\nnodes = 2\n[[job]]\nmotif.kind = \"x\"\n[job.placement]\na = 1\n";
        let lines = key_lines(text).unwrap();
        for (path, line) in [
            ("title", 1),
            ("network.links", 3),
            ("network.links.local", 4),
            ("network.links.local.latency", 4),
            ("network", 6),
            ("network.p", 7),
            ("network.router", 8),
            ("network.router.delay", 8),
            ("network.size", 9),
            ("network.size[0]", 10),
            ("network.size[1]", 11),
            ("job[0]", 13),
            ("job[0].nodes", 14),
            ("job[1]", 15),
            ("job[1].motif.kind", 16),
            ("job[1].placement", 17),
            ("job[1].placement.a", 18),
        ] {
            assert_eq!(lines.get(path), Some(&line), "{path}");
        }
        assert!(key_lines("a = ").is_err());
    }

    #[test]
    fn what_is_no_toml_has_a_place_and_what_was_probably_meant() {
        let error = |text: &str| toml_value(text).unwrap_err().message;
        for (text, place, words) in [
            (
                "[network]\nfamily = dragonfly",
                "line 2, column 10",
                "texts are in quotes: \"dragonfly\"",
            ),
            (
                "a = 1\nb = 10 ns # x",
                "line 2",
                "quantities are texts in quotes: \"10 ns\"",
            ),
            (
                "x = { latency = \"1 ns\", bandwidth = 1 GB/s }",
                "line 1",
                "\"1 GB/s\"",
            ),
            (
                "x = nan",
                "line 1, column 5",
                "found NaN; allowed: a finite number",
            ),
            ("x = 1979-05-27", "line 1, column 5", "no key takes a date"),
        ] {
            let message = error(text);
            assert!(message.starts_with(place), "{message}");
            assert!(message.contains(words), "{message}");
        }
        assert!(!error("x = [1").contains("quotes"));
    }
}
