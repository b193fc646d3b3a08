//! Scenario files as people write them: quantities with units, words, defaults, all
//! mistakes at once. What they may say is what the tables declare.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::family::{FamilyDeclaration, Links, Tests};
use super::quantity::Quantity;
use super::source::key_lines;
use super::table::{KeyDeclaration, Kind, TableDeclaration, Test, tables};
use super::{Family, Link, Scenario, UsualLink, default_seed, toml_value};
use crate::error::{Mistakes, SpecError};
use crate::registry::{List, registry};

type Object = Map<String, Value>;

/// Tables of a scenario file beside its network that a machine is read from.
const TABLES: [(&str, &str); 3] = [
    ("simulation", "Simulation"),
    ("mpi", "Mpi"),
    ("record", "Record"),
];
/// What a scenario file has besides, of which a machine has none.
const OTHERS: [&str; 3] = ["machine", "job", "schedule"];
/// Keys that every network has.
const SHARED: [&str; 5] = ["family", "router", "nic", "routing", "links"];
/// No number of a router or group in a text is larger, so that no range takes all memory.
const MOST_NUMBERS: u64 = 1 << 20;

impl Scenario {
    /// Reads the machine of a scenario file as people write it: its title, seed, network,
    /// `[simulation]`, `[mpi]` and `[record]`, without jobs and what they need (`[machine]`,
    /// `[[job]]`, `[schedule]`, which are not looked into).
    ///
    /// Names of files in it are relative to `directory`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line, its key, what was found and what
    /// is allowed.
    pub fn machine_from_toml(text: &str, directory: &Path) -> Result<Self, Mistakes> {
        let document = toml_value(text)?;
        let lines = key_lines(text)?;
        let form = form(&document, lines.clone(), directory)?;
        let read = Self::from_value(form);
        Ok(read.map_err(|error| placed(&lines, error))?)
    }
}

/// The engine's form of a scenario as people write it, of which a TOML or JSON reader made a
/// value: quantities are integers with the unit in their key, paths begin with `directory`.
///
/// # Errors
/// As of [`Scenario::machine_from_toml`].
pub fn engine_form(scenario: &Value, directory: &Path) -> Result<Value, Mistakes> {
    form(scenario, BTreeMap::new(), directory)
}

fn form(
    scenario: &Value,
    lines: BTreeMap<String, usize>,
    directory: &Path,
) -> Result<Value, Mistakes> {
    let mut reader = Reader {
        directory,
        lines,
        found: Vec::new(),
    };
    let form = reader.scenario(scenario.as_object().unwrap_or(&Object::new()));
    if reader.found.is_empty() {
        Ok(Value::Object(form))
    } else {
        Err(Mistakes(reader.found))
    }
}

/// The error, with the line of its key or of the table that lacks it.
fn placed(lines: &BTreeMap<String, usize>, error: SpecError) -> SpecError {
    let mut path = error.path.as_str();
    while !path.is_empty() && !lines.contains_key(path) {
        path = &path[..path.rfind(['.', '[']).unwrap_or(0)];
    }
    let line = lines.get(path).copied();
    SpecError { line, ..error }
}

/// The tables, declared once for all reading.
fn declared(name: &str) -> Option<&'static TableDeclaration> {
    static TABLES: OnceLock<Vec<TableDeclaration>> = OnceLock::new();
    let tables = TABLES.get_or_init(tables);
    tables.iter().find(|table| table.name == name)
}

/// The families of networks likewise.
fn families() -> &'static [FamilyDeclaration] {
    static FAMILIES: OnceLock<Vec<FamilyDeclaration>> = OnceLock::new();
    FAMILIES.get_or_init(Family::declarations)
}

/// The lists of names likewise.
fn lists() -> &'static [List] {
    static LISTS: OnceLock<Vec<List>> = OnceLock::new();
    LISTS.get_or_init(registry)
}

/// Reads tables by what is declared of them.
struct Reader<'a> {
    /// What names of files are relative to.
    directory: &'a Path,
    lines: BTreeMap<String, usize>,
    found: Vec<SpecError>,
}

impl Reader<'_> {
    fn add(&mut self, error: SpecError) {
        self.found.push(placed(&self.lines, error));
    }

    fn refuse(&mut self, path: &str, found: impl Into<String>, allowed: impl Into<String>) {
        self.add(SpecError::value(path, found.into(), allowed.into()));
    }

    fn scenario(&mut self, given: &Object) -> Object {
        let mut form = Object::new();
        form.insert("title".into(), "".into());
        form.insert("seed".into(), default_seed().into());
        let mut known = vec!["title", "seed", "network"];
        known.extend(TABLES.iter().map(|table| table.0));
        known.extend(OTHERS);
        self.unknown("", given, &known);
        match given.get("title") {
            Some(Value::String(title)) => drop(form.insert("title".into(), title.as_str().into())),
            Some(other) => self.refuse("title", describe(other), "a text in quotes"),
            None => {}
        }
        match given.get("seed").map(|seed| (seed, seed.as_u64())) {
            Some((_, Some(seed))) => drop(form.insert("seed".into(), seed.into())),
            Some((other, None)) => {
                self.refuse("seed", describe(other), "a whole number, at least 0")
            }
            None => {}
        }
        for (key, name) in TABLES {
            let inner = self.declared_table(key, name, given.get(key), &[]);
            form.insert(key.into(), Value::Object(inner));
        }
        match given.get("network") {
            Some(Value::Object(network)) => {
                let network = self.network(network);
                form.insert("network".into(), Value::Object(network));
            }
            Some(other) => self.refuse("network", describe(other), "a table"),
            None => self.missing("network"),
        }
        form
    }

    fn missing(&mut self, path: &str) {
        let mut error = SpecError::new(path, "missing; this key must be given");
        (error.found, error.allowed) = (Some("nothing".into()), Some("a value".into()));
        self.add(error);
    }

    /// Refuses keys that a table does not have.
    fn unknown(&mut self, path: &str, given: &Object, known: &[&str]) {
        for key in given.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = nearest(key, known).map(|near| format!(" (did you mean `{near}`?)"));
            let allowed = known.join(", ");
            let hint = hint.unwrap_or_default();
            let message = format!("unknown key{hint}; allowed here: {allowed}");
            let mut error = SpecError::new(below(path, key), message);
            (error.found, error.allowed) = (Some(format!("the key {key}")), Some(allowed));
            self.add(error);
        }
    }

    fn network(&mut self, given: &Object) -> Object {
        let families = families();
        let names: Vec<&str> = families.iter().map(|family| family.name).collect();
        let named = given.get("family");
        let family = named.and_then(|named| {
            let name = named.as_str()?;
            families.iter().find(|family| family.name == name)
        });
        let Some(family) = family else {
            let found = named.map_or_else(|| "nothing".into(), describe);
            let hint = (named.and_then(Value::as_str)).and_then(|name| nearest(name, &names));
            let hint = hint.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            let listed = quoted(&names);
            self.refuse("network.family", found, format!("{listed}{hint}"));
            return Object::new();
        };
        let mut form = Object::new();
        for (key, name) in [("router", "Router"), ("nic", "Nic")] {
            let path = below("network", key);
            let inner = self.declared_table(&path, name, given.get(key), &[]);
            form.insert(key.into(), Value::Object(inner));
        }
        let before = self.found.len();
        let mut topology = self.table("network", &family.table, given, &SHARED);
        topology.insert("family".into(), family.name.into());
        form.insert("topology".into(), Value::Object(topology));
        let is_right = self.found.len() == before;
        let values = User::new(&family.table, given);
        let routing = self.routing(family, given, &values);
        form.insert("routing".into(), Value::Object(routing));
        let links = self.links(family, given.get("links"), &values, is_right);
        form.insert("links".into(), Value::Object(links));
        if family.name == "codes" {
            self.configured(given, &mut form);
        }
        form
    }

    fn routing(&mut self, family: &FamilyDeclaration, given: &Object, values: &User<'_>) -> Object {
        let usual = family.routing.iter().find(|(tests, _)| values.hold(tests));
        let usual = usual.map_or_else(Value::default, |usual| {
            serde_json::to_value(usual.1).unwrap_or_default()
        });
        let table = |name: Value| Object::from_iter([("algorithm".to_owned(), name)]);
        let routing = match given.get("routing") {
            None => table(usual),
            Some(name @ Value::String(_)) => {
                let (before, whole) = (self.found.len(), table(name.clone()));
                let form = self.declared_table(
                    "network.routing",
                    "Routing",
                    Some(&Value::Object(whole)),
                    &[],
                );
                for error in &mut self.found[before..] {
                    error.path = "network.routing".into();
                }
                return form;
            }
            Some(Value::Object(routing)) => routing.clone(),
            Some(other) => {
                self.refuse("network.routing", describe(other), "a name or a table");
                return Object::new();
            }
        };
        self.declared_table(
            "network.routing",
            "Routing",
            Some(&Value::Object(routing)),
            &[],
        )
    }

    fn links(
        &mut self,
        family: &FamilyDeclaration,
        given: Option<&Value>,
        values: &User<'_>,
        is_right: bool,
    ) -> Object {
        let nothing = Object::new();
        let given = match given {
            None => &nothing,
            Some(Value::Object(links)) => links,
            Some(other) => {
                self.refuse("network.links", describe(other), "a table");
                return nothing;
            }
        };
        let mut form = Object::new();
        match family.links {
            Links::OfFile { kinds, .. } => {
                for (name, link) in given {
                    let usual = UsualLink::Electrical.link();
                    let link = self.link(name, Some(link), &usual, kinds);
                    form.insert(name.clone(), link);
                }
            }
            Links::Classes {
                classes,
                given_only,
                ..
            } => {
                let terminal = ("terminal", UsualLink::Terminal, false, true);
                let has =
                    |only: &[Tests]| only.is_empty() || only.iter().any(|tests| values.hold(tests));
                let others = classes
                    .iter()
                    .map(|class| (class.name, class.usual, class.later, has(class.only)));
                let all: Vec<_> = std::iter::once(terminal).chain(others).collect();
                let there: Vec<&str> = all
                    .iter()
                    .filter(|class| class.3)
                    .map(|class| class.0)
                    .collect();
                let known: Vec<&str> = all.iter().map(|class| class.0).collect();
                self.unknown("network.links", given, &known);
                let given_only = given_only.is_some_and(|tests| values.hold(tests));
                for (name, usual, later, is_there) in all {
                    let one = given.get(name);
                    if one.is_some() && !is_there && is_right {
                        let path = below("network.links", name);
                        let found = format!("`{name}`, which this network has not");
                        self.refuse(&path, found, there.join(", "));
                    }
                    if is_there && (one.is_some() || !(later || given_only)) {
                        let link = self.link(name, one, &usual.link(), false);
                        form.insert(name.into(), link);
                    }
                }
            }
        }
        form
    }

    fn link(&mut self, name: &str, given: Option<&Value>, usual: &Link, kinds: bool) -> Value {
        let mut declaration = Link::declaration();
        declaration.keys.retain(|key| kinds || key.key != "kind");
        for key in &mut declaration.keys {
            key.needed = false;
            match key.key.as_str() {
                "bandwidth" => key.default = usual.bandwidth_bytes_per_s.into(),
                "latency" => key.default = usual.latency_ps.into(),
                _ => {}
            }
        }
        let path = below("network.links", name);
        let nothing = Object::new();
        let given = match given {
            None => &nothing,
            Some(Value::Object(link)) => link,
            Some(other) => {
                self.refuse(&path, describe(other), "a table");
                return Value::Null;
            }
        };
        let mut form = self.table(&path, &declaration, given, &[]);
        form.entry("kind").or_insert(Value::Null);
        Value::Object(form)
    }

    /// What the configuration of a network of CODES says besides what is wired.
    fn configured(&mut self, given: &Object, form: &mut Object) {
        let file = given.get("file").and_then(Value::as_str);
        // What cannot be read is said where the network is built.
        let Some(Ok(facts)) = file.map(|file| crate::codes_facts(&self.directory.join(file)))
        else {
            return;
        };
        if given.get("routing").is_none() && facts["routing"].is_string() {
            let named = ("algorithm".to_owned(), facts["routing"].clone());
            let whole = Value::Object(Object::from_iter([named]));
            let routing = self.declared_table("network.routing", "Routing", Some(&whole), &[]);
            form.insert("routing".into(), Value::Object(routing));
        }
        let told = given.get("router").and_then(|router| router.get("delay"));
        let router = form.get_mut("router").and_then(Value::as_object_mut);
        if let (None, Some(router), true) = (told, router, facts["router_delay_ps"].is_u64()) {
            router.insert("delay_ps".into(), facts["router_delay_ps"].clone());
        }
    }

    /// A table of a name, be it given or not.
    fn declared_table(
        &mut self,
        path: &str,
        name: &str,
        given: Option<&Value>,
        others: &[&str],
    ) -> Object {
        let nothing = Object::new();
        let given = match given {
            None => &nothing,
            Some(Value::Object(table)) => table,
            Some(other) => {
                self.refuse(path, describe(other), "a table");
                return nothing;
            }
        };
        // A test asks that every table that a key names is declared.
        match declared(name) {
            Some(declaration) => self.table(path, declaration, given, others),
            None => nothing,
        }
    }

    /// The engine's form of a table.
    fn table(
        &mut self,
        path: &str,
        declaration: &TableDeclaration,
        given: &Object,
        others: &[&str],
    ) -> Object {
        let before = self.found.len();
        let mut form = Object::new();
        for within in &declaration.always {
            form.insert((*within).into(), Value::Object(Object::new()));
        }
        for key in &declaration.keys {
            let (path, value) = (below(path, &key.key), given.get(&key.key));
            let Some(within) = key.within else {
                self.key(&path, key, value, &mut form);
                continue;
            };
            let mut part = Object::new();
            self.key(&path, key, value, &mut part);
            if !part.is_empty() {
                let inner = form.entry(within).or_insert_with(|| Object::new().into());
                inner.as_object_mut().into_iter().for_each(|inner| {
                    inner.extend(std::mem::take(&mut part));
                });
            }
        }
        let keys = declaration.keys.iter().map(|key| key.key.as_str());
        let known: Vec<&str> = others.iter().copied().chain(keys).collect();
        self.unknown(path, given, &known);
        if self.found.len() > before {
            return form;
        }
        let values = User::new(declaration, given);
        for rule in &declaration.rules {
            if values.hold_in(rule.when, &form) {
                let found = describe(&values.of(rule.key));
                let mut allowed = rule.allowed.to_owned();
                for (key, value) in given {
                    let text = value
                        .as_str()
                        .map_or_else(|| describe(value), str::to_owned);
                    allowed = allowed.replace(&format!("{{{key}}}"), &text);
                }
                self.refuse(&below(path, rule.key), found, allowed);
                break;
            }
        }
        form
    }

    /// Puts the engine's form of a key into that of its table.
    fn key(&mut self, path: &str, key: &KeyDeclaration, given: Option<&Value>, form: &mut Object) {
        let Some(given) = given else {
            if key.needed {
                self.missing(path);
                return;
            }
            if !key.later {
                form.insert(key.engine_key.into(), key.default.clone());
                if let Some(word_key) = key.word_key {
                    form.insert(word_key.into(), false.into());
                }
                if let Some(share_key) = key.share_key {
                    form.insert(share_key.into(), Value::Null);
                }
            }
            return;
        };
        let word = given.as_str().map(str::trim);
        let meaning = key.words.iter().find(|(known, _)| Some(*known) == word);
        if let Some(word_key) = key.word_key {
            form.insert(word_key.into(), meaning.is_some().into());
        }
        if let Some((_, value)) = meaning {
            form.insert(key.engine_key.into(), value.clone());
            return;
        }
        if let (Some(share_key), Some(share)) = (key.share_key, given.as_f64()) {
            if !(0.0..=1.0).contains(&share) {
                self.refuse(path, describe(given), "a size or a number from 0 to 1");
            }
            form.insert(share_key.into(), share.into());
            form.insert(key.engine_key.into(), Value::Null);
            return;
        }
        if let Some(share_key) = key.share_key {
            form.insert(share_key.into(), Value::Null);
        }
        let value = self.value(path, &key.kind, key, given);
        if let Some(value) = value.filter(|value| !(key.later && *value == key.default)) {
            form.insert(key.engine_key.into(), value);
        }
    }

    /// The engine's form of a value; nothing if it is wrong.
    fn value(
        &mut self,
        path: &str,
        kind: &Kind,
        key: &KeyDeclaration,
        given: &Value,
    ) -> Option<Value> {
        let word = |allowed: &str| match key.called {
            Some(called) if !key.words.is_empty() => {
                let words: Vec<&str> = key.words.iter().map(|word| word.0).collect();
                format!("{} or {called}", quoted(&words))
            }
            _ => allowed.to_owned(),
        };
        match kind {
            Kind::Quantity(name) => self.quantity(path, Quantity::of(name), name, key, given),
            Kind::Name(list) => self.name(path, list, given),
            Kind::Flag => match given {
                Value::Bool(_) => Some(given.clone()),
                _ => self.wrong(path, given, "true or false"),
            },
            Kind::Text => match given {
                Value::String(_) => Some(given.clone()),
                _ => self.wrong(path, given, "a text in quotes"),
            },
            Kind::File(_) => match given {
                Value::String(name) => Some(self.file(name)),
                _ => self.wrong(path, given, "a text in quotes"),
            },
            Kind::Integer => match given.as_i64() {
                Some(number) => self.within(path, key, given, number as f64),
                None => self.wrong(path, given, &word("a whole number")),
            },
            Kind::Number => match given.as_f64() {
                Some(number) => self
                    .within(path, key, given, number)?
                    .as_f64()
                    .map(Value::from),
                None => self.wrong(path, given, &word("a number")),
            },
            Kind::List(inner) => match given {
                Value::Array(values) => self.list(path, inner, key, values),
                _ => self.wrong(path, given, &word("a list")),
            },
            Kind::Numbers => self.numbers(path, given),
            Kind::Table(name) => self.inner_table(path, name, key, given),
            Kind::Pair(name) => {
                let form = self.declared_table(path, name, Some(given), &[]);
                let keys = &declared(name)?.keys;
                let values = keys.iter().map(|key| form.get(key.engine_key).cloned());
                values.collect::<Option<Vec<_>>>().map(Value::Array)
            }
        }
    }

    /// A table, or the value of the key of it that may stand for all of it.
    fn inner_table(
        &mut self,
        path: &str,
        name: &str,
        key: &KeyDeclaration,
        given: &Value,
    ) -> Option<Value> {
        let before = self.found.len();
        let form = match key.short {
            Some(short) if given.is_string() => {
                let whole = Object::from_iter([(short.to_owned(), given.clone())]);
                let form = self.declared_table(path, name, Some(&Value::Object(whole)), &[]);
                for error in &mut self.found[before..] {
                    path.clone_into(&mut error.path);
                }
                form
            }
            Some(_) if !given.is_object() => {
                let called = key.called.unwrap_or("a name");
                return self.wrong(path, given, &format!("{called} or a table"));
            }
            _ => self.declared_table(path, name, Some(given), &[]),
        };
        (self.found.len() == before).then_some(Value::Object(form))
    }

    fn wrong(&mut self, path: &str, given: &Value, allowed: &str) -> Option<Value> {
        self.refuse(path, describe(given), allowed);
        None
    }

    /// The name of a file, from where the scenario lies.
    fn file(&self, name: &str) -> Value {
        let path: PathBuf = self.directory.join(name);
        path.to_string_lossy().into_owned().into()
    }

    fn quantity(
        &mut self,
        path: &str,
        quantity: &Quantity,
        name: &str,
        key: &KeyDeclaration,
        given: &Value,
    ) -> Option<Value> {
        let Value::String(text) = given else {
            let unit = if given.is_number() {
                " without a unit"
            } else {
                ""
            };
            self.refuse(
                path,
                format!("{}{unit}", describe(given)),
                quantity.allowed(),
            );
            return None;
        };
        let value = match quantity.parse(text) {
            Ok(value) => value,
            Err(refused) => {
                self.refuse(path, refused.found, refused.allowed);
                return None;
            }
        };
        let (least, most) = (
            key.least.as_ref().and_then(Value::as_u64),
            key.most.as_ref().and_then(Value::as_u64),
        );
        if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) {
            self.refuse(path, format!("\"{text}\""), quantity.between(least, most));
            return None;
        }
        // The engine has shares as parts of one.
        if name == "share" {
            return Some((value as f64 / 1e6).into());
        }
        Some(value.into())
    }

    fn name(&mut self, path: &str, list: &str, given: &Value) -> Option<Value> {
        let entries = lists().iter().find(|one| one.name == list)?;
        let names: Vec<&str> = entries.entries.iter().map(|entry| entry.name).collect();
        let text = given.as_str();
        if text.is_some_and(|text| names.contains(&text)) {
            return Some(given.clone());
        }
        let hint = text.and_then(|text| nearest(text, &names));
        let hint = hint.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
        self.refuse(path, describe(given), format!("{}{hint}", quoted(&names)));
        None
    }

    fn within(
        &mut self,
        path: &str,
        key: &KeyDeclaration,
        given: &Value,
        number: f64,
    ) -> Option<Value> {
        let end = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(String::new, describe);
        let allowed = if end(&key.least).is_some_and(|least| number < least) {
            format!("at least {}", shown(&key.least))
        } else if end(&key.more_than).is_some_and(|least| number <= least) {
            format!("more than {}", shown(&key.more_than))
        } else if end(&key.most).is_some_and(|most| number > most) {
            format!("at most {}", shown(&key.most))
        } else if key.least.is_none() && key.kind == Kind::Integer && number < 0.0 {
            "at least 0".to_owned()
        } else {
            return Some(given.clone());
        };
        self.refuse(path, describe(given), allowed);
        None
    }

    fn list(
        &mut self,
        path: &str,
        inner: &Kind,
        key: &KeyDeclaration,
        values: &[Value],
    ) -> Option<Value> {
        let found = format!("a list of {}", values.len());
        if let Some(fewest) = key.fewest_entries.filter(|fewest| values.len() < *fewest) {
            self.refuse(path, found, format!("at least {fewest} entries"));
            return None;
        }
        if let Some(most) = key.most_entries.filter(|most| values.len() > *most) {
            self.refuse(path, found, format!("at most {most} entries"));
            return None;
        }
        let entries: Vec<Option<Value>> = (values.iter().enumerate())
            .map(|(place, value)| self.value(&format!("{path}[{place}]"), inner, key, value))
            .collect();
        let entries = entries.into_iter().collect::<Option<Vec<_>>>()?;
        if let Kind::Pair(name) = inner {
            self.points(path, name, values, &entries)?;
        }
        Some(Value::Array(entries))
    }

    /// Refuses points of which the first values do not grow or the second ones fall.
    fn points(&mut self, path: &str, name: &str, given: &[Value], points: &[Value]) -> Option<()> {
        let mut before = [0, 0];
        for (place, point) in points.iter().enumerate() {
            for (which, key) in declared(name)?.keys.iter().enumerate() {
                let value = point[which].as_u64()?;
                let (fits, word) = match which {
                    0 => (value > before[0], "more than"),
                    _ => (value >= before[1], "at least"),
                };
                if !fits {
                    let Kind::Quantity(quantity) = key.kind else {
                        return None;
                    };
                    let least = Quantity::of(quantity).text(before[which]);
                    let allowed = format!("{word} {least}, the one before");
                    let found = describe(&given[place][&key.key]);
                    self.refuse(&format!("{path}[{place}].{}", key.key), found, allowed);
                    return None;
                }
                before[which] = value;
            }
        }
        Some(())
    }

    /// Numbers of groups or routers: a list, or a text such as `0, 3-8`.
    fn numbers(&mut self, path: &str, given: &Value) -> Option<Value> {
        let found = match given {
            Value::Array(values) if !values.is_empty() => {
                let all_right = values.iter().all(|value| {
                    value
                        .as_u64()
                        .is_some_and(|number| number <= u64::from(u32::MAX))
                });
                all_right.then(|| given.clone())
            }
            Value::String(text) => ranges(text).map(|numbers| numbers.into_iter().collect()),
            _ => None,
        };
        if found.is_none() {
            let allowed = "a list of numbers or a text such as \"3-8\" or \"0, 2, 5-7\"";
            self.refuse(path, describe(given), allowed);
        }
        found
    }
}

/// The numbers of a text such as `0, 3-8`.
fn ranges(text: &str) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| {
            word.trim()
                .parse::<u64>()
                .ok()
                .filter(|n| *n < MOST_NUMBERS)
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The values of a table as its user has them, defaults included.
struct User<'a> {
    declaration: &'a TableDeclaration,
    given: &'a Object,
}

impl<'a> User<'a> {
    fn new(declaration: &'a TableDeclaration, given: &'a Object) -> Self {
        Self { declaration, given }
    }

    fn of(&self, name: &str) -> Value {
        if let Some(value) = self.given.get(name) {
            return value.clone();
        }
        let Some(key) = self.declaration.key(name) else {
            return Value::Null;
        };
        let word = key
            .words
            .iter()
            .find(|(_, meaning)| *meaning == key.default);
        match word {
            Some((word, _)) if key.word_key.is_none() => (*word).into(),
            _ if key.optional || key.needed => Value::Null,
            _ => key.default.clone(),
        }
    }

    /// Whether all tests hold that ask nothing of two keys.
    fn hold(&self, tests: &[(&str, Test)]) -> bool {
        self.hold_in(tests, &Object::new())
    }

    /// Whether all tests hold; `form` is the engine's form of the table.
    fn hold_in(&self, tests: &[(&str, Test)], form: &Object) -> bool {
        tests.iter().all(|(name, test)| {
            let value = self.of(name);
            match test {
                Test::Is(word) => value.as_str().map(str::trim) == Some(*word),
                Test::IsNot(word) => value.as_str().map(str::trim) != Some(*word),
                Test::Given => !value.is_null(),
                Test::Absent => value.is_null(),
                Test::Longer(entries) => value.as_array().is_some_and(|list| list.len() > *entries),
                Test::Reaches(other) => {
                    let number = |name: &str| {
                        let key = self.declaration.key(name)?;
                        let is_word = key.words.iter().any(|word| self.of(name) == word.0);
                        form.get(key.engine_key)?.as_f64().filter(|_| !is_word)
                    };
                    number(name)
                        .zip(number(other))
                        .is_some_and(|(one, other)| one >= other)
                }
            }
        })
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

/// A value as messages show it.
fn describe(value: &Value) -> String {
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
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{AlgorithmName, Weights};

    const GOOD: &str = r#"
title = "Small"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = { algorithm = "par", threshold = "2 KiB", weights = [1, 2] }

[network.links]
terminal = { bandwidth = "1 GB/s", latency = "10 ns" }

[network.router]
crossbar = 1.5
credit_use = "crossbar"

[simulation]
duration = "1.5 us"
warmup = "auto"
precision = "2.5 %"

[record]
messages = "all"
arrivals = { interval = "1 us", routers = "0, 2-4" }

[[job]]
nodes = 36
"#;

    fn read(text: &str) -> Result<Scenario, Mistakes> {
        Scenario::machine_from_toml(text, Path::new("/there"))
    }

    /// Line, path and message of every mistake of the text with one part in place of another.
    fn mistakes(changes: &[(&str, &str)]) -> Vec<(usize, String, String)> {
        let mut text = GOOD.to_owned();
        for (old, new) in changes {
            assert!(text.contains(old), "{old}");
            text = text.replacen(old, new, 1);
        }
        let found = read(&text).unwrap_err().0.into_iter();
        found
            .map(|one| (one.line.unwrap_or(0), one.path, one.message))
            .collect()
    }

    #[test]
    fn what_people_write_is_what_the_engine_takes() {
        let scenario = read(GOOD).unwrap();
        let network = &scenario.network;
        assert_eq!((scenario.title.as_str(), scenario.seed), ("Small", 1));
        assert_eq!(network.routing.algorithm, AlgorithmName::Par);
        assert_eq!(network.routing.threshold_bytes, Some(2048));
        assert_eq!(network.routing.weights, Weights::Fixed([1, 2]));
        assert_eq!(
            network.links["terminal"].bandwidth_bytes_per_s,
            1_000_000_000
        );
        assert_eq!(network.links["global"], Link::default_for("global"));
        // Groups that are all-to-all have no rows.
        assert!(!network.links.contains_key("green"));
        assert_eq!(network.router.crossbar_speedup, Some(1.5));
        let simulation = &scenario.simulation;
        assert_eq!(simulation.duration_ps, Some(1_500_000));
        assert!(simulation.detect_warmup && simulation.warmup_ps == 0);
        assert_eq!(simulation.precision, Some(0.025));
        assert_eq!(scenario.record.messages_every, 1);
        let arrivals = scenario.record.arrivals.unwrap();
        assert_eq!(arrivals.routers, Some(vec![0, 2, 3, 4]));
        assert!(crate::build_topology(&read(GOOD).unwrap()).is_ok());
    }

    #[test]
    fn all_mistakes_are_told_at_once_with_their_lines() {
        let found = mistakes(&[
            ("p = 2", "p = 0"),
            ("h = 2", "hh = 2"),
            ("\"10 ns\"", "\"10\""),
            ("\"1.5 us\"", "15"),
            ("messages = \"all\"", "messages = \"some\""),
            ("\"par\"", "\"parr\""),
        ]);
        let places: Vec<(usize, &str)> = (found.iter())
            .map(|(line, path, _)| (*line, path.as_str()))
            .collect();
        assert_eq!(
            places,
            [
                (18, "simulation.duration"),
                (23, "record.messages"),
                (5, "network.p"),
                // At the table that lacks it.
                (3, "network.h"),
                (7, "network.hh"),
                (8, "network.routing.algorithm"),
                (11, "network.links.terminal.latency"),
            ]
        );
        for (place, words) in [
            (
                0,
                "found 15 without a unit; allowed: a duration with a unit",
            ),
            (
                1,
                "found \"some\"; allowed: \"none\", \"all\" or a whole number",
            ),
            (2, "found 0; allowed: at least 1"),
            (3, "missing; this key must be given"),
            (4, "unknown key; allowed here: family, router"),
            (5, "(did you mean \"par\"?)"),
            (6, "found \"10\" without a unit"),
        ] {
            assert!(found[place].2.contains(words), "{:?}", found[place]);
        }
    }

    #[test]
    fn values_that_do_not_go_together_are_refused() {
        for (change, path, words) in [
            (
                ("h = 2", "h = 2\nrows = 2"),
                "network.rows",
                "only with group",
            ),
            (
                ("h = 2", "h = 2\ngroup = \"cray-xc\"\ncolumns = 2"),
                "network.rows",
                "found nothing; allowed: a value, as group",
            ),
            (
                ("terminal =", "green ="),
                "network.links.green",
                "terminal, local, global",
            ),
            (
                ("\"auto\"", "\"1500 ns\""),
                "simulation.warmup",
                "less than the duration, 1.5 us",
            ),
            (
                ("duration = \"1.5 us\"", ""),
                "simulation.duration",
                "as the longest with",
            ),
            (
                ("routers =", "groups = [0], routers ="),
                "record.arrivals.groups",
                "either `routers` or `groups`",
            ),
            (
                ("credit_use", "room = \"packets\"\ncredit_use = \"link\"\n#"),
                "network.router.room",
                "ideal crossbar",
            ),
        ] {
            let found = mistakes(&[change]);
            assert!(
                found
                    .iter()
                    .any(|one| one.1 == path && one.2.contains(words)),
                "{found:?}"
            );
        }
        assert!(
            mistakes(&[("family = \"dragonfly\"", "family = \"draggonfly\"")])[0]
                .2
                .contains("did you mean \"dragonfly\"")
        );
        assert!(read("x = ").unwrap_err().to_string().contains("line 1"));
        assert_eq!(read("title = 1").unwrap_err().0.len(), 2);
    }
}
