//! Files that are open only while they are read.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use odonata_files::{Unpacked, open_plain};

/// A file that is opened anew for every read, so that the traces of thousands of
/// ranks can be read side by side without as many open files. Readers of this
/// crate read in large pieces, which makes the cost of opening small. A compressed
/// file is read from a temporary one with its content.
#[derive(Clone, Debug)]
pub struct ReopenedFile {
    path: PathBuf,
    position: u64,
    /// Keeps the temporary file.
    _unpacked: Option<Arc<Unpacked>>,
}

impl ReopenedFile {
    /// A file that exists and can be opened.
    ///
    /// # Errors
    /// If it cannot, or its content not be written to a temporary file.
    pub fn new(path: &Path) -> io::Result<Self> {
        let unpacked = Unpacked::of(path)?.map(Arc::new);
        Ok(Self {
            path: unpacked
                .as_ref()
                .map_or(path, |file| file.path())
                .to_owned(),
            position: 0,
            _unpacked: unpacked,
        })
    }
}

impl Read for ReopenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = open_plain(&self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let count = file.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for ReopenedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = |from: u64, by: i64| {
            from.checked_add_signed(by).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a position before the file's start",
                )
            })
        };
        self.position = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) => moved(self.position, by)?,
            SeekFrom::End(by) => moved(std::fs::metadata(&self.path)?.len(), by)?,
        };
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_an_open_file() {
        let name = format!("odonata-unheld-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, b"0123456789").unwrap();
        let mut file = ReopenedFile::new(&path).unwrap();
        let mut piece = [0; 4];
        file.read_exact(&mut piece).unwrap();
        assert_eq!(&piece, b"0123");
        assert_eq!(file.seek(SeekFrom::End(-2)).unwrap(), 8);
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"89");
        assert_eq!(file.seek(SeekFrom::Current(-9)).unwrap(), 1);
        assert!(file.seek(SeekFrom::Current(-2)).is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(ReopenedFile::new(&path).is_err());
    }
}
