//! Packet traces of the TAGO artifact: one line per sampled packet of a data
//! centre, `0 TIME SOURCE DESTINATION BYTES`.
//!
//! Format: read off the artifact of M. Y. Teh et al., "TAGO: rethinking routing
//! design in high performance reconfigurable networks", SC 2020, whose data is
//! the Hadoop sample of A. Roy et al., "Inside the social network's (datacenter)
//! network", SIGCOMM 2015.

use std::io::Read;
use std::path::Path;

use odonata_files::Source;
use odonata_units::Bytes;

use crate::error::TraceError;
use crate::lines::{LineReader, shown, whole, words};

/// A sampled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// First column; 0 in the published trace, its meaning is not documented.
    pub mark: u64,
    /// When the packet was seen, seconds since 1970.
    pub seconds: u64,
    /// End point that sent, numbered as in the file (from 1).
    pub source: u32,
    /// End point that it is for.
    pub destination: u32,
    /// Size.
    pub size: Bytes,
}

/// Reads a packet trace packet by packet. Memory: a buffer and a line.
pub struct PacketReader<R> {
    lines: LineReader<R>,
    seconds: u64,
    done: bool,
}

impl PacketReader<Source> {
    /// Opens a trace.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Ok(Self::new(file, path.display().to_string()))
    }
}

impl<R: Read> PacketReader<R> {
    /// Reads a trace from `source`; `file` is its name in messages.
    pub fn new(source: R, file: String) -> Self {
        Self {
            lines: LineReader::new(source, file),
            seconds: 0,
            done: false,
        }
    }

    /// The next packet; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// If a line does not consist of five whole numbers, an end point exceeds 32
    /// bits, or a packet is older than the one before.
    pub fn next_packet(&mut self) -> Result<Option<Packet>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.read_packet();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn read_packet(&mut self) -> Result<Option<Packet>, TraceError> {
        loop {
            let Some(line) = self.lines.advance()? else {
                return Ok(None);
            };
            let mut numbers = [0u64; 5];
            let mut found = 0;
            let mut wrong = None;
            for word in words(line) {
                match whole(word) {
                    Some(number) if found < 5 => numbers[found] = number,
                    Some(_) => {}
                    None => wrong = wrong.or_else(|| Some(shown(word))),
                }
                found += 1;
            }
            if found == 0 {
                continue;
            }
            if let Some(word) = wrong {
                return Err(self.lines.error(format!("\"{word}\" is no whole number")));
            }
            if found != 5 {
                return Err(self.lines.error(format!(
                    "{found} columns; a packet has 5: 0, time in seconds, source, destination, \
                     bytes"
                )));
            }
            let [mark, seconds, source, destination, bytes] = numbers;
            let end_point = |number: u64| {
                u32::try_from(number).map_err(|_| {
                    let reason = format!("end point {number} exceeds 32 bits");
                    self.lines.error(reason)
                })
            };
            let packet = Packet {
                mark,
                seconds,
                source: end_point(source)?,
                destination: end_point(destination)?,
                size: Bytes(bytes),
            };
            if seconds < self.seconds {
                return Err(self.lines.error(format!(
                    "a packet of second {seconds} behind one of second {}; packets must come in \
                     the order of time",
                    self.seconds
                )));
            }
            self.seconds = seconds;
            return Ok(Some(packet));
        }
    }
}

impl<R: Read> Iterator for PacketReader<R> {
    type Item = Result<Packet, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_packet().transpose()
    }
}
