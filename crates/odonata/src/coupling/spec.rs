//! What is said of the network of a schedule, and of what jobs do on it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{Error, SpecError, refused};
use crate::spec;
pub use crate::spec::Stretch;

/// The network of a schedule, and what jobs do on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// How much of their time jobs communicate.
    pub communication_share: ShareSpec,
    /// What traffic jobs of which size have; who is in no class has none. `None`: the
    /// traffic of a job follows from its mode.
    pub mix: Option<Vec<MixSpec>>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// What it does with them.
    pub level: LevelSpec,
    /// The applications whose names the mix has; without any it has those of traffics.
    #[serde(default)]
    pub applications: Option<Box<ApplicationsSpec>>,
}

/// What jobs of a scenario do in a schedule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationsSpec {
    /// The `[[job]]`s. Their `placement` counts where `placed` says so.
    pub jobs: Vec<spec::Job>,
    /// By `[[job]]`: whether it is placed by its own `placement`, not by the machine's.
    #[serde(default)]
    pub placed: Vec<bool>,
    /// How finely their messages are simulated.
    pub simulation: spec::Simulation,
    /// How their ranks send and receive.
    pub mpi: spec::Mpi,
    /// Seed of what they draw.
    pub seed: u64,
    /// Whether they are the log themselves, each one of its jobs.
    #[serde(default)]
    pub queue: bool,
    /// Iterations that a job goes through at most in a window, if it lasts longer than the level's
    /// shortest; `None`: 8.
    #[serde(default)]
    pub window_iterations: Option<NonZeroU32>,
    /// File that keeps windows, so that a schedule that was interrupted goes on from there.
    #[serde(default)]
    pub keep: Option<PathBuf>,
}

impl NetworkSpec {
    /// Reads it from JSON.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| refused(format!("network: {error}")))
    }

    /// What is wired where jobs share links.
    pub(crate) fn wired(&self) -> Option<&spec::Network> {
        match &self.level {
            LevelSpec::Table { .. } => None,
            LevelSpec::Flow(machine) => Some(&machine.machine),
            LevelSpec::Packet(packet) => Some(&packet.machine.machine),
        }
    }

    /// The same without the nodes that are out of service for a part of the schedule, which are the
    /// scheduler's matter where nothing else of the network changes.
    pub(crate) fn without_outages(&self) -> Self {
        let mut left = self.clone();
        let wired = match &mut left.level {
            LevelSpec::Table { .. } => return left,
            LevelSpec::Flow(machine) => &mut machine.machine,
            LevelSpec::Packet(packet) => &mut packet.machine.machine,
        };
        if !wired.failures.change_network() {
            wired.failures = wired.failures.without_outages();
        }
        left
    }

    /// Whether jobs share links, so that it matters on which nodes they are.
    pub(crate) fn shares_links(&self) -> bool {
        !matches!(self.level, LevelSpec::Table { .. })
    }
}

/// How closely a network is looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelSpec {
    /// Speed-ups by traffic and size, without regard to other jobs.
    Table {
        /// One for every traffic of the mix.
        speed_ups: Vec<SpeedUpSpec>,
    },
    /// Running jobs share the links of a machine as flows.
    Flow(Box<MachineSpec>),
    /// The same packet by packet.
    Packet(Box<PacketSpec>),
}

/// A machine whose links running jobs share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// What is wired, and the routing.
    pub machine: spec::Network,
    /// Part of its link's rate that a node sends at while it communicates.
    pub injection: f64,
    /// Which free nodes a job gets, where the scheduler only counts them.
    pub placement: spec::Placement,
    /// From the command until light passes a new circuit.
    pub switch_delay_ps: u64,
}

/// A machine whose network running jobs share packet by packet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSpec {
    /// The machine.
    pub machine: MachineSpec,
    /// Largest packet.
    pub packet_bytes: u64,
    /// Size of a message.
    pub message_bytes: u64,
    /// Simulated time before anything counts, after jobs have begun or ended.
    pub warmup_ps: u64,
    /// Simulated time in which it counts.
    pub window_ps: u64,
    /// What stretches a job's communication.
    pub stretch: Stretch,
}

/// How much of their run time jobs communicate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareSpec {
    /// What the log says; where it says nothing the mean of the jobs of that size
    /// class (powers of two) of which it does, or of all.
    Log,
    /// All jobs the same.
    Fixed(f64),
    /// Uniformly distributed between these.
    Between(f64, f64),
}

/// The traffic of jobs of some size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// Fewest nodes.
    pub from: u32,
    /// Most nodes.
    pub to: u32,
    /// Jobs of this user only.
    #[serde(default)]
    pub user: Option<String>,
    /// Jobs that the log calls by this name only.
    #[serde(default)]
    pub name: Option<String>,
    /// Traffics and their shares of the jobs, in any unit.
    pub shares: Vec<(String, f64)>,
}

/// What the communication of a traffic gains, by the job's size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedUpSpec {
    /// The traffic.
    pub traffic: String,
    /// Sizes in nodes, ascending. In between, the gain is linear in the logarithm
    /// of the size; beyond, it is that of the nearest.
    pub nodes: Vec<u32>,
    /// Part of the communication's time that is saved at each size, below 1;
    /// negative where it takes longer.
    pub speed_up: Vec<f64>,
}

/// A key of the network cannot be as it is.
pub(super) fn wrong(key: &str, found: impl std::fmt::Display, allowed: impl Into<String>) -> Error {
    Error::Spec(SpecError::value(
        format!("network.{key}"),
        found,
        allowed.into(),
    ))
}
