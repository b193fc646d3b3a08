//! The optical switches of a scenario's network, as parts to be bought.

use super::families::reconfigurable;
use super::optics::optical_layer;
use super::uplinks::{self, ChangingCircuits};
use crate::error::SpecError;
use crate::spec::{Family, Scenario};

/// Optical switches of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpticalParts {
    /// How many there are.
    pub switches: u64,
    /// Ports of each: on either side, where circuits lead one way; else all.
    pub ports: u32,
    /// Ports that fibres are plugged into, of all switches together, counted likewise.
    pub connected: u64,
    /// Whether circuits lead one way.
    pub one_way: bool,
}

/// What sets the circuits of a scenario's network anew during a run, if they change.
///
/// # Errors
/// If the network cannot be built, or what jobs send cannot be found.
pub(crate) fn changing_circuits(
    scenario: &Scenario,
) -> Result<Option<ChangingCircuits<'_>>, SpecError> {
    match &scenario.network.topology {
        Family::FatTree(tree) => uplinks::changing_circuits(tree, scenario),
        _ => Ok(None),
    }
}

/// The optical switches of a scenario's network; `None` if it has none.
///
/// # Errors
/// If its parameters make no network.
pub fn optical_parts(scenario: &Scenario) -> Result<Option<OpticalParts>, SpecError> {
    match &scenario.network.topology {
        Family::FatTree(tree) => {
            let layer = optical_layer(tree, scenario)?;
            Ok(layer.map(|(layer, _)| OpticalParts {
                switches: layer.switches.len() as u64,
                ports: layer.switch_ports,
                connected: layer.switches.iter().map(|s| s.ingress.len() as u64).sum(),
                one_way: true,
            }))
        }
        Family::ReconfigurableDragonfly(dragonfly) => {
            let switches = reconfigurable::structure(dragonfly)?.switches;
            let connected = switches.groups() * switches.per_switch();
            Ok(Some(OpticalParts {
                switches: u64::from(switches.switches()),
                ports: dragonfly.switch_ports.unwrap_or(connected),
                connected: u64::from(switches.switches()) * u64::from(connected),
                one_way: false,
            }))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FatTree, Network, OpticalLayer, ReconfigurableDragonfly, UplinkCircuits};

    #[test]
    fn switches_are_counted_by_their_links() {
        let parts = |family| optical_parts(&Scenario::new(Network::new(family))).unwrap();
        let tree = |optical| {
            Family::FatTree(FatTree {
                down: Some(vec![4, 4, 4]),
                up: Some(vec![4, 4]),
                optical,
                ..FatTree::default()
            })
        };
        assert_eq!(parts(tree(None)), None);
        // 4 pods of 16 uplinks; two blocks of two pods.
        let optical = OpticalLayer::new(2, UplinkCircuits::Unsteered);
        let expected = OpticalParts {
            switches: 32,
            ports: 2,
            connected: 64,
            one_way: true,
        };
        assert_eq!(parts(tree(Some(optical))), Some(expected));
        // 8 links of each of 6 groups.
        let dragonfly = ReconfigurableDragonfly::new(2, 4, 2, 6);
        let expected = OpticalParts {
            switches: 8,
            ports: 6,
            connected: 48,
            one_way: false,
        };
        let found = parts(Family::ReconfigurableDragonfly(dragonfly));
        assert_eq!(found, Some(expected));
    }
}
