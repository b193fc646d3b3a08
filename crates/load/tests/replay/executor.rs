//! Carries out programs without a network: everything arrives at once, so that
//! only order and matching decide.

use std::collections::{BTreeMap, VecDeque};

use odonata_load::{
    Action, CollectiveKind, Context, Idle, ProcessorId, Program, ProgramError, RankProgram,
    RequestId, Step,
};
use odonata_units::{Bytes, Picoseconds, RankId};

/// What a run did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub messages: u64,
    pub bytes: u64,
    pub transfers: u64,
    /// Time that each rank computed.
    pub compute: Vec<Picoseconds>,
    /// Collectives entered, by kind, all ranks together.
    pub collectives: BTreeMap<CollectiveKind, u64>,
    /// What each rank began, but for computing; empty where only counted.
    pub actions: Vec<Vec<Action>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    Program(ProgramError),
    /// Some ranks wait for what never comes.
    Stuck(Vec<RankId>),
    /// Messages that nobody has received.
    Left(usize),
    /// More steps than a test waits for.
    TooLong,
}

/// Most steps of all ranks together.
const MOST_STEPS: u64 = 20_000_000;

#[derive(Default)]
struct Mailbox {
    arrived: VecDeque<(RankId, Context, u32)>,
    posted: VecDeque<(Option<RankId>, Context, Option<u32>, RequestId)>,
}

/// Runs a program to its end.
pub fn run(program: &dyn Program) -> Result<Done, Failed> {
    run_in_pieces(program, u64::MAX)
}

/// Runs a program to its end. After so many steps of a rank each, its state is saved,
/// and the rank made anew and given it.
pub fn run_in_pieces(program: &dyn Program, steps: u64) -> Result<Done, Failed> {
    execute(program, steps, true)
}

/// The same; what ranks begin is kept on request only.
pub fn execute(program: &dyn Program, steps: u64, keep: bool) -> Result<Done, Failed> {
    let ranks = program.ranks();
    let mut programs: Vec<Box<dyn RankProgram + '_>> = Vec::new();
    for rank in 0..ranks {
        programs.push(program.start(RankId(rank)).map_err(Failed::Program)?);
    }
    let idle = (0..program.processors()).fold(Idle::NONE, |idle, processor| {
        idle.and(ProcessorId(processor))
    });
    let mut mailboxes: Vec<Mailbox> = (0..ranks).map(|_| Mailbox::default()).collect();
    let mut done = Done {
        compute: vec![Picoseconds::ZERO; ranks as usize],
        actions: vec![Vec::new(); ranks as usize],
        ..Done::default()
    };
    let mut finished = vec![false; ranks as usize];
    // Things that were completed and whose ranks do not know yet.
    let mut complete: VecDeque<(RankId, RequestId)> = VecDeque::new();
    let mut ready: VecDeque<u32> = (0..ranks).collect();
    let mut steps_left = MOST_STEPS;
    let mut taken = vec![0u64; ranks as usize];
    while let Some(rank) = ready.pop_front() {
        loop {
            steps_left = match steps_left.checked_sub(1) {
                Some(left) => left,
                None => return Err(Failed::TooLong),
            };
            taken[rank as usize] += 1;
            if taken[rank as usize].is_multiple_of(steps) {
                let saved = programs[rank as usize].save();
                let mut again = program.start(RankId(rank)).map_err(Failed::Program)?;
                again.restore(&saved).map_err(Failed::Program)?;
                programs[rank as usize] = again;
            }
            let step = programs[rank as usize]
                .next(idle)
                .map_err(Failed::Program)?;
            let (action, request) = match step {
                Step::Begin {
                    action, request, ..
                } => (action, request),
                Step::Wait(_) => break,
                Step::Finish => {
                    finished[rank as usize] = true;
                    break;
                }
                Step::Enter(kind) => {
                    *done.collectives.entry(kind).or_default() += 1;
                    continue;
                }
                Step::Leave | Step::EndIteration => continue,
            };
            if keep && !matches!(action, Action::Compute(_)) {
                done.actions[rank as usize].push(action);
            }
            match action {
                Action::Compute(duration) => {
                    done.compute[rank as usize] += duration;
                    complete.push_back((RankId(rank), request));
                }
                Action::Send {
                    to,
                    bytes,
                    context,
                    tag,
                } => {
                    assert!(bytes > Bytes::ZERO);
                    done.messages += 1;
                    done.bytes += bytes.0;
                    complete.push_back((RankId(rank), request));
                    let mailbox = &mut mailboxes[to.index()];
                    let taker = mailbox.posted.iter().position(|(from, of, with, _)| {
                        *of == context
                            && from.is_none_or(|from| from == RankId(rank))
                            && with.is_none_or(|with| with == tag)
                    });
                    match taker.and_then(|taker| mailbox.posted.remove(taker)) {
                        Some((.., receive)) => complete.push_back((to, receive)),
                        None => mailbox.arrived.push_back((RankId(rank), context, tag)),
                    }
                }
                Action::Receive { from, context, tag } => {
                    let mailbox = &mut mailboxes[rank as usize];
                    let message = mailbox.arrived.iter().position(|(by, of, with)| {
                        *of == context
                            && from.is_none_or(|from| from == *by)
                            && tag.is_none_or(|tag| tag == *with)
                    });
                    match message.and_then(|message| mailbox.arrived.remove(message)) {
                        Some(_) => complete.push_back((RankId(rank), request)),
                        None => mailbox.posted.push_back((from, context, tag, request)),
                    }
                }
                Action::Put { .. } | Action::Get { .. } => {
                    done.transfers += 1;
                    complete.push_back((RankId(rank), request));
                }
            }
            while let Some((of, request)) = complete.pop_front() {
                programs[of.index()].complete(request);
                if of.0 != rank {
                    ready.push_back(of.0);
                }
            }
        }
    }
    let stuck: Vec<RankId> = (0..ranks)
        .filter(|&rank| !finished[rank as usize])
        .map(RankId)
        .collect();
    if !stuck.is_empty() {
        return Err(Failed::Stuck(stuck));
    }
    match mailboxes.iter().map(|mailbox| mailbox.arrived.len()).sum() {
        0 => Ok(done),
        left => Err(Failed::Left(left)),
    }
}
