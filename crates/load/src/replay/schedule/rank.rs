//! A rank of a schedule as a program.

use std::collections::{BTreeMap, VecDeque};

use odonata_traces::TraceError;
use odonata_traces::goal::{Action as Scheduled, Tag};
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::{Collective, Graph, Node, Task, calculation, check_processor};
use crate::collective::{Part, Progress};
use crate::program::{
    Action, CollectiveKind, Context, Idle, Origin, ProcessorId, ProgramError, RankProgram,
    RequestId, Step, Waiting,
};
use crate::replay::clock::Compute;

/// Where messages of schedules match.
const CONTEXT: Context = Context::ordered(0);

/// An operation that waits for nothing any more, or is under way.
struct Begun {
    task: Task,
    on_finish: Vec<u32>,
}

/// The operations under way, counted by what a rank would wait for.
#[derive(Default)]
struct UnderWay {
    operations: BTreeMap<u32, Begun>,
    calculations: usize,
    receives: usize,
}

impl UnderWay {
    fn count(&mut self, task: &Task) -> Option<&mut usize> {
        match task {
            Task::Single(Scheduled::Calculate { .. }) => Some(&mut self.calculations),
            Task::Single(Scheduled::Receive { .. }) | Task::Collective(_) => {
                Some(&mut self.receives)
            }
            Task::Single(Scheduled::Send { .. }) | Task::Nothing => None,
        }
    }

    fn insert(&mut self, number: u32, node: Node) {
        if let Some(count) = self.count(&node.task) {
            *count += 1;
        }
        let begun = Begun {
            task: node.task,
            on_finish: node.on_finish,
        };
        self.operations.insert(number, begun);
    }

    fn remove(&mut self, number: u32) -> Option<Begun> {
        let begun = self.operations.remove(&number)?;
        if let Some(count) = self.count(&begun.task) {
            *count -= 1;
        }
        Some(begun)
    }

    /// What a rank with nothing to begin waits for: its own work before that of others.
    fn waiting(&self) -> Option<Waiting> {
        match self.operations.len() {
            0 => None,
            _ if self.calculations > 0 => Some(Waiting::Processor),
            _ if self.receives > 0 => Some(Waiting::Receive),
            _ => Some(Waiting::Send),
        }
    }
}

/// The collectives under way. Their requests are numbered from the last number down, those
/// of operations from 0 up.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Collectives {
    /// By the number of the operation; on which processor.
    parts: BTreeMap<u32, (Part, u8)>,
    /// By number: the operation, and what who waits for it waits for; `None`: free.
    requests: Vec<Option<(u32, Waiting)>>,
    free: Vec<u32>,
}

/// What comes next of the collectives under way.
enum Next {
    Step(Step),
    /// The part of this operation is over.
    Over(u32),
    /// Nothing before something is complete; whether that is only a processor.
    Nothing {
        busy: bool,
    },
}

impl Collectives {
    fn next(&mut self, idle: Idle) -> Next {
        let mut busy = false;
        for (&operation, (part, processor)) in &mut self.parts {
            if !part.is_ready() {
                continue;
            }
            let processor = ProcessorId(*processor);
            if !idle.contains(processor) {
                busy = true;
                continue;
            }
            match part.next() {
                Progress::Begin(action) => {
                    let waiting = action.waiting();
                    let slot = self.free.pop().unwrap_or_else(|| {
                        self.requests.push(None);
                        self.requests.len() as u32 - 1
                    });
                    self.requests[slot as usize] = Some((operation, waiting));
                    let request = RequestId(!slot);
                    part.begun(request, waiting);
                    return Next::Step(Step::Begin {
                        action,
                        request,
                        processor,
                    });
                }
                Progress::Wait => {}
                Progress::Done => {
                    self.parts.remove(&operation);
                    return Next::Over(operation);
                }
            }
        }
        Next::Nothing { busy }
    }

    /// The kind of the one that has begun a request.
    fn kind(&self, request: RequestId) -> Option<CollectiveKind> {
        let (operation, _) = (*self.requests.get(!request.0 as usize)?)?;
        let (part, _) = self.parts.get(&operation)?;
        Some(part.kind())
    }

    /// Takes note that a request is complete; whether it is one of theirs.
    fn complete(&mut self, request: RequestId) -> bool {
        let slot = !request.0;
        let Some(taken) = self.requests.get_mut(slot as usize) else {
            return false;
        };
        if let Some((operation, waiting)) = taken.take() {
            self.free.push(slot);
            if let Some((part, _)) = self.parts.get_mut(&operation) {
                part.complete(request, waiting);
            }
        }
        true
    }
}

/// What a rank of a schedule does: whatever waits for nothing, on its processor, in
/// the order in which it came to that. Memory: operations that wait for some but not
/// all of what they depend on, that can begin, and that are under way.
pub(super) struct ScheduledRank<'a> {
    graph: Box<dyn Graph + 'a>,
    rank: RankId,
    compute: Compute,
    /// How many each of those waits for that do not wait for all any more.
    waiting: BTreeMap<u32, u32>,
    /// Operations of which something is done that they wait for, once for each.
    released: VecDeque<u32>,
    /// The operations that can begin, for each processor.
    ready: Vec<VecDeque<(u32, Node)>>,
    under_way: UnderWay,
    collectives: Collectives,
    finished: u32,
}

/// State of a rank, for a checkpoint.
#[derive(Serialize, Deserialize)]
struct Saved {
    waiting: BTreeMap<u32, u32>,
    released: VecDeque<u32>,
    ready: Vec<Vec<u32>>,
    under_way: Vec<u32>,
    collectives: Collectives,
    finished: u32,
}

impl<'a> ScheduledRank<'a> {
    pub fn new(
        mut graph: Box<dyn Graph + 'a>,
        rank: RankId,
        compute: Compute,
    ) -> Result<Self, TraceError> {
        let roots = graph.roots()?;
        let mut new = Self {
            graph,
            rank,
            compute,
            waiting: BTreeMap::new(),
            released: VecDeque::new(),
            ready: Vec::new(),
            under_way: UnderWay::default(),
            collectives: Collectives::default(),
            finished: 0,
        };
        for root in roots {
            let node = new.graph.node(root)?;
            new.put_ready(root, node);
        }
        Ok(new)
    }

    fn put_ready(&mut self, operation: u32, node: Node) {
        let cpu = usize::from(node.cpu);
        if self.ready.len() <= cpu {
            self.ready.resize_with(cpu + 1, VecDeque::new);
        }
        self.ready[cpu].push_back((operation, node));
    }

    /// Takes note of everything that was done.
    fn release(&mut self) -> Result<(), TraceError> {
        while let Some(operation) = self.released.pop_front() {
            match self.waiting.get_mut(&operation) {
                Some(left) if *left > 1 => *left -= 1,
                Some(_) => {
                    self.waiting.remove(&operation);
                    let node = self.graph.node(operation)?;
                    self.put_ready(operation, node);
                }
                None => {
                    let node = self.graph.node(operation)?;
                    if node.dependencies > 1 {
                        self.waiting.insert(operation, node.dependencies - 1);
                    } else {
                        self.put_ready(operation, node);
                    }
                }
            }
        }
        Ok(())
    }

    fn failed(&self, reason: impl std::fmt::Display) -> ProgramError {
        ProgramError(format!("rank {}: {reason}", self.rank))
    }

    /// What an operation begins; `None`: it is done.
    fn action(&self, action: Scheduled) -> Result<Option<Action>, String> {
        let tag = |tag: Tag| Some(tag).filter(|&tag| tag != Tag::ANY).map(|tag| tag.0);
        Ok(Some(match action {
            Scheduled::Send { size, to, tag } => Action::Send {
                to,
                bytes: Bytes(size.0.max(1)),
                context: CONTEXT,
                tag: tag.0,
            },
            Scheduled::Receive {
                from, tag: with, ..
            } => Action::Receive {
                from,
                context: CONTEXT,
                tag: tag(with),
            },
            Scheduled::Calculate { duration } => {
                let recorded = calculation(duration, self.graph.unit())
                    .ok_or_else(|| format!("a calculation of {duration} units, too long"))?;
                let duration = self.compute.of(recorded);
                if duration == Picoseconds::ZERO {
                    return Ok(None);
                }
                Action::Compute(duration)
            }
        }))
    }

    /// The next operation that can begin on a processor that is idle; receives and what
    /// only orders others keep none busy.
    fn take_ready(&mut self, idle: Idle) -> Option<(u32, Node)> {
        for (cpu, queue) in self.ready.iter_mut().enumerate() {
            let Some((_, node)) = queue.front() else {
                continue;
            };
            let needs_none = matches!(
                node.task,
                Task::Single(Scheduled::Receive { .. }) | Task::Nothing
            );
            if needs_none || idle.contains(ProcessorId(cpu as u8)) {
                return queue.pop_front();
            }
        }
        None
    }

    /// Begins the rank's part in a collective.
    fn take_part(&mut self, number: u32, node: &Node, of: &Collective) -> Result<(), ProgramError> {
        let part = Part::new(
            of.communicator.clone(),
            of.call.clone(),
            self.rank,
            of.which,
        )?;
        self.collectives.parts.insert(number, (part, node.cpu));
        Ok(())
    }

    /// An operation under way has ended.
    fn finish(&mut self, operation: u32) {
        if let Some(begun) = self.under_way.remove(operation) {
            self.released.extend(begun.on_finish);
            self.finished += 1;
        }
    }

    fn next_step(&mut self, idle: Idle) -> Result<Step, ProgramError> {
        let busy = loop {
            let busy = match self.collectives.next(idle) {
                Next::Step(step) => return Ok(step),
                Next::Over(operation) => {
                    self.finish(operation);
                    continue;
                }
                Next::Nothing { busy } => busy,
            };
            self.release().map_err(|error| self.failed(error))?;
            let Some((number, mut node)) = self.take_ready(idle) else {
                break busy;
            };
            let processor = check_processor(node.cpu).map_err(|reason| self.failed(reason))?;
            self.released.extend(std::mem::take(&mut node.on_start));
            let action = match &node.task {
                Task::Single(action) => self.action(*action),
                Task::Collective(collective) => {
                    let collective = collective.clone();
                    self.take_part(number, &node, &collective)?;
                    self.under_way.insert(number, node);
                    continue;
                }
                Task::Nothing => Ok(None),
            };
            match action.map_err(|reason| self.failed(reason))? {
                Some(action) => {
                    self.under_way.insert(number, node);
                    return Ok(Step::Begin {
                        action,
                        request: RequestId(number),
                        processor: ProcessorId(processor),
                    });
                }
                // Nothing to do: done.
                None => {
                    self.released.extend(node.on_finish);
                    self.finished += 1;
                }
            }
        };
        if busy || self.ready.iter().any(|queue| !queue.is_empty()) {
            return Ok(Step::Wait(Waiting::Processor));
        }
        if let Some(waiting) = self.under_way.waiting() {
            return Ok(Step::Wait(waiting));
        }
        match self.finished == self.graph.operations() {
            true => Ok(Step::Finish),
            false => Err(self.failed(format!(
                "{} of {} operations wait for each other in a circle",
                self.graph.operations() - self.finished,
                self.graph.operations()
            ))),
        }
    }
}

impl RankProgram for ScheduledRank<'_> {
    fn next(&mut self, idle: Idle) -> Result<Step, ProgramError> {
        self.next_step(idle)
    }

    fn complete(&mut self, request: RequestId) {
        if !self.collectives.complete(request) {
            self.finish(request.0);
        }
    }

    fn origin(&self, request: RequestId) -> Origin {
        Origin {
            collective: self.collectives.kind(request),
            class: None,
        }
    }

    fn save(&self) -> Vec<u8> {
        let ready = self.ready.iter();
        let saved = Saved {
            waiting: self.waiting.clone(),
            released: self.released.clone(),
            ready: ready
                .map(|queue| queue.iter().map(|(number, _)| *number).collect())
                .collect(),
            under_way: self.under_way.operations.keys().copied().collect(),
            collectives: self.collectives.clone(),
            finished: self.finished,
        };
        postcard::to_stdvec(&saved).expect("memory to write to")
    }

    /// Reads again what can begin and what is under way.
    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let saved: Saved = postcard::from_bytes(saved).map_err(|error| self.failed(error))?;
        self.ready.clear();
        self.under_way = UnderWay::default();
        self.waiting = saved.waiting;
        self.released = saved.released;
        self.collectives = saved.collectives;
        self.finished = saved.finished;
        for number in saved.ready.into_iter().flatten() {
            let node = self
                .graph
                .node(number)
                .map_err(|error| self.failed(error))?;
            self.put_ready(number, node);
        }
        for number in saved.under_way {
            let node = self
                .graph
                .node(number)
                .map_err(|error| self.failed(error))?;
            self.under_way.insert(number, node);
        }
        Ok(())
    }
}
