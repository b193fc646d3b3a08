//! Markers: moments that a person or a tool has put a name to, in a file of their
//! own beside the anchor file.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::anchor::Anchor;
use super::chunks::ChunkReader;
use crate::error::TraceError;

/// Kinds of records, as `OTF2_MarkerType` numbers them.
const DEFINITION: u8 = 5;
const MARKER: u8 = 6;

/// A moment with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When it begins, in ticks of the global clock.
    pub time: u64,
    /// How long it lasts, in ticks.
    pub duration: u64,
    /// Group of its kind, for instance the tool that set it.
    pub group: String,
    /// Its kind within the group.
    pub category: String,
    /// What it says.
    pub text: String,
}

impl Marker {
    /// Whether it goes by a name: that is what it says, or its kind.
    pub fn is_called(&self, name: &str) -> bool {
        self.text == name || self.category == name
    }
}

/// Reads the markers of an archive from `source`, called `file` in messages, in the
/// order of their time.
///
/// # Errors
/// If the file is damaged or a marker is of a kind that is not defined.
pub(super) fn read<R: Read + Seek>(
    source: R,
    file: String,
    anchor: &Anchor,
) -> Result<Vec<Marker>, TraceError> {
    let mut reader = ChunkReader::new(source, file, anchor.definition_chunk_bytes)?;
    let mut kinds: BTreeMap<u32, (String, String)> = BTreeMap::new();
    let mut found = Vec::new();
    while let Some(kind) = reader.next_kind(|_| Ok(()), |_| Ok(()))? {
        let at = reader.bytes.position() - 1;
        let record = reader.begin_record()?;
        match kind {
            DEFINITION => {
                let id = reader.u32()?;
                let names = (reader.text()?, reader.text()?);
                if kinds.insert(id, names).is_some() {
                    let reason = format!("kind {id} of markers is defined twice");
                    return Err(reader.bytes.error_at(at, reason));
                }
            }
            MARKER => {
                let (time, duration) = (reader.u64()?, reader.u64()?);
                let id = reader.u32()?;
                // Whom it concerns: all, or one location or group of them.
                reader.bytes.u8()?;
                reader.u64()?;
                found.push((at, id, time, duration, reader.text()?));
            }
            _ => {}
        }
        reader.end_record(record)?;
    }
    let mut markers = Vec::with_capacity(found.len());
    for (at, id, time, duration, text) in found {
        let Some((group, category)) = kinds.get(&id).cloned() else {
            let reason = format!("a marker of kind {id}, which is not defined");
            return Err(reader.bytes.error_at(at, reason));
        };
        markers.push(Marker {
            time,
            duration,
            group,
            category,
            text,
        });
    }
    markers.sort_by_key(|marker| marker.time);
    Ok(markers)
}

#[cfg(test)]
mod tests;
