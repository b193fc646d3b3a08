//! Programs made of steps with one message sent and one received at most.

use odonata_units::{Bytes, Picoseconds, RankId};

use crate::error::LoadError;
use crate::program::Totals;
use crate::script::{Cursor, Operation, Script};

/// How often a motif runs, and how long each rank computes before each exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Number of iterations, at least 1.
    pub iterations: u32,
    /// Time that every rank computes at the start of each iteration.
    pub compute: Picoseconds,
}

impl Repeat {
    /// One iteration without computing.
    pub const ONCE: Self = Self::times(1);

    /// `iterations` iterations without computing.
    pub const fn times(iterations: u32) -> Self {
        Self {
            iterations,
            compute: Picoseconds::ZERO,
        }
    }

    /// Totals over all iterations of a motif that sends `bytes` in `messages`
    /// in each.
    pub(crate) fn totals(self, bytes: u128, messages: u128) -> Result<Totals, LoadError> {
        if self.iterations == 0 {
            return Err(LoadError::NoIterations);
        }
        let bytes = bytes * u128::from(self.iterations);
        let messages = messages * u128::from(self.iterations);
        match (u64::try_from(bytes), u64::try_from(messages)) {
            (Ok(bytes), Ok(messages)) => Ok(Totals {
                bytes: Bytes(bytes),
                messages,
            }),
            _ => Err(LoadError::TooMuch { bytes, messages }),
        }
    }
}

/// A motif as a sequence of steps, the same number in every iteration. In each
/// step a rank sends one message at most and receives one at most.
///
/// The two sides must agree: `destination(r, i, s) == Some(d)` exactly if
/// `source(d, i, s) == Some(r)`.
pub trait Steps: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of steps of an iteration.
    fn steps(&self) -> u32;

    /// Whom `rank` sends to in `step` of `iteration`.
    fn destination(&self, rank: RankId, iteration: u32, step: u32) -> Option<RankId>;

    /// Whom `rank` receives from in `step` of `iteration`.
    fn source(&self, rank: RankId, iteration: u32, step: u32) -> Option<RankId>;

    /// Size of every message of `step`, at least 1 byte.
    fn bytes(&self, step: u32) -> Bytes;

    /// Number of messages that all ranks together send in `step` of any iteration.
    fn messages(&self, step: u32) -> u64;

    /// Tag of the messages of `step`. Differs between steps of a window in which
    /// a rank sends to the same rank twice.
    fn tag(&self, step: u32) -> u32 {
        let _ = step;
        0
    }
}

/// The program of a motif made of [`Steps`]. An iteration computes, then takes
/// the steps a window at a time: post the receives of the window, start its
/// sends, wait for all of them.
#[derive(Clone, Debug)]
pub struct Stepped<S> {
    steps: S,
    window: u32,
    repeat: Repeat,
    totals: Totals,
}

/// Values of [`Cursor::stage`].
mod stage {
    pub const COMPUTE: u32 = 0;
    pub const RECEIVE: u32 = 1;
    pub const SEND: u32 = 2;
    pub const WAIT: u32 = 3;
    pub const END: u32 = 4;
}

impl<S: Steps> Stepped<S> {
    /// Runs `steps` with `window` of them outstanding at a time (more than there
    /// are steps: all at once).
    ///
    /// # Errors
    /// If there are no iterations, the window is empty, a message has no bytes,
    /// or the totals do not fit 64 bits.
    pub fn with_window(steps: S, window: u32, repeat: Repeat) -> Result<Self, LoadError> {
        if window == 0 {
            return Err(LoadError::NoWindow);
        }
        let (mut bytes, mut messages) = (0u128, 0u128);
        for step in 0..steps.steps() {
            if steps.bytes(step) == Bytes::ZERO {
                return Err(LoadError::EmptyMessage);
            }
            let sent = u128::from(steps.messages(step));
            messages += sent;
            bytes += sent * u128::from(steps.bytes(step).0);
        }
        Ok(Self {
            window: window.min(steps.steps().max(1)),
            totals: repeat.totals(bytes, messages)?,
            steps,
            repeat,
        })
    }

    /// The motif's steps.
    pub fn steps(&self) -> &S {
        &self.steps
    }
}

// The cursor's position is the first step of the window in its upper half and
// the number of steps of the window already looked at in its lower half.
fn pack(base: u32, offset: u32) -> u64 {
    u64::from(base) << 32 | u64::from(offset)
}

impl<S: Steps> Script for Stepped<S> {
    fn ranks(&self) -> u32 {
        self.steps.ranks()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let iteration = cursor.iteration;
        if iteration >= self.repeat.iterations {
            return Operation::Finish;
        }
        loop {
            let base = (cursor.position >> 32) as u32;
            let offset = cursor.position as u32;
            let window = self.window.min(self.steps.steps() - base);
            match cursor.stage {
                stage::COMPUTE => {
                    let steps = self.steps.steps();
                    cursor.stage = if steps == 0 {
                        stage::END
                    } else {
                        stage::RECEIVE
                    };
                    cursor.position = 0;
                    if self.repeat.compute > Picoseconds::ZERO {
                        return Operation::Compute(self.repeat.compute);
                    }
                }
                stage::RECEIVE => {
                    for offset in offset..window {
                        let step = base + offset;
                        if let Some(from) = self.steps.source(rank, iteration, step) {
                            cursor.position = pack(base, offset + 1);
                            let tag = self.steps.tag(step);
                            return Operation::Receive { from, tag };
                        }
                    }
                    cursor.stage = stage::SEND;
                    cursor.position = pack(base, 0);
                }
                stage::SEND => {
                    for offset in offset..window {
                        let step = base + offset;
                        if let Some(to) = self.steps.destination(rank, iteration, step) {
                            cursor.position = pack(base, offset + 1);
                            let bytes = self.steps.bytes(step);
                            let tag = self.steps.tag(step);
                            return Operation::Send { to, bytes, tag };
                        }
                    }
                    cursor.stage = stage::WAIT;
                }
                stage::WAIT => {
                    let next = base + window;
                    cursor.position = pack(next, 0);
                    cursor.stage = if next < self.steps.steps() {
                        stage::RECEIVE
                    } else {
                        stage::END
                    };
                    return Operation::WaitAll;
                }
                _ => {
                    *cursor = Cursor {
                        iteration: iteration + 1,
                        ..Cursor::default()
                    };
                    return Operation::EndIteration;
                }
            }
        }
    }

    fn totals(&self) -> Option<Totals> {
        Some(self.totals)
    }

    fn iterations(&self) -> u32 {
        self.repeat.iterations
    }
}
