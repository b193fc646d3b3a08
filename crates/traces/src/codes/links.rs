//! Binary lists of links: little-endian 32-bit integers without a header.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::bytes::ByteReader;
use crate::error::TraceError;

/// What a record of a list of links within a group consists of. Links between
/// groups are always pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntraLayout {
    /// Source and destination.
    Pairs,
    /// Source, destination and type.
    Typed,
}

impl IntraLayout {
    /// Layout that a model of CODES reads; `None` if the model has no such list.
    pub fn of_model(model: &str) -> Option<Self> {
        match model {
            "dragonfly_custom" | "dragonfly_dally" => Some(IntraLayout::Typed),
            "dragonfly_plus" => Some(IntraLayout::Pairs),
            _ => None,
        }
    }
}

/// A directed link between two routers. Within a group both are numbers in the
/// group, between groups numbers in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Router that sends.
    pub from: u32,
    /// Router that receives.
    pub to: u32,
    /// Type (0: row, 1: column of a Cray XC group); 0 where the list has none.
    pub kind: u32,
}

/// Reads a list of links link by link. Memory: a buffer.
pub struct LinkReader<R> {
    bytes: ByteReader<R>,
    layout: IntraLayout,
    routers: u32,
    done: bool,
}

impl LinkReader<File> {
    /// Opens a list of links within a group of `routers` routers.
    ///
    /// # Errors
    /// If the file cannot be read or its size is no multiple of a record.
    pub fn open_intra(path: &Path, layout: IntraLayout, routers: u32) -> Result<Self, TraceError> {
        let file =
            odonata_files::open_seekable(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file, path.display().to_string(), layout, routers)
    }

    /// Opens a list of links between groups of a network of `routers` routers.
    ///
    /// # Errors
    /// As [`LinkReader::open_intra`].
    pub fn open_inter(path: &Path, routers: u32) -> Result<Self, TraceError> {
        Self::open_intra(path, IntraLayout::Pairs, routers)
    }
}

impl<R: Read + Seek> LinkReader<R> {
    /// Reads a list from `source`; `file` is its name in messages, `routers` the
    /// number of routers that may be named.
    ///
    /// # Errors
    /// As [`LinkReader::open_intra`].
    pub fn new(
        source: R,
        file: String,
        layout: IntraLayout,
        routers: u32,
    ) -> Result<Self, TraceError> {
        let bytes = ByteReader::new(source, file)?;
        let record = match layout {
            IntraLayout::Pairs => 8,
            IntraLayout::Typed => 12,
        };
        let size = bytes.size();
        if !size.is_multiple_of(record) {
            let reason = format!(
                "{size} bytes are no whole number of links of {record} bytes; the file is \
                 truncated or of another kind"
            );
            return Err(bytes.error_at(size - size % record, reason));
        }
        Ok(Self {
            bytes,
            layout,
            routers,
            done: false,
        })
    }

    /// The next link; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// If a link leads from a router to itself or names one that does not exist.
    pub fn next_link(&mut self) -> Result<Option<Link>, TraceError> {
        if self.done || self.bytes.left() == 0 {
            return Ok(None);
        }
        let result = self.read_link();
        self.done = result.is_err();
        result.map(Some)
    }

    fn read_link(&mut self) -> Result<Link, TraceError> {
        let at = self.bytes.position();
        let link = Link {
            from: self.bytes.u32_le()?,
            to: self.bytes.u32_le()?,
            kind: match self.layout {
                IntraLayout::Pairs => 0,
                IntraLayout::Typed => self.bytes.u32_le()?,
            },
        };
        let (from, to) = (link.from as i32, link.to as i32);
        if link.from >= self.routers || link.to >= self.routers {
            let reason = format!(
                "a link from router {from} to {to}, but there are the routers 0 to {}",
                i64::from(self.routers) - 1
            );
            return Err(self.bytes.error_at(at, reason));
        }
        if from == to {
            let reason = format!("a link from router {from} to itself");
            return Err(self.bytes.error_at(at, reason));
        }
        if link.kind > 1 {
            let reason = format!("a link of type {}; there are 0 and 1", link.kind as i32);
            return Err(self.bytes.error_at(at, reason));
        }
        Ok(link)
    }
}

impl<R: Read + Seek> Iterator for LinkReader<R> {
    type Item = Result<Link, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_link().transpose()
    }
}
