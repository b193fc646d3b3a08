//! What a trace is and what it holds, at a glance: for people who look at a file
//! before they simulate it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use odonata_declare::Named;
use odonata_units::RankId;

use crate::dumpi::{self, Call, DumpiJob, DumpiReader, MetaFile, SentBytes, Trailer};
use crate::error::{Position, TraceError};
use crate::goal::{Action, GoalBinaryReader, GoalTextReader, RankSchedule};
use crate::htsim::{self, ConnectionReader, Statement};
use crate::liballprof::{self, LiballprofJob};
use crate::otf2::{Archive, Event, EventKind};
use crate::packets::PacketReader;

/// A format that is recognised by a file's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Format {
    /// DUMPI trace of one rank.
    #[serde(rename = "DUMPI trace of a rank")]
    DumpiRank,
    /// Description of a DUMPI job, which stands for all its ranks.
    #[serde(rename = "DUMPI job")]
    DumpiJob,
    /// GOAL schedule as text.
    #[serde(rename = "GOAL schedule (text)")]
    GoalText,
    /// GOAL schedule in binary.
    #[serde(rename = "GOAL schedule (binary)")]
    GoalBinary,
    /// Anchor file of an OTF2 archive, which stands for all its locations.
    #[serde(rename = "OTF2 archive")]
    Otf2,
    /// Connection matrix of htsim.
    #[serde(rename = "htsim connection matrix")]
    Htsim,
    /// Packet trace.
    #[serde(rename = "packet trace")]
    Packets,
    /// Trace of liballprof of rank 0, which stands for all beside it.
    #[serde(rename = "liballprof job")]
    Liballprof,
}

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
        Self::of_start(&start).ok_or_else(|| {
            let reason = "is of none of the formats that are read: DUMPI (.bin of a rank or .meta \
                          of a job), GOAL (text or binary), OTF2 (.otf2), liballprof (.txt of rank \
                          0), htsim (.cm), packet traces";
            TraceError::new(&name, Position::Whole, reason)
        })
    }

    fn of_start(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\xff\xaa\xddDUMPI") {
            return Some(Format::DumpiRank);
        }
        let header = start.first_chunk::<8>().copied().map(u64::from_le_bytes);
        if matches!(header, Some(4_223 | 2_342)) {
            return Some(Format::GoalBinary);
        }
        if start.get(2..7) == Some(b"OTF2\0") {
            return Some(Format::Otf2);
        }
        let text = String::from_utf8_lossy(start);
        let call =
            (text.lines().map(str::trim)).find(|line| !(line.is_empty() || line.starts_with('#')));
        let is_call = |line: &str| line.starts_with("MPI_") && line.contains(':');
        if text.starts_with(liballprof::MARK) || call.is_some_and(is_call) {
            return Some(Format::Liballprof);
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.clone().next()?;
        let words: Vec<&str> = first.split_whitespace().collect();
        if lines.any(|line| line.starts_with("fileprefix=") || line.starts_with("numprocs=")) {
            Some(Format::DumpiJob)
        } else if text.contains("num_ranks") {
            Some(Format::GoalText)
        } else if matches!(words[0], "Nodes" | "Connections")
            // By any of its lines, so that a matrix whose first line is damaged is told
            // which line that is.
            || text.lines().any(|line| htsim::is_line(line.as_bytes()))
        {
            Some(Format::Htsim)
        } else if words.len() == 5 && words.iter().all(|word| word.parse::<u64>().is_ok()) {
            Some(Format::Packets)
        } else {
            None
        }
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
        let mut count = Counter {
            summary: Self {
                format,
                ranks: 1,
                records: 0,
                facts: Vec::new(),
                kinds: BTreeMap::new(),
                samples: Vec::new(),
            },
            samples,
            unknown_sizes: 0,
        };
        match format {
            Format::DumpiRank => count.dumpi_rank(path)?,
            Format::DumpiJob => count.dumpi_job(path)?,
            Format::GoalText => count.goal_text(path)?,
            Format::GoalBinary => count.goal_binary(path)?,
            Format::Otf2 => count.otf2(path)?,
            Format::Htsim => count.htsim(path)?,
            Format::Packets => count.packets(path)?,
            Format::Liballprof => count.liballprof(path)?,
        }
        Ok(count.summary)
    }
}

struct Counter {
    summary: Summary,
    samples: usize,
    /// Calls that send what has no known size.
    unknown_sizes: u64,
}

impl Counter {
    fn fact(&mut self, name: &'static str, value: impl ToString) {
        self.summary.facts.push((name, value.to_string()));
    }

    fn add(&mut self, kind: &str, bytes: u64, sample: impl FnOnce() -> String) {
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

    fn call(&mut self, call: &Call, trailer: &Trailer, sent: &mut SentBytes) {
        let bytes = sent.of(call).unwrap_or_else(|| {
            self.unknown_sizes += 1;
            0
        });
        self.add(call.function.name(), bytes, || {
            let mut text = Vec::new();
            // Writing into memory does not fail.
            let _ = dumpi::text::write_call(call, trailer, &mut text);
            String::from_utf8_lossy(&text).trim_end().to_owned()
        });
    }

    fn dumpi_header(&mut self, header: &dumpi::Header) {
        let [major, minor, patch] = header.version;
        self.fact("version", format!("{major}.{minor}.{patch}"));
        self.fact("start", dumpi::text::date(header.start_time));
        self.fact("host", String::from_utf8_lossy(&header.host));
    }

    fn dumpi_rank(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut reader = DumpiReader::open(path)?;
        self.dumpi_header(&reader.header().clone());
        let mut sent = SentBytes::new(&reader.trailer().datatype_sizes);
        while let Some(call) = reader.next_call()? {
            self.call(&call, reader.trailer(), &mut sent);
        }
        self.unknown_sizes();
        Ok(())
    }

    /// Says how many calls send what has no known size.
    fn unknown_sizes(&mut self) {
        if self.unknown_sizes > 0 {
            let calls = self.unknown_sizes;
            self.fact(
                "not counted",
                format!("bytes of {calls} calls whose datatype has no known size"),
            );
        }
    }

    fn dumpi_job(&mut self, path: &Path) -> Result<(), TraceError> {
        let job = DumpiJob::open(path)?;
        self.summary.ranks = u64::from(job.ranks());
        let MetaFile { prefix, .. } = job.meta();
        self.fact("trace files", format!("{prefix}-*.bin"));
        for rank in (0..job.ranks()).map(RankId) {
            let mut reader = job.rank(rank)?;
            if rank.0 == 0 {
                self.dumpi_header(&reader.header().clone());
            }
            let mut sent = SentBytes::new(&reader.trailer().datatype_sizes);
            while let Some(call) = reader.next_call()? {
                self.call(&call, reader.trailer(), &mut sent);
            }
        }
        self.unknown_sizes();
        Ok(())
    }

    fn schedule(&mut self, rank: RankId, schedule: &RankSchedule) -> u64 {
        for operation in schedule.operations() {
            let (kind, bytes) = match operation.action {
                Action::Send { size, .. } => ("send", size.0),
                Action::Receive { .. } => ("recv", 0),
                Action::Calculate { .. } => ("calc", 0),
            };
            self.add(kind, bytes, || {
                format!("rank {rank}: {:?}", operation.action)
            });
        }
        schedule.edges() as u64
    }

    fn goal_text(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut reader = GoalTextReader::open(path)?;
        self.summary.ranks = u64::from(reader.ranks());
        let mut edges = 0;
        while let Some((rank, schedule)) = reader.next_rank()? {
            edges += self.schedule(rank, &schedule);
        }
        self.fact("dependencies", edges);
        Ok(())
    }

    fn goal_binary(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut reader = GoalBinaryReader::open(path)?;
        self.summary.ranks = u64::from(reader.ranks());
        let mut edges = 0;
        for rank in (0..reader.ranks()).map(RankId) {
            let schedule = reader.rank(rank)?;
            edges += self.schedule(rank, &schedule);
        }
        self.fact("dependencies", edges);
        Ok(())
    }

    fn otf2(&mut self, path: &Path) -> Result<(), TraceError> {
        let archive = Archive::open(path)?;
        let definitions = archive.definitions();
        self.summary.ranks = definitions.locations().len() as u64;
        self.fact("written by", archive.anchor().creator.clone());
        self.fact("communicators", definitions.comms().len());
        let clock = definitions.clock();
        let seconds = clock.length as f64 / clock.ticks_per_second as f64;
        self.fact("duration", format!("{seconds:.6} s"));
        let markers = archive.markers()?;
        if !markers.is_empty() {
            self.fact("markers", markers.len());
        }
        for (location, of) in definitions.locations() {
            if of.events == 0 {
                continue;
            }
            let mut events = archive.events(*location)?;
            while let Some(event) = events.next_event()? {
                let (kind, bytes) = otf2_kind(&event, definitions);
                self.add(&kind, bytes, || {
                    format!("location {}: {} {:?}", location.0, event.time, event.kind)
                });
            }
        }
        Ok(())
    }

    fn htsim(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut reader = ConnectionReader::open(path)?;
        self.summary.ranks = u64::from(reader.announced().nodes);
        while let Some(statement) = reader.next_statement()? {
            let (kind, bytes) = match statement {
                Statement::Connection(connection) => ("connection", connection.size.0),
                Statement::Trigger(_) => ("trigger", 0),
                Statement::Failure(_) => ("failure", 0),
            };
            self.add(kind, bytes, || format!("{statement:?}"));
        }
        Ok(())
    }

    fn liballprof(&mut self, path: &Path) -> Result<(), TraceError> {
        let job = LiballprofJob::open(path)?;
        self.summary.ranks = u64::from(job.ranks());
        for rank in 0..job.ranks() {
            let mut reader = job.rank(rank)?;
            while let Some(call) = reader.next_call()? {
                let name = call.function();
                self.add(name, call.sent(), || {
                    format!("rank {rank}: {}", call.text())
                });
            }
            if rank == 0 {
                let remarks: Vec<String> = reader.remarks().to_vec();
                for (begin, name) in [("time: ", "start"), ("hostname: ", "host")] {
                    let said = remarks.iter().find_map(|remark| remark.strip_prefix(begin));
                    if let Some(said) = said {
                        self.fact(name, said);
                    }
                }
            }
        }
        Ok(())
    }

    fn packets(&mut self, path: &Path) -> Result<(), TraceError> {
        let mut reader = PacketReader::open(path)?;
        let (mut highest, mut first, mut last) = (0, None, 0);
        while let Some(packet) = reader.next_packet()? {
            highest = highest.max(packet.source).max(packet.destination);
            first = first.or(Some(packet.seconds));
            last = packet.seconds;
            self.add("packet", packet.size.0, || format!("{packet:?}"));
        }
        self.summary.ranks = u64::from(highest);
        self.fact("duration", format!("{} s", last - first.unwrap_or(last)));
        Ok(())
    }
}

fn otf2_kind(event: &Event, definitions: &crate::otf2::Definitions) -> (String, u64) {
    let kind = match &event.kind {
        EventKind::Enter(region) => {
            let region = definitions.regions().get(region);
            return (region.map_or("Enter", |region| &region.name).to_owned(), 0);
        }
        EventKind::CollectiveEnd { operation, .. } => return (format!("{operation:?}"), 0),
        EventKind::Send(of) | EventKind::Isend(of, _) => return ("send".to_owned(), of.size.0),
        EventKind::Put { size, .. } => return ("put".to_owned(), size.0),
        EventKind::Get { .. } => "get",
        EventKind::Leave(_) => "(leave)",
        EventKind::Recv(_) | EventKind::Irecv(..) => "receive",
        EventKind::IrecvRequest(_) => "receive posted",
        EventKind::IsendComplete(_) => "send completed",
        EventKind::CollectiveBegin => "(collective begins)",
        EventKind::MeasurementOn => "(recording on)",
        EventKind::MeasurementOff => "(recording off)",
        EventKind::BufferFlush(_) => "(buffer written)",
        EventKind::CollectiveComplete { operation, .. } => {
            return (format!("{operation:?} (non-blocking)"), 0);
        }
        _ => "(other)",
    };
    (kind.to_owned(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
        let cases: [(&[u8], Option<Format>); 17] = [
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
            (b"MPI_Barrier\n", None),
            (b"0 1475306029 739 140\n", None),
            (b"", None),
            (b"\n \n", None),
        ];
        for (start, format) in cases {
            assert_eq!(Format::of_start(start), format, "{start:?}");
        }
    }
}
