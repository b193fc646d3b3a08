//! OTF2, the event traces of Score-P and other tools: an archive of an anchor
//! file, global definitions, and per location (a thread of a process) a file of
//! events and one of local definitions.
//!
//! [`ArchiveWriter`] writes archives of ranks. [`Archive`] opens an archive; its [`EventReader`]s stream the events of one
//! location each: entering and leaving of functions, messages, requests,
//! collectives, one-sided transfers, pauses of
//! recording. Records of other kinds are passed over by
//! their length and reported as [`EventKind::Other`].
//!
//! Facts: OTF2 3.2 (Score-P project), `OTF2_Buffer`, `OTF2_AnchorFile`,
//! `OTF2_GlobalDefReader`, `OTF2_DefReader`, `OTF2_EvtReader`,
//! `OTF2_MarkerReader`, `otf2_id_map`.

mod anchor;
mod chunks;
mod definitions;
mod events;
mod local;
mod markers;
mod writing;

use std::path::{Path, PathBuf};

pub use anchor::Anchor;
pub use definitions::{
    Clock, CommRef, Communicator, Definitions, Group, GroupKind, Location, LocationRef,
    ProcessGroup, Region, RegionRef, Window, WindowRef,
};
pub use events::{Collective, Event, EventKind, EventReader, Root, Transfer};
pub use local::LocalDefinitions;
pub use markers::Marker;
pub use writing::{ArchiveWriter, NewComm, NewDefinitions, NewRegion};

use crate::bytes::{ByteReader, shared_buffer};
use crate::error::{Position, TraceError};
use crate::reopened::ReopenedFile;

/// An archive whose anchor file and global definitions are read.
#[derive(Clone, Debug)]
pub struct Archive {
    anchor: Anchor,
    definitions: Definitions,
    folder: PathBuf,
    path: PathBuf,
}

impl Archive {
    /// Opens the archive of an anchor file (`NAME.otf2`). The global definitions
    /// lie beside it (`NAME.def`), the files of the locations in the folder `NAME`.
    ///
    /// # Errors
    /// If a file is missing, damaged, compressed or of another kind of storage, or
    /// a location with events has no file.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let open = |path: &Path| {
            let file = odonata_files::open_seekable(path)
                .map_err(|error| TraceError::open(path, &error))?;
            Ok::<_, TraceError>((file, path.display().to_string()))
        };
        let (file, name) = open(path)?;
        let anchor = Anchor::read(file, name)?;
        let (file, name) = open(&path.with_extension("def"))?;
        let definitions = Definitions::read(file, name, &anchor)?;
        let archive = Self {
            anchor,
            definitions,
            folder: path.with_extension(""),
            path: path.to_owned(),
        };
        for (location, of) in archive.definitions.locations() {
            let path = archive.file(*location, "evt");
            if of.events > 0 && !path.exists() {
                let reason = format!(
                    "location {} has {} events, but there is no file {}",
                    location.0,
                    of.events,
                    path.display()
                );
                let file = archive.path.display().to_string();
                return Err(TraceError::new(&file, Position::Whole, reason));
            }
        }
        Ok(archive)
    }

    /// What the anchor file says.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// The global definitions.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The markers (`NAME.marker` beside the anchor file), in the order of their time;
    /// none where there is no such file.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn markers(&self) -> Result<Vec<Marker>, TraceError> {
        let path = self.path.with_extension("marker");
        match odonata_files::open_seekable(&path) {
            Ok(file) => markers::read(file, path.display().to_string(), &self.anchor),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(TraceError::open(&path, &error)),
        }
    }

    fn file(&self, location: LocationRef, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", location.0))
    }

    /// Opens the events of a location. All locations may be read side by side:
    /// their files are open only while they are read, and their buffers have 64 MiB
    /// together, or 4 KiB each if there are more than 16,384.
    ///
    /// # Errors
    /// If the location is not defined or one of its files is damaged.
    pub fn events(
        &self,
        location: LocationRef,
    ) -> Result<EventReader<'_, ReopenedFile>, TraceError> {
        let path = self.file(location, "def");
        let local = match odonata_files::open_seekable(&path) {
            Ok(file) => LocalDefinitions::read(file, path.display().to_string(), &self.anchor)?,
            // A location without mappings and clock offsets needs no such file.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                LocalDefinitions::default()
            }
            Err(error) => return Err(TraceError::open(&path, &error)),
        };
        let path = self.file(location, "evt");
        let file = ReopenedFile::new(&path).map_err(|error| TraceError::open(&path, &error))?;
        let name = path.display().to_string();
        let buffer = shared_buffer(self.anchor.locations);
        let bytes = ByteReader::with_buffer(file, name, buffer)?;
        EventReader::on(bytes, &self.anchor, &self.definitions, local, location)
    }
}
