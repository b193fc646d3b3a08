//! Damaged communication matrices give errors that name the file and, where a line is
//! wrong, the line; no panic, no hang, no more memory than the file justifies.
//! `TRACE_DAMAGE_ROUNDS` and `TRACE_DAMAGE_SEED` try more and others.

use std::path::{Path, PathBuf};

use odonata_load::matrix::{MatrixError, ReadOptions, read_matrix_from};
use odonata_units::Bytes;

#[path = "../../traces/tests/shared/damage.rs"]
mod damaging;

use damaging::{attack, rounds, start};

/// A file in every format.
fn made() -> Vec<Vec<u8>> {
    let mut directed = String::from("src,dst,bytes,messages\n");
    let mut undirected = String::from("a,b,bytes\n");
    let mut shares = String::from("#pair;src;dst;pdf_num_bytes\n");
    let mut dense = String::new();
    for from in 0..16u32 {
        for to in 0..16 {
            let bytes = (from * 7 + to * 13) % 40 * 1_001;
            directed += &format!("{from},{to},{bytes},{}\n", bytes / 1_000);
            if from < to {
                undirected += &format!("{from},{to},{}\n", 2 * bytes + 1);
            }
            shares += &format!("{};{from};{to};{:e}\n", from * 16 + to, 1.0 / 256.0);
            dense += &format!("{bytes}{}", if to == 15 { "\n" } else { "\t" });
        }
    }
    [directed, undirected, shares, dense]
        .map(String::into_bytes)
        .to_vec()
}

/// Small real ones, where they are at hand.
fn real() -> Vec<Vec<u8>> {
    let Some(folder) = odonata_testdata::data("comm-matrices/derived-edges") else {
        return Vec::new();
    };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    vec![read("miniAMR_64.csv"), read("miniMD_64.csv")]
}

#[test]
fn damaged_matrices_are_refused_by_name_or_consistent() {
    let name = PathBuf::from("folder/matrix.csv");
    let total = Bytes(1_000_003);
    for total_bytes in [None, Some(total)] {
        let options = ReadOptions {
            ranks: None,
            total_bytes,
        };
        let seeds = [made(), real()].concat();
        let (refused, all) = attack(
            &seeds,
            rounds(400),
            start(),
            |bytes| match read_matrix_from(bytes, &name, options) {
                Ok((matrix, report)) => {
                    let statistics = matrix.statistics();
                    let sum: u64 = matrix.entries().map(|(_, entry)| entry.bytes).sum();
                    assert_eq!(sum, statistics.total.0);
                    if total_bytes.is_some() && report.self_entries == 0 {
                        assert_eq!(statistics.total, total);
                    }
                    true
                }
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("folder/matrix.csv"), "{message}");
                    let of_a_line = matches!(
                        error,
                        MatrixError::Header { .. }
                            | MatrixError::Fields { .. }
                            | MatrixError::Field { .. }
                            | MatrixError::Line { .. }
                    );
                    assert_eq!(of_a_line, message.contains(", line "), "{message}");
                    false
                }
            },
        );
        // A changed digit is another number; that cannot be detected.
        assert!(refused > all / 5 && refused < all, "{refused} of {all}");
    }
}

/// The end of a file is not missed: a line that lacks a field is an error in every format,
/// and so is a line that is missing, where the rest of the file tells how many there are.
#[test]
fn matrices_that_end_early_are_refused() {
    let options = ReadOptions {
        ranks: None,
        total_bytes: Some(Bytes(1_000_003)),
    };
    let name = Path::new("matrix.csv");
    let [directed, undirected, shares, dense]: [Vec<u8>; 4] = made().try_into().unwrap();
    // One past the last such byte.
    let last = |file: &[u8], byte| file.iter().rposition(|&at| at == byte).unwrap() + 1;
    let lines = |file: &[u8], count| {
        let text = std::str::from_utf8(file).unwrap();
        text.split_inclusive('\n')
            .take(count)
            .map(str::len)
            .sum::<usize>()
    };
    for (file, cut, words) in [
        (
            &directed,
            last(&directed, b',') - 1,
            ", line 257: found 3 fields; expected 4 as in the header (is the file cut off?)",
        ),
        (
            &undirected,
            last(&undirected, b','),
            ", line 121, column 3: found \"\"; allowed is a number",
        ),
        (&shares, lines(&shares, 129), ": the shares sum to 0.5; "),
        (&dense, lines(&dense, 8), ": found 8 lines of 16 numbers; "),
        (
            &dense,
            last(&dense, b'\t') - 1,
            ", line 16: found 15 fields; expected 16",
        ),
    ] {
        let error = read_matrix_from(&file[..cut], name, options).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("matrix.csv{words}")), "{error}");
    }
}

/// A mistyped rank takes no gigabyte.
#[test]
fn ranks_beyond_all_machines_are_refused() {
    let text = "src,dst,bytes\n0,1,5\n4294967295,1,5\n";
    let read = read_matrix_from(text.as_bytes(), Path::new("m.csv"), ReadOptions::default());
    assert_eq!(
        read.unwrap_err().to_string(),
        "m.csv, line 3, column 1: found \"4294967295\"; allowed is a rank from 0 to 16777215"
    );
}
