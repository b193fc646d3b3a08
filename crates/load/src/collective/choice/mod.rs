//! How libraries choose an algorithm by the size of the data and the number of
//! members. All operations are taken to be commutative and all members to be
//! alike, as they are here.

mod mpich;

use odonata_units::Bytes;

use super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, Family, GatherAlgorithm, ReduceAlgorithm,
    ReduceScatterAlgorithm, ScanAlgorithm,
};

/// An algorithm, and the size of its segments where it has some.
type Segmented<A> = (A, Option<Bytes>);

impl Family {
    pub(super) fn barrier(self, _size: u32) -> BarrierAlgorithm {
        match self {
            Self::Mpich => mpich::BARRIER,
        }
    }

    pub(super) fn broadcast(self, bytes: Bytes, size: u32) -> Segmented<BroadcastAlgorithm> {
        match self {
            Self::Mpich => (mpich::broadcast(bytes, size), None),
        }
    }

    pub(super) fn reduce(self, bytes: Bytes, size: u32) -> Segmented<ReduceAlgorithm> {
        match self {
            Self::Mpich => (mpich::reduce(bytes, size), None),
        }
    }

    pub(super) fn allreduce(self, bytes: Bytes, size: u32) -> AllreduceAlgorithm {
        match self {
            Self::Mpich => mpich::allreduce(bytes, size),
        }
    }

    pub(super) fn gather(self, _block: Bytes, _size: u32) -> GatherAlgorithm {
        match self {
            Self::Mpich => mpich::GATHER,
        }
    }

    pub(super) fn scatter(self, _block: Bytes, _size: u32) -> GatherAlgorithm {
        match self {
            Self::Mpich => mpich::SCATTER,
        }
    }

    pub(super) fn allgather(self, total: Bytes, size: u32) -> AllgatherAlgorithm {
        match self {
            Self::Mpich => mpich::allgather(total, size),
        }
    }

    pub(super) fn alltoall(self, block: Bytes, size: u32) -> AlltoallAlgorithm {
        match self {
            Self::Mpich => mpich::alltoall(block, size),
        }
    }

    pub(super) fn alltoallv(self, _size: u32) -> AlltoallvAlgorithm {
        match self {
            Self::Mpich => mpich::ALLTOALLV,
        }
    }

    pub(super) fn reduce_scatter(self, total: Bytes, _size: u32) -> ReduceScatterAlgorithm {
        match self {
            Self::Mpich => mpich::reduce_scatter(total),
        }
    }

    pub(super) fn scan(self) -> ScanAlgorithm {
        match self {
            Self::Mpich => mpich::SCAN,
        }
    }
}
