//! What slows the jobs of a schedule down or makes them faster: networks behind
//! the scheduler's trait, and what jobs do on them.

mod flow;
mod footprint;
mod jobs;
mod table;

use odonata_scheduler::batch::{AsLogged, Network};
use odonata_scheduler::log::JobLog;
use serde::Deserialize;

use crate::error::{Error, SpecError};
use crate::spec;
use flow::FlowNetwork;
use jobs::{Communication, communications};
pub use jobs::{MixSpec, ShareSpec};
pub use table::SpeedUpSpec;
use table::Table;

/// The network of a schedule, and what jobs do on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// How much of their time jobs communicate.
    pub communication_share: ShareSpec,
    /// What traffic jobs of which size have; who is in no class has none.
    pub mix: Vec<MixSpec>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// What it does with them.
    pub level: LevelSpec,
}

/// How closely a network is looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelSpec {
    /// Speed-ups by traffic and size, whoever else runs.
    Table {
        /// One for every traffic of the mix.
        speed_ups: Vec<SpeedUpSpec>,
    },
    /// Running jobs share the links of a machine.
    Flow(Box<FlowSpec>),
}

/// A machine whose links running jobs share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// What is wired, and the routing; the schedule's nodes are its first ones.
    pub machine: spec::Network,
    /// Part of its link's rate that a node sends at while it communicates.
    pub injection: f64,
    /// Which free nodes a job gets, where the scheduler only counts them.
    pub placement: spec::Placement,
}

/// A network with what its jobs do, one per job of the log.
pub(super) struct Planned {
    pub network: Box<dyn Network>,
    pub jobs: Vec<Communication>,
    /// Names of traffics.
    pub traffics: Vec<String>,
}

impl Planned {
    /// Jobs run as long as the log says.
    pub(super) fn none() -> Self {
        Self {
            network: Box::new(AsLogged),
            jobs: Vec::new(),
            traffics: Vec::new(),
        }
    }

    /// Draws what the jobs of `log` do on a network.
    pub(super) fn new(log: &JobLog, nodes: u32, spec: &NetworkSpec) -> Result<Self, Error> {
        let (jobs, traffics) = communications(log, spec)?;
        let network: Box<dyn Network> = match &spec.level {
            LevelSpec::Table { speed_ups } => {
                Box::new(Table::new(log, &jobs, &traffics, speed_ups)?)
            }
            LevelSpec::Flow(flow) => {
                let seed = spec.seed;
                Box::new(FlowNetwork::new(nodes, &jobs, &traffics, seed, flow)?)
            }
        };
        Ok(Self {
            network,
            jobs,
            traffics,
        })
    }
}

/// A key of the network cannot be as it is.
fn wrong(key: &str, found: impl std::fmt::Display, allowed: impl Into<String>) -> Error {
    Error::Spec(SpecError::value(
        format!("network.{key}"),
        found,
        allowed.into(),
    ))
}
