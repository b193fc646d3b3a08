//! A real OTF2 archive of ten ranks against what two other readers find in it: the
//! library of the Score-P project, and the replay print of SST/macro.

mod shared;

use std::collections::HashMap;
use std::fmt::Write;

use odonata_traces::otf2::{
    Archive, Clock, Collective, CommRef, EventKind, GroupKind, LocationRef, Root, Transfer,
};
use odonata_units::Picoseconds;
use shared::{contents, data};

fn archive() -> Option<Archive> {
    let path = data("otf2-10ranks/traces.otf2")?;
    Some(Archive::open(&path).unwrap())
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
fn fnv(state: u64, text: &str) -> u64 {
    text.bytes().fold(state, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn number(operation: Collective) -> u8 {
    match operation {
        Collective::Bcast => 1,
        Collective::Gather => 2,
        Collective::Scatter => 4,
        Collective::Allgather => 6,
        Collective::Alltoall => 8,
        Collective::Allreduce => 11,
        Collective::Reduce => 12,
        other => panic!("{other:?} does not occur in this archive"),
    }
}

/// An event as `tools/otf2_reference.py` writes it.
fn line(time: u64, kind: EventKind) -> String {
    let message = |of: Transfer| format!("{} {} {} {}", of.peer, of.comm.0, of.tag, of.size.0);
    let text = match kind {
        EventKind::Enter(region) => format!("Enter {}", region.0),
        EventKind::Leave(region) => format!("Leave {}", region.0),
        EventKind::Isend(of, request) => format!("MpiIsend {} {request}", message(of)),
        EventKind::Irecv(of, request) => format!("MpiIrecv {} {request}", message(of)),
        EventKind::IsendComplete(request) => format!("MpiIsendComplete {request}"),
        EventKind::IrecvRequest(request) => format!("MpiIrecvRequest {request}"),
        EventKind::CollectiveBegin => "MpiCollectiveBegin ".to_owned(),
        EventKind::CollectiveEnd {
            operation,
            comm,
            root,
            sent,
            received,
        } => {
            let root = match root {
                Root::Rank(rank) => rank.to_string(),
                _ => "-".to_owned(),
            };
            let operation = number(operation);
            format!(
                "MpiCollectiveEnd {operation} {} {root} {} {}",
                comm.0, sent.0, received.0
            )
        }
        other => panic!("{other:?} does not occur in this archive"),
    };
    format!("{time} {text}\n")
}

/// Every event and value, by check sum: location, number of events, sum. Written by
/// `tools/otf2_reference.py` with version 3.2 of the library.
const SUMS: [(u64, u64, u64); 10] = [
    (0, 2218, 0xb04be75473603d26),
    (1, 2218, 0xa9ade7d5e012dc84),
    (2, 2218, 0x0cc641496160783d),
    (3, 2218, 0x3ac8414811ca0d36),
    (4, 2218, 0x0405d8e0ad500f0b),
    (5, 2218, 0x366f67abefe3e538),
    (6, 2218, 0x82486cb439fa5bde),
    (7, 2218, 0x240ef7e4d18e4389),
    (8, 2218, 0x3443fc86d6a77eda),
    (9, 2218, 0xc948ed0cf033b90a),
];

#[test]
fn every_event_is_that_of_the_library() {
    let Some(archive) = archive() else { return };
    let mut found = Vec::new();
    for &location in archive.definitions().locations().keys() {
        let mut events = archive.events(location).unwrap();
        let mut sum = 0xcbf2_9ce4_8422_2325;
        while let Some(event) = events.next_event().unwrap() {
            sum = fnv(sum, &line(event.time, event.kind));
        }
        found.push((location.0, events.events(), sum));
    }
    assert_eq!(found, SUMS);
}

#[test]
fn definitions_are_those_of_the_library() {
    let Some(archive) = archive() else { return };
    let anchor = archive.anchor();
    assert_eq!((anchor.locations, anchor.global_definitions), (10, 725));
    assert_eq!(
        (anchor.version, anchor.creator.as_str()),
        ([2, 0, 0], "Score-P 2.0.2")
    );
    assert_eq!(anchor.properties.len(), 5);
    assert_eq!(anchor.properties[0].0, "OTF2::MPI_COMMUNICATION_COMPLETE");
    let definitions = archive.definitions();
    let clock = Clock {
        ticks_per_second: 1_995_386_627,
        start: 3_971_700_851_734_240,
        length: 2_491_054_360,
        start_ns: None,
    };
    assert_eq!(*definitions.clock(), clock);
    // 2,491,054,360 · 10¹² / 1,995,386,627, rounded down.
    let end = clock.since_start(clock.start + clock.length);
    assert_eq!(end, Some(Picoseconds(1_248_406_863_257)));
    assert_eq!(definitions.regions().len(), 277);
    for (id, location) in definitions.locations() {
        assert_eq!((location.kind, location.events), (1, 2_218));
        assert_eq!(location.name, "Master thread");
        let process = &definitions.processes()[&location.process];
        assert_eq!(process.name, format!("MPI Rank {}", id.0));
    }
    let comms: Vec<_> = definitions
        .comms()
        .iter()
        .map(|(id, comm)| (id.0, comm.name.as_str(), comm.groups[0], comm.size))
        .collect();
    let expected = [
        (0, "MPI_COMM_WORLD", 1, 10),
        (1, "", 2, 2),
        (2, "", 3, 2),
        (3, "", 4, 2),
        (4, "", 5, 2),
        (5, "MPI_COMM_SELF", 6, 1),
        (6, "", 6, 1),
        (7, "", 6, 1),
    ];
    assert_eq!(comms, expected);
    let members = |group| {
        let members = definitions.members(group, LocationRef(4)).unwrap();
        members.iter().map(|member| member.0).collect::<Vec<_>>()
    };
    assert_eq!(members(1), (0..10).collect::<Vec<_>>());
    assert_eq!(members(2), [0, 6]);
    assert_eq!(members(5), [3, 9]);
    assert_eq!(members(6), [4]);
    assert_eq!(definitions.groups()[&6].kind, GroupKind::CommSelf);
}

fn comm_name(comm: CommRef) -> String {
    match comm.0 {
        0 => "MPI_COMM_WORLD".to_owned(),
        number => format!("COMM={number}"),
    }
}

/// The calls of a location as SST/macro replays and prints them.
fn replayed(archive: &Archive, location: LocationRef) -> Vec<String> {
    let definitions = archive.definitions();
    let events: Vec<_> = archive
        .events(location)
        .unwrap()
        .map(|event| event.unwrap().kind)
        .collect();
    // A receive is printed where it is posted, with what it received.
    let received: HashMap<u64, Transfer> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::Irecv(of, request) => Some((*request, *of)),
            _ => None,
        })
        .collect();
    let mut calls = vec!["MPI_Init()".to_owned()];
    for (id, group) in definitions.groups() {
        let size = match group.kind {
            GroupKind::CommSelf => 1,
            _ => group.members.len(),
        };
        calls.push(format!("MPI_Group_create_with_id(id={id},n={size})"));
    }
    for (id, comm) in definitions.comms() {
        let group = comm.groups[0];
        let members = definitions.members(group, location).unwrap();
        if members.contains(&location) {
            let id = id.0;
            calls.push(format!(
                "MPI_Comm_create_with_id(MPI_COMM_WORLD,{group},{id})"
            ));
        }
    }
    for event in events {
        match event {
            EventKind::Isend(of, request) => calls.push(format!(
                "MPI_Isend({},MPI_BYTE=2,{},{},{};REQ={request})",
                of.size.0,
                of.peer,
                of.tag,
                comm_name(of.comm)
            )),
            EventKind::IrecvRequest(request) => {
                let of = received[&request];
                let world = definitions
                    .members(definitions.comms()[&of.comm].groups[0], location)
                    .unwrap();
                calls.push(format!(
                    "MPI_Irecv({},MPI_BYTE=2,{}:{},{},{};REQ={request})",
                    of.size.0,
                    of.peer,
                    world[of.peer as usize].0,
                    of.tag,
                    comm_name(of.comm)
                ));
            }
            EventKind::IsendComplete(request) | EventKind::Irecv(_, request) => {
                calls.push(format!("MPI_Wait_nonnull({request})"));
            }
            EventKind::CollectiveEnd {
                operation,
                comm,
                root,
                sent,
                received,
            } => {
                let size = definitions.comms()[&comm].size;
                let mut call = format!("MPI_{operation:?}(");
                // Score-P counts the bytes to and from all ranks; an MPI call
                // names those of one, and of integers their number.
                match operation {
                    Collective::Allreduce => write!(call, "{},MPI_INT=4", received.0 / size / 4),
                    Collective::Reduce => write!(call, "{},MPI_INT=4", sent.0 / 4),
                    Collective::Bcast => write!(call, "{},MPI_BYTE=2", received.0),
                    Collective::Scatter => {
                        write!(call, "{0},MPI_BYTE=2,{0},MPI_BYTE=2", received.0)
                    }
                    Collective::Gather => write!(call, "{0},MPI_BYTE=2,{0},MPI_BYTE=2", sent.0),
                    _ => write!(call, "{0},MPI_BYTE=2,{0},MPI_BYTE=2", received.0 / size),
                }
                .unwrap();
                if let (Root::Rank(root), Collective::Bcast | Collective::Reduce) =
                    (root, operation)
                {
                    write!(call, ",{root}").unwrap();
                }
                if operation != Collective::Scatter {
                    write!(call, ",{}", comm_name(comm)).unwrap();
                }
                calls.push(call + ")");
            }
            _ => {}
        }
    }
    calls.push("MPI_Finalize()".to_owned());
    calls
}

#[test]
fn every_call_is_that_of_sst_macro() {
    let Some(archive) = archive() else { return };
    let Some(print) = data("otf2-10ranks/test_otf2.ref-out") else {
        return;
    };
    let print = String::from_utf8(contents(&print)).unwrap();
    let mut printed: HashMap<u64, Vec<String>> = HashMap::new();
    for line in print.lines() {
        let Some((rank, call)) = line
            .strip_prefix("MPI Rank ")
            .and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let call = call.trim();
        // A call is printed again when it finishes, and a wait twice.
        if !call.ends_with("finished") && call != "MPI_Wait(...)" && !call.contains(") on") {
            let rank = rank.trim().parse().unwrap();
            printed.entry(rank).or_default().push(call.to_owned());
        }
    }
    assert_eq!(printed.len(), 10);
    for &location in archive.definitions().locations().keys() {
        let ours = replayed(&archive, location);
        let theirs = &printed[&location.0];
        for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(ours, theirs, "call {index} of rank {}", location.0);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}
