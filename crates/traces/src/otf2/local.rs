//! The definitions of one location: how its numbers relate to the global ones, and
//! how its clock relates to the global one.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::anchor::Anchor;
use super::chunks::ChunkReader;
use crate::error::TraceError;

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;

/// What a mapping table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mapped {
    Region = 3,
    Comm = 6,
    Window = 8,
}

/// Local numbers and the global ones that they stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Table {
    Dense(Vec<u64>),
    Sparse(BTreeMap<u64, u64>),
}

/// From here on to the next one the clock deviates by this much.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockOffset {
    time: u64,
    offset: i64,
}

/// Mapping tables and clock offsets of a location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalDefinitions {
    tables: BTreeMap<u8, Table>,
    offsets: Vec<ClockOffset>,
}

impl LocalDefinitions {
    /// Reads the definitions of a location from `source`, called `file` in
    /// messages. Records that reading of events does not need are passed over.
    ///
    /// # Errors
    /// If the file is damaged, a mapping is there twice, or clock offsets are not
    /// in order.
    pub fn read<R: Read + Seek>(
        source: R,
        file: String,
        anchor: &Anchor,
    ) -> Result<Self, TraceError> {
        let mut reader = ChunkReader::new(source, file, anchor.definition_chunk_bytes)?;
        let mut local = Self::default();
        while let Some(kind) = reader.next_kind(|_| Ok(()), |_| Ok(()))? {
            let at = reader.bytes.position() - 1;
            let record = reader.begin_record()?;
            match kind {
                MAPPING_TABLE => {
                    let of = reader.bytes.u8()?;
                    let table = read_table(&mut reader)?;
                    if local.tables.insert(of, table).is_some() {
                        let reason = format!("a second mapping table of kind {of}");
                        return Err(reader.bytes.error_at(at, reason));
                    }
                }
                CLOCK_OFFSET => {
                    let time = reader.u64_full()?;
                    let offset = reader.u64()? as i64;
                    let last = local.offsets.last();
                    if last.is_some_and(|last| last.time >= time) {
                        let reason =
                            format!("a clock offset at {time}, which is not behind the one before");
                        return Err(reader.bytes.error_at(at, reason));
                    }
                    local.offsets.push(ClockOffset { time, offset });
                }
                0..=9 => {
                    let reason = format!("{kind} is the kind of no local definition");
                    return Err(reader.bytes.error_at(at, reason));
                }
                _ => {}
            }
            reader.end_record(record)?;
        }
        Ok(local)
    }

    /// Global number of a local one; numbers without mapping are global already.
    pub(super) fn global(&self, of: Mapped, local: u32) -> u64 {
        let local = u64::from(local);
        let global = match self.tables.get(&(of as u8)) {
            Some(Table::Dense(numbers)) => numbers.get(local as usize),
            Some(Table::Sparse(numbers)) => numbers.get(&local),
            None => None,
        };
        global.copied().unwrap_or(local)
    }

    /// A time stamp on the global clock: between two offsets the deviation is
    /// interpolated, before the first and behind the last pair extrapolated. A
    /// single offset is not enough to correct anything, as in OTF2 itself.
    pub(super) fn corrected(&self, time: u64) -> u64 {
        let later = self.offsets.partition_point(|offset| offset.time < time);
        let second = later.clamp(1, self.offsets.len().saturating_sub(1).max(1));
        let Some([from, to]) = self.offsets.get(second - 1..=second) else {
            return time;
        };
        let slope = to.offset.wrapping_sub(from.offset) as f64 / (to.time - from.time) as f64;
        let elapsed = match time.checked_sub(from.time) {
            Some(elapsed) => elapsed as f64,
            None => -((from.time - time) as f64),
        };
        let change = (slope * elapsed).round_ties_even() as i64;
        time.wrapping_add_signed(from.offset.wrapping_add(change))
    }
}

fn read_table<R: Read + Seek>(reader: &mut ChunkReader<R>) -> Result<Table, TraceError> {
    let at = reader.bytes.position();
    let count = reader.u64()?;
    let mode = reader.bytes.u8()?;
    // Every number takes at least a byte.
    if count > reader.bytes.left() {
        let reason = format!(
            "a mapping of {count} numbers in {} bytes",
            reader.bytes.left()
        );
        return Err(reader.bytes.error_at(at, reason));
    }
    match mode {
        0 => {
            let numbers = (0..count).map(|_| reader.u64());
            numbers.collect::<Result<_, _>>().map(Table::Dense)
        }
        1 => {
            let pairs = (0..count).map(|_| Ok((reader.u64()?, reader.u64()?)));
            pairs.collect::<Result<_, _>>().map(Table::Sparse)
        }
        _ => {
            let reason = format!("a mapping of mode {mode}; there are 0 and 1");
            Err(reader.bytes.error_at(at, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(pairs: &[(u64, i64)]) -> LocalDefinitions {
        LocalDefinitions {
            offsets: pairs
                .iter()
                .map(|&(time, offset)| ClockOffset { time, offset })
                .collect(),
            ..LocalDefinitions::default()
        }
    }

    #[test]
    fn clocks_are_interpolated_between_offsets() {
        assert_eq!(offsets(&[]).corrected(7), 7);
        assert_eq!(offsets(&[(100, 50)]).corrected(7), 7);
        let local = offsets(&[(100, 10), (200, 20), (300, 10)]);
        // Slopes 0.1 and −0.1; ends of an interval belong to it.
        assert_eq!(local.corrected(100), 110);
        assert_eq!(local.corrected(150), 165);
        assert_eq!(local.corrected(200), 220);
        assert_eq!(local.corrected(250), 265);
        assert_eq!(local.corrected(0), 0);
        assert_eq!(local.corrected(400), 400);
        // Halves go to the even number: offsets 10.5 and 11.5.
        assert_eq!(local.corrected(105), 115);
        assert_eq!(local.corrected(115), 127);
    }
}
