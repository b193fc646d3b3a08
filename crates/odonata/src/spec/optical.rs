//! Optical switches of hierarchical networks.

use std::path::PathBuf;

use odonata_declare::Named;
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
}
