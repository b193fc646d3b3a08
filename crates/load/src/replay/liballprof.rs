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

mod collective;
mod communicators;
mod requests;
mod translation;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_traces::liballprof::{self, Comm, LiballprofJob, LiballprofReader, Moment};
use odonata_traces::{Position, ReopenedFile, TraceError};

use collective::Collective;
use communicators::RankCommunicators;
use requests::Requests;
use translation::Translation;

use super::call::{Call, Calls, Place, Record, Source, Span, Visit};
use super::format::{Counter, Start, TraceFormat};
use super::{Kind, Options};

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF` of MPICH; its other handles have the same or the next
/// higher bits set.
const MPICH_WORLD: u64 = 0x4400_0000;
const MPICH_SELF: u64 = 0x4400_0001;
/// Handles of Fortran below this are numbers of a table, others of C are addresses.
const TABLE: u64 = 1 << 16;

/// A rank's number in a communicator and the communicator's size.
type RankAndSize = (u32, u32);

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
    standings: Vec<Arc<[Option<RankAndSize>]>>,
    /// By rank, the handles that it uses, each with its standing there.
    used: Vec<Arc<[(u64, RankAndSize)]>>,
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
            let mut handles: Vec<(u64, RankAndSize)> = found.used.into_iter().collect();
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
    used: HashSet<(u64, RankAndSize)>,
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
fn standings(makings: &[Vec<Making>]) -> Vec<Arc<[Option<RankAndSize>]>> {
    let count = makings.iter().map(Vec::len).max().unwrap_or(0);
    let mut found: Vec<Vec<Option<RankAndSize>>> = makings
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
            comms: RankCommunicators::new(
                (world, standing),
                self.standings[rank as usize].clone(),
                self.used[rank as usize].clone(),
            ),
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

/// The calls of one rank.
struct LiballprofCalls<'a> {
    source: &'a LiballprofSource,
    reader: LiballprofReader<ReopenedFile>,
    library: Library,
    comms: RankCommunicators,
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

/// Jobs of liballprof, by the trace of rank 0.
pub(in crate::replay) struct Liballprof;

impl TraceFormat for Liballprof {
    const IS_MPI: bool = true;

    fn recognises(start: &Start<'_>) -> bool {
        let call = start.lines().find(|line| !line.starts_with('#'));
        start.text.starts_with(liballprof::MARK)
            || call.is_some_and(|line| line.starts_with("MPI_") && line.contains(':'))
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let job = LiballprofJob::open(path)?;
        counter.summary.ranks = u64::from(job.ranks());
        for rank in 0..job.ranks() {
            let mut reader = job.rank(rank)?;
            while let Some(call) = reader.next_call()? {
                let name = call.function();
                counter.add(name, call.sent(), || {
                    format!("rank {rank}: {}", call.text())
                });
            }
            if rank == 0 {
                let remarks: Vec<String> = reader.remarks().to_vec();
                for (begin, name) in [("time: ", "start"), ("hostname: ", "host")] {
                    let said = remarks.iter().find_map(|remark| remark.strip_prefix(begin));
                    if let Some(said) = said {
                        counter.fact(name, said);
                    }
                }
            }
        }
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        Kind::mpi(LiballprofSource::open(path)?, options)
    }

    fn other_files(path: &Path) -> Vec<PathBuf> {
        LiballprofJob::open(path).map_or_else(
            |_| Vec::new(),
            |job| {
                (1..job.ranks())
                    .map(|rank| job.path(rank).to_owned())
                    .collect()
            },
        )
    }
}
