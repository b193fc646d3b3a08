//! Jobs of many ranks: all of them at once, and files that do not belong together.

use std::fs;
use std::path::PathBuf;

use odonata_traces::dumpi::{
    Call, DumpiJob, DumpiWriter, Function, Header, MetaFile, Trailer, Value,
};
use odonata_traces::{Position, TraceError};
use odonata_units::RankId;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("odonata-dumpi-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn meta(&self, ranks: u32) -> PathBuf {
        let path = self.0.join("job.meta");
        // The prefix is a path on the machine that wrote the trace.
        let text = format!("numprocs={ranks}\nfileprefix=/elsewhere/job\nstartime=5\n");
        fs::write(&path, text).unwrap();
        path
    }

    /// A rank that asks who it is and sends to the next one.
    fn rank(&self, file: u32, rank: i32, ranks: i32, peer: i32) {
        let world = Value::Handle(2);
        let calls = [
            Call::with_values(Function::Comm_rank, vec![world.clone(), Value::Int(rank)]),
            Call::with_values(Function::Comm_size, vec![world.clone(), Value::Int(ranks)]),
            Call::with_values(
                Function::Send,
                vec![
                    Value::Int(1),
                    Value::Handle(5),
                    Value::Int(peer),
                    Value::Int(0),
                    world,
                ],
            ),
        ];
        let mut writer = DumpiWriter::new(Vec::new(), 0, 0).unwrap();
        calls.iter().for_each(|call| writer.push(call).unwrap());
        let header = Header {
            version: [1, 1, 0],
            ..Header::default()
        };
        let bytes = writer.finish(&header, &Trailer::default()).unwrap();
        fs::write(self.0.join(format!("job-{file:04}.bin")), bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Files that this process has open; `None` where the system does not tell.
fn open_files() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

#[test]
fn all_ranks_are_read_side_by_side() {
    const RANKS: u32 = 1_500;
    let folder = Folder::new("many");
    for rank in 0..RANKS {
        let next = (rank + 1) % RANKS;
        folder.rank(rank, rank as i32, RANKS as i32, next as i32);
    }
    let job = DumpiJob::open(&folder.meta(RANKS)).unwrap();
    let mut ranks: Vec<_> = (0..RANKS)
        .map(|rank| job.rank(RankId(rank)).unwrap())
        .collect();
    // 1,024 open files is what many systems allow a process.
    if let Some(open) = open_files() {
        assert!(open < 200, "{open} files are open");
    }
    for function in [Function::Comm_rank, Function::Comm_size, Function::Send] {
        for rank in &mut ranks {
            assert_eq!(rank.next_call().unwrap().unwrap().function, function);
        }
    }
    for rank in &mut ranks {
        assert_eq!(rank.next_call().unwrap(), None);
    }
}

fn read(job: &DumpiJob, rank: u32) -> Result<Vec<Call>, TraceError> {
    job.rank(RankId(rank))?.collect()
}

#[test]
fn files_that_do_not_belong_together_are_errors() {
    let folder = Folder::new("mixed");
    let meta = folder.meta(3);
    folder.rank(0, 0, 3, 1);
    folder.rank(2, 0, 3, 1);
    let missing = DumpiJob::open(&meta).unwrap_err();
    assert_eq!(missing.position, Position::Whole);
    assert!(
        missing
            .reason
            .contains("1 of their trace files are missing"),
        "{missing}"
    );
    assert!(missing.reason.contains("job-0001.bin"), "{missing}");

    // Rank 1 has the trace of a larger job, rank 2 that of rank 0.
    folder.rank(1, 1, 4, 2);
    let job = DumpiJob::open(&meta).unwrap();
    assert_eq!(job.meta().start_time, Some(5));
    assert_eq!(read(&job, 0).unwrap().len(), 3);
    let error = read(&job, 1).unwrap_err();
    assert!(error.file.ends_with("job-0001.bin"), "{error}");
    assert!(
        error
            .reason
            .contains("the job has 4 ranks, but its description 3"),
        "{error}"
    );
    let error = read(&job, 2).unwrap_err();
    assert!(
        error
            .reason
            .contains("trace of rank 0, but the file is named"),
        "{error}"
    );
    assert_eq!(error.position, Position::Byte(16));

    folder.rank(1, 1, 3, 3);
    let error = read(&job, 1).unwrap_err();
    assert!(
        error
            .reason
            .contains("names rank 3, but the job has the ranks 0 to 2"),
        "{error}"
    );
    // After an error there is nothing more.
    let mut calls = job.rank(RankId(1)).unwrap();
    let outcomes: Vec<bool> = calls.by_ref().map(|call| call.is_ok()).collect();
    assert_eq!(outcomes, [true, true, false]);
    assert_eq!(calls.next_call(), Ok(None));
}

#[test]
fn one_trace_stands_for_all_ranks_on_request() {
    let folder = Folder::new("repeated");
    // Rank 4 of a job of 9 sends to rank 8.
    folder.rank(4, 4, 9, 8);
    let trace = folder.0.join("job-0004.bin");
    let job = DumpiJob::repeated(&trace, 3).unwrap();
    assert_eq!((job.ranks(), job.meta().version), (3, [1, 1, 0]));
    for rank in 0..3 {
        assert_eq!(job.path(RankId(rank)), trace);
        let calls = read(&job, rank).unwrap();
        assert_eq!(calls[2].int("dest"), Some(8));
    }
    let error = DumpiJob::repeated(&trace, 0).unwrap_err();
    assert!(error.reason.contains("a job has 1 to"), "{error}");
    fs::write(&trace, b"nothing").unwrap();
    assert!(DumpiJob::repeated(&trace, 3).is_err());
}

#[test]
fn descriptions_that_describe_no_job_are_errors() {
    let read = |text: &str| MetaFile::read_from(text.as_bytes(), "job.meta");
    let good = read("numprocs=4\nfileprefix=a\nversion=1\nsubversion=2\nunknown=x\n").unwrap();
    assert_eq!((good.ranks, good.prefix.as_str()), (4, "a"));
    assert_eq!(good.version, [1, 2, 0]);
    for (text, position, why) in [
        ("", Position::Whole, "no line numprocs"),
        ("numprocs=4\n", Position::Whole, "no line fileprefix"),
        (
            "numprocs=4\nfileprefix=\n",
            Position::Whole,
            "no line fileprefix",
        ),
        (
            "numprocs 4\n",
            Position::Line(1),
            "no line of the form key=value",
        ),
        (
            "\nnumprocs=four\n",
            Position::Line(2),
            "numprocs is \"four\"",
        ),
        (
            "numprocs=0\nfileprefix=a\n",
            Position::Line(1),
            "a job has 1 to",
        ),
        (
            "numprocs=4294967296\n",
            Position::Line(1),
            "more than fits into 32 bits",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.position, position, "{text}");
        assert!(error.reason.contains(why), "{error}");
    }
}

/// A job is the same with its ranks' files compressed, one way or another.
#[test]
fn compressed_ranks_are_read_like_others() {
    let folder = Folder::new("packed");
    let meta = folder.meta(3);
    (0..3).for_each(|rank| folder.rank(rank as u32, rank, 3, (rank + 1) % 3));
    let calls = |job: &DumpiJob| -> Vec<Vec<Call>> {
        let of = |rank| {
            job.rank(RankId(rank))
                .unwrap()
                .map(Result::unwrap)
                .collect()
        };
        (0..3).map(of).collect()
    };
    let plain = calls(&DumpiJob::open(&meta).unwrap());
    for rank in 1..3 {
        let bin = folder.0.join(format!("job-{rank:04}.bin"));
        let packed = gzip(&fs::read(&bin).unwrap());
        fs::write(folder.0.join(format!("job-{rank:04}.bin.gz")), packed).unwrap();
        fs::remove_file(bin).unwrap();
    }
    let job = DumpiJob::open(&meta).unwrap();
    assert!(job.path(RankId(1)).ends_with("job-0001.bin.gz"));
    assert_eq!(calls(&job), plain);
    let one = DumpiJob::repeated(&job.path(RankId(1)), 3).unwrap();
    let again = |rank| -> Vec<Call> {
        one.rank(RankId(rank))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    assert_eq!((again(0), again(2)), (plain[1].clone(), plain[1].clone()));
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut out, data).unwrap();
    out.finish().unwrap()
}
