//! The fixed decision rules of the component `tuned` of Open MPI 1.3 to 4.0
//! (`coll_tuned_decision_fixed`; fitted by its authors to a cluster of the
//! University of Tennessee; from 4.1 on see [`open_mpi_tables`](super::open_mpi_tables)). Where Open MPI
//! has a variant that is not simulated, the algorithm that it varies is taken: a
//! ring without segments for the segmented one, a plain linear gather for the
//! synchronised one.

use odonata_units::Bytes;

use super::super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, GatherAlgorithm, ReduceAlgorithm, ReduceScatterAlgorithm,
    ScanAlgorithm, ScatterAlgorithm,
};
use super::Segmented;

const KIB: u64 = 1024;

/// Size of an element where a rule counts them: double precision.
const ELEMENT: u64 = 8;

pub(super) const ALLTOALLV: AlltoallvAlgorithm = AlltoallvAlgorithm::Pairwise;
pub(super) const SCAN: ScanAlgorithm = ScanAlgorithm::Linear;

/// `size < slope · bytes + offset`, the form of many of the limits.
fn is_below(size: u32, bytes: Bytes, slope: f64, offset: f64) -> bool {
    f64::from(size) < slope * bytes.0 as f64 + offset
}

pub(super) fn barrier(size: u32) -> BarrierAlgorithm {
    match size.is_power_of_two() {
        true => BarrierAlgorithm::RecursiveDoubling,
        false => BarrierAlgorithm::Dissemination,
    }
}

pub(super) fn broadcast(bytes: Bytes, size: u32) -> Segmented<BroadcastAlgorithm> {
    let split = |kib| (BroadcastAlgorithm::SplitBinary, Some(Bytes(kib * KIB)));
    let chain = |kib| (BroadcastAlgorithm::Chain, Some(Bytes(kib * KIB)));
    if bytes.0 < 2048 {
        (BroadcastAlgorithm::Binomial, None)
    } else if bytes.0 < 370_728 {
        split(1)
    } else if is_below(size, bytes, 1.6134e-6, 2.1102) {
        chain(128)
    } else if size < 13 {
        split(8)
    } else if is_below(size, bytes, 2.3679e-6, 1.1787) {
        chain(64)
    } else if is_below(size, bytes, 3.2118e-6, 8.7936) {
        chain(16)
    } else {
        chain(8)
    }
}

pub(super) fn reduce(bytes: Bytes, size: u32) -> Segmented<ReduceAlgorithm> {
    let whole = Some(bytes);
    let of = |kib: u64| Some(Bytes(kib * KIB));
    // The limits are given per KiB.
    let reaches =
        |slope: f64, offset: f64| f64::from(size) <= slope / KIB as f64 * bytes.0 as f64 + offset;
    if size < 8 && bytes.0 < 512 {
        (ReduceAlgorithm::Linear, None)
    } else if size < 8 && bytes.0 < 20_480 {
        (ReduceAlgorithm::Binomial, None)
    } else if bytes.0 < 2048 {
        (ReduceAlgorithm::Binary, whole)
    } else if !reaches(0.6016, 1.3496) {
        (ReduceAlgorithm::Binary, of(1))
    } else if !reaches(0.0410, 9.7128) {
        (ReduceAlgorithm::Chain, of(1))
    } else if !reaches(0.0422, 1.1614) || !reaches(0.0033, 1.6761) {
        (ReduceAlgorithm::Chain, of(32))
    } else {
        (ReduceAlgorithm::Chain, of(64))
    }
}

pub(super) fn allreduce(bytes: Bytes, size: u32) -> AllreduceAlgorithm {
    if bytes.0 < 10_000 {
        AllreduceAlgorithm::RecursiveDoubling
    } else if bytes.0 / ELEMENT > u64::from(size) {
        AllreduceAlgorithm::Ring
    } else {
        AllreduceAlgorithm::ReduceBroadcast
    }
}

pub(super) fn gather(block: Bytes, size: u32) -> GatherAlgorithm {
    if block.0 <= 6000 && (size > 60 || (size > 10 && block.0 < 1024)) {
        GatherAlgorithm::Binomial
    } else {
        GatherAlgorithm::LinearInTurn
    }
}

pub(super) fn scatter(block: Bytes, size: u32) -> ScatterAlgorithm {
    if size > 10 && block.0 < 300 {
        ScatterAlgorithm::Binomial
    } else {
        ScatterAlgorithm::LinearInTurn
    }
}

pub(super) fn allgather(total: Bytes, size: u32) -> AllgatherAlgorithm {
    if total.0 < 50_000 || size == 2 {
        match size.is_power_of_two() {
            true => AllgatherAlgorithm::RecursiveDoubling,
            false => AllgatherAlgorithm::Bruck,
        }
    } else {
        long_allgather(size)
    }
}

pub(super) fn allgatherv(total: Bytes, size: u32) -> AllgatherAlgorithm {
    if total.0 < 50_000 || size == 2 {
        AllgatherAlgorithm::Bruck
    } else {
        long_allgather(size)
    }
}

fn long_allgather(size: u32) -> AllgatherAlgorithm {
    match size.is_multiple_of(2) {
        true => AllgatherAlgorithm::NeighbourExchange,
        false => AllgatherAlgorithm::Ring,
    }
}

pub(super) fn alltoall(block: Bytes, size: u32) -> AlltoallAlgorithm {
    if block.0 < 200 && size > 12 {
        AlltoallAlgorithm::Bruck
    } else if block.0 < 3000 {
        AlltoallAlgorithm::Linear
    } else {
        AlltoallAlgorithm::Pairwise
    }
}

pub(super) fn reduce_scatter(total: Bytes, size: u32) -> ReduceScatterAlgorithm {
    let short = total.0 <= 12 * KIB || (total.0 <= 256 * KIB && size.is_power_of_two());
    if short || !is_below(size, total, 0.0012, 8.0) {
        ReduceScatterAlgorithm::RecursiveHalving
    } else {
        ReduceScatterAlgorithm::Ring
    }
}
