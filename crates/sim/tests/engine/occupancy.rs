//! What a routing algorithm sees of an output behind input queues.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use odonata_load::{Blocks, Operation, Pattern, Process};
use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AnyRouting, Queue, RoutingSpec, RoutingTask,
};
use odonata_network::{Hop, PacketRoute, Peer, RouterView, Routing, Topology};
use odonata_run::{
    CreditUse, Crossbar, CrossbarRate, EngineConfig, MessageRecords, OccupancyCount, Outcome, Room,
};
use odonata_units::{Bytes, Picoseconds, RankId, RouterId};

use crate::support::{
    Listed, RATE, TO_THE_END, assert_conserved, config, dragonfly, job, measure, open,
    simulate_with, uniform_links,
};

const PACKET: u64 = 256;
const SENDERS: u32 = 3;
const PACKETS: u64 = 10;

/// Two routers with three nodes each and one link between them, and what packets
/// saw of that link when the first router sent them there.
struct Seen {
    link: u16,
    occupancies: Mutex<Vec<u64>>,
}

impl Routing for Seen {
    fn virtual_channels(&self) -> u8 {
        1
    }
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        _injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if at.0 == route.destination_router {
            return Hop {
                port: route.destination_port,
                vc: 0,
            };
        }
        let occupancy = view.occupancy_bytes(self.link);
        self.occupancies.lock().expect("one thread").push(occupancy);
        Hop {
            port: self.link,
            vc: 0,
        }
    }
    fn possible_hops(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let port = if at.0 == route.destination_router {
            route.destination_port
        } else {
            self.link
        };
        out.push((Hop { port, vc: 0 }, PacketRoute { vc: 0, ..*route }));
    }
}

fn topology() -> Topology {
    // Room for all packets, so that none waits for a credit.
    dragonfly(SENDERS, 2, 1, 1, uniform_links(RATE, 20_000, 1 << 20))
}

/// What the packets saw, in order of size: three nodes send ten packets each at
/// once through the one link, and no credit comes back before all have been routed. The output's
/// buffer holds as many packets as `(.., packets)` says.
fn seen(occupancy: OccupancyCount, (speedup, packets): (f64, u64)) -> Vec<u64> {
    let topology = topology();
    let routing = Seen {
        // After those to the nodes.
        link: SENDERS as u16,
        occupancies: Mutex::default(),
    };
    let mut config = config();
    config.router.credit_delay = Picoseconds(1_000_000_000);
    config.router.crossbar = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(speedup),
        output_buffer: Bytes(packets * PACKET),
    };
    config.router.occupancy = occupancy;
    let ranks = (0..2 * SENDERS).map(|rank| {
        let bytes = Bytes(PACKETS * PACKET);
        match rank.checked_sub(SENDERS) {
            None => vec![Operation::Send {
                to: RankId(rank + SENDERS),
                bytes,
                tag: 0,
            }],
            Some(sender) => vec![Operation::Receive {
                from: RankId(sender),
                tag: 0,
            }],
        }
    });
    let jobs = [job(
        "senders",
        0..2 * SENDERS,
        Listed::load(ranks.collect()),
    )];
    let outcome = simulate_with(&topology, &routing, &config, &jobs, &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    let mut occupancies = routing.occupancies.into_inner().expect("one thread");
    occupancies.sort_unstable();
    occupancies
}

/// Without credits nothing that has chosen the link is ever taken off its
/// occupancy, so each packet sees all that were routed before it.
#[test]
fn requests_count_from_the_moment_of_the_choice() {
    let all = (0..u64::from(SENDERS) * PACKETS).map(|before| before * PACKET);
    let seen = seen(OccupancyCount::Requests, (1.0, 1));
    assert_eq!(seen, all.collect::<Vec<_>>());
}

/// The link sends one packet per packet time. When the tenth packet of each node
/// arrives, nine packet times after the first, ten have started over the link and
/// one is in the output's buffer; 16 wait in input queues, and are not seen.
#[test]
fn buffered_packets_alone_hide_what_waits_at_the_inputs() {
    let seen = seen(OccupancyCount::Buffered, (1.0, 1));
    assert_eq!(seen.len() as u64, u64::from(SENDERS) * PACKETS);
    assert!(seen[seen.len() - 1] <= (PACKETS + 1) * PACKET, "{seen:?}");
    assert!(seen[seen.len() - 1] >= (PACKETS - 1) * PACKET, "{seen:?}");
}

/// Three packets pass a fast crossbar per packet time and one leaves, so that a buffer of four
/// packets fills up: one of them is being sent and no longer counts, and neither do those before,
/// which are never credited.
#[test]
fn unsent_packets_are_those_in_the_buffer_alone() {
    let seen = seen(OccupancyCount::Unsent, (3.0, 4));
    assert_eq!(seen.len() as u64, u64::from(SENDERS) * PACKETS);
    assert_eq!(seen[0], 0);
    assert_eq!(seen[seen.len() - 1], 3 * PACKET, "{seen:?}");
}

/// UGAL by channels that adds up what it sees.
struct Summed<'t, R> {
    inner: &'t R,
    topology: &'t Topology,
    /// Decisions at which an output had packets on several channels.
    mixed: &'t AtomicU64,
}

impl<R: Routing> Routing for Summed<'_, R> {
    fn virtual_channels(&self) -> u8 {
        self.inner.virtual_channels()
    }
    fn reads_channels(&self) -> bool {
        true
    }
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        for (index, port) in self.topology.ports_of(at).zip(0..) {
            if !matches!(self.topology.peer[index], Peer::Port(_)) {
                continue;
            }
            let channels = (0..self.virtual_channels())
                .map(|vc| view.channel_occupancy_bytes(Hop { port, vc }));
            let channels: Vec<u64> = channels.collect();
            let whole = view.occupancy_bytes(port);
            assert_eq!(channels.iter().sum::<u64>(), whole, "{channels:?}");
            let several = channels.iter().filter(|&&bytes| bytes > 0).count() > 1;
            self.mixed.fetch_add(u64::from(several), Ordering::Relaxed);
        }
        self.inner.next_hop(view, at, injected, route)
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

/// A run of [`Summed`].
struct Sum<'t> {
    topology: &'t Topology,
    config: &'t EngineConfig,
    mixed: &'t AtomicU64,
}

impl RoutingTask for Sum<'_> {
    type Output = Outcome;
    fn run<R: Routing>(self, inner: &R) -> Outcome {
        let (topology, mixed) = (self.topology, self.mixed);
        let routing = Summed {
            inner,
            topology,
            mixed,
        };
        // All of a group, eight nodes, send to the next.
        let groups: Vec<u32> = (0..72).map(|rank| rank / 8).collect();
        let blocks = Arc::new(Blocks::new(&groups));
        let adversarial = Pattern::adversarial(blocks, 1).unwrap();
        let load = open(adversarial, 512, 0.7 * RATE as f64, Process::Poisson, 72);
        let until = measure(0, 8_000_000, MessageRecords::None);
        let jobs = [job("all", 0..72, load)];
        simulate_with(topology, &routing, self.config, &jobs, &until).unwrap()
    }
}

/// What is seen of a port is what is seen of its channels together, whatever a router consists
/// of: at every decision, in a network that is full.
#[test]
fn the_channels_of_a_port_make_up_its_occupancy() {
    let topology = dragonfly(2, 4, 2, 9, uniform_links(RATE, 20_000, 2048));
    let options = AdaptiveOptions {
        queue: Queue::Hybrid,
        ..AdaptiveOptions::default()
    };
    let spec = RoutingSpec::new(Algorithm::UgalLocal(options));
    let routing = AnyRouting::new(&topology, &spec).unwrap();
    let bounded = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.5),
        output_buffer: Bytes(1024),
    };
    let mut configs = Vec::new();
    for crossbar in [Crossbar::Ideal, bounded] {
        for credit_use in [CreditUse::Link, CreditUse::Crossbar] {
            for &occupancy in OccupancyCount::ALL {
                // Behind an ideal crossbar all that waits or has been sent counts.
                if crossbar == Crossbar::Ideal && occupancy != OccupancyCount::Buffered {
                    continue;
                }
                let mut config = config();
                config.router.crossbar = crossbar;
                config.router.credit_use = credit_use;
                config.router.occupancy = occupancy;
                configs.push(config);
            }
        }
    }
    let mut by_packets = configs[1].clone();
    by_packets.router.room = Room::Packets;
    configs.push(by_packets);
    for config in configs {
        let mixed = AtomicU64::new(0);
        let outcome = routing.dispatch(Sum {
            topology: &topology,
            config: &config,
            mixed: &mixed,
        });
        assert_conserved(&outcome);
        // Buffers of packets that can all leave are almost empty.
        let router = &config.router;
        let leave =
            (router.occupancy, router.credit_use) == (OccupancyCount::Unsent, CreditUse::Crossbar);
        let least = if leave { 500 } else { 1000 };
        assert!(mixed.into_inner() > least, "{router:?}");
    }
}
