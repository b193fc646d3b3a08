//! OTF2 archives as calls.
//!
//! What a call of MPI did is recorded by events between its entry and its exit. Facts:
//! OTF2 3.2, `OTF2_Events`; bytes of collectives: Score-P, which counts what a rank
//! sends to and receives from all ranks of the communicator, itself included.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use odonata_traces::otf2::{
    Archive, Clock, Collective, CommRef, Definitions, Event, EventKind, EventReader, GroupKind,
    LocationRef, RegionRef, Root, Transfer, WindowRef,
};
use odonata_traces::{Position, ReopenedFile, TraceError};
use odonata_units::Bytes;

use super::call::{
    Call, Calls, Defined, Direction, Marker, Message, Outcome, Place, Record, RequestNumber, Shape,
    Slot, Source, Span, Until, Visit,
};
use super::format::{Counter, Start, TraceFormat};
use super::{Kind, Options};

/// Number of MPI among the programming models.
const MPI: u8 = 4;

/// Non-blocking collectives, which Score-P before version 7 records without
/// communicator and size.
const BARE: [&str; 20] = [
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Igather",
    "MPI_Igatherv",
    "MPI_Iscatter",
    "MPI_Iscatterv",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Ialltoallw",
    "MPI_Ireduce",
    "MPI_Iallreduce",
    "MPI_Ireduce_scatter",
    "MPI_Ireduce_scatter_block",
    "MPI_Iscan",
    "MPI_Iexscan",
    "MPI_Ineighbor_allgather",
    "MPI_Ineighbor_alltoall",
    "MPI_Ineighbor_alltoallv",
];

/// What a function of MPI is to a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// Sends from a buffer of its own.
    Buffered,
    /// Time in it is that of messages, even without an event.
    Communicates,
    /// A collective that leaves no event.
    Bare(&'static str),
    /// Ends one-sided transfers; whether ranks also wait for each other.
    EndsTransfers(bool),
    /// Concerns the rank alone, unless there are events.
    Other,
}

impl Function {
    fn of(name: &str) -> Self {
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if name == "MPI_Bsend" {
            Self::Buffered
        } else if let Some(name) = BARE.iter().find(|bare| **bare == name) {
            Self::Bare(name)
        } else if starts(&["MPI_Win_fence", "MPI_Win_free"]) {
            Self::EndsTransfers(true)
        } else if starts(&["MPI_Win_unlock", "MPI_Win_complete", "MPI_Win_flush"]) {
            Self::EndsTransfers(false)
        } else if starts(&[
            "MPI_Init",
            "MPI_Finalize",
            "MPI_Wait",
            "MPI_Test",
            "MPI_Probe",
            "MPI_Iprobe",
            "MPI_Mprobe",
            "MPI_Improbe",
            "MPI_Comm_dup",
            "MPI_Comm_split",
            "MPI_Comm_create",
            "MPI_Cart_create",
            "MPI_Cart_sub",
            "MPI_Graph_create",
            "MPI_Win_create",
        ]) {
            Self::Communicates
        } else {
            Self::Other
        }
    }
}

/// An archive of OTF2, a rank per process of MPI.
pub(crate) struct Otf2Source {
    archive: Archive,
    path: String,
    /// Location of each rank.
    locations: Vec<LocationRef>,
    functions: HashMap<RegionRef, Function>,
    slots: HashMap<CommRef, Slot>,
    /// The ranks of each communicator by slot, from the first that is neither world
    /// nor self; `None`: the calling rank only.
    members: Vec<Option<Box<[u32]>>>,
    /// Communicators between two groups.
    between: Vec<bool>,
}

impl Otf2Source {
    /// Opens an archive.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let archive = Archive::open(path)?;
        let file = path.display().to_string();
        let fail = |reason: String| TraceError::new(&file, Position::Whole, reason);
        let definitions = archive.definitions();
        let world = definitions
            .groups()
            .values()
            .find(|group| group.kind == GroupKind::CommLocations && group.paradigm == MPI)
            .ok_or_else(|| {
                fail("defines no ranks of MPI (a group of communicating locations)".to_owned())
            })?;
        let locations: Vec<LocationRef> = world.members.iter().copied().map(LocationRef).collect();
        if locations.is_empty() || u32::try_from(locations.len()).is_err() {
            return Err(fail(format!("defines {} ranks of MPI", locations.len())));
        }
        let mut rank_of = HashMap::new();
        for (rank, &location) in locations.iter().enumerate() {
            if rank_of.insert(location, rank as u32).is_some() {
                return Err(fail(format!("location {} is two ranks of MPI", location.0)));
            }
        }
        let mut slots = HashMap::new();
        let (mut members, mut between) = (Vec::new(), Vec::new());
        for (index, (&id, comm)) in definitions.comms().iter().enumerate() {
            slots.insert(id, Slot(index as u32 + 2));
            let group = comm.groups.first().copied().unwrap_or_default();
            let own = definitions.groups().get(&group);
            between.push(comm.groups.len() != 1);
            if own.is_some_and(|group| group.kind == GroupKind::CommSelf) {
                members.push(None);
                continue;
            }
            // Groups of other programming models have members that are no ranks;
            // a use of them reports it then.
            let of = definitions
                .members(group, LocationRef(0))
                .unwrap_or_default();
            let ranks: Option<Vec<u32>> = of.iter().map(|of| rank_of.get(of).copied()).collect();
            members.push(Some(ranks.unwrap_or_default().into()));
        }
        let regions = definitions.regions().iter();
        let functions = regions.filter(|(_, region)| {
            region.paradigm == MPI || (region.paradigm == 0 && region.name.starts_with("MPI_"))
        });
        let functions = functions.map(|(&id, region)| (id, Function::of(&region.name)));
        Ok(Self {
            functions: functions.collect(),
            path: file,
            locations,
            slots,
            members,
            between,
            archive,
        })
    }
}

impl Source for Otf2Source {
    fn ranks(&self) -> u32 {
        self.locations.len() as u32
    }

    fn calls(&self, rank: u32, outcomes: bool) -> Result<Box<dyn Calls + '_>, TraceError> {
        let location = self.locations[rank as usize];
        let events = self.archive.definitions().locations().get(&location);
        // A location without events need not have a file.
        let reader = match events.map_or(0, |location| location.events) {
            0 => None,
            _ => Some(self.archive.events(location)?),
        };
        let folder = Path::new(&self.path).with_extension("");
        Ok(Box::new(Otf2Calls {
            source: self,
            rank,
            file: folder
                .join(format!("{}.evt", location.0))
                .display()
                .to_string(),
            reader,
            outcomes,
            clock: *self.archive.definitions().clock(),
            inside: Vec::new(),
            entered: 0,
            blocking: Vec::new(),
            completed: Vec::new(),
            paused: None,
            interrupted: false,
            is_incomplete: false,
        }))
    }

    /// Times count from the start of the archive's clock.
    fn start(&self) -> Result<i64, TraceError> {
        Ok(0)
    }

    fn visits(
        &self,
        rank: u32,
        function: &str,
        each: &mut dyn FnMut(Visit),
    ) -> Result<(), TraceError> {
        let definitions = self.archive.definitions();
        let named = definitions.regions().iter();
        let named = named.filter(|(_, of)| of.name == function || of.canonical_name == function);
        let regions: HashSet<RegionRef> = named.map(|(&id, _)| id).collect();
        let location = self.locations[rank as usize];
        let events = definitions.locations().get(&location);
        if regions.is_empty() || events.is_none_or(|location| location.events == 0) {
            return Ok(());
        }
        let mut reader = self.archive.events(location)?;
        let (mut depth, mut entered) = (0u32, None);
        while let Some(event) = reader.next_event()? {
            let (region, enters) = match event.kind {
                EventKind::Enter(region) => (region, true),
                EventKind::Leave(region) => (region, false),
                _ => continue,
            };
            if !regions.contains(&region) {
                continue;
            }
            let time = picoseconds(definitions.clock(), event.time).map_err(|reason| {
                TraceError::new(
                    &self.path,
                    Position::Whole,
                    format!("rank {rank}: {reason}"),
                )
            })?;
            let place = Place {
                at: reader.events(),
                time: Some(time),
            };
            match (enters, depth) {
                (true, 0) => entered = Some(place),
                (false, 1) => {
                    if let Some(entered) = entered.take() {
                        each(Visit {
                            entered,
                            left: place,
                        });
                    }
                }
                _ => {}
            }
            depth = match enters {
                true => depth.saturating_add(1),
                false => depth.saturating_sub(1),
            };
        }
        if let Some(entered) = entered {
            each(Visit {
                entered,
                left: Place::END,
            });
        }
        Ok(())
    }

    fn functions(&self) -> Result<Vec<String>, TraceError> {
        let regions = self.archive.definitions().regions();
        let own = regions
            .iter()
            .filter(|(id, _)| !self.functions.contains_key(id));
        let mut names: Vec<String> = own.map(|(_, region)| region.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn markers(&self) -> Result<Vec<Marker>, TraceError> {
        let clock = self.archive.definitions().clock();
        let markers = self.archive.markers()?.into_iter().map(|marker| {
            let ends = marker.time.saturating_add(marker.duration);
            Ok(Marker {
                begins: picoseconds(clock, marker.time)?,
                ends: picoseconds(clock, ends)?,
                names: vec![marker.text, marker.category],
            })
        });
        markers.collect::<Result<_, String>>().map_err(|reason| {
            TraceError::new(
                &self.path,
                Position::Whole,
                format!("a marker has {reason}"),
            )
        })
    }

    fn defined(&self) -> Option<Defined> {
        Some(Defined {
            members: self.members.clone(),
        })
    }
}

/// The calls of one rank.
struct Otf2Calls<'a> {
    source: &'a Otf2Source,
    rank: u32,
    file: String,
    reader: Option<EventReader<'a, ReopenedFile>>,
    outcomes: bool,
    clock: Clock,
    /// Functions of MPI that are entered and not left; they may call each other.
    inside: Vec<RegionRef>,
    entered: i64,
    /// Messages of the function at hand that it waits for.
    blocking: Vec<Message>,
    completed: Vec<RequestNumber>,
    /// Since when recording is off.
    paused: Option<i64>,
    /// Whether the function at hand was interrupted by the recorder, so that the time in
    /// it is not the rank's own.
    interrupted: bool,
    /// Whether recording was off at some time, so that calls are missing.
    is_incomplete: bool,
}

impl Calls for Otf2Calls<'_> {
    fn next(&mut self, calls: &mut Vec<Call>) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(reader) = &mut self.reader else {
                return Ok(None);
            };
            let Some(event) = reader.next_event()? else {
                return match self.inside.is_empty() {
                    true => Ok(None),
                    false => Err(self.error_at(
                        self.events(),
                        "the trace ends within a function of MPI".to_owned(),
                    )),
                };
            };
            let at = reader.events();
            let time = self
                .time(event.time)
                .map_err(|reason| self.error_at(at, reason))?;
            let record = self
                .event(event.kind, time, calls)
                .map_err(|reason| self.error_at(at, reason))?;
            if let Some((span, local)) = record {
                return Ok(Some(Record {
                    at,
                    span: Some(span),
                    local,
                }));
            }
        }
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn cancels(&self) -> bool {
        false
    }

    fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Events have no place that a person could look at; they are counted.
    fn error_at(&self, at: u64, reason: String) -> TraceError {
        TraceError::new(&self.file, Position::Whole, format!("event {at}: {reason}"))
    }
}

/// Picoseconds from the start of a trace.
fn picoseconds(clock: &Clock, ticks: u64) -> Result<i64, String> {
    let since = i128::from(ticks) - i128::from(clock.start);
    let resolution = i128::from(clock.ticks_per_second.max(1));
    i64::try_from(since * 1_000_000_000_000 / resolution)
        .map_err(|_| format!("time stamp {ticks}, more than 106 days from the trace's start"))
}

impl Otf2Calls<'_> {
    fn events(&self) -> u64 {
        self.reader.as_ref().map_or(0, EventReader::events)
    }

    /// Picoseconds since the trace's start.
    fn time(&self, ticks: u64) -> Result<i64, String> {
        picoseconds(&self.clock, ticks)
    }

    /// A time in which the rank did what the trace does not tell; `None` in a function of
    /// MPI, whose time does not count anyway.
    fn unrecorded(
        &mut self,
        entered: i64,
        left: i64,
        calls: &mut Vec<Call>,
    ) -> Option<(Span, bool)> {
        if !self.inside.is_empty() {
            self.interrupted = true;
            return None;
        }
        calls.push(Call::Unrecorded);
        Some((Span { entered, left }, false))
    }

    fn slot(&self, comm: CommRef) -> Result<Slot, String> {
        let slot = self.source.slots.get(&comm).copied();
        let slot = slot.ok_or_else(|| format!("communicator {}, which is not defined", comm.0))?;
        match self.source.between[slot.0 as usize - 2] {
            false => Ok(slot),
            true => Err(format!(
                "communicator {}, which is between two groups; such are not replayed",
                comm.0
            )),
        }
    }

    /// Members of a communicator, and which of them the rank is.
    fn place(&self, slot: Slot) -> Result<(u64, u64), String> {
        match &self.source.members[slot.0 as usize - 2] {
            None => Ok((1, 0)),
            Some(ranks) => {
                let me = ranks.iter().position(|&rank| rank == self.rank);
                let me = me.ok_or_else(|| {
                    format!(
                        "a collective of others, of which rank {} is none",
                        self.rank
                    )
                })?;
                Ok((ranks.len() as u64, me as u64))
            }
        }
    }

    fn event(
        &mut self,
        event: EventKind,
        time: i64,
        calls: &mut Vec<Call>,
    ) -> Result<Option<(Span, bool)>, String> {
        match event {
            EventKind::Enter(region) => {
                self.enter(region, time)?;
                Ok(None)
            }
            EventKind::Leave(region) => self.leave(region, time, calls),
            EventKind::MeasurementOff => {
                self.is_incomplete = true;
                self.paused = self.paused.or(Some(time));
                Ok(None)
            }
            EventKind::MeasurementOn => Ok(match self.paused.take() {
                Some(paused) => self.unrecorded(paused, time, calls),
                None => None,
            }),
            EventKind::BufferFlush(until) => {
                let until = self.time(until)?.max(time);
                Ok(self.unrecorded(time, until, calls))
            }
            event => {
                if !self.communicates(event, calls)? || !self.inside.is_empty() {
                    return Ok(None);
                }
                // Outside of any function: a step of its own.
                self.take_calls(Function::Communicates, calls);
                let span = Span {
                    entered: time,
                    left: time,
                };
                Ok(Some((span, false)))
            }
        }
    }

    fn enter(&mut self, region: RegionRef, time: i64) -> Result<(), String> {
        if !self.source.functions.contains_key(&region) {
            return Ok(());
        }
        if self.inside.is_empty() {
            self.entered = time;
        }
        // A damaged trace may enter again and again.
        if self.inside.len() >= 64 {
            return Err("functions of MPI call each other 64 deep".to_owned());
        }
        self.inside.push(region);
        Ok(())
    }

    fn leave(
        &mut self,
        region: RegionRef,
        time: i64,
        calls: &mut Vec<Call>,
    ) -> Result<Option<(Span, bool)>, String> {
        let Some(&function) = self.source.functions.get(&region) else {
            return Ok(None);
        };
        if self.inside.pop() != Some(region) {
            return Err("a function of MPI is left that was not entered last".to_owned());
        }
        if !self.inside.is_empty() {
            return Ok(None);
        }
        let local = self.take_calls(function, calls) && !self.interrupted;
        self.interrupted = false;
        let span = Span {
            entered: self.entered,
            left: time,
        };
        Ok(Some((span, local)))
    }

    /// Notes what an event says of the communication of the function that the rank is in; whether
    /// it says anything.
    fn communicates(&mut self, event: EventKind, calls: &mut Vec<Call>) -> Result<bool, String> {
        match event {
            EventKind::Send(of) => self.blocking.push(self.send(of)?),
            EventKind::Recv(of) => self.blocking.push(Message::Receive {
                comm: self.slot(of.comm)?,
                from: Some(of.peer),
                tag: Some(of.tag),
            }),
            EventKind::Isend(of, request) => {
                calls.push(Call::Message(self.send(of)?, Until::Requested(request)));
            }
            EventKind::IrecvRequest(request) => {
                calls.push(Call::Message(Message::Unknown, Until::Requested(request)));
            }
            EventKind::Irecv(of, request) => {
                let outcome = Outcome::Message {
                    comm: Some(self.slot(of.comm)?),
                    from: Some(of.peer),
                    tag: Some(of.tag),
                };
                if self.outcomes {
                    calls.push(Call::Outcome(request, outcome));
                }
                self.completed.push(request);
            }
            EventKind::IsendComplete(request) | EventKind::RequestCancelled(request) => {
                self.completed.push(request);
            }
            EventKind::CollectiveEnd {
                operation,
                comm,
                root,
                sent,
                received,
            } => {
                let (comm, shape) = self.shape(operation, comm, root, sent, received)?;
                calls.push(Call::Collective {
                    comm,
                    shape,
                    request: None,
                });
            }
            EventKind::CollectiveRequest(request) => calls.push(Call::Collective {
                comm: Slot::WORLD,
                shape: Shape::Unknown,
                request: Some(request),
            }),
            EventKind::CollectiveComplete {
                operation,
                comm,
                root,
                sent,
                received,
                request,
            } => {
                if self.outcomes {
                    let (comm, shape) = self.shape(operation, comm, root, sent, received)?;
                    calls.push(Call::Outcome(request, Outcome::Collective(comm, shape)));
                }
                self.completed.push(request);
            }
            EventKind::Put {
                window, peer, size, ..
            } => calls.push(self.transfer(Direction::Put, window, peer, size)?),
            EventKind::Get {
                window, peer, size, ..
            } => calls.push(self.transfer(Direction::Get, window, peer, size)?),
            EventKind::WindowComplete(window, _) => {
                calls.push(Call::CompleteTransfers(Some(window.0)));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The calls of a function of MPI that returns; whether the time in it is the rank's own.
    fn take_calls(&mut self, function: Function, calls: &mut Vec<Call>) -> bool {
        match self.blocking.as_slice() {
            [a @ Message::Send { .. }, b @ Message::Receive { .. }]
            | [b @ Message::Receive { .. }, a @ Message::Send { .. }] => {
                calls.push(Call::Exchange(*a, *b));
            }
            messages => {
                let until = match function {
                    Function::Buffered => Until::Buffered,
                    _ => Until::Complete,
                };
                calls.extend(
                    messages
                        .iter()
                        .map(|&message| Call::Message(message, until)),
                );
            }
        }
        self.blocking.clear();
        if !self.completed.is_empty() {
            calls.push(Call::Complete(std::mem::take(&mut self.completed).into()));
        }
        match function {
            Function::Bare(name) => {
                if calls.is_empty() {
                    calls.push(Call::NotReplayed(name));
                }
                false
            }
            Function::EndsTransfers(together) => {
                calls.push(Call::CompleteTransfers(None));
                if together {
                    calls.push(Call::NotReplayed(
                        "waiting of ranks for each other at a fence",
                    ));
                }
                false
            }
            Function::Buffered | Function::Communicates => false,
            Function::Other => calls.is_empty(),
        }
    }

    fn send(&self, of: Transfer) -> Result<Message, String> {
        Ok(Message::Send {
            comm: self.slot(of.comm)?,
            to: of.peer,
            bytes: of.size.0,
            tag: of.tag,
        })
    }

    fn transfer(
        &self,
        direction: Direction,
        window: WindowRef,
        peer: u32,
        size: Bytes,
    ) -> Result<Call, String> {
        let known = self.source.archive.definitions().windows().get(&window);
        let comm = known.ok_or_else(|| format!("window {}, which is not defined", window.0))?;
        Ok(Call::Transfer {
            direction,
            comm: self.slot(comm.comm)?,
            member: peer,
            bytes: size.0,
            window: window.0,
        })
    }

    /// A collective of its bytes. Sizes that members have of their own are told as
    /// sums only; they are taken for equal shares.
    fn shape(
        &self,
        operation: Collective,
        comm: CommRef,
        root: Root,
        sent: Bytes,
        received: Bytes,
    ) -> Result<(Slot, Shape), String> {
        let slot = self.slot(comm)?;
        let (size, me) = self.place(slot)?;
        let (sent, received) = (sent.0, received.0);
        // With data in place a rank does not count itself.
        let share = |bytes: u64| match bytes {
            bytes if bytes.is_multiple_of(size) => bytes / size,
            bytes if size > 1 && bytes.is_multiple_of(size - 1) => bytes / (size - 1),
            bytes => bytes.div_ceil(size),
        };
        let equal = |bytes: u64| -> Box<[u64]> { vec![bytes; size as usize].into() };
        let root = || match root {
            Root::Rank(root) => Ok(root),
            _ => Err(format!("{operation:?} without a root")),
        };
        let shape = match operation {
            Collective::Barrier => Shape::Barrier,
            Collective::Bcast => Shape::Broadcast {
                root: root()?,
                bytes: received,
            },
            Collective::Gather => Shape::Gather {
                root: root()?,
                bytes: sent,
            },
            Collective::Gatherv => Shape::GatherVarying {
                root: root()?,
                mine: sent.max(1),
                all: Some(equal(share(received).max(1))),
            },
            Collective::Scatter => Shape::Scatter {
                root: root()?,
                bytes: received,
            },
            Collective::Scatterv => Shape::ScatterVarying {
                root: root()?,
                mine: received.max(1),
                all: Some(equal(share(sent).max(1))),
            },
            Collective::Allgather => Shape::Allgather {
                bytes: share(received),
            },
            Collective::Allgatherv => Shape::AllgatherVarying {
                all: equal(received.div_ceil(size)),
            },
            Collective::Alltoall => Shape::Alltoall {
                bytes: share(received),
            },
            Collective::Alltoallv | Collective::Alltoallw => Shape::AlltoallVarying {
                sent: equal(sent.div_ceil(size).max(1)),
                received: equal(received.div_ceil(size).max(1)),
                exact: false,
            },
            Collective::Allreduce => Shape::Allreduce {
                bytes: share(received),
            },
            Collective::Reduce => Shape::Reduce {
                root: root()?,
                bytes: sent,
            },
            Collective::ReduceScatter | Collective::ReduceScatterBlock => Shape::ReduceScatter {
                all: equal(sent.div_ceil(size)),
            },
            Collective::Scan => Shape::Scan {
                bytes: received / (me + 1),
            },
            Collective::Exscan => Shape::ExclusiveScan {
                bytes: match me {
                    0 => sent / (size - 1).max(1),
                    _ => received / me,
                },
            },
            Collective::Other(number) => {
                return Err(format!("collective {number}, which is not replayed"));
            }
        };
        Ok((slot, shape))
    }
}

/// Archives, by their anchor file.
pub(in crate::replay) struct Otf2;

impl TraceFormat for Otf2 {
    const IS_MPI: bool = true;

    fn recognises(start: &Start<'_>) -> bool {
        start.bytes.get(2..7) == Some(b"OTF2\0")
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let archive = Archive::open(path)?;
        let definitions = archive.definitions();
        counter.summary.ranks = definitions.locations().len() as u64;
        counter.fact("written by", archive.anchor().creator.clone());
        counter.fact("communicators", definitions.comms().len());
        let clock = definitions.clock();
        let seconds = clock.length as f64 / clock.ticks_per_second as f64;
        counter.fact("duration", format!("{seconds:.6} s"));
        let markers = archive.markers()?;
        if !markers.is_empty() {
            counter.fact("markers", markers.len());
        }
        for (location, of) in definitions.locations() {
            if of.events == 0 {
                continue;
            }
            let mut events = archive.events(*location)?;
            while let Some(event) = events.next_event()? {
                let (kind, bytes) = kind_of(&event, definitions);
                counter.add(&kind, bytes, || {
                    format!("location {}: {} {:?}", location.0, event.time, event.kind)
                });
            }
        }
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        Kind::mpi(Otf2Source::open(path)?, options)
    }

    fn other_files(path: &Path) -> Vec<PathBuf> {
        let Ok(archive) = Archive::open(path) else {
            return Vec::new();
        };
        let mut files = vec![path.with_extension("def")];
        files.extend(Some(path.with_extension("marker")).filter(|file| file.exists()));
        let folder = path.with_extension("");
        for location in archive.definitions().locations().keys() {
            let of = ["evt", "def"].map(|end| folder.join(format!("{}.{end}", location.0)));
            files.extend(of.into_iter().filter(|file| file.exists()));
        }
        files
    }
}

/// What an event counts as, and the bytes that it sends.
fn kind_of(event: &Event, definitions: &Definitions) -> (String, u64) {
    let kind = match &event.kind {
        EventKind::Enter(region) => {
            let region = definitions.regions().get(region);
            return (region.map_or("Enter", |region| &region.name).to_owned(), 0);
        }
        EventKind::CollectiveEnd { operation, .. } => return (format!("{operation:?}"), 0),
        EventKind::Send(of) | EventKind::Isend(of, _) => return ("send".to_owned(), of.size.0),
        EventKind::Put { size, .. } => return ("put".to_owned(), size.0),
        EventKind::Get { .. } => "get",
        EventKind::Leave(_) => "(leave)",
        EventKind::Recv(_) | EventKind::Irecv(..) => "receive",
        EventKind::IrecvRequest(_) => "receive posted",
        EventKind::IsendComplete(_) => "send completed",
        EventKind::CollectiveBegin => "(collective begins)",
        EventKind::MeasurementOn => "(recording on)",
        EventKind::MeasurementOff => "(recording off)",
        EventKind::BufferFlush(_) => "(buffer written)",
        EventKind::CollectiveComplete { operation, .. } => {
            return (format!("{operation:?} (non-blocking)"), 0);
        }
        _ => "(other)",
    };
    (kind.to_owned(), 0)
}
