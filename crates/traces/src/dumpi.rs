//! DUMPI, the MPI traces of the SST project: one binary file per rank, and a
//! text file that describes the job.
//!
//! [`DumpiReader`] streams the records of one file; [`DumpiJob`] opens all files
//! of a job; [`DumpiWriter`] writes traces, for tests.

mod datatypes;
mod function;
mod job;
mod names;
mod reader;
mod record;
mod sections;
pub mod text;
mod writer;

pub use datatypes::{Datatypes, SentBytes};
pub use function::{Field, Function, Kind};
pub use job::{DumpiJob, MetaFile, RankReader};
pub use names::{COMM_SELF, COMM_WORLD, datatype_name};
pub use reader::DumpiReader;
pub use record::{Argument, Call, CallCount, Clock, Header, Span, Status, Trailer, Value};
pub use writer::DumpiWriter;
