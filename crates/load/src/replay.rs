//! Application traces as programs: what real applications did, done again on
//! another network.
//!
//! [`Trace::open`] takes a file of any format that is read. Traces of MPI (DUMPI,
//! OTF2, liballprof) become [`Operations`](crate::Operations); they are read once
//! before the run, to find out who the members of communicators are and whether
//! everything that is sent is received, and once as the run goes on. Nothing is
//! read whole.
//!
//! What a replay keeps of a trace: which messages, collectives and one-sided
//! transfers each rank begins, in which order, what it waits for, and how long it
//! computes in between. What it does not keep: how long calls took, for that is
//! what the simulated network decides.

mod balance;
mod call;
mod chakra;
mod clock;
mod collective;
mod communicators;
mod dumpi;
mod facts;
mod format;
mod groups;
mod liballprof;
mod memberships;
mod mpi;
mod operations;
mod options;
mod otf2;
mod partners;
mod region;
mod requests;
mod schedule;
mod survey;

use std::path::{Path, PathBuf};

use odonata_traces::{Position, TraceError};
use odonata_units::{Picoseconds, RankId};

pub use clock::Compute;
pub use facts::TraceFacts;
pub use format::{KindCount, Summary};
pub use options::Options;
pub use partners::Partners;
pub use region::{Border, Region};

use self::format::{Counter, Start, TraceFormat, formats};
use self::mpi::MpiTrace;
use self::schedule::Scheduled;
use crate::program::{Program, ProgramError, RankProgram, Totals};

/// Longest that a rank may compute in all, about 53 days.
const LONGEST: Picoseconds = Picoseconds(1 << 62);

formats! {
    /// The DUMPI trace of one rank (`.bin`).
    DumpiRank(dumpi::DumpiRank) = "DUMPI trace of a rank",
    /// A binary GOAL schedule.
    GoalBinary(schedule::GoalBinary) = "GOAL schedule (binary)",
    /// The anchor file of an OTF2 archive (`.otf2`).
    Otf2(otf2::Otf2) = "OTF2 archive",
    /// The liballprof trace of rank 0 (`.txt`), with those of the other ranks beside it.
    Liballprof(liballprof::Liballprof) = "liballprof job",
    /// The description of a DUMPI job (`.meta`).
    DumpiJob(dumpi::DumpiJobFile) = "DUMPI job",
    /// A GOAL schedule as text.
    GoalText(schedule::GoalText) = "GOAL schedule (text)",
    /// A connection matrix of htsim (`.cm`).
    Htsim(schedule::Htsim) = "htsim connection matrix",
    /// The Chakra execution trace of one rank (`NAME.RANK.et`, `.json`), with those of the
    /// other ranks beside it, or an archive of them.
    Chakra(chakra::Chakra) = "Chakra execution trace",
    /// A packet trace.
    Packets(schedule::PacketTrace) = "packet trace",
}

/// A trace that can be replayed.
pub struct Trace {
    format: Format,
    kind: Kind,
}

enum Kind {
    Mpi(Box<MpiTrace>),
    Scheduled(Box<Scheduled>),
}

impl Kind {
    fn mpi(source: impl call::Source + 'static, options: Options) -> Result<Self, TraceError> {
        MpiTrace::new(Box::new(source), options).map(|trace| Self::Mpi(Box::new(trace)))
    }

    fn scheduled(trace: Scheduled) -> Self {
        Self::Scheduled(Box::new(trace))
    }
}

impl Trace {
    /// Opens a trace, whatever its format, and reads it once.
    ///
    /// # Errors
    /// If it is of no known format, damaged, does not fit together or not the
    /// options.
    pub fn open(path: &Path, options: Options) -> Result<Self, TraceError> {
        let format = Format::of(path)?;
        let file = path.display().to_string();
        let fail = |reason: String| TraceError::new(&file, Position::Whole, reason);
        if options.repeat_rank.is_some() && format != Format::DumpiRank {
            return Err(fail(format!(
                "is a {}; what can be repeated for all ranks is the trace of one rank (DUMPI, .bin)",
                format.name()
            )));
        }
        if let Compute::Scaled(scale) = options.compute
            && !(scale >= 0.0 && scale.is_finite())
        {
            return Err(fail(format!(
                "compute time scaled by {scale}; allowed: 0 or more"
            )));
        }
        if !options.region.is_whole() && !format.is_mpi() {
            let mpi = Format::ALL.iter().filter(|one| one.is_mpi());
            return Err(fail(format!(
                "is a {}; a start and an end can be chosen in traces of MPI ({})",
                format.name(),
                mpi.map(Format::name).collect::<Vec<_>>().join(", ")
            )));
        }
        let (ranks, compute) = (options.ranks, options.compute);
        let kind = format.open(path, options)?;
        let trace = Self { format, kind };
        let longest = trace.facts().longest_compute;
        if let Compute::Scaled(scale) = compute
            && longest.0 as f64 * scale > LONGEST.0 as f64
        {
            return Err(fail(format!(
                "a rank computes {longest}, which times {scale} exceeds the {LONGEST} that a run \
                 may last"
            )));
        }
        if let Some(ranks) = ranks
            && ranks != trace.ranks()
        {
            return Err(fail(format!(
                "has {} ranks, but {ranks} are wanted",
                trace.ranks()
            )));
        }
        Ok(trace)
    }

    /// What the file is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What it holds.
    pub fn facts(&self) -> &TraceFacts {
        match &self.kind {
            Kind::Mpi(trace) => trace.facts(),
            Kind::Scheduled(trace) => trace.facts(),
        }
    }
}

/// All files of a trace, the one by which it is opened first. Of a trace that cannot
/// be opened only that one; opening it says what is wrong.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    if let Ok(format) = Format::of(path) {
        files.extend(format.other_files(path));
    }
    files
}

impl Program for Trace {
    fn ranks(&self) -> u32 {
        self.facts().ranks
    }

    fn processors(&self) -> u8 {
        match &self.kind {
            Kind::Mpi(trace) => trace.processors(),
            Kind::Scheduled(trace) => trace.processors(),
        }
    }

    fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        match &self.kind {
            Kind::Mpi(trace) => trace.start(rank),
            Kind::Scheduled(trace) => trace.start(rank),
        }
    }

    fn totals(&self) -> Option<Totals> {
        match &self.kind {
            Kind::Mpi(trace) => trace.totals(),
            Kind::Scheduled(trace) => Some(trace.totals()),
        }
    }

    fn iterations(&self) -> u32 {
        0
    }
}
