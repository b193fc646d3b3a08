//! Programs: the one form in which the load room hands over what closed-loop
//! ranks do, whether a motif, a collective, a schedule or a trace is behind it.
//!
//! A program is a graph of [`Action`]s that is made as it runs: whenever
//! something that a rank began is complete, the rank is asked what it begins
//! next. That holds any order of dependence (of GOAL: `requires`; of MPI: its
//! requests) in constant memory. What is a plain sequence is written as a
//! [`Script`](crate::Script).

use odonata_declare::Named;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::parallelism::Parallelism;

/// Names something that a rank has begun. The rank chooses; no two that are
/// under way have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId(pub u32);

/// Keeps the messages of communicators and of libraries apart: a message matches
/// receives of its own context only. The same for all ranks of a job.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Context(u32);

impl Context {
    /// Largest number of a context.
    pub const LARGEST: u32 = u32::MAX >> 1;

    /// Messages of one sender match in the order in which they were sent,
    /// whatever their tags and however the network reorders them, as MPI asks.
    /// Takes memory for every pair of ranks that talk to each other.
    ///
    /// # Panics
    /// If `number` is above [`Self::LARGEST`].
    pub const fn ordered(number: u32) -> Self {
        assert!(number <= Self::LARGEST, "a context beyond the largest");
        Self(number << 1 | 1)
    }

    /// Messages match in the order in which they arrive. For senders whose
    /// messages under way to one receiver differ in their tags or are all alike.
    ///
    /// # Panics
    /// If `number` is above [`Self::LARGEST`].
    pub const fn unordered(number: u32) -> Self {
        assert!(number <= Self::LARGEST, "a context beyond the largest");
        Self(number << 1)
    }

    /// Whether messages match in the order in which they were sent.
    pub const fn is_ordered(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Something that a rank begins, and that is complete some time later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Computes for a while.
    Compute(Picoseconds),
    /// Sends a message. Complete when its last byte has left the node.
    Send {
        /// Receiving rank.
        to: RankId,
        /// Size, at least 1 byte.
        bytes: Bytes,
        /// Where it matches.
        context: Context,
        /// Matched against the receiver's.
        tag: u32,
    },
    /// Posts a receive. Complete when the message has arrived whole and been
    /// taken in. Of several receives that a message matches it gets the one that
    /// was posted first.
    Receive {
        /// Sending rank; `None`: any.
        from: Option<RankId>,
        /// Where it matches.
        context: Context,
        /// Matched against the sender's; `None`: any.
        tag: Option<u32>,
    },
    /// Writes into the memory of another rank, which has no part in it. Complete
    /// when that rank's node has acknowledged it.
    Put {
        /// The other rank.
        to: RankId,
        /// Size, at least 1 byte.
        bytes: Bytes,
    },
    /// Reads from the memory of another rank, which has no part in it. Complete
    /// when the data has arrived.
    Get {
        /// The other rank.
        from: RankId,
        /// Size, at least 1 byte.
        bytes: Bytes,
    },
}

impl Action {
    /// What waits for it who waits until it is complete.
    pub(crate) fn waiting(&self) -> Waiting {
        match self {
            Self::Compute(_) => Waiting::Processor,
            Self::Send { .. } | Self::Put { .. } => Waiting::Send,
            Self::Receive { .. } | Self::Get { .. } => Waiting::Receive,
        }
    }
}

/// A processor of a rank. Actions that keep a rank busy (computing, overheads of
/// messages) follow one another on their processor.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ProcessorId(pub u8);

/// Most processors of a rank.
pub const MOST_PROCESSORS: u8 = 64;

/// Which processors of a rank have nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle(u64);

impl Idle {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// These besides.
    #[must_use]
    pub const fn and(self, processor: ProcessorId) -> Self {
        Self(self.0 | 1 << processor.0)
    }

    /// Whether this one has nothing to do.
    pub const fn contains(self, processor: ProcessorId) -> bool {
        self.0 >> processor.0 & 1 == 1
    }

    /// Whether all are busy.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What keeps a rank from going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Waiting {
    /// Only messages that it sends.
    Send,
    /// Messages that it receives, at least in part.
    Receive,
    /// A processor that is busy.
    Processor,
}

/// An MPI operation of a whole communicator.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Named,
)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveKind {
    /// All wait for all.
    Barrier,
    /// One's data reaches all.
    #[named(options("root"))]
    Broadcast,
    /// All data combined reaches one.
    #[named(options("root"))]
    Reduce,
    /// All data combined reaches all.
    Allreduce,
    /// Everyone's data reaches one.
    #[named(options("root"))]
    Gather,
    /// Everyone gets data of its own from one.
    #[named(options("root"))]
    Scatter,
    /// Everyone's data reaches all.
    Allgather,
    /// Everyone gets data of its own from all.
    Alltoall,
    /// Everyone gets a part of all data combined.
    ReduceScatter,
    /// Everyone gets the data combined of those up to itself.
    Scan,
    /// Everyone gets the data combined of those before it.
    ExclusiveScan,
}

/// Which part of a program a message belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The collective that sends it.
    pub collective: Option<CollectiveKind>,
    /// Number of the class of traffic that the [phases](crate::Phase::OfClass) it is sent in name.
    pub class: Option<u8>,
}

/// What a rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begins something.
    Begin {
        /// What.
        action: Action,
        /// Its name until it is complete.
        request: RequestId,
        /// Who does it, after what keeps it busy. Of a receive: who takes it in.
        processor: ProcessorId,
    },
    /// Nothing until something is complete.
    Wait(Waiting),
    /// What follows belongs to a collective. Takes no time.
    Enter(CollectiveKind),
    /// The collective is over. Takes no time.
    Leave,
    /// An iteration ends, for the time-per-iteration statistics. Takes no time.
    EndIteration,
    /// The rank is done: nothing is under way, and nothing follows.
    Finish,
}

/// What all ranks of a job send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of all messages.
    pub bytes: Bytes,
    /// Number of messages.
    pub messages: u64,
}

/// How the iterations of a program resemble each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetition {
    /// Each does what the one before did.
    Same,
    /// What is sent, or where to, differs from one to the next.
    Varied,
}

/// What is wrong with a program that runs, such as a damaged trace: file, place,
/// reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProgramError(pub String);

/// What one rank does.
pub trait RankProgram: Send {
    /// What the rank does next. Asked at the beginning and after everything that
    /// was completed, again and again until the answer is [`Step::Wait`] or
    /// [`Step::Finish`]; only while a processor is idle.
    ///
    /// # Errors
    /// If what is behind it turns out to be damaged.
    fn next(&mut self, idle: Idle) -> Result<Step, ProgramError>;

    /// `request` is complete.
    fn complete(&mut self, request: RequestId);

    /// The kind of parallelism that something under way is for, or, without a `request`, what the
    /// rank waits for. `None` of its own computing, and of programs that are no training.
    fn parallelism(&self, _request: Option<RequestId>) -> Option<Parallelism> {
        None
    }

    /// What a message belongs to that the rank has just begun.
    fn origin(&self, _request: RequestId) -> Origin {
        Origin::default()
    }

    /// Goes on as if so many more iterations lay behind it, and so many fewer before it. What is
    /// under way stays. Whether it can do that: programs with a [`Program::repetition`] can.
    fn skip(&mut self, _iterations: u32) -> bool {
        false
    }

    /// Its state, for a checkpoint.
    fn save(&self) -> Vec<u8>;

    /// Takes over a saved state of the same rank.
    ///
    /// # Errors
    /// If that is none.
    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError>;
}

/// What every rank of a job does. Made on demand, so that a large all-to-all or
/// trace needs no memory.
pub trait Program: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Processors of each rank, 1 to [`MOST_PROCESSORS`].
    fn processors(&self) -> u8 {
        1
    }

    /// Whether messages and waits are told apart by [`RankProgram::parallelism`].
    fn has_parallelism(&self) -> bool {
        false
    }

    /// What `rank` does, from its beginning.
    ///
    /// # Errors
    /// If what is behind it cannot be read.
    fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError>;

    /// All that the job will send; `None` if that is not known beforehand.
    fn totals(&self) -> Option<Totals>;

    /// Iterations that every rank runs; 0 if that is not known beforehand.
    fn iterations(&self) -> u32;

    /// How its iterations resemble each other; `None` if they cannot be [skipped](RankProgram::skip).
    fn repetition(&self) -> Option<Repetition> {
        None
    }
}
