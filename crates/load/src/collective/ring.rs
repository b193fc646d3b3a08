//! Phases in which every place does the same around a circle.

use super::data::Blocks;
use super::phase::{Exchange, Taking, Transfer, after, before, doublings};

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
