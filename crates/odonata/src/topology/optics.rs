//! Where the optical switches of a scenario's network stand, whatever circuits they set.

use odonata_network::Topology;
use odonata_network::topology::{Circuits, FatTreeShape, OpticalLayer, OpticalLayerError, Optics};
use odonata_units::PortId;

use super::classes_of;
use super::families::fat_tree::{fat_tree_error, specification};
use super::families::reconfigurable;
use crate::error::SpecError;
use crate::spec::{self, CircuitSource, Family, FatTree, Scenario};

/// Where the optical switches of a scenario's network stand, for what fails there; `None` if it has
/// none.
///
/// # Errors
/// If its parameters make no network.
pub(crate) fn optics(scenario: &Scenario) -> Result<Option<Optics>, SpecError> {
    match &scenario.network.topology {
        Family::FatTree(tree) => {
            let side = |ports: &[(PortId, u32)]| ports.iter().map(|&(port, _)| port).collect();
            let layer = optical_layer(tree, scenario)?;
            Ok(layer.map(|(layer, laid)| Optics {
                ingress: layer.switches.iter().map(|s| side(&s.ingress)).collect(),
                egress: layer.switches.iter().map(|s| side(&s.egress)).collect(),
                keeps_parts: false,
                laid,
            }))
        }
        Family::ReconfigurableDragonfly(dragonfly) => {
            let structure = reconfigurable::structure(dragonfly)?;
            let links = reconfigurable::links(&structure, &classes_of(scenario))?;
            let dark = Circuits::dark(structure.switches);
            let laid = reconfigurable::wired(dragonfly, structure.clone(), links, dark)?;
            let ports = reconfigurable::uplinks(&structure, &laid);
            Ok(Some(Optics {
                ingress: ports.clone(),
                egress: ports,
                keeps_parts: dragonfly.circuits != CircuitSource::Uniform,
                laid,
            }))
        }
        _ => Ok(None),
    }
}

/// The optical switches of a fat tree, if it has any, and the tree without circuits.
///
/// # Errors
/// If its numbers do not fit together, or the switches do not fit the tree.
pub(crate) fn optical_layer(
    tree: &FatTree,
    scenario: &Scenario,
) -> Result<Option<(OpticalLayer, Topology)>, SpecError> {
    let laid_out = laid_out(tree, scenario)?;
    Ok(laid_out.map(|(layer, _, built)| (layer, built)))
}

/// The same, and the numbers of the tree.
pub(super) fn laid_out(
    tree: &FatTree,
    scenario: &Scenario,
) -> Result<Option<(OpticalLayer, FatTreeShape, Topology)>, SpecError> {
    let Some(optical) = &tree.optical else {
        return Ok(None);
    };
    let spec = specification(tree, &classes_of(scenario))?;
    let built = spec.build();
    let built = built.map_err(|error| fat_tree_error(error, tree))?;
    let layer = layer(optical, &spec.shape, &built)?;
    Ok(Some((layer, spec.shape, built)))
}

/// The optical switches of `tree`.
///
/// # Errors
/// If they do not fit it.
pub(super) fn layer(
    layer: &spec::OpticalLayer,
    shape: &FatTreeShape,
    tree: &Topology,
) -> Result<OpticalLayer, SpecError> {
    let (ports, links) = (layer.switch_ports, layer.links_per_switch);
    OpticalLayer::new(shape, tree, ports, links).map_err(|error| layer_error(&error))
}

/// What is wrong with optical switches, at its key.
pub(super) fn layer_error(error: &OpticalLayerError) -> SpecError {
    let key = match error {
        OpticalLayerError::Levels { .. } => {
            return SpecError::new("network.optical", error.to_string());
        }
        OpticalLayerError::LinksPerSwitch { .. } => "links_per_switch",
        OpticalLayerError::TooFewPorts { .. } => "switch_ports",
        OpticalLayerError::NoMatching { .. } => "circuits_file",
        OpticalLayerError::Switches { .. } | OpticalLayerError::Topology(_) => "circuits",
    };
    SpecError::new(format!("network.optical.{key}"), error.to_string())
}
