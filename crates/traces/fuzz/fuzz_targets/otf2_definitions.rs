//! OTF2: anchor files, global and local definitions.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use odonata_traces::otf2::{Anchor, Definitions, LocalDefinitions};

fuzz_target!(|data: &[u8]| {
    let source = || Cursor::new(data);
    let name = || "file".to_owned();
    let _ = Anchor::read(source(), name());
    let anchor = Anchor {
        version: [3, 2, 0],
        event_chunk_bytes: 1 << 20,
        definition_chunk_bytes: 4 << 20,
        locations: 10,
        // Real archives of the seeds have this many.
        global_definitions: 725,
        machine: String::new(),
        creator: String::new(),
        description: String::new(),
        properties: Vec::new(),
        id: 0,
    };
    let _ = Definitions::read(source(), name(), &anchor);
    let _ = LocalDefinitions::read(source(), name(), &anchor);
});
