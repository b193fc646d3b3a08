//! The file of a checkpoint.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | [`FORMAT`] |
//! | 8 | length of the file |
//! | 32 | BLAKE3 hash of everything after it, then of everything before it |
//! | 4 | length of the header |
//! | … | header, JSON |
//! | … | state of the engine, see [`odonata_run::PausedRun::save`] |
//!
//! Integers are little-endian. Nothing is interpreted before the hash is right.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::CheckpointError;
use super::header::Header;

/// What every checkpoint begins with. Its first byte is no text, and a transfer
/// that changes line ends changes its last.
const MAGIC: [u8; 8] = *b"\x8aODNCK\r\n";

/// Number of the format; another one is not read.
pub const FORMAT: u32 = 2;

const HASH: usize = 32;
/// Magic, format, length.
const LEAD: usize = 8 + 4 + 8;
/// Bytes before the length of the header.
const PREAMBLE: usize = LEAD + HASH;
const BUFFER: usize = 1 << 20;

/// Writes a checkpoint; `state` adds the state of the engine. The file keeps
/// its contents until the new ones are whole and on the disk. Returns its size.
pub(super) fn write(
    file: &Path,
    header: &Header,
    state: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<u64, CheckpointError> {
    let partial = partial(file);
    let written = write_partial(&partial, header, state).and_then(|bytes| {
        fs::rename(&partial, file)?;
        sync_directory(file)?;
        Ok(bytes)
    });
    written.map_err(|error| {
        // What is there of it is worth nothing; the error to tell is the first.
        let _ = fs::remove_file(&partial);
        CheckpointError::File {
            file: file.to_owned(),
            what: "the checkpoint cannot be written",
            error,
        }
    })
}

/// Where a checkpoint is written before it takes its place.
fn partial(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.partial"))
}

/// Makes the new name of a file last through a power failure, where the system can.
fn sync_directory(file: &Path) -> io::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn write_partial(
    partial: &Path,
    header: &Header,
    state: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<u64> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // A new file: a link that somebody put there in between is not followed.
    let mut file = File::create_new(partial)?;
    file.write_all(&[0; PREAMBLE])?;
    let hashing = Hashing {
        file,
        hasher: blake3::Hasher::new(),
        bytes: 0,
    };
    let mut out = BufWriter::with_capacity(BUFFER, hashing);
    let header = serde_json::to_vec(header)?;
    let length = u32::try_from(header.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&header)?;
    state(&mut out)?;
    let Hashing {
        mut file,
        hasher,
        bytes,
    } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let length = PREAMBLE as u64 + bytes;
    let lead = lead(length);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&lead)?;
    file.write_all(hash(hasher, &lead).as_bytes())?;
    file.sync_all()?;
    Ok(length)
}

fn lead(length: u64) -> [u8; LEAD] {
    let mut lead = [0; LEAD];
    lead[..8].copy_from_slice(&MAGIC);
    lead[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    lead[12..].copy_from_slice(&length.to_le_bytes());
    lead
}

/// The hash of a file, from that of what follows the preamble.
fn hash(mut content: blake3::Hasher, lead: &[u8]) -> blake3::Hash {
    content.update(lead);
    content.finalize()
}

/// Hashes and counts what goes into a file.
struct Hashing {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Write for Hashing {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hasher.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Checks all of a checkpoint; returns its header and a reader at the state of
/// the engine.
pub(super) fn open(path: &Path) -> Result<(Header, BufReader<File>), CheckpointError> {
    let file = || path.to_owned();
    let failed = |error| CheckpointError::File {
        file: file(),
        what: "the checkpoint cannot be read",
        error,
    };
    let mut opened = odonata_files::open_plain(path).map_err(failed)?;
    let found = opened.metadata().map_err(failed)?.len();
    let mut preamble = Vec::with_capacity(PREAMBLE);
    (&mut opened)
        .take(PREAMBLE as u64)
        .read_to_end(&mut preamble)
        .map_err(failed)?;
    if !preamble.starts_with(&MAGIC) {
        return Err(CheckpointError::Foreign { file: file() });
    }
    let Some((lead, expected_hash)) = preamble.split_at_checked(LEAD) else {
        return Err(CheckpointError::Length {
            file: file(),
            found,
            expected: PREAMBLE as u64,
        });
    };
    let format = u32::from_le_bytes([lead[8], lead[9], lead[10], lead[11]]);
    if format != FORMAT {
        return Err(CheckpointError::Format {
            file: file(),
            found: format,
            own: FORMAT,
        });
    }
    let mut expected = [0; 8];
    expected.copy_from_slice(&lead[12..]);
    let expected = u64::from_le_bytes(expected);
    if found != expected {
        return Err(CheckpointError::Length {
            file: file(),
            found,
            expected,
        });
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut opened).map_err(failed)?;
    if hash(hasher, lead).as_bytes()[..] != *expected_hash {
        return Err(CheckpointError::Damaged { file: file() });
    }
    opened
        .seek(SeekFrom::Start(PREAMBLE as u64))
        .map_err(failed)?;
    let mut reader = BufReader::with_capacity(BUFFER, opened);
    let header = read_header(&mut reader).map_err(failed)?;
    Ok((header, reader))
}

fn read_header(reader: &mut impl Read) -> io::Result<Header> {
    let mut length = [0; 4];
    reader.read_exact(&mut length)?;
    // Grows with what is there, whatever the length says.
    let mut header = Vec::new();
    reader
        .take(u64::from(u32::from_le_bytes(length)))
        .read_to_end(&mut header)?;
    Ok(serde_json::from_slice(&header)?)
}
