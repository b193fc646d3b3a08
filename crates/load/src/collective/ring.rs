//! Phases in which every place does the same around a circle.

use super::data::Blocks;
use super::exchange::{AtOnce, Exchange, RADIX, Taking, Transfer, after, before, doublings};

/// Dissemination (Hensgen, Finkel, Manber 1988): in round k every place sends
/// to the one 2^k further.
pub(super) fn dissemination(place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round >= doublings(size) {
        return None;
    }
    let transfer = |peer| Transfer {
        peer,
        tag: round,
        blocks: Blocks::All,
    };
    Some(Exchange {
        receive: Some((transfer(before(place, 1 << round, size)), Taking::Hear)),
        send: Some(transfer(after(place, 1 << round, size))),
    })
}

/// In round r a place passes on the block of r places before it.
pub(super) fn gather(place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round + 1 >= size {
        return None;
    }
    Some(Exchange {
        receive: Some((
            Transfer {
                peer: before(place, 1, size),
                tag: round,
                blocks: Blocks::one(before(place, round + 1, size)),
            },
            Taking::Keep,
        )),
        send: Some(Transfer {
            peer: after(place, 1, size),
            tag: round,
            blocks: Blocks::one(before(place, round, size)),
        }),
    })
}

/// As [`gather`], one block behind, so that a place's own arrives last with the
/// parts of all others.
pub(super) fn reduce(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let exchange = gather(before(place, 1, size), size, round)?;
    Some(Exchange {
        receive: exchange.receive.map(|(transfer, _)| {
            let peer = before(place, 1, size);
            (Transfer { peer, ..transfer }, Taking::Combine)
        }),
        send: exchange.send.map(|transfer| Transfer {
            peer: after(place, 1, size),
            ..transfer
        }),
    })
}

/// As [`reduce`], with this many segments of each block one after the other.
pub(super) fn reduce_segments(
    segments: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<Exchange> {
    let rounds = u64::from(size.checked_sub(1).filter(|&rounds| rounds > 0)?);
    let (segment, round) = ((index / rounds) as u32, (index % rounds) as u32);
    let of_segment = |transfer: Transfer| match transfer.blocks {
        Blocks::Range { first, count: 1 } => Transfer {
            tag: segment * (size - 1) + round,
            blocks: Blocks::one(first * segments + segment),
            ..transfer
        },
        _ => unreachable!("one block at a time goes around"),
    };
    let exchange = reduce(place, size, round).filter(|_| segment < segments)?;
    let receive = exchange.receive;
    Some(Exchange {
        receive: receive.map(|(transfer, taking)| (of_segment(transfer), taking)),
        send: exchange.send.map(of_segment),
    })
}

/// Bruck et al. 1997, with [`RADIX`] − 1 partners in each round: a place has the blocks of its
/// k^i successors before round i and gets those of the next (k − 1)·k^i.
pub(super) fn bruck_of_many(place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let (mut index, mut distance) = (u32::try_from(index).ok()?, 1u32);
    while distance < size {
        let partners = ((size - 1) / distance).min(RADIX - 1);
        if index < 2 * partners {
            let further = distance * (index / 2 + 1);
            let transfer = |peer, first| Transfer {
                peer,
                tag: 0,
                blocks: Blocks::Range {
                    first,
                    count: distance.min(size - further),
                },
            };
            let from = after(place, further, size);
            return Some(match index % 2 {
                0 => AtOnce::Receive(transfer(from, from)),
                _ => AtOnce::Send(transfer(before(place, further, size), place)),
            });
        }
        if index == 2 * partners {
            return Some(AtOnce::Wait);
        }
        index -= 2 * partners + 1;
        distance = distance.saturating_mul(RADIX);
    }
    None
}

/// Sparbit (Loch, Koslovski: *Sparbit: a new logarithmic-cost and data locality-aware MPI
/// Allgather algorithm*, 2021): at distances that halve, a place sends every block that it has
/// as a message of its own, but for the farthest one where that would come twice. Of a round
/// it sends `most`.
pub(super) fn sparbit(most: u32, place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let mut index = u32::try_from(index).ok()?;
    let zeros = size.trailing_zeros();
    let skips = (!(size >> zeros) | 1) << zeros;
    let (mut distance, mut has) = (size.next_power_of_two() / 2, 1);
    while distance > 0 {
        let new = has - u32::from(distance & skips == distance);
        let blocks = new.min(most);
        if index < 2 * blocks {
            let (block, way) = (index / 2, index % 2);
            let transfer = |peer, steps: u32| Transfer {
                peer,
                tag: block,
                blocks: Blocks::one(before(place, steps * distance, size)),
            };
            return Some(match way {
                0 => AtOnce::Receive(transfer(before(place, distance, size), 2 * block + 1)),
                _ => AtOnce::Send(transfer(after(place, distance, size), 2 * block)),
            });
        }
        if index == 2 * blocks {
            return Some(AtOnce::Wait);
        }
        index -= 2 * blocks + 1;
        has += new;
        distance /= 2;
    }
    None
}

/// Bruck et al. 1997: a place has the blocks of its 2^k successors before round
/// k and gets those of the next 2^k, the last time only what is missing.
pub(super) fn bruck(place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round >= doublings(size) {
        return None;
    }
    let distance = 1 << round;
    let count = distance.min(size - distance);
    let further = after(place, distance, size);
    let transfer = |peer, first| Transfer {
        peer,
        tag: round,
        blocks: Blocks::Range { first, count },
    };
    Some(Exchange {
        receive: Some((transfer(further, further), Taking::Keep)),
        send: Some(transfer(before(place, distance, size), place)),
    })
}

/// Neighbour exchange (Chen et al. 2005), for even sizes: a place talks in turn
/// to the neighbours on both sides, and passes on the pair of blocks that it got
/// in the round before.
pub(super) fn neighbours(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let pairs = size / 2;
    if round >= pairs {
        return None;
    }
    let other = place ^ 1;
    if round == 0 {
        let transfer = |of| Transfer {
            peer: other,
            tag: 0,
            blocks: Blocks::one(of),
        };
        return Some(Exchange {
            receive: Some((transfer(other), Taking::Keep)),
            send: Some(transfer(place)),
        });
    }
    // Pairs come from both sides in turn, each time from one further.
    let pair = |place: u32, round: u32| {
        let from_below = round % 2 != place % 2;
        let distance = round.div_ceil(2);
        match from_below {
            true => before(place / 2, distance, pairs),
            false => after(place / 2, distance, pairs),
        }
    };
    let peer = match (round % 2, place % 2) {
        (0, _) => other,
        (_, 0) => before(place, 1, size),
        _ => after(place, 1, size),
    };
    let transfer = |pair: u32| Transfer {
        peer,
        tag: round,
        blocks: Blocks::Range {
            first: 2 * pair,
            count: 2,
        },
    };
    let sent = match round {
        1 => place / 2,
        _ => pair(place, round - 1),
    };
    Some(Exchange {
        receive: Some((transfer(pair(place, round)), Taking::Keep)),
        send: Some(transfer(sent)),
    })
}

/// In round r a place gives the one r + 1 further that one's block.
pub(super) fn pairwise_reduce(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let distance = round.checked_add(1).filter(|&distance| distance < size)?;
    let to = after(place, distance, size);
    let transfer = |peer, block| Transfer {
        peer,
        tag: round,
        blocks: Blocks::one(block),
    };
    Some(Exchange {
        receive: Some((
            transfer(before(place, distance, size), place),
            Taking::Combine,
        )),
        send: Some(transfer(to, to)),
    })
}
