//! The steering room: which circuits the optical switches between the groups of a
//! [reconfigurable dragonfly](odonata_network::topology::optical) set for a job, and
//! what it costs to set them. Knows nothing of packets or queues.
//!
//! [`circuits_for`] is the decision, a pure function of the switches, a job's groups
//! and, if circuits are to match it, what the groups send to each other. [`Steering`]
//! keeps the configuration of a machine and checks, at every change, that
//!
//! - no circuit of another job's groups changes (principle 1 of Feng et al., ICS 2023,
//!   section 3: reconfiguration should not interfere with running jobs), and
//! - the job's groups are connected by circuits of their own (principle 2:
//!   connectivity and performance should be guaranteed for each job).
//!
//! In fat trees, [`steer_uplinks`] decides where the uplinks of top-of-rack switches lead. Whether
//! that is worth a change, for traffic that is observed, [`Hysteresis`] says.
//!
//! Which groups a job owns is decided elsewhere (`odonata_placement::grap`).

mod birkhoff;
mod change;
mod demand;
mod error;
mod factors;
mod hysteresis;
mod matching;
mod min_cost;
mod min_max;
mod principles;
mod state;
mod strategy;
mod table;
#[cfg(test)]
mod tests;
mod uniform;
mod uplink_counts;
mod uplinks;

pub use change::{Change, SwitchTiming};
pub use demand::Demand;
pub use error::SteeringError;
pub use hysteresis::{Hysteresis, circuits_value};
pub use principles::{Violation, check_connected, check_untouched};
pub use state::Steering;
pub use strategy::{Strategy, circuits_for};
pub use uplinks::{
    PodTraffic, UplinkError, UplinkSteering, UplinkSwitch, steer_uplinks, steer_uplinks_by,
};
