//! Ranks: what their programs begin, how their processors spend their time, and
//! the protocol that messages follow.
//!
//! The times follow LogGPS (Ino, Fujimoto, Hagihara 2001): overheads `o` and `O`
//! keep a processor busy, `g` keeps messages of an interface apart, messages up
//! to `S` bytes are sent at once (eager), longer ones ask first (rendezvous).
//! Latency, bandwidth and contention are the network's.

use std::collections::VecDeque;

use odonata_load::{
    Action, CollectiveKind, Idle, ProcessorId, ProgramError, RankProgram, RequestId, Step, Waiting,
};
use odonata_network::Routing;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::calendar::{Event, Kind};
use super::checkpoint::sorted_map;
use super::endpoint::{Draft, timer_payload};
use super::matching::{Arrived, Envelope, Matching, Posted, Wanted};
use super::packets::{Contents, MessageKind, NIL};
use super::partition::{KeyMap, NEVER, Partition};
use crate::config::{JobLoad, JobPlan, Protocol};
use crate::outcome::{RankActivity, RankInterval, RankTimes, Traffic};

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    BeforeStart,
    Running,
    Finished,
}

/// A message that a rank is about to send, or that waits for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Sending {
    to: u32,
    bytes: u64,
    envelope: Envelope,
    request: RequestId,
    /// When the rank wanted to send it.
    created: u64,
}

/// What keeps a processor busy, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Task {
    Compute(RequestId),
    /// The message goes to the interface.
    HandOver(Sending),
    /// The message to write into another rank's memory.
    HandOverPut {
        to: u32,
        bytes: u64,
        request: RequestId,
        created: u64,
    },
    /// The question for another rank's memory.
    HandOverGet {
        from: u32,
        bytes: u64,
        request: RequestId,
    },
    /// The message is there.
    TakeIn(RequestId),
    /// The grant goes to the sender.
    Grant {
        handle: u32,
        to: u32,
    },
}

impl Task {
    fn activity(&self) -> RankActivity {
        match self {
            Self::Compute(_) => RankActivity::Compute,
            Self::HandOver(_) | Self::HandOverPut { .. } | Self::HandOverGet { .. } => {
                RankActivity::Send
            }
            Self::TakeIn(_) | Self::Grant { .. } => RankActivity::Receive,
        }
    }
}

/// A processor of a rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Processor {
    task: Option<Task>,
    /// When the task is done.
    until: u64,
    /// What it does next, with how long that takes.
    queue: VecDeque<(u64, Task)>,
}

/// Whatever changes of a rank of a closed-loop job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RankRecord {
    stage: Stage,
    processors: Vec<Processor>,
    /// What its program waits for, if no processor is busy.
    waiting: Waiting,
    collective: Option<CollectiveKind>,
    iterations: u32,
    /// What it has been doing, and since when.
    activity: RankActivity,
    since: u64,
    times: RankTimes,
    /// Latest message of this interval that concerned it: sender, and when that
    /// wanted to send it.
    cause: Option<(u32, u64)>,
    intervals: Vec<RankInterval>,
    /// Messages and bytes sent, by receiver.
    #[serde(with = "sorted_map")]
    traffic: KeyMap<Traffic>,
    matching: Matching,
    /// Receives of messages that have been granted, by the handle and rank of the sender.
    #[serde(with = "sorted_map")]
    granted: KeyMap<Posted>,
    /// Long messages that wait for their receiver, by handle.
    #[serde(with = "sorted_map")]
    held: KeyMap<Sending>,
    next_handle: u32,
    /// Requests of messages whose last bytes are about to leave the node, in
    /// that order.
    leaving: VecDeque<RequestId>,
}

/// A rank of a closed-loop job.
pub(super) struct RankState<'a> {
    pub job: u32,
    pub rank: u32,
    pub interface: u32,
    /// While it runs.
    program: Option<Box<dyn RankProgram + 'a>>,
    record: RankRecord,
}

impl<'a> RankState<'a> {
    pub fn new(job: u32, rank: u32, interface: u32) -> Self {
        Self {
            job,
            rank,
            interface,
            program: None,
            record: RankRecord {
                stage: Stage::BeforeStart,
                processors: Vec::new(),
                waiting: Waiting::Processor,
                collective: None,
                iterations: 0,
                activity: RankActivity::Compute,
                since: 0,
                times: RankTimes::default(),
                cause: None,
                intervals: Vec::new(),
                traffic: KeyMap::default(),
                matching: Matching::default(),
                granted: KeyMap::default(),
                held: KeyMap::default(),
                next_handle: 0,
                leaving: VecDeque::new(),
            },
        }
    }

    /// Begins its program.
    fn start(&mut self, plan: &'a JobPlan) -> Result<(), ProgramError> {
        let JobLoad::Closed(program) = &plan.load else {
            unreachable!("a rank of an open-loop job");
        };
        self.program = Some(program.start(RankId(self.rank))?);
        Ok(())
    }

    /// Its state, and that of its program while that runs.
    pub fn save(&self) -> (RankRecord, Option<Vec<u8>>) {
        let program = self.program.as_ref().map(|program| program.save());
        (self.record.clone(), program)
    }

    /// Takes over a saved state; who it is and where stays.
    pub fn restore(
        &mut self,
        plan: &'a JobPlan,
        (record, program): (RankRecord, Option<Vec<u8>>),
    ) -> Result<(), ProgramError> {
        self.record = record;
        if let Some(saved) = program {
            self.start(plan)?;
            let program = self.program.as_mut();
            program.map_or(Ok(()), |program| program.restore(&saved))?;
        }
        Ok(())
    }

    /// Whether it has nothing more to do.
    pub fn is_finished(&self) -> bool {
        self.record.stage == Stage::Finished
    }

    /// What an unfinished rank waits for, in words.
    pub fn waits_for(&self) -> String {
        if let Some(receive) = self.record.matching.waits_for() {
            return receive;
        }
        match self.record.held.values().min() {
            Some(held) => format!("rank {} to receive with tag {}", held.to, held.envelope.tag),
            None => "its own messages to be sent".to_owned(),
        }
    }

    /// Bytes of messages that wait for their receivers.
    pub fn held_bytes(&self) -> u64 {
        self.record.held.values().map(|held| held.bytes).sum()
    }

    /// Messages that have come, or asked to come, and were not received.
    pub fn unreceived(&self) -> u64 {
        self.record.matching.unreceived()
    }

    /// How it has spent its time; counted up to `now` if it still runs.
    pub fn times(&self, now: u64) -> RankTimes {
        let mut times = self.record.times;
        if self.record.stage == Stage::Running {
            let duration = now.saturating_sub(self.record.since);
            times.add(self.record.activity, self.record.collective, duration);
        }
        times
    }

    /// What it did when, in order, if that was to be recorded.
    pub fn take_intervals(&mut self) -> Vec<RankInterval> {
        std::mem::take(&mut self.record.intervals)
    }

    /// What it sent to whom, by receiver, if that was to be recorded.
    pub fn traffic(&self) -> impl Iterator<Item = (RankId, Traffic)> {
        let traffic = self.record.traffic.iter();
        traffic.map(|(&to, &traffic)| (RankId(to as u32), traffic))
    }

    /// Notes what it is doing from `now` on.
    fn turn_to(&mut self, now: u64, activity: RankActivity, recorded: bool) {
        if activity == self.record.activity {
            return;
        }
        self.end_interval(now, recorded);
        self.record.activity = activity;
    }

    /// Ends what it has been doing, which goes into the books and, if `recorded`,
    /// into its list of intervals.
    fn end_interval(&mut self, now: u64, recorded: bool) {
        let record = &mut self.record;
        if recorded && now > record.since {
            let waited = matches!(
                record.activity,
                RankActivity::WaitToSend | RankActivity::WaitToReceive
            );
            let cause = record.cause.filter(|_| waited);
            record.intervals.push(RankInterval {
                job: self.job,
                rank: RankId(self.rank),
                begin: Picoseconds(record.since),
                end: Picoseconds(now),
                activity: record.activity,
                collective: record.collective,
                cause: cause.map(|(rank, time)| (RankId(rank), Picoseconds(time))),
            });
        }
        self.record.times = self.times(now);
        self.record.since = now;
        // What ends a wait happens during it.
        self.record.cause = None;
    }

    /// What it is doing now.
    fn current_activity(&self) -> RankActivity {
        let mut tasks = self.record.processors.iter();
        match tasks.find_map(|processor| processor.task) {
            Some(task) => task.activity(),
            None => match self.record.waiting {
                Waiting::Send => RankActivity::WaitToSend,
                Waiting::Receive | Waiting::Processor => RankActivity::WaitToReceive,
            },
        }
    }

    fn complete(&mut self, request: RequestId) {
        // After the end of its program only what nobody waited for is left.
        if let Some(program) = &mut self.program {
            program.complete(request);
        }
    }
}

/// Key of a message that has been granted: its handle and its sender.
fn granted_key(handle: u32, sender: u32) -> u64 {
    u64::from(handle) << 32 | u64::from(sender)
}

impl<'a, R: Routing> Partition<'a, R> {
    fn plan(&self, local_rank: u32) -> &'a JobPlan {
        &self.shared.jobs[self.ranks[local_rank as usize].job as usize]
    }

    fn protocol(&self, local_rank: u32) -> &'a Protocol {
        &self.plan(local_rank).protocol
    }

    /// A message is complete at its receiver.
    pub(super) fn receive_message(&mut self, contents: &Contents, created: u64, now: u64) {
        self.stimuli -= 1;
        let rank = self
            .shared
            .rank(u32::from(contents.job), contents.destination_rank);
        let local = self.local_rank[rank as usize];
        match contents.kind {
            MessageKind::Eager | MessageKind::Request => {
                self.message_comes(local, contents, created, now)
            }
            MessageKind::Granted => {
                let record = &mut self.ranks[local as usize].record;
                let key = granted_key(contents.handle, contents.source_rank);
                let posted = record.granted.remove(&key);
                let posted = posted.expect("a message that was granted");
                record.cause = Some((contents.source_rank, created));
                self.take_in(local, posted, contents.message_bytes, now);
            }
            MessageKind::Grant => {
                let record = &mut self.ranks[local as usize].record;
                let held = record.held.remove(&u64::from(contents.handle));
                let held = held.expect("a grant answers a request");
                record.cause = Some((contents.source_rank, created));
                let message = Outgoing::of(&held, MessageKind::Granted, contents.handle);
                self.send(local, message, now);
            }
            MessageKind::Put => {
                let protocol = self.protocol(local);
                let acknowledgement = Outgoing {
                    request: NIL,
                    created: now,
                    ..Outgoing::control(
                        MessageKind::Acknowledge,
                        contents.source_rank,
                        protocol.control,
                        contents.handle,
                    )
                };
                self.send(local, acknowledgement, now);
            }
            MessageKind::Ask => {
                let bytes = contents.asked_bytes();
                let job = u32::from(contents.job);
                self.count_created(job, Bytes(bytes), now);
                self.count_traffic(local, contents.source_rank, bytes);
                let answer = Outgoing {
                    bytes,
                    created: now,
                    ..Outgoing::control(
                        MessageKind::Answer,
                        contents.source_rank,
                        Bytes(bytes),
                        contents.handle,
                    )
                };
                self.send(local, answer, now);
            }
            MessageKind::Acknowledge | MessageKind::Answer => {
                let state = &mut self.ranks[local as usize];
                state.record.cause = Some((contents.source_rank, created));
                state.complete(RequestId(contents.handle));
            }
        }
        self.advance(local, now);
    }

    /// A message within a node is delivered: its sender is done, too.
    pub(super) fn receive_local_message(&mut self, contents: &Contents, created: u64, now: u64) {
        let job = u32::from(contents.job);
        let local_rank = |rank| self.local_rank[self.shared.rank(job, rank) as usize];
        let sender = local_rank(contents.source_rank);
        let receiver = local_rank(contents.destination_rank);
        if sender == NIL {
            return;
        }
        let request = RequestId(contents.handle);
        let done = match contents.kind {
            MessageKind::Answer => {
                self.stimuli -= 1;
                receiver
            }
            MessageKind::Put => {
                self.stimuli -= 1;
                sender
            }
            _ => {
                self.receive_message(contents, created, now);
                sender
            }
        };
        self.ranks[done as usize].complete(request);
        self.advance(done, now);
    }

    /// An eager message or a request has come.
    fn message_comes(&mut self, local_rank: u32, contents: &Contents, created: u64, now: u64) {
        let envelope = Envelope {
            context: contents.context,
            source: contents.source_rank,
            tag: contents.tag,
        };
        let what = match contents.kind {
            MessageKind::Request => Arrived::Request {
                handle: contents.handle,
            },
            _ => Arrived::Message {
                bytes: contents.message_bytes,
                created,
            },
        };
        let mut matched = std::mem::take(&mut self.matched);
        let matching = &mut self.ranks[local_rank as usize].record.matching;
        matching.arrive(
            envelope,
            contents.sequence,
            what,
            |envelope, what, posted| {
                matched.push((envelope, what, posted));
            },
        );
        for (envelope, what, posted) in matched.drain(..) {
            self.matched_with(local_rank, envelope, what, posted, now);
        }
        self.matched = matched;
    }

    /// A message, or the request of one, has met its receive.
    fn matched_with(
        &mut self,
        local_rank: u32,
        envelope: Envelope,
        what: Arrived,
        posted: Posted,
        now: u64,
    ) {
        match what {
            Arrived::Message { bytes, created } => {
                let record = &mut self.ranks[local_rank as usize].record;
                record.cause = Some((envelope.source, created));
                self.take_in(local_rank, posted, bytes, now);
            }
            Arrived::Request { handle } => {
                let record = &mut self.ranks[local_rank as usize].record;
                let key = granted_key(handle, envelope.source);
                record.granted.insert(key, posted);
                let task = Task::Grant {
                    handle,
                    to: envelope.source,
                };
                let overhead = self.protocol(local_rank).receive_overhead;
                self.occupy(local_rank, posted.processor, overhead, task, now);
            }
        }
    }

    /// A rank takes in a message that has arrived and been matched: its receive
    /// completes after the overhead.
    fn take_in(&mut self, local_rank: u32, posted: Posted, bytes: u64, now: u64) {
        let overhead = self.protocol(local_rank).receive_overhead_of(Bytes(bytes));
        let task = Task::TakeIn(posted.request);
        self.occupy(local_rank, posted.processor, overhead, task, now);
    }

    /// Keeps a processor busy for a while, after what it is busy with. What takes
    /// no time is done at once.
    fn occupy(
        &mut self,
        local_rank: u32,
        processor: u8,
        duration: Picoseconds,
        task: Task,
        now: u64,
    ) {
        if duration == Picoseconds::ZERO {
            self.conclude(local_rank, task, now);
            return;
        }
        let processors = &mut self.ranks[local_rank as usize].record.processors;
        // Messages may come for ranks whose program has not begun or is over.
        let index = usize::from(processor);
        if processors.len() <= index {
            processors.resize_with(index + 1, Processor::default);
        }
        let busy = processors[index].task.is_some();
        processors[index].queue.push_back((duration.0, task));
        if !busy {
            self.take_up(local_rank, index, now);
        }
    }

    /// An idle processor begins with what is next in its queue.
    fn take_up(&mut self, local_rank: u32, processor: usize, now: u64) {
        let processor = &mut self.ranks[local_rank as usize].record.processors[processor];
        let Some((duration, task)) = processor.queue.pop_front() else {
            return;
        };
        let until = now.saturating_add(duration).min(NEVER - 1);
        processor.task = Some(task);
        processor.until = until;
        self.stimuli += 1;
        let at = &self.interfaces[self.ranks[local_rank as usize].interface as usize];
        let router = at.router - self.base_router;
        let payload = timer_payload(local_rank);
        let event = Event::new(until, router, Kind::Node, at.terminal, payload);
        self.schedule(event);
        // Every task has an interval of its own.
        let recorded = self.shared.measurement.rank_intervals;
        let state = &mut self.ranks[local_rank as usize];
        if state.record.stage == Stage::Running {
            state.end_interval(now, recorded);
            state.record.activity = state.current_activity();
        }
    }

    fn note_activity(&mut self, local_rank: u32, now: u64) {
        let recorded = self.shared.measurement.rank_intervals;
        let state = &mut self.ranks[local_rank as usize];
        if state.record.stage == Stage::Running {
            state.turn_to(now, state.current_activity(), recorded);
        }
    }

    /// Does what a task was for.
    fn conclude(&mut self, local_rank: u32, task: Task, now: u64) {
        match task {
            Task::Compute(request) | Task::TakeIn(request) => {
                self.ranks[local_rank as usize].complete(request);
            }
            Task::HandOver(sending) => self.begin_send(local_rank, sending, now),
            Task::HandOverPut {
                to,
                bytes,
                request,
                created,
            } => {
                let job = self.ranks[local_rank as usize].job;
                self.count_created(job, Bytes(bytes), created);
                self.count_traffic(local_rank, to, bytes);
                let message = Outgoing {
                    created,
                    ..Outgoing::control(MessageKind::Put, to, Bytes(bytes), request.0)
                };
                self.send(local_rank, message, now);
            }
            Task::HandOverGet {
                from,
                bytes,
                request,
            } => self.ask(local_rank, from, bytes, request, now),
            Task::Grant { handle, to } => {
                let control = self.protocol(local_rank).control;
                let grant = Outgoing {
                    created: now,
                    ..Outgoing::control(MessageKind::Grant, to, control, handle)
                };
                self.send(local_rank, grant, now);
            }
        }
    }

    /// Asks for a part of another rank's memory.
    fn ask(&mut self, local_rank: u32, from: u32, bytes: u64, request: RequestId, now: u64) {
        let state = &self.ranks[local_rank as usize];
        let (job, me) = (state.job, state.rank);
        let node = self.interfaces[state.interface as usize].node;
        if self.shared.node_of(job, from).0 != node {
            let control = self.protocol(local_rank).control;
            let question = Outgoing {
                created: now,
                tag: bytes as u32,
                sequence: (bytes >> 32) as u32,
                ..Outgoing::control(MessageKind::Ask, from, control, request.0)
            };
            self.send(local_rank, question, now);
            return;
        }
        // Within a node the answer comes without being asked for.
        let other = self.local_rank[self.shared.rank(job, from) as usize];
        self.count_created(job, Bytes(bytes), now);
        self.count_traffic(other, me, bytes);
        let answer = Outgoing {
            created: now,
            ..Outgoing::control(MessageKind::Answer, me, Bytes(bytes), request.0)
        };
        self.send(other, answer, now);
    }

    /// A processor of a rank, or the rank's start, has come to its time.
    pub(super) fn rank_timer(&mut self, local_rank: u32, now: u64) {
        self.stimuli -= 1;
        if self.ranks[local_rank as usize].record.stage == Stage::BeforeStart
            && now == self.plan(local_rank).start.0
        {
            self.begin_program(local_rank, now);
        }
        for index in 0..self.ranks[local_rank as usize].record.processors.len() {
            let processor = &mut self.ranks[local_rank as usize].record.processors[index];
            if processor.until == now
                && let Some(task) = processor.task.take()
            {
                self.conclude(local_rank, task, now);
                self.take_up(local_rank, index, now);
            }
        }
        self.advance(local_rank, now);
    }

    fn begin_program(&mut self, local_rank: u32, now: u64) {
        let plan = self.plan(local_rank);
        let state = &mut self.ranks[local_rank as usize];
        state.record.stage = Stage::Running;
        state.record.since = now;
        if let JobLoad::Closed(program) = &plan.load {
            let processors = usize::from(program.processors().max(1));
            let present = &mut state.record.processors;
            present.resize_with(processors.max(present.len()), Processor::default);
        }
        if let Err(error) = state.start(plan) {
            self.fail(local_rank, error, now);
        }
    }

    /// The tail of a rank's message has left the node.
    pub(super) fn message_sent(&mut self, local_rank: u32, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        let request = state.record.leaving.pop_front();
        state.complete(request.expect("a message that leaves"));
        self.advance(local_rank, now);
    }

    /// The tail of a rank's message is about to leave the node, after those
    /// before it.
    pub(super) fn message_leaves(&mut self, local_rank: u32, request: u32) {
        let record = &mut self.ranks[local_rank as usize].record;
        record.leaving.push_back(RequestId(request));
    }

    /// Hands a message to the rank's network interface.
    fn send(&mut self, local_rank: u32, what: Outgoing, now: u64) {
        self.stimuli += 1;
        let state = &self.ranks[local_rank as usize];
        let interface = state.interface as usize;
        let draft = Draft {
            job: state.job,
            rank: state.rank,
            local_rank,
            to: RankId(what.to),
            bytes: Bytes(what.bytes),
            context: what.context,
            tag: what.tag,
            sequence: what.sequence,
            created: what.created,
            kind: what.kind,
            handle: what.handle,
            request: what.request,
        };
        if self.create(interface, draft, now) {
            let interface = &mut self.interfaces[interface];
            self.waiting
                .push_back(&mut interface.outgoing, self.outgoing);
        }
    }

    /// Starts a send of the program, at once or by a request.
    fn begin_send(&mut self, local_rank: u32, sending: Sending, now: u64) {
        let protocol = self.protocol(local_rank);
        let state = &mut self.ranks[local_rank as usize];
        let (job, node) = (state.job, self.interfaces[state.interface as usize].node);
        let waits = protocol.eager_limit.is_some_and(|limit| sending.bytes > limit.0)
            // Within a node there is nothing to wait for.
            && self.shared.node_of(job, sending.to).0 != node;
        let context = sending.envelope.context;
        let sequence = state.record.matching.number(context, sending.to);
        self.count_created(job, Bytes(sending.bytes), sending.created);
        self.count_traffic(local_rank, sending.to, sending.bytes);
        if !waits {
            let message = Outgoing {
                sequence,
                ..Outgoing::of(&sending, MessageKind::Eager, sending.request.0)
            };
            self.send(local_rank, message, now);
            return;
        }
        let record = &mut self.ranks[local_rank as usize].record;
        let handle = record.next_handle;
        record.next_handle = handle.wrapping_add(1);
        record.held.insert(u64::from(handle), sending);
        let request = Outgoing {
            bytes: protocol.control.0,
            created: now,
            request: NIL,
            sequence,
            ..Outgoing::of(&sending, MessageKind::Request, handle)
        };
        self.send(local_rank, request, now);
    }

    /// Counts a message of a rank for the matrix of who sends to whom.
    fn count_traffic(&mut self, local_rank: u32, to: u32, bytes: u64) {
        let state = &mut self.ranks[local_rank as usize];
        self.jobs[state.job as usize].message_bytes.record(bytes);
        if self.shared.measurement.traffic {
            let traffic = state.record.traffic.entry(u64::from(to)).or_default();
            traffic.messages += 1;
            traffic.bytes += bytes;
        }
    }

    /// Ends the run: the program of a rank cannot go on.
    fn fail(&mut self, local_rank: u32, error: ProgramError, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        state.program = None;
        let failure = (now, state.job, state.rank, error.0);
        if self.failure.as_ref().is_none_or(|first| failure < *first) {
            self.failure = Some(failure);
        }
    }

    /// Runs a rank's program until it has to wait.
    pub(super) fn advance(&mut self, local_rank: u32, now: u64) {
        let index = local_rank as usize;
        loop {
            let state = &mut self.ranks[index];
            let mut idle = Idle::NONE;
            for (number, processor) in state.record.processors.iter().enumerate() {
                if processor.task.is_none() {
                    idle = idle.and(ProcessorId(number as u8));
                }
            }
            let Some(program) = &mut state.program else {
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
                }) => self.begin(local_rank, action, request, processor.0, now),
                Ok(Step::Wait(waiting)) => {
                    state.record.waiting = waiting;
                    self.note_activity(local_rank, now);
                    return;
                }
                Ok(Step::Enter(kind)) => self.enter(local_rank, Some(kind), now),
                Ok(Step::Leave) => self.enter(local_rank, None, now),
                Ok(Step::EndIteration) => {
                    let ends = &mut self.jobs[state.job as usize].iteration_end;
                    if let Some(end) = ends.get_mut(state.record.iterations as usize) {
                        *end = (*end).max(now);
                    }
                    state.record.iterations += 1;
                }
                Ok(Step::Finish) => {
                    let recorded = self.shared.measurement.rank_intervals;
                    state.end_interval(now, recorded);
                    state.record.stage = Stage::Finished;
                    state.program = None;
                    let collector = &mut self.jobs[state.job as usize];
                    collector.last_finish = collector.last_finish.max(now);
                    self.unfinished -= 1;
                    return;
                }
                Err(error) => {
                    self.fail(local_rank, error, now);
                    return;
                }
            }
        }
    }

    /// A rank enters a collective, or leaves it.
    fn enter(&mut self, local_rank: u32, collective: Option<CollectiveKind>, now: u64) {
        let recorded = self.shared.measurement.rank_intervals;
        let state = &mut self.ranks[local_rank as usize];
        state.end_interval(now, recorded);
        state.record.collective = collective;
    }

    fn begin(
        &mut self,
        local_rank: u32,
        action: Action,
        request: RequestId,
        processor: u8,
        now: u64,
    ) {
        let protocol = self.protocol(local_rank);
        let state = &mut self.ranks[local_rank as usize];
        let (duration, task) = match action {
            Action::Compute(duration) => (duration, Task::Compute(request)),
            Action::Send {
                to,
                bytes,
                context,
                tag,
            } => {
                let envelope = Envelope {
                    context,
                    source: state.rank,
                    tag,
                };
                let sending = Sending {
                    to: to.0,
                    bytes: bytes.0,
                    envelope,
                    request,
                    created: now,
                };
                (protocol.send_overhead_of(bytes), Task::HandOver(sending))
            }
            Action::Put { to, bytes } => {
                let task = Task::HandOverPut {
                    to: to.0,
                    bytes: bytes.0,
                    request,
                    created: now,
                };
                (protocol.send_overhead_of(bytes), task)
            }
            Action::Get { from, bytes } => {
                let task = Task::HandOverGet {
                    from: from.0,
                    bytes: bytes.0,
                    request,
                };
                (protocol.send_overhead, task)
            }
            Action::Receive { from, context, tag } => {
                let wanted = Wanted {
                    context,
                    source: from.map(|from| from.0),
                    tag,
                };
                let posted = Posted { request, processor };
                let found = state.record.matching.post(wanted, posted);
                if let Some((envelope, what)) = found {
                    self.matched_with(local_rank, envelope, what, posted, now);
                }
                return;
            }
        };
        self.occupy(local_rank, processor, duration, task, now);
    }
}

/// What a rank hands to its interface.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    kind: MessageKind,
    to: u32,
    bytes: u64,
    context: odonata_load::Context,
    tag: u32,
    sequence: u32,
    handle: u32,
    /// Completed when the tail has left the node; or [`NIL`].
    request: u32,
    created: u64,
}

impl Outgoing {
    /// A message of the program's, or its request.
    fn of(sending: &Sending, kind: MessageKind, handle: u32) -> Self {
        Self {
            kind,
            to: sending.to,
            bytes: sending.bytes,
            context: sending.envelope.context,
            tag: sending.envelope.tag,
            sequence: 0,
            handle,
            request: sending.request.0,
            created: sending.created,
        }
    }

    /// A message that matches nothing and that nobody waits to have sent.
    fn control(kind: MessageKind, to: u32, bytes: Bytes, handle: u32) -> Self {
        Self {
            kind,
            to,
            bytes: bytes.0,
            context: odonata_load::Context::default(),
            tag: 0,
            sequence: 0,
            handle,
            request: NIL,
            created: 0,
        }
    }
}
