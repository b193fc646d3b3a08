use super::export::{guid_routing_order, ibsim, ids, root_guids};
use super::*;
use crate::routing::testing::{dragonfly, fat_tree, lattice};
use crate::topology::FatTreeShape;
use crate::topology::testing::{any_topology, class};
use proptest::prelude::*;

/// A ring of three switches with a host each, as `ibnetdiscover` prints it.
const DISCOVERED: &str = "#
# Topology file: generated on some day
#
# Initiated from node 0000000000100004 port 0000000000100005

vendid=0x0
devid=0x0
sysimgguid=0x200001
switchguid=0x200001(200001)
Switch\t8 \"S-0000000000200001\"\t\t# \"leaf b\" base port 0 lid 3 lmc 0
[1]\t\"H-0000000000100002\"[1](100003) \t\t# \"node b\" lid 5 4xEDR
[2]\t\"S-0000000000200002\"[3]\t\t# \"leaf c\" lid 4 4xHDR
[3][ext 7]\t\"S-0000000000200000\"[2]\t\t# \"leaf a\" lid 2 4xEDR

switchguid=0x200002(200002)
Switch\t8 \"S-0000000000200002\"\t\t# \"leaf c\" base port 0 lid 4 lmc 0
[1]\t\"H-0000000000100004\"[1](100005) \t\t# \"node c\" lid 7 4xEDR
[2]\t\"S-0000000000200000\"[3]\t\t# \"leaf a\" lid 2 4xEDR
[3]\t\"S-0000000000200001\"[2]\t\t# \"leaf b\" lid 3 4xHDR

switchguid=0x200000(200000)
Switch\t8 \"S-0000000000200000\"\t\t# \"leaf a\" base port 0 lid 2 lmc 0
[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"node a\" lid 1 4xEDR
[2]\t\"S-0000000000200001\"[3]\t\t# \"leaf b\" lid 3 4xEDR
[3]\t\"S-0000000000200002\"[2]\t\t# \"leaf c\" lid 4 4xEDR

caguid=0x100002
Ca\t1 \"H-0000000000100002\"\t\t# \"node b\"
[1](100003) \t\"S-0000000000200001\"[1]\t\t# lid 5 lmc 0 \"leaf b\" lid 3 4xEDR
";

#[test]
fn a_discovered_subnet_is_numbered_by_guid() {
    let subnet = read_ibnetdiscover(DISCOVERED).unwrap();
    let names: Vec<&str> = subnet.switches.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["leaf a", "leaf b", "leaf c"]);
    assert_eq!(subnet.switches[1].lid, Some(3));
    let hosts: Vec<(&str, Option<u16>, u32)> = subnet
        .hosts
        .iter()
        .map(|h| (h.name.as_str(), h.lid, h.switch))
        .collect();
    assert_eq!(
        hosts,
        [
            ("node a", Some(1), 0),
            ("node b", Some(5), 1),
            ("node c", Some(7), 2)
        ]
    );
    assert_eq!(subnet.hosts[1].port_guid, Some(0x0010_0003));
    let ends: Vec<_> = subnet.cables.iter().map(|c| (c.a, c.b)).collect();
    assert_eq!(ends, [((0, 2), (1, 3)), ((0, 3), (2, 2)), ((1, 2), (2, 3))]);
    let rates: Vec<_> = subnet
        .cables
        .iter()
        .map(|c| c.rate.clone().unwrap().0)
        .collect();
    assert_eq!(rates, ["4xEDR", "4xEDR", "4xHDR"]);
    let mut asked = Vec::new();
    let topology = subnet.topology("ring".into(), |kind, rates| {
        let [Some(rate)] = rates else {
            panic!("{rates:?}");
        };
        asked.push((kind, rate.bytes_per_second()));
        class(&format!("class{}", asked.len()), kind)
    });
    let topology = topology.unwrap();
    // 4 lanes of 25 and of 50 Gb/s.
    assert_eq!(asked[0], (LinkKind::Terminal, Some(12_500_000_000)));
    assert!(asked.contains(&(LinkKind::Local, Some(25_000_000_000))));
    assert_eq!(
        (topology.routers(), topology.nodes(), topology.ports()),
        (3, 3, 24)
    );
    assert_eq!(subnet.check_wiring(&topology), Ok(()));
}

/// The first two switches of the ring with two hosts: one of two adapters, one of them with two
/// ports, and one described by its vendor; and an aggregation node on each switch.
fn several_adapters() -> String {
    let port = |port: u32, guid: u32, of: u32, name: &str| {
        format!("[{port}]\t\"H-{guid:016x}\"[{of}]({guid:x}) \t\t# \"{name}\" lid 9 4xNDR\n")
    };
    let sharp = "Mellanox Technologies Aggregation Node";
    let mut text = String::new();
    for (here, there, ports) in [
        (
            1,
            2,
            [
                port(1, 16, 1, "n1 mlx5_0"),
                port(2, 17, 1, "n1 mlx5_1"),
                port(3, 32, 1, "localhost mlx5_0"),
                port(4, 48, 1, sharp),
            ],
        ),
        (
            2,
            1,
            [
                port(1, 17, 2, "n1 mlx5_1"),
                port(2, 18, 1, "MT4129 ConnectX7   Mellanox Technologies"),
                port(3, 33, 1, "localhost mlx5_0"),
                port(4, 49, 1, sharp),
            ],
        ),
    ] {
        text += &format!("switchguid=0x{here}\nSwitch\t8 \"S-{here:016x}\"\t\t# \"s{here}\"\n");
        text += &ports.concat();
        text += &format!("[8]\t\"S-{there:016x}\"[8]\t\t# \"s{there}\" lid 1 4xNDR\n\n");
    }
    text
}

#[test]
fn a_host_is_one_node_with_the_bandwidth_of_its_adapters() {
    let subnet = read_ibnetdiscover(&several_adapters()).unwrap();
    assert_eq!((subnet.hosts.len(), subnet.aggregation_nodes), (6, 2));
    let joined = subnet.clone().joined();
    // `localhost` has the same device twice, in two adapters: these are two hosts.
    let hosts: Vec<(Option<&str>, u32, usize)> = joined
        .hosts
        .iter()
        .map(|host| (host.host.as_deref(), host.switch, host.further.len()))
        .collect();
    assert_eq!(
        hosts,
        [(Some("n1"), 0, 2), (None, 0, 0), (None, 1, 0), (None, 1, 0)]
    );
    let on_other = &joined.hosts[0].further[1];
    assert_eq!((on_other.switch, on_other.switch_port), (1, 1));
    let mut asked = Vec::new();
    let topology = joined.topology("joined".into(), |kind, rates| {
        let bytes_per_s: u64 = rates
            .iter()
            .flatten()
            .filter_map(Rate::bytes_per_second)
            .sum();
        asked.push((kind, bytes_per_s / 1_000_000_000));
        class(&format!("class{}", asked.len()), kind)
    });
    let topology = topology.unwrap();
    assert_eq!(topology.nodes(), 4);
    // 4xNDR are 50 GB/s.
    assert_eq!(
        asked,
        [
            (LinkKind::Terminal, 150),
            (LinkKind::Terminal, 50),
            (LinkKind::Local, 50)
        ]
    );
    assert_eq!(joined.check_wiring(&topology), Ok(()));
    // And each port by itself.
    let ports = subnet.topology("ports".into(), |kind, _| class(kind.name(), kind));
    assert_eq!(ports.unwrap().nodes(), 6);
}

#[test]
fn descriptions_name_hosts_and_devices() {
    let named = |descriptions: &[&str]| -> Vec<Option<String>> {
        let mut ports: Vec<HostPort> = (0u32..)
            .zip(descriptions)
            .map(|(number, name)| HostPort {
                guid: u64::from(number) + 1,
                port_guid: None,
                name: (*name).to_owned(),
                host: None,
                further: vec![],
                port: 1,
                lid: None,
                switch: 0,
                switch_port: number + 1,
                rate: None,
            })
            .collect();
        hosts::name(&mut ports);
        ports.into_iter().map(|port| port.host).collect()
    };
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(
        named(&[
            "n17 mlx5_0",
            "n17 HCA-2",
            "node 7",
            "node 8",
            "n9",
            "n17 ibp3s0"
        ]),
        [
            some("n17"),
            some("n17"),
            some("node 7"),
            some("node 8"),
            some("n9"),
            some("n17")
        ]
    );
    assert_eq!(
        named(&["", "MT25408 ConnectX Mellanox Technologies"]),
        [None, None]
    );
}

#[test]
fn warnings_between_and_within_lines_are_counted() {
    let clean = read_ibnetdiscover(DISCOVERED).unwrap();
    let mad = "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,20 Attr 0x11:0) bad status \
               110; Connection timed out";
    let warn = "ibwarn: [4711] _do_madrpc: recv failed: Connection timed out";
    let whole = DISCOVERED.replace("vendid=0x0\n", &format!("{mad}\nvendid=0x0\n{warn}\n"));
    let path = format!("/usr/src/rdma-core/{}\n", mad.trim_start_matches("src/"));
    let whole = format!("{path}{whole}{warn}\n");
    // Standard output reaches the file by blocks, which end wherever they are full.
    let within = whole
        .replace(
            "[2]\t\"S-0000000000200002\"",
            &format!("[2]\t\"S-00{warn}\n00000000200002\""),
        )
        .replace(
            "[1]\t\"H-0000000000100004\"",
            &format!("[1]\t\"H-00000{mad}\n00000100004\""),
        );
    assert_ne!(within, whole);
    for (text, warnings) in [(whole.as_str(), 4), (within.as_str(), 6)] {
        let found = read_ibnetdiscover(text).unwrap();
        assert_eq!(found.warnings, warnings);
        assert_eq!(
            Subnet {
                warnings: 0,
                ..found
            },
            clean
        );
    }
    // What is neither a line of the format nor a warning is still said.
    let other = DISCOVERED.replace("vendid=0x0", "vendid 0x0");
    assert!(
        read_ibnetdiscover(&other)
            .unwrap_err()
            .to_string()
            .starts_with("line 6")
    );
}

#[test]
fn the_hosts_of_a_real_fabric_are_counted() {
    let Some(file) = odonata_testdata::data("ibnetdiscover-ndr/fabric.txt") else {
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let subnet = read_ibnetdiscover(&text).unwrap();
    // `grep -c ^Switch`, `grep -c ^Ca` less `grep -c "Aggregation Node"` in the sections of adapters.
    assert_eq!(
        (
            subnet.switches.len(),
            subnet.hosts.len(),
            subnet.aggregation_nodes
        ),
        (40, 542, 40)
    );
    let unnamed = subnet
        .hosts
        .iter()
        .filter(|port| port.host.is_none())
        .count();
    assert_eq!(unnamed, 69);
    let joined = subnet.joined();
    // 109 hosts with four adapters, 11 with three, two with two, and what names no host.
    let mut of_size = [0; 5];
    for host in joined.hosts.iter().filter(|host| host.host.is_some()) {
        of_size[1 + host.further.len()] += 1;
    }
    assert_eq!(of_size, [0, 0, 2, 11, 109]);
    assert_eq!(joined.hosts.len(), 122 + 69);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let error = |text: &str| read_ibnetdiscover(text).unwrap_err().to_string();
    let changed = |from: &str, to: &str| {
        assert!(DISCOVERED.contains(from), "{from}");
        error(&DISCOVERED.replacen(from, to, 1))
    };
    for (error, expected) in [
        (error(""), "there is no switch in it"),
        (
            error("hello"),
            "line 1: found `hello`; allowed: lines of ibnetdiscover",
        ),
        (
            error("[1] \"S-1\"[1]"),
            "line 1: found `[1] \"S-1\"[1]`; allowed",
        ),
        (
            error("{ nonsense }"),
            "line 1: found `{ nonsense }`; allowed: lines of opensm-subnet.lst",
        ),
        (
            changed("Switch\t8", "Switch\teight"),
            "line 10: found `Switch\teight",
        ),
        (
            changed("Switch\t8", "Switch\t5000"),
            "line 10: found `5000 ports`; allowed: switches of at most 4096",
        ),
        (
            changed("[2]\t\"S-0000000000200002\"", "[1]\t\"S-0000000000200002\""),
            "line 12: port 1 of switch S-0000000000200001 is there twice",
        ),
        (
            changed("[2]\t\"S-0000000000200002\"", "[9]\t\"S-0000000000200002\""),
            "line 12: switch leaf b has no port 9; it has ports 1 to 8",
        ),
        (
            changed(
                "[2]\t\"S-0000000000200002\"[3]",
                "[2]\t\"S-0000000000200002\"[4]",
            ),
            "line 12: port 2 of S-0000000000200001 leads to port 4 of S-0000000000200002, but",
        ),
        (
            changed(
                "Switch\t8 \"S-0000000000200002\"",
                "Switch\t8 \"S-0000000000200001\"",
            ),
            "line 16: switch S-0000000000200001 is there twice",
        ),
        (
            changed("[1]\t\"H-0000000000100004\"", "[1]\t\"H-0000000000100002\""),
            "port 1 of H-0000000000100002 is there twice",
        ),
    ] {
        assert!(error.contains(expected), "{error}\nis not\n{expected}");
    }
}

#[test]
fn the_list_of_opensm_says_the_same() {
    let side =
        |kind: &str, ports: u32, guid: u64, port_guid: u64, name: &str, lid: u16, port: u32| {
            format!(
                "{{ {kind} Ports:{ports:02X} SystemGUID:{guid:016x} NodeGUID:{guid:016x} \
             PortGUID:{port_guid:016x} VenID:000000 DevID:0000 Rev:000000A1 {{{name}}} \
             LID:{lid:04X} PN:{port:02X} }}"
            )
        };
    let expected = read_ibnetdiscover(DISCOVERED).unwrap();
    let mut text = String::new();
    let switch = |(index, port): (u32, u32)| {
        let s = &expected.switches[index as usize];
        side("SW", s.ports, s.guid, s.guid, &s.name, s.lid.unwrap(), port)
    };
    let mut link = |here: &str, there: &str, speed: &str| {
        for (a, b) in [(here, there), (there, here)] {
            text += &format!("{a} {b} PHY=4x LOG=ACT SPD={speed}\n");
        }
    };
    for host in &expected.hosts {
        let name = if host.name == "node c" { "CA-SM" } else { "CA" };
        let port_guid = host.port_guid.unwrap();
        let host_side = side(
            name,
            1,
            host.guid,
            port_guid,
            &host.name,
            host.lid.unwrap(),
            1,
        );
        link(&switch((host.switch, host.switch_port)), &host_side, "25");
    }
    for cable in &expected.cables {
        let is_hdr = cable.rate.as_ref().unwrap().as_str() == "4xHDR";
        link(
            &switch(cable.a),
            &switch(cable.b),
            if is_hdr { "50" } else { "25" },
        );
    }
    assert_eq!(read_ibnetdiscover(&text).unwrap(), expected);
}

#[test]
fn another_wiring_is_told_by_its_first_difference() {
    let ring = lattice(&[4], true, false);
    let subnet = read_ibnetdiscover(&ibsim(&ring, None).unwrap()).unwrap();
    assert_eq!(subnet.check_wiring(&ring), Ok(()));
    let reported = |topology: &Topology| subnet.check_wiring(topology).unwrap_err();
    assert!(
        reported(&lattice(&[5], true, false)).contains("has 4 switches, but the network has 5")
    );
    let line = reported(&lattice(&[4], false, false));
    assert!(
        line.contains("has 4 cables between switches, but the network has 3"),
        "{line}"
    );
    let mut crossed = ring.clone();
    let ports = ring.ports_of(RouterId(1));
    let (a, b) = (ports.start + 1, ports.start + 2);
    let (peer_a, peer_b) = (ring.peer[a], ring.peer[b]);
    let (Peer::Port(far_a), Peer::Port(far_b)) = (peer_a, peer_b) else {
        panic!()
    };
    (crossed.peer[a], crossed.peer[b]) = (peer_b, peer_a);
    crossed.peer[far_a.index()] = Peer::Port(PortId(b as u32));
    crossed.peer[far_b.index()] = Peer::Port(PortId(a as u32));
    let reported = reported(&crossed);
    assert!(
        reported.contains("of switch S-0 leads to port")
            && reported.contains("of router 0 of the network leads to"),
        "{reported}"
    );
}

#[test]
fn roots_are_the_top_of_a_tree_and_the_hub_of_others() {
    let shape = FatTreeShape {
        down: vec![2, 2, 2],
        up: vec![2, 2],
        parallel: vec![1, 1],
        nodes: 8,
    };
    let tree = fat_tree(&shape);
    let tops: Vec<String> = root_guids(&tree, None)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    // Leaves, then the second level, then four at the top.
    assert_eq!(tree.routers(), 12);
    assert_eq!(
        tops,
        [8, 9, 10, 11].map(|top| format!("0x00000020000000{top:02x}"))
    );
    assert_eq!(
        root_guids(&dragonfly(1, 2, 1, 3), None)
            .unwrap()
            .lines()
            .count(),
        1
    );
    assert_eq!(
        ids(&tree, None).unwrap().lines().nth(3),
        Some("0x0000002000000003 3")
    );
    let order = guid_routing_order(&tree, None).unwrap();
    assert_eq!(order.lines().count(), 8);
    assert_eq!(order.lines().nth(2), Some("0x0000001000000005"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_topology_comes_back_from_its_net_file(topology in any_topology()) {
        let subnet = read_ibnetdiscover(&ibsim(&topology, None).unwrap()).unwrap();
        prop_assert_eq!(subnet.check_wiring(&topology), Ok(()));
        let again = subnet.topology("again".into(), |kind, _| class(kind.name(), kind)).unwrap();
        prop_assert_eq!(again.peer, topology.peer);
        prop_assert_eq!(again.first_port, topology.first_port);
    }
}
