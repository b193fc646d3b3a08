//! DUMPI binaries: whatever is read can be printed, and the description of a job.
#![no_main]

use libfuzzer_sys::fuzz_target;
use odonata_traces::dumpi::{DumpiReader, MetaFile, text};

fuzz_target!(|data: &[u8]| {
    let _ = MetaFile::read_from(data, "job.meta");
    if let Ok(mut reader) = DumpiReader::new(std::io::Cursor::new(data), "trace".to_owned()) {
        let _ = text::write_trace(&mut reader, &mut std::io::sink());
    }
});
