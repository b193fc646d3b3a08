//! What the tests of this room share.

use super::{DragonflyLinks, LinkClass, LinkClassId, LinkKind, Peer, Topology, Wiring};
use odonata_units::{Bandwidth, Bytes, GroupId, NodeId, Picoseconds, PortId};
use proptest::prelude::*;

/// A link class of 1 GB/s, 10 ns and 4 KiB buffers.
pub fn class(name: &str, kind: LinkKind) -> LinkClass {
    LinkClass {
        name: name.into(),
        kind,
        bandwidth: Bandwidth::new(1_000_000_000).unwrap(),
        latency: Picoseconds(10_000),
        buffer: Bytes(4096),
        impairments: Vec::new(),
    }
}

/// Link classes of a dragonfly, all alike but for the name.
pub fn dragonfly_links() -> DragonflyLinks {
    DragonflyLinks {
        terminal: class("terminal", LinkKind::Terminal),
        local: class("local", LinkKind::Local),
        column: None,
        global: class("global", LinkKind::Global),
    }
}

pub use odonata_testdata::data as shared_data;

/// Any sound topology of a few routers: uneven groups, parallel links, ports in
/// any order, some unconnected, two classes of each kind, positions or none.
pub fn any_topology() -> impl Strategy<Value = Topology> {
    let order = any::<u32>;
    (1usize..9, 1usize..5).prop_flat_map(move |(routers, groups)| {
        let groups = groups.min(routers);
        (
            prop::collection::vec(0..groups, routers),
            prop::collection::vec(
                (any::<prop::sample::Index>(), order(), order()),
                routers - 1,
            ),
            prop::collection::vec((0..routers, 0..routers, order(), order()), 0..12),
            prop::collection::vec((0..routers, order()), 1..9),
            prop::collection::vec((0..routers, order(), 0u8..6), 0..5),
            prop::option::of(prop::collection::vec(any::<(u16, u16)>(), routers)),
            "[a-zA-Z0-9#<>&\"';,=ä\u{1F409}]( ?[a-z#<&]){0,9}",
        )
            .prop_map(
                move |(mut group, tree, more, nodes, spare, position, title)| {
                    for (router, group) in group.iter_mut().enumerate().take(groups) {
                        *group = router;
                    }
                    let mut links: Vec<(usize, usize, u32, u32)> = tree
                        .iter()
                        .enumerate()
                        .map(|(n, (to, a, b))| (n + 1, to.index(n + 1), *a, *b))
                        .collect();
                    links.extend(more.into_iter().filter(|(a, b, _, _)| a != b));
                    wire(&group, &links, &nodes, &spare, position, title)
                },
            )
    })
}

/// What a port leads to: a node, an end of a link, or nothing.
#[derive(Clone, Copy)]
enum Target {
    Node(u32),
    End(usize),
    Nothing,
}

fn wire(
    group: &[usize],
    links: &[(usize, usize, u32, u32)],
    nodes: &[(usize, u32)],
    spare: &[(usize, u32, u8)],
    position: Option<Vec<(u16, u16)>>,
    title: String,
) -> Topology {
    // Each entry: place in the order of the router's ports, target, class.
    let mut ports: Vec<Vec<(u32, Target, u8)>> = vec![vec![]; group.len()];
    for (n, &(a, b, order_a, order_b)) in links.iter().enumerate() {
        let first = if group[a] == group[b] { 2 } else { 4 };
        let class = first + (order_a % 2) as u8;
        ports[a].push((order_a, Target::End(2 * n), class));
        ports[b].push((order_b, Target::End(2 * n + 1), class));
    }
    for (n, &(router, order)) in nodes.iter().enumerate() {
        ports[router].push((order, Target::Node(n as u32), (order % 2) as u8));
    }
    for &(router, order, class) in spare {
        ports[router].push((order, Target::Nothing, class));
    }
    let mut first_port = vec![0u32];
    let mut port_of_end = vec![0u32; 2 * links.len()];
    for ports in &mut ports {
        ports.sort_by_key(|&(order, _, _)| order);
        let first = first_port[first_port.len() - 1];
        for (port, (_, target, _)) in ports.iter().enumerate() {
            if let Target::End(end) = target {
                port_of_end[*end] = first + port as u32;
            }
        }
        first_port.push(first + ports.len() as u32);
    }
    let flat: Vec<(u32, Target, u8)> = ports.into_iter().flatten().collect();
    let peer = |target| match target {
        Target::Node(node) => Peer::Node(NodeId(node)),
        Target::End(end) => Peer::Port(PortId(port_of_end[end ^ 1])),
        Target::Nothing => Peer::Unconnected,
    };
    let kinds = [LinkKind::Terminal, LinkKind::Local, LinkKind::Global];
    let classes = kinds.iter().flat_map(|&kind| {
        ["-a", "_B.+"].map(|suffix| LinkClass {
            latency: Picoseconds(if suffix == "-a" { 1 } else { 77_777 }),
            ..class(&format!("{}{suffix}", kind.name()), kind)
        })
    });
    Topology::new(Wiring {
        title,
        link_classes: classes.collect(),
        group_of_router: group.iter().map(|&g| GroupId::from_index(g)).collect(),
        position_in_group: position.unwrap_or_default(),
        first_port,
        peer: flat.iter().map(|&(_, target, _)| peer(target)).collect(),
        class_of_port: flat
            .iter()
            .map(|&(_, _, class)| LinkClassId(class))
            .collect(),
        may_be_disconnected: false,
        one_way: false,
    })
    .expect("the generator makes sound topologies")
}
