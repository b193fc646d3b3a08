//! Recorded collectives as calls of the collectives room.

use std::sync::Arc;

use odonata_units::Bytes;

use super::call::Shape;
use crate::collective::{Algorithms, CollectiveCall};
use crate::communicator::Member;

/// What one of `size` members does for a recorded collective.
pub(super) fn call_of(shape: Shape, size: u32, algorithms: &Algorithms) -> CollectiveCall {
    let list = |bytes: Box<[u64]>| -> Arc<[Bytes]> { bytes.iter().copied().map(Bytes).collect() };
    let maybe = |bytes: Option<Box<[u64]>>| list(bytes.unwrap_or_default());
    match shape {
        // Of which nothing is ever known: nobody leaves before all have entered.
        Shape::Barrier | Shape::Unknown => algorithms.barrier(size),
        Shape::Broadcast { root, bytes } => algorithms.broadcast(Member(root), Bytes(bytes), size),
        Shape::Reduce { root, bytes } => algorithms.reduce(Member(root), Bytes(bytes), size),
        Shape::Allreduce { bytes } => algorithms.allreduce(Bytes(bytes), size),
        Shape::Scan { bytes } => algorithms.scan(Bytes(bytes), size),
        Shape::ExclusiveScan { bytes } => algorithms.exclusive_scan(Bytes(bytes), size),
        Shape::Gather { root, bytes } => algorithms.gather(Member(root), Bytes(bytes), size),
        Shape::GatherVarying { root, mine, all } => {
            algorithms.gatherv(Member(root), Bytes(mine), maybe(all))
        }
        Shape::Scatter { root, bytes } => algorithms.scatter(Member(root), Bytes(bytes), size),
        Shape::ScatterVarying { root, mine, all } => {
            algorithms.scatterv(Member(root), Bytes(mine), maybe(all))
        }
        Shape::Allgather { bytes } => algorithms.allgather(Bytes(bytes), size),
        Shape::AllgatherVarying { all } => algorithms.allgatherv(list(all)),
        Shape::Alltoall { bytes } => algorithms.alltoall(Bytes(bytes), size),
        Shape::AlltoallVarying { sent, received, .. } => {
            algorithms.alltoallv(list(sent), list(received))
        }
        Shape::ReduceScatter { all } => algorithms.reduce_scatter(list(all)),
    }
}
