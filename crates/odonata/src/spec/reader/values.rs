//! Tables and values of a scenario file, by what is declared of them.

use std::path::PathBuf;

use serde_json::Value;

use super::advice::takes;
use super::user::User;
use super::words::{below, describe, quoted};
use super::{Object, Reader, declared, lists};
use crate::spec::quantity::Quantity;
use crate::spec::table::{KeyDeclaration, Kind, TableDeclaration};
use crate::spec::written::{NUMBERS, ranges, written};

impl Reader<'_> {
    /// A table of a name, be it given or not.
    pub(super) fn declared_table(
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
    pub(super) fn table(
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
        let replaced: Vec<&str> = (declaration.keys.iter())
            .filter(|key| given.contains_key(&key.key))
            .filter_map(|key| key.instead_of)
            .collect();
        for key in &declaration.keys {
            let (path, value) = (below(path, &key.key), given.get(&key.key));
            let mut part = Object::new();
            self.key(&path, key, value, &mut part);
            if !part.is_empty() && !replaced.contains(&key.key.as_str()) {
                put(&mut form, &key.within, part);
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
            if values.hold_in(&rule.when, &form) {
                let value = || describe(&values.of(rule.key));
                let found = rule.found.clone().unwrap_or_else(value);
                let mut allowed = rule.allowed.clone();
                for (key, value) in given {
                    let text = value
                        .as_str()
                        .map_or_else(|| describe(value), str::to_owned);
                    allowed = allowed.replace(&format!("{{{key}}}"), &text);
                }
                let place = match rule.key {
                    "" => path.to_owned(),
                    key => below(path, key),
                };
                self.refuse(&place, found, allowed);
                break;
            }
        }
        form
    }

    /// Puts the engine's form of a key into that of its table.
    pub(super) fn key(
        &mut self,
        path: &str,
        key: &KeyDeclaration,
        given: Option<&Value>,
        form: &mut Object,
    ) {
        let Some(given) = given else {
            if key.needed {
                self.missing(path, takes(key));
                return;
            }
            if !key.later {
                form.insert(key.engine_key.into(), key.default.clone());
                if let Some(word_key) = key.word_key {
                    form.insert(word_key.into(), false.into());
                }
            }
            if let Some(number) = key.number {
                form.insert(number.key.into(), Value::Null);
            }
            return;
        };
        let word = given.as_str().map(str::trim);
        let meaning = key.words.iter().find(|(known, _)| Some(*known) == word);
        if let Some(word_key) = key.word_key {
            form.insert(word_key.into(), meaning.is_some().into());
        }
        let value = match (meaning, key.number, given.as_f64()) {
            (Some((_, value)), _, _) => Some(value.clone()),
            (None, Some(allowed), Some(number)) => {
                let least = (number < allowed.least).then(|| format!("at least {}", allowed.least));
                let most = allowed.most.filter(|most| number > *most);
                let most = most.map(|most| format!("at most {most}"));
                if let Some(end) = least.or(most) {
                    self.refuse(path, describe(given), end);
                }
                form.insert(allowed.key.into(), number.into());
                Some(Value::Null)
            }
            _ => self.value(path, &key.kind, key, given),
        };
        if let Some(number) = key.number {
            form.entry(number.key).or_insert(Value::Null);
        }
        if let Some(value) = value.filter(|value| !(key.later && *value == key.default)) {
            form.insert(key.engine_key.into(), value);
        }
    }

    /// The engine's form of a value; nothing if it is wrong.
    pub(super) fn value(
        &mut self,
        path: &str,
        kind: &Kind,
        key: &KeyDeclaration,
        given: &Value,
    ) -> Option<Value> {
        let word = |allowed: &str| match key.called {
            Some(called) if !key.words.is_empty() => {
                let words: Vec<&str> = key.words.iter().map(|word| word.0).collect();
                let number = key
                    .number
                    .map_or_else(String::new, |number| format!(" or {}", number.called));
                format!("{} or {called}{number}", quoted(&words))
            }
            _ => allowed.to_owned(),
        };
        match kind {
            // Rather a word with an error in it than a quantity.
            Kind::Quantity(_)
                if !key.words.is_empty()
                    && !given.is_number()
                    && !given
                        .as_str()
                        .is_some_and(|text| text.contains(|c: char| c.is_ascii_digit())) =>
            {
                self.wrong(path, given, &word(""))
            }
            Kind::Quantity(name) => self.quantity(path, Quantity::of(name), name, key, given),
            Kind::Name(list) => self.name(path, list, given),
            Kind::OneOf(words) => match given.as_str() {
                Some(word) if words.contains(&word) => Some(given.clone()),
                _ => {
                    self.no_name(path, "", given, words);
                    None
                }
            },
            Kind::Any => Some(given.clone()),
            Kind::Label => match given {
                Value::String(_) | Value::Bool(_) | Value::Number(_) => Some(given.clone()),
                _ => self.wrong(path, given, "a text, a number, or true or false"),
            },
            Kind::ByName(inner) => {
                let Value::Object(values) = given else {
                    return self.wrong(path, given, "a table");
                };
                let mut form = Object::new();
                for (name, value) in values {
                    let value = self.value(&below(path, name), inner, key, value)?;
                    form.insert(name.clone(), value);
                }
                Some(Value::Object(form))
            }
            Kind::Flag => match given {
                Value::Bool(_) => Some(given.clone()),
                _ => self.wrong(path, given, "true or false"),
            },
            Kind::Text => match given {
                Value::String(text) => self.text(path, key, text),
                _ => self.wrong(path, given, key.called.unwrap_or("a text in quotes")),
            },
            Kind::Written(grammar) => {
                let Value::String(text) = given else {
                    return self.wrong(path, given, "a text in quotes");
                };
                match written(grammar, text, self.plug_ins_of("order")) {
                    Ok(_) => Some(given.clone()),
                    Err(refused) => {
                        self.refuse(path, refused.found, refused.allowed);
                        None
                    }
                }
            }
            Kind::File(_) => match given {
                Value::String(name) => Some(self.file(name)),
                _ => self.wrong(path, given, "a text in quotes"),
            },
            Kind::Integer | Kind::Signed => match given.as_i64() {
                Some(number) => self.within(path, key, given, number as f64),
                None => self.wrong(path, given, &word("a whole number")),
            },
            Kind::Number => match given.as_f64() {
                Some(number) => self
                    .within(path, key, given, number)?
                    .as_f64()
                    .map(Value::from),
                None => self.wrong(path, given, &word(key.called.unwrap_or("a number"))),
            },
            Kind::List(inner) => match given {
                Value::Array(values) => self.list(path, inner, key, values),
                _ => {
                    let list = list_of_one(path, inner, key, given);
                    self.wrong(path, given, &word(&list))
                }
            },
            Kind::Numbers => self.numbers(path, given),
            Kind::Table(name) => self.inner_table(path, name, key, given),
            Kind::Kinds(name) => self.of_a_kind(path, name, given),
            Kind::Forms(name) => self.of_a_form(path, name, given),
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

    fn text(&mut self, path: &str, key: &KeyDeclaration, text: &str) -> Option<Value> {
        let letters = text.chars().count();
        let limit = match (key.fewest_entries, key.most_entries) {
            _ if key.kind != Kind::Text => return Some(text.into()),
            (Some(fewest), _) if letters < fewest => format!("at least {fewest}"),
            (_, Some(most)) if letters > most => format!("at most {most}"),
            _ => return Some(text.into()),
        };
        self.refuse(path, describe(&text.into()), format!("{limit} characters"));
        None
    }

    pub(super) fn wrong(&mut self, path: &str, given: &Value, allowed: &str) -> Option<Value> {
        self.refuse(path, describe(given), allowed);
        None
    }

    /// The name of a file, from where the scenario lies.
    pub(super) fn file(&self, name: &str) -> Value {
        // As Python has paths: without `.` in their middle.
        let path: PathBuf = self.directory.join(name).components().collect();
        path.to_string_lossy().into_owned().into()
    }

    pub(super) fn quantity(
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
                let allowed = refused.allowed_with_hint();
                self.refuse(path, refused.found, allowed);
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
        if ["share", "globalload"].contains(&name) {
            return Some((value as f64 / 1e6).into());
        }
        if name == "floprate" {
            return Some((value as f64).into());
        }
        Some(value.into())
    }

    pub(super) fn name(&mut self, path: &str, list: &str, given: &Value) -> Option<Value> {
        let entries = lists()
            .iter()
            .find(|one| one.name == list || one.type_name == list)?;
        let mut names: Vec<&str> = entries.entries.iter().map(|entry| entry.name).collect();
        if given.as_str().is_some_and(|text| names.contains(&text)) {
            return Some(given.clone());
        }
        let plug_ins = self.plug_ins_of(&entries.name).to_vec();
        names.extend(plug_ins.iter().map(String::as_str));
        self.no_name(path, &entries.name, given, &names);
        None
    }

    pub(super) fn within(
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

    pub(super) fn list(
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
        if let (Kind::Table(name), Some(growing)) = (inner, key.grows) {
            self.grow(path, name, growing, values, &entries)?;
        }
        Some(Value::Array(entries))
    }

    /// Refuses tables of which a key does not grow from each to the next.
    fn grow(
        &mut self,
        path: &str,
        name: &str,
        growing: &str,
        given: &[Value],
        tables: &[Value],
    ) -> Option<()> {
        let key = declared(name)?.key(growing)?;
        for (place, pair) in tables.windows(2).enumerate() {
            let number = |table: &Value| table[key.engine_key].as_u64();
            if number(&pair[1]) <= number(&pair[0]) {
                let before = match key.kind {
                    Kind::Quantity(quantity) => Quantity::of(quantity).text(number(&pair[0])?),
                    _ => describe(&pair[0][key.engine_key]),
                };
                let found = describe(&given[place + 1][growing]);
                let allowed = format!("more than {before}, the one before");
                self.refuse(&format!("{path}[{}].{growing}", place + 1), found, allowed);
                return None;
            }
        }
        Some(())
    }

    /// Refuses points of which the first values do not grow or the second ones fall.
    pub(super) fn points(
        &mut self,
        path: &str,
        name: &str,
        given: &[Value],
        points: &[Value],
    ) -> Option<()> {
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
    pub(super) fn numbers(&mut self, path: &str, given: &Value) -> Option<Value> {
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
            // One of them.
            Value::Number(number) => {
                let number = number.as_u64().filter(|&one| one <= u64::from(u32::MAX));
                number.map(|one| vec![one].into())
            }
            _ => None,
        };
        if found.is_none() {
            let allowed = match given {
                Value::Array(values) if values.is_empty() => "at least 1 number",
                _ => NUMBERS,
            };
            self.refuse(path, describe(given), allowed);
        }
        found
    }
}

/// Puts keys into a table inside others of the engine's form.
pub(in crate::spec) fn put(form: &mut Object, within: &[&str], part: Object) {
    let Some((outer, rest)) = within.split_first() else {
        form.extend(part);
        return;
    };
    let inner = form.entry(*outer).or_insert_with(|| Object::new().into());
    if let Some(inner) = inner.as_object_mut() {
        put(inner, rest, part);
    }
}

/// What a list may be where one entry is given: the line to write, if the entry makes a list.
fn list_of_one(path: &str, inner: &Kind, key: &KeyDeclaration, given: &Value) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let fits = match inner {
        Kind::Table(_) => given.is_object(),
        Kind::Text | Kind::Name(_) => given.is_string(),
        Kind::Integer => given.is_u64(),
        _ => false,
    };
    match key.fewest_entries {
        _ if !fits => "a list".to_owned(),
        Some(fewest) if fewest > 1 => {
            let (given, more) = (inline(given), ", \u{2026}".repeat(fewest - 1));
            format!("a list of {fewest}: {name} = [{given}{more}]")
        }
        _ => format!("a list: {name} = [{}]", inline(given)),
    }
}

/// A value on one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(keys) => {
            let keys = keys.iter();
            let keys: Vec<String> = keys
                .map(|(key, value)| format!("{key} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", keys.join(", "))
        }
        value => value.to_string(),
    }
}

/// Whether a text is meant as numbers such as `0, 3-8`; no name begins with a digit.
pub(super) fn is_numbers(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit())
}
