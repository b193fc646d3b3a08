//! Real DUMPI traces against what `dumpi2ascii -a` of sst-dumpi prints of them:
//! every line, so every record, argument, time stamp, count and size.

mod shared;

use std::path::Path;

use odonata_traces::dumpi::{DumpiJob, DumpiReader, Function, text};
use odonata_units::RankId;
use shared::{contents, data, files};

fn text_of(trace: &Path) -> (Vec<u8>, u64) {
    let mut reader = DumpiReader::open(trace).unwrap();
    let mut text = Vec::new();
    text::write_trace(&mut reader, &mut text).unwrap();
    (text, reader.records())
}

/// Compares line by line, so that a failure tells where.
fn assert_same(ours: &[u8], gold: &[u8], trace: &Path) {
    let lines = |text: &[u8]| text.split(|&byte| byte == b'\n').count();
    for (number, (ours, gold)) in ours
        .split(|&byte| byte == b'\n')
        .zip(gold.split(|&byte| byte == b'\n'))
        .enumerate()
    {
        assert_eq!(
            String::from_utf8_lossy(ours),
            String::from_utf8_lossy(gold),
            "{} line {}",
            trace.display(),
            number + 1
        );
    }
    assert_eq!(lines(ours), lines(gold), "{}", trace.display());
}

fn compare_folder(folder: &str) -> Option<(usize, u64)> {
    let folder = data(folder)?;
    let traces = files(&folder, ".bin");
    let mut records = 0;
    for trace in &traces {
        let gold = contents(&trace.with_extension("dumpi2ascii.txt.gz"));
        let (ours, count) = text_of(trace);
        assert_same(&ours, &gold, trace);
        records += count;
    }
    Some((traces.len(), records))
}

#[test]
fn complete_jobs_decode_as_the_reference() {
    // 7 ranks × 227 calls, 4 × 9 and 2 runs × 4 × 41, counted in the references.
    if let Some(found) = compare_folder("dumpi-complete") {
        assert_eq!(found, (19, 7 * 227 + 4 * 9 + 8 * 41));
    }
}

#[test]
fn first_ranks_of_applications_decode_as_the_reference() {
    // AMG, CrystalRouter and MultiGrid, counted in the references.
    if let Some(found) = compare_folder("dumpi-rank0") {
        assert_eq!(found, (3, 1_007 + 48_000 + 2_447));
    }
}

/// The project that captured this trace published its own text form of rank 0,
/// too, printed in another time zone.
#[test]
fn published_text_form_agrees() {
    let Some(folder) = data("dumpi-complete/testtrace") else {
        return;
    };
    let (ours, _) = text_of(&folder.join("testtrace-0000.bin"));
    let published = contents(&folder.join("testtrace-0000.txt"));
    let without_date = |text: &[u8]| {
        String::from_utf8_lossy(text)
            .lines()
            .filter(|line| !line.starts_with("starttime="))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(without_date(&ours), without_date(&published));
}

#[test]
fn jobs_open_by_their_description() {
    let Some(folder) = data("dumpi-complete") else {
        return;
    };
    let metas = files(&folder, ".meta");
    assert_eq!(metas.len(), 4);
    let mut ranks = Vec::new();
    for meta in metas {
        let job = DumpiJob::open(&meta).unwrap();
        ranks.push(job.ranks());
        for rank in (0..job.ranks()).map(RankId) {
            let mut calls = job.rank(rank).unwrap();
            let start = u64::from(calls.header().start_time > 0);
            assert_eq!(start, 1);
            let last = calls.by_ref().map(Result::unwrap).last().unwrap();
            assert_eq!(last.function, Function::Finalize);
        }
    }
    assert_eq!(ranks, [4, 4, 7, 4]);
}
