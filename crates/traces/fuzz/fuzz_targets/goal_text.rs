//! GOAL as text: what is read has a canonical form that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use odonata_traces::goal::{GoalTextReader, GoalTextWriter, RankSchedule};

fn read(text: &[u8]) -> Option<Vec<RankSchedule>> {
    let reader = GoalTextReader::new(text, "a.goal".to_owned()).ok()?;
    reader.map(|rank| rank.ok().map(|(_, of)| of)).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some(ranks) = read(data) else { return };
    let mut writer = GoalTextWriter::new(Vec::new(), ranks.len() as u32).unwrap();
    ranks.iter().for_each(|rank| writer.push(rank).unwrap());
    let canonical = writer.finish().unwrap();
    assert_eq!(read(&canonical), Some(ranks));
});
