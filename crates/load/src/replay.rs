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
mod clock;
mod collective;
mod communicators;
mod dumpi;
mod facts;
mod groups;
mod liballprof;
mod memberships;
mod mpi;
mod operations;
mod options;
mod otf2;
mod region;
mod requests;
mod schedule;
mod survey;

use std::path::{Path, PathBuf};

use odonata_traces::dumpi::DumpiJob;
use odonata_traces::liballprof::LiballprofJob;
use odonata_traces::otf2::Archive;
use odonata_traces::{Format, Position, TraceError};
use odonata_units::{Picoseconds, RankId};

pub use clock::Compute;
pub use dumpi::Partners;
pub use facts::TraceFacts;
pub use options::Options;
pub use region::{Border, Region};

use self::dumpi::DumpiSource;
use self::liballprof::LiballprofSource;
use self::mpi::MpiTrace;
use self::otf2::Otf2Source;
use self::schedule::{Flows, GoalFile, Packets, Scheduled};
use crate::program::{Program, ProgramError, RankProgram, Totals};

/// Longest that a rank may compute in all, about 53 days.
const LONGEST: Picoseconds = Picoseconds(1 << 62);

/// A trace that can be replayed.
pub struct Trace {
    format: Format,
    kind: Kind,
}

enum Kind {
    Mpi(Box<MpiTrace>),
    Scheduled(Box<Scheduled>),
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
        let is_mpi = matches!(
            format,
            Format::DumpiJob | Format::DumpiRank | Format::Otf2 | Format::Liballprof
        );
        if !options.region.is_whole() && !is_mpi {
            return Err(fail(format!(
                "is a {}; a start and an end can be chosen in traces of MPI (DUMPI, OTF2, liballprof)",
                format.name()
            )));
        }
        let (ranks, compute) = (options.ranks, options.compute);
        let mpi = |source: Box<dyn call::Source>, options| {
            MpiTrace::new(source, options).map(|trace| Kind::Mpi(Box::new(trace)))
        };
        let kind = match format {
            Format::DumpiJob => mpi(Box::new(DumpiSource::open(path)?), options)?,
            Format::DumpiRank => {
                let Some(partners) = options.repeat_rank else {
                    return Err(fail(
                        "is the trace of one rank; open the description of its job (.meta), or \
                         let it stand for all ranks (repeat_rank)"
                            .to_owned(),
                    ));
                };
                let source = DumpiSource::repeat(path, ranks, partners)?;
                mpi(Box::new(source), options)?
            }
            Format::Otf2 => mpi(Box::new(Otf2Source::open(path)?), options)?,
            Format::Liballprof => mpi(Box::new(LiballprofSource::open(path)?), options)?,
            Format::GoalText => {
                Kind::Scheduled(Box::new(GoalFile::open(path, true, options.compute)?))
            }
            Format::GoalBinary => {
                Kind::Scheduled(Box::new(GoalFile::open(path, false, options.compute)?))
            }
            Format::Htsim => Kind::Scheduled(Box::new(Flows::open(path, options.compute)?)),
            Format::Packets => Kind::Scheduled(Box::new(Packets::open(path, options.compute)?)),
        };
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
    match Format::of(path) {
        Ok(Format::DumpiJob) => {
            if let Ok(job) = DumpiJob::open(path) {
                files.extend((0..job.ranks()).map(|rank| job.path(RankId(rank))));
            }
        }
        Ok(Format::Otf2) => {
            if let Ok(archive) = Archive::open(path) {
                files.push(path.with_extension("def"));
                files.extend(Some(path.with_extension("marker")).filter(|file| file.exists()));
                let folder = path.with_extension("");
                for location in archive.definitions().locations().keys() {
                    let of = ["evt", "def"].map(|end| folder.join(format!("{}.{end}", location.0)));
                    files.extend(of.into_iter().filter(|file| file.exists()));
                }
            }
        }
        Ok(Format::Liballprof) => {
            if let Ok(job) = LiballprofJob::open(path) {
                files.extend((1..job.ranks()).map(|rank| job.path(rank).to_owned()));
            }
        }
        _ => {}
    }
    files
}

impl Program for Trace {
    fn ranks(&self) -> u32 {
        self.facts().ranks
    }

    fn processors(&self) -> u8 {
        match &self.kind {
            Kind::Mpi(_) => 1,
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
