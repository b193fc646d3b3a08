//! What keeps the processors of ranks busy: their programs, and one task after another.

use odonata_load::{Action, CollectiveKind, Idle, Origin, ProcessorId, RequestId, Step};
use odonata_run::memory::make_room_in;
use odonata_run::{JobLoad, JobPlan, Noise};
use odonata_units::{Bytes, Picoseconds};

use crate::actions::{Begun, Task};
use crate::kind::MessageKind;
use crate::message::Outgoing;
use crate::noise::NoiseRecord;
use crate::protocol;
use crate::rank::{Processor, Rank, Stage};
use crate::transport::Transport;

/// The last time at which something may happen.
pub(crate) const LATEST: u64 = u64::MAX - 1;

/// A processor of a rank, the rank's start, or a message that it has handed over has come
/// to its time.
pub fn timer<'a, T: Transport<'a>>(engine: &mut T, rank: u32, now: u64) {
    protocol::send_delayed(engine, rank, now);
    protocol::reply(engine, rank, now);
    let own = engine.rank(rank);
    if own.record.stage == Stage::BeforeStart {
        let job = own.job;
        if now == engine.plan(job).start.0 {
            begin_program(engine, rank, now);
        }
    }
    for index in 0..engine.rank(rank).record.processors.len() {
        let processor = &mut engine.rank(rank).record.processors[index];
        if processor.until == now
            && let Some(task) = processor.task.take()
        {
            conclude(engine, rank, task, now);
            take_up(engine, rank, index, now);
        }
    }
    advance(engine, rank, now);
}

fn begin_program<'a, T: Transport<'a>>(engine: &mut T, rank: u32, now: u64) {
    let job = engine.rank(rank).job;
    let plan = engine.plan(job);
    let own = engine.rank(rank);
    own.record.stage = Stage::Running;
    own.record.since = now;
    if let JobLoad::Closed(program) = &plan.load {
        let processors = usize::from(program.processors().max(1));
        let present = &mut own.record.processors;
        present.resize_with(processors.max(present.len()), Processor::default);
        own.record.shares = program.has_parallelism().then(Box::default);
        own.record.noise = plan.protocol.noise.map(|_| Box::default());
    }
    if let Err(error) = own.start(plan) {
        engine.fail(rank, error, now);
    }
}

/// Runs a rank's program until it has to wait.
pub fn advance<'a, T: Transport<'a>>(engine: &mut T, rank: u32, now: u64) {
    loop {
        let own = engine.rank(rank);
        let mut idle = Idle::NONE;
        for (number, processor) in own.record.processors.iter().enumerate() {
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
            }) => begin(engine, rank, action, request, processor.0, now),
            Ok(Step::Wait(waiting)) => {
                own.record.waiting = waiting;
                let recorded = engine.measurement().rank_intervals;
                let own = engine.rank(rank);
                if own.record.stage == Stage::Running {
                    own.turn_to(now, own.current_activity(), recorded);
                    share(own, now, recorded);
                }
                return;
            }
            Ok(Step::Enter(kind)) => enter(engine, rank, Some(kind), now),
            Ok(Step::Leave) => enter(engine, rank, None, now),
            Ok(Step::EndIteration) => {
                let (job, iteration) = (own.job, own.record.iterations);
                own.record.iterations += 1;
                engine.iteration_ended(job, iteration, now);
            }
            Ok(Step::Finish) => {
                let recorded = engine.measurement().rank_intervals;
                let own = engine.rank(rank);
                own.end_interval(now, recorded);
                own.record.stage = Stage::Finished;
                own.drop_program();
                let job = own.job;
                engine.finished(job, now);
                return;
            }
            Err(error) => {
                engine.fail(rank, error, now);
                return;
            }
        }
    }
}

/// A rank enters a collective, or leaves it.
fn enter<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    collective: Option<CollectiveKind>,
    now: u64,
) {
    let recorded = engine.measurement().rank_intervals;
    let own = engine.rank(rank);
    own.end_interval(now, recorded);
    own.record.collective = collective;
    let delayed = noisy(engine, rank).filter(|_| collective.is_some());
    let Some((noise, state, of)) = delayed else {
        return;
    };
    // Late is the rank, not one of its processors.
    let late = Picoseconds(state.entry(noise, of));
    for processor in 0..engine.rank(rank).record.processors.len() as u8 {
        occupy(engine, rank, processor, late, Task::EnterLate, now);
    }
}

fn begin<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    action: Action,
    request: RequestId,
    processor: u8,
    now: u64,
) {
    let own = engine.rank(rank);
    let (job, source) = (own.job, own.rank);
    if let (Some(_), Action::Send { bytes, .. }) = (&own.record.shares, action) {
        count_share(own, bytes, request);
    }
    let plan = engine.plan(job);
    let class = match plan.classes.are_one() {
        true => plan.classes.usual,
        false => class_of(engine.rank(rank), plan, action, request),
    };
    match Begun::of(action, plan, source, (request, class), processor, now) {
        Begun::Busy(duration, task) => {
            let redirected = match action {
                Action::Send { to, .. } => redirected(engine, rank, to.0),
                _ => Picoseconds::ZERO,
            };
            let duration = duration.saturating_add(redirected);
            occupy(engine, rank, processor, duration, task, now);
        }
        Begun::Post(wanted, posted) => {
            let matching = &mut engine.rank(rank).record.matching;
            if let Some((envelope, what)) = matching.post(wanted, posted) {
                protocol::matched_with(engine, rank, envelope.source, what, posted, now);
            }
        }
    }
}

/// The class of traffic of a message.
#[cold]
fn class_of(own: &Rank<'_>, plan: &JobPlan, action: Action, request: RequestId) -> u8 {
    let (Action::Send { bytes, .. } | Action::Put { bytes, .. } | Action::Get { bytes, .. }) =
        action
    else {
        return plan.classes.usual;
    };
    let program = own.program.as_ref();
    let origin = program.map_or_else(Origin::default, |program| program.origin(request));
    plan.classes.of(bytes, origin)
}

/// Counts a message for its parallelism.
fn count_share(own: &mut Rank<'_>, bytes: Bytes, request: RequestId) {
    let program = own.program.as_ref();
    let parallelism = program.and_then(|program| program.parallelism(Some(request)));
    if let (Some(shares), Some(parallelism)) = (&mut own.record.shares, parallelism) {
        let share = &mut shares.all[parallelism as usize];
        share.messages += 1;
        share.bytes += bytes.0;
    }
}

/// How long a message to the rank `to` keeps its sender busy because the last went elsewhere.
fn redirected<'a, T: Transport<'a>>(engine: &mut T, rank: u32, to: u32) -> Picoseconds {
    let own = engine.rank(rank);
    let (job, from) = (own.job, own.rank);
    let plan = engine.plan(job);
    let overhead = plan.protocol.redirect_overhead;
    if overhead == Picoseconds::ZERO || plan.on_one_node(from, to) {
        return Picoseconds::ZERO;
    }
    let before = engine.rank(rank).record.last_to.replace(to);
    if before == Some(to) {
        Picoseconds::ZERO
    } else {
        overhead
    }
}

/// Keeps a processor busy for a while, after what it is busy with. What takes no time is
/// done at once.
pub(crate) fn occupy<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    processor: u8,
    duration: Picoseconds,
    task: Task,
    now: u64,
) {
    let own = engine.rank(rank);
    if duration == Picoseconds::ZERO && own.record.noise.is_none() {
        conclude(engine, rank, task, now);
        return;
    }
    let processors = &mut engine.rank(rank).record.processors;
    // Messages may come for ranks whose program has not begun or is over.
    let index = usize::from(processor);
    if processors.len() <= index {
        processors.resize_with(index + 1, Processor::default);
    }
    if processors[index].task.is_none() {
        begin_task(engine, rank, index, (duration.0, task), now);
    } else if duration == Picoseconds::ZERO {
        conclude(engine, rank, task, now);
    } else {
        let queue = &mut processors[index].queue;
        make_room_in(queue, "what ranks have to do");
        queue.push_back((duration.0, task));
    }
}

/// An idle processor begins with what is next in its queue.
fn take_up<'a, T: Transport<'a>>(engine: &mut T, rank: u32, processor: usize, now: u64) {
    let queue = &mut engine.rank(rank).record.processors[processor].queue;
    if let Some(next) = queue.pop_front() {
        begin_task(engine, rank, processor, next, now);
    }
}

/// An idle processor is busy from now on, unless that takes no time.
fn begin_task<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    processor: usize,
    (duration, task): (u64, Task),
    now: u64,
) {
    let until = match noisy(engine, rank) {
        None => now.saturating_add(duration),
        Some((noise, state, of)) => state.until(noise, of, processor, now, duration),
    };
    if until == now {
        conclude(engine, rank, task, now);
        return;
    }
    let until = until.min(LATEST);
    let busy = &mut engine.rank(rank).record.processors[processor];
    busy.task = Some(task);
    busy.until = until;
    engine.wake(rank, until);
    // Every task has an interval of its own.
    let recorded = engine.measurement().rank_intervals;
    let own = engine.rank(rank);
    if own.record.stage == Stage::Running {
        own.end_interval(now, recorded);
        own.record.activity = own.current_activity();
        share(own, now, recorded);
    }
}

/// The noise of a rank that has some: of its job, what changes of it, and the numbers of job and rank.
fn noisy<'r, 'a: 'r, T: Transport<'a>>(
    engine: &'r mut T,
    rank: u32,
) -> Option<(&'a Noise, &'r mut NoiseRecord, (u32, u32))> {
    let own = engine.rank(rank);
    own.record.noise.as_ref()?;
    let of = (own.job, own.rank);
    let noise = engine.plan(of.0).protocol.noise.as_ref()?;
    let state = engine.rank(rank).record.noise.as_mut()?;
    Some((noise, state, of))
}

/// Notes which parallelism a rank communicates for from now on, if its program tells.
fn share(own: &mut Rank<'_>, now: u64, recorded: bool) {
    if own.record.shares.is_none() {
        return;
    }
    let parallelism = own.parallelism();
    if let Some(shares) = &own.record.shares
        && shares.now != parallelism
    {
        own.end_interval(now, recorded);
    }
    if let Some(shares) = &mut own.record.shares {
        shares.now = parallelism;
    }
}

/// Does what a task was for.
fn conclude<'a, T: Transport<'a>>(engine: &mut T, rank: u32, task: Task, now: u64) {
    match task {
        Task::EnterLate => {}
        Task::Compute(request) | Task::TakeIn(request) => engine.rank(rank).complete(request),
        Task::TakeInAndFinish {
            request,
            handle,
            to,
            class,
        } => {
            engine.rank(rank).complete(request);
            let of = (handle, class);
            protocol::send_control(engine, rank, MessageKind::Finished, to, of, now);
        }
        Task::HandOver(sending) => protocol::begin_send(engine, rank, sending, now),
        Task::HandOverPut {
            to,
            class,
            bytes,
            request,
            created,
        } => {
            protocol::count(engine, rank, to, (bytes, class), created);
            let (kind, bytes) = ((MessageKind::Put, class), Bytes(bytes));
            let message = Outgoing::unmatched(kind, to, bytes, request.0, created);
            protocol::send(engine, rank, message, now);
        }
        Task::HandOverGet {
            from,
            class,
            bytes,
            request,
        } => protocol::ask(engine, rank, (from, class), bytes, request, now),
        Task::Grant { handle, to, class } => {
            protocol::send_control(engine, rank, MessageKind::Grant, to, (handle, class), now);
        }
    }
}
