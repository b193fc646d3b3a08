//! A rank of a schedule as a program.

use std::collections::{BTreeMap, VecDeque};

use odonata_traces::TraceError;
use odonata_traces::goal::{Action as Scheduled, Node, Operation, Tag};
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::{Graph, calculation, check_processor, receives};
use crate::program::{
    Action, Context, Idle, ProcessorId, ProgramError, RankProgram, RequestId, Step, Waiting,
};
use crate::replay::clock::Compute;

/// Where messages of schedules match.
const CONTEXT: Context = Context::ordered(0);

/// An operation that waits for nothing any more, or is under way.
struct Begun {
    operation: Operation,
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
    fn count(&mut self, operation: &Operation) -> Option<&mut usize> {
        match operation.action {
            Scheduled::Calculate { .. } => Some(&mut self.calculations),
            Scheduled::Receive { .. } => Some(&mut self.receives),
            Scheduled::Send { .. } => None,
        }
    }

    fn insert(&mut self, number: u32, node: Node) {
        if let Some(count) = self.count(&node.operation) {
            *count += 1;
        }
        let begun = Begun {
            operation: node.operation,
            on_finish: node.on_finish,
        };
        self.operations.insert(number, begun);
    }

    fn remove(&mut self, number: u32) -> Option<Begun> {
        let begun = self.operations.remove(&number)?;
        if let Some(count) = self.count(&begun.operation) {
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
    finished: u32,
}

/// State of a rank, for a checkpoint.
#[derive(Serialize, Deserialize)]
struct Saved {
    waiting: BTreeMap<u32, u32>,
    released: VecDeque<u32>,
    ready: Vec<Vec<u32>>,
    under_way: Vec<u32>,
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
            finished: 0,
        };
        for root in roots {
            let node = new.graph.node(root)?;
            new.put_ready(root, node);
        }
        Ok(new)
    }

    fn put_ready(&mut self, operation: u32, node: Node) {
        let cpu = usize::from(node.operation.cpu);
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

    fn action(&self, operation: &Operation) -> Result<Option<Action>, String> {
        let tag = |tag: Tag| Some(tag).filter(|&tag| tag != Tag::ANY).map(|tag| tag.0);
        Ok(Some(match operation.action {
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

    /// The next operation that can begin on a processor that is idle; receives keep
    /// none busy.
    fn take_ready(&mut self, idle: Idle) -> Option<(u32, Node)> {
        for (cpu, queue) in self.ready.iter_mut().enumerate() {
            let Some((_, node)) = queue.front() else {
                continue;
            };
            if receives(&node.operation) || idle.contains(ProcessorId(cpu as u8)) {
                return queue.pop_front();
            }
        }
        None
    }

    fn next_step(&mut self, idle: Idle) -> Result<Step, ProgramError> {
        loop {
            self.release().map_err(|error| self.failed(error))?;
            let Some((number, mut node)) = self.take_ready(idle) else {
                break;
            };
            let operation = node.operation;
            let processor = check_processor(&operation).map_err(|reason| self.failed(reason))?;
            self.released.extend(std::mem::take(&mut node.on_start));
            match self
                .action(&operation)
                .map_err(|reason| self.failed(reason))?
            {
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
        }
        if self.ready.iter().any(|queue| !queue.is_empty()) {
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
        if let Some(begun) = self.under_way.remove(request.0) {
            self.released.extend(begun.on_finish);
            self.finished += 1;
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
