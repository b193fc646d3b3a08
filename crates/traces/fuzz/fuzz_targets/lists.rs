//! Packet traces, connection matrices of htsim, files of CODES.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use odonata_traces::codes::{IntraLayout, LinkReader, read_allocation, read_workloads};
use odonata_traces::htsim::ConnectionReader;
use odonata_traces::packets::PacketReader;

fuzz_target!(|data: &[u8]| {
    let name = || "file".to_owned();
    let _ = PacketReader::new(data, name()).count();
    if let Ok(reader) = ConnectionReader::new(data, name()) {
        let _ = reader.count();
    }
    let _ = read_workloads(data, "file");
    let _ = read_allocation(data, "file");
    for layout in [IntraLayout::Pairs, IntraLayout::Typed] {
        if let Ok(reader) = LinkReader::new(Cursor::new(data), name(), layout, 1_056) {
            let _ = reader.count();
        }
    }
});
