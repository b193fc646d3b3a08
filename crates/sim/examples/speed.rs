//! Packet-hops per CPU second of the engine alone, without facade and tables:
//! `cargo run --release -p odonata-sim --example speed -- NODES LOAD MICROSECONDS THREADS MODEL ALGORITHM SCHEME BYTES`,
//! where the model of the routers is `ideal` (the default), `bounded`, `crossbar-credits` (bounded, with
//! credits taken there) or `output-queues`, the algorithm `minimal` (the default), `ugal-l` or `par`,
//! the scheme of congestion control `none` (the default) or another with its default keys, and
//! messages have 256 bytes by default, one packet.

use std::ops::ControlFlow;
use std::time::Instant;

use odonata_load::{Arrivals, OpenLoop, Pattern};
use odonata_network::routing::{AdaptiveOptions, Algorithm, AnyRouting, RoutingSpec};
use odonata_network::topology::{Arrangement, DragonflyLinks, DragonflySpec, GroupWiring};
use odonata_network::{LinkClass, LinkKind};
use odonata_run::{
    Arbitration, CongestionControl, CreditUse, Crossbar, CrossbarRate, Decisions, EcnKeys,
    EngineConfig, HpccKeys, InfinibandKeys, InjectionOrder, JobLoad, JobPlan, Measurement,
    MessageRecords, NicModel, OccupancyCount, Progress, Protocol, Room, RouterModel, SlingshotKeys,
    Switching, WindowKeys,
};
use odonata_sim::run_any;
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |n: usize, default: f64| {
        arguments
            .get(n)
            .map_or(default, |a| a.parse().expect("a number"))
    };
    let (nodes, load, micros, threads) = (
        argument(0, 1056.0) as u32,
        argument(1, 0.5),
        argument(2, 20.0),
        argument(3, 1.0) as usize,
    );
    let (p, a, h, g) = match nodes {
        1_056 => (4, 8, 4, 33),
        16_512 => (8, 16, 8, 129),
        82_944 => (12, 24, 12, 288),
        _ => (16, 32, 16, 513),
    };
    let rate = 25_000_000_000;
    let class = |name: &str, kind, latency_ns: u64| LinkClass {
        name: name.to_owned(),
        kind,
        bandwidth: Bandwidth::new(rate).expect("in range"),
        latency: Picoseconds(latency_ns * 1_000),
        buffer: Bytes(16_384),
        impairments: Vec::new(),
    };
    let spec = DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::AllToAll,
        links: DragonflyLinks {
            terminal: class("terminal", LinkKind::Terminal, 10),
            local: class("local", LinkKind::Local, 10),
            column: None,
            global: class("global", LinkKind::Global, 100),
        },
    };
    let topology = spec.build().expect("a dragonfly");
    let options = AdaptiveOptions::default();
    let algorithm = match arguments.get(5).map(String::as_str) {
        None | Some("minimal") => Algorithm::Minimal,
        Some("ugal-l") => Algorithm::UgalLocal(options),
        Some("par") => Algorithm::Par(options),
        Some(other) => panic!("{other} is no algorithm of this example"),
    };
    let routing = AnyRouting::new(&topology, &RoutingSpec::new(algorithm)).expect("routing");
    let bounded = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(2.0),
        output_buffer: Bytes(4096),
    };
    let (crossbar, credit_use) = match arguments.get(4).map(String::as_str) {
        None | Some("ideal") => (Crossbar::Ideal, CreditUse::Link),
        Some("bounded") => (bounded, CreditUse::Link),
        Some("crossbar-credits") => (bounded, CreditUse::Crossbar),
        Some("output-queues") => (Crossbar::Ideal, CreditUse::Crossbar),
        Some(other) => panic!("{other} is no model of this example"),
    };
    let congestion_control = match arguments.get(6).map(String::as_str) {
        None | Some("none") => CongestionControl::None,
        Some("window") => CongestionControl::Window(WindowKeys::default()),
        Some("ecn") => CongestionControl::Ecn(EcnKeys::default()),
        Some("infiniband") => CongestionControl::Infiniband(InfinibandKeys::default()),
        Some("hpcc") => CongestionControl::Hpcc(HpccKeys::default()),
        Some("slingshot") => CongestionControl::Slingshot(SlingshotKeys::default()),
        Some(other) => panic!("{other} is no congestion control of this example"),
    };
    let message = argument(7, 256.0);
    let config = EngineConfig {
        packet: Bytes(256),
        router: RouterModel {
            delay: Picoseconds(40_000),
            credit_delay: Picoseconds(0),
            credit_use,
            occupancy: OccupancyCount::Buffered,
            switching: Switching::CutThrough { flit: Bytes(32) },
            crossbar,
            arbitration: Arbitration::RoundRobin,
            room: Room::Bytes,
            node_room: None,
        },
        nic: NicModel {
            injection: InjectionOrder::RoundRobin,
            loopback_latency: Picoseconds(100_000),
            loopback_bandwidth: Bandwidth::new(rate).expect("in range"),
            congestion_control,
        },
        decisions: Decisions::PerPacket,
        virtual_channels: None,
        classes: Vec::new(),
        losses: None,
        seed: 1,
        threads,
    };
    let ranks = topology.nodes() as u32;
    let job = JobPlan {
        name: "uniform".to_owned(),
        start: Picoseconds(0),
        node_of_rank: (0..ranks).map(NodeId).collect(),
        load: JobLoad::Open(
            OpenLoop::new(
                Pattern::UniformRandom,
                Arrivals::Poisson {
                    mean_gap_ps: message / (rate as f64 * load) * 1e12,
                },
                Bytes(message as u64),
                ranks,
            )
            .expect("a load"),
        ),
        protocol: Protocol::default(),
        classes: odonata_run::JobClasses::default(),
        servers: None,
    };
    let measurement = Measurement {
        warmup: Picoseconds((micros * 0.2e6) as u64),
        duration: Some(Picoseconds((micros * 1e6) as u64)),
        timeline_bin: None,
        messages: MessageRecords::None,
        rank_intervals: false,
        traffic: false,
        attribution: false,
        arrivals: None,
    };
    let begin = Instant::now();
    let outcome = run_any(
        &topology,
        &routing,
        &config,
        &[job],
        &measurement,
        None,
        &mut |_: &Progress| ControlFlow::Continue(()),
    )
    .expect("a run");
    let seconds = begin.elapsed().as_secs_f64();
    let job = &outcome.jobs[0];
    let visited: u64 = job
        .routers_visited
        .iter()
        .enumerate()
        .map(|(r, n)| r as u64 * n)
        .sum();
    println!(
        "{nodes} nodes, load {load}, {threads} threads: {:.3} M hops/s, {:.2} events/hop, {} hops, {:.2} s, \
         mean latency {:.1} ns, accepted {:.4}, routers {:.3}, peak packets {}, in flight {}",
        outcome.packet_hops as f64 / seconds / 1e6,
        outcome.events as f64 / outcome.packet_hops as f64,
        outcome.packet_hops,
        seconds,
        job.packet_latency_ps.mean().unwrap_or(0.0) / 1e3,
        job.bytes_delivered_measured as f64 / (micros * 0.8e-6) / f64::from(ranks) / rate as f64,
        visited as f64 / job.packet_latency_ps.count() as f64,
        outcome.peak_packets,
        outcome.conservation.in_flight,
    );
    assert_eq!(
        outcome.conservation.created,
        outcome.conservation.delivered
            + outcome.conservation.backlog
            + outcome.conservation.in_flight
    );
}
