use super::*;
use odonata_units::random::Purpose;
use proptest::prelude::*;

fn key() -> StreamKey {
    StreamKey::new(11, Purpose::Destination)
}

fn to(pattern: &Pattern, source: u32, ranks: u32) -> Option<u32> {
    let destination = pattern.destination(key(), u64::from(source), 0, RankId(source), ranks);
    destination.map(|rank| rank.0)
}

/// How often each rank is drawn by `source` in `draws` messages.
fn histogram(pattern: &Pattern, source: u32, ranks: u32, draws: u32) -> Vec<u32> {
    let mut seen = vec![0; ranks as usize];
    for n in 0..draws {
        let entity = u64::from(source);
        if let Some(rank) = pattern.destination(key(), entity, n, RankId(source), ranks) {
            seen[rank.index()] += 1;
        }
    }
    seen
}

/// Fails unless the `seen` that are expected at all agree with `weights`
/// (which sum to 1) within five standard deviations.
fn assert_close(seen: &[u32], weights: &[f64]) {
    let draws: f64 = seen.iter().map(|&s| f64::from(s)).sum();
    for (rank, (&s, &w)) in seen.iter().zip(weights).enumerate() {
        let spread = 5.0 * (draws * w * (1.0 - w)).sqrt();
        let off = (f64::from(s) - draws * w).abs();
        assert!(off <= spread, "rank {rank}: {s} of {draws}, weight {w}");
    }
}

#[test]
fn random_destinations_have_their_probabilities() {
    let blocks = Arc::new(Blocks::consecutive(6, 2));
    let sixth = 1.0 / 6.0;
    // Ranks 2x3 on an open grid: rank 2 is in the middle of the left column.
    let open = Grid::new(&[2, 3], false).unwrap();
    let cases = [
        (Pattern::UniformRandom, vec![0.2, 0.2, 0.0, 0.2, 0.2, 0.2]),
        (Pattern::UniformOrSelf, vec![sixth; 6]),
        (
            Pattern::Bisection,
            vec![0.0, 0.0, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
        ),
        (Pattern::Neighbour, vec![0.0, 0.5, 0.0, 0.5, 0.0, 0.0]),
        (
            Pattern::Stencil(open),
            vec![1.0 / 3.0, 0.0, 0.0, 1.0 / 3.0, 1.0 / 3.0, 0.0],
        ),
        (
            Pattern::adversarial(blocks, 1).unwrap(),
            vec![0.0, 0.0, 0.0, 0.0, 0.5, 0.5],
        ),
        // Rank 5 is hot; the remaining 60 % are uniform over the five others.
        (
            Pattern::hot_spot(&[RankId(5)], 0.4).unwrap(),
            vec![0.12, 0.12, 0.0, 0.12, 0.12, 0.52],
        ),
        // The sender itself is one of two hot ranks: half of its 40 % are
        // spread over the others like the 60 %.
        (
            Pattern::hot_spot(&[RankId(2), RankId(5)], 0.4).unwrap(),
            vec![0.16, 0.16, 0.0, 0.16, 0.16, 0.36],
        ),
    ];
    for (pattern, weights) in cases {
        pattern.check(6).unwrap();
        assert!(!pattern.is_fixed());
        assert_close(&histogram(&pattern, 2, 6, 60_000), &weights);
    }
}

#[test]
fn fixed_destinations() {
    // Tornado of 8: 8/2 - 1 = 3 further; of 7: 4 - 1 = 3 further.
    assert_eq!(to(&Pattern::Tornado, 6, 8), Some(1));
    assert_eq!(to(&Pattern::Tornado, 3, 7), Some(6));
    // 3x3 matrix: (1, 2) = rank 5 goes to (2, 1) = rank 7.
    let transpose = Pattern::transpose(9).unwrap();
    assert_eq!(to(&transpose, 5, 9), Some(7));
    assert_eq!(to(&transpose, 4, 9), None);
    assert_eq!(to(&Pattern::Shift { offset: 3 }, 3, 5), Some(1));
    assert_eq!(to(&Pattern::BisectionPairs, 1, 5), Some(3));
    assert_eq!(to(&Pattern::BisectionPairs, 3, 5), Some(1));
    assert_eq!(to(&Pattern::BisectionPairs, 4, 5), None);
    // Blocks {0,1}, {2,3}, {4,5}, {6}: tornado distance 4/2 - 1 = 1.
    let blocks = Arc::new(Blocks::consecutive(7, 2));
    let tornado = Pattern::block_tornado(blocks.clone()).unwrap();
    assert_eq!(to(&tornado, 1, 7), Some(3));
    assert_eq!(to(&tornado, 5, 7), Some(6));
    let back = Pattern::block_shift(blocks, -1).unwrap();
    assert_eq!(to(&back, 0, 7), Some(6));
}

#[test]
fn a_transpose_of_a_power_of_four_swaps_bits() {
    let ranks = 256;
    let transpose = Pattern::transpose(ranks).unwrap();
    for source in 0..ranks {
        let swapped = (source >> 4) | ((source & 15) << 4);
        assert_eq!(to(&transpose, source, ranks).unwrap_or(source), swapped);
    }
}

#[test]
fn adversarial_traffic_loads_every_block_with_its_predecessor() {
    let blocks = Arc::new(Blocks::new(&[0, 1, 2, 0, 1, 2]));
    for (k, source, targets) in [
        (1, 0, [1, 4]),
        (2, 0, [2, 5]),
        (-1, 4, [0, 3]),
        (1, 5, [0, 3]),
    ] {
        let pattern = Pattern::adversarial(blocks.clone(), k).unwrap();
        let seen = histogram(&pattern, source, 6, 100);
        let reached: Vec<u32> = (0..6).filter(|&r| seen[r as usize] > 0).collect();
        assert_eq!(reached, targets, "ADV+{k} from {source}");
    }
}

#[test]
fn misfits_are_named() {
    let says = |result: Result<(), LoadError>| result.unwrap_err().to_string();
    assert_eq!(
        says(Pattern::transpose(1_000).map(|_| ())),
        "transpose needs a square number of ranks, but the job has 1000; \
         the nearest squares are 961 and 1024"
    );
    assert_eq!(
        says(Pattern::UniformRandom.check(1)),
        "uniform random needs at least 2 ranks, but the job has 1"
    );
    assert!(Pattern::Tornado.check(2).is_err());
    assert!(Pattern::Shift { offset: 4 }.check(4).is_err());
    let blocks = Arc::new(Blocks::consecutive(6, 2));
    assert_eq!(
        says(Pattern::adversarial(blocks.clone(), 3).map(|_| ())),
        "adversarial with a shift of 3 over 3 blocks keeps traffic inside its block; \
         allowed are at least 2 blocks and shifts that are no multiple of their number"
    );
    assert!(Pattern::block_tornado(Arc::new(Blocks::consecutive(4, 2))).is_err());
    assert_eq!(
        says(Pattern::adversarial(blocks, 1).unwrap().check(8)),
        "the list of blocks has 6 entries, but the job has 8 ranks; give one entry per rank"
    );
    let spot = Pattern::hot_spot(&[RankId(9)], 0.1).unwrap();
    assert_eq!(
        says(spot.check(4)),
        "the hot spot names rank 9, but the job's ranks are 0 to 3"
    );
    assert!(Pattern::hot_spot(&[RankId(1), RankId(1)], 0.1).is_err());
    assert!(Pattern::hot_spot(&[], 0.1).is_err());
    assert!(Pattern::hot_spot(&[RankId(1)], f64::NAN).is_err());
    assert!(Pattern::hot_spot(&[RankId(1)], 1.5).is_err());
    let grid = Grid::new(&[2, 2], true).unwrap();
    assert!(Pattern::Stencil(grid).check(5).is_err());
    let mut stream = key().stream(0);
    assert!(
        Pattern::random_permutation(4, &mut stream)
            .unwrap()
            .check(5)
            .is_err()
    );
}

/// Any pattern that fits `ranks` ranks.
fn any_pattern(ranks: u32, choice: u32, seed: u64) -> Option<Pattern> {
    let blocks = Arc::new(Blocks::new(
        &(0..ranks)
            .map(|rank| StreamKey::new(seed, Purpose::Wiring).below(u64::from(rank), 0, 4))
            .collect::<Vec<_>>(),
    ));
    let k = (seed % 9) as i64 - 4;
    let pattern = match choice {
        0 => Ok(Pattern::UniformRandom),
        1 => Pattern::random_permutation(ranks, &mut key().stream(seed)),
        2 => Ok(Pattern::Tornado),
        3 => Pattern::transpose(ranks),
        4 => Ok(Pattern::Bisection),
        5 => Ok(Pattern::BisectionPairs),
        6 => Ok(Pattern::Neighbour),
        7 => Grid::near_cubic(ranks, 1 + seed as usize % 4, seed.is_multiple_of(2))
            .map(Pattern::Stencil),
        8 => Pattern::adversarial(blocks, k),
        9 => Pattern::block_shift(blocks, k),
        10 => Pattern::block_tornado(blocks),
        11 => Pattern::hot_spot(&[RankId(seed as u32 % ranks)], 0.3),
        _ => Ok(Pattern::Shift {
            offset: 1 + seed as u32 % ranks,
        }),
    };
    pattern.ok().filter(|pattern| pattern.check(ranks).is_ok())
}

proptest! {
    #[test]
    fn destinations_are_other_ranks_of_the_job(
        ranks in 1u32..70, choice in 0u32..13, seed in any::<u64>(), n in any::<u32>(),
    ) {
        if let Some(pattern) = any_pattern(ranks, choice, seed) {
            for source in (0..ranks).map(RankId) {
                let ask = || pattern.destination(key(), seed ^ u64::from(source.0), n, source, ranks);
                if let Some(destination) = ask() {
                    prop_assert!(destination.0 < ranks);
                    prop_assert_ne!(destination, source);
                    prop_assert_eq!(ask(), Some(destination));
                }
            }
        }
    }
}

#[test]
fn traffic_within_a_block_reaches_all_others_of_it_alike() {
    // Blocks of 4, 1 and 3 ranks; rank 4 is alone and sends nothing.
    let blocks = Arc::new(Blocks::new(&[0, 0, 0, 0, 1, 2, 2, 2]));
    let pattern = Pattern::WithinBlock { blocks };
    pattern.check(8).unwrap();
    let third = 1.0 / 3.0;
    let seen = histogram(&pattern, 1, 8, 30_000);
    assert_close(&seen, &[third, 0.0, third, third, 0.0, 0.0, 0.0, 0.0]);
    let seen = histogram(&pattern, 7, 8, 30_000);
    assert_close(&seen, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0]);
    assert_eq!(to(&pattern, 4, 8), None);
    assert!(pattern.check(7).is_err());
}
