//! How sure a measured mean is: where the warm-up ends, and a confidence
//! interval for what comes after it, both from one run.
//!
//! Only additions, multiplications, divisions and square roots are used, which
//! every processor rounds alike, so that decisions taken on these figures are the
//! same everywhere.

mod batches;
mod mser;
mod series;
mod student;

pub use batches::{Interval, Observation, interval};
pub use mser::mser5;
pub use series::{JobSeries, job_series};
pub use student::student_t95;
