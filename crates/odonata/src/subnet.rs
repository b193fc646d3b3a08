//! InfiniBand subnets that a scenario names.

use std::path::Path;

use odonata_network::topology::read_ibnetdiscover;
use odonata_network::{Subnet, Topology};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};
use crate::spec::{Failures, Family, Scenario};
use crate::topology::build_topology;
use crate::topology::families::Interfaces;

/// Reads what is cabled in a subnet.
pub(crate) fn read_subnet(file: &Path, key: &str) -> Result<Subnet, SpecError> {
    let text = read_file(file, key)?;
    read_ibnetdiscover(&text).map_err(|error| in_file(file, key, &error))
}

/// A scenario's subnet as its manager has it, every port of an adapter by itself: a scenario of the
/// whole, of `left` what works, and the ports. `None` for networks of other families.
///
/// # Errors
/// As [`build_topology`].
pub(crate) fn subnet_by_ports(
    scenario: &Scenario,
    left: &Topology,
) -> Result<Option<(Scenario, Topology, Subnet)>, SpecError> {
    let Family::Ibnetdiscover(network) = &scenario.network.topology else {
        return Ok(None);
    };
    let mut whole = scenario.clone();
    let mut of_ports = network.clone();
    of_ports.interfaces = Interfaces::Nodes;
    let ports = of_ports.subnet()?;
    whole.network.topology = Family::Ibnetdiscover(of_ports);
    // Classes of links are of hosts as the scenario has them; failures are in `left`.
    whole.network.links.clear();
    whole.network.failures = Failures::default();
    let mut topology = build_topology(&whole)?;
    network.subnet()?.unplug(left, &mut topology);
    Ok(Some((whole, topology, ports)))
}
