//! A routing algorithm in one file, from its decisions to its proof and its first
//! run. `docs/add-a-routing-algorithm.md` tells it part by part.

use odonata_load::Operation;
use odonata_network::routing::{Algorithm, NONE, RoutingSpec};
use odonata_network::verify::{Verdict, verify};
use odonata_network::{Hop, PacketRoute, Peer, RouterView, Routing, Topology};
use odonata_run::JobPlan;
use odonata_units::{Bytes, RankId, RouterId};

use crate::support::{
    Listed, RATE, TO_THE_END, config, dragonfly, job, simulate, simulate_with, uniform_links,
};

// [algorithm]
/// Routing on a complete graph of routers: directly, or by way of one random
/// router if the direct port has the longer queue (UGAL, Singh 2005, weighted by
/// hops).
///
/// Two virtual channels: 0 towards the intermediate router, 1 towards the
/// destination. The packet that holds channel 1 is delivered next, and the one that holds
/// channel 0 waits for channel 1 at most, so that there is no cycle.
struct Bounce {
    routers: u32,
    /// Port from one router to another, row by row. Shape: routers × routers.
    ports: Vec<u16>,
}

impl Bounce {
    /// The tables of a network in which every two routers are linked; `None` for
    /// any other.
    fn new(topology: &Topology) -> Option<Self> {
        let routers = topology.routers() as u32;
        let mut ports = vec![u16::MAX; topology.routers() * topology.routers()];
        for from in 0..routers {
            for (port, number) in topology.ports_of(RouterId(from)).zip(0..) {
                if let Peer::Port(peer) = topology.peer[port] {
                    let to = topology.router_of_port(peer);
                    ports[(from * routers) as usize + to.index()] = number;
                }
            }
        }
        let linked =
            |pair: usize| pair as u32 / routers == pair as u32 % routers || ports[pair] != u16::MAX;
        (0..ports.len())
            .all(linked)
            .then_some(Self { routers, ports })
    }

    fn port(&self, from: u32, to: u32) -> u16 {
        self.ports[(from * self.routers + to) as usize]
    }

    /// The hop of a packet that goes to `intermediate` first, or straight on.
    fn hop(&self, at: u32, intermediate: u32, route: &mut PacketRoute) -> Hop {
        route.intermediate = intermediate;
        match intermediate {
            NONE => Hop {
                port: self.port(at, route.destination_router),
                vc: 1,
            },
            router => Hop {
                port: self.port(at, router),
                vc: 0,
            },
        }
    }
}
// [end]

// [decisions]
impl Routing for Bounce {
    fn virtual_channels(&self) -> u8 {
        2
    }

    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let to = route.destination_router;
        if at.0 == to {
            // To the node. Its link has one channel.
            return Hop {
                port: route.destination_port,
                vc: 0,
            };
        }
        let mut intermediate = NONE;
        if injected && self.routers > 2 {
            // Any router but this one and the last.
            let (low, high) = (at.0.min(to), at.0.max(to));
            let mut other = view.random_below(self.routers - 2);
            other += u32::from(other >= low);
            other += u32::from(other >= high);
            let direct = view.occupancy_bytes(self.port(at.0, to));
            let detour = view.occupancy_bytes(self.port(at.0, other));
            if direct > 2 * detour {
                intermediate = other;
            }
        }
        self.hop(at.0, intermediate, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let to = route.destination_router;
        if at.0 == to {
            let hop = Hop {
                port: route.destination_port,
                vc: 0,
            };
            return out.push((hop, PacketRoute { vc: 0, ..*route }));
        }
        let detours = (0..self.routers).filter(|&r| injected && r != at.0 && r != to);
        for intermediate in detours.chain([NONE]) {
            let mut route = *route;
            let hop = self.hop(at.0, intermediate, &mut route);
            route.vc = hop.vc;
            out.push((hop, route));
        }
    }
}
// [end]

/// Six routers with four nodes each, every two linked.
fn complete_graph() -> Topology {
    dragonfly(4, 6, 1, 1, uniform_links(RATE, 20_000, 4_096))
}

// [proof]
#[test]
fn it_cannot_deadlock() {
    let topology = complete_graph();
    let routing = Bounce::new(&topology).expect("a complete graph");
    let verdict = verify(&topology, &routing).expect("routes that arrive");
    let Verdict::DeadlockFree { longest_route, .. } = verdict else {
        panic!("{verdict}");
    };
    assert_eq!(longest_route, 2);
}
// [end]

#[test]
fn other_networks_are_refused() {
    let links = uniform_links(RATE, 20_000, 4_096);
    assert!(Bounce::new(&dragonfly(1, 2, 1, 3, links)).is_none());
}

// [run]
/// The nodes of every router all send to those of the next one: four flows over
/// one link, while the other four of the router lie idle.
fn to_the_next_router() -> JobPlan {
    let rank = |rank: u32| {
        let send = Operation::Send {
            to: RankId((rank + 4) % 24),
            bytes: Bytes(256 << 10),
            tag: 0,
        };
        let receive = Operation::Receive {
            from: RankId((rank + 20) % 24),
            tag: 0,
        };
        vec![send, receive, Operation::WaitAll]
    };
    job("shift", 0..24, Listed::load((0..24).map(rank).collect()))
}

#[test]
fn it_finishes_sooner_than_shortest_paths() {
    let topology = complete_graph();
    let jobs = [to_the_next_router()];
    let direct = RoutingSpec::new(Algorithm::ShortestPath);
    let direct = simulate(&topology, &direct, &config(), &jobs, &TO_THE_END).unwrap();
    let bounce = Bounce::new(&topology).expect("a complete graph");
    let bounced = simulate_with(&topology, &bounce, &config(), &jobs, &TO_THE_END).unwrap();
    // Directly, the four flows of a router share one link: f = 1/4 of its rate each.
    // With detours, its five links carry x directly and the rest twice, so that
    // x + 2·(4·f − x) is 5 at most and x is 1: f = 3/4, a third of the time, is what
    // no routing can beat.
    let (direct, bounced) = (direct.end.0 as f64, bounced.end.0 as f64);
    assert!(direct >= 4.0 * f64::from(256 << 10) / 8e9 * 1e12);
    assert!(
        (0.33..0.7).contains(&(bounced / direct)),
        "{bounced} of {direct}"
    );
    let mut threads = config();
    threads.threads = 2;
    let again = simulate_with(&topology, &bounce, &threads, &jobs, &TO_THE_END).unwrap();
    assert_eq!(again.end.0 as f64, bounced);
}
// [end]
