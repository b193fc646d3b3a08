//! Ranks: what their programs begin, and how their processors spend their time.

use std::collections::{BTreeMap, VecDeque};

use odonata_load::{
    Action, CollectiveKind, Idle, ProcessorId, ProgramError, RankProgram, RequestId, Step, Waiting,
};
use odonata_mpi::{Begun, Matching, MessageKind, Posted, Sending, Task};
use odonata_run::{Protocol, RankActivity, RankTimes, SimError, Traffic};
use odonata_units::Picoseconds;

use super::driver::{Driver, Event};
use super::protocol::Message;

/// A processor of a rank.
#[derive(Debug, Default)]
struct Processor {
    task: Option<Task>,
    queue: VecDeque<(Picoseconds, Task)>,
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    BeforeStart,
    Running,
    Finished,
}

/// A rank of a closed-loop job.
pub(super) struct Rank<'a> {
    pub job: u32,
    pub rank: u32,
    pub stage: Stage,
    program: Option<Box<dyn RankProgram + 'a>>,
    processors: Vec<Processor>,
    waiting: Waiting,
    collective: Option<CollectiveKind>,
    iterations: u32,
    activity: RankActivity,
    since: u64,
    times: RankTimes,
    pub matching: Matching,
    /// Receives of messages that have been granted, by sender and its handle.
    pub granted: BTreeMap<(u32, u32), Posted>,
    /// Long messages that wait for their receiver, by handle.
    pub held: BTreeMap<u32, Sending>,
    /// Those that were granted and sent and whose receivers have yet to say that they
    /// have them, by handle.
    pub unfinished: BTreeMap<u32, Sending>,
    pub next_handle: u32,
    /// What it sent, by receiver, if that is recorded.
    pub traffic: BTreeMap<u32, Traffic>,
}

impl Rank<'_> {
    pub fn new(job: u32, rank: u32, processors: u8) -> Self {
        let processors = 0..processors.max(1);
        Self {
            job,
            rank,
            stage: Stage::BeforeStart,
            program: None,
            processors: processors.map(|_| Processor::default()).collect(),
            waiting: Waiting::Processor,
            collective: None,
            iterations: 0,
            activity: RankActivity::Compute,
            since: 0,
            times: RankTimes::default(),
            matching: Matching::default(),
            granted: BTreeMap::new(),
            held: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            next_handle: 0,
            traffic: BTreeMap::new(),
        }
    }

    /// Bytes of messages that wait for their receivers.
    pub fn held_bytes(&self) -> u64 {
        self.held.values().map(|held| held.bytes).sum()
    }

    /// How it has spent its time; counted up to `now` if it still runs.
    pub fn times(&self, now: u64) -> RankTimes {
        let mut times = self.times;
        if self.stage == Stage::Running {
            times.add(self.activity, self.collective, now - self.since);
        }
        times
    }

    /// What an unfinished rank waits for, in words.
    fn waits_for(&self) -> String {
        if let Some(receive) = self.matching.waits_for() {
            return receive;
        }
        if let Some(held) = self.held.values().next() {
            return format!("rank {} to receive with tag {}", held.to, held.envelope.tag);
        }
        match self.unfinished.values().next() {
            Some(sent) => format!("rank {} to say that it has its message", sent.to),
            None => "its own messages to be sent".to_owned(),
        }
    }

    /// Notes what it does from `now` on.
    fn note(&mut self, now: u64) {
        if self.stage != Stage::Running {
            return;
        }
        self.times = self.times(now);
        self.since = now;
        let mut tasks = self.processors.iter();
        let task = tasks.find_map(|processor| processor.task);
        self.activity = Task::activity_of_rank(task, self.waiting);
    }
}

impl Driver<'_> {
    pub(super) fn protocol(&self, rank: u32) -> &Protocol {
        &self.jobs[self.ranks[rank as usize].job as usize].protocol
    }

    pub(super) fn complete(&mut self, rank: u32, request: RequestId) {
        // After the end of its program only what nobody waited for is left.
        if let Some(program) = &mut self.ranks[rank as usize].program {
            program.complete(request);
        }
    }

    pub(super) fn count_traffic(&mut self, rank: u32, to: u32, bytes: u64) {
        let own = &mut self.ranks[rank as usize];
        self.counts[own.job as usize].message_bytes.record(bytes);
        if self.measurement.traffic {
            let traffic = own.traffic.entry(to).or_default();
            traffic.messages += 1;
            traffic.bytes += bytes;
        }
    }

    pub(super) fn begin_program(&mut self, rank: u32) {
        match self.program(rank) {
            Some(Ok(program)) => {
                let now = self.now;
                let own = &mut self.ranks[rank as usize];
                own.program = Some(program);
                own.stage = Stage::Running;
                own.since = now;
                self.advance(rank);
            }
            Some(Err(error)) => self.fail(rank, error),
            None => {}
        }
    }

    fn fail(&mut self, rank: u32, error: ProgramError) {
        let own = &mut self.ranks[rank as usize];
        own.program = None;
        let failure = SimError::Program {
            job: self.jobs[own.job as usize].name.clone(),
            rank: own.rank,
            at: Picoseconds(self.now),
            reason: error.0,
        };
        self.failure.get_or_insert(failure);
    }

    /// Runs a rank's program until it has to wait.
    pub(super) fn advance(&mut self, rank: u32) {
        let now = self.now;
        loop {
            let own = &mut self.ranks[rank as usize];
            let mut idle = Idle::NONE;
            for (number, processor) in own.processors.iter().enumerate() {
                if processor.task.is_none() {
                    idle = idle.and(ProcessorId(number as u8));
                }
            }
            let Some(program) = &mut own.program else {
                return;
            };
            if idle.is_empty() {
                return;
            }
            match program.next(idle) {
                Ok(Step::Begin {
                    action,
                    request,
                    processor,
                }) => self.begin(rank, action, request, processor.0),
                Ok(Step::Wait(waiting)) => {
                    own.waiting = waiting;
                    own.note(now);
                    return;
                }
                Ok(Step::Enter(kind)) => {
                    own.note(now);
                    own.collective = Some(kind);
                }
                Ok(Step::Leave) => {
                    own.note(now);
                    own.collective = None;
                }
                Ok(Step::EndIteration) => {
                    let ends = &mut self.counts[own.job as usize].iteration_end;
                    if let Some(end) = ends.get_mut(own.iterations as usize) {
                        *end = (*end).max(now);
                    }
                    own.iterations += 1;
                }
                Ok(Step::Finish) => {
                    own.note(now);
                    own.stage = Stage::Finished;
                    own.program = None;
                    let counts = &mut self.counts[own.job as usize];
                    counts.last_finish = now;
                    counts.to_do -= 1;
                    self.unfinished -= u64::from(counts.to_do == 0);
                    return;
                }
                Err(error) => {
                    self.fail(rank, error);
                    return;
                }
            }
        }
    }

    fn begin(&mut self, rank: u32, action: Action, request: RequestId, processor: u8) {
        let own = &self.ranks[rank as usize];
        let plan = &self.jobs[own.job as usize];
        match Begun::of(action, plan, own.rank, request, processor, self.now) {
            Begun::Busy(duration, task) => self.occupy(rank, processor, duration, task),
            Begun::Post(wanted, posted) => {
                let found = self.ranks[rank as usize].matching.post(wanted, posted);
                if let Some((envelope, what)) = found {
                    self.matched(rank, envelope.source, what, posted);
                }
            }
        }
    }

    /// Keeps a processor busy for a while, after what it is busy with. What takes no
    /// time is done at once.
    pub(super) fn occupy(&mut self, rank: u32, processor: u8, duration: Picoseconds, task: Task) {
        if duration == Picoseconds::ZERO {
            self.conclude(rank, task);
            return;
        }
        let own = &mut self.ranks[rank as usize].processors[usize::from(processor)];
        own.queue.push_back((duration, task));
        if own.task.is_none() {
            self.take_up(rank, processor);
        }
    }

    /// An idle processor begins with what is next in its queue.
    fn take_up(&mut self, rank: u32, processor: u8) {
        let now = self.now;
        let own = &mut self.ranks[rank as usize];
        let Some((duration, task)) = own.processors[usize::from(processor)].queue.pop_front()
        else {
            return;
        };
        own.processors[usize::from(processor)].task = Some(task);
        own.note(now);
        let end = now.saturating_add(duration.0).min(u64::MAX - 1);
        self.schedule(end, Event::Task { rank, processor });
    }

    /// A processor is done with its task.
    pub(super) fn task_done(&mut self, rank: u32, processor: u8) {
        let own = &mut self.ranks[rank as usize].processors[usize::from(processor)];
        if let Some(task) = own.task.take() {
            self.conclude(rank, task);
            self.take_up(rank, processor);
        }
        self.advance(rank);
    }

    /// Does what a task was for.
    fn conclude(&mut self, rank: u32, task: Task) {
        match task {
            Task::Compute(request) | Task::TakeIn(request) => self.complete(rank, request),
            Task::TakeInAndFinish {
                request,
                handle,
                to,
            } => {
                self.complete(rank, request);
                self.send_control(rank, MessageKind::Finished, to, handle);
            }
            Task::HandOver(sending) => self.begin_send(rank, sending),
            Task::HandOverPut {
                to,
                bytes,
                request,
                created,
            } => self.put(rank, to, bytes, request, created),
            Task::HandOverGet {
                from,
                bytes,
                request,
            } => self.ask(rank, from, bytes, request),
            Task::Grant { handle, to } => self.send_control(rank, MessageKind::Grant, to, handle),
        }
    }

    /// Sends a message of the protocol about the message `handle` of rank `to`.
    fn send_control(&mut self, rank: u32, kind: MessageKind, to: u32, handle: u32) {
        let control = self.protocol(rank).control.0;
        let own = &self.ranks[rank as usize];
        self.send(Message {
            source_rank: own.rank,
            destination_rank: to,
            handle,
            ..Message::new(Some(kind), own.job, control, self.now)
        });
    }

    /// Whether ranks wait for what will never come.
    pub(super) fn blocked(&self) -> Result<(), SimError> {
        if self.measurement.duration.is_some() {
            return Ok(());
        }
        let waits = |rank: &&Rank<'_>| rank.stage != Stage::Finished;
        let Some(first) = self.ranks.iter().find(waits) else {
            return Ok(());
        };
        let blocked = self
            .ranks
            .iter()
            .filter(waits)
            .filter(|rank| rank.job == first.job);
        Err(SimError::Unmatched {
            job: self.jobs[first.job as usize].name.clone(),
            blocked: blocked.count() as u64,
            rank: first.rank,
            waits_for: first.waits_for(),
        })
    }
}
