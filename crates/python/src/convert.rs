//! Values of the engine as Python objects.

use numpy::{IntoPyArray, get_array_module};
use odonata::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

/// The columns of a table by name. Numbers become numpy arrays that own the
/// memory of the Rust vectors, without a copy; texts become lists.
pub fn columns<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    // Imported here, where Ctrl-C meanwhile is an error; the arrays themselves would panic.
    get_array_module(py)?;
    let result = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::I8(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::I32(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::I64(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::F64(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::Text(values) => result.set_item(name, values)?,
        }
    }
    Ok(result)
}

/// A JSON value as Python's `json` module would read it.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => value.into_pyobject(py)?.into_any(),
            (None, Some(value)) => value.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
