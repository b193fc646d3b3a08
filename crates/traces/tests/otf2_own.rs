//! OTF2 archives put together by ourselves: all kinds of events that are read,
//! both byte orders, several chunks, and what damaged files lead to.

#[path = "shared/bytewise.rs"]
mod bytewise;
#[path = "shared/damage.rs"]
mod damage;

use std::io::Cursor;

use bytewise::Bytewise;
use damage::{attack, rounds, start};
use odonata_traces::otf2::{
    Anchor, Collective, CommRef, Definitions, Event, EventKind, EventReader, LocalDefinitions,
    LocationRef, RegionRef, Root, Transfer, WindowRef,
};
use odonata_traces::{Position, TraceError};
use odonata_units::Bytes;

const CHUNK: usize = 256 * 1024;

#[derive(Clone)]
struct Files {
    anchor: Vec<u8>,
    definitions: Vec<u8>,
    local: Vec<u8>,
    events: Vec<u8>,
}

const DEFINITIONS: u64 = 15;

fn files(big_endian: bool, count: u64, fill: impl FnOnce(&mut Bytewise)) -> Files {
    let new = || Bytewise {
        big_endian,
        ..Bytewise::default()
    };
    let mut anchor = new();
    anchor.header();
    anchor.text("OTF2");
    anchor.bytes.extend([3, 3, 3, 2, 0]);
    anchor.full(CHUNK as u64);
    anchor.full(CHUNK as u64);
    anchor.bytes.extend([1, 1]);
    anchor.full(2);
    anchor.full(DEFINITIONS);
    anchor.text("machine");
    anchor.text("test");
    anchor.text("");
    anchor.full32(1);
    anchor.text("KEY");
    anchor.text("value");
    anchor.full(77);
    anchor.full32(0);
    anchor.full32(0);
    anchor.bytes.push(2);

    let mut definitions = new();
    definitions.header();
    definitions.full(1);
    definitions.full(0);
    definitions.record(5, |out| {
        out.short(1_000_000_000);
        out.short(1_000);
        out.short(500);
        out.short(1_700_000_000_000_000_000);
    });
    for id in 0..2 {
        definitions.record(13, |out| {
            out.short(id);
            out.short(1);
            out.bytes.push(1);
            out.none();
        });
        definitions.record(14, |out| {
            out.short(id);
            out.short(2);
            out.bytes.push(1);
            out.short(if id == 0 { count } else { 0 });
            out.short(id);
        });
    }
    definitions.record(15, |out| {
        out.short(9);
        out.short(2);
        out.none();
        out.bytes.push(0);
        out.none();
        out.short(0);
        out.short(0);
        out.short(2);
        out.bytes.extend([1, 4]);
        out.short(0);
    });
    for (id, kind, members) in [(0, 4, &[0u64, 1][..]), (1, 5, &[0, 1]), (2, 6, &[])] {
        definitions.record(18, |out| {
            out.short(id);
            out.short(0);
            out.bytes.push(0);
            out.short(members.len() as u64);
            members.iter().for_each(|&member| out.short(member));
            out.bytes.extend([kind, 4]);
            out.short(0);
        });
    }
    definitions.record(22, |out| {
        out.short(4);
        out.short(0);
        out.short(1);
        out.none();
    });
    definitions.record(24, |out| {
        out.short(6);
        out.short(0);
        out.short(4);
    });
    // Strings may follow what they name.
    for (id, text) in ["", "MPI Rank", "main"].into_iter().enumerate() {
        definitions.record(10, |out| {
            out.short(id as u64);
            out.text(text);
        });
    }
    // A kind that is not read.
    definitions.record(200, |out| out.bytes.extend([1; 300]));
    definitions.bytes.push(2);

    let mut local = new();
    local.header();
    local.full(1);
    local.full(0);
    // Region 0 stands for 9, communicator 1 for 4.
    local.record(5, |out| {
        out.bytes.push(3);
        out.short(1);
        out.bytes.push(0);
        out.short(9);
    });
    local.record(5, |out| {
        out.bytes.push(6);
        out.short(1);
        out.bytes.push(1);
        out.short(1);
        out.short(4);
    });
    for (time, offset) in [(1_000, 0), (2_000, 100)] {
        local.record(6, |out| {
            out.full(time);
            out.short(offset);
            out.full(0);
        });
    }
    local.bytes.push(2);

    let mut events = new();
    fill(&mut events);
    Files {
        anchor: anchor.bytes,
        definitions: definitions.bytes,
        local: local.bytes,
        events: events.bytes,
    }
}

fn timestamp(out: &mut Bytewise, time: u64) {
    out.bytes.push(5);
    out.full(time);
}

fn message(out: &mut Bytewise) {
    out.short(1);
    out.short(1);
    out.short(300);
    out.short(1 << 40);
}

fn collective(out: &mut Bytewise, operation: u8, root: Option<u64>) {
    out.bytes.push(operation);
    out.short(1);
    match root {
        Some(root) => out.short(root),
        None => out.none(),
    }
    out.short(64);
    out.short(128);
}

/// One of each kind of event.
fn one_of_each(out: &mut Bytewise) {
    out.header();
    out.full(1);
    out.full(28);
    timestamp(out, 1_000);
    out.bytes.extend([12, 0]);
    // Attributes of the next event, which are passed over.
    timestamp(out, 1_500);
    out.record(6, |out| out.bytes.extend([1, 1, 2, 3]));
    out.record(14, message);
    out.record(15, |out| {
        message(out);
        out.short(7);
    });
    out.bytes.push(16);
    out.short(7);
    out.bytes.push(17);
    out.short(8);
    out.record(18, message);
    out.record(19, |out| {
        message(out);
        out.short(8);
    });
    out.bytes.push(20);
    out.short(9);
    out.bytes.push(21);
    out.short(9);
    out.record(22, |_| {});
    out.record(23, |out| collective(out, 1, Some(1)));
    out.record(23, |out| collective(out, 11, None));
    out.record(35, |out| out.short(6));
    for kind in [46, 47] {
        out.record(kind, |out| {
            out.short(6);
            out.short(1);
            out.short(4096);
            out.short(5);
        });
    }
    out.record(49, |out| {
        out.short(6);
        out.short(5);
    });
    out.record(36, |out| out.short(6));
    out.record(85, |out| out.short(10));
    // A field that later versions may append.
    out.record(86, |out| {
        collective(out, 99, Some(u64::from(u32::MAX) - 1));
        out.short(10);
        out.bytes.extend([1, 2, 3]);
    });
    out.record(87, |out| out.short(1));
    out.record(88, |out| out.short(1));
    // Kinds that are not read: with a length, without, and unknown ones.
    out.record(31, |out| out.bytes.extend([1, 2, 3]));
    out.bytes.extend([28, 1, 1]);
    out.record(250, |out| out.bytes.extend([0; 400]));
    // Recording pauses and goes on; the buffer is written until 1,500 local ticks.
    out.record(11, |out| out.bytes.push(2));
    out.record(11, |out| out.bytes.push(1));
    out.record(10, |out| out.full(1_500));
    timestamp(out, 2_000);
    out.bytes.extend([13, 0]);
    out.bytes.push(2);
}

fn read(files: &Files) -> Result<Vec<Event>, TraceError> {
    let anchor = Anchor::read(Cursor::new(&files.anchor), "a.otf2".to_owned())?;
    let definitions =
        Definitions::read(Cursor::new(&files.definitions), "a.def".to_owned(), &anchor)?;
    let local = LocalDefinitions::read(Cursor::new(&files.local), "0.def".to_owned(), &anchor)?;
    let events = Cursor::new(&files.events);
    let location = LocationRef(0);
    EventReader::new(
        events,
        "0.evt".to_owned(),
        &anchor,
        &definitions,
        local,
        location,
    )?
    .collect()
}

#[test]
fn every_kind_of_event_is_read() {
    let transfer = Transfer {
        peer: 1,
        comm: CommRef(4),
        tag: 300,
        size: Bytes(1 << 40),
    };
    let end = |operation, root| EventKind::CollectiveEnd {
        operation,
        comm: CommRef(4),
        root,
        sent: Bytes(64),
        received: Bytes(128),
    };
    let (window, peer, size, id) = (WindowRef(6), 1, Bytes(4096), 5);
    let expected = [
        EventKind::Enter(RegionRef(9)),
        EventKind::Send(transfer),
        EventKind::Isend(transfer, 7),
        EventKind::IsendComplete(7),
        EventKind::IrecvRequest(8),
        EventKind::Recv(transfer),
        EventKind::Irecv(transfer, 8),
        EventKind::RequestTest(9),
        EventKind::RequestCancelled(9),
        EventKind::CollectiveBegin,
        end(Collective::Bcast, Root::Rank(1)),
        end(Collective::Allreduce, Root::None),
        EventKind::WindowCreate(window),
        EventKind::Put {
            window,
            peer,
            size,
            id,
        },
        EventKind::Get {
            window,
            peer,
            size,
            id,
        },
        EventKind::WindowComplete(window, 5),
        EventKind::WindowDestroy(window),
        EventKind::CollectiveRequest(10),
        EventKind::CollectiveComplete {
            operation: Collective::Other(99),
            comm: CommRef(4),
            root: Root::Myself,
            sent: Bytes(64),
            received: Bytes(128),
            request: 10,
        },
        EventKind::CommCreate(CommRef(4)),
        EventKind::CommDestroy(CommRef(4)),
        EventKind::Other(31),
        EventKind::Other(28),
        EventKind::Other(250),
        EventKind::MeasurementOff,
        EventKind::MeasurementOn,
        EventKind::BufferFlush(1_550),
        EventKind::Leave(RegionRef(9)),
    ];
    for big_endian in [false, true] {
        let events = read(&files(big_endian, 28, one_of_each)).unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, expected);
        // The clock deviates by 0 at 1,000 and by 100 at 2,000.
        assert_eq!(events[0].time, 1_000);
        assert_eq!(events[1].time, 1_550);
        assert_eq!(events[27].time, 2_100);
    }
}

/// `count` events in chunks with `per_chunk` events each.
fn chunked(out: &mut Bytewise, count: u64, per_chunk: u64) {
    for first in (1..=count).step_by(per_chunk as usize) {
        let last = (first + per_chunk - 1).min(count);
        let start = out.bytes.len();
        out.header();
        out.full(first);
        out.full(last);
        for event in first..=last {
            timestamp(out, 1_000 + event);
            out.bytes.push(if event % 2 == 1 { 12 } else { 13 });
            out.short(0);
        }
        if last == count {
            out.bytes.push(2);
        } else {
            assert!(out.bytes.len() < start + CHUNK);
            out.bytes.resize(start + CHUNK, 0);
        }
    }
}

#[test]
fn chunks_follow_each_other() {
    let events = read(&files(false, 50_000, |out| chunked(out, 50_000, 20_000))).unwrap();
    assert_eq!(events.len(), 50_000);
    assert!(events.windows(2).all(|pair| pair[0].time < pair[1].time));
}

fn place(files: &Files) -> (String, Position, String) {
    let error = read(files).unwrap_err();
    (error.file, error.position, error.reason)
}

/// File, part of the reason, change that leads to it.
type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Files));

#[test]
fn errors_say_where_and_why() {
    let good = files(false, 28, one_of_each);
    let changed = |change: &dyn Fn(&mut Files)| {
        let mut files = good.clone();
        change(&mut files);
        let (file, position, why) = place(&files);
        assert!(matches!(position, Position::Byte(_)), "{why}");
        (file, why)
    };
    let cases: [Case; 14] = [
        ("a.otf2", "no OTF2 anchor file", &|files| {
            files.anchor[2] = b'X'
        }),
        // Header 2, magic 5, versions 5, then the sizes of chunks.
        ("a.otf2", "chunks of", &|files| files.anchor[14] = 0),
        ("a.otf2", "SION", &|files| files.anchor[28] = 2),
        ("a.otf2", "compression of kind 2", &|files| {
            files.anchor[29] = 2
        }),
        (
            "a.def",
            "15 global definitions, but the anchor file says 14",
            &|files| {
                files.anchor[38] = 14;
            },
        ),
        (
            "a.def",
            "2 locations, but the anchor file says 3",
            &|files| files.anchor[30] = 3,
        ),
        ("a.def", "no byte order", &|files| {
            files.definitions[1] = 0x43
        }),
        ("0.def", "mapping of mode 7", &|files| files.local[23] = 7),
        ("0.evt", "starts with event 2, but 1 is next", &|files| {
            files.events[2] = 2
        }),
        (
            "0.evt",
            "behind event 28, but its header says 29",
            &|files| files.events[10] = 29,
        ),
        ("0.evt", "7 is the kind of no event", &|files| {
            // The first event becomes one whose kind is not in use.
            files.events[27] = 7;
        }),
        ("0.evt", "region", &|files| {
            files.events.splice(28..29, [1, 77]);
        }),
        ("0.evt", "time does not go back", &|files| {
            files.events[30 + 1] = 0
        }),
        ("0.evt", "truncated", &|files| files.events.truncate(60)),
    ];
    for (file, why, change) in cases {
        let (found, reason) = changed(change);
        assert_eq!(found, file, "{reason}");
        assert!(reason.contains(why), "{reason}");
    }
    // The definition of the location counts another number of events.
    let fewer = files(false, 24, one_of_each);
    assert!(
        place(&fewer)
            .2
            .contains("28 events, but the location's definition says 24")
    );
    // A rank that the communicator does not have.
    let mut files = files(false, 1, |out| {
        out.header();
        out.full(1);
        out.full(1);
        timestamp(out, 1_000);
        out.record(14, |out| {
            out.short(2);
            out.short(1);
            out.short(0);
            out.short(0);
        });
        out.bytes.push(2);
    });
    assert!(
        place(&files)
            .2
            .contains("rank 2 of communicator 4, which has 2 ranks")
    );
    // The same event without a time stamp.
    files.events.drain(18..27);
    assert!(place(&files).2.contains("before the first time stamp"));
}

#[test]
fn every_truncation_is_an_error() {
    let good = files(false, 28, one_of_each);
    let lists: [fn(&mut Files) -> &mut Vec<u8>; 4] = [
        |files| &mut files.anchor,
        |files| &mut files.definitions,
        |files| &mut files.local,
        |files| &mut files.events,
    ];
    for list in lists {
        let length = list(&mut good.clone()).len();
        for length in 0..length {
            let mut files = good.clone();
            list(&mut files).truncate(length);
            assert!(read(&files).is_err(), "{length} bytes");
        }
    }
}

#[test]
fn damaged_archives_are_refused_or_read() {
    let good = files(false, 28, one_of_each);
    let parts = |files: &Files| {
        let Files {
            anchor,
            definitions,
            local,
            events,
        } = files.clone();
        [anchor, definitions, local, events]
    };
    let (mut refused, mut all) = (0, 0);
    for (index, seed) in parts(&good).into_iter().enumerate() {
        let other = parts(&good)[(index + 1) % 4].clone();
        let found = attack(&[seed, other], rounds(2_000), start(), |bytes| {
            let mut files = good.clone();
            match index {
                0 => files.anchor = bytes.to_vec(),
                1 => files.definitions = bytes.to_vec(),
                2 => files.local = bytes.to_vec(),
                _ => files.events = bytes.to_vec(),
            }
            read(&files).is_ok()
        });
        refused += found.0;
        all += found.1;
    }
    assert!(refused * 2 > all, "{refused} of {all}");
}
