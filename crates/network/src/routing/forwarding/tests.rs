use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::routing::properties::network;
use crate::routing::testing::{MockRouter, Step, dragonfly, fat_tree, lattice, walk};
use crate::topology::infiniband::export::{host_guid, ibsim, port_guid, switch_guid};
use crate::topology::{FatTreeShape, Subnet, read_ibnetdiscover};
use crate::verify::{Verdict, verify};

/// Shortest paths, of several that by the port of the lowest number that `prefers` it.
fn shortest(
    topology: &Topology,
    prefers: impl Fn(RouterId, NodeId, u16) -> u64,
) -> ForwardingTables {
    let mut tables = ForwardingTables::new(topology).unwrap();
    let router_of_port = topology.router_of_every_port();
    for node in (0..topology.nodes()).map(NodeId::from_index) {
        let to = topology.router_of_node(node);
        let mut distance = vec![u32::MAX; topology.routers()];
        distance[to.index()] = 0;
        let mut queue = std::collections::VecDeque::from([to]);
        while let Some(at) = queue.pop_front() {
            for port in topology.ports_of(at) {
                if let Peer::Port(peer) = topology.peer[port] {
                    let peer = router_of_port[peer.index()];
                    if distance[peer.index()] == u32::MAX {
                        distance[peer.index()] = distance[at.index()] + 1;
                        queue.push_back(peer);
                    }
                }
            }
        }
        for at in (0..topology.routers())
            .map(RouterId::from_index)
            .filter(|&at| at != to)
        {
            let ports = (0..).zip(topology.ports_of(at)).filter(|&(_, port)| {
                matches!(topology.peer[port], Peer::Port(peer)
                    if distance[router_of_port[peer.index()].index()] + 1 == distance[at.index()])
            });
            let port = ports
                .map(|(number, _)| number)
                .min_by_key(|&port| prefers(at, node, port));
            tables.set_port(at, node, port.unwrap());
        }
    }
    tables
}

/// Always the first port.
fn first(_: RouterId, _: NodeId, port: u16) -> u64 {
    u64::from(port)
}

/// Walks between all pairs of nodes.
fn for_all_pairs(topology: &Topology, routing: &Forwarded) -> Vec<Vec<Step>> {
    let nodes = topology.nodes() as u32;
    let mut view = MockRouter::new(1);
    let pairs = (0..nodes).flat_map(|source| (0..nodes).map(move |to| (source, to)));
    let mut walk = |(source, to)| {
        let steps = walk(topology, routing, &mut view, NodeId(source), NodeId(to));
        let channel = routing.tables.channel(NodeId(source), to);
        assert!(steps.iter().all(|step| step.hop.vc == channel));
        steps
    };
    pairs.map(&mut walk).collect()
}

fn ring() -> Topology {
    lattice(&[6], true, false)
}

#[test]
fn a_ring_on_one_channel_can_deadlock_and_with_a_dateline_cannot() {
    let topology = ring();
    let mut tables = shortest(&topology, first);
    let routing = Forwarded::new(&topology, tables.clone(), None).unwrap();
    let Verdict::Cycle(cycle) = verify(&topology, &routing).unwrap() else {
        panic!("a cycle, as all go round the same way");
    };
    // All the way round.
    assert_eq!(cycle.len(), 6);
    // Packets that come past router 0 on channel 1: nobody on one channel goes all the way.
    let crosses = |source: u32, destination: u32| {
        let mut at = RouterId(source);
        let mut crossed = false;
        while at.0 != destination {
            let port = topology.first_port[at.index()]
                + u32::from(tables.port(at, NodeId(destination)).unwrap());
            let Peer::Port(peer) = topology.peer[port as usize] else {
                panic!()
            };
            let next = topology.router_of_port(peer);
            crossed |= at.0.abs_diff(next.0) > 1;
            at = next;
        }
        crossed
    };
    let rows: Vec<Vec<u8>> = (0..6)
        .map(|source| (0..6).map(|to| u8::from(crosses(source, to))).collect())
        .collect();
    tables.set_channels(rows.into_iter());
    let routing = Forwarded::new(&topology, tables.clone(), None).unwrap();
    assert_eq!(routing.virtual_channels(), 2);
    assert!(verify(&topology, &routing).unwrap().is_deadlock_free());
    for_all_pairs(&topology, &routing);
    // Merged again, it can.
    let merged = Forwarded::new(&topology, tables, Some(1)).unwrap();
    assert!(matches!(
        verify(&topology, &merged).unwrap(),
        Verdict::Cycle(_)
    ));
}

#[test]
fn the_nodes_of_a_router_have_routes_of_their_own() {
    // Two nodes on each of the leaves of a tree with two roots: one root each.
    let shape = FatTreeShape {
        down: vec![2, 3],
        up: vec![2],
        parallel: vec![1],
        nodes: 6,
    };
    let topology = fat_tree(&shape);
    let by_node = |_: RouterId, node: NodeId, port: u16| u64::from((port ^ node.0 as u16) & 1);
    let routing = Forwarded::new(&topology, shortest(&topology, by_node), None).unwrap();
    let verdict = verify(&topology, &routing).unwrap();
    assert!(
        matches!(
            verdict,
            Verdict::DeadlockFree {
                longest_route: 2,
                ..
            }
        ),
        "{verdict}"
    );
    let mut taken = std::collections::BTreeSet::new();
    for to in [4, 5] {
        let mut view = MockRouter::new(1);
        let steps = walk(&topology, &routing, &mut view, NodeId(0), NodeId(to));
        taken.insert(steps[0].to);
    }
    assert_eq!(taken.len(), 2);
}

#[test]
fn what_does_not_arrive_is_refused_by_name() {
    let topology = ring();
    let good = shortest(&topology, first);
    let error = |change: &dyn Fn(&mut ForwardingTables)| {
        let mut tables = good.clone();
        change(&mut tables);
        Forwarded::new(&topology, tables, None).unwrap_err()
    };
    let (router, node) = (RouterId(3), NodeId(4));
    let set = |port: u16| {
        error(&move |tables| {
            tables.set_port(router, node, port);
        })
    };
    // Ports of a router: its node, then the two directions.
    assert_eq!(
        set(NO_PORT),
        ForwardingError::Missing { router, node }.into()
    );
    let wrong = ForwardingError::NoSuchPort {
        router,
        node,
        port: 7,
        ports: 3,
    };
    assert_eq!(set(7), wrong.into());
    let wrong = ForwardingError::OtherNode {
        router,
        node,
        port: 0,
        found: NodeId(3),
    };
    assert_eq!(set(0), wrong.into());
    let back = if good.port(router, node) == Some(1) {
        2
    } else {
        1
    };
    let text = set(back).to_string();
    assert!(
        text.starts_with("packets for node 4 go round for ever: routers "),
        "{text}"
    );
    assert!(
        text.contains("2 -> 3 -> 2") || text.contains("3 -> 2 -> 3"),
        "{text}"
    );
    let text = error(&|tables| {
        tables.set_port(RouterId(4), node, 2);
    })
    .to_string();
    assert!(
        text.contains("node 4 to port 2, but that node is attached to its port 0"),
        "{text}"
    );
    let mut torn = topology.clone();
    let port = torn.first_port[3] as usize + usize::from(good.port(router, node).unwrap());
    torn.peer[port] = Peer::Unconnected;
    let error = Forwarded::new(&torn, good.clone(), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("which leads nowhere"), "{error}");
}

/// Both forms in which OpenSM, and the two in which diagnostic programs dump tables.
fn dumps(topology: &Topology, subnet: &Subnet, tables: &ForwardingTables) -> [String; 3] {
    let mut texts = [const { String::new() }; 3];
    let [lfts, fdbs, fts] = &mut texts;
    for (router, switch) in (0..topology.routers())
        .map(RouterId::from_index)
        .zip(&subnet.switches)
    {
        let (guid, name) = (switch.guid, &switch.name);
        let _ = writeln!(
            lfts,
            "Unicast lids [0-8] of switch Lid 2 guid {guid:#018x} ('{name}'):"
        );
        let _ = writeln!(
            fdbs,
            "dump_ucast_routes: Switch {guid:#018x}\nLID    : Port : Hops : Optimal"
        );
        let _ = writeln!(
            fts,
            "Unicast lids [0x0-0x8] of switch DR path slid 0; dlid 0; 0,1,2 guid {guid:#018x} ({name}):\n  \
             Lid  Out   Destination\n       Port     Info"
        );
        for (node, host) in (0..).map(NodeId).zip(&subnet.hosts) {
            let lid = host.lid.unwrap();
            let own = topology.port_of_node[node.index()];
            let port = match topology.router_of_port(own) == router {
                true => (own.0 - topology.first_port[router.index()]) as u16,
                false => tables.port(router, node).unwrap(),
            } + 1;
            let _ = writeln!(
                lfts,
                "{lid:#06x} {port:03} # Channel Adapter portguid 0x1: '{}'",
                host.name
            );
            let _ = writeln!(fdbs, "{lid:#06x} : {port:03}  : 02   : yes");
            let _ = writeln!(
                fts,
                "{lid:#06x} {port:03} : (Channel Adapter portguid 0x1: '{}')",
                host.name
            );
        }
        let _ = writeln!(fdbs, "0x0fff : UNREACHABLE");
        let _ = writeln!(lfts, "0x0fff 000 # Switch portguid {guid:#018x}: '{name}'");
        let _ = writeln!(lfts, "{} lids dumped", subnet.hosts.len() + 1);
        let _ = writeln!(fts, "{} valid lids dumped", subnet.hosts.len());
    }
    texts
}

/// The subnet of a topology, with LIDs.
fn subnet(topology: &Topology) -> Subnet {
    let mut subnet = read_ibnetdiscover(&ibsim(topology, None).unwrap()).unwrap();
    for (lid, host) in (10..).zip(&mut subnet.hosts) {
        host.lid = Some(lid);
    }
    for (lid, switch) in (2000..).zip(&mut subnet.switches) {
        switch.lid = Some(lid);
    }
    subnet
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn tables_come_back_from_every_form_as_they_were(
        topology in network(), seed in any::<u64>(), most in 1u8..5,
    ) {
        let draw = |a: u64, b: u64| {
            odonata_units::random::StreamKey::new(seed, odonata_units::random::Purpose::Routing)
                .below(a, b as u32, 1000)
        };
        let tables = shortest(&topology, |at, node, port| {
            u64::from(draw(u64::from(at.0) << 16 | u64::from(port), u64::from(node.0)))
        });
        let plain = tables.clone();
        let mut tables = tables;
        let nodes = topology.nodes() as u64;
        let channel = |source, to| match source == to {
            true => 0,
            false => (draw(1 << 40 | source, to) as u8) % most,
        };
        tables.set_channels((0..nodes).map(|s| (0..nodes).map(|to| channel(s, to)).collect()));
        // A router's own nodes need no entry, so that ours may have none and OpenSM's do.
        let own = |mut read: ForwardingTables| {
            for (node, &port) in (0..).map(NodeId).zip(&topology.port_of_node) {
                let router = topology.router_of_port(port);
                let first = topology.first_port[router.index()];
                read.set_port(router, node, (port.0 - first) as u16);
            }
            read
        };
        let expected = own(tables.clone());
        let channels = write_channels(&tables);
        let mut read = ForwardingTables::new(&topology).unwrap();
        read_tables(&mut read, &write_tables(&tables), None).unwrap();
        read_channels(&mut read, &channels, None).unwrap();
        prop_assert_eq!(&own(read), &expected);
        let subnet = subnet(&topology);
        prop_assert_eq!(subnet.check_wiring(&topology), Ok(()));
        let records = (0..nodes).flat_map(|s| (0..nodes).map(move |to| (s, to)));
        let records: String = records.filter(|(s, to)| s != to).map(|(source, to)| {
            let lid = |node: u64| subnet.hosts[node as usize].lid.unwrap();
            format!(
                "PathRecord dump:\n\t\tdlid....................{}\n\t\tslid....................{}\n\
                 \t\tqos_class...............0x0\n\t\tsl......................{:#x}\n",
                lid(to), lid(source), channel(source, to)
            )
        }).collect();
        for text in dumps(&topology, &subnet, &tables) {
            let mut read = ForwardingTables::new(&topology).unwrap();
            read_tables(&mut read, &text, Some(&subnet)).unwrap();
            if nodes > 1 {
                read_channels(&mut read, &records, Some(&subnet)).unwrap();
            } else {
                read_channels(&mut read, &channels, None).unwrap();
            }
            prop_assert_eq!(&read, &expected);
        }
        let text = write_opensm_tables(&tables, &topology, &subnet);
        prop_assert_eq!(text.is_err(), tables.virtual_channels() > 1);
        let text = write_opensm_tables(&plain, &topology, &subnet).unwrap();
        let mut read = ForwardingTables::new(&topology).unwrap();
        read_tables(&mut read, &text, Some(&subnet)).unwrap();
        prop_assert_eq!(&read, &own(plain));
        // And packets go as the tables say.
        let routing = Forwarded::new(&topology, tables, None).unwrap();
        for steps in for_all_pairs(&topology, &routing) {
            prop_assert!(steps.windows(2).all(|pair| pair[0].hop.vc == pair[1].hop.vc));
        }
    }
}

#[test]
fn mistakes_of_files_are_named_with_their_line() {
    let topology = ring();
    let subnet = subnet(&topology);
    let tables = shortest(&topology, first);
    let [lfts, ..] = dumps(&topology, &subnet, &tables);
    let read = |text: &str, subnet: Option<&Subnet>| {
        let mut read = ForwardingTables::new(&topology).unwrap();
        read_tables(&mut read, text, subnet)
            .unwrap_err()
            .to_string()
    };
    let own = |lines: &str| read(&format!("router,destination,port\n{lines}"), None);
    for (error, expected) in [
        (
            read("", None),
            "line 1: found `nothing`; allowed: the header `router,destination,port`",
        ),
        (
            read("a,b\n", None),
            "line 1: found `a,b`; allowed: the header",
        ),
        (
            own("1,2"),
            "line 2: found `1,2`; allowed: three whole numbers",
        ),
        (
            own("1,-2,0"),
            "line 2: found `1,-2,0`; allowed: three whole numbers",
        ),
        (
            own("6,2,0"),
            "line 2: there is no router 6; the network has routers 0 to 5",
        ),
        (
            own("1,9,0"),
            "line 2: there is no node 9; the network has nodes 0 to 5",
        ),
        (
            own("1,2,0\n1,2,0"),
            "line 3: node 2 at router 1 is there twice",
        ),
        (
            read(&lfts, None),
            "give `subnet`, the output of `ibnetdiscover`",
        ),
        (
            read(
                &lfts.replace("0x0000002000000001", "0x0000000000abcdef"),
                Some(&subnet),
            ),
            "the subnet has no switch of GUID 0xabcdef",
        ),
        (
            read(
                &lfts.replace("0x0000002000000001", "0x0000002000000002"),
                Some(&subnet),
            ),
            "the table of the switch of GUID 0x2000000002 is there twice",
        ),
        (
            read(&lfts.replace("0x000a 001 #", "0x000a 000 #"), Some(&subnet)),
            "line 2: found `0x000a 000 # Channel Adapter portguid 0x1: 'H-0'`; allowed: a port from 1 for a host",
        ),
        (
            read(&lfts.replace("0x000b", "0x000a"), Some(&subnet)),
            "LID 0xa at the switch above is there twice",
        ),
        (
            read(
                lfts.split_inclusive("lids dumped").next().unwrap(),
                Some(&subnet),
            ),
            "there is no table of switch S-1 (GUID 0x2000000001)",
        ),
    ] {
        assert!(error.contains(expected), "{error}\nis not\n{expected}");
    }
    let channels = |text: &str| {
        let mut tables = tables.clone();
        read_channels(&mut tables, text, Some(&subnet))
            .unwrap_err()
            .to_string()
    };
    for (error, expected) in [
        (
            channels("source,destination,channel\n0,1,64"),
            "line 2: found `64`; allowed: virtual channels 0 to 63",
        ),
        (
            channels("source,destination,channel\n0,1,1"),
            "no virtual channel of packets from node 0 to node 2",
        ),
        (
            channels("x"),
            "line 1: found `x`; allowed: the header `source,destination,channel`",
        ),
        (
            channels("PathRecord dump:\n\tdlid....10\n\tslid....11\n\tsl....0x2\n"),
            "no virtual channel of packets from node 0 to node 1",
        ),
    ] {
        assert!(error.contains(expected), "{error}\nis not\n{expected}");
    }
    let mut twice = subnet.clone();
    twice.hosts[3].lid = twice.hosts[1].lid;
    assert!(read(&lfts, Some(&twice)).contains("hosts H-1 and H-3 have the same LID 11"));
    twice.hosts[1].lid = None;
    assert!(read(&lfts, Some(&twice)).contains("host H-1 has no LID"));
}

#[test]
fn guids_do_not_collide() {
    // GUIDs of a million switches and hosts.
    let (switches, hosts) = (switch_guid(RouterId(0)), host_guid(NodeId(0)));
    assert!(port_guid(NodeId(1 << 24)) < switches && hosts < switches);
    let topology = dragonfly(1, 2, 1, 3);
    let text = ibsim(&topology, None).unwrap();
    assert_eq!(text.matches("switchguid=").count(), topology.routers());
}
