//! Every motif runs to its end under any interleaving of its ranks, every send
//! meets exactly one receive, and the totals are what was sent.

mod support;

use std::sync::Arc;

use odonata_load::matrix::MatrixBuilder;
use odonata_load::motif::{
    AllToAll, Bisection, BisectionOrder, Broadcast, Exchange, Halo, HaloOrder, MatrixOrder,
    MatrixReplay, MessageSize, Outstanding, Receives, Repeat, Tree,
};
use odonata_load::{
    Blocks, Cursor, Grid, LoadError, Operation, Pattern, Permutation, Program, Script, Totals,
};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, JobId, Picoseconds, RankId};
use proptest::prelude::*;
use support::{Sending, execute};

/// One motif of `ranks` ranks; an error where the kind does not fit the ranks.
fn motif(kind: u32, ranks: u32, seed: u64) -> Result<Box<dyn Program>, LoadError> {
    let mut draw = StreamKey::new(seed, Purpose::Wiring).stream(1);
    let repeat = Repeat {
        iterations: 1 + draw.below(3),
        compute: Picoseconds(u64::from(draw.below(2))),
    };
    let message = Bytes(1 + u64::from(draw.below(5_000)));
    let outstanding = Outstanding {
        window: 1 + draw.below(ranks + 2),
        blocking: draw.below(2) == 0,
        receives: [Receives::Ahead, Receives::InTurn][draw.below(2) as usize],
    };
    let exchange = |pattern: &Pattern| {
        let program = Exchange::new(pattern, ranks, message, seed, JobId(2), repeat);
        program.map(|program| Box::new(program) as Box<dyn Program>)
    };
    Ok(match kind {
        0 => Box::new(AllToAll::new(ranks, message, outstanding, repeat)?),
        1 => {
            let orders = [BisectionOrder::Rotating, BisectionOrder::Ascending];
            let order = orders[draw.below(2) as usize];
            Box::new(Bisection::new(ranks, message, order, outstanding, repeat)?)
        }
        2 | 3 => {
            let dimensions = 1 + draw.below(4) as usize;
            let wrapped: Vec<bool> = (0..dimensions).map(|_| draw.below(2) == 0).collect();
            let grid = Grid::near_cubic(ranks, dimensions, false)?.with_periodic(&wrapped)?;
            let faces: Vec<Bytes> = (1..=dimensions as u64).map(Bytes).collect();
            let order = [HaloOrder::Together, HaloOrder::Dimensions][draw.below(2) as usize];
            let blocking = outstanding.blocking;
            Box::new(Halo::with_faces(grid, &faces, order, blocking, repeat)?)
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
            let order = MatrixOrder {
                ascending: draw.below(2) == 0,
                blocking: outstanding.blocking,
                receives: outstanding.receives,
            };
            let scale = 0.1 + draw.unit();
            Box::new(MatrixReplay::new(&matrix, scale, size, order, repeat)?)
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
    assert_eq!(verdict.unwrap_err(), "2 ranks of 2 wait for ever");
}
