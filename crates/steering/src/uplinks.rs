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
}

/// How uplinks are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkSteering {
    /// Algorithm 1 of Michelogiannakis et al. 2019: assignments of greatest weight, one switch after
    /// the other.
    ///
    /// Of what the uplinks so far leave each pair: [`steer_uplinks`].
    #[default]
    Matching,
    /// So that the busiest uplink has least to carry.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn switch(ingress: &[u32], egress: &[u32]) -> UplinkSwitch {
        let pods = |pods: &[u32]| pods.iter().map(|&pod| GroupId(pod)).collect();
        UplinkSwitch {
            ingress: pods(ingress),
            egress: pods(egress),
        }
    }

    /// All orders of `0..count`.
    fn permutations(count: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return vec![vec![]];
        }
        let shorter = permutations(count - 1);
        let insert = |order: &Vec<usize>, place: usize| {
            let mut order = order.clone();
            order.insert(place, count - 1);
            order
        };
        (shorter.iter())
            .flat_map(|order| (0..count).map(move |place| insert(order, place)))
            .collect()
    }

    #[test]
    fn traffic_gets_links_by_its_share_of_those_it_has() {
        // Pod 0 sends 9 to pod 1 and 4 to pod 2: 9 > 4, then 9/2 > 4, then 4 > 9/3, 9/3 > 4/2.
        let traffic = PodTraffic::new(3, vec![0.0, 9.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let switches = vec![switch(&[0, 1, 2], &[0, 1, 2]); 4];
        let steered = steer_uplinks(&traffic.unwrap(), &switches).unwrap();
        let of_pod_0: Vec<u32> = steered.iter().map(|ports| ports[0]).collect();
        assert_eq!(of_pod_0, [1, 1, 2, 1]);
    }

    #[test]
    fn without_traffic_uplinks_stay_in_their_pods() {
        let traffic = PodTraffic::new(4, vec![0.0; 16]).unwrap();
        let switches = [
            switch(&[0, 1, 2, 3], &[2, 3, 1, 0]),
            switch(&[1, 1, 3], &[3, 1, 1]),
        ];
        let steered = steer_uplinks(&traffic, &switches).unwrap();
        assert_eq!(steered[0], [3, 2, 0, 1]);
        assert_eq!(steered[1][2], 0);
    }

    #[test]
    fn flaws_are_told() {
        let refused = PodTraffic::new(2, vec![1.0; 3]).unwrap_err().to_string();
        assert!(
            refused.contains("3 numbers are no matrix of 2 by 2"),
            "{refused}"
        );
        for amount in [-1.0, f64::NAN, f64::INFINITY] {
            let error = PodTraffic::new(2, vec![0.0, 0.0, amount, 0.0]).unwrap_err();
            assert!(error.to_string().starts_with("pod 1 sends"), "{error}");
        }
        let traffic = PodTraffic::new(2, vec![1.0; 4]).unwrap();
        for (flawed, words) in [
            (switch(&[0, 1], &[0]), "2 ingress and 1 egress ports"),
            (switch(&[], &[]), "0 ingress"),
            (
                switch(&[0], &[2]),
                "a port of pod 2, but the traffic is between 2 pods",
            ),
        ] {
            let error = steer_uplinks(&traffic, &[switch(&[0], &[1]), flawed]).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("switch 1") && error.contains(words),
                "{error}"
            );
        }
    }

    fn instances(most_ports: usize) -> impl Strategy<Value = (usize, Vec<f64>, Vec<UplinkSwitch>)> {
        (2usize..6).prop_flat_map(move |pods| {
            let amount = prop_oneof![Just(0.0), 0.0f64..1e12, (1u32..4).prop_map(f64::from)];
            let port = 0..pods as u32;
            let sides = (1..=most_ports).prop_flat_map(move |radix| {
                let side = proptest::collection::vec(port.clone(), radix);
                (side.clone(), side).prop_map(|(ingress, egress)| switch(&ingress, &egress))
            });
            (
                Just(pods),
                proptest::collection::vec(amount, pods * pods),
                proptest::collection::vec(sides, 1..5),
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// No port twice; and every matching is as heavy as the best of all orders, with the
        /// weights that the switches before it leave.
        #[test]
        fn every_switch_has_the_heaviest_matching((pods, amounts, switches) in instances(4)) {
            let traffic = PodTraffic::new(pods, amounts.clone()).unwrap();
            let steered = steer_uplinks(&traffic, &switches).unwrap();
            let most = amounts.iter().copied().fold(1e-300, f64::max);
            let mut links = vec![0u32; pods * pods];
            for (switch, matching) in switches.iter().zip(&steered) {
                let radix = switch.ingress.len();
                let pair = |from: usize, to: usize| {
                    switch.ingress[from].index() * pods + switch.egress[to].index()
                };
                let weight = |to: &mut dyn Iterator<Item = usize>| -> f64 {
                    to.enumerate()
                        .map(|(from, to)| {
                            let pair = pair(from, to);
                            amounts[pair] / most / (f64::from(links[pair]) + 1.0)
                        })
                        .sum()
                };
                let mut seen = matching.clone();
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(0..radix as u32));
                let found = weight(&mut matching.iter().map(|&port| port as usize));
                for order in permutations(radix) {
                    let other = weight(&mut order.iter().copied());
                    prop_assert!(other <= found + 1e-10, "{other} above {found}");
                }
                for (from, &to) in matching.iter().enumerate() {
                    links[pair(from, to as usize)] += 1;
                }
            }
        }
    }
}
