//! Phases in which every place gets the sum of those below it.

use super::data::Blocks;
use super::exchange::{Exchange, Taking, Transfer, doublings};

/// Recursive doubling: partners exchange the sums of their halves of an aligned
/// group; the upper one adds what it gets to its result. Of sizes that are no
/// powers of two, partners beyond the end are left out: only they would need
/// what is missing.
pub(super) fn doubling(exclusive: bool, place: u32, size: u32, round: u32) -> Option<Exchange> {
    if round >= doublings(size) {
        return None;
    }
    let partner = place ^ (1 << round);
    if partner >= size {
        return Some(Exchange::default());
    }
    let transfer = Transfer {
        peer: partner,
        tag: round,
        blocks: Blocks::All,
    };
    let below = partner < place;
    // The first that an exclusive result takes is only kept.
    let kept = exclusive && place.trailing_zeros() == round;
    let operations = 1 + u8::from(below && !kept);
    let taking = Taking::Prefix { below, operations };
    Some(Exchange {
        receive: Some((transfer, taking)),
        send: Some(transfer),
    })
}

/// Each waits for the sum up to the one before it, adds its own and passes it on.
pub(super) fn chain(exclusive: bool, place: u32, size: u32, round: u32) -> Option<Exchange> {
    let transfer = |peer| Transfer {
        peer,
        tag: 0,
        blocks: Blocks::All,
    };
    let last = place + 1 == size;
    match round {
        0 => Some(Exchange {
            receive: place.checked_sub(1).map(|before| {
                // The last one passes nothing on, so that an exclusive sum is all it needs.
                let operations = u8::from(!(exclusive && last));
                let taking = Taking::Prefix {
                    below: true,
                    operations,
                };
                (transfer(before), taking)
            }),
            send: None,
        }),
        1 if !last => Some(Exchange {
            receive: None,
            send: Some(transfer(place + 1)),
        }),
        _ => None,
    }
}
