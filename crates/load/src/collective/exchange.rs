//! What places of a phase exchange: messages, trees that they follow, and which places are
//! how far from each other.

use serde::{Deserialize, Serialize};

use super::data::Blocks;

/// A tree among the places, rooted at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Tree {
    /// All are children of the root.
    Flat,
    /// Place v without its lowest one-bit is its parent.
    Binomial,
    /// Place v without its highest one-bit is its parent: who has it sends to places that
    /// are twice as far in every round.
    Doubling,
    /// The children of v are 2v + 1 and 2v + 2.
    Binary,
    /// Places fill levels of 1, 2, 4, …; the children of v, on a level of n, are v + n and
    /// v + 2n: `ompi_coll_base_topo_build_tree` of Open MPI.
    Levels,
    /// The child of v is v + 1.
    Chain,
    /// As many chains as [`CHAINS`] says, each of places that follow each other, the longer
    /// ones first: `ompi_coll_base_topo_build_chain` of Open MPI.
    Chains,
    /// Place v without its lowest digit that is not zero, to the base of [`RADIX`], is its
    /// parent.
    Knomial,
    /// The places of a node are a chain, and nodes a binary tree of which every other one is a leaf:
    /// half of NCCL's double binary tree. The first place of a node has its parent and one child,
    /// the second place the other child.
    OfNodes { per_node: u32 },
    /// The places before the root, which is the last, halve: the child of a place are the one
    /// before it, and the one before all that are below that.
    InOrder,
}

/// Base of k-nomial trees and of the k-ary Bruck algorithm, as Open MPI has by default.
pub(super) const RADIX: u32 = 4;

/// Chains of Open MPI's algorithm of that name, by default
/// (`coll_tuned_*_algorithm_chain_fanout`).
pub(super) const CHAINS: u32 = 4;

/// What those beyond a power of two give or get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Folding {
    /// All blocks, to be combined with those of the other.
    Combined,
    /// Their own block.
    Own,
    /// All blocks.
    All,
}

/// What a receiver does with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// Keeps them in place of what it had.
    Keep,
    /// Combines them with its own.
    Combine,
    /// Knows what the sender knew.
    Hear,
    /// Combines them with the sum of those that it spoke to and, if they come
    /// from below, with its result: that many operations.
    Prefix { below: bool, operations: u8 },
}

impl Taking {
    /// How often the data is combined with other data.
    pub(super) fn operations(self) -> u8 {
        match self {
            Self::Keep | Self::Hear => 0,
            Self::Combine => 1,
            Self::Prefix { operations, .. } => operations,
        }
    }
}

/// A message to or from another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) peer: u32,
    /// Tells apart messages of the same two in the same phase.
    pub(super) tag: u32,
    pub(super) blocks: Blocks,
}

/// What a place does in a round: receives, sends, waits, combines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) receive: Option<(Transfer, Taking)>,
    pub(super) send: Option<Transfer>,
}

/// One of several things that a place does without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtOnce {
    Receive(Transfer),
    Send(Transfer),
    /// Receives what will be combined.
    Collect(Transfer),
    /// Combines it, when it is there.
    Combine(Blocks),
    /// Nothing goes this way.
    Nothing,
    /// Waits for all before.
    Wait,
    /// Waits for all before but the receive that was posted last.
    WaitButLast,
}

/// The `index`-th of `some`, taken from `all` at equal distances.
pub(super) fn every(index: u32, some: u32, all: u32) -> u32 {
    (u64::from(index) * u64::from(all) / u64::from(some.max(1))) as u32
}

/// `place + distance`, around.
pub(super) fn after(place: u32, distance: u32, size: u32) -> u32 {
    ((u64::from(place) + u64::from(distance)) % u64::from(size)) as u32
}

/// `place - distance`, around.
pub(super) fn before(place: u32, distance: u32, size: u32) -> u32 {
    after(place, size - distance % size, size)
}

/// Rounds in which doubling passes every place: ⌈log₂ size⌉.
pub(super) fn doublings(size: u32) -> u32 {
    size.next_power_of_two().trailing_zeros()
}
