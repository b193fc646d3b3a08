//! Optical switches of hierarchical networks.

use std::path::PathBuf;

use odonata_declare::Named;
pub use odonata_steering::UplinkSteering;
use serde::{Deserialize, Serialize};

use super::table::{is_default, table};

table! {
    /// Optical switches between the leaves of a fat tree and the switches above them.
    ///
    /// They decide to which pod's switches an uplink of a leaf leads; links down stay
    /// (Michelogiannakis et al. 2019, section 4.3). A pod is here what lies below one switch of
    /// level 2.
    pub struct OpticalLayer {
        /// Ports on each side of an optical switch: ingress ports, to which the uplinks of leaves
        /// come, and egress ports, which lead to switches of level 2.
        switch_ports: u32 = 16 => Notes::COUNT,
        /// Uplinks of every pod on each optical switch; must divide the number of uplinks of a
        /// pod's leaves. A switch joins switch_ports / links_per_switch neighbouring pods: with 1,
        /// as many pods as it has ports, each by one uplink; with half of `switch_ports`, two pods,
        /// each by many uplinks.
        links_per_switch: u32 = 1 => Notes::COUNT,
        /// Which circuits are set. For the whole run: every uplink to its own pod (`unsteered`),
        /// chosen for what all jobs send from pod to pod (`jobs`), chosen for a given matrix of
        /// that traffic (`matrix`), or those of a list (`file`). Changing during the run: whenever
        /// jobs begin or end, for what the running jobs send (`running-jobs`), or every `period`,
        /// for what has been sent since the last time (`traffic`).
        circuits: UplinkCircuits = UplinkCircuits::default(),
        /// With `circuits = "file"`: the list, relative to the scenario, with `switch ingress
        /// egress` on every line. Ports that no line names keep their unsteered circuit.
        circuits_file: Option<PathBuf> = None,
        /// With `circuits = "matrix"`: file, relative to the scenario, of what pods send to each
        /// other, in any unit: one line per sending pod, from pod 0, with one number per receiving
        /// pod, separated by spaces or commas.
        #[serde(skip_serializing_if = "Option::is_none")]
        matrix_file: Option<PathBuf> = None,
        /// The algorithm that chooses circuits for traffic.
        #[serde(skip_serializing_if = "is_default")]
        steering: UplinkSteering = UplinkSteering::default(),
        /// With `traffic`: how often circuits are set. With `running-jobs`: how often the steering
        /// checks whether jobs have ended (it knows when they start). Default: 10 us.
        #[serde(skip_serializing_if = "Option::is_none")]
        period_ps: Option<u64> = None => Notes::POSITIVE,
        /// How long a change takes, from the moment when nothing is left in the circuits that
        /// change until the new ones pass light and routing uses them: 20 us for an optical switch,
        /// 204 ms including the polling of ports by electronic switches (Michelogiannakis et al.
        /// 2019, section 5). Default: 20 us.
        #[serde(skip_serializing_if = "Option::is_none")]
        reconfiguration_ps: Option<u64> = None => Notes::DELAY,
        /// With `traffic`: how much more than the circuits that are set new ones must bring for what
        /// was sent, or they stay. What circuits bring is the sum that the weights of algorithm 1 add
        /// up to. Default: circuits are set every `period`, whatever they bring.
        #[serde(skip_serializing_if = "Option::is_none")]
        hysteresis: Option<f64> = None => Notes { quantity: Some("share"), least: Some(0.0), most: Some(1e6), ..Notes::NONE },
        /// With `traffic`: the time within which new circuits must bring that, counting
        /// `reconfiguration`, in which only those that stay carry anything. Default: the change
        /// counts as free.
        #[serde(skip_serializing_if = "Option::is_none")]
        horizon_ps: Option<u64> = None => Notes::POSITIVE,
    }
    refuse "circuits_file" when [("circuits", Test::Is("file")), ("circuits_file", Test::Absent)] =>
        "a value, as circuits = \"file\"";
    refuse "circuits_file" when [("circuits", Test::IsNot("file")), ("circuits_file", Test::Given)] =>
        "only with circuits = \"file\"";
    refuse "matrix_file" when [("circuits", Test::Is("matrix")), ("matrix_file", Test::Absent)] =>
        "a value, as circuits = \"matrix\"";
    refuse "matrix_file" when [("circuits", Test::IsNot("matrix")), ("matrix_file", Test::Given)] =>
        "only with circuits = \"matrix\"";
    refuse "hysteresis" when [("circuits", Test::IsNot("traffic")), ("hysteresis", Test::Given)] =>
        "only with circuits = \"traffic\"";
    refuse "horizon" when [("circuits", Test::IsNot("traffic")), ("horizon", Test::Given)] =>
        "only with circuits = \"traffic\"";
}

impl OpticalLayer {
    /// Switches of `switch_ports` ports with one uplink of every pod each.
    pub fn new(switch_ports: u32, circuits: UplinkCircuits) -> Self {
        Self {
            switch_ports,
            circuits,
            ..Self::default()
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

    /// Whether they are set for traffic, and not as a list says.
    pub fn are_decided(self) -> bool {
        !matches!(self, Self::Unsteered | Self::File)
    }
}
