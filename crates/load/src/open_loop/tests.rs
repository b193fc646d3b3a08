use super::*;
use crate::Grid;
use crate::pattern::{Partners, Turn};
use std::sync::Arc;

const START: Picoseconds = Picoseconds(5_000_000);

fn source(arrivals: Arrivals) -> OpenLoop {
    OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(64), 4).unwrap()
}

/// Arrivals of the first `count` messages of one entity.
fn times(source: &OpenLoop, entity: u64, count: u32) -> Vec<Picoseconds> {
    let key = StreamKey::new(3, Purpose::Arrival);
    let mut previous = START;
    (0..count)
        .map(|n| {
            let at = source.arrival(key, entity, n, RankId(0), START, previous);
            assert!(at >= previous);
            previous = at;
            at
        })
        .collect()
}

#[test]
fn rates_are_as_asked() {
    // The mean of 4 million gaps is off by 1/2000 of itself (exponential,
    // geometric: one standard deviation); 0.1 % are two of them, and the
    // seed is fixed.
    let slot = Picoseconds(1_000);
    for process in [
        Process::Poisson,
        Process::Periodic,
        Process::Bernoulli { slot },
    ] {
        for rate in [1.0e9, 6.4e9] {
            let arrivals = Arrivals::from_rate(Bytes(64), rate, process).unwrap();
            let source = source(arrivals);
            assert!((source.bytes_per_second() / rate - 1.0).abs() < 1e-12);
            let (entities, count) = (40, 100_000);
            let mean = (0..entities)
                .map(|entity| {
                    let times = times(&source, entity, count);
                    let span = times[count as usize - 1] - times[0];
                    span.0 as f64 / f64::from(count - 1)
                })
                .sum::<f64>()
                / entities as f64;
            let expected = 64e12 / rate;
            assert!(
                (mean / expected - 1.0).abs() < 1e-3,
                "{process:?} at {rate}: mean gap {mean}, expected {expected}"
            );
        }
    }
}

#[test]
fn drifting_sources_come_out_of_step_as_a_random_walk() {
    let drift = Picoseconds(1_000);
    let process = Process::Drifting { drift };
    // A gap of 1 µs, and 1 ns more in the mean.
    let arrivals = Arrivals::from_rate(Bytes(64), 64e6, process).unwrap();
    let source = source(arrivals);
    assert!((arrivals.mean_gap_ps() - 1_001_000.0).abs() < 1e-6);
    let (entities, count) = (4_000, 26);
    let nth = |n: usize| -> Vec<f64> {
        (0..entities)
            .map(|entity| times(&source, entity, count)[n].0 as f64)
            .collect()
    };
    for n in [0, 9, 25] {
        let (at, draws) = (nth(n), (n + 1) as f64);
        let mean = at.iter().sum::<f64>() / f64::from(entities as u32);
        let square = at.iter().map(|t| (t - mean).powi(2)).sum::<f64>();
        let deviation = (square / f64::from(entities as u32)).sqrt();
        // n gaps of 1 µs, n + 1 exponential times of 1 ns: 4 standard errors.
        let expected = 5e6 + n as f64 * 1e6 + draws * 1e3;
        assert!(
            (mean - expected).abs() < 4.0 * (draws * 1e6 / 4e3).sqrt(),
            "{n}: {mean}"
        );
        assert!(
            (deviation / (draws * 1e6).sqrt() - 1.0).abs() < 0.08,
            "{n}: {deviation}"
        );
    }
}

#[test]
fn ranks_of_a_matrix_send_as_often_as_it_says() {
    let mut builder = crate::matrix::MatrixBuilder::new();
    builder.add(RankId(0), RankId(1), Bytes(10), None);
    builder.add(RankId(1), RankId(2), Bytes(50), None);
    let (matrix, _) = builder.build(3).unwrap();
    let rates = Arc::new(crate::pattern::Rates::between_ranks(&matrix, 3).unwrap());
    let slot = Picoseconds(1_000);
    let pattern = || Pattern::Matrix(rates.clone());
    for process in [
        Process::Poisson,
        Process::Periodic,
        Process::Aligned,
        Process::Bernoulli { slot },
    ] {
        // 64 ns between messages of the average rank.
        let arrivals = Arrivals::from_rate(Bytes(64), 1e9, process).unwrap();
        let source = OpenLoop::new(pattern(), arrivals, Bytes(64), 3).unwrap();
        // 10 of 60, by 20 on average; the busiest sends 50.
        assert!((source.bytes_per_second() / 2.5e9 - 1.0).abs() < 1e-12);
        for (rank, relative) in [(RankId(0), 0.5), (RankId(1), 2.5)] {
            let key = StreamKey::new(3, Purpose::Arrival);
            let (mut at, count) = (START, 100_000);
            for n in 0..count {
                at = source.arrival(key, u64::from(rank.0), n, rank, START, at);
            }
            let mean = (at - START).0 as f64 / f64::from(count);
            // Three standard deviations of exponential gaps are 1 %.
            assert!(
                (mean * relative / 64_000.0 - 1.0).abs() < 1e-2,
                "{process:?}: {mean}"
            );
        }
        let key = StreamKey::new(3, Purpose::Destination);
        assert_eq!(source.destination(key, 2, 0, RankId(2)), None);
    }
    // The busiest rank would need more than a message a slot.
    let arrivals = Arrivals::Bernoulli {
        slot,
        probability: 0.5,
    };
    assert!(OpenLoop::new(pattern(), arrivals, Bytes(64), 3).is_err());
}

#[test]
fn the_first_slot_is_as_likely_as_any_other() {
    let slot = Picoseconds(500);
    let probability = 0.3;
    let source = source(Arrivals::Bernoulli { slot, probability });
    let entities = 100_000;
    let mut filled = [0u32; 3];
    for entity in 0..entities {
        for at in times(&source, entity, 4) {
            let since = at - START;
            assert_eq!(since.0 % slot.0, 0);
            if let Some(count) = filled.get_mut((since.0 / slot.0) as usize) {
                *count += 1;
            }
        }
    }
    for (slot, count) in filled.into_iter().enumerate() {
        // Five standard deviations of a share of 0.3 of 100,000.
        let share = f64::from(count) / entities as f64;
        assert!((share - probability).abs() < 0.0073, "slot {slot}: {share}");
    }
}

#[test]
fn a_full_bernoulli_source_sends_in_every_slot() {
    let slot = Picoseconds(64_000);
    let source = source(Arrivals::Bernoulli {
        slot,
        probability: 1.0,
    });
    for (n, at) in times(&source, 9, 50).into_iter().enumerate() {
        assert_eq!(at.0, START.0 + n as u64 * slot.0);
    }
}

#[test]
fn periodic_sources_keep_time_and_spread_their_phases() {
    // A gap of 10⁵/3 ps: after 3,000 messages exactly 10⁸ ps have passed.
    let source = source(Arrivals::Periodic {
        gap_ps: 100_000.0 / 3.0,
    });
    let mut phases = 0.0;
    for entity in 0..2_000 {
        let times = times(&source, entity, 3_001);
        let span = times[3_000] - times[0];
        assert!(span.0.abs_diff(100_000_000) <= 1, "{span}");
        phases += (times[0] - START).0 as f64;
    }
    // Uniform phases have mean 1/2 gap, with a standard error of 0.29/sqrt(2000) gaps.
    let mean = phases / 2_000.0 / (100_000.0 / 3.0);
    assert!((mean - 0.5).abs() < 0.033, "mean phase {mean}");
}

#[test]
fn poisson_counts_have_the_variance_of_poisson_counts() {
    // Counts per window of ten mean gaps: mean and variance are both 10.
    let source = source(Arrivals::Poisson { mean_gap_ps: 1e6 });
    let mut counts = vec![0u32; 20_000];
    for at in times(&source, 1, 220_000) {
        if let Some(count) = counts.get_mut(((at - START).0 / 10_000_000) as usize) {
            *count += 1;
        }
    }
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / n;
    let variance = counts
        .iter()
        .map(|&c| (f64::from(c) - mean).powi(2))
        .sum::<f64>()
        / n;
    assert!((mean - 10.0).abs() < 0.12, "mean {mean}");
    assert!((variance - 10.0).abs() < 0.6, "variance {variance}");
}

#[test]
fn messages_to_all_partners_start_together() {
    let grid = Grid::new(&[4], false).unwrap();
    let partners = Partners::neighbours(&grid, Turn::All).unwrap();
    let pattern = Pattern::Partners(Arc::new(partners));
    let arrivals = Arrivals::Aligned { gap_ps: 1_000.0 };
    let source = OpenLoop::new(pattern, arrivals, Bytes(64), 4).unwrap();
    let source = source.ending_after(2).unwrap();
    let key = StreamKey::new(3, Purpose::Arrival);
    let times = |rank| {
        let mut previous = START;
        (0..5u32)
            .map(|n| {
                previous = source.arrival(key, 0, n, RankId(rank), START, previous);
                previous.0.wrapping_sub(START.0)
            })
            .collect::<Vec<_>>()
    };
    let never = u64::MAX - START.0;
    // Rank 1 has two neighbours, rank 0 one.
    assert_eq!(times(1), [0, 0, 1_000, 1_000, never]);
    assert_eq!(times(0)[..3], [0, 1_000, never]);
    assert_eq!(source.messages_of(RankId(1)), Some(4));
    assert_eq!(source.total_messages(), Some(2 * (1 + 2 + 2 + 1)));
    // Two messages of 64 B in 1 ns.
    assert!((source.bytes_per_second() - 128e9).abs() < 1.0);
    assert_eq!(
        source.clone().ending_after(0).unwrap_err(),
        LoadError::NoMessages
    );
    let many = LoadError::TooManyTimes {
        messages: 1 << 31,
        at_once: 2,
    };
    assert_eq!(source.ending_after(1 << 31).unwrap_err(), many);
}

#[test]
fn ranks_that_a_pattern_leaves_out_send_nothing() {
    let arrivals = Arrivals::Periodic { gap_ps: 1e3 };
    let transpose = Pattern::transpose(9).unwrap();
    let source = OpenLoop::new(transpose, arrivals, Bytes(1), 9).unwrap();
    assert_eq!(source.total_messages(), None);
    // The three of the diagonal.
    let total = source.ending_after(10).unwrap().total_messages();
    assert_eq!(total, Some(60));
}

#[test]
fn rates_out_of_range_are_refused() {
    let from = |rate, process| Arrivals::from_rate(Bytes(64), rate, process);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(from(rate, Process::Poisson).is_err(), "{rate}");
    }
    assert!(from(1e-5, Process::Poisson).is_err());
    let slot = Picoseconds(64_000);
    assert!(from(1e9, Process::Bernoulli { slot }).is_ok());
    assert_eq!(
        from(2e9, Process::Bernoulli { slot }),
        Err(LoadError::Probability { found: 2.0 })
    );
    // 64 B at 3 GB/s take 21,333.3 ps.
    let full = from(
        3e9,
        Process::Bernoulli {
            slot: Picoseconds(21_334),
        },
    );
    assert!(matches!(
        full,
        Ok(Arrivals::Bernoulli {
            probability: 1.0,
            ..
        })
    ));
    let slot = Picoseconds::ZERO;
    assert_eq!(
        from(1e9, Process::Bernoulli { slot }),
        Err(LoadError::NoSlot)
    );
    assert_eq!(
        Arrivals::from_rate(Bytes::ZERO, 1e9, Process::Poisson),
        Err(LoadError::EmptyMessage)
    );
    let arrivals = from(1e9, Process::Poisson).unwrap();
    assert!(OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(64), 1).is_err());
    assert!(OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes::ZERO, 2).is_err());
}
