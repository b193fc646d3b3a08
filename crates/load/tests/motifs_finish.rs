//! Every motif runs to its end under any interleaving of its ranks, every send
//! meets exactly one receive, and the totals are what was sent.

use std::collections::HashMap;
use std::sync::Arc;

use odonata_load::matrix::MatrixBuilder;
use odonata_load::motif::{
    AllToAll, Bisection, Broadcast, Exchange, Halo, MatrixReplay, MessageSize, Repeat, Tree,
};
use odonata_load::{
    Blocks, Cursor, Grid, LoadError, Operation, Pattern, Permutation, Script, Totals,
};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{Bytes, JobId, Picoseconds, RankId};
use proptest::prelude::*;

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sending {
    /// At once: the network buffers without bound.
    Buffered,
    /// When the receiver has posted the receive: nothing is buffered at all.
    Rendezvous,
}

/// Sends and receives of one (sender, receiver, tag), in order.
#[derive(Default)]
struct Channel {
    sent: u64,
    posted: u64,
}

/// What a rank's next wait needs: the channel and how many of it must have been
/// posted (for sends) or sent (for receives).
#[derive(Default)]
struct Rank {
    cursor: Cursor,
    sends: Vec<((RankId, RankId, u32), u64)>,
    receives: Vec<((RankId, RankId, u32), u64)>,
    waiting: bool,
    iterations: u32,
    computed: Picoseconds,
    finished: bool,
}

/// Runs all ranks in random order; fails where no rank can go on.
fn execute(program: &dyn Script, sending: Sending, order: &mut Stream) -> Result<(), String> {
    let count = program.ranks();
    let mut ranks: Vec<Rank> = (0..count).map(|_| Rank::default()).collect();
    let mut channels: HashMap<(RankId, RankId, u32), Channel> = HashMap::new();
    let mut live: Vec<u32> = (0..count).collect();
    let (mut bytes_sent, mut messages_sent, mut blocked) = (0, 0, 0);
    while !live.is_empty() {
        let drawn = order.below(live.len() as u32) as usize;
        let id = RankId(live[drawn]);
        let rank = &mut ranks[id.index()];
        if rank.waiting {
            let received = rank
                .receives
                .iter()
                .all(|(key, n)| channels[key].sent >= *n);
            let left = sending == Sending::Buffered
                || rank.sends.iter().all(|(key, n)| channels[key].posted >= *n);
            if !(received && left) {
                // Has anybody else made a step since everybody was last stuck?
                blocked += 1;
                if blocked > 200 * live.len() {
                    return Err(format!("{} ranks of {count} wait for ever", live.len()));
                }
                continue;
            }
            rank.waiting = false;
            rank.sends.clear();
            rank.receives.clear();
        }
        blocked = 0;
        match program.next(id, &mut rank.cursor) {
            Operation::Compute(time) => rank.computed += time,
            Operation::Send { to, bytes, tag } => {
                if to.0 >= count || to == id || bytes == Bytes::ZERO {
                    return Err(format!("rank {id} sends {bytes} to {to}"));
                }
                bytes_sent += bytes.0;
                messages_sent += 1;
                let key = (id, to, tag);
                let channel = channels.entry(key).or_default();
                channel.sent += 1;
                rank.sends.push((key, channel.sent));
            }
            Operation::Receive { from, tag } => {
                if from.0 >= count || from == id {
                    return Err(format!("rank {id} receives from {from}"));
                }
                let key = (from, id, tag);
                let channel = channels.entry(key).or_default();
                channel.posted += 1;
                rank.receives.push((key, channel.posted));
            }
            Operation::WaitAll => rank.waiting = true,
            Operation::EndIteration => rank.iterations += 1,
            Operation::Finish => {
                if !(rank.sends.is_empty() && rank.receives.is_empty()) {
                    return Err(format!("rank {id} finishes without waiting"));
                }
                if program.next(id, &mut rank.cursor) != Operation::Finish {
                    return Err(format!("rank {id} goes on after its end"));
                }
                rank.finished = true;
                live.swap_remove(drawn);
            }
            other => return Err(format!("rank {id} does {other:?}")),
        }
    }
    for (key, channel) in &channels {
        if channel.sent != channel.posted {
            let (sent, posted) = (channel.sent, channel.posted);
            return Err(format!("{key:?}: {sent} sent, {posted} received"));
        }
    }
    if ranks
        .iter()
        .any(|rank| rank.iterations != program.iterations())
    {
        return Err("a rank lost an iteration".to_owned());
    }
    let totals = program.totals().expect("a motif that knows what it sends");
    let expected = (totals.bytes.0, totals.messages);
    if (bytes_sent, messages_sent) != expected {
        let sent = (bytes_sent, messages_sent);
        return Err(format!(
            "sent {sent:?} bytes and messages, announced {expected:?}"
        ));
    }
    Ok(())
}

/// One motif of `ranks` ranks; an error where the kind does not fit the ranks.
fn motif(kind: u32, ranks: u32, seed: u64) -> Result<Box<dyn Script>, LoadError> {
    let mut draw = StreamKey::new(seed, Purpose::Wiring).stream(1);
    let repeat = Repeat {
        iterations: 1 + draw.below(3),
        compute: Picoseconds(u64::from(draw.below(2))),
    };
    let message = Bytes(1 + u64::from(draw.below(5_000)));
    let window = 1 + draw.below(ranks + 2);
    let exchange = |pattern: &Pattern| {
        let program = Exchange::new(pattern, ranks, message, seed, JobId(2), repeat);
        program.map(|program| Box::new(program) as Box<dyn Script>)
    };
    Ok(match kind {
        0 => Box::new(AllToAll::new(ranks, message, window, repeat)?),
        1 => Box::new(Bisection::new(ranks, message, window, repeat)?),
        2 | 3 => {
            let dimensions = 1 + draw.below(4) as usize;
            let wrapped: Vec<bool> = (0..dimensions).map(|_| draw.below(2) == 0).collect();
            let grid = Grid::near_cubic(ranks, dimensions, false)?.with_periodic(&wrapped)?;
            let faces: Vec<Bytes> = (1..=dimensions as u64).map(Bytes).collect();
            Box::new(Halo::with_faces(grid, &faces, repeat)?)
        }
        4 | 5 => {
            let tree = [Tree::Binomial, Tree::Linear][kind as usize - 4];
            let root = RankId(draw.below(ranks));
            Box::new(Broadcast::new(ranks, root, tree, message, repeat)?)
        }
        6 => exchange(&Pattern::UniformRandom)?,
        7 => exchange(&Pattern::Tornado)?,
        8 => exchange(&Pattern::transpose(ranks)?)?,
        9 => exchange(&Pattern::Neighbour)?,
        10 => exchange(&Pattern::random_permutation(ranks, &mut draw)?)?,
        11 => exchange(&Pattern::BisectionPairs)?,
        12 => {
            let blocks = Arc::new(Blocks::consecutive(ranks, 1 + draw.below(ranks)));
            exchange(&Pattern::block_shift(blocks, 1 + i64::from(draw.below(4)))?)?
        }
        13 => {
            // A permutation with fixed points.
            let mut to: Vec<u32> = (0..ranks).collect();
            draw.shuffle(&mut to);
            exchange(&Pattern::Permutation(Arc::new(Permutation::new(to)?)))?
        }
        _ => {
            let mut builder = MatrixBuilder::new();
            for _ in 0..draw.below(3 * ranks) {
                let (from, to) = (RankId(draw.below(ranks)), RankId(draw.below(ranks)));
                let bytes = Bytes(u64::from(draw.below(2_000)));
                builder.add(from, to, bytes, Some(1 + u64::from(draw.below(9))));
            }
            let (matrix, _) = builder.build(ranks).expect("sums are small");
            let size = match draw.below(3) {
                0 => MessageSize::Whole,
                1 => MessageSize::Recorded,
                _ => MessageSize::AtMost(Bytes(1 + u64::from(draw.below(300)))),
            };
            Box::new(MatrixReplay::new(&matrix, 0.1 + draw.unit(), size, repeat)?)
        }
    })
}

const KINDS: u32 = 15;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn every_motif_finishes_in_any_order(
        kind in 0..KINDS, ranks in 1u32..28, seed in any::<u64>(), rendezvous in any::<bool>(),
    ) {
        if let Ok(program) = motif(kind, ranks, seed) {
            let sending = if rendezvous { Sending::Rendezvous } else { Sending::Buffered };
            let mut order = StreamKey::new(seed, Purpose::Routing).stream(0);
            if let Err(what) = execute(program.as_ref(), sending, &mut order) {
                prop_assert!(false, "motif {kind} of {ranks} ranks, {sending:?}: {what}");
            }
        }
    }
}

#[test]
fn every_kind_of_motif_exists_for_sixteen_ranks() {
    // Otherwise the property above would hold for want of examples.
    for kind in 0..KINDS {
        let built = (0..20).find_map(|seed| motif(kind, 16, seed).ok());
        let program = built.unwrap_or_else(|| panic!("no motif of kind {kind}"));
        let mut order = StreamKey::new(1, Purpose::Routing).stream(0);
        execute(program.as_ref(), Sending::Rendezvous, &mut order).unwrap();
    }
}

/// Two ranks that both wait before they send.
struct Deadlock;

impl Script for Deadlock {
    fn ranks(&self) -> u32 {
        2
    }
    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        cursor.position += 1;
        match cursor.position {
            1 => Operation::Receive {
                from: RankId(1 - rank.0),
                tag: 0,
            },
            2 => Operation::WaitAll,
            _ => Operation::Finish,
        }
    }
    fn totals(&self) -> Option<Totals> {
        Some(Totals::default())
    }
    fn iterations(&self) -> u32 {
        0
    }
}

#[test]
fn the_executor_notices_a_deadlock() {
    let mut order = StreamKey::new(1, Purpose::Routing).stream(0);
    let verdict = execute(&Deadlock, Sending::Buffered, &mut order);
    assert_eq!(verdict, Err("2 ranks of 2 wait for ever".to_owned()));
}
