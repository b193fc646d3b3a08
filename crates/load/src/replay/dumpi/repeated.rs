//! One rank's trace for all ranks.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use odonata_traces::dumpi::{COMM_WORLD, DumpiReader, Function, Value};
use odonata_traces::{Position, TraceError};

use super::super::call::{
    Call, Calls, Message, Origin, Outcome, Record, RequestNumber, Shape, Slot, Until,
};
use super::super::requests::{Effect, Effects};
use super::parts::{Made, Membership, Plan, Plans, part};
use super::{DumpiCalls, DumpiSource};
use crate::replay::partners::Partners;
use crate::script::Handle;

/// How the trace of one rank is seen by the others.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    recorded: u32,
    ranks: u32,
    partners: Partners,
    /// Communicators that the trace makes.
    plans: Arc<Plans>,
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
            plans: Arc::default(),
        };
        Ok((repeated, ranks))
    }

    /// The same with what the trace's communicators become.
    ///
    /// # Errors
    /// If the trace is damaged.
    pub fn with_plans(self, calls: DumpiCalls) -> Result<Self, TraceError> {
        let plans = Plans::read(calls, self.recorded, self.ranks, self.partners)?;
        Ok(Self {
            plans: Arc::new(plans),
            ..self
        })
    }

    fn standings(&self, rank: u32) -> Vec<Option<Membership>> {
        (self.plans).standings(rank, self.recorded, self.ranks, self.partners)
    }

    /// The trace as `rank` sees it.
    pub fn seen_by(&self, rank: u32, calls: DumpiCalls) -> RepeatedCalls<'_> {
        RepeatedCalls {
            of: self,
            rank,
            calls,
            standings: self.standings(rank),
            made: 0,
            receives: HashMap::new(),
        }
    }

    /// Who a member of a communicator is to the one that replays.
    fn partner(&self, standing: Membership, peer: u32) -> Result<u32, String> {
        if peer >= standing.size {
            return Err(format!(
                "rank {peer}, but the trace is repeated for the ranks 0 to {}; it needs {} of \
                 them at least",
                standing.size - 1,
                u64::from(peer) + 1
            ));
        }
        let Membership {
            own,
            recorded,
            size,
        } = standing;
        Ok(self.partners.seen(own, recorded, peer, size))
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
    let mut lockstep = Lockstep {
        partners: repeated.partners,
        standings: repeated.standings(0),
        sent: HashMap::new(),
        posted: HashMap::new(),
        open: HashMap::new(),
    };
    while let Some(record) = effects.next(&mut found)? {
        for effect in found.drain(..) {
            let checked = lockstep.take(effect);
            checked.map_err(|reason| effects.error_at(record.at, reason))?;
        }
    }
    Ok(())
}

/// Messages of a peer: the communicator, the peer as rank 0 sees it, and the tag.
type Peer = (Slot, u32, u32);

/// What rank 0 has done so far, and by symmetry its peers.
struct Lockstep {
    partners: Partners,
    standings: Vec<Option<Membership>>,
    sent: HashMap<Peer, u64>,
    posted: HashMap<Peer, u64>,
    /// Receives under way: whom rank 0 sends to when their sender sends to rank 0, and
    /// which of those of a sender and tag.
    open: HashMap<Handle, (Peer, u64)>,
}

impl Lockstep {
    fn take(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Begin(Message::Send { to, tag, comm, .. }, _) if comm != Slot::MYSELF => {
                *self.sent.entry((comm, to, tag)).or_default() += 1;
            }
            Effect::Begin(
                Message::Receive {
                    comm,
                    from: Some(from),
                    tag: Some(tag),
                },
                handle,
            ) if comm != Slot::MYSELF => {
                let peer = (comm, self.mirrored(comm, from), tag);
                let number = self.posted.entry((comm, from, tag)).or_default();
                *number += 1;
                self.open.insert(handle, (peer, *number));
            }
            Effect::Wait(handles) => {
                for handle in handles {
                    self.wait(handle)?;
                }
            }
            Effect::Drop(handle) => {
                self.open.remove(&handle);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whom rank 0 sends to when `from` sends to rank 0.
    fn mirrored(&self, comm: Slot, from: u32) -> u32 {
        let standing = self.standings.get(comm.0 as usize).copied().flatten();
        match (self.partners, standing) {
            (Partners::Offset, Some(Membership { own, size, .. })) => {
                (2 * u64::from(own) + u64::from(size) - u64::from(from)).rem_euclid(u64::from(size))
                    as u32
            }
            _ => from,
        }
    }

    /// Checks that what a receive waits for has been sent.
    fn wait(&mut self, handle: Handle) -> Result<(), String> {
        let Some((peer, number)) = self.open.remove(&handle) else {
            return Ok(());
        };
        let so_far = self.sent.get(&peer).copied().unwrap_or_default();
        if so_far >= number {
            return Ok(());
        }
        Err(format!(
            "waits here for message {number} with tag {} of a peer, which repeats the same trace \
             and has sent {so_far} before it comes to the same place; the trace cannot stand for \
             all ranks in this way",
            peer.2
        ))
    }
}

/// The calls of a rank that repeats another one's trace.
pub(super) struct RepeatedCalls<'a> {
    of: &'a Repeated,
    rank: u32,
    calls: DumpiCalls,
    /// By slot.
    standings: Vec<Option<Membership>>,
    /// Communicators made so far.
    made: usize,
    /// Communicators of receives that a request stands for, other than the world.
    receives: HashMap<RequestNumber, Slot>,
}

impl RepeatedCalls<'_> {
    /// Where the rank is in a communicator.
    fn standing(&self, comm: Slot) -> Result<Membership, String> {
        let standing = self.standings.get(comm.0 as usize).copied().flatten();
        standing.ok_or_else(|| {
            // Slots from the third on are those of members.
            let members = self.of.plans.0.iter().filter(|made| made.member);
            let made = comm
                .0
                .checked_sub(2)
                .and_then(|n| members.clone().nth(n as usize));
            match made.map(|made| &made.plan) {
                Some(Plan::Unknown(reason)) => reason.to_string(),
                _ => "a communicator that is not known".to_owned(),
            }
        })
    }

    fn partner(&self, comm: Slot, peer: u32) -> Result<u32, String> {
        self.of.partner(self.standing(comm)?, peer)
    }

    fn message(&self, message: &mut Message) -> Result<(), String> {
        match message {
            Message::Send { comm, to, .. } => *to = self.partner(*comm, *to)?,
            Message::Receive { comm, from, .. } => match from {
                Some(from) => *from = self.partner(*comm, *from)?,
                None => {
                    self.standing(*comm)?;
                }
            },
            _ => {}
        }
        Ok(())
    }

    /// Notes the communicator of a receive of which the status comes later.
    fn note(&mut self, message: &Message, request: RequestNumber) {
        match message {
            Message::Receive { comm, .. } if *comm != Slot::WORLD => {
                self.receives.insert(request, *comm);
            }
            _ => {
                self.receives.remove(&request);
            }
        }
    }

    fn see(&mut self, call: &mut Call) -> Result<(), String> {
        match call {
            Call::Message(message, until) => {
                if let Until::Requested(request) = until {
                    self.note(message, *request);
                }
                self.message(message)
            }
            Call::Prepare(message, request) => {
                self.note(message, *request);
                self.message(message)
            }
            Call::Exchange(send, receive) => {
                self.message(send)?;
                self.message(receive)
            }
            Call::Outcome(
                request,
                Outcome::Message {
                    from: Some(from), ..
                },
            ) => {
                let comm = self.receives.get(request).copied().unwrap_or(Slot::WORLD);
                // The statuses of sends hold anything.
                *from = self.partner(comm, *from).unwrap_or(*from);
                Ok(())
            }
            Call::Transfer { comm, member, .. } => {
                *member = self.partner(*comm, *member)?;
                Ok(())
            }
            Call::Collective { comm, shape, .. } => self.shape(*comm, shape),
            Call::Create { how, .. } => {
                let made = self.of.plans.0.get(self.made);
                self.made += 1;
                if let Some(made) = made {
                    *how = self.becomes(made)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How a communicator of this rank is made.
    fn becomes(&self, made: &Made) -> Result<Origin, String> {
        let alone = |number: u32| Origin::Split {
            color: i32::try_from(number).ok(),
            key: 0,
        };
        Ok(match &made.plan {
            Plan::Copy => Origin::Duplicate,
            Plan::Grid(extents) => Origin::Grid {
                extents: extents.clone(),
            },
            Plan::SubGrid { kept, .. } => Origin::SubGrid { kept: kept.clone() },
            // Nobody uses those that are not known.
            Plan::Alone | Plan::Unknown(_) => alone(self.rank),
            Plan::Nobody => Origin::Split {
                color: None,
                key: 0,
            },
            Plan::Parts(members) => {
                let Repeated {
                    recorded,
                    ranks,
                    partners,
                    ..
                } = *self.of;
                let part = part(members, self.rank, recorded, ranks, partners);
                alone(part.first().copied().unwrap_or(self.rank))
            }
        })
    }

    fn shape(&self, comm: Slot, shape: &mut Shape) -> Result<(), String> {
        let standing = self.standing(comm)?;
        let ranks = standing.size as usize;
        let name = shape.name();
        let list_for = |found: usize| {
            Err(format!(
                "{name} of {found} ranks, but the trace is repeated for {ranks}; it can be \
                 repeated for {found} only"
            ))
        };
        if let Some(root) = shape.root()
            && root >= standing.size
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
                        seen[self.partner(comm, peer as u32)? as usize] = bytes;
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
