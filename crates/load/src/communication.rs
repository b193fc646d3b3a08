//! Who sends how much to whom, found without a network: by walking through what
//! every rank does as if each step took no time.

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, RankId};

use crate::matrix::{CommunicationMatrix, MatrixBuilder};
use crate::open_loop::OpenLoop;
use crate::pattern::{Pattern, Turn};
use crate::program::{Action, Idle, Origin, ProcessorId, Program, ProgramError, Repetition, Step};

/// Messages of an open-loop source that are drawn for each rank.
const DRAWN: u32 = 64;

/// Why a walk gives no matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A rank does more than the walk may take.
    #[error("walking through what all ranks do takes more than {limit} steps")]
    TooLong {
        /// Steps of all ranks together that were allowed.
        limit: u64,
    },
    /// A rank waits though all that it began is complete.
    #[error("rank {rank} waits for nothing that it began")]
    Stuck {
        /// The rank.
        rank: RankId,
    },
    /// Something that a listing does not hold.
    #[error("{0} cannot be listed")]
    NotListed(&'static str),
    /// More bytes than 64 bits count.
    #[error("the job sends more bytes than 64 bits count")]
    TooMuch,
    /// The program cannot be read.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// What ranks send to each other.
    pub matrix: CommunicationMatrix,
    /// Over how many iterations; `None`: over all that the program does.
    pub iterations: Option<u32>,
}

/// What the ranks of `program` send to each other, over as many whole iterations
/// as fit into about `limit` steps, the same for all ranks: at least one, or all
/// of a program whose number of iterations is not known beforehand. What is
/// written or read in another rank's memory counts for the rank that the bytes
/// leave.
///
/// Every action is complete as soon as it begins, so that this holds for
/// programs that do not choose by what arrives first.
///
/// # Errors
/// If even that takes more than `limit` steps, or a program cannot be walked.
pub fn communication(program: &dyn Program, limit: u64) -> Result<Walked, WalkError> {
    let ranks = program.ranks();
    let share = limit / u64::from(ranks).max(1);
    let mut list: Vec<(RankId, RankId, u64)> = Vec::new();
    // How many iterations there is time for, by what the first rank does in one.
    let iterations = match program.iterations() {
        0 => u32::MAX,
        _ if ranks == 0 => 1,
        all => {
            let steps = walk(program, RankId(0), 1, limit, &mut |_| {})?;
            u32::try_from(share / steps.max(1)).map_or(all, |fit| fit.clamp(1, all))
        }
    };
    let mut builder = MatrixBuilder::new();
    let mut left = limit;
    for rank in (0..ranks).map(RankId) {
        list.clear();
        // What goes to servers of a file system, or comes from them, is no matter of two ranks.
        let mut keep = |sent: Sent| {
            if sent.from.0.max(sent.to.0) < ranks {
                list.push((sent.from, sent.to, sent.bytes.0));
            }
        };
        let steps = walk(program, rank, iterations, left, &mut keep)
            .map_err(|error| error.of_limit(limit))?;
        left -= steps;
        list.sort_unstable_by_key(|send| (send.0, send.1));
        for same in list.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let bytes = same
                .iter()
                .try_fold(0u64, |sum, send| sum.checked_add(send.2))
                .ok_or(WalkError::TooMuch)?;
            let messages = same.len() as u64;
            builder.add(same[0].0, same[0].1, Bytes(bytes), Some(messages));
        }
    }
    let (matrix, _) = builder.build(ranks).ok_or(WalkError::TooMuch)?;
    Ok(Walked {
        matrix,
        iterations: (iterations != u32::MAX).then_some(iterations),
    })
}

/// What the ranks of an open-loop source send to each other, by drawing some
/// messages of each. `seed` chooses them.
pub fn offered_communication(source: &OpenLoop, ranks: u32, seed: u64) -> CommunicationMatrix {
    let key = StreamKey::new(seed, Purpose::Mapping);
    let mut builder = MatrixBuilder::new();
    for rank in (0..ranks).map(RankId) {
        // A draw of each partner where all of them get a message, or all in turn.
        let (draws, weight) = match &source.pattern {
            Pattern::Partners(partners) if partners.turn() == Turn::All => {
                (partners.at_once(rank), DRAWN)
            }
            Pattern::Partners(partners) if partners.turn() == Turn::Next => {
                let count = partners.of(rank).len() as u32;
                (count, (DRAWN / count.max(1)).max(1))
            }
            pattern if pattern.is_fixed() => (1, DRAWN),
            // A rank that sends more often is drawn as often, each draw for more.
            Pattern::Matrix(rates) => {
                let weight = f64::from(DRAWN) * rates.relative(rank);
                (DRAWN, (weight.round() as u32).max(1))
            }
            _ => (DRAWN, 1),
        };
        let bytes = Bytes(source.message.0.saturating_mul(u64::from(weight)));
        for n in 0..draws {
            let to = source
                .pattern
                .destination(key, u64::from(rank.0), n, rank, ranks);
            if let Some(to) = to {
                builder.add(rank, to, bytes, Some(u64::from(weight)));
            }
        }
    }
    let built = builder.build(ranks).map(|(matrix, _)| matrix);
    // Ranks × 64 messages exceed 64 bits only where nobody could send them.
    built.unwrap_or_else(|| {
        MatrixBuilder::new()
            .build(ranks)
            .map(|(matrix, _)| matrix)
            .expect("nothing has no bytes")
    })
}

/// A message that a walk comes upon.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Who sends it.
    pub from: RankId,
    /// Who gets it.
    pub to: RankId,
    /// Its size.
    pub bytes: Bytes,
    /// What it belongs to.
    pub origin: Origin,
    /// Whether only one of the two takes part: a put or get.
    pub one_sided: bool,
}

/// Shows what a rank of a program sends, in an iteration if all are the same, otherwise in all. The
/// steps it took.
///
/// # Errors
/// If that takes more than `limit` steps, or the program cannot be walked.
pub fn messages_of(
    program: &dyn Program,
    rank: RankId,
    limit: u64,
    see: &mut dyn FnMut(Sent),
) -> Result<u64, WalkError> {
    let iterations = match program.repetition() {
        Some(Repetition::Same) => 1,
        _ => u32::MAX,
    };
    walk(program, rank, iterations, limit, see)
}

impl WalkError {
    /// The limit of the whole walk where that of a part of it was too low.
    pub(crate) fn of_limit(self, limit: u64) -> Self {
        match self {
            Self::TooLong { .. } => Self::TooLong { limit },
            other => other,
        }
    }
}

/// Walks through the first `iterations` iterations of a rank; the steps it took.
fn walk(
    program: &dyn Program,
    rank: RankId,
    iterations: u32,
    limit: u64,
    see: &mut dyn FnMut(Sent),
) -> Result<u64, WalkError> {
    let mut idle = Idle::NONE;
    for processor in 0..program.processors() {
        idle = idle.and(ProcessorId(processor));
    }
    let mut running = program.start(rank)?;
    let mut ended = 0;
    let mut steps = 0u64;
    let mut begun = None;
    loop {
        if steps >= limit {
            return Err(WalkError::TooLong { limit });
        }
        steps += 1;
        match running.next(idle)? {
            Step::Begin {
                action, request, ..
            } => {
                let sent = match action {
                    Action::Send { to, bytes, .. } => Some((rank, to, bytes, false)),
                    Action::Put { to, bytes } => Some((rank, to, bytes, true)),
                    Action::Get { from, bytes } => Some((from, rank, bytes, true)),
                    Action::Compute(_) | Action::Receive { .. } => None,
                };
                if let Some((from, to, bytes, one_sided)) = sent {
                    see(Sent {
                        from,
                        to,
                        bytes,
                        origin: running.origin(request),
                        one_sided,
                    });
                }
                running.complete(request);
                begun = Some(request);
            }
            Step::Wait(_) => {
                // All that it began is complete, so it may only ask once more.
                if begun.take().is_none() {
                    return Err(WalkError::Stuck { rank });
                }
            }
            Step::Enter(_) | Step::Leave => {}
            Step::EndIteration => {
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
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::motif::{AllToAll, Broadcast, Halo, Repeat, Tree};

    fn entries(matrix: &CommunicationMatrix) -> Vec<(u32, u32, u64, u64)> {
        matrix
            .entries()
            .map(|(from, entry)| (from.0, entry.to.0, entry.bytes, entry.messages))
            .collect()
    }

    #[test]
    fn a_tree_of_messages_is_found_without_running_it() {
        let repeat = Repeat::times(3);
        let tree = Broadcast::new(5, RankId(0), Tree::Linear, Bytes(7), repeat).unwrap();
        let Walked { matrix, iterations } = communication(&tree, 1_000).unwrap();
        assert_eq!(iterations, Some(3));
        assert_eq!(
            entries(&matrix),
            [(0, 1, 21, 3), (0, 2, 21, 3), (0, 3, 21, 3), (0, 4, 21, 3)]
        );
    }

    #[test]
    fn long_jobs_are_walked_for_some_iterations() {
        let grid = Grid::new(&[4, 4, 4], true).unwrap();
        let halo = Halo::new(grid, Bytes(10), Repeat::times(1_000_000)).unwrap();
        let matrix = communication(&halo, 10_000).unwrap().matrix;
        let (_, first) = matrix.entries().next().unwrap();
        assert!((2..20).contains(&first.messages), "{first:?}");
        // Everybody for as many, so that all entries are the same.
        assert!(
            matrix
                .entries()
                .all(|(_, entry)| entry.bytes == first.bytes)
        );
        assert_eq!(matrix.entries().count(), 64 * 6);
    }

    #[test]
    fn what_takes_too_long_even_once_is_refused() {
        let all = AllToAll::new(100, Bytes(1), 1, Repeat::ONCE).unwrap();
        let found = communication(&all, 5_000);
        assert_eq!(found, Err(WalkError::TooLong { limit: 5_000 }));
    }
}
