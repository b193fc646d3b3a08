use std::path::Path;

use odonata_network::topology::{
    Arrangement, DragonflyLinks, DragonflyPlusLinks, DragonflyPlusSpec, DragonflySpec, GroupWiring,
    SpineArrangement,
};
use odonata_network::{LinkClass, Peer, Topology};

use super::*;
use crate::build_topology;
use crate::spec::{Family, Network, Scenario};

/// A file of the configurations that CODES ships.
fn shared(name: &str) -> Option<PathBuf> {
    odonata_testdata::data(&format!("codes-confs/{name}"))
}

fn scenario(network: CodesNetwork) -> Scenario {
    let mut scenario = Scenario::new(Network::new(Family::Codes(network)));
    // The smallest packet of the configurations; a buffer holds one at least.
    scenario.simulation.packet_bytes = 1024;
    scenario
}

fn of_configuration(file: &Path) -> Topology {
    let file = Some(file.to_owned());
    build_topology(&scenario(CodesNetwork {
        file,
        ..CodesNetwork::default()
    }))
    .unwrap()
}

fn class<'t>(topology: &'t Topology, name: &str) -> &'t LinkClass {
    topology
        .link_classes
        .iter()
        .find(|c| c.name == name)
        .unwrap()
}

/// All pairs of linked routers, each link once from either end, in order.
fn linked(topology: &Topology) -> Vec<(u32, u32)> {
    let owner = topology.router_of_every_port();
    let mut pairs: Vec<(u32, u32)> = (owner.iter().zip(&topology.peer))
        .filter_map(|(from, peer)| match peer {
            Peer::Port(peer) => Some((from.0, owner[peer.index()].0)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

fn unbalanced(topology: &Topology, numbers: [u32; 5]) -> Topology {
    let [leaves, spines, p, h, g] = numbers;
    DragonflyPlusSpec {
        leaves,
        spines,
        p,
        h,
        g,
        arrangement: SpineArrangement::Unbalanced,
        links: DragonflyPlusLinks {
            terminal: class(topology, "terminal").clone(),
            local: class(topology, "local").clone(),
            global: class(topology, "global").clone(),
        },
    }
    .build()
    .unwrap()
}

/// The counts that the configurations and the files beside them state, and the
/// wiring of our own generator.
#[test]
fn dragonfly_plus_configurations_are_what_the_unbalanced_arrangement_makes() {
    for (name, numbers, pair_links) in [
        // num_router_leaf, num_router_spine, num_cns_per_router,
        // num_global_connections, num_groups.
        ("dfp-test.conf", [4, 4, 4, 4, 5], 4),
        ("dfp_8k.conf", [16, 16, 16, 16, 33], 8),
    ] {
        let Some(file) = shared(&format!("dragonfly-plus/{name}")) else {
            return;
        };
        let topology = of_configuration(&file);
        let [leaves, spines, p, h, g] = numbers;
        let shape = topology.leaf_spine().unwrap();
        assert_eq!((shape.leaves, shape.spines), (leaves, spines));
        assert_eq!(topology.nodes() as u32, leaves * p * g);
        assert_eq!(topology.routers() as u32, (leaves + spines) * g);
        let description = topology.describe();
        let links: Vec<u64> = description.classes.iter().map(|c| c.links).collect();
        let expected = [leaves * p * g, leaves * spines * g, spines * h * g / 2];
        assert_eq!(links, expected.map(u64::from));
        assert_eq!(description.group_pair_links_min, Some(pair_links));
        assert_eq!(description.group_pair_links_max, Some(pair_links));
        assert_eq!(linked(&topology), linked(&unbalanced(&topology, numbers)));
    }
}

#[test]
fn bandwidths_and_buffers_are_those_of_the_configuration() {
    let Some(file) = shared("dragonfly-plus/dfp-test.conf") else {
        return;
    };
    let topology = of_configuration(&file);
    // 8, 5.25 and 1.5 GiB/s; 8192, 8192 and 16384 B.
    let gib = f64::from(1 << 30);
    for (name, bandwidth, buffer) in [
        ("terminal", 8.0, 8192),
        ("local", 5.25, 8192),
        ("global", 1.5, 16384),
    ] {
        let found = class(&topology, name);
        assert_eq!(found.bandwidth.bytes_per_second(), (bandwidth * gib) as u64);
        assert_eq!(found.buffer.0, buffer);
    }
    // A class that the scenario gives replaces that of the configuration.
    let mut scenario = scenario(CodesNetwork {
        file: Some(file),
        ..CodesNetwork::default()
    });
    let links = &mut scenario.network.links;
    links.insert("global".into(), Link::default_for("global"));
    let found = build_topology(&scenario).unwrap();
    assert_eq!(
        class(&found, "global").bandwidth.bytes_per_second(),
        Link::default_for("global").bandwidth_bytes_per_s
    );
}

#[test]
fn lists_without_configuration_need_the_numbers() {
    let (Some(intra), Some(inter)) = (
        shared("dragonfly-plus/dfp-3k-intra"),
        shared("dragonfly-plus/dfp-3k-inter"),
    ) else {
        return;
    };
    let mut network = CodesNetwork {
        intra_file: Some(intra),
        inter_file: Some(inter),
        model: Some(CodesModel::DragonflyPlus),
        leaves: Some(18),
        spines: Some(18),
        p: Some(18),
        ..CodesNetwork::default()
    };
    let error = build_topology(&scenario(network.clone())).unwrap_err();
    assert_eq!(error.path, "network.g");
    network.g = Some(10);
    let topology = build_topology(&scenario(network.clone())).unwrap();
    // Stated in dfp-3k-meta: 360 routers, 3,240 terminals, 36 links between groups.
    assert_eq!((topology.routers(), topology.nodes()), (360, 3240));
    assert_eq!(topology.describe().group_pair_links_min, Some(36));
    let made = unbalanced(&topology, [18, 18, 18, 18, 10]);
    assert_eq!(linked(&topology), linked(&made));
    // With fewer groups, the list names routers that do not exist.
    network.g = Some(9);
    let error = build_topology(&scenario(network)).unwrap_err();
    assert_eq!(error.path, "network.inter_file");
    assert!(error.message.contains("dfp-3k-inter: byte "), "{error}");
}

#[test]
fn dragonfly_dally_configurations_are_dragonflies() {
    for (name, p, a, h, g) in [
        ("dfdally_72.conf", 2, 4, 2, 9),
        ("dfdally_3k.conf", 9, 18, 9, 19),
        ("dfdally_8k.conf", 8, 16, 8, 65),
    ] {
        let Some(file) = shared(&format!("dragonfly-dally/{name}")) else {
            return;
        };
        let topology = of_configuration(&file);
        assert_eq!(topology.nodes() as u32, p * a * g, "{name}");
        let description = topology.describe();
        assert_eq!(description.radix_min, p + a - 1 + h);
        let pair_links = Some(u64::from(a * h / (g - 1)));
        assert_eq!(description.group_pair_links_min, pair_links);
        assert_eq!(description.group_pair_links_max, pair_links);
        if name == "dfdally_72.conf" {
            // One link per pair of groups: their order is our relative one.
            let made = DragonflySpec {
                p,
                a,
                h,
                g,
                arrangement: Arrangement::Relative,
                group: GroupWiring::AllToAll,
                links: DragonflyLinks {
                    terminal: class(&topology, "terminal").clone(),
                    local: class(&topology, "local").clone(),
                    column: None,
                    global: class(&topology, "global").clone(),
                },
            };
            assert_eq!(linked(&topology), linked(&made.build().unwrap()));
        }
    }
}

#[test]
fn what_cannot_be_read_names_the_file() {
    let network = CodesNetwork {
        file: Some("/nowhere/some.conf".into()),
        ..CodesNetwork::default()
    };
    let error = build_topology(&scenario(network)).unwrap_err();
    assert_eq!(error.path, "network.file");
    assert!(error.message.contains("/nowhere/some.conf"), "{error}");
    let error = build_topology(&scenario(CodesNetwork::default())).unwrap_err();
    assert_eq!(error.path, "network.model");
}
