//! Decoder of DUMPI's binary files.
//!
//! Facts: sst-dumpi, `docs/traceformat.dox`, `dumpi/common/io.c` (sections) and
//! `dumpi/common/iodefs.h` (values).

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::function::{ALL_FUNCTIONS, END_OF_STREAM, Field, Function, Kind};
use super::record::{Argument, Call, Clock, Header, Span, Status, Trailer, Value};
use super::sections::{list_length, read_header, read_index, read_text, read_trailer};
use crate::bytes::ByteReader;
use crate::error::TraceError;

/// Bits of the mask that says what a record holds beside its arguments.
pub(super) mod mask {
    /// Statuses; the value 1 means that those of successful calls are stored, 2
    /// or 3 that all are.
    pub const STATUSES: u8 = 0b11;
    pub const CPU_TIME: u8 = 1 << 2;
    pub const WALL_TIME: u8 = 1 << 3;
    pub const THREAD: u8 = 1 << 6;
    pub const COUNTERS: u8 = 1 << 7;
    pub const ALL: u8 = STATUSES | CPU_TIME | WALL_TIME | THREAD | COUNTERS;
}

/// An open DUMPI trace: header and trailer are read, the records follow one by
/// one from [`next_call`](Self::next_call) or the iterator.
///
/// Memory: a buffer of 64 KiB, header and trailer, and the record at hand.
pub struct DumpiReader<R> {
    bytes: ByteReader<R>,
    header: Header,
    trailer: Trailer,
    cpu_offset: i32,
    wall_offset: i32,
    /// Records of each function so far, by number.
    seen: Vec<u32>,
    records: u64,
    finalized: bool,
    done: bool,
}

impl DumpiReader<File> {
    /// Opens a trace file.
    ///
    /// # Errors
    /// If the file cannot be read, is no DUMPI trace, or its sections are damaged.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file =
            odonata_files::open_seekable(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file, path.display().to_string())
    }
}

impl<R: Read + Seek> DumpiReader<R> {
    /// Reads a trace from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`DumpiReader::open`].
    pub fn new(source: R, file: String) -> Result<Self, TraceError> {
        Self::on(ByteReader::new(source, file)?)
    }

    pub(super) fn on(mut bytes: ByteReader<R>) -> Result<Self, TraceError> {
        let index = read_index(&mut bytes)?;
        let header = read_header(&mut bytes, &index)?;
        let trailer = read_trailer(&mut bytes, &index)?;
        bytes.enter(index.body, index.end_of(index.body), "stream of records")?;
        let cpu_offset = bytes.i32_be()?;
        let wall_offset = bytes.i32_be()?;
        Ok(Self {
            bytes,
            header,
            trailer,
            cpu_offset,
            wall_offset,
            seen: vec![0; usize::from(END_OF_STREAM)],
            records: 0,
            finalized: false,
            done: false,
        })
    }

    /// Where and when the trace was captured.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What lies behind the records.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Name of the file, as in messages.
    pub fn file(&self) -> &str {
        self.bytes.file()
    }

    /// Records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next record; `None` behind the last one. After an error, `None`.
    ///
    /// At the end the records are counted against the footer, which tells how
    /// often each function was recorded.
    ///
    /// # Errors
    /// If a record is damaged, or records are missing or too many.
    pub fn next_call(&mut self) -> Result<Option<Call>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.decode();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn decode(&mut self) -> Result<Option<Call>, TraceError> {
        // Traces before the end mark was introduced just end.
        if self.bytes.left() == 0 {
            return self.finish();
        }
        let offset = self.bytes.position();
        let number = self.bytes.u16_be()?;
        if number == END_OF_STREAM || (self.finalized && number == 0 && self.ends_with_zero()) {
            if self.bytes.left() > 0 {
                let left = self.bytes.left();
                let reason = format!(
                    "the stream of records ends here, but {left} bytes are left before the \
                     next section; the file is damaged"
                );
                return Err(self.bytes.error_at(offset, reason));
            }
            return self.finish();
        }
        let function = match Function::from_number(number) {
            Some(function) if number != ALL_FUNCTIONS => function,
            _ => {
                let reason = format!(
                    "{number} is the number of no function; records have 0 to {}",
                    END_OF_STREAM - 1
                );
                return Err(self.bytes.error_at(offset, reason));
            }
        };
        if function == Function::Pcontrol {
            let reason = "MPI_Pcontrol has no record format, but this record claims to be one";
            return Err(self.bytes.error_at(offset, reason));
        }
        let call = self.decode_call(offset, function)?;
        self.seen[usize::from(number)] += 1;
        self.records += 1;
        self.finalized |= function == Function::Finalize;
        Ok(Some(call))
    }

    /// Traces of the first versions end with a function number 0 after Finalize.
    fn ends_with_zero(&self) -> bool {
        self.bytes.left() == 0
    }

    fn finish(&mut self) -> Result<Option<Call>, TraceError> {
        for (function, count) in Function::counted().iter().zip(&self.trailer.counts) {
            let seen = self.seen[usize::from(function.number())];
            if seen != count.recorded() {
                let reason = format!(
                    "the stream of records ends with {seen} records of {}, but the footer \
                     counts {} ({} calls, {} of them not recorded); the file is damaged",
                    function.name(),
                    count.recorded(),
                    count.called,
                    count.ignored
                );
                return Err(self.bytes.error(reason));
            }
        }
        Ok(None)
    }

    fn decode_call(&mut self, offset: u64, function: Function) -> Result<Call, TraceError> {
        let at = self.bytes.position();
        let mask = self.bytes.u8()?;
        if mask & !mask::ALL != 0 {
            let reason =
                format!("{mask:#04x} is no mask of a record's parts; bits 4 and 5 are not in use");
            return Err(self.bytes.error_at(at, reason));
        }
        let thread = match mask & mask::THREAD {
            0 => 0,
            _ => self.bytes.u16_be()?,
        };
        let cpu = match mask & mask::CPU_TIME {
            0 => None,
            _ => Some(self.span(self.cpu_offset)?),
        };
        let wall = match mask & mask::WALL_TIME {
            0 => None,
            _ => Some(self.span(self.wall_offset)?),
        };
        let counters = match mask & mask::COUNTERS {
            0 => Vec::new(),
            _ => self.counters()?,
        };
        let arguments = self.arguments(function, mask & mask::STATUSES != 0)?;
        Ok(Call {
            offset,
            function,
            thread,
            cpu,
            wall,
            counters,
            arguments,
        })
    }

    fn span(&mut self, offset: i32) -> Result<Span, TraceError> {
        Ok(Span {
            start: self.clock(offset)?,
            stop: self.clock(offset)?,
        })
    }

    fn clock(&mut self, offset: i32) -> Result<Clock, TraceError> {
        let at = self.bytes.position();
        let seconds = self.bytes.u16_be()?;
        let nanoseconds = self.bytes.u32_be()?;
        if nanoseconds >= 1_000_000_000 {
            let reason = format!(
                "{nanoseconds} nanoseconds in a time stamp; there are fewer than \
                 1,000,000,000 in a second"
            );
            return Err(self.bytes.error_at(at, reason));
        }
        match offset.checked_add(i32::from(seconds)) {
            Some(seconds) => Ok(Clock {
                seconds,
                nanoseconds,
            }),
            None => {
                let reason = format!(
                    "a time stamp of {offset} s + {seconds} s does not fit into the format's \
                     31 bits of seconds"
                );
                Err(self.bytes.error_at(at, reason))
            }
        }
    }

    fn counters(&mut self) -> Result<Vec<(u64, u64)>, TraceError> {
        let at = self.bytes.position();
        let count = self.bytes.u8()?;
        if let Some(names) = &self.trailer.counters
            && names.len() != usize::from(count)
        {
            let reason = format!(
                "a record with {count} performance counters, but the trace names {}",
                names.len()
            );
            return Err(self.bytes.error_at(at, reason));
        }
        self.bytes.list(u64::from(count), 16, |bytes| {
            Ok((bytes.u64_be()?, bytes.u64_be()?))
        })
    }

    fn arguments(
        &mut self,
        function: Function,
        statuses: bool,
    ) -> Result<Vec<Argument>, TraceError> {
        let fields = function.fields();
        let mut arguments = Vec::with_capacity(fields.len());
        for field in fields {
            if field.root_only && !is_root(&arguments) {
                continue;
            }
            let at = self.bytes.position();
            let value =
                self.value(function, field, &arguments, statuses)
                    .map_err(|mut error| {
                        let (name, field) = (function.name(), field.name);
                        error.reason = format!("{name}, argument {field}: {}", error.reason);
                        error
                    })?;
            // Names are stored with their length behind them.
            if field.name == "resultlen"
                && let (Some(Value::Text(name)), Value::Int(length)) =
                    (arguments.last().map(|last: &Argument| &last.value), &value)
                && function != Function::Type_get_name
                && function != Function::Win_get_name
                && name.len() as i64 != i64::from(*length)
            {
                let reason = format!(
                    "{}: a name of {} bytes is said to have {length}",
                    function.name(),
                    name.len()
                );
                return Err(self.bytes.error_at(at, reason));
            }
            arguments.push(Argument { field, value });
        }
        Ok(arguments)
    }

    fn value(
        &mut self,
        function: Function,
        field: &'static Field,
        before: &[Argument],
        statuses: bool,
    ) -> Result<Value, TraceError> {
        let expected = field.length.map(|length| expected_length(before, length));
        let bytes = &mut self.bytes;
        Ok(match field.kind {
            Kind::Int
            | Kind::Destination
            | Kind::Source
            | Kind::Tag
            | Kind::Request
            | Kind::IoRequest => Value::Int(bytes.i32_be()?),
            Kind::Long => Value::Long(bytes.u64_be()? as i64),
            Kind::Comm
            | Kind::Datatype
            | Kind::Errhandler
            | Kind::File
            | Kind::Group
            | Kind::Info
            | Kind::Keyval
            | Kind::Win => Value::Handle(bytes.u16_be()?),
            Kind::Comparison
            | Kind::Combiner
            | Kind::Filemode
            | Kind::Locktype
            | Kind::Op
            | Kind::Ordering
            | Kind::Threadlevel
            | Kind::Topology
            | Kind::Typeclass
            | Kind::Whence
            | Kind::WinAssert => Value::Code(bytes.u8()?),
            Kind::Status => Value::Statuses(match statuses {
                false => Vec::new(),
                true => read_statuses(bytes, 1, &self.header)?,
            }),
            Kind::Statuses => Value::Statuses(match statuses {
                false => Vec::new(),
                true => read_statuses(bytes, expected.unwrap_or(0), &self.header)?,
            }),
            Kind::Ints | Kind::Requests | Kind::IoRequests => {
                // Two functions stored one integer in place of a list by mistake.
                let single = match (function, field.name) {
                    (Function::Type_struct, "indices") => !self.header.is_at_least([0, 6, 9]),
                    (Function::Cart_get, "coords") => !self.header.is_at_least([0, 6, 8]),
                    _ => false,
                };
                if single {
                    Value::Ints(vec![bytes.i32_be()?])
                } else {
                    let count = list_length(bytes, expected)?;
                    Value::Ints(bytes.list(count, 4, ByteReader::i32_be)?)
                }
            }
            Kind::IntRows => {
                let count = list_length(bytes, expected)?;
                Value::IntRows(bytes.list(count, 4, |bytes| {
                    let count = list_length(bytes, None)?;
                    bytes.list(count, 4, ByteReader::i32_be)
                })?)
            }
            Kind::Datatypes | Kind::Infos => {
                let count = list_length(bytes, expected)?;
                Value::Handles(bytes.list(count, 2, ByteReader::u16_be)?)
            }
            Kind::Distributions => {
                let count = list_length(bytes, expected)?;
                Value::Codes(bytes.bytes(count)?)
            }
            Kind::Text => Value::Text(read_text(bytes)?),
            Kind::Texts => {
                let count = list_length(bytes, expected)?;
                Value::Texts(bytes.list(count, 4, read_text)?)
            }
            Kind::TextRows => {
                let count = list_length(bytes, expected)?;
                Value::TextRows(bytes.list(count, 4, |bytes| {
                    let count = list_length(bytes, None)?;
                    bytes.list(count, 4, read_text)
                })?)
            }
            Kind::Argv => {
                // The first versions wrote the number of arguments of Init twice.
                if function == Function::Init && !self.header.is_at_least([0, 6, 2]) {
                    list_length(bytes, expected)?;
                }
                Value::Texts(bytes.list(expected.unwrap_or(0), 4, read_text)?)
            }
        })
    }
}

impl<R: Read + Seek> Iterator for DumpiReader<R> {
    type Item = Result<Call, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_call().transpose()
    }
}

/// Whether the calling rank is the root of the call.
fn is_root(arguments: &[Argument]) -> bool {
    let int = |wanted: &[&str]| {
        arguments
            .iter()
            .find(|argument| wanted.contains(&argument.field.name))
            .map(|argument| &argument.value)
    };
    int(&["commrank", "oldcommrank"]) == int(&["root"])
}

/// The number of elements that the argument `length` announces. Negative ones
/// (`MPI_UNDEFINED`) announce none.
fn expected_length(before: &[Argument], length: &str) -> u64 {
    before
        .iter()
        .find_map(|argument| match argument.value {
            Value::Int(count) if argument.field.name == length => Some(count.max(0) as u64),
            _ => None,
        })
        .unwrap_or(0)
}

fn read_statuses<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    expected: u64,
    header: &Header,
) -> Result<Vec<Status>, TraceError> {
    let at = bytes.position();
    let count = u64::from(bytes.u32_be()?);
    if count != 0 && count != expected {
        let reason =
            format!("{count} statuses where the call has {expected} or none; the file is damaged");
        return Err(bytes.error_at(at, reason));
    }
    let with_tag = header.is_at_least([0, 6, 3]);
    bytes.list(count, if with_tag { 14 } else { 10 }, |bytes| {
        Ok(Status {
            bytes: bytes.i32_be()?,
            source: bytes.i32_be()?,
            cancelled: bytes.u8()?,
            error: bytes.u8()?,
            tag: if with_tag { bytes.i32_be()? } else { -1 },
        })
    })
}
