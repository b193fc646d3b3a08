//! Communication matrices of real applications, where they are at hand.

use odonata_load::Script;
use odonata_load::matrix::{Format, ReadOptions, read_matrix};
use odonata_load::motif::{MatrixReplay, MessageSize, Repeat};
use odonata_units::{Bytes, RankId};

use odonata_testdata::data;

#[test]
fn amg_on_a_thousand_ranks() {
    let Some(path) = data("comm-matrices/derived-edges/AMG2013_1000_undirected.csv") else {
        return;
    };
    let (matrix, report) = read_matrix(&path, ReadOptions::default()).unwrap();
    assert_eq!(report.format, Format::Undirected);
    // 225,518 lines below the header, none of them of a rank with itself.
    assert_eq!(
        (report.entries, report.self_entries, report.merged),
        (225_518, 0, 0)
    );
    let statistics = matrix.statistics();
    assert_eq!(statistics.ranks, 1_000);
    assert_eq!(statistics.entries, 2 * 225_518);
    // Ranks 0 and 1 exchange 65,484,247 bytes; the odd one goes from 0 to 1.
    assert_eq!(matrix.row(RankId(0))[0].bytes, 32_742_124);
    assert_eq!(matrix.row(RankId(1))[0].bytes, 32_742_123);
    let replay = MatrixReplay::new(
        &matrix,
        1e-3,
        MessageSize::AtMost(Bytes(65_536)),
        Repeat::ONCE,
    );
    let replay = replay.unwrap();
    // Rounding moves each entry by half a byte at most.
    let exact = statistics.total.0 as f64 * 1e-3;
    let off = (replay.totals().unwrap().bytes.0 as f64 - exact).abs();
    assert!(off < 0.5 * statistics.entries as f64, "off by {off}");
}

#[test]
fn the_64_rank_matrices_have_row_totals_on_their_diagonal() {
    for name in [
        "AMG2013_64",
        "lulesh_64",
        "miniAMR_64",
        "miniFE_64",
        "miniMD_64",
    ] {
        let Some(path) = data(&format!("comm-matrices/derived-edges/{name}.csv")) else {
            return;
        };
        let (matrix, report) = read_matrix(&path, ReadOptions::default()).unwrap();
        assert_eq!(report.format, Format::Directed);
        assert_eq!(matrix.ranks(), 64);
        assert!(matrix.has_message_counts());
        // The diagonal repeats what a rank sends to the others, so that what was
        // left out is as much as what was kept.
        assert_eq!(report.self_entries, 64);
        assert_eq!(report.self_bytes, matrix.statistics().total, "{name}");
    }
}

#[test]
fn shares_of_amg_become_bytes() {
    let Some(path) = data("traffic-matrices/AMG.txt") else {
        return;
    };
    let options = ReadOptions {
        ranks: None,
        total_bytes: Some(Bytes(1_000_000_000_000)),
    };
    let (matrix, report) = read_matrix(&path, options).unwrap();
    assert_eq!(report.format, Format::Probabilities);
    assert_eq!((matrix.ranks(), report.entries), (1_728, 136_886));
    assert_eq!(matrix.statistics().total, Bytes(1_000_000_000_000));
}
