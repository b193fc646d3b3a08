//! NCCL's collectives: which algorithm and protocol its tuner chooses, and the trees that its
//! algorithms follow.
//!
//! Source: NVIDIA's NCCL (github.com/NVIDIA/nccl), `src/graph/tuning.cc` of releases 2.18.5, 2.21.5
//! and 2.28 (model and constants), `src/graph/search.cc` and `topo.h` of 2.28 (rates of channels),
//! `src/graph/connect.cc` (each channel twice) and
//! `src/graph/trees.cc` (double binary tree), `src/device/all_reduce.h` (`runTreeSplit`: up and down
//! at once), `src/enqueue.cc` (sizes of chunks), `src/include/device.h` (buffers), `src/include/collectives.h` (PAT). What the
//! algorithms are is also in Z. Hu et al., *Demystifying NCCL*, 2025. Left out: NVLS and CollNet,
//! which need switches that combine, and what PCI within a node changes.

use odonata_declare::Named;
use odonata_units::{Bandwidth, Bytes};
use serde::{Deserialize, Serialize};

use super::data::Blocks;
use super::exchange::{Exchange, Taking, Transfer, after, before, doublings};

/// How NCCL puts data on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
pub enum Protocol {
    /// Four bytes of data and four of a flag, which the receiver polls: shortest latency, half of
    /// the bandwidth.
    #[serde(rename = "ll")]
    Ll,
    /// 120 bytes of data and eight of a flag, over NVLink.
    #[serde(rename = "ll128")]
    Ll128,
    /// Data alone; sender and receiver synchronise by chunk.
    #[default]
    #[serde(rename = "simple")]
    Simple,
}

impl Protocol {
    /// Bytes that data takes on the wire.
    pub(super) fn on_wire(self, data: Bytes) -> Bytes {
        match self {
            Self::Ll => Bytes(data.0.saturating_mul(2)),
            Self::Ll128 => Bytes(data.0.saturating_add(data.0.div_ceil(15))),
            Self::Simple => data,
        }
    }

    /// Data of a chunk, of the default buffers: an eighth of 512 KiB, 4,800 KiB and 4 MiB.
    fn chunk(self) -> u64 {
        match self {
            Self::Ll => 32 * KIB,
            Self::Ll128 => 600 * KIB / 16 * 15,
            Self::Simple => 512 * KIB,
        }
    }
}

const KIB: u64 = 1024;

/// Algorithms that NCCL's tuner chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
pub enum NcclAlgorithm {
    /// Double binary tree: all-reductions.
    #[serde(rename = "tree")]
    Tree,
    /// Rings.
    #[serde(rename = "ring")]
    Ring,
    /// Parallel aggregated trees: all-gathers and reduce-scatters with one rank on each node, from
    /// 2.23 on.
    #[serde(rename = "pat")]
    Pat,
}

/// Releases whose tuner differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
pub enum NcclVersion {
    /// 2.18 to 2.20, by the constants of 2.18.5.
    #[serde(rename = "2.18")]
    Of2018,
    /// 2.21 and 2.22, by those of 2.21.5.
    #[serde(rename = "2.21")]
    Of2021,
    /// From 2.23 on, by those of 2.28.
    #[default]
    #[serde(rename = "2.28")]
    Of2028,
}

/// Generations of GPUs whose constants differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
pub enum Gpu {
    /// V100.
    #[serde(rename = "volta")]
    Volta,
    /// A100.
    #[serde(rename = "ampere")]
    Ampere,
    /// H100, H200.
    #[default]
    #[serde(rename = "hopper")]
    Hopper,
    /// B100, B200.
    #[serde(rename = "blackwell")]
    Blackwell,
}

/// What of a node NCCL's search makes channels of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLinks {
    /// Interfaces of a node.
    pub interfaces: u32,
    /// Rate of each.
    pub interface: Bandwidth,
    /// Rate at which a GPU sends to the others of its node; `None`: of all its NVLinks.
    pub inside: Option<Bandwidth>,
}

/// What NCCL's search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Channels between nodes.
    pub channels: u32,
    /// Bandwidth of all of them together.
    pub network: Bandwidth,
    /// The same within a node.
    pub within: Bandwidth,
}

impl Gpu {
    /// Channels' rates that the search tries, in GB/s: within a node and between nodes
    /// (`speedArrayIntra`, `speedArrayInter` and those of SM90 and SM100).
    const fn rates(self) -> [&'static [f64]; 2] {
        match self {
            Self::Volta | Self::Ampere => [
                &[
                    40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0,
                ],
                &[
                    48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0,
                    3.0, 2.4, 1.2, 0.24, 0.12,
                ],
            ],
            Self::Hopper => [
                &[
                    60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0,
                ],
                &[
                    48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0,
                    2.4, 1.2, 0.24, 0.12,
                ],
            ],
            Self::Blackwell => [
                &[
                    90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0,
                ],
                &[
                    96.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0,
                    6.0, 3.0, 2.4, 1.2, 0.24, 0.12,
                ],
            ],
        }
    }

    /// NVLinks of a GPU, their rate, and the rate that NCCL takes them for (`SM80_NVLINK_BW` and so
    /// on), in GB/s each direction.
    const fn links(self) -> (f64, f64, f64) {
        match self {
            Self::Volta => (6.0, 25.0, 20.0),
            Self::Ampere => (12.0, 25.0, 20.0),
            Self::Hopper => (18.0, 25.0, 20.6),
            Self::Blackwell => (18.0, 50.0, 40.1),
        }
    }

    /// What the search finds on nodes with these interfaces and links. It looks for channels of the
    /// highest rate first, and takes lower ones, down to half, if all together carry more
    /// (`ncclTopoCompute`, `ncclTopoCompareGraphs`).
    pub fn search(self, node: NodeLinks) -> Search {
        let [within, between] = self.rates();
        let found = |rate: f64, rates: &[f64]| {
            let mut best = (1, rate);
            let fitting = rates.iter().filter(|&&one| one <= rate);
            for (place, &one) in fitting.enumerate() {
                let count = (rate / one).floor();
                let (most, highest) = best;
                if place > 0 && one / highest <= 0.49 {
                    break;
                }
                if place == 0 || count * one > f64::from(most) * highest {
                    best = (count as u32, one);
                }
            }
            best
        };
        let gigabytes = |rate: Bandwidth| rate.bytes_per_second() as f64 / 1e9;
        let all = |count: f64, rate: f64, or: Bandwidth| {
            Bandwidth::new((count * rate * 1e9).round() as u64).unwrap_or(or)
        };
        let (each, rate) = found(gigabytes(node.interface), between);
        let channels = node.interfaces.saturating_mul(each);
        let (links, whole, taken) = self.links();
        let inside = node.inside.map_or(links * whole, gigabytes) * taken / whole;
        let (rings, speed) = found(inside, within);
        Search {
            channels: channels.clamp(1, MOST_CHANNELS),
            network: all(f64::from(channels), rate, node.interface),
            within: all(f64::from(rings), speed, node.interface),
        }
    }
}

/// Makers of processors whose constants differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
pub enum Cpu {
    /// Intel, and all that are not AMD.
    #[default]
    #[serde(rename = "intel")]
    Intel,
    /// AMD.
    #[serde(rename = "amd")]
    Amd,
}

/// Where the members of a communicator are: as many on each node, node after node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    per_node: u32,
    members: u32,
}

impl Nodes {
    /// From the node of each member. Where nodes have different numbers of members, or members of
    /// a node do not follow each other, each counts as a node of its own.
    pub fn new<N: Copy + Ord>(node_of_member: &[N]) -> Self {
        let members = node_of_member.len() as u32;
        let mut runs = node_of_member.chunk_by(|a, b| a == b);
        let first = runs.clone().next().map_or(1, <[N]>::len);
        let mut nodes: Vec<N> = runs.clone().map(|run| run[0]).collect();
        let count = nodes.len();
        nodes.sort_unstable();
        nodes.dedup();
        let alike = count == nodes.len() && runs.all(|run| run.len() == first);
        Self {
            per_node: if alike { first as u32 } else { 1 },
            members,
        }
    }

    /// Members on each node of a communicator of `size`: one where it has others than these.
    pub(super) fn per_node(nodes: Option<Self>, size: u32) -> u32 {
        match nodes {
            Some(nodes) if nodes.members == size => nodes.per_node,
            _ => 1,
        }
    }
}

/// What NCCL's tuner knows, and what it may choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nccl {
    /// Whose constants.
    pub version: NcclVersion,
    /// GPUs of all ranks.
    pub gpu: Gpu,
    /// Processors of all nodes.
    pub cpu: Cpu,
    /// Channels that its search finds where all GPUs of a node are used, which enter a node at
    /// different ranks: 1 to 8. There are two of each, with a share of the data each; of trees the
    /// second is of the other tree.
    pub channels: u32,
    /// Bandwidth of all of these channels together from a node to the next, as the tuner takes it.
    pub network: Bandwidth,
    /// The same between ranks of a node.
    pub within: Bandwidth,
    /// `NCCL_ALGO`; those that are allowed.
    pub algorithms: Box<[NcclAlgorithm]>,
    /// `NCCL_PROTO`; those that are allowed.
    pub protocols: Box<[Protocol]>,
}

impl Default for Nccl {
    /// A node with eight H100 and eight interfaces of 50 GB/s.
    fn default() -> Self {
        let rate = |rate| Bandwidth::new(rate).expect("a rate of links");
        Self {
            version: NcclVersion::default(),
            gpu: Gpu::default(),
            cpu: Cpu::default(),
            channels: 4,
            network: rate(384_000_000_000),
            within: rate(370_000_000_000),
            algorithms: NcclAlgorithm::ALL.into(),
            protocols: Protocol::ALL.into(),
        }
    }
}

/// Most channels, as tags have to tell them apart.
pub(super) const MOST_CHANNELS: u32 = 8;

/// Operations that the tuner chooses for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tuned {
    Allreduce,
    /// All-gathers and reduce-scatters.
    Allgather,
    /// Broadcasts and reductions.
    Broadcast,
}

/// Latencies in microseconds, for LL, LL128 and Simple.
type Latencies = [f64; 3];

impl NcclVersion {
    /// `baseLat` and, within a node over NVLink and between nodes, `hwLat`.
    fn latencies(self, algorithm: NcclAlgorithm) -> [Latencies; 3] {
        match (algorithm, self) {
            (NcclAlgorithm::Tree, Self::Of2018) => {
                [[6.8, 14.0, 0.0], [0.6, 1.25, 4.0], [5.0, 8.5, 14.0]]
            }
            (NcclAlgorithm::Tree, Self::Of2021) => {
                [[6.8, 14.0, 0.0], [0.6, 1.25, 28.0], [5.0, 8.5, 28.0]]
            }
            (NcclAlgorithm::Tree, Self::Of2028) => {
                [[6.8, 14.0, 8.4], [0.6, 1.25, 4.0], [5.0, 8.5, 14.0]]
            }
            (NcclAlgorithm::Ring, _) => [[6.6, 14.0, 8.4], [0.6, 1.9, 3.4], [2.7, 4.0, 14.0]],
            (NcclAlgorithm::Pat, _) => [[8.0; 3], [0.0, 0.0, 4.0], [0.0, 0.0, 14.0]],
        }
    }
}

/// `treeCorrectionFactor` by protocol: of vectors from 64 B on, doubling.
const TREE_CORRECTION: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8,
        0.9, 1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9,
        0.9, 0.9, 0.9, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8,
        0.7, 0.7, 0.8, 0.9, 0.9,
    ],
];

/// `log2i`.
fn log2(value: u64) -> u32 {
    value.max(1).ilog2()
}

impl Nccl {
    /// The algorithm and protocol with the shortest time that the tuner expects, among these
    /// algorithms; rings where the operation has none of them, as NCCL does.
    pub(super) fn chosen(
        &self,
        operation: Tuned,
        algorithms: &[NcclAlgorithm],
        bytes: Bytes,
        size: u32,
        per_node: u32,
    ) -> (NcclAlgorithm, Protocol) {
        let mut best = None;
        for &algorithm in algorithms {
            for &protocol in &self.protocols {
                let time = self.expected(operation, (algorithm, protocol), bytes, size, per_node);
                if let Some(time) = time
                    && best.is_none_or(|(shortest, _)| time < shortest)
                {
                    best = Some((time, (algorithm, protocol)));
                }
            }
        }
        match best {
            Some((_, found)) => found,
            None if algorithms == [NcclAlgorithm::Ring] => {
                (NcclAlgorithm::Ring, Protocol::default())
            }
            None => self.chosen(operation, &[NcclAlgorithm::Ring], bytes, size, per_node),
        }
    }

    /// Channels that the search finds.
    pub(super) fn found(&self) -> u32 {
        self.channels.clamp(1, MOST_CHANNELS)
    }

    /// What it finds with this many ranks on a node: a channel enters at each rank at most, through
    /// the interface next to it, and brings its share of the bandwidth.
    pub(super) fn with_ranks(&self, per_node: u32) -> Self {
        let all = self.found();
        let channels = all.min(per_node.max(1));
        let rate = self.network.bytes_per_second() / u64::from(all) * u64::from(channels);
        Self {
            channels,
            network: Bandwidth::new(rate).unwrap_or(self.network),
            ..self.clone()
        }
    }

    /// Channels that share a long vector: each of those found twice (`ncclTopoPostset`).
    pub(super) fn most_channels(&self) -> u32 {
        2 * self.found()
    }

    /// Channels that share a vector: fewer where each would have little, by the bytes that a thread
    /// has at least (`NCCL_LL_THREAD_THRESHOLD` and so on) of 512 or, of LL128, 640.
    pub(super) fn channels(
        &self,
        algorithm: NcclAlgorithm,
        protocol: Protocol,
        bytes: Bytes,
        size: u32,
    ) -> u32 {
        let least = match (algorithm, protocol) {
            (NcclAlgorithm::Ring, Protocol::Ll) => 512 * 8 * u64::from(size),
            (_, Protocol::Ll) => 512 * 8,
            (_, Protocol::Ll128) => 640 * 8,
            (_, Protocol::Simple) => 512 * 64,
        };
        (bytes.0 / least).clamp(1, u64::from(self.most_channels())) as u32
    }

    /// Microseconds that the tuner expects; `None`: it does not consider this.
    fn expected(
        &self,
        operation: Tuned,
        (algorithm, protocol): (NcclAlgorithm, Protocol),
        bytes: Bytes,
        size: u32,
        per_node: u32,
    ) -> Option<f64> {
        let nodes = size / per_node;
        let has = match algorithm {
            NcclAlgorithm::Ring => true,
            NcclAlgorithm::Tree => operation == Tuned::Allreduce,
            NcclAlgorithm::Pat => {
                operation == Tuned::Allgather
                    && protocol == Protocol::Simple
                    && per_node == 1
                    && self.version == NcclVersion::Of2028
            }
        };
        if !has {
            return None;
        }
        let rate = self.rate(operation, algorithm, protocol, size, nodes)?;
        let latency = self.latency(operation, algorithm, protocol, size, nodes);
        let correction = TREE_CORRECTION[protocol as usize].get(log2(bytes.0 >> 6) as usize);
        let rate = match (algorithm, correction) {
            (NcclAlgorithm::Tree, Some(factor)) => rate * factor,
            _ => rate,
        };
        let share = bytes.0 / (u64::from(self.most_channels()) * u64::from(size));
        let plateau = (algorithm, protocol) == (NcclAlgorithm::Ring, Protocol::Simple)
            && operation == Tuned::Allreduce
            && nodes > 1
            && share >= 64;
        let latency = match (plateau, self.gpu) {
            (false, _) => latency,
            (true, Gpu::Volta) => 1.9 * latency,
            (true, _) => 1.4 * latency,
        };
        Some(latency + bytes.0 as f64 / (1_000.0 * rate))
    }

    /// Gigabytes of the vector per second.
    fn rate(
        &self,
        operation: Tuned,
        algorithm: NcclAlgorithm,
        protocol: Protocol,
        size: u32,
        nodes: u32,
    ) -> Option<f64> {
        let [network, within] =
            [self.network, self.within].map(|rate| rate.bytes_per_second() as f64 / 1e9);
        let graph = match (nodes, algorithm) {
            (1, _) => within,
            // On two nodes the rate within them counts. The search for trees, other than that for
            // rings, raises it by itself, up to twice that between nodes (`ncclTopoCompute`).
            (2, NcclAlgorithm::Tree) => (2.0 * network).min(within),
            _ => network,
        };
        // One node, two, more.
        let index = nodes.min(3) as usize - 1;
        let channels = f64::from(self.found());
        let amd = self.cpu == Cpu::Amd;
        let ll_most: f64 = match (index, self.gpu, amd) {
            (0, Gpu::Volta, _) => 39.0,
            (0, Gpu::Ampere, _) => 87.7,
            (0, Gpu::Hopper, _) if self.version == NcclVersion::Of2018 => 87.7,
            (0, Gpu::Hopper, _) => 141.0,
            (0, Gpu::Blackwell, _) => 282.0,
            (1, _, false) => 39.0,
            (1, _, true) => 22.5,
            (_, _, false) => 20.4,
            (_, _, true) => 19.0,
        };
        let (ring_ll128, tree_ll128, tree) = match self.gpu {
            Gpu::Volta => (20.0, [20.0, 20.0, 20.0], [26.5, 18.5, 10.0]),
            Gpu::Ampere => (20.0, [20.0, 20.0, 20.0], [24.0, 23.6, 17.8]),
            Gpu::Hopper => (36.7, [36.7, 36.7, 29.0], [38.7, 41.4, 36.0]),
            Gpu::Blackwell => (40.0, [55.6, 31.67, 20.0], [70.0, 42.8, 24.0]),
        };
        let old = self.version == NcclVersion::Of2018;
        let bus = match (algorithm, protocol) {
            (NcclAlgorithm::Ring, Protocol::Ll) => {
                let part = match (old, nodes > 1 || operation != Tuned::Allgather) {
                    (false, _) => 0.5,
                    (true, true) => 0.25,
                    (true, false) => 1.0 / 3.0,
                };
                ll_most.min(graph * part)
            }
            (NcclAlgorithm::Ring, Protocol::Ll128) => {
                let alone = size == nodes && self.version != NcclVersion::Of2028;
                let part = if alone { 0.7 } else { 0.92 };
                (graph * part).min(channels * ring_ll128)
            }
            (NcclAlgorithm::Ring, Protocol::Simple) => graph,
            (NcclAlgorithm::Tree, _) => {
                let simple = (graph * 0.92).min(channels * tree[index]);
                match protocol {
                    Protocol::Ll => (simple / 3.8).min(ll_most),
                    Protocol::Ll128 => {
                        let part = if nodes == 1 { 7.0 / 9.0 } else { 0.9375 };
                        (simple * part).min(channels * tree_ll128[index])
                    }
                    Protocol::Simple => simple,
                }
            }
            (NcclAlgorithm::Pat, _) => graph * 0.75,
        };
        let steps = match operation {
            Tuned::Allreduce => 2 * size.saturating_sub(1),
            Tuned::Allgather => size.saturating_sub(1),
            Tuned::Broadcast => size,
        };
        let of_vector = match algorithm {
            NcclAlgorithm::Ring => f64::from(size) / f64::from(steps.max(1)),
            NcclAlgorithm::Tree => 0.5,
            NcclAlgorithm::Pat => 1.0,
        };
        Some(bus * of_vector).filter(|&rate| rate > 0.0)
    }

    /// Microseconds that no byte takes.
    fn latency(
        &self,
        operation: Tuned,
        algorithm: NcclAlgorithm,
        protocol: Protocol,
        size: u32,
        nodes: u32,
    ) -> f64 {
        let at = protocol as usize;
        let [base, within, between] = self.version.latencies(algorithm).map(|all| all[at]);
        let newest = self.version == NcclVersion::Of2028;
        let of_tree = self.version.latencies(NcclAlgorithm::Tree)[2][at];
        let between = match (newest, size == nodes) {
            // With one rank a node nothing is hidden.
            (true, true) => of_tree,
            _ => between,
        };
        let (size, nodes) = (f64::from(size), f64::from(nodes));
        let one = nodes < 2.0;
        let after_base = match (algorithm, operation) {
            (NcclAlgorithm::Ring, Tuned::Broadcast) => {
                let step = match (one, protocol) {
                    (true, _) => within,
                    (false, Protocol::Simple) => of_tree,
                    (false, _) => between,
                };
                size * step
            }
            (NcclAlgorithm::Ring, _) => {
                let overhead = if self.cpu == Cpu::Amd { 2.0 } else { 1.0 };
                let overhead = match (one, protocol) {
                    (true, _) => 0.0,
                    (false, Protocol::Simple) => 3.0 * overhead,
                    (false, _) => overhead,
                };
                let (steps, between_nodes) = match operation {
                    Tuned::Allreduce if newest => (2.0 * (size - 1.0), 2.0 * (nodes - 1.0)),
                    Tuned::Allreduce if one => (2.0 * (size - 1.0), 0.0),
                    Tuned::Allreduce => (2.0 * (size - 1.0), 2.0 * nodes),
                    _ => (size - 1.0, nodes - 1.0),
                };
                (steps - between_nodes) * within.max(overhead) + between_nodes * between
            }
            (NcclAlgorithm::Tree, _) => {
                let levels = f64::from(log2(nodes as u64));
                2.0 * ((size / nodes).floor() - 1.0) * within + 2.0 * levels * between
            }
            (NcclAlgorithm::Pat, _) => f64::from(log2(nodes as u64)) * between / 3.5 + size * 2.8,
        };
        base + after_base
    }

    /// Data of a message along a tree or chain.
    pub(super) fn chunk(
        &self,
        algorithm: NcclAlgorithm,
        protocol: Protocol,
        bytes: Bytes,
        size: u32,
        per_node: u32,
    ) -> Bytes {
        let mut chunk = protocol.chunk();
        if (algorithm, protocol) == (NcclAlgorithm::Tree, Protocol::Ll128) {
            let ranks = f64::from(per_node);
            let steps = 1.0 + f64::from(log2(u64::from(size / per_node))) + 0.1 * ranks;
            for (times, least) in [(64.0, 128 * KIB), (16.0, 32 * KIB)] {
                let loops = |chunk| (bytes.0 / (u64::from(self.most_channels()) * chunk)) as f64;
                while chunk > least && loops(chunk) < steps * times / ranks {
                    chunk /= 2;
                }
            }
        }
        Bytes(chunk)
    }
}

// --- Double binary tree -------------------------------------------------------------------

/// The parent of a node: with the lowest one-bit moved up by one place, or gone where there is no
/// such node. Node 0 is the root.
pub(super) fn parent(node: u32, nodes: u32) -> u32 {
    let lowest = node & node.wrapping_neg();
    let without = node ^ lowest;
    let moved = u64::from(without) | u64::from(lowest) << 1;
    match moved < u64::from(nodes) {
        true => moved as u32,
        false => without,
    }
}

/// The member of a node on which its first child, of a lower number, hangs, or the second one:
/// the second member and the first (`NCCL_TOPO_PATTERN_BALANCED_TREE`).
pub(super) fn seat(first: bool, per_node: u32) -> u32 {
    u32::from(first && per_node > 1)
}

/// Its children, on both sides.
pub(super) fn children(node: u32, nodes: u32) -> [Option<u32>; 2] {
    if node == 0 {
        let below = (nodes > 1).then(|| 1 << (nodes - 1).ilog2());
        return [None, below];
    }
    let half = (node & node.wrapping_neg()) >> 1;
    if half == 0 {
        return [None, None];
    }
    let mut distance = half;
    while distance > 0 && nodes - node <= distance {
        distance >>= 1;
    }
    let above = (distance > 0).then(|| node + distance);
    [Some(node - half), above]
}

// --- Parallel aggregated trees ------------------------------------------------------------

/// Distance of a round, and how many blocks go that far.
fn far(size: u32, halving: u32) -> Option<(u32, u32)> {
    let distance = 1u32.checked_shl(halving)?;
    Some((distance, (size - distance).div_ceil(2 * distance)))
}

/// Every other block that is this far around from the first one.
fn aggregated(peer: u32, round: u32, first: u32, (distance, count): (u32, u32)) -> Transfer {
    Transfer {
        peer,
        tag: round,
        blocks: Blocks::Every {
            first,
            step: 2 * distance,
            count,
        },
    }
}

/// At distances that halve, a place sends on all blocks that it has but those that would come
/// around to where they are from.
pub(super) fn gather(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let far = far(size, doublings(size).checked_sub(round + 1)?)?;
    let from = before(place, far.0, size);
    let to = after(place, far.0, size);
    Some(Exchange {
        receive: Some((aggregated(from, round, from, far), Taking::Keep)),
        send: Some(aggregated(to, round, place, far)),
    })
}

/// The way back of [`gather`]: parts of blocks, combined with the place's own.
pub(super) fn reduce(place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round >= doublings(size) {
        return None;
    }
    let far = far(size, round)?;
    let from = after(place, far.0, size);
    let to = before(place, far.0, size);
    Some(Exchange {
        receive: Some((aggregated(from, round, place, far), Taking::Combine)),
        send: Some(aggregated(to, round, to, far)),
    })
}
