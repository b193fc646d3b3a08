//! The jobs of a scenario file: tables of several kinds, and values of several forms.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::advice::{instead_of_kind, respelled};
use super::values::is_numbers;
use super::words::{below, describe, nearest, quoted};
use super::{Object, PlugInNames, Reader, kinds_of};
use crate::spec::forms::{Fits, Forms, PLUG_IN, forms};
use crate::spec::kinds::Kinds;
use crate::spec::written::ranges;
use crate::spec::{key_lines, toml_value};

/// Files of phases may name each other up to this depth.
const DEEPEST: usize = 16;

/// The values of several forms, declared once for all reading.
fn forms_of(name: &str) -> Option<&'static Forms> {
    static FORMS: OnceLock<Vec<Forms>> = OnceLock::new();
    FORMS
        .get_or_init(forms)
        .iter()
        .find(|forms| forms.name == name)
}

impl Reader<'_> {
    /// The engine's form of the jobs.
    pub(super) fn jobs(&mut self, given: Option<&Value>) -> Vec<Value> {
        let jobs = match given {
            None => return Vec::new(),
            Some(Value::Array(jobs)) => jobs,
            Some(other) => {
                let allowed = "a list of tables: [[job]], with two brackets, before each job";
                self.refuse("job", describe(other), allowed);
                return Vec::new();
            }
        };
        let read = |(place, job)| {
            let path = format!("job[{place}]");
            let mut form = self.declared_table(&path, "Job", Some(job), &[]);
            if form.get("name").and_then(Value::as_str) == Some("") {
                form.insert("name".into(), format!("job{}", place + 1).into());
            }
            // Where a job may be is said with its placement.
            let placement = form.get_mut("placement").and_then(Value::as_object_mut);
            let groups = placement.and_then(|placement| placement.remove("groups"));
            form.insert("groups".into(), groups.unwrap_or_default());
            Value::Object(form)
        };
        jobs.iter().enumerate().map(read).collect()
    }

    /// The engine's form of a table of which a key says the kind.
    pub(super) fn of_a_kind(&mut self, path: &str, name: &str, given: &Value) -> Option<Value> {
        let kinds = kinds_of(name)?;
        let plug_in = kinds.plug_in.as_ref();
        let plug_ins = plug_in.map(|plug_in| self.plug_ins_of(plug_in.kind).to_vec());
        let plug_ins = plug_ins.unwrap_or_default();
        let names: Vec<&str> = kinds
            .kinds
            .iter()
            .flat_map(|kind| kind.names.clone())
            .chain(plug_ins.iter().map(String::as_str))
            .collect();
        let Value::Object(table) = given else {
            let allowed = format!("a table with `{}` = {}", kinds.key, quoted(&names));
            return self.wrong(path, given, &allowed);
        };
        let before = self.found.len();
        let chosen = table.get(kinds.key).unwrap_or(&Value::Null);
        let kind = chosen.as_str().and_then(|name| {
            let mut all = kinds.kinds.iter();
            Some((name, all.find(|kind| kind.names.contains(&name))?))
        });
        let mut form = if let Some((chosen, kind)) = kind {
            let mut form = self.table(path, &kind.table, table, &[kinds.key]);
            merge(&mut form, &kind.form, chosen);
            form
        } else if let Some(plug_in) = plug_in.filter(|_| chosen.get(PLUG_IN).is_some()) {
            let mut form = self.table(path, &plug_in.table, table, &[kinds.key]);
            form.insert(kinds.key.into(), chosen.clone());
            if name == "Motif" {
                form.extend([
                    ("iterations".to_owned(), json!(1)),
                    ("compute_ps".to_owned(), json!(0)),
                ]);
            }
            form
        } else if let Some((plug_in, called)) = plug_in.zip(chosen.as_str())
            && plug_ins.iter().any(|one| one == called)
        {
            let keys = [kinds.key, "parameters"];
            let mut form = self.table(path, &plug_in.table, table, &keys);
            self.parameters(path, table);
            form.insert(kinds.key.into(), json!({ PLUG_IN: called }));
            form
        } else {
            self.no_kind(path, kinds, table, &names);
            return None;
        };
        match name {
            "Traffic" => offer(&mut form),
            "Motif" => self.phases_of_file(path, &mut form),
            _ => {}
        }
        (self.found.len() == before).then_some(Value::Object(form))
    }

    /// Says that a table has no kind, or none that is known.
    fn no_kind(&mut self, path: &str, kinds: &Kinds, table: &Object, names: &[&str]) {
        let other = if kinds.key == "kind" {
            "pattern"
        } else {
            "kind"
        };
        if let (None, Some(Value::String(named))) = (table.get(kinds.key), table.get(other)) {
            let what = if kinds.name == "Motif" {
                "motif"
            } else {
                "traffic"
            };
            let (key, listed) = (kinds.key, quoted(names));
            let instead = match names.contains(&named.as_str()) {
                true => format!("`{key} = \"{named}\"`"),
                false => instead_of_kind(kinds.name, named).unwrap_or_else(|| format!("`{key}`")),
            };
            let allowed =
                format!("in {what} the key is `{key}`, one of {listed} (write {instead})");
            self.refuse(&below(path, other), format!("the key {other}"), allowed);
            return;
        }
        let chosen = table.get(kinds.key).unwrap_or(&Value::Null);
        let advice = chosen
            .as_str()
            .and_then(|name| instead_of_kind(kinds.name, name));
        let near = chosen.as_str().and_then(|name| nearest(name, names));
        let hint = match (advice, near) {
            (Some(advice), _) => format!(" (write {advice})"),
            (None, Some(near)) => format!(" (did you mean \"{near}\"?)"),
            (None, None) => String::new(),
        };
        self.refuse(
            &below(path, kinds.key),
            describe(chosen),
            format!("{}{hint}", quoted(names)),
        );
    }

    /// Checks that the parameters of a plug-in are a table.
    fn parameters(&mut self, path: &str, table: &Object) {
        if let Some(other) = table.get("parameters").filter(|given| !given.is_object()) {
            self.refuse(&below(path, "parameters"), describe(other), "a table");
        }
    }

    /// Checks a table that names a plug-in, `{ plug_in = …, parameters = { … } }`.
    fn plug_in_table(&mut self, path: &str, kind: &str, table: &Object) -> Option<Value> {
        self.unknown(path, table, &["plug_in", "parameters"]);
        self.parameters(path, table);
        let named = &table["plug_in"];
        let known = self.plug_ins_of(kind).join(", ");
        match named.as_str() {
            Some(name) if self.is_plug_in(kind, name) => Some(json!({ PLUG_IN: name })),
            _ if known.is_empty() => {
                let allowed = "no plug-in, as none is installed or registered";
                self.wrong(&below(path, "plug_in"), named, allowed)
            }
            _ => self.wrong(&below(path, "plug_in"), named, &known),
        }
    }

    /// The engine's form of a value that has one of several forms.
    pub(super) fn of_a_form(&mut self, path: &str, name: &str, given: &Value) -> Option<Value> {
        let written;
        let given = match (name, given) {
            ("Placement", Value::String(text))
                if is_numbers(text) && !self.is_plug_in("placement", text) =>
            {
                written = self.numbers(path, given)?;
                &written
            }
            ("Mapping", Value::String(text)) if text == "file" => {
                let allowed = "the name of the file, such as \"ranks.map\" or { file = \"ranks\" }";
                return self.wrong(path, given, allowed);
            }
            ("Mapping", Value::String(text))
                if text.contains(['.', '/']) && !self.is_plug_in("mapping", text) =>
            {
                written = json!({ "file": text });
                &written
            }
            _ => given,
        };
        let forms = forms_of(name)?;
        let is_known = |kind: &str, name: &str| self.is_plug_in(kind, name);
        let mut all = forms.forms.iter();
        let Some(form) = all.find(|form| form.is_of(given, &is_known)) else {
            let called = forms.forms.iter().map(|form| form.called);
            let called: Vec<&str> = called.collect();
            return self.wrong(path, given, &called.join(" or "));
        };
        if given.get(PLUG_IN).is_some() {
            return Some(given.clone());
        }
        match (form.fits, given) {
            (Fits::PlugIn(_), _) => return Some(json!({ PLUG_IN: given })),
            (Fits::PlugInTable(kind), Value::Object(table)) => {
                return self.plug_in_table(path, kind, table);
            }
            _ => {}
        }
        let value = self.value(path, &form.value.kind, &form.value, given)?;
        if name == "Phase" && value.pointer("/kind/plug-in").is_some() {
            let allowed = "a motif of ours: a plug-in is the motif of a whole job";
            let found = format!("the plug-in {}", describe(&given["kind"]));
            self.refuse(&below(path, "kind"), found, allowed);
            return None;
        }
        let value = match form.under {
            Some(key) => Value::Object(Object::from_iter([(key.to_owned(), value)])),
            None => value,
        };
        Some(match name {
            "Placement" => placed(value),
            "Mapping" => mapped(value),
            _ => hyphened(value),
        })
    }

    /// Puts the phases of a file in the place of its name.
    fn phases_of_file(&mut self, path: &str, form: &mut Object) {
        let kind = form.get_mut("kind").and_then(Value::as_object_mut);
        let Some(kind) = kind else { return };
        let Some(Value::String(file)) = kind.remove("phases_file") else {
            return;
        };
        if !self.reads_files {
            return;
        }
        let place = below(path, "file");
        if self.depth == DEEPEST {
            let allowed = format!("files of phases that name each other {DEEPEST} times at most");
            self.refuse(&place, format!("\"{file}\""), allowed);
            return;
        }
        let text = match odonata_files::read_to_string(Path::new(&file)) {
            Ok(text) => text,
            Err(error) => {
                self.refuse(&place, format!("{file}: {error}"), "a file of phases");
                return;
            }
        };
        let read = toml_value(&text).and_then(|document| Ok((document, key_lines(&text)?)));
        let (document, lines) = match read {
            Ok(read) => read,
            Err(error) => {
                self.refuse(&place, format!("{file}: {error}"), "a file of phases");
                return;
            }
        };
        let mut inner = Reader {
            depth: self.depth + 1,
            plug_ins: self.plug_ins.clone(),
            ..Reader::new(Path::new(&file).parent().unwrap_or(self.directory), lines)
        };
        let mut document = document;
        respelled(&mut document);
        let phases = inner.declared_table("", "PhaseFile", Some(&document), &[]);
        for error in inner.found {
            let message = format!("{file}: {error}");
            let (found, allowed) = (error.found, error.allowed);
            let mut error = crate::error::SpecError::new(&place, message);
            (error.found, error.allowed) = (found, allowed);
            self.add(error);
        }
        kind.extend(phases);
    }
}

/// Writes the placement and mapping of a job that is right without their short forms: numbers of
/// nodes as a list, a file of ranks as a table.
pub(super) fn spell_out(job: &mut Value, plug_ins: &PlugInNames) {
    let is_known = |kind: &str, name: &str| {
        (plug_ins.get(kind)).is_some_and(|names| names.iter().any(|one| one == name))
    };
    if let Some(Value::String(text)) = job.get("placement")
        && is_numbers(text)
        && !is_known("placement", text)
        && let Some(nodes) = ranges(text)
    {
        job["placement"] = nodes.into();
    }
    if let Some(Value::String(text)) = job.get("mapping")
        && text.contains(['.', '/'])
        && !is_known("mapping", text)
    {
        job["mapping"] = json!({ "file": text });
    }
}

/// Adds what the engine's form of a kind has besides its keys.
fn merge(form: &mut Object, more: &Value, name: &str) {
    for (key, value) in more.as_object().into_iter().flatten() {
        match (form.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(_)) => merge(inner, value, name),
            (_, Value::Object(_)) => {
                let mut inner = Object::new();
                merge(&mut inner, value, name);
                form.insert(key.clone(), inner.into());
            }
            (_, Value::String(text)) if text == "NAME" => {
                form.insert(key.clone(), name.into());
            }
            (_, value) => {
                form.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Puts what is said of traffic's load where the engine has it: an interval with a load or
/// rate says how large messages are.
fn offer(traffic: &mut Map<String, Value>) {
    let mut offered = match traffic.remove("offered") {
        Some(Value::Object(offered)) => offered,
        _ => Map::new(),
    };
    let mut interval = Value::Null;
    if offered.len() > 1 {
        interval = offered.remove("interval_ps").unwrap_or_default();
    }
    // A global link load is distinguished by its unit.
    if let Some(Value::Object(load)) = offered.remove("load") {
        offered.extend(load);
    }
    traffic.insert("offered".into(), Value::Object(offered));
    traffic.insert("interval_ps".into(), interval);
}

/// The variants of enums in the engine's form have hyphens.
fn hyphened(value: Value) -> Value {
    match value {
        Value::Object(table) if table.len() == 1 => {
            let renamed = table.into_iter().map(|(key, value)| match key.as_str() {
                "time_ps" | "compute_ps" => (key.replace('_', "-"), value),
                _ => (key, value),
            });
            Value::Object(renamed.collect())
        }
        other => other,
    }
}

/// The engine's form of a placement, with the groups that it is within.
fn placed(value: Value) -> Value {
    let Value::Object(mut table) = value else {
        return value;
    };
    if table.contains_key("nodes") {
        table.insert("policy".into(), "explicit".into());
    } else if table.contains_key("file") {
        table.insert("policy".into(), "rank-map".into());
    } else if table.contains_key("mode") {
        if table["policy"] != "grap" {
            table.retain(|key, _| ["policy", "groups"].contains(&key.as_str()));
        } else if table["mode"].is_null() {
            table.insert("mode".into(), "adaptive".into());
        }
    }
    Value::Object(table)
}

/// The engine's form of a mapping.
fn mapped(value: Value) -> Value {
    let get = |key: &str| value.get(key).cloned().unwrap_or_default();
    if value.get("node_of_rank").is_some() {
        return json!({"policy": "explicit", "node_of_rank": get("node_of_rank")});
    }
    if !get("file").is_null() {
        return json!({"policy": "file", "file": get("file")});
    }
    let (policy, refine) = (get("policy"), get("refine"));
    let is_plain = ["linear", "random", "random-halves"]
        .map(Value::from)
        .contains(&policy);
    if is_plain && refine.is_null() {
        return json!({"policy": policy});
    }
    let objective = match get("objective") {
        Value::Null => "hop-bytes".into(),
        objective => objective,
    };
    let refine = if refine.is_null() {
        Value::Null
    } else {
        objective
    };
    json!({"policy": "fitted", "start": policy, "refine": refine, "matrix": get("matrix")})
}
