//! Latencies in an empty network, exact to the picosecond.
//!
//! A packet crosses links 0 (from its node) to n (to the destination node) and
//! n routers. On link k a byte count x takes `d_k(x)`; `f_k` is `d_k` of the
//! flit (or of the packet, if that is smaller), `L_k` the latency, `D` the
//! router delay. It starts on link k at `s_k`, its tail has left at `e_k`:
//!
//! - cut-through: `s_{k+1} = s_k + f_k + L_k + D`, and
//!   `e_{k+1} = max(s_{k+1} + d_{k+1}, e_k + L_k + D + f_{k+1})`, since the last
//!   flit can be sent only after it has arrived and passed the router;
//! - store-and-forward: `s_{k+1} = e_k + L_k + D`, `e_{k+1} = s_{k+1} + d_{k+1}`.
//!
//! Unrolled, the latency `e_n + L_n - s_0` is `Σ L_k + n·D` plus, for
//! cut-through, `Σ f_k + max_k (d_k - f_k)`: the tail is late once, on the
//! slowest link. For store-and-forward it is `Σ d_k`. The bounded crossbar
//! adds nothing: it is no slower than any link of its router, and the packet
//! passes it while it goes out on the link.

use std::collections::BTreeSet;

use odonata_load::Operation;
use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AnyRouting, FparRules, Hop, PacketRoute, RouterView, RoutingSpec,
    RoutingTask, Via,
};
use odonata_network::topology::{
    Arrangement, CrayXcLinks, CrayXcSpec, DragonflyLinks, DragonflyPlusLinks, DragonflyPlusSpec,
    DragonflySpec, GroupWiring, SpineArrangement, edge_list,
};
use odonata_network::{LinkClass, LinkKind, Peer, Routing, Topology};
use odonata_run::{
    CreditUse, Crossbar, CrossbarRate, EngineConfig, InjectionOrder, MessageRecord, Outcome,
    RouterModel, Switching,
};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{Bytes, NodeId, Picoseconds, PortId, RankId, RouterId};

use crate::support::{
    Listed, MINIMAL, RATE, TO_THE_END, assert_conserved, bandwidth, config, crossbar, dragonfly,
    flow, job, link, receive, send, shared_file, simulate, simulate_with, uniform_links,
};

/// A routing algorithm that sees no queues and whose draws depend on the place
/// and the destination alone, so that the test can walk its routes beforehand
/// and all packets of a message take the same one.
struct Frozen<'r, R> {
    inner: &'r R,
    salt: u64,
}

struct FrozenView {
    stream: Stream,
}

impl RouterView for FrozenView {
    fn occupancy_bytes(&mut self, _: u16) -> u64 {
        0
    }
    fn remote_occupancy_bytes(&self, _: PortId) -> u64 {
        0
    }
    fn random_below(&mut self, bound: u32) -> u32 {
        self.stream.below(bound)
    }
}

impl<R: Routing> Routing for Frozen<'_, R> {
    const NEEDS_SNAPSHOT: bool = R::NEEDS_SNAPSHOT;

    fn virtual_channels(&self) -> u8 {
        self.inner.virtual_channels()
    }

    fn next_hop<V: RouterView>(
        &self,
        _: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let entity = u64::from(at.0) << 32 | u64::from(route.destination_router);
        let stream = StreamKey::new(self.salt, Purpose::Routing).stream(entity);
        self.inner
            .next_hop(&mut FrozenView { stream }, at, injected, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        self.inner.possible_hops(at, injected, route, out);
    }
}

impl<R: Routing> Frozen<'_, R> {
    /// The links from `source` to `destination`, the nodes' own included.
    fn walk<'t>(
        &self,
        topology: &'t Topology,
        source: NodeId,
        destination: NodeId,
    ) -> Vec<&'t LinkClass> {
        let end = topology.port_of_node[destination.index()];
        let end_router = topology.router_of_port(end);
        let first = topology.first_port[end_router.index()];
        let mut route = PacketRoute::injected(end_router, (end.0 - first) as u16);
        let start = topology.port_of_node[source.index()];
        let mut links = vec![topology.link_class(start)];
        let mut at = topology.router_of_port(start);
        loop {
            let mut view = FrozenView {
                stream: StreamKey::new(0, Purpose::Routing).stream(0),
            };
            let hop = self.next_hop(&mut view, at, links.len() == 1, &mut route);
            route.vc = hop.vc;
            let port = PortId(topology.first_port[at.index()] + u32::from(hop.port));
            links.push(topology.link_class(port));
            match topology.peer[port.index()] {
                Peer::Port(peer) => at = topology.router_of_port(peer),
                Peer::Node(node) => {
                    assert_eq!(node, destination);
                    return links;
                }
                Peer::Unconnected => panic!("{hop:?} at {at} leads nowhere"),
            }
        }
    }
}

type Message = (u32, u32, u64);

/// Sends `messages` (source, destination, bytes) one at a time; returns, beside
/// the outcome, the links that each of them crosses.
fn simulate_one_at_a_time<'t>(
    topology: &'t Topology,
    routing: &AnyRouting,
    config: &EngineConfig,
    messages: &[Message],
) -> (Outcome, Vec<Vec<&'t LinkClass>>) {
    struct Task<'t, 'c>(&'t Topology, &'c EngineConfig, &'c [Message]);
    impl<'t> RoutingTask for Task<'t, '_> {
        type Output = (Outcome, Vec<Vec<&'t LinkClass>>);
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            let Task(topology, config, messages) = self;
            let frozen = Frozen {
                inner: routing,
                salt: config.seed,
            };
            let paths = messages
                .iter()
                .map(|&(source, destination, _)| {
                    frozen.walk(topology, NodeId(source), NodeId(destination))
                })
                .collect();
            let load = one_at_a_time(topology.nodes() as u32, messages);
            let jobs = [job("one at a time", 0..topology.nodes() as u32, load)];
            let outcome = simulate_with(topology, &frozen, config, &jobs, &TO_THE_END).unwrap();
            (outcome, paths)
        }
    }
    routing.dispatch(Task(topology, config, messages))
}

/// Longer than any message of these tests takes.
const SLOT: u64 = 1_000_000_000;

/// Message `i` of `messages` (source, destination, bytes) is sent at `i · SLOT`,
/// with `i` as its tag.
fn one_at_a_time(ranks: u32, messages: &[Message]) -> odonata_run::JobLoad {
    let mut operations = vec![Vec::new(); ranks as usize];
    let mut now = vec![0; ranks as usize];
    for (tag, &(source, destination, bytes)) in messages.iter().enumerate() {
        let at = tag as u64 * SLOT;
        let rank = source as usize;
        operations[rank].push(Operation::Compute(Picoseconds(at - now[rank])));
        now[rank] = at;
        operations[rank].push(Operation::Send {
            to: RankId(destination),
            bytes: Bytes(bytes),
            tag: tag as u32,
        });
    }
    for (tag, &(source, destination, _)) in messages.iter().enumerate() {
        operations[destination as usize].push(Operation::Receive {
            from: RankId(source),
            tag: tag as u32,
        });
    }
    for list in &mut operations {
        list.push(Operation::WaitAll);
    }
    Listed::load(operations)
}

/// Latency of a packet by the closed form.
fn closed_form(links: &[&LinkClass], size: u64, router: &RouterModel) -> u64 {
    let duration = |link: &&LinkClass, bytes| link.bandwidth.duration_of(bytes).0;
    let latencies: u64 = links.iter().map(|link| link.latency.0).sum();
    let waits = latencies + (links.len() as u64 - 1) * router.delay.0;
    match router.switching {
        Switching::StoreAndForward => waits + links.iter().map(|l| duration(l, size)).sum::<u64>(),
        Switching::CutThrough { flit } => {
            let flit = flit.0.min(size);
            let flits: u64 = links.iter().map(|l| duration(l, flit)).sum();
            let late = links
                .iter()
                .map(|l| duration(l, size) - duration(l, flit))
                .max();
            waits + flits + late.unwrap()
        }
    }
}

/// Latency of a message of several packets that follow each other along the
/// same links: the recurrences of the module's description, and a packet starts
/// on a link only when the one before has left it.
fn recurrence(links: &[&LinkClass], sizes: &[u64], router: &RouterModel) -> u64 {
    let mut link_free = vec![0; links.len()];
    let mut arrived = 0;
    for &size in sizes {
        let (mut may_start, mut tail_may_end) = (0, 0);
        for (k, link) in links.iter().enumerate() {
            let duration = link.bandwidth.duration_of(size).0;
            let start = link_free[k].max(may_start);
            let passed = link.latency.0 + router.delay.0;
            match router.switching {
                Switching::CutThrough { flit } => {
                    let flit = flit.0.min(size);
                    let flit_time = link.bandwidth.duration_of(flit).0;
                    let end = (start + duration).max(tail_may_end + flit_time);
                    link_free[k] = end;
                    may_start = start + flit_time + passed;
                    tail_may_end = end + passed;
                }
                Switching::StoreAndForward => {
                    link_free[k] = start + duration;
                    may_start = link_free[k] + passed;
                }
            }
            arrived = link_free[k] + link.latency.0;
            if k == 0 {
                // Nothing comes before a node's own link.
                tail_may_end = link_free[k] + passed;
            }
        }
    }
    arrived
}

fn packets_of(bytes: u64, packet: u64) -> Vec<u64> {
    let mut sizes = vec![packet; (bytes / packet) as usize];
    if !bytes.is_multiple_of(packet) {
        sizes.push(bytes % packet);
    }
    sizes
}

/// Sends `messages` one at a time and checks every latency. Returns the numbers
/// of routers that packets visited.
fn check(
    topology: &Topology,
    routing: &RoutingSpec,
    config: &EngineConfig,
    messages: &[Message],
) -> BTreeSet<usize> {
    let built = AnyRouting::new(topology, routing).unwrap();
    check_built(topology, &built, config, messages)
}

fn check_built(
    topology: &Topology,
    routing: &AnyRouting,
    config: &EngineConfig,
    messages: &[Message],
) -> BTreeSet<usize> {
    let (outcome, paths) = simulate_one_at_a_time(topology, routing, config, messages);
    assert_conserved(&outcome);
    assert_eq!(outcome.messages.len(), messages.len());
    let mut records: Vec<MessageRecord> = outcome.messages.clone();
    records.sort_by_key(|record| record.created);
    let mut visited = BTreeSet::new();
    let mut counted = vec![0; outcome.jobs[0].routers_visited.len()];
    for ((record, &(source, destination, bytes)), links) in records.iter().zip(messages).zip(&paths)
    {
        assert_eq!(
            (record.source.0, record.destination.0),
            (source, destination)
        );
        let sizes = packets_of(bytes, config.packet.0);
        let routers = links.len() - 1;
        visited.insert(routers);
        counted[routers] += sizes.len() as u64;
        let expected = recurrence(links, &sizes, &config.router);
        if let [size] = sizes[..] {
            assert_eq!(expected, closed_form(links, size, &config.router));
        }
        let found = (record.delivered - record.created).0;
        assert_eq!(
            found, expected,
            "{bytes} B from {source} to {destination} over {routers} routers of {}, {:?}",
            topology.title, config.router
        );
    }
    assert_eq!(outcome.jobs[0].routers_visited, counted);
    visited
}

/// Random (source, destination, bytes) triples; sizes below, at and above
/// flits and packets.
fn random_messages(topology: &Topology, count: u32, sizes: &[u64], seed: u64) -> Vec<Message> {
    let mut stream = StreamKey::new(seed, Purpose::Destination).stream(0);
    let nodes = topology.nodes() as u32;
    (0..count)
        .map(|n| {
            let source = stream.below(nodes);
            let other = stream.below(nodes - 1);
            let destination = other + u32::from(other >= source);
            (source, destination, sizes[n as usize % sizes.len()])
        })
        .collect()
}

const AMPLE: u64 = 1 << 20;

fn links(terminal: (u64, u64), local: (u64, u64), global: (u64, u64)) -> DragonflyLinks {
    DragonflyLinks {
        terminal: link(LinkKind::Terminal, terminal.0, terminal.1, AMPLE),
        local: link(LinkKind::Local, local.0, local.1, AMPLE),
        column: None,
        global: link(LinkKind::Global, global.0, global.1, AMPLE),
    }
}

/// Equal speeds, getting slower, getting faster, slow in the middle, and rates
/// at which no flit takes a whole number of picoseconds.
fn speeds() -> Vec<DragonflyLinks> {
    vec![
        uniform_links(RATE, 10_000, AMPLE),
        links((4 * RATE, 1_000), (2 * RATE, 10_000), (RATE, 100_000)),
        links((RATE, 5_000), (2 * RATE, 10_000), (8 * RATE, 300_000)),
        links((3 * RATE, 2_500), (RATE / 2, 1), (RATE, 77_777)),
        links(
            (5_637_144_576, 33),
            (14_000_000_001, 4_321),
            (4_700_000_003, 1_000_003),
        ),
    ]
}

fn switchings() -> Vec<Switching> {
    let cut = |flit| Switching::CutThrough { flit: Bytes(flit) };
    vec![
        cut(1),
        cut(8),
        cut(48),
        cut(10_000),
        Switching::StoreAndForward,
    ]
}

fn crossbars() -> Vec<(Crossbar, CreditUse)> {
    let bounded = |speedup, output_buffer| Crossbar::Bounded {
        rate: CrossbarRate::Speedup(speedup),
        output_buffer: Bytes(output_buffer),
    };
    vec![
        (Crossbar::Ideal, CreditUse::Link),
        (Crossbar::Ideal, CreditUse::Crossbar),
        (bounded(1.0, 256), CreditUse::Link),
        (bounded(2.0, 4_096), CreditUse::Link),
        (bounded(1.37, 700), CreditUse::Link),
        (bounded(1.37, 700), CreditUse::Crossbar),
    ]
}

fn adaptive(via: Via) -> AdaptiveOptions {
    AdaptiveOptions {
        via,
        ..AdaptiveOptions::default()
    }
}

fn routings() -> Vec<RoutingSpec> {
    [
        Algorithm::Minimal,
        Algorithm::Valiant { via: Via::Group },
        Algorithm::Valiant { via: Via::Router },
        Algorithm::UgalLocal(adaptive(Via::Node)),
        Algorithm::UgalGlobal(adaptive(Via::Group)),
        Algorithm::Par(adaptive(Via::Router)),
        Algorithm::Fpar {
            threshold: 0.5,
            rules: FparRules::Paper,
        },
        Algorithm::ShortestPath,
    ]
    .map(RoutingSpec::new)
    .to_vec()
}

fn families(links: &DragonflyLinks) -> Vec<Topology> {
    let build = |p, a, h, g, arrangement, group, links| {
        let spec = DragonflySpec {
            p,
            a,
            h,
            g,
            arrangement,
            group,
            links,
        };
        spec.build().unwrap()
    };
    let grid = GroupWiring::Grid {
        rows: 2,
        columns: 3,
        row_links: 1,
        column_links: 2,
    };
    let mut with_columns = links.clone();
    with_columns.column = Some(LinkClass {
        name: "column".to_owned(),
        ..link(LinkKind::Local, RATE + RATE / 3, 7_001, AMPLE)
    });
    vec![
        crossbar(6, links.terminal.clone()),
        dragonfly(2, 4, 2, 9, links.clone()),
        build(
            1,
            4,
            2,
            3,
            Arrangement::Circulant,
            GroupWiring::AllToAll,
            links.clone(),
        ),
        build(1, 6, 1, 4, Arrangement::Relative, grid, with_columns),
        dragonfly_plus(links),
    ]
}

/// 3 leaves, 4 spines, half a global link per spine and other group.
fn dragonfly_plus(links: &DragonflyLinks) -> Topology {
    DragonflyPlusSpec {
        leaves: 3,
        spines: 4,
        p: 2,
        h: 2,
        g: 5,
        arrangement: SpineArrangement::Balanced,
        links: DragonflyPlusLinks {
            terminal: links.terminal.clone(),
            local: links.local.clone(),
            global: links.global.clone(),
        },
    }
    .build()
    .unwrap()
}

/// Every family × link speeds × switching × crossbar, under each routing in
/// turn, with messages of one and of several packets.
#[test]
fn latency_is_the_closed_form() {
    let sizes = [1, 8, 47, 48, 49, 255, 256, 257, 2_560, 3_333];
    let mut seed = 0;
    let routings = routings();
    for links in speeds() {
        for topology in families(&links) {
            for switching in switchings() {
                for (crossbar, credit_use) in crossbars() {
                    seed += 1;
                    let mut config = config();
                    config.router.switching = switching;
                    config.router.crossbar = crossbar;
                    config.router.credit_use = credit_use;
                    config.router.delay = Picoseconds([0, 1, 40_000, 123_457][seed as usize % 4]);
                    config.seed = seed;
                    let messages = random_messages(&topology, 20, &sizes, seed);
                    let routing = &routings[seed as usize % routings.len()];
                    let needs_spines = matches!(routing.algorithm, Algorithm::Fpar { .. });
                    if needs_spines && topology.leaf_spine().is_err() {
                        continue;
                    }
                    check(&topology, routing, &config, &messages);
                }
            }
        }
    }
}

/// Every pair of nodes, so that every number of routers that a route can have
/// occurs: minimally 1 (same router) to 4 (local, global, local), and by
/// Valiant's routes through a router of another group up to 7.
#[test]
fn every_pair_of_nodes_and_every_number_of_hops() {
    let topology = dragonfly(2, 4, 2, 9, speeds()[1].clone());
    let pairs: Vec<_> = (0..72)
        .flat_map(|s| (0..72).filter(move |&d| d != s).map(move |d| (s, d, 200)))
        .collect();
    let hops = check(&topology, &MINIMAL, &config(), &pairs);
    assert_eq!(hops, (1..=4).collect());
    let valiant = RoutingSpec::new(Algorithm::Valiant { via: Via::Router });
    let hops = check(&topology, &valiant, &config(), &pairs);
    assert_eq!(hops, (1..=7).collect());
}

/// The wiring of a real Cray XC40 with 864 routers.
#[test]
fn a_real_machine() {
    let Some(path) = shared_file("data/theta-topology/theta.interconnect") else {
        return;
    };
    let speed = &speeds()[4];
    let local = |name: &str, rate| LinkClass {
        name: name.to_owned(),
        ..link(LinkKind::Local, rate, 15_000, AMPLE)
    };
    let spec = CrayXcSpec {
        nodes_per_router: 4,
        links: CrayXcLinks {
            terminal: speed.terminal.clone(),
            green: local("green", 5_250_000_000),
            black: local("black", 15_750_000_000),
            blue: LinkClass {
                name: "blue".to_owned(),
                ..speed.global.clone()
            },
        },
    };
    let topology = spec
        .import(&std::fs::read_to_string(path).unwrap())
        .unwrap();
    let messages = random_messages(&topology, 400, &[64, 256, 1_000], 5);
    for switching in [
        Switching::CutThrough { flit: Bytes(8) },
        Switching::StoreAndForward,
    ] {
        let mut config = config();
        config.router.switching = switching;
        // Two hops in the group at each end, and the global one: 6 routers.
        let hops = check(&topology, &MINIMAL, &config, &messages);
        assert_eq!(*hops.last().unwrap(), 6);
        let valiant = RoutingSpec::new(Algorithm::Valiant { via: Via::Group });
        check(&topology, &valiant, &config, &messages[..100]);
    }
}

/// `q` equal packets take the latency of one plus `q - 1` times the slowest
/// link's packet time: the packets queue up there, and nowhere else for longer.
#[test]
fn a_message_of_equal_packets() {
    for (index, links) in speeds().into_iter().enumerate() {
        let topology = dragonfly(2, 4, 2, 9, links);
        for switching in switchings() {
            let mut config = config();
            config.router.switching = switching;
            let q = 37;
            let message = [(index as u32, 70, q * 256)];
            let minimal = AnyRouting::new(&topology, &MINIMAL).unwrap();
            let (outcome, paths) = simulate_one_at_a_time(&topology, &minimal, &config, &message);
            let links = &paths[0];
            let slowest = links
                .iter()
                .map(|l| l.bandwidth.duration_of(256).0)
                .max()
                .unwrap();
            let found = outcome.messages[0].delivered.0;
            assert_eq!(
                found,
                closed_form(links, 256, &config.router) + (q - 1) * slowest
            );
        }
    }
}

/// Ranks of one node: a message takes its time at the loopback bandwidth, after
/// those before it, plus the loopback latency, and loads no link.
#[test]
fn messages_within_a_node() {
    let topology = crossbar(2, link(LinkKind::Terminal, RATE, 1_000, AMPLE));
    let mut config = config();
    config.nic.loopback_bandwidth = bandwidth(3_000_000_000);
    config.nic.loopback_latency = Picoseconds(12_345);
    config.nic.injection = InjectionOrder::Fifo;
    // Ranks 0 and 1 on node 0, rank 2 on node 1.
    let load = Listed::load(vec![
        vec![send(1, 1_000), send(1, 7), send(2, 256), Operation::WaitAll],
        vec![receive(0), receive(0), Operation::WaitAll],
        vec![receive(0), send(2, 5), receive(2), Operation::WaitAll],
    ]);
    let jobs = [job("loop", [0, 0, 1], load)];
    let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    let delivered = |to: u32, bytes: u64| {
        let of = |m: &&MessageRecord| m.destination_rank == to && m.bytes.0 == bytes;
        outcome.messages.iter().find(of).unwrap().delivered.0
    };
    // 1,000 B at 3 GB/s take 333,333 ps, 7 B 2,333 ps and 5 B 1,667 ps.
    assert_eq!(delivered(1, 1_000), 333_333 + 12_345);
    assert_eq!(delivered(1, 7), 333_333 + 2_333 + 12_345);
    assert_eq!(delivered(2, 5), 1_667 + 12_345);
    // The message to the other node does not wait for them.
    let link = &topology.link_classes[0];
    assert_eq!(
        delivered(2, 256),
        closed_form(&[link, link], 256, &config.router)
    );
    assert_eq!(outcome.packet_hops, 1);
    assert_eq!(outcome.injection[0].bytes, 256);
    assert_eq!(outcome.injection[1].bytes, 0);
}

/// A node at either end of 301 routers in a line: more routers than eight bits count.
#[test]
fn a_route_may_visit_hundreds_of_routers() {
    const ROUTERS: u64 = 301;
    const LATENCY: u64 = 10_000;
    let mut text = format!(
        "class terminal terminal {RATE} {LATENCY} 4096\nclass local local {RATE} {LATENCY} 4096\n\
         routers 0 300 group 0\nnodes 1 0\nnodes 1 300\n"
    );
    for router in 1..ROUTERS {
        text.push_str(&format!("link {} {router}\n", router - 1));
    }
    let topology = edge_list::import(&text, &[]).unwrap();
    let routing = RoutingSpec::new(Algorithm::ShortestPath);
    let jobs = [flow(0, 1, 256)];
    let outcome = simulate(&topology, &routing, &config(), &jobs, &TO_THE_END).unwrap();
    let visited = &outcome.jobs[0].routers_visited;
    assert_eq!((visited.len(), visited[301]), (302, 1));
    // 302 links of 10 ns with a flit of 8 B (1 ns) on each, 301 routers of 40 ns, and the
    // other 31 flits behind the first on the last link.
    let latency = 302 * (LATENCY + 1_000) + ROUTERS * 40_000 + 31_000;
    assert_eq!(outcome.messages[0].delivered, Picoseconds(latency));
}
