//! Traces written by ourselves: every function and every kind of argument, and
//! what damaged files lead to.

#[path = "shared/damage.rs"]
mod damage;

use std::io::Cursor;

use damage::{Numbers, attack, rounds, start};
use odonata_traces::dumpi::{
    Argument, Call, Clock, DumpiReader, DumpiWriter, Function, Header, Kind, Span, Status, Trailer,
    Value, text,
};
use odonata_traces::{Position, TraceError};

const CPU_OFFSET: i32 = -5;
const WALL_OFFSET: i32 = 1_385_157_238;

fn span(offset: i32, numbers: &mut Numbers) -> Span {
    let mut clock = || Clock {
        seconds: offset + numbers.below(65_536) as i32,
        nanoseconds: numbers.below(1_000_000_000) as u32,
    };
    Span {
        start: clock(),
        stop: clock(),
    }
}

fn text_value(numbers: &mut Numbers) -> Vec<u8> {
    (0..numbers.below(20))
        .map(|_| numbers.next() as u8)
        .collect()
}

/// A call with random arguments that fit together.
fn sample(function: Function, numbers: &mut Numbers) -> Call {
    let mut arguments: Vec<Argument> = Vec::new();
    let root = numbers.below(2) as i32;
    for field in function.fields() {
        if field.root_only && root == 1 {
            continue;
        }
        let length = field.length.map_or(numbers.below(5), |length| {
            let of = arguments.iter().find(|known| known.field.name == length);
            match of.unwrap().value {
                Value::Int(count) => count.max(0) as usize,
                _ => unreachable!("lengths are integers"),
            }
        });
        let is_length = function
            .fields()
            .iter()
            .any(|other| other.length == Some(field.name));
        let value = match field.kind {
            // The caller is rank 0, and the root or not.
            Kind::Int if field.name == "root" => Value::Int(root),
            Kind::Int if field.name.ends_with("commrank") => Value::Int(0),
            Kind::Int if field.name == "resultlen" => match &arguments.last().unwrap().value {
                Value::Text(name) => Value::Int(name.len() as i32),
                _ => unreachable!("names come before their length"),
            },
            // Lengths may be MPI_UNDEFINED.
            Kind::Int if is_length => Value::Int(numbers.below(6) as i32 - 1),
            Kind::Int
            | Kind::Destination
            | Kind::Source
            | Kind::Tag
            | Kind::Request
            | Kind::IoRequest => Value::Int(numbers.next() as i32),
            Kind::Long => Value::Long(numbers.next() as i64),
            Kind::Comm
            | Kind::Datatype
            | Kind::Errhandler
            | Kind::File
            | Kind::Group
            | Kind::Info
            | Kind::Keyval
            | Kind::Win => Value::Handle(numbers.below(40) as u16),
            Kind::Status | Kind::Statuses => {
                let count = if field.kind == Kind::Status {
                    1
                } else {
                    length
                };
                let count = count * numbers.below(2);
                let status = |numbers: &mut Numbers| Status {
                    bytes: numbers.next() as i32,
                    source: numbers.next() as i32,
                    tag: numbers.next() as i32,
                    cancelled: numbers.next() as u8,
                    error: numbers.next() as u8,
                };
                Value::Statuses((0..count).map(|_| status(numbers)).collect())
            }
            Kind::Ints | Kind::Requests | Kind::IoRequests => {
                Value::Ints((0..length).map(|_| numbers.next() as i32).collect())
            }
            Kind::IntRows => Value::IntRows(vec![vec![1, 2, 3]; length]),
            Kind::Datatypes | Kind::Infos => {
                Value::Handles((0..length).map(|_| numbers.next() as u16).collect())
            }
            Kind::Distributions => Value::Codes(vec![2; length]),
            Kind::Text => Value::Text(text_value(numbers)),
            Kind::Texts | Kind::Argv => {
                Value::Texts((0..length).map(|_| text_value(numbers)).collect())
            }
            Kind::TextRows => Value::TextRows(vec![vec![text_value(numbers); 2]; length]),
            _ => Value::Code(numbers.below(40) as u8),
        };
        arguments.push(Argument { field, value });
    }
    let mut call = Call::with_values(function, Vec::new());
    call.arguments = arguments;
    call.thread = numbers.next() as u16;
    call.cpu = (numbers.below(4) > 0).then(|| span(CPU_OFFSET, numbers));
    call.wall = (numbers.below(4) > 0).then(|| span(WALL_OFFSET, numbers));
    if numbers.below(4) == 0 {
        call.counters = vec![(numbers.next(), numbers.next()); 2];
    }
    call
}

fn header() -> Header {
    Header {
        version: [1, 1, 0],
        start_time: 1_385_157_238,
        host: b"host".to_vec(),
        user: b"user".to_vec(),
        mesh_position: vec![1, 0, 3],
        mesh_size: vec![4, 2, 4],
    }
}

fn trailer() -> Trailer {
    Trailer {
        keyvals: vec![(b"key".to_vec(), b"value".to_vec())],
        counters: Some(vec![b"PAPI_TOT_CYC".to_vec(), b"PAPI_L2_TCM".to_vec()]),
        addresses: vec![(0x40_1000, b"main".to_vec())],
        datatype_sizes: vec![0, 0, 1],
        ..Trailer::default()
    }
}

fn write(calls: &[Call]) -> Vec<u8> {
    let mut writer = DumpiWriter::new(Vec::new(), CPU_OFFSET, WALL_OFFSET).unwrap();
    for call in calls {
        writer.push(call).unwrap();
    }
    writer.finish(&header(), &trailer()).unwrap()
}

fn open(bytes: &[u8]) -> Result<DumpiReader<Cursor<&[u8]>>, TraceError> {
    DumpiReader::new(Cursor::new(bytes), "trace.bin".to_owned())
}

/// Reads a whole trace.
fn read(bytes: &[u8]) -> Result<Vec<Call>, TraceError> {
    open(bytes)?.collect()
}

fn recordable() -> impl Iterator<Item = Function> {
    Function::ALL
        .iter()
        .copied()
        .filter(|function| !matches!(function, Function::Pcontrol | Function::ALL_FUNCTIONS))
}

fn every_function(seed: u64) -> Vec<Call> {
    let mut numbers = Numbers(seed);
    recordable()
        .map(|function| sample(function, &mut numbers))
        .collect()
}

#[test]
fn what_is_written_is_read() {
    for seed in 0..20 {
        let calls = every_function(seed);
        let bytes = write(&calls);
        let mut reader = open(&bytes).unwrap();
        assert_eq!(*reader.header(), header());
        let known = trailer();
        assert_eq!(reader.trailer().keyvals, known.keyvals);
        assert_eq!(reader.trailer().counters, known.counters);
        assert_eq!(reader.trailer().addresses, known.addresses);
        assert_eq!(reader.trailer().datatype_sizes, known.datatype_sizes);
        for written in &calls {
            let mut call = reader.next_call().unwrap().unwrap();
            assert!(call.offset >= 16);
            call.offset = 0;
            assert_eq!(call, *written);
        }
        assert_eq!(reader.next_call(), Ok(None));
        assert_eq!(reader.records(), calls.len() as u64);
        // 290 numbers of functions, less Pcontrol; and the two of addresses.
        assert_eq!(calls.len(), 291);
        let mut reader = open(&bytes).unwrap();
        text::write_trace(&mut reader, &mut Vec::new()).unwrap();
    }
}

#[test]
fn text_of_one_call() {
    // The lines that dumpi2ascii prints, with its labels.
    let mut call = Call::with_values(
        Function::Sendrecv,
        vec![
            Value::Int(3),
            Value::Handle(14),
            Value::Int(1),
            Value::Int(7),
            Value::Int(3),
            Value::Handle(29),
            Value::Int(-1),
            Value::Int(-1),
            Value::Handle(2),
            Value::Statuses(vec![]),
        ],
    );
    call.wall = Some(Span {
        start: Clock {
            seconds: 12,
            nanoseconds: 34,
        },
        stop: Clock {
            seconds: 13,
            nanoseconds: 0,
        },
    });
    let mut text = Vec::new();
    text::write_call(&call, &trailer(), &mut text).unwrap();
    let expected = "\
MPI_Sendrecv entering at walltime 12.000000034, cputime 0.000000000 seconds in thread 0.
int sendcount=3
MPI_Datatype sendtype=14 (MPI_DOUBLE)
int dest=1
int sendtag=7
int recvcount=3
MPI_Datatype recvtype=29 (user-defined-datatype)
int source=-1 (MPI_ANY_SOURCE)
int recvtag=-1 (MPI_ANY_TAG)
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Status status=<IGNORED>
MPI_Sendrecv returning at walltime 13.000000000, cputime 0.000000000 seconds in thread 0.
";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn text_of_empty_lists_and_of_rows() {
    // What dumpi2ascii prints of calls without requests, types and ranges.
    let lines = |call: &Call| {
        let mut text = Vec::new();
        text::write_call(call, &trailer(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (_, rest) = text.split_once('\n').unwrap();
        let end = rest.rfind("MPI_").unwrap();
        rest[..end].to_owned()
    };
    let none = Value::Ints(Vec::new());
    let statuses = Value::Statuses(Vec::new());
    let waitall = vec![Value::Int(0), none.clone(), statuses.clone()];
    assert_eq!(
        lines(&Call::with_values(Function::Waitall, waitall)),
        "int count=0\nMPI_Request requests[0]=<IGNORED>\nMPI_Status statuses[0]=<IGNORED>\n"
    );
    let io = vec![Value::Int(0), none, Value::Int(1), statuses];
    assert!(
        lines(&Call::with_values(Function::Io_Testall, io))
            .contains("MPIO_Request requests[0]=<IGNORED>\n")
    );
    let group = |rows: Vec<Vec<i32>>| {
        let values = vec![
            Value::Handle(3),
            Value::Int(rows.len() as i32),
            Value::IntRows(rows),
            Value::Handle(4),
        ];
        lines(&Call::with_values(Function::Group_range_incl, values))
    };
    assert!(group(Vec::new()).contains("int ranges[0][3]=<IGNORED>\nMPI_Group newgroup=4"));
    assert!(
        group(vec![vec![0, 6, 2], vec![1, 1, 1]])
            .contains("int ranges[2][3]=[[0, 6, 2]\n, [1, 1, 1]\n]MPI_Group newgroup=4")
    );
}

fn waitall() -> Vec<u8> {
    let status = Status {
        bytes: 8,
        source: 1,
        ..Status::default()
    };
    write(&[
        Call::with_values(
            Function::Waitall,
            vec![
                Value::Int(2),
                Value::Ints(vec![5, 6]),
                Value::Statuses(vec![status; 2]),
            ],
        ),
        Call::with_values(Function::Finalize, vec![]),
    ])
}

fn reason(bytes: &[u8]) -> (Position, String) {
    let error = read(bytes).unwrap_err();
    assert_eq!(error.file, "trace.bin");
    (error.position, error.reason)
}

#[test]
fn errors_say_where_and_why() {
    let good = waitall();
    assert_eq!(read(&good).unwrap().len(), 2);
    // Offsets: magic 8, clocks 8, then number 2, mask 1, thread 2, count 4,
    // length 4.
    let (position, why) = reason(b"not a trace at all");
    assert_eq!(position, Position::Byte(0));
    assert!(
        why.contains("a DUMPI trace with 0xffaadd44554d5049"),
        "{why}"
    );

    let (position, why) = reason(&good[..good.len() - 3]);
    assert_eq!(position, Position::Byte(good.len() as u64 - 3));
    assert!(why.contains("truncated"), "{why}");

    let mut bytes = good.clone();
    bytes[16..18].copy_from_slice(&999u16.to_be_bytes());
    let (position, why) = reason(&bytes);
    assert_eq!(position, Position::Byte(16));
    assert_eq!(
        why,
        "999 is the number of no function; records have 0 to 292"
    );

    let mut bytes = good.clone();
    bytes[18] = 0x10;
    assert!(reason(&bytes).1.contains("no mask"));

    let mut bytes = good.clone();
    bytes[28] = 3;
    let (position, why) = reason(&bytes);
    assert_eq!(position, Position::Byte(25));
    assert_eq!(
        why,
        "MPI_Waitall, argument requests: the list has 3 elements, but the call says 2; \
         the file is damaged"
    );

    // A record too few: Finalize is overwritten by the end mark, and the space
    // that it leaves is noticed.
    let mut bytes = good.clone();
    let finalize = bytes
        .windows(2)
        .rposition(|pair| pair == [0x00, 0x7d])
        .unwrap();
    bytes[finalize..finalize + 2].copy_from_slice(&[0x01, 0x25]);
    assert!(reason(&bytes).1.contains("5 bytes are left"), "{bytes:?}");

    // The footer counts one Finalize more than there are.
    let mut bytes = good.clone();
    let footer = bytes
        .windows(4)
        .position(|word| word == [0xf0, 0x07, 0xfe, 0xe7])
        .unwrap()
        + 4;
    let entry = footer + 4 * usize::from(Function::Finalize.number());
    bytes[entry + 3] = 2;
    assert!(
        reason(&bytes)
            .1
            .contains("ends with 1 records of MPI_Finalize, but the footer counts 2")
    );
}

#[test]
fn nanoseconds_beyond_a_second_are_refused() {
    let mut call = Call::with_values(Function::Finalize, vec![]);
    call.wall = Some(Span::default());
    let mut writer = DumpiWriter::new(Vec::new(), 0, 0).unwrap();
    writer.push(&call).unwrap();
    let mut bytes = writer.finish(&header(), &trailer()).unwrap();
    // Number 2, mask 1, thread 2, seconds 2, then the nanoseconds at 23.
    bytes[23..27].copy_from_slice(&1_000_000_000u32.to_be_bytes());
    let (position, why) = reason(&bytes);
    assert_eq!(position, Position::Byte(21));
    assert!(why.starts_with("1000000000 nanoseconds"), "{why}");
}

#[test]
fn every_truncation_is_an_error() {
    let good = write(&every_function(3));
    for length in 0..good.len() {
        assert!(read(&good[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn damaged_traces_are_refused_or_read() {
    let seeds = [
        write(&every_function(1)),
        write(&every_function(2)),
        waitall(),
    ];
    let (refused, all) = attack(&seeds, rounds(3_000), start(), |bytes| {
        // Whatever is read can be printed, too.
        let Ok(mut reader) = open(bytes) else {
            return false;
        };
        text::write_trace(&mut reader, &mut std::io::sink()).is_ok()
    });
    // The format has no check sums: a changed tag is another tag. But most of the
    // damage breaks a length, a count or the index.
    assert!(refused * 2 > all, "{refused} of {all}");
}
