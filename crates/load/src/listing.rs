//! What every rank of a program does, written down step by step, so that others can carry it
//! out: with MPI on a real machine.

use std::collections::BTreeSet;

use odonata_units::{Bytes, Picoseconds, RankId};
use serde::Serialize;

use crate::communication::WalkError;
use crate::program::{Action, Context, Idle, ProcessorId, Program, RequestId, Step};

/// A step of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedStep {
    /// Computes for a while, in picoseconds.
    Compute(Picoseconds),
    /// Begins to send: receiving rank, bytes, channel, and its name for a wait.
    Send(RankId, Bytes, u32, u32),
    /// Posts a receive: sending rank (`None`: any), channel, and its name for a wait.
    Receive(Option<RankId>, u32, u32),
    /// Until all of these are complete.
    Wait(Vec<u32>),
    /// An iteration ends.
    End,
}

/// What all ranks do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Steps of each rank. Shape: ranks.
    pub ranks: Vec<Vec<ListedStep>>,
    /// Number of channels: messages match receives of their own channel only. One for every
    /// tag in every context.
    pub channels: u32,
    /// The largest message.
    pub largest: Bytes,
}

/// The first `iterations` iterations of every rank of `program`; all of it if it has fewer.
///
/// Where a rank waits, what it began is completed in its order until the rank goes on, and the
/// wait lists that: what it waits for, of programs that do not choose by what arrives first.
///
/// # Errors
/// If it takes more than `limit` steps, if a program cannot be walked, or does what is not listed:
/// several processors, one-sided messages, receives of any tag.
pub fn listing(program: &dyn Program, iterations: u32, limit: u64) -> Result<Listing, WalkError> {
    if program.processors() > 1 {
        return Err(WalkError::NotListed("several processors of a rank"));
    }
    let mut left = limit;
    let mut ranks = vec![];
    for rank in (0..program.ranks()).map(RankId) {
        let steps = list(program, rank, iterations, left).map_err(|e| e.of_limit(limit))?;
        left -= steps.len() as u64;
        ranks.push(steps);
    }
    let used: BTreeSet<(Context, u32)> = ranks.iter().flatten().filter_map(matched).collect();
    let used: Vec<(Context, u32)> = used.into_iter().collect();
    let channel = |step: &Unnumbered| {
        matched(step).map_or(0, |of| used.partition_point(|one| *one < of) as u32)
    };
    let mut largest = Bytes::ZERO;
    let ranks = ranks.iter().map(|steps| {
        let step = |step: &Unnumbered| match *step {
            Unnumbered::Send(to, bytes, _, _, request) => {
                largest = largest.max(bytes);
                ListedStep::Send(to, bytes, channel(step), request.0)
            }
            Unnumbered::Receive(from, _, _, request) => {
                ListedStep::Receive(from, channel(step), request.0)
            }
            Unnumbered::Other(ref step) => step.clone(),
        };
        steps.iter().map(step).collect()
    });
    let ranks = ranks.collect();
    Ok(Listing {
        ranks,
        channels: used.len() as u32,
        largest,
    })
}

/// A step whose channel has no number yet.
enum Unnumbered {
    Send(RankId, Bytes, Context, u32, RequestId),
    Receive(Option<RankId>, Context, u32, RequestId),
    Other(ListedStep),
}

/// Where a message matches.
fn matched(step: &Unnumbered) -> Option<(Context, u32)> {
    match *step {
        Unnumbered::Send(_, _, context, tag, _) | Unnumbered::Receive(_, context, tag, _) => {
            Some((context, tag))
        }
        Unnumbered::Other(_) => None,
    }
}

/// Steps of one rank.
fn list(
    program: &dyn Program,
    rank: RankId,
    iterations: u32,
    limit: u64,
) -> Result<Vec<Unnumbered>, WalkError> {
    let idle = Idle::NONE.and(ProcessorId(0));
    let mut running = program.start(rank)?;
    let mut steps = vec![];
    let mut outstanding: std::collections::VecDeque<RequestId> = [].into();
    // What the rank has waited for since it last went on.
    let mut waited: Vec<u32> = vec![];
    let mut ended = 0;
    loop {
        if steps.len() as u64 >= limit {
            return Err(WalkError::TooLong { limit });
        }
        let step = running.next(idle)?;
        if !matches!(step, Step::Wait(_)) && !waited.is_empty() {
            steps.push(Unnumbered::Other(ListedStep::Wait(std::mem::take(
                &mut waited,
            ))));
        }
        match step {
            Step::Begin {
                action, request, ..
            } => match action {
                Action::Compute(time) => {
                    steps.push(Unnumbered::Other(ListedStep::Compute(time)));
                    running.complete(request);
                }
                Action::Send {
                    to,
                    bytes,
                    context,
                    tag,
                } => {
                    steps.push(Unnumbered::Send(to, bytes, context, tag, request));
                    outstanding.push_back(request);
                }
                Action::Receive { from, context, tag } => {
                    let tag = tag.ok_or(WalkError::NotListed("receives of any tag"))?;
                    steps.push(Unnumbered::Receive(from, context, tag, request));
                    outstanding.push_back(request);
                }
                Action::Put { .. } | Action::Get { .. } => {
                    return Err(WalkError::NotListed("one-sided messages"));
                }
            },
            Step::Wait(_) => {
                let Some(request) = outstanding.pop_front() else {
                    return Err(WalkError::Stuck { rank });
                };
                running.complete(request);
                waited.push(request.0);
            }
            Step::Enter(_) | Step::Leave => {}
            Step::EndIteration => {
                steps.push(Unnumbered::Other(ListedStep::End));
                ended += 1;
                if ended >= iterations {
                    return Ok(steps);
                }
            }
            Step::Finish => return Ok(steps),
        }
    }
}

#[cfg(test)]
mod tests;
