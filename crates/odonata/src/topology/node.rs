//! Nodes with an inside on a network that is built.

use odonata_network::topology::{InsideNetwork, NodeInsideError, NodeInsideSpec};
use odonata_network::{LinkKind, Topology};

use super::classes::{Classes, topology_error};
use crate::error::SpecError;
use crate::spec::link::Link;
use crate::spec::{Node, NodeNetwork, Scenario};

/// Name of the class of links inside nodes.
const INSIDE: &str = "inside";

/// The network whose nodes have the inside that a scenario gives them.
///
/// # Errors
/// If the numbers of `[node]` fit neither each other nor the network, or other keys mean nothing on
/// such nodes; the path names the key.
pub(super) fn furnished(
    plane: Topology,
    node: &Node,
    scenario: &Scenario,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    check(scenario)?;
    let network = node.network.as_ref().map(|network| {
        let link = Link {
            bandwidth_bytes_per_s: network.bandwidth_bytes_per_s,
            latency_ps: network.latency_ps,
            buffer_bytes: None,
            kind: None,
        };
        let class = classes.given(INSIDE, &link, LinkKind::Local);
        let class = class.map_err(|error| {
            let key = error.path.rsplit('.').next().unwrap_or_default();
            SpecError::new(format!("node.network.{key}"), error.message)
        });
        Ok::<_, SpecError>((network.kind, class?))
    });
    let (links, ranks_per_switch) = match &node.network {
        None => (Vec::new(), None),
        Some(network) => (links_of(network)?, network.ranks_per_switch),
    };
    let spec = NodeInsideSpec {
        links,
        ranks_per_switch,
        ranks: node.ranks,
        interfaces: node.interfaces,
        planes: node.planes,
        wiring: node.wiring,
        choice: node.interface,
        network: network.transpose()?,
    };
    spec.build(plane).map_err(|error| match error {
        NodeInsideError::Topology(error) => topology_error(error, ""),
        error => {
            let key = error
                .key()
                .map_or("network".into(), |key| format!("node.{key}"));
            SpecError::new(key, error.to_string())
        }
    })
}

/// Pairs of ranks with the number of their links, such as `0-1:4`; keys of another kind are refused.
fn links_of(network: &NodeNetwork) -> Result<Vec<(u32, u32, u32)>, SpecError> {
    let kind = network.kind;
    let only = |key: &str, with: &str| {
        let allowed = format!(
            "nothing with kind = \"{}\"; it is for \"{with}\"",
            kind.name()
        );
        Err(SpecError::value(
            format!("node.network.{key}"),
            "a value",
            allowed,
        ))
    };
    if network.ranks_per_switch.is_some() && kind != InsideNetwork::Pcie {
        return only("ranks_per_switch", "pcie");
    }
    if network.links.is_some() && kind != InsideNetwork::Xgmi {
        return only("links", "xgmi");
    }
    let read = |text: &String| {
        let (pair, count) = text.split_once(':').unwrap_or((text, "1"));
        let (one, other) = pair.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u32>().ok();
        Some((number(one)?, number(other)?, number(count)?))
    };
    let listed = network.links.iter().flatten();
    listed
        .map(|text| {
            let allowed = "two ranks and how many links they have, such as \"0-1:4\"";
            let path = "node.network.links";
            read(text).ok_or_else(|| SpecError::value(path, format!("\"{text}\""), allowed))
        })
        .collect()
}

/// Refuses what means nothing on nodes with an inside, or is not known of them.
fn check(scenario: &Scenario) -> Result<(), SpecError> {
    let network = &scenario.network;
    if super::has_circuits(&network.topology) {
        let message = "nodes with an inside, [node], are not known of networks with optical switches: take \
                       another network, or remove [node]";
        return Err(SpecError::new("network", message));
    }
    if scenario.mpi.within_node.is_some() {
        let message = "ranks of nodes with an inside, [node], send over the node's network: give its \
                       bandwidth and latency in node.network, and remove this";
        return Err(SpecError::new("mpi.within_node", message));
    }
    if network.nic.rank_bandwidth_bytes_per_s.is_some() {
        let message = "ranks of nodes with an inside, [node], have the interfaces that node.interface says: \
                       remove this";
        return Err(SpecError::new("network.nic.rank_bandwidth", message));
    }
    Ok(())
}
