//! How long a routing decision and a deadlock proof take.
//!
//! `cargo run --release -p odonata-network --example routing_speed [decisions|proofs] [MACHINE]`
//! where MACHINE is 0 to 3, from 1,056 to 82,944 nodes.
//!
//! Decisions: packets between random nodes are walked through the network
//! first, then the recorded calls of `next_hop` are repeated in random order,
//! as a packet engine makes them, and timed. Proofs: `verify` from a built
//! topology to the verdict.

use std::hint::black_box;
use std::time::Instant;

use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AnyRouting, PacketRoute, Routing, RoutingSpec, RoutingTask, Via,
};
use odonata_network::topology::{Arrangement, DragonflyLinks, DragonflySpec, GroupWiring};
use odonata_network::verify::verify;
use odonata_network::{LinkClass, LinkKind, Peer, RouterView, Topology};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds, PortId, RouterId};

fn class(kind: LinkKind) -> LinkClass {
    LinkClass {
        name: kind.name().into(),
        kind,
        bandwidth: Bandwidth::new(1_000_000_000).expect("positive"),
        latency: Picoseconds(10_000),
        buffer: Bytes(4096),
        impairments: Vec::new(),
    }
}

fn dragonfly((p, a, h, g): (u32, u32, u32, u32), group: GroupWiring) -> Topology {
    DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group,
        links: DragonflyLinks {
            terminal: class(LinkKind::Terminal),
            local: class(LinkKind::Local),
            column: None,
            global: class(LinkKind::Global),
        },
    }
    .build()
    .expect("sound parameters")
}

/// Theta's form: 9 groups of 6 x 16 routers, 48 links per pair of groups.
fn theta_like() -> Topology {
    let grid = GroupWiring::Grid {
        rows: 6,
        columns: 16,
        row_links: 1,
        column_links: 3,
    };
    dragonfly((4, 96, 4, 9), grid)
}

/// A router whose queues are all of the same length.
struct Even {
    key: StreamKey,
    draws: u32,
}

impl RouterView for Even {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        u64::from(port & 3)
    }
    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        u64::from(port.0 & 3)
    }
    fn random_below(&mut self, bound: u32) -> u32 {
        self.draws += 1;
        self.key.below(0, self.draws, bound)
    }
}

struct Decisions<'a>(&'a Topology);

impl RoutingTask for Decisions<'_> {
    type Output = String;
    fn run<R: Routing>(self, routing: &R) -> String {
        let topology = self.0;
        let mut view = Even {
            key: StreamKey::new(1, Purpose::Routing),
            draws: 0,
        };
        let mut calls: Vec<(RouterId, bool, PacketRoute)> = Vec::new();
        let mut hops = 0;
        let packets = 20_000;
        for _ in 0..packets {
            let nodes = topology.nodes() as u32;
            let mut at = topology.router_of_node(NodeId(view.random_below(nodes)));
            let end = topology.port_of_node[view.random_below(nodes) as usize];
            let to = topology.router_of_port(end);
            let port = (end.0 - topology.first_port[to.index()]) as u16;
            let mut route = PacketRoute::injected(to, port);
            let mut injected = true;
            loop {
                calls.push((at, injected, route));
                let hop = routing.next_hop(&mut view, at, injected, &mut route);
                let port = topology.first_port[at.index()] + u32::from(hop.port);
                let Peer::Port(peer) = topology.peer[port as usize] else {
                    break;
                };
                hops += 1;
                at = topology.router_of_port(peer);
                route.vc = hop.vc;
                injected = false;
            }
        }
        StreamKey::new(2, Purpose::Routing)
            .stream(0)
            .shuffle(&mut calls);
        let mut best = f64::INFINITY;
        for _ in 0..200 {
            let start = Instant::now();
            let mut sum = 0u32;
            for &(at, injected, mut route) in &calls {
                let hop = routing.next_hop(&mut view, at, injected, &mut route);
                sum = sum.wrapping_add(u32::from(hop.port) + u32::from(hop.vc) + route.waypoint);
            }
            black_box(sum);
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / calls.len() as f64);
        }
        let mean = f64::from(hops) / f64::from(packets);
        format!("{best:6.2} ns per decision, {mean:.2} router-router hops per packet")
    }
}

struct Proof<'a>(&'a Topology);

impl RoutingTask for Proof<'_> {
    type Output = String;
    fn run<R: Routing>(self, routing: &R) -> String {
        let start = Instant::now();
        let verdict = verify(self.0, routing);
        let seconds = start.elapsed().as_secs_f64();
        match verdict {
            Ok(verdict) => format!("{seconds:7.2} s  {verdict}"),
            Err(error) => format!("{seconds:7.2} s  {error}"),
        }
    }
}

fn main() {
    let wanted = std::env::args().nth(1);
    let wants = |what: &str| wanted.as_deref().is_none_or(|w| w == what);
    let all_to_all = GroupWiring::AllToAll;
    let machines: [(&str, Topology); 4] = [
        (
            "1,056 nodes, p=4 a=8 h=4 g=33",
            dragonfly((4, 8, 4, 33), all_to_all),
        ),
        ("3,456 nodes, 9 groups of 6 x 16", theta_like()),
        (
            "16,512 nodes, p=8 a=16 h=8 g=129",
            dragonfly((8, 16, 8, 129), all_to_all),
        ),
        (
            "82,944 nodes, p=12 a=24 h=12 g=288",
            dragonfly((12, 24, 12, 288), all_to_all),
        ),
    ];
    let options = |via| AdaptiveOptions {
        via,
        ..AdaptiveOptions::default()
    };
    let group = options(Via::Group);
    let only: Option<usize> = std::env::args().nth(2).and_then(|a| a.parse().ok());
    for (index, (machine, topology)) in machines.iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        println!("{machine}");
        for (name, algorithm) in [
            ("minimal", Algorithm::Minimal),
            ("valiant, group", Algorithm::Valiant { via: Via::Group }),
            ("valiant, router", Algorithm::Valiant { via: Via::Router }),
            ("ugal-l, group", Algorithm::UgalLocal(group)),
            ("ugal-g, group", Algorithm::UgalGlobal(group)),
            ("par, group", Algorithm::Par(group)),
            ("par, router", Algorithm::Par(options(Via::Router))),
        ] {
            let routing = match AnyRouting::new(topology, &RoutingSpec::new(algorithm)) {
                Ok(routing) => routing,
                Err(error) => {
                    println!("  {name:16} {error}");
                    continue;
                }
            };
            if wants("decisions") {
                println!("  {name:16} {}", routing.dispatch(Decisions(topology)));
            }
            if wants("proofs") {
                println!("  {name:16} {}", routing.dispatch(Proof(topology)));
            }
        }
    }
}
