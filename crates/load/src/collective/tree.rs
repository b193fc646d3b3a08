//! Phases along trees, and those in which the root talks to each at once.

use odonata_units::Bytes;

use super::data::{Blocks, Data, size_in};
use super::exchange::{AtOnce, CHAINS, Exchange, RADIX, Taking, Transfer, Tree, doublings};
use super::nccl;

impl Tree {
    fn parent(self, place: u32, size: u32) -> Option<u32> {
        let above = place.checked_sub(1)?;
        Some(
            match self {
                Self::Flat => 0,
                Self::Binomial => place & above,
                Self::Doubling => place ^ (1 << place.ilog2()),
                Self::Binary => above / 2,
                Self::Levels => {
                    let half = level(place) / 2;
                    // The first or the second half of the level has the first children.
                    let times = (place + 1 - level(place)) / half + 1;
                    place - half * times
                }
                Self::Chain => above,
                Self::Chains => match (0..CHAINS).any(|chain| head(chain, size) == place) {
                    true => 0,
                    false => above,
                },
                Self::Knomial => place - place % (lowest(place) * RADIX),
                Self::InOrder => size - in_order(size - place, size).0,
                Self::OfNodes { per_node } => match place % per_node {
                    0 => {
                        let node = place / per_node;
                        let upper = nccl::parent(node, size / per_node);
                        upper * per_node + nccl::seat(node < upper, per_node)
                    }
                    _ => above,
                },
            } % size,
        )
    }

    /// Number of children.
    fn children(self, place: u32, size: u32) -> u32 {
        match self {
            Self::Flat if place == 0 => size - 1,
            Self::Flat => 0,
            Self::Binomial => {
                let possible = match place {
                    0 => doublings(size),
                    _ => place.trailing_zeros(),
                };
                // 2^k below what is left, as only those have a place.
                possible.min(doublings(size - place))
            }
            Self::Doubling => {
                // Distances from the first power of two above the place on.
                let (first, room) = (beyond(place), size - 1 - place);
                match room / first {
                    0 => 0,
                    times => times.ilog2() + 1,
                }
            }
            Self::Binary => {
                let first = 2 * u64::from(place) + 1;
                u64::from(size).saturating_sub(first).min(2) as u32
            }
            Self::Levels => {
                let (first, each) = (u64::from(place) + u64::from(level(place)), level(place));
                u64::from(size)
                    .saturating_sub(first)
                    .div_ceil(u64::from(each))
                    .min(2) as u32
            }
            Self::Chain => u32::from(place + 1 < size),
            Self::Chains if place == 0 => (size - 1).min(CHAINS),
            Self::Chains => {
                let next = place + 1;
                let begins = (0..CHAINS).any(|chain| head(chain, size) == next);
                u32::from(next < size && !begins)
            }
            Self::InOrder => (in_order((size - place) % size, size).1 - 1).min(2),
            Self::OfNodes { per_node } => of_nodes(place, size, per_node).count() as u32,
            Self::Knomial => {
                // They are numbered in the order of their places.
                let mut children = 0;
                let mut weight = 1u32;
                while (place == 0 || weight < lowest(place)) && weight < size - place {
                    children += ((size - place - 1) / weight).min(RADIX - 1);
                    weight = weight.saturating_mul(RADIX);
                }
                children
            }
        }
    }

    /// The `index`-th child; of a binomial or k-nomial tree the one with the fewest below
    /// it first.
    fn child(self, place: u32, size: u32, index: u32) -> u32 {
        match self {
            Self::Flat => 1 + index,
            Self::Binomial => place + (1 << index),
            Self::Doubling => place + (beyond(place) << index),
            Self::Binary => 2 * place + 1 + index,
            Self::Levels => place + level(place) * (index + 1),
            Self::Chains if place == 0 => head(index, size),
            Self::Chain | Self::Chains => place + 1,
            Self::Knomial => place + (index % (RADIX - 1) + 1) * RADIX.pow(index / (RADIX - 1)),
            Self::OfNodes { per_node } => {
                let mut children = of_nodes(place, size, per_node);
                children
                    .nth(index as usize)
                    .expect("as many as are counted")
            }
            Self::InOrder => {
                let from_root = (size - place) % size;
                let left = left_of(in_order(from_root, size).1);
                let first = if left == 0 { 0 } else { left * index };
                size - (from_root + 1 + first)
            }
        }
    }
}

/// The children of a place of [`Tree::OfNodes`]: the next of its node, and the first of the nodes
/// that hang on it.
fn of_nodes(place: u32, size: u32, per_node: u32) -> impl Iterator<Item = u32> {
    let (node, local) = (place / per_node, place % per_node);
    let next = (local + 1 < per_node).then_some(place + 1);
    let [lower, upper] = nccl::children(node, size / per_node);
    let sits = move |first| nccl::seat(first, per_node) == local;
    let lower = lower.filter(|_| sits(true));
    let upper = upper.filter(|_| sits(false));
    let nodes = lower.into_iter().chain(upper);
    next.into_iter()
        .chain(nodes.map(move |node| node * per_node))
}

/// How many places the level of a place has.
fn level(place: u32) -> u32 {
    1 << (place + 1).ilog2()
}

/// The first place of a chain of [`CHAINS`]; beyond the last place if there is no such chain.
fn head(chain: u32, size: u32) -> u32 {
    let (short, longer) = ((size - 1) / CHAINS, (size - 1) % CHAINS);
    match short == 0 && chain >= longer {
        true => u32::MAX,
        false => 1 + chain * short + chain.min(longer),
    }
}

/// The distance of the parent of a place of an in-order tree, by its own distance from the root,
/// and how many are below it, itself included. Below a place with n are n − 1, of which half,
/// rounded down, of n are the right child and what is below that, beyond all on the left.
fn in_order(from_root: u32, size: u32) -> (u32, u32) {
    let (mut parent, mut at, mut below) = (0, 0, size);
    while at != from_root {
        let left = left_of(below);
        parent = at;
        (at, below) = match from_root <= at + left {
            true => (at + 1, left),
            false => (at + 1 + left, below / 2),
        };
    }
    (parent, below)
}

/// How many of this many are on the left below the topmost.
fn left_of(below: u32) -> u32 {
    below - 1 - below / 2
}

/// The first power of two above a place.
fn beyond(place: u32) -> u32 {
    (place + 1).next_power_of_two()
}

/// Weight of the lowest digit of a place, to the base of [`RADIX`], that is not zero.
fn lowest(place: u32) -> u32 {
    RADIX.pow(place.trailing_zeros() / RADIX.ilog2())
}

/// Round of a phase that goes along a tree in `segments`: the segment and the
/// child. A segment is received while the one before goes on.
fn turn(children: u32, segments: u32, index: u64) -> Option<(u64, u32)> {
    let turns = u64::from(children.max(1));
    let segment = index / turns;
    (segment <= u64::from(segments)).then_some((segment, (index % turns) as u32))
}

fn is_last(turn: u32, children: u32) -> bool {
    turn + 1 == children.max(1)
}

fn segment_transfer(peer: u32, segment: u64) -> Transfer {
    let segment = segment as u32;
    Transfer {
        peer,
        tag: segment,
        blocks: Blocks::one(segment),
    }
}

/// Segments from the root to all: each goes to one child after the other, and
/// the next is received from the parent while it goes to the last.
pub(super) fn down(
    tree: Tree,
    segments: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<Exchange> {
    let children = tree.children(place, size);
    let (segment, turn) = turn(children, segments, index)?;
    let receives = is_last(turn, children) && segment < u64::from(segments);
    let receive = tree.parent(place, size).filter(|_| receives);
    let send = segment.checked_sub(1).filter(|_| turn < children);
    Some(Exchange {
        receive: receive.map(|parent| (segment_transfer(parent, segment), Taking::Keep)),
        // The child with the most below it first.
        send: send.map(|segment| {
            let child = tree.child(place, size, children - 1 - turn);
            segment_transfer(child, segment)
        }),
    })
}

/// Segments from all to the root: each is received from the children, one after
/// the other, while the one before goes to the parent.
pub(super) fn up(tree: Tree, segments: u32, place: u32, size: u32, index: u64) -> Option<Exchange> {
    let children = tree.children(place, size);
    let (segment, turn) = turn(children, segments, index)?;
    let receives = turn < children && segment < u64::from(segments);
    let send = segment.checked_sub(1).filter(|_| turn == 0);
    Some(Exchange {
        receive: receives.then(|| {
            let child = tree.child(place, size, turn);
            (segment_transfer(child, segment), Taking::Combine)
        }),
        send: tree
            .parent(place, size)
            .and_then(|parent| send.map(|segment| segment_transfer(parent, segment))),
    })
}

/// As [`up`], but that the root sends each segment back to its children.
pub(super) fn up_and_back(
    tree: Tree,
    segments: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<Exchange> {
    if place > 0 {
        return up(tree, segments, place, size, index);
    }
    let children = tree.children(place, size);
    let (segment, act) = turn(2 * children, segments, index)?;
    if segment >= u64::from(segments) || children == 0 {
        return None;
    }
    let transfer = |index| segment_transfer(tree.child(place, size, index), segment);
    Some(match act.checked_sub(children) {
        None => Exchange {
            receive: Some((transfer(act), Taking::Combine)),
            send: None,
        },
        // The child with the most below it first, as in [`down`].
        Some(act) => Exchange {
            receive: None,
            send: Some(transfer(children - 1 - act)),
        },
    })
}

/// Two binary trees share the places but the root: the odd ones are in the
/// first, the even ones in the second. The segments of the first half go down the
/// first, those of the second down the second, as in [`down`]; the root serves
/// both in turn.
pub(super) fn split_down(parts: u32, place: u32, size: u32, index: u64) -> Option<Exchange> {
    let segments = parts / 2;
    let Some(beyond) = place.checked_sub(1) else {
        // The root begins at once: it waits for nobody.
        let (segment, side) = (index / 2, (index % 2) as u32);
        let child = 1 + side;
        return (segment < u64::from(segments)).then(|| Exchange {
            receive: None,
            send: (child < size)
                .then(|| segment_transfer(child, segment + u64::from(side * segments))),
        });
    };
    let (side, within) = (beyond % 2, beyond / 2);
    let places = (size - side) / 2;
    let on_this_side = |transfer: Transfer| {
        let segment = transfer.tag + side * segments;
        segment_transfer(2 * transfer.peer + 1 + side, u64::from(segment))
    };
    let exchange = down(Tree::Binary, segments, within, places, index)?;
    let receive = match within {
        // The first of a tree has the root above it.
        0 => {
            let children = Tree::Binary.children(0, places);
            let (segment, turn) = turn(children, segments, index)?;
            let receives = is_last(turn, children) && segment < u64::from(segments);
            let segment = segment + u64::from(side * segments);
            receives.then(|| segment_transfer(0, segment))
        }
        _ => exchange.receive.map(|(transfer, _)| on_this_side(transfer)),
    };
    Some(Exchange {
        receive: receive.map(|transfer| (transfer, Taking::Keep)),
        send: exchange.send.map(on_this_side),
    })
}

/// The halves of [`split_down`] between a place of the first tree and the next
/// one, of the second; the last one, if it is alone, gets its from the root.
pub(super) fn swap_halves(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round > 0 {
        return None;
    }
    let half = |side: u32| Blocks::Range {
        first: side * (parts / 2),
        count: parts / 2,
    };
    let transfer = |peer, side| Transfer {
        peer,
        tag: 0,
        blocks: half(side),
    };
    let last = size - 1;
    let alone = size.is_multiple_of(2).then_some(last);
    if Some(place) == alone {
        return Some(Exchange {
            receive: Some((transfer(0, 1), Taking::Keep)),
            send: None,
        });
    }
    let Some(beyond) = place.checked_sub(1) else {
        return alone.map(|last| Exchange {
            receive: None,
            send: Some(transfer(last, 1)),
        });
    };
    let side = beyond % 2;
    let partner = if side == 0 { place + 1 } else { place - 1 };
    Some(Exchange {
        receive: Some((transfer(partner, 1 - side), Taking::Keep)),
        send: Some(transfer(partner, side)),
    })
}

/// Everything below a place of a binomial tree, the place included.
fn below(place: u32, size: u32) -> Blocks {
    let most = match place {
        0 => size,
        _ => 1 << place.trailing_zeros(),
    };
    Blocks::Range {
        first: place,
        count: most.min(size - place),
    }
}

/// What belongs to a place and those below it in a binomial tree goes down.
pub(super) fn scatter(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let children = Tree::Binomial.children(place, size);
    let transfer = |peer: u32, of: u32| Transfer {
        peer,
        tag: 0,
        blocks: below(of, size),
    };
    match round.checked_sub(1) {
        None => {
            let parent = Tree::Binomial.parent(place, size);
            Some(Exchange {
                receive: parent.map(|parent| (transfer(parent, place), Taking::Keep)),
                send: None,
            })
        }
        Some(turn) if turn < children => {
            let child = Tree::Binomial.child(place, size, children - 1 - turn);
            Some(Exchange {
                receive: None,
                send: Some(transfer(child, child)),
            })
        }
        Some(_) => None,
    }
}

/// What belongs to a place and those below it in a binomial tree goes up.
pub(super) fn gather(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let children = Tree::Binomial.children(place, size);
    let transfer = |peer: u32, of: u32| Transfer {
        peer,
        tag: 0,
        blocks: below(of, size),
    };
    if round < children {
        let child = Tree::Binomial.child(place, size, round);
        return Some(Exchange {
            receive: Some((transfer(child, child), Taking::Keep)),
            send: None,
        });
    }
    let parent = Tree::Binomial
        .parent(place, size)
        .filter(|_| round == children)?;
    Some(Exchange {
        receive: None,
        send: Some(transfer(parent, place)),
    })
}

/// Everything from the root to each.
pub(super) fn spread(place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let transfer = |peer: u32| Transfer {
        peer,
        tag: 0,
        blocks: Blocks::All,
    };
    match place {
        0 => {
            let peer = u32::try_from(index + 1).ok().filter(|&peer| peer < size)?;
            Some(AtOnce::Send(transfer(peer)))
        }
        _ => (index == 0).then(|| AtOnce::Receive(transfer(0))),
    }
}

/// Segments from the parent, each of which goes to all children at once. The receive of the
/// next is posted before, and sends are waited for before those of the next:
/// `ompi_coll_base_bcast_intra_generic` of Open MPI.
pub(super) fn down_at_once(
    tree: Tree,
    segments: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<AtOnce> {
    let children = tree.children(place, size);
    let parent = tree.parent(place, size);
    let receive = |parent, segment| AtOnce::Receive(segment_transfer(parent, segment));
    let index = match parent {
        None => index,
        Some(parent) => match index.checked_sub(1) {
            None => return Some(receive(parent, 0)),
            Some(index) => index,
        },
    };
    // To receive the next and to wait for this one, to send it, to wait for that.
    let before = if parent.is_some() { 2 } else { 0 };
    let acts = before + u64::from(children) + 1;
    let (segment, act) = (index / acts, index % acts);
    let follows = segment + 1 < u64::from(segments);
    let wait = match follows && parent.is_some() {
        true => AtOnce::WaitButLast,
        false => AtOnce::Wait,
    };
    (segment < u64::from(segments)).then(|| match (parent, act.checked_sub(before)) {
        (_, Some(child)) if child < u64::from(children) => {
            let child = tree.child(place, size, child as u32);
            AtOnce::Send(segment_transfer(child, segment))
        }
        (Some(parent), None) if act == 0 => match follows {
            true => receive(parent, segment + 1),
            false => AtOnce::Nothing,
        },
        _ => wait,
    })
}

/// Segments to the root, of which each place receives two at a time, from one child after the
/// other, combining the one while the other is under way, and sends what is combined before it
/// goes on: `ompi_coll_base_reduce_generic` of Open MPI.
pub(super) fn up_overlapped(
    tree: Tree,
    segments: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<AtOnce> {
    let children = u64::from(tree.children(place, size));
    let parent = tree.parent(place, size);
    let segments = u64::from(segments);
    let send = |segment| match parent {
        Some(parent) => AtOnce::Send(segment_transfer(parent, segment)),
        None => AtOnce::Nothing,
    };
    let combine = |segment: u64| AtOnce::Combine(Blocks::one(segment as u32));
    if children == 0 {
        let sends = parent.is_some() && index / 2 < segments;
        return sends.then(|| match index % 2 {
            0 => send(index / 2),
            _ => AtOnce::Wait,
        });
    }
    // With the first child of a segment, what was combined of the one before goes on.
    let acts = 3 * children + 2;
    let (segment, act) = (index / acts, index % acts);
    let (child, act) = match act.checked_sub(5) {
        None => (0, act),
        Some(act) => (1 + act / 3, act % 3),
    };
    if segment > segments || (segment == segments && child > 0) {
        return None;
    }
    let before = segment.checked_sub(u64::from(child == 0));
    let wait = match segment < segments {
        true => AtOnce::WaitButLast,
        false => AtOnce::Wait,
    };
    Some(match (act, before) {
        (0, _) if segment < segments => {
            let child = tree.child(place, size, child as u32);
            AtOnce::Collect(segment_transfer(child, segment))
        }
        (0, _) | (_, None) => AtOnce::Nothing,
        (2, Some(before)) => combine(before),
        (3, Some(before)) => send(before),
        _ => wait,
    })
}

/// With whom a place talks: the root with all others, they with the root.
fn peer(place: u32, size: u32, index: u64) -> Option<u32> {
    match place {
        0 => u32::try_from(index + 1).ok().filter(|&peer| peer < size),
        _ => (index == 0).then_some(0),
    }
}

/// The block of each place from the root.
pub(super) fn scatter_at_once(data: &Data, place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let peer = peer(place, size, index)?;
    let transfer = |blocks| Transfer {
        peer,
        tag: 0,
        blocks,
    };
    let own = Blocks::Pair {
        from: 0,
        to: place.max(peer),
    };
    Some(match (data, place) {
        (Data::Own { sends, .. }, 0) => sends_if(sends, transfer(own)),
        (Data::Own { receives, .. }, _) => receives_if(receives, transfer(own)),
        (_, 0) => AtOnce::Send(transfer(Blocks::one(peer))),
        _ => AtOnce::Receive(transfer(Blocks::one(place))),
    })
}

/// The block of each place to the root.
pub(super) fn gather_at_once(data: &Data, place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let peer = peer(place, size, index)?;
    let transfer = |blocks| Transfer {
        peer,
        tag: 0,
        blocks,
    };
    let own = Blocks::Pair {
        from: place.max(peer),
        to: 0,
    };
    Some(match (data, place) {
        (Data::Own { receives, .. }, 0) => receives_if(receives, transfer(own)),
        (Data::Own { sends, .. }, _) => sends_if(sends, transfer(own)),
        (_, 0) => AtOnce::Receive(transfer(Blocks::one(peer))),
        _ => AtOnce::Send(transfer(Blocks::one(place))),
    })
}

/// Sends what goes to a peer, if anything does.
pub(super) fn sends_if(sends: &[Bytes], transfer: Transfer) -> AtOnce {
    match size_in(sends, transfer.peer) {
        Bytes::ZERO => AtOnce::Nothing,
        _ => AtOnce::Send(transfer),
    }
}

/// Receives what comes from a peer, if anything does.
pub(super) fn receives_if(receives: &[Bytes], transfer: Transfer) -> AtOnce {
    match size_in(receives, transfer.peer) {
        Bytes::ZERO => AtOnce::Nothing,
        _ => AtOnce::Receive(transfer),
    }
}

/// The block of each place to the root, which asks one after the other.
pub(super) fn gather_asked(place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let index = u32::try_from(index).ok()?;
    let asks = |peer| Transfer {
        peer,
        tag: 1,
        blocks: Blocks::Range { first: 0, count: 0 },
    };
    let gives = |peer, of| Transfer {
        peer,
        tag: 0,
        blocks: Blocks::one(of),
    };
    if place > 0 {
        return match index {
            0 => Some(AtOnce::Receive(asks(0))),
            1 => Some(AtOnce::Wait),
            2 => Some(AtOnce::Send(gives(0, place))),
            _ => None,
        };
    }
    let peer = index / 3 + 1;
    (peer < size).then(|| match index % 3 {
        0 => AtOnce::Receive(gives(peer, peer)),
        1 => AtOnce::Send(asks(peer)),
        _ => AtOnce::Wait,
    })
}

/// The same as `at_once`, but the root deals with one place after the other: it waits for each.
pub(super) fn in_turn(
    place: u32,
    size: u32,
    index: u64,
    at_once: impl Fn(u64) -> Option<AtOnce>,
) -> Option<AtOnce> {
    match (place, index % 2) {
        (0, 1) => (index / 2 + 1 < u64::from(size)).then_some(AtOnce::Wait),
        (0, _) => at_once(index / 2),
        _ => at_once(index),
    }
}

/// Everything from one place to the root.
pub(super) fn hand_over(from: u32, place: u32, round: u32) -> Option<Exchange> {
    let transfer = |peer| Transfer {
        peer,
        tag: 0,
        blocks: Blocks::All,
    };
    if round > 0 || from == 0 {
        return None;
    }
    Some(Exchange {
        receive: (place == 0).then(|| (transfer(from), Taking::Keep)),
        send: (place == from).then(|| transfer(0)),
    })
}
