//! `odonata._engine`: the Rust side as a Python module. Thin: scenarios come in
//! as normalised JSON, tables go out as numpy arrays that take over the memory
//! of the Rust vectors. The interpreter is free while the engine computes.

mod batch;
mod cluster;
mod convert;
mod errors;
mod files;
mod guard;

use pyo3::prelude::*;

/// The engine of Odonata; people use the `odonata` package around it.
#[pymodule]
mod _engine {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use numpy::PyReadonlyArray1;
    use odonata::checkpoint::{Checkpoints, Every, Identity, run_with_checkpoints};
    use odonata::control;
    use odonata::{BenchOptions, Listed, Sample, Scenario, VerifyOptions};
    use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::batch::JobLog;
    #[pymodule_export]
    use crate::cluster::{ClusterPlacement, JobsOnNetwork};
    use crate::convert::{columns, to_python};
    #[pymodule_export]
    use crate::errors::{CheckpointError, InternalError, SimulationError, SpecError};
    #[pymodule_export]
    use crate::files::{OpenFile, read_file};
    use crate::guard::{Callback, computing, computing_apart};

    /// Version of the engine.
    #[pymodule_export]
    const VERSION: &str = odonata::VERSION;

    /// Names its sources: others may simulate otherwise, whatever their version says.
    #[pymodule_export]
    const SOURCES: &str = odonata::SOURCES;

    /// Most bytes of a text that is read whole.
    #[pymodule_export]
    const MOST_TEXT_BYTES: u64 = odonata_files::MOST_TEXT_BYTES;

    /// Routes between the nodes of jobs, found once for several mappings of them.
    #[pyclass(frozen, module = "odonata._engine")]
    #[derive(Default)]
    struct KnownRoutes(Arc<odonata::KnownRoutes>);

    #[pymethods]
    impl KnownRoutes {
        #[new]
        fn new() -> Self {
            Self::default()
        }
    }

    fn by_name<T: Listed>(name: &str) -> PyResult<T> {
        T::by_name(name).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// All that is called by a name: a list of dicts, `name` of the list, `entries` with
    /// `name` and `text` each, and of some `options`: keys that mean something with them.
    #[pyfunction]
    fn registry(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let lists = serde_json::to_value(odonata::registry())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &lists)
    }

    /// The tables of a scenario that are declared as such: a list of dicts, `name`, `text`,
    /// `keys` and `rules`.
    #[pyfunction]
    fn tables(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let tables = serde_json::to_value(odonata::tables())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &tables)
    }

    /// The tables of `[schedule]`: `tables`, as in [`tables`], and the `levels` of its network, as
    /// the kinds in [`kinds`].
    #[pyfunction]
    fn schedule_tables(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (tables, levels) = odonata::tables_of_schedules();
        to_python(
            py,
            &serde_json::json!({"tables": tables, "levels": levels.kinds}),
        )
    }

    /// The tables of study files, as in [`tables`].
    #[pyfunction]
    fn study_tables(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let tables = serde_json::to_value(odonata::study_tables())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &tables)
    }

    /// The tables of a result: a list of dicts, `name`, `text`, and `columns` with `name`, `kind`,
    /// `text`, `may_be_none`, `names` and `meta`.
    #[pyfunction]
    fn result_tables(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let tables = py
            .detach(odonata::result_tables)
            .map_err(crate::errors::exception)?;
        let tables = serde_json::to_value(tables)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &tables)
    }

    /// The families of networks: a list of dicts, `name`, `table` as in [`tables`],
    /// `routing` and `links`.
    #[pyfunction]
    fn families(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let families = serde_json::to_value(odonata::families())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &families)
    }

    /// The tables of which a key says the kind: a list of dicts, `name`, `key`, `kinds`, each
    /// with `names`, `key_text`, `implied` and `table` as in [`tables`], and `plug_in`.
    #[pyfunction]
    fn kinds(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let kinds = serde_json::to_value(odonata::kinds())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &kinds)
    }

    /// What a text of a grammar says, as JSON; `orders` are plug-ins that sort a queue. Raises
    /// `ValueError` with what was found and what is allowed.
    #[pyfunction]
    fn written(grammar: &str, text: &str, orders: Vec<String>) -> PyResult<String> {
        let read = odonata::written(grammar, text, &orders);
        read.map(|value| value.to_string())
            .map_err(|refused| PyValueError::new_err((refused.found, refused.allowed)))
    }

    /// The values that have one of several forms: a list of dicts, `name`, `text`, and
    /// `forms` with `called`, `fits` and `value`, a key as in [`tables`].
    #[pyfunction]
    fn forms(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let forms = serde_json::to_value(odonata::spec::forms())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &forms)
    }

    /// The engine's form, as JSON, of a table of which a key says the kind, as people write
    /// it, which is JSON.
    #[pyfunction]
    fn kind_form(name: &str, text: &str, directory: PathBuf) -> PyResult<String> {
        let refused = |error: String| PyValueError::new_err(error);
        let table = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let form = odonata::kind_form(name, &table, &directory)
            .map_err(|error| refused(error.to_string()))?;
        serde_json::to_string(&form).map_err(|error| refused(error.to_string()))
    }

    /// A scenario file in the engine's form, as JSON.
    #[pyfunction]
    fn scenario_form(text: &str, directory: PathBuf) -> PyResult<String> {
        let scenario = Scenario::from_file_text(text, &directory)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(scenario.to_json())
    }

    /// A mistake of a scenario: the key path, the message, what was found and what is allowed
    /// (empty where unknown).
    type Mistake = (String, String, String, String);

    fn mistake(error: odonata::SpecError) -> Mistake {
        let (found, allowed) = (error.found, error.allowed);
        (
            error.path,
            error.message,
            found.unwrap_or_default(),
            allowed.unwrap_or_default(),
        )
    }

    /// A scenario as people write it, which is JSON, with every word of two spellings as its key
    /// has it, as JSON; and all mistakes in it. `schedule` is not looked into.
    /// `plug_ins` are the names of plug-ins by kind.
    #[pyfunction]
    fn checked(
        py: Python<'_>,
        text: &str,
        directory: PathBuf,
        plug_ins: BTreeMap<String, Vec<String>>,
    ) -> PyResult<(String, Vec<Mistake>)> {
        let refused = |error: String| PyValueError::new_err(error);
        let scenario = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let (scenario, found) = computing(py, |_| {
            Ok(odonata::checked(&scenario, &directory, &plug_ins))
        })?;
        let scenario =
            serde_json::to_string(&scenario).map_err(|error| refused(error.to_string()))?;
        Ok((scenario, found.into_iter().map(mistake).collect()))
    }

    /// One table by itself, which is JSON, as `checked` has it, as JSON; and everything that is wrong
    /// with it. `name` is that of its declaration, or `Motif`, `Traffic`, `Network`, `Placement`
    /// or `Mapping`, or that of a table of link classes.
    #[pyfunction]
    fn checked_table(
        name: &str,
        text: &str,
        plug_ins: BTreeMap<String, Vec<String>>,
    ) -> PyResult<(String, Vec<Mistake>)> {
        let refused = |error: String| PyValueError::new_err(error);
        let table = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let (table, found) = odonata::checked_table(name, &table, &plug_ins);
        let table = serde_json::to_string(&table).map_err(|error| refused(error.to_string()))?;
        Ok((table, found.into_iter().map(mistake).collect()))
    }

    /// The algorithm, the bytes of its segments and NCCL's protocol that the library of a scenario
    /// in the engine's form chooses for an operation of `ranks`, at least one, `per_node` on
    /// each node, with a vector of these bytes, or blocks.
    #[pyfunction]
    fn chosen_algorithm(
        spec_json: &str,
        operation: &str,
        bytes: u64,
        ranks: u32,
        per_node: u32,
    ) -> PyResult<odonata::Chosen> {
        let scenario = Scenario::from_json(spec_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        odonata::chosen_algorithm(&scenario, operation, bytes, (ranks, per_node))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Everything that keeps a scenario in the engine's form from being simulated.
    #[pyfunction]
    fn faults(py: Python<'_>, spec_json: String) -> PyResult<Vec<Mistake>> {
        let found = computing_apart(py, move || {
            Ok(odonata::faults(&Scenario::from_json(&spec_json)?))
        })?;
        Ok(found.into_iter().map(mistake).collect())
    }

    /// What a text is as a quantity of a kind: the number of its base units, or what was found,
    /// what is allowed and what was probably meant.
    #[pyfunction]
    fn read_quantity(kind: &str, text: &str) -> Result<u64, RefusedQuantity> {
        Ok(odonata::Quantity::of(kind).parse(text)?)
    }

    /// A number of base units of a kind of quantity, if it is one.
    #[pyfunction]
    fn check_quantity(kind: &str, value: i128) -> Result<u64, RefusedQuantity> {
        Ok(odonata::Quantity::of(kind).checked(value)?)
    }

    /// The shortest exact text of a number of base units.
    #[pyfunction]
    fn quantity_text(kind: &str, value: u64) -> String {
        odonata::Quantity::of(kind).shortest(value)
    }

    /// The facts of a kind of quantity: what messages call it, its base unit, its units, an example,
    /// the largest number of base units, and what texts are accepted.
    #[pyfunction]
    #[expect(clippy::type_complexity, reason = "a row of Python")]
    fn quantity_facts(
        kind: &str,
    ) -> (
        &'static str,
        &'static str,
        Vec<(&'static str, u128, u128)>,
        &'static str,
        u128,
        String,
    ) {
        let quantity = odonata::Quantity::of(kind);
        (
            quantity.kind,
            quantity.base_unit,
            quantity.units.to_vec(),
            quantity.example,
            quantity.largest.0,
            quantity.allowed(),
        )
    }

    struct RefusedQuantity(odonata::Refused);

    impl From<odonata::Refused> for RefusedQuantity {
        fn from(refused: odonata::Refused) -> Self {
            Self(refused)
        }
    }

    impl From<RefusedQuantity> for PyErr {
        fn from(RefusedQuantity(refused): RefusedQuantity) -> Self {
            PyValueError::new_err((refused.found, refused.allowed, refused.hint))
        }
    }

    /// The engine's form, as JSON, of a scenario as people write it, which is JSON; `machine`
    /// and `schedule` are not looked into.
    #[pyfunction]
    fn engine_form(text: &str, directory: PathBuf) -> PyResult<String> {
        let refused = |error: String| PyValueError::new_err(error);
        let scenario = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let form = odonata::engine_form(&scenario, &directory).map_err(|mistakes| {
            let first = mistakes.0.into_iter().next();
            first.map_or_else(
                || refused(String::new()),
                |one| crate::errors::exception(one.into()),
            )
        })?;
        serde_json::to_string(&form).map_err(|error| refused(error.to_string()))
    }

    /// The values of a TOML text as a dict.
    #[pyfunction]
    fn read_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = odonata::spec::toml_value(text)
            .map_err(|error| PyValueError::new_err(error.message))?;
        to_python(py, &value)
    }

    /// Line, from 1, of every key of a TOML text by its path, such as `job[1].nodes`.
    #[pyfunction]
    fn key_lines(text: &str) -> PyResult<BTreeMap<String, usize>> {
        odonata::spec::key_lines(text).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Names of the hosts of a list as Slurm writes it, such as `n[0-3,7]`, in its order.
    #[pyfunction]
    fn expand_hostlist(list: &str) -> PyResult<Vec<String>> {
        odonata::expand_hostlist(list).ok_or_else(|| {
            PyValueError::new_err(format!(
                "found `{list}`; allowed: a list of hosts as Slurm writes it, such as \
                 n[0-3,7],gpu-2, of at most {} hosts",
                odonata::MAX_HOSTS
            ))
        })
    }

    /// Policies of [`ClusterPlacement`]: name and text of each.
    #[pyfunction]
    fn cluster_policies() -> Vec<(String, String)> {
        crate::cluster::policies()
    }

    /// Simulates a scenario.
    ///
    /// Returns a dict: "meta" holds scalars, every other entry is a table, a
    /// dict of columns. `progress` is called about five times a second, in the
    /// calling thread, with a dict; what it raises ends the run and is raised here.
    /// With `checkpoint_file` it writes checkpoints, and `checkpointed` is called
    /// with a dict for each; `identity_json` is then what is simulated (`result`,
    /// `keys`), with the contents of files in place of their names.
    #[pyfunction]
    #[pyo3(signature = (spec_json, progress=None, *, checkpoint_file=None, resume=false, every_wall_s=None, every_simulated_ps=None, checkpointed=None, identity_json=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn run<'py>(
        py: Python<'py>,
        spec_json: &str,
        progress: Option<Py<PyAny>>,
        checkpoint_file: Option<PathBuf>,
        resume: bool,
        every_wall_s: Option<f64>,
        every_simulated_ps: Option<u64>,
        checkpointed: Option<Py<PyAny>>,
        identity_json: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let wall = every_wall_s
            .map(Duration::try_from_secs_f64)
            .transpose()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let simulated = every_simulated_ps.map(odonata::Picoseconds);
        let every = (wall.is_some() || simulated.is_some()).then_some(Every { wall, simulated });
        let checkpoints = match (checkpoint_file, identity_json) {
            (Some(file), Some(identity)) => {
                let identity: Identity = serde_json::from_str(identity)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?;
                Some(Checkpoints {
                    file,
                    every,
                    resume,
                    identity,
                })
            }
            (None, None) => None,
            _ => {
                let message = "checkpoint_file and identity_json go together";
                return Err(PyValueError::new_err(message));
            }
        };
        let run = computing(py, |stop| {
            let scenario = Scenario::from_json(spec_json)?;
            let callback = RefCell::new(Callback::new(progress.as_ref(), stop));
            let mut report = |now: &odonata::Progress| callback.borrow_mut().report(now);
            match &checkpoints {
                None => odonata::run(&scenario, &mut report),
                Some(checkpoints) => {
                    let checkpointed = checkpointed.as_ref();
                    run_with_checkpoints(&scenario, checkpoints, &mut report, &mut |event| {
                        callback.borrow_mut().report_checkpoint(checkpointed, event);
                    })
                }
            }
        })?;
        let result = PyDict::new(py);
        result.set_item("meta", to_python(py, &run.meta())?)?;
        for table in run.tables() {
            let name = table.name;
            result.set_item(name, columns(py, table)?)?;
        }
        Ok(result)
    }

    /// Runs the reference benchmark and returns its figures.
    #[pyfunction]
    #[pyo3(signature = (family="dragonfly", nodes=None, routing=None, choice="random", load=0.5, threads=1, seed=1, progress=None, duration_ps=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn bench<'py>(
        py: Python<'py>,
        family: &str,
        nodes: Option<u32>,
        routing: Option<&str>,
        choice: &str,
        load: f64,
        threads: usize,
        seed: u64,
        progress: Option<Py<PyAny>>,
        duration_ps: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = BenchOptions {
            family: family.to_owned(),
            nodes,
            routing: match routing {
                Some(name) => Some(by_name(name)?),
                None => None,
            },
            choice: by_name(choice)?,
            load,
            threads,
            seed,
            duration_ps,
        };
        let result = computing(py, |stop| {
            let mut callback = Callback::new(progress.as_ref(), stop);
            odonata::bench(&options, &mut |now: &odonata::Progress| {
                callback.report(now)
            })
        })?;
        to_python(py, &result.to_json())
    }

    /// Egress port of every ingress port of optical switches between uplinks and pods;
    /// `amounts` is what pods send to each other, row by row, `switches` the pods of the
    /// ports on either side.
    #[pyfunction]
    fn steer_uplinks(
        py: Python<'_>,
        pods: usize,
        amounts: Vec<f64>,
        switches: Vec<(Vec<u32>, Vec<u32>)>,
        steering: &str,
    ) -> PyResult<Vec<Vec<u32>>> {
        let steering: odonata::UplinkSteering = by_name(steering)?;
        let of_pods = |pods: Vec<u32>| pods.into_iter().map(odonata::GroupId).collect();
        let switches: Vec<_> = switches
            .into_iter()
            .map(|(ingress, egress)| odonata::UplinkSwitch {
                ingress: of_pods(ingress),
                egress: of_pods(egress),
                failed: Vec::new(),
            })
            .collect();
        let steered = py.detach(|| {
            odonata::PodTraffic::new(pods, amounts)
                .and_then(|traffic| odonata::steer_uplinks_by(steering, &traffic, &switches))
        });
        steered.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// What the optical switches of a scenario's network are plugged into: whether circuits lead
    /// one way, and by switch the group, router and port of every ingress and every egress port;
    /// `None` if it has none.
    #[pyfunction]
    #[expect(clippy::type_complexity, reason = "rows of Python")]
    fn optical_plant(
        py: Python<'_>,
        spec_json: String,
    ) -> PyResult<Option<(bool, Vec<Vec<(u32, u32, u16)>>, Vec<Vec<(u32, u32, u16)>>)>> {
        let plant = computing_apart(py, move || {
            Ok(control::optical_plant(&Scenario::from_json(&spec_json)?)?)
        })?;
        let side = |ports: Vec<Vec<control::PluggedPort>>| {
            let row = |ports: Vec<control::PluggedPort>| {
                let numbers = ports
                    .into_iter()
                    .map(|(group, router, port)| (group.0, router.0, port));
                numbers.collect()
            };
            ports.into_iter().map(row).collect()
        };
        Ok(plant.map(|plant| (plant.one_way, side(plant.ingress), side(plant.egress))))
    }

    /// Circuits between the groups of a job, as (switch, port, port); `sent` is what groups send,
    /// (from, to, bytes) by place in `groups`.
    #[pyfunction]
    #[pyo3(signature = (spec_json, groups, sent=None))]
    fn circuits_of_groups(
        py: Python<'_>,
        spec_json: String,
        groups: Vec<u32>,
        sent: Option<Vec<(usize, usize, u64)>>,
    ) -> PyResult<Vec<(u32, u32, u32)>> {
        let groups: Vec<_> = groups.into_iter().map(odonata::GroupId).collect();
        computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            Ok(control::circuits_of_groups(
                &scenario,
                &groups,
                sent.as_deref(),
            )?)
        })
    }

    /// Whether circuits that fit what groups (pods) send better are worth the change, and what those
    /// before and after it bring. `sent` and numbers of circuits are row by row, by sender.
    #[pyfunction]
    fn worth_a_change(
        groups: usize,
        sent: Vec<f64>,
        before: Vec<u32>,
        during: Vec<u32>,
        after: Vec<u32>,
        margin: f64,
        change: f64,
    ) -> PyResult<(bool, f64, f64)> {
        let traffic = odonata::PodTraffic::new(groups, sent)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let value = |links: &[u32]| odonata::circuits_value(&traffic, links);
        let (before, during, after) = (value(&before), value(&during), value(&after));
        let rule = odonata::Hysteresis { margin, change };
        Ok((rule.is_worth(before, during, after), before, after))
    }

    /// The ways of packets between pairs of nodes through an idle network: routers and the
    /// ports that a packet leaves them by. Uplinks of a fat tree at `silent` ingress ports, each a
    /// switch and a port, lead nowhere.
    #[pyfunction]
    #[pyo3(signature = (spec_json, pairs, silent=vec![]))]
    fn routes(
        py: Python<'_>,
        spec_json: String,
        pairs: Vec<(u32, u32)>,
        silent: Vec<(usize, usize)>,
    ) -> PyResult<Vec<Vec<(u32, u16)>>> {
        let node = odonata::NodeId;
        let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (node(a), node(b))).collect();
        let ways = computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            Ok(control::routes(&scenario, &pairs, &silent)?)
        })?;
        let way = |way: Vec<(_, u16)>| {
            way.into_iter()
                .map(|(at, port): (odonata::RouterId, _)| (at.0, port))
        };
        Ok(ways.into_iter().map(|hops| way(hops).collect()).collect())
    }

    /// Describes a scenario's network: "description" holds figures, the other
    /// entries are arrays.
    #[pyfunction]
    #[pyo3(signature = (spec_json, at_ps=None))]
    fn topology<'py>(
        py: Python<'py>,
        spec_json: String,
        at_ps: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (description, wiring, dark) = computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            let topology = match at_ps {
                None => odonata::build_topology(&scenario)?,
                Some(time) => odonata::left_at(&scenario, odonata::Picoseconds(time))?,
            };
            let time = odonata::Picoseconds(at_ps.unwrap_or(0));
            let dark = odonata::dark_uplinks(&scenario, time)?.into_iter();
            let dark: Vec<(u32, u32)> = dark.map(|(router, port)| (router.0, port)).collect();
            let wiring = odonata::wiring(&topology);
            Ok((odonata::describe(&topology), wiring, dark))
        })?;
        let result = PyDict::new(py);
        if !dark.is_empty() {
            result.set_item("dark_uplinks", dark)?;
        }
        result.set_item("description", to_python(py, &description)?)?;
        for table in wiring {
            let prefix = table.name.trim_end_matches('s');
            for (name, column) in columns(py, table)? {
                let name: String = name.extract()?;
                let key = match (prefix, name.as_str()) {
                    ("router", "group") => "group_of_router".to_owned(),
                    _ => format!("{prefix}_{name}"),
                };
                result.set_item(key, column)?;
            }
        }
        Ok(result)
    }

    /// The bisection width of a scenario's network, exactly or between bounds.
    #[pyfunction]
    #[pyo3(signature = (spec_json, steps=odonata::BISECTION_STEPS))]
    fn bisection<'py>(
        py: Python<'py>,
        spec_json: String,
        steps: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            Ok(odonata::bisection_width(&scenario, steps)?)
        })?;
        to_python(py, &found)
    }

    /// What the mappings of a scenario's jobs cost. `known` is what other mappings of them found
    /// out about routes.
    #[pyfunction]
    #[pyo3(signature = (spec_json, known=None))]
    fn mapping<'py>(
        py: Python<'py>,
        spec_json: String,
        known: Option<PyRef<'py, KnownRoutes>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = known.map(|known| Arc::clone(&known.0));
        let costs = computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            Ok(odonata::mapping_costs(&scenario, known.as_deref())?)
        })?;
        to_python(py, &costs.to_json())
    }

    /// What the ranks of a job do in its first iterations, as JSON: `channels`, `largest` and
    /// the steps of each rank.
    #[pyfunction]
    fn program(py: Python<'_>, spec_json: String, job: usize, iterations: u32) -> PyResult<String> {
        computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            let listed = odonata::list_program(&scenario, job, iterations)?;
            Ok(odonata::listing_to_json(&listed).to_string())
        })
    }

    /// The nodes of a scenario's jobs, and those that are left.
    #[pyfunction]
    fn place<'py>(py: Python<'py>, spec_json: String) -> PyResult<Bound<'py, PyAny>> {
        let found = computing_apart(py, move || {
            let placed = odonata::place_jobs(&Scenario::from_json(&spec_json)?)?;
            let numbers = |nodes: &[odonata::NodeId]| -> Vec<u32> {
                nodes.iter().map(|node| node.0).collect()
            };
            let jobs: Vec<Vec<u32>> = placed.nodes.iter().map(|nodes| numbers(nodes)).collect();
            Ok(serde_json::json!({"jobs": jobs, "free": numbers(&placed.free)}))
        })?;
        to_python(py, &found)
    }

    /// Proves that no packets of a scenario's network can wait for each other
    /// forever, or shows how they could. `progress` is called with the number of
    /// destinations done and of all. After `seconds` the answer is what is known by
    /// then; an interruption says what is.
    #[pyfunction]
    #[pyo3(signature = (spec_json, progress=None, limit=None, sample=None, seed=1, seconds=None))]
    fn verify<'py>(
        py: Python<'py>,
        spec_json: &str,
        progress: Option<Py<PyAny>>,
        limit: Option<u64>,
        sample: Option<u32>,
        seed: u64,
        seconds: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = VerifyOptions::default();
        options.time = match seconds.map(Duration::try_from_secs_f64) {
            Some(Err(error)) => return Err(PyValueError::new_err(error.to_string())),
            Some(Ok(time)) => Some(time),
            None => None,
        };
        options.limit = limit.unwrap_or(options.limit);
        options.sample = sample.map(|destinations| Sample { destinations, seed });
        let mut so_far = None;
        let proof = computing(py, |stop| {
            let scenario = Scenario::from_json(spec_json)?;
            let mut callback = Callback::new(progress.as_ref(), stop);
            let proof = odonata::verify(&scenario, &options, &mut |done, of| {
                callback.report_pair(done, of)
            })?;
            so_far = Some(proof.verdict.to_string());
            Ok(proof)
        });
        if let (Err(raised), Some(so_far)) = (&proof, so_far)
            && raised.is_instance_of::<PyKeyboardInterrupt>(py)
        {
            raised.value(py).setattr("args", (so_far,))?;
        }
        to_python(py, &proof?.to_json())
    }

    /// The optical switches of a scenario's network: how many, ports of each, ports connected in
    /// all, whether circuits lead one way; `None` if it has none.
    #[pyfunction]
    fn optical_parts(py: Python<'_>, spec_json: String) -> PyResult<Option<(u64, u32, u64, bool)>> {
        let parts = computing_apart(py, move || {
            Ok(odonata::optical_parts(&Scenario::from_json(&spec_json)?)?)
        })?;
        Ok(parts.map(|parts| (parts.switches, parts.ports, parts.connected, parts.one_way)))
    }

    /// A scenario's network as text, as "graphml" or "edge-list".
    #[pyfunction]
    fn export(py: Python<'_>, spec_json: String, format: String) -> PyResult<String> {
        computing_apart(py, move || {
            let scenario = Scenario::from_json(&spec_json)?;
            Ok(odonata::export(&scenario, &format)?)
        })
    }

    /// Writes an OTF2 archive, interruptible between locations; see [`odonata::write_otf2`].
    #[pyfunction]
    fn write_otf2(
        py: Python<'_>,
        path: PathBuf,
        names: &str,
        counts: PyReadonlyArray1<'_, u64>,
        events: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let (counts, events) = (counts.as_slice()?, events.as_slice()?);
        let written = computing(py, |stop| {
            let mut callback = Callback::new(None, stop);
            let mut tell = |done, of| callback.report_pair(done, of);
            Ok(odonata::write_otf2(&path, names, counts, events, &mut tell))
        })?;
        Ok(written?)
    }

    /// Reads a whole trace file and tells what it holds, with its first `records`
    /// records as texts.
    #[pyfunction]
    #[pyo3(signature = (path, records=0))]
    fn trace_summary(
        py: Python<'_>,
        path: std::path::PathBuf,
        records: usize,
    ) -> PyResult<Bound<'_, PyAny>> {
        let summary = computing_apart(py, move || odonata::trace_summary(&path, records))?;
        to_python(py, &summary)
    }

    /// Checks that a trace can be replayed and tells what a replay does.
    #[pyfunction]
    #[pyo3(signature = (path, options="{}"))]
    fn replay_facts<'py>(
        py: Python<'py>,
        path: PathBuf,
        options: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options: odonata::spec::ReplayOptions = serde_json::from_str(options)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let facts = computing_apart(py, move || odonata::replay_facts(&path, options))?;
        to_python(py, &facts)
    }

    /// What a person should know of classes of traffic, in JSON: which of them may get nothing.
    #[pyfunction]
    fn starving_classes(classes: &str) -> PyResult<Vec<String>> {
        let classes: Vec<odonata::spec::TrafficClass> = serde_json::from_str(classes)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(odonata::starving_classes(&classes))
    }

    /// Jobs of a workload file of CODES with the nodes of an allocation file.
    #[pyfunction]
    fn codes_jobs(
        py: Python<'_>,
        workload: PathBuf,
        allocation: PathBuf,
    ) -> PyResult<Bound<'_, PyAny>> {
        let jobs = computing_apart(py, move || odonata::codes_jobs(&workload, &allocation))?;
        to_python(py, &jobs)
    }

    /// What a configuration of CODES says besides the network.
    #[pyfunction]
    fn codes_facts(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
        let facts = computing_apart(py, move || odonata::codes_facts(&path))?;
        to_python(py, &facts)
    }

    /// The jobs of a configuration of TraceR.
    #[pyfunction]
    fn tracer_config(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
        let config = computing_apart(py, move || odonata::tracer_config(&path))?;
        to_python(py, &config)
    }

    /// What the checkpoint in a file says about itself: version, sources, simulated
    /// time, and what is simulated (`scenario`, `keys`). All of the file is checked.
    #[pyfunction]
    fn checkpoint_header(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
        let header = computing_apart(py, move || Ok(odonata::checkpoint::inspect(&path)?))?;
        let header = serde_json::to_value(header)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &header)
    }

    /// All files that a trace consists of, itself first.
    #[pyfunction]
    fn parts_of_trace(py: Python<'_>, path: PathBuf) -> Vec<PathBuf> {
        py.detach(|| odonata::parts_of_trace(&path))
    }

    /// A configuration of CODES and the lists of links that it names.
    #[pyfunction]
    fn parts_of_codes(py: Python<'_>, path: PathBuf) -> Vec<PathBuf> {
        py.detach(|| odonata::parts_of_codes(&path))
    }

    /// The files of a directory of forwarding tables that are read, or the file itself.
    #[pyfunction]
    fn parts_of_tables(py: Python<'_>, path: PathBuf) -> Vec<PathBuf> {
        py.detach(|| odonata::parts_of_tables(&path))
    }

    /// What is cabled in an InfiniBand subnet, from the output of `ibnetdiscover` or OpenSM's
    /// `opensm-subnet.lst`: a dict of lists of dicts. `switches` (`guid`, `name`, `ports`, `lid`)
    /// and `hosts` (`guid`, `port_guid`, `name`, `host`, `port`, `lid`, `switch`, `switch_port`,
    /// `rate`) are numbered as the routers and nodes of `family = "ibnetdiscover"` with
    /// `interfaces = "nodes"`; `cables` join two switches (`a`, `b`: switch and port; `rate`). Ports
    /// count from 1. `aggregation_nodes` and `warnings` are how many were left out.
    #[pyfunction]
    fn read_ibnetdiscover(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
        let found = computing_apart(py, move || Ok(odonata::subnet(&path)?))?;
        to_python(py, &found)
    }

    /// The graph of a wiring file by the names that stand in it: `vertices` (`name`, `is_node`,
    /// `group`) and `edges` (places of both ends). `family` is `graphml`, `gml` or `anynet`.
    #[pyfunction]
    fn named_graph(py: Python<'_>, path: PathBuf, family: String) -> PyResult<Bound<'_, PyAny>> {
        let found = computing_apart(py, move || Ok(odonata::named_graph(&path, &family)?))?;
        to_python(py, &found)
    }

    /// The defaults of the engine for a dragonfly: a normalised scenario in JSON.
    #[pyfunction]
    fn default_scenario() -> String {
        let dragonfly = odonata::spec::Dragonfly::new(1, 1, 1, 2);
        let family = odonata::spec::Family::Dragonfly(dragonfly);
        Scenario::new(odonata::spec::Network::new(family)).to_json()
    }

    /// Half the width of a 95 % confidence interval in standard errors (Student's t).
    #[pyfunction]
    fn student_t95(degrees: usize) -> f64 {
        odonata::statistics::student_t95(degrees)
    }

    /// Panics, so that tests can see what becomes of a defect.
    #[pyfunction]
    fn _panic(py: Python<'_>) -> PyResult<()> {
        computing(py, |_| panic!("on request"))
    }
}
