//! The normalised scenario: what TOML scenarios become once their units are
//! resolved. Quantities are integers with the unit in their name, paths are
//! absolute, and every key that has a default may be left out. Unknown keys are
//! errors.

mod congestion;
mod consistent;
pub(crate) mod declarations;
mod failures;
pub(crate) mod family;
mod forms;
mod job;
mod kinds;
pub(crate) mod link;
mod machine;
mod motif;
mod mpi;
pub(crate) mod network;
mod node;
pub(crate) mod optical;
mod pattern;
pub(crate) mod quantity;
pub(crate) mod reader;
pub(crate) mod router;
mod routing;
pub(crate) mod schedule;
mod simulation;
mod source;
mod storage;
pub(crate) mod study;
pub(crate) mod table;
pub(crate) mod written;

use serde::{Deserialize, Serialize};

use crate::error::SpecError;

pub use crate::topology::families::*;
pub(crate) use congestion::checked as checked_congestion_control;
pub use congestion::{CongestionControl, CongestionControlName};
pub use consistent::{JobEnd, check_jobs};
pub use failures::{DrawnFailures, Failures, InFlight, LinkFailure, Outage, Part};
pub(crate) use failures::{NodesOut, circuit};
pub use family::{DeclaredLink, FamilyDeclaration, Links, Tests};
pub use forms::{Fits, Form, Forms, forms};
pub use job::{
    GrapModeName, Job, Load, Mapping, MappingObjective, MappingStart, MappingTable, MessageClass,
    Placement, PlacementTable, RankMapPlacement, Refinement,
};
pub use kinds::{KindDeclaration, Kinds, PlugInDeclaration};
pub use link::{Link, LinkKind, UsualLink};
pub use machine::{
    Background, FreshBuffers, HostRange, InlineMessages, Machine, ManyRanks, MessageCosts,
    SharedNodes, SizedError, SizedRate, SizedSpread,
};
pub use motif::{
    AllToAll, Bisection, BisectionOrder, Broadcast, CheckpointBurst, Collective, ComputePhase,
    Exchange, Halo, HaloOrder, Iterations, MarkerBorder, Matrix, MatrixOrder, Motif, MotifKind,
    Phase, PhaseFile, Receives, RegionBorder, RepeatPhase, RepeatRank, ReplayOptions, Sends,
    TimeBorder, Trace, TraceBorder, Tree,
};
pub use mpi::{Collectives, Completion, HostTime, Mpi, NamedAlgorithms, Nccl, Noise, WithinNode};
pub use network::{
    AlgorithmName, ArrangementName, Choice, Decisions, FparRules, GroupWiringName, HopTime, Keys,
    MinimalLinks, Network, Paths, Queue, Routing, SpineArrangement, Strategy, Via, Weights,
};
pub use node::{InsideNetwork, InterfaceChoice, InterfaceWiring, Node, NodeNetwork};
pub use optical::{OpticalLayer, UplinkCircuits, UplinkSteering};
pub use pattern::{
    Between, BroadcastTraffic, GroupPeers, GroupShift, HotSpot, MatrixTraffic, Offered,
    OfferedKeys, Pattern, ProcessName, Shift, Stencil, Traffic, TrafficLoad, Turn,
};
pub use router::{
    Arbitration, CreditUse, InjectionOrder, Nic, OccupancyCount, Room, Router, SwitchingName,
    TrafficClass,
};
pub use schedule::{LargerName, OrderName, PolicyName, Reading, Schedule, Stretch};
pub use simulation::{Arrivals, Engine, Record, Simulation, Skip};
pub use source::{key_lines, toml_value};
pub use storage::{ServerBuffer, Storage};
pub use table::{CommandLine, KeyDeclaration, Kind, Rule, TableDeclaration, Test};

/// What is simulated: a network, the jobs on it, and what to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, for people.
    #[serde(default)]
    pub title: String,
    /// Seed of every random choice.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// What is wired, and how packets are routed on it.
    pub network: Network,
    /// How long and how finely to simulate.
    #[serde(default)]
    pub simulation: Simulation,
    /// How the ranks of jobs with a motif send and receive.
    #[serde(default)]
    pub mpi: Mpi,
    /// Which individual events get a row in the result tables.
    #[serde(default)]
    pub record: Record,
    /// Servers of a parallel file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Parallel applications, in the order in which they get their nodes.
    #[serde(default)]
    pub jobs: Vec<Job>,
}

fn default_seed() -> u64 {
    1
}

impl Scenario {
    /// A scenario of `network` without jobs and with defaults for the rest.
    pub fn new(network: Network) -> Self {
        Self {
            title: String::new(),
            seed: default_seed(),
            network,
            simulation: Simulation::default(),
            mpi: Mpi::default(),
            record: Record::default(),
            storage: None,
            jobs: Vec::new(),
        }
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// If the text is no JSON, a key is unknown or missing, or a value has the
    /// wrong type; the error's path names the key.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| at_its_path(&error))
    }

    /// Reads the same keys in TOML: quantities are integers with the unit in the key's
    /// name. Files with units in their values are for the Python package.
    ///
    /// # Errors
    /// If the text is no TOML, which names the line; otherwise as [`Self::from_json`].
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        Self::from_value(toml_value(text)?)
    }

    pub(crate) fn from_value(value: serde_json::Value) -> Result<Self, SpecError> {
        serde_path_to_error::deserialize(value).map_err(|error| at_its_path(&error))
    }

    /// The JSON form, defaults included.
    pub fn to_json(&self) -> String {
        // Plain structs with text keys always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The error, with the path of the key.
fn at_its_path(error: &serde_path_to_error::Error<serde_json::Error>) -> SpecError {
    let path = error.path().to_string();
    let path = if path == "." || path == "?" {
        String::new()
    } else {
        path
    };
    SpecError::new(path, error.inner().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_to_all, traffic, with_jobs};

    #[test]
    fn json_reads_back_equal() {
        let scenario = with_jobs([
            Job::new("a", 4, all_to_all()),
            Job {
                placement: Placement::Explicit { nodes: vec![9, 8] },
                mapping: Mapping::Explicit {
                    node_of_rank: vec![1, 0],
                },
                ..Job::new(
                    "b",
                    2,
                    traffic(
                        Pattern::Adversarial(GroupShift { k: -1 }),
                        Offered::IntervalPs(5),
                    ),
                )
            },
        ]);
        assert_eq!(Scenario::from_json(&scenario.to_json()).unwrap(), scenario);
    }

    #[test]
    fn toml_holds_what_json_holds() {
        let toml = r#"
            title = "Same"
            [network.topology]
            family = "dragonfly"
            p = 2
            a = 4
            h = 2
            [[jobs]]
            name = "a"
            nodes = 4
            load = { motif = { kind = { name = "all-to-all", message_bytes = 1_000 } } }
        "#;
        let json = r#"{"title": "Same", "network": {"topology": {"family": "dragonfly", "p": 2,
            "a": 4, "h": 2}}, "jobs": [{"name": "a", "nodes": 4, "load": {"motif": {"kind":
            {"name": "all-to-all", "message_bytes": 1000}}}}]}"#;
        let scenario = Scenario::from_toml(toml).unwrap();
        assert_eq!(scenario, Scenario::from_json(json).unwrap());
        let error = |text: &str| Scenario::from_toml(text).unwrap_err();
        assert!(error("title = ").message.contains("line 1"));
        assert_eq!(
            error(&toml.replace("= 4\n            h", "= \"x\"\n            h")).path,
            "network.topology"
        );
        assert_eq!(error(&toml.replace("title", "tilte")).path, "tilte");
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let text = r#"{"network": {"topology": {"family": "dragonfly", "p": 2, "a": 4, "h": 2}}}"#;
        let scenario = Scenario::from_json(text).unwrap();
        assert_eq!(scenario.simulation, Simulation::default());
        assert_eq!(scenario.network.routing.algorithm(), AlgorithmName::Minimal);
        let Family::Dragonfly(dragonfly) = &scenario.network.topology else {
            panic!("a dragonfly");
        };
        assert_eq!((dragonfly.g, dragonfly.row_links), (None, 1));
    }

    #[test]
    fn flaws_of_the_json_name_their_place() {
        let error = |text| Scenario::from_json(text).unwrap_err();
        let dragonfly = r#""topology": {"family": "dragonfly", "p": 2, "a": 4, "h": 2}"#;
        let link = format!(r#"{{"network": {{{dragonfly}, "links": {{"local": {{}}}}}}}}"#);
        assert_eq!(error(&link).path, "network.links.local");
        let unknown = format!(r#"{{"network": {{{dragonfly}}}, "sede": 3}}"#);
        assert_eq!(error(&unknown).path, "sede");
        assert!(error(&unknown).message.contains("`seed`"));
        let family = r#"{"network": {"topology": {"family": "maze"}}}"#;
        assert!(error(family).message.contains("`dragonfly`"));
        assert_eq!(error("{").path, "");
    }
}
