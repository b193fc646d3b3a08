use odonata_units::Bytes;
use odonata_units::random::Purpose;

use super::*;
use crate::matrix::MatrixBuilder;

fn matrix(diagonal: bool, entries: &[(u32, u32, u64)], rows: u32) -> CommunicationMatrix {
    let mut builder = match diagonal {
        true => MatrixBuilder::with_diagonal(),
        false => MatrixBuilder::new(),
    };
    for &(from, to, bytes) in entries {
        builder.add(RankId(from), RankId(to), Bytes(bytes), None);
    }
    builder.build(rows).unwrap().0
}

/// Shares of 100,000 messages of a rank by destination.
fn shares(rates: &Rates, source: u32) -> Vec<f64> {
    let key = StreamKey::new(5, Purpose::Destination);
    let mut counts = vec![0u32; rates.ranks() as usize];
    for n in 0..100_000 {
        let to = rates
            .destination(key, source.into(), n, RankId(source))
            .unwrap();
        counts[to.index()] += 1;
    }
    counts.iter().map(|&count| f64::from(count) / 1e5).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    let pairs = found.iter().zip(expected);
    // Three standard deviations of 100,000 draws are below 0.5 %.
    assert!(
        pairs.clone().all(|(a, b)| (a - b).abs() < 5e-3),
        "{found:?}"
    );
    assert_eq!(found.len(), expected.len());
}

#[test]
fn ranks_send_by_their_rows() {
    let of = matrix(false, &[(0, 1, 10), (0, 2, 30), (2, 0, 80)], 3);
    let rates = Rates::between_ranks(&of, 4).unwrap();
    // 120 in all, 30 on average of four ranks.
    let relative = [0, 1, 2, 3].map(|rank| rates.relative(RankId(rank)));
    assert_eq!(relative, [40.0 / 30.0, 0.0, 80.0 / 30.0, 0.0]);
    assert_eq!(rates.extremes(), (80.0 / 30.0, 40.0 / 30.0));
    close(&shares(&rates, 0), &[0.0, 0.25, 0.75, 0.0]);
    close(&shares(&rates, 2), &[1.0, 0.0, 0.0, 0.0]);
    let key = StreamKey::new(5, Purpose::Destination);
    assert_eq!(rates.destination(key, 1, 0, RankId(1)), None);
    assert!(Rates::between_ranks(&of, 2).is_err());
    let nothing = matrix(false, &[(0, 1, 0)], 2);
    assert_eq!(Rates::between_ranks(&nothing, 2), Err(LoadError::NoRates));
}

#[test]
fn ranks_of_a_rack_share_its_row() {
    // Two racks of two ranks and one of one.
    let blocks = Arc::new(Blocks::new(&[0, 0, 1, 1, 2]));
    let of = matrix(
        true,
        &[(0, 0, 20), (0, 1, 60), (0, 2, 20), (2, 0, 50), (2, 2, 7)],
        3,
    );
    let rates = Rates::between_blocks(&of, blocks.clone()).unwrap();
    // The rack of one rank cannot send to itself: 150 in all, 30 a rank.
    let relative = [0, 1, 2, 3, 4].map(|rank| rates.relative(RankId(rank)));
    assert_eq!(relative, [50.0 / 30.0, 50.0 / 30.0, 0.0, 0.0, 50.0 / 30.0]);
    close(&shares(&rates, 0), &[0.0, 0.2, 0.3, 0.3, 0.2]);
    close(&shares(&rates, 1), &[0.2, 0.0, 0.3, 0.3, 0.2]);
    close(&shares(&rates, 4), &[0.5, 0.5, 0.0, 0.0, 0.0]);
    let two = matrix(true, &[(0, 1, 1)], 2);
    assert_eq!(
        Rates::between_blocks(&two, blocks),
        Err(LoadError::Rows { rows: 2, blocks: 3 })
    );
}
