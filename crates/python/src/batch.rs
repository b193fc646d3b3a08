//! Job logs and schedules for Python.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use odonata::{Listed, NodeId, batch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::{columns, to_python};
use crate::guard::{Callback, computing, computing_apart};

/// Nodes, the second in which they fail and that in which they work again, if they do.
type NodesOut = (Vec<u32>, i64, Option<i64>);

/// A job log that the engine holds; Python sees columns of it.
#[pyclass(frozen, module = "odonata._engine")]
pub struct JobLog {
    log: Arc<batch::JobLog>,
    report: Option<batch::Report>,
}

impl JobLog {
    fn new((log, report): (batch::JobLog, batch::Report)) -> Self {
        Self {
            log: Arc::new(log),
            report: Some(report),
        }
    }
}

/// The tables of a schedule by name, and its figures.
fn tables<'py>(py: Python<'py>, scheduled: batch::Scheduled) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for table in scheduled.tables {
        let name = table.name;
        result.set_item(name, columns(py, table)?)?;
    }
    result.set_item("meta", to_python(py, &scheduled.meta)?)?;
    Ok(result)
}

#[pymethods]
impl JobLog {
    /// Reads a log; options as JSON.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, spec_json: String) -> PyResult<Self> {
        computing_apart(py, move || {
            batch::read_job_log(&path, &batch::ReadSpec::from_json(&spec_json)?)
        })
        .map(Self::new)
    }

    /// Draws a synthetic log; parameters as JSON.
    #[staticmethod]
    fn generate(py: Python<'_>, spec_json: String) -> PyResult<Self> {
        computing_apart(py, move || {
            batch::generate_job_log(&batch::GenerateSpec::from_json(&spec_json)?)
        })
        .map(Self::new)
    }

    /// A log from columns: int64 and float64 arrays, lists of texts.
    #[staticmethod]
    #[expect(
        clippy::too_many_arguments,
        reason = "what a log says of itself, by name in Python"
    )]
    #[pyo3(signature = (given, epoch=None, machine_nodes=None, machine_processors=None, header=Vec::new(), unit="nodes", unit_because=String::new(), processors_per_node=None))]
    fn from_columns(
        py: Python<'_>,
        given: &Bound<'_, PyDict>,
        epoch: Option<i64>,
        machine_nodes: Option<u32>,
        machine_processors: Option<u32>,
        header: Vec<(String, String)>,
        unit: &str,
        unit_because: String,
        processors_per_node: Option<u32>,
    ) -> PyResult<Self> {
        let unit = batch::Unit::by_name(unit)
            .map_err(|error| PyValueError::new_err(format!("unit: {error}")))?;
        let mut taken = batch::LogColumns::default();
        for (name, values) in given {
            let name: String = name.extract()?;
            if let Ok(array) = values.cast::<PyArray1<i64>>() {
                taken.integers.insert(name, array.to_vec()?);
            } else if let Ok(array) = values.cast::<PyArray1<f64>>() {
                taken.reals.insert(name, array.to_vec()?);
            } else if let Ok(texts) = values.extract::<Vec<String>>() {
                taken.texts.insert(name, texts);
            } else {
                let message = format!("column {name} is neither int64, float64 nor a list of str");
                return Err(PyValueError::new_err(message));
            }
        }
        let log = computing_apart(py, move || {
            let mut log = batch::log_from_columns(&taken)?;
            log.epoch = epoch;
            log.machine_nodes = machine_nodes;
            log.machine_processors = machine_processors;
            log.header = header;
            log.unit = unit;
            log.unit_because = unit_because;
            log.processors_per_node = processors_per_node.filter(|&count| count > 0);
            Ok(log)
        })?;
        Ok(Self {
            log: Arc::new(log),
            report: None,
        })
    }

    /// The log scaled; factors as JSON.
    fn scaled(&self, py: Python<'_>, spec_json: String) -> PyResult<Self> {
        let log = Arc::clone(&self.log);
        let log = computing_apart(py, move || {
            batch::scale_job_log(&log, &batch::ScaleSpec::from_json(&spec_json)?)
        })?;
        Ok(Self {
            log: Arc::new(log),
            report: self.report.clone(),
        })
    }

    /// Number of jobs.
    fn __len__(&self) -> usize {
        self.log.jobs.len()
    }

    /// The columns by name; `names` lists the texts of labels.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (table, names) = batch::log_table(&self.log);
        let result = columns(py, table)?;
        result.set_item("names", names)?;
        Ok(result)
    }

    /// What the log says of itself.
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &batch::log_meta(&self.log))
    }

    /// What the reader counted; `None` for a log that was not read.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.report {
            Some(report) => to_python(py, &batch::report_json(report)),
            None => Ok(py.None().into_bound(py)),
        }
    }

    /// The log in the Standard Workload Format.
    fn swf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let log = Arc::clone(&self.log);
        let text = computing_apart(py, move || Ok(batch::job_log_as_swf(&log)))?;
        Ok(PyBytes::new(py, &text))
    }

    /// Simulates the log; options as JSON. Returns tables and "meta". `progress` is
    /// called with the number of jobs that ended and of all.
    #[pyo3(signature = (spec_json, progress=None))]
    fn schedule<'py>(
        &self,
        py: Python<'py>,
        spec_json: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let scheduled = computing(py, |stop| {
            let spec = batch::ScheduleSpec::from_json(spec_json)?;
            let mut callback = Callback::new(progress.as_ref(), stop);
            batch::schedule_jobs(&self.log, &spec, &mut |done, of| {
                callback.report_pair(done, of)
            })
        })?;
        tables(py, scheduled)
    }

    /// Simulates the log as Slurm schedules it; options as JSON. Returns tables and "meta".
    #[pyo3(signature = (spec_json, progress=None))]
    fn schedule_as_slurm<'py>(
        &self,
        py: Python<'py>,
        spec_json: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let scheduled = computing(py, |stop| {
            let spec = batch::SlurmSpec::from_json(spec_json)?;
            let mut callback = Callback::new(progress.as_ref(), stop);
            batch::schedule_as_slurm(&self.log, &spec, &mut |done, of| {
                callback.report_pair(done, of)
            })
        })?;
        tables(py, scheduled)
    }

    /// Nodes that the failures of a network, in JSON, take out during the log: of each outage these, its
    /// second and that after its last, or `None`, in the log's time.
    fn outages_by_network(&self, py: Python<'_>, network_json: String) -> PyResult<Vec<NodesOut>> {
        let log = Arc::clone(&self.log);
        let outages = computing_apart(py, move || batch::outages_by_network(&network_json, &log))?;
        let numbers = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| node.0).collect();
        let outages = outages.into_iter();
        Ok(outages
            .map(|one| (numbers(one.nodes), one.at.0, one.until.map(|until| until.0)))
            .collect())
    }

    /// The schedule that the log recorded, with the figures of a simulated one.
    fn recorded<'py>(&self, py: Python<'py>, spec_json: String) -> PyResult<Bound<'py, PyDict>> {
        let log = Arc::clone(&self.log);
        let scheduled = computing_apart(py, move || {
            batch::recorded_schedule(&log, &batch::ScheduleSpec::from_json(&spec_json)?)
        })?;
        tables(py, scheduled)
    }
}
