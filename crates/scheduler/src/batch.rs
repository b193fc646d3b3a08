//! Batch simulation: a job log on a machine under a policy.

mod cluster;
mod conservative;
mod counted;
mod failures;
mod grap;
mod hold;
mod machine;
mod metrics;
mod network;
mod nodes_out;
mod options;
mod order;
mod pass;
mod passes;
mod profile;
mod promises;
mod queue;
mod schedule;
mod shortest;
mod simulate;
mod skyline;
mod task;
mod timeline;

pub use cluster::{ClusterAllocation, ClusterMachine, ClusterRefusal, JobConstraints, Rule};
pub use grap::GrapMachine;
pub use machine::{Ask, Machine, PlacedMachine, Pool, Withheld};
pub use metrics::{Class, Occupancy, Spread, Summary, occupancy, size_classes, summarise};
pub use network::{Allocation, AsLogged, Network};
pub use options::{
    Arrival, Estimate, Hold, Larger, OptionError, Options, Passes, Policy, Share, Window,
};
pub use order::{Multifactor, Order};
pub use pass::{Begin, Decided, Waiting, pass};
pub use schedule::{Fate, GroupSpread, LostRun, Row, Run, Schedule, Started};
pub use simulate::{SimulationError, simulate, simulate_with};

#[cfg(test)]
mod tests;
