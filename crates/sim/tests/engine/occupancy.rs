//! What a routing algorithm sees of an output behind input queues.

use std::sync::Mutex;

use odonata_load::Operation;
use odonata_network::{Hop, PacketRoute, RouterView, Routing, Topology};
use odonata_run::{Crossbar, OccupancyCount};
use odonata_units::{Bytes, Picoseconds, RankId, RouterId};

use crate::support::{
    Listed, RATE, TO_THE_END, assert_conserved, config, dragonfly, job, simulate_with,
    uniform_links,
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
/// once through the one link, and no credit comes back before all have been routed.
fn seen(occupancy: OccupancyCount) -> Vec<u64> {
    let topology = topology();
    let routing = Seen {
        // After those to the nodes.
        link: SENDERS as u16,
        occupancies: Mutex::default(),
    };
    let mut config = config();
    config.router.credit_delay = Picoseconds(1_000_000_000);
    config.router.crossbar = Crossbar::Bounded {
        speedup: 1.0,
        output_buffer: Bytes(PACKET),
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
    assert_eq!(seen(OccupancyCount::Requests), all.collect::<Vec<_>>());
}

/// The link sends one packet per packet time. When the tenth packet of each node
/// arrives, nine packet times after the first, ten have started over the link and
/// one is in the output's buffer; 16 wait in input queues, and are not seen.
#[test]
fn buffered_packets_alone_hide_what_waits_at_the_inputs() {
    let seen = seen(OccupancyCount::Buffered);
    assert_eq!(seen.len() as u64, u64::from(SENDERS) * PACKETS);
    assert!(seen[seen.len() - 1] <= (PACKETS + 1) * PACKET, "{seen:?}");
    assert!(seen[seen.len() - 1] >= (PACKETS - 1) * PACKET, "{seen:?}");
}
