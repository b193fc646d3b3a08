//! The simulation room: the packet engine and what it measures. Knows nothing
//! of where a scenario comes from.

mod circuits;
mod config;
mod engine;
mod error;
mod histogram;
mod limits;
mod observer;
mod outcome;

pub use circuits::{CircuitControl, NewCircuits, Reconfiguration, RunSoFar};
pub use config::{
    Arbitration, ArrivalRecords, Completion, CreditUse, Crossbar, Decisions, EngineConfig,
    HostCosts, HostTimes, InjectionOrder, JobLoad, JobPlan, Measurement, MessageRecords, NicModel,
    OccupancyCount, Protocol, Room, RouterModel, Switching, SwitchingName,
};
pub use engine::actions::{Begun, Sending, Task};
pub use engine::matching::{Arrived, Envelope, Matching, Posted, Wanted};
pub use engine::memory::{Megabytes, shortage, within_memory};
pub use engine::packets::MessageKind;
pub use engine::timeline::TimelineCollector;
pub use engine::{resume, run, run_any, run_with_circuits};
pub use error::{SimError, StuckPacket};
pub use histogram::Histogram;
pub use limits::check_times;
pub use observer::{Observer, PausedRun, Wish};
pub use outcome::{
    Activity, Arrival, Conservation, JobAtLink, JobOutcome, JobWait, LinkAttribution, LinkOutcome,
    MessageRecord, Outcome, PairTraffic, Progress, RankActivity, RankInterval, RankTimes, Sender,
    Timeline, Traffic,
};
