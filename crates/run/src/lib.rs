//! What a run takes and gives, whichever engine carries it out: parameters of the machine, plans of
//! jobs, what is measured, the outcome, and who accompanies the run. Knows nothing of where a
//! scenario comes from, nor how messages travel.

mod classes;
mod config;
mod congestion;
pub mod encoding;
mod entity_map;
mod error;
mod histogram;
mod limits;
pub mod memory;
mod noise;
mod observer;
mod outcome;
mod parameter;
mod ratio;
mod storage;
mod timeline;

pub use classes::{ClassRule, JobClasses, TrafficClass};
pub use config::{
    Arbitration, ArrivalRecords, Completion, CreditUse, Crossbar, CrossbarRate, Decisions,
    EngineConfig, HostCosts, HostTimes, InjectionOrder, JobLoad, JobPlan, Losses, Measurement,
    MessageRecords, NicModel, OccupancyCount, Protocol, Room, RouterModel, Switching,
    SwitchingName,
};
pub use congestion::{
    CongestionControl, CongestionControlName, EcnKeys, HpccKeys, InfinibandKeys, SlingshotKeys,
    WindowKeys,
};
pub use entity_map::{EntityMap, KeyMap};
pub use error::{SimError, StuckPacket};
pub use histogram::Histogram;
pub use limits::check_times;
pub use memory::{Megabytes, shortage, within_memory};
pub use noise::Noise;
pub use observer::{Jump, Observer, Pause, PausedRun, Standing, Wish};
pub use outcome::{
    Activity, Arrival, ClassBytes, Conservation, Direction, HeldPair, JobAtLink, JobOutcome,
    JobWait, LinkAttribution, LinkOutcome, MessageRecord, Outcome, PairTraffic, Progress,
    RankActivity, RankInterval, RankShare, RankTimes, Reconfiguration, Share, Timeline, Traffic,
};
pub use parameter::Parameter;
pub use ratio::Ratio;
pub use storage::{BurstBuffer, Medium, MediumState, ServerCounts, ServerUse, Servers, Service};
pub use timeline::TimelineCollector;
