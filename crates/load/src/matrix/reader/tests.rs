use super::*;
use crate::matrix::Entry;

fn read(
    text: &str,
    options: ReadOptions,
) -> Result<(CommunicationMatrix, ReadReport), MatrixError> {
    read_matrix_from(text.as_bytes(), Path::new("m.csv"), options)
}

fn plain(text: &str) -> (CommunicationMatrix, ReadReport) {
    read(text, ReadOptions::default()).unwrap()
}

fn refusal(text: &str, options: ReadOptions) -> String {
    read(text, options).unwrap_err().to_string()
}

fn triples(matrix: &CommunicationMatrix) -> Vec<(u32, u32, u64, u64)> {
    let flat = |(from, entry): (RankId, Entry)| (from.0, entry.to.0, entry.bytes, entry.messages);
    matrix.entries().map(flat).collect()
}

#[test]
fn directed_edges_keep_their_message_counts() {
    let (matrix, report) =
        plain("src,dst,bytes,messages\n0,0,9,3\n2,0,10,2\n0,2,7,1\n2,0,1,1\n1,0,0,4\n");
    assert_eq!(matrix.ranks(), 3);
    assert_eq!(
        triples(&matrix),
        [(0, 2, 7, 1), (1, 0, 0, 4), (2, 0, 11, 3)]
    );
    assert!(matrix.has_message_counts());
    assert_eq!(
        report,
        ReadReport {
            format: Format::Directed,
            entries: 5,
            self_entries: 1,
            self_bytes: Bytes(9),
            merged: 1,
            empty: 1,
            fractions: 0,
        }
    );
}

#[test]
fn undirected_edges_are_halved_with_the_odd_byte_from_a_to_b() {
    let (matrix, report) = plain("a,b,bytes\n0,1,7\n2,1,4\n0,2,1\n");
    assert_eq!(
        triples(&matrix),
        [
            (0, 1, 4, 1),
            (0, 2, 1, 1),
            (1, 0, 3, 1),
            (1, 2, 2, 1),
            (2, 1, 2, 1)
        ]
    );
    assert!(!matrix.has_message_counts());
    assert_eq!(report.format, Format::Undirected);
}

#[test]
fn shares_become_bytes_that_sum_to_the_total() {
    let text =
        "#tor_pair_id,src,dst,pdf_num_bytes\n0,1,0,3.3333e-01\n1,0,1,3.3333e-01\n2,2,1,0.33333\n";
    let options = ReadOptions {
        ranks: None,
        total_bytes: Some(Bytes(1_000)),
    };
    let (matrix, _) = read(text, options).unwrap();
    // Running sums 333.3, 666.7, 1000: differences 333, 334, 333.
    assert_eq!(
        triples(&matrix),
        [(0, 1, 333, 1), (1, 0, 334, 1), (2, 1, 333, 1)]
    );
    assert_eq!(
        refusal(text, ReadOptions::default()),
        "m.csv holds shares of the bytes, not bytes; give the number of bytes of the whole matrix (total_bytes)"
    );
    let cut = "src,dst,pdf_num_bytes\n0,1,0.5\n1,0,0.25\n";
    assert_eq!(
        refusal(cut, options),
        "m.csv: the shares sum to 0.75; expected 1 within 1 % (is the file cut off?)"
    );
}

#[test]
fn dense_matrices_are_square() {
    let (matrix, report) = plain("0, 5, 0\n1e3, 2, 0\n0, 4.0, 0\n");
    assert_eq!(
        triples(&matrix),
        [(0, 1, 5, 1), (1, 0, 1_000, 1), (2, 1, 4, 1)]
    );
    assert_eq!(
        (report.entries, report.empty, report.self_bytes),
        (9, 5, Bytes(2))
    );
    // Rank 2 neither sends nor receives, but is there.
    assert_eq!(plain("0;5;0\n0;0;0\n0;0;0\n").0.ranks(), 3);
    assert_eq!(
        refusal("1,2,3\n4,5,6\n", ReadOptions::default()),
        "m.csv: found 2 lines of 3 numbers; a matrix without a header must be square \
         (is the file cut off, or an edge list that lacks its header line?)"
    );
    assert_eq!(
        refusal("1,2\n4,5\n1,2\n", ReadOptions::default()),
        "m.csv, line 3: found 2 fields; expected 0 after the last line of a square matrix \
         (an edge list needs a header line)"
    );
}

#[test]
fn errors_name_line_and_column() {
    let none = ReadOptions::default();
    let four = ReadOptions {
        ranks: Some(4),
        total_bytes: None,
    };
    for (text, options, message) in [
        (
            "src,dst,bytes\n0,1,5\n\n0,2,-5\n",
            none,
            "m.csv, line 4, column 3: found \"-5\"; allowed is a number of bytes, 0 or more",
        ),
        (
            "src,dst,bytes\n0,1,NaN\n",
            none,
            "m.csv, line 2, column 3: found \"NaN\"; allowed is a number of bytes, 0 or more",
        ),
        (
            "src,dst,bytes\n0,4,5\n",
            four,
            "m.csv, line 2, column 2: found \"4\"; allowed is a rank from 0 to 3",
        ),
        (
            "src,dst,bytes,messages\n0,1,5\n",
            none,
            "m.csv, line 2: found 3 fields; expected 4 as in the header (is the file cut off?)",
        ),
        (
            "0,1\nx,0\n",
            none,
            "m.csv, line 2, column 1: found \"x\"; allowed is a number of bytes, 0 or more",
        ),
        (
            "src,dst,pdf_num_bytes\n0,1,1.5\n",
            ReadOptions {
                ranks: None,
                total_bytes: Some(Bytes(5)),
            },
            "m.csv, line 2, column 3: found \"1.5\"; allowed is a share from 0 to 1",
        ),
    ] {
        assert_eq!(refusal(text, options), message);
    }
    assert!(refusal("hello,world\n", none).starts_with(
        "m.csv, line 1: found the header \"hello,world\"; expected a header `src,dst,bytes[,messages]`"
    ));
    assert!(refusal("", none).starts_with("m.csv: the communication matrix is empty"));
    assert!(
        refusal("src,dst,bytes\n", none).starts_with("m.csv: the communication matrix is empty")
    );
    let missing = read_matrix(Path::new("no/such.csv"), none).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("cannot read the communication matrix no/such.csv: ")
    );
}

#[test]
fn ranks_beyond_the_file_may_be_asked_for() {
    let options = ReadOptions {
        ranks: Some(10),
        total_bytes: None,
    };
    assert_eq!(read("a,b,bytes\n0,1,7\n", options).unwrap().0.ranks(), 10);
    let (dense, _) = read("0,1\n1,0\n", options).unwrap();
    assert_eq!(dense.ranks(), 10);
}

#[test]
fn bytes_are_scaled_to_a_total() {
    let total = ReadOptions {
        ranks: None,
        total_bytes: Some(Bytes(10)),
    };
    // 4, 3 and 7 bytes of 14: running sums 2.86, 5 and 10 of 10, rounded 3, 5, 10.
    let (matrix, _) = read("src,dst,bytes\n0,1,4\n1,0,3\n1,2,7\n", total).unwrap();
    assert_eq!(triples(&matrix), [(0, 1, 3, 1), (1, 0, 2, 1), (1, 2, 5, 1)]);
    assert_eq!(
        refusal("0,0\n0,5\n", total),
        "m.csv holds no bytes between different ranks; they cannot be scaled to 10 B"
    );
}

#[test]
fn dense_matrices_may_have_blanks_floats_and_remarks() {
    // As numpy.savetxt writes them.
    let text = "# two ranks\n0.000e+00 1.500e+03\n2.500e+02   0.000e+00\n";
    let (matrix, report) = plain(text);
    assert_eq!(triples(&matrix), [(0, 1, 1500, 1), (1, 0, 250, 1)]);
    assert_eq!((report.format, report.fractions), (Format::Dense, 0));
    let (tabs, _) = plain("0\t7\n\t3\t0\n");
    assert_eq!(triples(&tabs), [(0, 1, 7, 1), (1, 0, 3, 1)]);
    let (edges, _) = plain("src dst bytes\n0  1  5\n1 0 6.0\n");
    assert_eq!(triples(&edges), [(0, 1, 5, 1), (1, 0, 6, 1)]);
    // Averages have fractions: to the nearest byte.
    let (rounded, report) = plain("0 1.4\n2.6 0\n");
    assert_eq!(triples(&rounded), [(0, 1, 1, 1), (1, 0, 3, 1)]);
    assert_eq!(report.fractions, 2);
    assert!(refusal("0 -1\n1 0\n", ReadOptions::default()).contains("a number of bytes"));
    assert!(refusal("# nothing\n\n", ReadOptions::default()).contains("is empty"));
}

#[test]
fn fractions_get_their_part_of_the_total() {
    let total = ReadOptions {
        ranks: None,
        total_bytes: Some(Bytes(1_000)),
    };
    let text = "9.5 0.2 0.1\n0 0 0\n0.5 0 0\n";
    let (matrix, _) = read(text, total).unwrap();
    // What rank 0 keeps has no part: 0.8 in all.
    assert_eq!(
        triples(&matrix),
        [(0, 1, 250, 1), (0, 2, 125, 1), (2, 0, 625, 1)]
    );
    // Without a total nothing would be left of shares.
    let shares = "0 0.75\n0.25 0\n";
    assert!(refusal(shares, ReadOptions::default()).contains("holds shares of the bytes"));
    assert!(refusal("0.5 0\n0 0\n", total).contains("no bytes between different ranks"));
}

const MPIP: &str = "\
@ mpiP
@ Command : ./a.out
@--- Callsites: 2 -----
------- Start Communication Matrix -------------

Statistics of rank: 0

Source\tTarget\tTotal Amount\tTotal Count
0\t0\t30\t5
0\t1\t30\t5
0\t2\t0\t0

Statistics of rank: 1

Source\tTarget\tTotal Amount\tTotal Count
1\t0\t7\t1
1\t1\t7\t1
1\t2\t0\t0

------- End Communication Matrix -------------

@--- End of Report ----
";

#[test]
fn reports_of_mpip_have_their_matrix_at_the_end() {
    let (matrix, report) = plain(MPIP);
    assert_eq!(triples(&matrix), [(0, 1, 30, 5), (1, 0, 7, 1)]);
    // A rank that neither sends nor receives is one all the same.
    assert_eq!((matrix.ranks(), report.format), (3, Format::MpiP));
    assert_eq!((report.entries, report.self_entries), (6, 0));
    let (before, _) = MPIP.split_once("------- Start").unwrap();
    assert!(refusal(before, ReadOptions::default()).contains("without a communication matrix"));
    let (cut, _) = MPIP.split_once("------- End").unwrap();
    assert!(refusal(cut, ReadOptions::default()).contains("is it cut off?"));
    let damaged = MPIP.replace("1\t0\t7\t1\n", "1\t0\t7\n");
    assert!(refusal(&damaged, ReadOptions::default()).contains("line 16: found 3 fields"));
}

#[test]
fn statistics_of_graphs_begin_with_their_edges() {
    let text = "--------------- Graph Information----------------\n0 , 1 = 7.0\n2 , 1 = 4.0\n\
                ----------------Graph info end -------------------\nAverage Degree:  1.3\n";
    let (matrix, report) = plain(text);
    assert_eq!(
        triples(&matrix),
        [(0, 1, 4, 1), (1, 0, 3, 1), (1, 2, 2, 1), (2, 1, 2, 1)]
    );
    assert_eq!(report.format, Format::GraphStats);
    let (cut, _) = text.split_once("----------------Graph info end").unwrap();
    assert!(refusal(cut, ReadOptions::default()).contains("cut off"));
}

#[test]
fn a_line_and_all_entries_have_limits() {
    let name = Path::new("m.csv");
    let header = b"src,dst,bytes\n".as_slice();
    // A last line without end, as a file of zeros unpacks to: nothing after the limit is read.
    let endless = header.chain(io::repeat(b'0'));
    let error = read_matrix_from(endless, name, ReadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.csv, line 2 is longer than 16 MiB, the most that is read"
    );
    let error = read_matrix_from(b"1 2\n3 \xff\n".as_slice(), name, ReadOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "m.csv, line 2 is not UTF-8");

    let directed = "src,dst,bytes\n0,1,5\n0,2,0\n1,0,5\n1,2,5\n2,0,5\n2,1,5\n";
    let shares = "src,dst,pdf_num_bytes\n0,1,0.2\n0,2,0\n1,0,0.2\n1,2,0.2\n2,0,0.2\n2,1,0.2\n";
    let dense = "0 5 0\n5 0 5\n5 5 0\n";
    for text in [directed, shares, dense] {
        for total_bytes in [None, Some(Bytes(100))] {
            let options = ReadOptions {
                ranks: None,
                total_bytes,
            };
            let read = |most| {
                let builder = MatrixBuilder::new();
                read_into(builder, text.as_bytes(), name, options, most)
                    .map_err(|error| error.to_string())
            };
            assert!(read(9) == read(usize::MAX), "{text}");
            if text == shares && total_bytes.is_none() {
                continue;
            }
            let error = read(3).unwrap_err();
            assert!(
                error.contains("is beyond 3 entries other than 0"),
                "{error}"
            );
        }
    }
}
