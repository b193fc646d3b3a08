//! As many circuits between every two groups, give or take one.
//!
//! With an even number of groups, every link number carries one round of a round-robin
//! tournament (the circle method), a perfect matching; `n − 1` rounds meet every pair
//! once. With an odd number, one group sits out in every round of `n`; where two links
//! of a group are on one switch, they carry instead, without waste, the circuits from
//! every group to the one `d` places further, `d` from 1 to `(n − 1)/2`. Two
//! successive rounds, and the circuits with `d = 1`, connect all groups.

use std::ops::Range;

use crate::table::Table;

/// Sets the links of these numbers.
pub(crate) fn set(table: &mut Table<'_>, links: Range<u32>) {
    let places = table.places();
    let per_switch = table.circuits.switches().per_switch();
    if places.is_multiple_of(2) {
        for (round, link) in (0..places - 1).cycle().zip(links) {
            for (one, other) in even_round(places, round) {
                table.join((one, link), (other, link));
            }
        }
    } else if per_switch.is_multiple_of(2) {
        let distances = (1..=(places - 1) / 2).cycle();
        for (distance, link) in distances.zip(links.step_by(2)) {
            for place in 0..places {
                table.join((place, link), ((place + distance) % places, link + 1));
            }
        }
    } else {
        for (round, link) in (0..places).cycle().zip(links.clone()) {
            for one in 0..places {
                let other = (round + places - one) % places;
                if one < other {
                    table.join((one, link), (other, link));
                }
            }
        }
        join_idle(table, links);
    }
}

/// Round `round` of the circle method: the last place stays, the others rotate.
fn even_round(places: usize, round: usize) -> impl Iterator<Item = (usize, usize)> {
    let circle = places - 1;
    let rotating = (1..places / 2)
        .map(move |step| ((round + step) % circle, (round + circle - step) % circle));
    rotating.chain([(round, places - 1)])
}

/// Where several links of a group are on one switch, groups that sit out different
/// rounds on it can be joined, as long as no pair gets two circuits more than another.
fn join_idle(table: &mut Table<'_>, links: Range<u32>) {
    let (places, per_switch) = (table.places(), table.circuits.switches().per_switch());
    let sits_out = |link: u32| {
        // 2·place ≡ round, and (n + 1)/2 is the inverse of 2.
        let round = (link - links.start) as usize % places;
        round * places.div_ceil(2) % places
    };
    let rounds = links.len();
    // After whole cycles all pairs are even and every one may get one more; otherwise
    // only those that the last rounds left out.
    let least = (rounds / places) as u32;
    for first in links.clone().step_by(per_switch as usize) {
        let end = (first + per_switch).min(links.end);
        let mut idle: Vec<(usize, u32)> = (first..end).map(|link| (sits_out(link), link)).collect();
        while let Some((place, link)) = idle.pop() {
            let partner = idle
                .iter()
                .position(|&(other, _)| other != place && table.count(place, other) == least);
            if let Some(partner) = partner {
                let partner = idle.remove(partner);
                table.join((place, link), partner);
            }
        }
    }
}
