//! A topology as files for `ibsim` and OpenSM.
//!
//! Router *r* is switch `S-r`, node *n* host `H-n` with one port. GUIDs are those of the subnet that the
//! topology is of, if it is of one; of any other they are [`switch_guid`], [`host_guid`] and
//! [`port_guid`], as OpenSM takes GUIDs of host ports.

use std::collections::HashSet;
use std::fmt::Write as _;

use odonata_units::{NodeId, RouterId};

use crate::topology::{Peer, Subnet, Topology};

/// A GUID that a file of OpenSM or `ibsim` needs and that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuidError {
    /// The subnet's file does not have it.
    #[error(
        "the subnet's file has no GUID of {what} {name}: take the output of ibnetdiscover, which has them"
    )]
    Missing {
        /// Switch or port of an adapter.
        what: &'static str,
        /// What it is called.
        name: String,
    },
    /// Two nodes are ports of one adapter, each of which would be a host.
    #[error(
        "{name} is an adapter with several ports that are nodes, and a net file has each node as a host of its \
         own: ibsim reads the subnet's file itself"
    )]
    OneAdapter {
        /// What it is called.
        name: String,
    },
}

/// GUIDs of the switches of all routers.
fn switch_guids(topology: &Topology, subnet: Option<&Subnet>) -> Result<Vec<u64>, GuidError> {
    let Some(subnet) = subnet else {
        let routers = (0..topology.routers()).map(RouterId::from_index);
        return Ok(routers.map(switch_guid).collect());
    };
    let guid = |(guid, name): (u64, &String)| match guid {
        0 => Err(GuidError::Missing {
            what: "switch",
            name: name.clone(),
        }),
        guid => Ok(guid),
    };
    let switches = subnet.switches.iter();
    switches
        .map(|switch| guid((switch.guid, &switch.name)))
        .collect()
}

/// GUIDs of the adapters of all nodes. Net files, which name adapters by numbers, have none.
fn host_guids(topology: &Topology, subnet: Option<&Subnet>) -> Result<Vec<u64>, GuidError> {
    let told = |node: NodeId| subnet.map_or(0, |subnet| subnet.hosts[node.index()].guid);
    let nodes = (0..topology.nodes()).map(NodeId::from_index);
    let mut known = HashSet::new();
    nodes
        .map(|node| match (told(node), subnet) {
            (0, _) => Ok(host_guid(node)),
            (guid, Some(subnet)) if !known.insert(guid) => Err(GuidError::OneAdapter {
                name: subnet.hosts[node.index()].name.clone(),
            }),
            (guid, _) => Ok(guid),
        })
        .collect()
}

/// GUID of the switch of a router of a network that is of no subnet.
pub fn switch_guid(router: RouterId) -> u64 {
    0x0020_0000_0000 + u64::from(router.0)
}

/// GUID of the adapter of a node, likewise.
pub fn host_guid(node: NodeId) -> u64 {
    0x0010_0000_0000 + 2 * u64::from(node.0)
}

/// GUID of the port of a node, likewise.
pub fn port_guid(node: NodeId) -> u64 {
    host_guid(node) + 1
}

/// The net file that `ibsim` simulates (`ibsim -s FILE`).
///
/// # Errors
/// If a GUID cannot be told, or two nodes are ports of one adapter.
pub fn ibsim(topology: &Topology, subnet: Option<&Subnet>) -> Result<String, GuidError> {
    let (switch_guids, host_guids) = (
        switch_guids(topology, subnet)?,
        host_guids(topology, subnet)?,
    );
    let mut text = format!("# {}\n", topology.title);
    let router_of_port = topology.router_of_every_port();
    for router in (0..topology.routers()).map(RouterId::from_index) {
        let ports = topology.ports_of(router);
        let guid = switch_guids[router.index()];
        let _ = write!(
            text,
            "\nswitchguid={guid:#x}\nSwitch {} \"S-{router}\"\n",
            ports.len()
        );
        for (number, port) in (1..).zip(ports) {
            let _ = match topology.peer[port] {
                Peer::Unconnected => Ok(()),
                Peer::Node(node) => writeln!(text, "[{number}] \"H-{node}\"[1]"),
                Peer::Port(peer) => {
                    let other = router_of_port[peer.index()];
                    let far = peer.0 - topology.first_port[other.index()] + 1;
                    writeln!(text, "[{number}] \"S-{other}\"[{far}]")
                }
            };
        }
    }
    for (node, port) in (0..).map(NodeId).zip(&topology.port_of_node) {
        let router = router_of_port[port.index()];
        let far = port.0 - topology.first_port[router.index()] + 1;
        let guid = host_guids[node.index()];
        let _ = write!(
            text,
            "\ncaguid={guid:#x}\nHca 1 \"H-{node}\"\n[1] \"S-{router}\"[{far}]\n"
        );
    }
    Ok(text)
}

/// OpenSM's order in which destinations are routed (`--guid_routing_order_file`): that of the
/// nodes' numbers.
///
/// # Errors
/// If a GUID is not told.
pub fn guid_routing_order(
    topology: &Topology,
    subnet: Option<&Subnet>,
) -> Result<String, GuidError> {
    let nodes = (0..topology.nodes()).map(NodeId::from_index);
    let guid = |node: NodeId| match subnet.map(|subnet| &subnet.hosts[node.index()]) {
        None => Ok(port_guid(node)),
        Some(host) => host.port_guid.ok_or_else(|| GuidError::Missing {
            what: "the adapter's port of",
            name: host.name.clone(),
        }),
    };
    nodes
        .filter(|&node| !topology.is_lost(node))
        .map(|node| Ok(format!("{:#018x}\n", guid(node)?)))
        .collect()
}

/// OpenSM's switches at the root (`--root_guid_file`), from which `updn` and `ftree` rank the
/// others: those farthest from the switches that have nodes, as the top of a fat tree is; where
/// all have nodes, that with most links to others, of several the first.
///
/// # Errors
/// If a GUID is not told.
pub fn root_guids(topology: &Topology, subnet: Option<&Subnet>) -> Result<String, GuidError> {
    let guids = switch_guids(topology, subnet)?;
    let roots = crate::routing::roots(topology).into_iter();
    Ok(roots
        .map(|root| format!("{:#018x}\n", guids[root.index()]))
        .collect())
}

/// OpenSM's numbers of switches in place of their GUIDs (`--ids_guid_file`), by which `updn`
/// decides between switches of one rank: those of the routers that work.
///
/// # Errors
/// If a GUID is not told.
pub fn ids(topology: &Topology, subnet: Option<&Subnet>) -> Result<String, GuidError> {
    let numbered = (0..).map(RouterId).zip(switch_guids(topology, subnet)?);
    Ok(numbered
        .filter(|&(router, _)| !topology.is_lost_router(router))
        .map(|(router, guid)| format!("{guid:#018x} {router}\n"))
        .collect())
}
