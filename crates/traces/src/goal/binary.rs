//! GOAL in binary, as LogGOPSim's `txt2bin` writes it.
//!
//! Layout, little-endian and without padding: the number 4223 in 64 bits; then,
//! with offsets counted from here, ranks (32 bits), highest processor and highest
//! network interface (8 bits each), and per rank start and end of its data
//! (64 bits each). Data of a rank: operations, operations without dependencies
//! ("roots"), index of every root (32 bits each); per operation 39 bytes: number
//! of dependencies (32), kind (8: 1 send, 2 receive, 3 calculate), peer (32), size
//! or duration (64), tag (32), processor (8), interface (8), number of operations
//! that wait for it to finish and where these start in the appendix, and the same
//! for those that wait for it to start (32 each); then the appendix of 32-bit
//! indices of waiting operations.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use odonata_units::{Bytes, RankId};

use super::text::{too_few, too_many};
use super::{Action, Condition, Dependency, MAX_RANKS, Operation, RankSchedule, Tag};
use crate::bytes::ByteReader;
use crate::error::TraceError;

const MAGIC: u64 = 4_223;
/// LogGOPSim writes this over the magic number when it has used a file up.
const MAGIC_USED: u64 = 2_342;
/// Offsets count from behind the magic number.
const BASE: u64 = 8;
const TABLE: u64 = BASE + 6;
pub(super) const OPERATION_BYTES: u64 = 39;

const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const CALCULATE: u8 = 3;

/// Reads a schedule rank by rank, in any order.
///
/// Memory: a buffer, and the graph of the rank at hand.
pub struct GoalBinaryReader<R> {
    bytes: ByteReader<R>,
    frame: Frame,
}

impl GoalBinaryReader<File> {
    /// Opens a schedule.
    ///
    /// # Errors
    /// If the file cannot be read, or is no binary schedule.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file =
            odonata_files::open_seekable(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file, path.display().to_string())
    }
}

/// Number and first entry in the appendix of the operations that wait for one to
/// finish and to start.
pub(super) struct Waiting {
    pub finished: (u32, u32),
    pub started: (u32, u32),
}

/// The first fields of a schedule.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    ranks: u32,
    max_cpu: u8,
    max_nic: u8,
}

impl Frame {
    /// Reads them from the start of a file.
    pub fn read<R: Read + Seek>(bytes: &mut ByteReader<R>) -> Result<Self, TraceError> {
        match bytes.u64_le()? {
            MAGIC => {}
            MAGIC_USED => {
                let reason = "the schedule was used up by a simulation with --save-mem; make it \
                              anew with txt2bin";
                return Err(bytes.error_at(0, reason));
            }
            other => {
                let reason = format!("starts with {other}, but a binary schedule with {MAGIC}");
                return Err(bytes.error_at(0, reason));
            }
        }
        let frame = Self {
            ranks: bytes.u32_le()?,
            max_cpu: bytes.u8()?,
            max_nic: bytes.u8()?,
        };
        let room = bytes.left() / 16;
        if !(1..=MAX_RANKS).contains(&frame.ranks) || room < u64::from(frame.ranks) {
            let reason = format!(
                "{} ranks; allowed are 1 to {MAX_RANKS}, and the file has room for {room}",
                frame.ranks
            );
            return Err(bytes.error_at(BASE, reason));
        }
        Ok(frame)
    }

    /// Where the data of a rank lies: from the end of the rank before on.
    pub fn bounds<R: Read + Seek>(
        self,
        bytes: &mut ByteReader<R>,
        rank: RankId,
    ) -> Result<(u64, u64), TraceError> {
        if rank.0 >= self.ranks {
            let reason = format!(
                "no rank {rank}; there are the ranks 0 to {}",
                self.ranks - 1
            );
            return Err(bytes.error_at(BASE, reason));
        }
        let entry = TABLE + 16 * u64::from(rank.0);
        let size = bytes.size();
        let table_end = TABLE + 16 * u64::from(self.ranks);
        let expected = match rank.0 {
            0 => Some(table_end),
            _ => {
                bytes.enter(entry - 8, table_end, "table of ranks")?;
                bytes.u64_le()?.checked_add(BASE)
            }
        };
        bytes.enter(entry, table_end, "table of ranks")?;
        let start = bytes.u64_le()?.checked_add(BASE);
        let end = bytes.u64_le()?.checked_add(BASE);
        match (start, end) {
            (Some(start), Some(end))
                if Some(start) == expected
                    && start >= table_end
                    && end >= start
                    && end <= size
                    && (rank.0 + 1 < self.ranks || end == size) =>
            {
                Ok((start, end))
            }
            _ => {
                let reason = format!(
                    "the data of rank {rank} is said to lie at bytes {} to {} of {size}, but \
                     must follow that of the rank before, and that of the last rank must end \
                     with the file; the file is damaged or truncated",
                    start.unwrap_or(u64::MAX),
                    end.unwrap_or(u64::MAX)
                );
                Err(bytes.error_at(entry, reason))
            }
        }
    }
}

impl<R: Read + Seek> GoalBinaryReader<R> {
    /// Reads a schedule from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`GoalBinaryReader::open`].
    pub fn new(source: R, file: String) -> Result<Self, TraceError> {
        let mut bytes = ByteReader::new(source, file)?;
        let frame = Frame::read(&mut bytes)?;
        Ok(Self { bytes, frame })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.frame.ranks
    }

    /// Highest processor and highest network interface that any rank uses.
    pub fn highest(&self) -> (u8, u8) {
        (self.frame.max_cpu, self.frame.max_nic)
    }

    /// Reads the graph of a rank.
    ///
    /// # Errors
    /// If the rank does not exist or its data is damaged: it does not lie where
    /// the data of its neighbours ends and starts, indices lead nowhere, counts
    /// do not fit each other, operations wait for each other in a circle, a peer
    /// does not exist.
    pub fn rank(&mut self, rank: RankId) -> Result<RankSchedule, TraceError> {
        let (start, end) = self.frame.bounds(&mut self.bytes, rank)?;
        self.bytes.enter(start, end, "data of the rank")?;
        let count = self.bytes.u32_le()?;
        let roots = self.bytes.u32_le()?;
        let roots = self.bytes.list(u64::from(roots), 4, ByteReader::u32_le)?;
        let at = self.bytes.position();
        let frame = self.frame;
        let nodes = self
            .bytes
            .list(u64::from(count), OPERATION_BYTES, |bytes| {
                read_operation(bytes, frame)
            })?;
        let appendix_at = self.bytes.position();
        let left = self.bytes.left();
        if !left.is_multiple_of(4) {
            let reason = format!("an appendix of {left} bytes, no multiple of 4");
            return Err(self.bytes.error(reason));
        }
        let appendix = self.bytes.list(left / 4, 4, ByteReader::u32_le)?;
        self.assemble(nodes, &roots, &appendix, at, appendix_at)
    }

    fn assemble(
        &self,
        nodes: Vec<(Operation, u32, Waiting)>,
        roots: &[u32],
        appendix: &[u32],
        at: u64,
        appendix_at: u64,
    ) -> Result<RankSchedule, TraceError> {
        let bytes = &self.bytes;
        let place = |index: usize| at + OPERATION_BYTES * index as u64;
        let mut edges = Vec::with_capacity(appendix.len());
        let mut next = 0usize;
        for (index, (_, _, waiting)) in nodes.iter().enumerate() {
            for (condition, (count, start)) in [
                (Condition::Finished, waiting.finished),
                (Condition::Started, waiting.started),
            ] {
                // Appendix entries lie in the order of the operations.
                let entries = next
                    .checked_add(count as usize)
                    .and_then(|end| appendix.get(next..end))
                    .filter(|entries| entries.is_empty() || start as usize == next);
                let Some(entries) = entries else {
                    let reason = format!(
                        "{count} operations that wait for this one are said to start at entry \
                         {start} of an appendix of {}, but entry {next} is next",
                        appendix.len()
                    );
                    return Err(bytes.error_at(place(index), reason));
                };
                for &of in entries {
                    let on = index as u32;
                    edges.push((of, Dependency { on, condition }));
                }
                next += entries.len();
            }
        }
        if next != appendix.len() {
            let reason = format!(
                "{} entries of the appendix belong to no operation",
                appendix.len() - next
            );
            return Err(bytes.error_at(appendix_at + 4 * next as u64, reason));
        }
        let (operations, counts): (Vec<_>, Vec<_>) = nodes
            .into_iter()
            .map(|(operation, count, _)| (operation, count))
            .unzip();
        let schedule = RankSchedule::new(operations, &edges).map_err(|edge| {
            let (of, dependency) = edges[edge];
            let reason = format!(
                "operation {of} waits for operation {}, which does not exist or waits for it",
                dependency.on
            );
            bytes.error_at(appendix_at + 4 * edge as u64, reason)
        })?;
        let mut roots = roots.iter().copied();
        for (index, &count) in counts.iter().enumerate() {
            let found = schedule.dependencies(index as u32).len();
            if found != count as usize {
                let reason =
                    format!("the operation is said to have {count} dependencies, but has {found}");
                return Err(bytes.error_at(place(index), reason));
            }
            if count == 0 && roots.next() != Some(index as u32) {
                let reason = "an operation without dependencies is missing among the roots";
                return Err(bytes.error_at(place(index), reason));
            }
        }
        match roots.next() {
            None => Ok(schedule),
            Some(root) => Err(bytes.error_at(at, format!("operation {root} is no root"))),
        }
    }
}

pub(super) fn read_operation<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    frame: Frame,
) -> Result<(Operation, u32, Waiting), TraceError> {
    let Frame {
        ranks,
        max_cpu,
        max_nic,
    } = frame;
    let at = bytes.position();
    let dependencies = bytes.u32_le()?;
    let kind = bytes.u8()?;
    let peer = bytes.u32_le()?;
    let size = bytes.u64_le()?;
    let tag = Tag(bytes.u32_le()?);
    let cpu = bytes.u8()?;
    let nic = bytes.u8()?;
    let waiting = Waiting {
        finished: (bytes.u32_le()?, bytes.u32_le()?),
        started: (bytes.u32_le()?, bytes.u32_le()?),
    };
    if cpu > max_cpu || nic > max_nic {
        let reason = format!(
            "processor {cpu} and network interface {nic}, but the highest of the schedule are \
             {max_cpu} and {max_nic}"
        );
        return Err(bytes.error_at(at, reason));
    }
    let known = || match peer < ranks {
        true => Ok(RankId(peer)),
        false => {
            let reason = format!("rank {peer}, but there are the ranks 0 to {}", ranks - 1);
            Err(bytes.error_at(at, reason))
        }
    };
    let action = match kind {
        SEND => Action::Send {
            size: Bytes(size),
            to: known()?,
            tag,
        },
        RECEIVE => Action::Receive {
            size: Bytes(size),
            from: match peer {
                u32::MAX => None,
                _ => Some(known()?),
            },
            tag,
        },
        CALCULATE if peer == 0 && tag == Tag(0) && nic == 0 => Action::Calculate { duration: size },
        CALCULATE => {
            let reason = "a calculation with a peer, a tag or a network interface";
            return Err(bytes.error_at(at, reason));
        }
        _ => {
            let reason = format!("operation of kind {kind}; allowed are 1, 2 and 3");
            return Err(bytes.error_at(at, reason));
        }
    };
    Ok((Operation { action, cpu, nic }, dependencies, waiting))
}

/// Writes a schedule. The operations that wait for one another are listed in
/// their order.
pub struct GoalBinaryWriter<W> {
    out: W,
    ranks: u32,
    table: Vec<(u64, u64)>,
    max_cpu: u8,
    max_nic: u8,
    scratch: Vec<u8>,
}

impl<W: Write + Seek> GoalBinaryWriter<W> {
    /// Starts a schedule of `ranks` ranks.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(mut out: W, ranks: u32) -> io::Result<Self> {
        let table_bytes = TABLE + 16 * u64::from(ranks);
        io::copy(&mut io::repeat(0).take(table_bytes), &mut out)?;
        Ok(Self {
            out,
            ranks,
            table: Vec::new(),
            max_cpu: 0,
            max_nic: 0,
            scratch: Vec::new(),
        })
    }

    /// Writes the next rank.
    ///
    /// # Errors
    /// If all ranks are written, or `out` fails.
    pub fn push(&mut self, schedule: &RankSchedule) -> io::Result<()> {
        if self.table.len() as u32 == self.ranks {
            return Err(too_many(self.ranks));
        }
        let (starts, dependents) = schedule.dependents();
        let mut appendix: Vec<u32> = Vec::with_capacity(dependents.len());
        let operations = schedule.operations();
        let roots: Vec<u32> = (0..operations.len() as u32)
            .filter(|&index| schedule.dependencies(index).is_empty())
            .collect();
        self.scratch.clear();
        self.u32(operations.len() as u32);
        self.u32(roots.len() as u32);
        roots.iter().for_each(|&root| self.u32(root));
        for (index, operation) in operations.iter().enumerate() {
            let (kind, peer, size, tag) = match operation.action {
                Action::Send { size, to, tag } => (SEND, to.0, size.0, tag.0),
                Action::Receive { size, from, tag } => {
                    (RECEIVE, from.map_or(u32::MAX, |from| from.0), size.0, tag.0)
                }
                Action::Calculate { duration } => (CALCULATE, 0, duration, 0),
            };
            self.max_cpu = self.max_cpu.max(operation.cpu);
            self.max_nic = self.max_nic.max(operation.nic);
            self.u32(schedule.dependencies(index as u32).len() as u32);
            self.scratch.push(kind);
            self.u32(peer);
            self.scratch.extend(size.to_le_bytes());
            self.u32(tag);
            self.scratch.extend([operation.cpu, operation.nic]);
            let waiting = &dependents[starts[index] as usize..starts[index + 1] as usize];
            for condition in [Condition::Finished, Condition::Started] {
                let start = appendix.len() as u32;
                let those = waiting.iter().filter(|other| other.1 == condition);
                appendix.extend(those.map(|other| other.0));
                self.u32(appendix.len() as u32 - start);
                self.u32(start);
            }
        }
        appendix.iter().for_each(|&index| self.u32(index));
        let start = match self.table.last() {
            Some(&(_, end)) => end,
            None => TABLE - BASE + 16 * u64::from(self.ranks),
        };
        self.table.push((start, start + self.scratch.len() as u64));
        self.out.write_all(&self.scratch)
    }

    /// Ends the schedule.
    ///
    /// # Errors
    /// If ranks are missing or `out` fails.
    pub fn finish(mut self) -> io::Result<W> {
        if self.table.len() as u32 != self.ranks {
            return Err(too_few(self.table.len() as u32, self.ranks));
        }
        self.scratch.clear();
        self.scratch.extend(MAGIC.to_le_bytes());
        self.u32(self.ranks);
        self.scratch.extend([self.max_cpu, self.max_nic]);
        for (start, end) in &self.table {
            self.scratch.extend(start.to_le_bytes());
            self.scratch.extend(end.to_le_bytes());
        }
        self.out.seek(io::SeekFrom::Start(0))?;
        self.out.write_all(&self.scratch)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn u32(&mut self, value: u32) {
        self.scratch.extend(value.to_le_bytes());
    }
}
