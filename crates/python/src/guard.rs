//! Calls of the engine: without the interpreter's lock, interruptible, and with
//! a defect as an exception instead of a crash.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use odonata::checkpoint::Event;
use odonata::{Error, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{InternalError, exception};

/// How often work that is done apart looks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// Stack of a thread that works apart: that of a process's first thread, and room.
const STACK_BYTES: usize = 16 << 20;

/// Runs `work`, which has no place where it could be stopped, in a thread of its own. Ctrl-C is
/// raised at once; the thread then ends when its work does, and what it found is dropped.
pub fn computing_apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    remember_panics();
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (tell, reported) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("odonata".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more after Ctrl-C.
            let _ = tell.send(panic::catch_unwind(AssertUnwindSafe(work)));
        })?;
    let reported = Mutex::new(reported);
    let result = loop {
        let found = py.detach(|| {
            let reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.recv_timeout(LOOK)
        });
        py.check_signals()?;
        match found {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err(
                    "the engine's thread ended without a result",
                ));
            }
        }
    };
    match result {
        Ok(result) => result.map_err(exception),
        Err(payload) => Err(internal_error(payload.as_ref())),
    }
}

/// Runs `work` without the interpreter's lock. `work` may leave an exception in
/// its argument, which is then raised whatever `work` returns.
pub fn computing<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut Option<PyErr>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    remember_panics();
    // One that was dealt with has nothing to say about what comes now.
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut stop = None;
    let result = py.detach(|| {
        // What a panic leaves half done is dropped with it, so nobody sees it.
        panic::catch_unwind(AssertUnwindSafe(|| work(&mut stop)))
    });
    if let Some(raised) = stop {
        return Err(raised);
    }
    match result {
        Ok(result) => {
            let done = result.map_err(exception)?;
            // Before anything else runs in the interpreter, where a signal's exception would come
            // up in code that expects none, such as the import of NumPy's interface.
            py.check_signals()?;
            Ok(done)
        }
        Err(payload) => Err(internal_error(payload.as_ref())),
    }
}

/// The first panic since the last one that was reported: message and place.
/// The engine's threads may panic in each other's wake; the first one tells most.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics for the exception, instead of printing them.
fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let mut first = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| info.to_string().replace('\n', " "));
        }));
    });
}

fn internal_error(payload: &(dyn Any + Send)) -> PyErr {
    let remembered = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    let what = remembered
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .or_else(|| {
            payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        })
        .unwrap_or_else(|| "no message".to_owned());
    InternalError::new_err(format!(
        "internal error in Odonata {}: {what}. This is a defect of Odonata, not of your \
         scenario; please report it together with the scenario",
        odonata::VERSION
    ))
}

/// A Python function that is called with how far the work is. Also where Ctrl-C is
/// noticed, with or without such a function.
pub struct Callback<'a> {
    function: Option<&'a Py<PyAny>>,
    /// What the function, or a signal's handler, raised.
    raised: &'a mut Option<PyErr>,
    /// Whether the run is to end because of it.
    failed: bool,
}

impl<'a> Callback<'a> {
    /// A callback that leaves what is raised in `raised`.
    pub fn new(function: Option<&'a Py<PyAny>>, raised: &'a mut Option<PyErr>) -> Self {
        Self {
            function,
            raised,
            failed: false,
        }
    }

    /// Tells the progress of a simulation.
    pub fn report(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.call(|py, function| {
            let now = PyDict::new(py);
            now.set_item("now_ps", progress.now.0)?;
            now.set_item("packets_delivered", progress.packets_delivered)?;
            now.set_item("bytes_delivered", progress.bytes_delivered)?;
            now.set_item("packet_hops", progress.packet_hops)?;
            now.set_item("fraction", progress.fraction)?;
            function.call1((now,)).map(drop)
        })
    }

    /// Tells `function` what became of a checkpoint.
    pub fn report_checkpoint(&mut self, function: Option<&Py<PyAny>>, event: &Event) {
        let Some(function) = function else {
            return;
        };
        let reported = Python::attach(|py| {
            let what = PyDict::new(py);
            match event {
                Event::Resumed { at } => {
                    what.set_item("kind", "resumed")?;
                    what.set_item("at_ps", at.0)?;
                }
                Event::Written { at, bytes, seconds } => {
                    what.set_item("kind", "written")?;
                    what.set_item("at_ps", at.0)?;
                    what.set_item("bytes", bytes)?;
                    what.set_item("seconds", seconds)?;
                }
                Event::Failed { at, error } => {
                    what.set_item("kind", "failed")?;
                    what.set_item("at_ps", at.0)?;
                    what.set_item("message", error.to_string())?;
                }
            }
            function.bind(py).call1((what,)).map(drop)
        });
        if let Err(raised) = reported {
            self.failed = true;
            // What was raised first is raised.
            self.raised.get_or_insert(raised);
        }
    }

    /// Tells how many of how many things are done.
    pub fn report_pair(&mut self, done: u64, of: u64) -> ControlFlow<()> {
        self.call(|_, function| function.call1((done, of)).map(drop))
    }

    fn call(
        &mut self,
        tell: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>,
    ) -> ControlFlow<()> {
        if self.failed {
            return ControlFlow::Break(());
        }
        let result = Python::attach(|py| {
            py.check_signals()?;
            match self.function {
                Some(function) => tell(py, function.bind(py)),
                None => Ok(()),
            }
        });
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                // Who has said stop is not asked again, whatever is still reported.
                self.failed = true;
                *self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}
