//! The fixed decision tables of the component `tuned` of Open MPI 4.1 and 5.0
//! (`coll_tuned_decision_fixed.c`, the same from 4.1.0 to 5.0.10), made by its authors from
//! measurements of several clusters. Without segments: the tables name none. Open MPI 5.0 has a
//! component for several ranks a node (`han`) that comes before them; members are all alike here.

use odonata_units::Bytes;

use super::super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, GatherAlgorithm, ReduceAlgorithm, ReduceScatterAlgorithm,
    ScatterAlgorithm,
};
use super::Segmented;

/// Rows for fewer members than a number; in each, Open MPI's numbers of algorithms for fewer bytes
/// than a number.
type Rules = [(u32, &'static [(u64, u8)])];

/// Rows as `members: algorithm < bytes, …, algorithm beyond;`, the last for `all`.
macro_rules! rules {
    ($table:ident: $($members:tt: $($algorithm:literal $(< $bytes:literal)?),+;)+) => {
        const $table: &Rules = &[
            $((rules!(@members $members), &[$((rules!(@bytes $($bytes)?), $algorithm)),+]),)+
        ];
    };
    (@members all) => { u32::MAX };
    (@members $members:literal) => { $members };
    (@bytes) => { u64::MAX };
    (@bytes $bytes:literal) => { $bytes };
}

rules! { ALLGATHER:
    3: 6;
    32: 3;
    64: 3 < 1024, 5 < 65536, 4;
    128: 3 < 512, 5 < 65536, 4;
    256: 3 < 512, 5 < 131072, 4 < 524288, 5 < 1048576, 4;
    512: 3 < 32, 2 < 128, 3 < 1024, 5 < 131072, 4 < 524288, 5 < 1048576, 4;
    1024: 3 < 64, 2 < 256, 3 < 2048, 5;
    2048: 3 < 4, 2 < 8, 3 < 16, 2 < 32, 3 < 256, 2 < 512, 3 < 4096, 5;
    4096: 2 < 32, 3 < 128, 2 < 512, 3 < 4096, 5;
    all: 3 < 2, 2 < 8, 3 < 16, 2 < 512, 3 < 4096, 5;
}

rules! { ALLGATHERV:
    3: 3 < 2048, 5 < 4096, 3 < 8192, 5;
    8: 1 < 256, 4 < 4096, 3 < 8192, 4 < 16384, 2 < 262144, 4;
    16: 1 < 1024, 2;
    32: 1 < 128, 2 < 262144, 3;
    64: 1 < 256, 2 < 8192, 3;
    128: 1 < 256, 2 < 4096, 3;
    256: 2 < 1024, 4 < 65536, 3;
    512: 2 < 1024, 3;
    1024: 2 < 512, 1 < 1024, 2 < 4096, 4 < 1048576, 3;
    all: 2 < 4096, 4;
}

rules! { ALLREDUCE:
    4: 4 < 8, 3 < 4096, 4 < 8192, 3 < 16384, 4 < 65536, 5 < 262144, 6;
    8: 4 < 16, 3 < 8192, 6;
    16: 3 < 8192, 6;
    32: 5 < 64, 3 < 4096, 6;
    64: 5 < 128, 6;
    128: 3 < 262144, 6;
    256: 2 < 131072, 3 < 262144, 6;
    512: 2 < 4096, 6;
    2048: 2 < 2048, 3 < 16384, 6;
    4096: 2 < 2048, 5 < 4096, 3 < 16384, 6;
    all: 2 < 2048, 5 < 16384, 3 < 32768, 6;
}

rules! { ALLTOALL:
    3: 2 < 2, 5 < 4, 2 < 16, 5 < 64, 2 < 256, 5 < 4096, 2 < 32768, 4 < 262144, 5 < 1048576, 2;
    8: 4 < 8192, 1 < 16384, 4 < 65536, 1 < 524288, 2 < 1048576, 1;
    16: 4 < 262144, 1;
    32: 4 < 4, 3 < 512, 4 < 8192, 1 < 32768, 4 < 262144, 1 < 524288, 4;
    64: 3 < 512, 1 < 524288, 4;
    128: 3 < 1024, 1 < 2048, 4 < 4096, 1 < 262144, 2;
    256: 3 < 1024, 4 < 2048, 1 < 262144, 2;
    512: 3 < 1024, 4 < 8192, 1 < 32768, 2;
    1024: 3 < 512, 4 < 8192, 1 < 16384, 4 < 131072, 1 < 262144, 2;
    2048: 3 < 512, 4 < 1024, 1 < 2048, 4 < 16384, 1 < 262144, 4;
    4096: 3 < 1024, 4 < 4096, 1 < 8192, 4 < 131072, 1;
    all: 3 < 2048, 4 < 8192, 1 < 16384, 4 < 32768, 1 < 65536, 4;
}

rules! { BROADCAST:
    4: 3 < 32, 5 < 256, 3 < 512, 7 < 1024, 1 < 32768, 5 < 131072, 2 < 262144, 1 < 524288, 6 < 1048576, 5;
    8: 5 < 64, 6 < 128, 5 < 2048, 6 < 8192, 1 < 1048576, 2;
    16: 7 < 8, 5 < 64, 7 < 4096, 5 < 16384, 6 < 32768, 1;
    32: 7 < 4096, 6 < 1048576, 8;
    64: 6 < 2048, 7;
    128: 7;
    256: 6 < 2, 5 < 16384, 1 < 32768, 5 < 65536, 7;
    1024: 7 < 16384, 4 < 32768, 7;
    2048: 7 < 524288, 8;
    4096: 7 < 262144, 8;
    all: 7 < 8192, 5 < 16384, 7 < 262144, 8;
}

rules! { GATHER:
    4: 3 < 2, 1 < 4, 2 < 32768, 1 < 65536, 2 < 131072, 3;
    8: 2 < 1024, 1 < 8192, 2 < 32768, 1 < 262144, 3;
    256: 2;
    512: 2 < 2048, 1 < 8192, 2;
    all: 2;
}

rules! { REDUCE:
    4: 7 < 8, 4 < 16, 3 < 32, 1 < 262144, 3 < 524288, 2 < 1048576, 3;
    8: 4 < 4096, 2 < 65536, 5 < 262144, 1 < 524288, 5 < 1048576, 1;
    16: 4 < 8192, 5;
    32: 4 < 4096, 5;
    256: 5;
    512: 5 < 8192, 6 < 16384, 5;
    2048: 5;
    4096: 5 < 512, 6 < 1024, 5 < 8192, 6 < 16384, 5;
    all: 5 < 16, 6 < 32, 5 < 1024, 6 < 2048, 5 < 8192, 6 < 16384, 5;
}

rules! { REDUCE_SCATTER:
    4: 3 < 65536, 4 < 131072, 3;
    8: 1 < 8, 2 < 262144, 3;
    32: 2 < 262144, 3;
    64: 1 < 64, 2 < 2048, 4 < 524288, 3;
    128: 1 < 256, 2 < 512, 4 < 2048, 2 < 4096, 4;
    256: 1 < 256, 2 < 512, 4;
    512: 1 < 256, 2 < 1024, 4;
    1024: 1 < 512, 2 < 2048, 4 < 8192, 2 < 16384, 4;
    2048: 1 < 512, 2 < 4096, 4 < 16384, 2 < 32768, 4;
    4096: 1 < 512, 2 < 4096, 4;
    all: 1 < 1024, 2 < 8192, 4;
}

rules! { SCATTER:
    4: 3 < 2, 1 < 131072, 3 < 262144, 1;
    8: 2 < 2048, 1 < 4096, 2 < 8192, 1 < 32768, 3 < 1048576, 1;
    16: 2 < 16384, 3 < 1048576, 1;
    32: 2 < 16384, 1 < 32768, 3;
    64: 2 < 512, 3 < 8192, 2 < 16384, 3;
    all: 2 < 512, 3;
}

/// Size of an element where a rule counts them: double precision.
const ELEMENT: u64 = 8;

/// The number of the algorithm, which the last row and its last entry always have.
fn number(rules: &Rules, bytes: Bytes, size: u32) -> u8 {
    let row = rules.iter().find(|(below, _)| size < *below);
    let limits = row.unwrap_or(&rules[rules.len() - 1]).1;
    let found = limits.iter().find(|(below, _)| bytes.0 < *below);
    found.unwrap_or(&limits[limits.len() - 1]).1
}

fn of_each(total: Bytes, size: u32) -> Bytes {
    Bytes(total.0 / u64::from(size.max(1)))
}

pub(super) fn barrier(size: u32) -> BarrierAlgorithm {
    match size {
        0..4 | 8..64 => BarrierAlgorithm::RecursiveDoubling,
        4..8 => BarrierAlgorithm::Linear,
        64..256 | 512..1024 | 4096.. => BarrierAlgorithm::Dissemination,
        256..512 | 1024..4096 => BarrierAlgorithm::Tree,
    }
}

/// A chain of fan-out zero is a single one.
pub(super) fn broadcast(bytes: Bytes, size: u32) -> Segmented<BroadcastAlgorithm> {
    let algorithm = match number(BROADCAST, bytes, size) {
        1 => BroadcastAlgorithm::Linear,
        2 | 3 => BroadcastAlgorithm::Chain,
        4 => BroadcastAlgorithm::SplitBinary,
        5 => BroadcastAlgorithm::Binary,
        6 => BroadcastAlgorithm::BinomialAtOnce,
        7 => BroadcastAlgorithm::Knomial,
        _ => BroadcastAlgorithm::ScatterRecursiveDoubling,
    };
    (algorithm, Some(bytes))
}

pub(super) fn reduce(bytes: Bytes, size: u32) -> Segmented<ReduceAlgorithm> {
    let algorithm = match number(REDUCE, bytes, size) {
        1 => ReduceAlgorithm::Linear,
        2 | 3 => ReduceAlgorithm::Chain,
        4 => ReduceAlgorithm::Binary,
        5 => ReduceAlgorithm::BinomialOverlapped,
        6 => ReduceAlgorithm::InOrderBinary,
        _ => ReduceAlgorithm::Rabenseifner,
    };
    (algorithm, Some(bytes))
}

/// A ring without segments is what the segmented one is without a size of segments. Too few
/// elements for a ring, or for halving, go another way.
pub(super) fn allreduce(bytes: Bytes, size: u32) -> AllreduceAlgorithm {
    let elements = bytes.0 / ELEMENT;
    match number(ALLREDUCE, bytes, size) {
        4 | 5 if elements >= u64::from(size) => AllreduceAlgorithm::Ring,
        3..=5 => AllreduceAlgorithm::RecursiveDoubling,
        6 if elements >= 1 << size.ilog2() => AllreduceAlgorithm::Rabenseifner,
        _ => AllreduceAlgorithm::ReduceBroadcast,
    }
}

pub(super) fn gather(block: Bytes, size: u32) -> GatherAlgorithm {
    match number(GATHER, block, size) {
        1 => GatherAlgorithm::LinearInTurn,
        2 => GatherAlgorithm::Binomial,
        _ => GatherAlgorithm::LinearSync,
    }
}

pub(super) fn scatter(block: Bytes, size: u32) -> ScatterAlgorithm {
    match number(SCATTER, block, size) {
        1 => ScatterAlgorithm::LinearInTurn,
        2 => ScatterAlgorithm::Binomial,
        _ => ScatterAlgorithm::Linear,
    }
}

/// Recursive doubling is Bruck's where the number of members is no power of two.
pub(super) fn allgather(total: Bytes, size: u32) -> AllgatherAlgorithm {
    match number(ALLGATHER, of_each(total, size), size) {
        3 | 6 if size.is_power_of_two() => AllgatherAlgorithm::RecursiveDoubling,
        2 | 3 => AllgatherAlgorithm::Bruck,
        4 => AllgatherAlgorithm::Ring,
        _ => AllgatherAlgorithm::NeighbourExchange,
    }
}

pub(super) fn allgatherv(total: Bytes, size: u32) -> AllgatherAlgorithm {
    match number(ALLGATHERV, of_each(total, size), size) {
        1 => AllgatherAlgorithm::GatherBroadcast,
        2 => AllgatherAlgorithm::Bruck,
        3 => AllgatherAlgorithm::Ring,
        _ => AllgatherAlgorithm::NeighbourExchange,
    }
}

/// The synchronised one has no limit of requests by default: all at once.
pub(super) fn alltoall(block: Bytes, size: u32) -> AlltoallAlgorithm {
    match number(ALLTOALL, block, size) {
        2 | 5 => AlltoallAlgorithm::Pairwise,
        3 => AlltoallAlgorithm::Bruck,
        _ => AlltoallAlgorithm::Linear,
    }
}

pub(super) fn alltoallv(size: u32) -> AlltoallvAlgorithm {
    match size {
        0..4 | 64..128 | 256..1024 => AlltoallvAlgorithm::Pairwise,
        _ => AlltoallvAlgorithm::Linear,
    }
}

pub(super) fn reduce_scatter(total: Bytes, size: u32) -> ReduceScatterAlgorithm {
    match number(REDUCE_SCATTER, total, size) {
        1 => ReduceScatterAlgorithm::ReduceScatter,
        2 => ReduceScatterAlgorithm::RecursiveHalving,
        3 => ReduceScatterAlgorithm::Ring,
        _ => ReduceScatterAlgorithm::Butterfly,
    }
}
