//! The rules of MPICH between single members (not of its own node-aware compositions). Source: the
//! control variables `MPIR_CVAR_*` and their defaults as documented with MPICH, which decide up to
//! 3.3, and Thakur, Rabenseifner, Gropp, *Optimization of collective communication operations in
//! MPICH* (IJHPCA 2005), which derives most of the limits. From 3.4 on a file of selections decides
//! (`maint/tuning/coll/mpir/generic.json`, the same in 3.4 to 4.3), by the same limits but for
//! those of [`selected_broadcast`] and [`selected_allreduce`]. Cray MPICH, whose source is not
//! public, is seen to differ from 3.3 in [`cray_allgather`].

use odonata_units::Bytes;

use super::super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, GatherAlgorithm, ReduceAlgorithm, ReduceScatterAlgorithm,
    ScanAlgorithm, ScatterAlgorithm,
};

/// `MPIR_CVAR_BCAST_SHORT_MSG_SIZE`.
const BROADCAST_SHORT: Bytes = Bytes(12_288);
/// `MPIR_CVAR_BCAST_LONG_MSG_SIZE`.
const BROADCAST_LONG: Bytes = Bytes(524_288);
/// `MPIR_CVAR_BCAST_MIN_PROCS`.
const BROADCAST_LEAST_MEMBERS: u32 = 8;
/// `MPIR_CVAR_REDUCE_SHORT_MSG_SIZE`.
const REDUCE_SHORT: Bytes = Bytes(2_048);
/// `MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`.
const ALLREDUCE_SHORT: Bytes = Bytes(2_048);
/// `MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE`, of the whole result.
const ALLGATHER_SHORT: Bytes = Bytes(81_920);
/// `MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE`, of the whole result.
const ALLGATHER_LONG: Bytes = Bytes(524_288);
/// `MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE`, of a block.
const ALLTOALL_SHORT: Bytes = Bytes(256);
/// `MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE`, of a block.
const ALLTOALL_MEDIUM: Bytes = Bytes(32_768);
/// Fewer do without Bruck's all-to-all.
const ALLTOALL_LEAST_MEMBERS: u32 = 8;
/// `MPIR_CVAR_REDSCAT_COMMUTATIVE_LONG_MSG_SIZE`, of all blocks.
const REDUCE_SCATTER_LONG: Bytes = Bytes(524_288);
/// Size of an element where a rule counts them: double precision.
const ELEMENT: u64 = 8;

pub(super) const BARRIER: BarrierAlgorithm = BarrierAlgorithm::Dissemination;
pub(super) const GATHER: GatherAlgorithm = GatherAlgorithm::Binomial;
pub(super) const SCATTER: ScatterAlgorithm = ScatterAlgorithm::Binomial;
pub(super) const ALLTOALLV: AlltoallvAlgorithm = AlltoallvAlgorithm::Scattered;
pub(super) const SCAN: ScanAlgorithm = ScanAlgorithm::RecursiveDoubling;

/// Whether there is an element at least for each of a power of two of members.
fn can_be_scattered(bytes: Bytes, size: u32) -> bool {
    bytes.0 / ELEMENT >= 1 << size.ilog2()
}

pub(super) fn broadcast(bytes: Bytes, size: u32) -> BroadcastAlgorithm {
    if bytes < BROADCAST_SHORT || size < BROADCAST_LEAST_MEMBERS {
        BroadcastAlgorithm::Binomial
    } else if bytes < BROADCAST_LONG && size.is_power_of_two() {
        BroadcastAlgorithm::ScatterRecursiveDoubling
    } else {
        BroadcastAlgorithm::ScatterRing
    }
}

/// Both limits belong to what is below them.
pub(super) fn selected_broadcast(bytes: Bytes, size: u32) -> BroadcastAlgorithm {
    broadcast(Bytes(bytes.0.saturating_sub(1)), size)
}

/// Above 8 B, whatever the control variable says.
pub(super) fn selected_allreduce(bytes: Bytes, size: u32) -> AllreduceAlgorithm {
    match bytes.0 > 8 && can_be_scattered(bytes, size) {
        true => AllreduceAlgorithm::Rabenseifner,
        false => AllreduceAlgorithm::RecursiveDoubling,
    }
}

pub(super) fn reduce(bytes: Bytes, size: u32) -> ReduceAlgorithm {
    if bytes > REDUCE_SHORT && can_be_scattered(bytes, size) {
        ReduceAlgorithm::Rabenseifner
    } else {
        ReduceAlgorithm::Binomial
    }
}

pub(super) fn allreduce(bytes: Bytes, size: u32) -> AllreduceAlgorithm {
    if bytes > ALLREDUCE_SHORT && can_be_scattered(bytes, size) {
        AllreduceAlgorithm::Rabenseifner
    } else {
        AllreduceAlgorithm::RecursiveDoubling
    }
}

pub(super) fn allgather(total: Bytes, size: u32) -> AllgatherAlgorithm {
    if total < ALLGATHER_LONG && size.is_power_of_two() {
        AllgatherAlgorithm::RecursiveDoubling
    } else if total < ALLGATHER_SHORT {
        AllgatherAlgorithm::Bruck
    } else {
        AllgatherAlgorithm::Ring
    }
}

/// Limits of allgathers are of what a rank sends, as the control variables' descriptions have it;
/// MPICH compares them with all blocks together. Cray MPICH 8.1.29 doubles 64 KiB of each of 16
/// members, and sends 4 MiB of each around a ring: its times are those of the algorithms so named
/// (github.com/HLC-Lab/pico, `results/lumi`).
pub(super) fn cray_allgather(total: Bytes, size: u32) -> AllgatherAlgorithm {
    allgather(Bytes(total.0 / u64::from(size.max(1))), size)
}

pub(super) fn alltoall(block: Bytes, size: u32) -> AlltoallAlgorithm {
    if block <= ALLTOALL_SHORT && size >= ALLTOALL_LEAST_MEMBERS {
        AlltoallAlgorithm::Bruck
    } else if block <= ALLTOALL_MEDIUM {
        AlltoallAlgorithm::Scattered
    } else {
        AlltoallAlgorithm::Pairwise
    }
}

pub(super) fn reduce_scatter(total: Bytes) -> ReduceScatterAlgorithm {
    if total < REDUCE_SCATTER_LONG {
        ReduceScatterAlgorithm::RecursiveHalving
    } else {
        ReduceScatterAlgorithm::Pairwise
    }
}
