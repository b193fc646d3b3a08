//! Which job sends what over a link, which waits there because of which other, and what arrives at
//! routers: exact where the order of packets is known, and consistent everywhere.

use std::collections::BTreeMap;

use odonata_load::{Arrivals, OpenLoop, Pattern};
use odonata_network::routing::{Algorithm, RoutingSpec, Via};
use odonata_network::topology::{DragonflyPlusLinks, DragonflyPlusSpec, SpineArrangement};
use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::{
    ArrivalRecords, CreditUse, Direction, JobLoad, JobPlan, JobWait, LinkAttribution, LinkOutcome,
    Measurement, Outcome, Parameter, SimError, Switching,
};
use odonata_units::{Bytes, NodeId, Picoseconds, PortId, RouterId, Sender};
use proptest::test_runner::TestRunner;

use crate::properties::{assert_same, cases, outcome};
use crate::scenario::scenario;
use crate::support::{
    MINIMAL, RATE, TO_THE_END, bandwidth, config, crossbar, dragonfly, job, link, simulate,
    simulate_with, uniform_links,
};

const SIZE: u64 = 256;
const PACKETS: u64 = 12;

fn recorded() -> Measurement {
    Measurement {
        attribution: true,
        ..TO_THE_END
    }
}

/// Rank 0 of a job on nodes `from` and `to` sends a packet to rank 1 in every `gap`.
fn flow(from: u32, to: u32, gap: u64) -> JobPlan {
    let pattern = Pattern::Shift { offset: 1 };
    let gap_ps = gap as f64;
    let source = OpenLoop::new(pattern, Arrivals::Aligned { gap_ps }, Bytes(SIZE), 2).unwrap();
    let source = source.ending_after(PACKETS as u32).unwrap();
    job("flow", [from, to], JobLoad::Open(source))
}

fn link_of(outcome: &Outcome, sender: Sender) -> &LinkAttribution {
    outcome
        .attribution
        .iter()
        .find(|link| link.link == sender)
        .unwrap()
}

/// Books what everything in a link's queue waits for, given when packets come and start,
/// and in which parts of a period of the link it sends.
fn expected(
    packets: &[(u32, u64, u64)],
    starts: &[(u32, u64)],
    sending: u64,
    period: u64,
) -> Vec<JobWait> {
    let mut waits: BTreeMap<(u32, u32), JobWait> = BTreeMap::new();
    let overlap =
        |from: u64, to: u64, begin: u64, end: u64| to.min(end).saturating_sub(from.max(begin));
    for &(job, came, started) in packets {
        for &(by, begin) in starts {
            let wait = waits.entry((job, by)).or_insert(JobWait {
                job,
                by,
                sending_ps: 0,
                blocking_ps: 0,
            });
            wait.sending_ps += overlap(came, started, begin, begin + sending);
            wait.blocking_ps += overlap(came, started, begin + sending, begin + period);
        }
    }
    let waits = waits.into_values();
    waits
        .filter(|wait| wait.sending_ps + wait.blocking_ps > 0)
        .collect()
}

/// Two jobs send to two ranks of one node at full rate: their packets come in pairs, the
/// link to the node takes one of each in turn, and every packet waits for all of those
/// that came before it and have not been sent.
#[test]
fn two_flows_share_a_link() {
    let topology = crossbar(3, link(LinkKind::Terminal, RATE, 10_000, 1 << 16));
    let each = bandwidth(RATE).duration_of(SIZE).0;
    // Both ranks of a job send; those of node 2 send back, over links of their own.
    let jobs = [flow(0, 2, each), flow(1, 2, each)];
    let outcome = simulate(&topology, &MINIMAL, &config(), &jobs, &recorded()).unwrap();
    let to_node = Sender::Router(topology.port_of_node[2]);
    let shared = link_of(&outcome, to_node);
    for (job, of) in shared.jobs.iter().enumerate() {
        let found = (of.job as usize, of.bytes, of.packets);
        assert_eq!(found, (job, PACKETS * SIZE, PACKETS));
        assert_eq!((of.stall_ps, of.router_ps), (0, 0));
    }
    // In units of a packet's time, packet k of job j comes at k and starts at 2 k + j.
    let packets: Vec<(u32, u64, u64)> = (0..PACKETS)
        .flat_map(|k| {
            [
                (0, k * each, 2 * k * each),
                (1, k * each, (2 * k + 1) * each),
            ]
        })
        .collect();
    let starts: Vec<(u32, u64)> = packets
        .iter()
        .map(|&(job, _, start)| (job, start))
        .collect();
    assert_eq!(shared.waits, expected(&packets, &starts, each, each));
    // Job 0 waits k times for every k, job 1 once more.
    let waited = |job| -> u64 {
        let of_job = shared.waits.iter().filter(|wait| wait.job == job);
        of_job.map(|wait| wait.sending_ps).sum()
    };
    assert_eq!(waited(0), PACKETS * (PACKETS - 1) / 2 * each);
    assert_eq!(waited(1), PACKETS * (PACKETS + 1) / 2 * each);
}

/// A link whose buffer at the other end holds one packet: it sends, and is then stalled
/// until the credit of that packet is back. A packet that waits meanwhile waits for the job
/// whose packet holds the buffer.
#[test]
fn a_full_buffer_is_blamed_on_its_holder() {
    let mut links = uniform_links(RATE, 10_000, 1 << 16);
    links.local.buffer = Bytes(SIZE);
    let topology = dragonfly(2, 2, 1, 1, links);
    let each = bandwidth(RATE).duration_of(SIZE).0;
    // Nodes 0 and 1 are on router 0, nodes 2 and 3 on router 1.
    let jobs = [flow(0, 2, each), flow(1, 3, each)];
    let config = config();
    let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &recorded()).unwrap();
    let local = topology
        .ports_of(RouterId(0))
        .find(|&port| matches!(topology.peer[port], Peer::Port(_)))
        .unwrap();
    let found = link_of(&outcome, Sender::Router(PortId::from_index(local)));
    // The round trip of docs/packet-model.md, "Flow control": the first flit on its way,
    // the router's delay, the packet leaves, the credit returns.
    let flit = bandwidth(RATE).duration_of(8).0;
    let period = flit + 10_000 + config.router.delay.0 + each + 10_000;
    let packets: Vec<(u32, u64, u64)> = (0..PACKETS)
        .flat_map(|k| {
            [
                (0, k * each, 2 * k * period),
                (1, k * each, (2 * k + 1) * period),
            ]
        })
        .collect();
    let starts: Vec<(u32, u64)> = packets
        .iter()
        .map(|&(job, _, start)| (job, start))
        .collect();
    assert_eq!(found.waits, expected(&packets, &starts, each, period));
    // Stalled but for the last packet, behind which nobody waits; job 0 until it is done.
    let stall = (2 * PACKETS - 1) * (period - each);
    assert_eq!(outcome.ports[local].stall_ps, stall);
    let parts: Vec<u64> = found.jobs.iter().map(|job| job.stall_ps).collect();
    assert_eq!(parts, [stall - (period - each), stall]);
}

/// Under store-and-forward what packets wait for is all that makes them late.
#[test]
fn waits_are_what_latencies_have_beyond_the_idle_network() {
    let topology = crossbar(5, link(LinkKind::Terminal, RATE, 10_000, 1 << 16));
    let mut config = config();
    config.router.switching = Switching::StoreAndForward;
    let each = bandwidth(RATE).duration_of(SIZE).0;
    // Messages of one packet that are never sent faster than their node's link can.
    let jobs = [flow(0, 4, each), flow(1, 4, 2 * each), flow(2, 4, each)];
    let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &recorded()).unwrap();
    let idle = 2 * each + 2 * 10_000 + config.router.delay.0;
    for (job, felt) in outcome.jobs.iter().enumerate() {
        // Back from node 4 the three of them share its link before they are packets.
        let forth = outcome
            .messages
            .iter()
            .filter(|m| m.job == job as u32 && m.source_rank == 0);
        let late: u64 = forth.map(|m| m.delivered.0 - m.created.0 - idle).sum();
        let to_node = link_of(&outcome, Sender::Router(topology.port_of_node[4]));
        let waited = to_node.waits.iter().filter(|wait| wait.job as usize == job);
        assert_eq!(
            waited.map(|wait| wait.sending_ps).sum::<u64>(),
            late,
            "job {job}"
        );
        assert_eq!(felt.messages_delivered, 2 * PACKETS);
    }
}

/// What arrives at a router, by time: every packet once, at the time of its tail.
#[test]
fn arrivals_count_every_packet_once() {
    let topology = crossbar(3, link(LinkKind::Terminal, RATE, 10_000, 1 << 16));
    let each = bandwidth(RATE).duration_of(SIZE).0;
    let interval = 4 * each;
    let measurement = Measurement {
        arrivals: Some(ArrivalRecords {
            routers: vec![RouterId(0)],
            interval: Picoseconds(interval),
        }),
        ..TO_THE_END
    };
    let jobs = [flow(0, 2, each)];
    let outcome = simulate(&topology, &MINIMAL, &config(), &jobs, &measurement).unwrap();
    assert!(outcome.attribution.is_empty());
    // Both ranks send; tails arrive at (k + 1) each + 10 ns.
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for k in 0..PACKETS {
        *expected
            .entry(((k + 1) * each + 10_000) / interval)
            .or_default() += 2;
    }
    let found: Vec<(u64, u64)> = outcome
        .arrivals
        .iter()
        .map(|arrival| (arrival.begin.0 / interval, arrival.packets))
        .collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    assert!(
        outcome
            .arrivals
            .iter()
            .all(|a| a.bytes == a.packets * SIZE && a.job == 0)
    );
}

/// Packets that arrived: by group, whether the router has nodes, link kind, job and direction.
type Directions = BTreeMap<(u32, bool, LinkKind, u32, Direction), u64>;

/// A dragonfly+ of three groups, each of two leaves with two nodes and one spine: a job within
/// group 0, from leaf to leaf, and one between groups 0 and 1.
fn directions(routing: &RoutingSpec) -> Directions {
    let links = uniform_links(RATE, 10_000, 1 << 16);
    let topology = DragonflyPlusSpec {
        leaves: 2,
        spines: 1,
        p: 2,
        h: 2,
        g: 3,
        arrangement: SpineArrangement::Balanced,
        links: DragonflyPlusLinks {
            terminal: links.terminal,
            local: links.local,
            global: links.global,
        },
    }
    .build()
    .unwrap();
    let each = bandwidth(RATE).duration_of(SIZE).0;
    let measurement = Measurement {
        arrivals: Some(ArrivalRecords {
            routers: (0..topology.routers()).map(RouterId::from_index).collect(),
            interval: Picoseconds(1_000_000_000),
        }),
        ..TO_THE_END
    };
    let jobs = [flow(0, 2, 4 * each), flow(1, 5, 4 * each)];
    let outcome = simulate(&topology, routing, &config(), &jobs, &measurement).unwrap();
    let leaves: Vec<RouterId> = (0..topology.nodes())
        .map(|node| topology.router_of_node(NodeId::from_index(node)))
        .collect();
    let mut found = Directions::new();
    for arrival in &outcome.arrivals {
        assert_eq!(arrival.bytes, arrival.packets * SIZE);
        let group = topology.group_of_router[arrival.router.index()].0;
        let kind = topology.link_classes[usize::from(arrival.class)].kind;
        let leaf = leaves.contains(&arrival.router);
        let key = (group, leaf, kind, arrival.job, arrival.direction);
        *found.entry(key).or_default() += arrival.packets;
    }
    found
}

/// Every packet is seen from each group on its way: on minimal routes from its own and that of its
/// destination, each of which it crosses by one leaf and the spine; on detours by a leaf of the
/// third group, the only one there is to go through, from that one as well.
#[test]
fn arrivals_say_where_packets_are_bound_for() {
    use Direction::{Inbound, Internal, Outbound, Transit};
    use LinkKind::{Global, Local, Terminal};
    // Both ranks of a job send.
    let mut expected = Directions::from([
        ((0, true, Terminal, 0, Internal), 2 * PACKETS),
        ((0, false, Local, 0, Internal), 2 * PACKETS),
        ((0, true, Local, 0, Internal), 2 * PACKETS),
    ]);
    for group in [0, 1] {
        expected.insert((group, true, Terminal, 1, Outbound), PACKETS);
        expected.insert((group, false, Local, 1, Outbound), PACKETS);
        expected.insert((group, false, Global, 1, Inbound), PACKETS);
        expected.insert((group, true, Local, 1, Inbound), PACKETS);
    }
    assert_eq!(directions(&MINIMAL), expected);
    expected.insert((2, false, Global, 1, Transit), 2 * PACKETS);
    expected.insert((2, true, Local, 1, Transit), 2 * PACKETS);
    expected.insert((2, false, Local, 1, Transit), 2 * PACKETS);
    let valiant = RoutingSpec::new(Algorithm::Valiant { via: Via::Router });
    assert_eq!(directions(&valiant), expected);
}

/// What must hold in any run: the jobs' shares make up what the link sent, a stall is
/// somebody's, and nobody waits for who was not there.
pub fn check(topology: &Topology, credit_use: CreditUse, outcome: &Outcome) {
    let mut seen: BTreeMap<Sender, &LinkAttribution> = BTreeMap::new();
    for link in &outcome.attribution {
        assert!(seen.insert(link.link, link).is_none());
        assert!(link.jobs.is_sorted_by(|a, b| a.job < b.job));
        assert!(
            link.waits
                .is_sorted_by(|a, b| (a.job, a.by) < (b.job, b.by))
        );
    }
    let check = |sender: Sender, link: &LinkOutcome| {
        let Some(found) = seen.get(&sender) else {
            assert_eq!((link.bytes, link.stall_ps), (0, 0));
            return;
        };
        let sum = |of: fn(&odonata_run::JobAtLink) -> u64| found.jobs.iter().map(of).sum::<u64>();
        assert_eq!(sum(|job| job.bytes), link.bytes, "{sender:?}");
        assert_eq!(sum(|job| job.packets), link.packets, "{sender:?}");
        let longest = found.jobs.iter().map(|job| job.stall_ps).max().unwrap_or(0);
        assert!(longest <= link.stall_ps && link.stall_ps <= sum(|job| job.stall_ps));
        // No stall, no blocking; and at least one packet waits through every stall: for others, or,
        // where credits are taken at the crossbar, for itself to come through it.
        let blocked: u64 = found.waits.iter().map(|wait| wait.blocking_ps).sum();
        let by_router = match credit_use {
            CreditUse::Crossbar => sum(|job| job.router_ps),
            CreditUse::Link => 0,
        };
        let nobody = blocked + by_router == 0;
        assert!(
            blocked + by_router >= link.stall_ps
                && (blocked == 0 || link.stall_ps > 0)
                && (link.stall_ps == 0 || !nobody),
            "{sender:?}: {blocked} ps blocked, {by_router} ps by the router, {} ps stalled",
            link.stall_ps
        );
    };
    for (port, link) in outcome.ports.iter().enumerate() {
        check(Sender::Router(PortId::from_index(port)), link);
    }
    for (node, link) in outcome.injection.iter().enumerate() {
        check(Sender::Node(odonata_units::NodeId::from_index(node)), link);
    }
    assert!(
        outcome
            .arrivals
            .iter()
            .all(|a| a.router == RouterId(0) && a.packets > 0)
    );
    assert!(topology.routers() > 0);
}

/// Keeping account changes nothing of the run.
#[test]
fn recording_changes_nothing() {
    let mut runner = TestRunner::new(cases(60));
    runner
        .run(&scenario(false), |mut scenario| {
            scenario.recorded = false;
            let Some(plain) = outcome(&scenario) else {
                return Ok(());
            };
            scenario.recorded = true;
            let mut kept = outcome(&scenario).expect("the same run");
            kept.attribution.clear();
            kept.arrivals.clear();
            assert_same(&plain, &kept, "recorded");
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let topology = crossbar(3, link(LinkKind::Terminal, RATE, 10_000, 1 << 20));
    let jobs = [flow(0, 2, 1_000_000)];
    let mut config = config();
    config.packet = Bytes(1 << 16);
    let refused = simulate(&topology, &MINIMAL, &config, &jobs, &recorded()).unwrap_err();
    let SimError::Parameter {
        parameter, allowed, ..
    } = refused
    else {
        panic!("{refused}");
    };
    assert_eq!(parameter, Parameter::Packet);
    assert!(allowed.contains("64 KiB"), "{allowed}");
    let routing = odonata_network::routing::AnyRouting::new(&topology, &MINIMAL).unwrap();
    let odonata_network::routing::AnyRouting::Minimal(routing) = &routing else {
        panic!("minimal");
    };
    let refused = simulate_with(&topology, routing, &config, &jobs, &recorded()).unwrap_err();
    assert!(refused.to_string().contains("run_any"), "{refused}");
}
