//! The formats of traces: how each is recognised, looked at and replayed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use odonata_declare::Named;
use odonata_traces::{Position, TraceError};

use super::{Format, Kind, Options};

/// A format of traces, by one of its files.
pub(super) trait TraceFormat {
    /// Whether it is a trace of MPI, of which a part can be replayed.
    const IS_MPI: bool = false;

    /// Whether a file that begins like this is of the format.
    fn recognises(start: &Start<'_>) -> bool;

    /// Reads a whole trace and counts what it holds.
    ///
    /// # Errors
    /// If it is damaged.
    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError>;

    /// Opens a trace and reads it once.
    ///
    /// # Errors
    /// If it is damaged, does not fit together or not the options.
    fn open(path: &Path, options: Options) -> Result<Kind, TraceError>;

    /// The other files of a trace; none if it cannot be opened, which says what is wrong.
    fn other_files(path: &Path) -> Vec<PathBuf> {
        let _ = path;
        Vec::new()
    }
}

/// How a file begins.
pub(super) struct Start<'a> {
    pub bytes: &'a [u8],
    pub text: Cow<'a, str>,
}

impl<'a> Start<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self { bytes, text }
    }

    /// Its lines that are not blank, without blanks around them.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    }
}

/// Declares the formats, in the order in which a file is asked whether it is of them.
macro_rules! formats {
    ($($(#[$text:meta])+ $name:ident($format:ty) = $called:literal,)+) => {
        /// A format that is recognised by a file's first bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, odonata_declare::Named)]
        pub enum Format {
            $(
                $(#[$text])+
                #[serde(rename = $called)]
                $name,
            )+
        }

        impl Format {
            fn of_start(start: &Start<'_>) -> Option<Self> {
                $(if <$format as TraceFormat>::recognises(start) {
                    return Some(Self::$name);
                })+
                None
            }

            /// Whether it is a trace of MPI, of which a part can be replayed.
            fn is_mpi(self) -> bool {
                match self {
                    $(Self::$name => <$format as TraceFormat>::IS_MPI,)+
                }
            }

            fn count(self, path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
                match self {
                    $(Self::$name => <$format as TraceFormat>::count(path, counter),)+
                }
            }

            fn open(self, path: &Path, options: Options) -> Result<Kind, TraceError> {
                match self {
                    $(Self::$name => <$format as TraceFormat>::open(path, options),)+
                }
            }

            fn other_files(self, path: &Path) -> Vec<PathBuf> {
                match self {
                    $(Self::$name => <$format as TraceFormat>::other_files(path),)+
                }
            }
        }
    };
}
pub(super) use formats;

impl Format {
    /// Tells the format of a file from its first 4 KiB.
    ///
    /// # Errors
    /// If the file cannot be read or is of none of the formats.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        let mut start = Vec::new();
        let read = file.take(4096).read_to_end(&mut start);
        let name = path.display().to_string();
        read.map_err(|error| TraceError::io(&name, Position::Byte(0), &error))?;
        Self::of_start(&Start::new(&start)).ok_or_else(|| {
            let files: Vec<&str> = Self::ALL
                .iter()
                .map(|one| one.text().trim_end_matches('.'))
                .collect();
            let reason = format!(
                "is of none of the formats that are read: {}",
                files.join("; ")
            );
            TraceError::new(&name, Position::Whole, reason)
        })
    }
}

/// Records of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCount {
    /// Records.
    pub records: u64,
    /// Bytes of the messages and one-sided writes that these records begin; 0 for
    /// other kinds. Collectives are not counted: what they send depends on their
    /// algorithm.
    pub bytes_sent: u64,
}

/// What a trace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What it is.
    pub format: Format,
    /// Ranks, locations or end points that it is about; 1 for the trace of a rank.
    pub ranks: u64,
    /// Records in all.
    pub records: u64,
    /// Facts from headers: name and value.
    pub facts: Vec<(&'static str, String)>,
    /// Records by kind.
    pub kinds: BTreeMap<String, KindCount>,
    /// The first records as text, as many as were asked for.
    pub samples: Vec<String>,
}

impl Summary {
    /// Reads a whole trace and counts what it holds; the first `samples` records
    /// are kept as text.
    ///
    /// # Errors
    /// If the file is of no known format or damaged.
    pub fn read(path: &Path, samples: usize) -> Result<Self, TraceError> {
        let format = Format::of(path)?;
        let mut counter = Counter {
            summary: Self {
                format,
                ranks: 1,
                records: 0,
                facts: Vec::new(),
                kinds: BTreeMap::new(),
                samples: Vec::new(),
            },
            samples,
        };
        format.count(path, &mut counter)?;
        Ok(counter.summary)
    }
}

/// Counts the records of a trace.
pub(super) struct Counter {
    pub summary: Summary,
    samples: usize,
}

impl Counter {
    pub fn fact(&mut self, name: &'static str, value: impl ToString) {
        self.summary.facts.push((name, value.to_string()));
    }

    pub fn add(&mut self, kind: &str, bytes: u64, sample: impl FnOnce() -> String) {
        self.summary.records += 1;
        // Kinds are few: a new one is put in once, and found without a copy.
        let count = match self.summary.kinds.get_mut(kind) {
            Some(count) => count,
            None => self.summary.kinds.entry(kind.to_owned()).or_default(),
        };
        count.records += 1;
        count.bytes_sent = count.bytes_sent.saturating_add(bytes);
        if self.summary.samples.len() < self.samples {
            self.summary.samples.push(sample());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
        let cases: [(&[u8], Option<Format>); 20] = [
            (b"\xff\xaa\xddDUMPI\0\0", Some(Format::DumpiRank)),
            (b"hostname=a\nnumprocs=4\n", Some(Format::DumpiJob)),
            (b"num_ranks 4\n", Some(Format::GoalText)),
            (b"// tree\n\nnum_ranks 4\n", Some(Format::GoalText)),
            (b"\x7f\x10\0\0\0\0\0\0", Some(Format::GoalBinary)),
            (b"\x03\x42OTF2\0\x03", Some(Format::Otf2)),
            (b"Nodes 8\nConnections 1\n", Some(Format::Htsim)),
            (b"# a ring\nNodes 8\nConnections 1\n", Some(Format::Htsim)),
            (b"XNodes 8\nConnections 1\n", Some(Format::Htsim)),
            (b"X\n0->1 start 0 size 8\n", Some(Format::Htsim)),
            (b"0 1475306029 739 140 72\n", Some(Format::Packets)),
            (
                b"# htor's PMPI Tracer 0.9 Output File\n",
                Some(Format::Liballprof),
            ),
            (
                b"# cut\n\nMPI_Barrier:1:2,0,4:3\n",
                Some(Format::Liballprof),
            ),
            (b"\x07\x0a\x050.0.4\x02\x08\x01", Some(Format::Chakra)),
            (b"{\"workload_graph\": []}", Some(Format::Chakra)),
            (b"{\"traceEvents\": []}", None),
            (b"MPI_Barrier\n", None),
            (b"0 1475306029 739 140\n", None),
            (b"", None),
            (b"\n \n", None),
        ];
        for (start, format) in cases {
            assert_eq!(Format::of_start(&Start::new(start)), format, "{start:?}");
        }
    }
}
