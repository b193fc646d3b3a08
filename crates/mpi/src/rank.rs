//! The state of a rank, and what it tells about itself.

use std::collections::VecDeque;

use odonata_load::{CollectiveKind, Parallelism, ProgramError, RankProgram, RequestId, Waiting};
use odonata_run::encoding::sorted_map;
use odonata_run::memory::make_room;
use odonata_run::{
    JobLoad, JobPlan, KeyMap, RankActivity, RankInterval, RankShare, RankTimes, ServerUse, Share,
    SimError, Traffic,
};
use odonata_units::{Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::actions::{Sending, Task};
use crate::matching::{Matching, Posted, UNMATCHED};
use crate::message::{Outgoing, granted_key};
use crate::noise::NoiseRecord;
use crate::server::ServerRecord;

/// Who asks for memory.
pub(crate) const HANDED_OVER: &str = "messages that ranks have handed over";
const INTERVALS: &str = "recorded intervals of ranks";

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Its job has not started.
    BeforeStart,
    /// Its program runs.
    Running,
    /// Its program has ended.
    Finished,
}

/// A processor of a rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Processor {
    /// What keeps it busy.
    pub task: Option<Task>,
    /// When the task is done, in ps.
    pub until: u64,
    /// What it does next, with how long that takes in ps.
    pub queue: VecDeque<(u64, Task)>,
}

/// What a rank of a training step has done for each kind of parallelism.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shares {
    /// What it communicates for now; `None` while it computes.
    pub now: Option<Parallelism>,
    /// Index: [`Parallelism`].
    pub all: [Share; Parallelism::ALL.len()],
}

impl Shares {
    /// Ends what it has been doing for `duration_ps`.
    fn add(&mut self, duration_ps: u64) {
        if let Some(now) = self.now {
            self.all[now as usize].exposed_ps += duration_ps;
        }
    }
}

/// Whatever changes of a rank of a closed-loop job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankRecord {
    /// Where it is.
    pub stage: Stage,
    /// What keeps it busy. Shape: processors.
    pub processors: Vec<Processor>,
    /// What its program waits for, if no processor is busy.
    pub waiting: Waiting,
    /// The collective that it is in.
    pub collective: Option<CollectiveKind>,
    /// Iterations that it has ended.
    pub iterations: u32,
    /// What it has been doing, and since when.
    pub activity: RankActivity,
    /// Since when, in ps.
    pub since: u64,
    /// How it has spent its time until then.
    pub times: RankTimes,
    /// Latest message of this interval that concerned it: sender, and when that
    /// wanted to send it.
    pub cause: Option<(u32, u64)>,
    /// What it did when, if that is recorded.
    pub intervals: Vec<RankInterval>,
    /// Messages and bytes sent, by receiver.
    #[serde(with = "sorted_map")]
    pub traffic: KeyMap<Traffic>,
    /// Messages and receives that wait for each other.
    pub matching: Matching,
    /// Receives of messages that have been granted, by the handle and rank of the sender.
    #[serde(with = "sorted_map")]
    pub granted: KeyMap<Posted>,
    /// Long messages that wait for their receiver, by handle.
    #[serde(with = "sorted_map")]
    pub held: KeyMap<Sending>,
    /// Messages that were granted and sent and whose receivers have yet to say that they
    /// have them, by handle.
    #[serde(with = "sorted_map")]
    pub unfinished: KeyMap<Sending>,
    /// Number of its next long message.
    pub next_handle: u32,
    /// Rank that its last message to another node went to.
    pub last_to: Option<u32>,
    /// Messages that it has handed over, with when the interface has them; in that order.
    pub delayed: VecDeque<(u64, Outgoing)>,
    /// Requests of messages whose last bytes are about to leave the node, in that order, for
    /// engines whose events don't carry them.
    pub leaving: VecDeque<RequestId>,
    /// What it has done and has to do as a server of a file system.
    pub server: Option<Box<ServerRecord>>,
    /// What keeps it busy besides its program, if anything does.
    pub noise: Option<Box<NoiseRecord>>,
    /// What it has done for which parallelism, of programs that tell them apart.
    pub shares: Option<Box<Shares>>,
}

/// A rank of a closed-loop job.
pub struct Rank<'a> {
    /// Its job.
    pub job: u32,
    /// Which of the job's it is.
    pub rank: u32,
    /// The interface that it sends by, in the engine's numbers.
    pub interface: u32,
    /// While it runs.
    pub(crate) program: Option<Box<dyn RankProgram + 'a>>,
    /// What changes.
    pub record: RankRecord,
}

impl<'a> Rank<'a> {
    /// One whose job has not started.
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
                last_to: None,
                delayed: VecDeque::new(),
                leaving: VecDeque::new(),
                server: None,
                noise: None,
                shares: None,
            },
        }
    }

    /// Begins its program.
    pub(crate) fn start(&mut self, plan: &'a JobPlan) -> Result<(), ProgramError> {
        let JobLoad::Closed(program) = &plan.load else {
            unreachable!("a rank of an open-loop job");
        };
        self.program = Some(program.start(RankId(self.rank))?);
        Ok(())
    }

    pub(crate) fn drop_program(&mut self) {
        self.program = None;
    }

    /// Goes on as if so many more iterations lay behind it. Whether it can.
    pub fn skip(&mut self, iterations: u32) -> bool {
        let program = self.program.as_mut();
        let moved = program.is_some_and(|program| program.skip(iterations));
        if moved {
            self.record.iterations += iterations;
        }
        moved
    }

    /// Its state, and that of its program while that runs.
    pub fn save(&self) -> (RankRecord, Option<Vec<u8>>) {
        let program = self.program.as_ref().map(|program| program.save());
        (self.record.clone(), program)
    }

    /// Takes over a saved state; who it is and where stays.
    ///
    /// # Errors
    /// If its program does not take its saved state.
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

    /// Ends it where it is, at `now`: it does nothing more. `recorded`: whether it tells what it did
    /// when. Returns the bytes of messages that it still had to send.
    pub fn abort(&mut self, now: u64, recorded: bool) -> u64 {
        let unsent = self.held_bytes();
        if !self.is_finished() {
            self.end_interval(now.max(self.record.since), recorded);
        }
        self.drop_program();
        let record = &mut self.record;
        record.stage = Stage::Finished;
        record.processors.clear();
        record.matching = Matching::default();
        record.granted.clear();
        record.held.clear();
        record.unfinished.clear();
        record.delayed.clear();
        record.leaving.clear();
        // The medium is not the job's alone.
        if let Some(server) = &mut record.server {
            server.replies.clear();
        }
        unsent
    }

    /// Whether it has nothing more to do.
    pub fn is_finished(&self) -> bool {
        self.record.stage == Stage::Finished
    }

    /// What an unfinished rank waits for, in words.
    fn waits_for(&self) -> String {
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

    /// What it did as a server of a file system, if it had something to do.
    pub fn server_use(&self) -> Option<ServerUse> {
        let server = self.record.server.as_ref()?;
        let counts = server.counts;
        (counts.writes + counts.reads > 0).then_some(ServerUse {
            job: self.job,
            rank: RankId(self.rank),
            counts,
        })
    }

    /// What it did for each kind of parallelism, in order; counted up to `now` if it still runs.
    pub fn shares(&self, now: u64) -> impl Iterator<Item = RankShare> + use<> {
        let mut shares = self.record.shares.as_deref().cloned().unwrap_or_default();
        if self.record.stage == Stage::Running {
            shares.add(now.saturating_sub(self.record.since));
        }
        let (job, rank) = (self.job, RankId(self.rank));
        let all = Parallelism::ALL.iter().copied().zip(shares.all);
        all.filter(|(_, share)| *share != Share::default())
            .map(move |(parallelism, share)| RankShare {
                job,
                rank,
                parallelism,
                share,
            })
    }

    /// The parallelism that it communicates for from now on: that of its task or, without one, of
    /// what its program waits for.
    pub(crate) fn parallelism(&self) -> Option<Parallelism> {
        let mut tasks = self.record.processors.iter();
        let task = tasks.find_map(|processor| processor.task);
        let request = match task {
            None | Some(Task::EnterLate) => None,
            Some(task) => Some(match task {
                Task::EnterLate => return None,
                Task::Compute(request) | Task::TakeIn(request) => request,
                Task::TakeInAndFinish { request, .. }
                | Task::HandOverPut { request, .. }
                | Task::HandOverGet { request, .. } => request,
                Task::HandOver(sending) => sending.request,
                Task::Grant { handle, to, .. } => {
                    let granted = &self.record.granted;
                    granted.get(&granted_key(handle, to))?.request
                }
            }),
        };
        self.program.as_ref()?.parallelism(request)
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
    pub(crate) fn turn_to(&mut self, now: u64, activity: RankActivity, recorded: bool) {
        if activity == self.record.activity {
            return;
        }
        self.end_interval(now, recorded);
        self.record.activity = activity;
    }

    /// Ends what it has been doing, which goes into the books and, if `recorded`,
    /// into its list of intervals.
    pub(crate) fn end_interval(&mut self, now: u64, recorded: bool) {
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
                parallelism: record.shares.as_ref().and_then(|shares| shares.now),
                cause: cause.map(|(rank, time)| (RankId(rank), Picoseconds(time))),
            });
        }
        self.record.times = self.times(now);
        if let Some(shares) = &mut self.record.shares
            && self.record.stage == Stage::Running
        {
            shares.add(now.saturating_sub(self.record.since));
        }
        self.record.since = now;
        // What ends a wait happens during it.
        self.record.cause = None;
    }

    /// What it is doing now.
    pub(crate) fn current_activity(&self) -> RankActivity {
        let mut tasks = self.record.processors.iter();
        let task = tasks.find_map(|processor| processor.task);
        Task::activity_of_rank(task, self.record.waiting)
    }

    pub(crate) fn complete(&mut self, request: RequestId) {
        // After the end of its program only what nobody waited for is left.
        if let Some(program) = &mut self.program {
            program.complete(request);
        }
    }
}

/// An error if nothing is left to happen although `ranks` are not done: it names the first
/// of them.
///
/// # Errors
/// As said.
pub fn unmatched<'r, 'a: 'r>(
    jobs: &[JobPlan],
    ranks: impl Iterator<Item = &'r Rank<'a>> + Clone,
) -> Result<(), SimError> {
    let waiting = ranks.filter(|rank| !rank.is_finished());
    let Some(first) = waiting.clone().min_by_key(|rank| (rank.job, rank.rank)) else {
        return Ok(());
    };
    Err(SimError::Unmatched {
        job: jobs[first.job as usize].name.clone(),
        blocked: waiting.filter(|rank| rank.job == first.job).count() as u64,
        rank: first.rank,
        waits_for: first.waits_for(),
    })
}
