//! GOAL schedules, the format of LogGOPSim: per rank a graph of sends, receives
//! and calculations with dependencies, as text or in binary.
//!
//! Format: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim – Simulating
//! Large-Scale Applications in the LogGOPS Model", LSAP 2010; the facts are those
//! of LogGOPSim's `txt2bin.re`, `Goal.hpp` and `Parser.hpp`.
//!
//! [`GoalTextReader`] and [`GoalBinaryReader`] read rank by rank into graphs;
//! [`RankNodes`] reads the binary form operation by operation, for replay of
//! schedules that are larger than memory ([`text_to_binary`] makes it of text).

mod binary;
mod nodes;
mod text;

pub use binary::{GoalBinaryReader, GoalBinaryWriter};
pub use nodes::{Node, RankNodes};
pub use text::{GoalTextReader, GoalTextWriter};

use std::io::{Read, Seek, Write};

use odonata_units::{Bytes, RankId};

use crate::error::TraceError;

/// Writes a schedule in text form as a binary one, rank by rank.
///
/// # Errors
/// If the schedule is damaged or `out` fails.
pub fn text_to_binary<W: Write + Seek>(
    text: &mut GoalTextReader<impl Read>,
    out: W,
) -> Result<W, ConversionError> {
    let mut writer = GoalBinaryWriter::new(out, text.ranks())?;
    while let Some((_, schedule)) = text.next_rank()? {
        writer.push(&schedule)?;
    }
    Ok(writer.finish()?)
}

/// Why a schedule could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// It cannot be read.
    #[error(transparent)]
    Schedule(#[from] TraceError),
    /// The result cannot be written.
    #[error("the binary schedule cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// Most ranks that a schedule may have.
pub const MAX_RANKS: u32 = 1 << 24;

/// A message's tag. The value −1 of the format, `u32::MAX`, stands for any tag
/// where a message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// Matches every tag.
    pub const ANY: Tag = Tag(u32::MAX);
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message.
    Send {
        /// Size.
        size: Bytes,
        /// Receiver.
        to: RankId,
        /// Tag.
        tag: Tag,
    },
    /// Receives a message.
    Receive {
        /// Size.
        size: Bytes,
        /// Sender; `None` receives from any rank.
        from: Option<RankId>,
        /// Tag.
        tag: Tag,
    },
    /// Computes.
    Calculate {
        /// Duration in the schedule's unit of time; LogGOPSim takes nanoseconds.
        duration: u64,
    },
}

/// A node of a rank's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub action: Action,
    /// Processor of the rank that does it, from 0.
    pub cpu: u8,
    /// Network interface that it uses, from 0; 0 where it computes.
    pub nic: u8,
}

/// What must have happened before an operation may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The other operation has finished (`requires`).
    Finished,
    /// The other operation has started (`irequires`).
    Started,
}

/// An edge of a rank's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Index of the operation that is waited for.
    pub on: u32,
    /// What it must have done.
    pub condition: Condition,
}

/// Everything that one rank does, without cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSchedule {
    operations: Vec<Operation>,
    /// Where the dependencies of each operation start; one entry more than there
    /// are operations.
    starts: Vec<u32>,
    dependencies: Vec<Dependency>,
}

impl RankSchedule {
    /// Puts operations and edges together; an edge is an operation's index and
    /// what it depends on. The edges of an operation are sorted, so that equal
    /// graphs are equal whatever file they come from.
    ///
    /// # Errors
    /// The index of an edge that leads nowhere or is part of a cycle.
    pub fn new(operations: Vec<Operation>, edges: &[(u32, Dependency)]) -> Result<Self, usize> {
        let count = operations.len();
        let mut starts = vec![0u32; count + 1];
        for (index, &(of, dependency)) in edges.iter().enumerate() {
            if of as usize >= count || dependency.on as usize >= count || of == dependency.on {
                return Err(index);
            }
            starts[of as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let none = Dependency {
            on: 0,
            condition: Condition::Finished,
        };
        let mut dependencies = vec![none; edges.len()];
        let mut next = starts.clone();
        for &(of, dependency) in edges {
            let slot = &mut next[of as usize];
            dependencies[*slot as usize] = dependency;
            *slot += 1;
        }
        for range in starts.windows(2) {
            dependencies[range[0] as usize..range[1] as usize].sort_unstable();
        }
        let schedule = Self {
            operations,
            starts,
            dependencies,
        };
        match schedule.cycle() {
            None => Ok(schedule),
            Some(operation) => Err(edges
                .iter()
                .position(|&(of, _)| of == operation)
                .unwrap_or(0)),
        }
    }

    /// The operations; edges name them by their index.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What an operation waits for, in the order of the operations waited for.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn dependencies(&self, operation: u32) -> &[Dependency] {
        let index = operation as usize;
        &self.dependencies[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.dependencies.len()
    }

    /// Who waits for each operation: the inverse of the edges, in the order of
    /// the waiting operations. `starts[i]..starts[i + 1]` are those of operation i.
    fn dependents(&self) -> (Vec<u32>, Vec<(u32, Condition)>) {
        let count = self.operations.len();
        let mut starts = vec![0u32; count + 1];
        for dependency in &self.dependencies {
            starts[dependency.on as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut dependents = vec![(0, Condition::Finished); self.dependencies.len()];
        for of in 0..count as u32 {
            for dependency in self.dependencies(of) {
                let slot = &mut next[dependency.on as usize];
                dependents[*slot as usize] = (of, dependency.condition);
                *slot += 1;
            }
        }
        (starts, dependents)
    }

    /// An operation that is part of a cycle or waits for one.
    fn cycle(&self) -> Option<u32> {
        let backwards = (0..self.operations.len() as u32)
            .all(|of| self.dependencies(of).iter().all(|other| other.on < of));
        if backwards {
            return None;
        }
        // Takes off operations that wait for nothing until none is left (Kahn 1962).
        let (starts, dependents) = self.dependents();
        let mut waiting: Vec<u32> = self
            .starts
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        let mut ready: Vec<u32> = (0..waiting.len() as u32)
            .filter(|&index| waiting[index as usize] == 0)
            .collect();
        while let Some(done) = ready.pop() {
            let range = starts[done as usize] as usize..starts[done as usize + 1] as usize;
            for &(of, _) in &dependents[range] {
                waiting[of as usize] -= 1;
                if waiting[of as usize] == 0 {
                    ready.push(of);
                }
            }
        }
        waiting
            .iter()
            .position(|&left| left > 0)
            .map(|index| index as u32)
    }
}
