use super::*;

/// Both sides of every limit that MPICH documents.
#[test]
fn mpich_changes_at_its_limits() {
    let family = Family::Mpich;
    let broadcast = |bytes, size| family.broadcast(Bytes(bytes), size).0;
    assert_eq!(broadcast(12_287, 8), BroadcastAlgorithm::Binomial);
    let doubling = BroadcastAlgorithm::ScatterRecursiveDoubling;
    assert_eq!(broadcast(12_288, 8), doubling);
    assert_eq!(broadcast(12_288, 7), BroadcastAlgorithm::Binomial);
    assert_eq!(broadcast(12_288, 9), BroadcastAlgorithm::ScatterRing);
    assert_eq!(broadcast(524_287, 64), doubling);
    assert_eq!(broadcast(524_288, 64), BroadcastAlgorithm::ScatterRing);
    let allreduce = |bytes, size| family.allreduce(Bytes(bytes), size);
    assert_eq!(allreduce(2048, 8), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(2049, 8), AllreduceAlgorithm::Rabenseifner);
    // 500 elements do not reach 512 members.
    assert_eq!(allreduce(4000, 600), AllreduceAlgorithm::RecursiveDoubling);
    let reduce = |bytes| family.reduce(Bytes(bytes), 8).0;
    assert_eq!(reduce(2048), ReduceAlgorithm::Binomial);
    assert_eq!(reduce(2049), ReduceAlgorithm::Rabenseifner);
    let allgather = |total, size| family.allgather(Bytes(total), size);
    let doubling = AllgatherAlgorithm::RecursiveDoubling;
    assert_eq!(allgather(524_287, 16), doubling);
    assert_eq!(allgather(524_288, 16), AllgatherAlgorithm::Ring);
    assert_eq!(allgather(81_919, 15), AllgatherAlgorithm::Bruck);
    assert_eq!(allgather(81_920, 15), AllgatherAlgorithm::Ring);
    let alltoall = |block, size| family.alltoall(Bytes(block), size);
    assert_eq!(alltoall(256, 8), AlltoallAlgorithm::Bruck);
    assert_eq!(alltoall(256, 7), AlltoallAlgorithm::Scattered);
    assert_eq!(alltoall(257, 8), AlltoallAlgorithm::Scattered);
    assert_eq!(alltoall(32_769, 8), AlltoallAlgorithm::Pairwise);
    let reduce_scatter = |total| family.reduce_scatter(Bytes(total), 8);
    let halving = ReduceScatterAlgorithm::RecursiveHalving;
    assert_eq!(reduce_scatter(524_287), halving);
    assert_eq!(reduce_scatter(524_288), ReduceScatterAlgorithm::Pairwise);
}

#[test]
fn open_mpi_changes_at_its_limits() {
    let family = Family::OpenMpi;
    let kib = |size: u64| Some(Bytes(size << 10));
    let broadcast = |bytes, size| family.broadcast(Bytes(bytes), size);
    assert_eq!(broadcast(2047, 8), (BroadcastAlgorithm::Binomial, None));
    let split = BroadcastAlgorithm::SplitBinary;
    assert_eq!(broadcast(370_727, 8), (split, kib(1)));
    assert_eq!(broadcast(370_728, 8), (split, kib(8)));
    let chain = BroadcastAlgorithm::Chain;
    // 1.6134 · 4 + 2.1102 = 8.56, 2.3679 · 6 + 1.1787 = 15.4, 3.2118 · 4 + 8.7936 = 21.6.
    assert_eq!(broadcast(4_000_000, 8), (chain, kib(128)));
    assert_eq!(broadcast(6_000_000, 15), (chain, kib(64)));
    assert_eq!(broadcast(4_000_000, 21), (chain, kib(16)));
    assert_eq!(broadcast(4_000_000, 22), (chain, kib(8)));
    let reduce = |bytes, size| family.reduce(Bytes(bytes), size);
    assert_eq!(reduce(511, 7), (ReduceAlgorithm::Linear, None));
    assert_eq!(reduce(512, 7), (ReduceAlgorithm::Binomial, None));
    assert_eq!(reduce(512, 8), (ReduceAlgorithm::Binary, Some(Bytes(512))));
    // 0.6016 · 16 + 1.3496 = 10.98; 0.041 · 16 + 9.7128 = 10.4.
    assert_eq!(reduce(16 << 10, 11), (ReduceAlgorithm::Binary, kib(1)));
    assert_eq!(reduce(17 << 10, 11), (ReduceAlgorithm::Chain, kib(1)));
    // 0.0033 · 4096 + 1.6761 = 15.2.
    assert_eq!(reduce(4 << 20, 16), (ReduceAlgorithm::Chain, kib(32)));
    assert_eq!(reduce(4 << 20, 15), (ReduceAlgorithm::Chain, kib(64)));
    let allreduce = |bytes, size| family.allreduce(Bytes(bytes), size);
    assert_eq!(allreduce(9_999, 4), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(10_000, 4), AllreduceAlgorithm::Ring);
    assert_eq!(allreduce(10_000, 1250), AllreduceAlgorithm::ReduceBroadcast);
    let gather = |block, size| family.gather(Bytes(block), size);
    assert_eq!(gather(1023, 11), GatherAlgorithm::Binomial);
    assert_eq!(gather(1024, 11), GatherAlgorithm::LinearInTurn);
    assert_eq!(gather(6000, 61), GatherAlgorithm::Binomial);
    assert_eq!(gather(6001, 61), GatherAlgorithm::LinearInTurn);
    assert_eq!(family.scatter(Bytes(299), 11), ScatterAlgorithm::Binomial);
    assert_eq!(
        family.scatter(Bytes(300), 11),
        ScatterAlgorithm::LinearInTurn
    );
    let allgather = |total, size| family.allgather(Bytes(total), size);
    let doubling = AllgatherAlgorithm::RecursiveDoubling;
    assert_eq!(allgather(49_999, 8), doubling);
    assert_eq!(allgather(49_999, 9), AllgatherAlgorithm::Bruck);
    assert_eq!(allgather(50_000, 8), AllgatherAlgorithm::NeighbourExchange);
    assert_eq!(allgather(50_000, 9), AllgatherAlgorithm::Ring);
    assert_eq!(allgather(50_000, 2), doubling);
    let alltoall = |block, size| family.alltoall(Bytes(block), size);
    assert_eq!(alltoall(199, 13), AlltoallAlgorithm::Bruck);
    assert_eq!(alltoall(199, 12), AlltoallAlgorithm::Linear);
    assert_eq!(alltoall(3000, 13), AlltoallAlgorithm::Pairwise);
    let reduce_scatter = |total, size| family.reduce_scatter(Bytes(total), size);
    let halving = ReduceScatterAlgorithm::RecursiveHalving;
    assert_eq!(reduce_scatter(12 << 10, 9), halving);
    // 0.0012 · 13312 + 8 = 23.97.
    assert_eq!(reduce_scatter(13 << 10, 23), ReduceScatterAlgorithm::Ring);
    assert_eq!(reduce_scatter(13 << 10, 24), halving);
    assert_eq!(reduce_scatter(256 << 10, 16), halving);
    let ring = ReduceScatterAlgorithm::Ring;
    assert_eq!(reduce_scatter((256 << 10) + 1, 16), ring);
}

/// What was recorded at 8 and at 64 members, and both sides of two limits.
#[test]
fn fujitsu_chooses_as_recorded() {
    let family = Family::Fujitsu;
    let segment = |bytes| family.broadcast(Bytes(bytes), 8).1.map(|segment| segment.0);
    assert_eq!(segment(256), Some(256));
    assert_eq!(segment(16 << 10), Some(1 << 10));
    assert_eq!(segment(128 << 10), Some(8 << 10));
    assert_eq!(segment(8 << 20), Some(16 << 10));
    assert_eq!(segment(64 << 20), Some(64 << 10));
    let reduce = |bytes| family.reduce(Bytes(bytes), 8).0;
    assert_eq!(reduce(2 << 10), ReduceAlgorithm::BinomialOverlapped);
    assert_eq!(reduce(16 << 10), ReduceAlgorithm::InOrderBinary);
    let gather = |total, size: u32| family.gather(Bytes(total / u64::from(size)), size);
    assert_eq!(gather(2 << 10, 8), GatherAlgorithm::Binomial);
    assert_eq!(gather(16 << 10, 8), GatherAlgorithm::Linear);
    assert_eq!(gather(16 << 10, 64), GatherAlgorithm::Binomial);
    assert_eq!(gather(128 << 10, 64), GatherAlgorithm::Linear);
    let scatter = |block, size| family.scatter(Bytes(block), size);
    assert_eq!(scatter(128 << 10, 8), ScatterAlgorithm::Binomial);
    assert_eq!(scatter(1 << 20, 8), ScatterAlgorithm::LinearInTurn);
    assert_eq!(scatter(8 << 20, 64), ScatterAlgorithm::Binomial);
    let reduce_scatter = |total, size| family.reduce_scatter(Bytes(total), size);
    assert_eq!(reduce_scatter(1 << 20, 8), ReduceScatterAlgorithm::Ring);
    let halving = ReduceScatterAlgorithm::RecursiveHalving;
    assert_eq!(reduce_scatter(1 << 20, 64), halving);
}
