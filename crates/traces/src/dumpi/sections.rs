//! The parts of a trace around its records: index, header, trailer.

use std::io::{Read, Seek};

use super::function::ALL_FUNCTIONS;
use super::record::{CallCount, Header, Trailer};
use crate::bytes::ByteReader;
use crate::error::TraceError;

/// First bytes of a trace, and of the index at its end.
pub(super) const MAGIC: u64 = 0xffaa_dd44_554d_5049;
/// First bytes of the footer.
pub(super) const FOOTER_MAGIC: u64 = 0xf007_fee7;

/// Where the sections lie; 0 stands for a section that the trace does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Index {
    offset: u64,
    sizes: u64,
    addresses: u64,
    counters: u64,
    header: u64,
    pub body: u64,
    footer: u64,
    keyvals: u64,
}

impl Index {
    /// End of the section that starts at `start`: the next section.
    pub fn end_of(&self, start: u64) -> u64 {
        [
            self.sizes,
            self.addresses,
            self.counters,
            self.header,
            self.body,
            self.footer,
            self.keyvals,
        ]
        .into_iter()
        .filter(|&offset| offset > start)
        .min()
        .unwrap_or(self.offset)
    }
}

/// Reads the index at the end of a trace.
pub(super) fn read_index<R: Read + Seek>(bytes: &mut ByteReader<R>) -> Result<Index, TraceError> {
    let size = bytes.size();
    bytes.enter(0, size, "file")?;
    let magic = bytes.u64_be()?;
    if magic != MAGIC {
        let reason = format!("starts with {magic:#018x}, but a DUMPI trace with {MAGIC:#018x}");
        return Err(bytes.error_at(0, reason));
    }
    // The index has grown from 4 to 7 offsets; its first word tells how many.
    for extra in [3u64, 2, 1, 0] {
        let length = 8 * (5 + extra);
        let Some(offset) = size.checked_sub(length).filter(|&offset| offset >= 8) else {
            continue;
        };
        bytes.enter(offset, size, "index")?;
        if bytes.u64_be()? != MAGIC {
            continue;
        }
        let mut index = Index {
            offset,
            ..Index::default()
        };
        if extra >= 3 {
            index.sizes = bytes.u64_be()?;
        }
        if extra >= 2 {
            index.addresses = bytes.u64_be()?;
        }
        if extra >= 1 {
            index.counters = bytes.u64_be()?;
        }
        index.header = bytes.u64_be()?;
        index.body = bytes.u64_be()?;
        index.footer = bytes.u64_be()?;
        index.keyvals = bytes.u64_be()?;
        return check_index(bytes, index);
    }
    Err(bytes.error_at(
        size,
        "no index at the end; the file is truncated, or its capture did not finish",
    ))
}

fn check_index<R: Read + Seek>(bytes: &ByteReader<R>, index: Index) -> Result<Index, TraceError> {
    let sections = [
        ("datatype sizes", index.sizes),
        ("function names", index.addresses),
        ("counter names", index.counters),
        ("header", index.header),
        ("stream of records", index.body),
        ("footer", index.footer),
        ("keyvals", index.keyvals),
    ];
    for (place, &(name, offset)) in sections.iter().enumerate() {
        if offset == 0 && name != "stream of records" {
            continue;
        }
        if offset < 8 || offset >= index.offset {
            let reason = format!(
                "the index puts the {name} at byte {offset}, outside of 8 to {}",
                index.offset
            );
            return Err(bytes.error_at(index.offset, reason));
        }
        if let Some((other, _)) = sections[..place].iter().find(|other| other.1 == offset) {
            let reason = format!("the index puts {other} and {name} both at byte {offset}");
            return Err(bytes.error_at(index.offset, reason));
        }
    }
    Ok(index)
}

/// Reads the header.
pub(super) fn read_header<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    index: &Index,
) -> Result<Header, TraceError> {
    if index.header == 0 {
        return Ok(Header::default());
    }
    bytes.enter(index.header, index.end_of(index.header), "header")?;
    let mut header = Header {
        version: bytes.array()?,
        start_time: bytes.u64_be()?,
        host: read_short_text(bytes)?,
        user: read_short_text(bytes)?,
        ..Header::default()
    };
    let count = list_length(bytes, None)?;
    header.mesh_position = bytes.list(count, 4, ByteReader::i32_be)?;
    if count > 0 && header.is_at_least([0, 5, 0]) {
        list_length(bytes, Some(count))?;
        header.mesh_size = bytes.list(count, 4, ByteReader::i32_be)?;
    }
    Ok(header)
}

/// Reads everything behind the records.
pub(super) fn read_trailer<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    index: &Index,
) -> Result<Trailer, TraceError> {
    let mut trailer = Trailer::default();
    if index.footer != 0 {
        read_footer(bytes, index, &mut trailer)?;
    }
    if index.keyvals != 0 {
        bytes.enter(
            index.keyvals,
            index.end_of(index.keyvals),
            "list of keyvals",
        )?;
        let count = list_length(bytes, None)?;
        trailer.keyvals = bytes.list(count, 4, |bytes| {
            Ok((read_short_text(bytes)?, read_short_text(bytes)?))
        })?;
    }
    if index.counters != 0 {
        bytes.enter(
            index.counters,
            index.end_of(index.counters),
            "list of counters",
        )?;
        let count = list_length(bytes, None)?;
        trailer.counters = Some(bytes.list(count, 2, read_short_text)?);
    }
    if index.addresses != 0 {
        bytes.enter(
            index.addresses,
            index.end_of(index.addresses),
            "list of functions",
        )?;
        let count = list_length(bytes, None)?;
        trailer.addresses = bytes.list(count, 10, |bytes| {
            Ok((bytes.u64_be()?, read_short_text(bytes)?))
        })?;
    }
    if index.sizes != 0 {
        bytes.enter(
            index.sizes,
            index.end_of(index.sizes),
            "list of datatype sizes",
        )?;
        let count = list_length(bytes, None)?;
        trailer.datatype_sizes = bytes.list(count, 4, ByteReader::i32_be)?;
    }
    Ok(trailer)
}

fn read_footer<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    index: &Index,
    trailer: &mut Trailer,
) -> Result<(), TraceError> {
    bytes.enter(index.footer, index.end_of(index.footer), "footer")?;
    let magic = bytes.u64_be()?;
    if magic != FOOTER_MAGIC {
        let reason = format!("the footer starts with {magic:#x}, not with {FOOTER_MAGIC:#x}");
        return Err(bytes.error_at(index.footer, reason));
    }
    let entries = u64::from(ALL_FUNCTIONS) + 1;
    let called = bytes.list(entries, 4, ByteReader::u32_be)?;
    let ignored = bytes.list(entries, 4, ByteReader::u32_be)?;
    let mut counts: Vec<CallCount> = called
        .into_iter()
        .zip(ignored)
        .map(|(called, ignored)| CallCount { called, ignored })
        .collect();
    trailer.total = counts.pop().unwrap_or_default();
    trailer.counts = counts;
    Ok(())
}

/// Reads the number of elements of a list and compares it with the announced one.
pub(super) fn list_length<R: Read + Seek>(
    bytes: &mut ByteReader<R>,
    expected: Option<u64>,
) -> Result<u64, TraceError> {
    let at = bytes.position();
    let count = bytes.u32_be()?;
    match expected {
        Some(expected) if u64::from(count) != expected => {
            let reason = format!(
                "the list has {count} elements, but the call says {expected}; the file is damaged"
            );
            Err(bytes.error_at(at, reason))
        }
        None if i32::try_from(count).is_err() => {
            let reason = format!("the list has {} elements", count as i32);
            Err(bytes.error_at(at, reason))
        }
        _ => Ok(u64::from(count)),
    }
}

/// Reads a string with a 32-bit length.
pub(super) fn read_text<R: Read + Seek>(bytes: &mut ByteReader<R>) -> Result<Vec<u8>, TraceError> {
    let count = list_length(bytes, None)?;
    bytes.bytes(count)
}

/// Reads a string with a 16-bit length.
fn read_short_text<R: Read + Seek>(bytes: &mut ByteReader<R>) -> Result<Vec<u8>, TraceError> {
    let count = bytes.u16_be()?;
    bytes.bytes(u64::from(count))
}
