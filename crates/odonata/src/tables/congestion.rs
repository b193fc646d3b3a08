//! The table of what congestion control held back.

use std::cmp::Reverse;

use odonata_run::HeldPair;

use super::{Filled, Filling, id};
use crate::finished::Run;

/// Rows of the table at most.
const MOST_ROWS: usize = 1 << 16;

/// One row per pair of nodes that was held back or notified.
pub(super) fn held_pairs(run: &Run) -> Filled {
    let mut rows: Vec<&HeldPair> = run.outcome.held_pairs.iter().collect();
    let by_nodes = |pair: &&HeldPair| (pair.source, pair.destination);
    if rows.len() > MOST_ROWS {
        rows.sort_unstable_by_key(|pair| (Reverse(pair.held_ps), by_nodes(pair)));
        rows.truncate(MOST_ROWS);
        rows.sort_unstable_by_key(by_nodes);
    }
    let mut table = Filling::new(
        &rows,
        "held_pairs",
        "What congestion control held back: one row per pair of nodes whose sender was notified or \
             had to wait, by sender and receiver (none without \
             `network.nic.congestion_control`); of more than 65,536 pairs those that waited longest. \
             See [congestion control](congestion-control.md).",
    );
    table.i32("source_node", "node that sends", |pair| id(pair.source.0));
    table.i32("destination_node", "node that it sends to", |pair| {
        id(pair.destination.0)
    });
    table.i64(
        "notifications",
        "notices of congestion that the sender got after warm-up",
        |pair| pair.notifications,
    );
    table.i64(
        "held_ps",
        "time after warm-up for which the sender had something for the receiver and was not \
             permitted to send it, or sent to others first once it was",
        |pair| pair.held_ps,
    );
    table.i64(
        "held_bytes",
        "bytes of the packets that waited so",
        |pair| pair.held_bytes,
    );
    table.filled
}
