//! Which algorithm carries out each collective: named, or chosen by size and
//! number of members as a library does.

use std::sync::Arc;

use odonata_declare::{Entry, Listed, Named, entries};
use odonata_units::{Bandwidth, Bytes};
use serde::{Deserialize, Serialize};

use super::groups::Groups;
use super::nccl::{Nccl, Nodes};
use crate::error::LoadError;

/// Declares the algorithms of an operation and their names.
macro_rules! algorithms {
    ($(#[$doc:meta])* $name:ident, $operation:literal: $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
        pub enum $name {
            $(
                $(#[$variant_doc])*
                #[serde(rename = $text)]
                $variant,
            )+
        }

        impl std::str::FromStr for $name {
            type Err = LoadError;

            fn from_str(name: &str) -> Result<Self, LoadError> {
                Self::by_name(name).map_err(|unknown| LoadError::UnknownAlgorithm {
                    operation: $operation,
                    name: unknown.found,
                    allowed: unknown.allowed,
                })
            }
        }
    };
}

algorithms! {
    /// Algorithms of barriers.
    BarrierAlgorithm, "barrier":
    /// Hensgen, Finkel, Manber 1988: in round k every member tells the one 2^k
    /// further.
    Dissemination = "dissemination",
    /// Partners at distances 1, 2, 4, … tell each other.
    RecursiveDoubling = "recursive-doubling",
    /// Up and down a binomial tree.
    Tree = "tree",
    /// All tell member 0, which answers.
    Linear = "linear",
}

algorithms! {
    /// Algorithms of broadcasts.
    BroadcastAlgorithm, "broadcast":
    /// From the root to each, all at once.
    Linear = "linear",
    /// Down a binomial tree.
    Binomial = "binomial",
    /// Down a binomial tree whose parents are the nearest places first, each of which sends
    /// to all of its children at once: Open MPI.
    BinomialAtOnce = "binomial-at-once",
    /// Down a binary tree in segments, to both children at once: Open MPI.
    Binary = "binary",
    /// Two halves down two binary trees in segments, then the places of both
    /// trees exchange halves.
    SplitBinary = "split-binary",
    /// From each to the next in segments.
    Chain = "chain",
    /// Down four chains in segments, to the first of each at once: Open MPI.
    Chains = "chains",
    /// Down a 4-nomial tree in segments.
    Knomial = "knomial",
    /// Down a Bine tree, the farthest first (De Sensi et al. 2025).
    Bine = "bine",
    /// The same; a member sends to all of its children at once.
    BineAtOnce = "bine-at-once",
    /// Down the Bine tree that reaches the nearest first, to all children at once.
    BineNearAtOnce = "bine-near-at-once",
    /// Around a ring that visits a node's members one after another, in chunks, each channel with
    /// its share: NCCL.
    ChannelRings = "channel-rings",
    /// Scattered down a Bine tree, then an all-gather between the same partners.
    BineScatterAllgather = "bine-scatter-allgather",
    /// van de Geijn: scattered down a binomial tree, then an all-gather by
    /// recursive doubling.
    ScatterRecursiveDoubling = "scatter-recursive-doubling",
    /// van de Geijn: scattered down a binomial tree, then an all-gather around a
    /// ring.
    ScatterRing = "scatter-ring",
}

algorithms! {
    /// Algorithms of reductions.
    ReduceAlgorithm, "reduce":
    /// All to the root, which combines one after the other.
    Linear = "linear",
    /// Up a binomial tree.
    Binomial = "binomial",
    /// The same in segments, each member receiving from two children at a time: Open MPI.
    BinomialOverlapped = "binomial-overlapped",
    /// Up a binary tree in segments, from both children at a time: Open MPI.
    Binary = "binary",
    /// From each to the one before in segments.
    Chain = "chain",
    /// Up four chains in segments, from two of them at a time: Open MPI.
    Chains = "chains",
    /// Up a 4-nomial tree.
    Knomial = "knomial",
    /// Up a Bine tree (De Sensi et al. 2025).
    Bine = "bine",
    /// The way back of the broadcast of that name: NCCL.
    ChannelRings = "channel-rings",
    /// Reduce-scatter between the partners of Bine trees, then a gather up such a tree.
    BineScatterGather = "bine-scatter-gather",
    /// Up a binary tree whose places are in the order of members, in segments: Open MPI's for
    /// operations that do not commute. Its root is the last member, which hands the result over.
    InOrderBinary = "in-order-binary",
    /// Rabenseifner: reduce-scatter in which the vector halves and distances double, then a
    /// gather the same way back.
    Rabenseifner = "rabenseifner",
}

algorithms! {
    /// Algorithms of all-reductions.
    AllreduceAlgorithm, "allreduce":
    /// Partners at distances 1, 2, 4, … exchange all data.
    RecursiveDoubling = "recursive-doubling",
    /// Rabenseifner: reduce-scatter in which the vector halves and distances double, then an
    /// all-gather the same way back, as MPICH and Open MPI have it.
    Rabenseifner = "rabenseifner",
    /// Reduce-scatter, then an all-gather, both around a ring.
    Ring = "ring",
    /// The same; blocks longer than a segment are combined segment by segment.
    SegmentedRing = "segmented-ring",
    /// As ring, around one ring for each channel, which visits a node's members one after another
    /// and enters the node at another of them: NCCL.
    ChannelRings = "channel-rings",
    /// Up and down two binary trees between nodes, of which each node is a leaf of one, with half
    /// of the vector each, and a chain of the members of a node: NCCL, after Sanders, Speck, Träff
    /// 2009.
    DoubleTree = "double-tree",
    /// As Rabenseifner's, between the partners of Bine trees (De Sensi et al. 2025, for
    /// bandwidth, with remapped blocks).
    Bine = "bine",
    /// The same; halves go in segments, each of which is combined before the next is sent.
    BineSegmented = "bine-segmented",
    /// As recursive doubling, between the partners of Bine trees (the same, for latency).
    BineLatency = "bine-latency",
    /// A reduction, then a broadcast, by the algorithms of those.
    ReduceBroadcast = "reduce-broadcast",
    /// As `bine`, with each block as a message of its own instead of an order (De Sensi et al.
    /// 2025).
    BineBlocks = "bine-blocks",
}

algorithms! {
    /// Algorithms of gathers.
    GatherAlgorithm, "gather":
    /// From each to the root, all at once.
    Linear = "linear",
    /// Up a binomial tree.
    Binomial = "binomial",
    /// Up a Bine tree (De Sensi et al. 2025), in which every subtree has members that follow
    /// each other.
    Bine = "bine",
    /// From each to the root, which receives from one after the other: Open MPI.
    LinearInTurn = "linear-in-turn",
    /// From one after the other, each asked by the root: Open MPI.
    LinearSync = "linear-sync",
}

algorithms! {
    /// Algorithms of scatters.
    ScatterAlgorithm, "scatter":
    /// From the root to each, all at once.
    Linear = "linear",
    /// Down a binomial tree.
    Binomial = "binomial",
    /// Down a Bine tree, as gathers.
    Bine = "bine",
    /// From the root to one after the other: Open MPI.
    LinearInTurn = "linear-in-turn",
}

algorithms! {
    /// Algorithms of all-gathers.
    AllgatherAlgorithm, "allgather":
    /// Bruck et al. 1997: what a member has doubles in every round.
    Bruck = "bruck",
    /// The same with three partners in every round, so that it quadruples.
    BruckOfMany = "k-bruck",
    /// Loch, Koslovski 2021: at distances n/2, n/4, …, each block as a message of its own.
    Sparbit = "sparbit",
    /// As recursive doubling, between the partners of Bine trees, to whose order blocks are
    /// brought first (De Sensi et al. 2025).
    Bine = "bine",
    /// Between the partners of Bine trees at growing distances, so that what a member has are
    /// blocks that follow each other (the same).
    BineTwoBlocks = "bine-two-blocks",
    /// As `bine`, with each block as a message of its own instead of an order (the same).
    BineBlocks = "bine-blocks",
    /// Around a ring.
    Ring = "ring",
    /// Around one ring for each channel, as all-reductions: NCCL.
    ChannelRings = "channel-rings",
    /// At distances n/2, n/4, …, all blocks that go the same way in a message: NCCL's parallel
    /// aggregated trees.
    Pat = "pat",
    /// Partners at distances 1, 2, 4, … exchange what they have.
    RecursiveDoubling = "recursive-doubling",
    /// Chen et al. 2005: both ways around, two blocks at a time. A ring where
    /// the number of members is odd.
    NeighbourExchange = "neighbour-exchange",
    /// A gather up a binomial tree, then a broadcast by the algorithm of those.
    GatherBroadcast = "gather-broadcast",
}

algorithms! {
    /// Algorithms of all-to-alls.
    AlltoallAlgorithm, "alltoall":
    /// Bruck et al. 1997: ⌈log₂ n⌉ rounds, data travels over several members.
    Bruck = "bruck",
    /// n − 1 rounds: of powers of two with the partner whose number differs by
    /// exclusive or; otherwise to the one r further, from the one r before.
    Pairwise = "pairwise",
    /// All messages at once.
    Linear = "linear",
    /// As linear, with 32 members at a time.
    Scattered = "scattered",
    /// As linear, with eight members for each channel at a time: NCCL's sends and receives.
    Rounds = "rounds",
    /// Between the partners of Bine trees: log₂ n rounds with half of the data each (De Sensi et
    /// al. 2025). Bruck's where the number of members is no power of two.
    Bine = "bine",
    /// Along the groups of the network, after Prisacari, Rodriguez, Minkenberg (IPDPS 2013).
    ///
    /// *Generalized hierarchical all-to-all exchange patterns*: one
    /// partner per round, chosen by group and by index in the group rather than
    /// by the plain number. Here: with G groups of width W (that of the largest)
    /// there is a round for every (u, v), u < G, v < W, u first; in it the i-th
    /// member of group g sends to member i + v (mod W) of group g + u + i
    /// (mod G). So the members of a group send to min(W, G) different groups in
    /// every round, and use as many of its global links; no message passes a
    /// third member. Rounds with a member that does not exist, or oneself, are
    /// left out.
    ///
    /// Needs [`Algorithms::groups`] of as many members as the communicator has;
    /// without them the choice is automatic.
    Hierarchical = "hierarchical",
}

algorithms! {
    /// Algorithms of all-to-alls with sizes of their own (`MPI_Alltoallv`,
    /// `MPI_Alltoallw`). Where nothing goes from one member to another, no
    /// message does.
    AlltoallvAlgorithm, "alltoallv":
    /// As for all-to-alls.
    Pairwise = "pairwise",
    /// All messages at once.
    Linear = "linear",
    /// As linear, with 32 members at a time.
    Scattered = "scattered",
}

algorithms! {
    /// Algorithms of reduce-scatters.
    ReduceScatterAlgorithm, "reduce-scatter":
    /// Partners at distances n/2, n/4, … exchange halves.
    RecursiveHalving = "recursive-halving",
    /// n − 1 rounds, a block straight to its member in each.
    Pairwise = "pairwise",
    /// Around a ring.
    Ring = "ring",
    /// Around one ring for each channel, as all-reductions: NCCL.
    ChannelRings = "channel-rings",
    /// The way back of the all-gather of that name: NCCL.
    Pat = "pat",
    /// As recursive halving, between the partners of Bine trees, from whose order blocks are
    /// brought home at the end (De Sensi et al. 2025).
    Bine = "bine",
    /// The same, with each block as a message of its own instead of an order.
    BineBlocks = "bine-blocks",
    /// Halves at distances 1, 2, 4, …; blocks, whose numbers are then reversed in binary, are
    /// brought home at the end.
    Butterfly = "butterfly",
    /// A reduction by the algorithm of those, then a linear scatter.
    ReduceScatter = "reduce-scatter",
    /// Partners at distances 1, 2, 4, … exchange all blocks but those of members that they have
    /// combined with already: MPICH, for operations that do not commute.
    RecursiveDoubling = "recursive-doubling",
}

algorithms! {
    /// Algorithms of scans, exclusive ones too.
    ScanAlgorithm, "scan":
    /// Partners at distances 1, 2, 4, … exchange sums.
    RecursiveDoubling = "recursive-doubling",
    /// From each member to the next.
    Linear = "linear",
}

algorithms! {
    /// Whose rules choose where no algorithm is named.
    Family, "the family of algorithms":
    /// MPICH up to 3.3: the control variables.
    Mpich = "mpich",
    /// Open MPI 1.3 to 4.0.
    OpenMpi = "open-mpi",
    /// What Fujitsu's MPI 4.0.1 was seen to choose on Fugaku, its own algorithms for tori replaced
    /// by others.
    Fujitsu = "fujitsu",
    /// MPICH 3.4 to 4.3: the file of selections that it is built with.
    MpichBySelection = "mpich-3.4",
    /// Cray MPICH 8.1: as MPICH 3.3, with other limits of allgathers.
    CrayMpich = "cray-mpich",
    /// Open MPI 4.1 and 5.0: tables by number of members and size.
    OpenMpiByTable = "open-mpi-4.1",
    /// NCCL: the time that its tuner expects.
    Nccl = "nccl",
}

/// The algorithms of an operation.
pub struct AlgorithmList {
    /// The operation, one of [`OPERATIONS`].
    pub operation: &'static str,
    /// What the choice of an algorithm for it is, for users.
    pub text: &'static str,
    /// The algorithms.
    pub entries: Vec<Entry>,
}

/// Declares the operations whose algorithm can be named.
macro_rules! operations {
    ($($(#[doc = $text:literal])+ $operation:literal = $field:ident: $algorithm:ident,)+) => {
        /// Operations whose algorithm can be named.
        pub const OPERATIONS: &[&str] = &[$($operation),+];

        /// The algorithms of each of [`OPERATIONS`].
        pub fn lists() -> impl Iterator<Item = AlgorithmList> {
            [$(AlgorithmList {
                operation: $operation,
                text: concat!($($text, "\n"),+).trim_ascii_end(),
                entries: entries::<$algorithm>(),
            }),+].into_iter()
        }

        impl Algorithms {
            /// Takes an algorithm by name for one of [`OPERATIONS`]; `auto`: as the
            /// family chooses.
            ///
            /// # Errors
            /// If there is no such operation, or no such algorithm for it.
            pub fn set(&mut self, operation: &str, algorithm: &str) -> Result<(), LoadError> {
                match operation {
                    $($operation => self.$field = named(algorithm)?,)+
                    _ => {
                        return Err(LoadError::UnknownCollective {
                            name: operation.into(),
                            allowed: OPERATIONS,
                        });
                    }
                }
                Ok(())
            }
        }
    };
}

operations! {
    /// Algorithm of barriers.
    "barrier" = barrier: BarrierAlgorithm,
    /// Algorithm of broadcasts.
    "broadcast" = broadcast: BroadcastAlgorithm,
    /// Algorithm of reductions.
    "reduce" = reduce: ReduceAlgorithm,
    /// Algorithm of all-reductions; `reduce-broadcast` uses the algorithms of `reduce` and
    /// `broadcast`.
    "allreduce" = allreduce: AllreduceAlgorithm,
    /// Algorithm of gathers. Gathers with a different size for each rank are always linear.
    "gather" = gather: GatherAlgorithm,
    /// Algorithm of scatters. Scatters with a different size for each rank are always linear.
    "scatter" = scatter: ScatterAlgorithm,
    /// Algorithm of all-gathers.
    "allgather" = allgather: AllgatherAlgorithm,
    /// Algorithm of all-to-alls. `hierarchical` follows the groups of the network if all ranks of a
    /// job take part; if only some do, and in traces, it leaves the choice to the library.
    "alltoall" = alltoall: AlltoallAlgorithm,
    /// Algorithm of all-to-alls with a different size for each pair of ranks.
    "alltoallv" = alltoallv: AlltoallvAlgorithm,
    /// Algorithm of reduce-scatters.
    "reduce-scatter" = reduce_scatter: ReduceScatterAlgorithm,
    /// Algorithm of scans and exclusive scans.
    "scan" = scan: ScanAlgorithm,
}

/// How collectives are carried out. Makes [`CollectiveCall`](super::CollectiveCall)s;
/// all members make theirs from equal settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Algorithms {
    /// Whose rules choose where no algorithm is named.
    pub family: Family,
    /// How fast a member combines data, in bytes of the operand that arrived;
    /// `None`: in no time.
    pub combine: Option<Bandwidth>,
    /// Size of segments where data goes in segments and an algorithm is named.
    pub segment: Bytes,
    /// Which members are close to each other, for [`AlltoallAlgorithm::Hierarchical`].
    pub groups: Option<Arc<Groups>>,
    /// Which members share a node, for NCCL's algorithms.
    pub nodes: Option<Nodes>,
    /// NCCL's channels, and what its tuner goes by.
    pub nccl: Nccl,
    /// Algorithm of `MPI_Barrier`. For this and the following, `None`: automatic.
    pub barrier: Option<BarrierAlgorithm>,
    /// Algorithm of `MPI_Bcast`.
    pub broadcast: Option<BroadcastAlgorithm>,
    /// Algorithm of `MPI_Reduce`.
    pub reduce: Option<ReduceAlgorithm>,
    /// Algorithm of `MPI_Allreduce`.
    pub allreduce: Option<AllreduceAlgorithm>,
    /// Algorithm of `MPI_Gather`.
    pub gather: Option<GatherAlgorithm>,
    /// Algorithm of `MPI_Scatter`.
    pub scatter: Option<ScatterAlgorithm>,
    /// Algorithm of `MPI_Allgather` and `MPI_Allgatherv`.
    pub allgather: Option<AllgatherAlgorithm>,
    /// Algorithm of `MPI_Alltoall`.
    pub alltoall: Option<AlltoallAlgorithm>,
    /// Algorithm of `MPI_Alltoallv` and `MPI_Alltoallw`.
    pub alltoallv: Option<AlltoallvAlgorithm>,
    /// Algorithm of `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    pub reduce_scatter: Option<ReduceScatterAlgorithm>,
    /// Algorithm of `MPI_Scan` and `MPI_Exscan`.
    pub scan: Option<ScanAlgorithm>,
}

impl Default for Algorithms {
    fn default() -> Self {
        Self {
            family: Family::Mpich,
            combine: None,
            segment: Bytes(32 * 1024),
            groups: None,
            nodes: None,
            nccl: Nccl::default(),
            barrier: None,
            broadcast: None,
            reduce: None,
            allreduce: None,
            gather: None,
            scatter: None,
            allgather: None,
            alltoall: None,
            alltoallv: None,
            reduce_scatter: None,
            scan: None,
        }
    }
}

/// An algorithm by its name; `auto`: none.
fn named<A: std::str::FromStr<Err = LoadError>>(name: &str) -> Result<Option<A>, LoadError> {
    match name {
        "auto" => Ok(None),
        _ => name.parse().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for &algorithm in BroadcastAlgorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
        }
        let mut algorithms = Algorithms::default();
        for operation in OPERATIONS {
            algorithms.set(operation, "auto").unwrap();
        }
        assert_eq!(algorithms, Algorithms::default());
        algorithms.set("allreduce", "ring").unwrap();
        assert_eq!(algorithms.allreduce, Some(AllreduceAlgorithm::Ring));
        algorithms.set("allreduce", "auto").unwrap();
        assert_eq!(algorithms.allreduce, None);
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let mut algorithms = Algorithms::default();
        let error = algorithms.set("scan", "ring").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown algorithm \"ring\" of scan; use one of: auto, recursive-doubling, linear"
        );
        let error = algorithms.set("bcast", "ring").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("unknown collective \"bcast\"; use one of: barrier, broadcast,"));
    }
}
