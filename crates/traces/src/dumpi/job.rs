//! All trace files of a job.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_files::{Compression, Unpacked};
use odonata_units::RankId;

use super::function::{Function, Kind};
use super::names::COMM_WORLD;
use super::reader::DumpiReader;
use super::record::{Call, Header, Trailer, Value};
use crate::bytes::{ByteReader, shared_buffer};
use crate::error::{Position, TraceError};
use crate::lines::LineReader;
use crate::reopened::ReopenedFile;

/// Most ranks that a job may have.
const MAX_RANKS: u32 = 1 << 24;

/// The text file that describes a job: `key=value` lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaFile {
    /// Number of ranks (`numprocs`).
    pub ranks: u32,
    /// Start of the names of the trace files (`fileprefix`).
    pub prefix: String,
    /// Host of rank 0 (`hostname`).
    pub host: String,
    /// User (`username`).
    pub user: String,
    /// Start of the job, seconds since 1970 (`startime`, so spelt).
    pub start_time: Option<u64>,
    /// Version of the library (`version`, `subversion`, `subsubversion`).
    pub version: [u32; 3],
}

impl MetaFile {
    /// Reads the description of a job. Keys that are not known are passed over.
    ///
    /// # Errors
    /// If the file cannot be read, a line has no `=`, a number is none, or
    /// `numprocs` or `fileprefix` is missing.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::read_from(file, &path.display().to_string())
    }

    /// Reads the description of a job from `source`, called `file` in messages.
    ///
    /// # Errors
    /// As [`MetaFile::read`].
    pub fn read_from(source: impl Read, file: &str) -> Result<Self, TraceError> {
        let mut meta = Self::default();
        let (mut ranks, mut prefix) = (None, None);
        let mut lines = LineReader::new(source, file.to_owned());
        while let Some(line) = lines.advance()? {
            let line = String::from_utf8_lossy(line).into_owned();
            let line = line.trim();
            let at = Position::Line(lines.number());
            if line.is_empty() {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                let reason = format!("\"{line}\" is no line of the form key=value");
                return Err(TraceError::new(file, at, reason));
            };
            let whole = || {
                value.parse::<u64>().map_err(|_| {
                    let reason = format!("{key} is \"{value}\", but must be a whole number");
                    TraceError::new(file, at, reason)
                })
            };
            let small = || {
                u32::try_from(whole()?).map_err(|_| {
                    let reason = format!("{key} is {value}, more than fits into 32 bits");
                    TraceError::new(file, at, reason)
                })
            };
            match key {
                "numprocs" => ranks = Some((small()?, at)),
                "fileprefix" => prefix = Some(value.to_owned()),
                "hostname" => value.clone_into(&mut meta.host),
                "username" => value.clone_into(&mut meta.user),
                "startime" | "starttime" => meta.start_time = Some(whole()?),
                "version" => meta.version[0] = small()?,
                "subversion" => meta.version[1] = small()?,
                "subsubversion" => meta.version[2] = small()?,
                _ => {}
            }
        }
        let missing = |key: &str| {
            let reason = format!("no line {key}=…; this is no description of a DUMPI job");
            TraceError::new(file, Position::Whole, reason)
        };
        let (ranks, at) = ranks.ok_or_else(|| missing("numprocs"))?;
        if !(1..=MAX_RANKS).contains(&ranks) {
            let reason = format!("numprocs is {ranks}; a job has 1 to {MAX_RANKS} ranks");
            return Err(TraceError::new(file, at, reason));
        }
        meta.ranks = ranks;
        meta.prefix = prefix
            .filter(|prefix| !prefix.is_empty())
            .ok_or_else(|| missing("fileprefix"))?;
        Ok(meta)
    }
}

/// Where the trace files of a job are.
#[derive(Clone, Debug)]
enum Files {
    /// One per rank, in this folder.
    PerRank(PathBuf),
    /// One for all ranks, and its content where it is compressed.
    Repeated(PathBuf, Option<Arc<Unpacked>>),
}

/// A job whose trace files are all there: one per rank, beside the description, or
/// one rank's file that stands for all.
#[derive(Clone, Debug)]
pub struct DumpiJob {
    meta: MetaFile,
    files: Files,
}

impl DumpiJob {
    /// Finds the trace files of the job that `meta` describes:
    /// `PREFIX-RANK.bin` in the same folder, the rank with at least four digits, or a
    /// compressed one (`.bin.gz`, `.bin.xz`, `.bin.zst`).
    ///
    /// # Errors
    /// If the description is damaged or a rank's file is missing.
    pub fn open(meta: &Path) -> Result<Self, TraceError> {
        let job = Self {
            meta: MetaFile::read(meta)?,
            files: Files::PerRank(meta.parent().unwrap_or(Path::new("")).to_owned()),
        };
        let mut missing = (0..job.meta.ranks)
            .map(RankId)
            .filter(|&rank| !fs::exists(job.path(rank)).unwrap_or(false));
        if let Some(first) = missing.next() {
            let reason = format!(
                "the job has {} ranks, but {} of their trace files are missing, the first \
                 being {}",
                job.meta.ranks,
                missing.count() + 1,
                job.path(first).display()
            );
            let file = meta.display().to_string();
            return Err(TraceError::new(&file, Position::Whole, reason));
        }
        Ok(job)
    }

    /// Takes one rank's trace for all `ranks` ranks of a job, where the files of the
    /// others are lost. What a rank does is then not what it did, and its peers are
    /// those of the traced rank; a replay of the job must say what that means.
    ///
    /// # Errors
    /// If the file is damaged, or there are no ranks or too many.
    pub fn repeated(trace: &Path, ranks: u32) -> Result<Self, TraceError> {
        let unpacked = Unpacked::of(trace).map_err(|error| TraceError::open(trace, &error))?;
        let unpacked = unpacked.map(Arc::new);
        let file = unpacked.as_ref().map_or(trace, |file| file.path());
        let file = ReopenedFile::new(file).map_err(|error| TraceError::open(trace, &error))?;
        let reader = DumpiReader::new(file, trace.display().to_string())?;
        if !(1..=MAX_RANKS).contains(&ranks) {
            let reason = format!("repeated {ranks} times; a job has 1 to {MAX_RANKS} ranks");
            return Err(TraceError::new(reader.file(), Position::Whole, reason));
        }
        let header = reader.header();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            meta: MetaFile {
                ranks,
                prefix: trace.display().to_string(),
                host: text(&header.host),
                user: text(&header.user),
                start_time: Some(header.start_time),
                version: header.version.map(u32::from),
            },
            files: Files::Repeated(trace.to_owned(), unpacked),
        })
    }

    /// What the job's description says.
    pub fn meta(&self) -> &MetaFile {
        &self.meta
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.meta.ranks
    }

    /// Trace file of a rank.
    pub fn path(&self, rank: RankId) -> PathBuf {
        match &self.files {
            Files::Repeated(trace, _) => trace.clone(),
            Files::PerRank(folder) => {
                // The prefix may be a path on the machine that wrote the trace.
                let prefix = self.meta.prefix.rsplit('/').next().unwrap_or_default();
                let name = format!("{prefix}-{:04}.bin", rank.0);
                let plain = folder.join(&name);
                let packed = Compression::ALL.map(|how| format!("{name}.{}", how.ending()));
                let there = |path: &PathBuf| fs::exists(path).unwrap_or(false);
                let mut packed = packed.iter().map(|name| folder.join(name));
                match there(&plain) {
                    true => plain,
                    false => packed.find(there).unwrap_or(plain),
                }
            }
        }
    }

    /// Opens the trace of a rank.
    ///
    /// # Errors
    /// As [`DumpiReader::open`].
    pub fn rank(&self, rank: RankId) -> Result<RankReader, TraceError> {
        let path = self.path(rank);
        let file = match &self.files {
            Files::Repeated(_, Some(unpacked)) => unpacked.path(),
            _ => &path,
        };
        let file = ReopenedFile::new(file).map_err(|error| TraceError::open(&path, &error))?;
        let name = path.display().to_string();
        let buffer = shared_buffer(u64::from(self.meta.ranks));
        let bytes = ByteReader::with_buffer(file, name, buffer)?;
        Ok(RankReader {
            reader: DumpiReader::on(bytes)?,
            rank,
            ranks: self.meta.ranks,
            own: matches!(self.files, Files::PerRank(_)),
            failed: false,
        })
    }
}

/// The trace of one rank of a job. All ranks may be read side by side: their
/// files are open only while they are read, and their buffers have 64 MiB
/// together, or 4 KiB each if there are more than 16,384. Beside what [`DumpiReader`] checks, the calls
/// must fit the job: a trace does not say whose it is, but `MPI_Comm_rank` and
/// `MPI_Comm_size` of `MPI_COMM_WORLD` tell, and no peer may lie beyond the job. A
/// trace that is repeated for all ranks is not checked in this way.
pub struct RankReader {
    reader: DumpiReader<ReopenedFile>,
    rank: RankId,
    ranks: u32,
    /// Whether the trace is that of this rank.
    own: bool,
    failed: bool,
}

impl RankReader {
    /// Where and when the trace was captured.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// What lies behind the records.
    pub fn trailer(&self) -> &Trailer {
        self.reader.trailer()
    }

    /// The next record; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// As [`DumpiReader::next_call`], and if the record cannot be of this rank.
    pub fn next_call(&mut self) -> Result<Option<Call>, TraceError> {
        if self.failed {
            return Ok(None);
        }
        let result = self.reader.next_call().and_then(|call| {
            if let Some(call) = call.as_ref().filter(|_| self.own) {
                self.check(call)?;
            }
            Ok(call)
        });
        self.failed = result.is_err();
        result
    }

    fn check(&self, call: &Call) -> Result<(), TraceError> {
        let fail = |reason: String| {
            let position = Position::Byte(call.offset);
            Err(TraceError::new(self.reader.file(), position, reason))
        };
        let world = call.value("comm") == Some(&Value::Handle(COMM_WORLD));
        if !world {
            return Ok(());
        }
        let name = call.function.name();
        match call.function {
            Function::Comm_rank if call.int("rank") != Some(i64::from(self.rank.0)) => {
                return fail(format!(
                    "{name} says that this is the trace of rank {}, but the file is named as \
                     that of rank {}",
                    call.int("rank").unwrap_or_default(),
                    self.rank.0
                ));
            }
            Function::Comm_size if call.int("size") != Some(i64::from(self.ranks)) => {
                return fail(format!(
                    "{name} says that the job has {} ranks, but its description {}",
                    call.int("size").unwrap_or_default(),
                    self.ranks
                ));
            }
            _ => {}
        }
        for argument in &call.arguments {
            let peer = matches!(argument.field.kind, Kind::Source | Kind::Destination)
                || argument.field.name == "root";
            if let Value::Int(rank) = argument.value
                && peer
                && i64::from(rank) >= i64::from(self.ranks)
            {
                return fail(format!(
                    "{name} names rank {rank}, but the job has the ranks 0 to {}",
                    self.ranks - 1
                ));
            }
        }
        Ok(())
    }
}

impl Iterator for RankReader {
    type Item = Result<Call, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_call().transpose()
    }
}
