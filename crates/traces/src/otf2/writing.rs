//! Writing of archives.
//!
//! The files are those of OTF2 3.2, little-endian, in plain files: all locations are ranks of
//! MPI, each in a process of its own. What is written is what [`super::Archive`] reads.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::chunks::{CHUNK_HEADER, END_OF_CHUNK, END_OF_FILE, LITTLE_ENDIAN};
use super::definitions::kind as definition;
use super::events::{Event, EventKind, TIMESTAMP, Transfer};

/// Size of a chunk of events, bytes; the least that OTF2 allows.
const EVENT_CHUNK: usize = 256 * 1024;
/// Size of a chunk of global definitions, bytes: a record must fit into one, and the one that
/// lists all ranks is the longest.
const DEFINITION_CHUNK: usize = 16 * 1024 * 1024;
/// Most bytes of a time stamp and the event behind it.
const LONGEST_EVENT: usize = 64;

/// A place in the machine, such as a node: here the machine itself.
const SYSTEM_TREE_NODE: u8 = 12;
/// Kinds of groups, and MPI among the programming models.
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;
const MPI: u8 = 4;

/// A region of an archive to be written; numbered from 0 in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRegion {
    /// Name.
    pub name: String,
    /// What it does, as `OTF2_RegionRole` numbers it.
    pub role: u8,
    /// Programming model that it belongs to, as `OTF2_Paradigm` numbers it; 4 is MPI.
    pub paradigm: u8,
}

/// A communicator of an archive to be written; numbered from 0 in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewComm {
    /// Name.
    pub name: String,
    /// Its members: locations, in the order of their ranks.
    pub members: Vec<u32>,
}

/// What the numbers in events to be written stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewDefinitions {
    /// Program that writes.
    pub creator: String,
    /// Ticks of the clock per second.
    pub ticks_per_second: u64,
    /// Name of the process of each location.
    pub processes: Vec<String>,
    /// Regions.
    pub regions: Vec<NewRegion>,
    /// Communicators.
    pub comms: Vec<NewComm>,
}

/// An archive that is being written. Its anchor file comes last: without it, it is no archive.
#[derive(Debug)]
pub struct ArchiveWriter {
    definitions: NewDefinitions,
    path: PathBuf,
    /// Events of each location.
    counts: Vec<u64>,
    /// Time of the first and last event.
    times: Option<(u64, u64)>,
}

impl ArchiveWriter {
    /// Begins an archive whose anchor file (`NAME.otf2`) will be `path`; makes the folder `NAME`
    /// beside it.
    ///
    /// # Errors
    /// If the folder exists or cannot be made, or a communicator has a member that is no location.
    pub fn create(path: &Path, definitions: NewDefinitions) -> io::Result<Self> {
        let locations = definitions.processes.len();
        for comm in &definitions.comms {
            if let Some(member) = comm.members.iter().find(|&&m| m as usize >= locations) {
                let name = &comm.name;
                return Err(refused(format!(
                    "communicator {name:?} has location {member}; there are {locations}"
                )));
            }
        }
        fs::create_dir(path.with_extension(""))?;
        Ok(Self {
            counts: vec![0; locations],
            definitions,
            path: path.to_owned(),
            times: None,
        })
    }

    /// Writes the events of a location, in the order of their time. A location whose events are
    /// not written has none.
    ///
    /// # Errors
    /// If a file cannot be written, time goes back, something is not defined, or events are of
    /// other kinds than regions, messages and their requests.
    pub fn location(
        &mut self,
        location: u32,
        events: impl IntoIterator<Item = Event>,
    ) -> io::Result<()> {
        if location as usize >= self.counts.len() {
            let locations = self.counts.len();
            return Err(refused(format!(
                "location {location}; there are {locations}"
            )));
        }
        let mut file = Chunks::new(self.file(location, "evt"), EVENT_CHUNK)?;
        let mut record = Bytes::default();
        let (mut last, mut count) = (None, 0);
        for event in events {
            if last.is_some_and(|last| last > event.time) {
                let time = event.time;
                return Err(refused(format!(
                    "location {location}: time goes back to {time}"
                )));
            }
            let fresh = file.make_room(LONGEST_EVENT, count)?;
            record.0.clear();
            if fresh || last != Some(event.time) {
                record.byte(TIMESTAMP);
                record.full(event.time);
            }
            self.event(&mut record, event.kind)
                .map_err(|reason| refused(format!("location {location}: {reason}")))?;
            file.add(&record.0);
            last = Some(event.time);
            count += 1;
            let (first, end) = self.times.unwrap_or((event.time, event.time));
            self.times = Some((first.min(event.time), end.max(event.time)));
        }
        self.counts[location as usize] = count;
        file.finish(count)
    }

    /// Writes definitions and the anchor file.
    ///
    /// # Errors
    /// If a file cannot be written, or there are too many ranks for a definition: some millions.
    pub fn finish(self) -> io::Result<()> {
        for location in 0..self.counts.len() as u32 {
            Chunks::new(self.file(location, "def"), DEFINITION_CHUNK)?.finish(0)?;
            if self.counts[location as usize] == 0 {
                Chunks::new(self.file(location, "evt"), EVENT_CHUNK)?.finish(0)?;
            }
        }
        let mut file = Chunks::new(self.path.with_extension("def"), DEFINITION_CHUNK)?;
        let records = self.definition_records();
        for record in &records {
            if record.len() + HEADER + 1 > DEFINITION_CHUNK {
                return Err(refused("too many ranks for one definition".to_owned()));
            }
            file.make_room(record.len(), 0)?;
            file.add(record);
        }
        file.finish(0)?;
        let mut anchor = Bytes::default();
        anchor.byte(CHUNK_HEADER);
        anchor.byte(LITTLE_ENDIAN);
        anchor.text("OTF2");
        // Formats of this file and of the others, and the version that has them.
        for byte in [3, 2, 3, 2, 0] {
            anchor.byte(byte);
        }
        anchor.full(EVENT_CHUNK as u64);
        anchor.full(DEFINITION_CHUNK as u64);
        // Plain files, not compressed.
        anchor.byte(1);
        anchor.byte(1);
        anchor.full(self.counts.len() as u64);
        anchor.full(records.len() as u64);
        anchor.text("");
        anchor.text(&self.definitions.creator);
        anchor.text("");
        // No properties; a number that is the same for equal archives; no snapshots, no thumbnails.
        for bytes in [&0u32.to_le_bytes()[..], &0u64.to_le_bytes(), &[0; 8]] {
            anchor.0.extend_from_slice(bytes);
        }
        anchor.byte(END_OF_FILE);
        File::create_new(&self.path)?.write_all(&anchor.0)
    }

    fn file(&self, location: u32, ending: &str) -> PathBuf {
        self.path
            .with_extension("")
            .join(format!("{location}.{ending}"))
    }

    fn event(&self, out: &mut Bytes, kind: EventKind) -> Result<(), String> {
        match kind {
            EventKind::Enter(region) | EventKind::Leave(region) => {
                if region.0 as usize >= self.definitions.regions.len() {
                    return Err(format!("region {}, which is not defined", region.0));
                }
                out.byte(if matches!(kind, EventKind::Enter(_)) {
                    12
                } else {
                    13
                });
                out.short(region.0.into());
            }
            EventKind::Send(of) => self.message(out, 14, of, None)?,
            EventKind::Isend(of, request) => self.message(out, 15, of, Some(request))?,
            EventKind::IsendComplete(request) => {
                out.byte(16);
                out.short(request);
            }
            EventKind::IrecvRequest(request) => {
                out.byte(17);
                out.short(request);
            }
            EventKind::Recv(of) => self.message(out, 18, of, None)?,
            EventKind::Irecv(of, request) => self.message(out, 19, of, Some(request))?,
            other => return Err(format!("events such as {other:?} are not written")),
        }
        Ok(())
    }

    fn message(
        &self,
        out: &mut Bytes,
        kind: u8,
        of: Transfer,
        request: Option<u64>,
    ) -> Result<(), String> {
        let size = self.definitions.comms.get(of.comm.0 as usize);
        let size = size.map_or(0, |comm| comm.members.len());
        if of.peer as usize >= size {
            return Err(format!(
                "rank {} of communicator {}, which has {size} ranks",
                of.peer, of.comm.0
            ));
        }
        out.record(kind, |out| {
            out.short(of.peer.into());
            out.short(of.comm.0.into());
            out.short(of.tag.into());
            out.short(of.size.0);
            if let Some(request) = request {
                out.short(request);
            }
        });
        Ok(())
    }

    /// The global definitions, one by one.
    fn definition_records(&self) -> Vec<Vec<u8>> {
        let of = &self.definitions;
        let mut all = Records::default();
        let (first, last) = self.times.unwrap_or_default();
        all.record(definition::CLOCK, |out| {
            out.short(of.ticks_per_second);
            out.short(first);
            out.short(last - first);
            // No time of the day.
            out.none();
        });
        let empty = all.string("");
        let (root, machine) = (all.string("machine"), all.string("simulated"));
        all.record(SYSTEM_TREE_NODE, |out| {
            out.short(0);
            out.short(machine);
            out.short(root);
            out.none();
        });
        let thread = all.string("Master thread");
        for (id, (name, &events)) in of.processes.iter().zip(&self.counts).enumerate() {
            let (id, name) = (id as u64, all.string(name));
            all.record(definition::PROCESS, |out| {
                out.short(id);
                out.short(name);
                out.byte(1);
                out.short(0);
                out.none();
            });
            all.record(definition::LOCATION, |out| {
                out.short(id);
                out.short(thread);
                out.byte(1);
                out.short(events);
                out.short(id);
            });
        }
        for (id, region) in of.regions.iter().enumerate() {
            let name = all.string(&region.name);
            all.record(definition::REGION, |out| {
                out.short(id as u64);
                out.short(name);
                out.short(empty);
                // What it was before roles; no source file, no lines.
                out.byte(0);
                out.none();
                out.short(0);
                out.short(0);
                out.short(name);
                out.byte(region.role);
                out.byte(region.paradigm);
                out.short(0);
            });
        }
        let world: Vec<u32> = (0..of.processes.len() as u32).collect();
        all.group(0, empty, (COMM_LOCATIONS, 6), &world);
        for (id, comm) in of.comms.iter().enumerate() {
            let id = id as u64;
            all.group(id + 1, empty, (COMM_GROUP, 4), &comm.members);
            let name = all.string(&comm.name);
            all.record(definition::COMM, |out| {
                out.short(id);
                out.short(name);
                out.short(id + 1);
                out.none();
                out.short(0);
            });
        }
        all.0
    }
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// Records of definitions.
#[derive(Default)]
struct Records(Vec<Vec<u8>>, u64);

impl Records {
    fn record(&mut self, kind: u8, fill: impl FnOnce(&mut Bytes)) {
        let mut out = Bytes::default();
        out.record(kind, fill);
        self.0.push(out.0);
    }

    /// Defines a string; its number. Zero bytes, which end it in the file, are left out.
    fn string(&mut self, text: &str) -> u64 {
        let id = self.1;
        self.1 += 1;
        self.record(definition::STRING, |out| {
            out.short(id);
            out.text(&text.replace('\0', ""));
        });
        id
    }

    /// A group of a kind, and that kind as it was numbered before OTF2 1.2.
    fn group(&mut self, id: u64, name: u64, kind: (u8, u8), members: &[u32]) {
        self.record(definition::GROUP, |out| {
            out.short(id);
            out.short(name);
            out.byte(kind.1);
            out.short(members.len() as u64);
            members.iter().for_each(|&member| out.short(member.into()));
            out.byte(kind.0);
            out.byte(MPI);
            out.short(0);
        });
    }
}

/// Bytes as files of an archive have them.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn full(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A compressed integer.
    fn short(&mut self, value: u64) {
        let size = 8 - value.leading_zeros() as usize / 8;
        self.byte(size as u8);
        self.0.extend_from_slice(&value.to_le_bytes()[..size]);
    }

    /// The largest number, which stands for "none".
    fn none(&mut self) {
        self.byte(u8::MAX);
    }

    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
        self.byte(0);
    }

    /// A record with its length.
    fn record(&mut self, kind: u8, fill: impl FnOnce(&mut Bytes)) {
        let mut inner = Bytes::default();
        fill(&mut inner);
        self.byte(kind);
        match u8::try_from(inner.0.len()) {
            Ok(length) if length < u8::MAX => self.byte(length),
            _ => {
                self.byte(u8::MAX);
                self.full(inner.0.len() as u64);
            }
        }
        self.0.extend_from_slice(&inner.0);
    }
}

/// Bytes of the header of a chunk.
const HEADER: usize = 18;

/// A file in chunks. One is kept back, as its header says how many events it has.
struct Chunks {
    file: BufWriter<File>,
    chunk: Vec<u8>,
    size: usize,
    /// Number of the first event of the chunk at hand.
    first: u64,
}

impl Chunks {
    fn new(path: PathBuf, size: usize) -> io::Result<Self> {
        let file = BufWriter::new(File::create_new(path)?);
        let chunk = vec![0; HEADER];
        let first = 1;
        Ok(Self {
            file,
            chunk,
            size,
            first,
        })
    }

    /// Begins the next chunk unless `bytes` fit into this one, in which `count` events of the
    /// file end; whether it did, or nothing has been written yet.
    fn make_room(&mut self, bytes: usize, count: u64) -> io::Result<bool> {
        let fits = self.chunk.len() + bytes < self.size;
        if !fits {
            self.chunk.resize(self.size, END_OF_CHUNK);
            self.flush(count)?;
            self.chunk.resize(HEADER, 0);
            // Definitions are not counted.
            self.first = if count == 0 { 1 } else { count + 1 };
        }
        Ok(self.chunk.len() == HEADER)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.chunk.extend_from_slice(bytes);
    }

    fn flush(&mut self, count: u64) -> io::Result<()> {
        self.chunk[0] = CHUNK_HEADER;
        self.chunk[1] = LITTLE_ENDIAN;
        self.chunk[2..10].copy_from_slice(&self.first.to_le_bytes());
        self.chunk[10..18].copy_from_slice(&count.to_le_bytes());
        self.file.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    /// Ends the file, which has `count` events.
    fn finish(mut self, count: u64) -> io::Result<()> {
        self.chunk.push(END_OF_FILE);
        self.flush(count)?;
        self.file.flush()
    }
}
