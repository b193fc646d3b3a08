//! One place that opens files: what is compressed is recognised by its first bytes, whatever
//! its name, and read as if it were not. Whatever the input, reading it ends, and takes memory
//! only up to the limits below. Knows nothing of what files mean.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use rustix::fs::OFlags;

mod zstd;

use zstd::ZstdReader;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952), one member or many.
    Gzip,
    /// xz, one stream or many.
    Xz,
    /// Zstandard (RFC 8878), one frame or many.
    Zstd,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gzip, Self::Xz, Self::Zstd];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// The ending that its files have, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Xz => "xz",
            Self::Zstd => "zst",
        }
    }

    /// What a file is compressed with that begins so; `None` if it is not.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        // Gzip knows one method, deflate; a Zstandard file may begin with a frame that is skipped.
        match start {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Most bytes of a text that is read whole.
pub const MOST_TEXT_BYTES: u64 = 256 << 20;

/// Most bytes that are taken out of a pipe.
const MOST_PIPE_BYTES: u64 = 1 << 30;

/// What a compressed file may hold, bytes, however small it is.
const MOST_UNPACKED_BYTES: u64 = 64 << 20;

/// What a compressed file may hold otherwise, as a multiple of its own size.
const MOST_TIMES: u64 = 100;

/// How long a named pipe may be without a program that writes to it.
const WRITER_WAIT: Duration = Duration::from_secs(10);

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// Largest dictionary of an xz file, KiB: that of its highest preset.
const XZ_MEMORY_KIB: u32 = 256 * 1024;

type Start = BufReader<File>;

enum Content {
    Plain(Start),
    Gzip(Box<MultiGzDecoder<Start>>),
    Xz(Box<XzReader<Start>>),
    Zstd(Box<ZstdReader<Start>>),
}

/// The content of a file, decompressed as it is read.
pub struct Source {
    content: Content,
    compression: Option<Compression>,
    /// What is read of what is compressed, bytes, and how much of that has been.
    most: u64,
    read: u64,
    /// Whether this is a temporary copy of what a pipe gave.
    copied: bool,
}

impl Source {
    /// What the file is compressed with; `None` if it is not.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.content {
            Content::Plain(file) => return file.read(buffer),
            Content::Gzip(file) => file.read(buffer),
            Content::Xz(file) => file.read(buffer),
            Content::Zstd(file) => file.read(buffer),
        };
        let read = read.map_err(|error| damaged(self.compression, &error))?;
        self.read += read as u64;
        if self.read > self.most {
            return Err(too_large(format!(
                "it holds more than {}, the most that is read of a compressed file of its size \
                 ({MOST_TIMES} times that, at least {}); decompress it first if that is right",
                shown_bytes(self.most),
                shown_bytes(MOST_UNPACKED_BYTES),
            )));
        }
        Ok(read)
    }
}

/// An error of a decompressor, which says what was to be decompressed.
fn damaged(compression: Option<Compression>, error: &io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Interrupted {
        return io::ErrorKind::Interrupted.into();
    }
    let name = compression.map_or("", Compression::name);
    io::Error::new(
        error.kind(),
        format!("its {name} data are damaged or end too early ({error})"),
    )
}

fn too_large(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// A limit in messages.
fn shown_bytes(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    match bytes {
        GIB.. if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        MIB.. => format!("{} MiB", bytes / MIB),
        _ => format!("{bytes} B"),
    }
}

/// Opens a file for reading from its beginning to its end.
///
/// # Errors
/// If it is a device, a named pipe to which nothing writes or a pipe that gives more than 1 GiB,
/// cannot be opened, or its first bytes not be read. What is damaged further inside, and content
/// of a compressed file beyond 64 MiB and 100 times its size, is an error of reading it.
pub fn open(path: &Path) -> io::Result<Source> {
    let (file, kind) = open_any(path)?;
    if !kind.is_fifo() {
        return read_as(file, false);
    }
    // Of one without a name the writer is there or has been.
    let named = path.canonicalize().is_ok();
    let wait = if named { WRITER_WAIT } else { Duration::ZERO };
    read_as(of_pipe(file, MOST_PIPE_BYTES, wait)?, true)
}

/// Opens a file for reading in any order as it is, compressed or not.
///
/// # Errors
/// If it is a device or a pipe, or cannot be opened.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let (file, kind) = open_any(path)?;
    if kind.is_fifo() {
        return Err(refused("it is a pipe; allowed: a file"));
    }
    Ok(file)
}

/// Opens a file, or makes it, to read what an earlier run wrote in it and to write on.
///
/// # Errors
/// If it is a link, a device or a pipe, or can be neither opened nor made.
pub fn open_to_continue(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags);
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            options.create_new(true).open(path)?
        }
        Err(_) if path.is_symlink() => return Err(refused("it is a link; allowed: a file")),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(refused(
            "it is no file; allowed: a file, or the name of a new one",
        ));
    }
    Ok(file)
}

/// Opens a file that is no device; of those some never end.
fn open_any(path: &Path) -> io::Result<(File, FileType)> {
    // Does not wait for the writer of a pipe.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(nonblocking).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(refused("it is a device; allowed: a file or a pipe"));
    }
    Ok((file, kind))
}

fn refused(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Reads a file as its first bytes want it.
fn read_as(mut file: File, copied: bool) -> io::Result<Source> {
    let size = file.metadata()?.len();
    let mut start = Vec::with_capacity(6);
    (&mut file).take(6).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    let compression = Compression::of_start(&start);
    let file = BufReader::with_capacity(BUFFER_BYTES, file);
    let content = match compression {
        None => Content::Plain(file),
        Some(Compression::Gzip) => Content::Gzip(Box::new(MultiGzDecoder::new(file))),
        Some(Compression::Xz) => {
            Content::Xz(Box::new(XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB)))
        }
        Some(Compression::Zstd) => Content::Zstd(Box::new(ZstdReader::new(file))),
    };
    Ok(Source {
        content,
        compression,
        most: size.saturating_mul(MOST_TIMES).max(MOST_UNPACKED_BYTES),
        read: 0,
        copied,
    })
}

/// What comes out of a pipe that was opened without blocking, in a file without a name; at most
/// `most` bytes, for the first of which it may take `wait` until there is a writer.
fn of_pipe(mut pipe: File, most: u64, wait: Duration) -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    let mut first = [0; 4096];
    let begun = Instant::now();
    loop {
        match pipe.read(&mut first) {
            // Nothing yet, but a writer.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Ok(0) if wait.is_zero() => break,
            Ok(0) if begun.elapsed() < wait => thread::sleep(Duration::from_millis(10)),
            Ok(0) => {
                let message = format!(
                    "it is a pipe to which no program has written within {} s",
                    wait.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Ok(count) => {
                copy.write_all(&first[..count])?;
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    rustix::fs::fcntl_setfl(&pipe, OFlags::empty())?;
    io::copy(&mut pipe.take(most + 1), &mut copy)?;
    if copy.stream_position()? > most {
        return Err(too_large(format!(
            "it is a pipe that gives more than {}; allowed is a file of that size",
            shown_bytes(most)
        )));
    }
    copy.seek(SeekFrom::Start(0))?;
    Ok(copy)
}

/// Opens a file for reading in any order: itself, or, where it is compressed, its content in
/// a temporary file without a name, which is gone with the last handle.
///
/// # Errors
/// As [`open`]; if it cannot be decompressed, or there is no space for the temporary file.
pub fn open_seekable(path: &Path) -> io::Result<File> {
    let mut source = open(path)?;
    if let Content::Plain(file) = source.content {
        return Ok(file.into_inner());
    }
    let mut content = tempfile::tempfile()?;
    io::copy(&mut source, &mut content)?;
    content.seek(SeekFrom::Start(0))?;
    Ok(content)
}

/// The content of a compressed file, or of a pipe, in a temporary file, which goes with this.
#[derive(Debug)]
pub struct Unpacked(tempfile::TempPath);

impl Unpacked {
    /// Decompresses a file; `None` if it is not compressed and can be read as it is.
    ///
    /// # Errors
    /// As [`open_seekable`].
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let mut source = open(path)?;
        if source.compression.is_none() && !source.copied {
            return Ok(None);
        }
        let mut content = tempfile::Builder::new().prefix("odonata-").tempfile()?;
        io::copy(&mut source, &mut content)?;
        Ok(Some(Self(content.into_temp_path())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// The whole content of a file of at most `most` bytes.
///
/// # Errors
/// As [`open`]; if it cannot be read or holds more.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    read_up_to(&mut open(path)?, most, &mut content)?;
    Ok(content)
}

/// The whole content of a text file of at most [`MOST_TEXT_BYTES`].
///
/// # Errors
/// As [`read`]; if it is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, MOST_TEXT_BYTES)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("its byte {at} is not UTF-8"),
        )
    })
}

/// Reads what is left of `source` into `content`, which must be at most `most` bytes.
///
/// # Errors
/// If it cannot be read or is more.
pub fn read_up_to(source: &mut impl Read, most: u64, content: &mut Vec<u8>) -> io::Result<()> {
    source.take(most + 1).read_to_end(content)?;
    if content.len() as u64 > most {
        return Err(too_large(format!(
            "it holds more than {}, the most that is read of such a file",
            shown_bytes(most)
        )));
    }
    Ok(())
}

/// What [`read_line`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The end of the file.
    End,
    /// A line, without its end.
    Whole,
    /// The beginning of a line that is longer than allowed; [`skip_rest`] passes over the rest.
    Overlong,
}

/// Reads a line of at most `most` bytes, without the line feed and a carriage return at its end.
///
/// # Errors
/// If it cannot be read.
pub fn read_line(source: &mut impl BufRead, most: usize, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let both_ends = 2;
    let limit = (most + both_ends) as u64;
    if source.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(Line::End);
    }
    let content = line.strip_suffix(b"\n").unwrap_or(line);
    let length = content.strip_suffix(b"\r").unwrap_or(content).len();
    if length > most {
        return Ok(Line::Overlong);
    }
    line.truncate(length);
    Ok(Line::Whole)
}

/// Passes over the rest of the overlong line that begins with `line`.
///
/// # Errors
/// If it cannot be read.
pub fn skip_rest(source: &mut impl BufRead, line: &[u8]) -> io::Result<()> {
    if !line.ends_with(b"\n") {
        source.skip_until(b'\n')?;
    }
    Ok(())
}

/// A piece of a file for a message: its first 60 characters, and readable whatever it holds.
pub fn shown(piece: &[u8]) -> String {
    const LONGEST: usize = 60;
    const LONGEST_BYTES: usize = 4 * (LONGEST + 1);
    let text = String::from_utf8_lossy(&piece[..piece.len().min(LONGEST_BYTES)]);
    let mut characters = text.chars();
    let mut shown: String = characters
        .by_ref()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A path without the ending of a compression: what the file would be called that is not.
pub fn without_compression(path: &Path) -> &Path {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let known = |ending: &str| Compression::ALL.iter().any(|one| one.ending() == ending);
    match (ending, path.to_str()) {
        (Some(ending), Some(text)) if known(ending) => {
            Path::new(&text[..text.len() - ending.len() - 1])
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests;
