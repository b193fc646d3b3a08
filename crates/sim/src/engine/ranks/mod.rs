//! Ranks: what their programs begin, how their processors spend their time, and
//! the protocol that messages follow.
//!
//! The times follow LogGPS (Ino, Fujimoto, Hagihara 2001): overheads `o` and `O`
//! keep a processor busy, `g` keeps messages of an interface apart, messages up
//! to `S` bytes are sent at once (eager), longer ones ask first (rendezvous).
//! Latency, bandwidth and contention are the network's.

mod protocol;
mod tasks;

use std::collections::VecDeque;

use odonata_load::{
    Action, CollectiveKind, Idle, ProcessorId, ProgramError, RankProgram, RequestId, Step, Waiting,
};
use odonata_mpi::matching::{Matching, Posted, UNMATCHED};
use odonata_mpi::{Begun, Sending, Task};
use odonata_run::encoding::sorted_map;
use odonata_run::memory::make_room;
use odonata_run::{
    JobLoad, JobPlan, KeyMap, Protocol, RankActivity, RankInterval, RankTimes, Traffic,
};
use odonata_units::{Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::partition::Partition;
use super::probe::Probe;
use protocol::HANDED_OVER;
pub(super) use protocol::Outgoing;
pub(super) use tasks::Processor;

/// Who asks for memory.
const INTERVALS: &str = "recorded intervals of ranks";

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    BeforeStart,
    Running,
    Finished,
}

/// Whatever changes of a rank of a closed-loop job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RankRecord {
    pub stage: Stage,
    pub processors: Vec<Processor>,
    /// What its program waits for, if no processor is busy.
    pub waiting: Waiting,
    pub collective: Option<CollectiveKind>,
    pub iterations: u32,
    /// What it has been doing, and since when.
    pub activity: RankActivity,
    pub since: u64,
    pub times: RankTimes,
    /// Latest message of this interval that concerned it: sender, and when that
    /// wanted to send it.
    pub cause: Option<(u32, u64)>,
    pub intervals: Vec<RankInterval>,
    /// Messages and bytes sent, by receiver.
    #[serde(with = "sorted_map")]
    pub traffic: KeyMap<Traffic>,
    pub matching: Matching,
    /// Receives of messages that have been granted, by the handle and rank of the sender.
    #[serde(with = "sorted_map")]
    pub granted: KeyMap<Posted>,
    /// Long messages that wait for their receiver, by handle.
    #[serde(with = "sorted_map")]
    pub held: KeyMap<Sending>,
    /// Those that were granted and sent and whose receivers have yet to say that they
    /// have them, by handle.
    #[serde(with = "sorted_map")]
    pub unfinished: KeyMap<Sending>,
    pub next_handle: u32,
    /// Messages that it has handed over, with when the interface has them; in that order.
    pub delayed: VecDeque<(u64, Outgoing)>,
    /// Requests of messages whose last bytes are about to leave the node, in
    /// that order.
    pub leaving: VecDeque<RequestId>,
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
                unfinished: KeyMap::default(),
                next_handle: 0,
                delayed: VecDeque::new(),
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
        if let Some(held) = self.record.held.values().min() {
            return format!("rank {} to receive with tag {}", held.to, held.envelope.tag);
        }
        match self.record.unfinished.values().min() {
            Some(sent) => format!("rank {} to say that it has its message", sent.to),
            None => "its own messages to be sent".to_owned(),
        }
    }

    /// Bytes of messages that wait for their receivers, or are on their way to the
    /// interface.
    pub fn held_bytes(&self) -> u64 {
        let held = self.record.held.values().map(|held| held.bytes);
        let delayed = self.record.delayed.iter().map(|(_, message)| message);
        let delayed = delayed.filter(|message| !message.kind.is_control());
        held.chain(delayed.map(|message| message.bytes)).sum()
    }

    /// Messages that have come, or asked to come, and were not received.
    pub fn unreceived(&self) -> u64 {
        self.record.matching.unreceived()
    }

    /// What it holds of the memory that grows with a run: for what, and about how many bytes.
    pub fn holders(&self) -> [(&'static str, usize); 3] {
        let record = &self.record;
        let handed_over = record.delayed.capacity() * size_of::<(u64, Outgoing)>()
            + record.held.capacity() * size_of::<(u64, Sending)>();
        let intervals = record.intervals.capacity() * size_of::<RankInterval>();
        [
            (UNMATCHED, record.matching.bytes()),
            (HANDED_OVER, handed_over),
            (INTERVALS, intervals),
        ]
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
            make_room(&mut record.intervals, INTERVALS);
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
        let task = tasks.find_map(|processor| processor.task);
        Task::activity_of_rank(task, self.record.waiting)
    }

    fn complete(&mut self, request: RequestId) {
        // After the end of its program only what nobody waited for is left.
        if let Some(program) = &mut self.program {
            program.complete(request);
        }
    }
}

impl<'a, P: Probe> Partition<'a, P> {
    fn plan(&self, local_rank: u32) -> &'a JobPlan {
        &self.shared.jobs[self.ranks[local_rank as usize].job as usize]
    }

    fn protocol(&self, local_rank: u32) -> &'a Protocol {
        &self.plan(local_rank).protocol
    }

    fn note_activity(&mut self, local_rank: u32, now: u64) {
        let recorded = self.shared.measurement.rank_intervals;
        let state = &mut self.ranks[local_rank as usize];
        if state.record.stage == Stage::Running {
            state.turn_to(now, state.current_activity(), recorded);
        }
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
        let plan = self.plan(local_rank);
        let state = &mut self.ranks[local_rank as usize];
        match Begun::of(action, plan, state.rank, request, processor, now) {
            Begun::Busy(duration, task) => self.occupy(local_rank, processor, duration, task, now),
            Begun::Post(wanted, posted) => {
                if let Some((envelope, what)) = state.record.matching.post(wanted, posted) {
                    self.matched_with(local_rank, envelope.source, what, posted, now);
                }
            }
        }
    }
}
