use odonata_units::Bandwidth;

use super::super::{
    Algorithms, Cpu, Gpu, Nccl, NcclAlgorithm, NcclVersion, NodeLinks, Nodes, Protocol,
};
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

/// The selections of MPICH 3.4 differ from the control variables at a limit itself, and in that
/// all-reductions halve from 9 B on if there are enough elements.
#[test]
fn mpich_selects_otherwise_from_3_4_on() {
    let (before, since) = (Family::Mpich, Family::MpichBySelection);
    let broadcast = |family: Family, bytes| family.broadcast(Bytes(bytes), 8).0;
    let doubling = BroadcastAlgorithm::ScatterRecursiveDoubling;
    assert_eq!(broadcast(before, 12_288), doubling);
    assert_eq!(broadcast(since, 12_288), BroadcastAlgorithm::Binomial);
    assert_eq!(broadcast(since, 12_289), doubling);
    assert_eq!(broadcast(since, 524_288), doubling);
    assert_eq!(broadcast(since, 524_289), BroadcastAlgorithm::ScatterRing);
    let allreduce = |bytes, size| since.allreduce(Bytes(bytes), size);
    assert_eq!(allreduce(8, 1), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(16, 2), AllreduceAlgorithm::Rabenseifner);
    assert_eq!(allreduce(63, 8), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(64, 8), AllreduceAlgorithm::Rabenseifner);
    for size in [2, 7, 64, 1000] {
        for block in [1, 300, 5_000, 40_000] {
            let (block, total) = (Bytes(block), Bytes(block * u64::from(size)));
            assert_eq!(before.reduce(total, size), since.reduce(total, size));
            assert_eq!(before.allgather(total, size), since.allgather(total, size));
            assert_eq!(before.alltoall(block, size), since.alltoall(block, size));
        }
    }
}

/// What LUMI's times say of 16 members: 1 MiB in all is doubled and 64 MiB goes round a ring, where
/// MPICH's own limit is between 256 KiB and 512 KiB in all; with members that are no power of two the
/// limit of Bruck's algorithm is of a block, too. The rest is MPICH's.
#[test]
fn cray_mpich_compares_blocks_of_allgathers() {
    let (cray, mpich) = (Family::CrayMpich, Family::Mpich);
    let allgather = |family: Family, total, size| family.allgather(Bytes(total), size);
    let (doubling, ring) = (
        AllgatherAlgorithm::RecursiveDoubling,
        AllgatherAlgorithm::Ring,
    );
    assert_eq!(allgather(cray, 1 << 20, 16), doubling);
    assert_eq!(allgather(mpich, 1 << 20, 16), ring);
    assert_eq!(allgather(cray, 64 << 20, 16), ring);
    assert_eq!(allgather(cray, 16 * 524_287, 16), doubling);
    assert_eq!(allgather(cray, 16 * 524_288, 16), ring);
    let bruck = AllgatherAlgorithm::Bruck;
    assert_eq!(allgather(cray, 1_000 * 81_919, 1_000), bruck);
    assert_eq!(allgather(cray, 1_000 * 81_920, 1_000), ring);
    for (bytes, size) in [(8, 16), (2_048, 7), (100_000, 64), (1 << 20, 1_000)] {
        for operation in ["broadcast", "reduce", "allreduce", "alltoall", "gather"] {
            let chosen = |family: Family| family.chosen(operation, Bytes(bytes), size);
            assert_eq!(chosen(cray), chosen(mpich));
        }
    }
}

/// Both sides of limits of members and bytes, first and last rows, and what too few elements do.
#[test]
fn open_mpi_looks_into_tables_from_4_1_on() {
    let family = Family::OpenMpiByTable;
    let allreduce = |bytes, size| family.allreduce(Bytes(bytes), size);
    assert_eq!(allreduce(4_095, 3), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(4_096, 3), AllreduceAlgorithm::Ring);
    assert_eq!(allreduce(262_144, 3), AllreduceAlgorithm::Rabenseifner);
    assert_eq!(allreduce(8, 4), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(2_047, 512), AllreduceAlgorithm::ReduceBroadcast);
    assert_eq!(allreduce(2_048, 512), AllreduceAlgorithm::RecursiveDoubling);
    assert_eq!(allreduce(16_384, 2_047), AllreduceAlgorithm::Rabenseifner);
    assert_eq!(
        allreduce(4_095, 2_048),
        AllreduceAlgorithm::RecursiveDoubling
    );
    assert_eq!(
        allreduce(32_767, 4_096),
        AllreduceAlgorithm::RecursiveDoubling
    );
    assert_eq!(allreduce(32_768, 4_096), AllreduceAlgorithm::Rabenseifner);
    // 16 elements for 32 places.
    assert_eq!(allreduce(128, 32), AllreduceAlgorithm::ReduceBroadcast);
    assert_eq!(allreduce(256, 32), AllreduceAlgorithm::Rabenseifner);
    let broadcast = |bytes, size| family.broadcast(Bytes(bytes), size);
    assert_eq!(broadcast(4_095, 16).0, BroadcastAlgorithm::Knomial);
    assert_eq!(broadcast(4_096, 16).0, BroadcastAlgorithm::BinomialAtOnce);
    let last = BroadcastAlgorithm::ScatterRecursiveDoubling;
    assert_eq!(broadcast(1 << 20, 31), (last, Some(Bytes(1 << 20))));
    assert_eq!(broadcast(16_384, 512).0, BroadcastAlgorithm::SplitBinary);
    let reduce = |bytes, size| family.reduce(Bytes(bytes), size).0;
    assert_eq!(reduce(7, 2), ReduceAlgorithm::Rabenseifner);
    assert_eq!(reduce(8_192, 256), ReduceAlgorithm::InOrderBinary);
    assert_eq!(reduce(8_192, 255), ReduceAlgorithm::BinomialOverlapped);
    let gather = |bytes, size| family.gather(Bytes(bytes), size);
    assert_eq!(gather(2_047, 256), GatherAlgorithm::Binomial);
    assert_eq!(gather(2_048, 256), GatherAlgorithm::LinearInTurn);
    assert_eq!(gather(262_144, 7), GatherAlgorithm::LinearSync);
    let scatter = |bytes, size| family.scatter(Bytes(bytes), size);
    assert_eq!(scatter(511, 1_000), ScatterAlgorithm::Binomial);
    assert_eq!(scatter(512, 1_000), ScatterAlgorithm::Linear);
    // By the size of a block.
    let allgather = |block, size| family.allgather(Bytes(block * u64::from(size)), size);
    assert_eq!(allgather(1, 2), AllgatherAlgorithm::RecursiveDoubling);
    assert_eq!(allgather(1_023, 32), AllgatherAlgorithm::RecursiveDoubling);
    assert_eq!(allgather(1_023, 33), AllgatherAlgorithm::Bruck);
    assert_eq!(allgather(1_024, 32), AllgatherAlgorithm::NeighbourExchange);
    assert_eq!(allgather(65_536, 32), AllgatherAlgorithm::Ring);
    let alltoall = |block, size| family.alltoall(Bytes(block), size);
    assert_eq!(alltoall(2, 2), AlltoallAlgorithm::Pairwise);
    assert_eq!(alltoall(1_023, 256), AlltoallAlgorithm::Bruck);
    assert_eq!(alltoall(1_024, 256), AlltoallAlgorithm::Linear);
    assert_eq!(alltoall(32_768, 256), AlltoallAlgorithm::Pairwise);
    let reduce_scatter = |total, size| family.reduce_scatter(Bytes(total), size);
    let composed = ReduceScatterAlgorithm::ReduceScatter;
    assert_eq!(reduce_scatter(255, 256), composed);
    assert_eq!(
        reduce_scatter(1_023, 256),
        ReduceScatterAlgorithm::RecursiveHalving
    );
    assert_eq!(
        reduce_scatter(1_024, 256),
        ReduceScatterAlgorithm::Butterfly
    );
    assert_eq!(reduce_scatter(262_144, 8), ReduceScatterAlgorithm::Ring);
    assert_eq!(family.barrier(256), BarrierAlgorithm::Tree);
    assert_eq!(family.alltoallv(64), AlltoallvAlgorithm::Pairwise);
    assert_eq!(family.alltoallv(63), AlltoallvAlgorithm::Linear);
}

/// By name, with blocks of those operations that have some.
#[test]
fn what_is_chosen_has_a_name() {
    let chosen = |operation, bytes| Family::OpenMpiByTable.chosen(operation, Bytes(bytes), 32);
    assert_eq!(chosen("allgather", 65_536), Ok(("ring", None)));
    assert_eq!(
        chosen("broadcast", 100),
        Ok(("binomial-at-once", Some(Bytes(100))))
    );
    assert_eq!(chosen("reduce-scatter", 64), Ok(("butterfly", None)));
    assert!(chosen("barrier", 1).is_err());
}

/// Polaris: four A100 and two interfaces of 25 GB/s a node, without LL128, which is off where a
/// processor is between GPU and interface.
fn polaris(version: NcclVersion, nodes: u32) -> Algorithms {
    let found = Gpu::Ampere.search(NodeLinks {
        interfaces: 2,
        interface: Bandwidth::new(25_000_000_000).unwrap(),
        inside: None,
    });
    let node_of_member: Vec<u32> = (0..4 * nodes).map(|member| member / 4).collect();
    Algorithms {
        family: Family::Nccl,
        nodes: Some(Nodes::new(&node_of_member)),
        nccl: Nccl {
            version,
            gpu: Gpu::Ampere,
            cpu: Cpu::Amd,
            channels: found.channels,
            network: found.network,
            within: found.within,
            protocols: [Protocol::Ll, Protocol::Simple].into(),
            ..Nccl::default()
        },
        ..Algorithms::default()
    }
}

/// The smallest power of two of bytes, from 1 KiB on, of which all that follow are done so.
fn from(algorithms: &Algorithms, operation: &str, size: u32, way: (&str, Protocol)) -> Option<u64> {
    let block = if operation == "allreduce" { 1 } else { size };
    let chosen = |power: u32| {
        let bytes = Bytes((1u64 << power) / u64::from(block));
        let (name, _, protocol) = algorithms.chosen(operation, bytes, size).unwrap();
        (name, protocol.unwrap()) == way
    };
    let last = (13..=30).rev().take_while(|&power| chosen(power)).last()?;
    Some(1 << last)
}

/// Where the steps of the measured times are (nccl-tests on Polaris: github.com/argonne-lcf/
/// alcf-nccl-tests): NCCL 2.21's all-reduces of 8 nodes between 8 and 16 MiB, 2.18's as well, and
/// those of 256 nodes between 1 and 2 MiB; all-gathers between 4 and 8 MiB, and 128 and 256 MiB.
/// On 2 nodes 2.18's all-reduces take half as long with 256 KiB as with 128.
#[test]
fn nccl_switches_where_polaris_does() {
    const MIB: u64 = 1 << 20;
    let rings = ("channel-rings", Protocol::Simple);
    for version in [NcclVersion::Of2018, NcclVersion::Of2021] {
        let few = polaris(version, 8);
        assert_eq!(from(&few, "allreduce", 32, rings), Some(16 * MIB));
    }
    let few = polaris(NcclVersion::Of2021, 8);
    assert_eq!(from(&few, "allgather", 32, rings), Some(8 * MIB));
    let many = polaris(NcclVersion::Of2021, 256);
    assert_eq!(from(&many, "allgather", 1024, rings), Some(256 * MIB));
    let tree = ("double-tree", Protocol::Simple);
    let chosen = |algorithms: &Algorithms, size, bytes| {
        let (name, _, protocol) = algorithms.chosen("allreduce", Bytes(bytes), size).unwrap();
        (name, protocol.unwrap())
    };
    assert_eq!(chosen(&many, 1024, MIB), ("double-tree", Protocol::Ll));
    assert_eq!(chosen(&many, 1024, 2 * MIB), tree);
    // 2.18 takes Simple's latency along trees for half of what 2.21 does, and leaves LL earlier.
    let old = polaris(NcclVersion::Of2018, 8);
    assert_eq!(chosen(&old, 32, MIB / 4), tree);
    assert_eq!(chosen(&few, 32, MIB), ("channel-rings", Protocol::Ll));
    let two = polaris(NcclVersion::Of2018, 2);
    assert_eq!(chosen(&two, 8, MIB / 8), ("channel-rings", Protocol::Ll));
    assert_eq!(chosen(&two, 8, MIB / 4), tree);
}

/// `NCCL_ALGO` and `NCCL_PROTO`.
#[test]
fn nccl_takes_what_it_is_allowed() {
    let mut algorithms = polaris(NcclVersion::Of2021, 8);
    let chosen = |algorithms: &Algorithms, operation| {
        let (name, _, protocol) = algorithms.chosen(operation, Bytes(64), 32).unwrap();
        (name, protocol)
    };
    let of = |name, protocol| (name, Some(protocol));
    let found = chosen(&algorithms, "allreduce");
    assert_eq!(found, of("double-tree", Protocol::Ll));
    algorithms.nccl.protocols = [Protocol::Simple].into();
    let found = chosen(&algorithms, "allreduce");
    assert_eq!(found, of("double-tree", Protocol::Simple));
    algorithms.nccl.algorithms = [NcclAlgorithm::Ring].into();
    let found = chosen(&algorithms, "allreduce");
    assert_eq!(found, of("channel-rings", Protocol::Simple));
    // All-gathers have no trees: rings in their place.
    algorithms.nccl.algorithms = [NcclAlgorithm::Tree].into();
    let found = chosen(&algorithms, "allgather");
    assert_eq!(found, of("channel-rings", Protocol::Simple));
    // With one rank a node short all-gathers go by PAT, from 2.23 on.
    let alone = Algorithms {
        family: Family::Nccl,
        ..Algorithms::default()
    };
    let (name, _, _) = alone.chosen("allgather", Bytes(256 * 1024), 256).unwrap();
    assert_eq!(name, "pat");
}

/// Two channels of 24 GB/s on Polaris and eight of 48 on a DGX H100, whose NVLinks are 6 rings of 60
/// GB/s, those of an A100 6 of 40. Half of the links inside are half of the rings; an interface of
/// 800 Gb/s has two channels of Hopper's rates and one of Blackwell's; one of 10 Gb/s has one of
/// 1.2 GB/s, one below all rates one of its own.
#[test]
fn nccl_finds_channels_of_its_rates() {
    let rate = |gigabytes: f64| Bandwidth::new((gigabytes * 1e9).round() as u64).unwrap();
    for (gpu, interfaces, interface, inside, expected) in [
        (Gpu::Ampere, 2, 25.0, None, (2, 48.0, 240.0)),
        (Gpu::Ampere, 8, 25.0, Some(300.0), (8, 192.0, 240.0)),
        (Gpu::Hopper, 8, 50.0, None, (8, 384.0, 360.0)),
        (Gpu::Hopper, 8, 50.0, Some(225.0), (8, 384.0, 180.0)),
        (Gpu::Hopper, 1, 100.0, None, (2, 96.0, 360.0)),
        (Gpu::Blackwell, 8, 100.0, None, (8, 768.0, 720.0)),
        (Gpu::Hopper, 1, 1.25, None, (1, 1.2, 360.0)),
        (Gpu::Volta, 1, 0.1, None, (1, 0.1, 120.0)),
    ] {
        let found = gpu.search(NodeLinks {
            interfaces,
            interface: rate(interface),
            inside: inside.map(rate),
        });
        let (channels, network, within) = expected;
        let expected = (channels, rate(network), rate(within));
        assert_eq!(
            (found.channels, found.network, found.within),
            expected,
            "{gpu:?}"
        );
    }
}
