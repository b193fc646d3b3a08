//! What to write instead of words that people know from other programs, papers and places.

use serde_json::Value;

use super::words::{below, describe, nearest, quoted};
use super::{Object, Reader, SHARED, TABLES, declared, families, kinds_of, lists};
use crate::spec::quantity::Quantity;
use crate::spec::table::{KeyDeclaration, Kind};

/// Words that have two spellings, each right in one place: the key, what may be written, and
/// what is meant.
const SPELLINGS: [(&str, &str, &str); 2] = [
    ("kind", "alltoall", "all-to-all"),
    ("operation", "all-to-all", "alltoall"),
];

/// Keys that have two spellings: the list of tables, what may be written, and what is meant. The
/// second is no word of Python's, in which tables are written as well.
const KEY_SPELLINGS: [(&str, &str, &str); 1] = [("draw", "class", "link_class")];

/// Words that are no names of a list, and what to write instead.
const INSTEAD: [(&str, &[&str], &str); 7] = [
    (
        "routing",
        &["adaptive", "ugal", "ar", "adaptive-routing"],
        "adaptive are \"ugal-l\", \"ugal-g\", \"par\" and \"q-adaptive\" between groups, \
         \"minimal-adaptive\" in tori, \"dimwar\" and \"dal\" in HyperX, and \
         { algorithm = \"up-down\", choice = \"by-load\" } in fat trees",
    ),
    (
        "routing",
        &["flow-hash", "hash"],
        "\"ecmp\": one of the shortest paths for each flow, by hash",
    ),
    (
        "routing",
        &["d-mod-k", "dmodk", "static", "deterministic"],
        "{ algorithm = \"up-down\", choice = \"by-destination\" }, which is D-mod-K in fat trees",
    ),
    ("routing", &["dor", "xy", "xyz"], "\"dimension-order\""),
    (
        "placement",
        &[
            "packed",
            "pack",
            "linear",
            "compact",
            "consecutive",
            "block",
            "first-fit",
        ],
        "\"contiguous\": the first free nodes",
    ),
    (
        "placement",
        &["round-robin", "cyclic", "scatter", "scattered"],
        "\"spread\": one node of each group in turn; \"even\": of each router in turn",
    ),
    (
        "pattern",
        &["random", "uniform", "all-to-all", "alltoall"],
        "\"uniform-random\": every message goes to a random rank",
    ),
];

/// What to write instead of a name, if that is known.
pub(super) fn instead(list: &str, word: &str) -> Option<String> {
    let folded = word.to_lowercase().replace('_', "-");
    INSTEAD
        .iter()
        .find(|(of, words, _)| *of == list && words.contains(&folded.as_str()))
        .map(|(_, _, advice)| (*advice).to_owned())
}

/// What to write instead of the name of a motif or of a pattern of traffic.
pub(super) fn instead_of_kind(kinds: &str, word: &str) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let named = |list: &str| {
        let list = lists().iter().find(|one| one.name == list)?;
        let mut entries = list.entries.iter();
        entries.find(|entry| plain(entry.name) == plain(word))
    };
    let other = match kinds {
        "Motif" => {
            if let Some(operation) = named("operation") {
                let operation = operation.name;
                return Some(format!(
                    "kind = \"collective\", operation = \"{operation}\""
                ));
            }
            named("pattern")
                .map(|pattern| format!("traffic = {{ pattern = \"{}\", … }}", pattern.name))
        }
        _ => {
            if let Some(advice) = instead("pattern", word) {
                return Some(advice);
            }
            let motifs = kinds_of("Motif")?.kinds.iter();
            let mut names = motifs.flat_map(|kind| &kind.names);
            let motif = names.find(|name| plain(name) == plain(word));
            motif.map(|motif| format!("motif = {{ kind = \"{motif}\", … }}"))
        }
    };
    other.or_else(|| {
        (kinds == "Motif")
            .then(|| instead("pattern", word))
            .flatten()
    })
}

fn respell_keys(list: &str, value: &mut Value) {
    let Some((_, written, meant)) = KEY_SPELLINGS.iter().find(|(at, ..)| *at == list) else {
        return;
    };
    let tables = value.as_array_mut().into_iter().flatten();
    for table in tables.filter_map(Value::as_object_mut) {
        if !table.contains_key(*meant) {
            let given = table.remove(*written);
            table.extend(given.map(|value| ((*meant).to_owned(), value)));
        }
    }
}

/// The document with every key and word of two spellings as they are declared.
pub(super) fn respelled(document: &mut Value) {
    match document {
        Value::Object(table) => {
            for (key, value) in table {
                respell_keys(key, value);
                let meant = SPELLINGS
                    .iter()
                    .find(|(at, written, _)| at == key && value.as_str() == Some(written));
                match meant {
                    Some((_, _, meant)) => *value = (*meant).into(),
                    None => respelled(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(respelled),
        _ => {}
    }
}

/// Whether a value that is not there would be one of the key's; what it may be.
pub(super) fn takes(key: &KeyDeclaration) -> String {
    match &key.kind {
        Kind::Quantity(name) => Quantity::of(name).allowed(),
        Kind::Name(list) => {
            let entries = lists()
                .iter()
                .find(|one| one.name == *list || one.type_name == list);
            let names = entries.map_or_else(Vec::new, |list| {
                list.entries.iter().map(|entry| entry.name).collect()
            });
            quoted(&names)
        }
        Kind::OneOf(words) => quoted(words),
        Kind::Integer | Kind::Signed => match &key.least {
            Some(least) => format!("a whole number, at least {}", describe(least)),
            None => "a whole number".to_owned(),
        },
        Kind::Number => "a number".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Text | Kind::Written(_) => "a text in quotes".to_owned(),
        Kind::File(_) => "the name of a file in quotes".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Numbers => "a number, a list of numbers, or a text such as \"3-8\"".to_owned(),
        Kind::Table(_) | Kind::Kinds(_) | Kind::Pair(_) | Kind::ByName(_) => "a table".to_owned(),
        Kind::Forms(_) | Kind::Any | Kind::Label => "a value".to_owned(),
    }
}

/// Where a key belongs that stands in a table which does not have it.
pub(super) fn home(key: &str, not_in: &str) -> Option<String> {
    let has = |name: &str| declared(name).is_some_and(|table| table.key(key).is_some());
    let mut places = Vec::new();
    if SHARED.contains(&key)
        || families()
            .iter()
            .any(|family| family.table.key(key).is_some())
    {
        places.push("network".to_owned());
    }
    for (table, name) in [("router", "Router"), ("nic", "Nic"), ("routing", "Routing")] {
        if has(name) {
            places.push(format!("network.{table}"));
        }
    }
    let tables = TABLES.iter().filter(|(_, name)| has(name));
    places.extend(tables.map(|(table, _)| (*table).to_owned()));
    let place = places.into_iter().find(|place| place != not_in)?;
    Some(format!("{place}.{key}"))
}

impl Reader<'_> {
    /// Refuses keys that a table does not have.
    pub(super) fn unknown(&mut self, path: &str, given: &Object, known: &[&str]) {
        for key in given.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = nearest(key, known).map(str::to_owned);
            let is_part_of_job = path.starts_with("job");
            let has_home = !is_part_of_job && !self.is_study;
            let meant = near.or_else(|| has_home.then(|| home(key, path)).flatten());
            let hint = meant.map(|near| format!(" (did you mean `{near}`?)"));
            let allowed = known.join(", ");
            let hint = hint.unwrap_or_default();
            let message = format!("unknown key{hint}; allowed here: {allowed}");
            let mut error = crate::error::SpecError::new(below(path, key), message);
            (error.found, error.allowed) = (Some(format!("the key {key}")), Some(allowed));
            self.add(error);
        }
    }

    /// Says what was found in place of a name, what is allowed, and what was probably meant.
    pub(super) fn no_name(&mut self, path: &str, list: &str, given: &Value, names: &[&str]) {
        let word = given.as_str();
        let advice = word.and_then(|word| instead(list, word));
        let near = || word.and_then(|word| nearest(word, names));
        let hint = match advice {
            Some(advice) => format!(" ({advice})"),
            None => near().map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)")),
        };
        self.refuse(path, describe(given), format!("{}{hint}", quoted(names)));
    }
}
