use proptest::prelude::*;

use super::*;
use crate::matching;

fn demand_of(entries: &[u64], places: usize) -> Demand {
    let entry = |pair: usize| (pair / places, pair % places, entries[pair % entries.len()]);
    Demand::new(places, (0..places * places).map(entry))
}

/// What arcs between all places are worth together.
fn total(demand: &Demand, arcs: &[u32]) -> i64 {
    let places = demand.groups();
    let pairs = (0..places * places).map(|pair| (pair, pair / places, pair % places));
    pairs
        .flat_map(|(pair, from, to)| (1..=arcs[pair]).map(move |k| worth(demand, from, to, k)))
        .sum()
}

/// The most that any arcs are worth, row by row: all ways to share `count` among the
/// others of a place that leave every place at most `count` to receive.
fn brute_force(demand: &Demand, count: u32) -> i64 {
    fn row(
        demand: &Demand,
        from: usize,
        to: usize,
        rest: u32,
        missing: &mut Vec<u32>,
        count: u32,
    ) -> Option<i64> {
        let places = missing.len();
        if from == places {
            return Some(0);
        }
        if to == places {
            return match rest {
                0 => row(demand, from + 1, 0, count, missing, count),
                _ => None,
            };
        }
        let most = if to == from { 0 } else { rest.min(missing[to]) };
        let mut best = None;
        let mut sum = 0;
        for given in 0..=most {
            if given > 0 {
                sum += worth(demand, from, to, given);
            }
            missing[to] -= given;
            let others = row(demand, from, to + 1, rest - given, missing, count);
            missing[to] += given;
            best = best.max(others.map(|others| others + sum));
        }
        best
    }
    row(
        demand,
        0,
        0,
        count,
        &mut vec![count; demand.groups()],
        count,
    )
    .expect("shifts by one do")
}

#[test]
fn all_goes_where_there_is_demand() {
    // 0 and 1 send, 2 and 3 send, nobody else: three arcs each way.
    let demand = Demand::new(4, [(0, 1, 10), (2, 3, 10)]);
    let expected = [0, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 0];
    assert_eq!(arcs(&demand, 3), expected);
    assert_eq!(counts(&demand, 3), expected.map(|arcs| 2 * arcs));
}

/// Greedy assignments give the first arcs to the two heaviest pairs of a triangle with
/// a tail; together they are chosen so that none stands in another's way.
#[test]
fn it_beats_one_assignment_after_the_other() {
    let better = (0..200u64).filter(|seed| {
        let entries: Vec<u64> = (0..25).map(|n| (n * 7919 + seed * 104_729) % 97).collect();
        let demand = demand_of(&entries, 5);
        total(&demand, &arcs(&demand, 4)) > total(&demand, &assigned(&demand, 4))
    });
    assert!(better.count() > 100);
}

/// The arcs of [`matching::classes`].
fn assigned(demand: &Demand, count: u32) -> Vec<u32> {
    let places = demand.groups();
    let mut arcs = vec![0; places * places];
    for class in matching::classes(demand, count) {
        for (from, to) in class.into_iter().enumerate() {
            arcs[from * places + to.expect("assignments leave nobody out")] += 1;
        }
    }
    arcs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_choice_is_worth_more(
        places in 2usize..5, count in 1u32..4,
        entries in prop::collection::vec(0u64..1000, 1..20),
    ) {
        let demand = demand_of(&entries, places);
        let found = total(&demand, &arcs(&demand, count));
        prop_assert_eq!(found, brute_force(&demand, count));
    }

    #[test]
    fn every_place_sends_and_receives_its_count_and_assignments_are_no_better(
        places in 2usize..12, count in 1u32..12,
        entries in prop::collection::vec(0u64..1000, 1..150),
    ) {
        let demand = demand_of(&entries, places);
        let arcs = arcs(&demand, count);
        for place in 0..places {
            prop_assert_eq!(arcs[place * places + place], 0);
            prop_assert_eq!(arcs[place * places..][..places].iter().sum::<u32>(), count);
            prop_assert_eq!(arcs.iter().skip(place).step_by(places).sum::<u32>(), count);
        }
        prop_assert!(total(&demand, &arcs) >= total(&demand, &assigned(&demand, count)));
    }
}
