//! How libraries choose an algorithm by the size of the data and the number of
//! members. All operations are taken to be commutative and all members to be
//! alike, as they are here.

mod fujitsu;
mod mpich;
mod open_mpi;

use odonata_units::Bytes;

use super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, Family, GatherAlgorithm, ReduceAlgorithm,
    ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm,
};

/// An algorithm, and the size of its segments where it has some.
type Segmented<A> = (A, Option<Bytes>);

impl Family {
    pub(super) fn barrier(self, size: u32) -> BarrierAlgorithm {
        match self {
            Self::Mpich => mpich::BARRIER,
            Self::OpenMpi | Self::Fujitsu => open_mpi::barrier(size),
        }
    }

    pub(super) fn broadcast(self, bytes: Bytes, size: u32) -> Segmented<BroadcastAlgorithm> {
        match self {
            Self::Mpich => (mpich::broadcast(bytes, size), None),
            Self::OpenMpi => open_mpi::broadcast(bytes, size),
            Self::Fujitsu => fujitsu::broadcast(bytes),
        }
    }

    pub(super) fn reduce(self, bytes: Bytes, size: u32) -> Segmented<ReduceAlgorithm> {
        match self {
            Self::Mpich => (mpich::reduce(bytes, size), None),
            Self::OpenMpi => open_mpi::reduce(bytes, size),
            Self::Fujitsu => fujitsu::reduce(bytes),
        }
    }

    pub(super) fn allreduce(self, bytes: Bytes, size: u32) -> AllreduceAlgorithm {
        match self {
            Self::Mpich => mpich::allreduce(bytes, size),
            Self::OpenMpi => open_mpi::allreduce(bytes, size),
            Self::Fujitsu => fujitsu::allreduce(bytes, size),
        }
    }

    pub(super) fn gather(self, block: Bytes, size: u32) -> GatherAlgorithm {
        match self {
            Self::Mpich => mpich::GATHER,
            Self::OpenMpi => open_mpi::gather(block, size),
            Self::Fujitsu => fujitsu::gather(block),
        }
    }

    pub(super) fn scatter(self, block: Bytes, size: u32) -> ScatterAlgorithm {
        match self {
            Self::Mpich => mpich::SCATTER,
            Self::OpenMpi => open_mpi::scatter(block, size),
            Self::Fujitsu => fujitsu::scatter(block, size),
        }
    }

    pub(super) fn allgather(self, total: Bytes, size: u32) -> AllgatherAlgorithm {
        match self {
            Self::Mpich => mpich::allgather(total, size),
            Self::OpenMpi => open_mpi::allgather(total, size),
            Self::Fujitsu => fujitsu::allgather(total, size),
        }
    }

    pub(super) fn allgatherv(self, total: Bytes, size: u32) -> AllgatherAlgorithm {
        match self {
            Self::Mpich => mpich::allgather(total, size),
            Self::OpenMpi | Self::Fujitsu => open_mpi::allgatherv(total, size),
        }
    }

    pub(super) fn alltoall(self, block: Bytes, size: u32) -> AlltoallAlgorithm {
        match self {
            Self::Mpich => mpich::alltoall(block, size),
            Self::OpenMpi => open_mpi::alltoall(block, size),
            Self::Fujitsu => fujitsu::alltoall(block),
        }
    }

    pub(super) fn alltoallv(self) -> AlltoallvAlgorithm {
        match self {
            Self::Mpich => mpich::ALLTOALLV,
            Self::OpenMpi | Self::Fujitsu => open_mpi::ALLTOALLV,
        }
    }

    pub(super) fn reduce_scatter(self, total: Bytes, size: u32) -> ReduceScatterAlgorithm {
        match self {
            Self::Mpich => mpich::reduce_scatter(total),
            Self::OpenMpi => open_mpi::reduce_scatter(total, size),
            Self::Fujitsu => fujitsu::reduce_scatter(total, size),
        }
    }

    pub(super) fn scan(self) -> ScanAlgorithm {
        match self {
            Self::Mpich => mpich::SCAN,
            Self::OpenMpi | Self::Fujitsu => open_mpi::SCAN,
        }
    }
}

#[cfg(test)]
mod tests;
