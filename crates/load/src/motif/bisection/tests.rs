use super::*;
use crate::cursor::Cursor;
use crate::motif::Receives;
use crate::program::Action;
use crate::script::{Operation, SCRIPT_CONTEXT, Script};
use std::collections::BTreeSet;

#[test]
fn every_rank_meets_every_rank_of_the_other_half_once() {
    let orders = [BisectionOrder::Rotating, BisectionOrder::Ascending];
    for (ranks, order) in [2u32, 3, 8, 9]
        .into_iter()
        .flat_map(|n| orders.map(|o| (n, o)))
    {
        let program = Bisection::new(ranks, Bytes(10), order, 1, Repeat::ONCE).unwrap();
        let steps = program.steps();
        let mut met = BTreeSet::new();
        for step in 0..steps.steps() {
            for rank in (0..ranks).map(RankId) {
                if let Some(partner) = steps.destination(rank, 0, step) {
                    assert_eq!(steps.source(rank, 0, step), Some(partner));
                    if order == BisectionOrder::Rotating {
                        assert_eq!(steps.destination(partner, 0, step), Some(rank));
                    }
                    assert_ne!(rank.0 < ranks / 2, partner.0 < ranks / 2);
                    assert!(met.insert((rank, partner)));
                }
            }
        }
        let half = u64::from(ranks / 2);
        let pairs = 2 * half * (u64::from(ranks) - half);
        assert_eq!(met.len() as u64, pairs);
        assert_eq!(program.totals().unwrap().messages, pairs);
    }
}

/// As Ember's Unstructured motif with the graph of a bisection: for each partner in
/// ascending order a receive and a blocking send, then all receives.
#[test]
fn embers_order_and_blocking() {
    let outstanding = Outstanding {
        window: u32::MAX,
        blocking: true,
        receives: Receives::InTurn,
    };
    let order = BisectionOrder::Ascending;
    let program = Bisection::new(5, Bytes(10), order, outstanding, Repeat::ONCE).unwrap();
    let operations = |rank| {
        let mut cursor = Cursor::default();
        let all = std::iter::repeat_with(|| program.next(RankId(rank), &mut cursor));
        all.take_while(|operation| *operation != Operation::Finish)
            .collect::<Vec<_>>()
    };
    let swap = |rank| {
        [
            Operation::Receive {
                from: RankId(rank),
                tag: 0,
            },
            Operation::Do(Action::Send {
                to: RankId(rank),
                bytes: Bytes(10),
                context: SCRIPT_CONTEXT,
                tag: 0,
            }),
        ]
    };
    let ends = [Operation::WaitAll, Operation::EndIteration];
    let first: Vec<_> = [2, 3, 4]
        .into_iter()
        .flat_map(swap)
        .chain(ends.clone())
        .collect();
    assert_eq!(operations(0), first);
    assert_eq!(operations(1), first);
    let second: Vec<_> = [0, 1].into_iter().flat_map(swap).chain(ends).collect();
    assert_eq!(operations(4), second);
}
