//! The files of a trace: those of all ranks beside the one that is named, or in an archive.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use odonata_traces::chakra::{self, Form};
use odonata_traces::{Position, TraceError};

/// Most bytes of a file.
const MOST_BYTES: u64 = 4 << 30;

/// Members of process groups, as ASTRA-sim wants them.
const GROUPS: &str = "comm_group.json";

/// The trace of a rank.
pub(super) struct TraceFile {
    /// Its path, in an archive behind that of the archive.
    pub name: String,
    place: Place,
}

enum Place {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

/// The traces of all ranks, in their order.
pub(super) struct Files {
    traces: Vec<TraceFile>,
    groups: Option<TraceFile>,
    /// What an archive holds besides.
    others: Vec<String>,
    /// Names of the jobs in it.
    jobs: Vec<String>,
}

/// `NAME`, rank and ending of `NAME.RANK.ENDING`.
fn parts(name: &str) -> Option<(&str, u32, &str)> {
    let (rest, ending) = name.rsplit_once('.')?;
    let (stem, digits) = rest.rsplit_once('.')?;
    let rank: u32 = digits.parse().ok()?;
    (rank.to_string() == digits).then_some((stem, rank, ending))
}

fn read(path: &Path) -> Result<Vec<u8>, TraceError> {
    odonata_files::read(path, MOST_BYTES).map_err(|error| TraceError::open(path, &error))
}

impl Files {
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let content = read(path)?;
        if chakra::is_archive(&content) {
            return Self::of_archive(path, &content);
        }
        let plain = odonata_files::without_compression(path);
        let name = plain.file_name().unwrap_or_default().to_string_lossy();
        let mut files = Self {
            traces: Vec::new(),
            groups: None,
            others: Vec::new(),
            jobs: Vec::new(),
        };
        let alone = Form::of_start(&content) == Some(Form::PyTorch);
        let Some((stem, _, ending)) = parts(&name).filter(|_| !alone) else {
            files.traces.push(TraceFile {
                name: path.display().to_string(),
                place: Place::Path(path.to_owned()),
            });
            return Ok(files);
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let fail = |error: std::io::Error| TraceError::open(folder, &error);
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(fail)? {
            let entry = entry.map_err(fail)?.file_name();
            let beside = path.with_file_name(&entry);
            let plain = odonata_files::without_compression(&beside);
            let plain = plain.file_name().unwrap_or_default().to_string_lossy();
            if plain == GROUPS {
                files.groups = Some(TraceFile::at(beside));
            } else if let Some((other, rank, its)) = parts(&plain)
                && (other, its) == (stem, ending)
                && let Some(before) = found.insert(rank, TraceFile::at(beside))
            {
                let reason = format!("is rank {rank} as {} is; one of them must go", before.name);
                return Err(TraceError::new(&found[&rank].name, Position::Whole, reason));
            }
        }
        files.traces = in_order(found, &path.display().to_string())?;
        Ok(files)
    }

    fn of_archive(path: &Path, content: &[u8]) -> Result<Self, TraceError> {
        let archive = path.display().to_string();
        let members = chakra::members(content);
        let members = members
            .map_err(|(at, reason)| TraceError::new(&archive, Position::Byte(at), reason))?;
        let mut files = Self {
            traces: Vec::new(),
            groups: None,
            others: Vec::new(),
            jobs: Vec::new(),
        };
        let mut jobs: BTreeMap<String, BTreeMap<u32, TraceFile>> = BTreeMap::new();
        for member in members {
            let file = TraceFile {
                name: format!("{archive}: {}", member.name),
                place: Place::Bytes(member.bytes.to_vec()),
            };
            if member.name.rsplit('/').next() == Some(GROUPS) {
                files.groups = Some(file);
                continue;
            }
            let (job, rank) = match (Form::of_start(member.bytes), parts(&member.name)) {
                (None, _) => {
                    files.others.push(member.name);
                    continue;
                }
                (Some(Form::PyTorch), _) | (_, None) => (member.name, 0),
                (_, Some((stem, rank, ending))) => (format!("{stem}.RANK.{ending}"), rank),
            };
            jobs.entry(job).or_default().insert(rank, file);
        }
        for (job, found) in jobs {
            files
                .traces
                .extend(in_order(found, &format!("{archive}: {job}"))?);
            files.jobs.push(job);
        }
        match files.traces.is_empty() {
            false => Ok(files),
            true => Err(TraceError::new(
                &archive,
                Position::Whole,
                "is an archive without a Chakra trace",
            )),
        }
    }

    /// Checks that there is one job.
    pub fn check_one_job(&self, path: &Path) -> Result<(), TraceError> {
        match self.jobs.len() {
            0 | 1 => Ok(()),
            _ => {
                let reason = format!(
                    "holds several traces: {}; unpack it and name one of them",
                    self.jobs.join(", ")
                );
                Err(TraceError::new(
                    &path.display().to_string(),
                    Position::Whole,
                    reason,
                ))
            }
        }
    }

    pub fn traces(&self) -> &[TraceFile] {
        &self.traces
    }

    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// Members of process groups that are given beside the traces.
    pub fn groups(&self) -> Result<BTreeMap<String, Vec<u32>>, TraceError> {
        match &self.groups {
            None => Ok(BTreeMap::new()),
            Some(file) => chakra::read_groups(&self.content(file)?, &file.name),
        }
    }

    /// The content of one.
    pub fn content<'a>(&self, file: &'a TraceFile) -> Result<Cow<'a, [u8]>, TraceError> {
        match &file.place {
            Place::Path(path) => read(path).map(Cow::Owned),
            Place::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Files besides this one.
    pub fn other_paths(&self, than: &Path) -> Vec<PathBuf> {
        let files = self.traces.iter().chain(&self.groups);
        let paths = files.filter_map(|file| match &file.place {
            Place::Path(path) if path != than => Some(path.clone()),
            _ => None,
        });
        paths.collect()
    }
}

impl TraceFile {
    fn at(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            place: Place::Path(path),
        }
    }
}

/// The traces of ranks 0, 1, …
fn in_order(found: BTreeMap<u32, TraceFile>, name: &str) -> Result<Vec<TraceFile>, TraceError> {
    match (0..)
        .zip(found.keys())
        .find(|(wanted, rank)| wanted != *rank)
    {
        None => Ok(found.into_values().collect()),
        Some((missing, rank)) => Err(TraceError::new(
            name,
            Position::Whole,
            format!("the trace of rank {missing} is missing, but there is one of rank {rank}"),
        )),
    }
}
