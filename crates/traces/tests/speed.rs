//! Large files are read record by record: fast enough for replay, and in memory
//! that does not grow with the file.
//!
//! `cargo test --release -p odonata-traces --test speed -- --nocapture` prints
//! what was measured.

use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use odonata_traces::dumpi::{
    Call, Clock, DumpiReader, DumpiWriter, Function, Header, Span, Status, Trailer, Value,
};
use odonata_traces::goal::{
    Action, Condition, Dependency, GoalBinaryReader, GoalBinaryWriter, GoalTextReader,
    GoalTextWriter, Operation, RankNodes, RankSchedule, Tag,
};
use odonata_traces::htsim::ConnectionReader;
use odonata_traces::liballprof::LiballprofJob;
use odonata_traces::otf2::{Anchor, Definitions, EventReader, LocalDefinitions, LocationRef};
use odonata_traces::packets::PacketReader;
use odonata_units::{Bytes, RankId};

/// Records that a replay must be able to read per second: 10 million a minute.
const LEAST_PER_SECOND: f64 = 10e6 / 60.0;
/// Memory that the whole process may take, bytes; the files have 89 MB.
const MOST_MEMORY: u64 = 32 << 20;
/// Records of each file.
const RECORDS: u64 = 400_000;
/// Ranks of the schedules: what is in memory at once is one rank's graph.
const RANKS: u32 = 400;

/// Highest resident memory of this process so far, bytes; `None` where the system
/// does not tell.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("odonata-traces-speed-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn create(&self, name: &str) -> (PathBuf, BufWriter<File>) {
        let path = self.0.join(name);
        let file = BufWriter::new(File::create(&path).unwrap());
        (path, file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Non-blocking messages and waits for them, as in real traces.
fn write_dumpi(out: impl Write) {
    let span = |time: u64| {
        let clock = |time: u64| Clock {
            seconds: (time / 1_000_000) as i32,
            nanoseconds: (time % 1_000_000) as u32 * 1_000,
        };
        Some(Span {
            start: clock(time),
            stop: clock(time + 1),
        })
    };
    let status = Status {
        bytes: 800,
        source: 1,
        ..Status::default()
    };
    let message = |function| {
        let values = [100, 14, 1, 7, 2, 3];
        let values = values
            .iter()
            .enumerate()
            .map(|(index, &value)| match index {
                1 | 4 => Value::Handle(value as u16),
                _ => Value::Int(value),
            });
        Call::with_values(function, values.collect())
    };
    let mut kinds = [
        message(Function::Irecv),
        message(Function::Isend),
        Call::with_values(
            Function::Waitall,
            vec![
                Value::Int(2),
                Value::Ints(vec![2, 3]),
                Value::Statuses(vec![status; 2]),
            ],
        ),
    ];
    let mut writer = DumpiWriter::new(out, 0, 0).unwrap();
    for record in 0..RECORDS {
        let call = &mut kinds[(record % 3) as usize];
        call.cpu = span(record);
        call.wall = span(record);
        writer.push(call).unwrap();
    }
    let header = Header {
        version: [1, 1, 0],
        ..Header::default()
    };
    writer.finish(&header, &Trailer::default()).unwrap();
}

fn schedule(rank: u32) -> RankSchedule {
    let count = RECORDS as u32 / RANKS;
    let operation = |index: u32| Operation {
        action: match index % 3 {
            0 => Action::Calculate { duration: 1_000 },
            1 => Action::Send {
                size: Bytes(4_096),
                to: RankId((rank + 1) % RANKS),
                tag: Tag(index),
            },
            _ => Action::Receive {
                size: Bytes(4_096),
                from: Some(RankId((rank + RANKS - 1) % RANKS)),
                tag: Tag(index - 1),
            },
        },
        cpu: 0,
        nic: 0,
    };
    let edge = |index: u32| {
        let dependency = Dependency {
            on: index - 1,
            condition: Condition::Finished,
        };
        (index, dependency)
    };
    let edges: Vec<_> = (1..count).map(edge).collect();
    RankSchedule::new((0..count).map(operation).collect(), &edges).unwrap()
}

fn write_goal_text(out: impl Write) {
    let mut writer = GoalTextWriter::new(out, RANKS).unwrap();
    (0..RANKS).for_each(|rank| writer.push(&schedule(rank)).unwrap());
    writer.finish().unwrap();
}

fn write_goal_binary(out: impl Write + Seek) {
    let mut writer = GoalBinaryWriter::new(out, RANKS).unwrap();
    (0..RANKS).for_each(|rank| writer.push(&schedule(rank)).unwrap());
    writer.finish().unwrap();
}

const CHUNK: usize = 256 * 1024;

/// Anchor and definitions of an archive with one location and one region.
fn otf2_definitions() -> (Vec<u8>, Vec<u8>) {
    let mut anchor = b"\x03\x42OTF2\0\x03\x03\x03\x02\x00".to_vec();
    for number in [CHUNK as u64, CHUNK as u64] {
        anchor.extend(number.to_le_bytes());
    }
    anchor.extend([1, 1]);
    for number in [1u64, 4] {
        anchor.extend(number.to_le_bytes());
    }
    anchor.extend([0; 3 + 4 + 8 + 8]);
    anchor.push(2);
    let mut definitions = vec![3, 0x42];
    definitions.extend([1u64.to_le_bytes(), [0; 8]].concat());
    // Clock of one tick a second, a process, a location, a region.
    definitions.extend([5, 4, 1, 1, 0, 0]);
    definitions.extend([13, 4, 0, 0xff, 1, 0xff]);
    definitions.extend([14, 4 + 4, 0, 0xff, 1, 3]);
    definitions.extend(&(RECORDS as u32).to_le_bytes()[..3]);
    definitions.push(0);
    definitions.extend([15, 11, 0, 0xff, 0xff, 0, 0xff, 0, 0, 0xff, 1, 4, 0]);
    definitions.push(2);
    (anchor, definitions)
}

fn write_otf2(mut out: impl Write) {
    const EVENT_BYTES: usize = 11;
    let per_chunk = ((CHUNK - 19) / EVENT_BYTES) as u64;
    for first in (1..=RECORDS).step_by(per_chunk as usize) {
        let last = (first + per_chunk - 1).min(RECORDS);
        let mut chunk = vec![3, 0x42];
        chunk.extend(first.to_le_bytes());
        chunk.extend(last.to_le_bytes());
        for event in first..=last {
            chunk.push(5);
            chunk.extend(event.to_le_bytes());
            chunk.extend([12 + (event % 2) as u8, 0]);
        }
        match last == RECORDS {
            true => chunk.push(2),
            false => chunk.resize(CHUNK, 0),
        }
        out.write_all(&chunk).unwrap();
    }
}

fn count_otf2(path: &Path) -> u64 {
    let (anchor, definitions) = otf2_definitions();
    let anchor = Anchor::read(Cursor::new(anchor), "a".to_owned()).unwrap();
    let source = Cursor::new(definitions);
    let definitions = Definitions::read(source, "d".to_owned(), &anchor).unwrap();
    let local = LocalDefinitions::default();
    let file = File::open(path).unwrap();
    let location = LocationRef(0);
    EventReader::new(file, "e".to_owned(), &anchor, &definitions, local, location)
        .unwrap()
        .map(Result::unwrap)
        .count() as u64
}

fn measure(format: &str, path: &Path, read: impl Fn(&Path) -> u64) {
    let started = Instant::now();
    let records = read(path);
    let seconds = started.elapsed().as_secs_f64();
    let rate = records as f64 / seconds;
    let size = std::fs::metadata(path).unwrap().len();
    println!(
        "{format}: {records} records, {:.1} MB in {seconds:.2} s: {:.0} million a minute",
        size as f64 / 1e6,
        rate * 60.0 / 1e6
    );
    assert_eq!(records, RECORDS, "{format}");
    assert!(
        rate > LEAST_PER_SECOND,
        "{format}: {rate:.0} records a second"
    );
}

#[test]
fn ten_million_records_a_minute_in_bounded_memory() {
    let folder = Folder::new();
    let (dumpi, out) = folder.create("dumpi.bin");
    write_dumpi(out);
    let (goal_text, out) = folder.create("schedule.goal");
    write_goal_text(out);
    let (goal_binary, out) = folder.create("schedule.bin");
    write_goal_binary(out);
    let (otf2, out) = folder.create("0.evt");
    write_otf2(out);
    let (packets, mut out) = folder.create("packets.txt");
    for packet in 0..RECORDS {
        let (source, size) = (packet % 1_000 + 1, packet % 1_400 + 64);
        writeln!(
            out,
            "0 {} {source} {} {size}",
            1_475_306_029 + packet / 4,
            1_001 - source
        )
        .unwrap();
    }
    drop(out);
    let (matrix, mut out) = folder.create("matrix.cm");
    writeln!(out, "Nodes 1000\nConnections {RECORDS}").unwrap();
    for flow in 0..RECORDS {
        let (from, to, id) = (flow % 1_000, (flow + 1) % 1_000, flow + 1);
        writeln!(out, "{from}->{to} id {id} start 0 size 2000000").unwrap();
    }
    drop(out);

    let (allprof, mut out) = folder.create("trace-0.txt");
    for call in 0..RECORDS {
        let (start, peer, end) = (3 * call, call % 64, 3 * call + 1);
        let buffer = 140_735_000_539_176_u64;
        writeln!(
            out,
            "MPI_Isend:{start}:{buffer}:100:10,8,8:{peer}:7:6575616,0,64:{buffer}:{end}"
        )
        .unwrap();
    }
    drop(out);

    measure("DUMPI", &dumpi, |path| {
        DumpiReader::open(path).unwrap().map(Result::unwrap).count() as u64
    });
    measure("GOAL text", &goal_text, |path| {
        let ranks = GoalTextReader::open(path).unwrap().map(Result::unwrap);
        ranks.map(|(_, rank)| rank.operations().len() as u64).sum()
    });
    measure("GOAL binary", &goal_binary, |path| {
        let mut reader = GoalBinaryReader::open(path).unwrap();
        let ranks = (0..reader.ranks()).map(|rank| reader.rank(RankId(rank)).unwrap());
        ranks.map(|rank| rank.operations().len() as u64).sum()
    });
    measure("GOAL nodes, all ranks in turn", &goal_binary, |path| {
        let open = |rank| RankNodes::open(path, RankId(rank)).unwrap();
        let mut ranks: Vec<_> = (0..RANKS).map(open).collect();
        let mut read = 0;
        for index in 0..RECORDS as u32 / RANKS {
            for rank in &mut ranks {
                read += u64::from(rank.node(index).unwrap().dependencies <= 1);
            }
        }
        read
    });
    measure("OTF2", &otf2, count_otf2);
    measure("liballprof", &allprof, |path| {
        let mut reader = LiballprofJob::open(path).unwrap().rank(0).unwrap();
        let (mut read, mut bytes) = (0, 0);
        while let Some(call) = reader.next_call().unwrap() {
            read += 1;
            bytes += call.bytes(1, 2).unwrap() + u64::from(call.comm(5).unwrap().size);
        }
        assert_eq!(bytes, RECORDS * 864);
        read
    });
    measure("packets", &packets, |path| {
        PacketReader::open(path)
            .unwrap()
            .map(Result::unwrap)
            .count() as u64
    });
    measure("htsim", &matrix, |path| {
        ConnectionReader::open(path)
            .unwrap()
            .map(Result::unwrap)
            .count() as u64
    });
    if let Some(peak) = peak_memory() {
        println!("peak memory: {:.1} MiB", peak as f64 / (1 << 20) as f64);
        assert!(peak < MOST_MEMORY, "{peak} bytes");
    }
}
