//! Schedules: graphs of sends, receives and calculations, as GOAL files hold them
//! and as flows and packets become.

mod flows;
mod goal;
mod packets;
mod rank;

use std::sync::Arc;

use odonata_traces::TraceError;
use odonata_traces::goal::{Action, Node as GoalNode};
use odonata_units::{Picoseconds, RankId};

pub(super) use flows::Htsim;
pub(super) use goal::{GoalBinary, GoalText};
pub(super) use packets::PacketTrace;

use self::rank::ScheduledRank;
use super::clock::Compute;
use super::facts::TraceFacts;
use crate::collective::CollectiveCall;
use crate::communicator::Communicator;
use crate::program::{MOST_PROCESSORS, ProgramError, RankProgram, Totals};

/// A rank's part in a collective, as the ranks' graphs have it.
#[derive(Debug)]
pub(super) struct Collective {
    /// Its members.
    pub communicator: Arc<Communicator>,
    /// What they do.
    pub call: Arc<CollectiveCall>,
    /// Which of the communicator's collectives it is, the same for all members.
    pub which: u32,
}

/// What an operation of a graph does.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// A message or a calculation.
    Single(Action),
    /// Takes part in a collective.
    Collective(Arc<Collective>),
    /// Nothing: it only orders others.
    Nothing,
}

/// An operation of a graph, and who waits for it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub task: Task,
    /// Processor of the rank that does it.
    pub cpu: u8,
    /// How many operations it waits for.
    pub dependencies: u32,
    pub on_finish: Vec<u32>,
    pub on_start: Vec<u32>,
}

impl From<GoalNode> for Node {
    fn from(node: GoalNode) -> Self {
        Self {
            task: Task::Single(node.operation.action),
            cpu: node.operation.cpu,
            dependencies: node.dependencies,
            on_finish: node.on_finish,
            on_start: node.on_start,
        }
    }
}

/// The graph of one rank: operations by number.
pub(super) trait Graph: Send {
    /// Number of operations.
    fn operations(&self) -> u32;

    /// Unit of the durations of calculations.
    fn unit(&self) -> Picoseconds;

    /// Operations that wait for none.
    ///
    /// # Errors
    /// If the file is damaged.
    fn roots(&mut self) -> Result<Vec<u32>, TraceError>;

    /// An operation, and who waits for it.
    ///
    /// # Errors
    /// If the file is damaged.
    fn node(&mut self, operation: u32) -> Result<Node, TraceError>;
}

/// The graphs of all ranks.
pub(super) trait Schedule: Send + Sync {
    /// Opens the graph of a rank.
    ///
    /// # Errors
    /// If it cannot be read.
    fn graph(&self, rank: RankId) -> Result<Box<dyn Graph + '_>, TraceError>;
}

/// A schedule that fits together.
pub(super) struct Scheduled {
    schedule: Box<dyn Schedule>,
    facts: TraceFacts,
    processors: u8,
    compute: Compute,
}

impl Scheduled {
    pub fn new(
        schedule: Box<dyn Schedule>,
        facts: TraceFacts,
        processors: u8,
        compute: Compute,
    ) -> Self {
        Self {
            schedule,
            facts,
            processors,
            compute,
        }
    }

    pub fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    pub fn processors(&self) -> u8 {
        self.processors
    }

    pub fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        let graph = self.schedule.graph(rank);
        let rank = graph.and_then(|graph| ScheduledRank::new(graph, rank, self.compute));
        match rank {
            Ok(rank) => Ok(Box::new(rank)),
            Err(error) => Err(ProgramError(error.to_string())),
        }
    }

    pub fn totals(&self) -> Totals {
        Totals {
            bytes: self.facts.bytes,
            messages: self.facts.messages,
        }
    }
}

/// Checks the processor of an operation.
fn check_processor(cpu: u8) -> Result<u8, String> {
    match cpu {
        cpu if cpu < MOST_PROCESSORS => Ok(cpu),
        cpu => Err(format!(
            "cpu {cpu}, but a rank has the processors 0 to {}",
            MOST_PROCESSORS - 1
        )),
    }
}

/// The time of a calculation.
fn calculation(duration: u64, unit: Picoseconds) -> Option<Picoseconds> {
    duration.checked_mul(unit.0).map(Picoseconds)
}
