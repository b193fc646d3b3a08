use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::topology::LinkKind;
use crate::topology::fat_tree::FatTreeSpec;
use crate::topology::testing::class;

fn tree(down: &[u32], up: &[u32]) -> (FatTreeShape, Topology) {
    let shape = FatTreeShape {
        down: down.to_vec(),
        up: up.to_vec(),
        parallel: vec![1; up.len()],
        nodes: down.iter().product(),
    };
    let levels = shape.levels();
    let above =
        (1..levels).map(|level| class(&format!("level{level}"), FatTreeSpec::role(level, levels)));
    let spec = FatTreeSpec {
        above: above.collect(),
        terminal: class("terminal", LinkKind::Terminal),
        shape: shape.clone(),
    };
    (shape, spec.build().unwrap())
}

#[test]
fn a_switch_takes_the_same_uplinks_of_every_pod_of_its_block() {
    // Six pods of two leaves with two uplinks: switches of four ports, blocks of three pods.
    let (shape, tree) = tree(&[2, 2, 6], &[2, 2]);
    let layer = OpticalLayer::new(&shape, &tree, 4, 1).unwrap();
    assert_eq!((layer.pods, layer.switches.len()), (6, 2 * 4));
    let pods = |switch: &UplinkPorts| switch.ingress.iter().map(|port| port.1).collect::<Vec<_>>();
    assert_eq!(pods(&layer.switches[3]), [0, 1, 2]);
    assert_eq!(pods(&layer.switches[4]), [3, 4, 5]);
    let mut seen = BTreeSet::new();
    for switch in &layer.switches {
        for (ingress, egress) in switch.ingress.iter().zip(&switch.egress) {
            // Unsteered, a link leads where it is laid.
            assert_eq!(tree.peer[ingress.0.index()], Peer::Port(egress.0));
            assert_eq!(ingress.1, egress.1);
            assert!(seen.insert(ingress.0) && seen.insert(egress.0));
        }
    }
    // All uplinks of twelve leaves, both ends.
    assert_eq!(seen.len(), 2 * 12 * 2);
    // Neighbouring pods: half of the ports of a switch each.
    let layer = OpticalLayer::new(&shape, &tree, 4, 2).unwrap();
    assert_eq!(layer.switches.len(), 3 * 2);
    assert_eq!(pods(&layer.switches[2]), [2, 2, 3, 3]);
}

#[test]
fn circuits_lead_one_way_and_links_down_stay() {
    let (shape, tree) = tree(&[2, 2, 2], &[2, 2]);
    let layer = OpticalLayer::new(&shape, &tree, 2, 1).unwrap();
    let straight = vec![vec![0, 1]; 4];
    assert_eq!(layer.set(tree.clone(), &straight).unwrap(), tree);
    let mut crossed = straight;
    crossed[0] = vec![1, 0];
    let steered = layer.set(tree.clone(), &crossed).unwrap();
    let [one, other] = [0, 1].map(|pod| {
        (
            layer.switches[0].ingress[pod].0,
            layer.switches[0].egress[pod].0,
        )
    });
    assert_eq!(steered.peer[one.0.index()], Peer::Port(other.1));
    assert_eq!(steered.sender(other.1), Peer::Port(one.0));
    assert_eq!(steered.peer[other.1.index()], Peer::Port(other.0));
    assert_eq!(steered.sender(one.0), Peer::Port(one.1));
    let changed = (steered.peer.iter().zip(&tree.peer)).filter(|(a, b)| a != b);
    assert_eq!(changed.count(), 2);
    // As many links as before, each counted by its two directions.
    let links = |topology: &Topology| {
        let classes = topology.describe().classes;
        classes.iter().map(|class| class.links).collect::<Vec<_>>()
    };
    assert_eq!(links(&steered), links(&tree));
}

#[test]
fn flaws_are_named() {
    let (shape, tree) = tree(&[2, 2, 4], &[2, 2]);
    let error = |ports, links| OpticalLayer::new(&shape, &tree, ports, links).unwrap_err();
    assert!(
        error(4, 3)
            .to_string()
            .contains("do not divide the 4 uplinks")
    );
    assert!(error(4, 0).to_string().contains("do not divide"));
    assert!(error(3, 2).to_string().contains("at least 4 are needed"));
    let (flat, two) = self::tree(&[2, 4], &[2]);
    let error = OpticalLayer::new(&flat, &two, 4, 1).unwrap_err();
    assert!(error.to_string().contains("2 levels has nothing to steer"));
    let layer = OpticalLayer::new(&shape, &tree, 4, 1).unwrap();
    let mut settings = vec![vec![0, 1, 2, 3]; 4];
    settings[2] = vec![0, 1, 1, 3];
    let error = layer.set(tree.clone(), &settings).unwrap_err();
    assert_eq!(
        error,
        OpticalLayerError::NoMatching {
            switch: 2,
            ports: 4
        }
    );
    let error = layer.set(tree.clone(), &settings[..3]).unwrap_err();
    assert_eq!(
        error,
        OpticalLayerError::Switches {
            found: 3,
            switches: 4
        }
    );
    // Two ports that send to one.
    let mut wiring = tree;
    let (from, to) = (
        layer.switches[0].ingress[0].0,
        layer.switches[0].egress[1].0,
    );
    wiring.peer[from.index()] = Peer::Port(to);
    let wiring = Wiring {
        link_classes: wiring.link_classes,
        group_of_router: wiring.group_of_router,
        first_port: wiring.first_port,
        peer: wiring.peer,
        class_of_port: wiring.class_of_port,
        one_way: true,
        ..Wiring::default()
    };
    let error = Topology::new(wiring).unwrap_err();
    assert!(matches!(error, TopologyError::HeardTwice { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the settings, no router is cut off, no port used twice, and no port of a switch
    /// above the leaves sends into an optical switch, so that no path goes through two of them
    /// one after the other.
    #[test]
    fn any_settings_make_a_sound_network(
        (leaf, leaves, pods, up) in (1u32..4, 1u32..4, 2u32..7, 1u32..4),
        ports in 2u32..6,
        seed in any::<u64>(),
    ) {
        let (shape, tree) = tree(&[leaf, leaves, pods], &[up, 2]);
        let layer = OpticalLayer::new(&shape, &tree, ports, 1).unwrap();
        let mut state = seed | 1;
        let settings: Vec<Vec<u32>> = layer.switches.iter().map(|switch| {
            let mut order: Vec<u32> = (0..switch.ingress.len() as u32).collect();
            for place in (1..order.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                order.swap(place, (state >> 33) as usize % (place + 1));
            }
            order
        }).collect();
        let steered = layer.set(tree.clone(), &settings).unwrap();
        let ingress: BTreeSet<PortId> =
            layer.switches.iter().flat_map(|s| s.ingress.iter().map(|port| port.0)).collect();
        for port in (0..steered.ports() as u32).map(PortId) {
            if let Peer::Port(to) = steered.peer[port.index()] {
                prop_assert_eq!(steered.sender(to), Peer::Port(port));
                let leaf = tree.ports_of(tree.router_of_port(port))
                    .any(|port| matches!(tree.peer[port], Peer::Node(_)));
                prop_assert!(!ingress.contains(&port) || leaf);
                prop_assert!(ingress.contains(&port) || tree.peer[port.index()] == Peer::Port(to));
            }
        }
    }
}
