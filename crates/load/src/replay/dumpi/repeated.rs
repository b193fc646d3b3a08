//! One rank's trace for all ranks.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use odonata_traces::dumpi::{COMM_WORLD, DumpiReader, Function, Value};
use odonata_traces::{Position, TraceError};

use super::super::call::{Call, Calls, How, Message, Outcome, Record, Shape, Slot};
use super::super::requests::{Effect, Effects};
use super::{DumpiCalls, DumpiSource};
use crate::script::Handle;

/// Whom a rank talks to where one rank's trace stands for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partners {
    /// The rank as far from it, around the ring of ranks, as the recorded peer is
    /// from the recorded rank. A message to a rank `d` further is received only if
    /// the trace receives from a rank `d` before as well.
    #[default]
    Offset,
    /// The rank whose number differs from its own in the bits in which the recorded
    /// peer's differs from the recorded rank's. Needs a power of two of ranks. What
    /// is sent to a peer is received if the trace receives as much from it.
    Xor,
}

/// How the trace of one rank is seen by the others.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    recorded: u32,
    ranks: u32,
    partners: Partners,
}

impl Repeated {
    /// Looks up in a trace whose it is; with the number of ranks.
    pub fn of(
        trace: &Path,
        ranks: Option<u32>,
        partners: Partners,
    ) -> Result<(Self, u32), TraceError> {
        let mut reader = DumpiReader::open(trace)?;
        let (mut recorded, mut size) = (None, None);
        while recorded.is_none() || size.is_none() {
            let Some(call) = reader.next_call()? else {
                break;
            };
            if call.value("comm") != Some(&Value::Handle(COMM_WORLD)) {
                continue;
            }
            let whole = |name| call.int(name).and_then(|value| u32::try_from(value).ok());
            match call.function {
                Function::Comm_rank => recorded = recorded.or(whole("rank")),
                Function::Comm_size => size = size.or(whole("size")),
                _ => {}
            }
        }
        let fail = |reason: String| TraceError::new(reader.file(), Position::Whole, reason);
        let ranks = ranks.or(size).ok_or_else(|| {
            fail("does not say how many ranks its job had; tell the number of ranks".to_owned())
        })?;
        // A trace that does not say whose it is: that of rank 0, as is usual where
        // one is kept.
        let recorded = recorded.unwrap_or(0);
        if partners == Partners::Xor && !(ranks.is_power_of_two() && recorded < ranks) {
            return Err(fail(format!(
                "{ranks} ranks; partners by xor need a power of two of them"
            )));
        }
        let repeated = Self {
            recorded,
            ranks,
            partners,
        };
        Ok((repeated, ranks))
    }

    /// The trace as `rank` sees it.
    pub fn seen_by(&self, rank: u32, calls: DumpiCalls) -> RepeatedCalls<'_> {
        RepeatedCalls {
            of: self,
            rank,
            calls,
        }
    }

    fn partner(&self, rank: u32, peer: u32) -> Result<u32, String> {
        if peer >= self.ranks {
            return Err(format!(
                "rank {peer}, but the trace is repeated for the ranks 0 to {}; it needs {} of \
                 them at least",
                self.ranks - 1,
                u64::from(peer) + 1
            ));
        }
        let (rank, peer) = (u64::from(rank), u64::from(peer));
        let (recorded, ranks) = (u64::from(self.recorded), u64::from(self.ranks));
        Ok(match self.partners {
            // The recorded rank may lie beyond the ranks that replay it.
            Partners::Offset => (rank + peer + ranks - recorded % ranks) % ranks,
            Partners::Xor => rank ^ recorded ^ peer,
        } as u32)
    }
}

/// Checks that ranks that all do the same do not wait for what their peers do only
/// later. They go through the trace side by side: what one waits for somewhere, its
/// peer must have sent before it comes to the same place.
///
/// # Errors
/// The first wait for which that is not so.
pub(super) fn check_lockstep(source: &DumpiSource, repeated: &Repeated) -> Result<(), TraceError> {
    let mut effects = Effects::new(source, 0)?;
    let mut found = VecDeque::new();
    // By peer, as rank 0 sees it, and tag.
    let mut sent: HashMap<(u32, u32), u64> = HashMap::new();
    let mut posted: HashMap<(u32, u32), u64> = HashMap::new();
    // Receives under way: which of those of a sender and tag, and whom rank 0 sends to
    // when that sender sends to rank 0.
    let mut open: HashMap<Handle, ((u32, u32), u64)> = HashMap::new();
    while let Some(record) = effects.next(&mut found)? {
        for effect in found.drain(..) {
            match effect {
                Effect::Begin(Message::Send { to, tag, comm, .. }, _) if comm != Slot::MYSELF => {
                    *sent.entry((to, tag)).or_default() += 1;
                }
                Effect::Begin(
                    Message::Receive {
                        comm,
                        from: Some(from),
                        tag: Some(tag),
                    },
                    handle,
                ) if comm != Slot::MYSELF => {
                    let mirrored = match repeated.partners {
                        Partners::Offset => (repeated.ranks - from) % repeated.ranks,
                        Partners::Xor => from,
                    };
                    let number = posted.entry((from, tag)).or_default();
                    *number += 1;
                    open.insert(handle, ((mirrored, tag), *number));
                }
                Effect::Wait(handles) => {
                    for handle in handles {
                        let Some((key, number)) = open.remove(&handle) else {
                            continue;
                        };
                        let so_far = sent.get(&key).copied().unwrap_or_default();
                        if so_far < number {
                            return Err(effects.error_at(
                                record.at,
                                format!(
                                    "waits here for message {number} with tag {} of a peer, \
                                     which repeats the same trace and has sent {so_far} before it \
                                     comes to the same place; the trace cannot stand for all \
                                     ranks in this way",
                                    key.1
                                ),
                            ));
                        }
                    }
                }
                Effect::Drop(handle) => {
                    open.remove(&handle);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The calls of a rank that repeats another one's trace.
pub(super) struct RepeatedCalls<'a> {
    of: &'a Repeated,
    rank: u32,
    calls: DumpiCalls,
}

impl RepeatedCalls<'_> {
    fn partner(&self, peer: u32) -> Result<u32, String> {
        self.of.partner(self.rank, peer)
    }

    fn message(&self, message: &mut Message) -> Result<(), String> {
        match message {
            Message::Send {
                comm: Slot::MYSELF, ..
            }
            | Message::Receive {
                comm: Slot::MYSELF, ..
            } => {}
            Message::Send { to, .. } => *to = self.partner(*to)?,
            Message::Receive {
                from: Some(from), ..
            } => *from = self.partner(*from)?,
            _ => {}
        }
        Ok(())
    }

    fn see(&self, call: &mut Call) -> Result<(), String> {
        match call {
            Call::Message(message, _) | Call::Prepare(message, _) => self.message(message),
            Call::Exchange(send, receive) => {
                self.message(send)?;
                self.message(receive)
            }
            Call::Outcome(
                _,
                Outcome::Message {
                    from: Some(from), ..
                },
            ) => {
                // The statuses of sends hold anything.
                *from = self.partner(*from).unwrap_or(*from);
                Ok(())
            }
            Call::Transfer { comm, member, .. } if *comm != Slot::MYSELF => {
                *member = self.partner(*member)?;
                Ok(())
            }
            Call::Collective { comm, shape, .. } if *comm != Slot::MYSELF => self.shape(shape),
            Call::Create { how, .. } if *how != How::Duplicate => Err(
                "a communicator of some of the ranks; which ones is unknown where one rank's \
                 trace is repeated, so that only copies of the world are replayed"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    fn shape(&self, shape: &mut Shape) -> Result<(), String> {
        let ranks = self.of.ranks as usize;
        let name = shape.name();
        let list_for = |found: usize| {
            Err(format!(
                "{name} of {found} ranks, but the trace is repeated for {ranks}; it can be \
                 repeated for {found} only"
            ))
        };
        if let Some(root) = shape.root()
            && root >= self.of.ranks
        {
            return Err(format!(
                "{name} with root {root}, but there are {ranks} ranks"
            ));
        }
        match shape {
            Shape::GatherVarying { mine, all, .. } | Shape::ScatterVarying { mine, all, .. } => {
                *all = Some(vec![*mine; ranks].into());
            }
            Shape::AllgatherVarying { all } | Shape::ReduceScatter { all }
                if all.len() != ranks =>
            {
                return list_for(all.len());
            }
            Shape::AlltoallVarying { sent, received, .. } => {
                if sent.len() != ranks || received.len() != ranks {
                    return list_for(sent.len());
                }
                for list in [sent, received] {
                    let mut seen = vec![0; ranks];
                    for (peer, &bytes) in list.iter().enumerate() {
                        seen[self.partner(peer as u32)? as usize] = bytes;
                    }
                    *list = seen.into();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Calls for RepeatedCalls<'_> {
    fn next(&mut self, calls: &mut Vec<Call>) -> Result<Option<Record>, TraceError> {
        let Some(record) = self.calls.next(calls)? else {
            return Ok(None);
        };
        calls.retain(|call| !matches!(call, Call::Claim { .. }));
        for call in calls.iter_mut() {
            self.see(call)
                .map_err(|reason| self.error_at(record.at, reason))?;
        }
        Ok(Some(record))
    }

    fn file(&self) -> &str {
        self.calls.file()
    }

    fn cancels(&self) -> bool {
        self.calls.cancels()
    }

    fn is_incomplete(&self) -> bool {
        self.calls.is_incomplete()
    }
}
