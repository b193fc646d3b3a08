use super::*;
use crate::topology::testing::class;
use odonata_units::{Bytes, Picoseconds};

/// Two groups of one router with one node each, wired by one global link.
fn pair() -> Wiring {
    Wiring {
        title: "pair".into(),
        link_classes: vec![
            class("terminal", LinkKind::Terminal),
            class("local", LinkKind::Local),
            class("global", LinkKind::Global),
        ],
        group_of_router: vec![GroupId(0), GroupId(1)],
        position_in_group: vec![],
        first_port: vec![0, 2, 4],
        peer: vec![
            Peer::Node(NodeId(0)),
            Peer::Port(PortId(3)),
            Peer::Node(NodeId(1)),
            Peer::Port(PortId(1)),
        ],
        class_of_port: [0, 2, 0, 2].map(LinkClassId).to_vec(),
        may_be_disconnected: false,
        one_way: false,
    }
}

fn refused(change: impl FnOnce(&mut Wiring)) -> TopologyError {
    let mut wiring = pair();
    change(&mut wiring);
    Topology::new(wiring).expect_err("this wiring breaks an invariant")
}

#[test]
fn a_sound_wiring_gets_its_groups_and_node_ports_derived() {
    let topology = Topology::new(pair()).unwrap();
    assert_eq!(topology.groups, 2);
    assert_eq!(topology.port_of_node, [PortId(0), PortId(2)]);
}

#[test]
fn every_broken_invariant_is_named() {
    let router = RouterId(0);
    let port = 1;
    assert_eq!(
        refused(|w| w.peer[3] = Peer::Unconnected),
        TopologyError::Asymmetric {
            router,
            port,
            peer_router: RouterId(1),
            peer_port: 1
        }
    );
    assert_eq!(
        refused(|w| w.peer[1] = Peer::Port(PortId(0))),
        TopologyError::SelfLink { router, port }
    );
    assert_eq!(
        refused(|w| w.peer[1] = Peer::Port(PortId(9))),
        TopologyError::UnknownPeer {
            router,
            port,
            peer: PortId(9)
        }
    );
    assert_eq!(
        refused(|w| w.group_of_router[1] = GroupId(0)),
        TopologyError::WrongKind {
            router,
            port,
            class: "global".into(),
            kind: LinkKind::Global,
            expected: LinkKind::Local
        }
    );
    assert_eq!(
        refused(|w| w.group_of_router[1] = GroupId(u32::MAX - 1)),
        TopologyError::EmptyGroup {
            group: 1,
            last: u32::MAX - 1
        }
    );
    assert_eq!(
        refused(|w| w.peer[2] = Peer::Node(NodeId(0))),
        TopologyError::NodeTwice {
            router: RouterId(1),
            port: 0,
            node: NodeId(0)
        }
    );
    assert_eq!(
        refused(|w| w.peer[2] = Peer::Node(NodeId(2))),
        TopologyError::UnknownNode {
            router: RouterId(1),
            port: 0,
            node: NodeId(2),
            nodes: 2
        }
    );
    let mismatch = refused(|w| w.class_of_port[3] = LinkClassId(1));
    assert!(matches!(mismatch, TopologyError::ClassMismatch { .. }));
    let unknown = refused(|w| w.class_of_port[3] = LinkClassId(7));
    assert!(matches!(unknown, TopologyError::ClassMismatch { .. }));
    let unconnected = refused(|w| {
        w.peer[1] = Peer::Unconnected;
        w.peer[3] = Peer::Unconnected;
    });
    assert_eq!(
        unconnected,
        TopologyError::Disconnected {
            router: RouterId(1),
            reached: 1,
            routers: 2
        }
    );
    assert_eq!(
        refused(|w| w.link_classes[1].name = "global".into()),
        TopologyError::DuplicateClass {
            name: "global".into()
        }
    );
    assert!(matches!(
        refused(|w| w.link_classes[0].name = "two words".into()),
        TopologyError::ClassName { .. }
    ));
    assert!(matches!(
        refused(|w| w.link_classes[0].latency = Picoseconds::ZERO),
        TopologyError::ZeroLatency { .. }
    ));
    let too_long = Picoseconds(Picoseconds::LONGEST_DELAY.0 + 1);
    assert!(matches!(
        refused(|w| w.link_classes[0].latency = too_long),
        TopologyError::LongLatency { latency, .. } if latency == too_long
    ));
    assert!(matches!(
        refused(|w| w.link_classes[0].buffer = Bytes::ZERO),
        TopologyError::ZeroBuffer { .. }
    ));
    assert!(matches!(
        refused(|w| w.first_port = vec![0, 5, 4]),
        TopologyError::PortRange { .. }
    ));
    assert!(matches!(
        refused(|w| w.first_port = vec![0, 2, 3]),
        TopologyError::PortRange { .. }
    ));
    assert!(matches!(
        refused(|w| w.first_port = vec![0, 4]),
        TopologyError::Shape { .. }
    ));
    assert!(matches!(
        refused(|w| w.title = "two\nlines".into()),
        TopologyError::Title { .. }
    ));
    assert_eq!(
        refused(|w| *w = Wiring::default()),
        TopologyError::NoRouters
    );
}

#[test]
fn a_hand_made_topology_cannot_lie_about_what_is_derived() {
    let mut topology = Topology::new(pair()).unwrap();
    topology.port_of_node.swap(0, 1);
    assert_eq!(
        topology.validate(),
        Err(TopologyError::Derived {
            field: "port_of_node"
        })
    );
    let mut topology = Topology::new(pair()).unwrap();
    topology.groups = 5;
    assert_eq!(
        topology.validate(),
        Err(TopologyError::Derived { field: "groups" })
    );
}
