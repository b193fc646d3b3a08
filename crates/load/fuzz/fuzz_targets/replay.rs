//! Replay of traces in one file: a DUMPI trace that stands for four ranks, GOAL, htsim
//! and packets. What is accepted can be run, and does the same when it is saved and
//! restored at every step.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use odonata_load::Program;
use odonata_load::replay::{Options, Partners, Trace};

#[allow(dead_code)]
#[path = "../../tests/replay/executor.rs"]
mod executor;

/// Longest input.
const MOST_BYTES: usize = 1 << 16;
/// Most ranks that are run: the executor keeps a program for each of them, and a file of
/// a few bytes may rightly name a million.
const MOST_RANKS: u32 = 1 << 12;

/// Where the input lies: readers of whole traces want files.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::var_os("FUZZ_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("odonata-fuzz-replay-{}", std::process::id()))
});

fuzz_target!(|data: &[u8]| {
    if data.len() > MOST_BYTES {
        return;
    }
    std::fs::write(&*FILE, data).unwrap();
    let repeated = Options {
        repeat_rank: Some(Partners::Offset),
        ranks: Some(4),
        ..Options::default()
    };
    for options in [repeated, Options::default()] {
        let Ok(trace) = Trace::open(&FILE, options) else {
            continue;
        };
        if trace.ranks() > MOST_RANKS {
            continue;
        }
        let whole = executor::execute(&trace, u64::MAX, false);
        // Long ones would take their state at every step.
        if matches!(&whole, Ok(done) if done.messages < 500) {
            assert_eq!(executor::execute(&trace, 1, false), whole);
        }
    }
});
