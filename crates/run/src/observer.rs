//! Who accompanies a run from outside, and may pause or end it.

use std::cell::Cell;
use std::io::{self, Write};
use std::ops::ControlFlow;

use odonata_units::Picoseconds;

use crate::error::SimError;
use crate::outcome::{JobOutcome, Progress, Timeline};

/// What an [`Observer`] wants the run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Wish {
    /// Go on.
    Continue,
    /// Stop where all partitions have come equally far, and call
    /// [`Observer::paused`].
    Pause,
    /// End with [`SimError::Interrupted`].
    Interrupt,
}

/// Accompanies a run. All functions are called in the thread that started the
/// run, and while it is paused nothing is simulated. Pauses, wherever they lie,
/// change nothing in the outcome.
///
/// A function of the progress alone is an observer too, `Break` interrupts:
///
/// ```
/// use std::ops::ControlFlow;
/// use odonata_run::{Observer, Progress};
/// let mut silent = |_: &Progress| ControlFlow::Continue(());
/// let observer: &mut dyn Observer = &mut silent;
/// ```
pub trait Observer {
    /// Called a few times a second.
    fn progress(&mut self, progress: &Progress) -> Wish;

    /// Simulated time of the next pause; asked at the start and after each
    /// pause. The run pauses at the end of the time window that it lies in.
    fn next_pause(&mut self) -> Option<Picoseconds> {
        None
    }

    /// The run has paused. `Break` ends it here, as if this had been its
    /// duration.
    ///
    /// # Errors
    /// End the run.
    fn paused(&mut self, _run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        Ok(ControlFlow::Continue(()))
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn progress(&mut self, progress: &Progress) -> Wish {
        match self(progress) {
            ControlFlow::Continue(()) => Wish::Continue,
            ControlFlow::Break(()) => Wish::Interrupt,
        }
    }
}

/// A run at a pause.
pub struct PausedRun<'p> {
    /// Everything before this time has happened, nothing at or after it.
    pub at: Picoseconds,
    jobs: &'p dyn Fn() -> Vec<JobOutcome>,
    timeline: &'p dyn Fn() -> Timeline,
    /// Whether the run is to begin to measure when it goes on.
    measure: &'p Cell<bool>,
    save: &'p dyn Fn(&mut dyn Write) -> io::Result<()>,
}

impl<'p> PausedRun<'p> {
    /// A run at a pause at `at`, by what answers its questions; `measure` becomes `true` if the
    /// run is to [begin to measure](Self::begin_measuring).
    pub fn new(
        at: Picoseconds,
        jobs: &'p dyn Fn() -> Vec<JobOutcome>,
        timeline: &'p dyn Fn() -> Timeline,
        measure: &'p Cell<bool>,
        save: &'p dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Self {
        Self {
            at,
            jobs,
            timeline,
            measure,
            save,
        }
    }
}

impl PausedRun<'_> {
    /// What has been measured of each job so far.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobOutcome> {
        (self.jobs)()
    }

    /// Activity so far. Packets are counted when they start over their last link,
    /// so that bins which end after [`at`](Self::at) are not complete.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        (self.timeline)()
    }

    /// Ends the warm-up here: what has been measured is forgotten, and statistics
    /// count what is created or happens from now on, as if this had been
    /// [`Measurement::warmup`](crate::Measurement::warmup). Totals over the whole
    /// run and the timeline go on.
    ///
    /// Packets that are on their last link now are not counted as delivered
    /// after the warm-up.
    pub fn begin_measuring(&self) {
        self.measure.set(true);
    }

    /// Writes the state of the run, by which its engine takes it up again; with
    /// [`begin_measuring`](Self::begin_measuring), if that was called before. Best
    /// to a writer with a buffer. The bytes are the same for any number of threads.
    ///
    /// # Errors
    /// Whatever `out` reports.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.save)(out)
    }
}
