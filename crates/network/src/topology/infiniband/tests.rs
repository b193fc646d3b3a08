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
    let topology = subnet.topology("ring".into(), |kind, rate| {
        asked.push((kind, rate.and_then(Rate::bytes_per_second)));
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
    let subnet = read_ibnetdiscover(&ibsim(&ring)).unwrap();
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
    let tops: Vec<String> = root_guids(&tree).lines().map(str::to_owned).collect();
    // Leaves, then the second level, then four at the top.
    assert_eq!(tree.routers(), 12);
    assert_eq!(
        tops,
        [8, 9, 10, 11].map(|top| format!("0x00000020000000{top:02x}"))
    );
    assert_eq!(root_guids(&dragonfly(1, 2, 1, 3)).lines().count(), 1);
    assert_eq!(ids(&tree).lines().nth(3), Some("0x0000002000000003 3"));
    let order = guid_routing_order(&tree);
    assert_eq!(order.lines().count(), 8);
    assert_eq!(order.lines().nth(2), Some("0x0000001000000005"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_topology_comes_back_from_its_net_file(topology in any_topology()) {
        let subnet = read_ibnetdiscover(&ibsim(&topology)).unwrap();
        prop_assert_eq!(subnet.check_wiring(&topology), Ok(()));
        let again = subnet.topology("again".into(), |kind, _| class(kind.name(), kind)).unwrap();
        prop_assert_eq!(again.peer, topology.peer);
        prop_assert_eq!(again.first_port, topology.first_port);
    }
}
