//! The events of a location.

use std::io::{Read, Seek};

use odonata_units::Bytes;

use super::anchor::Anchor;
use super::chunks::ChunkReader;
use super::definitions::{CommRef, Definitions, LocationRef, RegionRef, WindowRef};
use super::local::{LocalDefinitions, Mapped};
use crate::bytes::ByteReader;
use crate::error::TraceError;

pub(super) const TIMESTAMP: u8 = 5;
const ATTRIBUTES: u8 = 6;
/// Lowest kind of an event.
const FIRST: u8 = 10;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks of the global clock; see [`super::Clock`].
    pub time: u64,
    /// What.
    pub kind: EventKind,
}

/// A message, as one end of it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Rank of the other end in the communicator.
    pub peer: u32,
    /// Communicator.
    pub comm: CommRef,
    /// Tag.
    pub tag: u32,
    /// Size.
    pub size: Bytes,
}

/// Root of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The operation has none.
    None,
    /// The calling location, in an inter-communicator.
    Myself,
    /// Another location of the caller's group, in an inter-communicator.
    MyGroup,
    /// A rank of the communicator.
    Rank(u32),
}

/// What a collective operation does; others are kept by their number.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Allreduce,
    Reduce,
    ReduceScatter,
    Scan,
    Exscan,
    ReduceScatterBlock,
    Other(u8),
}

impl Collective {
    fn from_number(number: u8) -> Self {
        use Collective::*;
        const NAMED: [Collective; 17] = [
            Barrier,
            Bcast,
            Gather,
            Gatherv,
            Scatter,
            Scatterv,
            Allgather,
            Allgatherv,
            Alltoall,
            Alltoallv,
            Alltoallw,
            Allreduce,
            Reduce,
            ReduceScatter,
            Scan,
            Exscan,
            ReduceScatterBlock,
        ];
        NAMED
            .get(usize::from(number))
            .copied()
            .unwrap_or(Other(number))
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Recording went on.
    MeasurementOn,
    /// Recording paused: whatever the location does up to the next
    /// [`MeasurementOn`](Self::MeasurementOn) leaves no events.
    MeasurementOff,
    /// The tool wrote its buffer to disk, up to this time.
    BufferFlush(u64),
    /// A region was entered.
    Enter(RegionRef),
    /// A region was left.
    Leave(RegionRef),
    /// A blocking send.
    Send(Transfer),
    /// A non-blocking send, with its request.
    Isend(Transfer, u64),
    /// The request of a non-blocking send completed.
    IsendComplete(u64),
    /// A receive was posted, with its request.
    IrecvRequest(u64),
    /// A blocking receive.
    Recv(Transfer),
    /// A non-blocking receive completed, with its request.
    Irecv(Transfer, u64),
    /// A request was tested and had not completed.
    RequestTest(u64),
    /// A request was cancelled.
    RequestCancelled(u64),
    /// A collective was entered.
    CollectiveBegin,
    /// A collective was left.
    CollectiveEnd {
        /// Operation.
        operation: Collective,
        /// Communicator.
        comm: CommRef,
        /// Root.
        root: Root,
        /// Bytes that this location sent.
        sent: Bytes,
        /// Bytes that it received.
        received: Bytes,
    },
    /// A non-blocking collective was started, with its request.
    CollectiveRequest(u64),
    /// A non-blocking collective completed.
    CollectiveComplete {
        /// Operation.
        operation: Collective,
        /// Communicator.
        comm: CommRef,
        /// Root.
        root: Root,
        /// Bytes that this location sent.
        sent: Bytes,
        /// Bytes that it received.
        received: Bytes,
        /// Request.
        request: u64,
    },
    /// A communicator came into being.
    CommCreate(CommRef),
    /// A communicator ended.
    CommDestroy(CommRef),
    /// A window came into being.
    WindowCreate(WindowRef),
    /// A window ended.
    WindowDestroy(WindowRef),
    /// A one-sided write.
    Put {
        /// Window.
        window: WindowRef,
        /// Rank of the other end in the window's communicator.
        peer: u32,
        /// Size.
        size: Bytes,
        /// Number that completion refers to.
        id: u64,
    },
    /// A one-sided read.
    Get {
        /// Window.
        window: WindowRef,
        /// Rank of the other end in the window's communicator.
        peer: u32,
        /// Size.
        size: Bytes,
        /// Number that completion refers to.
        id: u64,
    },
    /// One-sided operations completed where they were called: blocking or not.
    WindowComplete(WindowRef, u64),
    /// A record of another kind, as `OTF2_EventType` numbers them.
    Other(u8),
}

/// Streams the events of a location, in order.
///
/// Memory: a buffer of 64 KiB, and the mapping tables and clock offsets of the
/// location.
pub struct EventReader<'a, R> {
    chunks: ChunkReader<R>,
    definitions: &'a Definitions,
    local: LocalDefinitions,
    expected: u64,
    seen: u64,
    time: Option<u64>,
    done: bool,
}

impl<'a, R: Read + Seek> EventReader<'a, R> {
    /// Reads the events of `location` from `source`, called `file` in messages.
    ///
    /// # Errors
    /// If the location is not defined or the file does not start with a chunk.
    pub fn new(
        source: R,
        file: String,
        anchor: &Anchor,
        definitions: &'a Definitions,
        local: LocalDefinitions,
        location: LocationRef,
    ) -> Result<Self, TraceError> {
        let bytes = ByteReader::new(source, file)?;
        Self::on(bytes, anchor, definitions, local, location)
    }

    pub(super) fn on(
        bytes: ByteReader<R>,
        anchor: &Anchor,
        definitions: &'a Definitions,
        local: LocalDefinitions,
        location: LocationRef,
    ) -> Result<Self, TraceError> {
        let chunks = ChunkReader::chunked(bytes, anchor.event_chunk_bytes)?;
        let Some(defined) = definitions.locations().get(&location) else {
            let reason = format!("location {} is not defined", location.0);
            return Err(chunks.bytes.error_at(0, reason));
        };
        let reader = Self {
            chunks,
            definitions,
            local,
            expected: defined.events,
            seen: 0,
            time: None,
            done: false,
        };
        check_start(&reader.chunks, 0)?;
        Ok(reader)
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.seen
    }

    /// The next event; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// If a record is damaged, time goes back, a chunk has other events than its
    /// header says, the location other than its definition says, or an event names
    /// a region, communicator, rank or window that does not exist.
    pub fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.read_event();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn read_event(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            let seen = self.seen;
            let kind = self.chunks.next_kind(
                |chunks| check_end(chunks, seen),
                |chunks| check_start(chunks, seen),
            )?;
            let Some(kind) = kind else {
                if self.seen != self.expected {
                    let reason = format!(
                        "{} events, but the location's definition says {}",
                        self.seen, self.expected
                    );
                    return Err(self.chunks.bytes.error(reason));
                }
                return Ok(None);
            };
            let at = self.chunks.bytes.position() - 1;
            match kind {
                TIMESTAMP => {
                    let time = self.chunks.u64_full()?;
                    if self.time.is_some_and(|before| before > time) {
                        let reason = format!(
                            "time stamp {time} behind {}; time does not go back",
                            self.time.unwrap_or_default()
                        );
                        return Err(self.chunks.bytes.error_at(at, reason));
                    }
                    self.time = Some(time);
                }
                ATTRIBUTES => {
                    let record = self.chunks.begin_record()?;
                    self.chunks.end_record(record)?;
                }
                0..FIRST => {
                    let reason = format!("{kind} is the kind of no event");
                    return Err(self.chunks.bytes.error_at(at, reason));
                }
                _ => {
                    let Some(time) = self.time else {
                        let reason = "an event before the first time stamp";
                        return Err(self.chunks.bytes.error_at(at, reason));
                    };
                    let time = self.local.corrected(time);
                    let kind = self.decode(kind, at)?;
                    self.seen += 1;
                    return Ok(Some(Event { time, kind }));
                }
            }
        }
    }

    fn decode(&mut self, kind: u8, at: u64) -> Result<EventKind, TraceError> {
        // Events with a single compressed value have no length.
        match kind {
            12 | 13 => {
                let region = self.region(at)?;
                return Ok(match kind {
                    12 => EventKind::Enter(region),
                    _ => EventKind::Leave(region),
                });
            }
            16 => return self.chunks.u64().map(EventKind::IsendComplete),
            17 => return self.chunks.u64().map(EventKind::IrecvRequest),
            20 => return self.chunks.u64().map(EventKind::RequestTest),
            21 => return self.chunks.u64().map(EventKind::RequestCancelled),
            // Threads forked, tasks created, switched and completed.
            24 => return self.chunks.u32().map(|_| EventKind::Other(kind)),
            28..=30 => return self.chunks.u64().map(|_| EventKind::Other(kind)),
            _ => {}
        }
        let record = self.chunks.begin_record()?;
        let event = match kind {
            10 => EventKind::BufferFlush(self.local.corrected(self.chunks.u64_full()?)),
            11 => match self.chunks.bytes.u8()? {
                1 => EventKind::MeasurementOn,
                2 => EventKind::MeasurementOff,
                other => {
                    let reason =
                        format!("{other} is no state of recording; there are 1 (on) and 2 (off)");
                    return Err(self.chunks.bytes.error_at(at, reason));
                }
            },
            14 => EventKind::Send(self.transfer(at)?),
            15 => EventKind::Isend(self.transfer(at)?, self.chunks.u64()?),
            18 => EventKind::Recv(self.transfer(at)?),
            19 => EventKind::Irecv(self.transfer(at)?, self.chunks.u64()?),
            22 => EventKind::CollectiveBegin,
            23 => {
                let (operation, comm, root, sent, received) = self.collective(at)?;
                EventKind::CollectiveEnd {
                    operation,
                    comm,
                    root,
                    sent,
                    received,
                }
            }
            35 => EventKind::WindowCreate(self.window(at)?),
            36 => EventKind::WindowDestroy(self.window(at)?),
            46 | 47 => {
                let window = self.window(at)?;
                let peer = self.chunks.u32()?;
                let comm = self
                    .definitions
                    .windows()
                    .get(&window)
                    .map(|known| known.comm);
                self.check_rank(peer, comm.unwrap_or(CommRef(0)), at)?;
                let size = Bytes(self.chunks.u64()?);
                let id = self.chunks.u64()?;
                match kind {
                    46 => EventKind::Put {
                        window,
                        peer,
                        size,
                        id,
                    },
                    _ => EventKind::Get {
                        window,
                        peer,
                        size,
                        id,
                    },
                }
            }
            49 | 50 => EventKind::WindowComplete(self.window(at)?, self.chunks.u64()?),
            85 => EventKind::CollectiveRequest(self.chunks.u64()?),
            86 => {
                let (operation, comm, root, sent, received) = self.collective(at)?;
                EventKind::CollectiveComplete {
                    operation,
                    comm,
                    root,
                    sent,
                    received,
                    request: self.chunks.u64()?,
                }
            }
            87 => EventKind::CommCreate(self.comm(at)?),
            88 => EventKind::CommDestroy(self.comm(at)?),
            _ => EventKind::Other(kind),
        };
        self.chunks.end_record(record)?;
        Ok(event)
    }

    fn transfer(&mut self, at: u64) -> Result<Transfer, TraceError> {
        let peer = self.chunks.u32()?;
        let comm = self.comm(at)?;
        self.check_rank(peer, comm, at)?;
        Ok(Transfer {
            peer,
            comm,
            tag: self.chunks.u32()?,
            size: Bytes(self.chunks.u64()?),
        })
    }

    fn collective(
        &mut self,
        at: u64,
    ) -> Result<(Collective, CommRef, Root, Bytes, Bytes), TraceError> {
        let operation = Collective::from_number(self.chunks.bytes.u8()?);
        let comm = self.comm(at)?;
        let root = match self.chunks.u32()? {
            u32::MAX => Root::None,
            root if root == u32::MAX - 1 => Root::Myself,
            root if root == u32::MAX - 2 => Root::MyGroup,
            root => {
                self.check_rank(root, comm, at)?;
                Root::Rank(root)
            }
        };
        let sent = Bytes(self.chunks.u64()?);
        let received = Bytes(self.chunks.u64()?);
        Ok((operation, comm, root, sent, received))
    }

    /// Reads a local number and finds the global one.
    fn global(&mut self, of: Mapped, what: &str, at: u64) -> Result<u32, TraceError> {
        let local = self.chunks.u32()?;
        let global = u32::try_from(self.local.global(of, local)).ok();
        let known = global.filter(|&global| match of {
            Mapped::Region => self.definitions.regions().contains_key(&RegionRef(global)),
            Mapped::Comm => self.definitions.comms().contains_key(&CommRef(global)),
            Mapped::Window => self.definitions.windows().contains_key(&WindowRef(global)),
        });
        known.ok_or_else(|| {
            let reason = format!("{what} {local}, which is not defined");
            self.chunks.bytes.error_at(at, reason)
        })
    }

    fn region(&mut self, at: u64) -> Result<RegionRef, TraceError> {
        self.global(Mapped::Region, "region", at).map(RegionRef)
    }

    fn comm(&mut self, at: u64) -> Result<CommRef, TraceError> {
        self.global(Mapped::Comm, "communicator", at).map(CommRef)
    }

    fn window(&mut self, at: u64) -> Result<WindowRef, TraceError> {
        self.global(Mapped::Window, "window", at).map(WindowRef)
    }

    fn check_rank(&self, rank: u32, comm: CommRef, at: u64) -> Result<(), TraceError> {
        let size = self
            .definitions
            .comms()
            .get(&comm)
            .map_or(0, |comm| comm.size);
        match u64::from(rank) < size {
            true => Ok(()),
            false => {
                let reason = format!(
                    "rank {rank} of communicator {}, which has {size} ranks",
                    comm.0
                );
                Err(self.chunks.bytes.error_at(at, reason))
            }
        }
    }
}

impl<R: Read + Seek> Iterator for EventReader<'_, R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}

/// The first event of a chunk is the next one.
fn check_start<R: Read + Seek>(chunks: &ChunkReader<R>, seen: u64) -> Result<(), TraceError> {
    match chunks.events.0 == seen.wrapping_add(1) {
        true => Ok(()),
        false => Err(chunks.bytes.error(format!(
            "the chunk starts with event {}, but {} is next",
            chunks.events.0,
            seen + 1
        ))),
    }
}

/// The last event of a chunk is the one before its end.
fn check_end<R: Read + Seek>(chunks: &ChunkReader<R>, seen: u64) -> Result<(), TraceError> {
    match chunks.events.1 == seen {
        true => Ok(()),
        false => Err(chunks.bytes.error(format!(
            "the chunk ends behind event {seen}, but its header says {}; the file is damaged",
            chunks.events.1
        ))),
    }
}
