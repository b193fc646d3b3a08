//! How the scenarios are drawn.

use odonata_network::LinkKind;
use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AlgorithmName, Choice, FparRules, Keys, MinimalLinks, Queue,
    RoutingSpec, Usual, Via,
};
use odonata_run::{
    Arbitration, Completion, CreditUse, Crossbar, CrossbarRate, Decisions, HostCosts, HostTimes,
    InjectionOrder, Noise, OccupancyCount, Protocol, Switching,
};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, Bytes, Picoseconds};
use proptest::prelude::*;
use proptest::sample::select;

use super::{Family, Job, Kind, Scenario};
use crate::support::{RATE, bandwidth, crossbar, link};

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![
        1 => (2u32..12).prop_map(|nodes| Family::Crossbar { nodes }),
        4 => (1u32..3, 1u32..5, 1u32..3, 0u8..3)
            .prop_flat_map(|(p, a, h, arrangement)| {
                let most = (a * h + 1).min(9);
                (1u32..=most).prop_map(move |g| Family::Dragonfly { p, a, h, g, arrangement })
            }),
        2 => (1u32..3, 1u32..4, 1u32..4, 1u32..3)
            .prop_flat_map(|(p, rows, columns, h)| {
                let most = (rows * columns * h + 1).min(6);
                (1u32..=most).prop_map(move |g| Family::Grid { p, rows, columns, h, g })
            }),
        3 => (1u32..4, 1u32..4, 1u32..3, 1u32..5, 0usize..60, any::<bool>())
            .prop_map(|(leaves, spines, p, h, closing, balanced)| {
                // Groups among which the global links can be shared evenly.
                let numbers: Vec<u32> = (2..=(spines * h + 1).min(6))
                    .filter(|g| (spines * h).is_multiple_of(g - 1))
                    .collect();
                let g = numbers[closing % numbers.len()];
                Family::DragonflyPlus { leaves, spines, p, h, g, balanced }
            }),
        1 => (prop::array::uniform3(1u32..4), prop::array::uniform2(1u32..3))
            .prop_map(|(down, up)| Family::FatTree { down, up }),
        1 => (prop::array::uniform2(1u32..5), any::<bool>(), 1u32..3)
            .prop_map(|(size, wrap, p)| Family::Torus { size, wrap, p }),
        1 => ([1u32..5, 1u32..4], 1u32..4).prop_map(|(size, p)| Family::HyperX { size, p }),
    ]
    .prop_filter("two nodes or more", |family| match *family {
        Family::Crossbar { nodes } => nodes > 1,
        Family::Dragonfly { p, a, g, .. } => p * a * g > 1,
        Family::Grid {
            p,
            rows,
            columns,
            g,
            ..
        } => p * rows * columns * g > 1,
        Family::DragonflyPlus { .. } => true,
        Family::FatTree { down, .. } => down.iter().product::<u32>() > 1,
        Family::Torus { size, p, .. } | Family::HyperX { size, p } => size[0] * size[1] * p > 1,
    })
}

/// The algorithm of a name with drawn parameters, a tenth of it being the one of them that is a share.
fn drawn(name: AlgorithmName, adaptive: AdaptiveOptions, tenths: u32) -> Algorithm {
    let network = crossbar(1, link(LinkKind::Terminal, RATE, 10_000, 4_096));
    let spec = Keys::from(name).spec(&Usual::new(&network));
    let mut algorithm = spec.expect("keys as by default").algorithm;
    match &mut algorithm {
        Algorithm::Valiant { via } => *via = adaptive.via,
        Algorithm::UgalLocal(options)
        | Algorithm::UgalGlobal(options)
        | Algorithm::Par(options) => {
            *options = adaptive;
        }
        Algorithm::Fpar { threshold, rules } => {
            *threshold = f64::from(tenths) / 10.0;
            *rules = FparRules::ALL[tenths as usize % 3];
        }
        Algorithm::QAdaptive(options) => options.exploration = f64::from(tenths) / 100.0,
        Algorithm::Steered { threshold_bytes }
        | Algorithm::DimWar { threshold_bytes }
        | Algorithm::Dal { threshold_bytes } => *threshold_bytes = adaptive.threshold_bytes,
        Algorithm::Tago { detours_in_group } => *detours_in_group = adaptive.detours_in_group,
        _ => {}
    }
    algorithm
}

/// All algorithms with the channels that they need; some fit one family only.
pub fn routing() -> impl Strategy<Value = RoutingSpec> {
    let queue = select(Queue::ALL);
    let options = (
        select(Via::ALL),
        1u32..3,
        -600i64..600,
        any::<bool>(),
        queue,
    )
        .prop_map(
            |(via, candidates, threshold_bytes, detours_in_group, queue)| AdaptiveOptions {
                via,
                candidates,
                threshold_bytes,
                detours_in_group,
                queue,
                ..AdaptiveOptions::default()
            },
        );
    let algorithm = (select(AlgorithmName::ALL), options, 0u32..=10);
    let algorithm = algorithm.prop_map(|(name, adaptive, tenths)| drawn(name, adaptive, tenths));
    let links = select(MinimalLinks::ALL);
    let choice = prop_oneof![Just(Choice::Random), Just(Choice::ByLoad)];
    (algorithm, links, choice).prop_map(|(algorithm, links, choice)| RoutingSpec {
        links,
        // Of the choices those by tables have one more.
        choice: match (algorithm, links) {
            (Algorithm::UpDown, MinimalLinks::Shortest) => Choice::ByDestination,
            _ => choice,
        },
        ..RoutingSpec::new(algorithm)
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => (
            0u8..10,
            0u8..4,
            prop_oneof![Just(10u32), Just(40), Just(80), Just(150)],
            prop_oneof![2 => Just(None), 1 => (1u32..12).prop_map(Some)],
        )
            .prop_map(|(pattern, process, percent, times)| {
                Kind::Open { pattern, process, percent, times }
            }),
        1 => (1u32..4).prop_map(|window| Kind::AllToAll { window }),
        1 => Just(Kind::Halo),
        1 => Just(Kind::Exchange),
        1 => Just(Kind::Broadcast),
        2 => Just(Kind::Script),
    ]
}

fn closed_kind() -> impl Strategy<Value = Kind> {
    kind().prop_map(|kind| match kind {
        Kind::Open { times: None, .. } => Kind::Script,
        other => other,
    })
}

fn job_of(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Job> {
    let message = prop_oneof![Just(40u64), Just(256), Just(1_000), Just(3_000)];
    (kind, 20u32..=100, 1u32..4, message, 0u64..3, protocol()).prop_map(
        |(kind, share, ranks_per_node, message, start, protocol)| Job {
            kind,
            share,
            ranks_per_node,
            message,
            start: start * 1_234_567,
            protocol,
        },
    )
}

/// Half of them without overheads and requests.
fn protocol() -> impl Strategy<Value = Protocol> {
    let limit = prop_oneof![Just(None), Just(Some(Bytes(0))), Just(Some(Bytes(500)))];
    let overheads = (0u64..2, 0u64..2, prop::option::of(rate_of_copies()));
    let completion = prop_oneof![Just(Completion::Sent), Just(Completion::Acknowledged)];
    let delay = prop_oneof![Just(0u64), Just(1), Just(777_777)];
    let flags = (any::<bool>(), any::<bool>());
    let other = (limit, overheads, completion, delay, flags).prop_map(
        |(eager_limit, (send, receive, copy_bandwidth), completion, delay, (within, noisy))| {
            Protocol {
                eager_limit,
                completion,
                control: Bytes(40),
                costs: HostCosts {
                    send_overhead: Picoseconds(send * 50_001),
                    receive_overhead: Picoseconds(receive * 120_003),
                    copy_bandwidth,
                    times: HostTimes::new(&[(Bytes(500), Picoseconds(send * 9_001))]).unwrap(),
                },
                within_node: within.then(|| HostCosts {
                    send_overhead: Picoseconds(send * 7_001),
                    ..HostCosts::default()
                }),
                gap: Picoseconds(receive * 3_333),
                send_delay: Picoseconds(delay),
                redirect_overhead: Picoseconds(send * 5_003),
                // Long messages are overtaken.
                delay_times: HostTimes::new(&[(Bytes(2_000), Picoseconds(delay))]).expect("grows"),
                // Shorter and longer than what ranks do.
                noise: noisy.then_some(Noise {
                    interval: Picoseconds(300_007),
                    time: Picoseconds(delay),
                    entry_delay: Picoseconds(receive * 70_001),
                    draws: StreamKey::new(delay, Purpose::Noise),
                }),
            }
        },
    );
    prop_oneof![Just(Protocol::default()), other]
}

fn rate_of_copies() -> impl Strategy<Value = Bandwidth> {
    Just(bandwidth(7_000_000_000))
}

fn rates() -> impl Strategy<Value = [u64; 3]> {
    let rate = prop_oneof![
        Just(RATE),
        Just(2 * RATE),
        Just(RATE / 2),
        Just(5_637_144_576)
    ];
    prop::array::uniform3(rate)
}

fn models() -> impl Strategy<
    Value = (
        Switching,
        (Crossbar, CreditUse, OccupancyCount),
        Arbitration,
        InjectionOrder,
        Decisions,
    ),
> {
    let switching = prop_oneof![
        Just(Switching::CutThrough { flit: Bytes(8) }),
        Just(Switching::CutThrough { flit: Bytes(64) }),
        Just(Switching::StoreAndForward),
    ];
    let bounded = |speedup, packets: u64| Crossbar::Bounded {
        rate: CrossbarRate::Speedup(speedup),
        output_buffer: Bytes(packets * 256),
    };
    let crossbar = prop_oneof![
        2 => Just((Crossbar::Ideal, CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((Crossbar::Ideal, CreditUse::Crossbar, OccupancyCount::Buffered)),
        1 => Just((bounded(1.0, 1), CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((bounded(1.5, 3), CreditUse::Link, OccupancyCount::Requests)),
        1 => Just((bounded(2.0, 8), CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((bounded(2.0, 4), CreditUse::Link, OccupancyCount::Unsent)),
        1 => Just((bounded(1.0, 2), CreditUse::Crossbar, OccupancyCount::Requests)),
        1 => Just((bounded(2.0, 8), CreditUse::Crossbar, OccupancyCount::Buffered)),
    ];
    let arbitration = prop_oneof![
        Just(Arbitration::RoundRobin),
        Just(Arbitration::OldestFirst),
        Just(Arbitration::LowestChannel),
        Just(Arbitration::TransitFirst),
    ];
    let injection = prop_oneof![Just(InjectionOrder::RoundRobin), Just(InjectionOrder::Fifo)];
    let decisions = prop_oneof![
        2 => Just(Decisions::PerPacket),
        1 => Just(Decisions::PerMessage),
    ];
    (switching, crossbar, arbitration, injection, decisions)
}

/// Whether a run stops at a given time, and if not whether open-loop jobs run
/// beside the closed-loop ones.
fn jobs() -> impl Strategy<Value = (Vec<Job>, Option<u64>)> {
    prop_oneof![
        2 => (prop::collection::vec(job_of(kind()), 1..4), 5u64..25)
            .prop_map(|(jobs, micros)| (jobs, Some(micros * 1_000_000 + 1))),
        1 => prop::collection::vec(job_of(closed_kind()), 1..3).prop_map(|jobs| (jobs, None)),
        1 => (job_of(closed_kind()), prop::collection::vec(job_of(kind()), 1..3)).prop_map(
            |(first, mut jobs)| {
                jobs.insert(0, first);
                (jobs, None)
            }
        ),
    ]
}

/// Any scenario. `slow` links between routers have latencies of at least 0.2 µs,
/// so that runs on several threads exchange events rarely.
pub fn scenario(slow: bool) -> impl Strategy<Value = Scenario> {
    let latency = if slow {
        200_000u64..400_000
    } else {
        500..50_000
    };
    let physical = (
        rates(),
        [1_000u64..60_000, latency.clone(), latency],
        2u64..12,
        prop_oneof![Just(64u64), Just(256)],
        0u64..3,
        0u64..100_000,
    );
    let measured = (
        0u64..4_000_000,
        prop_oneof![Just(None), (100_000u64..3_000_000).prop_map(Some)],
        prop_oneof![Just(None), (1u32..4).prop_map(Some)],
        any::<bool>(),
    );
    (
        family(),
        routing(),
        physical,
        models(),
        jobs(),
        measured,
        0u64..1 << 40,
    )
        .prop_map(
            |(family, routing, physical, models, (jobs, duration), measured, seed)| {
                let (rates, latencies, buffer, packet, credit, delay) = physical;
                let (switching, inside, arbitration, injection, decisions) = models;
                let (crossbar, credit_use, occupancy) = inside;
                let (warmup, timeline_bin, every_nth, recorded) = measured;
                let mut scenario = Scenario {
                    family,
                    routing,
                    rates,
                    latencies,
                    buffer,
                    packet,
                    switching,
                    crossbar,
                    credit_use,
                    occupancy,
                    arbitration,
                    injection,
                    decisions,
                    credit_delay: credit * 3_333,
                    delay,
                    jobs,
                    warmup,
                    duration,
                    timeline_bin,
                    every_nth,
                    recorded,
                    may_lose: true,
                    seed,
                };
                // A job with an end may starve beside open-loop traffic that goes on for ever.
                let open = |job: &Job| matches!(job.kind, Kind::Open { times: None, .. });
                let unfair = [Arbitration::LowestChannel, Arbitration::TransitFirst];
                scenario.fit_routing();
                let unfair =
                    unfair.contains(&scenario.arbitration) || !scenario.classes().is_empty();
                if unfair && scenario.jobs.iter().any(open) {
                    scenario.duration.get_or_insert(25_000_001);
                }
                scenario
            },
        )
}
