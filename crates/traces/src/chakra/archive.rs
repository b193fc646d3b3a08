//! Archives of traces (tar; POSIX.1-1988 and later). Compression is taken off before.

/// Size of a header and of the pieces in which content comes, bytes.
const BLOCK: usize = 512;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its path there.
    pub name: String,
    /// Its content.
    pub bytes: &'a [u8],
}

/// Whether a file that begins so is an archive.
pub fn is_archive(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// The files of an archive but for those that macOS adds (`._NAME`, attributes of the file
/// NAME); headers of extensions are passed over.
///
/// # Errors
/// The byte at which it is damaged, and why.
pub fn members(archive: &[u8]) -> Result<Vec<Member<'_>>, (u64, String)> {
    let mut members = Vec::new();
    let mut at = 0;
    while let Some(header) = archive.get(at..at + BLOCK) {
        if header.iter().all(|&byte| byte == 0) {
            return Ok(members);
        }
        let fail = |reason: &str| (at as u64, format!("{reason}; the archive is damaged"));
        if !is_archive(header) {
            return Err(fail("no header of a file"));
        }
        let text = |from: usize, to: usize| {
            let field = &header[from..to];
            let end = field.iter().position(|&byte| byte == 0);
            String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
        };
        let size = usize::from_str_radix(text(124, 136).trim(), 8)
            .map_err(|_| fail("a size that is no octal number"))?;
        let start = at + BLOCK;
        let bytes = start
            .checked_add(size)
            .and_then(|end| archive.get(start..end))
            .ok_or_else(|| fail("a file that is cut off"))?;
        // Old headers of GNU tar have other things where POSIX has the folder.
        let folder = match header[263] {
            b'0' => text(345, 500),
            _ => String::new(),
        };
        let name = match folder.is_empty() {
            true => text(0, 100),
            false => format!("{folder}/{}", text(0, 100)),
        };
        let last = name.rsplit('/').next().unwrap_or_default();
        if matches!(header[156], b'0' | 0) && !last.starts_with("._") {
            members.push(Member { name, bytes });
        }
        at = start + size.next_multiple_of(BLOCK);
    }
    match at >= archive.len() {
        true => Ok(members),
        false => Err((at as u64, "the archive is cut off".to_owned())),
    }
}
