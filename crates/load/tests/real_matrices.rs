//! Communication matrices of real applications, where they are at hand.

use std::path::Path;

use odonata_load::Script;
use odonata_load::matrix::{CommunicationMatrix, Format, ReadOptions, read_matrix};
use odonata_load::motif::{MatrixOrder, MatrixReplay, MessageSize, Repeat};
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
        MatrixOrder::default(),
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

#[test]
fn reports_and_statistics_hold_the_matrices_that_were_made_of_them() {
    let reports = [
        ("AMG2013", "amg2013.64.241221.1.mpiP"),
        ("lulesh", "lulesh2.0.64.102451.1.mpiP"),
        ("miniAMR", "miniAMR.x.64.253515.1.mpiP"),
        ("miniFE", "miniFE.x.64.101195.1.mpiP"),
        ("miniMD", "miniMD_intel.64.156827.1.mpiP"),
    ];
    for (name, report) in reports {
        let files = [
            format!("comm-matrices/{name}/64_ranks/{report}"),
            format!("comm-matrices/derived-edges/{name}_64.csv"),
            format!("comm-matrices/{name}/64_ranks/graphStats.txt"),
        ];
        let [Some(report), Some(edges), Some(graph)] = files.map(|file| data(&file)) else {
            return;
        };
        let read = |path: &Path| read_matrix(path, ReadOptions::default()).unwrap();
        let (matrix, found) = read(&report);
        assert_eq!(found.format, Format::MpiP);
        assert_eq!(matrix, read(&edges).0, "{name}");
        // The statistics have both directions in one edge.
        let (graph, found) = read(&graph);
        assert_eq!(found.format, Format::GraphStats);
        for (from, entry) in graph.entries() {
            let both = |matrix: &CommunicationMatrix| {
                let between = |from: RankId, to: RankId| {
                    let found = matrix.row(from).iter().find(|entry| entry.to == to);
                    found.map_or(0, |entry| entry.bytes)
                };
                between(from, entry.to) + between(entry.to, from)
            };
            assert_eq!(
                both(&graph),
                both(&matrix),
                "{name}: {from} and {}",
                entry.to
            );
        }
    }
    for (name, ranks) in [("AMG2013", 1_000), ("lulesh", 1_000), ("miniFE", 1_024)] {
        let graph = data(&format!(
            "comm-matrices/{name}/{ranks}_ranks/graphStats.txt"
        ));
        let edges = format!("comm-matrices/derived-edges/{name}_{ranks}_undirected.csv");
        let (Some(graph), Some(edges)) = (graph, data(&edges)) else {
            return;
        };
        let read = |path: &Path| read_matrix(path, ReadOptions::default()).unwrap().0;
        assert_eq!(read(&graph), read(&edges), "{name}");
    }
}
