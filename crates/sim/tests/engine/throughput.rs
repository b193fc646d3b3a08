//! Bandwidths: of a single flow, of flows that share a port, and of a flow that
//! its credits hold back.

use odonata_network::topology::{During, Impairment};
use odonata_network::{LinkKind, Topology};
use odonata_run::{
    Arbitration, CreditUse, Crossbar, CrossbarRate, EngineConfig, InjectionOrder, JobPlan,
    MessageRecords, Switching,
};
use odonata_units::{Bytes, Picoseconds, Sender};

use crate::support::{
    MINIMAL, RATE, TO_THE_END, config, crossbar, delivered, dragonfly, flow, link, measure,
    simulate, uniform_links,
};

fn bounded(speedup: f64) -> Crossbar {
    Crossbar::Bounded {
        rate: CrossbarRate::Speedup(speedup),
        output_buffer: Bytes(4_096),
    }
}

/// Every kind of crossbar.
fn crossbars() -> [(Crossbar, CreditUse); 6] {
    [
        (Crossbar::Ideal, CreditUse::Link),
        (Crossbar::Ideal, CreditUse::Crossbar),
        (bounded(1.0), CreditUse::Link),
        (bounded(2.0), CreditUse::Link),
        (bounded(1.0), CreditUse::Crossbar),
        (bounded(2.0), CreditUse::Crossbar),
    ]
}

/// A long message runs at exactly the rate of the slowest link on its way: each
/// packet but the first adds that link's packet time, to the picosecond.
#[test]
fn one_flow_gets_the_bottleneck() {
    let mut links = uniform_links(3 * RATE, 10_000, 1 << 20);
    links.local.bandwidth = crate::support::bandwidth(RATE + RATE / 7);
    let topology = dragonfly(2, 4, 2, 9, links);
    for (crossbar, credit_use) in crossbars() {
        let mut config = config();
        config.router.crossbar = crossbar;
        config.router.credit_use = credit_use;
        let packets = 4_000;
        let time = |packets| {
            let jobs = [flow(0, 7, packets * 256)];
            let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &TO_THE_END).unwrap();
            outcome.jobs[0].end.unwrap().0
        };
        let slowest = crate::support::bandwidth(RATE + RATE / 7)
            .duration_of(256)
            .0;
        assert_eq!(time(packets) - time(1), (packets - 1) * slowest);
    }
}

/// A link that has to send a share e of the packets again carries 1 - e of its rate, and what it
/// sends again are e/(1 - e) of the bytes; one with half its lanes for a while is behind by half of
/// that time from then on.
#[test]
fn an_impaired_link_is_slower_by_what_it_lacks() {
    let packets = 40_000;
    let run = |impairments: Vec<Impairment>| {
        let mut links = uniform_links(RATE, 10_000, 1 << 20);
        links.local.impairments = impairments;
        let topology = dragonfly(2, 4, 2, 9, links);
        let jobs = [flow(0, 7, packets * 256)];
        let outcome = simulate(&topology, &MINIMAL, &config(), &jobs, &TO_THE_END).unwrap();
        (
            outcome.jobs[0].end.unwrap().0 as f64,
            outcome.resent_bytes as f64,
        )
    };
    let (whole, none) = run(Vec::new());
    assert_eq!(none, 0.0);
    for error_rate in [0.01, 0.1, 0.5] {
        let (time, resent) = run(vec![Impairment {
            left: 1.0,
            error_rate,
            ..Impairment::dark(During::WHOLE_RUN)
        }]);
        let off = whole / time / (1.0 - error_rate) - 1.0;
        assert!(off.abs() < 0.01, "{error_rate}: off by {off}");
        let expected = packets as f64 * 256.0 * error_rate / (1.0 - error_rate);
        // Within four deviations of a geometric distribution.
        let deviation = 256.0 * (packets as f64 * error_rate).sqrt() / (1.0 - error_rate);
        assert!((resent - expected).abs() < 4.0 * deviation, "{resent} B");
    }
    let (time, _) = run(vec![Impairment {
        left: 0.5,
        ..Impairment::dark(During {
            from: Picoseconds(100_000_000),
            until: Picoseconds(300_000_000),
        })
    }]);
    let packet = 32_000.0;
    assert!((time - whole - 100_000_000.0).abs() <= packet, "{time}");
}

/// Every flow's share is within 1 % of the mean, and together they fill the link.
fn assert_fair(config: &EngineConfig, topology: &Topology, jobs: &[JobPlan], what: &str) {
    let (warmup, end) = (20_000_000, 120_000_000);
    let measurement = measure(warmup, end, MessageRecords::None);
    let outcome = simulate(topology, &MINIMAL, config, jobs, &measurement).unwrap();
    let shares = delivered(&outcome);
    let capacity = RATE as f64 * (end - warmup) as f64 * 1e-12;
    let total = shares.iter().sum::<u64>() as f64;
    // Whole packets at both edges of the measurement.
    let edge = 2.0 * 256.0;
    assert!(
        (total - capacity).abs() <= edge,
        "{what}: {total} B of {capacity} B"
    );
    let mean = total / jobs.len() as f64;
    for (flow, &share) in shares.iter().enumerate() {
        let off = share as f64 / mean - 1.0;
        assert!(off.abs() < 0.01, "{what}: flow {flow} is off by {off}");
    }
}

/// N endless flows into one port get a share of 1/N each: with round robin
/// because inputs (or, in the ideal crossbar, requests in the order in which
/// they were made, each input having the same buffer) take turns, with
/// oldest-first because flows of equal age alternate by their packets' numbers.
#[test]
fn flows_share_a_port_equally() {
    for flows in [2, 3, 5, 8, 16] {
        let topology = crossbar(flows + 1, link(LinkKind::Terminal, RATE, 20_000, 4_096));
        let jobs: Vec<JobPlan> = (0..flows)
            .map(|node| flow(node, flows, 100_000_000))
            .collect();
        for arbitration in [Arbitration::RoundRobin, Arbitration::OldestFirst] {
            for (crossbar, credit_use) in crossbars() {
                let mut config = config();
                config.router.arbitration = arbitration;
                config.router.crossbar = crossbar;
                config.router.credit_use = credit_use;
                let what = format!("{flows} flows, {arbitration:?}, {crossbar:?}, {credit_use:?}");
                assert_fair(&config, &topology, &jobs, &what);
            }
        }
    }
}

/// Flows of several routers into one node: those of each local link and those
/// of the nodes beside the destination all have an input port to themselves.
#[test]
fn flows_of_different_routers_share_a_port_equally() {
    let topology = dragonfly(2, 4, 1, 1, uniform_links(RATE, 20_000, 8_192));
    // One node of each other router, and the destination's neighbour.
    let jobs: Vec<JobPlan> = [1, 2, 4, 6].map(|node| flow(node, 0, 100_000_000)).to_vec();
    for arbitration in [Arbitration::RoundRobin, Arbitration::OldestFirst] {
        for crossbar in [bounded(1.0), bounded(2.0)] {
            let mut config = config();
            config.router.arbitration = arbitration;
            config.router.crossbar = crossbar;
            assert_fair(
                &config,
                &topology,
                &jobs,
                &format!("{arbitration:?}, {crossbar:?}"),
            );
        }
    }
}

/// Messages of one node to different destinations share its link packet by
/// packet under round robin, and follow each other under FIFO.
#[test]
fn messages_of_one_node_share_its_link() {
    let topology = crossbar(4, link(LinkKind::Terminal, RATE, 10_000, 1 << 16));
    let jobs: Vec<JobPlan> = (1..4).map(|to| flow(0, to, 256 * 100)).collect();
    let ends = |injection| {
        let mut config = config();
        config.nic.injection = injection;
        let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &TO_THE_END).unwrap();
        let end = |job: &odonata_run::JobOutcome| job.end.unwrap().0;
        outcome.jobs.iter().map(end).collect::<Vec<_>>()
    };
    // 256 B take 32 ns. The first packet of a message arrives one packet time,
    // two latencies, the router's delay and a flit after it was sent.
    let transit = 32_000 + 2 * 10_000 + 40_000 + 1_000;
    let slot = 32_000;
    // In turn: the last packets of the three are sent as numbers 298, 299, 300.
    let in_turn = |n: u64| (297 + n) * slot + transit;
    assert_eq!(
        ends(InjectionOrder::RoundRobin),
        [in_turn(0), in_turn(1), in_turn(2)]
    );
    let one_by_one = |n: u64| (n * 100 + 99) * slot + transit;
    assert_eq!(
        ends(InjectionOrder::Fifo),
        [one_by_one(0), one_by_one(1), one_by_one(2)]
    );
}

/// With room for n packets at the other end of a link, packet m + n starts when
/// the credit of packet m is back, or n packet times after it, whichever is
/// later. A credit takes the round trip
///
/// `R = f + L + D + d' + L + C` (cut-through), `R = d + L + D + d' + L + C`
/// (store-and-forward),
///
/// from the start of a packet to the return of its credit: its head (or all of
/// it) reaches the router (f or d, L), is routed (D), the tail leaves over the
/// next link (d', as that link is free), and the credit travels back (L, and
/// C of credit delay). So the throughput is `n · packet / max(R, n · d)`:
/// buffer over round trip, up to the link's rate.
#[test]
fn credits_limit_a_flow_to_buffer_over_round_trip() {
    let (latency, delay, credit_delay, packet) = (150_000, 40_000, 7_777, 256);
    let (flit, duration) = (1_000, 32_000);
    for switching in [
        Switching::CutThrough { flit: Bytes(8) },
        Switching::StoreAndForward,
    ] {
        for buffered in [1, 2, 3, 5, 11, 12, 13, 14, 20] {
            // Spare bytes that hold no whole packet change nothing.
            let buffer = buffered * packet + 255;
            let topology = crossbar(2, link(LinkKind::Terminal, RATE, latency, buffer));
            let mut config = config();
            config.router.delay = Picoseconds(delay);
            config.router.credit_delay = Picoseconds(credit_delay);
            config.router.switching = switching;
            let head = match switching {
                Switching::CutThrough { .. } => flit,
                Switching::StoreAndForward => duration,
            };
            let round_trip = head + latency + delay + duration + latency + credit_delay;
            let packets = 1_000;
            let jobs = [flow(0, 1, packets * packet)];
            let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &TO_THE_END).unwrap();
            // When packet m starts, by the rule above.
            let mut starts: Vec<u64> = Vec::new();
            for m in 0..packets as usize {
                let after_the_last = starts.last().map_or(0, |last| last + duration);
                let credited = m
                    .checked_sub(buffered as usize)
                    .map_or(0, |first| starts[first] + round_trip);
                starts.push(after_the_last.max(credited));
            }
            let transit = head + latency + delay + duration + latency;
            let expected = starts[packets as usize - 1] + transit;
            assert_eq!(
                outcome.jobs[0].end.unwrap().0,
                expected,
                "{buffered} packets of buffer, {switching:?}"
            );
            // In the long run one batch of n packets per max(R, n · d).
            let period = round_trip.max(buffered * duration);
            let batches = (packets - 1) / buffered;
            let rest = (packets - 1) % buffered;
            assert_eq!(expected, batches * period + rest * duration + transit);
        }
    }
}

/// The same between two routers, where the buffer belongs to one of two virtual
/// channels: the other one's room is of no use to the flow.
#[test]
fn a_virtual_channel_has_a_buffer_of_its_own() {
    let mut links = uniform_links(RATE, 10_000, 1 << 20);
    links.local.latency = Picoseconds(200_000);
    links.local.buffer = Bytes(4 * 256);
    let topology = dragonfly(1, 2, 1, 3, links);
    let config = config();
    let jobs = [flow(0, 1, 2_000 * 256)];
    let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &TO_THE_END).unwrap();
    let round_trip = 1_000 + 200_000 + 40_000 + 32_000 + 200_000;
    let transit = 3 * 1_000 + 220_000 + 2 * 40_000 + 31_000;
    // Packet 1,999 is the last of batch 499.
    let expected = 499 * round_trip + 3 * 32_000 + transit;
    assert_eq!(outcome.jobs[0].end.unwrap().0, expected);
    // While it waits for credits the link is stalled: in each of the 499 round
    // trips for all but the four packets' time.
    let stalls: u64 = outcome.ports.iter().map(|port| port.stall_ps).sum();
    assert_eq!(stalls, 499 * (round_trip - 4 * 32_000));
    let busy = outcome.ports.iter().map(|port| port.busy_ps).max();
    assert_eq!(busy, Some(2_000 * 32_000));
}

/// A link that never rests is busy for exactly the measured time, wherever the borders of
/// that cut its packets: half of one, a part of one that is longer than the whole time. What
/// jobs are said to have sent over a link sums to what it carried.
#[test]
fn no_link_is_busier_than_the_time_it_was_measured() {
    let topology = crossbar(3, link(LinkKind::Terminal, RATE, 10_000, 1 << 20));
    for (crossbar, credit_use) in crossbars() {
        for switching in [Switching::StoreAndForward, config().router.switching] {
            let mut config = config();
            config.router.crossbar = crossbar;
            config.router.credit_use = credit_use;
            config.router.switching = switching;
            let jobs = [flow(0, 2, 4_000 * 256), flow(1, 2, 4_000 * 256)];
            for (begin, end) in [
                (10_000_000, 20_000_000),
                (10_016_000, 20_007_000),
                (10_031_999, 10_064_001),
                (10_005_000, 10_009_000),
            ] {
                let mut window = measure(begin, end, MessageRecords::None);
                let plain = simulate(&topology, &MINIMAL, &config, &jobs, &window).unwrap();
                let to_sink = plain.ports[2];
                assert_eq!(to_sink.busy_ps, end - begin, "{config:?} {begin} {end}");
                let bytes = (end - begin) * RATE / 1_000_000_000_000;
                assert!(
                    to_sink.bytes.abs_diff(bytes) <= 1,
                    "{} {bytes}",
                    to_sink.bytes
                );
                window.attribution = true;
                let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &window).unwrap();
                assert_eq!(outcome.ports, plain.ports);
                for link in &outcome.attribution {
                    let of_jobs: u64 = link.jobs.iter().map(|job| job.bytes).sum();
                    let carried = match link.link {
                        Sender::Router(port) => outcome.ports[port.index()],
                        Sender::Node(node) => outcome.injection[node.index()],
                    };
                    assert_eq!(of_jobs, carried.bytes, "{:?}", link.link);
                }
            }
        }
    }
}
