//! What the readers of MPI traces have in common: what a rank called.

use odonata_traces::{Position, TraceError};

/// A communicator as one rank knows it: 0 is the world, 1 the rank alone, all
/// others count in the order in which the rank got them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub u32);

impl Slot {
    pub const WORLD: Self = Self(0);
    pub const MYSELF: Self = Self(1);
}

/// The trace's number of a request. May be used again once it is complete.
pub(crate) type RequestNumber = u64;

/// When a message's call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When it is complete.
    Complete,
    /// At once; nobody asks for it again (`MPI_Bsend`).
    Buffered,
    /// At once; a wait asks for it.
    Requested(RequestNumber),
}

/// A message that a rank sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Send {
        comm: Slot,
        /// Member of the communicator.
        to: u32,
        bytes: u64,
        tag: u32,
    },
    Receive {
        comm: Slot,
        /// Member of the communicator; `None`: any.
        from: Option<u32>,
        /// `None`: any.
        tag: Option<u32>,
    },
    /// A receive of which the trace tells no more before it is complete.
    Unknown,
    /// To or from nobody (`MPI_PROC_NULL`).
    Nothing,
}

impl Message {
    /// The message that this one turned out to be.
    pub fn turned_out(self, outcome: &Outcome) -> Self {
        match (self, outcome) {
            (
                Self::Receive { comm, from, tag },
                Outcome::Message {
                    from: found,
                    tag: found_tag,
                    ..
                },
            ) => match from.or(*found) {
                from @ Some(_) => Self::Receive {
                    comm,
                    from,
                    tag: tag.or(*found_tag),
                },
                None => Self::Nothing,
            },
            (
                Self::Unknown,
                Outcome::Message {
                    comm: Some(comm),
                    from: Some(from),
                    tag,
                },
            ) => Self::Receive {
                comm: *comm,
                from: Some(*from),
                tag: *tag,
            },
            (Self::Unknown, _) => Self::Nothing,
            (message, _) => message,
        }
    }

    /// Whether it takes what comes.
    pub fn is_open(self) -> bool {
        match self {
            Self::Receive { from, tag, .. } => from.is_none() || tag.is_none(),
            Self::Unknown => true,
            Self::Send { .. } | Self::Nothing => false,
        }
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// If it is a receive: the message. `comm`: if the trace tells only now.
    Message {
        comm: Option<Slot>,
        /// `None`: nobody (`MPI_PROC_NULL`).
        from: Option<u32>,
        /// `None`: not recorded.
        tag: Option<u32>,
    },
    /// If it is a collective.
    Collective(Slot, Shape),
    /// It was cancelled.
    Cancelled,
}

/// What a collective does. Sizes are bytes; lists have an element per member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Barrier,
    Broadcast {
        root: u32,
        bytes: u64,
    },
    Reduce {
        root: u32,
        bytes: u64,
    },
    Allreduce {
        bytes: u64,
    },
    Scan {
        bytes: u64,
    },
    ExclusiveScan {
        bytes: u64,
    },
    /// Every member has a block of `bytes`.
    Gather {
        root: u32,
        bytes: u64,
    },
    /// This member has a block of `mine`; the root knows all.
    GatherVarying {
        root: u32,
        mine: u64,
        all: Option<Box<[u64]>>,
    },
    Scatter {
        root: u32,
        bytes: u64,
    },
    ScatterVarying {
        root: u32,
        mine: u64,
        all: Option<Box<[u64]>>,
    },
    Allgather {
        bytes: u64,
    },
    AllgatherVarying {
        all: Box<[u64]>,
    },
    /// Every member has a block of `bytes` for every other.
    Alltoall {
        bytes: u64,
    },
    /// `exact`: whether the sizes are those between any two members, rather than
    /// means.
    AlltoallVarying {
        sent: Box<[u64]>,
        received: Box<[u64]>,
        exact: bool,
    },
    ReduceScatter {
        all: Box<[u64]>,
    },
    /// The trace tells no more before it is complete.
    Unknown,
}

impl Shape {
    /// Name of the operation.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::Allreduce { .. } => "allreduce",
            Self::Scan { .. } => "scan",
            Self::ExclusiveScan { .. } => "exclusive scan",
            Self::Gather { .. } => "gather",
            Self::GatherVarying { .. } => "gatherv",
            Self::Scatter { .. } => "scatter",
            Self::ScatterVarying { .. } => "scatterv",
            Self::Allgather { .. } => "allgather",
            Self::AllgatherVarying { .. } => "allgatherv",
            Self::Alltoall { .. } => "alltoall",
            Self::AlltoallVarying { .. } => "alltoallv",
            Self::ReduceScatter { .. } => "reduce-scatter",
            Self::Unknown => "unknown collective",
        }
    }

    /// Its root, if it has one.
    pub fn root(&self) -> Option<u32> {
        match self {
            Self::Broadcast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::GatherVarying { root, .. }
            | Self::Scatter { root, .. }
            | Self::ScatterVarying { root, .. } => Some(*root),
            _ => None,
        }
    }
}

/// How a communicator comes into being, as one of its makers sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The same members in the same order.
    Duplicate,
    /// Members of equal colour, by key and then by their rank in the parent; no
    /// colour: in none.
    Split { color: Option<i32>, key: i32 },
    /// The members of a group, in its order.
    OfGroup(GroupNumber),
    /// The first members, as many as the grid has places.
    Grid { extents: Box<[u32]> },
    /// The members of the parent grid whose places differ only in these dimensions.
    SubGrid { kept: Box<[bool]> },
    /// The first `nodes` members.
    Graph { nodes: u32 },
}

/// A group as one rank knows it: its place among [`Call::Group`] of that rank,
/// from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupNumber(pub u32);

/// How a group is made of others of the same rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GroupMade {
    Empty,
    Of(Slot),
    Union(GroupNumber, GroupNumber),
    Intersection(GroupNumber, GroupNumber),
    Difference(GroupNumber, GroupNumber),
    Included(GroupNumber, Box<[u32]>),
    Excluded(GroupNumber, Box<[u32]>),
    /// (first, last, stride) each.
    IncludedRanges(GroupNumber, Box<[[i32; 3]]>),
    ExcludedRanges(GroupNumber, Box<[[i32; 3]]>),
}

/// A one-sided transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Put,
    Get,
}

/// One thing that a rank did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Message(Message, Until),
    /// Both at once, and waits for both (`MPI_Sendrecv`).
    Exchange(Message, Message),
    /// Makes a persistent request.
    Prepare(Message, RequestNumber),
    Start(Box<[RequestNumber]>),
    /// These are complete when the call returns.
    Complete(Box<[RequestNumber]>),
    /// What a request that is about to complete turned out to be. Only read ahead.
    Outcome(RequestNumber, Outcome),
    /// Will not be asked for again.
    Free(RequestNumber),
    Cancel(RequestNumber),
    Collective {
        comm: Slot,
        shape: Shape,
        request: Option<RequestNumber>,
    },
    /// Makes a communicator of `parent`; `new` is the rank's next slot, if the
    /// rank is a member.
    Create {
        parent: Slot,
        new: Option<Slot>,
        how: Origin,
    },
    /// Makes the rank's next group.
    Group(GroupMade),
    /// The trace says who the rank is and how many there are.
    Claim {
        comm: Slot,
        rank: Option<u32>,
        size: Option<u32>,
    },
    Transfer {
        direction: Direction,
        comm: Slot,
        /// The other end.
        member: u32,
        bytes: u64,
        window: u32,
    },
    /// Transfers of a window (all: `None`) are complete when the call returns.
    CompleteTransfers(Option<u32>),
    /// What cannot be replayed and does not stop the rest; counted by name.
    NotReplayed(&'static str),
    /// The record is a time in which the trace does not tell what the rank did.
    Unrecorded,
}

/// Wall time of a call, picoseconds since any moment that is the same for all
/// calls of the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub entered: i64,
    pub left: i64,
}

/// A step of a trace: what the calls in it did is in a list beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Offset in the rank's file, bytes.
    pub at: u64,
    /// When, if recorded.
    pub span: Option<Span>,
    /// Whether the time in it is that of the rank's own work.
    pub local: bool,
}

/// A moment in a rank's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As [`Record::at`].
    pub at: u64,
    /// As those of [`Span`], if recorded.
    pub time: Option<i64>,
}

/// A function from its entry to its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub entered: Place,
    /// The trace's end, if it does not return before.
    pub left: Place,
}

impl Place {
    /// Behind everything.
    pub const END: Self = Self {
        at: u64::MAX,
        time: None,
    };
}

/// A moment that a trace has a name for; times as those of [`Span`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// What it goes by.
    pub names: Vec<String>,
    pub begins: i64,
    pub ends: i64,
}

/// The trace of one rank, call by call.
pub(crate) trait Calls: Send {
    /// Reads the next record and writes what it did to `calls`, which is empty;
    /// `None` behind the last one.
    ///
    /// # Errors
    /// If the trace is damaged or holds what cannot be.
    fn next(&mut self, calls: &mut Vec<Call>) -> Result<Option<Record>, TraceError>;

    /// Name of the file, for messages.
    fn file(&self) -> &str;

    /// Whether requests may be cancelled, so that what comes of each must be known
    /// when it begins.
    fn cancels(&self) -> bool;

    /// Whether calls are missing that made requests, so that waits for unknown ones
    /// are no sign of damage.
    fn is_incomplete(&self) -> bool;

    /// An error at a place of the file.
    fn error_at(&self, at: u64, reason: String) -> TraceError {
        TraceError::new(self.file(), Position::Byte(at), reason)
    }
}

/// The traces of all ranks of a job.
pub(crate) trait Source: Send + Sync {
    fn ranks(&self) -> u32;

    /// Opens the trace of a rank; with the outcomes of its requests, for those who
    /// read ahead, or without.
    ///
    /// # Errors
    /// If it cannot be read.
    fn calls(&self, rank: u32, outcomes: bool) -> Result<Box<dyn Calls + '_>, TraceError>;

    /// When the trace starts, on the clock of its records.
    ///
    /// # Errors
    /// If it cannot be read.
    fn start(&self) -> Result<i64, TraceError>;

    /// Calls `each` for every time that a rank is in a function, in order; functions
    /// of MPI are some of them. Where it calls itself, only the outermost counts.
    ///
    /// # Errors
    /// If the trace cannot be read.
    fn visits(
        &self,
        rank: u32,
        function: &str,
        each: &mut dyn FnMut(Visit),
    ) -> Result<(), TraceError>;

    /// Names of functions that the trace knows, those of MPI apart, for messages.
    ///
    /// # Errors
    /// If the trace cannot be read.
    fn functions(&self) -> Result<Vec<String>, TraceError>;

    /// The trace's markers, by time.
    ///
    /// # Errors
    /// If they cannot be read.
    fn markers(&self) -> Result<Vec<Marker>, TraceError> {
        Ok(Vec::new())
    }

    /// The members of the rank's communicators by slot where the trace says so
    /// outright, as those of OTF2 do; `None`: they follow from the calls.
    fn defined(&self) -> Option<Defined> {
        None
    }
}

/// Communicators that a trace defines outright.
pub(crate) struct Defined {
    /// The ranks of each, in order; `None`: of the calling rank only.
    pub members: Vec<Option<Box<[u32]>>>,
}

/// An error of the job as a whole: names the file of rank 0.
pub(super) fn job_error(source: &dyn Source, reason: String) -> TraceError {
    match source.calls(0, false) {
        Ok(calls) => TraceError::new(calls.file(), Position::Whole, format!("(the job) {reason}")),
        Err(error) => error,
    }
}
