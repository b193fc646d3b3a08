use super::*;
use odonata_units::random::Purpose;

fn cycle(ranks: u32, job: u32) -> RandomCycle {
    RandomCycle::new(ranks, StreamKey::new(8, Purpose::Destination), JobId(job))
}

#[test]
fn every_iteration_is_a_cycle_through_all_ranks() {
    for ranks in [2, 3, 4, 5, 16, 17, 100, 1_000] {
        let cycle = cycle(ranks, 0);
        for iteration in 0..20 {
            let (mut at, mut length) = (RankId(0), 0);
            loop {
                let next = cycle.destination(at, iteration);
                assert_eq!(cycle.source(next, iteration), at);
                (at, length) = (next, length + 1);
                if at == RankId(0) {
                    break;
                }
            }
            assert_eq!(length, ranks);
        }
    }
}

#[test]
fn every_other_rank_is_equally_likely() {
    // Chi-square with 5 degrees of freedom: 99.99 % of samples lie below 25.7.
    for rank in [0, 3, 6] {
        let cycle = cycle(7, 0);
        let iterations = 60_000;
        let mut seen = [0u32; 7];
        for iteration in 0..iterations {
            seen[cycle.destination(RankId(rank), iteration).index()] += 1;
        }
        assert_eq!(seen[rank as usize], 0);
        let expected = f64::from(iterations) / 6.0;
        let chi2: f64 = (0..7)
            .filter(|&other| other != rank as usize)
            .map(|other| (f64::from(seen[other]) - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 25.7, "rank {rank}: chi-square {chi2}: {seen:?}");
    }
}

#[test]
fn all_cycles_of_a_few_ranks_appear_equally_often() {
    // 5 ranks have 4! = 24 cycles. Chi-square with 23 degrees of freedom:
    // 99.99 % of samples lie below 56.
    let cycle = cycle(5, 0);
    let iterations = 48_000;
    let mut seen = std::collections::BTreeMap::new();
    for iteration in 0..iterations {
        let image: Vec<_> = (0..5)
            .map(|r| cycle.destination(RankId(r), iteration))
            .collect();
        *seen.entry(image).or_insert(0u32) += 1;
    }
    assert_eq!(seen.len(), 24);
    let expected = f64::from(iterations) / 24.0;
    let chi2: f64 = seen
        .values()
        .map(|&s| (f64::from(s) - expected).powi(2) / expected)
        .sum();
    assert!(chi2 < 56.0, "chi-square {chi2}");
}

#[test]
fn jobs_draw_independently() {
    let image = |job| {
        (0..64)
            .map(|r| cycle(64, job).destination(RankId(r), 3).0)
            .collect::<Vec<_>>()
    };
    assert_ne!(image(0), image(1));
    assert_eq!(image(1), image(1));
}
