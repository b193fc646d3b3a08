//! Files of users, opened and read up to a limit as the engine does it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use odonata_files::Source;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::guard::computing_apart;

/// What a file of at most `most` bytes holds, decompressed.
#[pyfunction]
pub fn read_file(py: Python<'_>, path: PathBuf, most: u64) -> PyResult<Bound<'_, PyBytes>> {
    let file = path.clone();
    let read = computing_apart(py, move || Ok(odonata_files::read(&file, most)))?;
    let content = read.map_err(|error| os_error(&path, &error))?;
    Ok(PyBytes::new(py, &content))
}

/// A file that is open for reading from its beginning to its end, decompressed.
#[pyclass(frozen, module = "odonata._engine")]
pub struct OpenFile {
    source: Mutex<Source>,
    path: PathBuf,
}

#[pymethods]
impl OpenFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = path.clone();
        let opened = computing_apart(py, move || Ok(odonata_files::open(&file)))?;
        Ok(Self {
            source: Mutex::new(opened.map_err(|error| os_error(&path, &error))?),
            path,
        })
    }

    /// The next `bytes` bytes; fewer at the end.
    fn read<'py>(&self, py: Python<'py>, bytes: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut content = Vec::new();
        let read = py.detach(|| {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            source.by_ref().take(bytes).read_to_end(&mut content)
        });
        read.map_err(|error| os_error(&self.path, &error))?;
        Ok(PyBytes::new(py, &content))
    }
}

/// The exception of an error, with the system's number of it where it is the system's.
fn os_error(path: &Path, error: &io::Error) -> PyErr {
    const INVALID_ARGUMENT: i32 = 22;
    let text = error.to_string();
    let (code, text) = match error.raw_os_error() {
        Some(code) => (code, text.split(" (os error").next().unwrap_or(&text)),
        None => (INVALID_ARGUMENT, text.as_str()),
    };
    PyOSError::new_err((code, text.to_owned(), path.as_os_str().to_owned()))
}
