//! Where the keys of a TOML text stand.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::error::SpecError;

/// Line, from 1, of every key and of every table and value of a list, by its path, such as
/// `job[1].motif.message`.
///
/// # Errors
/// If the text is no TOML.
pub fn key_lines(text: &str) -> Result<BTreeMap<String, usize>, SpecError> {
    let document = Document::parse(text).map_err(|error| SpecError::new("", error.to_string()))?;
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
}
