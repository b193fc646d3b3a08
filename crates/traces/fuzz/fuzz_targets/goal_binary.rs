//! GOAL in binary: what is read can be written, and is read from that the same.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use odonata_traces::goal::{GoalBinaryReader, GoalBinaryWriter, RankNodes, RankSchedule};
use odonata_units::RankId;

fn read(bytes: &[u8]) -> Option<Vec<RankSchedule>> {
    let mut reader = GoalBinaryReader::new(Cursor::new(bytes), "a.bin".to_owned()).ok()?;
    let ranks = (0..reader.ranks()).map(RankId);
    ranks.map(|rank| reader.rank(rank).ok()).collect()
}

fuzz_target!(|data: &[u8]| {
    let source = || Cursor::new(data);
    if let Ok(mut nodes) = RankNodes::new(source(), source(), "a.bin", RankId(0)) {
        let _ = nodes.roots();
        for operation in 0..nodes.operations() {
            let _ = nodes.node(operation);
        }
    }
    let Some(ranks) = read(data) else { return };
    let out = Cursor::new(Vec::new());
    let mut writer = GoalBinaryWriter::new(out, ranks.len() as u32).unwrap();
    ranks.iter().for_each(|rank| writer.push(rank).unwrap());
    let written = writer.finish().unwrap().into_inner();
    assert_eq!(read(&written), Some(ranks));
});
