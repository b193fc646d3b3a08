//! Who accompanies a run from outside, and may pause or end it.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::ops::ControlFlow;

use odonata_units::Picoseconds;

use crate::error::SimError;
use crate::outcome::{JobOutcome, Outcome, Progress, Timeline};

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

    /// Simulated time of a pause that is to lie nowhere else; asked when [`Self::next_pause`] is.
    fn exact_pause(&mut self) -> Option<Picoseconds> {
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

/// How far the ranks of a closed-loop job are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Iterations that all of them have ended.
    pub fewest: u32,
    /// Iterations that the foremost has ended.
    pub most: u32,
    /// Whether all have started.
    pub begun: bool,
    /// Whether one of them is done.
    pub ending: bool,
}

/// Iterations that a run passes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// How many of each job, of each of its ranks. Shape: jobs.
    pub iterations: Vec<u32>,
    /// The time that they would take: jobs that have yet to start do so this much earlier.
    pub time: Picoseconds,
}

/// What a run tells at a pause, and what is asked of it there.
pub struct Pause<'p> {
    /// See [`PausedRun::jobs`].
    pub jobs: &'p dyn Fn() -> Vec<JobOutcome>,
    /// See [`PausedRun::timeline`].
    pub timeline: &'p dyn Fn() -> Timeline,
    /// See [`PausedRun::standing`].
    pub standing: &'p dyn Fn() -> Vec<Option<Standing>>,
    /// See [`PausedRun::digest`].
    pub digest: &'p dyn Fn() -> u64,
    /// See [`PausedRun::outcome`].
    pub outcome: &'p dyn Fn() -> Result<Outcome, SimError>,
    /// See [`PausedRun::save`].
    pub save: &'p dyn Fn(&mut dyn Write) -> io::Result<()>,
    /// Whether the run is to begin to measure when it goes on.
    pub measure: &'p Cell<bool>,
    /// What it is to pass over when it goes on.
    pub jump: &'p RefCell<Option<Jump>>,
}

/// A run at a pause.
pub struct PausedRun<'p> {
    /// Everything before this time has happened, nothing at or after it.
    pub at: Picoseconds,
    pause: Pause<'p>,
}

impl<'p> PausedRun<'p> {
    /// A run at a pause at `at`, by what answers its questions.
    pub fn new(at: Picoseconds, pause: Pause<'p>) -> Self {
        Self { at, pause }
    }
}

impl PausedRun<'_> {
    /// What has been measured of each job so far.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobOutcome> {
        (self.pause.jobs)()
    }

    /// How far the ranks of each closed-loop job are. Shape: jobs.
    #[must_use]
    pub fn standing(&self) -> Vec<Option<Standing>> {
        (self.pause.standing)()
    }

    /// A number that differs between pauses of a run where anything that is under way does, times
    /// being counted from the pause; not where only counts and the numbers of messages do.
    #[must_use]
    pub fn digest(&self) -> u64 {
        (self.pause.digest)()
    }

    /// What has been measured so far, without what is recorded of single messages, ranks and links.
    ///
    /// # Errors
    /// As at the end of the run.
    pub fn outcome(&self) -> Result<Outcome, SimError> {
        (self.pause.outcome)()
    }

    /// Passes over iterations when the run goes on: what is under way stays as it is, at its time.
    /// Every rank of these jobs runs and has more iterations before it, and every other job that
    /// has yet to start does so later than the jump is long.
    pub fn skip(&self, jump: Jump) {
        *self.pause.jump.borrow_mut() = Some(jump);
    }

    /// Activity so far. Packets are counted when they start over their last link,
    /// so that bins which end after [`at`](Self::at) are not complete.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        (self.pause.timeline)()
    }

    /// Ends the warm-up here: what has been measured is forgotten, and statistics
    /// count what is created or happens from now on, as if this had been
    /// [`Measurement::warmup`](crate::Measurement::warmup). Totals over the whole
    /// run and the timeline go on.
    ///
    /// Packets that are on their last link now are not counted as delivered
    /// after the warm-up.
    pub fn begin_measuring(&self) {
        self.pause.measure.set(true);
    }

    /// Writes the state of the run, by which its engine takes it up again; with
    /// [`begin_measuring`](Self::begin_measuring), if that was called before. Best
    /// to a writer with a buffer. The bytes are the same for any number of threads.
    ///
    /// # Errors
    /// Whatever `out` reports.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.pause.save)(out)
    }
}
