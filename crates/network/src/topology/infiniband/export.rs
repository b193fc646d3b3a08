//! A topology as files for `ibsim` and OpenSM.
//!
//! Router *r* is switch `S-r` with GUID [`switch_guid`], node *n* host `H-n` with one port;
//! OpenSM takes GUIDs of host ports, which are [`port_guid`].

use std::fmt::Write as _;

use odonata_units::{NodeId, RouterId};

use crate::topology::{Peer, Topology};

/// GUID of the switch of a router.
pub fn switch_guid(router: RouterId) -> u64 {
    0x0020_0000_0000 + u64::from(router.0)
}

/// GUID of the adapter of a node.
pub fn host_guid(node: NodeId) -> u64 {
    0x0010_0000_0000 + 2 * u64::from(node.0)
}

/// GUID of the port of a node.
pub fn port_guid(node: NodeId) -> u64 {
    host_guid(node) + 1
}

/// The net file that `ibsim` simulates (`ibsim -s FILE`).
pub fn ibsim(topology: &Topology) -> String {
    let mut text = format!("# {}\n", topology.title);
    let router_of_port = topology.router_of_every_port();
    for router in (0..topology.routers()).map(RouterId::from_index) {
        let ports = topology.ports_of(router);
        let guid = switch_guid(router);
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
        let guid = host_guid(node);
        let _ = write!(
            text,
            "\ncaguid={guid:#x}\nHca 1 \"H-{node}\"\n[1] \"S-{router}\"[{far}]\n"
        );
    }
    text
}

/// OpenSM's order in which destinations are routed (`--guid_routing_order_file`): that of the
/// nodes' numbers.
pub fn guid_routing_order(topology: &Topology) -> String {
    let nodes = (0..topology.nodes()).map(NodeId::from_index);
    nodes
        .map(|node| format!("{:#018x}\n", port_guid(node)))
        .collect()
}

/// OpenSM's switches at the root (`--root_guid_file`), from which `updn` and `ftree` rank the
/// others: those farthest from the switches that have nodes, as the top of a fat tree is; where
/// all have nodes, that with most links to others, of several the first.
pub fn root_guids(topology: &Topology) -> String {
    let roots = crate::routing::roots(topology);
    roots
        .into_iter()
        .map(|root| format!("{:#018x}\n", switch_guid(root)))
        .collect()
}

/// OpenSM's numbers of switches in place of their GUIDs (`--ids_guid_file`), by which `updn`
/// decides between switches of one rank: those of the routers.
pub fn ids(topology: &Topology) -> String {
    let routers = (0..topology.routers()).map(RouterId::from_index);
    routers
        .map(|router| format!("{:#018x} {router}\n", switch_guid(router)))
        .collect()
}
