//! Programs made of steps with one message sent and one received at most.

use odonata_declare::Named;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::program::{Action, Repetition, Totals};
use crate::script::{Operation, SCRIPT_CONTEXT, Script};

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

/// When a rank posts its receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Receives {
    /// All of a window before it sends anything.
    #[default]
    Ahead,
    /// The receive of each step just before the step's send.
    ///
    /// A message that asks first waits until its receiver has got that far.
    InTurn,
}

/// What a rank has outstanding at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// Steps; more than there are: all of them.
    pub window: u32,
    /// Whether a send is complete before the rank does anything else (`MPI_Send`).
    pub blocking: bool,
    /// When receives are posted.
    pub receives: Receives,
}

impl From<u32> for Outstanding {
    /// A window of this many steps, their sends and receives all at once.
    fn from(window: u32) -> Self {
        Self {
            window,
            blocking: false,
            receives: Receives::Ahead,
        }
    }
}

/// A message that a script sends, as the operation that begins it: one that is waited
/// for at once if sends are `blocking`.
pub(super) fn send(to: RankId, bytes: Bytes, tag: u32, blocking: bool) -> Operation {
    match blocking {
        false => Operation::Send { to, bytes, tag },
        true => Operation::Do(Action::Send {
            to,
            bytes,
            context: SCRIPT_CONTEXT,
            tag,
        }),
    }
}

/// A motif as a sequence of steps, the same number in every iteration. In each
/// step a rank sends one message at most and receives one at most.
///
/// The two sides must agree: over an iteration, rank r sends to rank d under a tag as
/// often as d receives from r under it. Ranks that take their partners at steps of their own
/// must take them all in one order of the ranks (ascending, say): then no rank waits for
/// ever, however few steps are outstanding. For a rank that waits for one that has not got
/// so far waits for one that waits for a rank before itself, and so on downwards.
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

    /// How iterations resemble each other.
    fn repetition(&self) -> Repetition {
        Repetition::Same
    }

    /// Tag of the messages of `step`. Differs between steps of a window in which
    /// a rank sends to the same rank twice.
    fn tag(&self, step: u32) -> u32 {
        let _ = step;
        0
    }
}

/// The program of a motif made of [`Steps`]. An iteration computes, then takes
/// the steps a window at a time: post the receives of the window, start its
/// sends, wait for all of them; or as [`Outstanding`] says.
#[derive(Clone, Debug)]
pub struct Stepped<S> {
    steps: S,
    outstanding: Outstanding,
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
    /// Runs `steps`, this many of them outstanding at a time.
    ///
    /// # Errors
    /// If there are no iterations, the window is empty, a message has no bytes,
    /// or the totals do not fit 64 bits.
    pub fn with_window(
        steps: S,
        outstanding: impl Into<Outstanding>,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        let outstanding = outstanding.into();
        if outstanding.window == 0 {
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
            outstanding: Outstanding {
                window: outstanding.window.min(steps.steps().max(1)),
                ..outstanding
            },
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
            let window = self.outstanding.window.min(self.steps.steps() - base);
            let in_turn = self.outstanding.receives == Receives::InTurn;
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
                stage::RECEIVE if in_turn => {
                    if offset == window {
                        cursor.stage = stage::WAIT;
                        continue;
                    }
                    cursor.stage = stage::SEND;
                    let step = base + offset;
                    if let Some(from) = self.steps.source(rank, iteration, step) {
                        let tag = self.steps.tag(step);
                        return Operation::Receive { from, tag };
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
                    let (end, then) = match in_turn {
                        true => (offset + 1, stage::RECEIVE),
                        false => (window, stage::WAIT),
                    };
                    for offset in offset..end {
                        let step = base + offset;
                        if let Some(to) = self.steps.destination(rank, iteration, step) {
                            cursor.position = pack(base, offset + 1);
                            if in_turn {
                                cursor.stage = then;
                            }
                            let bytes = self.steps.bytes(step);
                            let tag = self.steps.tag(step);
                            return send(to, bytes, tag, self.outstanding.blocking);
                        }
                    }
                    cursor.position = pack(base, end);
                    cursor.stage = then;
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
                    return cursor.end_iteration();
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

    fn repetition(&self) -> Repetition {
        self.steps.repetition()
    }
}
