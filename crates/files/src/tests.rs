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
    super::read(path, u64::MAX - 1)
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

#[test]
fn devices_are_refused() {
    for device in ["/dev/zero", "/dev/null"] {
        let device = Path::new(device);
        let errors = [
            open(device).err(),
            open_plain(device).err(),
            open_seekable(device).err(),
            Unpacked::of(device).err(),
            read_to_string(device).err(),
        ];
        for error in errors {
            assert_eq!(
                error.unwrap().to_string(),
                "it is a device; allowed: a file or a pipe"
            );
        }
    }
}

fn named_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// A named pipe, and what is done to it in a thread of its own.
fn pipe(path: &Path, writer: impl FnOnce(File) + Send + 'static) {
    named_pipe(path);
    let path = path.to_owned();
    thread::spawn(move || writer(OpenOptions::new().write(true).open(path).unwrap()));
}

#[test]
fn pipes_read_as_files() {
    let directory = directory();
    let text = text();
    for (name, data) in [("plain", text.clone()), ("gzip", gzip(&text))] {
        let path = directory.path().join(name);
        let given = data.clone();
        pipe(&path, move |mut writer| {
            // The reader waits for what comes late.
            thread::sleep(Duration::from_millis(30));
            writer.write_all(&given).unwrap();
        });
        assert!(read(&path).unwrap() == text, "{name}");
    }
    // One that can be read only once is known by a copy of it.
    let path = directory.path().join("copied");
    pipe(&path, |mut writer| writer.write_all(b"abc").unwrap());
    let copy = Unpacked::of(&path).unwrap().unwrap();
    assert_eq!(read(copy.path()).unwrap(), b"abc");
    let error = open_plain(&path).unwrap_err().to_string();
    assert_eq!(error, "it is a pipe; allowed: a file");
}

#[test]
fn pipes_without_writer_or_end_are_errors() {
    let directory = directory();
    let opened = |path| open_any(path).unwrap().0;
    let path = directory.path().join("idle");
    named_pipe(&path);
    let error = of_pipe(opened(&path), 10, Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("no program has written"));

    let path = directory.path().join("endless");
    pipe(
        &path,
        |mut writer| while writer.write_all(b"abc\n").is_ok() {},
    );
    let most = 1 << 20;
    let error = of_pipe(opened(&path), most, Duration::from_secs(10)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is a pipe that gives more than 1 MiB; allowed is a file of that size"
    );
}

#[test]
fn what_a_small_file_unpacks_to_has_an_end() {
    let directory = directory();
    // One byte more than is read of a file of this size, and as much as is.
    let zeros = |count: u64| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::copy(&mut io::repeat(0).take(count), &mut out).unwrap();
        out.finish().unwrap()
    };
    for (more, fits) in [(0, true), (1, false)] {
        let path = written(&directory, "zeros", &zeros(MOST_UNPACKED_BYTES + more));
        let read = io::copy(&mut open(&path).unwrap(), &mut io::sink());
        assert_eq!(read.is_ok(), fits, "{more}");
        assert_eq!(open_seekable(&path).is_ok(), fits);
        assert_eq!(Unpacked::of(&path).is_ok(), fits);
        if let Err(error) = read {
            assert_eq!(
                error.to_string(),
                "it holds more than 64 MiB, the most that is read of a compressed file of its size \
                 (100 times that, at least 64 MiB); decompress it first if that is right"
            );
        }
    }
    // A larger file may hold more: here one of 2 MiB that cannot be compressed, and zeros.
    let mut draws = 1u64;
    let noise: Vec<u8> = (0..2 << 20)
        .map(|_| {
            draws = draws
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (draws >> 56) as u8
        })
        .collect();
    let mut large = gzip(&noise);
    large.extend(zeros(MOST_UNPACKED_BYTES));
    let path = written(&directory, "large", &large);
    let read = io::copy(&mut open(&path).unwrap(), &mut io::sink());
    assert_eq!(read.unwrap(), MOST_UNPACKED_BYTES + (2 << 20));
}

#[test]
fn what_is_read_whole_has_a_limit() {
    let directory = directory();
    let path = written(&directory, "text", b"0123456789");
    assert_eq!(super::read(&path, 10).unwrap(), b"0123456789");
    let error = super::read(&path, 9).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("more than 9 B"), "{error}");
    let path = written(&directory, "text", b"ab\xff");
    let error = read_to_string(&path).unwrap_err().to_string();
    assert_eq!(error, "its byte 2 is not UTF-8");
    // Holes cost nothing.
    File::create(&path)
        .unwrap()
        .set_len(MOST_TEXT_BYTES + 1)
        .unwrap();
    let error = read_to_string(&path).unwrap_err().to_string();
    assert!(error.contains("more than 256 MiB"), "{error}");
}

#[test]
fn lines_have_a_limit_and_any_end() {
    let lines = |text: &[u8], most: usize| {
        let (mut source, mut line, mut found) = (text, Vec::new(), Vec::new());
        loop {
            match read_line(&mut source, most, &mut line).unwrap() {
                Line::End => return found,
                Line::Whole => found.push(Some(String::from_utf8(line.clone()).unwrap())),
                Line::Overlong => {
                    assert!(line.len() <= most + 2);
                    skip_rest(&mut source, &line).unwrap();
                    found.push(None);
                }
            }
        }
    };
    let some = |line: &str| Some(line.to_owned());
    let all = [some("abc"), some(""), some("de"), some("f")];
    assert_eq!(lines(b"abc\r\n\nde\nf", 3), all);
    assert_eq!(lines(b"abc\r\n\nde\nf\r", 3), all);
    for end in ["\n", "\r\n", ""] {
        for length in 0..6 {
            let text = format!("{}{end}", "x".repeat(length));
            let line = some(&text[..length]).filter(|_| length <= 3);
            let mut expected = vec![line; usize::from(!text.is_empty())];
            assert_eq!(lines(text.as_bytes(), 3), expected, "{text:?}");
            if !end.is_empty() {
                expected.push(some("y"));
                assert_eq!(
                    lines(format!("{text}y\n").as_bytes(), 3),
                    expected,
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn pieces_in_messages_are_short_and_readable() {
    assert_eq!(shown(b"a\x1b[0m\xff"), "a\\u{1b}[0m\u{fffd}");
    let long = "é".repeat(61);
    assert_eq!(shown(&long.as_bytes()[..120]), "é".repeat(60));
    assert_eq!(shown(long.as_bytes()), format!("{}…", "é".repeat(60)));
    assert_eq!(shown(&[b'x'; 1 << 20]).chars().count(), 61);
}
