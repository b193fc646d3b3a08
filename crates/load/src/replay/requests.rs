//! Follows the requests of a rank: its calls become things that begin and waits
//! for them, each by a name of its own.

use std::collections::{HashMap, HashSet, VecDeque};

use odonata_traces::TraceError;

use super::call::{
    Call, Calls, Direction, GroupMade, Message, Origin, Outcome, Record, RequestNumber, Shape,
    Slot, Source, Until,
};
use super::clock::Gaps;
use super::memberships::Communicators;
use super::region::{Cut, Cutting};
use crate::script::Handle;

/// What a rank does, its requests resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Begin(Message, Handle),
    Wait(Box<[Handle]>),
    Collective {
        comm: Slot,
        shape: Shape,
        handle: Option<Handle>,
    },
    Transfer {
        direction: Direction,
        comm: Slot,
        member: u32,
        bytes: u64,
        handle: Handle,
    },
    /// Nobody will wait for it.
    Drop(Handle),
    Create {
        parent: Slot,
        new: Option<Slot>,
        how: Origin,
    },
    Group(GroupMade),
    Claim {
        comm: Slot,
        rank: Option<u32>,
        size: Option<u32>,
    },
    NotReplayed(&'static str),
    /// The record is a time in which the trace does not tell what the rank did.
    Unrecorded,
}

/// What a request stands for.
#[derive(Clone, Copy, Debug)]
enum Request {
    Begun(Handle),
    /// Persistent; begun or not.
    Prepared(Message, Option<Handle>),
}

/// The requests of a rank. Memory: those that are not complete.
#[derive(Debug, Default)]
struct Requests {
    known: HashMap<RequestNumber, Request>,
    transfers: Vec<(u32, Handle)>,
    next: u64,
    /// Whether requests that nothing made may be waited for.
    lenient: bool,
    /// Waits for such.
    unknown: u64,
}

impl Requests {
    fn handle(&mut self) -> Handle {
        let handle = Handle(self.next);
        self.next += 1;
        handle
    }

    /// The handle of a request that is under way.
    fn under_way(&self, number: RequestNumber) -> Option<Handle> {
        match self.known.get(&number)? {
            Request::Begun(handle) => Some(*handle),
            Request::Prepared(_, handle) => *handle,
        }
    }

    fn begin(&mut self, number: RequestNumber) -> Result<Handle, String> {
        let handle = self.handle();
        match self.known.insert(number, Request::Begun(handle)) {
            // Where calls are missing, so may be the wait for it.
            None => Ok(handle),
            Some(_) if self.lenient => Ok(handle),
            Some(_) => Err(format!(
                "request {number} begins anew, but nothing has waited for it"
            )),
        }
    }

    fn complete(&mut self, number: RequestNumber) -> Result<Option<Handle>, String> {
        match self.known.get_mut(&number) {
            Some(Request::Prepared(_, handle)) => Ok(handle.take()),
            Some(Request::Begun(handle)) => {
                let handle = *handle;
                self.known.remove(&number);
                Ok(Some(handle))
            }
            None if self.lenient => {
                self.unknown += 1;
                Ok(None)
            }
            None => Err(format!("request {number}, which no call before has made")),
        }
    }

    fn prepare(&mut self, message: Message, number: RequestNumber) -> Result<(), String> {
        let request = Request::Prepared(message, None);
        if self.known.insert(number, request).is_some() && !self.lenient {
            return Err(format!(
                "request {number} is made anew, but nothing has freed it"
            ));
        }
        Ok(())
    }

    /// Starts a persistent request: what begins.
    fn start(&mut self, number: RequestNumber) -> Result<Option<(Message, Handle)>, String> {
        let handle = self.handle();
        match self.known.get_mut(&number) {
            Some(Request::Prepared(message, begun @ None)) => {
                *begun = Some(handle);
                Ok(Some((*message, handle)))
            }
            Some(Request::Prepared(..)) => Err(format!(
                "request {number} is started, but it is under way already"
            )),
            _ if self.lenient => {
                self.unknown += 1;
                Ok(None)
            }
            _ => Err(format!(
                "request {number} is started, but no call has prepared it"
            )),
        }
    }

    /// Frees a request: what nobody will wait for, if it is under way.
    fn free(&mut self, number: RequestNumber) -> Result<Option<Handle>, String> {
        match self.known.remove(&number) {
            Some(Request::Begun(handle)) => Ok(Some(handle)),
            Some(Request::Prepared(_, handle)) => Ok(handle),
            None if self.lenient => {
                self.unknown += 1;
                Ok(None)
            }
            None => Err(format!("request {number}, which no call before has made")),
        }
    }

    /// Ends the transfers of a window, or of all.
    fn complete_transfers(&mut self, window: Option<u32>) -> Box<[Handle]> {
        let is_done = |of: u32| window.is_none_or(|window| window == of);
        let transfers = std::mem::take(&mut self.transfers);
        let (done, rest) = (transfers.into_iter()).partition::<Vec<_>, _>(|&(of, _)| is_done(of));
        self.transfers = rest;
        done.into_iter().map(|(_, handle)| handle).collect()
    }

    fn apply(&mut self, call: Call, effects: &mut VecDeque<Effect>) -> Result<(), String> {
        match call {
            Call::Message(message, Until::Complete) => {
                let handle = self.handle();
                effects.push_back(Effect::Begin(message, handle));
                effects.push_back(Effect::Wait([handle].into()));
            }
            Call::Message(message, Until::Buffered) => {
                let handle = self.handle();
                effects.push_back(Effect::Begin(message, handle));
                effects.push_back(Effect::Drop(handle));
            }
            Call::Message(message, Until::Requested(number)) => {
                let handle = self.begin(number)?;
                effects.push_back(Effect::Begin(message, handle));
            }
            Call::Exchange(send, receive) => {
                let handles = [self.handle(), self.handle()];
                // The receive first: it may be what the own message needs.
                effects.push_back(Effect::Begin(receive, handles[0]));
                effects.push_back(Effect::Begin(send, handles[1]));
                effects.push_back(Effect::Wait(handles.into()));
            }
            Call::Prepare(message, number) => self.prepare(message, number)?,
            Call::Start(numbers) => {
                for number in numbers {
                    if let Some((message, handle)) = self.start(number)? {
                        effects.push_back(Effect::Begin(message, handle));
                    }
                }
            }
            Call::Complete(numbers) => {
                let mut handles = Vec::with_capacity(numbers.len());
                for number in numbers {
                    handles.extend(self.complete(number)?);
                }
                if !handles.is_empty() {
                    effects.push_back(Effect::Wait(handles.into()));
                }
            }
            Call::Free(number) => effects.extend(self.free(number)?.map(Effect::Drop)),
            Call::Collective {
                comm,
                shape,
                request,
            } => {
                let handle = request.map(|number| self.begin(number)).transpose()?;
                effects.push_back(Effect::Collective {
                    comm,
                    shape,
                    handle,
                });
            }
            Call::Transfer {
                direction,
                comm,
                member,
                bytes,
                window,
            } => {
                let handle = self.handle();
                self.transfers.push((window, handle));
                effects.push_back(Effect::Transfer {
                    direction,
                    comm,
                    member,
                    bytes,
                    handle,
                });
            }
            Call::CompleteTransfers(window) => {
                let done = self.complete_transfers(window);
                if !done.is_empty() {
                    effects.push_back(Effect::Wait(done));
                }
            }
            Call::Create { parent, new, how } => {
                effects.push_back(Effect::Create { parent, new, how });
            }
            Call::Group(made) => effects.push_back(Effect::Group(made)),
            Call::Claim { comm, rank, size } => {
                effects.push_back(Effect::Claim { comm, rank, size });
            }
            Call::NotReplayed(name) => effects.push_back(Effect::NotReplayed(name)),
            Call::Unrecorded => effects.push_back(Effect::Unrecorded),
            Call::Cancel(_) | Call::Outcome(..) => {}
        }
        Ok(())
    }
}

/// Reads a rank's trace ahead for what comes of its requests. Memory: the outcomes
/// between the two places.
struct Ahead<'a> {
    calls: Box<dyn Calls + 'a>,
    requests: Requests,
    /// Begun and not complete, of those whose outcome matters.
    open: HashSet<Handle>,
    cancelled: HashSet<Handle>,
    outcomes: HashMap<Handle, Outcome>,
    buffer: Vec<Call>,
    effects: VecDeque<Effect>,
    every: bool,
    done: bool,
}

impl<'a> Ahead<'a> {
    fn new(calls: Box<dyn Calls + 'a>) -> Self {
        Self {
            requests: Requests {
                lenient: calls.is_incomplete(),
                ..Requests::default()
            },
            every: calls.cancels(),
            calls,
            open: HashSet::new(),
            cancelled: HashSet::new(),
            outcomes: HashMap::new(),
            buffer: Vec::new(),
            effects: VecDeque::new(),
            done: false,
        }
    }

    /// What comes of something; `None`: nothing is recorded of it.
    fn outcome(&mut self, handle: Handle) -> Result<Option<Outcome>, TraceError> {
        while self.requests.next <= handle.0 || self.open.contains(&handle) {
            if !self.step()? {
                break;
            }
        }
        Ok(self.outcomes.remove(&handle))
    }

    /// Reads a record; whether there was one.
    fn step(&mut self) -> Result<bool, TraceError> {
        if self.done {
            return Ok(false);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let Some(record) = self.calls.next(&mut buffer)? else {
            self.done = true;
            return Ok(false);
        };
        self.requests.lenient = self.calls.is_incomplete();
        for call in buffer.drain(..) {
            self.apply(call)
                .map_err(|reason| self.calls.error_at(record.at, reason))?;
        }
        self.buffer = buffer;
        Ok(true)
    }

    fn apply(&mut self, call: Call) -> Result<(), String> {
        match &call {
            Call::Cancel(number) => {
                if let Some(handle) = self.requests.under_way(*number)
                    && self.open.contains(&handle)
                {
                    self.cancelled.insert(handle);
                }
            }
            Call::Outcome(number, outcome) => {
                if let Some(handle) = self.requests.under_way(*number)
                    && self.open.contains(&handle)
                {
                    match outcome {
                        // Of others than cancelled ones the mark means nothing.
                        Outcome::Cancelled if !self.every => {}
                        Outcome::Cancelled if !self.cancelled.contains(&handle) => {}
                        Outcome::Cancelled => {
                            self.outcomes.insert(handle, Outcome::Cancelled);
                        }
                        found => {
                            self.cancelled.remove(&handle);
                            self.outcomes.insert(handle, found.clone());
                        }
                    }
                }
            }
            _ => {}
        }
        self.requests.apply(call, &mut self.effects)?;
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Begin(message, handle) if self.every || message.is_open() => {
                    self.open.insert(handle);
                }
                Effect::Collective {
                    shape: Shape::Unknown,
                    handle: Some(handle),
                    ..
                } => {
                    self.open.insert(handle);
                }
                Effect::Wait(handles) => {
                    for handle in handles {
                        close(
                            handle,
                            &mut self.open,
                            &mut self.cancelled,
                            &mut self.outcomes,
                        );
                    }
                }
                Effect::Drop(handle) => {
                    close(
                        handle,
                        &mut self.open,
                        &mut self.cancelled,
                        &mut self.outcomes,
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Something is complete. Cancelled and not said to have been received: cancelled.
fn close(
    handle: Handle,
    open: &mut HashSet<Handle>,
    cancelled: &mut HashSet<Handle>,
    outcomes: &mut HashMap<Handle, Outcome>,
) {
    if open.remove(&handle) && cancelled.remove(&handle) {
        outcomes.insert(handle, Outcome::Cancelled);
    }
}

/// The effects of a rank's calls, one record after the other. Receives that take
/// what comes are those of what came, where the trace tells; what was cancelled
/// does not begin.
pub(crate) struct Effects<'a> {
    source: &'a dyn Source,
    rank: u32,
    calls: Box<dyn Calls + 'a>,
    requests: Requests,
    ahead: Option<Ahead<'a>>,
    every: bool,
    buffer: Vec<Call>,
    resolved: VecDeque<Effect>,
    cutting: Option<Cutting<'a>>,
    cut: Option<&'a Cut>,
}

impl<'a> Effects<'a> {
    /// The calls of `rank`, from the beginning.
    pub fn new(source: &'a dyn Source, rank: u32) -> Result<Self, TraceError> {
        let calls = source.calls(rank, false)?;
        Ok(Self {
            source,
            rank,
            requests: Requests {
                lenient: calls.is_incomplete(),
                ..Requests::default()
            },
            every: calls.cancels(),
            calls,
            ahead: None,
            buffer: Vec::new(),
            resolved: VecDeque::new(),
            cutting: None,
            cut: None,
        })
    }

    /// The calls of `rank` within a region of interest: records outside are passed over, and
    /// what lies across its border with them. `cut` as [`Cut::new`] found it with these
    /// communicators; `None`: the whole trace.
    pub fn within(
        source: &'a dyn Source,
        rank: u32,
        cut: Option<&'a Cut>,
        communicators: &'a Communicators,
    ) -> Result<Self, TraceError> {
        let mut effects = Self::new(source, rank)?;
        effects.cut = cut;
        effects.cutting = cut.map(|cut| Cutting::new(cut, communicators, rank));
        Ok(effects)
    }

    /// The rank's time between records, from the start of the region on.
    pub fn gaps(&self) -> Gaps {
        Gaps::from(self.cut.and_then(|cut| cut.opens(self.rank)))
    }

    /// When the region ends for the rank's own time.
    pub fn closes(&self) -> Option<i64> {
        self.cut.and_then(|cut| cut.closes(self.rank))
    }

    /// Waits for requests that no call had made, in a trace that lacks calls.
    pub fn unknown_requests(&self) -> u64 {
        self.requests.unknown
    }

    /// An error at a place of the rank's file.
    pub fn error_at(&self, at: u64, reason: String) -> TraceError {
        self.calls.error_at(at, reason)
    }

    /// Reads the next record and appends what it did to `effects`; `None` behind
    /// the last one.
    ///
    /// # Errors
    /// If the trace is damaged or contradicts itself.
    pub fn next(&mut self, effects: &mut VecDeque<Effect>) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(record) = self.read()? else {
                return Ok(None);
            };
            let Some(inside) = self
                .cutting
                .as_ref()
                .map(|cutting| cutting.contains(&record))
            else {
                while let Some(effect) = self.resolved.pop_front() {
                    effects.extend(self.resolve(effect)?);
                }
                return Ok(Some(record));
            };
            while let Some(effect) = self.resolved.pop_front() {
                let Some(effect) = self.resolve(effect)? else {
                    continue;
                };
                if let Some(cutting) = &mut self.cutting
                    && cutting
                        .keeps(&effect, inside)
                        .map_err(|reason| self.calls.error_at(record.at, reason))?
                {
                    effects.push_back(effect);
                }
            }
            if inside {
                return Ok(Some(record));
            }
            if self
                .cutting
                .as_ref()
                .is_some_and(|cutting| cutting.is_past(&record))
            {
                return Ok(None);
            }
        }
    }

    /// Reads a record; what it did comes to `resolved`.
    fn read(&mut self) -> Result<Option<Record>, TraceError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let Some(record) = self.calls.next(&mut buffer)? else {
            return Ok(None);
        };
        // Recording may pause on the way.
        self.requests.lenient = self.calls.is_incomplete();
        for call in buffer.drain(..) {
            self.requests
                .apply(call, &mut self.resolved)
                .map_err(|reason| self.calls.error_at(record.at, reason))?;
        }
        self.buffer = buffer;
        Ok(Some(record))
    }

    fn resolve(&mut self, effect: Effect) -> Result<Option<Effect>, TraceError> {
        match effect {
            Effect::Begin(message, handle) if self.every || message.is_open() => {
                let message = match self.outcome(handle)? {
                    Some(Outcome::Cancelled) => Message::Nothing,
                    Some(outcome) => message.turned_out(&outcome),
                    None if message == Message::Unknown => Message::Nothing,
                    None => message,
                };
                Ok(match message {
                    Message::Nothing => None,
                    message => Some(Effect::Begin(message, handle)),
                })
            }
            Effect::Begin(Message::Nothing, _) => Ok(None),
            Effect::Collective {
                shape: Shape::Unknown,
                handle: Some(handle),
                ..
            } => Ok(Some(match self.outcome(handle)? {
                Some(Outcome::Collective(comm, shape)) => Effect::Collective {
                    comm,
                    shape,
                    handle: Some(handle),
                },
                // Begun and never completed.
                _ => Effect::NotReplayed("a non-blocking collective that is never complete"),
            })),
            effect => Ok(Some(effect)),
        }
    }

    fn outcome(&mut self, handle: Handle) -> Result<Option<Outcome>, TraceError> {
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            none => none.insert(Ahead::new(self.source.calls(self.rank, true)?)),
        };
        ahead.outcome(handle)
    }
}
