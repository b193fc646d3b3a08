//! The anchor file.

use std::io::{Read, Seek};

use super::chunks::{CHUNK_SIZES, ChunkReader};
use crate::bytes::ByteReader;
use crate::error::TraceError;

/// What an anchor file says about its archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Version of the library that wrote the archive.
    pub version: [u8; 3],
    /// Size of a chunk of events, bytes.
    pub event_chunk_bytes: u64,
    /// Size of a chunk of definitions, bytes.
    pub definition_chunk_bytes: u64,
    /// Number of locations.
    pub locations: u64,
    /// Number of global definitions.
    pub global_definitions: u64,
    /// Machine, as the writer called it; often empty.
    pub machine: String,
    /// Program that wrote the archive.
    pub creator: String,
    /// Free text.
    pub description: String,
    /// Names and values that the writer added.
    pub properties: Vec<(String, String)>,
    /// Random number of the archive; 0 in archives of the first version.
    pub id: u64,
}

impl Anchor {
    /// Reads an anchor file from `source`, called `file` in messages.
    ///
    /// # Errors
    /// If the file is damaged or no anchor file, or the archive is stored in SION
    /// files or compressed, which are not read.
    pub fn read<R: Read + Seek>(source: R, file: String) -> Result<Self, TraceError> {
        let mut reader = ChunkReader::unchunked(source, file)?;
        let at = reader.bytes.position();
        let magic: [u8; 5] = reader.bytes.array()?;
        if magic != *b"OTF2\0" {
            let reason = "no OTF2 anchor file: \"OTF2\" is missing";
            return Err(reader.bytes.error_at(at, reason));
        }
        let at = reader.bytes.position();
        let format = reader.bytes.u8()?;
        if format == 0 {
            return Err(reader
                .bytes
                .error_at(at, "anchor format 0; formats start at 1"));
        }
        let _trace_format = reader.bytes.u8()?;
        let version = reader.bytes.array()?;
        let at = reader.bytes.position();
        let event_chunk_bytes = reader.u64_full()?;
        let definition_chunk_bytes = reader.u64_full()?;
        for size in [event_chunk_bytes, definition_chunk_bytes] {
            if !CHUNK_SIZES.contains(&size) {
                let reason = format!(
                    "chunks of {size} bytes; allowed are {} to {}",
                    CHUNK_SIZES.start(),
                    CHUNK_SIZES.end()
                );
                return Err(reader.bytes.error_at(at, reason));
            }
        }
        let at = reader.bytes.position();
        match reader.bytes.u8()? {
            1 => {}
            2 => {
                let reason = "the archive is stored in SION files, which are not read; copy it to \
                              plain files with a program of OTF2";
                return Err(reader.bytes.error_at(at, reason));
            }
            other => {
                let reason = format!("storage of kind {other}; only 1, plain files, is read");
                return Err(reader.bytes.error_at(at, reason));
            }
        }
        match reader.bytes.u8()? {
            1 => {}
            other => {
                let reason = format!(
                    "compression of kind {other}; only 1, none, is read: record with \
                     SCOREP_TRACING_COMPRESS=false"
                );
                return Err(reader.bytes.error_at(at + 1, reason));
            }
        }
        let mut anchor = Self {
            version,
            event_chunk_bytes,
            definition_chunk_bytes,
            locations: reader.u64_full()?,
            global_definitions: reader.u64_full()?,
            machine: reader.text()?,
            creator: reader.text()?,
            description: reader.text()?,
            properties: Vec::new(),
            id: 0,
        };
        if format > 1 {
            let count = reader.u32_full()?;
            if u64::from(count) > reader.bytes.left() / 2 {
                let reason = format!("{count} properties do not fit into the file");
                return Err(reader.bytes.error(reason));
            }
            for _ in 0..count {
                let name = reader.text()?;
                anchor.properties.push((name, reader.text()?));
            }
            anchor.id = reader.u64_full()?;
        }
        if format > 2 {
            // Numbers of snapshots and thumbnails, which nothing here needs.
            reader.u32_full()?;
            reader.u32_full()?;
        }
        if format == 3 {
            let at = reader.bytes.position();
            let end = reader.bytes.u8()?;
            if end != 2 {
                let reason = format!("the anchor ends with the byte {end}, not with 2");
                return Err(reader.bytes.error_at(at, reason));
            }
        }
        Ok(anchor)
    }
}

impl<R: Read + Seek> ChunkReader<R> {
    /// Opens a file that is one piece with a short header.
    fn unchunked(source: R, file: String) -> Result<Self, TraceError> {
        let mut reader = Self::on(ByteReader::new(source, file)?);
        reader.read_header()?;
        Ok(reader)
    }
}
