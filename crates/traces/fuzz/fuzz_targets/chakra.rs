//! Chakra traces in all their forms, and archives of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use odonata_traces::chakra::{members, process_groups, read, read_groups};

fuzz_target!(|data: &[u8]| {
    let _ = read(data, "file", &mut |node| {
        let _ = process_groups(&node);
        Ok(())
    });
    let _ = read_groups(data, "file");
    if let Ok(members) = members(data) {
        for member in members {
            let _ = read(member.bytes, &member.name, &mut |_| Ok(()));
        }
    }
});
