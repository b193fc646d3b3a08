//! Binary schedules operation by operation: for replay of schedules that are
//! larger than memory.

use std::io::{Read, Seek};
use std::path::Path;

use odonata_units::RankId;

use super::Operation;
use super::binary::{Frame, OPERATION_BYTES, read_operation};
use crate::bytes::ByteReader;
use crate::error::TraceError;
use crate::reopened::ReopenedFile;

/// Size of each of the two read buffers, bytes.
const NODE_BUFFER_BYTES: usize = 4 * 1024;

/// An operation and who waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it does.
    pub operation: Operation,
    /// How many operations it waits for.
    pub dependencies: u32,
    /// Operations that wait for it to finish.
    pub on_finish: Vec<u32>,
    /// Operations that wait for it to start.
    pub on_start: Vec<u32>,
}

/// The graph of one rank of a binary schedule, read operation by operation: the
/// roots may start at once, and each operation tells who waits for it. A replay
/// needs to remember only operations that wait for some, but not all, of what they
/// depend on.
///
/// Circles of dependencies are not searched for: their operations never start.
/// Ranks may be read side by side, each with a reader of its own: the file is open
/// only while it is read. Memory: two buffers of 4 KiB.
pub struct RankNodes<R> {
    nodes: ByteReader<R>,
    appendix: ByteReader<R>,
    frame: Frame,
    count: u32,
    roots: u32,
    start: u64,
    end: u64,
}

impl RankNodes<ReopenedFile> {
    /// Opens the graph of a rank.
    ///
    /// # Errors
    /// If the file cannot be read or is no binary schedule, the rank does not
    /// exist, or its data does not fit its place.
    pub fn open(path: &Path, rank: RankId) -> Result<Self, TraceError> {
        let file = ReopenedFile::new(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file.clone(), file, &path.display().to_string(), rank)
    }
}

impl<R: Read + Seek> RankNodes<R> {
    /// Reads the graph of a rank from two readers of the same file, called `file`
    /// in messages.
    ///
    /// # Errors
    /// As [`RankNodes::open`].
    pub fn new(nodes: R, appendix: R, file: &str, rank: RankId) -> Result<Self, TraceError> {
        let buffered = |source| ByteReader::with_buffer(source, file.to_owned(), NODE_BUFFER_BYTES);
        let mut nodes = buffered(nodes)?;
        let frame = Frame::read(&mut nodes)?;
        let (start, end) = frame.bounds(&mut nodes, rank)?;
        nodes.enter(start, end, "data of the rank")?;
        let count = nodes.u32_le()?;
        let roots = nodes.u32_le()?;
        let size = 4 * u64::from(roots) + OPERATION_BYTES * u64::from(count);
        if nodes.left() < size || !(nodes.left() - size).is_multiple_of(4) {
            let reason = format!(
                "{count} operations and {roots} roots in {} bytes; the file is damaged",
                nodes.left()
            );
            return Err(nodes.error_at(start, reason));
        }
        Ok(Self {
            nodes,
            appendix: buffered(appendix)?,
            frame,
            count,
            roots,
            start,
            end,
        })
    }

    /// Number of operations.
    pub fn operations(&self) -> u32 {
        self.count
    }

    /// Operations that wait for none.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn roots(&mut self) -> Result<Vec<u32>, TraceError> {
        let (count, roots) = (self.count, u64::from(self.roots));
        self.nodes
            .enter(self.start + 8, self.end, "list of roots")?;
        self.nodes.list(roots, 4, |bytes| known(bytes, count))
    }

    /// Reads an operation.
    ///
    /// # Errors
    /// If there is no such operation, or what is stored of it cannot be.
    pub fn node(&mut self, operation: u32) -> Result<Node, TraceError> {
        let nodes_at = self.start + 8 + 4 * u64::from(self.roots);
        let at = nodes_at + OPERATION_BYTES * u64::from(operation);
        if operation >= self.count {
            let reason = format!("no operation {operation}; the rank has {}", self.count);
            return Err(self.nodes.error_at(nodes_at, reason));
        }
        self.nodes.enter(at, self.end, "data of the rank")?;
        let (operation, dependencies, waiting) = read_operation(&mut self.nodes, self.frame)?;
        let appendix_at = nodes_at + OPERATION_BYTES * u64::from(self.count);
        let mut list = |(count, start): (u32, u32)| {
            let from = appendix_at + 4 * u64::from(start);
            let to = from + 4 * u64::from(count);
            if count > 0 && to > self.end {
                let reason = format!(
                    "{count} waiting operations from entry {start} of an appendix of {}",
                    (self.end - appendix_at) / 4
                );
                return Err(self.nodes.error_at(at, reason));
            }
            if count == 0 {
                return Ok(Vec::new());
            }
            self.appendix.enter(from, to, "appendix")?;
            let most = self.count;
            self.appendix
                .list(u64::from(count), 4, |bytes| known(bytes, most))
        };
        Ok(Node {
            operation,
            dependencies,
            on_finish: list(waiting.finished)?,
            on_start: list(waiting.started)?,
        })
    }
}

/// Reads the index of an operation that exists.
fn known<R: Read + Seek>(bytes: &mut ByteReader<R>, count: u32) -> Result<u32, TraceError> {
    let at = bytes.position();
    let index = bytes.u32_le()?;
    match index < count {
        true => Ok(index),
        false => {
            let reason = format!("operation {index}, but the rank has {count}");
            Err(bytes.error_at(at, reason))
        }
    }
}
