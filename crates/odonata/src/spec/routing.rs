//! `[network.routing]`: an algorithm with its keys, each declared in the algorithm's own file, and
//! what all algorithms have.

use std::sync::OnceLock;

use odonata_declare::Named;
use odonata_declare::table::OrNumber;
use odonata_network::routing::{AlgorithmName, Keys};
use odonata_run::Decisions;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::reader::put;
use super::table::{KeyDeclaration, Kind, TableDeclaration, is_default, table};

table! {
    /// How packets are routed: an algorithm and its parameters.
    pub struct SharedRouting {
        /// The algorithm.
        algorithm: AlgorithmName = AlgorithmName::default() => Notes::NEEDED,
        /// Virtual channels per link. With more than the algorithm needs, packets
        /// [spread over them](packet-model.md#more-virtual-channels); not with `dfsssp` and
        /// `forwarding-tables`. With fewer, channels are merged, and packets may then wait for each
        /// other forever; `odonata verify` shows whether they can. Default: as many as the algorithm
        /// needs.
        virtual_channels: Option<u8> = None => Notes { least: Some(1.0), most: Some(64.0), ..Notes::NONE },
        /// Whether a router decides for each packet by itself, or only for the first packet of a
        /// message, which the message's other packets follow: then a message has one path and its
        /// packets keep their order (in-order adaptive routing, as on InfiniBand).
        #[serde(skip_serializing_if = "is_default")]
        per: Decisions = Decisions::default(),
    }
}

/// An algorithm with its keys, and the keys that all have.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The algorithm and what is said of it.
    pub keys: Keys,
    /// Virtual channels per link; `None`: as many as it needs.
    pub virtual_channels: Option<u8>,
    /// Whether each packet decides or the first of a message.
    pub per: Decisions,
}

impl Routing {
    /// The algorithm.
    pub fn algorithm(&self) -> AlgorithmName {
        self.keys.algorithm()
    }

    /// All keys with which a scenario may say something of an algorithm, as they stand in the engine's
    /// form, which has one table for all algorithms.
    pub(super) fn of(algorithm: AlgorithmName) -> TableDeclaration {
        let shared = SharedRouting::declaration();
        let mut keys = shared.keys;
        keys.retain(|key| key.key != "per" || algorithm.decides_per_message());
        let own = algorithm.declaration().keys.into_iter();
        keys.extend(own.map(|key| KeyDeclaration {
            within: Vec::new(),
            ..key
        }));
        TableDeclaration { keys, ..shared }
    }

    /// The table with the keys of all algorithms.
    pub fn declaration() -> TableDeclaration {
        let mut all: Vec<Key> = Vec::new();
        for &algorithm in AlgorithmName::ALL {
            for key in Self::of(algorithm).keys {
                match all.iter_mut().find(|one| one.key.key == key.key) {
                    Some(one) => one.join(key, algorithm),
                    None => all.push(Key::new(key, algorithm)),
                }
            }
        }
        TableDeclaration {
            name: "Routing",
            keys: all.into_iter().map(Key::documented).collect(),
            ..SharedRouting::declaration()
        }
    }

    /// The algorithms that take a key.
    pub(super) fn with_key(name: &str) -> Vec<&'static str> {
        let all = AlgorithmName::ALL.iter();
        all.filter(|algorithm| Self::of(**algorithm).key(name).is_some())
            .map(AlgorithmName::name)
            .collect()
    }

    /// What is said of a key that the algorithm does not take and others do.
    pub(super) fn refusal(algorithm: AlgorithmName, key: &str) -> String {
        let own = Self::of(algorithm).keys;
        let own: Vec<&str> = own.iter().map(|key| key.key.as_str()).collect();
        format!(
            "{} routing has no such option, which is for {}: remove it; allowed here: {}",
            algorithm.name(),
            listed(&Self::with_key(key)),
            own.join(", ")
        )
    }
}

/// A key of one or several algorithms.
struct Key {
    key: KeyDeclaration,
    /// What is said of it, and for which algorithms.
    texts: Vec<(String, Vec<&'static str>)>,
}

impl Key {
    fn new(key: KeyDeclaration, algorithm: AlgorithmName) -> Self {
        let texts = vec![(key.text.clone(), vec![algorithm.name()])];
        Self { key, texts }
    }

    /// The same key of another algorithm: maybe with another text, or a number in place of a quantity.
    fn join(&mut self, key: KeyDeclaration, algorithm: AlgorithmName) {
        match self.texts.iter_mut().find(|one| one.0 == key.text) {
            Some((_, algorithms)) => algorithms.push(algorithm.name()),
            None => self.texts.push((key.text, vec![algorithm.name()])),
        }
        if let (Kind::Quantity(_), Kind::Number) = (&self.key.kind, key.kind) {
            self.key.number = Some(OrNumber {
                key: key.engine_key,
                called: key.called.unwrap_or("a number"),
                least: key.least.as_ref().and_then(Value::as_f64).unwrap_or(0.0),
                most: key.most.as_ref().and_then(Value::as_f64),
            });
        }
    }

    /// The key, with a text that says what it is for which algorithms.
    fn documented(mut self) -> KeyDeclaration {
        let quoted = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            listed(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let all = AlgorithmName::NAMES;
        let parts = self.texts.iter().map(|(text, taken)| {
            let others: Vec<&str> = (all.iter().copied())
                .filter(|name| !taken.contains(name))
                .collect();
            match others.len() {
                0 => text.clone(),
                few if few < all.len() / 2 => format!("{text}\nNot with {}.", quoted(&others)),
                _ => format!("With {}: {}", quoted(taken), text_inside(text)),
            }
        });
        self.key.text = parts.collect::<Vec<_>>().join("\n");
        self.key
    }
}

/// A text as a part of another sentence.
fn text_inside(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Names as in a sentence: `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl From<AlgorithmName> for Routing {
    fn from(algorithm: AlgorithmName) -> Self {
        let SharedRouting {
            virtual_channels,
            per,
            ..
        } = SharedRouting::default();
        Self {
            keys: algorithm.into(),
            virtual_channels,
            per,
        }
    }
}

impl Default for Routing {
    fn default() -> Self {
        AlgorithmName::default().into()
    }
}

/// The keys that every algorithm has in the engine's form, whether it takes them or not.
fn form_by_default() -> &'static Map<String, Value> {
    static FORM: OnceLock<Map<String, Value>> = OnceLock::new();
    FORM.get_or_init(|| {
        let mut form = Map::new();
        for key in Routing::declaration().keys {
            if !key.later {
                form.insert(key.engine_key.into(), key.default);
            }
            if let Some(number) = key.number {
                form.insert(number.key.into(), Value::Null);
            }
        }
        form
    })
}

/// The engine's form of a table in which only the keys of its own algorithm stand.
pub(super) fn with_all_keys(own: Map<String, Value>) -> Map<String, Value> {
    let mut form = form_by_default().clone();
    form.extend(own);
    form
}

impl Serialize for Routing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shared = SharedRouting {
            algorithm: self.algorithm(),
            virtual_channels: self.virtual_channels,
            per: self.per,
        };
        let mut own = Map::new();
        for value in [
            serde_json::to_value(shared),
            serde_json::to_value(&self.keys),
        ] {
            flatten(value.map_err(serde::ser::Error::custom)?, &mut own);
        }
        with_all_keys(own).serialize(serializer)
    }
}

/// Puts the entries of a table into `flat`, those of tables inside it as well.
fn flatten(table: Value, flat: &mut Map<String, Value>) {
    if let Value::Object(entries) = table {
        for (key, value) in entries {
            match value {
                Value::Object(_) => flatten(value, flat),
                value => {
                    flat.insert(key, value);
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for Routing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut form = Map::deserialize(deserializer)?;
        let shared = ["algorithm", "virtual_channels", "per"];
        let shared = shared.into_iter().filter_map(|key| form.remove_entry(key));
        let shared = Value::Object(shared.collect());
        let shared: SharedRouting = serde_json::from_value(shared).map_err(D::Error::custom)?;
        let algorithm = shared.algorithm;
        if shared.per == Decisions::PerMessage && !algorithm.decides_per_message() {
            return Err(D::Error::custom(Self::refusal(algorithm, "per")));
        }
        let mut own = Map::new();
        for key in algorithm.declaration().keys {
            if let Some(value) = form.remove(key.engine_key) {
                let part = Map::from_iter([(key.engine_key.to_owned(), value)]);
                put(&mut own, &key.within, part);
            }
        }
        let default = form_by_default();
        let others = Self::declaration().keys;
        for (name, value) in form {
            let number = |key: &KeyDeclaration| key.number.is_some_and(|one| one.key == name);
            let known = (others.iter()).find(|key| key.engine_key == name || number(key));
            match known {
                None => return Err(D::Error::custom(format!("unknown field `{name}`"))),
                Some(key) if *default.get(&name).unwrap_or(&key.default) != value => {
                    return Err(D::Error::custom(Self::refusal(algorithm, &key.key)));
                }
                Some(_) => {}
            }
        }
        let keys = algorithm
            .read(Value::Object(own))
            .map_err(D::Error::custom)?;
        Ok(Self {
            keys,
            virtual_channels: shared.virtual_channels,
            per: shared.per,
        })
    }
}
