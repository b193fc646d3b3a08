//! Reading of binary files, value by value, in bounded memory.

use std::io::{Read, Seek, SeekFrom};

use crate::error::{Position, TraceError};

/// Size of the read buffer, bytes.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// Memory for the buffers of files that are read side by side, bytes, as long as
/// that leaves each one of them [`LEAST_BUFFER_BYTES`].
const SHARED_BUFFER_BYTES: usize = 64 << 20;

/// Smallest read buffer, bytes.
const LEAST_BUFFER_BYTES: usize = 4 * 1024;

/// Size of the read buffer of each of `files` files that are read side by side.
pub(crate) fn shared_buffer(files: u64) -> usize {
    let files = usize::try_from(files).unwrap_or(usize::MAX).max(1);
    (SHARED_BUFFER_BYTES / files).clamp(LEAST_BUFFER_BYTES, BUFFER_BYTES)
}

/// Space that is set aside before the elements of a list have been seen, bytes.
/// A list whose stated length is larger grows as its elements arrive, so that a
/// damaged length never costs more memory than the file has bytes.
const TRUSTED_BYTES: usize = 64 * 1024;

/// A file with a read position and an end that nothing may be read beyond.
pub(crate) struct ByteReader<R> {
    source: R,
    file: String,
    buffer: Vec<u8>,
    /// Unread part of the buffer.
    next: usize,
    filled: usize,
    /// Offset in the file of the end of the buffer.
    read: u64,
    /// Size of the file.
    size: u64,
    /// First byte that is out of bounds.
    end: u64,
    /// What ends there, for messages.
    region: &'static str,
}

impl<R: Read + Seek> ByteReader<R> {
    /// Starts at the first byte of `source`; `file` is its name in messages.
    pub fn new(source: R, file: String) -> Result<Self, TraceError> {
        Self::with_buffer(source, file, BUFFER_BYTES)
    }

    /// As [`Self::new`], with a buffer of `bytes`.
    pub fn with_buffer(mut source: R, file: String, bytes: usize) -> Result<Self, TraceError> {
        let measured = source
            .seek(SeekFrom::End(0))
            .and_then(|size| source.seek(SeekFrom::Start(0)).map(|_| size));
        let size = measured.map_err(|error| TraceError::io(&file, Position::Whole, &error))?;
        Ok(Self {
            source,
            file,
            // Small files need no large buffer.
            buffer: vec![0; size.clamp(1, bytes as u64) as usize],
            next: 0,
            filled: 0,
            read: 0,
            size,
            end: size,
            region: "file",
        })
    }

    /// Name of the file, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Size of the file, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Offset of the next byte.
    pub fn position(&self) -> u64 {
        self.read - (self.filled - self.next) as u64
    }

    /// Bytes up to the end of the region.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.position())
    }

    /// Moves to `offset`; nothing is read at or beyond `end`, the end of `region`.
    pub fn enter(&mut self, offset: u64, end: u64, region: &'static str) -> Result<(), TraceError> {
        self.end = end.min(self.size);
        self.region = region;
        if offset > self.end {
            let reason = format!(
                "the {region} starts beyond its end, byte {}; the file is damaged or truncated",
                self.end
            );
            return Err(self.error_at(offset, reason));
        }
        // What the buffer holds need not be read again.
        let buffered = self.read - self.filled as u64..self.read;
        if buffered.contains(&offset) {
            self.next = (offset - buffered.start) as usize;
            return Ok(());
        }
        self.source
            .seek(SeekFrom::Start(offset))
            .map_err(|error| TraceError::io(&self.file, Position::Byte(offset), &error))?;
        self.next = 0;
        self.filled = 0;
        self.read = offset;
        Ok(())
    }

    /// An error at `offset`.
    pub fn error_at(&self, offset: u64, reason: impl Into<String>) -> TraceError {
        TraceError::new(&self.file, Position::Byte(offset), reason)
    }

    /// An error at the next byte.
    pub fn error(&self, reason: impl Into<String>) -> TraceError {
        self.error_at(self.position(), reason)
    }

    fn short(&self, wanted: u64) -> TraceError {
        self.error(format!(
            "{wanted} bytes are to follow, but the {} ends after {}; \
             the file is damaged or truncated",
            self.region,
            self.left()
        ))
    }

    fn refill(&mut self) -> Result<(), TraceError> {
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(count) => {
                    self.next = 0;
                    self.filled = count;
                    self.read += count as u64;
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let position = Position::Byte(self.position());
                    return Err(TraceError::io(&self.file, position, &error));
                }
            }
        }
    }

    fn fill(&mut self, target: &mut [u8]) -> Result<(), TraceError> {
        let mut done = 0;
        while done < target.len() {
            if self.next == self.filled {
                self.refill()?;
                if self.filled == 0 {
                    return Err(self.short((target.len() - done) as u64));
                }
            }
            let count = (target.len() - done).min(self.filled - self.next);
            target[done..done + count].copy_from_slice(&self.buffer[self.next..self.next + count]);
            self.next += count;
            done += count;
        }
        Ok(())
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], TraceError> {
        if self.left() < N as u64 {
            return Err(self.short(N as u64));
        }
        let mut bytes = [0; N];
        if self.filled - self.next >= N {
            bytes.copy_from_slice(&self.buffer[self.next..self.next + N]);
            self.next += N;
        } else {
            self.fill(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// Byte.
    pub fn u8(&mut self) -> Result<u8, TraceError> {
        Ok(self.array::<1>()?[0])
    }

    /// Big-endian 16-bit integer.
    pub fn u16_be(&mut self) -> Result<u16, TraceError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Big-endian 32-bit integer.
    pub fn u32_be(&mut self) -> Result<u32, TraceError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Big-endian signed 32-bit integer.
    pub fn i32_be(&mut self) -> Result<i32, TraceError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Big-endian 64-bit integer.
    pub fn u64_be(&mut self) -> Result<u64, TraceError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Little-endian 32-bit integer.
    pub fn u32_le(&mut self) -> Result<u32, TraceError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Little-endian 64-bit integer.
    pub fn u64_le(&mut self) -> Result<u64, TraceError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, count: u64) -> Result<(), TraceError> {
        if self.left() < count {
            return Err(self.short(count));
        }
        let buffered = (self.filled - self.next) as u64;
        if count <= buffered {
            self.next += count as usize;
            return Ok(());
        }
        let (end, region) = (self.end, self.region);
        self.enter(self.position() + count, end, region)
    }

    /// Moves the end of the region to `end`, which must not lie behind it. Returns
    /// what [`Self::widen`] restores.
    pub fn narrow(&mut self, end: u64, region: &'static str) -> (u64, &'static str) {
        let before = (self.end, self.region);
        self.end = end.min(self.end);
        self.region = region;
        before
    }

    /// Takes back [`Self::narrow`].
    pub fn widen(&mut self, (end, region): (u64, &'static str)) {
        self.end = end;
        self.region = region;
    }

    /// `count` bytes. Fails before anything is set aside if the region has fewer.
    pub fn bytes(&mut self, count: u64) -> Result<Vec<u8>, TraceError> {
        if self.left() < count {
            return Err(self.short(count));
        }
        let mut left = count as usize;
        let mut bytes = Vec::new();
        while left > 0 {
            let step = left.min(TRUSTED_BYTES);
            let start = bytes.len();
            bytes.resize(start + step, 0);
            self.fill(&mut bytes[start..])?;
            left -= step;
        }
        Ok(bytes)
    }

    /// `count` elements, each of which `read` takes off the file and each of
    /// which has at least `least` bytes there. Fails before anything is set aside
    /// if the region cannot hold them.
    pub fn list<T>(
        &mut self,
        count: u64,
        least: u64,
        mut read: impl FnMut(&mut Self) -> Result<T, TraceError>,
    ) -> Result<Vec<T>, TraceError> {
        let wanted = count.saturating_mul(least);
        if self.left() < wanted {
            return Err(self.short(wanted));
        }
        let trusted = (TRUSTED_BYTES / size_of::<T>().max(1)) as u64;
        let mut elements = Vec::with_capacity(count.min(trusted) as usize);
        for _ in 0..count {
            elements.push(read(self)?);
        }
        Ok(elements)
    }
}
