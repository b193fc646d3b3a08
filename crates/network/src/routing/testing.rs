//! What the tests of the routing algorithms share: small networks, a mock of a
//! router, and walks through a network.

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{NodeId, PortId, RouterId};

use super::{Hop, PacketRoute, RouterView, Routing};
use crate::topology::testing::{class, dragonfly_links};
use crate::topology::{
    Arrangement, DragonflyPlusLinks, DragonflyPlusSpec, DragonflySpec, FatTreeShape, FatTreeSpec,
    GroupWiring, HyperXSpec, LinkKind, Peer, SpineArrangement, Topology, TorusSpec,
};

/// A dragonfly with all-to-all groups and the absolute arrangement.
pub fn dragonfly(p: u32, a: u32, h: u32, g: u32) -> Topology {
    arranged(p, a, h, g, Arrangement::Absolute)
}

/// A dragonfly with all-to-all groups.
pub fn arranged(p: u32, a: u32, h: u32, g: u32, arrangement: Arrangement) -> Topology {
    DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement,
        group: GroupWiring::AllToAll,
        links: dragonfly_links(),
    }
    .build()
    .unwrap()
}

/// A dragonfly+ with balanced global links.
pub fn dragonfly_plus(leaves: u32, spines: u32, p: u32, h: u32, g: u32) -> Topology {
    let links = dragonfly_links();
    DragonflyPlusSpec {
        leaves,
        spines,
        p,
        h,
        g,
        arrangement: SpineArrangement::Balanced,
        links: DragonflyPlusLinks {
            terminal: links.terminal,
            local: links.local,
            global: links.global,
        },
    }
    .build()
    .unwrap()
}

/// A dragonfly with 2-D groups, two parallel links per pair in a column.
pub fn grid_dragonfly(p: u32, (rows, columns): (u32, u32), h: u32, g: u32) -> Topology {
    DragonflySpec {
        p,
        a: rows * columns,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::Grid {
            rows,
            columns,
            row_links: 1,
            column_links: 2,
        },
        links: dragonfly_links(),
    }
    .build()
    .unwrap()
}

/// A dragonfly whose groups are rings of `a` routers: the all-to-all one with
/// the chords taken out.
pub fn ring_dragonfly(p: u32, a: u32, h: u32, g: u32) -> Topology {
    let mut topology = dragonfly(p, a, h, g);
    for port in 0..topology.ports() {
        let Peer::Port(peer) = topology.peer[port] else {
            continue;
        };
        let here = topology.router_of_port(PortId(port as u32)).0;
        let there = topology.router_of_port(peer).0;
        let apart = (here % a).abs_diff(there % a);
        if here / a == there / a && apart != 1 && apart != a - 1 {
            topology.peer[port] = Peer::Unconnected;
        }
    }
    topology
}

/// A fat tree.
pub fn fat_tree(shape: &FatTreeShape) -> Topology {
    let levels = shape.levels();
    let above =
        (1..levels).map(|level| class(&format!("level{level}"), FatTreeSpec::role(level, levels)));
    FatTreeSpec {
        shape: shape.clone(),
        terminal: class("terminal", LinkKind::Terminal),
        above: above.collect(),
    }
    .build()
    .unwrap()
}

/// A torus, a mesh, or a HyperX, of one node per router.
pub fn lattice(size: &[u32], wrap: bool, hyperx: bool) -> Topology {
    let along = (1..=size.len()).map(|n| class(&format!("dim{n}"), LinkKind::Local));
    let (size, p) = (size.to_vec(), 1);
    let (terminal, links) = (class("terminal", LinkKind::Terminal), along.collect());
    if hyperx {
        let parallel = vec![1 + u32::from(wrap); size.len()];
        let spec = HyperXSpec {
            size,
            parallel,
            p,
            terminal,
            links,
        };
        return spec.build().unwrap();
    }
    let wrap = vec![wrap; size.len()];
    let spec = TorusSpec {
        size,
        wrap,
        p,
        terminal,
        links,
    };
    spec.build().unwrap()
}

/// A router with random occupancies, or none at all.
pub struct MockRouter {
    key: StreamKey,
    draws: u32,
    /// Now, in ps; one more at every hop of a walk.
    pub time: u32,
    /// Whether its clock says 0 all the time.
    stands_still: bool,
    /// Occupancies are drawn below this.
    pub busiest: u32,
    /// The node that sent the packet.
    pub source: NodeId,
    /// What routers have learnt: anything.
    q_table: Vec<f32>,
}

impl MockRouter {
    pub fn new(seed: u64) -> Self {
        Self {
            key: StreamKey::new(seed, Purpose::Routing),
            draws: 0,
            time: 0,
            stands_still: false,
            busiest: 4,
            source: NodeId(0),
            q_table: (0..1 << 10)
                .map(|n| StreamKey::new(seed, Purpose::Arrival).below(n, 0, 1000) as f32)
                .collect(),
        }
    }

    fn occupancy(&self, port: u32) -> u64 {
        let busiest = self.busiest.max(1);
        u64::from(self.key.below(u64::from(port), self.time, busiest)) * 1000
    }
}

impl RouterView for MockRouter {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        self.occupancy(u32::from(port))
    }

    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        self.occupancy(u32::from(hop.port) + 3_000_000 + (u32::from(hop.vc) << 16))
    }

    fn has_room(&mut self, hop: Hop) -> bool {
        let buffer = u64::from(hop.port) + 2_000_000 + (u64::from(hop.vc) << 32);
        self.key.below(buffer, self.time, 3) > 0
    }

    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        self.occupancy(port.0 + 1_000_000)
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        self.draws += 1;
        self.key.below(u64::MAX, self.draws, bound)
    }

    fn now_ps(&self) -> u64 {
        match self.stands_still {
            true => 0,
            false => u64::from(self.time),
        }
    }

    fn source_node(&self) -> NodeId {
        self.source
    }

    fn q_table(&self) -> &[f32] {
        &self.q_table
    }
}

/// One router-router hop of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub from: RouterId,
    pub to: RouterId,
    pub hop: Hop,
    pub kind: LinkKind,
}

/// Routes a packet from `source` to `destination` and returns its
/// router-router hops. Panics if a hop is not among the possible ones, leads
/// nowhere or uses a virtual channel that does not exist, if the packet ends at
/// another node, or after 1,000 hops.
pub fn walk<R: Routing>(
    topology: &Topology,
    routing: &R,
    view: &mut MockRouter,
    source: NodeId,
    destination: NodeId,
) -> Vec<Step> {
    let end = topology.port_of_node[destination.index()];
    let end_router = topology.router_of_node(destination);
    let first = topology.first_port[end_router.index()];
    let mut route = PacketRoute::injected(end_router, (end.0 - first) as u16);
    let mut at = topology.router_of_node(source);
    // Q-adaptive, which learns by source and time, lists what packets of its first node may do at 0.
    view.source = if R::LEARNS { NodeId(0) } else { source };
    view.stands_still = R::LEARNS;
    let mut injected = true;
    let mut steps = Vec::new();
    let mut possible = Vec::new();
    loop {
        possible.clear();
        routing.possible_hops(at, injected, &route, &mut possible);
        let before = route;
        view.time += 1;
        let hop = routing.next_hop(view, at, injected, &mut route);
        route.vc = hop.vc;
        assert!(
            possible.contains(&(hop, route)),
            "{before:?} at {at} becomes {hop:?} {route:?}, possible are {possible:?}"
        );
        injected = false;
        let port = topology.first_port[at.index()] + u32::from(hop.port);
        assert!(topology.ports_of(at).contains(&(port as usize)));
        match topology.peer[port as usize] {
            Peer::Unconnected => panic!("{hop:?} at {at} leads nowhere"),
            Peer::Node(node) => {
                assert_eq!((node, hop.vc), (destination, 0));
                return steps;
            }
            Peer::Port(peer) => {
                assert!(hop.vc < routing.virtual_channels(), "{hop:?}");
                let to = topology.router_of_port(peer);
                let kind = topology.link_class(PortId(port)).kind;
                steps.push(Step {
                    from: at,
                    to,
                    hop,
                    kind,
                });
                at = to;
            }
        }
        assert!(steps.len() < 1000, "no end: {steps:?}");
    }
}

/// Walks between random pairs of nodes that work.
pub fn random_walks<R: Routing>(
    topology: &Topology,
    routing: &R,
    seed: u64,
    count: u32,
) -> Vec<Vec<Step>> {
    let mut view = MockRouter::new(seed);
    let nodes: Vec<NodeId> = (0..topology.nodes())
        .map(NodeId::from_index)
        .filter(|&node| !topology.is_lost(node))
        .collect();
    let any = |view: &mut MockRouter| nodes[view.random_below(nodes.len() as u32) as usize];
    (0..count)
        .map(|_| {
            let source = any(&mut view);
            let destination = any(&mut view);
            view.busiest = view.random_below(5);
            walk(topology, routing, &mut view, source, destination)
        })
        .collect()
}

/// A router whose queues a test sets: those of its own ports, and those of all
/// ports of the network as the snapshot shows them.
pub struct LoadedRouter<'a> {
    pub own: &'a dyn Fn(u16) -> u64,
    pub remote: &'a dyn Fn(u32) -> u64,
    pub random: MockRouter,
}

impl RouterView for LoadedRouter<'_> {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        (self.own)(port)
    }

    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        (self.remote)(port.0)
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        self.random.random_below(bound)
    }
}

/// Number of global links among the hops of a walk.
pub fn globals(steps: &[Step]) -> usize {
    let global = |s: &&Step| s.kind == LinkKind::Global;
    steps.iter().filter(global).count()
}

/// All that `next_hop` does with a packet just injected at `at`, over many
/// random draws and loads.
pub fn sampled_first_hops<R: Routing>(
    routing: &R,
    at: RouterId,
    route: PacketRoute,
    draws: u32,
) -> Vec<(Hop, PacketRoute)> {
    let mut view = MockRouter::new(77);
    let mut seen: Vec<_> = (0..draws)
        .map(|time| {
            view.time = time;
            let mut route = route;
            let hop = routing.next_hop(&mut view, at, true, &mut route);
            route.vc = hop.vc;
            (hop, route)
        })
        .collect();
    seen.sort();
    seen.dedup();
    seen
}
