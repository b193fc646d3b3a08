//! Bandwidth steering of uplinks in a fat tree: which pods' aggregation switches the uplinks
//! of top-of-rack switches lead to.

use odonata_declare::Named;
use odonata_units::GroupId;
use pathfinding::kuhn_munkres::kuhn_munkres;
use pathfinding::matrix::Matrix;
use serde::{Deserialize, Serialize};

use crate::uplink_counts::{birkhoff, min_max, realised};

/// Weights are scaled to this, so that sums of them over a switch are far from any limit.
const SCALE: f64 = (1u64 << 40) as f64;
/// Most ports on either side of a switch.
const MOST_PORTS: usize = 1 << 12;

/// An optical switch between uplinks of top-of-rack switches and aggregation switches of several
/// pods. Circuits are directed: only what goes up is steered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkSwitch {
    /// Pod of the top-of-rack switch behind each ingress port. Shape: radix.
    pub ingress: Vec<GroupId>,
    /// Pod of the aggregation switch behind each egress port. Shape: radix.
    pub egress: Vec<GroupId>,
    /// Ingress and egress ports between which the circuit has failed: they are joined only where no
    /// matching does without.
    pub failed: Vec<(u32, u32)>,
}

impl UplinkSwitch {
    /// Whether a circuit has failed.
    pub(crate) fn has_failed(&self, ingress: usize, egress: usize) -> bool {
        // Almost always there are none.
        self.failed.contains(&(ingress as u32, egress as u32))
    }

    /// What a circuit that has failed weighs: less than any matching without it.
    pub(crate) fn failed_weight(&self) -> i64 {
        -((self.ingress.len() as i64) << 42)
    }
}

/// How uplinks are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkSteering {
    /// Algorithm 1 of Michelogiannakis et al. 2019: assignments of greatest weight, one switch after
    /// the other.
    ///
    /// By what the uplinks so far leave each pair: [`steer_uplinks`].
    #[default]
    Matching,
    /// The busiest uplink has least to carry.
    ///
    /// As in Flexfly (Wen et al., SC 2016): numbers of uplinks first, then matchings.
    MinMax,
    /// By a Birkhoff–von Neumann decomposition of the traffic.
    ///
    /// By its weights; traffic is scaled to be doubly stochastic.
    Birkhoff,
}

/// What pods send to each other, in any unit; the diagonal is what goes from one top-of-rack
/// switch of a pod to another of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodTraffic {
    pods: usize,
    /// Shape: pods × pods, by sender.
    amounts: Vec<f64>,
}

/// Why uplinks cannot be steered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UplinkError {
    /// A matrix that is not square.
    #[error("{found} numbers are no matrix of {pods} by {pods} pods: give {pods} rows of as many")]
    NotSquare {
        /// Rows.
        pods: usize,
        /// Numbers in all.
        found: usize,
    },
    /// An amount of traffic that is none.
    #[error("pod {from} sends {found} to pod {to}: give a number of at least 0")]
    Amount {
        /// Sender.
        from: GroupId,
        /// Receiver.
        to: GroupId,
        /// What is given.
        found: f64,
    },
    /// A switch whose sides differ, or without ports, or with too many.
    #[error(
        "switch {switch} has {ingress} ingress and {egress} egress ports: as many of either, 1 to \
         {MOST_PORTS}, can be matched"
    )]
    Ports {
        /// Number of the switch.
        switch: usize,
        /// Its ingress ports.
        ingress: usize,
        /// Its egress ports.
        egress: usize,
    },
    /// A port of a pod that the traffic does not have.
    #[error("switch {switch} has a port of pod {pod}, but the traffic is between {pods} pods")]
    NoSuchPod {
        /// Number of the switch.
        switch: usize,
        /// The pod.
        pod: GroupId,
        /// Pods that there are.
        pods: usize,
    },
}

impl PodTraffic {
    /// Traffic between `pods` pods; `amounts` row by row, by sender.
    ///
    /// # Errors
    /// If they are not as many as pairs of pods, or not all finite numbers of at least 0.
    pub fn new(pods: usize, amounts: Vec<f64>) -> Result<Self, UplinkError> {
        if pods.checked_mul(pods) != Some(amounts.len()) {
            let found = amounts.len();
            return Err(UplinkError::NotSquare { pods, found });
        }
        let flaw = amounts.iter().position(|&t| !(t.is_finite() && t >= 0.0));
        if let Some(place) = flaw {
            return Err(UplinkError::Amount {
                from: GroupId((place / pods) as u32),
                to: GroupId((place % pods) as u32),
                found: amounts[place],
            });
        }
        Ok(Self { pods, amounts })
    }

    /// Number of pods.
    pub fn pods(&self) -> usize {
        self.pods
    }

    /// Row by row, by sender. Shape: pods × pods.
    pub fn amounts(&self) -> &[f64] {
        &self.amounts
    }
}

/// The egress port of every ingress port of every switch. Shape: switches × radix.
///
/// # Errors
/// As [`steer_uplinks`].
pub fn steer_uplinks_by(
    steering: UplinkSteering,
    traffic: &PodTraffic,
    switches: &[UplinkSwitch],
) -> Result<Vec<Vec<u32>>, UplinkError> {
    check(traffic, switches)?;
    let counts = match steering {
        UplinkSteering::Matching => return steer_uplinks(traffic, switches),
        UplinkSteering::MinMax => min_max(traffic, switches),
        UplinkSteering::Birkhoff => birkhoff(traffic, switches),
    };
    Ok(realised(traffic.pods, counts, switches))
}

fn check(traffic: &PodTraffic, switches: &[UplinkSwitch]) -> Result<(), UplinkError> {
    let pods = traffic.pods;
    for (number, switch) in switches.iter().enumerate() {
        let (ingress, egress) = (switch.ingress.len(), switch.egress.len());
        if ingress != egress || !(1..=MOST_PORTS).contains(&ingress) {
            return Err(UplinkError::Ports {
                switch: number,
                ingress,
                egress,
            });
        }
        let mut ports = switch.ingress.iter().chain(&switch.egress);
        if let Some(&pod) = ports.find(|pod| pod.index() >= pods) {
            return Err(UplinkError::NoSuchPod {
                switch: number,
                pod,
                pods,
            });
        }
    }
    Ok(())
}

/// The egress port of every ingress port of every switch, by algorithm 1 of Michelogiannakis,
/// Shen, Teh, Meng, Aivazi, Groves, Shalf, Glick, Ghobadi, Dennison and Bergman, "Bandwidth
/// steering in HPC using silicon nanophotonics", SC 2019, section 4.5: switch after switch, the
/// perfect matching of greatest weight, where an uplink of pod `i` to pod `j` weighs
/// `t_ij / (d_ij + 1)` and `d_ij` counts those that earlier switches have set. What the paper
/// leaves open: of equal weights links within a pod come first, as without steering, and the
/// diagonal `t_ii` counts like any other traffic. Shape: switches × radix.
///
/// # Errors
/// If a switch has unlike sides, or a port of an unknown pod.
pub fn steer_uplinks(
    traffic: &PodTraffic,
    switches: &[UplinkSwitch],
) -> Result<Vec<Vec<u32>>, UplinkError> {
    check(traffic, switches)?;
    let pods = traffic.pods;
    let most = traffic.amounts.iter().copied().fold(0.0, f64::max);
    let scale = if most > 0.0 { SCALE / most } else { 0.0 };
    let mut links = vec![0u32; pods * pods];
    let steer = |switch: &UplinkSwitch| {
        let pair = |(from, to): (usize, usize)| {
            switch.ingress[from].index() * pods + switch.egress[to].index()
        };
        let weight = |ports: (usize, usize)| {
            if switch.has_failed(ports.0, ports.1) {
                return switch.failed_weight();
            }
            let pair = pair(ports);
            let weight = traffic.amounts[pair] * scale / (f64::from(links[pair]) + 1.0);
            let within = switch.ingress[ports.0] == switch.egress[ports.1];
            // The lowest bit decides between equal ones.
            2 * weight as i64 + i64::from(within)
        };
        let radix = switch.ingress.len();
        let (_, matching) = kuhn_munkres(&Matrix::from_fn(radix, radix, weight));
        for ports in matching.iter().copied().enumerate() {
            links[pair(ports)] += 1;
        }
        matching.into_iter().map(|port| port as u32).collect()
    };
    Ok(switches.iter().map(steer).collect())
}

#[cfg(test)]
mod tests;
