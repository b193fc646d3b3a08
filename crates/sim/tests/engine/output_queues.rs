//! Output queues behind an ideal crossbar: packets take room at the other end of a link before
//! they join the queue for it, and leave their input buffer with that.

use odonata_network::{Hop, PacketRoute, RouterView, Routing, Topology};
use odonata_run::{Arbitration, CreditUse, EngineConfig, JobPlan, Outcome, Room, Switching};
use odonata_units::{Bytes, Picoseconds, RouterId};

use crate::support::{
    MINIMAL, RATE, TO_THE_END, assert_conserved, config, dragonfly, messages, simulate,
    simulate_with, uniform_links,
};

/// Time of a packet of 256 B, of a router, of a terminal and of a local link, of a credit more.
const PACKET: u64 = 32_000;
const DELAY: u64 = 40_000;
const TERMINAL: u64 = 10_000;
const LOCAL: u64 = 150_000;
const CREDIT: u64 = 7_777;

fn output_queues() -> EngineConfig {
    let mut config = config();
    config.router.switching = Switching::StoreAndForward;
    config.router.credit_use = CreditUse::Crossbar;
    config.router.delay = Picoseconds(DELAY);
    config.router.credit_delay = Picoseconds(CREDIT);
    config
}

/// Two routers with two nodes each, and a link between them with buffers for so many packets.
fn pair(packets: u64) -> Topology {
    let mut links = uniform_links(RATE, TERMINAL, 1 << 20);
    links.local.latency = Picoseconds(LOCAL);
    links.local.buffer = Bytes(packets * 256 + 255);
    dragonfly(2, 2, 1, 1, links)
}

fn run(topology: &Topology, config: &EngineConfig, jobs: &[JobPlan]) -> Outcome {
    let outcome = simulate(topology, &MINIMAL, config, jobs, &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    outcome
}

/// Packet `m` joins the queue of the link when it has come and packet `m - n` has given back
/// its room, and starts when the link is free; it gives back its room when it joins the next
/// queue: as it comes to the other router, not when it leaves that.
#[test]
fn room_comes_back_when_a_packet_joins_the_next_queue() {
    for room in [1, 2, 3, 5, 12, 20] {
        let count = 200usize;
        let (mut starts, mut back): (Vec<u64>, Vec<u64>) = Default::default();
        for m in 0..count {
            let comes = (m as u64 + 1) * PACKET + TERMINAL + DELAY;
            let credited = m.checked_sub(room).map_or(0, |before| back[before]);
            let free = starts.last().map_or(0, |last| last + PACKET);
            let start = comes.max(credited).max(free);
            starts.push(start);
            back.push(start + PACKET + LOCAL + DELAY + LOCAL + CREDIT);
        }
        let end = starts[count - 1] + PACKET + LOCAL + DELAY + PACKET + TERMINAL;
        let jobs = [messages(0, 2, 1, 256 * count as u64)];
        let outcome = run(&pair(room as u64), &output_queues(), &jobs);
        assert_eq!(outcome.jobs[0].end.unwrap().0, end, "room for {room}");
        let stalls: u64 = outcome.ports.iter().map(|port| port.stall_ps).sum();
        let expected: u64 = (1..count).map(|m| starts[m] - starts[m - 1] - PACKET).sum();
        assert_eq!(stalls, expected, "room for {room}");
    }
}

/// An output to a node holds what `node_room` says until the node has it and has said so.
#[test]
fn a_node_gives_room_back_as_well() {
    for room in [1, 2, 3, 6] {
        let mut config = output_queues();
        config.router.node_room = Some(Bytes(room as u64 * 256));
        let count = 200usize;
        let (mut starts, mut back): (Vec<u64>, Vec<u64>) = Default::default();
        for m in 0..count {
            let comes = (m as u64 + 1) * PACKET + TERMINAL + DELAY;
            let credited = m.checked_sub(room).map_or(0, |before| back[before]);
            let free = starts.last().map_or(0, |last| last + PACKET);
            let start = comes.max(credited).max(free);
            starts.push(start);
            back.push(start + PACKET + 2 * TERMINAL + CREDIT);
        }
        let end = starts[count - 1] + PACKET + TERMINAL;
        let outcome = run(&pair(4), &config, &[messages(0, 1, 1, 256 * count as u64)]);
        assert_eq!(outcome.jobs[0].end.unwrap().0, end, "room for {room}");
    }
}

/// Where buffers have slots, a small packet takes as much room as a large one.
#[test]
fn small_packets_take_slots() {
    let (count, bytes, time) = (40, 16, 2_000);
    let mut ends = Vec::new();
    for room in [Room::Bytes, Room::Packets] {
        let mut config = output_queues();
        config.router.room = room;
        let outcome = run(&pair(2), &config, &[messages(0, 2, count, bytes)]);
        ends.push(outcome.jobs[0].end.unwrap().0);
    }
    let transit = 3 * time + 2 * TERMINAL + LOCAL + 2 * DELAY;
    // 2 packets of 256 B and 255 B more hold all but the last eight of them.
    let round_trip = time + LOCAL + DELAY + LOCAL + CREDIT;
    let beyond = 767 / bytes;
    assert!(count as u64 <= beyond);
    assert_eq!(ends[0], transit + (count as u64 - 1) * time);
    // Two at a time.
    assert_eq!(
        ends[1],
        transit + (count as u64 / 2 - 1) * round_trip + time
    );
}

/// Packets of node 0 on channel 0, all others on channel 1.
struct ByNode;

impl ByNode {
    const LINK: u16 = 2;

    fn hop(at: RouterId, vc: u8, route: &PacketRoute) -> Hop {
        let port = match at.0 == route.destination_router {
            true => route.destination_port,
            false => Self::LINK,
        };
        Hop { port, vc }
    }
}

impl Routing for ByNode {
    fn virtual_channels(&self) -> u8 {
        2
    }
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        _injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        Self::hop(at, u8::from(view.source_node().0 != 0), route)
    }
    fn possible_hops(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        for vc in 0..2 {
            out.push((Self::hop(at, vc, route), PacketRoute { vc, ..*route }));
        }
    }
}

/// The lowest channel goes first: its flow has the link to itself, whatever waits on others.
#[test]
fn the_lowest_channel_goes_first() {
    let count = 50;
    let jobs = [
        messages(0, 2, 1, 256 * count),
        messages(1, 3, 1, 256 * count),
    ];
    for credit_use in [CreditUse::Link, CreditUse::Crossbar] {
        let ends = |arbitration| {
            let mut config = output_queues();
            config.router.credit_use = credit_use;
            config.router.arbitration = arbitration;
            let topology = pair(1_000);
            let outcome = simulate_with(&topology, &ByNode, &config, &jobs, &TO_THE_END).unwrap();
            assert_conserved(&outcome);
            [0, 1].map(|job: usize| outcome.jobs[job].end.unwrap().0)
        };
        let first = 3 * PACKET + 2 * TERMINAL + LOCAL + 2 * DELAY;
        let nth = |n: u64| first + (n - 1) * PACKET;
        assert_eq!(
            ends(Arbitration::LowestChannel),
            [nth(count), nth(2 * count)]
        );
        let mut in_turn = ends(Arbitration::RoundRobin);
        in_turn.sort_unstable();
        assert_eq!(in_turn, [nth(2 * count - 1), nth(2 * count)]);
    }
}
