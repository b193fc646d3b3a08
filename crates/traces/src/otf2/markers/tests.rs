use std::io::Cursor;

use super::*;

/// A compressed integer of one byte, or of none.
fn short(value: u8) -> Vec<u8> {
    match value {
        0 => vec![0],
        value => vec![1, value],
    }
}

fn record(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&[kind, body.len() as u8], &body[..]].concat()
}

fn file(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![3, 0x42];
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(records.concat());
    bytes.push(2);
    bytes
}

fn marker(time: u8, kind: u8, text: &[u8]) -> Vec<u8> {
    let parts: [&[u8]; 6] = [&short(time), &short(9), &short(kind), &[0], &short(0), text];
    record(MARKER, &parts)
}

fn definition(id: u8) -> Vec<u8> {
    record(DEFINITION, &[&short(id), b"user\0", b"phase\0", &[3]])
}

fn anchor() -> Anchor {
    Anchor {
        version: [3, 0, 0],
        event_chunk_bytes: 256 * 1024,
        definition_chunk_bytes: 256 * 1024,
        locations: 0,
        global_definitions: 0,
        machine: String::new(),
        creator: String::new(),
        description: String::new(),
        properties: Vec::new(),
        id: 0,
    }
}

#[test]
fn markers_come_with_their_names_in_order_of_time() {
    let bytes = file(&[
        marker(200, 4, b"end\0"),
        definition(4),
        marker(50, 4, b"start\0"),
        // A kind of record that is not read.
        record(77, &[b"anything"]),
    ]);
    let markers = read(Cursor::new(bytes), "a.marker".to_owned(), &anchor()).unwrap();
    let seen: Vec<(u64, &str)> = markers.iter().map(|m| (m.time, m.text.as_str())).collect();
    assert_eq!(seen, [(50, "start"), (200, "end")]);
    assert!(markers[0].is_called("start") && markers[0].is_called("phase"));
    assert!(!markers[0].is_called("user"));
}

#[test]
fn damaged_markers_are_refused() {
    let refused = |records: &[Vec<u8>]| {
        let bytes = file(records);
        let read = read(Cursor::new(bytes), "a.marker".to_owned(), &anchor());
        read.unwrap_err().to_string()
    };
    assert!(refused(&[marker(1, 4, b"x\0")]).contains("kind 4, which is not defined"));
    assert!(refused(&[definition(4), definition(4)]).contains("defined twice"));
    let whole = file(&[definition(4), marker(1, 4, b"x\0")]);
    for end in 0..whole.len() {
        let cut = Cursor::new(whole[..end].to_vec());
        assert!(
            read(cut, "a.marker".to_owned(), &anchor()).is_err(),
            "{end}"
        );
    }
}
