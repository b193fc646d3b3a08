//! Communication matrices, of any format: what is read is consistent, and is read
//! the same from the directed form.
#![no_main]

use std::fmt::Write;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use odonata_load::matrix::{CommunicationMatrix, ReadOptions, read_matrix_from};
use odonata_units::{Bytes, RankId};

fn directed(matrix: &CommunicationMatrix) -> String {
    let mut text = String::from("src,dst,bytes,messages\n");
    for (from, entry) in matrix.entries() {
        let (to, bytes, messages) = (entry.to, entry.bytes, entry.messages);
        writeln!(text, "{},{},{bytes},{messages}", from.0, to.0).unwrap();
    }
    text
}

fuzz_target!(|data: &[u8]| {
    let name = Path::new("matrix.csv");
    let total = Bytes(1_000_003);
    for (ranks, total_bytes) in [(None, None), (None, Some(total)), (Some(70), Some(total))] {
        let options = ReadOptions { ranks, total_bytes };
        let Ok((matrix, report)) = read_matrix_from(data, name, options) else {
            continue;
        };
        let statistics = matrix.statistics();
        assert!(statistics.entries + report.merged + report.self_entries <= 2 * report.entries);
        assert!(ranks.is_none_or(|ranks| ranks == matrix.ranks()));
        // A share that is one rank's own is read, but no message.
        if total_bytes.is_some() && report.self_entries == 0 {
            assert_eq!(statistics.total, total);
        }
        for from in (0..matrix.ranks()).map(RankId) {
            let row = matrix.row(from);
            assert!(
                row.iter()
                    .all(|entry| entry.to != from && entry.to.0 < matrix.ranks())
            );
            assert!(row.is_sorted_by(|a, b| a.to < b.to));
        }
        if statistics.entries == 0 || statistics.total == Bytes::ZERO {
            continue;
        }
        let options = ReadOptions {
            ranks: Some(matrix.ranks()),
            total_bytes: None,
        };
        let (again, _) = read_matrix_from(directed(&matrix).as_bytes(), name, options).unwrap();
        assert!(
            again
                .entries()
                .eq(matrix.entries().filter(|(_, e)| e.bytes + e.messages > 0))
        );
    }
});
