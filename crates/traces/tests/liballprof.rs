//! Text traces of liballprof.

#[path = "shared/damage.rs"]
mod damage;

use damage::{attack, rounds, start};
use odonata_traces::liballprof::{Comm, LiballprofReader, Moment};
use odonata_traces::{Position, TraceError};

const TRACE: &str = "# htor's PMPI Tracer 1.0 Output File
# time: Tue Feb 22 10:06:28 2011
# hostname: node1.(none)

MPI_Init:-:140735000539132:140735000539120:1298365588610809
MPI_Comm_rank:1298365588610827:6575616,2,4:140735000539176:1298365588610834
MPI_Isend:1298365588610860.25:140735000539176:3:10,8,16:1:7:6575616,2,4:900:1298365588610888
MPI_Gatherv:5:1:2:1,4,4:2:50:1,2,3,4:60:0,0,0,0:1,4,4:2:6575616,2,4:9
MPI_Bcast:10:1:9:1,4,4:0:-2080374783,2,4:11
# Finalize clockdiff: 0.000000
MPI_Finalize:1298365588621191:-
";

fn reader(text: &str) -> LiballprofReader<&[u8]> {
    LiballprofReader::new(text.as_bytes(), "t.txt".to_owned())
}

#[test]
fn calls_have_their_arguments_and_times() {
    let mut reader = reader(TRACE);
    let init = reader.next_call().unwrap().unwrap();
    assert_eq!(
        (init.function(), init.line, init.entered),
        ("MPI_Init", 5, None)
    );
    reader.next_call().unwrap();
    let send = reader.next_call().unwrap().unwrap();
    assert_eq!(send.function(), "MPI_Isend");
    assert_eq!(send.arguments(), 7);
    // The size of an element counts, not its extent.
    assert_eq!((send.bytes(1, 2).unwrap(), send.sent()), (24, 24));
    assert_eq!((send.int(3).unwrap(), send.address(6).unwrap()), (1, 900));
    let comm = Comm {
        handle: 6_575_616,
        rank: 2,
        size: 4,
    };
    assert_eq!(send.comm(5).unwrap(), comm);
    let entered = Moment {
        microseconds: 1_298_365_588_610_860,
        picoseconds: 250_000,
    };
    assert_eq!(send.entered, Some(entered));
    let gather = reader.next_call().unwrap().unwrap();
    assert_eq!(gather.list(5, 8).unwrap()[..], [4, 8, 12, 16]);
    // Handles of Fortran are signed.
    let cast = reader.next_call().unwrap().unwrap();
    assert_eq!(cast.comm(4).unwrap().handle, -2_080_374_783_i64 as u64);
    let end = reader.next_call().unwrap().unwrap();
    assert_eq!((end.arguments(), end.left), (0, None));
    assert!(reader.next_call().unwrap().is_none());
    assert_eq!(reader.remarks()[1], "time: Tue Feb 22 10:06:28 2011");
}

#[test]
fn errors_name_the_line_and_the_argument() {
    let error = |text: &str| -> TraceError { reader(text).next_call().unwrap_err() };
    for (text, words) in [
        (
            "MPI_Barrier\n",
            "found \"MPI_Barrier\"; allowed: MPI_NAME:START",
        ),
        ("\nprintf:1:2\n", "found \"printf:1:2\""),
        (
            "MPI_Barrier:-:0,0,1:2\n",
            "the start is \"-\"; allowed: microseconds",
        ),
        ("MPI_Barrier:1:0,0,1:2.5x\n", "the end is \"2.5x\""),
    ] {
        let error = error(text);
        assert_eq!(
            error.position,
            Position::Line(1 + u64::from(text.starts_with('\n')))
        );
        assert!(error.reason.contains(words), "{error}");
    }
    let mut reader = reader("MPI_Send:1:x:-1:1,4:2:3:9,4,4:2\n");
    let call = reader.next_call().unwrap().unwrap();
    for (found, words) in [
        (
            call.whole(1).unwrap_err(),
            "MPI_Send: argument 2 is \"-1\"; allowed: a whole number from 0",
        ),
        (
            call.address(0).unwrap_err(),
            "argument 1 is \"x\"; allowed: an address",
        ),
        (
            call.comm(5).unwrap_err(),
            "allowed: a communicator, HANDLE,RANK,SIZE with a rank below",
        ),
        (
            call.element(3).unwrap_err(),
            "argument 4 is \"2\"; allowed: a datatype",
        ),
        (
            call.int(6).unwrap_err(),
            "MPI_Send has 6 arguments, but number 7 is needed",
        ),
    ] {
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn damaged_traces_are_refused_or_read() {
    let read = |bytes: &[u8]| {
        let mut reader = LiballprofReader::new(bytes, "t.txt".to_owned());
        loop {
            match reader.next_call() {
                Ok(Some(call)) => {
                    let used = (0..call.arguments()).try_fold(0, |sum, number| {
                        let list = call.list(number, number).map_or(0, |list| list.len());
                        call.address(number).map(|_| sum + list)
                    });
                    std::hint::black_box(used.is_ok());
                }
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    };
    assert!(read(TRACE.as_bytes()));
    let seeds = [TRACE.as_bytes().to_vec(), TRACE.as_bytes().to_vec()];
    let (refused, all) = attack(&seeds, rounds(2_000), start(), read);
    // Damage within an argument is only found where the argument is used.
    assert!(refused * 10 > all, "{refused} of {all}");
}
