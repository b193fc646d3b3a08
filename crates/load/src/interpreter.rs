//! Carries out a sequence of operations: requests, waits and collectives become
//! actions that begin as soon as what they wait for is complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_declare::Named;
use odonata_units::{Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::collective::{CollectiveCall, Part, Progress};
use crate::communicator::Communicator;
use crate::cursor::Cursor;
use crate::parallelism::Parallelism;
use crate::program::{
    Action, Idle, Origin, ProcessorId, Program, ProgramError, RankProgram, Repetition, RequestId,
    Step, Totals, Waiting,
};
use crate::script::{Handle, Need, Operation, Operations, SCRIPT_CONTEXT, Script};

/// The processor on which a rank computes, and on which everything happens that progresses within
/// calls.
const PROCESSOR: ProcessorId = ProcessorId(0);
/// Where messages are sent and received that progress while the rank computes.
const BESIDE: ProcessorId = ProcessorId(1);

/// When the messages and collectives go on that a rank has begun.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Named,
)]
#[serde(rename_all = "kebab-case")]
pub enum MessageProgress {
    /// While it calls the library: not while it computes.
    #[default]
    Calls,
    /// At any time: a thread, the interface or a GPU's streams do it beside what the rank computes.
    Asynchronous,
}

impl MessageProgress {
    /// Processors of a rank.
    pub(crate) const fn processors(self) -> u8 {
        self.processor().0 + 1
    }

    /// The one that sends and receives.
    const fn processor(self) -> ProcessorId {
        match self {
            Self::Calls => PROCESSOR,
            Self::Asynchronous => BESIDE,
        }
    }
}

/// Who waits for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Owner {
    /// The script, by its next `WaitAll`.
    Script,
    /// The script, by a handle.
    Handle(Handle),
    /// The script, at once.
    Blocking,
    /// A collective, by its number.
    Collective(u32),
}

/// Something that is under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Request {
    owner: Owner,
    waiting: Waiting,
}

/// What the script waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Block {
    /// A request of [`Owner::Blocking`].
    Action(Waiting),
    WaitAll,
    Handles(Box<[Handle]>, Need),
    Collective(u32),
    /// All that is under way.
    End,
}

/// A part that the rank takes in a collective.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Taken {
    part: Part,
    /// Whose handle it is.
    handle: Option<Handle>,
    /// See [`Origin::class`].
    class: Option<u8>,
}

/// Whatever is under way besides the place in the script.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// By number; `None`: free.
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    /// Open operations of [`Owner::Script`]: all, and receives.
    outstanding: u32,
    receives: u32,
    /// Handles that are not done with: what they wait for (a collective is like
    /// a receive), or `None` if they are complete.
    handles: BTreeMap<Handle, Option<Waiting>>,
    block: Option<Block>,
    /// By number, in which they began.
    parts: BTreeMap<u32, Taken>,
    next_part: u32,
    /// Collectives begun on each communicator.
    begun: BTreeMap<u32, u32>,
    /// A mark that is to be given before anything else.
    leave: bool,
}

impl State {
    /// Is done with the first `most` of these handles that are complete.
    fn forget(&mut self, handles: &[Handle], most: usize) {
        let complete = handles
            .iter()
            .filter(|h| self.handles.get(h) == Some(&None));
        let complete: Vec<Handle> = complete.copied().take(most).collect();
        for handle in complete {
            self.handles.remove(&handle);
        }
    }
}

/// The program of a rank that does [`Operations`] one after another.
pub struct Interpreter<O> {
    rank: RankId,
    operations: O,
    /// What does all but the rank's own computing.
    communicates: ProcessorId,
    state: State,
}

impl<O: Operations> Interpreter<O> {
    /// The interpreter of `rank`, from the beginning of its operations.
    pub fn new(rank: RankId, operations: O, progress: MessageProgress) -> Self {
        Self {
            rank,
            operations,
            communicates: progress.processor(),
            state: State::default(),
        }
    }

    fn begin(&mut self, action: Action, owner: Owner) -> Step {
        let request = Request {
            owner,
            waiting: action.waiting(),
        };
        let processor = match (owner, action) {
            (Owner::Collective(_), _) => self.communicates,
            (_, Action::Compute(_)) => PROCESSOR,
            _ => self.communicates,
        };
        let slot = match self.state.free.pop() {
            Some(slot) => {
                self.state.requests[slot as usize] = Some(request);
                slot
            }
            None => {
                self.state.requests.push(Some(request));
                self.state.requests.len() as u32 - 1
            }
        };
        Step::Begin {
            action,
            request: RequestId(slot),
            processor,
        }
    }

    /// Gives a handle to something that begins.
    fn take_handle(&mut self, handle: Handle, waiting: Waiting) -> Result<(), ProgramError> {
        match self.state.handles.insert(handle, Some(waiting)) {
            None => Ok(()),
            Some(_) => Err(ProgramError(format!(
                "rank {} begins something by handle {}, which it has not waited for",
                self.rank, handle.0
            ))),
        }
    }

    /// Begins the rank's part in a collective.
    fn take_part(
        &mut self,
        communicator: &Arc<Communicator>,
        call: &Arc<CollectiveCall>,
        handle: Option<Handle>,
    ) -> Result<(), ProgramError> {
        let number = self.state.next_part;
        match handle {
            Some(handle) => self.take_handle(handle, Waiting::Receive)?,
            None => self.state.block = Some(Block::Collective(number)),
        }
        let state = &mut self.state;
        state.next_part = number.wrapping_add(1);
        let begun = state.begun.entry(communicator.number()).or_default();
        let part = Part::new(communicator.clone(), call.clone(), self.rank, *begun)?;
        *begun = begun.wrapping_add(1);
        let class = self.operations.class();
        let taken = Taken {
            part,
            handle,
            class,
        };
        state.parts.insert(number, taken);
        Ok(())
    }

    /// The next step of a collective that does not wait.
    fn next_of_collectives(&mut self) -> Option<Step> {
        loop {
            let parts = &mut self.state.parts;
            let (&number, taken) = parts.iter_mut().find(|(_, taken)| taken.part.is_ready())?;
            match taken.part.next() {
                Progress::Begin(action) => {
                    let step = self.begin(action, Owner::Collective(number));
                    if let Step::Begin { request, .. } = &step
                        && let Some(taken) = self.state.parts.get_mut(&number)
                    {
                        taken.part.begun(*request, action.waiting());
                    }
                    return Some(step);
                }
                Progress::Wait => {}
                Progress::Done => {
                    if let Some(handle) = taken.handle {
                        self.state.handles.insert(handle, None);
                    }
                    self.state.parts.remove(&number);
                    if self.state.block == Some(Block::Collective(number)) {
                        self.state.block = None;
                        self.state.leave = true;
                    }
                }
            }
        }
    }

    /// Whether the script can go on; done with the handles that it waited for.
    fn is_free(&mut self) -> bool {
        let state = &mut self.state;
        let free = match &state.block {
            None => true,
            Some(Block::Action(_) | Block::Collective(_)) => false,
            Some(Block::WaitAll) => state.outstanding == 0,
            Some(Block::Handles(handles, need)) => {
                let known = handles.iter().filter_map(|h| state.handles.get(h));
                let pending = known.clone().filter(|state| state.is_some()).count();
                let complete = known.count() - pending;
                match need {
                    Need::All => pending == 0,
                    Need::Any | Need::Some => complete > 0 || pending == 0,
                }
            }
            Some(Block::End) => {
                let pending = state.handles.values().any(Option::is_some);
                state.outstanding == 0 && !pending && state.parts.is_empty()
            }
        };
        if free
            && state.block != Some(Block::End)
            && let Some(Block::Handles(handles, need)) = state.block.take()
        {
            state.forget(&handles, if need == Need::Any { 1 } else { usize::MAX });
        }
        free
    }

    /// What an unfinished script waits for.
    fn waits_for(&self) -> Waiting {
        let state = &self.state;
        let received = |receives| {
            if receives {
                Waiting::Receive
            } else {
                Waiting::Send
            }
        };
        match &state.block {
            Some(Block::Action(waiting)) => *waiting,
            Some(Block::Collective(number)) => {
                let part = state.parts.get(number);
                received(part.is_none_or(|taken| taken.part.receives()))
            }
            Some(Block::Handles(handles, _)) => {
                let mut known = handles.iter().filter_map(|h| state.handles.get(h));
                received(known.any(|&waiting| waiting == Some(Waiting::Receive)))
            }
            Some(Block::End) => {
                let mut handles = state.handles.values();
                let receive = handles.any(|&waiting| waiting == Some(Waiting::Receive));
                received(receive || state.receives > 0 || !state.parts.is_empty())
            }
            _ => received(state.receives > 0),
        }
    }
}

/// The place of a rank in a script.
struct Place<'a, S: ?Sized> {
    script: &'a S,
    rank: RankId,
    cursor: Cursor,
}

impl<'a, S: Script> Place<'a, S> {
    /// The beginning.
    fn of(script: &'a S, rank: RankId) -> Self {
        Self {
            script,
            rank,
            cursor: Cursor::default(),
        }
    }

    fn interpreted(self, progress: MessageProgress) -> Box<dyn RankProgram + 'a> {
        Box::new(Interpreter::new(self.rank, self, progress))
    }
}

impl<S: Script + ?Sized> Operations for Place<'_, S> {
    fn next(&mut self) -> Result<Operation, ProgramError> {
        Ok(self.script.next(self.rank, &mut self.cursor))
    }

    fn parallelism(&self, communicator: Option<u32>) -> Option<Parallelism> {
        self.script.parallelism(&self.cursor, communicator)
    }

    fn class(&self) -> Option<u8> {
        self.cursor.class
    }

    fn skip(&mut self, iterations: u32) -> bool {
        self.script.skip(&mut self.cursor, iterations);
        true
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.cursor).expect("memory to write to")
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let cursor = postcard::from_bytes(saved);
        self.cursor = cursor.map_err(|error| ProgramError(error.to_string()))?;
        Ok(())
    }
}

/// A script whose messages progress while its ranks compute.
pub struct Asynchronously<S>(pub S);

impl<S: Script> Program for Asynchronously<S> {
    fn ranks(&self) -> u32 {
        Script::ranks(&self.0)
    }

    fn processors(&self) -> u8 {
        MessageProgress::Asynchronous.processors()
    }

    fn has_parallelism(&self) -> bool {
        Script::has_parallelism(&self.0)
    }

    fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        Ok(Place::of(&self.0, rank).interpreted(MessageProgress::Asynchronous))
    }

    fn totals(&self) -> Option<Totals> {
        Script::totals(&self.0)
    }

    fn iterations(&self) -> u32 {
        Script::iterations(&self.0)
    }

    fn repetition(&self) -> Option<Repetition> {
        Some(Script::repetition(&self.0))
    }
}

impl<S: Script> Program for S {
    fn ranks(&self) -> u32 {
        Script::ranks(self)
    }

    fn has_parallelism(&self) -> bool {
        Script::has_parallelism(self)
    }

    fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        Ok(Place::of(self, rank).interpreted(MessageProgress::Calls))
    }

    fn totals(&self) -> Option<Totals> {
        Script::totals(self)
    }

    fn iterations(&self) -> u32 {
        Script::iterations(self)
    }

    fn repetition(&self) -> Option<Repetition> {
        Some(Script::repetition(self))
    }
}

impl<O: Operations> RankProgram for Interpreter<O> {
    fn next(&mut self, idle: Idle) -> Result<Step, ProgramError> {
        let goes_on = idle.contains(self.communicates);
        if goes_on && let Some(step) = self.next_of_collectives() {
            return Ok(step);
        }
        if !idle.contains(PROCESSOR) {
            return Ok(Step::Wait(Waiting::Processor));
        }
        loop {
            if std::mem::take(&mut self.state.leave) {
                return Ok(Step::Leave);
            }
            if !self.is_free() {
                return Ok(Step::Wait(self.waits_for()));
            }
            if self.state.block == Some(Block::End) {
                return Ok(Step::Finish);
            }
            let (action, owner) = match self.operations.next()? {
                Operation::Compute(Picoseconds::ZERO) => continue,
                Operation::Compute(duration) => {
                    self.state.block = Some(Block::Action(Waiting::Processor));
                    (Action::Compute(duration), Owner::Blocking)
                }
                Operation::Send { to, bytes, tag } => {
                    self.state.outstanding += 1;
                    let context = SCRIPT_CONTEXT;
                    let action = Action::Send {
                        to,
                        bytes,
                        context,
                        tag,
                    };
                    (action, Owner::Script)
                }
                Operation::Receive { from, tag } => {
                    self.state.outstanding += 1;
                    self.state.receives += 1;
                    let action = Action::Receive {
                        from: Some(from),
                        context: SCRIPT_CONTEXT,
                        tag: Some(tag),
                    };
                    (action, Owner::Script)
                }
                Operation::WaitAll => {
                    self.state.block = Some(Block::WaitAll);
                    continue;
                }
                Operation::Begin { action, handle } => {
                    self.take_handle(handle, action.waiting())?;
                    (action, Owner::Handle(handle))
                }
                Operation::Do(action) => {
                    self.state.block = Some(Block::Action(action.waiting()));
                    (action, Owner::Blocking)
                }
                Operation::Wait { handles, need } => {
                    self.state.block = Some(Block::Handles(handles, need));
                    continue;
                }
                Operation::Test(handles) => {
                    self.state.forget(&handles, usize::MAX);
                    continue;
                }
                Operation::Collective {
                    communicator,
                    call,
                    handle,
                } => {
                    let kind = call.kind();
                    self.take_part(&communicator, &call, handle)?;
                    if handle.is_none() {
                        return Ok(Step::Enter(kind));
                    }
                    if goes_on && let Some(step) = self.next_of_collectives() {
                        return Ok(step);
                    }
                    continue;
                }
                Operation::EndIteration => return Ok(Step::EndIteration),
                Operation::Finish => {
                    self.state.block = Some(Block::End);
                    continue;
                }
            };
            return Ok(self.begin(action, owner));
        }
    }

    fn complete(&mut self, request: RequestId) {
        let state = &mut self.state;
        let slot = request.0 as usize;
        let done = state.requests[slot].take().expect("a request under way");
        state.free.push(request.0);
        let receives = u32::from(done.waiting == Waiting::Receive);
        match done.owner {
            Owner::Script => {
                state.outstanding -= 1;
                state.receives -= receives;
            }
            Owner::Handle(handle) => {
                state.handles.insert(handle, None);
            }
            Owner::Blocking => state.block = None,
            Owner::Collective(number) => {
                let taken = state.parts.get_mut(&number).expect("a part in progress");
                taken.part.complete(request, done.waiting);
            }
        }
    }

    fn parallelism(&self, request: Option<RequestId>) -> Option<Parallelism> {
        let state = &self.state;
        let number = match request {
            Some(RequestId(slot)) => {
                let request = state.requests.get(slot as usize)?.as_ref()?;
                match (request.owner, request.waiting) {
                    (Owner::Collective(number), _) => Some(number),
                    // The rank's own computing.
                    (_, Waiting::Processor) => return None,
                    _ => None,
                }
            }
            None => match state.block.as_ref()? {
                Block::Action(Waiting::Processor) => return None,
                Block::Action(_) | Block::WaitAll => None,
                Block::Collective(number) => Some(*number),
                Block::Handles(handles, _) => {
                    let mut parts = state.parts.iter();
                    let first = parts.find(|(_, taken)| {
                        taken.handle.is_some_and(|handle| handles.contains(&handle))
                    });
                    first.map(|(&number, _)| number)
                }
                Block::End => state.parts.keys().next().copied(),
            },
        };
        let part = number.and_then(|number| state.parts.get(&number));
        self.operations
            .parallelism(part.map(|taken| taken.part.communicator()))
    }

    fn origin(&self, RequestId(slot): RequestId) -> Origin {
        let request = self.state.requests.get(slot as usize).copied().flatten();
        match request.map(|request| request.owner) {
            Some(Owner::Collective(number)) => {
                let taken = self.state.parts.get(&number);
                Origin {
                    collective: taken.map(|taken| taken.part.kind()),
                    class: taken.and_then(|taken| taken.class),
                }
            }
            _ => Origin {
                collective: None,
                class: self.operations.class(),
            },
        }
    }

    fn skip(&mut self, iterations: u32) -> bool {
        self.operations.skip(iterations)
    }

    fn save(&self) -> Vec<u8> {
        let saved = (&self.state, self.operations.save());
        postcard::to_stdvec(&saved).expect("memory to write to")
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let read = postcard::from_bytes::<(State, Vec<u8>)>(saved);
        let (state, place) = read.map_err(|error| ProgramError(error.to_string()))?;
        self.state = state;
        self.operations.restore(&place)
    }
}

#[cfg(test)]
mod tests;
