//! The simulation room: the packet engine and what it measures. Knows nothing
//! of where a scenario comes from.

mod config;
mod engine;
mod error;
mod histogram;
mod observer;
mod outcome;

pub use config::{
    Arbitration, CreditUse, Crossbar, EngineConfig, InjectionOrder, JobLoad, JobPlan, Measurement,
    MessageRecords, NicModel, Protocol, RouterModel, Switching,
};
pub use engine::{resume, run};
pub use error::{SimError, StuckPacket};
pub use histogram::Histogram;
pub use observer::{Observer, PausedRun, Wish};
pub use outcome::{
    Activity, Conservation, JobOutcome, LinkOutcome, MessageRecord, Outcome, PairTraffic, Progress,
    RankActivity, RankInterval, RankTimes, Timeline, Traffic,
};
