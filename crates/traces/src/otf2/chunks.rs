//! What all files of an archive have in common: chunks, byte order, compressed
//! integers and records with a length.
//!
//! A file consists of chunks of equal size, each with a header: the byte 3, the
//! byte order (0x42 little-endian, 0x23 big-endian), and the numbers of its first
//! and last event (64 bits each; 1 and 0 in files of definitions). A byte 0 ends
//! a chunk, a byte 2 the file. A compressed integer is a byte with the number of
//! bytes that follow (0xff stands for the largest number, with none following).

use std::io::{Read, Seek};

use crate::bytes::ByteReader;
use crate::error::TraceError;

pub(super) const END_OF_CHUNK: u8 = 0;
pub(super) const END_OF_FILE: u8 = 2;
pub(super) const CHUNK_HEADER: u8 = 3;
pub(super) const LITTLE_ENDIAN: u8 = 0x42;
const BIG_ENDIAN: u8 = 0x23;

/// Sizes of chunks that OTF2 allows, bytes.
pub(super) const CHUNK_SIZES: std::ops::RangeInclusive<u64> = 256 * 1024..=16 * 1024 * 1024;

/// End of a record, and what to restore behind it.
pub(super) struct Record {
    end: u64,
    outside: (u64, &'static str),
}

/// A file that is read chunk by chunk.
pub(super) struct ChunkReader<R> {
    pub bytes: ByteReader<R>,
    chunk_size: u64,
    chunk: u64,
    big_endian: bool,
    /// Numbers of the first and last event of the chunk, as its header says.
    pub events: (u64, u64),
}

impl<R: Read + Seek> ChunkReader<R> {
    /// Opens a file and reads the header of the first chunk.
    pub fn new(source: R, file: String, chunk_size: u64) -> Result<Self, TraceError> {
        Self::chunked(ByteReader::new(source, file)?, chunk_size)
    }

    /// Reads the header of the first chunk of `bytes`.
    pub fn chunked(bytes: ByteReader<R>, chunk_size: u64) -> Result<Self, TraceError> {
        let mut reader = Self::on(bytes);
        reader.chunk_size = chunk_size;
        reader.enter_chunk(0)?;
        Ok(reader)
    }

    /// A reader without chunks, before the first byte of `bytes`.
    pub fn on(bytes: ByteReader<R>) -> Self {
        Self {
            bytes,
            chunk_size: u64::MAX,
            chunk: 0,
            big_endian: false,
            events: (0, 0),
        }
    }

    /// Goes back behind the header of the first chunk.
    pub fn rewind(&mut self) -> Result<(), TraceError> {
        self.enter_chunk(0)
    }

    fn enter_chunk(&mut self, start: u64) -> Result<(), TraceError> {
        let end = start.saturating_add(self.chunk_size);
        self.bytes.enter(start, end, "chunk")?;
        self.chunk = start;
        self.read_header()?;
        self.events = (self.u64_full()?, self.u64_full()?);
        Ok(())
    }

    /// Reads the two bytes that every file and chunk starts with.
    pub fn read_header(&mut self) -> Result<(), TraceError> {
        let at = self.bytes.position();
        let kind = self.bytes.u8()?;
        if kind != CHUNK_HEADER {
            let reason = format!("a chunk starts with the byte {CHUNK_HEADER}, not with {kind}");
            return Err(self.bytes.error_at(at, reason));
        }
        self.big_endian = match self.bytes.u8()? {
            LITTLE_ENDIAN => false,
            BIG_ENDIAN => true,
            other => {
                let reason = format!(
                    "{other:#04x} is no byte order; there are {LITTLE_ENDIAN:#04x} and \
                     {BIG_ENDIAN:#04x}"
                );
                return Err(self.bytes.error_at(at + 1, reason));
            }
        };
        Ok(())
    }

    /// Kind of the next record; `None` at the end of the file. `at_end_of_chunk`
    /// is called at the end of every chunk, `at_chunk` behind the header of every
    /// one but the first.
    pub fn next_kind(
        &mut self,
        at_end_of_chunk: impl Fn(&Self) -> Result<(), TraceError>,
        at_chunk: impl Fn(&Self) -> Result<(), TraceError>,
    ) -> Result<Option<u8>, TraceError> {
        loop {
            match self.bytes.u8()? {
                END_OF_CHUNK => {
                    at_end_of_chunk(self)?;
                    self.enter_chunk(self.chunk + self.chunk_size)?;
                    at_chunk(self)?;
                }
                END_OF_FILE => {
                    at_end_of_chunk(self)?;
                    return Ok(None);
                }
                kind => return Ok(Some(kind)),
            }
        }
    }

    /// 64-bit integer in the chunk's byte order.
    pub fn u64_full(&mut self) -> Result<u64, TraceError> {
        let bytes = self.bytes.array()?;
        Ok(match self.big_endian {
            true => u64::from_be_bytes(bytes),
            false => u64::from_le_bytes(bytes),
        })
    }

    /// 32-bit integer in the chunk's byte order.
    pub fn u32_full(&mut self) -> Result<u32, TraceError> {
        let bytes = self.bytes.array()?;
        Ok(match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    fn compressed(&mut self, widest: u8) -> Result<u64, TraceError> {
        let at = self.bytes.position();
        let size = self.bytes.u8()?;
        if size == u8::MAX {
            return Ok(u64::MAX >> (64 - 8 * u32::from(widest)));
        }
        if size > widest {
            let reason =
                format!("a compressed integer of {size} bytes; it may have up to {widest}");
            return Err(self.bytes.error_at(at, reason));
        }
        let mut value = 0;
        for place in 0..size {
            let byte = u64::from(self.bytes.u8()?);
            value = match self.big_endian {
                true => value << 8 | byte,
                false => value | byte << (8 * place),
            };
        }
        Ok(value)
    }

    /// Compressed 32-bit integer.
    pub fn u32(&mut self) -> Result<u32, TraceError> {
        self.compressed(4).map(|value| value as u32)
    }

    /// Compressed 64-bit integer.
    pub fn u64(&mut self) -> Result<u64, TraceError> {
        self.compressed(8)
    }

    /// String up to a zero byte; what is not UTF-8 is replaced.
    pub fn text(&mut self) -> Result<String, TraceError> {
        let mut text = Vec::new();
        loop {
            match self.bytes.u8()? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                byte => text.push(byte),
            }
        }
    }

    /// Reads the length of a record and confines reading to it.
    pub fn begin_record(&mut self) -> Result<Record, TraceError> {
        let length = match self.bytes.u8()? {
            u8::MAX => self.u64_full()?,
            length => u64::from(length),
        };
        if length > self.bytes.left() {
            let reason = format!(
                "a record of {length} bytes, but the chunk ends after {}; the file is damaged or \
                 truncated",
                self.bytes.left()
            );
            return Err(self.bytes.error(reason));
        }
        let end = self.bytes.position() + length;
        let outside = self.bytes.narrow(end, "record");
        Ok(Record { end, outside })
    }

    /// Passes over what is left of a record: fields of later versions.
    pub fn end_record(&mut self, record: Record) -> Result<(), TraceError> {
        self.bytes.skip(record.end - self.bytes.position())?;
        self.bytes.widen(record.outside);
        Ok(())
    }

    /// Whether the record at hand has more fields.
    pub fn has_more(&self) -> bool {
        self.bytes.left() > 0
    }
}
