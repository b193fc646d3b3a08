//! When transfers end, against closed forms.

use odonata_flow::{LinkId, TransferId, Transfers, Use};
use odonata_units::Picoseconds;
use proptest::prelude::*;

fn over(links: &[u32]) -> Vec<Use> {
    let step = |&link: &u32| Use {
        link: LinkId(link),
        share: 1.0,
        ahead: 0,
    };
    links.iter().map(step).collect()
}

/// Begins transfers of (start, bytes, links) and gives the end of each.
fn ends(capacities: &[f64], plan: &[(u64, f64, Vec<u32>)]) -> (Vec<u64>, Transfers) {
    ends_of(Transfers::new(capacities.iter().copied()), plan)
}

/// The same with rates that are brought up to date at multiples of an interval.
fn ends_with(interval: u64, capacities: &[f64], plan: &[(u64, f64, Vec<u32>)]) -> Vec<u64> {
    let capacities = capacities.iter().copied();
    ends_of(
        Transfers::settling_every(Picoseconds(interval), capacities),
        plan,
    )
    .0
}

fn ends_of(mut transfers: Transfers, plan: &[(u64, f64, Vec<u32>)]) -> (Vec<u64>, Transfers) {
    let mut order: Vec<usize> = (0..plan.len()).collect();
    order.sort_by_key(|&index| plan[index].0);
    let (mut order, mut owner, mut ends) =
        (order.into_iter().peekable(), vec![], vec![0; plan.len()]);
    loop {
        let next = order.peek().map(|&index| Picoseconds(plan[index].0));
        let Some(now) = [next, transfers.next_end()].into_iter().flatten().min() else {
            return (ends, transfers);
        };
        while let Some(TransferId(id)) = transfers.end_next(now) {
            let index: usize = owner[id as usize];
            ends[index] = now.0;
        }
        while let Some(&index) = order.peek()
            && plan[index].0 == now.0
        {
            order.next();
            let id = transfers.begin(now, plan[index].1);
            transfers.add_part(now, id, &over(&plan[index].2), 1.0, false);
            owner.resize(owner.len().max(id.index() + 1), 0);
            owner[id.index()] = index;
        }
        transfers.settle(now);
    }
}

#[test]
fn two_that_share_a_link_take_twice_as_long_while_they_do() {
    // 1 byte/ps. Alone until 400; both at 1/2; the first has 600 bytes left at
    // 400, which takes until 1600; then the second has 400 of 1000 left: 2000.
    let plan = [(0, 1000.0, vec![0]), (400, 1000.0, vec![0])];
    assert_eq!(ends(&[1.0], &plan).0, [1600, 2000]);
}

#[test]
fn rates_change_at_multiples_of_the_interval_only() {
    let plan = [(0, 1000.0, vec![0]), (430, 1000.0, vec![0])];
    // The second has its half from 500 on, when 500 of the first are left: 1500. What that
    // leaves is the second's at once, which has 500 to go: 2000.
    assert_eq!(ends_with(100, &[1.0], &plan), [1500, 2000]);
    // From 600 on; the first ends at 1400, and the second, with 600 to go, has its half
    // until 1500 and all from there on: 1500 + 550.
    assert_eq!(ends_with(300, &[1.0], &plan), [1400, 2050]);
    // Begun together, between two multiples, they wait for the next and then share.
    let together = [(10, 50.0, vec![0]), (20, 50.0, vec![0])];
    assert_eq!(ends_with(100, &[1.0], &together), [200, 200]);
    // Every picosecond is always.
    assert_eq!(ends_with(1, &[1.0], &plan), ends(&[1.0], &plan).0);
}

#[test]
fn what_others_cannot_use_is_left_to_one() {
    // Three flows over link 0 (capacity 3), the first also over link 1 (capacity
    // 0.5): it gets 0.5, the others 1.25 each.
    let plan = [
        (0, 1000.0, vec![0, 1]),
        (0, 1250.0, vec![0]),
        (0, 1250.0, vec![0]),
    ];
    assert_eq!(ends(&[3.0, 0.5], &plan).0, [2000, 1000, 1000]);
}

#[test]
fn parts_of_one_transfer_carry_its_bytes_together() {
    // Over links of 1 and 3 bytes/ps; another transfer takes half of the second.
    let mut transfers = Transfers::new([1.0, 3.0]);
    let start = Picoseconds::ZERO;
    let both = transfers.begin(start, 4000.0);
    transfers.add_part(start, both, &over(&[0]), 0.5, false);
    transfers.add_part(start, both, &over(&[1]), 0.5, false);
    transfers.settle(start);
    assert_eq!(transfers.rate(both), 4.0);
    let other = transfers.begin(start, 150.0);
    transfers.add_part(start, other, &over(&[1]), 0.5, false);
    transfers.settle(start);
    assert_eq!(transfers.rate(both), 2.5);
    // The other is through after 100; 250 of 4000 bytes are gone by then.
    let first = Picoseconds(100);
    assert_eq!(transfers.end_next(first), Some(other));
    transfers.settle(first);
    // 3750 bytes at 4 per ps: 937.5, rounded up.
    assert_eq!(transfers.next_end(), Some(Picoseconds(1038)));
    let end = Picoseconds(1038);
    assert_eq!(transfers.end_next(end), Some(both));
    // 0.5 ps at 4 bytes/ps more than there was is counted with the parts.
    assert!((transfers.bytes(LinkId(0)) - 1038.0).abs() < 1e-9);
    assert!((transfers.bytes(LinkId(1)) - (150.0 + 150.0 + 3.0 * 938.0)).abs() < 1e-9);
}

proptest! {
    #[test]
    fn every_byte_crosses_its_links_and_nothing_beats_an_empty_network(
        capacities in proptest::collection::vec(0.5f64..4.0, 1..6),
        plan in proptest::collection::vec((0u64..5000, 1.0f64..5000.0, proptest::collection::btree_set(0u32..6, 1..4)), 1..30),
    ) {
        let count = capacities.len() as u32;
        let plan: Vec<(u64, f64, Vec<u32>)> = plan
            .into_iter()
            .map(|(start, bytes, links)| {
                let mut links: Vec<u32> = links.into_iter().map(|link| link % count).collect();
                links.sort_unstable();
                links.dedup();
                (start, bytes, links)
            })
            .collect();
        let (ends, transfers) = ends(&capacities, &plan);
        for ((start, bytes, links), end) in plan.iter().zip(&ends) {
            let slowest = links.iter().map(|&link| capacities[link as usize]).fold(f64::MAX, f64::min);
            prop_assert!((end - start) as f64 >= bytes / slowest * (1.0 - 1e-9));
        }
        for link in 0..count {
            let of = plan.iter().filter(|(_, _, links)| links.contains(&link));
            let (sum, number) = of.fold((0.0, 0), |(sum, n), (_, bytes, _)| (sum + bytes, n + 1));
            // Each may carry on for less than a picosecond.
            let most = capacities[link as usize] * f64::from(number);
            let carried = transfers.bytes(LinkId(link));
            prop_assert!(carried >= sum * (1.0 - 1e-9) && carried <= sum + most, "{carried} {sum}");
        }
        prop_assert_eq!(transfers.under_way(), 0);
    }
}
