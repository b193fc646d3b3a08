//! Phases: the patterns of messages that collectives are put together from.
//!
//! In a phase every member has a *place*, its distance from the phase's root. A
//! pattern says for each place either round by round what it exchanges, waiting
//! at the end of each round, or what it sends and receives all at once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::data::{Blocks, Data};
use super::exchange::{AtOnce, Exchange, Folding, Tree, after, before, every};
use super::groups::Groups;
use super::{all_to_all, bine, folded, nccl, prefix, ring, tree};
use crate::communicator::Member;

/// Part of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Phase {
    pub(super) pattern: Pattern,
    pub(super) data: Data,
    /// Who has place 0.
    pub(super) root: Member,
    /// Who follows whom.
    pub(super) order: Order,
    /// How often what repeats is done; `None`: to the end.
    pub(super) repeats: Option<u32>,
}

/// In which order members have their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// In that of their numbers.
    Numbers,
    /// Node after node, each of `per_node` members, from its `turn`-th on.
    Nodes {
        per_node: u32,
        turn: u32,
        nodes: Facing,
    },
}

/// In which order nodes follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Facing {
    Forward,
    /// From the last to the first.
    Backward,
    /// From the second on.
    Shifted,
}

impl Order {
    /// The place of a member where the root is ignored.
    fn index(self, member: u32, size: u32) -> u32 {
        match self {
            Self::Numbers => member,
            Self::Nodes {
                per_node,
                turn,
                nodes,
            } => {
                let (node, local) = (member / per_node, member % per_node);
                nodes.turned(node, size / per_node) * per_node + before(local, turn, per_node)
            }
        }
    }

    /// The member of such a place.
    pub(super) fn member(self, index: u32, size: u32) -> u32 {
        match self {
            Self::Numbers => index,
            Self::Nodes {
                per_node,
                turn,
                nodes,
            } => {
                let (node, local) = (index / per_node, index % per_node);
                nodes.back(node, size / per_node) * per_node + after(local, turn, per_node)
            }
        }
    }
}

impl Facing {
    fn turned(self, node: u32, nodes: u32) -> u32 {
        match self {
            Self::Forward => node,
            Self::Backward => nodes - 1 - node,
            Self::Shifted => before(node, 1, nodes),
        }
    }

    fn back(self, node: u32, nodes: u32) -> u32 {
        match self {
            Self::Forward => node,
            Self::Backward => nodes - 1 - node,
            Self::Shifted => after(node, 1, nodes),
        }
    }
}

/// Who sends what to whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pattern {
    /// All blocks from the root down the tree, one after the other.
    Down(Tree),
    /// All blocks down the tree, one after the other, from each place to all of its children at
    /// once.
    DownAtOnce(Tree),
    /// Half of the blocks down one binary tree of all but the root, half down
    /// another.
    SplitDown,
    /// Places of the two trees give each other their halves.
    SwapHalves,
    /// All blocks up the tree, one after the other, combined on the way.
    Up(Tree),
    /// The same; the root, and it alone, sends each block back down as soon as it is combined, with
    /// the tags of the next phase: [`Pattern::DownBeside`].
    UpAndBack(Tree),
    /// What comes back from there goes down, beside what goes up.
    DownBeside(Tree),
    /// The same, of two children at a time.
    UpOverlapped(Tree),
    /// All from the root to each at once.
    Spread,
    /// To each place its block, down a binomial tree.
    ScatterTree,
    /// From each place its block, up a binomial tree.
    GatherTree,
    /// To each place its block from the root, at once.
    Scatter,
    /// The same, one after the other.
    ScatterInTurn,
    /// From each place its block to the root, at once.
    Gather,
    /// The same, one after the other, each asked by the root.
    GatherAsked,
    /// The same, one after the other in the order of places, whoever is first.
    GatherInTurn,
    /// All from one place to the root.
    HandOver { from: u32 },
    /// Members beyond a power of two give all they have to one that stays.
    FoldIn(Folding),
    /// Members beyond a power of two get the result.
    FoldOut(Folding),
    /// Recursive doubling of combined data.
    CombineDoubling,
    /// Recursive doubling of combined blocks, without those that are complete among the members
    /// that have exchanged so far.
    CombineOthersDoubling,
    /// Recursive doubling of collected blocks.
    GatherDoubling,
    /// Recursive halving of combined blocks.
    Halving,
    /// The same with the nearest partners first, in whose order blocks then stand.
    NearHalving,
    /// The way back from there, to all.
    NearDoubling,
    /// The way back from there, to the root.
    NearGather,
    /// Each place's block from where [`Pattern::NearHalving`] leaves it.
    NearHome,
    /// Everyone hears of everyone.
    Dissemination,
    /// Blocks go around; each adds its own.
    RingReduce,
    /// The same, each block in this many segments: those of the first segment of all blocks
    /// first, and so on.
    RingReduceSegments(u32),
    /// Blocks go around.
    RingGather,
    /// Blocks of others at distances that halve, all in a message: NCCL's parallel aggregated
    /// trees.
    PatGather,
    /// The way back, combined.
    PatReduce,
    /// Blocks of the next, doubled in every round.
    Bruck,
    /// Blocks of the next, as many times over in every round as [`RADIX`] says.
    BruckOfMany,
    /// Blocks at distances that halve, each as a message of its own.
    Sparbit,
    /// As [`Pattern::CombineDoubling`], between the partners of Bine trees. So are the others
    /// of that name.
    BineCombine,
    /// Halving of combined blocks.
    BineHalving,
    /// Doubling of collected blocks.
    BineDoubling,
    /// Each place's block to where [`Pattern::BineDoubling`] starts from with it, or back
    /// from where [`Pattern::BineHalving`] leaves it.
    BineSwap {
        /// Back.
        home: bool,
    },
    /// Halving in segments of `each` of `split` times as many blocks.
    BineHalvingSegments { split: u32, each: u32 },
    /// Doubling of blocks that follow each other.
    BineTwoBlocks,
    /// Doubling of blocks, or halving if it `combines` them, as a message each.
    BineBlocks { combines: bool },
    /// To each place its block, down the tree.
    BineScatter,
    /// From each place its block, up the tree.
    BineGather,
    /// To each place the block that [`Pattern::BineDoubling`] starts from with it.
    BineSpread,
    /// From each place the block that [`Pattern::BineHalving`] leaves it with, to the root.
    BineCollect,
    /// All from the root down the tree, to all children at once, to the nearest first or to
    /// the farthest.
    BineDownAtOnce { near: bool },
    /// All from the root down the tree.
    BineDown,
    /// All up the tree, combined on the way.
    BineUp,
    /// Pairs of blocks go both ways around. For even numbers.
    Neighbours,
    /// Each block straight to its place, which combines.
    PairwiseReduce,
    /// Blocks go on by powers of two.
    AllToAllBruck,
    /// One partner per round.
    AllToAllPairwise,
    /// Between the partners of Bine trees. For powers of two.
    AllToAllBine,
    /// With `batch` partners at once, `None`: with all.
    AllToAllAtOnce { batch: Option<u32> },
    /// One partner per round; those of a group in different groups.
    AllToAllHierarchical(Arc<Groups>),
    /// Recursive doubling of sums of what is below.
    PrefixDoubling { exclusive: bool },
    /// From each to the next.
    PrefixChain { exclusive: bool },
}

/// What a place does at some point of a phase.
pub(super) enum Activity {
    Round(Exchange),
    AtOnce(AtOnce),
    /// It has done its part.
    End,
}

impl Phase {
    /// The place of a member.
    pub(super) fn place(&self, member: Member, size: u32) -> u32 {
        let index = |member: Member| self.order.index(member.0, size);
        before(index(member), index(self.root), size)
    }

    /// The member at a place.
    pub(super) fn member(&self, place: u32, size: u32) -> Member {
        let index = after(place, self.order.index(self.root.0, size), size);
        Member(self.order.member(index, size))
    }

    /// Blocks by the members that they belong to, where a pattern has them by place.
    pub(super) fn blocks_of(&self, blocks: Blocks, size: u32) -> Blocks {
        match (self.order, &self.pattern, blocks) {
            (
                Order::Nodes { .. },
                Pattern::RingGather | Pattern::RingReduce,
                Blocks::Range { first, count: 1 },
            ) => Blocks::one(self.member(first, size).0),
            _ => blocks,
        }
    }

    /// How many phases later those are whose tags the messages have that a place sends.
    pub(super) fn tags_later(&self, place: u32) -> u32 {
        u32::from(place == 0 && matches!(self.pattern, Pattern::UpAndBack(_)))
    }

    /// Whether there are no rounds, so that what is under way at the end is
    /// waited for then.
    pub(super) fn is_at_once(&self) -> bool {
        matches!(
            self.pattern,
            Pattern::Spread
                | Pattern::GatherAsked
                | Pattern::GatherInTurn
                | Pattern::ScatterInTurn
                | Pattern::UpOverlapped(_)
                | Pattern::BineBlocks { .. }
                | Pattern::BineDownAtOnce { .. }
                | Pattern::DownAtOnce(_)
                | Pattern::Scatter
                | Pattern::Gather
                | Pattern::BruckOfMany
                | Pattern::Sparbit
                | Pattern::AllToAllAtOnce { .. }
        )
    }

    /// The round that it does as its `index`-th; `None` if those before are all that are done
    /// of rounds that repeat.
    fn round(&self, size: u32, index: u64) -> Option<u32> {
        let round = u32::try_from(index).unwrap_or(u32::MAX);
        let Some(repeats) = self.repeats else {
            return Some(round);
        };
        match self.pattern {
            Pattern::RingReduce
            | Pattern::RingReduceSegments(_)
            | Pattern::RingGather
            | Pattern::Neighbours => (round < repeats).then_some(round),
            // One as far from the next as another.
            Pattern::PairwiseReduce | Pattern::AllToAllPairwise => {
                let all = size.saturating_sub(1);
                let most = repeats.min(all);
                (round < most).then(|| every(round, most, all))
            }
            _ => Some(round),
        }
    }

    /// What `place` of `size` does as its `index`-th.
    pub(super) fn doing(&self, place: u32, size: u32, index: u64) -> Activity {
        let data = &self.data;
        let most = self.repeats.unwrap_or(u32::MAX);
        let Some(round) = self.round(size, index) else {
            return Activity::End;
        };
        let exchange = match &self.pattern {
            Pattern::Down(kind) => tree::down(*kind, data.parts().min(most), place, size, index),
            Pattern::Up(kind) => tree::up(*kind, data.parts().min(most), place, size, index),
            Pattern::UpAndBack(kind) => {
                let segments = data.parts().min(most);
                tree::up_and_back(*kind, segments, place, size, index)
            }
            Pattern::DownBeside(_) if place == 0 => None,
            Pattern::DownBeside(kind) => {
                tree::down(*kind, data.parts().min(most), place, size, index)
            }
            Pattern::SplitDown => {
                let parts = (data.parts() / 2).min(most) * 2;
                tree::split_down(parts, place, size, index)
            }
            Pattern::SwapHalves => tree::swap_halves(data.parts(), place, size, round),
            Pattern::ScatterTree => tree::scatter(place, size, round),
            Pattern::GatherTree => tree::gather(place, size, round),
            Pattern::FoldIn(folding) => folded::fold_in(*folding, place, size, round),
            Pattern::FoldOut(folding) => folded::fold_out(*folding, place, size, round),
            Pattern::CombineDoubling => folded::combine(place, size, round),
            Pattern::CombineOthersDoubling => {
                folded::combine_others(data.parts(), place, size, round)
            }
            Pattern::GatherDoubling => folded::doubling(data.parts(), place, size, round),
            Pattern::Halving => folded::halving(data.parts(), place, size, round),
            Pattern::NearHalving => folded::near_halving(data.parts(), place, size, round),
            Pattern::NearDoubling => folded::near_doubling(data.parts(), place, size, round),
            Pattern::NearGather => folded::near_gather(data.parts(), place, size, round),
            Pattern::NearHome => folded::near_home(data.parts(), place, size, round),
            Pattern::Dissemination => ring::dissemination(place, size, round),
            Pattern::RingReduce => ring::reduce(place, size, round),
            Pattern::RingReduceSegments(segments) => {
                ring::reduce_segments(*segments, place, size, index)
            }
            Pattern::BineCombine => bine::combine(place, size, round),
            Pattern::BineHalving => bine::halving(data.parts(), place, size, round),
            Pattern::BineDoubling => bine::doubling(data.parts(), place, size, round),
            Pattern::BineSwap { home } => bine::swap(*home, data.parts(), place, size, round),
            Pattern::BineHalvingSegments { split, each } => {
                bine::halving_segments((*split, *each), most, place, size, index)
            }
            Pattern::BineTwoBlocks => bine::two_blocks(data.parts(), place, size, round),
            Pattern::BineScatter => bine::scatter(data.parts(), place, size, round),
            Pattern::BineGather => bine::gather(data.parts(), place, size, round),
            Pattern::BineSpread => bine::spread(data.parts(), place, size, round),
            Pattern::BineCollect => bine::collect(data.parts(), place, size, round),
            Pattern::AllToAllBine => bine::all_to_all(place, size, round),
            Pattern::HandOver { from } => tree::hand_over(*from, place, round),
            Pattern::BineDown => bine::down(place, size, round),
            Pattern::BineUp => bine::up(place, size, round),
            Pattern::RingGather => ring::gather(place, size, round),
            Pattern::PatGather => nccl::gather(place, size, round),
            Pattern::PatReduce => nccl::reduce(place, size, round),
            Pattern::Bruck => ring::bruck(place, size, round),
            Pattern::Neighbours => ring::neighbours(place, size, round),
            Pattern::PairwiseReduce => ring::pairwise_reduce(place, size, round),
            Pattern::AllToAllBruck => all_to_all::bruck(place, size, round),
            Pattern::AllToAllPairwise => all_to_all::pairwise(data, place, size, round),
            Pattern::AllToAllHierarchical(groups) => all_to_all::hierarchical(groups, place, index),
            Pattern::PrefixDoubling { exclusive } => {
                prefix::doubling(*exclusive, place, size, round)
            }
            Pattern::PrefixChain { exclusive } => prefix::chain(*exclusive, place, size, round),
            Pattern::BruckOfMany => return at_once(ring::bruck_of_many(place, size, index)),
            Pattern::Sparbit => return at_once(ring::sparbit(most, place, size, index)),
            Pattern::BineBlocks { combines } => {
                if !size.is_power_of_two() && size.is_multiple_of(2) {
                    return at_once(bine::blocks_of_even(*combines, most, place, size, index));
                }
                let parts = data.parts();
                return at_once(bine::blocks(*combines, most, parts, place, size, index));
            }
            Pattern::BineDownAtOnce { near } => {
                return at_once(bine::down_at_once(*near, place, size, index));
            }
            Pattern::GatherAsked => return at_once(tree::gather_asked(place, size, index)),
            Pattern::GatherInTurn => {
                let one = |index| tree::gather_at_once(data, place, size, index);
                return at_once(tree::in_turn(place, size, index, one));
            }
            Pattern::ScatterInTurn => {
                let one = |index| tree::scatter_at_once(data, place, size, index);
                return at_once(tree::in_turn(place, size, index, one));
            }
            Pattern::DownAtOnce(kind) => {
                let segments = data.parts().min(most);
                return at_once(tree::down_at_once(*kind, segments, place, size, index));
            }
            Pattern::UpOverlapped(kind) => {
                let segments = data.parts().min(most);
                return at_once(tree::up_overlapped(*kind, segments, place, size, index));
            }
            Pattern::Spread => return at_once(tree::spread(place, size, index)),
            Pattern::Scatter => return at_once(tree::scatter_at_once(data, place, size, index)),
            Pattern::Gather => return at_once(tree::gather_at_once(data, place, size, index)),
            Pattern::AllToAllAtOnce { batch } => {
                let batch = batch.unwrap_or(u32::MAX);
                return at_once(all_to_all::at_once(data, batch, most, place, size, index));
            }
        };
        exchange.map_or(Activity::End, Activity::Round)
    }
}

fn at_once(next: Option<AtOnce>) -> Activity {
    next.map_or(Activity::End, Activity::AtOnce)
}
