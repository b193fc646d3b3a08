//! The text form of a trace: what `dumpi2ascii -a` prints of it, line by line.
//!
//! Compared byte by byte with that program's output for every trace at hand; for
//! functions that occur in none of these the same rules are applied to their
//! arguments in stored order.

use std::io::{self, Read, Seek, Write};

use super::function::{Function, Kind};
use super::names;
use super::reader::DumpiReader;
use super::record::{Call, CallCount, Clock, Header, Span, Status, Trailer, Value};
use crate::error::TraceError;

/// What went wrong while a trace was written as text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The text cannot be written.
    #[error("the text of the trace cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// Writes header, all records that are left, and trailer.
///
/// # Errors
/// If the trace is damaged or `out` fails.
pub fn write_trace<R: Read + Seek>(
    trace: &mut DumpiReader<R>,
    out: &mut impl Write,
) -> Result<(), TextError> {
    write_header(trace.header(), out)?;
    while let Some(call) = trace.next_call()? {
        write_call(&call, trace.trailer(), out)?;
    }
    write_trailer(trace.trailer(), out)?;
    Ok(())
}

/// Writes a header.
///
/// # Errors
/// If `out` fails.
pub fn write_header(header: &Header, out: &mut impl Write) -> io::Result<()> {
    let [major, minor, patch] = header.version;
    writeln!(out, "version={major}.{minor}.{patch}")?;
    writeln!(out, "starttime={}", date(header.start_time))?;
    write_line(out, b"hostname=", &header.host)?;
    write_line(out, b"username=", &header.user)?;
    writeln!(out, "meshdim={}", header.mesh_position.len())?;
    writeln!(out, "meshsize={:?}", header.mesh_size)?;
    writeln!(out, "meshcrd={:?}", header.mesh_position)
}

/// Writes a call. The trailer tells the names of performance counters and of
/// functions that were traced by address.
///
/// # Errors
/// If `out` fails.
pub fn write_call(call: &Call, trailer: &Trailer, out: &mut impl Write) -> io::Result<()> {
    write_moment(call, "entering", |span| span.start, out)?;
    write_counters(call, trailer, |pair| pair.0, out)?;
    for argument in &call.arguments {
        let name = match argument.field.name {
            "position_in" => "position.in",
            "position_out" => "position.out",
            "dims_in" => "dims.in",
            "dims_out" => "dims.out",
            name => name,
        };
        let length = argument
            .field
            .length
            .and_then(|length| call.int(length))
            .unwrap_or(0);
        if let (Function::Function_enter | Function::Function_exit, Value::Long(address)) =
            (call.function, &argument.value)
        {
            write_address(*address, trailer, out)?;
        } else {
            write_argument(argument.field.kind, name, length, &argument.value, out)?;
        }
    }
    write_moment(call, "returning", |span| span.stop, out)?;
    write_counters(call, trailer, |pair| pair.1, out)
}

/// Writes what lies behind the records.
///
/// # Errors
/// If `out` fails.
pub fn write_trailer(trailer: &Trailer, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Total keyvals: {}", trailer.keyvals.len())?;
    for (key, value) in &trailer.keyvals {
        out.write_all(key)?;
        write_line(out, b"=", value)?;
    }
    let none = CallCount::default();
    for (index, function) in Function::counted().iter().enumerate() {
        let count = trailer.counts.get(index).unwrap_or(&none);
        write_count(function.name(), count, out)?;
    }
    write_count(Function::ALL_FUNCTIONS.name(), &trailer.total, out)?;
    let counters = trailer.counters.as_deref().unwrap_or_default();
    writeln!(out, "Performance counters: {}", counters.len())?;
    for name in counters {
        write_line(out, b"    ", name)?;
    }
    for (address, name) in &trailer.addresses {
        write!(out, "Function address {address} has label ")?;
        write_line(out, b"", name)?;
    }
    for (handle, size) in trailer.datatype_sizes.iter().enumerate() {
        let name = names::datatype_name(u16::try_from(handle).unwrap_or(u16::MAX));
        writeln!(out, "Datatype {handle} ({name}) has size {size}")?;
    }
    Ok(())
}

fn write_line(out: &mut impl Write, label: &[u8], text: &[u8]) -> io::Result<()> {
    out.write_all(label)?;
    out.write_all(until_nul(text))?;
    out.write_all(b"\n")
}

/// C prints a string up to its first zero byte.
fn until_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn write_count(name: &str, count: &CallCount, out: &mut impl Write) -> io::Result<()> {
    let (called, ignored) = (count.called as i32, count.ignored as i32);
    writeln!(
        out,
        "{name} called {called} times and ignored {ignored} times"
    )
}

fn write_moment(
    call: &Call,
    what: &str,
    moment: impl Fn(Span) -> Clock,
    out: &mut impl Write,
) -> io::Result<()> {
    let wall = call.wall.map(&moment).unwrap_or_default();
    let cpu = call.cpu.map(&moment).unwrap_or_default();
    writeln!(
        out,
        "{} {what} at walltime {}.{:09}, cputime {}.{:09} seconds in thread {}.",
        call.function.name(),
        wall.seconds,
        wall.nanoseconds,
        cpu.seconds,
        cpu.nanoseconds,
        call.thread
    )
}

fn write_counters(
    call: &Call,
    trailer: &Trailer,
    value: impl Fn(&(u64, u64)) -> u64,
    out: &mut impl Write,
) -> io::Result<()> {
    if call.counters.is_empty() {
        return Ok(());
    }
    write!(out, "Perfcounters: [")?;
    let names = trailer.counters.as_deref().unwrap_or_default();
    for (index, pair) in call.counters.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        out.write_all(names.get(index).map_or(&[][..], |name| until_nul(name)))?;
        write!(out, "={}", value(pair) as i64)?;
    }
    writeln!(out, "]")
}

fn write_address(address: i64, trailer: &Trailer, out: &mut impl Write) -> io::Result<()> {
    let name = trailer
        .addresses
        .iter()
        .find(|(known, _)| *known == address as u64)
        .map_or(&b"(null)"[..], |(_, name)| until_nul(name));
    write!(out, "int fn={address} (\"")?;
    out.write_all(name)?;
    writeln!(out, "\")")
}

fn write_argument(
    kind: Kind,
    name: &str,
    length: i64,
    value: &Value,
    out: &mut impl Write,
) -> io::Result<()> {
    match value {
        Value::Int(value) => write_int(kind, name, *value, out),
        Value::Long(value) => writeln!(out, "int64_t {name}={value}"),
        Value::Handle(handle) => {
            let (label, meaning) = match kind {
                Kind::Comm => ("MPI_Comm", names::comm(*handle)),
                Kind::Datatype => ("MPI_Datatype", names::datatype_name(*handle)),
                Kind::Group => ("MPI_Group", names::group(*handle)),
                Kind::File => ("MPI_File", names::file(*handle)),
                Kind::Info => ("MPI_Info", names::info(*handle)),
                Kind::Errhandler => ("int", names::errhandler(*handle)),
                Kind::Win => ("int", names::window(*handle)),
                _ => ("int", names::keyval(*handle)),
            };
            writeln!(out, "{label} {name}={handle} ({meaning})")
        }
        Value::Code(code) => {
            let (label, meaning) = match kind {
                Kind::Op => ("MPI_Op", names::op(*code).to_owned()),
                Kind::WinAssert => ("int", names::assertion(*code)),
                _ => ("int", code_name(kind, *code).to_owned()),
            };
            writeln!(out, "{label} {name}={code} ({meaning})")
        }
        Value::Text(text) => {
            write!(out, "string {name}=\"")?;
            out.write_all(until_nul(text))?;
            writeln!(out, "\"")
        }
        Value::Ints(values) if matches!(kind, Kind::Requests | Kind::IoRequests) => {
            let label = if kind == Kind::Requests {
                "MPI"
            } else {
                "MPIO"
            };
            write!(out, "{label}_Request {name}[{}]=", values.len())?;
            match values.is_empty() {
                true => writeln!(out, "<IGNORED>"),
                false => writeln!(out, "{values:?}"),
            }
        }
        Value::Ints(values) if values.is_empty() => {
            writeln!(out, "int {name}[0]=<IGNORED>")
        }
        Value::Ints(values) => writeln!(out, "int {name}[{}]={values:?}", values.len()),
        Value::IntRows(rows) => write_rows(name, rows, out),
        Value::Handles(handles) => {
            let label = if kind == Kind::Infos {
                "Info"
            } else {
                "Datatype"
            };
            writeln!(out, "MPI_{label} {name}[{}]={handles:?}", handles.len())
        }
        Value::Codes(codes) => writeln!(out, "int {name}[{}]={codes:?}", codes.len()),
        Value::Texts(texts) => {
            write!(out, "string {name}[{}]=", texts.len())?;
            match texts.is_empty() {
                true => write!(out, "<IGNORED>")?,
                false => write_texts(texts, out)?,
            }
            writeln!(out)
        }
        Value::TextRows(rows) => {
            write!(out, "string {name}[{}]=[", rows.len())?;
            for (index, row) in rows.iter().enumerate() {
                if index > 0 {
                    write!(out, ", ")?;
                }
                write_texts(row, out)?;
            }
            writeln!(out, "]")
        }
        Value::Statuses(statuses) if kind == Kind::Status => {
            write!(out, "MPI_Status {name}=")?;
            write_statuses(statuses, out)
        }
        Value::Statuses(statuses) => {
            // A list that the capture left out is printed with its length.
            write!(out, "MPI_Status {name}[{length}]=")?;
            write_statuses(statuses, out)
        }
    }
}

/// Rows end lines of their own, and nothing ends that of the last bracket: the next
/// argument stands behind it.
fn write_rows(name: &str, rows: &[Vec<i32>], out: &mut impl Write) -> io::Result<()> {
    // The rows of the format are ranges of ranks: first, last and stride.
    let width = rows.first().map_or(3, Vec::len);
    write!(out, "int {name}[{}][{width}]=", rows.len())?;
    if rows.is_empty() {
        return writeln!(out, "<IGNORED>");
    }
    write!(out, "[")?;
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        writeln!(out, "{row:?}")?;
    }
    write!(out, "]")
}

fn write_int(kind: Kind, name: &str, value: i32, out: &mut impl Write) -> io::Result<()> {
    let meaning = match (kind, value) {
        (Kind::Source, -1) => " (MPI_ANY_SOURCE)",
        (Kind::Source | Kind::Destination, -2) => " (MPI_ROOT)",
        (Kind::Tag, -1) => " (MPI_ANY_TAG)",
        _ => "",
    };
    match kind {
        Kind::Request => writeln!(out, "MPI_Request {name}=[{value}]"),
        Kind::IoRequest => writeln!(out, "MPIO_Request {name}=[{value}]"),
        _ => writeln!(out, "int {name}={value}{meaning}"),
    }
}

fn code_name(kind: Kind, code: u8) -> &'static str {
    match kind {
        Kind::Combiner => names::combiner(code),
        Kind::Filemode => names::filemode(code),
        Kind::Locktype => names::locktype(code),
        Kind::Ordering => names::ordering(code),
        Kind::Threadlevel => names::threadlevel(code),
        Kind::Topology => names::topology(code),
        Kind::Typeclass => names::typeclass(code),
        Kind::Whence => names::whence(code),
        _ => names::comparison(code),
    }
}

fn write_texts(texts: &[Vec<u8>], out: &mut impl Write) -> io::Result<()> {
    write!(out, "[")?;
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        write!(out, "\"")?;
        out.write_all(until_nul(text))?;
        write!(out, "\"")?;
    }
    write!(out, "]")
}

fn write_statuses(statuses: &[Status], out: &mut impl Write) -> io::Result<()> {
    if statuses.is_empty() {
        return writeln!(out, "<IGNORED>");
    }
    write!(out, "[")?;
    for (index, status) in statuses.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        write!(
            out,
            "{{bytes={}, cancelled={}, source={}, tag={}, error={}}}",
            status.bytes, status.cancelled, status.source, status.tag, status.error
        )?;
    }
    writeln!(out, "]")
}

/// A moment in seconds since 1970 as C's `ctime` writes it, in UTC.
pub fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days from 1 March of year 0, in cycles of 400 years of 146,097 days; the
    // year starts in March, so that the leap day is its last one.
    let shifted = days + 719_468;
    let (cycle, of_cycle) = (shifted / 146_097, shifted % 146_097);
    let leap_days = of_cycle / 1_460 - of_cycle / 36_524 + of_cycle / 146_096;
    let year_of_cycle = (of_cycle - leap_days) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = 400 * cycle + year_of_cycle + u64::from(month >= 10);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days % 7) as usize],
        MONTHS[((month + 2) % 12) as usize],
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        // `date -u -d @N`.
        assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_399), "Mon Feb 28 23:59:59 2000");
        assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date(951_868_800), "Wed Mar  1 00:00:00 2000");
        assert_eq!(date(1_296_777_956), "Fri Feb  4 00:05:56 2011");
        assert_eq!(date(4_107_542_400), "Mon Mar  1 00:00:00 2100");
        // A damaged header may hold any number.
        assert!(date(u64::MAX).ends_with("584554051223"));
    }
}
