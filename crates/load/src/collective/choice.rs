//! How libraries choose an algorithm by the size of the data and the number of
//! members. All operations are taken to be commutative and all members to be
//! alike, as they are here.

mod fujitsu;
mod mpich;
mod open_mpi;
mod open_mpi_tables;

use odonata_units::Bytes;

use super::algorithms::{
    AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, Family, GatherAlgorithm, OPERATIONS, ReduceAlgorithm,
    ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm,
};
use crate::error::LoadError;

/// An algorithm, and the size of its segments where it has some.
type Segmented<A> = (A, Option<Bytes>);

impl Family {
    /// The algorithm that the rules choose, by name, and the size of its segments if they say so.
    ///
    /// Args: `bytes` of the whole vector of a broadcast, reduction or all-reduction, and of a block
    /// of other operations.
    ///
    /// # Errors
    /// If it is no operation that has blocks of one size or a vector.
    pub fn chosen(
        self,
        operation: &str,
        bytes: Bytes,
        size: u32,
    ) -> Result<(&'static str, Option<Bytes>), LoadError> {
        let total = Bytes(bytes.0.saturating_mul(u64::from(size)));
        Ok(match operation {
            "broadcast" => {
                let (algorithm, segment) = self.broadcast(bytes, size);
                (algorithm.name(), segment)
            }
            "reduce" => {
                let (algorithm, segment) = self.reduce(bytes, size);
                (algorithm.name(), segment)
            }
            "allreduce" => (self.allreduce(bytes, size).name(), None),
            "gather" => (self.gather(bytes, size).name(), None),
            "scatter" => (self.scatter(bytes, size).name(), None),
            "allgather" => (self.allgather(total, size).name(), None),
            "alltoall" => (self.alltoall(bytes, size).name(), None),
            "reduce-scatter" => (self.reduce_scatter(total, size).name(), None),
            _ => {
                return Err(LoadError::UnknownCollective {
                    name: operation.into(),
                    allowed: OPERATIONS,
                });
            }
        })
    }

    pub(super) fn barrier(self, size: u32) -> BarrierAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich | Self::Nccl => mpich::BARRIER,
            Self::OpenMpi | Self::Fujitsu => open_mpi::barrier(size),
            Self::OpenMpiByTable => open_mpi_tables::barrier(size),
        }
    }

    pub(super) fn broadcast(self, bytes: Bytes, size: u32) -> Segmented<BroadcastAlgorithm> {
        match self {
            Self::Mpich | Self::CrayMpich => (mpich::broadcast(bytes, size), None),
            Self::MpichBySelection => (mpich::selected_broadcast(bytes, size), None),
            Self::OpenMpi => open_mpi::broadcast(bytes, size),
            Self::OpenMpiByTable => open_mpi_tables::broadcast(bytes, size),
            Self::Fujitsu => fujitsu::broadcast(bytes),
            Self::Nccl => (BroadcastAlgorithm::ChannelRings, None),
        }
    }

    pub(super) fn reduce(self, bytes: Bytes, size: u32) -> Segmented<ReduceAlgorithm> {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => {
                (mpich::reduce(bytes, size), None)
            }
            Self::OpenMpi => open_mpi::reduce(bytes, size),
            Self::OpenMpiByTable => open_mpi_tables::reduce(bytes, size),
            Self::Fujitsu => fujitsu::reduce(bytes),
            Self::Nccl => (ReduceAlgorithm::ChannelRings, None),
        }
    }

    pub(super) fn allreduce(self, bytes: Bytes, size: u32) -> AllreduceAlgorithm {
        match self {
            Self::Mpich | Self::CrayMpich => mpich::allreduce(bytes, size),
            Self::MpichBySelection => mpich::selected_allreduce(bytes, size),
            Self::OpenMpi => open_mpi::allreduce(bytes, size),
            Self::OpenMpiByTable => open_mpi_tables::allreduce(bytes, size),
            Self::Fujitsu => fujitsu::allreduce(bytes, size),
            // The tuner decides: see `Algorithms::allreduce`.
            Self::Nccl => AllreduceAlgorithm::ChannelRings,
        }
    }

    pub(super) fn gather(self, block: Bytes, size: u32) -> GatherAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => mpich::GATHER,
            Self::OpenMpi => open_mpi::gather(block, size),
            Self::OpenMpiByTable => open_mpi_tables::gather(block, size),
            Self::Fujitsu => fujitsu::gather(block),
            Self::Nccl => GatherAlgorithm::Linear,
        }
    }

    pub(super) fn scatter(self, block: Bytes, size: u32) -> ScatterAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => mpich::SCATTER,
            Self::OpenMpi => open_mpi::scatter(block, size),
            Self::OpenMpiByTable => open_mpi_tables::scatter(block, size),
            Self::Fujitsu => fujitsu::scatter(block, size),
            Self::Nccl => ScatterAlgorithm::Linear,
        }
    }

    pub(super) fn allgather(self, total: Bytes, size: u32) -> AllgatherAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection => mpich::allgather(total, size),
            Self::CrayMpich => mpich::cray_allgather(total, size),
            Self::OpenMpi => open_mpi::allgather(total, size),
            Self::OpenMpiByTable => open_mpi_tables::allgather(total, size),
            Self::Fujitsu => fujitsu::allgather(total, size),
            Self::Nccl => AllgatherAlgorithm::ChannelRings,
        }
    }

    pub(super) fn allgatherv(self, total: Bytes, size: u32) -> AllgatherAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => mpich::allgather(total, size),
            Self::OpenMpi | Self::Fujitsu => open_mpi::allgatherv(total, size),
            Self::OpenMpiByTable => open_mpi_tables::allgatherv(total, size),
            Self::Nccl => AllgatherAlgorithm::ChannelRings,
        }
    }

    pub(super) fn alltoall(self, block: Bytes, size: u32) -> AlltoallAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => mpich::alltoall(block, size),
            Self::OpenMpi => open_mpi::alltoall(block, size),
            Self::OpenMpiByTable => open_mpi_tables::alltoall(block, size),
            Self::Fujitsu => fujitsu::alltoall(block),
            Self::Nccl => AlltoallAlgorithm::Rounds,
        }
    }

    pub(super) fn alltoallv(self, size: u32) -> AlltoallvAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich | Self::Nccl => mpich::ALLTOALLV,
            Self::OpenMpi | Self::Fujitsu => open_mpi::ALLTOALLV,
            Self::OpenMpiByTable => open_mpi_tables::alltoallv(size),
        }
    }

    pub(super) fn reduce_scatter(self, total: Bytes, size: u32) -> ReduceScatterAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich => mpich::reduce_scatter(total),
            Self::OpenMpi => open_mpi::reduce_scatter(total, size),
            Self::OpenMpiByTable => open_mpi_tables::reduce_scatter(total, size),
            Self::Fujitsu => fujitsu::reduce_scatter(total, size),
            Self::Nccl => ReduceScatterAlgorithm::ChannelRings,
        }
    }

    pub(super) fn scan(self) -> ScanAlgorithm {
        match self {
            Self::Mpich | Self::MpichBySelection | Self::CrayMpich | Self::Nccl => mpich::SCAN,
            Self::OpenMpi | Self::OpenMpiByTable | Self::Fujitsu => open_mpi::SCAN,
        }
    }
}

#[cfg(test)]
mod tests;
