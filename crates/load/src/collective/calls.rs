//! Makes the calls: each algorithm as a sequence of phases.

use std::sync::Arc;

use odonata_units::Bytes;

use super::algorithms::{
    Algorithms, AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, AlltoallvAlgorithm,
    BarrierAlgorithm, BroadcastAlgorithm, Family, GatherAlgorithm, ReduceAlgorithm,
    ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm,
};
use super::data::{Blocks, Data};
use super::exchange::{Folding, Tree};
use super::nccl::{NcclAlgorithm, Nodes, Protocol, Tuned};
use super::phase::{Facing, Order, Pattern, Phase};
use super::{CollectiveCall, PHASE_TAGS};
use crate::communicator::Member;
use crate::error::LoadError;
use crate::program::CollectiveKind;

/// Members with which a scattered all-to-all talks at once
/// (`MPIR_CVAR_ALLTOALL_THROTTLE` of MPICH).
const BATCH: u32 = 32;

/// Members with which a channel of NCCL exchanges at once (`NCCL_MAX_DEV_WORK_P2P_PER_BATCH`).
const PAIRS_OF_CHANNEL: u32 = 8;

/// Phases that tags can tell apart.
const MOST_PHASES: usize = (1 << 16) / PHASE_TAGS as usize;

/// Largest power of two up to `size`.
fn power_of_two(size: u32) -> u32 {
    1 << size.ilog2()
}

/// Data of `total` bytes in segments of at most `segment`.
fn segmented(total: Bytes, segment: Bytes) -> Data {
    let parts = total.0.div_ceil(segment.0.max(1)).max(1);
    Data::Split {
        total,
        parts: u32::try_from(parts).unwrap_or(u32::MAX),
    }
}

fn whole(total: Bytes) -> Data {
    Data::Split { total, parts: 1 }
}

/// What a lane has of this many bytes.
fn share_of(bytes: Bytes, lane: u32, lanes: u32) -> Bytes {
    let up_to = |lane: u32| u128::from(bytes.0) * u128::from(lane) / u128::from(lanes);
    Bytes((up_to(lane + 1) - up_to(lane)) as u64)
}

/// What a lane has of data.
fn shared(data: &Data, lane: u32, lanes: u32) -> Data {
    let share = |bytes| share_of(bytes, lane, lanes);
    match data {
        Data::Equal { block, parts } => Data::Equal {
            block: share(*block),
            parts: *parts,
        },
        Data::Split { total, parts } => Data::Split {
            total: share(*total),
            parts: *parts,
        },
        Data::Listed(sizes) => Data::Listed(sizes.iter().map(|&size| share(size)).collect()),
        Data::Nothing | Data::Own { .. } => data.clone(),
    }
}

/// NCCL's way to carry out a call.
struct Way {
    algorithm: NcclAlgorithm,
    protocol: Protocol,
    /// That share the vector.
    channels: u32,
    /// That enter nodes at different ranks; the others enter where one of these does.
    found: u32,
    per_node: u32,
    /// Data of a message along a tree or chain.
    chunk: Bytes,
}

/// By which of NCCL's algorithms a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NcclWay {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// How data is put on the wire; `None` of sends and receives, which no tuner chooses for.
    pub protocol: Option<Protocol>,
    /// Channels that share the vector; `None` likewise.
    pub channels: Option<u32>,
}

/// What an algorithm of NCCL is called among those of operations.
fn name_of(algorithm: NcclAlgorithm) -> &'static str {
    match algorithm {
        NcclAlgorithm::Tree => AllreduceAlgorithm::DoubleTree.name(),
        NcclAlgorithm::Ring => AllreduceAlgorithm::ChannelRings.name(),
        NcclAlgorithm::Pat => AllgatherAlgorithm::Pat.name(),
    }
}

impl Way {
    /// The rank of each node at which a channel enters.
    fn turn(&self, channel: u32) -> u32 {
        channel % self.found * self.per_node / self.found
    }
}

/// Phases in the making, all with the same root.
struct Phases {
    root: Member,
    order: Order,
    lanes: u32,
    protocol: Protocol,
    phases: Vec<Phase>,
}

impl Phases {
    fn from(root: Member) -> Self {
        Self {
            root,
            order: Order::Numbers,
            lanes: 1,
            protocol: Protocol::default(),
            phases: Vec::new(),
        }
    }

    fn then(self, pattern: Pattern, data: &Data) -> Self {
        let root = self.root;
        self.then_from(root, pattern, data)
    }

    /// With another root.
    fn then_from(mut self, root: Member, pattern: Pattern, data: &Data) -> Self {
        self.phases.push(Phase {
            pattern,
            data: data.clone(),
            root,
            order: self.order,
            repeats: None,
        });
        self
    }

    /// These patterns, one after the other, around the ring of each channel with its share.
    fn rings(mut self, way: &Way, patterns: &[Pattern], data: impl Fn(u32, u32) -> Data) -> Self {
        (self.lanes, self.protocol) = (way.channels, way.protocol);
        for lane in 0..self.lanes {
            self.order = Order::Nodes {
                per_node: way.per_node,
                turn: way.turn(lane),
                nodes: Facing::Forward,
            };
            let data = data(lane, self.lanes);
            for pattern in patterns {
                self = self.then(pattern.clone(), &data);
            }
        }
        self
    }

    /// Up and down a tree for each channel, in lanes of their own that meet at the root.
    fn trees(mut self, way: &Way, bytes: Bytes, size: u32) -> Self {
        (self.lanes, self.protocol) = (2 * way.channels, way.protocol);
        let tree = Tree::OfNodes {
            per_node: way.per_node,
        };
        let even = (size / way.per_node).is_multiple_of(2);
        for channel in 0..way.channels {
            self.order = Order::Nodes {
                per_node: way.per_node,
                turn: way.turn(channel),
                nodes: match (channel < way.found, even) {
                    (true, _) => Facing::Forward,
                    (false, true) => Facing::Backward,
                    (false, false) => Facing::Shifted,
                },
            };
            let data = segmented(share_of(bytes, channel, way.channels), way.chunk);
            let top = Member(self.order.member(0, size));
            for pattern in [Pattern::UpAndBack(tree), Pattern::DownBeside(tree)] {
                self = self.then_from(top, pattern, &data);
            }
        }
        self
    }

    /// Members beyond a power of two get the result, if there are any.
    fn folded_out(self, size: u32, folding: Folding, data: &Data) -> Self {
        match size.is_power_of_two() {
            true => self,
            false => self.then(Pattern::FoldOut(folding), data),
        }
    }

    /// `inner` among a power of two of members, with the others folded in before
    /// and out after, if there are any.
    fn folded(
        self,
        size: u32,
        before: Folding,
        after: Option<Folding>,
        data: &Data,
        inner: impl FnOnce(Self) -> Self,
    ) -> Self {
        if size.is_power_of_two() {
            return inner(self);
        }
        let folded = inner(self.then(Pattern::FoldIn(before), data));
        match after {
            Some(after) => folded.then(Pattern::FoldOut(after), data),
            None => folded,
        }
    }

    fn broadcast(
        self,
        algorithm: BroadcastAlgorithm,
        segment: Bytes,
        bytes: Bytes,
        size: u32,
    ) -> Self {
        let blocks = Data::Split {
            total: bytes,
            parts: size,
        };
        match algorithm {
            BroadcastAlgorithm::Linear => self.then(Pattern::Spread, &whole(bytes)),
            BroadcastAlgorithm::Binomial => self.then(Pattern::Down(Tree::Binomial), &whole(bytes)),
            BroadcastAlgorithm::BinomialAtOnce => {
                self.then(Pattern::DownAtOnce(Tree::Doubling), &whole(bytes))
            }
            BroadcastAlgorithm::Binary => self.then(
                Pattern::DownAtOnce(Tree::Levels),
                &segmented(bytes, segment),
            ),
            BroadcastAlgorithm::SplitBinary => {
                let half = segmented(Bytes(bytes.0.div_ceil(2)), segment);
                let halves = Data::Split {
                    total: bytes,
                    parts: half.parts().saturating_mul(2),
                };
                self.then(Pattern::SplitDown, &halves)
                    .then(Pattern::SwapHalves, &halves)
            }
            BroadcastAlgorithm::Chain => {
                self.then(Pattern::Down(Tree::Chain), &segmented(bytes, segment))
            }
            BroadcastAlgorithm::Chains => self.then(
                Pattern::DownAtOnce(Tree::Chains),
                &segmented(bytes, segment),
            ),
            BroadcastAlgorithm::Knomial => {
                self.then(Pattern::Down(Tree::Knomial), &segmented(bytes, segment))
            }
            BroadcastAlgorithm::ChannelRings => unreachable!("by the way of NCCL"),
            BroadcastAlgorithm::Bine => self.then(Pattern::BineDown, &whole(bytes)).folded_out(
                size,
                Folding::All,
                &whole(bytes),
            ),
            BroadcastAlgorithm::BineAtOnce | BroadcastAlgorithm::BineNearAtOnce => {
                let near = algorithm == BroadcastAlgorithm::BineNearAtOnce;
                self.then(Pattern::BineDownAtOnce { near }, &whole(bytes))
                    .folded_out(size, Folding::All, &whole(bytes))
            }
            BroadcastAlgorithm::BineScatterAllgather => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                self.then(Pattern::BineSpread, &blocks)
                    .then(Pattern::BineDoubling, &blocks)
                    .folded_out(size, Folding::All, &blocks)
            }
            BroadcastAlgorithm::ScatterRecursiveDoubling => {
                let scattered = self.then(Pattern::ScatterTree, &blocks);
                scattered.gather_doubling(size, &blocks)
            }
            BroadcastAlgorithm::ScatterRing => self
                .then(Pattern::ScatterTree, &blocks)
                .then(Pattern::RingGather, &blocks),
        }
    }

    fn gather_doubling(self, size: u32, blocks: &Data) -> Self {
        let inner = |phases: Self| phases.then(Pattern::GatherDoubling, blocks);
        self.folded(size, Folding::Own, Some(Folding::All), blocks, inner)
    }

    fn reduce(self, algorithm: ReduceAlgorithm, segment: Bytes, bytes: Bytes, size: u32) -> Self {
        match algorithm {
            ReduceAlgorithm::Linear => self.then(Pattern::Up(Tree::Flat), &whole(bytes)),
            ReduceAlgorithm::Binomial => self.then(Pattern::Up(Tree::Binomial), &whole(bytes)),
            ReduceAlgorithm::Binary => self.then(
                Pattern::UpOverlapped(Tree::Levels),
                &segmented(bytes, segment),
            ),
            ReduceAlgorithm::Chain => {
                self.then(Pattern::Up(Tree::Chain), &segmented(bytes, segment))
            }
            ReduceAlgorithm::Chains => self.then(
                Pattern::UpOverlapped(Tree::Chains),
                &segmented(bytes, segment),
            ),
            ReduceAlgorithm::BinomialOverlapped => self.then(
                Pattern::UpOverlapped(Tree::Binomial),
                &segmented(bytes, segment),
            ),
            ReduceAlgorithm::ChannelRings => unreachable!("by the way of NCCL"),
            ReduceAlgorithm::Knomial => self.then(Pattern::Up(Tree::Knomial), &whole(bytes)),
            ReduceAlgorithm::Bine => {
                self.folded(size, Folding::Combined, None, &whole(bytes), |phases| {
                    phases.then(Pattern::BineUp, &whole(bytes))
                })
            }
            ReduceAlgorithm::Rabenseifner => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                self.folded(size, Folding::Combined, None, &blocks, |phases| {
                    phases
                        .then(Pattern::NearHalving, &blocks)
                        .then(Pattern::NearGather, &blocks)
                })
            }
            ReduceAlgorithm::BineScatterGather => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                self.folded(size, Folding::Combined, None, &blocks, |phases| {
                    phases
                        .then(Pattern::BineHalving, &blocks)
                        .then(Pattern::BineCollect, &blocks)
                })
            }
            ReduceAlgorithm::InOrderBinary => {
                let last = Member(size - 1);
                let from = (last.0 + size - self.root.0) % size;
                let segments = segmented(bytes, segment);
                self.then_from(last, Pattern::UpOverlapped(Tree::InOrder), &segments)
                    .then(Pattern::HandOver { from }, &whole(bytes))
            }
        }
    }
}

impl Algorithms {
    fn call(&self, kind: CollectiveKind, phases: Phases) -> CollectiveCall {
        debug_assert!(phases.phases.len() <= MOST_PHASES);
        CollectiveCall {
            kind,
            combine: self.combine,
            lanes: phases.lanes,
            protocol: phases.protocol,
            phases: phases.phases.into(),
        }
    }

    /// NCCL's way for a vector of these bytes, all blocks together: what its tuner chooses where
    /// the library is NCCL, among all algorithms or of the one that is named.
    fn way(&self, operation: Tuned, named: Option<NcclAlgorithm>, bytes: Bytes, size: u32) -> Way {
        let per_node = Nodes::per_node(self.nodes, size);
        let nccl = match self.family {
            Family::Nccl => &self.nccl.with_ranks(per_node),
            _ => &self.nccl,
        };
        let (algorithm, protocol, channels, found) = match (self.family, named) {
            (Family::Nccl, _) => {
                let allowed = named
                    .as_ref()
                    .map_or(&*nccl.algorithms, std::slice::from_ref);
                let (algorithm, protocol) = nccl.chosen(operation, allowed, bytes, size, per_node);
                let channels = nccl.channels(algorithm, protocol, bytes, size);
                (algorithm, protocol, channels, nccl.found())
            }
            // By name alone: a ring, or two trees, for each channel.
            (_, Some(NcclAlgorithm::Tree)) => {
                let channels = nccl.found().next_multiple_of(2);
                let simple = Protocol::default();
                (NcclAlgorithm::Tree, simple, channels, channels / 2)
            }
            (_, named) => {
                let algorithm = named.unwrap_or(NcclAlgorithm::Ring);
                (algorithm, Protocol::default(), nccl.found(), nccl.found())
            }
        };
        Way {
            algorithm,
            protocol,
            channels,
            found,
            per_node,
            chunk: nccl.chunk(algorithm, protocol, bytes, size, per_node),
        }
    }

    /// The algorithm that the rules of the library choose, by name, the size of its segments if
    /// they say so, and NCCL's protocol. Of a double tree a segment is what goes along all trees at
    /// a time.
    ///
    /// Args: as [`Family::chosen`].
    ///
    /// # Errors
    /// If it is no operation that has blocks of one size or a vector.
    pub fn chosen(
        &self,
        operation: &str,
        bytes: Bytes,
        size: u32,
    ) -> Result<(&'static str, Option<Bytes>, Option<Protocol>), LoadError> {
        let (name, segment) = self.family.chosen(operation, bytes, size)?;
        Ok(match self.way_of(operation, None, bytes, size) {
            Some(way) => {
                let at_once = way.chunk.0 * u64::from(way.channels);
                let tree = way.algorithm == NcclAlgorithm::Tree;
                let segment = tree.then_some(Bytes(at_once));
                (name_of(way.algorithm), segment, Some(way.protocol))
            }
            None => (name, segment, None),
        })
    }

    /// By which of NCCL's algorithms an operation is carried out with a vector of these bytes, or
    /// blocks: the one of this name, or what its tuner chooses. `None` if the library is another or the
    /// algorithm that of one, and for barriers and scans, which NCCL does not have.
    pub fn of_nccl(
        &self,
        operation: &str,
        named: Option<&str>,
        bytes: Bytes,
        size: u32,
    ) -> Option<NcclWay> {
        if self.family != Family::Nccl {
            return None;
        }
        let rounds = AlltoallAlgorithm::Rounds.name();
        if operation == "alltoall" {
            let by_rounds = named.is_none_or(|name| name == rounds);
            return by_rounds.then_some(NcclWay {
                algorithm: rounds,
                protocol: None,
                channels: None,
            });
        }
        let known = |name: &str| {
            let mut all = NcclAlgorithm::ALL.iter().copied();
            all.find(|&one| name_of(one) == name)
        };
        let named = match named {
            None => None,
            Some(name) => Some(known(name)?),
        };
        let way = self.way_of(operation, named, bytes, size)?;
        Some(NcclWay {
            algorithm: name_of(way.algorithm),
            protocol: Some(way.protocol),
            channels: Some(way.channels),
        })
    }

    /// What NCCL's tuner says of an operation, if it has a say.
    fn way_of(
        &self,
        operation: &str,
        named: Option<NcclAlgorithm>,
        bytes: Bytes,
        size: u32,
    ) -> Option<Way> {
        let total = Bytes(bytes.0.saturating_mul(u64::from(size)));
        let (tuned, bytes) = match operation {
            "allreduce" => (Tuned::Allreduce, bytes),
            "allgather" | "reduce-scatter" => (Tuned::Allgather, total),
            "broadcast" | "reduce" => (Tuned::Broadcast, bytes),
            _ => return None,
        };
        (self.family == Family::Nccl).then(|| self.way(tuned, named, bytes, size))
    }

    fn broadcast_phases(&self, phases: Phases, bytes: Bytes, size: u32) -> Phases {
        let (algorithm, segment) = match self.broadcast {
            Some(algorithm) => (algorithm, None),
            None => self.family.broadcast(bytes, size),
        };
        if algorithm == BroadcastAlgorithm::ChannelRings {
            return self.along_rings(phases, Pattern::Down(Tree::Chain), bytes, size);
        }
        phases.broadcast(algorithm, segment.unwrap_or(self.segment), bytes, size)
    }

    fn reduce_phases(&self, phases: Phases, bytes: Bytes, size: u32) -> Phases {
        let (algorithm, segment) = match self.reduce {
            Some(algorithm) => (algorithm, None),
            None => self.family.reduce(bytes, size),
        };
        if algorithm == ReduceAlgorithm::ChannelRings {
            return self.along_rings(phases, Pattern::Up(Tree::Chain), bytes, size);
        }
        phases.reduce(algorithm, segment.unwrap_or(self.segment), bytes, size)
    }

    /// Chunks from each member of a ring to the next.
    fn along_rings(&self, phases: Phases, pattern: Pattern, bytes: Bytes, size: u32) -> Phases {
        let way = self.way(Tuned::Broadcast, Some(NcclAlgorithm::Ring), bytes, size);
        phases.rings(&way, &[pattern], |lane, lanes| {
            segmented(share_of(bytes, lane, lanes), way.chunk)
        })
    }

    /// Gathers blocks of `block` bytes, or about this many.
    fn gather_phases(&self, phases: Phases, blocks: &Data, block: Bytes, size: u32) -> Phases {
        let algorithm = self.gather;
        let pattern = match algorithm.unwrap_or_else(|| self.family.gather(block, size)) {
            GatherAlgorithm::Linear => Pattern::Gather,
            GatherAlgorithm::LinearInTurn => Pattern::GatherInTurn,
            GatherAlgorithm::LinearSync => Pattern::GatherAsked,
            GatherAlgorithm::Binomial => Pattern::GatherTree,
            GatherAlgorithm::Bine => Pattern::BineGather,
        };
        match &pattern {
            Pattern::BineGather => phases.folded(size, Folding::Own, None, blocks, |phases| {
                phases.then(Pattern::BineGather, blocks)
            }),
            _ => phases.then(pattern, blocks),
        }
    }

    /// `MPI_Barrier` among `size` members: nobody leaves before all have entered.
    pub fn barrier(&self, size: u32) -> CollectiveCall {
        let phases = Phases::from(Member(0));
        let nothing = Data::Nothing;
        let algorithm = self.barrier.unwrap_or_else(|| self.family.barrier(size));
        let up_and_down = |phases: Phases, tree| {
            phases
                .then(Pattern::Up(tree), &nothing)
                .then(Pattern::Down(tree), &nothing)
        };
        let phases = match algorithm {
            BarrierAlgorithm::Dissemination => phases.then(Pattern::Dissemination, &nothing),
            BarrierAlgorithm::RecursiveDoubling => {
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &nothing, |phases| {
                    phases.then(Pattern::CombineDoubling, &nothing)
                })
            }
            BarrierAlgorithm::Tree => up_and_down(phases, Tree::Binomial),
            BarrierAlgorithm::Linear => phases
                .then(Pattern::Up(Tree::Flat), &nothing)
                .then(Pattern::Spread, &nothing),
        };
        self.call(CollectiveKind::Barrier, phases)
    }

    /// `MPI_Bcast` of `bytes` from `root` among `size` members.
    pub fn broadcast(&self, root: Member, bytes: Bytes, size: u32) -> CollectiveCall {
        let phases = self.broadcast_phases(Phases::from(root), bytes, size);
        self.call(CollectiveKind::Broadcast, phases)
    }

    /// `MPI_Reduce` of vectors of `bytes` to `root` among `size` members.
    pub fn reduce(&self, root: Member, bytes: Bytes, size: u32) -> CollectiveCall {
        let phases = self.reduce_phases(Phases::from(root), bytes, size);
        self.call(CollectiveKind::Reduce, phases)
    }

    /// `MPI_Allreduce` of vectors of `bytes` among `size` members.
    pub fn allreduce(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        let phases = Phases::from(Member(0));
        let algorithm = self.allreduce.unwrap_or_else(|| {
            let tuned = || self.way(Tuned::Allreduce, None, bytes, size).algorithm;
            match self.family {
                Family::Nccl if tuned() == NcclAlgorithm::Tree => AllreduceAlgorithm::DoubleTree,
                family => family.allreduce(bytes, size),
            }
        });
        let phases = match algorithm {
            AllreduceAlgorithm::ChannelRings => {
                let way = self.way(Tuned::Allreduce, Some(NcclAlgorithm::Ring), bytes, size);
                let data = Data::Split {
                    total: bytes,
                    parts: size,
                };
                let patterns = [Pattern::RingReduce, Pattern::RingGather];
                phases.rings(&way, &patterns, |lane, lanes| shared(&data, lane, lanes))
            }
            AllreduceAlgorithm::DoubleTree => {
                let way = self.way(Tuned::Allreduce, Some(NcclAlgorithm::Tree), bytes, size);
                phases.trees(&way, bytes, size)
            }
            AllreduceAlgorithm::RecursiveDoubling => {
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &whole(bytes), |phases| {
                    phases.then(Pattern::CombineDoubling, &whole(bytes))
                })
            }
            AllreduceAlgorithm::Rabenseifner => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &blocks, |phases| {
                    phases
                        .then(Pattern::NearHalving, &blocks)
                        .then(Pattern::NearDoubling, &blocks)
                })
            }
            AllreduceAlgorithm::Ring => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: size,
                };
                phases
                    .then(Pattern::RingReduce, &blocks)
                    .then(Pattern::RingGather, &blocks)
            }
            AllreduceAlgorithm::SegmentedRing => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: size,
                };
                // Those of the largest block, for all; tags and blocks have to be counted.
                let segments = segmented(Bytes(bytes.0.div_ceil(u64::from(size))), self.segment);
                let segments = segments.parts().min(u32::MAX / size);
                let split = Data::Split {
                    total: bytes,
                    parts: size * segments,
                };
                phases
                    .then(Pattern::RingReduceSegments(segments), &split)
                    .then(Pattern::RingGather, &blocks)
            }
            AllreduceAlgorithm::Bine => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &blocks, |phases| {
                    phases
                        .then(Pattern::BineHalving, &blocks)
                        .then(Pattern::BineDoubling, &blocks)
                })
            }
            AllreduceAlgorithm::BineSegmented => {
                let stay = power_of_two(size);
                let block = bytes.0.div_ceil(u64::from(stay)).max(1);
                let segment = self.segment.0.max(1);
                // Blocks of several segments, or segments of several blocks; both counted.
                let split = block.div_ceil(segment).min(u64::from(u32::MAX / stay)) as u32;
                let each = (segment / block).clamp(1, u64::from(stay)) as u32;
                let split_blocks = Data::Split {
                    total: bytes,
                    parts: stay * split,
                };
                let blocks = Data::Split {
                    total: bytes,
                    parts: stay,
                };
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &blocks, |phases| {
                    phases
                        .then(Pattern::BineHalvingSegments { split, each }, &split_blocks)
                        .then(Pattern::BineDoubling, &blocks)
                })
            }
            AllreduceAlgorithm::BineLatency => {
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &whole(bytes), |phases| {
                    phases.then(Pattern::BineCombine, &whole(bytes))
                })
            }
            AllreduceAlgorithm::ReduceBroadcast => {
                let reduced = self.reduce_phases(phases, bytes, size);
                self.broadcast_phases(reduced, bytes, size)
            }
            AllreduceAlgorithm::BineBlocks if size.is_multiple_of(2) => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: size,
                };
                phases
                    .then(Pattern::BineBlocks { combines: true }, &blocks)
                    .then(Pattern::BineBlocks { combines: false }, &blocks)
            }
            AllreduceAlgorithm::BineBlocks => {
                let blocks = Data::Split {
                    total: bytes,
                    parts: power_of_two(size),
                };
                let (before, after) = (Folding::Combined, Some(Folding::All));
                phases.folded(size, before, after, &blocks, |phases| {
                    phases
                        .then(Pattern::BineBlocks { combines: true }, &blocks)
                        .then(Pattern::BineBlocks { combines: false }, &blocks)
                })
            }
        };
        self.call(CollectiveKind::Allreduce, phases)
    }

    /// `MPI_Gather` of `bytes` from each of `size` members to `root`.
    pub fn gather(&self, root: Member, bytes: Bytes, size: u32) -> CollectiveCall {
        let blocks = Data::Equal {
            block: bytes,
            parts: size,
        };
        let phases = self.gather_phases(Phases::from(root), &blocks, bytes, size);
        self.call(CollectiveKind::Gather, phases)
    }

    /// `MPI_Scatter` of `bytes` to each of `size` members from `root`.
    pub fn scatter(&self, root: Member, bytes: Bytes, size: u32) -> CollectiveCall {
        let algorithm = self.scatter;
        let pattern = match algorithm.unwrap_or_else(|| self.family.scatter(bytes, size)) {
            ScatterAlgorithm::Linear => Pattern::Scatter,
            ScatterAlgorithm::LinearInTurn => Pattern::ScatterInTurn,
            ScatterAlgorithm::Binomial => Pattern::ScatterTree,
            ScatterAlgorithm::Bine => Pattern::BineScatter,
        };
        let blocks = Data::Equal {
            block: bytes,
            parts: size,
        };
        let folds = pattern == Pattern::BineScatter;
        let phases = Phases::from(root).then(pattern, &blocks);
        let phases = match folds {
            true => phases.folded_out(size, Folding::Own, &blocks),
            false => phases,
        };
        self.call(CollectiveKind::Scatter, phases)
    }

    /// `MPI_Gatherv` to `root`, always linear: this member has `own` bytes, and
    /// the root gets `all` (one entry per member; of the others' calls it may be
    /// empty). Who has nothing sends nothing.
    pub fn gatherv(&self, root: Member, own: Bytes, all: Arc<[Bytes]>) -> CollectiveCall {
        let data = Data::Own {
            sends: [own].into(),
            receives: from_root(root, &all),
        };
        let phases = Phases::from(root).then(Pattern::Gather, &data);
        self.call(CollectiveKind::Gather, phases)
    }

    /// `MPI_Scatterv` from `root`, always linear: this member gets `own` bytes,
    /// and the root sends `all` (one entry per member; of the others' calls it
    /// may be empty). Who gets nothing receives nothing.
    pub fn scatterv(&self, root: Member, own: Bytes, all: Arc<[Bytes]>) -> CollectiveCall {
        let data = Data::Own {
            sends: from_root(root, &all),
            receives: [own].into(),
        };
        let phases = Phases::from(root).then(Pattern::Scatter, &data);
        self.call(CollectiveKind::Scatter, phases)
    }

    /// `MPI_Allgather` of `bytes` from each of `size` members.
    pub fn allgather(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        let blocks = Data::Equal {
            block: bytes,
            parts: size,
        };
        let total = blocks.bytes(Blocks::All);
        self.allgather_of(&blocks, size, self.family.allgather(total, size))
    }

    /// `MPI_Allgatherv` of these bytes, one entry per member.
    pub fn allgatherv(&self, sizes: Arc<[Bytes]>) -> CollectiveCall {
        let size = sizes.len() as u32;
        let blocks = Data::Listed(sizes);
        let total = blocks.bytes(Blocks::All);
        self.allgather_of(&blocks, size, self.family.allgatherv(total, size))
    }

    fn allgather_of(
        &self,
        blocks: &Data,
        size: u32,
        automatic: AllgatherAlgorithm,
    ) -> CollectiveCall {
        let phases = Phases::from(Member(0));
        let total = blocks.bytes(Blocks::All);
        let way = |named| self.way(Tuned::Allgather, named, total, size);
        let automatic = match self.family {
            Family::Nccl if way(None).algorithm == NcclAlgorithm::Pat => AllgatherAlgorithm::Pat,
            _ => automatic,
        };
        let phases = match self.allgather.unwrap_or(automatic) {
            AllgatherAlgorithm::ChannelRings => {
                let way = way(Some(NcclAlgorithm::Ring));
                phases.rings(&way, &[Pattern::RingGather], |lane, lanes| {
                    shared(blocks, lane, lanes)
                })
            }
            AllgatherAlgorithm::Pat => phases.then(Pattern::PatGather, blocks),
            AllgatherAlgorithm::Bruck => phases.then(Pattern::Bruck, blocks),
            AllgatherAlgorithm::BruckOfMany => phases.then(Pattern::BruckOfMany, blocks),
            AllgatherAlgorithm::Sparbit => phases.then(Pattern::Sparbit, blocks),
            AllgatherAlgorithm::Bine => {
                let (before, after) = (Folding::Own, Some(Folding::All));
                phases.folded(size, before, after, blocks, |phases| {
                    phases
                        .then(Pattern::BineSwap { home: false }, blocks)
                        .then(Pattern::BineDoubling, blocks)
                })
            }
            AllgatherAlgorithm::BineBlocks if size.is_multiple_of(2) => {
                phases.then(Pattern::BineBlocks { combines: false }, blocks)
            }
            AllgatherAlgorithm::BineTwoBlocks | AllgatherAlgorithm::BineBlocks => {
                let pattern = match self.allgather {
                    Some(AllgatherAlgorithm::BineTwoBlocks) => Pattern::BineTwoBlocks,
                    _ => Pattern::BineBlocks { combines: false },
                };
                let (before, after) = (Folding::Own, Some(Folding::All));
                phases.folded(size, before, after, blocks, |phases| {
                    phases.then(pattern, blocks)
                })
            }
            AllgatherAlgorithm::NeighbourExchange if size.is_multiple_of(2) => {
                phases.then(Pattern::Neighbours, blocks)
            }
            AllgatherAlgorithm::Ring | AllgatherAlgorithm::NeighbourExchange => {
                phases.then(Pattern::RingGather, blocks)
            }
            AllgatherAlgorithm::RecursiveDoubling => phases.gather_doubling(size, blocks),
            AllgatherAlgorithm::GatherBroadcast => {
                let block = Bytes(total.0 / u64::from(size));
                let gathered = self.gather_phases(phases, blocks, block, size);
                self.broadcast_phases(gathered, total, size)
            }
        };
        self.call(CollectiveKind::Allgather, phases)
    }

    /// `MPI_Alltoall` of `bytes` from each to each of `size` members.
    pub fn alltoall(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        let automatic = || self.family.alltoall(bytes, size);
        let groups = self.groups.as_ref().filter(|groups| groups.size() == size);
        let algorithm = match (self.alltoall, groups) {
            (Some(AlltoallAlgorithm::Hierarchical), None) | (None, _) => automatic(),
            (Some(algorithm), _) => algorithm,
        };
        let pattern = match algorithm {
            AlltoallAlgorithm::Bine if size.is_power_of_two() => Pattern::AllToAllBine,
            AlltoallAlgorithm::Bruck | AlltoallAlgorithm::Bine => Pattern::AllToAllBruck,
            AlltoallAlgorithm::Pairwise => Pattern::AllToAllPairwise,
            AlltoallAlgorithm::Linear => Pattern::AllToAllAtOnce { batch: None },
            AlltoallAlgorithm::Scattered => Pattern::AllToAllAtOnce { batch: Some(BATCH) },
            AlltoallAlgorithm::Rounds => Pattern::AllToAllAtOnce {
                batch: Some(PAIRS_OF_CHANNEL * self.nccl.most_channels()),
            },
            AlltoallAlgorithm::Hierarchical => {
                let groups = groups.expect("chosen only with groups");
                Pattern::AllToAllHierarchical(groups.clone())
            }
        };
        let blocks = Data::Equal {
            block: bytes,
            parts: size,
        };
        let phases = Phases::from(Member(0)).then(pattern, &blocks);
        self.call(CollectiveKind::Alltoall, phases)
    }

    /// `MPI_Alltoallv` or `MPI_Alltoallw`: what this member sends to each and
    /// receives from each, one entry per member.
    pub fn alltoallv(&self, sends: Arc<[Bytes]>, receives: Arc<[Bytes]>) -> CollectiveCall {
        let algorithm = self.alltoallv;
        let pattern = match algorithm.unwrap_or_else(|| self.family.alltoallv(sends.len() as u32)) {
            AlltoallvAlgorithm::Pairwise => Pattern::AllToAllPairwise,
            AlltoallvAlgorithm::Linear => Pattern::AllToAllAtOnce { batch: None },
            AlltoallvAlgorithm::Scattered => Pattern::AllToAllAtOnce { batch: Some(BATCH) },
        };
        let phases = Phases::from(Member(0)).then(pattern, &Data::Own { sends, receives });
        self.call(CollectiveKind::Alltoall, phases)
    }

    /// `MPI_Reduce_scatter`: member i gets these bytes of the result, one entry
    /// per member.
    pub fn reduce_scatter(&self, sizes: Arc<[Bytes]>) -> CollectiveCall {
        let size = sizes.len() as u32;
        self.reduce_scatter_of(&Data::Listed(sizes), size)
    }

    /// `MPI_Reduce_scatter_block`: each of `size` members gets `bytes` of the
    /// result.
    pub fn reduce_scatter_block(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        let blocks = Data::Equal {
            block: bytes,
            parts: size,
        };
        self.reduce_scatter_of(&blocks, size)
    }

    fn reduce_scatter_of(&self, blocks: &Data, size: u32) -> CollectiveCall {
        let phases = Phases::from(Member(0));
        let total = blocks.bytes(Blocks::All);
        let way = |named| self.way(Tuned::Allgather, named, total, size);
        let algorithm = self.reduce_scatter.unwrap_or_else(|| match self.family {
            Family::Nccl if way(None).algorithm == NcclAlgorithm::Pat => {
                ReduceScatterAlgorithm::Pat
            }
            family => family.reduce_scatter(total, size),
        });
        let phases = match algorithm {
            ReduceScatterAlgorithm::ChannelRings => {
                let way = way(Some(NcclAlgorithm::Ring));
                phases.rings(&way, &[Pattern::RingReduce], |lane, lanes| {
                    shared(blocks, lane, lanes)
                })
            }
            ReduceScatterAlgorithm::Pat => phases.then(Pattern::PatReduce, blocks),
            ReduceScatterAlgorithm::RecursiveHalving => {
                let (before, after) = (Folding::Combined, Some(Folding::Own));
                phases.folded(size, before, after, blocks, |phases| {
                    phases.then(Pattern::Halving, blocks)
                })
            }
            ReduceScatterAlgorithm::RecursiveDoubling => {
                let (before, after) = (Folding::Combined, Some(Folding::Own));
                phases.folded(size, before, after, blocks, |phases| {
                    phases.then(Pattern::CombineOthersDoubling, blocks)
                })
            }
            ReduceScatterAlgorithm::Bine => {
                let (before, after) = (Folding::Combined, Some(Folding::Own));
                phases.folded(size, before, after, blocks, |phases| {
                    phases
                        .then(Pattern::BineHalving, blocks)
                        .then(Pattern::BineSwap { home: true }, blocks)
                })
            }
            ReduceScatterAlgorithm::BineBlocks if size.is_multiple_of(2) => {
                phases.then(Pattern::BineBlocks { combines: true }, blocks)
            }
            ReduceScatterAlgorithm::BineBlocks => {
                let (before, after) = (Folding::Combined, Some(Folding::Own));
                phases.folded(size, before, after, blocks, |phases| {
                    phases.then(Pattern::BineBlocks { combines: true }, blocks)
                })
            }
            ReduceScatterAlgorithm::Butterfly => {
                let (before, after) = (Folding::Combined, Some(Folding::Own));
                phases.folded(size, before, after, blocks, |phases| {
                    phases
                        .then(Pattern::NearHalving, blocks)
                        .then(Pattern::NearHome, blocks)
                })
            }
            ReduceScatterAlgorithm::ReduceScatter => self
                .reduce_phases(phases, total, size)
                .then(Pattern::ScatterInTurn, blocks),
            ReduceScatterAlgorithm::Pairwise => phases.then(Pattern::PairwiseReduce, blocks),
            ReduceScatterAlgorithm::Ring => phases.then(Pattern::RingReduce, blocks),
        };
        self.call(CollectiveKind::ReduceScatter, phases)
    }

    /// `MPI_Scan` of vectors of `bytes` among `size` members.
    pub fn scan(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        self.scan_of(CollectiveKind::Scan, false, bytes, size)
    }

    /// `MPI_Exscan` of vectors of `bytes` among `size` members.
    pub fn exclusive_scan(&self, bytes: Bytes, size: u32) -> CollectiveCall {
        self.scan_of(CollectiveKind::ExclusiveScan, true, bytes, size)
    }

    fn scan_of(
        &self,
        kind: CollectiveKind,
        exclusive: bool,
        bytes: Bytes,
        _size: u32,
    ) -> CollectiveCall {
        let pattern = match self.scan.unwrap_or_else(|| self.family.scan()) {
            ScanAlgorithm::RecursiveDoubling => Pattern::PrefixDoubling { exclusive },
            ScanAlgorithm::Linear => Pattern::PrefixChain { exclusive },
        };
        let phases = Phases::from(Member(0)).then(pattern, &whole(bytes));
        self.call(kind, phases)
    }
}

/// A list by member as one by place.
fn from_root(root: Member, all: &[Bytes]) -> Arc<[Bytes]> {
    let mut places = all.to_vec();
    if !places.is_empty() {
        let root = root.0 as usize % places.len();
        places.rotate_left(root);
    }
    places.into()
}
