use odonata_units::{GroupId, NodeId, PortId, RouterId};

use super::*;
use crate::routing::Routing;
use crate::routing::testing::{MockRouter, dragonfly, random_walks, walk};
use crate::topology::Peer;

#[test]
fn a_dragonfly_is_crossed_by_shortest_paths() {
    let topology = dragonfly(2, 4, 2, 9);
    let routing = Tabled::shortest_path(&topology, Choice::Random, None).unwrap();
    // Diameter 3: local, global, local; or global, local, global where that is
    // as short, which closes cycles on one channel.
    assert_eq!(routing.virtual_channels(), 3);
    let walks = random_walks(&topology, &routing, 1, 5000);
    assert_eq!(walks.iter().map(Vec::len).max(), Some(3));
    for steps in walks {
        for (hops, step) in steps.iter().enumerate() {
            assert_eq!(usize::from(step.hop.vc), hops);
        }
    }
}

#[test]
fn all_equal_paths_are_used() {
    // Ring of four: the opposite router is reached both ways.
    let topology = ring(4);
    for choice in [Choice::Random, Choice::ByLoad] {
        let routing = Tabled::shortest_path(&topology, choice, None).unwrap();
        assert_eq!(routing.virtual_channels(), 2);
        let mut view = MockRouter::new(1);
        let mut ports: Vec<u16> = (0..100)
            .map(|_| {
                walk(&topology, &routing, &mut view, NodeId(0), NodeId(2))[0]
                    .hop
                    .port
            })
            .collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports, [1, 2]);
    }
}

#[test]
fn a_disconnected_network_is_an_error_that_names_two_routers() {
    let mut topology = ring(4);
    for port in topology.ports_of(RouterId(2)) {
        if let Peer::Port(peer) = topology.peer[port] {
            topology.peer[port] = Peer::Unconnected;
            topology.peer[peer.index()] = Peer::Unconnected;
        }
    }
    assert_eq!(
        Tabled::shortest_path(&topology, Choice::Random, None).unwrap_err(),
        RoutingError::Disconnected {
            from: RouterId(2),
            to: RouterId(0)
        }
    );
}

/// `size` routers in a ring, one node each: port 0 to the node, 1 to the next
/// router, 2 to the one before. Made from a dragonfly of one all-to-all group
/// so that nothing else differs.
fn ring(size: u32) -> Topology {
    let mut topology = dragonfly(1, size, 0, 1);
    topology.first_port = (0..=size).map(|r| 3 * r).collect();
    topology.peer = (0..size)
        .flat_map(|r| {
            let (next, previous) = ((r + 1) % size, (r + size - 1) % size);
            [
                Peer::Node(NodeId(r)),
                Peer::Port(PortId(3 * next + 2)),
                Peer::Port(PortId(3 * previous + 1)),
            ]
        })
        .collect();
    let (terminal, local) = (topology.class_of_port[0], topology.class_of_port[1]);
    topology.class_of_port = [terminal, local, local].repeat(size as usize);
    topology.port_of_node = (0..size).map(|r| PortId(3 * r)).collect();
    topology.group_of_router = vec![GroupId(0); size as usize];
    topology
}
