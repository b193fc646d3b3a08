//! Phases in which every place has something for every other.

use odonata_units::Bytes;

use super::data::{Blocks, Data, size_in};
use super::exchange::{AtOnce, Exchange, Taking, Transfer, after, before, doublings, every};
use super::groups::Groups;
use super::tree::{receives_if, sends_if};

/// Bruck et al. 1997: in round k a place gives the one 2^k further all blocks
/// whose way has that bit.
pub(super) fn bruck(place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round >= doublings(size) {
        return None;
    }
    let distance = 1 << round;
    let transfer = |peer| Transfer {
        peer,
        tag: round,
        blocks: Blocks::Ways { distance, size },
    };
    Some(Exchange {
        receive: Some((transfer(before(place, distance, size)), Taking::Keep)),
        send: Some(transfer(after(place, distance, size))),
    })
}

/// What goes straight from one place to another.
fn straight(peer: u32, tag: u32, from: u32, to: u32) -> Transfer {
    Transfer {
        peer,
        tag,
        blocks: Blocks::Pair { from, to },
    }
}

/// A round in which a place sends to one and receives from one.
fn exchange(place: u32, to: Option<u32>, from: Option<u32>, tag: u32) -> Exchange {
    Exchange {
        receive: from.map(|from| (straight(from, tag, from, place), Taking::Keep)),
        send: to.map(|to| straight(to, tag, place, to)),
    }
}

/// In round r places whose numbers differ by the bits of r + 1 exchange; of
/// sizes that are no powers of two, a place sends to the one r + 1 further.
pub(super) fn pairwise(data: &Data, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let distance = round.checked_add(1).filter(|&distance| distance < size)?;
    let (to, from) = match size.is_power_of_two() {
        true => (place ^ distance, place ^ distance),
        false => (after(place, distance, size), before(place, distance, size)),
    };
    let (to, from) = match data {
        Data::Own { sends, receives } => (
            Some(to).filter(|&to| size_in(sends, to) > Bytes::ZERO),
            Some(from).filter(|&from| size_in(receives, from) > Bytes::ZERO),
        ),
        _ => (Some(to), Some(from)),
    };
    Some(exchange(place, to, from, round))
}

/// With `batch` others after another: receives from each, sends to each, beginning with the
/// next. With `most` of them at all.
pub(super) fn at_once(
    data: &Data,
    batch: u32,
    most: u32,
    place: u32,
    size: u32,
    index: u64,
) -> Option<AtOnce> {
    let others = most.min(size - 1);
    let batch = u64::from(batch.clamp(1, others.max(1)));
    // A batch: that many receives, sends, and a wait.
    let first = index / (2 * batch + 1) * batch;
    let within = index % (2 * batch + 1);
    if first >= u64::from(others) {
        return None;
    }
    if within == 2 * batch {
        return Some(AtOnce::Wait);
    }
    let other = first + within % batch;
    if other >= u64::from(others) {
        return Some(AtOnce::Nothing);
    }
    let distance = every(other as u32, others, size - 1) + 1;
    Some(if within < batch {
        let from = before(place, distance, size);
        let transfer = straight(from, 0, from, place);
        match data {
            Data::Own { receives, .. } => receives_if(receives, transfer),
            _ => AtOnce::Receive(transfer),
        }
    } else {
        let to = after(place, distance, size);
        let transfer = straight(to, 0, place, to);
        match data {
            Data::Own { sends, .. } => sends_if(sends, transfer),
            _ => AtOnce::Send(transfer),
        }
    })
}

/// After Prisacari, Rodriguez, Minkenberg 2013: see
/// [`AlltoallAlgorithm::Hierarchical`](super::AlltoallAlgorithm::Hierarchical).
pub(super) fn hierarchical(groups: &Groups, place: u32, index: u64) -> Option<Exchange> {
    let (count, width) = (groups.count(), groups.largest());
    if index >= u64::from(count) * u64::from(width) {
        return None;
    }
    // The group step is the inner one: successive rounds go to other groups.
    let group_step = (index % u64::from(count)) as u32;
    let index_step = (index / u64::from(count)) as u32;
    let (group, at) = groups.place(place);
    // Members of a group go to groups that follow each other.
    let to_group = after(group, (group_step + at % count) % count, count);
    let to = groups.member(to_group, after(at, index_step, width));
    let from_at = before(at, index_step, width);
    let from_group = before(group, (group_step + from_at % count) % count, count);
    let from = groups.member(from_group, from_at);
    let others = |peer: &u32| *peer != place;
    Some(exchange(
        place,
        to.filter(others),
        from.filter(others),
        (index % u64::from(u32::MAX)) as u32,
    ))
}
