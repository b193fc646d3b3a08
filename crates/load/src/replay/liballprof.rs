//! Traces of liballprof as calls.
//!
//! The trace tells less than others, because arguments that a call gives back are written as their
//! addresses. Therefore:
//!
//! - **Requests** are known by their addresses. A wait for an address completes what was begun
//!   there; arrays of requests step by the size of a request, 8 bytes in C with Open MPI and its
//!   relatives, 4 with MPICH and in Fortran, which the handles of communicators tell.
//! - **Tests** do not say what they found. They make nobody wait; a request that was tested has
//!   completed at the latest where its address begins another one, or at `MPI_Finalize`. A
//!   `MPI_Waitany` or `MPI_Waitsome` is taken to have found the request that began first.
//! - **Communicators** appear with handle, own rank and size wherever they are used, but not
//!   where they are made. A new handle is a made communicator in which the rank has that number
//!   and which has that size: of duplicates these are known from the parent, of splits of the
//!   world from the colours and keys of all ranks, of other splits they are checked once all ranks
//!   are read. Of several that fit, the lowest handle is that of the first: libraries number
//!   communicators as they make them. Where that is not so, ranks contradict each other, or
//!   messages find no receive. Those of grids, graphs and groups are not recorded; they are
//!   followed only if they have the members of their parent.
//!
//! What each function's arguments mean: the MPI standard; how they are written:
//! [`odonata_traces::liballprof`].

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use odonata_traces::liballprof::{self, Comm, LiballprofJob, LiballprofReader, Moment};
use odonata_traces::{Position, TraceError, UnheldFile};

use super::call::{
    Call, Calls, How, Message, Place, Record, Shape, Slot, Source, Span, Until, Visit,
};

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF` of MPICH; its other handles have the same or the next
/// higher bits set.
const MPICH_WORLD: u64 = 0x4400_0000;
const MPICH_SELF: u64 = 0x4400_0001;
/// Handles of Fortran below this are numbers of a table, others of C are addresses.
const TABLE: u64 = 1 << 16;

/// A rank's number in a communicator and the communicator's size.
type Standing = (u32, u32);

/// How a rank made a communicator of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Making {
    Split { color: i32, key: i32 },
    Other,
}

/// A job of liballprof.
pub(crate) struct LiballprofSource {
    job: LiballprofJob,
    /// The earliest moment of all ranks, on their clocks.
    base: Moment,
    /// Handle of the world, by rank.
    worlds: Vec<u64>,
    /// By rank, its standing in the n-th communicator that it makes of the world; `None`: unknown.
    standings: Vec<Arc<[Option<Standing>]>>,
    /// By rank, the handles that it uses, each with its standing there.
    used: Vec<Arc<[(u64, Standing)]>>,
}

impl LiballprofSource {
    /// The job of which `file` is the trace of rank 0. Reads all ranks once, for what they make of
    /// the world.
    ///
    /// # Errors
    /// If a trace is damaged, or it is not of the rank or the job that its name says.
    pub fn open(file: &Path) -> Result<Self, TraceError> {
        let job = LiballprofJob::open(file)?;
        let ranks = job.ranks();
        let mut base: Option<Moment> = None;
        let (mut worlds, mut makings, mut used) = (vec![], vec![], vec![]);
        for rank in 0..ranks {
            let found = Overview::of(&job, rank)?;
            base = [base, found.first].into_iter().flatten().min();
            worlds.push(found.world);
            makings.push(found.makings);
            let mut handles: Vec<(u64, Standing)> = found.used.into_iter().collect();
            handles.sort_unstable();
            used.push(handles.into());
        }
        let standings = standings(&makings);
        Ok(Self {
            job,
            base: base.unwrap_or(Moment {
                microseconds: 0,
                picoseconds: 0,
            }),
            worlds,
            standings,
            used,
        })
    }

    fn time(&self, moment: Moment) -> Option<i64> {
        let microseconds = i128::from(moment.microseconds) - i128::from(self.base.microseconds);
        let rest = i128::from(moment.picoseconds) - i128::from(self.base.picoseconds);
        i64::try_from(microseconds * 1_000_000 + rest).ok()
    }

    fn span(&self, call: &liballprof::Call<'_>) -> Result<Option<Span>, String> {
        let time = |moment: Option<Moment>| {
            moment
                .map(|moment| {
                    self.time(moment).ok_or_else(|| {
                        "a time more than a hundred days from the trace's start".to_owned()
                    })
                })
                .transpose()
        };
        let (entered, left) = (time(call.entered)?, time(call.left)?);
        // One of them is unknown at the ends of a trace.
        Ok(entered
            .or(left)
            .zip(left.or(entered))
            .map(|(entered, left)| Span { entered, left }))
    }
}

/// What one reading of a rank's trace tells.
struct Overview {
    first: Option<Moment>,
    world: u64,
    makings: Vec<Making>,
    used: HashSet<(u64, Standing)>,
}

impl Overview {
    fn of(job: &LiballprofJob, rank: u32) -> Result<Self, TraceError> {
        let ranks = job.ranks();
        let mut reader = job.rank(rank)?;
        let mut found = Self {
            first: None,
            // Where nothing is said of it, no call uses it.
            world: MPICH_WORLD,
            makings: vec![],
            used: HashSet::new(),
        };
        let mut known = false;
        loop {
            let Some(call) = reader.next_call()? else {
                return Ok(found);
            };
            found.first = found.first.or(call.entered).or(call.left);
            let line = call.line;
            let looked = found.look(&call, &mut known, rank, ranks);
            looked.map_err(|reason| reader.error_at(line, reason))?;
        }
    }

    fn look(
        &mut self,
        call: &liballprof::Call<'_>,
        known: &mut bool,
        rank: u32,
        ranks: u32,
    ) -> Result<(), String> {
        let Some(comm) = used(call)? else {
            return Ok(());
        };
        self.used.insert((comm.handle, (comm.rank, comm.size)));
        if !*known {
            // The first one is the world, or this rank alone.
            if comm.size == 1 && ranks > 1 {
                return Ok(());
            }
            if comm.size != ranks {
                return Err(format!(
                    "the world has {} ranks, but there are the traces of {ranks} beside that of \
                     rank 0",
                    comm.size
                ));
            }
            if comm.rank != rank {
                return Err(format!(
                    "is the trace of rank {}, but named as that of rank {rank}",
                    comm.rank
                ));
            }
            *known = true;
            self.world = comm.handle;
        }
        if let Some(maker) = Maker::of(call.function())
            && comm.handle == self.world
        {
            self.makings.push(match maker {
                Maker::Split => Making::Split {
                    color: call.int(1)?,
                    key: call.int(2)?,
                },
                _ => Making::Other,
            });
        }
        Ok(())
    }
}

/// The communicator that a call uses, of those functions that the replay knows.
fn used(call: &liballprof::Call<'_>) -> Result<Option<Comm>, String> {
    let function = call.function();
    let at = match function {
        "MPI_Comm_rank" | "MPI_Comm_size" => Some(0),
        _ if Maker::of(function).is_some() => Some(0),
        _ => place_of_comm(call),
    };
    at.map(|at| call.comm(at)).transpose()
}

/// Which argument of a message or collective is its communicator.
fn place_of_comm(call: &liballprof::Call<'_>) -> Option<usize> {
    Some(match call.function() {
        "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" | "MPI_Bsend" | "MPI_Isend" | "MPI_Issend"
        | "MPI_Irsend" | "MPI_Ibsend" | "MPI_Recv" | "MPI_Irecv" | "MPI_Send_init"
        | "MPI_Ssend_init" | "MPI_Rsend_init" | "MPI_Bsend_init" | "MPI_Recv_init" => 5,
        "MPI_Sendrecv" => 10,
        "MPI_Sendrecv_replace" => 7,
        name => Collective::of(name)?.place(call),
    })
}

/// By rank, its standing in what the ranks make of the world together.
fn standings(makings: &[Vec<Making>]) -> Vec<Arc<[Option<Standing>]>> {
    let count = makings.iter().map(Vec::len).max().unwrap_or(0);
    let mut found: Vec<Vec<Option<Standing>>> = makings
        .iter()
        .map(|makings| vec![None; makings.len()])
        .collect();
    for number in 0..count {
        let mut colors: HashMap<i32, Vec<(i32, usize)>> = HashMap::new();
        let mut all = true;
        for (rank, makings) in makings.iter().enumerate() {
            match makings.get(number) {
                Some(Making::Split { color, key }) => {
                    colors.entry(*color).or_default().push((*key, rank));
                }
                _ => all = false,
            }
        }
        if !all {
            continue;
        }
        for members in colors.values_mut() {
            members.sort_unstable();
            for (place, &(_, rank)) in members.iter().enumerate() {
                if let Some(standing) = found[rank].get_mut(number) {
                    *standing = Some((place as u32, members.len() as u32));
                }
            }
        }
    }
    found.into_iter().map(Into::into).collect()
}

/// A function that makes a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Duplicate,
    Split,
    /// Its members are not recorded.
    Unknown(&'static str),
}

impl Maker {
    fn of(function: &str) -> Option<Self> {
        Some(match function {
            "MPI_Comm_dup" | "MPI_Comm_dup_with_info" => Self::Duplicate,
            "MPI_Comm_split" => Self::Split,
            "MPI_Comm_create" => Self::Unknown("MPI_Comm_create"),
            "MPI_Cart_create" => Self::Unknown("MPI_Cart_create"),
            "MPI_Cart_sub" => Self::Unknown("MPI_Cart_sub"),
            "MPI_Graph_create" => Self::Unknown("MPI_Graph_create"),
            _ => return None,
        })
    }
}

impl Source for LiballprofSource {
    fn ranks(&self) -> u32 {
        self.job.ranks()
    }

    fn calls(&self, rank: u32, _outcomes: bool) -> Result<Box<dyn Calls + '_>, TraceError> {
        let world = self.worlds[rank as usize];
        let standing = (rank, self.job.ranks());
        Ok(Box::new(LiballprofCalls {
            source: self,
            reader: self.job.rank(rank)?,
            library: Library::of(world),
            comms: Comms {
                standings: self.standings[rank as usize].clone(),
                used: self.used[rank as usize].clone(),
                handles: HashMap::from([(world, (Slot::WORLD, standing))]),
                waiting: vec![],
                variables: HashMap::new(),
                of_world: 0,
                next: 2,
            },
            requests: Requests::default(),
        }))
    }

    fn start(&self) -> Result<i64, TraceError> {
        Ok(0)
    }

    fn visits(
        &self,
        rank: u32,
        function: &str,
        each: &mut dyn FnMut(Visit),
    ) -> Result<(), TraceError> {
        let mut reader = self.job.rank(rank)?;
        loop {
            let Some(call) = reader.next_call()? else {
                return Ok(());
            };
            if call.function() != function {
                continue;
            }
            let line = call.line;
            let span = self.span(&call);
            let span = span.map_err(|reason| reader.error_at(line, reason))?;
            let place = |time: fn(Span) -> i64| Place {
                at: line,
                time: span.map(time),
            };
            each(Visit {
                entered: place(|span| span.entered),
                left: place(|span| span.left),
            });
        }
    }

    fn functions(&self) -> Result<Vec<String>, TraceError> {
        Ok(vec![])
    }
}

/// What the traced library of MPI writes for what.
#[derive(Clone, Copy, Debug)]
struct Library {
    /// `MPI_ANY_SOURCE`.
    any_source: i32,
    /// Bytes of a request.
    request: u64,
}

impl Library {
    fn of(world: u64) -> Self {
        let mpich = world == MPICH_WORLD;
        Self {
            any_source: if mpich { -2 } else { -1 },
            request: if mpich || world < TABLE { 4 } else { 8 },
        }
    }
}

/// A communicator that was made and has no handle yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: Slot,
    maker: Maker,
    /// The rank's standing in it, where it is known.
    standing: Option<Standing>,
    /// Members of the parent.
    most: u32,
    /// Address of the variable.
    variable: u64,
}

/// The communicators of a rank.
struct Comms {
    standings: Arc<[Option<Standing>]>,
    /// Handles that the rank uses, ascending.
    used: Arc<[(u64, Standing)]>,
    handles: HashMap<u64, (Slot, Standing)>,
    waiting: Vec<Waiting>,
    /// Handles by the address of the variable that they were put in.
    variables: HashMap<u64, u64>,
    /// Made of the world so far.
    of_world: usize,
    next: u32,
}

impl Comms {
    fn slot(&mut self, comm: Comm, calls: &mut Vec<Call>) -> Result<Slot, String> {
        let standing = (comm.rank, comm.size);
        if let Some(&(slot, known)) = self.handles.get(&comm.handle)
            && known == standing
        {
            return Ok(slot);
        }
        let exact = |made: &Waiting| made.standing == Some(standing);
        let possible = |made: &Waiting| made.standing.is_none() && comm.size <= made.most;
        let found = (self.choose(comm, exact))
            .or_else(|| self.choose(comm, possible))
            .filter(|_| comm.handle != MPICH_SELF);
        let slot = match found {
            Some(place) => {
                let made = self.waiting.remove(place);
                self.variables.insert(made.variable, comm.handle);
                calls.push(Call::Claim {
                    comm: made.slot,
                    rank: Some(comm.rank),
                    size: Some(comm.size),
                });
                made.slot
            }
            None if comm.size == 1 => Slot::MYSELF,
            None => {
                let unknown = self.waiting.iter().find_map(|made| match made.maker {
                    Maker::Unknown(function) => Some(function),
                    _ => None,
                });
                return Err(match unknown {
                    Some(function) => format!(
                        "communicator {} of {} ranks, which {function} made; the trace does not \
                         tell who its members are. Followed are duplicates, splits, and those \
                         with all ranks of their parent",
                        comm.handle, comm.size
                    ),
                    None => format!(
                        "communicator {} of {} ranks, of which this is number {}: no call before \
                         made such a one",
                        comm.handle, comm.size, comm.rank
                    ),
                });
            }
        };
        self.handles.insert(comm.handle, (slot, standing));
        Ok(slot)
    }

    /// Which of the communicators that fit is that of a new handle.
    fn choose(&self, comm: Comm, fits: impl Fn(&Waiting) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (self.waiting.iter().enumerate())
            .filter(|(_, made)| fits(made))
            .map(|(place, _)| place)
            .collect();
        if fitting.len() < 2 {
            return fitting.first().copied();
        }
        let alike = self.used.iter().filter(|(handle, standing)| {
            *standing == (comm.rank, comm.size) && !self.handles.contains_key(handle)
        });
        let before = alike
            .take_while(|(handle, _)| *handle < comm.handle)
            .count();
        fitting.get(before).or(fitting.first()).copied()
    }

    fn create(
        &mut self,
        maker: Maker,
        call: &liballprof::Call<'_>,
        calls: &mut Vec<Call>,
    ) -> Result<(), String> {
        let comm = call.comm(0)?;
        let parent = self.slot(comm, calls)?;
        let (how, of_split) = match maker {
            Maker::Split => {
                let color = call.int(1)?;
                let how = How::Split {
                    // MPI_UNDEFINED is negative wherever it was looked up; colours are not.
                    color: Some(color).filter(|&color| color >= 0),
                    key: call.int(2)?,
                };
                (how, Some(color))
            }
            _ => (How::Duplicate, None),
        };
        let of_world = (parent == Slot::WORLD).then_some(self.of_world);
        self.of_world += usize::from(parent == Slot::WORLD);
        let is_member = of_split.is_none_or(|color| color >= 0);
        let new = is_member.then_some(Slot(self.next));
        calls.push(Call::Create { parent, new, how });
        if let Some(slot) = new {
            self.next += 1;
            let standing = match maker {
                Maker::Split => of_world.and_then(|number| *self.standings.get(number)?),
                _ => Some((comm.rank, comm.size)),
            };
            self.waiting.push(Waiting {
                slot,
                maker,
                standing,
                most: comm.size,
                variable: call.address(call.arguments().saturating_sub(1))?,
            });
        }
        Ok(())
    }

    /// The communicator in a variable is freed.
    fn free(&mut self, variable: u64) {
        match self.variables.remove(&variable) {
            Some(handle) => {
                self.handles.remove(&handle);
            }
            // It was never used.
            None => self.waiting.retain(|made| made.variable != variable),
        }
    }
}

/// A request, known by its address.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Which has begun when.
    order: u64,
    /// Something has asked whether it is complete.
    asked: bool,
    persistent: bool,
    /// Of a persistent one, whether it is under way.
    begun: bool,
}

/// The requests of a rank that are not known to be complete.
#[derive(Default)]
struct Requests {
    open: HashMap<u64, Request>,
    next: u64,
}

impl Requests {
    /// Something else begins at an address: what was there is complete, or was let go.
    fn make_room(&mut self, address: u64, calls: &mut Vec<Call>) {
        let Some(earlier) = self.open.remove(&address) else {
            return;
        };
        if earlier.asked && earlier.begun {
            calls.push(Call::Complete([address].into()));
        }
        if earlier.persistent || !earlier.asked {
            calls.push(Call::Free(address));
        }
    }

    fn begin(&mut self, address: u64, persistent: bool, calls: &mut Vec<Call>) {
        self.make_room(address, calls);
        let request = Request {
            order: self.next,
            asked: false,
            persistent,
            begun: !persistent,
        };
        self.next += 1;
        self.open.insert(address, request);
    }

    fn start(&mut self, address: u64, calls: &mut Vec<Call>) -> Result<(), String> {
        let Some(request) = self.open.get_mut(&address).filter(|of| of.persistent) else {
            return Err(format!(
                "a request at address {address} is started, but no call has prepared it"
            ));
        };
        if request.begun {
            // A test has found it complete, or it could not be started again.
            calls.push(Call::Complete([address].into()));
        }
        (request.begun, request.asked, request.order) = (true, false, self.next);
        self.next += 1;
        calls.push(Call::Start([address].into()));
        Ok(())
    }

    /// Those of an array that are under way.
    fn under_way(&self, mut addresses: Vec<u64>) -> Vec<u64> {
        addresses.retain(|address| self.open.get(address).is_some_and(|of| of.begun));
        addresses
    }

    fn complete(&mut self, addresses: &[u64], calls: &mut Vec<Call>) {
        for address in addresses {
            match self.open.get_mut(address) {
                Some(request) if request.persistent => request.begun = false,
                _ => {
                    self.open.remove(address);
                }
            }
        }
        if !addresses.is_empty() {
            calls.push(Call::Complete(addresses.into()));
        }
    }

    fn ask(&mut self, addresses: &[u64]) {
        for address in addresses {
            if let Some(request) = self.open.get_mut(address) {
                request.asked = true;
            }
        }
    }

    /// One or more of these are complete; the trace does not say which.
    fn complete_some(&mut self, addresses: &[u64], calls: &mut Vec<Call>) {
        let first = addresses.iter().min_by_key(|address| {
            let request = self.open.get(address);
            request.map_or(u64::MAX, |request| request.order)
        });
        if let Some(&first) = first {
            self.ask(addresses);
            self.complete(&[first], calls);
        }
    }

    /// The rank ends: what it has asked for is complete.
    fn finish(&mut self, calls: &mut Vec<Call>) {
        let mut asked: Vec<(u64, u64)> = (self.open.iter())
            .filter(|(_, request)| request.begun && request.asked)
            .map(|(address, request)| (request.order, *address))
            .collect();
        asked.sort_unstable();
        let addresses: Vec<u64> = asked.into_iter().map(|(_, address)| address).collect();
        self.complete(&addresses, calls);
    }
}

/// The calls of one rank.
struct LiballprofCalls<'a> {
    source: &'a LiballprofSource,
    reader: LiballprofReader<UnheldFile>,
    library: Library,
    comms: Comms,
    requests: Requests,
}

impl Calls for LiballprofCalls<'_> {
    fn next(&mut self, calls: &mut Vec<Call>) -> Result<Option<Record>, TraceError> {
        let Some(call) = self.reader.next_call()? else {
            return Ok(None);
        };
        let at = call.line;
        let mut translation = Translation {
            library: self.library,
            comms: &mut self.comms,
            requests: &mut self.requests,
            calls,
        };
        let record = translation.translate(&call).and_then(|local| {
            Ok(Record {
                at,
                span: self.source.span(&call)?,
                local,
            })
        });
        record
            .map(Some)
            .map_err(|reason| self.reader.error_at(at, reason))
    }

    fn file(&self) -> &str {
        self.reader.file()
    }

    fn cancels(&self) -> bool {
        false
    }

    fn is_incomplete(&self) -> bool {
        false
    }

    fn error_at(&self, at: u64, reason: String) -> TraceError {
        TraceError::new(self.file(), Position::Line(at), reason)
    }
}

/// Whether the time in a call is the rank's own, rather than that of messages.
type IsLocal = bool;

/// Turns a call of the trace into what it did.
struct Translation<'a> {
    library: Library,
    comms: &'a mut Comms,
    requests: &'a mut Requests,
    calls: &'a mut Vec<Call>,
}

impl Translation<'_> {
    fn translate(&mut self, call: &liballprof::Call<'_>) -> Result<IsLocal, String> {
        let function = call.function();
        match function {
            "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" => {
                let message = self.send(call, 4)?;
                self.calls.push(Call::Message(message, Until::Complete));
            }
            "MPI_Bsend" => {
                let message = self.send(call, 4)?;
                self.calls.push(Call::Message(message, Until::Buffered));
            }
            "MPI_Isend" | "MPI_Issend" | "MPI_Irsend" | "MPI_Ibsend" => {
                let message = self.send(call, 4)?;
                self.begin(message, call)?;
            }
            "MPI_Recv" => {
                let message = self.receive(call, 3, 4)?;
                self.calls.push(Call::Message(message, Until::Complete));
            }
            "MPI_Irecv" => {
                let message = self.receive(call, 3, 4)?;
                self.begin(message, call)?;
            }
            "MPI_Sendrecv" => {
                let (send, receive) = (self.send(call, 4)?, self.receive(call, 8, 9)?);
                self.calls.push(Call::Exchange(send, receive));
            }
            "MPI_Sendrecv_replace" => {
                let (send, receive) = (self.send(call, 4)?, self.receive(call, 5, 6)?);
                self.calls.push(Call::Exchange(send, receive));
            }
            "MPI_Send_init" | "MPI_Ssend_init" | "MPI_Rsend_init" | "MPI_Bsend_init" => {
                let message = self.send(call, 4)?;
                self.prepare(message, call)?;
            }
            "MPI_Recv_init" => {
                let message = self.receive(call, 3, 4)?;
                self.prepare(message, call)?;
            }
            "MPI_Start" => self.requests.start(call.address(0)?, self.calls)?,
            "MPI_Startall" => {
                let addresses = self.array(call)?;
                if addresses.len() != call.whole(0)? as usize {
                    return Err(format!(
                        "{} requests are started, but calls have prepared {} of them",
                        call.whole(0)?,
                        addresses.len()
                    ));
                }
                for address in addresses {
                    self.requests.start(address, self.calls)?;
                }
            }
            "MPI_Wait" => {
                let one = self.requests.under_way(vec![call.address(0)?]);
                self.requests.complete(&one, self.calls);
            }
            "MPI_Waitall" => {
                let all = self.requests.under_way(self.array(call)?);
                self.requests.complete(&all, self.calls);
            }
            "MPI_Waitany" | "MPI_Waitsome" => {
                let some = self.requests.under_way(self.array(call)?);
                self.requests.complete_some(&some, self.calls);
            }
            "MPI_Test" => self.requests.ask(&[call.address(0)?]),
            "MPI_Testall" | "MPI_Testany" | "MPI_Testsome" => {
                let addresses = self.array(call)?;
                self.requests.ask(&addresses);
            }
            "MPI_Request_free" => {
                let address = call.address(0)?;
                if self.requests.open.remove(&address).is_some() {
                    self.calls.push(Call::Free(address));
                }
            }
            "MPI_Cancel" => {
                return Err("MPI_Cancel; the trace does not tell what was cancelled".to_owned());
            }
            "MPI_Put" | "MPI_Get" | "MPI_Accumulate" => {
                return Err(format!(
                    "{function}; the trace does not tell whose window it goes to, so that \
                     one-sided transfers are not replayed"
                ));
            }
            "MPI_Init" | "MPI_Init_thread" | "MPI_Probe" | "MPI_Iprobe" => {}
            "MPI_Finalize" => self.requests.finish(self.calls),
            "MPI_Comm_rank" | "MPI_Comm_size" => {
                self.comms.slot(call.comm(0)?, self.calls)?;
                return Ok(true);
            }
            "MPI_Comm_free" | "MPI_Comm_disconnect" => self.comms.free(call.address(0)?),
            "MPI_Intercomm_create"
            | "MPI_Intercomm_merge"
            | "MPI_Comm_accept"
            | "MPI_Comm_connect"
            | "MPI_Comm_spawn"
            | "MPI_Comm_spawn_multiple" => {
                self.calls
                    .push(Call::NotReplayed("communicators with others"));
            }
            _ => match (Maker::of(function), Collective::of(function)) {
                (Some(maker), _) => self.comms.create(maker, call, self.calls)?,
                (None, Some(collective)) => {
                    let comm = call.comm(collective.place(call))?;
                    let slot = self.comms.slot(comm, self.calls)?;
                    // A communicator that is known has no more members than the job.
                    let shape = collective.shape(call, comm)?;
                    let request = match collective.waits {
                        true => None,
                        false => {
                            let address = call.address(call.arguments().saturating_sub(1))?;
                            self.requests.begin(address, false, self.calls);
                            Some(address)
                        }
                    };
                    self.calls.push(Call::Collective {
                        comm: slot,
                        shape,
                        request,
                    });
                }
                (None, None) => return Ok(true),
            },
        }
        Ok(false)
    }

    /// Addresses of an array of requests, the first argument being their number; of more than are
    /// known only those.
    fn array(&self, call: &liballprof::Call<'_>) -> Result<Vec<u64>, String> {
        let (count, base, size) = (call.whole(0)?, call.address(1)?, self.library.request);
        let place = |address: u64| address.wrapping_sub(base);
        if count as usize <= self.requests.open.len() {
            let addresses = (0..u64::from(count)).map(|number| base.wrapping_add(number * size));
            return Ok(addresses.collect());
        }
        let bytes = u64::from(count) * size;
        let mut known: Vec<u64> = (self.requests.open.keys().copied())
            .filter(|&address| place(address) < bytes && place(address).is_multiple_of(size))
            .collect();
        known.sort_unstable_by_key(|&address| place(address));
        Ok(known)
    }

    fn begin(&mut self, message: Message, call: &liballprof::Call<'_>) -> Result<(), String> {
        let address = call.address(6)?;
        self.requests.begin(address, false, self.calls);
        self.calls
            .push(Call::Message(message, Until::Requested(address)));
        Ok(())
    }

    fn prepare(&mut self, message: Message, call: &liballprof::Call<'_>) -> Result<(), String> {
        let address = call.address(6)?;
        self.requests.begin(address, true, self.calls);
        self.calls.push(Call::Prepare(message, address));
        Ok(())
    }

    /// The message that a call sends, whose first arguments are buffer, count, type, destination.
    fn send(&mut self, call: &liballprof::Call<'_>, tag: usize) -> Result<Message, String> {
        let comm = self.comm_of(call)?;
        // Negative: MPI_PROC_NULL.
        let Ok(to) = u32::try_from(call.int(3)?) else {
            return Ok(Message::Nothing);
        };
        Ok(Message::Send {
            comm,
            to,
            bytes: call.bytes(1, 2)?,
            tag: call.whole(tag)?,
        })
    }

    fn receive(
        &mut self,
        call: &liballprof::Call<'_>,
        source: usize,
        tag: usize,
    ) -> Result<Message, String> {
        let comm = self.comm_of(call)?;
        let from = match call.int(source)? {
            any if any == self.library.any_source => None,
            // MPI_PROC_NULL.
            nobody if nobody < 0 => return Ok(Message::Nothing),
            source => Some(source.unsigned_abs()),
        };
        Ok(Message::Receive {
            comm,
            from,
            tag: u32::try_from(call.int(tag)?).ok(),
        })
    }

    fn comm_of(&mut self, call: &liballprof::Call<'_>) -> Result<Slot, String> {
        let place = place_of_comm(call).unwrap_or(usize::MAX);
        self.comms.slot(call.comm(place)?, self.calls)
    }
}

/// A collective of a name.
#[derive(Clone, Copy)]
struct Collective<'a> {
    /// Without `MPI_`, and of non-blocking ones without `I`.
    name: &'a str,
    /// Whether the call waits.
    waits: bool,
}

impl<'a> Collective<'a> {
    fn of(function: &'a str) -> Option<Self> {
        const NAMES: [&str; 17] = [
            "barrier",
            "bcast",
            "reduce",
            "allreduce",
            "scan",
            "exscan",
            "gather",
            "gatherv",
            "scatter",
            "scatterv",
            "allgather",
            "allgatherv",
            "alltoall",
            "alltoallv",
            "alltoallw",
            "reduce_scatter",
            "reduce_scatter_block",
        ];
        let name = function.strip_prefix("MPI_")?;
        let is = |name: &str, known: &&str| name.eq_ignore_ascii_case(known);
        if NAMES.iter().any(|known| is(name, known)) {
            return Some(Self { name, waits: true });
        }
        let name = name.strip_prefix('I')?;
        let found = NAMES.iter().any(|known| is(name, known));
        found.then_some(Self { name, waits: false })
    }

    /// Which argument is the communicator: the last, but for the request.
    fn place(&self, call: &liballprof::Call<'_>) -> usize {
        let behind = if self.waits { 1 } else { 2 };
        call.arguments().saturating_sub(behind)
    }

    fn shape(&self, call: &liballprof::Call<'_>, comm: Comm) -> Result<Shape, String> {
        // A list of counts is two arguments, if it is written at all.
        let with_lists = |arguments: usize| match self.place(call) + 1 == arguments {
            true => Ok(()),
            false => Err(format!(
                "{}: the trace does not tell the counts of its members",
                call.function()
            )),
        };
        let at_root = |all: &[u64], root: u32| {
            (all.get(root as usize).copied())
                .ok_or_else(|| format!("{} counts, but the root is {root}", all.len()))
        };
        Ok(match self.name.to_ascii_lowercase().as_str() {
            "barrier" => Shape::Barrier,
            "bcast" => Shape::Broadcast {
                root: call.whole(3)?,
                bytes: call.bytes(1, 2)?,
            },
            "reduce" => Shape::Reduce {
                root: call.whole(5)?,
                bytes: call.bytes(2, 3)?,
            },
            "allreduce" => Shape::Allreduce {
                bytes: call.bytes(2, 3)?,
            },
            "scan" => Shape::Scan {
                bytes: call.bytes(2, 3)?,
            },
            "exscan" => Shape::ExclusiveScan {
                bytes: call.bytes(2, 3)?,
            },
            // Only the root's receiving side means something, and everybody's sending side.
            "gather" => {
                let root = call.whole(6)?;
                let bytes = match comm.rank == root {
                    true => call.bytes(4, 5)?,
                    false => call.bytes(1, 2)?,
                };
                Shape::Gather { root, bytes }
            }
            "gatherv" => {
                with_lists(11)?;
                let root = call.whole(9)?;
                match comm.rank == root {
                    true => {
                        let all = call.list(5, 8)?;
                        let mine = at_root(&all, root)?;
                        let all = Some(all);
                        Shape::GatherVarying { root, mine, all }
                    }
                    false => Shape::GatherVarying {
                        root,
                        mine: call.bytes(1, 2)?,
                        all: None,
                    },
                }
            }
            "scatter" => {
                let root = call.whole(6)?;
                let bytes = match comm.rank == root {
                    true => call.bytes(1, 2)?,
                    false => call.bytes(4, 5)?,
                };
                Shape::Scatter { root, bytes }
            }
            "scatterv" => {
                with_lists(11)?;
                let root = call.whole(9)?;
                match comm.rank == root {
                    true => {
                        let all = call.list(2, 5)?;
                        let mine = at_root(&all, root)?;
                        let all = Some(all);
                        Shape::ScatterVarying { root, mine, all }
                    }
                    false => Shape::ScatterVarying {
                        root,
                        mine: call.bytes(7, 8)?,
                        all: None,
                    },
                }
            }
            "allgather" => Shape::Allgather {
                bytes: call.bytes(4, 5)?,
            },
            "allgatherv" => {
                with_lists(10)?;
                Shape::AllgatherVarying {
                    all: call.list(5, 8)?,
                }
            }
            "alltoall" => Shape::Alltoall {
                bytes: call.bytes(4, 5)?,
            },
            "alltoallv" => {
                with_lists(13)?;
                Shape::AlltoallVarying {
                    sent: call.list(2, 5)?,
                    received: call.list(8, 11)?,
                    exact: true,
                }
            }
            "reduce_scatter" => {
                with_lists(7)?;
                Shape::ReduceScatter {
                    all: call.list(3, 4)?,
                }
            }
            "reduce_scatter_block" => Shape::ReduceScatter {
                all: vec![call.bytes(2, 3)?; comm.size as usize].into(),
            },
            _ => {
                with_lists(usize::MAX)?;
                Shape::Unknown
            }
        })
    }
}
