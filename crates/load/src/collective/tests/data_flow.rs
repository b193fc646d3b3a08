use std::sync::Arc;

use odonata_units::{Bandwidth, Bytes};
use proptest::prelude::*;

use super::executor::{Held, Network, Outcome, Space, execute};
use crate::collective::{
    Algorithms, AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, CollectiveCall, Family, GatherAlgorithm, Groups, Nccl,
    Nodes, ReduceAlgorithm, ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm,
};
use crate::communicator::Member;

/// Short segments, so that there are several, and combining that takes time.
fn algorithms() -> Algorithms {
    Algorithms {
        segment: Bytes(10),
        combine: Some(Bandwidth::new(1_000_000_000).unwrap()),
        ..Algorithms::default()
    }
}

/// Who takes part, and how.
#[derive(Clone, Copy, Debug)]
struct Setting {
    size: u32,
    root: u32,
    bytes: u64,
    network: Network,
    seed: u64,
}

impl Setting {
    fn root(&self) -> Member {
        Member(self.root)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// The bit of a place.
    fn everyone(&self) -> u64 {
        (1 << self.size) - 1
    }

    fn place(&self, member: u32) -> u32 {
        (member + self.size - self.root) % self.size
    }

    /// Carries out the same call for all; `held` by place.
    fn execute(&self, call: &CollectiveCall, space: &Space, held: impl Fn(u32) -> Held) -> Outcome {
        let calls = vec![call.clone(); self.size as usize];
        self.execute_each(&calls, space, held)
    }

    fn execute_each(
        &self,
        calls: &[CollectiveCall],
        space: &Space,
        held: impl Fn(u32) -> Held,
    ) -> Outcome {
        let held: Vec<Held> = (0..self.size).map(|m| held(self.place(m))).collect();
        let results = vec![Vec::new(); self.size as usize];
        let mut outcome = execute(calls, space, held, results, self.network, self.seed);
        // By place.
        outcome.held.rotate_left(self.root as usize);
        outcome
    }

    /// The lanes of a call, each with what it has of a number of bytes.
    fn lanes(call: &CollectiveCall) -> Vec<(CollectiveCall, impl Fn(u64) -> u64)> {
        let lanes = call.split();
        let count = lanes.len() as u64;
        let share = |lane: u64| move |bytes: u64| bytes * (lane + 1) / count - bytes * lane / count;
        lanes.into_iter().zip((0..count).map(share)).collect()
    }

    /// The same for all roots in turn: of what has none, member 0 is the root.
    fn without_root(self) -> Self {
        Self { root: 0, ..self }
    }
}

fn settings() -> impl Strategy<Value = Setting> {
    let network = prop_oneof![Just(Network::Synchronous), Just(Network::Buffered)];
    let bytes = prop_oneof![0u64..4, 0u64..130];
    (1u32..41, any::<u32>(), bytes, network, any::<u64>()).prop_map(
        |(size, root, bytes, network, seed)| Setting {
            size,
            root: root % size,
            bytes,
            network,
            seed,
        },
    )
}

fn vector(bytes: u64, held: u64) -> Held {
    vec![held; bytes as usize]
}

/// A block of each place, of these sizes: `held` says who contributes to whose.
fn blocks(sizes: &[u64], held: impl Fn(usize) -> u64) -> Held {
    let of_block = |(block, &size): (usize, &u64)| vec![held(block); size as usize];
    sizes.iter().enumerate().flat_map(of_block).collect()
}

/// Only its own block.
fn own_block(sizes: &[u64], place: u32) -> Held {
    blocks(sizes, |block| u64::from(block as u32 == place) << place)
}

/// Everyone's block.
fn all_blocks(sizes: &[u64]) -> Held {
    blocks(sizes, |block| 1 << block)
}

fn check_broadcast(algorithms: &Algorithms, setting: Setting) {
    let call = algorithms.broadcast(setting.root(), setting.bytes(), setting.size);
    for (call, share) in Setting::lanes(&call) {
        let bytes = share(setting.bytes);
        let held = |place: u32| vector(bytes, u64::from(place == 0));
        let outcome = setting.execute(&call, &Space::Vector, held);
        for held in outcome.held {
            assert_eq!(held, vector(bytes, 1));
        }
    }
}

fn check_reduce(algorithms: &Algorithms, setting: Setting) {
    let call = algorithms.reduce(setting.root(), setting.bytes(), setting.size);
    for (call, share) in Setting::lanes(&call) {
        let bytes = share(setting.bytes);
        let held = |place: u32| vector(bytes, 1 << place);
        let outcome = setting.execute(&call, &Space::Vector, held);
        assert_eq!(outcome.held[0], vector(bytes, setting.everyone()));
    }
}

fn check_allreduce(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let call = algorithms.allreduce(setting.bytes(), setting.size);
    for (call, share) in Setting::lanes(&call) {
        let bytes = share(setting.bytes);
        let held = |place: u32| vector(bytes, 1 << place);
        let outcome = setting.execute(&call, &Space::Vector, held);
        for held in outcome.held {
            assert_eq!(held, vector(bytes, setting.everyone()));
        }
    }
}

fn check_barrier(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let call = algorithms.barrier(setting.size);
    let outcome = setting.execute(&call, &Space::Vector, |place| vec![1 << place]);
    for held in outcome.held {
        assert_eq!(held, [setting.everyone()]);
    }
}

/// Blocks of different sizes, some of them empty.
fn sizes(setting: Setting) -> Vec<u64> {
    let size = |member: u64| (setting.seed >> (member % 60)) % (setting.bytes % 9 + 1);
    (0..u64::from(setting.size)).map(size).collect()
}

fn bytes(sizes: &[u64]) -> Arc<[Bytes]> {
    sizes.iter().map(|&size| Bytes(size)).collect()
}

fn check_allgather(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let block = setting.bytes % 9;
    let equal = vec![block; setting.size as usize];
    let different = sizes(setting);
    let calls = [
        (algorithms.allgather(Bytes(block), setting.size), equal),
        (algorithms.allgatherv(bytes(&different)), different),
    ];
    for (call, all) in calls {
        for (call, share) in Setting::lanes(&call) {
            let sizes: Vec<u64> = all.iter().map(|&size| share(size)).collect();
            let held = |place| own_block(&sizes, place);
            let outcome = setting.execute(&call, &Space::Vector, held);
            for held in outcome.held {
                assert_eq!(held, all_blocks(&sizes));
            }
        }
    }
}

fn check_gather(algorithms: &Algorithms, setting: Setting) {
    let sizes = vec![setting.bytes % 9; setting.size as usize];
    let call = algorithms.gather(setting.root(), Bytes(sizes[0]), setting.size);
    let outcome = setting.execute(&call, &Space::Vector, |place| own_block(&sizes, place));
    assert_eq!(outcome.held[0], all_blocks(&sizes));
}

fn check_scatter(algorithms: &Algorithms, setting: Setting) {
    let sizes = vec![setting.bytes % 9; setting.size as usize];
    let call = algorithms.scatter(setting.root(), Bytes(sizes[0]), setting.size);
    let held = |place: u32| blocks(&sizes, |_| u64::from(place == 0));
    let outcome = setting.execute(&call, &Space::Vector, held);
    for (place, held) in outcome.held.iter().enumerate() {
        let own = blocks(&sizes, |block| u64::from(block == place));
        let missing = own.iter().zip(held).any(|(own, held)| own & !held != 0);
        assert!(!missing, "place {place}");
    }
}

fn check_reduce_scatter(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let block = setting.bytes % 9;
    let equal = vec![block; setting.size as usize];
    let different = sizes(setting);
    let calls = [
        (
            algorithms.reduce_scatter_block(Bytes(block), setting.size),
            equal,
        ),
        (algorithms.reduce_scatter(bytes(&different)), different),
    ];
    for (call, all) in calls {
        for (call, share) in Setting::lanes(&call) {
            let sizes: Vec<u64> = all.iter().map(|&size| share(size)).collect();
            let held = |place: u32| vector(sizes.iter().sum(), 1 << place);
            let outcome = setting.execute(&call, &Space::Vector, held);
            for (place, held) in outcome.held.iter().enumerate() {
                let own = blocks(&sizes, |block| u64::from(block == place));
                for (own, held) in own.iter().zip(held) {
                    assert!(*own == 0 || *held == setting.everyone(), "place {place}");
                }
            }
        }
    }
}

fn check_scan(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    for exclusive in [false, true] {
        let call = match exclusive {
            false => algorithms.scan(setting.bytes(), setting.size),
            true => algorithms.exclusive_scan(setting.bytes(), setting.size),
        };
        let calls = vec![call; setting.size as usize];
        let own = |place: u32| vector(setting.bytes, 1 << place);
        let none = |_: u32| vector(setting.bytes, 0);
        let held = (0..setting.size).map(own).collect();
        let results = match exclusive {
            false => (0..setting.size).map(own).collect(),
            true => (0..setting.size).map(none).collect(),
        };
        let (network, seed) = (setting.network, setting.seed);
        let outcome = execute(&calls, &Space::Vector, held, results, network, seed);
        for (place, result) in outcome.results.into_iter().enumerate() {
            let below = (1 << place) - 1;
            let own = u64::from(!exclusive) << place;
            assert_eq!(result, vector(setting.bytes, below | own), "place {place}");
        }
    }
}

/// What each place has for each, and which of it `place` holds.
fn matrix(sizes: &[Vec<u64>], holds: impl Fn(usize, usize) -> bool) -> Held {
    let mut held = Held::new();
    for (from, row) in sizes.iter().enumerate() {
        for (to, &size) in row.iter().enumerate() {
            let of = if holds(from, to) { 1 << from } else { 0 };
            held.extend(vec![of; size as usize]);
        }
    }
    held
}

fn check_matrix(setting: Setting, sizes: Vec<Vec<u64>>, calls: &[CollectiveCall]) {
    let own: Vec<Held> = (0..setting.size as usize)
        .map(|place| matrix(&sizes, |from, _| from == place))
        .collect();
    let space = Space::Matrix(sizes.clone());
    let outcome = setting.execute_each(calls, &space, |place| own[place as usize].clone());
    for (place, held) in outcome.held.iter().enumerate() {
        let wanted = matrix(&sizes, |_, to| to == place);
        for (wanted, held) in wanted.iter().zip(held) {
            assert!(*wanted == 0 || wanted == held, "place {place}");
        }
    }
}

fn check_alltoall(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let n = setting.size as usize;
    let block = setting.bytes % 4;
    let call = algorithms.alltoall(Bytes(block), setting.size);
    check_matrix(setting, vec![vec![block; n]; n], &vec![call; n]);
}

fn check_alltoallv(algorithms: &Algorithms, setting: Setting) {
    let setting = setting.without_root();
    let n = setting.size as usize;
    // Different sizes, many of them zero.
    let size = |from: usize, to: usize| {
        let mixed = setting.seed.rotate_right((from * 7 + to * 3) as u32 % 64);
        (mixed % 5).saturating_sub(2)
    };
    let sizes: Vec<Vec<u64>> = (0..n)
        .map(|from| (0..n).map(|to| size(from, to)).collect())
        .collect();
    let call = |me: usize| {
        let receives: Vec<u64> = sizes.iter().map(|row| row[me]).collect();
        algorithms.alltoallv(bytes(&sizes[me]), bytes(&receives))
    };
    let calls: Vec<CollectiveCall> = (0..n).map(call).collect();
    check_matrix(setting, sizes.clone(), &calls);
    // Where nothing goes, no message does.
    for (me, call) in calls.iter().enumerate() {
        let others = (0..n).filter(|&to| to != me && sizes[me][to] > 0);
        let sent = call.sent(Member(me as u32), setting.size);
        assert_eq!(sent.messages, others.count() as u64);
    }
}

fn check_gatherv_and_scatterv(algorithms: &Algorithms, setting: Setting) {
    let n = setting.size as usize;
    // By member; only the root knows all.
    let all = sizes(setting);
    let by_place = |place: usize| all[(place + setting.root as usize) % n];
    let none: Arc<[Bytes]> = Arc::new([]);
    let known = |member: u32| match member == setting.root {
        true => bytes(&all),
        false => none.clone(),
    };
    for gathers in [true, false] {
        let calls: Vec<CollectiveCall> = (0..setting.size)
            .map(|member| {
                let own = Bytes(all[member as usize]);
                match gathers {
                    true => algorithms.gatherv(setting.root(), own, known(member)),
                    false => algorithms.scatterv(setting.root(), own, known(member)),
                }
            })
            .collect();
        let sizes: Vec<Vec<u64>> = (0..n)
            .map(|from| {
                let size = |to: usize| match (gathers, from, to) {
                    (true, place, 0) | (false, 0, place) => by_place(place),
                    _ => 0,
                };
                (0..n).map(size).collect()
            })
            .collect();
        check_matrix(setting, sizes, &calls);
    }
}

/// Any grouping, with groups of different sizes in any order.
fn grouped(algorithm: AlltoallAlgorithm, setting: Setting) -> Algorithms {
    let groups = setting.bytes % 7 + 1;
    let group = |member: u32| {
        let mixed = setting.seed.rotate_right(member * 5 % 64);
        (mixed % groups) as u32
    };
    let of_member: Vec<u32> = (0..setting.size).map(group).collect();
    Algorithms {
        alltoall: Some(algorithm),
        groups: Some(Groups::new(&of_member)),
        ..algorithms()
    }
}

/// Checks `check` with each of the algorithms of an operation and with what each
/// family chooses.
macro_rules! with_each {
    ($field:ident: $algorithm:ident, $check:ident, $setting:expr) => {
        for &algorithm in $algorithm::ALL {
            let algorithms = Algorithms {
                $field: Some(algorithm),
                ..algorithms()
            };
            $check(&algorithms, $setting);
        }
        for &family in Family::ALL {
            let algorithms = Algorithms {
                family,
                ..algorithms()
            };
            $check(&algorithms, $setting);
        }
    };
}

fn check_everything(setting: Setting) {
    with_each!(broadcast: BroadcastAlgorithm, check_broadcast, setting);
    with_each!(reduce: ReduceAlgorithm, check_reduce, setting);
    with_each!(allreduce: AllreduceAlgorithm, check_allreduce, setting);
    with_each!(barrier: BarrierAlgorithm, check_barrier, setting);
    with_each!(allgather: AllgatherAlgorithm, check_allgather, setting);
    with_each!(gather: GatherAlgorithm, check_gather, setting);
    with_each!(scatter: ScatterAlgorithm, check_scatter, setting);
    with_each!(reduce_scatter: ReduceScatterAlgorithm, check_reduce_scatter, setting);
    with_each!(scan: ScanAlgorithm, check_scan, setting);
    with_each!(alltoall: AlltoallAlgorithm, check_alltoall, setting);
    with_each!(alltoallv: AlltoallvAlgorithm, check_alltoallv, setting);
    // NCCL, with as many members on each node as any number that divides all.
    let on_each: Vec<u32> = (1..=setting.size)
        .filter(|&each| setting.size.is_multiple_of(each))
        .collect();
    let each = on_each[setting.seed as usize % on_each.len()];
    let node_of_member: Vec<u32> = (0..setting.size).map(|member| member / each).collect();
    let nccl = Algorithms {
        family: Family::Nccl,
        nodes: Some(Nodes::new(&node_of_member)),
        nccl: Nccl {
            channels: setting.seed as u32 % 4 + 1,
            ..Nccl::default()
        },
        ..algorithms()
    };
    // By the tuner, with as many lanes as little data gets, and named, with all.
    let rings = Algorithms {
        family: Family::Mpich,
        broadcast: Some(BroadcastAlgorithm::ChannelRings),
        reduce: Some(ReduceAlgorithm::ChannelRings),
        allreduce: Some(AllreduceAlgorithm::ChannelRings),
        allgather: Some(AllgatherAlgorithm::ChannelRings),
        reduce_scatter: Some(ReduceScatterAlgorithm::ChannelRings),
        ..nccl.clone()
    };
    let trees = Algorithms {
        allreduce: Some(AllreduceAlgorithm::DoubleTree),
        ..rings.clone()
    };
    for algorithms in [nccl, rings, trees] {
        check_broadcast(&algorithms, setting);
        check_reduce(&algorithms, setting);
        check_allreduce(&algorithms, setting);
        check_allgather(&algorithms, setting);
        check_reduce_scatter(&algorithms, setting);
    }
    let hierarchical = grouped(AlltoallAlgorithm::Hierarchical, setting);
    check_alltoall(&hierarchical, setting);
    check_gatherv_and_scatterv(&algorithms(), setting);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn data_gets_where_it_should(setting in settings()) {
        check_everything(setting);
    }
}

/// Every size up to 40, which random ones may miss.
#[test]
fn every_number_of_members() {
    for size in 1..=40 {
        check_everything(Setting {
            size,
            root: size / 2,
            bytes: 43,
            network: Network::Synchronous,
            seed: u64::from(size),
        });
    }
}
