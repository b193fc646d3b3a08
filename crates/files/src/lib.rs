//! One place that opens files: what is compressed is recognised by its first bytes, whatever
//! its name, and read as if it were not. Knows nothing of what files mean.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

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
        read.map_err(|error| damaged(self.compression, &error))
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

/// Opens a file for reading from its beginning to its end.
///
/// # Errors
/// If it cannot be opened, or its first bytes not be read. What is damaged further inside
/// is an error of reading it.
pub fn open(path: &Path) -> io::Result<Source> {
    let mut file = File::open(path)?;
    let mut start = [0; 6];
    let mut count = 0;
    while count < start.len() {
        match file.read(&mut start[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let compression = Compression::of_start(&start[..count]);
    let file = match file.seek(SeekFrom::Start(0)) {
        Ok(_) => file,
        // A pipe gives its bytes once only.
        Err(_) => return from_pipe(file, &start[..count]),
    };
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
    })
}

/// What comes out of a pipe, by way of a file without a name.
fn from_pipe(mut pipe: File, start: &[u8]) -> io::Result<Source> {
    let mut spool = tempfile::NamedTempFile::new()?;
    io::copy(&mut start.chain(&mut pipe), &mut spool)?;
    open(spool.path())
}

/// Opens a file for reading in any order: itself, or, where it is compressed, its content in
/// a temporary file without a name, which is gone with the last handle.
///
/// # Errors
/// If it cannot be opened or decompressed, or there is no space for the temporary file.
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

/// The content of a compressed file in a temporary one, which goes with this.
#[derive(Debug)]
pub struct Unpacked(tempfile::TempPath);

impl Unpacked {
    /// Decompresses a file; `None` if it is not compressed and can be read as it is.
    ///
    /// # Errors
    /// If it cannot be opened or decompressed, or there is no space for the temporary file.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let mut source = open(path)?;
        if source.compression.is_none() {
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

/// The whole content of a text file.
///
/// # Errors
/// If it cannot be read, or is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    io::read_to_string(open(path)?)
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
