//! DUMPI jobs made for tests.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use odonata_load::replay::{Options, Trace};
use odonata_traces::TraceError;
use odonata_traces::dumpi::{Call, Clock, DumpiWriter, Header, Span, Status, Trailer, Value};

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("odonata-replay-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub const WORLD: Value = Value::Handle(2);
/// `MPI_INT`: 4 bytes.
pub const INTEGER: Value = Value::Handle(9);

/// Values of arguments, where integers are integers.
pub trait IntoValue {
    fn value(self) -> Value;
}

impl IntoValue for i32 {
    fn value(self) -> Value {
        Value::Int(self)
    }
}

impl IntoValue for Value {
    fn value(self) -> Value {
        self
    }
}

impl<const N: usize> IntoValue for [i32; N] {
    fn value(self) -> Value {
        Value::Ints(self.to_vec())
    }
}

/// A call with its arguments in order: integers, lists of integers, values.
macro_rules! call {
    ($function:ident $(, $value:expr)* $(,)?) => {
        odonata_traces::dumpi::Call::with_values(
            odonata_traces::dumpi::Function::$function,
            vec![$($crate::job::IntoValue::value($value)),*],
        )
    };
}
pub(crate) use call;

/// Statuses of receives: source and tag.
pub fn statuses<const N: usize>(of: [(i32, i32); N]) -> Value {
    let status = |(source, tag)| Status {
        bytes: 4,
        source,
        tag,
        ..Status::default()
    };
    Value::Statuses(of.map(status).to_vec())
}

/// A job of as many ranks as there are lists of calls; each call takes 1 us and
/// begins 2 us after the one before.
pub struct Job {
    pub folder: Folder,
    pub meta: PathBuf,
}

impl Job {
    pub fn new(ranks: Vec<Vec<Call>>) -> Self {
        let folder = Folder::new();
        let meta = write_meta(&folder.0, ranks.len());
        for (rank, calls) in ranks.into_iter().enumerate() {
            write_rank(&folder.0, rank, calls);
        }
        Self { folder, meta }
    }

    /// The same calls by all ranks, each with its number.
    pub fn of_ranks(ranks: i32, calls: impl Fn(i32) -> Vec<Call>) -> Self {
        Self::new((0..ranks).map(calls).collect())
    }

    pub fn open(&self) -> Result<Trace, TraceError> {
        Trace::open(&self.meta, Options::default())
    }

    /// The message of the error that opening must give.
    pub fn refused(&self) -> String {
        match self.open() {
            Ok(_) => panic!("accepted"),
            Err(error) => error.to_string(),
        }
    }
}

/// Writes the description of a job.
pub fn write_meta(folder: &Path, ranks: usize) -> PathBuf {
    let meta = folder.join("job.meta");
    std::fs::write(&meta, format!("numprocs={ranks}\nfileprefix=job\n")).unwrap();
    meta
}

/// Writes the trace of a rank: these calls between `MPI_Init` and `MPI_Finalize`.
pub fn write_rank(folder: &Path, rank: usize, calls: impl IntoIterator<Item = Call>) {
    let path = folder.join(format!("job-{rank:04}.bin"));
    let file = BufWriter::new(File::create(path).unwrap());
    let mut writer = DumpiWriter::new(file, 0, 0).unwrap();
    let clock = |microseconds: usize| Clock {
        seconds: (microseconds / 1_000_000) as i32,
        nanoseconds: (microseconds % 1_000_000) as u32 * 1_000,
    };
    let init = call!(Init, 0, Value::Texts(Vec::new()));
    let calls = [init].into_iter().chain(calls).chain([call!(Finalize)]);
    for (number, mut call) in calls.enumerate() {
        call.wall = Some(Span {
            start: clock(3 * number),
            stop: clock(3 * number + 1),
        });
        writer.push(&call).unwrap();
    }
    let header = Header {
        version: [1, 1, 0],
        ..Header::default()
    };
    writer.finish(&header, &Trailer::default()).unwrap();
}
