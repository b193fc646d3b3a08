//! Runs programs without a network: in any order, and with the least buffering
//! that messages can have.

use std::collections::{BTreeMap, HashMap, VecDeque};

use odonata_load::{Action, Context, Idle, ProcessorId, Program, RankProgram, RequestId, Step};
use odonata_units::random::Stream;
use odonata_units::{Bytes, Picoseconds, RankId};

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sending {
    /// At any time: the network buffers without bound.
    Buffered,
    /// When the receiver has posted the receive: nothing is buffered at all.
    Rendezvous,
}

/// What a job did.
#[derive(Debug, Default)]
pub struct Ran {
    pub bytes: u64,
    pub messages: u64,
    /// Bytes by sender and receiver.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// Time that each rank computed.
    pub computed: Vec<Picoseconds>,
    /// Iterations that each rank ended.
    pub iterations: Vec<u32>,
}

/// Whose request.
type Request = (RankId, RequestId);

/// Messages and receives that match each other, in order.
#[derive(Default)]
struct Channel {
    sent: VecDeque<Request>,
    posted: VecDeque<Request>,
}

/// What can happen next.
struct Next {
    /// Ranks that may begin something.
    runnable: Vec<RankId>,
    /// Requests that may become complete.
    ready: Vec<Request>,
}

/// Runs all ranks in random order; fails where no rank can go on.
pub fn execute(program: &dyn Program, sending: Sending, order: &mut Stream) -> Result<Ran, String> {
    let count = program.ranks();
    let ranks: Result<Vec<_>, _> = (0..count).map(|rank| program.start(RankId(rank))).collect();
    let mut ranks: Vec<Box<dyn RankProgram + '_>> = ranks.map_err(|error| error.to_string())?;
    let mut computing = vec![None; count as usize];
    let mut finished = vec![false; count as usize];
    let mut channels: HashMap<(RankId, RankId, Context, u32), Channel> = HashMap::new();
    let mut next = Next {
        runnable: (0..count).map(RankId).collect(),
        ready: Vec::new(),
    };
    let mut ran = Ran {
        computed: vec![Picoseconds::ZERO; count as usize],
        iterations: vec![0; count as usize],
        ..Ran::default()
    };
    while !(next.runnable.is_empty() && next.ready.is_empty()) {
        let choices = next.runnable.len() + next.ready.len();
        let drawn = order.below(choices as u32) as usize;
        if let Some(place) = drawn.checked_sub(next.runnable.len()) {
            let (rank, request) = next.ready.swap_remove(place);
            ranks[rank.index()].complete(request);
            if computing[rank.index()] == Some(request) {
                computing[rank.index()] = None;
            }
            if computing[rank.index()].is_none() && !next.runnable.contains(&rank) {
                next.runnable.push(rank);
            }
            continue;
        }
        let rank = next.runnable[drawn];
        let idle = Idle::NONE.and(ProcessorId(0));
        let step = ranks[rank.index()]
            .next(idle)
            .map_err(|error| error.to_string())?;
        match step {
            Step::Begin {
                action, request, ..
            } => {
                if matches!(action, Action::Compute(_)) {
                    computing[rank.index()] = Some(request);
                    next.runnable.swap_remove(drawn);
                }
                let me = (rank, request);
                begin(
                    action,
                    me,
                    count,
                    sending,
                    &mut channels,
                    &mut next,
                    &mut ran,
                )?;
            }
            Step::Wait(_) => {
                next.runnable.swap_remove(drawn);
            }
            Step::Enter(_) | Step::Leave => {}
            Step::EndIteration => ran.iterations[rank.index()] += 1,
            Step::Finish => {
                finished[rank.index()] = true;
                next.runnable.swap_remove(drawn);
            }
        }
    }
    let waiting = finished.iter().filter(|finished| !**finished).count();
    if waiting > 0 {
        return Err(format!("{waiting} ranks of {count} wait for ever"));
    }
    for (key, channel) in &channels {
        if !(channel.sent.is_empty() && channel.posted.is_empty()) {
            let (sent, posted) = (channel.sent.len(), channel.posted.len());
            return Err(format!("{key:?}: {sent} not received, {posted} not sent"));
        }
    }
    if ran
        .iterations
        .iter()
        .any(|&ended| ended != program.iterations())
    {
        return Err("a rank lost an iteration".to_owned());
    }
    if let Some(totals) = program.totals() {
        let (sent, announced) = ((ran.bytes, ran.messages), (totals.bytes.0, totals.messages));
        if sent != announced {
            return Err(format!(
                "sent {sent:?} bytes and messages, announced {announced:?}"
            ));
        }
    }
    Ok(ran)
}

/// Begins an action of `me`.
fn begin(
    action: Action,
    me: Request,
    count: u32,
    sending: Sending,
    channels: &mut HashMap<(RankId, RankId, Context, u32), Channel>,
    next: &mut Next,
    ran: &mut Ran,
) -> Result<(), String> {
    let rank = me.0;
    match action {
        Action::Compute(time) => {
            ran.computed[rank.index()] += time;
            next.ready.push(me);
        }
        Action::Send {
            to,
            bytes,
            context,
            tag,
        } => {
            if to.0 >= count || to == rank || bytes == Bytes::ZERO {
                return Err(format!("rank {rank} sends {bytes} to {to}"));
            }
            ran.bytes += bytes.0;
            ran.messages += 1;
            *ran.pairs.entry((rank.0, to.0)).or_default() += bytes.0;
            let channel = channels.entry((rank, to, context, tag)).or_default();
            if sending == Sending::Buffered {
                next.ready.push(me);
            }
            match channel.posted.pop_front() {
                Some(receive) => {
                    next.ready.push(receive);
                    if sending == Sending::Rendezvous {
                        next.ready.push(me);
                    }
                }
                None => channel.sent.push_back(me),
            }
        }
        Action::Receive {
            from: Some(from),
            context,
            tag: Some(tag),
        } => {
            if from.0 >= count || from == rank {
                return Err(format!("rank {rank} receives from {from}"));
            }
            let channel = channels.entry((from, rank, context, tag)).or_default();
            match channel.sent.pop_front() {
                Some(send) => {
                    next.ready.push(me);
                    if sending == Sending::Rendezvous {
                        next.ready.push(send);
                    }
                }
                None => channel.posted.push_back(me),
            }
        }
        other => return Err(format!("rank {rank} does {other:?}")),
    }
    Ok(())
}
