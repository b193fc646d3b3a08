//! Packet traces: every packet is a message that is sent when it was seen.

use std::path::Path;

use odonata_traces::goal::{Action, Tag};
use odonata_traces::packets::PacketReader;
use odonata_traces::{Position, TraceError};
use odonata_units::{Bytes, Picoseconds, RankId};

use super::{Graph, Node, Schedule, Scheduled, Task};
use crate::replay::facts::TraceFacts;
use crate::replay::format::{Counter, Start, TraceFormat};
use crate::replay::{Compute, Kind, Options};

/// Most end points of a trace.
const MAX_RANKS: u32 = 1 << 24;

/// Processor that only waits for the time of the next packet.
const TIMER: u8 = 1;

#[derive(Clone, Copy)]
struct Packet {
    from: u32,
    to: u32,
    bytes: u64,
    /// Since the first packet.
    seconds: u64,
}

/// The packets of a trace by sender. Memory: 24 bytes a packet.
pub(in crate::replay) struct Packets {
    /// By sender and time.
    packets: Vec<Packet>,
    /// Where those of each sender start; one more than there are.
    starts: Vec<usize>,
    /// How many each end point receives.
    received: Vec<u32>,
}

impl Packets {
    /// Reads a trace. End points have the numbers of the file, or one less if they
    /// start at 1.
    ///
    /// # Errors
    /// If the file is damaged or empty.
    pub fn open(path: &Path, compute: Compute) -> Result<Scheduled, TraceError> {
        let file = path.display().to_string();
        let fail = |reason: String| TraceError::new(&file, Position::Whole, reason);
        let mut reader = PacketReader::open(path)?;
        let mut packets = Vec::new();
        let (mut lowest, mut highest, mut first) = (u32::MAX, 0, None);
        let (mut bytes, mut last) = (0u64, 0);
        while let Some(packet) = reader.next_packet()? {
            let start = *first.get_or_insert(packet.seconds);
            lowest = lowest.min(packet.source).min(packet.destination);
            highest = highest.max(packet.source).max(packet.destination);
            if highest >= MAX_RANKS {
                return Err(fail(format!(
                    "end point {highest}; allowed: below {MAX_RANKS}"
                )));
            }
            let size = packet.size.0.max(1);
            bytes = bytes
                .checked_add(size)
                .ok_or_else(|| fail("more bytes than fit into 64 bits".to_owned()))?;
            last = packet.seconds - start;
            packets.push(Packet {
                from: packet.source,
                to: packet.destination,
                bytes: size,
                seconds: last,
            });
        }
        if packets.is_empty() || packets.len() > i32::MAX as usize {
            return Err(fail(format!("has {} packets", packets.len())));
        }
        // Times stay within 64 bits of picoseconds, whatever they are scaled by.
        if last > 1_000_000 {
            return Err(fail(format!(
                "lasts {last} s; at most 1,000,000 s are replayed"
            )));
        }
        let offset = u32::from(lowest > 0);
        let ranks = highest + 1 - offset;
        let mut received = vec![0u32; ranks as usize];
        for packet in &mut packets {
            packet.from -= offset;
            packet.to -= offset;
            received[packet.to as usize] += 1;
        }
        // Keeps the order of time of each sender.
        packets.sort_by_key(|packet| packet.from);
        let mut starts = vec![0; ranks as usize + 1];
        for packet in &packets {
            starts[packet.from as usize + 1] += 1;
        }
        for rank in 0..ranks as usize {
            starts[rank + 1] += starts[rank];
        }
        let facts = TraceFacts {
            ranks,
            records: packets.len() as u64,
            messages: packets.len() as u64,
            bytes: Bytes(bytes),
            open_receives: packets.len() as u64,
            ..TraceFacts::default()
        };
        let packets = Self {
            packets,
            starts,
            received,
        };
        Ok(Scheduled::new(Box::new(packets), facts, 2, compute))
    }
}

impl Schedule for Packets {
    fn graph(&self, rank: RankId) -> Result<Box<dyn Graph + '_>, TraceError> {
        let rank = rank.index();
        Ok(Box::new(RankPackets {
            packets: &self.packets[self.starts[rank]..self.starts[rank + 1]],
            received: self.received[rank],
        }))
    }
}

/// The packets of one end point. Operations: for every packet a wait for its time,
/// then for every packet its sending, then the receives.
struct RankPackets<'a> {
    packets: &'a [Packet],
    received: u32,
}

impl Graph for RankPackets<'_> {
    fn operations(&self) -> u32 {
        2 * self.packets.len() as u32 + self.received
    }

    fn unit(&self) -> Picoseconds {
        Picoseconds::SECOND
    }

    fn roots(&mut self) -> Result<Vec<u32>, TraceError> {
        let sent = self.packets.len() as u32;
        let first_receive = (self.received > 0).then_some(2 * sent);
        Ok((sent > 0)
            .then_some(0)
            .into_iter()
            .chain(first_receive)
            .collect())
    }

    fn node(&mut self, operation: u32) -> Result<Node, TraceError> {
        let sent = self.packets.len() as u32;
        let (action, cpu, waits, on_finish) = if operation < sent {
            let packet = &self.packets[operation as usize];
            let before = match operation {
                0 => 0,
                _ => self.packets[operation as usize - 1].seconds,
            };
            let wait = Action::Calculate {
                duration: packet.seconds - before,
            };
            let next = Some(operation + 1).filter(|&next| next < sent);
            let next = next.into_iter().chain([sent + operation]).collect();
            (wait, TIMER, operation > 0, next)
        } else if operation < 2 * sent {
            let packet = &self.packets[(operation - sent) as usize];
            let send = Action::Send {
                size: Bytes(packet.bytes),
                to: RankId(packet.to),
                tag: Tag(0),
            };
            (send, 0, true, Vec::new())
        } else {
            let receive = Action::Receive {
                size: Bytes(0),
                from: None,
                tag: Tag::ANY,
            };
            let next = Some(operation + 1).filter(|&next| next < self.operations());
            (receive, 0, operation > 2 * sent, next.into_iter().collect())
        };
        Ok(Node {
            task: Task::Single(action),
            cpu,
            dependencies: waits.into(),
            on_finish,
            on_start: Vec::new(),
        })
    }
}

/// Packet traces.
pub(in crate::replay) struct PacketTrace;

impl TraceFormat for PacketTrace {
    fn recognises(start: &Start<'_>) -> bool {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::parse::<u64>)
                .collect::<Vec<_>>()
        };
        let first = start.lines().next().map(words);
        first.is_some_and(|words| words.len() == 5 && words.iter().all(Result::is_ok))
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let mut reader = PacketReader::open(path)?;
        let (mut highest, mut first, mut last) = (0, None, 0);
        while let Some(packet) = reader.next_packet()? {
            highest = highest.max(packet.source).max(packet.destination);
            first = first.or(Some(packet.seconds));
            last = packet.seconds;
            counter.add("packet", packet.size.0, || format!("{packet:?}"));
        }
        counter.summary.ranks = u64::from(highest);
        counter.fact("duration", format!("{} s", last - first.unwrap_or(last)));
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        Packets::open(path, options.compute).map(Kind::scheduled)
    }
}
