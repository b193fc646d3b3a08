//! Real files, damaged, where they are at hand: whatever a reader makes of them, it
//! neither panics nor hangs nor takes memory without end.

#[path = "shared/damage.rs"]
mod damage;
mod shared;

use std::io::Cursor;

use damage::{attack, rounds, start};
use odonata_traces::codes::{IntraLayout, LinkReader};
use odonata_traces::dumpi::{DumpiReader, text};
use odonata_traces::goal::GoalTextReader;
use odonata_traces::htsim::ConnectionReader;
use odonata_traces::otf2::{Anchor, Definitions, EventReader, LocalDefinitions, LocationRef};
use odonata_traces::packets::PacketReader;
use shared::{contents, data};

fn seeds(names: &[&str]) -> Option<Vec<Vec<u8>>> {
    names
        .iter()
        .map(|name| data(name).map(|path| contents(&path)))
        .collect()
}

fn name() -> String {
    "damaged".to_owned()
}

#[test]
fn damaged_dumpi() {
    let Some(seeds) = seeds(&[
        "dumpi-complete/testtrace/testtrace-0000.bin",
        "dumpi-complete/testbgp/testbgp-0003.bin",
        "dumpi-rank0/AMG.bin",
    ]) else {
        return;
    };
    attack(&seeds, rounds(300), start(), |bytes| {
        DumpiReader::new(Cursor::new(bytes), name())
            .is_ok_and(|mut reader| text::write_trace(&mut reader, &mut std::io::sink()).is_ok())
    });
}

#[test]
fn damaged_text_files() {
    let Some(seeds) = seeds(&[
        "goal-examples/binary_tree_16.goal",
        "goal-examples/dissemination_32.goal",
        "goal-examples/htsim-incast_128.cm",
    ]) else {
        return;
    };
    attack(&seeds, rounds(300), start(), |bytes| {
        let goal = GoalTextReader::new(bytes, name()).is_ok_and(|all| all.flatten().count() > 0);
        let matrix =
            ConnectionReader::new(bytes, name()).is_ok_and(|all| all.flatten().count() > 0);
        let packets = PacketReader::new(bytes, name()).flatten().count() > 0;
        goal || matrix || packets
    });
}

#[test]
fn damaged_lists_of_links() {
    let Some(seeds) = seeds(&[
        "codes-confs/dragonfly-dally/dfdally-72-intra",
        "codes-confs/dragonfly-plus/dfp-test-inter",
    ]) else {
        return;
    };
    attack(&seeds, rounds(1_000), start(), |bytes| {
        [IntraLayout::Pairs, IntraLayout::Typed].map(|layout| {
            LinkReader::new(Cursor::new(bytes), name(), layout, 40)
                .is_ok_and(|links| links.flatten().count() > 0)
        }) != [false, false]
    });
}

#[test]
fn damaged_otf2() {
    let Some(files) = seeds(&[
        "otf2-10ranks/traces.otf2",
        "otf2-10ranks/traces.def",
        "otf2-10ranks/traces/3.def",
        "otf2-10ranks/traces/3.evt",
    ]) else {
        return;
    };
    for damaged in 0..files.len() {
        let pair = [files[damaged].clone(), files[(damaged + 1) % 4].clone()];
        attack(&pair, rounds(150), start(), |bytes| {
            let file = |index: usize| {
                let file = if index == damaged {
                    bytes
                } else {
                    &files[index]
                };
                Cursor::new(file)
            };
            let read = || {
                let anchor = Anchor::read(file(0), name())?;
                let definitions = Definitions::read(file(1), name(), &anchor)?;
                let local = LocalDefinitions::read(file(2), name(), &anchor)?;
                let location = LocationRef(3);
                EventReader::new(file(3), name(), &anchor, &definitions, local, location)?
                    .collect::<Result<Vec<_>, _>>()
            };
            read().is_ok()
        });
    }
}
