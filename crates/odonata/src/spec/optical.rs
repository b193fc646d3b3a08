//! Optical switches of hierarchical networks.

use std::path::PathBuf;

use odonata_declare::Named;
pub use odonata_steering::UplinkSteering;
use serde::{Deserialize, Serialize};

/// Optical switches between the leaves of a fat tree and the switches above them
/// (Michelogiannakis et al. 2019, section 4.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpticalLayer {
    /// Ports on either side of a switch.
    pub switch_ports: u32,
    /// Uplinks of every pod on each switch.
    #[serde(default = "one")]
    pub links_per_switch: u32,
    /// Where circuits come from.
    #[serde(default)]
    pub circuits: UplinkCircuits,
    /// With [`UplinkCircuits::File`]: the list of circuits.
    #[serde(default)]
    pub circuits_file: Option<PathBuf>,
    /// With [`UplinkCircuits::Matrix`]: what pods send to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_file: Option<PathBuf>,
    /// How circuits are chosen for traffic.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub steering: UplinkSteering,
    /// How often circuits are looked at that change during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ps: Option<u64>,
    /// How long switches take once circuits are empty; `None`: 20 µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconfiguration_ps: Option<u64>,
}

fn is_usual(steering: &UplinkSteering) -> bool {
    *steering == UplinkSteering::default()
}

fn one() -> u32 {
    1
}

impl OpticalLayer {
    /// Switches of `switch_ports` ports with one uplink of every pod each.
    pub fn new(switch_ports: u32, circuits: UplinkCircuits) -> Self {
        Self {
            switch_ports,
            links_per_switch: 1,
            circuits,
            circuits_file: None,
            matrix_file: None,
            steering: UplinkSteering::default(),
            period_ps: None,
            reconfiguration_ps: None,
        }
    }
}

/// Where the circuits of uplinks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkCircuits {
    /// Every uplink stays in its pod.
    #[default]
    Unsteered,
    /// By what the jobs send from pod to pod.
    Jobs,
    /// A list.
    File,
    /// By a matrix of what pods send to each other, from a file.
    Matrix,
    /// By what the jobs that run send from pod to pod, anew as jobs begin and end.
    RunningJobs,
    /// By what has been sent from pod to pod since the last time, every `period`.
    Traffic,
}

impl UplinkCircuits {
    /// Whether circuits change during a run.
    pub fn change(self) -> bool {
        matches!(self, Self::RunningJobs | Self::Traffic)
    }
}
