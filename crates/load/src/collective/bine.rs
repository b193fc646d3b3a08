//! Bine trees (De Sensi et al.: *Bine Trees: Enhancing Collective Operations by Optimizing
//! Communication Locality*, SC 2025): partners as in recursive doubling, but at distances
//! that are sums of powers of −2 (1, −1, 3, −5, 11, …): even places go up by that much, odd
//! ones down. Whom a place has heard of then lies on both of its sides, nearer to it. Among a
//! power of two of places; others fold, as in [`folded`](super::folded).

use super::data::Blocks;
use super::exchange::{AtOnce, Exchange, Taking, Transfer};
use super::folded::Folded;

/// Bits of the negabinary representation that have a negative weight.
const NEGATIVE: u32 = 0xAAAA_AAAA;

/// The negabinary representation of a number, which may have wrapped below zero.
fn negabinary(number: u32) -> u32 {
    number.wrapping_add(NEGATIVE) ^ NEGATIVE
}

/// The number of a negabinary representation, wrapped if it is below zero.
fn number(negabinary: u32) -> u32 {
    (negabinary ^ NEGATIVE).wrapping_sub(NEGATIVE)
}

/// A power of two of places.
#[derive(Clone, Copy)]
struct Places(u32);

impl Places {
    fn steps(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// A number around the circle of places.
    fn around(self, number: u32) -> u32 {
        number & (self.0 - 1)
    }

    /// Whom `index` talks to over the distance of `step`.
    fn partner(self, index: u32, step: u32) -> u32 {
        let distance = number(u32::MAX >> (31 - step));
        self.around(match index.is_multiple_of(2) {
            true => index.wrapping_add(distance),
            false => index.wrapping_sub(distance),
        })
    }

    /// Where a place stands in the order in which what it talks of is contiguous (ν of the
    /// paper).
    fn order(self, index: u32) -> u32 {
        if self.0 == 1 {
            return 0;
        }
        let bits = self.around(negabinary(match index.is_multiple_of(2) {
            true => index.wrapping_neg(),
            false => index,
        }));
        (bits ^ bits >> 1).reverse_bits() >> (32 - self.steps())
    }

    /// The place that stands there.
    fn ordered(self, at: u32) -> u32 {
        if self.0 == 1 {
            return 0;
        }
        let gray = at.reverse_bits() >> (32 - self.steps());
        let bits = (0..self.steps()).fold(0, |bits, shift| bits ^ gray >> shift);
        let found = number(bits);
        self.around(match bits & 1 {
            0 => found.wrapping_neg(),
            _ => found,
        })
    }

    /// The step whose partner a place of the tree hears from; none for the root.
    fn hears(self, index: u32) -> Option<u32> {
        let bits = negabinary(index);
        let alike = |&step: &u32| {
            let mask = u32::MAX >> (31 - step);
            [0, mask].contains(&(bits & mask))
        };
        (0..self.steps()).rev().find(alike).filter(|_| index > 0)
    }

    /// Whom a place reaches over the first `steps` distances, the largest first: as many as
    /// 2^steps places that follow each other. The first of them.
    fn first_around(self, index: u32, steps: u32) -> u32 {
        let below = match index.is_multiple_of(2) {
            true => NEGATIVE,
            false => !NEGATIVE,
        };
        self.around(index.wrapping_sub(below & ((1 << steps) - 1)))
    }

    /// Who has what stands where `index` does after this many rounds of a scatter from place 0
    /// whose distances grow: in each the half that stands with the partner goes to it.
    fn holder(self, index: u32, rounds: u32) -> u32 {
        let stands = self.order(index);
        (0..rounds).fold(0, |holder, round| {
            let run = self.steps() - 1 - round;
            match self.order(holder) >> run == stands >> run {
                true => holder,
                false => self.partner(holder, round),
            }
        })
    }

    /// The round of that scatter in which a place hears; none for the root.
    fn hears_near(self, index: u32) -> Option<u32> {
        let has = |&round: &u32| self.holder(index, round + 1) == index;
        (0..self.steps()).find(has).filter(|_| index > 0)
    }
}

/// A place among those that stay: how many they are, and its index.
fn among(place: u32, size: u32) -> Option<(Folded, Places, u32)> {
    let folded = Folded::of(size);
    let index = folded.index(place)?;
    Some((folded, Places(folded.stay), index))
}

/// Partners give each other blocks: what comes and how it is taken, and what goes.
fn mutual(peer: u32, tag: u32, comes: (Blocks, Taking), goes: Blocks) -> Exchange {
    let transfer = |blocks| Transfer { peer, tag, blocks };
    Exchange {
        receive: Some((transfer(comes.0), comes.1)),
        send: Some(transfer(goes)),
    }
}

/// In each round everything goes both ways between partners and is combined.
pub(super) fn combine(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    (round < places.steps()).then(|| {
        let peer = folded.place(places.partner(index, round));
        mutual(peer, round, (Blocks::All, Taking::Combine), Blocks::All)
    })
}

/// Blocks of this many places in order, from that of `index` and those it goes with on.
fn run(folded: Folded, parts: u32, places: Places, index: u32, count: u32) -> Blocks {
    folded.blocks(parts, places.order(index) & !(count - 1), count)
}

/// In each round partners give each other the half that the other goes on with, in the order
/// of [`Places::order`].
pub(super) fn halving(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    if round >= places.steps() {
        return None;
    }
    let (partner, count) = (places.partner(index, round), places.0 >> (round + 1));
    let blocks = |of: u32| run(folded, parts, places, of, count);
    let comes = (blocks(index), Taking::Combine);
    Some(mutual(folded.place(partner), round, comes, blocks(partner)))
}

/// The other way round: partners get all blocks that the other has.
pub(super) fn doubling(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    let step = places.steps().checked_sub(round + 1)?;
    let partner = places.partner(index, step);
    let blocks = |of: u32| run(folded, parts, places, of, 1 << round);
    let comes = (blocks(partner), Taking::Keep);
    Some(mutual(folded.place(partner), round, comes, blocks(index)))
}

/// Each place's block goes to the place that stands there in order, or, if it is to come
/// `home`, from there to it.
pub(super) fn swap(home: bool, parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size).filter(|_| round == 0)?;
    let (at, stands) = (places.order(index), places.ordered(index));
    if at == index {
        return Some(Exchange::default());
    }
    let transfer = |peer, of| Transfer {
        peer: folded.place(peer),
        tag: 0,
        blocks: folded.blocks(parts, of, 1),
    };
    Some(match home {
        false => Exchange {
            receive: Some((transfer(at, at), Taking::Keep)),
            send: Some(transfer(stands, index)),
        },
        true => Exchange {
            receive: Some((transfer(stands, index), Taking::Keep)),
            send: Some(transfer(at, at)),
        },
    })
}

/// All from the root down the tree; distances shrink.
pub(super) fn down(place: u32, size: u32, round: u32) -> Option<Exchange> {
    down_with(place, size, round, |_, _, _, _| Blocks::All)
}

/// Down the tree goes to each place what `blocks` says of it: how many stay, the places, the
/// place's index, and the step over whose distance it hears.
fn down_with(
    place: u32,
    size: u32,
    round: u32,
    blocks: impl Fn(Folded, Places, u32, u32) -> Blocks,
) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    let step = places.steps().checked_sub(round + 1)?;
    let partner = places.partner(index, step);
    let transfer = |of: u32| Transfer {
        peer: folded.place(partner),
        tag: 0,
        blocks: blocks(folded, places, of, step),
    };
    let mut exchange = Exchange::default();
    match places.hears(index) {
        Some(hears) if step > hears => {}
        Some(hears) if step == hears => {
            exchange.receive = Some((transfer(index), Taking::Keep));
        }
        _ => exchange.send = Some(transfer(partner)),
    }
    Some(exchange)
}

/// All up the tree to the root, combined on the way.
pub(super) fn up(place: u32, size: u32, round: u32) -> Option<Exchange> {
    up_with(place, size, round, Taking::Combine, |_, _, _, _| {
        Blocks::All
    })
}

/// Up the tree goes from each place what `blocks` says of it, as in [`down_with`].
fn up_with(
    place: u32,
    size: u32,
    round: u32,
    taking: Taking,
    blocks: impl Fn(Folded, Places, u32, u32) -> Blocks,
) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    let last = places.hears(index).unwrap_or(places.steps());
    if round >= places.steps() || round > last {
        return None;
    }
    let partner = places.partner(index, round);
    let transfer = |of: u32| Transfer {
        peer: folded.place(partner),
        tag: 0,
        blocks: blocks(folded, places, of, round),
    };
    let mut exchange = Exchange::default();
    match round == last {
        true => exchange.send = Some(transfer(index)),
        false => exchange.receive = Some((transfer(partner), taking)),
    }
    Some(exchange)
}

/// What a place and those below it in a tree have, if it hears over the distance of `step`.
fn below(folded: Folded, places: Places, parts: u32, index: u32, step: u32) -> Blocks {
    folded.blocks_around(parts, places.first_around(index, step), 1 << step)
}

/// In each round partners, the nearest first, get all blocks that the other has; they follow
/// each other around the circle.
pub(super) fn two_blocks(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    if round >= places.steps() {
        return None;
    }
    let partner = places.partner(index, round);
    let blocks = |of: u32| below(folded, places, parts, of, round);
    let comes = (blocks(partner), Taking::Keep);
    Some(mutual(folded.place(partner), round, comes, blocks(index)))
}

/// To each place its block, and those of the places below it, down the tree; distances shrink.
pub(super) fn scatter(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    down_with(place, size, round, |folded, places, of, step| {
        below(folded, places, parts, of, step)
    })
}

/// From each place its block, with those of the places below it, up the tree.
pub(super) fn gather(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    up_with(
        place,
        size,
        round,
        Taking::Keep,
        |folded, places, of, step| below(folded, places, parts, of, step),
    )
}

/// Halves, quarters, … in the order of [`Places::order`] from the first place to those that
/// [`doubling`] then starts from; distances grow.
pub(super) fn spread(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let (folded, places, index) = among(place, size)?;
    if round >= places.steps() {
        return None;
    }
    let (partner, count) = (places.partner(index, round), places.0 >> (round + 1));
    let transfer = |of: u32| Transfer {
        peer: folded.place(partner),
        tag: 0,
        blocks: run(folded, parts, places, of, count),
    };
    let mut exchange = Exchange::default();
    if places.holder(index, round) == index {
        exchange.send = Some(transfer(partner));
    } else if places.holder(index, round + 1) == index {
        exchange.receive = Some((transfer(index), Taking::Keep));
    }
    Some(exchange)
}

/// The way back, after [`halving`].
pub(super) fn collect(parts: u32, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let steps = among(place, size)?.1.steps();
    let exchange = spread(parts, place, size, steps.checked_sub(round + 1)?)?;
    Some(Exchange {
        receive: exchange.send.map(|transfer| (transfer, Taking::Keep)),
        send: exchange.receive.map(|(transfer, _)| transfer),
    })
}

/// All from the root down the tree, from each place to all of its children at once: the nearest
/// of all, or the farthest of all, first.
pub(super) fn down_at_once(near: bool, place: u32, size: u32, index: u64) -> Option<AtOnce> {
    let (folded, places, me) = among(place, size)?;
    let transfer = |step: u32| Transfer {
        peer: folded.place(places.partner(me, step)),
        tag: 0,
        blocks: Blocks::All,
    };
    let hears = match near {
        true => places.hears_near(me),
        false => places.hears(me),
    };
    let turn = u32::try_from(index).ok()?;
    let step = match (hears, turn) {
        (Some(step), 0) => return Some(AtOnce::Receive(transfer(step))),
        (Some(_), 1) => return Some(AtOnce::Wait),
        (Some(hears), turn) if near => hears.checked_add(turn - 1)?,
        (Some(hears), turn) => hears.checked_sub(turn - 1)?,
        (None, turn) if near => turn,
        (None, turn) => places.steps().checked_sub(turn + 1)?,
    };
    (step < places.steps()).then(|| AtOnce::Send(transfer(step)))
}

/// As [`doubling`], or with `combines` as [`halving`], but each block where it belongs and as a
/// message of its own, of which there are `most` in a round.
pub(super) fn blocks(
    combines: bool,
    most: u32,
    parts: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<AtOnce> {
    let (folded, places, me) = among(place, size)?;
    let mut index = u32::try_from(index).ok()?;
    for round in 0..places.steps() {
        let (step, count) = match combines {
            true => (round, places.0 >> (round + 1)),
            false => (places.steps() - 1 - round, 1 << round),
        };
        let messages = count.min(most);
        let acts = 2 * messages + 1 + if combines { messages } else { 0 };
        if index >= acts {
            index -= acts;
            continue;
        }
        let partner = places.partner(me, step);
        let block = |of: u32, at: u32| {
            let stands = (places.order(of) & !(count - 1)) + at;
            folded.blocks(parts, places.ordered(stands), 1)
        };
        let transfer = |of: u32| Transfer {
            peer: folded.place(partner),
            tag: index / 2,
            blocks: block(of, index / 2),
        };
        return Some(
            match (index.checked_sub(2 * messages), index % 2, combines) {
                (Some(0), ..) => AtOnce::Wait,
                (Some(past), ..) => AtOnce::Combine(block(me, past - 1)),
                (None, 0, true) => AtOnce::Collect(transfer(me)),
                (None, _, true) => AtOnce::Send(transfer(partner)),
                (None, 0, false) => AtOnce::Receive(transfer(partner)),
                (None, _, false) => AtOnce::Send(transfer(me)),
            },
        );
    }
    None
}

/// As [`blocks`] among an even number of places that is no power of two, without folding: partners
/// at the same distances around the circle of all places, and each block on its way where its place
/// parts from that of the sender (`*_block_by_block_any_even` of PICO's `libbine`).
pub(super) fn blocks_of_even(
    combines: bool,
    most: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<AtOnce> {
    let mut index = u32::try_from(index).ok()?;
    let bits = u32::BITS - (size - 1).leading_zeros();
    let around = |from: u32, distance: u32| match from.is_multiple_of(2) {
        true => {
            (i64::from(from) + i64::from(distance.cast_signed())).rem_euclid(size.into()) as u32
        }
        false => {
            (i64::from(from) - i64::from(distance.cast_signed())).rem_euclid(size.into()) as u32
        }
    };
    for round in 0..bits {
        let step = if combines { round } else { bits - 1 - round };
        let parting = |at: &u32| parts_at(*at, size, bits) == step;
        let count = (1..size).filter(parting).count() as u32;
        let messages = count.min(most);
        let acts = 2 * messages + 1 + if combines { messages } else { 0 };
        if index >= acts {
            index -= acts;
            continue;
        }
        let partner = around(place, number(u32::MAX >> (31 - step)));
        // What goes from one of the two to the other if it combines, and comes from there if not.
        let block = |of: u32, at: u32| {
            let apart = (1..size).filter(parting).nth(at as usize);
            Blocks::one(around(of, apart.expect("fewer than are counted")))
        };
        let transfer = |of: u32| Transfer {
            peer: partner,
            tag: index / 2,
            blocks: block(of, index / 2),
        };
        return Some(
            match (index.checked_sub(2 * messages), index % 2, combines) {
                (Some(0), ..) => AtOnce::Wait,
                (Some(past), ..) => AtOnce::Combine(block(partner, past - 1)),
                (None, 0, true) => AtOnce::Collect(transfer(partner)),
                (None, _, true) => AtOnce::Send(transfer(place)),
                (None, 0, false) => AtOnce::Receive(transfer(place)),
                (None, _, false) => AtOnce::Send(transfer(partner)),
            },
        );
    }
    None
}

/// The step over whose distance a block goes from place 0 to the place `at` of an even number of
/// places, if distances grow: the first at which the two part in their order ν. Of two
/// representations in `bits` bits the one that comes first in it.
fn parts_at(at: u32, size: u32, bits: u32) -> u32 {
    // Digits of a place: of even ones of the way down, of odd ones of the way up.
    let turned = |number: u32| {
        if at.is_multiple_of(2) {
            number.wrapping_neg()
        } else {
            number
        }
    };
    let order = |number: u32| {
        let digits = negabinary(turned(number));
        (digits >> bits == 0).then(|| (digits ^ digits >> 1).reverse_bits() >> (u32::BITS - bits))
    };
    let found = [order(at), order(at.wrapping_sub(size))];
    let first = found.into_iter().flatten().min();
    first.map_or(u32::MAX, |order| bits - 1 - order.ilog2())
}

/// As [`halving`] of `split` times as many blocks, in segments of `each` of them one after the
/// other, of which there are `most` in a round.
pub(super) fn halving_segments(
    (split, each): (u32, u32),
    most: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<Exchange> {
    let (folded, places, me) = among(place, size)?;
    let mut index = u32::try_from(index).ok()?;
    for round in 0..places.steps() {
        let half = (places.0 >> (round + 1)) * split;
        let segments = half.div_ceil(each).min(most);
        if index >= segments {
            index -= segments;
            continue;
        }
        let partner = places.partner(me, round);
        let transfer = |of: u32| Transfer {
            peer: folded.place(partner),
            tag: index,
            blocks: Blocks::Range {
                first: places.order(of) * split / half * half + index * each,
                count: each.min(half - index * each),
            },
        };
        return Some(Exchange {
            receive: Some((transfer(me), Taking::Combine)),
            send: Some(transfer(partner)),
        });
    }
    None
}

/// In each round partners give each other what is on its way to the half that the other stands
/// in: half of what they hold, from twice as many places in every round. For powers of two.
pub(super) fn all_to_all(place: u32, size: u32, round: u32) -> Option<Exchange> {
    let places = Places(size);
    if round >= places.steps() {
        return None;
    }
    let transfer = Transfer {
        peer: places.partner(place, round),
        tag: round,
        blocks: Blocks::Half { round, size },
    };
    Some(Exchange {
        receive: Some((transfer, Taking::Keep)),
        send: Some(transfer),
    })
}

/// From whom and to whom the blocks are that a place sends in a round of [`all_to_all`].
#[cfg(test)]
pub(super) fn half(sender: u32, size: u32, round: u32) -> (Vec<u32>, Vec<u32>) {
    let places = Places(size);
    let first = places.first_around(sender, round);
    let count = size >> (round + 1);
    let stands = places.order(places.partner(sender, round)) & !(count - 1);
    (
        (0..1 << round)
            .map(|after| places.around(first + after))
            .collect(),
        (stands..stands + count)
            .map(|at| places.ordered(at))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_each_others_at_the_published_distances() {
        let places = Places(32);
        let of_zero: Vec<u32> = (0..5).map(|step| places.partner(0, step)).collect();
        // 1, -1, 3, -5, 11 around 32.
        assert_eq!(of_zero, [1, 31, 3, 27, 11]);
        for size in [2, 4, 8, 64, 1 << 20] {
            let places = Places(size);
            for index in (0..size).step_by((size as usize / 64).max(1)) {
                for step in 0..places.steps() {
                    let partner = places.partner(index, step);
                    assert_eq!(places.partner(partner, step), index);
                }
            }
        }
    }

    /// Every block is sent once, half of them in the first round among powers of two; the counts of
    /// 200 places are those that PICO's `get_nu` makes (`libbine_utils.h`).
    #[test]
    fn blocks_of_even_numbers_part_once() {
        let counts = |size: u32| -> Vec<usize> {
            let bits = u32::BITS - (size - 1).leading_zeros();
            let parting = |step| (1..size).filter(move |&at| parts_at(at, size, bits) == step);
            (0..bits).map(|step| parting(step).count()).collect()
        };
        assert_eq!(counts(200), [100, 50, 18, 16, 8, 4, 2, 1]);
        assert_eq!(counts(64), [32, 16, 8, 4, 2, 1]);
        for size in (4..300).step_by(2) {
            assert_eq!(counts(size).iter().sum::<usize>(), size as usize - 1);
        }
    }

    #[test]
    fn the_order_is_one_and_its_inverse_finds_back() {
        for size in [1, 2, 4, 8, 16, 128, 1024] {
            let places = Places(size);
            let mut seen = vec![false; size as usize];
            for index in 0..size {
                let at = places.order(index);
                assert!(!std::mem::replace(&mut seen[at as usize], true));
                assert_eq!(places.ordered(at), index);
            }
        }
        // Table of the paper's reference implementation for 8 places.
        let eight: Vec<u32> = (0..8).map(|index| Places(8).order(index)).collect();
        assert_eq!(eight[0], 0);
    }

    /// What travels stays nearer: of 1,024 places, the sum over the rounds of a broadcast of
    /// the distances of messages around the circle is about two thirds of that of a binomial
    /// tree.
    #[test]
    fn messages_of_a_tree_go_less_far() {
        let (size, places) = (1024, Places(1024));
        let around = |from: u32, to: u32| from.abs_diff(to).min(size - from.abs_diff(to));
        let bine: u32 = (1..size)
            .map(|index| around(index, places.partner(index, places.hears(index).unwrap())))
            .sum();
        let binomial: u32 = (1..size)
            .map(|index| around(index, index & (index - 1)))
            .sum();
        let ratio = f64::from(bine) / f64::from(binomial);
        assert!((0.6..0.75).contains(&ratio), "{ratio}");
    }
}
