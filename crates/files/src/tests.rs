use std::io::Write;
use std::path::PathBuf;

use super::*;

/// A directory that is gone after the test.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text() -> Vec<u8> {
    (0..40_000)
        .flat_map(|line: u32| format!("line {line}\n").into_bytes())
        .collect()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

fn xz(data: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

fn written(directory: &tempfile::TempDir, name: &str, data: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, data).unwrap();
    path
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

#[test]
fn what_is_compressed_reads_as_what_is_not() {
    let directory = directory();
    let text = text();
    let (first, second) = text.split_at(100_000);
    for (compress, compression) in [
        (gzip as fn(&[u8]) -> Vec<u8>, Compression::Gzip),
        (xz, Compression::Xz),
        (zstd, Compression::Zstd),
    ] {
        let whole = written(&directory, "whole", &compress(&text));
        assert_eq!(open(&whole).unwrap().compression(), Some(compression));
        assert!(read(&whole).unwrap() == text);
        // Files put one behind the other are one, as the tools have it.
        let parts = [compress(first), compress(second)].concat();
        assert!(read(&written(&directory, "parts", &parts)).unwrap() == text);
        let empty = written(&directory, "empty", &compress(b""));
        assert_eq!(read(&empty).unwrap(), b"");
    }
    let plain = written(&directory, "plain", &text);
    assert_eq!(open(&plain).unwrap().compression(), None);
    assert!(read(&plain).unwrap() == text);
    assert_eq!(read(&written(&directory, "nothing", b"")).unwrap(), b"");
    assert_eq!(read(&written(&directory, "short", b"ab")).unwrap(), b"ab");
}

#[test]
fn frames_to_skip_are_skipped() {
    let directory = directory();
    let mut file = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    file.extend(zstd(b"one "));
    file.extend(b"\x5f\x2a\x4d\x18\0\0\0\0");
    file.extend(zstd(b"two"));
    assert_eq!(
        read(&written(&directory, "a.zst", &file)).unwrap(),
        b"one two"
    );
}

#[test]
fn damage_is_an_error_that_names_the_compression() {
    let directory = directory();
    let text = text();
    for (name, whole) in [
        ("gzip", gzip(&text)),
        ("xz", xz(&text)),
        ("zstd", zstd(&text)),
    ] {
        for length in [7, whole.len() / 2, whole.len() - 1] {
            let error = read(&written(&directory, name, &whole[..length])).unwrap_err();
            assert!(
                error.to_string().contains(name),
                "{name}, {length} bytes: {error}"
            );
        }
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 0x55;
        let path = written(&directory, name, &changed);
        assert!(
            read(&path).is_err() || read(&path).unwrap() != text,
            "{name}"
        );
    }
}

#[test]
fn any_order_works_on_what_is_compressed() {
    let directory = directory();
    let text = text();
    for data in [text.clone(), gzip(&text), xz(&text), zstd(&text)] {
        let mut file = open_seekable(&written(&directory, "file", &data)).unwrap();
        let mut piece = [0; 9];
        file.seek(SeekFrom::Start(text.len() as u64 - 9)).unwrap();
        file.read_exact(&mut piece).unwrap();
        assert_eq!(piece, text[text.len() - 9..]);
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut piece).unwrap();
        assert_eq!(piece, text[..9]);
    }
}

#[test]
fn endings_of_compressions_are_known() {
    let plain = |path| {
        without_compression(Path::new(path))
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(plain("a/log.swf.gz"), "a/log.swf");
    assert_eq!(plain("log.swf.xz"), "log.swf");
    assert_eq!(plain("log.txt.zst"), "log.txt");
    assert_eq!(plain("log.swf"), "log.swf");
    assert_eq!(plain("gz"), "gz");
}
