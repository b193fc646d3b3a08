//! A rank's trace as operations.

use std::collections::VecDeque;
use std::sync::Arc;

use odonata_traces::TraceError;
use odonata_units::{Bytes, Picoseconds, RankId};

use super::call::{Direction, Message, Slot};
use super::clock::{Compute, Gaps};
use super::collective::call_of;
use super::memberships::Communicators;
use super::options::Options;
use super::requests::{Effect, Effects};
use crate::communicator::{Communicator, Member};
use crate::program::{Action, ProgramError};
use crate::script::{Handle, Need, Operation, Operations};

/// After this many messages for which nobody will wait, those that are complete are
/// forgotten.
const DROPPED_AT_ONCE: usize = 256;

/// The operations of a rank, made of its trace as they are asked for. Memory: what
/// reading of the trace takes, and what is under way.
pub(super) struct Replay<'a> {
    effects: Effects<'a>,
    options: &'a Options,
    rank: u32,
    communicators: &'a Communicators,
    gaps: Gaps,
    found: VecDeque<Effect>,
    pending: VecDeque<Operation>,
    dropped: Vec<Handle>,
    /// Operations handed out so far.
    given: u64,
    done: bool,
}

impl<'a> Replay<'a> {
    pub fn new(
        effects: Effects<'a>,
        options: &'a Options,
        rank: u32,
        communicators: &'a Communicators,
    ) -> Self {
        Self {
            gaps: effects.gaps(),
            effects,
            options,
            rank,
            communicators,
            found: VecDeque::new(),
            pending: VecDeque::new(),
            dropped: Vec::new(),
            given: 0,
            done: false,
        }
    }

    /// Reads a record and makes operations of it.
    fn read(&mut self) -> Result<(), TraceError> {
        let Some(record) = self.effects.next(&mut self.found)? else {
            self.done = true;
            // What follows the last call of a region is no time between two calls.
            if let Compute::Scaled(_) = self.options.compute {
                let rest = self.gaps.rest(self.effects.closes());
                self.compute(self.options.compute.of(rest));
            }
            return Ok(());
        };
        let gap = self.gaps.before(&record);
        // Local calls do not end a time of computing.
        if !record.local && record.span.is_some() {
            self.compute(self.options.compute.of(gap));
        }
        while let Some(effect) = self.found.pop_front() {
            self.translate(effect)
                .map_err(|reason| self.effects.error_at(record.at, reason))?;
        }
        Ok(())
    }

    fn compute(&mut self, duration: Picoseconds) {
        if duration > Picoseconds::ZERO {
            self.pending.push_back(Operation::Compute(duration));
        }
    }

    fn communicator(&self, slot: Slot) -> Result<Arc<Communicator>, String> {
        let communicator = self.communicators.get(slot, self.rank);
        communicator.ok_or_else(|| "a communicator that is not known".to_owned())
    }

    fn member(communicator: &Communicator, member: u32) -> Result<RankId, String> {
        match member < communicator.size() {
            true => Ok(communicator.rank(Member(member))),
            false => Err(format!(
                "rank {member} of a communicator of {}",
                communicator.size()
            )),
        }
    }

    fn translate(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Begin(message, handle) => {
                if let Some(action) = self.action(message)? {
                    // A call that begins something and waits for it is one operation.
                    match self.found.front() {
                        Some(Effect::Wait(handles)) if **handles == [handle] => {
                            self.found.pop_front();
                            self.pending.push_back(Operation::Do(action));
                        }
                        _ => self.pending.push_back(Operation::Begin { action, handle }),
                    }
                }
            }
            Effect::Wait(handles) => self.pending.push_back(Operation::Wait {
                handles,
                need: Need::All,
            }),
            Effect::Collective {
                comm,
                shape,
                handle,
            } => {
                let communicator = self.communicator(comm)?;
                let size = communicator.size();
                let root = shape.root().unwrap_or(0);
                if root >= size {
                    return Err(format!("{} with root {root} of {size}", shape.name()));
                }
                self.pending.push_back(Operation::Collective {
                    call: Arc::new(call_of(shape, size, &self.options.algorithms)),
                    communicator,
                    handle,
                });
            }
            Effect::Transfer {
                direction,
                comm,
                member,
                bytes,
                handle,
            } => {
                let communicator = self.communicator(comm)?;
                let other = Self::member(&communicator, member)?;
                let bytes = Bytes(bytes);
                // Nothing to transfer: nothing happens.
                if bytes > Bytes::ZERO {
                    let action = match direction {
                        Direction::Put => Action::Put { to: other, bytes },
                        Direction::Get => Action::Get { from: other, bytes },
                    };
                    self.pending.push_back(Operation::Begin { action, handle });
                }
            }
            Effect::Drop(handle) => {
                self.dropped.push(handle);
                if self.dropped.len() >= DROPPED_AT_ONCE {
                    let dropped = std::mem::take(&mut self.dropped).into();
                    self.pending.push_back(Operation::Test(dropped));
                }
            }
            Effect::Create { .. }
            | Effect::Group(_)
            | Effect::Claim { .. }
            | Effect::NotReplayed(_)
            | Effect::Unrecorded => {}
        }
        Ok(())
    }

    fn action(&self, message: Message) -> Result<Option<Action>, String> {
        Ok(match message {
            Message::Send {
                comm,
                to,
                bytes,
                tag,
            } => {
                let communicator = self.communicator(comm)?;
                Some(Action::Send {
                    to: Self::member(&communicator, to)?,
                    // An empty message still is one.
                    bytes: Bytes(bytes.max(1)),
                    context: communicator.messages(),
                    tag,
                })
            }
            Message::Receive { comm, from, tag } => {
                let communicator = self.communicator(comm)?;
                let from = from.map(|from| Self::member(&communicator, from));
                Some(Action::Receive {
                    from: from.transpose()?,
                    context: communicator.messages(),
                    tag,
                })
            }
            Message::Unknown | Message::Nothing => None,
        })
    }
}

impl Operations for Replay<'_> {
    fn next(&mut self) -> Result<Operation, ProgramError> {
        loop {
            if let Some(operation) = self.pending.pop_front() {
                self.given += 1;
                return Ok(operation);
            }
            if self.done {
                return Ok(Operation::Finish);
            }
            self.read()
                .map_err(|error| ProgramError(format!("rank {}: {error}", self.rank)))?;
        }
    }

    fn save(&self) -> Vec<u8> {
        self.given.to_le_bytes().to_vec()
    }

    /// Reads again up to the place.
    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let given = <[u8; 8]>::try_from(saved).map_err(|_| {
            let rank = self.rank;
            ProgramError(format!(
                "rank {rank}: {} B are no place in a trace",
                saved.len()
            ))
        })?;
        let given = u64::from_le_bytes(given);
        while self.given < given {
            if self.done && self.pending.is_empty() {
                return Err(ProgramError(format!(
                    "rank {}: operation {given} of a trace that has {}",
                    self.rank, self.given
                )));
            }
            self.next()?;
        }
        Ok(())
    }
}
