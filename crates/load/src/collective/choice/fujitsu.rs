//! What Fujitsu's MPI 4.0.1 chose on Fugaku, by the records of its choices that PICO keeps with
//! its measurements (github.com/HLC-Lab/pico, `results/fugaku`, `*.decision.err`): 8 members in
//! 2 × 2 × 2 and 64 in 4 × 4 × 4, at sizes of 32 B, 256 B, 2 KiB and so on, eight times as much
//! each. Where a choice changes between two of them, the limit is put half way (geometrically, to
//! a power of two). Its own algorithms for tori are not public; in their places are, with the
//! recorded segments, the nearest that are simulated: a binary tree for its trees, and what Open
//! MPI, its base, would do for the rest. What is not recorded is Open MPI's, too.

use odonata_units::Bytes;

use super::super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, BroadcastAlgorithm, GatherAlgorithm,
    ReduceAlgorithm, ReduceScatterAlgorithm, ScatterAlgorithm,
};
use super::Segmented;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Between the 8 and the 64 members of the records.
const FEW: u32 = 16;

/// `binary_tree` up to 256 B; then `bintree3d`, `bintree6d` and, of 64 members, `trinaryx6`.
pub(super) fn broadcast(bytes: Bytes) -> Segmented<BroadcastAlgorithm> {
    let segments = [
        (KIB, bytes.0),
        (64 * KIB, KIB),
        (MIB / 2, 8 * KIB),
        (32 * MIB, 16 * KIB),
    ];
    let below = segments.iter().find(|(limit, _)| bytes.0 < *limit);
    let segment = below.map_or(64 * KIB, |&(_, segment)| segment);
    (BroadcastAlgorithm::Binary, Some(Bytes(segment)))
}

pub(super) fn reduce(bytes: Bytes) -> Segmented<ReduceAlgorithm> {
    match bytes.0 < 8 * KIB {
        true => (ReduceAlgorithm::BinomialOverlapped, Some(bytes)),
        false => (ReduceAlgorithm::InOrderBinary, Some(Bytes(64 * KIB))),
    }
}

/// `trix3` of 64 members from 128 KiB on.
pub(super) fn allreduce(bytes: Bytes, size: u32) -> AllreduceAlgorithm {
    let limit = if size > FEW { 64 * KIB } else { 512 * KIB };
    match bytes.0 < limit {
        true => AllreduceAlgorithm::RecursiveDoubling,
        false => AllreduceAlgorithm::Ring,
    }
}

/// `simple` is taken to be linear, all at once.
pub(super) fn gather(block: Bytes) -> GatherAlgorithm {
    match block.0 < KIB {
        true => GatherAlgorithm::Binomial,
        false => GatherAlgorithm::Linear,
    }
}

pub(super) fn scatter(block: Bytes, size: u32) -> ScatterAlgorithm {
    match size > FEW || block.0 < 512 * KIB {
        true => ScatterAlgorithm::Binomial,
        false => ScatterAlgorithm::LinearInTurn,
    }
}

/// `3dtorus` of 64 members from 128 KiB on.
pub(super) fn allgather(total: Bytes, size: u32) -> AllgatherAlgorithm {
    match total.0 < 64 * KIB && size.is_power_of_two() {
        true => AllgatherAlgorithm::RecursiveDoubling,
        false => AllgatherAlgorithm::NeighbourExchange,
    }
}

/// Blocks of 32 B and less go by `modified_bruck`, of 256 B and more by `blacc`.
pub(super) fn alltoall(block: Bytes) -> AlltoallAlgorithm {
    match block.0 < 128 {
        true => AlltoallAlgorithm::Bruck,
        false => AlltoallAlgorithm::Linear,
    }
}

pub(super) fn reduce_scatter(total: Bytes, size: u32) -> ReduceScatterAlgorithm {
    match size > FEW || total.0 < MIB / 2 {
        true => ReduceScatterAlgorithm::RecursiveHalving,
        false => ReduceScatterAlgorithm::Ring,
    }
}
