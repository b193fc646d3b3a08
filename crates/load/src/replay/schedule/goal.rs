//! GOAL files.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use odonata_files::Unpacked;
use odonata_traces::goal::{
    Action, ConversionError, GoalBinaryReader, GoalTextReader, RankNodes, RankSchedule, Tag,
    text_to_binary,
};
use odonata_traces::{Position, ReopenedFile, TraceError};
use odonata_units::{Bytes, Picoseconds, RankId};

use super::{Graph, Node, Schedule, Scheduled, calculation, check_processor};
use crate::replay::balance::Balance;
use crate::replay::facts::TraceFacts;
use crate::replay::format::{Counter, Start, TraceFormat};
use crate::replay::{Compute, Kind, Options};

/// Unit of durations, as LogGOPSim takes them.
const NANOSECOND: Picoseconds = Picoseconds(1_000);

/// A binary schedule, or one that was made of text.
pub(in crate::replay) struct GoalFile {
    path: PathBuf,
    /// Removes the file in the end, if it was made.
    _made: Option<Made>,
    /// The same for the content of a compressed one.
    _unpacked: Option<Unpacked>,
}

/// A file that goes when it is not needed any more.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        // Nothing depends on it; the system clears its folder for such files.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl GoalFile {
    /// Opens a schedule; text is turned into a binary file in the folder for
    /// temporary files first, as large as a tenth of the text to the whole of it.
    ///
    /// Memory: the largest rank's graph, 32 bytes an operation and 8 a dependency;
    /// during the run, what is under way.
    ///
    /// # Errors
    /// If the file is damaged, the temporary one cannot be written, or messages are
    /// sent that nobody receives or the other way round.
    pub fn open(path: &Path, text: bool, compute: Compute) -> Result<Scheduled, TraceError> {
        let made = match text {
            true => Some(binary_of(path)?),
            false => None,
        };
        // Ranks are read one by one, each by opening the file again.
        let unpacked = match text {
            true => None,
            false => Unpacked::of(path).map_err(|error| TraceError::open(path, &error))?,
        };
        let read = unpacked.as_ref().map_or(path, Unpacked::path);
        let binary = made.as_ref().map_or(read, |made| &made.0).to_owned();
        let (facts, processors) = survey(path, &binary)?;
        let schedule = Self {
            path: binary,
            _made: made,
            _unpacked: unpacked,
        };
        Ok(Scheduled::new(
            Box::new(schedule),
            facts,
            processors,
            compute,
        ))
    }
}

/// Writes a schedule in binary form to a new file.
fn binary_of(text: &Path) -> Result<Made, TraceError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("odonata-goal-{}-{number}.bin", std::process::id());
    let path = std::env::temp_dir().join(name);
    let fail = |error: std::io::Error| {
        let reason = format!("cannot be written: {error}; TMPDIR names another folder");
        TraceError::new(&path.display().to_string(), Position::Whole, reason)
    };
    let mut reader = GoalTextReader::open(text)?;
    let mut options = File::options();
    let options = options.read(true).write(true).create_new(true);
    let file = options.open(&path).map_err(fail)?;
    let made = Made(path.clone());
    let written = text_to_binary(&mut reader, BufWriter::new(file));
    let written = written.map_err(|error| match error {
        ConversionError::Schedule(error) => error,
        ConversionError::Output(error) => fail(error),
    })?;
    written
        .into_inner()
        .map_err(|error| fail(error.into_error()))?;
    Ok(made)
}

/// Reads all ranks once: what the schedule holds, and how many processors it needs.
fn survey(path: &Path, binary: &Path) -> Result<(TraceFacts, u8), TraceError> {
    let file = path.display().to_string();
    let mut reader = GoalBinaryReader::open(binary)?;
    let ranks = reader.ranks();
    let mut facts = TraceFacts {
        ranks,
        ..TraceFacts::default()
    };
    let mut balances = vec![Balance::default(); ranks as usize];
    let mut processors = 1;
    for rank in (0..ranks).map(RankId) {
        // Reads the rank whole, which finds circles of dependencies.
        let schedule = reader.rank(rank)?;
        let mut computed = Picoseconds::ZERO;
        for (number, operation) in schedule.operations().iter().enumerate() {
            let fail = |reason: String| {
                let reason = format!("rank {rank}, operation {}: {reason}", number + 1);
                TraceError::new(&file, Position::Whole, reason)
            };
            facts.records += 1;
            processors = processors.max(check_processor(operation.cpu).map_err(fail)? + 1);
            match operation.action {
                Action::Send { size, to, tag } => {
                    facts.messages += 1;
                    facts.bytes = Bytes(facts.bytes.0.saturating_add(size.0.max(1)));
                    balances[to.index()].send(0, rank.0, tag.0);
                }
                Action::Receive { from, tag, .. } => {
                    let tag = Some(tag).filter(|&tag| tag != Tag::ANY).map(|tag| tag.0);
                    if from.is_none() || tag.is_none() {
                        facts.open_receives += 1;
                    }
                    let from = from.map(|from| from.0);
                    balances[rank.index()].receive(0, from, tag);
                }
                Action::Calculate { duration } => {
                    let duration = calculation(duration, NANOSECOND)
                        .ok_or_else(|| fail(format!("calculates for {duration} ns, too long")))?;
                    computed = Picoseconds(computed.0.saturating_add(duration.0));
                }
            }
        }
        facts.computes(computed);
    }
    match balances.iter().position(|balance| !balance.is_even()) {
        None => Ok((facts, processors)),
        Some(receiver) => Err(explain(&file, &mut reader, receiver as u32)?),
    }
}

/// Finds a message for `receiver` that is sent and not received, or the other way
/// round.
fn explain(
    file: &str,
    reader: &mut GoalBinaryReader<File>,
    receiver: u32,
) -> Result<TraceError, TraceError> {
    let mut counts: std::collections::BTreeMap<(u32, u32), (u64, u64)> = Default::default();
    let (mut sent, mut received) = (0u64, 0u64);
    for rank in (0..reader.ranks()).map(RankId) {
        for operation in reader.rank(rank)?.operations() {
            match operation.action {
                Action::Send { to, tag, .. } if to.0 == receiver => {
                    sent += 1;
                    counts.entry((rank.0, tag.0)).or_default().0 += 1;
                }
                Action::Receive { from, tag, .. } if rank.0 == receiver => {
                    received += 1;
                    if let (Some(from), true) = (from, tag != Tag::ANY) {
                        counts.entry((from.0, tag.0)).or_default().1 += 1;
                    }
                }
                _ => {}
            }
        }
    }
    // Receives from any rank may take what is left over.
    let missing = counts.iter().find(|(_, (sent, received))| received > sent);
    let surplus = counts.iter().find(|(_, (sent, received))| sent > received);
    let uneven = missing.or(surplus);
    let which = match uneven {
        Some(((from, tag), (sends, receives))) => format!(
            "; from rank {from} with tag {tag} {sends} are sent and {receives} received by name"
        ),
        None => String::new(),
    };
    let reason = format!(
        "{sent} messages are sent to rank {receiver}, which receives {received}{which}; such a \
         schedule would not come to an end"
    );
    Ok(TraceError::new(file, Position::Whole, reason))
}

impl Schedule for GoalFile {
    fn graph(&self, rank: RankId) -> Result<Box<dyn Graph + '_>, TraceError> {
        Ok(Box::new(RankNodes::open(&self.path, rank)?))
    }
}

impl Graph for RankNodes<ReopenedFile> {
    fn operations(&self) -> u32 {
        RankNodes::operations(self)
    }

    fn unit(&self) -> Picoseconds {
        NANOSECOND
    }

    fn roots(&mut self) -> Result<Vec<u32>, TraceError> {
        RankNodes::roots(self)
    }

    fn node(&mut self, operation: u32) -> Result<Node, TraceError> {
        RankNodes::node(self, operation).map(Node::from)
    }
}

/// Schedules as text.
pub(in crate::replay) struct GoalText;

impl TraceFormat for GoalText {
    fn recognises(start: &Start<'_>) -> bool {
        start.text.contains("num_ranks")
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let mut reader = GoalTextReader::open(path)?;
        counter.summary.ranks = u64::from(reader.ranks());
        let mut edges = 0;
        while let Some((rank, schedule)) = reader.next_rank()? {
            edges += count_rank(counter, rank, &schedule);
        }
        counter.fact("dependencies", edges);
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        GoalFile::open(path, true, options.compute).map(Kind::scheduled)
    }
}

/// Binary schedules.
pub(in crate::replay) struct GoalBinary;

impl TraceFormat for GoalBinary {
    fn recognises(start: &Start<'_>) -> bool {
        let header = start
            .bytes
            .first_chunk::<8>()
            .copied()
            .map(u64::from_le_bytes);
        matches!(header, Some(4_223 | 2_342))
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let mut reader = GoalBinaryReader::open(path)?;
        counter.summary.ranks = u64::from(reader.ranks());
        let mut edges = 0;
        for rank in (0..reader.ranks()).map(RankId) {
            let schedule = reader.rank(rank)?;
            edges += count_rank(counter, rank, &schedule);
        }
        counter.fact("dependencies", edges);
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        GoalFile::open(path, false, options.compute).map(Kind::scheduled)
    }
}

/// Counts the operations of a rank; how many dependencies there are.
fn count_rank(counter: &mut Counter, rank: RankId, schedule: &RankSchedule) -> u64 {
    for operation in schedule.operations() {
        let (kind, bytes) = match operation.action {
            Action::Send { size, .. } => ("send", size.0),
            Action::Receive { .. } => ("recv", 0),
            Action::Calculate { .. } => ("calc", 0),
        };
        counter.add(kind, bytes, || {
            format!("rank {rank}: {:?}", operation.action)
        });
    }
    schedule.edges() as u64
}
