//! Decides when a run writes a checkpoint, and writes it.

use std::ops::ControlFlow;
use std::time::Instant;

use odonata_run::{Observer, PausedRun, Progress, SimError, Wish};
use odonata_units::Picoseconds;

use super::file;
use super::header::{Checkpoints, Event, Every, Header};
use crate::cost::{Cost, Meter};
use crate::steady::{Findings, SteadyState};

/// Writes checkpoints, and passes everything on to another observer.
pub(crate) struct Keeper<'a, 'o> {
    /// The observer of steady state, and through it that of the run.
    inner: &'a mut SteadyState<'o>,
    tell: &'a mut dyn FnMut(&Event),
    checkpoints: &'a Checkpoints,
    /// Header of the last checkpoint, or of the beginning of the run.
    header: Header,
    meter: Meter,
    /// When the last checkpoint was done, or the run began.
    since: Instant,
    /// Simulated time of the next one.
    next: Option<Picoseconds>,
    /// When `inner` wants to pause.
    inner_next: Option<Picoseconds>,
    inner_wishes: bool,
    due: bool,
    /// `inner` wants to end the run.
    ending: bool,
}

impl<'a, 'o> Keeper<'a, 'o> {
    /// `before`: the checkpoint that the run goes on from.
    pub fn new(
        checkpoints: &'a Checkpoints,
        before: Option<&Header>,
        inner: &'a mut SteadyState<'o>,
        tell: &'a mut dyn FnMut(&Event),
    ) -> Self {
        let every = checkpoints
            .every
            .or(before.map(|header| header.every))
            .unwrap_or_default();
        let at = before.map_or(Picoseconds::ZERO, |header| header.at);
        Self {
            inner,
            tell,
            checkpoints,
            header: Header {
                version: crate::VERSION.to_owned(),
                sources: crate::SOURCES.to_owned(),
                at,
                every,
                cost: before.map_or_else(Cost::default, |header| header.cost),
                findings: Findings::default(),
                scenario: checkpoints.identity.result.clone(),
                keys: checkpoints.identity.keys.clone(),
            },
            meter: Meter::start(),
            since: Instant::now(),
            next: next_multiple(every, at),
            inner_next: None,
            inner_wishes: false,
            due: false,
            ending: false,
        }
    }

    fn write(&mut self, run: &PausedRun<'_>) {
        let start = Instant::now();
        let header = Header {
            at: run.at,
            cost: self.meter.cost().after(self.header.cost),
            findings: self.inner.findings(),
            ..self.header.clone()
        };
        let written = file::write(&self.checkpoints.file, &header, |out| run.save(out));
        // A run that cannot be saved is still worth finishing.
        (self.tell)(&match written {
            Ok(bytes) => Event::Written {
                at: run.at,
                bytes,
                seconds: start.elapsed().as_secs_f64(),
            },
            Err(error) => Event::Failed { at: run.at, error },
        });
        self.since = Instant::now();
        self.due = false;
    }
}

/// The first multiple of the interval after `at`.
fn next_multiple(every: Every, at: Picoseconds) -> Option<Picoseconds> {
    let interval = every.simulated?.0.max(1);
    (at.0 / interval + 1).checked_mul(interval).map(Picoseconds)
}

impl Observer for Keeper<'_, '_> {
    fn progress(&mut self, progress: &Progress) -> Wish {
        match self.inner.progress(progress) {
            Wish::Interrupt => {
                self.ending = true;
                Wish::Pause
            }
            Wish::Pause => {
                self.inner_wishes = true;
                Wish::Pause
            }
            Wish::Continue => {
                let wall = self.header.every.wall;
                self.due = wall.is_some_and(|wall| self.since.elapsed() >= wall);
                if self.due {
                    Wish::Pause
                } else {
                    Wish::Continue
                }
            }
        }
    }

    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.inner_next = self.inner.next_pause();
        self.next.into_iter().chain(self.inner_next).min()
    }

    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        // First, for what it decides here belongs to the checkpoint.
        let named = self.inner_next.is_some_and(|next| next <= run.at);
        if (std::mem::take(&mut self.inner_wishes) || named) && self.inner.paused(run)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if self.ending || self.due || self.next.is_some_and(|next| next <= run.at) {
            self.write(run);
        }
        self.next = next_multiple(self.header.every, run.at);
        if self.ending {
            return Err(SimError::Interrupted { at: run.at });
        }
        Ok(ControlFlow::Continue(()))
    }
}
