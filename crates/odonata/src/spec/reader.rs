//! Scenario files as people write them: quantities with units, words, defaults, all
//! mistakes at once. What they may say is what the tables declare.

mod advice;
mod jobs;
mod named_parts;
mod network;
mod partial;
mod user;
mod values;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::declarations::{self, tables};
use super::family::FamilyDeclaration;
use super::forms::PLUG_IN;
use super::kinds::Kinds;
use super::schedule::Schedule;
use super::source::key_lines;
use super::study::study_tables;
use super::table::TableDeclaration;
use super::{JobEnd, Scenario, check_jobs, default_seed, toml_value};
use crate::error::{Mistakes, SpecError};
use crate::registry::{List, registry};
use named_parts::NamedParts;
pub(super) use values::put;
use words::describe;

type Object = Map<String, Value>;

/// Tables of a scenario file beside its network that a machine is read from.
const TABLES: [(&str, &str); 3] = [
    ("simulation", "Simulation"),
    ("mpi", "Mpi"),
    ("record", "Record"),
];
/// What a scenario file has besides, of which a machine has none.
const OTHERS: [&str; 1] = ["schedule"];
/// Keys that every network has.
const SHARED: [&str; 5] = ["family", "router", "nic", "routing", "links"];
/// The highest seed.
const MOST_SEED: u64 = i64::MAX as u64;

impl Scenario {
    /// Reads the machine of a scenario file as people write it: its title, seed, network,
    /// `[simulation]`, `[mpi]` and `[record]`, without jobs (`[[job]]`, `[schedule]`, which are not
    /// looked into).
    ///
    /// Names of files in it are relative to `directory`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line, its key, what was found and what
    /// is allowed.
    pub fn machine_from_toml(text: &str, directory: &Path) -> Result<Self, Mistakes> {
        let mut document = toml_value(text)?;
        if let Some(document) = document.as_object_mut() {
            document.shift_remove("job");
        }
        Self::from_document(&document, key_lines(text)?, directory)
    }

    /// Reads a scenario file as people write it, jobs included; `[schedule]` is not looked into.
    ///
    /// Names of files in it are relative to `directory`.
    ///
    /// # Errors
    /// As for [`Self::machine_from_toml`].
    pub fn from_file_text(text: &str, directory: &Path) -> Result<Self, Mistakes> {
        Self::from_document(&toml_value(text)?, key_lines(text)?, directory)
    }

    fn from_document(
        document: &Value,
        lines: BTreeMap<String, usize>,
        directory: &Path,
    ) -> Result<Self, Mistakes> {
        let form = form(document, lines.clone(), directory)?;
        let read = Self::from_value(form).and_then(|scenario| {
            let jobs: Vec<JobEnd<'_>> = scenario.jobs.iter().map(JobEnd::of).collect();
            if !jobs.is_empty() {
                check_jobs(&jobs, scenario.simulation.duration_ps.is_some())?;
            }
            Ok(scenario)
        });
        Ok(read.map_err(|error| placed(&lines, error))?)
    }
}

/// Names of the plug-ins of each kind that scenarios may name.
pub type PlugInNames = BTreeMap<String, Vec<String>>;

/// A scenario as people write it, of which a TOML or JSON reader made a value, with every
/// word of two spellings as its key has it; and everything that is wrong with it, mistakes of
/// building its network and jobs among them if others are.
pub fn checked(
    document: &Value,
    directory: &Path,
    plug_ins: &PlugInNames,
) -> (Value, Vec<SpecError>) {
    let mut document = document.clone();
    advice::respelled(&mut document);
    let mut reader = Reader {
        plug_ins: plug_ins.clone(),
        ..Reader::new(directory, BTreeMap::new())
    };
    let nothing = Object::new();
    let given = document.as_object().unwrap_or(&nothing);
    let form = reader.scenario(given);
    reader.only_in_queues(given);
    // Jobs of a queue need not fit onto the machine together.
    let is_queue = given.contains_key("schedule");
    let mut found = reader.found;
    if found.is_empty() {
        found.extend(jobs_mistake(&form));
        let jobs = document.get_mut("job").and_then(Value::as_array_mut);
        for job in jobs.into_iter().flatten() {
            jobs::spell_out(job, plug_ins);
        }
    } else if !is_queue {
        found.extend(partial::built(form, &found));
    }
    (document, found)
}

/// One table by itself as [`checked`] has it, and everything that is wrong with it: of the name of
/// its declaration, or `Motif`, `Traffic` or `Network`, or the name of a family's link
/// classes or of a value of several forms. Files that it names are not read.
pub fn checked_table(name: &str, given: &Value, plug_ins: &PlugInNames) -> (Value, Vec<SpecError>) {
    let mut given = given.clone();
    advice::respelled(&mut given);
    let mut reader = Reader {
        plug_ins: plug_ins.clone(),
        reads_files: false,
        is_study: studies().iter().any(|table| table.name == name),
        ..Reader::new(Path::new(""), BTreeMap::new())
    };
    let nothing = Object::new();
    let table = given.as_object().unwrap_or(&nothing);
    let mut is_classes = false;
    match name {
        "Placement" | "Mapping" => drop(reader.of_a_form("", name, &given)),
        "Motif" | "Traffic" | "ScheduleNetwork" => drop(reader.of_a_kind("", name, &given)),
        "Network" => drop(reader.network(table)),
        _ if declared(name).is_some() => {
            drop(reader.declared_table("", name, Some(&given), &[]));
        }
        _ => is_classes = reader.link_classes(name, table),
    }
    for error in &mut reader.found {
        let prefix = match name {
            "Network" => "network.",
            _ if is_classes => "network.links.",
            _ => "",
        };
        if let Some(rest) = error.path.strip_prefix(prefix) {
            error.path = rest.to_owned();
        }
    }
    if name == "Job" && reader.found.is_empty() {
        jobs::spell_out(&mut given, plug_ins);
    }
    (given, reader.found)
}

/// The `[schedule]` of a scenario as people write it; the files that it names are not looked for.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn schedule_from(given: &Value) -> Result<Schedule, Mistakes> {
    let mut reader = Reader::new(Path::new(""), BTreeMap::new());
    let form = reader.declared_table("", "Schedule", Some(given), &[]);
    match reader.found.is_empty() {
        true => serde_json::from_value(Value::Object(form))
            .map_err(|error| SpecError::new("schedule", error.to_string()).into()),
        false => Err(Mistakes(reader.found)),
    }
}

/// What is wrong with the jobs of a form together.
fn jobs_mistake(form: &Object) -> Option<SpecError> {
    let jobs = form.get("jobs")?.as_array()?;
    let ends = |job: &Value| {
        let load = &job["load"];
        let does_end = !load["motif"].is_null() || !load["traffic"]["messages"].is_null();
        does_end && job["idle"] != true
    };
    let jobs: Vec<JobEnd<'_>> = (jobs.iter())
        .map(|job| JobEnd {
            name: job["name"].as_str().unwrap_or_default(),
            ends: ends(job),
        })
        .collect();
    let has_duration = !form.get("simulation")?["duration_ps"].is_null();
    match jobs.as_slice() {
        [] => None,
        jobs => check_jobs(jobs, has_duration).err(),
    }
}

/// The engine's form of a scenario as people write it, jobs included, of which a TOML or JSON reader made a
/// value: quantities are integers with the unit in their key, paths begin with `directory`.
///
/// # Errors
/// As for [`Scenario::machine_from_toml`].
pub fn engine_form(scenario: &Value, directory: &Path) -> Result<Value, Mistakes> {
    form(scenario, BTreeMap::new(), directory)
}

/// The engine's form of a table of which a key says the kind, `Motif` or `Traffic`.
///
/// # Errors
/// As for [`Scenario::machine_from_toml`], and if there are no such tables.
pub fn kind_form(name: &str, table: &Value, directory: &Path) -> Result<Value, Mistakes> {
    let mut reader = Reader::new(directory, BTreeMap::new());
    match reader.of_a_kind("", name, table) {
        Some(form) => Ok(form),
        None if reader.found.is_empty() => {
            let allowed = "\"Motif\" or \"Traffic\"";
            Err(SpecError::value("", format!("\"{name}\""), allowed).into())
        }
        None => Err(Mistakes(reader.found)),
    }
}

fn form(
    scenario: &Value,
    lines: BTreeMap<String, usize>,
    directory: &Path,
) -> Result<Value, Mistakes> {
    let mut reader = Reader::new(directory, lines);
    let mut scenario = scenario.clone();
    advice::respelled(&mut scenario);
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
    let tables = TABLES.get_or_init(|| {
        let mut all = tables();
        all.extend(declarations::tables_of_schedules().0);
        all
    });
    (tables.iter().chain(studies())).find(|table| table.name == name)
}

/// The tables of study files likewise.
fn studies() -> &'static [TableDeclaration] {
    static STUDIES: OnceLock<Vec<TableDeclaration>> = OnceLock::new();
    STUDIES.get_or_init(study_tables)
}

/// The families of networks likewise.
fn families() -> &'static [FamilyDeclaration] {
    static FAMILIES: OnceLock<Vec<FamilyDeclaration>> = OnceLock::new();
    FAMILIES.get_or_init(declarations::families)
}

/// The lists of names likewise.
fn lists() -> &'static [List] {
    static LISTS: OnceLock<Vec<List>> = OnceLock::new();
    LISTS.get_or_init(registry)
}

/// The tables of several kinds likewise.
fn kinds_of(name: &str) -> Option<&'static Kinds> {
    static KINDS: OnceLock<Vec<Kinds>> = OnceLock::new();
    KINDS
        .get_or_init(|| {
            let mut all = declarations::kinds();
            all.push(declarations::tables_of_schedules().1);
            all
        })
        .iter()
        .find(|kinds| kinds.name == name)
}

/// Reads tables by what is declared of them.
struct Reader<'a> {
    /// What names of files are relative to.
    directory: &'a Path,
    lines: BTreeMap<String, usize>,
    found: Vec<SpecError>,
    /// How many files of phases it is inside of.
    depth: usize,
    /// Whether it reads the files of phases that are named.
    reads_files: bool,
    /// Whether it reads a study: keys of a scenario have no place there.
    is_study: bool,
    /// Plug-ins that may be named.
    plug_ins: PlugInNames,
}

impl<'a> Reader<'a> {
    fn new(directory: &'a Path, lines: BTreeMap<String, usize>) -> Self {
        Self {
            directory,
            lines,
            found: Vec::new(),
            depth: 0,
            reads_files: true,
            is_study: false,
            plug_ins: PlugInNames::new(),
        }
    }

    /// Names of the plug-ins of a kind.
    fn plug_ins_of(&self, kind: &str) -> &[String] {
        self.plug_ins.get(kind).map_or(&[], Vec::as_slice)
    }

    fn is_plug_in(&self, kind: &str, name: &str) -> bool {
        self.plug_ins_of(kind).iter().any(|one| one == name)
    }

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
        known.extend(["job", "machine", "failures", "node", "storage"]);
        known.extend(OTHERS);
        self.unknown("", given, &known);
        match given.get("title") {
            Some(Value::String(title)) => drop(form.insert("title".into(), title.as_str().into())),
            Some(other) => self.refuse("title", describe(other), "a text in quotes"),
            None => {}
        }
        match given.get("seed").map(|seed| (seed, seed.as_u64())) {
            Some((_, Some(seed))) if seed <= MOST_SEED => {
                form.insert("seed".into(), seed.into());
            }
            Some((other, _)) => {
                let allowed = "a whole number, at least 0 and at most 2^63 - 1";
                self.refuse("seed", describe(other), allowed);
            }
            None => {}
        }
        for (key, name) in TABLES {
            let inner = self.declared_table(key, name, given.get(key), &[]);
            form.insert(key.into(), Value::Object(inner));
        }
        if given.contains_key("machine") {
            self.declared_table("machine", "Machine", given.get("machine"), &[]);
        }
        let failures = self.failures(given, &form["seed"]);
        let node = self.node(given);
        match given.get("network") {
            Some(Value::Object(network)) => {
                let mut network = self.network(network);
                network.extend(failures.map(|failures| ("failures".to_owned(), failures)));
                network.extend(node.map(|node| ("node".to_owned(), node)));
                form.insert("network".into(), Value::Object(network));
            }
            Some(other) => self.refuse("network", describe(other), "a table"),
            None if given.contains_key("schedule") => {}
            None => self.missing("network", "a table"),
        }
        if let Some(storage) = self.storage(given) {
            form.insert("storage".into(), storage);
        }
        let jobs = self.jobs(given.get("job"));
        form.insert("jobs".into(), jobs.into());
        form
    }

    /// What fails of the network, under the scenario's seed if it has none of its own.
    fn failures(&mut self, given: &Object, seed: &Value) -> Option<Value> {
        let table = given.get("failures")?;
        if !given.contains_key("network") {
            self.refuse(
                "failures",
                describe(table),
                "only with [network], whose parts fail",
            );
        }
        let mut failures = self.declared_table("failures", "Failures", Some(table), &[]);
        if let Err(error) = NamedParts::numbered(given, self.directory, &mut failures) {
            self.add(error);
        }
        if failures.get("seed").is_none_or(Value::is_null) {
            failures.insert("seed".into(), seed.clone());
        }
        Some(Value::Object(failures))
    }

    /// What is inside every node of the network.
    fn node(&mut self, given: &Object) -> Option<Value> {
        let table = given.get("node")?;
        if !given.contains_key("network") {
            let allowed = "only with [network], which joins the nodes";
            self.refuse("node", describe(table), allowed);
        }
        Some(Value::Object(self.declared_table(
            "node",
            "Node",
            Some(table),
            &[],
        )))
    }

    /// The file system beside the network.
    fn storage(&mut self, given: &Object) -> Option<Value> {
        let table = given.get("storage")?;
        if given.contains_key("schedule") {
            let allowed = "only without [schedule], whose jobs have no file system";
            self.refuse("storage", describe(table), allowed);
        }
        let mut form = self.declared_table("storage", "Storage", Some(table), &[]);
        if form
            .get("placement")
            .is_some_and(|one| one.get(PLUG_IN).is_some())
        {
            let allowed = "a policy of ours or a list of nodes: a plug-in places jobs";
            self.refuse("storage.placement", describe(&table["placement"]), allowed);
        }
        let placement = form.get_mut("placement").and_then(Value::as_object_mut);
        let groups = placement.and_then(|placement| placement.remove("groups"));
        form.insert("groups".into(), groups.unwrap_or_default());
        Some(Value::Object(form))
    }

    /// Refuses what only jobs of a queue have.
    fn only_in_queues(&mut self, given: &Object) {
        let jobs = given.get("job").and_then(Value::as_array);
        if given.contains_key("schedule") {
            return;
        }
        for (place, job) in jobs.into_iter().flatten().enumerate() {
            for key in ["submit", "requested"] {
                if let Some(value) = job.get(key) {
                    let allowed = "only with [schedule], whose queue the job joins";
                    self.refuse(&format!("job[{place}].{key}"), describe(value), allowed);
                }
            }
        }
    }

    fn missing(&mut self, path: &str, allowed: impl Into<String>) {
        let allowed = allowed.into();
        let message = format!("missing; this key must be given: {allowed}");
        let mut error = SpecError::new(path, message);
        (error.found, error.allowed) = (Some("nothing".into()), Some(allowed));
        self.add(error);
    }
}

#[cfg(test)]
mod tests;
