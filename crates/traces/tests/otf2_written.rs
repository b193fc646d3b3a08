//! Archives that we write are read back as what was written.

use std::path::PathBuf;

use odonata_traces::otf2::{
    Archive, ArchiveWriter, CommRef, Event, EventKind, LocationRef, NewComm, NewDefinitions,
    NewRegion, RegionRef, Transfer,
};
use odonata_units::{Bytes, Picoseconds};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("odonata-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn definitions() -> NewDefinitions {
    let region = |name: &str, role, paradigm| NewRegion {
        name: name.to_owned(),
        role,
        paradigm,
    };
    let comm = |name: &str, members: &[u32]| NewComm {
        name: name.to_owned(),
        members: members.to_vec(),
    };
    NewDefinitions {
        creator: "test".to_owned(),
        ticks_per_second: 1_000_000_000_000,
        processes: ["left 0", "left 1", "right 0"].map(str::to_owned).to_vec(),
        regions: vec![region("compute", 4, 1), region("MPI_Waitall", 28, 4)],
        comms: vec![comm("left", &[0, 1]), comm("right", &[2])],
    }
}

fn transfer(peer: u32, comm: u32) -> Transfer {
    Transfer {
        peer,
        comm: CommRef(comm),
        tag: 70_000,
        size: Bytes(1 << 40),
    }
}

fn read(archive: &Archive, location: u64) -> Vec<Event> {
    let events = archive.events(LocationRef(location)).unwrap();
    events.collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_kind_of_event_comes_back_in_as_many_chunks_as_it_takes() {
    let folder = Folder::new("otf2-written");
    let path = folder.0.join("traces.otf2");
    let mut writer = ArchiveWriter::create(&path, definitions()).unwrap();
    let of = |time, kind| Event { time, kind };
    let kinds = [
        EventKind::Enter(RegionRef(1)),
        EventKind::Isend(transfer(1, 0), 0),
        EventKind::IrecvRequest(u64::MAX - 1),
        EventKind::Send(transfer(1, 0)),
        EventKind::Recv(transfer(0, 0)),
        EventKind::Irecv(transfer(1, 0), 300),
        EventKind::IsendComplete(0),
        EventKind::Leave(RegionRef(1)),
    ];
    // 160,000 events of which pairs share their time, about 1.7 MB: several chunks of 256 KiB.
    let many = (0..20_000).flat_map(|step| kinds.map(move |kind| (step, kind)));
    let many: Vec<Event> = many
        .enumerate()
        .map(|(number, (_, kind))| of(u64::MAX / 2 + number as u64 / 2, kind))
        .collect();
    let few = [
        of(5, EventKind::Enter(RegionRef(0))),
        of(5, EventKind::Leave(RegionRef(0))),
    ];
    writer.location(0, many.iter().copied()).unwrap();
    writer.location(2, few).unwrap();
    writer.finish().unwrap();

    let size = std::fs::metadata(folder.0.join("traces/0.evt"))
        .unwrap()
        .len();
    assert!(size > 1 << 20, "{size} bytes");
    let archive = Archive::open(&path).unwrap();
    assert_eq!(read(&archive, 0), many);
    assert_eq!(read(&archive, 1), []);
    assert_eq!(read(&archive, 2), few);
    let read = archive.definitions();
    // From the first event to the last one.
    let clock = read.clock();
    assert_eq!(clock.start, 5);
    assert_eq!(clock.length, many[many.len() - 1].time - 5);
    // A tick is a picosecond.
    assert_eq!(clock.since_start(12), Some(Picoseconds(7)));
    let names: Vec<_> = read
        .processes()
        .values()
        .map(|of| of.name.as_str())
        .collect();
    assert_eq!(names, ["left 0", "left 1", "right 0"]);
    let regions: Vec<_> = read
        .regions()
        .values()
        .map(|of| (of.name.as_str(), of.role))
        .collect();
    assert_eq!(regions, [("compute", 4), ("MPI_Waitall", 28)]);
    let comms: Vec<_> = read
        .comms()
        .values()
        .map(|of| (of.name.as_str(), of.size))
        .collect();
    assert_eq!(comms, [("left", 2), ("right", 1)]);
}

#[test]
fn definitions_of_many_ranks_take_several_chunks() {
    let folder = Folder::new("otf2-ranks");
    let path = folder.0.join("traces.otf2");
    // A name of 9 MB each, so that no two of them fit into a chunk of 16 MiB.
    let names = ["a", "b", "c"].map(|letter| letter.repeat(9_000_000));
    let definitions = NewDefinitions {
        processes: names.to_vec(),
        ticks_per_second: 1,
        ..NewDefinitions::default()
    };
    ArchiveWriter::create(&path, definitions)
        .unwrap()
        .finish()
        .unwrap();
    let archive = Archive::open(&path).unwrap();
    let read: Vec<_> = archive
        .definitions()
        .processes()
        .values()
        .map(|of| &of.name)
        .collect();
    assert_eq!(read, names.iter().collect::<Vec<_>>());
}

#[test]
fn what_no_reader_would_take_is_refused() {
    let folder = Folder::new("otf2-refused");
    let mut number = 0;
    let mut refusal = |events: &[Event]| {
        number += 1;
        let path = folder.0.join(format!("{number}.otf2"));
        let mut writer = ArchiveWriter::create(&path, definitions()).unwrap();
        writer
            .location(0, events.iter().copied())
            .unwrap_err()
            .to_string()
    };
    let of = |time, kind| Event { time, kind };
    let region = EventKind::Enter(RegionRef(2));
    assert!(refusal(&[of(0, region)]).contains("region 2, which is not defined"));
    let peer = EventKind::Send(transfer(2, 0));
    assert!(refusal(&[of(0, peer)]).contains("rank 2 of communicator 0, which has 2 ranks"));
    let back = EventKind::Enter(RegionRef(0));
    assert!(refusal(&[of(2, back), of(1, back)]).contains("time goes back to 1"));
    assert!(refusal(&[of(0, EventKind::CollectiveBegin)]).contains("not written"));
    let mut wrong = definitions();
    wrong.comms[0].members.push(3);
    let error = ArchiveWriter::create(&folder.0.join("wrong.otf2"), wrong).unwrap_err();
    assert!(error.to_string().contains("has location 3; there are 3"));
    // An archive that was not finished is none.
    assert!(Archive::open(&folder.0.join("1.otf2")).is_err());
    // One that is there is not replaced.
    let path = folder.0.join("1.otf2");
    assert!(ArchiveWriter::create(&path, definitions()).is_err());
}
