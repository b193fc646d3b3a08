//! Phases among a power of two of places. Of other numbers, as many pairs as are
//! needed fold into one each (Rabenseifner 2004; Thakur, Rabenseifner, Gropp
//! 2005): the odd place of each of the first pairs leaves, the even one stays.

use super::data::Blocks;
use super::exchange::{Exchange, Folding, Taking, Transfer};

/// Which places stay.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    /// Number of those that stay: the largest power of two up to `size`.
    pub(super) stay: u32,
    /// Number of those that leave.
    leave: u32,
}

impl Folded {
    pub(super) fn of(size: u32) -> Self {
        let stay = 1 << size.ilog2();
        Self {
            stay,
            leave: size - stay,
        }
    }

    /// Where a place is among those that stay; `None` if it leaves.
    pub(super) fn index(self, place: u32) -> Option<u32> {
        match place.checked_sub(2 * self.leave) {
            Some(_) => Some(place - self.leave),
            None => place.is_multiple_of(2).then_some(place / 2),
        }
    }

    /// The place of one that stays; for `stay`, the end of the places.
    pub(super) fn place(self, index: u32) -> u32 {
        index + index.min(self.leave)
    }

    /// The blocks of some that stay, and of those that they stand for.
    pub(super) fn blocks(self, parts: u32, first: u32, count: u32) -> Blocks {
        if parts == self.stay {
            return Blocks::Range { first, count };
        }
        let (first, end) = (self.place(first), self.place(first + count));
        Blocks::Range {
            first,
            count: end - first,
        }
    }

    /// The same around the circle of those that stay.
    pub(super) fn blocks_around(self, parts: u32, first: u32, count: u32) -> Blocks {
        let Some(beyond) = (first + count).checked_sub(self.stay).filter(|&b| b > 0) else {
            return self.blocks(parts, first, count);
        };
        let (to_end, from_start) = (
            self.blocks(parts, first, count - beyond),
            self.blocks(parts, 0, beyond),
        );
        match (to_end, from_start) {
            (Blocks::Range { first, count }, Blocks::Range { count: more, .. }) => Blocks::Range {
                first,
                count: count + more,
            },
            _ => unreachable!("places have ranges of blocks"),
        }
    }
}

fn fold(
    place: u32,
    size: u32,
    round: u32,
    blocks: impl Fn(u32) -> Blocks,
) -> Option<(bool, Transfer)> {
    let folded = Folded::of(size);
    if round > 0 || place >= 2 * folded.leave {
        return None;
    }
    let transfer = Transfer {
        peer: place ^ 1,
        tag: 0,
        blocks: blocks(place | 1),
    };
    Some((place % 2 == 1, transfer))
}

fn folding_blocks(folding: Folding, leaves: u32) -> Blocks {
    match folding {
        Folding::Own => Blocks::one(leaves),
        Folding::Combined | Folding::All => Blocks::All,
    }
}

/// Members that leave give what they have.
pub(super) fn fold_in(folding: Folding, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (leaves, transfer) = fold(place, size, round, |leaves| folding_blocks(folding, leaves))?;
    Some(if leaves {
        sends(transfer)
    } else if folding == Folding::Combined {
        receives(transfer, Taking::Combine)
    } else {
        receives(transfer, Taking::Keep)
    })
}

/// Members that have left get their part of the result.
pub(super) fn fold_out(folding: Folding, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (left, transfer) = fold(place, size, round, |left| folding_blocks(folding, left))?;
    Some(if left {
        receives(transfer, Taking::Keep)
    } else {
        sends(transfer)
    })
}

fn sends(transfer: Transfer) -> Exchange {
    Exchange {
        receive: None,
        send: Some(transfer),
    }
}

fn receives(transfer: Transfer, taking: Taking) -> Exchange {
    Exchange {
        receive: Some((transfer, taking)),
        send: None,
    }
}

/// The partner at a distance among those that stay, and the own index.
fn partner(place: u32, size: u32, distance: u32) -> Option<(Folded, u32, u32)> {
    let folded = Folded::of(size);
    let index = folded.index(place)?;
    (distance < folded.stay).then_some((folded, index, index ^ distance))
}

/// `1 << round`, or more than any distance.
fn power(round: u32) -> u32 {
    1u32.checked_shl(round).unwrap_or(u32::MAX)
}

/// In each round everything goes both ways between partners and is combined.
pub(super) fn combine(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, _, partner) = partner(place, size, power(round))?;
    let transfer = Transfer {
        peer: folded.place(partner),
        tag: round,
        blocks: Blocks::All,
    };
    Some(Exchange {
        receive: Some((transfer, Taking::Combine)),
        send: Some(transfer),
    })
}

/// In each round everything goes both ways between partners and is combined, but for the blocks of
/// the sender and those that it has combined with: MPICH's `reduce_scatter_intra_recursive_doubling`.
pub(super) fn combine_others(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let distance = power(round);
    let (folded, index, partner) = partner(place, size, distance)?;
    let transfer = |of: u32| {
        let first = (of & !(distance - 1)) + distance;
        let count = folded.stay - distance;
        Transfer {
            peer: folded.place(partner),
            tag: round,
            blocks: folded.blocks_around(parts, first & (folded.stay - 1), count),
        }
    };
    Some(Exchange {
        receive: Some((transfer(partner), Taking::Combine)),
        send: Some(transfer(index)),
    })
}

/// In each round partners get all blocks that the other has.
pub(super) fn doubling(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let distance = power(round);
    let (folded, index, partner) = partner(place, size, distance)?;
    let transfer = |of: u32| Transfer {
        peer: folded.place(partner),
        tag: round,
        blocks: folded.blocks(parts, of & !(distance - 1), distance),
    };
    Some(Exchange {
        receive: Some((transfer(partner), Taking::Keep)),
        send: Some(transfer(index)),
    })
}

/// In each round partners give each other the half that the other goes on with.
pub(super) fn halving(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let distance = Folded::of(size).stay >> 1 >> round.min(31);
    if distance == 0 {
        return None;
    }
    let (folded, index, partner) = partner(place, size, distance)?;
    let transfer = |of: u32| Transfer {
        peer: folded.place(partner),
        tag: round,
        blocks: folded.blocks(parts, of & !(distance - 1), distance),
    };
    Some(Exchange {
        receive: Some((transfer(index), Taking::Combine)),
        send: Some(transfer(partner)),
    })
}

/// Where an index stands when the bits of its number are read from the other end.
fn mirrored(folded: Folded, index: u32) -> u32 {
    match folded.stay {
        1 => 0,
        stay => index.reverse_bits() >> (32 - stay.trailing_zeros()),
    }
}

/// Partners at the distance of a step, each of which has a run of as many blocks as there are
/// places beyond that distance, in the order of mirrored indices.
struct Near {
    parts: u32,
    folded: Folded,
    index: u32,
    partner: u32,
    step: u32,
}

impl Near {
    fn at(parts: u32, place: u32, size: u32, step: u32) -> Option<Self> {
        let (folded, index, partner) = partner(place, size, power(step))?;
        Some(Self {
            parts,
            folded,
            index,
            partner,
            step,
        })
    }

    /// What one of the two has.
    fn transfer(&self, of: u32) -> Transfer {
        let count = self.folded.stay >> (self.step + 1);
        let first = mirrored(self.folded, of) & !(count - 1);
        Transfer {
            peer: self.folded.place(self.partner),
            tag: self.step,
            blocks: self.folded.blocks(self.parts, first, count),
        }
    }
}

/// In each round partners, the nearest first, give each other the half that the other goes on
/// with.
pub(super) fn near_halving(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let near = Near::at(parts, place, size, round)?;
    Some(Exchange {
        receive: Some((near.transfer(near.index), Taking::Combine)),
        send: Some(near.transfer(near.partner)),
    })
}

/// The way back: partners, the farthest first, get all blocks that the other has.
pub(super) fn near_doubling(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let near = Near::at(parts, place, size, size.ilog2().checked_sub(round + 1)?)?;
    Some(Exchange {
        receive: Some((near.transfer(near.partner), Taking::Keep)),
        send: Some(near.transfer(near.index)),
    })
}

/// The same way back to the first place: the upper of two partners gives what it has and is
/// done.
pub(super) fn near_gather(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let near = Near::at(parts, place, size, size.ilog2().checked_sub(round + 1)?)?;
    if near.index >> near.step > 1 {
        return None;
    }
    Some(match near.index > near.partner {
        true => sends(near.transfer(near.index)),
        false => receives(near.transfer(near.partner), Taking::Keep),
    })
}

/// Blocks go from where [`near_halving`] leaves them to their places.
pub(super) fn near_home(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let folded = Folded::of(size);
    let index = folded.index(place).filter(|_| round == 0)?;
    let other = mirrored(folded, index);
    if other == index {
        return Some(Exchange::default());
    }
    let transfer = |of| Transfer {
        peer: folded.place(other),
        tag: 0,
        blocks: folded.blocks(parts, of, 1),
    };
    Some(Exchange {
        receive: Some((transfer(index), Taking::Keep)),
        send: Some(transfer(other)),
    })
}
