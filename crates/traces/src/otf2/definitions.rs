//! The global definitions: what the numbers in events stand for.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use odonata_units::Picoseconds;

use super::anchor::Anchor;
use super::chunks::ChunkReader;
use crate::error::TraceError;

/// Kinds of records that are read; the others are passed over.
pub(super) mod kind {
    pub const CLOCK: u8 = 5;
    pub const STRING: u8 = 10;
    pub const PROCESS: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const COMM: u8 = 22;
    pub const WINDOW: u8 = 24;
    pub const INTER_COMM: u8 = 43;
    /// Lowest kind of a definition.
    pub const FIRST: u8 = 5;
}

/// Number that stands for "none".
const NONE: u32 = u32::MAX;

/// A thread of a process, or another place where events happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationRef(pub u64);

/// A function or other piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionRef(pub u32);

/// A communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommRef(pub u32);

/// A window of one-sided transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowRef(pub u32);

/// The clock of all events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// Time stamp that is not later than any event.
    pub start: u64,
    /// Ticks from the start to the end of the trace.
    pub length: u64,
    /// Start in nanoseconds since 1970, if the archive tells.
    pub start_ns: Option<u64>,
}

impl Clock {
    /// Time from the start of the trace to a time stamp, rounded down; `None`
    /// before the start or if it does not fit.
    pub fn since_start(&self, time: u64) -> Option<Picoseconds> {
        let ticks = u128::from(time.checked_sub(self.start)?);
        let time = ticks * 1_000_000_000_000 / u128::from(self.ticks_per_second.max(1));
        u64::try_from(time).ok().map(Picoseconds)
    }
}

/// A location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name.
    pub name: String,
    /// Kind: 1 thread of a processor, 2 stream of an accelerator, 3 metric.
    pub kind: u8,
    /// Number of its events.
    pub events: u64,
    /// Number of the process that it belongs to.
    pub process: u32,
}

/// A group of locations that share memory: a process or an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessGroup {
    /// Name, such as "MPI Rank 0".
    pub name: String,
    /// Kind: 1 process, 2 accelerator.
    pub kind: u8,
}

/// A region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name.
    pub name: String,
    /// Name in the binary; often the same.
    pub canonical_name: String,
    /// What it does, as `OTF2_RegionRole` numbers it.
    pub role: u8,
    /// Programming model that it belongs to; 4 is MPI.
    pub paradigm: u8,
}

/// What the members of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Locations that take part in communication, in the order of their ranks.
    CommLocations,
    /// Ranks of the locations that take part, or locations.
    CommGroup,
    /// The calling location only.
    CommSelf,
    /// Anything else.
    Other(u8),
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What the members are.
    pub kind: GroupKind,
    /// Programming model that it belongs to; 4 is MPI.
    pub paradigm: u8,
    /// Whether the members of a [`GroupKind::CommGroup`] are locations.
    pub global: bool,
    /// The members.
    pub members: Vec<u64>,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Name; often empty.
    pub name: String,
    /// Its group; both groups of an inter-communicator.
    pub groups: Vec<u32>,
    /// Communicator that it was made of, if any.
    pub parent: Option<CommRef>,
    /// Largest number of ranks of its groups.
    pub size: u64,
}

/// A window of one-sided transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Name.
    pub name: String,
    /// Communicator of the ranks that take part.
    pub comm: CommRef,
}

/// All global definitions that reading of events needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    clock: Clock,
    strings: BTreeMap<u32, String>,
    processes: BTreeMap<u32, ProcessGroup>,
    locations: BTreeMap<LocationRef, Location>,
    regions: BTreeMap<RegionRef, Region>,
    groups: BTreeMap<u32, Group>,
    comms: BTreeMap<CommRef, Communicator>,
    windows: BTreeMap<WindowRef, Window>,
}

impl Definitions {
    /// Reads the global definitions from `source`, called `file` in messages.
    ///
    /// # Errors
    /// If the file is damaged, has more or fewer definitions or locations than the
    /// anchor says, defines something twice, or names what is not defined.
    pub fn read<R: Read + Seek>(
        source: R,
        file: String,
        anchor: &Anchor,
    ) -> Result<Self, TraceError> {
        let mut reader = ChunkReader::new(source, file, anchor.definition_chunk_bytes)?;
        let mut definitions = Self::default();
        // Other records may name strings that follow them.
        while let Some(kind) = reader.next_kind(|_| Ok(()), |_| Ok(()))? {
            let at = reader.bytes.position() - 1;
            let record = reader.begin_record()?;
            if kind == kind::STRING {
                let id = reader.u32()?;
                if definitions.strings.insert(id, reader.text()?).is_some() {
                    let reason = format!("string {id} is defined twice");
                    return Err(reader.bytes.error_at(at, reason));
                }
            }
            reader.end_record(record)?;
        }
        reader.rewind()?;
        let mut count = 0u64;
        let mut has_clock = false;
        while let Some(kind) = reader.next_kind(|_| Ok(()), |_| Ok(()))? {
            let at = reader.bytes.position() - 1;
            if kind < kind::FIRST {
                let reason = format!("{kind} is the kind of no global definition");
                return Err(reader.bytes.error_at(at, reason));
            }
            let record = reader.begin_record()?;
            has_clock |= kind == kind::CLOCK;
            definitions
                .record(&mut reader, kind)
                .map_err(|found| match found {
                    Found::Damage(error) => error,
                    Found::Wrong(reason) => reader.bytes.error_at(at, reason),
                })?;
            reader.end_record(record)?;
            count += 1;
        }
        if count != anchor.global_definitions {
            let reason = format!(
                "{count} global definitions, but the anchor file says {}",
                anchor.global_definitions
            );
            return Err(reader.bytes.error(reason));
        }
        if definitions.locations.len() as u64 != anchor.locations {
            let reason = format!(
                "{} locations, but the anchor file says {}",
                definitions.locations.len(),
                anchor.locations
            );
            return Err(reader.bytes.error(reason));
        }
        if !has_clock || definitions.clock.ticks_per_second == 0 {
            let reason = "no clock with a resolution; time stamps mean nothing without";
            return Err(reader.bytes.error(reason));
        }
        definitions
            .check()
            .map_err(|reason| reader.bytes.error(reason))?;
        Ok(definitions)
    }

    /// The clock of all events.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// All locations, by number.
    pub fn locations(&self) -> &BTreeMap<LocationRef, Location> {
        &self.locations
    }

    /// All processes and accelerators, by number.
    pub fn processes(&self) -> &BTreeMap<u32, ProcessGroup> {
        &self.processes
    }

    /// All regions, by number.
    pub fn regions(&self) -> &BTreeMap<RegionRef, Region> {
        &self.regions
    }

    /// All groups, by number.
    pub fn groups(&self) -> &BTreeMap<u32, Group> {
        &self.groups
    }

    /// All communicators, by number.
    pub fn comms(&self) -> &BTreeMap<CommRef, Communicator> {
        &self.comms
    }

    /// All windows, by number.
    pub fn windows(&self) -> &BTreeMap<WindowRef, Window> {
        &self.windows
    }

    /// The locations of a group, in the order of their ranks; `myself` stands for
    /// the group of the calling location only. `None` if the group has none.
    pub fn members(&self, group: u32, myself: LocationRef) -> Option<Vec<LocationRef>> {
        let group = self.groups.get(&group)?;
        match group.kind {
            GroupKind::CommSelf => Some(vec![myself]),
            GroupKind::CommGroup if !group.global => {
                let world = self.comm_locations(group.paradigm)?;
                let member = |&rank: &u64| world.members.get(usize::try_from(rank).ok()?);
                let members = group.members.iter().map(|rank| member(rank).copied());
                members.map(|member| member.map(LocationRef)).collect()
            }
            GroupKind::CommGroup | GroupKind::CommLocations => {
                Some(group.members.iter().copied().map(LocationRef).collect())
            }
            GroupKind::Other(_) => None,
        }
    }

    fn comm_locations(&self, paradigm: u8) -> Option<&Group> {
        self.groups
            .values()
            .find(|group| group.kind == GroupKind::CommLocations && group.paradigm == paradigm)
    }

    fn record<R: Read + Seek>(
        &mut self,
        reader: &mut ChunkReader<R>,
        kind: u8,
    ) -> Result<(), Found> {
        match kind {
            kind::CLOCK => {
                self.clock = Clock {
                    ticks_per_second: reader.u64()?,
                    start: reader.u64()?,
                    length: reader.u64()?,
                    start_ns: match reader.has_more() {
                        true => Some(reader.u64()?).filter(|&start| start != u64::MAX),
                        false => None,
                    },
                };
            }
            kind::PROCESS => {
                let id = reader.u32()?;
                let group = ProcessGroup {
                    name: self.string(reader.u32()?)?,
                    kind: reader.bytes.u8()?,
                };
                once(self.processes.insert(id, group), "process", id.into())?;
            }
            kind::LOCATION => {
                let id = reader.u64()?;
                let location = Location {
                    name: self.string(reader.u32()?)?,
                    kind: reader.bytes.u8()?,
                    events: reader.u64()?,
                    process: reader.u32()?,
                };
                once(
                    self.locations.insert(LocationRef(id), location),
                    "location",
                    id,
                )?;
            }
            kind::REGION => {
                let id = reader.u32()?;
                let name = self.string(reader.u32()?)?;
                let _description = reader.u32()?;
                let _kind_before_1_1 = reader.bytes.u8()?;
                let _source = (reader.u32()?, reader.u32()?, reader.u32()?);
                let (canonical_name, role, paradigm) = match reader.has_more() {
                    true => (
                        self.string(reader.u32()?)?,
                        reader.bytes.u8()?,
                        reader.bytes.u8()?,
                    ),
                    false => (name.clone(), 0, 0),
                };
                let region = Region {
                    name,
                    canonical_name,
                    role,
                    paradigm,
                };
                once(
                    self.regions.insert(RegionRef(id), region),
                    "region",
                    id.into(),
                )?;
            }
            kind::GROUP => self.group(reader)?,
            kind::COMM => self.communicator(reader, 1)?,
            kind::INTER_COMM => self.communicator(reader, 2)?,
            kind::WINDOW => {
                let id = reader.u32()?;
                let window = Window {
                    name: self.string(reader.u32()?)?,
                    comm: CommRef(reader.u32()?),
                };
                once(
                    self.windows.insert(WindowRef(id), window),
                    "window",
                    id.into(),
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A communicator of one group, or one between two.
    fn communicator<R: Read + Seek>(
        &mut self,
        reader: &mut ChunkReader<R>,
        groups: usize,
    ) -> Result<(), Found> {
        let id = reader.u32()?;
        let name = self.string(reader.u32()?)?;
        let groups = (0..groups)
            .map(|_| reader.u32())
            .collect::<Result<_, _>>()?;
        let parent = reader.u32()?;
        let comm = Communicator {
            name,
            groups,
            parent: Some(parent).filter(|&parent| parent != NONE).map(CommRef),
            size: 0,
        };
        once(
            self.comms.insert(CommRef(id), comm),
            "communicator",
            id.into(),
        )
    }

    fn group<R: Read + Seek>(&mut self, reader: &mut ChunkReader<R>) -> Result<(), Found> {
        let id = reader.u32()?;
        let _name = reader.u32()?;
        let before_1_2 = reader.bytes.u8()?;
        let count = u64::from(reader.u32()?);
        // Every member takes at least a byte.
        if count > reader.bytes.left() {
            let left = reader.bytes.left();
            return Err(Found::Wrong(format!(
                "a group of {count} members in {left} bytes"
            )));
        }
        let members = (0..count)
            .map(|_| reader.u64())
            .collect::<Result<Vec<u64>, _>>()?;
        if !reader.has_more() {
            return Err(Found::Wrong(format!(
                "group {id} of kind {before_1_2} has no programming model; archives of OTF2 \
                 before 1.2 are not read"
            )));
        }
        let kind = match reader.bytes.u8()? {
            4 => GroupKind::CommLocations,
            5 => GroupKind::CommGroup,
            6 => GroupKind::CommSelf,
            other => GroupKind::Other(other),
        };
        let group = Group {
            kind,
            paradigm: reader.bytes.u8()?,
            global: reader.u32()? & 1 != 0,
            members,
        };
        once(self.groups.insert(id, group), "group", id.into())
    }

    fn string(&self, id: u32) -> Result<String, Found> {
        match self.strings.get(&id) {
            Some(text) => Ok(text.clone()),
            None if id == NONE => Ok(String::new()),
            None => Err(Found::Wrong(format!("string {id}, which is not defined"))),
        }
    }

    /// Checks what refers to definitions that may come later, and sizes
    /// communicators.
    fn check(&mut self) -> Result<(), String> {
        for (id, location) in &self.locations {
            if !self.processes.contains_key(&location.process) {
                return Err(format!(
                    "location {} belongs to process {}, which is not defined",
                    id.0, location.process
                ));
            }
        }
        for (id, group) in &self.groups {
            let known: &dyn Fn(u64) -> bool = match group.kind {
                GroupKind::CommLocations => {
                    &|member| self.locations.contains_key(&LocationRef(member))
                }
                GroupKind::CommGroup if group.global => {
                    &|member| self.locations.contains_key(&LocationRef(member))
                }
                GroupKind::CommGroup => {
                    let world = self.comm_locations(group.paradigm);
                    let size = world.map_or(0, |world| world.members.len() as u64);
                    &move |member| member < size
                }
                _ => &|_| true,
            };
            if let Some(member) = group.members.iter().find(|&&member| !known(member)) {
                return Err(format!(
                    "group {id} has a member {member}, which does not exist"
                ));
            }
        }
        let mut sizes = Vec::with_capacity(self.comms.len());
        for (id, comm) in &self.comms {
            let mut size = 0;
            for group in &comm.groups {
                let Some(of) = self.groups.get(group) else {
                    let reason = format!(
                        "communicator {} has group {group}, which is not defined",
                        id.0
                    );
                    return Err(reason);
                };
                size = size.max(match of.kind {
                    GroupKind::CommSelf => 1,
                    _ => of.members.len() as u64,
                });
            }
            if let Some(parent) = comm.parent
                && !self.comms.contains_key(&parent)
            {
                return Err(format!(
                    "communicator {} is made of {}, which is not defined",
                    id.0, parent.0
                ));
            }
            sizes.push(size);
        }
        for (comm, size) in self.comms.values_mut().zip(sizes) {
            comm.size = size;
        }
        for (id, window) in &self.windows {
            if !self.comms.contains_key(&window.comm) {
                return Err(format!(
                    "window {} is of communicator {}, which is not defined",
                    id.0, window.comm.0
                ));
            }
        }
        Ok(())
    }
}

/// Why a record cannot be used.
enum Found {
    /// The file is damaged.
    Damage(TraceError),
    /// The record says what cannot be.
    Wrong(String),
}

impl From<TraceError> for Found {
    fn from(error: TraceError) -> Self {
        Found::Damage(error)
    }
}

fn once<T>(before: Option<T>, what: &str, id: u64) -> Result<(), Found> {
    match before {
        None => Ok(()),
        Some(_) => Err(Found::Wrong(format!("{what} {id} is defined twice"))),
    }
}
