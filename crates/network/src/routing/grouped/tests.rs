use odonata_units::{GroupId, PortId, RouterId};

use super::*;
use crate::routing::RoutingError;
use crate::routing::testing::{dragonfly, grid_dragonfly, ring_dragonfly};
use crate::topology::{Peer, Topology};

/// Every lookup against the topology itself.
fn check(topology: &Topology) {
    let routes = GroupedRoutes::new(topology).unwrap();
    for router in 0..topology.routers() as u32 {
        let place = routes.place(router);
        assert_eq!(
            GroupId(place.group),
            topology.group_of_router[router as usize]
        );
        assert!(place.local < routes.group_size(place.group));
        assert_eq!(routes.router(place), router);
        let before = routes.routers_before(place.group);
        assert_eq!(routes.router_by_group(before + place.local), router);
        let ports = topology.ports_of(RouterId(router));
        assert_eq!(routes.first_port(router) as usize, ports.start);
    }
    let mut global_links = 0;
    for from in 0..routes.groups() {
        for to in (0..routes.groups()).filter(|&to| to != from) {
            let (there, entries) = (routes.global_links(from, to), routes.global_links(to, from));
            assert_eq!(there.len(), entries.len());
            let only = routes.only_global_link(from, to);
            assert_eq!(only, (there.len() == 1).then(|| there[0]));
            global_links += there.len();
            for (global_link, entry) in there.iter().zip(entries) {
                let end = |group, global_link: &GlobalLink| {
                    let local = global_link.owner();
                    routes.first_port(routes.router(Place { group, local })) + global_link.port()
                };
                let peer = topology.peer[end(from, global_link) as usize];
                assert_eq!(peer, Peer::Port(PortId(end(to, entry))));
                assert_eq!(routes.global_link_at(end(from, global_link)), *global_link);
            }
        }
    }
    let is_global = |port: usize| {
        let kind = topology.link_class(PortId(port as u32)).kind;
        kind == crate::LinkKind::Global && topology.peer[port] != Peer::Unconnected
    };
    assert_eq!(
        global_links,
        (0..topology.ports()).filter(|&p| is_global(p)).count()
    );
}

#[test]
fn lookups_agree_with_the_topology() {
    check(&dragonfly(2, 4, 2, 9));
    check(&dragonfly(2, 4, 2, 4));
    check(&dragonfly(1, 1, 5, 6));
    check(&dragonfly(3, 4, 0, 1));
    check(&grid_dragonfly(1, (2, 3), 2, 5));
    check(&ring_dragonfly(1, 5, 1, 6));
}

#[test]
fn irregular_networks_use_tables() {
    // The groups of two routers exchanged, and a router with a port less.
    let mut topology = dragonfly(1, 3, 1, 4);
    let regular = GroupedRoutes::new(&topology).unwrap();
    assert!(matches!(regular.places, Places::Regular(_)));
    assert!(matches!(regular.local, Local::Direct { base: 1 }));
    // Renumber the groups of routers so that members are not consecutive: swap
    // routers 1 and 4 with everything that is attached to them.
    let swap = |r: usize| match r {
        1 => 4,
        4 => 1,
        r => r,
    };
    let ports = 4;
    let swap_port = |p: usize| swap(p / ports) * ports + p % ports;
    let old = topology.clone();
    for port in 0..old.ports() {
        topology.peer[swap_port(port)] = match old.peer[port] {
            Peer::Port(peer) => Peer::Port(PortId(swap_port(peer.index()) as u32)),
            other => other,
        };
    }
    for router in 0..old.routers() {
        topology.group_of_router[swap(router)] = old.group_of_router[router];
    }
    for port in &mut topology.port_of_node {
        *port = PortId(swap_port(port.index()) as u32);
    }
    check(&topology);
    let irregular = GroupedRoutes::new(&topology).unwrap();
    assert!(matches!(irregular.places, Places::Table { .. }));
    assert!(matches!(irregular.local, Local::Tables { .. }));
    // Drop the last port of the last router, which becomes unconnected first.
    let last = topology.ports() - 1;
    let Peer::Port(peer) = topology.peer[last] else {
        panic!("the last port is global");
    };
    topology.peer[peer.index()] = Peer::Unconnected;
    topology.peer.pop();
    topology.class_of_port.pop();
    *topology.first_port.last_mut().unwrap() -= 1;
    // That link was the only one between its groups.
    assert!(matches!(
        GroupedRoutes::new(&topology),
        Err(RoutingError::GroupsNotJoined { .. })
    ));
}

#[test]
fn a_group_that_falls_apart_is_an_error_that_names_the_routers() {
    let mut topology = dragonfly(1, 3, 1, 4);
    for port in 0..topology.ports() {
        let local = topology.link_class(PortId(port as u32)).kind == crate::LinkKind::Local;
        if local && port < topology.ports_of(RouterId(2)).end {
            topology.peer[port] = Peer::Unconnected;
        }
    }
    let error = GroupedRoutes::new(&topology).unwrap_err();
    assert_eq!(
        error,
        RoutingError::GroupDisconnected {
            group: GroupId(0),
            from: RouterId(1),
            to: RouterId(0)
        }
    );
    assert!(error.to_string().contains("shortest-path"));
}

#[test]
fn the_tables_of_large_machines_are_small() {
    // 513 groups of 32 routers: 4 bytes per ordered pair of groups.
    let routes = GroupedRoutes::new(&dragonfly(1, 32, 16, 513)).unwrap();
    assert_eq!(routes.pairs.len(), 513 * 513);
    assert!(routes.lists.is_empty());
    assert!(matches!(routes.places, Places::Regular(_)));
    assert!(matches!(routes.ports, Ports::Regular(_)));
    assert!(matches!(routes.local, Local::Direct { .. }));
}
