//! Zstandard files of any number of frames.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Largest window of a frame, bytes: what the command line tool accepts by default.
const WINDOW_BYTES: u64 = 128 << 20;

/// Decompresses frame after frame, and passes over those that are to be skipped.
pub(super) struct ZstdReader<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether the decoder is inside a frame.
    inside: bool,
}

impl<R: BufRead> ZstdReader<R> {
    pub fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES);
        Self {
            source,
            decoder,
            inside: false,
        }
    }

    /// Begins the next frame; `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut magic = [0; 4];
            self.source.read_exact(&mut magic)?;
            if matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) {
                let mut length = [0; 4];
                self.source.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            let frame = (&magic[..]).chain(&mut self.source);
            self.decoder.reset(frame).map_err(io::Error::other)?;
            self.inside = true;
            return Ok(true);
        }
    }

    /// Whether what the frame says of its content is true of it.
    fn check(&self) -> io::Result<()> {
        let (said, found) = (
            self.decoder.get_checksum_from_data(),
            self.decoder.get_calculated_checksum(),
        );
        if said.is_some() && said != found {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its checksum is another",
            ));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside && !self.begin()? {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.inside = false;
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(io::Error::other)?;
        }
    }
}
