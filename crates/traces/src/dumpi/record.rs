//! What a DUMPI trace consists of.

use super::function::{Field, Function};

/// A moment: seconds and nanoseconds, by the capture's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    /// Whole seconds. Wall time may count from 1970 or from the start of the
    /// machine; only differences within a job mean something.
    pub seconds: i32,
    /// Nanoseconds within the second, below 1,000,000,000.
    pub nanoseconds: u32,
}

impl Clock {
    /// Nanoseconds in all.
    pub fn total_nanoseconds(self) -> i64 {
        i64::from(self.seconds) * 1_000_000_000 + i64::from(self.nanoseconds)
    }
}

/// Entry into and return from a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When the call was entered.
    pub start: Clock,
    /// When the call returned.
    pub stop: Clock,
}

/// `MPI_Status` after a completed operation, as the capture found it in memory.
/// Where the application passed an array that MPI did not fill (completed
/// sends), it holds whatever was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Bytes received.
    pub bytes: i32,
    /// Rank that sent.
    pub source: i32,
    /// Tag of the message; −1 in traces before version 0.6.3, which lack it.
    pub tag: i32,
    /// Whether the operation was cancelled (0: no).
    pub cancelled: u8,
    /// Error class (0: none), lowest eight bits.
    pub error: u8,
}

/// An argument's value; which variant it has follows from [`Field::kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Integers, ranks, tags and requests.
    Int(i32),
    /// 64-bit integers.
    Long(i64),
    /// 16-bit handles.
    Handle(u16),
    /// 8-bit codes.
    Code(u8),
    /// A string as it lay in memory, in whatever encoding.
    Text(Vec<u8>),
    /// Lists of integers and of requests.
    Ints(Vec<i32>),
    /// Rows of integers.
    IntRows(Vec<Vec<i32>>),
    /// Lists of datatypes and of info objects.
    Handles(Vec<u16>),
    /// Lists of distributions.
    Codes(Vec<u8>),
    /// Strings.
    Texts(Vec<Vec<u8>>),
    /// Lists of strings.
    TextRows(Vec<Vec<Vec<u8>>>),
    /// Statuses; empty where the caller ignored them or the capture left them out.
    Statuses(Vec<Status>),
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What it is.
    pub field: &'static Field,
    /// What it was.
    pub value: Value,
}

/// One call of an MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Offset of the record in the file, bytes.
    pub offset: u64,
    /// Which function.
    pub function: Function,
    /// Thread that called; 0 where the capture left it out.
    pub thread: u16,
    /// Processor time of the calling process, if captured.
    pub cpu: Option<Span>,
    /// Wall time, if captured.
    pub wall: Option<Span>,
    /// Performance counters at entry and at return, in the order of
    /// [`super::Trailer::counters`]; empty if not captured.
    pub counters: Vec<(u64, u64)>,
    /// Arguments, in the order in which they are stored. Those that are stored
    /// at the root only are absent elsewhere.
    pub arguments: Vec<Argument>,
}

impl Call {
    /// The argument `name`, if the function has it and it is stored.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.arguments
            .iter()
            .find(|argument| argument.field.name == name)
            .map(|argument| &argument.value)
    }

    /// The integer, rank, tag, request, handle or code `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            Value::Int(value) => Some(i64::from(*value)),
            Value::Long(value) => Some(*value),
            Value::Handle(value) => Some(i64::from(*value)),
            Value::Code(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// The integers, ranks or requests `name`.
    pub fn ints(&self, name: &str) -> Option<&[i32]> {
        match self.value(name)? {
            Value::Ints(values) => Some(values),
            _ => None,
        }
    }

    /// The statuses of the call; none where they are not stored.
    pub fn statuses(&self) -> &[Status] {
        self.arguments
            .iter()
            .find_map(|argument| match &argument.value {
                Value::Statuses(statuses) => Some(statuses.as_slice()),
                _ => None,
            })
            .unwrap_or_default()
    }
}

/// First section of a trace: where and when it was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the library that wrote the trace.
    pub version: [u8; 3],
    /// Start of the job, seconds since 1970.
    pub start_time: u64,
    /// Name of the host.
    pub host: Vec<u8>,
    /// Name of the user.
    pub user: Vec<u8>,
    /// Position in the machine's mesh or torus; empty where it has none.
    pub mesh_position: Vec<i32>,
    /// Size of the mesh or torus; as long as the position, or empty in traces
    /// before version 0.5.
    pub mesh_size: Vec<i32>,
}

impl Header {
    /// Whether the trace was written by this version of sst-dumpi or a later one.
    pub(super) fn is_at_least(&self, version: [u8; 3]) -> bool {
        self.version >= version
    }
}

/// How often a function was called, and how often of these it was not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Calls.
    pub called: u32,
    /// Calls without a record.
    pub ignored: u32,
}

impl CallCount {
    /// Records that the stream holds.
    pub fn recorded(self) -> u32 {
        self.called.wrapping_sub(self.ignored)
    }
}

/// Everything behind the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Calls of each of [`Function::counted`], by number; empty if the trace has
    /// no footer.
    pub counts: Vec<CallCount>,
    /// Calls of all functions together.
    pub total: CallCount,
    /// Keys and values that the application stored.
    pub keyvals: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of the performance counters; `None` if the trace has no such section.
    pub counters: Option<Vec<Vec<u8>>>,
    /// Addresses and names of the functions that were traced by address.
    pub addresses: Vec<(u64, Vec<u8>)>,
    /// Size in bytes of every datatype, by handle: MPI's own and those that the
    /// application had made by the end.
    pub datatype_sizes: Vec<i32>,
}
