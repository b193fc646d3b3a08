//! OTF2: events, with definitions of 512 regions and 8 communicators of 10 ranks.
#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use odonata_traces::otf2::{Anchor, Definitions, EventReader, LocalDefinitions, LocationRef};

fn record(out: &mut Vec<u8>, kind: u8, fields: &[u8]) {
    out.extend([kind, fields.len() as u8]);
    out.extend(fields);
}

static ARCHIVE: LazyLock<(Anchor, Definitions)> = LazyLock::new(|| {
    let mut out = vec![3, 0x42];
    out.extend([1u64.to_le_bytes(), [0; 8]].concat());
    record(&mut out, 5, &[1, 100, 0, 0]);
    record(&mut out, 13, &[0, 0xff, 1, 0xff]);
    for location in 0..10u8 {
        record(&mut out, 14, &[1, location, 0xff, 1, 2, 0xaa, 8, 0]);
    }
    for region in 0..512u16 {
        let [low, high] = region.to_le_bytes();
        record(&mut out, 15, &[2, low, high, 0xff, 0xff, 0, 0xff, 0, 0, 0xff, 1, 4, 0]);
    }
    let members: Vec<u8> = (0..10).flat_map(|member| [1, member]).collect();
    record(&mut out, 18, &[&[0, 0xff, 0, 1, 10], &members[..], &[4, 4, 0]].concat());
    for comm in 0..8 {
        record(&mut out, 22, &[1, comm, 0xff, 0, 0xff]);
        record(&mut out, 24, &[1, comm, 0xff, 1, comm]);
    }
    out.push(2);
    let anchor = Anchor {
        version: [3, 2, 0],
        event_chunk_bytes: 1 << 20,
        definition_chunk_bytes: 4 << 20,
        locations: 10,
        global_definitions: 2 + 10 + 512 + 1 + 16,
        machine: String::new(),
        creator: String::new(),
        description: String::new(),
        properties: Vec::new(),
        id: 0,
    };
    let definitions = Definitions::read(Cursor::new(out), "a.def".to_owned(), &anchor).unwrap();
    (anchor, definitions)
});

fuzz_target!(|data: &[u8]| {
    let (anchor, definitions) = &*ARCHIVE;
    let local = LocalDefinitions::default();
    let (source, name) = (Cursor::new(data), "0.evt".to_owned());
    if let Ok(events) =
        EventReader::new(source, name, anchor, definitions, local, LocationRef(0))
    {
        let _ = events.count();
    }
});
